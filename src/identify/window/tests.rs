//! Rows under attack by one source of error at a time: every other bound is zero, so that the radius is that source's alone, and
//! the attack has to come near it. A term that is dropped, or smaller than the share attained, is then seen.
//! `tests/mutants/identify.toml` keeps the list.
//!
//! The truth is not simulated. The motion is chosen, with accelerations that are constant over quarters of a panel, and the torque's
//! mean over each panel follows by inverse dynamics and Gauss quadrature; what is held between ticks acts by its integral alone.
//! The parameters are chosen too: a row holds for any of the box, be they those of a body or not.

mod late;

use std::f64::consts::FRAC_PI_2;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::evaluator::Evaluator;
use super::integrals::{Integrals, upper};
use super::*;
use crate::dynamics::{Motion, Wrench, rnea};
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use crate::robot::fixture::small_robot;
use crate::robot::{Arm, DriveBounds};
use crate::scalar::Dual;

/// Gauss-Legendre nodes on [0, 1] with their weights.
const GAUSS: [(f64, f64); 5] = [
    (0.046_910_077_030_668, 0.118_463_442_528_094_54),
    (0.230_765_344_947_158_45, 0.239_314_335_249_683_24),
    (0.5, 0.284_444_444_444_444_44),
    (0.769_234_655_052_841_5, 0.239_314_335_249_683_24),
    (0.953_089_922_969_332, 0.118_463_442_528_094_54),
];

/// Columns of the second body.
const BODY: usize = INERTIAL;
const FIRST_MOMENT_X: usize = BODY + 1;
const MOMENT_ZZ: usize = BODY + 9;

/// Accelerations over the quarters of a panel, as shares of the bound: away and back, which leaves the velocity at the ticks as it is.
const DIP: [f64; 4] = [-1.0, -1.0, 1.0, 1.0];
const STEADY: [f64; 4] = [0.0; 4];

/// What is true, what the sensors make of it, and what the rows are told.
struct Experiment {
    /// Two turning joints a metre apart and a sliding one, with its sensors.
    robot: Arm,
    /// True parameters.
    theta: Vec<f64>,
    /// What is known of them.
    set: ParameterSet,
    /// State at the first tick.
    q: Vec<f64>,
    dq: Vec<f64>,
    /// For each joint the bound on its acceleration and the pattern that it follows.
    acceleration: Vec<(f64, [f64; 4])>,
    /// How the base leans: the angle as a share of the bound, and where to (rad).
    lean: (f64, f64),
    /// Share of F_c, with its sign, that acts below the stiction speed.
    stuck: f64,
    /// Share of its bound that a torque which nobody accounts for has on a joint, all the time.
    unmodelled: fn(usize) -> f64,
    /// Lengths of the panels of each window, s.
    steps: Vec<Vec<f64>>,
    clock: Clock,
    /// Errors of position, velocity and torque at a tick (whether it is the last, joint) as shares of their bounds.
    errors: [fn(bool, usize) -> f64; 3],
    /// Age of the readings of a tick (whether it is the last) as a share of its bound: it reaches back over time of one acceleration.
    age: fn(bool) -> f64,
    /// Accelerations before the first tick, as shares of their bounds.
    before: f64,
}

impl Experiment {
    /// No errors, at rest, with nothing but these parameters, which are known exactly.
    fn new(theta: &[(usize, f64)]) -> Self {
        let mut robot = small_robot();
        robot.gravity.fill(0.0);
        let n = robot.dof();
        let mut all = vec![0.0; robot.parameter_count()];
        theta.iter().for_each(|(column, value)| all[*column] = *value);
        Self {
            set: ParameterSet::new(all.clone(), all.clone()).unwrap(),
            theta: all,
            q: vec![0.0; n],
            dq: vec![0.0; n],
            acceleration: vec![(0.0, STEADY); n],
            lean: (0.0, 0.0),
            stuck: 0.0,
            unmodelled: |_| 0.0,
            steps: vec![vec![robot.gains().period_s; 20]],
            clock: Clock::Control,
            errors: [|_, _| 0.0; 3],
            age: |_| 0.0,
            before: 0.0,
            robot,
        }
    }

