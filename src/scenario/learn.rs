//! What a run learns of the object in the hand: the identifier, and what the exciting trajectories have told.

use std::sync::Arc;

use crate::certify::Plan;
use crate::identify::{Identifier, IdentifierOptions, IdentifyError, Sample, Update};
use crate::inertia::ParameterSet;
use crate::plan::excite::{Criterion, Information};
use crate::report::Phase;
use crate::robot::Robot;

use super::task::{ExciteCriterion, Held};

/// Everything that has to do with learning; a run with an empty hand has none.
pub(super) struct Learner {
    robot: Arc<Robot>,
    held: Held,
    identifier: Identifier,
    known: Information,
}

impl Learner {
    /// Before the first measurement: `prior` is what may be true, `acceleration_bound` what the first tube promises.
    pub(super) fn new(
        robot: Arc<Robot>,
        held: &Held,
        prior: &ParameterSet,
        acceleration_bound: Vec<f64>,
    ) -> Result<Self, IdentifyError> {
        let options = IdentifierOptions { window_s: held.identify.window_s, ..IdentifierOptions::default() };
        let identifier = Identifier::new(robot.clone(), prior, acceleration_bound, options)?;
        Ok(Self { robot, held: held.clone(), identifier, known: Information::none() })
    }

    /// What is possible now.
    pub(super) fn set(&self) -> &ParameterSet {
        self.identifier.set()
    }

    /// Hands the measurements so far to the identifier. An error is the reason why an assumption must be broken.
    pub(super) fn update(&mut self) -> Result<Update, String> {
        self.identifier.update().map_err(|error| self.explain(&error))
    }

    /// Takes a measurement. An error is the reason why an assumption must be broken.
    pub(super) fn push(&mut self, sample: Sample) -> Result<(), String> {
        self.identifier.push(sample).map_err(|error| self.explain(&error))
    }

    /// A plan takes over, of which `executed_s` will be executed at least.
    pub(super) fn plan_starts(&mut self, plan: &Plan, phase: Phase, executed_s: f64) -> Result<(), String> {
        let bound = plan.tube.acceleration_bound.clone();
        self.identifier.set_acceleration_bound(bound).map_err(|error| error.to_string())?;
        if phase == Phase::Excite {
            let samples = self.held.excite.samples;
            self.known.absorb(&self.robot, &plan.set, &plan.curve, executed_s, samples);
        }
        Ok(())
    }

    /// What the executed exciting trajectories have told.
    pub(super) fn known(&self) -> &Information {
        &self.known
    }

    /// What an exciting trajectory is to minimise, given what is known.
    pub(super) fn criterion(&self, set: &ParameterSet) -> Criterion {
        match self.held.excite.criterion {
            ExciteCriterion::ConditionNumber => Criterion::condition_number(),
            ExciteCriterion::PredictedWidth => Criterion::predicted_width(&self.robot, set),
        }
    }

    /// An identifier error with the joint's name.
    fn explain(&self, error: &IdentifyError) -> String {
        match error {
            IdentifyError::AssumptionBroken { joint, .. } | IdentifyError::Jump { joint, .. } => {
                format!("joint '{}': {error}", self.robot.joints[*joint].name)
            }
            _ => error.to_string(),
        }
    }
}
