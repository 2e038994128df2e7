//! What the arm does tick by tick: it stands while it is weighed, or follows the running plan.

use crate::control::{Controller, Measured};
use crate::recording::Sample;
use crate::trajectory::JointState;

use super::super::event::Event;
use super::super::evidence::{self, Evidence};
use super::super::hardware::{Hardware, Reading};
use super::super::learn::Learner;
use super::super::record::LogRow;
use super::encoders::EncoderFault;
use super::{Active, Runner};

/// Ticks between two progress events: ten a second at 1 kHz, as fast as anybody reads.
const EXECUTING_EVERY: u64 = 100;

impl<H: Hardware> Runner<'_, H> {
    /// Measures the torques that hold the arm at its start, for as long as the scenario says. Rows of data over that time know of no
    /// motion, and of friction only that it is at most F_c either way ([`crate::identify::window`]).
    pub(super) fn weigh_payload(&mut self) {
        let ticks = self.weighing_ticks();
        let Some(learner) = self.learner.as_mut().filter(|_| ticks > 0) else { return };
        self.record.broken.extend(learner.stands(self.hardware.time()).err().map(|broken| *broken));
        self.stand(ticks, true);
    }

    /// The arm stands at its start for so many ticks, held by its own drives. What the sensors say then is heard by the identifier only if that knows
    /// that nothing moves.
    fn stand(&mut self, ticks: u64, heard: bool) {
        let n = self.robot.dof();
        let (desired, mut measured) = (JointState::at_rest(&self.task.start), vec![0.0; n]);
        let mut reading = Reading::new(n);
        for _ in 0..ticks {
            self.hardware.read(&mut reading);
            self.look_at_encoders(&reading);
            let logged = self.hardware.hold(&mut measured);
            self.note(&reading, &desired, &measured, logged && heard);
        }
    }

    /// How long the arm is to stand while it is weighed, in ticks.
    fn weighing_ticks(&self) -> u64 {
        let weigh_s = self.task.held.as_ref().map_or(0.0, |held| held.identify.weigh_s);
        (weigh_s / self.robot.gains().period_s).round() as u64
    }

    /// Executes the running plan to its end, without planning; after a gentle stop nothing.
    pub(super) fn brake(&mut self) {
        if let Some(active) = self.active.as_ref().filter(|_| self.record.stopped.is_none()) {
            let left = self.plan_ticks().saturating_sub(active.ticks);
            self.execute(left);
        }
    }

    /// Runs the control loop for so many ticks. Before the first plan the arm has not been released yet: nothing moves, but the obstacles that can.
    /// Where the controller gives the tube up, the plan ends there, and the arm is stopped gently.
    pub(super) fn execute(&mut self, ticks: u64) {
        let Some(mut active) = self.active.take() else {
            if self.surroundings.moves() {
                self.stand(ticks, self.weighing_ticks() > 0);
            }
            return;
        };
        let n = self.robot.dof();
        let mut desired = JointState::at_rest(&vec![0.0; n]);
        let mut reading = Reading::new(n);
        let mut told = reading.clone();
        let (mut tau, mut measured) = (vec![0.0; n], vec![0.0; n]);
        for k in 0..ticks {
            let t = active.time_at(active.ticks);
            active.plan.curve.evaluate(t, &mut desired);
            self.hardware.read(&mut reading);
            self.look_at_encoders(&reading);
            if active.is_at_rest() && self.is_misplaced(&active, &reading, &desired) {
                break;
            }
            self.encoders.told(&reading, &mut told);
            self.controller.tick(t, Measured { q: &told.q, dq: &told.dq }, &desired, &mut tau);
            if let Some(reason) = self.controller.stopped() {
                self.give_up(reason, &active, &desired, &reading);
            }
            let logged = self.hardware.command(&tau, &mut measured);
            self.note(&reading, &desired, &measured, logged);
            active.ticks += 1;
            if self.record.stopped.is_some() {
                self.stop_gently(&desired);
                break;
            }
            if k.is_multiple_of(EXECUTING_EVERY) {
                self.tell(&active, &reading, &desired);
                self.learner.iter_mut().for_each(Learner::prepare);
            }
        }
        self.active = Some(active);
    }

    /// Whether the arm does not stand where its first plan starts; then it is not released.
    fn is_misplaced(&mut self, active: &Active, reading: &Reading, desired: &JointState) -> bool {
        let fault = self.controller.start_fault(Measured { q: &reading.q, dq: &reading.dq }, desired);
        let broken = fault.map(|fault| evidence::of_start(&self.robot, &active.plan.tube, reading.t, fault));
        let misplaced = broken.is_some();
        self.record.broken.extend(broken);
        misplaced
    }

    /// Whether the encoders can be believed, apart from what the identifier will say.
    pub(super) fn look_at_encoders(&mut self, reading: &Reading) {
        let tick = self.record.log.len() as u64;
        if let Err(fault) = self.encoders.look(&self.robot, reading, tick, !self.record.broken.is_empty()) {
            self.record.broken.push(match fault {
                EncoderFault::Silent(joint) => evidence::of_silence(&self.robot, reading.t, joint),
                EncoderFault::Moved(error) => evidence::of_data(&self.robot, reading.t, &error),
            });
        }
    }

    /// Writes down a tick; if it reaches the `log`, hands it to the identifier. That goes on after V has passed its
    /// bound, for [`Runner::examine`], until the identifier itself refuses a sample.
    pub(super) fn note(&mut self, reading: &Reading, desired: &JointState, tau: &[f64], logged: bool) {
        let error = desired.q.iter().zip(&reading.q).map(|(d, q)| d - q).collect();
        self.record.log.push(LogRow {
            t: reading.t,
            q: reading.q.clone(),
            dq: reading.dq.clone(),
            tau: tau.to_vec(),
            q_des: desired.q.clone(),
            dq_des: desired.dq.clone(),
            error,
        });
        let listens = logged && self.record.broken.iter().all(|broken| broken.evidence == Evidence::Tracking);
        let Some(learner) = self.learner.as_mut().filter(|_| listens) else { return };
        let sample = Sample { t: reading.t, q: reading.q.clone(), dq: reading.dq.clone(), tau: tau.to_vec() };
        match learner.push(sample) {
            Ok(None) => {}
            Ok(Some(gap)) => {
                self.observer.event(&Event::Gap { from: gap.from_s, to: gap.to_s });
                self.record.gaps.push(gap);
            }
            Err(broken) => self.record.broken.push(*broken),
        }
    }

    fn tell(&mut self, active: &Active, reading: &Reading, desired: &JointState) {
        let errors = desired.q.iter().zip(&reading.q).zip(&active.e_radius);
        let tracking_ratio = errors.map(|((d, q), e)| (d - q).abs() / e).fold(0.0, f64::max);
        let t_end = active.plan.t_start_s + self.task.timing.t_f_s;
        self.observer.event(&Event::Executing { t: reading.t, t_end, phase: active.phase, tracking_ratio });
    }
}
