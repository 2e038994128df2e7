//! A simulated experiment: the plant follows a motion by computed torque, held over each tick, and the sensors err within
//! their bounds in a given way.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::INERTIAL;
use crate::recording::Sample;
use crate::robot::Arm;
use crate::simulate::plant::{Plant, SUBSTEPS};
use crate::trajectory::{Curve, JointState};

/// Gains of the computed torque, 1/s and 1/s^2: 2 w and w^2 at w = 10 1/s, critically damped. The measurements that come of
/// it are what counts, not how well the arm tracks.
const GAINS: (f64, f64) = (20.0, 100.0);
/// Share of a sensor's bound that is used at most: the rest is for the rounding of the noise itself, which is far smaller.
const FULL: f64 = 1.0 - 1e-9;
/// Margin on the accelerations between two integration steps, which nobody sees. Larger ones widen the sets that are judged;
/// without any, a bound that the identifier is told might be false.
const ACCELERATION: f64 = 1.1;

/// How the sensors err.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Noise {
    /// Independently and uniformly within their bounds.
    Uniform,
    /// At the ends of their bounds, one side a joint.
    Corners,
    /// At the ends of their bounds, the torques on the side that moves an estimate the farthest.
    Adversary,
}

pub(super) const NOISES: [Noise; 3] = [Noise::Uniform, Noise::Corners, Noise::Adversary];

/// What the sensors say while the arm with the parameters `theta` follows `motion` from rest at its start, and a bound on
/// the accelerations (rad/s^2), observed. Joints break away at random, within their ratio.
pub(super) fn record(
    robot: &Arc<Arm>,
    theta: &[f64],
    motion: &dyn Curve,
    noise: Noise,
    rng: &mut ChaCha8Rng,
) -> (Vec<Sample>, Vec<f64>) {
    let (n, period) = (robot.dof(), robot.gains().period_s);
    let mut desired = JointState::at_rest(&vec![0.0; n]);
    motion.evaluate(0.0, &mut desired);
    let breakaway = (0..n).map(|_| rng.random_range(1.0..=robot.uncertainty().breakaway_ratio)).collect();
    let mut plant = Plant::at_rest(robot.clone(), theta.to_vec(), &desired.q).with_breakaway(breakaway);
    let mut inverse = Inverse::new(robot);
    let errors = Errors::draw(robot, noise, rng);
    let (mut samples, mut acceleration) = (vec![], vec![0.0_f64; n]);
    for k in 0..=(motion.duration_s() / period).round() as usize {
        let t = k as f64 * period;
        motion.evaluate(t, &mut desired);
        let (q, dq) = (plant.q.clone(), plant.dq.clone());
        let follow =
            |j: usize| desired.ddq[j] + GAINS.0 * (desired.dq[j] - dq[j]) + GAINS.1 * (desired.q[j] - q[j]);
        let ddq: Vec<f64> = (0..n).map(follow).collect();
        let (tau, column) = inverse.torque(theta, &q, &dq, &ddq, errors.wanted);
        samples.push(errors.sample(robot, t, [&q, &dq, &tau], &column, rng));
        let (mut before, step) = (dq, period / SUBSTEPS as f64);
        plant.advance(&tau, period, |now| {
            for j in 0..n {
                acceleration[j] = acceleration[j].max(ACCELERATION * ((now.dq[j] - before[j]) / step).abs());
            }
            before.copy_from_slice(now.dq);
        });
    }
    (samples, acceleration)
}

/// The sensors' errors as shares of their bounds.
struct Errors {
    noise: Noise,
    /// Where the errors stay on one side: which, for position, velocity and torque of each joint.
    sides: Vec<f64>,
    /// The parameter that the adversary wants to move, and which way.
    wanted: usize,
    way: f64,
}

impl Errors {
    fn draw(robot: &Arm, noise: Noise, rng: &mut ChaCha8Rng) -> Self {
        let mut side = || if rng.random() { FULL } else { -FULL };
        let sides = (0..3 * robot.dof()).map(|_| side()).collect();
        let way = side();
        Self { noise, sides, wanted: rng.random_range(0..INERTIAL), way }
    }

    /// The measurements of position, velocity, torque; `column` is what the parameter that is wanted adds to the torques.
    fn sample(
        &self,
        robot: &Arm,
        t: f64,
        [q, dq, tau]: [&[f64]; 3],
        column: &[f64],
        rng: &mut ChaCha8Rng,
    ) -> Sample {
        let (n, sensors) = (robot.dof(), robot.sensors());
        let mut error = |place: usize, j: usize| match self.noise {
            Noise::Uniform => FULL * rng.random_range(-1.0..=1.0),
            Noise::Adversary if place == 2 && column[j] < 0.0 => -self.way,
            Noise::Adversary if place == 2 => self.way,
            _ => self.sides[place * n + j],
        };
        let torque = |j: usize| sensors.torque(j).error_nm(tau[j]);
        Sample {
            t,
            q: (0..n).map(|j| q[j] + sensors.position_rad * error(0, j)).collect(),
            dq: (0..n).map(|j| dq[j] + sensors.velocity_rad_s * error(1, j)).collect(),
            tau: (0..n).map(|j| tau[j] + torque(j) * error(2, j)).collect(),
        }
    }
}

/// Inverse dynamics with friction.
struct Inverse<'a> {
    robot: &'a Arm,
    motion: Motion<f64>,
    y: Vec<f64>,
}

impl<'a> Inverse<'a> {
    fn new(robot: &'a Arm) -> Self {
        let n = robot.dof();
        Self { robot, motion: Motion::new(robot), y: vec![0.0; INERTIAL * n * n] }
    }

    /// Torques, and the column of the last body's parameter `wanted` in them.
    fn torque(
        &mut self,
        theta: &[f64],
        q: &[f64],
        dq: &[f64],
        ddq: &[f64],
        wanted: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let (robot, n) = (self.robot, self.robot.dof());
        self.motion.sweep(robot, q, dq, dq, ddq);
        torque_regressor(robot, &self.motion, 0..n, &mut self.y);
        let at = robot.inertial_index(robot.end_effector()) + wanted;
        let (mut tau, mut column) = (vec![], vec![]);
        for (j, row) in self.y.chunks_exact(INERTIAL * n).enumerate() {
            let f = robot.joint_parameters(theta, j);
            let sign = (dq[j] / robot.gains().stiction_speed_rad_s).clamp(-1.0, 1.0);
            let links: f64 = row.iter().zip(theta).map(|(y, z)| y * z).sum();
            tau.push(links + f.coulomb * sign + f.viscous * dq[j] + f.armature * ddq[j] + f.offset);
            column.push(row[at]);
        }
        (tau, column)
    }
}
