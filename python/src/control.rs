//! The robust law of a plan, tick by tick.

use std::sync::Arc;

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::control::{Controller as _, Measured, SupervisedController};
use surelift::trajectory::{JointState, PiecewiseBezier};

use crate::arrays::{Given, array, numbers};
use crate::errors;
use crate::plan::Plan;

/// The law under which a plan is proven, as long as its tube can be believed; the gentle stop from then on.
#[pyclass(module = "surelift")]
pub struct Controller {
    inner: SupervisedController,
    curve: PiecewiseBezier,
    desired: JointState,
    tau: Vec<f64>,
}

#[pymethods]
impl Controller {
    #[new]
    fn new(plan: &Plan) -> PyResult<Self> {
        let plan = &plan.inner;
        let Some(tube) = plan.tube.energy() else {
            return Err(errors::input(
                "the plan is of the momentum law, which the library's loop runs; expected one of the first law",
            ));
        };
        let n = plan.robot.dof();
        Ok(Self {
            inner: SupervisedController::new(Arc::new(plan.robot.clone()), &plan.set, tube),
            curve: plan.curve.clone(),
            desired: JointState::at_rest(&vec![0.0; n]),
            tau: vec![0.0; n],
        })
    }

    /// Torques, N m, for the tick `t` seconds after the plan's start. Readings that are no numbers are for the law to see: it stops the arm.
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
        if !(t >= 0.0 && t.is_finite()) {
            return Err(errors::input(format!("t: {t}, expected a finite number of seconds not below 0")));
        }
        self.curve.evaluate(t, &mut self.desired);
        let (q, dq) = (numbers(&q), numbers(&dq));
        self.inner.tick(t, Measured { q: &q, dq: &dq }, &self.desired, &mut self.tau);
        array(py, self.tau.clone(), &[n])
    }

    /// Why the arm is stopped, if it is.
    #[getter]
    fn stopped(&self) -> Option<String> {
        self.inner.stopped().map(|reason| format!("{reason:?}"))
    }
}
