//! A floor that the mass matrix does not have is refused by `certify`, whatever carries it; a lower one is accepted.

use super::adversary::thetas;
use super::*;
use crate::certify::{ConstraintFamily, Partition, Refusal, Start, certify};
use crate::dynamics::truth;
use crate::inertia::ARMATURE;
use crate::plan::tube_fit;
use crate::reach::Cell;
use crate::reach::CellWorkspace;
use crate::reach::PreparedSet;
use crate::reach::energy::relative_mass;

/// Cells of a plan that rests, and of one of which a single cell must hold all.
const CELLS: usize = 2;

/// The largest floor of the first joint, the other one's as it is: M - diag(A) must be positive semidefinite at all corners of the
/// set and at all positions of the motion.
fn true_floor(case: &Case) -> f64 {
    let mut least = f64::INFINITY;
    for theta in thetas(case) {
        for k in 0..=100 {
            let q = case.curve.state(case.curve.duration_s * f64::from(k) / 100.0).q;
            let mass = truth::mass(&case.robot, &theta, &q);
            let coupled = match q.len() {
                1 => 0.0,
                _ => mass[(0, 1)].powi(2) / (mass[(1, 1)] - case.tube.inertia_floor[1]),
            };
            least = least.min(mass[(0, 0)] - coupled);
        }
    }
    least
}

/// The answer to a tube with this floor of the first joint, the other constants as they are needed.
fn verdict(case: &Case, floor: f64, partition: Partition) -> Result<(), Refusal> {
    let mut case = case.clone();
    case.tube.lag_floor[0] = 0.5 * true_floor(&case);
    case.tube.inertia_floor[0] = 0.5 * true_floor(&case);
    case.robot.stated().gains = case.tube.gains;
    let lag = case.tube.lag_floor.clone();
    for _ in 0..8 {
        let reports = case.problem().unwrap().survey(partition.cells);
        let factors: Vec<f64> = reports.iter().map(|report| report.required.floor_factor).collect();
        assert!(factors.iter().all(|factor| *factor <= 1.0), "half the floor is refused: {factors:?}");
        tube_fit::adapt(&mut case.tube, &reports, None);
    }
    // A higher floor makes the tube narrower; whatever else it changes is provided for.
    let Tube { drift_nm, acceleration_bound, hold_power_w, energy_slack_j, .. } = &mut case.tube;
    for constant in drift_nm.iter_mut().chain(acceleration_bound).chain([hold_power_w, energy_slack_j]) {
        *constant *= 1.5;
    }
    (case.tube.inertia_floor[0], case.tube.lag_floor) = (floor, lag);
    certify(&case.problem().unwrap(), &Start::Rest, partition).map(|_| ())
}

/// 1.2 times the floor is refused, and `kept` of it is not.
#[track_caller]
fn bites(what: &str, case: Case, partition: Partition, kept: f64) {
    let most = true_floor(&case);
    let refusal = verdict(&case, 1.2 * most, partition).expect_err(what);
    let Refusal::Constraint { family, at, margin, .. } = &refusal else { panic!("{what}: {refusal}") };
    assert!(*family == ConstraintFamily::Tube && at.contains("floor") && *margin > -1.0, "{what}: {refusal}");
    if let Err(refusal) = verdict(&case, kept * most, partition) {
        panic!("{what}: {kept} of the floor is refused: {refusal}");
    }
}

/// Small errors, and the gains of a plan.
fn tracked(mut case: Case) -> Case {
    case.tube.gains.v_max = 1e-4;
    case
}

const RESTING: Partition = Partition { cells: CELLS, depth: 0 };

#[test]
fn carried_by_the_transmission() {
    let rail = joint(JointKind::Prismatic, None, 1.0, mass(0.0));
    let mut case = tracked(case(vec![rail], [0.0; 3], &[1.0]));
    widen(&mut case, 0, INERTIAL + ARMATURE, 0.2);
    bites("transmission", case, RESTING, 0.9);
}

#[test]
fn carried_by_a_mass() {
    let rail = joint(JointKind::Prismatic, None, 0.0, mass(2.0));
    let mut case = tracked(case(vec![rail], [0.0; 3], &[1.0]));
    widen(&mut case, 0, 0, 0.5);
    bites("mass", case, RESTING, 0.9);
}

#[test]
fn carried_by_a_moment_of_inertia() {
    let body = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    let mut case = tracked(case(vec![joint(JointKind::Revolute, None, 0.0, body)], [0.0; 3], &[1.0]));
    widen(&mut case, 0, 9, 0.3);
    bites("moment of inertia", case, RESTING, 0.9);
}

