//! The promise: bad input ends with exit code 2 and a message that names file and field, and leaves nothing behind; a
//! payload outside its prior ends safely.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use surelift::horizon::Outcome;
use surelift::report::Summary;
use surelift::robot::Capsule;
use surelift::scenario::Scenario;
use tempfile::TempDir;
use toml::{Table, Value};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_c_8lb.toml");
const ROBOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");

/// A folder with a changed copy of the shipped scenario.
struct Case {
    folder: TempDir,
    scenario: PathBuf,
}

impl Case {
    fn new(change: impl FnOnce(&mut Table)) -> Self {
        let mut table: Table = std::fs::read_to_string(SCENARIO).unwrap().parse().unwrap();
        table.insert("robot".into(), ROBOT.into());
        change(&mut table);
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("changed.toml");
        std::fs::write(&scenario, toml::to_string(&table).unwrap()).unwrap();
        Self { folder, scenario }
    }

    fn run(&self, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_surelift"))
            .arg("run")
            .arg(&self.scenario)
            .arg("--quiet")
            .args(more)
            .current_dir(&self.folder)
            .output()
            .expect("the program starts")
    }

    /// Exit code 2, all `words` in the message, and nothing in the folder but the scenario.
    fn refused(&self, more: &[&str], words: &[&str]) {
        let output = self.run(more);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with("error: ") && !text.contains("panicked"), "{text}");
        for word in words {
            assert!(text.contains(word), "`{word}` is missing in: {text}");
        }
        let left: Vec<_> = std::fs::read_dir(&self.folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["changed.toml"], "something was left behind");
    }
}

/// The value at a dotted path, created if the last part is new.
fn at<'a>(table: &'a mut Table, path: &str) -> &'a mut Value {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = table.entry(first).or_insert(Value::Boolean(false));
    if rest.is_empty() { value } else { at(value.as_table_mut().unwrap(), rest) }
}

#[test]
fn a_file_that_is_not_there() {
    let case = Case::new(|_| {});
    let absent = Case { scenario: case.folder.path().join("absent.toml"), folder: case.folder };
    absent.refused(&[], &["absent.toml"]);
    let file = "no_such_arm.toml";
    Case::new(|t| *at(t, "robot") = file.into()).refused(&[], &["changed.toml", "`robot`", file]);
}

#[test]
fn a_key_that_is_not_known() {
    Case::new(|t| *at(t, "colour") = "red".into()).refused(&[], &["changed.toml", "colour", "expected"]);
    Case::new(|t| *at(t, "timing.t_x_s") = 1.0.into()).refused(&[], &["changed.toml", "t_x_s", "t_p_s"]);
}

