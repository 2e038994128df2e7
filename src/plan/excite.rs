//! Exciting trajectories: how much a motion will tell about the end effector's ten inertial parameters.
//!
//! Samples along the trajectory are rows of the torque regressor, its columns of the end-effector body. A [`Criterion`] makes
//! one number of them and of what earlier plans have told already ([`Information`]): the papers' condition number, or the
//! widths that the identifier will prove ([`width`]). [`open`] holds other people's trajectories, for comparison. Its derivative with respect to every entry, times the entries' exact
//! derivatives with respect to the decision k, is the gradient: the regressor is evaluated on dual numbers, through q, dq
//! and ddq, which are linear in k; so are the torques, where a sensor's errors grow with them.

mod criterion;
pub mod open;
pub mod width;

pub use criterion::{Criterion, Information};

use crate::reach::Joints;

use super::decision::{Cost, CostError, EndPoints, check_size};
use super::sample_errors::{ErrorSlope, SampleErrors, Torques};
use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::INERTIAL;
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};
use crate::trajectory::{Bezier, Curve, JointState, end_point_basis};
use criterion::Judgement;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Directions that one pass of dual numbers carries: an arm of seven joints takes one pass, and eight numbers fill two
/// vector registers.
const LANES: usize = 8;
/// Samples that one task works on: 16 tasks for 128 samples, which occupy any number of cores up to that, and each is far
/// longer than handing it out.
const CHUNK: usize = 8;

/// One row of the end-effector regressor.
type Row = nalgebra::SVector<f64, INERTIAL>;

/// Rows of the end-effector regressor at the middles of equal parts of a trajectory.
#[derive(Debug, Clone, Default)]
struct Samples {
    /// Number of joints n.
    joints: usize,
    /// Time that a sample stands for, s.
    dt: f64,
    /// Entries a row: the ten of the end effector, then the shared unknowns of [`SampleErrors`].
    width: usize,
    /// (sample, joint, parameter), row-major, SI units; of shared unknowns over half of their intervals.
    entries: Vec<f64>,
    /// (sample, joint): largest error of the torque, N m; 1 if nothing was asked about it.
    errors: Vec<f64>,
    /// (sample, joint): its derivatives.
    error_slopes: Vec<ErrorSlope>,
}

impl Samples {
    fn row(&self, at: usize) -> &[f64] {
        &self.entries[self.width * at..self.width * (at + 1)]
    }

    /// The end effector's part of the rows.
    fn rows(&self) -> impl Iterator<Item = Row> {
        self.entries
            .chunks_exact(self.width.max(INERTIAL))
            .map(|row| Row::from_column_slice(&row[..INERTIAL]))
    }

    /// W: the rows times sqrt(dt), so that W'W stands for the integral of Y'Y whatever the number of samples.
    fn weighted(&self) -> impl Iterator<Item = Row> {
        let weight = self.dt.sqrt();
        self.rows().map(move |row| row * weight)
    }
}

/// `samples` rows a joint on \[0, `until_s`\] along `curve`.
fn samples_along(
    robot: &Arm,
    curve: &dyn Curve,
    until_s: f64,
    samples: usize,
    sample_errors: Option<&SampleErrors>,
) -> Samples {
    let mut space = Sampling::new(robot);
    space.along(robot, curve, until_s, samples, sample_errors);
    space.samples
}

/// Samples, and storage to take them in.
#[derive(Debug, Clone)]
struct Sampling {
    samples: Samples,
    motion: Motion<f64>,
    y: Vec<f64>,
    state: JointState,
}

