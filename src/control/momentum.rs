//! The law whose tube is proven in [`crate::reach::momentum`]: for readings and commands that are not of one moment, and velocities that are not clean.

use std::sync::Arc;

use crate::dynamics::{Composites, Motion, crba, torque_regressor};
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, VISCOUS};
use crate::reach::PreparedSet;
use crate::reach::law::{LawScalar, TorqueRow, sums};
use crate::reach::momentum::MomentumTube;
use crate::robot::Arm;
use crate::trajectory::{JointState, PiecewiseBezier};

use super::{Measured, StartFault};

/// What the law reports about a tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentumTick {
    /// The largest share of its radius that a joint's momentum error is proven to have: above 1 an assumption is broken. NaN if a reading is.
    pub share: f64,
    /// The joint that has it.
    pub joint: usize,
    /// Whether a torque was cut at the actuator limit.
    pub saturated: bool,
}

/// All that the law needs of a plan.
#[derive(Debug, Clone)]
pub struct MomentumPlan {
    /// What the arm's parameters may be.
    pub set: Arc<PreparedSet>,
    /// A tube that is proven along the motion.
    pub tube: MomentumTube,
    /// The desired motion.
    pub curve: PiecewiseBezier,
}

impl MomentumPlan {
    fn fits(&self, joints: usize) -> bool {
        self.set.joints() == joints && self.curve.view().dof() == joints && self.tube.fault(joints).is_none()
    }
}

/// Controller of a chain of plans.
#[derive(Debug, Clone)]
pub struct MomentumController {
    robot: Arc<Arm>,
    plan: Arc<MomentumPlan>,
    /// The plan before, and where on its clock this one took over, s: readings may still be of that time.
    before: Option<(Arc<MomentumPlan>, f64)>,
    motion: Motion<f64>,
    composites: Composites<f64>,
    regressor: Vec<f64>,
    mass: Vec<f64>,
    desired: JointState,
    e: Vec<f64>,
    r: Vec<f64>,
    /// p^ of the last tick, N m s.
    momentum: Vec<f64>,
    /// v of the last tick, N m.
    robust: Vec<f64>,
}

impl MomentumController {
    /// A controller for `robot` that follows a plan from rest.
    ///
    /// # Panics
    /// If they are of arms with different numbers of joints: here, and not in a tick.
    pub fn new(robot: Arc<Arm>, plan: Arc<MomentumPlan>) -> Self {
        let n = robot.dof();
        assert!(plan.fits(n), "set, tube or curve of another arm, expected {n} joints");
        Self {
            motion: Motion::new(&robot),
            composites: Composites::new(&robot),
            regressor: vec![0.0; INERTIAL * n * n],
            mass: vec![0.0; n * n],
            desired: JointState::at_rest(&vec![0.0; n]),
            e: vec![0.0; n],
            r: vec![0.0; n],
            momentum: vec![0.0; n],
            robust: vec![0.0; n],
            robot,
            plan,
            before: None,
        }
    }

    /// Takes over to the next plan, `at_s` seconds after the start of the running one: the next tick's clock starts there. It asks for no memory;
    /// the plan before the running one is handed back, to be let go where that costs no tick any time.
    ///
    /// # Panics
    /// As [`MomentumController::new`].
    pub fn switch(&mut self, at_s: f64, plan: Arc<MomentumPlan>) -> Option<Arc<MomentumPlan>> {
        let n = self.robot.dof();
        assert!(plan.fits(n), "set, tube or curve of another arm, expected {n} joints");
        let running = std::mem::replace(&mut self.plan, plan);
        self.before.replace((running, at_s)).map(|(before, _)| before)
    }

    /// Follows a plan from rest: the arm stood until now, whatever was followed before. It asks for no memory; what was followed is handed back, and the plan
    /// before that.
    ///
    /// # Panics
    /// As [`MomentumController::new`].
    pub fn begin(&mut self, plan: Arc<MomentumPlan>) -> (Arc<MomentumPlan>, Option<Arc<MomentumPlan>>) {
        let n = self.robot.dof();
        assert!(plan.fits(n), "set, tube or curve of another arm, expected {n} joints");
        let before = self.before.take().map(|(before, _)| before);
        (std::mem::replace(&mut self.plan, plan), before)
    }

    /// The plan that runs.
    pub fn plan(&self) -> &Arc<MomentumPlan> {
        &self.plan
    }

    /// Computes the torques (N m) of the tick `t` seconds after the plan's start, by the clock, from the readings that are there. `tau` has one entry a joint.
    pub fn tick(&mut self, t: f64, measured: Measured<'_>, tau: &mut [f64]) -> MomentumTick {
        let timing = self.plan.tube.timing;
        self.feed_forward(t, tau);
        self.read(t - timing.lag_s(), measured);
        self.form_momentum(t);
        let mut tick = MomentumTick { share: 0.0, joint: 0, saturated: false };
        for (j, tau) in tau.iter_mut().enumerate() {
            let (p, tube) = (self.momentum[j], &self.plan.tube);
            let u = tube.robust_at(j, t);
            self.robust[j] = (tube.gains.kappa * p).clamp(-u, u);
            *tau += self.robust[j];
            let share = self.share(j, t - timing.latency_s);
            // NaN is kept.
            if !(share <= tick.share || tick.share.is_nan()) {
                (tick.share, tick.joint) = (share, j);
            }
            let limit = self.robot.joints[j].limits.torque;
            tick.saturated |= tau.is_nan() || tau.abs() > limit;
            // A torque that is not a number becomes none at all.
            *tau = if tau.is_nan() { 0.0 } else { tau.clamp(-limit, limit) };
        }
        tick
    }

