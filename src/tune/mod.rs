//! Finds gains for an arm's robust controller: those under which the certifier proves the tube of random plans, with torque sets
//! as small as can be.
//!
//! Candidates of K_r, alpha and V_max ([`crate::robot::Gains`]) are tried on the same plans. What counts is decided by
//! *proof* alone: a candidate is of use if the tube of every plan is proven at the control period and tracking errors carry no link
//! further than is allowed; of those the one with the smallest half-widths of the commands wins (mean plus largest over joints
//! and intervals). Gains that are proven with a fifth less of V_max too come before others: what only just suits some plans refuses others. A *simulation* of the plans with parameters at the edge of the set, and with all that the robot's file says of drives, sensors and
//! timing, then tells how much of the tube is used; gains under which it rings or leaves the tube are refused ([`follow`]). What the
//! law's feedback amounts to is reported ([`feedback`]).
//!
//! The search is a coarse grid, then steps that become finer around the best; the same input gives the same gains.
//!
//! ```no_run
//! use surelift::tune::{TuneOptions, TuningProblem, tune};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let problem = TuningProblem::of_scenario("scenarios/dumbbell_c_8lb.toml".as_ref())?;
//! let report = tune(&problem, &TuneOptions::default(), &|_, _| ())?;
//! println!("{:?}", report.winner().gains);
//! # Ok(())
//! # }
//! ```

pub mod feedback;
pub mod follow;
mod grid;
mod late;
pub mod limits;
pub mod margins;
pub mod measure;
pub mod needs;
mod plans;
mod weighed;
pub mod write;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use thiserror::Error;

use crate::identify::tighten_by_physics;
use crate::inertia::ParameterSet;
use crate::plan::setup::Setup;
use crate::reach::momentum::CycleTiming;
use crate::robot::{self, Arm, Gains, RobotError, Scene};
use crate::scenario::{Scenario, ScenarioError};
use crate::trajectory::Bezier;
pub use feedback::FeedbackFigures;
pub use follow::{Ringing, Simulated};
use grid::grid;
pub use margins::LoopMargin;
pub use measure::{ProvenPerformance, Wanting};
pub use needs::Needs;

/// Duration of the plans of a robot without a scenario, s: that which plans have unless stated.
const DURATION_S: f64 = 3.0;

/// Factors of the steps around the best, from coarse to fine, and how often each is tried while it finds something better.
const STEPS: [f64; 2] = [1.4, 1.15];
const REPEATS: usize = 4;
/// Largest alpha times period: at 1 the certifier refuses.
const MOST_ALPHA: f64 = 0.95;
/// Share of V_max with which plans are to be proven too: motions that ask for more than the plans at hand, and plans that begin in motion, then have room. The
/// terms of the proof grow without bound where V_max is only just enough, so what is short of it by a few percent is refused.
const ROOM: f64 = 0.8;
/// Intervals in which a tube is fitted and measured: as many as the certifier begins with.
const CELLS: usize = 32;

/// What the gains are to be good for.
#[derive(Debug, Clone)]
pub struct TuningProblem {
    /// The robot's file, as given.
    pub path: PathBuf,
    /// The arm, what is known of it, and its plans. The scene plays no part.
    pub arm: Setup,
    /// Where the set comes from, in words.
    pub about: String,
    /// When readings are taken and commands act.
    pub timing: CycleTiming,
    /// The first motion towards the goal, of a scenario that begins with it: a plan to be proven beside the random ones, which rarely move all joints so far.
    pub first: Option<Bezier>,
}

/// How hard to look.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneOptions {
    /// Random plans that must all be proven.
    pub plans: usize,
    /// Seed of the plans and of the simulation.
    pub seed: u64,
    /// How far tracking errors may carry the end of a capsule, m.
    pub growth_m: f64,
    /// No search: the robot's own gains are the only candidate.
    pub own_alone: bool,
}

impl Default for TuneOptions {
    fn default() -> Self {
        Self { plans: 6, seed: 1, growth_m: 0.02, own_alone: false }
    }
}

