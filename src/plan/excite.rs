//! Exciting trajectories: how much a motion will tell about the end effector's ten inertial parameters.
//!
//! The regressor W stacks, for samples along the trajectory, the torque regressor's columns of the end-effector body,
//! each row times sqrt(dt), so that A = W'W stands for the integral of Y'Y dt whatever the number of samples. To A
//! comes the information that earlier plans have already collected ([`Information`]). The cost is log cond(W), a function
//! of A alone; with G = d cost / dA, symmetric, its gradient is d cost / dk_j = 2 <W G, dW/dk_j>. G is made of the outer
//! singular vectors, and this is the classical d sigma = u' dW v.
//!
//! That is the papers' cost, [`Criterion::ConditionNumber`]. [`Criterion::PredictedWidth`] asks for what the identifier will make of
//! the data: rows divided by the largest error of their torque ([`super::worth`]), columns times the present half-widths, and
//! the present intervals as information; its cost is half the logarithm of tr A^-1, the mean remaining variance.
//!
//! dW/dk_j is exact (but for the rows' weights, which are held constant): the regressor is evaluated on dual numbers, through q, dq and ddq, which are linear in k.

use super::decision::{Cost, CostError, EndPoints, check_size};
use super::worth::Worth;
use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::ParameterSet;
use crate::robot::{INERTIAL, Robot};
use crate::scalar::{Dual, Scalar};
use crate::trajectory::{Bezier, JointState, end_point_basis};
use nalgebra::{DMatrix, SMatrix, SVector};
use rayon::prelude::*;

/// Directions that one pass of dual numbers carries.
const LANES: usize = 8;
/// Samples that one task works on.
const CHUNK: usize = 8;

type Square = SMatrix<f64, INERTIAL, INERTIAL>;

/// What has been learnt about the ten parameters, as the triangular factor R of R'R = sum of W'W.
#[derive(Debug, Clone, PartialEq)]
pub struct Information {
    factor: Square,
}

impl Information {
    /// Nothing yet.
    pub fn none() -> Self {
        Self { factor: Square::zeros() }
    }

    /// Adds the rows of a regressor (m x 10), for example [`executed_rows`].
    pub fn absorb(&mut self, rows: &DMatrix<f64>) {
        self.factor = triangle(&self.factor, rows);
    }

    /// Condition number of all rows so far; infinite while a direction is unseen.
    pub fn condition_number(&self) -> f64 {
        let singular = self.factor.singular_values();
        if singular.min() > 0.0 { singular.max() / singular.min() } else { f64::INFINITY }
    }
}

/// The triangular factor of the rows of `above` and `below` (m x 10) together.
fn triangle(above: &Square, below: &DMatrix<f64>) -> Square {
    let mut stack = DMatrix::zeros(INERTIAL + below.nrows(), INERTIAL);
    stack.rows_mut(0, INERTIAL).copy_from(above);
    stack.rows_mut(INERTIAL, below.nrows()).copy_from(below);
    stack.qr().r().fixed_view::<INERTIAL, INERTIAL>(0, 0).into_owned()
}

/// Rows of the end-effector regressor times sqrt(dt) at the middles of `samples` equal parts of \[0, `until_s`\] along
/// `curve`, weighted by their worth if the criterion asks for it: (samples n) x 10.
pub fn executed_rows(
    robot: &Robot,
    curve: &Bezier,
    until_s: f64,
    samples: usize,
    criterion: &Criterion,
) -> DMatrix<f64> {
    let (n, dt) = (robot.dof(), until_s / samples.max(1) as f64);
    let mut rows = DMatrix::zeros(samples * n, INERTIAL);
    let (mut motion, mut y) = (Motion::new(robot), vec![0.0; n * INERTIAL * n]);
    let mut state = JointState::at_rest(&vec![0.0; n]);
    let mut worth = criterion.worth();
    for s in 0..samples {
        curve.evaluate((s as f64 + 0.5) * dt, &mut state);
        motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
        torque_regressor(robot, &motion, robot.end_effector..robot.end_effector + 1, &mut y);
        let weights = worth.as_mut().map(|w| w.weights(robot, &state));
        for j in 0..n {
            let weight = dt.sqrt() * weights.map_or(1.0, |w| w[j]);
            for p in 0..INERTIAL {
                rows[(s * n + j, p)] = y[column(robot, j, p)] * weight;
            }
        }
    }
    rows
}

