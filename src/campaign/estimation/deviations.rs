//! Whether standard deviations are honest: errors over deviations, over many realisations of the noise, should have a mean
//! of zero and a mean square of one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::trials::{Trials, seeded};
use super::super::{CampaignError, CampaignFindings, exact};
use super::problem::{ProblemFile, in_one_way};
use crate::estimate::EstimateError;
use crate::report::figure::figure;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct DeviationsFile {
    /// Name of the campaign.
    name: String,
    /// Realisations of the noise: seeds first..first + seeds.
    seeds: u64,
    /// Long campaigns are run in pieces.
    #[serde(default = "one")]
    first: u64,
    /// Largest mean square of error over deviation that a problem may have.
    largest_mean_square: f64,
    /// With simulated truths.
    problem: Vec<ProblemFile>,
}

fn one() -> u64 {
    1
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct Honesty {
    path: PathBuf,
    file: DeviationsFile,
    /// Digest of the problems.
    inputs: u64,
}

/// One realisation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in super::super) struct Trial {
    problem: String,
    seed: u64,
    /// Error over deviation of each physical parameter that the estimate tells a deviation of.
    #[serde(with = "exact::list")]
    errors: Vec<f64>,
    converged: bool,
    iterations: usize,
    /// Why there is no estimate.
    failure: Option<String>,
}

/// What the realisations of a problem say together.
#[derive(Debug, Clone, Serialize)]
struct Spread {
    problem: String,
    trials: usize,
    converged: usize,
    /// Of each parameter.
    mean: Vec<f64>,
    mean_square: Vec<f64>,
    /// Of all.
    overall: f64,
    largest: f64,
    /// Share of errors below two deviations: 0.954 if they are normal.
    within_two: f64,
}

impl Honesty {
    pub(in super::super) fn new(path: &Path, file: DeviationsFile) -> Result<Self, CampaignError> {
        let wrong = |field: &str, reason: &str| Err(CampaignError::field(path, field, reason));
        if file.seeds == 0 || file.problem.is_empty() {
            return wrong("seeds / problem", "is empty, expected at least 1");
        }
        if !(file.largest_mean_square > 0.0 && file.largest_mean_square.is_finite()) {
            return wrong("largest_mean_square", "expected a positive number");
        }
        let inputs = in_one_way(path, &file.problem)?;
        Ok(Self { path: path.to_owned(), file, inputs })
    }

    /// A file that cannot be read ends the campaign; an estimate that breaks down counts.
    fn trial(&self, problem: &ProblemFile, seed: u64) -> Result<Trial, EstimateError> {
        let mut study = problem.load(&self.path, &seeded(seed))?;
        // Trials are made side by side, each the same however many threads there are.
        study.options.parallel = false;
        let result = match study.run() {
            Ok(result) => result,
            Err(failure) => {
                return Ok(Trial {
                    problem: problem.label.clone(),
                    seed,
                    errors: Vec::new(),
                    converged: false,
                    iterations: 0,
                    failure: Some(failure.to_string()),
                });
            }
        };
        let errors =
            result.parameters.iter().filter_map(|row| Some((row.estimate - row.truth?) / row.deviation?));
        Ok(Trial {
            problem: problem.label.clone(),
            seed,
            errors: errors.collect(),
            converged: result.status == "converged",
            iterations: result.iterations,
            failure: None,
        })
    }
}

impl Spread {
    /// Of trials of one problem, of which all have the same parameters.
    fn of(problem: &str, trials: &[&Trial]) -> Self {
        let told: Vec<_> = trials.iter().filter(|t| t.failure.is_none()).collect();
        let count = told.iter().map(|t| t.errors.len()).min().unwrap_or(0);
        let mean_of = |power: i32, i: usize| {
            told.iter().map(|t| t.errors[i].powi(power)).sum::<f64>() / told.len() as f64
        };
        let all = || trials.iter().flat_map(|t| &t.errors);
        let total = all().count().max(1) as f64;
        Self {
            problem: problem.to_owned(),
            trials: trials.len(),
            converged: trials.iter().filter(|t| t.converged).count(),
            mean: (0..count).map(|i| mean_of(1, i)).collect(),
            mean_square: (0..count).map(|i| mean_of(2, i)).collect(),
            overall: all().map(|z| z * z).sum::<f64>() / total,
            largest: all().fold(0.0, |m, z| z.abs().max(m)),
            within_two: all().filter(|z| z.abs() < 2.0).count() as f64 / total,
        }
    }

    fn row(&self) -> Vec<String> {
        let ends = |x: &[f64]| {
            let (low, high) =
                x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
            format!("{} to {}", figure(low), figure(high))
        };
        vec![
            self.problem.clone(),
            format!("{} of {}", self.converged, self.trials),
            ends(&self.mean),
            ends(&self.mean_square),
            figure(self.overall),
            figure(self.largest),
            figure(100.0 * self.within_two),
        ]
    }
}

impl Trials for Honesty {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let DeviationsFile { first, seeds, problem, .. } = &self.file;
        let inputs = self.inputs;
        let seeds = || (0..*seeds).map(|i| first.saturating_add(i));
        let key = |p: &ProblemFile, seed| format!("{}, seed {seed}, inputs {inputs:016x}", p.label);
        problem.iter().flat_map(|p| seeds().map(move |seed| key(p, seed))).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        let DeviationsFile { first, seeds, problem, .. } = &self.file;
        let problem = &problem[number / *seeds as usize];
        let seed = first.saturating_add(number as u64 % seeds);
        self.trial(problem, seed)
            .map_err(|e| CampaignError::Trials(format!("{}, seed {seed}: {e}", problem.label)))
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let file = &self.file;
        let heading = [
            "problem",
            "converged",
            "mean error / deviation",
            "mean square",
            "of all",
            "largest",
            "within two, %",
        ];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        let mut spreads = Vec::new();
        for problem in &file.problem {
            let own: Vec<&Trial> = trials.iter().filter(|t| t.problem == problem.label).collect();
            let spread = Spread::of(&problem.label, &own);
            table.push(spread.row());
            spreads.push(spread);
        }
        let honest =
            |s: &Spread| s.converged == s.trials && s.overall <= file.largest_mean_square && s.overall > 0.0;
        let dishonest = spreads.iter().filter(|s| !honest(s)).count();
        Ok(CampaignFindings {
            passed: dishonest == 0,
            verdict: format!(
                "Error over deviation of each physical parameter, smallest to largest over these; {} is the most that its mean \
                 square may be. {dishonest} of {} problems do not converge or exceed it.",
                file.largest_mean_square,
                spreads.len()
            ),
            table,
            summary: json!({ "schema": 1, "name": file.name, "problems": spreads, "trials": trials }),
            files: vec![],
        })
    }
}
