//! Estimation problems from many random starts, each stated in several ways: what a rollout, a choice of coordinates, a
//! formulation, an equation between parameters or an observation does to convergence and errors ([2, Table I and Fig. 3], [3,
//! Table I and Figs. 10-11).
//!
//! Problems and variants are changes laid over a problem file ([`EstimationStudy::load_changed`]). A start draws every estimated body
//! and joint parameter between 1 - spread and 1 + spread times its nominal value, and disturbs all states; priors stay where the
//! file has them. The truth is opened when a start has been solved.

pub mod deviations;
mod errors;
pub mod noise;
mod problem;

use std::path::{Path, PathBuf};
use std::time::Instant;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::errors::{Errors, Truth};
use self::problem::{ProblemFile, Variant};
use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings};
use crate::estimate::{
    EstimateError, EstimationProblem, Solver, SolverOptions, SolverOutcome, Status, Trajectory,
};
use crate::inertia::INERTIAL;
use crate::multibody::{MultibodyProblem, ParameterMap};
use crate::report::figure::figure;
use crate::study::estimation::EstimationStudy;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartsFile {
    /// Name of the campaign.
    name: String,
    /// Random starts of each problem in each variant.
    starts: u64,
    /// Draws the starts.
    #[serde(default)]
    seed: u64,
    /// Largest error of a parameter's start, relative to its nominal value, below 1.
    spread: f64,
    /// Largest disturbance of a first state, rad (m) and rad/s (m/s).
    state_spread: f64,
    /// Whether the parameters' priors count. Without them the data decide alone.
    #[serde(default = "yes")]
    priors: bool,
    /// The problems.
    problem: Vec<ProblemFile>,
    /// Ways to state each problem that names none of its own.
    #[serde(default)]
    variant: Vec<Variant>,
}

/// Share of the last cost within which a search can be said to be near its end.
const COST_SHARE: f64 = 1e-2;
/// So much of the cost (half a chi square) is a tenth of a deviation.
const SMALL: f64 = 5e-3;

fn yes() -> bool {
    true
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct Starts {
    path: PathBuf,
    file: StartsFile,
    /// Digest of the problems.
    inputs: u64,
}

/// What became of one start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trial {
    seed: u64,
    converged: bool,
    /// Why not, where the start could not be iterated on.
    refused: Option<String>,
    iterations: usize,
    /// Iterations until the cost is, and stays, within [`COST_SHARE`] of its end, and within [`SMALL`] of it. None where that was not asked
    /// for when the start was solved.
    #[serde(default)]
    to_share: Option<usize>,
    #[serde(default)]
    to_small: Option<usize>,
    /// None where nothing was solved.
    cost: Option<f64>,
    seconds: f64,
    errors: Option<Errors>,
}

/// All starts of a problem in a variant.
#[derive(Debug, Clone, Serialize)]
struct Group {
    problem: String,
    variant: String,
    trials: Vec<Trial>,
}

impl Starts {
    pub(super) fn new(path: &Path, file: StartsFile) -> Result<Self, CampaignError> {
        let wrong = |field: &str, reason: &str| Err(CampaignError::field(path, field, reason));
        if file.starts == 0 {
            return wrong("starts", "is 0, expected at least 1");
        }
        if !(file.spread >= 0.0 && file.spread < 1.0) {
            return wrong("spread", "expected a number from 0 to below 1");
        }
        if !(file.state_spread >= 0.0 && file.state_spread.is_finite()) {
            return wrong("state_spread", "expected a number >= 0");
        }
        if file.problem.is_empty() {
            return wrong("problem", "is empty, expected at least one");
        }
        let mut campaign = Self { path: path.to_owned(), file, inputs: 0 };
        let mut inputs = vec![];
        for (i, problem) in campaign.file.problem.iter().enumerate() {
            if campaign.variants(problem).is_empty() {
                return wrong(&format!("problem[{i}].variant"), "is empty, and so is `variant`");
            }
            // Read again when their turn comes: a study in storage for each is what a long campaign cannot afford.
            for variant in campaign.variants(problem) {
                inputs.push(digest(&campaign.load(problem, variant)?));
            }
        }
        campaign.inputs = digest(&inputs);
        Ok(campaign)
    }