/// A body whose axes are turned by 45 degrees from the first joint's: its products of inertia count there.
#[test]
fn carried_by_products_of_inertia() {
    let (s, zero) = (std::f64::consts::FRAC_1_SQRT_2, 0.0);
    // The first joint's axis in the body's: (-s, 0, s), (0, -s, s) and, seen through a third, (s, s, 0).
    let turns = [
        (7, Matrix3::new(s, zero, s, zero, 1.0, zero, -s, zero, s)),
        (8, Matrix3::new(1.0, zero, zero, zero, s, s, zero, -s, s)),
        (5, Matrix3::new(s, -s, zero, zero, zero, 1.0, -s, -s, zero)),
    ];
    for (product, turn) in turns {
        let body = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        let arm = joint(JointKind::Revolute, None, 0.0, mass(0.0));
        let mut hand = joint(JointKind::Revolute, Some(0), 20.0, body);
        hand.placement.rotation = turn;
        let mut case = tracked(case(vec![arm, hand], [0.0; 3], &[0.5, 1.0]));
        widen(&mut case, 1, product, 0.5);
        bites(&format!("product {product}"), case, RESTING, 0.9);
    }
}

/// A body on a slide: where its centre is prepared, so is its inertia about the arm's axis.
#[test]
fn carried_by_first_moments() {
    // Near the axis the moments of inertia are charged most, further out the mass.
    for (half, side) in [(0.4, 1.0), (0.4, -1.0), (0.6, 0.5)] {
        let mut case = tracked(polar(20.0));
        let at = case.robot.inertial_index(1);
        for p in [4, 6, 9] {
            (case.set.bounds().0[at + p], case.set.bounds().1[at + p]) = (1.0, 1.0);
        }
        let own = case.robot.joint_index(0).armature;
        (case.set.bounds().0[own], case.set.bounds().1[own]) = (0.0, 0.0);
        case.tube.inertia_floor = vec![0.5, 1.0];
        case.tube.lag_floor = vec![0.5, 1.0];
        widen(&mut case, 1, 3, half);
        case.curve = super::still(&[0.0, side]);
        bites("first moment", case, RESTING, 0.9);
    }
}

/// One cell in which the mass moves from 0.8 m to 1 m: the floor is that of its nearest place.
#[test]
fn carried_at_every_position_of_a_cell() {
    let mut case = tracked(polar(20.0));
    case.tube.gains.v_max = 1e-6;
    let own = case.robot.joint_index(0).armature;
    (case.set.bounds().0[own], case.set.bounds().1[own]) = (0.0, 0.0);
    case.tube.inertia_floor = vec![0.5, 1.0];
    case.tube.lag_floor = vec![0.5, 1.0];
    case.curve = Bezier::to_rest(&JointState::at_rest(&[0.0, 0.8]), &[0.0, 1.0], 200.0).unwrap();
    bites("one cell", case, Partition { cells: 1, depth: 0 }, 0.6);
}

/// Two joints about one axis, which share most of their inertia: M = [[1.2, 1], [1, 1.2]], and [[1, 0], [0, 1.2]] of it prepared.
#[test]
fn the_mass_relative_to_its_floor_is_met() {
    let wheel = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let joints = vec![
        joint(JointKind::Revolute, None, 0.2, mass(0.0)),
        joint(JointKind::Revolute, Some(0), 0.2, wheel),
    ];
    let mut case = case(joints, [0.0; 3], &[0.1, 0.15]);
    widen(&mut case, 1, 9, 0.1);
    widen(&mut case, 1, INERTIAL + ARMATURE, 0.1);
    let prepared = PreparedSet::new(&case.robot, &case.set);
    let mut space = CellWorkspace::<16, Counted>::new(&case.robot);
    let cell = Cell::<16, Counted>::new(&case.robot, &case.tube, &case.curve, Span::Rest);
    let floor = case.tube.inertia_floor.clone();
    let place = (&mut space.ranges, &mut space.mass);
    let (sigma, alone) = relative_mass(&case.robot, &prepared, &cell, &floor, place);
    let (mut most, mut shares) = (0.0f64, [0.0f64; 2]);
    for theta in thetas(&case) {
        for k in 0..1000 {
            let (s, c) = (f64::from(k) * 1e-3 * std::f64::consts::TAU).sin_cos();
            let r = [c / floor[0].sqrt(), s / floor[1].sqrt()];
            let twice = 2.0 * truth::energy(&case.robot, &theta, &[0.0; 2], &r);
            most = most.max(twice);
            (shares[0], shares[1]) = (shares[0].max(c * c * twice), shares[1].max(s * s * twice));
        }
    }
    meets("sigma", most, sigma);
    assert_eq!(report(&mut case, Span::Rest).relative_mass, sigma);
    for (share, bound) in shares.iter().zip(&alone) {
        // 0.920 and 0.925.
        assert!(share <= bound && *share > 0.9 * bound, "{shares:?} of {alone:?}");
    }
}
