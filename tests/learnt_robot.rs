//! `surelift identify` leaves files that load as they stand: lines of a robot TOML, and a learnt arm whose torques are the recorded ones.
#![cfg(feature = "cli")]

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use surelift::dynamics::Workspace;
use surelift::inertia::INERTIAL;
use surelift::robot::{self, Model};

/// Torques with friction and armature as a recording has them.
fn torques(robot: &Model, theta: &[f64], q: &[f64], dq: &[f64], ddq: &[f64]) -> Vec<f64> {
    let mut tau = vec![0.0; robot.nv()];
    let mut links = theta.to_vec();
    links[INERTIAL * robot.bodies()..].fill(0.0);
    Workspace::new(robot).inverse_dynamics(robot, q, dq, ddq, &links, &mut tau);
    for j in 0..robot.nv() {
        let own = robot.joint_parameters(theta, j);
        tau[j] += own.coulomb * dq[j].signum() + own.viscous * dq[j] + own.armature * ddq[j] + own.offset;
    }
    tau
}

/// An arm that is not as its files say: links up to a fifth heavier or lighter, friction of its own.
fn truth(robot: &Model) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let mut theta = robot.nominal_parameters();
    for body in theta[..INERTIAL * robot.bodies()].chunks_mut(INERTIAL) {
        let factor = rng.random_range(0.8..1.2);
        body.iter_mut().for_each(|x| *x *= factor);
    }
    for j in 0..robot.nv() {
        let at = robot.joint_index(j);
        theta[at.coulomb] = rng.random_range(0.5..2.0);
        theta[at.viscous] = rng.random_range(0.2..1.0);
        theta[at.armature] = rng.random_range(0.1..0.3);
        theta[at.offset] = rng.random_range(-0.3..0.3);
    }
    theta
}

/// Positions, velocities and accelerations of a motion.
fn motion(n: usize, seed: f64, t: f64) -> [Vec<f64>; 3] {
    let wave = |j: usize, k: usize| {
        let (j, k) = (j as f64, k as f64);
        (0.45 - 0.05 * k, (0.8 + 0.9 * k) * (1.0 + 0.11 * j), seed + 1.7 * j + 0.9 * k)
    };
    let sum = |f: &dyn Fn(f64, f64, f64) -> f64| -> Vec<f64> {
        let one = |j: usize| (0..3).map(|k| wave(j, k)).map(|(a, w, p)| f(a, w, w * t + p)).sum();
        (0..n).map(one).collect()
    };
    [sum(&|a, _, x| a * x.sin()), sum(&|a, w, x| a * w * x.cos()), sum(&|a, w, x| -a * w * w * x.sin())]
}

/// So many samples, 10 ms apart.
fn recording(robot: &Model, theta: &[f64], (count, seed): (u32, f64)) -> String {
    let n = robot.nv();
    let mut rng = ChaCha8Rng::seed_from_u64(seed.to_bits());
    let names = ["q", "dq", "tau"].iter().flat_map(|name| (1..=n).map(move |j| format!("{name}{j}")));
    let mut text = std::iter::once("t".to_owned()).chain(names).collect::<Vec<_>>().join(",") + "\n";
    for k in 0..count {
        let t = 0.01 * f64::from(k);
        let [q, dq, ddq] = motion(n, seed, t);
        let mut tau = torques(robot, theta, &q, &dq, &ddq);
        tau.iter_mut().for_each(|x| *x += rng.random_range(-0.1..0.1));
        let _ = write!(text, "{t}");
        [q, dq, tau].iter().flatten().for_each(|x| write!(text, ",{x}").unwrap());
        text.push('\n');
    }
    text
}

