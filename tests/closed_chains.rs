//! The promise: `surelift excite` finds motions for a robot with closed chains; recordings of them go into `surelift identify`, which predicts torques
//! that it has not seen. Bad input is exit code 2 with the culprit named, and nothing is written.
#![cfg(feature = "cli")]

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use surelift::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics};
use surelift::robot::{configuration, load_model};

const NOISE_NM: f64 = 0.1;

fn surelift(folder: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap()
}

/// What a robot with twice the friction and links a tenth heavier would need for a motion, with noise: a recording of its motors.
fn record(motion: &Path, to: &Path, seed: u64) {
    let robot = load_model("digit").unwrap().with_base_held();
    let domain = ClosureDomain::of(&robot).unwrap();
    let mut reduced = ReducedDynamics::of_loops(&robot).unwrap();
    let mut theta = robot.nominal_parameters();
    theta[..10 * robot.bodies()].iter_mut().for_each(|x| *x *= 1.1);
    theta[10 * robot.bodies()..].iter_mut().for_each(|x| *x *= 2.0);
    let motors = reduced.independent().to_vec();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let names = |name: &'static str| (1..=motors.len()).map(move |j| format!("{name}{j}"));
    let heading: Vec<String> = names("q").chain(names("dq")).chain(names("tau")).collect();
    let mut text = format!("t,{}\n", heading.join(","));
    for line in std::fs::read_to_string(motion).unwrap().lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
        let part = |k: usize| &numbers[1 + k * motors.len()..1 + (k + 1) * motors.len()];
        let mut q = configuration::neutral(&robot);
        motors.iter().zip(part(0)).for_each(|(&k, x)| q[k] = *x);
        domain.place(&robot, &mut q).unwrap();
        reduced.close(&robot, &mut q).unwrap();
        reduced.place(&robot, &q, part(1), part(2)).unwrap();
        let torque = reduced.torque(&robot, &theta).unwrap();
        write!(text, "{}", numbers[0]).unwrap();
        part(0).iter().chain(part(1)).for_each(|x| write!(text, ",{x}").unwrap());
        torque.iter().for_each(|u| {
            let noise = 3f64.sqrt() * NOISE_NM * rng.random_range(-1.0..1.0);
            write!(text, ",{}", u + noise).unwrap();
        });
        text.push('\n');
    }
    std::fs::write(to, text).unwrap();
}

/// The posture and the torques of a recording's first line all the time, these with some noise.
fn stand(from: &Path, to: &Path, noise_nm: f64) {
    let text = std::fs::read_to_string(from).unwrap();
    let mut lines = text.lines();
    let heading = lines.next().unwrap();
    let first: Vec<f64> = lines.next().unwrap().split(',').map(|x| x.parse().unwrap()).collect();
    let (motors, mut rng) = ((first.len() - 1) / 3, ChaCha8Rng::seed_from_u64(9));
    let mut text = format!("{heading}\n");
    for k in 0..200 {
        write!(text, "{}", 0.01 * f64::from(k)).unwrap();
        for (i, x) in first.iter().enumerate().skip(1) {
            let noise = if i > 2 * motors { noise_nm * rng.random_range(-1.0..1.0) } else { 0.0 };
            write!(text, ",{}", x + noise).unwrap();
        }
        text.push('\n');
    }
    std::fs::write(to, text).unwrap();
}

/// Which links of a Digit were kept apart is told, on the terminal and in the file.
fn links_are_kept_apart(folder: &Path, said: &str) {
    assert!(said.contains("of 378 pairs") && said.contains("`left tarsus` and `left foot`"), "{said}");
    let motions: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("motions/summary.json")).unwrap()).unwrap();
    let links = &motions["self_collision"];
    assert!(links["pairs"] == 378 && links["nearest"][0].as_f64().unwrap() >= 0.01, "{links}");
    assert_eq!(links["overlap_at_start"].as_array().unwrap().len(), 14);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn motions_are_found_recorded_and_learnt_from_at_length() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let found = surelift(folder, "excite digit --motions 3 --evaluations 20 --out motions");
    assert_eq!(found.status.code(), Some(0), "{}", String::from_utf8_lossy(&found.stderr));
    assert!(std::fs::read_to_string(folder.join("motions/report.html")).unwrap().contains("<svg"));
    links_are_kept_apart(folder, &String::from_utf8_lossy(&found.stdout));
    for (k, name) in ["a.csv", "b.csv", "c.csv"].iter().enumerate() {
        record(&folder.join(format!("motions/motion_{}.csv", k + 1)), &folder.join(name), k as u64);
    }
    let learn = "identify --robot digit --log a.csv --log b.csv --validate c.csv --unknown everything --butterworth 25 --out found";
    let learnt = surelift(folder, learn);
    let said = String::from_utf8_lossy(&learnt.stdout).into_owned();
    assert_eq!(learnt.status.code(), Some(0), "{}", String::from_utf8_lossy(&learnt.stderr));
    assert!(said.contains("base") || said.contains("told apart"), "{said}");
    let summary: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("found/summary.json")).unwrap()).unwrap();
    // A limb of which some motor is predicted worse with learnt links, by more than chance, is told a mixture with the files' links.
    let mut whole = 0;
    for limb in summary["limbs"].as_array().unwrap() {
        let learnt = limb["belief"]["learnt_share"].as_f64().unwrap();
        assert!(learnt >= 0.5, "{limb}");
        whole += usize::from(learnt == 1.0);
        for motor in limb["motors"].as_array().unwrap() {
            let number = |key: &str| motor[key].as_f64().unwrap();
            let most = if learnt < 1.0 { 3.0 } else { 1.5 };
            assert!(number("validation_rms_nm") < most * NOISE_NM, "{motor}");
            assert!(number("validation_rms_nm") < 0.5 * number("validation_model_rms_nm"), "{motor}");
        }
    }
    assert!(whole >= 3, "{whole} of four limbs are told whole");
    // The exponents of friction besides: nothing for the robot's files comes of them.
    let bent = surelift(folder, &learn.replace("--out found", "--friction-exponent --out bent"));
    let said = String::from_utf8_lossy(&bent.stdout).into_owned();
    assert_eq!(bent.status.code(), Some(0), "{}", String::from_utf8_lossy(&bent.stderr));
    assert!(said.contains("exponents of viscous friction: left_hip_roll 1"), "{said}");
    assert!(folder.join("bent/report.html").is_file() && !folder.join("bent/robot_lines.toml").exists());
    assert!(folder.join("found/robot_lines.toml").is_file());
    // A recording in which nothing moves: what it cannot tell, and what helps.
    stand(&folder.join("a.csv"), &folder.join("still.csv"), NOISE_NM);
    let still = surelift(folder, "identify --robot digit --log still.csv --unknown everything --out still");
    let said = String::from_utf8_lossy(&still.stdout).into_owned();
    assert_eq!(still.status.code(), Some(0), "{}", String::from_utf8_lossy(&still.stderr));
    assert_eq!(said.matches("stood still in all recordings").count(), 4, "{said}");
    assert!(said.contains("`surelift excite` finds motions"), "{said}");
    // Without noise there is nothing to weigh samples by.
    stand(&folder.join("a.csv"), &folder.join("constant.csv"), 0.0);
    let constant =
        surelift(folder, "identify --robot digit --log constant.csv --unknown everything --out constant");
    let said = String::from_utf8_lossy(&constant.stderr).into_owned();
    assert_eq!(constant.status.code(), Some(2), "{said}");
    assert!(said.contains("expected recordings in which the motors move"), "{said}");
    for file in ["motors.csv", "parameters.csv", "base_parameters.csv", "report.html"] {
        assert!(folder.join("found").join(file).is_file(), "{file}");
    }
}