#[test]
fn numbers_that_are_none_or_out_of_range() {
    numbers_are_refused(&[f64::NAN]);
    Case::new(|t| *at(t, "timing.t_p_s") = 9.0.into()).refused(&[], &["timing.t_p_s", "t_f_s"]);
    Case::new(|t| drop(at(t, "goal_rad").as_array_mut().unwrap().pop())).refused(&[], &["goal_rad", "7"]);
    Case::new(|t| *at(t, "schema") = 99.into()).refused(&[], &["schema", "99"]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn numbers_without_an_end_at_length() {
    numbers_are_refused(&[f64::INFINITY, f64::NEG_INFINITY]);
}

/// Wherever a number stands.
fn numbers_are_refused(numbers: &[f64]) {
    for &bad in numbers {
        for (path, field) in [
            ("goal_tolerance_rad", "goal_tolerance_rad"),
            ("timing.t_p_s", "timing.t_p_s"),
            ("identify.window_s", "identify.window_s"),
            ("payload.mass_kg", "payload"),
        ] {
            Case::new(|t| *at(t, path) = bad.into()).refused(&[], &["changed.toml", field]);
        }
        for path in ["start_rad", "goal_rad", "prior.lower", "prior.nominal", "excite.range_rad"] {
            Case::new(|t| at(t, path).as_array_mut().unwrap()[1] = bad.into())
                .refused(&[], &["changed.toml", path]);
        }
        Case::new(|t| at(t, "obstacles").as_array_mut().unwrap()[0]["center_m"][0] = bad.into())
            .refused(&[], &["changed.toml", "obstacles.", "center_m"]);
    }
}

#[test]
fn drives_that_cannot_be() {
    for (key, bad) in
        [("error_nm", -0.1), ("error_ratio", 1.0), ("unmodelled_nm", f64::NAN), ("error_nm", f64::INFINITY)]
    {
        for (head, field) in [("[drives]", "drives"), ("[joints.joint_2.drive]", "joints.joint_2.drive")] {
            let folder = tempfile::tempdir().unwrap();
            let robot = folder.path().join("arm.toml");
            std::fs::write(
                &robot,
                format!("extends = {ROBOT:?}\n{head}\n{key} = {}\n", bad.to_string().to_lowercase()),
            )
            .unwrap();
            let robot = robot.to_str().unwrap();
            let words = ["arm.toml", &format!("{field}.{key}"), "expected"];
            Case::new(|t| *at(t, "robot") = robot.into()).refused(&[], &words);
        }
    }
}

/// Torque sensors of single joints: bounds that are none, and figures where none belong.
#[test]
fn torque_sensors_that_cannot_be() {
    let own = "[joints.joint_2.torque_sensor]";
    for (lines, field) in [
        (format!("{own}\nabs_nm = -0.1\n"), "joints.joint_2.torque_sensor.abs_nm"),
        (format!("{own}\nabs_nm = nan\n"), "joints.joint_2.torque_sensor.abs_nm"),
        (format!("{own}\nabs_nm = inf\n"), "joints.joint_2.torque_sensor.abs_nm"),
        (format!("{own}\nabs = 0.1\n"), "abs_nm"),
        ("[joints.joint_9.torque_sensor]\nabs_nm = 0.1\n".to_owned(), "no moving joint"),
        ("[sensors]\ntorque_abs_of_joints_nm = [0.1]\n".to_owned(), "sensors.torque_abs_of_joints_nm"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let robot = folder.path().join("arm.toml");
        std::fs::write(&robot, format!("extends = {ROBOT:?}\n{lines}")).unwrap();
        let robot = robot.to_str().unwrap();
        Case::new(|t| *at(t, "robot") = robot.into()).refused(&[], &["arm.toml", field]);
    }
}

/// Ages, delays and jitter that are none; and such that are, which the law of the loop is not proven for: no plan is made for an arm that the proof
/// is not about.
#[test]
fn timing_that_cannot_be() {
    let run = |key: &str, value: f64, words: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let robot = folder.path().join("arm.toml");
        let value = value.to_string().to_lowercase();
        std::fs::write(&robot, format!("extends = {ROBOT:?}\n[timing]\n{key} = {value}\n")).unwrap();
        let robot = robot.to_str().unwrap();
        Case::new(|t| *at(t, "robot") = robot.into()).refused(&[], words);
    };
    for key in ["reading_age_max_s", "command_delay_max_s", "jitter_max_s", "drive_lag_max_s"] {
        let field = format!("timing.{key}");
        for bad in [-1e-4, f64::NAN, f64::INFINITY, 0.2] {
            run(key, bad, &["arm.toml", &field, "expected", "control.period_s"]);
        }
    }
    run("latency_ms", 0.1, &["arm.toml", "latency_ms"]);
}

#[test]
fn a_prior_that_excludes_physics() {
    // No body of this mass and first moment has so little inertia about the joint.
    let small = |t: &mut Table| {
        for k in [4, 6, 9] {
            at(t, "prior.upper").as_array_mut().unwrap()[k] = 1e-4.into();
        }
        at(t, "prior").as_table_mut().unwrap().remove("nominal");
    };
    Case::new(small).refused(&[], &["changed.toml", "`prior`", "pseudo-inertia"]);
    let crossed = |t: &mut Table| at(t, "prior.lower").as_array_mut().unwrap()[0] = 9.0.into();
    Case::new(crossed).refused(&[], &["changed.toml", "prior.lower", "lower <= nominal <= upper"]);
    let core = |mass: f64| move |t: &mut Table| *at(t, "prior.core") = vec![mass; 10].into();
    Case::new(core(f64::NAN)).refused(&[], &["changed.toml", "prior.core", "finite"]);
    Case::new(core(-1.0)).refused(&[], &["changed.toml", "prior.core", "no rigid body"]);
}

#[test]
fn an_obstacle_that_touches_the_arm_at_the_start() {
    let scenario = Scenario::load(SCENARIO).unwrap();
    let (task, robot) = (scenario.task(), &scenario.task().robot);
    let hand = robot.shapes().iter().position(|s| s.joint == Some(robot.end_effector())).unwrap();
    let Capsule { a, .. } = robot.placed_capsule(hand, &robot.frames(&task.start));
    let block = |t: &mut Table| {
        let mut block = Table::new();
        block.insert("name".into(), "block".into());
        block.insert("center_m".into(), vec![a.x, a.y, a.z].into());
        block.insert("size_m".into(), vec![0.05; 3].into());
        at(t, "obstacles").as_array_mut().unwrap().push(block.into());
    };
    let name = &robot.shapes()[hand].name;
    Case::new(block).refused(&[], &["changed.toml", "start", name, "obstacle `block`"]);
}

#[test]
fn arguments_that_cannot_be_used() {
    let case = Case::new(|_| {});
    case.refused(&["--method", "magic"], &["magic", "ours"]);
    case.refused(&["--out", "changed.toml"], &["changed.toml", "not a folder"]);
    case.refused(&["--out", "changed.toml/inside"], &["changed.toml/inside"]);
    case.refused(&["--out", "."], &["output folder"]);
    if cfg!(target_os = "linux") {
        case.refused(&["--out", "/proc/nope/run"], &["/proc", "cannot be written to"]);
    }
    let usage = case.run(&["--payload-mass", "nan"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8(usage.stderr).unwrap().contains("finite mass in kg"));
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let case = Case::new(|_| {});
    let precious = case.folder.path().join("mine");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("thesis.tex"), "precious").unwrap();
    let output = case.run(&["--out", "mine"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("thesis.tex"));
    assert_eq!(std::fs::read_to_string(precious.join("thesis.tex")).unwrap(), "precious");
}

#[test]
fn a_payload_outside_its_prior_ends_safely() {
    let case = Case::new(|_| {});
    let output = case.run(&["--payload-mass", "7", "--out", "heavy"]);
    let code = output.status.code();
    assert!(matches!(code, Some(3 | 4)), "{code:?}: {}", String::from_utf8_lossy(&output.stderr));
    let summary = read(&case.folder.path().join("heavy/summary.json"));
    assert!(matches!(summary.outcome, Outcome::SafeStop | Outcome::AssumptionBroken));
    assert!(summary.reason.is_some());
    let counts = summary.violations;
    assert_eq!((counts.collision, counts.torque, counts.position, counts.velocity), (0, 0, 0, 0));
    assert!(summary.min_clearance_m.unwrap() > 0.0);
}

fn read(path: &Path) -> Summary {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn obstacles_that_move_as_nothing_can() {
    let first = |t: &mut Table, key: &str, value: Value| {
        let obstacles = at(t, "obstacles").as_array_mut().unwrap();
        obstacles[0].as_table_mut().unwrap().insert(key.into(), value);
    };
    let path = |points: &str| -> Value {
        let table: Table = format!("path = {points}").parse().unwrap();
        table["path"].clone()
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        Case::new(|t| first(t, "speed_m_s", bad.into()))
            .refused(&[], &["changed.toml", "obstacles.table.speed_m_s", "expected"]);
    }
    for (points, words) in [
        // 2 m in 1 s.
        ("[{ at_s = 1.0, offset_m = [0.0, 0.0, -2.0] }]", ["path[0].offset_m", "2.0000 m/s"]),
        (
            "[{ at_s = 9.0, offset_m = [0.0, 0.0, 0.0] }, { at_s = 9.5, offset_m = [1.0, 0.0, 0.0] }]",
            ["path[1].offset_m", "speed_m_s"],
        ),
        ("[{ at_s = 0.0, offset_m = [0.0, 0.0, 0.0] }]", ["path[0].at_s", "after 0"]),
        ("[{ at_s = nan, offset_m = [0.0, 0.0, 0.0] }]", ["path[0].at_s", "NaN"]),
        ("[{ at_s = 1.0, offset_m = [inf, 0.0, 0.0] }]", ["path[0].offset_m", "inf"]),
    ] {
        let case = Case::new(|t| {
            first(t, "speed_m_s", 1.5.into());
            first(t, "path", path(points));
        });
        case.refused(&[], &["changed.toml", "obstacles.table", words[0], words[1]]);
    }
    // Without a speed it goes nowhere.
    Case::new(|t| first(t, "path", path("[{ at_s = 9.0, offset_m = [0.1, 0.0, 0.0] }]")))
        .refused(&[], &["changed.toml", "obstacles.table.path[0].offset_m", "speed_m_s of 0"]);
    for bad in [-1.0, f64::NAN, 0.0] {
        Case::new(|t| *at(t, "timing.patience_s") = bad.into()).refused(&[], &["timing.patience_s"]);
    }
    let fast = |name: &str| format!("fast_obstacle = {{ obstacle = \"{name}\", at_s = 1.0, factor = 2.0 }}");
    for name in ["table", "nobody"] {
        let table: Table = fast(name).parse().unwrap();
        Case::new(|t| drop(t.insert("faults".into(), Value::Table(table))))
            .refused(&[], &["faults.fast_obstacle.obstacle", name]);
    }
}
