//! Studies of recordings that a simulated arm leaves behind: files are written, read and studied.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::Workspace;
use crate::identify::recorded::clock_of;
use crate::identify::tests::{Noise, PAYLOAD, arm, prior, recording, truth};
use crate::identify::tighten_by_physics;
use crate::identify::window::Clock;
use crate::inertia::{ARMATURE, FRICTION, VISCOUS};
use crate::recording::{AngleUnit, Sample};
use crate::regression::base::BaseParameters;
use crate::robot::Sensors;

mod delays;
mod methods;
pub(crate) mod refutations;

fn options(unknown: Unknown, robot: &Arm) -> StudyOptions {
    StudyOptions {
        unknown,
        method: Some(Estimator::InverseDynamics),
        smoothing: Smoothing::default(),
        window_s: 0.1,
        acceleration: None,
        torque_abs_nm: vec![0.0; robot.dof()],
        delay: Delay::Automatic,
        frame: None,
        stated: None,
        margin: 2.0,
    }
}

/// Writes samples as a CSV file and reads them back.
fn through_a_file(samples: &[Sample], robot: &Arm) -> MeasurementLog {
    let n = robot.dof();
    let names = ["q", "dq", "tau"].iter().flat_map(|p| (1..=n).map(move |i| format!("{p}{i}")));
    let mut text = std::iter::once("t".to_owned()).chain(names).collect::<Vec<_>>().join(",");
    for s in samples {
        let values = std::iter::once(&s.t).chain(&s.q).chain(&s.dq).chain(&s.tau);
        text += &format!("\n{}", values.map(f64::to_string).collect::<Vec<_>>().join(","));
    }
    text.push('\n');
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    MeasurementLog::read(file.path(), robot, AngleUnit::Radians).unwrap()
}

/// The arm without anything in its hand, and a recording of it.
fn empty_handed(seed: u64, seconds: f64) -> (Arm, Vec<f64>, Vec<Sample>) {
    let robot = arm();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut theta = truth(&robot, &ParameterSet::around_nominal(&robot), &mut rng);
    let hand = robot.body_range(robot.end_effector());
    theta[hand].copy_from_slice(&robot.joints[robot.end_effector()].inertia);
    let (samples, _) = recording(&robot, &theta, seconds, Noise::Uniform, &mut rng);
    (robot, theta, samples)
}

/// A study of these logs, with none to validate on.
fn study<'a>(
    robot: &'a Arm,
    prior: &'a ParameterSet,
    logs: &'a [MeasurementLog],
    options: &'a StudyOptions,
) -> IdentificationStudy<'a> {
    IdentificationStudy { robot, prior, logs, validation: None, options }
}

