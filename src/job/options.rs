//! Settings of a job, with values for any arm.

use super::check;
use super::error::JobError;
use crate::horizon::{Timing, usual_tolerance};
use crate::robot::{Arm, JointKind};

/// Largest share of a limited joint's range that one plan may move it by: more seldom has a proof.
const SHARE: f64 = 0.5;
/// How far one plan may move a turning joint, rad: to get on, and to learn.
const CARRY_RAD: f64 = 1.0;
const EXCITE_RAD: f64 = 0.8;
/// The same of a joint that slides, m.
const SLIDE_M: f64 = 0.3;

/// How a job is done. None of it makes a motion less safe.
#[derive(Debug, Clone, PartialEq)]
pub struct JobOptions {
    /// The rhythm of planning. Its count of exciting plans is not used: [`super::Until`] says how long to learn.
    pub timing: Timing,
    /// How far one plan may move each joint towards a goal, rad (m); length n.
    pub carry_range_rad: Vec<f64>,
    /// How far one plan may move each joint so as to learn, rad (m); length n.
    pub excite_range_rad: Vec<f64>,
    /// A goal is reached when every joint is within this of it, tracking errors included, rad (m); length n.
    pub goal_tolerance_rad: Vec<f64>,
    /// Length of the windows of data that are learnt from, s.
    pub window_s: f64,
    /// How long the hand takes to close or to open, s: the arm's own drives hold it meanwhile.
    pub gripper_s: f64,
    /// Motions after which learning ends, whatever was asked for.
    pub most_motions: usize,
    /// Draws the planner's random numbers.
    pub seed: u64,
    /// Whether a plan must be ready in time on the clock. If not, the job is the same on every machine. In a thread of its own it always must.
    pub timed: bool,
    /// Whether every tick is kept in the records, some 0.5 kB each for seven joints. If not, ticks go once the hand has something else in it.
    pub keep_log: bool,
}

impl JobOptions {
    /// For this arm.
    pub fn of(robot: &Arm) -> Self {
        let within = |turn: f64| -> Vec<f64> {
            let range = |j: usize| {
                let joint = &robot.joints[j];
                let most = if joint.kind == JointKind::Prismatic { SLIDE_M } else { turn };
                joint.limits.position.map_or(most, |(lower, upper)| most.min(SHARE * (upper - lower)))
            };
            (0..robot.dof()).map(range).collect()
        };
        Self {
            timing: Timing { exciting_plans: 0, ..Timing::default() },
            carry_range_rad: within(CARRY_RAD),
            excite_range_rad: within(EXCITE_RAD),
            goal_tolerance_rad: robot.joints.iter().map(|joint| usual_tolerance(joint.kind)).collect(),
            window_s: 0.1,
            gripper_s: 0.5,
            most_motions: 8,
            seed: 0,
            timed: false,
            keep_log: false,
        }
    }

    /// Whether all of it makes sense for this arm.
    pub(super) fn check(&self, robot: &Arm) -> Result<(), JobError> {
        let n = robot.dof();
        for (field, values) in [
            ("carry_range_rad", &self.carry_range_rad),
            ("excite_range_rad", &self.excite_range_rad),
            ("goal_tolerance_rad", &self.goal_tolerance_rad),
        ] {
            check::length(field, values, n)?;
            values.iter().try_for_each(|&x| check::positive(field, x))?;
        }
        let Timing { t_f_s, t_p_s, max_plans, max_failures, patience_s, .. } = self.timing;
        for (field, x) in [
            ("timing.t_f_s", t_f_s),
            ("timing.t_p_s", t_p_s),
            ("timing.patience_s", patience_s),
            ("window_s", self.window_s),
            ("gripper_s", self.gripper_s),
        ] {
            check::seconds(field, x)?;
        }
        if t_p_s >= t_f_s {
            return Err(JobError::input(
                "timing.t_p_s",
                format!("{t_p_s} s, expected less than t_f_s = {t_f_s} s"),
            ));
        }
        if self.window_s > t_p_s {
            let reason = format!("{} s, expected at most timing.t_p_s = {t_p_s} s", self.window_s);
            return Err(JobError::input("window_s", reason));
        }
        for (field, count) in [
            ("timing.max_plans", max_plans),
            ("timing.max_failures", max_failures),
            ("most_motions", self.most_motions),
        ] {
            if count == 0 {
                return Err(JobError::input(field, "0, expected at least 1"));
            }
        }
        Ok(())
    }
}
