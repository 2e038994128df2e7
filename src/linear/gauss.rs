//! Gaussian elimination with row exchanges for small square systems, row-major, many right-hand sides at once.

use crate::linear::dense::{axpy, dot, fused};

/// A pivot below this share of the largest number in its matrix makes the matrix singular.
const SINGULAR: f64 = 1e-13;

/// P A = L U of a matrix of run-time size, in memory that is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Elimination {
    size: usize,
    /// U and the multipliers of L.
    matrix: Vec<f64>,
    /// Row that was exchanged with row k in step k.
    exchanged: Vec<usize>,
}

impl Elimination {
    /// The matrix to be filled (size x size, row-major), zeroed.
    pub fn matrix(&mut self, size: usize) -> &mut [f64] {
        self.size = size;
        self.matrix.clear();
        self.matrix.resize(size * size, 0.0);
        &mut self.matrix
    }

    /// Factors what is in the matrix; `false` where it is singular.
    pub fn factor(&mut self) -> bool {
        let n = self.size;
        let largest = largest(&self.matrix);
        self.exchanged.clear();
        for k in 0..n {
            let at = |i: usize| self.matrix[n * i + k].abs();
            let pivot = (k..n).fold(k, |best, i| if at(i) > at(best) { i } else { best });
            if !(at(pivot) > SINGULAR * largest) {
                return false;
            }
            self.exchanged.push(pivot);
            swap_rows(&mut self.matrix, n, k, pivot);
            let (done, rest) = self.matrix.split_at_mut(n * (k + 1));
            let row = &done[n * k..];
            for other in rest.chunks_exact_mut(n) {
                // Most are zero where the matrix is sparse, and a division takes longer than all else.
                if other[k] == 0.0 {
                    continue;
                }
                let factor = other[k] / row[k];
                other[k] = factor;
                axpy(-factor, &row[k + 1..], &mut other[k + 1..]);
            }
        }
        true
    }

    /// Appends the factors of a matrix of `size` to `out`: size (size + 1) numbers.
    pub fn store(&self, out: &mut Vec<f64>) {
        out.extend_from_slice(&self.matrix);
        out.extend(self.exchanged.iter().map(|&row| row as f64));
    }

    /// Takes back what [`Elimination::store`] wrote.
    pub fn restore(&mut self, size: usize, from: &[f64]) {
        let (matrix, exchanged) = from.split_at(size * size);
        self.size = size;
        self.matrix.clear();
        self.matrix.extend_from_slice(matrix);
        self.exchanged.clear();
        self.exchanged.extend(exchanged.iter().map(|&row| row as usize));
    }

    /// Solves for `width` right-hand sides (size x width, row-major), in place; rows before `from` are left unfinished. Fastest for a
    /// width that is a multiple of eight.
    pub fn solve(&self, rhs: &mut [f64], width: usize, from: usize) {
        let n = self.size;
        for k in 0..n {
            swap_rows(rhs, width, k, self.exchanged[k]);
        }
        for k in 1..n {
            let (done, rest) = rhs.split_at_mut(width * k);
            subtract_rows(&mut rest[..width], &self.matrix[n * k..n * k + k], done);
        }
        for k in (from..n).rev() {
            let (head, done) = rhs.split_at_mut(width * (k + 1));
            let out = &mut head[width * k..];
            let row = &self.matrix[n * k..n * (k + 1)];
            subtract_rows(out, &row[k + 1..], done);
            let inverse = 1.0 / row[k];
            out.iter_mut().for_each(|x| *x *= inverse);
        }
    }

    /// Solves for one right-hand side, in place.
    pub fn solve_one(&self, x: &mut [f64]) {
        let n = self.size;
        for k in 0..n {
            x.swap(k, self.exchanged[k]);
        }
        for k in 1..n {
            x[k] -= dot(&self.matrix[n * k..n * k + k], &x[..k]);
        }
        for k in (0..n).rev() {
            let row = &self.matrix[n * k..n * (k + 1)];
            x[k] = (x[k] - dot(&row[k + 1..], &x[k + 1..])) / row[k];
        }
    }
}

