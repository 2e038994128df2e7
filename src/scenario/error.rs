//! Why a scenario is refused: always the file, and the field, capsule or obstacle at fault.

use std::path::PathBuf;

use thiserror::Error;

use crate::extend::{self, Fault};
use crate::robot::RobotError;

/// A scenario that cannot be run, and why.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not valid TOML, has an unknown key, or lacks a required one.
    #[error("{}: not a valid scenario: {message}", path.display())]
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
    /// A world file that cannot be used.
    #[error("{}: line {line}{}: {reason}", path.display(), column.map(|c| format!(", column {c}")).unwrap_or_default())]
    World {
        /// The world file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column (number of the value in its line), from 1; `None` where the whole line is at fault.
        column: Option<usize>,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The robot that the scenario names cannot be loaded.
    #[error("{}: field `robot`: {source}", path.display())]
    Robot {
        /// The scenario file.
        path: PathBuf,
        /// What is wrong with the robot.
        source: RobotError,
    },
    /// The arm, or what it holds, touches something at the start or the goal.
    #[error("{}: at the {moment} the robot's capsule `{capsule}` touches {what} ({distance_m:.4} m apart, expected > 0)",
        path.display())]
    Touching {
        /// The file: the scenario, or the world file where start and goal come from one.
        path: PathBuf,
        /// `start` or `goal`.
        moment: &'static str,
        /// Capsule of the robot or the payload.
        capsule: String,
        /// The obstacle, or the other capsule.
        what: String,
        /// Distance, metres; negative when they overlap.
        distance_m: f64,
    },
    /// The mass asked for instead of the scenario's cannot be used.
    #[error("payload mass: {0}")]
    PayloadMass(String),
}

impl From<Fault> for ScenarioError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Read { path, source } => Self::Read { path, source },
            Fault::Parse { path, message } => Self::Parse { path, message },
            Fault::Extends { path, reason } => Self::Field { path, field: extend::KEY.to_owned(), reason },
        }
    }
}
