//! The certifier's claims under attack: random and extreme states, parameters, sensor errors and friction, for the shipped
//! arm with the prior that knows least, and with strips besides. Whatever a report says must hold for all of them; a claim that is wrong by
//! a few per cent on purpose is found out (unit tests of `campaign::soundness`), so the attack is not blind.
//!
//! What it sees: the bounds of position, velocity, distance and parameters are used up to their last per mille, nominal
//! torque, rho, the tube and V to 95 % or more, so that errors beyond the rest show. Drift, acceleration and the rise of V are also held
//! against any disturbance within rho, of whatever sign is worst. Robots of this size use less of the drift, the robust torque, the
//! gain, the slack and the hold power; small ones that use up each of their terms are in the unit tests (`campaign::soundness::attained`).

use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use surelift::campaign::arm::Setup;
use surelift::campaign::soundness::attack::Attack;
use surelift::campaign::soundness::case::Case;
use surelift::campaign::soundness::ledger::{Check, Ledger};
use surelift::certify::{Problem, Start, Workspaces};
use surelift::control::{Controller, Measured, RobustController};
use surelift::dynamics::truth;
use surelift::enclose::Counted;
use surelift::inertia::ParameterSet;
use surelift::reach::{Span, Tube, formulas};
use surelift::robot::{Scene, TimingBounds, Zonotope3};
use surelift::scenario::Scenario;

mod moving;

fn dumbbell() -> Setup {
    let task = Scenario::load("scenarios/dumbbell_c_8lb.toml").unwrap().split().0;
    let (set, range) = (task.prior_set().unwrap(), task.held.unwrap().excite.range_rad);
    Setup {
        label: task.name,
        robot: task.robot,
        set,
        scene: task.scene,
        start: task.start,
        range,
        duration_s: 3.0,
        tolerance: None,
        correlated: false,
    }
}

/// A tree with a rail, a continuous joint and two branches.
fn gantry() -> Setup {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gantry.urdf"), include_str!("gantry.urdf")).unwrap();
    let path = folder.path().join("gantry.toml");
    std::fs::write(&path, include_str!("gantry.toml")).unwrap();
    let robot = surelift::robot::load(path).unwrap();
    let set = ParameterSet::around_nominal(&robot);
    let (center, size) = (Vector3::new(0.0, 0.9, 0.0), Vector3::new(2.0, 0.1, 1.0));
    let scene = Scene { obstacles: vec![Zonotope3::cuboid("wall", center, size, &Matrix3::identity())] };
    let (start, range) = (vec![0.1, -0.4, 0.3, 0.7, 0.2], vec![0.3, 0.8, 0.8, 0.8, 0.2]);
    Setup {
        label: robot.name.clone(),
        robot,
        set,
        scene,
        start,
        range,
        duration_s: 3.0,
        tolerance: None,
        correlated: false,
    }
}

fn case(arm: &Setup, rng: &mut ChaCha8Rng) -> Case {
    Case::draw_plan(arm, rng)
        .unwrap_or_else(|| panic!("no tube is proven for {}: nothing to attack", arm.label))
}

/// Spans to attack: cells as the certifier uses them, and short ones whose bounds are nearly sharp.
fn span(duration: f64, rng: &mut ChaCha8Rng) -> (f64, f64) {
    let width = if rng.random_bool(0.25) { duration / 32.0 } else { 1e-3 };
    let t0 = match rng.random_range(0..6) {
        0 => 0.0,
        1 => duration - width,
        _ => rng.random_range(0.0..duration - width),
    };
    (t0, (t0 + width).min(duration))
}

fn assert_sound(ledger: &Ledger) {
    for check in Check::ALL {
        if let Some(closest) = ledger.get(check) {
            println!("{:>24}: {:.4}", check.facts().1, closest.used);
        }
    }
    assert!(ledger.outside().is_empty(), "bounds were passed: {:?}", ledger.outside());
}

