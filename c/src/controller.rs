//! The law of a plan, tick by tick.

use std::sync::Mutex;

use surelift::control::{Measured, StopReason};
use surelift::plan::Follower;

use crate::arrays::{Written, numbers, readings};
use crate::border::{Fault, SureliftStatus, border, fault, input};
use crate::handles::{self, Kept, Table, alone};
use crate::plan::{self, SureliftPlan};

/// A controller that follows one plan. It serves one call at a time, from any thread.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SureliftController {
    /// The library's number for it; 0 for none.
    pub id: u64,
}

/// Why a controller has stopped the arm.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SureliftStop {
    /// It has not.
    None = 0,
    /// The tracking errors are larger than was proven: something assumed is wrong.
    Tube = 1,
    /// The time of a tick goes back, is no number, or leaves a tick out.
    Clock = 2,
    /// The law asks a joint for more than its limit, which was proven never to happen.
    Saturation = 3,
    /// A reading of a joint is no number.
    Reading = 4,
    /// Torque or speed of a joint swings to and fro.
    Chatter = 5,
}

/// What a controller says of a tick.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SureliftTick {
    /// Largest value of the tube's energy function V that the set allows at the measured state, J; 0 once it is stopped.
    pub energy_j: f64,
    /// Value that V has at least, J.
    pub energy_floor_j: f64,
    /// Whether a torque was cut at its limit.
    pub saturated: bool,
    /// Why it has stopped the arm, if it has.
    pub stop: SureliftStop,
    /// Which joint is to blame, counted from 0; -1 for none.
    pub joint: i32,
}

/// What a controller's handle stands for.
pub(crate) struct ControllerObject(Mutex<Storage>);

struct Storage {
    follower: Follower,
    /// Torques, N m.
    tau: Vec<f64>,
}

impl Kept for ControllerObject {
    const KIND: u8 = 6;
    const NAME: &'static str = "controller";

    fn table() -> &'static Table<Self> {
        static TABLE: Table<ControllerObject> = Table::new();
        &TABLE
    }
}

/// Reason and joint.
fn told(stopped: Option<StopReason>) -> (SureliftStop, i32) {
    let joint = |j: usize| i32::try_from(j).unwrap_or(i32::MAX);
    match stopped {
        None => (SureliftStop::None, -1),
        Some(StopReason::Energy { .. }) => (SureliftStop::Tube, -1),
        Some(StopReason::Momentum { joint: j, .. }) => (SureliftStop::Tube, joint(j)),
        Some(StopReason::Clock { .. }) => (SureliftStop::Clock, -1),
        Some(StopReason::Saturation { joint: j }) => (SureliftStop::Saturation, joint(j)),
        Some(StopReason::Reading { joint: j }) => (SureliftStop::Reading, joint(j)),
        Some(StopReason::Chatter { joint: j }) => (SureliftStop::Chatter, joint(j)),
    }
}

/// The words of a stop, without asking for memory.
fn broken(reason: StopReason) -> Fault {
    let say = |words: std::fmt::Arguments<'_>| {
        fault(SureliftStatus::Broken, format_args!("the arm is stopped: {words}"))
    };
    match reason {
        StopReason::Energy { floor_j } => {
            say(format_args!("the energy function is at least {floor_j:.4} J, more than was proven"))
        }
        StopReason::Momentum { joint, share } => {
            say(format_args!("joint {joint} is off by at least {share:.2} times what was proven"))
        }
        StopReason::Clock { passed_s } => {
            say(format_args!("{passed_s} s passed since the tick before, expected one control period"))
        }
        StopReason::Saturation { joint } => {
            say(format_args!("joint {joint} would need more than its limit, against the proof"))
        }
        StopReason::Reading { joint } => say(format_args!("the readings of joint {joint} are no numbers")),
        StopReason::Chatter { joint } => say(format_args!("joint {joint} swings to and fro")),
    }
}

