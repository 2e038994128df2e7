//! What plain floating point makes of the law, held against numbers of twice the precision.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::control::{Controller, Measured, RobustController};
use crate::dynamics::{Motion, momentum_regressor, torque_regressor};
use crate::enclose::twofold::Twofold;
use crate::plan::tube_fit;
use crate::reach::energy::{energy_slack, relative_mass};
use crate::reach::law::Law;
use crate::reach::law::exact::Exact;
use crate::reach::roundoff::{LAW_ROUNDOFF, RoundoffBounds};
use crate::reach::{Cell, CellWorkspace, PreparedSet};
use crate::robot::load;
use crate::scalar::Scalar;

fn exact(x: &[f64]) -> Vec<Exact> {
    x.iter().map(|&x| Exact::constant(x)).collect()
}

/// The nominal torque of the law at this state, without strips, as exactly as can be told.
fn nominal(case: &Case, [q, dq, dqa, ddqa]: [&[f64]; 4]) -> Vec<Exact> {
    let (robot, n) = (&case.robot, case.robot.dof());
    let width = INERTIAL * n;
    let (mut motion, mut y) = (Motion::new(robot), vec![Exact::zero(); width * n]);
    motion.sweep(robot, &exact(q), &exact(dq), &exact(dqa), &exact(ddqa));
    torque_regressor(robot, &motion, 0..n, &mut y);
    let center = case.set.center();
    let of = |j: usize| {
        let c = robot.joint_parameters(&center, j);
        let sign = if dq[j].abs() > case.tube.sign_band(robot.sensors(), j) { dq[j].signum() } else { 0.0 };
        let own = [(c.coulomb, sign), (c.viscous, dq[j]), (c.armature, ddqa[j]), (c.offset, 1.0)];
        let own = own.into_iter().fold(Exact::zero(), |sum, (c, x)| sum + Exact::constant(c).scale(x));
        y[width * j..width * (j + 1)].iter().zip(&center).fold(own, |sum, (y, c)| sum + y.scale(*c))
    };
    (0..n).map(of).collect()
}

/// The robust torque is zero where r is, so commands there are nominal torques.
#[test]
fn nominal_torques_are_off_by_no_more_than_is_allowed_for() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let mut robot = load("kinova_gen3_2f85").unwrap();
    robot.joints.iter_mut().for_each(|joint| joint.limits.torque = FAR);
    let n = robot.dof();
    let set = ParameterSet::around_nominal(&robot);
    let tube = tube_fit::initial(&robot);
    let mut used = 0.0f64;
    for _ in 0..20 {
        let mut random = |size: f64| -> Vec<f64> { (0..n).map(|_| rng.random_range(-size..size)).collect() };
        let start = JointState { q: random(2.0), dq: random(0.5), ddq: random(1.0) };
        let curve = Bezier::to_rest(&start, &random(2.0), 2.0).unwrap();
        let case = Case::new(robot.clone(), set.clone(), Scene::default(), tube.clone(), curve);
        let cell = Cell::<16, Counted>::new(&case.robot, &tube, &case.curve, Span::Between(0.0, 1.0));
        let prepared = PreparedSet::new(&case.robot, &set);
        let mut space = CellWorkspace::<16, Counted>::new(&case.robot);
        let place = (&mut space.sizes.motion, &mut space.size_regressor);
        let roundoff =
            RoundoffBounds::new(&case.robot, &Law::new(&case.robot, &prepared, &tube), &cell, place);
        let mut controller = RobustController::new(Arc::new(case.robot.clone()), &set, &tube);
        for _ in 0..20 {
            let d = case.curve.state(rng.random_range(0.0..1.0));
            let mut tau = vec![0.0; n];
            let said = controller.tick(0.0, Measured { q: &d.q, dq: &d.dq }, &d, &mut tau);
            assert!(!said.saturated);
            for (j, right) in nominal(&case, [&d.q, &d.dq, &d.dq, &d.ddq]).iter().enumerate() {
                let off = right.0.sub(Twofold::from(tau[j])).abs().head;
                assert!(off <= roundoff.torque_nm[j], "{off} of {}", roundoff.torque_nm[j]);
                used = used.max(off / roundoff.torque_nm[j]);
            }
        }
    }
    // 0.018: rounding errors seldom add up.
    assert!(used > 0.014, "{used} of the allowance is used");
}

