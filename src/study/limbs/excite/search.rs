//! The search for one limb's motions: within its limits, and away from the links of all that moves beside it.

use std::ops::Range;

use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::apart::WholeRobot;
use super::{ExcitationTask, FINER, HARMONICS, LimbExcitation, SAMPLES, TICKS, UNLIMITED, USED};
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics};
use crate::regression::RegressionError;
use crate::robot::{Limb, Model, configuration};
use crate::study::excitation::{Judge, SHARES, STEP};
use crate::study::limbs::LimbError;
use crate::study::limbs::fit::Free;
use crate::study::self_collision::SelfCollision;
use crate::trajectory::{Curve, Fourier, JointState};

/// First frequencies are at most so many times that of the whole motion: the highest harmonic then has six samples a period.
const FASTEST: u32 = (SAMPLES / (6 * HARMONICS)) as u32;
/// Parts of a motion's samples that are looked at side by side where limbs are searched one after the other. A fixed number, so that sums do not depend on the machine.
const PARTS: usize = 4;

/// The whole robot, and of which motion a limb's is to be a part.
pub(super) type Beside<'b> = (&'b WholeRobot<'b>, usize);

/// A motion that keeps the limits.
#[derive(Clone)]
pub(super) struct Trial {
    /// Coefficients in [-1, 1] after scaling.
    x: Vec<f64>,
    pub curve: Fourier,
    /// Rows' products Y'Y of the free parameters.
    information: DMatrix<f64>,
    speed: f64,
    torque: f64,
    singular: f64,
}

/// The motions of a limb, and what they are judged by.
pub(super) struct Found {
    pub trials: Vec<Trial>,
    judge: Judge,
    condition: f64,
    random: f64,
}

impl Found {
    /// Puts another motion in the place of the `k`th.
    pub fn replace(&mut self, k: usize, trial: Trial) {
        self.trials[k] = trial;
        self.condition = condition(&self.judge, self.trials.iter());
    }
}

/// A limb that moves, and what limits it.
struct MovedLimb<'a> {
    task: &'a ExcitationTask<'a>,
    limb: &'a Limb,
    name: String,
    domain: ClosureDomain,
    free: Vec<usize>,
    theta: Vec<f64>,
    motors: Vec<usize>,
    start: Vec<f64>,
    ranges: Vec<(f64, f64)>,
    /// For each motor how many times faster than the motion the first of its further harmonics is; 1 if it has none.
    paces: Vec<u32>,
}

/// What one thread works with.
#[derive(Clone)]
struct Worker {
    reduced: ReducedDynamics,
    /// The limb's pairs with all links, itself among them.
    links: SelfCollision,
    /// The whole robot's posture.
    q: Vec<f64>,
}

pub(super) struct Search<'a> {
    own: MovedLimb<'a>,
    /// One for each part of the samples.
    workers: Vec<Worker>,
}

impl<'a> Search<'a> {
    pub fn new(task: &'a ExcitationTask<'a>, held: &Model, limb: &'a Limb) -> Result<Self, LimbError> {
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
        let own = MovedLimb {
            free: Free::of(model, task.unknown, model.bodies()).indices,
            theta: model.nominal_parameters(),
            start: ranges.iter().map(|(lower, upper)| 0.5 * (lower + upper)).collect(),
            paces: paces(&ranges),
            task,
            limb,
            name,
            domain,
            motors,
            ranges,
        };
        Ok(Self { own, workers: vec![Worker { reduced, links: SelfCollision::none(), q: vec![] }] })
    }

    /// From now on trials keep away from the other links of this robot.
    pub fn look_at(&mut self, whole: &WholeRobot<'_>) {
        let links = whole.links.of_joints(&self.own.limb.joints);
        let first = Worker { links, q: whole.start.clone(), ..self.workers[0].clone() };
        self.workers = vec![first; PARTS];
    }

