//! How a run ends, and what its plans are for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The payload is at its place and nothing was violated.
    Success,
    /// No further plan was certified; the arm stands still, safely.
    SafeStop,
    /// The true arm touched something.
    Collision,
    /// A true torque passed its limit.
    TorqueLimit,
    /// A true joint position passed its limit.
    PositionLimit,
    /// A true joint speed passed its limit.
    VelocityLimit,
    /// The run reached its end with the payload in the wrong place.
    Misplaced,
    /// The data proved that an assumption does not hold (for example a payload outside its prior).
    AssumptionBroken,
}

impl Outcome {
    /// Exit code of the program: 0 success, 3 safe stop, 4 assumption broken, 1 for everything else.
    ///
    /// A collision, a passed limit or a misplaced payload is what the proof excludes. Seeing one means that the
    /// program is wrong, so they share the code of internal errors; `outcome` tells them apart.
    pub fn exit_code(self) -> u8 {
        match self {
            Outcome::Success => 0,
            Outcome::SafeStop => 3,
            Outcome::AssumptionBroken => 4,
            Outcome::Collision
            | Outcome::TorqueLimit
            | Outcome::PositionLimit
            | Outcome::VelocityLimit
            | Outcome::Misplaced => 1,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Success => "Success",
            Outcome::SafeStop => "Safe stop",
            Outcome::Collision => "Collision",
            Outcome::TorqueLimit => "Torque limit passed",
            Outcome::PositionLimit => "Position limit passed",
            Outcome::VelocityLimit => "Velocity limit passed",
            Outcome::Misplaced => "Payload misplaced",
            Outcome::AssumptionBroken => "Assumption broken",
        })
    }
}

/// What a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum TaskPhase {
    /// Moving so as to learn the payload.
    Excite,
    /// Moving the payload to its place, or to the start of the path that the task gives.
    Carry,
    /// Moving the payload along the path that the task gives.
    Path,
}

impl fmt::Display for TaskPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TaskPhase::Excite => "excite",
            TaskPhase::Carry => "carry",
            TaskPhase::Path => "path",
        })
    }
}
