//! The three ways to try a step.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::sweep::{block_length, inner, unlocked};
use super::{Rollout, Solver, StageRecord, ThreadStorage};
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, Point, Trajectory};
use crate::linear::dense::axpy;

impl<P: EstimationProblem> Solver<'_, P> {
    /// Rolls out a trial step; its cost and violation, or nothing where the model is not defined. A linear step whose violation exceeds `most` is not
    /// finished: nothing either.
    pub(super) fn try_step(&mut self, rollout: Rollout, length: f64, most: f64) -> Option<(f64, f64)> {
        self.theta.copy_from_slice(&self.now.theta);
        axpy(length, &self.step.theta, &mut self.theta);
        let most = if rollout == Rollout::Multiple { most } else { f64::INFINITY };
        let mut finished = true;
        match rollout {
            Rollout::Multiple => finished = self.move_all(length, most),
            Rollout::Feasible => self.integrate_through(length, 1.0 - length),
            Rollout::Single => self.integrate_through(length, 0.0),
        }
        self.problem.constrain_parameters(&self.theta, &mut self.constraints);
        let totals =
            self.totals().ok().filter(|(c, v)| finished && c.is_finite() && v.is_finite() && *v <= most);
        self.problem.constrain_parameters(&self.now.theta, &mut self.constraints);
        totals
    }

    /// States and inputs along the step, gaps and costs, all stages in parallel; false if some stages alone violate more than `most`, for then the
    /// others were left out.
    fn move_all(&mut self, length: f64, most: f64) -> bool {
        let block = block_length(self.records.len(), self.threads.len());
        let along = Along {
            problem: self.problem,
            now: &self.now,
            step: &self.step,
            theta: &self.theta,
            records: &self.records,
            length,
            most,
            exceeded: AtomicBool::new(false),
        };
        *self.claimed.get_mut() = 0;
        let claimed = &self.claimed;
        if let [thread] = self.threads.as_mut_slice() {
            along.range(thread, 0..self.records.len());
        } else {
            self.threads
                .par_iter_mut()
                .with_max_len(1)
                .for_each(|thread| along.blocks(thread, claimed, block));
        }
        !along.exceeded.into_inner()
    }

    /// Integrates stage after stage with feedback; each gap keeps the share `keep` of what it was.
    fn integrate_through(&mut self, length: f64, keep: f64) {
        let thread = &mut self.threads[0];
        thread.tangent.clear();
        thread.tangent.extend(self.step.xs[0].iter().map(|d| length * d));
        let first = inner(&mut self.records[0]);
        self.problem.integrate(0, &self.now.xs[0], &thread.tangent, &mut first.x);
        for k in 0..self.records.len() {
            let record = inner(&mut self.records[k]);
            if k > 0 {
                record.x.copy_from_slice(&thread.ahead);
            }
            thread.tangent.clear();
            thread.tangent.resize(record.node.size.tangent, 0.0);
            self.problem.difference(k, &record.x, &self.now.xs[k], &mut thread.tangent);
            record.node.policy(&thread.tangent, &self.step.theta, length, &mut self.whole, &mut record.u);
            axpy(1.0, &self.now.us[k], &mut record.u);
            let at = Point { x: &record.x, u: &record.u, theta: &self.theta };
            if let Err(reason) = self.problem.evaluate(k, at, &mut thread.workspace, &mut record.values) {
                thread.fail(k, EstimateError::Stage { stage: k, reason });
                return;
            }
            record.cost = record.values.cost;
            record.violation = record.values.constraints.iter().map(|h| h.abs()).sum();
            if let Some(next) = self.now.xs.get(k + 1) {
                // The model's gap may have absorbed a shift of the input; the raw one is kept beside it.
                thread.tangent.clear();
                thread.tangent.extend(record.node.raw_gap().iter().map(|g| -keep * g));
                record.violation += thread.tangent.iter().map(|g| g.abs()).sum::<f64>();
                thread.ahead.clear();
                thread.ahead.resize(next.len(), 0.0);
                self.problem.integrate(k + 1, &record.values.next, &thread.tangent, &mut thread.ahead);
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
    records: &'a [Mutex<StageRecord>],
    length: f64,
    /// Violation beyond which no stage more is evaluated, and whether it is reached.
    most: f64,
    exceeded: AtomicBool,
}

impl<P: EstimationProblem> Along<'_, P> {
    /// Block after block, as long as there are some that nobody has taken.
    fn blocks(&self, thread: &mut ThreadStorage<P::Workspace>, claimed: &AtomicUsize, block: usize) {
        loop {
            let start = claimed.fetch_add(1, Ordering::Relaxed) * block;
            if start >= self.records.len() || self.exceeded.load(Ordering::Relaxed) {
                return;
            }
            self.range(thread, start..(start + block).min(self.records.len()));
        }
    }

    /// Consecutive stages; each state is moved once, the one after the last of them as well.
    fn range(&self, thread: &mut ThreadStorage<P::Workspace>, range: Range<usize>) {
        self.look_ahead(thread, range.start);
        let mut violation = 0.0;
        for k in range {
            let record = &mut *unlocked(&self.records[k]);
            record.x.copy_from_slice(&thread.ahead);
            record.u.copy_from_slice(&self.now.us[k]);
            axpy(self.length, &self.step.us[k], &mut record.u);
            if k + 1 < self.records.len() {
                self.look_ahead(thread, k + 1);
            }
            self.evaluate(thread, k, record);
            violation += record.violation;
            if violation > self.most {
                self.exceeded.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// The state of stage `k` into `thread.ahead`.
    fn look_ahead(&self, thread: &mut ThreadStorage<P::Workspace>, k: usize) {
        thread.tangent.clear();
        thread.tangent.extend(self.step.xs[k].iter().map(|d| self.length * d));
        thread.ahead.clear();
        thread.ahead.resize(self.now.xs[k].len(), 0.0);
        self.problem.integrate(k, &self.now.xs[k], &thread.tangent, &mut thread.ahead);
    }

    fn evaluate(&self, thread: &mut ThreadStorage<P::Workspace>, k: usize, record: &mut StageRecord) {
        let at = Point { x: &record.x, u: &record.u, theta: self.theta };
        if let Err(reason) = self.problem.evaluate(k, at, &mut thread.workspace, &mut record.values) {
            thread.fail(k, EstimateError::Stage { stage: k, reason });
            return;
        }
        record.cost = record.values.cost;
        record.violation = record.values.constraints.iter().map(|h| h.abs()).sum();
        if k + 1 < self.records.len() {
            thread.tangent.clear();
            thread.tangent.resize(record.node.next, 0.0);
            self.problem.difference(k + 1, &record.values.next, &thread.ahead, &mut thread.tangent);
            record.violation += thread.tangent.iter().map(|g| g.abs()).sum::<f64>();
        }
    }
}
