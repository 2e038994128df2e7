//! Learning limbs with closed chains from the motors' side (paper 4): a robot with its base held, each limb by itself.
//!
//! Samples become rows u = Y_c theta of the projected regressor ([`crate::dynamics::constraint::reduced`]), passive joints placed by the
//! loops. The fit is convex: bodies that can exist, friction and armatures that are not negative. Its optimum is global, and comes with a duality gap
//! ([`crate::regression::barrier`]). Samples that do not fit lose their pull, and motors count by the covariance of their errors
//! ([`crate::regression::robust`]). Nothing here is a bound.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use thiserror::Error;

use crate::dynamics::constraint::ConstraintError;
use crate::dynamics::constraint::reduced::{DomainError, ReducedError, motors_and_base};
use crate::identify::IdentifyError;
use crate::inertia::{FRICTION, INERTIAL, JointParameters};
use crate::recording::{LogError, LogRequest, MeasurementLog};
use crate::regression::RegressionError;
use crate::regression::filter::Smoothing;
use crate::robot::Limb;
use crate::robot::Model;

mod belief;
mod compressed;
mod evidence;
pub mod excite;
mod exponents;
mod fit;
pub mod guaranteed;
mod rows;
mod sticking;
mod stribeck;
#[cfg(test)]
mod tests;

pub use belief::{LinkBelief, Outliers};

/// Why limbs cannot be learnt.
#[derive(Debug, Error)]
pub enum LimbError {
    /// A log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The data or the settings do not fit a regression.
    #[error("limb `{limb}`: {source}")]
    Regression {
        /// The limb.
        limb: String,
        /// Why.
        source: RegressionError,
    },
    /// The robot has no reduced coordinates.
    #[error("limb `{limb}`: {source}")]
    Reduced {
        /// The limb.
        limb: String,
        /// Why.
        source: ReducedError,
    },
    /// Sizes that do not fit.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// The loops cannot be proven to close in one way.
    #[error("limb `{limb}`: {source}")]
    Domain {
        /// The limb.
        limb: String,
        /// Why.
        source: DomainError,
    },
    /// A sample where the passive joints are not known from the motors, or contradict them.
    #[error("{path}: sample {sample} at t = {t:.4} s: {source}")]
    Sample {
        /// The log.
        path: String,
        /// Number of the sample, from 1.
        sample: usize,
        /// Its time, s.
        t: f64,
        /// What is wrong.
        source: DomainError,
    },
    /// A sample where the loops do not close.
    #[error("{path}: sample {sample} at t = {t:.4} s: {source}")]
    Closure {
        /// The log.
        path: String,
        /// Number of the sample, from 1.
        sample: usize,
        /// Its time, s.
        t: f64,
        /// What is wrong.
        source: ReducedError,
    },
    /// A sample around which the passive joints' motion is not known well enough for a guaranteed bound.
    #[error(
        "{path}: sample {sample} at t = {t:.4} s: how the passive joints follow the motors cannot be enclosed; expected smaller error bounds, a \
         shorter period, or a posture farther from a singular one"
    )]
    Loose {
        /// The log.
        path: String,
        /// Number of the sample, from 1.
        sample: usize,
        /// Its time, s.
        t: f64,
    },
    /// A log whose velocities were made from positions.
    #[error(
        "{path}: no measured velocities; guaranteed intervals rest on a bound of their errors, expected a log that has them"
    )]
    Derived {
        /// The log.
        path: String,
    },
    /// Samples between which a motor would have to accelerate more than stated.
    #[error(
        "{path}: sample {sample} at t = {t:.4} s: until the next sample joint `{joint}` moves farther or faster than the stated bounds allow; expected a larger bound of \
         its acceleration, or of the errors of positions or velocities"
    )]
    Faster {
        /// The log.
        path: String,
        /// Number of the sample, from 1.
        sample: usize,
        /// Its time, s.
        t: f64,
        /// The motor.
        joint: String,
    },
    /// No stretch of any log is as long as a window.
    #[error(
        "limb `{limb}`: no log has a stretch without a gap that is as long as the shortest window, {shortest_s} s; expected longer logs or shorter windows"
    )]
    NoWindow {
        /// The limb.
        limb: String,
        /// Length of the shortest window, s.
        shortest_s: f64,
    },
    /// Data that contradict what is assumed.
    #[error(
        "limb `{limb}`: an assumption is broken: the window that ends at t = {t:.4} s cannot be explained at joint `{joint}` by any parameters of the \
         prior; the errors of the rows in use would have to be at least {by:.3} times as large"
    )]
    Contradiction {
        /// The limb.
        limb: String,
        /// The motor.
        joint: String,
        /// End of the window, s.
        t: f64,
        /// Proven lower bound of the factor, > 1.
        by: f64,
    },
    /// A number that makes no sense, or what else stands against a guaranteed bound.
    #[error(transparent)]
    Guarantee(#[from] IdentifyError),
    /// A robot without motors.
    #[error("robot `{robot}` has no motors: nothing is measured")]
    NoMotors {
        /// Its name.
        robot: String,
    },
}

