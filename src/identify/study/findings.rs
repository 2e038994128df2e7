//! What a study finds, as it is written to files and shown.

use serde::Serialize;

use super::{BaseFinding, DelayFinding, Unknown};
use crate::identify::estimators::Estimator;
use crate::robot::{ARMATURE, COULOMB, FRICTION, INERTIAL, OFFSET, Robot, VISCOUS};

/// What the data say of the stated bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Verdict {
    /// They explain the data; the set holds the truth if they are true.
    Consistent,
    /// No parameters of the prior explain the data within them.
    Refuted {
        /// End of the window that contradicts the most, s.
        t_s: f64,
        /// Its joint.
        joint: String,
        /// Every error bound would have to be at least this many times as large.
        by: f64,
    },
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
    /// What is left of it.
    pub set: [f64; 2],
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
    /// Names of the parameters that lie outside the set.
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
    /// In words, what the set is worth.
    pub guarantee: String,
    /// The joints.
    pub joints: Vec<JointFinding>,
    /// The unknown parameters.
    pub parameters: Vec<ParameterFinding>,
    /// Whether the estimate of the last body is physically consistent.
    pub estimate_physical: bool,
    /// How the set shrank, from the prior on.
    pub history: Vec<Moment>,
    /// The same data by every method.
    pub methods: Vec<MethodFinding>,
    /// The whole arm's base parameters.
    pub base: BaseFinding,
    /// Windows of data.
    pub windows: usize,
    /// Samples that no window holds.
    pub samples_left_out: usize,
    /// Measured and predicted torques of the validation log, or of the first log where there is none.
    #[serde(skip)]
    pub predictions: Vec<Prediction>,
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

/// Name and unit of a parameter of the full vector.
pub fn parameter_name(robot: &Robot, j: usize) -> (String, &'static str) {
    let links = INERTIAL * robot.dof();
    if j < links {
        let names = ["m", "m c_x", "m c_y", "m c_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];
        let k = j % INERTIAL;
        let unit = if k == 0 {
            "kg"
        } else if k < 4 {
            "kg m"
        } else {
            "kg m^2"
        };
        return (format!("{} {}", robot.joints[j / INERTIAL].link, names[k]), unit);
    }
    let (joint, k) = ((j - links) / FRICTION, (j - links) % FRICTION);
    let (name, unit) = [
        (COULOMB, ("Coulomb", "N m")),
        (VISCOUS, ("viscous", "N m s/rad")),
        (ARMATURE, ("transmission inertia", "kg m^2")),
        (OFFSET, ("offset", "N m")),
    ]
    .into_iter()
    .find(|(index, _)| *index == k)
    .map_or(("parameter", ""), |(_, found)| found);
    (format!("{} {name}", robot.joints[joint].name), unit)
}
