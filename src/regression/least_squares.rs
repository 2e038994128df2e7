//! Least squares in its plain forms: ordinary, weighted, iteratively reweighted, non-negative, recursive, total.
//!
//! These are estimates for comparison and for feed-forward; no guarantee rests on them.

use nalgebra::{DMatrix, DVector};

use super::error::RegressionError;

/// Singular values below this share of the largest count as zero.
const NEGLIGIBLE: f64 = 1e-10;
/// Rounds of reweighting, and of moves between the active sets, at most.
const MAX_ROUNDS: usize = 200;
/// Residuals beyond this many robust standard deviations are weighed down (Huber's constant for 95 % efficiency).
const HUBER: f64 = 1.345;
/// Median of |x| for the standard normal distribution.
const NORMAL_MEDIAN: f64 = 0.6745;

fn check(a: &DMatrix<f64>, b: &DVector<f64>) -> Result<(), RegressionError> {
    if a.nrows() != b.len() {
        let (found, expected) = (b.len(), a.nrows());
        return Err(RegressionError::WrongLength { what: "right-hand side", found, expected });
    }
    match a.iter().chain(b.iter()).find(|x| !x.is_finite()) {
        Some(&value) => {
            let what = "least-squares data".to_owned();
            Err(RegressionError::BadValue { what, value, expected: "a finite number" })
        }
        None => Ok(()),
    }
}

/// Minimises |A x - b|; of several minimisers the shortest, directions with a singular value below 1e-10 of the largest
/// being left out.
///
/// # Errors
/// [`RegressionError::WrongLength`] or [`RegressionError::BadValue`] for data that do not fit or are not finite.
pub fn ordinary(a: &DMatrix<f64>, b: &DVector<f64>) -> Result<DVector<f64>, RegressionError> {
    check(a, b)?;
    if a.is_empty() {
        return Ok(DVector::zeros(a.ncols()));
    }
    let svd = a.clone().svd(true, true);
    let tolerance = NEGLIGIBLE * svd.singular_values.max();
    svd.solve(b, tolerance).map_err(|_| RegressionError::BadValue {
        what: "singular value decomposition".to_owned(),
        value: f64::NAN,
        expected: "to converge",
    })
}

/// Minimises sum_w weight_w (A x - b)_w^2; weights >= 0.
///
/// # Errors
/// As [`ordinary`]; a negative or non-finite weight is a [`RegressionError::BadValue`].
pub fn weighted(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    weights: &[f64],
) -> Result<DVector<f64>, RegressionError> {
    if weights.len() != b.len() {
        let (found, expected) = (weights.len(), b.len());
        return Err(RegressionError::WrongLength { what: "weights", found, expected });
    }
    if let Some(&value) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
        return Err(RegressionError::BadValue {
            what: "weight".to_owned(),
            value,
            expected: "a number >= 0",
        });
    }
    check(a, b)?;
    let (mut a, mut b) = (a.clone(), b.clone());
    for (w, weight) in weights.iter().enumerate() {
        a.row_mut(w).scale_mut(weight.sqrt());
        b[w] *= weight.sqrt();
    }
    ordinary(&a, &b)
}

/// The standard deviation of normal residuals by the median of |r|: up to half of them may be anything. 0 of nothing.
pub fn robust_deviation<'a>(residuals: impl IntoIterator<Item = &'a f64>) -> f64 {
    let mut sizes: Vec<f64> = residuals.into_iter().map(|r| r.abs()).collect();
    if sizes.is_empty() {
        return 0.0;
    }
    let middle = sizes.len() / 2;
    *sizes.select_nth_unstable_by(middle, f64::total_cmp).1 / NORMAL_MEDIAN
}

/// Huber's weights for residuals: 1 within 1.345 robust standard deviations ([`robust_deviation`]), falling as 1/|r|
/// beyond. All 1 if half of the residuals vanish.
pub fn huber_weights(residuals: &[f64]) -> Vec<f64> {
    let limit = HUBER * robust_deviation(residuals);
    residuals.iter().map(|r| if limit > 0.0 && r.abs() > limit { limit / r.abs() } else { 1.0 }).collect()
}

/// [`weighted`] with [`huber_weights`] of its own residuals, until it no longer changes: outliers lose their pull.
///
/// # Errors
/// As [`ordinary`].
pub fn reweighted(a: &DMatrix<f64>, b: &DVector<f64>) -> Result<DVector<f64>, RegressionError> {
    let mut x = ordinary(a, b)?;
    for _ in 0..MAX_ROUNDS {
        let weights = huber_weights((a * &x - b).as_slice());
        let next = weighted(a, b, &weights)?;
        let moved = (&next - &x).norm();
        x = next;
        if moved <= 1e-10 * (1.0 + x.norm()) {
            break;
        }
    }
    Ok(x)
}

