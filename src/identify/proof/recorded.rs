//! Sets from recordings: what they rest on, and their proof repeated from the recordings.
//!
//! Rows of recordings are made with the prior alone, so all of them are made at once, by the code that made them for the study
//! ([`numbered_rows`], [`wider`]), and a proof refers to them by their numbers. What follows from the recordings is derived from them: the
//! clock of each, what of the delay is taken out and left, the part of each that wider bounds are for. The rest of [`Premises`] is
//! what one has to believe.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::check::{Checked, ProofError, Replay, Row, check_head, malformed};
use super::{ProofStep, SetProof};
use crate::identify::Unknown;
use crate::identify::motion::RecordedMotion;
use crate::identify::polytope::{Rows, Source};
use crate::identify::recorded::{clock_of, delay_taken_out, derived_beyond, numbered_rows, wider};
use crate::identify::window::Clock;
use crate::inertia::ParameterSet;
use crate::recording::{LogFormat, MeasurementLog};
use crate::robot::{Arm, Sensors};

/// What the rows of recordings rest on, beside the robot with the bounds on its sensors and the prior.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Premises {
    /// What was to be found.
    pub unknown: Unknown,
    /// The files of the recordings in their order; empty where these are at hand.
    pub files: Vec<LogFile>,
    /// What is known of the time between samples, a recording each. It is compared with what the recordings say themselves.
    pub clocks: Vec<Clock>,
    /// Length of a momentum window, s.
    pub window_s: f64,
    /// Bound on |ddq_j|, rad/s^2.
    pub acceleration_bound: Vec<f64>,
    /// Whether that bound was found in the recordings, or else stated.
    pub acceleration_from_logs: bool,
    /// Mean torque error over a window beyond the sensor bounds, N m, a joint each.
    pub torque_abs_nm: Vec<f64>,
    /// The torques are late against the motion by a constant time between these two, s.
    pub delay_s: [f64; 2],
    /// Whether that was found in the recordings, or else stated.
    pub delay_from_logs: bool,
    /// The stated bounds are refuted, and the set is for these.
    pub wider: Option<WiderBounds>,
}

/// A recording's file and how to read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct LogFile {
    /// Where it was.
    pub path: PathBuf,
    /// SHA-256 of all its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Whether its angles are in degrees.
    pub degrees: bool,
    /// Topic that was asked for.
    pub topic: Option<String>,
    /// What its columns are called, and what else was done on reading it.
    #[serde(default)]
    pub format: LogFormat,
    /// Samples from the first of each of these times to the second, s, were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out_s: Vec<[f64; 2]>,
}

/// Bounds wider than the stated ones, found on the first part of each recording.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct WiderBounds {
    /// Error of measured positions, rad.
    pub position_rad: f64,
    /// Error of measured velocities, rad/s.
    pub velocity_rad_s: f64,
    /// Mean torque error of every joint over a window beyond `torque_abs_nm`, N m.
    pub torque_nm: f64,
    /// They are so many times what that part needs.
    pub margin: f64,
}

/// Recordings in time, and the bounds on the sensors that their rows are made with.
struct Part {
    robot: Arm,
    logs: Vec<MeasurementLog>,
    /// What is left of the torques' delay, s.
    left_s: f64,
}

/// Repeats the proof of a set from its recordings, which are in the order of the study and as they were read.
///
/// **Why what it returns holds.** As for [`super::check`], with rows that hold for all of the prior ([`crate::identify::recorded`]) under what
/// [`Premises`] states. Readings that contradict the stated bounds are refused: of nothing that is false anything could be proven.
///
/// # Errors
/// [`ProofError`] names the first part of the file that is malformed or contradicts the recordings, or bound that cannot be proven.
pub fn check_recorded(proof: &SetProof, logs: &[MeasurementLog]) -> Result<Checked, ProofError> {
    check_head(proof)?;
    let Some(premises) = &proof.recorded else {
        return Err(malformed("recorded", "the set of a run, expected one from recordings"));
    };
    premises.check_numbers(&proof.robot)?;
    let part = premises.part_in_use(&proof.robot, logs)?;
    let made = premises.rows(&part, &proof.prior)?;
    let row = |source: &Source| match *source {
        Source::Recorded([number]) if (number as usize) < made.len() => Ok(Some(row(&made, number as usize))),
        _ => Err(malformed(
            "rows",
            format!("expected numbers below {}, the rows of the recordings", made.len()),
        )),
    };
    let rows = proof.rows.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    for (k, step) in proof.steps.iter().enumerate() {
        let known = match step {
            ProofStep::Physics { .. } => true,
            ProofStep::Update { windows, .. } => windows.is_empty(),
            ProofStep::Strips { .. } => false,
        };
        if !known {
            let reason = "expected bounds of single parameters, by rows of the recordings";
            return Err(malformed(format!("step {k}"), reason));
        }
    }
    let prior = match premises.wider {
        Some(_) => wider::with_gain(&proof.prior),
        None => proof.prior.part(0..proof.prior.len()),
    };
    let mut checked = Replay::new(proof, prior, &[], rows).run()?;
    for set in checked.after.iter_mut().chain([&mut checked.set]) {
        *set = set.part(0..proof.prior.len());
    }
    Ok(Checked { acceleration_bound: premises.acceleration_bound.clone(), ..checked })
}

fn row(rows: &Rows, w: usize) -> Row {
    (rows.y.row(w).iter().copied().collect(), rows.u[w], rows.radius[w])
}

