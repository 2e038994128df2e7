//! How well a law for the whole body tracks with what was identified ([2, Fig. 4], [3, Figs. 16 and 17]).
//!
//! A robot carries what its model knows nothing of. It moves, and its parameters are estimated from that. Then it makes another motion three times: under a law
//! that believes the nominal model, the identified one, and the true one. The law knows the true state, so that what is compared
//! is the models alone.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::trials::{Trials, digest, seeded};
use super::{CampaignError, CampaignFindings, exact};
use crate::dynamics::Workspace;
use crate::dynamics::actuation::extended_parameters;
use crate::estimate::{EstimateError, Solver, Status};
use crate::report::figure::figure;
use crate::robot::Model;
use crate::study::estimation::{EstimationStudy, FollowedPosture};

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrackingFile {
    /// Name of the campaign.
    name: String,
    /// Realisations of the noise that is learnt from: seeds 1..=seeds.
    seeds: u64,
    /// How many times the identified model's mean error of every frame should be below the nominal one's.
    nominal_over_identified: f64,
    /// The robots.
    problem: Vec<TrackedProblem>,
}

/// A robot, what is learnt from, and what is followed then.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrackedProblem {
    /// Its name in tables.
    label: String,
    /// A simulated problem of a robot that follows a posture; relative to the campaign file.
    file: PathBuf,
    /// What is changed in the problem file, key by key.
    #[serde(default)]
    change: toml::Table,
    /// What is changed besides for the motion that is followed and not learnt from.
    held_out: toml::Table,
    /// Named frames that are compared beside the base: feet while they are in the air, others always.
    frames: Vec<String>,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct TrackingCampaign {
    path: PathBuf,
    file: TrackingFile,
    inputs: u64,
}

/// How far a robot was from where it should have been.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TrackingErrors {
    /// The base's place, m, and attitude, rad: root mean square and largest.
    #[serde(with = "exact::list")]
    base_m: Vec<f64>,
    #[serde(with = "exact::list")]
    base_rad: Vec<f64>,
    /// Each frame's place, m: root mean squares, then the largest ones.
    #[serde(with = "exact::list")]
    frames_rms_m: Vec<f64>,
    #[serde(with = "exact::list")]
    frames_largest_m: Vec<f64>,
}

/// One realisation of one problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trial {
    problem: String,
    seed: u64,
    nominal: TrackingErrors,
    identified: TrackingErrors,
    truth: TrackingErrors,
    converged: bool,
}

/// Root mean square and largest.
fn sizes(errors: &[f64]) -> [f64; 2] {
    let square = errors.iter().map(|x| x * x).sum::<f64>() / errors.len().max(1) as f64;
    [square.sqrt(), errors.iter().copied().fold(0.0, f64::max)]
}

impl TrackingErrors {
    fn of(robot: &Model, followed: &FollowedPosture, frames: &[usize]) -> Self {
        let mut places = [Workspace::new(robot), Workspace::new(robot)];
        let (mut base, mut turns, mut apart) = (vec![], vec![], vec![vec![]; frames.len()]);
        for (k, (wanted, reached)) in followed.wanted.iter().zip(&followed.reached).enumerate() {
            let place = |q: &[f64]| Vector3::new(q[0], q[1], q[2]);
            base.push((place(wanted) - place(reached)).norm());
            let attitude = |q: &[f64]| UnitQuaternion::new_normalize(Quaternion::new(q[6], q[3], q[4], q[5]));
            turns.push(attitude(wanted).angle_to(&attitude(reached)));
            places[0].place(robot, wanted);
            places[1].place(robot, reached);
            for (frame, errors) in frames.iter().zip(&mut apart) {
                let foot = followed.feet.iter().find(|(f, _)| f == frame);
                if foot.is_none_or(|(_, in_the_air)| in_the_air[k]) {
                    let [a, b] = [&places[0], &places[1]]
                        .map(|at| at.frame_placement(&robot.named_frames[*frame]).translation);
                    errors.push((a - b).norm());
                }
            }
        }
        let each: Vec<[f64; 2]> = apart.iter().map(|errors| sizes(errors)).collect();
        Self {
            base_m: sizes(&base).to_vec(),
            base_rad: sizes(&turns).to_vec(),
            frames_rms_m: each.iter().map(|e| e[0]).collect(),
            frames_largest_m: each.iter().map(|e| e[1]).collect(),
        }
    }

