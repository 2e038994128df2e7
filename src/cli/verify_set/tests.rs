//! Sets from recordings, found and proven again by the command-line functions: simulated logs are written, studied, tampered with.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::Parser;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::cli::{Cli, Command, identify, verify};
use crate::identify::polytope::Source;
use crate::identify::proof::{LogFile, ProofError, ProofStep, ProvenBound, check_recorded};
use crate::identify::tests::{Noise, PAYLOAD, arm, prior, recording, truth};
use crate::inertia::ParameterSet;
use crate::recording::Sample;

const PRIOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/priors/gen3_hand.toml");

/// Logs and what a study of them left in `found`.
struct Case {
    folder: TempDir,
    /// Exit code of the study.
    code: u8,
    /// The true parameters, all of them.
    theta: Vec<f64>,
}

impl Case {
    /// Studies logs of a folder; `arguments` come after the robot and the logs.
    fn new(folder: TempDir, theta: Vec<f64>, logs: &[&str], arguments: &[&str]) -> Self {
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let mut all = vec!["surelift".into(), "identify".into(), "--robot".into(), "kinova_gen3_2f85".into()];
        logs.iter().for_each(|log| all.extend(["--log".to_owned(), at(log)]));
        all.extend(["--out".to_owned(), at("found")]);
        all.extend(arguments.iter().map(|&a| a.to_owned()));
        let Command::Identify(args) = Cli::try_parse_from(all).unwrap().command else { panic!() };
        let code = identify::run(&args).unwrap();
        Self { folder, code, theta }
    }

    fn found(&self) -> PathBuf {
        self.folder.path().join("found")
    }

    fn proof(&self) -> SetProof {
        SetProof::load(self.found().join("set_proof.json")).unwrap()
    }

    fn logs(&self, proof: &SetProof) -> Vec<MeasurementLog> {
        let files = &proof.recorded.as_ref().unwrap().files;
        let read = |file: &LogFile| {
            MeasurementLog::read_topic(&file.path, &proof.robot, AngleUnit::Radians, file.topic.as_deref())
        };
        files.iter().map(|file| read(file).unwrap()).collect()
    }

    /// Copies the study elsewhere, changes one of its files and verifies it.
    fn tampered(&self, file: &str, change: impl FnOnce(&mut String), more: &[&str]) -> (u8, String) {
        let copy = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(self.found()).unwrap().flatten() {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        let path = copy.path().join(file);
        let mut text = std::fs::read_to_string(&path).unwrap();
        change(&mut text);
        std::fs::write(path, text).unwrap();
        said(copy.path(), more)
    }

    /// As [`Self::tampered`], one value of the proof.
    fn with(&self, pointer: &str, value: impl FnOnce(&Value) -> Value, more: &[&str]) -> (u8, String) {
        let change = |text: &mut String| {
            let mut proof: Value = serde_json::from_str(text).unwrap();
            let at = proof.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}"));
            *at = value(at);
            *text = proof.to_string();
        };
        self.tampered("set_proof.json", change, more)
    }

    fn refused(&self, pointer: &str, value: impl FnOnce(&Value) -> Value, word: &str) {
        let (code, said) = self.with(pointer, value, &[]);
        println!("{pointer}: {said}");
        assert!(code == 1 && said.contains("NOT PROVEN") && said.contains(word), "{pointer}: {said}");
    }
}

/// What `surelift verify --set` says, and its exit code.
fn said(path: &Path, more: &[&str]) -> (u8, String) {
    let all = ["surelift", "verify", "--set", path.to_str().unwrap()].into_iter().chain(more.iter().copied());
    let Command::Verify(args) = Cli::try_parse_from(all).unwrap().command else { panic!() };
    let expected = verify::expected(&args).unwrap();
    let prior = args.prior.as_deref();
    let asked = Asked { path, logs: &args.log, prior, expected: &expected };
    let (text, code) = answer(&asked).unwrap();
    (code, text)
}

