//! A problem about a mechanism in maximal coordinates, from its file to the result.
//!
//! [`MechanismStudy::load`] reads `scenarios/estimation/furuta_*.toml` and the like, whose key `mechanism` tells them from problems about robots. A simulated truth
//! goes under seal and is opened by [`MechanismStudy::run`] only after the estimate stands.

mod file;
mod load;
mod log;
mod telling;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::discrete::estimator::DiscreteEstimate;
use crate::discrete::explicit::LevenbergMarquardt;
use crate::discrete::{
    DiscreteError, DiscreteProblem, EncoderLog, Mechanism, OutsideImpulses, ResidualWeights, SoughtParameter,
};
use crate::estimate::error::EstimateError;
use crate::estimate::problem::Trajectory;
use crate::estimate::solver::SolverOptions;
use crate::simulate::Sealed;
use crate::study::estimation::{IterationRow, ParameterRow, ResidualRow, StudyResult};
use file::{EstimatorForm, SCHEMA};
pub use load::is_mechanism_problem;

/// A loaded problem.
#[derive(Debug)]
pub struct MechanismStudy {
    /// Name of the problem.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Name of the mechanism.
    pub mechanism_name: String,
    /// The model, nominal.
    pub mechanism: Mechanism,
    /// What was recorded.
    pub log: EncoderLog,
    /// Angles through which the first guess leads, rad.
    pub guess: Vec<Vec<f64>>,
    /// What is estimated.
    pub sought: Vec<SoughtParameter>,
    /// How residuals are weighted.
    pub weights: ResidualWeights,
    /// Where impulses from outside act.
    pub impulses: OutsideImpulses,
    /// Settings of the solver.
    pub options: SolverOptions,
    /// What was done to the log, in words.
    pub notes: Vec<String>,
    form: EstimatorForm,
    consistent: bool,
    first_s: f64,
    path: PathBuf,
    validation: Vec<(String, MechanismStudy)>,
    sealed: Option<Sealed>,
}

/// What only problems about mechanisms tell.
#[derive(Debug, Clone, Serialize)]
pub struct MechanismFindings {
    /// `implicit`, `inverse` or `explicit`.
    pub form: String,
    /// Mean square of the readings' residuals, rad^2.
    pub observation: f64,
    /// kappa times the mean square of impulses from outside, rad^2.
    pub state: f64,
    /// The sum of both: the cost that \[5\] tells.
    pub cost: f64,
    /// How the estimate explains other readings, only their states fitted.
    pub validation: Vec<CrossValidation>,
    /// The mean of their costs, rad^2.
    pub cross_validation: Option<f64>,
    /// Angles of the hinges, rad, that the estimate leads to from its first state alone, at the times of the states; none where that breaks down.
    #[serde(skip)]
    pub rollout: Vec<Vec<f64>>,
}

/// How an estimate explains readings that it was not made from.
#[derive(Debug, Clone, Serialize)]
pub struct CrossValidation {
    /// Name of the readings.
    pub label: String,
    /// Mean square of the readings' residuals, rad^2.
    pub observation: f64,
    /// kappa times the mean square of impulses from outside, rad^2.
    pub state: f64,
    /// The sum of both.
    pub cost: f64,
    /// Whether the fit of the states converged.
    pub converged: bool,
}

impl MechanismStudy {
    /// The problem with these unknowns (none: states alone), about `mechanism`.
    fn problem(
        &self,
        mechanism: Mechanism,
        sought: Vec<SoughtParameter>,
    ) -> Result<DiscreteProblem, EstimateError> {
        let form = self.form.discrete();
        let log = self.log.clone();
        let problem = DiscreteProblem::new(mechanism, log, sought, self.weights, self.impulses, form)
            .map_err(|e| self.refuse(&e))?;
        Ok(if self.consistent { problem.consistent() } else { problem })
    }

    fn refuse(&self, error: &DiscreteError) -> EstimateError {
        EstimateError::Recording { reason: format!("{}: {error}", self.path.display()) }
    }

    /// Minimises.
    fn estimate(&self, problem: &DiscreteProblem) -> Result<DiscreteEstimate, EstimateError> {
        let guess = problem.guess(&self.guess).map_err(|e| self.refuse(&e))?;
        if self.form == EstimatorForm::Explicit {
            let options =
                LevenbergMarquardt { iterations: self.options.iterations, ..LevenbergMarquardt::default() };
            problem.estimate_explicitly(&guess, options)
        } else {
            problem.estimate(&guess, self.options)
        }
    }

