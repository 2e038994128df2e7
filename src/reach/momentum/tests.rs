//! Each term of the bounds against the same term in plain numbers, from other algorithms (recursive inverse dynamics, differences, a dense inverse): none
//! may be missing, and none 2 % too small. Spans of no length, so that little but the term itself is in a bound.

use nalgebra::{DMatrix, DVector, Vector3};

use super::cell::MomentumCell;
use super::coupling::{Coupling, coupling};
use super::disturbance::{mismatch, parts};
use super::*;
use crate::dynamics::{Composites, Motion, Wrench, crba, rnea};
use crate::enclose::Counted;
use crate::inertia::{ARMATURE, INERTIAL, ParameterSet, VISCOUS};
use crate::reach::{PreparedSet, Span};
use crate::robot::{Arm, DriveBounds, Sensors, Uncertainty};
use crate::trajectory::{Bezier, JointState, Pieces};

mod chain;
mod order;
mod springs;

/// The moment that is looked at, s.
const T: f64 = 0.37;
const GAINS: MomentumGains = MomentumGains { k_r: 6.0, kappa: 100.0 };
const TIMING: CycleTiming =
    CycleTiming { period_s: 1e-4, latency_s: 0.0, delay_s: 0.0, jitter_s: 0.0, drive_lag_s: 0.0 };

struct Case {
    robot: Arm,
    set: PreparedSet,
    curve: Bezier,
    tube: MomentumTube,
}

/// The Gen3 on its way, with sensors and drives that are ideal and a set that is hardly more than a point, but for what `change` makes of them.
fn case(radius: f64, change: impl FnOnce(&mut Case)) -> Case {
    let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
    let none = Uncertainty { gravity_direction_deg: 0.0, ..robot.uncertainty() };
    let robot = robot.with_uncertainty(none).unwrap();
    let robot = robot
        .with_sensors(Sensors { position_rad: 0.0, velocity_rad_s: 0.0, ..robot.sensors().clone() })
        .unwrap();
    let nominal = ParameterSet::around_nominal(&robot);
    let ends = |sign: f64| -> Vec<f64> {
        nominal.center().iter().zip(nominal.radius()).map(|(c, g)| c + sign * radius * g).collect()
    };
    let set = PreparedSet::new(&robot, &ParameterSet::new(ends(-1.0), ends(1.0)).unwrap());
    let start = [0.3, -0.5, 0.4, -1.2, 0.2, 0.6, -0.3];
    let end = [0.9, 0.1, 0.9, -0.4, 0.9, 1.2, 0.5];
    let curve = Bezier::to_rest(&JointState::at_rest(&start), &end, 1.0).unwrap();
    let n = robot.dof();
    let tube = MomentumTube {
        gains: GAINS,
        timing: TIMING,
        robust_nm: vec![1e-3; n],
        noise_nms: vec![0.0; n],
        lag_nms2: vec![1e-7; n],
        sign_band_rad_s: vec![0.05; n],
        start: None,
    };
    let mut case = Case { robot, set, curve, tube };
    change(&mut case);
    case
}

impl Case {
    fn n(&self) -> usize {
        self.robot.dof()
    }

    /// Links' and transmissions' mass matrix at `q` for `theta`.
    fn mass_of(&self, theta: &[f64], q: &[f64]) -> DMatrix<f64> {
        let n = self.n();
        let (mut motion, mut composites) = (Motion::new(&self.robot), Composites::new(&self.robot));
        let mut mass = DMatrix::zeros(n, n);
        motion.place(&self.robot, q);
        crba(&self.robot, &motion, theta, &mut composites, mass.as_mut_slice());
        (0..n).for_each(|j| mass[(j, j)] += theta[self.robot.joint_index(j).armature]);
        mass
    }

    fn mass(&self, t: f64) -> DMatrix<f64> {
        self.mass_of(self.set.center(), &self.curve.state(t).q)
    }

    fn mass_rate(&self, t: f64) -> DMatrix<f64> {
        (self.mass(t + 1e-5) - self.mass(t - 1e-5)) / 2e-5
    }

