//! Rank-revealing orthogonal factorisation: Householder QR with column pivoting.
//!
//! For those who change how constraints are eliminated. A P = Q R with Q = [Y Z], where Y spans the columns of A and Z
//! what is orthogonal to all of them. Applied to h_u' it gives the nullspace method of [3, eq. 77].

use super::dense::{Mat, axpy, dot, norm};

/// The factors of A P = Q R; reused without allocating.
#[derive(Debug, Clone)]
pub struct Orthogonal {
    /// Q, square, as many rows as A.
    pub q: Mat,
    /// R above the diagonal (what lies below it means nothing), in the order of `order`.
    pub r: Mat,
    /// Column `j` of A P is column `order[j]` of A.
    pub order: Vec<usize>,
    /// Number of columns that are independent to the tolerance.
    pub rank: usize,
    scales: Vec<f64>,
}

impl Default for Orthogonal {
    fn default() -> Self {
        Self { q: Mat::zeros(0, 0), r: Mat::zeros(0, 0), order: Vec::new(), rank: 0, scales: Vec::new() }
    }
}

impl Orthogonal {
    /// Factors the first `rows` rows of `a`. A column counts as dependent when what remains of it is at most
    /// `tolerance` (absolute).
    pub fn factor(&mut self, a: &Mat, rows: usize, tolerance: f64) {
        let cols = a.cols();
        self.r.reset(rows, cols);
        self.order.clear();
        self.order.extend(0..cols);
        self.scales.clear();
        for j in 0..cols {
            self.r.col_mut(j).copy_from_slice(&a.col(j)[..rows]);
        }
        self.rank = rows.min(cols);
        for step in 0..rows.min(cols) {
            // The remaining norms are computed anew each time: the matrices are small, and updating them cancels.
            let (best, length) = (step..cols)
                .map(|j| (j, norm(&self.r.col(j)[step..])))
                .fold((step, -1.0), |best, now| if now.1 > best.1 { now } else { best });
            if !(length > tolerance) {
                self.rank = step;
                break;
            }
            self.swap(step, best);
            self.reflect(step, length);
        }
        self.form_q(rows);
    }

    fn swap(&mut self, i: usize, j: usize) {
        if i == j {
            return;
        }
        self.order.swap(i, j);
        for row in 0..self.r.rows() {
            let kept = self.r[(row, i)];
            self.r[(row, i)] = self.r[(row, j)];
            self.r[(row, j)] = kept;
        }
    }

    /// One Householder reflection 1 - scale v v'; v stays below the diagonal with its first entry in place of R's
    /// diagonal until [`Orthogonal::form_q`], the diagonal itself waits in `scales`.
    fn reflect(&mut self, step: usize, length: f64) {
        let diagonal = if self.r[(step, step)] > 0.0 { -length } else { length };
        self.r[(step, step)] -= diagonal;
        let scale = 2.0 / dot(&self.r.col(step)[step..], &self.r.col(step)[step..]);
        for j in step + 1..self.r.cols() {
            let (v, column) = self.r.two_cols(step, j);
            let along = scale * dot(&v[step..], &column[step..]);
            axpy(-along, &v[step..], &mut column[step..]);
        }
        self.scales.push(diagonal);
    }

    fn form_q(&mut self, rows: usize) {
        self.q.reset(rows, rows);
        for i in 0..rows {
            self.q[(i, i)] = 1.0;
        }
        for step in (0..self.rank).rev() {
            let v = &self.r.col(step)[step..];
            let scale = 2.0 / dot(v, v);
            for j in step..rows {
                let along = scale * dot(v, &self.q.col(j)[step..]);
                axpy(-along, v, &mut self.q.col_mut(j)[step..]);
            }
        }
        for (step, diagonal) in self.scales.iter().enumerate() {
            self.r[(step, step)] = *diagonal;
        }
    }

    /// x <- R11^-T x for the first `rank` entries, R11 the leading square of R.
    pub fn solve_r_transposed(&self, x: &mut [f64]) {
        for k in 0..self.rank {
            x[k] = (x[k] - dot(&self.r.col(k)[..k], &x[..k])) / self.r[(k, k)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn factors_of_any_rank() {
        let mut draw = ChaCha8Rng::seed_from_u64(3);
        let mut qr = Orthogonal::default();
        for (rows, cols, rank) in
            [(1, 1, 1), (6, 3, 3), (6, 6, 2), (4, 9, 3), (5, 2, 0), (0, 3, 0), (3, 0, 0)]
        {
            let mut a = Mat::zeros(rows, cols);
            for _ in 0..rank {
                let left: Vec<f64> = (0..rows).map(|_| draw.random_range(-1.0..1.0)).collect();
                for j in 0..cols {
                    axpy(draw.random_range(-1.0..1.0), &left, a.col_mut(j));
                }
            }
            qr.factor(&a, rows, 1e-12);
            assert_eq!(qr.rank, rank, "{rows} x {cols}");
            for i in 0..rows {
                for j in 0..rows {
                    let unit = f64::from(i == j);
                    assert!((dot(qr.q.col(i), qr.q.col(j)) - unit).abs() < 1e-13);
                }
                for j in 0..cols {
                    let product: f64 = (0..rank.min(j + 1)).map(|k| qr.q[(i, k)] * qr.r[(k, j)]).sum();
                    assert!((product - a[(i, qr.order[j])]).abs() < 1e-12, "{rows} x {cols} at ({i}, {j})");
                }
            }
        }
    }
}
