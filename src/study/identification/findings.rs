//! What a study finds, as it is written to files and shown.

use crate::study::external::ExternalTorque;
use crate::study::validation::ValidationFinding;
use serde::Serialize;

use super::{BaseFinding, DelayFinding, MethodChoice};
use crate::identify::Unknown;
use crate::identify::motion::Remedy;
use crate::identify::proof::SetProof;
use crate::robot::FramedPayload;
use crate::study::identification::estimators::Estimator;

/// What the data say of the stated bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Verdict {
    /// They explain the data; the set holds the truth if they are true.
    Consistent,
    /// They cannot all be true, or a torque from outside was noticed.
    Refuted {
        /// What fails, one entry a kind.
        broken: Vec<BrokenAssumption>,
        /// Errors of the time stamps (s) that would be enough, all other bounds as stated, for the motion of the encoders; none if no
        /// such bound was found, or none is needed.
        time_stamps_s: Option<f64>,
    },
}

/// A kind of assumption that recordings contradict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// Measured positions move otherwise than measured velocities have it.
    PositionAgainstVelocity,
    /// Measured velocities change faster than the accelerations allow.
    VelocityAgainstAcceleration,
    /// No parameters of the prior explain the torques of the motion.
    Torque,
    /// Something pushed the arm, or its model lacks something: for a short time torques are far from what explains them else. Noticed by a fit,
    /// not proven ([`crate::study::external`]).
    NothingPushes,
}

/// A proof that the stated assumptions are not all true; of [`Assumption::NothingPushes`] what was noticed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BrokenAssumption {
    /// What fails.
    pub assumption: Assumption,
    /// The file, where one alone shows it.
    pub log: Option<String>,
    /// The joint where it shows the most.
    pub joint: String,
    /// End of the steps or of the window, s.
    pub t_s: f64,
    /// How long those take, s.
    pub over_s: f64,
    /// Of motion: steps between successive samples that break the bounds, and all steps.
    pub steps: Option<[usize; 2]>,
    /// What each bound alone would have to be multiplied by.
    pub remedies: Vec<Remedy>,
}

/// Wider bounds under which there is a set, though the stated ones are refuted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionalSet {
    /// The bounds are so many times what the part in use needs.
    pub margin: f64,
    /// Error of measured positions, rad.
    pub position_rad: f64,
    /// Error of measured velocities, rad/s.
    pub velocity_rad_s: f64,
    /// Mean torque error of every joint over a window beyond the stated bound, N m.
    pub torque_nm: f64,
    /// Windows that the bounds and the set are from.
    pub windows_used: usize,
    /// Windows that the bounds were tried on.
    pub windows_held_out: usize,
    /// Why no interval is shown, if none is.
    pub refused: Option<String>,
}

/// One parameter.
#[derive(Debug, Clone, Serialize)]
pub struct ParameterFinding {
    /// For example `joint_3 viscous` or `bracelet_link m c_z`.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Value in the robot's model.
    pub model: f64,
    /// Least-squares estimate; no bound.
    pub estimate: f64,
    /// Prior interval.
    pub prior: [f64; 2],
    /// What is left of it; none where no interval is shown ([`ConditionalSet::refused`]).
    pub set: Option<[f64; 2]>,
}

/// One joint.
#[derive(Debug, Clone, Serialize)]
pub struct JointFinding {
    /// Its name.
    pub name: String,
    /// Root mean square of its torque over the logs, N m.
    pub torque_rms_nm: f64,
    /// And of what the estimate leaves of it, samples at the speed limit left out.
    pub fit_rms_nm: f64,
    /// Samples of the logs at the joint's speed limit: its drive then brakes by itself, and they are not learned from.
    pub speed_limited: usize,
    /// Root mean square of its torque over the validation log, N m.
    pub validation_torque_rms_nm: Option<f64>,
    /// And of the prediction's error there, samples at the speed limit left out: data that the estimate has not seen.
    pub validation_rms_nm: Option<f64>,
    /// The same with the samples at the speed limit.
    pub validation_rms_all_nm: Option<f64>,
    /// Samples of the validation log at the joint's speed limit.
    pub validation_speed_limited: usize,
    /// Proven: less additive torque error than this explains the joint's data for no parameters of the prior, N m.
    pub additive_necessary_nm: f64,
    /// Proven: with this on all joints some parameters of the prior explain all data, N m.
    pub additive_sufficient_nm: f64,
}

