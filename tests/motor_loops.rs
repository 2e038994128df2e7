//! The promise: where the feedback runs in the motors, plans are proven for it, followed within their tube, learnt from and proven again, by whatever the loops do within
//! what the robot's file says of them. On the public API.

use std::path::Path;
use std::sync::Arc;

use surelift::control::{Controller, Measured, MotorCommand, RobustController};
use surelift::enclose::Counted;
use surelift::horizon::{Hardware, Outcome, Reading, RunOptions, Task, run};
use surelift::identify::{Identifier, IdentifierOptions, tighten_by_physics};
use surelift::inertia::ParameterSet;
use surelift::plan::{FollowError, Follower, Plan};
use surelift::recording::Sample;
use surelift::robot::{Arm, DriveBounds, Scene, TimingBounds};
use surelift::scenario::Scenario;
use surelift::simulate::{Counts, HiddenTruth, World};
use surelift::trajectory::{Bezier, JointState};

const DURATION_S: f64 = 2.0;

fn scenario() -> (Task, HiddenTruth) {
    Scenario::load(Path::new("scenarios/z1_unknown_500hz.toml")).unwrap().split()
}

/// The scenario's arm, with drives that err besides, and all that physics leaves of its prior.
fn arm(task: &Task) -> (Arm, ParameterSet) {
    let drive = DriveBounds { error_nm: 0.05, error_ratio: 0.005, unmodelled_nm: 0.05, ..DriveBounds::IDEAL };
    let robot = task.robot.with_drives(vec![drive; task.start.len()]).unwrap();
    let prior = tighten_by_physics(&task.prior_set().unwrap(), robot.end_effector()).unwrap();
    (robot, prior)
}

fn plan(robot: &Arm, set: &ParameterSet, start: &[f64]) -> Plan {
    let end: Vec<f64> =
        start.iter().enumerate().map(|(j, q)| q + if j % 2 == 0 { 0.15 } else { -0.15 }).collect();
    let curve = Bezier::to_rest(&JointState::at_rest(start), &end, DURATION_S).unwrap();
    Plan::prove_from_rest(robot, set, &Scene::default(), curve.into()).unwrap()
}

/// Follows the plan in the simulator for so long (s); what was measured, and the world.
fn follow(
    plan: &Plan,
    start: &[f64],
    until_s: f64,
    (truth, seed): (HiddenTruth, u64),
) -> (World, Vec<Sample>) {
    let robot = Arc::new(plan.robot.clone());
    let mut world = World::new(robot.clone(), Scene::default(), start, truth, seed);
    let tube = plan.tube.energy().unwrap();
    let mut controller = RobustController::new(robot.clone(), &plan.set, tube);
    let n = start.len();
    let (mut reading, mut tau, mut measured) = (Reading::new(n), vec![0.0; n], vec![0.0; n]);
    let mut desired = JointState::at_rest(start);
    let mut samples = vec![];
    assert!(world.has_motor_loops());
    world.plan_starts(plan);
    let ticks = (until_s / robot.gains().period_s) as u64;
    for tick in 0..ticks {
        let t = tube.time_of_tick(DURATION_S, tick);
        plan.curve.evaluate(t, &mut desired);
        world.read(&mut reading);
        let told = controller.tick(t, Measured { q: &reading.q, dq: &reading.dq }, &desired, &mut tau);
        assert!(!told.saturated && told.energy_floor_j <= tube.gains.v_max);
        let loops: MotorCommand<'_> = controller.motor_command().unwrap();
        assert!(world.command_loops(&tau, &loops, &mut measured));
        let Reading { t, q, dq } = reading.clone();
        samples.push(Sample { t, q, dq, tau: measured.clone() });
    }
    (world, samples)
}

