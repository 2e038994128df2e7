//! The study of recordings: an estimate, its errors on data it has not seen, and the set that the stated bounds leave,
//! or the proof that they cannot be true and what would have to be granted instead.

use std::sync::Arc;

use thiserror::Error;

use super::validation::{ValidationError, ValidationFinding};
use crate::dynamics::actuation::extended_parameters;
use crate::identify::additive::{self, AdditiveBound};
use crate::identify::physics::check_box;
use crate::identify::polytope::Rows;
use crate::identify::proof::{Premises, Recorder, SetProof, WiderBounds};
use crate::identify::recorded::{
    ACCELERATION_MARGIN, Narrowed, RecordedRows, at_speed_limit, clock_of, derived_beyond, sets_within,
};
use crate::identify::{IdentifyError, Unknown, parameter_name};
use crate::inertia::pseudo::check_physical;
use crate::inertia::{INERTIAL, ParameterSet};
use crate::recording::{LogError, MeasurementLog};
use crate::regression::RegressionError;
use crate::regression::filter::Smoothing;
use crate::regression::inverse::{Belief, Moving, fit_reweighted, moving, residuals, rms};
use crate::robot::prior::PriorFault;
use crate::robot::{Arm, FramedPayload, StatedPayload};

/// The margin may be larger where steps of the velocities show so much; beyond that velocities err by more than is stated.
const LARGEST_MARGIN: f64 = 3.0;
/// Velocities are compared over at most so many samples.
const STEPS: usize = 128;
/// What is added to an acceleration that velocities show.
const SHOWN: f64 = 1.01;
/// Samples on each side that accelerations are bounded by, at most.
const ACCELERATION_HALF: usize = 5;

mod choice;
mod conditional;
mod delay;
pub mod estimators;
mod findings;
mod methods;
mod outside;
mod refuted;
mod regrouped;
mod statements;
mod window;

pub use choice::{LeftOutError, MethodChoice};
pub use delay::{Delay, DelayFinding};
pub use findings::{
    Assumption, BrokenAssumption, ConditionalSet, Findings, JointFinding, LogFinding, MethodFinding, Moment,
    ParameterFinding, Prediction, Verdict,
};
pub use regrouped::{BaseFinding, BaseParameterFinding};
pub use window::{WINDOWS_S, window_by_noise};

use estimators::{Data, Estimator};
use refuted::Making;

