//! What no motion can tell: the set that next to perfect sensors would leave, in whatever states the arm has been.
//!
//! Torques show the base parameters alone (`regression::base`). The mass of the last body is none of them: it counts together with masses
//! and first moments of the links before it, and what is not known of these is never told from it. So every design of excitation
//! has this much in common, and only what it leaves beyond can be won.

use nalgebra::DMatrix;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::identify::IdentifyError;
use crate::identify::bounds::{Effort, tighten};
use crate::identify::polytope::{Origin, Polytope, Rows};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::regression::balance::condition_number;
use crate::regression::inverse::Regressor;
use crate::robot::Arm;

/// Random states in which the torques are known: many times as many numbers as there are base parameters, so that the states
/// do not decide what is learnt.
const STATES: usize = 60;
/// Their positions (where a joint has no limits), rad, and accelerations, rad/s^2.
const POSITION: f64 = std::f64::consts::PI;
const ACCELERATION: f64 = 3.0;
/// How exactly torques are known, N m. Programs over rows much thinner than this lose their digits (and prove wider bounds than there
/// are, never narrower ones).
const EXACT: f64 = 1e-3;
const EFFORT: Effort =
    Effort { rounds: 12, cut_tolerance: 1e-3, tolerance: 1e-6, gain: 3e-3, remakes: 0, remake: 1.0 };

/// The set that is left of `set` where `theta` is true, and the condition number of the last body's torque regressor.
pub(super) fn left(
    robot: &Arm,
    set: &ParameterSet,
    theta: &[f64],
    rng: &mut ChaCha8Rng,
) -> Result<(ParameterSet, f64), IdentifyError> {
    let (n, p, at) = (robot.dof(), set.len(), robot.inertial_index(robot.end_effector()));
    let mut rows = Rows::none(p);
    rows.y = DMatrix::zeros(STATES * n, p);
    let (mut regressor, mut y) = (Regressor::new(robot), DMatrix::zeros(n, p));
    for s in 0..STATES {
        let limits = || robot.joints.iter().map(|joint| joint.limits);
        let q: Vec<f64> = limits()
            .map(|l| l.position.unwrap_or((-POSITION, POSITION)))
            .map(|(low, high)| rng.random_range(low..=high))
            .collect();
        let dq: Vec<f64> = limits().map(|l| l.velocity * rng.random_range(-1.0..=1.0)).collect();
        let ddq: Vec<f64> = (0..n).map(|_| ACCELERATION * rng.random_range(-1.0..=1.0)).collect();
        regressor.write(&q, &dq, &ddq, &mut y);
        rows.y.rows_mut(n * s, n).copy_from(&y);
        for (joint, row) in y.row_iter().enumerate() {
            rows.u.push(row.iter().zip(theta).map(|(y, z)| y * z).sum());
            rows.radius.push(EXACT);
            rows.origin.push(Origin { t: 0.0, joint });
        }
    }
    let condition = condition_number(&rows.y.columns(at, INERTIAL).into_owned());
    let mut polytope = Polytope::from_box(set.clone(), at);
    polytope.rows = rows;
    let unknown: Vec<usize> = (at..at + INERTIAL).collect();
    Ok((tighten(&mut polytope, &unknown, EFFORT)?.set, condition))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// With an arm that is known nothing stays open; with one that is known to 5 % the mass does, to about what the two links before the
    /// last may weigh more or less.
    #[test]
    fn what_is_not_known_of_the_arm_stays_unknown_of_the_mass() {
        let (task, _) = crate::scenario::Scenario::load("scenarios/dumbbell_c_8lb.toml").unwrap().split();
        let (robot, prior) = (task.robot.clone(), task.prior_set().unwrap());
        let at = robot.body_range(robot.end_effector());
        let mut theta = prior.center();
        let body = [4.9136, -4e-5, 9e-5, -0.76737, 0.1502, 0.0, 0.1354, 0.0, 0.0, 0.01944];
        theta[at.clone()].copy_from_slice(&body);
        let mut known = prior.clone();
        for j in (0..prior.len()).filter(|j| !at.contains(j)) {
            (known.bounds().0[j], known.bounds().1[j]) = (theta[j], theta[j]);
        }
        let half = |set: &ParameterSet| {
            let (left, _) = super::left(&robot, set, &theta, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
            assert!(left.contains(&theta));
            left.radius()[at.clone()].to_vec()
        };
        let (open, none) = (half(&prior), half(&known));
        assert!(none.iter().all(|x| *x < 1e-3), "{none:?}");
        // The joints 5 and 6 carry links whose masses are known to 5 %; that of the sixth counts in full.
        let link = |j: usize| prior.radius()[robot.inertial_index(j)];
        assert!(open[0] > link(5) && open[0] < 2.0 * (link(4) + link(5)), "{open:?} {} {}", link(4), link(5));
    }
}
