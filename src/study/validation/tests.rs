use super::*;
use crate::dynamics::actuation::extended_parameters;
use crate::study::estimation::EstimationStudy;

/// A simulated double pendulum without noise, with a gap, and its true parameters.
fn recorded() -> (Arc<Model>, Vec<f64>, MeasurementLog) {
    let quiet = "[simulate.noise]\nq_rad = 0.0\ndq_rad_s = 0.0\ntau_nm = 0.0".parse().unwrap();
    let study =
        EstimationStudy::load_changed("scenarios/estimation/double_pendulum.toml", &[&quiet]).unwrap();
    let mut samples = study.samples.clone();
    samples.drain(1200..1240);
    let robot = study.robot.clone();
    let log = MeasurementLog::of_samples("simulated".into(), samples).unwrap();
    let p = extended_parameters(&robot);
    (robot, p, log)
}

const SMOOTHING: Smoothing = Smoothing::SavitzkyGolay { half: 3, degree: 2 };

#[test]
fn true_parameters_predict_and_others_do_so_worse() {
    let (robot, p, log) = recorded();
    assert_eq!(log.segments.len(), 2);
    let good = ValidationFinding::new(&robot, &p, &log, SMOOTHING).unwrap();
    for torque in &good.torques {
        assert!(torque.error_rms < 0.05 * torque.measured_rms, "{torque:?}");
    }
    // The first segment lasts 2.4 s, the second half a second: no simulation crosses the gap.
    let count: Vec<usize> = good.simulations.iter().map(|s| s.simulations).collect();
    assert_eq!(count, [12, 11, 9, 6, 2]);
    for s in &good.simulations {
        assert!(s.position_rms.iter().all(|e| *e < 2e-3), "{s:?}");
    }
    let mut heavy = p.clone();
    heavy[robot.body_range(1)].iter_mut().for_each(|x| *x *= 1.3);
    let bad = ValidationFinding::new(&robot, &heavy, &log, SMOOTHING).unwrap();
    for (a, b) in good.torques.iter().zip(&bad.torques) {
        assert!(b.error_rms > 3.0 * a.error_rms, "{a:?} {b:?}");
    }
    for (a, b) in good.simulations.iter().zip(&bad.simulations) {
        assert!(b.position_rms[1] > 3.0 * a.position_rms[1], "{a:?} {b:?}");
    }
}

#[test]
fn what_cannot_be_predicted_is_told() {
    let (robot, p, log) = recorded();
    let error = ValidationFinding::new(&robot, &p[1..], &log, SMOOTHING).unwrap_err().to_string();
    assert!(error.contains("parameters to validate"), "{error}");
    let mut broken = p;
    broken[0] = f64::NAN;
    let error = ValidationFinding::new(&robot, &broken, &log, SMOOTHING).unwrap_err().to_string();
    assert!(error.contains("parameter 0 is NaN"), "{error}");
    let flying = Arc::new(crate::robot::load_model("robots/go1.toml").unwrap());
    let error = ValidationFinding::new(&flying, &[], &log, SMOOTHING).unwrap_err().to_string();
    assert!(error.contains("`go1` floats"), "{error}");
}
