//! What recordings say of a limb, in sums that are made once: a fit for another width of belief, or without one of the recordings, looks at no row again.
//!
//! Weights are those of one robust fit to all recordings with the widest belief: it explains most, so what it does not explain is an outlier for any. With
//! e_j the residuals of motor j, all that a weighted fit needs are the sums of w y_j y_k', w y_j u_k and w u_j u_k over samples, for each pair of motors and each
//! recording. The errors' covariance follows from these too, so it is that of the fit at hand: links that are believed too much leave larger errors, which then count less.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::belief::Outliers;
use super::compressed::Compressed;
use super::fit::{Effort, Fitted, Free, fit};
use crate::regression::RegressionError;
use crate::regression::robust::no_errors;
use crate::robot::Model;

/// Fits at most until the covariance has settled, and by which share of each variance it may still move.
const FITS: usize = 3;
const SETTLED: f64 = 0.02;
/// Duality gap that is aimed at, in units of half a squared deviation: far below what tells beliefs apart.
const GAP: f64 = 1e-2;

/// Weighted sums over some samples; one entry a pair of motors.
#[derive(Clone)]
struct Sums {
    /// sum w (y_j y_k' + y_k y_j') / 2.
    grams: Vec<DMatrix<f64>>,
    /// sum w (y_j u_k + y_k u_j) / 2.
    slopes: Vec<DVector<f64>>,
    /// sum w u_j u_k.
    squares: Vec<f64>,
    /// sum w.
    weights: Vec<f64>,
}

/// What all recordings but one say, for each that is left out.
pub(super) struct Evidence<'a> {
    limb: &'a Model,
    /// C of [`Compressed`].
    map: &'a DMatrix<f64>,
    motors: usize,
    /// Pairs (j, k), j <= k, whose covariance counts.
    pairs: Vec<(usize, usize)>,
    /// One entry a recording that is left out.
    sums: Vec<Sums>,
    /// So many samples are as good as one with an error of its own.
    alike: f64,
    /// By how much each motor's variance is larger than that of its weighted errors.
    scales: Vec<f64>,
    /// C times the parameters of the robust fit.
    reference: DVector<f64>,
}

impl<'a> Evidence<'a> {
    /// Of rows that belong to `parts`, with everything that is `free`.
    pub fn of(
        limb: &'a Model,
        (free, outliers): (&Free, Outliers),
        all: &'a Compressed,
        parts: &[usize],
    ) -> Result<Self, RegressionError> {
        let Fitted { theta, rounds, .. } = fit(limb, free, all, (outliers, Effort::Search))?;
        let motors = all.rows.rows.joints;
        // Where rows are unknown, each sample has a precision of its own. Correlations are then left to the fits that look at rows.
        let complete = all.rows.rows.known.iter().all(|known| *known);
        let correlated = outliers == Outliers::Samples && complete;
        let pairs: Vec<(usize, usize)> = (0..motors)
            .flat_map(|j| (j..motors).map(move |k| (j, k)))
            .filter(|(j, k)| correlated || j == k)
            .collect();
        let count = parts.iter().max().map_or(0, |last| last + 1);
        let of_part = |part: usize| Sums::of(all, &rounds.row_weights, &pairs, |s| parts[s] == part);
        let each: Vec<Sums> = (0..count).map(of_part).collect();
        let mut own = Self {
            limb,
            map: &all.map,
            motors,
            pairs,
            sums: vec![],
            alike: all.rows.alike,
            scales: vec![1.0; motors],
            reference: all.onto(&theta),
        };
        let whole = Sums::total(each.iter());
        let covariance = own.covariance(&whole, &own.reference);
        let scale = |j: usize| rounds.covariance[(j, j)] / covariance[(j, j)].max(f64::MIN_POSITIVE);
        own.scales = (0..motors).map(scale).collect();
        let others = |left_out: usize| {
            Sums::total(each.iter().enumerate().filter(|(part, _)| *part != left_out).map(|(_, sums)| sums))
        };
        own.sums = (0..count).map(others).collect();
        Ok(own)
    }

    /// All parameters of the limb, from all recordings but `left_out`.
    pub fn fit(&self, free: &Free, left_out: usize) -> Result<Vec<f64>, RegressionError> {
        let sums = &self.sums[left_out];
        let mut theta = self.limb.nominal_parameters();
        let mut covariance = self.covariance(sums, &self.reference);
        for _ in 0..FITS {
            let (gram, slope) = self.normal(sums, &covariance)?;
            theta = free.minimise(self.limb, self.map, (&gram, &slope), GAP)?.2;
            let next = self.covariance(sums, &(self.map * DVector::from_column_slice(&theta)));
            let moved = (0..self.motors).map(|j| (next[(j, j)] / covariance[(j, j)] - 1.0).abs());
            let settled = moved.fold(0.0, f64::max) <= SETTLED;
            covariance = next;
            if settled {
                break;
            }
        }
        Ok(theta)
    }

