//! Deviations of the parameters where errors are not independent from sample to sample.
//!
//! For those who ask how far an estimate from real data can be trusted. The posterior ([`super::posterior`]) believes the stated
//! deviations and that all errors are white. Here neither is believed: what counts is how the stages' residuals pull at the
//! parameters. With s_k the slope of stage k's cost by theta, everything else at its best for theta (the *score*), and P the posterior
//! covariance of theta, the estimate errs by P sum s_k to first order. So
//!
//! ```text
//! Cov(theta) = P (S + Lambda) P,   S = sum_{k,l} w((k - l) / L) s_k s_l',   w(x) = max(0, 1 - |x|)
//! ```
//!
//! with Lambda the prior's information, whose own score has that covariance. This is the sandwich estimator with Bartlett's weights (Newey
//! and West 1987); the length L follows from how the scores correlate (Andrews 1991, a first-order autoregression for each direction). It
//! is consistent for errors that forget within a time that is short against the log; of errors that last as long as the log, it knows nothing.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::error::EstimateError;
use super::posterior::Posterior;
use super::problem::EstimationProblem;
use super::riccati::PolicySpace;
use super::solver::{Solver, inner};

/// Singular values of the first state's Hessian below this share of the largest count as none.
const RANK: f64 = 1e-12;
/// A first-order autoregression is taken to be no slower than this.
const SLOWEST: f64 = 0.995;
/// Bartlett's weights reach over this share of the log at most.
const LONGEST: f64 = 0.25;

/// The covariance of the parameters, and over how many stages errors were found to last.
#[derive(Debug, Clone)]
pub struct ColouredCovariance {
    /// Covariance of theta, nt x nt.
    pub covariance: DMatrix<f64>,
    /// L, in stages.
    pub length: f64,
}

impl ColouredCovariance {
    /// Of the scores (rows: stages; columns: parameters; without the prior's) with this posterior; `information` is one over the variance of each
    /// parameter's prior, 0 where there is none.
    pub fn of_scores(scores: &DMatrix<f64>, posterior: &Posterior, information: &[f64]) -> Self {
        let (count, nt, nx) = (scores.nrows(), information.len(), posterior.nx);
        let p = posterior.arrival.view((nx, nx), (nt, nt)).into_owned();
        let root = square_root(&p);
        // In these directions the scores count alike: each has the deviation one if errors are as stated.
        let even = scores * &root;
        let length = andrews_length(&even).clamp(1.0, (LONGEST * count as f64).max(1.0));
        let mut middle = even.tr_mul(&even);
        for lag in 1..(length.ceil() as usize).min(count) {
            let weight = 1.0 - lag as f64 / length;
            if weight <= 0.0 {
                break;
            }
            let part = even.rows(lag, count - lag).tr_mul(&even.rows(0, count - lag));
            middle += weight * (&part + part.transpose());
        }
        let prior = &root * DMatrix::from_diagonal(&DVector::from_column_slice(information)) * &root;
        Self { covariance: &root * (middle + prior) * &root, length }
    }

    /// Standard deviation of a function of the parameters with this gradient.
    pub fn deviation(&self, gradient: &DVector<f64>) -> f64 {
        (gradient.transpose() * &self.covariance * gradient)[0].max(0.0).sqrt()
    }
}

/// The symmetric root of a covariance.
fn square_root(p: &DMatrix<f64>) -> DMatrix<f64> {
    if p.is_empty() {
        return p.clone();
    }
    let eigen = SymmetricEigen::new(p.clone());
    let roots = eigen.eigenvalues.map(|x| x.max(0.0).sqrt());
    &eigen.eigenvectors * DMatrix::from_diagonal(&roots) * eigen.eigenvectors.transpose()
}

/// 1.1447 (alpha N)^(1/3), with alpha of a first-order autoregression in each column.
fn andrews_length(scores: &DMatrix<f64>) -> f64 {
    let (mut above, mut below) = (0.0, 0.0);
    for column in scores.column_iter() {
        let n = column.nrows();
        let (mut now, mut ahead) = (0.0, 0.0);
        for k in 0..n - 1 {
            now += column[k] * column[k];
            ahead += column[k] * column[k + 1];
        }
        if !(now > 0.0) {
            continue;
        }
        let rho = (ahead / now).clamp(-SLOWEST, SLOWEST);
        let left = (0..n - 1).map(|k| (column[k + 1] - rho * column[k]).powi(2)).sum::<f64>() / n as f64;
        above += 4.0 * (rho * left).powi(2) / ((1.0 - rho).powi(6) * (1.0 + rho).powi(2));
        below += left * left / (1.0 - rho).powi(4);
    }
    if below > 0.0 { 1.1447 * (above / below * scores.nrows() as f64).cbrt() } else { 1.0 }
}

impl<P: EstimationProblem> Solver<'_, P> {
    /// The scores at the present trajectory: how each stage pulls at the parameters (rows: stages; columns: parameters). At a minimum without
    /// active inequalities their sum is zero; the prior's own is that of stage 0.
    ///
    /// # Errors
    /// As [`Solver::posterior`].
    pub fn scores(&mut self) -> Result<DMatrix<f64>, EstimateError> {
        self.damped_step(0.0)?;
        let (nt, nx, count) =
            (self.trajectory().theta.len(), self.problem.size(0).tangent, self.records.len());
        let first = self.first_state_by_parameters(nx, nt);
        let mut scores = DMatrix::zeros(count, nt);
        let (mut space, mut unit) = (PolicySpace::default(), vec![0.0; nt]);
        for i in 0..nt {
            unit[i] = 1.0;
            let mut dx: Vec<f64> = first.column(i).iter().copied().collect();
            for (k, record) in self.records.iter_mut().enumerate() {
                let node = &inner(record).node;
                let mut next = vec![0.0; node.next];
                scores[(k, i)] = node.respond(&dx, &unit, &mut space, &mut next);
                dx = next;
            }
            unit[i] = 0.0;
        }
        Ok(scores)
    }

    /// -V_xx^+ V_xt of the first stage's value function.
    fn first_state_by_parameters(&mut self, nx: usize, nt: usize) -> DMatrix<f64> {
        if self.options.fixed_arrival {
            return DMatrix::zeros(nx, nt);
        }
        let value = self.first_value();
        let scale: Vec<f64> =
            (0..nx).map(|j| if value[(j, j)] > 0.0 { value[(j, j)].sqrt().recip() } else { 1.0 }).collect();
        let v = DMatrix::from_fn(nx, nx, |i, j| scale[i] * scale[j] * value[(i.max(j), i.min(j))]);
        let by = DMatrix::from_fn(nx, nt, |j, i| -scale[j] * value[(nx + i, j)]);
        let eigen = SymmetricEigen::new(v);
        let floor = RANK * eigen.eigenvalues.amax();
        let inverse = eigen.eigenvalues.map(|x| if x > floor { 1.0 / x } else { 0.0 });
        let part = eigen.eigenvectors.tr_mul(&by);
        let answer = &eigen.eigenvectors * DMatrix::from_diagonal(&inverse) * part;
        DMatrix::from_fn(nx, nt, |j, i| scale[j] * answer[(j, i)])
    }
}

#[cfg(test)]
mod tests;
