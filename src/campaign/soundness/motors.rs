//! Attacks on plans whose feedback runs in the motors ([`crate::reach::motor_loops`]): the arm is simulated under the law, and at every step what the plan says of its states
//! is held against it.
//!
//! Readings of the loops are used for as long as they may be, and off so that r looks smaller than it is, joint by joint. All that acts beside the commands pushes along r, of
//! all joints or of one, and friction sticks so too. The plant is that of [`truth`]. An arm that starts where its plan does comes nowhere near what is claimed, so it is thrown as well: to
//! where V is as large as it may be, in any direction, at the beginning of a tick.

use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::case::Case;
use super::ledger::{Check, Ledger};
use crate::campaign::arm::Setup;
use crate::control::{Controller, Measured, MotorCommand, RobustController};
use crate::dynamics::truth::{self, extreme};
use crate::plan::Plan;
use crate::robot::Arm;
use crate::trajectory::{Bezier, JointState};

/// Motions drawn before it is said that none can be proven for an arm. The number is only there to end.
const ATTEMPTS: usize = 30;
/// The law goes on for so long after the plan has ended, s: a few time constants of position errors.
const REST_S: f64 = 0.3;
/// Times that an arm is thrown in a play, and ticks that it is then followed for.
const THROWS: usize = 60;
const TICKS_AFTER: u64 = 3;
/// V after a throw, as a share of V_max: all of it but for rounding.
const THROWN: f64 = 1.0 - 1e-9;

/// A plan from rest that is proven.
#[derive(Debug, Clone)]
pub struct MotorCase {
    plan: Plan,
    case: Case,
}

/// The arm as it truly is.
struct Plant {
    /// On a base that leans.
    robot: Arm,
    theta: Vec<f64>,
    q: Vec<f64>,
    dq: Vec<f64>,
    /// The joint that is pushed out alone; none: all are.
    alone: Option<usize>,
}

impl MotorCase {
    /// A random motion of the arm, from rest, that is proven; none if there is none among many.
    pub fn draw(arm: &Setup, rng: &mut ChaCha8Rng) -> Option<Self> {
        (0..ATTEMPTS).find_map(|_| {
            let end = arm.curve(rng)?.end();
            let curve = Bezier::to_rest(&JointState::at_rest(&arm.start), &end, arm.duration_s).ok()?;
            let (robot, set, scene) = (arm.robot.clone(), arm.set.clone(), arm.scene.clone());
            let plan = Plan::prove_from_rest(&robot, &set, &scene, curve.clone().into()).ok()?;
            let tube = plan.tube.energy()?.clone();
            Some(Self { plan, case: Case::new(robot, set, scene, tube, curve) })
        })
    }

    /// Plays the plan once, on an arm whose loops and drives do so many times what is claimed, then throws that arm about, and holds all of it against the claims; the number of
    /// states that were looked at.
    pub fn play(&self, beyond: f64, rng: &mut ChaCha8Rng, ledger: &mut Ledger) -> u64 {
        let Plan { robot, curve, .. } = &self.plan;
        let (n, period_s) = (robot.dof(), self.plan.tube.period_s());
        let lean = (1.0 - 1e-9) * robot.uncertainty().gravity_direction_deg.to_radians();
        let mut plant = Plant {
            robot: robot.tilted(lean, rng.random_range(0.0..TAU)),
            theta: truth::consistent(robot, &self.plan.set, rng),
            q: curve.start(),
            dq: vec![0.0; n],
            alone: rng.random::<bool>().then(|| rng.random_range(0..n)),
        };
        let ticks = ((curve.duration_s() + REST_S) / period_s) as u64;
        let mut states = self.follow(&mut plant, 0..ticks, beyond, rng, ledger);
        for _ in 0..THROWS {
            let tick = rng.random_range(0..ticks);
            let mut direction = || -> Vec<f64> { (0..n).map(|_| extreme(rng)).collect() };
            let (e, along) = (self.case.position_errors(&direction()), direction());
            let t = tick as f64 * period_s;
            let zero = vec![0.0; n];
            let thrown = self.case.state(&plant.theta, t, &e, &along, THROWN, [&zero, &zero]);
            (plant.q, plant.dq) = (thrown.q, thrown.dq);
            states += self.follow(&mut plant, tick..tick + TICKS_AFTER, beyond, rng, ledger);
        }
        states
    }

    /// Follows the plan in these ticks.
    fn follow(
        &self,
        plant: &mut Plant,
        ticks: Range<u64>,
        beyond: f64,
        rng: &mut ChaCha8Rng,
        ledger: &mut Ledger,
    ) -> u64 {
        let Plan { robot, curve, .. } = &self.plan;
        let Some(tube) = self.plan.tube.energy() else { return 0 };
        let mut controller = RobustController::new(Arc::new(robot.clone()), &self.plan.set, tube);
        let (period_s, age_s) = (tube.gains.period_s, beyond * robot.timing().motor_loop_age_max_s);
        let (mut tau, mut states) = (vec![0.0; robot.dof()], 0);
        // The loops' clock is none of the computer's.
        let mut next_s = ticks.start as f64 * period_s - age_s * rng.random::<f64>();
        let mut reading = (plant.q.clone(), plant.dq.clone());
        for tick in ticks {
            let begun = tick as f64 * period_s;
            let desired = curve.state(tube.time_of_tick(curve.duration_s(), tick));
            let read = plant.misread(&self.r(begun, plant), 1.0);
            controller.tick(begun, Measured { q: &read.0, dq: &read.1 }, &desired, &mut tau);
            let Some(loops) = controller.motor_command() else { return states };
            let (mut t, end) = (begun, begun + period_s);
            while t < end {
                let r = self.r(t, plant);
                if t >= next_s {
                    reading = plant.misread(&r, beyond);
                    next_s += age_s;
                }
                let until = end.min(next_s);
                let command = total(&tau, &loops, &reading);
                let pushes = plant.pushes(&r, rng);
                self.look(t, plant, (&command, &pushes), beyond, ledger);
                plant.step((&command, &pushes), beyond, until - t);
                (t, states) = (until, states + 1);
            }
        }
        states
    }

