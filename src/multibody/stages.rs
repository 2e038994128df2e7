//! Costs of a stage, and its linearisation: intervals in both forms, impacts.

use super::MultibodyProblem;
use super::contacts::Stage;
use super::mechanics::{Interval, Mechanics};
use super::observations::Watch;
use super::parameters::JointParameter;
use super::volume::VolumeSpace;
use crate::estimate::problem::Point;
use crate::estimate::stage::StageModel;
use crate::inertia::INERTIAL;
use crate::linear::dense::{Mat, add_product_lower, axpy, dot};
use crate::robot::configuration::{difference, difference_jacobians, integrate, integrate_jacobians};

impl MultibodyProblem {
    /// Position residual x_q (-) measured, into `out`.
    fn position_error(&self, sample: usize, at: Point<'_>, out: &mut [f64]) {
        let (q, _) = at.x.split_at(self.robot.nq());
        difference(&self.robot, &self.samples[sample].q, q, out);
    }

    /// Costs of measurements and priors.
    pub(super) fn cost(&self, k: usize, at: Point<'_>, error: &mut [f64]) -> f64 {
        let (w, stage, n) = (&self.weights, self.schedule.stages[k], self.robot.nv());
        let mut cost = 0.0;
        if stage.observed {
            let s = &self.samples[stage.sample];
            self.position_error(stage.sample, at, error);
            let v = &at.x[self.robot.nq()..];
            let first = |j: usize| if k == 0 { w.first[j] } else { 0.0 };
            for j in 0..n {
                let [seen_q, seen_dq] = self.seen(stage.sample, j);
                cost += (seen_q * w.q[j] + first(j)) * error[j].powi(2);
                cost += (seen_dq * w.dq[j] + first(n + j)) * (v[j] - s.dq[j]).powi(2);
            }
        }
        if k == 0 {
            let prior = at.theta.iter().zip(&self.prior).zip(&w.theta);
            cost += prior.map(|((t, m), w)| w * (t - m).powi(2)).sum::<f64>();
        }
        0.5 * cost
    }

    pub(super) fn add_costs(&self, k: usize, at: Point<'_>, s: &mut MultibodySpace, m: &mut StageModel) {
        let (w, stage, n, nu) = (&self.weights, self.schedule.stages[k], self.robot.nv(), m.nu);
        if stage.observed {
            let sample = &self.samples[stage.sample];
            self.position_error(stage.sample, at, &mut s.error);
            let (q, v) = at.x.split_at(self.robot.nq());
            let first = |j: usize| if k == 0 { w.first[j] } else { 0.0 };
            if self.robot.has_free_flyer() {
                difference_jacobians(&self.robot, &sample.q, q, &mut s.by_other, &mut s.by_q);
            }
            for j in 0..n {
                let [seen_q, seen_dq] = self.seen(stage.sample, j);
                let weight = seen_q * w.q[j] + first(j);
                if self.robot.has_free_flyer() && j < 6 && weight > 0.0 {
                    s.row.clear();
                    s.row.resize(m.n(), 0.0);
                    s.row[nu..nu + n].copy_from_slice(&s.by_q[n * j..n * (j + 1)]);
                    m.add_residual(s.error[j], &s.row, weight);
                } else {
                    m.add_direct(s.error[j], nu + j, weight);
                }
                m.add_direct(v[j] - sample.dq[j], nu + n + j, seen_dq * w.dq[j] + first(n + j));
            }
        }
        if k == 0 {
            for i in 0..at.theta.len() {
                m.add_direct(at.theta[i] - self.prior[i], nu + 2 * n + i, w.theta[i]);
            }
        }
    }

    /// Linearises an interval whose inputs are noise; the row of `solution` at which the acceleration's begin.
    pub(super) fn forward_step(
        &self,
        interval: Interval<'_>,
        at: Point<'_>,
        memory: &mut Vec<f64>,
        s: &mut MultibodySpace,
        m: &mut StageModel,
    ) -> Result<usize, String> {
        self.add_noise(&s.mechanics.parameters, interval, at.u, (&mut s.row, m));
        let before = s.mechanics.solve_derivatives(self, interval, at, memory)?;
        let n = self.robot.nv();
        let width = m.n();
        for i in 0..n {
            let row = &s.mechanics.solution[width * (before + i)..][..width];
            m.jac.col_mut(n + i).copy_from_slice(row);
        }
        Ok(before)
    }

