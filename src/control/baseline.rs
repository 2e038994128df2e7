//! What the controllers that the proven law is compared with have in common: gains, the nominal model, and torques within their limits.
//!
//! They are [`super::GravityPid`], [`super::AdaptiveController`] and [`super::AdaptiveRobustController`], the baselines of [1, Table II]. No claim rests on
//! them. Their default gains give each the same stiffness and damping, so that a comparison is of laws and not of gains: for the joints of a Kinova Gen3
//! (8 to 15 kg m^2 with their transmissions) about two poles at 20 1/s, a crossover near 40 rad/s (6 Hz) at 1000 ticks a second. Ticks five times as long change
//! the errors of none by a tenth.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dynamics::{Motion, Wrench, rnea};
use crate::robot::Arm;
use crate::trajectory::JointState;

use super::{Measured, Tick};

/// A gain: one number for all joints, or one a joint. In a file it is a number or a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JointGain {
    /// The same for every joint.
    All(f64),
    /// One a joint.
    Each(Vec<f64>),
}

/// What a gain may be, besides finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Allowed {
    Positive,
    NotNegative,
}

/// Checks one number of `field`.
pub(super) fn check_number(field: &str, x: f64, allowed: Allowed) -> Result<(), String> {
    let (fine, wanted) = match allowed {
        Allowed::Positive => (x > 0.0, "above 0"),
        Allowed::NotNegative => (x >= 0.0, "not below 0"),
    };
    if fine && x.is_finite() {
        return Ok(());
    }
    Err(format!("{field}: expected a finite number {wanted}, found {x}"))
}

impl JointGain {
    /// Checks the numbers of `field` for an arm with so many joints.
    pub(super) fn check(&self, field: &str, joints: usize, allowed: Allowed) -> Result<(), String> {
        match self {
            Self::All(x) => check_number(field, *x, allowed),
            Self::Each(all) if all.len() != joints => Err(format!(
                "{field}: expected one number, or one for each of {joints} joints, found {}",
                all.len()
            )),
            Self::Each(all) => all
                .iter()
                .enumerate()
                .try_for_each(|(j, x)| check_number(&format!("{field}, joint {}", j + 1), *x, allowed)),
        }
    }

    /// One number a joint.
    pub(super) fn spread(&self, joints: usize) -> Vec<f64> {
        match self {
            Self::All(x) => vec![*x; joints],
            Self::Each(all) => all.clone(),
        }
    }
}

/// A model of the arm in plain numbers, with the scratch space of its torques.
#[derive(Debug, Clone)]
pub(super) struct NominalModel {
    pub robot: Arc<Arm>,
    /// All parameters, in the order of [`crate::inertia::ParameterSet::center`].
    pub theta: Vec<f64>,
    pub motion: Motion<f64>,
    wrenches: Vec<Wrench<f64>>,
}

impl NominalModel {
    /// The model with parameters `theta`.
    pub fn new(robot: Arc<Arm>, theta: &[f64]) -> Result<Self, String> {
        let expected = robot.parameter_count();
        if theta.len() != expected {
            return Err(format!("model: expected {expected} parameters, found {}", theta.len()));
        }
        if let Some(at) = theta.iter().position(|x| !x.is_finite()) {
            return Err(format!("model: parameter {at} is {}, expected a finite number", theta[at]));
        }
        let (motion, wrenches) = (Motion::new(&robot), vec![Wrench::zero(); robot.dof()]);
        Ok(Self { theta: theta.to_vec(), motion, wrenches, robot })
    }

    /// Gravity torques g(q), N m. `zero` has one zero a joint.
    pub fn gravity(&mut self, q: &[f64], zero: &[f64], tau: &mut [f64]) {
        self.motion.sweep_plain(&self.robot, q, zero, zero);
        rnea(&self.robot, &self.motion, &self.theta, &mut self.wrenches, tau);
    }

    /// M ddqa + C dqa + g and what friction and transmission take, N m: F_v dq + I_a ddqa + beta, and F_c sign(dq) above the stiction speed, as the
    /// proven law has it.
    pub fn torques(&mut self, [q, dq, dqa, ddqa]: [&[f64]; 4], tau: &mut [f64]) {
        self.motion.sweep(&self.robot, q, dq, dqa, ddqa);
        rnea(&self.robot, &self.motion, &self.theta, &mut self.wrenches, tau);
        let band = self.robot.gains().stiction_speed_rad_s;
        for (j, tau) in tau.iter_mut().enumerate() {
            let own = self.robot.joint_parameters(&self.theta, j);
            let sign = if dq[j].abs() > band { dq[j].signum() } else { 0.0 };
            *tau += own.coulomb * sign + own.viscous * dq[j] + own.armature * ddqa[j] + own.offset;
        }
    }
}

/// Torques within their limits, and those of the last tick for readings that are lost.
#[derive(Debug, Clone)]
pub(super) struct Output {
    limits: Vec<f64>,
    /// N m; 0 before the first tick that could be read.
    last: Vec<f64>,
}

impl Output {
    pub fn new(robot: &Arm) -> Self {
        let limits: Vec<f64> = robot.joints.iter().map(|joint| joint.limits.torque).collect();
        Self { last: vec![0.0; limits.len()], limits }
    }

    /// Whether the unlimited torque of `joint` is beyond its limit on the side of `push`: more of it would be of no use. So would what is no number.
    pub fn beyond(&self, joint: usize, tau: f64, push: f64) -> bool {
        tau.is_nan() || (tau.abs() > self.limits[joint] && tau * push > 0.0)
    }

    /// The torques of the tick before.
    pub fn hold(&self, tau: &mut [f64]) -> Tick {
        tau.copy_from_slice(&self.last);
        Tick { energy_j: 0.0, energy_floor_j: 0.0, saturated: false }
    }

    /// Cuts `tau` at the limits. What is no number stays what it was.
    pub fn finish(&mut self, tau: &mut [f64]) -> Tick {
        let mut saturated = false;
        for ((tau, limit), last) in tau.iter_mut().zip(&self.limits).zip(&mut self.last) {
            saturated |= tau.is_nan() || tau.abs() > *limit;
            *tau = if tau.is_nan() { *last } else { tau.clamp(-limit, *limit) };
            *last = *tau;
        }
        Tick { energy_j: 0.0, energy_floor_j: 0.0, saturated }
    }
}

/// Whether everything that a tick is given is a number.
pub(super) fn readable(measured: Measured<'_>, desired: &JointState) -> bool {
    let all = [measured.q, measured.dq, &desired.q, &desired.dq, &desired.ddq];
    all.iter().all(|values| values.iter().all(|x| x.is_finite()))
}

#[cfg(test)]
pub(super) mod tests;
