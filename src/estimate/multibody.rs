//! Robots as trees of rigid bodies, on a fixed base or floating: forward dynamics with force noise, encoders, poses,
//! velocities and torque sensors, inertial and friction parameters.
//!
//! For those who estimate from a log. The state is (q, v), the input is what the generalised force differs by from the
//! measured one (process noise, with the covariance of the torque sensor and of what the model leaves out), and a stage
//! lasts one sampling interval h with the force held:
//!
//! ```text
//! a = M^-1 (tau + w - bias - friction) at (q (+) h v / 2, v),   q' = q (+) (h v + h^2 a / 2),   v' = v + h a
//! ```
//!
//! so that gravity and inertia are taken in the middle of the interval. All derivatives are exact: those of forward
//! dynamics in closed form, with the regressor for the parameters, da/dp = -M^-1 Y.

use std::sync::Arc;

use super::dense::{Mat, axpy, dot};
use super::error::EstimateError;
use super::parameters::ParameterMap;
use super::problem::{Point, Problem, StageValues, Trajectory};
use super::stage::{StageModel, StageSize};
use crate::dynamics::{ForwardDerivatives, Motion, Workspace, torque_regressor};
use crate::robot::configuration::{difference, difference_jacobians, integrate, integrate_jacobians};
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, VISCOUS};

/// Physical parameters (SI) from here on belong to no robot.
const LARGEST: f64 = 1e9;

/// What was measured at one instant; the torque is that of the interval which begins there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// Configuration, nq numbers (rad; a floating base's pose first).
    pub q: Vec<f64>,
    /// Velocities, nv numbers (rad/s; a floating base's twist in its own axes first).
    pub dq: Vec<f64>,
    /// Generalised forces, nv numbers (N m).
    pub tau: Vec<f64>,
}

/// Standard deviations of everything that is uncertain, one number a degree of freedom or a parameter. Positions are
/// compared in tangent space.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviations {
    /// Encoders, rad; infinite where nothing is measured.
    pub q: Vec<f64>,
    /// Velocities, rad/s; infinite where nothing is measured.
    pub dq: Vec<f64>,
    /// Torques over one interval, N m.
    pub tau: Vec<f64>,
    /// First position, rad; infinite where nothing is known.
    pub first_q: Vec<f64>,
    /// First velocity, rad/s.
    pub first_dq: Vec<f64>,
    /// Parameters, in coordinates; infinite where nothing is known.
    pub theta: Vec<f64>,
}

/// A robot's log as an estimation problem.
#[derive(Debug, Clone)]
pub struct MultibodyProblem {
    robot: Arc<Robot>,
    map: ParameterMap,
    samples: Vec<Sample>,
    /// Sampling interval, s.
    step: f64,
    weights: Weights,
    prior: Vec<f64>,
    /// Bounds theta_i >= value, as (i, value).
    lower: Vec<(usize, f64)>,
}

/// One over the variances.
#[derive(Debug, Clone)]
struct Weights {
    q: Vec<f64>,
    dq: Vec<f64>,
    tau: Vec<f64>,
    first: Vec<f64>,
    theta: Vec<f64>,
}

impl MultibodyProblem {
    /// The problem of explaining `samples`, taken every `step_s` seconds, starting from the map's nominal parameters.
    /// Friction and transmission inertia are kept from becoming negative.
    ///
    /// # Errors
    /// When sizes disagree, a deviation is missing (zero, negative, NaN), or a sample is not finite.
    pub fn new(
        robot: Arc<Robot>,
        map: ParameterMap,
        samples: Vec<Sample>,
        step_s: f64,
        deviations: &Deviations,
    ) -> Result<Self, EstimateError> {
        let n = robot.nv();
        if samples.len() < 2 {
            return Err(EstimateError::Size { what: "samples".into(), found: samples.len(), expected: 2 });
        }
        if !(step_s > 0.0 && step_s.is_finite()) {
            return Err(EstimateError::Deviation { what: "the sampling interval".into(), value: step_s });
        }
        for (k, s) in samples.iter().enumerate() {
            for (name, values, expected) in [("q", &s.q, robot.nq()), ("dq", &s.dq, n), ("tau", &s.tau, n)] {
                if values.len() != expected {
                    let what = format!("{name} of sample {k}");
                    return Err(EstimateError::Size { what, found: values.len(), expected });
                }
                if values.iter().any(|x| !x.is_finite()) {
                    return Err(EstimateError::NotFinite { what: "a sample", stage: k });
                }
            }
        }
        let d = deviations;
        let mut first = weights("the first position", &d.first_q, n, true)?;
        first.extend(weights("the first velocity", &d.first_dq, n, true)?);
        let weights = Weights {
            q: weights("the encoders", &d.q, n, true)?,
            dq: weights("the velocities", &d.dq, n, true)?,
            tau: weights("the torques", &d.tau, n, false)?,
            first,
            theta: weights("the parameters", &d.theta, map.len(), true)?,
        };
        let prior = map.start(&robot)?;
        let at = INERTIAL * map.bodies.len();
        let positive = |i: &usize| map.joints[*i].1.index() != OFFSET;
        let lower = (0..map.joints.len()).filter(positive).map(|i| (at + i, 0.0)).collect();
        Ok(Self { robot, map, samples, step: step_s, weights, prior, lower })
    }

