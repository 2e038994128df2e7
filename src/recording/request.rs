//! What is wanted of a file.

use std::path::Path;

use super::{AngleUnit, GAP, LogError, LogFormat};
use crate::robot::Model;

/// What is wanted of a file, and how it is to be understood ([`super::MeasurementLog::read_request`]).
#[derive(Debug, Clone, PartialEq)]
pub struct LogRequest {
    /// The unit of angles in the file.
    pub unit: AngleUnit,
    /// The topic of an MCAP file's joint states; needed where several have any.
    pub topic: Option<String>,
    /// Names of further columns of a CSV file: readings of sensors beside the encoders.
    pub further: Vec<String>,
    /// Only samples from the first of these times to the second, s of the file's own clock; all where there is none.
    pub range_s: Option<[f64; 2]>,
    /// Samples from the first of each of these times to the second, s, are left out: something pushed then, say. What is left is cut there.
    pub left_out_s: Vec<[f64; 2]>,
    /// Two samples farther apart than this many median periods have a gap between them.
    pub gap_periods: f64,
    /// Whether samples that lack readings stay in the log, with [`super::MeasurementLog::missing`] beside them. Otherwise they are left out.
    pub partial: bool,
    /// What its columns are called, the scale of its torques, and what becomes of bad rows and absent velocities.
    pub format: LogFormat,
}

impl Default for LogRequest {
    fn default() -> Self {
        Self {
            unit: AngleUnit::Radians,
            topic: None,
            further: vec![],
            range_s: None,
            left_out_s: vec![],
            gap_periods: GAP,
            partial: false,
            format: LogFormat::default(),
        }
    }
}

impl LogRequest {
    /// Refuses what makes no sense.
    pub(super) fn check(&self, path: &Path, robot: &Model) -> Result<(), LogError> {
        let wrong = |reason: String| Err(LogError::Request { path: path.to_owned(), reason });
        if let Some([from, to]) = self.range_s.filter(|[from, to]| !(from < to)) {
            return wrong(format!("from {from} s to {to} s, expected the first time before the second"));
        }
        if let Some([from, to]) = self.left_out_s.iter().find(|[from, to]| !(from < to)) {
            return wrong(format!("without {from} s to {to} s, expected the first time before the second"));
        }
        if !(self.gap_periods > 1.0) {
            return wrong(format!("gaps of {} periods, expected more than 1", self.gap_periods));
        }
        if let Some(reason) = self.format.fault(robot.nv()) {
            return wrong(reason);
        }
        Ok(())
    }

    /// Whether a sample at this time is wanted.
    pub(super) fn wants(&self, t: f64) -> bool {
        let within = |[from, to]: &[f64; 2]| (*from..=*to).contains(&t);
        self.range_s.as_ref().is_none_or(within) && !self.left_out_s.iter().any(within)
    }
}

/// Which numbers of a sample are no readings, but lie on a line between the readings before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingReadings {
    /// Positions, by their place in a configuration.
    pub q: Vec<usize>,
    /// Velocities, by degree of freedom.
    pub dq: Vec<usize>,
    /// Torques, by degree of freedom.
    pub tau: Vec<usize>,
}

impl MissingReadings {
    /// Whether all numbers are readings.
    pub fn is_empty(&self) -> bool {
        self.q.is_empty() && self.dq.is_empty() && self.tau.is_empty()
    }
}
