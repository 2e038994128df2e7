//! The end of a run whose tube was given up: the gentle stop ([`crate::control::stop`]), tick by tick.

use crate::control::StopReason;

use super::super::cycle::{Doing, LONGEST_STOP_S, Row, STANDS_S};
use super::super::evidence::{self, Broken, StopRecord};
use super::Runner;

impl Runner<'_> {
    /// Writes down why the tube is given up at this tick.
    pub(super) fn give_up(&mut self, reason: StopReason, row: &Row) {
        let t = row.t;
        let found = match reason {
            StopReason::Energy { floor_j } => self.energy_passed(row, floor_j),
            StopReason::Momentum { joint, share } => {
                Some(evidence::of_momentum(&self.robot, t, (joint, share)))
            }
            StopReason::Clock { passed_s } => Some(evidence::of_ticks(&self.robot, t, passed_s)),
            StopReason::Saturation { joint } => Some(evidence::of_stop(&self.robot, t, (joint, false))),
            StopReason::Chatter { joint } => Some(evidence::of_stop(&self.robot, t, (joint, true))),
            // What is wrong with an encoder has been told.
            StopReason::Reading { .. } => None,
        };
        self.record.breaks(found);
        let reason = self.record.broken.last().map(|broken| broken.text.clone()).unwrap_or_default();
        self.record.stopped = Some(StopRecord { t, reason });
    }

    /// The proof that V has passed what the running plan's tube allows.
    fn energy_passed(&self, row: &Row, floor: f64) -> Option<Broken> {
        let tube = self.active.as_ref()?.plan.tube.energy()?;
        let r: Vec<f64> = (0..self.robot.dof())
            .map(|j| {
                let (e, de) = (row.q_des[j] - row.q[j], row.dq_des[j] - row.dq[j]);
                de + tube.gains.k_r * e
            })
            .collect();
        Some(evidence::of_energy(&self.robot, tube, &r, row.t, floor))
    }

    /// Follows the gentle stop until the arm stands, or for as long as that may take.
    pub(super) fn stop_gently(&mut self) {
        let period = self.robot.gains().period_s;
        let (mut calm, mut ticks) = (0, 0.0);
        while ticks * period < LONGEST_STOP_S && calm as f64 * period < STANDS_S {
            let Some(row) = self.cycles.next() else { return };
            if let Doing::Stopping(slow) = row.doing {
                calm = slow;
            }
            self.hear(row, true);
            ticks += 1.0;
        }
    }
}
