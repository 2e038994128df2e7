//! A scenario: a task, and the truth beside it.

use std::path::Path;

use super::error::ScenarioError;
use super::load;
use crate::horizon::Task;
use crate::inertia::INERTIAL;
use crate::simulate::HiddenTruth;

/// A checked scenario: the task, and the truth that the simulated plant needs.
#[derive(Debug)]
pub struct Scenario {
    pub(super) task: Task,
    pub(super) truth: HiddenTruth,
}

impl Scenario {
    /// Loads and checks a scenario file.
    ///
    /// # Errors
    /// [`ScenarioError`] names the file and the field, or the capsule and the obstacle that touch.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        load::load(path.as_ref(), None, None)
    }

    /// Loads one variant of a scenario that comes in several, by its name in the table `items`; `None` takes the one that the file means.
    ///
    /// # Errors
    /// As [`Scenario::load`]; an unknown name is told with those that there are.
    pub fn load_item(path: impl AsRef<Path>, item: Option<&str>) -> Result<Self, ScenarioError> {
        load::load(path.as_ref(), item, None)
    }

    /// The names of the variants that a scenario file holds, in alphabetical order; none for a file without any.
    ///
    /// # Errors
    /// [`ScenarioError`] names a file that cannot be read.
    pub fn items(path: impl AsRef<Path>) -> Result<Vec<String>, ScenarioError> {
        load::items(path.as_ref())
    }

    /// Loads a scenario without start, goal and (but for what is common to all its worlds) obstacles, and takes these from
    /// a world file ([`super::world`]).
    ///
    /// # Errors
    /// As [`Scenario::load`]; for the world file with line and column.
    pub fn load_in_world(path: impl AsRef<Path>, world: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        load::load(path.as_ref(), None, Some(world.as_ref()))
    }

    /// The same task with a held object of `mass` kg, whatever the file and the prior say: the object's first
    /// moment and inertia scale with its mass, the nominal last link with its gripper stays.
    ///
    /// # Errors
    /// [`ScenarioError::PayloadMass`] if `mass` is negative or not finite, or the scenario holds no object.
    pub fn with_payload_mass(self, mass: f64) -> Result<Self, ScenarioError> {
        let robot = &self.task.robot;
        let empty = robot.joints[robot.end_effector()].inertia;
        let truth = self.truth.with_object_mass(mass, &empty).map_err(ScenarioError::PayloadMass)?;
        Ok(Self { truth, ..self })
    }

    /// The same truth under a task that `change` may alter.
    pub(crate) fn adjusted(mut self, change: impl FnOnce(&mut Task)) -> Self {
        change(&mut self.task);
        self
    }

    /// The same task with another truth about the whole last body (m, h, I about the end-effector joint's frame); the
    /// robot is not told.
    ///
    /// # Errors
    /// [`ScenarioError::PayloadMass`] if no rigid body has these parameters.
    pub(crate) fn with_last_body(self, body: [f64; INERTIAL]) -> Result<Self, ScenarioError> {
        let truth = self.truth.with_last_body(body).map_err(ScenarioError::PayloadMass)?;
        Ok(Self { truth, ..self })
    }

    /// What the run may know.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Separates what the run may know from what the plant alone may know.
    pub fn split(self) -> (Task, HiddenTruth) {
        (self.task, self.truth)
    }
}