/// What is to be found of a limb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimbUnknown {
    /// Coulomb and viscous friction, armature and offset of all joints, passive ones too; links as the robot's files say.
    Friction,
    /// Inertial parameters of all links; friction as the files say.
    Links,
    /// Both.
    Everything,
}

/// A recording of a robot with its base held.
#[derive(Debug, Clone)]
pub struct MotorLog {
    /// The samples: of all joints, or of the motors alone.
    pub log: MeasurementLog,
    /// Whether passive joints were measured, so that the samples are of all joints. They are compared with the loops' closure.
    pub passive: bool,
}

impl MotorLog {
    /// Reads a recording: of all joints as `surelift robot` lists them (without a floating base), or of those with a motor.
    ///
    /// # Errors
    /// As [`MeasurementLog::read_request`]; of two errors that of reading the motors alone, unless there is a column too many for that.
    pub fn read(path: impl AsRef<Path>, robot: &Model, request: &LogRequest) -> Result<Self, LogError> {
        let held = robot.with_base_held();
        let all = match MeasurementLog::read_request(&path, &held, request) {
            Ok(log) => return Ok(Self { log, passive: true }),
            Err(error) => error,
        };
        let mut motors = held.clone();
        let driven = motors_and_base(&held);
        motors.joints = driven.iter().map(|&k| held.joints[k].clone()).collect();
        motors.joints.iter_mut().for_each(|joint| joint.parent = None);
        match MeasurementLog::read_request(&path, &motors, request) {
            Ok(log) => Ok(Self { log, passive: false }),
            Err(LogError::BadColumn { .. }) => Err(all),
            Err(error) => Err(error),
        }
    }
}

/// What a study of limbs needs.
#[derive(Debug, Clone, Copy)]
pub struct LimbStudy<'a> {
    /// The robot; a floating base is held.
    pub robot: &'a Model,
    /// Recordings to learn from.
    pub logs: &'a [MotorLog],
    /// A recording to predict.
    pub validation: Option<&'a MotorLog>,
    /// What is to be found.
    pub unknown: LimbUnknown,
    /// How accelerations are found.
    pub smoothing: Smoothing,
    /// How far measured passive joints may be from where the loops put them, rad or m.
    pub passive_tolerance: f64,
    /// Whether the exponents of the motors' viscous friction are sought, where friction is; else they are 1.
    pub exponents: bool,
}

/// What was learnt of all limbs.
#[derive(Debug, Clone, Serialize)]
pub struct LimbFindings {
    /// The robot's name.
    pub robot: String,
    /// What was to be found.
    pub unknown: LimbUnknown,
    /// Files that were learnt from.
    pub logs: Vec<String>,
    /// The file that was predicted.
    pub validation: Option<String>,
    /// Whether passive joints were measured in all logs.
    pub passive_measured: bool,
    /// What was done about torques that are late, in words, if anything was; whoever shifts the logs says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// One entry a limb with motors.
    pub limbs: Vec<LimbFinding>,
}

/// What was learnt of a limb.
#[derive(Debug, Clone, Serialize)]
pub struct LimbFinding {
    /// Its name: that of its first joint.
    pub name: String,
    /// Samples that were learnt from: at most so many, evenly chosen.
    pub samples: usize,
    /// Share of them that keep less than half of their weight.
    pub outliers: f64,
    /// Motors that stand still in all recordings: of their friction nothing can be told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still: Vec<String>,
    /// Its motors.
    pub motors: Vec<MotorFinding>,
    /// The unknown parameters.
    pub parameters: Vec<LimbParameter>,
    /// What motion tells apart.
    pub base: LimbBase,
    /// f at the optimum: half the sum of squares, in deviations.
    pub value: f64,
    /// No parameters that can exist are better by more than this.
    pub duality_gap: f64,
    /// Rounds of reweighting.
    pub rounds: usize,
    /// How far links were believed to be from the files, where they were learnt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub belief: Option<LinkBelief>,
    /// Index in the robot with its base held of each of its joints.
    #[serde(skip)]
    pub joints: Vec<usize>,
    /// All parameters of the limb, those that were known too.
    #[serde(skip)]
    pub theta: Vec<f64>,
}

