//! Torques of a robot with a closed loop on a motion that was not learnt from, by models with and without the loop ([3, Fig. 15]).
//!
//! The simulated robot of a problem file moves with its loops closed. Four models predict what its motors gave:
//! - *nominal*: the robot's files, with the loop;
//! - *nominal, no loop*: the same without the joints that the loop needs, where the motor's torque counts as the driven joint's;
//! - *reduced*: that one, identified from the samples;
//! - *closed chain*: the robot with its loop, identified from the same samples.
//!
//! A model without the loop knows where the linkage puts the driven joint, and how fast; what it does not know is how the linkage turns the motor's torque.
//! Predictions are compared with what the motors really gave: the other motion is simulated without noise.

mod models;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::trials::{Trials, digest, seeded};
use super::{CampaignError, CampaignFindings, exact};
use crate::dynamics::actuation::extended_parameters;
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::estimate::{EstimateError, Solver, Status};
use crate::report::figure::figure;
use crate::robot::{Limb, Model};
use crate::study::estimation::EstimationStudy;
use models::{ChainModel, Moment, closed_errors, moments, torque_sizes};

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransmissionFile {
    /// Name of the campaign.
    name: String,
    /// A simulated problem of a robot on a fixed base, with its loops; relative to the campaign file.
    problem: PathBuf,
    /// What is changed in the problem file, key by key.
    #[serde(default)]
    change: toml::Table,
    /// Realisations of the noise: seeds 1..=seeds.
    seeds: u64,
    /// What is changed besides for the motion whose torques are predicted. Its samples have no noise.
    held_out: toml::Table,
    /// The model without the loop.
    reduced: ReducedFile,
    /// How many times the nominal model's error at `reduced.motor` that of the identified one with the loop should be at least.
    nominal_over_closed: f64,
    /// The same of the identified model without the loop.
    reduced_over_closed: f64,
}

/// A robot without its loop.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReducedFile {
    /// Joints that are left out, with all that they carry and with the loops that touch these.
    left_out: Vec<String>,
    /// The joint that the motor's torque is taken for.
    joint: String,
    /// The joint of that motor.
    motor: String,
    /// Links whose inertia is identified, in the coordinates and with the prior deviations of the problem's first body. Friction of `motor` that the
    /// problem estimates is identified at `joint`, with transmission inertia.
    links: Vec<String>,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct TransmissionCampaign {
    path: PathBuf,
    file: TransmissionFile,
    robot: Arc<Model>,
    chain: Limb,
    /// By joint of the chain: the degree of freedom of the whole robot whose motor's torque it takes.
    motors: Vec<usize>,
    /// The chain's joint that takes another's torque, and links that are identified (joints of the chain).
    driven: usize,
    links: Vec<usize>,
    inputs: u64,
}

/// One realisation: root mean squares over the other motion, N m, motor by motor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trial {
    seed: u64,
    #[serde(with = "exact::list")]
    torque: Vec<f64>,
    #[serde(with = "exact::list")]
    nominal: Vec<f64>,
    #[serde(with = "exact::list")]
    nominal_no_loop: Vec<f64>,
    #[serde(with = "exact::list")]
    reduced: Vec<f64>,
    #[serde(with = "exact::list")]
    closed: Vec<f64>,
    /// Of the parameters that the simulator has: what is left is of the comparison itself.
    #[serde(with = "exact::list")]
    truth: Vec<f64>,
    /// How the searches for the identified models ended.
    closed_status: String,
    reduced_status: String,
}

