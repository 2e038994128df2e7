//! Motions of a robot on its feet from which the inertia of its links is learnt best.
//!
//! The base and joints that carry nothing follow Fourier series from rest to rest; legs follow them, so that feet stand where they stand exactly. A search begins with random motions that keep
//! the limits and changes the best one where that helps. Limits are those of joints (position, speed, torque), of the friction cones, of what each foot has to carry, and of the soles. Torques
//! and forces are those of the nominal robot; of all that make the motion the torques are the least in the mean square.
//!
//! What sensors on the motors tell are the rows of G'(M a + h) = G' S tau, which no force of a foot enters ([`crate::dynamics::constraint::reduced`]; [1, appendix B] has the rows of the base).
//! Limits are looked at in samples, ten times finer at the end; self-collision is not looked at. Nothing here is a bound.

use std::path::Path;

use nalgebra::DMatrix;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dynamics::constraint::reduced::ReducedError;
use crate::inertia::INERTIAL;
use crate::robot::{LoopKind, Model};
use crate::simulate::{Posture, Sway, SwayState};
use crate::simulate::sway::BASE;
use crate::study::excitation::{Adaptation, Judge, SHARES};
use crate::trajectory::{Fourier, TrajectoryError};

mod beside;
mod support;
#[cfg(test)]
mod tests;

pub use beside::Beside;
use support::Support;
pub use support::{Carried, LimitShares};

/// Harmonics of a motion; the first follows from rest at both ends.
const HARMONICS: usize = 5;
/// Samples of a motion in the search, and how much finer limits are looked at at the end.
const SAMPLES: usize = 48;
const FINER: usize = 10;
/// Of each limit so much is used in the search: between samples, and to track, the rest is needed.
const USED: f64 = 0.9;
/// How far the base moves, m and rad, at most; legs and feet mostly allow less.
const RANGE: [f64; 2] = [0.2, 0.5];
/// How far a joint without limits swings, rad.
const UNLIMITED: f64 = 1.0;
/// Share of a motor's torque that friction may take.
const FOR_FRICTION: f64 = 0.5;
/// First step of the search, as a share of a random motion's mean coefficient.
const FIRST_STEP: f64 = 0.3;
/// Motions that use more than so much of a limit are not looked at further.
const FARTHEST: f64 = 3.0;
/// What a motion is made smaller by until it keeps the limits at ten times as many samples.
const SMALLER: f64 = 0.97;

/// Why there is no motion.
#[derive(Debug, Error)]
pub enum StandingError {
    /// A setting that makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A foot without a leg that could place it.
    #[error("foot `{foot}`: {joints} joints of its own place it, expected {expected}")]
    Leg {
        /// Name of its frame.
        foot: String,
        /// Joints between it and the base that place no other foot.
        joints: usize,
        /// Joints that are needed.
        expected: usize,
    },
    /// The contacts do not fit the robot.
    #[error(transparent)]
    Reduced(#[from] ReducedError),
    /// Coefficients that make no curve.
    #[error(transparent)]
    Curve(#[from] TrajectoryError),
    /// No motion keeps the limits.
    #[error("{0}")]
    Nothing(String),
}

/// A foot that stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Index of its frame among the robot's named ones. For a rigid one its z axis points up.
    pub frame: usize,
    /// A point, or a sole that does not turn.
    pub kind: LoopKind,
    /// Half length and half width of a sole along the axes of the world, m; its frame is in its middle.
    pub sole_m: [f64; 2],
}

impl Footprint {
    fn rows(&self) -> usize {
        if self.kind == LoopKind::Rigid { 6 } else { 3 }
    }
}

/// What is made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Condition number of the base columns of all links, each scaled by what random motions make of it.
    Condition,
    /// Deviations of the wanted links' parameters, all others known: their geometric mean.
    Deviations,
}

/// What the motion is to be like.
#[derive(Debug, Clone)]
pub struct StandingTask<'a> {
    /// The robot, with a floating base.
    pub robot: &'a Model,
    /// Its feet.
    pub feet: Vec<Footprint>,
    /// The configuration that it starts from and ends in, length nq: all feet stand.
    pub start: Vec<f64>,
    /// Coefficient of friction of the ground.
    pub friction: f64,
    /// Bodies whose inertial parameters are wanted; of all together base parameters, of some their deviations are told.
    pub wanted: Vec<usize>,
    /// What is made small.
    pub goal: Goal,
    /// Duration, s.
    pub duration_s: f64,
    /// Random motions to begin with, and changes that are tried after that.
    pub evaluations: (usize, usize),
    /// Of the search.
    pub seed: u64,
    /// A motion to compare with, on the same feet from the same start.
    pub beside: Option<Posture>,
}

