//! The promise: exit code 2 and a clear message for bad input, help that teaches, output that can be piped.
#![cfg(feature = "cli")]

use std::process::{Command, Output, Stdio};

fn surelift(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts")
}

#[test]
fn help_teaches_with_examples() {
    let help = surelift(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(text.contains("Examples:") && text.contains("Exit codes:"), "{text}");
    for subcommand in ["verify", "robot"] {
        let text = String::from_utf8(surelift(&[subcommand, "--help"]).stdout).unwrap();
        assert!(text.contains("Example"), "{text}");
    }
}

#[test]
fn bad_input_is_exit_code_2_with_the_culprit_named() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json");
    std::fs::write(&plan, "{\"schema\": NaN}").unwrap();
    let plan = plan.to_str().unwrap();
    for (arguments, culprit) in [
        (vec!["fly"], "fly"),
        (vec!["robot"], "NAME_OR_PATH"),
        (vec!["robot", "no_such_arm"], "no_such_arm"),
        (vec!["verify", "no/such/plan.json"], "no/such/plan.json"),
        (vec!["verify", plan], plan),
    ] {
        let output = surelift(&arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(culprit) && !text.contains("panicked"), "{arguments:?}: {text}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(["robot", "kinova_gen3_2f85"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
