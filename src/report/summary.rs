//! `summary.json`: the run in figures, readable by any program.
//!
//! A number that is not finite is written as `null` (JSON has no other way); reading gives `None` or NaN back.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::figure::below;
use super::{ReportError, expect_length};
use crate::horizon::nullable::{number, numbers};
use crate::horizon::{
    AdaptedBody, BodyEstimate, Broken, Identification, Margins, MeasurementGap, MostProbable, Outcome,
    PlacingError, PlanSummary, StopRecord, TickSummary, WaitRecord,
};
use crate::inertia::{INERTIAL, PARAMETER_NAMES, PARAMETER_UNITS};
use crate::robot::FramedPayload;
use crate::simulate::{ClosestPair, SpringAudit};

/// Version of the layout of `summary.json`; raised when a name changes its meaning.
pub const SCHEMA: u32 = 1;

/// The whole of `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Summary {
    /// Layout version, [`SCHEMA`].
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the method.
    pub method: String,
    /// Seed that drew the truth.
    pub seed: u64,
    /// Name of the robot.
    pub robot: String,
    /// What every certificate of the run takes on trust about contacts ([`crate::robot::Arm::trusted`]). Left out where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<String>,
    /// How the run ended.
    pub outcome: Outcome,
    /// Why, in words, when the outcome is not success.
    pub reason: Option<String>,
    /// Proofs that an assumption is broken, the one that ended the run first. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<Broken>,
    /// The gentle stop, where the tube was given up. Left out where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopRecord>,
    /// Times without measurements. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<MeasurementGap>,
    /// Times of waiting for obstacles that move. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitRecord>,
    /// Counts over the true state at every integration step.
    pub violations: Violations,
    /// Steps in which an obstacle that moves touched the arm while that rested; no plan promises that it does not. Left out if it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub touched_at_rest: u64,
    /// Whether the truth lay in the proven set at every update.
    pub truth_inside: bool,
    /// The last link with gripper and payload: the ten unknowns. Left out where nothing is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// The payload alone, what holds it subtracted, in the frame of a link; left out where nothing is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_alone: Option<FramedPayload>,
    /// The most probable parameters of the same body, where the scenario asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_probable: Option<MostProbable>,
    /// Every update; the first entry, at the start, is the set before the first plan. Left out where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identification: Vec<Identification>,
    /// What a controller that adapts took for the last body, over time. Left out where none does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adapted: Vec<AdaptedBody>,
    /// Whether the payload was carried along the path without a proof, as baselines do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproven: bool,
    /// How far what was held is from its place in the end; left out where the scenario states no tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placing: Option<PlacingError>,
    /// Every plan that was tried.
    pub plans: Vec<PlanSummary>,
    /// Largest |q_d - q| of the true state over joints and time, rad.
    pub max_tracking_error_rad: Option<f64>,
    /// Largest ratio of a tracking error to the tube in force.
    pub tube_used_ratio: Option<f64>,
    /// Largest ratio of a true torque to its limit.
    pub max_torque_ratio: Option<f64>,
    /// Smallest true distance to an obstacle or another link, m; `None` if there is nothing to touch. That to an obstacle that moves counts
    /// while the arm moves.
    pub min_clearance_m: Option<f64>,
    /// The two that came that close, and when; left out if there is nothing to touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closest: Option<ClosestPair>,
    /// What the springs of elastic joints did; left out of rigid ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub springs: Option<SpringAudit>,
    /// Largest joint distance to the goal at the end, rad; `None` if there is no goal.
    pub goal_error_rad: Option<f64>,
    /// Difference to an integration with a step four times finer, rad.
    pub integration_error_rad: Option<f64>,
    /// Time that the search for a way took while the arm still stood at the start, ms; left out where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route_ms: Option<f64>,
    /// Plans that were not proposed and certified in time.
    pub deadline_misses: u64,
    /// How well the control ticks kept time; left out where time waited for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticks: Option<TickSummary>,
    /// Simulated time, s.
    #[serde(deserialize_with = "number")]
    pub duration_s: f64,
    /// Time on the clock, s.
    #[serde(deserialize_with = "number")]
    pub wall_s: f64,
}

