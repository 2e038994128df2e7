//! Sequential quadratic programming for problems with few variables, thousands of rows and dear evaluations.
//!
//! minimise f(k) over k in \[-1, 1\]^n subject to g_i(k) >= 0, n <= [`MAX_DIMENSION`].
//!
//! The method is the exact-penalty one of Fletcher: each iteration minimises a convex quadratic model of
//! f + rho sum max(0, -g_i) in the intersection of the box and a trust region ([`super::qp`]), so an infeasible start
//! and contradictory rows need no special phase. rho is steered: it grows until the model gains a fixed share of the
//! feasibility that is to be had. Curvature is damped BFGS on the Lagrangian.
//!
//! Nothing here is trusted, and the solver knows it: a point counts only when the program has handed out a *proof*
//! for it. The cheapest proven point is kept and returned, however the iteration ends. Where the iteration converges
//! to a point whose rows hold but which is not proven, the rows are asked to hold with a growing margin.

use super::qp::{LinearRow, QpSolution, QuadraticProgram};
use nalgebra::{DMatrix, DVector};
use std::time::{Duration, Instant};

mod problem;

pub use super::qp::MAX_DIMENSION;
pub use problem::*;

/// Minimises `program` from `start` (clamped to the box).
///
/// # Errors
/// [`NlpError`] when the dimension, the start or the size of an evaluation is wrong; never because of the values.
pub fn solve<Q: Program>(
    program: &mut Q,
    start: &[f64],
    options: &Options,
) -> Result<Solution<Q::Proof>, NlpError> {
    let n = program.dimension();
    if n == 0 || n > MAX_DIMENSION {
        return Err(NlpError::Dimension(n));
    }
    if start.len() != n || start.iter().any(|x| !x.is_finite()) {
        return Err(NlpError::Start { start: start.to_vec(), expected: n });
    }
    let mut meter = Meter { program, options, n, best: None, evaluations: 0, spent: Duration::ZERO };
    let k = DVector::from_iterator(n, start.iter().map(|x| x.clamp(-1.0, 1.0)));
    let here = meter.evaluate(&k)?;
    let mut search = Search::new(k, here, options);
    let stopped = if search.here.usable { search.run(&mut meter)? } else { Stopped::Stalled };
    Ok(Solution {
        best_accepted: meter.best,
        worst_row: search.here.worst_row(),
        k: search.k.as_slice().to_vec(),
        cost: search.here.cost,
        iterations: search.iterations,
        evaluations: meter.evaluations,
        stopped,
    })
}

/// The program with its accounts: time, count, and the best proven point.
struct Meter<'a, Q: Program> {
    program: &'a mut Q,
    options: &'a Options,
    n: usize,
    best: Option<Accepted<Q::Proof>>,
    evaluations: usize,
    spent: Duration,
}

/// An evaluation in the solver's own terms.
struct Local {
    cost: f64,
    gradient: DVector<f64>,
    hessian: Option<DMatrix<f64>>,
    rows: Vec<Row>,
    proven: bool,
    usable: bool,
}

impl<Q: Program> Meter<'_, Q> {
    /// Why no further evaluation may be started, if so.
    fn forbidden(&self) -> Option<Stopped> {
        if self.evaluations >= self.options.max_evaluations {
            return Some(Stopped::Exhausted);
        }
        let mean = self.spent / self.evaluations.max(1) as u32;
        self.options.deadline.filter(|&d| Instant::now() + mean > d).map(|_| Stopped::Deadline)
    }

    fn evaluate(&mut self, k: &DVector<f64>) -> Result<Local, NlpError> {
        let begin = Instant::now();
        let e = self.program.evaluate(k.as_slice());
        self.spent += begin.elapsed();
        self.evaluations += 1;
        let n = self.n;
        if e.cost_gradient.len() != n {
            let found = e.cost_gradient.len();
            return Err(NlpError::Evaluation { field: "cost_gradient", expected: n, found });
        }
        if let Some(h) = e.cost_hessian.as_ref().filter(|h| h.shape() != (n, n)) {
            return Err(NlpError::Evaluation { field: "cost_hessian", expected: n * n, found: h.len() });
        }
        let row_ok = |r: &Row| r.value.is_finite() && r.gradient[..n].iter().all(|x| x.is_finite());
        let usable = e.cost.is_finite()
            && e.cost_gradient.iter().all(|x| x.is_finite())
            && e.cost_hessian.as_ref().is_none_or(|h| h.iter().all(|x| x.is_finite()))
            && e.rows.iter().all(row_ok);
        let proven = e.accepted.is_some();
        if let Some(proof) = e.accepted {
            // A proof with an undefined cost is still a proof: it ranks last.
            let rank = |cost: f64| if cost.is_nan() { f64::INFINITY } else { cost };
            if self.best.as_ref().is_none_or(|b| rank(e.cost) < rank(b.cost)) {
                self.best = Some(Accepted { k: k.as_slice().to_vec(), cost: e.cost, proof });
            }
        }
        let gradient = DVector::from_vec(e.cost_gradient);
        Ok(Local { cost: e.cost, gradient, hessian: e.cost_hessian, rows: e.rows, proven, usable })
    }
}

