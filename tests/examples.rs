//! The promise: every example of `examples/` does what the documents say of it, and the tutorial's files are those of the
//! repository.

#[path = "../examples/certify_motion.rs"]
mod certify_motion;
#[path = "../examples/compare_methods.rs"]
#[allow(dead_code, reason = "the test calls the function below `main`")]
mod compare_methods;
#[path = "../examples/control_loop.rs"]
mod control_loop;
#[path = "../examples/dynamics.rs"]
mod dynamics;
#[path = "../examples/estimate_parameters.rs"]
#[allow(dead_code, reason = "as above")]
mod estimate_parameters;
#[path = "../examples/identify_log.rs"]
#[allow(dead_code, reason = "as above")]
mod identify_log;
#[path = "../examples/late_readings.rs"]
#[allow(dead_code, reason = "as above")]
mod late_readings;
#[path = "../examples/load_robot.rs"]
#[allow(dead_code, reason = "as above")]
mod load_robot;
#[path = "../examples/own_controller.rs"]
mod own_controller;
#[path = "../examples/own_cost.rs"]
mod own_cost;
#[path = "../examples/own_hardware.rs"]
mod own_hardware;
#[path = "../examples/own_sensor.rs"]
mod own_sensor;
#[path = "../examples/pick_and_place.rs"]
#[allow(dead_code, reason = "as above")]
mod pick_and_place;
#[path = "../examples/whole_loop.rs"]
#[allow(dead_code, reason = "as above")]
mod whole_loop;

use std::fmt::Write;

use surelift::dynamics::Workspace;
use surelift::horizon::Outcome;
use surelift::identify::Unknown;
use surelift::robot::{self, Model, Prior};
use surelift::study::identification::Verdict;

#[test]
fn dynamics_alone() {
    dynamics::main().unwrap();
}

#[test]
fn methods_are_compared_and_what_they_are_told_counts() {
    let [wrong, pid, told] = &compare_methods::compare().unwrap()[..] else { panic!("three methods") };
    assert!(wrong.unproven && pid.unproven && told.method == "told");
    // Who is told which dumbbell it is errs less than who takes it for none, or for another.
    assert_eq!(told.outcome, Outcome::Success);
    assert!(told.max_tracking_error_rad < pid.max_tracking_error_rad);
    assert!(told.max_tracking_error_rad < wrong.max_tracking_error_rad);
}

#[test]
fn a_robot_is_loaded() {
    let robot = load_robot::show("examples/my_arm/my_arm.toml").unwrap();
    assert_eq!((robot.name.as_str(), robot.dof(), robot.shapes().len()), ("my_arm", 3, 5));
    assert!(
        load_robot::show("examples/my_arm/your_arm.toml").unwrap_err().to_string().contains("your_arm.toml")
    );
}

#[test]
fn one_motion_is_certified() {
    certify_motion::main().unwrap();
}

#[test]
fn a_control_loop_stays_within_its_proven_bounds() {
    control_loop::main().unwrap();
}

#[test]
fn later_readings_are_proven_until_they_are_too_late() {
    let proven = |other_s: f64| late_readings::with_latency_and_delay(other_s).unwrap();
    let ((soon, _), (late, _)) = (proven(5e-4).unwrap(), proven(2e-3).unwrap());
    assert!(0.0 < soon && soon < late && late < 25.0, "{soon} mm and {late} mm");
    let (whole, robust_nm) = late_readings::with_the_whole_prior(1e-3).unwrap().unwrap();
    assert!(late < whole && whole < 20.0 && robust_nm < 45.0, "{whole} mm and {robust_nm} N m");
    let refusal = proven(8e-3).unwrap_err().to_string();
    assert!(refusal.contains("kappa = 60.0 1/s is too high") && refusal.contains("9.10 ms"), "{refusal}");
    let lags = |drive_lag_s: f64| late_readings::with_drives_that_lag(drive_lag_s).unwrap();
    let (on_time, (lagging, _)) = (proven(1e-3).unwrap().0, lags(1e-3).unwrap());
    assert!(on_time < lagging && lagging < 1.3 * on_time, "{on_time} mm and {lagging} mm");
    let refusal = lags(4e-3).unwrap_err().to_string();
    assert!(
        refusal.contains("kappa = 60.0 1/s is too high") && refusal.contains("lag by 4.00 ms"),
        "{refusal}"
    );
}

