//! The robust law of a plan, tick by tick.

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::control::Measured;
use surelift::plan::Follower;

use crate::arrays::{Given, array, numbers};
use crate::errors;
use crate::plan::Plan;

/// The law under which a plan is proven, as long as its tube can be believed; the gentle stop from then on.
#[pyclass(module = "surelift")]
pub struct Controller {
    inner: Follower,
    tau: Vec<f64>,
}

#[pymethods]
impl Controller {
    #[new]
    fn new(plan: &Plan) -> PyResult<Self> {
        let inner = Follower::new(&plan.inner).map_err(errors::input)?;
        Ok(Self { tau: vec![0.0; inner.dof()], inner })
    }

    /// Torques, N m, for the tick `t` seconds after the plan's start. Readings and times that are no numbers are for the law to see: it stops the arm.
    fn tick<'py>(
        &mut self,
        py: Python<'py>,
        t: f64,
        q: Given<'py>,
        dq: Given<'py>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        use numpy::PyUntypedArrayMethods;
        let n = self.tau.len();
        for (what, given) in [("q", &q), ("dq", &dq)] {
            if given.shape() != [n] {
                return Err(errors::input(format!(
                    "{what}: array of shape {:?}, expected ({n},)",
                    given.shape()
                )));
            }
        }
        let (q, dq) = (numbers(&q), numbers(&dq));
        self.inner.tick(t, Measured { q: &q, dq: &dq }, &mut self.tau);
        array(py, self.tau.clone(), &[n])
    }

    /// Why the arm is stopped, if it is.
    #[getter]
    fn stopped(&self) -> Option<String> {
        self.inner.stopped().map(|reason| format!("{reason:?}"))
    }
}
