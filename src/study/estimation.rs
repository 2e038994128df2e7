//! A problem file from reading to result: what is estimated, from which samples, and what came out.
//!
//! [`EstimationStudy::load`] reads `scenarios/estimation/*.toml`; a simulated truth goes into the recording's seal and is opened by
//! [`EstimationStudy::run`] only after the estimate stands.

mod combinations;
mod file;
mod footing;
mod load;
mod log;
mod outside;
mod regression;
mod residuals;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use nalgebra::{DMatrix, SymmetricEigen};
use serde::Serialize;

use crate::estimate::ColouredCovariance;
use crate::estimate::error::EstimateError;
use crate::estimate::posterior::{Posterior, describe};
use crate::estimate::problem::Trajectory;
use crate::estimate::solver::{Iteration, Solver, SolverOptions, SolverOutcome, Status};
use crate::inertia::INERTIAL;
use crate::multibody::equations::ParameterEquation;
use crate::multibody::parameters::{PHYSICAL, ParameterMap, UNITS};
use crate::multibody::{Contacts, Deviations, Formulation, MultibodyProblem, Observation, ParameterBound};
use crate::recording::{LogRequest, MeasurementLog, MissingReadings, Sample};
use crate::regression::filter::Smoothing;
use crate::robot::Model;
use crate::simulate::Sealed;
use crate::study::external::ExternalTorque;
use crate::study::mechanism::MechanismFindings;
use crate::study::validation::ValidationFinding;
pub use combinations::{BaseParameterRow, BaseRows};
pub(in crate::study) use load::{field_error, lay_over};
pub use outside::OutsideTorques;
use residuals::Leftover;
pub use residuals::ResidualRow;

/// Share of the prior's variance that has to be left for a direction to count as unseen by the data.
const UNSEEN: f64 = 0.98;

/// A direction with less than this of a state in it is one of parameters.
const SHARE: f64 = 1e-3;

/// Significance of what a first part of the log is left at.
const START: f64 = 0.05;

/// Time on each side of the filter of a recording that is predicted, s.
const SMOOTHING_S: f64 = 0.05;

/// A body that ends so many times lighter than it began has collapsed.
const LIGHTER: f64 = 30.0;

/// A loaded problem.
#[derive(Debug)]
pub struct EstimationStudy {
    /// Name of the problem.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// The robot, nominal.
    pub robot: Arc<Model>,
    /// Sampling interval, s; of a log the median.
    pub step_s: f64,
    /// From each sample to the next, s; infinite where a log has a gap, or another begins. The last means nothing.
    pub intervals_s: Vec<f64>,
    /// Numbers of each sample that are no readings; empty where all are.
    pub missing: Vec<MissingReadings>,
    /// What was done to the logs, in words that name them.
    pub notes: Vec<String>,
    /// What was measured.
    pub samples: Vec<Sample>,
    /// Readings of the further sensors, one after the other for each sample.
    pub readings: Vec<Vec<f64>>,
    /// What is estimated, and from where.
    pub map: ParameterMap,
    /// What is assumed about errors and priors.
    pub deviations: Deviations,
    /// Contacts and closed loops.
    pub contacts: Contacts,
    /// Sensors beside the encoders.
    pub observations: Vec<Observation>,
    /// Observed work of each interval, J, and its standard deviation.
    pub work: Option<(Vec<f64>, f64)>,
    /// What is known of the parameters besides.
    pub equations: Vec<ParameterEquation>,
    /// What the estimated parameters are at least and at most.
    pub bounds: Vec<ParameterBound>,
    /// Whether noise of torques is their sensors' alone ([`MultibodyProblem::with_sensor_noise`]).
    pub sensor_noise: bool,
    /// What the inputs are.
    pub formulation: Formulation,
    /// Settings of the solver.
    pub options: SolverOptions,
    /// What becomes of times at which torques from outside are noticed.
    pub outside: OutsideTorques,
    /// Number of samples that are solved first, for the parameters from which the whole log starts.
    pub first_part: Option<usize>,
    /// A recording that the estimate is to predict, besides.
    pub validation: Option<MeasurementLog>,
    /// How the problem's first log is read, and a recording to predict with it.
    pub request: LogRequest,
    /// Where the log breaks off, in words that name it, if it does; what is whole of it is used.
    pub cut_off: Option<String>,
    /// The truth, if the samples are simulated.
    sealed: Option<Sealed>,
}

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
    /// Physical parameters.
    pub parameters: Vec<ParameterRow>,
    /// What torques tell apart at all, with covariances; nothing for floating bases, contacts and loops.
    pub base: Option<BaseRows>,
    /// Torques from outside that were noticed.
    pub external_torques: Vec<ExternalTorque>,
    /// What is left of the readings, by channel.
    pub residuals: Vec<ResidualRow>,
    /// Over how long errors were found to last, s ([`ColouredCovariance`]).
    pub coloured_length_s: f64,
    /// How well a recording is predicted that the estimate has not seen, if one was named.
    pub validation: Option<ValidationFinding>,
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