/// Index of the end effector's column `p` in row `j` of a torque regressor.
fn column(robot: &Robot, j: usize, p: usize) -> usize {
    INERTIAL * (robot.dof() * j + robot.end_effector) + p
}

/// What makes a trajectory exciting; smaller costs are better.
#[derive(Debug, Clone)]
pub enum Criterion {
    /// log cond(W) in SI units, the papers' choice.
    ConditionNumber {
        /// Smallest singular value that is told from zero, above 0; keeps the cost finite for a trajectory that shows
        /// nothing.
        floor: f64,
    },
    /// The mean remaining variance, relative to the present half-widths.
    PredictedWidth {
        /// Weights of the samples.
        worth: Box<Worth>,
        /// Present half-widths of the ten parameters, above 0.
        half_widths: [f64; INERTIAL],
    },
}

impl Criterion {
    /// The condition number, next to nothing told from zero.
    pub fn condition_number() -> Self {
        Criterion::ConditionNumber { floor: 1e-6 }
    }

    /// The prediction for what is known in `set`.
    pub fn predicted_width(robot: &Robot, set: &ParameterSet) -> Self {
        let at = robot.inertial_index(robot.end_effector);
        // A parameter that is known exactly still needs a scale.
        let half_widths = std::array::from_fn(|p| (0.5 * (set.upper[at + p] - set.lower[at + p])).max(1e-6));
        Criterion::PredictedWidth { worth: Box::new(Worth::new(robot, set)), half_widths }
    }

    fn worth(&self) -> Option<Worth> {
        match self {
            Criterion::ConditionNumber { .. } => None,
            Criterion::PredictedWidth { worth, .. } => Some(Worth::clone(worth)),
        }
    }

    /// Factors of the columns.
    fn scale(&self) -> [f64; INERTIAL] {
        match self {
            Criterion::ConditionNumber { .. } => [1.0; INERTIAL],
            Criterion::PredictedWidth { half_widths, .. } => *half_widths,
        }
    }