/// out -= the sum over i of factors\[i\] times row i of `rows`, which are as wide.
fn subtract_rows(out: &mut [f64], factors: &[f64], rows: &[f64]) {
    let (width, mut at) = (out.len(), 0);
    while at < width {
        at += match width - at {
            40.. => subtract::<40>(out, factors, rows, at),
            32..40 => subtract::<32>(out, factors, rows, at),
            16..32 => subtract::<16>(out, factors, rows, at),
            8..16 => subtract::<8>(out, factors, rows, at),
            _ => break,
        };
    }
    if at < width {
        for (row, factor) in rows.chunks_exact(width).zip(factors).filter(|(_, factor)| **factor != 0.0) {
            axpy(-factor, &row[at..], &mut out[at..]);
        }
    }
}

/// The `W` columns from `at` on, summed in registers; W.
#[inline(always)]
fn subtract<const W: usize>(out: &mut [f64], factors: &[f64], rows: &[f64], at: usize) -> usize {
    let (width, mut sum) = (out.len(), [0.0; W]);
    for (i, &factor) in factors.iter().enumerate() {
        // Most are zero where the matrix is sparse.
        if factor != 0.0 {
            let row = &rows[i * width + at..][..W];
            for l in 0..W {
                sum[l] = fused(factor, row[l], sum[l]);
            }
        }
    }
    let out = &mut out[at..at + W];
    for l in 0..W {
        out[l] -= sum[l];
    }
    W
}

/// The largest size of a number; those that are none do not count. Eight at a time, so that none waits for the one before.
fn largest(x: &[f64]) -> f64 {
    let mut most = [0.0f64; 8];
    let larger = |m: &mut f64, x: f64| *m = if x.abs() > *m { x.abs() } else { *m };
    let parts = x.chunks_exact(8);
    parts.remainder().iter().for_each(|x| larger(&mut most[0], *x));
    parts.for_each(|part| most.iter_mut().zip(part).for_each(|(m, x)| larger(m, *x)));
    most.iter().fold(0.0, |m, x| m.max(*x))
}

fn swap_rows(matrix: &mut [f64], width: usize, i: usize, j: usize) {
    if i != j {
        let (low, high) = (i.min(j), i.max(j));
        let (head, tail) = matrix.split_at_mut(width * high);
        head[width * low..width * (low + 1)].swap_with_slice(&mut tail[..width]);
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn solutions_solve() {
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        let mut elimination = Elimination::default();
        for (n, width) in (1..12).flat_map(|n| [3, 8, 21, 39, 40, 75].map(|width| (n, width))) {
            let a: Vec<f64> = (0..n * n).map(|_| draw.random_range(-1.0..1.0)).collect();
            let b: Vec<f64> = (0..n * width).map(|_| draw.random_range(-1.0..1.0)).collect();
            elimination.matrix(n).copy_from_slice(&a);
            assert!(elimination.factor());
            let mut x = b.clone();
            elimination.solve(&mut x, width, 0);
            let mut one: Vec<f64> = (0..n).map(|i| b[width * i + 1]).collect();
            elimination.solve_one(&mut one);
            for i in 0..n {
                for c in 0..width {
                    let sum: f64 = (0..n).map(|k| a[n * i + k] * x[width * k + c]).sum();
                    assert!((sum - b[width * i + c]).abs() < 1e-9, "{n}");
                }
                assert!((one[i] - x[width * i + 1]).abs() < 1e-9);
            }
            let mut stored = vec![];
            elimination.store(&mut stored);
            assert_eq!(stored.len(), n * (n + 1));
            let (mut restored, mut again) = (Elimination::default(), b.clone());
            restored.restore(n, &stored);
            restored.solve(&mut again, width, 0);
            assert_eq!(again, x);
            // The last rows come out right on their own.
            let mut part = b.clone();
            elimination.solve(&mut part, width, n - 1);
            assert_eq!(part[width * (n - 1)..], x[width * (n - 1)..]);
        }
    }

    #[test]
    fn singular_matrices_are_told() {
        let mut elimination = Elimination::default();
        elimination.matrix(2).copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        assert!(!elimination.factor());
        elimination.matrix(1).copy_from_slice(&[f64::NAN]);
        assert!(!elimination.factor());
    }
}
