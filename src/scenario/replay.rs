//! Where everything was in a run and what its certificates cover, for a person to see again.

use crate::horizon::Task;
use crate::plan::Plan;
use crate::reach::swept::{swept_capsules, swept_capsules_momentum};
use crate::reach::{PreparedSet, Span, TrackingTube};
use crate::report::replay::{
    MOST_POSES, Replay, ReplayObstacle, ReplayPlan, ReplayPose, ReplayShape, ShapeOwner,
};
use crate::robot::{Arm, LinkShape, Scene};
use crate::simulate::TrueState;

/// Parts of time into which all plans together are cut at most, but for [`FEWEST`] each.
const CELLS: usize = 900;
/// Parts of time of a plan: where there are few plans, and where there are many.
const MOST: usize = 30;
const FEWEST: usize = 6;

/// A replay of what the auditor saw and of the plans that were executed.
pub(super) fn of(task: &Task, states: &[TrueState], plans: &[Plan]) -> Replay {
    let robot = &task.robot;
    let moving: Vec<usize> =
        states.first().map_or(vec![], |state| state.obstacles.iter().map(|(k, _)| *k).collect());
    let cells = (CELLS / plans.len().max(1)).clamp(FEWEST, MOST);
    let same_shapes = |plan: &&Plan| plan.robot.shapes().len() == robot.shapes().len();
    Replay {
        shapes: robot.shapes().iter().map(|shape| named(shape, robot)).collect(),
        poses: thinned(states).map(|state| pose(robot, state)).collect(),
        obstacles: obstacles(&task.scene, &moving),
        plans: plans.iter().filter(same_shapes).map(|plan| swept(plan, cells)).collect(),
    }
}

/// Every so many, and the last.
fn thinned(states: &[TrueState]) -> impl Iterator<Item = &TrueState> {
    let every = states.len().div_ceil(MOST_POSES - 1).max(1);
    let last = states.len().saturating_sub(1);
    states
        .iter()
        .enumerate()
        .filter(move |(k, _)| k.is_multiple_of(every) || *k == last)
        .map(|(_, state)| state)
}

fn named(shape: &LinkShape, robot: &Arm) -> ReplayShape {
    let owner = match shape.joint {
        None => ShapeOwner::Base,
        Some(joint) if joint == robot.end_effector() && shape.name.starts_with("payload") => {
            ShapeOwner::Payload
        }
        Some(_) => ShapeOwner::Link,
    };
    ReplayShape { name: shape.name.clone(), owner, radius_m: shape.capsule.radius }
}

fn pose(robot: &Arm, state: &TrueState) -> ReplayPose {
    let frames = robot.frames(&state.q);
    let ends = (0..robot.shapes().len()).map(|shape| {
        let capsule = robot.placed_capsule(shape, &frames);
        [capsule.a.into(), capsule.b.into()]
    });
    let mut centers: Vec<(usize, [f64; 3])> =
        state.obstacles.iter().map(|(k, center)| (*k, (*center).into())).collect();
    centers.sort_by_key(|(k, _)| *k);
    ReplayPose {
        t: state.t,
        ends: ends.collect(),
        centers: centers.into_iter().map(|(_, center)| center).collect(),
    }
}

fn obstacles(scene: &Scene, moving: &[usize]) -> Vec<ReplayObstacle> {
    let seen = scene.obstacles.iter().enumerate().map(|(k, obstacle)| ReplayObstacle {
        name: obstacle.name.clone(),
        center: obstacle.center.into(),
        moves: moving.contains(&k),
        faces: obstacle
            .faces()
            .iter()
            .map(|face| face.iter().map(|&corner| corner.into()).collect())
            .collect(),
    });
    seen.collect()
}

/// What the certificate of a plan covers, in equal parts of its time.
fn swept(plan: &Plan, cells: usize) -> ReplayPlan {
    let curve = plan.curve.view();
    let duration_s = curve.duration_s();
    let at = |k: usize| duration_s * k as f64 / cells as f64;
    let span = |k: usize| Span::Between(at(k), at(k + 1));
    let robot = &plan.robot;
    let of_momentum = plan.tube.momentum().map(|bounded| (PreparedSet::new(robot, &plan.set), &bounded.tube));
    let cell = |k: usize| match (&plan.tube, &of_momentum) {
        (TrackingTube::Energy(tube), _) => swept_capsules(robot, tube, curve, span(k)),
        (_, Some((set, tube))) => {
            swept_capsules_momentum(robot, set, tube, (curve, span(k))).unwrap_or_default()
        }
        _ => vec![],
    };
    ReplayPlan { t: plan.t_start_s, duration_s, cells: (0..cells).map(cell).collect() }
}
