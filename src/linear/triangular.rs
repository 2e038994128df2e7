//! Triangular factors of small matrices in slices, and what is solved with them.
//!
//! Loops over indices, no `zip`: a step of it is not marked for inlining, and rows are short.
//! A = L L' with L in the lower triangle of columns that follow each other at a `stride`; read row by row, the same numbers are
//! U = L', so that U of a triangularised matrix (`triangularise`) serves as well. What lies in the other triangle is not read.
//! Sums are taken in order and every operation is rounded by itself, so that results do not depend on what the machine can do
//! at once, as those of [`super::dense`] do.

/// x'y, summed in order.
#[inline]
pub(crate) fn ordered_dot(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    let (x, y, mut sum) = (&x[..n], &y[..n], 0.0);
    for i in 0..n {
        sum += x[i] * y[i];
    }
    sum
}

/// x -= factor y.
#[inline]
fn subtract(x: &mut [f64], factor: f64, y: &[f64]) {
    add_times(x, -factor, y);
}

/// x += factor y.
#[inline]
pub(crate) fn add_times(x: &mut [f64], factor: f64, y: &[f64]) {
    let n = x.len().min(y.len());
    let (x, y) = (&mut x[..n], &y[..n]);
    for i in 0..n {
        x[i] += factor * y[i];
    }
}

/// Puts L of A = L L' in place of the n x n matrix A (n rows a column); false if A is not positive definite.
pub(crate) fn cholesky(a: &mut [f64], n: usize) -> bool {
    for j in 0..n {
        let (done, rest) = a.split_at_mut(n * j);
        let column = &mut rest[j..n];
        for left in done.chunks_exact(n) {
            subtract(column, left[j], &left[j..]);
        }
        if !(column[0] > 0.0) {
            return false;
        }
        let pivot = column[0].sqrt();
        column.iter_mut().for_each(|x| *x /= pivot);
    }
    true
}

/// Makes the matrix upper triangular by reflections that keep the products of its columns; false if these do not determine every
/// direction. `sums` is storage.
pub(crate) fn triangularise(matrix: &mut [f64], width: usize, sums: &mut Vec<f64>) -> bool {
    for k in 0..width {
        let below = &mut matrix[width * k..];
        let square: f64 = below.iter().skip(k).step_by(width).map(|x| x * x).sum();
        if !(square.is_finite() && square > 0.0) {
            return false;
        }
        let length = -square.sqrt().copysign(below[k]);
        // The reflection is along v = the column less (length, 0, ..).
        below[k] -= length;
        sums.clear();
        sums.resize(width - k - 1, 0.0);
        for row in below.chunks_exact(width).filter(|row| row[k] != 0.0) {
            add_times(sums, row[k], &row[k + 1..]);
        }
        let share = -1.0 / (length * below[k]);
        for row in below.chunks_exact_mut(width).filter(|row| row[k] != 0.0) {
            let by = share * row[k];
            subtract(&mut row[k + 1..], by, sums);
        }
        below[k] = length;
    }
    true
}

/// x <- L^-1 x.
pub(crate) fn solve_lower(l: &[f64], stride: usize, x: &mut [f64]) {
    for k in 0..x.len() {
        let column = &l[stride * k..];
        x[k] /= column[k];
        let factor = x[k];
        subtract(&mut x[k + 1..], factor, &column[k + 1..]);
    }
}

/// Solves L L' x = b, in place of b.
pub(crate) fn solve_factored(l: &[f64], stride: usize, b: &mut [f64]) {
    solve_lower(l, stride, b);
    for k in (0..b.len()).rev() {
        let column = &l[stride * k..];
        b[k] = (b[k] - ordered_dot(&column[k + 1..], &b[k + 1..])) / column[k];
    }
}

/// Solves A x = b, in place of b, for a positive definite A, of which L is left; x is NaN if it is not. Of what is known of x, term
/// by term is taken away from b: simulations are repeated to the last bit.
pub(crate) fn solve_positive_definite(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    if !cholesky(a, n) {
        b.fill(f64::NAN);
        return;
    }
    solve_lower(a, n, b);
    for i in (0..n).rev() {
        let column = &a[n * i..n * (i + 1)];
        b[i] = (i + 1..n).fold(b[i], |left, k| left - column[k] * b[k]) / column[i];
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Rows, and A'A of them.
    fn random(n: usize, draw: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
        let rows: Vec<f64> = (0..n * (n + 3)).map(|_| draw.random_range(-1.0..1.0)).collect();
        let entry = |k: usize| rows.chunks_exact(n).map(|row| row[k / n] * row[k % n]).sum();
        let gram = (0..n * n).map(entry).collect();
        (rows, gram)
    }

    #[test]
    fn both_factors_solve() {
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        for n in [1, 2, 5, 13] {
            let (mut rows, gram) = random(n, &mut draw);
            let x: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let b: Vec<f64> = gram.chunks_exact(n).map(|row| ordered_dot(row, &x)).collect();
            let assert_solved = |found: &[f64]| {
                assert!(found.iter().zip(&x).all(|(found, x)| (found - x).abs() < 1e-8), "{n}: {found:?}");
            };
            let (mut factor, mut found) = (gram.clone(), b.clone());
            assert!(cholesky(&mut factor, n));
            solve_factored(&factor, n, &mut found);
            assert_solved(&found);
            let (mut matrix, mut found) = (gram.clone(), b.clone());
            solve_positive_definite(&mut matrix, &mut found);
            assert_solved(&found);
            assert!(triangularise(&mut rows, n, &mut vec![]));
            let mut found = b.clone();
            solve_factored(&rows, n, &mut found);
            assert_solved(&found);
        }
    }

    #[test]
    fn what_has_no_factor_is_told() {
        let mut b = [1.0, 1.0];
        solve_positive_definite(&mut [1.0, 2.0, 2.0, 1.0], &mut b);
        assert!(b.iter().all(|x| x.is_nan()));
        assert!(!cholesky(&mut [f64::NAN], 1));
        assert!(!triangularise(&mut [1.0, 0.0, 2.0, 0.0], 2, &mut vec![]));
    }
}
