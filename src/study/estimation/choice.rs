//! Which estimate is shown: that which predicts best a part of the log that was left out.
//!
//! Every method learns from the first two thirds of the samples and predicts the torques of the last third. A joint counts by its error over its torque.
//! Errors last for many samples, so a third of a log is little: the trajectory's estimate stays unless another's squared errors are less beyond chance, by
//! the test of Diebold and Mariano (1995) with the integrated autocorrelation of the difference.
//!
//! Torques are judged with filtered accelerations, whose errors favour an estimate from the same filter. Simulations need no accelerations. So what takes
//! the trajectory's place must not be worse at simulating the part that was left out, a quarter of a second at a time: before motions that are chaotic
//! diverge whatever the parameters.

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::EstimationStudy;
use super::inverse::{FilteredSegment, InverseDynamics, Regressed, lasting};
use super::result::collapses;
use crate::dynamics::Workspace;
use crate::dynamics::actuation::{drive_torque, joint_friction};
use crate::estimate::error::EstimateError;
use crate::estimate::solver::{Solver, SolverOptions};
use crate::multibody::MultibodyProblem;
use crate::regression::inverse::Moving;
use crate::study::validation::{EVERY_S, ValidationFinding, simulation_errors};

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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnseenTorqueError {
    /// Which.
    pub method: EstimationMethod,
    /// Torque errors over torques.
    pub error: f64,
    /// Errors of simulated positions after a quarter of a second, rad (m), joint by joint; empty where no segment lasts so long.
    pub simulated: Vec<f64>,
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

/// What one method leaves of the part that was left out.
struct Tried {
    method: EstimationMethod,
    /// Squares of every sample's torque errors.
    squares: Vec<f64>,
    /// Positions' errors after [`EVERY_S`] of simulation, by joint; nothing where no segment lasts so long.
    simulated: Vec<f64>,
}

/// The method to show: the trajectory's, unless another's torque errors are less beyond chance and its simulations are no worse.
fn decided(mut tried: Vec<Tried>) -> EstimateChoice {
    tried.retain(|t| t.squares.iter().all(|x| x.is_finite()));
    let mean = |t: &Tried| t.squares.iter().sum::<f64>() / t.squares.len() as f64;
    tried.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let usual = tried.iter().find(|t| t.method == EstimationMethod::Trajectory);
    let better = |t: &&Tried| {
        usual.is_none_or(|u| surely_less(&t.squares, &u.squares) && no_worse(&t.simulated, &u.simulated))
    };
    EstimateChoice {
        method: tried.iter().find(better).map_or(EstimationMethod::Trajectory, |t| t.method),
        left_out: (tried.iter())
            .map(|t| UnseenTorqueError {
                method: t.method,
                error: mean(t).sqrt(),
                simulated: t.simulated.clone(),
            })
            .collect(),
    }
}

/// Whether the errors `a` of simulations are, over those of `b` and in the mean square over joints, at most 1.
fn no_worse(a: &[f64], b: &[f64]) -> bool {
    let ratios: f64 = a.iter().zip(b).map(|(a, b)| (a / b).powi(2)).sum();
    a.len() == b.len() && ratios <= a.len() as f64
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
        let samples: Vec<Moving> =
            self.moving(0..count)?.into_iter().flat_map(|(_, states)| states).collect();
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
        let mut tried = vec![];
        let mut next = start.to_vec();
        if solver.solve(&part.guess_at(start)).is_ok() {
            let theta = &solver.trajectory().theta;
            if collapses(problem, problem.guess_theta(), theta).is_empty() {
                tried.push(self.tried(EstimationMethod::Trajectory, &unseen, theta));
                next.clone_from(theta);
            }
        }
        let exist = |found: &Regressed| collapses(problem, problem.guess_theta(), &found.theta).is_empty();
        for (method, found) in others.iter().filter(|(_, found)| exist(found)) {
            tried.push(self.tried(*method, &unseen, &found.theta));
        }
        Ok(Some((decided(tried), next)))
    }

    /// What the parameters `theta` leave of segments with their filtered states.
    fn tried(&self, method: EstimationMethod, unseen: &[FilteredSegment], theta: &[f64]) -> Tried {
        let mut p = self.map.nominal.clone();
        self.map.fill(&self.robot, theta, &mut p);
        let parts = unseen.iter().map(|(segment, states)| (&self.samples[segment.clone()], &states[..]));
        let states: Vec<&Moving> = unseen.iter().flat_map(|(_, states)| states).collect();
        // Parameters that cannot be simulated are worse than any that can.
        let simulated = simulation_errors(&self.robot, &p, parts).unwrap_or_default();
        let simulated = simulated.into_iter().find(|s| s.after_s == EVERY_S);
        Tried {
            method,
            squares: self.torque_shares(&states, &p),
            simulated: simulated.map_or(vec![], |s| s.position_rms),
        }
    }

    /// Squares of each sample's torque errors, as shares of the mean squares of the torques, in the mean over joints; with the extended parameters `p`.
    fn torque_shares(&self, samples: &[&Moving], p: &[f64]) -> Vec<f64> {
        let (robot, n) = (&*self.robot, self.robot.nv());
        let (mut workspace, mut tau) = (Workspace::new(robot), vec![0.0; n]);
        let size = |j: usize| samples.iter().map(|s| s.tau[j] * s.tau[j]).sum::<f64>() / samples.len() as f64;
        let sizes: Vec<f64> = (0..n).map(size).collect();
        let driven = sizes.iter().filter(|s| **s > 0.0).count().max(1) as f64;
        let mut shares = Vec::with_capacity(samples.len());
        for s in samples {
            workspace.inverse_dynamics(robot, &s.q, &s.dq, &s.ddq, &p[..robot.parameter_count()], &mut tau);
            let share = |j: usize| {
                let error =
                    drive_torque(robot, p, j, s.tau[j]) - tau[j] - joint_friction(robot, p, j, s.dq[j]).0;
                error * error / sizes[j]
            };
            shares.push((0..n).filter(|j| sizes[*j] > 0.0).map(share).sum::<f64>() / driven);
        }
        shares
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

    fn tried(method: EstimationMethod, squares: Vec<f64>, simulated: &[f64]) -> Tried {
        Tried { method, squares, simulated: simulated.to_vec() }
    }

    /// A tenth less is beyond chance where errors are independent, and within it where they last.
    #[test]
    fn the_usual_estimate_stays_unless_another_is_better_beyond_chance() {
        use EstimationMethod::{InverseDynamics, LeastSquares, Trajectory};
        let usual = || tried(Trajectory, vec![1.0; 1200], &[0.1, 0.2]);
        for (length, shown) in [(1, InverseDynamics), (300, Trajectory)] {
            let choice = decided(vec![usual(), tried(InverseDynamics, squares(0.9, length), &[0.1, 0.2])]);
            assert_eq!(choice.method, shown, "{choice:?}");
            let order: Vec<_> = choice.left_out.iter().map(|m| m.method).collect();
            assert_eq!(order, [InverseDynamics, Trajectory]);
            assert!((choice.left_out[1].error - 1.0).abs() < 1e-12);
        }
        // Without the usual one the best is shown; what is no number never is.
        let alone = decided(vec![
            tried(LeastSquares, squares(2.0, 1), &[]),
            tried(InverseDynamics, squares(1.0, 1), &[]),
        ]);
        assert_eq!(alone.method, InverseDynamics);
        let broken = decided(vec![usual(), tried(LeastSquares, vec![f64::NAN; 1200], &[0.1, 0.1])]);
        assert!(broken.method == Trajectory && broken.left_out.len() == 1, "{broken:?}");
    }

    /// Half of the torque errors are not enough where simulations are worse, are no numbers, or could not be made; the next best may do.
    #[test]
    fn nothing_that_simulates_worse_is_shown() {
        use EstimationMethod::{InverseDynamics, LeastSquares, Trajectory};
        let with = |simulated: &[f64]| {
            decided(vec![
                tried(Trajectory, vec![1.0; 1200], &[0.1, 0.2]),
                tried(InverseDynamics, vec![0.5; 1200], simulated),
                tried(LeastSquares, vec![0.6; 1200], &[0.4, 0.4]),
            ])
            .method
        };
        assert_eq!(with(&[0.05, 0.25]), InverseDynamics);
        for worse in [&[0.05, 0.3][..], &[f64::NAN, 0.1], &[f64::INFINITY, 0.1], &[]] {
            assert_eq!(with(worse), Trajectory, "{worse:?}");
        }
        let next = decided(vec![
            tried(Trajectory, vec![1.0; 1200], &[0.1]),
            tried(InverseDynamics, vec![0.5; 1200], &[0.2]),
            tried(LeastSquares, vec![0.6; 1200], &[0.1]),
        ]);
        assert_eq!(next.method, LeastSquares);
    }
}
