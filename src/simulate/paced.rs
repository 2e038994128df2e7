//! Simulated hardware that keeps time with the wall clock.

use std::thread;
use std::time::{Duration, Instant};

use crate::control::MotorCommand;
use crate::horizon::{Hardware, Reading, Sighting};
use crate::inertia::ParameterSet;
use crate::plan::Plan;

/// Hardware whose time waits, such as a [`World`](super::World), each of whose control periods ends no earlier than it would on the wall clock. What takes longer is caught up with.
#[derive(Debug)]
pub struct Paced<H> {
    inside: H,
    period: Duration,
    /// When the next period is to begin; none before the first.
    next: Option<Instant>,
}

impl<H> Paced<H> {
    /// The hardware, in periods of `period_s` (s).
    pub fn new(inside: H, period_s: f64) -> Self {
        Self { inside, period: Duration::from_secs_f64(period_s), next: None }
    }

    fn wait(&mut self) {
        let now = Instant::now();
        let next = self.next.unwrap_or(now + self.period);
        thread::sleep(next.saturating_duration_since(now));
        self.next = Some(next + self.period);
    }
}

impl<H: Hardware> Hardware for Paced<H> {
    fn time(&self) -> f64 {
        self.inside.time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.inside.read(reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        let kept = self.inside.command(tau, measured);
        self.wait();
        kept
    }

    fn has_motor_loops(&self) -> bool {
        self.inside.has_motor_loops()
    }

    fn command_loops(&mut self, tau: &[f64], loops: &MotorCommand<'_>, measured: &mut [f64]) -> bool {
        let kept = self.inside.command_loops(tau, loops, measured);
        self.wait();
        kept
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        let kept = self.inside.hold(measured);
        self.wait();
        kept
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        self.inside.observe(obstacle, seen)
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.inside.plan_starts(plan);
    }

    fn stop_begins(&mut self) {
        self.inside.stop_begins();
    }

    fn gripper(&mut self, closes: bool) {
        self.inside.gripper(closes);
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.inside.set_claimed(set);
    }
}
