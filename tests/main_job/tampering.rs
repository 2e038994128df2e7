//! Files of a run that were tampered with are refused, or what was changed in them is told.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use surelift::enclose::Counted;
use surelift::horizon::first_set;
use surelift::plan::Plan;
use surelift::plan::chain::{self, Expected, ExpectedTask};
use surelift::robot;
use surelift::scenario::Scenario;

use super::{JOB, SCENARIO};

/// The user's own files.
fn expected() -> Expected {
    let scenario = Scenario::load(SCENARIO).unwrap();
    let task = scenario.task();
    Expected {
        robot: Some(robot::load("kinova_gen3_2f85").unwrap()),
        task: Some(ExpectedTask {
            robot: task.robot.clone(),
            scene: task.scene.clone(),
            start: task.start.clone(),
            prior: task.prior_set().unwrap(),
            first_set: Some(first_set(task).unwrap()),
        }),
    }
}

/// The plans of the run as JSON.
fn files(count: usize) -> Vec<Value> {
    let read =
        |path: &std::path::PathBuf| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    JOB.plans().iter().take(count).map(read).collect()
}

/// What is said of the `k`-th of these plans: `None` if it is proven.
fn objection(files: &[Value], k: usize, expected: &Expected) -> Option<String> {
    let parse = |file: &Value| Plan::from_json(&file.to_string());
    let plans: Result<Vec<Plan>, _> = files.iter().map(parse).collect();
    let plans = match plans {
        Ok(plans) => plans,
        Err(error) => return Some(error.to_string()),
    };
    let mut said = None;
    chain::verify::<Counted>(&plans, expected, |at, link| {
        if at == k {
            said = link.proof.as_ref().err().map(|faults| faults.join("; "));
        }
    });
    said
}

#[test]
fn what_was_tampered_with_is_named() {
    let (own, files) = (expected(), files(3));
    assert_eq!(objection(&files, 0, &own), None);
    assert_eq!(objection(&files, 2, &own), None);
    let named = |k: usize, change: &dyn Fn(&mut Value), word: &str| {
        let mut files = files.clone();
        change(&mut files[k]);
        let said = objection(&files, k, &own);
        assert!(said.as_ref().is_some_and(|said| said.contains(word)), "{word}: {said:?}");
    };
    // Pairs are derived, whatever a file says of them.
    let mut emptied = files.clone();
    emptied[0]["robot"]["self_pairs"] = json!([]);
    let parse = |file: &Value| Plan::from_json(&file.to_string()).unwrap();
    assert_eq!(parse(&emptied[0]), parse(&files[0]));
    assert_eq!(objection(&emptied, 0, &own), None);
    named(0, &|f| f["robot"]["shapes"][2]["capsule"]["radius"] = json!(0.0), "radius");
    named(0, &|f| f["robot"]["shapes"] = json!([]), "not provably inside");
    for field in ["position_rad", "velocity_rad_s", "torque_ratio"] {
        named(0, &|f| f["robot"]["sensors"][field] = json!(0.0), field);
    }
    named(0, &|f| f["set"]["upper"] = f["set"]["lower"].clone(), "expected at least");
    named(0, &|f| f["curve"]["points"][3][1] = json!(-1.7), "starts in motion");
    named(0, &|f| f["start"] = json!({ "after_ticks": 5 }), "first plan");
    named(0, &|f| f["scene"]["obstacles"] = json!([]), "scene.obstacles");
    named(1, &|f| f["tube"]["gains"]["v_max"] = json!(0.0011999), "v_max");
    named(1, &|f| f["start"] = json!("rest"), "only the first plan");
    named(1, &|f| f["start"]["after_ticks"] = json!(1499), "t_start_s");
    named(2, &|f| f["certificate"]["torque"]["value"] = json!(99.0), "claims a margin of 99");
    named(2, &|f| f["schema"] = json!(3), "schema");
    // A plan left out: the next one does not follow the one before.
    let gap = [files[0].clone(), files[2].clone()];
    let said = objection(&gap, 1, &own).unwrap();
    assert!(said.contains("t_start_s"), "{said}");
}

/// Every number below a value, as a JSON pointer.
fn numbers(path: &str, value: &Value, all: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(x) => all.push((path.to_owned(), x.as_f64().unwrap())),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(k, x)| numbers(&format!("{path}/{k}"), x, all));
        }
        Value::Object(map) => map.iter().for_each(|(key, x)| numbers(&format!("{path}/{key}"), x, all)),
        _ => {}
    }
}

/// The file with one number moved.
fn moved(file: &Value, path: &str, x: f64) -> Value {
    let mut file = file.clone();
    let place = file.pointer_mut(path).unwrap();
    *place = if place.is_f64() { json!(x) } else { json!(x.round() as i64) };
    file
}

