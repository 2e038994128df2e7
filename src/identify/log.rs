//! Recordings: CSV files with the columns `t, q1.., dq1.., tau1..`, read, checked and cut at their gaps.
//!
//! Nothing is repaired in silence: [`MeasurementLog::notes`] says what was done to the data, and what cannot be
//! understood is refused with file, line and column.

use std::ops::Range;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::window::Sample;
use crate::robot::Robot;

/// Two samples farther apart than this many periods have a gap between them.
const GAP: f64 = 1.5;
/// A speed or torque beyond this many times the joint's limit is taken for a wrong unit.
const IMPLAUSIBLE: f64 = 3.0;
/// The sum of |q steps| and that of |dq| dt may differ by this factor; degrees against radians differ by 57.
const MISMATCH: f64 = 8.0;
/// Motion (rad or m, summed over a joint's samples) below which that comparison says nothing.
const ENOUGH_MOTION: f64 = 0.2;

/// The unit of angles in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AngleUnit {
    /// rad and rad/s.
    #[default]
    Radians,
    /// Degrees and degrees/s, converted on reading (joints that turn only).
    Degrees,
}

/// Why a recording cannot be used. Lines count from 1, the heading being the first.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file cannot be read, or is no text.
    #[error("`{}`: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system or the CSV reader says.
        reason: String,
    },
    /// A column is missing.
    #[error("`{}`, line 1: no column `{column}`; expected `t`, then q1.., dq1.., tau1.. for {joints} joints", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// Its name.
        column: String,
        /// Joints of the robot.
        joints: usize,
    },
    /// A column occurs twice, or belongs to a joint that the robot does not have.
    #[error("`{}`, line 1: column `{column}` {reason}", path.display())]
    BadColumn {
        /// The file.
        path: PathBuf,
        /// Its name.
        column: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A row has too many or too few fields.
    #[error("`{}`, line {line}: {found} fields, expected {expected} as in the heading", path.display())]
    WrongCount {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// Fields in it.
        found: usize,
        /// Fields in the heading.
        expected: usize,
    },
    /// A field is no finite number.
    #[error("`{}`, line {line}, column `{column}`: `{text}`, expected a finite number", path.display())]
    BadNumber {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// What stands there.
        text: String,
    },
    /// Time does not advance.
    #[error("`{}`, line {line}, column `t`: {t} s, expected later than {previous} s on the line before", path.display())]
    TimeBackwards {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// Time there, s.
        t: f64,
        /// Time of the sample before, s.
        previous: f64,
    },
    /// A number is so large that its unit must be wrong.
    #[error(
        "`{}`, line {line}, column `{column}`: {value}, expected at most {IMPLAUSIBLE} times the joint's limit of \
         {limit}; is the unit right (rad, rad/s, N m)?", path.display()
    )]
    Implausible {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The value in SI units.
        value: f64,
        /// The joint's limit in SI units.
        limit: f64,
    },
    /// Positions and velocities of a joint are not of one motion.
    #[error(
        "`{}`, columns `q{joint}` and `dq{joint}`: positions move by {moved:.3} in all, velocities add up to \
         {speeds:.3}; expected the same unit in both", path.display()
    )]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The joint, counted from 1 as in the columns.
        joint: usize,
        /// Sum of |steps of q|.
        moved: f64,
        /// Sum of |dq| dt.
        speeds: f64,
    },
    /// There are too few samples.
    #[error("`{}`: {found} samples, expected at least {expected} without a gap between them", path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Samples in the longest stretch.
        found: usize,
        /// Samples needed.
        expected: usize,
    },
}

/// A place where samples are missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Last sample before it, s.
    pub from_s: f64,
    /// First sample after it, s.
    pub to_s: f64,
}