    /// Whether the arm may be released into the plan, which starts at rest, given the readings of its first tick: `None` if the momentum errors and the
    /// position errors are within the tube, whatever the sensors' errors are.
    ///
    /// Proof: |p_j| <= |p^_j| + N_j, and |M_0 e|_j <= |M_0 e^|_j + sum |M_0,ji| delta_q; rounding is far below the hundredth of a per mille that is kept.
    /// Where drives lag the torques that hold the arm act for a while longer, and p has to be smaller ([`crate::reach::momentum::lag`]). As the arm stands,
    /// p is K_r M_0 e alone.
    pub fn start_fault(&mut self, measured: Measured<'_>) -> Option<StartFault> {
        let n = self.robot.dof();
        self.read(0.0, measured);
        self.form_momentum(0.0);
        let off = self.robot.sensors().position_rad;
        let (mut share, mut joint) = (0.0f64, 0);
        for j in 0..n {
            let tube = &self.plan.tube;
            let radius = tube.robust_at(j, 0.0) / tube.gains.kappa + tube.noise_at(j, 0.0);
            let momentum = (self.momentum[j].abs() + tube.noise_at(j, 0.0)) / radius;
            let spread: f64 = (0..n).map(|i| self.mass_at(j, i).abs() * off).sum();
            let lag = (self.times_mass(j, &self.e).abs() + spread) / tube.lag_at(j, 0.0);
            let standing = if tube.timing.drive_lag_s > 0.0 {
                let p = tube.gains.k_r * (self.times_mass(j, &self.e).abs() + spread);
                p / tube.radius_from_rest(j)
            } else {
                0.0
            };
            for own in [momentum, lag, standing] {
                // NaN is no proof, and is kept.
                if !(own <= share || share.is_nan()) {
                    (share, joint) = (own, j);
                }
            }
        }
        const KEPT: f64 = 1.0 - 1e-5;
        (!(share <= KEPT)).then(|| StartFault { joint, error_rad: self.e[joint], share })
    }

    /// p^ of the last tick, N m s.
    pub fn momentum(&self) -> &[f64] {
        &self.momentum
    }

    /// v_j of the last tick, N m, no farther from zero than u_j: what the arm needed beyond the nominal torques, as far as the tube allows it.
    pub fn needed_beyond_nominal(&self, joint: usize) -> f64 {
        if self.robust[joint].is_finite() { self.robust[joint] } else { 0.0 }
    }

    /// The share of its radius that the last tick's readings, which are not older than `t` seconds of the plan, prove of a joint's momentum error.
    fn share(&self, j: usize, t: f64) -> f64 {
        let tube = &self.plan.tube;
        let (u, noise) = (tube.robust_at(j, t), tube.noise_at(j, t));
        (self.momentum[j].abs() - noise) / (u / tube.gains.kappa + noise)
    }

    /// The nominal torques of the command of a tick at `t`.
    fn feed_forward(&mut self, t: f64, tau: &mut [f64]) {
        let n = self.robot.dof();
        let MomentumPlan { set, tube, curve } = &*self.plan;
        curve.evaluate(t + tube.timing.lead_s(), &mut self.desired);
        let JointState { q, dq, ddq } = &self.desired;
        self.motion.sweep(&self.robot, q, dq, dq, ddq);
        torque_regressor(&self.robot, &self.motion, 0..n, &mut self.regressor);
        for (j, tau) in tau.iter_mut().enumerate() {
            let row = TorqueRow::new(&self.regressor, (j, INERTIAL * n), dq[j], ddq[j]);
            let c = set.joint(j).0;
            let (coulomb, _) = dq[j].coulomb(c[COULOMB], tube.sign_band_at(j, t));
            let own = coulomb + dq[j] * c[VISCOUS] + ddq[j] * c[ARMATURE] + c[OFFSET];
            *tau = sums(set, j, (own, 0.0), (&row, &row)).0;
        }
    }

    /// e^ and r^ of readings that are taken for the time `t` of the plan, which may be one before its start.
    fn read(&mut self, t: f64, measured: Measured<'_>) {
        match &self.before {
            Some((before, at_s)) if t < 0.0 => before.curve.evaluate(at_s + t, &mut self.desired),
            _ => self.plan.curve.evaluate(t, &mut self.desired),
        }
        let k_r = self.plan.tube.gains.k_r;
        for j in 0..self.robot.dof() {
            self.e[j] = self.desired.q[j] - measured.q[j];
            self.r[j] = self.desired.dq[j] - measured.dq[j] + k_r * self.e[j];
        }
    }

    /// M_0 at the tick `t`, and p^.
    fn form_momentum(&mut self, t: f64) {
        self.plan.curve.evaluate(t, &mut self.desired);
        self.motion.place(&self.robot, &self.desired.q);
        crba(&self.robot, &self.motion, self.plan.set.center(), &mut self.composites, &mut self.mass);
        for j in 0..self.robot.dof() {
            self.momentum[j] = self.times_mass(j, &self.r);
        }
    }

    /// An entry of M_0 of the last tick.
    fn mass_at(&self, j: usize, i: usize) -> f64 {
        let links = self.mass[self.robot.dof() * j + i];
        if i == j { links + self.plan.set.joint(j).0[ARMATURE] } else { links }
    }

    /// Entry `j` of M_0 of the last tick times `x`.
    fn times_mass(&self, j: usize, x: &[f64]) -> f64 {
        let n = self.robot.dof();
        let links: f64 = self.mass[n * j..n * (j + 1)].iter().zip(x).map(|(m, x)| m * x).sum();
        links + self.plan.set.joint(j).0[ARMATURE] * x[j]
    }
}
