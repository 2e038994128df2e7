//! Motions that tell the most: Fourier series of the motors, limb by limb, that make the condition number of the projected regressor small.
//!
//! Each limb moves by itself while the base is held, so each has a search of its own: random motions that keep the limits, the best few of them
//! together, then small changes of one motion at a time that are kept where they help. Everything is looked at in samples; nothing is
//! proven but where the loops close in one way ([`ClosureDomain`]).
//!
//! A motor with a small range, such as those of ankles, would hardly become fast with the harmonics of the others, and neither its armature nor how its friction depends on
//! speed would show. Such a motor has harmonics of a higher first frequency besides, with which its range allows the speed that the range of the middle motor allows.

use nalgebra::DMatrix;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use super::fit::Free;
use super::{LimbError, LimbUnknown};
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics, motors_and_base};
use crate::regression::RegressionError;
use crate::robot::{Limb, Model, configuration};
use crate::study::excitation::{Judge, SHARES, STEP};
use crate::trajectory::{Curve, Fourier, JointState};

/// Harmonics of a motion; the first follows from rest at both ends.
const HARMONICS: usize = 5;
/// First frequencies are at most so many times that of the whole motion: the highest harmonic then has six samples a period.
const FASTEST: u32 = (SAMPLES / (6 * HARMONICS)) as u32;
/// Samples of a motion at which rows are made, and in between two of these so many at which limits are looked at.
const SAMPLES: usize = 120;
const FINER: usize = 10;
/// Of each limit so much is used: tracking and noise need the rest.
const USED: f64 = 0.9;
/// Where a joint has no limits, it moves this far, rad.
const UNLIMITED: f64 = 1.0;

/// What motions are to be like.
#[derive(Debug, Clone, Copy)]
pub struct ExcitationTask<'a> {
    /// The robot; a floating base is held.
    pub robot: &'a Model,
    /// What is to be told.
    pub unknown: LimbUnknown,
    /// How many motions, each from rest to rest.
    pub motions: usize,
    /// Duration of each, s.
    pub duration_s: f64,
    /// Where the loops are, the smallest singular value of J_u is proven to be at least this, m/rad.
    pub least_singular_value: f64,
    /// Random motions to begin with, and changes that are tried after that; of each limb.
    pub evaluations: (usize, usize),
    /// Of the search.
    pub seed: u64,
}

/// Motions of all limbs.
#[derive(Debug, Clone, Serialize)]
pub struct ExcitingMotions {
    /// The robot's name.
    pub robot: String,
    /// What they are for.
    pub unknown: LimbUnknown,
    /// Duration of each, s.
    pub duration_s: f64,
    /// Names of the motors, in the order of a log.
    pub motors: Vec<String>,
    /// Limb by limb.
    pub limbs: Vec<LimbExcitation>,
    /// The motions, each of all motors.
    #[serde(skip)]
    pub motions: Vec<Vec<Fourier>>,
}

/// What the motions tell of a limb.
#[derive(Debug, Clone, Serialize)]
pub struct LimbExcitation {
    /// Its name: that of its first joint.
    pub name: String,
    /// Its motors.
    pub motors: Vec<String>,
    /// Number of parameters that motion can tell apart.
    pub rank: usize,
    /// Condition number of the projected regressor's base columns, scaled, over all motions together.
    pub condition_number: f64,
    /// The same of as many random motions within the same limits, in the mean (geometric).
    pub random_condition_number: f64,
    /// Largest share of a speed limit, and of a torque limit by the robot's files.
    pub largest_speed_share: f64,
    /// As said.
    pub largest_torque_share: f64,
    /// Smallest proven bound on the singular values of J_u along the motions, m/rad; `None` without loops.
    pub least_singular_value: Option<f64>,
    /// Where each motion begins and ends, rad or m.
    pub start: Vec<f64>,
    /// For each motion and motor (a_k, b_k) of q = q_0 + sum a_k sin(k w t) / (k w) + b_k (1 - cos(k w t)) / (k w), k = 2.., rad/s;
    /// the first follow from rest.
    pub coefficients: Vec<Vec<Vec<[f64; 2]>>>,
}

