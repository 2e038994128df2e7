//! The way to the goal: a sampled path that keeps away from obstacles and heavy postures, and the next target on it.

use std::cell::RefCell;
use std::time::Instant;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use thiserror::Error;

use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::reach::Joints;
use crate::reach::cell::MAX_JOINTS;
use crate::robot::clearance::Clearance;
use crate::robot::{Arm, Obstruction, Placement, Scene};

use super::guide::{
    Path, SearchError, SearchOptions, SearchSpace, lookahead, nearest_turn, search_bounds, segment_is_valid,
};

/// What the path keeps, most first, and the first with which there is a path is taken: distances, m, and the share of every
/// torque limit that gravity leaves in the worst case, for motion and robustness. The first leaves room for fast plans, the
/// last is for tight places.
const KEEPS: [(f64, f64); 3] = [(0.08, 0.2), (0.04, 0.1), (0.015, 0.05)];
/// Largest numbers of nodes of the searches, one round after the other. Each round has four times as many as the one before,
/// so that a hard scene costs a third more than a search that knew the number.
const NODES: [usize; 4] = [500, 2_000, 8_000, 30_000];
/// Rounds of a brief search: some tenths of a second where there is no way.
const BRIEF: usize = 2;
/// Configurations that are tried as a way out of a tight place, up to this far from it (rad), near ones first. A try costs
/// the clearances of one configuration.
const WAYS_OUT: usize = 400;
/// See [`WAYS_OUT`].
const ESCAPE_RAD: f64 = 1.0;
/// Spacing of the points that are checked along a segment, rad. A point 1 m from the joint moves 3 cm in between; it may
/// pass nearer in between, but every plan is proven for all times.
const RESOLUTION: f64 = 0.03;

/// A path to the goal and what it keeps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Route {
    path: Path,
    keep: Keep,
}

/// Why there is no route.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum RouteError {
    /// The search found none.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// Where the way starts or ends nothing can be planned.
    #[error("at the {place} {fault}")]
    Place {
        /// `start` or `goal`.
        place: &'static str,
        /// What is wrong there.
        fault: String,
    },
}

/// What a path keeps at least, or a configuration has. Neighbouring links are always close, so they may come nearer to
/// each other than to obstacles.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Keep {
    /// Distance to obstacles, m.
    obstacles: f64,
    /// Distance between links, m.
    itself: f64,
    /// Share of the torque limits that gravity leaves.
    room: f64,
}

impl Keep {
    fn wide((distance_m, room): (f64, f64)) -> Self {
        Self { obstacles: distance_m, itself: 0.25 * distance_m, room }
    }

    /// This much, but near a place that has less already only nine tenths of what there is.
    fn from(self, here: Self) -> Self {
        Self {
            obstacles: self.obstacles.min(0.9 * here.obstacles),
            itself: self.itself.min(0.9 * here.itself),
            room: self.room.min(0.9 * here.room),
        }
    }
}

/// What a search needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Terrain<'a> {
    /// The robot, payload shape included.
    pub robot: &'a Arm,
    /// Parameters for which gravity must leave room in the torque limits.
    pub set: &'a ParameterSet,
    /// Obstacles.
    pub scene: &'a Scene,
}

impl Route {
    /// Searches a path, see [`Router::find`].
    ///
    /// # Errors
    /// As there.
    pub fn find(
        terrain: Terrain<'_>,
        start: &[f64],
        goal: &[f64],
        seed: u64,
        deadline: Instant,
    ) -> Result<Self, RouteError> {
        Router::default().find(terrain, start, goal, seed, deadline).cloned()
    }

    /// Where the path ends: the goal, its continuous joints turned to the nearest turn.
    pub fn goal(&self) -> Option<&[f64]> {
        self.path.last().map(Joints::as_slice)
    }
}

/// Finds routes, again and again in the same storage: after the first search, others that need no more of it ask for no memory.
#[derive(Debug, Default)]
pub struct Router {
    robot: Option<Arm>,
    searches: Vec<SearchStorage>,
    route: Route,
    found: bool,
}

/// Storage of one search.
#[derive(Debug)]
struct SearchStorage {
    look: Look,
    search: SearchSpace,
    outcome: Result<(), RouteError>,
}

/// The space to look at a configuration.
#[derive(Debug)]
struct Look {
    motion: Motion<f64>,
    /// A joint vector of zeros.
    rest: Joints<f64>,
    regressor: Vec<f64>,
    frames: Vec<Placement>,
}

impl SearchStorage {
    fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        let (motion, regressor) = (Motion::new(robot), vec![0.0; INERTIAL * n * n]);
        let look =
            Look { motion, rest: (0..n).map(|_| 0.0).collect(), regressor, frames: Vec::with_capacity(n) };
        Self { look, search: SearchSpace::default(), outcome: Ok(()) }
    }
}

