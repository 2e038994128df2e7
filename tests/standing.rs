//! The promise: `surelift excite ROBOT --contacts ..` finds a motion of a robot on its feet whose condition number is at least five times below that of random ones within the same limits, and
//! that tells twice as much as a sway in equal time; a simulated robot follows it and learns what it carries, and feet that would slip, lift or tilt are found out.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn surelift(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_surelift"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("`{key}` of {value}"))
}

const ANYMAL: [&str; 5] = [
    "anymal_b",
    "--contacts",
    "LF_FOOT,LH_FOOT,RF_FOOT,RH_FOOT",
    "--stand",
    "0,0.7,-1.4,0,-0.7,1.4,0,0.7,-1.4,0,-0.7,1.4",
];

/// A motion of an ANYmal of two seconds.
fn motion(out: &Path, more: &[&str]) -> Value {
    let out_text = out.to_str().unwrap();
    let links: &[&str] = if more.contains(&"--links") { &[] } else { &["--links", "base"] };
    let duration: &[&str] = if more.contains(&"--duration") { &[] } else { &["--duration", "2"] };
    let arguments = [&["excite"], &ANYMAL[..], duration, &["--out", out_text], links, more].concat();
    let output = surelift(&arguments);
    assert!(output.status.success(), "{}", said(&output));
    summary(out)
}

/// The shipped problem about an ANYmal that sways, with other lines instead.
fn problem(folder: &Path, changes: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/estimation/anymal_stand.toml");
    let mut text = std::fs::read_to_string(path).unwrap().replace("robots/anymal_b.toml", "anymal_b");
    for (before, after) in changes {
        assert!(text.contains(before), "{before}");
        text = text.replace(before, after);
    }
    let file = folder.join("problem.toml");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

const SWAY: &str = "sway = [[0.03, 0.8, 0.0], [0.03, 0.7, 1.4], [0.03, 1.3, 0.0], [0.12, 0.9, 0.5], [0.12, 1.1, 1.0], [0.12, 0.7, 0.0]]";

#[test]
fn a_motion_tells_more_than_random_ones_and_can_be_followed() {
    tells_more_and_is_followed(&["--friction", "0.2", "--evaluations", "15"]);
}

/// After a search that is as long as searches are by default.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_motion_tells_more_than_random_ones_and_can_be_followed_at_length() {
    tells_more_and_is_followed(&["--friction", "0.2"]);
}

