//! How far a payload's estimate is off under growing noise, against regressions from the same samples ([2, Table II], [3,
//! Table II).
//!
//! Gaussian noise of one size is added to all measured positions (m, rad), velocities (m/s, rad/s) and torques (N m); the estimator
//! is told its size, regressions get a Savitzky-Golay window of each length. Everybody knows friction and contacts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::trials::Trials;
use super::super::{CampaignError, CampaignFindings, exact};
use super::problem::{ProblemFile, in_one_way};
use crate::dynamics::actuation::extended_parameters;
use crate::estimate::EstimateError;
use crate::inertia::INERTIAL;
use crate::report::figure::figure;
use crate::study::estimation::EstimationStudy;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct NoiseFile {
    /// Name of the campaign.
    name: String,
    /// Standard deviations of the noise.
    noise: Vec<f64>,
    /// What the estimator is told where there is less: no sensor and no model is perfect.
    least: f64,
    /// Realisations of the noise: seeds 1..=seeds.
    seeds: u64,
    /// Windows of the torque regressions, s.
    #[serde(default)]
    torque_windows_s: Vec<f64>,
    /// Intervals of the energy regressions, s.
    #[serde(default)]
    energy_windows_s: Vec<f64>,
    /// The first body of each carries the payload.
    problem: Vec<ProblemFile>,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct UnderNoise {
    path: PathBuf,
    file: NoiseFile,
    /// Digest of the problems.
    inputs: u64,
}

/// Errors of one method: of the mass, in shares of the payload (of the body where it carries none), and of all ten
/// parameters in the 2-norm, relative; both in %.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Off {
    #[serde(with = "exact")]
    mass: f64,
    #[serde(with = "exact")]
    body: f64,
}

/// One realisation at one level of noise.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in super::super) struct Trial {
    problem: String,
    noise: f64,
    seed: u64,
    torques: Vec<Off>,
    energies: Vec<Off>,
    estimate: Off,
    /// The standard deviation that the estimator itself tells of the mass, % of the payload.
    told: Option<f64>,
    status: String,
    iterations: usize,
    seconds: f64,
}

impl UnderNoise {
    pub(in super::super) fn new(path: &Path, file: NoiseFile) -> Result<Self, CampaignError> {
        let wrong = |field: &str, reason: &str| Err(CampaignError::field(path, field, reason));
        if file.noise.is_empty() || file.noise.iter().any(|x| !(*x >= 0.0 && x.is_finite())) {
            return wrong("noise", "expected numbers >= 0");
        }
        if !(file.least > 0.0 && file.least.is_finite()) {
            return wrong("least", "expected a positive number");
        }
        let windows = file.torque_windows_s.iter().chain(&file.energy_windows_s);
        if windows.clone().any(|x| !(*x > 0.0 && x.is_finite())) {
            return wrong("torque_windows_s / energy_windows_s", "expected positive numbers");
        }
        if file.seeds == 0 || file.problem.is_empty() {
            return wrong("seeds / problem", "is empty, expected at least 1");
        }
        let inputs = in_one_way(path, &file.problem)?;
        Ok(Self { path: path.to_owned(), file, inputs })
    }

    /// The problem with its noise, and an estimator that knows the noise.
    fn load(&self, problem: &ProblemFile, noise: f64, seed: u64) -> Result<EstimationStudy, EstimateError> {
        let table = |pairs: Vec<(&str, toml::Value)>| -> toml::Table {
            pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
        };
        let levels = ["q_rad", "dq_rad_s", "tau_nm"].map(|key| (key, toml::Value::Float(noise)));
        // A seed of a file is at most 2^63 - 1.
        let seed = toml::Value::Integer(i64::try_from(seed).unwrap_or(i64::MAX));
        let simulate = table(vec![("noise", table(levels.to_vec()).into()), ("seed", seed)]);
        let change = table(vec![("simulate", simulate.into())]);
        let mut study = problem.load(&self.path, &change)?;
        // Trials are made side by side, each the same however many threads there are.
        study.options.parallel = false;
        let told = noise.max(self.file.least);
        let (base, d) = (if study.robot.has_free_flyer() { 6 } else { 0 }, &mut study.deviations);
        // Forces on a floating base are model error, which noise does not change.
        for x in d.q.iter_mut().chain(&mut d.dq).chain(&mut d.tau[base..]).filter(|x| x.is_finite()) {
            *x = told;
        }
        Ok(study)
    }

