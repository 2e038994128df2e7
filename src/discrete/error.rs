//! What can be wrong with a mechanism, a step or a recording.

/// Why a mechanism cannot be built, a step not be taken or a recording not be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DiscreteError {
    /// A number of a body or joint is outside its range.
    #[error("{place}: `{field}` is {value}, expected {expected}")]
    Number {
        /// FreeBody or joint.
        place: String,
        /// The field.
        field: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// A joint that names a body which there is not, or a body twice.
    #[error("joint `{joint}`: {reason}")]
    Joint {
        /// The joint.
        joint: String,
        /// What is wrong.
        reason: String,
    },
    /// Rows of rigid constraints that depend on each other.
    #[error(
        "joint `{joint}`: its constraints depend on those of other joints ({rows} rows of rank {rank}): the mechanism is over-constrained. Give its joints a compliance above zero, or take a joint away"
    )]
    OverConstrained {
        /// The joint with the first dependent row.
        joint: String,
        /// Number of constraint rows.
        rows: usize,
        /// Their rank.
        rank: usize,
    },
    /// The equations of a step have no unique solution, or none.
    #[error("no step from here: {reason}")]
    NoStep {
        /// Why.
        reason: String,
    },
    /// Something of a recording, or of a problem about it.
    #[error("{what}: {reason}")]
    Recording {
        /// Where.
        what: String,
        /// What is wrong and what was expected.
        reason: String,
    },
}
