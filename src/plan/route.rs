//! The way to the goal: a sampled path that keeps away from obstacles and heavy postures, and the next target on it.

use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::ParameterSet;
use crate::robot::clearance::Clearance;
use crate::robot::{INERTIAL, Robot, Scene};

use super::guide::{
    Path, SearchError, SearchOptions, lookahead, nearest_turn, search, search_bounds, segment_is_valid,
};

/// Distances that the path keeps, m: the widest with which there is a path is taken.
const DISTANCES_M: [f64; 3] = [0.08, 0.04, 0.015];
/// Largest numbers of nodes of the searches, one round after the other.
const NODES: [usize; 4] = [500, 2_000, 8_000, 30_000];
/// Largest share of a torque limit that gravity may take in the worst case; the rest is for motion and robustness.
const GRAVITY_SHARE: f64 = 0.8;
/// Configurations that are tried as a way out of a tight place, up to this far from it (rad).
const WAYS_OUT: usize = 400;
/// See [`WAYS_OUT`].
const ESCAPE_RAD: f64 = 1.0;
/// Spacing of the points that are checked along a segment, rad.
const RESOLUTION: f64 = 0.03;

/// A path to the goal and the distances it keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    path: Path,
    keep: Keep,
}

/// Distances to keep, m: neighbouring links are always close, so they may come nearer to each other than to obstacles.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Keep {
    obstacles: f64,
    itself: f64,
}

impl Keep {
    fn wide(distance_m: f64) -> Self {
        Self { obstacles: distance_m, itself: 0.25 * distance_m }
    }

    /// What there is at a configuration.
    fn at(robot: &Robot, scene: &Scene, q: &[f64]) -> Self {
        let frames = robot.frames(q);
        let distance = |c: Option<Clearance>| c.map_or(f64::INFINITY, |c| c.distance);
        Self {
            obstacles: distance(robot.obstacle_clearance(&frames, scene)),
            itself: distance(robot.self_clearance(&frames)),
        }
    }

    /// These distances, but near a place that is closer already no more than not to come closer still.
    fn from(self, here: Self) -> Self {
        Self {
            obstacles: self.obstacles.min(0.9 * here.obstacles),
            itself: self.itself.min(0.9 * here.itself),
        }
    }
}

/// What a search needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Terrain<'a> {
    /// The robot, payload shape included.
    pub robot: &'a Robot,
    /// Parameters for which gravity must leave room in the torque limits.
    pub set: &'a ParameterSet,
    /// Obstacles.
    pub scene: &'a Scene,
}

impl Route {
    /// Searches a path from `start` to `goal` (rad) before `deadline`. Where the start or the goal is too close to something,
    /// the path first leads away from it. Searches with few nodes and every distance come before such with more: what
    /// narrow ways need, a wide one must not use up.
    ///
    /// # Errors
    /// [`SearchError`] of the last, least demanding search.
    pub fn find(
        terrain: Terrain<'_>,
        start: &[f64],
        goal: &[f64],
        seed: u64,
        deadline: Instant,
    ) -> Result<Self, SearchError> {
        let robot = terrain.robot;
        let goal = nearest_turn(robot, start, goal);
        let bounds = search_bounds(robot, start);
        let mut last = SearchError::Invalid("start");
        for (round, max_nodes) in NODES.into_iter().enumerate() {
            let seed = seed.wrapping_mul(NODES.len() as u64).wrapping_add(round as u64);
            let options = SearchOptions {
                seed,
                resolution: RESOLUTION,
                max_nodes,
                deadline: Some(deadline),
                ..SearchOptions::default()
            };
            let keeps = DISTANCES_M.map(Keep::wide);
            let found: Vec<_> = keeps
                .into_par_iter()
                .map(|keep| terrain.path(start, &goal, keep, &bounds, &options))
                .collect();
            for (keep, found) in keeps.into_iter().zip(found) {
                match found {
                    Ok(path) => return Ok(Self { path, keep }),
                    Err(error) => last = error,
                }
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        Err(last)
    }

    /// Where the path ends: the goal, its continuous joints turned to the nearest turn.
    pub fn goal(&self) -> Option<&[f64]> {
        self.path.last().map(Vec::as_slice)
    }

    /// The next target from `q` within `reach` of every joint; `None` if the path is out of reach: search again.
    pub fn target(&self, terrain: Terrain<'_>, q: &[f64], reach: &[f64]) -> Option<Vec<f64>> {
        let at = |q: &[f64]| Keep::at(terrain.robot, terrain.scene, q);
        let mut keep = self.keep.from(at(q));
        let goal =
            self.goal().filter(|goal| goal.iter().zip(q).zip(reach).all(|((g, q), r)| (g - q).abs() <= *r));
        if let Some(goal) = goal {
            keep = keep.from(at(goal));
        }
        lookahead(&self.path, q, reach, RESOLUTION, &|p: &[f64]| terrain.is_easy(p, keep))
    }
}

impl Terrain<'_> {
    /// A path that keeps the distances, but for ways out of tight places at both its ends.
    fn path(
        &self,
        start: &[f64],
        goal: &[f64],
        keep: Keep,
        bounds: &[(f64, f64)],
        options: &SearchOptions,
    ) -> Result<Path, SearchError> {
        let valid = |q: &[f64]| self.is_easy(q, keep);
        let leave = |q: &[f64], name| {
            let away = if valid(q) { Some(q.to_vec()) } else { self.way_out(q, keep, bounds, options.seed) };
            away.ok_or(SearchError::Invalid(name))
        };
        let (away, near) = (leave(start, "start")?, leave(goal, "goal")?);
        let mut path = search(bounds, &away, &near, &valid, options)?;
        if away != start {
            path.insert(0, start.to_vec());
        }
        if near != goal {
            path.push(goal.to_vec());
        }
        Ok(path)
    }

    /// A configuration nearby that keeps the distances, reached without coming closer to anything on the way; `None` also
    /// where something is touched.
    fn way_out(&self, start: &[f64], keep: Keep, bounds: &[(f64, f64)], seed: u64) -> Option<Vec<f64>> {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let here = Keep::at(self.robot, self.scene, start);
        if !(here.obstacles > 0.0 && here.itself > 0.0) {
            return None;
        }
        let on_the_way = keep.from(here);
        (0..WAYS_OUT).find_map(|i| {
            // Near ones first.
            let size = ESCAPE_RAD * (i + 1) as f64 / WAYS_OUT as f64;
            let q: Vec<f64> = (start.iter().zip(bounds))
                .map(|(x, (lower, upper))| (x + size * draw.random_range(-1.0..=1.0)).clamp(*lower, *upper))
                .collect();
            let free = self.is_easy(&q, keep)
                && segment_is_valid(start, &q, RESOLUTION, &|p: &[f64]| self.is_easy(p, on_the_way));
            free.then_some(q)
        })
    }

    /// Whether the distances are kept and gravity leaves room in the torque limits for every theta of the set.
    fn is_easy(&self, q: &[f64], keep: Keep) -> bool {
        let frames = self.robot.frames(q);
        self.robot.keeps_from_obstacles(&frames, self.scene, keep.obstacles)
            && self.robot.self_clearance(&frames).is_none_or(|c| c.distance >= keep.itself)
            && self.is_light(q)
    }

    fn is_light(&self, q: &[f64]) -> bool {
        let (robot, set) = (self.robot, self.set);
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
}

#[cfg(test)]
mod tests;