    /// So many panels of this length.
    fn panels(&mut self, count: usize, period_s: f64) {
        self.robot.stated().gains.period_s = period_s;
        self.steps = vec![vec![period_s; count]];
    }

    /// Integral of the torques over one piece of constant acceleration from (q, dq), without Coulomb friction.
    fn smooth_impulse(&self, q: &[f64], dq: &[f64], ddq: &[f64], length: f64) -> Vec<f64> {
        let n = q.len();
        let mut impulse = vec![0.0; n];
        let angle = self.lean.0 * self.robot.uncertainty().gravity_direction_deg.to_radians();
        let robot = self.robot.tilted(angle, self.lean.1);
        let mut motion = Motion::new(&robot);
        let (mut wrenches, mut tau) = (vec![Wrench::zero(); n], vec![0.0; n]);
        for (node, weight) in GAUSS {
            let s = node * length;
            let at: Vec<f64> = (0..n).map(|j| q[j] + s * dq[j] + 0.5 * s * s * ddq[j]).collect();
            let rate: Vec<f64> = (0..n).map(|j| dq[j] + s * ddq[j]).collect();
            motion.sweep_plain(&robot, &at, &rate, ddq);
            rnea(&robot, &motion, &self.theta, &mut wrenches, &mut tau);
            for j in 0..n {
                let own = self.robot.joint_parameters(&self.theta, j);
                let joint = own.viscous * rate[j] + own.armature * ddq[j] + own.offset;
                impulse[j] += weight * length * (tau[j] + joint);
            }
        }
        impulse
    }

    /// Integral of the sign of friction over a piece: the sign of the velocity, and below the stiction speed what the adversary
    /// likes.
    fn sign_impulse(&self, dq: f64, ddq: f64, length: f64) -> f64 {
        let stiction = self.robot.gains().stiction_speed_rad_s;
        let mut cuts = vec![0.0, length];
        cuts.extend(
            [-stiction, stiction].map(|v| (v - dq) / ddq).into_iter().filter(|s| (0.0..length).contains(s)),
        );
        cuts.sort_by(f64::total_cmp);
        let sign = |pair: &[f64]| {
            let v = dq + 0.5 * (pair[0] + pair[1]) * ddq;
            if v.abs() > stiction { v.signum() } else { self.stuck }
        };
        cuts.windows(2).map(|pair| (pair[1] - pair[0]) * sign(pair)).sum()
    }

    /// What is measured, window by window.
    fn windows(&self) -> Vec<Window> {
        let n = self.q.len();
        let (mut t, mut q, mut dq) = (0.0, self.q.clone(), self.dq.clone());
        let came: Vec<f64> = self.acceleration.iter().map(|(bound, _)| bound * self.before).collect();
        let mut truth = vec![(t, q.clone(), dq.clone(), came)];
        let mut means = vec![];
        for &step in self.steps.iter().flatten() {
            let mut impulse = vec![0.0; n];
            let length = 0.25 * step;
            for piece in 0..4 {
                let ddq: Vec<f64> =
                    self.acceleration.iter().map(|(bound, share)| bound * share[piece]).collect();
                let smooth = self.smooth_impulse(&q, &dq, &ddq, length);
                for j in 0..n {
                    let coulomb = self.theta[self.robot.joint_index(j).coulomb];
                    impulse[j] += smooth[j] + coulomb * self.sign_impulse(dq[j], ddq[j], length);
                    q[j] += length * dq[j] + 0.5 * length * length * ddq[j];
                    dq[j] += length * ddq[j];
                }
            }
            // The drive need not apply what acts beside it.
            let beside = |j: usize| (self.unmodelled)(j) * self.robot.drive(j).unmodelled_nm;
            means.push(impulse.iter().enumerate().map(|(j, x)| x / step - beside(j)).collect::<Vec<f64>>());
            t += step;
            let came = self.acceleration.iter().map(|(bound, share)| bound * share[3]).collect();
            truth.push((t, q.clone(), dq.clone(), came));
        }
        let torques = self.torques(&means);
        let last = truth.len() - 1;
        let samples: Vec<Sample> =
            truth.iter().enumerate().map(|(k, at)| self.read(k == last, at, &torques[k])).collect();
        let mut start = 0;
        let window = |steps: &Vec<f64>| {
            let end = start + steps.len();
            let samples = samples[start..=end].to_vec();
            start = end;
            let acceleration_bound = self.acceleration.iter().map(|(bound, _)| *bound).collect();
            Window { samples, acceleration_bound, clock: self.clock }
        };
        self.steps.iter().map(window).collect()
    }

