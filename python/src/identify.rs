//! Guaranteed sets from measurements.

use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use surelift::identify::{self, IdentifierOptions, IdentifyError};
use surelift::recording::Sample;

use crate::arm::Arm;
use crate::arrays::{Given, array, rows, vector};
use crate::errors;
use crate::set::ParameterSet;

/// Narrows what the last body may be from what a control loop measures.
#[pyclass(module = "surelift")]
pub struct Identifier {
    inner: identify::Identifier,
    joints: usize,
}

/// Data that nothing explains break an assumption; everything else is input.
fn of_identify(error: IdentifyError) -> PyErr {
    match error {
        IdentifyError::Jump { .. } | IdentifyError::AssumptionBroken { .. } => errors::broken(error),
        _ => errors::input(error),
    }
}

#[pymethods]
impl Identifier {
    #[new]
    #[pyo3(signature = (arm, prior, acceleration_bound, window_s=0.1))]
    fn new(arm: &Arm, prior: &ParameterSet, acceleration_bound: Given<'_>, window_s: f64) -> PyResult<Self> {
        arm.fits(&prior.inner)?;
        let joints = arm.inner.dof();
        let bound = vector("acceleration_bound", &acceleration_bound, joints)?;
        let options = IdentifierOptions { window_s, ..IdentifierOptions::default() };
        let inner = identify::Identifier::new(arm.inner.clone(), &prior.inner, bound, options);
        Ok(Self { inner: inner.map_err(of_identify)?, joints })
    }

    /// Takes the measurements of consecutive ticks: times (N,), s, and positions, velocities and torques (N, n).
    fn push(
        &mut self,
        py: Python<'_>,
        t: Given<'_>,
        q: Given<'_>,
        dq: Given<'_>,
        tau: Given<'_>,
    ) -> PyResult<()> {
        let count = if t.ndim() == 1 { t.shape()[0] } else { 0 };
        let t = vector("t", &t, count)?;
        let all = [("q", &q), ("dq", &dq), ("tau", &tau)].map(|(what, x)| (what, rows(what, x, self.joints)));
        let [q, dq, tau] = all.map(|(what, found)| {
            let found = found?;
            if found.len() == count {
                return Ok(found);
            }
            Err(errors::input(format!("{what}: {} rows, expected {count} as in `t`", found.len())))
        });
        let (q, dq, tau) = (q?, dq?, tau?);
        let samples = t.into_iter().zip(q).zip(dq).zip(tau);
        let samples: Vec<Sample> = samples.map(|(((t, q), dq), tau)| Sample { t, q, dq, tau }).collect();
        let inner = &mut self.inner;
        py.detach(|| samples.into_iter().try_for_each(|sample| inner.push(sample))).map_err(of_identify)
    }

    /// Learns from all that was pushed; the new set lies in the one before.
    fn update(&mut self, py: Python<'_>) -> PyResult<ParameterSet> {
        let inner = &mut self.inner;
        let update = py.detach(|| inner.update()).map_err(of_identify)?;
        Ok(ParameterSet { inner: update.set })
    }

    #[getter]
    fn set(&self) -> ParameterSet {
        ParameterSet { inner: self.inner.set().clone() }
    }

    /// A body that can exist, in the set: m, h, I about and in the frame of the last joint.
    #[getter]
    fn nominal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let nominal = self.inner.nominal().to_vec();
        let n = nominal.len();
        array(py, nominal, &[n])
    }
}