/// Minimises |A x - b| over x with x_j >= 0 where `positive[j]`, by the active-set method of Lawson and Hanson
/// with the free unknowns always active.
///
/// # Errors
/// As [`ordinary`]; `positive` must have one entry an unknown.
pub fn non_negative(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    positive: &[bool],
) -> Result<DVector<f64>, RegressionError> {
    check(a, b)?;
    let p = a.ncols();
    if positive.len() != p {
        return Err(RegressionError::WrongLength { what: "signs", found: positive.len(), expected: p });
    }
    let mut active: Vec<bool> = positive.iter().map(|p| !p).collect();
    let mut x = restricted(a, b, &active)?;
    let scale = (a.norm() * b.norm()).max(f64::MIN_POSITIVE);
    for _ in 0..MAX_ROUNDS {
        let gradient = a.transpose() * (b - a * &x);
        let candidates = (0..p).filter(|&j| !active[j] && gradient[j] > 1e-12 * scale);
        let Some(enter) = candidates.max_by(|&i, &j| gradient[i].total_cmp(&gradient[j])) else { break };
        active[enter] = true;
        loop {
            let trial = restricted(a, b, &active)?;
            let blocked = |j: &usize| active[*j] && positive[*j] && trial[*j] <= 0.0;
            let share = (0..p)
                .filter(blocked)
                .map(|j| x[j] / (x[j] - trial[j]))
                .map(|s| if s.is_finite() { s.clamp(0.0, 1.0) } else { 0.0 })
                .fold(f64::INFINITY, f64::min);
            if share.is_infinite() {
                x = trial;
                break;
            }
            x += share * (&trial - &x);
            for j in 0..p {
                if active[j] && positive[j] && x[j] <= 1e-14 * (1.0 + trial[j].abs()) {
                    active[j] = false;
                    x[j] = 0.0;
                }
            }
        }
    }
    Ok(x)
}

/// [`ordinary`] over the active unknowns; the others are zero.
fn restricted(a: &DMatrix<f64>, b: &DVector<f64>, active: &[bool]) -> Result<DVector<f64>, RegressionError> {
    let kept: Vec<usize> = (0..active.len()).filter(|&j| active[j]).collect();
    let part = ordinary(&a.select_columns(&kept), b)?;
    let mut x = DVector::zeros(active.len());
    kept.iter().zip(part.iter()).for_each(|(&j, v)| x[j] = *v);
    Ok(x)
}

/// Minimises |(E, e)| subject to (A + E) x = b + e: errors in both sides of the same size.
///
/// # Errors
/// As [`ordinary`]; [`RegressionError::BadValue`] if there are fewer rows than unknowns or no solution exists.
pub fn total(a: &DMatrix<f64>, b: &DVector<f64>) -> Result<DVector<f64>, RegressionError> {
    check(a, b)?;
    let p = a.ncols();
    let refuse = |what: &str, value| {
        let what = what.to_owned();
        Err(RegressionError::BadValue { what, value, expected: "a well-posed total least-squares problem" })
    };
    if a.nrows() <= p {
        return refuse("number of rows", a.nrows() as f64);
    }
    let mut joined = a.clone().resize_horizontally(p + 1, 0.0);
    joined.set_column(p, b);
    let svd = joined.svd(false, true);
    let Some(v) = svd.v_t else { return refuse("singular vectors", f64::NAN) };
    let last = v.row(svd.singular_values.imin());
    if last[p].abs() < NEGLIGIBLE {
        return refuse("last entry of the singular vector", last[p]);
    }
    Ok(DVector::from_fn(p, |j, _| -last[j] / last[p]))
}

/// Recursive least squares with exponential forgetting; no allocation after construction.
#[derive(Debug, Clone)]
pub struct Recursive {
    estimate: DVector<f64>,
    covariance: DMatrix<f64>,
    gain: DVector<f64>,
    forgetting: f64,
}

impl Recursive {
    /// Starts at `estimate` with covariance `variance` I (in units of a row's variance). `forgetting` in (0, 1] is the
    /// weight of the past after each row; 1 forgets nothing.
    ///
    /// # Errors
    /// [`RegressionError::BadValue`] for a forgetting factor outside (0, 1] or a variance that is not positive.
    pub fn new(estimate: Vec<f64>, variance: f64, forgetting: f64) -> Result<Self, RegressionError> {
        if !(forgetting > 0.0 && forgetting <= 1.0) {
            let what = "forgetting factor".to_owned();
            return Err(RegressionError::BadValue { what, value: forgetting, expected: "in (0, 1]" });
        }
        if !(variance > 0.0 && variance.is_finite()) {
            let what = "initial variance".to_owned();
            return Err(RegressionError::BadValue { what, value: variance, expected: "a finite number > 0" });
        }
        let p = estimate.len();
        Ok(Self {
            estimate: DVector::from_vec(estimate),
            covariance: DMatrix::identity(p, p) * variance,
            gain: DVector::zeros(p),
            forgetting,
        })
    }

    /// The present estimate.
    pub fn estimate(&self) -> &[f64] {
        self.estimate.as_slice()
    }

    /// Takes one row: `row' x = value` up to noise of variance 1. A row of another length or with a number that is not
    /// finite is left out; returns whether it was used.
    pub fn push(&mut self, row: &[f64], value: f64) -> bool {
        let p = self.estimate.len();
        if row.len() != p || !value.is_finite() || row.iter().any(|x| !x.is_finite()) {
            return false;
        }
        let (mut size, mut error) = (self.forgetting, value);
        for i in 0..p {
            self.gain[i] = (0..p).map(|j| self.covariance[(i, j)] * row[j]).sum();
            size += row[i] * self.gain[i];
            error -= row[i] * self.estimate[i];
        }
        for i in 0..p {
            self.estimate[i] += self.gain[i] * error / size;
            for j in 0..p {
                let kept = self.covariance[(i, j)] - self.gain[i] * self.gain[j] / size;
                self.covariance[(i, j)] = kept / self.forgetting;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
