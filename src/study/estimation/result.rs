//! What came out of an estimate: its rows, and what a person should know of them.

use nalgebra::{DMatrix, SymmetricEigen};
use serde::Serialize;

use super::choice::{EstimateChoice, MethodValidation};
use super::combinations::BaseRows;
use super::noise::NoiseFinding;
use super::residuals::ResidualRow;
use crate::estimate::ColouredCovariance;
use crate::estimate::posterior::{Posterior, describe};
use crate::estimate::problem::Trajectory;
use crate::estimate::solver::{Iteration, SolverOutcome, Status};
use crate::inertia::INERTIAL;
use crate::multibody::MultibodyProblem;
use crate::multibody::parameters::{PHYSICAL, ParameterMap, UNITS};
use crate::robot::Model;
use crate::study::external::ExternalTorque;
use crate::study::mechanism::MechanismFindings;
use crate::study::validation::ValidationFinding;

/// Share of the prior's variance that has to be left for a direction to count as unseen by the data.
pub(super) const UNSEEN: f64 = 0.98;

/// A direction with less than this of a state in it is one of parameters.
const SHARE: f64 = 1e-3;

/// A body that ends so many times lighter than it began has collapsed.
const LIGHTER: f64 = 30.0;

/// One physical parameter.
#[derive(Debug, Clone, Serialize)]
pub struct ParameterRow {
    /// Link or joint.
    pub place: String,
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Where the estimate started.
    pub start: f64,
    /// The estimate.
    pub estimate: f64,
    /// Its posterior standard deviation; nothing if the data and the prior leave it open.
    pub deviation: Option<f64>,
    /// The same without the belief that errors are as large as stated and independent ([`ColouredCovariance`]).
    pub coloured_deviation: Option<f64>,
    /// How far estimates without one block of the samples each scatter, where that was asked for: right also where errors last, or differ between
    /// parts of a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_deviation: Option<f64>,
    /// The truth, where it is known.
    pub truth: Option<f64>,
}

/// One iteration.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct IterationRow {
    /// Cost before the step.
    pub cost: f64,
    /// Sum of gaps before the step.
    pub violation: f64,
    /// Change of the cost that the quadratic model promised.
    pub expected: f64,
    /// Length of the step.
    pub step: f64,
    /// Damping.
    pub damping: f64,
}

impl From<&Iteration> for IterationRow {
    fn from(i: &Iteration) -> Self {
        Self { cost: i.cost, violation: i.violation, expected: i.expected, step: i.step, damping: i.damping }
    }
}

/// What came out.
#[derive(Debug, Clone, Serialize)]
pub struct StudyResult {
    /// Version of this form.
    pub schema: u32,
    /// Name of the problem.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Name of the robot.
    pub robot: String,
    /// Number of samples and the interval between them, s.
    pub samples: usize,
    /// Interval, s.
    pub step_s: f64,
    /// `converged`, `stalled`, `iteration limit`, or `collapsed`: a body is left almost without mass.
    pub status: String,
    /// Iterations with an accepted step.
    pub iterations: usize,
    /// Time for them, s.
    pub seconds: f64,
    /// Final cost.
    pub cost: f64,
    /// Sum of all gaps at the end.
    pub violation: f64,
    /// Whose parameters are shown, and why; nothing where only the trajectory's are there.
    pub choice: Option<EstimateChoice>,
    /// Physical parameters.
    pub parameters: Vec<ParameterRow>,
    /// What torques tell apart at all, with covariances; nothing for floating bases, contacts and loops.
    pub base: Option<BaseRows>,
    /// Torques from outside that were noticed.
    pub external_torques: Vec<ExternalTorque>,
    /// How large errors were taken to be, where that was found from a log.
    pub noise: Option<NoiseFinding>,
    /// What is left of the readings, by channel.
    pub residuals: Vec<ResidualRow>,
    /// Over how long errors were found to last, s ([`ColouredCovariance`]).
    pub coloured_length_s: f64,
    /// How well a recording is predicted that the estimate has not seen, if one was named.
    pub validation: Option<ValidationFinding>,
    /// How well the methods that are not shown predict it.
    pub validation_others: Vec<MethodValidation>,
    /// In words: where the log breaks off, and directions of parameter space that the data say nothing about.
    pub warnings: Vec<String>,
    /// Largest difference of estimated and true state, rad and rad/s, where the truth is known.
    pub state_error: Option<f64>,
    /// The convergence record.
    pub record: Vec<IterationRow>,
    /// What was done to the logs, in words that name them.
    pub notes: Vec<String>,
    /// What only problems about mechanisms tell; nothing of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<MechanismFindings>,
    /// Times of the samples, s.
    #[serde(skip)]
    pub times_s: Vec<f64>,
    /// Estimated states and torque corrections at the samples.
    #[serde(skip)]
    pub trajectory: Trajectory,
}

impl StudyResult {
    /// The row of a parameter.
    pub fn parameter(&self, place: &str, name: &str) -> Option<&ParameterRow> {
        self.parameters.iter().find(|r| r.place == place && r.name == name)
    }
}

pub(super) fn words(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::Stalled => "stalled",
        Status::IterationLimit => "iteration limit",
    }
}

