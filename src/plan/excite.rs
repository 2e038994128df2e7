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
use super::worth::{Torques, Worth};
use crate::dynamics::{Motion, torque_regressor};
use crate::robot::{INERTIAL, Robot};
use crate::scalar::{Dual, Scalar};
use crate::trajectory::{Bezier, Curve, JointState, end_point_basis};
use nalgebra::DMatrix;
use rayon::prelude::*;
use width::Row;

/// Directions that one pass of dual numbers carries.
const LANES: usize = 8;
/// Samples that one task works on.
const CHUNK: usize = 8;

/// Rows of the end-effector regressor at the middles of equal parts of a trajectory.
#[derive(Debug, Clone)]
struct Samples {
    /// Number of joints n.
    joints: usize,
    /// Time that a sample stands for, s.
    dt: f64,
    /// (sample, joint, parameter), row-major, SI units.
    entries: Vec<f64>,
    /// (sample, joint): largest error of the torque, N m; 1 if nothing was asked about it.
    errors: Vec<f64>,
    /// (sample, joint): its derivative by the torque.
    error_slopes: Vec<f64>,
}

impl Samples {
    fn row(&self, at: usize) -> &[f64] {
        &self.entries[INERTIAL * at..INERTIAL * (at + 1)]
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        self.entries.chunks_exact(INERTIAL).map(Row::from_column_slice)
    }

    /// W: the rows times sqrt(dt), so that W'W stands for the integral of Y'Y whatever the number of samples.
    fn weighted(&self) -> DMatrix<f64> {
        let weight = self.dt.sqrt();
        let entries = self.entries.iter().map(|x| x * weight);
        DMatrix::from_row_iterator(self.entries.len() / INERTIAL, INERTIAL, entries)
    }
}

/// `samples` rows a joint on \[0, `until_s`\] along `curve`.
fn samples_along(
    robot: &Robot,
    curve: &dyn Curve,
    until_s: f64,
    samples: usize,
    mut worth: Option<Worth>,
) -> Samples {
    let (n, dt) = (robot.dof(), until_s / samples.max(1) as f64);
    let mut found = Samples {
        joints: n,
        dt,
        entries: Vec::with_capacity(samples * n * INERTIAL),
        errors: Vec::with_capacity(samples * n),
        error_slopes: Vec::with_capacity(samples * n),
    };
    let (mut motion, mut y) = (Motion::new(robot), vec![0.0; n * INERTIAL * n]);
    let mut state = JointState::at_rest(&vec![0.0; n]);
    for s in 0..samples {
        curve.evaluate((s as f64 + 0.5) * dt, &mut state);
        motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
        torque_regressor(robot, &motion, robot.end_effector..robot.end_effector + 1, &mut y);
        for j in 0..n {
            let at = column(robot, j, 0);
            found.entries.extend_from_slice(&y[at..at + INERTIAL]);
        }
        match &mut worth {
            Some(worth) => {
                let (errors, slopes) = worth.errors(robot, &state);
                found.errors.extend_from_slice(errors);
                found.error_slopes.extend_from_slice(slopes);
            }
            None => {
                found.errors.extend(std::iter::repeat_n(1.0, n));
                found.error_slopes.extend(std::iter::repeat_n(0.0, n));
            }
        }
    }
    found
}

/// Index of the end effector's column `p` in row `j` of a torque regressor.
fn column(robot: &Robot, j: usize, p: usize) -> usize {
    INERTIAL * (robot.dof() * j + robot.end_effector) + p
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

/// The excitation cost of quintic trajectories from one start.
///
/// A start at rest with k = 0 is a trajectory without motion, where the gradient says little: start the search
/// elsewhere.
#[derive(Debug, Clone)]
pub struct Excitation<'a> {
    robot: &'a Robot,
    start: JointState,
    ends: EndPoints,
    duration_s: f64,
    options: ExcitationOptions,
    known: Information,
}

impl<'a> Excitation<'a> {
    /// The cost of trajectories of duration `duration_s` from `start` to `ends`, after `known` has been learnt.
    ///
    /// # Errors
    /// [`CostError`] for wrong lengths, a non-finite start, a duration or horizon that is not above zero, a horizon
    /// beyond the duration, or no samples.
    pub fn new(
        robot: &'a Robot,
        start: &JointState,
        ends: EndPoints,
        duration_s: f64,
        known: &Information,
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
        Ok(Self { robot, start: start.clone(), ends, duration_s, options, known: known.clone() })
    }

