use std::f64::consts::{FRAC_PI_2, PI};
use std::fs;
use std::path::Path;

use super::*;
use crate::scenario::Scenario;

const START: [f64; 7] = [-1.5, -0.4, PI, -1.8, 0.0, 0.1, FRAC_PI_2];

/// `START`, with joint 1 moved.
fn moved(by: f64) -> [f64; 7] {
    let mut q = START;
    q[0] += by;
    q
}

/// The shipped task with other keys.
fn load(folder: &Path, keys: &str) -> Result<Scenario, String> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/dumbbell_c_8lb.toml");
    let place = folder.join("path.toml");
    fs::write(&place, format!("extends = {shipped:?}\n{keys}\n")).unwrap();
    Scenario::load(&place).map_err(|e| e.to_string())
}

fn refused(keys: &str, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let said = load(folder.path(), keys).expect_err(keys);
    for word in words.iter().chain(&["path.toml"]) {
        assert!(said.contains(word), "`{word}` is missing in: {said}");
    }
}

fn pieces() -> PiecewiseBezier {
    least_jerk(&START, &moved(0.2), &moved(0.5), [1.0; 2]).unwrap()
}

#[test]
fn a_path_leads_through_its_point_to_the_goal() {
    let folder = tempfile::tempdir().unwrap();
    let keys = format!("goal_rad = {:?}\n[path]\nvia_rad = {:?}", moved(0.5), moved(0.2));
    let task = load(folder.path(), &keys).unwrap().split().0;
    assert_eq!(task.path.as_ref().unwrap(), &pieces());
    assert_eq!(task.goal, moved(0.5));
    // The same from a file, which also says where the goal is.
    fs::write(folder.path().join("pieces.json"), serde_json::to_string(&pieces()).unwrap()).unwrap();
    let base = "goal_rad = [0.0]\n";
    assert!(load(folder.path(), base).is_err());
    let goal = format!("goal_rad = {:?}\n[path]\nfile = \"pieces.json\"", moved(0.5));
    assert_eq!(load(folder.path(), &goal).unwrap().task().path, task.path);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_path_that_is_none_is_refused_by_its_key_at_length() {
    let goal = format!("goal_rad = {:?}\n", moved(0.5));
    let with = |keys: &str| format!("{goal}[path]\n{keys}");
    let via = |q: &[f64]| format!("via_rad = {q:?}").replace("NaN", "nan");
    refused(&with(""), &["`path.via_rad`", "missing"]);
    refused(&with(&via(&START[..6])), &["`path.via_rad`", "6 numbers, expected 7"]);
    refused(&with(&via(&moved(f64::NAN))), &["`path.via_rad`", "finite"]);
    refused(&with(&via(&moved(f64::INFINITY))), &["`path.via_rad`", "finite"]);
    let mut beyond = START;
    beyond[1] = 2.3;
    refused(&with(&via(&beyond)), &["`path.via_rad`", "joint_2", "expected within"]);
    // The points are within the limits, the way between them is not.
    let (mut via_near, mut goal_near) = (START, START);
    (via_near[1], goal_near[1]) = (2.24, -1.5);
    let keys = format!("goal_rad = {goal_near:?}\n[path]\ndurations_s = [4.0, 0.5]\n{}", via(&via_near));
    let folder = tempfile::tempdir().unwrap();
    let said = load(folder.path(), &keys).unwrap_err();
    assert!(said.contains("path.via_rad") && said.contains("joint_2") && said.contains("after"), "{said}");
    let fast = with(&format!("durations_s = [0.1, 0.1]\n{}", via(&moved(0.2))));
    refused(&fast, &["`path.via_rad`", "joint_1", "rad/s", "expected at most"]);
    for bad in ["nan", "inf", "0.0", "-1.0"] {
        let keys = with(&format!("durations_s = [1.0, {bad}]\n{}", via(&moved(0.2))));
        refused(&keys, &["`path.durations_s`", "expected a finite number > 0"]);
    }
    refused(&with(&format!("{}\nstart_rad = [1.0]", via(&moved(0.2)))), &["`path.start_rad`", "expected 7"]);
    refused(&with(&format!("{}\ncolour = 1", via(&moved(0.2)))), &["colour"]);
}

#[test]
fn a_file_that_holds_no_path_is_refused() {
    let refused = |text: Option<&str>, keys: &str, words: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        if let Some(text) = text {
            fs::write(folder.path().join("pieces.json"), text).unwrap();
        }
        let goal = format!("goal_rad = {:?}\n", moved(0.5));
        let said = load(folder.path(), &format!("{goal}[path]\nfile = \"pieces.json\"\n{keys}")).unwrap_err();
        for word in words.iter().chain(&["path.toml"]) {
            assert!(said.contains(word), "`{word}` is missing in: {said}");
        }
    };
    let text = |change: &dyn Fn(&mut PiecewiseBezier)| {
        let mut path = pieces();
        change(&mut path);
        serde_json::to_string(&path).unwrap()
    };
    refused(None, "", &["`path.file`", "pieces.json", "cannot be read"]);
    refused(Some("{}"), "", &["`path.file`", "pieces.json", "duration_s"]);
    // JSON has no word for what is no number.
    refused(Some(&text(&|p| p.first.points[0][3] = f64::NAN)), "", &["`path.file`", "null"]);
    refused(Some(&text(&|_| {})), "via_rad = [1.0]", &["`path.via_rad`", "beside `path.file`"]);
    refused(Some(&text(&|p| p.first.points.truncate(6))), "", &["`path.file`", "6 joints, expected 7"]);
    refused(Some(&text(&|p| p.then[0].points.truncate(6))), "", &["`path.file`", "7"]);
    refused(Some(&text(&|p| p.then[0].points[2][1] += 1e-6)), "", &["`path.file`", "joint 3"]);
    refused(
        Some(&text(&|p| p.first.points[2][1] += 1e-6)),
        "",
        &["`path.file`", "joint_3", "starts in motion"],
    );
    refused(
        Some(&text(&|p| p.then[0].points[2][4] += 1e-6)),
        "",
        &["`path.file`", "joint_3", "come to rest"],
    );
    let elsewhere = |p: &mut PiecewiseBezier| p.then[0].points[2][3..].iter_mut().for_each(|q| *q += 0.1);
    refused(Some(&text(&elsewhere)), "", &["`path.file`", "joint_3", "expected goal_rad"]);
    refused(Some(&text(&|p| p.first.duration_s = -1.0)), "", &["`path.file`", "duration_s"]);
}

#[test]
fn a_path_that_starts_in_an_obstacle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let task = load(folder.path(), "").unwrap().split().0;
    // A block where the hand is at the start of the path, but neither at the arm's start nor at the goal.
    let from = moved(0.9);
    let hand = task.robot.placed_capsule(task.robot.shapes().len() - 1, &task.robot.frames(&from)).a;
    let keys = format!(
        "goal_rad = {:?}\n[path]\nstart_rad = {from:?}\nvia_rad = {:?}\n[[obstacles]]\nname = \"block\"\ncenter_m = [{}, {}, {}]\n\
         size_m = [0.05, 0.05, 0.05]",
        moved(-0.4),
        moved(0.2),
        hand.x,
        hand.y,
        hand.z
    );
    refused(&keys, &["start of the path", "touches", "block"]);
}
