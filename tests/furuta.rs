//! The promise: parameters of pendulums and Furuta pendulums come out of readings of their encoders, in maximal coordinates as in minimal ones; what cannot be
//! estimated or read is said by name.

use std::f64::consts::{PI, TAU};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use surelift::discrete::{DiscreteForm, DiscreteProblem, MechanismParameter, OutsideImpulses};
use surelift::estimate::{EstimateError, Solver, SolverOptions};
use surelift::multibody::parameters::{JointParameter, ParameterMap};
use surelift::multibody::{Deviations, MultibodyProblem};
use surelift::recording::Sample;
use surelift::simulate::tree_model;
use surelift::study::estimation::StudyResult;
use surelift::study::mechanism::MechanismStudy;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn problem(name: &str) -> PathBuf {
    Path::new(ROOT).join("scenarios/estimation").join(format!("{name}.toml"))
}

fn load(name: &str, change: &str) -> Result<MechanismStudy, EstimateError> {
    MechanismStudy::load_changed(problem(name), &[&change.parse().unwrap()])
}

fn run(name: &str, change: &str) -> StudyResult {
    let result = load(name, change).unwrap().run().unwrap();
    println!("{name}: {} after {} iterations, {:.3} s", result.status, result.iterations, result.seconds);
    for row in &result.parameters {
        println!(
            "  {} {}: {:e} +- {:?}, truth {:?}",
            row.name, row.place, row.estimate, row.deviation, row.truth
        );
    }
    for warning in &result.warnings {
        println!("  {warning}");
    }
    result
}

fn off(result: &StudyResult, place: &str, name: &str) -> f64 {
    let row = result.parameter(place, name).unwrap();
    row.estimate / row.truth.unwrap() - 1.0
}

#[test]
fn thirteen_parameters_of_a_swing_up() {
    let result = run("furuta_swing_up", "");
    assert_eq!(result.parameters.len(), 13);
    assert_eq!(result.status, "converged");
    assert!(off(&result, "rod", "J_yy").abs() < 0.01, "{}", off(&result, "rod", "J_yy"));
    assert!(off(&result, "hinge 1", "motor gain").abs() < 0.01);
    // Of the arm's inertia 4.7e-4 kg m^2 is what an error of 1.5 % of all that turns with it makes.
    let arm = result.parameter("arm", "J_zz").unwrap();
    assert!((arm.estimate - arm.truth.unwrap()).abs() < 4.7e-4, "{arm:?}");
    for axis in ["x", "z"] {
        let tilt = result.parameter("stand", &format!("tilt about {axis}")).unwrap();
        assert!((tilt.estimate - tilt.truth.unwrap()).abs() < 1e-3, "{tilt:?}");
    }
    let told = result.warnings.join("\n");
    for words in [
        "turning the stand about gravity",
        "the prior alone decides J_xx of arm",
        "the prior alone decides J_yy of arm",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let tilt = result.parameter("stand", "tilt about y").unwrap();
    assert!(tilt.deviation.is_none());
}

/// A reading every 20 ms. With steps as long the inertias are 2 % and 15 % off.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn shorter_steps_of_the_model_take_its_bias_away_at_length() {
    let all = |result: &StudyResult| {
        [("rod", "J_yy"), ("arm", "J_zz")].map(|(place, name)| off(result, place, name).abs())
    };
    let [long, short] =
        ["", "model_step_s = 0.002"].map(|finer| run("furuta_synthetic", &format!("{STIFF}{finer}")));
    assert_eq!((long.samples, short.samples), (501, 5001));
    assert_eq!(long.residuals[0].count, short.residuals[0].count);
    assert!(all(&long).iter().all(|e| *e > 0.01), "{:?}", all(&long));
    assert!(all(&short).iter().all(|e| *e < 0.01), "{:?}", all(&short));
}

const STIFF: &str = "step_s = 0.02\ncompliance = 1e-6\n";

