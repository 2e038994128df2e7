//! Motions that are proven, kept in files and proven again.

use std::ffi::c_char;

use surelift::certify::{Certificate, Margin, Partition, Problem, Refusal};
use surelift::enclose::Counted;
use surelift::plan::Plan;
use surelift::plan::propose::cells;
use surelift::plan::saved::PlanStart;
use surelift::trajectory::pieces::MAX_PIECES;
use surelift::trajectory::{Bezier, JointState, PiecewiseBezier};

use crate::arrays::{Written, length, numbers, text};
use crate::border::{Fault, SureliftStatus, border, fault, input};
use crate::handles::{self, Kept, Table};
use crate::robot::{SureliftRobot, arm, fits};
use crate::scene::{SureliftScene, obstacles};
use crate::set::{self, SureliftSet};

/// Control points of a piece of a curve, a joint.
const POINTS: usize = 6;

/// A motion with all that its proof needs: robot, set, obstacles, constants of the controller. It never changes, so any number of threads may use it at once.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SureliftPlan {
    /// The library's number for it; 0 for none.
    pub id: u64,
}

/// What is proven of a plan at its tightest place: how far it stays from its limits, for every time, every parameter of the set and every tracking error.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SureliftMargins {
    /// From a limit of position, rad; infinite where no joint has any.
    pub position_rad: f64,
    /// From a limit of speed, rad/s.
    pub velocity_rad_s: f64,
    /// From a limit of torque, N m.
    pub torque_nm: f64,
    /// From obstacles and of links from one another, m; infinite where there is nothing to meet.
    pub collision_m: f64,
    /// Of the conditions of the tracking tube, as a share.
    pub tube: f64,
}

/// What a plan's handle stands for.
pub(crate) struct PlanObject(pub(crate) Plan);

impl Kept for PlanObject {
    const KIND: u8 = 5;
    const NAME: &'static str = "plan";

    fn table() -> &'static Table<Self> {
        static TABLE: Table<PlanObject> = Table::new();
        &TABLE
    }
}

/// Writes a file, or leaves what was there.
pub(crate) fn write(path: &str, words: &str) -> Result<(), Fault> {
    let beside = format!("{path}.part");
    let written = std::fs::write(&beside, words).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        // What cannot be written may not be there to be removed either.
        let _ = std::fs::remove_file(&beside);
        input(format_args!("{path}: cannot be written: {error}"))
    })
}

unsafe fn open(out: Written<SureliftPlan>, plan: Plan) -> Result<(), Fault> {
    let id = handles::open(PlanObject(plan))?;
    // SAFETY: the caller's promise is passed on.
    unsafe { out.write(&[SureliftPlan { id }]) };
    Ok(())
}

/// What makes no sense is input, the rest is not proven.
fn refused(refusal: Refusal) -> Fault {
    let status = match refusal {
        Refusal::Unsupported(_) => SureliftStatus::Input,
        _ => SureliftStatus::NotProven,
    };
    fault(status, refusal)
}

/// Refuses a plan whose parts do not fit one another: a file may say anything.
fn sizes(plan: &Plan) -> Result<(), Fault> {
    length("the plan's points", plan.curve.view().dof(), plan.robot.dof())?;
    plan.curve.view().check().map_err(input)?;
    if let Some(tube) = plan.tube.energy() {
        Problem::new(&plan.robot, &plan.set, &plan.scene, tube, &plan.curve).map_err(refused)?;
    }
    Ok(())
}

fn margins(certificate: &Certificate) -> SureliftMargins {
    let of = |margin: &Margin| margin.value.unwrap_or(f64::INFINITY);
    SureliftMargins {
        position_rad: of(&certificate.position),
        velocity_rad_s: of(&certificate.velocity),
        torque_nm: of(&certificate.torque),
        collision_m: of(&certificate.collision),
        tube: of(&certificate.tube),
    }
}

