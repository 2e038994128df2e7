//! Makes a robot's *profile* from recordings of it: friction, delay, noise floors and additive torque bounds, each with its evidence.
//!
//! A profile is a robot TOML that `extends` the robot's own ([`profile`]). What it rests on:
//! * *Friction* (Coulomb, viscous, transmission inertia, offset) and the *delay* of the torques are those of [`IdentificationStudy`].
//! * *Noise floors* are told from third differences, at rest and moving ([`noise`]). The bounds of the encoders are made so wide that the recordings
//!   contradict them nowhere ([`RecordedMotion`]), with room.
//! * *Additive torque bounds* are the smallest with which one vector of parameters, within what the profile says of them, explains all windows of the
//!   recordings ([`additive`]), with room. They become `unmodelled_nm` of each drive.
//!
//! Recordings bound nothing that they do not show: another may need more. So a profile is checked on a recording that it was not learnt from
//! ([`check`]), window by window and joint by joint.
//!
//! ```no_run
//! use surelift::calibrate::{Calibration, CalibrationOptions};
//! use surelift::recording::{AngleUnit, MeasurementLog};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let robot = surelift::robot::load("kinova_gen3")?;
//! let log = MeasurementLog::read("a.csv", &robot, AngleUnit::Radians)?;
//! let calibration = Calibration::of(&robot, &[log], &CalibrationOptions::default())?;
//! let unseen = MeasurementLog::read("b.csv", &robot, AngleUnit::Radians)?;
//! let check = calibration.check(&unseen)?;
//! println!("{} of {} windows are as the profile says", check.joints[0].within, check.joints[0].windows);
//! # Ok(())
//! # }
//! ```

use serde::Serialize;
use thiserror::Error;

use crate::identify::additive;
use crate::identify::motion::{MotionBound, RecordedMotion};
use crate::identify::recorded::momentum_rows;
use crate::identify::{IdentifyError, Unknown};
use crate::inertia::{JointParameters, ParameterSet};
use crate::recording::{LogError, MeasurementLog};
use crate::regression::RegressionError;
use crate::regression::filter::Smoothing;
use crate::regression::inverse::moving;
use crate::robot::{Arm, DriveBounds, RobotError, Sensors};
use crate::study::identification::estimators::Estimator;
use crate::study::identification::{
    Delay, DelayFinding, Findings, IdentificationStudy, StudyError, StudyOptions,
};

pub mod check;
pub mod learnt;
pub mod lines;
pub mod noise;
pub mod profile;

pub use check::{Excursion, JointCheck, ProfileCheck};
pub use noise::{NoiseFloor, WhiteNoise};

/// Accelerations are taken to stay below this many times the largest that a filter over few samples sees.
const ACCELERATION_MARGIN: f64 = 1.5;
/// Samples on each side of that filter.
const ACCELERATION_HALF: usize = 5;

/// How to calibrate.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationOptions {
    /// Bounds are this many times what the recordings need, >= 1.
    pub room: f64,
    /// Length of the windows over which torques are compared, s.
    pub window_s: f64,
    /// How late the torques are against the motion.
    pub delay: Delay,
}

impl Default for CalibrationOptions {
    fn default() -> Self {
        Self { room: 1.5, window_s: 0.1, delay: Delay::Automatic }
    }
}