/// The plant in minimal coordinates and the discrete one, finer and stiffer than the model, give the same estimates.
#[test]
fn two_plants_give_one_answer() {
    let short = "simulate = { duration_s = 5.0, ";
    let [minimal, discrete] = [
        run("furuta_release", &format!("{short} plant = \"minimal\" }}")),
        run(
            "furuta_release",
            &format!("{short} plant = \"discrete\", plant_step_s = 1e-4, plant_relaxation_s = 2e-5 }}"),
        ),
    ];
    for (place, name, within) in [("rod", "J_yy", 5e-3), ("arm", "J_zz", 3e-2)] {
        let [a, b] = [&minimal, &discrete].map(|r| r.parameter(place, name).unwrap().estimate);
        assert!((a / b - 1.0).abs() < within, "{name} of {place}: {a} {b}");
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn cross_validation_finds_the_model_of_friction_at_length() {
    let costs = ["viscous", "dry", "stribeck"].map(|model| {
        let result = run(&format!("pendulum_{model}"), "");
        let found = result.mechanism.unwrap();
        println!("{model}: cost {:e}, cross-validation {:e}", found.cost, found.cross_validation.unwrap());
        (found.cost, found.cross_validation.unwrap())
    });
    assert!(costs[0].1 > costs[1].1 && costs[1].1 > costs[2].1, "{costs:?}");
}

/// A mechanism's and a problem's file in a folder of their own, with text replaced.
fn changed(
    mechanism: &str,
    name: &str,
    changes: &[(&str, &str)],
    more: &str,
) -> Result<MechanismStudy, EstimateError> {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let mut text = read(Path::new(ROOT).join("scenarios/mechanisms").join(format!("{mechanism}.toml")));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    std::fs::write(folder.path().join("mechanism.toml"), text + more).unwrap();
    let text = read(problem(name)).replace(&format!("../mechanisms/{mechanism}.toml"), "mechanism.toml");
    let path = folder.path().join("problem.toml");
    std::fs::write(&path, text).unwrap();
    MechanismStudy::load(path)
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let said = |changes: &[(&str, &str)], more: &str| {
        changed("furuta", "furuta_release", changes, more).map(|_| ()).unwrap_err().to_string()
    };
    assert!(changed("furuta", "furuta_release", &[], "").is_ok());
    // A second hinge 2 beside the first, both rigid.
    let rigid = [
        ("compliance_m_n = 1e-4", "compliance_m_n = 0.0"),
        ("compliance_rad_nm = 1e-4", "compliance_rad_nm = 0.0"),
    ];
    let text = std::fs::read_to_string(Path::new(ROOT).join("scenarios/mechanisms/furuta.toml")).unwrap();
    let again = text[text.rfind("[[joint]]").unwrap()..].replace("hinge 2", "hinge 3");
    let again = again.replace("1e-4\ncompliance_rad_nm = 1e-4", "0.0\ncompliance_rad_nm = 0.0");
    let told = said(&rigid, &format!("\n{again}"));
    assert!(
        told.contains("over-constrained") && told.contains("hinge 3") && told.contains("mechanism.toml"),
        "{told}"
    );
    for bad in ["0.0", "-1e-3", "nan", "inf"] {
        let told = said(
            &[("inertia_kg_m2 = [1e-4, 4e-3, 4e-3]", &format!("inertia_kg_m2 = [1e-4, {bad}, 4e-3]"))],
            "",
        );
        assert!(told.contains("body `rod`: `inertia_kg_m2`"), "{told}");
    }
    let told = said(&[("child = \"rod\"", "child = \"bar\"")], "");
    assert!(told.contains("joint[1].child") && told.contains("arm, rod"), "{told}");
    let told = said(
        &[("x = [0.0, 1.0, 0.0], y = [-1.0, 0.0, 0.0]", "x = [0.0, 1.0, 0.0], y = [0.0, 1.0, 0.1]")],
        "",
    );
    assert!(told.contains("on_parent") && told.contains("right angle"), "{told}");
    assert!(said(&[("name = \"rod\"", "name = \"arm\"")], "").contains("is there twice"));
}

/// Nothing drives the motor of a release, so nothing tells its gain.
#[test]
fn directions_that_nothing_tells_of_are_named() {
    let thirteenth = "parameter = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, \
        { of = \"hinge 1\", quantity = \"gain\", start = 6.0 }]\nsimulate = { duration_s = 2.0 }";
    let result = run("furuta_release", thirteenth);
    let told = result.warnings.join("\n");
    for words in ["turning the stand about gravity", "+1.00 motor gain of hinge 1"] {
        assert!(told.contains(&format!("nothing is known along {words}")), "{told}");
    }
    assert!(result.parameter("hinge 1", "motor gain").unwrap().deviation.is_none());
}

/// By the program: an error with names, and no folder of results.
#[test]
fn the_program_refuses_what_cannot_be_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let read = |file: &str| std::fs::read_to_string(Path::new(ROOT).join("scenarios").join(file)).unwrap();
    let mechanism = read("mechanisms/furuta.toml");
    let rigid = mechanism.replace("_m_n = 1e-4", "_m_n = 0.0").replace("_nm = 1e-4", "_nm = 0.0");
    let again = rigid[rigid.rfind("[[joint]]").unwrap()..].replace("hinge 2", "hinge 3");
    let problem = read("estimation/furuta_release.toml");
    let problem = problem.replace("../mechanisms/furuta.toml", "mechanism.toml");
    std::fs::write(folder.path().join("problem.toml"), problem).unwrap();
    for (text, words) in [
        (format!("{rigid}\n{again}"), ["over-constrained", "hinge 3"]),
        (mechanism.replace("[1e-4, 4e-3, 4e-3]", "[1e-4, 0.0, 4e-3]"), ["`inertia_kg_m2` is 0", "rod"]),
    ] {
        assert_ne!(text, mechanism);
        std::fs::write(folder.path().join("mechanism.toml"), text).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_surelift"));
        let command = command.current_dir(folder.path()).args(["estimate", "problem.toml", "--out", "found"]);
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(words.iter().all(|w| told.contains(w)) && told.contains("mechanism.toml"), "{told}");
        assert!(!folder.path().join("found").exists());
    }
}

#[test]
fn bad_problems_name_the_field() {
    // Of a short simulation, where a problem gets as far as that.
    let short: toml::Table = "simulate = { duration_s = 0.5 }".parse().unwrap();
    let load = |change: &str| {
        MechanismStudy::load_changed(problem("furuta_release"), &[&short, &change.parse().unwrap()])
    };
    let said = |change: &str| load(change).map(|_| ()).unwrap_err().to_string();
    for (change, field) in [
        ("step_s = 0.0", "step_s"),
        ("model_step_s = 0.0", "model_step_s"),
        ("model_step_s = nan", "model_step_s"),
        ("model_step_s = 1e-9", "model_step_s"),
        ("kappa = nan", "kappa"),
        ("encoder_rad = -1.0", "encoder_rad"),
        ("schema = 2", "schema"),
        ("colour = 3", "colour"),
        ("mechanism = \"nowhere.toml\"", "nowhere.toml"),
        ("form = \"explicit\"\nimpulses = \"hinges\"", "impulses"),
        ("simulate = { duration_s = nan }", "simulate.duration_s"),
        ("simulate = { noise_rad = -1.0 }", "simulate.noise_rad"),
        ("simulate = { plant_step_s = 3e-4 }", "a multiple of the plant's interval"),
        ("simulate = { start_rad = [0.0] }", "start_rad"),
        ("parameter = [{ of = \"leg\" }]", "parameter[0].of"),
        ("parameter = [{ of = \"hinge 2\", quantity = \"gain\" }]", "parameter[0].quantity"),
        ("parameter = [{ lower = 1.0 }]", "J_xx of arm"),
        ("solver = { tolerance = nan }", "solver.tolerance"),
        ("solver = { significance = -1.0 }", "solver.significance"),
        ("solver = { iterations = 0 }", "solver.iterations"),
        ("truth = [{ value = inf }]", "truth[0].value"),
        ("log = { file = \"nowhere.csv\" }", "log / simulate"),
        (
            "validation = [{ label = \"a\", problem = \"pendulum_dry.toml\" }]",
            "expected those of the mechanism `furuta`",
        ),
        (
            "validation = [{ label = \"a\", problem = \"double_pendulum_maximal.toml\" }]",
            "expected those of the mechanism `furuta`",
        ),
    ] {
        let told = match load(change) {
            Err(error) => error.to_string(),
            // What the problem itself refuses.
            Ok(study) => study.run().map(|_| ()).unwrap_err().to_string(),
        };
        assert!(told.contains(field) && told.contains(".toml"), "{change}: {told}");
    }
    assert!(said("step_s = inf").contains("step_s"));
}

/// A problem about the pendulum with this log, in a folder of its own.
fn with_log(csv: &str, step_s: f64) -> Result<MechanismStudy, EstimateError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log.csv"), csv).unwrap();
    let mechanism = Path::new(ROOT).join("scenarios/mechanisms/pendulum.toml");
    let text = format!(
        "schema = 1\nname = \"logged\"\ndescription = \"\"\nmechanism = {mechanism:?}\nstep_s = {step_s}\nkappa = 100.0\n\
         encoder_rad = 1e-3\ncompliance = 1e-6\nrelaxation_s = 2e-5\n[log]\nfile = \"log.csv\"\n\
         [[parameter]]\nof = \"rod\"\nquantity = \"inertia_zz\"\nstart = 0.005\n"
    );
    let path = folder.path().join("problem.toml");
    std::fs::write(&path, text).unwrap();
    MechanismStudy::load(path)
}