    /// True torques at the ticks whose means over the panels are these: held, or the mean of two neighbours.
    fn torques(&self, means: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut torques = means.to_vec();
        if self.clock == Clock::Recorded {
            for k in 1..means.len() {
                torques[k] = (0..self.q.len()).map(|j| 2.0 * means[k - 1][j] - torques[k - 1][j]).collect();
            }
        }
        let mut last = torques[means.len() - 1].clone();
        if self.clock == Clock::Recorded {
            let mean = &means[means.len() - 1];
            last.iter_mut().zip(mean).for_each(|(tau, mean)| *tau = 2.0 * mean - *tau);
        }
        torques.push(last);
        torques
    }

    fn read(&self, last: bool, (t, q, dq, ddq): &(f64, Vec<f64>, Vec<f64>, Vec<f64>), tau: &[f64]) -> Sample {
        let sensors = self.robot.sensors();
        let age = (self.age)(last) * self.robot.timing().reading_age_max_s;
        let q: Vec<f64> = (0..q.len()).map(|j| q[j] - age * dq[j] + 0.5 * age * age * ddq[j]).collect();
        let dq: Vec<f64> = (0..q.len()).map(|j| dq[j] - age * ddq[j]).collect();
        let [position, velocity, torque] = self.errors;
        let off = |x: &[f64], bound: &dyn Fn(usize, f64) -> f64, share: fn(bool, usize) -> f64| {
            x.iter().enumerate().map(|(j, x)| x + bound(j, *x) * share(last, j)).collect()
        };
        Sample {
            t: *t,
            q: off(&q, &|_, _| sensors.position_rad, position),
            dq: off(&dq, &|_, _| sensors.velocity_rad_s, velocity),
            tau: off(tau, &|j, x| sensors.torque(j).error_nm(x), torque),
        }
    }

    /// How much of its radius the row of joint `i` over all windows needs, and the radius; it must not need more. Windows whole
    /// and cut in two, and the row made by itself as an identifier makes it: the least of these.
    fn used(&self, i: usize) -> (f64, f64) {
        let (robot, set, windows) = (&self.robot, &self.set, self.windows());
        let mut rows = vec![];
        for count in [1, 2] {
            let parts: Vec<Part> =
                windows.iter().flat_map(|window| parts(robot, set, window, count)).collect();
            rows.push((rows_over_parts(robot, set, &parts), i));
        }
        let (mut history, mut numbered, mut to) = (History::default(), vec![], 0);
        for window in windows {
            let panels = window.samples.len() - 1;
            numbered.push((to, window));
            to += panels;
        }
        history.extend(robot, &numbered);
        let made = RowMaker::new(robot, set, &history, 0).rows(&[Pick { from: 0, to, joint: i }]);
        assert_eq!(made.len(), 1);
        rows.push((made, 0));
        let mut least = (f64::INFINITY, f64::INFINITY);
        for (rows, w) in rows {
            let value: f64 = rows.y.row(w).iter().zip(&self.theta).map(|(y, z)| y * z).sum();
            let share = (value - rows.u[w]).abs() / rows.radius[w];
            assert!(share <= 1.0 + 1e-9, "{share} of the radius {}", rows.radius[w]);
            least = (least.0.min(share), least.1.min(rows.radius[w]));
        }
        least
    }

