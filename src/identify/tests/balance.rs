//! Rows without a guarantee, against the guaranteed ones.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::{Identifier, IdentifierOptions, Noise, arm, prior, recording, truth};
use crate::identify::window::{Clock, Window, parts, rows_over_parts};
use crate::regression::balance::{condition_number, window_regressor};
use std::sync::Arc;

#[test]
fn window_regressors_are_the_middle_of_the_guaranteed_rows() {
    let robot = arm();
    let set = prior(&robot);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let theta = truth(&robot, &set, &mut rng);
    let (samples, bound) = recording(&robot, &theta, 0.35, Noise::Uniform, &mut rng);
    let y = window_regressor(&robot, &samples, 100, 0..robot.dof());
    assert_eq!((y.nrows(), y.ncols()), (3 * 7, 70));
    let hand = robot.end_effector()..robot.end_effector() + 1;
    let own = window_regressor(&robot, &samples, 100, hand.clone());
    assert!((y.columns(60, 10) - &own).amax() < 1e-14);
    for w in 0..3 {
        let window = Window {
            samples: samples[100 * w..=100 * (w + 1)].to_vec(),
            acceleration_bound: bound.clone(),
            clock: Clock::Control,
        };
        let rows = rows_over_parts(&robot, &set, &parts(&robot, &set, &window, 1));
        let difference = rows.y.columns(0, 70) - y.rows(7 * w, 7);
        // The enclosure's middle is off by what is of second order in the encoders' errors.
        assert!(difference.amax() < 1e-7, "{}", difference.amax());
    }
    assert!(condition_number(&own) > 1.0 && condition_number(&own.rows(0, 9).into_owned()).is_infinite());
    assert_eq!(window_regressor(&robot, &samples[..50], 100, hand.clone()).nrows(), 0);
    assert_eq!(window_regressor(&robot, &samples, 0, hand).nrows(), 0);
}

/// The condition number is that of all windows, not of the rows that were kept.
#[test]
fn the_condition_number_is_that_of_all_windows() {
    let robot = Arc::new(arm());
    let set = prior(&robot);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let theta = truth(&robot, &set, &mut rng);
    let (samples, bound) = recording(&robot, &theta, 1.6, Noise::Uniform, &mut rng);
    let options = IdentifierOptions { row_budget: 20, ..IdentifierOptions::default() };
    let mut identifier = Identifier::new(robot.clone(), &set, bound, options).unwrap();
    let hand = robot.end_effector()..robot.end_effector() + 1;
    for (k, sample) in samples.iter().enumerate() {
        identifier.push(sample.clone()).unwrap();
        if k == 0 || k % 400 != 0 {
            continue;
        }
        let update = identifier.update().unwrap();
        let all = condition_number(&window_regressor(&robot, &samples[..=k], 100, hand.clone()));
        assert!((update.condition_number / all - 1.0).abs() < 1e-3, "{} {all}", update.condition_number);
    }
    // What was kept is less than what was seen.
    assert!(identifier.update().unwrap().rows < 16 * 7);
}
