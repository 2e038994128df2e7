//! The same parameters by inverse dynamics with filtered accelerations, which needs no trajectory: plain least squares, and least squares
//! over bodies that can exist, with the priors of the problem.
//!
//! Torques are linear in inertias and in Coulomb, viscous and transmission coefficients. Errors last for many samples, so N of them count as N / L, with L
//! the integrated autocorrelation of what is left; only so do priors weigh as much against them as they say.

use std::ops::Range;

use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};

use super::EstimationStudy;
use super::combinations::Columns;
use super::result::physical;
use crate::dynamics::Workspace;
use crate::dynamics::actuation::{drive_torque, joint_friction};
use crate::estimate::ColouredCovariance;
use crate::estimate::error::EstimateError;
use crate::estimate::posterior::Posterior;
use crate::inertia::INERTIAL;
use crate::multibody::MultibodyProblem;
use crate::multibody::parameters::{JointParameter, ParameterMap};
use crate::recording::Sample;
use crate::regression::filter::LocalPolynomial;
use crate::regression::inverse::Moving;
use crate::robot::Model;

/// Time on each side of the filter, s, as for a recording that is predicted.
pub(super) const SMOOTHING_S: f64 = 0.05;
/// Eigenvalues of the scaled normal matrix below this share of the largest count as none.
const OPEN: f64 = 1e-9;
/// Rounds of weighting, and steps of each round's minimisation.
const ROUNDS: usize = 4;
const STEPS: usize = 100;
/// A step that gains less than this share of the sum of squares is the last.
const STILL: f64 = 1e-10;
/// Autocorrelation below which errors have forgotten.
const FORGOTTEN: f64 = 0.05;

/// Samples without a gap, and their filtered states.
pub(super) type FilteredSegment = (Range<usize>, Vec<Moving>);

/// An estimate with its uncertainty, in the coordinates of the problem.
pub(super) struct Regressed {
    pub theta: Vec<f64>,
    pub posterior: Posterior,
    pub coloured: ColouredCovariance,
}

/// Rows of one joint: what a change of each estimated physical parameter from its start does to its torque, and what of the torque the start leaves.
struct Rows {
    y: DMatrix<f64>,
    left: DVector<f64>,
}

impl Rows {
    /// What the change leaves: its root mean square, and for how many samples it lasts.
    fn leftover(&self, change: &DVector<f64>) -> (f64, f64) {
        let left = &self.left - &self.y * change;
        let size = (left.norm_squared() / left.len().max(1) as f64).sqrt();
        (size.max(f64::MIN_POSITIVE), lasting(&left))
    }
}

/// For how many samples errors last: their integrated autocorrelation, up to where it has faded; at least 1.
pub(super) fn lasting(errors: &DVector<f64>) -> f64 {
    let mean = errors.mean();
    let e: Vec<f64> = errors.iter().map(|x| x - mean).collect();
    let lagged = |lag: usize| e[lag..].iter().zip(&e).map(|(a, b)| a * b).sum::<f64>();
    let variance = lagged(0);
    let mut length = 1.0;
    for lag in 1..e.len() / 2 {
        let correlation = lagged(lag) / variance;
        if !(correlation > FORGOTTEN) {
            break;
        }
        length += 2.0 * correlation;
    }
    length
}

/// Inverse dynamics of samples, ready for regression.
pub(super) struct InverseDynamics<'a> {
    robot: &'a Model,
    map: &'a ParameterMap,
    start: Vec<f64>,
    prior: &'a [f64],
    joints: Vec<Rows>,
}

impl EstimationStudy {
    /// Samples `range` with smoothed velocities and accelerations, by segments; those that are shorter than the filter are left out.
    pub(super) fn moving(&self, range: Range<usize>) -> Result<Vec<FilteredSegment>, EstimateError> {
        let half = ((SMOOTHING_S / self.step_s).round() as usize).max(2);
        let (mut out, mut first) = (vec![], range.start);
        for k in range.clone() {
            if k + 1 < range.end && self.intervals_s[k].is_finite() {
                continue;
            }
            let segment = first..k + 1;
            first = k + 1;
            if segment.len() <= 2 * half {
                continue;
            }
            let samples = &self.samples[segment.clone()];
            let times: Vec<f64> = samples.iter().map(|s| s.t).collect();
            let refused = |e| EstimateError::Recording { reason: format!("accelerations: {e}") };
            let filter = LocalPolynomial::new(&times, half, 2).map_err(refused)?;
            let mut columns = vec![];
            for j in 0..self.robot.nv() {
                let signal: Vec<f64> = samples.iter().map(|s| s.dq[j]).collect();
                columns.push((filter.values(&signal), filter.derivatives(&signal)));
            }
            let state = |(i, s): (usize, &Sample)| Moving {
                t: s.t,
                q: s.q.clone(),
                dq: columns.iter().map(|c| c.0[i]).collect(),
                ddq: columns.iter().map(|c| c.1[i]).collect(),
                tau: s.tau.clone(),
            };
            out.push((segment, samples.iter().enumerate().map(state).collect()));
        }
        Ok(out)
    }

