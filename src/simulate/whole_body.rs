//! The law of a simulated legged robot: torques that bring its acceleration, under the contacts of the moment, as near as
//! possible to what the reference asks for. It knows what it believes of the model, and the true state of motion.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use super::posture::{PostureReference, ground_rows};
use super::recording::Belief;
use crate::dynamics::ConstrainedDynamics;
use crate::dynamics::constraint::Sensitivities;
use crate::robot::configuration::difference;
use crate::robot::{Model, Placement};

/// Interval of the differences that give speed and acceleration of the reference, s. Shorter ones divide what the inverse
/// kinematics leave by the square of a smaller number.
const INTERVAL: f64 = 2e-3;

/// The law, with its memory.
pub(super) struct WholeBody {
    robot: Arc<Model>,
    reference: PostureReference,
    believed: Belief,
    dynamics: ConstrainedDynamics,
    slopes: Sensitivities,
    zero: Vec<f64>,
    /// Degrees of freedom whose acceleration counts, and those with a motor.
    watched: Vec<usize>,
    driven: Vec<usize>,
    joint_of: Vec<usize>,
}

impl WholeBody {
    pub fn new(
        robot: Arc<Model>,
        reference: PostureReference,
        dynamics: ConstrainedDynamics,
        believed: Belief,
    ) -> Self {
        let n = robot.nv();
        let base = if robot.has_free_flyer() { 6 } else { 0 };
        let mut joint_of = vec![0; n];
        (robot.first_actuated()..robot.bodies()).for_each(|i| joint_of[robot.v_index(i)] = i);
        let driven: Vec<usize> =
            (base..n).filter(|&j| robot.joints[joint_of[j]].limits.torque > 0.0).collect();
        Self {
            watched: (0..base).chain(driven.iter().copied()).collect(),
            driven,
            joint_of,
            slopes: Sensitivities::new(&robot, dynamics.constraints(), false),
            believed,
            zero: vec![0.0; robot.nv()],
            robot,
            reference,
            dynamics,
        }
    }

    /// What is kept small of the forces of feet that stand ([`ground_rows`]), weighed: by the torques of the motors, and without any.
    fn ground(&self) -> (DMatrix<f64>, DVector<f64>) {
        let n = self.robot.nv();
        let mut rows = vec![];
        for (c, constraint) in self.dynamics.constraints().iter().enumerate() {
            if constraint.b.joint.is_none() {
                let first = self.dynamics.first_row(c);
                rows.extend(ground_rows(constraint.kind).iter().map(|&(row, weight)| (first + row, weight)));
            }
        }
        // Rows of feet in the air are zero.
        let by = &self.slopes.by_tau.force;
        let slopes = DMatrix::from_fn(rows.len(), self.driven.len(), |r, c| {
            rows[r].1 * by[n * rows[r].0 + self.driven[c]]
        });
        (slopes, DVector::from_fn(rows.len(), |r, _| rows[r].1 * self.dynamics.force()[rows[r].0]))
    }

    /// Foot `f` stands at `place` from now on, wherever it was meant to.
    pub fn touch(&mut self, f: usize, place: Placement) {
        self.reference.touch(f, place);
    }

    /// Which constraints are active from now on.
    pub fn enter(&mut self, active: &[bool]) {
        active.iter().enumerate().for_each(|(i, a)| self.dynamics.set_active(i, *a));
    }

    /// Torques (N m) at time `t` (s) in state (q, v): zero for the base and passive joints.
    ///
    /// # Errors
    /// In words, what [`PostureReference::at`] or the constrained dynamics could not solve.
    pub fn torque(&mut self, t: f64, q: &[f64], v: &[f64], tau: &mut [f64]) -> Result<(), String> {
        let robot = self.robot.clone();
        let (n, w) = (robot.nv(), self.reference.bandwidth());
        let mut places = [(); 3].map(|()| vec![0.0; robot.nq()]);
        for (k, place) in places.iter_mut().enumerate() {
            self.reference.at(&robot, t + INTERVAL * (k as f64 - 1.0), place)?;
        }
        let apart = |a: &[f64], b: &[f64]| {
            let mut d = vec![0.0; n];
            difference(&robot, a, b, &mut d);
            d
        };
        let (before, after) = (apart(&places[0], &places[1]), apart(&places[1], &places[2]));
        let error = apart(q, &places[1]);
        let wanted = DVector::from_fn(n, |j, _| {
            let speed = (before[j] + after[j]) / (2.0 * INTERVAL);
            (after[j] - before[j]) / (INTERVAL * INTERVAL) + w * w * error[j] + 2.0 * w * (speed - v[j])
        });
        self.dynamics
            .forward_derivatives(
                &robot,
                q,
                v,
                &self.zero,
                &self.believed.parameters[..robot.parameter_count()],
                &mut self.slopes,
            )
            .map_err(|e| e.to_string())?;
        let (driven, watched) = (&self.driven, &self.watched);
        let by = DMatrix::from_fn(watched.len(), driven.len(), |i, j| {
            self.slopes.by_tau.motion[n * watched[i] + driven[j]]
        });
        let motion = self.dynamics.motion();
        let missing = DVector::from_fn(watched.len(), |i, _| wanted[watched[i]] - motion[watched[i]]);
        let mut normal = by.tr_mul(&by);
        let scale = normal.diagonal().mean();
        let effort = self.reference.effort().powi(2) * scale.max(1.0);
        (0..driven.len()).for_each(|k| normal[(k, k)] += effort);
        let mut asked = by.tr_mul(&missing);
        if self.reference.follows_series() {
            let (ground, pull) = self.ground();
            normal += ground.tr_mul(&ground) * effort;
            asked -= ground.tr_mul(&pull) * effort;
        }
        let solved = normal.cholesky().ok_or("the law finds no torques")?.solve(&asked);
        tau.fill(0.0);
        for (&j, x) in driven.iter().zip(solved.iter()) {
            let joint = &robot.joints[self.joint_of[j]];
            let friction = self.believed.friction(&robot, self.joint_of[j], v[j]);
            tau[j] = (x + friction).clamp(-joint.limits.torque, joint.limits.torque);
        }
        Ok(())
    }
}
