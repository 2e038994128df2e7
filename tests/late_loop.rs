//! The promise: an arm whose readings and commands are late is planned for, controlled, learnt from and proven under the momentum law, in one loop; what it leaves
//! behind can be proven again, and what was changed in it is refused.

use std::sync::{Arc, LazyLock};

use surelift::enclose::Counted;
use surelift::horizon::{Event, Observer, Outcome, Record, RunOptions, Task, first_set, run};
use surelift::plan::chain::{self, Expected, ExpectedTask};
use surelift::plan::saved::PlanStart;
use surelift::plan::{Plan, PlanError};
use surelift::reach::momentum::{BoundedTube, MomentumReport, MomentumWorkspace};
use surelift::reach::{PreparedSet, Span};
use surelift::robot::{Arm, DriveBounds, Sensors, TimingBounds};
use surelift::scenario::Scenario;
use surelift::simulate::{Audit, HiddenTruth, World};

/// As old as readings and commands of torque-controlled arms are on a bus.
const LATE: TimingBounds = TimingBounds {
    reading_age_max_s: 5e-4,
    command_delay_max_s: 4e-4,
    jitter_max_s: 1e-4,
    ..TimingBounds::EXACT
};

/// The main job with velocities and drives as bad as those of real arms, late by no more than its file says.
fn job(timing: TimingBounds) -> (Task, HiddenTruth) {
    let (mut task, truth) = Scenario::load("scenarios/dumbbell_c_8lb.toml").unwrap().split();
    let sensors = Sensors { velocity_rad_s: 5e-3, position_rad: 2e-5, ..task.robot.sensors().clone() };
    let drive = DriveBounds { error_nm: 0.1, error_ratio: 0.005, unmodelled_nm: 0.2, ..DriveBounds::IDEAL };
    let robot = task.robot.with_sensors(sensors).unwrap().with_drives(vec![drive; task.start.len()]).unwrap();
    task.robot = robot.with_timing(timing).unwrap();
    (task, truth)
}

/// Whether the truth was inside is asked of every set that is claimed.
struct Told(Vec<String>);

impl Observer for Told {
    fn event(&mut self, event: &Event) {
        if let Event::PlanFailed { reason, .. } = event {
            self.0.push(reason.clone());
        }
    }
}

fn execute(task: &Task, truth: HiddenTruth, seed: u64) -> (Record, Audit) {
    execute_timed(task, truth, seed, false)
}

fn execute_timed(task: &Task, truth: HiddenTruth, seed: u64, timed: bool) -> (Record, Audit) {
    let robot = Arc::new(task.robot.clone());
    let mut world = World::new(robot, task.scene.clone(), &task.start, truth, seed);
    let options = RunOptions { method: "ours".into(), seed, timed };
    let mut told = Told(vec![]);
    let record = run(task, &mut world, &options, &mut told).unwrap();
    println!(
        "seed {seed}: {:?} {:?} in {:.2} s of motion, {:.1} s of time, {} plans, {} refused: {:?}",
        record.outcome,
        record.reason,
        record.duration_s,
        record.wall_s,
        record.plans.len(),
        told.0.len(),
        told.0
    );
    (record, world.reveal())
}

fn sound(record: &Record, audit: &Audit) {
    assert!(record.broken.is_empty(), "{:?}", record.broken);
    assert!(audit.truth_inside, "the truth was outside of a set");
    let counts = audit.counts;
    let harm = [counts.collision, counts.torque, counts.position, counts.velocity, counts.tube];
    assert_eq!(harm, [0; 5], "collisions, torques, positions, velocities, tube");
    println!("{:.3} of the tube used, torque {:.3}", audit.tube_used, audit.torque_ratio);
    assert!(audit.tube_used > 0.05, "the audit looked at nothing");
    assert!(record.plans.iter().all(|plan| plan.tube.momentum().is_some() && plan.schema == 7));
    assert_eq!(record.gaps, [], "ticks that shake within their bound are none that are lost");
}