/// Small swings of the pendulum, whose period is 2 pi over the root of (m g l) over (J + m l^2); times in units of `unit_s`.
fn swings(interval_s: f64, unit_s: f64) -> String {
    let rate = (0.428 * 9.82 * 0.092 / (3.9e-3 + 0.428 * 0.092f64.powi(2))).sqrt();
    let row = |k: usize| {
        let t = k as f64 * interval_s;
        format!("{},{},0.0\n", t / unit_s, 0.02 * (rate * t).cos())
    };
    let rows: String = (0..(4.0 / interval_s).round() as usize).map(row).collect();
    format!("t,q1,tau1\n{rows}")
}

#[test]
fn logs_that_cannot_be_are_refused_with_file_and_field() {
    let said = |csv: &str| with_log(csv, 0.01).map(|_| ()).unwrap_err().to_string();
    let good = swings(0.01, 1.0);
    assert!(with_log(&good, 0.01).is_ok());
    let line = good.lines().nth(20).unwrap();
    for (csv, words) in [
        (good.replacen(line, &line.replacen(",", ",nan,", 1).replacen(",0.0", "", 1), 1), "q1"),
        (good.replacen("t,q1", "t,q7", 1), "q1"),
        (good.replacen(line, good.lines().nth(5).unwrap(), 1), "time"),
        (String::new(), "log.csv"),
        ("t,q1,tau1\n".to_owned(), "log.csv"),
        // Milliseconds.
        (swings(0.01, 1e-6), "in seconds?"),
    ] {
        let told = said(&csv);
        assert!(told.contains("log.file") && told.contains(words), "{words}: {told}");
    }
    let told = with_log(&good, 1e-9).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("in seconds?"), "{told}");
}