fn identify(folder: &Path, more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args([
            "identify",
            "--robot",
            "kinova_gen3",
            "--log",
            "a.csv",
            "--validate",
            "b.csv",
            "--out",
            "found",
        ])
        .args(more)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_learnt_arm_loads_and_has_the_torques_of_the_recording() {
    let robot = robot::load_model("kinova_gen3").unwrap();
    let theta = truth(&robot);
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in [("a.csv", 0.2), ("b.csv", 4.1)] {
        std::fs::write(folder.path().join(name), recording(&robot, &theta, (1200, seed))).unwrap();
    }
    identify(folder.path(), &["--unknown", "links"]);
    let learnt = folder.path().join("found/learnt.toml");
    let arm = robot::load(&learnt).unwrap();
    let before = robot::load("kinova_gen3").unwrap();
    assert_eq!((arm.sensors(), arm.gains()), (before.sensors(), before.gains()));
    assert_eq!((arm.shapes().len(), arm.ignored_pairs()), (before.shapes().len(), before.ignored_pairs()));
    let model = arm.model();
    // On a motion that was neither learnt from nor checked on.
    let (mut errors, mut size, mut nominal) = (0.0, 0.0, 0.0);
    for k in 0..500 {
        let [q, dq, ddq] = motion(robot.nv(), 2.3, 0.05 * f64::from(k));
        let exact = torques(&robot, &theta, &q, &dq, &ddq);
        let own = torques(model, &model.nominal_parameters(), &q, &dq, &ddq);
        let old = torques(&robot, &robot.nominal_parameters(), &q, &dq, &ddq);
        for j in 0..robot.nv() {
            errors += (own[j] - exact[j]).powi(2);
            nominal += (old[j] - exact[j]).powi(2);
            size += exact[j].powi(2);
        }
    }
    println!(
        "errors {:.4} of the torques, {:.4} by the files",
        (errors / size).sqrt(),
        (nominal / size).sqrt()
    );
    assert!(errors < 1e-4 * size && errors < 0.01 * nominal, "{errors} {nominal} {size}");
    // What the study says of its own prediction is what the files predict.
    let summary = std::fs::read_to_string(folder.path().join("found/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let motors = summary["limbs"][0]["motors"].as_array().unwrap();
    for motor in motors {
        assert!(motor["validation_rms_nm"].as_f64().unwrap() < 0.12, "{motor}");
    }
    // The lines beside it load, too, and hold the same friction.
    let lines = robot::load(folder.path().join("found/robot_lines.toml")).unwrap();
    for j in 0..robot.nv() {
        assert_eq!(lines.joints[j].friction, arm.joints[j].friction);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn lines_of_friction_load_as_they_stand_and_below_another_file_at_length() {
    let robot = robot::load_model("kinova_gen3").unwrap();
    let mut theta = truth(&robot);
    let links = INERTIAL * robot.bodies();
    theta[..links].copy_from_slice(&robot.nominal_parameters()[..links]);
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in [("a.csv", 0.2), ("b.csv", 4.1)] {
        std::fs::write(folder.path().join(name), recording(&robot, &theta, (2000, seed))).unwrap();
    }
    for more in [&["--torque-abs", "0.4"][..], &["--acceleration", "9"]] {
        identify(folder.path(), more);
        let path = folder.path().join("found/robot_lines.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        for words in
            ["# Made by `surelift identify", "# Learnt from a.csv", "late against the motion", "Leaves", "# "]
        {
            assert!(text.contains(words), "`{words}` is missing in: {text}");
        }
        let arm = robot::load(&path).unwrap();
        for (j, joint) in arm.joints.iter().enumerate() {
            let exact = robot.joint_parameters(&theta, j);
            assert!((joint.friction.coulomb - exact.coulomb).abs() < 0.1, "{:?} {exact:?}", joint.friction);
            assert!(
                (joint.friction.armature - exact.armature).abs() < 0.05,
                "{:?} {exact:?}",
                joint.friction
            );
        }
        // Another file may take them up and say more.
        let own = folder.path().join("own.toml");
        std::fs::write(
            &own,
            "extends = \"found/robot_lines.toml\"\nname = \"own\"\n[sensors]\nposition_rad = 2e-5\n",
        )
        .unwrap();
        let extended = robot::load(&own).unwrap();
        assert_eq!(extended.joints[3].friction, arm.joints[3].friction);
        assert_eq!((extended.drive(2), extended.sensors().position_rad), (arm.drive(2), 2e-5));
    }
}
