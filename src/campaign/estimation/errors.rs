//! How far an estimate is from a simulated truth.

use serde::{Deserialize, Serialize};

use crate::estimate::Trajectory;
use crate::multibody::MultibodyProblem;
use crate::study::estimation::EstimationStudy;

/// Errors of an estimate.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Errors {
    /// Largest of the states', rad (m) and rad/s (m/s).
    pub state: f64,
    /// 2-norm of the estimated bodies' ten physical parameters' errors over that of their true values, %; nothing where no
    /// body is estimated.
    pub inertia: Option<f64>,
    /// The same of friction and drives.
    pub friction: Option<f64>,
}

/// An opened truth.
pub(super) struct Truth {
    parameters: Vec<f64>,
    states: Vec<Vec<f64>>,
}

impl Truth {
    /// Ends the study; nothing where its samples were measured.
    pub fn open(study: EstimationStudy) -> Option<Self> {
        study.reveal().map(|(parameters, states)| Self { parameters, states })
    }

    pub fn errors(&self, problem: &MultibodyProblem, found: &Trajectory) -> Errors {
        let (robot, map) = (problem.robot(), problem.map());
        let mut p = map.nominal.clone();
        map.fill(robot, &found.theta, &mut p);
        let bodies = map.bodies.iter().flat_map(|&(body, _)| robot.body_range(body));
        let joints = map.joints.iter().map(|&(joint, which)| which.index(robot, joint));
        Errors {
            state: problem.largest_error(found, &self.states),
            inertia: self.apart(&p, bodies),
            friction: self.apart(&p, joints),
        }
    }

    /// Relative distance of the parameters at `places`, %.
    fn apart(&self, p: &[f64], places: impl Iterator<Item = usize>) -> Option<f64> {
        let (mut error, mut size) = (0.0, 0.0);
        for i in places {
            error += (p[i] - self.parameters[i]).powi(2);
            size += self.parameters[i].powi(2);
        }
        (size > 0.0).then(|| 100.0 * f64::sqrt(error / size))
    }
}