    /// What a table shows of them: base (m), attitude (rad), each frame (m); root mean squares.
    fn shown(&self) -> Vec<f64> {
        [&[self.base_m[0], self.base_rad[0]], &self.frames_rms_m[..]].concat()
    }
}

impl TrackingCampaign {
    pub(super) fn new(path: &Path, file: TrackingFile) -> Result<Self, CampaignError> {
        let wrong = |field: &str, reason: String| CampaignError::field(path, field.to_owned(), reason);
        if file.seeds == 0 || file.problem.is_empty() {
            return Err(wrong("seeds / problem", "is empty, expected at least 1".into()));
        }
        let bar = file.nominal_over_identified;
        if !(bar > 0.0 && bar.is_finite()) {
            return Err(wrong("nominal_over_identified", format!("is {bar}, expected a positive number")));
        }
        for (i, problem) in file.problem.iter().enumerate() {
            if file.problem[..i].iter().any(|other| other.label == problem.label) {
                return Err(wrong(
                    &format!("problem[{i}].label"),
                    format!("`{}` stands twice", problem.label),
                ));
            }
        }
        let mut inputs = vec![];
        let campaign = Self { path: path.to_owned(), file, inputs: 0 };
        for (i, problem) in campaign.file.problem.iter().enumerate() {
            let field = format!("problem[{i}]");
            let study = campaign.load(problem, 1).map_err(|e| wrong(&field, e.to_string()))?;
            if !study.robot.has_free_flyer() || study.contacts.constraints.is_empty() {
                let reason = format!("robot `{}`: expected one that floats, with contacts", study.robot.name);
                return Err(wrong(&format!("{field}.file"), reason));
            }
            for name in &problem.frames {
                if study.robot.frame_index(name).is_none() {
                    let reason = format!("no frame `{name}` of robot `{}`", study.robot.name);
                    return Err(wrong(&format!("{field}.frames"), reason));
                }
            }
            // What is followed is digested by its keys alone: to follow it here would take as long as a trial.
            inputs.push(digest(&(study, problem)));
        }
        Ok(Self { inputs: digest(&inputs), ..campaign })
    }