/// Why no profile is made.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// An option is none.
    #[error("{what}: {found}, expected {expected}")]
    Option {
        /// Which.
        what: &'static str,
        /// Its value.
        found: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// There is nothing to learn from.
    #[error("no recording to learn from, expected at least one")]
    NoRecording,
    /// Some recording is given twice.
    #[error("{path}: the same samples as in {other}, expected recordings that differ")]
    SameRecording {
        /// The second.
        path: String,
        /// The first.
        other: String,
    },
    /// Nothing moves in the recordings.
    #[error("joint '{joint}' does not move in any recording: nothing can be said of its friction")]
    Still {
        /// The joint.
        joint: String,
    },
    /// Bounds with which the encoders' readings would agree are not found.
    #[error(
        "no error of the encoders explains the motion of joint '{joint}' at t = {t_s} s: are its velocities, positions and time stamps of one clock?"
    )]
    Encoders {
        /// The joint.
        joint: String,
        /// When, s.
        t_s: f64,
    },
    /// The study fails.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A set or rows of data fail.
    #[error(transparent)]
    Identify(#[from] IdentifyError),
    /// A filter fails.
    #[error(transparent)]
    Regression(#[from] RegressionError),
    /// A recording cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The robot with the profile's figures is none.
    #[error(transparent)]
    Robot(#[from] RobotError),
    /// A profile cannot be written.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What is found of one joint.
#[derive(Debug, Clone, Serialize)]
pub struct JointCalibration {
    /// Its name.
    pub name: String,
    /// Friction of the profile.
    pub friction: JointParameters,
    /// Friction of the robot's own file.
    pub before: JointParameters,
    /// Root mean square of its torque over the recordings, N m.
    pub torque_rms_nm: f64,
    /// And of what the friction found leaves, N m.
    pub error_rms_nm: f64,
    /// Smallest additive torque bound with which its windows can be explained at all, N m: proven.
    pub additive_necessary_nm: f64,
    /// One with which all joints' windows are explained together, N m: proven.
    pub additive_sufficient_nm: f64,
    /// The profile's, N m.
    pub additive_nm: f64,
    /// Noise of its position (rad), velocity (rad/s) and torque (N m).
    pub noise: [NoiseFloor; 3],
}

/// What recordings say of a robot.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// The robot as the profile has it.
    pub robot: Arm,
    /// How it was made.
    pub options: CalibrationOptions,
    /// The recordings learnt from: file and what was done to it.
    pub logs: Vec<(String, Vec<String>)>,
    /// The joints.
    pub joints: Vec<JointCalibration>,
    /// How late the torques are.
    pub delay: DelayFinding,
    /// Windows that the additive bounds are from.
    pub windows: usize,
    /// Bounds of the robot's own file.
    pub sensors_before: Sensors,
    /// The samples learnt from: one that is checked must be another.
    learnt: Vec<MeasurementLog>,
}

impl Calibration {
    /// Learns a profile of `robot` from recordings.
    ///
    /// # Errors
    /// [`CalibrationError`] names the option, the recording or the joint at fault.
    pub fn of(
        robot: &Arm,
        logs: &[MeasurementLog],
        options: &CalibrationOptions,
    ) -> Result<Self, CalibrationError> {
        options.check()?;
        if logs.is_empty() {
            return Err(CalibrationError::NoRecording);
        }
        for (k, log) in logs.iter().enumerate() {
            differs(log, &logs[..k])?;
        }
        let noise = noise::floors(robot, logs);
        if let Some(j) = noise.iter().position(|of| of[1].moving.samples == 0) {
            return Err(CalibrationError::Still { joint: robot.joints[j].name.clone() });
        }
        let findings = study(robot, logs, options)?;
        let friction = friction(robot, &findings);
        let acceleration = largest_acceleration(robot.dof(), logs)?;
        let sensors = sensors(robot, logs, (&noise, &acceleration), options.room)?;
        let known = robot.with_sensors(sensors)?.with_drives(vec![])?.changed(|stated| {
            for (joint, friction) in stated.model.joints.iter_mut().zip(&friction) {
                joint.friction = *friction;
            }
        })?;
        let in_time = shifted(logs, findings.delay.taken_out_s)?;
        let rows = learnt_rows(&known, &in_time, (&acceleration, &findings.delay), options)?;
        let set = ParameterSet::around_nominal(&known);
        let bound = additive::smallest(&set, &rows.rows, &rows.duration, robot.dof(), robot.end_effector())?;
        let drive = |j: usize| {
            let granted = options.room * bound.sufficient[j];
            DriveBounds {
                unmodelled_nm: round_up(granted.max(robot.drive(j).unmodelled_nm)),
                ..robot.drive(j)
            }
        };
        let joint = |j: usize| JointCalibration {
            name: robot.joints[j].name.clone(),
            friction: friction[j],
            before: robot.joints[j].friction,
            torque_rms_nm: findings.joints[j].torque_rms_nm,
            error_rms_nm: findings.joints[j].fit_rms_nm,
            additive_necessary_nm: bound.necessary[j],
            additive_sufficient_nm: bound.sufficient[j],
            additive_nm: drive(j).unmodelled_nm,
            noise: noise[j],
        };
        Ok(Self {
            joints: (0..robot.dof()).map(joint).collect(),
            robot: known.with_drives((0..robot.dof()).map(drive).collect())?,
            options: options.clone(),
            logs: findings.logs.iter().map(|log| (log.path.clone(), log.notes.clone())).collect(),
            delay: findings.delay,
            windows: rows.windows(),
            sensors_before: robot.sensors().clone(),
            learnt: logs.to_vec(),
        })
    }

    /// How the profile does on a recording that it was not learnt from.
    ///
    /// # Errors
    /// [`CalibrationError::SameRecording`] for one that it was, and as [`Calibration::of`].
    pub fn check(&self, log: &MeasurementLog) -> Result<ProfileCheck, CalibrationError> {
        differs(log, &self.learnt)?;
        let in_time = shifted(std::slice::from_ref(log), self.delay.taken_out_s)?;
        let acceleration = largest_acceleration(self.robot.dof(), std::slice::from_ref(log))?;
        let rows = learnt_rows(&self.robot, &in_time, (&acceleration, &self.delay), &self.options)?;
        Ok(check::of_rows(&self.robot, log, &rows))
    }
}

impl CalibrationOptions {
    fn check(&self) -> Result<(), CalibrationError> {
        let all = [
            ("room", self.room, self.room >= 1.0, "a finite number >= 1"),
            ("window", self.window_s, self.window_s > 0.0, "a finite number of s above 0"),
        ];
        match all.into_iter().find(|(_, x, fine, _)| !(*fine && x.is_finite())) {
            Some((what, found, _, expected)) => Err(CalibrationError::Option { what, found, expected }),
            None => Ok(()),
        }
    }
}

/// Refuses a recording whose samples are those of another.
fn differs(log: &MeasurementLog, others: &[MeasurementLog]) -> Result<(), CalibrationError> {
    match others.iter().find(|other| other.samples == log.samples) {
        Some(other) => Err(CalibrationError::SameRecording {
            path: log.path.display().to_string(),
            other: other.path.display().to_string(),
        }),
        None => Ok(()),
    }
}

fn shifted(logs: &[MeasurementLog], delay_s: f64) -> Result<Vec<MeasurementLog>, LogError> {
    logs.iter().map(|log| log.clone().with_torque_delay(delay_s)).collect()
}

/// Friction and delay of the recordings.
fn study(
    robot: &Arm,
    logs: &[MeasurementLog],
    options: &CalibrationOptions,
) -> Result<Findings, CalibrationError> {
    let period = logs.iter().map(|log| log.period_s).fold(f64::INFINITY, f64::min);
    let options = StudyOptions {
        unknown: Unknown::Friction,
        method: Some(Estimator::InverseDynamics),
        smoothing: Smoothing::usual(period),
        window_s: options.window_s,
        acceleration: None,
        torque_abs_nm: vec![0.0; robot.dof()],
        delay: options.delay,
        frame: None,
        stated: None,
        margin: 2.0,
    };
    let prior = Unknown::Friction.default_prior(robot);
    let study = IdentificationStudy { robot, prior: &prior, logs, validation: None, options: &options };
    Ok(study.run()?)
}

/// The friction that a study found, with figures that a file can hold.
fn friction(robot: &Arm, findings: &Findings) -> Vec<JointParameters> {
    let first = robot.friction_index(0);
    let values = |j: usize| {
        let at = robot.joint_index(j);
        let of = |index: usize| short(findings.parameters[index - first].estimate);
        JointParameters {
            coulomb: of(at.coulomb).max(0.0),
            viscous: of(at.viscous).max(0.0),
            armature: of(at.armature).max(0.0),
            offset: of(at.offset),
        }
    };
    (0..robot.dof()).map(values).collect()
}

/// Bounds of the sensors: noise with room, the velocities' so wide that the encoders' readings contradict them nowhere.
fn sensors(
    robot: &Arm,
    logs: &[MeasurementLog],
    (noise, acceleration): (&[[NoiseFloor; 3]], &[f64]),
    room: f64,
) -> Result<Sensors, CalibrationError> {
    let peak = |k: usize| noise.iter().map(|of| of[k].peak()).fold(0.0, f64::max);
    // What springs need is no noise of an encoder.
    let (all, encoders) = (robot.sensors(), robot.encoders());
    let springs =
        [all.position_rad - encoders.position_rad, all.velocity_rad_s - encoders.velocity_rad_s, 0.0];
    let bound = |peak: f64, k: usize| round_up((room * peak).max(f64::EPSILON) + springs[k]);
    let of_noise = |k: usize| bound(peak(k), k);
    let of_joint = |(_, own): (&f64, &[NoiseFloor; 3])| bound(own[2].peak(), 2);
    let mut sensors = Sensors {
        position_rad: of_noise(0),
        velocity_rad_s: of_noise(1),
        torque_abs_nm: of_noise(2),
        // Joint by joint where the robot's file has it so: what the profile extends must not have the last word.
        torque_abs_of_joints_nm: all.torque_abs_of_joints_nm.iter().zip(noise).map(of_joint).collect(),
        ..*all
    };
    let stated = robot.with_sensors(sensors.clone())?;
    let broken = RecordedMotion { robot: &stated, logs, acceleration }.broken();
    let mut factor = 1.0f64;
    for found in broken {
        let enough = found.remedies.iter().find(|r| r.bound == MotionBound::Velocity).and_then(|r| r.enough);
        let joint = robot.joints[found.joint].name.clone();
        let (t, over_s, log) = (found.t, found.over_s, logs[found.log].path.display());
        let reason = "positions and velocities contradict one another within the sensors' noise";
        tracing::warn!(t, joint, %log, over_s, reason, "assumption broken");
        factor = factor.max(enough.ok_or(CalibrationError::Encoders { joint, t_s: found.t })?);
    }
    if factor > 1.0 {
        sensors.velocity_rad_s = round_up(room * factor * sensors.velocity_rad_s);
    }
    Ok(sensors)
}

/// Bounds on the accelerations of the recordings, rad/s^2.
fn largest_acceleration(joints: usize, logs: &[MeasurementLog]) -> Result<Vec<f64>, RegressionError> {
    let smoothing = Smoothing::SavitzkyGolay { half: ACCELERATION_HALF, degree: 2 };
    let mut largest = vec![0.0f64; joints];
    for log in logs {
        for sample in moving(log, smoothing)? {
            largest.iter_mut().zip(&sample.ddq).for_each(|(l, a)| *l = l.max(a.abs()));
        }
    }
    Ok(largest.iter().map(|l| ACCELERATION_MARGIN * l).collect())
}

/// Rows of data of recordings whose torques are in time, without those of joints at their speed limit.
fn learnt_rows(
    robot: &Arm,
    logs: &[MeasurementLog],
    (acceleration, delay): (&[f64], &DelayFinding),
    options: &CalibrationOptions,
) -> Result<crate::identify::recorded::RecordedRows, IdentifyError> {
    let set = ParameterSet::around_nominal(robot);
    let mut rows = momentum_rows(robot, &set, logs, options.window_s, acceleration, delay.left_s)?;
    rows.forget_speed_limited(robot);
    Ok(rows)
}

/// Four significant digits.
fn short(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { format!("{x:.3e}").parse().unwrap_or(x) }
}

/// Three significant digits, rounded up.
fn round_up(x: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return x;
    }
    let nearest: f64 = format!("{x:.2e}").parse().unwrap_or(x);
    if nearest >= x { nearest } else { format!("{:.2e}", x * 1.01).parse().unwrap_or(x).max(x) }
}

#[cfg(test)]
mod tests;
