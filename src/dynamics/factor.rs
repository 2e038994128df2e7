//! Factorisation of the mass matrix that keeps the zeros of the tree: M = L'D L with a unit lower triangular L.
//!
//! L has an entry (i, j) only where j is an ancestor of i (Featherstone, Rigid Body Dynamics Algorithms, section 6.5), and so
//! has its inverse. No square roots: an indefinite matrix, of inertias that no body can have, has factors too.

use crate::robot::Robot;

/// Factors of a mass matrix.
#[derive(Debug, Clone)]
pub struct Factor {
    n: usize,
    /// Strict ancestors of each degree of freedom, nearest first, one after the other.
    ancestors: Vec<usize>,
    /// Where those of each begin; n + 1 entries.
    starts: Vec<usize>,
    /// L below the diagonal, row-major.
    lower: Vec<f64>,
    /// 1 / D.
    inverse_diagonal: Vec<f64>,
}

impl Factor {
    /// Room for the factors of `robot`'s mass matrix; the only allocation.
    pub fn new(robot: &Robot) -> Self {
        let n = robot.nv();
        let (mut ancestors, mut starts) = (Vec::new(), vec![0]);
        for (i, joint) in robot.joints.iter().enumerate() {
            let at = robot.v_index(i);
            for k in at..at + joint.kind.nv() {
                // Degrees of freedom of one joint hang on one another.
                ancestors.extend((at..k).rev());
                let mut above = joint.parent;
                while let Some(p) = above {
                    let from = robot.v_index(p);
                    ancestors.extend((from..from + robot.joints[p].kind.nv()).rev());
                    above = robot.joints[p].parent;
                }
                starts.push(ancestors.len());
            }
        }
        Self { n, ancestors, starts, lower: vec![0.0; n * n], inverse_diagonal: vec![0.0; n] }
    }

    /// Factorises a mass matrix (row-major; the lower triangle is read).
    pub fn factorise(&mut self, mass: &[f64]) {
        let n = self.n;
        self.lower.copy_from_slice(mass);
        for k in (0..n).rev() {
            let above = &self.ancestors[self.starts[k]..self.starts[k + 1]];
            let (rows, row) = self.lower.split_at_mut(n * k);
            let row = &mut row[..n];
            let inverse = 1.0 / row[k];
            self.inverse_diagonal[k] = inverse;
            for (depth, &i) in above.iter().enumerate() {
                let a = row[i] * inverse;
                for &j in &above[depth..] {
                    rows[n * i + j] -= a * row[j];
                }
                row[i] = a;
            }
        }
    }

    /// Solves M x = b in place.
    pub fn solve(&self, x: &mut [f64]) {
        self.solve_rows(x, 1);
    }

    /// Solves M X = B in place, for a row-major n x `width` matrix.
    pub fn solve_rows(&self, x: &mut [f64], width: usize) {
        for i in (0..self.n).rev() {
            let (rows, row) = x.split_at_mut(width * i);
            self.each(i, |l, j| subtract(&mut rows[width * j..width * (j + 1)], l, &row[..width]));
        }
        for (row, scale) in x.chunks_exact_mut(width).zip(&self.inverse_diagonal) {
            row.iter_mut().for_each(|x| *x *= scale);
        }
        self.back_rows(x, width);
    }

    /// Solves M X = B in place for a matrix whose rows are `width` groups of four numbers: the same, without remainders
    /// for the vector unit.
    pub(super) fn solve_lanes(&self, x: &mut [Lanes], width: usize) {
        for i in (0..self.n).rev() {
            let (rows, row) = x.split_at_mut(width * i);
            let (row, scale) = (&mut row[..width], self.inverse_diagonal[i]);
            self.each(i, |l, j| subtract_lanes(&mut rows[width * j..width * (j + 1)], l, row));
            row.iter_mut().for_each(|x| *x = x.map(|x| x * scale));
        }
        for i in 0..self.n {
            let (rows, row) = x.split_at_mut(width * i);
            self.each(i, |l, j| subtract_lanes(&mut row[..width], l, &rows[width * j..width * (j + 1)]));
        }
    }

    /// L^-1 X in place.
    fn back_rows(&self, x: &mut [f64], width: usize) {
        for i in 0..self.n {
            let (rows, row) = x.split_at_mut(width * i);
            self.each(i, |l, j| subtract(&mut row[..width], l, &rows[width * j..width * (j + 1)]));
        }
    }

    /// L's entries of row `i` with their columns.
    #[inline]
    fn each(&self, i: usize, mut work: impl FnMut(f64, usize)) {
        let row = &self.lower[self.n * i..self.n * (i + 1)];
        for &j in &self.ancestors[self.starts[i]..self.starts[i + 1]] {
            work(row[j], j);
        }
    }

    /// M^-1, row-major.
    pub fn inverse(&self, out: &mut [f64]) {
        let n = self.n;
        out.fill(0.0);
        // L^-1 row by row; it goes into the columns, which makes it its transpose: L^-T is upper triangular.
        for i in 0..n {
            out[n * i + i] = 1.0;
            for (d, &j) in self.ancestors[self.starts[i]..self.starts[i + 1]].iter().enumerate() {
                let l = self.lower[n * i + j];
                out[n * j + i] -= l;
                for &k in &self.ancestors[self.starts[i] + d + 1..self.starts[i + 1]] {
                    out[n * k + i] -= l * out[n * k + j];
                }
            }
        }
        for (row, scale) in out.chunks_exact_mut(n).zip(&self.inverse_diagonal) {
            row.iter_mut().for_each(|x| *x *= scale);
        }
        self.back_rows(out, n);
    }
}

/// What the vector unit takes at once.
pub(super) type Lanes = [f64; 4];

/// `row -= factor * other`.
#[inline]
fn subtract_lanes(row: &mut [Lanes], factor: f64, other: &[Lanes]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x = std::array::from_fn(|k| x[k] - factor * y[k]);
    }
}

/// `row -= factor * other`.
#[inline]
fn subtract(row: &mut [f64], factor: f64, other: &[f64]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x -= factor * y;
    }
}