fn smaller(factor: f64) -> impl FnOnce(&Value) -> Value {
    move |x| match x {
        Value::Array(all) => all.iter().map(|x| factor * x.as_f64().unwrap()).collect(),
        x => json!(factor * x.as_f64().unwrap()),
    }
}

/// A log as a CSV file.
fn table(samples: &[Sample]) -> String {
    let names = ["q", "dq", "tau"].iter().flat_map(|p| (1..=7).map(move |i| format!("{p}{i}")));
    let mut text = std::iter::once("t".to_owned()).chain(names).collect::<Vec<_>>().join(",");
    for s in samples {
        let values = std::iter::once(&s.t).chain(&s.q).chain(&s.dq).chain(&s.tau);
        text += &format!("\n{}", values.map(f64::to_string).collect::<Vec<_>>().join(","));
    }
    text + "\n"
}

/// A log as an MCAP file: joint states in JSON under the topic `/arm`.
fn bag(samples: &[Sample]) -> Vec<u8> {
    let robot = arm();
    let text = |s: &str| [&(s.len() as u32).to_le_bytes()[..], s.as_bytes()].concat();
    let mut file = b"\x89MCAP0\r\n".to_vec();
    let mut record = |kind: u8, contents: &[&[u8]]| {
        let contents = contents.concat();
        file.push(kind);
        file.extend((contents.len() as u64).to_le_bytes());
        file.extend(contents);
    };
    record(0x01, &[&text(""), &text("")]);
    record(0x03, &[&[1, 0], &text("sensor_msgs/msg/JointState"), &text("jsonschema"), &text("{}")]);
    record(0x04, &[&[1, 0], &[1, 0], &text("/arm"), &text("json"), &[0; 4]]);
    for s in samples {
        let ns = (1e9 * s.t).round() as u64;
        let stamp = json!({ "sec": ns / 1_000_000_000, "nanosec": ns % 1_000_000_000 });
        let names: Vec<&str> = robot.joints.iter().map(|joint| joint.name.as_str()).collect();
        let message = json!({ "header": { "stamp": stamp }, "name": names, "position": s.q, "velocity": s.dq, "effort": s.tau });
        let time = ns.to_le_bytes();
        record(0x05, &[&[1, 0], &[0; 4], &time, &time, message.to_string().as_bytes()]);
    }
    record(0x0f, &[&[0; 4]]);
    record(0x02, &[&[0; 20]]);
    file.extend(b"\x89MCAP0\r\n");
    file
}

/// A payload from two logs of a control loop, the first with a gap.
static PAYLOAD_CASE: LazyLock<Case> = LazyLock::new(|| {
    let (robot, mut rng) = (arm(), ChaCha8Rng::seed_from_u64(70));
    let theta = truth(&robot, &prior(&robot), &mut rng);
    let folder = tempfile::tempdir().unwrap();
    let mut largest = [0.0_f64; 7];
    for (name, seconds) in [("a.csv", 1.7), ("b.csv", 1.0)] {
        let (mut samples, acceleration) = recording(&robot, &theta, seconds, Noise::Corner, &mut rng);
        largest.iter_mut().zip(acceleration).for_each(|(l, a)| *l = l.max(a));
        if name == "a.csv" {
            samples.drain(730..790);
        }
        std::fs::write(folder.path().join(name), table(&samples)).unwrap();
    }
    let acceleration = largest.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let arguments =
        ["--unknown", "payload", "--prior", PRIOR, "--delay", "0", "--acceleration", &acceleration];
    Case::new(folder, theta, &["a.csv", "b.csv"], &arguments)
});

/// Torques of an empty hand that come 13 ms late, in a log of a control loop.
static LATE: LazyLock<Case> = LazyLock::new(|| {
    let (robot, mut rng) = (arm(), ChaCha8Rng::seed_from_u64(21));
    let theta = truth(&robot, &prior(&robot), &mut rng);
    let (samples, acceleration) = recording(&robot, &theta, 2.5, Noise::Uniform, &mut rng);
    let late = |k: usize| Sample { tau: samples[k - 13].tau.clone(), ..samples[k].clone() };
    let folder = tempfile::tempdir().unwrap();
    let moved: Vec<Sample> = (13..samples.len()).map(late).collect();
    std::fs::write(folder.path().join("late.csv"), table(&moved)).unwrap();
    let acceleration = acceleration.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let arguments = [
        &["--unknown", "payload", "--prior", PRIOR, "--delay", "fit", "--half", "20"][..],
        &["--acceleration", &acceleration],
    ];
    Case::new(folder, theta, &["late.csv"], &arguments.concat())
});

