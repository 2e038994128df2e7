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

use super::qp::{self, LinearRow, Matrix, QpSolution, QuadraticProgram, Vector, inner};
use std::time::{Duration, Instant};

mod problem;

pub use super::qp::MAX_DIMENSION;
pub use problem::*;

/// Minimises `program` from `start` (clamped to the box). Asks for memory only where `workspace` has not seen as many rows.
///
/// # Errors
/// [`NlpError`] when the dimension, the start or the size of an evaluation is wrong; never because of the values.
pub fn solve<Q: NonlinearProgram>(
    program: &mut Q,
    start: &[f64],
    options: &NlpOptions,
    workspace: &mut NlpWorkspace,
) -> Result<Solution, NlpError> {
    let n = program.dimension();
    if n == 0 || n > MAX_DIMENSION {
        return Err(NlpError::Dimension(n));
    }
    if start.len() != n || start.iter().any(|x| !x.is_finite()) {
        return Err(NlpError::Start { start: start.to_vec(), expected: n });
    }
    let mut meter = Meter { program, options, n, best: None, evaluations: 0, spent: Duration::ZERO };
    let k = Vector::from_fn(|j, _| start.get(j).map_or(0.0, |x| x.clamp(-1.0, 1.0)));
    meter.evaluate(&k, &mut workspace.here)?;
    workspace.reserve();
    let mut search = Search::new(n, k, workspace, options);
    let stopped = if search.space.here.usable { search.run(&mut meter)? } else { Stopped::Stalled };
    Ok(Solution {
        best_accepted: meter.best,
        worst_row: search.space.here.worst_row(),
        k: point(&search.k, n),
        cost: search.space.here.at.cost,
        iterations: search.iterations,
        evaluations: meter.evaluations,
        stopped,
    })
}

/// The first `n` entries.
fn point(k: &Vector, n: usize) -> SearchPoint {
    k.iter().copied().take(n).collect()
}

/// The program with its accounts: time, count, and the best proven point.
struct Meter<'a, Q: NonlinearProgram> {
    program: &'a mut Q,
    options: &'a NlpOptions,
    n: usize,
    best: Option<Accepted>,
    evaluations: usize,
    spent: Duration,
}

/// Storage of a search, kept from one to the next.
#[derive(Debug, Clone, Default)]
pub struct NlpWorkspace {
    here: Local,
    trial: Local,
    second: Local,
    /// Rows of the quadratic model: index in the evaluation, and the linear row.
    chosen: Vec<usize>,
    linear: Vec<LinearRow>,
    /// Multipliers of the model's step, by index in the evaluation.
    multipliers: Vec<(usize, f64)>,
    qp: qp::QpWorkspace,
    /// For the least violation: the model's multipliers stay.
    spare: qp::QpWorkspace,
}

impl NlpWorkspace {
    /// Asks for all that later iterations can need, given the first evaluation.
    fn reserve(&mut self) {
        let Self { here, trial, second, chosen, linear, multipliers, qp, spare } = self;
        // Another point may have as many as there is room for.
        let rows = here.at.rows.capacity();
        for local in [trial, second] {
            local.at.rows.clear();
            local.at.rows.reserve(rows);
        }
        chosen.clear();
        chosen.reserve(rows);
        linear.clear();
        linear.reserve(rows);
        multipliers.clear();
        multipliers.reserve(rows);
        qp.reserve(rows);
        spare.reserve(rows);
    }
}

/// An evaluation in the solver's own terms.
#[derive(Debug, Clone, Default)]
struct Local {
    at: Evaluation,
    gradient: Vector,
    usable: bool,
}

