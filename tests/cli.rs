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
    let text = String::from_utf8(surelift(&["robot", "tune", "--help"]).stdout).unwrap();
    assert!(text.contains("--dry-run") && text.contains("Exit codes:"), "{text}");
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
        (vec!["robot", "tune", "no_such_arm"], "no_such_arm"),
        (vec!["robot", "tune", "z1", "--growth-mm", "0"], "growth-mm"),
        (vec!["robot", "calibrate", "--robot", "no_such_arm", "--log", "a.csv"], "no_such_arm"),
        (vec!["payload", "no/such/folder", "--as", "urdf"], "no/such/folder"),
        (vec!["payload", "no/such/folder", "--as", "dxf"], "dxf"),
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
fn files_that_the_help_names_are_there() {
    let mut named = 0;
    for subcommand in [&[][..], &["run"], &["identify"], &["estimate"], &["campaign"], &["robot", "tune"]] {
        let text = String::from_utf8(surelift(&[subcommand, &["--help"]].concat()).stdout).unwrap();
        let words = text.split(|c: char| c.is_whitespace() || "`,".contains(c));
        for file in words.filter(|word| word.starts_with("scenarios/")) {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            assert!(path.exists(), "{subcommand:?} names {file}");
            named += 1;
        }
    }
    assert!(named > 8, "{named} files found in the help");
}

