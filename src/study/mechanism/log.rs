//! Readings of a mechanism from a file, put on the even times of its steps.

use std::f64::consts::PI;
use std::path::Path;

use super::file::MechanismLog;
use crate::discrete::{EncoderLog, Mechanism};
use crate::estimate::error::EstimateError;
use crate::recording::{AngleUnit, ColumnNames, LogFormat, LogRequest, MeasurementLog, Sample};
use crate::simulate::tree_model;
use crate::study::estimation::field_error;

/// A change from one reading to the next beyond this share of half a turn may have been one the other way round.
const AMBIGUOUS: f64 = 0.9;

/// What a file gave.
pub(super) struct ReadLog {
    pub log: EncoderLog,
    /// Angles at all times, those between readings on lines.
    pub angles: Vec<Vec<f64>>,
    /// Time of the first reading, s.
    pub first_s: f64,
    pub notes: Vec<String>,
}

/// Reads the log that the problem at `problem` names.
pub(super) fn read(
    problem: &Path,
    file: &MechanismLog,
    mechanism: &Mechanism,
    step_s: f64,
) -> Result<ReadLog, EstimateError> {
    let refuse = |reason: String| field_error(problem, "log.file", reason);
    let model = tree_model("mechanism", mechanism).map_err(|e| refuse(e.to_string()))?;
    let columns = match file.columns.as_ref().map(|text| text.parse::<ColumnNames>()).transpose() {
        Ok(columns) => columns.unwrap_or_default(),
        Err(reason) => return Err(field_error(problem, "log.columns", reason)),
    };
    let request = LogRequest {
        unit: if file.degrees { AngleUnit::Degrees } else { AngleUnit::Radians },
        range_s: file.range_s,
        format: LogFormat { columns, velocity_half: Some(1), ..LogFormat::default() },
        ..LogRequest::default()
    };
    let path = problem.parent().unwrap_or(Path::new(".")).join(&file.file);
    let found = MeasurementLog::read_request(&path, &model, &request).map_err(|e| refuse(e.to_string()))?;
    if let Some((t, joint)) = ambiguous(&found, mechanism) {
        return Err(refuse(format!(
            "{}: `{joint}` changes by nearly half a turn from one reading to the next at {t:.4} s; the turns of an encoder \
             that wraps cannot be counted there, expected readings at shorter intervals",
            path.display()
        )));
    }
    let mut out = on_steps(&found, mechanism, step_s);
    if out.log.angles.len() < 3 {
        return Err(refuse(format!("{}: too short for three steps of {step_s} s", path.display())));
    }
    out.notes.extend(found.cut_off.clone());
    if found.unwrapped > 0 {
        out.notes.push(format!("{}: {} full turns were undone", path.display(), found.unwrapped));
    }
    Ok(out)
}

/// Time and joint of the first change that may have been one the other way round.
fn ambiguous(log: &MeasurementLog, mechanism: &Mechanism) -> Option<(f64, String)> {
    for segment in &log.segments {
        for pair in log.samples[segment.clone()].windows(2) {
            let wide = |j: &usize| !((pair[1].q[*j] - pair[0].q[*j]).abs() < AMBIGUOUS * PI);
            if let Some(j) = (0..pair[0].q.len()).find(wide) {
                return Some((pair[1].t, mechanism.joints[j].name.clone()));
            }
        }
    }
    None
}

fn on_steps(found: &MeasurementLog, mechanism: &Mechanism, step_s: f64) -> ReadLog {
    let samples = &found.samples;
    let (first_s, last_s) = (samples[0].t, samples[samples.len() - 1].t);
    let count = ((last_s - first_s) / step_s).floor() as usize + 1;
    let gap = |t: f64| found.gaps.iter().any(|g| t > g.from_s && t < g.to_s);
    let mut out =
        ReadLog { log: EncoderLog { step_s, ..Default::default() }, angles: vec![], first_s, notes: vec![] };
    let mut at = 0;
    for k in 0..count {
        let t = first_s + k as f64 * step_s;
        while at + 2 < samples.len() && samples[at + 1].t <= t {
            at += 1;
        }
        let angles = between(samples, at, t, |s| &s.q);
        let (from, to) = (t - 0.5 * step_s, t + 0.5 * step_s);
        let begin = samples.partition_point(|s| s.t < from);
        let inside: Vec<&Sample> = samples[begin..].iter().take_while(|s| s.t < to).collect();
        let torques = if inside.is_empty() {
            between(samples, at, t, |s| &s.tau)
        } else {
            let mean = |j: usize| inside.iter().map(|s| s.tau[j]).sum::<f64>() / inside.len() as f64;
            (0..mechanism.joints.len()).map(mean).collect()
        };
        let motor = |(tau, joint): (f64, &crate::discrete::mechanism::HeldJoint)| {
            if joint.motor().gain == 0.0 { 0.0 } else { tau }
        };
        out.log.controls.push(torques.into_iter().zip(&mechanism.joints).map(motor).collect());
        out.log.angles.push(if gap(t) { vec![f64::NAN; angles.len()] } else { angles.clone() });
        out.angles.push(angles);
    }
    out
}

/// On the line between the samples before and behind `t`.
fn between(samples: &[Sample], at: usize, t: f64, of: impl Fn(&Sample) -> &Vec<f64>) -> Vec<f64> {
    let (a, b) = (&samples[at], &samples[(at + 1).min(samples.len() - 1)]);
    let share = if b.t > a.t { ((t - a.t) / (b.t - a.t)).clamp(0.0, 1.0) } else { 0.0 };
    of(a).iter().zip(of(b)).map(|(a, b)| a + share * (b - a)).collect()
}
