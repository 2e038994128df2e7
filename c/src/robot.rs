//! Robot arms from their files.

use std::ffi::c_char;
use std::sync::Arc;

use surelift::robot::{self, Arm};

use crate::arrays::{Written, length, tell, text};
use crate::border::{Fault, SureliftStatus, border, input};
use crate::handles::{self, Kept, Table};

/// A robot arm: model, limits, shapes, sensors and gains. It never changes, so any number of threads may use it at once.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SureliftRobot {
    /// The library's number for it; 0 for none.
    pub id: u64,
}

/// What an arm's handle stands for.
pub(crate) struct RobotObject(pub(crate) Arc<Arm>);

impl Kept for RobotObject {
    const KIND: u8 = 1;
    const NAME: &'static str = "robot";

    fn table() -> &'static Table<Self> {
        static TABLE: Table<RobotObject> = Table::new();
        &TABLE
    }
}

/// The arm of a handle.
pub(crate) fn arm(robot: SureliftRobot) -> Result<Arc<Arm>, Fault> {
    handles::get::<RobotObject>(robot.id).map(|kind| kind.0.clone())
}

/// Loads an arm: from a robot file (TOML), or by the name of one that ships, such as "kinova_gen3_2f85". `*robot` is to be closed by surelift_robot_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_load(
    path: *const c_char,
    robot: *mut SureliftRobot,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("robot", robot)?;
        // SAFETY: the caller's promise.
        let path = unsafe { text("path", path) }?;
        let arm = robot::load(path).map_err(input)?;
        let id = handles::open(RobotObject(Arc::new(arm)))?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[SureliftRobot { id }]) };
        Ok(())
    })
}

/// Closes an arm. What was made from it stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_robot_close(robot: SureliftRobot) -> SureliftStatus {
    border(|| handles::close::<RobotObject>(robot.id))
}

/// The number of joints: `dof`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_dof(robot: SureliftRobot, dof: *mut usize) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe { count(robot, "dof", dof, |arm| arm.dof()) })
}

/// The number of parameters: ten inertial ones a body, m (kg), m c (kg m; x, y, z), I_xx, I_xy, I_yy, I_xz, I_yz, I_zz (kg m^2), about and in the frame of the joint that moves the body; then
/// four a joint: Coulomb friction (N m), viscous friction (N m s/rad), transmission inertia (kg m^2), torque offset (N m).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_parameter_count(
    robot: SureliftRobot,
    count: *mut usize,
) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe { self::count(robot, "count", count, |arm| arm.parameter_count()) })
}

/// Index of the body that holds things: its ten parameters begin at 10 times that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_end_effector(
    robot: SureliftRobot,
    body: *mut usize,
) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe { count(robot, "body", body, |arm| arm.end_effector()) })
}

unsafe fn count(
    robot: SureliftRobot,
    what: &str,
    pointer: *mut usize,
    of: impl FnOnce(&Arm) -> usize,
) -> Result<(), Fault> {
    let out = Written::one(what, pointer)?;
    // SAFETY: the caller's promise is passed on.
    unsafe { out.write(&[of(&*arm(robot)?)]) };
    Ok(())
}

/// The control period, s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_period(robot: SureliftRobot, period_s: *mut f64) -> SureliftStatus {
    border(|| {
        let out = Written::one("period_s", period_s)?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[arm(robot)?.gains().period_s]) };
        Ok(())
    })
}

/// The nominal parameters, `n` of them, in the order of surelift_robot_parameter_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_nominal_parameters(
    robot: SureliftRobot,
    theta: *mut f64,
    n: usize,
) -> SureliftStatus {
    border(|| {
        let nominal = arm(robot)?.nominal_parameters();
        let out = Written::many("theta", theta, n, nominal.len())?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&nominal) };
        Ok(())
    })
}

/// Limits of the joints, `n` = dof each: positions (rad, or m; infinite where a joint has none), speeds (rad/s) and torques (N m).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_limits(
    robot: SureliftRobot,
    lower: *mut f64,
    upper: *mut f64,
    velocity: *mut f64,
    torque: *mut f64,
    n: usize,
) -> SureliftStatus {
    border(|| {
        let arm = arm(robot)?;
        let all = |of: fn(&robot::JointLimits) -> f64| {
            arm.joints.iter().map(|j| of(&j.limits)).collect::<Vec<f64>>()
        };
        let of = |what: &str, pointer: *mut f64| Written::many(what, pointer, n, arm.dof());
        let outs =
            [of("lower", lower)?, of("upper", upper)?, of("velocity", velocity)?, of("torque", torque)?];
        let found = [
            all(|limits| limits.position.map_or(f64::NEG_INFINITY, |(lower, _)| lower)),
            all(|limits| limits.position.map_or(f64::INFINITY, |(_, upper)| upper)),
            all(|limits| limits.velocity),
            all(|limits| limits.torque),
        ];
        for (out, found) in outs.into_iter().zip(&found) {
            // SAFETY: the caller's promise.
            unsafe { out.write(found) };
        }
        Ok(())
    })
}

/// The name of the arm, in UTF-8, into `size` bytes, its zero byte included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_name(
    robot: SureliftRobot,
    name: *mut c_char,
    size: usize,
) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe { tell("name", &arm(robot)?.name, name, size) })
}

/// The name of a joint, counted from 0, in UTF-8, into `size` bytes, its zero byte included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_robot_joint_name(
    robot: SureliftRobot,
    joint: usize,
    name: *mut c_char,
    size: usize,
) -> SureliftStatus {
    border(|| {
        let arm = arm(robot)?;
        let dof = arm.dof();
        let found = arm.joints.get(joint);
        let found = found.ok_or_else(|| input(format_args!("joint {joint}: expected one below {dof}")))?;
        // SAFETY: the caller's promise.
        unsafe { tell("name", &found.name, name, size) }
    })
}

/// Whether a set is one of this arm's parameters.
pub(crate) fn fits(arm: &Arm, set: &surelift::inertia::ParameterSet) -> Result<(), Fault> {
    length("set", set.len(), arm.parameter_count())
}
