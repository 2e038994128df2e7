//! Which estimate is shown: that which predicts best a part of the log that was left out.
//!
//! Every method learns from the first two thirds of the samples and predicts the torques of the last third. A joint counts by its error over its torque.

use serde::{Deserialize, Serialize};

use super::EstimationStudy;
use super::inverse::{InverseDynamics, Regressed};
use super::result::collapses;
use crate::estimate::error::EstimateError;
use crate::estimate::solver::{Solver, SolverOptions};
use crate::multibody::MultibodyProblem;
use crate::study::validation::ValidationFinding;

/// The usual method stays unless another leaves less than this share of its errors.
const WORTH: f64 = 0.95;
/// Part of the samples that is learnt from.
const LEARNT: f64 = 2.0 / 3.0;
/// What the estimate from that part is left at: half of the square of the distance in deviations.
const LOOK: f64 = 0.05;

/// How parameters are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Together with the trajectory.
    Trajectory,
    /// By inverse dynamics with filtered accelerations, over bodies that can exist, with the priors of the problem.
    InverseDynamics,
    /// By inverse dynamics, all samples alike, without priors.
    LeastSquares,
}

impl Method {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trajectory => "trajectory and parameters together",
            Self::InverseDynamics => "inverse dynamics over bodies that can exist",
            Self::LeastSquares => "plain least squares",
        }
    }
}

/// How the estimate was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EstimateChoice {
    /// The method whose estimate is shown.
    pub method: Method,
    /// Torque errors on the part that was left out, over its torques (root mean square over joints), best first; empty where somebody asked for a method.
    pub left_out: Vec<LeftOut>,
}

/// What one method leaves of torques that it has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LeftOut {
    /// Which.
    pub method: Method,
    /// Torque errors over torques.
    pub error: f64,
}

impl EstimateChoice {
    /// In words.
    pub fn sentence(&self) -> String {
        let told: Vec<String> =
            self.left_out.iter().map(|m| format!("{} {:.1} %", m.method.name(), 100.0 * m.error)).collect();
        if told.is_empty() {
            return format!("shown is {}, as asked", self.method.name());
        }
        format!(
            "shown is {}: of the torques of the last third, which was not learnt from, these are left: {}",
            self.method.name(),
            told.join(", ")
        )
    }
}

/// How well a method that is not shown predicts a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodValidation {
    /// Which.
    pub method: Method,
    /// What it predicts.
    pub finding: ValidationFinding,
}

/// The estimate that is shown, and the others beside it.
pub(super) struct Shown {
    pub choice: Option<EstimateChoice>,
    pub estimate: Regressed,
    pub others: Others,
    pub warning: Option<String>,
}

/// Estimates by inverse dynamics.
pub(super) type Others = Vec<(Method, Regressed)>;

impl EstimationStudy {
    /// Estimates by inverse dynamics from samples `0..count`; none where it does not apply.
    pub(super) fn others(&self, problem: &MultibodyProblem, count: usize) -> Result<Others, EstimateError> {
        let mut others = vec![];
        if !self.is_linear() {
            return Ok(others);
        }
        let samples = self.moving(0..count)?;
        if samples.is_empty() {
            return Ok(others);
        }
        let inverse = InverseDynamics::new(self, problem, &samples);
        // Bounds and equations that somebody states are the trajectory's alone.
        if self.bounds.is_empty() && self.equations.is_empty() {
            others.extend(inverse.consistent().map(|found| (Method::InverseDynamics, found)));
        }
        others.extend(inverse.least_squares().map(|found| (Method::LeastSquares, found)));
        Ok(others)
    }

