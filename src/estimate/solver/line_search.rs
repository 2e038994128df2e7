//! How much of a step is taken, and what it is measured by.

use super::super::problem::EstimationProblem;
use super::options::Rollout;
use super::{Solver, inner};

/// Part of the promised decrease that a step has to keep.
const ARMIJO: f64 = 0.1;
/// Weight of a merit in the mean of the past ones, relative to that of the next.
const FADE: f64 = 0.5;
/// Halvings of the step length.
const HALVINGS: i32 = 12;

/// What a step is measured by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    /// What its merit is compared with.
    pub(super) reference: f64,
    /// Slope of the merit along it.
    pub(super) promised: f64,
    /// nu.
    pub(super) penalty: f64,
    /// Violation before it.
    pub(super) violation: f64,
    /// Nothing but the violation is left to be reduced: a step that does not is none.
    pub(super) closing: bool,
}

/// A step that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// Its length.
    pub(super) length: f64,
    /// The merit behind it, where it was judged by one.
    pub(super) merit: Option<f64>,
}

impl Goal {
    /// Largest violation behind a step of this length with which gaps count as not having grown.
    fn most(&self, length: f64) -> f64 {
        self.violation * if self.closing { 1.0 - ARMIJO * length } else { 1.0 }
    }
}

impl<P: EstimationProblem> Solver<'_, P> {
    /// What a step's merit is compared with: the present merit, or the mean of the last ones, the older the less they count,
    /// if that is larger. (The largest of the last ones, as is usual, would let a step undo all that has been gained
    /// since the guess, whose gaps are the largest of all.)
    pub(super) fn reference(&self, past: &[(f64, f64)], now: usize, known: usize, penalty: f64) -> f64 {
        let merit = |i: usize| past[i].0 + penalty * past[i].1;
        let (mut sum, mut weights, mut weight) = (0.0, 0.0, 1.0);
        for age in 0..known {
            sum += weight * merit((now + past.len() - age) % past.len());
            weights += weight;
            weight *= FADE;
        }
        (sum / weights).max(merit(now))
    }

    /// Halves the step until the merit falls enough; takes the step and returns its length. It starts no longer than the
    /// parameters' tangent can be trusted: the whole step, gaps included, since parameters that are held back alone let the
    /// trajectory close its gaps around them, far from where it belongs. (Only with [`SolverOptions::marginal`]: without a prior, a
    /// direction that the data do not tell of may ask for any step, and other directions would wait for it.)
    ///
    /// A linear step ([`Rollout::Multiple`]) leaves gaps of second order, and its merit is no judge of them: with little
    /// weight on gaps they grow from one step to the next while the cost falls, with much of it good steps are turned down
    /// (Maratos' effect). So where a linear step leaves more of them than there were, the same step is tried with the
    /// dynamics integrated under its feedback, which is its correction of second order, and judged by that. The linear step need not be finished
    /// for that.
    pub(super) fn line_search(&mut self, goal: Goal, trials: &mut usize) -> Option<Taken> {
        let open = self.options.feasibility * self.records.len() as f64;
        let bounded = self.options.marginal;
        let strain = if bounded { self.problem.strain(&self.now.theta, &self.step.theta) } else { 0.0 };
        let longest = 1.0 / strain.max(1.0);
        for halving in 0..HALVINGS {
            let length = longest * 0.5f64.powi(halving);
            let most = goal.most(length).max(open);
            let mut take = self.trial(self.options.rollout, length, goal, most, trials);
            if self.options.rollout == Rollout::Multiple && take.is_none() {
                take = self.trial(Rollout::Feasible, length, goal, f64::INFINITY, trials);
                if take.is_none() {
                    // Where it cannot be integrated at all, the linear step is all there is.
                    take = self.trial(Rollout::Multiple, length, goal, f64::INFINITY, trials);
                }
            }
            if let Some((merit, true)) = take {
                self.take_trial();
                return Some(Taken { length, merit: Some(merit) });
            }
        }
        None
    }

    /// The merit behind a step of this length, and whether it is good enough; nothing where the model is not defined, or a linear step violates more than `most`.
    fn trial(
        &mut self,
        rollout: Rollout,
        length: f64,
        goal: Goal,
        most: f64,
        trials: &mut usize,
    ) -> Option<(f64, bool)> {
        *trials += 1;
        let (cost, violation) = self.try_step(rollout, length, most)?;
        let merit = cost + self.marginal.cost(self.problem, &self.theta) + goal.penalty * violation;
        let least = ARMIJO * length * goal.promised.min(0.0);
        let open = self.options.feasibility * self.records.len() as f64;
        let good = merit <= goal.reference + least + 1e-13 * goal.reference.abs();
        Some((merit, good && (!goal.closing || violation <= goal.most(length).max(open))))
    }

    /// Takes the whole step of scoring, or as much of it as the model's domain allows. (What it opens of gaps, the
    /// trajectory's own steps close, and whether it was good only the slope behind it tells.)
    pub(super) fn take_whole(&mut self, trials: &mut usize) -> Option<Taken> {
        for halving in 0..HALVINGS {
            *trials += 1;
            let length = 0.5f64.powi(halving);
            if self.try_step(self.options.rollout, length, f64::INFINITY).is_some() {
                self.take_trial();
                return Some(Taken { length, merit: None });
            }
        }
        None
    }

    /// The trial step becomes the present trajectory.
    fn take_trial(&mut self) {
        for (k, record) in self.records.iter_mut().enumerate() {
            let record = inner(record);
            std::mem::swap(&mut self.now.xs[k], &mut record.x);
            std::mem::swap(&mut self.now.us[k], &mut record.u);
        }
        std::mem::swap(&mut self.now.theta, &mut self.theta);
    }
}