/// Why no gains were found.
#[derive(Debug, Error)]
pub enum TuneError {
    /// The robot cannot be used.
    #[error(transparent)]
    Robot(#[from] RobotError),
    /// The scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The set holds no body.
    #[error(
        "the set of possible parameters: {0}. A wider prior, or wider [uncertainty] of the robot, would hold a body"
    )]
    Set(String),
    /// The feedback runs in the motors.
    #[error(
        "'{0}' has its feedback in its motors (`timing.motor_loop_age_max_s`): their gains are chosen anew for each plan. `control.k_r` and `control.v_max` are found by \
         trying them: `surelift robot limits` tells what is provable with those of the file"
    )]
    MotorLoops(String),
    /// No plan can be drawn.
    #[error(
        "no plan can be drawn for '{0}' within its limits. Start further from the limits, a smaller range (range_rad), or wider limits would do"
    )]
    Plans(String),
    /// Nothing is provable.
    #[error(
        "no gains are provable for '{robot}' with {about}: of {tried} candidates the one that comes nearest is {nearest}. {}: {needs}. \
         `surelift robot limits` tells the heaviest payload that is provable",
        needs::WITH_THESE
    )]
    Nothing {
        /// The robot.
        robot: String,
        /// Where the set comes from.
        about: String,
        /// Number of candidates.
        tried: usize,
        /// Gains, and the term that forbids them.
        nearest: String,
        /// What would make these gains, or a narrower tube with them, provable.
        needs: Box<Needs>,
    },
    /// All that is provable rings, or leaves its tube in simulation.
    #[error(
        "no gains for '{robot}' with {about} can be followed: {refused} are proven, and all refused in simulation; of the narrowest, {first}. {}",
        needs::fresher(*period_s)
    )]
    Rings {
        /// The robot.
        robot: String,
        /// Where the set comes from.
        about: String,
        /// Number of proven candidates.
        refused: usize,
        /// Gains that are proven with the narrowest torques, and why they are refused.
        first: String,
        /// A control period, s, at which these are followed.
        period_s: Option<f64>,
    },
    /// The law's feedback cannot be told.
    #[error("the feedback of gains k_r {}, alpha {}, v_max {} cannot be told: {reason}", gains.k_r, gains.alpha, gains.v_max)]
    Feedback {
        /// The gains.
        gains: Gains,
        /// What is wrong.
        reason: String,
    },
    /// A robot TOML cannot be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// One candidate and what is proven of it.
#[derive(Debug, Clone, Serialize)]
pub struct Candidate {
    /// The gains.
    pub gains: Gains,
    /// What is proven if all plans are, or else what is wanting.
    #[serde(skip)]
    pub found: Result<ProvenPerformance, Wanting>,
    /// Whether the plans are proven with a fifth less of V_max, too. Gains of which that is true come first.
    pub has_room: bool,
}

impl Candidate {
    /// What counts, N m; infinite if a tube is not proven or too wide.
    fn score(&self, growth_m: f64) -> f64 {
        match &self.found {
            Ok(m) if m.growth_m <= growth_m => m.mean_nm + m.max_nm,
            _ => f64::INFINITY,
        }
    }

    /// How far from use: what is proven but too wide comes before what is not proven.
    fn distance(&self, growth_m: f64) -> (bool, f64) {
        match &self.found {
            Ok(m) => (false, m.growth_m / growth_m),
            Err(wanting) => (true, wanting.excess),
        }
    }
}

/// The outcome of a search.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The robot's name.
    pub robot: String,
    /// Where the set comes from.
    pub about: String,
    /// The candidates of use, the best one first.
    pub useful: Vec<Candidate>,
    /// Number of candidates tried.
    pub tried: usize,
    /// What is proven for the best.
    pub proven: ProvenPerformance,
    /// The same with the last body known to be the middle of its set.
    pub proven_known: Option<ProvenPerformance>,
    /// What a simulation of the best used of its tube.
    pub simulated: Simulated,
    /// What the feedback of the best amounts to.
    pub feedback: FeedbackFigures,
    /// Gains that are proven with narrower torques, and why a simulation refuses them.
    pub refused: Vec<(Gains, String)>,
}

impl Report {
    /// The best candidate.
    pub fn winner(&self) -> &Candidate {
        &self.useful[0]
    }
}

impl TuningProblem {
    /// A scenario's robot, prior, start and range. Where the scenario begins with weighing, the set is what that leaves of the prior.
    ///
    /// # Errors
    /// If the scenario cannot be used.
    pub fn of_scenario(path: &Path) -> Result<Self, TuneError> {
        let task = Scenario::load(path)?.split().0;
        let prior = task.prior_set().map_err(|error| TuneError::Set(error.to_string()))?;
        let left = weighed::heaviest(&task, &prior)?;
        let about = match left {
            Some(_) => {
                format!("what weighing leaves of the prior of {}, with the heaviest load", path.display())
            }
            None => format!("the prior of {}", path.display()),
        };
        let set = physical(&left.unwrap_or(prior), &task.robot)?;
        let range = task.held.as_ref().map_or(task.carry.range_rad.clone(), |h| h.excite.range_rad.clone());
        let file = PathBuf::from(&task.robot.name);
        let first = if task.held.is_none() { plans::first(&task) } else { None };
        // A path of its own is followed to the end, whatever the tolerance of its goal.
        let tolerance = task.path.is_none().then_some(task.goal_tolerance_rad);
        let mut problem = Self::new(file, about, task.robot, set, task.start, range, task.timing.t_f_s);
        problem.arm.tolerance = tolerance;
        Ok(Self { first, ..problem })
    }