/// Deviations of a link's ten parameters, where torque sensors err by 1 N m and all else is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkDeviations {
    /// The link.
    pub link: String,
    /// Of m (kg), m c (kg m), I_xx, I_xy, I_yy, I_xz, I_yz, I_zz (kg m^2) about the joint's frame, by one pass through the motion with a sample each 10 ms.
    pub deviations: Vec<f64>,
}

/// A motion and what it tells.
#[derive(Debug, Clone, Serialize)]
pub struct StandingMotion {
    /// Name of the robot.
    pub robot: String,
    /// Frames of the feet.
    pub feet: Vec<String>,
    /// What was made small.
    pub goal: Goal,
    /// Duration, s.
    pub duration_s: f64,
    /// Configuration at both ends.
    pub start: Vec<f64>,
    /// Names of the coordinates: three shifts of the base along the world's axes (m), three entries of its rotation vector (rad), joints that carry nothing.
    pub coordinates: Vec<String>,
    /// For each coordinate (a_k, b_k) of x = sum a_k sin(k w t) / (k w) + b_k (1 - cos(k w t)) / (k w), k = 2.., per second; the first follow from rest.
    pub coefficients: Vec<Vec<[f64; 2]>>,
    /// Number of base parameters of the links.
    pub rank: usize,
    /// Condition number of their columns, scaled; the same of random motions within the same limits, in the mean (geometric).
    pub condition_number: f64,
    /// See `condition_number`.
    pub random_condition_number: f64,
    /// Deviations of the wanted links.
    pub deviations: Vec<LinkDeviations>,
    /// What the motion uses of the limits, at ten times as many samples as in the search.
    pub used: LimitShares,
    /// What the motion to compare with tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// A motion that keeps the limits, its coefficients in [-1, 1] after scaling.
#[derive(Debug, Clone)]
struct Trial {
    x: Vec<f64>,
    information: DMatrix<f64>,
    /// Largest share of a limit.
    most: f64,
    /// What is made small; NaN while there is no judge.
    value: f64,
}

/// The trial of the least value.
fn least(trials: Vec<Trial>) -> Option<Trial> {
    trials.into_iter().min_by(|a, b| a.value.total_cmp(&b.value))
}

/// One sample in so much time, s, is what deviations are told for.
const SAMPLED_S: f64 = 0.01;

impl StandingTask<'_> {
    /// Finds the motion.
    ///
    /// # Errors
    /// [`StandingError`] names the setting or the foot that makes no sense; or says that no motion keeps the limits, and one that was in the way.
    pub fn run(&self) -> Result<StandingMotion, StandingError> {
        self.check()?;
        let support = Support::new(self.robot, &self.feet, self.friction, &self.start)?;
        self.check_start(&support)?;
        let ranges = self.ranges(support.swinging());
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let numbers = ranges.len() * 2 * (HARMONICS - 1);
        let (first, changes) = self.evaluations;
        let draws: Vec<Vec<f64>> =
            (0..first).map(|_| (0..numbers).map(|_| rng.random_range(-1.0..=1.0)).collect()).collect();
        let within = |x: &Vec<f64>| {
            let mut tried = Err("");
            for share in SHARES {
                tried = self.trial(&support, &ranges, x.iter().map(|x| share * x).collect(), USED);
                if tried.is_ok() {
                    break;
                }
            }
            tried
        };
        let (trials, refused): (Vec<_>, Vec<_>) = draws.par_iter().map(within).partition(Result::is_ok);
        let mut trials: Vec<Trial> = trials.into_iter().flatten().collect();
        if trials.is_empty() {
            let reason = refused.into_iter().find_map(Result::err).unwrap_or("nothing");
            return Err(StandingError::Nothing(format!(
                "of {first} random motions none keeps the limits, however small; the first one met {reason}"
            )));
        }
        let judge = Judge::new(trials.iter().map(|trial| &trial.information));
        let conditions: Vec<f64> =
            trials.par_iter().map(|trial| judge.condition([&trial.information]).ln()).collect();
        let random = (conditions.iter().sum::<f64>() / trials.len() as f64).exp();
        trials.par_iter_mut().for_each(|trial| trial.value = self.value(&judge, &trial.information));
        let Some(best) = least(trials) else { return Err(StandingError::Nothing("no motion".to_owned())) };
        let best = self.improved(best, (&support, &ranges, &judge), changes, rng);
        self.told(support, &ranges, (&judge, random), best)
    }