/// A recording: samples in order of time, cut into segments without gaps.
#[derive(Debug, Clone)]
pub struct MeasurementLog {
    /// The file.
    pub path: PathBuf,
    /// All samples; positions are continuous (not wrapped), SI units.
    pub samples: Vec<Sample>,
    /// Index ranges of `samples` without a gap inside; they cover all samples.
    pub segments: Vec<Range<usize>>,
    /// Median distance between samples, s.
    pub period_s: f64,
    /// Where samples are missing.
    pub gaps: Vec<Gap>,
    /// Full turns that were undone.
    pub unwrapped: usize,
    /// Columns that were not used.
    pub ignored: Vec<String>,
    /// What else was done, in words.
    done: Vec<String>,
}

impl MeasurementLog {
    /// Reads a recording of `robot`.
    ///
    /// Extra columns are ignored (and listed), steps of a turning joint by about a full turn are undone, and samples
    /// more than 1.5 median periods apart are taken to have a gap between them.
    ///
    /// # Errors
    /// [`LogError`] names the file, the line and the column.
    pub fn read(path: impl AsRef<Path>, robot: &Robot, unit: AngleUnit) -> Result<Self, LogError> {
        let reader = Reader::new(path.as_ref(), robot, unit)?;
        reader.log()
    }

    /// What was done to the data, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let (first, last) = (self.samples[0].t, self.samples[self.samples.len() - 1].t);
        let mut notes = vec![format!(
            "{} samples from t = {first:.3} s to {last:.3} s, median period {:.4} s, {} segment(s)",
            self.samples.len(),
            self.period_s,
            self.segments.len()
        )];
        if !self.gaps.is_empty() {
            let longest = self.gaps.iter().map(|g| g.to_s - g.from_s).fold(0.0, f64::max);
            notes.push(format!(
                "{} gap(s) of more than {GAP} periods, the longest {longest:.3} s; each ends a segment",
                self.gaps.len()
            ));
        }
        if self.unwrapped > 0 {
            notes.push(format!("{} full turn(s) of joints undone", self.unwrapped));
        }
        if !self.ignored.is_empty() {
            notes.push(format!("{} column(s) ignored: {}", self.ignored.len(), self.ignored.join(", ")));
        }
        notes.extend(self.done.iter().cloned());
        notes
    }

    /// The log with each torque replaced by the one `delay_s` later (interpolated linearly): for recordings whose torques
    /// lag behind the motion. Samples whose torque would lie beyond the end of their segment are dropped.
    ///
    /// # Errors
    /// [`LogError::TooShort`] if fewer than two samples are left.
    pub fn with_torque_delay(mut self, delay_s: f64) -> Result<Self, LogError> {
        if delay_s == 0.0 {
            return Ok(self);
        }
        let (mut samples, mut segments) = (vec![], vec![]);
        for segment in &self.segments {
            let first = samples.len();
            let old = &self.samples[segment.clone()];
            for sample in old {
                if let Some(tau) = torque_at(old, sample.t + delay_s) {
                    samples.push(Sample { tau, ..sample.clone() });
                }
            }
            if samples.len() > first {
                segments.push(first..samples.len());
            }
        }
        if samples.len() < 2 {
            return Err(LogError::TooShort { path: self.path, found: samples.len(), expected: 2 });
        }
        let dropped = self.samples.len() - samples.len();
        self.done.push(format!(
            "torques taken from {delay_s:.4} s later; {dropped} sample(s) at the ends of segments dropped"
        ));
        (self.samples, self.segments) = (samples, segments);
        Ok(self)
    }

    /// Refuses a log whose longest segment has fewer than `least` samples.
    ///
    /// # Errors
    /// [`LogError::TooShort`].
    pub fn at_least(self, least: usize) -> Result<Self, LogError> {
        let longest = self.segments.iter().map(Range::len).max().unwrap_or(0);
        if longest < least {
            return Err(LogError::TooShort { path: self.path, found: longest, expected: least });
        }
        Ok(self)
    }
}

/// One file on its way to a log.
struct Reader<'a> {
    path: &'a Path,
    robot: &'a Robot,
    unit: AngleUnit,
    file: csv::Reader<std::fs::File>,
    heading: Vec<String>,
    /// Columns of t, then of q, dq, tau joint by joint.
    time: usize,
    columns: [Vec<usize>; 3],
}

