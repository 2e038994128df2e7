//! A problem file from reading to result: what is estimated, from which samples, and what came out.
//!
//! [`EstimationStudy::load`] reads `scenarios/estimation/*.toml`; a simulated truth goes into the recording's seal and is opened by
//! [`EstimationStudy::run`] only after the estimate stands.

mod blocks;
mod choice;
mod combinations;
mod file;
mod following;
mod footing;
mod friction_speed;
mod inverse;
mod load;
mod log;
mod motors;
mod noise;
mod outside;
mod regression;
mod residuals;
mod result;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::estimate::ColouredCovariance;
use crate::estimate::error::EstimateError;
use crate::estimate::posterior::Posterior;
use crate::estimate::problem::Trajectory;
use crate::estimate::solver::{Solver, SolverOptions, SolverOutcome};
use crate::multibody::equations::ParameterEquation;
use crate::multibody::parameters::ParameterMap;
use crate::multibody::{Contacts, Deviations, Formulation, MultibodyProblem, Observation, ParameterBound};
use crate::recording::{LogRequest, MeasurementLog, MissingReadings, Sample};
use crate::regression::filter::Smoothing;
use crate::robot::Model;
use crate::simulate::Sealed;
use crate::study::external::ExternalTorque;
use crate::study::validation::ValidationFinding;
use blocks::into_rows;
use choice::Shown;
pub use choice::{EstimateChoice, EstimationMethod, MethodValidation, UnseenTorqueError};
pub use combinations::{BaseParameterRow, BaseRows};
pub use following::FollowedPosture;
pub use friction_speed::FrictionSpeedUse;
use inverse::Regressed;
pub(in crate::study) use load::{field_error, lay_over};
pub use noise::{NoiseFinding, NoiseUse};
pub use outside::OutsideTorques;
use residuals::Leftover;
pub use residuals::ResidualRow;
pub use result::{IterationRow, ParameterRow, StudyResult};
use result::{collapses, physical, rows, warnings, words};

/// Significance of what a first part of the log is left at.
const START: f64 = 0.05;

/// A loaded problem.
#[derive(Debug, Clone)]
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
    /// What deviations of forces are more in the interval behind each sample, N (N m), since nobody knows whether a foot stands; empty where nothing is added.
    pub added_force: Vec<f64>,
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
    /// How parameters are found; nothing: as predicts best ([`EstimateChoice`]).
    pub method: Option<EstimationMethod>,
    /// Where the sizes of errors come from.
    pub noise: NoiseUse,
    /// Where the speed below which Coulomb friction is a straight line comes from.
    pub friction_speed: FrictionSpeedUse,
    /// Number of blocks of samples that are left out one after the other, for deviations by blocks ([`ParameterRow::block_deviation`]); nothing: none.
    pub deviation_blocks: Option<usize>,
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
    /// Whether the robot is a limb, and logs are of the whole robot.
    of_limb: bool,
    /// The truth, if the samples are simulated.
    sealed: Option<Sealed>,
}