/// Why a study failed.
#[derive(Debug, Error)]
pub enum StudyError {
    /// The data or the settings do not fit.
    #[error(transparent)]
    Identify(#[from] IdentifyError),
    /// The data or the settings do not fit a regression.
    #[error(transparent)]
    Regression(#[from] RegressionError),
    /// A log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The recording that is predicted cannot be.
    #[error(transparent)]
    Validation(#[from] ValidationError),
    /// Velocities are those of the positions, and the robot's bound on them does not cover their errors.
    #[error(
        "`{}`: no velocities; those of its positions may be off by {needed} rad/s with the accelerations stated, expected a bound on \
         velocities of at least that, and stated accelerations", path.display()
    )]
    Derived {
        /// The log.
        path: std::path::PathBuf,
        /// Bound on their errors, rad/s; infinite where no accelerations are stated.
        needed: f64,
    },
    /// A delay is no interval.
    #[error("delay from {low} to {high} s, expected finite numbers, the first no larger than the second")]
    Delay {
        /// From here, s,
        low: f64,
        /// to here, s.
        high: f64,
    },
    /// No such link moves with the hand.
    #[error(transparent)]
    Frame(#[from] PriorFault),
    /// The margin is no factor of at least one.
    #[error("margin {0}, expected a finite number >= 1")]
    Margin(f64),
    /// The data allow no estimate by the method that was asked for.
    #[error("method `{method}`: {reason}")]
    Method {
        /// Its name.
        method: &'static str,
        /// Why.
        reason: String,
    },
}

/// How to study.
#[derive(Debug, Clone)]
pub struct StudyOptions {
    /// What is to be found.
    pub unknown: Unknown,
    /// Whose estimate is shown and predicts; the others are computed as well. None: the one that predicts best a part of the logs that it has not
    /// seen.
    pub method: Option<Estimator>,
    /// How accelerations are found.
    pub smoothing: Smoothing,
    /// Length of a momentum window, s.
    pub window_s: f64,
    /// Bound on |ddq_j|, rad/s^2; from the data if none.
    pub acceleration: Option<Vec<f64>>,
    /// Mean torque error over a window beyond the robot's sensor bounds, N m, one entry a joint.
    pub torque_abs_nm: Vec<f64>,
    /// How late the torques are against the motion.
    pub delay: Delay,
    /// Link of the URDF in whose frame the payload is told; the tool frame if none.
    pub frame: Option<String>,
    /// What was said of the payload beforehand; the bounds that are told keep to it.
    pub stated: Option<StatedPayload>,
    /// If the stated bounds are refuted, the set is for this many times what a part of the data needs ([`ConditionalSet`]). At least one.
    pub margin: f64,
}

/// What a study needs.
pub struct IdentificationStudy<'a> {
    /// The robot, with its sensor bounds and uncertainty.
    pub robot: &'a Arm,
    /// What is believed of all parameters.
    pub prior: &'a ParameterSet,
    /// The recordings to learn from; at least one.
    pub logs: &'a [MeasurementLog],
    /// A recording to predict.
    pub validation: Option<&'a MeasurementLog>,
    /// How.
    pub options: &'a StudyOptions,
}

impl IdentificationStudy<'_> {
    /// Does it.
    ///
    /// # Errors
    /// [`StudyError`] for settings that do not fit the robot, filters without sense, a prior that no body satisfies, or a
    /// log that is too short for its delay.
    pub fn run(&self) -> Result<Findings, StudyError> {
        let (robot, options) = (self.robot, self.options);
        let _span = tracing::info_span!("identify", robot = &*robot.name, logs = self.logs.len()).entered();
        let n = robot.dof();
        if options.torque_abs_nm.len() != n {
            let found = options.torque_abs_nm.len();
            return Err(
                IdentifyError::WrongLength { what: "additive torque error", found, expected: n }.into()
            );
        }
        check_box(self.prior, robot.parameter_count())?;
        if !(options.margin >= 1.0 && options.margin.is_finite()) {
            return Err(StudyError::Margin(options.margin));
        }
        self.robot.tool_frames().get(options.frame.as_deref())?;
        self.check_derived()?;
        let delay = self.delay()?;
        let delay_s = delay.taken_out_s;
        let shift = |log: &MeasurementLog| log.clone().with_torque_delay(delay_s);
        let logs = self.logs.iter().map(shift).collect::<Result<Vec<_>, _>>()?;
        let validation = self.validation.map(shift).transpose()?;
        let findings = IdentificationStudy { logs: &logs, validation: validation.as_ref(), ..*self }
            .of_shifted(delay, self.logs)?;
        findings.tell();
        Ok(findings)
    }

    /// Refuses velocities from positions that the robot's bound on velocities does not cover.
    fn check_derived(&self) -> Result<(), StudyError> {
        let open = vec![f64::INFINITY; self.robot.dof()];
        let acceleration = self.options.acceleration.as_ref().unwrap_or(&open);
        match derived_beyond(self.robot, self.logs, acceleration) {
            None => Ok(()),
            Some((log, needed)) => Err(StudyError::Derived { path: log.path.clone(), needed }),
        }
    }

    /// The study of logs whose torques are in time; `recorded` are the logs before the delay was taken out.
    fn of_shifted(&self, delay: DelayFinding, recorded: &[MeasurementLog]) -> Result<Findings, StudyError> {
        let (robot, options) = (self.robot, self.options);
        let moving = |log| moving(log, options.smoothing);
        let samples = self.logs.iter().map(moving).collect::<Result<Vec<_>, _>>()?.concat();
        let acceleration = match &options.acceleration {
            Some(stated) => stated.clone(),
            None => self.largest_acceleration(recorded)?,
        };
        let (shift_s, delay_s) = (delay.left_s, delay.taken_out_s);
        let making = Making { acceleration: &acceleration, shift_s, delay_s, recorded };
        let data = self.rows(robot.sensors(), self.logs, making)?;
        let unknown = options.unknown.indices(robot);
        let (external_torques, not_noticed) = self.external_torques();
        let Learned { verdict, additive, conditional, narrowed, rows } =
            self.believed(self.learn(&data, making, &unknown)?, &external_torques);
        let premises = self.premises(&acceleration, &delay, conditional.as_ref());
        let sets = narrowed.as_ref().map(|narrowed| &narrowed.sets[..]);
        let set = sets.and_then(|sets| sets.last()).map(|(_, set)| set);
        let raw: Vec<_> = self.logs.iter().flat_map(|log| log.samples.iter().cloned()).collect();
        let near = set.unwrap_or(self.prior);
        let known =
            Data { robot, rows: &rows, prior: self.prior, set: near, unknown: &unknown, samples: &raw };
        let (asked, choice) = self.choice(making, &unknown)?;
        let mut estimates = self.estimates(&known, &samples, asked)?;
        if verdict != Verdict::Consistent {
            methods::forget_intervals(&mut estimates);
        }
        let estimate = Self::chosen(&estimates, asked)?.z.clone();
        let unseen = self.validation.map(moving).transpose()?;
        let seen_by = unseen.as_deref().unwrap_or(&samples);
        let methods = self.method_findings((&estimates, asked), set, &unknown, seen_by);
        let body = self.last_body(&estimate);
        Ok(Findings {
            schema: 3,
            robot: robot.name.clone(),
            unknown: options.unknown,
            logs: self.log_findings(),
            delay,
            assumptions: premises.sentences(robot, delay.sentence()).into_iter().chain(not_noticed).collect(),
            guarantee: self.guarantee(&verdict, conditional.as_ref()),
            external_torques,
            conditional,
            joints: self.joint_findings(&samples, &estimate, &additive)?,
            parameters: unknown.iter().map(|&j| self.parameter(j, &estimate, set)).collect(),
            payload_alone: self.payload_alone(&body, set, &verdict)?,
            estimate_physical: check_physical(&body).is_ok(),
            history: (sets.iter().copied().flatten())
                .map(|(windows, set)| self.moment(*windows, set, &unknown))
                .collect(),
            windows: data.windows(),
            samples_left_out: data.left_out,
            methods,
            choice,
            base: self.base_finding(&samples)?,
            predictions: self.predictions(&estimate)?,
            validation: self.validated(&estimate)?,
            validation_ols: self.validated_plainly(&estimates, asked),
            verdict,
            proof: narrowed.as_ref().map(|narrowed| self.proof(narrowed, premises)),
        })
    }