/// Every parameter of the last body has a set, and that holds the true value.
fn assert_truth_inside(findings: &Findings, robot: &Arm, theta: &[f64], what: &str) {
    let hand = robot.inertial_index(robot.end_effector());
    for (k, p) in findings.parameters.iter().enumerate() {
        let set = p.set.unwrap();
        assert!(set[0] <= theta[hand + k] && theta[hand + k] <= set[1], "{what} {}", p.name);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn friction_is_found_and_lies_in_the_set_at_length() {
    let (robot, theta, samples) = empty_handed(1, 3.0);
    let log = through_a_file(&samples, &robot);
    let (unseen, seen) = (through_a_file(&samples[2000..], &robot), through_a_file(&samples[..2001], &robot));
    assert_eq!(clock_of(&robot, &log), Clock::Control);
    let options = StudyOptions {
        smoothing: Smoothing::SavitzkyGolay { half: 10, degree: 2 },
        ..options(Unknown::Friction, &robot)
    };
    let prior = Unknown::Friction.default_prior(&robot);
    let study = IdentificationStudy {
        robot: &robot,
        prior: &prior,
        logs: &[seen],
        validation: Some(&unseen),
        options: &options,
    };
    let findings = study.run().unwrap();
    assert_eq!(findings.verdict, Verdict::Consistent);
    assert_eq!(findings.delay.taken_out_s, 0.0, "{:?}", findings.delay);
    let first = INERTIAL * robot.dof();
    assert_eq!(findings.parameters.len(), FRICTION * robot.dof());
    for (k, p) in findings.parameters.iter().enumerate() {
        let x = theta[first + k];
        let set = p.set.unwrap();
        assert!(set[0] <= x && x <= set[1], "{}: {x} not in {set:?}", p.name);
        // Joints that turn one way only leave Coulomb friction and offset to each other.
        let share = (set[1] - set[0]) / (p.prior[1] - p.prior[0]);
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
    // Plain least squares stand beside what is shown.
    let (shown, plain) = (findings.validation.unwrap(), findings.validation_ols.unwrap());
    assert_eq!((&plain.path, plain.torques.len()), (&shown.path, robot.dof()));
    assert!(shown.torques.iter().zip(&plain.torques).any(|(a, b)| a.error_rms != b.error_rms));
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_payload_is_found_from_its_recording_at_length() {
    let robot = arm();
    let prior = prior(&robot);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let theta = truth(&robot, &prior, &mut rng);
    let (samples, acceleration) = recording(&robot, &theta, 2.0, Noise::Corner, &mut rng);
    let logs = [through_a_file(&samples, &robot)];
    let options = StudyOptions { acceleration: Some(acceleration), ..options(Unknown::Payload, &robot) };
    let study = study(&robot, &prior, &logs, &options);
    let findings = study.run().unwrap();
    assert_eq!(findings.verdict, Verdict::Consistent);
    let hand = robot.inertial_index(robot.end_effector());
    let physical = tighten_by_physics(&prior, robot.end_effector()).unwrap();
    for (k, p) in findings.parameters.iter().enumerate() {
        let set = p.set.unwrap();
        assert!(set[0] <= theta[hand + k] && theta[hand + k] <= set[1], "{}", p.name);
        assert!(set[1] - set[0] <= physical.upper()[hand + k] - physical.lower()[hand + k]);
    }
    let mass = findings.parameters[0].set.unwrap();
    assert!(mass[1] - mass[0] < 2.0);
    // With everything unknown the theorem still speaks of the last body alone, and says the same.
    let everything = StudyOptions { unknown: Unknown::All, ..options.clone() };
    let all = IdentificationStudy { options: &everything, ..study }.run().unwrap();
    let theorem = |findings: &Findings, at: usize| {
        let method = findings.methods.iter().find(|m| m.method == Estimator::Perturbation).unwrap();
        let intervals = method.interval.as_ref().unwrap();
        (0..INERTIAL)
            .map(|k| (method.values[at + k].unwrap(), intervals[at + k].unwrap()))
            .collect::<Vec<_>>()
    };
    for (k, (value, interval)) in theorem(&all, hand).into_iter().enumerate() {
        let (alone, _) = theorem(&findings, 0)[k];
        assert!(
            (value - alone).abs() < 1e-9 && interval[0] <= theta[hand + k] && theta[hand + k] <= interval[1]
        );
    }
    let total = all.methods.iter().find(|m| m.method == Estimator::Tls).unwrap();
    assert!(total.note.as_ref().unwrap().contains("do not determine"), "{total:?}");
    assert!(findings.joints[0].validation_rms_nm.is_none());
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let (robot, _, samples) = empty_handed(4, 0.5);
    let logs = [through_a_file(&samples, &robot)];
    let prior = Unknown::Friction.default_prior(&robot);
    let run = |prior: &ParameterSet, options: &StudyOptions| {
        IdentificationStudy { robot: &robot, prior, logs: &logs, validation: None, options }.run().map(|_| ())
    };
    let good = options(Unknown::Friction, &robot);
    let short = StudyOptions { torque_abs_nm: vec![0.0], ..good.clone() };
    assert!(matches!(run(&prior, &short), Err(StudyError::Identify(IdentifyError::WrongLength { .. }))));
    let mut odd = prior.clone();
    odd.bounds().0[3] = f64::NAN;
    assert!(matches!(
        run(&odd, &good),
        Err(StudyError::Identify(IdentifyError::BadPrior { parameter: 3, .. }))
    ));
    let backwards = StudyOptions { delay: Delay::Between(0.1, 0.0), ..good.clone() };
    assert!(matches!(run(&prior, &backwards), Err(StudyError::Delay { .. })));
    let small = StudyOptions { margin: 0.5, ..good.clone() };
    assert!(matches!(run(&prior, &small), Err(StudyError::Margin(0.5))));
    let far = StudyOptions { delay: Delay::Seconds(3.0), ..good };
    assert!(matches!(run(&prior, &far), Err(StudyError::Log(LogError::TooShort { .. }))));
}

/// A short pulse that the filter does not see whole: the guess of the accelerations covers it, unless velocities would have to be far off.
#[test]
fn a_guess_of_accelerations_is_not_refuted_by_its_own_data() {
    use crate::identify::motion::{Comparison, RecordedMotion};
    let robot = arm();
    let n = robot.dof();
    let recorded = |pulse: f64| {
        let (mut q, mut dq) = (vec![0.0; n], vec![0.0; n]);
        let one = |k: usize| {
            let ddq = (0.01 * k as f64).sin() + if (157..159).contains(&k) { pulse } else { 0.0 };
            let sample = Sample { t: 1e-3 * k as f64, q: q.clone(), dq: dq.clone(), tau: vec![0.0; n] };
            for j in 0..n {
                q[j] += 1e-3 * dq[j] + 5e-7 * ddq;
                dq[j] += 1e-3 * ddq;
            }
            sample
        };
        let samples: Vec<Sample> = (0..1000).map(one).collect();
        through_a_file(&samples, &robot)
    };
    let options = options(Unknown::Friction, &robot);
    let prior = Unknown::Friction.default_prior(&robot);
    let refuted = |pulse: f64| {
        let logs = [recorded(pulse)];
        let study = IdentificationStudy {
            robot: &robot,
            prior: &prior,
            logs: &logs,
            validation: None,
            options: &options,
        };
        let acceleration = study.largest_acceleration(&logs).unwrap();
        let broken = RecordedMotion { robot: &robot, logs: &logs, acceleration: &acceleration }.broken();
        let of = |broken: &crate::identify::motion::BrokenMotion| {
            broken.comparison == Comparison::VelocityAgainstAcceleration
        };
        (acceleration[0], broken.iter().any(of))
    };
    let (plain, _) = refuted(0.0);
    assert!((plain - ACCELERATION_MARGIN).abs() < 0.05, "{plain}");
    let (seen, broken) = refuted(2.5);
    assert!(!broken && seen > 2.0, "{seen}");
    // Far beyond what the filter sees: then it is the velocities that err.
    let (far, broken) = refuted(500.0);
    assert!(broken, "{far}");
}