#[test]
fn a_bag_of_another_arm_is_refused_by_joint() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("found");
    let bag = "tests/recordings/cdr_zstd.mcap";
    let identify = |bag: &str, more: &[&str]| {
        let arguments = ["identify", "--robot", "kinova_gen3", "--out", out.to_str().unwrap(), "--log", bag];
        let output = surelift(&[&arguments[..], more].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let text = identify(bag, &[]);
    assert!([bag, "`joint_1`", "`gripper`"].iter().all(|part| text.contains(part)), "{text}");
    let text = identify(bag, &["--topic", "/arm"]);
    assert!(text.contains("no topic `/arm`") && text.contains("`/joint_states`"), "{text}");
    assert!(!out.exists());
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

/// The program started in an empty folder.
fn elsewhere(folder: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

#[test]
fn robots_that_ship_are_known_anywhere_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let output = elsewhere(folder.path(), &["robot", "go1", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let go1: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(go1["model"]["joints"].as_array().unwrap().len(), 13);
    assert!((go1["total_mass_kg"].as_f64().unwrap() - 13.100_529).abs() < 1e-9);
    assert_eq!(go1["model"]["named_frames"][0]["name"], "FL_foot");
    let text = String::from_utf8(elsewhere(folder.path(), &["robot", "digit"]).stdout).unwrap();
    assert!(text.contains("Loops") && text.contains("left_heel_spring"), "{text}");
    // A file of the folder comes first, also before a robot TOML of a folder above.
    let inner = folder.path().join("inner");
    std::fs::create_dir_all(inner.join("robots")).unwrap();
    std::fs::create_dir(folder.path().join("robots")).unwrap();
    let above = include_str!("../robots/go1.toml").replace("name = \"go1\"", "name = \"above\"");
    std::fs::write(folder.path().join("robots/go1.toml"), above).unwrap();
    std::fs::write(folder.path().join("robots/go1.urdf"), include_str!("../robots/go1.urdf")).unwrap();
    let text = String::from_utf8(elsewhere(&inner, &["robot", "go1"]).stdout).unwrap();
    assert!(text.starts_with("above:"), "{text}");
    std::fs::write(inner.join("robots/go1.urdf"), "<robot name=\"mine\"/>").unwrap();
    let output = elsewhere(&inner, &["robot", "go1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("robots/go1.urdf"));
}

#[test]
fn a_makers_model_with_impossible_inertias_is_shown_with_every_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let urdf = include_str!("../robots/go1.urdf");
    let ones = urdf.replacen(
        r#"ixx="1e-06" ixy="0" ixz="0" iyy="1e-06" iyz="0" izz="1e-06""#,
        r#"ixx="1e-06" ixy="1e-06" ixz="1e-06" iyy="1e-06" iyz="1e-06" izz="1e-06""#,
        1,
    );
    assert_ne!(urdf, ones);
    let more = ones.replacen(r#"izz="0.0716547275""#, r#"izz="0.1716547275""#, 1);
    std::fs::write(folder.path().join("maker.urdf"), more).unwrap();
    let output = elsewhere(folder.path(), &["robot", "maker.urdf"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in ["link `base`", "3.000e-6 kg m^2", "link `trunk`", "violate the triangle inequality"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for (broken, culprit) in [
        (ones.replacen("<child link=\"trunk\"/>", "<child link=\"trunc\"/>", 1), "trunc"),
        (ones.replacen("mass value=\"5.204\"", "mass value=\"inf\"", 1), "trunk"),
        ("<robot".to_owned(), "maker.urdf"),
    ] {
        std::fs::write(folder.path().join("maker.urdf"), broken).unwrap();
        let output = elsewhere(folder.path(), &["robot", "maker.urdf"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(culprit), "{text}");
    }
}

#[test]
fn recordings_are_read_studied_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // An arm that stands still at zero without torque, sampled at 100 Hz.
    let columns = ["q", "dq", "tau"].iter().flat_map(|name| (1..=6).map(move |j| format!("{name}{j}")));
    let mut text = format!("t,{},note", columns.collect::<Vec<_>>().join(","));
    for k in 0..60 {
        text += &format!("\n{},{}still", 0.01 * k as f64, "0,".repeat(18));
    }
    text.push('\n');
    std::fs::write(place("still.csv"), &text).unwrap();
    let arguments = |log: &str, out: &str| {
        ["identify", "--robot", "z1", "--log", log, "--unknown", "friction", "--out", out].map(str::to_owned)
    };
    let run = |arguments: &[String]| surelift(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let output = run(&arguments(&place("still.csv"), &place("found")));
    let error = String::from_utf8(output.stderr).unwrap();
    // Standing still without torque is what the model says, or a contradiction where it would fall: never a failure.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{error}");
    for file in surelift::report::study::FILES {
        assert!(folder.path().join("found").join(file).is_file(), "{file}");
    }
    let summary = std::fs::read_to_string(folder.path().join("found/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["parameters"].as_array().unwrap().len(), 24);
    assert!(summary["logs"][0]["notes"].to_string().contains("ignored: note"));
    assert!(summary["methods"].to_string().contains("\"ols\"") && summary["base"]["rank"].is_u64());
    let method =
        [&arguments(&place("still.csv"), &place("other"))[..], &["--method".into(), "static".into()]];
    let error = String::from_utf8(run(&method.concat()).stderr).unwrap();
    assert!(error.contains("method `static`") && error.contains("last body"), "{error}");
    assert!(!folder.path().join("other").exists(), "a failed study leaves nothing behind");

    // Sets are proven under what the robot's file states; one that states nothing of its sensors is no arm.
    let mut other = arguments(&place("still.csv"), &place("other")).to_vec();
    other[2] = "double_pendulum".to_owned();
    let error = String::from_utf8(run(&other).stderr).unwrap();
    assert!(error.contains("does not say") && error.contains("sensors"), "{error}");

    std::fs::write(place("bad.csv"), text.replace("0.3,0,0,0", "0.3,0,NaN,0")).unwrap();
    let output = run(&arguments(&place("bad.csv"), &place("other")));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("bad.csv") && error.contains("line 32") && error.contains("`q2`"), "{error}");
    let mut payload = arguments(&place("still.csv"), &place("other")).to_vec();
    payload[6] = "payload".to_owned();
    let error = String::from_utf8(run(&payload).stderr).unwrap();
    assert!(error.contains("--prior"), "{error}");
    std::fs::write(place("mine.txt"), "precious").unwrap();
    let output = run(&arguments(&place("still.csv"), folder.path().to_str().unwrap()));
    assert_eq!(output.status.code(), Some(2));
}

/// As in the tutorial: from the maker's file to a motion that is proven.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn three_commands_lead_from_a_urdf_to_a_certified_motion_at_length() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("maker.urdf"), include_str!("../examples/my_arm/my_arm.urdf")).unwrap();
    let run = |arguments: &[&str]| {
        let output = elsewhere(folder.path(), arguments);
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {text}");
        text
    };
    let told = run(&["robot", "init", "maker.urdf", "--out", "mine"]);
    assert!(told.contains("robot tune mine/maker.toml --scenario mine/first_move.toml --write"), "{told}");
    let tuned = [
        "robot",
        "tune",
        "mine/maker.toml",
        "--scenario",
        "mine/first_move.toml",
        "--plans",
        "2",
        "--quiet",
        "--write",
    ];
    let found = run(&tuned);
    assert!(found.contains("Found by `surelift robot tune`"), "{found}");
    assert!(found.contains("Next: surelift run mine/first_move.toml --untimed"), "{found}");
    let done = run(&["run", "mine/first_move.toml", "--untimed", "--quiet"]);
    assert!(done.contains("Success") && !done.contains("plans certified                  0 of"), "{done}");
}

/// The first of them: it tells the next, and what a person has changed since is left alone.
#[test]
fn a_robot_that_is_begun_again_keeps_what_a_person_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("maker.urdf"), include_str!("../examples/my_arm/my_arm.urdf")).unwrap();
    let begin = || {
        let output = elsewhere(folder.path(), &["robot", "init", "maker.urdf", "--out", "mine"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    };
    let told = begin();
    assert!(told.contains("robot tune mine/maker.toml --scenario mine/first_move.toml --write"), "{told}");
    std::fs::remove_file(folder.path().join("mine/maker.toml")).unwrap();
    std::fs::write(folder.path().join("mine/first_move.toml"), "mine").unwrap();
    begin();
    assert_eq!(std::fs::read_to_string(folder.path().join("mine/first_move.toml")).unwrap(), "mine");
}
