//! The shipped estimation problems of legged robots and closed loops, over horizons short enough for a test.

use std::path::Path;

use surelift::estimate::EstimateError;
use surelift::estimate::study::{Study, StudyResult};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The shipped problem with text replaced, in a folder of its own; paths stay valid because they are made absolute.
fn changed(name: &str, changes: &[(&str, &str)]) -> Result<Study, EstimateError> {
    let shipped = Path::new(ROOT).join("scenarios/estimation").join(format!("{name}.toml"));
    let mut text = std::fs::read_to_string(shipped).unwrap();
    text = text.replace("robots/", &format!("{ROOT}/robots/"));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    Study::load(path)
}

/// One walking cycle with two steps.
const SHORT_WALK: [(&str, &str); 4] = [
    ("duration_s = 14.0", "duration_s = 1.3"),
    ("repeat_s = 1.6\n", ""),
    ("lifted_s = [[1.3, 1.6]]\n", ""),
    ("lifted_s = [[1.7, 2.0]]\n", ""),
];

fn solved(study: Result<Study, EstimateError>) -> StudyResult {
    let result = study.unwrap().run().unwrap();
    assert_eq!(result.status, "converged", "{}: {:?}", result.name, result.record.last());
    result
}

/// The relative error of a parameter, and its error in deviations.
fn errors(result: &StudyResult, place: &str, name: &str) -> (f64, f64) {
    let row = result.parameter(place, name).unwrap();
    let error = (row.estimate - row.truth.unwrap()).abs();
    (error / row.truth.unwrap().abs(), error / row.deviation.unwrap())
}

/// All ten parameters of a body lie within so many deviations of the truth.
fn assert_honest(result: &StudyResult, place: &str, most: f64) {
    for row in result.parameters.iter().filter(|r| r.place == place) {
        let error = (row.estimate - row.truth.unwrap()).abs() / row.deviation.unwrap();
        assert!(error < most, "{}: {} is off by {error} deviations: {row:?}", result.name, row.name);
    }
}

#[test]
fn go1_walks_through_contact_switches_and_finds_its_payload() {
    let mut changes = SHORT_WALK.to_vec();
    changes.push(("step_s = 0.001", "step_s = 0.002"));
    let result = solved(changed("go1_walk", &changes));
    assert!(errors(&result, "base", "m").0 < 0.01, "{:?}", result.parameters);
    assert_honest(&result, "base", 5.0);
}

#[test]
fn anymal_on_four_feet_is_one_minimum_in_both_forms() {
    let short = ("duration_s = 2.0", "duration_s = 0.6");
    let inverse = solved(changed("anymal_stand", &[short]));
    let forward =
        solved(changed("anymal_stand", &[short, ("formulation = \"inverse\"", "formulation = \"forward\"")]));
    assert!((inverse.cost - forward.cost).abs() < 1e-5 * inverse.cost, "{} {}", inverse.cost, forward.cost);
    for (a, b) in inverse.parameters.iter().zip(&forward.parameters) {
        let deviation = a.deviation.unwrap();
        assert!((a.estimate - b.estimate).abs() < 1e-2 * deviation, "{a:?} {b:?}");
        assert!((deviation - b.deviation.unwrap()).abs() < 1e-2 * deviation, "{a:?} {b:?}");
    }
    assert!(errors(&inverse, "base", "m").0 < 0.01);
    assert_honest(&inverse, "base", 5.0);
}

#[test]
fn the_closed_loop_of_the_leg_tells_the_friction_of_its_motor() {
    let result = solved(changed("b1_leg", &[("duration_s = 4.0", "duration_s = 2.0")]));
    assert!(errors(&result, "FL_calf", "m").0 < 0.05, "{:?}", result.parameters);
    assert!(errors(&result, "FL_crank_joint", "g_3").1 < 5.0, "{:?}", result.parameters);
    assert_honest(&result, "FL_calf", 5.0);
}

/// Deviations are those of the errors over realisations of the noise: a swinging pendulum is as nonlinear as they come.
#[test]
fn deviations_are_the_spread_of_errors_over_noise_realisations() {
    let (mut squares, mut count) = (0.0, 0);
    for seed in 1..=40 {
        let seed = format!("seed = {seed}\n");
        let result = solved(changed(
            "double_pendulum",
            &[("duration_s = 3.0", "duration_s = 1.5"), ("seed = 1\n", &seed)],
        ));
        for (place, name) in [("link2", "h_x"), ("link2", "I_zz"), ("joint1", "F_v"), ("joint2", "F_v")] {
            let (_, error) = errors(&result, place, name);
            squares += error * error;
            count += 1;
        }
    }
    // The mean of squares of deviation one; 40 independent realisations of four correlated numbers.
    let mean = squares / f64::from(count);
    assert!((0.6..1.6).contains(&mean), "{mean}");
}

