//! Samples from a log file, and what work they tell of.

use std::path::Path;

use super::file::{EnergySource, File};
use super::load::{Logged, Reader, field_error};
use crate::estimate::error::EstimateError;
use crate::multibody::parameters::ParameterMap;
use crate::multibody::{Deviations, Observation, Sample};

impl Reader<'_> {
    /// Columns t, q1.., dq1.., tau1.., then the sensors' readings and metered work, at the stated interval, without a gap.
    pub(super) fn read_log(
        &self,
        path: &Path,
        file: &File,
        observations: &[Observation],
    ) -> Result<Logged, EstimateError> {
        let step_s = file.step_s;
        let meter = usize::from(file.energy.as_ref().is_some_and(|e| e.source == EnergySource::Meter));
        let readings: usize = observations.iter().map(|o| o.sensor.quantity.count()).sum();
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        let error = |field: String, reason: String| field_error(path, &field, reason);
        let mut reader = csv::Reader::from_path(path).map_err(|e| error("the log".into(), e.to_string()))?;
        let (mut samples, mut work) = (Vec::new(), Vec::new());
        let mut before = None;
        for (row, record) in reader.records().enumerate() {
            let line = format!("line {}", row + 2);
            let record = record.map_err(|e| error(line.clone(), e.to_string()))?;
            if record.len() != 1 + nq + 2 * n + readings + meter {
                let reason = format!(
                    "{} columns, expected t, {nq} of q, {n} of dq, {n} of tau, {readings} of sensors, {meter} of work",
                    record.len()
                );
                return Err(error(line, reason));
            }
            let mut values = Vec::with_capacity(record.len());
            for text in &record {
                match text.trim().parse::<f64>() {
                    Ok(x) if x.is_finite() => values.push(x),
                    _ => return Err(error(line, format!("`{text}`, expected a finite number"))),
                }
            }
            if let Some(before) = before {
                let passed: f64 = values[0] - before;
                if (passed - step_s).abs() > 0.1 * step_s {
                    let reason = format!("{passed} s after the sample before, expected {step_s} s");
                    return Err(error(line, reason));
                }
            }
            before = Some(values[0]);
            if let Some(reason) = self.turned_wrong(&values[1..=nq]) {
                return Err(error(line, reason));
            }
            let part = |from: usize, count: usize| values[from..from + count].to_vec();
            work.extend_from_slice(&values[values.len() - meter..]);
            samples.push(Sample {
                q: part(1, nq),
                dq: part(1 + nq, n),
                tau: part(1 + nq + n, n),
                readings: part(1 + nq + 2 * n, readings),
            });
        }
        if samples.len() < 2 {
            let reason = format!("{} samples, expected at least two", samples.len());
            return Err(error("the log".into(), reason));
        }
        Ok((samples, work))
    }

    /// Observed work of each interval, and its deviation.
    pub(super) fn work(
        &self,
        file: &File,
        map: &ParameterMap,
        samples: &[Sample],
        metered: Vec<f64>,
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
            return Ok(Some((metered, energy.deviation_j)));
        }
        if map.joints.iter().any(|(_, which)| which.is_of_the_sensor()) {
            let reason = "`joints` knows no work where a gain is estimated, expected `meter`";
            return self.error("energy.source", reason.into());
        }
        if d.dq.iter().any(|x| x.is_infinite()) {
            let reason = "`joints` needs measured velocities of all degrees of freedom, expected `meter`";
            return self.error("energy.source", reason.into());
        }
        let next = samples.iter().skip(1).chain(samples.last());
        let work = |(now, next): (&Sample, &Sample)| {
            let speeds = now.dq.iter().zip(&next.dq).map(|(a, b)| 0.5 * (a + b));
            file.step_s * speeds.zip(&now.tau).map(|(v, tau)| v * tau).sum::<f64>()
        };
        Ok(Some((samples.iter().zip(next).map(work).collect(), energy.deviation_j)))
    }
}