/// How far errors may carry a link in the short run, m.
const GROWTH_MAX_M: f64 = 0.006;

/// A short run of short motions: one that excites, and a goal near by.
struct Short {
    task: Task,
    record: Record,
    audit: Audit,
}

static SHORT: LazyLock<Short> = LazyLock::new(|| {
    let (task, truth) = short_job(GROWTH_MAX_M);
    let (record, audit) = execute(&task, truth, 1);
    Short { task, record, audit }
});

fn short_job(growth_max_m: f64) -> (Task, HiddenTruth) {
    let (mut task, truth) = job(LATE);
    task.timing.exciting_plans = 1;
    (task.timing.t_f_s, task.timing.t_p_s) = (1.2, 0.6);
    task.goal = task.start.iter().map(|q| q + 0.03).collect();
    task.scene.obstacles.retain(|obstacle| obstacle.name == "table");
    task.held.as_mut().unwrap().excite.range_rad = vec![0.15; 7];
    task.growth_max_m = Some(growth_max_m);
    (task, truth)
}

/// What no plan keeps is refused by name, and the arm does not move.
#[test]
fn a_late_arm_whose_links_may_be_carried_no_farther_stands() {
    let (mut task, truth) = short_job(0.002);
    task.timing.max_failures = 1;
    let (record, _) = execute(&task, truth, 1);
    assert_eq!((record.outcome, record.plans.len()), (Outcome::SafeStop, 0));
    let reason = record.reason.unwrap().to_string();
    assert!(reason.contains("carry a link by") && reason.contains("at most 2.0 mm"), "{reason}");
}

#[test]
fn a_late_arm_is_planned_for_followed_and_learnt_from() {
    let Short { task, record, audit } = &*SHORT;
    sound(record, audit);
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    assert!(record.plans.len() >= 2 && record.plans[0].start == PlanStart::Rest);
    assert!(record.plans[1..].iter().all(|plan| matches!(plan.start, PlanStart::AfterTicks(_))));
    let growths: Vec<f64> = record.plans.iter().map(growth_m).collect();
    println!("links carried by {growths:?} m");
    assert!(growths.iter().all(|growth| *growth <= 1.001 * GROWTH_MAX_M), "{growths:?}");
    // Ticks shake.
    let steps = record.log.windows(2).map(|pair| pair[1].t - pair[0].t);
    assert!(steps.clone().any(|step| (step - 1e-3).abs() > 2e-5), "ticks are even");
    let hand = task.robot.end_effector();
    let mass = |set: &surelift::inertia::ParameterSet| {
        let mass = set.body(hand).mass();
        mass.upper - mass.lower
    };
    let (first, last) = (&record.plans[0].set, &record.plans.last().unwrap().set);
    println!("mass known to {:.2} kg, at first to {:.2}", mass(last), mass(first));
    assert!(mass(last) < 0.9 * mass(first), "nothing was learnt");
}

/// One's own files.
fn expected(task: &Task) -> Expected {
    let (robot, scene, start) = (task.robot.clone(), task.scene.clone(), task.start.clone());
    let (prior, first_set) = (task.prior_set().unwrap(), Some(first_set(task).unwrap()));
    Expected { robot: None, task: Some(ExpectedTask { robot, scene, start, prior, first_set }) }
}

