//! The random plans that gains are tried on.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::{TuneError, TuneOptions, TuningProblem};
use crate::horizon::Task;
use crate::robot::{Arm, Joint};
use crate::trajectory::{Bezier, JointState};

/// How far plans of a robot without a scenario take a joint that turns, rad, and one that slides, as a share of its travel.
const RANGE_RAD: f64 = 0.5;
const RANGE_SHARE: f64 = 0.25;
/// Plans end this far inside the position limits, rad, or this share of the travel of a joint that slides or turns little: what tracking errors take of
/// the limits is to be found, not to decide which plans there are.
const MARGIN_RAD: f64 = 0.1;
const MARGIN_SHARE: f64 = 0.05;
/// Travel of a joint that slides without limits, m.
const UNLIMITED_M: f64 = 1.0;
/// Draws before the plans at hand have to do. Most draws end within the limits; the number is only there to end.
const ATTEMPTS: usize = 1000;

/// How far the position limits let a joint move, rad or m.
fn travel(joint: &Joint) -> f64 {
    let unlimited = if joint.kind.is_rotation() { f64::INFINITY } else { UNLIMITED_M };
    joint.limits.position.map_or(unlimited, |(lower, upper)| upper - lower)
}

/// So much of a joint's travel; of one that turns at most the angle.
fn part(joint: &Joint, angle: f64, share: f64) -> f64 {
    let part = share * travel(joint);
    if joint.kind.is_rotation() { part.min(angle) } else { part }
}

/// How far plans take each joint of a robot without a scenario, rad or m.
pub(super) fn range(robot: &Arm) -> Vec<f64> {
    robot.joints.iter().map(|joint| part(joint, RANGE_RAD, RANGE_SHARE)).collect()
}

/// The straight motion towards the goal, as far as one plan may go; none where the arm starts at its goal.
pub(super) fn first(task: &Task) -> Option<Bezier> {
    let ways = || task.start.iter().zip(&task.goal).map(|(from, to)| to - from);
    let shares = ways().zip(&task.carry.range_rad).map(|(way, range)| range / way.abs());
    let share = shares.fold(1.0, f64::min);
    let end: Vec<f64> = task.start.iter().zip(ways()).map(|(from, way)| from + share * way).collect();
    let moves = end.iter().zip(&task.start).any(|(end, start)| end != start);
    moves.then(|| Bezier::to_rest(&JointState::at_rest(&task.start), &end, task.timing.t_f_s).ok())?
}

impl TuningProblem {
    /// Random plans within the position limits, the same for all gains; before them the first motion of a scenario that has one.
    pub(super) fn curves(&self, options: &TuneOptions) -> Result<Vec<Bezier>, TuneError> {
        self.curves_that(options, |_| true)
    }

    /// Those that begin at rest.
    pub(super) fn curves_from_rest(&self, options: &TuneOptions) -> Result<Vec<Bezier>, TuneError> {
        self.curves_that(options, |curve| curve.state(0.0).dq.iter().all(|dq| *dq == 0.0))
    }

    fn curves_that(
        &self,
        options: &TuneOptions,
        suits: impl Fn(&Bezier) -> bool,
    ) -> Result<Vec<Bezier>, TuneError> {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        let within = |curve: &Bezier| {
            let joints = self.arm.robot.joints.iter().zip(curve.end());
            joints.into_iter().all(|(joint, q)| {
                let margin = part(joint, MARGIN_RAD, MARGIN_SHARE);
                joint.limits.position.is_none_or(|(l, u)| (l + margin..=u - margin).contains(&q))
            })
        };
        let drawn = (0..ATTEMPTS).filter_map(|_| self.arm.curve(&mut rng)).filter(within);
        let drawn = drawn.filter(|curve| suits(curve)).take(options.plans.max(1));
        let first = self.first.clone().filter(|curve| suits(curve));
        let curves: Vec<Bezier> = first.into_iter().chain(drawn).collect();
        if curves.is_empty() { Err(TuneError::Plans(self.arm.label.clone())) } else { Ok(curves) }
    }
}
