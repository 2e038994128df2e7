//! What a torque sample is worth: a sensor whose error grows with the torque says most where the torque is small.

use crate::dynamics::{Motion, Wrench, rnea};
use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, COULOMB, OFFSET, Robot, VISCOUS};
use crate::trajectory::JointState;

/// Error that stands for all that is not the torque sensor's (friction, links), N m: keeps the worth finite.
const OTHER_NM: f64 = 0.1;
/// Samples within this time, s, count as one: a bounded error need not average out over a window.
const TOGETHER_S: f64 = 0.1;

/// Weights of torque samples for one robot and parameter set.
#[derive(Debug, Clone)]
pub struct Worth {
    theta: Vec<f64>,
    motion: Motion<f64>,
    wrenches: Vec<Wrench<f64>>,
    tau: Vec<f64>,
}

impl Worth {
    /// Weights at the nominal torques of the centre of `set`.
    pub fn new(robot: &Robot, set: &ParameterSet) -> Self {
        let n = robot.dof();
        Self {
            theta: set.center(),
            motion: Motion::new(robot),
            wrenches: vec![Wrench::zero(); n],
            tau: vec![0.0; n],
        }
    }

    /// For each joint the weight of a torque sample in the desired state, 1/(N m sqrt(s)): one over its largest error.
    pub fn weights(&mut self, robot: &Robot, state: &JointState) -> &[f64] {
        let JointState { q, dq, ddq } = state;
        self.motion.sweep(robot, q, dq, dq, ddq);
        rnea(robot, &self.motion, &self.theta, &mut self.wrenches, &mut self.tau);
        let sensors = &robot.sensors;
        for (j, tau) in self.tau.iter_mut().enumerate() {
            let f = &self.theta[robot.friction_index(j)..];
            let friction =
                f[COULOMB] * dq[j].signum() + f[VISCOUS] * dq[j] + f[ARMATURE] * ddq[j] + f[OFFSET];
            let error = sensors.torque_ratio * (*tau + friction).abs() + sensors.torque_abs_nm + OTHER_NM;
            *tau = 1.0 / (error * TOGETHER_S.sqrt());
        }
        &self.tau
    }
}
