//! Guaranteed sets from measurements.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::identify::{CollectedWindow, IdentifierOptions, IdentifyError, WindowCollector};
use surelift::inertia;
use surelift::recording::Sample;
use surelift::robot;

use crate::arm::Arm;
use crate::arrays::{Given, array, rows, vector};
use crate::errors::{self, alone, border};
use crate::payload;
use crate::set::ParameterSet;

/// Narrows what the last body may be from what a control loop measures. The truth stays inside, by proof.
///
/// `arm` is what is measured, `prior` what its parameters may be. `acceleration_bound`, (n,), rad/s^2 (m/s^2): no joint accelerates
/// faster; `Plan.acceleration_bound` is such a bound. `window_s`: how long a window of measurements is, s.
///
/// One thread may push while another updates. Of two threads that push, or two that update, the second gets a `BusyError`.
#[pyclass(frozen, module = "surelift")]
pub struct Identifier {
    arm: Arc<robot::Arm>,
    collector: Mutex<WindowCollector>,
    full: Mutex<Vec<CollectedWindow>>,
    learner: Mutex<surelift::identify::Identifier>,
    /// What the last update has left: nobody waits for the one under way.
    known: Mutex<(inertia::ParameterSet, [f64; inertia::INERTIAL])>,
}

/// Data that nothing explains break an assumption; everything else is input.
fn of_identify(error: IdentifyError) -> PyErr {
    match error {
        IdentifyError::Jump { .. } | IdentifyError::AssumptionBroken { .. } => errors::broken(error),
        _ => errors::input(error),
    }
}

impl Identifier {
    /// What the last update has left.
    fn known(&self) -> (inertia::ParameterSet, [f64; inertia::INERTIAL]) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ticks from arrays of as many rows.
    fn samples(&self, t: &Given<'_>, others: [(&str, &Given<'_>); 3]) -> PyResult<Vec<Sample>> {
        let count = if let [count] = t.shape("t")? { *count } else { 0 };
        let t = vector("t", t, count)?;
        let [q, dq, tau] = others.map(|(what, given)| {
            let found = rows(what, given, self.arm.dof())?;
            if found.len() == count {
                return Ok(found);
            }
            Err(errors::input(format!("{what}: {} rows, expected {count} as in `t`", found.len())))
        });
        let samples = t.into_iter().zip(q?).zip(dq?).zip(tau?);
        Ok(samples.map(|(((t, q), dq), tau)| Sample { t, q, dq, tau }).collect())
    }
}

#[pymethods]
impl Identifier {
    #[new]
    #[pyo3(signature = (arm, prior, acceleration_bound, window_s=0.1))]
    fn new(arm: &Arm, prior: &ParameterSet, acceleration_bound: Given<'_>, window_s: f64) -> PyResult<Self> {
        arm.fits(&prior.inner)?;
        let bound = vector("acceleration_bound", &acceleration_bound, arm.inner.dof())?;
        let options = IdentifierOptions { window_s, ..IdentifierOptions::default() };
        border(|| {
            let arm = arm.inner.clone();
            let collector =
                WindowCollector::new(arm.clone(), bound.clone(), &options).map_err(of_identify)?;
            let learner = surelift::identify::Identifier::new(arm.clone(), &prior.inner, bound, options);
            let learner = learner.map_err(of_identify)?;
            let known = Mutex::new((learner.set().clone(), *learner.nominal()));
            let (collector, learner) = (Mutex::new(collector), Mutex::new(learner));
            Ok(Self { arm, collector, full: Mutex::default(), learner, known })
        })
    }

    /// Takes the measurements of consecutive ticks: times `t` (N,), s; positions `q` (N, n), rad (m); velocities `dq` (N, n), rad/s (m/s);
    /// torques `tau` (N, n), N m (N).
    ///
    /// Ticks follow one another by the control period. If one of them is refused, none is taken: the identifier is as it was.
    /// `InputError` says what does not fit, `BrokenError` that a joint moved farther than its bounds allow.
    fn push(
        &self,
        py: Python<'_>,
        t: Given<'_>,
        q: Given<'_>,
        dq: Given<'_>,
        tau: Given<'_>,
    ) -> PyResult<()> {
        let samples = self.samples(&t, [("q", &q), ("dq", &dq), ("tau", &tau)])?;
        let mut collector = alone("identifier", &self.collector)?;
        let collector = &mut *collector;
        border(|| {
            py.detach(|| {
                let mut ahead = collector.clone();
                let mut full = Vec::new();
                for sample in samples {
                    full.extend(ahead.push(sample).map_err(of_identify)?);
                }
                *collector = ahead;
                self.full.lock().unwrap_or_else(PoisonError::into_inner).extend(full);
                Ok(())
            })
        })
    }

    /// Replaces the largest accelerations, (n,), rad/s^2 (m/s^2), for the ticks from now on: call it when the plan changes.
    fn set_acceleration_bound(&self, acceleration_bound: Given<'_>) -> PyResult<()> {
        let bound = vector("acceleration_bound", &acceleration_bound, self.arm.dof())?;
        let mut collector = alone("identifier", &self.collector)?;
        border(|| collector.set_acceleration_bound(bound).map_err(of_identify))
    }

    /// Learns from all that was pushed, which takes up to a second or so, and gives the new set of p parameters; it lies in the one before.
    ///
    /// `BrokenError` is a proof that an assumption does not hold: the set is as it was. Ctrl-C is heard when it ends.
    fn update(&self, py: Python<'_>) -> PyResult<ParameterSet> {
        let mut learner = alone("identifier", &self.learner)?;
        let learner = &mut *learner;
        border(|| {
            py.detach(|| {
                let full = std::mem::take(&mut *self.full.lock().unwrap_or_else(PoisonError::into_inner));
                full.into_iter().try_for_each(|window| learner.take(window)).map_err(of_identify)?;
                let update = learner.update().map_err(of_identify)?;
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) =
                    (learner.set().clone(), *learner.nominal());
                Ok(ParameterSet { inner: update.set })
            })
        })
    }

    /// What the p parameters may be after the last update. It waits for none that is under way.
    #[getter]
    fn set(&self) -> ParameterSet {
        ParameterSet { inner: self.known().0 }
    }

    /// A body that can exist, in the set: (10,): m (kg), h (kg m), I (xx, xy, yy, xz, yz, zz, kg m^2) about and in the frame of the last joint.
    #[getter]
    fn nominal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        array(py, self.known().1.to_vec(), &[inertia::INERTIAL])
    }

    /// What is known of the payload alone after the last update, in the frame of the link `frame`, or in the tool frame: see `ParameterSet.payload`.
    /// Besides, `estimate` has the same of one body that fits: `mass_kg`, kg, `center_m`, (3,), m, and `inertia_kg_m2`, (6,); None where its mass is not above 0.
    #[pyo3(signature = (frame=None))]
    fn payload(&self, py: Python<'_>, frame: Option<&str>) -> PyResult<Py<PyAny>> {
        let (set, nominal) = self.known();
        border(|| payload::of(py, &self.arm, frame, &set, Some(&nominal)))
    }
}
