//! Recordings, read, checked and cut at their gaps: CSV files with the columns `t, q1.., dq1.., tau1..`, and MCAP files
//! with joint states ([`MeasurementLog`]); and what simulated robots record at even intervals ([`EvenLog`]).
//!
//! Nothing is repaired in silence: [`MeasurementLog::notes`] says what was done to the data, and what cannot be
//! understood is refused with file, line and column, or topic, message and joint. Every format of a [`MeasurementLog`]
//! ends in `assemble`, so that the same checks hold for all.

mod assemble;
#[cfg(feature = "mcap")]
mod container;
mod derived;
mod ending;
mod error;
mod even;
mod format;
#[cfg(feature = "mcap")]
mod joint_state;
#[cfg(feature = "mcap")]
mod messages;
mod request;
#[cfg(not(surelift_program))]
mod sensor;
mod table;

#[cfg(feature = "studies")]
pub(crate) use assemble::fill_missing;
pub use derived::{DerivedVelocities, best_half};
pub use error::{LogError, LogPlace};
pub use even::EvenLog;
pub use format::{ColumnNames, LogFormat};
pub use request::{LogRequest, MissingReadings};
#[cfg(not(surelift_program))]
pub use sensor::{Quantity, Sensor};

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::robot::Model;

/// Two samples farther apart than this many periods have a gap between them.
const GAP: f64 = 1.5;
/// Share of a step up to which a time counts as that of a sample.
const SAME: f64 = 1e-6;
/// What an MCAP file begins with.
const MCAP_MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";
/// What a database of SQLite begins with, in which ROS 2 kept bags before MCAP.
const SQLITE_MAGIC: [u8; 8] = *b"SQLite f";

/// What is measured at one tick of a robot's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Time of the tick, s.
    pub t: f64,
    /// Measured configuration, nq numbers: joint positions, rad (m for a prismatic joint), continuous, not wrapped; a floating
    /// base's pose first.
    pub q: Vec<f64>,
    /// Measured velocities, nv numbers: of joints, rad/s (m/s); a floating base's twist in its own axes first.
    pub dq: Vec<f64>,
    /// Measured joint torques, nv numbers, N m (N), held from this tick to the next.
    pub tau: Vec<f64>,
}

/// The unit of angles in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AngleUnit {
    /// rad and rad/s.
    #[default]
    Radians,
    /// Degrees and degrees/s, converted on reading (joints that turn only).
    Degrees,
}

/// A place where samples are missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogGap {
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
    /// Which numbers of each sample are no readings; empty where all are ([`LogRequest::partial`]).
    pub missing: Vec<MissingReadings>,
    /// The further columns that were asked for, in that order, for each sample; NaN where there is no reading. Empty where none were.
    pub further: Vec<Vec<f64>>,
    /// Index ranges of `samples` without a gap inside; they cover all samples.
    pub segments: Vec<Range<usize>>,
    /// Median distance between samples, s.
    pub period_s: f64,
    /// Where samples are missing.
    pub gaps: Vec<LogGap>,
    /// Full turns that were undone.
    pub unwrapped: usize,
    /// Columns of a CSV file, or joints of an MCAP file, that were not used.
    pub ignored: Vec<String>,
    /// Where the file breaks off and how much of it was read, in words, if it does not end as it should ([`Self::read`]).
    pub cut_off: Option<String>,
    /// How velocities were found, if the file has none ([`LogFormat::velocity_half`]).
    pub derived: Option<DerivedVelocities>,
    /// What else was done, in words.
    done: Vec<String>,
}

impl MeasurementLog {
    /// Reads a recording of `robot`: an MCAP file, known by its first bytes or its name's end, or else a CSV file.
    ///
    /// Extra columns or joints are ignored (and listed), steps of a turning joint by about a full turn are undone, and
    /// samples more than 1.5 median periods apart are taken to have a gap between them. Of an MCAP file the only topic with
    /// joint states is read ([`Self::read_topic`]).
    ///
    /// A recorder that is killed, or a full disk, leaves a file that is cut off. What is whole is read, and [`Self::cut_off`] says so:
    /// - of a CSV file all lines that end with a line break. A last line without one is left out even if it has all its numbers, since the
    ///   last of them may lack digits. Who writes a file by hand ends its last line too, or loses it.
    /// - of an MCAP file all whole chunks, and all whole records outside of chunks.
    ///
    /// A fault before the cut is refused as in any other file.
    ///
    /// # Errors
    /// [`LogError`] names the file, the line and the column, or topic, message and joint.
    pub fn read(path: impl AsRef<Path>, robot: &Model, unit: AngleUnit) -> Result<Self, LogError> {
        Self::read_topic(path, robot, unit, None)
    }

    /// As [`Self::read`], from the joint states of `topic` where the file is an MCAP file (feature `mcap`, a default).
    ///
    /// Messages are `sensor_msgs/msg/JointState` in CDR (as ROS 2 writes them) or JSON. Joints are matched by their names;
    /// messages that name none of the robot's joints are left out (a gripper's, say), one that names only some is refused.
    /// Time is `header.stamp` counted from the first message; effort is the torque in N m (force in N of a sliding joint).
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_topic(
        path: impl AsRef<Path>,
        robot: &Model,
        unit: AngleUnit,
        topic: Option<&str>,
    ) -> Result<Self, LogError> {
        let request = LogRequest { unit, topic: topic.map(str::to_owned), ..LogRequest::default() };
        Self::read_request(path, robot, &request)
    }

