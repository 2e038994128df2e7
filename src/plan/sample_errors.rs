//! What a torque sample is worth: how far the torques may be from what the end effector's parameters make of them.
//!
//! What is not known of the arm is no error that is made anew in every sample: the same parameters are unknown in all of them,
//! and a motion may tell them from the object in the hand. Those that matter most are therefore unknowns beside the ten
//! ([`SampleErrors::shared`]); the rest is counted among the errors.
//!
//! What a small torque is worth the sensor's ratio does not say: a balance of momentum over a window also errs by what the encoders
//! get wrong of the momentum at its ends, and while a joint is so slow that it may move either way, by all of its Coulomb friction.
//! Without these a joint at rest that carries nothing would seem to tell more than any other.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::dynamics::{Composites, Motion, Wrench, crba, rnea, torque_regressor};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::robot::Arm;
use crate::scalar::Scalar;
use crate::trajectory::JointState;

/// Random states in which it is seen what matters, and the seed of them: a share is a mean over them, and each costs a
/// regressor once a plan.
const STATES: (usize, u64) = (24, 1);
/// An unknown of the arm matters where it makes more than this share of what all of them may change in a joint's torque. A
/// smaller share keeps more unknowns, whose number decides what the cost of a motion takes.
const SHARE: f64 = 0.06;
/// What makes less than this in the mean is no unknown, N m: no torque sensor shows it.
const NEGLIGIBLE: f64 = 1e-6;
/// Accelerations of those states, rad/s^2: about what exciting motions reach.
const ACCELERATION: f64 = 3.0;
/// Acceleration that may be hidden between two ticks, rad/s^2: about what tubes bound it by.
const HIDDEN: f64 = 10.0;

/// Largest errors of torque samples for one robot and parameter set.
#[derive(Debug, Clone)]
pub struct SampleErrors {
    center: Vec<f64>,
    /// Half-widths of what counts as error.
    radius: Vec<f64>,
    shared: Vec<Shared>,
    /// For each joint the error that the encoders make of a window's mean torque, N m.
    encoders: Vec<f64>,
    /// Slower joints (rad/s) may move either way.
    slow: f64,
}

/// Derivatives of a sample's error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ErrorSlope {
    /// By the torque, 1.
    pub tau: f64,
    /// By the joint's velocity, N m s/rad.
    pub dq: f64,
    /// By its acceleration, N m s^2/rad.
    pub ddq: f64,
}

impl ErrorSlope {
    /// Adds `by` times `other`.
    pub fn add(&mut self, by: f64, other: &Self) {
        self.tau += by * other.tau;
        self.dq += by * other.dq;
        self.ddq += by * other.ddq;
    }
}

/// An unknown of the arm that all samples share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// Index of the parameter.
    pub column: usize,
    /// Half-width of its interval.
    pub radius: f64,
}

impl SampleErrors {
    /// For the torques of the centre of `set` over windows of `window_s` (s), and what is not known of everything but the end effector.
    pub fn new(robot: &Arm, set: &ParameterSet, window_s: f64) -> Self {
        Self::sharing(robot, set, window_s, SHARE)
    }

    /// The same with all unknowns of the arm shared that make more than `share` of any torque's uncertainty.
    pub fn sharing(robot: &Arm, set: &ParameterSet, window_s: f64, share: f64) -> Self {
        let mut radius = set.radius();
        let at = robot.body_range(robot.end_effector());
        radius[at].fill(0.0);
        let matters = matters(robot, &radius, share);
        let mut shared = vec![];
        for (column, radius) in radius.iter_mut().enumerate().filter(|(column, _)| matters[*column]) {
            shared.push(Shared { column, radius: std::mem::take(radius) });
        }
        let center = set.center();
        let encoders = momentum_errors(robot, &center, window_s);
        let slow = robot.gains().stiction_speed_rad_s
            + robot.sensors().velocity_rad_s
            + 0.5 * HIDDEN * robot.gains().period_s;
        Self { center, radius, shared, encoders, slow }
    }

    /// Unknowns of the arm beside the ten.
    pub fn shared(&self) -> &[Shared] {
        &self.shared
    }

