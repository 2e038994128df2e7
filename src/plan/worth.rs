//! What a torque sample is worth: how far the torques may be from what the end effector's parameters make of them.

use crate::dynamics::{Motion, Wrench, rnea, torque_regressor};
use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, VISCOUS};
use crate::scalar::Scalar;
use crate::trajectory::JointState;

/// Largest errors of torque samples for one robot and parameter set.
#[derive(Debug, Clone)]
pub struct Worth {
    center: Vec<f64>,
    radius: Vec<f64>,
}

impl Worth {
    /// For the torques of the centre of `set`, and what is not known of everything but the end effector.
    pub fn new(robot: &Robot, set: &ParameterSet) -> Self {
        let mut radius = set.radius();
        let at = robot.inertial_index(robot.end_effector);
        radius[at..at + INERTIAL].fill(0.0);
        Self { center: set.center(), radius }
    }

    /// Adds for each joint the largest error of a torque sample in the desired state, N m, to `errors`: the sensor's, which grows
    /// with the torque, and that of links and friction; and d error / d torque to `slopes`. `motion` and `y` (row-major n x 10 n) are
    /// storage.
    pub fn errors(
        &self,
        robot: &Robot,
        state: &JointState,
        (motion, y): (&mut Motion<f64>, &mut [f64]),
        (errors, slopes): (&mut Vec<f64>, &mut Vec<f64>),
    ) {
        let n = robot.dof();
        let JointState { q, dq, ddq } = state;
        motion.sweep(robot, q, dq, dq, ddq);
        torque_regressor(robot, motion, 0..n, y);
        let sensors = &robot.sensors;
        for j in 0..n {
            let (mut tau, mut unknown) = (0.0, 0.0);
            let mut add = |y: f64, column: usize| {
                tau += y * self.center[column];
                unknown += y.abs() * self.radius[column];
            };
            for (column, &y) in y[INERTIAL * n * j..INERTIAL * n * (j + 1)].iter().enumerate() {
                add(y, column);
            }
            let friction = robot.friction_index(j);
            let columns = [(COULOMB, dq[j].signum()), (VISCOUS, dq[j]), (ARMATURE, ddq[j]), (OFFSET, 1.0)];
            columns.iter().for_each(|&(column, y)| add(y, friction + column));
            slopes.push(sensors.torque_ratio * tau.signum());
            errors.push(sensors.torque_ratio * tau.abs() + sensors.torque_abs_nm + unknown);
        }
    }
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
