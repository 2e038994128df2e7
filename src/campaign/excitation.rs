//! Excitation: what the designs of exciting motion give, on the same arm in the same scene for the same time.
//!
//! Certified designs are whole runs of the scenario, planned in receding horizon and proven, under one of the criteria of
//! [`ExciteCriterion`]. Open designs are the literature's ([`open`]): one trajectory of the same length, its limits looked
//! at in samples only, followed by computed torque; they are given more than they could have in earnest. Each is followed by
//! the same identifier with the same sensors. Nothing is promised but that the truth stays inside.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::experiment::{self, Noise};
use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings, exact};
use crate::horizon::{ExciteCriterion, LogRow, RunOptions, TaskPhase};
use crate::identify::{Identifier, IdentifierOptions, tighten_by_physics};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::excite::open::{self, CurveBasis};
use crate::recording::Sample;
use crate::regression::balance::{condition_number, window_regressor};
use crate::report::figure::figure;
use crate::scenario::{self, Scenario};

mod perfect;

/// Windows over which the condition number is taken, s: as long as the identifier's unless stated, so that the figure is
/// about the rows that it would have.
const WINDOW_S: f64 = 0.1;
/// What the table calls all payloads together.
const ALL: &str = "all";
/// Samples at which an open design's cost and limits are looked at. Each evaluation takes time in proportion; half as many
/// would miss more of what lies between them.
const SAMPLES: usize = 100;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExcitationFile {
    /// Name of the campaign.
    name: String,
    /// Robot, scene and prior; relative to this file.
    scenario: PathBuf,
    /// Every design is made with so many seeds, from `first_seed` (0 if not given) on. Neither is part of a trial's key: more seeds
    /// may be asked for later.
    seeds: u64,
    /// The first seed.
    #[serde(default)]
    first_seed: u64,
    /// Steps of the search for an open design.
    evaluations: usize,
    /// The designs that are compared.
    designs: Vec<Design>,
    /// The true last bodies.
    payloads: Vec<Payload>,
}

/// A way to excite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Design {
    /// Motions that minimise the predicted width of the intervals.
    PredictedWidth,
    /// That of the mass alone.
    PredictedMass,
    /// Motions that minimise the condition number of the last body's regressor.
    ConditionNumber,
    /// Random motions, certified as all others.
    Random,
    /// Fourier series, checked in samples.
    Fourier,
    /// B-splines, checked in samples.
    BSpline,
    /// None: what next to perfect sensors would leave, see [`perfect`].
    PerfectSensors,
}

/// How a trial is made.
enum Way {
    /// Proven motions that minimise this, with these weights.
    Proven(ExciteCriterion, [f64; 3]),
    Open(CurveBasis),
    Perfect,
}

/// A truth about the whole last body.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    /// Its name in tables.
    name: String,
    /// m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the last joint's frame, SI units.
    body: [f64; INERTIAL],
}

impl Design {
    fn name(self) -> &'static str {
        match self {
            Design::PredictedWidth => "predicted width",
            Design::PredictedMass => "predicted mass",
            Design::ConditionNumber => "condition number",
            Design::Random => "random",
            Design::Fourier => "Fourier (open)",
            Design::BSpline => "B-spline (open)",
            Design::PerfectSensors => "any, perfect sensors",
        }
    }

    /// Fourier series have five harmonics, and splines as many numbers a joint.
    fn way(self) -> Way {
        match self {
            Design::PredictedWidth => Way::Proven(ExciteCriterion::PredictedWidth, [1.0; 3]),
            Design::PredictedMass => Way::Proven(ExciteCriterion::PredictedWidth, [1.0, 0.0, 0.0]),
            Design::ConditionNumber => Way::Proven(ExciteCriterion::ConditionNumber, [1.0; 3]),
            Design::Random => Way::Proven(ExciteCriterion::Random, [1.0; 3]),
            Design::Fourier => Way::Open(CurveBasis::Fourier(5)),
            Design::BSpline => Way::Open(CurveBasis::BSpline(8)),
            Design::PerfectSensors => Way::Perfect,
        }
    }
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct ExcitationCampaign {
    file: ExcitationFile,
    scenario: PathBuf,
    /// Digest of the scenario's task.
    task: u64,
}

