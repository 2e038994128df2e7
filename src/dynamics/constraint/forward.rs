//! Forward dynamics under constraints, the residuals of the equations of motion, and the derivatives of both.

use crate::dynamics::regressor::torque_regressor;
use crate::dynamics::{InverseDerivatives, Workspace};
use crate::inertia::INERTIAL;
use crate::robot::Model;

use super::factor::Kkt;
use super::results::{Residuals, Sensitivities};
use super::rows::Rows;
use super::screw::Screws;
use super::{Constraint, ConstraintError, Redundancy};

/// Constrained dynamics of one robot with one list of constraints, each of which can be switched on and off. Nothing
/// is allocated after [`ConstrainedDynamics::new`].
///
/// Arguments common to its methods: `q` has length nq, `v`, `a` and `tau` nv, `theta` is the full parameter vector
/// ([`Model::nominal_parameters`]). Forces and rows of all constraints come one constraint after the other, in their
/// order, whether they are active or not ([`ConstrainedDynamics::first_row`]); those of inactive ones are zero.
#[derive(Debug, Clone)]
pub struct ConstrainedDynamics {
    constraints: Vec<Constraint>,
    redundancy: Redundancy,
    pub(super) active: Vec<bool>,
    pub(super) row_active: Vec<bool>,
    pub(super) first_rows: Vec<usize>,
    pub(super) workspace: Workspace,
    pub(super) screws: Screws,
    pub(super) kkt: Kkt,
    pub(super) mass: Vec<f64>,
    pub(super) jacobian: Vec<f64>,
    /// The last solution: acceleration, velocity after an impact, or projected vector.
    pub(super) motion: Vec<f64>,
    pub(super) force: Vec<f64>,
    /// The rows' condition at the last solution; gamma before.
    pub(super) condition: Vec<f64>,
    pub(super) zero: Vec<f64>,
    /// Velocity jump of an impact, or a step.
    pub(super) jump: Vec<f64>,
    /// A configuration.
    pub(super) nearby: Vec<f64>,
    pub(super) slopes: [InverseDerivatives; 2],
    pub(super) residuals: Residuals,
}

impl ConstrainedDynamics {
    /// Room for everything; all constraints are active at first.
    ///
    /// # Errors
    /// A constraint that makes no sense (a joint that does not exist, both ends on one body, gains out of range, numbers
    /// that are not finite), or a compliance that is not positive.
    pub fn new(
        robot: &Model,
        constraints: Vec<Constraint>,
        redundancy: Redundancy,
    ) -> Result<Self, ConstraintError> {
        for constraint in &constraints {
            if let Some(reason) = constraint.fault(robot) {
                return Err(ConstraintError::Constraint { name: constraint.name.clone(), reason });
            }
        }
        if let Redundancy::Yield(c) = redundancy
            && !(c > 0.0 && c.is_finite())
        {
            return Err(ConstraintError::Compliance(c));
        }
        let mut rows = 0;
        let mut row_active = Vec::new();
        let mut first_rows = Vec::with_capacity(constraints.len());
        for constraint in &constraints {
            first_rows.push(rows);
            rows += constraint.rows();
            row_active.extend((0..constraint.rows()).map(|r| r < constraint.binding()));
        }
        let n = robot.nv();
        Ok(Self {
            redundancy,
            active: vec![true; constraints.len()],
            row_active,
            first_rows,
            workspace: Workspace::new(robot),
            screws: Screws::new(robot),
            kkt: Kkt::new(robot, rows),
            mass: vec![0.0; n * n],
            jacobian: vec![0.0; n * rows],
            motion: vec![0.0; n],
            force: vec![0.0; rows],
            condition: vec![0.0; rows],
            zero: vec![0.0; n],
            jump: vec![0.0; n],
            nearby: vec![0.0; robot.nq()],
            slopes: [InverseDerivatives::new(robot), InverseDerivatives::new(robot)],
            residuals: Residuals::new(robot, &constraints, true),
            constraints,
        })
    }

