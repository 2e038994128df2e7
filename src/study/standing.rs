//! Motions of a robot on its feet from which the inertia of its links is learnt best.
//!
//! The base and joints that carry nothing follow Fourier series from rest to rest; legs follow them, so that feet stand where they stand exactly. Random motions that
//! keep the limits tell how columns are scaled; a search from rest then learns which motions tell more. Limits are those of joints (position, speed, torque), of the friction cones, of what each foot has to carry, and of the soles. Torques
//! and forces are those of the nominal robot; of all that make the motion those are chosen that are small together with the forces along the ground.
//!
//! What sensors on the motors tell are the rows of G'(M a + h) = G' S tau, which no force of a foot enters ([`crate::dynamics::constraint::reduced`]; [1, appendix B] has the rows of the base).
//! Links that no joint joins stay apart, by the capsules of the robot's file. Limits are looked at in samples, ten times finer at the end. Nothing here is a bound.

use serde::Serialize;
use thiserror::Error;

use crate::dynamics::constraint::reduced::ReducedError;
use crate::inertia::INERTIAL;
use crate::robot::{IgnoredPair, LinkShape, LoopKind, Model};
use crate::simulate::sway::BASE;
use crate::simulate::{Posture, Sway, SwayState};
use crate::trajectory::TrajectoryError;

mod beside;
mod saved;
mod search;
mod sequential;
mod shares;
mod slopes;
mod support;
#[cfg(test)]
mod tests;
mod wanted;

pub use beside::{Beside, Compared};
pub use saved::read_motion;
use search::{Found, Search};
use shares::APART;
pub use shares::LimitShares;
pub use support::Carried;
use support::{OFF, Support, even};
use wanted::Wanted;

pub use crate::study::self_collision::SelfCollisionReport;

/// Harmonics of a motion; the first follows from rest at both ends.
const HARMONICS: usize = 5;
/// Samples of a motion in the search: the products of its rows have at most four times the highest harmonic. And how much finer limits are looked at at the end.
const SAMPLES: usize = 32;
const FINER: usize = 10;
/// Of each limit so much is used in the search: between samples, and to track, the rest is needed.
const USED: f64 = 0.9;
/// How far the base moves, m and rad, at most; legs and feet mostly allow less.
const RANGE: [f64; 2] = [0.2, 0.5];
/// How far a joint without limits swings, rad.
const UNLIMITED: f64 = 1.0;
/// Share of a motor's torque that friction may take.
const FOR_FRICTION: f64 = 0.5;
/// Below so much speed, rad/s, the search draws the direction of dry friction as a straight line through zero: torques that jump are no place for slopes. What is found is looked at with the robot's own friction.
const SMOOTH_RAD_S: f64 = 0.3;
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
    /// Deviations of the wanted links' parameters: their geometric mean.
    Deviations,
    /// The determinant of the covariance of the wanted links' parameters: the volume of what they may be.
    Posterior,
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
    /// Capsules of its links; without any, nothing keeps links from each other.
    pub shapes: Vec<LinkShape>,
    /// Pairs of them that the robot's file ignores.
    pub ignored: Vec<IgnoredPair>,
    /// How far links that no joint joins have to stay from each other, m.
    pub clearance_m: f64,
    /// Bodies whose inertial parameters are wanted; of all together base parameters, of some their deviations are told.
    pub wanted: Vec<usize>,
    /// What is made small.
    pub goal: Goal,
    /// Deviation of what the motors' torque sensors tell from what is applied, N m, with a sample each 10 ms. Feet stand with torques that are off by four of these.
    pub torque_deviation_nm: f64,
    /// Duration, s.
    pub duration_s: f64,
    /// How often the same series is gone through in that time, from rest to rest; at least once.
    pub repeats: u32,
    /// Random motions to begin with, and motions that are tried after that.
    pub evaluations: (usize, usize),
    /// Of the search.
    pub seed: u64,
    /// A motion to compare with, on the same feet from the same start.
    pub beside: Option<Posture>,
}

