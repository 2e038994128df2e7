use nalgebra::{DMatrix, SymmetricEigen};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::truth;
use crate::enclose::Counted;
use crate::family::spectrum::eigenvalue_bounds;
use crate::plan::tube_fit;
use crate::reach::mass::{MassBounds, floor_factor};
use crate::reach::{Cell, CellWorkspace, Span, Tube};
use crate::trajectory::Bezier;

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
        FloorFit::new(&robot).fit(&robot, &PreparedSet::new(&robot, &set), (&curve).into(), &mut floor);
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
