//! Impacts with restitution, and the dynamically consistent null-space projector, which is the same equation.

use crate::dynamics::regressor::torque_regressor;
use crate::robot::Model;

use super::ConstraintError;
use super::forward::{ConstrainedDynamics, negate};
use super::results::Sensitivities;

/// What the velocity after the reset owes to the rate of the rows before it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reset {
    /// de after = -restitution * de before.
    Impact,
    /// de after = 0, whatever the restitution.
    Projection,
}

impl ConstrainedDynamics {
    /// Impact (Gauss's principle, [3, eqs. 7 to 11]): of all velocities that satisfy J v+ = -restitution J v, the one
    /// nearest to `v` in the metric M. [`ConstrainedDynamics::motion`] is v+, [`ConstrainedDynamics::force`] the
    /// impulses Lambda, M (v+ - v) = J' Lambda.
    ///
    /// The kinetic energy does not grow when all active constraints have one and the same restitution e, because
    /// v+ = v - (1 + e) P v with P = M^-1 J'(J M^-1 J')^-1 J an M-orthogonal projector: the energy changes by
    /// -(1 - e^2) |P v|_M^2 / 2. With different restitutions it may grow (Newton's law of impact).
    ///
    /// # Errors
    /// [`ConstraintError::Length`] names the vector that does not fit, [`ConstraintError::Mass`] the joint at which M is not positive
    /// definite, [`ConstraintError::Redundant`] the row that depends on others.
    pub fn impulse(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        theta: &[f64],
    ) -> Result<(), ConstraintError> {
        self.reset(robot, q, v, theta, Reset::Impact)
    }

    /// The dynamically consistent projection of `w` on the null space of J ([3, eqs. 36 and 38]):
    /// [`ConstrainedDynamics::motion`] is N w, N = 1 - M^-1 J'(J M^-1 J')^-1 J; it is the nearest one to w in the metric M.
    ///
    /// # Errors
    /// As [`ConstrainedDynamics::impulse`].
    pub fn project(
        &mut self,
        robot: &Model,
        q: &[f64],
        w: &[f64],
        theta: &[f64],
    ) -> Result<(), ConstraintError> {
        self.reset(robot, q, w, theta, Reset::Projection)
    }

    /// The projector N itself (nv x nv, row-major). With yielding constraints it is the limit's neighbour only.
    ///
    /// # Errors
    /// As [`ConstrainedDynamics::impulse`].
    pub fn projector(
        &mut self,
        robot: &Model,
        q: &[f64],
        theta: &[f64],
        out: &mut [f64],
    ) -> Result<(), ConstraintError> {
        let n = robot.nv();
        self.check_state(robot, q, theta, &[("the projector", out.len(), n * n)])?;
        self.workspace.mass_matrix(robot, q, theta, &mut self.mass);
        self.screws.sweep(robot, q, &self.zero, &self.zero);
        self.factor(robot)?;
        out.copy_from_slice(&self.mass);
        let forces = &mut self.residuals.constraint_by_q;
        forces.fill(0.0);
        self.kkt.solve(&self.jacobian, out, forces, n);
        Ok(())
    }

    /// [`ConstrainedDynamics::impulse`] with derivatives of v+ and the impulses to q, v (before) and theta ([3, eq. 14]).
    ///
    /// # Errors
    /// As [`ConstrainedDynamics::impulse`].
    pub fn impulse_derivatives(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        theta: &[f64],
        out: &mut Sensitivities,
    ) -> Result<(), ConstraintError> {
        self.check_room(robot, out)?;
        self.reset(robot, q, v, theta, Reset::Impact)?;
        self.reset_slopes(robot, q, v, theta, Reset::Impact, out);
        Ok(())
    }

    /// [`ConstrainedDynamics::project`] with derivatives of N w to q, w (which is N) and theta ([3, eq. 41]).
    ///
    /// # Errors
    /// As [`ConstrainedDynamics::impulse`].
    pub fn projection_derivatives(
        &mut self,
        robot: &Model,
        q: &[f64],
        w: &[f64],
        theta: &[f64],
        out: &mut Sensitivities,
    ) -> Result<(), ConstraintError> {
        self.check_room(robot, out)?;
        self.reset(robot, q, w, theta, Reset::Projection)?;
        self.reset_slopes(robot, q, w, theta, Reset::Projection, out);
        Ok(())
    }

