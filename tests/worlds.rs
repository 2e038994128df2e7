//! The promise: an arm with an empty hand crosses worlds that come as CSV files, one or a folder of them; a world that
//! cannot be used is refused with the place of the fault. And shipped scenes are crossed.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use surelift::horizon::Outcome;
use surelift::horizon::RunOptions;
use surelift::report::{Overview, Summary};
use surelift::scenario::{self, Scenario};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/armour_world.toml");
const WORLDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/worlds");

/// Runs the scenario in `world`, without deadlines so that a busy machine changes nothing.
fn run(world: &Path, out: &Path, more: &[&str]) -> Output {
    let program = Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(["run", SCENARIO, "--untimed", "--quiet", "--world"])
        .arg(world)
        .arg("--out")
        .arg(out)
        .args(more)
        .output();
    program.expect("the program starts")
}

fn world(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_folder_of_worlds_is_crossed_without_a_violation() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("runs");
    let output = run(Path::new(WORLDS), &out, &[]);
    let (text, complaint) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{text}{complaint}");
    assert!(text.contains("goals reached") && text.contains("2 of 2"), "{text}");
    let overview: Overview =
        serde_json::from_slice(&std::fs::read(out.join("worlds.json")).unwrap()).unwrap();
    assert_eq!((overview.worlds, overview.reached, overview.refused), (2, 2, 0));
    for (_, count) in overview.violations.counts() {
        assert_eq!(count, 0);
    }
    for entry in &overview.runs {
        let json = std::fs::read_to_string(out.join(&entry.world).join("summary.json")).unwrap();
        assert!(!json.contains("\"payload\"") && !json.contains("\"identification\""));
        let summary: Summary = serde_json::from_str(&json).unwrap();
        assert_eq!(summary.outcome, Outcome::Success);
        assert!(summary.truth_inside && summary.min_clearance_m.unwrap() > 0.0);
        assert!(summary.goal_error_rad.unwrap() < std::f64::consts::PI / 30.0);
        assert!(summary.max_torque_ratio.unwrap() < 1.0 && summary.tube_used_ratio.unwrap() < 1.0);
        // Every executed plan can be proven again from its file.
        let plans: Vec<_> = out.join(&entry.world).join("plans").read_dir().unwrap().collect();
        assert_eq!(plans.len(), entry.certified);
    }
}

#[test]
fn a_malformed_world_is_refused_with_line_and_column() {
    let scratch = tempfile::tempdir().unwrap();
    let good = std::fs::read_to_string(Path::new(WORLDS).join("post.csv")).unwrap();
    for (from, to, says) in [
        ("0.1,0.1,0.7", "0.1,x,0.7", "line 4, column 5: `x`"),
        ("-0.8,", "", "line 1: 6 columns, expected 7"),
        (
            "0.6,3.1416,-1.5,0,-0.5,1.57\nN",
            "9,3.1416,-1.5,0,-0.5,1.57\nN",
            "`line 2 (goal)`: joint `joint_2` at 9",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let bad = world(scratch.path(), "bad.csv", &good.replacen(from, to, 1));
        let output = run(&bad, &scratch.path().join("out"), &[]);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains("bad.csv") && complaint.contains(says), "{complaint}");
        // In a folder as well, before anything is run.
        let output = run(scratch.path(), &scratch.path().join("out"), &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(!scratch.path().join("out").exists());
    }
    let empty = tempfile::tempdir().unwrap();
    let output = run(empty.path(), &scratch.path().join("out"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no `.csv` files"));
}

#[test]
fn a_world_whose_start_touches_something_is_told_apart() {
    let scratch = tempfile::tempdir().unwrap();
    let post = std::fs::read_to_string(Path::new(WORLDS).join("post.csv")).unwrap();
    let blocked = post.trim_end().to_owned() + "\n0,0,0.3,0.5,0.5,0.5,NaN\n";
    let file = world(scratch.path(), "blocked.csv", &blocked);
    let single = run(&file, &scratch.path().join("one"), &[]);
    assert_eq!(single.status.code(), Some(2));
    assert!(String::from_utf8(single.stderr).unwrap().contains("touches obstacle `box 4`"));
    let folder = run(scratch.path(), &scratch.path().join("all"), &[]);
    let table = String::from_utf8(folder.stdout).unwrap();
    assert_eq!(folder.status.code(), Some(3), "{table}");
    assert!(table.contains("refused") && table.contains("0 of 1") && table.contains("box 4"), "{table}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn hard_scenes_load_and_are_crossed_at_length() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/hard");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        let scenario = Scenario::load(&file).unwrap();
        // The others take longer; `surelift run` shows that they are crossed as well.
        if !["table", "inside_a_box"].contains(&scenario.task().name.as_str()) {
            continue;
        }
        let options = RunOptions { method: "ours".into(), seed: 0, timed: false };
        let summary = scenario::run(scenario, &options, &mut ()).unwrap().summary;
        assert_eq!(summary.outcome, Outcome::Success, "{}: {:?}", file.display(), summary.reason);
        assert!(summary.min_clearance_m.unwrap() > 0.0 && summary.route_ms.is_some());
    }
}

/// The Z1, whose links outweigh its transmissions.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_z1_goes_past_a_post_at_length() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/z1_post.toml");
    let options = RunOptions { method: "ours".into(), seed: 0, timed: false };
    let summary = scenario::run(Scenario::load(path).unwrap(), &options, &mut ()).unwrap().summary;
    assert_eq!(summary.outcome, Outcome::Success, "{:?}", summary.reason);
    for (kind, count) in summary.violations.counts() {
        assert_eq!(count, 0, "{kind}");
    }
    assert!(summary.truth_inside && summary.min_clearance_m.unwrap() > 0.0);
    assert!(summary.max_torque_ratio.unwrap() < 1.0 && summary.tube_used_ratio.unwrap() < 1.0);
}