fn tells_more_and_is_followed(options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let found = motion(&folder.path().join("motion"), options);
    let (condition, random) = (number(&found, "condition_number"), number(&found, "random_condition_number"));
    assert!(5.0 * condition <= random, "{condition} {random}");
    let links = &found["self_collision"];
    assert!(
        links["pairs"].as_u64().unwrap() > 50 && links["nearest"][0].as_f64().unwrap() >= 0.01,
        "{links}"
    );
    for (limit, share) in found["used"].as_object().unwrap() {
        assert!(share.as_f64().unwrap() <= 1.0, "{limit}: {share}");
    }
    // The ground has three times the friction that the motion was made for: the load on its back, a third of its weight, is not known yet.
    let changes = [
        (Z, AT_ZERO),
        (SWAY, "motion = \"motion/summary.json\""),
        ("[[contact]]", "[[contact]]\nfriction = 0.6"),
    ];
    let (file, out) = (problem(folder.path(), &changes), folder.path().join("out"));
    let output = surelift(&["estimate", &file, "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    for parameter in summary(&out)["parameters"].as_array().unwrap() {
        let (name, estimate, truth) =
            (&parameter["name"], number(parameter, "estimate"), number(parameter, "truth"));
        // Moments about the base's axes; products of inertia are near zero.
        let room = match name.as_str().unwrap() {
            "m" => 1e-3 * truth,
            "I_xx" | "I_yy" | "I_zz" => 0.1 * truth,
            _ => continue,
        };
        assert!((estimate - truth).abs() < room, "{parameter}");
    }
}

/// The deviations of a link by those of another motion, in the mean (geometric).
fn ratio(own: &Value, other: &Value) -> f64 {
    let numbers = |x: &Value| -> Vec<f64> {
        x["deviations"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap().ln()).collect()
    };
    let (own, other) = (numbers(own), numbers(other));
    assert_eq!((own.len(), other.len()), (10, 10));
    ((own.iter().sum::<f64>() - other.iter().sum::<f64>()) / 10.0).exp()
}

/// Against the sway of the shipped problem, in equal time, of which six sevenths keep the limits where torques may be off: the torso by itself, and torso and leg together.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_motion_tells_twice_as_much_as_a_sway_at_length() {
    let folder = tempfile::tempdir().unwrap();
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/estimation/anymal_stand.toml");
    let beside = beside.to_str().unwrap();
    // As long as motions are by default: the same five times.
    let torso = [
        "--friction",
        "0.3",
        "--goal",
        "deviations",
        "--beside",
        beside,
        "--links",
        "base",
        "--duration",
        "5",
    ];
    let found = motion(folder.path(), &torso);
    assert_eq!((number(&found, "duration_s"), number(&found, "repeats")), (5.0, 5.0));
    let sway = &found["beside"]["whole"];
    let (friction, kept) = (number(&sway["used"], "friction"), &found["beside"]["within_limits"][0]);
    assert!((1.1..1.5).contains(&friction) && (0.8..0.92).contains(&kept.as_f64().unwrap()), "{sway}");
    let torso = ratio(&found["deviations"][0], &sway["deviations"][0]);
    assert!(torso < 0.5, "{torso}");
    let leg = [
        "--friction",
        "0.3",
        "--goal",
        "posterior",
        "--beside",
        beside,
        "--links",
        "base,LF_HIP,LF_THIGH,LF_SHANK",
    ];
    let found = motion(folder.path(), &leg);
    let told = number(&found, "told_directions");
    assert!((20.0..=40.0).contains(&told), "{told}");
    let gained = number(&found, "log_determinant") - number(&found["beside"]["whole"], "log_determinant");
    assert!((gained / told).exp() < 0.5, "{gained} {told}");
}

/// For all links at once none need be named.
#[test]
fn no_link_need_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments =
        [&["excite"], &ANYMAL[..], &["--evaluations", "3", "--out", out.to_str().unwrap()]].concat();
    let output = surelift(&arguments);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        (summary(&out)["deviations"].as_array().unwrap().len(), number(&summary(&out), "told_directions")),
        (0, 0.0)
    );
}

/// A sway that asks for more friction than there is is compared as it is, and made smaller.
#[test]
fn a_sway_that_would_slip_is_made_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let file = problem(folder.path(), &[(SWAY, &SWAY.replace("0.03,", "0.06,"))]);
    let found =
        motion(&folder.path().join("out"), &["--friction", "0.3", "--evaluations", "5", "--beside", &file]);
    let whole = &found["beside"]["whole"];
    // Where a foot would lift it is infinite, which JSON does not know.
    let friction = &whole["used"].as_object().unwrap()["friction"];
    assert!(friction.as_f64().is_none_or(|share| share > 1.0), "{whole}");
    let [share, within] = [0, 1].map(|k| &found["beside"]["within_limits"][k]);
    assert!((0.3..1.0).contains(&share.as_f64().unwrap()), "{share}");
    let shares = within["used"].as_object().unwrap().values().map(|x| x.as_f64().unwrap());
    let most = shares.fold(0.0, f64::max);
    // The largest that does, about.
    assert!((0.95..=1.0).contains(&most), "{within}");
    assert!(ratio(&within["deviations"][0], &whole["deviations"][0]) > 1.0);
}

const Z: &str = "0.0, 0.0, 0.45, 0.0, 0.0, 0.0, 1.0";
const AT_ZERO: &str = "0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0";