    /// The best of `changes` more motions, around the best so far.
    fn improved(
        &self,
        mut best: Trial,
        (support, ranges, judge): (&Support<'_>, &[f64], &Judge),
        changes: usize,
        mut rng: ChaCha8Rng,
    ) -> Trial {
        let size = (best.x.iter().map(|x| x * x).sum::<f64>() / best.x.len() as f64).sqrt();
        let mut search = Adaptation::new(&best.x, FIRST_STEP * size);
        let mut left = changes;
        while left > 0 {
            let drawn = search.draw(&mut rng);
            left = left.saturating_sub(drawn.len());
            let valued = |x: Vec<f64>| {
                let mut trial = self.trial(support, ranges, x, FARTHEST).ok()?;
                trial.value = self.value(judge, &trial.information);
                let beyond = (trial.most / USED).max(1.0).ln();
                Some((trial.value + self.price() * beyond, trial))
            };
            let mut ranked: Vec<(f64, Trial)> = drawn.into_par_iter().filter_map(valued).collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
            search.learn(&ranked.iter().map(|(_, trial)| trial.x.as_slice()).collect::<Vec<_>>());
            let kept = ranked.into_iter().map(|(_, trial)| trial).filter(|trial| trial.most <= USED);
            best = least(kept.chain([best]).collect()).unwrap_or_else(|| unreachable!());
        }
        best
    }

    /// What a motion e times too large counts for in the search: twice what its size gains it.
    fn price(&self) -> f64 {
        match self.goal {
            // Singular values of what motion tells grow with its square at most, those of what gravity tells not.
            Goal::Condition => 4.0,
            Goal::Deviations => 2.0 * (INERTIAL * self.wanted.len()) as f64,
        }
    }

    /// The motion with what it uses of the limits, looked at finely; made smaller until it keeps them.
    fn told(
        &self,
        mut support: Support<'_>,
        ranges: &[f64],
        (judge, random): (&Judge, f64),
        mut best: Trial,
    ) -> Result<StandingMotion, StandingError> {
        let used = loop {
            let sway = self.sway(&support, ranges, &best.x)?;
            let found = support.look(&self.along(&sway), SAMPLES * FINER, 1.0, false);
            if let Ok((used, _)) = found {
                break used;
            }
            best.x.iter_mut().for_each(|x| *x *= SMALLER);
        };
        let sway = self.sway(&support, ranges, &best.x)?;
        let looked = support.look(&self.along(&sway), SAMPLES, 1.0, true);
        let information = looked.map_or(best.information, |(_, information)| information);
        let beside =
            self.beside.as_ref().map(|posture| self.beside(posture, &support, judge)).transpose()?;
        let names =
            ["base x", "base y", "base z", "base turn x", "base turn y", "base turn z"].map(str::to_owned);
        let joint = |&k: &usize| self.robot.joints[support::joint_of(self.robot, k)].name.clone();
        Ok(StandingMotion {
            robot: self.robot.name.clone(),
            feet: self.feet.iter().map(|foot| self.robot.named_frames[foot.frame].name.clone()).collect(),
            goal: self.goal,
            duration_s: self.duration_s,
            start: self.start.clone(),
            coordinates: names.into_iter().chain(support.swinging().iter().map(joint)).collect(),
            coefficients: self.coefficients(ranges, &best.x),
            rank: judge.columns.len(),
            condition_number: judge.condition([&information]),
            random_condition_number: random,
            deviations: self.told_deviations(&information),
            used,
            beside,
        })
    }

    /// Deviations of the wanted links by what [`SAMPLES`] tell of them.
    fn told_deviations(&self, information: &DMatrix<f64>) -> Vec<LinkDeviations> {
        let passes = self.duration_s / SAMPLED_S / SAMPLES as f64;
        let of = |&body: &usize| LinkDeviations {
            link: self.robot.joints[body].link.clone(),
            deviations: deviations(information, body).iter().map(|x| x / passes.sqrt()).collect(),
        };
        self.wanted.iter().map(of).collect()
    }

    fn check(&self) -> Result<(), StandingError> {
        let ensure = |good: bool, words: &dyn Fn() -> String| {
            if good { Ok(()) } else { Err(StandingError::Setting(words())) }
        };
        let robot = self.robot;
        ensure(robot.has_free_flyer(), &|| {
            format!("robot `{}` has no floating base; leave out its contacts", robot.name)
        })?;
        ensure(!self.feet.is_empty(), &|| {
            "contacts: none, expected the frames of feet that stand".to_owned()
        })?;
        ensure(self.start.len() == robot.nq(), &|| {
            format!("start: {} numbers, expected {}", self.start.len(), robot.nq())
        })?;
        let bad = self.start.iter().position(|x| !x.is_finite());
        ensure(bad.is_none(), &|| {
            let k = bad.unwrap_or(0);
            format!("start: entry {k} is {}, expected a finite number", self.start[k])
        })?;
        ensure(self.friction > 0.0 && self.friction.is_finite(), &|| {
            format!("friction: {}, expected a number above 0", self.friction)
        })?;
        ensure(self.duration_s > 0.0 && self.duration_s.is_finite(), &|| {
            format!("duration: {} s, expected a number above 0", self.duration_s)
        })?;
        ensure(self.evaluations.0 > 0, &|| "evaluations: expected at least one random motion".to_owned())?;
        for foot in &self.feet {
            let name = &robot.named_frames[foot.frame].name;
            let flat = foot.kind == LoopKind::Point || foot.sole_m.iter().all(|x| *x > 0.0 && x.is_finite());
            ensure(flat, &|| {
                format!("sole of `{name}`: {:?} m, expected two half lengths above 0", foot.sole_m)
            })?;
        }
        let wanted = self.wanted.iter().all(|&body| body < robot.bodies())
            && (self.goal == Goal::Condition || !self.wanted.is_empty());
        ensure(wanted, &|| "links: expected some whose deviations are to be small".to_owned())
    }

    /// Whether the robot can stand at the start.
    fn check_start(&self, support: &Support<'_>) -> Result<(), StandingError> {
        let still = vec![vec![[0.0; 2]; HARMONICS - 1]; BASE + support.swinging().len()];
        let rest = Fourier::at_rest(&vec![0.0; still.len()], &still, self.duration_s)?;
        let sway = Sway::new(&self.start, support.swinging(), rest);
        let (what, share) = match support.clone().look(&self.along(&sway), 1, f64::INFINITY, false) {
            Ok((used, _)) => used.worst(),
            Err(reason) => (reason, f64::INFINITY),
        };
        let reason = || {
            format!(
                "the robot cannot stand at its start: {what}: {share:.2} of what there is, expected at most {USED}"
            )
        };
        if share <= USED { Ok(()) } else { Err(StandingError::Nothing(reason())) }
    }

    /// How far each coordinate may move, m or rad. A joint whose friction leaves its motor little torque is slower, or stays where it is.
    fn ranges(&self, swinging: &[usize]) -> Vec<f64> {
        let (robot, apart) = (self.robot, self.robot.nq() - self.robot.nv());
        let rate = std::f64::consts::TAU / self.duration_s;
        let joint = |&k: &usize| {
            let joint = &robot.joints[support::joint_of(robot, k)];
            let within = joint.limits.position.map_or(UNLIMITED, |(lower, upper)| {
                let off = (self.start[k + apart] - 0.5 * (lower + upper)).abs();
                (0.5 * USED * (upper - lower) - off).max(0.0)
            });
            let left = (FOR_FRICTION * joint.limits.torque - joint.friction.coulomb).max(0.0);
            let viscous = joint.friction.viscous;
            let speed = if viscous > 0.0 { left / viscous } else { f64::INFINITY };
            let still = left == 0.0;
            if still { 0.0 } else { within.min(speed.min(joint.limits.velocity) / rate) }
        };
        let base = [RANGE[0]; 3].into_iter().chain([RANGE[1]; 3]);
        base.chain(swinging.iter().map(joint)).collect()
    }

    /// (a_k, b_k), k = 2.., of each coordinate: the slower the higher, because the first harmonic has to undo k b_k for the ends to rest.
    fn coefficients(&self, ranges: &[f64], x: &[f64]) -> Vec<Vec<[f64; 2]>> {
        let each = 2 * (HARMONICS - 1);
        let rate = std::f64::consts::TAU / self.duration_s;
        let own = |(j, range): (usize, &f64)| {
            let speed = range * rate;
            x[each * j..each * (j + 1)]
                .chunks_exact(2)
                .zip(2..)
                .map(|(c, k)| [c[0], c[1]].map(|c| c * speed / f64::from(k)))
                .collect()
        };
        ranges.iter().enumerate().map(own).collect()
    }

    fn sway(&self, support: &Support<'_>, ranges: &[f64], x: &[f64]) -> Result<Sway, TrajectoryError> {
        let curve =
            Fourier::at_rest(&vec![0.0; ranges.len()], &self.coefficients(ranges, x), self.duration_s)?;
        Ok(Sway::new(&self.start, support.swinging(), curve))
    }

    /// The motion with these coefficients, if it uses no more than so much of each limit.
    fn trial(
        &self,
        support: &Support<'_>,
        ranges: &[f64],
        x: Vec<f64>,
        used: f64,
    ) -> Result<Trial, &'static str> {
        let sway = self.sway(support, ranges, &x).map_err(|_| "coefficients that make no curve")?;
        let (shares, information) = support.clone().look(&self.along(&sway), SAMPLES, used, true)?;
        Ok(Trial { x, information, most: shares.most(), value: f64::NAN })
    }

