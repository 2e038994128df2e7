//! A simulated arm that keeps time with the wall clock.

use std::thread;
use std::time::{Duration, Instant};

use crate::horizon::{Hardware, Reading, Sighting};
use crate::inertia::ParameterSet;
use crate::plan::Plan;

use super::World;

/// A [`World`] each of whose control periods ends no earlier than it would on the wall clock. What takes longer is caught up with.
#[derive(Debug)]
pub struct Paced<'a> {
    world: &'a mut World,
    period: Duration,
    /// When the next period is to begin; none before the first.
    next: Option<Instant>,
}

impl<'a> Paced<'a> {
    /// The world, in periods of `period_s` (s).
    pub fn new(world: &'a mut World, period_s: f64) -> Self {
        Self { world, period: Duration::from_secs_f64(period_s), next: None }
    }

    fn wait(&mut self) {
        let now = Instant::now();
        let next = self.next.unwrap_or(now + self.period);
        thread::sleep(next.saturating_duration_since(now));
        self.next = Some(next + self.period);
    }
}

impl Hardware for Paced<'_> {
    fn time(&self) -> f64 {
        self.world.time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.world.read(reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        let kept = self.world.command(tau, measured);
        self.wait();
        kept
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        let kept = self.world.hold(measured);
        self.wait();
        kept
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        self.world.observe(obstacle, seen)
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.world.plan_starts(plan);
    }

    fn stop_begins(&mut self) {
        self.world.stop_begins();
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.world.set_claimed(set);
    }
}
