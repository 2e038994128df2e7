//! Controllers: one trait, no allocation and no panic in the control tick.
//!
//! [`RobustController`] is the proven law. [`SupervisedController`] runs it as long as its tube can be believed, and a [`GentleStop`] from then on.
//! [`MomentumController`] is the law for drives and sensors with delays and noise.
//!
//! [`GravityPid`], [`AdaptiveController`] and [`AdaptiveRobustController`] are the laws that [1, Table II] compares with; nothing is proven of them.

pub mod adaptive;
pub mod adaptive_robust;
mod baseline;
pub mod chatter;
pub mod gravity_pid;
mod law_plan;
pub mod momentum;
pub mod motor_loops;
pub mod robust;
pub mod stop;
pub mod supervised;

use crate::trajectory::JointState;

pub use crate::reach::law::broken_above_j;
pub use adaptive::{AdaptiveController, AdaptiveGains};
pub use adaptive_robust::{AdaptiveRobustController, AdaptiveRobustGains};
pub use baseline::JointGain;
pub use chatter::ChatterWatch;
pub use gravity_pid::{GravityPid, PidGains};
pub use law_plan::LawPlan;
pub use momentum::{MomentumController, MomentumPlan, MomentumTick};
pub use motor_loops::MotorCommand;
pub use robust::{RobustController, StartFault, open_torque};
pub use stop::GentleStop;
pub use supervised::{StopReason, SupervisedController};

/// What the sensors say at a tick.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// Joint positions, rad.
    pub q: &'a [f64],
    /// Joint velocities, rad/s.
    pub dq: &'a [f64],
}

/// What a controller reports about a tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// Largest value of V that the parameter set allows at the measured state, J (0 for laws without one).
    pub energy_j: f64,
    /// Value that V is proven to have at least, J: above [`broken_above_j`], an assumption is broken.
    pub energy_floor_j: f64,
    /// Whether a torque was cut at the actuator limit.
    pub saturated: bool,
}

/// A joint-space tracking controller.
pub trait Controller {
    /// Computes the torques (N m) that are held until the next tick, for the tick `t` seconds after the plan's start. `tau` has one
    /// entry a joint.
    fn tick(&mut self, t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick;
}