impl Local {
    /// Sum of the rows' violations of `value >= margin`.
    fn violation(&self, margin: f64) -> f64 {
        self.rows.iter().map(|r| (margin - r.value).max(0.0)).sum()
    }

    fn worst_row(&self) -> Option<(u32, f64)> {
        let rank = |r: &Row| if r.value.is_nan() { f64::NEG_INFINITY } else { r.value };
        self.rows.iter().min_by(|a, b| rank(a).total_cmp(&rank(b))).map(|r| (r.label, r.value))
    }
}

/// A solved model: the step, what it promises, and the multipliers by row of the evaluation.
struct Step {
    d: DVector<f64>,
    multipliers: Vec<(usize, f64)>,
    violation: f64,
    predicted: f64,
}

/// The iterate with its models.
struct Search<'a> {
    options: &'a Options,
    k: DVector<f64>,
    here: Local,
    curvature: DMatrix<f64>,
    scaled: bool,
    penalty: f64,
    radius: f64,
    margin: f64,
    margin_step: f64,
    iterations: usize,
}

/// Penalties beyond this no longer help in double precision.
const LARGEST_PENALTY: f64 = 1e7;
/// The model must gain this share of the feasibility that a pure feasibility step would gain.
const STEERING_SHARE: f64 = 0.3;
/// The largest trust-region radius: the whole box.
const WHOLE_BOX: f64 = 2.0;

impl<'a> Search<'a> {
    fn new(k: DVector<f64>, here: Local, options: &'a Options) -> Self {
        let n = k.len();
        let slope = here.gradient.amax();
        let scaled = here.hessian.is_some();
        let curvature = match &here.hessian {
            Some(h) => (h + h.transpose()) * 0.5,
            None => DMatrix::identity(n, n) * (slope / options.initial_radius).max(1e-6),
        };
        Self {
            penalty: slope.clamp(1.0, 1e3),
            radius: options.initial_radius.clamp(options.smallest_radius, WHOLE_BOX),
            margin: options.margin,
            margin_step: options.margin_step,
            options,
            k,
            here,
            curvature,
            scaled,
            iterations: 0,
        }
    }

    fn run<Q: Program>(&mut self, meter: &mut Meter<Q>) -> Result<Stopped, NlpError> {
        loop {
            let step = self.model_step();
            if let Some(stopped) = self.settled(&step) {
                if stopped == Stopped::Converged && self.raise_margin() {
                    continue;
                }
                return Ok(stopped);
            }
            if self.radius < self.options.smallest_radius {
                return Ok(Stopped::Stalled);
            }
            if let Some(stopped) = meter.forbidden() {
                return Ok(stopped);
            }
            self.iterations += 1;
            if let Some(stopped) = self.try_step(meter, step)? {
                return Ok(stopped);
            }
        }
    }

