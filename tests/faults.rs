//! The promise: when an assumption is false, a run says so, with the time, the joint and by how much the sensors' bounds
//! would have to grow, and stops without harm. After an alarm nothing gets harder: where the tube is lost, true speeds only fall. Lost samples are no broken assumption and do no harm either.

use std::sync::Arc;

use surelift::horizon::{self, Broken, Evidence, Outcome, Record, RunOptions};
use surelift::report::Summary;
use surelift::scenario::{self, Scenario};
use surelift::simulate::{Audit, StopAudit, World};

fn run(path: &std::path::Path) -> Summary {
    let options = RunOptions { method: "ours".into(), seed: 0, timed: false };
    scenario::run(Scenario::load(path).unwrap(), &options, &mut ()).unwrap().summary
}

fn faulty(name: &str) -> Summary {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    run(&root.join("scenarios/faults").join(name).with_extension("toml"))
}

/// The run ended because an assumption broke, without contact or limit passed; its first evidence.
fn broken(name: &str) -> Broken {
    evidence(name, &faulty(name))
}

fn evidence(name: &str, summary: &Summary) -> Broken {
    assert_eq!(summary.outcome, Outcome::AssumptionBroken, "{name}: {:?}", summary.reason);
    // What the bounds rest on is false: none are told.
    let alone = summary.payload_alone.as_ref();
    assert_eq!(alone.map(|alone| alone.bounds), summary.payload.as_ref().map(|_| None), "{name}");
    let violations = &summary.violations;
    let harm = [violations.collision, violations.torque, violations.position, violations.velocity];
    assert_eq!(harm, [0; 4], "{name}");
    let first = summary.broken.first().expect("evidence").clone();
    assert_eq!(summary.reason.as_deref(), Some(first.text.as_str()));
    // The plan under way goes on for 1.5 s at most, and braking takes 3 s. Data that contradict may do so only together with
    // those of the update 1.5 s later.
    let later = if first.evidence == Evidence::Data { 1.5 } else { 0.0 };
    assert!(summary.duration_s < first.t + 4.6 + later, "{name}: went on for too long");
    first
}

/// Joint and factor are told, the latter above one.
fn told(broken: &Broken) -> (&str, f64) {
    let by = broken.at_least.expect("a factor");
    assert!(by > 1.0, "{broken:?}");
    (broken.joint.as_deref().expect("a joint"), by)
}

