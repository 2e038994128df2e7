//! Motions that the bounds just allow, and ones that they do not.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::identify::tests::{Noise, arm, prior, recording, truth};

const PERIOD: f64 = 0.01;

fn log(samples: Vec<Sample>) -> MeasurementLog {
    MeasurementLog::of_samples("made up".into(), samples).unwrap()
}

/// All joints alike, from (position, velocity) at every tick.
fn alike(period: f64, states: impl IntoIterator<Item = (f64, f64)>) -> MeasurementLog {
    let sample = |(k, (q, dq)): (usize, (f64, f64))| Sample {
        t: k as f64 * period,
        q: vec![q; 7],
        dq: vec![dq; 7],
        tau: vec![0.0; 7],
    };
    log(states.into_iter().enumerate().map(sample).collect())
}

fn robot() -> Arm {
    let mut robot = arm();
    robot.stated().sensors = Sensors { position_rad: 1e-4, velocity_rad_s: 1e-3, ..Sensors::PERFECT };
    robot
}

/// Which comparisons fail with the bounds times these.
fn failing(robot: &Arm, log: &MeasurementLog, acceleration: f64, scales: [f64; 3]) -> Vec<Comparison> {
    let mut robot = robot.clone();
    robot.stated().sensors.position_rad *= scales[0];
    robot.stated().sensors.velocity_rad_s *= scales[1];
    let acceleration = vec![acceleration * scales[2]; 7];
    let motion =
        RecordedMotion { robot: &robot, logs: std::slice::from_ref(log), acceleration: &acceleration };
    motion.broken().iter().map(|b| b.comparison).collect()
}

/// Each term of both right-hand sides is reached by some motion and some errors of the readings: none is too small, and with 3 %
/// less of any the honest motion would be refused.
#[test]
fn each_term_is_needed_and_enough() {
    let robot = robot();
    let Sensors { position_rad: dq, velocity_rad_s: dv, .. } = robot.sensors();
    let (a, h) = (2.0, PERIOD);
    let sign = |k: i32| if k % 2 == 0 { 1.0 } else { -1.0 };
    // Just within the rounding of the decimal figures.
    let s = 1.0 - 1e-12;
    use Comparison::{PositionAgainstVelocity as Position, VelocityAgainstAcceleration as Velocity};
    let cases: [(MeasurementLog, f64, [f64; 3], &[Comparison]); 5] = [
        // Stands still; the positions' errors change sides.
        (alike(h, (0..10).map(|k| (s * sign(k) * dq, 0.0))), a, [0.97, 0.0, 0.0], &[Position]),
        // Stands still; the velocity is read too large for 128 steps, and the positions' errors change sides.
        (
            alike(h, (0..129).map(|k| (if k < 64 { s * dq } else { -s * dq }, s * dv))),
            a,
            [1.0, 0.97, 0.0],
            &[Position],
        ),
        // Up for half a step and down for the other: the velocities read zero.
        (
            alike(h, (0..10).map(|k| (s * f64::from(k) * a * h * h / 4.0, 0.0))),
            a,
            [0.0, 0.0, 0.97],
            &[Position],
        ),
        // Stands still; the velocities' errors change sides.
        (alike(h, (0..10).map(|k| (0.0, s * sign(k) * dv))), a, [1.0, 0.97, 0.0], &[Velocity]),
        // Constant acceleration.
        (
            alike(h, (0..10).map(|k| (0.5 * a * (f64::from(k) * h).powi(2), s * a * h * f64::from(k)))),
            a,
            [1.0, 0.0, 0.97],
            &[Velocity],
        ),
    ];
    for (index, (log, acceleration, scales, expected)) in cases.iter().enumerate() {
        assert!(failing(&robot, log, *acceleration, [1.0; 3]).is_empty(), "case {index}");
        // Only the terms that the case uses count.
        let whole = scales.map(|x| if x == 0.0 { 0.0 } else { 1.0 });
        assert!(failing(&robot, log, *acceleration, whole).is_empty(), "case {index}, with its terms alone");
        assert_eq!(&failing(&robot, log, *acceleration, *scales), expected, "case {index}, 3 % less");
    }
}

/// Recordings of an honest arm pass at the control rate and as every tenth sample with jitter of the sampling.
#[test]
fn honest_recordings_pass() {
    let robot = arm();
    for seed in 0..4 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let theta = truth(&robot, &prior(&robot), &mut rng);
        let noise = if seed % 2 == 0 { Noise::Uniform } else { Noise::Corner };
        let (samples, acceleration) = recording(&robot, &theta, 0.6, noise, &mut rng);
        let mut sparse = vec![];
        let mut k = 0;
        while k < samples.len() {
            sparse.push(samples[k].clone());
            k += rng.random_range(8..13);
        }
        let logs = [log(samples), log(sparse)];
        let motion = RecordedMotion { robot: &robot, logs: &logs, acceleration: &acceleration };
        assert!(motion.broken().is_empty(), "seed {seed}: {:?}", motion.broken());
        assert_eq!(motion.sensors_needed(1.5), Some(robot.sensors().clone()));
        assert_eq!(motion.stamps_enough(), Some(0.0));
    }
}