    /// The attack on the row of joint `i` needs at least this share of its radius, and the radius is no rounding error.
    fn reaches(&self, i: usize, share: f64) {
        let (used, radius) = self.used(i);
        assert!(radius > 1e-9 && used >= share, "{used} of {radius}, expected {share}");
    }
}

/// One way at all ticks but the last, the other there.
fn at_both_ends(last: bool, _: usize) -> f64 {
    if last { 1.0 } else { -1.0 }
}

fn always(_: bool, _: usize) -> f64 {
    1.0
}

#[test]
fn velocity_errors_at_the_ends_move_the_momentum_of_the_links() {
    let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3), (MOMENT_ZZ, 0.2)]);
    it.panels(1, 1e-3);
    it.q = vec![0.2, 0.3, 0.0];
    it.robot.stated().sensors.velocity_rad_s = 1e-3;
    it.errors[1] = at_both_ends;
    (0..2).for_each(|i| it.reaches(i, 0.98));
}

#[test]
fn velocity_errors_at_the_ends_move_the_momentum_of_the_transmission() {
    let joint = small_robot().friction_index(1);
    let mut it = Experiment::new(&[(joint + ARMATURE, 8.0)]);
    it.robot.stated().sensors.velocity_rad_s = 1e-3;
    it.errors[1] = at_both_ends;
    it.reaches(1, 0.98);
}

#[test]
fn position_errors_at_the_ends_move_the_momentum_of_the_links() {
    let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
    it.panels(1, 1e-6);
    (it.q, it.dq) = (vec![0.0, 1.2, 0.0], vec![1.0, 0.5, 0.0]);
    it.robot.stated().sensors.position_rad = 1e-3;
    it.errors[0] = at_both_ends;
    (0..2).for_each(|i| it.reaches(i, 0.98));
}

#[test]
fn position_errors_at_the_ends_move_what_viscous_friction_took() {
    let joint = small_robot().friction_index(0);
    let mut it = Experiment::new(&[(joint + VISCOUS, 8.0)]);
    it.dq = vec![1.0; 3];
    it.robot.stated().sensors.position_rad = 1e-3;
    it.errors[0] = at_both_ends;
    it.reaches(0, 0.98);
}

/// The middle of the box says that there is no inertia at all.
#[test]
fn errors_at_the_ends_count_for_all_of_the_box() {
    let mut it = Experiment::new(&[(MOMENT_ZZ, 0.2)]);
    it.set.bounds().0[MOMENT_ZZ] = -0.2;
    it.panels(1, 1e-3);
    it.robot.stated().sensors.velocity_rad_s = 1e-3;
    it.errors[1] = at_both_ends;
    it.reaches(1, 0.98);
}

#[test]
fn position_errors_move_the_weight_throughout() {
    for clock in [Clock::Control, Clock::Recorded] {
        let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
        it.clock = clock;
        it.robot.gravity.y = -9.81;
        it.q = vec![0.4, 0.8, 0.0];
        it.panels(60, 1e-3);
        it.robot.stated().sensors.position_rad = 1e-3;
        it.errors[0] = always;
        it.reaches(1, 0.98);
    }
}

/// With the second joint at a right angle the momentum at the ends does not feel the errors.
#[test]
fn velocity_errors_move_the_rate_of_the_momentum_throughout() {
    let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
    (it.q, it.dq) = (vec![0.0, FRAC_PI_2, 0.0], vec![1.0, 0.0, 0.0]);
    it.panels(60, 1e-3);
    it.robot.stated().sensors.velocity_rad_s = 1e-3;
    it.errors[1] = always;
    it.reaches(1, 0.98);
}

