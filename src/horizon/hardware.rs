//! What the loop needs of an arm, and of whoever watches the obstacles that move.

use nalgebra::Vector3;

use crate::control::MotorCommand;
use crate::inertia::ParameterSet;
use crate::plan::Plan;

/// What the encoders say at a tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Time, s.
    pub t: f64,
    /// Joint positions, rad (m).
    pub q: Vec<f64>,
    /// Joint velocities, rad/s (m/s).
    pub dq: Vec<f64>,
}

impl Reading {
    /// Zeros for so many joints, to be filled by [`Hardware::read`].
    pub fn new(joints: usize) -> Self {
        Self { t: 0.0, q: vec![0.0; joints], dq: vec![0.0; joints] }
    }
}

/// Where an obstacle that moves was seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sighting {
    /// When it was there, s on the clock of [`Hardware::time`]: not when that became known.
    pub t: f64,
    /// Centre of a zonotope that held all of the obstacle at that time, m, base frame.
    pub center: Vector3<f64>,
    /// Generators of that zonotope, m.
    pub generators: Vec<Vector3<f64>>,
}

impl Sighting {
    /// Whether all of it are numbers.
    pub(super) fn is_finite(&self) -> bool {
        let mut all = self.center.iter().chain(self.generators.iter().flatten());
        self.t.is_finite() && all.all(|x| x.is_finite())
    }
}

/// An arm with its drives and sensors, tick by tick. In each control period (`Gains::period_s`) the loop calls
/// [`Hardware::read`] once and then one of [`Hardware::command`] and [`Hardware::hold`], which end when the next period begins.
///
/// The simulator ([`crate::simulate::World`]) is one; a driver of a real arm is written in the same way.
pub trait Hardware {
    /// Time since the run began, s: a whole number of periods.
    fn time(&self) -> f64;

    /// Reads time, positions and velocities into `reading`, which has room for all joints.
    fn read(&mut self, reading: &mut Reading);

    /// Commands `tau` (N m) for one control period and writes what the torque sensors say of it to `measured`. Whether that
    /// measurement is of use; `false` if it was lost. Loops in the motors end with it.
    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool;

    /// Whether its drives have loops of their own, which [`Hardware::command_loops`] reaches. An arm whose file states such loops is not run without.
    fn has_motor_loops(&self) -> bool {
        false
    }

    /// As [`Hardware::command`], where the feedback runs in the motors: each drive adds what `loops` says of its joint, at a rate of its own, until it gets another command.
    /// The drive cuts the sum at the joint's limit. Sensors say the mean of all that was applied. Called only if [`Hardware::has_motor_loops`]; a driver that has loops and
    /// does not say here how they are reached holds the arm.
    fn command_loops(&mut self, tau: &[f64], loops: &MotorCommand<'_>, measured: &mut [f64]) -> bool {
        let _ = (tau, loops);
        self.hold(measured)
    }

    /// Lets the arm's own drives hold it where it stands, for one control period; otherwise as [`Hardware::command`]. What loops in the motors were told ends with it.
    fn hold(&mut self, measured: &mut [f64]) -> bool;

    /// Where the obstacle with this index in the task's scene is, one that may move: written to `seen`, which holds where it was seen last. `false` if
    /// nothing new is known: what it may have moved by since then goes on growing. Asked once before each plan.
    ///
    /// [`Hardware::time`] has to go on while a plan is made: a plan that comes to its start later than its sightings were charged for is not executed.
    ///
    /// What is written down must move as the obstacle does: no point of the zonotope faster than the obstacle's stated speed. Errors of measurement make the
    /// zonotope larger; where they make it jump, the stated speed has to cover that. A jump beyond it is taken for a broken assumption.
    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        let _ = (obstacle, seen);
        false
    }

    /// A certified plan takes over at this tick. A real arm has nothing to do; a simulator can look how well it is followed.
    fn plan_starts(&mut self, plan: &Plan) {
        let _ = plan;
    }

    /// From this tick's command on the arm is stopped gently ([`crate::control::stop`]): no plan is followed any more. When it stands, or after
    /// a time, commands end, and the arm's own drives have to hold it. A driver may put its brakes on here; a simulator can look how the arm stops.
    fn stop_begins(&mut self) {}

    /// The hand is to close, or to open. The arm stands meanwhile, held by its own drives. Called at a tick by a job of the room `job` alone; returns at once. A stack
    /// that moves its gripper in another way has nothing to do.
    fn gripper(&mut self, closes: bool) {
        let _ = closes;
    }

    /// The true parameters are claimed to lie in `set`. A real arm has nothing to do; a simulator can look whether it is true.
    fn set_claimed(&mut self, set: &ParameterSet) {
        let _ = set;
    }
}

/// A borrowed arm is an arm.
impl<H: Hardware + ?Sized> Hardware for &mut H {
    fn time(&self) -> f64 {
        (**self).time()
    }

    fn read(&mut self, reading: &mut Reading) {
        (**self).read(reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        (**self).command(tau, measured)
    }

    fn has_motor_loops(&self) -> bool {
        (**self).has_motor_loops()
    }

    fn command_loops(&mut self, tau: &[f64], loops: &MotorCommand<'_>, measured: &mut [f64]) -> bool {
        (**self).command_loops(tau, loops, measured)
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        (**self).hold(measured)
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        (**self).observe(obstacle, seen)
    }

    fn plan_starts(&mut self, plan: &Plan) {
        (**self).plan_starts(plan);
    }

    fn stop_begins(&mut self) {
        (**self).stop_begins();
    }

    fn gripper(&mut self, closes: bool) {
        (**self).gripper(closes);
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        (**self).set_claimed(set);
    }
}
