//! The path that a scenario gives: through a point, or from a file.

use super::schema::{PathTable, ScenarioFile};
use super::{Check, LONGEST_S};
use crate::plan::fast_path::least_jerk;
use crate::robot::Arm;
use crate::scenario::error::ScenarioError;
use crate::trajectory::{JointState, PiecewiseBezier};

/// A path that ends within this of `goal_rad` ends there, rad (m).
const SAME_RAD: f64 = 1e-9;

impl Check<'_> {
    /// The pieces of `path.file`, if there is one; where the scenario gives no goal, their end is it.
    pub(super) fn pieces_of_file(
        &self,
        file: &mut ScenarioFile,
    ) -> Result<Option<PiecewiseBezier>, ScenarioError> {
        let Some(table) = &file.path else { return Ok(None) };
        let Some(name) = &table.file else { return Ok(None) };
        let others = [
            ("path.start_rad", table.start_rad.is_some()),
            ("path.via_rad", table.via_rad.is_some()),
            ("path.durations_s", table.durations_s.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, given)| *given) {
            return Err(self.error(key, "expected nothing beside `path.file`"));
        }
        let place = self.folder().join(name);
        let refuse = |reason: String| self.error("path.file", format!("`{}`: {reason}", place.display()));
        let text = std::fs::read_to_string(&place).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        let pieces: PiecewiseBezier =
            serde_json::from_str(&text).map_err(|e| refuse(format!("no pieces: {e}")))?;
        file.goal_rad.get_or_insert_with(|| pieces.end());
        Ok(Some(pieces))
    }

    /// The path of a scenario from `start` to `goal`, if there is one. It begins and ends at rest and keeps the limits of position and speed.
    pub(super) fn path_to_goal(
        &self,
        pieces: Option<PiecewiseBezier>,
        table: Option<PathTable>,
        (start, goal): (&[f64], &[f64]),
        robot: &Arm,
    ) -> Result<Option<PiecewiseBezier>, ScenarioError> {
        let Some(table) = table else { return Ok(None) };
        let key = if pieces.is_some() { "path.file" } else { "path.via_rad" };
        let path = match pieces {
            Some(pieces) => pieces,
            None => self.path_through(&table, (start, goal), robot)?,
        };
        if path.view().dof() != robot.dof() {
            let reason = format!("{} joints, expected {}", path.view().dof(), robot.dof());
            return Err(self.error(key, reason));
        }
        path.view().check().map_err(|e| self.error(key, e.to_string()))?;
        if path.duration_s() > LONGEST_S {
            let reason = format!("{} s, expected at most {LONGEST_S} s", path.duration_s());
            return Err(self.error(key, reason));
        }
        self.rests_and_leads_to_goal(key, &path, goal, robot)?;
        self.keeps_limits(key, &path, robot)?;
        Ok(Some(path))
    }

    /// The path of least jerk through a point.
    fn path_through(
        &self,
        table: &PathTable,
        (start, goal): (&[f64], &[f64]),
        robot: &Arm,
    ) -> Result<PiecewiseBezier, ScenarioError> {
        let Some(via) = &table.via_rad else {
            return Err(self.error("path.via_rad", "missing; give it, or `path.file`"));
        };
        self.vector("path.via_rad", via, robot.dof())?;
        self.within_limits("path.via_rad", via, robot)?;
        let from = table.start_rad.as_deref().unwrap_or(start);
        self.vector("path.start_rad", from, robot.dof())?;
        self.within_limits("path.start_rad", from, robot)?;
        let durations = table.durations_s.unwrap_or([1.0; 2]);
        for duration in durations {
            self.positive("path.durations_s", duration)?;
        }
        least_jerk(from, via, goal, durations).map_err(|e| self.error("path.durations_s", e.to_string()))
    }

    fn rests_and_leads_to_goal(
        &self,
        key: &str,
        path: &PiecewiseBezier,
        goal: &[f64],
        robot: &Arm,
    ) -> Result<(), ScenarioError> {
        for (j, end) in path.end().into_iter().enumerate() {
            let name = &robot.joints[j].name;
            let [a, b, c, ..] = path.first.points[j];
            if !(a == b && b == c) {
                let reason = format!("joint `{name}` starts in motion, expected three equal control points");
                return Err(self.error(key, reason));
            }
            if !path.view().rests(j) {
                let reason =
                    format!("joint `{name}` does not come to rest, expected three equal control points");
                return Err(self.error(key, reason));
            }
            if (end - goal[j]).abs() > SAME_RAD {
                let reason = format!("joint `{name}` ends at {end}, expected goal_rad = {}", goal[j]);
                return Err(self.error(key, reason));
            }
        }
        Ok(())
    }

    /// Refuses a path that is seen to leave the limits at a control tick. What happens between two ticks is the certifier's to judge.
    fn keeps_limits(&self, key: &str, path: &PiecewiseBezier, robot: &Arm) -> Result<(), ScenarioError> {
        let period = robot.gains().period_s;
        let ticks = (path.duration_s() / period).ceil() as u64;
        let mut state = JointState::at_rest(&path.start());
        for tick in 0..=ticks {
            let t = tick as f64 * period;
            path.evaluate(t, &mut state);
            for (j, joint) in robot.joints.iter().enumerate() {
                let (name, q, dq) = (&joint.name, state.q[j], state.dq[j]);
                if let Some((lower, upper)) = joint.limits.position
                    && !(lower..=upper).contains(&q)
                {
                    let reason = format!(
                        "joint `{name}` at {q:.4} after {t:.3} s, expected within [{lower:.4}, {upper:.4}]"
                    );
                    return Err(self.error(key, reason));
                }
                let most = joint.limits.velocity;
                if !(dq.abs() <= most) {
                    let reason = format!(
                        "joint `{name}` moves with {dq:.4} rad/s after {t:.3} s, expected at most {most:.4}"
                    );
                    return Err(self.error(key, reason));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