/// What is said of plans as they come back from their files.
fn objections(plans: &[Plan], expected: &Expected) -> Result<Vec<String>, PlanError> {
    let read = |plan: &Plan| Plan::from_json(&serde_json::to_string(plan).unwrap());
    let plans = plans.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut faults = vec![];
    chain::verify::<Counted>(&plans, expected, |_, link| {
        faults.extend(link.proof.as_ref().err().into_iter().flatten().cloned());
    });
    Ok(faults)
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn its_plans_are_proven_again_and_refused_where_they_were_changed_at_length() {
    let Short { task, record, .. } = &*SHORT;
    let (own, plans) = (expected(task), &record.plans[..2]);
    assert_eq!(objections(plans, &own).unwrap(), Vec::<String>::new());
    let tube = |plan: &Plan| plan.tube.momentum().unwrap().clone();
    // What is not refused as it should be.
    let missed = std::cell::RefCell::new(vec![]);
    let refused = |k: usize, word: &str, change: &dyn Fn(&mut Plan)| {
        let mut changed = plans.to_vec();
        change(&mut changed[k]);
        let said = match objections(&changed, &own) {
            Ok(faults) => faults.join("; "),
            Err(error) => error.to_string(),
        };
        if !said.contains(word) {
            missed.borrow_mut().push(format!("{word}: {said}"));
        }
    };
    let constant = |k: usize, word: &str, change: &dyn Fn(&mut BoundedTube)| {
        refused(k, word, &|plan| {
            let mut bounded = tube(plan);
            change(&mut bounded);
            plan.tube = bounded.into();
        });
    };
    constant(0, "robust_nm", &|b| b.tube.robust_nm[1] *= 0.5);
    constant(0, "noise_nms", &|b| b.tube.noise_nms[2] *= 0.5);
    constant(0, "lag_nms2", &|b| b.tube.lag_nms2[3] *= 0.5);
    constant(0, "latency_s", &|b| b.tube.timing.latency_s *= 0.5);
    constant(0, "not a plan file", &|b| b.tube.gains.kappa = f64::NAN);
    constant(1, "radius of p of joint", &|b| b.tube.gains.k_r *= 0.9);
    constant(1, "start noise_nms", &|b| b.tube.start.as_mut().unwrap().noise_nms[0] *= 0.5);
    // What the plan says of its states, which others rely on.
    constant(0, "position_error_rad", &|b| b.bounds.position_error_rad[4] *= 0.9);
    constant(1, "rest_error_rad", &|b| b.bounds.rest_error_rad[4] *= 0.5);
    constant(1, "r_rad_s", &|b| b.bounds.r_rad_s[0] *= 0.5);
    constant(0, "acceleration_rad_s2", &|b| b.bounds.acceleration_rad_s2[6] *= 0.9);
    constant(0, "r_rad_s: expected 7 values", &|b| b.bounds.r_rad_s.clear());
    refused(1, "after 500 ticks", &|plan| plan.start = PlanStart::AfterTicks(500));
    refused(0, "schema 6", &|plan| plan.schema = 6);
    assert_eq!(*missed.borrow(), Vec::<String>::new());
    // Without the plan before it, nothing is known of where the second one starts.
    let alone = objections(&plans[1..], &Expected::default()).unwrap().join("; ");
    assert!(alone.contains("the plan before it is not given"), "{alone}");
}

/// Joints give, as the robot's file states. What is proven is true of their common motion, and links keep their distances.
#[test]
#[ignore = "over a minute: the whole job"]
fn an_arm_on_springs_does_the_main_job_at_length() {
    let (task, truth) = Scenario::load("scenarios/dumbbell_c_8lb_elastic.toml").unwrap().split();
    let (record, audit) = execute(&task, truth, 0);
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    sound(&record, &audit);
    let springs = audit.springs.unwrap();
    assert!((0.3..1.0).contains(&springs.stated_ratio.unwrap()), "{springs:?}");
}

/// Its links may swing while its encoders stand still.
#[test]
fn an_arm_on_springs_is_not_weighed_at_rest() {
    let (mut task, truth) = Scenario::load("scenarios/dumbbell_c_8lb_elastic.toml").unwrap().split();
    task.held.as_mut().unwrap().identify.weigh_s = 0.5;
    let mut world = World::new(Arc::new(task.robot.clone()), task.scene.clone(), &task.start, truth, 0);
    let options = RunOptions { method: "ours".into(), seed: 0, timed: false };
    let told = run(&task, &mut world, &options, &mut Told(vec![])).unwrap_err().to_string();
    assert!(told.contains("hang on springs") && told.contains("weigh_s"), "{told}");
}

/// The whole job, as its file has it. Seeds stop safely where no further plan is proven within a torque limit.
#[test]
#[ignore = "over a minute: the whole job, three times"]
fn the_main_job_is_done_late_or_stops_safely_at_length() {
    let mut done = 0;
    for seed in 0..3 {
        let (task, truth) = Scenario::load("scenarios/dumbbell_c_8lb_late.toml").unwrap().split();
        let (record, audit) = execute(&task, truth, seed);
        sound(&record, &audit);
        done += u32::from(record.outcome == Outcome::Success);
        let mass = record.plans.last().unwrap().set.body(task.robot.end_effector()).mass();
        println!("mass known to {:.3} kg", mass.upper - mass.lower);
        // At first it is 4 kg.
        assert!(mass.upper - mass.lower < 1.2, "seed {seed}: {mass:?}");
    }
    assert!(done >= 2, "{done} of 3 came to the goal");
}

/// Upper bound of how far tracking errors carry any link, m.
fn growth_m(plan: &Plan) -> f64 {
    let (robot, set) = (&plan.robot, PreparedSet::new(&plan.robot, &plan.set));
    let (tube, duration_s) = (&plan.tube.momentum().unwrap().tube, plan.curve.duration_s());
    let mut space = MomentumWorkspace::<16, Counted>::new(robot);
    let at = |k: u32| duration_s * f64::from(k) / 32.0;
    let spans = (0..32).map(|k| Span::Between(at(k), at(k + 1))).chain([Span::Rest]);
    let growth = spans.map(|span| {
        let report = MomentumReport::new(robot, &set, tube, (plan.curve.view(), span), &mut space);
        report.unwrap().needs.growth_m
    });
    growth.fold(0.0, f64::max)
}

/// With velocities, drives and sensors as arms of its class have them, and on the clock. `docs/howto/late_readings.md` has the figures.
#[test]
#[ignore = "minutes, on the wall clock: the whole job, ten times"]
fn the_measured_arm_does_the_main_job_on_the_clock() {
    let mut done = 0;
    for seed in 0..10 {
        let (task, truth) = Scenario::load("scenarios/dumbbell_c_8lb_measured.toml").unwrap().split();
        let (record, audit) = execute_timed(&task, truth, seed, true);
        sound(&record, &audit);
        done += u32::from(record.outcome == Outcome::Success);
        let growths: Vec<f64> = record.plans.iter().map(growth_m).collect();
        println!(
            "links carried in each plan, mm: {:.1?}",
            growths.iter().map(|m| 1e3 * m).collect::<Vec<_>>()
        );
        let growth = growths.iter().copied().fold(0.0, f64::max);
        let known = record.identification.iter().rfind(|known| known.t <= 7.6).unwrap();
        let half = |p: usize| known.known.half_width(p);
        let moment = (1..4).map(half).fold(0.0, f64::max);
        println!("at {:.2} s: mass {:.3} kg, first moment {moment:.3} kg m", known.t, half(0));
        println!("links carried by {:.1} mm", 1e3 * growth);
        assert!(growth <= 1.001 * task.growth_max_m.unwrap(), "seed {seed}: {growths:?}");
        // At first 2 kg and 0.45 kg m.
        assert!(half(0) < 0.65 && moment < 0.2, "seed {seed}");
    }
    assert!(done >= 8, "{done} of 10 came to the goal");
}

/// What is not late keeps the law that it had.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_arm_that_is_on_time_keeps_the_first_law_at_length() {
    let robot: Arm = surelift::robot::load("kinova_gen3_2f85").unwrap();
    assert!(robot.timing().is_exact());
    let (mut task, truth) = Scenario::load("scenarios/dumbbell_c_8lb.toml").unwrap().split();
    task.timing.max_plans = 1;
    let (record, audit) = execute(&task, truth, 0);
    assert!(audit.truth_inside && audit.counts.tube == 0 && record.broken.is_empty());
    assert!(!record.plans.is_empty() && record.plans.iter().all(|plan| plan.tube.energy().is_some()));
}
