//! Estimates of mechanisms in maximal coordinates, many of them: what they owe to the settings of the method, whether their deviations are honest, and which
//! model of friction explains readings that it was not learnt from ([5, Tables 2 to 4, Figs. 4, 6 and 7]).
//!
//! A *sweep* changes one key of a problem, *noise* its seed; a *comparison* fits each model to each recording and lets it explain the others. A sweep and
//! noise may promise something; a comparison is a measurement.

mod course;
mod plot;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::trials::{Trials, digest, seeded};
use super::{CampaignError, CampaignFindings};
use crate::estimate::error::EstimateError;
use crate::study::estimation::StudyResult;
use crate::study::mechanism::MechanismStudy;
use course::Course;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MechanismCampaignFile {
    /// Name of the campaign.
    name: String,
    /// Problems of which one key is changed.
    #[serde(default)]
    sweep: Vec<SweepFile>,
    /// Problems under many realisations of the noise.
    #[serde(default)]
    noise: Vec<SeedsFile>,
    /// Models, each fitted to each recording.
    #[serde(default)]
    comparison: Vec<ComparisonFile>,
}

/// One key of a problem, changed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepFile {
    /// Its name in tables.
    label: String,
    /// The problem's file, from the folder of the campaign.
    problem: PathBuf,
    /// What else is changed.
    #[serde(default)]
    change: toml::Table,
    /// The key; dots lead into tables.
    key: String,
    /// Further keys that get the same value.
    #[serde(default)]
    also: Vec<String>,
    /// Its values.
    values: Vec<f64>,
    /// What is promised of it; left out: nothing.
    promise: Option<PromiseFile>,
    /// Whether the iterations, and where each model leads by itself, are drawn too: `KEY_course.svg`.
    #[serde(default)]
    course: bool,
}

/// What is promised of the estimates between two values of a sweep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PromiseFile {
    /// Least and largest value for which it holds.
    between: [f64; 2],
    /// What it is about, for example `J_zz of arm`.
    parameters: Vec<String>,
    /// Largest relative error.
    within: f64,
    /// What an error is counted from.
    #[serde(default)]
    against: ReferenceFile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReferenceFile {
    /// The truth of the simulation.
    #[default]
    Truth,
    /// The median of the sweep's own estimates where the promise holds: a plateau, at whatever height.
    Median,
}

/// Realisations of the noise.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedsFile {
    /// Its name in tables.
    label: String,
    /// The problem's file, from the folder of the campaign; its readings are simulated.
    problem: PathBuf,
    /// What else is changed.
    #[serde(default)]
    change: toml::Table,
    /// Seeds 1 to this.
    seeds: u64,
    /// Least share of errors that are within three deviations; left out: nothing is promised.
    within_three: Option<f64>,
}

/// Models and recordings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComparisonFile {
    /// Its name in tables.
    label: String,
    /// The problem's file, from the folder of the campaign.
    problem: PathBuf,
    /// The models.
    model: Vec<ChangeFile>,
    /// The recordings, two at least.
    recording: Vec<ChangeFile>,
}

/// Keys laid over a problem.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeFile {
    /// Its name in tables.
    label: String,
    /// The keys.
    #[serde(default)]
    change: toml::Table,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct MechanismCampaign {
    path: PathBuf,
    file: MechanismCampaignFile,
    /// Digest of the problems.
    inputs: u64,
}

/// Which trial.
#[derive(Debug, Clone, Copy)]
enum Which {
    Sweep(usize, usize),
    Seed(usize, u64),
    Fit(usize, usize, usize),
}

/// A parameter of an estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FoundParameter {
    name: String,
    estimate: f64,
    deviation: Option<f64>,
    truth: Option<f64>,
}

/// What one estimate gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MechanismTrial {
    converged: bool,
    iterations: usize,
    /// Mean squares of readings and impulses, rad^2; nothing where there is no estimate.
    observation: Option<f64>,
    state: Option<f64>,
    parameters: Vec<FoundParameter>,
    /// Costs of the other recordings of a comparison.
    cross: Vec<f64>,
    warnings: Vec<String>,
    /// Why there is no estimate.
    failure: Option<String>,
    /// How the iteration went, where the sweep asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    course: Option<Course>,
}

impl MechanismTrial {
    fn of(result: Result<StudyResult, EstimateError>) -> Self {
        match result {
            Ok(result) => {
                let found = result.mechanism.as_ref();
                let finite = |x: f64| x.is_finite().then_some(x);
                let parameter = |row: &crate::study::estimation::ParameterRow| FoundParameter {
                    name: format!("{} of {}", row.name, row.place),
                    estimate: row.estimate,
                    deviation: row.deviation.and_then(finite),
                    truth: row.truth,
                };
                Self {
                    converged: result.status == "converged",
                    iterations: result.iterations,
                    observation: found.and_then(|f| finite(f.observation)),
                    state: found.and_then(|f| finite(f.state)),
                    parameters: result.parameters.iter().map(parameter).collect(),
                    cross: found.map_or(vec![], |f| f.validation.iter().map(|v| v.cost).collect()),
                    warnings: result.warnings,
                    failure: None,
                    course: None,
                }
            }
            Err(failure) => Self {
                converged: false,
                iterations: 0,
                observation: None,
                state: None,
                parameters: vec![],
                cross: vec![],
                warnings: vec![],
                failure: Some(failure.to_string()),
                course: None,
            },
        }
    }