    fn variants<'a>(&'a self, problem: &'a ProblemFile) -> &'a [Variant] {
        if problem.variant.is_empty() { &self.file.variant } else { &problem.variant }
    }

    fn load(&self, problem: &ProblemFile, variant: &Variant) -> Result<EstimationStudy, CampaignError> {
        let mut study = problem.load(&self.path, &variant.change).map_err(|source| {
            let field = format!("problem `{}`, variant `{}`", problem.label, variant.label);
            CampaignError::field(&self.path, field, source.to_string())
        })?;
        if !self.file.priors {
            study.deviations.theta.fill(f64::INFINITY);
        }
        Ok(study)
    }

    /// A random start.
    fn start(
        &self,
        study: &EstimationStudy,
        problem: &MultibodyProblem,
        seed: u64,
    ) -> Result<Trajectory, EstimateError> {
        let mut draw = ChaCha8Rng::seed_from_u64(self.file.seed.wrapping_add(seed));
        let (spread, by) = (self.file.spread, self.file.state_spread);
        let map = scaled(study, |_| draw.random_range(1.0 - spread..=1.0 + spread));
        let mut guess = problem.guess();
        guess.theta = map.start(&study.robot)?;
        for (k, x) in guess.xs.iter_mut().enumerate() {
            let shift: Vec<f64> = (0..problem.size(k).tangent).map(|_| draw.random_range(-by..=by)).collect();
            let before = x.clone();
            problem.integrate(k, &before, &shift, x);
        }
        Ok(guess)
    }

    /// Solves from one start. A start that cannot be rolled out at all has not converged.
    fn solve(
        &self,
        study: &EstimationStudy,
        problem: &MultibodyProblem,
        seed: u64,
    ) -> Result<(Trial, Option<Trajectory>), EstimateError> {
        let guess = self.start(study, problem, seed)?;
        let mut solver = Solver::new(problem, SolverOptions { parallel: false, ..study.options })?;
        let clock = Instant::now();
        let outcome = solver.solve(&guess);
        let seconds = clock.elapsed().as_secs_f64();
        let refused = outcome.as_ref().err().map(EstimateError::to_string);
        let lost = Trial {
            seed,
            converged: false,
            refused,
            iterations: 0,
            to_share: None,
            to_small: None,
            cost: None,
            seconds,
            errors: None,
        };
        Ok(match outcome {
            Err(_) => (lost, None),
            Ok(outcome) => {
                let converged = outcome.status == Status::Converged;
                let iterations = outcome.record.iter().filter(|i| i.step > 0.0).count();
                let (to_share, to_small) = (
                    Some(iterations_to(&outcome, COST_SHARE * outcome.cost.abs())),
                    Some(iterations_to(&outcome, SMALL)),
                );
                let trial =
                    Trial { converged, iterations, to_share, to_small, cost: Some(outcome.cost), ..lost };
                (trial, converged.then(|| solver.trajectory().clone()))
            }
        })
    }

    /// Solves from start `seed` and holds what was found against the truth, which is opened then.
    fn trial(&self, problem: &ProblemFile, variant: &Variant, seed: u64) -> Result<Trial, CampaignError> {
        let at_fault = |error: EstimateError| {
            CampaignError::Trials(format!("{}, {}, start {seed}: {error}", problem.label, variant.label))
        };
        let study = self.load(problem, variant)?;
        let stated = study.problem().map_err(at_fault)?;
        let (mut trial, found) = self.solve(&study, &stated, seed).map_err(at_fault)?;
        if let Some(truth) = Truth::open(study) {
            trial.errors = found.map(|found| truth.errors(&stated, &found));
        }
        Ok(trial)
    }

    /// Every problem in each of its variants.
    fn stated(&self) -> impl Iterator<Item = (&ProblemFile, &Variant)> {
        self.file.problem.iter().flat_map(|p| self.variants(p).iter().map(move |v| (p, v)))
    }
}

/// Iterations until the cost is, and stays, within `apart` of its end: what a search takes under a tolerance that looks at the cost alone.
fn iterations_to(outcome: &SolverOutcome, apart: f64) -> usize {
    let far = outcome.record.iter().rposition(|i| (i.cost - outcome.cost).abs() > apart);
    let until = far.map_or(0, |last| last + 1);
    outcome.record[..until].iter().filter(|i| i.step > 0.0).count()
}