    /// How the derivatives of v+ bend with an inertial (or transmission) parameter: the sum of `weights` (nv x 2 nv,
    /// row-major) times d^2 v+ / d(q, v) dp, where p runs along `unit` (as long as the parameter vector); after
    /// [`ConstrainedDynamics::impulse_derivatives`] at the same q, v and theta, with what it gave in `slopes`.
    ///
    /// With M_p the mass matrix of `unit`, M v+_p - J'l_p = -M_p (v+ - v) and J v+_p = 0; both sides once more by q and v:
    ///
    /// ```text
    /// M v+_px - J'l_px = -(M v+_p - J'l_p)_x - (M_p (v+ - v))_x - M_p (v+_x - v_x),   J v+_px = -J_x v+_p
    /// ```
    ///
    /// with what stands in brackets differentiated at fixed v+_p, l_p, v+ and v.
    ///
    /// # Errors
    /// [`ConstraintError`] where a slice has another length than stated, or holds a number that is not finite.
    pub fn impulse_bend(
        &mut self,
        robot: &Model,
        q: &[f64],
        theta: &[f64],
        unit: &[f64],
        weights: &[f64],
        slopes: &Sensitivities,
    ) -> Result<f64, ConstraintError> {
        let n = robot.nv();
        self.check_state(robot, q, theta, &[("the weights", weights.len(), 2 * n * n)])?;
        self.check_state(robot, q, unit, &[])?;
        let mut r = std::mem::take(&mut self.residuals);
        // v+_p and l_p; what M_p (v+ - v) owes to q stays in `dynamics_by_q`, M_p in `mass`.
        let [moving, resting] = &mut self.slopes;
        self.workspace.inverse_dynamics_derivatives(robot, q, &self.zero, &self.jump, unit, moving);
        self.workspace.inverse_dynamics_derivatives(robot, q, &self.zero, &self.zero, unit, resting);
        subtract(&resting.tau, &moving.tau, &mut r.dynamics);
        subtract(&moving.by_q, &resting.by_q, &mut r.dynamics_by_q);
        r.mass.copy_from_slice(&moving.mass);
        r.constraint.fill(0.0);
        self.kkt.solve(&self.jacobian, &mut r.dynamics, &mut r.constraint, 1);
        // The right-hand sides by q.
        let [moving, resting] = &mut self.slopes;
        self.workspace.inverse_dynamics_derivatives(robot, q, &self.zero, &r.dynamics, theta, moving);
        self.workspace.inverse_dynamics_derivatives(robot, q, &self.zero, &self.zero, theta, resting);
        for (to, (a, b)) in r.dynamics_by_q.iter_mut().zip(moving.by_q.iter().zip(&resting.by_q)) {
            *to += a - b;
        }
        self.screws.sweep(robot, q, &r.dynamics, &self.zero);
        r.constraint_by_q.fill(0.0);
        self.each_active(robot, |rows| {
            rows.subtract_stiffness(&r.constraint, &mut r.dynamics_by_q);
            rows.add_rate_slopes(&mut r.constraint_by_q);
        });
        add_times(&r.mass, &slopes.by_q.motion, n, &mut r.dynamics_by_q);
        r.constraint_by_q.iter_mut().chain(&mut r.dynamics_by_q).for_each(|x| *x = -*x);
        // And by v.
        r.dynamics_by_v.copy_from_slice(&r.mass);
        r.dynamics_by_v.iter_mut().for_each(|x| *x = -*x);
        add_times(&r.mass, &slopes.by_v.motion, n, &mut r.dynamics_by_v);
        r.dynamics_by_v.iter_mut().for_each(|x| *x = -*x);
        r.constraint_by_v.fill(0.0);
        self.kkt.solve(&self.jacobian, &mut r.dynamics_by_q, &mut r.constraint_by_q, n);
        self.kkt.solve(&self.jacobian, &mut r.dynamics_by_v, &mut r.constraint_by_v, n);
        let bends = r.dynamics_by_q.chunks_exact(n).zip(r.dynamics_by_v.chunks_exact(n));
        let sum = weights.chunks_exact(2 * n).zip(bends).map(|(weights, (by_q, by_v))| {
            let bend = by_q.iter().chain(by_v);
            weights.iter().zip(bend).map(|(w, b)| w * b).sum::<f64>()
        });
        let sum = sum.sum();
        self.residuals = r;
        Ok(sum)
    }

    fn restitution(&self, index: usize, kind: Reset) -> f64 {
        if kind == Reset::Impact { self.constraints()[index].restitution } else { 0.0 }
    }

    /// Scales the rows of each constraint (rows x width) by its restitution.
    fn times_restitution(&self, kind: Reset, width: usize, factor: f64, rows: &mut [f64]) {
        for (index, constraint) in self.constraints().iter().enumerate() {
            let by = factor * self.restitution(index, kind);
            let first = width * self.first_rows[index];
            rows[first..first + width * constraint.rows()].iter_mut().for_each(|x| *x *= by);
        }
    }