    /// Covariance of the motors' errors at a point; one for a motor of which nothing is known.
    fn covariance(&self, sums: &Sums, x: &DVector<f64>) -> DMatrix<f64> {
        let mut covariance = DMatrix::zeros(self.motors, self.motors);
        for (i, &(j, k)) in self.pairs.iter().enumerate() {
            let sum = x.dot(&(&sums.grams[i] * x)) - 2.0 * x.dot(&sums.slopes[i]) + sums.squares[i];
            let scale = (self.scales[j] * self.scales[k]).sqrt();
            let value = scale * sum / sums.weights[i].max(f64::MIN_POSITIVE);
            covariance[(j, k)] = value;
            covariance[(k, j)] = value;
        }
        for (i, &(j, _)) in self.pairs.iter().enumerate().filter(|(_, (j, k))| j == k) {
            if sums.weights[i] == 0.0 {
                covariance[(j, j)] = 1.0;
            }
        }
        covariance
    }

    /// Normal matrix and right-hand side of the weighted rows.
    fn normal(
        &self,
        sums: &Sums,
        covariance: &DMatrix<f64>,
    ) -> Result<(DMatrix<f64>, DVector<f64>), RegressionError> {
        let precision = Cholesky::new(covariance.clone()).ok_or_else(no_errors)?.inverse();
        let size = self.reference.len();
        let (mut gram, mut slope) = (DMatrix::zeros(size, size), DVector::zeros(size));
        for (i, &(j, k)) in self.pairs.iter().enumerate() {
            let factor = precision[(j, k)] / self.alike * if j == k { 1.0 } else { 2.0 };
            gram.zip_apply(&sums.grams[i], |sum, own| *sum += factor * own);
            slope.axpy(factor, &sums.slopes[i], 1.0);
        }
        Ok((gram, slope))
    }
}

impl Sums {
    /// Over the samples that are `wanted`.
    fn of(
        all: &Compressed,
        weights: &[f64],
        pairs: &[(usize, usize)],
        wanted: impl Fn(usize) -> bool,
    ) -> Self {
        let (rows, m) = (&all.rows.rows, all.rows.rows.joints);
        let kept: Vec<usize> = (0..rows.samples()).filter(|s| wanted(*s)).collect();
        let own = |j: usize| {
            let places: Vec<usize> = kept.iter().map(|s| m * s + j).collect();
            let (mut y, mut u) = (rows.y.select_rows(&places), rows.u.select_rows(&places));
            let roots = DVector::from_iterator(places.len(), places.iter().map(|&row| weights[row].sqrt()));
            y.column_iter_mut().for_each(|mut column| column.component_mul_assign(&roots));
            u.component_mul_assign(&roots);
            (y, u, roots)
        };
        let motors: Vec<_> = (0..m).map(own).collect();
        let turned: Vec<DMatrix<f64>> = motors.iter().map(|(y, _, _)| y.transpose()).collect();
        let mut sums = Self { grams: vec![], slopes: vec![], squares: vec![], weights: vec![] };
        for &(j, k) in pairs {
            let (one, other) = (&motors[j], &motors[k]);
            let product = &turned[j] * &other.0;
            sums.grams.push(if j == k { product } else { 0.5 * (&product + product.transpose()) });
            sums.slopes.push(0.5 * (&turned[j] * &other.1 + &turned[k] * &one.1));
            sums.squares.push(one.1.dot(&other.1));
            sums.weights.push(one.2.dot(&other.2));
        }
        sums
    }

    /// The sum of at least one.
    fn total<'s>(mut each: impl Iterator<Item = &'s Self>) -> Self {
        let empty = Self { grams: vec![], slopes: vec![], squares: vec![], weights: vec![] };
        let mut total = each.next().cloned().unwrap_or(empty);
        for own in each {
            total.grams.iter_mut().zip(&own.grams).for_each(|(sum, x)| *sum += x);
            total.slopes.iter_mut().zip(&own.slopes).for_each(|(sum, x)| *sum += x);
            total.squares.iter_mut().zip(&own.squares).for_each(|(sum, x)| *sum += x);
            total.weights.iter_mut().zip(&own.weights).for_each(|(sum, x)| *sum += x);
        }
        total
    }
}