/// The study's map with every estimated body and joint parameter scaled; what starts at zero stays there.
fn scaled(study: &EstimationStudy, mut ratio: impl FnMut(usize) -> f64) -> ParameterMap {
    let mut map = study.map.clone();
    let nominal = crate::dynamics::actuation::extended_parameters(&study.robot);
    for (i, &(body, _)) in study.map.bodies.iter().enumerate() {
        let (ratio, at) = (ratio(i), study.robot.inertial_index(body));
        (at..at + INERTIAL).for_each(|k| map.nominal[k] = ratio * nominal[k]);
    }
    for (i, &(joint, which)) in study.map.joints.iter().enumerate() {
        let at = which.index(&study.robot, joint);
        // A robot whose file knows nothing of the parameter has the study's first guess instead.
        let about = if nominal[at] == 0.0 { map.nominal[at] } else { nominal[at] };
        map.nominal[at] = ratio(study.map.bodies.len() + i) * about;
    }
    map
}

/// Mean and standard deviation.
fn spread(values: impl Iterator<Item = f64> + Clone) -> String {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    format!("{} ± {}", figure(mean), figure(variance.sqrt()))
}

fn row(group: &Group) -> Vec<String> {
    let found: Vec<&Trial> = group.trials.iter().filter(|t| t.converged).collect();
    let of = |value: &dyn Fn(&Trial) -> Option<f64>| {
        let values: Vec<f64> = found.iter().filter_map(|t| value(t)).collect();
        if values.is_empty() { "–".to_owned() } else { spread(values.into_iter()) }
    };
    vec![
        group.problem.clone(),
        group.variant.clone(),
        format!("{} of {}", found.len(), group.trials.len()),
        of(&|t| Some(t.iterations as f64)),
        of(&|t| t.to_share.map(|n| n as f64)),
        of(&|t| t.to_small.map(|n| n as f64)),
        of(&|t| t.cost),
        of(&|t| t.errors.as_ref().map(|e| e.state)),
        of(&|t| t.errors.as_ref().and_then(|e| e.inertia)),
        of(&|t| t.errors.as_ref().and_then(|e| e.friction)),
        of(&|t| Some(1e3 * t.seconds / t.iterations.max(1) as f64)),
    ]
}

impl Trials for Starts {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let StartsFile { seed, spread, state_spread, priors, starts, .. } = &self.file;
        let drawn = format!("spread {spread}, {state_spread}, priors {priors}, seed {seed}");
        let inputs = self.inputs;
        let key = |(problem, variant): (&ProblemFile, &Variant)| {
            let place = format!("{}, {}", problem.label, variant.label);
            let key = |start| format!("{place}, start {start}, {drawn}, inputs {inputs:016x}");
            (0..*starts).map(key).collect::<Vec<_>>()
        };
        self.stated().flat_map(key).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        let (place, start) = (number as u64 / self.file.starts, number as u64 % self.file.starts);
        let stated = self.stated().nth(place as usize);
        let (problem, variant) = stated.ok_or_else(|| CampaignError::Trials(format!("no trial {number}")))?;
        self.trial(problem, variant, start)
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let total = trials.len();
        let mut trials = trials.into_iter();
        let heading = [
            "problem",
            "variant",
            "converged",
            "iterations",
            "to 1 % of the cost",
            "to 0.1 deviations",
            "cost",
            "states, l_inf",
            "inertia, l_2 %",
            "friction, l_2 %",
            "ms an iteration",
        ];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        let mut groups = Vec::new();
        for (problem, variant) in self.stated() {
            let trials = trials.by_ref().take(self.file.starts as usize).collect();
            let group = Group { problem: problem.label.clone(), variant: variant.label.clone(), trials };
            table.push(row(&group));
            groups.push(group);
        }
        let converged = groups.iter().flat_map(|g| &g.trials).filter(|t| t.converged).count();
        Ok(CampaignFindings {
            passed: true,
            verdict: format!(
                "Mean ± deviation over the starts that converged, {converged} of {total}; a measurement, nothing is promised."
            ),
            table,
            summary: json!({ "schema": 1, "name": self.file.name, "starts": self.file.starts, "groups": groups }),
            files: vec![],
        })
    }
}

#[cfg(test)]
mod tests;