    fn reset(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        theta: &[f64],
        kind: Reset,
    ) -> Result<(), ConstraintError> {
        let n = robot.nv();
        self.check_state(robot, q, theta, &[("the velocity", v.len(), n)])?;
        self.workspace.mass_matrix(robot, q, theta, &mut self.mass);
        self.screws.sweep(robot, q, v, &self.zero);
        self.factor(robot)?;
        for (x, row) in self.motion.iter_mut().zip(self.mass.chunks_exact(n)) {
            *x = row.iter().zip(v).map(|(a, b)| a * b).sum();
        }
        // The condition is J v+ + restitution J v.
        let mut condition = std::mem::take(&mut self.condition);
        condition.fill(0.0);
        self.each_active(robot, |rows| rows.write_rate(&mut condition));
        self.times_restitution(kind, 1, 1.0, &mut condition);
        negate(&condition, &mut self.force);
        self.condition = condition;
        self.kkt.solve(&self.jacobian, &mut self.motion, &mut self.force, 1);
        self.add_jacobian_times_motion();
        Ok(())
    }

    /// Derivatives of the residuals r_i = M (v+ - v) - J' Lambda and r_v = J v+ + restitution J v, solved for.
    ///
    /// d(M x)/dq at fixed x is the derivative of inverse dynamics at rest with acceleration x, less that of gravity.
    fn reset_slopes(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        theta: &[f64],
        kind: Reset,
        out: &mut Sensitivities,
    ) {
        for (jump, (after, before)) in self.jump.iter_mut().zip(self.motion.iter().zip(v)) {
            *jump = after - before;
        }
        let with_parameters = out.by_theta.width > 0;
        let [moving, resting] = &mut self.slopes;
        if with_parameters {
            // Regressors first: the derivatives below use other scratch space. `tau` is a place to write to.
            let regressor = &mut self.residuals.dynamics_by_theta;
            let to = &mut out.by_theta.motion;
            for (acceleration, y) in [(&self.jump, &mut *to), (&self.zero, regressor)] {
                self.workspace.inverse_dynamics(robot, q, &self.zero, acceleration, theta, &mut moving.tau);
                y.fill(0.0);
                torque_regressor(robot, self.workspace.motion(), 0..robot.bodies(), y);
            }
            for (to, weight) in to.iter_mut().zip(&self.residuals.dynamics_by_theta) {
                *to = weight - *to;
            }
        }
        self.workspace.inverse_dynamics_derivatives(robot, q, &self.zero, &self.jump, theta, moving);
        self.workspace.inverse_dynamics_derivatives(robot, q, &self.zero, &self.zero, theta, resting);
        for (out, (a, b)) in out.by_q.motion.iter_mut().zip(moving.by_q.iter().zip(&resting.by_q)) {
            *out = a - b;
        }
        self.row_slopes(robot, q, v, kind, out);
        for part in [&mut out.by_q.motion, &mut out.by_q.force] {
            part.iter_mut().for_each(|x| *x = -*x);
        }
        out.by_v.motion.copy_from_slice(&self.mass);
        out.by_v.force.copy_from_slice(&self.jacobian);
        self.times_restitution(kind, robot.nv(), -1.0, &mut out.by_v.force);
        self.solve_all(out);
    }

    /// Adds d(J v+ + restitution J v)/dq to the force's rows and -d(J' Lambda)/dq to the motion's.
    fn row_slopes(&mut self, robot: &Model, q: &[f64], v: &[f64], kind: Reset, out: &mut Sensitivities) {
        out.by_q.force.fill(0.0);
        self.screws.sweep(robot, q, v, &self.zero);
        self.each_active(robot, |rows| rows.add_rate_slopes(&mut out.by_q.force));
        self.times_restitution(kind, robot.nv(), 1.0, &mut out.by_q.force);
        self.screws.sweep(robot, q, &self.motion, &self.zero);
        self.each_active(robot, |rows| {
            rows.add_rate_slopes(&mut out.by_q.force);
            rows.subtract_stiffness(&self.force, &mut out.by_q.motion);
        });
    }
}

/// `out = a - b`.
fn subtract(a: &[f64], b: &[f64], out: &mut [f64]) {
    for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
        *out = a - b;
    }
}

/// `out += a b`, all n x n, row-major.
fn add_times(a: &[f64], b: &[f64], n: usize, out: &mut [f64]) {
    for (out, a) in out.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        for (b, a) in b.chunks_exact(n).zip(a) {
            out.iter_mut().zip(b).for_each(|(out, b)| *out += a * b);
        }
    }
}
