//! What the methods find, beside the set.

use super::*;

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn without_noise_every_method_finds_the_payload_and_the_base_parameters_at_length() {
    let mut robot = arm();
    robot.stated().sensors =
        Sensors { torque_abs_nm: 1e-4, position_rad: 1e-9, velocity_rad_s: 1e-7, ..Sensors::PERFECT };
    (robot.stated().uncertainty.gravity_direction_deg, robot.stated().uncertainty.breakaway_ratio) =
        (0.0, 1.0);
    let mut theta = robot.nominal_parameters();
    let hand = robot.body_range(robot.end_effector());
    theta[hand].copy_from_slice(&PAYLOAD);
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (samples, acceleration) = recording(&robot, &theta, 4.0, Noise::Uniform, &mut rng);
    let logs = [through_a_file(&samples, &robot)];
    let prior = prior(&robot);
    let options = StudyOptions { acceleration: Some(acceleration), ..options(Unknown::Payload, &robot) };
    let study = study(&robot, &prior, &logs, &options);
    let findings = study.run().unwrap();
    assert_eq!(findings.methods.len(), Estimator::ALL.len());
    let size = [1.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1];
    for m in &findings.methods {
        if m.method == Estimator::Static {
            // The arm starts at rest, in one pose: mass and first moment cannot be told apart.
            assert!(m.note.as_ref().unwrap().contains("poses at rest"), "{m:?}");
            continue;
        }
        for (k, value) in m.values.iter().enumerate() {
            let error = (value.unwrap() - PAYLOAD[k]).abs();
            // A torque that is held for a tick belongs half a tick later than the acceleration that is found for its sample.
            let tolerance = if m.method == Estimator::InverseDynamics { 0.1 } else { 0.01 };
            assert!(
                error < tolerance * size[k],
                "{:?}, parameter {k}: {value:?} for {}",
                m.method,
                PAYLOAD[k]
            );
        }
        if let Some(intervals) = &m.interval {
            let holds = |(k, i): (usize, &Option<[f64; 2]>)| {
                i.unwrap()[0] <= PAYLOAD[k] && PAYLOAD[k] <= i.unwrap()[1]
            };
            assert!(intervals.iter().enumerate().all(holds), "{intervals:?}");
        }
        let linear = matches!(
            m.method,
            Estimator::LogCholesky
                | Estimator::LogCholeskyIrls
                | Estimator::ExponentialEigenvalue
                | Estimator::Nominal
        );
        assert!(!linear || m.physical == Some(true), "{m:?}");
    }
    assert_eq!(findings.method().unwrap().method, Estimator::InverseDynamics);

    // What torques tell of the whole arm fits this recording.
    assert!(findings.base.fit_rms_nm.iter().all(|rms| *rms < 0.2), "{:?}", findings.base.fit_rms_nm);
}

#[test]
fn base_parameters_are_those_of_the_truth() {
    let robot = arm();
    let n = robot.dof();
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let theta = truth(&robot, &prior(&robot), &mut rng);
    // Torques by recursive Newton-Euler and the joints' own formula, not by the regressor; 0.01 N m of noise.
    let mut workspace = Workspace::new(&robot);
    let noise = 0.01;
    let samples: Vec<Moving> = (0..400)
        .map(|k| {
            let mut draw = |size: f64| (0..n).map(|_| rng.random_range(-size..size)).collect::<Vec<f64>>();
            let (q, dq, ddq, errors) = (draw(3.0), draw(0.7), draw(3.0), draw(3f64.sqrt() * noise));
            let mut tau = vec![0.0; n];
            workspace.inverse_dynamics(&robot, &q, &dq, &ddq, &theta, &mut tau);
            for j in 0..n {
                let at = robot.joint_index(j);
                let sign = (dq[j] / robot.gains().stiction_speed_rad_s).clamp(-1.0, 1.0);
                tau[j] += theta[at.coulomb] * sign + theta[at.viscous] * dq[j] + theta[at.offset] + errors[j];
            }
            Moving { t: k as f64, q, dq, ddq, tau }
        })
        .collect();
    let (prior, options) = (prior(&robot), options(Unknown::Friction, &robot));
    let study =
        IdentificationStudy { robot: &robot, prior: &prior, logs: &[], validation: None, options: &options };
    let base = study.base_finding(&samples).unwrap();
    // By the rules of Gautier and Khalil: of the first link, whose axis is vertical, one; of each later one, whose axis is not parallel
    // to the one before, seven.
    assert_eq!((base.rank, base.of, base.of_with_drives), (43, 70, 98));
    assert!(base.gap.unwrap() > 1e3 && base.gap_with_drives.unwrap() > 1e3, "{base:?}");
    assert!(base.condition_number.unwrap() < 100.0, "{:?}", base.condition_number);
    let expected = BaseParameters::of_robot_with_drives(&robot, 200, 1).regroup(&theta);
    assert_eq!(base.parameters.len(), base.rank_with_drives);
    for (p, truth) in base.parameters.iter().zip(expected) {
        let (estimate, deviation) = (p.estimate.unwrap(), p.deviation.unwrap());
        assert!(
            (estimate - truth).abs() < 5.0 * deviation && deviation < 0.05,
            "{}: {estimate}, {truth}",
            p.name
        );
    }
    for rms in &base.fit_rms_nm {
        assert!((0.8 * noise..1.1 * noise).contains(rms), "{rms}");
    }
    // What never moved is not claimed.
    let still: Vec<Moving> = samples
        .iter()
        .map(|s| Moving { q: vec![0.3; n], dq: vec![0.0; n], ddq: vec![0.0; n], ..s.clone() })
        .collect();
    let base = study.base_finding(&still).unwrap();
    assert!(
        base.condition_number.is_none()
            && base.parameters.iter().filter(|p| p.estimate.is_none()).count() > 50
    );
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_method_that_is_asked_for_is_shown_or_the_reason_told_at_length() {
    let (robot, _, samples) = empty_handed(6, 1.0);
    let logs = [through_a_file(&samples, &robot)];
    let prior = Unknown::Friction.default_prior(&robot);
    let with = |method: Estimator| {
        let options = StudyOptions { method: Some(method), ..options(Unknown::Friction, &robot) };
        study(&robot, &prior, &logs, &options).run()
    };
    let (plain, weighted) = (with(Estimator::Ols).unwrap(), with(Estimator::Wls).unwrap());
    assert_eq!(plain.parameters[1].estimate, plain.method().unwrap().values[1].unwrap());
    assert_ne!(plain.parameters[1].estimate, weighted.parameters[1].estimate);
    // The set is the same whoever estimates.
    assert_eq!(plain.parameters[1].set, weighted.parameters[1].set);
    // Where the last body is known, methods for bodies have nothing to say.
    assert!(plain.methods.iter().all(|m| !m.method.needs_body()), "{:?}", plain.methods.len());
    let error = with(Estimator::LogCholesky).unwrap_err().to_string();
    assert!(error.contains("log_cholesky") && error.contains("last body counts as known"), "{error}");
    // The set shrinks as data come in.
    let history = &plain.history;
    assert!(
        history.len() >= 2 && history[0].windows == 0 && history.last().unwrap().windows == plain.windows
    );
    for pair in history.windows(2) {
        assert!(pair[0].lower.iter().zip(&pair[1].lower).all(|(a, b)| a <= b));
        assert!(pair[0].upper.iter().zip(&pair[1].upper).all(|(a, b)| a >= b));
    }
}