    /// What `theta` needs for a motion, but for Coulomb friction, N m.
    fn needed(&self, theta: &[f64], q: &[f64], dq: &[f64], ddq: &[f64]) -> DVector<f64> {
        let n = self.n();
        let (mut motion, mut wrenches) = (Motion::new(&self.robot), vec![Wrench::zero(); n]);
        let mut torque = vec![0.0; n];
        motion.sweep(&self.robot, q, dq, dq, ddq);
        rnea(&self.robot, &motion, theta, &mut wrenches, &mut torque);
        DVector::from_fn(n, |j, _| {
            let own = self.robot.joint_parameters(theta, j);
            torque[j] + own.viscous * dq[j] + own.armature * ddq[j] + own.offset
        })
    }

    fn desired_torque(&self, theta: &[f64], t: f64) -> DVector<f64> {
        let JointState { q, dq, ddq } = self.curve.state(t);
        self.needed(theta, &q, &dq, &ddq)
    }

    fn space(&self) -> MomentumWorkspace<16, Counted> {
        MomentumWorkspace::new(&self.robot)
    }

    fn report(&self) -> MomentumReport {
        let at = (Pieces::from(&self.curve), Span::Between(T, T));
        MomentumReport::new(&self.robot, &self.set, &self.tube, at, &mut self.space()).unwrap()
    }

    fn cell(&self, space: &mut MomentumWorkspace<16, Counted>) -> MomentumCell<16, Counted> {
        let at = (Pieces::from(&self.curve), Span::Between(T, T));
        MomentumCell::new(&self.robot, &self.set, &self.tube, at, space).unwrap()
    }

    /// rho with and without a change of the case: what the change is charged with.
    fn charged(self, change: impl FnOnce(&mut Case)) -> Vec<f64> {
        let before = self.report().rho_nm;
        let mut other = self;
        change(&mut other);
        other.report().rho_nm.iter().zip(&before).map(|(x, y)| x - y).collect()
    }
}

/// Whether every bound is at least its formula, and none more than 2 % larger; `blur` is for the difference of two bounds.
fn near(found: &[f64], formula: impl Fn(usize) -> f64, blur: f64) {
    for (j, &found) in found.iter().enumerate() {
        let exact = formula(j);
        assert!(found >= exact * (1.0 - 1e-6) - blur, "joint {j}: {found} below {exact}");
        assert!(found <= exact * 1.02 + blur, "joint {j}: {found} for {exact}");
    }
}

fn row(matrix: &DMatrix<f64>, j: usize, x: impl Fn(usize) -> f64) -> f64 {
    (0..matrix.ncols()).map(|i| matrix[(j, i)].abs() * x(i)).sum()
}

#[test]
fn sensors_misread_the_momentum_by_their_errors_times_the_mass_matrix() {
    let sensors = |case: &mut Case| {
        let sensors = Sensors { position_rad: 3e-4, velocity_rad_s: 4e-3, ..case.robot.sensors().clone() };
        case.robot = case.robot.with_sensors(sensors).unwrap();
    };
    let case = case(1e-6, sensors);
    let mass = case.mass(T);
    near(&case.report().needs.noise_nms, |j| row(&mass, j, |_| 4e-3 + 6.0 * 3e-4), 1e-9);
}

#[test]
fn late_readings_misread_it_by_what_the_motion_and_the_mass_matrix_change() {
    let case = case(1e-6, |case| case.tube.timing.latency_s = 5e-4);
    let (mass, state) = (case.mass(T), case.curve.state(T));
    let turning = case.mass_rate(T) * mass.clone().try_inverse().unwrap();
    let formula = |j: usize| {
        let shifted = row(&mass, j, |i| 2.5e-4 * (state.ddq[i].abs() + 6.0 * state.dq[i].abs()));
        shifted + 5e-4 * row(&turning, j, |k| case.tube.radius(k))
    };
    // A span of a millisecond: the motion is not the same all through it.
    let report = case.report();
    for (j, found) in report.needs.noise_nms.iter().enumerate() {
        let exact = formula(j);
        assert!(
            *found >= exact * (1.0 - 1e-6) && *found <= 1.03 * exact + 1e-9,
            "joint {j}: {found} for {exact}"
        );
    }
    // The part of the mass matrix alone, which is small beside.
    let wide = |case: &mut Case| case.tube.noise_nms = vec![1.0; 7];
    let mut other = self::case(1e-6, wide);
    other.tube.timing.latency_s = 5e-4;
    let more = other.report();
    let parts: Vec<f64> = (0..7).map(|j| more.needs.noise_nms[j] - report.needs.noise_nms[j]).collect();
    near(&parts, |j| 5e-4 * row(&turning, j, |_| 1.0), 2e-5);
}

