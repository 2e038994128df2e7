//! Which estimate is shown: that which predicts best a part of the log that was left out.
//!
//! Every method learns from the first two thirds of the samples and predicts the torques of the last third. A joint counts by its error over its torque.
//! Errors last for many samples, so a third of a log is little: the trajectory's estimate stays unless another's squared errors are less beyond chance, by
//! the test of Diebold and Mariano (1995) with the integrated autocorrelation of the difference.

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::EstimationStudy;
use super::inverse::{InverseDynamics, Regressed, lasting};
use super::result::collapses;
use crate::estimate::error::EstimateError;
use crate::estimate::solver::{Solver, SolverOptions};
use crate::multibody::MultibodyProblem;
use crate::study::validation::ValidationFinding;

/// The usual method stays unless another's squared errors are less by so many standard errors of the mean difference.
const SURE: f64 = 2.0;
/// Part of the samples that is learnt from.
const LEARNT: f64 = 2.0 / 3.0;
/// What the estimate from that part is left at: half of the square of the distance in deviations.
const LOOK: f64 = 0.05;

/// How parameters are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EstimationMethod {
    /// Together with the trajectory.
    Trajectory,
    /// By inverse dynamics with filtered accelerations, over bodies that can exist, with the priors of the problem.
    InverseDynamics,
    /// By inverse dynamics, all samples alike, without priors.
    LeastSquares,
}

impl EstimationMethod {
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
    pub method: EstimationMethod,
    /// Torque errors on the part that was left out, over its torques (root mean square over joints), best first; empty where somebody asked for a method.
    pub left_out: Vec<UnseenTorqueError>,
}

/// What one method leaves of torques that it has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnseenTorqueError {
    /// Which.
    pub method: EstimationMethod,
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
    pub method: EstimationMethod,
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
pub(super) type Others = Vec<(EstimationMethod, Regressed)>;

/// The method to show, by the squares of what each left of every unseen sample's torques; the trajectory's stays unless another's are less beyond chance.
fn decided(mut tried: Vec<(EstimationMethod, Vec<f64>)>) -> EstimateChoice {
    tried.retain(|(_, squares)| squares.iter().all(|x| x.is_finite()));
    let mean = |squares: &[f64]| squares.iter().sum::<f64>() / squares.len() as f64;
    tried.sort_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
    let usual = tried.iter().find(|(method, _)| *method == EstimationMethod::Trajectory);
    let best = tried.first().filter(|(_, least)| usual.is_none_or(|(_, usual)| surely_less(least, usual)));
    EstimateChoice {
        method: best.map_or(EstimationMethod::Trajectory, |(method, _)| *method),
        left_out: (tried.iter())
            .map(|(method, squares)| UnseenTorqueError { method: *method, error: mean(squares).sqrt() })
            .collect(),
    }
}

/// Whether `a` is less than `b` in the mean by more than [`SURE`] standard errors, which count how long differences last.
fn surely_less(a: &[f64], b: &[f64]) -> bool {
    let gain = DVector::from_iterator(a.len(), a.iter().zip(b).map(|(a, b)| b - a));
    let (mean, length) = (gain.mean(), lasting(&gain));
    let variance = gain.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / gain.len() as f64;
    mean > SURE * (variance * length / gain.len() as f64).sqrt()
}

/// A method was asked for that does not apply.
fn refused(method: EstimationMethod) -> EstimateError {
    let reason = format!(
        "solver.method: there is no estimate by {} of this problem; expected a log of positions, velocities and torques that are linear in what is \
         estimated, without contacts, and for `inverse_dynamics` without bounds and equations, for `least_squares` with bodies that can exist as its answer",
        method.name()
    );
    EstimateError::Recording { reason }
}

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
            others.extend(inverse.consistent().map(|found| (EstimationMethod::InverseDynamics, found)));
        }
        others.extend(inverse.least_squares().map(|found| (EstimationMethod::LeastSquares, found)));
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
            if method != EstimationMethod::Trajectory && !self.is_linear() {
                return Err(refused(method));
            }
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
        let mut tried: Vec<(EstimationMethod, Vec<f64>)> = vec![];
        let mut next = start.to_vec();
        if solver.solve(&part.guess_at(start)).is_ok() {
            let theta = &solver.trajectory().theta;
            if collapses(problem, problem.guess_theta(), theta).is_empty() {
                tried.push((EstimationMethod::Trajectory, self.torque_shares(&unseen, theta)));
                next.clone_from(theta);
            }
        }
        let exist = |found: &Regressed| collapses(problem, problem.guess_theta(), &found.theta).is_empty();
        for (method, found) in others.iter().filter(|(_, found)| exist(found)) {
            tried.push((*method, self.torque_shares(&unseen, &found.theta)));
        }
        Ok(Some((decided(tried), next)))
    }

    /// The estimate that was chosen out of all, learnt from the whole log; `own` is the trajectory's. Where that one collapses, the next best takes its place.
    ///
    /// # Errors
    /// [`EstimateError::Recording`] where a method is asked for that this problem does not have.
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
        let has = |others: &Others, method: EstimationMethod| others.iter().any(|(m, _)| *m == method);
        if let Some(asked) = self.method
            && asked != EstimationMethod::Trajectory
            && !has(&others, asked)
        {
            return Err(refused(asked));
        }
        let mut warning = None;
        let lost = collapses(problem, problem.guess_theta(), &own.theta);
        if self.method.is_none() && choice.method == EstimationMethod::Trajectory && !lost.is_empty() {
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
                others.push((EstimationMethod::Trajectory, own));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Squares around a level, that keep their sign for `length` samples.
    fn squares(level: f64, length: usize) -> Vec<f64> {
        (0..1200).map(|k| level * (1.0 + if (k / length).is_multiple_of(2) { 0.9 } else { -0.9 })).collect()
    }

    /// A tenth less is beyond chance where errors are independent, and within it where they last for half of the samples.
    #[test]
    fn the_usual_estimate_stays_unless_another_is_better_beyond_chance() {
        use EstimationMethod::{InverseDynamics, LeastSquares, Trajectory};
        let usual = vec![1.0; 1200];
        for (length, shown) in [(1, InverseDynamics), (300, Trajectory)] {
            let choice = decided(vec![(Trajectory, usual.clone()), (InverseDynamics, squares(0.9, length))]);
            assert_eq!(choice.method, shown, "{choice:?}");
            let order: Vec<_> = choice.left_out.iter().map(|m| m.method).collect();
            assert_eq!(order, [InverseDynamics, Trajectory]);
            assert!((choice.left_out[1].error - 1.0).abs() < 1e-12);
        }
        // Without the usual one the best is shown; what is no number never is.
        let alone = decided(vec![(LeastSquares, squares(2.0, 1)), (InverseDynamics, squares(1.0, 1))]);
        assert_eq!(alone.method, InverseDynamics);
        let broken = decided(vec![(Trajectory, usual), (LeastSquares, vec![f64::NAN; 1200])]);
        assert!(broken.method == Trajectory && broken.left_out.len() == 1, "{broken:?}");
    }
}