#[test]
fn feet_that_would_slip_or_lift_are_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let found = motion(&folder.path().join("motion"), &["--friction", "0.4", "--evaluations", "10"]);
    let follow = |friction: &str| {
        let contact = format!("[[contact]]\nfriction = {friction}");
        let ours =
            [(Z, AT_ZERO), (SWAY, "motion = \"motion/summary.json\""), ("[[contact]]", contact.as_str())];
        let file = problem(folder.path(), &ours);
        surelift(&["estimate", &file, "--out", folder.path().join("out").to_str().unwrap()])
    };
    // Half of what the motion asks for.
    let slips = follow(&format!("{:.3}", 0.5 * 0.4 * number(&found["used"], "friction")));
    assert_eq!(slips.status.code(), Some(2));
    assert!(said(&slips).contains("would slip"), "{}", said(&slips));
    assert!(said(&follow("-1.0")).contains("contact[0].friction"));
    // Down, and up again, faster than things fall.
    let path = folder.path().join("motion/summary.json");
    let mut changed = summary(&folder.path().join("motion"));
    for coordinate in changed["coefficients"].as_array_mut().unwrap() {
        coordinate.as_array_mut().unwrap().iter_mut().for_each(|pair| *pair = serde_json::json!([0.0, 0.0]));
    }
    changed["duration_s"] = 0.5.into();
    changed["coefficients"][2][0] = serde_json::json!([0.0, 0.6]);
    std::fs::write(&path, changed.to_string()).unwrap();
    let lifts = follow("0.6");
    assert!(said(&lifts).contains("would lift") || said(&lifts).contains("would slip"), "{}", said(&lifts));
    changed["robot"] = "go1".into();
    std::fs::write(&path, changed.to_string()).unwrap();
    assert!(said(&follow("0.6")).contains("is a motion of `go1`, expected one of `anymal_b`"));
    std::fs::write(&path, "{}").unwrap();
    let damaged = follow("0.6");
    assert!(
        said(&damaged).contains("simulate.posture.motion") && said(&damaged).contains("summary.json"),
        "{}",
        said(&damaged)
    );
}

/// A robot that follows its motion: its name, what it stands on, options, coefficient of friction, half sizes of its soles.
struct Follower {
    robot: &'static str,
    feet: &'static str,
    stand: &'static str,
    friction: f64,
    sole_m: Option<[f64; 2]>,
}

const QUADRUPED: &str = "FL_foot,FR_foot,RL_foot,RR_foot";
const TALOS: &str =
    "0,0.1,0.2,0.4,0,-1,0,0,0,-0.3,-0.2,-0.4,0,-1,0,0,0,-0.3,0,0,0,0,-0.4,0.8,-0.4,0,0,0,-0.4,0.8,-0.4,0";

impl Follower {
    /// The motion, found by a short search.
    fn motion(&self, out: &Path, goal: &str) -> Value {
        let stand = format!("--stand={}", self.stand);
        let friction = self.friction.to_string();
        let mut arguments =
            vec!["excite", self.robot, "--contacts", self.feet, &stand, "--friction", &friction];
        let sole = self.sole_m.map(|[x, y]| format!("--sole={x},{y}"));
        arguments.extend(sole.as_deref());
        let link = if self.robot == "talos_reduced" { "torso_2_link" } else { "base" };
        arguments.extend(["--duration", "2", "--evaluations", "30", "--goal", goal, "--links", link]);
        arguments.extend(["--out", out.to_str().unwrap()]);
        let output = surelift(&arguments);
        assert!(output.status.success(), "{}: {}", self.robot, said(&output));
        summary(out)
    }

