//! What the trials of a part say together: rows for people, and whether promises held.

use serde_json::{Value, json};

use super::{ComparisonFile, FoundParameter, MechanismTrial, ReferenceFile, SeedsFile, SweepFile};
use crate::report::figure::figure;

/// Errors that count as explained by their deviations are within so many of them.
const DEVIATIONS: f64 = 3.0;

/// The table of the campaign, and promises that did not hold.
#[derive(Debug)]
pub(super) struct Table {
    pub rows: Vec<Vec<String>>,
    pub broken: Vec<String>,
}

impl Default for Table {
    fn default() -> Self {
        let heading =
            ["part", "case", "converged", "iterations", "readings, rad^2", "impulses, rad^2", "found"];
        Self { rows: vec![heading.map(str::to_owned).to_vec()], broken: vec![] }
    }
}

/// Relative error.
fn error(estimate: f64, reference: f64) -> f64 {
    (estimate / reference - 1.0).abs()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(s, n), x| (s + x, n + 1.0));
    sum / count
}

/// Error over deviation, where both are known.
fn score(p: &FoundParameter) -> Option<f64> {
    Some((p.estimate - p.truth?) / p.deviation?)
}

/// How many are within three deviations.
fn explained(scores: &[f64]) -> usize {
    scores.iter().filter(|z| z.abs() <= DEVIATIONS).count()
}

/// A parameter's estimate with its error in percent.
fn told(p: &FoundParameter, reference: Option<f64>) -> String {
    let off = reference.filter(|r| *r != 0.0).map(|r| format!(" ({:+.2} %)", 100.0 * (p.estimate / r - 1.0)));
    format!("{} {}{}", p.name, figure(p.estimate), off.unwrap_or_default())
}

impl Table {
    fn row(&mut self, part: &str, case: String, trial: &MechanismTrial, found: String) {
        let cell = |x: Option<f64>| x.map_or("-".to_owned(), figure);
        self.rows.push(vec![
            part.to_owned(),
            case,
            if trial.converged { "yes" } else { "no" }.to_owned(),
            trial.iterations.to_string(),
            cell(trial.observation),
            cell(trial.state),
            match (&trial.failure, &trial.course) {
                (Some(failure), _) => failure.clone(),
                (None, Some(course)) => format!("{found}; {}", course.told()),
                _ => found,
            },
        ]);
    }

    pub(super) fn sweep(&mut self, sweep: &SweepFile, trials: &[MechanismTrial]) -> Value {
        let pairs = || sweep.values.iter().zip(trials);
        let inside =
            |v: f64| sweep.promise.as_ref().is_some_and(|p| (p.between[0]..=p.between[1]).contains(&v));
        let reference = |name: &str, trial: &MechanismTrial| match sweep.promise.as_ref().map(|p| p.against) {
            Some(ReferenceFile::Median) => {
                let own = pairs().filter(|(v, _)| inside(**v));
                Some(median(own.filter_map(|(_, t)| Some(t.parameter(name)?.estimate)).collect()))
            }
            _ => trial.parameter(name).and_then(|p| p.truth),
        };
        let mut worst: Vec<(String, f64)> = vec![];
        for (value, trial) in pairs() {
            let words = trial.parameters.iter().map(|p| told(p, reference(&p.name, trial)));
            let found = words.collect::<Vec<_>>().join(", ");
            self.row(&sweep.label, format!("{} = {value:?}", sweep.key), trial, found);
        }
        if let Some(promise) = &sweep.promise {
            for name in &promise.parameters {
                let errors = pairs().filter(|(v, _)| inside(**v)).map(|(_, t)| {
                    match (t.parameter(name), reference(name, t)) {
                        (Some(p), Some(r)) => error(p.estimate, r),
                        _ => f64::INFINITY,
                    }
                });
                let most = errors.fold(0.0, |m: f64, e| if e > m || e.is_nan() { e } else { m });
                if !(most <= promise.within) {
                    let words = format!(
                        "`{}`: {name} is off by up to {:.2} % where {} % were promised",
                        sweep.label,
                        100.0 * most,
                        100.0 * promise.within
                    );
                    self.broken.push(words);
                }
                worst.push((name.clone(), most));
            }
        }
        let worst: serde_json::Map<String, Value> =
            worst.into_iter().map(|(name, most)| (name, json!(most))).collect();
        json!({ "kind": "sweep", "label": sweep.label, "largest_errors": worst })
    }

