//! Inverse-dynamics regression: one row a sample and joint, tau = Y(q, dq, ddq) z, with accelerations from a filter.
//!
//! The textbook way, for estimates: it needs accelerations, which nobody measures, so nothing here is a bound.
//! z is the full parameter vector ([`crate::robot::Model::nominal_parameters`]).

use nalgebra::{Cholesky, DMatrix, DVector};

use super::error::RegressionError;
use super::filter::Smoothing;
use super::least_squares::{huber_weights, non_negative};
use crate::dynamics::{Motion, torque_regressor};
use crate::inertia::{FRICTION, INERTIAL, OFFSET, ParameterSet};
use crate::recording::{MeasurementLog, Sample};
use crate::robot::Arm;

/// Rounds of reweighting in which an estimate settles to a thousandth.
pub const REWEIGHTINGS: usize = 8;

/// A deviation below this is none: products of inertia of zero have the width of one rounding, whose weight is no number.
const EXACT: f64 = 1e-100;

/// A sample with its acceleration.
#[derive(Debug, Clone, PartialEq)]
pub struct Moving {
    /// Time, s.
    pub t: f64,
    /// Positions, rad (m).
    pub q: Vec<f64>,
    /// Velocities, rad/s, smoothed.
    pub dq: Vec<f64>,
    /// Accelerations, rad/s^2, from the smoothed velocities.
    pub ddq: Vec<f64>,
    /// Torques, N m, as measured.
    pub tau: Vec<f64>,
}

/// All samples of a log with accelerations; segments of one sample are left out.
///
/// # Errors
/// Those of [`Smoothing::apply`].
pub fn moving(log: &MeasurementLog, smoothing: Smoothing) -> Result<Vec<Moving>, RegressionError> {
    let mut out = vec![];
    for segment in log.segments.iter().filter(|s| s.len() >= 2) {
        let samples = &log.samples[segment.clone()];
        let times: Vec<f64> = samples.iter().map(|s| s.t).collect();
        let mut part: Vec<Moving> = samples
            .iter()
            .map(|s| Moving { t: s.t, q: s.q.clone(), dq: vec![], ddq: vec![], tau: s.tau.clone() })
            .collect();
        for j in 0..samples[0].dq.len() {
            let signal: Vec<f64> = samples.iter().map(|s| s.dq[j]).collect();
            let (value, slope) = smoothing.apply(&times, &signal)?;
            for (k, sample) in part.iter_mut().enumerate() {
                sample.dq.push(value[k]);
                sample.ddq.push(slope[k]);
            }
        }
        out.extend(part);
    }
    Ok(out)
}

/// Torques of the samples that [`moving`] gives, smoothed as their speeds are, N m or N.
///
/// # Errors
/// As [`moving`].
pub(crate) fn smoothed_torques(
    log: &MeasurementLog,
    smoothing: Smoothing,
) -> Result<Vec<Vec<f64>>, RegressionError> {
    let mut out = vec![];
    for segment in log.segments.iter().filter(|s| s.len() >= 2) {
        let samples = &log.samples[segment.clone()];
        let times: Vec<f64> = samples.iter().map(|s| s.t).collect();
        let mut part: Vec<Vec<f64>> = samples.iter().map(|s| s.tau.clone()).collect();
        for j in 0..samples[0].tau.len() {
            let signal: Vec<f64> = samples.iter().map(|s| s.tau[j]).collect();
            let (values, _) = smoothing.apply(&times, &signal)?;
            part.iter_mut().zip(values).for_each(|(sample, value)| sample[j] = value);
        }
        out.extend(part);
    }
    Ok(out)
}

/// The samples that [`moving`] gives back smoothed.
pub(crate) fn moving_samples(log: &MeasurementLog) -> impl Iterator<Item = &Sample> {
    log.segments.iter().filter(|s| s.len() >= 2).flat_map(|segment| &log.samples[segment.clone()])
}

/// Writes regressors of single samples; the scratch space is made once.
pub struct Regressor<'a> {
    robot: &'a Arm,
    motion: Motion<f64>,
    links: Vec<f64>,
}