/// Deviations of a link's ten parameters, where torque sensors err by the task's deviation and all else is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkDeviations {
    /// The link.
    pub link: String,
    /// Before the motion: a mass is known to within itself, the others to within this mass in the mean distance of its parts from the joint's frame.
    pub before: Vec<f64>,
    /// Of m (kg), m c (kg m), I_xx, I_xy, I_yy, I_xz, I_yz, I_zz (kg m^2) about the joint's frame, by the whole motion with a sample each 10 ms.
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
    /// How often the series is gone through in that time.
    pub repeats: u32,
    /// Configuration at both ends.
    pub start: Vec<f64>,
    /// Names of the coordinates: three shifts of the base along the world's axes (m), three entries of its rotation vector (rad), joints that carry nothing.
    pub coordinates: Vec<String>,
    /// For each coordinate (a_k, b_k) of x = sum a_k sin(k w t) / (k w) + b_k (1 - cos(k w t)) / (k w), k = 2.., per second; the first follow from rest. w is 2 pi by the time of one repeat.
    pub coefficients: Vec<Vec<[f64; 2]>>,
    /// Number of base parameters of the links.
    pub rank: usize,
    /// Condition number of their columns, scaled; the same of random motions within the same limits, in the mean (geometric).
    pub condition_number: f64,
    /// See `condition_number`.
    pub random_condition_number: f64,
    /// Deviation of torque sensors that deviations are told for, N m.
    pub torque_deviation_nm: f64,
    /// Deviations of the wanted links.
    pub deviations: Vec<LinkDeviations>,
    /// Half of the logarithm of the determinant of all wanted parameters' covariance together, by that of what was known before.
    pub log_determinant: f64,
    /// How many directions of all wanted parameters together are told.
    pub told_directions: usize,
    /// What the motion uses of the limits, at ten times as many samples as in the search.
    pub used: LimitShares,
    /// How near its links come to each other.
    pub self_collision: SelfCollisionReport,
    /// What the motion to compare with tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// Longest motion, s: it is written with 200 states a second.
const LONGEST_S: f64 = 600.0;

/// Shortest time of one repeat, s: that of as many samples as deviations are told for, of which the highest harmonic then has six.
const SHORTEST_S: f64 = SAMPLES as f64 * SAMPLED_S;

