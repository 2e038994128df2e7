//! What a torque sample is worth: how far the torques may be from what the end effector's parameters make of them.
//!
//! What is not known of the arm is no error that is made anew in every sample: the same parameters are unknown in all of them,
//! and a motion may tell them from the object in the hand. Those that matter most are therefore unknowns beside the ten
//! ([`Worth::shared`]); the rest is counted among the errors.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::dynamics::{Motion, Wrench, rnea, torque_regressor};
use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, VISCOUS};
use crate::scalar::Scalar;
use crate::trajectory::JointState;

/// Random states in which it is seen what matters, and the seed of them.
const STATES: (usize, u64) = (24, 1);
/// An unknown of the arm matters where it makes more than this share of what all of them may change in a joint's torque.
const SHARE: f64 = 0.06;
/// What makes less than this in the mean is no unknown, N m.
const NEGLIGIBLE: f64 = 1e-6;
/// Accelerations of those states, rad/s^2.
const ACCELERATION: f64 = 3.0;

/// Largest errors of torque samples for one robot and parameter set.
#[derive(Debug, Clone)]
pub struct Worth {
    center: Vec<f64>,
    /// Half-widths of what counts as error.
    radius: Vec<f64>,
    shared: Vec<Shared>,
}

/// An unknown of the arm that all samples share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// Index of the parameter.
    pub column: usize,
    /// Half-width of its interval.
    pub radius: f64,
}

impl Worth {
    /// For the torques of the centre of `set`, and what is not known of everything but the end effector.
    pub fn new(robot: &Robot, set: &ParameterSet) -> Self {
        Self::sharing(robot, set, SHARE)
    }

    /// The same with all unknowns of the arm shared that make more than `share` of any torque's uncertainty.
    pub fn sharing(robot: &Robot, set: &ParameterSet, share: f64) -> Self {
        let mut radius = set.radius();
        let at = robot.inertial_index(robot.end_effector);
        radius[at..at + INERTIAL].fill(0.0);
        let matters = matters(robot, &radius, share);
        let mut shared = vec![];
        for (column, radius) in radius.iter_mut().enumerate().filter(|(column, _)| matters[*column]) {
            shared.push(Shared { column, radius: std::mem::take(radius) });
        }
        Self { center: set.center(), radius, shared }
    }

    /// Unknowns of the arm beside the ten.
    pub fn shared(&self) -> &[Shared] {
        &self.shared
    }

    /// What the torque of joint `j` changes by over half of the interval of each shared unknown, in a state with the full regressor
    /// `y` (row-major n x 10 n), velocity and its sign, and acceleration of this joint; over any scalar.
    pub fn shared_rows<'a, T: Scalar>(
        &'a self,
        robot: &'a Robot,
        j: usize,
        y: &'a [T],
        (dq, sign, ddq): (T, T, T),
    ) -> impl Iterator<Item = T> + 'a {
        let width = INERTIAL * robot.dof();
        let friction = robot.friction_index(j);
        self.shared.iter().map(move |shared| {
            let entry = match shared.column {
                column if column < width => y[width * j + column],
                column if column == friction + COULOMB => sign,
                column if column == friction + VISCOUS => dq,
                column if column == friction + ARMATURE => ddq,
                column if column == friction + OFFSET => T::constant(1.0),
                _ => T::zero(),
            };
            entry.scale(shared.radius)
        })
    }

    /// Adds for each joint the largest error of a torque sample in the desired state, N m, to `errors`: the sensor's, which grows
    /// with the torque, and that of what is not shared of links and friction; and d error / d torque to `slopes`. `y` is the full
    /// regressor there (row-major n x 10 n).
    pub fn errors(
        &self,
        robot: &Robot,
        state: &JointState,
        y: &[f64],
        (errors, slopes): (&mut Vec<f64>, &mut Vec<f64>),
    ) {
        let n = robot.dof();
        let sensors = &robot.sensors;
        for j in 0..n {
            let (mut tau, mut unknown) = (0.0, 0.0);
            for (column, y) in torque_columns(robot, j, y, (&state.dq, &state.ddq)) {
                tau += y * self.center[column];
                unknown += y.abs() * self.radius[column];
            }
            slopes.push(sensors.torque_ratio * tau.signum());
            errors.push(sensors.torque_ratio * tau.abs() + sensors.torque_abs_nm + unknown);
        }
    }
}

