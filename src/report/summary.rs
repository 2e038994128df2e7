//! `summary.json`: the run in figures, readable by any program.
//!
//! A number that is not finite is written as `null` (JSON has no other way); reading gives `None` or NaN back.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::evidence::{Broken, Gap};
use super::figure::below;
use super::{ReportError, expect_length};
use crate::certify::Certificate;
use crate::control::robust::open_torque;
use crate::inertia::ParameterSet;
use crate::robot::{INERTIAL, Robot};
use crate::trajectory::Bezier;

/// Version of the layout of `summary.json`; raised when a name changes its meaning.
pub const SCHEMA: u32 = 1;

/// Names of the inertial parameters of a body, in the order of every vector in `payload`.
pub const PARAMETER_NAMES: [&str; INERTIAL] =
    ["m", "m c_x", "m c_y", "m c_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];

/// Units of [`PARAMETER_NAMES`].
pub const PARAMETER_UNITS: [&str; INERTIAL] =
    ["kg", "kg m", "kg m", "kg m", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2"];

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Moving so as to learn the payload.
    Excite,
    /// Moving the payload to its place.
    Carry,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Phase::Excite => "excite",
            Phase::Carry => "carry",
        })
    }
}

/// The whole of `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What every certificate of the run takes on trust about contacts ([`Robot::trusted`]). Left out where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<String>,
    /// How the run ended.
    pub outcome: Outcome,
    /// Why, in words, when the outcome is not success.
    pub reason: Option<String>,
    /// Proofs that an assumption is broken, the one that ended the run first. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<Broken>,
    /// Times without measurements. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Counts over the true state at every integration step.
    pub violations: Violations,
    /// Whether the truth lay in the proven set at every update.
    pub truth_inside: bool,
    /// The last link with gripper and payload: the ten unknowns. Left out where nothing is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// The payload alone, gripper subtracted, in the same frame; left out where nothing is held or the gripper is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_alone: Option<Payload>,
    /// The most probable parameters of the same body, where the scenario asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_probable: Option<MostProbable>,
    /// Every update; the first entry, at the start, is the set before the first plan. Left out where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identification: Vec<Identification>,
    /// Every plan that was tried.
    pub plans: Vec<PlanSummary>,
    /// Largest |q_d - q| of the true state over joints and time, rad.
    pub max_tracking_error_rad: Option<f64>,
    /// Largest ratio of a tracking error to the tube in force.
    pub tube_used_ratio: Option<f64>,
    /// Largest ratio of a true torque to its limit.
    pub max_torque_ratio: Option<f64>,
    /// Smallest true distance to an obstacle or another link, m; `None` if there is nothing to touch.
    pub min_clearance_m: Option<f64>,
    /// Largest joint distance to the goal at the end, rad; `None` if there is no goal.
    pub goal_error_rad: Option<f64>,
    /// Difference to an integration with a step four times finer, rad.
    pub integration_error_rad: Option<f64>,
    /// Time that the search for a way took while the arm still stood at the start, ms; left out where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route_ms: Option<f64>,
    /// Plans that were not proposed and certified in time.
    pub deadline_misses: u64,
    /// Simulated time, s.
    #[serde(deserialize_with = "number")]
    pub duration_s: f64,
    /// Time on the clock, s.
    #[serde(deserialize_with = "number")]
    pub wall_s: f64,
}

/// How often something that must not happen happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// The most probable inertial parameters of the last link with gripper and payload; they carry no guarantee.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MostProbable {
    /// The estimates, in the order of [`PARAMETER_NAMES`]; empty if there are none.
    #[serde(deserialize_with = "numbers")]
    pub estimate: Vec<f64>,
    /// Their standard deviations.
    #[serde(deserialize_with = "numbers")]
    pub deviation: Vec<f64>,
    /// Whether all of them lie inside the guaranteed set.
    pub inside: bool,
    /// Samples used.
    pub samples: usize,
    /// Iterations.
    pub iterations: usize,
    /// Time taken after the run, s.
    pub seconds: f64,
    /// What went wrong, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What is known of ten inertial parameters, about and in the frame of the end effector; all of length 10.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// Names, [`PARAMETER_NAMES`].
    pub names: Vec<String>,
    /// Units, [`PARAMETER_UNITS`].
    pub units: Vec<String>,
    /// The truth, known to the plant alone until the run has ended.
    #[serde(deserialize_with = "numbers")]
    pub truth: Vec<f64>,
    /// The nominal estimate.
    #[serde(deserialize_with = "numbers")]
    pub nominal: Vec<f64>,
    /// Proven lower bounds.
    #[serde(deserialize_with = "numbers")]
    pub lower: Vec<f64>,
    /// Proven upper bounds.
    #[serde(deserialize_with = "numbers")]
    pub upper: Vec<f64>,
}

impl Payload {
    /// A payload report with the standard names and units.
    pub fn new(truth: Vec<f64>, nominal: Vec<f64>, lower: Vec<f64>, upper: Vec<f64>) -> Self {
        let owned = |words: [&str; INERTIAL]| words.map(str::to_owned).to_vec();
        Self { names: owned(PARAMETER_NAMES), units: owned(PARAMETER_UNITS), truth, nominal, lower, upper }
    }

    /// Half the width of interval `i`, in its unit.
    pub fn half_width(&self, i: usize) -> f64 {
        0.5 * (self.upper[i] - self.lower[i])
    }