#[test]
fn position_errors_lag_and_turn_with_the_mass_matrix() {
    let case = case(1e-6, |case| case.tube.lag_nms2 = vec![0.02; 7]);
    let turning = case.mass_rate(T) * case.mass(T).try_inverse().unwrap();
    let formula = |j: usize| (case.tube.radius(j) + row(&turning, j, |_| 0.02)) / 6.0;
    near(&case.report().needs.lag_nms2, formula, 2e-5);
}

#[test]
fn what_the_box_leaves_is_in_rho() {
    let case = case(1.0, |_| {});
    let (center, radius) = (case.set.center().to_vec(), case.set.radius().to_vec());
    let at = case.desired_torque(&center, T);
    // Linear in each parameter: the sum of what each one changes.
    let mut left = DVector::zeros(7);
    for p in 0..center.len() {
        let mut theta = center.clone();
        theta[p] += radius[p];
        left += (case.desired_torque(&theta, T) - &at).abs();
    }
    let coulomb = |j: usize| case.set.radius()[case.robot.joint_index(j).coulomb];
    let doubtful = |j: usize| case.curve.state(T).dq[j].abs() < 0.06;
    assert!((0..7).all(|j| !doubtful(j)));
    near(&case.report().rho_nm, |j| left[j] + coulomb(j), 0.05);
}

#[test]
fn friction_whose_sign_is_in_doubt_is_charged_whole() {
    let charged = case(1e-6, |_| {}).charged(|case| case.tube.sign_band_rad_s = vec![10.0; 7]);
    let case = case(1e-6, |_| {});
    let whole = |j: usize| {
        case.set.center()[case.robot.joint_index(j).coulomb].abs() * case.robot.uncertainty().breakaway_ratio
    };
    near(&charged, whole, 1e-4);
}

#[test]
fn a_command_that_acts_at_another_time_is_charged_with_the_torques_rate() {
    let late = |case: &mut Case| case.tube.timing.jitter_s = 2e-4;
    let charged = case(1e-6, |_| {}).charged(late);
    let case = case(1e-6, |_| {});
    let theta = case.set.center();
    let rate = (case.desired_torque(theta, T + 1e-5) - case.desired_torque(theta, T - 1e-5)) / 2e-5;
    near(&charged, |j| 2e-4 * rate[j].abs(), 4e-4);
}

/// The largest of `of` over the times that a moment at T depends on, where drives remember a lag.
fn most_remembered(lag_s: f64, of: impl Fn(f64) -> f64) -> f64 {
    let (before, after) = (10.0 * lag_s + 2e-4, 2e-4);
    (0..=200).map(|k| of(T - before + (before + after) * f64::from(k) / 200.0)).fold(0.0, f64::max)
}