/// Makes a controller that follows `plan` from its start, where the arm is at rest. The plan is not proven again: one from a file is to be verified before. Plans of the momentum law, and those
/// that start in motion, are refused. `*controller` is to be closed by surelift_controller_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_controller_new(
    plan: SureliftPlan,
    controller: *mut SureliftController,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("controller", controller)?;
        let plan = handles::get::<plan::PlanObject>(plan.id)?;
        let follower = Follower::new(&plan.0).map_err(input)?;
        let tau = vec![0.0; follower.dof()];
        let id = handles::open(ControllerObject(Mutex::new(Storage { follower, tau })))?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[SureliftController { id }]) };
        Ok(())
    })
}

/// Closes a controller. Nobody commands then: the arm is to rest, held by its own drives.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_controller_close(controller: SureliftController) -> SureliftStatus {
    border(|| handles::close::<ControllerObject>(controller.id))
}

/// Whether the arm stands where its plan starts: positions `q` (rad) and velocities `dq` (rad/s) as measured, `n` = dof each, before the first tick. SURELIFT_STATUS_BROKEN says that the arm is not to
/// be released: the proof begins elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_controller_check_start(
    controller: SureliftController,
    q: *const f64,
    dq: *const f64,
    n: usize,
) -> SureliftStatus {
    border(|| {
        let kind = handles::get::<ControllerObject>(controller.id)?;
        let Storage { follower, .. } = &mut *alone("controller", &kind.0)?;
        let dof = follower.dof();
        // SAFETY: the caller's promise.
        let [q, dq] = unsafe { [numbers("q", q, n, dof)?, numbers("dq", dq, n, dof)?] };
        match follower.start_fault(Measured { q, dq }) {
            None => Ok(()),
            Some(found) => Err(fault(
                SureliftStatus::Broken,
                format_args!(
                    "the arm does not stand where its plan starts: joint {} is off by {:.2e} rad, and {:.2} times what the tube allows is used",
                    found.joint, found.error_rad, found.share
                ),
            )),
        }
    })
}

/// The torques for the tick `t` seconds after the plan's start, to be held until the next tick.
///
/// `q`: positions (rad), `dq`: velocities (rad/s), both as measured, `tau`: torques (N m); `n` = dof each. The first tick is at 0, and ticks follow one another by the control period. After the plan's
/// end the arm is held there. `*tick` may be null.
///
/// SURELIFT_STATUS_BROKEN says that the arm is stopped, as an assumption does not hold: `tau` and `*tick` are written all the same, and bring the arm to rest when they are commanded, tick by tick. Readings
/// that are no numbers and times that are none stop it so. It is never taken back. With any other status but SURELIFT_STATUS_OK `tau` is left as it was, and the arm's own brakes are to be used.
///
/// It asks for no memory and takes a few microseconds. It waits for nobody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_controller_tick(
    controller: SureliftController,
    t: f64,
    q: *const f64,
    dq: *const f64,
    n: usize,
    tau: *mut f64,
    tick: *mut SureliftTick,
) -> SureliftStatus {
    border(|| {
        let kind = handles::get::<ControllerObject>(controller.id)?;
        let Storage { follower, tau: found } = &mut *alone("controller", &kind.0)?;
        let dof = follower.dof();
        let out = Written::many("tau", tau, n, dof)?;
        let told_to = if tick.is_null() { None } else { Some(Written::one("tick", tick)?) };
        // SAFETY: the caller's promise.
        let [q, dq] = unsafe { [readings("q", q, n, dof)?, readings("dq", dq, n, dof)?] };
        let of_law = follower.tick(t, Measured { q, dq }, found);
        let stopped = follower.stopped();
        let (stop, joint) = told(stopped);
        // SAFETY: the caller's promise.
        unsafe {
            out.write(found);
            if let Some(told_to) = told_to {
                let (energy_j, energy_floor_j) = (of_law.energy_j, of_law.energy_floor_j);
                told_to.write(&[SureliftTick {
                    energy_j,
                    energy_floor_j,
                    saturated: of_law.saturated,
                    stop,
                    joint,
                }]);
            }
        }
        stopped.map_or(Ok(()), |reason| Err(broken(reason)))
    })
}