    /// What the rows of data rest on; `conditional` where the set does.
    fn premises(
        &self,
        acceleration: &[f64],
        delay: &DelayFinding,
        conditional: Option<&ConditionalSet>,
    ) -> Premises {
        let options = self.options;
        let wider = |found: &ConditionalSet| WiderBounds {
            position_rad: found.position_rad,
            velocity_rad_s: found.velocity_rad_s,
            torque_nm: found.torque_nm,
            margin: found.margin,
        };
        Premises {
            unknown: options.unknown,
            files: vec![],
            clocks: self.logs.iter().map(|log| clock_of(self.robot, log)).collect(),
            window_s: options.window_s,
            acceleration_bound: acceleration.to_vec(),
            acceleration_from_logs: options.acceleration.is_none(),
            torque_abs_nm: options.torque_abs_nm.clone(),
            delay_s: delay.interval_s,
            delay_from_logs: delay.best_s.is_some(),
            wider: conditional.map(wider),
        }
    }

    /// What proves the last of the sets.
    fn proof(&self, narrowed: &Narrowed, premises: Premises) -> SetProof {
        let robot = self.robot;
        let recorder =
            Recorder::of_recordings(self.prior, narrowed, robot.inertial_index(robot.end_effector()));
        SetProof { recorded: Some(premises), ..recorder.proof(robot) }
    }

    /// What the rows of data and the motion say of the stated bounds and, with these or wider ones, of the parameters.
    fn learn(&self, data: &RecordedRows, making: Making, unknown: &[usize]) -> Result<Learned, StudyError> {
        let (robot, options) = (self.robot, self.options);
        let stated = data.granting(&options.torque_abs_nm);
        let (narrowed, torque) = match sets_within(robot, self.prior, &stated, unknown) {
            Ok(narrowed) => (Some(narrowed), None),
            Err(IdentifyError::AssumptionBroken { t, joint, .. }) => (None, Some((t, joint))),
            Err(other) => return Err(other.into()),
        };
        let verdict = self.verdict(making, torque)?;
        let none = vec![0.0; robot.dof()];
        let witness = self.prior.center();
        let mut additive = AdditiveBound { necessary: none.clone(), sufficient: none, witness };
        if verdict == Verdict::Consistent {
            return Ok(Learned { verdict, additive, conditional: None, narrowed, rows: stated });
        }
        let mut rows = stated;
        if torque.is_some() {
            let body = robot.end_effector();
            additive = additive::smallest(self.prior, &data.rows, &data.duration, robot.dof(), body)?;
            let granted: Vec<f64> = additive.sufficient.iter().map(|b| b * options.margin).collect();
            rows = data.granting(&granted);
        }
        let (conditional, narrowed) = self.conditional(making)?;
        Ok(Learned { verdict, additive, conditional: Some(conditional), narrowed, rows })
    }