    /// Tries the step, then, where the rows' curvature spoilt it, its second-order correction.
    fn try_step<Q: Program>(
        &mut self,
        meter: &mut Meter<Q>,
        step: Step,
    ) -> Result<Option<Stopped>, NlpError> {
        let target = self.target(&step.d);
        let trial = meter.evaluate(&target)?;
        if !trial.usable {
            self.radius *= 0.25;
            return Ok(None);
        }
        self.learn(&step, &target, &trial);
        let gain = self.merit(&self.here) - self.merit(&trial);
        let ratio = gain / step.predicted;
        let spoilt =
            self.penalty * (trial.violation(self.margin) - step.violation) > 0.5 * (step.predicted - gain);
        if ratio < 0.25 && spoilt && self.same_rows(&trial) {
            if let Some(stopped) = meter.forbidden() {
                self.settle(target, trial, ratio, &step.d);
                return Ok(Some(stopped));
            }
            let corrected = self.corrected(&step, &trial);
            let second_target = self.target(&corrected);
            let second = meter.evaluate(&second_target)?;
            let second_ratio = (self.merit(&self.here) - self.merit(&second)) / step.predicted;
            if second.usable && second_ratio > ratio.max(0.1) {
                self.settle(second_target, second, second_ratio, &corrected);
                return Ok(None);
            }
        }
        self.settle(target, trial, ratio, &step.d);
        Ok(None)
    }

    /// Moves if the gain deserves it and adapts the trust region.
    fn settle(&mut self, target: DVector<f64>, trial: Local, ratio: f64, d: &DVector<f64>) {
        let length = d.amax();
        if ratio > 0.75 && length > 0.8 * self.radius {
            self.radius = (2.0 * self.radius).min(WHOLE_BOX);
        } else if ratio < 0.25 {
            self.radius = if ratio < 0.0 { 0.25 } else { 0.5 } * self.radius.min(length);
        }
        if ratio > 0.01 {
            self.k = target;
            self.here = trial;
        }
    }

    fn target(&self, d: &DVector<f64>) -> DVector<f64> {
        (&self.k + d).map(|x| x.clamp(-1.0, 1.0))
    }

    fn merit(&self, at: &Local) -> f64 {
        at.cost + self.penalty * at.violation(self.margin)
    }

    fn same_rows(&self, other: &Local) -> bool {
        let pairs = self.here.rows.iter().zip(&other.rows);
        self.here.rows.len() == other.rows.len() && pairs.clone().all(|(a, b)| a.label == b.label)
    }

    /// The ends of the step: the box and the trust region.
    fn bounds(&self) -> (DVector<f64>, DVector<f64>) {
        (self.k.map(|x| (-1.0 - x).max(-self.radius)), self.k.map(|x| (1.0 - x).min(self.radius)))
    }

    /// The rows that can be violated within the trust region, by their linear model, with their indices.
    fn screened(&self, bounds: &(DVector<f64>, DVector<f64>)) -> (Vec<usize>, Vec<LinearRow>) {
        let near = |r: &Row| {
            let fall = |j: usize| (-r.gradient[j] * bounds.0[j]).max(-r.gradient[j] * bounds.1[j]).max(0.0);
            r.value - self.margin < (0..self.k.len()).map(fall).sum()
        };
        let chosen = self.here.rows.iter().enumerate().filter(|(_, r)| near(r));
        chosen.map(|(i, r)| (i, LinearRow { value: r.value - self.margin, gradient: r.gradient })).unzip()
    }

    /// Solves the quadratic model, raising the penalty until it takes its share of the feasibility to be had.
    fn model_step(&mut self) -> Step {
        let bounds = self.bounds();
        let (indices, rows) = self.screened(&bounds);
        let violated: f64 = rows.iter().map(|r| (-r.value).max(0.0)).sum();
        let tolerance = self.options.feasibility_tolerance;
        let mut solution = self.quadratic(&rows, &bounds, self.penalty);
        if violated > tolerance && solution.violation > tolerance {
            let reachable = self.least_violation(&rows, &bounds);
            while solution.violation
                > reachable + (1.0 - STEERING_SHARE) * (violated - reachable).max(0.0) + tolerance
                && self.penalty < LARGEST_PENALTY
            {
                self.penalty *= 5.0;
                solution = self.quadratic(&rows, &bounds, self.penalty);
            }
        }
        let d = solution.step;
        let model = self.here.gradient.dot(&d) + 0.5 * d.dot(&(&self.curvature * &d));
        let predicted = self.penalty * (violated - solution.violation) - model;
        let multipliers = indices.into_iter().zip(solution.multipliers).collect();
        Step { d, multipliers, violation: solution.violation, predicted }
    }

