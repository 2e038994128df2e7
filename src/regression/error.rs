//! What can go wrong in a regression.

use thiserror::Error;

/// Errors of [`crate::regression`].
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RegressionError {
    /// A vector has the wrong length.
    #[error("{what} has length {found}, expected {expected}")]
    WrongLength {
        /// Which vector.
        what: &'static str,
        /// Length given.
        found: usize,
        /// Length needed.
        expected: usize,
    },
    /// A number is not finite or otherwise out of its range.
    #[error("{what} is {value}, expected {expected}")]
    BadValue {
        /// Which number.
        what: String,
        /// The value given.
        value: f64,
        /// What it has to be.
        expected: &'static str,
    },
    /// The fit cannot start where it was told to.
    #[error("start of the fit: {0}")]
    BadStart(String),
    /// The data do not allow an estimate by the method that was asked for.
    #[error("no estimate: {0}")]
    NoEstimate(String),
}