    /// Finds the motions, each beside the motion of the same number of the limbs that were found before.
    pub fn run(&mut self, whole: &WholeRobot<'_>) -> Result<Found, LimbError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.own.task.seed);
        let (trials, judge) = self.random(&mut rng, whole)?;
        let count = self.own.task.motions;
        let logs: Vec<f64> =
            trials.chunks_exact(count).map(|some| condition(&judge, some.iter()).ln()).collect();
        let random = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let mut chosen = self.choose(&judge, &trials, whole)?;
        let (mut best, mut step) = (condition(&judge, chosen.iter()), STEP.0);
        for k in 0..self.own.task.evaluations.1 {
            let at = k % count;
            let change = |x: &f64| (x + step * rng.random_range(-1.0..=1.0)).clamp(-1.0, 1.0);
            let x: Vec<f64> = chosen[at].x.iter().map(change).collect();
            let mut better = false;
            if let Some(trial) = self.trial(x, Some((whole, at))) {
                let before = std::mem::replace(&mut chosen[at], trial);
                let now = condition(&judge, chosen.iter());
                better = now < best && self.keeps_apart(&chosen[at].curve, (whole, at));
                if better { best = now } else { chosen[at] = before }
            }
            step = (step * if better { STEP.1 } else { STEP.2 }).clamp(1e-3, 1.0);
        }
        Ok(Found { trials: chosen, judge, condition: best, random })
    }

    /// Random motions that keep the limits, in turn beside each motion of the limbs before. They are judged by what motions tell that keep the limits, near to links or not.
    fn random(
        &mut self,
        rng: &mut ChaCha8Rng,
        whole: &WholeRobot<'_>,
    ) -> Result<(Vec<Trial>, Judge), LimbError> {
        let numbers: usize = self.own.paces.iter().map(|pace| numbers(*pace)).sum();
        let (first, count) = (self.own.task.evaluations.0, self.own.task.motions);
        let (mut trials, mut within): (Vec<Trial>, Vec<DMatrix<f64>>) = (vec![], vec![]);
        for k in 0..first {
            let x: Vec<f64> = (0..numbers).map(|_| rng.random_range(-1.0..=1.0)).collect();
            let (beside, mut is_first) = ((whole, k % count), true);
            trials.extend(SHARES.iter().find_map(|share| {
                let x = x.iter().map(|x| share * x).collect();
                let trial = self.trial(x, Some(beside).filter(|_| !is_first))?;
                if std::mem::take(&mut is_first) {
                    within.push(trial.information.clone());
                }
                self.keeps_apart(&trial.curve, beside).then_some(trial)
            }));
        }
        if trials.len() < count {
            let found = trials.len();
            return Err(
                self.nothing(format!("of {first} random motions {found} keep the limits, expected {count}"))
            );
        }
        Ok((trials, Judge::new(&within)))
    }

    /// The best motion, then the one that does best with those chosen, and so on; each away from the links that move beside it.
    fn choose(
        &mut self,
        judge: &Judge,
        trials: &[Trial],
        whole: &WholeRobot<'_>,
    ) -> Result<Vec<Trial>, LimbError> {
        let mut chosen: Vec<Trial> = vec![];
        for k in 0..self.own.task.motions {
            let with = |trial: &Trial| condition(judge, chosen.iter().chain([trial]));
            let conditions: Vec<f64> = trials.par_iter().map(with).collect();
            let mut order: Vec<usize> = (0..trials.len()).collect();
            order.sort_by(|&a, &b| conditions[a].total_cmp(&conditions[b]));
            let best = order.into_iter().find(|&i| self.keeps_apart(&trials[i].curve, (whole, k)));
            let best = best.ok_or_else(|| {
                let all = trials.len();
                self.nothing(format!(
                    "none of {all} random motions keeps links apart in motion {}, expected one",
                    k + 1
                ))
            })?;
            chosen.push(trials[best].clone());
        }
        Ok(chosen)
    }

    fn nothing(&self, reason: String) -> LimbError {
        LimbError::Regression { limb: self.own.name.clone(), source: RegressionError::NoEstimate(reason) }
    }

