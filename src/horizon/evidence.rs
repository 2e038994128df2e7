//! What the measurements said against the assumptions, and what was missing of them: when, which joint, and by how much the sensors
//! would have to be worse than stated, at least, for everything else to be true.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::nullable::number;
use crate::control::StartFault;
use crate::identify::IdentifyError;
use crate::reach::{TrackingTube, Tube};
use crate::robot::{Arm, Zonotope3};

/// A proof that the assumptions do not all hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Broken {
    /// When, s: the tick, or the end of the window.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// Name of the joint that contradicts the most; `None` where it is no matter of joints.
    pub joint: Option<String>,
    /// Factor, > 1, that the bounds which `evidence` names would have to be larger by *at least*; nothing says that it is enough.
    /// `None` where no error of theirs explains it.
    #[serde(alias = "by")]
    pub at_least: Option<f64>,
    /// Where it shows.
    pub evidence: Evidence,
    /// All of it in words.
    pub text: String,
}

/// Where a broken assumption shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The tracking energy V passed what the proof allows; the encoders' bounds would have to grow.
    Tracking,
    /// The encoders moved as no arm within the proven accelerations can, or say nothing; the encoders' bounds would have to grow.
    Motion,
    /// The time stamps run backwards.
    Clock,
    /// No parameters that earlier data left explain the measured motion and torques; the error radii of the rows of data (sensors,
    /// quadrature, arm) would have to grow. A radius grows faster than the sensors' bounds do.
    Data,
    /// The law asked for more torque than the limit, which is proven never to happen.
    Torque,
    /// Torques or speeds swung to and fro, as no proven motion does.
    Chatter,
    /// An obstacle was seen farther away from where it was than its speed allows; that speed would have to grow.
    Obstacle,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Evidence::Tracking => "tracking",
            Evidence::Motion => "motion",
            Evidence::Clock => "clock",
            Evidence::Data => "data",
            Evidence::Torque => "torque",
            Evidence::Chatter => "chatter",
            Evidence::Obstacle => "obstacle",
        })
    }
}

/// The gentle stop of a run: what it was that the tube was given up for, and when.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct StopRecord {
    /// The first tick whose torques were the stop's, s.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// Why, in words.
    pub reason: String,
}

/// A time without measurements; no window of data reaches over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct MeasurementGap {
    /// Last sample before it, s.
    pub from_s: f64,
    /// First sample after it, s.
    pub to_s: f64,
}

/// What the identifier found, at time `t` at the latest.
pub(super) fn of_data(robot: &Arm, t: f64, error: &IdentifyError) -> Broken {
    let (t, joint, at_least, evidence) = match *error {
        IdentifyError::AssumptionBroken { t, joint, by } => (t, Some(joint), Some(by), Evidence::Data),
        IdentifyError::Jump { t, joint, by, .. } => (t, Some(joint), Some(by), Evidence::Motion),
        IdentifyError::BadTime { t, .. } => (t, None, None, Evidence::Clock),
        _ => (t, None, None, Evidence::Data),
    };
    let joint = joint.map(|j| robot.joints[j].name.clone());
    let text = match &joint {
        Some(name) => format!("joint '{name}': {error}"),
        None => error.to_string(),
    };
    Broken { t, joint, at_least, evidence, text }
}

/// The arm does not stand where its first plan starts.
pub(super) fn of_start(robot: &Arm, tube: &TrackingTube, t: f64, fault: StartFault) -> Broken {
    let StartFault { joint, error_rad, share } = fault;
    let name = robot.joints[joint].name.clone();
    let would = match tube {
        TrackingTube::Energy(tube) => format!("V may be {share:.1} times V_max = {} J", tube.gains.v_max),
        TrackingTube::Momentum(_) => format!("its errors may be {share:.1} times the bounds of the tube"),
    };
    let text = format!(
        "joint '{name}': the arm does not stand where its first plan starts: it is {error_rad:.5} rad off, with that {would}; it was not released"
    );
    Broken { t, joint: Some(name), at_least: None, evidence: Evidence::Tracking, text }
}

/// An encoder says nothing.
pub(super) fn of_silence(robot: &Arm, t: f64, joint: usize) -> Broken {
    let name = robot.joints[joint].name.clone();
    let text = format!("joint '{name}': the encoder's reading is no number at t = {t:.3} s");
    Broken { t, joint: Some(name), at_least: None, evidence: Evidence::Motion, text }
}

