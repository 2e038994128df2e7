use super::*;
use crate::report::figure::above;

/// Two joints and a light slide, known well: quick to search.
fn study() -> TuningProblem {
    let mut robot = crate::robot::fixture::small_robot();
    robot.stated().uncertainty.link_ratio = 0.01;
    for joint in &mut robot.joints {
        joint.friction.armature = 1.0;
        joint.friction.coulomb = 0.05;
    }
    let set = ParameterSet::around_nominal(&robot);
    let about = "a test".to_owned();
    TuningProblem::new("planar".into(), about, robot, set, vec![0.1, 0.4, 0.0], vec![0.3, 0.3, 0.1], 3.0)
}

fn quick() -> TuneOptions {
    TuneOptions { plans: 1, ..TuneOptions::default() }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_winner_is_proven_the_narrowest_and_holds_in_simulation_at_length() {
    let (study, options) = (study(), quick());
    let report = tune(&study, &options, &|_, _| ()).unwrap();
    let scores: Vec<f64> = report.useful.iter().map(|c| c.score(options.growth_m)).collect();
    let with_room = report.useful.iter().take_while(|c| c.has_room).count();
    assert!(
        scores[..with_room].is_sorted() && scores[with_room..].is_sorted() && scores.len() > 3,
        "{scores:?}"
    );
    assert!(with_room > 0 && report.useful[with_room..].iter().all(|c| !c.has_room), "{with_room}");
    // Room is what it is said to be: the same plans, a fifth less.
    let curves = study.curves(&options).unwrap();
    for candidate in &report.useful {
        let narrower = Gains { v_max: ROOM * candidate.gains.v_max, ..candidate.gains };
        let proven = measure::proven(&study.arm, narrower, &curves, CELLS).is_ok();
        assert_eq!(proven, candidate.has_room, "{candidate:?}");
    }
    assert!(report.proven.hold_share < 1.0 && report.proven.growth_m <= options.growth_m);
    assert!(report.simulated.plans == 1 && report.simulated.tube_used < 1.0, "{:?}", report.simulated);
    assert!(report.simulated.energy_used < 1.0);
    told_of_the_feedback(&study, &report, &options);
    // The same input, the same figures; and those of the gains alone.
    let mut own = study.clone();
    own.arm.robot = own.arm.robot.with_gains(report.winner().gains).unwrap();
    let alone = tune(&own, &TuneOptions { own_alone: true, ..options }, &|_, _| ()).unwrap();
    assert_eq!((alone.tried, &alone.simulated, &alone.feedback), (1, &report.simulated, &report.feedback));
    assert_eq!(alone.winner().gains, report.winner().gains);
}

/// What the report says of the feedback, and of what it says for other ages and sensors.
fn told_of_the_feedback(study: &TuningProblem, report: &Report, options: &TuneOptions) {
    let (gains, curves) = (report.winner().gains, study.curves(options).unwrap());
    let told =
        |study: &TuningProblem| feedback::feedback(&study.arm, gains, &curves, (&study.timing, options.seed));
    let found = &report.feedback;
    assert_eq!(*found, told(study).unwrap());
    let own = CycleTiming { period_s: 1e-3, latency_s: 0.0, delay_s: 0.0, jitter_s: 0.0, drive_lag_s: 0.0 };
    assert_eq!((study.timing, found.age_s), (own, own.age_s()));
    // The law acts within a few ticks: its gain is at least a part of what a tick may do to the transmission alone.
    assert!(found.velocity_gain.iter().all(|d| *d > 10.0 && *d < 1e5), "{found:?}");
    let margin = found.margin.unwrap();
    assert!(margin.crossover_hz > 5.0 && margin.crossover_hz < 1000.0, "{margin:?}");
    // Later readings leave less, and the same crossover.
    let late = TuningProblem { timing: CycleTiming { latency_s: 3e-3, ..own }, ..study.clone() };
    let later = told(&late).unwrap().margin.unwrap();
    assert_eq!(later.crossover_hz, margin.crossover_hz);
    assert!(later.phase_deg < margin.phase_deg - 360.0 * 3e-3, "{later:?} after {margin:?}");
    // Clean velocities make no noise; errors far below the tube make what the gains say.
    let noise = |velocity_rad_s: f64| {
        let mut study = study.clone();
        study.arm.robot.stated().sensors.velocity_rad_s = velocity_rad_s;
        let told = told(&study).unwrap();
        (told.torque_noise_nm, told.velocity_gain)
    };
    assert!(noise(0.0).0.iter().all(|noise| *noise == 0.0));
    let (heard, gain) = noise(1e-6);
    assert!(heard.iter().zip(&gain).all(|(heard, gain)| *heard > 0.1e-6 * gain), "{heard:?}, {gain:?}");
    for (bad, name) in [(f64::NAN, "latency_s"), (f64::INFINITY, "latency_s"), (-1e-3, "latency_s")] {
        let broken = TuningProblem { timing: CycleTiming { latency_s: bad, ..own }, ..study.clone() };
        assert!(told(&broken).unwrap_err().contains(name));
    }
    refused_where_readings_are_late(study, report, &curves);
}

/// Gains that are followed on time ring or leave their tube when readings and commands are 40 ms late each; then the search says so and names a joint or the tube.
fn refused_where_readings_are_late(study: &TuningProblem, report: &Report, curves: &[Bezier]) {
    let late = CycleTiming { latency_s: 0.04, delay_s: 0.04, jitter_s: 1e-4, ..study.timing };
    let best = report.winner();
    let seen = follow::simulated(&study.arm, best.gains, curves, (&late, 1));
    let reason = seen.refusal(&study.arm.robot.joints).expect("refused");
    assert!(reason.contains("rings") || reason.contains("leaves its tube"), "{reason}");
    let late = TuningProblem { timing: late, ..study.clone() };
    let Err(error) = follow_best(&late, vec![best.clone()], curves, (1, &|_| ())) else { panic!("followed") };
    let text = error.to_string();
    assert!(text.contains("planar") && text.contains(&reason) && text.contains("fresher readings"), "{text}");
    // Where the period is what makes them late, a shorter one is told.
    let slow = Gains { period_s: 2e-3, ..best.gains };
    assert_eq!(study.calm_period_s(slow, curves, 1), Some(1e-3));
    assert!(needs::fresher(Some(1e-3)).contains("1.000 ms these gains are followed"));
}

#[test]
fn swings_through_the_tube_are_told_from_what_stays_within() {
    let joints = &study().arm.robot.joints;
    let calm = Simulated { tube_used: 0.9, energy_used: 0.8, plans: 1, rings: None };
    assert_eq!(calm.refusal(joints), None);
    for broken in
        [Simulated { tube_used: 1.2, ..calm.clone() }, Simulated { energy_used: f64::NAN, ..calm.clone() }]
    {
        assert!(broken.refusal(joints).unwrap().contains("leaves its tube"));
    }
    for coarse in [true, false] {
        let rings = Some(Ringing { joint: 1, plan: 2, at_s: 0.25, coarse });
        let text = Simulated { rings, ..calm.clone() }.refusal(joints).unwrap();
        assert!(text.contains("'two' rings") && text.contains("0.250 s into plan 3"), "{text}");
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn where_nothing_is_provable_the_term_is_named_at_length() {
    let mut study = study();
    // Friction that a tick turns into any speed.
    study.arm.robot.joints[1].friction.armature = 1e-4;
    study.arm.robot.joints[1].friction.coulomb = 20.0;
    study.arm.set = ParameterSet::around_nominal(&study.arm.robot);
    let error = tune(&study, &quick(), &|_, _| ()).unwrap_err();
    let text = error.to_string();
    for word in ["planar", "nearest is k_r", "forbidden by the ", "With these gains", "robot limits"] {
        assert!(text.contains(word), "{text}");
    }
    assert!(matches!(error, TuneError::Nothing { .. }), "{text}");
    // What is told to be enough is. How far the arm is from it decides whether anything is.
    let found = [1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3].into_iter().find_map(|armature| {
        study.arm.robot.joints[1].friction.armature = armature;
        study.arm.set = ParameterSet::around_nominal(&study.arm.robot);
        match tune(&study, &quick(), &|_, _| ()) {
            Err(TuneError::Nothing { needs, .. }) => {
                Some((study.arm.clone(), needs.armature_ratio?, needs.to_string()))
            }
            _ => None,
        }
    });
    let (arm, ratio, told) = found.expect("more inertia would do");
    assert!(
        ratio > 1.0 && told.contains(&format!("{} times the transmission inertia", above(ratio))),
        "{told}"
    );
    study.arm = needs::better_setup(&arm, needs::Better::Armature, 1.3 * ratio).unwrap();
    let enough = tune(&study, &quick(), &|_, _| ());
    assert!(!matches!(enough, Err(TuneError::Nothing { .. })), "{told}");
    // Tubes that are proven, but none narrow enough.
    let narrow = TuneOptions { growth_m: 1e-9, ..quick() };
    let text = tune(&self::study(), &narrow, &|_, _| ()).unwrap_err().to_string();
    assert!(text.contains("mm allowed (--growth-mm "), "{text}");
}

const TOML: &str = "name = \"a\"\n\n# Old words.\n[control] # gains\nk_r = 1.0\n# Found by `surelift robot tune`:\n#   old\n\
    # (end of what was found)\nalpha = 2.0\nv_max = 3.0\nperiod_s = 0.001\n\n[joints.one]\nk_r = 7\n";

#[test]
fn gains_are_replaced_and_every_other_line_stays() {
    let gains = crate::robot::fixture::small_robot().gains();
    let proof = ["# Found by `surelift robot tune`:".to_owned(), "# new".to_owned()];
    let text = write::edited(TOML, &gains, &proof).unwrap();
    let expected = "name = \"a\"\n\n# Old words.\n[control] # gains\n# Found by `surelift robot tune`:\n# new\nk_r = 10.0\n\
        alpha = 20.0\nv_max = 0.0001\nperiod_s = 0.001\n\n[joints.one]\nk_r = 7\n";
    assert_eq!(text, expected);
    assert!(write::edited("name = \"a\"", &gains, &[]).unwrap_err().contains("[control]"));
    // What was told of gains without a search is replaced by what a search finds.
    let told = TOML.replace(
        "# Found by `surelift robot tune`:",
        "# Not found by a search. What `surelift robot tune` tells of these:",
    );
    assert!(told != TOML && write::edited(&told, &gains, &proof).unwrap() == expected);
    let short = write::edited("extends = \"z1\"\n", &gains, &[]).unwrap();
    assert_eq!(short, "extends = \"z1\"\n\n[control]\nk_r = 10.0\nalpha = 20.0\nv_max = 0.0001\n");
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("robots/z1.toml");
    // Gains that a search finds, told alone.
    let mut study = study();
    let gains = Gains { k_r: 10.0, ..study.arm.robot.gains() };
    study.arm.robot = study.arm.robot.with_gains(gains).unwrap();
    let report = tune(&study, &TuneOptions { own_alone: true, ..quick() }, &|_, _| ()).unwrap();
    let target = folder.path().join("mine.toml");
    write::write(&source, &target, &report, "surelift robot tune z1").unwrap();
    let robot = robot::load(&target).unwrap();
    let gains = report.winner().gains;
    assert_eq!((robot.gains().k_r, robot.gains().v_max), (gains.k_r, gains.v_max));
    let text = std::fs::read_to_string(&target).unwrap();
    assert!(text.contains("Half-widths of the commands") && text.contains("Hold power"), "{text}");
    // A robot that extends another finds it from where the copy is.
    let other = folder.path().join("other.toml");
    write::write(&source.with_file_name("z1_gripping.toml"), &other, &report, "").unwrap();
    let robot = robot::load(&other).unwrap();
    assert_eq!((robot.gains().k_r, robot.gains().period_s), (gains.k_r, 0.0005));
    std::fs::remove_file(&other).unwrap();
    // A source that is no robot leaves the target as it was, and nothing beside it.
    let broken = folder.path().join("broken.toml");
    std::fs::write(&broken, "[control]\nperiod_s = 1\n").unwrap();
    assert!(write::write(&broken, &target, &report, "").is_err());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), text);
    let missing = folder.path().join("nowhere/x.toml");
    assert!(write::write(&source, &missing, &report, "").unwrap_err().to_string().contains("nowhere"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// A SCARA with what `surelift robot init` guesses.
fn scara() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let urdf = folder.path().join("scara.urdf");
    std::fs::write(&urdf, crate::robot::fixture::SCARA).unwrap();
    let text = robot::propose::propose(&urdf, folder.path(), &[]).unwrap().text;
    let toml = urdf.with_extension("toml");
    std::fs::write(&toml, text).unwrap();
    (folder, toml)
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_joint_that_slides_is_tuned_in_metres_and_newtons_at_length() {
    let (_folder, toml) = scara();
    let study = TuningProblem::of_robot(&toml).unwrap();
    let (joints, range) = (&study.arm.robot.joints, &study.arm.range);
    assert_eq!(joints[2].kind, robot::JointKind::Prismatic);
    // A quarter of its travel of 0.15 m; joints that turn go as far as ever.
    assert!((range[2] - 0.0375).abs() < 1e-12 && range[..2] == [0.5, 0.5] && range[3] == 0.5, "{range:?}");
    let options = TuneOptions { plans: 20, ..quick() };
    let curves = study.curves(&options).unwrap();
    assert_eq!(curves.len(), 20);
    let ends: Vec<f64> = curves.iter().map(|curve| curve.end()[2]).collect();
    assert!(ends.iter().all(|q| (0.0075..=0.1425).contains(q)), "{ends:?}");
    assert!(ends.iter().any(|q| (q - 0.075).abs() > 0.02), "{ends:?}");
    let report = tune(&study, &quick(), &|_, _| ()).unwrap();
    assert!(report.proven.growth_m < 0.02 && report.simulated.tube_used < 1.0, "{report:?}");
    // A newton counts by the share of the limits that it is, not as a newton metre: twice the force at twice the limit changes nothing.
    let widths = |force: f64| {
        let mut study = study.clone();
        study.arm.robot.stated().model.joints[2].limits.torque = force;
        let found = measure::proven(&study.arm, report.winner().gains, &curves[..1], CELLS).unwrap();
        (found.mean_nm, found.max_nm)
    };
    let (whole, half) = (widths(150.0), widths(75.0));
    assert!(half.0 > whole.0 * 1.01 && half.1 >= whole.1, "{half:?} {whole:?}");
}

#[test]
fn what_a_search_cannot_even_begin_with_says_what_would_do() {
    let mut study = study();
    study.arm.start[2] = 0.5;
    study.arm.range = vec![1e-3; 3];
    let text = tune(&study, &quick(), &|_, _| ()).unwrap_err().to_string();
    assert!(text.contains("no plan can be drawn") && text.contains("further from the limits"), "{text}");
    let text = TuneError::Set("it is empty".to_owned()).to_string();
    assert!(text.contains("wider"), "{text}");
}

/// A scenario that begins with weighing is never planned for with the whole prior, so that is not what gains are looked for with.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_load_that_is_weighed_first_is_known_better_when_gains_are_looked_for_at_length() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/z1_unknown_2kg.toml");
    let task = Scenario::load(&path).unwrap().split().0;
    let prior = physical(&task.prior_set().unwrap(), &task.robot).unwrap();
    let study = TuningProblem::of_scenario(&path).unwrap();
    assert!(
        study.about.contains("weighing leaves") && study.about.contains("z1_unknown_2kg"),
        "{}",
        study.about
    );
    let hand = task.robot.end_effector();
    let (whole, left) = (prior.body(hand), study.arm.set.body(hand));
    for k in 0..whole.lower().len() {
        let slack = 1e-9 * (1.0 + whole.upper()[k].abs());
        assert!(
            left.lower()[k] >= whole.lower()[k] - slack && left.upper()[k] <= whole.upper()[k] + slack,
            "{k}"
        );
    }
    // The heaviest load is still possible, and light ones are not.
    assert!(left.upper()[0] > 0.999 * whole.upper()[0], "{left:?}");
    assert!(left.lower()[0] - whole.lower()[0] > 0.5 * (whole.upper()[0] - whole.lower()[0]), "{left:?}");
}

/// Nothing is weighed where the scenario does not say so.
#[test]
fn a_load_that_is_not_weighed_is_known_by_its_prior_when_gains_are_looked_for() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/z1_weighed_2kg.toml");
    let study = TuningProblem::of_scenario(&path).unwrap();
    assert!(study.about.starts_with("the prior of "), "{}", study.about);
}

/// The first motion of a scenario without a load is among the plans, as far as one plan may go.
#[test]
fn the_first_motion_of_a_scenario_is_one_of_the_plans() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/z1_post.toml");
    let task = Scenario::load(&path).unwrap().split().0;
    let study = TuningProblem::of_scenario(&path).unwrap();
    let curves = study.curves(&quick()).unwrap();
    assert_eq!(curves.len(), 2);
    assert_eq!(curves[0].state(0.0).q, task.start);
    // 1.8 rad of the first joint alone, 0.4 rad of it at once.
    let end = curves[0].end();
    assert!((end[0] - task.start[0] - 0.4).abs() < 1e-9 && end[1..] == task.start[1..], "{end:?}");
    // Where something is held the arm moves in order to learn first.
    assert_eq!(TuningProblem::of_scenario(&path.with_file_name("z1_load.toml")).unwrap().first, None);
}

/// A goal's tolerance below what a tube leaves is a reason against gains, with the joint and its figures.
#[test]
fn gains_leave_room_within_the_goals_tolerance() {
    let (mut study, options) = (study(), quick());
    let curves = study.curves(&options).unwrap();
    let found = |study: &TuningProblem| measure::proven(&study.arm, study.arm.robot.gains(), &curves, CELLS);
    let (tube, ..) = measure::one(&study.arm, study.arm.robot.gains(), &curves[0], CELLS).unwrap();
    let radius: Vec<f64> = (0..3).map(|j| tube.e_radius(j)).collect();
    study.arm.tolerance = Some(radius.iter().map(|r| 1.001 * r).collect());
    assert!(found(&study).is_ok());
    study.arm.tolerance = Some(vec![radius[0], 0.9 * radius[1], radius[2]]);
    let wanting = found(&study).unwrap_err();
    assert!(wanting.term.contains(&study.arm.robot.joints[1].name), "{}", wanting.term);
    assert!((wanting.excess - (1.0 / 0.9 - 1.0)).abs() < 1e-12, "{wanting:?}");
    // A scenario's is taken; a robot alone has none.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/z1_post.toml");
    let stated = TuningProblem::of_scenario(&path).unwrap().arm.tolerance;
    assert_eq!(stated, Some(vec![0.05; 6]));
}

#[test]
fn zz_probe() {
    let study = study();
    println!("own {:?}", study.arm.robot.gains());
    let report = tune(&study, &quick(), &|_, _| ()).unwrap();
    println!("winner {:?}", report.winner().gains);
}
