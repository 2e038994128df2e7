//! The most probable parameters against the guaranteed set of the same recording.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::*;
use crate::identify::tests::{Noise, PAYLOAD, arm, noise, prior, recording, truth};
use crate::identify::{Identifier, IdentifierOptions};

/// The estimate of a recording lies in the set that is proven from it, and is off by what it says.
fn check_the_most_probable(seed: u64, noise: Noise) {
    let robot = Arc::new(arm());
    let set = prior(&robot);
    let at = robot.inertial_index(robot.end_effector());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let theta = truth(&robot, &set, &mut rng);
    let (samples, bound) = recording(&robot, &theta, 2.0, noise, &mut rng);
    let mut identifier = Identifier::new(robot.clone(), &set, bound, IdentifierOptions::default()).unwrap();
    let start = *identifier.nominal();
    samples.iter().for_each(|s| identifier.push(s.clone()).unwrap());
    let proven = identifier.update().unwrap().set;
    let found = estimate(&robot, &samples, &start).unwrap();
    assert!(found.converged, "{found:?}");
    for i in 0..INERTIAL {
        let (low, high, estimate) = (proven.lower()[at + i], proven.upper()[at + i], found.inertial[i]);
        assert!((low..=high).contains(&estimate), "seed {seed}, {i}: {estimate} in [{low}, {high}]");
        // It is an estimate, not the middle of a set.
        let (away, deviation) = ((estimate - PAYLOAD[i]).abs(), found.deviation[i]);
        assert!(deviation > 0.0 && deviation < 0.5 * (high - low));
        assert!(away < 0.5 * (high - low), "seed {seed}, {i}: {away} away in [{low}, {high}]");
        // Errors that all keep their sign are at the end of what a sensor's own numbers may be.
        assert!(away < 4.0 * deviation, "seed {seed}, {i}: {away} away, deviation {deviation}");
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_most_probable_payload_lies_in_the_guaranteed_set_at_length() {
    check_the_most_probable(700, Noise::Uniform);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_most_probable_payload_lies_in_the_guaranteed_set_whatever_signs_errors_keep_at_length() {
    check_the_most_probable(701, Noise::Corner);
}

#[test]
#[ignore = "a minute: many recordings"]
fn the_most_probable_payloads_lie_in_their_guaranteed_sets() {
    (710..722).for_each(|seed| check_the_most_probable(seed, noise(seed)));
}

#[test]
fn the_most_probable_payload_of_a_bad_log_is_refused() {
    let robot = Arc::new(arm());
    let zeros = vec![0.0; robot.dof()];
    let still =
        |k: usize| Sample { t: 1e-3 * k as f64, q: zeros.clone(), dq: zeros.clone(), tau: zeros.clone() };
    let start = [1.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.0, 0.0, 0.01];
    let refused = |samples: &[Sample], start| estimate(&robot, samples, start).unwrap_err().to_string();
    assert_eq!(refused(&[still(0)], &start), "samples: 1 numbers, expected 2");
    let mut log: Vec<_> = (0..5).map(still).collect();
    log[3].tau.pop();
    assert_eq!(refused(&log, &start), "joints of sample 3: 6 numbers, expected 7");
    log[3].tau.push(f64::NAN);
    assert_eq!(refused(&log, &start), "a sample at stage 3 is not finite");
    log[3].tau[6] = 0.0;
    assert!(refused(&log, &[-1.0; INERTIAL]).contains("mass"), "{}", refused(&log, &[-1.0; INERTIAL]));
}
