//! What a run learns of the object in the hand: the identifier, and what the exciting trajectories have told.

use std::sync::Arc;

use super::evidence::{self, Broken, MeasurementGap};
use super::outcome::TaskPhase;
use super::record::{LogRow, MostProbable};
use super::task::{ExciteCriterion, HeldObject, Identify, Task};
use crate::identify::{Identifier, IdentifierOptions, IdentifyError, Method, SetProof, Update};
use crate::inertia::{INERTIAL, ParameterSet};
#[cfg(feature = "studies")]
use crate::multibody::payload;
use crate::plan::excite::{Criterion, Information};
use crate::plan::{Plan, tube_fit};
use crate::recording::Sample;
use crate::regression::foresee;
use crate::robot::Arm;
use crate::trajectory::Pieces;

/// Everything that has to do with learning; a run with an empty hand has none.
pub(crate) struct Learner {
    robot: Arc<Arm>,
    held: HeldObject,
    identifier: Identifier,
    /// A body that can exist, in the middle of the prior.
    start: [f64; INERTIAL],
    known: Information,
}

/// An error is the proof that an assumption is broken.
type Checked<T> = Result<T, Box<Broken>>;

/// What is possible before the first measurement: what physics leaves of the prior where something is held.
///
/// # Errors
/// [`IdentifyError`] if the identifier refuses the prior.
pub fn first_set(task: &Task) -> Result<ParameterSet, IdentifyError> {
    let (robot, prior) = (Arc::new(task.robot.clone()), task.prior_set()?);
    let Some(held) = &task.held else { return Ok(prior) };
    let bound = tube_fit::initial(&robot).acceleration_bound;
    Ok(Learner::new(robot, held, &prior, bound)?.set().clone())
}

impl Learner {
    /// Before the first measurement: `prior` is what may be true, `acceleration_bound` what the first tube promises.
    pub(crate) fn new(
        robot: Arc<Arm>,
        held: &HeldObject,
        prior: &ParameterSet,
        acceleration_bound: Vec<f64>,
    ) -> Result<Self, IdentifyError> {
        let Identify { method, window_s, .. } = held.identify;
        let options = IdentifierOptions { method, window_s, ..IdentifierOptions::default() };
        let identifier = Identifier::new(robot.clone(), prior, acceleration_bound, options)?;
        // What a person guesses is the estimate until something is learnt, and where the search for the most probable body begins.
        let start = held.prior.nominal.unwrap_or(*identifier.nominal());
        let identifier = identifier.with_guess(start);
        Ok(Self { robot, held: held.clone(), identifier, start, known: Information::none() })
    }

    /// What is possible now.
    pub(crate) fn set(&self) -> &ParameterSet {
        self.identifier.set()
    }

    /// What proves it.
    pub(crate) fn proof(&self) -> SetProof {
        self.identifier.proof()
    }

    /// Work ahead of the next update, while the arm moves.
    pub(crate) fn prepare(&mut self) {
        self.identifier.prepare();
    }

    /// Hands the measurements so far, up to time `t`, to the identifier.
    pub(crate) fn update(&mut self, t: f64) -> Checked<Update> {
        self.identifier.update().map_err(|error| self.broken(t, &error))
    }

    /// The arm stands still until a plan takes over.
    pub(crate) fn stands(&mut self, t: f64) -> Checked<()> {
        let still = self.identifier.set_acceleration_bound(vec![0.0; self.robot.dof()]);
        still.map_err(|error| self.broken(t, &error))
    }

    /// What follows is not heard for a while: no window of data reaches over that.
    pub(crate) fn pause(&mut self) {
        self.identifier.interrupt();
    }