/// The estimated physical parameters, picked from all of them.
pub(super) fn physical(robot: &Model, map: &ParameterMap, p: &[f64]) -> Vec<f64> {
    let bodies = map.bodies.iter().flat_map(|&(b, _)| p[robot.body_range(b)].iter().copied());
    let joints = map.joints.iter().map(|&(j, which)| p[which.index(robot, j)]);
    bodies.chain(joints).collect()
}

pub(super) fn rows(
    problem: &MultibodyProblem,
    start: &[f64],
    theta: &[f64],
    posterior: &Posterior,
    coloured: &ColouredCovariance,
) -> Vec<ParameterRow> {
    let (robot, map) = (problem.robot(), problem.map());
    let at = |theta: &[f64]| {
        let mut p = map.nominal.clone();
        map.fill(robot, theta, &mut p);
        physical(robot, map, &p)
    };
    let (start, estimate) = (at(start), at(theta));
    let slope = map.slope(theta);
    let names = map
        .bodies
        .iter()
        .flat_map(|&(b, _)| (0..INERTIAL).map(move |i| (robot.joints[b].link.clone(), PHYSICAL[i], UNITS[i])))
        .chain(map.joints.iter().map(|&(j, w)| (robot.joints[j].name.clone(), w.name().0, w.name().1)));
    names
        .enumerate()
        .map(|(i, (place, name, unit))| ParameterRow {
            place,
            name: name.to_owned(),
            unit: unit.to_owned(),
            start: start[i],
            estimate: estimate[i],
            deviation: posterior.deviation(&slope.row(i).transpose()),
            coloured_deviation: (posterior.deviation(&slope.row(i).transpose()))
                .map(|_| coloured.deviation(&slope.row(i).transpose())),
            block_deviation: None,
            truth: None,
        })
        .collect()
}

/// Bodies that end with a mass, or moments of inertia in sum, [`LIGHTER`] times below those that they began with: no body of that robot, but a
/// place where the data are explained without it.
pub(super) fn collapses(problem: &MultibodyProblem, start: &[f64], theta: &[f64]) -> Vec<String> {
    let (robot, map) = (problem.robot(), problem.map());
    let sizes = |theta: &[f64], b: usize| {
        let mut p = map.nominal.clone();
        map.fill(robot, theta, &mut p);
        let body = &p[robot.body_range(map.bodies[b].0)];
        [body[0], body[4] + body[6] + body[9]]
    };
    let mut lost = vec![];
    for (b, (body, _)) in map.bodies.iter().enumerate() {
        let (before, after) = (sizes(start, b), sizes(theta, b));
        for (k, what) in ["kg", "kg m^2 of inertia in sum"].into_iter().enumerate() {
            if !(after[k] * LIGHTER > before[k]) {
                let (link, before, after) = (&robot.joints[*body].link, before[k], after[k]);
                lost.push(format!(
                    "link `{link}` ends with {after:.3e} {what}, where it began with {before:.3e}: this is no estimate"
                ));
            }
        }
    }
    lost
}

/// What a person should know before trusting the numbers.
pub(super) fn warnings(
    problem: &MultibodyProblem,
    outcome: &SolverOutcome,
    posterior: &Posterior,
    prior: &[f64],
    told: bool,
) -> Vec<String> {
    let robot = problem.robot();
    let mut names = state_names(robot, "first q");
    names.extend(state_names(robot, "first dq"));
    names.extend(problem.map().names(robot));
    let mut out = Vec::new();
    if outcome.status != Status::Converged {
        out.push(
            "the iteration did not converge; the deviations below are those of where it ended".to_owned(),
        );
    }
    // Where base parameters are told, coordinates that no motion tells are no news.
    let state = |v: &Vec<f64>| v[..posterior.nx].iter().any(|x| x.abs() > SHARE);
    for v in posterior.unobservable.iter().filter(|v| !told || state(v)) {
        out.push(format!("nothing is known along {}", describe(v, &names)));
    }
    // With a prior on everything no direction is open, but the data may still say nothing about some: there the
    // posterior variance is the prior's.
    let (nx, nt) = (posterior.nx, prior.len());
    if !told && nt > 0 && prior.iter().all(|d| d.is_finite()) {
        let ratio =
            DMatrix::from_fn(nt, nt, |i, j| posterior.arrival[(nx + i, nx + j)] / (prior[i] * prior[j]));
        let eigen = SymmetricEigen::new(ratio);
        for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
            if *value > UNSEEN {
                let direction: Vec<f64> = vector.iter().copied().collect();
                let words = describe(&direction, &names[nx..]);
                out.push(format!("the prior alone decides along {words} (in prior deviations)"));
            }
        }
    }
    out
}

/// One name a degree of freedom.
fn state_names(robot: &Model, what: &str) -> Vec<String> {
    let mut names = Vec::with_capacity(robot.nv());
    for (i, joint) in robot.joints.iter().enumerate() {
        if i < robot.first_actuated() {
            names.extend(
                ["x", "y", "z", "rx", "ry", "rz"].map(|axis| format!("{what} {axis} of {}", joint.link)),
            );
        } else {
            names.push(format!("{what} of {}", joint.name));
        }
    }
    names
}