/// By the torque's rate over the average age of what a drive remembers, and by what it has forgotten.
#[test]
fn drives_that_lag_are_charged_with_what_torques_change_meanwhile() {
    const LAG_S: f64 = 1e-4;
    let drive = DriveBounds { error_nm: 0.0, error_ratio: 0.5, unmodelled_nm: 0.0, ..DriveBounds::IDEAL };
    for erring in [false, true] {
        let with = |case: &mut Case| {
            if erring {
                case.robot = case.robot.with_drives(vec![drive; 7]).unwrap();
            }
        };
        let charged = case(1e-6, with).charged(|case| case.tube.timing.drive_lag_s = LAG_S);
        let case = case(1e-6, |_| {});
        let theta = case.set.center();
        let rate =
            |t: f64| (case.desired_torque(theta, t + 1e-5) - case.desired_torque(theta, t - 1e-5)) / 2e-5;
        for (j, found) in charged.iter().enumerate() {
            let changed = LAG_S * most_remembered(LAG_S, |t| rate(t)[j].abs());
            let forgotten = 2.0 * 4.54e-5 * case.robot.joints[j].limits.torque;
            // A drive errs in proportion to its largest command, which was larger before.
            let coulomb = theta[case.robot.joint_index(j).coulomb] * case.curve.state(T).dq[j].signum();
            let torque = |t: f64| (case.desired_torque(theta, t)[j] + coulomb).abs();
            let larger = most_remembered(LAG_S, torque) - most_remembered(0.0, torque);
            let besides = if erring { 0.5 * (larger.max(0.0) + forgotten) } else { 0.0 };
            let exact = changed + forgotten + besides;
            assert!(*found >= exact - 1e-6, "joint {j}: {found} below {exact}");
            let room = if erring { 0.3 * changed + 0.1 * exact } else { 0.1 * changed };
            assert!(*found <= exact + room + 2e-3, "joint {j}: {found} for {exact}");
        }
    }
}

/// A command that a drive still remembers may have relied on a sign that the joint must not have lost since.
#[test]
fn signs_that_drives_remember_have_to_last() {
    const LAG_S: f64 = 3e-3;
    let band =
        |lag_s: f64| case(1e-6, |case| case.tube.timing.drive_lag_s = lag_s).report().needs.sign_band_rad_s;
    let (with, without) = (band(LAG_S), band(0.0));
    let case = case(1e-6, |_| {});
    for j in 0..7 {
        let most = most_remembered(LAG_S, |t| case.curve.state(t).ddq[j].abs());
        let (found, exact) = (with[j] - without[j], 10.0 * LAG_S * most);
        assert!(
            found >= exact * (1.0 - 1e-6) && found <= 1.03 * exact + 2e-3,
            "joint {j}: {found} for {exact}"
        );
    }
}

#[test]
fn what_errors_change_of_the_torque_is_in_rho() {
    let (p, lag) = (0.02, 0.004);
    let wide = |case: &mut Case| {
        case.tube.noise_nms = vec![p; 7];
        case.tube.lag_nms2 = vec![lag; 7];
    };
    let charged = case(1e-6, |_| {}).charged(wide);
    let case = case(1e-6, |_| {});
    let (inverse, state) = (case.mass(T).try_inverse().unwrap(), case.curve.state(T));
    let theta = case.set.center();
    let at = |e: &DVector<f64>, r: &DVector<f64>| {
        let de = r - e * GAINS.k_r;
        let (q, dq) = (DVector::from_vec(state.q.clone()) - e, DVector::from_vec(state.dq.clone()) - de);
        case.needed(theta, q.as_slice(), dq.as_slice(), &state.ddq)
    };
    // What each entry of p and M_0 e changes, to first order, and viscous friction besides by itself.
    let (mut total, mut speed) = (DVector::zeros(7), DVector::zeros(7));
    let small = 1e-4;
    for k in 0..7 {
        let column = inverse.column(k) * small;
        let zero = DVector::zeros(7);
        for (e, r, size) in [(&zero, &column, p), (&column, &zero, lag)] {
            let viscous = |j: usize| case.set.joint(j).0[VISCOUS] * (r[j] - GAINS.k_r * e[j]);
            let change = (at(e, r) - at(&(e * -1.0), &(r * -1.0))) / 2.0;
            total += DVector::from_fn(7, |j, _| (change[j] + viscous(j)).abs()) * (size / small);
            speed += DVector::from_fn(7, |j, _| viscous(j).abs()) * (size / small);
        }
    }
    for j in 0..7 {
        let exact = total[j] + speed[j];
        assert!(charged[j] >= 0.999 * exact, "joint {j}: {} below {exact}", charged[j]);
        assert!(charged[j] <= 1.15 * exact + 0.02, "joint {j}: {} for {exact}", charged[j]);
    }
}