impl Premises {
    /// Numbers that are none of their kind.
    fn check_numbers(&self, robot: &Arm) -> Result<(), ProofError> {
        let n = robot.dof();
        let bounds = |values: &[f64]| values.len() == n && values.iter().all(|x| *x >= 0.0 && x.is_finite());
        let [low, high] = self.delay_s;
        let wider = self.wider.is_none_or(|w| {
            let Sensors { position_rad, velocity_rad_s, .. } = *robot.sensors();
            let finite =
                [w.position_rad, w.velocity_rad_s, w.torque_nm, w.margin].iter().all(|x| x.is_finite());
            let grown = w.position_rad >= position_rad && w.velocity_rad_s >= velocity_rad_s;
            finite && grown && w.torque_nm >= 0.0 && w.margin >= 1.0
        });
        let checks = [
            ("window_s", self.window_s > 0.0 && self.window_s.is_finite(), "a time > 0"),
            ("acceleration_bound", bounds(&self.acceleration_bound), "finite numbers >= 0, a joint each"),
            ("torque_abs_nm", bounds(&self.torque_abs_nm), "finite numbers >= 0, a joint each"),
            ("delay_s", low <= high && low.is_finite() && high.is_finite(), "finite times, low and high"),
            ("wider", wider, "finite numbers, none below the stated bound, and a margin of at least 1"),
        ];
        match checks.iter().find(|(_, good, _)| !good) {
            Some((field, _, expected)) => {
                Err(malformed(format!("recorded.{field}"), format!("expected {expected}")))
            }
            None => Ok(()),
        }
    }

    /// The recordings that rows are made from. Their motion must be one that the bounds allow.
    fn part_in_use(&self, robot: &Arm, logs: &[MeasurementLog]) -> Result<Part, ProofError> {
        let place = |k: usize| format!("recording {k}");
        if logs.len() != self.clocks.len() || logs.is_empty() {
            let reason = format!("{} recordings, expected {}", logs.len(), self.clocks.len().max(1));
            return Err(malformed("recorded", reason));
        }
        if let Some((log, needed)) = derived_beyond(robot, logs, &self.acceleration_bound) {
            let path = log.path.display();
            return Err(ProofError::Contradicted(format!(
                "{path}: velocities from its positions may be off by {needed} rad/s, more than the stated bound"
            )));
        }
        let (taken_s, left_s) = delay_taken_out(robot, logs, self.delay_s);
        let in_time = |logs: &[MeasurementLog]| -> Result<Vec<MeasurementLog>, ProofError> {
            let late = logs.iter().enumerate().map(|(k, log)| {
                let log = log.clone().with_torque_delay(taken_s);
                log.map_err(|error| malformed(place(k), error.to_string()))
            });
            late.collect()
        };
        let whole = in_time(logs)?;
        for (k, (log, stated)) in whole.iter().zip(&self.clocks).enumerate() {
            if clock_of(robot, log) != *stated {
                let reason = "its time stamps have another clock than stated: that of the control loop, or a recording's own";
                return Err(malformed(place(k), reason));
            }
        }
        // Encoders are compared with encoders as recorded, whatever the torques' delay.
        let Some(bounds) = self.wider else {
            self.check_motion(robot, logs)?;
            return Ok(Part { robot: robot.clone(), logs: whole, left_s });
        };
        let (used, held) = wider::parted(logs)
            .ok_or_else(|| malformed("recorded", "a recording is too short to hold a part of it out"))?;
        let motion = RecordedMotion { robot, logs: &used, acceleration: &self.acceleration_bound };
        let needed = motion.sensors_needed(bounds.margin);
        let enough =
            |s: Sensors| s.position_rad <= bounds.position_rad && s.velocity_rad_s <= bounds.velocity_rad_s;
        if !needed.is_some_and(enough) {
            let margin = bounds.margin;
            let reason = format!(
                "smaller than {margin} times what the motion in the first part of the recordings needs"
            );
            return Err(malformed("recorded.wider", reason));
        }
        let (position_rad, velocity_rad_s) = (bounds.position_rad, bounds.velocity_rad_s);
        let sensors = Sensors { position_rad, velocity_rad_s, ..robot.sensors().clone() };
        let robot =
            robot.with_sensors(sensors).map_err(|error| malformed("recorded.wider", error.to_string()))?;
        self.check_motion(&robot, &used)?;
        self.check_motion(&robot, &held)?;
        Ok(Part { robot, logs: in_time(&used)?, left_s })
    }

    fn check_motion(&self, robot: &Arm, logs: &[MeasurementLog]) -> Result<(), ProofError> {
        let motion = RecordedMotion { robot, logs, acceleration: &self.acceleration_bound };
        let found = motion.broken();
        match found.first() {
            Some(broken) => Err(ProofError::Contradicted(format!(
                "{}: joint '{}' moves until t = {} s as the stated bounds on encoders and accelerations do not allow",
                logs[broken.log].path.display(),
                robot.joints[broken.joint].name,
                broken.t
            ))),
            None => Ok(()),
        }
    }

    /// All rows that a proof may refer to.
    fn rows(&self, part: &Part, prior: &ParameterSet) -> Result<Rows, ProofError> {
        let Part { robot, logs, left_s } = part;
        let made = numbered_rows(robot, prior, logs, self.window_s, &self.acceleration_bound, *left_s);
        let mut data = made.map_err(|error| malformed("recorded", error.to_string()))?;
        data.rows = data.granting(&self.torque_abs_nm);
        Ok(match self.wider {
            Some(bounds) => wider::gain_left_open(&data, bounds.torque_nm, robot.dof()),
            None => data.rows,
        })
    }
}
