use std::path::{Path, PathBuf};

use super::*;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn shipped(name: &str) -> PathBuf {
    Path::new(ROOT).join("scenarios/estimation").join(name)
}

/// The shipped problem with text replaced, in a folder of its own; paths stay valid because they are made absolute.
fn changed(name: &str, changes: &[(&str, &str)]) -> Result<EstimationStudy, EstimateError> {
    let mut text = std::fs::read_to_string(shipped(name)).unwrap();
    text = text.replace("robots/", &format!("{ROOT}/robots/"));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    EstimationStudy::load(path)
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_arm_finds_its_payload_at_length() {
    let result = EstimationStudy::load(shipped("gen3_payload.toml")).unwrap().run().unwrap();
    assert_eq!(result.status, "converged");
    let mass = result.parameter("bracelet_link", "m").unwrap();
    // The start is 1.28 kg, the truth 4.91 kg.
    assert!((mass.estimate - mass.truth.unwrap()).abs() < 0.01, "{mass:?}");
    assert!(mass.deviation.unwrap() < 0.01);
    let viscous = result.parameter("joint_2", "F_v").unwrap();
    assert!((viscous.estimate - 6.0).abs() < 0.2, "{viscous:?}");
    assert!(result.state_error.unwrap() < 0.01);
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    // The cost is half a chi square with two measured numbers a state: the noise is explained, no more and no less.
    let expected = 7.0 * result.samples as f64;
    assert!((result.cost / expected - 1.0).abs() < 0.05, "{} against {expected}", result.cost);
}

/// The first steps of these recordings would change logarithms of the payload's inertia by up to 26: taken whole or in large parts,
/// they end in places from where no way leads back.
#[test]
fn the_arm_finds_its_payload_where_the_first_steps_are_wild() {
    for seed in ["seed = 5", "seed = 19"] {
        let changes = [("seed = 1", seed), ("duration_s = 4.0", "duration_s = 2.0")];
        let mut study = changed("gen3_payload.toml", &changes).unwrap();
        study.options.marginal = true;
        let result = study.run().unwrap();
        assert_eq!(result.status, "converged", "{seed}");
        assert!(result.iterations < 60, "{seed}: {}", result.iterations);
        for row in &result.parameters {
            let (truth, deviation) = (row.truth.unwrap(), row.deviation.unwrap());
            assert!((row.estimate - truth).abs() < 4.0 * deviation, "{seed}: {row:?}");
        }
    }
}

#[test]
fn the_pendulum_finds_what_its_motion_tells() {
    let result = EstimationStudy::load(shipped("double_pendulum.toml")).unwrap().run().unwrap();
    assert_eq!(result.status, "converged");
    // Both links rotate about parallel axes: of twenty inertial parameters these and the friction are seen.
    for (place, name, error) in
        [("link2", "h_x", 0.005), ("link2", "I_zz", 0.01), ("joint1", "F_v", 0.005), ("joint2", "F_v", 0.01)]
    {
        let row = result.parameter(place, name).unwrap();
        let truth = row.truth.unwrap();
        assert!((row.estimate - truth).abs() < error * truth.abs(), "{row:?}");
        assert!((row.start - truth).abs() > 0.5 * truth.abs(), "the start is no estimate: {row:?}");
    }
    let base = result.base.as_ref().unwrap();
    assert!(base.of == 22 && base.parameters.len() <= 12, "{base:?}");
    let told = format!("torques tell {} combinations of the 22 parameters apart", base.parameters.len());
    assert!(result.warnings.iter().any(|w| w.contains(&told)), "{:?}", result.warnings);
}

#[test]
fn the_quadrotor_finds_its_payload() {
    let result = EstimationStudy::load(shipped("hector_payload.toml")).unwrap().run().unwrap();
    assert_eq!(result.status, "converged");
    let mass = result.parameter("base_link", "m").unwrap();
    assert!((mass.estimate - mass.truth.unwrap()).abs() < 0.02, "{mass:?}");
    assert!(result.state_error.unwrap() < 0.05, "{:?}", result.state_error);
}

/// Sensors on three motors, the calf driven through its linkage.
#[test]
fn the_four_bar_leg_finds_its_tool_and_the_friction_of_its_motor() {
    let result = EstimationStudy::load(shipped("b1_leg.toml")).unwrap().run().unwrap();
    assert_eq!(result.status, "converged");
    assert_eq!(result.parameters.len(), 16);
    for row in &result.parameters {
        let (truth, deviation) = (row.truth.unwrap(), row.deviation.unwrap());
        assert!((row.estimate - truth).abs() < 3.0 * deviation, "{row:?}");
    }
    let (mass, height) = (result.parameter("FL_calf", "m"), result.parameter("FL_crank_joint", "g_0"));
    assert!(mass.unwrap().deviation.unwrap() < 0.002 && height.unwrap().deviation.unwrap() < 0.02);
    assert!(result.state_error.unwrap() < 0.05, "{:?}", result.state_error);
}

/// Three loops, sensors on six motors of fifteen joints.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_leg_of_digit_finds_friction_armature_and_offset_of_its_motors_at_length() {
    let study = EstimationStudy::load(shipped("digit_leg.toml")).unwrap();
    assert_eq!((study.robot.joints.len(), study.contacts.constraints.len()), (15, 3));
    let result = study.run().unwrap();
    assert_eq!(result.status, "converged");
    assert_eq!(result.parameters.len(), 24);
    for row in &result.parameters {
        let (truth, deviation) = (row.truth.unwrap(), row.deviation.unwrap());
        assert!((row.estimate - truth).abs() < 4.0 * deviation, "{row:?}");
        // The prior is wide: motion told all of them.
        let limit = if row.name == "I_a" { 0.003 } else { 0.03 };
        assert!(deviation < limit, "{row:?}");
    }
}

