//! The promise: friction that `identify` finds in three recordings of a real arm, with its defaults, predicts a fourth; the published
//! noise bounds are refuted, encoders' as well as torques', and with what is said to be enough there is a set. The recordings are not part of the repository:
//!
//! ```text
//! SURELIFT_RECORDINGS=DIR cargo test --release --test real_recordings -- --ignored
//! ```
//!
//! with kinova_gen3_1.csv to kinova_gen3_4.csv in DIR.
#![cfg(feature = "cli")]

use std::process::Command;

use serde_json::Value;

/// Bounds on the error on the fourth recording, N m RMS: a fifth above the 0.60, 1.14, 0.99, 0.82, 0.28, 0.65 and 0.25 that it is.
const REACHED: [f64; 7] = [0.72, 1.37, 1.19, 0.98, 0.34, 0.78, 0.30];

#[test]
#[ignore = "needs recordings of a real arm in the folder that SURELIFT_RECORDINGS names"]
fn three_recordings_of_a_real_arm_predict_the_fourth() {
    let (code, said, summary) = identify(&[]);
    assert_eq!(code, Some(4), "{said}");
    let encoders = refuted_encoders(&summary);
    // The delay is found in the three alone, and said.
    let delay = summary["delay"]["taken_out_s"].as_f64().unwrap();
    assert!((0.08..0.11).contains(&delay) && said.contains("ms late"), "{said}");
    let joints = summary["joints"].as_array().unwrap();
    for (joint, limit) in joints.iter().zip(REACHED) {
        let error = joint["validation_rms_nm"].as_f64().unwrap();
        assert!(error <= limit, "{}: {error} N m, expected at most {limit}", joint["name"]);
    }
    bounds_meet_where_the_delay_is_known(delay, joints);
    there_is_a_set_within_enough(encoders, joints);
}

/// Exit code, text and summary of `identify` with more options.
fn identify(more: &[&str]) -> (Option<i32>, String, Value) {
    let folder = std::env::var_os("SURELIFT_RECORDINGS").expect("SURELIFT_RECORDINGS names the folder");
    let folder = std::path::PathBuf::from(folder);
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_surelift"));
    command.args(["identify", "--robot", "kinova_gen3", "--unknown", "friction"]).args(more);
    for k in 1..=3 {
        command.arg("--log").arg(folder.join(format!("kinova_gen3_{k}.csv")));
    }
    command.arg("--validate").arg(folder.join("kinova_gen3_4.csv"));
    let output = command.arg("--out").arg(out.path().join("out")).output().expect("the program starts");
    let text = std::fs::read_to_string(out.path().join("out/summary.json")).unwrap();
    let summary = serde_json::from_str(&text).unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), summary)
}

/// What is needed and what is enough in addition to a joint's torque error, N m.
fn additive(joint: &Value) -> [f64; 2] {
    ["additive_necessary_nm", "additive_sufficient_nm"].map(|key| joint[key].as_f64().unwrap())
}

/// The published bounds are refuted, the encoders' by the readings themselves. Returns how many times the encoders' are enough.
fn refuted_encoders(summary: &Value) -> f64 {
    let broken = summary["verdict"]["broken"].as_array().unwrap();
    let of = |kind: &str| {
        broken.iter().find(|b| b["assumption"] == kind).unwrap_or_else(|| panic!("{kind}: {broken:?}"))
    };
    let remedy = |kind: &str, bound: &str| {
        let all = of(kind)["remedies"].as_array().unwrap();
        let found = all.iter().find(|r| r["bound"] == bound).unwrap();
        ["at_least", "enough"].map(|key| found[key].as_f64().unwrap())
    };
    // The readings of the encoders contradict one another, whatever the torques are.
    let steps = &of("position_against_velocity")["steps"];
    // Every step between two samples that no gap parts is compared, those too for which the delay leaves no torque.
    let [some, all] = [0, 1].map(|k| steps[k].as_u64().unwrap());
    assert!(all == 3907 && (2050..=2120).contains(&some), "{steps}");
    let [least, enough] = remedy("torque", "sensors");
    assert!(1.0 < least && least <= enough && enough <= 40.001, "{least} {enough}");
    let encoders = remedy("position_against_velocity", "encoders")[1];
    let encoders = match broken.iter().any(|b| b["assumption"] == "velocity_against_acceleration") {
        true => encoders.max(remedy("velocity_against_acceleration", "velocity")[1]),
        false => encoders,
    };
    assert!(encoders > 100.0, "{encoders}");
    encoders
}

/// With the delay stated to be the one that was taken out, nothing of it is left to charge: what is needed and what is enough are then
/// within 2.5 % of one another, joint by joint. What is left otherwise is charged to both alike, for joint 7 all of it, and leaves the
/// gap as it was.
fn bounds_meet_where_the_delay_is_known(delay: f64, joints: &[Value]) {
    let (code, said, exact) = identify(&["--delay", &delay.to_string()]);
    assert_eq!(code, Some(4), "{said}");
    for (joint, exact) in joints.iter().zip(exact["joints"].as_array().unwrap()) {
        let ([least, enough], [alone, together]) = (additive(joint), additive(exact));
        let figures = format!("{}: {least}, {enough}; exact delay {alone}, {together}", joint["name"]);
        println!("{figures}");
        assert!(0.0 < alone && alone <= together && together <= 1.025 * alone, "{figures}");
        assert!(0.0 <= least && least <= enough && enough - least <= 0.02 * alone, "{figures}");
        assert!(least < alone && enough < together, "{figures}");
    }
}

/// With what is said to be enough granted, there is a set, and it lies within the prior.
fn there_is_a_set_within_enough(encoders: f64, joints: &[Value]) {
    let bounds: Vec<String> =
        joints.iter().map(|j| (1.05 * j["additive_sufficient_nm"].as_f64().unwrap()).to_string()).collect();
    // The robot's own bounds: 5e-6 rad and 5e-5 rad/s.
    let [position, velocity] = [5e-6, 5e-5].map(|bound: f64| (1.001 * encoders * bound).to_string());
    let more =
        ["--torque-abs", &bounds.join(","), "--position-error", &position, "--velocity-error", &velocity];
    let (mut code, mut said, mut summary) = identify(&more);
    // At some times joints 1, 5 and 6 feel what no parameters explain: the times are told. Once they and the next smaller ones are left out there is a set.
    assert!(code == Some(4) && said.contains("torque from outside"), "{said}");
    let mut without: Vec<String> = vec![];
    for _ in 0..6 {
        let refused = summary["conditional"]["refused"].as_str().unwrap();
        without.push(refused.split("--without ").nth(1).unwrap().split('`').next().unwrap().to_owned());
        (code, said, summary) = identify(&[&more[..], &["--without", &without.join(",")]].concat());
        if code == Some(0) {
            break;
        }
    }
    assert_eq!(code, Some(0), "{said}");
    for p in summary["parameters"].as_array().unwrap() {
        let [lower, upper] = [0, 1].map(|k| p["set"][k].as_f64().unwrap());
        assert!(lower <= upper && (p["prior"][0].as_f64().unwrap()) <= lower, "{p}");
    }
}
