//! Samples from a log file, and what work they tell of.

use std::path::Path;

use super::file::{self, EnergySource, File};
use super::load::{Reader, field_error};
use crate::estimate::error::EstimateError;
use crate::multibody::parameters::ParameterMap;
use crate::multibody::{Deviations, Observation};
use crate::recording::{
    AngleUnit, ColumnNames, EvenLog, LogFormat, LogRequest, MeasurementLog, MissingReadings, Quantity, Sample,
};

/// A stated interval and the log's may differ by this share of it.
const UNEVEN: f64 = 0.1;

/// The samples of a problem, of one log or several.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub samples: Vec<Sample>,
    pub readings: Vec<Vec<f64>>,
    pub work: Vec<f64>,
    /// From each sample to the next, s; infinite where there is a gap.
    pub intervals_s: Vec<f64>,
    pub missing: Vec<MissingReadings>,
    /// Median interval, s.
    pub step_s: f64,
    pub cut_off: Vec<String>,
    /// What was done to the data, and with which file.
    pub notes: Vec<String>,
}

impl Samples {
    /// Samples of a simulated robot; `step_s` is the interval where sensors have no rates of their own.
    pub fn simulated(log: EvenLog, missing: Vec<MissingReadings>, step_s: f64) -> Self {
        let EvenLog { samples, readings, work } = log;
        let intervals_s = if missing.is_empty() {
            vec![step_s; samples.len()]
        } else {
            let behind = samples.windows(2).map(|pair| pair[1].t - pair[0].t);
            behind.chain([step_s]).collect()
        };
        Self { samples, readings, work, missing, intervals_s, step_s, ..Self::default() }
    }

    /// Adds a log behind what there is, but for segments of a single sample: they tell nothing of the motion.
    fn append(&mut self, log: &MeasurementLog, further: usize) {
        for segment in log.segments.iter().filter(|s| s.len() > 1) {
            if let Some(last) = self.intervals_s.last_mut() {
                *last = f64::INFINITY;
            }
            let samples = &log.samples[segment.clone()];
            self.intervals_s.extend(samples.windows(2).map(|pair| pair[1].t - pair[0].t));
            self.intervals_s.push(log.period_s);
            self.samples.extend_from_slice(samples);
            let none = MissingReadings::default;
            self.missing.extend(segment.clone().map(|k| log.missing.get(k).cloned().unwrap_or_else(none)));
            for k in segment.clone() {
                let row = log.further.get(k).map_or(&[][..], |row| row);
                self.readings.push(row[..further].to_vec());
                self.work.extend_from_slice(&row[further..]);
            }
        }
    }
}

