//! What can be wrong with a recording, and where.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::assemble::IMPLAUSIBLE;

/// Where in a recording something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPlace {
    /// A field of a CSV file.
    Field {
        /// The line, counted from 1, the heading being the first.
        line: u64,
        /// The column's name.
        column: String,
        /// The joint that it is of, if it is of one.
        joint: Option<String>,
    },
    /// A number in a joint-state message of an MCAP file.
    Message {
        /// The topic.
        topic: String,
        /// The message, counted from 1 among those of the topic.
        number: u64,
        /// Which of its numbers.
        what: String,
    },
}

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogPlace::Field { line, column, joint: None } => write!(f, "line {line}, column `{column}`"),
            LogPlace::Field { line, column, joint: Some(joint) } => {
                write!(f, "line {line}, column `{column}` of joint `{joint}`")
            }
            LogPlace::Message { topic, number, what } => {
                write!(f, "topic `{topic}`, message {number}, {what}")
            }
        }
    }
}

/// Why a recording cannot be used. Lines count from 1, the heading being the first.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file cannot be read, or is no text.
    #[error("`{}`: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system or the CSV reader says.
        reason: String,
    },
    /// What was asked for makes no sense.
    #[error("`{}`: {reason}", path.display())]
    Request {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A column has no reading at all.
    #[error("`{}`: {what} has no reading in any of {samples} samples, expected some", path.display())]
    NoReading {
        /// The file.
        path: PathBuf,
        /// The column, or the joint.
        what: String,
        /// Number of samples.
        samples: usize,
    },
    /// A column is missing.
    #[error(
        "`{}`, line 1: no column `{column}`; expected `t`, then q1.., dq1.., tau1.. for {joints} joints, separated by \
         commas; {found}", path.display()
    )]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// Its name.
        column: String,
        /// Joints of the robot.
        joints: usize,
        /// What there is instead.
        found: String,
    },
    /// A column occurs twice, or belongs to a joint that the robot does not have.
    #[error("`{}`, line 1: column `{column}` {reason}", path.display())]
    BadColumn {
        /// The file.
        path: PathBuf,
        /// Its name.
        column: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A row has too many or too few fields.
    #[error("`{}`, line {line}: {found} fields, expected {expected} as in the heading", path.display())]
    WrongCount {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// Fields in it.
        found: usize,
        /// Fields in the heading.
        expected: usize,
    },
    /// A field is no finite number.
    #[error("`{}`, {place}: `{text}`, expected a finite number", path.display())]
    BadNumber {
        /// The file.
        path: PathBuf,
        /// Where.
        place: LogPlace,
        /// What stands there.
        text: String,
    },
    /// Time does not advance.
    #[error("`{}`, {place}: {t} s, expected later than {previous} s, the time before it", path.display())]
    TimeBackwards {
        /// The file.
        path: PathBuf,
        /// Where.
        place: LogPlace,
        /// Time there, s.
        t: f64,
        /// Time of the sample before, s.
        previous: f64,
    },
    /// Samples that were read elsewhere are not in order of time.
    #[error("`{}`: sample at {t} s follows the one at {previous} s, expected a later time", path.display())]
    Unordered {
        /// What they are called.
        path: PathBuf,
        /// Time of the sample, s.
        t: f64,
        /// Time of the sample before, s.
        previous: f64,
    },
    /// A number is so large that its unit must be wrong.
    #[error(
        "`{}`, {place}: {value}, expected at most {IMPLAUSIBLE} times the joint's limit of \
         {limit}; is the unit right (rad, rad/s, N m)?", path.display()
    )]
    Implausible {
        /// The file.
        path: PathBuf,
        /// Where.
        place: LogPlace,
        /// The value in SI units.
        value: f64,
        /// The joint's limit in SI units.
        limit: f64,
    },
    /// A position is so far beyond its joint's limits that it must be in degrees.
    #[error(
        "`{}`, {place}: {value}, expected rad, {joint}; this looks like \
         degrees (--degrees)", path.display()
    )]
    Degrees {
        /// The file.
        path: PathBuf,
        /// Where.
        place: LogPlace,
        /// The value in the file.
        value: f64,
        /// The joint and its limits, in words.
        joint: String,
    },
    /// Most rows of a file are bad, though bad rows may be left out.
    #[error(
        "`{}`: {skipped} of {rows} rows cannot be used, expected at most half of them; the first: {first}", path.display()
    )]
    Skipped {
        /// The file.
        path: PathBuf,
        /// How many were left out.
        skipped: usize,
        /// Of so many.
        rows: usize,
        /// What is wrong with the first of them.
        first: String,
    },
    /// Positions and velocities of a joint are not of one motion.
    #[error(
        "`{}`, {what}: positions move by {moved:.3} in all, velocities add up to \
         {speeds:.3}; expected the same unit in both, and time in s{}", path.display(), degrees_of_one(*moved, *speeds)
    )]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The two columns, or the joint.
        what: String,
        /// Sum of |steps of q|.
        moved: f64,
        /// Sum of |dq| dt.
        speeds: f64,
    },
    /// There are too few samples.
    #[error("`{}`: {found} samples, expected at least {expected} without a gap between them", path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Samples in the longest stretch.
        found: usize,
        /// Samples needed.
        expected: usize,
    },
    /// What is whole of a file that breaks off has too few samples.
    #[error("`{}`: {found} samples, expected at least {expected}; {cut_off}", path.display())]
    CutTooShort {
        /// The file.
        path: PathBuf,
        /// Samples before it breaks off.
        found: usize,
        /// Samples needed.
        expected: usize,
        /// Where it breaks off, in words.
        cut_off: String,
    },
    /// An MCAP file holds no joint states that could be meant.
    #[error("`{}`: {reason}", path.display())]
    NoTopic {
        /// The file.
        path: PathBuf,
        /// What there is instead.
        reason: String,
    },
    /// A message is no joint state with everything that is needed.
    #[error("`{}`, topic `{topic}`, message {number}: {reason}", path.display())]
    BadMessage {
        /// The file.
        path: PathBuf,
        /// The topic.
        topic: String,
        /// The message, counted from 1.
        number: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A message names some of the robot's joints but not all.
    #[error(
        "`{}`, topic `{topic}`, message {number}: no joint `{joint}`; the robot needs it, the message has {names}",
        path.display()
    )]
    MissingJoint {
        /// The file.
        path: PathBuf,
        /// The topic.
        topic: String,
        /// The message, counted from 1.
        number: u64,
        /// The robot's joint.
        joint: String,
        /// The joints that the message names.
        names: String,
    },
}

/// What a factor of about 57.3 between positions and velocities says.
fn degrees_of_one(moved: f64, speeds: f64) -> &'static str {
    let near = |ratio: f64| (0.8..1.25).contains(&ratio.to_radians());
    if near(moved / speeds) {
        "; the positions look like degrees (--columns q=NAME:deg)"
    } else if near(speeds / moved) {
        "; the velocities look like degrees/s (--columns dq=NAME:deg)"
    } else {
        ""
    }
}

impl LogError {
    /// Whether this is about one row alone, which can be left out ([`super::LogFormat::skip_bad`]).
    pub fn is_of_a_row(&self) -> bool {
        matches!(self, Self::WrongCount { .. } | Self::BadNumber { .. } | Self::TimeBackwards { .. })
    }
}