#[test]
fn drives_are_charged_with_their_bounds() {
    let drive = DriveBounds { error_nm: 0.2, error_ratio: 0.03, unmodelled_nm: 0.4, ..DriveBounds::IDEAL };
    let charged = case(1e-6, |_| {}).charged(|case| {
        case.robot = case.robot.with_drives(vec![drive; 7]).unwrap();
    });
    let case = case(1e-6, |_| {});
    let torque = case.desired_torque(case.set.center(), T);
    let coulomb = |j: usize| {
        let f = case.set.center()[case.robot.joint_index(j).coulomb];
        f * case.curve.state(T).dq[j].signum()
    };
    near(&charged, |j| 0.6 + 0.03 * ((torque[j] + coulomb(j)).abs() + 1e-3), 2e-3);
}

#[test]
fn the_mass_matrix_couples_joints_as_a_dense_inverse_has_it() {
    let case = case(0.5, |_| {});
    let (center, radius) = (case.set.center().to_vec(), case.set.radius().to_vec());
    let q = case.curve.state(T).q;
    let mass = case.mass(T);
    let inverse = mass.clone().try_inverse().unwrap();
    let mut relative = DMatrix::zeros(7, 7);
    let mut own = DVector::zeros(7);
    for p in (0..INERTIAL * 7).chain((0..7).map(|j| case.robot.joint_index(j).armature)) {
        let mut theta = center.clone();
        theta[p] += radius[p];
        let change = (case.mass_of(&theta, &q) - &mass) * &inverse;
        relative += change.abs();
        own += change.diagonal().abs();
    }
    let sum = (DMatrix::identity(7, 7) - &relative).try_inverse().unwrap();
    let across = &relative * &sum;
    let again = &relative * &across;
    let mut space = case.space();
    let cell = case.cell(&mut space);
    let found = coupling(&case.robot, &case.set, &cell, &mut space).unwrap().boxed.unwrap();
    for i in 0..7 {
        for j in 0..7 {
            let (found, exact) = (found.across.at(i, j), across[(i, j)]);
            assert!(
                found >= exact * (1.0 - 1e-6) && found <= 1.05 * exact + 1e-3,
                "{i} {j}: {found} for {exact}"
            );
        }
        let (least, most) = (1.0 - own[i] - again[(i, i)], 1.0 + own[i] + again[(i, i)]);
        assert!(found.reaction[i].0 <= least + 1e-9 && found.reaction[i].0 >= least - 0.01);
        assert!(found.reaction[i].1 >= most - 1e-9 && found.reaction[i].1 <= most + 0.01);
    }
    // And what outweighs it, with the others pushing by 3 N m and 2 N m besides.
    let alone = Coupling { reaction: found.reaction.clone(), boxed: Some(found), ordered: None };
    let (across, least) = (&alone.boxed.as_ref().unwrap().across, &alone.reaction);
    let pushes = |j: usize| (0..7).filter(|&i| i != j).map(|i| 3.0 * across.at(j, i)).sum::<f64>();
    let outweighing: Vec<f64> = (0..7).map(|j| alone.outweighing(j, &[3.0; 7], 2.0)).collect();
    near(&outweighing, |j| (pushes(j) + 2.0) / least[j].0, 0.0);
}

/// M at the true position against M_0 at the desired one.
#[test]
fn position_errors_change_the_mass_matrix() {
    let lag = 0.05;
    let case = case(1e-6, |case| case.tube.lag_nms2 = vec![lag; 7]);
    let (mass, q) = (case.mass(T), case.curve.state(T).q);
    let inverse = mass.clone().try_inverse().unwrap();
    let mut exact = DMatrix::zeros(7, 7);
    for k in 0..7 {
        let moved = |sign: f64| -> DMatrix<f64> {
            let q: Vec<f64> = (0..7).map(|j| q[j] + sign * 1e-5 * inverse[(j, k)]).collect();
            case.mass_of(case.set.center(), &q)
        };
        exact += ((moved(1.0) - moved(-1.0)) / 2e-5 * &inverse).abs() * lag;
    }
    let mut space = case.space();
    let cell = case.cell(&mut space);
    let found = coupling(&case.robot, &case.set, &cell, &mut space).unwrap().boxed.unwrap();
    for i in 0..7 {
        for j in 0..7 {
            // A first-order bound of F, without the powers of Q.
            let (found, exact) = (found.across.at(i, j), exact[(i, j)]);
            assert!(found >= 0.98 * exact, "{i} {j}: {found} for {exact}");
        }
    }
}