    /// The cost alone at `k` (length n); NaN where `k` is not finite.
    pub fn value(&self, k: &[f64]) -> f64 {
        self.judge(k).map_or(f64::NAN, |(_, judgement)| judgement.value)
    }

    /// The cost and its gradient at `k` (length n); NaN where `k` is not finite.
    pub fn evaluate(&self, k: &[f64]) -> Cost {
        let n = self.robot.dof();
        let Some((curve, judgement)) = self.judge(k) else {
            return Cost { value: f64::NAN, gradient: (0..n).map(|_| f64::NAN).collect() };
        };
        let mut gradient: Joints<f64> = (0..n).map(|_| 0.0).collect();
        for first in (0..n).step_by(LANES) {
            let lanes = self.contract(&curve, first, &judgement);
            for (entry, lane) in gradient[first..].iter_mut().zip(lanes) {
                *entry = lane;
            }
        }
        Cost { value: judgement.value, gradient }
    }

    fn judge(&self, k: &[f64]) -> Option<(Bezier, criterion::Judgement)> {
        let o = &self.options;
        let curve = Bezier::to_rest(&self.start, &self.ends.at(k), self.duration_s).ok()?;
        let samples = samples_along(self.robot, &curve, o.horizon_s, o.samples, o.criterion.worth().cloned());
        let judgement = o.criterion.judge(&self.known, &samples)?;
        Some((curve, judgement))
    }

    /// Derivatives of the cost in k_first, k_first+1, ...: sum of the judged derivatives times the samples' own.
    fn contract(&self, curve: &Bezier, first: usize, judgement: &criterion::Judgement) -> [f64; LANES] {
        let n = self.robot.dof();
        let entries = judgement.slopes.par_chunks(CHUNK * n * INERTIAL);
        let torques = judgement.torque_slopes.par_chunks(CHUNK * n);
        let sums: Vec<[f64; LANES]> = entries
            .zip(torques)
            .enumerate()
            .map(|(chunk, (entries, torques))| {
                let mut sampler = Sampler::new(self.robot, self.options.criterion.worth());
                let mut sum = [0.0; LANES];
                let mut add = |y: &Dual<f64, LANES>, by: f64| {
                    sum.iter_mut().zip(y.slope).for_each(|(sum, x)| *sum += x * by);
                };
                for (s, (entries, torques)) in entries.chunks(n * INERTIAL).zip(torques.chunks(n)).enumerate()
                {
                    self.sample(curve, first, chunk * CHUNK + s, &mut sampler);
                    for (j, by) in entries.chunks(INERTIAL).enumerate() {
                        let row = &sampler.y[column(self.robot, j, 0)..];
                        row.iter().zip(by).for_each(|(y, &by)| add(y, by));
                    }
                    if let Some(found) = &sampler.torques {
                        found.tau.iter().zip(torques).for_each(|(tau, &by)| add(tau, by));
                    }
                }
                sum
            })
            .collect();
        // Added in order, so that a run can be repeated.
        sums.iter().fold([0.0; LANES], |total, sum| std::array::from_fn(|i| total[i] + sum[i]))
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
        let last = robot.end_effector;
        torque_regressor(robot, &sampler.motion, last..last + 1, &mut sampler.y);
        if let Some(torques) = &mut sampler.torques {
            torques.fill(robot, &sampler.motion, &sampler.dq, &sampler.ddq);
        }
    }
}

/// Scratch space of one task.
struct Sampler {
    motion: Motion<Dual<f64, LANES>>,
    state: JointState,
    q: Vec<Dual<f64, LANES>>,
    dq: Vec<Dual<f64, LANES>>,
    ddq: Vec<Dual<f64, LANES>>,
    y: Vec<Dual<f64, LANES>>,
    torques: Option<Torques<Dual<f64, LANES>>>,
}

impl Sampler {
    fn new(robot: &Robot, worth: Option<&Worth>) -> Self {
        let n = robot.dof();
        let zeros = vec![Dual::zero(); n];
        Self {
            motion: Motion::new(robot),
            state: JointState::at_rest(&vec![0.0; n]),
            q: zeros.clone(),
            dq: zeros.clone(),
            ddq: zeros,
            y: vec![Dual::zero(); n * INERTIAL * n],
            torques: worth.map(|worth| Torques::new(robot, worth)),
        }
    }
}

#[cfg(test)]
mod tests;