impl Reader<'_> {
    /// How the problem's logs are to be read.
    pub(super) fn request(&self, log: &file::Log, further: Vec<String>) -> Result<LogRequest, EstimateError> {
        let named = log.columns.as_ref().map(|text| text.parse::<ColumnNames>());
        let columns = match named.transpose() {
            Ok(columns) => columns.unwrap_or_default(),
            Err(reason) => return self.error("log.columns", reason),
        };
        Ok(LogRequest {
            unit: if log.degrees { AngleUnit::Degrees } else { AngleUnit::Radians },
            topic: log.topic.clone(),
            further,
            range_s: log.range_s,
            left_out_s: log.left_out_s.clone(),
            gap_periods: log.gap_periods,
            partial: true,
            format: LogFormat { columns, ..LogFormat::default() },
        })
    }

    /// Names of the columns of sensors and of the meter.
    fn columns(&self, file: &File, observations: &[Observation]) -> Vec<String> {
        let of = |o: &Observation| {
            let frame = self.robot.named_frames[o.sensor.frame].name.clone();
            let quantity = match o.sensor.quantity {
                Quantity::Orientation => "orientation",
                Quantity::Rate => "rate",
                Quantity::Acceleration => "acceleration",
                Quantity::Position => "position",
                Quantity::Velocity => "velocity",
            };
            (1..=o.sensor.quantity.count()).map(move |i| format!("{frame}.{quantity}{i}"))
        };
        let meter = file.energy.as_ref().is_some_and(|e| e.source == EnergySource::Meter);
        observations.iter().flat_map(of).chain(meter.then(|| "work".to_owned())).collect()
    }

    /// The logs of the problem, one behind the other.
    pub(super) fn read_logs(
        &self,
        folder: &Path,
        file: &File,
        observations: &[Observation],
    ) -> Result<Samples, EstimateError> {
        let columns = self.columns(file, observations);
        let further: usize = observations.iter().map(|o| o.sensor.quantity.count()).sum();
        let mut all = Samples::default();
        let mut periods = vec![];
        for log in &file.log {
            let path = folder.join(&log.file);
            let request = self.request(log, columns.clone())?;
            let read = self.read_log(&path, file, &request)?;
            for (k, sample) in read.samples.iter().enumerate() {
                if let Some(reason) = self.turned_wrong(&sample.q) {
                    let place = format!("sample {} at t = {} s", k + 1, sample.t);
                    return Err(field_error(&path, &place, reason));
                }
            }
            let metered = read.further.iter().filter_map(|row| row.get(further));
            if let Some(k) = metered.into_iter().position(|x| x.is_nan()) {
                let place = format!("sample {}, column `work`", k + 1);
                return Err(field_error(&path, &place, "no reading, expected the metered work".into()));
            }
            self.check_interval(file, &path, read.period_s)?;
            all.append(&read, further);
            periods.push(read.period_s);
            let named = |what: String| format!("`{}`: {what}", path.display());
            all.cut_off.extend(read.cut_off.clone().map(named));
            all.notes.extend(read.notes().into_iter().map(named));
        }
        if all.samples.len() < 2 {
            return self.error("log", "no two samples without a gap between them".into());
        }
        periods.sort_by(f64::total_cmp);
        all.step_s = file.step_s.unwrap_or(periods[periods.len() / 2]);
        self.check_gaps(file, &all)?;
        if all.missing.iter().all(MissingReadings::is_empty) {
            all.missing.clear();
        }
        Ok(all)
    }

    fn check_interval(&self, file: &File, path: &Path, period_s: f64) -> Result<(), EstimateError> {
        match file.step_s {
            Some(step) if (period_s - step).abs() > UNEVEN * step => {
                let reason = format!("a median interval of {period_s} s, expected {step} s as `step_s` says");
                Err(field_error(path, "the log", reason))
            }
            _ => Ok(()),
        }
    }

    /// Contacts and loops go on from sample to sample.
    fn check_gaps(&self, file: &File, all: &Samples) -> Result<(), EstimateError> {
        let inner = &all.intervals_s[..all.samples.len() - 1];
        let gap = inner.iter().position(|h| h.is_infinite());
        match gap.filter(|_| !file.contact.is_empty() || file.loops) {
            None => Ok(()),
            Some(k) => {
                let t = all.samples[k].t;
                let reason = format!(
                    "a gap behind sample {} (at {t} s); contacts and loops need a log without one",
                    k + 1
                );
                self.error("log", reason)
            }
        }
    }

    /// Observed work of each interval, and its deviation.
    pub(super) fn work(
        &self,
        file: &File,
        map: &ParameterMap,
        log: &Samples,
        d: &Deviations,
    ) -> Result<Option<(Vec<f64>, f64)>, EstimateError> {
        let Some(energy) = &file.energy else { return Ok(None) };
        if !(energy.deviation_j > 0.0 && energy.deviation_j.is_finite()) {
            let reason = format!("{}, expected a positive standard deviation", energy.deviation_j);
            return self.error("energy.deviation_j", reason);
        }
        if !(energy.noise_j >= 0.0 && energy.noise_j.is_finite()) {
            return self.error("energy.noise_j", format!("{}, expected a number >= 0", energy.noise_j));
        }
        if energy.source == EnergySource::Meter {
            return Ok(Some((log.work.clone(), energy.deviation_j)));
        }
        if map.joints.iter().any(|(_, which)| which.is_of_the_sensor()) {
            let reason = "`joints` knows no work where a gain is estimated, expected `meter`";
            return self.error("energy.source", reason.into());
        }
        if d.dq.iter().any(|x| x.is_infinite()) {
            let reason = "`joints` needs measured velocities of all degrees of freedom, expected `meter`";
            return self.error("energy.source", reason.into());
        }
        let next = log.samples.iter().skip(1).chain(log.samples.last());
        let work = |((now, next), h): ((&Sample, &Sample), &f64)| {
            let speeds = now.dq.iter().zip(&next.dq).map(|(a, b)| 0.5 * (a + b));
            // Nothing asks for the work done in a gap.
            let h = if h.is_finite() { *h } else { 0.0 };
            h * speeds.zip(&now.tau).map(|(v, tau)| v * tau).sum::<f64>()
        };
        let observed = log.samples.iter().zip(next).zip(&log.intervals_s).map(work).collect();
        Ok(Some((observed, energy.deviation_j)))
    }
}