    /// The states of a series.
    fn along<'s>(&'s self, sway: &'s Sway) -> impl Fn(f64) -> SwayState + 's {
        |share| sway.at(self.robot, share * self.duration_s)
    }

    /// What is made small.
    fn value(&self, judge: &Judge, information: &DMatrix<f64>) -> f64 {
        match self.goal {
            Goal::Condition => judge.condition([information]).ln(),
            Goal::Deviations => {
                let all = self.wanted.iter().flat_map(|&body| deviations(information, body));
                all.map(f64::ln).sum()
            }
        }
    }
}

impl StandingTask<'_> {
    /// The robot at `count` even times of a motion of this task's, from 0 to the end, at least two.
    ///
    /// # Errors
    /// As [`StandingTask::run`].
    pub fn states(&self, motion: &StandingMotion, count: usize) -> Result<Vec<Carried>, StandingError> {
        let mut support = Support::new(self.robot, &self.feet, self.friction, &self.start)?;
        let curve =
            Fourier::at_rest(&vec![0.0; motion.coefficients.len()], &motion.coefficients, motion.duration_s)?;
        let sway = Sway::new(&self.start, support.swinging(), curve);
        let mut near = self.start.clone();
        let last = (count.max(2) - 1) as f64;
        let each = |k: usize| {
            let state = sway.at(self.robot, k as f64 / last * motion.duration_s);
            let carried = support.carried(&state, &near);
            let carried = carried.ok_or_else(|| StandingError::Nothing("legs do not reach".to_owned()))?;
            near.clone_from(&carried.q);
            Ok(carried)
        };
        (0..count.max(2)).map(each).collect()
    }
}

