//! The promise: what is learnt from readings that are late by nobody knows how much, commands that act late and ticks that shake holds the truth, as long as
//! the robot's file bounds all three. From the simulator through the momentum law to the identifier, on the public API.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use surelift::certify::{MomentumProblem, MomentumStart, Partition};
use surelift::control::{Measured, MomentumController, MomentumPlan};
use surelift::horizon::{Hardware, Reading};
use surelift::identify::{Identifier, IdentifierOptions, IdentifyError, tighten_by_physics};
use surelift::inertia::{INERTIAL, ParameterSet};
use surelift::plan::momentum_fit::fit;
use surelift::reach::PreparedSet;
use surelift::reach::momentum::{CycleTiming, MomentumGains};
use surelift::recording::Sample;
use surelift::robot::{Arm, DriveBounds, Scene, Sensors, TimingBounds};
use surelift::scenario::Scenario;
use surelift::simulate::World;
use surelift::trajectory::{Bezier, JointState, PiecewiseBezier};

const CELLS: usize = 32;
/// How long the arm moves along a plan of twice that, s.
const RUN_S: f64 = 1.5;
const LATE: TimingBounds = TimingBounds {
    reading_age_max_s: 5e-4,
    command_delay_max_s: 4e-4,
    jitter_max_s: 1e-4,
    ..TimingBounds::EXACT
};

/// The Gen3 with velocities and drives as bad as those of real arms, late as its file says; a proven motion for all that physics leaves of the prior.
#[derive(Clone)]
struct Bench {
    robot: Arc<Arm>,
    prior: ParameterSet,
    plan: Arc<MomentumPlan>,
    accelerations: Vec<f64>,
}

static BENCH: LazyLock<Bench> = LazyLock::new(bench);

fn scenario() -> Scenario {
    Scenario::load(Path::new("scenarios/dumbbell_c_8lb.toml")).unwrap()
}

fn bench() -> Bench {
    let task = scenario().split().0;
    let sensors = Sensors { velocity_rad_s: 5e-3, position_rad: 2e-5, ..task.robot.sensors().clone() };
    let drive = DriveBounds { error_nm: 0.1, error_ratio: 0.005, unmodelled_nm: 0.2, ..DriveBounds::IDEAL };
    let robot = task.robot.with_sensors(sensors).unwrap().with_drives(vec![drive; task.start.len()]).unwrap();
    let robot = robot.with_timing(LATE).unwrap();
    let prior = tighten_by_physics(&task.prior_set().unwrap(), robot.end_effector()).unwrap();
    let set = Arc::new(PreparedSet::new(&robot, &prior));
    let end: Vec<f64> =
        task.start.iter().enumerate().map(|(j, q)| q + if j % 2 == 0 { 0.5 } else { -0.5 }).collect();
    let curve = Bezier::to_rest(&JointState::at_rest(&task.start), &end, 3.0).unwrap();
    let curve = PiecewiseBezier::from(curve);
    let scene = Scene::default();
    let problem = MomentumProblem::new(&robot, &set, &scene, &curve, MomentumStart::Rest).unwrap();
    let gains = MomentumGains { k_r: 4.0, kappa: 120.0 };
    let (tube, _) = fit(&problem, gains, CycleTiming::of(&robot), CELLS).unwrap();
    problem.certify(&tube, Partition { cells: CELLS, depth: 4 }).unwrap();
    let accelerations = problem.accelerations(&tube, CELLS).unwrap().unwrap();
    println!("accelerations up to {accelerations:.1?} rad/s^2");
    let plan = Arc::new(MomentumPlan { set, tube, curve: curve.clone() });
    Bench { robot: Arc::new(robot), prior, plan, accelerations }
}

/// What a run tells: the samples, and the world to ask whether a set holds the truth.
fn run(bench: &Bench, seed: u64, until_s: f64) -> (World, Vec<Sample>) {
    let (task, truth) = scenario().split();
    let mut world = World::new(bench.robot.clone(), Scene::default(), &task.start, truth, seed);
    let mut controller = MomentumController::new(bench.robot.clone(), bench.plan.clone());
    let n = task.start.len();
    let (mut reading, mut tau, mut measured) = (Reading::new(n), vec![0.0; n], vec![0.0; n]);
    let mut samples = vec![];
    world.hold(&mut measured);
    let begun = world.time();
    while world.time() - begun < until_s {
        world.read(&mut reading);
        let now = Measured { q: &reading.q, dq: &reading.dq };
        if samples.is_empty() {
            assert_eq!(controller.start_fault(now), None);
        }
        let tick = controller.tick(reading.t - begun, now, &mut tau);
        assert!(tick.share <= 1.0 && !tick.saturated, "seed {seed}: {tick:?} at {}", reading.t);
        assert!(world.command(&tau, &mut measured));
        samples.push(Sample {
            t: reading.t,
            q: reading.q.clone(),
            dq: reading.dq.clone(),
            tau: measured.clone(),
        });
    }
    (world, samples)
}