impl TransmissionCampaign {
    pub(super) fn new(path: &Path, file: TransmissionFile) -> Result<Self, CampaignError> {
        let wrong = |field: &str, reason: String| CampaignError::field(path, field.to_owned(), reason);
        if file.seeds == 0 {
            return Err(wrong("seeds", "is 0, expected at least 1".into()));
        }
        for (field, x) in [
            ("nominal_over_closed", file.nominal_over_closed),
            ("reduced_over_closed", file.reduced_over_closed),
        ] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(wrong(field, format!("is {x}, expected a positive number")));
            }
        }
        let problem = path.parent().unwrap_or(Path::new("")).join(&file.problem);
        let load = |changes: &[&toml::Table]| {
            EstimationStudy::load_changed(&problem, changes).map_err(|e| wrong("problem", e.to_string()))
        };
        let (learnt, other) = (load(&[&file.change])?, load(&[&file.change, &file.held_out])?);
        let robot = learnt.robot.clone();
        if robot.has_free_flyer() || robot.loops.is_empty() {
            let reason = format!("robot `{}`: expected one with loops on a fixed base", robot.name);
            return Err(wrong("problem", reason));
        }
        let joint = |field: &str, name: &str| {
            let found = robot.joints.iter().position(|j| j.name == name);
            found.ok_or_else(|| wrong(field, format!("no joint `{name}` of robot `{}`", robot.name)))
        };
        let left_out: Vec<usize> =
            file.reduced.left_out.iter().map(|n| joint("reduced.left_out", n)).collect::<Result<_, _>>()?;
        let chain = robot.without_joints(&left_out);
        let (driven, motor) =
            (joint("reduced.joint", &file.reduced.joint)?, joint("reduced.motor", &file.reduced.motor)?);
        let Some(driven) = chain.joints.iter().position(|&i| i == driven) else {
            return Err(wrong("reduced.joint", "is left out itself".into()));
        };
        let mut motors: Vec<usize> = chain.joints.iter().map(|&i| robot.v_index(i)).collect();
        motors[driven] = robot.v_index(motor);
        let mut sorted = motors.clone();
        sorted.sort_unstable();
        if sorted != motors_and_base(&robot) || !chain.model.loops.is_empty() {
            let reason = "what is left has loops, or not one joint for each motor of the robot";
            return Err(wrong("reduced.left_out", reason.into()));
        }
        let mut links = vec![];
        for name in &file.reduced.links {
            let found = chain.model.joints.iter().position(|j| j.link == *name);
            links.push(found.ok_or_else(|| wrong("reduced.links", format!("no link `{name}` is left")))?);
        }
        if learnt.map.bodies.is_empty() {
            return Err(wrong("problem", "estimates no body, expected one at least".into()));
        }
        let inputs = digest(&(&learnt, &other));
        Ok(Self { path: path.to_owned(), file, robot, chain, motors, driven, links, inputs })
    }

    fn load(&self, more: &[&toml::Table]) -> Result<EstimationStudy, EstimateError> {
        let problem = self.path.parent().unwrap_or(Path::new("")).join(&self.file.problem);
        let changes: Vec<&toml::Table> =
            std::iter::once(&self.file.change).chain(more.iter().copied()).collect();
        let mut study = EstimationStudy::load_changed(problem, &changes)?;
        // Trials are made side by side, each the same however many threads there are.
        study.options.parallel = false;
        Ok(study)
    }

    /// The motion that nothing is learnt from: what moved, and the true parameters.
    fn other_motion(&self) -> Result<(Vec<Moment>, Vec<f64>), EstimateError> {
        let mut silent = toml::Table::new();
        let still = ["q_rad", "dq_rad_s", "tau_nm"].map(|key| (key.to_owned(), toml::Value::Float(0.0)));
        let noise: toml::Table = still.into_iter().collect();
        silent.insert("simulate".into(), toml::Table::from_iter([("noise".to_owned(), noise.into())]).into());
        let study = self.load(&[&self.file.held_out, &silent])?;
        let (step_s, torques) =
            (study.step_s, study.samples.iter().map(|s| s.tau.clone()).collect::<Vec<_>>());
        let Some((truth, states)) = study.reveal() else {
            return Err(EstimateError::Recording { reason: "expected a simulated problem".into() });
        };
        Ok((moments(&self.robot, &states, &torques, step_s)?, truth))
    }

    fn trial(&self, seed: u64) -> Result<Trial, EstimateError> {
        let study = self.load(&[&seeded(seed)])?;
        let problem = study.problem()?;
        let mut solver = Solver::new(&problem, study.options)?;
        let outcome = solver.solve(&problem.guess())?;
        let mut identified = study.map.nominal.clone();
        study.map.fill(&self.robot, &solver.trajectory().theta, &mut identified);
        let chain = ChainModel {
            robot: Arc::new(self.chain.model.clone()),
            places: self.chain.joints.iter().map(|&i| self.robot.v_index(i)).collect(),
            motors: self.motors.clone(),
        };
        let motor = self.robot.joints.iter().position(|j| j.name == self.file.reduced.motor);
        let (reduced, settled) = chain.identify(&study, (self.driven, motor), &self.links)?;
        let (moments, truth) = self.other_motion()?;
        let robot = &self.robot;
        Ok(Trial {
            seed,
            torque: torque_sizes(&moments),
            nominal: closed_errors(robot, &extended_parameters(robot), &moments),
            nominal_no_loop: chain.errors(&extended_parameters(&chain.robot), &moments),
            reduced: chain.errors(&reduced, &moments),
            closed: closed_errors(robot, &identified, &moments),
            truth: closed_errors(robot, &truth, &moments),
            closed_status: format!("{:?}", outcome.status),
            reduced_status: format!("{settled:?}"),
        })
    }
}