    /// Least squares over the samples; nothing is believed of what is unknown, links otherwise as the prior has them.
    fn estimate(&self, samples: &[Moving], rounds: usize) -> Result<Vec<f64>, StudyError> {
        let (robot, unknown) = (self.robot, self.options.unknown);
        let nominal = robot.nominal_parameters();
        let free = unknown.indices(robot);
        let mut belief = Belief::from_set(self.prior, std::iter::empty());
        for j in 0..robot.parameter_count() {
            let link = j < INERTIAL * robot.dof();
            if !free.contains(&j) {
                // Known up to its box; the model's value is the best guess.
                (belief.center[j], belief.deviation[j]) = (nominal[j], 0.0);
            } else if !link {
                belief.deviation[j] = f64::INFINITY;
            }
        }
        let useful = |k: usize, i: usize| !at_speed_limit(robot, &samples[k].dq, i);
        Ok(fit_reweighted(robot, samples, &belief, useful, rounds)?)
    }

    /// The last body of an estimate.
    fn last_body(&self, estimate: &[f64]) -> [f64; INERTIAL] {
        let first = self.robot.inertial_index(self.robot.end_effector());
        std::array::from_fn(|k| estimate[first + k])
    }

    /// Torque errors of an estimate.
    fn errors(&self, estimate: &[f64], samples: &[Moving]) -> Errors {
        let (robot, n) = (self.robot, self.robot.dof());
        let all = residuals(robot, estimate, samples);
        let own = |i: usize| {
            let free = samples.iter().zip(&all).filter(move |(s, _)| !at_speed_limit(robot, &s.dq, i));
            free.map(move |(_, e)| vec![e[i]]).collect::<Vec<_>>()
        };
        let unlimited: Vec<Vec<Vec<f64>>> = (0..n).map(own).collect();
        Errors {
            all: rms(&all, n),
            limited: unlimited.iter().map(|rows| all.len() - rows.len()).collect(),
            unlimited: unlimited.iter().map(|rows| rms(rows, 1)[0]).collect(),
        }
    }

    /// A guess of a bound on the accelerations from the data, rad/s^2. Over few samples, whatever the estimate is smoothed over: a filter must not
    /// hide what it bounds. It is no smaller than what two velocities a few samples apart prove, so that a guess is not refuted by the data that it is
    /// made of.
    fn largest_acceleration(&self, logs: &[MeasurementLog]) -> Result<Vec<f64>, StudyError> {
        let half = match self.options.smoothing {
            Smoothing::SavitzkyGolay { half, .. } => half.min(ACCELERATION_HALF),
            Smoothing::Butterworth { .. } => ACCELERATION_HALF,
        };
        let smoothing = Smoothing::SavitzkyGolay { half, degree: 2.min(2 * half) };
        let error = 2.0 * self.robot.sensors().velocity_rad_s;
        let (mut largest, mut shown) = (vec![0.0_f64; self.robot.dof()], vec![0.0_f64; self.robot.dof()]);
        for log in logs {
            for sample in moving(log, smoothing)? {
                largest.iter_mut().zip(&sample.ddq).for_each(|(l, a)| *l = l.max(a.abs()));
            }
            let parts = || log.segments.iter().map(|segment| &log.samples[segment.clone()]);
            for span in (1..=STEPS).flat_map(|steps| parts().flat_map(move |part| part.windows(steps + 1))) {
                let (first, last) = (&span[0], &span[span.len() - 1]);
                let steps = first.dq.iter().zip(&last.dq);
                let proven = steps.map(|(a, b)| ((b - a).abs() - error) / (last.t - first.t));
                shown.iter_mut().zip(proven).for_each(|(s, a)| *s = s.max(SHOWN * a));
            }
        }
        let bound = |(largest, shown): (&f64, &f64)| match *shown <= LARGEST_MARGIN * largest {
            true => shown.max(ACCELERATION_MARGIN * largest),
            false => ACCELERATION_MARGIN * largest,
        };
        Ok(largest.iter().zip(&shown).map(bound).collect())
    }

    /// How well the recording that is not learned from is predicted: its torques, and the motion that they make.
    fn validated(&self, estimate: &[f64]) -> Result<Option<ValidationFinding>, StudyError> {
        let Some(log) = self.validation else { return Ok(None) };
        let robot = Arc::new(self.robot.model().clone());
        let mut p = extended_parameters(&robot);
        p[..estimate.len()].copy_from_slice(estimate);
        Ok(Some(ValidationFinding::new(&robot, &p, log, self.options.smoothing)?))
    }

    /// The same by plain least squares, where they are not what is shown. Bodies that they find need not be able to move: then nothing is said.
    fn validated_plainly(
        &self,
        estimates: &methods::Estimates,
        asked: Estimator,
    ) -> Option<ValidationFinding> {
        let plain = estimates.iter().find(|(method, _)| *method == Estimator::Ols && *method != asked);
        let (_, found) = plain?;
        self.validated(&found.as_ref().ok()?.z).ok().flatten()
    }