/// The first of each kind: of those whose pointers differ in places of lists alone.
fn one_of_each(all: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let mut kinds = BTreeSet::new();
    let kind = |path: &str| {
        let keys = path.split('/').map(|key| key.trim_start_matches(char::is_numeric));
        keys.collect::<Vec<_>>().join("/")
    };
    all.into_iter().filter(|(path, _)| kinds.insert(kind(path))).collect()
}

/// All that there are.
fn every_one(all: Vec<(String, f64)>) -> Vec<(String, f64)> {
    all
}

/// Which of all numbers are tried.
type Choice = fn(Vec<(String, f64)>) -> Vec<(String, f64)>;

/// A plan's robot and scene are the user's own to the last bit: no number of them can be moved.
#[test]
fn no_number_of_robot_and_scene_can_be_moved() {
    robot_and_scene_cannot_be_moved(one_of_each);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_number_of_robot_and_scene_can_be_moved_at_length() {
    robot_and_scene_cannot_be_moved(every_one);
}

fn robot_and_scene_cannot_be_moved(choose: Choice) {
    let (own, files) = (expected(), files(1));
    for part in ["robot", "scene"] {
        let mut all = Vec::new();
        numbers(&format!("/{part}"), &files[0][part], &mut all);
        assert!(all.len() > 8, "{part}");
        let tried = choose(all);
        println!("{part}: {} numbers", tried.len());
        assert!(tried.len() > 1, "{part}");
        for (path, x) in tried {
            let up = if x == 0.0 { 1e-6 } else { x * (1.0 + 1e-9) };
            let changed =
                moved(&files[0], &path, if files[0].pointer(&path).unwrap().is_f64() { up } else { x + 1.0 });
            assert!(objection(&[changed], 0, &own).is_some(), "{path}");
        }
    }
}

/// No bound of the first set can be moved inward.
#[test]
fn the_first_set_cannot_be_narrowed() {
    first_set_cannot_be_narrowed(9);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_first_set_cannot_be_narrowed_at_length() {
    first_set_cannot_be_narrowed(1);
}

/// Tries every so-manieth bound.
fn first_set_cannot_be_narrowed(step: usize) {
    let (own, files) = (expected(), files(1));
    for (side, inward) in [("lower", 1.0), ("upper", -1.0)] {
        let bounds: Vec<f64> = serde_json::from_value(files[0]["set"][side].clone()).unwrap();
        for (k, x) in bounds.iter().enumerate().step_by(step) {
            let changed = moved(&files[0], &format!("/set/{side}/{k}"), x + inward * (1e-9 + 1e-9 * x.abs()));
            assert!(objection(&[changed], 0, &own).is_some(), "{side}[{k}]");
        }
    }
}

/// Constants of the tube and points of the curve, moved one by one: what is still accepted is still proven, and the next plan must still follow.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn moved_constants_are_refused_or_proven_anew_at_length() {
    let (refused, kept) = moved_constants();
    assert!(refused > 20 && refused > 2 * kept, "{refused} refused, {kept} proven");
}

/// How many of the second plan's constants are refused, and how many proven anew; and the first plan's points.
fn moved_constants() -> (usize, usize) {
    let (own, files) = (expected(), files(2));
    let mut all = Vec::new();
    numbers("/tube", &files[1]["tube"], &mut all);
    numbers("/curve/duration_s", &files[1]["curve"]["duration_s"], &mut all);
    let (mut refused, mut kept) = (0, 0);
    for (path, x) in all {
        // Less of a bound is the dangerous side; more of a floor is.
        let dangerous = if path.contains("floor") { 1.3 * x } else { 0.7 * x };
        let changed = [files[0].clone(), moved(&files[1], &path, dangerous)];
        let is_refused = objection(&changed, 1, &own).is_some();
        // Fewer layer ticks are another law that is as good; a smaller slack may be enough.
        *(if is_refused { &mut refused } else { &mut kept }) += 1;
        let kind = |name: &str| path.ends_with(name);
        let must = kind("k_r")
            || kind("v_max")
            || kind("period_s")
            || kind("stiction_speed_rad_s")
            || kind("duration_s");
        assert!(!must || is_refused, "{path}");
    }
    // The first plan's points: the second no longer follows.
    for joint in 0..7 {
        for k in 3..6 {
            let mut first = files[0].clone();
            for at in k..6 {
                let path = format!("/curve/points/{joint}/{at}");
                let x = first.pointer(&path).unwrap().as_f64().unwrap();
                first = moved(&first, &path, x + 1e-6);
            }
            let said = [0, 1].map(|at| objection(&[first.clone(), files[1].clone()], at, &own));
            assert!(said.iter().any(Option::is_some), "joint {joint} point {k}");
        }
    }
    (refused, kept)
}
