//! What a run leaves behind: `summary.json`, `log.csv`, `plans/*.json`, `set_proof.json` and `report.html`; and what it says meanwhile.
//!
//! A [`RunRecord`] holds everything; [`write()`] turns it into a folder, all or nothing. [`html::page`] is one file
//! without a reference to anything outside it. [`overview`] lays many runs side by side. [`crate::horizon::Event`]s become lines of text.
//! This room computes nothing about safety: it shows what it is given.

mod body;
#[cfg(feature = "studies")]
pub mod comparison;
#[cfg(feature = "studies")]
pub mod estimate;
mod event;
#[cfg(feature = "studies")]
pub(crate) mod evidence;
#[cfg(feature = "studies")]
pub mod excitation;
#[cfg(not(surelift_program))]
pub mod export;
pub mod figure;
#[cfg(feature = "studies")]
mod followed;
#[cfg(feature = "studies")]
pub mod guaranteed;
pub mod html;
#[cfg(feature = "studies")]
pub mod limbs;
pub mod log;
#[cfg(feature = "studies")]
mod methods;
pub mod overview;
mod payload;
mod plots;
pub mod replay;
#[cfg(feature = "rerun")]
pub mod rerun;
#[cfg(feature = "studies")]
mod self_collision;
#[cfg(feature = "studies")]
pub mod standing;
#[cfg(feature = "studies")]
pub mod study;
pub mod summary;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(feature = "studies")]
mod validation;
pub mod write;

use std::path::PathBuf;

use thiserror::Error;

use crate::horizon::{LogRow, TubeStep};
use crate::identify::SetProof;

pub use overview::Overview;
#[cfg(feature = "studies")]
pub(crate) use plots::LINES;
pub use replay::Replay;
pub use summary::{Payload, Summary, Violations};
pub use write::{check_destination, check_open, default_destination, write};

/// Everything that one run leaves behind. `P` is whatever a plan is saved as.
#[derive(Debug, Clone)]
pub struct RunRecord<P> {
    /// The figures of `summary.json`.
    pub summary: Summary,
    /// Samples in the order of time; every row holds as many joints as `torque_limit`.
    pub log: Vec<LogRow>,
    /// Distance to the nearest obstacle or other link over time: (s, m).
    pub clearance: Vec<(f64, f64)>,
    /// Distance to the nearest obstacle that may move over time: (s, m, whether the arm rested); empty where none may.
    pub approaches: Vec<(f64, f64, bool)>,
    /// Name of each joint, in the order of all vectors.
    pub joints: Vec<String>,
    /// Torque limit of each joint, N m (N).
    pub torque_limit: Vec<f64>,
    /// Proven bound of the tracking error, from each time on; one entry if it never changed.
    pub tube: Vec<TubeStep>,
    /// The plans, one file each, in the order in which they were made.
    pub plans: Vec<P>,
    /// What proves the set of parameters, where something was identified.
    pub set_proof: Option<SetProof>,
    /// Where everything was over time; left out where nobody knows.
    pub replay: Option<Replay>,
}

/// Why a run could not be reported.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The destination cannot be used; nothing was touched.
    #[error("output folder `{}`: {reason}", path.display())]
    Destination {
        /// The folder asked for.
        path: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// Something could not be written as JSON, or read from it.
    #[error("`{}`: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What serde says.
        source: serde_json::Error,
    },
    /// The log could not be written.
    #[error("`log.csv`: {0}")]
    Csv(#[from] csv::Error),
    /// The record contradicts itself.
    #[error("run record: {what} has {found} entries, expected {expected}")]
    Shape {
        /// The field, with its index.
        what: String,
        /// Entries it must have.
        expected: usize,
        /// Entries it has.
        found: usize,
    },
    /// A plot could not be drawn.
    #[error("plot `{plot}`: {reason}")]
    Plot {
        /// Title of the plot.
        plot: String,
        /// What the drawing library says.
        reason: String,
    },
}

impl<P> RunRecord<P> {
    /// Checks that all vectors have the lengths that the reports rely on.
    ///
    /// # Errors
    /// [`ReportError::Shape`] names the first field that is too long or too short.
    pub fn check(&self) -> Result<(), ReportError> {
        let n = self.torque_limit.len();
        expect_length(|| "joints".to_owned(), self.joints.len(), n)?;
        for (i, row) in self.log.iter().enumerate() {
            for (name, column) in row.columns() {
                expect_length(|| format!("log[{i}].{name}"), column.len(), n)?;
            }
        }
        self.summary.check()
    }
}

/// Refuses a length other than `expected`, naming the field.
fn expect_length(what: impl Fn() -> String, found: usize, expected: usize) -> Result<(), ReportError> {
    if found == expected { Ok(()) } else { Err(ReportError::Shape { what: what(), expected, found }) }
}