impl Sampling {
    fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        let (motion, y) = (Motion::new(robot), vec![0.0; n * INERTIAL * n]);
        Self { samples: Samples::default(), motion, y, state: JointState::at_rest(&vec![0.0; n]) }
    }

    /// Takes the samples of [`samples_along`].
    fn along(
        &mut self,
        robot: &Arm,
        curve: &dyn Curve,
        until_s: f64,
        samples: usize,
        sample_errors: Option<&SampleErrors>,
    ) {
        let (n, dt) = (robot.dof(), until_s / samples.max(1) as f64);
        let Self { samples: own, motion, y, state } = self;
        let Samples { joints, dt: step, width, entries, errors, error_slopes } = own;
        (*joints, *step) = (n, dt);
        *width = INERTIAL + sample_errors.map_or(0, |sample_errors| sample_errors.shared().len());
        entries.clear();
        errors.clear();
        error_slopes.clear();
        let hand = robot.end_effector()..robot.end_effector() + 1;
        let bodies = if sample_errors.is_some() { 0..n } else { hand };
        for s in 0..samples {
            curve.evaluate((s as f64 + 0.5) * dt, state);
            motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
            torque_regressor(robot, motion, bodies.clone(), y);
            for j in 0..n {
                let at = column(robot, j, 0);
                entries.extend_from_slice(&y[at..at + INERTIAL]);
                if let Some(sample_errors) = sample_errors {
                    let motion = (state.dq[j], state.dq[j].signum(), state.ddq[j]);
                    entries.extend(sample_errors.shared_rows(robot, j, y, motion));
                }
            }
            match sample_errors {
                Some(sample_errors) => sample_errors.errors(robot, (state, dt), y, (errors, error_slopes)),
                None => {
                    errors.extend(std::iter::repeat_n(1.0, n));
                    error_slopes.extend(std::iter::repeat_n(ErrorSlope::default(), n));
                }
            }
        }
    }
}

/// Index of the end effector's column `p` in row `j` of a torque regressor.
fn column(robot: &Arm, j: usize, p: usize) -> usize {
    INERTIAL * (robot.dof() * j + robot.end_effector()) + p
}

/// What to minimise, and on which samples.
#[derive(Debug, Clone)]
pub struct ExcitationOptions {
    /// The cost.
    pub criterion: Criterion,
    /// Number of samples.
    pub samples: usize,
    /// The samples cover \[0, horizon_s\], s: the whole trajectory, or the part that will be executed.
    pub horizon_s: f64,
}

impl ExcitationOptions {
    /// Condition number on 128 samples along the whole trajectory of duration `t_f` (s).
    pub fn new(t_f: f64) -> Self {
        Self { criterion: Criterion::condition_number(), samples: 128, horizon_s: t_f }
    }
}

/// Storage for the cost of exciting trajectories of one robot, kept from one proposal to the next.
#[derive(Debug)]
pub struct ExcitationStorage {
    /// One for each thread, at least one.
    judging: Vec<Judging>,
    samplers: Vec<(Sampler, [f64; LANES])>,
}

/// Storage in which one end point after the other is judged.
#[derive(Debug)]
struct Judging {
    curve: Bezier,
    sampling: Sampling,
    judgement: Judgement,
}

impl ExcitationStorage {
    /// Storage for `robot`.
    pub fn new(robot: &Arm) -> Self {
        let judging = || Judging {
            curve: Bezier { points: Vec::with_capacity(robot.dof()), duration_s: 0.0 },
            sampling: Sampling::new(robot),
            judgement: Judgement::default(),
        };
        let threads = rayon::current_num_threads().max(1);
        Self { judging: std::iter::repeat_with(judging).take(threads).collect(), samplers: Vec::new() }
    }
}

/// The excitation cost of quintic trajectories from one start.
///
/// A start at rest with k = 0 is a trajectory without motion, where the gradient says little: start the search
/// elsewhere.
#[derive(Debug)]
pub struct Excitation<'a> {
    robot: &'a Arm,
    start: &'a JointState,
    ends: EndPoints,
    duration_s: f64,
    options: ExcitationOptions,
    known: &'a Information,
    space: Mutex<ExcitationStorage>,
}

impl<'a> Excitation<'a> {
    /// The cost of trajectories of duration `duration_s` from `start` to `ends`, after `known` has been learnt.
    ///
    /// # Errors
    /// [`CostError`] for wrong lengths, a non-finite start, a duration or horizon that is not above zero, a horizon
    /// beyond the duration, or no samples.
    pub fn new(
        robot: &'a Arm,
        start: &'a JointState,
        ends: EndPoints,
        duration_s: f64,
        known: &'a Information,
        options: ExcitationOptions,
    ) -> Result<Self, CostError> {
        Self::within(ExcitationStorage::new(robot), robot, start, ends, duration_s, known, options)
    }

