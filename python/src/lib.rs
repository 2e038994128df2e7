//! The Python package `surelift`: robots and their dynamics, proofs, plans, controllers, sets and jobs, by numpy arrays.
//!
//! Each file of this crate is one part of the package; `package/surelift/_native.pyi` has its signatures, with shapes and units. Nothing here computes
//! anything: it checks shapes, lets go of Python's lock for work that takes long, and turns errors into exceptions.
#![deny(missing_docs)]

use pyo3::prelude::*;

mod arm;
mod arrays;
mod control;
mod driver;
mod errors;
mod identify;
mod job;
mod model;
mod native;
mod owned;
mod payload;
mod plan;
mod progress;
mod run;
mod scene;
mod set;
mod simulated;
mod study;

/// Python's view of the library; see `surelift/__init__.py`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::add(module)?;
    module.add_class::<model::Model>()?;
    module.add_class::<arm::Arm>()?;
    module.add_class::<set::ParameterSet>()?;
    module.add_class::<scene::Scene>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<control::Controller>()?;
    module.add_class::<identify::Identifier>()?;
    module.add_class::<job::Job>()?;
    module.add_class::<simulated::SimulatedArm>()?;
    module.add_class::<native::NativeArm>()?;
    module.add_function(wrap_pyfunction!(arm::load, module)?)?;
    module.add_function(wrap_pyfunction!(model::load_model, module)?)?;
    module.add_function(wrap_pyfunction!(plan::certify, module)?)?;
    module.add_function(wrap_pyfunction!(plan::certify_curve, module)?)?;
    module.add_function(wrap_pyfunction!(plan::propose, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::estimate, module)?)?;
    module.add_function(wrap_pyfunction!(study::identify, module)?)?;
    module.add_function(wrap_pyfunction!(errors::_panic, module)?)
}
