//! Methods side by side: each carries out each scenario with each of its variants, for each seed.
//!
//! Runs are made without deadlines, several at a time, each the same on every machine whatever the others do. Each is written down as soon as it is made.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::runs::record_of;
use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings};
use crate::benchmark::MethodPreset;
use crate::horizon::{BodyEstimate, Outcome, PlacingError};
use crate::inertia::PARAMETER_NAMES;
use crate::plan::Plan;
use crate::report::comparison::{ComparedBody, FollowedPath, MethodComparison, MethodCurve};
use crate::report::{RunRecord, Violations};
use crate::scenario::Scenario;

mod tables;

/// The seed whose runs the page shows in curves.
const SHOWN_SEED: u64 = 0;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MethodsFile {
    /// Name of the campaign.
    name: String,
    /// Every run is made with the seeds 0..seeds.
    seeds: u64,
    /// Methods that ship, or paths of methods' files relative to the current folder.
    methods: Vec<String>,
    /// The scenarios.
    experiments: Vec<ExperimentFile>,
    /// Methods that have to succeed in every run; the others are measured.
    #[serde(default)]
    must_succeed: Vec<String>,
}

/// One scenario as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    /// Relative to the campaign file.
    scenario: PathBuf,
    /// Its short name in tables.
    label: String,
    /// Variants of the scenario; all of them if left out.
    #[serde(default)]
    items: Vec<String>,
}

/// What came of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MethodTrial {
    method: String,
    experiment: String,
    item: String,
    seed: u64,
    outcome: Outcome,
    reason: Option<String>,
    /// Whether the path was proven.
    certified: bool,
    violations: Violations,
    placing: Option<PlacingError>,
    max_tracking_error_rad: Option<f64>,
    max_torque_ratio: Option<f64>,
    min_clearance_m: Option<f64>,
    truth_inside: bool,
    /// When the last set was identified, s; `None` where nothing was.
    identified_s: Option<f64>,
    condition_number: Option<f64>,
    /// What was identified of the last body in the end, where anything was.
    known: Option<BodyEstimate>,
    /// Time (s) and mass of the last body as it is taken to be (kg).
    masses: Vec<(f64, f64)>,
    /// The ten true parameters of that body.
    truth: Vec<f64>,
    /// How it followed its path; of the first seed alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    followed: Option<FollowedPath>,
    duration_s: f64,
    wall_s: f64,
}

impl MethodTrial {
    fn of(run: &Run<'_>, record: &RunRecord<Plan>) -> Self {
        let summary = &record.summary;
        let last = summary.identification.last();
        let identified = summary.identification.iter().map(|u| (u.t, u.known.nominal[0]));
        let adapted = summary.adapted.iter().map(|a| (a.t, a.body[0]));
        Self {
            method: run.method.to_owned(),
            experiment: run.experiment.label.clone(),
            item: run.item.to_owned(),
            seed: run.seed,
            outcome: summary.outcome,
            reason: summary.reason.clone(),
            certified: !summary.unproven && summary.outcome == Outcome::Success,
            violations: summary.violations,
            placing: summary.placing,
            max_tracking_error_rad: summary.max_tracking_error_rad,
            max_torque_ratio: summary.max_torque_ratio,
            min_clearance_m: summary.min_clearance_m,
            truth_inside: summary.truth_inside,
            identified_s: last.map(|u| u.t),
            condition_number: last.and_then(|u| u.condition_number),
            known: last.map(|u| u.known.clone()),
            masses: identified.chain(adapted).collect(),
            truth: summary.payload.as_ref().map_or(vec![], |payload| payload.truth.clone()),
            followed: FollowedPath::of(record).filter(|_| run.seed == SHOWN_SEED),
            duration_s: summary.duration_s,
            wall_s: summary.wall_s,
        }
    }
}

/// One run of the campaign.
struct Run<'a> {
    method: &'a str,
    experiment: &'a Experiment,
    item: &'a str,
    seed: u64,
}

/// A scenario with its variants.
#[derive(Debug, Clone)]
struct Experiment {
    scenario: PathBuf,
    label: String,
    /// An empty name where the scenario has none.
    items: Vec<String>,
}

/// The campaign, its file read and its scenarios and methods checked.
#[derive(Debug, Clone)]
pub struct Methods {
    name: String,
    seeds: u64,
    methods: Vec<String>,
    must_succeed: Vec<String>,
    experiments: Vec<Experiment>,
    /// Digest of methods and scenarios.
    inputs: u64,
}

impl Methods {
    pub(super) fn new(path: &Path, file: MethodsFile) -> Result<Self, CampaignError> {
        let MethodsFile { name, seeds, methods, experiments, must_succeed } = file;
        let empty =
            [("seeds", seeds == 0), ("methods", methods.is_empty()), ("experiments", experiments.is_empty())];
        if let Some((field, _)) = empty.into_iter().find(|(_, empty)| *empty) {
            return Err(CampaignError::field(path, field, "is empty, expected at least 1"));
        }
        let mut inputs = vec![];
        for (i, method) in methods.iter().enumerate() {
            let preset = MethodPreset::find(method)
                .map_err(|error| CampaignError::field(path, format!("methods[{i}]"), error.to_string()))?;
            inputs.push(digest(&preset));
        }
        if let Some(other) = must_succeed.iter().find(|name| !methods.contains(name)) {
            let reason = format!("`{other}` is none of `methods`");
            return Err(CampaignError::field(path, "must_succeed", reason));
        }
        let experiments = experiments.into_iter().enumerate().map(|(i, file)| experiment(path, i, file));
        let experiments: Vec<(Experiment, u64)> = experiments.collect::<Result<_, _>>()?;
        inputs.extend(experiments.iter().map(|(_, inputs)| inputs));
        let experiments = experiments.into_iter().map(|(experiment, _)| experiment).collect();
        Ok(Self { name, seeds, methods, must_succeed, experiments, inputs: digest(&inputs) })
    }