/// An estimate before it is put in words.
struct Found {
    outcome: SolverOutcome,
    seconds: f64,
    trajectory: Trajectory,
    residuals: Vec<ResidualRow>,
    shown: Shown,
    /// Deviations by blocks, or why there are none; nothing where they are not asked for.
    blocks: Option<Result<Vec<f64>, String>>,
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
            .with_added_force_deviations(self.added_force.clone())?
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
    /// [`EstimateError::Recording`] names the file and what is wrong with it; so it does with a limb or closed loops, which are not predicted.
    pub fn validated_on(mut self, path: &Path) -> Result<Self, EstimateError> {
        // Contacts have the ground at their other end.
        if self.of_limb || self.contacts.constraints.iter().any(|c| c.b.joint.is_some()) {
            let name = path.display();
            let reason =
                format!("`{name}`: limbs and closed loops are not predicted; `surelift identify` does");
            return Err(EstimateError::Recording { reason });
        }
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
        let half = ((inverse::SMOOTHING_S / log.period_s).round() as usize).max(2);
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

    /// Mean interval between samples, gaps left out, s.
    fn mean_interval_s(&self) -> f64 {
        let inner =
            self.intervals_s.iter().take(self.samples.len().saturating_sub(1)).filter(|h| h.is_finite());
        let (sum, count) = inner.fold((0.0, 0.0), |(sum, count), h| (sum + h, count + 1.0));
        if self.missing.is_empty() || count == 0.0 { self.step_s } else { sum / count }
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
        let _span = tracing::info_span!("estimate", problem = &*self.name).entered();
        let result = self.solved()?;
        let StudyResult { name, status, iterations, cost, samples, seconds, .. } = &result;
        let (problem, status) = (&**name, &**status);
        tracing::info!(problem, status, iterations, cost, samples, seconds, "estimated");
        Ok(result)
    }

    /// [`EstimationStudy::run`], of which nobody is told.
    fn solved(mut self) -> Result<StudyResult, EstimateError> {
        let external_torques = self.notice_outside();
        let clock = Instant::now();
        self.settle_friction_speed()?;
        let settled = self.settle_noise()?;
        let problem = self.problem()?;
        let mut found = self.find(&problem, settled.as_ref().map(|(_, theta)| &theta[..]), clock)?;
        found.blocks = self.by_blocks(&found.shown);
        self.told(&problem, found, external_torques, settled.map(|(finding, _)| finding))
    }

    /// Minimises, chooses the estimate to show, and looks at what is left. `from`: where the search for trajectory and parameters starts, if not where
    /// the problem does.
    fn find(
        &self,
        problem: &MultibodyProblem,
        from: Option<&[f64]>,
        clock: Instant,
    ) -> Result<Found, EstimateError> {
        let mut solver = Solver::new(problem, self.options)?;
        let chosen = self.choose(problem, from.unwrap_or(problem.guess_theta()))?;
        let outcome = match chosen.as_ref().map(|(_, theta)| &theta[..]).or(from) {
            Some(theta) => solver.solve(&problem.guess_at(theta))?,
            None => self.solve(problem, &mut solver)?,
        };
        let seconds = clock.elapsed().as_secs_f64();
        let trajectory = solver.trajectory().clone();
        let mut leftover =
            Leftover::new(problem, (&self.samples, &self.missing), &self.deviations, &trajectory)?;
        let posterior = solver.posterior_with_inputs(|k, joint, noise| leftover.add(k, joint, noise))?;
        let coloured = self.coloured(problem, &mut solver, &posterior)?;
        let own = Regressed { theta: trajectory.theta.clone(), posterior, coloured };
        let shown = self.shown(problem, chosen.map(|(choice, _)| choice), own)?;
        Ok(Found { outcome, seconds, trajectory, residuals: leftover.rows(), shown, blocks: None })
    }

    /// What was found, in rows and words; opens the seal.
    fn told(
        self,
        problem: &MultibodyProblem,
        found: Found,
        external_torques: Vec<ExternalTorque>,
        noise: Option<NoiseFinding>,
    ) -> Result<StudyResult, EstimateError> {
        let Found { outcome, seconds, trajectory, residuals, shown, blocks } = found;
        let Shown { choice, estimate, others, warning } = shown;
        let Regressed { theta, posterior, coloured } = &estimate;
        let start = problem.guess_theta();
        let mut parameters = rows(problem, start, theta, posterior, coloured);
        let base = self.base_rows(problem, &trajectory, (theta, posterior, coloured));
        let collapsed = collapses(problem, start, theta);
        let status = if !collapsed.is_empty() {
            "collapsed"
        } else if choice.as_ref().is_none_or(|c| c.method == EstimationMethod::Trajectory) {
            words(outcome.status)
        } else {
            "converged"
        };
        let warnings = (self.cut_off.iter().cloned())
            .chain(self.outside_warnings(&external_torques))
            .chain(collapsed)
            .chain(warning)
            .chain(into_rows(blocks, &mut parameters))
            .chain(base.iter().flat_map(BaseRows::warnings))
            .chain(residuals.iter().filter_map(ResidualRow::warning))
            .chain(warnings(problem, &outcome, posterior, &self.deviations.theta, base.is_some()))
            .collect();
        let (validation, validation_others) = (self.validate(theta)?, self.validate_others(&others)?);
        let mean_interval_s = self.mean_interval_s();
        let state_error = self.sealed.map(|sealed| {
            let (truth, states) = sealed.reveal();
            let truths = physical(&self.robot, &self.map, &truth).into_iter();
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
            status: status.to_owned(),
            iterations: outcome.record.iter().filter(|i| i.step > 0.0).count(),
            seconds,
            cost: outcome.cost,
            violation: outcome.violation,
            warnings,
            choice,
            parameters,
            base,
            external_torques,
            coloured_length_s: coloured.length * mean_interval_s,
            noise,
            residuals,
            validation,
            validation_others,
            state_error,
            notes: self.notes,
            mechanism: None,
            times_s: self.samples.iter().map(|s| s.t).collect(),
            record: outcome.record.iter().map(IterationRow::from).collect(),
            trajectory: states_and_noise(problem, trajectory)?,
        })
    }
}

/// The estimated states as a person reads them, and the torques' corrections.
fn states_and_noise(problem: &MultibodyProblem, found: Trajectory) -> Result<Trajectory, EstimateError> {
    let (xs, us) = (problem.states(&found).cloned().collect(), problem.noise(&found)?);
    Ok(Trajectory { xs, us, theta: found.theta })
}
