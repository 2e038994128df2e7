//! Whole runs, each with the outcome that is expected of it: for example that a broken assumption is noticed.
//!
//! Runs are made without deadlines, each the same on every machine whatever the others do. A run passes if it
//! ends as expected and nothing was violated in the true world.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings};
use crate::benchmark::{self, MethodPreset};
use crate::horizon::{Broken, Outcome};
use crate::plan::Plan;
use crate::report::{RunRecord, Summary};
use crate::scenario::Scenario;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsFile {
    /// Name of the campaign.
    name: String,
    /// Every run is made with the seeds 0..seeds.
    seeds: u64,
    /// The runs.
    runs: Vec<RunFile>,
}

/// One run as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunFile {
    /// Relative to the campaign file.
    scenario: PathBuf,
    /// A method that ships, or the path of a method's file relative to the current folder.
    #[serde(default = "ours")]
    method: String,
    /// The outcome that every seed must have.
    expected: Outcome,
}

fn ours() -> String {
    "ours".to_owned()
}

/// The campaign, its file read and its scenarios checked.
#[derive(Debug, Clone)]
pub struct Runs {
    name: String,
    seeds: u64,
    runs: Vec<RunFile>,
    /// Digests of scenario and method of each run.
    inputs: Vec<u64>,
}

impl Runs {
    pub(super) fn new(path: &Path, file: RunsFile) -> Result<Self, CampaignError> {
        let RunsFile { name, seeds, mut runs, .. } = file;
        if seeds == 0 || runs.is_empty() {
            let field = if seeds == 0 { "seeds" } else { "runs" };
            return Err(CampaignError::field(path, field, "is empty, expected at least 1"));
        }
        let mut inputs = vec![];
        for (i, run) in runs.iter_mut().enumerate() {
            run.scenario = path.parent().unwrap_or(Path::new("")).join(&run.scenario);
            let scenario = Scenario::load(&run.scenario).map_err(|source| CampaignError::Scenario {
                path: path.to_owned(),
                field: format!("runs[{i}].scenario"),
                source: Box::new(source),
            })?;
            let preset = MethodPreset::find(&run.method).map_err(|error| {
                CampaignError::field(path, format!("runs[{i}].method"), error.to_string())
            })?;
            inputs.push(digest(&(scenario, preset)));
        }
        Ok(Self { name, seeds, runs, inputs })
    }
}

/// Runs a scenario without deadlines.
pub(super) fn record_of(
    (path, item): (&Path, Option<&str>),
    method: &str,
    seed: u64,
) -> Result<RunRecord<Plan>, CampaignError> {
    let fail = |error: &dyn std::fmt::Display| {
        CampaignError::Trials(format!("{}, seed {seed}: {error}", path.display()))
    };
    let preset = MethodPreset::find(method).map_err(|error| fail(&error))?;
    let load = |other: Option<&str>| Scenario::load_item(path, other.or(item));
    benchmark::run(&load, &preset, (seed, false), &mut ()).map_err(|error| fail(&error))
}

/// Steps with a contact or beyond a limit. Leaving the tube is what a broken assumption looks like, and no harm by itself.
fn harm(summary: &Summary) -> u64 {
    let violations = &summary.violations;
    let tube = if summary.broken.is_empty() { violations.tube } else { 0 };
    violations.collision + violations.torque + violations.position + violations.velocity + tube
}

/// A line of the table.
fn row(summary: &Summary, expected: Outcome) -> Vec<String> {
    let evidence: Vec<String> = summary.broken.iter().map(Broken::short).collect();
    let mut found = evidence.join("; ");
    if !summary.gaps.is_empty() {
        found += &format!("{}{} gaps left out", if found.is_empty() { "" } else { "; " }, summary.gaps.len());
    }
    vec![
        summary.scenario.clone(),
        summary.seed.to_string(),
        summary.outcome.to_string(),
        if summary.outcome == expected { "yes" } else { "NO" }.to_owned(),
        harm(summary).to_string(),
        found,
    ]
}

/// What came of one run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunTrial {
    /// Whether it ended as expected, without a violation.
    good: bool,
    /// Its line of the table.
    row: Vec<String>,
    /// Its entry in the summary.
    entry: serde_json::Value,
}

impl Trials for Runs {
    type Trial = RunTrial;

    fn title(&self) -> &str {
        &self.name
    }

    fn inputs(&self) -> u64 {
        digest(&self.inputs)
    }

    fn keys(&self) -> Vec<String> {
        let places = (0..self.runs.len()).flat_map(|i| (0..self.seeds).map(move |seed| (i, seed)));
        let key = |(i, seed): (usize, u64)| {
            let RunFile { scenario, method, expected } = &self.runs[i];
            let (file, inputs) = (scenario.file_name().unwrap_or_default().display(), self.inputs[i]);
            format!("{file}, {method}, {expected} expected, seed {seed}, inputs {inputs:016x}")
        };
        places.map(key).collect()
    }

    fn make(&self, number: usize) -> Result<RunTrial, CampaignError> {
        let (run, seed) = (&self.runs[number / self.seeds as usize], number as u64 % self.seeds);
        let summary = record_of((&run.scenario, None), &run.method, seed)?.summary;
        Ok(RunTrial {
            good: harm(&summary) == 0 && summary.outcome == run.expected,
            row: row(&summary, run.expected),
            entry: json!({
                "scenario": summary.scenario, "method": summary.method, "seed": seed,
                "outcome": summary.outcome, "expected": run.expected, "broken": summary.broken,
                "gaps": summary.gaps, "violations": summary.violations,
                "truth_inside": summary.truth_inside, "duration_s": summary.duration_s,
            }),
        })
    }

    fn sum_up(&self, trials: Vec<RunTrial>) -> Result<CampaignFindings, CampaignError> {
        let heading = ["scenario", "seed", "outcome", "expected", "violations", "found"];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        let (mut entries, mut unexpected, total) = (vec![], 0_u64, trials.len());
        for RunTrial { good, row, entry } in trials {
            unexpected += u64::from(!good);
            table.push(row);
            entries.push(entry);
        }
        let verdict = match unexpected {
            0 => format!("All {total} runs ended as expected, without a violation."),
            some => format!("{some} of {total} runs did NOT end as expected or violated a limit."),
        };
        Ok(CampaignFindings {
            passed: unexpected == 0,
            verdict,
            table,
            summary: json!({ "schema": 1, "name": self.name, "unexpected": unexpected, "runs": entries }),
            files: vec![],
        })
    }
}
