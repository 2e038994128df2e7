//! What the auditor sees of a gentle stop: whether the true speeds only fall.

use crate::robot::Arm;

/// True speeds from the first tick of a stop on.
#[derive(Debug, Clone, PartialEq)]
pub struct StopAudit {
    /// When it began, s.
    pub t: f64,
    /// The joints' speeds then, rad/s; length n.
    pub at_begin: Vec<f64>,
    /// Their largest speeds since, rad/s; length n.
    pub largest: Vec<f64>,
    /// Their speeds at the end, rad/s; length n.
    pub at_end: Vec<f64>,
}

impl StopAudit {
    /// Of a stop that begins at `t` (s) with velocities `dq` (rad/s).
    pub(super) fn new(t: f64, dq: &[f64]) -> Self {
        let speeds: Vec<f64> = dq.iter().map(|dq| dq.abs()).collect();
        Self { t, at_begin: speeds.clone(), largest: speeds.clone(), at_end: speeds }
    }

    /// Looks at the velocities after an integration step, rad/s.
    pub(super) fn look(&mut self, dq: &[f64]) {
        for (j, dq) in dq.iter().enumerate() {
            self.largest[j] = self.largest[j].max(dq.abs());
            self.at_end[j] = dq.abs();
        }
    }

    /// The most by which any joint became faster than it was when the stop began, rad/s.
    pub fn gained(&self) -> f64 {
        self.largest.iter().zip(&self.at_begin).map(|(a, b)| a - b).fold(0.0, f64::max)
    }

    /// Largest of some speeds over the joints' limits.
    pub fn share(robot: &Arm, speeds: &[f64]) -> f64 {
        speeds.iter().zip(&robot.joints).map(|(v, joint)| v / joint.limits.velocity).fold(0.0, f64::max)
    }
}
