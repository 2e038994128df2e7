//! Motions that are proposed, proven, kept in files and proven again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::certify::{Partition, Problem, Refusal};
use surelift::enclose::Counted;
use surelift::plan::propose::{Planner, Purpose, Setting, cells};
use surelift::plan::saved::PlanStart;
use surelift::reach::PreparedSet;
use surelift::robot;
use surelift::trajectory::pieces::MAX_PIECES;
use surelift::trajectory::{Bezier, JointState, PiecewiseBezier};

use crate::arm::Arm;
use crate::arrays::{Given, Whole, array, finite, vector};
use crate::errors::{self, border};
use crate::progress::watched;
use crate::run::to_python;
use crate::scene::Scene;
use crate::set::ParameterSet;

/// No proposal takes longer than this many seconds.
const MOST_SECONDS: f64 = 3600.0;
/// Control points of a piece of a curve, a joint.
const POINTS: usize = 6;

/// A motion that was proven safe, with all that its proof needs: arm, set, obstacles, constants of the controller. `certify`, `certify_curve` and `propose` make one; it has n joints,
/// and its numbers are in rad (m) and s.
#[pyclass(frozen, module = "surelift")]
pub struct Plan {
    pub inner: surelift::plan::Plan,
}

/// Proves `curve` from rest, with a tube that is fitted to it.
fn proven(
    arm: &robot::Arm,
    set: &surelift::inertia::ParameterSet,
    scene: &robot::Scene,
    curve: PiecewiseBezier,
) -> PyResult<Plan> {
    let inner = surelift::plan::Plan::prove_from_rest(arm, set, scene, curve);
    inner.map(|inner| Plan { inner }).map_err(|refusal| match refusal {
        Refusal::Unsupported(_) => errors::input(refusal),
        _ => errors::not_proven(refusal),
    })
}

/// Proves a motion from rest to rest, for an arm whose parameters lie in `set`, among the obstacles of `scene`.
///
/// `start` and `end`: (n,) each, rad (m); `duration_s`: s. `certify_curve` takes motions of any other form. `NotProvenError` names the constraint that fails.
/// It takes tens of milliseconds, on all cores; other threads of Python go on. Ctrl-C is heard when it ends.
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
    border(|| py.detach(|| proven(&arm.inner, &set.inner, &scene, curve.into())))
}

/// Proves a motion of one's own, of any form, for an arm whose parameters lie in `set`, among the obstacles of `scene`.
///
/// `points`: control points of quintic Bezier curves, (pieces, n, 6), rad (m): b_0 to b_5 of each joint on each piece. `durations_s`: (pieces,), s. Pieces join without a
/// jump of position, velocity or acceleration. The first begins and the last one ends at rest: b_0 = b_1 = b_2, and b_3 = b_4 = b_5.
/// `InputError` says where pieces do not join; `NotProvenError` names the constraint that fails. Ctrl-C is heard when it ends.
#[pyfunction]
#[pyo3(signature = (arm, set, points, durations_s, scene=None))]
pub fn certify_curve(
    py: Python<'_>,
    arm: &Arm,
    set: &ParameterSet,
    points: Given<'_>,
    durations_s: Given<'_>,
    scene: Option<&Scene>,
) -> PyResult<Plan> {
    arm.fits(&set.inner)?;
    let curve = pieces(arm.inner.dof(), &points, &durations_s)?;
    let scene = scene.map(|scene| scene.inner.clone()).unwrap_or_default();
    border(|| {
        py.detach(|| {
            curve.view().check().map_err(errors::input)?;
            proven(&arm.inner, &set.inner, &scene, curve)
        })
    })
}

/// The curve of control points, (pieces, n, 6), and of durations.
fn pieces(n: usize, points: &Given<'_>, durations_s: &Given<'_>) -> PyResult<PiecewiseBezier> {
    let count = match *points.shape("points")? {
        [count, joints, POINTS] if joints == n && (1..=MAX_PIECES).contains(&count) => count,
        ref shape => {
            let expected = format!("expected (1 to {MAX_PIECES}, {n}, {POINTS})");
            return Err(errors::input(format!("points: array of shape {shape:?}, {expected}")));
        }
    };
    let points = finite("points", points.numbers("points")?)?;
    let durations = vector("durations_s", durations_s, count)?;
    let piece = |(points, duration_s): (&[f64], f64)| Bezier {
        duration_s,
        points: points.chunks_exact(POINTS).map(|b| std::array::from_fn(|k| b[k])).collect(),
    };
    let mut curve = points.chunks_exact(POINTS * n).zip(durations).map(piece);
    let first = curve.next().ok_or_else(|| errors::input("points: no piece"))?;
    Ok(PiecewiseBezier { first, then: curve.collect() })
}

/// Searches a motion from rest towards a configuration, as near as `reach` and obstacles allow, and proves it.
///
/// `start`, `target` and `reach`, (n,) each, are in rad (m); no joint moves farther than its reach. `duration_s`: how long the motion takes, s. `seconds`: how long the search may
/// take, s. `progress`, if given, is told what happens, in words; an exception of it, and Ctrl-C, end the call at the next of these. `NotProvenError` says what was in the way.
#[pyfunction]
#[pyo3(signature = (arm, set, start, target, duration_s, scene=None, reach=None, seed=Whole::ZERO, seconds=2.0, progress=None),
    text_signature = "(arm, set, start, target, duration_s, scene=None, reach=None, seed=0, seconds=2.0, progress=None)")]
