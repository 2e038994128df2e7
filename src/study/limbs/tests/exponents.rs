//! Exponents of viscous friction that are planted and found.

use super::*;

/// Motors whose friction grows with another power of the speed.
const PLANTED: [(&str, f64); 3] = [("left_knee", 0.5), ("right_hip_yaw", 1.8), ("left_elbow", 0.6)];

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn planted_exponents_are_found_at_length() {
    let robot = load_model("digit").unwrap();
    let held = robot.with_base_held();
    let theta = truth(&held, &mut ChaCha8Rng::seed_from_u64(7));
    let exponent = |name: &str| PLANTED.iter().find(|(own, _)| *own == name).map_or(1.0, |(_, alpha)| *alpha);
    let further = |motor: usize, v: f64| {
        let alpha = exponent(&held.joints[motor].name);
        held.joint_parameters(&theta, motor).viscous * (v.abs().powf(alpha).copysign(v) - v)
    };
    let folder = tempfile::tempdir().unwrap();
    let log = |seed: u64| {
        let path = folder.path().join(format!("{seed}.csv"));
        std::fs::write(&path, recording_of(&held, &theta, (seed, 20.0, false), |_| true, further)).unwrap();
        MotorLog::read(&path, &robot, &LogRequest::default()).unwrap()
    };
    let logs: Vec<MotorLog> = (1..=3).map(log).collect();
    let learn = |exponents: bool| {
        LimbStudy {
            robot: &robot,
            logs: &logs[..2],
            validation: Some(&logs[2]),
            unknown: LimbUnknown::Everything,
            smoothing: Smoothing::SavitzkyGolay { half: 2, degree: 2 },
            passive_tolerance: 1e-6,
            exponents,
        }
        .run()
        .unwrap()
    };
    let (found, plain) = (learn(true), learn(false));
    let pairs = || {
        let limbs = found.limbs.iter().zip(&plain.limbs);
        limbs.flat_map(|(limb, without)| limb.motors.iter().zip(&without.motors))
    };
    for (motor, without) in pairs() {
        let (alpha, own, other) = (
            motor.friction_exponent.unwrap(),
            motor.validation_rms_nm.unwrap(),
            without.validation_rms_nm.unwrap(),
        );
        println!("{}: {alpha:.3}, {own:.3} N m, without exponents {other:.3}", motor.joint);
    }
    for (motor, without) in pairs() {
        let (alpha, wanted) = (motor.friction_exponent.unwrap(), exponent(&motor.joint));
        let (own, other) = (motor.validation_rms_nm.unwrap(), without.validation_rms_nm.unwrap());
        assert!((alpha - wanted).abs() < 0.1, "{}: {alpha}", motor.joint);
        assert!(own < 1.1 * NOISE_NM && own < 1.1 * other, "{motor:?}");
        assert!(wanted == 1.0 || own < 0.9 * other, "{}: {own} {other}", motor.joint);
        assert!(without.friction_exponent.is_none());
    }
}
