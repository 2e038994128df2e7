//! What is known of the payload: the prior, and what joint states have told since.

use std::sync::Arc;

use surelift::identify::{Identifier, IdentifierOptions, IdentifyError};
use surelift::inertia::ParameterSet;
use surelift::job::{GraspPrior, PayloadBounds};
use surelift::plan::tube_fit;
use surelift::recording::Sample;
use surelift::robot::Arm;

use crate::joint_states::JointReading;

/// Why nothing can be told of the payload.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unknown {
    #[error("nothing is held: state the payload with --scenario, or with --mass, --center and --size")]
    NothingHeld,
    #[error(
        "no joint states to learn from: they need effort, come one control period apart, and count while a proven trajectory is executed \
         (at any time with --acceleration); a window takes {0} s"
    )]
    NoData(f64),
    #[error("an assumption is broken: {0}; nothing that was proven counts until ~/reset")]
    Broken(String),
}

/// The arm as it stands before the first joint state.
pub struct Given {
    /// The arm with the payload's shape in its hand.
    pub robot: Arc<Arm>,
    /// What may be true of it.
    pub prior: ParameterSet,
    /// Whether something is held.
    pub holds: bool,
    /// What was said of it on the command line.
    pub grasp: Option<GraspPrior>,
    /// Length of a window of data, s.
    pub window_s: f64,
    /// Bound of accelerations at all times, rad/s^2 a joint, if there is one.
    pub acceleration: Option<Vec<f64>>,
}

/// What is known, and what is still to be learnt from.
pub struct Knowledge {
    given: Given,
    identifier: Option<Identifier>,
    /// Whether accelerations are bounded now.
    bounded: bool,
    /// A reading whose torques come with the next one.
    waiting: Option<JointReading>,
    /// Readings that were taken since the last update.
    fresh: usize,
    broken: Option<String>,
}

impl Knowledge {
    /// Before the first joint state.
    ///
    /// # Errors
    /// What the identifier refuses of the prior, or of the bound on accelerations.
    pub fn new(given: Given) -> Result<Self, IdentifyError> {
        let mut own = Self { given, identifier: None, bounded: false, waiting: None, fresh: 0, broken: None };
        own.reset()?;
        Ok(own)
    }

    /// Forgets all that was learnt, as after the hand took something else of the same kind.
    ///
    /// # Errors
    /// As [`Knowledge::new`].
    pub fn reset(&mut self) -> Result<(), IdentifyError> {
        let Given { robot, prior, holds, window_s, acceleration, .. } = &self.given;
        let bound = acceleration.clone().unwrap_or_else(|| tube_fit::initial(robot).acceleration_bound);
        let options = IdentifierOptions { window_s: *window_s, ..IdentifierOptions::default() };
        let identifier = Identifier::new(robot.clone(), prior, bound, options)?;
        self.identifier = holds.then_some(identifier);
        self.bounded = acceleration.is_some();
        (self.waiting, self.fresh, self.broken) = (None, 0, None);
        Ok(())
    }

    /// What may be true by now.
    pub fn set(&self) -> &ParameterSet {
        self.identifier.as_ref().map_or(&self.given.prior, Identifier::set)
    }

    /// Why nothing that was proven counts, if so.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// A proven trajectory is executed from now on, with these accelerations at most, rad/s^2.
    pub fn executes(&mut self, bound: &[f64]) {
        self.bound_by(Some(bound.to_vec()));
    }

    /// No proof bounds accelerations any more.
    pub fn rests(&mut self) {
        self.bound_by(self.given.acceleration.clone());
    }

    fn bound_by(&mut self, bound: Option<Vec<f64>>) {
        let Some(identifier) = &mut self.identifier else { return };
        self.bounded = bound.is_some();
        // A window of data is of one bound.
        identifier.interrupt();
        self.waiting = None;
        if let Some(Err(error)) = bound.map(|bound| identifier.set_acceleration_bound(bound)) {
            self.breaks(&error);
        }
    }

    /// Takes a reading. Efforts are means over the time before their stamp, so those of the reading before come with this one.
    pub fn hear(&mut self, reading: &JointReading) {
        let Some(identifier) = self.identifier.as_mut().filter(|_| self.bounded && self.broken.is_none())
        else {
            return;
        };
        let before = self.waiting.replace(reading.clone());
        let (Some(before), Some(effort)) = (before, &reading.effort) else { return };
        let sample = Sample { t: before.t, q: before.q, dq: before.dq, tau: effort.clone() };
        let heard = match identifier.push(sample.clone()) {
            // A lost message: no window reaches over the gap.
            Err(IdentifyError::BadTime { t, previous, .. }) if t > previous => identifier.resume(sample),
            other => other,
        };
        match heard {
            Ok(()) => self.fresh += 1,
            Err(error) => self.breaks(&error),
        }
    }

    /// An assumption is broken, told with the joint's name in place of its number.
    fn breaks(&mut self, error: &IdentifyError) {
        let text = match error {
            IdentifyError::Jump { joint, .. } | IdentifyError::AssumptionBroken { joint, .. } => {
                let name = format!("joint '{}'", self.given.robot.joints[*joint].name);
                error.to_string().replacen(&format!("joint {joint}"), &name, 1)
            }
            _ => error.to_string(),
        };
        self.broken.get_or_insert(text);
    }

    /// What is proven of the payload by what was heard until now.
    ///
    /// # Errors
    /// [`Unknown`] says what is missing.
    pub fn identify(&mut self) -> Result<PayloadBounds, Unknown> {
        if let Some(broken) = &self.broken {
            return Err(Unknown::Broken(broken.clone()));
        }
        let Some(identifier) = &mut self.identifier else { return Err(Unknown::NothingHeld) };
        let window = (self.given.window_s / self.given.robot.gains().period_s).round() as usize;
        if self.fresh < window {
            return Err(Unknown::NoData(self.given.window_s));
        }
        match identifier.update() {
            Ok(_) => {
                self.fresh = 0;
                Ok(self.payload())
            }
            Err(error) => {
                self.breaks(&error);
                Err(Unknown::Broken(self.broken.clone().unwrap_or_default()))
            }
        }
    }

    /// What is proven of the payload by now, without the hand.
    pub fn payload(&self) -> PayloadBounds {
        PayloadBounds::of(&self.given.robot, self.set(), self.given.grasp.as_ref())
    }

    /// Whether something is held.
    pub fn holds(&self) -> bool {
        self.given.holds
    }
}
