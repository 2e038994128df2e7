//! A walk as a real robot has it: a floor that nobody knows, contacts told late or early, sensors at rates of their own, unknown friction.

use std::path::Path;

use surelift::dynamics::Workspace;
use surelift::study::estimation::EstimationStudy;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The shipped walk on rough ground, its first four steps, with changes laid over it.
fn rough(changes: &str) -> Result<EstimationStudy, String> {
    let short: toml::Table =
        toml::from_str("simulate = { duration_s = 2.2, posture = { moving_s = [0.5, 1.6] } }").unwrap();
    let changes: toml::Table = toml::from_str(changes).unwrap();
    let path = Path::new(ROOT).join("scenarios/estimation/go1_walk_rough.toml");
    EstimationStudy::load_changed(path, &[&short, &changes]).map_err(|e| e.to_string())
}

/// What the estimate of the torso's mass is off by, kg, and the deviation that it tells.
fn mass(study: EstimationStudy) -> (f64, f64) {
    let result = study.run().unwrap();
    let torso = result.parameters.iter().find(|row| row.place == "base").unwrap();
    (torso.estimate - torso.truth.unwrap(), torso.deviation.unwrap())
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_payload_is_found_within_its_deviation_if_contact_times_are_said_to_be_uncertain_at_length() {
    let (off, told) = mass(rough("simulate = { seed = 2 }").unwrap());
    assert!(off.abs() < 4.0 * told && told < 0.01, "{off} {told}");
}

/// Taken as they are told, they spoil the estimate, and the deviation does not say so.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn contact_times_that_are_believed_spoil_the_payload_at_length() {
    let believed = "contact_time_error_s = 0.0\nsimulate = { seed = 2 }\nsolver = { iterations = 40 }";
    let (off, told) = mass(rough(believed).unwrap());
    assert!(off.abs() > 10.0 * told, "{off} {told}");
}

/// Feet come down where the ground is, and the schedule is told by when they do.
#[test]
fn feet_stand_on_the_ground_that_there_is() {
    let study =
        rough("contact_time_error_s = 0.0\nsimulate = { ground = { told_time_error_s = 0.0 } }").unwrap();
    let (robot, contacts, samples) = (study.robot.clone(), study.contacts.clone(), study.samples.clone());
    let (_, states) = study.reveal().unwrap();
    let mut workspace = Workspace::new(&robot);
    let mut height = |name: &str, k: usize| {
        workspace.place(&robot, &states[k][..robot.nq()]);
        let frame = robot.named_frames.iter().find(|f| f.name == name).unwrap();
        workspace.frame_placement(frame).translation.z
    };
    let mut off = vec![];
    for (c, contact) in contacts.constraints.iter().enumerate() {
        let floor = height(&contact.name, 0);
        let begins = contacts.phases.windows(2).filter(|p| p[1].active[c] && !p[0].active[c]);
        for phase in begins {
            let from = phase[1].from;
            let (landed, later) = (height(&contact.name, from), height(&contact.name, from + 50));
            // It stays where it came down; the sample of the landing is less than a millimetre below the ground.
            assert!((landed - later).abs() < 1e-4, "{} {landed} {later}", contact.name);
            assert!((landed - floor).abs() < 5e-3 + 1e-3, "{} {landed} {floor}", contact.name);
            let planned = 0.8 + 0.4 * c as f64;
            off.push((landed - floor, samples[from].t - planned));
        }
    }
    assert_eq!(off.len(), 4);
    // Lower ground is met later, by more than a few milliseconds.
    off.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(off.windows(2).all(|pair| pair[0].1 < pair[1].1), "{off:?}");
    assert!(off[3].1 - off[0].1 > 0.01, "{off:?}");
}

#[test]
fn sensors_are_read_at_their_own_rates() {
    let study = rough("").unwrap();
    let (robot, missing) = (&study.robot, &study.missing);
    // Milliseconds, and where the base is read between them.
    assert_eq!(missing.len(), study.samples.len());
    assert_eq!(study.samples.len(), 2640);
    let count = |of: &dyn Fn(usize) -> bool| (0..missing.len()).filter(|&k| !of(k)).count();
    assert_eq!(count(&|k| missing[k].q.contains(&0)), 880);
    assert_eq!(count(&|k| missing[k].dq.contains(&(robot.nv() - 1))), 2200);
    assert_eq!(count(&|k| missing[k].tau.contains(&(robot.nv() - 1))), 1100);
    for s in &study.samples {
        let norm: f64 = s.q[3..7].iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-12, "{norm}");
    }
}

#[test]
fn what_cannot_be_simulated_is_told_by_its_field() {
    let cases = [
        ("simulate = { rates_hz = { base = 0.0 } }", "simulate.rates_hz.base"),
        ("simulate = { rates_hz = { torques = nan } }", "simulate.rates_hz.torques"),
        ("simulate = { ground = { height_error_m = -0.1 } }", "simulate.ground.height_error_m"),
        ("simulate = { ground = { told_time_error_s = inf } }", "simulate.ground.told_time_error_s"),
        (
            "simulate = { posture = { jump = { at_s = 0.5, crouch_m = 0.1, lasts_s = 0.2, flight_s = 0.3 } } }",
            "simulate.ground",
        ),
        ("simulate = { ground = { height_error_m = 0.04 } }", "simulate.ground.height_error_m"),
        ("simulate = { ground = { told_time_error_s = 0.2 } }", "simulate.ground.told_time_error_s"),
        ("loops = true", "loops"),
        ("simulate = { rates_hz = { joints = 800.0 } }", "step_s"),
        ("truth = { friction_factor = 0.5 }", "truth.friction_factor"),
        ("contact_time_error_s = -0.001", "contact_time_error_s"),
        ("contact_time_error_s = nan", "contact_time_error_s"),
    ];
    for (change, field) in cases {
        let error = rough(change).map(|_| ()).unwrap_err();
        assert!(error.contains(field) && error.contains("go1_walk_rough.toml"), "{error}");
    }
}