#[test]
fn most_probable_parameters() {
    let result = estimate_parameters::estimate("scenarios/estimation/double_pendulum.toml").unwrap();
    assert_eq!(result.status, "converged");
    for row in &result.parameters {
        let Some(truth) = row.truth else { continue };
        let deviation = row.deviation.expect("the data tell all of it");
        assert!((row.estimate - truth).abs() < 5.0 * deviation, "{row:?}");
    }
}

#[test]
fn the_whole_loop_through_a_scenario() {
    let summary = whole_loop::run("examples/my_arm/first_move.toml").unwrap();
    assert_eq!(summary.outcome, Outcome::Success);
    assert!(summary.plans.iter().all(|plan| plan.certified) && !summary.plans.is_empty());
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_unknown_load_is_learnt_by_an_arm_of_ones_own_at_length() {
    let half_width = learnt("examples/my_arm/unknown_load.toml");
    assert!(half_width < 0.1, "mass to ±{half_width} kg of ±0.305");
}

/// The same arm, its load described by a mass and a box: what is proven of it holds the truth and is less than what was said.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_load_in_words_is_learnt_by_an_arm_of_ones_own_at_length() {
    let half_width = learnt("examples/my_arm/load_in_words.toml");
    assert!(half_width < 0.16, "mass to ±{half_width} kg of ±0.305");
}

/// Both files with one exciting trajectory.
#[test]
fn a_load_is_learnt_by_an_arm_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let arm = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_arm");
    for name in ["unknown_load.toml", "load_in_words.toml"] {
        let text = format!(
            "extends = {:?}\nrobot = {:?}\n[timing]\nexciting_plans = 1\n",
            arm.join(name),
            arm.join("my_arm.toml")
        );
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let half_width = learnt(file.to_str().unwrap());
        assert!(half_width < 0.25, "{name}: mass to ±{half_width} kg of ±0.305");
    }
}

/// To how many kilograms a load is known in the end; the truth is within.
fn learnt(file: &str) -> f64 {
    let summary = whole_loop::run(file).unwrap();
    assert_eq!(summary.outcome, Outcome::Success, "{:?}", summary.reason);
    assert!(summary.truth_inside);
    let body = summary.payload.unwrap();
    0.5 * (body.known.upper[0] - body.known.lower[0])
}

#[test]
fn a_tolerance_below_the_tracking_errors_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("narrow.toml");
    let first = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_arm");
    let text = format!(
        "extends = {:?}\nrobot = {:?}\nname = \"narrow\"\ngoal_tolerance_rad = 0.01\n[timing]\nmax_plans = 4\n",
        first.join("first_move.toml"),
        first.join("my_arm.toml")
    );
    std::fs::write(&scenario, text).unwrap();
    let summary = whole_loop::run(scenario.to_str().unwrap()).unwrap();
    assert_eq!(summary.outcome, Outcome::SafeStop);
    let reason = summary.reason.unwrap();
    assert!(reason.contains("goal_tolerance_rad") && reason.contains("'waist'"), "{reason}");
    // It is told before anything moves, and not after all the plans.
    assert_eq!((summary.plans.len(), summary.duration_s), (1, 0.0));
}

#[test]
#[ignore = "minutes: five times some ten plans of an arm of seven joints"]
fn at_length_five_unknown_dumbbells_are_stacked() {
    let report = pick_and_place::stack(5).unwrap();
    assert_eq!(report.payloads.len(), 5);
    assert!(report.steps.iter().all(|step| step.error.is_none()), "{report}");
}

/// Each part of one's own takes less than 60 lines: a method, a controller, a cost, a sensor, a scenario.
#[test]
fn a_part_of_ones_own_is_short() {
    let files = [
        "compare_methods.rs",
        "own_controller.rs",
        "own_cost.rs",
        "own_sensor.rs",
        "whole_loop.rs",
        "my_arm/load_in_words.toml",
        "my_arm/unknown_load.toml",
    ];
    for file in files {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file);
        let lines = std::fs::read_to_string(path).unwrap().lines().count();
        assert!(lines < 60, "{file}: {lines} lines");
    }
}

#[test]
fn a_controller_of_ones_own_follows_a_motion() {
    own_controller::main().unwrap();
    let error = |spring, damper| own_controller::largest_error_rad(spring, damper).unwrap();
    let (stiff, soft) = (error(400.0, 40.0), error(4.0, 0.4));
    assert!(stiff < 0.02 && soft > 2.0 * stiff, "{stiff} {soft}");
}

