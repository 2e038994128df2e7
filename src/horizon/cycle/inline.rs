//! Cycles in the thread that plans: a tick happens when it is asked for, and time stands still meanwhile. A simulator can be run so.

use std::time::Instant;

use crate::inertia::ParameterSet;

use super::super::hardware::{Hardware, Sighting};
use super::{Anew, Cycle, Cycles, Handover, Row, Watch};

/// See the module.
#[derive(Debug)]
pub(in super::super) struct Inline<H> {
    cycle: Cycle<H>,
    offered: u64,
}

impl<H: Hardware> Inline<H> {
    pub(in super::super) fn new(cycle: Cycle<H>) -> Self {
        Self { cycle, offered: 0 }
    }
}

impl<H: Hardware> Watch for Inline<H> {
    fn latest_s(&self) -> f64 {
        self.cycle.time()
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        self.cycle.observe(obstacle, seen)
    }
}

impl<H: Hardware> Cycles for Inline<H> {
    fn next(&mut self) -> Option<Row> {
        Some(self.cycle.tick().0)
    }

    fn has_ended(&self) -> bool {
        false
    }

    fn next_waiting(&mut self) -> Option<Row> {
        None
    }

    fn offer(&mut self, handover: Handover) {
        self.offered = handover.serial;
        drop(self.cycle.offer(handover, 0));
    }

    fn withdraw(&mut self) {
        drop(self.cycle.withdraw(self.offered));
    }

    fn settled(&self) -> u64 {
        self.cycle.settled()
    }

    fn tick(&self) -> u64 {
        self.cycle.ticks
    }

    fn time(&self) -> f64 {
        self.cycle.time()
    }

    fn begins(&self) -> Instant {
        Instant::now()
    }

    fn suspect(&mut self) {
        self.cycle.suspect();
    }

    fn claim(&mut self, set: &ParameterSet) {
        self.cycle.claim(set);
    }

    fn stand(&mut self, mut anew: Anew) {
        drop(self.cycle.stand(&mut anew));
    }

    fn gripper(&mut self, closes: bool) {
        self.cycle.gripper(closes);
    }
}
