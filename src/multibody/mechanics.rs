//! The equations of motion of one interval, at its middle, and their solution.
//!
//! With the interval's acceleration a and constraint forces lambda, s = h v + h^2 a / 2 and
//!
//! ```text
//! q_m = q (+) s / 2,   v_m = v + h a / 2
//! R_d = M(q_m) a + bias(q_m, v_m) + friction(v_m) - J(q_m)' lambda - gain tau      (equations of motion)
//! R_c = J(q_m) a + gamma(q_m, v_m) + c lambda                                      (active constraints)
//! ```
//!
//! the implicit midpoint rule on the manifold: of second order, and stable however steep friction is. (s / h is the
//! body's velocity in the middle, so exp(s) is right to second order on SE(3) too.) The inverse form takes a and lambda
//! as inputs and needs R and its derivatives alone; the forward form solves R_d = w, R_c = 0 for them (Newton), and
//! differentiates the solution by the implicit function theorem.

mod drives;

use super::MultibodyProblem;
use super::contacts::dynamics;
use super::parameters::JointParameter;
use crate::dynamics::actuation::{drive_torque, joint_friction};
use crate::dynamics::constraint::{ConstrainedDynamics, Residuals, Sensitivities};
use crate::dynamics::{InverseDerivatives, Motion, Workspace, rotor_column, torque_regressor};
use crate::inertia::INERTIAL;
use crate::linear::dense::Mat;
use crate::linear::gauss::Elimination;
use crate::robot::configuration::{integrate, integrate_jacobians};
pub(super) use drives::drive_bend;
pub(crate) use drives::drive_slope;

/// Physical parameters (SI) from here on belong to no robot.
const LARGEST: f64 = 1e9;
/// A derivative of a position (m/rad) below this is rounding.
const STILL: f64 = 1e-11;

/// Where an interval begins, and what acts in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval<'a> {
    pub q: &'a [f64],
    pub v: &'a [f64],
    /// Measured torques, nv.
    pub tau: &'a [f64],
    /// Sample at which it begins.
    pub sample: usize,
    /// Phase of contact.
    pub phase: usize,
    /// h, s.
    pub step: f64,
}

/// One thread's mechanics.
#[derive(Debug)]
pub(super) struct Mechanics {
    plain: Workspace,
    slopes: InverseDerivatives,
    motion: Motion<f64>,
    constrained: Option<ConstrainedDynamics>,
    pub(super) residuals: Residuals,
    impact: Option<Sensitivities>,
    /// Phase that is switched on in `constrained`.
    pub(super) phase: Option<usize>,
    /// Physical parameters, extended, and the theta they belong to.
    pub parameters: Vec<f64>,
    theta: Vec<f64>,
    pub middle: Vec<f64>,
    pub speed: Vec<f64>,
    /// h of the interval that was last looked at, s.
    step: f64,
    /// s / 2.
    half: Vec<f64>,
    by_step_q: Vec<f64>,
    by_step_v: Vec<f64>,
    nothing: Vec<f64>,
    /// Forces of all constraints.
    force: Vec<f64>,
    pub acceleration: Vec<f64>,
    /// Forces of the active rows.
    pub lambda: Vec<f64>,
    /// R_d over R_c, n + m.
    pub value: Vec<f64>,
    /// Derivatives of R to q, v and a, (n + m) x n, row-major.
    pub by_q: Vec<f64>,
    pub by_v: Vec<f64>,
    pub by_a: Vec<f64>,
    /// Columns of dR_d/dtheta, nv x nt.
    pub effect: Mat,
    regressor: Vec<f64>,
    pub(super) elimination: Elimination,
    pub(super) newton: Vec<f64>,
    /// Change of (w, q, v, theta), or of w alone.
    pub(super) change: Vec<f64>,
    /// Derivatives of (lambda, a) to (w, q, v, theta), row-major; the rows of lambda are unfinished.
    pub solution: Vec<f64>,
}