    /// [`Excitation::new`] in storage for this robot.
    ///
    /// # Errors
    /// As there; the storage is lost.
    pub fn within(
        mut space: ExcitationStorage,
        robot: &'a Arm,
        start: &'a JointState,
        ends: EndPoints,
        duration_s: f64,
        known: &'a Information,
        options: ExcitationOptions,
    ) -> Result<Self, CostError> {
        let n = robot.dof();
        check_size("end points", n, ends.dimension())?;
        for (field, values) in [("start.q", &start.q), ("start.dq", &start.dq), ("start.ddq", &start.ddq)] {
            check_size(field, n, values.len())?;
            if let Some(&found) = values.iter().find(|x| !x.is_finite()) {
                return Err(CostError::Value { field, expected: "finite numbers", found });
            }
        }
        let positive = [("duration_s", duration_s), ("horizon_s", options.horizon_s)];
        for (field, found) in positive {
            if !(found.is_finite() && found > 0.0) {
                return Err(CostError::Value { field, expected: "a finite number above 0", found });
            }
        }
        if options.horizon_s > duration_s {
            let found = options.horizon_s;
            return Err(CostError::Value { field: "horizon_s", expected: "at most the duration", found });
        }
        if options.samples == 0 {
            return Err(CostError::Value { field: "samples", expected: "at least 1", found: 0.0 });
        }
        space.samplers.resize_with(options.samples.div_ceil(CHUNK), || (Sampler::new(robot), [0.0; LANES]));
        if let Some(sample_errors) = options.criterion.sample_errors() {
            space.samplers.iter_mut().for_each(|(sampler, _)| sampler.torques.take(sample_errors));
        }
        Ok(Self { robot, start, ends, duration_s, options, known, space: Mutex::new(space) })
    }