/// How often a motion of this duration may be gone through.
fn most_repeats(duration_s: f64) -> u32 {
    // Divisions round.
    (duration_s / SHORTEST_S * (1.0 + f64::EPSILON)).floor().max(1.0) as u32
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
        let support = Support::new(self)?;
        self.check_start(&support)?;
        let ranges = self.ranges(support.swinging());
        let wanted = Wanted::new(self.robot, &self.wanted).map_err(StandingError::Setting)?;
        // What cannot be compared is found out before the search.
        self.beside.as_ref().map(|posture| self.uses(posture, &support)).transpose()?;
        let smooth = Model {
            friction_speed_rad_s: self.robot.friction_speed_rad_s.max(SMOOTH_RAD_S),
            ..self.robot.clone()
        };
        let searched = StandingTask { robot: &smooth, ..self.clone() };
        let mut search = Search {
            task: &searched,
            support: Support::new(&searched)?,
            exact: support,
            ranges,
            times: even(SAMPLES),
            wanted,
        };
        let found = search.run()?;
        self.told(&search, found)
    }

    /// The motion with what it uses of the limits, looked at finely; made smaller until it keeps them.
    fn told(&self, search: &Search<'_>, found: Found) -> Result<StandingMotion, StandingError> {
        let Found { best, judge, random } = found;
        let mut x = best.x;
        let told = loop {
            let sway = self.sway(&search.support, &search.ranges, &x)?;
            if let Ok(told) = search.told(&self.along(&sway), (SAMPLES, 1.0), &judge) {
                break told;
            }
            x.iter_mut().for_each(|x| *x *= SMALLER);
        };
        let beside = self.beside.as_ref().map(|posture| self.beside(posture, search, &judge)).transpose()?;
        let names =
            ["base x", "base y", "base z", "base turn x", "base turn y", "base turn z"].map(str::to_owned);
        let joint = |&k: &usize| self.robot.joints[support::joint_of(self.robot, k)].name.clone();
        Ok(StandingMotion {
            robot: self.robot.name.clone(),
            feet: self.feet.iter().map(|foot| self.robot.named_frames[foot.frame].name.clone()).collect(),
            goal: self.goal,
            duration_s: self.duration_s,
            repeats: self.repeats,
            start: self.start.clone(),
            coordinates: names.into_iter().chain(search.support.swinging().iter().map(joint)).collect(),
            coefficients: self.coefficients(&search.ranges, &x),
            rank: judge.columns.len(),
            condition_number: told.condition_number,
            random_condition_number: random,
            torque_deviation_nm: self.torque_deviation_nm,
            deviations: self.of_links(&search.wanted.before, &told.deviations),
            log_determinant: told.log_determinant,
            told_directions: told.directions,
            used: told.shares,
            self_collision: told.links,
            beside,
        })
    }

    /// Deviations link by link.
    fn of_links(&self, before: &[f64], after: &[f64]) -> Vec<LinkDeviations> {
        let each = before.chunks(INERTIAL).zip(after.chunks(INERTIAL)).zip(&self.wanted);
        let of = |((before, after), &body): ((&[f64], &[f64]), &usize)| LinkDeviations {
            link: self.robot.joints[body].link.clone(),
            before: before.to_vec(),
            deviations: after.to_vec(),
        };
        each.map(of).collect()
    }

    /// The states of a series, by the share of one repeat.
    fn along<'s>(&'s self, sway: &'s Sway) -> impl Fn(f64) -> SwayState + 's {
        |share| sway.at(self.robot, share * self.period_s())
    }

    /// Time of one repeat, s.
    fn period_s(&self) -> f64 {
        self.duration_s / f64::from(self.repeats)
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
        ensure(self.torque_deviation_nm > 0.0 && self.torque_deviation_nm.is_finite(), &|| {
            format!("torque deviation: {} N m, expected a number above 0", self.torque_deviation_nm)
        })?;
        ensure(self.clearance_m > 0.0 && self.clearance_m.is_finite(), &|| {
            format!("clearance: {} m, expected a number above 0", self.clearance_m)
        })?;
        ensure(self.duration_s > 0.0 && self.duration_s <= LONGEST_S, &|| {
            format!("duration: {} s, expected a number above 0, at most {LONGEST_S}", self.duration_s)
        })?;
        let most = most_repeats(self.duration_s);
        ensure((1..=most).contains(&self.repeats), &|| {
            format!("repeats: {} in {} s, expected 1 to {most}", self.repeats, self.duration_s)
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
        let sway = Sway::series((&self.start, support.swinging()), &still, (self.duration_s, self.repeats))?;
        let mut looking = support.clone();
        let (what, share) = match looking.look(&self.along(&sway), &even(1), f64::INFINITY, None) {
            Ok((used, _)) => used.worst(),
            Err(reason) => (reason, f64::INFINITY),
        };
        let reason = || {
            let stands = format!("the robot cannot stand at its start: {what}: {share:.2}");
            match looking.links.told(looking.nearest).nearest {
                Some((distance, [a, b])) if what == APART => {
                    let least = self.clearance_m / USED;
                    format!(
                        "{stands} of it; `{a}` and `{b}` are {distance:.4} m apart, expected {least:.4} m"
                    )
                }
                _ => format!(
                    "{stands} of what there is with torques off by {} N m, expected at most {USED}",
                    OFF * self.torque_deviation_nm
                ),
            }
        };
        if share <= USED { Ok(()) } else { Err(StandingError::Nothing(reason())) }
    }

    /// How far each coordinate may move, m or rad. A joint whose friction leaves its motor little torque is slower, or stays where it is.
    fn ranges(&self, swinging: &[usize]) -> Vec<f64> {
        let (robot, apart) = (self.robot, self.robot.nq() - self.robot.nv());
        let rate = std::f64::consts::TAU / self.period_s();
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
        let rate = std::f64::consts::TAU / self.period_s();
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
        let coefficients = self.coefficients(ranges, x);
        Sway::series((&self.start, support.swinging()), &coefficients, (self.duration_s, self.repeats))
    }
}

impl StandingTask<'_> {
    /// The robot at `count` even times of a motion of this task's, from 0 to the end, at least two.
    ///
    /// # Errors
    /// As [`StandingTask::run`].
    pub fn states(&self, motion: &StandingMotion, count: usize) -> Result<Vec<Carried>, StandingError> {
        let mut support = Support::new(self)?;
        let time = (motion.duration_s, motion.repeats);
        let sway = Sway::series((&self.start, support.swinging()), &motion.coefficients, time)?;
        let mut legs = support::Legs::new(&self.start);
        let last = (count.max(2) - 1) as f64;
        let each = |k: usize| {
            let state = sway.at(self.robot, k as f64 / last * motion.duration_s);
            let carried = support.next(&state, &mut legs);
            carried.ok_or_else(|| StandingError::Nothing("legs do not reach".to_owned()))
        };
        (0..count.max(2)).map(each).collect()
    }
}