/// Where a log has fewer readings than steps, nothing is read between them.
#[test]
fn a_sparse_log_has_no_more_readings_than_it_has_lines() {
    let csv = swings(0.04, 1.0);
    let study = with_log(&csv, 0.01).unwrap();
    assert!(study.notes.join("\n").contains("have a reading"), "{:?}", study.notes);
    let result = study.run().unwrap();
    // One line in four steps; the first and the last line have no rate.
    assert_eq!((result.samples, result.residuals[0].count), (389, 98));
    let row = result.parameter("rod", "J_zz").unwrap();
    assert!((row.estimate - 3.9e-3).abs() < 1e-4, "{row:?}");
    let all = with_log(&swings(0.01, 1.0), 0.01).unwrap();
    assert!(all.notes.is_empty(), "{:?}", all.notes);
}

/// What a file extends, or fails to name, is told instead of what another kind of problem would expect.
#[test]
fn the_program_tells_which_key_a_problem_lacks() {
    let folder = tempfile::tempdir().unwrap();
    for (text, words) in [
        ("extends = \"nowhere.toml\"\nmechanism = \"a.toml\"\n", "nowhere.toml"),
        ("extends = \"problem.toml\"\nmechanism = \"a.toml\"\n", "extends"),
        ("schema = 1\nmechansim = \"a.toml\"\n", "`mechanism`"),
    ] {
        std::fs::write(folder.path().join("problem.toml"), text).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_surelift"));
        let command = command.current_dir(folder.path()).args(["estimate", "problem.toml", "--out", "found"]);
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains(words) && told.contains("problem.toml") && !told.contains("expected one of"),
            "{told}"
        );
        assert!(!folder.path().join("found").exists());
    }
}