/// What one experiment gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trial {
    payload: String,
    design: Design,
    seed: u64,
    /// Unscaled, of the last body's momentum regressor.
    #[serde(with = "exact")]
    condition_number: f64,
    /// Half-widths: mass, the worst first moment, the worst inertia.
    #[serde(with = "exact")]
    mass_kg: f64,
    #[serde(with = "exact")]
    first_moment_kg_m: f64,
    #[serde(with = "exact")]
    inertia_kg_m2: f64,
    /// Whether the truth was in the set and nothing was violated.
    sound: bool,
}

impl ExcitationCampaign {
    pub(super) fn new(path: &Path, file: ExcitationFile) -> Result<Self, CampaignError> {
        let empty = [
            ("seeds", file.seeds == 0),
            ("designs", file.designs.is_empty()),
            ("payloads", file.payloads.is_empty()),
        ];
        if let Some((field, _)) = empty.into_iter().find(|(_, empty)| *empty) {
            return Err(CampaignError::field(path, field, "is empty, expected at least 1"));
        }
        let scenario = path.parent().unwrap_or(Path::new("")).join(&file.scenario);
        let loaded = Scenario::load(&scenario).map_err(|source| {
            let (path, field) = (path.to_owned(), "scenario".to_owned());
            CampaignError::Scenario { path, field, source: Box::new(source) }
        })?;
        let task = digest(loaded.task());
        let campaign = Self { scenario, file, task };
        for (i, payload) in campaign.file.payloads.iter().enumerate() {
            let loaded = campaign.load(payload).map_err(|source| CampaignError::Scenario {
                path: path.to_owned(),
                field: format!("payloads[{i}]"),
                source: Box::new(source),
            })?;
            if loaded.task().held.is_none() {
                return Err(CampaignError::field(path, "scenario", "holds nothing, expected a payload"));
            }
        }
        Ok(campaign)
    }

    fn load(&self, payload: &Payload) -> Result<Scenario, scenario::ScenarioError> {
        Scenario::load(&self.scenario)?.with_last_body(payload.body)
    }

    /// Everything that a trial depends on: the task with its robot, by a digest, and the trial's own place.
    fn key(&self, payload: &Payload, design: Design, seed: u64) -> String {
        let (Payload { name, body }, task) = (payload, self.task);
        let steps = if let Way::Open(_) = design.way() { self.file.evaluations } else { 0 };
        format!("{name} {body:?}, {}, {steps} steps, seed {seed}, task {task:016x}", design.name())
    }

    fn trial(&self, payload: &Payload, design: Design, seed: u64) -> Result<Trial, CampaignError> {
        let at_fault = |error: &dyn std::fmt::Display| {
            CampaignError::Trials(format!("{}, {}, seed {seed}: {error}", payload.name, design.name()))
        };
        let scenario = self.load(payload).map_err(|error| at_fault(&error))?;
        let (half, condition_number, sound) = match design.way() {
            Way::Proven(criterion, weights) => certified(scenario, (criterion, weights), seed),
            Way::Open(family) => opened(scenario, payload, family, self.file.evaluations, seed),
            Way::Perfect => perfect(scenario, payload, seed),
        }
        .map_err(|reason| at_fault(&reason))?;
        let widest = |range: std::ops::Range<usize>| half[range].iter().copied().fold(0.0, f64::max);
        Ok(Trial {
            payload: payload.name.clone(),
            design,
            seed,
            condition_number,
            mass_kg: half[0],
            first_moment_kg_m: widest(1..4),
            inertia_kg_m2: widest(4..10),
            sound,
        })
    }
}

/// The ten half-widths, the condition number, and whether all was well.
type Outcome = Result<(Vec<f64>, f64, bool), String>;