/// What is left out of files.
fn is_zero(x: &u64) -> bool {
    *x == 0
}

/// How often something that must not happen happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Violations {
    /// Steps with a contact.
    pub collision: u64,
    /// Steps beyond a torque limit.
    pub torque: u64,
    /// Steps beyond a position limit.
    pub position: u64,
    /// Steps beyond a velocity limit.
    pub velocity: u64,
    /// Steps outside the tracking tube.
    pub tube: u64,
}

impl Violations {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Violations) {
        self.collision += other.collision;
        self.torque += other.torque;
        self.position += other.position;
        self.velocity += other.velocity;
        self.tube += other.tube;
    }

    /// Names and counts, in the order of the fields.
    pub fn counts(&self) -> [(&'static str, u64); 5] {
        [
            ("collision", self.collision),
            ("torque", self.torque),
            ("position", self.position),
            ("velocity", self.velocity),
            ("tube", self.tube),
        ]
    }
}

/// What is known of ten inertial parameters, about and in the frame of the end effector; all of length 10.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Payload {
    /// Names, [`PARAMETER_NAMES`].
    pub names: Vec<String>,
    /// Units, [`PARAMETER_UNITS`].
    pub units: Vec<String>,
    /// The truth, known to the plant alone until the run has ended.
    #[serde(deserialize_with = "numbers")]
    pub truth: Vec<f64>,
    /// What is known of it.
    #[serde(flatten)]
    pub known: BodyEstimate,
}

impl Payload {
    /// A payload report with the standard names and units.
    pub fn new(truth: Vec<f64>, known: BodyEstimate) -> Self {
        let owned = |words: [&str; INERTIAL]| words.map(str::to_owned).to_vec();
        Self { names: owned(PARAMETER_NAMES), units: owned(PARAMETER_UNITS), truth, known }
    }

    /// Half the width of interval `i`, in its unit.
    pub fn half_width(&self, i: usize) -> f64 {
        self.known.half_width(i)
    }

    fn check(&self, field: &str) -> Result<(), ReportError> {
        let lengths = [
            ("names", self.names.len()),
            ("units", self.units.len()),
            ("truth", self.truth.len()),
            ("nominal", self.known.nominal.len()),
            ("lower", self.known.lower.len()),
            ("upper", self.known.upper.len()),
        ];
        lengths
            .iter()
            .try_for_each(|(name, found)| expect_length(|| format!("{field}.{name}"), *found, INERTIAL))
    }
}

/// The known margins, rounded down: `position 0.21 rad, torque 3.2 N m`.
impl fmt::Display for Margins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.entries().into_iter().filter_map(|(name, value, unit)| Some((name, value?, unit)));
        for (i, (name, value, unit)) in known.enumerate() {
            write!(f, "{}{name} {} {unit}", if i == 0 { "" } else { ", " }, below(value))?;
        }
        Ok(())
    }
}

impl Summary {
    /// Checks the lengths of all vectors of ten.
    ///
    /// # Errors
    /// [`ReportError::Shape`] names the field.
    pub fn check(&self) -> Result<(), ReportError> {
        if let Some(payload) = &self.payload {
            payload.check("payload")?;
        }
        if let Some(found) = self.most_probable.as_ref().filter(|found| found.failure.is_none()) {
            for (name, vector) in [("estimate", &found.estimate), ("deviation", &found.deviation)] {
                expect_length(|| format!("most_probable.{name}"), vector.len(), INERTIAL)?;
            }
        }
        for (i, update) in self.identification.iter().enumerate() {
            for (name, v) in [
                ("nominal", &update.known.nominal),
                ("lower", &update.known.lower),
                ("upper", &update.known.upper),
            ] {
                expect_length(|| format!("identification[{i}].{name}"), v.len(), INERTIAL)?;
            }
        }
        Ok(())
    }
}
