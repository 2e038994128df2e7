//! The promise: when an assumption is false, a run says so, with the time, the joint and by how much the sensors' bounds
//! would have to grow, and stops without harm; lost samples are no broken assumption and do no harm either.

use surelift::horizon::RunOptions;
use surelift::horizon::{Broken, Evidence, Outcome};
use surelift::report::Summary;
use surelift::scenario::{self, Scenario};

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

#[test]
fn a_payload_outside_the_prior_is_noticed_at_once() {
    let found = broken("payload_outside_prior");
    told(&found);
    assert!(found.evidence == Evidence::Tracking && found.t < 0.1, "{found:?}");
}

#[test]
fn a_payload_that_slips_is_noticed_after_it_has() {
    let found = broken("payload_slips");
    told(&found);
    assert!((3.0..4.6).contains(&found.t), "{found:?}");
}

#[test]
fn a_torque_sensor_with_a_wrong_gain_is_noticed() {
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
fn wrong_friction_is_noticed() {
    let found = broken("friction");
    told(&found);
    assert!(found.evidence == Evidence::Data && found.t < 2.0, "{found:?}");
}

/// It is not released: nothing has moved.
#[test]
fn an_arm_that_stands_elsewhere_is_not_released() {
    let summary = faulty("misplaced_start");
    let found = evidence("misplaced_start", &summary);
    assert_eq!((found.joint.as_deref(), found.evidence, found.t), (Some("joint_4"), Evidence::Tracking, 0.0));
    assert!(found.text.contains("not released") && found.text.contains("-0.0"), "{found:?}");
    assert_eq!(summary.duration_s, 0.0);
}

#[test]
fn a_frozen_encoder_is_noticed_at_its_first_tick() {
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
fn a_clock_that_jumps_back_is_noticed() {
    let back = broken("clock_jumps_back");
    assert!(back.evidence == Evidence::Clock && (back.t - 1.95).abs() < 2e-3, "{back:?}");
}

#[test]
fn lost_samples_are_gaps_and_the_truth_stays_inside() {
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
