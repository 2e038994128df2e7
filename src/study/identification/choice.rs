//! Whose estimate is shown unless somebody asks for one: that of the method which predicts best what it has not seen.
//!
//! Every method learns from the first part of each log, as [`wider::parted`] cuts it, and predicts the torques of the rest. A joint counts by its error
//! over its torque, so that a wrist has as much of a say as a shoulder.

use serde::Serialize;

use super::estimators::{Data, Estimator};
use super::refuted::Making;
use super::{IdentificationStudy, StudyError, torque_rms};
use crate::identify::Unknown;
use crate::identify::recorded::wider;
use crate::inertia::pseudo::check_physical;
use crate::recording::MeasurementLog;
use crate::regression::inverse::{Moving, moving};

/// The usual method stays unless another leaves less than this share of its errors.
const WORTH: f64 = 0.95;

/// How the method was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodChoice {
    /// The one that is shown.
    pub method: Estimator,
    /// Torque errors on the part that was left out, as a share of the torques (root mean square over joints), best first.
    pub left_out: Vec<LeftOutError>,
}

/// What one method leaves of torques that it has not seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOutError {
    /// Which.
    pub method: Estimator,
    /// Torque errors over torques, root mean square over joints.
    pub error: f64,
}

impl MethodChoice {
    /// In words.
    pub fn sentence(&self) -> String {
        let (own, others): (Vec<&LeftOutError>, Vec<_>) =
            self.left_out.iter().partition(|m| m.method == self.method);
        let told: Vec<String> = (own.into_iter().chain(others).take(4))
            .map(|m| format!("{} {:.1} %", m.method.name(), 100.0 * m.error))
            .collect();
        format!(
            "{} is shown: of the torques of the last third of each log, which was not learnt from, these are left: {}",
            self.method.name(),
            told.join(", ")
        )
    }
}

impl Unknown {
    /// Whose estimate is shown where nothing tells methods apart: for a payload that of a body that can exist.
    pub fn usual_method(self) -> Estimator {
        match self {
            Self::Payload => Estimator::LogCholesky,
            _ => Estimator::InverseDynamics,
        }
    }
}

impl IdentificationStudy<'_> {
    /// The method whose estimate is shown, and how it was chosen if nobody asked for one.
    pub(super) fn choice(
        &self,
        making: Making,
        unknown: &[usize],
    ) -> Result<(Estimator, Option<MethodChoice>), StudyError> {
        if let Some(asked) = self.options.method {
            return Ok((asked, None));
        }
        let usual = self.options.unknown.usual_method();
        let Some((used, held)) = wider::parted(self.logs) else { return Ok((usual, None)) };
        let smooth = |logs: &[MeasurementLog]| -> Option<Vec<Moving>> {
            let all: Result<Vec<_>, _> = logs.iter().map(|log| moving(log, self.options.smoothing)).collect();
            all.ok().map(|all| all.concat()).filter(|samples| !samples.is_empty())
        };
        // A part that is shorter than the filter tells nothing.
        let Some((seen, unseen)) = smooth(&used).zip(smooth(&held)) else { return Ok((usual, None)) };
        let rows = self.rows(self.robot.sensors(), &used, making)?.granting(&self.options.torque_abs_nm);
        let samples: Vec<_> = used.iter().flat_map(|log| log.samples.iter().cloned()).collect();
        let (robot, prior) = (self.robot, self.prior);
        let data = Data { robot, rows: &rows, prior, set: prior, unknown, samples: &samples };
        let signal = torque_rms(&unseen, robot.dof());
        let mut left_out = vec![];
        for (method, found) in self.estimates(&data, &seen, usual)? {
            // The first speaks of a part, the second is least squares again.
            if matches!(method, Estimator::Static | Estimator::Perturbation) {
                continue;
            }
            let Ok(estimate) = found else { continue };
            // What is held is told as a body; of whole arms torques tell too little for that.
            if self.options.unknown == Unknown::Payload
                && check_physical(&self.last_body(&estimate.z)).is_err()
            {
                continue;
            }
            let errors = self.errors(&estimate.z, &unseen).unlimited;
            let shares = errors.iter().zip(&signal).filter(|(e, s)| e.is_finite() && **s > 0.0);
            let squares: Vec<f64> = shares.map(|(e, s)| (e / s).powi(2)).collect();
            let error = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
            if !squares.is_empty() && error.is_finite() {
                left_out.push(LeftOutError { method, error });
            }
        }
        left_out.sort_by(|a, b| a.error.total_cmp(&b.error));
        let own = left_out.iter().find(|m| m.method == usual).map_or(f64::INFINITY, |m| m.error);
        let best = left_out.first().filter(|best| best.error < WORTH * own).map_or(usual, |best| best.method);
        Ok((best, Some(MethodChoice { method: best, left_out })))
    }
}
