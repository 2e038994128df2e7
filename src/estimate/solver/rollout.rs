//! The three ways to try a step.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::sweep::{block_length, inner, unlocked};
use super::{Lane, Rollout, Slot, Solver};
use crate::estimate::dense::axpy;
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{Point, Problem, Trajectory};

impl<P: Problem> Solver<'_, P> {
    /// Rolls out a trial step; its cost and violation, or nothing where the model is not defined.
    pub(super) fn try_step(&mut self, rollout: Rollout, length: f64) -> Option<(f64, f64)> {
        self.theta.copy_from_slice(&self.now.theta);
        axpy(length, &self.step.theta, &mut self.theta);
        match rollout {
            Rollout::Multiple => self.move_all(length),
            Rollout::Feasible => self.integrate_through(length, 1.0 - length),
            Rollout::Single => self.integrate_through(length, 0.0),
        }
        self.problem.constrain_parameters(&self.theta, &mut self.constraints);
        let totals = self.totals().ok().filter(|(c, v)| c.is_finite() && v.is_finite());
        self.problem.constrain_parameters(&self.now.theta, &mut self.constraints);
        totals
    }

    /// States and inputs along the step, gaps and costs, all stages in parallel.
    fn move_all(&mut self, length: f64) {
        let block = block_length(self.slots.len(), self.lanes.len());
        let along = Along {
            problem: self.problem,
            now: &self.now,
            step: &self.step,
            theta: &self.theta,
            slots: &self.slots,
            length,
        };
        *self.claimed.get_mut() = 0;
        let claimed = &self.claimed;
        if let [lane] = self.lanes.as_mut_slice() {
            along.range(lane, 0..self.slots.len());
        } else {
            self.lanes.par_iter_mut().with_max_len(1).for_each(|lane| along.blocks(lane, claimed, block));
        }
    }

    /// Integrates stage after stage with feedback; each gap keeps the share `keep` of what it was.
    fn integrate_through(&mut self, length: f64, keep: f64) {
        let lane = &mut self.lanes[0];
        lane.tangent.clear();
        lane.tangent.extend(self.step.xs[0].iter().map(|d| length * d));
        let first = inner(&mut self.slots[0]);
        self.problem.integrate(0, &self.now.xs[0], &lane.tangent, &mut first.x);
        for k in 0..self.slots.len() {
            let slot = inner(&mut self.slots[k]);
            if k > 0 {
                slot.x.copy_from_slice(&lane.ahead);
            }
            lane.tangent.clear();
            lane.tangent.resize(slot.node.size.tangent, 0.0);
            self.problem.difference(k, &slot.x, &self.now.xs[k], &mut lane.tangent);
            slot.node.policy(&lane.tangent, &self.step.theta, length, &mut self.whole, &mut slot.u);
            axpy(1.0, &self.now.us[k], &mut slot.u);
            let at = Point { x: &slot.x, u: &slot.u, theta: &self.theta };
            if let Err(reason) = self.problem.evaluate(k, at, &mut lane.workspace, &mut slot.values) {
                lane.fail(k, EstimateError::Stage { stage: k, reason });
                return;
            }
            slot.cost = slot.values.cost;
            slot.violation = slot.values.constraints.iter().map(|h| h.abs()).sum();
            if let Some(next) = self.now.xs.get(k + 1) {
                // The model's gap may have absorbed a shift of the input; the raw one is kept beside it.
                lane.tangent.clear();
                lane.tangent.extend(slot.node.raw_gap().iter().map(|g| -keep * g));
                slot.violation += lane.tangent.iter().map(|g| g.abs()).sum::<f64>();
                lane.ahead.clear();
                lane.ahead.resize(next.len(), 0.0);
                self.problem.integrate(k + 1, &slot.values.next, &lane.tangent, &mut lane.ahead);
            }
        }
    }
}

/// A step of a certain length that all stages take on their own.
struct Along<'a, P> {
    problem: &'a P,
    now: &'a Trajectory,
    step: &'a Trajectory,
    theta: &'a [f64],
    slots: &'a [Mutex<Slot>],
    length: f64,
}

impl<P: Problem> Along<'_, P> {
    /// Block after block, as long as there are some that nobody has taken.
    fn blocks(&self, lane: &mut Lane<P::Workspace>, claimed: &AtomicUsize, block: usize) {
        loop {
            let start = claimed.fetch_add(1, Ordering::Relaxed) * block;
            if start >= self.slots.len() {
                return;
            }
            self.range(lane, start..(start + block).min(self.slots.len()));
        }
    }

    /// Consecutive stages; each state is moved once, the one after the last of them as well.
    fn range(&self, lane: &mut Lane<P::Workspace>, range: Range<usize>) {
        self.look_ahead(lane, range.start);
        for k in range {
            let slot = &mut *unlocked(&self.slots[k]);
            slot.x.copy_from_slice(&lane.ahead);
            slot.u.copy_from_slice(&self.now.us[k]);
            axpy(self.length, &self.step.us[k], &mut slot.u);
            if k + 1 < self.slots.len() {
                self.look_ahead(lane, k + 1);
            }
            self.evaluate(lane, k, slot);
        }
    }

    /// The state of stage `k` into `lane.ahead`.
    fn look_ahead(&self, lane: &mut Lane<P::Workspace>, k: usize) {
        lane.tangent.clear();
        lane.tangent.extend(self.step.xs[k].iter().map(|d| self.length * d));
        lane.ahead.clear();
        lane.ahead.resize(self.now.xs[k].len(), 0.0);
        self.problem.integrate(k, &self.now.xs[k], &lane.tangent, &mut lane.ahead);
    }

    fn evaluate(&self, lane: &mut Lane<P::Workspace>, k: usize, slot: &mut Slot) {
        let at = Point { x: &slot.x, u: &slot.u, theta: self.theta };
        if let Err(reason) = self.problem.evaluate(k, at, &mut lane.workspace, &mut slot.values) {
            lane.fail(k, EstimateError::Stage { stage: k, reason });
            return;
        }
        slot.cost = slot.values.cost;
        slot.violation = slot.values.constraints.iter().map(|h| h.abs()).sum();
        if k + 1 < self.slots.len() {
            lane.tangent.clear();
            lane.tangent.resize(slot.node.next, 0.0);
            self.problem.difference(k + 1, &slot.values.next, &lane.ahead, &mut lane.tangent);
            slot.violation += lane.tangent.iter().map(|g| g.abs()).sum::<f64>();
        }
    }
}