    /// What the torque of joint `j` changes by over half of the interval of each shared unknown, in a state with the full regressor
    /// `y` (row-major n x 10 n), velocity and its sign, and acceleration of this joint; over any scalar.
    pub fn shared_rows<'a, T: Scalar>(
        &'a self,
        robot: &'a Arm,
        j: usize,
        y: &'a [T],
        (dq, sign, ddq): (T, T, T),
    ) -> impl Iterator<Item = T> + 'a {
        let width = INERTIAL * robot.dof();
        let friction = robot.joint_index(j);
        self.shared.iter().map(move |shared| {
            let entry = match shared.column {
                column if column < width => y[width * j + column],
                column if column == friction.coulomb => sign,
                column if column == friction.viscous => dq,
                column if column == friction.armature => ddq,
                column if column == friction.offset => T::constant(1.0),
                _ => T::zero(),
            };
            entry.scale(shared.radius)
        })
    }

    /// Adds for each joint the largest error of a torque sample in the desired state, N m, to `errors`: the sensor's, which grows
    /// with the torque, the encoders', that of what is not shared of links and friction, and Coulomb's while the direction is not sure;
    /// and its derivatives to `slopes`. The sample stands for `dt` (s) of the motion; `y` is the full regressor there (row-major
    /// n x 10 n).
    pub fn errors(
        &self,
        robot: &Arm,
        (state, dt): (&JointState, f64),
        y: &[f64],
        (errors, slopes): (&mut Vec<f64>, &mut Vec<ErrorSlope>),
    ) {
        let n = robot.dof();
        let sensors = robot.sensors();
        for j in 0..n {
            let (mut tau, mut unknown) = (0.0, self.encoders[j]);
            for (column, y) in torque_columns(robot, j, y, (&state.dq, &state.ddq)) {
                tau += y * self.center[column];
                unknown += y.abs() * self.radius[column];
            }
            let coulomb = robot.uncertainty().breakaway_ratio * self.center[robot.joint_index(j).coulomb];
            let (share, by_dq, by_ddq) = self.undecided(state.dq[j], state.ddq[j], dt);
            slopes.push(ErrorSlope {
                tau: sensors.torque(j).ratio * tau.signum(),
                dq: coulomb * by_dq,
                ddq: coulomb * by_ddq,
            });
            let known = sensors.torque(j).error_nm(tau) + robot.drive(j).unmodelled_nm;
            errors.push(known + unknown + coulomb * share);
        }
    }

    /// The share of a sample's time, `dt` (s), in which a joint is too slow for its direction to be sure, smoothed, and its derivatives
    /// by velocity and acceleration. A joint that passes zero at |ddq| is that slow for 2 `slow` / |ddq|.
    fn undecided(&self, dq: f64, ddq: f64, dt: f64) -> (f64, f64, f64) {
        let half = 0.5 * dt * ddq;
        let range = self.slow.hypot(half);
        let x = dq / range;
        let share = self.slow / range * (-x * x).exp();
        let by_range = share * (2.0 * x * x - 1.0) / range;
        (share, -2.0 * share * x / range, by_range * 0.5 * dt * half / range)
    }
}

/// Parameters that the torque of joint `j` depends on, with the factors: of the links from the full regressor `y`, of friction.
fn torque_columns<'a>(
    robot: &Arm,
    j: usize,
    y: &'a [f64],
    (dq, ddq): (&[f64], &[f64]),
) -> impl Iterator<Item = (usize, f64)> + 'a {
    let width = INERTIAL * robot.dof();
    let at = robot.joint_index(j);
    let friction =
        [(at.coulomb, dq[j].signum()), (at.viscous, dq[j]), (at.armature, ddq[j]), (at.offset, 1.0)];
    y[width * j..width * (j + 1)].iter().copied().enumerate().chain(friction)
}

/// The largest error that the encoders make of the momenta at the ends of a window, over its length, N m, in the mean over random
/// postures: 2 delta sum_k |M_jk| / window.
fn momentum_errors(robot: &Arm, center: &[f64], window_s: f64) -> Vec<f64> {
    let n = robot.dof();
    let mut rng = ChaCha8Rng::seed_from_u64(STATES.1);
    let (mut motion, mut composites) = (Motion::new(robot), Composites::new(robot));
    let (mut mass, mut errors, still) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
    let share = 2.0 * robot.sensors().velocity_rad_s / (window_s * STATES.0 as f64);
    for _ in 0..STATES.0 {
        let q: Vec<f64> = (0..n).map(|_| std::f64::consts::PI * rng.random_range(-1.0..1.0)).collect();
        motion.sweep(robot, &q, &still, &still, &still);
        crba(robot, &motion, center, &mut composites, &mut mass);
        for (j, (error, row)) in errors.iter_mut().zip(mass.chunks_exact(n)).enumerate() {
            let links: f64 = row.iter().map(|m| m.abs()).sum();
            *error += share * (links + center[robot.joint_index(j).armature]);
        }
    }
    errors
}

