//! A run by a method, from the scenario to the record.

use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use super::follow::Follower;
use super::law::Law;
use super::learning::{self, Lesson, Stretch};
use super::preset::{AssumedBody, ControlLaw, Learning, MethodPreset, PlannedLearning, Proof};
use crate::horizon::{
    Hardware, Margins, Observer, Outcome, PlanSummary, Record, RunError, RunOptions, Task, TaskPhase,
};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::Plan;
use crate::plan::propose::ConstraintModel;
use crate::report::RunRecord;
use crate::scenario::{self, Scenario, ScenarioError};
use crate::trajectory::{Bezier, JointState, PiecewiseBezier};

/// After the path the arm is held where it ends for so long, s, until it is judged.
const SETTLE_S: f64 = 0.5;
/// Where the arm rests beside the start of the path, it is led there within this time, s.
const LEAD_IN_S: f64 = 1.5;
/// An arm within this of the start of the path is there, rad (m): more than encoders err by, and less than any tolerance.
const THERE_RAD: f64 = 1e-3;

/// A run that a method cannot do.
#[derive(Debug, Error)]
pub enum MethodError {
    /// The scenario cannot be loaded.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The loop refuses it.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The method asks for what the scenario does not have.
    #[error("method `{method}`: {reason}")]
    Unfit {
        /// Name of the method.
        method: String,
        /// What is missing and what was expected.
        reason: String,
    },
}

/// Runs a scenario by a method, in simulation, to its end. `load` gives the scenario with what is held; with a name, its variant of that name. It may be asked
/// more than once, for worlds of their own.
///
/// # Errors
/// [`MethodError`] for a scenario that cannot be loaded, or that lacks what the method needs. Everything that happens to the arm is an outcome instead.
pub fn run(
    load: &dyn Fn(Option<&str>) -> Result<Scenario, ScenarioError>,
    preset: &MethodPreset,
    (seed, timed): (u64, bool),
    observer: &mut dyn Observer,
) -> Result<RunRecord<Plan>, MethodError> {
    let scenario = load(None)?;
    let unfit = |reason: &str| MethodError::Unfit { method: preset.name.clone(), reason: reason.to_owned() };
    let joints = scenario.task().robot.dof();
    preset.controller.check(joints).map_err(|reason| unfit(&format!("controller: {reason}")))?;
    let path = match (preset.proof, scenario.task().path.clone()) {
        (Proof::None, Some(path)) => path,
        // Of the methods without a proof, that with the prior alone has a planner that finds its way.
        (Proof::None, None)
            if preset.believes != AssumedBody::Prior || preset.controller != ControlLaw::Robust =>
        {
            return Err(unfit(
                "the scenario gives no path; expected a table `path`, as this method plans none",
            ));
        }
        _ => return in_loop(scenario, preset, (seed, timed), observer),
    };
    if scenario.task().robot.timing().has_motor_loops() {
        return Err(unfit(
            "the robot has its feedback in its motors (`timing.motor_loop_age_max_s`), which this method does not reach; expected one without",
        ));
    }
    let stated = match &preset.believes {
        AssumedBody::Item(item) => {
            let (_, truth) = load(Some(item))?.split();
            Some(truth.reveal().ok_or_else(|| unfit("nothing is held in the variant that it believes in"))?)
        }
        _ => None,
    };
    let motions = match preset.learns {
        Learning::Adapting => motions_of_ours(load(None)?, (seed, timed), observer)?,
        _ => vec![],
    };
    let options = options_of("ours", (seed, timed));
    let mut record = scenario::simulate(scenario, &options, observer, |task, world, observer| {
        let mut baseline = Baseline { preset, task, path: &path, stated, motions, options: &options };
        baseline.carry_out(world, observer)
    })?;
    let log = &record.log;
    let largest = log.iter().flat_map(|row| &row.error).map(|e| e.abs()).fold(0.0, f64::max);
    let summary = &mut record.summary;
    (summary.method, summary.unproven) = (preset.name.clone(), true);
    (summary.max_tracking_error_rad, summary.tube_used_ratio) = (Some(largest), None);
    Ok(record)
}