/// The paper's iteration ends where its tolerances let it; that this is no minimum is said.
#[test]
fn an_end_far_from_the_minimum_is_told() {
    let short = "compliance = 1e-3\nsimulate = { duration_s = 2.0 }\n";
    let result = run("furuta_synthetic", &format!("{short}form = \"explicit\"\nkappa = 10.0"));
    let exact = run("furuta_synthetic", &format!("{short}form = \"inverse\"\nkappa = 10.0"));
    let [loose, least] = [&result, &exact].map(|r| r.mechanism.as_ref().unwrap().cost);
    let told = result.warnings.iter().any(|w| w.contains("one more step promises"));
    println!("{loose:e} {least:e} {told}");
    assert_eq!(told, result.status == "converged" && loose > 1.01 * least);
    assert!(told);
}

/// Friction so large that a hinge may slide on or be held by the very force that its holding causes, while the true one has none.
#[test]
fn friction_that_leaves_a_choice_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mechanism =
        std::fs::read_to_string(Path::new(ROOT).join("scenarios/mechanisms/pendulum.toml")).unwrap();
    let wild =
        mechanism.replace("kinetic = 0.0, radius_m = 1.0, creep = 300.0", "kinetic = 2.0, radius_m = 0.3");
    assert_ne!(wild, mechanism);
    let own = folder.path().join("pendulum.toml");
    std::fs::write(&own, wild).unwrap();
    let mut change: toml::Table = "step_s = 0.001\nsimulate = { duration_s = 1.5, start_rad = [2.5] }\n\
        truth = [{}, { value = 0.0 }, { value = 0.0 }]"
        .parse()
        .unwrap();
    change.insert("mechanism".into(), own.to_str().unwrap().into());
    let study = MechanismStudy::load_alone(&problem("pendulum_viscous"), &[&change]).unwrap();
    let told = match study.run() {
        Ok(result) => result.warnings.join("\n"),
        Err(error) => error.to_string(),
    };
    println!("{told}");
    assert!(told.contains("a step is not unique at"), "{told}");
}

