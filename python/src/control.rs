//! The robust law of a plan, tick by tick.

use std::sync::Mutex;

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::control::Measured;
use surelift::plan::Follower;

use crate::arrays::{Given, array};
use crate::errors::{self, alone, border};
use crate::plan::Plan;

/// The law under which a plan is proven, as long as its tube can be believed; the gentle stop from then on.
///
/// Call `tick` once a control period (`Arm.period_s`, s), in one thread at a time.
#[pyclass(frozen, module = "surelift")]
pub struct Controller {
    inner: Mutex<Follower>,
    joints: usize,
}

#[pymethods]
impl Controller {
    #[new]
    fn new(plan: &Plan) -> PyResult<Self> {
        let inner = border(|| Follower::new(&plan.inner).map_err(errors::input))?;
        Ok(Self { joints: inner.dof(), inner: Mutex::new(inner) })
    }

    /// Torques, (n,), N m (N), for one control period, `t` seconds after the plan's start, from positions `q` (n,), rad (m), and velocities `dq` (n,), rad/s (m/s).
    ///
    /// The first tick is at 0. A time that goes back, or leaves a tick out, stops the arm, as readings that are no numbers do.
    fn tick<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        q: Given<'py>,
        dq: Given<'py>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let n = self.joints;
        let measured = Measured { q: q.any("q", n)?, dq: dq.any("dq", n)? };
        let mut inner = alone("controller", &self.inner)?;
        let mut tau = vec![0.0; n];
        border(|| {
            inner.tick(t, measured, &mut tau);
            Ok(())
        })?;
        array(py, tau, &[n])
    }

    /// Why the arm is stopped, in words; None while it is not.
    #[getter]
    fn stopped(&self) -> PyResult<Option<String>> {
        Ok(alone("controller", &self.inner)?.stopped().map(|reason| format!("{reason:?}")))
    }
}