    /// r at `t` seconds of the plan.
    fn r(&self, t: f64, plant: &Plant) -> Vec<f64> {
        let (desired, k_r) = (self.plan.curve.state(t), self.plan.tube.k_r());
        let of = |j: usize| desired.dq[j] - plant.dq[j] + k_r * (desired.q[j] - plant.q[j]);
        (0..plant.q.len()).map(of).collect()
    }

    /// Holds the state at `t` against all that is said of it.
    fn look(
        &self,
        t: f64,
        plant: &Plant,
        (command, pushes): (&[f64], &[f64]),
        beyond: f64,
        ledger: &mut Ledger,
    ) {
        let Some(tube) = self.plan.tube.energy() else { return };
        let (desired, r) = (self.plan.curve.state(t), self.r(t, plant));
        let energy = truth::energy(&plant.robot, &plant.theta, &plant.q, &r);
        ledger.note(Check::LevelOfV, energy, tube.gains.v_max);
        let (applied, acting) = plant.torques(command, pushes, beyond);
        let ddq = truth::acceleration(&plant.robot, &plant.theta, &plant.q, &plant.dq, &acting, pushes);
        for (j, joint) in plant.robot.joints.iter().enumerate() {
            ledger.note(Check::PositionError, (desired.q[j] - plant.q[j]).abs(), tube.e_radius(j));
            ledger.note(Check::R, r[j].abs(), tube.r_radius(j));
            ledger.note(Check::Velocity, plant.dq[j].abs(), joint.limits.velocity);
            ledger.note(Check::Acceleration, ddq[j].abs(), tube.acceleration_bound[j]);
            ledger.note(Check::Applied, applied[j].abs(), joint.limits.torque);
            if let Some((lower, upper)) = joint.limits.position {
                let gap = (plant.q[j] - lower).min(upper - plant.q[j]);
                ledger.gap(Check::Position, gap, 0.5 * (upper - lower));
            }
        }
        let frames = plant.robot.frames(&plant.q);
        let scene = &self.plan.scene;
        let clearances =
            [plant.robot.obstacle_clearance(&frames, scene), plant.robot.self_clearance(&frames)];
        for clearance in clearances.into_iter().flatten() {
            ledger.gap(Check::Collision, clearance.distance, 1.0);
        }
    }
}

/// Torques of the tick and what loops add to them by this reading, N m.
fn total(tau: &[f64], loops: &MotorCommand<'_>, (q, dq): &(Vec<f64>, Vec<f64>)) -> Vec<f64> {
    (0..tau.len()).map(|j| tau[j] + loops.torque_nm(j, q[j], dq[j])).collect()
}

impl Plant {
    /// What is read where each r looks smallest, off by so many times the sensors' bounds.
    fn misread(&self, r: &[f64], beyond: f64) -> (Vec<f64>, Vec<f64>) {
        let sensors = self.robot.sensors();
        let off = |x: &[f64], bound: f64| -> Vec<f64> {
            x.iter().zip(r).map(|(x, r)| x + beyond * bound * r.signum()).collect()
        };
        (off(&self.q, sensors.position_rad), off(&self.dq, sensors.velocity_rad_s))
    }

    /// Shares of all that acts beside the commands: along r, or for all but one joint anywhere.
    fn pushes(&self, r: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
        let share = |j: usize, rng: &mut ChaCha8Rng| match self.alone {
            Some(alone) if alone != j => extreme(rng),
            _ => -r[j].signum(),
        };
        (0..r.len()).map(|j| share(j, rng)).collect()
    }

    /// Torques that drives apply, and those that act, N m.
    fn torques(&self, command: &[f64], pushes: &[f64], beyond: f64) -> (Vec<f64>, Vec<f64>) {
        let applied = |j: usize| {
            let drive = self.robot.drive(j);
            command[j] + beyond * pushes[j] * (drive.error_nm + drive.error_ratio * command[j].abs())
        };
        let applied: Vec<f64> = (0..command.len()).map(applied).collect();
        let acting = |j: usize| applied[j] + beyond * pushes[j] * self.robot.drive(j).unmodelled_nm;
        let acting = (0..command.len()).map(acting).collect();
        (applied, acting)
    }

    fn step(&mut self, (command, pushes): (&[f64], &[f64]), beyond: f64, h: f64) {
        let (_, acting) = self.torques(command, pushes, beyond);
        let state = (&self.q[..], &self.dq[..]);
        (self.q, self.dq) = truth::step(&self.robot, &self.theta, state, &acting, pushes, h);
    }
}