/// The leg was simulated with a line up to 0.1 rad/s. It is found from far above and from far below, and with it what was drawn.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_speed_up_to_which_friction_is_a_line_is_found_at_length() {
    for stated in [0.6, 0.013] {
        let shorter = [
            ("duration_s = 3.0", "duration_s = 1.5"),
            ("marginal = true", "marginal = true\nfriction_speed = \"found\""),
        ];
        let mut study = changed("digit_leg.toml", &shorter).unwrap();
        std::sync::Arc::make_mut(&mut study.robot).friction_speed_rad_s = stated;
        study.settle_friction_speed().unwrap();
        let found = study.robot.friction_speed_rad_s;
        assert!((found / 0.1).ln().abs() < 1.3f64.ln(), "{stated}: {found}");
        assert!(study.notes.iter().any(|note| note.contains("straight line below")), "{:?}", study.notes);
        study.friction_speed = FrictionSpeedUse::Stated;
        for row in study.run().unwrap().parameters {
            let off = (row.estimate - row.truth.unwrap()) / row.deviation.unwrap();
            assert!(off.abs() < 4.0, "{row:?}");
        }
    }
}

/// What the sensors of the simulated leg say, in a file of all motors of the robot: the other limbs' are still.
fn whole_digit(study: &EstimationStudy) -> (String, Vec<usize>) {
    let held = crate::robot::load_model("digit").unwrap().with_base_held();
    let driven = held.joints.iter().filter(|joint| joint.limits.torque > 0.0);
    let place = |name: &str| study.robot.joints.iter().position(|joint| joint.name == name);
    let places: Vec<Option<usize>> = driven.map(|joint| place(&joint.name)).collect();
    let names = ["q", "dq", "tau"].iter().flat_map(|x| (1..=places.len()).map(move |j| format!(",{x}{j}")));
    let mut text = format!("t{}", names.collect::<String>());
    for s in &study.samples {
        text += &format!("\n{}", s.t);
        for numbers in [&s.q, &s.dq, &s.tau] {
            places.iter().for_each(|p| text += &format!(",{}", p.map_or(0.0, |k| numbers[k])));
        }
    }
    (text + "\n", places.into_iter().flatten().collect())
}

