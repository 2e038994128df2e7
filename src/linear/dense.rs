//! Small dense matrices for the recursion: column-major storage and the few kernels that it spends its time in.
//!
//! For those who change the recursion. One product serves everything, C += alpha A B' (and its lower triangle alone):
//! every operand of the recursion is stored so that it is read down its columns. Columns start at multiples of four
//! rows, so that no tile has a ragged edge; what lies between the last row and the next column is arbitrary, and no
//! kernel lets it reach an entry of a matrix.

use std::ops::{Index, IndexMut};

/// Rows are padded to a multiple of this.
const PAD: usize = 4;
/// Extra room at the end of the storage: the largest tile that may start in the last column.
const SLACK: usize = 16;

/// A column-major matrix with padded columns.
#[derive(Debug, Clone)]
pub struct Mat {
    rows: usize,
    cols: usize,
    ld: usize,
    data: Vec<f64>,
}

impl Mat {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let ld = rows.next_multiple_of(PAD);
        Self { rows, cols, ld, data: vec![0.0; ld * cols + SLACK] }
    }

    /// Changes the shape; the entries are zero afterwards. Allocates only beyond the largest shape so far.
    pub fn reset(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols, self.ld) = (rows, cols, rows.next_multiple_of(PAD));
        self.data.clear();
        self.data.resize(self.ld * cols + SLACK, 0.0);
    }

    /// Changes the shape; the entries are arbitrary afterwards.
    pub fn reshape(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols, self.ld) = (rows, cols, rows.next_multiple_of(PAD));
        self.data.resize(self.ld * cols + SLACK, 0.0);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Column `j`.
    #[inline]
    pub fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.ld..j * self.ld + self.rows]
    }

    /// Column `j`, to be written.
    #[inline]
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.ld..j * self.ld + self.rows]
    }

    /// Column `j` to be written, with column `i < j` to be read.
    #[inline]
    pub fn two_cols(&mut self, i: usize, j: usize) -> (&[f64], &mut [f64]) {
        let (left, right) = self.data.split_at_mut(j * self.ld);
        (&left[i * self.ld..i * self.ld + self.rows], &mut right[..self.rows])
    }

    /// Sets all entries.
    pub fn fill(&mut self, value: f64) {
        self.data.fill(value);
    }

    /// Becomes a copy of `other`, shape included.
    pub fn copy_from(&mut self, other: &Mat) {
        (self.rows, self.cols, self.ld) = (other.rows, other.cols, other.ld);
        self.data.clear();
        self.data.extend_from_slice(&other.data);
    }

    /// Whether all entries are finite.
    pub fn is_finite(&self) -> bool {
        (0..self.cols).all(|j| all_finite(self.col(j)))
    }

    /// Copies the lower triangle to the upper one.
    pub fn mirror(&mut self) {
        for j in 0..self.cols {
            for i in j + 1..self.rows {
                self.data[i * self.ld + j] = self.data[j * self.ld + i];
            }
        }
    }

    /// The block of rows from `row` on, to be read by [`add_product`].
    #[inline]
    pub fn below(&self, row: usize) -> View<'_> {
        View { data: &self.data[row..], ld: self.ld, rows: self.rows - row, cols: self.cols }
    }

    /// The `rows` rows from `row` on of the `cols` first columns.
    #[inline]
    pub fn block(&self, row: usize, rows: usize, cols: usize) -> View<'_> {
        View { data: &self.data[row..], ld: self.ld, rows, cols }
    }
}

impl Index<(usize, usize)> for Mat {
    type Output = f64;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[j * self.ld + i]
    }
}

impl IndexMut<(usize, usize)> for Mat {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[j * self.ld + i]
    }
}

/// A block of a [`Mat`] that is read.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    data: &'a [f64],
    ld: usize,
    rows: usize,
    cols: usize,
}

/// a b + c, in one rounding where the machine has that.
#[inline(always)]
pub(crate) fn fused(a: f64, b: f64, c: f64) -> f64 {
    // Without the instruction, `mul_add` is a library call a hundred times as slow.
    if cfg!(target_feature = "fma") { a.mul_add(b, c) } else { a * b + c }
}