impl<Q: NonlinearProgram> Meter<'_, Q> {
    /// Why no further evaluation may be started, if so.
    fn forbidden(&self) -> Option<Stopped> {
        if self.evaluations >= self.options.max_evaluations {
            return Some(Stopped::Exhausted);
        }
        let mean = (self.spent / self.evaluations.max(1) as u32).max(self.options.pace);
        self.options.deadline.filter(|&d| Instant::now() + mean > d).map(|_| Stopped::Deadline)
    }

    fn evaluate(&mut self, k: &Vector, out: &mut Local) -> Result<(), NlpError> {
        let n = self.n;
        let begin = Instant::now();
        self.program.evaluate(&k.as_slice()[..n], &mut out.at);
        self.spent += begin.elapsed();
        self.evaluations += 1;
        let e = &out.at;
        if e.cost_gradient.len() != n {
            let found = e.cost_gradient.len();
            return Err(NlpError::Evaluation { field: "cost_gradient", expected: n, found });
        }
        let row_ok = |r: &Row| r.value.is_finite() && r.gradient[..n].iter().all(|x| x.is_finite());
        out.usable = e.cost.is_finite()
            && e.cost_gradient.iter().all(|x| x.is_finite())
            && e.cost_hessian.as_ref().is_none_or(|h| h.iter().all(|x| x.is_finite()))
            && e.rows.iter().all(row_ok);
        // A proof with an undefined cost is still a proof: it ranks last.
        let rank = |cost: f64| if cost.is_nan() { f64::INFINITY } else { cost };
        if e.proven && self.best.as_ref().is_none_or(|b| rank(e.cost) < rank(b.cost)) {
            self.best = Some(Accepted { k: point(k, n), cost: e.cost });
            self.program.keep();
        }
        out.gradient = Vector::from_fn(|j, _| e.cost_gradient.get(j).copied().unwrap_or(0.0));
        Ok(())
    }
}

impl Local {
    /// Sum of the rows' violations of `value >= margin`.
    fn violation(&self, margin: f64) -> f64 {
        self.at.rows.iter().map(|r| (margin - r.value).max(0.0)).sum()
    }

    /// The row with this label, unless it is left out.
    fn row(&self, label: u32) -> Option<&Row> {
        let rows = &self.at.rows;
        rows.binary_search_by_key(&label, |row| row.label).ok().map(|i| &rows[i])
    }

    fn worst_row(&self) -> Option<(u32, f64)> {
        let rank = |r: &Row| if r.value.is_nan() { f64::NEG_INFINITY } else { r.value };
        self.at.rows.iter().min_by(|a, b| rank(a).total_cmp(&rank(b))).map(|r| (r.label, r.value))
    }
}

/// A solved model: the step and what it promises. The multipliers are in the workspace.
#[derive(Clone, Copy)]
struct Step {
    d: Vector,
    violation: f64,
    predicted: f64,
}

/// The iterate with its models.
struct Search<'a> {
    options: &'a NlpOptions,
    n: usize,
    k: Vector,
    space: &'a mut NlpWorkspace,
    curvature: Matrix,
    scaled: bool,
    penalty: f64,
    radius: f64,
    margin: f64,
    margin_step: f64,
    iterations: usize,
}

/// Which of two evaluations becomes the iterate.
#[derive(Clone, Copy)]
enum Candidate {
    /// The step's.
    Trial,
    /// That of its correction.
    Second,
}

/// Penalties beyond this no longer help in double precision: beside them a cost of order one keeps nine digits.
const LARGEST_PENALTY: f64 = 1e7;
/// The model must gain this share of the feasibility that a pure feasibility step would gain. Near 1 the penalty rises at
/// once and the cost no longer counts; near 0 the search stays infeasible for long.
const STEERING_SHARE: f64 = 0.3;
/// The largest trust-region radius: the whole box, whose sides are 2 long.
const WHOLE_BOX: f64 = 2.0;

impl<'a> Search<'a> {
    fn new(n: usize, k: Vector, space: &'a mut NlpWorkspace, options: &'a NlpOptions) -> Self {
        let slope = space.here.gradient.amax();
        let hessian = &space.here.at.cost_hessian;
        let scaled = hessian.is_some();
        let curvature = match hessian {
            Some(h) => (h + h.transpose()) * 0.5,
            None => Matrix::identity() * (slope / options.initial_radius).max(1e-6),
        };
        Self {
            penalty: slope.clamp(1.0, 1e3),
            radius: options.initial_radius.clamp(options.smallest_radius, WHOLE_BOX),
            margin: options.margin,
            margin_step: options.margin_step,
            options,
            n,
            k,
            space,
            curvature,
            scaled,
            iterations: 0,
        }
    }

