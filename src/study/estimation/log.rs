//! Samples from a log file, and what work they tell of.

use std::path::Path;

use super::file::{EnergySource, File};
use super::load::{Reader, field_error};
use crate::estimate::error::EstimateError;
use crate::multibody::parameters::ParameterMap;
use crate::multibody::{Deviations, Observation};
use crate::recording::{Columns, EvenLog, Fault, Sample};

impl Reader<'_> {
    /// The log of the problem: columns t, q1.., dq1.., tau1.., then the sensors' readings and metered work.
    pub(super) fn read_log(
        &self,
        path: &Path,
        file: &File,
        observations: &[Observation],
    ) -> Result<EvenLog, EstimateError> {
        let columns = Columns {
            nq: self.robot.nq(),
            nv: self.robot.nv(),
            readings: observations.iter().map(|o| o.sensor.quantity.count()).sum(),
            work: file.energy.as_ref().is_some_and(|e| e.source == EnergySource::Meter),
        };
        let error = |Fault { place, reason }| field_error(path, &place, reason);
        let mut log = EvenLog::read(path, columns, file.step_s).map_err(error)?;
        log.cut_off = log.cut_off.map(|what| format!("`{}`: {what}", path.display()));
        for (k, sample) in log.samples.iter().enumerate() {
            if let Some(reason) = self.turned_wrong(&sample.q) {
                return Err(error(Fault { place: format!("line {}", k + 2), reason }));
            }
        }
        Ok(log)
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