/// A tile of `W` rows and `C` columns of C = alpha A B' or, to `ADD`, C += alpha A B', accumulated in registers.
#[inline(always)]
fn tile<const W: usize, const C: usize, const ADD: bool>(
    a: View<'_>,
    i: usize,
    b: View<'_>,
    j: usize,
    alpha: f64,
    c: &mut [f64],
    ldc: usize,
) {
    let mut sum = [[0.0; W]; C];
    for k in 0..a.cols {
        let (x, y) = (&a.data[k * a.ld + i..][..W], &b.data[k * b.ld + j..][..C]);
        for l in 0..C {
            for r in 0..W {
                sum[l][r] = fused(x[r], y[l], sum[l][r]);
            }
        }
    }
    for l in 0..C {
        let out = &mut c[(j + l) * ldc + i..][..W];
        for r in 0..W {
            out[r] = if ADD { fused(alpha, sum[l][r], out[r]) } else { alpha * sum[l][r] };
        }
    }
}

/// The `C` columns from `j` on, rows from `from` on.
#[inline(always)]
fn panel<const C: usize, const ADD: bool>(
    a: View<'_>,
    from: usize,
    b: View<'_>,
    j: usize,
    alpha: f64,
    c: &mut Mat,
) {
    let (ldc, rows) = (c.ld, c.rows);
    let mut i = from;
    while i < rows {
        match rows - i {
            9.. => {
                tile::<12, C, ADD>(a, i, b, j, alpha, &mut c.data, ldc);
                i += 12;
            }
            5..=8 => {
                tile::<8, C, ADD>(a, i, b, j, alpha, &mut c.data, ldc);
                i += 8;
            }
            _ => {
                tile::<4, C, ADD>(a, i, b, j, alpha, &mut c.data, ldc);
                i += 4;
            }
        }
    }
}

/// C += alpha A B' for C m x n, A m x k, B n x k.
pub fn add_product(c: &mut Mat, alpha: f64, a: View<'_>, b: View<'_>) {
    product::<true>(c, alpha, a, b, false);
}

/// C = alpha A B' for A m x k, B n x k; C becomes m x n.
pub fn set_product(c: &mut Mat, alpha: f64, a: View<'_>, b: View<'_>) {
    c.reshape(a.rows, b.rows);
    product::<false>(c, alpha, a, b, false);
}

/// The lower triangle of C += alpha A B'; some entries above the diagonal change as well and mean nothing.
pub fn add_product_lower(c: &mut Mat, alpha: f64, a: View<'_>, b: View<'_>) {
    product::<true>(c, alpha, a, b, true);
}

fn product<const ADD: bool>(c: &mut Mat, alpha: f64, a: View<'_>, b: View<'_>, lower: bool) {
    debug_assert!(a.rows == c.rows && b.rows == c.cols && a.cols == b.cols, "shapes of a product");
    let mut j = 0;
    while j < c.cols {
        let from = if lower { j } else { 0 };
        match c.cols - j {
            1 => panel::<1, ADD>(a, from, b, j, alpha, c),
            2 => panel::<2, ADD>(a, from, b, j, alpha, c),
            3 => panel::<3, ADD>(a, from, b, j, alpha, c),
            _ => panel::<4, ADD>(a, from, b, j, alpha, c),
        }
        j += 4;
    }
}

/// Whether all entries are finite: 0 x is 0 for those and NaN for all others, which needs no branch an entry.
pub fn all_finite(x: &[f64]) -> bool {
    let (mut sum, mut i) = ([0.0; 8], 0);
    while i + 8 <= x.len() {
        let part = &x[i..i + 8];
        for l in 0..8 {
            sum[l] += 0.0 * part[l];
        }
        i += 8;
    }
    let mut all = 0.0;
    for l in 0..8 {
        all += sum[l];
    }
    while i < x.len() {
        all += 0.0 * x[i];
        i += 1;
    }
    all == 0.0
}

/// y += alpha x. (Indices rather than iterators: these loops are most of the time, and must be one loop of vector
/// instructions in whatever way the crate is split for compilation.)
#[inline]
pub fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &mut y[..n]);
    for i in 0..n {
        y[i] = fused(alpha, x[i], y[i]);
    }
}