    /// The constraints, in the order of their rows.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// Switches constraint `index` on or off.
    pub fn set_active(&mut self, index: usize, active: bool) {
        self.active[index] = active;
        let first = self.first_rows[index];
        self.row_active[first..first + self.constraints[index].rows()].fill(false);
        self.row_active[first..first + self.constraints[index].binding()].fill(active);
    }

    /// Fixes a contact where its frame a is at configuration `q`, as when a foot touches down: frame b is placed there.
    ///
    /// # Errors
    /// [`ConstraintError::Length`] unless `q` is a configuration.
    pub fn hold_here(&mut self, robot: &Model, index: usize, q: &[f64]) -> Result<(), ConstraintError> {
        self.check(robot, &[("q", q.len(), robot.nq())])?;
        self.screws.sweep(robot, q, &self.zero, &self.zero);
        let constraint = &mut self.constraints[index];
        let a = self.screws.body(constraint.a.joint).pose.compose(&constraint.a.placement);
        let b = self.screws.body(constraint.b.joint).pose;
        let turn = b.rotation.transpose();
        constraint.b.placement.rotation = turn * a.rotation;
        constraint.b.placement.translation = turn * (a.translation - b.translation);
        Ok(())
    }

    /// Number of rows of all constraints.
    pub fn rows(&self) -> usize {
        self.row_active.len()
    }

    /// Index of the first row of constraint `index`.
    pub fn first_row(&self, index: usize) -> usize {
        self.first_rows[index]
    }

    /// Accelerations of the last [`ConstrainedDynamics::forward`] (or the motion that the last other method names).
    pub fn motion(&self) -> &[f64] {
        &self.motion
    }

    /// Forces of the last solution: on frame a, in each constraint's axes; N and N m (N s and N m s of an impact).
    pub fn force(&self) -> &[f64] {
        &self.force
    }

    /// Forces of constraint `index` in the last solution.
    pub fn force_of(&self, index: usize) -> &[f64] {
        let first = self.first_rows[index];
        &self.force[first..first + self.constraints[index].rows()]
    }

    /// The largest amount by which the last solution misses an active row: |J a + gamma|, or |J v + restitution J v before|.
    /// It is rounding, unless constraints yield or dropped rows contradict those kept.
    pub fn violation(&self) -> f64 {
        self.condition.iter().fold(0.0, |most, x| most.max(x.abs()))
    }

    /// The compliance c of the rows.
    pub(super) fn compliance(&self) -> f64 {
        if let Redundancy::Yield(c) = self.redundancy { c } else { 0.0 }
    }

