//! How motions are compared by what they tell: the condition number of the columns that motion can tell apart.

mod adaptation;

pub(super) use adaptation::Adaptation;
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
        let n = self.columns.len();
        let scaled = DMatrix::from_fn(n, n, |r, c| own[(r, c)] / (self.scales[r] * self.scales[c]));
        let values = scaled.symmetric_eigenvalues();
        let (least, most) = (values.min().max(0.0).sqrt(), values.max().sqrt());
        if least > 0.0 { most / least } else { f64::INFINITY }
    }
}
