//! All limbs at once, as logs have them; and logs from which nothing may be proven.

use std::path::PathBuf;

use rand::SeedableRng;

use super::*;
use crate::recording::DerivedVelocities;

const PERIOD_S: f64 = 0.002;
/// Samples before the gap, and after it.
const SAMPLES: usize = 120;

/// A bound for each motor, none like the next.
fn one_each(motors: usize, waves: &Waves) -> FrictionAssumptions {
    FrictionAssumptions {
        torque_error: (0..motors).map(|k| 0.05 + 0.01 * k as f64).collect(),
        unmodelled: (0..motors).map(|k| 0.02 * (k % 3) as f64).collect(),
        acceleration: waves.acceleration(),
        clock: Clock::Recorded,
        window_s: [0.032, 0.2],
        ..assumptions()
    }
}

/// Samples at uneven times with a gap. Torques are of the samples' moments: the mean of two is that of the time between, but for errors at the ends of their bounds.
fn record(
    robot: &mut Numbers<'_>,
    theta: &[f64],
    (waves, bounds): (&Waves, &FrictionAssumptions),
    rng: &mut ChaCha8Rng,
) -> Vec<Sample> {
    let motors = bounds.torque_error.len();
    let mut samples = vec![];
    for first in [0.0, 1.3 * SAMPLES as f64 * PERIOD_S] {
        let stamps: Vec<f64> =
            (0..SAMPLES).map(|i| first + PERIOD_S * (i as f64 + rng.random_range(-0.1..=0.1))).collect();
        let mut exact = robot.torque(theta, &waves.at(stamps[0]));
        for (i, &t) in stamps.iter().enumerate() {
            if i > 0 {
                let mean = robot.mean(theta, &|t| waves.at(t), [stamps[i - 1], t]);
                exact.iter_mut().zip(mean).for_each(|(tau, mean)| *tau = 2.0 * mean - *tau);
            }
            let [q, dq, _] = waves.at(t);
            let mut end = || f64::from(i8::from(rng.random::<bool>()) * 2 - 1);
            let read = |x: f64, bound: f64, end: &mut dyn FnMut() -> f64| x + 0.999 * bound * end();
            let q = q.iter().map(|x| read(*x, bounds.position_error, &mut end)).collect();
            let dq = dq.iter().map(|x| read(*x, bounds.velocity_error, &mut end)).collect();
            let most = |k: usize| bounds.torque_error[k] + bounds.unmodelled[k];
            let tau = (0..motors).map(|k| read(exact[k], most(k), &mut end)).collect();
            samples.push(Sample { t, q, dq, tau });
        }
    }
    samples
}

fn log(samples: Vec<Sample>) -> [MotorLog; 1] {
    let log = MeasurementLog::of_samples(PathBuf::from("drawn.csv"), samples).unwrap();
    [MotorLog { log, passive: false }]
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn motors_of_all_limbs_keep_their_own_bounds_at_length() {
    let robot = load_model("digit").unwrap().with_base_held();
    let domain = ClosureDomain::of(&robot).unwrap();
    let motors = motors_and_base(&robot);
    assert_eq!((motors.len(), robot.limbs().len()), (20, 4));
    let prior = FrictionPrior::default().set(&robot).unwrap();
    for seed in 0..2 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (theta, waves) = (truth(&prior, &mut rng), Waves::draw(&robot, &domain, &mut rng));
        let bounds = one_each(motors.len(), &waves);
        let numbers = &mut Numbers::new(&robot, &domain);
        let logs = log(record(numbers, &theta, (&waves, &bounds), &mut rng));
        assert_eq!(logs[0].log.segments.len(), 2);
        let study = GuaranteedStudy {
            robot: &robot,
            logs: &logs,
            assumptions: &bounds,
            prior: &prior,
            passive_tolerance: 0.0,
        };
        let found = study.run().unwrap();
        let all: Vec<&GuaranteedMotor> = found.limbs.iter().flat_map(|limb| &limb.motors).collect();
        assert_eq!(all.len(), motors.len());
        for motor in all {
            let joint = robot.joints.iter().position(|joint| joint.name == motor.joint).unwrap();
            let at = robot.friction_index(joint);
            for ((name, _, found), k) in motor.intervals().iter().zip([COULOMB, VISCOUS, ARMATURE, OFFSET]) {
                let ([lower, upper], x) = (found.interval, theta[at + k]);
                assert!(lower <= x && x <= upper, "{} {name}: {x} in {found:?}, seed {seed}", motor.joint);
            }
            let told = motor.intervals().iter().any(|(.., found)| found.share() < 0.9);
            assert!(told, "{}: nothing is learnt", motor.joint);
        }
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn logs_from_which_nothing_may_be_proven_are_refused_by_name_at_length() {
    let robot = leg();
    let domain = ClosureDomain::of(&robot).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let prior = FrictionPrior::default().set(&robot).unwrap();
    let waves = Waves::draw(&robot, &domain, &mut rng);
    let bounds = one_each(6, &waves);
    let theta = truth(&prior, &mut rng);
    let samples = record(&mut Numbers::new(&robot, &domain), &theta, (&waves, &bounds), &mut rng);
    let run = |samples: &[Sample], bounds: &FrictionAssumptions, derived: bool| {
        let mut logs = log(samples.to_vec());
        logs[0].log.derived = derived.then(DerivedVelocities::default);
        let study = GuaranteedStudy {
            robot: &robot,
            logs: &logs,
            assumptions: bounds,
            prior: &prior,
            passive_tolerance: 0.0,
        };
        study.run().map(|_| ()).map_err(|error| error.to_string())
    };
    run(&samples, &bounds, false).unwrap();
    let said = run(&samples, &bounds, true).unwrap_err();
    assert!(said.contains("drawn.csv") && said.contains("no measured velocities"), "{said}");
    let said = run(&samples[..10], &bounds, false).unwrap_err();
    assert!(said.contains("as long as the shortest window, 0.032 s"), "{said}");
    // Speeds that jump, and positions that do.
    let second = robot.joints[motors_and_base(&robot)[1]].name.clone();
    for change in [|s: &mut Sample| s.dq[1] += 0.5, |s: &mut Sample| s.q[1] += 0.02] {
        let mut jumps = samples.clone();
        jumps[50..].iter_mut().for_each(change);
        let said = run(&jumps, &bounds, false).unwrap_err();
        assert!(said.contains("sample 50 at t = ") && said.contains(&second), "{said}");
    }
    let slow = FrictionAssumptions { acceleration: vec![0.1], ..bounds.clone() };
    let said = run(&samples, &slow, false).unwrap_err();
    assert!(said.contains("expected a larger bound of its acceleration"), "{said}");
}