impl<'a> Regressor<'a> {
    /// Scratch space for `robot`.
    pub fn new(robot: &'a Arm) -> Self {
        let n = robot.dof();
        Self { robot, motion: Motion::new(robot), links: vec![0.0; INERTIAL * n * n] }
    }

    /// The n rows of Y at a sample into `y` (n x p). The sign of the Coulomb column runs from -1 to 1 within the
    /// robot's stiction speed.
    pub fn write(&mut self, q: &[f64], dq: &[f64], ddq: &[f64], y: &mut DMatrix<f64>) {
        let n = self.robot.dof();
        self.motion.sweep(self.robot, q, dq, dq, ddq);
        torque_regressor(self.robot, &self.motion, 0..n, &mut self.links);
        y.fill(0.0);
        for (i, row) in self.links.chunks_exact(INERTIAL * n).enumerate() {
            row.iter().enumerate().for_each(|(c, v)| y[(i, c)] = *v);
            let at = self.robot.joint_index(i);
            let stiction = self.robot.gains().stiction_speed_rad_s.max(f64::MIN_POSITIVE);
            y[(i, at.coulomb)] = (dq[i] / stiction).clamp(-1.0, 1.0);
            y[(i, at.viscous)] = dq[i];
            y[(i, at.armature)] = ddq[i];
            y[(i, at.offset)] = 1.0;
        }
    }
}

/// Measured minus predicted torque of every sample for parameters `z`, N m: one vector of n a sample.
pub fn residuals(robot: &Arm, z: &[f64], samples: &[Moving]) -> Vec<Vec<f64>> {
    let (n, p) = (robot.dof(), robot.parameter_count());
    let (mut regressor, mut y) = (Regressor::new(robot), DMatrix::zeros(n, p));
    let z = DVector::from_column_slice(z);
    samples
        .iter()
        .map(|s| {
            regressor.write(&s.q, &s.dq, &s.ddq, &mut y);
            let predicted = &y * &z;
            (0..n).map(|i| s.tau[i] - predicted[i]).collect()
        })
        .collect()
}

/// Root mean square of each joint's entry; NaN without rows.
pub fn rms(rows: &[Vec<f64>], joints: usize) -> Vec<f64> {
    let mean = |i: usize| rows.iter().map(|r| r[i] * r[i]).sum::<f64>() / rows.len() as f64;
    (0..joints).map(|i| mean(i).sqrt()).collect()
}

/// What [`fit`] assumes of the parameters before it sees the data.
#[derive(Debug, Clone)]
pub struct Belief {
    /// Where each parameter is expected.
    pub center: Vec<f64>,
    /// Its standard deviation; zero keeps it at the centre, infinity says nothing is believed.
    pub deviation: Vec<f64>,
}

impl Belief {
    /// Nominal values with the half-widths of `set` for deviations, and nothing believed of the indices `free`.
    pub fn from_set(set: &ParameterSet, free: impl Iterator<Item = usize>) -> Self {
        let mut belief = Self { center: set.center(), deviation: set.radius() };
        free.for_each(|j| belief.deviation[j] = f64::INFINITY);
        belief
    }
}