    pub(super) fn noise(&mut self, noise: &SeedsFile, trials: &[MechanismTrial]) -> Value {
        let all: Vec<f64> = trials.iter().flat_map(|t| &t.parameters).filter_map(score).collect();
        let within = explained(&all) as f64 / all.len().max(1) as f64;
        let first = trials.iter().find(|t| t.failure.is_none());
        let mut each = serde_json::Map::new();
        for name in first.iter().flat_map(|t| &t.parameters).map(|p| &p.name) {
            let own: Vec<&FoundParameter> = trials.iter().filter_map(|t| t.parameter(name)).collect();
            each.insert(name.clone(), self.scores(noise, name, &own));
        }
        let converged = trials.iter().filter(|t| t.converged).count();
        let iterations = mean(trials.iter().map(|t| t.iterations as f64));
        self.rows.push(vec![
            noise.label.clone(),
            format!("{} seeds", trials.len()),
            format!("{converged}"),
            figure(iterations),
            figure(mean(trials.iter().filter_map(|t| t.observation))),
            figure(mean(trials.iter().filter_map(|t| t.state))),
            format!("{:.1} % of {} errors within three deviations", 100.0 * within, all.len()),
        ]);
        if noise.within_three.is_some_and(|least| within < least || all.is_empty()) {
            self.broken.push(format!("`{}`: {:.1} % within three deviations", noise.label, 100.0 * within));
        }
        json!({ "kind": "noise", "label": noise.label, "within_three": within, "parameters": each })
    }

    /// The row of one parameter under all seeds.
    fn scores(&mut self, noise: &SeedsFile, name: &str, own: &[&FoundParameter]) -> Value {
        let z: Vec<f64> = own.iter().filter_map(|p| score(p)).collect();
        let truth = own.first().and_then(|p| p.truth).unwrap_or(f64::NAN);
        let average = mean(own.iter().map(|p| p.estimate));
        let (bias, square) = (mean(z.iter().copied()), mean(z.iter().map(|z| z * z)));
        let told = if z.is_empty() {
            "no deviation is told".to_owned()
        } else {
            let (rms, near, count) = (square.sqrt(), explained(&z), z.len());
            format!("error / deviation {bias:+.2} in the mean, {rms:.2} rms, {near} of {count} within three")
        };
        let mut cells = vec![noise.label.clone(), name.to_owned()];
        cells.resize(6, String::new());
        cells.push(format!("truth {}, mean {}: {told}", figure(truth), figure(average)));
        self.rows.push(cells);
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        json!({
            "truth": finite(truth), "mean": finite(average), "mean_score": finite(bias),
            "mean_square": finite(square), "within_three": explained(&z), "told": z.len(),
        })
    }

    pub(super) fn comparison(&mut self, comparison: &ComparisonFile, trials: &[MechanismTrial]) -> Value {
        let count = comparison.recording.len();
        let mut models = vec![];
        for (model, own) in comparison.model.iter().zip(trials.chunks_exact(count)) {
            for (recording, trial) in comparison.recording.iter().zip(own) {
                let words: Vec<String> = trial.parameters.iter().map(|p| told(p, p.truth)).collect();
                let others = figure(mean(trial.cross.iter().copied()));
                let case = format!("{}, learnt from {}", model.label, recording.label);
                self.row(&comparison.label, case, trial, format!("others {others}; {}", words.join(", ")));
            }
            let cost = mean(own.iter().map(MechanismTrial::cost));
            let others = mean(own.iter().flat_map(|t| t.cross.iter().copied()));
            self.rows.push(vec![
                comparison.label.clone(),
                format!("{}, all", model.label),
                own.iter().filter(|t| t.converged).count().to_string(),
                String::new(),
                String::new(),
                String::new(),
                format!("cost {}, cross-validation {}", figure(cost), figure(others)),
            ]);
            models.push(json!({ "model": model.label, "cost": cost, "cross_validation": others }));
        }
        json!({ "kind": "comparison", "label": comparison.label, "models": models })
    }
}