    /// What the program says of a robot that follows the motion in `folder`, its torques off by the deviation that the motion allows for.
    fn follow(&self, folder: &Path, found: &Value, friction: f64, sole_m: Option<[f64; 2]>) -> String {
        let deviation = number(found, "torque_deviation_nm");
        let feet = self.feet.split(',').map(|foot| {
            let sole = sole_m.map(|sole| format!("kind = \"rigid\"\nsole_m = {sole:?}\n"));
            format!("[[contact]]\nframe = \"{foot}\"\nfriction = {friction}\n{}", sole.unwrap_or_default())
        });
        // One iteration: what is asked is whether the simulated robot stands.
        let text = format!(
            "schema = 1\nname = \"follower\"\ndescription = \"A robot follows its motion.\"\nrobot = \"{}\"\nstep_s = 0.002\nformulation = \"inverse\"\nfriction_speed_rad_s = 0.1\n\
             {}[simulate]\nduration_s = {}\nseed = 1\nstart_rad = {}\n[simulate.posture]\nbandwidth_rad_s = 20.0\n\
             motion = \"motion/summary.json\"\n[simulate.noise]\nq_rad = 1e-3\ndq_rad_s = 1e-2\ntau_nm = {deviation}\n\
             [deviations]\nq_rad = 1e-3\ndq_rad_s = 1e-2\ntau_nm = 0.1\nfirst_q_rad = 1.0\n[[body]]\nlink = \"{}\"\n\
             coordinates = \"exponential_eigenvalue\"\ndeviation = 1.0\n[solver]\niterations = 1\n",
            self.robot,
            feet.collect::<String>(),
            number(found, "duration_s"),
            found["start"],
            found["deviations"][0]["link"].as_str().unwrap(),
        );
        let file = folder.join("follower.toml");
        std::fs::write(&file, text).unwrap();
        let out = folder.join("out");
        let output = surelift(&["estimate", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let slipped = said(&output).contains("would");
        // Without it the data are there, converged or not.
        assert_eq!(out.join("summary.json").exists(), !slipped, "{}", said(&output));
        let _ = std::fs::remove_dir_all(out);
        said(&output)
    }
}

/// On ground that holds no more than what the motion was made for, feet neither slip nor lift, and soles do not tilt; with a third of what the motion uses they do.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn feet_stay_where_they_stand_at_length() {
    let folder = tempfile::tempdir().unwrap();
    let quadruped =
        |robot, friction| Follower { robot, feet: QUADRUPED, stand: "0,0.8,-1.6", friction, sole_m: None };
    let anymal =
        Follower { robot: ANYMAL[0], feet: ANYMAL[2], stand: ANYMAL[4], friction: 0.3, sole_m: None };
    let talos = Follower {
        robot: "talos_reduced",
        feet: "left_sole,right_sole",
        stand: TALOS,
        friction: 0.6,
        sole_m: Some([0.1, 0.06]),
    };
    let all = [
        (quadruped("go1", 0.5), "condition"),
        (quadruped("b1", 0.5), "deviations"),
        (anymal, "deviations"),
        (talos, "deviations"),
    ];
    for (robot, goal) in all {
        let found = robot.motion(&folder.path().join("motion"), goal);
        let stands = robot.follow(folder.path(), &found, robot.friction, robot.sole_m);
        assert!(!stands.contains("would"), "{}: {stands}", robot.robot);
        let share = |limit: &str| number(&found["used"], limit);
        let slips =
            robot.follow(folder.path(), &found, robot.friction * share("friction") / 3.0, robot.sole_m);
        assert!(slips.contains("would slip"), "{}: {slips}", robot.robot);
        if let Some(sole) = robot.sole_m {
            let tilts = robot.follow(
                folder.path(),
                &found,
                robot.friction,
                Some(sole.map(|x| 0.5 * x * share("pressure"))),
            );
            assert!(tilts.contains("would tilt"), "{}: {tilts}", robot.robot);
        }
        std::fs::remove_dir_all(folder.path().join("motion")).unwrap();
    }
}

/// Soles are of rigid contacts on ground with friction.
#[test]
fn a_sole_belongs_to_a_rigid_foot() {
    let folder = tempfile::tempdir().unwrap();
    for (sole, culprit) in [
        ("friction = 0.5\nsole_m = [0.1, 0.1]", "contact[0].sole_m: expected `kind = \"rigid\"`"),
        ("kind = \"rigid\"\nsole_m = [0.1, 0.1]", "contact[0].sole_m: expected `kind = \"rigid\"`"),
        (
            "kind = \"rigid\"\nfriction = 0.5\nsole_m = [0.1, 0.0]",
            "contact[0].sole_m: 0, expected a positive",
        ),
        ("kind = \"rigid\"\nfriction = 0.5\nsole_m = [nan, 0.1]", "contact[0].sole_m: NaN"),
    ] {
        let contact = format!("[[contact]]\n{sole}");
        let file = problem(folder.path(), &[("[[contact]]", contact.as_str())]);
        let out = folder.path().join("out");
        let output = surelift(&["estimate", &file, "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(culprit), "{sole}: {}", said(&output));
        assert!(!out.exists());
    }
}

#[test]
fn bad_input_names_its_culprit() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for (arguments, culprit) in [
        (&["excite", "anymal_b", "--contacts", "NOSE", "--stand", "0"][..], "no frame `NOSE`"),
        (&["excite", "kinova_gen3", "--contacts", "tool", "--stand", "0"], "kinova_gen3"),
        (&["excite", "anymal_b", "--contacts", "LF_FOOT", "--stand", "0,1,2,3,4"], "--stand: 5 angles"),
        (
            &["excite", "go1", "--contacts", "FL_foot,FR_foot,RL_foot,RR_foot", "--stand", "0"],
            "singular posture",
        ),
        (&["excite", "anymal_b", "--contacts", "LF_FOOT", "--stand", "NaN"], "start: entry 7 is NaN"),
        (
            &["excite", "anymal_b", "--contacts", "LF_FOOT,LF_FOOT", "--stand", "0.1"],
            "`LF_FOOT`: 0 joints of its own",
        ),
    ] {
        let output = surelift(&[arguments, &["--out", out]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(culprit), "{arguments:?}: {}", said(&output));
    }
    for (more, culprit) in [
        (&["--friction", "0"][..], "friction"),
        (&["--duration", "0"], "duration"),
        (&["--duration", "601"], "duration: 601 s"),
        (&["--repeats", "0"], "--repeats"),
        (&["--duration", "2", "--repeats", "21"], "repeats: 21 in 2 s, expected 1 to 6"),
        (&["--duration", "1.6", "--repeats", "6"], "repeats: 6 in 1.6 s, expected 1 to 5"),
        (&["--torque-deviation-nm", "50"], "with torques off by 200 N m"),
        (&["--links", "base,base"], "`base` twice"),
        (&["--motions", "2"], "--contacts"),
        (&["--unknown", "friction"], "--contacts"),
        (&["--least-singular-value", "0.1"], "--contacts"),
        (&["--sole", "0.1"], "--sole"),
        (&["--links", "nobody"], "no link `nobody`"),
        (&["--goal", "deviations"], "links"),
        (&["--goal", "posterior"], "links"),
        (&["--clearance-m", "0"], "clearance"),
        (&["--clearance-m", "NaN"], "clearance"),
        // Its legs are nearer to its trunk where it starts.
        (&["--clearance-m", "0.3"], "m apart, expected 0.3333 m"),
        (&["--torque-deviation-nm", "0"], "torque deviation"),
        (&["--torque-deviation-nm", "NaN"], "torque deviation"),
        (&["--beside", "nothing.toml"], "nothing.toml"),
        (&["--beside", "scenarios/estimation/talos_stand.toml"], "is about robot `talos_reduced`"),
        (&["--beside", "scenarios/estimation/double_pendulum.toml"], "simulate.posture"),
    ] {
        let output = surelift(&[&["excite"], &ANYMAL[..], more, &["--out", out]].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", said(&output));
        assert!(said(&output).contains(culprit), "{more:?}: {}", said(&output));
    }
    assert!(!Path::new(out).exists());
}