const QUANTITIES: [&str; 3] = ["q", "dq", "tau"];

impl<'a> Reader<'a> {
    fn new(path: &'a Path, robot: &'a Robot, unit: AngleUnit) -> Result<Self, LogError> {
        let read = |reason: String| LogError::Read { path: path.to_owned(), reason };
        let mut file = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_path(path)
            .map_err(|e| read(e.to_string()))?;
        let heading: Vec<String> =
            file.headers().map_err(|e| read(e.to_string()))?.iter().map(str::to_owned).collect();
        let mut reader =
            Self { path, robot, unit, file, heading, time: 0, columns: [const { Vec::new() }; 3] };
        reader.time = reader.column("t")?;
        for (k, quantity) in QUANTITIES.iter().enumerate() {
            let found: Result<_, _> =
                (1..=robot.dof()).map(|j| reader.column(&format!("{quantity}{j}"))).collect();
            reader.columns[k] = found?;
            let beyond = format!("{quantity}{}", robot.dof() + 1);
            if reader.heading.contains(&beyond) {
                let reason = format!("is one too many: the robot has {} joints", robot.dof());
                return Err(LogError::BadColumn { path: path.to_owned(), column: beyond, reason });
            }
        }
        Ok(reader)
    }

    fn column(&self, name: &str) -> Result<usize, LogError> {
        let mut places = self.heading.iter().enumerate().filter(|(_, h)| *h == name).map(|(i, _)| i);
        let (path, column) = (self.path.to_owned(), name.to_owned());
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => {
                Err(LogError::BadColumn { path, column, reason: "occurs twice".to_owned() })
            }
            _ => Err(LogError::MissingColumn { path, column, joints: self.robot.dof() }),
        }
    }

    fn log(mut self) -> Result<MeasurementLog, LogError> {
        let mut samples: Vec<Sample> = vec![];
        let mut unwrapped = 0;
        let mut turns = vec![0.0; self.robot.dof()];
        let mut record = csv::StringRecord::new();
        loop {
            let more = self.file.read_record(&mut record);
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => {
                    return Err(LogError::Read { path: self.path.to_owned(), reason: e.to_string() });
                }
            }
            let line = record.position().map_or(0, csv::Position::line);
            let mut sample = self.sample(&record, line)?;
            if let Some(previous) = samples.last() {
                if sample.t <= previous.t {
                    let path = self.path.to_owned();
                    return Err(LogError::TimeBackwards { path, line, t: sample.t, previous: previous.t });
                }
                unwrapped += self.unwrap(previous, &mut sample, &mut turns);
            }
            samples.push(sample);
        }
        if samples.len() < 2 {
            return Err(LogError::TooShort { path: self.path.to_owned(), found: samples.len(), expected: 2 });
        }
        let (period_s, segments, gaps) = cut(&samples);
        self.check_units(&samples, &segments)?;
        let used = |i: &usize| *i == self.time || self.columns.iter().any(|c| c.contains(i));
        let ignored = (0..self.heading.len()).filter(|i| !used(i)).map(|i| self.heading[i].clone()).collect();
        let degrees = (self.unit == AngleUnit::Degrees).then(|| "angles converted from degrees".to_owned());
        let (path, done) = (self.path.to_owned(), degrees.into_iter().collect());
        Ok(MeasurementLog { path, samples, segments, period_s, gaps, unwrapped, ignored, done })
    }

    fn sample(&self, record: &csv::StringRecord, line: u64) -> Result<Sample, LogError> {
        if record.len() != self.heading.len() {
            let (found, expected) = (record.len(), self.heading.len());
            return Err(LogError::WrongCount { path: self.path.to_owned(), line, found, expected });
        }
        let number = |column: usize| -> Result<f64, LogError> {
            let text = &record[column];
            text.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| LogError::BadNumber {
                path: self.path.to_owned(),
                line,
                column: self.heading[column].clone(),
                text: text.to_owned(),
            })
        };
        let vector =
            |k: usize| self.columns[k].iter().map(|&c| number(c)).collect::<Result<Vec<f64>, LogError>>();
        let mut sample = Sample { t: number(self.time)?, q: vector(0)?, dq: vector(1)?, tau: vector(2)? };
        for (j, joint) in self.robot.joints.iter().enumerate() {
            if self.unit == AngleUnit::Degrees && joint.kind.is_rotation() {
                sample.q[j] = sample.q[j].to_radians();
                sample.dq[j] = sample.dq[j].to_radians();
            }
            let limits = [(1, sample.dq[j], joint.limits.velocity), (2, sample.tau[j], joint.limits.torque)];
            for (k, value, limit) in limits {
                if value.abs() > IMPLAUSIBLE * limit {
                    let column = self.heading[self.columns[k][j]].clone();
                    let path = self.path.to_owned();
                    return Err(LogError::Implausible { path, line, column, value, limit });
                }
            }
        }
        Ok(sample)
    }

    /// Takes `turns` full turns off the angles of continuous joints, after correcting their number by where the
    /// velocities lead from `previous`; returns for how many joints the number has changed.
    fn unwrap(&self, previous: &Sample, sample: &mut Sample, turns: &mut [f64]) -> usize {
        let mut changed = 0;
        for (j, joint) in self.robot.joints.iter().enumerate() {
            if joint.kind != crate::robot::JointKind::Continuous {
                continue;
            }
            let expected = previous.q[j] + 0.5 * (sample.t - previous.t) * (previous.dq[j] + sample.dq[j]);
            let found = ((sample.q[j] - expected) / std::f64::consts::TAU).round();
            changed += usize::from(found != turns[j]);
            turns[j] = found;
            sample.q[j] -= found * std::f64::consts::TAU;
        }
        changed
    }

    fn check_units(&self, samples: &[Sample], segments: &[Range<usize>]) -> Result<(), LogError> {
        for j in 0..self.robot.dof() {
            let (mut moved, mut speeds) = (0.0, 0.0);
            for segment in segments {
                for pair in samples[segment.clone()].windows(2) {
                    moved += (pair[1].q[j] - pair[0].q[j]).abs();
                    speeds += 0.5 * (pair[1].t - pair[0].t) * (pair[0].dq[j].abs() + pair[1].dq[j].abs());
                }
            }
            let enough = moved.max(speeds) > ENOUGH_MOTION;
            if enough && (moved > MISMATCH * speeds || speeds > MISMATCH * moved) {
                return Err(LogError::Mismatch { path: self.path.to_owned(), joint: j + 1, moved, speeds });
            }
        }
        Ok(())
    }
}

