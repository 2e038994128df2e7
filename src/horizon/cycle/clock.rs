//! The clock of a plan of the momentum law: that goes by the stamps of readings, as its ticks need not be even.

use crate::control::StopReason;
use crate::horizon::hardware::Hardware;
use crate::plan::saved::PlanStart;

use super::{Cycle, Doing, Handover, Starts};

/// What a time on a plan's clock may be off by roundings, s: below what the proof charges ([`crate::reach::momentum::CycleTiming`]).
const ROUNDED_S: f64 = 5e-12;
/// Beyond what ticks may be apart: roundings of stamps, s.
const SAME_STEP_S: f64 = 1e-9;

impl<H: Hardware> Cycle<H> {
    /// Whether a plan is to take over at this tick or never.
    pub(super) fn is_due(&self, next: &Handover) -> bool {
        match (next.starts, next.plan.start) {
            (Starts::InPlan, PlanStart::AfterTicks(ticks)) if next.after == self.serial => {
                self.clock_s >= ticks as f64 * self.robot.gains().period_s - ROUNDED_S
            }
            // What it would follow is not there, and does not wait either.
            (Starts::InPlan, _) => self.next.iter().all(|other| other.serial != next.after),
            (starts, _) => starts == Starts::At(self.ticks),
        }
    }

    /// Under the momentum law ticks are told by the clock.
    pub(super) fn count_periods(&mut self) {
        self.begins = self.doing == Doing::Following(0);
        if self.goes_by_the_clock() {
            self.clock_s = self.clock_s.max(0.0);
            let periods = (self.clock_s + ROUNDED_S) / self.robot.gains().period_s;
            self.doing = Doing::Following(periods as u64);
        }
    }

    fn goes_by_the_clock(&self) -> bool {
        let momentum = self.plan.as_ref().is_some_and(|plan| plan.tube.momentum().is_some());
        momentum && matches!(self.doing, Doing::Following(_))
    }

    /// The momentum law's proof knows how far ticks are apart at most: one that comes later ends it, and so does a stamp that is none.
    pub(super) fn look_at_the_clock(&mut self) {
        // Before the first command of a plan from rest the arm's own drives hold it.
        let at_rest = self.plan.as_ref().is_some_and(|plan| plan.start == PlanStart::Rest);
        let begun = self.begun_s.is_finite();
        if !self.goes_by_the_clock() || at_rest && begun && self.begins {
            return;
        }
        let most_s = self.robot.gains().period_s + self.robot.timing().jitter_max_s + SAME_STEP_S;
        if !begun || !(0.0..=most_s).contains(&self.passed_s) {
            self.controller.stop(StopReason::Clock { passed_s: self.passed_s });
        }
    }
}
