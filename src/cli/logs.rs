//! What `surelift identify` is told of its recordings, and how it reads them.

use std::path::{Path, PathBuf};

use clap::Args;

use super::log::warn;
use super::log_identity::hash;
use super::{Failure, warn_of_cut};
use crate::identify::recorded::derived_velocity_error;
use crate::recording::{AngleUnit, ColumnNames, LogError, LogFormat, LogRequest, MeasurementLog, best_half};
use crate::regression::filter::Smoothing;
use crate::regression::inverse::moving;
use crate::robot::{Arm, Model};
use crate::study::hints::torque_hints;

/// How recordings are to be understood.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "How the recordings are to be read")]
pub struct LogArgs {
    /// Topic of the joint states in MCAP files; needed where several topics have any
    #[arg(long, value_name = "TOPIC")]
    pub topic: Option<String>,
    /// Angles in the logs are in degrees, speeds in degrees/s
    #[arg(long)]
    pub degrees: bool,
    /// What the columns of CSV files are called, where not t, q1.., dq1.., tau1..: `t=time:ms,q=pos_{}:deg,dq=vel_{},tau=eff_{}`. {} is the
    /// joint's number from 1, {0} that from 0, {name} its name; a unit may follow: s, ms, us, ns of t, rad, deg of q and dq
    #[arg(long, value_name = "QUANTITY=NAME,..")]
    pub columns: Option<ColumnNames>,
    /// Multiply torques by this, sign and all: one number for all joints or one each
    #[arg(long, value_name = "K,..", value_delimiter = ',', allow_hyphen_values = true)]
    pub torque_scale: Vec<f64>,
    /// Leave out rows with a number that is none, too few or too many fields, or a time that goes back; their count is said
    #[arg(long)]
    pub skip_bad: bool,
    /// Leave the samples between these times out of every log, s: times at which something pushed
    #[arg(long, value_name = "S..S,..", value_delimiter = ',', allow_negative_numbers = true, value_parser = times)]
    pub without: Vec<LeftOut>,
}

/// From when to when samples are left out, s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeftOut(pub(super) [f64; 2]);

/// `15.8..16.4`
fn times(text: &str) -> Result<LeftOut, String> {
    let numbers = text.split_once("..").map(|(from, to)| (from.parse::<f64>(), to.parse::<f64>()));
    match numbers {
        Some((Ok(from), Ok(to))) if from < to && from.is_finite() && to.is_finite() => {
            Ok(LeftOut([from, to]))
        }
        _ => Err("expected two times, FROM..TO in s, the first before the second".to_owned()),
    }
}

impl LogArgs {
    /// What is asked of each file; a file without velocities gets those of its positions over `half` samples on each side.
    pub(super) fn request(&self, half: usize) -> LogRequest {
        let format = LogFormat {
            columns: self.columns.clone().unwrap_or_default(),
            torque_scale: self.torque_scale.clone(),
            skip_bad: self.skip_bad,
            velocity_half: Some(half),
        };
        LogRequest {
            unit: if self.degrees { AngleUnit::Degrees } else { AngleUnit::Radians },
            topic: self.topic.clone(),
            format,
            left_out_s: self.without.iter().map(|times| times.0).collect(),
            ..LogRequest::default()
        }
    }
}

/// Recordings as they were read.
pub(super) struct ReadLogs {
    pub logs: Vec<MeasurementLog>,
    pub validation: Option<MeasurementLog>,
    /// How they were read.
    pub request: LogRequest,
    /// The robot; its bound on the errors of velocities covers those from positions.
    pub robot: Arm,
}

/// What is read, and with which bounds.
pub(super) struct ToRead<'a> {
    pub args: &'a LogArgs,
    pub logs: &'a [PathBuf],
    pub validate: Option<&'a PathBuf>,
    /// Bound on accelerations, if one is stated.
    pub acceleration: Option<&'a [f64]>,
    /// Length of a momentum window, s.
    pub window_s: f64,
}

