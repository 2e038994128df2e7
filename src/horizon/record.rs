//! What a run writes down while it goes on: every reading, update and plan.

use serde::{Deserialize, Serialize};

use super::evidence::{Broken, MeasurementGap, StopRecord};
use super::nullable::{number, numbers};
use super::outcome::{Outcome, TaskPhase};
use super::telling::tell_broken;
use super::tick_times::TickTimes;
use crate::certify::Certificate;
use crate::control::open_torque;
use crate::identify::SetProof;
use crate::plan::Plan;
use crate::reach::PreparedSet;
use crate::robot::{Arm, Model};
use crate::trajectory::Pieces;

/// One sample; every vector has one entry a joint.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRow {
    /// Time, s.
    pub t: f64,
    /// Positions, rad (m).
    pub q: Vec<f64>,
    /// Speeds, rad/s (m/s).
    pub dq: Vec<f64>,
    /// Torques, N m (N).
    pub tau: Vec<f64>,
    /// Desired positions, rad (m).
    pub q_des: Vec<f64>,
    /// Desired speeds, rad/s (m/s).
    pub dq_des: Vec<f64>,
    /// Tracking error q_des - q, rad (m).
    pub error: Vec<f64>,
}

impl LogRow {
    /// The vectors in the order of the file, with the names that start their columns' headings.
    pub(crate) fn columns(&self) -> [(&'static str, &[f64]); 6] {
        [
            ("q", &self.q),
            ("dq", &self.dq),
            ("tau", &self.tau),
            ("qd", &self.q_des),
            ("dqd", &self.dq_des),
            ("e", &self.error),
        ]
    }
}

/// One update of the set; vectors of length 10 in the order of [`crate::inertia::PARAMETER_NAMES`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Identification {
    /// Time, s.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// What was known of the last body.
    #[serde(flatten)]
    pub known: BodyEstimate,
    /// Condition number of the last body's regressor over all windows of data so far; `None` before the first data.
    pub condition_number: Option<f64>,
    /// Time that the update took, ms; windows of data were enclosed before, while the arm moved
    /// ([`crate::identify::Identifier::prepare`]).
    #[serde(deserialize_with = "number")]
    pub update_ms: f64,
}

/// What is known of the ten inertial parameters of a body, about and in its joint's frame; all of length 10.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct BodyEstimate {
    /// Nominal estimate.
    #[serde(deserialize_with = "numbers")]
    pub nominal: Vec<f64>,
    /// Proven lower bounds.
    #[serde(deserialize_with = "numbers")]
    pub lower: Vec<f64>,
    /// Proven upper bounds.
    #[serde(deserialize_with = "numbers")]
    pub upper: Vec<f64>,
}

impl BodyEstimate {
    /// Half the width of the proven interval of parameter `i`.
    pub fn half_width(&self, i: usize) -> f64 {
        0.5 * (self.upper[i] - self.lower[i])
    }
}

/// One plan in the summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct PlanSummary {
    /// Time at which its execution starts (or would have started), s.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// What it is for.
    pub phase: TaskPhase,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
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
    pub fn along(robot: &Model, set: &PreparedSet, curve: Pieces<'_>, parts: usize) -> Self {
        let mut mean = Self { box_nm: vec![0.0; robot.dof()], correlated_nm: vec![0.0; robot.dof()] };
        for k in 0..parts {
            let t = curve.duration_s() * (k as f64 + 0.5) / parts as f64;
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
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

/// The most probable inertial parameters of the last link with gripper and payload; they carry no guarantee.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct MostProbable {
    /// The estimates, in the order of [`crate::inertia::PARAMETER_NAMES`]; empty if there are none.
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

/// What a controller that adapts takes for the last body at a time; it carries no guarantee.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct AdaptedBody {
    /// Time, s.
    pub t: f64,
    /// Its ten parameters, in the order of [`crate::inertia::PARAMETER_NAMES`].
    #[serde(deserialize_with = "numbers")]
    pub body: Vec<f64>,
}

/// The tracking tube in force from a time on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TubeStep {
    /// Start, s.
    pub t: f64,
    /// Bound on each |q_d - q|, rad (m).
    pub position_rad: f64,
    /// Bound on each |dq_d - dq|, rad/s (m/s).
    pub velocity_rad_s: f64,
}

/// Times of a plan at which the torques that the parameters leave open are looked at, for the report alone: about every 50
/// ms.
const WIDTHS_AT: usize = 64;

