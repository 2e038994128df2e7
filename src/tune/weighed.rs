//! What weighing leaves of a prior, for a scenario that begins with it: no plan is ever proven for the whole prior there.
//!
//! The arm stands, and the torques that hold it tell the load's weight ([`crate::horizon`]). What they tell depends on the load. Gains are
//! looked for with the heaviest one: of equally wide intervals the heavier mass asks for more torque. Nothing is trusted here; each run proves its plans for
//! what it weighs.

use std::sync::Arc;

use super::TuneError;
use crate::dynamics::Workspace;
use crate::horizon::{Learner, Task};
use crate::inertia::ParameterSet;
use crate::plan::tube_fit;
use crate::recording::Sample;

/// The set after weighing at the start, if the heaviest load of `prior` is held there; none if the task does not begin with weighing.
///
/// # Errors
/// [`TuneError::Set`] if the readings contradict the prior.
pub(super) fn heaviest(task: &Task, prior: &ParameterSet) -> Result<Option<ParameterSet>, TuneError> {
    let Some(held) = task.held.as_ref().filter(|held| held.identify.weigh_s > 0.0) else { return Ok(None) };
    let (robot, hand) = (Arc::new(task.robot.clone()), task.robot.end_effector());
    let bound = tube_fit::initial(&robot).acceleration_bound;
    let unknown =
        |error: String| TuneError::Set(format!("what weighing leaves of it cannot be told: {error}"));
    let mut learner =
        Learner::new(robot.clone(), held, prior, bound).map_err(|error| unknown(error.to_string()))?;
    let mut theta = learner.set().center().to_vec();
    theta[robot.body_range(hand).start] = learner.set().body(hand).upper()[0];
    let (n, period_s) = (robot.dof(), robot.gains().period_s);
    let mut tau = vec![0.0; n];
    Workspace::new(&robot).gravity_torques(&robot, &task.start, &theta, &mut tau);
    for (j, tau) in tau.iter_mut().enumerate() {
        *tau += theta[robot.joint_index(j).offset];
    }
    learner.stands(0.0).map_err(|broken| unknown(broken.text.clone()))?;
    for k in 0..=(held.identify.weigh_s / period_s).round() as usize {
        let (q, dq) = (task.start.clone(), vec![0.0; n]);
        let sample = Sample { t: k as f64 * period_s, q, dq, tau: tau.clone() };
        learner.push(sample).map_err(|broken| unknown(broken.text.clone()))?;
    }
    let update = learner.update(held.identify.weigh_s).map_err(|broken| unknown(broken.text.clone()))?;
    Ok(Some(update.set))
}