/// Of a small arm with an empty hand.
#[test]
fn an_encoder_that_freezes_is_noticed_at_its_first_tick() {
    let folder = tempfile::tempdir().unwrap();
    let arm = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_arm");
    let path = folder.path().join("frozen.toml");
    let text = format!(
        "extends = {:?}\nrobot = {:?}\nname = \"frozen\"\n[faults]\nfrozen_encoder = {{ joint = \"waist\", at_s = 1.0 }}\n",
        arm.join("first_move.toml"),
        arm.join("my_arm.toml")
    );
    std::fs::write(&path, text).unwrap();
    let found = evidence("frozen", &run(&path));
    let (joint, by) = told(&found);
    assert!(joint == "waist" && by > 10.0 && (found.t - 1.0).abs() < 2e-3, "{found:?}");
    assert_eq!(found.evidence, Evidence::Motion);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_payload_outside_the_prior_is_noticed_at_once_at_length() {
    let found = broken("payload_outside_prior");
    told(&found);
    assert!(found.evidence == Evidence::Tracking && found.t < 0.1, "{found:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_payload_that_slips_is_noticed_after_it_has_at_length() {
    let found = broken("payload_slips");
    told(&found);
    assert!((3.0..4.6).contains(&found.t), "{found:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_payload_that_is_dropped_is_noticed_as_it_falls_at_length() {
    let (record, audit) = run_of("payload_dropped", 0);
    let counts = audit.counts;
    assert_eq!([counts.collision, counts.torque, counts.position, counts.velocity], [0; 4]);
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{:?}", record.reason);
    assert!((3.0..3.1).contains(&record.broken[0].t), "{:?}", record.broken[0]);
}

/// Within today's proof readings are of the tick that they are used in.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn readings_that_are_late_are_noticed_and_no_limit_is_passed_at_length() {
    let (record, audit) = run_of("late_readings", 0);
    let counts = audit.counts;
    assert_eq!([counts.collision, counts.torque, counts.position, counts.velocity], [0; 4]);
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{:?}", record.reason);
    assert!((2.0..3.6).contains(&record.broken[0].t), "{:?}", record.broken[0]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_torque_sensor_with_a_wrong_gain_is_noticed_at_length() {
    let one = broken("torque_gain_one_joint");
    assert_eq!((told(&one).0, one.evidence), ("joint_4", Evidence::Data));
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn torque_sensors_with_a_wrong_gain_are_noticed_at_length() {
    let all = broken("torque_gain");
    told(&all);
    assert_eq!(all.evidence, Evidence::Data);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn wrong_friction_is_noticed_at_length() {
    let found = broken("friction");
    told(&found);
    assert!(found.evidence == Evidence::Data && found.t < 2.0, "{found:?}");
}

/// It is not released: nothing has moved.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_arm_that_stands_elsewhere_is_not_released_at_length() {
    let summary = faulty("misplaced_start");
    let found = evidence("misplaced_start", &summary);
    assert_eq!((found.joint.as_deref(), found.evidence, found.t), (Some("joint_4"), Evidence::Tracking, 0.0));
    assert!(found.text.contains("not released") && found.text.contains("-0.0"), "{found:?}");
    assert_eq!(summary.broken.len(), 1, "{:?}", summary.broken);
    // The reading of one tick, through which the drives hold it.
    assert!(summary.duration_s <= 1e-3, "{}", summary.duration_s);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_frozen_encoder_is_noticed_at_its_first_tick_at_length() {
    let found = broken("frozen_encoder");
    let (joint, by) = told(&found);
    assert!(joint == "joint_4" && by > 10.0 && (found.t - 2.0).abs() < 2e-3, "{found:?}");
    assert_eq!(found.evidence, Evidence::Motion);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_clock_that_jumps_ahead_is_noticed_at_length() {
    let ahead = broken("clock_jumps");
    told(&ahead);
    assert!(ahead.evidence == Evidence::Motion && (ahead.t - 2.05).abs() < 2e-3, "{ahead:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_clock_that_jumps_back_is_noticed_at_length() {
    let back = broken("clock_jumps_back");
    assert!(back.evidence == Evidence::Clock && (back.t - 1.95).abs() < 2e-3, "{back:?}");
}

/// Most by which a joint may become faster after a stop began, rad/s: what gravity is missed by where the law had no time to learn what is held, over the
/// stop's damping and the joint's friction. A ninth of the slowest joint's limit.
const SAG_RAD_S: f64 = 0.2;

/// A run: what the loop knew, and what the auditor saw.
fn run_of(name: &str, seed: u64) -> (Record, Audit) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("scenarios/faults").join(name).with_extension("toml");
    let (task, truth) = Scenario::load(&path).unwrap().split();
    let robot = Arc::new(task.robot.clone());
    let mut world = World::new(robot.clone(), task.scene.clone(), &task.start, truth, seed);
    let options = RunOptions { method: "ours".into(), seed, timed: false };
    let record = horizon::run(&task, &mut world, &options, &mut ()).unwrap();
    let audit = world.reveal();
    (record, audit)
}

/// A run that stopped gently, in which no limit was passed: how the true arm came to rest besides.
fn stopped(name: &str, (record, audit): (Record, Audit)) -> (Record, StopAudit, Audit) {
    let counts = audit.counts;
    let harm = [counts.collision, counts.torque, counts.position, counts.velocity];
    assert_eq!(harm, [0; 4], "{name}");
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{name}: {:?}", record.reason);
    let said = record.stopped.as_ref().unwrap_or_else(|| panic!("{name}: no stop"));
    let stop = audit.stop.clone().expect("the auditor saw it");
    assert!((said.t - stop.t).abs() < 1e-9 && !said.reason.is_empty(), "{said:?}");
    println!("{name}: stopped at {:.3} s; {stop:.3?}", stop.t);
    assert!(stop.gained() < SAG_RAD_S, "{name}: {stop:?}");
    assert!(record.duration_s < stop.t + 1.52, "{name}: {}", record.duration_s);
    // What was fast is slow.
    for (j, (end, begin)) in stop.at_end.iter().zip(&stop.at_begin).enumerate() {
        assert!(*end < SAG_RAD_S.max(0.5 * begin), "{name}, joint {j}: {stop:?}");
    }
    (record, stop, audit)
}

/// What the drives of `clamped_drive` give at most, over their limits.
const CLAMP: f64 = 0.45;

/// Drives that are never asked for as much as they can give have no fault that shows.
fn never_clamped((record, audit): &(Record, Audit)) -> bool {
    record.outcome == Outcome::Success && audit.torque_ratio < CLAMP * (1.0 - 1e-9)
}

/// A drive that gives all it can to the end, as the sensor tells, does not hold the weight: the arm falls, whatever is commanded.
fn too_weak(record: &Record) -> bool {
    let robot = surelift::robot::load("kinova_gen3_2f85").unwrap();
    let last = record.log.last().expect("a run that has begun");
    let least = |j: usize| CLAMP * robot.joints[j].limits.torque * (1.0 - robot.sensors().torque_ratio);
    record.stopped.is_some() && (0..robot.dof()).any(|j| last.tau[j].abs() >= least(j))
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn elastic_joints_are_stopped_and_do_not_ring_at_length() {
    let (record, stop, _) = stopped("elastic_joints_link", run_of("elastic_joints_link", 0));
    assert_eq!(record.broken[0].evidence, Evidence::Tracking);
    assert!(stop.t < 0.1, "{stop:?}");
}

/// The tube can be believed with the encoders before the springs: the plan's own braking part is followed, and the data tell.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn elastic_joints_with_encoders_on_the_transmissions_brake_along_the_plan_at_length() {
    let summary = faulty("elastic_joints_motor");
    let found = evidence("elastic_joints_motor", &summary);
    assert_eq!((found.evidence, summary.stopped), (Evidence::Data, None));
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn drives_that_give_less_than_asked_are_noticed_and_the_arm_stops_at_length() {
    let (record, ..) = stopped("clamped_drive", run_of("clamped_drive", 0));
    assert_eq!(record.broken[0].evidence, Evidence::Tracking);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_lost_encoder_stops_the_arm_at_its_first_tick_at_length() {
    let (record, stop, _) = stopped("lost_encoder", run_of("lost_encoder", 0));
    let first = &record.broken[0];
    assert_eq!((first.evidence, first.joint.as_deref()), (Evidence::Motion, Some("joint_4")));
    assert!((stop.t - 2.0).abs() < 2e-3 && (first.t - 2.0).abs() < 2e-3, "{first:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_frozen_encoder_stops_the_arm_at_length() {
    let (_, stop, _) = stopped("frozen_encoder", run_of("frozen_encoder", 0));
    assert!((stop.t - 2.0).abs() < 2e-3);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_arm_stops_gently_whatever_is_drawn_at_length() {
    for seed in 1..6 {
        for name in ["elastic_joints_link", "clamped_drive", "lost_encoder", "frozen_encoder"] {
            let run = run_of(name, seed);
            if name == "clamped_drive" && (never_clamped(&run) || too_weak(&run.0)) {
                continue;
            }
            stopped(name, run);
        }
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn lost_samples_are_gaps_and_the_truth_stays_inside_at_length() {
    // The exciting part alone.
    let folder = tempfile::tempdir().unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    let path = folder.path().join("short.toml");
    let text = format!(
        "extends = \"{root}/scenarios/faults/dropped_samples.toml\"\nrobot = \"{root}/robots/kinova_gen3_2f85.toml\"\n\
         [timing]\nexciting_plans = 2\nmax_plans = 2\n"
    );
    std::fs::write(&path, text).unwrap();
    let summary = run(&path);
    assert_eq!(summary.outcome, Outcome::SafeStop, "{:?}", summary.reason);
    assert!(summary.broken.is_empty() && summary.truth_inside);
    assert!(summary.violations.counts().iter().all(|(_, count)| *count == 0));
    let (first, last) = (summary.gaps[0], summary.gaps[summary.gaps.len() - 1]);
    assert!((first.from_s - 0.499).abs() < 1e-9 && (first.to_s - 0.53).abs() < 1e-9, "{first:?}");
    assert!(summary.gaps.len() >= 4 && last.to_s <= summary.duration_s);
    // What is left still says something.
    let (before, after) = (&summary.identification[0], summary.identification.last().unwrap());
    assert!(
        after.known.upper[0] - after.known.lower[0] < 0.8 * (before.known.upper[0] - before.known.lower[0])
    );
}