    /// The first guess: the measured states, no noise, the nominal parameters.
    pub fn guess(&self) -> Trajectory {
        let n = self.robot.nv();
        Trajectory {
            xs: self.samples.iter().map(|s| [s.q.as_slice(), s.dq.as_slice()].concat()).collect(),
            us: (0..self.samples.len())
                .map(|k| vec![0.0; if k + 1 < self.samples.len() { n } else { 0 }])
                .collect(),
            theta: self.prior.clone(),
        }
    }

    /// Largest difference of the trajectory's states and `states` in tangent space, rad and rad/s.
    pub fn largest_error(&self, trajectory: &Trajectory, states: &[Vec<f64>]) -> f64 {
        let mut change = vec![0.0; 2 * self.robot.nv()];
        let mut largest = 0.0f64;
        for (k, (x, truth)) in trajectory.xs.iter().zip(states).enumerate() {
            self.difference(k, x, truth, &mut change);
            largest = change.iter().fold(largest, |m, c| m.max(c.abs()));
        }
        largest
    }

    /// What theta means.
    pub fn map(&self) -> &ParameterMap {
        &self.map
    }

    /// The robot.
    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    fn last(&self, k: usize) -> bool {
        k + 1 == self.samples.len()
    }

    /// Position residual x_q (-) measured, into `out`.
    fn position_error(&self, k: usize, at: Point<'_>, out: &mut [f64]) {
        let (q, _) = at.x.split_at(self.robot.nq());
        difference(&self.robot, &self.samples[k].q, q, out);
    }

    fn cost(&self, k: usize, at: Point<'_>, error: &mut [f64]) -> f64 {
        let (w, s, n) = (&self.weights, &self.samples[k], self.robot.nv());
        self.position_error(k, at, error);
        let v = &at.x[self.robot.nq()..];
        let first = |j: usize| if k == 0 { w.first[j] } else { 0.0 };
        let mut cost = 0.0;
        for j in 0..n {
            cost += (w.q[j] + first(j)) * error[j].powi(2);
            cost += (w.dq[j] + first(n + j)) * (v[j] - s.dq[j]).powi(2);
        }
        cost += at.u.iter().zip(&w.tau).map(|(u, w)| w * u * u).sum::<f64>();
        if k == 0 {
            cost += at
                .theta
                .iter()
                .zip(&self.prior)
                .zip(&w.theta)
                .map(|((t, m), w)| w * (t - m).powi(2))
                .sum::<f64>();
        }
        0.5 * cost
    }

    fn add_costs(&self, k: usize, at: Point<'_>, s: &mut MultibodySpace, m: &mut StageModel) {
        let (w, sample, n, nu) = (&self.weights, &self.samples[k], self.robot.nv(), m.nu);
        self.position_error(k, at, &mut s.error);
        let (q, v) = at.x.split_at(self.robot.nq());
        let first = |j: usize| if k == 0 { w.first[j] } else { 0.0 };
        if self.robot.has_free_flyer() {
            difference_jacobians(&self.robot, &sample.q, q, &mut s.by_other, &mut s.by_q);
        }
        for j in 0..n {
            let weight = w.q[j] + first(j);
            if self.robot.has_free_flyer() && j < 6 && weight > 0.0 {
                s.row.clear();
                s.row.resize(m.n(), 0.0);
                s.row[nu..nu + n].copy_from_slice(&s.by_q[n * j..n * (j + 1)]);
                m.add_residual(s.error[j], &s.row, weight);
            } else {
                m.add_direct(s.error[j], nu + j, weight);
            }
            m.add_direct(v[j] - sample.dq[j], nu + n + j, w.dq[j] + first(n + j));
        }
        for j in 0..nu {
            m.add_direct(at.u[j], j, w.tau[j]);
        }
        if k == 0 {
            for i in 0..at.theta.len() {
                m.add_direct(at.theta[i] - self.prior[i], nu + 2 * n + i, w.theta[i]);
            }
        }
    }
}