impl ExcitationTask<'_> {
    /// Finds the motions.
    ///
    /// # Errors
    /// A setting without sense; a limb without reduced coordinates, or whose loops cannot be proven; [`RegressionError::NoEstimate`] if no
    /// motion keeps the limits.
    pub fn run(&self) -> Result<ExcitingMotions, LimbError> {
        let held = self.robot.with_base_held();
        let motors = motors_and_base(&held);
        let driven = |limb: &Limb| !motors_and_base(&limb.model).is_empty();
        let limbs: Vec<Limb> = held.limbs().into_iter().filter(driven).collect();
        if limbs.is_empty() {
            return Err(LimbError::NoMotors { robot: held.name.clone() });
        }
        self.check()?;
        let found: Result<Vec<_>, _> =
            limbs.par_iter().map(|limb| Search::new(self, &held, limb)?.run()).collect();
        let found = found?;
        let of_motion = |k: usize| found.iter().map(|(_, curves)| curves[k].clone()).collect();
        Ok(ExcitingMotions {
            robot: self.robot.name.clone(),
            unknown: self.unknown,
            duration_s: self.duration_s,
            motors: motors.iter().map(|&j| held.joints[j].name.clone()).collect(),
            motions: (0..self.motions).map(of_motion).collect(),
            limbs: found.into_iter().map(|(limb, _)| limb).collect(),
        })
    }

    fn check(&self) -> Result<(), LimbError> {
        let bad = |what: &str, value: f64, expected: &'static str| {
            let source = RegressionError::BadValue { what: what.to_owned(), value, expected };
            Err(LimbError::Regression { limb: "all".to_owned(), source })
        };
        if self.motions == 0 || self.evaluations.0 < self.motions {
            let expected = "at least 1, and at most as many as random motions";
            return bad("the number of motions", self.motions as f64, expected);
        }
        if !(self.duration_s > 0.0 && self.duration_s.is_finite()) {
            return bad("the duration", self.duration_s, "a finite number of seconds > 0");
        }
        if !(self.least_singular_value >= 0.0) {
            return bad("the least singular value", self.least_singular_value, "a number >= 0");
        }
        Ok(())
    }
}

impl ExcitingMotions {
    /// Positions, velocities and accelerations of all motors in motion `k` at time `t`, in the order of [`ExcitingMotions::motors`].
    pub fn at(&self, k: usize, t: f64) -> JointState {
        let mut all = JointState::at_rest(&vec![0.0; self.motors.len()]);
        for (limb, curve) in self.limbs.iter().zip(&self.motions[k]) {
            let mut own = JointState::at_rest(&limb.start);
            curve.evaluate(t, &mut own);
            for (j, name) in limb.motors.iter().enumerate() {
                if let Some(at) = self.motors.iter().position(|motor| motor == name) {
                    (all.q[at], all.dq[at], all.ddq[at]) = (own.q[j], own.dq[j], own.ddq[j]);
                }
            }
        }
        all
    }
}

/// A motion that keeps the limits.
#[derive(Clone)]
struct Trial {
    /// Coefficients in [-1, 1] after scaling.
    x: Vec<f64>,
    curve: Fourier,
    /// Rows' products Y'Y of the free parameters.
    information: DMatrix<f64>,
    speed: f64,
    torque: f64,
    singular: f64,
}