    /// Linearises an interval whose inputs are acceleration and forces, in terms of the noise z = dw: with K the matrix
    /// of (R_d, R_c) by (a, lambda), the constraints hold for d(a, lambda) = K^-1 (z - R_d,x dx - R_d,t dtheta, -R_c -
    /// R_c,x dx). So the Hessian of the noise stays diagonal, and K^-1 is all that has to be computed; the nullspace
    /// method serves where K is singular. The row of `solution` at which the acceleration's begin, if not.
    pub(super) fn inverse_step(
        &self,
        interval: Interval<'_>,
        at: Point<'_>,
        s: &mut MultibodySpace,
        m: &mut StageModel,
    ) -> Result<Option<usize>, String> {
        let n = self.robot.nv();
        let forces = at.u.len() - n;
        s.mechanics.take(self, interval, at.u);
        s.mechanics.differentiate(self, interval)?;
        if !at.theta.is_empty() {
            s.mechanics.differentiate_parameters(self, at.theta, interval.tau);
        }
        if !s.mechanics.invert(self) {
            self.constrained_step(interval, at, s, m);
            return Ok(None);
        }
        m.substitute(n);
        let (mechanics, width) = (&s.mechanics, m.n());
        self.add_noise(&mechanics.parameters, interval, &mechanics.value[..n], (&mut s.row, m));
        // Forces come first in `solution`, accelerations in the input.
        for i in 0..n + forces {
            let input = if i < forces { n + i } else { i - forces };
            m.substitution.rows.col_mut(input).copy_from_slice(&mechanics.solution[width * i..][..width]);
            m.substitution.shift[input] = mechanics.newton[i];
        }
        for i in 0..n {
            m.jac.col_mut(n + i).copy_from_slice(&mechanics.solution[width * (forces + i)..][..width]);
            m.substitution.drift[n + i] = mechanics.newton[forces + i];
        }
        Ok(Some(forces))
    }

    /// An interval of the inverse form with its constraints as equations of the stage.
    fn constrained_step(
        &self,
        interval: Interval<'_>,
        at: Point<'_>,
        s: &mut MultibodySpace,
        m: &mut StageModel,
    ) {
        let n = self.robot.nv();
        let forces = at.u.len() - n;
        let nu = at.u.len();
        let mechanics = &s.mechanics;
        let copy = |i: usize, row: &mut [f64]| {
            let part = n * i..n * (i + 1);
            row[..n].copy_from_slice(&mechanics.by_a[part.clone()]);
            row[nu..nu + n].copy_from_slice(&mechanics.by_q[part.clone()]);
            row[nu + n..nu + 2 * n].copy_from_slice(&mechanics.by_v[part]);
        };
        // All residuals at once: H += J'W J.
        s.rows.reset(m.n(), n);
        for i in 0..n {
            let row = s.rows.col_mut(i);
            copy(i, row);
            for r in 0..forces {
                row[n + r] = -mechanics.row(self, interval.phase, r)[i];
            }
            for t in 0..at.theta.len() {
                row[nu + 2 * n + t] = mechanics.effect[(i, t)];
            }
            let (noise, weight) = (mechanics.value[i], self.force_weight(interval.sample, i));
            let root = weight.sqrt();
            let theta = at.theta.len();
            let residual = self.refer_to_sensor(&mechanics.parameters, interval, i, noise, (theta, row));
            row.iter_mut().for_each(|x| *x *= root);
            axpy(root * residual, row, &mut m.grad);
            m.cost += 0.5 * weight * residual * residual;
        }
        add_product_lower(&mut m.hess, 1.0, s.rows.below(0), s.rows.below(0));
        for r in 0..forces {
            let row = m.con.col_mut(r);
            copy(n + r, row);
            row[n + r] = self.schedule.contacts.compliance;
            m.con_value[r] = mechanics.value[n + r];
        }
        for i in 0..n {
            m.jac[(i, n + i)] = 1.0;
        }
    }

    /// Turns rows of da in the velocity's part of the Jacobian into dv' = dv + h da and dq'.
    pub(super) fn finish_step(&self, h: f64, s: &mut MultibodySpace, m: &mut StageModel) {
        let (robot, n, nu) = (&*self.robot, self.robot.nv(), m.nu);
        let floating = robot.has_free_flyer();
        if floating {
            integrate_jacobians(robot, &s.shift, &mut s.by_q, &mut s.by_v);
        }
        for i in 0..n {
            if floating && i < 6 {
                for c in 0..6 {
                    let (turned, slope) = (s.by_q[n * i + c], s.by_v[n * i + c]);
                    s.row.clear();
                    s.row.extend_from_slice(m.jac.col(n + c));
                    let shift = m.jac.col_mut(i);
                    axpy(0.5 * h * h * slope, &s.row, shift);
                    shift[nu + c] += turned;
                    shift[nu + n + c] += h * slope;
                }
            } else {
                s.row.clear();
                s.row.extend_from_slice(m.jac.col(n + i));
                let shift = m.jac.col_mut(i);
                axpy(0.5 * h * h, &s.row, shift);
                shift[nu + i] += 1.0;
                shift[nu + n + i] += h;
            }
        }
        for i in n..2 * n {
            let row = m.jac.col_mut(i);
            row.iter_mut().for_each(|x| *x *= h);
            row[nu + i] += 1.0;
        }
        if m.substitution.active {
            let (by_q, by_v) = m.substitution.drift.split_at_mut(n);
            for i in 0..n {
                let along =
                    if floating && i < 6 { dot(&s.by_v[n * i..n * i + 6], &by_v[..6]) } else { by_v[i] };
                by_q[i] = 0.5 * h * h * along;
            }
            by_v.iter_mut().for_each(|x| *x *= h);
        }
    }