/// One over the squares of standard deviations; zero for infinite ones where `open` allows it.
fn weights(what: &str, deviations: &[f64], expected: usize, open: bool) -> Result<Vec<f64>, EstimateError> {
    if deviations.len() != expected {
        let what = format!("standard deviations of {what}");
        return Err(EstimateError::Size { what, found: deviations.len(), expected });
    }
    let bad = deviations.iter().find(|&&d| !(d > 0.0 && (open || d.is_finite())));
    match bad {
        Some(&value) => {
            Err(EstimateError::Deviation { what: format!("the standard deviation of {what}"), value })
        }
        None => Ok(deviations.iter().map(|d| 1.0 / (d * d)).collect()),
    }
}

/// Scratch space of one thread.
#[derive(Debug)]
pub struct MultibodySpace {
    dynamics: Workspace,
    derivatives: ForwardDerivatives,
    motion: Motion<f64>,
    parameters: Vec<f64>,
    theta: Vec<f64>,
    middle: Vec<f64>,
    shift: Vec<f64>,
    tau: Vec<f64>,
    acceleration: Vec<f64>,
    error: Vec<f64>,
    row: Vec<f64>,
    regressor: Vec<f64>,
    /// Columns of Y dp/dtheta, nv x nt.
    effect: Mat,
    /// Row i of da/d(w, q, v, theta), contiguous.
    rows: Mat,
    by_q: Vec<f64>,
    by_v: Vec<f64>,
    by_other: Vec<f64>,
}

impl MultibodySpace {
    fn new(problem: &MultibodyProblem) -> Self {
        let (robot, nt) = (&*problem.robot, problem.map.len());
        let n = robot.nv();
        Self {
            dynamics: Workspace::new(robot),
            derivatives: ForwardDerivatives::new(robot),
            motion: Motion::new(robot),
            parameters: problem.map.nominal.clone(),
            theta: vec![f64::NAN; nt],
            middle: vec![0.0; robot.nq()],
            shift: vec![0.0; n],
            tau: vec![0.0; n],
            acceleration: vec![0.0; n],
            error: vec![0.0; n],
            row: Vec::with_capacity(3 * n + nt),
            regressor: vec![0.0; n * INERTIAL * robot.bodies()],
            effect: Mat::zeros(n, nt),
            rows: Mat::zeros(3 * n + nt, n),
            by_q: vec![0.0; n * n],
            by_v: vec![0.0; n * n],
            by_other: vec![0.0; n * n],
        }
    }

    /// Physical parameters at theta, computed anew only where theta has changed. `Err` where a step of the exponential
    /// coordinates has left everything that a robot could be.
    fn parameterise(&mut self, problem: &MultibodyProblem, theta: &[f64]) -> Result<(), String> {
        if self.theta != theta {
            problem.map.fill(&problem.robot, theta, &mut self.parameters);
            self.theta.copy_from_slice(theta);
        }
        match self.parameters.iter().find(|p| !(p.abs() < LARGEST)) {
            Some(p) => Err(format!("a physical parameter of {p}")),
            None => Ok(()),
        }
    }

    /// The middle configuration and the generalised force without friction.
    fn prepare(&mut self, problem: &MultibodyProblem, k: usize, at: Point<'_>) -> Result<(), String> {
        let robot = &*problem.robot;
        self.parameterise(problem, at.theta)?;
        let (q, v) = at.x.split_at(robot.nq());
        for (out, v) in self.shift.iter_mut().zip(v) {
            *out = 0.5 * problem.step * v;
        }
        integrate(robot, q, &self.shift, &mut self.middle);
        for (j, out) in self.tau.iter_mut().enumerate() {
            *out = problem.samples[k].tau[j] + at.u[j];
        }
        for i in robot.first_actuated()..robot.bodies() {
            let (f, at) = (&self.parameters[robot.friction_index(i)..], robot.v_index(i));
            self.tau[at] -= f[COULOMB] * sign(robot, v[at]).0 + f[VISCOUS] * v[at] + f[OFFSET];
        }
        Ok(())
    }

