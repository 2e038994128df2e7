//! What the solver of [`super`] is given and what it returns.

use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use thiserror::Error;

use crate::plan::qp::{MAX_DIMENSION, Matrix};

/// A point, or a gradient: one number a variable.
pub type SearchPoint = ArrayVec<f64, MAX_DIMENSION>;

/// One inequality `g(k) >= 0` at an evaluated point. Scale rows to order one (margin over limit): they share a penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// g(k); negative when violated.
    pub value: f64,
    /// dg/dk; entries beyond the dimension are ignored.
    pub gradient: [f64; MAX_DIMENSION],
    /// What the row is about, for messages and for pairing rows of successive evaluations: those with the same label are taken
    /// to be the same function of k.
    pub label: u32,
}

/// What a [`NonlinearProgram`] knows at one k.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    /// f(k).
    pub cost: f64,
    /// df/dk, length n.
    pub cost_gradient: SearchPoint,
    /// A model of the cost's Hessian (positive semidefinite), if there is one: it starts the curvature model. Entries beyond
    /// the dimension are zero.
    pub cost_hessian: Option<Matrix>,
    /// The inequalities, in the order of their labels, no two of which are the same. Those that are far from being active
    /// may be left out.
    pub rows: Vec<Row>,
    /// Whether there is a certificate for this very k.
    pub proven: bool,
}

/// A problem for [`super::solve`].
pub trait NonlinearProgram {
    /// Number of variables n, 1 to [`MAX_DIMENSION`].
    fn dimension(&self) -> usize;

    /// Cost and rows at k in \[-1, 1\]^n, into `out`, which holds an earlier evaluation. Non-finite numbers are allowed: such a
    /// point is not entered.
    fn evaluate(&mut self, k: &[f64], out: &mut Evaluation);

    /// Keeps the proof of the point evaluated last: it is the cheapest proven one so far.
    fn keep(&mut self);
}

/// When to stop and how careful to be. The defaults suit rows and costs of order one and 20 to 40 evaluations.
#[derive(Debug, Clone, Copy)]
pub struct NlpOptions {
    /// No evaluation is started that would, at the mean duration so far, end after this.
    pub deadline: Option<Instant>,
    /// What an evaluation is known to take at least: the first may be handed out without being made, and then says nothing.
    pub pace: Duration,
    /// Largest number of evaluations.
    pub max_evaluations: usize,
    /// First trust-region radius in k (max norm).
    pub initial_radius: f64,
    /// The solver has stalled when the radius falls below this.
    pub smallest_radius: f64,
    /// Converged when the model's step is shorter than this (max norm).
    pub step_tolerance: f64,
    /// Converged when the model expects less gain than this times (1 + |f|).
    pub cost_tolerance: f64,
    /// Violations below this count as none.
    pub feasibility_tolerance: f64,
    /// Rows are asked to be at least this.
    pub margin: f64,
    /// First increase of the margin where a point is converged, feasible and not proven; later ones are three times
    /// the one before. Zero never raises it.
    pub margin_step: f64,
}

impl Default for NlpOptions {
    fn default() -> Self {
        Self {
            deadline: None,
            pace: Duration::ZERO,
            max_evaluations: 60,
            initial_radius: 0.3,
            smallest_radius: 1e-5,
            step_tolerance: 1e-4,
            cost_tolerance: 1e-5,
            feasibility_tolerance: 1e-6,
            margin: 0.0,
            margin_step: 2e-3,
        }
    }
}

/// Why the iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The model promises no further gain and the rows hold.
    Converged,
    /// The deadline is too close for another evaluation.
    Deadline,
    /// All evaluations are used up.
    Exhausted,
    /// The trust region collapsed, or the start could not be evaluated.
    Stalled,
    /// The violation is locally minimal and not zero; `worst_row` says which row is worst.
    Infeasible,
}

/// A proven point; the program has kept its proof.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// The point, length n.
    pub k: SearchPoint,
    /// Its cost.
    pub cost: f64,
}

/// Result of [`super::solve`].
#[derive(Debug, Clone)]
pub struct Solution {
    /// The cheapest proven point that was met, if any.
    pub best_accepted: Option<Accepted>,
    /// The last iterate, proven or not; a warm start.
    pub k: SearchPoint,
    /// Cost at the last iterate.
    pub cost: f64,
    /// Label and value of the smallest row at the last iterate; a non-finite row comes first.
    pub worst_row: Option<(u32, f64)>,
    /// Quadratic models solved and tried.
    pub iterations: usize,
    /// Evaluations spent.
    pub evaluations: usize,
    /// Why the iteration ended.
    pub stopped: Stopped,
}

/// A problem that can't be posed.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum NlpError {
    /// Dimension outside 1..=MAX_DIMENSION.
    #[error("program dimension {0}: expected 1 to {MAX_DIMENSION}")]
    Dimension(usize),
    /// A start point of the wrong length or with a non-finite entry.
    #[error("start point {start:?}: expected {expected} finite numbers")]
    Start {
        /// The start as given.
        start: Vec<f64>,
        /// The program's dimension.
        expected: usize,
    },
    /// The program's answer has the wrong size.
    #[error("{field} of an evaluation: expected size {expected}, found {found}")]
    Evaluation {
        /// Which field.
        field: &'static str,
        /// n.
        expected: usize,
        /// What was handed out.
        found: usize,
    },
}
