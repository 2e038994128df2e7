//! The controllers of methods as one.

use std::sync::Arc;

use super::preset::ControlLaw;
use crate::control::{
    AdaptiveController, AdaptiveRobustController, Controller, GravityPid, Measured, RobustController, Tick,
};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::propose::cells;
use crate::plan::tube_fit;
use crate::reach::Tube;
use crate::robot::Arm;
use crate::trajectory::{JointState, PiecewiseBezier};

/// A controller with what it believes.
pub(super) enum Law {
    /// See [`ControlLaw::Robust`].
    Robust(Box<Unsupervised>),
    /// See [`ControlLaw::GravityPid`].
    GravityPid(Box<GravityPid>),
    /// See [`ControlLaw::Adaptive`].
    Adaptive(Box<AdaptiveController>),
    /// See [`ControlLaw::AdaptiveRobust`].
    AdaptiveRobust(Box<AdaptiveRobustController>),
}

impl Law {
    /// For an arm with these parameters, and these in the middle. The robust law's constants are fitted to the path; where nothing can be proven of that they
    /// are those that any fit begins with. An error names a gain that cannot be.
    pub(super) fn new(
        what: &ControlLaw,
        robot: Arc<Arm>,
        (set, theta): (&ParameterSet, &[f64]),
        path: &PiecewiseBezier,
    ) -> Result<Self, String> {
        Ok(match what {
            ControlLaw::Robust => {
                let initial = tube_fit::initial(&robot);
                let fitted = tube_fit::fit(&robot, set, path, &initial, cells(path.duration_s()));
                let tube = fitted.unwrap_or(initial);
                let law = RobustController::new(robot.clone(), set, &tube);
                Self::Robust(Box::new(Unsupervised { law, robot, tube }))
            }
            ControlLaw::GravityPid(gains) => {
                Self::GravityPid(Box::new(GravityPid::new(robot, theta, gains.clone())?))
            }
            ControlLaw::Adaptive(gains) => {
                Self::Adaptive(Box::new(AdaptiveController::new(robot, theta, gains.clone())?))
            }
            ControlLaw::AdaptiveRobust(gains) => {
                Self::AdaptiveRobust(Box::new(AdaptiveRobustController::new(robot, theta, gains.clone())?))
            }
        })
    }

    /// The last body as it takes it to be, where it adapts that.
    pub(super) fn estimate(&self) -> Option<[f64; INERTIAL]> {
        match self {
            Self::Adaptive(law) => Some(law.estimate()),
            _ => None,
        }
    }
}

/// The robust law without its supervisor, which would stop an arm that leaves its tube. Out there it pulls back as the law of \[6\] does: with the power
/// alpha (V - V_max) along the errors, weighted by inertia. Within the tube that is 0, and the law is the proven one.
pub(super) struct Unsupervised {
    law: RobustController,
    robot: Arc<Arm>,
    tube: Tube,
}

impl Controller for Unsupervised {
    fn tick(&mut self, t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        let mut told = self.law.tick(t, measured, desired, tau);
        let (gains, floor) = (&self.tube.gains, &self.tube.inertia_floor);
        let error = |j: usize| desired.dq[j] - measured.dq[j] + gains.k_r * (desired.q[j] - measured.q[j]);
        let sum: f64 = floor.iter().enumerate().map(|(j, a)| a * error(j).powi(2)).sum();
        let power = gains.alpha * (told.energy_j - gains.v_max);
        if power > 0.0 && sum > 0.0 {
            for (j, tau) in tau.iter_mut().enumerate() {
                let (pulled, limit) =
                    (*tau + power * floor[j] * error(j) / sum, self.robot.joints[j].limits.torque);
                told.saturated |= pulled.abs() > limit;
                *tau = pulled.clamp(-limit, limit);
            }
        }
        told
    }
}

impl Controller for Law {
    fn tick(&mut self, t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        match self {
            Self::Robust(law) => law.tick(t, measured, desired, tau),
            Self::GravityPid(law) => law.tick(t, measured, desired, tau),
            Self::Adaptive(law) => law.tick(t, measured, desired, tau),
            Self::AdaptiveRobust(law) => law.tick(t, measured, desired, tau),
        }
    }
}