    /// Whether inverse dynamics tells the torques of this problem, and is linear in what is estimated.
    pub(super) fn is_linear(&self) -> bool {
        use JointParameter as P;
        let linear = |which: &P| matches!(which, P::Coulomb | P::Viscous | P::Armature | P::Offset);
        self.sealed.is_none()
            && self.contacts.constraints.is_empty()
            && self.robot.loops.is_empty()
            && !self.robot.has_free_flyer()
            && self.robot.nv() == self.robot.bodies()
            && self.deviations.dq.iter().chain(&self.deviations.q).all(|d| d.is_finite())
            && self.map.joints.iter().all(|(_, which)| linear(which))
            && !self.map.is_empty()
    }
}

impl<'a> InverseDynamics<'a> {
    /// Of the motion `samples`.
    pub(super) fn new(study: &'a EstimationStudy, problem: &MultibodyProblem, samples: &[Moving]) -> Self {
        let (robot, map) = (&*study.robot, &study.map);
        let (n, np, p) = (robot.nv(), map.len(), &map.nominal);
        let mut columns = Columns::new(robot, map, p);
        let (mut workspace, mut tau, mut own) = (Workspace::new(robot), vec![0.0; n], DMatrix::zeros(n, np));
        let blank = || Rows { y: DMatrix::zeros(samples.len(), np), left: DVector::zeros(samples.len()) };
        let mut joints: Vec<Rows> = (0..n).map(|_| blank()).collect();
        for (k, s) in samples.iter().enumerate() {
            own.fill(0.0);
            columns.write((&s.q, &s.dq, &s.ddq), Some(&s.tau), (&mut own, 0));
            workspace.inverse_dynamics(robot, &s.q, &s.dq, &s.ddq, &p[..robot.parameter_count()], &mut tau);
            for (j, rows) in joints.iter_mut().enumerate() {
                rows.y.row_mut(k).copy_from(&own.row(j));
                rows.left[k] =
                    drive_torque(robot, p, j, s.tau[j]) - tau[j] - joint_friction(robot, p, j, s.dq[j]).0;
            }
        }
        Self { robot, map, start: problem.guess_theta().to_vec(), prior: &study.deviations.theta, joints }
    }

    /// Physical parameters at `theta` less those at the start.
    fn change(&self, theta: &[f64]) -> DVector<f64> {
        let at = |theta: &[f64]| {
            let mut p = self.map.nominal.clone();
            self.map.fill(self.robot, theta, &mut p);
            DVector::from_vec(physical(self.robot, self.map, &p))
        };
        at(theta) - at(&self.start)
    }

    /// Y'WY and Y'W left, with one weight a joint.
    fn normal(&self, weights: &[f64]) -> (DMatrix<f64>, DVector<f64>) {
        let np = self.map.len();
        let (mut a, mut b) = (DMatrix::zeros(np, np), DVector::zeros(np));
        for (rows, &weight) in self.joints.iter().zip(weights) {
            a.gemm_tr(weight, &rows.y, &rows.y, 1.0);
            b.gemv_tr(weight, &rows.y, &rows.left, 1.0);
        }
        (a, b)
    }

    /// Plain least squares over all rows, directions that the motion does not show left where they start; nothing where the bodies that come out cannot exist.
    pub(super) fn least_squares(&self) -> Option<Regressed> {
        let np = self.map.len();
        let (a, b) = self.normal(&vec![1.0; self.joints.len()]);
        let scale = a.diagonal().map(|d: f64| if d > 0.0 { d.sqrt().recip() } else { 1.0 });
        let scaled = DMatrix::from_fn(np, np, |i, k| a[(i, k)] * scale[i] * scale[k]);
        let eigen = SymmetricEigen::new(scaled);
        let floor = OPEN * eigen.eigenvalues.amax();
        let inverse = eigen.eigenvalues.map(|x| if x > floor { 1.0 / x } else { 0.0 });
        let pseudo = &eigen.eigenvectors * DMatrix::from_diagonal(&inverse) * eigen.eigenvectors.transpose();
        let pseudo = DMatrix::from_fn(np, np, |i, k| pseudo[(i, k)] * scale[i] * scale[k]);
        let change = &pseudo * b;
        let theta = self.coordinates(&change)?;
        let kinds: Vec<(f64, f64)> = self.joints.iter().map(|rows| rows.leftover(&change)).collect();
        let of = |lasting: bool| {
            let weight = |&(size, length): &(f64, f64)| size * size * if lasting { length } else { 1.0 };
            let (middle, _) = self.normal(&kinds.iter().map(weight).collect::<Vec<_>>());
            &pseudo * middle * &pseudo
        };
        // From physical parameters to coordinates.
        let back = self.map.slope(&theta).try_inverse()?;
        let open = (0..np).filter(|&k| !(eigen.eigenvalues[k] > floor)).map(|k| {
            let direction = &back * eigen.eigenvectors.column(k).component_mul(&scale);
            let length = direction.norm();
            direction.iter().map(|x| x / length).collect()
        });
        let unobservable = open.collect();
        let covariance = &back * of(true) * back.transpose();
        let arrival = &back * of(false) * back.transpose();
        Some(Regressed {
            theta,
            posterior: Posterior { arrival, nx: 0, unobservable },
            coloured: ColouredCovariance { covariance, length: longest(&kinds) },
        })
    }

