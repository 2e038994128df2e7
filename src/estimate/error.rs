//! What can be wrong with an estimation problem.

use std::path::PathBuf;

use thiserror::Error;

/// Errors of [`crate::estimate`].
#[derive(Debug, Error)]
pub enum EstimateError {
    /// Two sizes that must agree do not.
    #[error("{what}: {found} numbers, expected {expected}")]
    Size {
        /// What has the size.
        what: String,
        /// The size it has.
        found: usize,
        /// The size it must have.
        expected: usize,
    },
    /// A setting of the solver.
    #[error("option `{name}` is {value}, expected {expected}")]
    Option {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        expected: &'static str,
    },
    /// A value that is NaN or infinite.
    #[error("{what} at stage {stage} is not finite")]
    NotFinite {
        /// What is not finite.
        what: &'static str,
        /// Stage, counted from 0.
        stage: usize,
    },
    /// The model refuses a stage's values.
    #[error("stage {stage}: {reason}")]
    Stage {
        /// Stage, counted from 0.
        stage: usize,
        /// Why.
        reason: String,
    },
    /// No damping makes the quadratic program of a stage convex.
    #[error(
        "stage {stage}: the Hessian of the input stays indefinite; is a covariance missing? If none is, a step has led astray: another \
         `formulation`, or a start that is nearer, may converge"
    )]
    NotConvex {
        /// Stage, counted from 0; the arrival node counts as 0.
        stage: usize,
    },
    /// The parameter inequalities contradict each other or the equalities.
    #[error("parameter inequality {index} cannot be met together with the other constraints")]
    Inequalities {
        /// Index of the inequality.
        index: usize,
    },
    /// The guess cannot be integrated (single shooting).
    #[error("the first guess diverges at stage {stage} when integrated; use multiple shooting")]
    Diverged {
        /// Stage, counted from 0.
        stage: usize,
    },
    /// A body's nominal parameters, or a robot, that the model cannot work with.
    #[error("`{body}`: {reason}")]
    Body {
        /// Link or robot.
        body: String,
        /// Why.
        reason: String,
    },
    /// Contacts or closed loops that make no sense, or do not fit the log.
    #[error("the contacts: {reason}")]
    Schedule {
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A standard deviation (or interval) that is missing or impossible.
    #[error("{what} is {value}, expected a positive number")]
    Deviation {
        /// Of what.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A recording that cannot be used.
    #[error("{reason}")]
    Recording {
        /// Which file, what is wrong with it, and what was expected.
        reason: String,
    },
    /// A field of a problem's description.
    #[error("{file}: {field}: {reason}")]
    Field {
        /// File of the description.
        file: PathBuf,
        /// Field in it.
        field: String,
        /// What is wrong and what was expected.
        reason: String,
    },
}