/// x'y.
#[inline]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    let (mut sum, mut i) = ([0.0; 8], 0);
    while i + 8 <= n {
        let (a, b) = (&x[i..i + 8], &y[i..i + 8]);
        for l in 0..8 {
            sum[l] = fused(a[l], b[l], sum[l]);
        }
        i += 8;
    }
    let mut rest = 0.0;
    while i < n {
        rest = fused(x[i], y[i], rest);
        i += 1;
    }
    ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7])) + rest
}

/// Euclidean norm.
pub fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// Factors the first `p` columns of a symmetric matrix, of which the lower triangle is read, as far down as it goes:
/// afterwards they hold L11 and L21 = A21 L11^-T, where A11 = L11 L11'. The rest is left alone. False if A11 is not
/// positive definite.
pub fn partial_cholesky(a: &mut Mat, p: usize) -> bool {
    for j in 0..p {
        for k in 0..j {
            let (left, column) = a.two_cols(k, j);
            axpy(-left[j], &left[j..], &mut column[j..]);
        }
        let pivot = a[(j, j)];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        for x in &mut a.col_mut(j)[j..] {
            *x *= inverse;
        }
    }
    true
}

/// x <- L^-1 x with the leading lower triangle of `l` of the length of `x`.
pub fn solve_lower(l: &Mat, x: &mut [f64]) {
    for k in 0..x.len() {
        x[k] /= l[(k, k)];
        let factor = x[k];
        axpy(-factor, &l.col(k)[k + 1..x.len()], &mut x[k + 1..]);
    }
}

/// x <- L^-T x with the leading lower triangle of `l` of the length of `x`.
pub fn solve_lower_transposed(l: &Mat, x: &mut [f64]) {
    let p = x.len();
    for k in (0..p).rev() {
        x[k] = (x[k] - dot(&l.col(k)[k + 1..p], &x[k + 1..])) / l[(k, k)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn random(rows: usize, cols: usize, draw: &mut ChaCha8Rng) -> Mat {
        let mut m = Mat::zeros(rows, cols);
        for j in 0..cols {
            m.col_mut(j).fill_with(|| draw.random_range(-1.0..1.0));
        }
        m
    }

    #[test]
    fn products_of_all_small_shapes_agree_with_the_definition() {
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        for (m, n, k) in (0..19).flat_map(|m| (0..9).map(move |n| (m, n, (m + 2 * n) % 7))) {
            let (a, b, start) =
                (random(m + 3, k, &mut draw), random(n, k, &mut draw), random(m, n, &mut draw));
            let (mut full, mut lower, mut set) = (start.clone(), start.clone(), random(1, 1, &mut draw));
            set_product(&mut set, -0.5, a.below(3), b.below(0));
            add_product(&mut full, -0.5, a.below(3), b.below(0));
            add_product_lower(&mut lower, -0.5, a.below(3), b.below(0));
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let sum: f64 = (0..k).map(|l| a[(i + 3, l)] * b[(j, l)]).sum();
                let expected = start[(i, j)] - 0.5 * sum;
                assert!((set[(i, j)] + 0.5 * sum).abs() < 1e-14, "set ({m}, {n}, {k}) at ({i}, {j})");
                assert!((full[(i, j)] - expected).abs() < 1e-14, "({m}, {n}, {k}) at ({i}, {j})");
                assert!(
                    i < j || (lower[(i, j)] - expected).abs() < 1e-14,
                    "lower ({m}, {n}, {k}) at ({i}, {j})"
                );
            }
        }
    }

    #[test]
    fn factors_solve_and_indefinite_matrices_are_told() {
        let mut draw = ChaCha8Rng::seed_from_u64(2);
        for n in [1, 2, 5, 13] {
            let root = random(n, n + 2, &mut draw);
            let mut a = Mat::zeros(n, n);
            add_product(&mut a, 1.0, root.below(0), root.below(0));
            let x: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let mut b: Vec<f64> = (0..n).map(|i| dot(a.col(i), &x)).collect();
            let mut l = a.clone();
            assert!(partial_cholesky(&mut l, n));
            solve_lower(&l, &mut b);
            solve_lower_transposed(&l, &mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-9));
            a[(n - 1, n - 1)] -= 10.0 * n as f64;
            assert!(!partial_cholesky(&mut a, n));
        }
        let mut nan = Mat::zeros(1, 1);
        nan[(0, 0)] = f64::NAN;
        assert!(!partial_cholesky(&mut nan, 1));
    }
}