    /// A robot within its own uncertainty, from the middle of its joints' ranges.
    ///
    /// # Errors
    /// If there is no such robot, or it is no arm.
    pub fn of_robot(reference: &Path) -> Result<Self, TuneError> {
        Self::of_arm(reference.to_owned(), robot::load(reference)?)
    }

    /// The same for an arm that came from this file or by this name.
    fn of_arm(path: PathBuf, robot: Arm) -> Result<Self, TuneError> {
        let middle = |j: usize| robot.joints[j].limits.position.map_or(0.0, |(l, u)| 0.5 * (l + u));
        let start: Vec<f64> = (0..robot.dof()).map(middle).collect();
        let range = plans::range(&robot);
        let set = physical(&ParameterSet::around_nominal(&robot), &robot)?;
        let about = "the uncertainty that its file states".to_owned();
        Ok(Self::new(path, about, robot, set, start, range, DURATION_S))
    }

    fn new(
        path: PathBuf,
        about: String,
        robot: Arm,
        set: ParameterSet,
        start: Vec<f64>,
        range: Vec<f64>,
        duration_s: f64,
    ) -> Self {
        let label = robot.name.clone();
        let timing = CycleTiming::of(&robot);
        Self {
            path,
            about,
            timing,
            first: None,
            arm: Setup {
                label,
                robot,
                set,
                scene: Scene::default(),
                start,
                range,
                duration_s,
                tolerance: None,
                correlated: false,
            },
        }
    }

    /// The arm with its last body known to be the middle of its set.
    fn known(&self) -> Option<Setup> {
        let mut arm = self.arm.clone();
        let center = arm.set.center();
        let hand = arm.robot.end_effector();
        let body = std::array::from_fn(|k| center[arm.robot.body_range(hand)][k]);
        arm.set = arm.set.with_body(hand, &body, &body).ok()?;
        physical(&arm.set, &arm.robot).ok().map(|_| arm)
    }
}

fn physical(set: &ParameterSet, robot: &Arm) -> Result<ParameterSet, TuneError> {
    tighten_by_physics(set, robot.end_effector()).map_err(|error| TuneError::Set(error.to_string()))
}

