//! Studies of recordings that a simulated arm leaves behind: files are written, read and studied.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::identify::log::AngleUnit;
use crate::identify::tests::{Noise, arm, prior, recording, truth};
use crate::identify::{Sample, tighten_by_physics};
use crate::robot::FRICTION;

fn options(unknown: Unknown, robot: &Robot) -> StudyOptions {
    StudyOptions {
        unknown,
        smoothing: Smoothing::default(),
        window_s: 0.1,
        acceleration: None,
        torque_abs_nm: vec![0.0; robot.dof()],
        delay: Delay::None,
        margin: 1.0,
    }
}

/// Writes samples as a CSV file and reads them back.
fn through_a_file(samples: &[Sample], robot: &Robot) -> MeasurementLog {
    let n = robot.dof();
    let names = ["q", "dq", "tau"].iter().flat_map(|p| (1..=n).map(move |i| format!("{p}{i}")));
    let mut text = std::iter::once("t".to_owned()).chain(names).collect::<Vec<_>>().join(",");
    for s in samples {
        let values = std::iter::once(&s.t).chain(&s.q).chain(&s.dq).chain(&s.tau);
        text += &format!("\n{}", values.map(f64::to_string).collect::<Vec<_>>().join(","));
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    MeasurementLog::read(file.path(), robot, AngleUnit::Radians).unwrap()
}

/// The arm without anything in its hand, and a recording of it.
fn empty_handed(seed: u64, seconds: f64) -> (Robot, Vec<f64>, Vec<Sample>) {
    let robot = arm();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut theta = truth(&robot, &ParameterSet::around_nominal(&robot), &mut rng);
    let hand = robot.inertial_index(robot.end_effector);
    theta[hand..hand + INERTIAL].copy_from_slice(&robot.joints[robot.end_effector].inertia);
    let (samples, _) = recording(&robot, &theta, seconds, Noise::Uniform, &mut rng);
    (robot, theta, samples)
}

#[test]
fn friction_is_found_and_lies_in_the_set() {
    let (robot, theta, samples) = empty_handed(1, 3.0);
    let log = through_a_file(&samples, &robot);
    let (unseen, seen) = (through_a_file(&samples[2000..], &robot), through_a_file(&samples[..2001], &robot));
    assert_eq!(clock_of(&robot, &log), Clock::Control);
    let options = StudyOptions {
        smoothing: Smoothing::SavitzkyGolay { half: 10, degree: 2 },
        ..options(Unknown::Friction, &robot)
    };
    let prior = Unknown::Friction.default_prior(&robot);
    let study =
        Study { robot: &robot, prior: &prior, logs: &[seen], validation: Some(&unseen), options: &options };
    let findings = study.run().unwrap();
    assert_eq!(findings.verdict, Verdict::Consistent);
    let first = INERTIAL * robot.dof();
    assert_eq!(findings.parameters.len(), FRICTION * robot.dof());
    for (k, p) in findings.parameters.iter().enumerate() {
        let x = theta[first + k];
        assert!(p.set[0] <= x && x <= p.set[1], "{}: {x} not in {:?}", p.name, p.set);
        // Joints that turn one way only leave Coulomb friction and offset to each other.
        let share = (p.set[1] - p.set[0]) / (p.prior[1] - p.prior[0]);
        assert!(share < if k % FRICTION == ARMATURE { 0.8 } else { 1.0 + 1e-12 }, "{}: {:?}", p.name, p.set);
        if k % FRICTION == VISCOUS || k % FRICTION == ARMATURE {
            assert!((p.estimate - x).abs() < 0.15 * x, "{}: {} for {x}", p.name, p.estimate);
        }
    }
    for joint in &findings.joints {
        // The sensor's 2.5 % and the links' 5 % leave little else.
        let (error, signal) = (joint.validation_rms_nm.unwrap(), joint.validation_torque_rms_nm.unwrap());
        assert!(error < 0.1 * signal, "{}: {error} of {signal}", joint.name);
        assert_eq!((joint.additive_necessary_nm, joint.additive_sufficient_nm), (0.0, 0.0));
    }
    assert!(findings.guarantee.contains("if the stated assumptions are true"));
}

#[test]
fn a_payload_is_found_from_its_recording() {
    let robot = arm();
    let prior = prior(&robot);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let theta = truth(&robot, &prior, &mut rng);
    let (samples, acceleration) = recording(&robot, &theta, 2.0, Noise::Corner, &mut rng);
    let log = through_a_file(&samples, &robot);
    let options = StudyOptions { acceleration: Some(acceleration), ..options(Unknown::Payload, &robot) };
    let study = Study { robot: &robot, prior: &prior, logs: &[log], validation: None, options: &options };
    let findings = study.run().unwrap();
    assert_eq!(findings.verdict, Verdict::Consistent);
    let hand = robot.inertial_index(robot.end_effector);
    let physical = tighten_by_physics(&prior, robot.end_effector).unwrap();
    for (k, p) in findings.parameters.iter().enumerate() {
        assert!(p.set[0] <= theta[hand + k] && theta[hand + k] <= p.set[1], "{}", p.name);
        assert!(p.set[1] - p.set[0] <= physical.upper[hand + k] - physical.lower[hand + k]);
    }
    assert!(findings.parameters[0].set[1] - findings.parameters[0].set[0] < 2.0);
    assert!(findings.joints[0].validation_rms_nm.is_none());
}

#[test]
fn bounds_that_cannot_be_true_are_refuted_and_replaced_without_a_guarantee() {
    let (robot, _, mut samples) = empty_handed(2, 4.0);
    // A disturbance of 6 N m on the fourth joint, which no parameter explains; 100 Hz, with a hole.
    samples.iter_mut().for_each(|s| s.tau[3] += 6.0 * (40.0 * s.t).sin().signum());
    let sparse: Vec<Sample> =
        samples.iter().step_by(10).filter(|s| !(1.0..1.25).contains(&s.t)).cloned().collect();
    let log = through_a_file(&sparse, &robot);
    assert_eq!((clock_of(&robot, &log), log.segments.len()), (Clock::Recorded, 2));
    let options = options(Unknown::Friction, &robot);
    let prior = Unknown::Friction.default_prior(&robot);
    let logs = [log];
    let study = Study { robot: &robot, prior: &prior, logs: &logs, validation: None, options: &options };
    let findings = study.run().unwrap();
    let Verdict::Refuted { by, .. } = &findings.verdict else { panic!("{:?}", findings.verdict) };
    assert!(*by > 1.0);
    assert!(findings.guarantee.starts_with("No guarantee"), "{}", findings.guarantee);
    for (i, joint) in findings.joints.iter().enumerate() {
        assert!(joint.additive_sufficient_nm >= joint.additive_necessary_nm);
        // 6 N m and what sampling ten times too seldom does.
        assert!(joint.additive_necessary_nm <= if i == 3 { 6.5 } else { 0.5 }, "{joint:?}");
    }
    assert!(findings.joints[3].additive_necessary_nm > 0.5, "{:?}", findings.joints[3]);
    for p in &findings.parameters {
        assert!(p.prior[0] <= p.set[0] && p.set[0] <= p.set[1] && p.set[1] <= p.prior[1], "{p:?}");
    }
    // Told of the disturbance, the same data contradict nothing.
    let told = StudyOptions { torque_abs_nm: vec![7.0; robot.dof()], ..options.clone() };
    let findings = Study { options: &told, ..study }.run().unwrap();
    assert_eq!(findings.verdict, Verdict::Consistent);
}

#[test]
fn a_delay_is_found_and_undone() {
    let (robot, theta, samples) = empty_handed(3, 4.0);
    // Torques that a bus brings 40 ms late.
    let late: Vec<Sample> = (40..samples.len())
        .step_by(10)
        .map(|k| Sample { tau: samples[k - 40].tau.clone(), ..samples[k].clone() })
        .collect();
    let logs = [through_a_file(&late, &robot)];
    let prior = Unknown::Friction.default_prior(&robot);
    let options = StudyOptions { delay: Delay::Fitted, ..options(Unknown::Friction, &robot) };
    let study = Study { robot: &robot, prior: &prior, logs: &logs, validation: None, options: &options };
    let found = study.fitted_delay().unwrap();
    assert!((found - 0.04).abs() <= 0.006, "{found}");
    let findings = study.run().unwrap();
    assert!(findings.logs[0].notes.iter().any(|n| n.contains("s later")), "{:?}", findings.logs[0].notes);
    let viscous = &findings.parameters[VISCOUS];
    let x = theta[INERTIAL * robot.dof() + VISCOUS];
    assert!((viscous.estimate - x).abs() < 0.15 * x, "{viscous:?} for {x}");
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let (robot, _, samples) = empty_handed(4, 0.5);
    let logs = [through_a_file(&samples, &robot)];
    let prior = Unknown::Friction.default_prior(&robot);
    let run = |prior: &ParameterSet, options: &StudyOptions| {
        Study { robot: &robot, prior, logs: &logs, validation: None, options }.run().map(|_| ())
    };
    let good = options(Unknown::Friction, &robot);
    let short = StudyOptions { torque_abs_nm: vec![0.0], ..good.clone() };
    assert!(matches!(run(&prior, &short), Err(StudyError::Identify(IdentifyError::WrongLength { .. }))));
    let mut odd = prior.clone();
    odd.lower[3] = f64::NAN;
    assert!(matches!(
        run(&odd, &good),
        Err(StudyError::Identify(IdentifyError::BadPrior { parameter: 3, .. }))
    ));
    let far = StudyOptions { delay: Delay::Seconds(3.0), ..good };
    assert!(matches!(run(&prior, &far), Err(StudyError::Log(LogError::TooShort { .. }))));
}
