//! One factorisation of the KKT matrix [[M, J'], [J, -c 1]], used for motions, forces and all their derivatives.
//!
//! M as L'D L along the tree ([`MassFactor`]), Z = M^-1 J', then the Cholesky factor of J Z + c 1 over the rows that are kept.
//! All matrices are row-major.

use crate::dynamics::factor::MassFactor;
use crate::robot::Model;

/// A row whose squared sine of the angle to the span of the rows kept before it (in the metric M^-1) is below this is taken
/// for dependent on them. A sine of 1e-5 costs five digits of the forces, and rounding makes one of about 1e-8.
const DEPENDENT: f64 = 1e-10;
/// A rigid row r whose r M^-1 r' is below this share of the largest one is rounding and binds nothing: the row across the
/// plane of a planar linkage. Kept, it would divide rounding by rounding.
const NOTHING: f64 = 1e-20;

/// The factors; all buffers are of full size from the start.
#[derive(Debug, Clone)]
pub(super) struct Kkt {
    n: usize,
    rows: usize,
    mass: MassFactor,
    /// nv x rows.
    z: Vec<f64>,
    /// J Z, rows x rows.
    gram: Vec<f64>,
    /// Entry (row, step): the Cholesky factor, rows in their own order, columns in the order of `kept`.
    cholesky: Vec<f64>,
    /// What is left of each row's diagonal.
    left: Vec<f64>,
    kept: Vec<usize>,
    is_kept: Vec<bool>,
}

impl Kkt {
    pub fn new(robot: &Model, rows: usize) -> Self {
        let n = robot.nv();
        Self {
            n,
            rows,
            mass: MassFactor::new(robot),
            z: vec![0.0; n * rows],
            gram: vec![0.0; rows * rows],
            cholesky: vec![0.0; rows * rows],
            left: vec![0.0; rows],
            kept: Vec::with_capacity(rows),
            is_kept: vec![false; rows],
        }
    }

    /// Whether a row carries force.
    pub fn keeps(&self, row: usize) -> bool {
        self.is_kept[row]
    }

    /// Factors M (nv x nv) and J M^-1 J' + `compliance` over the rows of `jacobian` (rows x nv) that `active` names.
    /// Rows that depend on others are left out, see [`Kkt::keeps`].
    ///
    /// # Errors
    /// The index of a row r with r M^-1 r' negative or not a number: M is not positive definite there.
    pub fn factor(
        &mut self,
        mass: &[f64],
        jacobian: &[f64],
        compliance: f64,
        active: &[bool],
    ) -> Result<(), usize> {
        let (n, rows) = (self.n, self.rows);
        self.mass.factorise(mass);
        if rows == 0 {
            return Ok(());
        }
        for (r, row) in jacobian.chunks_exact(n).enumerate() {
            for (i, x) in row.iter().enumerate() {
                self.z[rows * i + r] = *x;
            }
        }
        self.mass.solve_rows(&mut self.z, rows);
        self.gram.fill(0.0);
        for (gram, row) in self.gram.chunks_exact_mut(rows).zip(jacobian.chunks_exact(n)) {
            for (z, x) in self.z.chunks_exact(rows).zip(row) {
                add_scaled(gram, z, *x);
            }
        }
        let largest = (0..rows).fold(0.0f64, |m, r| m.max(self.gram[rows * r + r]));
        for r in 0..rows {
            let whole = self.gram[rows * r + r];
            if !(whole >= 0.0 && whole.is_finite()) {
                return Err(r);
            }
            let binds = compliance > 0.0 || whole > NOTHING * largest;
            self.left[r] = if active[r] && binds { whole + compliance } else { 0.0 };
        }
        self.factor_rows(compliance);
        Ok(())
    }

