//! The law whose tube is proven in [`crate::reach::momentum`]: for readings and commands that are not of one moment, and velocities that are not clean.

use std::sync::Arc;

use crate::dynamics::{Composites, Motion, crba, torque_regressor};
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, VISCOUS};
use crate::reach::PreparedSet;
use crate::reach::law::{LawScalar, TorqueRow, sums};
use crate::reach::momentum::MomentumTube;
use crate::robot::Arm;
use crate::trajectory::{Bezier, JointState};

use super::Measured;

/// What the law reports about a tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentumTick {
    /// The largest share of its radius that a joint's momentum error is proven to have: above 1 an assumption is broken. NaN if a reading is.
    pub share: f64,
    /// Whether a torque was cut at the actuator limit.
    pub saturated: bool,
}

/// Controller of one plan from rest to rest.
#[derive(Debug, Clone)]
pub struct MomentumController {
    robot: Arc<Arm>,
    set: Arc<PreparedSet>,
    tube: MomentumTube,
    curve: Bezier,
    motion: Motion<f64>,
    composites: Composites<f64>,
    regressor: Vec<f64>,
    mass: Vec<f64>,
    desired: JointState,
    r: Vec<f64>,
    /// p^ of the last tick, N m s.
    momentum: Vec<f64>,
}

impl MomentumController {
    /// A controller for `robot` that follows `curve` under a tube that is proven along it for `set`.
    ///
    /// # Panics
    /// If they are of arms with different numbers of joints: here, and not in a tick.
    pub fn new(robot: Arc<Arm>, set: Arc<PreparedSet>, tube: MomentumTube, curve: Bezier) -> Self {
        let n = robot.dof();
        let fits = set.joints() == n && curve.dof() == n && tube.fault(n).is_none();
        assert!(fits, "set, tube or curve of another arm, expected {n} joints");
        Self {
            motion: Motion::new(&robot),
            composites: Composites::new(&robot),
            regressor: vec![0.0; INERTIAL * n * n],
            mass: vec![0.0; n * n],
            desired: JointState::at_rest(&vec![0.0; n]),
            r: vec![0.0; n],
            momentum: vec![0.0; n],
            robot,
            set,
            tube,
            curve,
        }
    }

    /// Computes the torques (N m) of the tick `t` seconds after the plan's start, by the clock, from the readings that are there. `tau` has one entry a joint.
    pub fn tick(&mut self, t: f64, measured: Measured<'_>, tau: &mut [f64]) -> MomentumTick {
        self.feed_forward(t + self.tube.timing.lead_s(), tau);
        self.measure(t, measured);
        let mut tick = MomentumTick { share: 0.0, saturated: false };
        for (j, tau) in tau.iter_mut().enumerate() {
            let (p, u) = (self.momentum[j], self.tube.robust_nm[j]);
            *tau += (self.tube.gains.kappa * p).clamp(-u, u);
            let share = (p.abs() - self.tube.noise_nms[j]) / self.tube.radius(j);
            // NaN is kept.
            tick.share = if share <= tick.share || tick.share.is_nan() { tick.share } else { share };
            let limit = self.robot.joints[j].limits.torque;
            tick.saturated |= tau.is_nan() || tau.abs() > limit;
            // A torque that is not a number becomes none at all.
            *tau = if tau.is_nan() { 0.0 } else { tau.clamp(-limit, limit) };
        }
        tick
    }

    /// p^ of the last tick, N m s.
    pub fn momentum(&self) -> &[f64] {
        &self.momentum
    }

    /// The nominal torques of the desired motion at `t`.
    fn feed_forward(&mut self, t: f64, tau: &mut [f64]) {
        let n = self.robot.dof();
        self.curve.evaluate(t, &mut self.desired);
        let JointState { q, dq, ddq } = &self.desired;
        self.motion.sweep(&self.robot, q, dq, dq, ddq);
        torque_regressor(&self.robot, &self.motion, 0..n, &mut self.regressor);
        for (j, tau) in tau.iter_mut().enumerate() {
            let row = TorqueRow::new(&self.regressor, (j, INERTIAL * n), dq[j], ddq[j]);
            let c = self.set.joint(j).0;
            let (coulomb, _) = dq[j].coulomb(c[COULOMB], self.tube.sign_band_rad_s[j]);
            let own = coulomb + dq[j] * c[VISCOUS] + ddq[j] * c[ARMATURE] + c[OFFSET];
            *tau = sums(&self.set, j, (own, 0.0), (&row, &row)).0;
        }
    }

    /// p^ at the tick `t`.
    fn measure(&mut self, t: f64, measured: Measured<'_>) {
        let n = self.robot.dof();
        let k_r = self.tube.gains.k_r;
        self.curve.evaluate(t - self.tube.timing.lag_s(), &mut self.desired);
        for j in 0..n {
            let (e, de) = (self.desired.q[j] - measured.q[j], self.desired.dq[j] - measured.dq[j]);
            self.r[j] = de + k_r * e;
        }
        self.curve.evaluate(t, &mut self.desired);
        self.motion.place(&self.robot, &self.desired.q);
        crba(&self.robot, &self.motion, self.set.center(), &mut self.composites, &mut self.mass);
        for (j, p) in self.momentum.iter_mut().enumerate() {
            let row = &self.mass[n * j..n * (j + 1)];
            let links: f64 = row.iter().zip(&self.r).map(|(m, r)| m * r).sum();
            *p = links + self.set.joint(j).0[ARMATURE] * self.r[j];
        }
    }
}