impl EstimationStudy {
    /// The problem that the file states.
    ///
    /// # Errors
    /// What [`MultibodyProblem::new`] refuses.
    pub fn problem(&self) -> Result<MultibodyProblem, EstimateError> {
        let (robot, map) = (self.robot.clone(), self.map.clone());
        let problem = MultibodyProblem::new(robot, map, self.samples.clone(), self.step_s, &self.deviations)?
            .with_intervals(&self.intervals_s)?
            .with_missing(self.missing.clone())?
            .formulated(self.formulation)
            .with_equations(self.equations.clone())
            .with_bounds(&self.bounds)?;
        let problem = if self.sensor_noise { problem.with_sensor_noise() } else { problem };
        let problem = if self.contacts.constraints.is_empty() {
            problem
        } else {
            problem.with_contacts(self.contacts.clone())?
        };
        let problem = problem.with_observations(&self.observations, self.readings.clone())?;
        match &self.work {
            None => Ok(problem),
            Some((observed, deviation_j)) => problem.with_work(observed.clone(), *deviation_j),
        }
    }

    /// Names a recording that the estimate is to predict; it is read as the problem's first log is, all of it.
    ///
    /// # Errors
    /// [`EstimateError::Recording`] names the file and what is wrong with it.
    pub fn validated_on(mut self, path: &Path) -> Result<Self, EstimateError> {
        let request = LogRequest {
            range_s: None,
            left_out_s: vec![],
            further: vec![],
            partial: false,
            ..self.request.clone()
        };
        let log = MeasurementLog::read_request(path, &self.robot, &request)
            .map_err(|e| EstimateError::Recording { reason: e.to_string() })?;
        self.validation = Some(log);
        Ok(self)
    }

    /// How well the recording that was named is predicted with the parameters `theta`.
    fn validate(&self, theta: &[f64]) -> Result<Option<ValidationFinding>, EstimateError> {
        let Some(log) = &self.validation else { return Ok(None) };
        let mut p = self.map.nominal.clone();
        self.map.fill(&self.robot, theta, &mut p);
        let half = ((SMOOTHING_S / log.period_s).round() as usize).max(2);
        ValidationFinding::new(&self.robot, &p, log, Smoothing::SavitzkyGolay { half, degree: 2 })
            .map(Some)
            .map_err(|e| EstimateError::Recording { reason: format!("`{}`: {e}", log.path.display()) })
    }

    /// Minimises, from the parameters of a first part of the log if that is asked for.
    fn solve(
        &self,
        problem: &MultibodyProblem,
        solver: &mut Solver<'_, MultibodyProblem>,
    ) -> Result<SolverOutcome, EstimateError> {
        let first_part = self.first_part.filter(|c| *c < self.samples.len());
        if let Some(count) = first_part {
            let part = problem.beginning(count);
            // Only a start is asked for.
            let options =
                SolverOptions { significance: self.options.significance.max(START), ..self.options };
            let mut first = Solver::new(&part, options)?;
            first.solve(&part.guess())?;
            solver.refine(&problem.guess_at(&first.trajectory().theta), Some(&first))
        } else {
            solver.solve(&problem.guess())
        }
    }

    /// The parameters' covariance by how the stages pull at them.
    fn coloured(
        &self,
        problem: &MultibodyProblem,
        solver: &mut Solver<'_, MultibodyProblem>,
        posterior: &Posterior,
    ) -> Result<ColouredCovariance, EstimateError> {
        let mut scores = solver.scores()?;
        let information: Vec<f64> = self.deviations.theta.iter().map(|d| 1.0 / (d * d)).collect();
        let apart = solver.trajectory().theta.iter().zip(problem.guess_theta());
        // The prior's own pull is known by its covariance.
        for (i, ((theta, prior), weight)) in apart.zip(&information).enumerate() {
            scores[(0, i)] -= weight * (theta - prior);
        }
        Ok(ColouredCovariance::of_scores(&scores, posterior, &information))
    }

