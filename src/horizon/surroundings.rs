//! What the loop knows of obstacles that move: where they were seen last, when, and how far they may be from there.
//!
//! At the start of the run each is where the task says. [`Surroundings::refresh`] asks the hardware before each plan; one that
//! is not seen stays where it was, while the ball around it grows. A plan is made while the one before it runs: at its start what was seen is older
//! by the planning period, which [`Surroundings::plan_starts_at`] charges.

use std::sync::Arc;

use super::cycle::Watch;
use super::evidence::{self, Broken};
use super::hardware::Sighting;
use crate::reach::upward::{add_up, mul_up, sum_up};
use crate::robot::clearance::to_zonotope;
use crate::robot::{Arm, Scene, Zonotope3};

/// What rounding makes of distances and times of which one follows from the other, m.
const ROUNDED_M: f64 = 1e-9;
/// What rounding makes of the clock, s: charged to each age.
const ROUNDED_S: f64 = 1e-9;

/// The obstacles of a task, as they were seen last.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// With ages at the start of the next plan.
    scene: Arc<Scene>,
    /// Those that do not move: what ways are searched among.
    still: Arc<Scene>,
    /// When each was where the scene has it, s on the hardware's clock.
    seen_s: Vec<f64>,
    seen: Sighting,
    moves: bool,
    /// No plan made now may start after this, s.
    start_s: f64,
}

impl Surroundings {
    /// At the time `now` (s) all obstacles are where the task says.
    pub(super) fn new(scene: &Scene, now: f64) -> Self {
        Self {
            scene: Arc::new(scene.clone()),
            still: Arc::new(scene.still_part()),
            seen_s: vec![now; scene.obstacles.len()],
            seen: Sighting::default(),
            moves: scene.moves(),
            start_s: f64::NEG_INFINITY,
        }
    }

    /// Whether anything may move.
    pub(super) fn moves(&self) -> bool {
        self.moves
    }

    /// All obstacles, for a plan that starts when it was said.
    pub(super) fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// The obstacles that do not move.
    pub(super) fn still(&self) -> &Arc<Scene> {
        &self.still
    }

    /// Asks where the obstacles are that may move. An error says that one was faster than it can be, or was seen in the future.
    pub(super) fn refresh(&mut self, watch: &mut (impl Watch + ?Sized)) -> Result<(), Box<Broken>> {
        if !self.moves {
            return Ok(());
        }
        let scene = Arc::make_mut(&mut self.scene);
        for (k, obstacle) in scene.obstacles.iter_mut().enumerate().filter(|(_, obstacle)| obstacle.moves()) {
            let seen = &mut self.seen;
            seen.t = self.seen_s[k];
            seen.center = obstacle.center;
            seen.generators.clone_from(&obstacle.generators);
            // What is no number, or nothing new, says nothing.
            if !watch.observe(k, seen) || !seen.is_finite() || seen.t <= self.seen_s[k] {
                continue;
            }
            let now = watch.latest_s();
            if seen.t > now {
                return Err(Box::new(evidence::of_future(&obstacle.name, seen.t, now)));
            }
            let there = Zonotope3 {
                speed_m_s: obstacle.speed_m_s,
                ..Zonotope3::still(obstacle.name.as_str(), seen.center, std::mem::take(&mut seen.generators))
            };
            let (moved, elapsed) = (there.moved_from(obstacle), seen.t - self.seen_s[k]);
            if moved > obstacle.speed_m_s * elapsed + ROUNDED_M {
                return Err(Box::new(evidence::of_obstacle(obstacle, (moved, elapsed), seen.t)));
            }
            seen.generators = std::mem::replace(&mut obstacle.generators, there.generators);
            obstacle.center = there.center;
            self.seen_s[k] = seen.t;
        }
        Ok(())
    }

    /// The next plan starts so many ticks after `now` (s): the ages of what was seen are those of that moment, rounded up.
    pub(super) fn plan_starts_at(&mut self, now: f64, (ticks, period_s): (u64, f64)) {
        if !self.moves {
            return;
        }
        self.start_s = sum_up([now, mul_up(ticks as f64, period_s), ROUNDED_S]);
        let start = self.start_s;
        let scene = Arc::make_mut(&mut self.scene);
        for (obstacle, seen_s) in scene.obstacles.iter_mut().zip(&self.seen_s) {
            obstacle.age_s = if obstacle.moves() { add_up(start, -seen_s) } else { 0.0 };
        }
    }

    /// A plan that was made for the start said last may start at this time, s, and no later.
    pub(super) fn known_until(&self) -> f64 {
        if self.moves { self.start_s } else { f64::INFINITY }
    }

    /// The moving obstacle that may come nearest to the arm at `q` within `ahead_s` of the next plan's start, and the distance that it leaves, m. In plain
    /// numbers: for the decision to wait, never for a proof.
    pub(super) fn nearest(&self, robot: &Arm, q: &[f64], ahead_s: f64) -> Option<(usize, f64)> {
        if !self.moves {
            return None;
        }
        let frames = robot.frames(q);
        let moving = self.scene.obstacles.iter().enumerate().filter(|(_, obstacle)| obstacle.moves());
        let left = moving.map(|(k, obstacle)| {
            let shapes = (0..robot.shapes().len()).filter(|&shape| robot.shapes()[shape].joint.is_some());
            let apart = shapes.map(|shape| to_zonotope(&robot.placed_capsule(shape, &frames), obstacle));
            let come = obstacle.speed_m_s * (obstacle.age_s + ahead_s);
            (k, apart.fold(f64::INFINITY, f64::min) - come)
        });
        left.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// All obstacles as if they stood, those that move as large as what they may reach within `ahead_s` of the next plan's start: a scene to look for a
    /// way round in.
    pub(super) fn enlarged(&self, ahead_s: f64) -> Scene {
        let mut scene = Scene::clone(&self.scene);
        for obstacle in scene.obstacles.iter_mut().filter(|obstacle| obstacle.moves()) {
            let come = obstacle.speed_m_s * (obstacle.age_s + ahead_s);
            obstacle.generators.extend((0..3).map(|axis| nalgebra::Vector3::ith(axis, come)));
            (obstacle.speed_m_s, obstacle.age_s) = (0.0, 0.0);
        }
        scene
    }
}

#[cfg(test)]
mod tests;