    /// The storage, for the next cost.
    pub fn into_space(self) -> ExcitationStorage {
        self.space.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cost alone at `k` (length n); NaN where `k` is not finite.
    pub fn value(&self, k: &[f64]) -> f64 {
        self.judge(k, &mut self.borrow().judging[0]).unwrap_or(f64::NAN)
    }

    /// [`Excitation::value`] at each of `ks`, side by side where there are cores.
    ///
    /// # Panics
    /// If there are not as many `values`.
    pub fn values(&self, ks: &[Joints<f64>], values: &mut [f64]) {
        assert_eq!(ks.len(), values.len(), "one value for each end point");
        let judging = &mut self.borrow().judging[..];
        let share = ks.len().div_ceil(judging.len()).max(1);
        let shares = ks.par_chunks(share).zip(values.par_chunks_mut(share));
        judging.par_iter_mut().zip(shares).for_each(|(place, (ks, values))| {
            for (k, value) in ks.iter().zip(values) {
                *value = self.judge(k, place).unwrap_or(f64::NAN);
            }
        });
    }

    /// The cost and its gradient at `k` (length n); NaN where `k` is not finite.
    pub fn evaluate(&self, k: &[f64]) -> Cost {
        let n = self.robot.dof();
        let space = &mut *self.borrow();
        let Some(value) = self.judge(k, &mut space.judging[0]) else {
            return Cost { value: f64::NAN, gradient: (0..n).map(|_| f64::NAN).collect() };
        };
        let mut gradient: Joints<f64> = (0..n).map(|_| 0.0).collect();
        for first in (0..n).step_by(LANES) {
            let lanes = self.contract(first, space);
            for (entry, lane) in gradient[first..].iter_mut().zip(lanes) {
                *entry = lane;
            }
        }
        Cost { value, gradient }
    }

    fn borrow(&self) -> std::sync::MutexGuard<'_, ExcitationStorage> {
        // A panic leaves no harm behind: nothing is read before it is written.
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cost at `k`; leaves the curve and the derivatives by the samples in `place`.
    fn judge(&self, k: &[f64], place: &mut Judging) -> Option<f64> {
        let (o, Judging { curve, sampling, judgement }) = (&self.options, place);
        curve.set_to_rest(self.start, &self.ends.at(k), self.duration_s).ok()?;
        sampling.along(self.robot, curve, o.horizon_s, o.samples, o.criterion.sample_errors());
        o.criterion.judge(self.known, &sampling.samples, judgement)
    }

    /// Derivatives of the cost in k_first, k_first+1, ...: sum of the judged derivatives times the samples' own.
    fn contract(&self, first: usize, space: &mut ExcitationStorage) -> [f64; LANES] {
        let (robot, n) = (self.robot, self.robot.dof());
        let ExcitationStorage { judging, samplers } = space;
        let Judging { curve, sampling, judgement } = &mut judging[0];
        let width = sampling.samples.width;
        let entries = judgement.slopes.par_chunks(CHUNK * n * width);
        let errors = judgement.error_slopes.par_chunks(CHUNK * n);
        let curve = &*curve;
        samplers.par_iter_mut().zip(entries.zip(errors)).enumerate().for_each(
            |(chunk, ((sampler, sum), (entries, errors)))| {
                *sum = [0.0; LANES];
                let mut add = |y: &Dual<f64, LANES>, by: f64| {
                    sum.iter_mut().zip(y.slope).for_each(|(sum, x)| *sum += x * by);
                };
                for (s, (entries, errors)) in entries.chunks(n * width).zip(errors.chunks(n)).enumerate() {
                    self.sample(curve, first, chunk * CHUNK + s, sampler);
                    for (j, by) in entries.chunks(width).enumerate() {
                        let row = &sampler.y[column(robot, j, 0)..];
                        row.iter().zip(&by[..INERTIAL]).for_each(|(y, &by)| add(y, by));
                        if let Some(sample_errors) = self.options.criterion.sample_errors() {
                            // The sign of a velocity is constant.
                            let motion = (sampler.dq[j], Dual::zero(), sampler.ddq[j]);
                            let shared = sample_errors.shared_rows(robot, j, &sampler.y, motion);
                            shared.zip(&by[INERTIAL..]).for_each(|(y, &by)| add(&y, by));
                        }
                    }
                    if self.options.criterion.sample_errors().is_some() {
                        for (j, by) in errors.iter().enumerate() {
                            add(&sampler.torques.tau[j], by.tau);
                            add(&sampler.dq[j], by.dq);
                            add(&sampler.ddq[j], by.ddq);
                        }
                    }
                }
            },
        );
        // Added in order, so that a run can be repeated.
        samplers.iter().fold([0.0; LANES], |total, (_, sum)| std::array::from_fn(|i| total[i] + sum[i]))
    }

    /// Fills the sampler's regressor at sample `s`.
    fn sample(&self, curve: &Bezier, first: usize, s: usize, sampler: &mut Sampler) {
        let (robot, o) = (self.robot, &self.options);
        let (n, dt) = (robot.dof(), o.horizon_s / o.samples as f64);
        let t = (s as f64 + 0.5) * dt;
        curve.evaluate(t, &mut sampler.state);
        let basis = end_point_basis(t, self.duration_s);
        for j in 0..n {
            let along = |value: f64, basis: f64| {
                let slope = |lane| if first + lane == j { basis * self.ends.reach()[j] } else { 0.0 };
                Dual::new(value, std::array::from_fn(slope))
            };
            sampler.q[j] = along(sampler.state.q[j], basis[0]);
            sampler.dq[j] = along(sampler.state.dq[j], basis[1]);
            sampler.ddq[j] = along(sampler.state.ddq[j], basis[2]);
        }
        sampler.motion.sweep(robot, &sampler.q, &sampler.dq, &sampler.dq, &sampler.ddq);
        let all = o.criterion.sample_errors().is_some();
        let bodies = if all { 0..n } else { robot.end_effector()..robot.end_effector() + 1 };
        torque_regressor(robot, &sampler.motion, bodies, &mut sampler.y);
        if o.criterion.sample_errors().is_some() {
            sampler.torques.fill(robot, &sampler.motion, &sampler.dq, &sampler.ddq);
        }
    }
}

/// Scratch space of one task.
#[derive(Debug)]
struct Sampler {
    motion: Motion<Dual<f64, LANES>>,
    state: JointState,
    q: Vec<Dual<f64, LANES>>,
    dq: Vec<Dual<f64, LANES>>,
    ddq: Vec<Dual<f64, LANES>>,
    y: Vec<Dual<f64, LANES>>,
    torques: Torques<Dual<f64, LANES>>,
}

impl Sampler {
    fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        let zeros = vec![Dual::zero(); n];
        Self {
            motion: Motion::new(robot),
            state: JointState::at_rest(&vec![0.0; n]),
            q: zeros.clone(),
            dq: zeros.clone(),
            ddq: zeros,
            y: vec![Dual::zero(); n * INERTIAL * n],
            torques: Torques::new(robot),
        }
    }
}

#[cfg(test)]
mod tests;
