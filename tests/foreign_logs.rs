//! `surelift identify` on recordings as others write them: names, units, signs, bad rows, no velocities; and the set of such a study, proven anew.
#![cfg(feature = "cli")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use surelift::dynamics::Workspace;
use surelift::robot::{self, Arm};
use tempfile::TempDir;

const ROBOT: &str = "kinova_gen3";

/// A motion of the arm that its files explain, and its torques.
struct Recorded {
    robot: Arm,
    folder: TempDir,
}

/// One sample: time, positions, velocities, torques.
type Row = (f64, [Vec<f64>; 3]);

impl Recorded {
    fn new() -> Self {
        Self { robot: robot::load(ROBOT).unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    /// `count` samples 10 ms apart of sums of sines, the phase drawn from `seed`.
    fn rows(&self, count: usize, seed: f64) -> Vec<Row> {
        let (model, n) = (self.robot.model(), self.robot.dof());
        let theta = self.robot.nominal_parameters();
        let mut workspace = Workspace::new(model);
        let one = |k: usize| {
            let t = 0.01 * k as f64;
            let wave = |j: usize| (0.4 + 0.05 * j as f64, 0.9 + 0.2 * j as f64, seed + 1.3 * j as f64);
            let of = |f: &dyn Fn((f64, f64, f64)) -> f64| (0..n).map(|j| f(wave(j))).collect::<Vec<f64>>();
            let q = of(&|(a, w, p)| a * (w * t + p).sin());
            let dq = of(&|(a, w, p)| a * w * (w * t + p).cos());
            let ddq = of(&|(a, w, p)| -a * w * w * (w * t + p).sin());
            let mut tau = vec![0.0; n];
            workspace.inverse_dynamics(model, &q, &dq, &ddq, &theta, &mut tau);
            for j in 0..n {
                let own = self.robot.joint_parameters(&theta, j);
                tau[j] += own.coulomb * dq[j].signum() + own.viscous * dq[j] + own.offset;
            }
            (t, [q, dq, tau])
        };
        (0..count).map(one).collect()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn identify(&self, log: &Path, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_surelift"))
            .args(["identify", "--robot", ROBOT, "--out", "found", "--delay", "0", "--log"])
            .arg(log)
            .args(more)
            .current_dir(&self.folder)
            .output()
            .unwrap()
    }

    /// Exit code 2, all `words` in the message, and no folder.
    fn refused(&self, log: &Path, more: &[&str], words: &[&str]) {
        let output = self.identify(log, more);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        for word in words {
            assert!(text.contains(word), "`{word}` is missing in: {text}");
        }
        assert!(!self.folder.path().join("found").exists());
    }

    /// Done or contradicted; what was printed and warned of.
    fn done(&self, log: &Path, more: &[&str]) -> (String, String) {
        let output = self.identify(log, more);
        let (text, warnings) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(matches!(output.status.code(), Some(0 | 4)), "{warnings}");
        (text, warnings)
    }
}

fn plain(rows: &[Row], velocities: bool, unit: impl Fn(usize, f64) -> f64) -> String {
    let names = if velocities { &["q", "dq", "tau"][..] } else { &["q", "tau"] };
    let heading = names.iter().flat_map(|name| (1..=rows[0].1[0].len()).map(move |j| format!("{name}{j}")));
    let mut text = std::iter::once("t".to_owned()).chain(heading).collect::<Vec<_>>().join(",") + "\n";
    for (t, all) in rows {
        let _ = write!(text, "{t}");
        for (k, list) in all.iter().enumerate().filter(|(k, _)| velocities || *k != 1) {
            list.iter().for_each(|x| write!(text, ",{}", unit(k, *x)).unwrap());
        }
        text.push('\n');
    }
    text
}

/// The set of friction of a recording without velocities holds what the recording was made with, is proven by another process, and is refused
/// where the log is read otherwise.
#[test]
fn velocities_from_positions_give_a_set_that_another_process_proves() {
    let recorded = Recorded::new();
    let log = recorded.write("a.csv", &plain(&recorded.rows(1500, 0.3), false, |_, x| x));
    recorded.refused(&log, &[], &["a.csv", "no velocities", "--acceleration"]);
    let (text, warnings) = recorded.done(&log, &["--acceleration", "4", "--torque-abs", "0.3"]);
    assert!(warnings.contains("no velocities") || warnings.contains("has no velocities"), "{warnings}");
    assert!(text.contains("explain the data"), "{text}");
    let summary = std::fs::read_to_string(recorded.folder.path().join("found/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let mut held = 0;
    for parameter in summary["parameters"].as_array().unwrap() {
        let (low, high) = (parameter["set"][0].as_f64().unwrap(), parameter["set"][1].as_f64().unwrap());
        let truth = parameter["model"].as_f64().unwrap();
        assert!(low <= truth && truth <= high, "{parameter}");
        held += 1;
    }
    assert!(held >= 28, "{held}");
    let verify = |folder: &Path| {
        Command::new(env!("CARGO_BIN_EXE_surelift")).args(["verify", "--set"]).arg(folder).output().unwrap()
    };
    let found = recorded.folder.path().join("found");
    let output = verify(&found);
    let words = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{words}");
    // A proof whose robot claims better velocities than the positions give is none.
    let proof = found.join("set_proof.json");
    let mut json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&proof).unwrap()).unwrap();
    let bound = find(&mut json["robot"], "velocity_rad_s").expect("the proof states its robot's sensors");
    *bound = serde_json::json!(1e-4);
    std::fs::write(&proof, json.to_string()).unwrap();
    let output = verify(&found);
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && words.contains("velocities from its positions"), "{words}");
}

/// The first value of this key.
fn find<'a>(json: &'a mut serde_json::Value, key: &str) -> Option<&'a mut serde_json::Value> {
    match json {
        serde_json::Value::Object(map) => {
            if map.contains_key(key) {
                return map.get_mut(key);
            }
            map.values_mut().find_map(|inner| find(inner, key))
        }
        serde_json::Value::Array(list) => list.iter_mut().find_map(|inner| find(inner, key)),
        _ => None,
    }
}