/// Parameters that the torque of joint `j` depends on, with the factors: of the links from the full regressor `y`, of friction.
fn torque_columns<'a>(
    robot: &Robot,
    j: usize,
    y: &'a [f64],
    (dq, ddq): (&[f64], &[f64]),
) -> impl Iterator<Item = (usize, f64)> + 'a {
    let width = INERTIAL * robot.dof();
    let at = robot.friction_index(j);
    let friction =
        [(at + COULOMB, dq[j].signum()), (at + VISCOUS, dq[j]), (at + ARMATURE, ddq[j]), (at + OFFSET, 1.0)];
    y[width * j..width * (j + 1)].iter().copied().enumerate().chain(friction)
}

/// Which parameters with these half-widths make more than `share` of what all of them change in some torque of random states.
fn matters(robot: &Robot, radius: &[f64], share: f64) -> Vec<bool> {
    let n = robot.dof();
    let mut rng = ChaCha8Rng::seed_from_u64(STATES.1);
    let (mut motion, mut y) = (Motion::new(robot), vec![0.0; n * INERTIAL * n]);
    let mut mean = vec![0.0; n * radius.len()];
    for _ in 0..STATES.0 {
        let mut draw = |size: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..n).map(|j| size(j) * rng.random_range(-1.0..1.0)).collect()
        };
        let q = draw(&|_| std::f64::consts::PI);
        let dq = draw(&|j| 0.5 * robot.joints[j].limits.velocity);
        let ddq = draw(&|_| ACCELERATION);
        motion.sweep(robot, &q, &dq, &dq, &ddq);
        torque_regressor(robot, &motion, 0..n, &mut y);
        for j in 0..n {
            for (column, y) in torque_columns(robot, j, &y, (&dq, &ddq)) {
                mean[radius.len() * j + column] += y.abs() * radius[column];
            }
        }
    }
    let mut matters = vec![false; radius.len()];
    for joint in mean.chunks_exact(radius.len()) {
        let least = (share * joint.iter().sum::<f64>()).max(NEGLIGIBLE * STATES.0 as f64);
        matters.iter_mut().zip(joint).for_each(|(matters, own)| *matters |= *own > least);
    }
    matters
}

/// Torques of the centre of a set over any scalar, for the derivatives of errors.
#[derive(Debug, Clone)]
pub struct Torques<T> {
    theta: Vec<T>,
    wrenches: Vec<Wrench<T>>,
    /// The torques, N m.
    pub tau: Vec<T>,
}

impl<T: Scalar> Torques<T> {
    /// Storage for `robot`.
    pub fn new(robot: &Robot) -> Self {
        let n = robot.dof();
        let theta = Vec::with_capacity(robot.parameter_count());
        Self { theta, wrenches: vec![Wrench::zero(); n], tau: vec![T::zero(); n] }
    }

    /// Takes the parameters that `worth` is for.
    pub fn take(&mut self, worth: &Worth) {
        self.theta.clear();
        self.theta.extend(worth.center.iter().map(|&x| T::constant(x)));
    }

    /// Fills `tau` for a swept motion with these velocities (rad/s) and accelerations (rad/s^2).
    pub fn fill(&mut self, robot: &Robot, motion: &Motion<T>, dq: &[T], ddq: &[T]) {
        rnea(robot, motion, &self.theta, &mut self.wrenches, &mut self.tau);
        for (j, tau) in self.tau.iter_mut().enumerate() {
            let f = &self.theta[robot.friction_index(j)..];
            // Coulomb's part is constant but where the velocity changes its sign.
            *tau = *tau + f[VISCOUS] * dq[j] + f[ARMATURE] * ddq[j];
        }
    }
}
