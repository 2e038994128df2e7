//! All methods of estimation on the data of a study, side by side.

use std::time::Instant;

use super::{Findings, IdentificationStudy, MethodFinding, StudyError};
use crate::identify::parameter_name;
use crate::inertia::pseudo::check_physical;
use crate::inertia::{INERTIAL, ParameterSet};
use crate::regression::inverse::{Moving, REWEIGHTINGS};
use crate::study::identification::estimators::{Data, Estimate, Estimator};

/// An estimate by each method, or why there is none.
pub(super) type Estimates = Vec<(Estimator, Result<Estimate, StudyError>)>;

/// Takes the intervals off: their proof rests on bounds that are refuted.
pub(super) fn forget_intervals(estimates: &mut Estimates) {
    let found = estimates.iter_mut().filter_map(|(_, found)| found.as_mut().ok());
    found.for_each(|estimate| estimate.interval = None);
}

impl IdentificationStudy<'_> {
    /// Every method in turn that there is something to estimate for, and the one that is asked for.
    pub(super) fn estimates(
        &self,
        data: &Data,
        samples: &[Moving],
        asked: Estimator,
    ) -> Result<Estimates, StudyError> {
        let one = |method| {
            if method != Estimator::InverseDynamics {
                return Ok((method, data.estimate(method)));
            }
            let clock = Instant::now();
            let z = self.estimate(samples, REWEIGHTINGS)?;
            let seconds = clock.elapsed().as_secs_f64();
            let found = data.unknown.to_vec();
            Ok((method, Ok(Estimate { method, z, found, interval: None, note: None, seconds })))
        };
        let body = self.robot.inertial_index(self.robot.end_effector());
        let applies =
            |method: &Estimator| *method == asked || data.unknown.contains(&body) || !method.needs_body();
        Estimator::ALL.into_iter().filter(applies).map(one).collect()
    }

    /// The estimate that is asked for.
    pub(super) fn chosen(estimates: &Estimates, asked: Estimator) -> Result<&Estimate, StudyError> {
        let found = estimates.iter().find(|(method, _)| *method == asked);
        match found {
            Some((_, Ok(estimate))) => Ok(estimate),
            Some((_, Err(error))) => {
                let reason = error.to_string();
                let reason = reason.strip_prefix("no estimate: ").unwrap_or(&reason).to_owned();
                Err(StudyError::Method { method: asked.name(), reason })
            }
            None => Err(StudyError::Method { method: asked.name(), reason: "not among the methods".into() }),
        }
    }

    /// The table of all methods; torque errors are those on `samples`.
    pub(super) fn method_findings(
        &self,
        (estimates, asked): (&Estimates, Estimator),
        set: Option<&ParameterSet>,
        unknown: &[usize],
        samples: &[Moving],
    ) -> Vec<MethodFinding> {
        let robot = self.robot;
        let hand = robot.inertial_index(robot.end_effector());
        let one = |(method, found): &(Estimator, Result<Estimate, StudyError>)| {
            let estimate = match found {
                Ok(estimate) => estimate,
                Err(error) => {
                    let reason = error.to_string();
                    return MethodFinding {
                        method: *method,
                        chosen: false,
                        values: vec![None; unknown.len()],
                        interval: None,
                        physical: None,
                        outside: vec![],
                        torque_rms_nm: vec![],
                        seconds: 0.0,
                        note: Some(reason),
                    };
                }
            };
            let says = |j: &usize| estimate.found.contains(j);
            let outside = |j: &&usize| {
                let within = |set: &ParameterSet| {
                    set.lower()[**j] <= estimate.z[**j] && estimate.z[**j] <= set.upper()[**j]
                };
                says(j) && !set.is_none_or(within)
            };
            let body: [f64; INERTIAL] = std::array::from_fn(|k| estimate.z[hand + k]);
            let whole_body = (hand..hand + INERTIAL).all(|j| says(&j));
            let interval = estimate.interval.as_ref().map(|intervals| {
                let at = |j: &usize| estimate.found.iter().position(|k| k == j).map(|k| intervals[k]);
                unknown.iter().map(at).collect()
            });
            MethodFinding {
                method: *method,
                chosen: *method == asked,
                values: unknown.iter().map(|j| says(j).then_some(estimate.z[*j])).collect(),
                interval,
                physical: whole_body.then(|| check_physical(&body).is_ok()),
                outside: unknown.iter().filter(outside).map(|&j| parameter_name(robot, j).0).collect(),
                torque_rms_nm: self.errors(&estimate.z, samples).unlimited,
                seconds: estimate.seconds,
                note: estimate.note.clone(),
            }
        };
        estimates.iter().map(one).collect()
    }
}

impl Findings {
    /// The chosen method's row.
    pub fn method(&self) -> Option<&MethodFinding> {
        self.methods.iter().find(|method| method.chosen)
    }
}