fn options_of(method: &str, (seed, timed): (u64, bool)) -> RunOptions {
    RunOptions { method: method.to_owned(), seed, timed }
}

/// A method whose motions are all proven.
fn in_loop(
    scenario: Scenario,
    preset: &MethodPreset,
    draw: (u64, bool),
    observer: &mut dyn Observer,
) -> Result<RunRecord<Plan>, MethodError> {
    let (scenario, loops) = match &preset.learns {
        Learning::Planned(how) => {
            (scenario.adjusted(|task| *task = learning::adjusted(task, how, preset.planner)), "ours")
        }
        _ => (scenario.adjusted(|task| task.planner = preset.planner), "conservative"),
    };
    let mut record = scenario::run(scenario, &options_of(loops, draw), observer)?;
    record.summary.method.clone_from(&preset.name);
    Ok(record)
}

/// The motions that `ours` makes before the path, in a world of its own.
fn motions_of_ours(
    scenario: Scenario,
    draw: (u64, bool),
    observer: &mut dyn Observer,
) -> Result<Vec<Stretch>, MethodError> {
    let mut motions = vec![];
    let options = options_of("ours", draw);
    scenario::simulate(scenario, &options, observer, |task, world, observer| {
        let task = learning::without_path(task, &PlannedLearning::default(), ConstraintModel::default());
        let lesson = learning::planned(&task, world, &options, observer)?;
        motions = learning::motions(&lesson.record);
        Ok(lesson.record)
    })?;
    Ok(motions)
}

/// A method that carries out the path without a proof.
struct Baseline<'a> {
    preset: &'a MethodPreset,
    task: &'a Task,
    path: &'a PiecewiseBezier,
    /// The body that it is told is held.
    stated: Option<[f64; INERTIAL]>,
    /// The motions that it adapts on.
    motions: Vec<Stretch>,
    options: &'a RunOptions,
}