    fn quadratic(
        &self,
        rows: &[LinearRow],
        bounds: &(DVector<f64>, DVector<f64>),
        penalty: f64,
    ) -> QpSolution {
        QuadraticProgram {
            hessian: &self.curvature,
            gradient: &self.here.gradient,
            rows,
            lower: &bounds.0,
            upper: &bounds.1,
            penalty,
        }
        .solve()
    }

    /// The least linearised violation in the trust region.
    fn least_violation(&self, rows: &[LinearRow], bounds: &(DVector<f64>, DVector<f64>)) -> f64 {
        let n = self.k.len();
        let hessian = DMatrix::identity(n, n) * 1e-6;
        let gradient = DVector::zeros(n);
        let (lower, upper) = (&bounds.0, &bounds.1);
        QuadraticProgram { hessian: &hessian, gradient: &gradient, rows, lower, upper, penalty: 1.0 }
            .solve()
            .violation
    }

    /// The step of the model whose rows pass through their true values at the trial point.
    fn corrected(&self, step: &Step, trial: &Local) -> DVector<f64> {
        let bounds = self.bounds();
        let (indices, mut rows) = self.screened(&bounds);
        for (row, &i) in rows.iter_mut().zip(&indices) {
            let at_trial = trial.rows[i].value - self.margin;
            row.value += at_trial - row.at(step.d.as_slice());
        }
        self.quadratic(&rows, &bounds, self.penalty).step
    }

    /// Whether the model has nothing more to offer.
    fn settled(&self, step: &Step) -> Option<Stopped> {
        let o = self.options;
        let small = step.d.amax() <= o.step_tolerance.min(0.5 * self.radius)
            || step.predicted <= o.cost_tolerance * (1.0 + self.here.cost.abs());
        if !small {
            return None;
        }
        let violation = self.here.violation(self.margin);
        if violation <= o.feasibility_tolerance {
            return Some(Stopped::Converged);
        }
        // Little is predicted of the violation that is left: it is stationary, unless rounding hides the gain.
        let gained = violation - step.violation;
        (gained <= 0.01 * violation || step.predicted <= 0.0).then_some(Stopped::Infeasible)
    }

    /// Asks more of the rows where they hold without a proof; false when that makes no sense.
    fn raise_margin(&mut self) -> bool {
        if self.here.proven || self.margin_step <= 0.0 || self.here.rows.is_empty() {
            return false;
        }
        self.margin += self.margin_step;
        self.margin_step *= 3.0;
        self.radius = self.radius.max(0.1 * self.options.initial_radius);
        // A fourth of the rows' natural scale is not a matter of tolerance any more.
        self.margin < 0.25
    }

    /// Damped BFGS update of the Lagrangian's curvature from a trial point.
    fn learn(&mut self, step: &Step, target: &DVector<f64>, trial: &Local) {
        let s = target - &self.k;
        let mut y = &trial.gradient - &self.here.gradient;
        for &(i, lambda) in &step.multipliers {
            let Some(after) = trial.rows.get(i).filter(|r| r.label == self.here.rows[i].label) else {
                continue;
            };
            for j in 0..s.len() {
                y[j] -= lambda * (after.gradient[j] - self.here.rows[i].gradient[j]);
            }
        }
        let (ss, sy) = (s.norm_squared(), s.dot(&y));
        if ss <= 1e-16 {
            return;
        }
        if !self.scaled {
            self.scaled = true;
            if sy > 1e-8 * s.norm() * y.norm() {
                let n = s.len();
                self.curvature = DMatrix::identity(n, n) * (y.norm_squared() / sy).clamp(1e-6, 1e6);
            }
        }
        let bs = &self.curvature * &s;
        let sbs = s.dot(&bs);
        if sbs <= 1e-12 * ss {
            // A flat model along s: lift it by the measured curvature.
            self.curvature += &s * s.transpose() * (sy.max(1e-8 * ss) / (ss * ss));
            return;
        }
        let theta = if sy >= 0.2 * sbs { 1.0 } else { 0.8 * sbs / (sbs - sy) };
        let r = &y * theta + &bs * (1.0 - theta);
        let updated = &self.curvature - &bs * bs.transpose() / sbs + &r * r.transpose() / s.dot(&r);
        if updated.iter().all(|x| x.is_finite()) {
            self.curvature = (&updated + updated.transpose()) * 0.5;
        }
    }
}

#[cfg(test)]
mod tests;
