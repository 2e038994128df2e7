//! How motions are compared by what they tell: the condition number of the columns that motion can tell apart.

use nalgebra::{DMatrix, SymmetricEigen};

use crate::regression::base::BaseParameters;

/// Shares of a random motion's amplitude that are tried until it keeps the limits.
pub(super) const SHARES: [f64; 9] = [1.0, 0.8, 0.64, 0.5, 0.38, 0.28, 0.18, 0.1, 0.05];
/// First step of the search as a share of a coefficient's range, and what becomes of it after a success and a failure.
pub(super) const STEP: (f64, f64, f64) = (0.3, 1.5, 0.903_602);

/// How motions are compared: by the columns that motion can tell apart, each scaled by what random motions make of it.
pub(super) struct Judge {
    pub columns: Vec<usize>,
    scales: Vec<f64>,
}

impl Judge {
    /// Of random motions, by the products Y'Y of their rows; there is at least one.
    pub fn new<'t>(informations: impl IntoIterator<Item = &'t DMatrix<f64>>) -> Self {
        let mut count = 0.0;
        let add = |sum: Option<DMatrix<f64>>, one: &DMatrix<f64>| {
            count += 1.0;
            Some(sum.map_or_else(|| one.clone(), |sum| sum + one))
        };
        let all = informations.into_iter().fold(None, add).unwrap_or_default();
        // Columns of a matrix depend on each other as those of the root of Y'Y do.
        let eigen = SymmetricEigen::new(all.clone());
        let roots = eigen.eigenvalues.map(|x| x.max(0.0).sqrt());
        let root = DMatrix::from_diagonal(&roots) * eigen.eigenvectors.transpose();
        let columns = BaseParameters::of(&root).independent;
        let scales = columns.iter().map(|&c| (all[(c, c)] / count).sqrt()).collect();
        Self { columns, scales }
    }

    /// Condition number of the scaled base columns of some motions together.
    pub fn condition<'t>(&self, informations: impl IntoIterator<Item = &'t DMatrix<f64>>) -> f64 {
        let n = self.columns.len();
        let mut sum = DMatrix::zeros(n, n);
        for information in informations {
            sum += information.select_rows(&self.columns).select_columns(&self.columns);
        }
        self.condition_of(&sum)
    }

    /// The same from the products of the base columns alone.
    pub fn condition_of(&self, own: &DMatrix<f64>) -> f64 {
        let values = self.scaled(own).symmetric_eigenvalues();
        let (least, most) = (values.min().max(0.0).sqrt(), values.max().sqrt());
        if least > 0.0 { most / least } else { f64::INFINITY }
    }

    /// The logarithm of a smooth stand-in for [`Judge::condition_of`], which has kinks where singular values meet: sums of their fourth powers and of those of their inverses in place of the largest ones.
    pub fn smooth_condition(&self, own: &DMatrix<f64>) -> f64 {
        let squares = self.scaled(own).symmetric_eigenvalues();
        if !(squares.min() > 0.0) {
            return f64::INFINITY;
        }
        0.5 * (squares.norm().ln() + squares.map(f64::recip).norm().ln())
    }

    /// The derivative of [`Judge::smooth_condition`] by the products.
    pub fn smooth_condition_slope(&self, own: &DMatrix<f64>) -> DMatrix<f64> {
        let n = self.columns.len();
        let eigen = SymmetricEigen::new(self.scaled(own));
        let squares = &eigen.eigenvalues;
        let (high, low) = (squares.norm_squared(), squares.map(f64::recip).norm_squared());
        let by = squares.map(|x| 0.5 * (x / high - x.powi(-3) / low));
        let slope = &eigen.eigenvectors * DMatrix::from_diagonal(&by) * eigen.eigenvectors.transpose();
        DMatrix::from_fn(n, n, |r, c| slope[(r, c)] / (self.scales[r] * self.scales[c]))
    }

    fn scaled(&self, own: &DMatrix<f64>) -> DMatrix<f64> {
        let n = self.columns.len();
        DMatrix::from_fn(n, n, |r, c| own[(r, c)] / (self.scales[r] * self.scales[c]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows whose columns are told apart, with noise of a kind.
    fn rows(seed: usize) -> DMatrix<f64> {
        DMatrix::from_fn(12, 5, |r, c| ((17 * r + 29 * c + 7 * seed + r * c * c) % 23) as f64 - 11.0)
    }

    #[test]
    fn the_smooth_condition_number_is_near_and_has_its_slope() {
        let own = rows(0).transpose() * rows(0);
        let judge = Judge::new([&own, &(rows(1).transpose() * rows(1))]);
        assert_eq!(judge.columns.len(), 5);
        let (exact, smooth) = (judge.condition_of(&own).ln(), judge.smooth_condition(&own));
        // Sums of five fourth powers in place of the largest one, twice.
        assert!(exact <= smooth && smooth <= exact + 0.5 * 5f64.ln(), "{exact} {smooth}");
        let by = DMatrix::from_fn(5, 5, |r, c| ((r * c) % 3) as f64 + if r == c { 2.0 } else { 0.0 });
        let h = 1e-4;
        let [above, below] = [h, -h].map(|h| judge.smooth_condition(&(&own + &by * h)));
        let (expected, found) = ((above - below) / (2.0 * h), judge.smooth_condition_slope(&own).dot(&by));
        assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} {expected}");
        assert_eq!(judge.smooth_condition(&DMatrix::zeros(5, 5)), f64::INFINITY);
    }
}