    /// What each method took the body for, for each experiment and variant, with the first seed.
    fn bodies(&self, trials: &[MethodTrial]) -> Vec<ComparedBody> {
        let runs = self.experiments.iter().flat_map(|e| e.items.iter().map(move |item| (&e.label, item)));
        let compared = runs.filter_map(|(label, item)| {
            let same = |t: &&MethodTrial| t.experiment == *label && t.item == *item && t.seed == SHOWN_SEED;
            let of: Vec<&MethodTrial> = trials.iter().filter(same).collect();
            let curve = |t: &&&MethodTrial| !t.masses.is_empty() || t.followed.is_some();
            let curves: Vec<MethodCurve> = of
                .iter()
                .filter(curve)
                .map(|t| MethodCurve {
                    method: t.method.clone(),
                    masses: t.masses.clone(),
                    known: t.known.clone(),
                    followed: t.followed.clone(),
                })
                .collect();
            let truth = of.first().map(|t| t.truth.clone())?;
            (!curves.is_empty()).then(|| ComparedBody {
                title: format!("{label}, {item}, seed {SHOWN_SEED}"),
                truth,
                curves,
            })
        });
        compared.collect()
    }

    fn all(&self) -> Vec<Run<'_>> {
        let mut runs = vec![];
        for method in &self.methods {
            for experiment in &self.experiments {
                for item in &experiment.items {
                    runs.extend((0..self.seeds).map(|seed| Run { method, experiment, item, seed }));
                }
            }
        }
        runs
    }
}

/// Checks a scenario with all the variants asked for; gives a digest of them too.
fn experiment(path: &Path, i: usize, file: ExperimentFile) -> Result<(Experiment, u64), CampaignError> {
    let ExperimentFile { scenario, label, mut items } = file;
    let scenario = path.parent().unwrap_or(Path::new("")).join(scenario);
    let refuse = |source| CampaignError::Scenario {
        path: path.to_owned(),
        field: format!("experiments[{i}].scenario"),
        source: Box::new(source),
    };
    if items.is_empty() {
        items = Scenario::items(&scenario).map_err(refuse)?;
    }
    if items.is_empty() {
        items.push(String::new());
    }
    let mut inputs = vec![];
    for item in &items {
        let loaded = Scenario::load_item(&scenario, Some(item.as_str()).filter(|item| !item.is_empty()));
        inputs.push(digest(&loaded.map_err(refuse)?));
    }
    Ok((Experiment { scenario, label, items }, digest(&inputs)))
}

impl Trials for Methods {
    type Trial = MethodTrial;

    fn title(&self) -> &str {
        &self.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let key =
            |run: &Run<'_>| format!("{}/{}/{}/{}", run.method, run.experiment.label, run.item, run.seed);
        self.all().iter().map(key).collect()
    }

    fn make(&self, number: usize) -> Result<MethodTrial, CampaignError> {
        let run = self.all().swap_remove(number);
        let item = Some(run.item).filter(|item| !item.is_empty());
        let record = record_of((&run.experiment.scenario, item), run.method, run.seed)?;
        Ok(MethodTrial::of(&run, &record))
    }

    fn sum_up(&self, trials: Vec<MethodTrial>) -> Result<CampaignFindings, CampaignError> {
        let total = trials.len();
        let failed = |t: &&MethodTrial| {
            self.must_succeed.contains(&t.method) && (t.outcome != Outcome::Success || !t.truth_inside)
        };
        let failures = trials.iter().filter(failed).count();
        let verdict = match failures {
            0 if self.must_succeed.is_empty() => format!("{total} runs."),
            0 => format!("{total} runs; every run of {:?} succeeded.", self.must_succeed),
            some => format!("{some} runs of {:?} did NOT succeed.", self.must_succeed),
        };
        let labels: Vec<&str> = self.experiments.iter().map(|e| e.label.as_str()).collect();
        let tables = tables::Tables { methods: &self.methods, experiments: &labels, trials: &trials };
        let parameters = PARAMETER_NAMES;
        let page = MethodComparison {
            title: self.name.clone(),
            verdict: verdict.clone(),
            tables: tables.all(),
            bodies: self.bodies(&trials),
        };
        let results = json!({ "schema": 1, "name": self.name, "parameters": parameters, "runs": trials });
        let page = page.page().map_err(|error| CampaignError::Trials(error.to_string()))?;
        Ok(CampaignFindings {
            passed: failures == 0,
            verdict,
            table: tables.outcomes(),
            summary: json!({ "schema": 1, "name": self.name, "runs": total, "failures": failures, "outcomes": tables.outcomes() }),
            files: vec![
                ("results.csv".to_owned(), tables.csv()),
                ("tables.md".to_owned(), tables.markdown()),
                ("report.html".to_owned(), page),
                ("results.json".to_owned(), format!("{results:#}\n")),
            ],
        })
    }
}

#[cfg(test)]
mod tests;
