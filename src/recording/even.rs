//! Logs of robots with any joints and sensors, at even intervals: CSV files whose columns stand in a fixed order.

use std::fs::File;
use std::path::Path;

use super::Sample;
use super::ending::{WholeLines, with_extent};

/// Two samples may be off the stated interval by this share of it.
const UNEVEN: f64 = 0.1;

/// Samples at even intervals, with what sensors beside the encoders say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EvenLog {
    /// Encoders and torques.
    pub samples: Vec<Sample>,
    /// Readings of the further sensors, one after the other, for each sample; empty vectors where there are none.
    pub readings: Vec<Vec<f64>>,
    /// Metered work of the applied forces, J, from each sample to the next; empty where there is no meter.
    pub work: Vec<f64>,
    /// Where the file breaks off and how much of it was read, in words, if its last line has no line break: that line is left out.
    pub cut_off: Option<String>,
}

/// How many columns a file has beside the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    /// Numbers of a configuration.
    pub nq: usize,
    /// Degrees of freedom.
    pub nv: usize,
    /// Readings of further sensors.
    pub readings: usize,
    /// Whether work is metered.
    pub work: bool,
}

/// What is wrong with a file, and where.
pub(crate) struct Fault {
    /// `line 3`, or `the log`.
    pub place: String,
    /// What is wrong and what was expected.
    pub reason: String,
}

impl EvenLog {
    /// Reads columns t, q1.., dq1.., tau1.., then the sensors' readings and metered work, every `step_s` seconds, without a gap.
    pub(crate) fn read(path: &Path, columns: Columns, step_s: f64) -> Result<Self, Fault> {
        let fault = |place: String, reason: String| Fault { place, reason };
        let file = File::open(path).map_err(|e| fault("the log".into(), e.to_string()))?;
        let mut reader = csv::Reader::from_reader(WholeLines::new(file));
        let mut log = Self::default();
        for (row, record) in reader.records().enumerate() {
            let line = format!("line {}", row + 2);
            let record = record.map_err(|e| fault(line.clone(), e.to_string()))?;
            log.push(&record, columns, step_s).map_err(|reason| fault(line, reason))?;
        }
        let cut_off = reader.get_ref().left_out();
        if log.samples.len() < 2 {
            let cut_off = cut_off.map(|what| format!("; {what}")).unwrap_or_default();
            let reason = format!("{} samples, expected at least two{cut_off}", log.samples.len());
            return Err(fault("the log".into(), reason));
        }
        log.cut_off = cut_off.map(|what| with_extent(&what, &log.samples));
        Ok(log)
    }

    fn push(&mut self, record: &csv::StringRecord, columns: Columns, step_s: f64) -> Result<(), String> {
        let Columns { nq, nv: n, readings, work } = columns;
        let meter = usize::from(work);
        if record.len() != 1 + nq + 2 * n + readings + meter {
            return Err(format!(
                "{} columns, expected t, {nq} of q, {n} of dq, {n} of tau, {readings} of sensors, {meter} of work",
                record.len()
            ));
        }
        let mut values = Vec::with_capacity(record.len());
        for text in record {
            match text.trim().parse::<f64>() {
                Ok(x) if x.is_finite() => values.push(x),
                _ => return Err(format!("`{text}`, expected a finite number")),
            }
        }
        let t = values[0];
        if let Some(before) = self.samples.last() {
            let passed = t - before.t;
            if (passed - step_s).abs() > UNEVEN * step_s {
                return Err(format!("{passed} s after the sample before, expected {step_s} s"));
            }
        }
        let part = |from: usize, count: usize| values[from..from + count].to_vec();
        self.samples.push(Sample { t, q: part(1, nq), dq: part(1 + nq, n), tau: part(1 + nq + n, n) });
        self.readings.push(part(1 + nq + 2 * n, readings));
        self.work.extend_from_slice(&values[values.len() - meter..]);
        Ok(())
    }
}
