//! The *gentle stop*: what is commanded once the proof is void.
//!
//! It needs no plan, no tube and hardly a model. With the floor A of the mass matrix (M >= diag(A)), the *reaction time* T and D = diag(d),
//! d_j = A_j / (4 T), the torque heads for
//!
//! tau = g(q^) + beta + b - D y, T dy/dt = dq^ - y, y = 0 at the start,
//!
//! where g is gravity and beta the torque offset of the set's centre, q^ and dq^ are measured. The *bias* b is what the law has needed beyond its
//! nominal torques over the last T, on average, each tick within what the set allows; it no longer changes then. So an arm that was held up by the
//! law does not sag when the law goes. The magnitude of each torque stays within the joint's
//! limit, and its rate within limit / [`RAMP_S`]. It continues from the torque of the last tick.
//!
//! # What is promised
//! * **No energy is added** where g + beta + b meets gravity and the ramp is over: E = v'M v / 2 + T y'D y / 2 has dE/dt = -y'D y - friction <= 0, as C drops out
//!   of it (dM/dt - 2C is skew). As y starts at zero, the kinetic energy never passes what it was. What gravity is missed by, a torque w,
//!   drives joint j to a speed of some w_j / (d_j + F_v,j); nothing brings the arm back.
//! * **No overshoot**, whatever M >= diag(A) is: D phi = lambda M phi has lambda <= 1 / (4 T), so the poles of T s^2 + s + lambda are real.
//! * **Delay.** Of the loop lambda / (s (1 + T s)) e^(-a s) the crossover is below 1 / (4 T), where the phase margin is 76 degrees: stable for any age
//!   a < 5 T of what is measured.
//! * **Elastic joints.** Let the encoder be behind a spring k, and before it the transmission: inertia J, viscous friction F. By Routh's
//!   criterion link and transmission do not ring, whatever the link's inertia, if k >= d N / (F T^2) with N = J + T F. (Damping by the plain velocity rings
//!   for links lighter than d J / F, however stiff the spring is: it is felt in counterphase there.) For the Gen3's transmissions (J = 8 to 12
//!   kg m^2, F = 7 to 10 N m s/rad) that is k >= 5 to 14 kN m/rad. With the encoder before the spring it does not ring for any k.
//! * **The ramp.** From a torque that is off by w the first ticks may add a speed of about w^2 [`RAMP_S`] / (2 limit A_j) to joint j.
//!
//! # Lost readings
//! A position that is no number, or farther from the last one believed than twice the speed limit leads, is not believed, nor is anything
//! that this joint says later. Gravity is then that of its last believable position. In the place of its velocity stands a prediction from the last one
//! believed: no more than what an inertia A_j keeps under this stop's own damping and the set's largest friction. So the damping takes no more momentum from the joint than
//! it has at least, and drives it nowhere. A frozen encoder that nobody recognises says a velocity of zero: its joint is then stopped by its friction alone.
//!
//! Nothing else is promised. Where the arm comes to rest is not known beforehand.

use std::sync::Arc;

use crate::dynamics::{Motion, Wrench, rnea};
use crate::inertia::{COULOMB, VISCOUS};
use crate::reach::PreparedSet;
use crate::robot::Arm;

use super::Measured;

/// T, s: how fast the gentle stop reacts. The shortest for which joints of 16 kN m/rad with the transmissions of a Gen3 do not ring.
pub const REACTION_S: f64 = 0.07;
/// Time in which a torque may go from zero to its limit, s. A third of [`REACTION_S`]: the damping is not held up by it.
pub const RAMP_S: f64 = 0.02;
/// Fewest ticks within T: with fewer, what is computed tick by tick is not what is written above.
const TICKS: f64 = 16.0;

/// What is known of one joint.
#[derive(Debug, Clone, Copy)]
struct Joint {
    /// Last believed position, rad (m).
    position: f64,
    /// Last believed velocity, then its prediction, rad/s (m/s).
    velocity: f64,
    /// y, rad/s (m/s).
    filtered: f64,
    /// b, N m.
    bias: f64,
    /// Whether it is believed no more.
    lost: bool,
}

/// The gentle stop of one robot. Neither [`GentleStop::switch`] nor [`GentleStop::begin`] nor [`GentleStop::tick`] allocates or panics.
#[derive(Debug, Clone)]
pub struct GentleStop {
    robot: Arc<Arm>,
    set: Arc<PreparedSet>,
    motion: Motion<f64>,
    wrenches: Vec<Wrench<f64>>,
    zero: Vec<f64>,
    posture: Vec<f64>,
    gravity: Vec<f64>,
    joints: Vec<Joint>,
    /// A_j, kg m^2 (kg).
    floor: Vec<f64>,
    /// Torques of the last tick, N m; not a number before the first.
    torque: Vec<f64>,
    /// Ticks that the bias is a mean of.
    learnt: f64,
    reaction_s: f64,
}

impl GentleStop {
    /// A stop of `robot` for a parameter set and a floor A of its mass matrix, kg m^2 (kg) a joint.
    pub fn new(robot: Arc<Arm>, set: Arc<PreparedSet>, floor: &[f64]) -> Self {
        let n = robot.dof();
        let unknown = Joint { position: 0.0, velocity: 0.0, filtered: 0.0, bias: 0.0, lost: true };
        Self {
            motion: Motion::new(&robot),
            wrenches: vec![Wrench::zero(); n],
            zero: vec![0.0; n],
            posture: vec![0.0; n],
            gravity: vec![0.0; n],
            joints: vec![unknown; n],
            floor: floor.to_vec(),
            torque: vec![f64::NAN; n],
            learnt: 0.0,
            reaction_s: REACTION_S.max(TICKS * robot.gains().period_s),
            robot,
            set,
        }
    }

