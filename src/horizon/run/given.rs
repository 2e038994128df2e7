//! A task that gives the path: the planner leads to where it starts, and the path itself is proven as it stands, or refused.
//!
//! Plans towards its start end within the goal's tolerance of it. From there one more leads to the very point, so that the path goes on where
//! that one ends.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::plan::propose::cells;
use crate::plan::route::Route;
use crate::reach::PreparedSet;
use crate::trajectory::{Bezier, JointState, PiecewiseBezier};

use super::super::outcome::TaskPhase;
use super::planning::Candidate;
use super::{Active, Runner};

/// The arm rests at the start of the path if every joint is this close to it, rad (m): roundings of a trajectory's end, and far below what a switch
/// between two plans may jump by.
const SAME_RAD: f64 = 1e-12;

impl Runner<'_> {
    /// What the next plan is for, with a path and everything learnt; `None` while the running one is to be executed further.
    pub(super) fn purpose_with_path(&self, active: Option<&Active>) -> Option<TaskPhase> {
        match active {
            Some(active) if active.phase == TaskPhase::Path => None,
            _ if self.rests_at_path(&self.next_start()) => Some(TaskPhase::Path),
            // It comes to rest near the path's start.
            Some(active) if self.leads_to_path(active) && !self.rests_next(active) => None,
            _ => Some(TaskPhase::Carry),
        }
    }

    /// Whether the next plan would start at rest at the very start of the path.
    fn rests_at_path(&self, start: &JointState) -> bool {
        let Some(path) = &self.path else { return false };
        let still = start.dq.iter().chain(&start.ddq).all(|x| *x == 0.0);
        still && path.start().iter().zip(&start.q).all(|(a, b)| (a - b).abs() <= SAME_RAD)
    }

    fn leads_to_path(&self, active: &Active) -> bool {
        active.phase == TaskPhase::Carry && (self.ends_at_goal(active) || self.ends_at_path(active))
    }

    /// Whether the running plan leads to the very start of the path.
    fn ends_at_path(&self, active: &Active) -> bool {
        self.rests_at_path(&JointState::at_rest(&active.plan.curve.end()))
    }

    /// Whether the running plan has ended when the next one starts.
    pub(super) fn rests_next(&self, active: &Active) -> bool {
        self.switch_ticks(active) >= self.plan_ticks(active)
    }

    /// The motion that needs no search: the path, or the last bit of way to its start.
    pub(super) fn given(
        &mut self,
        phase: TaskPhase,
        start: &JointState,
    ) -> Result<Option<PiecewiseBezier>, String> {
        let near = self.active.as_ref().is_some_and(|a| self.leads_to_path(a) && self.rests_next(a));
        let Some(path) = &mut self.path else { return Ok(None) };
        match phase {
            TaskPhase::Path => Ok(Some(path.clone())),
            TaskPhase::Carry if near => {
                let reached = self.router.route().and_then(Route::goal);
                reached.into_iter().for_each(|reached| turn(path, reached));
                let last = Bezier::to_rest(start, &path.start(), self.task.timing.t_f_s);
                last.map(|last| Some(last.into())).map_err(|e| e.to_string())
            }
            _ => Ok(None),
        }
    }

    /// A given motion with the constants of its tube, and the set that it is to be proven for.
    pub(super) fn propose_given(
        &mut self,
        curve: PiecewiseBezier,
    ) -> Result<(Candidate, Arc<PreparedSet>), String> {
        let set = Arc::new(PreparedSet::new(&self.robot, self.set()));
        let known = self.known_along(curve.view(), &set)?;
        let tube = self.tube_along(&curve, &known, cells(curve.duration_s()))?;
        Ok((Candidate { curve, tube }, known))
    }

    /// Why the run ends where the path could not be proven. Nothing more is learnt at rest, so it is not tried again, unless it was only late.
    pub(super) fn path_is_refused(&self) -> Option<String> {
        let last = self.record.attempts.last().and_then(|plan| plan.reason.as_deref()).unwrap_or_default();
        let late = last.contains("later than t_p") && self.failures < self.task.timing.max_failures;
        (!late).then(|| {
            format!("the given path cannot be proven, and was not begun; the arm rests at its start: {last}")
        })
    }
}

/// Moves the joints of a path by whole turns, to that in which `reached` is.
fn turn(path: &mut PiecewiseBezier, reached: &[f64]) {
    for (j, (at, start)) in reached.iter().zip(path.start()).enumerate() {
        let turns = ((at - start) / TAU).round();
        if turns != 0.0 {
            let pieces = std::iter::once(&mut path.first).chain(&mut path.then);
            pieces.for_each(|piece| piece.points[j].iter_mut().for_each(|q| *q += turns * TAU));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::fast_path::least_jerk;

    #[test]
    fn a_path_is_turned_by_whole_turns_and_still_joins() {
        let path = least_jerk(&[0.1, 3.0], &[0.4, 3.3], &[0.9, 3.1], [1.0, 0.7]).unwrap();
        let mut turned = path.clone();
        turn(&mut turned, &[0.13, 3.0 - TAU]);
        assert!(turned.view().check().is_ok());
        for (a, b) in
            path.start().iter().chain(&path.end()).zip(turned.start().iter().chain(&turned.end())).take(4)
        {
            assert!((a - b).abs() < 1e-12 || (a - b - TAU).abs() < 1e-12, "{a} {b}");
        }
        assert!((path.end()[1] - turned.end()[1] - TAU).abs() < 1e-12 && path.end()[0] == turned.end()[0]);
    }
}