impl Baseline<'_> {
    fn carry_out<H: Hardware>(
        &mut self,
        hardware: &mut H,
        observer: &mut dyn Observer,
    ) -> Result<Record, RunError> {
        let clock = Instant::now();
        let mut lesson = match &self.preset.learns {
            Learning::Planned(how) => {
                let task = learning::without_path(self.task, how, self.preset.planner);
                learning::planned(&task, hardware, self.options, observer)?
            }
            _ => Lesson { record: Record { outcome: Outcome::Success, ..Record::new() }, known: None },
        };
        // Whoever did not come to the start of the path does not begin it.
        if lesson.record.outcome == Outcome::Success {
            let mut follower = Follower {
                hardware,
                robot: Arc::new(self.task.robot.clone()),
                log: std::mem::take(&mut lesson.record.log),
                saturated: (0, None),
                adapted: vec![],
            };
            let ended = self.follow_path(&mut follower, &mut lesson);
            let Follower { log, saturated, adapted, .. } = follower;
            let asked = saturated.1.map(|j| {
                let (ticks, name) = (saturated.0, &self.task.robot.joints[j].name);
                format!("joint '{name}' was asked for more than its torque limit, in {ticks} ticks in all")
            });
            (lesson.record.log, lesson.record.adapted) = (log, adapted);
            (lesson.record.outcome, lesson.record.reason) = match (ended, asked) {
                (Err(reason), None) => (Outcome::SafeStop, Some(reason)),
                (Err(reason), Some(asked)) => (Outcome::TorqueLimit, Some(format!("{asked}; {reason}"))),
                (Ok(()), Some(asked)) => (Outcome::TorqueLimit, Some(asked)),
                (Ok(()), None) => (Outcome::Success, None),
            };
        }
        let mut record = lesson.record;
        record.goal = self.path.end();
        (record.duration_s, record.wall_s) = (hardware.time(), clock.elapsed().as_secs_f64());
        Ok(record)
    }

    /// Learns where that is done by the own controller, goes to the start of the path, along it, and rests at its end.
    fn follow_path<H: Hardware>(
        &mut self,
        follower: &mut Follower<'_, H>,
        lesson: &mut Lesson,
    ) -> Result<(), String> {
        let path = self.path;
        if let Learning::Fourier(series) = &self.preset.learns {
            let mut before = self.law(&AssumedBody::EmptyHand, lesson)?;
            let seed = self.options.seed;
            let (found, set) = learning::fourier(self.task, follower, &mut before, (series, seed))?;
            let body = found.known.nominal.clone().try_into().map_err(|_| "ten parameters")?;
            lesson.record.identification.push(found);
            lesson.known = Some((set, body));
        }
        let mut law = self.law(&self.preset.believes, lesson)?;
        learning::follow_motions(follower, &mut law, &self.motions)?;
        lead_in(follower, &mut law, path)?;
        lesson.record.attempts.push(self.unproven(follower.hardware.time()));
        let desired = |t: f64, out: &mut JointState| path.evaluate(t, out);
        follower.follow(&mut law, &desired, path.duration_s())?;
        let end = JointState::at_rest(&path.end());
        follower.follow(&mut law, &|_, out: &mut JointState| out.clone_from(&end), SETTLE_S)
    }

    /// The controller, with what it believes.
    fn law(&self, believes: &AssumedBody, lesson: &Lesson) -> Result<Law, String> {
        let robot = Arc::new(self.task.robot.clone());
        let hand = |body: &[f64; INERTIAL]| {
            let mut theta = robot.nominal_parameters();
            theta[robot.body_range(robot.end_effector())].copy_from_slice(body);
            theta
        };
        let exactly = |theta: &[f64]| ParameterSet::new(theta.to_vec(), theta.to_vec());
        let unknown = "nothing was identified";
        let (set, theta) = match believes {
            AssumedBody::Identified => {
                let (set, body) = lesson.known.as_ref().ok_or(unknown)?;
                (Ok(set.clone()), hand(body))
            }
            AssumedBody::Prior => {
                let prior = self.task.prior_set().map_err(|fault| fault.to_string())?;
                let guess = self.task.held.as_ref().and_then(|held| held.prior.guess());
                let theta = guess.map_or_else(|| prior.center(), |guess| hand(&guess));
                (Ok(prior), theta)
            }
            AssumedBody::EmptyHand => (exactly(&robot.nominal_parameters()), robot.nominal_parameters()),
            AssumedBody::Item(_) => {
                let theta = hand(&self.stated.ok_or(unknown)?);
                (exactly(&theta), theta)
            }
        };
        let set = set.map_err(|fault| fault.to_string())?;
        Law::new(&self.preset.controller, robot, (&set, &theta), self.path)
    }

    /// The path among the plans that were tried.
    fn unproven(&self, t: f64) -> PlanSummary {
        PlanSummary {
            t,
            phase: TaskPhase::Path,
            certified: false,
            propose_ms: 0.0,
            certify_ms: 0.0,
            min_margin: Margins::default(),
            torque: None,
            reason: Some(format!(
                "not certified: `{}` carries out the path without a proof",
                self.preset.name
            )),
        }
    }
}

/// Leads the arm from where it rests to the start of the path.
fn lead_in<H: Hardware>(
    follower: &mut Follower<'_, H>,
    law: &mut Law,
    path: &PiecewiseBezier,
) -> Result<(), String> {
    let (here, start) = (follower.rests_at(), path.start());
    if here.iter().zip(&start).all(|(a, b)| (a - b).abs() <= THERE_RAD) {
        return Ok(());
    }
    let way = Bezier::to_rest(&JointState::at_rest(&here), &start, LEAD_IN_S).map_err(|e| e.to_string())?;
    follower.follow(law, &|t, out: &mut JointState| way.evaluate(t, out), LEAD_IN_S)
}