    fn predictions(&self, estimate: &[f64]) -> Result<Vec<Prediction>, StudyError> {
        let Some(log) = self.validation.or(self.logs.first()) else { return Ok(vec![]) };
        let samples = moving(log, self.options.smoothing)?;
        let errors = residuals(self.robot, estimate, &samples);
        let prediction = |(sample, error): (Moving, Vec<f64>)| Prediction {
            t: sample.t,
            predicted: sample.tau.iter().zip(&error).map(|(tau, e)| tau - e).collect(),
            measured: sample.tau,
        };
        Ok(samples.into_iter().zip(errors).map(prediction).collect())
    }

    fn joint_findings(
        &self,
        samples: &[Moving],
        estimate: &[f64],
        additive: &AdditiveBound,
    ) -> Result<Vec<JointFinding>, StudyError> {
        let (robot, n) = (self.robot, self.robot.dof());
        let (signal, fit) = (torque_rms(samples, n), self.errors(estimate, samples));
        let unseen = match self.validation {
            Some(log) => {
                let samples = moving(log, self.options.smoothing)?;
                Some((torque_rms(&samples, n), self.errors(estimate, &samples)))
            }
            None => None,
        };
        let finding = |i: usize| JointFinding {
            name: robot.joints[i].name.clone(),
            torque_rms_nm: signal[i],
            fit_rms_nm: fit.unlimited[i],
            speed_limited: fit.limited[i],
            validation_torque_rms_nm: unseen.as_ref().map(|u| u.0[i]),
            validation_rms_nm: unseen.as_ref().map(|u| u.1.unlimited[i]),
            validation_rms_all_nm: unseen.as_ref().map(|u| u.1.all[i]),
            validation_speed_limited: unseen.as_ref().map_or(0, |u| u.1.limited[i]),
            additive_necessary_nm: additive.necessary[i],
            additive_sufficient_nm: additive.sufficient[i],
        };
        Ok((0..n).map(finding).collect())
    }

    /// The payload alone, in the frame that was asked for; with its bounds where the data do not refute what was stated.
    fn payload_alone(
        &self,
        body: &[f64; INERTIAL],
        set: Option<&ParameterSet>,
        verdict: &Verdict,
    ) -> Result<Option<FramedPayload>, PriorFault> {
        if self.options.unknown == Unknown::Friction {
            return Ok(None);
        }
        let set = set.filter(|_| *verdict == Verdict::Consistent);
        let ranges = set.map(|set| set.body(self.robot.end_effector()));
        let bounds = ranges.map(|ranges| [ranges.lower(), ranges.upper()]);
        let (frame, stated) = (self.options.frame.as_deref(), self.options.stated.as_ref());
        FramedPayload::of_last_body(self.robot, frame, body, bounds, stated).map(Some)
    }

    fn parameter(&self, j: usize, estimate: &[f64], set: Option<&ParameterSet>) -> ParameterFinding {
        let (name, unit) = parameter_name(self.robot, j);
        ParameterFinding {
            name,
            unit,
            model: self.robot.nominal_parameters()[j],
            estimate: estimate[j],
            prior: [self.prior.lower()[j], self.prior.upper()[j]],
            set: set.map(|set| [set.lower()[j], set.upper()[j]]),
        }
    }

    fn moment(&self, windows: usize, set: &ParameterSet, unknown: &[usize]) -> Moment {
        Moment {
            windows,
            data_s: windows as f64 * self.options.window_s,
            lower: unknown.iter().map(|&j| set.lower()[j]).collect(),
            upper: unknown.iter().map(|&j| set.upper()[j]).collect(),
        }
    }
}

/// What [`IdentificationStudy::learn`] finds.
struct Learned {
    verdict: Verdict,
    additive: AdditiveBound,
    conditional: Option<ConditionalSet>,
    /// None where no interval may be shown.
    narrowed: Option<Narrowed>,
    /// That estimates are made from.
    rows: Rows,
}

/// Torque errors, one entry a joint.
struct Errors {
    /// Root mean square, N m.
    all: Vec<f64>,
    /// Without the samples at the joint's speed limit.
    unlimited: Vec<f64>,
    /// How many those are.
    limited: Vec<usize>,
}

fn torque_rms(samples: &[Moving], joints: usize) -> Vec<f64> {
    rms(&samples.iter().map(|s| s.tau.clone()).collect::<Vec<_>>(), joints)
}

#[cfg(test)]
pub(crate) mod tests;
