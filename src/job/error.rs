//! What goes wrong in a job, in the words that matter to whoever called.

use thiserror::Error;

use crate::horizon::{Broken, Ending, RunError};

/// Why a call of a job did not do what it was to do. Whatever it is, the arm rests or has been stopped, and nothing was executed without a proof.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum JobError {
    /// An assumption does not hold: nothing that was proven counts any more. The arm was stopped, and the job is over.
    #[error("broken: {}", .0.text)]
    Broken(Box<Broken>),
    /// What was asked for could not be proven, so it was not done, or not to its end. The arm rests, and the job goes on.
    #[error("not proven: {0}")]
    NotProven(String),
    /// Somebody asked for the end, or the control thread has ended. The arm rests.
    #[error("stopped: {0}")]
    Stopped(String),
    /// Something that was given makes no sense. Nothing has happened.
    #[error("{field}: {reason}")]
    Input {
        /// What was given.
        field: String,
        /// What is wrong with it, and what was expected.
        reason: String,
    },
    /// The call does not fit what is in the hand. Nothing has happened.
    #[error("{what} is out of order: {state}")]
    Order {
        /// The call.
        what: &'static str,
        /// Why it has no place now.
        state: String,
    },
}

impl JobError {
    pub(super) fn input(field: impl Into<String>, reason: impl ToString) -> Self {
        Self::Input { field: field.into(), reason: reason.to_string() }
    }
}

impl From<Ending> for JobError {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Broken(broken) => Self::Broken(broken),
            Ending::NotProven(reason) => Self::NotProven(reason),
            Ending::Stopped(reason) => Self::Stopped(reason),
        }
    }
}

/// What the loop refuses before it begins.
pub(super) fn of_run(error: RunError) -> JobError {
    let field = if matches!(error, RunError::Unproven(_)) { "robot" } else { "prior" };
    JobError::input(field, error)
}