/// The controller stopped for another reason than V and the encoders.
pub(super) fn of_stop(robot: &Arm, t: f64, (joint, chatters): (usize, bool)) -> Broken {
    let name = robot.joints[joint].name.clone();
    let (evidence, what) = match chatters {
        true => (Evidence::Chatter, "torque or speed swings to and fro"),
        false => (Evidence::Torque, "the law asks for more than the torque limit"),
    };
    let text = format!("joint '{name}': {what} at t = {t:.3} s, which is proven not to happen");
    Broken { t, joint: Some(name), at_least: None, evidence, text }
}

/// The momentum error of a joint is so many times the radius that is proven, whatever the encoders' errors.
pub(super) fn of_momentum(robot: &Arm, t: f64, (joint, share): (usize, f64)) -> Broken {
    let name = robot.joints[joint].name.clone();
    let text = format!(
        "joint '{name}': its momentum error is {share:.2} times what the tube allows at t = {t:.3} s, which is proven not to happen"
    );
    Broken { t, joint: Some(name), at_least: None, evidence: Evidence::Tracking, text }
}

/// Ticks are farther apart than the robot's file says, or time runs backwards.
pub(super) fn of_ticks(robot: &Arm, t: f64, passed_s: f64) -> Broken {
    let (period, jitter) = (robot.gains().period_s, robot.timing().jitter_max_s);
    let text = format!(
        "the tick at t = {t:.6} s comes {passed_s:.6} s after the one before, expected {period} s and at most {jitter} s more"
    );
    Broken { t, joint: None, at_least: None, evidence: Evidence::Clock, text }
}

/// An obstacle has moved so far (m) in so long (s), more than its speed allows.
pub(super) fn of_obstacle(obstacle: &Zonotope3, (moved, elapsed): (f64, f64), t: f64) -> Broken {
    let (name, speed) = (&obstacle.name, obstacle.speed_m_s);
    let at_least = Some(moved / (speed * elapsed)).filter(|by| by.is_finite());
    let text = format!(
        "obstacle '{name}': it moved by {moved:.3} m within {elapsed:.3} s until t = {t:.3} s, faster than its speed_m_s of {speed}"
    );
    Broken { t, joint: None, at_least, evidence: Evidence::Obstacle, text }
}

/// An obstacle is said to have been seen after now.
pub(super) fn of_future(obstacle: &str, t: f64, now: f64) -> Broken {
    let text = format!("obstacle '{obstacle}': seen at {t} s, which is after now, {now} s");
    Broken { t: now, joint: None, at_least: None, evidence: Evidence::Clock, text }
}

/// V has passed what the tube allows. `r` is what the encoders make of r_j = de_j + K_r e_j (rad/s), `floor` the energy that V has at least (J).
///
/// With encoder errors of s times their bounds, and with the floor A of the tube, |r_j| >= |r^_j| - s (delta_dq + K_r delta_q) and V >= sum A_j r_j^2 / 2;
/// the smallest s for which that does not pass V_max is the factor.
pub(super) fn of_energy(robot: &Arm, tube: &Tube, r: &[f64], t: f64, floor: f64) -> Broken {
    let unit = robot.sensors().velocity_rad_s + tube.gains.k_r * robot.sensors().position_rad;
    let share = |s: f64, j: usize| 0.5 * tube.inertia_floor[j] * (r[j].abs() - s * unit).max(0.0).powi(2);
    let energy = |s: f64| (0..r.len()).map(|j| share(s, j)).sum::<f64>();
    let joint = (0..r.len()).max_by(|&a, &b| share(0.0, a).total_cmp(&share(0.0, b)));
    let fastest = r.iter().fold(0.0_f64, |most, r| most.max(r.abs()));
    let at_least = (unit > 0.0).then(|| {
        // energy(low) > V_max >= energy(high).
        let (mut low, mut high) = (0.0, fastest / unit);
        while high - low > 1e-6 * high {
            let middle = 0.5 * (low + high);
            if energy(middle) > tube.gains.v_max { low = middle } else { high = middle }
        }
        low
    });
    let joint = joint.map(|j| robot.joints[j].name.clone());
    let whose = joint.as_deref().map_or(String::new(), |name| format!("joint '{name}': "));
    let grown = at_least.map_or(String::new(), |by| {
        format!("; the encoders' error bounds would have to be at least {by:.1} times as large")
    });
    let text =
        format!("{whose}V >= {floor:.4} J above V_max = {} J at t = {t:.3} s{grown}", tube.gains.v_max);
    Broken { t, joint, at_least, evidence: Evidence::Tracking, text }
}