#[test]
fn a_limb_is_estimated_from_a_log_of_all_motors() {
    let study = changed("digit_leg.toml", &[("duration_s = 3.0", "duration_s = 0.6")]).unwrap();
    let (text, motors) = whole_digit(&study);
    assert_eq!(motors.len(), 6);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log.csv"), text).unwrap();
    let from_log = |changes: &[(&str, &str)]| {
        let text = std::fs::read_to_string(shipped("digit_leg.toml")).unwrap();
        let (head, rest) = text.split_once("# Who reads the truth").unwrap();
        let (_, tail) = rest.split_once("# What the estimator assumes.").unwrap();
        let mut text = format!("{head}[log]\nfile = \"log.csv\"\n#{tail}noise = \"stated\"\n");
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        let problem = folder.path().join("p.toml");
        std::fs::write(&problem, text).unwrap();
        EstimationStudy::load(problem)
    };
    let logged = from_log(&[]).unwrap();
    assert_eq!(logged.samples.len(), study.samples.len());
    for (a, b) in logged.samples.iter().zip(&study.samples) {
        let same = |x: &[f64], y: &[f64]| motors.iter().all(|&k| x[k] == y[k]);
        assert!(same(&a.q, &b.q) && same(&a.dq, &b.dq) && same(&a.tau, &b.tau));
        let passive = || (0..15).filter(|k| !motors.contains(k));
        assert!(passive().all(|k| a.q[k] == 0.0 && a.tau[k] == 0.0));
    }
    // Both know the same, but where the passive joints began.
    let (one, other) = (logged.run().unwrap(), study.run().unwrap());
    assert_eq!(one.status, "converged");
    for (a, b) in one.parameters.iter().zip(&other.parameters) {
        assert!((a.estimate - b.estimate).abs() < 0.1 * b.deviation.unwrap(), "{a:?} {b:?}");
    }
    let believed = from_log(&[("1e-4, inf,", "1e-4, 1e-4,")]).unwrap_err().to_string();
    assert!(believed.contains("deviations.q_rad: 0.0001 for joint `left_tarsus`"), "{believed}");
    let unknown = from_log(&[("limb = \"left_knee\"", "limb = \"knee\"")]).unwrap_err().to_string();
    assert!(unknown.contains("limb: no joint `knee` of `digit`"), "{unknown}");
    let whole = from_log(&[]).unwrap().validated_on(&folder.path().join("log.csv")).unwrap_err().to_string();
    assert!(whole.contains("closed loops are not predicted"), "{whole}");
}

#[test]
fn a_log_file_gives_what_the_simulator_gives() {
    let study = changed("gen3_payload.toml", &[("duration_s = 4.0", "duration_s = 0.4")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.csv");
    let write = |skip: usize| {
        let mut text = String::from("t");
        for name in ["q", "dq", "tau"] {
            (1..=7).for_each(|j| text += &format!(",{name}{j}"));
        }
        for (k, s) in study.samples.iter().enumerate().filter(|(k, _)| *k != skip) {
            text += &format!("\n{}", 0.002 * k as f64);
            s.q.iter().chain(&s.dq).chain(&s.tau).for_each(|x| text += &format!(",{x}"));
        }
        std::fs::write(&path, text + "\n").unwrap();
    };
    let from_log = || {
        let log = format!("[log]\nfile = \"{}\"\n[simulated_before]", path.display());
        let text = std::fs::read_to_string(shipped("gen3_payload.toml")).unwrap();
        let text = text.replace("robots/", &format!("{ROOT}/robots/"));
        let (head, rest) = text.split_once("[simulate]").unwrap();
        let (_, tail) = rest.split_once("# What the estimator assumes.").unwrap();
        let problem = folder.path().join("p.toml");
        let log = log.replace("[simulated_before]", "");
        std::fs::write(&problem, format!("{head}{log}{tail}")).unwrap();
        EstimationStudy::load(problem)
    };
    write(usize::MAX);
    let logged = from_log().unwrap();
    assert_eq!(logged.samples.len(), 200);
    let pairs = logged.samples.iter().zip(&study.samples);
    assert!(pairs.flat_map(|(a, b)| a.q.iter().zip(&b.q)).all(|(a, b)| a == b));
    assert!(logged.reveal().is_none(), "a log has no truth");
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to, line, expected) in [
        ("\n0.002,", "\n0.002,0.0,", "line 3", "23 fields"),
        ("\n0.002,", "\nnan,", "line 3", "`nan`, expected a finite number"),
        ("\n0,", "\ninf,", "line 2", "`inf`, expected a finite number"),
    ] {
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let told = from_log().unwrap_err().to_string();
        assert!(told.contains(line) && told.contains(expected), "{told}");
    }
    let head = good.lines().take(2).collect::<Vec<_>>().join("\n");
    std::fs::write(&path, head + "\n").unwrap();
    let short = from_log().unwrap_err().to_string();
    assert!(short.contains("log.csv") && short.contains("1 samples, expected at least 2"), "{short}");
    write(57);
    // A sample that is missing makes a longer interval.
    let study = from_log().unwrap();
    assert_eq!((study.samples.len(), study.step_s), (199, 0.002));
    assert!((study.intervals_s[56] - 0.004).abs() < 1e-12 && (study.intervals_s[57] - 0.002).abs() < 1e-12);
    write(usize::MAX);
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replace("\n0.05,", "\n0.0495,")).unwrap();
    assert!((from_log().unwrap().intervals_s[24] - 0.0015).abs() < 1e-12);
}