    fn run<Q: NonlinearProgram>(&mut self, meter: &mut Meter<Q>) -> Result<Stopped, NlpError> {
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
            if let Some(stopped) = self.try_step(meter, &step)? {
                return Ok(stopped);
            }
        }
    }

    /// Tries the step, then, where the rows' curvature spoilt it, its second-order correction.
    fn try_step<Q: NonlinearProgram>(
        &mut self,
        meter: &mut Meter<Q>,
        step: &Step,
    ) -> Result<Option<Stopped>, NlpError> {
        let target = self.target(&step.d);
        meter.evaluate(&target, &mut self.space.trial)?;
        if !self.space.trial.usable {
            self.radius *= 0.25;
            return Ok(None);
        }
        self.learn(&target);
        let (here, trial) = (&self.space.here, &self.space.trial);
        let gain = self.merit(here) - self.merit(trial);
        let ratio = gain / step.predicted;
        let spoilt =
            self.penalty * (trial.violation(self.margin) - step.violation) > 0.5 * (step.predicted - gain);
        if ratio < 0.25 && spoilt {
            if let Some(stopped) = meter.forbidden() {
                self.settle(target, Candidate::Trial, ratio, &step.d);
                return Ok(Some(stopped));
            }
            let corrected = self.corrected(step);
            let second_target = self.target(&corrected);
            meter.evaluate(&second_target, &mut self.space.second)?;
            let second = &self.space.second;
            let second_ratio = (self.merit(&self.space.here) - self.merit(second)) / step.predicted;
            if second.usable && second_ratio > ratio.max(0.1) {
                self.settle(second_target, Candidate::Second, second_ratio, &corrected);
                return Ok(None);
            }
        }
        self.settle(target, Candidate::Trial, ratio, &step.d);
        Ok(None)
    }

    /// Moves if the gain deserves it and adapts the trust region.
    fn settle(&mut self, target: Vector, candidate: Candidate, ratio: f64, d: &Vector) {
        let length = d.amax();
        if ratio > 0.75 && length > 0.8 * self.radius {
            self.radius = (2.0 * self.radius).min(WHOLE_BOX);
        } else if ratio < 0.25 {
            self.radius = if ratio < 0.0 { 0.25 } else { 0.5 } * self.radius.min(length);
        }
        if ratio > 0.01 {
            self.k = target;
            let NlpWorkspace { here, trial, second, .. } = self.space;
            std::mem::swap(here, if matches!(candidate, Candidate::Trial) { trial } else { second });
        }
    }

    fn target(&self, d: &Vector) -> Vector {
        (self.k + d).map(|x| x.clamp(-1.0, 1.0))
    }

    fn merit(&self, local: &Local) -> f64 {
        local.at.cost + self.penalty * local.violation(self.margin)
    }

    /// The ends of the step: the box and the trust region.
    fn bounds(&self) -> (Vector, Vector) {
        let each =
            |end: &dyn Fn(f64) -> f64| Vector::from_fn(|j, _| if j < self.n { end(self.k[j]) } else { 0.0 });
        (each(&|x| (-1.0 - x).max(-self.radius)), each(&|x| (1.0 - x).min(self.radius)))
    }

    /// Chooses the rows that can be violated within the trust region, by their linear model.
    fn screen(&mut self, bounds: &(Vector, Vector)) {
        let NlpWorkspace { here, chosen, linear, .. } = &mut *self.space;
        let near = |r: &Row| {
            let fall = |j: usize| (-r.gradient[j] * bounds.0[j]).max(-r.gradient[j] * bounds.1[j]).max(0.0);
            r.value - self.margin < (0..self.n).map(fall).sum::<f64>()
        };
        chosen.clear();
        linear.clear();
        for (i, r) in here.at.rows.iter().enumerate().filter(|(_, r)| near(r)) {
            chosen.push(i);
            linear.push(LinearRow { value: r.value - self.margin, gradient: r.gradient });
        }
    }

    /// Solves the quadratic model, raising the penalty until it takes its share of the feasibility to be had.
    fn model_step(&mut self) -> Step {
        let bounds = self.bounds();
        self.screen(&bounds);
        let violated: f64 = self.space.linear.iter().map(|r| (-r.value).max(0.0)).sum();
        let tolerance = self.options.feasibility_tolerance;
        let mut solution = self.quadratic(&bounds);
        if violated > tolerance && solution.violation > tolerance {
            let least = self.least_violation(&bounds);
            let wanted = least + (1.0 - STEERING_SHARE) * (violated - least).max(0.0) + tolerance;
            while solution.violation > wanted && self.penalty < LARGEST_PENALTY {
                self.penalty *= 5.0;
                solution = self.quadratic(&bounds);
            }
        }
        let d = solution.step;
        let model = inner(&self.space.here.gradient, &d) + 0.5 * inner(&d, &(self.curvature * d));
        let predicted = self.penalty * (violated - solution.violation) - model;
        let NlpWorkspace { chosen, multipliers, qp, .. } = &mut *self.space;
        multipliers.clear();
        multipliers.extend(chosen.iter().copied().zip(qp.multipliers()));
        Step { d, violation: solution.violation, predicted }
    }

    fn quadratic(&mut self, bounds: &(Vector, Vector)) -> QpSolution {
        let NlpWorkspace { here, linear, qp, .. } = &mut *self.space;
        QuadraticProgram {
            dimension: self.n,
            hessian: &self.curvature,
            gradient: &here.gradient,
            rows: linear,
            lower: &bounds.0,
            upper: &bounds.1,
            penalty: self.penalty,
        }
        .solve(qp)
    }

    /// The least linearised violation in the trust region.
    fn least_violation(&mut self, (lower, upper): &(Vector, Vector)) -> f64 {
        let NlpWorkspace { linear, spare, .. } = &mut *self.space;
        let (hessian, gradient) = (Matrix::identity() * 1e-6, Vector::zeros());
        let (dimension, rows) = (self.n, &linear[..]);
        QuadraticProgram {
            dimension,
            hessian: &hessian,
            gradient: &gradient,
            rows,
            lower,
            upper,
            penalty: 1.0,
        }
        .solve(spare)
        .violation
    }

    /// The step of the model whose rows pass through their true values at the trial point, as far as they are known there.
    fn corrected(&mut self, step: &Step) -> Vector {
        let bounds = self.bounds();
        self.screen(&bounds);
        let NlpWorkspace { here, trial, chosen, linear, .. } = &mut *self.space;
        for (row, &i) in linear.iter_mut().zip(chosen.iter()) {
            if let Some(after) = trial.row(here.at.rows[i].label) {
                row.value += after.value - self.margin - row.at(&step.d.as_slice()[..self.n]);
            }
        }
        self.quadratic(&bounds).step
    }

    /// Whether the model has nothing more to offer.
    fn settled(&self, step: &Step) -> Option<Stopped> {
        let o = self.options;
        let here = &self.space.here;
        let small = step.d.amax() <= o.step_tolerance.min(0.5 * self.radius)
            || step.predicted <= o.cost_tolerance * (1.0 + here.at.cost.abs());
        if !small {
            return None;
        }
        let violation = here.violation(self.margin);
        if violation <= o.feasibility_tolerance {
            return Some(Stopped::Converged);
        }
        // Little is predicted of the violation that is left: it is stationary, unless rounding hides the gain.
        let gained = violation - step.violation;
        (gained <= 0.01 * violation || step.predicted <= 0.0).then_some(Stopped::Infeasible)
    }

    /// Asks more of the rows where they hold without a proof; false when that makes no sense.
    fn raise_margin(&mut self) -> bool {
        let here = &self.space.here.at;
        if here.proven || self.margin_step <= 0.0 || here.rows.is_empty() {
            return false;
        }
        self.margin += self.margin_step;
        self.margin_step *= 3.0;
        self.radius = self.radius.max(0.1 * self.options.initial_radius);
        // A fourth of the rows' natural scale is not a matter of tolerance any more.
        self.margin < 0.25
    }

    /// Damped BFGS update of the Lagrangian's curvature from the trial point at `target`.
    fn learn(&mut self, target: &Vector) {
        let NlpWorkspace { here, trial, multipliers, .. } = &*self.space;
        let s = target - self.k;
        let mut y = trial.gradient - here.gradient;
        for &(i, lambda) in multipliers {
            let before = &here.at.rows[i];
            let Some(after) = trial.row(before.label) else { continue };
            for j in 0..self.n {
                y[j] -= lambda * (after.gradient[j] - before.gradient[j]);
            }
        }
        let (ss, sy) = (inner(&s, &s), inner(&s, &y));
        if ss <= 1e-16 {
            return;
        }
        if !self.scaled {
            self.scaled = true;
            if sy > 1e-8 * ss.sqrt() * inner(&y, &y).sqrt() {
                self.curvature = Matrix::identity() * (inner(&y, &y) / sy).clamp(1e-6, 1e6);
            }
        }
        let bs = self.curvature * s;
        let sbs = inner(&s, &bs);
        if sbs <= 1e-12 * ss {
            // A flat model along s: lift it by the measured curvature.
            self.curvature += s * s.transpose() * (sy.max(1e-8 * ss) / (ss * ss));
            return;
        }
        let theta = if sy >= 0.2 * sbs { 1.0 } else { 0.8 * sbs / (sbs - sy) };
        let r = y * theta + bs * (1.0 - theta);
        let updated = self.curvature - bs * bs.transpose() / sbs + r * r.transpose() / inner(&s, &r);
        if updated.iter().all(|x| x.is_finite()) {
            self.curvature = (updated + updated.transpose()) * 0.5;
        }
    }
}

#[cfg(test)]
mod tests;