/// An empty hand at 100 Hz, with a hole; a disturbance (N m) on the fourth joint.
fn sparse(disturbance: f64) -> (Vec<Sample>, Vec<f64>) {
    let (robot, mut rng) = (arm(), ChaCha8Rng::seed_from_u64(2));
    let mut theta = truth(&robot, &ParameterSet::around_nominal(&robot), &mut rng);
    let hand = robot.body_range(robot.end_effector());
    theta[hand].copy_from_slice(&robot.joints[robot.end_effector()].inertia);
    let (mut samples, _) = recording(&robot, &theta, 4.0, Noise::Uniform, &mut rng);
    samples.iter_mut().for_each(|s| s.tau[3] += disturbance * (40.0 * s.t).sin().signum());
    (samples.into_iter().step_by(10).filter(|s| !(1.0..1.25).contains(&s.t)).collect(), theta)
}

/// Friction from an MCAP file at 100 Hz, with the torque error granted that sampling so seldom makes.
static BAG: LazyLock<Case> = LazyLock::new(|| {
    let (samples, theta) = sparse(0.0);
    let folder = tempfile::tempdir().unwrap();
    let (name, file) = if cfg!(feature = "mcap") {
        ("arm.mcap", bag(&samples))
    } else {
        ("arm.csv", table(&samples).into())
    };
    std::fs::write(folder.path().join(name), file).unwrap();
    let arguments = ["--unknown", "friction", "--topic", "/arm", "--torque-abs", "1", "--delay", "0"];
    Case::new(folder, theta, &[name], &arguments)
});

/// Friction under wider bounds than stated, which a disturbance refutes.
static CONDITIONAL: LazyLock<Case> = LazyLock::new(|| {
    let (mut samples, theta) = sparse(6.0);
    // And an angle that jumps in the first third.
    samples[60..].iter_mut().for_each(|s| s.q[3] += 2e-4);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pushed.csv"), table(&samples)).unwrap();
    Case::new(folder, theta, &["pushed.csv"], &["--unknown", "friction"])
});

#[test]
fn another_process_proves_what_identify_prints() {
    let loop_of_control =
        ["2 log(s)", "bracelet_link m in [", "a.csv has every tick", "as stated", "gravity within 0.2"];
    proven_by_another(&PAYLOAD_CASE, 0, &loop_of_control);
    assert_eq!(PAYLOAD_CASE.theta[60..70], PAYLOAD);
    assert!(PAYLOAD_CASE.logs(&PAYLOAD_CASE.proof())[0].segments.len() == 2);
}

/// Of torques that are late, of a bag, and under wider bounds than stated.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn another_process_proves_what_identify_prints_at_length() {
    proven_by_another(&LATE, 0, &["torques late by a constant time between", "as found in the logs"]);
    let bag = ["joint_1 Coulomb in [", "has stamps of its own", "1.0000 N m more", "1.5 times the largest"];
    proven_by_another(&BAG, 0, &bag);
    let wider = ["wider bounds than stated", "2 times what the first two thirds", "common gain"];
    proven_by_another(&CONDITIONAL, 4, &wider);
}

