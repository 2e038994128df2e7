//! A fast motion of two pieces through a junction that moves: proven for a payload that is known, carried out within its tube, and refused
//! for one that is not.

use std::sync::Arc;

use surelift::certify::{Certificate, Partition, Problem, Refusal, Start, certify};
use surelift::control::{Controller, Measured, RobustController};
use surelift::enclose::Counted;
use surelift::horizon::{Outcome, Reading, RunOptions, Task, TaskPhase};
use surelift::inertia::{INERTIAL, ParameterSet};
use surelift::plan::fast_path::least_jerk;
use surelift::plan::saved::{PlanStart, schema};
use surelift::plan::{Plan, tube_fit};
use surelift::reach::{TrackingTube, Tube};
use surelift::report::{RunRecord, Violations};
use surelift::scenario::Scenario;
use surelift::simulate::{HiddenTruth, TrackingReference, World};
use surelift::trajectory::{JointState, PiecewiseBezier};

/// The 8 lb dumbbell with link and gripper, as in `scenarios/dumbbell_c_8lb.toml`.
const HELD: [f64; INERTIAL] = [4.91360, -4e-5, 9e-5, -0.76737, 0.15020, 0.0, 0.13540, 0.0, 0.0, 0.01944];
const CELLS: usize = 32;

fn scenario() -> (Task, HiddenTruth) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_c_8lb.toml");
    Scenario::load(path).unwrap().split()
}

/// The prior, with the held body known to a share of its mass and of what that could make of the other parameters.
fn known(task: &Task, share: f64) -> ParameterSet {
    let prior = task.prior_set().unwrap();
    let (mut lower, mut upper) = (prior.lower().to_vec(), prior.upper().to_vec());
    let first = INERTIAL * task.robot.end_effector();
    let sizes = [5.0, 0.2, 0.2, 0.8, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15];
    for (k, (value, size)) in HELD.iter().zip(sizes).enumerate() {
        (lower[first + k], upper[first + k]) = (value - share * size, value + share * size);
    }
    ParameterSet::new(lower, upper).unwrap()
}

/// Along the table's near side, the hand lifted on the way, in two pieces of this duration, s.
fn path(task: &Task, piece_s: f64) -> PiecewiseBezier {
    let moved = |by: [f64; 7]| -> Vec<f64> { task.start.iter().zip(by).map(|(q, d)| q + d).collect() };
    let via = moved([0.35, -0.1, 0.0, 0.0, 0.0, 0.1, 0.0]);
    let end = moved([0.6, 0.05, 0.0, -0.1, 0.0, 0.1, 0.0]);
    least_jerk(&task.start, &via, &end, [piece_s; 2]).unwrap()
}

fn proven(task: &Task, set: &ParameterSet, path: &PiecewiseBezier) -> Result<(Tube, Certificate), Refusal> {
    let tube = tube_fit::fit(&task.robot, set, path, &tube_fit::initial(&task.robot), CELLS)?;
    let problem = Problem::new(&task.robot, set, &task.scene, &tube, path)?;
    let certificate = certify(&problem, &Start::Rest, Partition::default())?;
    Ok((tube, certificate))
}

fn plan(task: &Task, share: f64, piece_s: f64) -> Result<Plan, Refusal> {
    let (set, curve) = (known(task, share), path(task, piece_s));
    let (tube, certificate) = proven(task, &set, &curve)?;
    let tube = TrackingTube::from(tube);
    Ok(Plan {
        schema: schema(&task.scene, curve.view(), &tube),
        t_start_s: 0.0,
        start: PlanStart::Rest,
        curve,
        tube,
        set,
        scene: task.scene.clone(),
        robot: task.robot.clone(),
        certificate,
    })
}

#[test]
fn what_is_known_is_proven_and_what_is_not_is_refused() {
    let (task, _) = scenario();
    let prior = task.prior_set().unwrap();
    // The slowest path that is too fast for the prior is not too fast for what is known.
    let refused = |piece_s: &f64| proven(&task, &prior, &path(&task, *piece_s)).is_err();
    let piece_s = [1.0, 0.8, 0.65, 0.5, 0.4, 0.3].into_iter().find(refused).expect("the prior is wide");
    let refusal = proven(&task, &prior, &path(&task, piece_s)).unwrap_err().to_string();
    assert!(refusal.contains("cannot prove"), "{piece_s}: {refusal}");
    let plan = plan(&task, 0.01, piece_s).unwrap_or_else(|refusal| panic!("{piece_s} s: {refusal}"));
    assert!(plan.curve.state(piece_s).dq[0] > 0.2, "the junction moves");
    // No piece is one alone: the first does not come to rest.
    let alone = PiecewiseBezier::from(plan.curve.first.clone());
    let problem = Problem::new(&plan.robot, &plan.set, &plan.scene, plan.tube.energy().unwrap(), &alone);
    assert!(problem.unwrap_err().to_string().contains("does not come to rest"));
}

