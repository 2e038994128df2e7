//! How the volume of the trajectories that fit depends on inertia and friction ([`EstimationProblem::volume_slope`]).
//!
//! For those who check the formula. In an interval w = R_d(a, lambda, q, v; theta) with R_c = 0. Of dR_d, the part by theta
//! that fluctuates with the trajectory is (dJ/dtheta) (da, dq, dv), J the Jacobian of R_d by (a, q, v); the forces' part does
//! not depend on theta. With L_w = da/dw, and since dw dR_c = det K da dlambda,
//!
//! ```text
//! dV/dp = sum tr (dJ/dp [Cov((a, q, v), w) W - (L_w, 0, 0)])
//! ```
//!
//! J is linear in physical parameters: dJ/dp_i is the Jacobian of inverse dynamics for p = e_i, exactly. Impacts have no
//! noise; how their Jacobian A bends with p adds tr (dA/dp Cov(q, v) A' P), P the value function's Hessian behind them.

use super::contacts::{Kind, Stage};
use super::mechanics::drive_bend;
use super::parameters::JointParameter;
use super::stages::MultibodySpace;
use super::{Formulation, MultibodyProblem};
use crate::estimate::problem::{Given, Point};
use crate::inertia::INERTIAL;
use crate::linear::dense::{axpy, dot};

/// Scratch space.
#[derive(Debug, Default)]
pub(super) struct VolumeSpace {
    /// Row r holds what dJ/dtheta's row r is multiplied with: columns q, v and a, in the middle of the interval.
    rows: Vec<f64>,
    along: Vec<f64>,
    unit: Vec<f64>,
}

impl MultibodyProblem {
    pub(super) fn add_volume_slope(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut MultibodySpace,
        given: Given<'_>,
        out: &mut [f64],
    ) -> Result<(), String> {
        let (stage, n) = (self.schedule.stages[k], self.robot.nv());
        match stage.kind {
            Kind::Last | Kind::Gap => return Ok(()),
            Kind::Reset => return self.add_impact_slope(stage, at, s, given, out),
            Kind::Step => {}
        }
        let Given { next, joint, .. } = given;
        s.mechanics.parameterise(self, at.theta)?;
        let interval = self.interval(stage, at.x);
        if self.formulation == Formulation::Inverse {
            s.mechanics.take(self, interval, at.u);
        } else {
            // The solution is known; only the forces are found anew.
            s.mechanics.enter(self, interval.phase);
            let next_v = &next[self.robot.nq()..];
            for ((a, now), next) in s.mechanics.acceleration.iter_mut().zip(interval.v).zip(next_v) {
                *a = (next - now) / interval.step;
            }
            s.mechanics.lambda.fill(0.0);
            s.mechanics.find(self, interval, at.u, None)?;
        }
        s.mechanics.differentiate(self, interval)?;
        let Some(before) = s.mechanics.invert_plain(self) else { return Ok(()) };
        let (h, width, space) = (interval.step, 3 * n, &mut s.volume);
        space.rows.clear();
        space.rows.resize(n * width, 0.0);
        space.along.clear();
        space.along.resize(n, 0.0);
        for r in 0..n {
            // Cov((w, q, v), w_r) W_r; accelerations follow by L.
            let weight = self.force_weight(stage.sample, r);
            let row = &mut space.rows[width * r..width * (r + 1)];
            let covariance = joint.col(r);
            for j in 0..n {
                let by = &s.mechanics.solution[width * (before + j)..][..width];
                row[j] = weight * covariance[n + j];
                row[n + j] = weight * covariance[2 * n + j];
                row[2 * n + j] = weight * dot(by, covariance) - by[r];
            }
            s.mechanics.to_middle(self, h, row, &mut space.along);
        }
        self.contract(s, out);
        Ok(())
    }