#[test]
fn no_state_escapes_a_report() {
    surveys_of_the_prior(3);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_state_escapes_a_report_at_length() {
    surveys_of_the_prior(10);
}

fn surveys_of_the_prior(plans: usize) {
    let (field, mut rng) = (dumbbell(), ChaCha8Rng::seed_from_u64(1));
    let mut used = Ledger::default();
    for _ in 0..plans {
        survey(&case(&field, &mut rng), &mut rng, &mut used);
    }
    assert_sound(&used);
}

#[test]
fn no_state_of_a_tree_with_a_rail_escapes_a_report() {
    attacks_on_a_tree(2);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_state_of_a_tree_with_a_rail_escapes_a_report_at_length() {
    attacks_on_a_tree(10);
}

fn attacks_on_a_tree(plans: usize) {
    let (field, mut rng) = (gantry(), ChaCha8Rng::seed_from_u64(3));
    let mut used = Ledger::default();
    for _ in 0..plans {
        let case = case(&field, &mut rng);
        survey(&case, &mut rng, &mut used);
        let theta = truth::consistent(&case.robot, &case.set, &mut rng);
        closed_loop(&case, &theta, &mut rng, &mut used);
    }
    assert_sound(&used);
}

/// The same with strips: parameters from what they leave of the box, and the law that leans on them.
#[test]
fn no_state_of_a_correlated_set_escapes_a_report() {
    attacks_on_strips(1);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_state_of_a_correlated_set_escapes_a_report_at_length() {
    attacks_on_strips(4);
}

fn attacks_on_strips(plans: usize) {
    let (field, mut rng) = (Setup { correlated: true, ..dumbbell() }, ChaCha8Rng::seed_from_u64(6));
    let mut used = Ledger::default();
    for plan in 0..plans {
        let case = case(&field, &mut rng);
        survey(&case, &mut rng, &mut used);
        if plan == 0 {
            let theta = case.parameters(&mut rng);
            assert!(case.set.strips().is_some() && case.set.contains(&theta));
            closed_loop(&case, &theta, &mut rng, &mut used);
        }
    }
    assert_sound(&used);
}

fn survey(case: &Case, rng: &mut ChaCha8Rng, used: &mut Ledger) {
    let workspaces = Workspaces::<Counted>::default();
    for _ in 0..16 {
        let span = span(case.curve.duration_s, rng);
        let report = case.problem().unwrap().report(Span::Between(span.0, span.1), &workspaces);
        Attack::new(case, case, &report).at_random(12, rng, used);
    }
}

#[test]
fn what_the_proof_does_not_cover_is_refused() {
    let good = case(&dumbbell(), &mut ChaCha8Rng::seed_from_u64(4));
    let refusal = |change: &dyn Fn(&mut Case)| {
        let mut case = good.clone();
        change(&mut case);
        let Case { robot, set, scene, tube, curve, .. } = &case;
        Problem::new(robot, set, scene, tube, curve).unwrap_err().to_string()
    };
    assert!(refusal(&|c| c.curve.points[2][4] += 1e-9).contains("does not come to rest"));
    let unbounded = good.robot.changed(|arm| arm.shapes[1].capsule.radius = f64::NAN);
    assert!(unbounded.unwrap_err().to_string().contains("radius"));
    assert!(refusal(&|c| c.tube.gains.period_s *= 0.5).contains("period"));
    assert!(refusal(&|c| c.tube.gains.stiction_speed_rad_s *= 0.5).contains("stiction"));
    assert!(refusal(&|c| c.tube.drift_nm[0] = f64::NAN).contains("constants"));
    let late = |change: &dyn Fn(&mut TimingBounds)| {
        let mut timing = TimingBounds::EXACT;
        change(&mut timing);
        refusal(&|c| c.robot = c.robot.with_timing(timing).unwrap())
    };
    assert!(
        late(&|t| t.reading_age_max_s = 1e-6).contains("`timing.reading_age_max_s` is 0.000001, expected 0")
    );
    assert!(late(&|t| t.command_delay_max_s = 1e-3).contains("`timing.command_delay_max_s`"));
    assert!(late(&|t| t.jitter_max_s = 1e-5).contains("`timing.jitter_max_s`"));
    assert!(late(&|t| t.drive_lag_max_s = 1e-5).contains("`timing.drive_lag_max_s`"));
    let survey = good.problem().unwrap().survey(4);
    for part in [&survey[1..], &survey[..4], &[], &[survey[0].clone(), survey[4].clone()]] {
        let problem = good.problem().unwrap();
        let refusal = problem.conclude(part, &Start::Rest, 0, &Workspaces::<Counted>::default());
        assert!(refusal.unwrap_err().to_string().contains("do not cover"));
    }
}

/// Arms that stand anywhere near the start, with sensors that err by their bounds: one that is released is within its tube, and one that is half as far
/// outside again is never released.
#[test]
fn an_arm_is_released_only_within_its_tube() {
    let (field, mut rng) = (dumbbell(), ChaCha8Rng::seed_from_u64(8));
    let case = case(&field, &mut rng);
    let (robot, n) = (&case.robot, case.robot.dof());
    let gains = case.tube.gains;
    let mut controller = RobustController::new(Arc::new(robot.clone()), &case.set, &case.tube);
    let desired = case.curve.state(0.0);
    let (mut released, mut refused, mut used) = (0, 0, 0.0f64);
    for trial in 0..4000 {
        let theta = truth::consistent(robot, &case.set, &mut rng);
        let size = rng.random_range(0.0..1.5);
        let alone = rng.random_range(0..n);
        let mut error = |radius: f64, j: usize| match trial % 3 {
            0 if j != alone => 0.0,
            _ => size * radius * rng.random_range(-1.0..=1.0),
        };
        let e: Vec<f64> = (0..n).map(|j| error(case.tube.e_radius(j), j)).collect();
        let r: Vec<f64> = (0..n).map(|j| error(case.tube.r_radius(j), j)).collect();
        let q: Vec<f64> = (0..n).map(|j| desired.q[j] - e[j]).collect();
        let dq: Vec<f64> = (0..n).map(|j| desired.dq[j] - (r[j] - gains.k_r * e[j])).collect();
        let sign = |rng: &mut ChaCha8Rng| if rng.random() { 1.0 } else { -1.0 };
        let read_q: Vec<f64> = q.iter().map(|x| x + robot.sensors().position_rad * sign(&mut rng)).collect();
        let read_dq: Vec<f64> =
            dq.iter().map(|x| x + robot.sensors().velocity_rad_s * sign(&mut rng)).collect();
        let fault = controller.start_fault(Measured { q: &read_q, dq: &read_dq }, &desired);
        let energy = truth::energy(robot, &theta, &q, &r);
        let lag: f64 =
            e.iter().zip(&case.tube.lag_floor).map(|(e, l)| 0.5 * l * (gains.k_r * e).powi(2)).sum();
        let share = energy.max(lag) / gains.v_max;
        match fault {
            None => {
                assert!(share <= 1.0, "released at {share} of V_max");
                (released, used) = (released + 1, used.max(share));
            }
            Some(fault) => {
                assert!(fault.share > 1.0 || fault.share.is_nan(), "{fault:?}");
                refused += 1;
            }
        }
        assert!(share <= 1.5 || fault.is_some());
    }
    assert!(
        released > 100 && refused > 100 && used > 0.8,
        "{released} released, {refused} refused, {used} used"
    );
}

/// A plant that does its worst: extreme parameters, V = V_max at the start, friction that pushes outward where it may,
/// and at every tick the sensor errors that let V rise most.
#[test]
fn the_worst_plant_stays_in_the_tube() {
    let (field, mut rng) = (dumbbell(), ChaCha8Rng::seed_from_u64(2));
    let mut used = Ledger::default();
    for _ in 0..3 {
        let case = case(&field, &mut rng);
        let theta = truth::consistent(&case.robot, &case.set, &mut rng);
        closed_loop(&case, &theta, &mut rng, &mut used);
    }
    assert_sound(&used);
}

/// The side, 1 or -1, of joint j's sensor errors at tick k: errors that hide r, that exaggerate it, that alternate from tick to tick
/// and from joint to joint, or any.
fn error_side(trial: usize, (k, j): (usize, usize), r: f64, rng: &mut ChaCha8Rng) -> f64 {
    match trial {
        0 => r.signum(),
        1 => -r.signum(),
        2 if (k + j).is_multiple_of(2) => 1.0,
        2 => -1.0,
        _ if rng.random() => 1.0,
        _ => -1.0,
    }
}

fn closed_loop(case: &Case, theta: &[f64], rng: &mut ChaCha8Rng, used: &mut Ledger) {
    let (robot, n) = (&case.robot, case.robot.dof());
    let (tube, problem) = (&case.tube, case.problem().unwrap());
    let h = tube.gains.period_s;
    let reports = problem.survey(64);
    let mut controller = RobustController::new(Arc::new(robot.clone()), &case.set, tube);
    let first = case.draw(theta, 0.0, rng);
    let (mut q, mut dq) = (first.q, first.dq);
    let ticks = (case.curve.duration_s / h).round() as usize + 100;
    for k in 0..ticks {
        let t = k as f64 * h;
        let desired = case.curve.state(t);
        let report = reports
            .iter()
            .find(|r| matches!(r.span, Span::Between(t0, t1) if t0 <= t && t <= t1))
            .unwrap_or_else(|| reports.last().unwrap());
        let [_, _, r] = case.auxiliary(&desired, &q, &dq);
        let pushes: Vec<f64> = r.iter().map(|r| r.signum()).collect();
        let mut worst: Option<(f64, Vec<f64>, Vec<f64>)> = None;
        for trial in 0..4 {
            let read = |x: &[f64], bound: f64, rng: &mut ChaCha8Rng| -> Vec<f64> {
                (0..n).map(|j| x[j] + bound * error_side(trial, (k, j), r[j], rng)).collect()
            };
            let read_q = read(&q, robot.sensors().position_rad, rng);
            let read_dq = read(&dq, robot.sensors().velocity_rad_s, rng);
            let mut tau = vec![0.0; n];
            controller.tick(t, Measured { q: &read_q, dq: &read_dq }, &desired, &mut tau);
            for j in 0..n {
                let bound = report.torque[j].nominal_sup() + report.robust[j];
                used.note(Check::Command, tau[j].abs(), bound);
            }
            let next = truth::step(robot, theta, (&q, &dq), &tau, &pushes, h);
            let wanted = case.curve.state(t + h);
            let [_, _, r] = case.auxiliary(&wanted, &next.0, &next.1);
            let energy = truth::energy(robot, theta, &next.0, &r);
            if worst.as_ref().is_none_or(|w| energy > w.0) {
                worst = Some((energy, next.0, next.1));
            }
        }
        let Some((energy, next_q, next_dq)) = worst else { unreachable!("four trials were made") };
        (q, dq) = (next_q, next_dq);
        used.note(Check::LevelOfV, energy, tube.gains.v_max);
        if k > ticks / 2 {
            used.note(Check::LevelOfVLater, energy, tube.gains.v_max);
        }
        inside(case, t + h, &q, &dq, used);
    }
}

fn inside(case: &Case, t: f64, q: &[f64], dq: &[f64], used: &mut Ledger) {
    let Case { tube, .. } = case;
    let tube: &Tube = tube;
    let desired = case.curve.state(t);
    let [_, _, r] = case.auxiliary(&desired, q, dq);
    for j in 0..q.len() {
        used.note(Check::R, r[j].abs(), formulas::r_radius(tube, j));
        used.note(Check::PositionError, (desired.q[j] - q[j]).abs(), formulas::e_radius(tube, j));
    }
}
