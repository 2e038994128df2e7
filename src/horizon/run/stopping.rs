//! The end of a run whose tube was given up: the gentle stop ([`crate::control::stop`]), tick by tick.

use crate::control::{Controller, Measured, StopReason};
use crate::trajectory::JointState;

use super::super::evidence::{self, Broken, StopRecord};
use super::super::hardware::{Hardware, Reading};
use super::{Active, Runner};

/// Longest time for which the arm is stopped, s: some twenty reaction times of the stop ([`crate::control::stop::REACTION_S`]). Whatever still moves
/// then is driven by what gravity is missed by, and would never come to rest.
const LONGEST_S: f64 = 1.5;
/// Time for which all joints must be slow until the arm is taken to stand, s: longer than a turn of its way would take.
const STANDS_S: f64 = 0.1;
/// Multiples of the stiction speed and the encoders' error below which a joint is slow.
const SLOW: f64 = 4.0;

impl<H: Hardware> Runner<'_, H> {
    /// Writes down why the tube is given up at this tick.
    pub(super) fn give_up(
        &mut self,
        reason: StopReason,
        active: &Active,
        desired: &JointState,
        reading: &Reading,
    ) {
        let t = reading.t;
        let found = match reason {
            StopReason::Energy { floor_j } => Some(self.energy_passed(active, desired, reading, floor_j)),
            StopReason::Saturation { joint } => Some(evidence::of_stop(&self.robot, t, (joint, false))),
            StopReason::Chatter { joint } => Some(evidence::of_stop(&self.robot, t, (joint, true))),
            // What is wrong with an encoder has been told.
            StopReason::Reading { .. } => None,
        };
        self.record.broken.extend(found);
        let reason = self.record.broken.last().map(|broken| broken.text.clone()).unwrap_or_default();
        self.record.stopped = Some(StopRecord { t, reason });
        self.hardware.stop_begins();
    }

    /// The proof that V has passed what the running plan's tube allows.
    fn energy_passed(&self, active: &Active, desired: &JointState, reading: &Reading, floor: f64) -> Broken {
        let tube = &active.plan.tube;
        let r: Vec<f64> = (0..self.robot.dof())
            .map(|j| {
                let (e, de) = (desired.q[j] - reading.q[j], desired.dq[j] - reading.dq[j]);
                de + tube.gains.k_r * e
            })
            .collect();
        evidence::of_energy(&self.robot, tube, &r, reading.t, floor)
    }

    /// Stops the arm until it stands, or for as long as that may take. `desired` is where it was to be when the tube was given up.
    pub(super) fn stop_gently(&mut self, desired: &JointState) {
        let n = self.robot.dof();
        let period = self.robot.gains().period_s;
        let slow = SLOW * (self.robot.gains().stiction_speed_rad_s + self.robot.sensors().velocity_rad_s);
        let there = JointState::at_rest(&desired.q);
        let (mut reading, mut told) = (Reading::new(n), Reading::new(n));
        let (mut tau, mut measured) = (vec![0.0; n], vec![0.0; n]);
        let (mut calm, mut ticks) = (0.0, 0.0);
        while ticks * period < LONGEST_S && calm * period < STANDS_S {
            self.hardware.read(&mut reading);
            self.look_at_encoders(&reading);
            self.encoders.told(&reading, &mut told);
            self.controller.tick(0.0, Measured { q: &told.q, dq: &told.dq }, &there, &mut tau);
            let logged = self.hardware.command(&tau, &mut measured);
            self.note(&reading, &there, &measured, logged);
            // Of a lost joint nothing is known: the longest time is waited for.
            calm = if told.dq.iter().all(|dq| dq.abs() <= slow) { calm + 1.0 } else { 0.0 };
            ticks += 1.0;
        }
    }
}