/// The trapezoid is off by what the accelerations do between ticks, in windows of any number.
#[test]
fn accelerations_between_ticks_move_the_trapezoid() {
    for clock in [Clock::Control, Clock::Recorded] {
        let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
        it.clock = clock;
        (it.q, it.dq) = (vec![0.0, FRAC_PI_2, 0.0], vec![1.0, 0.0, 0.0]);
        it.acceleration = vec![(10.0, DIP), (10.0, DIP), (0.0, STEADY)];
        it.panels(60, 1e-3);
        it.reaches(1, 0.98);
        it.steps = vec![vec![1e-3; 60]; 3];
        it.reaches(1, 0.98);
        if clock == Clock::Recorded {
            it.steps = vec![[0.5e-3, 1.5e-3, 1e-3].repeat(20)];
            it.reaches(1, 0.97);
        }
    }
}

/// A weight that turns ever faster: the trapezoid is off the same way in every panel. The other part of the derivative, by the
/// accelerations, is zero, as no joint but the second one moves.
#[test]
fn the_motion_at_constant_velocity_moves_the_trapezoid_as_accelerations_change_it() {
    for clock in [Clock::Control, Clock::Recorded] {
        let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
        it.clock = clock;
        it.robot.gravity.y = -9.81;
        it.q = vec![0.0, FRAC_PI_2, 0.0];
        it.acceleration[1] = (10.0, [1.0; 4]);
        it.panels(60, 1e-3);
        it.reaches(1, 0.98);
        if clock == Clock::Recorded {
            it.steps = vec![[0.5e-3, 1.5e-3, 1e-3].repeat(20)];
            it.reaches(1, 0.98);
        }
    }
}

/// A weight that turns evenly, near where it is farthest from the axis.
#[test]
fn the_motion_at_constant_velocity_moves_the_trapezoid_as_it_bends() {
    let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
    it.robot.gravity.y = -9.81;
    (it.q, it.dq) = (vec![0.0, -0.03, 0.0], vec![0.0, 1.0, 0.0]);
    it.panels(60, 1e-3);
    it.reaches(1, 0.98);
}

/// d/dt (dY_f/dq dq) as it is charged, against differences of differences: for every motion within the bounds on the
/// accelerations it is no larger. What neither of the two motions above sees is the part by Coriolis forces, which a row cannot show
/// alone.
#[test]
fn the_second_derivative_of_the_rates_is_enclosed() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut robot = small_robot();
    robot.gravity = nalgebra::Vector3::new(1.0, -9.81, 2.0);
    robot.stated().gains.period_s = 1e-9;
    let n = robot.dof();
    let (mut needed, mut allowed) = (0.0, 0.0);
    for _ in 0..20 {
        let mut draw = || (0..n).map(|_| rng.random_range(-1.5..1.5)).collect::<Vec<f64>>();
        let (q, dq, bound) = (draw(), draw(), draw().iter().map(|a| 3.0 * a.abs()).collect::<Vec<f64>>());
        let sample = |t: f64| Sample { t, q: q.clone(), dq: dq.clone(), tau: vec![0.0; n] };
        let window = Window {
            samples: vec![sample(0.0), sample(robot.gains().period_s)],
            acceleration_bound: bound.clone(),
            clock: Clock::Control,
        };
        let mut charged = vec![];
        Integrals::new(&robot, &window).fill_drifts(&mut Evaluator::new(&robot), &mut charged);
        // p at a state: along its own velocity; and its derivative along the motion with these accelerations.
        let mut floats = Evaluator::<Dual<f64, 1>>::new(&robot);
        let mut p = |s: f64, ddq: &[f64]| -> Vec<f64> {
            let state = || q.iter().zip(&dq).zip(ddq);
            floats.q.clear();
            floats.q.extend(state().map(|((q, dq), ddq)| Dual::new(q + s * dq, [dq + s * ddq])));
            floats.dq.clear();
            floats.dq.extend(state().map(|((_, dq), ddq)| Dual::new(dq + s * ddq, [0.0])));
            upper(n, floats.rate(&robot)).map(|rate| rate.slope[0]).collect()
        };
        let step = 1e-4;
        let mut found = vec![0.0_f64; charged.len()];
        for k in 0..1 << n {
            let ddq: Vec<f64> = (0..n).map(|j| if k >> j & 1 == 0 { bound[j] } else { -bound[j] }).collect();
            let (after, before) = (p(step, &ddq), p(-step, &ddq));
            for (found, (a, b)) in found.iter_mut().zip(after.iter().zip(&before)) {
                *found = found.max(((a - b) / (2.0 * step)).abs());
            }
        }
        for (found, charged) in found.iter().zip(&charged) {
            assert!(*found <= charged * (1.0 + 1e-6) + 1e-5, "{found} of {charged}");
            (needed, allowed) = (needed + found, allowed + charged);
        }
    }
    // 0.63 are: an acceleration enters several terms of one coefficient, each of which is bounded by itself.
    assert!(needed > 0.55 * allowed, "{needed} of {allowed}");
}