impl Mechanics {
    pub fn new(problem: &MultibodyProblem) -> Self {
        let (robot, nt) = (&*problem.robot, problem.map.len());
        let n = robot.nv();
        let contacts = &problem.schedule.contacts;
        let constrained = if contacts.constraints.is_empty() {
            None
        } else {
            Some(dynamics(robot, contacts).expect("the schedule has been built with these constraints"))
        };
        let rows = constrained.as_ref().map_or(0, |c| c.rows());
        Self {
            plain: Workspace::new(robot),
            slopes: InverseDerivatives::new(robot),
            motion: Motion::new(robot),
            residuals: Residuals::new(robot, &contacts.constraints, false),
            impact: constrained.as_ref().map(|_| Sensitivities::new(robot, &contacts.constraints, nt > 0)),
            constrained,
            phase: None,
            parameters: problem.map.nominal.clone(),
            theta: vec![f64::NAN; nt],
            middle: vec![0.0; robot.nq()],
            speed: vec![0.0; n],
            step: 0.0,
            half: vec![0.0; n],
            by_step_q: vec![0.0; n * n],
            by_step_v: vec![0.0; n * n],
            nothing: vec![0.0; n],
            force: vec![0.0; rows],
            acceleration: vec![0.0; n],
            lambda: Vec::with_capacity(rows),
            value: vec![0.0; n + rows],
            by_q: vec![0.0; (n + rows) * n],
            by_v: vec![0.0; (n + rows) * n],
            by_a: vec![0.0; (n + rows) * n],
            effect: Mat::zeros(n, nt),
            regressor: vec![0.0; n * INERTIAL * robot.bodies()],
            elimination: Elimination::default(),
            newton: vec![0.0; n + rows],
            change: vec![0.0; 3 * n + nt],
            solution: vec![0.0; (n + rows) * (3 * n + nt)],
        }
    }

    /// Physical parameters at theta, computed anew only where theta has changed.
    ///
    /// # Errors
    /// Where a step of the exponential coordinates has left everything that a robot could be.
    pub fn parameterise(&mut self, problem: &MultibodyProblem, theta: &[f64]) -> Result<(), String> {
        if self.theta != theta {
            problem.map.fill(&problem.robot, theta, &mut self.parameters);
            self.theta.copy_from_slice(theta);
        }
        match self.parameters.iter().find(|p| !(p.abs() < LARGEST)) {
            Some(p) => Err(format!("a physical parameter of {p}")),
            None => Ok(()),
        }
    }