struct Search<'a> {
    task: &'a ExcitationTask<'a>,
    limb: &'a Limb,
    name: String,
    reduced: ReducedDynamics,
    domain: ClosureDomain,
    free: Vec<usize>,
    theta: Vec<f64>,
    motors: Vec<usize>,
    start: Vec<f64>,
    ranges: Vec<(f64, f64)>,
    /// For each motor how many times faster than the motion the first of its further harmonics is; 1 if it has none.
    paces: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(task: &'a ExcitationTask<'a>, held: &Model, limb: &'a Limb) -> Result<Self, LimbError> {
        let name = limb.joints.first().map_or("", |&j| held.joints[j].name.as_str()).to_owned();
        let model = &limb.model;
        let reduced = ReducedDynamics::of_loops(model)
            .map_err(|source| LimbError::Reduced { limb: name.clone(), source })?;
        let domain =
            ClosureDomain::of(model).map_err(|source| LimbError::Domain { limb: name.clone(), source })?;
        let motors = reduced.independent().to_vec();
        let range = |&motor: &usize| {
            let proven = domain.blocks.iter().find_map(|block| {
                let place = block.block.motors.iter().position(|&j| j == motor)?;
                Some((block.rectangle[place].lower(), block.rectangle[place].upper()))
            });
            let own = proven.or(model.joints[motor].limits.position);
            own.unwrap_or((-UNLIMITED, UNLIMITED))
        };
        let ranges: Vec<(f64, f64)> = motors.iter().map(range).collect();
        Ok(Self {
            free: Free::of(model, task.unknown, model.bodies()).indices,
            theta: model.nominal_parameters(),
            start: ranges.iter().map(|(lower, upper)| 0.5 * (lower + upper)).collect(),
            paces: paces(&ranges),
            task,
            limb,
            name,
            reduced,
            domain,
            motors,
            ranges,
        })
    }

    fn run(mut self) -> Result<(LimbExcitation, Vec<Fourier>), LimbError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.task.seed);
        let numbers = self.paces.iter().map(|pace| numbers(*pace)).sum();
        let random = |rng: &mut ChaCha8Rng| -> Vec<f64> {
            (0..numbers).map(|_| rng.random_range(-1.0..=1.0)).collect()
        };
        let (first, changes) = self.task.evaluations;
        let mut trials: Vec<Trial> = vec![];
        for _ in 0..first {
            let x = random(&mut rng);
            trials.extend(SHARES.iter().find_map(|share| {
                let x: Vec<f64> = x.iter().map(|x| share * x).collect();
                self.trial(x)
            }));
        }
        let count = self.task.motions;
        if trials.len() < count {
            let reason =
                format!("of {first} random motions {} keep the limits, expected {count}", trials.len());
            return Err(LimbError::Regression {
                limb: self.name,
                source: RegressionError::NoEstimate(reason),
            });
        }
        let judge = Judge::new(trials.iter().map(|trial| &trial.information));
        let logs: Vec<f64> =
            trials.chunks_exact(count).map(|some| condition(&judge, some.iter()).ln()).collect();
        let random = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let mut chosen = choose(&judge, &trials, count);
        let (mut best, mut step) = (condition(&judge, chosen.iter()), STEP.0);
        for k in 0..changes {
            let at = k % count;
            let change = |x: &f64| (x + step * rng.random_range(-1.0..=1.0)).clamp(-1.0, 1.0);
            let x: Vec<f64> = chosen[at].x.iter().map(change).collect();
            let mut better = false;
            if let Some(trial) = self.trial(x) {
                let before = std::mem::replace(&mut chosen[at], trial);
                let now = condition(&judge, chosen.iter());
                better = now < best;
                if better { best = now } else { chosen[at] = before }
            }
            step = (step * if better { STEP.1 } else { STEP.2 }).clamp(1e-3, 1.0);
        }
        Ok(self.told(&chosen, &judge, best, random))
    }

    fn told(
        &self,
        chosen: &[Trial],
        judge: &Judge,
        best: f64,
        random: f64,
    ) -> (LimbExcitation, Vec<Fourier>) {
        let most = |of: fn(&Trial) -> f64| chosen.iter().map(of).fold(0.0, f64::max);
        let singular = chosen.iter().map(|trial| trial.singular).fold(f64::INFINITY, f64::min);
        let found = LimbExcitation {
            name: self.name.clone(),
            motors: self.motors.iter().map(|&j| self.limb.model.joints[j].name.clone()).collect(),
            rank: judge.columns.len(),
            condition_number: best,
            random_condition_number: random,
            largest_speed_share: most(|trial| trial.speed),
            largest_torque_share: most(|trial| trial.torque),
            least_singular_value: Some(singular).filter(|x| x.is_finite()),
            start: self.start.clone(),
            coefficients: chosen.iter().map(|trial| self.coefficients(&trial.x)).collect(),
        };
        (found, chosen.iter().map(|trial| trial.curve.clone()).collect())
    }

    /// (a_k, b_k), k = 2.., of each motor, rad/s: as fast as its range and its speed limit allow it at most, and the slower the higher, because
    /// the first harmonic has to undo k b_k for the ends to rest. Further harmonics rest at both ends by themselves; the range is shared.
    fn coefficients(&self, x: &[f64]) -> Vec<Vec<[f64; 2]>> {
        let rate = std::f64::consts::TAU / self.task.duration_s;
        let mut rest = x;
        let own = |(j, &motor): (usize, &usize)| {
            let pace = self.paces[j];
            let (x, behind) = rest.split_at(numbers(pace));
            rest = behind;
            let (lower, upper) = self.ranges[j];
            let limit = self.limb.model.joints[motor].limits.velocity;
            let each = 2 * (HARMONICS - 1);
            let mut all = vec![[0.0; 2]; HARMONICS * pace as usize - 1];
            let paces = [1, pace];
            let count = x.len() / each;
            for (x, pace) in x.chunks_exact(each).zip(paces) {
                let speed = limit.min((upper - lower) * rate * f64::from(pace)) / count as f64;
                let mut first = [0.0; 2];
                for (c, k) in x.chunks_exact(2).zip(2..) {
                    let [a, b] = [c[0], c[1]].map(|c| c * speed / f64::from(k));
                    first = [first[0] - a, first[1] - f64::from(k) * b];
                    add(&mut all, pace * k, [a, b]);
                }
                if pace > 1 {
                    add(&mut all, pace, first);
                }
            }
            all
        };
        self.motors.iter().enumerate().map(own).collect()
    }

    /// The motion with these coefficients, if it keeps the limits.
    fn trial(&mut self, x: Vec<f64>) -> Option<Trial> {
        let curve = Fourier::at_rest(&self.start, &self.coefficients(&x), self.task.duration_s).ok()?;
        let (speed, singular) = self.within(&curve)?;
        let (p, n) = (self.free.len(), self.motors.len());
        let mut rows = DMatrix::zeros(n * SAMPLES, p);
        let (mut state, mut torque) = (JointState::at_rest(&self.start), 0.0f64);
        for s in 0..SAMPLES {
            let t = (s as f64 + 0.5) / SAMPLES as f64 * self.task.duration_s;
            curve.evaluate(t, &mut state);
            let q = self.configuration(&state.q)?;
            let model = &self.limb.model;
            self.reduced.place(model, &q, &state.dq, &state.ddq).ok()?;
            let u = self.reduced.torque(model, &self.theta).ok()?;
            for (k, &motor) in self.motors.iter().enumerate() {
                torque = torque.max(u[k].abs() / model.joints[motor].limits.torque);
            }
            if torque > USED {
                return None;
            }
            let y = self.reduced.regressor(model);
            for (c, &index) in self.free.iter().enumerate() {
                rows.view_mut((n * s, c), (n, 1)).copy_from(&y.column(index));
            }
        }
        let information = rows.tr_mul(&rows);
        Some(Trial { x, curve, information, speed, torque, singular })
    }

    /// Largest share of a speed limit and smallest bound on singular values, if positions, speeds and loops are within their limits.
    fn within(&self, curve: &Fourier) -> Option<(f64, f64)> {
        let (mut state, mut speed, mut singular) = (JointState::at_rest(&self.start), 0.0f64, f64::INFINITY);
        let count = SAMPLES * FINER;
        for s in 0..=count {
            curve.evaluate(s as f64 / count as f64 * self.task.duration_s, &mut state);
            for (j, &motor) in self.motors.iter().enumerate() {
                let (lower, upper) = self.ranges[j];
                let off = (state.q[j] - 0.5 * (lower + upper)).abs();
                speed = speed.max(state.dq[j].abs() / self.limb.model.joints[motor].limits.velocity);
                if off > USED * 0.5 * (upper - lower) || speed > USED {
                    return None;
                }
            }
            let mut q = configuration::neutral(&self.limb.model);
            self.motors.iter().zip(&state.q).for_each(|(&motor, x)| q[motor] = *x);
            singular = singular.min(self.domain.smallest_singular_value_at(&self.limb.model, &q).ok()?);
            if singular < self.task.least_singular_value {
                return None;
            }
        }
        Some((speed, singular))
    }

    fn configuration(&mut self, motors: &[f64]) -> Option<Vec<f64>> {
        let mut q = configuration::neutral(&self.limb.model);
        self.motors.iter().zip(motors).for_each(|(&motor, x)| q[motor] = *x);
        self.domain.place(&self.limb.model, &mut q).ok()?;
        self.reduced.close(&self.limb.model, &mut q).ok()?;
        Some(q)
    }
}