/// Friction of one joint at `speed`, with the whole of it against the motion where it sticks.
fn sticking(speed: f64) -> Experiment {
    let joint = small_robot().friction_index(0);
    let mut it = Experiment::new(&[(joint + COULOMB, 1.5)]);
    it.dq[0] = speed;
    it.stuck = -1.0;
    it
}

#[test]
fn friction_below_the_stiction_speed_has_no_sign() {
    let stiction = small_robot().gains().stiction_speed_rad_s;
    sticking(0.99 * stiction).reaches(0, 0.98);
    // Above it the sign is known exactly.
    let (used, radius) = sticking(1.01 * stiction).used(0);
    assert!(used <= 1.0 && radius < 1e-12, "{used} of {radius}");
}

#[test]
fn a_joint_may_need_more_to_break_away_than_to_keep_moving() {
    let mut it = sticking(0.0);
    it.robot.stated().uncertainty.breakaway_ratio = 1.4;
    it.stuck = 1.4;
    it.reaches(0, 0.98);
}

#[test]
fn torques_that_nobody_accounts_for_are_charged_as_long_as_they_act() {
    let drive = |unmodelled_nm| DriveBounds { unmodelled_nm, ..DriveBounds::IDEAL };
    for clock in [Clock::Control, Clock::Recorded] {
        let mut it = Experiment::new(&[(0, 1.0)]);
        it.clock = clock;
        it.robot.stated().drives = [0.3, 0.05, 0.7].map(drive).to_vec();
        for sign in [|_: usize| 1.0 - 1e-12, |_: usize| -1.0 + 1e-12] {
            it.unmodelled = sign;
            (0..3).for_each(|j| it.reaches(j, 0.98));
        }
        // What a sensor errs by comes on top: neither stands for the other.
        it.robot.stated().sensors.torque_abs_of_joints_nm = vec![0.1, 0.02, 0.3];
        it.errors[2] = |_, _| 1.0 - 1e-12;
        it.unmodelled = |_| -1.0 + 1e-12;
        (0..3).for_each(|j| it.reaches(j, 0.98));
    }
}

