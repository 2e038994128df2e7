use super::*;

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
fn the_winner_is_proven_the_narrowest_and_holds_in_simulation() {
    let (study, options) = (study(), quick());
    let report = tune(&study, &options, &|_, _| ()).unwrap();
    let scores: Vec<f64> = report.useful.iter().map(|c| c.score(options.growth_m)).collect();
    assert!(scores.is_sorted() && scores.len() > 3, "{scores:?}");
    assert!(report.proven.hold_share < 1.0 && report.proven.growth_m <= options.growth_m);
    assert!(report.simulated.plans == 1 && report.simulated.tube_used < 1.0, "{:?}", report.simulated);
    assert!(report.simulated.energy_used < 1.0);
    // The same input, the same gains.
    assert_eq!(tune(&study, &options, &|_, _| ()).unwrap().winner().gains, report.winner().gains);
}

#[test]
fn where_nothing_is_provable_the_term_is_named() {
    let mut study = study();
    // Friction that a tick turns into any speed.
    study.arm.robot.joints[1].friction.armature = 1e-4;
    study.arm.robot.joints[1].friction.coulomb = 20.0;
    study.arm.set = ParameterSet::around_nominal(&study.arm.robot);
    let text = tune(&study, &quick(), &|_, _| ()).unwrap_err().to_string();
    for word in ["planar", "nearest is k_r", "forbidden by the "] {
        assert!(text.contains(word), "{text}");
    }
    // Tubes that are proven, but none narrow enough.
    let narrow = TuneOptions { growth_m: 1e-9, ..quick() };
    let text = tune(&self::study(), &narrow, &|_, _| ()).unwrap_err().to_string();
    assert!(text.contains("mm allowed"), "{text}");
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
    let short = write::edited("extends = \"z1\"\n", &gains, &[]).unwrap();
    assert_eq!(short, "extends = \"z1\"\n\n[control]\nk_r = 10.0\nalpha = 20.0\nv_max = 0.0001\n");
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("robots/z1.toml");
    let study = study();
    let report = tune(&study, &quick(), &|_, _| ()).unwrap();
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
