//! The coupling by the order of mass matrices ([`crate::reach::momentum::order`]) against dense matrices, and against bodies of the set.

use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::*;
use crate::dynamics::truth;
use crate::reach::momentum::order::Ordered;

/// C and D of the lowered and raised bodies, by dense inverses, and M_0.
struct Dense {
    middle: DMatrix<f64>,
    spread: DMatrix<f64>,
    nominal: DMatrix<f64>,
}

fn dense(case: &Case) -> Dense {
    let q = case.curve.state(T).q;
    let inverse = |theta: &[f64]| case.mass_of(theta, &q).try_inverse().unwrap();
    let between = case.set.between();
    let (upper, lower) = (inverse(&between.below), inverse(&between.above));
    Dense { middle: (&upper + &lower) / 2.0, spread: (upper - lower) / 2.0, nominal: case.mass(T) }
}

/// How far the largest y'M^-1 x over |x_i| <= b_i is above zero for x_j = -d, as the bound has it.
fn left_over(dense: &Dense, (j, d): (usize, f64), pushed: &[f64], besides: f64) -> f64 {
    let y: DVector<f64> = dense.nominal.column(j).into();
    let row = &dense.middle * &y;
    let push: DVector<f64> = DVector::from_fn(pushed.len(), |i, _| if i == j { d } else { pushed[i] });
    let reach = (y.transpose() * &dense.spread * &y)[0].max(0.0).sqrt();
    let square = (push.transpose() * dense.spread.abs() * &push)[0];
    let still: f64 = (0..pushed.len()).filter(|&i| i != j).map(|i| row[i].abs() * pushed[i]).sum();
    still + besides + reach * square.sqrt() - row[j] * d
}

#[test]
fn rows_of_the_coupling_are_those_of_two_dense_inverses() {
    let at_rest = |case: &mut Case| {
        with_payload(case);
        case.tube.lag_nms2 = vec![1e-7; 7];
    };
    // Links a little off, where the middle of the two is about the centre's own inverse; and a payload, where it is not.
    for case in [case(0.5, |_| {}), case(0.5, at_rest)] {
        let mut space = case.space();
        let cell = case.cell(&mut space);
        let found = coupling(&case.robot, &case.set, &cell, &mut space).unwrap().ordered.unwrap();
        let dense = dense(&case);
        let pushed: Vec<f64> = (0..7).map(|i| 3.0 + f64::from(i)).collect();
        for j in 0..7 {
            let y: DVector<f64> = dense.nominal.column(j).into();
            let own = (&dense.middle * &y)[j];
            let off = ((y.transpose() * &dense.spread * &y)[0] * dense.spread[(j, j)]).sqrt();
            assert!(off > 1e-3, "joint {j}: the case shows nothing");
            let (least, most) = found.reaction[j];
            assert!(least <= own - off + 1e-9 && least >= own - off - 0.02 * off, "joint {j}: {least}");
            assert!(most >= own + off - 1e-9 && most <= own + off + 0.02 * off, "joint {j}: {most}");
            let d = found.outweighing(j, &pushed, 2.0);
            let (above, below) = (d * (1.0 + 1e-6), d * 0.99);
            assert!(left_over(&dense, (j, above), &pushed, 2.0) <= 0.0, "joint {j}: {d} is too small");
            assert!(left_over(&dense, (j, below), &pushed, 2.0) > 0.0, "joint {j}: {d} is too large");
        }
    }
}

/// The hand, and in it up to 2 kg of anything within about a decimetre.
fn with_payload(case: &mut Case) {
    let mut set = case.set.set().clone();
    let last = case.robot.inertial_index(case.robot.end_effector());
    let hand = case.robot.joints[case.robot.end_effector()].inertia;
    for k in 0..INERTIAL {
        let (lower, upper) = set.bounds();
        let below = [0.0, 0.2, 0.02][usize::from(k > 0) + usize::from(k > 3)];
        lower[last + k] = hand[k] - below;
        upper[last + k] = hand[k] + below.max(if k == 0 { 2.0 } else { 0.0 });
    }
    case.set = PreparedSet::new(&case.robot, &set.with_core(last / INERTIAL, hand));
    case.tube.lag_nms2 = vec![0.01; 7];
}

/// Bodies of the set at positions of the tube, the others pushing as they may, and worst signs: never more than what was found, and some come near.
#[test]
fn no_body_of_the_set_pushes_harder_than_the_coupling_says() {
    let mut rng = ChaCha8Rng::seed_from_u64(19);
    let case = case(0.5, with_payload);
    let mut space = case.space();
    let cell = case.cell(&mut space);
    let all = coupling(&case.robot, &case.set, &cell, &mut space).unwrap();
    let ordered = Ordered::new(&case.robot, &case.set, &mut space).unwrap();
    let (mass, state) = (case.mass(T), case.curve.state(T));
    let inverse = mass.clone().try_inverse().unwrap();
    let pushed: Vec<f64> = (0..7).map(|i| 2.0 + f64::from(i)).collect();
    let bounds = |j: usize| [all.outweighing(j, &pushed, 1.0), ordered.outweighing(j, &pushed, 1.0)];
    let bounds: Vec<[f64; 2]> = (0..7).map(bounds).collect();
    let mut used = [0.0_f64; 7];
    for _ in 0..400 {
        let theta = truth::consistent(&case.robot, case.set.set(), &mut rng);
        let e = &inverse * DVector::from_fn(7, |_, _| 0.01 * truth::extreme(&mut rng));
        let q: Vec<f64> = (0..7).map(|i| state.q[i] - e[i]).collect();
        let row = &mass * case.mass_of(&theta, &q).try_inverse().unwrap();
        for j in 0..7 {
            let own = row[(j, j)];
            for (least, most) in [all.reaction[j], ordered.reaction[j]] {
                assert!(least <= own && own <= most, "joint {j}: {own} in {least}..{most}");
            }
            let others: f64 = (0..7).filter(|&i| i != j).map(|i| row[(j, i)].abs() * pushed[i]).sum();
            let needed = (others + 1.0) / own;
            assert!(bounds[j].iter().all(|d| needed <= *d), "joint {j}: {needed} of {:?}", bounds[j]);
            used[j] = used[j].max(needed / bounds[j][0]);
        }
    }
    assert!(used.iter().fold(0.0, |a: f64, b| a.max(*b)) > 0.5, "the attack attains little: {used:?}");
}

/// No torque outweighs what is infinite, or no number.
#[test]
fn what_has_no_bound_has_none() {
    let case = case(0.5, |_| {});
    let mut space = case.space();
    let cell = case.cell(&mut space);
    let found = coupling(&case.robot, &case.set, &cell, &mut space).unwrap().ordered.unwrap();
    let pushed = [f64::INFINITY; 7];
    assert_eq!(found.outweighing(0, &pushed, 0.0), f64::INFINITY);
    assert_eq!(found.outweighing(0, &[f64::NAN; 7], 0.0), f64::INFINITY);
}