    fn trial(&self, problem: &ProblemFile, noise: f64, seed: u64) -> Result<Trial, EstimateError> {
        let study = self.load(problem, noise, seed)?;
        let body = study.map.bodies.first().map(|(body, _)| *body);
        let Some(body) = body else {
            return Err(EstimateError::Size { what: "estimated bodies".into(), found: 0, expected: 1 });
        };
        let (at, link) = (study.robot.inertial_index(body), study.robot.joints[body].link.clone());
        let own = extended_parameters(&study.robot)[at];
        let regress = |windows: &[f64], of: &dyn Fn(f64) -> Result<[f64; INERTIAL], EstimateError>| {
            windows.iter().map(|w| of(*w)).collect::<Result<Vec<_>, _>>()
        };
        let torques = regress(&self.file.torque_windows_s, &|w| study.regress_torques(0, w))?;
        let energies = regress(&self.file.energy_windows_s, &|w| study.regress_energy(0, w))?;
        let result = study.run()?;
        let rows: Vec<_> = result.parameters.iter().filter(|r| r.place == link).take(INERTIAL).collect();
        let truth: Vec<f64> = rows.iter().map(|r| r.truth.unwrap_or(f64::NAN)).collect();
        let payload = if truth[0] > own { truth[0] - own } else { truth[0] };
        let off = |found: &[f64]| {
            let apart: f64 = found.iter().zip(&truth).map(|(f, t)| (f - t).powi(2)).sum();
            let size: f64 = truth.iter().map(|t| t * t).sum();
            Off {
                mass: 100.0 * ((found[0] - truth[0]) / payload).abs(),
                body: 100.0 * f64::sqrt(apart / size),
            }
        };
        Ok(Trial {
            problem: problem.label.clone(),
            noise,
            seed,
            torques: torques.iter().map(|x| off(x)).collect(),
            energies: energies.iter().map(|x| off(x)).collect(),
            estimate: off(&rows.iter().map(|r| r.estimate).collect::<Vec<_>>()),
            told: rows[0].deviation.map(|d| 100.0 * d / payload),
            status: result.status,
            iterations: result.iterations,
            seconds: result.seconds,
        })
    }

    fn row(&self, problem: &str, noise: f64, trials: &[&Trial]) -> Vec<String> {
        let mean =
            |of: &dyn Fn(&Trial) -> f64| trials.iter().map(|t| of(t)).sum::<f64>() / trials.len() as f64;
        let both = |of: &dyn Fn(&Trial) -> Off| {
            format!("{} / {}", figure(mean(&|t| of(t).mass)), figure(mean(&|t| of(t).body)))
        };
        let mut row = vec![problem.to_owned(), noise.to_string()];
        row.extend((0..self.file.torque_windows_s.len()).map(|i| both(&|t| t.torques[i])));
        row.extend((0..self.file.energy_windows_s.len()).map(|i| both(&|t| t.energies[i])));
        row.push(both(&|t| t.estimate));
        row.push(figure(mean(&|t| t.told.unwrap_or(f64::NAN))));
        row.push(figure(mean(&|t| t.iterations as f64)));
        row.push(figure(mean(&|t| t.seconds)));
        row
    }
}

impl UnderNoise {
    /// Every problem at every level of noise.
    fn levels(&self) -> impl Iterator<Item = (&ProblemFile, f64)> {
        self.file.problem.iter().flat_map(|p| self.file.noise.iter().map(move |n| (p, *n)))
    }
}

impl Trials for UnderNoise {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let NoiseFile { least, seeds, torque_windows_s, energy_windows_s, .. } = &self.file;
        let windows = format!("windows {torque_windows_s:?} {energy_windows_s:?}");
        let inputs = self.inputs;
        let key = |(problem, noise): (&ProblemFile, f64)| {
            let place = format!("{}, noise {noise} (at least {least}), {windows}", problem.label);
            let key = |seed| format!("{place}, seed {seed}, inputs {inputs:016x}");
            (1..=*seeds).map(key).collect::<Vec<_>>()
        };
        self.levels().flat_map(key).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        let (level, seed) = (number as u64 / self.file.seeds, number as u64 % self.file.seeds + 1);
        let level = self.levels().nth(level as usize);
        let (problem, noise) = level.ok_or_else(|| CampaignError::Trials(format!("no trial {number}")))?;
        self.trial(problem, noise, seed)
            .map_err(|e| CampaignError::Trials(format!("{}, noise {noise}, seed {seed}: {e}", problem.label)))
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let (file, total) = (&self.file, trials.len());
        let mut heading = vec!["problem".to_owned(), "noise".to_owned()];
        let named = |what: &str, windows: &[f64]| -> Vec<String> {
            windows.iter().map(|w| format!("{what}, {} ms", figure(1e3 * w))).collect()
        };
        heading.extend(named("torques", &file.torque_windows_s));
        heading.extend(named("energy", &file.energy_windows_s));
        heading.extend(["estimate", "told deviation", "iterations", "s"].map(str::to_owned));
        let mut table = vec![heading];
        for (problem, noise) in self.levels() {
            let own: Vec<&Trial> =
                trials.iter().filter(|t| t.problem == problem.label && t.noise == noise).collect();
            table.push(self.row(&problem.label, noise, &own));
        }
        let stuck = trials.iter().filter(|t| t.status != "converged").count();
        Ok(CampaignFindings {
            passed: stuck == 0,
            verdict: format!(
                "Mean errors in %: of the mass, relative to the payload / of all ten parameters. {stuck} of {total} estimates \
                 did not converge."
            ),
            table,
            summary: json!({ "schema": 1, "name": file.name, "not_converged": stuck, "trials": trials }),
            files: vec![],
        })
    }
}