/// Which parameters with these half-widths make more than `share` of what all of them change in some torque of random states.
fn matters(robot: &Arm, radius: &[f64], share: f64) -> Vec<bool> {
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
    pub fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        let theta = Vec::with_capacity(robot.parameter_count());
        Self { theta, wrenches: vec![Wrench::zero(); n], tau: vec![T::zero(); n] }
    }

    /// Takes the parameters that `sample_errors` is for.
    pub fn take(&mut self, sample_errors: &SampleErrors) {
        self.theta.clear();
        self.theta.extend(sample_errors.center.iter().map(|&x| T::constant(x)));
    }

    /// Fills `tau` for a swept motion with these velocities (rad/s) and accelerations (rad/s^2).
    pub fn fill(&mut self, robot: &Arm, motion: &Motion<T>, dq: &[T], ddq: &[T]) {
        rnea(robot, motion, &self.theta, &mut self.wrenches, &mut self.tau);
        for (j, tau) in self.tau.iter_mut().enumerate() {
            let f = robot.joint_parameters(&self.theta, j);
            // Coulomb's part is constant but where the velocity changes its sign.
            *tau = *tau + f.viscous * dq[j] + f.armature * ddq[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::window::{Clock, Window, parts, rows_over_parts};
    use crate::recording::Sample;
    use crate::robot;
    use crate::trajectory::Bezier;

    const WINDOW_S: f64 = 0.1;

    #[test]
    fn undecided_shares_have_the_slopes_of_differences_and_the_right_sum() {
        let mut robot = robot::load("kinova_gen3_2f85").unwrap();
        robot.stated().gains.stiction_speed_rad_s = 0.02;
        let sample_errors = SampleErrors::new(&robot, &ParameterSet::around_nominal(&robot), WINDOW_S);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..200 {
            let (dq, ddq, dt) =
                (rng.random_range(-0.1..0.1), rng.random_range(-3.0..3.0), rng.random_range(0.01..0.05));
            let (share, by_dq, by_ddq) = sample_errors.undecided(dq, ddq, dt);
            assert!((0.0..=1.0).contains(&share));
            let h = 1e-6;
            let slope = |from: f64, to: f64| (to - from) / (2.0 * h);
            let found =
                slope(sample_errors.undecided(dq - h, ddq, dt).0, sample_errors.undecided(dq + h, ddq, dt).0);
            assert!((found - by_dq).abs() < 1e-4 * (1.0 + by_dq.abs()), "{found} {by_dq}");
            let found =
                slope(sample_errors.undecided(dq, ddq - h, dt).0, sample_errors.undecided(dq, ddq + h, dt).0);
            assert!((found - by_ddq).abs() < 1e-4 * (1.0 + by_ddq.abs()), "{found} {by_ddq}");
        }
        // At rest all of the time; passing zero at 2 rad/s^2 for 2 slow / 2 s, wherever the samples lie.
        assert_eq!(sample_errors.undecided(0.0, 0.0, 0.02).0, 1.0);
        for offset in [0.0, 0.3, 0.7] {
            let dt = 0.04;
            let time: f64 = (-100..100)
                .map(|s| dt * sample_errors.undecided(2.0 * dt * (f64::from(s) + offset), 2.0, dt).0)
                .sum();
            assert!((time / sample_errors.slow - 1.0).abs() < 0.3, "{time} {}", sample_errors.slow);
        }
    }

    /// Radii of the identifier's rows over windows of random motions, some joints of which stand still, against what is foreseen.
    #[test]
    fn errors_are_about_what_the_identifier_will_charge() {
        let robot = robot::load("kinova_gen3_2f85").unwrap();
        let n = robot.dof();
        let theta = robot.nominal_parameters();
        // What is not known of the arm are unknowns of the identifier's rows.
        let known = ParameterSet::new(theta.clone(), theta.clone()).unwrap();
        let sample_errors = SampleErrors::new(&robot, &known, WINDOW_S);
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let (mut motion, mut y) = (Motion::new(&robot), vec![0.0; INERTIAL * n * n]);
        let (period, panels) = (robot.gains().period_s, (WINDOW_S / robot.gains().period_s).round() as usize);
        let mut ratios = vec![];
        for _ in 0..20 {
            let mut start = JointState::at_rest(&vec![0.0; n]);
            start.q.iter_mut().for_each(|q| *q = rng.random_range(-1.5..1.5));
            let end: Vec<f64> = start
                .q
                .iter()
                .map(|q| q + if rng.random_bool(0.3) { 0.0 } else { rng.random_range(-1.0..1.0) })
                .collect();
            let curve = Bezier::to_rest(&start, &end, 2.0).unwrap();
            let from = rng.random_range(0.0..1.8);
            let (mut errors, mut slopes, mut samples) = (vec![], vec![], vec![]);
            for k in 0..=panels {
                let t = from + period * k as f64;
                let state = curve.state(t);
                motion.sweep(&robot, &state.q, &state.dq, &state.dq, &state.ddq);
                torque_regressor(&robot, &motion, 0..n, &mut y);
                sample_errors.errors(&robot, (&state, period), &y, (&mut errors, &mut slopes));
                let column = |j| torque_columns(&robot, j, &y, (&state.dq, &state.ddq));
                let tau = (0..n).map(|j| column(j).map(|(column, y)| y * theta[column]).sum()).collect();
                samples.push(Sample { t, q: state.q.clone(), dq: state.dq.clone(), tau });
            }
            let window = Window { samples, acceleration_bound: vec![HIDDEN; n], clock: Clock::Control };
            let rows = rows_over_parts(&robot, &known, &parts(&robot, &known, &window, 1));
            for j in 0..n {
                let mean: f64 = errors[..n * panels].iter().skip(j).step_by(n).sum::<f64>() / panels as f64;
                ratios.push(rows.radius[j] / WINDOW_S / mean);
            }
        }
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| ratios[(share * ratios.len() as f64) as usize];
        assert!(at(0.1) > 0.8 && at(0.5) < 1.3 && at(0.9) < 3.0, "{} {} {}", at(0.1), at(0.5), at(0.9));
    }
}