#[test]
fn other_names_units_signs_and_bad_rows() {
    let recorded = Recorded::new();
    let rows = recorded.rows(300, 0.3);
    let degrees = |k: usize, x: f64| if k < 2 { x.to_degrees() } else { -x };
    let text = plain(&rows, true, degrees);
    let (heading, body) = text.split_once('\n').unwrap();
    let heading =
        heading.replace("tau", "effort_").replace("dq", "vel_").replace("q", "pos_").replacen('t', "time", 1);
    let mut lines: Vec<&str> = body.lines().collect();
    let broken = lines[100].replacen(',', ",nan,", 1);
    lines[100] = &broken;
    let path = recorded.write("b.csv", &format!("{heading}\n{}\n", lines.join("\n")));
    recorded.refused(&path, &[], &["b.csv", "`t`", "--columns"]);
    let columns = "t=time,q=pos_{}:deg,dq=vel_{}:deg,tau=effort_{}";
    recorded.refused(&path, &["--columns", columns], &["b.csv", "line 102", "--skip-bad"]);
    recorded.refused(&path, &["--columns", "q=pos"], &["--columns", "joint's number"]);
    let scale = ["--columns", columns, "--skip-bad", "--torque-scale", "-1,1"];
    recorded.refused(&path, &scale, &["torque scale", "expected 1 or 7"]);
    let radians = ["--skip-bad", "--columns", "t=time,q=pos_{},dq=vel_{},tau=effort_{}"];
    recorded.refused(&path, &radians, &["b.csv", "column `pos_", "degrees (--degrees)"]);
    // The other sign is noticed, and told apart from a wrong model.
    let (_, warnings) = recorded.done(&path, &["--columns", columns, "--skip-bad"]);
    assert!(warnings.contains("joint 2") && warnings.contains("the other sign"), "{warnings}");
    assert!(warnings.contains("1 of 300 row(s) skipped"), "{warnings}");
    let own = path.to_str().unwrap();
    let right = ["--columns", columns, "--skip-bad", "--torque-scale", "-1", "--validate", own];
    let (_, warnings) = recorded.done(&path, &right);
    assert!(!warnings.contains("fit with the factor"), "{warnings}");
    assert!(warnings.contains("same content"), "{warnings}");
}

#[test]
fn bags_in_sqlite_are_refused_with_the_way_to_convert_them() {
    let recorded = Recorded::new();
    let path = recorded.write("bag_0.db3", "SQLite format 3\0");
    recorded.refused(&path, &[], &["bag_0.db3", "ros2 bag convert", "mcap"]);
    recorded.refused(recorded.folder.path(), &[], &["folder", ".mcap"]);
}