/// The sum of the theorem's condition, from its parts.
#[test]
fn the_robust_torque_outweighs_coupling_error_and_turning() {
    let case = case(0.5, |case| {
        case.tube.robust_nm = (0..7).map(|j| 5.0 + f64::from(j)).collect();
        case.tube.lag_nms2 = (0..7).map(|j| 0.003 * f64::from(1 + j)).collect();
        case.tube.noise_nms = vec![0.01; 7];
    });
    let (mut space, report) = (case.space(), case.report());
    let cell = case.cell(&mut space);
    let found = coupling(&case.robot, &case.set, &cell, &mut space).unwrap();
    let parts = parts(&case.robot, &case.set, &case.tube, &cell, &mut space);
    let mismatch = mismatch(&case.robot, &case.tube, (&cell.along, &cell.radii), &parts);
    let rho: Vec<f64> = mismatch.iter().map(|m| m.rho_nm).collect();
    let turning = case.mass_rate(T) * case.mass(T).try_inverse().unwrap();
    let formula = |j: usize| {
        let pushed: Vec<f64> = (0..7).map(|i| rho[i] + case.tube.robust_nm[i]).collect();
        let own = 6.0 * case.tube.radius(j) + 36.0 * case.tube.lag_nms2[j];
        let turned = row(&turning, j, |k| case.tube.radius(k));
        rho[j] + found.outweighing(j, &pushed, own + turned)
    };
    near(&report.needs.robust_nm, formula, 0.0);
    let most = found.reaction.iter().map(|(_, most)| *most).fold(0.0, f64::max);
    let gain = 100.0 * 1e-4 * most * std::f64::consts::E;
    assert!(report.needs.gain >= gain * (1.0 - 1e-12) && report.needs.gain <= gain * (1.0 + 1e-9));
    assert!(case.set.joint(0).0[ARMATURE] > 0.0);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_base_that_leans_is_charged_with_what_it_changes_at_length() {
    let lean = |robot: &Arm, degrees: f64| {
        robot.with_uncertainty(Uncertainty { gravity_direction_deg: degrees, ..robot.uncertainty() }).unwrap()
    };
    let charged = case(1e-6, |_| {}).charged(|case| case.robot = lean(&case.robot, 1.0));
    let case = case(1e-6, |_| {});
    let theta = case.set.center();
    let upright = case.desired_torque(theta, T);
    let mut most = DVector::<f64>::zeros(7);
    for k in 0..360 {
        let (sin, cos) = f64::from(k).to_radians().sin_cos();
        let tilt = nalgebra::Rotation3::from_scaled_axis(Vector3::new(cos, sin, 0.0) * 1f64.to_radians());
        let robot = case.robot.changed(|stated| stated.model.gravity = tilt * stated.model.gravity).unwrap();
        let leaning =
            Case { robot, set: case.set.clone(), curve: case.curve.clone(), tube: case.tube.clone() };
        let change = (leaning.desired_torque(theta, T) - &upright).abs();
        most = most.zip_map(&change, f64::max);
    }
    near(&charged, |j| most[j], 2e-3);
}

/// Where the desired speed is beyond the band, the true one has its sign.
#[test]
fn the_sign_band_has_stiction_the_errors_speed_and_what_time_changes() {
    let case = case(1e-6, |case| {
        case.tube.noise_nms = vec![0.02; 7];
        case.tube.lag_nms2 = vec![0.004; 7];
        case.tube.timing.jitter_s = 1e-3;
    });
    let (inverse, state) = (case.mass(T).try_inverse().unwrap(), case.curve.state(T));
    let report = case.report();
    for (j, found) in report.needs.sign_band_rad_s.iter().enumerate() {
        let error = row(&inverse, j, |k| case.tube.radius(k) + GAINS.k_r * case.tube.lag_nms2[k]);
        let exact = case.robot.gains().stiction_speed_rad_s + error + 1.05e-3 * state.ddq[j].abs();
        assert!(
            *found >= exact * (1.0 - 1e-3) && *found <= 1.03 * exact + 1e-4,
            "joint {j}: {found} for {exact}"
        );
    }
}

#[test]
fn margins_are_limits_less_all_that_may_come() {
    let drive = DriveBounds { error_nm: 0.2, error_ratio: 0.03, unmodelled_nm: 0.0, ..DriveBounds::IDEAL };
    let case = case(1e-6, |case| {
        case.tube.robust_nm = vec![4.0; 7];
        case.tube.lag_nms2 = vec![0.004; 7];
        case.robot = case.robot.with_drives(vec![drive; 7]).unwrap();
    });
    let (report, state) = (case.report(), case.curve.state(T));
    let inverse = case.mass(T).try_inverse().unwrap();
    let torque = case.desired_torque(case.set.center(), T);
    for j in 0..7 {
        let limits = &case.robot.joints[j].limits;
        let e = row(&inverse, j, |k| case.tube.lag_nms2[k]);
        let error = row(&inverse, j, |k| case.tube.radius(k) + GAINS.k_r * case.tube.lag_nms2[k]);
        let r = row(&inverse, j, |k| case.tube.radius(k));
        assert!(report.position_error_rad[j] >= e && report.position_error_rad[j] <= 1.02 * e);
        assert!(report.r_rad_s[j] >= r && report.r_rad_s[j] <= 1.02 * r);
        let velocity = limits.velocity - state.dq[j].abs() - error;
        assert!(
            report.velocity_margin[j] <= velocity + 1e-9 && report.velocity_margin[j] >= velocity - 0.005
        );
        if let Some((lower, upper)) = limits.position {
            let position = (state.q[j] - lower).min(upper - state.q[j]) - e;
            assert!(
                report.position_margin[j] <= position + 1e-9 && report.position_margin[j] >= position - 1e-3
            );
        }
        let coulomb = case.set.center()[case.robot.joint_index(j).coulomb] * state.dq[j].signum();
        let applied = 1.03 * ((torque[j] + coulomb).abs() + 4.0) + 0.2;
        let left = limits.torque - applied;
        assert!(report.torque_margin[j] <= left + 1e-9 && report.torque_margin[j] >= left - 0.05);
    }
}

#[test]
fn links_are_carried_by_what_errors_of_position_make() {
    let case = case(1e-6, |case| case.tube.lag_nms2 = vec![0.01; 7]);
    let (inverse, q) = (case.mass(T).try_inverse().unwrap(), case.curve.state(T).q);
    let ends = |q: &[f64]| -> Vec<Vector3<f64>> {
        let frames = case.robot.frames(q);
        let placed = (0..case.robot.shapes().len()).map(|k| case.robot.placed_capsule(k, &frames));
        placed.flat_map(|capsule| [capsule.a, capsule.b]).collect()
    };
    let mut carried = vec![Vector3::<f64>::zeros(); ends(&q).len()];
    for k in 0..7 {
        let moved =
            |sign: f64| ends(&(0..7).map(|j| q[j] + sign * 1e-5 * inverse[(j, k)]).collect::<Vec<f64>>());
        for ((sum, a), b) in carried.iter_mut().zip(moved(1.0)).zip(moved(-1.0)) {
            *sum += (a - b).abs() * (0.01 / 2e-5);
        }
    }
    let most = carried.iter().map(|x| x.norm()).fold(0.0, f64::max);
    let found = case.report().needs.growth_m;
    assert!(found >= 0.999 * most && found <= 1.05 * most, "{found} for {most}");
}