impl ToRead<'_> {
    /// Reads all. Where files have no velocities those of their positions are taken, with a bound on their errors in the robot's place.
    ///
    /// # Errors
    /// Bad input if a file cannot be used, or lacks velocities and no bound on accelerations is stated.
    pub(super) fn read(&self, robot: Arm) -> Result<ReadLogs, Failure> {
        warn_of_the_same(self.logs, self.validate)?;
        let mut request = self.args.request(1);
        let mut logs = self.read_as(&request, &robot)?;
        let mut robot = robot;
        if let Some(without) = logs.iter().find(|log| log.derived.is_some()) {
            let Some(acceleration) = self.acceleration else {
                return Err(Failure::Input(format!(
                    "`{}`: no velocities (no column `dq1`); those of the positions are good to a bound that rests on one on the \
                     accelerations: expected --acceleration, rad/s^2 (smoothed, positions show up to {:.3})",
                    without.path.display(),
                    without.accelerations_of_positions()
                )));
            };
            let most = acceleration.iter().copied().fold(0.0, f64::max);
            let half = best_half(robot.sensors().position_rad, most, without.period_s);
            request = self.args.request(half);
            logs = self.read_as(&request, &robot)?;
            let mut sensors = robot.sensors().clone();
            for log in &logs {
                let error = derived_velocity_error(&robot, log, acceleration);
                sensors.velocity_rad_s = sensors.velocity_rad_s.max(error);
            }
            robot = robot.with_sensors(sensors).map_err(|e| Failure::input(&e))?;
            warn(&format!(
                "`{}` has no velocities: those of its positions over {half} sample(s) on each side are taken, good to {:.4} rad/s \
                 by the bounds on positions and accelerations",
                logs.iter()
                    .find(|log| log.derived.is_some())
                    .map_or(Path::new(""), |log| &log.path)
                    .display(),
                robot.sensors().velocity_rad_s
            ));
        }
        logs.iter().for_each(tell);
        let validation = logs.split_off(self.logs.len()).pop();
        Ok(ReadLogs { logs, validation, request, robot })
    }

    /// All files, the one to be predicted last.
    fn read_as(&self, request: &LogRequest, robot: &Arm) -> Result<Vec<MeasurementLog>, Failure> {
        let read = |path: &PathBuf| {
            let log = MeasurementLog::read_request(path, robot, request).map_err(|e| refused(&e))?;
            let panels = (self.window_s / log.period_s).round().max(1.0) as usize;
            log.at_least(panels + 1).map_err(|e| refused(&e))
        };
        self.logs.iter().chain(self.validate).map(read).collect()
    }
}

/// A recording that cannot be used, with the option that may help.
pub(super) fn refused(error: &LogError) -> Failure {
    let hint = match error {
        LogError::MissingColumn { .. } => "; --columns says what columns are called",
        LogError::Implausible { .. } => "; see --degrees, --columns and --torque-scale",
        row if row.is_of_a_row() => "; --skip-bad leaves such rows out",
        _ => "",
    };
    Failure::Input(format!("{error}{hint}"))
}

/// Tells on the standard error what was left out of a recording.
pub(super) fn tell(log: &MeasurementLog) {
    warn_of_cut(log);
    for note in log.notes().iter().filter(|note| note.contains("skipped")) {
        warn(&format!("`{}`: {note}", log.path.display()));
    }
}

/// Warns where a recording that is to be predicted is one that is learnt from.
///
/// # Errors
/// Bad input if a file cannot be read.
pub(super) fn warn_of_the_same(logs: &[PathBuf], validate: Option<&PathBuf>) -> Result<(), Failure> {
    let mut seen: Vec<(_, &PathBuf)> = vec![];
    for path in logs.iter().filter(|path| path.is_file()) {
        let own = hash(path)?;
        match seen.iter().find(|(other, _)| *other == own) {
            Some((_, first)) => warn(&format!(
                "`{}` and `{}` (--log) have the same content: a recording that is counted twice is believed too much",
                first.display(),
                path.display()
            )),
            None => seen.push((own, path)),
        }
    }
    let Some(unseen) = validate.filter(|path| path.is_file()) else { return Ok(()) };
    let own = hash(unseen)?;
    for (_, path) in seen.iter().filter(|(other, _)| *other == own) {
        warn(&format!(
            "`{}` (--validate) has the same content as `{}` (--log): errors there say nothing of unseen data",
            unseen.display(),
            path.display()
        ));
    }
    Ok(())
}

/// Warns of joints whose torques fit with another sign, unit or gear.
///
/// Where a payload is unknown, those that a payload explains are left out.
pub(super) fn tell_hints(robot: &Arm, logs: &[MeasurementLog], smoothing: Smoothing, payload: bool) {
    hint(robot.model(), logs, smoothing, payload);
}

/// As [`tell_hints`], of any robot.
pub(super) fn tell_hints_of(robot: &Model, logs: &[MeasurementLog], smoothing: Smoothing) {
    hint(robot, logs, smoothing, false);
}

fn hint(robot: &Model, logs: &[MeasurementLog], smoothing: Smoothing, payload: bool) {
    // A filter that does not fit is for the study to refuse.
    let samples: Vec<_> = logs.iter().filter_map(|log| moving(log, smoothing).ok()).flatten().collect();
    let hints = torque_hints(robot, &samples);
    hints.iter().filter(|hint| !payload || hint.is_no_payload()).for_each(|hint| warn(&hint.sentence()));
}