/// Candidates and what is proven of each, the best first.
fn search(
    arm: &Setup,
    curves: &[Bezier],
    options: &TuneOptions,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Vec<Candidate> {
    let own = arm.robot.gains();
    let done = AtomicU64::new(0);
    let finer = if options.own_alone { 0 } else { STEPS.len() * REPEATS * 2 * 3 };
    let grid = if options.own_alone { vec![own] } else { grid(own) };
    let total = (grid.len() + finer) as u64;
    let assess = |gains: &Gains| {
        let found = measure::proven(arm, *gains, curves, CELLS);
        let of_use = found.as_ref().is_ok_and(|found| found.growth_m <= options.growth_m);
        let has_room = of_use && {
            let narrower = Gains { v_max: ROOM * gains.v_max, ..*gains };
            curves.iter().all(|curve| measure::one(arm, narrower, curve, CELLS).is_ok())
        };
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        Candidate { gains: *gains, found, has_room }
    };
    let mut tried: Vec<Candidate> = grid.par_iter().map(assess).collect();
    sort(&mut tried, options.growth_m);
    for factor in STEPS.into_iter().filter(|_| !options.own_alone) {
        for _ in 0..REPEATS {
            let best = tried[0].gains;
            let mut near: Vec<Gains> = neighbours(best, factor);
            near.retain(|gains| tried.iter().all(|known| known.gains != *gains));
            tried.extend(near.par_iter().map(assess).collect::<Vec<_>>());
            sort(&mut tried, options.growth_m);
            if tried[0].gains == best {
                break;
            }
        }
    }
    tried
}

/// Searches gains. `progress` is told how many candidates are proven, then simulated, and of how many.
///
/// # Errors
/// [`TuneError::Nothing`] with the nearest candidate, the term that forbids it, and what would be enough; [`TuneError::Rings`] if all that is proven is
/// refused in simulation; [`TuneError::MotorLoops`] where there is nothing to tune.
pub fn tune(
    study: &TuningProblem,
    options: &TuneOptions,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Report, TuneError> {
    if study.arm.robot.timing().has_motor_loops() {
        return Err(TuneError::MotorLoops(study.arm.robot.name.clone()));
    }
    let curves = study.curves(options)?;
    let arm = &study.arm;
    let tried = search(arm, &curves, options, progress);
    let count = tried.len();
    let best = tried[0].gains;
    let nearest = describe(&tried[0], arm, options);
    let useful: Vec<Candidate> =
        tried.into_iter().filter(|c| c.score(options.growth_m).is_finite()).collect();
    if useful.is_empty() {
        let (robot, about) = (arm.robot.name.clone(), study.about.clone());
        let needs = Box::new(study.needs(best, &curves, (count as u64, progress), options.growth_m));
        return Err(TuneError::Nothing { robot, about, tried: count, nearest, needs });
    }
    let total = (count + useful.len()) as u64;
    let simulated = |done: usize| progress((count + done) as u64, total);
    let followed = follow_best(study, useful, &curves, (options.seed, &simulated))?;
    report(study, followed, (count, &curves, options.seed))
}

/// Candidates that are of use, those left out that a simulation refused, and what it says of the best of them.
struct Followed {
    useful: Vec<Candidate>,
    simulated: Simulated,
    refused: Vec<(Gains, String)>,
}

/// Simulates candidates, the best first, until one neither rings nor leaves its tube.
fn follow_best(
    study: &TuningProblem,
    mut useful: Vec<Candidate>,
    curves: &[Bezier],
    (seed, progress): (u64, &dyn Fn(usize)),
) -> Result<Followed, TuneError> {
    let arm = &study.arm;
    let mut refused = Vec::new();
    for best in 0..useful.len() {
        let gains = useful[best].gains;
        let simulated = follow::simulated(arm, gains, curves, (&study.timing, seed));
        progress(best + 1);
        match simulated.refusal(&arm.robot.joints) {
            None => return Ok(Followed { useful: useful.split_off(best), simulated, refused }),
            Some(reason) => refused.push((gains, reason)),
        }
    }
    let first = refused.first().map_or(String::new(), |(g, reason)| {
        format!("k_r {}, alpha {}, v_max {}: {reason}", g.k_r, g.alpha, g.v_max)
    });
    let (robot, about) = (arm.robot.name.clone(), study.about.clone());
    let period_s = study.calm_period_s(useful[0].gains, curves, seed);
    Err(TuneError::Rings { robot, about, refused: refused.len(), first, period_s })
}

/// What is told of the best.
fn report(
    study: &TuningProblem,
    followed: Followed,
    (tried, curves, seed): (usize, &[Bezier], u64),
) -> Result<Report, TuneError> {
    let Followed { useful, simulated, refused } = followed;
    let (arm, gains) = (&study.arm, useful[0].gains);
    let wrong = |reason: String| TuneError::Feedback { gains, reason };
    let proven = useful[0].found.clone().map_err(|wanting| wrong(wanting.term))?;
    let proven_known = study.known().and_then(|arm| measure::proven(&arm, gains, curves, CELLS).ok());
    let feedback = feedback::feedback(arm, gains, curves, (&study.timing, seed)).map_err(wrong)?;
    let (robot, about) = (arm.robot.name.clone(), study.about.clone());
    Ok(Report { robot, about, useful, tried, proven, proven_known, simulated, feedback, refused })
}

/// Candidates a step up and down of each gain.
fn neighbours(best: Gains, factor: f64) -> Vec<Gains> {
    let most = MOST_ALPHA / best.period_s;
    let mut near = Vec::new();
    for f in [factor, 1.0 / factor] {
        near.push(Gains { k_r: best.k_r * f, ..best });
        near.push(Gains { v_max: best.v_max * f, ..best });
        near.push(Gains { alpha: (best.alpha * f).min(most), ..best });
    }
    // Figures that a file can hold without looking odd.
    near.iter_mut().for_each(|g| {
        (g.k_r, g.v_max, g.alpha) = (short(g.k_r), short(g.v_max), short(g.alpha));
    });
    near
}

/// Three significant digits.
fn short(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { format!("{x:.2e}").parse().unwrap_or(x) }
}

/// Those with room first, of these the best; without any of use, the nearest to use first.
fn sort(candidates: &mut [Candidate], growth_m: f64) {
    candidates.sort_by(|a, b| {
        let (near, far) = (a.distance(growth_m), b.distance(growth_m));
        let by_score = a.score(growth_m).total_cmp(&b.score(growth_m));
        let by_room = b.has_room.cmp(&a.has_room);
        by_room.then(by_score).then(near.0.cmp(&far.0)).then(near.1.total_cmp(&far.1))
    });
}

fn describe(candidate: &Candidate, arm: &Setup, options: &TuneOptions) -> String {
    let g = &candidate.gains;
    let gains = format!("k_r {}, alpha {}, v_max {}", g.k_r, g.alpha, g.v_max);
    match &candidate.found {
        Ok(m) => format!(
            "{gains}, whose tubes are proven but carry a link by {:.1} mm, more than the {:.1} mm allowed (--growth-mm {:.0} allows it)",
            1e3 * m.growth_m,
            1e3 * options.growth_m,
            (1e3 * m.growth_m).ceil()
        ),
        Err(wanting) => {
            format!("{gains}, forbidden by {} (period {} s)", wanting.term, arm.robot.gains().period_s)
        }
    }
}

#[cfg(test)]
mod tests;
