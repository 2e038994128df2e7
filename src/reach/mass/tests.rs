use nalgebra::{DMatrix, SymmetricEigen};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::truth;

/// The Z1 and its set.
fn arm() -> (Arm, ParameterSet) {
    let robot = crate::robot::load("z1").unwrap();
    let set = ParameterSet::around_nominal(&robot);
    (robot, set)
}

#[test]
fn a_body_that_is_hardly_known_counts_as_nothing_below() {
    let (robot, mut set) = arm();
    let last = robot.inertial_index(robot.end_effector());
    set.bounds().1[last] *= 3.0;
    (set.bounds().0[last + 3], set.bounds().1[last + 3]) = (0.05, 0.55);
    let between = MassBounds::new(&robot, &set);
    assert!(between.below[last..last + INERTIAL].iter().all(|x| *x == 0.0));
    assert!(between.above[last] >= set.upper()[last]);
}

/// A hand with up to 2 kg somewhere in it: whatever it is, the arm has no less energy than with the hand alone.
#[test]
fn a_known_part_of_a_body_counts_below() {
    let (robot, mut set) = arm();
    let last = robot.inertial_index(robot.end_effector());
    let hand = robot.joints[robot.end_effector()].inertia;
    for k in 0..INERTIAL {
        let (lower, upper) = set.bounds();
        lower[last + k] = hand[k] - [0.0, 0.4, 0.2][usize::from(k > 0) + usize::from(k > 3)];
        upper[last + k] = hand[k] + [2.0, 0.4, 0.2][usize::from(k > 0) + usize::from(k > 3)];
    }
    let without = MassBounds::new(&robot, &set);
    assert!(without.below[last..last + INERTIAL].iter().all(|x| *x == 0.0));
    set = set.with_core(last / INERTIAL, hand);
    let below = MassBounds::new(&robot, &set).below;
    assert_eq!(below[last..last + INERTIAL], hand);
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for _ in 0..200 {
        let mut theta = truth::consistent(&robot, &ParameterSet::around_nominal(&robot), &mut rng);
        theta[last..last + INERTIAL].copy_from_slice(&hand);
        // What is held: a few points of mass.
        for _ in 0..rng.random_range(0..4) {
            let m = rng.random_range(0.0..0.5);
            let [x, y, z]: [f64; 3] = std::array::from_fn(|_| rng.random_range(-0.2..0.2));
            let (xx, yy, zz) = (y * y + z * z, x * x + z * z, x * x + y * y);
            let point = [1.0, x, y, z, xx, -x * y, yy, -x * z, -y * z, zz];
            point.iter().enumerate().for_each(|(k, p)| theta[last + k] += m * p);
        }
        let q: Vec<f64> = (0..robot.dof()).map(|_| rng.random_range(-1.5..1.5)).collect();
        let left = truth::mass(&robot, &theta, &q) - truth::mass(&robot, &below, &q);
        assert!(SymmetricEigen::new(left).eigenvalues.min() >= -1e-12);
    }
}

proptest! {
    #[test]
    fn what_is_called_definite_is(
        entries in prop::collection::vec(-1.0..1.0f64, 16),
        radius in 0.0..0.2f64,
        shift in -1.0..4.0f64,
        signs in prop::collection::vec(prop::bool::ANY, 16),
    ) {
        let raw = DMatrix::from_fn(4, 4, |i, j| entries[4 * i.max(j) + i.min(j)] + if i == j { shift } else { 0.0 });
        let enclosed: Vec<Interval> = raw.iter().map(|&x| Interval::around(x, radius)).collect();
        let claimed = definite(&enclosed, 4);
        let off = DMatrix::from_fn(4, 4, |i, j| if signs[4 * i.max(j) + i.min(j)] { radius } else { -radius });
        let least = SymmetricEigen::new(&raw + off).eigenvalues.min();
        prop_assert!(!claimed || least > -1e-12);
        // Nothing that is far from the edge is missed.
        let sure = SymmetricEigen::new(raw.clone()).eigenvalues.min() > 20.0 * radius + 1e-6;
        prop_assert!(claimed || !sure || raw.diagonal().min() <= 0.0);
    }
}

#[test]
fn what_is_no_matrix_is_not_definite() {
    assert!(!definite(&[Interval::WHOLE; 4], 2));
    assert!(!definite(&[Interval::constant(0.0); 4], 2));
    assert_eq!(least_factor(&[Interval::constant(1.0)], &[Interval::constant(0.0)], 1), f64::INFINITY);
    let factor = least_factor(&[Interval::constant(1.0)], &[Interval::constant(2.0)], 1);
    assert!((0.5..0.53).contains(&factor));
}