#[test]
fn no_arm_leaves_the_tube_and_what_is_learnt_holds_the_truth() {
    follow_and_learn(0..1, 0.3);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_arm_leaves_the_tube_and_what_is_learnt_holds_the_truth_at_length() {
    follow_and_learn(0..6, 1.1 * DURATION_S);
}

fn follow_and_learn(seeds: std::ops::Range<u64>, until_s: f64) {
    let (task, _) = scenario();
    let (robot, prior) = arm(&task);
    let plan = plan(&robot, &prior, &task.start);
    let accelerations = plan.tube.energy().unwrap().acceleration_bound.clone();
    let mut most = 0.0f64;
    for seed in seeds {
        let (mut world, samples) = follow(&plan, &task.start, until_s, (scenario().1, seed));
        let options = IdentifierOptions::default();
        let mut identifier =
            Identifier::new(Arc::new(robot.clone()), &prior, accelerations.clone(), options).unwrap();
        for sample in samples {
            identifier.push(sample).unwrap();
        }
        let set = identifier.update().unwrap().set;
        world.set_claimed(&set);
        let hand = robot.end_effector();
        let narrower = set.body(hand).mass().half_width() / prior.body(hand).mass().half_width();
        assert!(narrower < 0.9, "seed {seed}: {narrower}");
        let audit = world.reveal();
        assert!(audit.truth_inside && audit.tube_used <= 1.0, "seed {seed}: {}", audit.tube_used);
        let counts = audit.counts;
        assert_eq!((counts.torque, counts.position, counts.velocity), (0, 0, 0));
        most = most.max(audit.tube_used);
    }
    println!("at most {:.2} % of the tube", 100.0 * most);
    // The loops do something: the arm is carried off its path.
    assert!(most > 1e-3, "{most}");
}

#[test]
fn plans_are_proven_again_and_refused_where_they_were_changed() {
    let (task, _) = scenario();
    let (robot, prior) = arm(&task);
    let plan = plan(&robot, &prior, &task.start);
    let text = serde_json::to_string(&plan).unwrap();
    let again = Plan::from_json(&text).unwrap();
    assert_eq!(again.tube, plan.tube);
    let said = |change: &dyn Fn(&mut Plan)| {
        let mut changed = again.clone();
        change(&mut changed);
        changed.verify::<Counted>(None, Default::default()).map_err(|error| error.to_string())
    };
    assert!(said(&|_| {}).is_ok());
    // Nor is it followed by those who only have torques, or read as a file of programs that know no such loops.
    assert_eq!(Follower::new(&plan).unwrap_err(), FollowError::MotorLoops);
    let older = text.replacen("\"schema\":8", "\"schema\":4", 1);
    assert!(Plan::from_json(&older).unwrap_err().to_string().contains("its feedback runs in the motors"));
    fn loops(plan: &mut Plan) -> &mut surelift::reach::motor_loops::MotorLoops {
        plan.tube.energy_mut().unwrap().motor_loops.as_mut().unwrap()
    }
    let refused = |words: &str, change: &dyn Fn(&mut Plan)| {
        let error = said(change).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    };
    refused("v_max against the loops", &|plan| loops(plan).limit_nm[1] *= 0.8);
    refused("v_max against the loops", &|plan| loops(plan).gain_nms_rad[2] *= 0.2);
    refused("motor_loops.rate_rad_s2 of joint 'joint3'", &|plan| loops(plan).rate_rad_s2[2] *= 0.5);
    refused("motor_loops.limit_nm: expected 6 values", &|plan| loops(plan).limit_nm.truncate(5));
    refused("motor_loops.gain_nms_rad: expected finite numbers above 0", &|plan| {
        loops(plan).gain_nms_rad[0] = -1.0;
    });
    // The same plan for an arm whose loops are older, or that has none.
    let aged = |age_s: f64| {
        let timing = TimingBounds { motor_loop_age_max_s: age_s, ..TimingBounds::EXACT };
        robot.with_timing(timing).unwrap()
    };
    refused("v_max against the loops", &|plan| plan.robot = aged(1e-4));
    refused("has no loops in its motors", &|plan| plan.robot = aged(0.0));
}

/// A driver that only knows torques.
struct TorquesAlone(World);

impl Hardware for TorquesAlone {
    fn time(&self) -> f64 {
        self.0.time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.0.read(reading);
    }

    fn command(&mut self, _: &[f64], _: &mut [f64]) -> bool {
        unreachable!("nothing is commanded")
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.0.hold(measured)
    }
}

#[test]
fn drivers_that_do_not_reach_the_loops_and_files_that_cannot_be_are_refused() {
    let (task, truth) = scenario();
    let world = World::new(Arc::new(task.robot.clone()), task.scene.clone(), &task.start, truth, 0);
    let options = RunOptions { method: "ours".to_owned(), seed: 0, timed: false };
    let error = run(&task, &mut TorquesAlone(world), &options, &mut ()).unwrap_err().to_string();
    assert!(error.contains("motor_loop_age_max_s") && error.contains("command_loops"), "{error}");
    for (changed, words) in [
        (TimingBounds { motor_loop_age_max_s: 1.0, ..TimingBounds::EXACT }, "at most the control period"),
        (TimingBounds { motor_loop_age_max_s: f64::NAN, ..TimingBounds::EXACT }, "motor_loop_age_max_s"),
        (
            TimingBounds { motor_loop_age_max_s: 1e-4, command_delay_max_s: 1e-4, ..TimingBounds::EXACT },
            "expected 0 beside",
        ),
    ] {
        let error = task.robot.with_timing(changed).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// Five seeds of the whole job: weighed, learnt, carried past the post.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_unknown_load_is_carried_at_500_hz_at_length() {
    std::thread::scope(|scope| {
        for seed in 0..5 {
            scope.spawn(move || is_carried(seed));
        }
    });
}

fn is_carried(seed: u64) {
    let (task, truth) = scenario();
    let robot = Arc::new(task.robot.clone());
    let mut world = World::new(robot, task.scene.clone(), &task.start, truth, seed);
    let options = RunOptions { method: "ours".to_owned(), seed, timed: false };
    let record = run(&task, &mut world, &options, &mut ()).unwrap();
    let audit = world.reveal();
    println!("seed {seed}: {} plans, tube {:.4}", record.plans.len(), audit.tube_used);
    assert_eq!((record.outcome, audit.counts), (Outcome::Success, Counts::default()), "seed {seed}");
    assert!(audit.truth_inside && audit.tube_used <= 1.0, "seed {seed}");
}