/// Deviations of a body's ten parameters, all others known; infinite where nothing tells them.
fn deviations(information: &DMatrix<f64>, body: usize) -> Vec<f64> {
    let own = information.view((INERTIAL * body, INERTIAL * body), (INERTIAL, INERTIAL)).into_owned();
    match own.cholesky() {
        Some(factor) => factor.inverse().diagonal().iter().map(|x| x.sqrt()).collect(),
        None => vec![f64::INFINITY; INERTIAL],
    }
}

/// What `summary.json` has of a motion.
#[derive(Debug, Deserialize)]
struct Saved {
    robot: String,
    duration_s: f64,
    start: Vec<f64>,
    coordinates: Vec<String>,
    coefficients: Vec<Vec<[f64; 2]>>,
}

/// Reads the motion of a `summary.json` that `surelift excite` has written for feet that stand: the series and the configuration that it starts from (length nq).
///
/// # Errors
/// [`StandingError::Setting`] for a file that cannot be read, is of another robot, or whose numbers make no motion.
pub fn read_motion(robot: &Model, path: &Path) -> Result<(Sway, Vec<f64>), StandingError> {
    let bad = |reason: String| StandingError::Setting(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let saved: Saved = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if saved.robot != robot.name {
        return Err(bad(format!("is a motion of `{}`, expected one of `{}`", saved.robot, robot.name)));
    }
    if saved.start.len() != robot.nq() || saved.coordinates.len() < BASE {
        let found = (saved.start.len(), saved.coordinates.len());
        return Err(bad(format!(
            "start of {} numbers and {} coordinates, expected {} and at least {BASE}",
            found.0,
            found.1,
            robot.nq()
        )));
    }
    let dof = |name: &String| {
        let joint = robot.joints.iter().position(|joint| &joint.name == name);
        joint
            .map(|i| robot.v_index(i))
            .ok_or_else(|| bad(format!("coordinate `{name}` is no joint of `{}`", robot.name)))
    };
    let swinging = saved.coordinates[BASE..].iter().map(dof).collect::<Result<Vec<_>, _>>()?;
    let curve = Fourier::at_rest(&vec![0.0; saved.coordinates.len()], &saved.coefficients, saved.duration_s);
    let curve = curve.map_err(|error| bad(error.to_string()))?;
    Ok((Sway::new(&saved.start, &swinging, curve), saved.start))
}