/// Adds to harmonic `k` of coefficients that begin with the second.
fn add(all: &mut [[f64; 2]], k: u32, [a, b]: [f64; 2]) {
    let own = &mut all[k as usize - 2];
    *own = [own[0] + a, own[1] + b];
}

/// Numbers that a motor's motion has.
fn numbers(pace: u32) -> usize {
    2 * (HARMONICS - 1) * if pace > 1 { 2 } else { 1 }
}

/// How many times faster each motor has to swing for its range to allow the speed that the middle range allows.
fn paces(ranges: &[(f64, f64)]) -> Vec<u32> {
    let mut sizes: Vec<f64> = ranges.iter().map(|(lower, upper)| upper - lower).collect();
    let own = sizes.clone();
    sizes.sort_by(f64::total_cmp);
    let middle = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    own.iter().map(|size| ((middle / size).round() as u32).clamp(1, FASTEST)).collect()
}

/// The best motion, then the one that does best with those chosen, and so on.
fn choose(judge: &Judge, trials: &[Trial], count: usize) -> Vec<Trial> {
    let mut chosen: Vec<Trial> = vec![];
    while chosen.len() < count {
        let with = |trial: &Trial| condition(judge, chosen.iter().chain([trial]));
        let best = trials.iter().min_by(|a, b| with(a).total_cmp(&with(b)));
        chosen.extend(best.cloned());
    }
    chosen
}

/// Condition number of some motions together.
fn condition<'t>(judge: &Judge, trials: impl Iterator<Item = &'t Trial>) -> f64 {
    judge.condition(trials.map(|trial| &trial.information))
}

#[cfg(test)]
mod tests;