pub fn propose(
    py: Python<'_>,
    arm: &Arm,
    set: &ParameterSet,
    start: Given<'_>,
    target: Given<'_>,
    duration_s: f64,
    scene: Option<&Scene>,
    reach: Option<Given<'_>>,
    seed: Whole,
    seconds: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Plan> {
    arm.fits(&set.inner)?;
    let (n, seed) = (arm.inner.dof(), seed.get("seed")?);
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
    watched(py, progress, |steps| {
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
            growth_max_m: None,
            seed,
            deadline: Instant::now() + Duration::from_secs_f64(seconds),
        };
        steps.tell("searching");
        let mut planner = Planner::default();
        let found = planner.propose(&setting, Purpose::Approach(&target)).map_err(errors::not_proven)?;
        steps.tell("proposed");
        proven(&arm.inner, &set.inner, &scene, found.curve.clone().into())
    })
}

/// Refuses a plan whose parts do not fit one another: a file may say anything.
fn fitting(plan: surelift::plan::Plan) -> PyResult<Plan> {
    let (found, expected) = (plan.curve.view().dof(), plan.robot.dof());
    if found != expected {
        return Err(errors::input(format!("the plan's points: of {found} joints, expected {expected}")));
    }
    plan.curve.view().check().map_err(errors::input)?;
    if let Some(tube) = plan.tube.energy() {
        Problem::new(&plan.robot, &plan.set, &plan.scene, tube, &plan.curve).map_err(errors::input)?;
    }
    let found = plan.tube.acceleration_bound().len();
    if found != expected {
        return Err(errors::input(format!(
            "the plan's acceleration_bound: {found} numbers, expected {expected}"
        )));
    }
    Ok(Plan { inner: plan })
}

#[pymethods]
impl Plan {
    /// A plan from a file, as `to_json` and the program write them, in SI units. Reading proves nothing: call `verify`.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        border(|| py.detach(|| fitting(surelift::plan::Plan::load(path).map_err(errors::input)?)))
    }

    /// The text of a file, JSON in SI units, which `Plan.load`, `surelift verify` and `check/check.py` read.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        border(|| py.detach(|| serde_json::to_string(&self.inner).map_err(errors::input)))
    }

    /// Proves the plan again, from what it holds alone. `NotProvenError` names what fails, with its margin in rad, rad/s, N m or m.
    ///
    /// A plan that starts in motion needs the one before it, and is refused here. Ctrl-C is heard when it ends.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        if self.inner.start != PlanStart::Rest {
            return Err(errors::input("the plan starts in motion: `surelift verify` proves chains of plans"));
        }
        let plan = &self.inner;
        let partition = Partition { cells: cells(plan.curve.duration_s()), ..Partition::default() };
        border(|| {
            py.detach(|| plan.verify::<Counted>(None, partition).map(|_| ()).map_err(errors::not_proven))
        })
    }

    /// How long the motion takes, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.curve.duration_s()
    }

    /// What is proven: of "position" (rad), "velocity" (rad/s), "torque" (N m), "collision" (m) and "tube" (a share) the least margin, as "value", and where it is, as "at".
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, &self.inner.certificate)
    }

    /// How far each joint may be from where it is desired, (n,), rad (m).
    #[getter]
    fn tracking_error_rad<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let n = self.inner.robot.dof();
        array(py, (0..n).map(|j| self.inner.tube.e_radius(j)).collect(), &[n])
    }

    /// The largest acceleration of each joint that the proof promises, (n,), rad/s^2 (m/s^2): what `Identifier` needs.
    #[getter]
    fn acceleration_bound<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let bound = self.inner.tube.acceleration_bound();
        array(py, bound.to_vec(), &[bound.len()])
    }

    /// Control points of its quintic Bezier curves, (pieces, n, 6), rad (m), as `certify_curve` takes them.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let pieces: Vec<&Bezier> = self.pieces().collect();
        let points = pieces.iter().flat_map(|piece| piece.points.iter().flatten().copied()).collect();
        array(py, points, &[pieces.len(), self.inner.robot.dof(), POINTS])
    }

    /// Durations of its pieces, (pieces,), s, as `certify_curve` takes them.
    #[getter]
    fn durations_s<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let durations: Vec<f64> = self.pieces().map(|piece| piece.duration_s).collect();
        let count = durations.len();
        array(py, durations, &[count])
    }

    /// Desired positions, rad (m), velocities, rad/s (m/s), and accelerations, rad/s^2 (m/s^2), (n,) each, `t` seconds after the start; before and after the motion, those of its ends.
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

impl Plan {
    fn pieces(&self) -> impl Iterator<Item = &Bezier> {
        std::iter::once(&self.inner.curve.first).chain(&self.inner.curve.then)
    }
}