#[test]
fn schedules_that_do_not_fit_are_told() {
    let error = |changes: &[(&str, &str)]| {
        let all: Vec<_> = SHORT_WALK.iter().chain(changes).copied().collect();
        changed("go1_walk", &all).map(|_| ()).unwrap_err().to_string()
    };
    let late = error(&[("[[0.5, 0.8]]", "[[0.5, 1.8]]")]);
    assert!(late.contains("contact[0].lifted_s") && late.contains("the log ends at 1.299 s"), "{late}");
    let off = error(&[("[[0.5, 0.8]]", "[[0.5005, 0.8]]")]);
    assert!(off.contains("multiple"), "{off}");
    let order = error(&[("[[0.5, 0.8]]", "[[0.5, 0.8], [0.7, 0.9]]")]);
    assert!(order.contains("overlap"), "{order}");
    let frame = error(&[("frame = \"RL_foot\"", "frame = \"RL_toe\"")]);
    assert!(frame.contains("no frame `RL_toe`") && frame.contains("RL_foot"), "{frame}");
    let missing = error(&[("tau_nm = { base = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1], joints = 0.1 }\n", "")]);
    assert!(missing.contains("tau_nm"), "{missing}");
}

/// A schedule that says of a foot in the air that it stands.
#[test]
fn schedules_that_contradict_the_log_are_told() {
    let study = changed("go1_walk", &SHORT_WALK).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (nq, n) = (study.robot.nq(), study.robot.nv());
    let mut text = String::from("t");
    for (name, count) in [("q", nq), ("dq", n), ("tau", n)] {
        (1..=count).for_each(|j| text += &format!(",{name}{j}"));
    }
    for (k, s) in study.samples.iter().enumerate() {
        text += &format!("\n{}", 0.001 * k as f64);
        s.q.iter().chain(&s.dq).chain(&s.tau).for_each(|x| text += &format!(",{x}"));
    }
    let log = folder.path().join("log.csv");
    std::fs::write(&log, text).unwrap();
    let shipped =
        std::fs::read_to_string(Path::new(ROOT).join("scenarios/estimation/go1_walk.toml")).unwrap();
    let mut shipped = shipped.replace("robots/", &format!("{ROOT}/robots/"));
    for (from, to) in SHORT_WALK {
        shipped = shipped.replace(from, to);
    }
    let (head, rest) = shipped.split_once("[simulate]").unwrap();
    let (_, tail) = rest.split_once("# What the estimator assumes.").unwrap();
    let load = |lifted: &str| {
        let head = head.replace("lifted_s = [[0.5, 0.8]]", lifted);
        let path = folder.path().join("problem.toml");
        std::fs::write(&path, format!("{head}[log]\nfile = \"{}\"\n#{tail}", log.display())).unwrap();
        Study::load(path)
    };
    assert!(load("lifted_s = [[0.5, 0.8]]").is_ok());
    let error = load("lifted_s = []").unwrap_err().to_string();
    assert!(error.contains("`RL_foot` stands") && error.contains("moves by"), "{error}");
}

#[test]
fn equations_between_parameters_hold() {
    let equation = "[[equation]]\nkind = \"symmetric\"\nlink = \"base\"\nplane = \"y\"\n\n[[equation]]\nkind = \"total_mass\"\nlinks = [\"base\"]\nmass_kg = 20.0\n\n[[body]]";
    let result =
        solved(changed("anymal_stand", &[("duration_s = 2.0", "duration_s = 0.4"), ("[[body]]", equation)]));
    let value = |name: &str| result.parameter("base", name).unwrap().estimate;
    assert!((value("m") - 20.0).abs() < 1e-6);
    assert!(["h_y", "I_xy", "I_yz"].iter().all(|name| value(name).abs() < 1e-7), "{:?}", result.parameters);
    let unknown =
        changed("anymal_stand", &[("[[body]]", &equation.replace("\"base\"", "\"LF_HIP\""))]).unwrap_err();
    assert!(unknown.to_string().contains("`LF_HIP` is not estimated"), "{unknown}");
}