#[test]
fn a_plan_file_carries_the_pieces_and_their_proof() {
    let (task, _) = scenario();
    let plan = plan(&task, 0.02, 1.0).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    let read = Plan::from_json(&text).unwrap();
    assert!(read == plan && read.schema == 6);
    assert_eq!(read.verify::<Counted>(None, Partition::default()).unwrap(), plan.certificate);
    let older = text.replacen("\"schema\":6", "\"schema\":4", 1);
    let said = Plan::from_json(&older).unwrap_err().to_string();
    assert!(said.contains("several pieces") && said.contains("expected 6"), "{said}");
    let refused = |change: &dyn Fn(&mut Plan), words: &str| {
        let mut other = plan.clone();
        change(&mut other);
        let said = other.verify::<Counted>(None, Partition::default()).unwrap_err().to_string();
        assert!(said.contains(words), "{words}: {said}");
    };
    refused(&|p| p.curve.then[0].points[3][0] += 1e-6, "joint 4 does not go on from piece 1 to piece 2");
    refused(&|p| p.curve.then[0].points[3][1] += 1e-6, "joint 4");
    refused(&|p| p.curve.then[0].points[3][2] += 1e-4, "joint 4");
    refused(&|p| p.curve.then[0].duration_s = 0.5, "does not go on");
    refused(&|p| p.curve.then[0].duration_s = f64::NAN, "duration_s");
    refused(&|p| p.curve.then[0].points[0][2] = f64::NAN, "points");
    refused(&|p| p.curve.then[0].points.truncate(5), "expected 7");
    refused(&|p| p.curve.then[0].points[3][4] += 1e-6, "does not come to rest");
    refused(&|p| p.curve.first.points[3][1] += 1e-3, "starts in motion");
    // Faster than it was proven for.
    let faster =
        least_jerk(&plan.curve.start(), &plan.curve.state(1.0).q, &plan.curve.end(), [0.05; 2]).unwrap();
    refused(&|p| p.curve = faster.clone(), "cannot prove");
}

/// The true arm stays within the tube, on both sides of the junction.
#[test]
fn the_arm_follows_the_pieces_within_its_tube() {
    pieces_are_followed(0..1);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_arm_follows_the_pieces_within_its_tube_at_length() {
    pieces_are_followed(0..3);
}

fn pieces_are_followed(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let (task, truth) = scenario();
        let plan = plan(&task, 0.02, 1.0).unwrap();
        let (robot, n) = (Arc::new(task.robot.clone()), task.robot.dof());
        let mut world = World::new(robot.clone(), task.scene.clone(), &task.start, truth, seed);
        let mut controller = RobustController::new(robot.clone(), &plan.set, plan.tube.energy().unwrap());
        let radius = |of: &dyn Fn(usize) -> f64| (0..n).map(of).collect::<Vec<f64>>();
        let (e_radius, r_radius) = (radius(&|j| plan.tube.e_radius(j)), radius(&|j| plan.tube.r_radius(j)));
        let mut desired = JointState::at_rest(&vec![0.0; n]);
        let mut reading = Reading { t: 0.0, q: vec![0.0; n], dq: vec![0.0; n] };
        let (mut tau, mut measured) = (vec![0.0; n], vec![0.0; n]);
        for tick in 0..2200 {
            let t = plan.tube.time_of_tick(plan.curve.duration_s(), tick);
            plan.curve.evaluate(t, &mut desired);
            world.read(&mut reading);
            controller.tick(t, Measured { q: &reading.q, dq: &reading.dq }, &desired, &mut tau);
            let (curve, k_r) = (plan.curve.view(), plan.tube.k_r());
            let reference = TrackingReference { curve, t, k_r, e_radius: &e_radius, r_radius: &r_radius };
            assert!(world.advance(&tau, Some(reference), &mut measured), "seed {seed}, tick {tick}");
        }
        let audit = world.reveal();
        let counts = audit.counts;
        let violations = [counts.collision, counts.torque, counts.position, counts.velocity, counts.tube];
        assert_eq!(violations, [0; 5], "seed {seed}");
        assert!(audit.tube_used > 1e-3 && audit.tube_used < 1.0, "{}", audit.tube_used);
        let end = plan.curve.end();
        assert!((0..n).all(|j| (audit.q[j] - end[j]).abs() <= e_radius[j]), "seed {seed}");
    }
}