/// A run of the exciting part of the scenario.
fn certified(scenario: Scenario, (criterion, weights): (ExciteCriterion, [f64; 3]), seed: u64) -> Outcome {
    let scenario = scenario.adjusted(|task| {
        // The first carrying plan starts where the last exciting one ends; with it the run is over.
        task.timing.max_plans = task.timing.exciting_plans + 1;
        if let Some(held) = &mut task.held {
            (held.excite.criterion, held.excite.weights) = (criterion, weights);
        }
    });
    let (robot, t_f) = (scenario.task().robot.clone(), scenario.task().timing.t_f_s);
    let options = RunOptions { method: "ours".to_owned(), seed, timed: false };
    let record = scenario::run(scenario, &options, &mut ()).map_err(|error| error.to_string())?;
    let summary = &record.summary;
    let exciting = summary.plans.iter().filter(|plan| plan.certified && plan.phase == TaskPhase::Excite);
    let end = exciting.map(|plan| plan.t).fold(f64::NEG_INFINITY, f64::max) + t_f;
    let known = summary.identification.iter().find(|update| update.t >= end - 1e-9);
    let known = known.or(summary.identification.last()).ok_or("nothing was identified")?;
    let half = known
        .known
        .lower
        .iter()
        .zip(&known.known.upper)
        .map(|(lower, upper)| 0.5 * (upper - lower))
        .collect();
    let rows = record.log.iter().filter(|row| row.t <= end);
    let samples: Vec<Sample> = rows.map(sample).collect();
    let violated: u64 = summary.violations.counts().iter().map(|(_, count)| count).sum();
    let sound = summary.truth_inside && violated == 0 && summary.broken.is_empty();
    Ok((half, condition(&robot, &samples), sound))
}

fn sample(row: &LogRow) -> Sample {
    Sample { t: row.t, q: row.q.clone(), dq: row.dq.clone(), tau: row.tau.clone() }
}

fn condition(robot: &crate::robot::Arm, samples: &[Sample]) -> f64 {
    let panels = (WINDOW_S / robot.gains().period_s).round() as usize;
    let hand = robot.end_effector()..robot.end_effector() + 1;
    let y: DMatrix<f64> = window_regressor(robot, samples, panels, hand);
    condition_number(&y)
}

/// A simulated experiment with an open design of the same length.
fn opened(
    scenario: Scenario,
    payload: &Payload,
    family: CurveBasis,
    evaluations: usize,
    seed: u64,
) -> Outcome {
    let task = scenario.task();
    let timing = &task.timing;
    let duration_s = timing.exciting_plans.saturating_sub(1) as f64 * timing.t_p_s + timing.t_f_s;
    let (robot, set) = (Arc::new(task.robot.clone()), task.prior_set().map_err(|error| error.to_string())?);
    let what = open::DesignTask {
        robot: &robot,
        set: &set,
        scene: &task.scene,
        start: &task.start,
        duration_s,
        samples: SAMPLES,
        limits: open::DesignLimits::All,
    };
    let (curve, _) = open::design(&what, family, evaluations, seed).ok_or("no design keeps the limits")?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let at = robot.body_range(robot.end_effector());
    let theta = truth(&set, at.clone(), payload, &mut rng);
    let (samples, bound) = experiment::record(&robot, &theta, curve.as_ref(), Noise::Uniform, &mut rng);
    let mut identifier = Identifier::new(robot.clone(), &set, bound, IdentifierOptions::default())
        .map_err(|error| error.to_string())?;
    // As often as in a run.
    let slot = (timing.t_p_s / robot.gains().period_s).round() as usize;
    for slot in samples.chunks(slot.max(1)) {
        slot.iter().try_for_each(|s| identifier.push(s.clone())).map_err(|error| error.to_string())?;
        identifier.update().map_err(|error| error.to_string())?;
    }
    let known = identifier.set();
    let half = known.radius()[at].to_vec();
    Ok((half, condition(&robot, &samples), known.contains(&theta)))
}

/// See [`perfect`].
fn perfect(scenario: Scenario, payload: &Payload, seed: u64) -> Outcome {
    let task = scenario.task();
    let (robot, set) = (&task.robot, task.prior_set().map_err(|error| error.to_string())?);
    let set = tighten_by_physics(&set, robot.end_effector()).map_err(|error| error.to_string())?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let at = robot.body_range(robot.end_effector());
    let theta = truth(&set, at.clone(), payload, &mut rng);
    let (left, condition) =
        perfect::left(robot, &set, &theta, &mut rng).map_err(|error| error.to_string())?;
    Ok((left.radius()[at].to_vec(), condition, left.contains(&theta)))
}

/// Parameters anywhere in the set, with the payload's at `at`.
fn truth(set: &ParameterSet, at: Range<usize>, payload: &Payload, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut theta: Vec<f64> =
        set.lower().iter().zip(set.upper()).map(|(l, u)| l + rng.random::<f64>() * (u - l)).collect();
    theta[at].copy_from_slice(&payload.body);
    theta
}