    /// Switches on the constraints of a phase; the number of its rows.
    pub(super) fn enter(&mut self, problem: &MultibodyProblem, phase: usize) -> usize {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            if let Some(constrained) = &mut self.constrained {
                for (i, active) in problem.schedule.contacts.phases[phase].active.iter().enumerate() {
                    constrained.set_active(i, *active);
                }
            }
            self.acceleration.fill(0.0);
            self.lambda.clear();
            self.lambda.resize(problem.schedule.rows[phase].len(), 0.0);
        }
        problem.schedule.rows[phase].len()
    }

    /// Takes acceleration and forces from the inputs `u` of the inverse form.
    pub fn take(&mut self, problem: &MultibodyProblem, at: Interval<'_>, u: &[f64]) {
        self.enter(problem, at.phase);
        let (acceleration, forces) = u.split_at(self.acceleration.len());
        self.acceleration.copy_from_slice(acceleration);
        self.lambda.copy_from_slice(forces);
    }

    /// The middle of the interval for the acceleration in `self`, and the forces of all rows.
    fn go_to_middle(&mut self, problem: &MultibodyProblem, at: Interval<'_>) {
        let h = at.step;
        self.step = h;
        for (j, a) in self.acceleration.iter().enumerate() {
            self.half[j] = 0.5 * h * at.v[j] + 0.25 * h * h * a;
            self.speed[j] = at.v[j] + 0.5 * h * a;
        }
        integrate(&problem.robot, at.q, &self.half, &mut self.middle);
        self.force.fill(0.0);
        for (&row, l) in problem.schedule.rows[at.phase].iter().zip(&self.lambda) {
            self.force[row] = *l;
        }
    }

    /// R for the acceleration and forces in `self`.
    ///
    /// # Errors
    /// Where the constraints cannot be evaluated.
    pub fn evaluate(&mut self, problem: &MultibodyProblem, at: Interval<'_>) -> Result<(), String> {
        self.enter(problem, at.phase);
        self.go_to_middle(problem, at);
        let (robot, n) = (&*problem.robot, self.speed.len());
        let p = &self.parameters[..robot.parameter_count()];
        if let Some(constrained) = &mut self.constrained {
            let r = &mut self.residuals;
            constrained
                .residual_values(
                    robot,
                    (&self.middle, &self.speed, &self.acceleration),
                    &self.force,
                    &self.nothing,
                    p,
                    r,
                )
                .map_err(|e| e.to_string())?;
            self.value[..n].copy_from_slice(&r.dynamics);
        } else {
            self.plain.inverse_dynamics(
                robot,
                &self.middle,
                &self.speed,
                &self.acceleration,
                p,
                &mut self.value[..n],
            );
        }
        self.add_drives(problem, at, false);
        Ok(())
    }

    /// R and its derivatives, for the acceleration and forces in `self`.
    ///
    /// # Errors
    /// Where the constraints cannot be evaluated.
    pub fn differentiate(&mut self, problem: &MultibodyProblem, at: Interval<'_>) -> Result<(), String> {
        let m = self.enter(problem, at.phase);
        self.go_to_middle(problem, at);
        let (robot, n) = (&*problem.robot, self.speed.len());
        let p = &self.parameters[..robot.parameter_count()];
        let square = n * n;
        if let Some(constrained) = &mut self.constrained {
            let r = &mut self.residuals;
            constrained
                .residuals(
                    robot,
                    (&self.middle, &self.speed, &self.acceleration),
                    &self.force,
                    &self.nothing,
                    p,
                    r,
                )
                .map_err(|e| e.to_string())?;
            self.value[..n].copy_from_slice(&r.dynamics);
            self.by_q[..square].copy_from_slice(&r.dynamics_by_q);
            self.by_v[..square].copy_from_slice(&r.dynamics_by_v);
            self.by_a[..square].copy_from_slice(&r.mass);
            for (i, &row) in problem.schedule.rows[at.phase].iter().enumerate() {
                let (to, from) = (n * (n + i)..n * (n + i + 1), n * row..n * (row + 1));
                self.by_q[to.clone()].copy_from_slice(&r.constraint_by_q[from.clone()]);
                self.by_v[to.clone()].copy_from_slice(&r.constraint_by_v[from.clone()]);
                self.by_a[to].copy_from_slice(&r.jacobian[from]);
            }
        } else {
            let d = &mut self.slopes;
            let (q, v, a) = (&self.middle, &self.speed, &self.acceleration);
            self.plain.inverse_dynamics_derivatives(robot, q, v, a, p, d);
            self.value[..n].copy_from_slice(&d.tau);
            self.by_q[..square].copy_from_slice(&d.by_q);
            self.by_v[..square].copy_from_slice(&d.by_v);
            self.by_a[..square].copy_from_slice(&d.mass);
        }
        self.add_drives(problem, at, true);
        self.refer_to_start(problem, n + m);
        Ok(())
    }

    /// Friction and drives, and the rows of the constraints.
    fn add_drives(&mut self, problem: &MultibodyProblem, at: Interval<'_>, slopes: bool) {
        let (robot, n) = (&*problem.robot, self.speed.len());
        let base = if robot.has_free_flyer() { 6 } else { 0 };
        for (value, tau) in self.value[..base].iter_mut().zip(at.tau) {
            *value -= tau;
        }
        for i in robot.first_actuated()..robot.bodies() {
            let j = robot.v_index(i);
            let (friction, slope) = joint_friction(robot, &self.parameters, i, self.speed[j]);
            self.value[j] += friction - drive_torque(robot, &self.parameters, i, at.tau[j]);
            if slopes {
                self.by_v[(n + 1) * j] += slope;
            }
        }
        for (i, &row) in problem.schedule.rows[at.phase].iter().enumerate() {
            self.value[n + i] = self.residuals.constraint[row];
        }
    }

    /// Derivatives at the middle become derivatives to the interval's beginning and a.
    fn refer_to_start(&mut self, problem: &MultibodyProblem, rows: usize) {
        let (robot, h, n) = (&*problem.robot, self.step, self.speed.len());
        let floating = robot.has_free_flyer();
        if floating {
            integrate_jacobians(robot, &self.half, &mut self.by_step_q, &mut self.by_step_v);
        }
        for i in 0..rows {
            let part = n * i..n * (i + 1);
            let (xq, xv) = (&mut self.by_q[part.clone()], &mut self.by_v[part.clone()]);
            let steps = floating.then_some((&self.by_step_q[..], &self.by_step_v[..]));
            chain(steps, h, xq, xv, &mut self.by_a[part]);
        }
    }

    /// Derivatives of one number to (q, v, a) in the middle become those to the interval's beginning; after
    /// [`Mechanics::differentiate`] there.
    pub fn chain(&self, problem: &MultibodyProblem, by_q: &mut [f64], by_v: &mut [f64], by_a: &mut [f64]) {
        let floating = problem.robot.has_free_flyer();
        let steps = floating.then_some((&self.by_step_q[..], &self.by_step_v[..]));
        chain(steps, self.step, by_q, by_v, by_a);
    }

    /// Derivatives of the middle of the base's step to where it begins and to its tangent, row-major nv x nv.
    pub(super) fn base_steps(&self) -> (&[f64], &[f64]) {
        (&self.by_step_q, &self.by_step_v)
    }

    /// The Jacobian of inverse dynamics in the middle of the interval for other inertial parameters.
    pub(super) fn inertial_jacobian(&mut self, problem: &MultibodyProblem, p: &[f64]) -> &InverseDerivatives {
        let (q, v, a) = (&self.middle, &self.speed, &self.acceleration);
        self.plain.inverse_dynamics_derivatives(&problem.robot, q, v, a, p, &mut self.slopes);
        &self.slopes
    }

    /// dR_d/dtheta = Y dp/dtheta + drives, for the acceleration in `self`; after [`Mechanics::differentiate`].
    pub fn differentiate_parameters(&mut self, problem: &MultibodyProblem, theta: &[f64], tau: &[f64]) {
        let (robot, map) = (&*problem.robot, &problem.map);
        let (n, width) = (robot.nv(), INERTIAL * robot.bodies());
        if !map.bodies.is_empty() || robot.joints.iter().any(|joint| joint.gear_ratio.is_some()) {
            self.motion.sweep_plain(robot, &self.middle, &self.speed, &self.acceleration);
        }
        for (b, &(body, _)) in map.bodies.iter().enumerate() {
            torque_regressor(robot, &self.motion, body..body + 1, &mut self.regressor);
            let block = map.block(theta, b);
            for c in 0..INERTIAL {
                let out = self.effect.col_mut(INERTIAL * b + c);
                for (j, out) in out.iter_mut().enumerate() {
                    let row = &self.regressor[width * j + INERTIAL * body..][..INERTIAL];
                    *out = row.iter().zip(block.column(c).iter()).map(|(y, p)| y * p).sum();
                }
            }
        }
        debug_assert_eq!(n, self.speed.len());
        for (i, &(j, which)) in map.joints.iter().enumerate() {
            let at = robot.v_index(j);
            let slope = drive_slope(
                robot,
                &self.parameters,
                j,
                which,
                (self.speed[at], self.acceleration[at], tau[at]),
            );
            let column = self.effect.col_mut(INERTIAL * map.bodies.len() + i);
            column.fill(0.0);
            column[at] = slope;
            if which == JointParameter::Armature {
                let moving = (&self.speed[..], &self.acceleration[..]);
                rotor_column(robot, &self.motion, j, moving, |row, x| column[row] += x);
            }
            column.iter_mut().for_each(|x| *x *= map.joint_slope(theta, i));
        }
    }

    /// The derivative of R_d to the force of active row `r` of a phase, times -1: row r of J.
    pub fn row(&self, problem: &MultibodyProblem, phase: usize, r: usize) -> &[f64] {
        let n = self.speed.len();
        let row = problem.schedule.rows[phase][r];
        &self.residuals.jacobian[n * row..n * (row + 1)]
    }

    /// By how much the loops are open at `q`, m; after [`Mechanics::impact`] of the first phase. The gradients are
    /// [`Mechanics::closure_row`].
    ///
    /// # Errors
    /// Where the constraints cannot be evaluated.
    pub fn closures(&mut self, problem: &MultibodyProblem, q: &[f64], out: &mut [f64]) -> Result<(), String> {
        let Some(constrained) = &mut self.constrained else { return Ok(()) };
        constrained.position_errors(&problem.robot, q, &mut self.force).map_err(|e| e.to_string())?;
        let n = self.speed.len();
        for (i, (&row, out)) in problem.schedule.closures.iter().zip(out).enumerate() {
            *out = self.force[row];
            // Rows that nothing moves (out of a planar linkage's plane) are rounding and bind nothing.
            let gradient = &constrained.jacobian()[n * row..n * (row + 1)];
            let to = &mut self.by_q[n * i..n * (i + 1)];
            let still = gradient.iter().all(|g| g.abs() < STILL);
            to.iter_mut().zip(gradient).for_each(|(to, g)| *to = if still { 0.0 } else { *g });
            if still {
                *out = 0.0;
            }
        }
        Ok(())
    }

    /// Moves `q` to where the loops are closed, by the degrees of freedom `free`, if there is such a place nearby.
    pub fn close(&mut self, problem: &MultibodyProblem, q: &mut [f64], free: &[usize]) {
        let Some(constrained) = &mut self.constrained else { return };
        for (i, constraint) in problem.schedule.contacts.constraints.iter().enumerate() {
            constrained.set_active(i, constraint.b.joint.is_some());
        }
        self.phase = None;
        let p = &self.parameters[..problem.robot.parameter_count()];
        let mut closed = q.to_vec();
        let left = constrained.close_by(&problem.robot, &mut closed, p, |k| free.contains(&k));
        if left.is_ok_and(|left| left < 1e-6) {
            q.copy_from_slice(&closed);
        }
    }

    /// Gradient of closure `i` to q, after [`Mechanics::closures`].
    pub fn closure_row(&self, i: usize) -> &[f64] {
        let n = self.speed.len();
        &self.by_q[n * i..n * (i + 1)]
    }

    /// Velocity after the impact at which a phase begins, with its derivatives if `slopes`.
    ///
    /// # Errors
    /// Where the phase has no constraints, or they depend on each other.
    pub fn impact(
        &mut self,
        problem: &MultibodyProblem,
        (q, v): (&[f64], &[f64]),
        phase: usize,
        slopes: bool,
    ) -> Result<(&[f64], &Sensitivities), String> {
        self.enter(problem, phase);
        let robot = &*problem.robot;
        let p = &self.parameters[..robot.parameter_count()];
        let (Some(constrained), Some(out)) = (&mut self.constrained, &mut self.impact) else {
            return Err("a phase without constraints begins with an impact".into());
        };
        if slopes {
            constrained.impulse_derivatives(robot, q, v, p, out)
        } else {
            constrained.impulse(robot, q, v, p)
        }
        .map_err(|e| e.to_string())?;
        Ok((constrained.motion(), out))
    }
}