/// The shipped task along a path that starts `ahead` of where the arm stands, with nothing to learn from motion; with the held body known to this share,
/// or with the prior as it is.
fn given(share: Option<f64>, piece_s: f64, ahead: f64) -> Scenario {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_c_8lb.toml");
    let (task, _) = scenario();
    let path = path(&task, piece_s);
    let (mut from, via, end) = (path.start(), path.state(piece_s).q, path.end());
    from[0] += ahead;
    let mut keys = format!("extends = {shipped:?}\ngoal_rad = {end:?}\n[timing]\nexciting_plans = 0\n");
    keys += &format!("[path]\nstart_rad = {from:?}\nvia_rad = {via:?}\ndurations_s = {:?}\n", [piece_s; 2]);
    if let Some(share) = share {
        let set = known(&task, share);
        let body = set.body(task.robot.end_effector());
        keys +=
            &format!("[prior]\nlower = {:?}\nupper = {:?}\nnominal = {HELD:?}\n", body.lower(), body.upper());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("given.toml");
    std::fs::write(&file, keys).unwrap();
    Scenario::load(&file).unwrap()
}

fn carried(scenario: Scenario) -> RunRecord<Plan> {
    let options = RunOptions { method: "ours".into(), seed: 2, timed: false };
    surelift::scenario::run(scenario, &options, &mut ()).unwrap()
}

#[test]
fn a_given_path_is_carried_out_as_it_stands() {
    given_paths_are_carried_out(&[0.0]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_given_path_is_carried_out_as_it_stands_at_length() {
    given_paths_are_carried_out(&[0.0, 0.11]);
}

/// Paths that start so far ahead of where the arm stands.
fn given_paths_are_carried_out(all: &[f64]) {
    for &ahead in all {
        let scenario = given(Some(0.02), 1.0, ahead);
        let path = scenario.task().path.clone().unwrap();
        let record = carried(scenario);
        let summary = &record.summary;
        assert_eq!(summary.outcome, Outcome::Success, "{:?}", summary.reason);
        assert_eq!(summary.violations, Violations::default());
        let last = summary.plans.last().unwrap();
        assert!(last.certified && last.phase == TaskPhase::Path, "{last:?}");
        let plan = record.plans.last().unwrap();
        assert!(plan.curve == path && plan.schema == 6, "it is that path and no other");
        // Towards its start lead others.
        assert_eq!(record.plans.len() > 1, ahead != 0.0);
        assert!(record.plans[..record.plans.len() - 1].iter().all(|plan| plan.curve.then.is_empty()));
        assert!(summary.goal_error_rad.unwrap() < 1e-2);
        // Runs end with a planning period.
        let lasted = summary.duration_s - last.t;
        assert!((2.0..2.0 + 1.5).contains(&lasted), "{lasted}");
        // Anybody can repeat the proofs in their order.
        let mut before: Option<(&Plan, f64)> = None;
        for plan in &record.plans {
            let certificate = plan.verify::<Counted>(before, Partition::default()).unwrap();
            before = Some((plan, certificate.excess));
        }
    }
}

#[test]
fn a_given_path_that_cannot_be_proven_is_not_begun() {
    let scenario = given(None, 0.4, 0.0);
    let start = scenario.task().start.clone();
    let record = carried(scenario);
    let summary = &record.summary;
    assert_eq!(summary.outcome, Outcome::SafeStop);
    let reason = summary.reason.as_deref().unwrap();
    assert!(reason.contains("given path") && reason.contains("cannot prove"), "{reason}");
    assert!(record.plans.is_empty() && summary.plans.len() == 1 && !summary.plans[0].certified);
    assert!(summary.goal_error_rad.unwrap() > 0.1);
    assert!(record.log.iter().all(|row| row.q_des == start), "the arm moved");
}
