//! What is heard of the arm tick by tick: it stands while it is weighed, or follows the running plan.

use crate::inertia::ParameterSet;
use crate::recording::Sample;

use super::super::cycle::{Doing, EncoderFault, Row};
use super::super::event::Event;
use super::super::evidence::{self, Evidence};
use super::super::learn::Learner;
use super::super::record::LogRow;
use super::super::telling;
use super::{Active, Runner};

/// Ticks between two progress events: ten a second at 1 kHz, as fast as anybody reads.
const EXECUTING_EVERY: u64 = 100;

impl Runner<'_> {
    /// Measures the torques that hold the arm at its start, for as long as the scenario says. Rows of data over that time know of no
    /// motion, and of friction only that it is at most F_c either way ([`crate::identify::window`]).
    pub(super) fn weigh_payload(&mut self) {
        let ticks = self.weighing_ticks();
        let Some(learner) = self.learner.as_mut().filter(|_| ticks > 0) else { return };
        let broken = learner.stands(self.cycles.time()).err();
        self.record.breaks(broken.map(|broken| *broken));
        self.stand(ticks, true);
    }

    /// The arm stands at its start for so many ticks, held by its own drives. What the sensors say then is `heard` by the identifier only if that knows
    /// that nothing moves.
    pub(super) fn stand(&mut self, ticks: u64, heard: bool) {
        for _ in 0..ticks {
            let Some(row) = self.cycles.next() else { return };
            self.hear(row, heard);
        }
    }

    /// How long the arm is to stand while it is weighed, in ticks.
    pub(super) fn weighing_ticks(&self) -> u64 {
        let weigh_s = self.task.held.as_ref().map_or(0.0, |held| held.identify.weigh_s);
        (weigh_s / self.robot.gains().period_s).round() as u64
    }

    /// Executes the running plan to its end, without planning; after a gentle stop nothing.
    pub(super) fn brake(&mut self) {
        while let Some(active) = self.active.as_ref().filter(|_| self.record.stopped.is_none()) {
            let left = self.plan_ticks(active).saturating_sub(active.ticks);
            if left == 0 || self.cycles.has_ended() {
                return;
            }
            self.execute(left);
        }
    }

    /// Follows the control cycle for so many ticks. Before the first plan the arm has not been released yet: nothing moves, but the obstacles that can.
    /// Where the controller gives the tube up, the plan ends there, and the arm is stopped gently.
    pub(super) fn execute(&mut self, ticks: u64) {
        if self.active.is_none() {
            if self.surroundings.moves() {
                self.stand(ticks, self.weighing_ticks() > 0);
            }
            return;
        }
        self.execute_while(ticks, &|_| true);
    }

    /// The same, as long as that is to `go_on`.
    pub(super) fn execute_while(&mut self, ticks: u64, go_on: &dyn Fn(&Self) -> bool) {
        for k in 0..ticks {
            if !go_on(self) {
                return;
            }
            let Some(row) = self.cycles.next() else { return };
            if k.is_multiple_of(EXECUTING_EVERY) {
                self.tell(&row);
            }
            self.hear(row, true);
            if self.active.is_none() {
                return;
            }
            if self.record.stopped.is_some() {
                self.stop_gently();
                return;
            }
            if k.is_multiple_of(EXECUTING_EVERY) {
                self.learner.iter_mut().for_each(Learner::prepare);
            }
        }
    }

    /// Takes in what there is to tell of a tick. What the sensors say is for the identifier if it is to be `heard`.
    pub(super) fn hear(&mut self, row: Row, heard: bool) {
        if let Some(pending) = self.pending.take_if(|pending| pending.serial == row.plan) {
            self.activate(pending);
        }
        let broken = row.fault.as_ref().map(|fault| match fault {
            EncoderFault::Silent(joint) => evidence::of_silence(&self.robot, row.t, *joint),
            EncoderFault::Moved(error) => evidence::of_data(&self.robot, row.t, error),
        });
        self.record.breaks(broken);
        if let Some(fault) = row.misplaced {
            let tube = self.active.take().map(|active| active.plan);
            let broken = tube.map(|plan| evidence::of_start(&self.robot, &plan.tube, row.t, fault));
            self.record.breaks(broken);
        }
        if let Some(reason) = row.stop {
            self.give_up(reason, &row);
        }
        if let (Doing::Following(ticks), Some(active)) = (row.doing, &mut self.active) {
            active.ticks = ticks + 1;
        }
        self.note(&row, row.logged && heard);
        if !self.record.broken.is_empty() {
            self.cycles.suspect();
        }
    }

    /// Writes down a tick; if it is `heard`, hands it to the identifier. That goes on after V has passed its
    /// bound, for [`Runner::examine`], until the identifier itself refuses a sample.
    fn note(&mut self, row: &Row, heard: bool) {
        self.record.log.push(LogRow {
            t: row.t,
            q: row.q.to_vec(),
            dq: row.dq.to_vec(),
            tau: row.tau.to_vec(),
            q_des: row.q_des.to_vec(),
            dq_des: row.dq_des.to_vec(),
            error: row.q_des.iter().zip(&row.q).map(|(d, q)| d - q).collect(),
        });
        let listens = heard && self.record.broken.iter().all(|broken| broken.evidence == Evidence::Tracking);
        let Some(learner) = self.learner.as_mut().filter(|_| listens) else { return };
        let sample = Sample { t: row.t, q: row.q.to_vec(), dq: row.dq.to_vec(), tau: row.tau.to_vec() };
        match learner.push(sample) {
            Ok(None) => {}
            Ok(Some(gap)) => {
                self.observer.event(&Event::Gap { from: gap.from_s, to: gap.to_s });
                self.record.gaps.push(gap);
            }
            Err(broken) => self.record.breaks([*broken]),
        }
    }

    fn tell(&mut self, row: &Row) {
        let Some(Active { plan, phase, e_radius, .. }) = &self.active else { return };
        let errors = row.q_des.iter().zip(&row.q).zip(e_radius);
        let tracking_ratio = errors.map(|((d, q), e)| (d - q).abs() / e).fold(0.0, f64::max);
        let t_end = plan.t_start_s + plan.curve.duration_s();
        telling::tell_state(row);
        self.observer.event(&Event::Executing { t: row.t, t_end, phase: *phase, tracking_ratio });
    }

    /// The parameters that are possible now.
    pub(super) fn set(&self) -> &ParameterSet {
        self.learner.as_ref().map_or(&self.prior, Learner::set)
    }
}