    /// What is told of the motions.
    pub fn told(&self, found: &Found) -> LimbExcitation {
        let own = &self.own;
        let chosen = &found.trials;
        let most = |of: fn(&Trial) -> f64| chosen.iter().map(of).fold(0.0, f64::max);
        let singular = chosen.iter().map(|trial| trial.singular).fold(f64::INFINITY, f64::min);
        LimbExcitation {
            name: own.name.clone(),
            motors: own.motors.iter().map(|&j| own.limb.model.joints[j].name.clone()).collect(),
            rank: found.judge.columns.len(),
            condition_number: found.condition,
            random_condition_number: found.random,
            largest_speed_share: most(|trial| trial.speed),
            largest_torque_share: most(|trial| trial.torque),
            least_singular_value: Some(singular).filter(|x| x.is_finite()),
            start: own.start.clone(),
            coefficients: chosen.iter().map(|trial| own.coefficients(&trial.x)).collect(),
        }
    }

    /// The motion with these coefficients, if it keeps the limits, and in the samples its distance from links that move beside it.
    fn trial(&mut self, x: Vec<f64>, beside: Option<Beside<'_>>) -> Option<Trial> {
        let Self { own, workers } = self;
        let curve = Fourier::at_rest(&own.start, &own.coefficients(&x), own.task.duration_s).ok()?;
        let (speed, singular) = own.within(&curve)?;
        let each = SAMPLES.div_ceil(workers.len());
        let part = |(w, worker): (usize, &mut Worker)| {
            let samples = (w * each)..((w + 1) * each).min(SAMPLES);
            own.part(worker, &curve, samples, beside)
        };
        let parts: Option<Vec<_>> = workers.par_iter_mut().enumerate().map(part).collect();
        let mut parts = parts?.into_iter();
        let (mut information, mut torque) = parts.next()?;
        for (other, most) in parts {
            information += other;
            torque = torque.max(most);
        }
        Some(Trial { x, curve, information, speed, torque, singular })
    }

    /// The same motion, smaller; not looked at beside others.
    pub fn smaller(&mut self, trial: &Trial, share: f64) -> Option<Trial> {
        self.trial(trial.x.iter().map(|x| share * x).collect(), None)
    }

    /// Whether links keep their distance between the samples of a trial too. Where one could fall short, by the changes of distances from sample to sample about
    /// there, it is looked at ten times more finely.
    fn keeps_apart(&mut self, curve: &Fourier, beside: Beside<'_>) -> bool {
        if !self.workers[0].links.looks() {
            return true;
        }
        let samples: Vec<usize> = (0..SAMPLES).map(tick).collect();
        let Some(rough) = self.rooms(curve, beside, &samples) else { return false };
        let near = |s: usize| {
            let change = |pair: usize, s: usize| (rough[s + 1][pair] - rough[s][pair]).abs();
            (0..rough[s].len()).any(|pair| {
                let about = s.saturating_sub(1)..=(s + 1).min(SAMPLES - 2);
                let most = about.map(|s| change(pair, s)).fold(0.0, f64::max);
                !(rough[s][pair].min(rough[s + 1][pair]) - most >= 1.0)
            })
        };
        let finer: Vec<usize> =
            (0..SAMPLES - 1).filter(|&s| near(s)).flat_map(|s| tick(s)..=tick(s + 1)).collect();
        let found = self.rooms(curve, beside, &finer);
        found.is_some_and(|all| all.iter().flatten().all(|room| *room >= 1.0))
    }

    /// Distances of all of the limb's pairs at these ticks, by those that they keep.
    fn rooms(&mut self, curve: &Fourier, beside: Beside<'_>, ticks: &[usize]) -> Option<Vec<Vec<f64>>> {
        let (whole, k) = beside;
        self.at(curve, ticks, |own, worker, tick, q| {
            let Worker { links, q: all, .. } = worker;
            whole.place(k, tick, (own.limb, q), all);
            let mut rooms = vec![];
            links.rooms_into(whole.held, all, &mut rooms);
            rooms
        })
    }

    /// The limb's configurations at all ticks.
    pub fn postures(&mut self, curve: &Fourier) -> Option<Vec<Vec<f64>>> {
        let ticks: Vec<usize> = (0..=TICKS).collect();
        self.at(curve, &ticks, |_, _, _, q| q.to_vec())
    }