/// The set after some of the data.
#[derive(Debug, Clone, Serialize)]
pub struct Moment {
    /// Windows so far, in the order of the logs.
    pub windows: usize,
    /// Seconds of data in them.
    pub data_s: f64,
    /// Lower bounds of the unknown parameters, in their order.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
}

/// One method of estimation.
#[derive(Debug, Clone, Serialize)]
pub struct MethodFinding {
    /// Which.
    pub method: Estimator,
    /// Whether its estimate is the one shown.
    pub chosen: bool,
    /// Its values of the unknown parameters, in their order; none where it says nothing.
    pub values: Vec<Option<f64>>,
    /// Proven intervals, in the same order ([`Estimator::Perturbation`] alone).
    pub interval: Option<Vec<Option<[f64; 2]>>>,
    /// Whether its last body can exist; none if it does not say all of it.
    pub physical: Option<bool>,
    /// Names of the parameters that lie outside the set, where one is shown.
    pub outside: Vec<String>,
    /// Root mean square of the torque errors that it leaves, N m, one entry a joint: on the validation log, or on those learned
    /// from where there is none. Empty without an estimate.
    pub torque_rms_nm: Vec<f64>,
    /// Time taken, s.
    pub seconds: f64,
    /// Why there is no estimate, or what else is to be said.
    pub note: Option<String>,
}

/// Everything that was found.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// Layout version.
    pub schema: u32,
    /// Name of the robot.
    pub robot: String,
    /// What was to be found.
    pub unknown: Unknown,
    /// Each log and what was done to it.
    pub logs: Vec<LogFinding>,
    /// How late torques were found to be, and what was done about it.
    pub delay: DelayFinding,
    /// What was assumed, one sentence each.
    pub assumptions: Vec<String>,
    /// What the data say of that.
    pub verdict: Verdict,
    /// Where the stated bounds are refuted: the wider ones that the set is for, or why there is none.
    pub conditional: Option<ConditionalSet>,
    /// Torques from outside that were noticed, by place of the log.
    pub external_torques: Vec<ExternalTorque>,
    /// In words, what the set is worth.
    pub guarantee: String,
    /// The joints.
    pub joints: Vec<JointFinding>,
    /// The unknown parameters.
    pub parameters: Vec<ParameterFinding>,
    /// What is held, without the hand, in the frame of a link; its bounds where the stated assumptions explain the data. Left out where no payload was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_alone: Option<FramedPayload>,
    /// Whether the estimate of the last body is physically consistent.
    pub estimate_physical: bool,
    /// How the set shrank, from the prior on.
    pub history: Vec<Moment>,
    /// The same data by every method.
    pub methods: Vec<MethodFinding>,
    /// How the method that is shown was chosen; none where it was asked for, or the logs are too short to leave a part out.
    pub choice: Option<MethodChoice>,
    /// The whole arm's base parameters.
    pub base: BaseFinding,
    /// Windows of data.
    pub windows: usize,
    /// Samples that no window holds.
    pub samples_left_out: usize,
    /// How well the validation log is predicted: torques, and simulations over time.
    pub validation: Option<ValidationFinding>,
    /// The same by plain least squares ([`Estimator::Ols`]); none where that is the method shown, or has no estimate.
    pub validation_ols: Option<ValidationFinding>,
    /// Measured and predicted torques of the validation log, or of the first log where there is none.
    #[serde(skip)]
    pub predictions: Vec<Prediction>,
    /// What proves the set apart from the recordings; none where no interval is shown. Its own file.
    #[serde(skip)]
    pub proof: Option<SetProof>,
}

impl Findings {
    /// Tells `tracing` what was found, and of each assumption that recordings contradict.
    pub(super) fn tell(&self) {
        let consistent = self.verdict == Verdict::Consistent;
        tracing::info!(robot = &*self.robot, windows = self.windows, consistent, "recordings identified");
        let Verdict::Refuted { broken, .. } = &self.verdict else { return };
        for BrokenAssumption { assumption, log, joint, t_s, over_s, .. } in broken {
            let log = log.as_deref();
            tracing::warn!(?assumption, log, joint = &**joint, t = t_s, over_s, "assumption broken");
        }
    }
}

/// Torques of one sample, N m.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// Time, s.
    pub t: f64,
    /// As measured.
    pub measured: Vec<f64>,
    /// As the estimate has them.
    pub predicted: Vec<f64>,
}

/// A log.
#[derive(Debug, Clone, Serialize)]
pub struct LogFinding {
    /// The file.
    pub path: String,
    /// `fit` or `validation`.
    pub purpose: &'static str,
    /// What was done to the data.
    pub notes: Vec<String>,
}