/// A time during which nothing could be proven because of an obstacle that moves: the arm came to rest, or stood.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct WaitRecord {
    /// When planning failed for the first time, s.
    #[serde(deserialize_with = "number")]
    pub from_s: f64,
    /// When a plan took over again, or the run ended, s.
    #[serde(deserialize_with = "number")]
    pub to_s: f64,
    /// The obstacle that was too near at first.
    pub obstacle: String,
}

/// All that the loop knows of a run: what it decided, measured and learnt. It holds nothing of the truth.
#[derive(Debug)]
pub struct Record {
    /// How the run ended, as far as the loop can know it.
    pub outcome: Outcome,
    /// Why, in words, when the outcome is not success.
    pub reason: Option<String>,
    /// Proofs that an assumption is broken, the one that ended the run first.
    pub broken: Vec<Broken>,
    /// The gentle stop, if there was one.
    pub stopped: Option<StopRecord>,
    /// Where the last plans were to lead: the goal, or the turn of it that the way leads to, rad (m).
    pub goal: Vec<f64>,
    /// Every update; the first entry, at the start, is the set before the first plan.
    pub identification: Vec<Identification>,
    /// Every plan that was tried.
    pub attempts: Vec<PlanSummary>,
    /// The plans that were executed, in order.
    pub plans: Vec<Plan>,
    /// Every tick.
    pub log: Vec<LogRow>,
    /// Times without measurements.
    pub gaps: Vec<MeasurementGap>,
    /// Times of waiting for obstacles that move.
    pub waits: Vec<WaitRecord>,
    /// The tube in force, from each time on.
    pub tube: Vec<TubeStep>,
    /// Plans that were not proposed and certified in time.
    pub deadline_misses: u64,
    /// Time that the search for a way took while the arm still stood at the start, ms.
    pub route_ms: Option<f64>,
    /// The most probable parameters, where the task asks for them.
    pub most_probable: Option<MostProbable>,
    /// What a controller that adapts took for the last body, over time; empty where none does.
    pub adapted: Vec<AdaptedBody>,
    /// What proves the set of parameters, where something was identified.
    pub set_proof: Option<SetProof>,
    /// How well the ticks kept time, where time does not wait.
    pub ticks: Option<TickTimes>,
    /// Time on the hardware's clock, s.
    pub duration_s: f64,
    /// Time on this computer's clock, s.
    pub wall_s: f64,
}

impl Record {
    /// These assumptions are broken.
    pub(super) fn breaks(&mut self, found: impl IntoIterator<Item = Broken>) {
        self.broken.extend(found.into_iter().inspect(tell_broken));
    }

    /// Of a run that has not begun.
    pub(crate) fn new() -> Self {
        Self {
            outcome: Outcome::SafeStop,
            reason: None,
            broken: vec![],
            stopped: None,
            goal: vec![],
            identification: vec![],
            attempts: vec![],
            plans: vec![],
            log: vec![],
            gaps: vec![],
            waits: vec![],
            tube: vec![],
            deadline_misses: 0,
            route_ms: None,
            most_probable: None,
            adapted: vec![],
            set_proof: None,
            ticks: None,
            duration_s: 0.0,
            wall_s: 0.0,
        }
    }

    /// A plan with this tube is in force from `t` on. |de_j| = |r_j - K_r e_j| is at most twice the radius of r_j.
    pub(super) fn switched(&mut self, t: f64, e_radius: &[f64], r_radius: &[f64]) {
        let largest = |x: &[f64]| x.iter().copied().fold(0.0, f64::max);
        self.tube.push(TubeStep {
            t,
            position_rad: largest(e_radius),
            velocity_rad_s: 2.0 * largest(r_radius),
        });
    }

    /// Adds to the attempts that were executed what their sets say of torques. Left to the end, as no deadline waits then.
    pub(super) fn look_at_torques(&mut self, robot: &Arm) {
        for plan in self.plans.iter().filter(|plan| plan.set.strips().is_some()) {
            let attempt = self.attempts.iter_mut().find(|a| a.certified && a.t == plan.t_start_s);
            if let Some(attempt) = attempt {
                let set = PreparedSet::new(robot, &plan.set);
                attempt.torque = Some(TorqueWidths::along(robot, &set, plan.curve.view(), WIDTHS_AT));
            }
        }
    }
}
