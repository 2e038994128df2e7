//! Why a campaign is refused or cannot be carried out.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::extend::{self, Fault};
use crate::robot::RobotError;
use crate::scenario::ScenarioError;

/// A campaign that cannot be run, and why.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// The file could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not valid TOML, has an unknown key, or lacks a required one.
    #[error("{}: not a valid campaign: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, key and expectation, in the parser's words.
        message: String,
    },
    /// A value in the file.
    #[error("{}: field `{field}`: {reason}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, dotted.
        field: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A robot that the file names cannot be loaded.
    #[error("{}: field `{field}`: {source}", path.display())]
    Robot {
        /// The campaign file.
        path: PathBuf,
        /// The field, dotted.
        field: String,
        /// What is wrong with the robot.
        source: Box<RobotError>,
    },
    /// A scenario that the file names cannot be loaded.
    #[error("{}: field `{field}`: {source}", path.display())]
    Scenario {
        /// The campaign file.
        path: PathBuf,
        /// The field, dotted.
        field: String,
        /// What is wrong with the scenario.
        source: Box<ScenarioError>,
    },
    /// The trials could not be made.
    #[error("{0}")]
    Trials(String),
    /// A folder cannot be merged with others, or its trials cannot be taken over.
    #[error("{}: {reason}", folder.display())]
    Shard {
        /// The shard's folder.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A campaign cannot be divided so, or its shards cannot be merged.
    #[error("{0}")]
    Merge(String),
    /// The results cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl CampaignError {
    /// A value that is wrong.
    pub fn field(path: &Path, field: impl Into<String>, reason: impl Into<String>) -> Self {
        CampaignError::Field { path: path.to_owned(), field: field.into(), reason: reason.into() }
    }
}

impl From<Fault> for CampaignError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Read { path, source } => Self::Read { path, source },
            Fault::Parse { path, message } => Self::Parse { path, message },
            Fault::Extends { path, reason } => Self::field(&path, extend::KEY, reason),
        }
    }
}