/// The body's lever lies across gravity and across the joint's axis: all of the lean is felt one way, and nothing the other.
#[test]
fn a_base_that_leans_moves_the_weight() {
    for (clock, unknown) in [(Clock::Control, false), (Clock::Control, true), (Clock::Recorded, false)] {
        let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
        it.clock = clock;
        if unknown {
            it.set.bounds().0[FIRST_MOMENT_X] = -0.3;
        }
        it.robot.gravity.y = -9.81;
        it.robot.stated().uncertainty.gravity_direction_deg = 0.2;
        it.q = vec![0.3, FRAC_PI_2 - 0.3, 0.0];
        it.panels(60, 1e-3);
        for windows in [1, 3] {
            it.steps = vec![vec![1e-3; 60]; windows];
            let used = |quarter: u32| {
                it.lean = (1.0 - 1e-12, f64::from(quarter) * FRAC_PI_2);
                it.used(1).0
            };
            let shares = [0, 1, 2, 3].map(used);
            assert!(shares.iter().filter(|share| **share > 0.98).count() == 2, "{shares:?}");
            assert!(shares.iter().filter(|share| **share < 0.01).count() == 2, "{shares:?}");
        }
    }
}

/// Where the lever lies along gravity, what is left is that the pull gets weaker.
#[test]
fn a_base_that_leans_weakens_the_pull_along_gravity() {
    let mut it = Experiment::new(&[(FIRST_MOMENT_X, 0.3)]);
    it.robot.gravity.y = -9.81;
    it.robot.stated().uncertainty.gravity_direction_deg = 5.0;
    let shares = [0, 1, 2, 3].map(|quarter| {
        it.lean = (1.0 - 1e-12, f64::from(quarter) * FRAC_PI_2);
        it.used(1).0
    });
    assert!(shares.iter().all(|share| *share > 0.98), "{shares:?}");
}

#[test]
fn a_reading_above_the_stiction_speed_need_not_be_above_it() {
    let mut it = sticking(0.0);
    let (stiction, bound) = (it.robot.gains().stiction_speed_rad_s, 1e-3);
    it.dq[0] = stiction - 0.01 * bound;
    it.robot.stated().sensors.velocity_rad_s = bound;
    it.errors[1] = always;
    it.reaches(0, 0.98);
}

/// A dip between two ticks that goes below the stiction speed for a hundredth of its depth.
#[test]
fn between_ticks_the_velocity_may_fall_below_the_stiction_speed() {
    let mut it = sticking(0.0);
    let (bound, period) = (10.0, 1e-3);
    it.panels(60, period);
    it.dq[0] = it.robot.gains().stiction_speed_rad_s + 0.99 * 0.5 * bound * period;
    it.acceleration[0] = (bound, DIP);
    it.reaches(0, 0.95);
}

#[test]
fn torque_errors_are_bounded_by_what_is_read() {
    for (ratio, absolute) in [(0.1, 0.0), (0.0, 0.2), (0.1, 0.2)] {
        for clock in [Clock::Control, Clock::Recorded] {
            let joint = small_robot().friction_index(0);
            let mut it = Experiment::new(&[(joint + OFFSET, 5.0)]);
            it.clock = clock;
            (it.robot.stated().sensors.torque_ratio, it.robot.stated().sensors.torque_abs_nm) =
                (ratio, absolute);
            // Too little is read: what is read must be taken for less than it may stand for.
            it.errors[2] = |_, _| -1.0;
            it.reaches(0, 0.98);
        }
    }
}

/// Ticks of a loop that shakes: all that depends on how long one takes is as the stamps say.
#[test]
fn uneven_ticks_count_as_long_as_they_are() {
    let joint = small_robot().friction_index(0);
    let mut it = Experiment::new(&[(joint + OFFSET, 5.0), (FIRST_MOMENT_X, 0.3)]);
    it.clock = Clock::Stamped;
    it.robot.gravity.y = -9.81;
    it.steps = vec![[0.8e-3, 1.2e-3, 0.9e-3].repeat(7); 2];
    (it.q, it.dq) = (vec![0.3, 0.8, 0.0], vec![0.5, 1.0, 0.0]);
    it.robot.stated().sensors.torque_abs_nm = 0.2;
    it.errors[2] = |_, _| -1.0;
    it.reaches(0, 0.98);
    it.reaches(1, 0.98);
}