    /// The same with another reaction time T, s: a shorter one for an arm that is known to be stiff. At least 16 ticks are taken.
    pub fn with_reaction(mut self, reaction_s: f64) -> Self {
        self.reaction_s = reaction_s.max(TICKS * self.robot.gains().period_s);
        self
    }

    /// Takes the set and the floor of the next plan; the set before is handed back.
    pub fn switch(&mut self, set: Arc<PreparedSet>, floor: impl Iterator<Item = f64>) -> Arc<PreparedSet> {
        self.floor.iter_mut().zip(floor).for_each(|(own, floor)| *own = floor);
        std::mem::replace(&mut self.set, set)
    }

    /// d_j, N m s/rad.
    pub fn damping(&self, joint: usize) -> f64 {
        self.floor[joint] / (4.0 * self.reaction_s)
    }

    /// Remembers a reading that is believed; called at every tick before the stop. What is no number is passed over.
    pub fn remember(&mut self, measured: Measured<'_>) {
        for (joint, (&q, &dq)) in self.joints.iter_mut().zip(measured.q.iter().zip(measured.dq)) {
            if q.is_finite() && dq.is_finite() {
                (joint.position, joint.velocity, joint.lost) = (q, dq, false);
            }
        }
    }

    /// Takes what each joint needed beyond the nominal torques at this tick, N m ([`super::RobustController::needed_beyond_nominal`],
    /// [`super::MomentumController::needed_beyond_nominal`]). The bias is the
    /// mean over the first T, and follows with a lag of T from then on.
    pub fn learn(&mut self, needed: impl Fn(usize) -> f64) {
        self.learnt = (self.learnt + 1.0).min(self.reaction_s / self.robot.gains().period_s);
        for (j, joint) in self.joints.iter_mut().enumerate() {
            joint.bias += (needed(j) - joint.bias) / self.learnt;
        }
    }

    /// The stop begins at the next tick, from torques `torque` (N m) in effect. One that is no number stands for gravity's: nothing was commanded yet.
    pub fn begin(&mut self, torque: &[f64]) {
        self.torque.copy_from_slice(torque);
        self.joints.iter_mut().for_each(|joint| joint.filtered = 0.0);
    }

    /// Torques of the next tick, N m. Readings that the caller does not believe are to be NaN; whether any torque was cut at its limit.
    pub fn tick(&mut self, measured: Measured<'_>, tau: &mut [f64]) -> bool {
        for j in 0..self.joints.len() {
            self.look(j, measured.q[j], measured.dq[j]);
            self.posture[j] = self.joints[j].position;
        }
        self.motion.sweep_plain(&self.robot, &self.posture, &self.zero, &self.zero);
        rnea(&self.robot, &self.motion, self.set.center(), &mut self.wrenches, &mut self.gravity);
        let period = self.robot.gains().period_s;
        let mut cut = false;
        for (j, tau) in tau.iter_mut().enumerate() {
            let limit = self.robot.joints[j].limits.torque;
            let offset = self.robot.joint_parameters(self.set.center(), j).offset;
            let damping = self.damping(j);
            let joint = &mut self.joints[j];
            joint.filtered += period / self.reaction_s * (joint.velocity - joint.filtered);
            let wanted = self.gravity[j] + offset + joint.bias - damping * joint.filtered;
            cut |= !(wanted.abs() <= limit);
            let wanted = if wanted.is_nan() { 0.0 } else { wanted.clamp(-limit, limit) };
            let (before, step) = (self.torque[j], limit * period / RAMP_S);
            *tau = if before.is_finite() { wanted.clamp(before - step, before + step) } else { wanted };
            *tau = tau.clamp(-limit, limit);
            self.torque[j] = *tau;
        }
        cut
    }

    /// Takes a joint's reading, or goes on without.
    fn look(&mut self, j: usize, q: f64, dq: f64) {
        let period = self.robot.gains().period_s;
        let reach = 2.0 * self.robot.joints[j].limits.velocity;
        let off = period * reach + 2.0 * self.robot.sensors().position_rad;
        let joint = &mut self.joints[j];
        joint.lost |= !((q - joint.position).abs() <= off && dq.abs() <= reach);
        if !joint.lost {
            (joint.position, joint.velocity) = (q, dq);
            return;
        }
        // What is left of the last speed at least. Where nothing is, the damping is over.
        let floor = self.floor[j];
        let damping = self.damping(j);
        let (center, radius) = self.set.joint(j);
        let most = |part: usize| (center[part] + radius[part]).max(0.0);
        let dry = self.robot.uncertainty().breakaway_ratio.max(1.0) * most(COULOMB);
        let joint = &mut self.joints[j];
        let (speed, sign) = (joint.velocity.abs(), joint.velocity.signum());
        let braked = (damping * joint.filtered * sign).max(0.0) + dry + most(VISCOUS) * speed;
        let left = speed - period * braked / floor;
        if left > 0.0 {
            joint.velocity = left * sign;
        } else {
            (joint.velocity, joint.filtered) = (0.0, 0.0);
        }
    }
}

#[cfg(test)]
mod tests;