/// The same recording in one file and in two, by columns in another order, in degrees, and with the stamps as they are.
#[test]
fn logs_go_in_as_they_are() {
    let study = changed("double_pendulum.toml", &[("duration_s = 3.0", "duration_s = 0.4")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Torque before speed: by their places they would be taken for each other.
    let write = |name: &str, from: usize, to: usize| {
        let mut text = String::from("t,q1,q2,tau1,tau2,dq1,dq2,note");
        for s in &study.samples[from..to] {
            text += &format!("\n{},{},{}", s.t, s.q[0].to_degrees(), s.q[1].to_degrees());
            text +=
                &format!(",{},{},{},{},x", s.tau[0], s.tau[1], s.dq[0].to_degrees(), s.dq[1].to_degrees());
        }
        std::fs::write(folder.path().join(name), text + "\n").unwrap();
    };
    write("whole.csv", 0, 200);
    write("first.csv", 0, 120);
    write("second.csv", 120, 200);
    let load = |logs: &str| {
        let text = std::fs::read_to_string(shipped("double_pendulum.toml")).unwrap();
        let text = text.replace("robots/", &format!("{ROOT}/robots/")).replace("step_s = 0.002\n", "");
        let (head, rest) = text.split_once("[simulate]").unwrap();
        let (_, tail) = rest.split_once("# What the estimator assumes.").unwrap();
        let path = folder.path().join("p.toml");
        std::fs::write(&path, format!("{head}{logs}{tail}")).unwrap();
        EstimationStudy::load(path)
    };
    let whole = load("[log]\nfile = \"whole.csv\"\ndegrees = true\n").unwrap();
    let pairs = || whole.samples.iter().zip(&study.samples);
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(pairs().all(|(a, b)| same(&a.q, &b.q) && same(&a.dq, &b.dq) && same(&a.tau, &b.tau)));
    assert!((whole.step_s - 0.002).abs() < 1e-12 && whole.notes.iter().any(|n| n.contains("ignored: note")));
    let log = |name: &str, more: &str| format!("[[log]]\nfile = \"{name}\"\ndegrees = true\n{more}");
    let two = load(&(log("first.csv", "") + &log("second.csv", "range_s = [0.3, 1.0]\n"))).unwrap();
    assert_eq!((two.samples.len(), two.samples[120].t), (170, 0.3));
    assert!(two.intervals_s[119].is_infinite() && two.intervals_s[118].is_finite());
    // A gap costs three readings' worth of what it hides, no more: both tell the same.
    let (one, other) = (whole.run().unwrap(), two.run().unwrap());
    assert_eq!((&one.status[..], &other.status[..]), ("converged", "converged"));
    let row = |r: &StudyResult| r.parameter("link2", "h_x").unwrap().clone();
    let (a, b) = (row(&one), row(&other));
    assert!((a.estimate - b.estimate).abs() < 3.0 * b.deviation.unwrap(), "{a:?} {b:?}");
    for (logs, expected) in [
        ("[log]\nfile = \"none.csv\"\n".to_owned(), "none.csv"),
        ("[log]\nfile = \"whole.csv\"\nunit = \"deg\"\n".to_owned(), "unknown field `unit`"),
        (log("whole.csv", "range_s = [5.0, 6.0]\n"), "0 samples"),
        (log("whole.csv", "range_s = [0.3, 0.1]\n"), "expected the first time before the second"),
        (log("whole.csv", "gap_periods = nan\n"), "expected more than 1"),
        ("log = 3\n".to_owned(), "a table `log`"),
        ("step_s = 0.004\n".to_owned() + &log("whole.csv", ""), "expected 0.004 s as `step_s` says"),
        (String::new(), "log / simulate"),
    ] {
        let error = load(&logs).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn data_that_say_nothing_are_told() {
    // Without gravity torques about joint 1 and with no motion: most of the payload's inertia is not seen.
    let still = [(
        "amplitude_rad = [0.12, 0.12, 0.12, 0.12, 0.15, 0.15, 0.2]",
        "amplitude_rad = [0, 0, 0, 0, 0, 0, 0]",
    )];
    let result = changed("gen3_payload.toml", &still).unwrap().run().unwrap();
    let told = result.warnings.iter().any(|w| w.contains("prior alone") && w.contains("bracelet_link I_"));
    assert!(told, "{:?}", result.warnings);
}

/// The work that a meter tells agrees with the model to the meter's noise, and it makes friction known better.
#[test]
fn a_meter_of_work_tells_of_friction() {
    let short = ("step_s = 0.002\n", "step_s = 0.002\nformulation = \"inverse\"\n");
    let metered = "[energy]\nsource = \"meter\"\ndeviation_j = 1e-6\nnoise_j = 1e-6\n\n[[body]]";
    let run = |changes: &[(&str, &str)]| changed("double_pendulum.toml", changes).unwrap().run().unwrap();
    let (without, with) = (run(&[short]), run(&[short, ("[[body]]", metered)]));
    assert_eq!(with.status, "converged");
    for joint in ["joint1", "joint2"] {
        let deviation = |r: &StudyResult| r.parameter(joint, "F_v").unwrap().deviation.unwrap();
        assert!(
            deviation(&with) < 0.95 * deviation(&without),
            "{} {}",
            deviation(&with),
            deviation(&without)
        );
        let row = with.parameter(joint, "F_v").unwrap();
        assert!((row.estimate - row.truth.unwrap()).abs() < 5.0 * row.deviation.unwrap(), "{row:?}");
    }
    // One more number a sample, each explained by its noise.
    let added = (with.cost - without.cost) / (0.5 * with.samples as f64);
    assert!((added - 1.0).abs() < 0.25, "{added}");
}

/// Without a prior such directions are open altogether, and nothing is claimed about what they move.
#[test]
fn directions_that_nothing_tells_of_are_named() {
    let prior = ("deviation = [1.0, 2.0, 2.0, 2.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]\n", "");
    let short = ("duration_s = 3.0", "duration_s = 0.4");
    let result = changed("double_pendulum.toml", &[prior, prior, short]).unwrap().run().unwrap();
    let told = |w: &String| w.contains("what else is in the table is the prior's, or open");
    assert!(result.warnings.iter().any(told), "{:?}", result.warnings);
    // Where along its axis a pendulum's mass sits moves nothing.
    assert_eq!(result.parameter("link2", "h_z").unwrap().deviation, None);
}

#[test]
fn bad_energies_name_the_field() {
    let told = |energy: &str, more: &[(&str, &str)]| {
        let energy = format!("[energy]\n{energy}\n\n[[body]]");
        let changes: Vec<_> = more
            .iter()
            .copied()
            .chain([("duration_s = 4.0", "duration_s = 0.1"), ("[[body]]", &energy)])
            .collect();
        changed("gen3_payload.toml", &changes).unwrap_err().to_string()
    };
    assert!(told("source = \"meter\"\ndeviation_j = 0.0", &[]).contains("energy.deviation_j: 0"));
    assert!(told("source = \"meter\"\ndeviation_j = inf", &[]).contains("energy.deviation_j: inf"));
    assert!(told("source = \"meter\"", &[]).contains("deviation_j"));
    assert!(
        told("source = \"meter\"\ndeviation_j = 1.0\nnoise_j = nan", &[]).contains("energy.noise_j: NaN")
    );
    assert!(told("source = \"sun\"\ndeviation_j = 1.0", &[]).contains("source"));
    let gain = ("parameters = [\"coulomb\", \"viscous\"]", "parameters = [\"coulomb\", \"gain\"]");
    assert!(
        told("source = \"joints\"\ndeviation_j = 1.0", &[gain])
            .contains("energy.source: `joints` knows no work")
    );
    let unseen = ("dq_rad_s = 2e-3\ntau_nm = 0.2\n\n[[body]]", "dq_rad_s = inf\ntau_nm = 0.2\n\n[[body]]");
    assert!(told("source = \"joints\"\ndeviation_j = 1.0", &[unseen]).contains("needs measured velocities"));
}

#[test]
fn bad_files_name_the_field() {
    let cases = [
        ("schema = 1", "schema = 9", "schema: 9, expected 1"),
        ("step_s = 0.002", "step_s = 0.0", "step_s: 0, expected a positive"),
        ("robots/kinova_gen3_2f85.toml\"\nstep", "robots/none.toml\"\nstep", "robot: "),
        ("tau_nm = 0.2\n\n[[body]]", "\n[[body]]", "missing field `tau_nm`"),
        (
            "dq_rad_s = 2e-3\ntau_nm = 0.2\n\n[[body]]",
            "dq_rad_s = -1.0\ntau_nm = 0.2\n\n[[body]]",
            "deviations.dq_rad_s: -1",
        ),
        (
            "q_rad = 1e-4\ndq_rad_s = 2e-3\ntau_nm = 0.2\n\n[[body]]",
            "q_rad = [1.0]\ndq_rad_s = 2e-3\ntau_nm = 0.2\n\n[[body]]",
            "1 numbers, expected one or 7",
        ),
        (
            "link = \"bracelet_link\"\ncoord",
            "link = \"bracelet\"\ncoord",
            "body[0].link: no moving link `bracelet`",
        ),
        ("mass_kg = 3.62874", "mass_kg = -30.0", "truth: link `bracelet_link`"),
        ("value = 6.0", "value = nan", "truth.joint[0].value: NaN, expected finite numbers"),
        ("start_rad = [0.0, ", "start_rad = [", "simulate.start_rad: 6 numbers, expected 7"),
        ("duration_s = 4.0", "duration_s = 0.0", "simulate.duration_s"),
        (
            "frequency_hz = 0.35",
            "frequency_hz = 0.0",
            "simulate.sines.frequency_hz: 0, expected a finite number > 0",
        ),
        ("bandwidth_rad_s = 15.0", "bandwidth_rad_s = nan", "simulate.sines.bandwidth_rad_s: NaN"),
        ("amplitude_rad = [0.12, ", "amplitude_rad = [inf, ", "simulate.sines.amplitude_rad: contains inf"),
        ("q_rad = 1e-4\ndq", "q_rad = nan\ndq", "simulate.noise.q_rad: NaN"),
        (
            "parameters = [\"coulomb\", \"viscous\"]",
            "parameters = [\"coulomb\", \"coulomb\"]",
            "estimated twice",
        ),
    ];
    for (from, to, expected) in cases {
        let from = from.replace("robots/", &format!("{ROOT}/robots/"));
        let error = changed("gen3_payload.toml", &[(&from, to)]).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("gen3_payload.toml"), "{to}: {error}");
    }
}

#[test]
fn bad_legged_files_name_the_field() {
    let cases = [
        (
            "0.0, 0.0, 0.0, 1.0, 0.0, 0.8",
            "0.0, 0.0, 0.0, 0.5, 0.0, 0.8",
            "simulate.start_rad: the base's quaternion",
        ),
        ("bandwidth_rad_s = 20.0", "bandwidth_rad_s = -1.0", "simulate.posture.bandwidth_rad_s: -1"),
        ("amplitude_rad = 0.4", "amplitude_rad = nan", "simulate.posture.joint[0]: NaN"),
        ("sway = [[0.01,", "sway = [[inf,", "simulate.posture.sway: inf"),
    ];
    for (from, to, expected) in cases {
        let error = changed("b1_z1_stand.toml", &[(from, to)]).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("b1_z1_stand.toml"), "{to}: {error}");
    }
}

/// A body that is almost gone is named, by mass and by inertia; one that only shrank is not; no number is a collapse.
#[test]
fn a_body_that_is_almost_gone_is_named() {
    let study = EstimationStudy::load(shipped("double_pendulum.toml")).unwrap();
    let problem = study.problem().unwrap();
    let start = problem.guess_theta().to_vec();
    // The first coordinate scales the whole body by its exponential's square.
    let lost = |change: f64| {
        let mut theta = start.clone();
        theta[0] += change;
        collapses(&problem, &start, &theta)
    };
    assert_eq!(lost(-0.5 * 29f64.ln()), Vec::<String>::new());
    let named = lost(-0.5 * 31f64.ln());
    let link = &study.robot.joints[study.map.bodies[0].0].link;
    assert!(named.len() == 2 && named.iter().all(|w| w.contains(&format!("`{link}`"))), "{named:?}");
    assert!(named[0].contains("kg, where") && named[1].contains("kg m^2"), "{named:?}");
    assert_eq!(lost(f64::NAN).len(), 2);
}
