//! Logs as they come: intervals of any length, gaps, and samples that lack readings.

use super::MultibodyProblem;
use super::contacts::Schedule;
use crate::estimate::error::EstimateError;
use crate::recording::MissingReadings;

impl MultibodyProblem {
    /// With an interval of its own behind each sample, s: one number a sample, of which the last means nothing. Where it is infinite the log
    /// has a gap: what follows begins anew, with the same parameters. Before [`MultibodyProblem::with_contacts`], which a log with gaps
    /// cannot have.
    ///
    /// The deviation of torques holds for each interval, whatever its length, as for a sensor that is read once in each.
    ///
    /// # Errors
    /// When there is another number of them than of samples, or one is no positive time.
    pub fn with_intervals(self, steps_s: &[f64]) -> Result<Self, EstimateError> {
        let count = self.samples.len();
        if steps_s.len() != count {
            let (found, expected) = (steps_s.len(), count);
            return Err(EstimateError::Size { what: "intervals".into(), found, expected });
        }
        if let Some((k, &value)) = steps_s[..count - 1].iter().enumerate().find(|(_, h)| !(**h > 0.0)) {
            return Err(EstimateError::Deviation { what: format!("the interval behind sample {k}"), value });
        }
        let schedule = Schedule::free(count, |k| steps_s[k].is_infinite());
        Ok(Self { steps: steps_s.to_vec(), schedule, ..self })
    }

    /// With numbers that are no readings, for each sample: positions and velocities that cost nothing, whatever they are. Torques are taken as
    /// they stand.
    ///
    /// # Errors
    /// When there is another number of them than of samples, or one is none of the robot's.
    pub fn with_missing(self, missing: Vec<MissingReadings>) -> Result<Self, EstimateError> {
        let (found, expected) = (missing.len(), self.samples.len());
        if found != expected && found != 0 {
            return Err(EstimateError::Size {
                what: "samples with missing readings".into(),
                found,
                expected,
            });
        }
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        let beyond = |m: &MissingReadings| {
            let of = |list: &[usize], count: usize| list.iter().copied().find(|&j| j >= count);
            of(&m.q, nq).or(of(&m.dq, n))
        };
        if let Some(found) = missing.iter().find_map(beyond) {
            return Err(EstimateError::Size {
                what: "a missing reading's place".into(),
                found,
                expected: nq,
            });
        }
        Ok(Self { missing, ..self })
    }

    /// With deviations of forces that are larger in some intervals: by `added` N on the base (N m on its turning and on joints), one number a sample, for the
    /// interval behind it. So an interval counts in which nobody knows what a foot does.
    ///
    /// # Errors
    /// When there is another number of them than of samples, or one is negative or not finite.
    pub fn with_added_force_deviations(self, added: Vec<f64>) -> Result<Self, EstimateError> {
        let (found, expected) = (added.len(), self.samples.len());
        if found != expected && found != 0 {
            return Err(EstimateError::Size { what: "added deviations of forces".into(), found, expected });
        }
        if let Some((k, &value)) = added.iter().enumerate().find(|(_, d)| !(**d >= 0.0 && d.is_finite())) {
            return Err(EstimateError::Deviation { what: format!("what is added behind sample {k}"), value });
        }
        Ok(Self { added_force: added, ..self })
    }

    /// Whether nothing is added to deviations of forces in the interval behind `sample`.
    pub fn knows_forces(&self, sample: usize) -> bool {
        self.added_force.get(sample).is_none_or(|added| *added == 0.0)
    }

    /// One over the variance of the force on degree of freedom `j` in the interval behind `sample`.
    pub(super) fn force_weight(&self, sample: usize, j: usize) -> f64 {
        let stated = self.weights.tau[j];
        match self.added_force.get(sample) {
            // Deviations add up: what is added is no independent noise, but ignorance.
            Some(&added) if added > 0.0 => (1.0 / stated.sqrt() + added).powi(-2),
            _ => stated,
        }
    }

    /// 1 or 0: whether position and velocity of a degree of freedom are read at a sample. A floating base's pose is read as a whole.
    pub(super) fn seen(&self, sample: usize, j: usize) -> [f64; 2] {
        let Some(missing) = self.missing.get(sample).filter(|m| !m.is_empty()) else { return [1.0; 2] };
        let place = if self.robot.has_free_flyer() { j + 1 } else { j };
        let pose = self.robot.has_free_flyer() && j < 6;
        let no_q = if pose { missing.q.iter().any(|&i| i < 7) } else { missing.q.contains(&place) };
        [no_q, missing.dq.contains(&j)].map(|missing| f64::from(u8::from(!missing)))
    }
}

#[cfg(test)]
mod tests;