/// The torques at time t, between the samples of one segment; `None` outside.
fn torque_at(segment: &[Sample], t: f64) -> Option<Vec<f64>> {
    let after = segment.partition_point(|s| s.t < t);
    let b = segment.get(after)?;
    if b.t == t {
        return Some(b.tau.clone());
    }
    let a = &segment[after.checked_sub(1)?];
    let share = (t - a.t) / (b.t - a.t);
    Some(a.tau.iter().zip(&b.tau).map(|(a, b)| a + share * (b - a)).collect())
}

/// Median period, segments without gaps, gaps.
fn cut(samples: &[Sample]) -> (f64, Vec<Range<usize>>, Vec<Gap>) {
    let steps: Vec<f64> = samples.windows(2).map(|pair| pair[1].t - pair[0].t).collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f64::total_cmp);
    let period = sorted[sorted.len() / 2];
    let (mut segments, mut gaps, mut first) = (vec![], vec![], 0);
    for (k, step) in steps.into_iter().enumerate() {
        if step > GAP * period {
            segments.push(first..k + 1);
            gaps.push(Gap { from_s: samples[k].t, to_s: samples[k + 1].t });
            first = k + 1;
        }
    }
    segments.push(first..samples.len());
    (period, segments, gaps)
}

#[cfg(test)]
mod tests;