    fn check(&self, field: &str) -> Result<(), ReportError> {
        let lengths = [
            ("names", self.names.len()),
            ("units", self.units.len()),
            ("truth", self.truth.len()),
            ("nominal", self.nominal.len()),
            ("lower", self.lower.len()),
            ("upper", self.upper.len()),
        ];
        lengths
            .iter()
            .try_for_each(|(name, found)| expect_length(|| format!("{field}.{name}"), *found, INERTIAL))
    }
}

/// One update of the set; vectors of length 10 in the order of [`PARAMETER_NAMES`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identification {
    /// Time, s.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// Nominal estimate.
    #[serde(deserialize_with = "numbers")]
    pub nominal: Vec<f64>,
    /// Proven lower bounds.
    #[serde(deserialize_with = "numbers")]
    pub lower: Vec<f64>,
    /// Proven upper bounds.
    #[serde(deserialize_with = "numbers")]
    pub upper: Vec<f64>,
    /// Condition number of the stacked regressor; `None` before the first data.
    pub condition_number: Option<f64>,
    /// Time that the update took, ms.
    #[serde(deserialize_with = "number")]
    pub update_ms: f64,
}

/// One plan in the summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Time at which its execution starts (or would have started), s.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// What it is for.
    pub phase: Phase,
    /// Whether it was proven safe (only then is it executed).
    pub certified: bool,
    /// Time to propose, ms.
    #[serde(deserialize_with = "number")]
    pub propose_ms: f64,
    /// Time to prove, ms.
    #[serde(deserialize_with = "number")]
    pub certify_ms: f64,
    /// Smallest proven margins.
    pub min_margin: Margins,
    /// What the correlated set says of its torques against the box; left out where the plan was made for the box alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torque: Option<TorqueWidths>,
    /// What could not be proven, if so.
    pub reason: Option<String>,
}

/// How much of each joint's torque the parameters leave open, N m: half-widths, mean over the desired motion of a plan, as
/// [`open_torque`] has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TorqueWidths {
    /// If the box were all that is known.
    #[serde(deserialize_with = "numbers")]
    pub box_nm: Vec<f64>,
    /// With what is known of combinations of the parameters.
    #[serde(deserialize_with = "numbers")]
    pub correlated_nm: Vec<f64>,
}

impl TorqueWidths {
    /// The means over a motion under `set`, at the middles of so many equal parts of it.
    pub fn along(robot: &Robot, set: &ParameterSet, curve: &Bezier, parts: usize) -> Self {
        let mut mean = Self { box_nm: vec![0.0; robot.dof()], correlated_nm: vec![0.0; robot.dof()] };
        for k in 0..parts {
            let t = curve.duration_s * (k as f64 + 0.5) / parts as f64;
            for (j, (all, some)) in open_torque(robot, set, &curve.state(t), t).into_iter().enumerate() {
                mean.box_nm[j] += all / parts as f64;
                mean.correlated_nm[j] += some / parts as f64;
            }
        }
        mean
    }

    /// Correlated by box, mean over the joints.
    pub fn ratio(&self) -> f64 {
        let ratios = self.correlated_nm.iter().zip(&self.box_nm).map(|(a, b)| a / b);
        ratios.sum::<f64>() / self.box_nm.len() as f64
    }
}

/// Smallest margins of a plan over time; `None` where nothing was proven or there is no such constraint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Margins {
    /// To a position limit, rad (m).
    pub position: Option<f64>,
    /// To a velocity limit, rad/s (m/s).
    pub velocity: Option<f64>,
    /// To a torque limit, N m (N).
    pub torque: Option<f64>,
    /// To an obstacle or another link, m.
    pub collision: Option<f64>,
}

impl Margins {
    /// Names, values and units, in the order of the fields.
    pub fn entries(&self) -> [(&'static str, Option<f64>, &'static str); 4] {
        [
            ("position", self.position, "rad"),
            ("velocity", self.velocity, "rad/s"),
            ("torque", self.torque, "N m"),
            ("collision", self.collision, "m"),
        ]
    }
}

impl From<&Certificate> for Margins {
    fn from(certificate: &Certificate) -> Self {
        Self {
            position: certificate.position.value,
            velocity: certificate.velocity.value,
            torque: certificate.torque.value,
            collision: certificate.collision.value,
        }
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
        if let Some(alone) = &self.payload_alone {
            alone.check("payload_alone")?;
        }
        if let Some(found) = self.most_probable.as_ref().filter(|found| found.failure.is_none()) {
            for (name, vector) in [("estimate", &found.estimate), ("deviation", &found.deviation)] {
                expect_length(|| format!("most_probable.{name}"), vector.len(), INERTIAL)?;
            }
        }
        for (i, update) in self.identification.iter().enumerate() {
            for (name, v) in
                [("nominal", &update.nominal), ("lower", &update.lower), ("upper", &update.upper)]
            {
                expect_length(|| format!("identification[{i}].{name}"), v.len(), INERTIAL)?;
            }
        }
        Ok(())
    }
}

/// Reads a number, or NaN where the file says `null`.
pub(super) fn number<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(source)?.unwrap_or(f64::NAN))
}

/// Reads numbers, NaN where the file says `null`.
fn numbers<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(source)?;
    Ok(values.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
}
