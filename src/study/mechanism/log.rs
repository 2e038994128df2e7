//! Readings of a mechanism from a file, put on the even times of its steps.

use std::f64::consts::PI;
use std::path::Path;

use super::file::MechanismLog;
use super::load::LONGEST;
use crate::discrete::{EncoderLog, Mechanism};
use crate::estimate::error::EstimateError;
use crate::recording::{AngleUnit, ColumnNames, LogFormat, LogRequest, MeasurementLog, Sample};
use crate::simulate::tree_model;
use crate::study::estimation::field_error;

/// A change from one reading to the next beyond this share of half a turn may have been one the other way round.
const AMBIGUOUS: f64 = 0.9;
/// A step has a reading if there is one no farther away than this share of the interval of the readings. Between readings that come less often the line is a guess alone.
const NEAR: f64 = 0.75;
/// Most steps a reading: beyond it, times and steps are hardly in one unit.
const SPARSEST: f64 = 100.0;

/// What a file gave.
pub(super) struct ReadLog {
    pub log: EncoderLog,
    /// Angles at all times, those between readings on lines.
    pub angles: Vec<Vec<f64>>,
    /// Time of the first reading, s.
    pub first_s: f64,
    pub notes: Vec<String>,
}

impl ReadLog {
    /// Forgets all readings but each `n`th, where the model takes `n` steps from one to the next; the first guess leads along lines between them.
    pub(super) fn keep_every(&mut self, n: usize) {
        let count = (self.angles.len() - 1) / n * n + 1;
        self.angles.truncate(count);
        self.log.angles.truncate(count);
        self.log.controls.truncate(count);
        for k in (0..count).filter(|k| k % n != 0) {
            let (before, share) = (k / n * n, (k % n) as f64 / n as f64);
            let pairs = self.angles[before].iter().zip(&self.angles[before + n]);
            self.angles[k] = pairs.map(|(a, b)| a + share * (b - a)).collect();
            self.log.angles[k].fill(f64::NAN);
        }
    }
}

/// Reads the log that the problem at `problem` names; `reading_s` is the interval of its readings, `step_s` that of the model.
pub(super) fn read(
    problem: &Path,
    file: &MechanismLog,
    mechanism: &Mechanism,
    (reading_s, step_s): (f64, f64),
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
    let lasts_s = found.samples[found.samples.len() - 1].t - found.samples[0].t;
    if !(lasts_s / step_s < LONGEST && lasts_s / reading_s < SPARSEST * found.samples.len() as f64) {
        return Err(refuse(format!(
            "{}: {} readings in {lasts_s} s, and steps of {step_s} s; expected a reading at each hundredth step at least, and at most a million steps. \
             Are `step_s` and the times in the file in seconds?",
            path.display(),
            found.samples.len()
        )));
    }
    let mut out = on_steps(&found, mechanism, reading_s, step_s);
    if out.log.angles.len() < 3 {
        return Err(refuse(format!("{}: too short for three steps of {step_s} s", path.display())));
    }
    let near = out.log.angles.iter().filter(|a| a.iter().all(|a| a.is_finite())).count();
    let (all, without_gaps) = (out.log.angles.len(), found.gaps.is_empty());
    if near < all && without_gaps {
        out.notes.push(format!(
            "{}: only {near} of {all} steps of {step_s} s have a reading; with `step_s` as long as its interval and `model_step_s` each has one",
            path.display()
        ));
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

fn on_steps(found: &MeasurementLog, mechanism: &Mechanism, reading_s: f64, step_s: f64) -> ReadLog {
    let samples = &found.samples;
    let (first_s, last_s) = (samples[0].t, samples[samples.len() - 1].t);
    let count = ((last_s - first_s) / step_s).floor() as usize + 1;
    let gap = |t: f64| found.gaps.iter().any(|g| t > g.from_s && t < g.to_s);
    let far = |t: f64, at: usize| {
        let next = (at + 1).min(samples.len() - 1);
        samples[at..=next].iter().all(|s| (s.t - t).abs() > NEAR * reading_s)
    };
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
        out.log.angles.push(if gap(t) || far(t, at) { vec![f64::NAN; angles.len()] } else { angles.clone() });
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
