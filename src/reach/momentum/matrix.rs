//! Matrices of bounds: entries are not negative, and no operation makes one too small.
//!
//! # Proven
//! Let A bound a matrix entry by entry. Then products and sums of such bounds bound those of the matrices; and if eta < 1 with A d <= eta d for some
//! d > 0, then the sum of all powers of A, which bounds (1 - A')^-1 for every |A'| <= A, has entries of at most (d_i / d_j) / (1 - eta), as
//! (A^k)_ij d_j <= (A^k d)_i <= eta^k d_i. If S is above that sum so is 1 + A S, as the sum is 1 + A times itself.

use crate::reach::upward::{add_up, div_up, mul_up, sum_up};

/// Power iterations for the weights d, which are near the largest eigenvector: any are sound.
const POWERS: usize = 30;
/// Least weight, relative to the largest: none may be zero.
const LEAST: f64 = 1e-9;
/// Times that 1 + A S is taken for S: each brings it nearer to the sum by a factor eta.
const ROUNDS: usize = 40;

/// Bounds on the entries of a square matrix, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundMatrix {
    n: usize,
    entries: Vec<f64>,
}

impl BoundMatrix {
    /// All entries zero.
    pub fn zero(n: usize) -> Self {
        Self { n, entries: vec![0.0; n * n] }
    }

    /// The entry in row `i` and column `j`.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[self.n * i + j]
    }

    /// Sets the entry in row `i` and column `j`.
    pub fn set(&mut self, i: usize, j: usize, bound: f64) {
        self.entries[self.n * i + j] = bound;
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.n
    }

    /// Entry `i` of the product with a vector of bounds.
    pub fn row_times(&self, i: usize, x: &[f64]) -> f64 {
        sum_up((0..self.n).map(|j| mul_up(self.at(i, j), x[j])))
    }

    /// The product with a vector of bounds.
    pub fn times_vector(&self, x: &[f64]) -> Vec<f64> {
        (0..self.n).map(|i| self.row_times(i, x)).collect()
    }

    /// The product with another matrix.
    pub fn times(&self, other: &Self) -> Self {
        let n = self.n;
        let mut product = Self::zero(n);
        for i in 0..n {
            for j in 0..n {
                product.set(i, j, sum_up((0..n).map(|k| mul_up(self.at(i, k), other.at(k, j)))));
            }
        }
        product
    }

    /// The sum of all powers, 1 + A + A^2 and so on; `None` if no weights are found that show it to be finite.
    pub fn neumann(&self) -> Option<Self> {
        let n = self.n;
        let mut d = vec![1.0; n];
        for _ in 0..POWERS {
            let next = self.times_vector(&d);
            let most = next.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            // Halfway, so that a matrix that swaps two joints does not keep the weights swapping.
            d.iter_mut().zip(&next).for_each(|(d, x)| *d = (0.5 * *d + 0.5 * x / most).max(LEAST));
        }
        let eta = (0..n).map(|i| div_up(self.row_times(i, &d), d[i])).fold(0.0, f64::max);
        if !(eta < 1.0) {
            return None;
        }
        let tail = div_up(1.0, (1.0 - eta).next_down());
        let mut sum = Self::zero(n);
        for i in 0..n {
            for j in 0..n {
                sum.set(i, j, mul_up(div_up(d[i], d[j]), tail));
            }
        }
        for _ in 0..ROUNDS {
            let mut next = self.times(&sum);
            for i in 0..n {
                next.set(i, i, add_up(next.at(i, i), 1.0));
            }
            next.entries.iter_mut().zip(&sum.entries).for_each(|(next, last)| *next = next.min(*last));
            sum = next;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a dense inverse, for matrices in units that differ by factors of a hundred.
        #[test]
        fn the_sum_of_powers_is_the_inverse_and_hardly_more(
            entries in prop::array::uniform16(0.0..0.22f64),
            scale in prop::array::uniform4(0.1..10.0f64),
        ) {
            let n = 4;
            let mut a = BoundMatrix::zero(n);
            for i in 0..n {
                for j in 0..n {
                    a.set(i, j, entries[n * i + j] * scale[i] / scale[j]);
                }
            }
            let dense = DMatrix::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 } - a.at(i, j));
            let exact = dense.try_inverse().unwrap();
            let sum = a.neumann().unwrap();
            for i in 0..n {
                for j in 0..n {
                    prop_assert!(sum.at(i, j) >= exact[(i, j)] * (1.0 - 1e-12));
                    let room = 0.02 * scale[i] / scale[j];
                    prop_assert!(sum.at(i, j) <= exact[(i, j)] + room, "{} for {}", sum.at(i, j), exact[(i, j)]);
                }
            }
        }
    }

    #[test]
    fn what_does_not_shrink_has_no_sum() {
        let mut a = BoundMatrix::zero(2);
        a.set(0, 1, 2.0);
        a.set(1, 0, 0.5);
        assert_eq!(a.neumann(), None);
        a.set(1, 0, 0.4);
        // The exact sum is 5; powers of 0.89 are long in dying away.
        assert!((5.0..5.3).contains(&a.neumann().unwrap().at(0, 0)));
        a.set(0, 0, f64::NAN);
        assert_eq!(a.neumann(), None);
        a.set(0, 0, f64::INFINITY);
        assert_eq!(a.neumann(), None);
    }
}