impl Router {
    /// Searches a path from `start` to `goal` (rad) before `deadline`. Where the start or the goal is too close to something,
    /// the path first leads away from it. Searches with few nodes and every distance come before such with more: what
    /// narrow ways need, a wide one must not use up.
    ///
    /// # Errors
    /// [`RouteError`] of the last, least demanding search; the route found before stays.
    pub fn find(
        &mut self,
        terrain: Terrain<'_>,
        start: &[f64],
        goal: &[f64],
        seed: u64,
        deadline: Instant,
    ) -> Result<&Route, RouteError> {
        self.search(terrain, (start, goal), seed, deadline, &NODES)
    }

    /// [`Router::find`] with no more than the first rounds: for a way that may well not be there, while time is short.
    ///
    /// # Errors
    /// As there.
    pub fn find_briefly(
        &mut self,
        terrain: Terrain<'_>,
        start: &[f64],
        goal: &[f64],
        seed: u64,
        deadline: Instant,
    ) -> Result<&Route, RouteError> {
        self.search(terrain, (start, goal), seed, deadline, &NODES[..BRIEF])
    }

    fn search(
        &mut self,
        terrain: Terrain<'_>,
        (start, goal): (&[f64], &[f64]),
        seed: u64,
        deadline: Instant,
        nodes: &[usize],
    ) -> Result<&Route, RouteError> {
        self.fit(terrain.robot)?;
        let goal = nearest_turn(terrain.robot, start, goal);
        let bounds = search_bounds(terrain.robot, start);
        let mut last = RouteError::Search(SearchError::Invalid("start"));
        for (round, &max_nodes) in nodes.iter().enumerate() {
            let seed = seed.wrapping_mul(NODES.len() as u64).wrapping_add(round as u64);
            let options = SearchOptions {
                seed,
                resolution: RESOLUTION,
                max_nodes,
                deadline: Some(deadline),
                ..SearchOptions::default()
            };
            self.searches.par_iter_mut().zip(KEEPS).for_each(|(storage, keep)| {
                let SearchStorage { look, search, outcome } = storage;
                *outcome = Ground::new(terrain, look).path(
                    start,
                    &goal,
                    Keep::wide(keep),
                    &bounds,
                    &options,
                    search,
                );
            });
            for (storage, keep) in self.searches.iter_mut().zip(KEEPS) {
                match std::mem::replace(&mut storage.outcome, Ok(())) {
                    Ok(()) => {
                        self.route.path.clone_from(&storage.search.path);
                        (self.route.keep, self.found) = (Keep::wide(keep), true);
                        return Ok(&self.route);
                    }
                    Err(error) => last = error,
                }
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        Err(last)
    }

    /// The route found last, if it is not forgotten.
    pub fn route(&self) -> Option<&Route> {
        self.found.then_some(&self.route)
    }

    /// Forgets the route.
    pub fn forget(&mut self) {
        self.found = false;
    }

    /// The next target on the route from `q` within `reach` of every joint; `None` without a route, or if it is out of reach:
    /// search again.
    pub fn target(&mut self, terrain: Terrain<'_>, q: &[f64], reach: &[f64]) -> Option<Joints<f64>> {
        self.fit(terrain.robot).ok()?;
        let (route, storage) = (self.found.then_some(&self.route)?, self.searches.first_mut()?);
        let ground = Ground::new(terrain, &mut storage.look);
        let mut keep = route.keep.from(ground.at(q));
        let goal =
            route.goal().filter(|goal| goal.iter().zip(q).zip(reach).all(|((g, q), r)| (g - q).abs() <= *r));
        if let Some(goal) = goal {
            keep = keep.from(ground.at(goal));
        }
        lookahead(&route.path, q, reach, RESOLUTION, &|p: &[f64]| ground.is_easy(p, keep))
    }

    /// Sees to it that the storage is this robot's; a route of another is forgotten.
    fn fit(&mut self, robot: &Arm) -> Result<(), RouteError> {
        let (n, expected) = (robot.dof(), MAX_JOINTS);
        if n > expected {
            return Err(SearchError::Size { field: "joints, at most", expected, found: n }.into());
        }
        if self.robot.as_ref() != Some(robot) {
            let searches = KEEPS.iter().map(|_| SearchStorage::new(robot)).collect();
            *self = Self { robot: Some(robot.clone()), searches, ..Self::default() };
        }
        Ok(())
    }
}

/// A terrain with the space to look at it.
struct Ground<'a> {
    terrain: Terrain<'a>,
    look: RefCell<&'a mut Look>,
}

impl<'a> Ground<'a> {
    fn new(terrain: Terrain<'a>, look: &'a mut Look) -> Self {
        Self { terrain, look: RefCell::new(look) }
    }

    /// A path that keeps `keep`, but for ways out of tight places at both its ends.
    fn path(
        &self,
        start: &[f64],
        goal: &[f64],
        keep: Keep,
        bounds: &[(f64, f64)],
        options: &SearchOptions,
        space: &mut SearchSpace,
    ) -> Result<(), RouteError> {
        let valid = |q: &[f64]| self.is_easy(q, keep);
        let point = |q: &[f64]| -> Joints<f64> { q.iter().copied().collect() };
        let leave = |q: &[f64], place| {
            let away = if valid(q) { Some(point(q)) } else { self.way_out(q, keep, bounds, options.seed) };
            away.ok_or_else(|| RouteError::Place { place, fault: self.fault(q) })
        };
        let (away, near) = (leave(start, "start")?, leave(goal, "goal")?);
        space.search(bounds, &away, &near, &valid, options)?;
        if *away != *start {
            space.path.insert(0, point(start));
        }
        if *near != *goal {
            space.path.push(point(goal));
        }
        Ok(())
    }

