//! What can go wrong in identification.

use thiserror::Error;

use crate::inertia::SetError;
use crate::robot::prior::PriorFault;

/// Errors of the identifier; times in s, joints and parameters by index.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum IdentifyError {
    /// The measurements cannot have come from any parameters of the set within the stated error bounds: one of the
    /// assumptions (robot model, payload prior, sensor bounds, nothing else touching the arm) is false.
    #[error(
        "an assumption is broken: the window that ends at t = {t:.4} s, joint number {}, cannot be explained by any \
         parameters in the set; the error radii of the rows in use would have to be at least {by:.3} times as large",
        joint + 1
    )]
    AssumptionBroken {
        /// End of the window that contradicts the set the most, s.
        t: f64,
        /// Its joint.
        joint: usize,
        /// Proven lower bound on the factor by which the radii of the rows in use would have to be larger, > 1 (infinite if a row was
        /// said to have none), for parameters of the set that was left before. No factor on the sensors' bounds: a radius grows faster
        /// than these do, and a set that was found with wider bounds would have been larger ([`super::factor`] asks for that).
        by: f64,
    },
    /// The robot is no arm on a fixed base, or its file leaves out what identification rests on.
    #[error("{0}")]
    Arm(String),
    /// A thread does not compute as the proof assumes ([`crate::enclose::environment`]). Nothing has happened.
    #[error("{0}")]
    Arithmetic(&'static str),
    /// What a person states as prior makes no set.
    #[error("prior.{0}")]
    Prior(#[from] PriorFault),
    /// The box contains no physically consistent body.
    #[error("parameter {parameter}: no physically consistent body lies in the prior box")]
    PriorExcludesPhysics {
        /// Index in the parameter vector of the interval that came out empty.
        parameter: usize,
    },
    /// The prior is not a box of finite numbers.
    #[error("prior of parameter {parameter} is [{lower}, {upper}], expected finite numbers, lower <= upper")]
    BadPrior {
        /// Index in the parameter vector.
        parameter: usize,
        /// Lower bound given.
        lower: f64,
        /// Upper bound given.
        upper: f64,
    },
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
    /// A sample does not follow its predecessor by one period.
    #[error("sample at t = {t} s follows the one at {previous} s, expected {period} s later")]
    BadTime {
        /// Time of the sample, s.
        t: f64,
        /// Time of the sample before, s.
        previous: f64,
        /// The period, s.
        period: f64,
    },
    /// A window of data does not follow the ones before it.
    #[error(
        "window of data begins with tick {first}, expected tick {expected} or a later one: windows are taken in order, each once"
    )]
    WindowOrder {
        /// Number of its first tick.
        first: usize,
        /// Number of the tick with which it may begin.
        expected: usize,
    },
    /// Two successive samples are farther apart than the bounds on the motion allow.
    #[error(
        "joint {joint}: measured {what} changes by {step} up to t = {t} s, expected at most {largest} in \
         that direction (angle wrapped, encoder at fault, clock wrong, or acceleration bound too small); the \
         encoder's error bound would have to be at least {by:.1} times as large"
    )]
    Jump {
        /// Time of the later sample, s.
        t: f64,
        /// Joint index.
        joint: usize,
        /// `position` or `velocity`.
        what: &'static str,
        /// The change, rad or rad/s.
        step: f64,
        /// The largest change that the bounds allow.
        largest: f64,
        /// Factor, > 1, by which the encoder's error bound would have to be larger at least.
        by: f64,
    },
}

impl From<SetError> for IdentifyError {
    fn from(error: SetError) -> Self {
        match error {
            SetError::Interval { parameter, lower, upper } => Self::BadPrior { parameter, lower, upper },
            SetError::Lengths { lower, upper } => {
                Self::WrongLength { what: "prior", found: upper, expected: lower }
            }
        }
    }
}