    /// As [`Self::read`], of any robot: one with a floating base has its pose first among q1.. (place, then a quaternion x, y, z, w), and its
    /// twist first among dq1.. and tau1.. .
    ///
    /// A field of a CSV file that is empty, and an MCAP message without `velocity` or `effort`, is no reading: so sensors at several rates
    /// stand in one file, each with its own stamps. Such samples are left out, or kept ([`LogRequest::partial`]).
    ///
    /// # Errors
    /// As [`Self::read`]; [`LogError::Request`] for a range or a length of gaps that makes no sense.
    pub fn read_request(
        path: impl AsRef<Path>,
        robot: &Model,
        request: &LogRequest,
    ) -> Result<Self, LogError> {
        let path = path.as_ref();
        request.check(path, robot)?;
        let read = |reason: String| LogError::Read { path: path.to_owned(), reason };
        if path.is_dir() {
            return Err(read("a folder, expected a file: of a ROS 2 bag the .mcap in it".to_owned()));
        }
        let mut start = vec![];
        let file = std::fs::File::open(path).map_err(|e| read(e.to_string()))?;
        file.take(MCAP_MAGIC.len() as u64).read_to_end(&mut start).map_err(|e| read(e.to_string()))?;
        if start == MCAP_MAGIC {
            #[cfg(feature = "mcap")]
            return messages::read(path, robot, request);
            #[cfg(not(feature = "mcap"))]
            return Err(read("an MCAP file, but surelift was built without its feature `mcap`".to_owned()));
        }
        let ends_in = |end: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(end));
        if start == SQLITE_MAGIC || ends_in("db3") {
            return Err(read(
                "a ROS 2 bag in SQLite, which surelift does not read; convert its folder to MCAP: write `output_bags: \
                 [{uri: converted, storage_id: mcap, all_topics: true}]` into out.yaml, then `ros2 bag convert -i FOLDER -o out.yaml`"
                    .to_owned(),
            ));
        }
        if ends_in("mcap") {
            return Err(read("no MCAP file: it does not begin as one".to_owned()));
        }
        let mut log = table::read(path, robot, request)?;
        if let Some(topic) = &request.topic {
            log.done.push(format!("a CSV file has no topics: `{topic}` not looked for"));
        }
        Ok(log)
    }

    /// A log of samples that were read elsewhere, cut at its gaps; angles are continuous, SI units.
    ///
    /// # Errors
    /// [`LogError::TooShort`] for fewer than two samples; [`LogError::Unordered`] where time does not advance.
    pub fn of_samples(path: PathBuf, samples: Vec<Sample>) -> Result<Self, LogError> {
        if samples.len() < 2 {
            return Err(LogError::TooShort { path, found: samples.len(), expected: 2 });
        }
        if let Some(pair) = samples.windows(2).find(|pair| !(pair[1].t > pair[0].t)) {
            return Err(LogError::Unordered { path, t: pair[1].t, previous: pair[0].t });
        }
        let (period_s, segments, gaps) = assemble::cut(&samples, GAP);
        Ok(Self {
            path,
            samples,
            missing: vec![],
            further: vec![],
            segments,
            period_s,
            gaps,
            unwrapped: 0,
            ignored: vec![],
            cut_off: None,
            derived: None,
            done: vec![],
        })
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
            notes.push(format!(
                "{} column(s) or joint(s) ignored: {}",
                self.ignored.len(),
                self.ignored.join(", ")
            ));
        }
        notes.extend(self.cut_off.iter().chain(&self.done).cloned());
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
        let (mut samples, mut kept, mut segments) = (vec![], vec![], vec![]);
        for segment in &self.segments {
            let first = samples.len();
            let old = &self.samples[segment.clone()];
            for (k, sample) in segment.clone().zip(old) {
                if let Some(tau) = torque_at(old, sample.t + delay_s) {
                    samples.push(Sample { tau, ..sample.clone() });
                    kept.push(k);
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
        keep(&mut self.missing, &kept);
        keep(&mut self.further, &kept);
        Ok(self)
    }

    /// The first `share` (0 to 1) of the samples, and the others; None where one of the two would have no step.
    pub fn split(&self, share: f64) -> Option<(Self, Self)> {
        let at = (share * self.samples.len() as f64).round() as usize;
        let part = |range: Range<usize>| {
            let within = |segment: &Range<usize>| {
                let (start, end) = (segment.start.max(range.start), segment.end.min(range.end));
                (start < end).then(|| start - range.start..end - range.start)
            };
            let segments: Vec<_> = self.segments.iter().filter_map(within).collect();
            let steps = segments.iter().any(|segment| segment.len() >= 2);
            steps.then(|| Self {
                samples: self.samples[range.clone()].to_vec(),
                missing: self.missing.get(range.clone()).unwrap_or(&[]).to_vec(),
                further: self.further.get(range.clone()).unwrap_or(&[]).to_vec(),
                segments,
                ..self.clone()
            })
        };
        Some((part(0..at)?, part(at..self.samples.len())?))
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

/// Keeps the entries at `places`, where there are any.
fn keep<T: Clone>(list: &mut Vec<T>, places: &[usize]) {
    if !list.is_empty() {
        *list = places.iter().map(|&k| list[k].clone()).collect();
    }
}

/// The torques at time t, between the samples of one segment; `None` outside.
pub(crate) fn torque_at(segment: &[Sample], t: f64) -> Option<Vec<f64>> {
    let after = segment.partition_point(|s| s.t < t);
    let b = segment.get(after)?;
    if b.t == t {
        return Some(b.tau.clone());
    }
    let a = &segment[after.checked_sub(1)?];
    let share = (t - a.t) / (b.t - a.t);
    // Whole steps stay whole whatever the stamps' last digits are.
    if share < SAME {
        return Some(a.tau.clone());
    } else if share > 1.0 - SAME {
        return Some(b.tau.clone());
    }
    Some(a.tau.iter().zip(&b.tau).map(|(a, b)| a + share * (b - a)).collect())
}

#[cfg(test)]
mod tests;
