//! Rows without a guarantee, against the guaranteed ones.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Noise, arm, prior, recording, truth};
use crate::identify::window::{Clock, Window, parts, rows_over_parts};
use crate::regression::balance::{condition_number, window_regressor};

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