/// A file with the readings of a simulated problem, angles as `read` has them.
fn written(study: &MechanismStudy, folder: &Path, read: impl Fn(f64) -> f64) -> String {
    let log = &study.log;
    let mut text = String::from("t,q1,q2,tau1,tau2\n");
    for (k, (angles, controls)) in log.angles.iter().zip(&log.controls).enumerate() {
        let [q1, q2] = [read(angles[0]), read(angles[1])];
        text += &format!("{},{q1},{q2},{},{}\n", k as f64 * log.step_s, controls[0], controls[1]);
    }
    let path = folder.join("readings.csv");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_encoder_that_wraps_is_unwrapped_or_told() {
    let change = "simulate = { duration_s = 4.0 }";
    let study = load("furuta_pulse", change).unwrap();
    let furthest = study.log.angles.iter().fold(0.0f64, |m, a| m.max(a[0].abs()));
    assert!(furthest > PI, "{furthest}: nothing wraps");
    let folder = tempfile::tempdir().unwrap();
    let whole: toml::Table = std::fs::read_to_string(problem("furuta_release")).unwrap().parse().unwrap();
    let from_file = |study: &MechanismStudy, read: &dyn Fn(f64) -> f64| {
        let mut table = whole.clone();
        table.remove("simulate");
        table.remove("truth");
        let file = written(study, folder.path(), read);
        table.insert("log".into(), toml::Table::from_iter([("file".to_owned(), file.into())]).into());
        let mechanism = Path::new(ROOT).join("scenarios/mechanisms/furuta.toml");
        table.insert("mechanism".into(), mechanism.to_str().unwrap().into());
        table.insert("step_s".into(), study.log.step_s.into());
        let path = folder.path().join("problem.toml");
        std::fs::write(&path, toml::to_string(&table).unwrap()).unwrap();
        MechanismStudy::load(path)
    };
    let straight = from_file(&study, &|a| a).unwrap().run().unwrap();
    let wrapped = from_file(&study, &|a| a - TAU * (a / TAU).round()).unwrap().run().unwrap();
    for (a, b) in straight.parameters.iter().zip(&wrapped.parameters) {
        assert!(
            (a.estimate - b.estimate).abs() <= 1e-6 * a.estimate.abs() + 1e-9,
            "{} {}",
            a.estimate,
            b.estimate
        );
    }
    // At ten times the interval turns cannot be counted.
    let mut coarse = study;
    let sped = |angles: &Vec<f64>| vec![8.0 * angles[0], angles[1]];
    coarse.log.angles = coarse.log.angles.iter().step_by(40).map(sped).collect();
    coarse.log.controls = coarse.log.controls.iter().step_by(40).cloned().collect();
    coarse.log.step_s *= 40.0;
    let told = from_file(&coarse, &|a| a - TAU * (a / TAU).round()).map(|_| ()).unwrap_err().to_string();
    assert!(
        told.contains("hinge 1") && told.contains("half a turn") && told.contains("readings.csv"),
        "{told}"
    );
}

/// A double pendulum's friction and shafts, in maximal coordinates and in minimal ones.
#[test]
fn minimal_and_maximal_coordinates_end_at_one_estimate() {
    let study = MechanismStudy::load(problem("double_pendulum_maximal")).unwrap();
    let (h, sigma, kappa) = (study.log.step_s, study.weights.angle_rad, study.weights.kappa);
    let options = SolverOptions { tolerance: 1e-12, ..SolverOptions::default() };
    let model = tree_model("double pendulum", &study.mechanism).unwrap();
    let maximal = DiscreteProblem::new(
        study.mechanism.clone(),
        study.log.clone(),
        study.sought.clone(),
        study.weights,
        OutsideImpulses::Hinges,
        DiscreteForm::Impulses,
    )
    .unwrap();
    let maximal = maximal.estimate(&maximal.guess(&study.guess).unwrap(), options).unwrap();
    let mut map = ParameterMap::none(&model);
    for sought in &study.sought {
        let (j, which) = match sought.parameter {
            MechanismParameter::Viscous(j) => (j, JointParameter::Viscous),
            MechanismParameter::Shaft(j) => (j, JointParameter::Armature),
            other => panic!("{other:?}"),
        };
        map.nominal[which.index(&model, j)] = sought.start;
        map.joints.push((j, which));
    }
    let sample = |(k, (q, u)): (usize, (&Vec<f64>, &Vec<f64>))| {
        let torque = |(j, u): (usize, &f64)| study.mechanism.joints[j].motor().gain * u;
        let tau = u.iter().enumerate().map(torque).collect();
        Sample { t: k as f64 * h, q: q.clone(), dq: vec![0.0; q.len()], tau }
    };
    let samples = study.log.angles.iter().zip(&study.log.controls).enumerate().map(sample).collect();
    let n = model.nv();
    let open = vec![f64::INFINITY; n];
    let deviations = Deviations {
        q: vec![sigma; n],
        dq: open.clone(),
        // An impulse p about a hinge is h times a torque.
        tau: vec![sigma / kappa.sqrt() / h; n],
        first_q: open.clone(),
        first_dq: open,
        theta: vec![f64::INFINITY; study.sought.len()],
    };
    let minimal = MultibodyProblem::new(Arc::new(model), map, samples, h, &deviations).unwrap();
    let mut solver = Solver::new(&minimal, options).unwrap();
    solver.solve(&minimal.guess()).unwrap();
    let theta = solver.trajectory().theta.clone();
    for (row, other) in maximal.parameters.iter().zip(&theta) {
        let deviation = row.deviation.unwrap();
        let apart = (row.value - other) / deviation;
        println!("{}: {:e} and {other:e}, {apart:.4} of a deviation {deviation:e}", row.name, row.value);
        assert!(apart.abs() < 0.1, "{}: {apart}", row.name);
    }
}