    /// Opens the seal and ends the study: true parameters and states (q, dq) of simulated samples.
    pub fn reveal(self) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        self.sealed.map(Sealed::reveal)
    }

    /// Solves the problem and opens the seal afterwards.
    ///
    /// # Errors
    /// What [`MultibodyProblem::new`] and [`Solver::solve`] refuse.
    pub fn run(self) -> Result<StudyResult, EstimateError> {
        let result = self.solved()?;
        let StudyResult { name, status, iterations, cost, samples, seconds, .. } = &result;
        let (problem, status) = (&**name, &**status);
        tracing::info!(problem, status, iterations, cost, samples, seconds, "estimated");
        Ok(result)
    }

    /// [`EstimationStudy::run`], of which nobody is told.
    fn solved(mut self) -> Result<StudyResult, EstimateError> {
        let external_torques = self.notice_outside();
        let problem = self.problem()?;
        let mut solver = Solver::new(&problem, self.options)?;
        let clock = Instant::now();
        let start = problem.guess_theta().to_vec();
        let outcome = self.solve(&problem, &mut solver)?;
        let seconds = clock.elapsed().as_secs_f64();
        let trajectory = solver.trajectory().clone();
        let mut leftover =
            Leftover::new(&problem, (&self.samples, &self.missing), &self.deviations, &trajectory)?;
        let posterior = solver.posterior_with_inputs(|k, joint, noise| leftover.add(k, joint, noise))?;
        let residuals = leftover.rows();
        let coloured = self.coloured(&problem, &mut solver, &posterior)?;
        let mut parameters = rows(&problem, &start, &trajectory.theta, &posterior, &coloured);
        let base = self.base_rows(&problem, &trajectory, &posterior, &coloured);
        let collapsed = collapses(&problem, &start, &trajectory.theta);
        let validation = self.validate(&trajectory.theta)?;
        let outside = self.outside_warnings(&external_torques);
        let state_error = self.sealed.map(|sealed| {
            let (truth, states) = sealed.reveal();
            let truths = physical(&problem, &truth).into_iter();
            parameters.iter_mut().zip(truths).for_each(|(row, value)| row.truth = Some(value));
            problem.largest_error(&trajectory, &states)
        });
        Ok(StudyResult {
            schema: file::SCHEMA,
            name: self.name,
            description: self.description,
            robot: self.robot.name.clone(),
            samples: self.samples.len(),
            step_s: self.step_s,
            status: if collapsed.is_empty() { words(outcome.status) } else { "collapsed" }.to_owned(),
            iterations: outcome.record.iter().filter(|i| i.step > 0.0).count(),
            seconds,
            cost: outcome.cost,
            violation: outcome.violation,
            warnings: (self.cut_off.into_iter())
                .chain(outside)
                .chain(collapsed)
                .chain(base.iter().flat_map(BaseRows::warnings))
                .chain(residuals.iter().filter_map(ResidualRow::warning))
                .chain(warnings(&problem, &outcome, &posterior, &self.deviations.theta, base.is_some()))
                .collect(),
            parameters,
            base,
            external_torques,
            coloured_length_s: coloured.length * self.step_s,
            residuals,
            validation,
            state_error,
            notes: self.notes,
            mechanism: None,
            times_s: self.samples.iter().map(|s| s.t).collect(),
            record: outcome.record.iter().map(IterationRow::from).collect(),
            trajectory: Trajectory {
                xs: problem.states(&trajectory).cloned().collect(),
                us: problem.noise(&trajectory)?,
                theta: trajectory.theta,
            },
        })
    }
}

fn words(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::Stalled => "stalled",
        Status::IterationLimit => "iteration limit",
    }
}

/// The estimated physical parameters, picked from all of them.
fn physical(problem: &MultibodyProblem, p: &[f64]) -> Vec<f64> {
    let (robot, map) = (problem.robot(), problem.map());
    let bodies = map.bodies.iter().flat_map(|&(b, _)| p[robot.body_range(b)].iter().copied());
    let joints = map.joints.iter().map(|&(j, which)| p[which.index(robot, j)]);
    bodies.chain(joints).collect()
}

fn rows(
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
        physical(problem, &p)
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
            truth: None,
        })
        .collect()
}

/// Bodies that end with a mass, or moments of inertia in sum, [`LIGHTER`] times below those that they began with: no body of that robot, but a
/// place where the data are explained without it.
fn collapses(problem: &MultibodyProblem, start: &[f64], theta: &[f64]) -> Vec<String> {
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
fn warnings(
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