    fn parameter(&self, name: &str) -> Option<&FoundParameter> {
        self.parameters.iter().find(|p| p.name == name)
    }

    fn cost(&self) -> f64 {
        self.observation.unwrap_or(f64::NAN) + self.state.unwrap_or(f64::NAN)
    }
}

/// The change that gives the key, in the tables that its dots lead into, this value.
fn number(key: &str, value: f64) -> toml::Table {
    let mut parts = key.rsplit('.');
    let last = parts.next().unwrap_or(key).to_owned();
    let inner = toml::Table::from_iter([(last, toml::Value::Float(value))]);
    parts.fold(inner, |inner, part| toml::Table::from_iter([(part.to_owned(), inner.into())]))
}

impl MechanismCampaign {
    pub(super) fn new(path: &Path, file: MechanismCampaignFile) -> Result<Self, CampaignError> {
        let wrong = |field: String, reason: &str| Err(CampaignError::field(path, field, reason));
        if file.sweep.is_empty() && file.noise.is_empty() && file.comparison.is_empty() {
            return wrong("sweep / noise / comparison".into(), "is empty, expected one of them");
        }
        for (i, sweep) in file.sweep.iter().enumerate() {
            if sweep.values.is_empty() || sweep.values.iter().any(|v| !v.is_finite()) {
                return wrong(format!("sweep[{i}].values"), "expected at least one finite number");
            }
            if sweep.course && file.sweep[..i].iter().any(|other| other.course && other.key == sweep.key) {
                return wrong(format!("sweep[{i}].course"), "another sweep of the same key draws its course");
            }
            let Some(promise) = &sweep.promise else { continue };
            if !(promise.within > 0.0 && promise.within.is_finite()) {
                return wrong(format!("sweep[{i}].promise.within"), "expected a number above 0");
            }
            let [from, to] = promise.between;
            if !sweep.values.iter().any(|v| (from..=to).contains(v)) {
                return wrong(format!("sweep[{i}].promise.between"), "holds none of the values");
            }
        }
        for (i, noise) in file.noise.iter().enumerate() {
            if noise.seeds == 0 {
                return wrong(format!("noise[{i}].seeds"), "is 0, expected at least 1");
            }
            if noise.within_three.is_some_and(|x| !(x > 0.0 && x <= 1.0)) {
                return wrong(format!("noise[{i}].within_three"), "expected a share, above 0 and at most 1");
            }
        }
        for (i, comparison) in file.comparison.iter().enumerate() {
            if comparison.model.is_empty() || comparison.recording.len() < 2 {
                let reason = "expected at least one model and two recordings";
                return wrong(format!("comparison[{i}]"), reason);
            }
        }
        let mut campaign = Self { path: path.to_owned(), file, inputs: 0 };
        campaign.inputs = campaign.look()?;
        Ok(campaign)
    }

    /// Loads each problem once, with its first change: what is wrong is told before an hour of trials. Gives a digest.
    fn look(&self) -> Result<u64, CampaignError> {
        let mut inputs = vec![];
        for which in self.all() {
            let first = match which {
                Which::Sweep(_, v) => v == 0,
                Which::Seed(_, seed) => seed == 1,
                Which::Fit(_, _, recording) => recording == 0,
            };
            if first {
                let study = self.study(which).map_err(|source| {
                    CampaignError::field(&self.path, self.words(which), source.to_string())
                })?;
                self.promised(which, &study)?;
                inputs.push(digest(&study));
            }
        }
        Ok(digest(&inputs))
    }

    /// What a promise is about must be estimated.
    fn promised(&self, which: Which, study: &MechanismStudy) -> Result<(), CampaignError> {
        let Which::Sweep(i, _) = which else { return Ok(()) };
        let Some(promise) = &self.file.sweep[i].promise else { return Ok(()) };
        let known: Vec<String> = study.sought.iter().map(|s| s.parameter.name(&study.mechanism)).collect();
        match promise.parameters.iter().find(|name| !known.contains(name)) {
            Some(name) => {
                let reason = format!("`{name}` is not estimated, expected one of {}", known.join(", "));
                Err(CampaignError::field(&self.path, format!("sweep[{i}].promise.parameters"), reason))
            }
            None => Ok(()),
        }
    }