#[test]
fn a_cost_of_ones_own_decides_where_a_motion_ends() {
    own_cost::main().unwrap();
    let turned = own_cost::turned().unwrap();
    assert!(turned[0] > 0.2 && turned[1..].iter().all(|x| x.abs() < 0.1), "{turned:?}");
}

/// What is learnt from a sensor of one's own holds the truth if the sensor keeps what is stated of it, and a sensor that does not is found out.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_sensor_of_ones_own_is_learnt_from_within_its_bounds_at_length() {
    own_sensor::main().unwrap();
    let honest = own_sensor::learn(0.995 * 4.0).unwrap();
    assert_eq!(honest.outcome, Outcome::Success, "{:?}", honest.reason);
    let known = &honest.identification.last().unwrap().known;
    let truth = [1.5, 0.0, -0.309, 0.002, 0.0797, 0.0, 0.0009, 0.0, 0.0006, 0.0798];
    let inside = |i: usize| known.lower[i] <= truth[i] && truth[i] <= known.upper[i];
    assert!((0..10).all(inside) && known.half_width(0) < 0.1, "{known:?}");
    let false_one = own_sensor::learn(0.6 * 4.0).unwrap();
    assert_eq!(false_one.outcome, Outcome::AssumptionBroken, "{:?}", false_one.reason);
}

#[test]
fn a_driver_of_ones_own_reaches_the_goal() {
    own_hardware::main().unwrap();
}

/// A swinging arm that holds what `parameters` say, as a CSV file: 200 samples a second.
fn recording(robot: &Model, parameters: &[f64], seconds: f64) -> String {
    let n = robot.dof();
    let names = ["q", "dq", "tau"].iter().flat_map(|name| (1..=n).map(move |j| format!("{name}{j}")));
    let mut text = std::iter::once("t".to_owned()).chain(names).collect::<Vec<_>>().join(",");
    let mut dynamics = Workspace::new(robot);
    let middle = [0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5];
    for k in 0..=(200.0 * seconds) as usize {
        let t = k as f64 / 200.0;
        let rate = |j: usize| 2.0 + 0.3 * j as f64;
        let q: Vec<f64> = (0..n).map(|j| middle[j] + 0.3 * (rate(j) * t).sin()).collect();
        let dq: Vec<f64> = (0..n).map(|j| 0.3 * rate(j) * (rate(j) * t).cos()).collect();
        let ddq: Vec<f64> = (0..n).map(|j| -0.3 * rate(j).powi(2) * (rate(j) * t).sin()).collect();
        let mut tau = vec![0.0; n];
        dynamics.inverse_dynamics(robot, &q, &dq, &ddq, parameters, &mut tau);
        for (j, tau) in tau.iter_mut().enumerate() {
            let friction = &robot.joints[j].friction;
            *tau += friction.coulomb * dq[j].signum() + friction.viscous * dq[j];
        }
        let _ = write!(text, "\n{t}");
        for x in q.iter().chain(&dq).chain(&tau) {
            let _ = write!(text, ",{x}");
        }
    }
    text
}

#[test]
fn a_recording_tells_what_the_hand_holds() {
    let robot = robot::load("kinova_gen3_2f85").unwrap();
    let folder = tempfile::tempdir().unwrap();
    // The truth: the middle of a prior that is a single body.
    let truth = folder.path().join("truth.toml");
    let body = "[4.9136, -4e-5, 9e-5, -0.76737, 0.1502, 0.0, 0.1354, 0.0, 0.0, 0.01944]";
    std::fs::write(&truth, format!("lower = {body}\nupper = {body}\n")).unwrap();
    let (_, set) = Prior::read(&truth, Unknown::Payload.default_prior(&robot), &robot).unwrap();
    let log = folder.path().join("log.csv");
    std::fs::write(&log, recording(&robot, &set.center(), 4.0)).unwrap();
    let findings = identify_log::identify(&log).unwrap();
    assert_eq!(findings.verdict, Verdict::Consistent, "{}", findings.guarantee);
    let mass = &findings.parameters[0];
    let [lower, upper] = mass.set.unwrap();
    assert!(lower <= 4.9136 && 4.9136 <= upper, "{mass:?}");
    assert!(upper - lower < 0.5 * (mass.prior[1] - mass.prior[0]), "{mass:?}");
}
