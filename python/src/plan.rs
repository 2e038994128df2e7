//! Motions that are proposed, proven, kept in files and proven again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::certify::{Partition, Refusal};
use surelift::enclose::Counted;
use surelift::plan::propose::{Planner, Purpose, Setting, cells};
use surelift::plan::saved::PlanStart;
use surelift::reach::PreparedSet;
use surelift::robot;
use surelift::trajectory::{Bezier, JointState};

use crate::arm::Arm;
use crate::arrays::{Given, array, vector};
use crate::errors;
use crate::run::to_python;
use crate::scene::Scene;
use crate::set::ParameterSet;

/// No proposal takes longer than this many seconds.
const MOST_SECONDS: f64 = 3600.0;

/// A motion that is proven safe, with all that its proof needs.
#[pyclass(frozen, module = "surelift")]
pub struct Plan {
    pub inner: surelift::plan::Plan,
}

/// Proves `curve` from rest, with a tube that is fitted to it.
fn proven(
    arm: &robot::Arm,
    set: &surelift::inertia::ParameterSet,
    scene: &robot::Scene,
    curve: Bezier,
) -> PyResult<Plan> {
    let inner = surelift::plan::Plan::prove_from_rest(arm, set, scene, curve.into());
    inner.map(|inner| Plan { inner }).map_err(|refusal| match refusal {
        Refusal::Unsupported(_) => errors::input(refusal),
        _ => errors::not_proven(refusal),
    })
}

/// Proves a motion from rest to rest; see `surelift.certify`.
#[pyfunction]
#[pyo3(signature = (arm, set, start, end, duration_s, scene=None))]
pub fn certify(
    py: Python<'_>,
    arm: &Arm,
    set: &ParameterSet,
    start: Given<'_>,
    end: Given<'_>,
    duration_s: f64,
    scene: Option<&Scene>,
) -> PyResult<Plan> {
    arm.fits(&set.inner)?;
    let n = arm.inner.dof();
    let (start, end) = (vector("start", &start, n)?, vector("end", &end, n)?);
    let curve = Bezier::to_rest(&JointState::at_rest(&start), &end, duration_s).map_err(errors::input)?;
    let scene = scene.map(|scene| scene.inner.clone()).unwrap_or_default();
    py.detach(|| proven(&arm.inner, &set.inner, &scene, curve))
}

/// Searches a motion from rest towards a configuration, and proves it; see `surelift.propose`.
#[pyfunction]
#[pyo3(signature = (arm, set, start, target, duration_s, scene=None, reach=None, seed=0, seconds=2.0))]
pub fn propose(
    py: Python<'_>,
    arm: &Arm,
    set: &ParameterSet,
    start: Given<'_>,
    target: Given<'_>,
    duration_s: f64,
    scene: Option<&Scene>,
    reach: Option<Given<'_>>,
    seed: u64,
    seconds: f64,
) -> PyResult<Plan> {
    arm.fits(&set.inner)?;
    let n = arm.inner.dof();
    let (start, target) = (vector("start", &start, n)?, vector("target", &target, n)?);
    for (what, x) in [("duration_s", duration_s), ("seconds", seconds)] {
        if !(x > 0.0 && x <= MOST_SECONDS) {
            return Err(errors::input(format!("{what}: {x}, expected above 0 and at most {MOST_SECONDS} s")));
        }
    }
    let reach = match &reach {
        Some(reach) => vector("reach", reach, n)?,
        None => surelift::job::JobOptions::of(&arm.inner).carry_range_rad,
    };
    if let Some(x) = reach.iter().find(|x| !(**x > 0.0)) {
        return Err(errors::input(format!("reach: {x}, expected numbers above 0")));
    }
    let scene = scene.map(|scene| scene.inner.clone()).unwrap_or_default();
    py.detach(|| {
        let prepared = Arc::new(PreparedSet::new(&arm.inner, &set.inner));
        let start = JointState::at_rest(&start);
        let setting = Setting {
            robot: &arm.inner,
            set: &prepared,
            scene: &scene,
            start: &start,
            duration_s,
            reach: &reach,
            warm: None,
            held: None,
            seed,
            deadline: Instant::now() + Duration::from_secs_f64(seconds),
        };
        let mut planner = Planner::default();
        let found = planner.propose(&setting, Purpose::Approach(&target)).map_err(errors::not_proven)?;
        proven(&arm.inner, &set.inner, &scene, found.curve.clone())
    })
}

#[pymethods]
impl Plan {
    /// A plan from a file, as the program writes them. It is not proven by being read: call `verify`.
    #[staticmethod]
    fn load(path: std::path::PathBuf) -> PyResult<Self> {
        surelift::plan::Plan::load(path).map(|inner| Self { inner }).map_err(errors::input)
    }

    /// The plan as JSON, which `surelift verify` reads.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner).map_err(errors::input)
    }

    /// Proves the plan again, from what it holds alone. A plan that starts in motion needs the one before it, and is refused here.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        if self.inner.start != PlanStart::Rest {
            return Err(errors::input("the plan starts in motion: `surelift verify` proves chains of plans"));
        }
        py.detach(|| {
            let plan = &self.inner;
            let partition = Partition { cells: cells(plan.curve.duration_s()), ..Partition::default() };
            plan.verify::<Counted>(None, partition).map(|_| ()).map_err(errors::not_proven)
        })
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.curve.duration_s()
    }

    /// What is proven: margins of each family.
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, &self.inner.certificate)
    }

    /// How far each joint may be from where it is desired, rad.
    #[getter]
    fn tracking_error_rad<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let n = self.inner.curve.end().len();
        array(py, (0..n).map(|j| self.inner.tube.e_radius(j)).collect(), &[n])
    }

    /// Desired position, velocity and acceleration at a time, s.
    fn desired<'py>(&self, py: Python<'py>, t: f64) -> PyResult<[Bound<'py, PyArrayDyn<f64>>; 3]> {
        if !t.is_finite() {
            return Err(errors::input(format!("t: {t}, expected a finite number of seconds")));
        }
        let state = self.inner.curve.state(t);
        let n = state.q.len();
        Ok([array(py, state.q, &[n])?, array(py, state.dq, &[n])?, array(py, state.ddq, &[n])?])
    }

    fn __repr__(&self) -> String {
        format!("Plan for '{}', {} s", self.inner.robot.name, self.inner.curve.duration_s())
    }
}