    /// Pivoted Cholesky. Of the rows left that do not depend on those kept, the longest comes next, so that the choice does
    /// not hang on the order of the constraints unless there is a tie, and a direction that several rows bind is bound by
    /// the one that sees most of it: a row almost across a linkage's plane sees next to nothing.
    fn factor_rows(&mut self, compliance: f64) {
        let rows = self.rows;
        self.kept.clear();
        self.is_kept.fill(false);
        while let Some(next) = self.longest(compliance) {
            let step = self.kept.len();
            let root = self.left[next].sqrt();
            self.cholesky[rows * next + step] = root;
            self.is_kept[next] = true;
            self.kept.push(next);
            for r in 0..rows {
                if self.is_kept[r] || self.left[r] == 0.0 {
                    continue;
                }
                let (mine, its) = (&self.cholesky[rows * r..][..step], &self.cholesky[rows * next..][..step]);
                let done: f64 = mine.iter().zip(its).map(|(a, b)| a * b).sum();
                let entry = (self.gram[rows * next + r] - done) / root;
                self.cholesky[rows * r + step] = entry;
                self.left[r] = (self.left[r] - entry * entry).max(0.0);
            }
        }
    }

    /// The row of which most is left beside the kept ones, if any does not depend on them.
    fn longest(&self, compliance: f64) -> Option<usize> {
        let mut best = (0.0, None);
        for r in 0..self.rows {
            let (left, whole) = (self.left[r], self.gram[self.rows * r + r] + compliance);
            if !self.is_kept[r] && left > DEPENDENT * whole && left > best.0 {
                best = (left, Some(r));
            }
        }
        best.1
    }

    /// Solves M X - J' F = X0, J X + c F = F0 over the kept rows, in place, for `width` right-hand sides at once: `x`
    /// (nv x width) and `f` (rows x width) hold the right-hand sides and receive the solution; rows of F that are not
    /// kept become zero.
    pub fn solve(&self, jacobian: &[f64], x: &mut [f64], f: &mut [f64], width: usize) {
        let (n, rows) = (self.n, self.rows);
        self.mass.solve_rows(x, width);
        for r in 0..rows {
            let row = &mut f[width * r..width * (r + 1)];
            if !self.is_kept[r] {
                row.fill(0.0);
                continue;
            }
            for (x, along) in x.chunks_exact(width).zip(&jacobian[n * r..n * (r + 1)]) {
                add_scaled(row, x, -along);
            }
        }
        self.solve_rows(f, width);
        for (x, z) in x.chunks_exact_mut(width).zip(self.z.chunks_exact(rows.max(1))) {
            for &r in &self.kept {
                add_scaled(x, &f[width * r..width * (r + 1)], z[r]);
            }
        }
    }

    /// Forward and backward substitution on the kept rows of `f`.
    fn solve_rows(&self, f: &mut [f64], width: usize) {
        let (rows, c) = (self.rows, &self.cholesky);
        for (k, &r) in self.kept.iter().enumerate() {
            for (s, &done) in self.kept[..k].iter().enumerate() {
                add_row(f, width, r, done, -c[rows * r + s]);
            }
            scale(&mut f[width * r..width * (r + 1)], 1.0 / c[rows * r + k]);
        }
        for (k, &r) in self.kept.iter().enumerate().rev() {
            for &done in &self.kept[k + 1..] {
                add_row(f, width, r, done, -c[rows * done + k]);
            }
            scale(&mut f[width * r..width * (r + 1)], 1.0 / c[rows * r + k]);
        }
    }
}

/// `to += factor * from`.
#[inline]
fn add_scaled(to: &mut [f64], from: &[f64], factor: f64) {
    for (a, b) in to.iter_mut().zip(from) {
        *a += factor * b;
    }
}

#[inline]
fn scale(row: &mut [f64], factor: f64) {
    row.iter_mut().for_each(|x| *x *= factor);
}

/// Adds a multiple of row `from` to row `to`, another one.
#[inline]
fn add_row(matrix: &mut [f64], width: usize, to: usize, from: usize, factor: f64) {
    if to < from {
        let (head, tail) = matrix.split_at_mut(width * from);
        add_scaled(&mut head[width * to..width * (to + 1)], &tail[..width], factor);
    } else {
        let (head, tail) = matrix.split_at_mut(width * to);
        add_scaled(&mut tail[..width], &head[width * from..width * (from + 1)], factor);
    }
}