    /// A configuration nearby that keeps `keep`, reached without coming closer to anything on the way or becoming
    /// heavier; `None` also where something is touched or too heavy.
    fn way_out(&self, start: &[f64], keep: Keep, bounds: &[(f64, f64)], seed: u64) -> Option<Joints<f64>> {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let here = self.at(start);
        if !(here.obstacles > 0.0 && here.itself > 0.0 && here.room > 0.0) {
            return None;
        }
        let on_the_way = keep.from(here);
        (0..WAYS_OUT).find_map(|i| {
            // Near ones first.
            let size = ESCAPE_RAD * (i + 1) as f64 / WAYS_OUT as f64;
            let q: Joints<f64> = (start.iter().zip(bounds))
                .map(|(x, (lower, upper))| (x + size * draw.random_range(-1.0..=1.0)).clamp(*lower, *upper))
                .collect();
            let free = self.is_easy(&q, keep)
                && segment_is_valid(start, &q, RESOLUTION, &|p: &[f64]| self.is_easy(p, on_the_way));
            free.then_some(q)
        })
    }

    /// What there is at a configuration.
    fn at(&self, q: &[f64]) -> Keep {
        let Terrain { robot, scene, .. } = self.terrain;
        let look = &mut **self.look.borrow_mut();
        robot.frames_into(q, &mut look.frames);
        let distance = |c: Option<Clearance>| c.map_or(f64::INFINITY, |c| c.distance);
        Keep {
            obstacles: distance(robot.obstacle_clearance(&look.frames, scene)),
            itself: distance(robot.self_clearance(&look.frames)),
            room: 1.0 - self.heaviest(q, look).1,
        }
    }

    /// Whether `keep` is kept, by obstacles, links and gravity.
    fn is_easy(&self, q: &[f64], keep: Keep) -> bool {
        let robot = self.terrain.robot;
        let look = &mut **self.look.borrow_mut();
        robot.frames_into(q, &mut look.frames);
        robot.keeps_from_obstacles(&look.frames, self.terrain.scene, keep.obstacles)
            && robot.self_clearance(&look.frames).is_none_or(|c| c.distance >= keep.itself)
            && self.heaviest(q, look).1 <= 1.0 - keep.room
    }

    /// The joint on which gravity is hardest, and the share of its torque limit that it takes for the worst theta of the set.
    fn heaviest(&self, q: &[f64], look: &mut Look) -> (usize, f64) {
        let Terrain { robot, set, .. } = self.terrain;
        let n = robot.dof();
        let Look { motion, rest, regressor: y, .. } = look;
        motion.sweep(robot, q, rest, rest, rest);
        torque_regressor(robot, motion, 0..n, y);
        let share = |j: usize| {
            let row = &y[INERTIAL * n * j..INERTIAL * n * (j + 1)];
            let worst = |sign: f64| -> f64 {
                let bounds = set.lower().iter().zip(set.upper());
                row.iter().zip(bounds).map(|(y, (l, u))| (sign * y * l).max(sign * y * u)).sum()
            };
            worst(1.0).max(worst(-1.0)) / robot.joints[j].limits.torque
        };
        (0..n).map(|j| (j, share(j))).fold((0, 0.0), |most, next| if next.1 > most.1 { next } else { most })
    }

    /// Why nothing can be planned from or to `q`.
    fn fault(&self, q: &[f64]) -> String {
        let Terrain { robot, scene, .. } = self.terrain;
        let frames = robot.frames(q);
        let nearest = [robot.obstacle_clearance(&frames, scene), robot.self_clearance(&frames)];
        if let Some(c) = nearest.into_iter().flatten().find(|c| !(c.distance > 0.0)) {
            let other = match c.to {
                Obstruction::Obstacle(k) => &scene.obstacles[k].name,
                Obstruction::Shape(k) => &robot.shapes()[k].name,
            };
            let (own, apart) = (&robot.shapes()[c.shape].name, 1e3 * c.distance);
            return format!("'{own}' touches '{other}' ({apart:.1} mm apart)");
        }
        let (joint, share) = self.heaviest(q, &mut self.look.borrow_mut());
        let least = KEEPS[KEEPS.len() - 1].1;
        if share > 1.0 - least {
            return format!(
                "gravity alone takes up to {:.0} % of the torque limit of joint '{}' for what may be held; at most {:.0} % \
                 can be planned with",
                1e2 * share,
                robot.joints[joint].name,
                1e2 * (1.0 - least)
            );
        }
        format!("the arm is hemmed in: no freer place was found within {ESCAPE_RAD} rad")
    }
}

#[cfg(test)]
mod tests;