    /// Work on the rows of each active constraint at the state of the screws.
    pub(super) fn each_active(&self, robot: &Model, mut work: impl FnMut(&Rows<'_>)) {
        for (index, constraint) in self.constraints.iter().enumerate() {
            if self.active[index] {
                work(&Rows::new(robot, &self.screws, constraint, self.first_rows[index]));
            }
        }
    }

    /// Position errors e of all constraints at configuration `q` (rows, in each constraint's axes; m and rad).
    ///
    /// # Errors
    /// [`ConstraintError::Length`] names the vector that does not fit.
    pub fn position_errors(
        &mut self,
        robot: &Model,
        q: &[f64],
        out: &mut [f64],
    ) -> Result<(), ConstraintError> {
        self.check(robot, &[("q", q.len(), robot.nq()), ("the errors", out.len(), self.rows())])?;
        self.screws.sweep(robot, q, &self.zero, &self.zero);
        out.fill(0.0);
        self.each_active(robot, |rows| rows.write_error(out));
        Ok(())
    }

    /// Jacobian of all constraints at the last configuration (rows x nv, row-major).
    pub fn jacobian(&self) -> &[f64] {
        &self.jacobian
    }

    /// Mass matrix of the last solution, with transmission inertia (nv x nv).
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    pub(super) fn check(
        &self,
        robot: &Model,
        lengths: &[(&'static str, usize, usize)],
    ) -> Result<(), ConstraintError> {
        let own = [("the robot's velocity", robot.nv(), self.motion.len())];
        match own.iter().chain(lengths).find(|(_, length, expected)| length != expected) {
            None => Ok(()),
            Some(&(what, length, expected)) => Err(ConstraintError::Length { what, length, expected }),
        }
    }

    /// Fills `jacobian` and factors the KKT matrix at the screws' configuration and the mass matrix in `mass`.
    pub(super) fn factor(&mut self, robot: &Model) -> Result<(), ConstraintError> {
        let mut jacobian = std::mem::take(&mut self.jacobian);
        jacobian.fill(0.0);
        self.each_active(robot, |rows| rows.add_jacobian(&mut jacobian));
        self.jacobian = jacobian;
        let compliance = self.compliance();
        if let Some(k) = (0..robot.nv()).find(|&k| !(self.mass[(robot.nv() + 1) * k] > 0.0)) {
            return Err(ConstraintError::Mass { joint: robot.joints[self.screws.joint[k]].name.clone() });
        }
        self.kkt.factor(&self.mass, &self.jacobian, compliance, &self.row_active).map_err(|row| {
            let joint = self.screws.joint[self.last_of_row(row)];
            ConstraintError::Mass { joint: robot.joints[joint].name.clone() }
        })?;
        let dropped = (0..self.rows()).find(|&r| self.row_active[r] && !self.kkt.keeps(r));
        match dropped {
            Some(row) if self.redundancy == Redundancy::Refuse => {
                let index = self.constraint_of(row);
                let (name, row) = (self.constraints[index].name.clone(), row - self.first_rows[index]);
                Err(ConstraintError::Redundant { name, row })
            }
            _ => Ok(()),
        }
    }

    fn constraint_of(&self, row: usize) -> usize {
        self.first_rows.partition_point(|&first| first <= row) - 1
    }

    /// The last degree of freedom that a row moves.
    fn last_of_row(&self, row: usize) -> usize {
        let n = self.motion.len();
        (0..n).rfind(|&k| self.jacobian[n * row + k] != 0.0).unwrap_or(0)
    }

    /// Forward dynamics: accelerations ([`ConstrainedDynamics::motion`]) and constraint forces that torques `tau` cause.
    ///
    /// # Errors
    /// [`ConstraintError::Length`] names the vector that does not fit, [`ConstraintError::Mass`] the joint at which M is not positive
    /// definite, [`ConstraintError::Redundant`] the row that depends on others.
    pub fn forward(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        theta: &[f64],
    ) -> Result<(), ConstraintError> {
        let n = robot.nv();
        let lengths = [("v", v.len(), n), ("tau", tau.len(), n)];
        self.check_state(robot, q, theta, &lengths)?;
        self.workspace.mass_matrix(robot, q, theta, &mut self.mass);
        self.workspace.inverse_dynamics(robot, q, v, &self.zero, theta, &mut self.motion);
        self.screws.sweep(robot, q, v, &self.zero);
        self.factor(robot)?;
        for (x, tau) in self.motion.iter_mut().zip(tau) {
            *x = tau - *x;
        }
        self.write_condition(robot);
        for (f, gamma) in self.force.iter_mut().zip(&self.condition) {
            *f = -gamma;
        }
        self.kkt.solve(&self.jacobian, &mut self.motion, &mut self.force, 1);
        self.add_jacobian_times_motion();
        Ok(())
    }

    pub(super) fn check_state(
        &self,
        robot: &Model,
        q: &[f64],
        theta: &[f64],
        more: &[(&'static str, usize, usize)],
    ) -> Result<(), ConstraintError> {
        let own = [("q", q.len(), robot.nq()), ("theta", theta.len(), robot.parameter_count())];
        self.check(robot, &own)?;
        self.check(robot, more)
    }

    /// Condition of the active rows at the screws' accelerations; zero of the others.
    fn write_condition(&mut self, robot: &Model) {
        let mut condition = std::mem::take(&mut self.condition);
        condition.fill(0.0);
        self.each_active(robot, |rows| rows.write_condition(&mut condition));
        self.condition = condition;
    }

    /// `condition += J motion`.
    pub(super) fn add_jacobian_times_motion(&mut self) {
        let rows = self.jacobian.chunks_exact(self.motion.len());
        for (sum, row) in self.condition.iter_mut().zip(rows) {
            *sum += row.iter().zip(&self.motion).map(|(a, b)| a * b).sum::<f64>();
        }
    }

    /// [`ConstrainedDynamics::forward`] with the derivatives of accelerations and forces: those of the residuals at the
    /// solution, times the inverse of the KKT matrix, whose factors are there already ([3, eq. 12]).
    ///
    /// # Errors
    /// As [`ConstrainedDynamics::forward`].
    pub fn forward_derivatives(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        theta: &[f64],
        out: &mut Sensitivities,
    ) -> Result<(), ConstraintError> {
        self.check_room(robot, out)?;
        self.forward(robot, q, v, tau, theta)?;
        let with_parameters = out.by_theta.width > 0;
        let mut r = std::mem::take(&mut self.residuals);
        self.residual_slopes(robot, (q, v), theta, with_parameters, &mut r);
        negate(&r.dynamics_by_q, &mut out.by_q.motion);
        negate(&r.constraint_by_q, &mut out.by_q.force);
        negate(&r.dynamics_by_v, &mut out.by_v.motion);
        negate(&r.constraint_by_v, &mut out.by_v.force);
        if with_parameters {
            negate(&r.dynamics_by_theta, &mut out.by_theta.motion);
        }
        self.residuals = r;
        self.solve_all(out);
        Ok(())
    }

    /// Right-hand sides of the derivatives to torque and parameters, then the solution of all.
    pub(super) fn solve_all(&self, out: &mut Sensitivities) {
        let n = self.motion.len();
        out.by_tau.motion.fill(0.0);
        out.by_tau.force.fill(0.0);
        out.by_theta.force.fill(0.0);
        (0..n).for_each(|k| out.by_tau.motion[(n + 1) * k] = 1.0);
        for part in [&mut out.by_q, &mut out.by_v, &mut out.by_tau, &mut out.by_theta] {
            if part.width > 0 {
                self.kkt.solve(&self.jacobian, &mut part.motion, &mut part.force, part.width);
            }
        }
    }

    pub(super) fn check_room(&self, robot: &Model, out: &Sensitivities) -> Result<(), ConstraintError> {
        let (n, rows) = (robot.nv(), self.rows());
        let wide = if out.by_theta.width > 0 { INERTIAL * robot.bodies() } else { 0 };
        self.check(
            robot,
            &[
                ("the derivative of the motion", out.by_q.motion.len(), n * n),
                ("the derivative of the force", out.by_q.force.len(), n * rows),
                ("the derivative to the parameters", out.by_theta.motion.len(), n * wide),
            ],
        )
    }

    /// Fills the derivatives of the residuals at acceleration `motion` and `force`; `dynamics` without J' force and tau.
    fn residual_slopes(
        &mut self,
        robot: &Model,
        (q, v): (&[f64], &[f64]),
        theta: &[f64],
        with_parameters: bool,
        r: &mut Residuals,
    ) {
        if with_parameters {
            self.workspace.inverse_dynamics(robot, q, v, &self.motion, theta, &mut r.dynamics);
            r.dynamics_by_theta.fill(0.0);
            torque_regressor(robot, self.workspace.motion(), 0..robot.bodies(), &mut r.dynamics_by_theta);
        }
        let slopes = &mut self.slopes[0];
        self.workspace.inverse_dynamics_derivatives(robot, q, v, &self.motion, theta, slopes);
        r.dynamics.copy_from_slice(&slopes.tau);
        r.dynamics_by_q.copy_from_slice(&slopes.by_q);
        r.dynamics_by_v.copy_from_slice(&slopes.by_v);
        r.mass.copy_from_slice(&slopes.mass);
        self.screws.sweep(robot, q, v, &self.motion);
        r.constraint_by_q.fill(0.0);
        r.constraint_by_v.fill(0.0);
        self.each_active(robot, |rows| {
            rows.subtract_stiffness(&self.force, &mut r.dynamics_by_q);
            rows.add_condition_slopes(&mut r.constraint_by_q, &mut r.constraint_by_v);
        });
    }

    /// The residuals of [`ConstrainedDynamics::residuals`] and J without the other derivatives: fills `dynamics`,
    /// `constraint` and `jacobian` of `out`.
    ///
    /// # Errors
    /// [`ConstraintError::Length`] names the vector that does not fit.
    pub fn residual_values(
        &mut self,
        robot: &Model,
        (q, v, a): (&[f64], &[f64], &[f64]),
        force: &[f64],
        tau: &[f64],
        theta: &[f64],
        out: &mut Residuals,
    ) -> Result<(), ConstraintError> {
        self.take_motion(robot, (q, v, a), force, tau, theta, out)?;
        self.workspace.inverse_dynamics(robot, q, v, a, theta, &mut out.dynamics);
        self.screws.sweep(robot, q, v, a);
        self.finish_residuals(robot, tau, out);
        Ok(())
    }

    /// Checks the arguments of residuals and takes acceleration and active forces over.
    fn take_motion(
        &mut self,
        robot: &Model,
        (q, v, a): (&[f64], &[f64], &[f64]),
        force: &[f64],
        tau: &[f64],
        theta: &[f64],
        out: &Residuals,
    ) -> Result<(), ConstraintError> {
        let n = robot.nv();
        let lengths = [
            ("v", v.len(), n),
            ("a", a.len(), n),
            ("tau", tau.len(), n),
            ("force", force.len(), self.rows()),
            ("the residuals", out.constraint.len(), self.rows()),
        ];
        self.check_state(robot, q, theta, &lengths)?;
        self.motion.copy_from_slice(a);
        for ((own, f), active) in self.force.iter_mut().zip(force).zip(&self.row_active) {
            *own = if *active { *f } else { 0.0 };
        }
        Ok(())
    }

    /// The constraints' part of the residuals, and J; the screws and `out.dynamics` (without forces) are there.
    fn finish_residuals(&mut self, robot: &Model, tau: &[f64], out: &mut Residuals) {
        let n = robot.nv();
        self.write_condition(robot);
        let compliance = self.compliance();
        for ((r, condition), f) in out.constraint.iter_mut().zip(&self.condition).zip(&self.force) {
            *r = condition + compliance * f;
        }
        out.jacobian.fill(0.0);
        self.each_active(robot, |rows| rows.add_jacobian(&mut out.jacobian));
        for (r, tau) in out.dynamics.iter_mut().zip(tau) {
            *r -= tau;
        }
        for (row, f) in out.jacobian.chunks_exact(n).zip(&self.force) {
            for (r, j) in out.dynamics.iter_mut().zip(row) {
                *r -= j * f;
            }
        }
    }

    /// Residuals of the equations of motion at acceleration `a`, constraint forces `force` and torque `tau`, with all
    /// their derivatives: what formulations on inverse dynamics constrain to zero. It factors nothing and accepts any
    /// redundancy.
    ///
    /// # Errors
    /// [`ConstraintError::Length`] names the vector that does not fit.
    pub fn residuals(
        &mut self,
        robot: &Model,
        (q, v, a): (&[f64], &[f64], &[f64]),
        force: &[f64],
        tau: &[f64],
        theta: &[f64],
        out: &mut Residuals,
    ) -> Result<(), ConstraintError> {
        self.take_motion(robot, (q, v, a), force, tau, theta, out)?;
        let with_parameters = !out.dynamics_by_theta.is_empty();
        self.residual_slopes(robot, (q, v), theta, with_parameters, out);
        self.finish_residuals(robot, tau, out);
        self.jacobian.copy_from_slice(&out.jacobian);
        self.mass.copy_from_slice(&out.mass);
        Ok(())
    }
}

/// `to = -from`.
pub(super) fn negate(from: &[f64], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = -from;
    }
}
