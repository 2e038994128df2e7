//! The controllers of methods as one.

use std::sync::Arc;

use super::preset::ControlLaw;
use crate::control::{
    AdaptiveController, AdaptiveRobustController, Controller, GravityPid, Measured, RobustController, Tick,
};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::propose::cells;
use crate::plan::tube_fit;
use crate::robot::Arm;
use crate::trajectory::{JointState, PiecewiseBezier};

/// A controller with what it believes.
pub(super) enum Law {
    /// See [`ControlLaw::Robust`].
    Robust(Box<RobustController>),
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
                Self::Robust(Box::new(RobustController::new(robot, set, &tube)))
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