    /// Names a problem file whose readings the estimate has to explain, besides.
    ///
    /// # Errors
    /// As [`MechanismStudy::load`], or if it is about a mechanism of other joints.
    pub fn validated_on(mut self, path: &Path) -> Result<Self, EstimateError> {
        let label = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let other = Self::load_alone(path, &[])?;
        self.add_validation(label, other)?;
        Ok(self)
    }

    /// The same with a problem that is loaded already.
    ///
    /// # Errors
    /// If it is about a mechanism of other joints.
    pub fn validated_by(mut self, label: &str, other: Self) -> Result<Self, EstimateError> {
        self.add_validation(label.to_owned(), other)?;
        Ok(self)
    }

    fn add_validation(&mut self, label: String, other: Self) -> Result<(), EstimateError> {
        let (own, its) = (&self.mechanism, &other.mechanism);
        let names = |m: &Mechanism| {
            let bodies = m.bodies.iter().map(|b| b.name.clone());
            bodies.chain(m.joints.iter().map(|j| j.name.clone())).collect::<Vec<_>>()
        };
        if own.joints.len() != its.joints.len() || names(own) != names(its) {
            let reason = format!(
                "{}: is about {}, expected those of the mechanism `{}`: {}",
                other.path.display(),
                names(its).join(", "),
                self.mechanism_name,
                names(own).join(", ")
            );
            return Err(EstimateError::Recording { reason });
        }
        self.validation.push((label, other));
        Ok(())
    }

    /// Fits the states alone of `other`'s readings, with this problem's way of stating them and the mechanism `found`.
    fn validate(
        &self,
        label: &str,
        other: &Self,
        found: &Mechanism,
    ) -> Result<CrossValidation, EstimateError> {
        let restated = Self {
            form: self.form,
            consistent: false,
            impulses: self.impulses,
            weights: self.weights,
            options: self.options,
            name: String::new(),
            description: String::new(),
            mechanism_name: String::new(),
            mechanism: found.clone(),
            log: other.log.clone(),
            guess: other.guess.clone(),
            sought: vec![],
            notes: vec![],
            first_s: other.first_s,
            path: other.path.clone(),
            validation: vec![],
            sealed: None,
        };
        let estimate = restated.estimate(&restated.problem(found.clone(), vec![])?)?;
        Ok(CrossValidation {
            label: label.to_owned(),
            observation: estimate.observation,
            state: estimate.state,
            cost: estimate.cost(),
            converged: estimate.converged,
        })
    }

    /// Solves the problem and opens the seal afterwards.
    ///
    /// # Errors
    /// [`EstimateError`] for a problem that cannot be stated, or an iteration that breaks down.
    pub fn run(self) -> Result<StudyResult, EstimateError> {
        let _span = tracing::info_span!("estimate", problem = &*self.name).entered();
        let problem = self.problem(self.mechanism.clone(), self.sought.clone())?;
        let clock = Instant::now();
        let estimate = self.estimate(&problem).map_err(|e| self.explained(&problem, e))?;
        let seconds = clock.elapsed().as_secs_f64();
        let found = problem.mechanism_at(&estimate.trajectory.theta);
        let validation = (self.validation.iter())
            .map(|(label, other)| self.validate(label, other, &found))
            .collect::<Result<Vec<_>, _>>()?;
        let warnings = self.warnings(&problem, &estimate, (&found, &validation));
        let states = self.states(&problem, &estimate);
        let rollout = problem.rollout(&estimate.trajectory, &self.guess[0]).unwrap_or_default();
        let result = self.told(&estimate, (states, rollout), (validation, warnings, seconds));
        let StudyResult { name, status, iterations, cost, samples, seconds, .. } = &result;
        let (problem, status) = (&**name, &**status);
        tracing::info!(problem, status, iterations, cost, samples, seconds, "estimated");
        Ok(result)
    }

