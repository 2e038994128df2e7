//! A tick in which more than one command is in effect, as they act late.

use super::{Lateness, TrackingReference, World};

/// How far a tick has come, and how near anything was in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// When the tick began, s.
    pub begun: f64,
    /// Time on the curve that is followed, s.
    pub t: f64,
    /// Time since the tick, s.
    pub since: f64,
    /// Smallest clearance, m, and the smallest to what may move.
    pub closest: f64,
    pub approach: f64,
}

impl Passed {
    pub fn new(begun: f64, reference: Option<&TrackingReference<'_>>) -> Self {
        let t = reference.map_or(0.0, |reference| reference.t);
        Self { begun, t, since: 0.0, closest: f64::INFINITY, approach: f64::INFINITY }
    }
}

impl World {
    /// The tick passes in pieces: each ends where another command comes into effect. Until the first one does, the arm is held where it stands. What the
    /// drives apply is then known by its mean over the tick, as the torque sensors see it.
    pub(super) fn pass_late(
        &mut self,
        late: &mut Lateness,
        tau: &[f64],
        reference: Option<&TrackingReference<'_>>,
        passed: &mut Passed,
    ) {
        let (begun, period) = (passed.begun, self.robot.gains().period_s);
        late.command(begun, tau);
        let length = late.next_length(period);
        let end = begun + length;
        let (mut now, mut impulse) = (begun, vec![0.0; tau.len()]);
        loop {
            late.arrive(now);
            let until = late.until(end);
            match late.acting() {
                Some(command) => self.pass(command, until - now, reference, passed),
                None => self.held(until - now, reference, passed),
            }
            impulse.iter_mut().zip(&self.applied).for_each(|(sum, x)| *sum += (until - now) * x);
            now = until;
            late.remember(now, self.plant.at_encoders());
            if now >= end {
                break;
            }
        }
        self.applied.iter_mut().zip(&impulse).for_each(|(mean, sum)| *mean = sum / length);
    }

    /// For so long (s) the arm's own drives hold it.
    fn held(&mut self, length_s: f64, reference: Option<&TrackingReference<'_>>, passed: &mut Passed) {
        let mut tau = std::mem::take(&mut self.applied);
        self.hold_still(&mut tau);
        self.applied = tau;
        passed.since += length_s;
        passed.t += length_s;
        if let Some(reference) = reference {
            reference.curve.evaluate(passed.t, &mut self.desired);
            let (q, dq) = (self.plant.link_positions(), self.plant.link_velocities());
            self.audit.follow(q, dq, &self.desired, reference);
        }
    }
}
