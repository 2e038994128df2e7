//! The promise: a program in C++ compiles without a warning against the header, and its loop at 1 kHz tracks a proven motion and learns what the arm holds.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use surelift_c::{SureliftStatus, surelift_plan_save};

mod fixture;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of this test's program, where the library lies too.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// A source of `c/` as a program, if there is a compiler. `folders` of `c/` have headers.
fn compiled(source: &str, folders: &[&str], program: &Path) -> Option<()> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut command = Command::new(&compiler);
    command.args([
        "-std=c++17",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Wshadow",
        "-Werror",
    ]);
    for folder in ["include"].iter().chain(folders) {
        command.arg("-I").arg(root().join(folder));
    }
    let libraries = libraries().display().to_string();
    let linked = [&format!("-L{libraries}"), "-lsurelift_c", &format!("-Wl,-rpath,{libraries}"), "-pthread"];
    command.arg(root().join(source)).arg("-o").arg(program).args(linked);
    let Ok(out) = command.output() else {
        println!("skipped: there is no compiler `{compiler}` here");
        return None;
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(())
}

fn run(program: &Path, robot: &str) -> (Output, String) {
    let out = Command::new(program).arg(root().join("..").join(robot)).output().unwrap();
    let words = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out, words)
}

/// The interval that the last line tells.
fn told(words: &str) -> [f64; 2] {
    let line = words.lines().find(|line| line.starts_with("payload: ")).unwrap_or_else(|| panic!("{words}"));
    let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    [numbers[0], numbers[1]]
}

#[test]
fn a_loop_in_cpp_tracks_a_proven_motion_and_learns_what_the_arm_holds() {
    let folder = fixture::folder("cpp_loop");
    let program = folder.join("loop");
    if compiled("examples/loop.cpp", &[], &program).is_none() {
        return;
    }
    let (out, words) = run(&program, "examples/my_arm/my_arm.toml");
    assert!(out.status.success(), "{words}");
    let [lower, upper] = told(&words);
    // Beforehand it might have been anything up to 0.605 kg.
    assert!(lower <= 0.4 && 0.4 <= upper && upper - lower < 0.45, "{words}");
    assert!(words.contains("the arm is where it should be"), "{words}");
    let (out, words) = run(&program, "no/such/robot.toml");
    assert_eq!(out.status.code(), Some(1), "{words}");
    assert!(words.contains("input: ") && words.contains("no/such/robot.toml"), "{words}");
}

#[test]
fn the_interface_for_ros2_control_follows_a_proven_plan_and_stops_where_a_cycle_is_left_out() {
    let folder = fixture::folder("ros2_control");
    let (program, file) = (folder.join("trial"), folder.join("plan.json"));
    let headers = ["examples/ros2_control", "tests/ros2_control"];
    if compiled("tests/ros2_control/trial.cpp", &headers, &program).is_none() {
        return;
    }
    let robot = fixture::robot();
    let plan = fixture::plan(robot, fixture::nominal_set(robot));
    let text = CString::new(file.to_str().unwrap()).unwrap();
    // SAFETY: a text.
    assert_eq!(unsafe { surelift_plan_save(plan, text.as_ptr()) }, SureliftStatus::Ok);
    let out = Command::new(&program).arg("kinova_gen3_2f85").arg(&file).output().unwrap();
    let words = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{words}");
    assert!(words.contains("arrived: ") && words.contains("stopped and held after "), "{words}");
}