/// The study ended with this code; its set is proven from its files with these words, and is what its summary says.
fn proven_by_another(case: &Case, code: u8, words: &[&str]) {
    assert_eq!(case.code, code);
    let (code, said) = said(&case.found(), &[]);
    println!("{said}");
    assert_eq!(code, 0, "{said}");
    for word in [": proven in", "believed, not proven", "the robot 'kinova_gen3"].iter().chain(words) {
        assert!(said.contains(word), "`{word}` not in {said}");
    }
    let proof = case.proof();
    let logs = case.logs(&proof);
    let checked = check_recorded(&proof, &logs).unwrap();
    let bytes = std::fs::metadata(case.found().join("set_proof.json")).unwrap().len();
    println!("{bytes} bytes, {} bounds, {} rows", checked.bounds, checked.rows);
    assert!(checked.bounds >= 10 && checked.rows >= 10);
    // Something was learnt, and the truth is inside.
    let unknown = proof.recorded.as_ref().unwrap().unknown.indices(&proof.robot);
    for &j in &unknown {
        let (x, set) = (case.theta[j], &checked.set);
        assert!(set.lower()[j] <= x && x <= set.upper()[j], "parameter {j}");
    }
    let narrowed = |&&j: &&usize| {
        let width = |set: &ParameterSet| set.upper()[j] - set.lower()[j];
        width(&checked.set) < 0.9 * width(&proof.prior)
    };
    assert!(unknown.iter().filter(narrowed).count() >= 7);
    // It is the set of the summary, every number of it.
    let text = std::fs::read_to_string(case.found().join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    for (k, &j) in unknown.iter().enumerate() {
        let set = &summary["parameters"][k]["set"];
        assert_eq!(
            (set[0].as_f64(), set[1].as_f64()),
            (Some(checked.set.lower()[j]), Some(checked.set.upper()[j]))
        );
    }
}

#[test]
fn ones_own_files_are_compared_with_the_set() {
    let own = ["--robot", "kinova_gen3_2f85", "--prior", PRIOR];
    let (code, said_own) = said(&PAYLOAD_CASE.found(), &own);
    assert!(code == 0 && !said_own.contains("compares"), "{said_own}");
    // Another robot, and a prior that reaches farther.
    let (code, other) = said(&PAYLOAD_CASE.found(), &["--robot", "kinova_gen3"]);
    assert!(code == 1 && other.contains("NOT PROVEN: robot."), "{other}");
    let wide = std::fs::read_to_string(PRIOR).unwrap().replacen("upper = [5.2,", "upper = [5.3,", 1);
    let path = PAYLOAD_CASE.folder.path().join("wide.toml");
    std::fs::write(&path, wide).unwrap();
    let (code, wide) = said(&PAYLOAD_CASE.found(), &["--prior", path.to_str().unwrap()]);
    assert!(
        code == 1 && wide.contains("bracelet_link m in [1.2, 5.2], expected at least [1.2, 5.3]"),
        "{wide}"
    );
    // Encoders that err less than one's own file says are another robot's; larger errors claim less.
    let robot = |proof: &SetProof, factor: f64| {
        let mut own = proof.robot.clone();
        own.stated().sensors.velocity_rad_s *= factor;
        held_against(proof, &Expected { robot: Some(own), task: None })
    };
    let proof = PAYLOAD_CASE.proof();
    assert!(robot(&proof, 1.01)[0].contains("velocity_rad_s"));
    assert_eq!(robot(&proof, 0.99), Vec::<String>::new());
    // A prior that was narrowed in the file, where no row shows it.
    let narrowed = |x: &Value| json!(x.as_f64().unwrap() + 1e-3);
    let (code, narrow) = PAYLOAD_CASE.with("/prior/lower/0", narrowed, &own);
    assert!(code == 1 && narrow.contains("expected at least"), "{narrow}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_log_that_was_changed_in_one_number_is_refused_at_length() {
    let case = &PAYLOAD_CASE;
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let (from, to) = (case.folder.path().join(name), elsewhere.path().join(name));
        std::fs::copy(from, &to).unwrap();
        to
    };
    let (a, b) = (copy("a.csv"), copy("b.csv"));
    let given = |a: &Path, b: &Path| {
        said(&case.found(), &["--log", a.to_str().unwrap(), "--log", b.to_str().unwrap()])
    };
    // In any order.
    assert_eq!(given(&a, &b).0, 0);
    assert_eq!(given(&b, &a).0, 0);
    assert_eq!(given(&a, &a).0, 1);
    // The last digit of one torque.
    let text = std::fs::read_to_string(&b).unwrap();
    let end = text.len() - 1;
    let digit = if text.ends_with('1') { "2" } else { "1" };
    std::fs::write(&b, format!("{}{digit}", &text[..end])).unwrap();
    let (code, changed) = given(&a, &b);
    assert!(code == 1 && changed.contains("b.csv (") && changed.contains("is not the log"), "{changed}");
    // Beside the proof a log counts before the one where it was.
    for name in ["a.csv", "b.csv"] {
        let (code, _) = case.tampered("summary.json", |_| (), &[]);
        assert_eq!(code, 0);
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(case.found().join("set_proof.json"), copy.path().join("set_proof.json")).unwrap();
        std::fs::write(copy.path().join(name), "t").unwrap();
        assert_eq!(said(copy.path(), &[]).0, 0, "the log where it was is the one");
    }
}

/// Whoever changes a reading may change the hash as well.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_log_that_was_changed_with_its_hash_is_refused_at_length() {
    let case = &PAYLOAD_CASE;
    let proof = case.proof();
    let logs = case.logs(&proof);
    let Some(ProofStep::Update { bounds, .. }) = proof.steps.last() else { panic!() };
    let mut tried = 0;
    // Of each bound one that its heaviest row rests on.
    for bound in bounds {
        let terms = bound.by.rows.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let Some((row, _)) = terms else { continue };
        let Source::Recorded([number]) = proof.rows[*row as usize] else { panic!() };
        // Seven windows before the gap, nine after it, ten of the second log; seven joints each.
        let (window, joint) = (number as usize / 7, number as usize % 7);
        let (log, tick) = match window {
            0..7 => (0, 100 * window),
            7..16 => (0, 730 + 100 * (window - 7)),
            _ => (1, 100 * (window - 16)),
        };
        for sign in [-1.0, 1.0] {
            let mut changed = logs.clone();
            changed[log].samples[tick + 40].tau[joint] += sign * 1e-3;
            assert!(check_recorded(&proof, &changed).is_err(), "window {window}, joint {joint}");
        }
        tried += 1;
    }
    assert!(tried > 2, "{tried}");
    let mut jump = logs.clone();
    jump[0].samples[400].q[2] += 1e-3;
    let error = check_recorded(&proof, &jump).unwrap_err();
    assert!(matches!(&error, ProofError::Contradicted(what) if what.contains("joint_3")), "{error}");
    // Neither is taken for the proof of a run.
    assert!(check(&proof, &logs[0].samples).unwrap_err().to_string().contains("recordings"));
    let bare = SetProof { recorded: None, ..proof.clone() };
    assert!(check(&bare, &logs[0].samples).is_err() && check_recorded(&bare, &logs).is_err());
    let mut missing = logs;
    missing.pop();
    assert!(check_recorded(&proof, &missing).unwrap_err().to_string().contains("1 recordings, expected 2"));
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn bounds_and_multipliers_that_were_changed_are_named_at_length() {
    for case in [&PAYLOAD_CASE, &CONDITIONAL] {
        let proof = case.proof();
        let logs = case.logs(&proof);
        let bounds = |step: &mut ProofStep| match step {
            ProofStep::Physics { bounds } | ProofStep::Update { bounds, .. } => std::mem::take(bounds),
            ProofStep::Strips { .. } => panic!("strips"),
        };
        let (mut tried, mut leaned) = (0, 0);
        for step in 0..proof.steps.len() {
            let own = bounds(&mut proof.steps[step].clone());
            for k in (0..own.len()).step_by(3) {
                let with = |change: &dyn Fn(&mut ProvenBound)| {
                    let mut changed = proof.clone();
                    let mut all = own.clone();
                    change(&mut all[k]);
                    match &mut changed.steps[step] {
                        ProofStep::Physics { bounds } | ProofStep::Update { bounds, .. } => *bounds = all,
                        ProofStep::Strips { .. } => unreachable!(),
                    }
                    check_recorded(&changed, &logs)
                };
                let inward = 1e-6 * own[k].value.abs().max(1e-3) * if own[k].upper { -1.0 } else { 1.0 };
                let error = with(&|bound| bound.value += inward).unwrap_err();
                let ProofError::NotProven { step: at, what, .. } = &error else { panic!("{error}") };
                let name = format!("bound of parameter {}", own[k].parameter);
                assert!(*at == step && what.contains(&name), "{error}");
                // Outward nothing false is claimed, but it is not what was found.
                assert!(with(&|bound| bound.value -= inward).is_err());
                tried += 1;
                let terms = &own[k].by.rows;
                let heaviest =
                    (0..terms.len()).max_by(|&a, &b| terms[a].1.abs().total_cmp(&terms[b].1.abs()));
                if let Some(heaviest) = heaviest {
                    assert!(with(&|bound| bound.by.rows[heaviest].1 *= 1.001).is_err());
                    assert!(with(&|bound| bound.by.rows[heaviest].0 = u32::MAX).is_err());
                    leaned += 1;
                }
            }
        }
        println!("{tried} bounds, {leaned} by rows");
        assert!(tried > 5 && leaned > 3);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn what_a_set_rests_on_cannot_be_made_smaller_at_length() {
    let case = &PAYLOAD_CASE;
    for sensor in ["position_rad", "velocity_rad_s", "torque_ratio"] {
        case.refused(&format!("/robot/sensors/{sensor}"), smaller(0.99), "");
    }
    case.refused("/robot/uncertainty/gravity_direction_deg", smaller(0.99), "found under something else");
    case.refused("/robot/joints/2/placement/translation/1", smaller(1.0001), "");
    case.refused("/robot/gravity/2", smaller(1.0001), "");
    case.refused("/recorded/acceleration_bound", smaller(0.99), "");
    case.refused("/recorded/window_s", smaller(0.5), "");
    case.refused("/recorded/clocks/1", |_| json!("recorded"), "recording 1");
    case.refused("/recorded/clocks", |_| json!(["control"]), "2 recordings, expected 1");
    case.refused("/recorded/delay_s", |_| json!([0.0, 0.01]), "");
    case.refused("/recorded/delay_s", |_| json!([0.01, 0.0]), "recorded.delay_s");
    case.refused("/recorded/unknown", |_| json!("friction"), "which nothing proves");
    case.refused("/recorded/files/0/sha256", |_| json!("00"), "a.csv");
    case.refused("/rows/0", |_| json!([100_000]), "rows");
    case.refused("/rows/0", |_| json!([0, 0, 100, 1]), "rows");
    case.refused("/prior/lower/62", |x| json!(x.as_f64().unwrap() + 0.1), "");
    let narrow = |x: &Value| json!(x.as_f64().unwrap() * 0.999_999);
    case.refused("/steps/1/update/bounds/0/value", narrow, "");

    for [low, high] in [[0.3, 0.7], [0.0, 0.9], [0.1, 1.0], [0.5, 0.5]] {
        let part = |x: &Value| {
            let [a, b] = [0, 1].map(|k| x[k].as_f64().unwrap());
            json!([a + low * (b - a), a + high * (b - a)])
        };
        LATE.refused("/recorded/delay_s", part, "");
    }
    BAG.refused("/recorded/torque_abs_nm", smaller(0.99), "found under something else");
    BAG.refused("/recorded/torque_abs_nm", |_| json!([1.0]), "recorded.torque_abs_nm");
    BAG.refused("/recorded/clocks/0", |_| json!("control"), "recording 0");
    CONDITIONAL.refused("/recorded/wider/position_rad", smaller(0.99), "motion in the first part");
    CONDITIONAL.refused("/recorded/wider/velocity_rad_s", smaller(0.99), "none below the stated bound");
    CONDITIONAL.refused("/recorded/wider/torque_nm", smaller(0.99), "found under something else");
    CONDITIONAL.refused("/recorded/wider/margin", smaller(0.4), "margin of at least 1");
    CONDITIONAL.refused("/recorded/wider", |_| json!(null), "");
}

#[test]
fn what_is_printed_beside_the_proof_is_compared_with_it() {
    let inward = |text: &mut String| {
        let mut summary: Value = serde_json::from_str(text).unwrap();
        let at = &mut summary["parameters"][0]["set"][1];
        *at = json!(at.as_f64().unwrap().next_down());
        *text = summary.to_string();
    };
    let (code, said) = PAYLOAD_CASE.tampered("summary.json", inward, &[]);
    assert!(code == 1 && said.contains("summary.json: bracelet_link m in ["), "{said}");
    let history = |text: &mut String| {
        let mut summary: Value = serde_json::from_str(text).unwrap();
        let at = &mut summary["history"][1]["lower"][2];
        *at = json!(at.as_f64().unwrap() + 1e-9);
        *text = summary.to_string();
    };
    let (code, said) = PAYLOAD_CASE.tampered("summary.json", history, &[]);
    assert!(code == 1 && said.contains("history[1]: bracelet_link m c_y"), "{said}");
    let table = |text: &mut String| *text = text.replacen("bracelet_link m c_z", "bracelet_link m c_y", 1);
    let (code, said) = PAYLOAD_CASE.tampered("parameters.csv", table, &[]);
    assert!(code == 1 && said.contains("parameters.csv: bracelet_link m c_y"), "{said}");
    let table = |text: &mut String| *text = text.replacen("bracelet_link m,", "joint_1 Coulomb,", 1);
    let (code, said) = PAYLOAD_CASE.tampered("parameters.csv", table, &[]);
    assert!(
        code == 1 && said.contains("joint_1 Coulomb in") && said.contains("which nothing proves"),
        "{said}"
    );
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn what_is_printed_of_wider_bounds_is_compared_too_at_length() {
    let refuted = |text: &mut String| *text = text.replacen("\"refuted\"", "\"consistent\"", 1);
    let (code, said) = CONDITIONAL.tampered("summary.json", refuted, &[]);
    assert!(code == 1 && said.contains("whether the stated bounds are refuted"), "{said}");
}

#[test]
fn without_a_set_there_is_nothing_to_prove() {
    // A jump of an angle in the last third: the first two need nothing wider, and the last contradicts it.
    let (mut samples, theta) = sparse(0.0);
    let first = samples.len() * 9 / 10;
    samples[first..].iter_mut().for_each(|s| s.q[3] += 0.05);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jump.csv"), table(&samples)).unwrap();
    // An earlier study's proof is no longer there afterwards.
    std::fs::create_dir(folder.path().join("found")).unwrap();
    std::fs::write(folder.path().join("found/set_proof.json"), "{}").unwrap();
    let case = Case::new(folder, theta, &["jump.csv"], &["--unknown", "friction", "--torque-abs", "1"]);
    assert_eq!(case.code, 4);
    assert!(!case.found().join("set_proof.json").exists());
    for path in [case.found(), case.found().join("set_proof.json")] {
        let (code, said) = said(&path, &[]);
        assert!(code == 1 && said.contains("the study shows no set") && said.contains("held out"), "{said}");
    }
    // A proof that was lost is another matter, and so is a folder of nothing.
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(BAG.found().join("summary.json"), copy.path().join("summary.json")).unwrap();
    let (code, said) = said(copy.path(), &[]);
    assert!(code == 1 && said.contains("the file that proves it is missing"), "{said}");
    let empty = tempfile::tempdir().unwrap();
    let expected = Expected::default();
    let asked = Asked { path: empty.path(), logs: &[], prior: None, expected: &expected };
    assert_eq!(answer(&asked).unwrap_err().code(), 2);
    // A log that is nowhere is named.
    std::fs::copy(BAG.found().join("set_proof.json"), empty.path().join("set_proof.json")).unwrap();
    let lost = |text: &str| text.replace("arm.", "lost.");
    let text = std::fs::read_to_string(empty.path().join("set_proof.json")).unwrap();
    std::fs::write(empty.path().join("set_proof.json"), lost(&text)).unwrap();
    let Err(Failure::Input(reason)) = answer(&asked) else { panic!("the log is there") };
    assert!(reason.contains("lost.") && reason.contains("--log"), "{reason}");
}