impl Trials for TransmissionCampaign {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let (reduced, inputs) = (&self.file.reduced, self.inputs);
        (1..=self.file.seeds).map(|seed| format!("seed {seed}, {reduced:?}, inputs {inputs:016x}")).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        let seed = number as u64 + 1;
        self.trial(seed).map_err(|e| CampaignError::Trials(format!("seed {seed}: {e}")))
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let mean = |of: &dyn Fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / trials.len() as f64;
        let heading = [
            "motor",
            "torque, N m",
            "nominal",
            "nominal, no loop",
            "reduced",
            "closed chain",
            "true parameters",
            "nominal / closed",
            "reduced / closed",
        ];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        let (mut rows, mut reached) = (vec![], false);
        for (m, dof) in motors_and_base(&self.robot).into_iter().enumerate() {
            let joint = self.robot.joints.iter().enumerate().find(|(i, _)| self.robot.v_index(*i) == dof);
            let name = joint.map_or(String::new(), |(_, j)| j.name.clone());
            let rms = [
                mean(&|t| t.torque[m]),
                mean(&|t| t.nominal[m]),
                mean(&|t| t.nominal_no_loop[m]),
                mean(&|t| t.reduced[m]),
                mean(&|t| t.closed[m]),
                mean(&|t| t.truth[m]),
            ];
            let ratios = [rms[1] / rms[4], rms[3] / rms[4]];
            if name == self.file.reduced.motor {
                reached =
                    ratios[0] >= self.file.nominal_over_closed && ratios[1] >= self.file.reduced_over_closed;
            }
            table.push(
                std::iter::once(name.clone()).chain(rms.iter().chain(&ratios).map(|x| figure(*x))).collect(),
            );
            rows.push(json!({ "motor": name, "rms_nm": rms, "ratios": ratios }));
        }
        let converged = format!("{:?}", Status::Converged);
        let stuck = |of: &dyn Fn(&Trial) -> &str| trials.iter().filter(|t| of(t) != converged).count();
        let (closed, reduced) = (stuck(&|t| &t.closed_status), stuck(&|t| &t.reduced_status));
        let file = &self.file;
        Ok(CampaignFindings {
            passed: reached && closed == 0 && reduced == 0,
            verdict: format!(
                "Root mean squares of predicted less true torque, N m, over a motion that was not learnt from; means over {} seeds. At {} \
                 the identified model with the loop {} the nominal one's error {} times and the reduced one's {} times. {closed} estimates \
                 with the loop and {reduced} without it ended before they converged.",
                trials.len(),
                file.reduced.motor,
                if reached { "goes below" } else { "does not go below" },
                file.nominal_over_closed,
                file.reduced_over_closed,
            ),
            table,
            summary: json!({ "schema": 1, "name": file.name, "reached": reached, "motors": rows, "trials": trials }),
            files: vec![],
        })
    }
}