/// Reads a plan from a file (JSON), as surelift_plan_save and `surelift run` write them. It is not proven by being read: call surelift_plan_verify. `*plan` is to be closed by
/// surelift_plan_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_load(path: *const c_char, plan: *mut SureliftPlan) -> SureliftStatus {
    border(|| {
        let out = Written::one("plan", plan)?;
        // SAFETY: the caller's promise.
        let path = unsafe { text("path", path) }?;
        let plan = Plan::load(path).map_err(input)?;
        sizes(&plan)?;
        // SAFETY: the caller's promise.
        unsafe { open(out, plan) }
    })
}

/// Writes a plan into a file (JSON), which `surelift verify` and check/check.py prove again. What was there is replaced when all is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_save(plan: SureliftPlan, path: *const c_char) -> SureliftStatus {
    border(|| {
        let plan = handles::get::<PlanObject>(plan.id)?;
        // SAFETY: the caller's promise.
        let path = unsafe { text("path", path) }?;
        let words = serde_json::to_string(&plan.0).map_err(input)?;
        write(path, &words)
    })
}

/// Proves a motion from rest, for an arm whose parameters lie in `set`, among the obstacles of `scene`, and fits the constants of the controller to it. It takes tens of milliseconds, and all cores.
///
/// `points`: control points of quintic Bezier curves, rad; pieces * n * 6 numbers: b_0 .. b_5 of the first joint on the first piece, then of the second joint, and so on, then the next piece; `n` = dof.
/// `durations_s`: one a piece, s. Pieces join without a jump of position, velocity or acceleration. The first begins and the last one ends at rest: b_0 = b_1 = b_2, and b_3 = b_4 = b_5.
///
/// SURELIFT_STATUS_NOT_PROVEN names the constraint that could not be proven. `*plan` is to be closed by surelift_plan_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_certify(
    robot: SureliftRobot,
    set: SureliftSet,
    scene: SureliftScene,
    points: *const f64,
    n: usize,
    durations_s: *const f64,
    pieces: usize,
    plan: *mut SureliftPlan,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("plan", plan)?;
        if !(1..=MAX_PIECES).contains(&pieces) {
            return Err(input(format_args!("pieces: {pieces}, expected 1 to {MAX_PIECES}")));
        }
        let dof = arm(robot)?.dof();
        length("points", n, dof)?;
        let size = POINTS * n;
        // SAFETY: the caller's promise.
        let (points, durations) = unsafe {
            (
                numbers("points", points, pieces * size, pieces * size)?,
                numbers("durations_s", durations_s, pieces, pieces)?,
            )
        };
        let piece = |(points, duration_s): (&[f64], &f64)| Bezier {
            duration_s: *duration_s,
            points: points.chunks_exact(POINTS).map(|b| std::array::from_fn(|k| b[k])).collect(),
        };
        let mut curve = points.chunks_exact(size).zip(durations).map(piece);
        let first = curve.next().ok_or_else(|| input("points: no piece"))?;
        let curve = PiecewiseBezier { first, then: curve.collect() };
        // SAFETY: the caller's promise.
        unsafe { certify(robot, set, scene, curve, out) }
    })
}

/// The same for the one-piece motion from rest at `start` to rest at `end` (rad, `n` = dof each) in `duration_s`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_certify_to_rest(
    robot: SureliftRobot,
    set: SureliftSet,
    scene: SureliftScene,
    start: *const f64,
    end: *const f64,
    n: usize,
    duration_s: f64,
    plan: *mut SureliftPlan,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("plan", plan)?;
        let dof = arm(robot)?.dof();
        // SAFETY: the caller's promise.
        let [start, end] = unsafe { [numbers("start", start, n, dof)?, numbers("end", end, n, dof)?] };
        let curve = Bezier::to_rest(&JointState::at_rest(start), end, duration_s).map_err(input)?;
        // SAFETY: the caller's promise.
        unsafe { certify(robot, set, scene, curve.into(), out) }
    })
}

