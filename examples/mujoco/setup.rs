//! What a peer is told before the first tick: the arm that it is to make, what is around it, and the errors that it has.

use serde::{Deserialize, Serialize};
use surelift::robot::{EncoderSide, Placement, TimingBounds};

/// Version of the protocol; both sides must have the same.
pub const PROTOCOL: u32 = 4;

/// One joint, as the peer is to make it. Parameters are about and in the library's frame, which is stated at q = 0 in the base frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointSetup {
    /// Name in the URDF.
    pub name: String,
    /// The library's frame.
    pub frame: FrameSetup,
    /// What the library reads of the body in the URDF, for comparison.
    pub nominal: Vec<f64>,
    /// The true ten parameters of the body.
    pub body: Vec<f64>,
    /// True Coulomb friction, N m.
    pub coulomb: f64,
    /// True viscous friction, N m s/rad.
    pub viscous: f64,
    /// True transmission inertia, kg m^2.
    pub armature: f64,
    /// True torque offset, N m.
    pub offset: f64,
    /// Static over Coulomb friction.
    pub breakaway: f64,
    /// Share of F_c that static friction carries while the arm is held.
    pub stuck: f64,
    /// Bound on the drive's absolute error, N m.
    pub drive_error_nm: f64,
    /// Bound on the drive's error in proportion to the command.
    pub drive_error_ratio: f64,
    /// Bound on what nobody accounts for, N m.
    pub unmodelled_nm: f64,
    /// The joint's limit, N m: a drive with a loop of its own cuts at it what it is asked for in all.
    pub torque_limit_nm: f64,
}

/// A placement, row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameSetup {
    /// Rotation matrix by rows.
    pub rotation: Vec<f64>,
    /// Translation, m.
    pub translation: Vec<f64>,
}

impl From<&Placement> for FrameSetup {
    fn from(placement: &Placement) -> Self {
        let rotation = placement.rotation.transpose().iter().copied().collect();
        Self { rotation, translation: placement.translation.iter().copied().collect() }
    }
}

/// A box that must not be touched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObstacleSetup {
    /// Its name.
    pub name: String,
    /// Centre, m, base frame.
    pub center: [f64; 3],
    /// Half-axes, m.
    pub generators: Vec<[f64; 3]>,
}

/// A capsule of what is held, in the library's frame of its joint, m.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldSetup {
    /// Index of the joint.
    pub joint: usize,
    /// One end of its axis.
    pub a: [f64; 3],
    /// The other.
    pub b: [f64; 3],
    /// Its radius.
    pub radius: f64,
}

/// How late an arm is at most, s; see [`TimingBounds`]. All are written down, also those that are zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimingSetup {
    /// Age of a tick's readings, all of one moment.
    pub reading_age_max_s: f64,
    /// From a tick until its command acts; it does until the next one acts.
    pub command_delay_max_s: f64,
    /// What two ticks are nearer or farther apart than the period.
    pub jitter_max_s: f64,
    /// Time constant of the first-order lag of a drive.
    pub drive_lag_max_s: f64,
    /// Age of the readings that loops inside the motors use; 0: there are none.
    pub motor_loop_age_max_s: f64,
}

impl TimingSetup {
    /// Each bound times what `times` has for it.
    pub fn scaled(bounds: TimingBounds, times: [f64; 5]) -> Self {
        let TimingBounds {
            reading_age_max_s,
            command_delay_max_s,
            jitter_max_s,
            drive_lag_max_s,
            motor_loop_age_max_s,
        } = bounds;
        let [age, delay, jitter, lag, loop_age] = times;
        Self {
            reading_age_max_s: age * reading_age_max_s,
            command_delay_max_s: delay * command_delay_max_s,
            jitter_max_s: jitter * jitter_max_s,
            drive_lag_max_s: lag * drive_lag_max_s,
            motor_loop_age_max_s: loop_age * motor_loop_age_max_s,
        }
    }
}

/// A spring between the transmission and the link of each joint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpringSetup {
    /// Stiffness, N m/rad.
    pub stiffness_nm_rad: f64,
    /// Where the encoders are.
    pub encoders: EncoderSide,
}

/// All that the peer needs to make its arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The robot's URDF.
    pub urdf: String,
    /// Control period, s.
    pub period_s: f64,
    /// Integration steps in a control period.
    pub steps: usize,
    /// Gravity as it truly is, m/s^2, base frame.
    pub gravity: [f64; 3],
    /// Where the arm stands, rad.
    pub start: Vec<f64>,
    /// Its joints.
    pub joints: Vec<JointSetup>,
    /// Obstacles.
    pub obstacles: Vec<ObstacleSetup>,
    /// What is held.
    pub held: Vec<HeldSetup>,
    /// Coulomb friction follows the sign of the speed above this, rad/s.
    pub stiction_speed_rad_s: f64,
    /// Bounds on the sensors' errors.
    pub position_rad: f64,
    /// See there.
    pub velocity_rad_s: f64,
    /// See there.
    pub torque_ratio: f64,
    /// See there; one a joint.
    pub torque_abs_nm: Vec<f64>,
    /// Bounds on how late readings, commands, ticks, drives and loops in the motors are.
    pub timing: TimingSetup,
    /// Springs in all joints; none in a rigid arm.
    pub springs: Option<SpringSetup>,
    /// Whether errors are at the ends of their bounds.
    pub at_ends: bool,
    /// Seed of the errors.
    pub seed: u64,
}
