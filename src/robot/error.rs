//! Why a robot model is refused: always the file, and the link, joint or field at fault.

use std::path::PathBuf;

use thiserror::Error;

use crate::extend::{self, Fault};

/// A robot model that cannot be used, and why.
#[derive(Debug, Error)]
pub enum RobotError {
    /// No file for a name or path.
    #[error("no robot model `{name}`; looked for {tried}")]
    NotFound {
        /// The name or path asked for.
        name: String,
        /// The paths that were tried.
        tried: String,
    },
    /// The file could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not valid URDF or TOML, has an unknown field, or lacks a required one.
    #[error("{}: not a valid {format}: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// `URDF` or `robot TOML`.
        format: &'static str,
        /// Line, field and expectation, in the parser's words.
        message: String,
    },
    /// A value in the robot TOML.
    #[error("{}: field `{field}`: {reason}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, dotted.
        field: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A link of the URDF.
    #[error("{}: link `{link}`: {reason}", path.display())]
    Link {
        /// The file.
        path: PathBuf,
        /// The link.
        link: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A joint of the URDF.
    #[error("{}: joint `{joint}`: {reason}", path.display())]
    Joint {
        /// The file.
        path: PathBuf,
        /// The joint.
        joint: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The links and joints do not form one tree.
    #[error("{}: the links are not one tree: {reason}", path.display())]
    Tree {
        /// The file.
        path: PathBuf,
        /// Which links, and why.
        reason: String,
    },
    /// The robot is no arm on a fixed base, or its file leaves out what an arm's work rests on.
    #[error("{}: {reason}", path.display())]
    NoArm {
        /// The file.
        path: PathBuf,
        /// That its base floats, which sections are missing, or which field or part is at fault.
        reason: String,
    },
    /// An arm that is none, wherever its description came from.
    #[error("robot '{name}': {reason}")]
    Arm {
        /// Name of the robot.
        name: String,
        /// Which joint, capsule, part or field, and what was expected.
        reason: String,
    },
    /// A held object's capsule that is not a capsule, or that cannot be kept apart from the body before the hand.
    #[error("payload capsule {index}: {reason}")]
    Payload {
        /// Position in the list, from 0.
        index: usize,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A held object is said to ignore a capsule that the robot does not have.
    #[error("payload ignore: the robot has no capsule `{name}`")]
    PayloadIgnore {
        /// The capsule's name.
        name: String,
    },
}

impl From<Fault> for RobotError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Read { path, source } => Self::Read { path, source },
            Fault::Parse { path, message } => Self::Parse { path, format: "robot TOML", message },
            Fault::Extends { path, reason } => Self::Field { path, field: extend::KEY.to_owned(), reason },
        }
    }
}