impl Mechanics {
    /// The sum of `weights` (nv x 2 nv) times the second derivatives of the velocity after an impact by (q, v) and an
    /// inertial parameter along `unit`; after [`Mechanics::impact`] with slopes at the same state.
    ///
    /// # Errors
    /// Where the phase's constraints depend on each other.
    pub fn impact_bend(
        &mut self,
        problem: &MultibodyProblem,
        q: &[f64],
        unit: &[f64],
        weights: &[f64],
    ) -> Result<f64, String> {
        let robot = &*problem.robot;
        let p = &self.parameters[..robot.parameter_count()];
        let (Some(constrained), Some(slopes)) = (&mut self.constrained, &self.impact) else {
            return Ok(0.0);
        };
        constrained.impulse_bend(robot, q, p, unit, weights, slopes).map_err(|e| e.to_string())
    }
}

/// The chain rule for q_m = q (+) (h v / 2 + h^2 a / 4), v_m = v + h a / 2; `steps` are the derivatives of the base's step to q
/// and to its tangent, where it floats.
fn chain(steps: Option<(&[f64], &[f64])>, h: f64, xq: &mut [f64], xv: &mut [f64], xa: &mut [f64]) {
    let n = xq.len();
    let (mut along, mut moved) = ([0.0; 6], [0.0; 6]);
    if let Some((by_q, by_v)) = steps {
        for (r, x) in xq[..6].iter().enumerate() {
            for c in 0..6 {
                along[c] += x * by_v[n * r + c];
                moved[c] += x * by_q[n * r + c];
            }
        }
    }
    for c in 0..n {
        let y = if steps.is_some() && c < 6 { along[c] } else { xq[c] };
        xa[c] += 0.5 * h * xv[c] + 0.25 * h * h * y;
        xv[c] += 0.5 * h * y;
    }
    if steps.is_some() {
        xq[..6].copy_from_slice(&moved);
    }
}