    /// The result, with the truth beside it.
    fn told(
        self,
        estimate: &DiscreteEstimate,
        (states, rollout): (Trajectory, Vec<Vec<f64>>),
        (validation, warnings, seconds): (Vec<CrossValidation>, Vec<String>, f64),
    ) -> StudyResult {
        let residuals = self.residuals(estimate, &states);
        let mut parameters: Vec<ParameterRow> = estimate.parameters.iter().map(row).collect();
        let times = (0..self.log.angles.len()).map(|k| self.first_s + k as f64 * self.log.step_s);
        let state_error = self.sealed.map(|sealed| {
            let (truth, true_states) = sealed.reveal();
            parameters.iter_mut().zip(truth).for_each(|(row, value)| row.truth = Some(value));
            let pairs = states.xs.iter().flatten().zip(true_states.iter().flatten());
            pairs.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
        });
        let costs = validation.iter().map(|c| c.cost);
        let mean = (!validation.is_empty()).then(|| costs.sum::<f64>() / validation.len() as f64);
        StudyResult {
            schema: SCHEMA,
            name: self.name,
            description: self.description,
            robot: self.mechanism_name,
            samples: self.log.angles.len(),
            step_s: self.log.step_s,
            choice: None,
            noise: None,
            status: match (estimate.converged, estimate.stalled) {
                (true, _) => "converged",
                (_, true) => "stalled",
                _ => "iteration limit",
            }
            .to_owned(),
            iterations: estimate.iterations,
            seconds,
            cost: estimate.cost(),
            violation: 0.0,
            parameters,
            base: None,
            external_torques: vec![],
            residuals,
            coloured_length_s: estimate.coloured_length * self.log.step_s,
            validation: None,
            validation_others: vec![],
            warnings,
            state_error,
            record: estimate.record.iter().map(IterationRow::from).collect(),
            notes: self.notes,
            mechanism: Some(MechanismFindings {
                form: self.form.word().to_owned(),
                observation: estimate.observation,
                state: estimate.state,
                cost: estimate.cost(),
                cross_validation: mean,
                validation,
                rollout,
            }),
            times_s: times.collect(),
            trajectory: states,
        }
    }

    /// Angles and rates of the hinges, and torques from outside about them (NaN where impulses act on bodies).
    fn states(&self, problem: &DiscreteProblem, estimate: &DiscreteEstimate) -> Trajectory {
        let mut near = self.guess[0].clone();
        let (mut xs, mut us) = (vec![], vec![]);
        for (k, x) in estimate.trajectory.xs.iter().enumerate() {
            let (angles, rates) = problem.hinge_states(x, &near);
            us.push(match problem.impulses() {
                OutsideImpulses::Hinges => {
                    estimate.trajectory.us[k].iter().map(|p| p / self.log.step_s).collect()
                }
                _ => vec![f64::NAN; angles.len()],
            });
            near.clone_from(&angles);
            xs.push([angles, rates].concat());
        }
        // The rates of a state led to it, those of the next one lead away.
        let n = near.len();
        for k in 1..xs.len() {
            let (before, behind) = xs.split_at_mut(k);
            let pairs = before[k - 1][n..].iter_mut().zip(&behind[0][n..]);
            pairs.for_each(|(rate, next)| *rate = 0.5 * (*rate + next));
        }
        Trajectory { xs, us, theta: estimate.trajectory.theta.clone() }
    }

    fn residuals(&self, estimate: &DiscreteEstimate, states: &Trajectory) -> Vec<ResidualRow> {
        let hinges = self.mechanism.hinges();
        let stated = self.weights.angle_rad;
        let mut rows: Vec<ResidualRow> = (hinges.iter().enumerate())
            .map(|(i, &j)| {
                let left = |(x, read): (&Vec<f64>, &Vec<f64>)| read[i] - x[i];
                let pairs = states.xs.iter().zip(&self.log.angles);
                let rest: Vec<f64> = pairs
                    .map(left)
                    .map(crate::discrete::observe::wrapped)
                    .filter(|r| r.is_finite())
                    .collect();
                let squares: f64 = rest.iter().map(|r| r * r).sum();
                let neighbours: f64 = rest.windows(2).map(|r| r[0] * r[1]).sum();
                ResidualRow {
                    channel: format!("q {}", self.mechanism.joints[j].name),
                    unit: "rad".to_owned(),
                    count: rest.len(),
                    stated,
                    rms: (squares / rest.len().max(1) as f64).sqrt(),
                    chi_squared: None,
                    estimated: None,
                    correlation: neighbours / squares.max(f64::MIN_POSITIVE),
                }
            })
            .collect();
        // States leave as many degrees of freedom as there are readings: only all residuals together tell whether the deviation holds.
        rows.push(ResidualRow {
            channel: "all, impulses too".to_owned(),
            unit: "rad".to_owned(),
            count: self.log.angles.len(),
            stated,
            rms: estimate.cost().sqrt(),
            chi_squared: Some(estimate.scale * estimate.scale),
            estimated: Some(estimate.scale * stated),
            correlation: 0.0,
        });
        rows
    }
}

/// Name and place apart: `viscous friction of hinge 1`.
fn row(p: &crate::discrete::estimator::ParameterEstimate) -> ParameterRow {
    let (name, place) = p.name.split_once(" of ").unwrap_or((&p.name, "stand"));
    ParameterRow {
        place: place.to_owned(),
        name: name.to_owned(),
        unit: p.unit.to_owned(),
        start: p.start,
        estimate: p.value,
        deviation: p.deviation,
        coloured_deviation: p.coloured_deviation,
        block_deviation: None,
        truth: None,
    }
}