/// V^ by the controller and by its formula.
#[test]
fn the_bound_of_v_is_off_by_no_more_than_is_allowed_for() {
    let mut rng = ChaCha8Rng::seed_from_u64(22);
    let robot = load("kinova_gen3_2f85").unwrap();
    let (n, width) = (robot.dof(), INERTIAL * robot.dof());
    let set = ParameterSet::around_nominal(&robot);
    let tube = tube_fit::initial(&robot);
    let (center, radius) = (set.center(), set.radius());
    let mut used = 0.0f64;
    for _ in 0..20 {
        let q: Vec<f64> = (0..n).map(|_| rng.random_range(-2.0..2.0)).collect();
        let curve = still(&q);
        let cell = Cell::<16, Counted>::new(&robot, &tube, &curve, Span::Rest);
        let prepared = PreparedSet::new(&robot, &set);
        let mut space = CellWorkspace::<16, Counted>::new(&robot);
        let place = (&mut space.sizes.motion, &mut space.size_regressor);
        let roundoff = RoundoffBounds::new(&robot, &Law::new(&robot, &prepared, &tube), &cell, place);
        let mut controller = RobustController::new(Arc::new(robot.clone()), &set, &tube);
        for _ in 0..20 {
            let share = 1.0 / (n as f64).sqrt();
            let r: Vec<f64> =
                (0..n).map(|j| share * rng.random_range(-1.0..1.0) * tube.r_radius(j)).collect();
            let d = JointState::at_rest(&q);
            let dq: Vec<f64> = r.iter().map(|r| -r).collect();
            let said = controller.tick(0.0, Measured { q: &q, dq: &dq }, &d, &mut vec![0.0; n]);
            let (mut motion, mut y) = (Motion::new(&robot), vec![Exact::zero(); width * n]);
            let r = exact(&r);
            motion.sweep(&robot, &exact(&q), &r, &r, &r);
            momentum_regressor(&robot, &motion, 0..n, &mut y);
            let mut twice = Exact::constant(2.0 * tube.energy_slack_j);
            for (p, (center, radius)) in center.iter().zip(&radius).take(width).enumerate() {
                let along = (0..n).fold(Exact::zero(), |sum, j| sum + r[j] * y[width * j + p]);
                twice = twice + along.scale(*center) + Exact(along.0.abs()).scale(*radius);
            }
            for (j, r) in r.iter().enumerate() {
                let at = robot.joint_index(j).armature;
                twice = twice + *r * *r * (Exact::constant(center[at]) + Exact::constant(radius[at]));
            }
            let off = twice.scale(0.5).0.sub(Twofold::from(said.energy_j)).abs().head;
            assert!(off <= roundoff.energy_j, "{off} of {}", roundoff.energy_j);
            used = used.max(off / roundoff.energy_j);
        }
    }
    // 1.65e-4.
    assert!(used > 1.3e-4, "{used} of the allowance is used");
}

/// r as the controller computes it, from true readings, where all numbers are large.
#[test]
fn r_is_off_by_no_more_than_its_deviation() {
    let mut case = slider();
    let mut used = 0.0f64;
    for t in (1..1000).map(|k| 1e-3 * f64::from(k)) {
        let start = JointState { q: vec![1e3 / 3.0], dq: vec![70.7], ddq: vec![-31.4] };
        case.curve = Bezier::to_rest(&start, &[1e3 / 7.0], 1.7).unwrap();
        let cell = Cell::<4, Counted>::new(&case.robot, &case.tube, &case.curve, Span::Between(t, t));
        let k = case.tube.gains.k_r;
        let d = case.curve.state(t);
        let (q, dq) = (d.q[0] - 1e-3 / 3.0, d.dq[0] - 1e-2 / 7.0);
        let [_, _, r] = case.auxiliary(&d, &[q], &[dq]);
        let (right_q, right_dq) = curve_exactly(&case.curve, t);
        let e = right_q.sub(Twofold::from(q));
        let right = right_dq.sub(Twofold::from(dq)).add(e.mul(Twofold::from(k)));
        let off = right.sub(Twofold::from(r[0])).abs().head;
        assert!(off <= cell.deviation[0].r, "{off} of {:?}", cell.deviation[0]);
        used = used.max(off / cell.deviation[0].r);
    }
    assert!(used > 1e-4, "{used} of the deviation is used");
}

