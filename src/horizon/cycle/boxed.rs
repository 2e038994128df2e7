//! Ticks of which nobody needs to know whose they are.

use std::time::Instant;

use crate::inertia::ParameterSet;

use super::super::hardware::Sighting;
use super::{Anew, Cycles, Handover, Row, Watch};

/// Boxed ticks are ticks.
impl<C: Cycles + ?Sized> Watch for Box<C> {
    fn latest_s(&self) -> f64 {
        (**self).latest_s()
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        (**self).observe(obstacle, seen)
    }
}

impl<C: Cycles + ?Sized> Cycles for Box<C> {
    fn next(&mut self) -> Option<Row> {
        (**self).next()
    }

    fn has_ended(&self) -> bool {
        (**self).has_ended()
    }

    fn next_waiting(&mut self) -> Option<Row> {
        (**self).next_waiting()
    }

    fn offer(&mut self, handover: Handover) {
        (**self).offer(handover);
    }

    fn withdraw(&mut self) {
        (**self).withdraw();
    }

    fn settled(&self) -> u64 {
        (**self).settled()
    }

    fn tick(&self) -> u64 {
        (**self).tick()
    }

    fn time(&self) -> f64 {
        (**self).time()
    }

    fn begins(&self) -> Instant {
        (**self).begins()
    }

    fn suspect(&mut self) {
        (**self).suspect();
    }

    fn claim(&mut self, set: &ParameterSet) {
        (**self).claim(set);
    }

    fn stand(&mut self, anew: Anew) {
        (**self).stand(anew);
    }

    fn gripper(&mut self, closes: bool) {
        (**self).gripper(closes);
    }
}
