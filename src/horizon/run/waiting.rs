//! Obstacles that move: where they are, and waiting where one is too near for any proof.
//!
//! A plan that fails for their sake costs no more than time: the running plan is followed into its proven braking part, the arm stands, and planning goes on with
//! fresh sightings. The failure is not counted with those of other reasons; [`super::super::Timing::patience_s`] bounds the time instead.

use crate::trajectory::JointState;

use super::super::event::Event;
use super::super::outcome::TaskPhase;
use super::super::record::WaitRecord;
use super::Runner;

/// An obstacle is in the way if it may come within this of where the arm would stand at the end of a plan, m: more than tracking errors
/// carry any link, so that where it is not, staying there could be proven.
const CLOSE_M: f64 = 0.15;

/// Plans that failed in a row because of an obstacle that moves.
#[derive(Debug)]
pub(super) struct Waiting {
    since_s: f64,
    obstacle: usize,
    /// How many.
    pub(super) plans: usize,
}

impl Runner<'_> {
    /// Looks where the obstacles are. One that is farther away from where it was than its speed allows is a broken assumption.
    pub(super) fn look_around(&mut self) {
        let broken = self.surroundings.refresh(&mut *self.cycles).err();
        self.record.breaks(broken.map(|broken| *broken));
    }

    /// Why no plan from `start` needs to be looked for: the arm stands, and an obstacle may have come to it by then.
    pub(super) fn no_room_at(&self, start: &JointState) -> Option<String> {
        let stands = start.dq.iter().chain(&start.ddq).all(|x| *x == 0.0);
        let (k, left) = self.surroundings.nearest(&self.robot, &start.q, 0.0).filter(|_| stands)?;
        let name = &self.surroundings.scene().obstacles[k].name;
        (left <= 0.0).then(|| format!("obstacle '{name}' may have come to the arm by the plan's start"))
    }

    /// A plan has failed. Why the run ends now, if it does.
    pub(super) fn count_failure(&mut self, phase: TaskPhase) -> Option<String> {
        let last = self.record.attempts.last().and_then(|plan| plan.reason.as_deref());
        let last = last.map(|reason| format!("; the last: {reason}")).unwrap_or_default();
        let Some(obstacle) = self.in_the_way() else {
            self.failures += 1;
            if phase == TaskPhase::Path {
                return self.path_is_refused();
            }
            let end = self.failures >= self.task.timing.max_failures;
            return end.then(|| format!("{} plans in a row could not be certified{last}", self.failures));
        };
        self.waited += 1;
        let t = self.cycles.time();
        let name = &self.surroundings.scene().obstacles[obstacle].name;
        if self.waiting.is_none() {
            self.observer.event(&Event::Waiting { t, obstacle: name.clone() });
        }
        let waiting = self.waiting.get_or_insert(Waiting { since_s: t, obstacle, plans: 0 });
        waiting.plans += 1;
        let (waited, patience) = (t - waiting.since_s, self.task.timing.patience_s);
        (waited >= patience).then(|| {
            format!(
                "obstacle '{name}' left no room for {waited:.1} s, expected at most timing.patience_s of {patience} s{last}"
            )
        })
    }

    /// The obstacle that may come to where the next plan starts, or to where the running one ends, before a plan made now has ended.
    fn in_the_way(&self) -> Option<usize> {
        let ahead_s = self.task.timing.t_f_s + self.robot.gains().period_s;
        let stop = self.active.as_ref().map(|active| active.plan.curve.end());
        let places = [Some(self.next_start().q), stop].into_iter().flatten();
        let near = places.filter_map(|q| self.surroundings.nearest(&self.robot, &q, ahead_s));
        near.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, left)| *left <= CLOSE_M).map(|(k, _)| k)
    }

    /// A plan takes over, or the run ends.
    pub(super) fn end_wait(&mut self) {
        if let Some(Waiting { since_s, obstacle, .. }) = self.waiting.take() {
            let obstacle = self.surroundings.scene().obstacles[obstacle].name.clone();
            self.record.waits.push(WaitRecord { from_s: since_s, to_s: self.cycles.time(), obstacle });
        }
    }
}