    fn place(&self, problem: &TrackedProblem) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(&problem.file)
    }

    fn load(&self, problem: &TrackedProblem, seed: u64) -> Result<EstimationStudy, EstimateError> {
        let mut study =
            EstimationStudy::load_changed(self.place(problem), &[&problem.change, &seeded(seed)])?;
        // Trials are made side by side, each the same however many threads there are.
        study.options.parallel = false;
        Ok(study)
    }

    fn trial(&self, problem: &TrackedProblem, seed: u64) -> Result<Trial, EstimateError> {
        let study = self.load(problem, seed)?;
        let robot = study.robot.clone();
        let (identified, converged) = {
            let estimation = study.problem()?;
            let mut solver = Solver::new(&estimation, study.options)?;
            let outcome = solver.solve(&estimation.guess())?;
            let mut identified = study.map.nominal.clone();
            study.map.fill(&robot, &solver.trajectory().theta, &mut identified);
            (identified, outcome.status == Status::Converged)
        };
        let Some((truth, _)) = study.reveal() else {
            return Err(EstimateError::Recording { reason: "expected a simulated problem".into() });
        };
        let frames: Vec<usize> = problem.frames.iter().filter_map(|name| robot.frame_index(name)).collect();
        let follow = |believed: &[f64]| {
            let seed = seeded(seed);
            let changes = [&problem.change, &problem.held_out, &seed];
            let followed = EstimationStudy::follow(self.place(problem), &changes, believed)?;
            for (name, frame) in problem.frames.iter().zip(&frames) {
                let foot = followed.feet.iter().find(|(f, _)| f == frame);
                if foot.is_some_and(|(_, in_the_air)| !in_the_air.contains(&true)) {
                    let reason = format!("`{name}` never leaves the ground in the motion that is followed");
                    return Err(EstimateError::Recording { reason });
                }
            }
            Ok::<_, EstimateError>(TrackingErrors::of(&robot, &followed, &frames))
        };
        Ok(Trial {
            problem: problem.label.clone(),
            seed,
            nominal: follow(&extended_parameters(&robot))?,
            identified: follow(&identified)?,
            truth: follow(&truth)?,
            converged,
        })
    }

    /// Rows of one problem's table, and the least ratio of the nominal to the identified model's error.
    fn rows(&self, problem: &TrackedProblem, trials: &[Trial]) -> (Vec<Vec<String>>, f64) {
        let own: Vec<&Trial> = trials.iter().filter(|t| t.problem == problem.label).collect();
        let mean = |of: &dyn Fn(&Trial) -> &TrackingErrors, i: usize| {
            own.iter().map(|t| of(t).shown()[i]).sum::<f64>() / own.len() as f64
        };
        let (mut rows, mut least) = (vec![], f64::INFINITY);
        let names = ["base, mm".to_owned(), "base, mrad".to_owned()]
            .into_iter()
            .chain(problem.frames.iter().map(|f| format!("`{f}`, mm")));
        for (i, name) in names.enumerate() {
            let errors = [mean(&|t| &t.nominal, i), mean(&|t| &t.identified, i), mean(&|t| &t.truth, i)];
            let ratio = errors[0] / errors[1];
            least = least.min(ratio);
            let mut row = vec![problem.label.clone(), name];
            row.extend(errors.iter().map(|e| figure(1e3 * e)).chain([figure(ratio)]));
            rows.push(row);
        }
        (rows, least)
    }
}

impl Trials for TrackingCampaign {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let inputs = self.inputs;
        let of = |p: &TrackedProblem| {
            let label = p.label.clone();
            (1..=self.file.seeds).map(move |seed| format!("{label}, seed {seed}, inputs {inputs:016x}"))
        };
        self.file.problem.iter().flat_map(of).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        let (problem, seed) = (number as u64 / self.file.seeds, number as u64 % self.file.seeds + 1);
        let problem = self.file.problem.get(problem as usize);
        let problem = problem.ok_or_else(|| CampaignError::Trials(format!("no trial {number}")))?;
        self.trial(problem, seed)
            .map_err(|e| CampaignError::Trials(format!("{}, seed {seed}: {e}", problem.label)))
    }

    fn is_possible(&self, number: usize, trial: &Trial) -> bool {
        let problem = self.file.problem.get((number as u64 / self.file.seeds) as usize);
        let count = problem.map_or(0, |p| p.frames.len());
        [&trial.nominal, &trial.identified, &trial.truth].iter().all(|e| {
            e.base_m.len() == 2
                && e.base_rad.len() == 2
                && e.frames_rms_m.len() == count
                && e.frames_largest_m.len() == count
        })
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let heading = ["robot", "error (rms)", "nominal model", "identified", "true", "nominal / identified"];
        let (mut table, mut least) = (vec![heading.map(str::to_owned).to_vec()], f64::INFINITY);
        for problem in &self.file.problem {
            let (rows, worst) = self.rows(problem, &trials);
            table.extend(rows);
            least = least.min(worst);
        }
        let (bar, stuck) =
            (self.file.nominal_over_identified, trials.iter().filter(|t| !t.converged).count());
        Ok(CampaignFindings {
            passed: least >= bar && stuck == 0,
            verdict: format!(
                "Errors along a motion that was not learnt from, means over {} seeds. The nominal model's are at least {} times those of the identified \
                 one; {} was asked for. {stuck} of {} estimates did not converge.",
                self.file.seeds,
                figure(least),
                figure(bar),
                trials.len(),
            ),
            table,
            summary: json!({ "schema": 1, "name": self.file.name, "least_ratio": least, "trials": trials }),
            files: vec![],
        })
    }
}
