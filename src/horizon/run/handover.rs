//! How plans come to the control cycle: handed over before their first tick, and followed from that very one on or not at all.

use std::sync::Arc;

use crate::control::LawPlan;
use crate::plan::Plan;
use crate::plan::saved::PlanStart;
use crate::reach::PreparedSet;

use super::super::cycle::{Handover, Starts};
use super::super::outcome::TaskPhase;
use super::{Active, Pending, Runner, STALLED_RAD};

impl Runner<'_> {
    /// Looks at ticks that have been while nobody followed a plan: the arm stood, and somebody was busy.
    pub(super) fn catch_up(&mut self) {
        let heard = self.weighing_ticks() > 0;
        while self.active.is_none()
            && let Some(row) = self.cycles.next_waiting()
        {
            self.hear(row, heard);
        }
    }

    /// Hands over a certified plan and its set as the proof had it. The cycle follows it from the tick on that it was proven for.
    pub(super) fn hand_over(&mut self, (plan, set): (Plan, Arc<PreparedSet>), phase: TaskPhase) {
        self.handovers += 1;
        let (serial, plan) = (self.handovers, Arc::new(plan));
        // While obstacles move, the first plan starts at its time, too.
        let at_once = self.active.is_none() && !self.surroundings.moves();
        let starts = match at_once {
            true => Starts::AtOnce,
            false if self.active.is_some() && plan.tube.momentum().is_some() => Starts::InPlan,
            false => Starts::At(self.cycles.tick() + self.planning_ticks()),
        };
        let not_after_s = self.surroundings.known_until();
        let after = self.active.as_ref().map_or(0, |active| active.serial);
        let prepared = LawPlan::new(set, &plan.tube, &plan.curve);
        let law = prepared.clone();
        self.cycles.offer(Handover { serial, after, plan: plan.clone(), law, starts, not_after_s });
        self.pending = Some(Pending { serial, plan, prepared, phase });
        if at_once {
            self.wait_until_settled(serial);
        }
    }

    /// A few ticks may go by until the cycle has seen a plan.
    fn wait_until_settled(&mut self, serial: u64) {
        let heard = self.weighing_ticks() > 0;
        for _ in 0..self.planning_ticks() {
            if self.cycles.settled() == serial {
                return;
            }
            let Some(row) = self.cycles.next() else { return };
            self.hear(row, heard);
        }
    }

    /// A planning period goes by. At its end the plan that was handed over takes over, if there is one.
    pub(super) fn pass_period(&mut self) {
        match &self.active {
            Some(active) if active.plan.tube.momentum().is_some() => {
                let target = self.switch_ticks(active);
                self.follow_the_clock(target);
            }
            _ => {
                self.execute(self.planning_ticks());
                self.take_over();
            }
        }
    }

    /// Follows a plan of the momentum law until its clock comes to so many control periods, and on until the plan that was handed over takes over: at the first
    /// tick that is not before, which only its row tells.
    fn follow_the_clock(&mut self, target: u64) {
        let next = self.pending.as_ref().map(|pending| pending.serial);
        // Ticks may be nearer to each other than they ought to be.
        let most = 2 * self.planning_ticks() + 2;
        self.execute_while(most, &|runner| match (&runner.active, next) {
            (Some(active), Some(next)) => {
                active.serial != next && active.ticks <= target + 1 && runner.record.broken.is_empty()
            }
            (Some(active), None) => active.ticks < target,
            (None, _) => false,
        });
        if self.active.as_ref().is_some_and(|active| next == Some(active.serial)) {
            self.failures = 0;
            self.end_wait();
        } else if next.is_some() {
            self.cycles.withdraw();
            if self.record.broken.is_empty() {
                self.pending = None;
                self.record.deadline_misses += 1;
            }
        }
    }

    /// The planning period is over: the plan that was handed over takes over now, if it has come in time and nothing was found to be wrong since.
    pub(super) fn take_over(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let start =
            self.active.as_ref().map_or(PlanStart::Rest, |active| PlanStart::AfterTicks(active.ticks));
        let settled = self.cycles.settled() == pending.serial && pending.plan.start == start;
        if settled && self.record.broken.is_empty() {
            self.failures = 0;
            self.end_wait();
            self.activate(pending);
            return;
        }
        self.cycles.withdraw();
        if settled {
            // It may be too late for that. Then this is the plan that is followed to its end.
            self.pending = Some(pending);
        } else if self.record.broken.is_empty() {
            self.record.deadline_misses += 1;
        }
    }

    /// The controller follows a plan from the next tick on; so do identifier and record.
    pub(super) fn activate(&mut self, Pending { serial, plan, prepared, phase }: Pending) {
        let n = self.robot.dof();
        let e_radius: Vec<f64> = (0..n).map(|j| plan.tube.e_radius(j)).collect();
        let r_radius: Vec<f64> = (0..n).map(|j| plan.tube.r_radius(j)).collect();
        if let Some(learner) = &mut self.learner
            && let Err(broken) = learner.plan_starts(&plan, phase, self.task.timing.t_p_s)
        {
            self.record.breaks([*broken]);
        }
        // One that settles the arm has no part in what the task asks for.
        let settles = self.settles(prepared.set());
        if phase == TaskPhase::Excite && !settles {
            self.excited += 1;
        }
        if phase == TaskPhase::Carry && !settles {
            let end = plan.curve.end();
            let moved = self
                .active
                .as_ref()
                .map(|a| a.plan.curve.end().iter().zip(&end).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
            let stalled = moved.is_some_and(|m| m < STALLED_RAD);
            self.stalls = if stalled { self.stalls + 1 } else { 0 };
        }
        self.record.switched(self.cycles.time(), &e_radius, &r_radius);
        self.record.plans.push(Plan::clone(&plan));
        self.active = Some(Active { serial, plan, prepared, phase, settles, ticks: 0, e_radius });
    }
}