unsafe fn certify(
    robot: SureliftRobot,
    set: SureliftSet,
    scene: SureliftScene,
    curve: PiecewiseBezier,
    out: Written<SureliftPlan>,
) -> Result<(), Fault> {
    let (arm, set) = (arm(robot)?, handles::get::<set::SetObject>(set.id)?);
    fits(&arm, &set.0)?;
    let plan = Plan::prove_from_rest(&arm, &set.0, &obstacles(scene)?, curve).map_err(refused)?;
    // SAFETY: the caller's promise is passed on.
    unsafe { open(out, plan) }
}

/// Proves a plan again, from what it holds alone. One that starts in motion needs the plan before it, and is refused here: `surelift verify` proves chains of plans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_verify(
    plan: SureliftPlan,
    margins: *mut SureliftMargins,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("margins", margins)?;
        let plan = handles::get::<PlanObject>(plan.id)?;
        if plan.0.start != PlanStart::Rest {
            return Err(input("the plan starts in motion: `surelift verify` proves chains of plans"));
        }
        let cells = cells(plan.0.curve.duration_s());
        let partition = Partition { cells, ..Partition::default() };
        let certificate = plan.0.verify::<Counted>(None, partition).map_err(refused)?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[self::margins(&certificate)]) };
        Ok(())
    })
}

/// Closes a plan. Controllers that follow it go on.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_plan_close(plan: SureliftPlan) -> SureliftStatus {
    border(|| handles::close::<PlanObject>(plan.id))
}

/// What was proven when the plan was made. Of a plan from a file it is what the file says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_margins(
    plan: SureliftPlan,
    margins: *mut SureliftMargins,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("margins", margins)?;
        let plan = handles::get::<PlanObject>(plan.id)?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[self::margins(&plan.0.certificate)]) };
        Ok(())
    })
}

/// How long a plan takes, s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_duration(plan: SureliftPlan, duration_s: *mut f64) -> SureliftStatus {
    border(|| {
        let out = Written::one("duration_s", duration_s)?;
        let plan = handles::get::<PlanObject>(plan.id)?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[plan.0.curve.duration_s()]) };
        Ok(())
    })
}

/// Desired positions (rad), velocities (rad/s) and accelerations (rad/s^2), `n` = dof each, `t` seconds after the plan's start; at its ends before and after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_desired(
    plan: SureliftPlan,
    t: f64,
    q: *mut f64,
    dq: *mut f64,
    ddq: *mut f64,
    n: usize,
) -> SureliftStatus {
    border(|| {
        let plan = handles::get::<PlanObject>(plan.id)?;
        let dof = plan.0.robot.dof();
        let of = |what: &str, pointer: *mut f64| Written::many(what, pointer, n, dof);
        let outs = [of("q", q)?, of("dq", dq)?, of("ddq", ddq)?];
        if !t.is_finite() {
            return Err(input(format_args!("t: {t}, expected a finite number of seconds")));
        }
        let state = plan.0.curve.state(t);
        for (out, found) in outs.into_iter().zip([&state.q, &state.dq, &state.ddq]) {
            // SAFETY: the caller's promise.
            unsafe { out.write(found) };
        }
        Ok(())
    })
}

/// Of each joint, `n` = dof: how far it may be from where it is desired (rad), and the largest acceleration that the tube promises (rad/s^2): what an identifier needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_plan_tube(
    plan: SureliftPlan,
    tracking_error_rad: *mut f64,
    acceleration_rad_s2: *mut f64,
    n: usize,
) -> SureliftStatus {
    border(|| {
        let plan = handles::get::<PlanObject>(plan.id)?;
        let dof = plan.0.robot.dof();
        let error = Written::many("tracking_error_rad", tracking_error_rad, n, dof)?;
        let acceleration = Written::many("acceleration_rad_s2", acceleration_rad_s2, n, dof)?;
        let bound = plan.0.tube.acceleration_bound();
        length("the plan's acceleration_bound", bound.len(), dof)?;
        let errors: Vec<f64> = (0..dof).map(|j| plan.0.tube.e_radius(j)).collect();
        // SAFETY: the caller's promise.
        unsafe {
            error.write(&errors);
            acceleration.write(bound);
        }
        Ok(())
    })
}
