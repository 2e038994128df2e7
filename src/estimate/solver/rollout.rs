//! The three ways to try a step.

use rayon::prelude::*;

use super::{Lane, Rollout, Slot, Solver, each_stage};
use crate::estimate::dense::axpy;
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{Problem, Trajectory};

impl<P: Problem> Solver<'_, P> {
    /// Rolls out a trial step; its cost and violation, or nothing where the model is not defined.
    pub(super) fn try_step(&mut self, length: f64) -> Option<(f64, f64)> {
        self.trial.theta.copy_from_slice(&self.now.theta);
        axpy(length, &self.step.theta, &mut self.trial.theta);
        match self.options.rollout {
            Rollout::Multiple => self.move_all(length),
            Rollout::Feasible => self.integrate_through(length, 1.0 - length),
            Rollout::Single => self.integrate_through(length, 0.0),
        }
        self.problem.constrain_parameters(&self.trial.theta, &mut self.constraints);
        let totals = self.totals().ok().filter(|(c, v)| c.is_finite() && v.is_finite());
        self.problem.constrain_parameters(&self.now.theta, &mut self.constraints);
        totals
    }

    /// Two parallel loops: states and inputs along the step, then gaps and costs.
    fn move_all(&mut self, length: f64) {
        let (problem, now, step) = (self.problem, &self.now, &self.step);
        let trial = &mut self.trial;
        let update = |k: usize, x: &mut [f64], u: &mut [f64], dx: &mut [f64]| {
            for (out, d) in dx.iter_mut().zip(&step.xs[k]) {
                *out = length * d;
            }
            problem.integrate(k, &now.xs[k], dx, x);
            u.copy_from_slice(&now.us[k]);
            axpy(length, &step.us[k], u);
        };
        // The model's gradient is not needed again before the next linearisation; the gap is, so dx has its own place.
        if self.options.parallel {
            let pairs = trial.xs.par_iter_mut().zip(&mut trial.us).zip(&mut self.slots);
            pairs.enumerate().with_min_len(32).for_each(|(k, ((x, u), slot))| {
                slot.scratch_for_tangent(step.xs[k].len());
                update(k, x, u, &mut slot.gap);
            });
        } else {
            for (k, slot) in self.slots.iter_mut().enumerate() {
                slot.scratch_for_tangent(step.xs[k].len());
                update(k, &mut trial.xs[k], &mut trial.us[k], &mut slot.gap);
            }
        }
        let trial = &self.trial;
        each_stage(&mut self.lanes, &mut self.slots, self.options.parallel, |k, lane, slot| {
            evaluate_stage(problem, trial, k, lane, slot)
        });
    }

    /// Integrates stage after stage with feedback; each gap keeps the share `keep` of what it was.
    fn integrate_through(&mut self, length: f64, keep: f64) {
        let nx = self.step.xs[0].len();
        self.slots[0].scratch_for_tangent(nx);
        for (out, d) in self.slots[0].gap.iter_mut().zip(&self.step.xs[0]) {
            *out = length * d;
        }
        self.problem.integrate(0, &self.now.xs[0], &self.slots[0].gap, &mut self.trial.xs[0]);
        for k in 0..self.slots.len() {
            let (slot, lane) = (&mut self.slots[k], &mut self.lanes[0]);
            slot.scratch_for_tangent(slot.node.size.tangent);
            self.problem.difference(k, &self.trial.xs[k], &self.now.xs[k], &mut slot.gap);
            let u = &mut self.trial.us[k];
            slot.node.policy(&slot.gap, &self.step.theta, length, &mut self.whole, u);
            axpy(1.0, &self.now.us[k], u);
            if let Err(reason) =
                self.problem.evaluate(k, self.trial.at(k), &mut lane.workspace, &mut slot.values)
            {
                lane.failure = Some(EstimateError::Stage { stage: k, reason });
                return;
            }
            slot.cost = slot.values.cost;
            slot.violation = slot.values.constraints.iter().map(|h| h.abs()).sum();
            if k + 1 < self.trial.xs.len() {
                // The model's gap may have absorbed a shift of the input; the raw one is kept beside it.
                let raw = slot.node.raw_gap();
                slot.gap.clear();
                slot.gap.extend(raw.iter().map(|g| -keep * g));
                slot.violation += slot.gap.iter().map(|g| g.abs()).sum::<f64>();
                self.problem.integrate(k + 1, &slot.values.next, &slot.gap, &mut self.trial.xs[k + 1]);
            }
        }
    }
}

impl Slot {
    /// Makes `gap` a tangent of this stage's own state for a while.
    fn scratch_for_tangent(&mut self, tangent: usize) {
        self.gap.clear();
        self.gap.resize(tangent, 0.0);
    }
}

fn evaluate_stage<P: Problem>(
    problem: &P,
    trial: &Trajectory,
    k: usize,
    lane: &mut Lane<P::Workspace>,
    slot: &mut Slot,
) {
    if let Err(reason) = problem.evaluate(k, trial.at(k), &mut lane.workspace, &mut slot.values) {
        lane.failure.get_or_insert(EstimateError::Stage { stage: k, reason });
        return;
    }
    slot.cost = slot.values.cost;
    slot.violation = slot.values.constraints.iter().map(|h| h.abs()).sum();
    if let Some(next) = trial.xs.get(k + 1) {
        slot.scratch_for_tangent(slot.node.next);
        problem.difference(k + 1, &slot.values.next, next, &mut slot.gap);
        slot.violation += slot.gap.iter().map(|g| g.abs()).sum::<f64>();
    }
}