    /// Takes a measurement. Where it comes late, the gap before it is told and the window of data around that left out.
    pub(crate) fn push(&mut self, sample: Sample) -> Checked<Option<MeasurementGap>> {
        let t = sample.t;
        let heard = match self.identifier.push(sample.clone()) {
            Err(IdentifyError::BadTime { previous, .. }) if t > previous => {
                self.identifier.resume(sample).map(|()| Some(MeasurementGap { from_s: previous, to_s: t }))
            }
            other => other.map(|()| None),
        };
        heard.map_err(|error| self.broken(t, &error))
    }

    /// The present set, with what is known besides of the torques along a motion like `curve`, planned at time `t`.
    pub(crate) fn along(&mut self, t: f64, curve: Pieces<'_>) -> Checked<ParameterSet> {
        if !self.held.identify.correlated {
            return Ok(self.identifier.set().clone());
        }
        let (times, rows) = foresee::torque_rows(&self.robot, curve);
        let strips = self.identifier.torque_strips(times, &rows).map_err(|error| self.broken(t, &error))?;
        Ok(self.identifier.set().clone().with_strips(Some(strips)))
    }

    /// The most probable parameters after a run with this log, if the scenario asks for them.
    pub(crate) fn most_probable(&self, log: &[LogRow]) -> Option<MostProbable> {
        if self.held.identify.method != Method::Map {
            return None;
        }
        Some(self.estimate(log))
    }

    #[cfg(feature = "studies")]
    fn estimate(&self, log: &[LogRow]) -> MostProbable {
        let samples: Vec<_> = log
            .iter()
            .map(|row| Sample { t: row.t, q: row.q.clone(), dq: row.dq.clone(), tau: row.tau.clone() })
            .collect();
        match payload::estimate(&self.robot, &samples, &self.start) {
            Ok(found) => {
                let body = self.identifier.set().body(self.robot.end_effector());
                MostProbable {
                    estimate: found.inertial.to_vec(),
                    deviation: found.deviation.to_vec(),
                    inside: body.contains(&found.inertial),
                    samples: found.samples,
                    iterations: found.iterations,
                    seconds: found.seconds,
                    failure: (!found.converged).then(|| "the iteration did not converge".to_owned()),
                }
            }
            Err(error) => MostProbable { failure: Some(error.to_string()), ..MostProbable::default() },
        }
    }

    /// Nothing that is safe depends on it, so a run without the estimator goes on without its estimate.
    #[cfg(not(feature = "studies"))]
    fn estimate(&self, _: &[LogRow]) -> MostProbable {
        let why = "this program was compiled without the feature `studies`, which has the estimator";
        MostProbable { failure: Some(why.to_owned()), ..MostProbable::default() }
    }

    /// A plan takes over, of which `executed_s` will be executed at least.
    pub(crate) fn plan_starts(&mut self, plan: &Plan, phase: TaskPhase, executed_s: f64) -> Checked<()> {
        let bound = plan.tube.acceleration_bound().to_vec();
        let accepted = self.identifier.set_acceleration_bound(bound);
        accepted.map_err(|error| self.broken(plan.t_start_s, &error))?;
        if phase == TaskPhase::Excite {
            let samples = self.held.excite.samples;
            self.known.absorb(&self.robot, &plan.set, &plan.curve, executed_s, samples);
        }
        Ok(())
    }

    /// What the executed exciting trajectories have told.
    pub(crate) fn known(&self) -> &Information {
        &self.known
    }

    /// What an exciting trajectory is to minimise, given what is known.
    pub(crate) fn criterion(&self, set: &ParameterSet) -> Criterion {
        match self.held.excite.criterion {
            ExciteCriterion::ConditionNumber => Criterion::condition_number(),
            ExciteCriterion::Random => Criterion::Random,
            ExciteCriterion::PredictedWidth => {
                Criterion::predicted_width(&self.robot, set).weighted(self.held.excite.weights)
            }
        }
    }

    fn broken(&self, t: f64, error: &IdentifyError) -> Box<Broken> {
        Box::new(evidence::of_data(&self.robot, t, error))
    }
}