/// Position and velocity of the first joint's Bézier curve.
fn curve_exactly(curve: &Bezier, t: f64) -> (Twofold, Twofold) {
    let length = Twofold::from(curve.duration_s);
    let s = Twofold::from(t).div(length);
    let casteljau = |mut c: Vec<Twofold>| {
        while c.len() > 1 {
            c = c.windows(2).map(|w| w[0].add(s.mul(w[1].sub(w[0])))).collect();
        }
        c[0]
    };
    let points: Vec<Twofold> = curve.points[0].iter().map(|&p| Twofold::from(p)).collect();
    let first = points.windows(2).map(|w| w[1].sub(w[0])).collect();
    (casteljau(points), casteljau(first).mul(Twofold::from(5.0)).div(length))
}

/// A constant torque of 1e8 N besides: nothing moves it, no sensor misreads it, but every sum with it is rounded.
fn loaded() -> (Case, CellReport) {
    let mut case = slider();
    case.curve = from(&[0.0], &[0.1], &[1.0]);
    let offset = case.robot.joint_index(0).offset;
    (case.set.bounds().0[offset], case.set.bounds().1[offset]) = (1e8, 1e8);
    case.tube.gains.period_s = 1e-12;
    case.tube.gains.k_r = 1.0;
    case.robot.joints[0].limits.torque = 1e9;
    let report = report(&mut case, START);
    (case, report)
}

#[test]
fn drift_and_rho_hold_the_rounding_of_torques() {
    let (case, report) = loaded();
    let mut controller = RobustController::new(Arc::new(case.robot.clone()), &case.set, &case.tube);
    let mut worst = 0.0f64;
    for k in 0..1000 {
        let d = case.curve.state(1e-9 * f64::from(k));
        let mut tau = [0.0];
        controller.tick(0.0, Measured { q: &d.q, dq: &d.dq }, &d, &mut tau);
        let right = nominal(&case, [&d.q, &d.dq, &d.dq, &d.ddq])[0];
        worst = worst.max(right.0.sub(Twofold::from(tau[0])).abs().head);
    }
    // Half a unit in the last place of 1e8.
    assert!(worst > 5e-9, "{worst}");
    let claimed = report.required.drift_nm[0];
    // 11 times.
    assert!(worst <= claimed && claimed < 14.0 * worst, "{worst} of {claimed}");
    assert!(worst <= report.torque[0].rho, "{worst} of {}", report.torque[0].rho);
}

#[test]
fn hold_power_holds_the_rounding_of_commands() {
    let (case, report) = loaded();
    let r = (2.0 * case.tube.gains.v_max / 3.0f64).sqrt();
    // A robust torque that is added to 1e8 may be lost by half a unit in the last place.
    let lost = r * 0.5 * (1e8f64.next_up() - 1e8);
    let claimed = report.required.hold_power_w;
    assert!(lost <= claimed, "{lost} of {claimed}");
    // And what the law makes of its own terms, next to which everything else is small.
    let terms = LAW_ROUNDOFF * r * 1e8;
    meets("rounding of commands", terms, claimed);
}

/// Whatever the parts of the slack are, the rounding of V^ comes on top.
#[test]
fn slack_holds_the_rounding_of_v() {
    let mut case = slider();
    case.tube.gains.v_max = 1.0;
    let required = report(&mut case, Span::Rest).required;
    let prepared = PreparedSet::new(&case.robot, &case.set);
    let mut space = CellWorkspace::<16, Counted>::new(&case.robot);
    let cell = Cell::<16, Counted>::new(&case.robot, &case.tube, &case.curve, Span::Rest);
    let place = (&mut space.sizes.motion, &mut space.size_regressor);
    let roundoff =
        RoundoffBounds::new(&case.robot, &Law::new(&case.robot, &prepared, &case.tube), &cell, place);
    let floor = &case.tube.inertia_floor[..];
    let place = (&mut space.ranges, &mut space.mass);
    let (sigma, _) = relative_mass(&case.robot, &prepared, &cell, floor, place);
    let level = case.tube.level_j();
    let slack = energy_slack(&case.robot, &prepared, &cell, (floor, sigma), level, &mut space.changes);
    assert!(roundoff.energy_j > 0.0 && required.energy_slack_j >= slack + roundoff.energy_j);
}