    /// The next state from the acceleration.
    fn advance(&mut self, problem: &MultibodyProblem, at: Point<'_>, next: &mut [f64]) {
        let (robot, h) = (&*problem.robot, problem.step);
        let (q, v) = at.x.split_at(robot.nq());
        let (next_q, next_v) = next.split_at_mut(robot.nq());
        for j in 0..v.len() {
            self.shift[j] = h * v[j] + 0.5 * h * h * self.acceleration[j];
            next_v[j] = v[j] + h * self.acceleration[j];
        }
        integrate(robot, q, &self.shift, next_q);
    }

    /// Derivatives of the acceleration: row i of `rows` holds da_i with respect to (w, q, v, theta).
    fn differentiate(&mut self, problem: &MultibodyProblem, at: Point<'_>) {
        let (robot, h) = (&*problem.robot, problem.step);
        let (n, nt) = (robot.nv(), problem.map.len());
        let v = &at.x[robot.nq()..];
        let d = &self.derivatives;
        for i in 0..n {
            let row = self.rows.col_mut(i);
            row[..n].copy_from_slice(&d.by_tau[n * i..n * (i + 1)]);
            row[n..2 * n].copy_from_slice(&d.by_q[n * i..n * (i + 1)]);
            row[2 * n..3 * n].copy_from_slice(&d.by_v[n * i..n * (i + 1)]);
            // Friction takes part in the force.
            for j in robot.first_actuated()..robot.bodies() {
                let (f, c) = (&self.parameters[robot.friction_index(j)..], robot.v_index(j));
                row[2 * n + c] -= row[c] * (f[VISCOUS] + f[COULOMB] * sign(robot, v[c]).1);
            }
            // The middle configuration moves with q and v.
            if robot.has_free_flyer() {
                for (out, v) in self.shift.iter_mut().zip(v) {
                    *out = 0.5 * h * v;
                }
                if i == 0 {
                    integrate_jacobians(robot, &self.shift, &mut self.by_q, &mut self.by_v);
                }
                self.row.clear();
                self.row.extend_from_slice(&row[n..2 * n]);
                row[n..2 * n].fill(0.0);
                for (j, &slope) in self.row.iter().enumerate() {
                    axpy(slope, &self.by_q[n * j..n * (j + 1)], &mut row[n..2 * n]);
                    axpy(0.5 * h * slope, &self.by_v[n * j..n * (j + 1)], &mut row[2 * n..3 * n]);
                }
            } else {
                let (left, right) = row.split_at_mut(2 * n);
                axpy(0.5 * h, &left[n..], &mut right[..n]);
            }
        }
        if nt > 0 {
            self.differentiate_parameters(problem, at, v);
        }
    }

    /// da/dtheta = -M^-1 (Y dp/dtheta + friction).
    fn differentiate_parameters(&mut self, problem: &MultibodyProblem, at: Point<'_>, v: &[f64]) {
        let (robot, map) = (&*problem.robot, &problem.map);
        let (n, width) = (robot.nv(), INERTIAL * robot.bodies());
        if !map.bodies.is_empty() {
            self.motion.sweep_plain(robot, &self.middle, v, &self.acceleration);
        }
        for (b, &(body, _)) in map.bodies.iter().enumerate() {
            torque_regressor(robot, &self.motion, body..body + 1, &mut self.regressor);
            let block = map.block(at.theta, b);
            for c in 0..INERTIAL {
                let out = self.effect.col_mut(INERTIAL * b + c);
                for (j, out) in out.iter_mut().enumerate() {
                    let row = &self.regressor[width * j + INERTIAL * body..][..INERTIAL];
                    *out = row.iter().zip(block.column(c).iter()).map(|(y, p)| y * p).sum();
                }
            }
        }
        for (i, &(j, which)) in map.joints.iter().enumerate() {
            let (column, at) = (self.effect.col_mut(INERTIAL * map.bodies.len() + i), robot.v_index(j));
            column.fill(0.0);
            column[at] = match which.index() {
                COULOMB => sign(robot, v[at]).0,
                VISCOUS => v[at],
                ARMATURE => self.acceleration[at],
                _ => 1.0,
            };
        }
        for i in 0..n {
            let row = self.rows.col_mut(i);
            let (by_tau, rest) = row.split_at_mut(n);
            for (t, out) in rest[2 * n..].iter_mut().enumerate() {
                *out = -dot(by_tau, self.effect.col(t));
            }
        }
    }
}