    /// Coordinates of the start with this change; nothing where it has none, or friction is negative.
    fn coordinates(&self, change: &DVector<f64>) -> Option<Vec<f64>> {
        let mut map = self.map.clone();
        for (b, &(body, _)) in self.map.bodies.iter().enumerate() {
            let at = self.robot.body_range(body);
            (map.nominal[at].iter_mut().zip(&change.as_slice()[INERTIAL * b..])).for_each(|(x, d)| *x += d);
        }
        let first = INERTIAL * self.map.bodies.len();
        for (i, &(joint, which)) in self.map.joints.iter().enumerate() {
            map.nominal[which.index(self.robot, joint)] += change[first + i];
        }
        map.start(self.robot).ok().filter(|theta| theta.iter().all(|x| x.is_finite()))
    }

    /// Weighted least squares over bodies that can exist and friction that brakes, with the priors of the problem.
    pub(super) fn consistent(&self) -> Option<Regressed> {
        let mut theta = self.start.clone();
        let mut kinds: Vec<(f64, f64)> =
            self.joints.iter().map(|rows| rows.leftover(&DVector::zeros(self.map.len()))).collect();
        let mut normal = (DMatrix::zeros(0, 0), DVector::zeros(0));
        for _ in 0..ROUNDS {
            let weights: Vec<f64> = kinds.iter().map(|(size, length)| 1.0 / (size * size * length)).collect();
            normal = self.normal(&weights);
            self.minimise(&normal, &mut theta)?;
            let change = self.change(&theta);
            kinds = self.joints.iter().map(|rows| rows.leftover(&change)).collect();
        }
        let slope = self.map.slope(&theta);
        let mut hessian = slope.tr_mul(&(&normal.0 * &slope));
        for (i, d) in self.prior.iter().enumerate() {
            // A direction that nothing tells of stays where it is.
            hessian[(i, i)] += 1.0 / (d * d);
        }
        let ridge = 1e-12 * hessian.diagonal().amax();
        (0..hessian.nrows()).for_each(|i| hessian[(i, i)] += ridge);
        let covariance = Cholesky::new(hessian)?.inverse();
        let posterior = Posterior { arrival: covariance.clone(), nx: 0, unobservable: vec![] };
        Some(Regressed {
            theta,
            posterior,
            coloured: ColouredCovariance { covariance, length: longest(&kinds) },
        })
    }

    /// Damped Gauss-Newton steps; coefficients of friction that would become negative are held at zero.
    fn minimise(&self, (a, b): &(DMatrix<f64>, DVector<f64>), theta: &mut Vec<f64>) -> Option<()> {
        let first = INERTIAL * self.map.bodies.len();
        let bounded: Vec<usize> = (0..self.map.joints.len())
            .filter(|&i| self.map.joints[i].1.is_bounded())
            .map(|i| first + i)
            .collect();
        let value = |theta: &[f64]| {
            let change = self.change(theta);
            let prior: f64 = (theta.iter().zip(&self.start).zip(self.prior))
                .map(|((x, at), d)| ((x - at) / d).powi(2))
                .sum();
            0.5 * (change.dot(&(a * &change)) + prior) - b.dot(&change)
        };
        let mut now = value(theta);
        let mut damping = 1e-6;
        for _ in 0..STEPS {
            let slope = self.map.slope(theta);
            let mut gradient = slope.tr_mul(&(a * self.change(theta) - b));
            let mut hessian = slope.tr_mul(&(a * &slope));
            for (i, d) in self.prior.iter().enumerate() {
                gradient[i] += (theta[i] - self.start[i]) / (d * d);
                hessian[(i, i)] += 1.0 / (d * d);
            }
            let scale = hessian.diagonal().amax();
            for i in 0..hessian.nrows() {
                hessian[(i, i)] += damping * hessian[(i, i)] + 1e-13 * scale;
            }
            for &i in &bounded {
                if theta[i] <= 0.0 && gradient[i] > 0.0 {
                    hessian.row_mut(i).fill(0.0);
                    hessian.column_mut(i).fill(0.0);
                    (hessian[(i, i)], gradient[i]) = (1.0, 0.0);
                }
            }
            let step = Cholesky::new(hessian)?.solve(&-gradient);
            let mut trial: Vec<f64> = theta.iter().zip(step.iter()).map(|(x, d)| x + d).collect();
            bounded.iter().for_each(|&i| trial[i] = trial[i].max(0.0));
            let there = value(&trial);
            if there < now {
                let gain = now - there;
                (*theta, now, damping) = (trial, there, (0.2 * damping).max(1e-12));
                if gain < STILL * (1.0 + now.abs()) {
                    break;
                }
            } else if damping < 1e8 {
                damping *= 10.0;
            } else {
                break;
            }
        }
        Some(())
    }
}

fn longest(kinds: &[(f64, f64)]) -> f64 {
    kinds.iter().map(|(_, length)| *length).fold(1.0, f64::max)
}
