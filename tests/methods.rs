//! The promise of the benchmark: methods are files, every one that ships can be run on the dumbbell experiments, and what becomes of it is judged by the true state.

use surelift::benchmark::{MethodPreset, run};
use surelift::horizon::Outcome;
use surelift::plan::Plan;
use surelift::report::{RunRecord, Violations};
use surelift::scenario::Scenario;

fn scenario(letter: &str) -> String {
    format!("{}/scenarios/dumbbell_{letter}.toml", env!("CARGO_MANIFEST_DIR"))
}

fn carried(method: &str, letter: &str, item: &str, seed: u64) -> RunRecord<Plan> {
    let preset = MethodPreset::find(method).unwrap_or_else(|error| panic!("{error}"));
    by(&preset, letter, item, seed).unwrap_or_else(|error| panic!("{error}"))
}

fn by(
    preset: &MethodPreset,
    letter: &str,
    item: &str,
    seed: u64,
) -> Result<RunRecord<Plan>, surelift::benchmark::MethodError> {
    let load = |other: Option<&str>| Scenario::load_item(scenario(letter), other.or(Some(item)));
    run(&load, preset, (seed, false), &mut ())
}

/// It is learnt, proven, carried and placed; and nobody else has a proof.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn ours_proves_the_fast_path_and_places_the_dumbbell_at_length() {
    let record = carried("ours", "a", "6lb", 0);
    let summary = &record.summary;
    assert_eq!(summary.outcome, Outcome::Success, "{:?}", summary.reason);
    assert_eq!(summary.violations, Violations::default());
    assert!(summary.truth_inside && !summary.unproven && summary.plans.iter().all(|plan| plan.certified));
    let path = record.plans.last().unwrap();
    assert!((path.curve.duration_s() - 2.0).abs() < 1e-12 && path.curve.then.len() == 1);
    let placed = summary.placing.unwrap();
    assert!(placed.horizontal_m < 0.006, "{placed:?}");
}

/// The path that is proven for what is learnt is refused for all that the prior allows: the proof needs the lesson.
#[test]
fn with_the_prior_alone_the_path_is_refused() {
    let mut preset = MethodPreset::find("conservative").unwrap();
    preset.proof = surelift::benchmark::Proof::Required;
    let record = by(&preset, "c", "8lb", 0).unwrap();
    assert_eq!(record.summary.outcome, Outcome::SafeStop, "{:?}", record.summary.reason);
    let reason = record.summary.reason.unwrap();
    assert!(reason.contains("given path cannot be proven") && reason.contains("joint_2"), "{reason}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn methods_without_proofs_say_so_at_length() {
    for method in ["wrong", "conservative", "adap-1", "adap-2", "grav-pid"] {
        let record = carried(method, "b", "5lb", 1);
        let summary = &record.summary;
        assert!(summary.unproven && summary.method == method && record.plans.is_empty());
        assert!(!summary.plans[0].certified, "{method}");
        let said = summary.plans[0].reason.as_ref().unwrap();
        assert!(said.contains("not certified") && said.contains(method), "{said}");
        assert!((summary.duration_s - 2.5).abs() < 1e-9, "{method}: {}", summary.duration_s);
        assert!(record.log.len() == 2500 && summary.placing.is_some());
        assert_eq!(summary.adapted.is_empty(), method != "adap-1");
        // The same run again is the same run.
        assert_eq!(carried(method, "b", "5lb", 1).log, record.log, "{method}");
    }
}

/// A controller that takes a dumbbell for none sags by more than one that is told.
#[test]
fn what_a_controller_believes_counts() {
    let told = MethodPreset {
        believes: surelift::benchmark::AssumedBody::Item("8lb".into()),
        ..MethodPreset::find("grav-pid").unwrap()
    };
    let error =
        |preset: &MethodPreset| by(preset, "c", "8lb", 0).unwrap().summary.max_tracking_error_rad.unwrap();
    let (knows, believes_empty) = (error(&told), error(&MethodPreset::find("grav-pid").unwrap()));
    assert!(knows < 0.8 * believes_empty, "{knows} {believes_empty}");
}

/// A Fourier series that knows of no obstacles runs into them, and the auditor sees it.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn unproven_excitation_is_judged_by_the_true_state_at_length() {
    let mut preset = MethodPreset::find("grav-pid-excit").unwrap();
    if let surelift::benchmark::Learning::Fourier(series) = &mut preset.learns {
        series.evaluations = 20;
    }
    let summary = by(&preset, "a", "8lb", 0).unwrap().summary;
    assert_ne!(summary.outcome, Outcome::Success);
    let v = summary.violations;
    assert!(v.collision + v.torque + v.velocity + v.position > 0 || summary.reason.is_some(), "{summary:?}");
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_moves() {
    let refused = |change: &dyn Fn(&mut MethodPreset), file: &str, item: Option<&str>, words: &str| {
        let mut preset = MethodPreset::find("grav-pid").unwrap();
        change(&mut preset);
        let file = format!("{}/scenarios/{file}", env!("CARGO_MANIFEST_DIR"));
        let load = |other: Option<&str>| Scenario::load_item(&file, other.or(item));
        let said = run(&load, &preset, (0, false), &mut ()).unwrap_err().to_string();
        assert!(said.contains(words), "{words}: {said}");
    };
    refused(&|_| (), "dumbbell_c_8lb.toml", None, "gives no path");
    refused(&|_| (), "dumbbell_a.toml", Some("9lb"), "expected one of");
    refused(&|_| (), "dumbbell_c_8lb.toml", Some("8lb"), "no table `items`");
    let gains = |text: &str| {
        toml::from_str::<MethodPreset>(&format!("schema = 1\nname = \"m\"\ndescription = \"\"\nlearns = \"nothing\"\nbelieves = \"empty_hand\"\nproof = \"none\"\ncontroller = {text}")).unwrap()
    };
    for (text, words) in [
        ("{ gravity_pid = { proportional = nan } }", "proportional"),
        ("{ gravity_pid = { proportional = [1.0, 2.0] } }", "7 joints"),
        ("{ adaptive = { lambda = -1.0 } }", "lambda"),
        ("{ adaptive_robust = { layer = 0.0 } }", "layer"),
    ] {
        refused(&|preset| preset.controller = gains(text).controller, "dumbbell_a.toml", None, words);
    }
}
