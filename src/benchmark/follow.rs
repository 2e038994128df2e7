//! A controller follows motions that nobody has proven.

use std::sync::Arc;

use super::law::Law;
use crate::control::{Controller, Measured};
use crate::horizon::{AdaptedBody, Hardware, LogRow, Reading};
use crate::robot::Arm;
use crate::trajectory::JointState;

/// An arm this far from where it should be is stopped, rad (m): whatever happens then tells nothing of the method any more.
const LOST_RAD: f64 = 1.0;
/// Ticks between two looks at what a controller has adapted.
const ADAPTED_EVERY: u64 = 50;

/// An arm with a controller, tick by tick. The ticks allocate rows of the log, and nothing else.
pub(super) struct Follower<'a, H> {
    pub(super) hardware: &'a mut H,
    pub(super) robot: Arc<Arm>,
    /// All ticks so far.
    pub(super) log: Vec<LogRow>,
    /// Ticks in which the controller asked for more than a joint's limit, and the first of these joints.
    pub(super) saturated: (u64, Option<usize>),
    /// What the controller took for the last body, where it adapts.
    pub(super) adapted: Vec<AdaptedBody>,
}

impl<H: Hardware> Follower<'_, H> {
    /// Follows `desired` for so long, s. An error says where the arm was lost; it is then held by its own drives.
    pub(super) fn follow(
        &mut self,
        law: &mut Law,
        desired: &dyn Fn(f64, &mut JointState),
        duration_s: f64,
    ) -> Result<(), String> {
        let (n, period) = (self.robot.dof(), self.robot.gains().period_s);
        let ticks = (duration_s / period).round() as u64;
        let mut reading = Reading { t: 0.0, q: vec![0.0; n], dq: vec![0.0; n] };
        let (mut tau, mut measured) = (vec![0.0; n], vec![0.0; n]);
        let mut state = JointState::at_rest(&vec![0.0; n]);
        for tick in 0..ticks {
            let t = (tick as f64 * period).min(duration_s);
            desired(t, &mut state);
            self.hardware.read(&mut reading);
            let at = Measured { q: &reading.q, dq: &reading.dq };
            let told = law.tick(t, at, &state, &mut tau);
            self.note_limits(told.saturated, &tau);
            self.hardware.command(&tau, &mut measured);
            let error: Vec<f64> = state.q.iter().zip(&reading.q).map(|(d, q)| d - q).collect();
            if let Some(body) = law.estimate().filter(|_| tick.is_multiple_of(ADAPTED_EVERY)) {
                self.adapted.push(AdaptedBody { t: reading.t, body: body.to_vec() });
            }
            let lost = error.iter().position(|e| !(e.abs() <= LOST_RAD));
            self.log.push(LogRow {
                t: reading.t,
                q: reading.q.clone(),
                dq: reading.dq.clone(),
                tau: measured.clone(),
                q_des: state.q.clone(),
                dq_des: state.dq.clone(),
                error,
            });
            if let Some(j) = lost {
                let name = &self.robot.joints[j].name;
                return Err(format!(
                    "joint '{name}' is more than {LOST_RAD} rad from where it should be; the drives hold the arm"
                ));
            }
        }
        Ok(())
    }

    fn note_limits(&mut self, saturated: bool, tau: &[f64]) {
        if saturated {
            let share = |j: &usize| tau[*j].abs() / self.robot.joints[*j].limits.torque;
            let most = (0..tau.len()).max_by(|a, b| share(a).total_cmp(&share(b)));
            self.saturated = (self.saturated.0 + 1, self.saturated.1.or(most));
        }
    }

    /// Where the arm rests: where it was to be, or is read to be if it has not moved yet, rad (m).
    pub(super) fn rests_at(&mut self) -> Vec<f64> {
        if let Some(last) = self.log.last() {
            return last.q_des.clone();
        }
        let n = self.robot.dof();
        let mut reading = Reading { t: 0.0, q: vec![0.0; n], dq: vec![0.0; n] };
        self.hardware.read(&mut reading);
        reading.q
    }
}