/// Direction of Coulomb friction, a clamped ramp below the stiction speed, and its slope.
fn sign(robot: &Robot, dq: f64) -> (f64, f64) {
    let speed = robot.control.stiction_speed_rad_s;
    let ratio = dq / speed;
    if ratio.abs() < 1.0 { (ratio, 1.0 / speed) } else { (ratio.signum(), 0.0) }
}

impl Problem for MultibodyProblem {
    type Workspace = MultibodySpace;

    fn workspace(&self) -> MultibodySpace {
        MultibodySpace::new(self)
    }

    fn stages(&self) -> usize {
        self.samples.len()
    }

    fn size(&self, k: usize) -> StageSize {
        let n = self.robot.nv();
        let input = if self.last(k) { 0 } else { n };
        StageSize { state: self.robot.nq() + n, tangent: 2 * n, input, constraints: 0 }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        (self.map.len(), 0, self.lower.len())
    }

    fn evaluate(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut MultibodySpace,
        out: &mut StageValues,
    ) -> Result<(), String> {
        out.cost = self.cost(k, at, &mut s.error);
        if !self.last(k) {
            s.prepare(self, k, at)?;
            let v = &at.x[self.robot.nq()..];
            s.dynamics.forward_dynamics(
                &self.robot,
                &s.middle,
                v,
                &s.tau,
                &s.parameters,
                &mut s.acceleration,
            );
            s.advance(self, at, &mut out.next);
        }
        Ok(())
    }

    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut MultibodySpace,
        m: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.add_costs(k, at, s, m);
        out.cost = m.cost;
        if self.last(k) {
            return Ok(());
        }
        s.prepare(self, k, at)?;
        let (robot, n, h) = (&*self.robot, self.robot.nv(), self.step);
        let v = &at.x[robot.nq()..];
        let d = &mut s.derivatives;
        s.dynamics.forward_dynamics_derivatives(robot, &s.middle, v, &s.tau, &s.parameters, d);
        s.acceleration.copy_from_slice(&d.a);
        s.differentiate(self, at);
        s.advance(self, at, &mut out.next);
        // dv' = dv + h da; the shift h dv + h^2 da / 2 of q.
        for i in 0..n {
            let (row, a) = (m.jac.col_mut(n + i), s.rows.col(i));
            axpy(h, a, row);
            row[2 * n + i] += 1.0;
        }
        if robot.has_free_flyer() {
            integrate_jacobians(robot, &s.shift, &mut s.by_q, &mut s.by_v);
        }
        for i in 0..n {
            let row = m.jac.col_mut(i);
            if robot.has_free_flyer() {
                row[n..2 * n].copy_from_slice(&s.by_q[n * i..n * (i + 1)]);
                for (j, &slope) in s.by_v[n * i..n * (i + 1)].iter().enumerate() {
                    axpy(0.5 * h * h * slope, s.rows.col(j), row);
                    row[2 * n + j] += h * slope;
                }
            } else {
                axpy(0.5 * h * h, s.rows.col(i), row);
                row[n + i] += 1.0;
                row[2 * n + i] += h;
            }
        }
        Ok(())
    }

    fn integrate(&self, _: usize, x: &[f64], dx: &[f64], out: &mut [f64]) {
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        let (q, v) = out.split_at_mut(nq);
        integrate(&self.robot, &x[..nq], &dx[..n], q);
        for j in 0..n {
            v[j] = x[nq + j] + dx[n + j];
        }
    }

    fn difference(&self, _: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        let (q, v) = out.split_at_mut(n);
        difference(&self.robot, &b[..nq], &a[..nq], q);
        for j in 0..n {
            v[j] = a[nq + j] - b[nq + j];
        }
    }

    fn transport(&self, _: usize, a: &[f64], b: &[f64], s: &mut MultibodySpace, out: &mut Mat) -> bool {
        if !self.robot.has_free_flyer() {
            return false;
        }
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        difference_jacobians(&self.robot, &b[..nq], &a[..nq], &mut s.by_other, &mut s.by_q);
        out.reset(2 * n, 2 * n);
        for i in 0..n {
            out.col_mut(i)[..n].copy_from_slice(&s.by_q[n * i..n * (i + 1)]);
            out[(n + i, n + i)] = 1.0;
        }
        true
    }

    fn constrain_parameters(&self, theta: &[f64], out: &mut super::ParameterModel) {
        for (row, &(i, bound)) in self.lower.iter().enumerate() {
            out.inequality_values[row] = theta[i] - bound;
            out.inequalities[(i, row)] = 1.0;
        }
    }
}

#[cfg(test)]
mod tests;
