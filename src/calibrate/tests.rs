//! Profiles of a simulated arm whose friction is not that of its file.

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::profile::{self, ProfileText};
use super::*;
use crate::identify::tests::{Noise, arm, recording};
use crate::recording::Sample;

/// Friction of the true arm as multiples of its file's.
const RATIOS: [f64; 3] = [1.6, 0.7, 1.2];

/// An arm with an empty hand that is not as its file says, and recordings of it.
fn recorded(seconds: &[f64]) -> (Arm, Vec<f64>, Vec<Vec<Sample>>) {
    let robot = arm();
    let mut theta = robot.nominal_parameters();
    for j in 0..robot.dof() {
        let at = robot.joint_index(j);
        for (index, ratio) in [at.coulomb, at.viscous, at.armature].into_iter().zip(RATIOS) {
            theta[index] *= ratio;
        }
        theta[at.offset] = 0.2 * (-1.0f64).powi(j as i32);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let logs = seconds.iter().map(|s| recording(&robot, &theta, *s, Noise::Uniform, &mut rng).0).collect();
    (robot, theta, logs)
}

fn log(name: &str, samples: Vec<Sample>) -> MeasurementLog {
    MeasurementLog::of_samples(name.into(), samples).unwrap()
}

#[test]
fn friction_is_learnt_and_a_recording_that_goes_wrong_is_told_when_and_where() {
    learnt_and_checked([1.4, 1.1]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn friction_is_learnt_and_a_recording_that_goes_wrong_is_told_when_and_where_at_length() {
    learnt_and_checked([2.5, 1.5]);
}

/// Learns from a recording of so many seconds, and holds another of so many against what was learnt.
fn learnt_and_checked(seconds: [f64; 2]) {
    let (robot, theta, mut logs) = recorded(&seconds);
    let unseen = logs.pop().unwrap();
    let learnt = [log("a.csv", logs.pop().unwrap())];
    let calibration = Calibration::of(&robot, &learnt, &CalibrationOptions::default()).unwrap();
    for (j, joint) in calibration.joints.iter().enumerate() {
        let at = robot.joint_index(j);
        let f = joint.friction;
        let near = |found: f64, index: usize| (found - theta[index]).abs() < 0.2 * theta[index];
        assert!(near(f.viscous, at.viscous) && near(f.armature, at.armature), "{joint:?}");
        assert!(joint.error_rms_nm < 0.1 * joint.torque_rms_nm, "{joint:?}");
        let (least, enough) = (joint.additive_necessary_nm, joint.additive_sufficient_nm);
        assert!(least <= enough && 1.49 * enough <= joint.additive_nm, "{joint:?}");
        assert!(joint.noise[0].moving.samples > 1000 && joint.noise[1].peak() > 0.0, "{:?}", joint.noise);
    }
    let check = calibration.check(&log("b.csv", unseen.clone())).unwrap();
    assert!(check.holds() && check.worst().is_none(), "{check:?}");
    assert!(check.joints.iter().all(|joint| joint.windows >= 10 && joint.over_time_nm.len() == check::PARTS));
    // Someone leans on joint 4 for a while.
    let mut disturbed = unseen;
    let push = 3.0 * check.joints[3].errors.iter().map(|e| e.allowed_nm).fold(0.0, f64::max);
    for sample in disturbed.iter_mut().filter(|s| (0.6..0.9).contains(&s.t)) {
        sample.tau[3] += push;
    }
    let check = calibration.check(&log("pushed.csv", disturbed)).unwrap();
    let (joint, at) = check.worst().unwrap();
    assert_eq!(joint.name, robot.joints[3].name);
    assert!(
        at.from_s > 0.6 && at.to_s < 1.0 + 1e-9 && at.windows >= 2 && at.error_nm > at.allowed_nm,
        "{at:?}"
    );
    let wrong: Vec<&str> =
        check.joints.iter().filter(|j| j.within < j.windows).map(|j| &j.name[..]).collect();
    assert_eq!(wrong, [&robot.joints[3].name[..]]);
    written_whole(&robot, &calibration, &check);
    // What it was learnt from proves nothing of it.
    let again = calibration.check(&log("again.csv", learnt[0].samples.clone())).unwrap_err();
    assert!(matches!(again, CalibrationError::SameRecording { .. }));
}

/// Noise floors are those of encoders; what springs need stays beside them.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_arm_on_springs_keeps_their_parts_at_length() {
    let (robot, _, mut logs) = recorded(&[1.5]);
    let spring = crate::robot::Spring {
        stiffness_nm_rad: 1e4,
        encoders: crate::robot::EncoderSide::Motor,
        unmodelled_nm: 0.1,
        velocity_rad_s: 2.5e-3,
        position_rad: 1.5e-4,
    };
    let own = robot.sensors().clone();
    let (position_rad, velocity_rad_s) = (own.position_rad + 1.5e-4, own.velocity_rad_s + 2.5e-3);
    let drive = DriveBounds { unmodelled_nm: 0.1, spring: Some(spring), ..DriveBounds::IDEAL };
    let gains = crate::robot::Gains { stiction_speed_rad_s: 3.5e-3, ..robot.gains() };
    let elastic = robot
        .with_sensors(Sensors { position_rad, velocity_rad_s, torque_abs_of_joints_nm: vec![0.5; 7], ..own })
        .and_then(|arm| arm.with_gains(gains))
        .and_then(|arm| arm.with_drives(vec![drive; robot.dof()]))
        .unwrap();
    let learnt = [log("a.csv", logs.pop().unwrap())];
    let calibration = Calibration::of(&elastic, &learnt, &CalibrationOptions::default()).unwrap();
    let found = &calibration.robot;
    assert!((0..robot.dof()).all(|j| found.drive(j).spring == Some(spring)));
    let encoders = found.encoders();
    assert!(encoders.position_rad > 0.0 && encoders.velocity_rad_s > 0.0, "{encoders:?}");
    assert!(encoders.position_rad < 1e-4, "{encoders:?}");
    // Torque sensors are told of joint by joint: the file that the profile extends has its own for each.
    let about = ProfileText { extends: "kinova_gen3_2f85", name: "mine", command: "calibrate", check: None };
    let (folder, text) = (tempfile::tempdir().unwrap(), profile::text(&calibration, &about));
    let target = folder.path().join("mine.toml");
    profile::write(&target, &text).unwrap();
    let told = crate::robot::load(&target).unwrap().sensors().torque_abs_of_joints_nm.clone();
    assert_eq!((told.len(), &told), (7, &found.sensors().torque_abs_of_joints_nm));
    let noise = calibration.joints.iter().map(|joint| joint.noise[2].peak());
    assert!(told.iter().zip(noise).all(|(abs, noise)| (noise..2.0 * noise).contains(abs)), "{told:?}");
    assert_eq!(told.iter().copied().fold(0.0, f64::max), found.sensors().torque_abs_nm);
}

/// The profile's file is the robot that was calibrated, and names its evidence; nothing is written half.
fn written_whole(robot: &Arm, calibration: &Calibration, check: &ProfileCheck) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("mine.toml");
    let about = ProfileText {
        extends: "kinova_gen3_2f85",
        name: "my \"own\" arm",
        command: "surelift robot\ncalibrate",
        check: Some(check),
    };
    let text = profile::text(calibration, &about);
    profile::write(&target, &text).unwrap();
    let found = crate::robot::load(&target).unwrap();
    assert_eq!((&found.name[..], found.sensors()), ("my \"own\" arm", calibration.robot.sensors()));
    for j in 0..robot.dof() {
        assert_eq!(found.joints[j].friction, calibration.robot.joints[j].friction);
        assert_eq!(found.drive(j), calibration.robot.drive(j));
    }
    for word in [
        "Learnt from a.csv",
        "pushed.csv",
        "It goes wrong",
        "ms late",
        "white part",
        "Proven of these recordings",
    ] {
        assert!(text.contains(word), "{word} in\n{text}");
    }
    let broken = profile::text(calibration, &ProfileText { extends: "no_such_arm", ..about });
    assert!(matches!(profile::write(&target, &broken), Err(CalibrationError::Robot(_))));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), text);
    let nowhere = folder.path().join("nowhere/x.toml");
    assert!(profile::write(&nowhere, &text).unwrap_err().to_string().contains("nowhere"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_used_is_refused_by_name() {
    let (robot, _, mut logs) = recorded(&[0.3]);
    let samples = logs.pop().unwrap();
    let one = [log("a.csv", samples.clone())];
    let refusal = |logs: &[MeasurementLog], options: &CalibrationOptions| {
        Calibration::of(&robot, logs, options).unwrap_err().to_string()
    };
    let usual = CalibrationOptions::default();
    assert!(refusal(&[], &usual).contains("at least one"));
    for bad in [f64::NAN, f64::INFINITY, 0.9, -1.0] {
        assert!(refusal(&one, &CalibrationOptions { room: bad, ..usual.clone() }).starts_with("room: "));
    }
    for bad in [f64::NAN, f64::INFINITY, 0.0, -0.1] {
        assert!(
            refusal(&one, &CalibrationOptions { window_s: bad, ..usual.clone() }).starts_with("window: ")
        );
    }
    let twice = [log("a.csv", samples.clone()), log("copy.csv", samples.clone())];
    assert!(refusal(&twice, &usual).contains("copy.csv: the same samples as in a.csv"));
    let backwards = CalibrationOptions { delay: Delay::Between(0.1, 0.0), ..usual.clone() };
    assert!(refusal(&one, &backwards).contains("delay"));
    let mut still = samples;
    for sample in &mut still {
        (sample.q[5], sample.dq[5]) = (0.3, 0.0);
    }
    let name = robot.joints[5].name.clone();
    assert!(refusal(&[log("still.csv", still)], &usual).contains(&format!("'{name}' does not move")));
}

#[test]
fn figures_are_rounded_up_and_stay_near() {
    for x in [1e-9, 0.123449, 0.12351, 9.999, 1234.5] {
        let up = round_up(x);
        assert!(up >= x && up <= 1.02 * x, "{x} {up}");
    }
    assert_eq!((round_up(0.0), short(0.0)), (0.0, 0.0));
    assert!(round_up(f64::NAN).is_nan());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// White noise on a slow motion is told by its deviation, and its outliers are not undercut by more than what a peak allows.
    #[test]
    fn white_noise_is_told_from_motion(seed in 0u64..1000, deviation in 1e-4f64..1e-2, speed in -0.5f64..0.5) {
        use rand::RngExt;
        let robot = arm();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n = robot.dof();
        let samples: Vec<Sample> = (0..2000)
            .map(|k| {
                let t = 1e-3 * f64::from(k);
                // Uniform within sqrt(3) of its deviation.
                let noise = deviation * 3.0f64.sqrt() * rng.random_range(-1.0..=1.0);
                Sample { t, q: vec![speed * t + 0.2 * t * t + noise; n], dq: vec![speed + 0.4 * t; n], tau: vec![0.0; n] }
            })
            .collect();
        let logs = [log("noise.csv", samples)];
        let [position, _, torque] = noise::floors(&robot, &logs)[2];
        let all = (position.rest.samples + position.moving.samples) as f64;
        prop_assert_eq!(all, 1997.0);
        let pooled = (position.rest.deviation.powi(2) * position.rest.samples as f64
            + position.moving.deviation.powi(2) * position.moving.samples as f64) / all;
        prop_assert!((pooled.sqrt() / deviation - 1.0).abs() < 0.1, "{} for {}", pooled.sqrt(), deviation);
        prop_assert!(position.peak() > 1.7 * deviation, "{:?}", position);
        prop_assert_eq!(torque.peak(), 0.0);
    }
}