/// What an identifier makes of the samples if it is told that the arm is as late as `timing` says.
fn learn(bench: &Bench, timing: TimingBounds, samples: &[Sample]) -> Result<ParameterSet, IdentifyError> {
    let robot = Arc::new(bench.robot.with_timing(timing).unwrap());
    let options = IdentifierOptions::default();
    let mut identifier = Identifier::new(robot, &bench.prior, bench.accelerations.clone(), options)?;
    for sample in samples {
        identifier.push(sample.clone())?;
    }
    Ok(identifier.update()?.set)
}

#[test]
fn the_truth_is_inside_whatever_the_ages() {
    truths_are_inside(0..1);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_truth_is_inside_whatever_the_ages_at_length() {
    truths_are_inside(0..3);
}

fn truths_are_inside(seeds: std::ops::Range<u64>) {
    let bench = &*BENCH;
    let hand = bench.robot.end_effector();
    let before = bench.prior.body(hand).mass();
    let mut ticks = [f64::INFINITY, 0.0f64];
    for seed in seeds {
        let (mut world, samples) = run(bench, seed, RUN_S);
        for pair in samples.windows(2) {
            let step = pair[1].t - pair[0].t;
            ticks = [ticks[0].min(step), ticks[1].max(step)];
        }
        let set = learn(bench, LATE, &samples).unwrap();
        world.set_claimed(&set);
        let audit = world.reveal();
        let mass = set.body(hand).mass();
        let width = mass.upper - mass.lower;
        println!("seed {seed}: mass known to {width:.2} kg, before to {:.2}", before.upper - before.lower);
        assert!(audit.truth_inside, "seed {seed}");
        assert!(audit.counts.torque == 0 && audit.counts.position == 0 && audit.counts.velocity == 0);
        let narrower = (0..INERTIAL).any(|p| {
            let range = |set: &ParameterSet| set.body(hand).range(p).upper - set.body(hand).range(p).lower;
            range(&set) < 0.9 * range(&bench.prior)
        });
        assert!(narrower, "nothing was learnt");
    }
    assert!(ticks[0] < 9.1e-4 && ticks[1] > 1.09e-3, "{ticks:?}");
}

/// One who is told that all is on time is contradicted by the first ticks that shake, and by the readings as soon as they are late enough to be told from noise.
#[test]
fn who_knows_nothing_of_lateness_refuses_what_is_late() {
    let refused = late_readings_are_refused(3);
    assert!(refused >= 1, "{refused}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn who_knows_nothing_of_lateness_refuses_what_is_late_at_length() {
    let refused = late_readings_are_refused(8);
    assert!(refused >= 2, "{refused}");
}

/// How many of so many runs are refused.
fn late_readings_are_refused(runs: u64) -> usize {
    let mut bench = BENCH.clone();
    let (_, samples) = run(&bench, 0, 0.1);
    let refused = learn(&bench, TimingBounds::EXACT, &samples).unwrap_err();
    assert!(matches!(refused, IdentifyError::BadTime { .. }), "{refused}");
    // With better encoders a step of the age shows.
    let timing = TimingBounds { reading_age_max_s: 0.0, ..LATE };
    let sensors = Sensors { velocity_rad_s: 1e-5, position_rad: 1e-7, ..bench.robot.sensors().clone() };
    bench.robot = Arc::new(bench.robot.with_sensors(sensors).unwrap());
    let mut refused = 0;
    for seed in 0..runs {
        let samples = run(&bench, seed, 0.5).1;
        learn(&bench, LATE, &samples).unwrap();
        match learn(&bench, timing, &samples) {
            Err(IdentifyError::Jump { .. } | IdentifyError::AssumptionBroken { .. }) => refused += 1,
            other => assert!(other.is_ok(), "seed {seed}: {other:?}"),
        }
    }
    println!("{refused} of {runs} are refused");
    refused
}