/// With each bound times its factor the comparison passes, with less it does not; the acceleration's likewise.
#[test]
fn the_factors_are_those_at_which_it_passes() {
    let robot = arm();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let theta = truth(&robot, &prior(&robot), &mut rng);
    let (honest, acceleration) = recording(&robot, &theta, 0.6, Noise::Uniform, &mut rng);
    type Spoil<'a> = &'a dyn Fn(&mut [Sample]);
    let spoil: [Spoil<'_>; 3] = [
        // A jump of the angle by 0.005 rad, in the middle of the log and for good.
        &|samples| samples[200..].iter_mut().for_each(|s| s.q[3] += 0.005),
        // A velocity that reads 0.6 % too much, which no single step shows.
        &|samples| samples.iter_mut().for_each(|s| s.dq[1] *= 1.006),
        // A velocity with spikes.
        &|samples| samples[100..110].iter_mut().step_by(2).for_each(|s| s.dq[2] += 0.02),
    ];
    let mut seen = vec![];
    for spoil in spoil {
        let mut samples = honest.clone();
        spoil(&mut samples);
        let logs = [log(samples)];
        let motion = RecordedMotion { robot: &robot, logs: &logs, acceleration: &acceleration };
        let broken = motion.broken();
        assert!(!broken.is_empty());
        for found in &broken {
            seen.push((found.comparison, found.joint, found.steps, found.over_s));
            for remedy in &found.remedies {
                let (Some(least), Some(enough)) = (remedy.at_least, remedy.enough) else { continue };
                assert!(1.0 < least && least <= enough && enough < 1.00001 * least);
                let fails = |factor: f64| {
                    let mut robot = robot.clone();
                    let mut acceleration = acceleration.clone();
                    let (position, velocity) = match remedy.bound {
                        MotionBound::Position => (factor, 1.0),
                        MotionBound::Velocity => (1.0, factor),
                        MotionBound::Encoders => (factor, factor),
                        _ => (1.0, 1.0),
                    };
                    robot.stated().sensors.position_rad *= position;
                    robot.stated().sensors.velocity_rad_s *= velocity;
                    if remedy.bound == MotionBound::Acceleration {
                        acceleration.iter_mut().for_each(|a| *a *= factor);
                    }
                    let motion = RecordedMotion { robot: &robot, logs: &logs, acceleration: &acceleration };
                    motion.broken().iter().any(|b| b.comparison == found.comparison)
                };
                assert!(!fails(enough) && fails(0.999 * least), "{found:?}");
            }
        }
        let needed = motion.sensors_needed(1.0).unwrap();
        assert!(!motion.holds_with(robot.sensors()) && motion.holds_with(&needed), "{needed:?}");
    }
    use Comparison::{PositionAgainstVelocity as Position, VelocityAgainstAcceleration as Velocity};
    assert_eq!((seen[0].0, seen[0].1, seen[0].2), (Position, 3, 1));
    // Hardly a step alone shows the second, which many together do.
    assert!((seen[1].0, seen[1].1) == (Position, 1) && seen[1].2 < 20 && seen[1].3 > 0.06, "{seen:?}");
    assert!(seen.iter().any(|(comparison, joint, ..)| (*comparison, *joint) == (Velocity, 2)), "{seen:?}");
}

/// Stamps that are wrong by up to 2 ms are told as such; an encoder at fault is not.
#[test]
fn wrong_stamps_are_told_from_wrong_encoders() {
    let robot = arm();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let theta = truth(&robot, &prior(&robot), &mut rng);
    let (honest, acceleration) = recording(&robot, &theta, 1.0, Noise::Uniform, &mut rng);
    // Every joint moves from here on.
    let mut samples: Vec<Sample> = honest[300..].iter().step_by(10).cloned().collect();
    samples.iter_mut().for_each(|s| s.t += rng.random_range(-0.002..0.002));
    let logs = [log(samples)];
    let motion = RecordedMotion { robot: &robot, logs: &logs, acceleration: &acceleration };
    assert!(!motion.broken().is_empty());
    let enough = motion.stamps_enough().expect("a bound on the stamps");
    assert!(1e-3 < enough && enough < 2.1e-3, "{enough}");

    let mut samples: Vec<Sample> = honest[300..].iter().step_by(10).cloned().collect();
    samples[30..].iter_mut().for_each(|s| s.q[3] += 0.005);
    let logs = [log(samples)];
    let motion = RecordedMotion { robot: &robot, logs: &logs, acceleration: &acceleration };
    assert_eq!(motion.stamps_enough(), None);
}