    /// All trials, in order.
    fn all(&self) -> Vec<Which> {
        let MechanismCampaignFile { sweep, noise, comparison, .. } = &self.file;
        let mut all = vec![];
        for (i, sweep) in sweep.iter().enumerate() {
            all.extend((0..sweep.values.len()).map(|v| Which::Sweep(i, v)));
        }
        for (i, noise) in noise.iter().enumerate() {
            all.extend((1..=noise.seeds).map(|seed| Which::Seed(i, seed)));
        }
        for (i, c) in comparison.iter().enumerate() {
            let pairs = (0..c.model.len()).flat_map(|m| (0..c.recording.len()).map(move |r| (m, r)));
            all.extend(pairs.map(|(m, r)| Which::Fit(i, m, r)));
        }
        all
    }

    fn words(&self, which: Which) -> String {
        match which {
            Which::Sweep(i, v) => {
                let sweep = &self.file.sweep[i];
                format!("sweep `{}`, {} = {:?}", sweep.label, sweep.key, sweep.values[v])
            }
            Which::Seed(i, seed) => format!("noise `{}`, seed {seed}", self.file.noise[i].label),
            Which::Fit(i, m, r) => {
                let c = &self.file.comparison[i];
                format!("comparison `{}`, {} learnt from {}", c.label, c.model[m].label, c.recording[r].label)
            }
        }
    }

    fn asks_for_course(&self, which: Which) -> bool {
        matches!(which, Which::Sweep(i, _) if self.file.sweep[i].course)
    }

    fn near(&self, file: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(file)
    }

    /// The problem of a trial.
    fn study(&self, which: Which) -> Result<MechanismStudy, EstimateError> {
        let mut study = match which {
            Which::Sweep(i, v) => {
                let sweep = &self.file.sweep[i];
                let keys = std::iter::once(&sweep.key).chain(&sweep.also);
                let changes: Vec<_> = keys.map(|key| number(key, sweep.values[v])).collect();
                let all: Vec<_> = std::iter::once(&sweep.change).chain(&changes).collect();
                MechanismStudy::load_alone(&self.near(&sweep.problem), &all)?
            }
            Which::Seed(i, seed) => {
                let noise = &self.file.noise[i];
                MechanismStudy::load_alone(&self.near(&noise.problem), &[&noise.change, &seeded(seed)])?
            }
            Which::Fit(i, m, r) => {
                let c = &self.file.comparison[i];
                let load = |r: usize| {
                    let changes = [&c.model[m].change, &c.recording[r].change];
                    MechanismStudy::load_alone(&self.near(&c.problem), &changes)
                };
                let mut study = load(r)?;
                for other in (0..c.recording.len()).filter(|other| *other != r) {
                    study = study.validated_by(&c.recording[other].label, load(other)?)?;
                }
                study
            }
        };
        // Trials are made side by side, each the same however many threads there are.
        study.options.parallel = false;
        Ok(study)
    }
}

impl Trials for MechanismCampaign {
    type Trial = MechanismTrial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let key = |which| format!("{}, inputs {:016x}", self.words(which), self.inputs);
        self.all().into_iter().map(key).collect()
    }

    fn make(&self, number: usize) -> Result<MechanismTrial, CampaignError> {
        let which = self.all()[number];
        match self.study(which) {
            Ok(study) => {
                let log = self.asks_for_course(which).then(|| study.log.clone());
                let result = study.run();
                let course = match (&log, &result) {
                    (Some(log), Ok(result)) => Course::of(log, result, || self.study(which)),
                    _ => None,
                };
                Ok(MechanismTrial { course, ..MechanismTrial::of(result) })
            }
            // A model that the sweep has made impossible is a finding.
            Err(failure) if matches!(which, Which::Sweep(..)) => Ok(MechanismTrial::of(Err(failure))),
            Err(failure) => Err(CampaignError::Trials(format!("{}: {failure}", self.words(which)))),
        }
    }

    fn sum_up(&self, trials: Vec<MechanismTrial>) -> Result<CampaignFindings, CampaignError> {
        let mut table = table::Table::default();
        let mut rest = &trials[..];
        let mut parts = vec![];
        for sweep in &self.file.sweep {
            let (own, more) = rest.split_at(sweep.values.len());
            parts.push(table.sweep(sweep, own));
            rest = more;
        }
        for noise in &self.file.noise {
            let (own, more) = rest.split_at(noise.seeds as usize);
            parts.push(table.noise(noise, own));
            rest = more;
        }
        for comparison in &self.file.comparison {
            let (own, more) = rest.split_at(comparison.model.len() * comparison.recording.len());
            parts.push(table.comparison(comparison, own));
            rest = more;
        }
        let broken = table.broken;
        let verdict = match broken.len() {
            0 => "Every promise of the campaign held.".to_owned(),
            _ => format!("NOT held: {}.", broken.join("; ")),
        };
        Ok(CampaignFindings {
            passed: broken.is_empty(),
            verdict,
            table: table.rows,
            summary: json!({ "schema": 1, "name": self.file.name, "parts": parts, "trials": trials }),
            files: plot::figures(&self.file.sweep, &trials)?,
        })
    }
}
