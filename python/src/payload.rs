//! What is known of a payload, as Python's dictionaries.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use surelift::inertia::{INERTIAL, ParameterSet};
use surelift::robot::{Arm, FramedBody, FramedPayload};

use crate::errors;

/// Centre, or none, and moments of inertia, each as its two bounds.
type Bounds = (Option<[[f64; 2]; 3]>, [[f64; 2]; 6]);

/// Proven bounds, each as [lower, upper].
pub fn bounds<'py>(
    py: Python<'py>,
    frame: &str,
    mass_kg: [f64; 2],
    (center_m, inertia_kg_m2): Bounds,
) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("frame", frame)?;
    told.set_item("mass_kg", mass_kg.to_vec())?;
    told.set_item("center_m", center_m.map(|center| center.map(|x| x.to_vec()).to_vec()))?;
    told.set_item("inertia_kg_m2", inertia_kg_m2.map(|x| x.to_vec()).to_vec())?;
    Ok(told)
}

/// What a set says of the payload in the frame of a link, or in the tool frame; `nominal` is an estimate of the whole last body.
pub fn of(
    py: Python<'_>,
    arm: &Arm,
    frame: Option<&str>,
    set: &ParameterSet,
    nominal: Option<&[f64; INERTIAL]>,
) -> PyResult<Py<PyAny>> {
    let body = set.body(arm.end_effector());
    let (lower, upper) = (body.lower(), body.upper());
    let middle = std::array::from_fn(|k| 0.5 * (lower[k] + upper[k]));
    let whole = nominal.unwrap_or(&middle);
    let found =
        FramedPayload::of_last_body(arm, frame, whole, Some([lower, upper]), None).map_err(errors::input)?;
    let Some(proven) = found.bounds else {
        return Err(errors::broken("payload: no body fits the set, less what the empty hand may be"));
    };
    let told = bounds(py, &found.frame, proven.mass_kg, (proven.com_m, proven.inertia_kg_m2))?;
    if nominal.is_some() {
        told.set_item("estimate", found.estimate.map(|body| estimate(py, &body)).transpose()?)?;
    }
    Ok(told.into_any().unbind())
}

fn estimate<'py>(py: Python<'py>, body: &FramedBody) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("mass_kg", body.mass_kg)?;
    told.set_item("center_m", body.com_m.to_vec())?;
    told.set_item("inertia_kg_m2", body.inertia_kg_m2.to_vec())?;
    Ok(told)
}