    /// Where the log goes on behind a gap: the measured state there (+) u. It has nothing to do with the state before.
    pub(super) fn leap(&self, stage: Stage, u: &[f64], s: &mut MultibodySpace, next: &mut [f64]) {
        let after = &self.samples[stage.sample + 1];
        s.landing.clear();
        s.landing.extend(after.q.iter().chain(&after.dq));
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        integrate(&self.robot, &s.landing[..nq], &u[..n], &mut next[..nq]);
        for j in 0..n {
            next[nq + j] = s.landing[nq + j] + u[n + j];
        }
    }

    /// The derivative of that by u.
    pub(super) fn leap_slopes(&self, u: &[f64], s: &mut MultibodySpace, m: &mut StageModel) {
        let n = self.robot.nv();
        (0..2 * n).for_each(|i| m.jac[(i, i)] = 1.0);
        if self.robot.has_free_flyer() {
            integrate_jacobians(&self.robot, &u[..n], &mut s.by_q, &mut s.by_v);
            for i in 0..6 {
                m.jac.col_mut(i)[..6].copy_from_slice(&s.by_v[n * i..n * i + 6]);
            }
        }
    }

    /// Linearises an impact.
    pub(super) fn reset(
        &self,
        stage: Stage,
        at: Point<'_>,
        s: &mut MultibodySpace,
        m: &mut StageModel,
        next: &mut [f64],
    ) -> Result<(), String> {
        let (robot, map) = (&*self.robot, &self.map);
        let (n, nq) = (robot.nv(), robot.nq());
        let (q, v) = at.x.split_at(nq);
        let wide = INERTIAL * robot.bodies();
        let (after, slopes) = s.mechanics.impact(self, (q, v), stage.phase, true)?;
        next[..nq].copy_from_slice(q);
        next[nq..].copy_from_slice(after);
        for i in 0..n {
            m.jac[(i, i)] = 1.0;
            let row = m.jac.col_mut(n + i);
            row[..n].copy_from_slice(&slopes.by_q.motion[n * i..n * (i + 1)]);
            row[n..2 * n].copy_from_slice(&slopes.by_v.motion[n * i..n * (i + 1)]);
            for (b, &(body, _)) in map.bodies.iter().enumerate() {
                let (block, at) = (map.block(at.theta, b), INERTIAL * b);
                let physical = &slopes.by_theta.motion[wide * i + INERTIAL * body..][..INERTIAL];
                for c in 0..INERTIAL {
                    let column = block.column(c);
                    row[2 * n + at + c] = physical.iter().zip(column.iter()).map(|(x, p)| x * p).sum();
                }
            }
            for (t, &(j, which)) in map.joints.iter().enumerate() {
                if which == JointParameter::Armature {
                    let c = robot.v_index(j);
                    let jump = next[nq + c] - v[c];
                    row[2 * n + INERTIAL * map.bodies.len() + t] = -slopes.by_tau.motion[n * i + c] * jump;
                }
            }
        }
        Ok(())
    }
}

/// Scratch space of one thread.
#[derive(Debug)]
pub struct MultibodySpace {
    pub(super) mechanics: Mechanics,
    pub(super) watch: Watch,
    pub(super) volume: VolumeSpace,
    pub(super) error: Vec<f64>,
    pub(super) row: Vec<f64>,
    /// Scaled gradients of residuals.
    rows: Mat,
    /// h v + h^2 a / 2.
    shift: Vec<f64>,
    pub(super) by_q: Vec<f64>,
    by_v: Vec<f64>,
    pub(super) by_other: Vec<f64>,
    /// The measured state behind a gap.
    landing: Vec<f64>,
}

impl MultibodySpace {
    pub(super) fn new(problem: &MultibodyProblem) -> Self {
        let n = problem.robot.nv();
        Self {
            mechanics: Mechanics::new(problem),
            watch: Watch::new(&problem.robot),
            volume: VolumeSpace::default(),
            error: vec![0.0; n],
            row: Vec::with_capacity(
                3 * n + problem.map.len() + 6 * problem.schedule.contacts.constraints.len(),
            ),
            rows: Mat::zeros(0, 0),
            shift: vec![0.0; n],
            by_q: vec![0.0; n * n],
            by_v: vec![0.0; n * n],
            by_other: vec![0.0; n * n],
            landing: Vec::new(),
        }
    }

    /// The next state from the acceleration.
    pub(super) fn advance(&mut self, problem: &MultibodyProblem, at: Interval<'_>, next: &mut [f64]) {
        let (robot, h) = (&*problem.robot, at.step);
        let (next_q, next_v) = next.split_at_mut(robot.nq());
        for (j, a) in self.mechanics.acceleration.iter().enumerate() {
            self.shift[j] = h * at.v[j] + 0.5 * h * h * a;
            next_v[j] = at.v[j] + h * a;
        }
        integrate(robot, at.q, &self.shift, next_q);
    }
}