/// The parameters that minimise the sum of `weight(sample, joint)` (1/(N m)^2) times squared torque errors, plus the
/// squared distances from the belief in units of its deviations; Coulomb, viscous and transmission coefficients >= 0.
///
/// Directions that neither the data nor the belief determine (infinite deviation, and no excitation) stay at the centre.
///
/// # Errors
/// [`RegressionError::WrongLength`] or [`RegressionError::BadValue`] for data that do not fit the robot.
pub fn fit(
    robot: &Arm,
    samples: &[Moving],
    belief: &Belief,
    weight: impl Fn(usize, usize) -> f64,
) -> Result<Vec<f64>, RegressionError> {
    let (n, p) = (robot.dof(), robot.parameter_count());
    for found in [belief.center.len(), belief.deviation.len()] {
        if found != p {
            return Err(RegressionError::WrongLength { what: "belief", found, expected: p });
        }
    }
    // Normal equations of the free parameters, about the centre, in units of sqrt(diagonal).
    let free: Vec<usize> = (0..p).filter(|&j| belief.deviation[j] > EXACT).collect();
    let center = DVector::from_column_slice(&belief.center);
    let (mut regressor, mut y) = (Regressor::new(robot), DMatrix::zeros(n, p));
    let mut normal = DMatrix::zeros(free.len(), free.len());
    let mut right = DVector::zeros(free.len());
    for (k, s) in samples.iter().enumerate() {
        regressor.write(&s.q, &s.dq, &s.ddq, &mut y);
        let mut error = DVector::from_column_slice(&s.tau) - &y * &center;
        let mut part = y.select_columns(&free);
        for i in 0..n {
            let root = weight(k, i).sqrt();
            part.row_mut(i).scale_mut(root);
            error[i] *= root;
        }
        normal.gemm_tr(1.0, &part, &part, 1.0);
        right.gemv_tr(1.0, &part, &error, 1.0);
    }
    for (k, &j) in free.iter().enumerate() {
        normal[(k, k)] += belief.deviation[j].powi(-2);
    }
    let scale = normal.diagonal().map(|d: f64| if d > 0.0 { d.sqrt() } else { 1.0 });
    for i in 0..free.len() {
        for k in 0..free.len() {
            normal[(i, k)] /= scale[i] * scale[k];
        }
        right[i] /= scale[i];
        // Undetermined directions stay at the centre.
        normal[(i, i)] += 1e-12;
    }
    let Some(factor) = Cholesky::new(normal) else {
        let what = "recording".to_owned();
        return Err(RegressionError::BadValue { what, value: f64::NAN, expected: "finite numbers" });
    };
    // |A x - b|^2 with A'A the normal matrix: A = L', b = L^-1 right. In x' = x + shift the signs are x' >= 0.
    let a = factor.l().transpose();
    let mut b = right;
    factor.l_dirty().solve_lower_triangular_mut(&mut b);
    let shift = DVector::from_fn(free.len(), |k, _| {
        if signed(robot, free[k]) { scale[k] * belief.center[free[k]] } else { 0.0 }
    });
    let positive: Vec<bool> = free.iter().map(|&j| signed(robot, j)).collect();
    let x = non_negative(&a, &(b + &a * &shift), &positive)? - shift;
    let mut z = belief.center.clone();
    free.iter().enumerate().for_each(|(k, &j)| z[j] += x[k] / scale[k]);
    for j in (0..p).filter(|&j| signed(robot, j)) {
        // Adding the shift and taking it off again may leave a rounding below zero.
        z[j] = z[j].max(0.0);
    }
    Ok(z)
}

/// Whether parameter j cannot be negative: friction other than the offset.
fn signed(robot: &Arm, j: usize) -> bool {
    j.checked_sub(INERTIAL * robot.dof()).is_some_and(|k| k % FRICTION != OFFSET)
}

/// [`fit`] again and again, each joint's torque errors in units of their own mean square and weighed down by Huber's
/// rule where they are outliers: a wrist joint then counts as much as the shoulder, and a bump does not. Entries that are
/// not `useful(sample, joint)` are left out. `rounds` of it; [`REWEIGHTINGS`] are enough.
///
/// # Errors
/// Those of [`fit`].
pub fn fit_reweighted(
    robot: &Arm,
    samples: &[Moving],
    belief: &Belief,
    useful: impl Fn(usize, usize) -> bool,
    rounds: usize,
) -> Result<Vec<f64>, RegressionError> {
    let n = robot.dof();
    let mut z = fit(robot, samples, belief, |k, i| f64::from(useful(k, i)))?;
    for _ in 0..rounds {
        let errors = residuals(robot, &z, samples);
        let mut weights = vec![vec![0.0; samples.len()]; n];
        for (i, weights) in weights.iter_mut().enumerate() {
            let kept: Vec<usize> = (0..samples.len()).filter(|&k| useful(k, i)).collect();
            let own: Vec<f64> = kept.iter().map(|&k| errors[k][i]).collect();
            let huber = huber_weights(&own);
            let square = |(e, w): (&f64, &f64)| w * e * e;
            let variance = own.iter().zip(&huber).map(square).sum::<f64>() / own.len().max(1) as f64;
            kept.iter().zip(huber).for_each(|(&k, w)| weights[k] = w / variance.max(1e-12));
        }
        z = fit(robot, samples, belief, |k, i| weights[i][k])?;
    }
    Ok(z)
}
