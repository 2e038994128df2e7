//! The way to the goal: a sampled path that keeps away from obstacles and heavy postures, and the next target on it.

use std::time::Instant;

use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::ParameterSet;
use crate::robot::{INERTIAL, Robot, Scene};

use super::guide::{Path, SearchError, SearchOptions, lookahead, nearest_turn, search, search_bounds};

/// Distances that the path keeps, m: the widest with which there is a path is taken.
const DISTANCES_M: [f64; 4] = [0.08, 0.04, 0.015, 0.003];
/// Largest share of a torque limit that gravity may take in the worst case; the rest is for motion and robustness.
const GRAVITY_SHARE: f64 = 0.8;
/// Spacing of the points that are checked along a segment, rad.
const RESOLUTION: f64 = 0.03;

/// A path to the goal and the distance it keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    path: Path,
    distance_m: f64,
}

impl Route {
    /// Searches a path from `start` to `goal` (rad) before `deadline`.
    ///
    /// # Errors
    /// [`SearchError`] of the last, least demanding search.
    pub fn find(
        robot: &Robot,
        set: &ParameterSet,
        scene: &Scene,
        start: &[f64],
        goal: &[f64],
        seed: u64,
        deadline: Instant,
    ) -> Result<Self, SearchError> {
        let goal = nearest_turn(robot, start, goal);
        let bounds = search_bounds(robot, start);
        let options = SearchOptions {
            seed,
            resolution: RESOLUTION,
            deadline: Some(deadline),
            ..SearchOptions::default()
        };
        let mut last = None;
        for distance_m in DISTANCES_M {
            let valid = |q: &[f64]| posture_is_easy(robot, set, scene, q, distance_m);
            match search(&bounds, start, &goal, &valid, &options) {
                Ok(path) => return Ok(Self { path, distance_m }),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(SearchError::Invalid("start")))
    }

    /// Where the path ends: the goal, its continuous joints turned to the nearest turn.
    pub fn goal(&self) -> Option<&[f64]> {
        self.path.last().map(Vec::as_slice)
    }

    /// The next target from `q` within `reach` of every joint; `None` if the path is out of reach: search again.
    pub fn target(
        &self,
        robot: &Robot,
        set: &ParameterSet,
        scene: &Scene,
        q: &[f64],
        reach: &[f64],
    ) -> Option<Vec<f64>> {
        let valid = |p: &[f64]| posture_is_easy(robot, set, scene, p, self.distance_m);
        lookahead(&self.path, q, reach, RESOLUTION, &valid)
    }
}

/// Whether nothing is nearer than `distance_m`, and gravity leaves room in the torque limits for every theta of the set.
fn posture_is_easy(robot: &Robot, set: &ParameterSet, scene: &Scene, q: &[f64], distance_m: f64) -> bool {
    let frames = robot.frames(q);
    let near = |clearance: Option<crate::robot::clearance::Clearance>, least: f64| {
        clearance.is_some_and(|c| c.distance < least)
    };
    // Neighbouring links are always close; the certifier looks at them with its own eyes.
    if near(robot.obstacle_clearance(&frames, scene), distance_m)
        || near(robot.self_clearance(&frames), 0.25 * distance_m)
    {
        return false;
    }
    let n = robot.dof();
    let rest = vec![0.0; n];
    let mut motion = Motion::new(robot);
    motion.sweep(robot, q, &rest, &rest, &rest);
    let mut y = vec![0.0; INERTIAL * n * n];
    torque_regressor(robot, &motion, 0..n, &mut y);
    (0..n).all(|j| {
        let row = &y[INERTIAL * n * j..INERTIAL * n * (j + 1)];
        let worst = |sign: f64| -> f64 {
            let bounds = set.lower.iter().zip(&set.upper);
            row.iter().zip(bounds).map(|(y, (l, u))| (sign * y * l).max(sign * y * u)).sum()
        };
        worst(1.0).max(worst(-1.0)) <= GRAVITY_SHARE * robot.joints[j].limits.torque
    })
}