    /// The choice by the last third of the log, and the parameters that the trajectory's estimate has by the first two, to start from; `start` is where
    /// that one starts. Nothing where there is nothing to choose from.
    pub(super) fn choose(
        &self,
        problem: &MultibodyProblem,
        start: &[f64],
    ) -> Result<Option<(EstimateChoice, Vec<f64>)>, EstimateError> {
        if let Some(method) = self.method {
            return Ok(Some((EstimateChoice { method, left_out: vec![] }, start.to_vec())));
        }
        let count = (LEARNT * self.samples.len() as f64) as usize;
        if !self.is_linear() || count < 2 {
            return Ok(None);
        }
        let unseen = self.moving(count..self.samples.len())?;
        let others = self.others(problem, count)?;
        if unseen.is_empty() || others.is_empty() {
            return Ok(None);
        }
        let part = problem.beginning(count);
        let options = SolverOptions { significance: self.options.significance.max(LOOK), ..self.options };
        let mut solver = Solver::new(&part, options)?;
        let mut left_out = vec![];
        let mut next = start.to_vec();
        if solver.solve(&part.guess_at(start)).is_ok() {
            let theta = &solver.trajectory().theta;
            if collapses(problem, problem.guess_theta(), theta).is_empty() {
                left_out
                    .push(LeftOut { method: Method::Trajectory, error: self.torque_share(&unseen, theta) });
                next.clone_from(theta);
            }
        }
        for (method, found) in &others {
            if collapses(problem, problem.guess_theta(), &found.theta).is_empty() {
                left_out.push(LeftOut { method: *method, error: self.torque_share(&unseen, &found.theta) });
            }
        }
        left_out.retain(|m| m.error.is_finite());
        left_out.sort_by(|a, b| a.error.total_cmp(&b.error));
        let usual =
            left_out.iter().find(|m| m.method == Method::Trajectory).map_or(f64::INFINITY, |m| m.error);
        let best = left_out.first().filter(|best| best.error < WORTH * usual);
        let method = best.map_or(Method::Trajectory, |best| best.method);
        Ok(Some((EstimateChoice { method, left_out }, next)))
    }

    /// The estimate that was chosen out of all, learnt from the whole log; `own` is the trajectory's. Where that one collapses, the next best takes its place.
    ///
    /// # Errors
    /// [`EstimateError::Option`] where a method is asked for that this problem does not have.
    pub(super) fn shown(
        &self,
        problem: &MultibodyProblem,
        choice: Option<EstimateChoice>,
        own: Regressed,
    ) -> Result<Shown, EstimateError> {
        let mut others = self.others(problem, self.samples.len())?;
        let Some(mut choice) = choice else {
            return Ok(Shown { choice: None, estimate: own, others, warning: None });
        };
        let has = |others: &Others, method: Method| others.iter().any(|(m, _)| *m == method);
        if self.method.is_some_and(|asked| asked != Method::Trajectory && !has(&others, asked)) {
            let reason = format!("there is no estimate by {} of this problem", choice.method.name());
            return Err(EstimateError::Recording { reason });
        }
        let mut warning = None;
        let lost = collapses(problem, problem.guess_theta(), &own.theta);
        if self.method.is_none() && choice.method == Method::Trajectory && !lost.is_empty() {
            let next = choice.left_out.iter().find(|m| has(&others, m.method));
            if let Some(next) = next {
                choice.method = next.method;
                warning = Some(format!(
                    "the trajectory's estimate has collapsed and is not shown: {}",
                    lost.join("; ")
                ));
            }
        }
        let place = others.iter().position(|(m, _)| *m == choice.method);
        let estimate = match place {
            None => own,
            Some(place) => {
                let estimate = others.swap_remove(place).1;
                others.push((Method::Trajectory, own));
                estimate
            }
        };
        Ok(Shown { choice: Some(choice), estimate, others, warning })
    }

    /// How well estimates that are not shown predict the recording that was named.
    pub(super) fn validate_others(&self, others: &Others) -> Result<Vec<MethodValidation>, EstimateError> {
        let mut all = vec![];
        for (method, found) in others {
            all.extend(
                self.validate(&found.theta)?.map(|finding| MethodValidation { method: *method, finding }),
            );
        }
        Ok(all)
    }
}
