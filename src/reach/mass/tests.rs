use nalgebra::{DMatrix, SymmetricEigen};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::campaign::soundness::truth;
use crate::enclose::Counted;
use crate::family::spectrum::eigenvalue_bounds;
use crate::plan::inertia_floor::FloorFit;
use crate::plan::tube_fit;
use crate::reach::CellWorkspace;
use crate::reach::{Cell, PreparedSet, Span, Tube};
use crate::trajectory::{Bezier, JointState};

/// Where plans of an arm start, rad.
const Z1: (&str, &[f64]) = ("z1", &[0.0, 1.4, -1.4, 0.0, 0.0, 0.0]);
const GEN3: (&str, &[f64]) = ("kinova_gen3_2f85", &[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);

/// An arm with or without what its transmissions turn, and its set.
fn arm(name: &str, with_transmission: bool) -> (Arm, ParameterSet) {
    let mut robot = crate::robot::load(name).unwrap();
    for joint in &mut robot.joints {
        if !with_transmission {
            joint.friction.armature = 0.0;
        }
    }
    let set = ParameterSet::around_nominal(&robot);
    (robot, set)
}

fn plan(start: &[f64], rng: &mut ChaCha8Rng) -> Bezier {
    let start: Vec<f64> = start.iter().map(|q| q + rng.random_range(-0.5..0.5)).collect();
    let end: Vec<f64> = start.iter().map(|q| q + rng.random_range(-0.3..0.3)).collect();
    Bezier::to_rest(&JointState::at_rest(&start), &end, 3.0).unwrap()
}

/// A tube with given radii whatever the transmission: only positions matter here.
fn tube(robot: &Arm) -> Tube {
    let mut tube = tube_fit::initial(robot);
    tube.gains.v_max = 1e-3;
    tube
}

/// The bounds hold for random positions, parameters and errors, and lie within a factor of what is met.
fn attacked((name, start): (&str, &[f64]), with_transmission: bool) -> (f64, f64) {
    let (robot, set) = arm(name, with_transmission);
    // Errors as they are with transmission: without, this tube would have none.
    let (braced, _) = arm(name, true);
    let between = MassBounds::new(&robot, &set);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut tightest, mut widest) = (0.0f64, f64::INFINITY);
    for _ in 0..12 {
        let (curve, tube) = (plan(start, &mut rng), tube(&braced));
        let t0 = rng.random_range(0.0..2.9);
        let cell = Cell::<16, Counted>::new(&braced, &tube, &curve, Span::Between(t0, t0 + 0.05));
        let mut floor = vec![0.0; robot.dof()];
        FloorFit::new(&robot).fit(&robot, &PreparedSet::new(&robot, &set), &curve, &mut floor);
        let mut space = CellWorkspace::<16, Counted>::new(&robot);
        space.forms.motion.place(&robot, &cell.q);
        let (forms, mass) = (&mut space.forms, &mut space.form_mass);
        let factor = floor_factor(&robot, &between, &floor, (forms, mass));
        assert!(factor.is_finite() && floor.iter().all(|a| *a > 0.0), "{factor} {floor:?}");
        let (least, largest) = eigenvalue_bounds(&robot, &between, &cell);
        assert!(least > 0.0 && largest.is_finite());
        let (mut smallest, mut most) = (f64::INFINITY, 0.0f64);
        for _ in 0..40 {
            let theta = truth::consistent(&robot, &set, &mut rng);
            let q: Vec<f64> = cell
                .q
                .iter()
                .map(|q| q.center() + 0.999 * q.radius() * truth::extreme(&mut rng) / 3.0)
                .collect();
            let mass = truth::mass(&robot, &theta, &q);
            let left = &mass * factor - DMatrix::from_diagonal(&floor.clone().into());
            assert!(SymmetricEigen::new(left).eigenvalues.min() >= 0.0);
            let spectrum = SymmetricEigen::new(mass).eigenvalues;
            smallest = smallest.min(spectrum.min());
            most = most.max(spectrum.max());
        }
        assert!(least <= smallest && most <= largest, "{least} {smallest} {most} {largest}");
        tightest = tightest.max(least / smallest);
        widest = widest.min(largest / most);
    }
    (tightest, widest)
}

#[test]
fn eigenvalues_stay_within_their_bounds_with_transmission_inertia() {
    // 0.990 and 1.023 of the Z1, 0.997 and 1.004 of the Gen3.
    for (arm, narrow, wide) in [(Z1, 0.987, 1.028), (GEN3, 0.996, 1.0045)] {
        let (below, above) = attacked(arm, true);
        assert!(below > narrow && above < wide, "{arm:?}: {below} {above}");
    }
}

#[test]
fn eigenvalues_stay_within_their_bounds_without_transmission_inertia() {
    let (below, above) = attacked(Z1, false);
    // 0.938 and 1.022.
    assert!(below > 0.92 && above < 1.027, "{below} {above}");
}

#[test]
fn a_body_that_is_hardly_known_counts_as_nothing_below() {
    let (robot, mut set) = arm(Z1.0, true);
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
    let (robot, mut set) = arm(Z1.0, true);
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