    /// Something of the limb's configuration at each of these ticks.
    fn at<T: Send>(
        &mut self,
        curve: &Fourier,
        ticks: &[usize],
        of: impl Fn(&MovedLimb<'_>, &mut Worker, usize, &[f64]) -> T + Sync,
    ) -> Option<Vec<T>> {
        let Self { own, workers } = self;
        let each = ticks.len().div_ceil(workers.len()).max(1);
        let part = |(worker, ticks): (&mut Worker, &[usize])| -> Option<Vec<T>> {
            let mut state = JointState::at_rest(&own.start);
            let one = |&tick: &usize| {
                curve.evaluate(own.time(tick), &mut state);
                let q = own.configuration(&mut worker.reduced, &state.q)?;
                Some(of(own, worker, tick, &q))
            };
            ticks.iter().map(one).collect()
        };
        let parts: Option<Vec<_>> = workers.par_iter_mut().zip(ticks.par_chunks(each)).map(part).collect();
        Some(parts?.into_iter().flatten().collect())
    }

    /// The limb, and where it is when motions begin; nothing where its loops do not close.
    pub fn start(&mut self) -> Option<(&'a Limb, Vec<f64>)> {
        let Self { own, workers } = self;
        Some((own.limb, own.configuration(&mut workers[0].reduced, &own.start)?))
    }

    pub fn name(&self) -> &str {
        &self.own.name
    }

    pub fn limb(&self) -> &'a Limb {
        self.own.limb
    }
}

impl MovedLimb<'_> {
    fn time(&self, tick: usize) -> f64 {
        tick as f64 / TICKS as f64 * self.task.duration_s
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

    /// Y'Y of these samples' rows and the largest share of a torque limit, if torques are within their limits and links apart.
    fn part(
        &self,
        worker: &mut Worker,
        curve: &Fourier,
        samples: Range<usize>,
        beside: Option<Beside<'_>>,
    ) -> Option<(DMatrix<f64>, f64)> {
        let (p, n, model) = (self.free.len(), self.motors.len(), &self.limb.model);
        let mut rows = DMatrix::zeros(n * samples.len(), p);
        let (mut state, mut torque) = (JointState::at_rest(&self.start), 0.0f64);
        for (row, s) in samples.enumerate() {
            let t = (s as f64 + 0.5) / SAMPLES as f64 * self.task.duration_s;
            curve.evaluate(t, &mut state);
            let q = self.configuration(&mut worker.reduced, &state.q)?;
            if let Some((whole, k)) = beside.filter(|_| worker.links.looks()) {
                whole.place(k, tick(s), (self.limb, &q), &mut worker.q);
                if !(worker.links.nearest(whole.held, &worker.q).room >= 1.0) {
                    return None;
                }
            }
            let reduced = &mut worker.reduced;
            reduced.place(model, &q, &state.dq, &state.ddq).ok()?;
            let u = reduced.torque(model, &self.theta).ok()?;
            for (k, &motor) in self.motors.iter().enumerate() {
                torque = torque.max(u[k].abs() / model.joints[motor].limits.torque);
            }
            if torque > USED {
                return None;
            }
            let y = reduced.regressor(model);
            for (c, &index) in self.free.iter().enumerate() {
                rows.view_mut((n * row, c), (n, 1)).copy_from(&y.column(index));
            }
        }
        Some((rows.tr_mul(&rows), torque))
    }

    /// Largest share of a speed limit and smallest bound on singular values, if positions, speeds and loops are within their limits.
    fn within(&self, curve: &Fourier) -> Option<(f64, f64)> {
        let (mut state, mut speed, mut singular) = (JointState::at_rest(&self.start), 0.0f64, f64::INFINITY);
        for s in 0..=TICKS {
            curve.evaluate(self.time(s), &mut state);
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

    fn configuration(&self, reduced: &mut ReducedDynamics, motors: &[f64]) -> Option<Vec<f64>> {
        let mut q = configuration::neutral(&self.limb.model);
        self.motors.iter().zip(motors).for_each(|(&motor, x)| q[motor] = *x);
        self.domain.place(&self.limb.model, &mut q).ok()?;
        reduced.close(&self.limb.model, &mut q).ok()?;
        Some(q)
    }
}

/// The tick of a sample: samples are in the middle of their share of the time.
fn tick(sample: usize) -> usize {
    FINER * sample + FINER / 2
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

/// Condition number of some motions together.
fn condition<'t>(judge: &Judge, trials: impl Iterator<Item = &'t Trial>) -> f64 {
    judge.condition(trials.map(|trial| &trial.information))
}