    /// Smallest singular value before any data: next to nothing, or the present intervals themselves.
    fn floor(&self) -> f64 {
        match self {
            Criterion::ConditionNumber { floor } => *floor,
            Criterion::PredictedWidth { .. } => 1.0,
        }
    }
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
    /// Factor of what is known already, floor included.
    known: Square,
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
        let floor = DMatrix::identity(INERTIAL, INERTIAL) * options.criterion.floor();
        let scale = Square::from_diagonal(&SVector::from(options.criterion.scale()));
        let known = triangle(&(known.factor * scale), &floor);
        Ok(Self { robot, start: start.clone(), ends, duration_s, options, known })
    }

    /// The cost alone at `k` (length n); NaN where `k` is not finite.
    pub fn value(&self, k: &[f64]) -> f64 {
        let o = &self.options;
        let Ok(curve) = Bezier::to_rest(&self.start, &self.ends.at(k), self.duration_s) else {
            return f64::NAN;
        };
        let mut rows = executed_rows(self.robot, &curve, o.horizon_s, o.samples, &o.criterion);
        for (mut column, scale) in rows.column_iter_mut().zip(o.criterion.scale()) {
            column *= scale;
        }
        weigh(&o.criterion, &triangle(&self.known, &rows)).map_or(f64::NAN, |w| w.value)
    }

    /// The cost and its gradient at `k` (length n); NaN where `k` is not finite.
    pub fn evaluate(&self, k: &[f64]) -> Cost {
        let n = self.robot.dof();
        let unusable = || Cost { value: f64::NAN, gradient: vec![f64::NAN; n] };
        let Ok(curve) = Bezier::to_rest(&self.start, &self.ends.at(k), self.duration_s) else {
            return unusable();
        };
        let mut gradient = vec![0.0; n];
        let mut weighed: Option<Weighed> = None;
        for first in (0..n).step_by(LANES) {
            let samples = self.slopes(&curve, first);
            // The values are the same in every pass: the first one settles cost and sensitivity.
            let weighed = match &weighed {
                Some(done) => done,
                None => {
                    let rows = DMatrix::from_row_iterator(
                        samples.len() / INERTIAL,
                        INERTIAL,
                        samples.iter().map(|entry| entry.value),
                    );
                    let Some(done) = weigh(&self.options.criterion, &triangle(&self.known, &rows)) else {
                        return unusable();
                    };
                    weighed.insert(done)
                }
            };
            let lanes = contract(&samples, &weighed.sensitivity);
            for (entry, lane) in gradient[first..].iter_mut().zip(lanes) {
                *entry = lane;
            }
        }
        Cost { value: weighed.map_or(f64::NAN, |w| w.value), gradient }
    }

    /// All entries of W, row-major, with their slopes in k_first, k_first+1, ...
    fn slopes(&self, curve: &Bezier, first: usize) -> Vec<Dual<f64, LANES>> {
        let (n, o) = (self.robot.dof(), &self.options);
        let mut entries = vec![Dual::zero(); o.samples * n * INERTIAL];
        let chunks = entries.par_chunks_mut(CHUNK * n * INERTIAL).enumerate();
        chunks.for_each(|(chunk, out)| {
            let mut sampler = Sampler::new(self.robot, o.criterion.worth());
            for (s, out) in out.chunks_mut(n * INERTIAL).enumerate() {
                self.sample(curve, first, chunk * CHUNK + s, &mut sampler, out);
            }
        });
        entries
    }

    fn sample(
        &self,
        curve: &Bezier,
        first: usize,
        s: usize,
        sampler: &mut Sampler,
        out: &mut [Dual<f64, LANES>],
    ) {
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
        let weights = sampler.worth.as_mut().map(|w| w.weights(robot, &sampler.state));
        let scale = o.criterion.scale();
        for j in 0..n {
            let weight = dt.sqrt() * weights.map_or(1.0, |w| w[j]);
            for p in 0..INERTIAL {
                out[INERTIAL * j + p] = sampler.y[column(robot, j, p)].scale(weight * scale[p]);
            }
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
    worth: Option<Worth>,
}

impl Sampler {
    fn new(robot: &Robot, worth: Option<Worth>) -> Self {
        let n = robot.dof();
        let zeros = vec![Dual::zero(); n];
        Self {
            motion: Motion::new(robot),
            state: JointState::at_rest(&vec![0.0; n]),
            q: zeros.clone(),
            dq: zeros.clone(),
            ddq: zeros,
            y: vec![Dual::zero(); n * INERTIAL * n],
            worth,
        }
    }
}

/// The cost and 2 G = 2 d cost / dA.
struct Weighed {
    value: f64,
    sensitivity: Square,
}

/// The criterion of A = R'R, from R's singular values (A itself would lose half of the digits).
fn weigh(criterion: &Criterion, factor: &Square) -> Option<Weighed> {
    if !factor.iter().all(|x| x.is_finite()) {
        return None;
    }
    let svd = factor.try_svd(false, true, f64::EPSILON, 1000)?;
    let (sigma, v) = (svd.singular_values, svd.v_t?.transpose());
    Some(match criterion {
        Criterion::ConditionNumber { .. } => {
            let (largest, smallest) = (sigma.imax(), sigma.imin());
            let outer = |i: usize| v.column(i) * v.column(i).transpose() / (sigma[i] * sigma[i]);
            let value = (sigma[largest] / sigma[smallest]).ln();
            Weighed { value, sensitivity: outer(largest) - outer(smallest) }
        }
        Criterion::PredictedWidth { .. } => {
            let trace: f64 = sigma.iter().map(|s| 1.0 / (s * s)).sum();
            let inverse_squared = v * Square::from_diagonal(&sigma.map(|s| s.powi(-4))) * v.transpose();
            Weighed { value: 0.5 * trace.ln(), sensitivity: -inverse_squared / trace }
        }
    })
}

/// <W (2G), dW/dk_j> for all lanes j.
fn contract(entries: &[Dual<f64, LANES>], sensitivity: &Square) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    for row in entries.chunks_exact(INERTIAL) {
        let values = SVector::<f64, INERTIAL>::from_fn(|p, _| row[p].value);
        let weights = sensitivity * values;
        for (entry, weight) in row.iter().zip(weights.iter()) {
            for (sum, slope) in sum.iter_mut().zip(entry.slope) {
                *sum += weight * slope;
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests;