/// Legs whose loops are closed with bent knees: motions that tell at least five times more than random ones.
#[test]
fn legs_with_four_bars_are_excited() {
    let folder = tempfile::tempdir().unwrap();
    for leg in ["b1_leg", "series_leg"] {
        let found = surelift(folder.path(), &format!("excite {leg} --out {leg}"));
        assert_eq!(found.status.code(), Some(0), "{}", String::from_utf8_lossy(&found.stderr));
        let said = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(said.contains("not looked at: the robot's file has no capsules"), "{said}");
        let text = std::fs::read_to_string(folder.path().join(leg).join("summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&text).unwrap();
        let number = |key: &str| summary["limbs"][0][key].as_f64().unwrap();
        assert!(5.0 * number("condition_number") < number("random_condition_number"), "{leg}: {summary}");
        assert!(number("least_singular_value") >= 0.01);
    }
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Nobody says where its loop is closed: at zero its calf is beyond its limits.
    let open = "extends = \"b1_leg\"\n[[loop]]\nname = \"four_bar\"\nframe_a = \"rod_end\"\nframe_b = \"calf_lever\"\nkind = \"point\"\n";
    std::fs::write(folder.join("open.toml"), open).unwrap();
    std::fs::write(folder.join("few.csv"), "t,q1,dq1,tau1\n0,0,0,0\n0.1,0,0,0\n").unwrap();
    for (arguments, culprit) in [
        ("excite no_such_robot --out out", "no_such_robot"),
        ("excite digit --duration 0 --out out", "duration"),
        ("excite open.toml --out out", "closed_at"),
        ("excite digit --motions 0 --out out", "--motions"),
        ("excite digit --clearance-m=-0.01 --out out", "the clearance"),
        ("excite digit --clearance-m nan --out out", "the clearance"),
        ("excite digit --clearance-m 0.1 --out out", "apart where motions begin"),
        ("excite digit --least-singular-value 1 --out out", "keep the limits"),
        ("identify --robot digit --log few.csv --out out", "few.csv"),
        ("identify --robot digit --log few.csv --unknown payload --out out", "--unknown"),
        ("identify --robot digit --log few.csv --torque-abs 1 --out out", "--torque-abs"),
        ("identify --robot digit --log few.csv --passive-error=-1 --out out", "--passive-error"),
        ("identify --robot digit --log none.csv --unknown links --out out", "none.csv"),
        (
            "identify --robot digit --log few.csv --unknown links --friction-exponent --out out",
            "--friction-exponent",
        ),
        ("identify --robot kinova_gen3 --log few.csv --friction-exponent --out out", "--friction-exponent"),
        ("identify --robot kinova_gen3 --log few.csv --guaranteed --out out", "--guaranteed"),
        ("identify --robot digit --log few.csv --guaranteed --out out", "--position-error"),
        ("identify --robot digit --log few.csv --guaranteed --unknown links --out out", "--unknown friction"),
        ("identify --robot digit --log few.csv --unmodelled 1 --out out", "--guaranteed"),
        (
            "identify --robot digit --log few.csv --guaranteed --position-error 1e-4 --velocity-error 1e-3 --torque-abs 1 --out out",
            "--acceleration",
        ),
    ] {
        let output = surelift(folder, arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {text}");
        assert!(text.contains(culprit) && !text.contains("panicked"), "{arguments}: {text}");
        assert!(!folder.join("out").exists(), "{arguments}");
    }
}