    /// The part of an impact.
    fn add_impact_slope(
        &self,
        stage: Stage,
        at: Point<'_>,
        s: &mut MultibodySpace,
        Given { joint, ahead, .. }: Given<'_>,
        out: &mut [f64],
    ) -> Result<(), String> {
        let (robot, map, n) = (&*self.robot, &self.map, self.robot.nv());
        s.mechanics.parameterise(self, at.theta)?;
        let state = at.x.split_at(robot.nq());
        let (_, slopes) = s.mechanics.impact(self, state, stage.phase, true)?;
        let space = &mut s.volume;
        // Rows of v+ of P A, times the covariance.
        space.rows.clear();
        space.rows.resize(2 * n * n, 0.0);
        for (i, row) in space.rows.chunks_exact_mut(2 * n).enumerate() {
            let by = ahead.col(n + i);
            space.along.clear();
            space.along.extend_from_slice(&by[..n]);
            space.along.resize(2 * n, 0.0);
            for (j, &factor) in by[n..].iter().enumerate() {
                let part = n * j..n * (j + 1);
                axpy(factor, &slopes.by_q.motion[part.clone()], &mut space.along[..n]);
                axpy(factor, &slopes.by_v.motion[part], &mut space.along[n..]);
            }
            for (c, row) in row.iter_mut().enumerate() {
                *row = dot(joint.col(c), &space.along);
            }
        }
        space.unit.clear();
        space.unit.resize(robot.parameter_count(), 0.0);
        let inertial = map.bodies.iter().enumerate().flat_map(|(b, &(body, _))| {
            (0..INERTIAL).map(move |i| (INERTIAL * b + i, robot.inertial_index(body) + i))
        });
        let drives = map.joints.iter().enumerate().filter(|(_, (_, w))| *w == JointParameter::Armature);
        let drives = drives.map(|(i, &(j, which))| (INERTIAL * map.bodies.len() + i, which.index(robot, j)));
        for (to, index) in inertial.chain(drives) {
            space.unit[index] = 1.0;
            let slope = s.mechanics.impact_bend(self, state.0, &space.unit, &space.rows);
            space.unit[index] = 0.0;
            out[to] += slope?;
        }
        Ok(())
    }

    /// Multiplies the rows with dJ/dp for the inertial parameter of this index.
    fn contract_inertial(&self, s: &mut MultibodySpace, index: usize) -> f64 {
        let (n, space) = (self.robot.nv(), &mut s.volume);
        space.unit[index] = 1.0;
        let d = s.mechanics.inertial_jacobian(self, &space.unit);
        space.unit[index] = 0.0;
        let row = |r: usize| {
            let (row, part) = (&space.rows[3 * n * r..3 * n * (r + 1)], n * r..n * (r + 1));
            dot(&row[..n], &d.by_q[part.clone()])
                + dot(&row[n..2 * n], &d.by_v[part.clone()])
                + dot(&row[2 * n..], &d.mass[part])
        };
        (0..n).map(row).sum()
    }

    /// Multiplies the rows with dJ/dtheta.
    fn contract(&self, s: &mut MultibodySpace, out: &mut [f64]) {
        let (n, map) = (self.robot.nv(), &self.map);
        s.volume.unit.clear();
        s.volume.unit.resize(self.robot.parameter_count(), 0.0);
        for (b, &(body, _)) in map.bodies.iter().enumerate() {
            let first = self.robot.inertial_index(body);
            for i in 0..INERTIAL {
                out[INERTIAL * b + i] += self.contract_inertial(s, first + i);
            }
        }
        for (i, &(j, which)) in map.joints.iter().enumerate() {
            // Rotors on links move more than their own joint.
            if which == JointParameter::Armature && self.robot.joints[j].gear_ratio.is_some() {
                let index = self.robot.joint_index(j).armature;
                out[INERTIAL * map.bodies.len() + i] += self.contract_inertial(s, index);
                continue;
            }
            let c = self.robot.v_index(j);
            let row = &s.volume.rows[3 * n * c..3 * n * (c + 1)];
            let [by_v, by_a] =
                drive_bend(&self.robot, &s.mechanics.parameters, j, which, s.mechanics.speed[c]);
            out[INERTIAL * map.bodies.len() + i] += row[n + c] * by_v + row[2 * n + c] * by_a;
        }
    }
}

impl super::Mechanics {
    /// A change (q, v, a) at the beginning of the interval becomes that in its middle.
    fn to_middle(&self, problem: &MultibodyProblem, h: f64, row: &mut [f64], along: &mut [f64]) {
        let n = along.len();
        let (q, rest) = row.split_at_mut(n);
        let (v, a) = rest.split_at_mut(n);
        for j in 0..n {
            along[j] = 0.5 * h * v[j] + 0.25 * h * h * a[j];
        }
        if problem.robot.has_free_flyer() {
            let (by_q, by_v) = self.base_steps();
            let mut moved = [0.0; 6];
            for (i, moved) in moved.iter_mut().enumerate() {
                *moved = dot(&by_q[n * i..n * i + 6], &q[..6]) + dot(&by_v[n * i..n * i + 6], &along[..6]);
            }
            q[..6].copy_from_slice(&moved);
            axpy(1.0, &along[6..], &mut q[6..]);
        } else {
            axpy(1.0, along, q);
        }
        axpy(0.5 * h, a, v);
    }
}