impl LimbFindings {
    /// The robot with its base held, and what was learnt in the place of what its files say.
    pub fn learnt(&self, robot: &Model) -> Model {
        let mut learnt = robot.with_base_held();
        for limb in &self.limbs {
            let count = limb.joints.len();
            for (k, &joint) in limb.joints.iter().enumerate() {
                let own = &mut learnt.joints[joint];
                own.inertia.copy_from_slice(&limb.theta[INERTIAL * k..INERTIAL * (k + 1)]);
                let friction: [f64; FRICTION] =
                    std::array::from_fn(|i| limb.theta[INERTIAL * count + FRICTION * k + i]);
                own.friction = JointParameters::from_array(friction);
            }
        }
        learnt
    }
}

/// Torque errors of a motor.
#[derive(Debug, Clone, Serialize)]
pub struct MotorFinding {
    /// Its joint.
    pub joint: String,
    /// Exponent alpha of its viscous friction F_v sgn(v) |v|^alpha, where it was sought; F_v is then in N m (s/rad)^alpha.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub friction_exponent: Option<f64>,
    /// Share of its samples that were left out because it may stick there.
    pub sticking: f64,
    /// By how much its friction is larger at rest, where that is clear. The parameters are without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_friction: Option<RestFriction>,
    /// Error on what was learnt from, N m RMS.
    pub fit_rms_nm: f64,
    /// Error of the robot's files there, N m RMS.
    pub model_rms_nm: f64,
    /// Error on the recording that was predicted, N m RMS.
    pub validation_rms_nm: Option<f64>,
    /// Error of the robot's files there, N m RMS.
    pub validation_model_rms_nm: Option<f64>,
    /// Error there with the files' links, of which friction alone was learnt (nothing, where friction is known), N m RMS; only where links were learnt.
    pub validation_apart_rms_nm: Option<f64>,
}

/// Friction by which a motor rubs more at rest than by its dry friction F_c: X exp(-(|v| / r)^p), after Stribeck. Robot files have no such term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RestFriction {
    /// X, N m.
    pub excess_nm: f64,
    /// r, rad/s.
    pub rate_rad_s: f64,
    /// p, 1 or 2.
    pub power: i32,
}

/// An unknown parameter.
#[derive(Debug, Clone, Serialize)]
pub struct LimbParameter {
    /// Its name, with the link's or joint's.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// What the robot's files say.
    pub model: f64,
    /// The estimate.
    pub estimate: f64,
    /// Its standard deviation, if errors are as the fit found them; limits of what can exist are not counted.
    pub deviation: f64,
}

/// Base parameters of a limb's unknown parameters.
#[derive(Debug, Clone, Serialize)]
pub struct LimbBase {
    /// How many there are.
    pub rank: usize,
    /// Ratio of the last singular value that counts to the first that does not; `None` at full rank.
    pub gap: Option<f64>,
    /// Ratio of the largest singular value to the last that counts.
    pub condition_number: f64,
    /// Each as a sum of parameters; terms below a thousandth are left out.
    pub combinations: Vec<String>,
}

impl LimbStudy<'_> {
    /// Learns all limbs that have motors.
    ///
    /// # Errors
    /// [`LimbError`] names the limb, or the log and its sample.
    pub fn run(&self) -> Result<LimbFindings, LimbError> {
        let held = self.robot.with_base_held();
        let driven = |limb: &Limb| !motors_and_base(&limb.model).is_empty();
        let limbs: Vec<Limb> = held.limbs().into_iter().filter(driven).collect();
        if limbs.is_empty() {
            return Err(LimbError::NoMotors { robot: held.name.clone() });
        }
        let learnt: Result<Vec<_>, _> = limbs.par_iter().map(|limb| self.learn(&held, limb)).collect();
        let path = |log: &MotorLog| log.log.path.display().to_string();
        Ok(LimbFindings {
            robot: self.robot.name.clone(),
            unknown: self.unknown,
            logs: self.logs.iter().map(path).collect(),
            validation: self.validation.map(path),
            delay: None,
            passive_measured: self.logs.iter().all(|log| log.passive),
            limbs: learnt?,
        })
    }

    fn learn(&self, held: &Model, limb: &Limb) -> Result<LimbFinding, LimbError> {
        let mut maker = rows::RowMaker::new(self, held, limb)?;
        let learnt = maker.rows(self.logs)?;
        let predicted = self.validation.map(|log| maker.rows(std::slice::from_ref(log))).transpose()?;
        let name = limb.joints.first().map_or("", |&j| held.joints[j].name.as_str()).to_owned();
        let failed = |source| LimbError::Regression { limb: name.clone(), source };
        let of = (limb, name.clone());
        fit::learn(of, (self.unknown, self.exponents), &learnt, predicted.as_ref()).map_err(failed)
    }
}