/// Mean, standard deviation and largest of a figure over trials.
fn spread(trials: &[&Trial], of: impl Fn(&Trial) -> f64) -> [f64; 3] {
    let count = trials.len() as f64;
    let mean = trials.iter().map(|trial| of(trial)).sum::<f64>() / count;
    let square: f64 = trials.iter().map(|trial| (of(trial) - mean).powi(2)).sum();
    let largest = trials.iter().map(|trial| of(trial)).fold(0.0, f64::max);
    [mean, (square / (count - 1.0).max(1.0)).sqrt(), largest]
}

/// By how much the mass of the first design is tighter than in these trials, %: geometric mean over the trials of the same payload
/// and seed.
fn tighter(trials: &[&Trial], first: &[&Trial]) -> f64 {
    let same = |a: &Trial, b: &Trial| a.payload == b.payload && a.seed == b.seed;
    let logarithm = |own: &&Trial| {
        let other = first.iter().find(|other| same(own, other))?;
        Some((other.mass_kg / own.mass_kg).ln())
    };
    let ratios: Vec<f64> = trials.iter().filter_map(logarithm).collect();
    100.0 * (1.0 - (ratios.iter().sum::<f64>() / ratios.len() as f64).exp())
}

fn row(payload: &str, design: Design, trials: &[&Trial], first: &[&Trial]) -> Vec<String> {
    let all = |of: fn(&Trial) -> f64| {
        let [mean, deviation, worst] = spread(trials, of).map(figure);
        format!("{mean} ± {deviation}, {worst}")
    };
    vec![
        payload.to_owned(),
        design.name().to_owned(),
        trials.len().to_string(),
        all(|t| t.condition_number),
        all(|t| t.mass_kg),
        figure(tighter(trials, first)),
        all(|t| t.first_moment_kg_m),
        all(|t| t.inertia_kg_m2),
        trials.iter().filter(|t| !t.sound).count().to_string(),
    ]
}

impl ExcitationCampaign {
    /// All trials: those of one seed before the next, so that what an interruption leaves is a table as well.
    fn all(&self) -> impl Iterator<Item = (&Payload, Design, u64)> {
        let ExcitationFile { payloads, designs, seeds, first_seed, .. } = &self.file;
        let each = move |seed| {
            let both =
                payloads.iter().flat_map(|payload| designs.iter().map(move |design| (payload, *design)));
            both.map(move |(payload, design)| (payload, design, seed))
        };
        (*first_seed..first_seed.saturating_add(*seeds)).flat_map(each)
    }
}

impl Trials for ExcitationCampaign {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.task
    }

    fn keys(&self) -> Vec<String> {
        self.all().map(|(payload, design, seed)| self.key(payload, design, seed)).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        let trial = self.all().nth(number);
        let (payload, design, seed) =
            trial.ok_or_else(|| CampaignError::Trials(format!("no trial {number}")))?;
        self.trial(payload, design, seed)
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let ExcitationFile { payloads, designs, .. } = &self.file;
        let widths = ["condition", "m, kg", "first tighter by, %", "m c, kg m", "I, kg m^2"];
        let heading = ["payload", "design", "trials"].into_iter().chain(widths).chain(["unsound"]);
        let mut table = vec![heading.map(str::to_owned).collect::<Vec<_>>()];
        let names = payloads.iter().map(|payload| payload.name.as_str()).chain([ALL]);
        for name in names {
            let of = |design: Design| -> Vec<&Trial> {
                let own = |t: &&Trial| t.design == design && (name == ALL || t.payload == name);
                trials.iter().filter(own).collect()
            };
            let first = of(designs[0]);
            table.extend(designs.iter().map(|&design| row(name, design, &of(design), &first)));
        }
        let unsound = trials.iter().filter(|trial| !trial.sound).count();
        Ok(CampaignFindings {
            passed: unsound == 0,
            verdict: format!(
                "Mean ± deviation, worst; half-widths after the exciting part. In mass the first design is tighter than each \
                 by so much (geometric mean over pairs of the same seed). {unsound} unsound trials."
            ),
            table,
            summary: json!({ "schema": 1, "name": self.file.name, "unsound": unsound, "trials": trials }),
            files: vec![],
        })
    }
}

#[cfg(test)]
mod tests;
