//! Factorisation of the mass matrix that keeps the zeros of the tree: M = L'D L with a unit lower triangular L.
//!
//! L has an entry (i, j) only where j is an ancestor of i (Featherstone, Rigid Body Dynamics Algorithms, section 6.5), and so
//! has its inverse. No square roots: an indefinite matrix, of inertias that no body can have, has factors too.

use crate::robot::Model;
use crate::scalar::Scalar;

/// Factors of a mass matrix.
#[derive(Debug, Clone)]
pub struct MassFactor {
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

impl MassFactor {
    /// Room for the factors of `robot`'s mass matrix; the only allocation.
    pub fn new(robot: &Model) -> Self {
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
                let target = &mut rows[n * i..n * i + n];
                for &j in &above[depth..] {
                    target[j] = Scalar::mul_add(-a, row[j], target[j]);
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

    /// Solves M X = B in place, block by block of columns.
    pub(super) fn solve_columns(&self, x: &mut Columns) {
        for x in x.blocks.chunks_exact_mut(self.n) {
            for i in (0..self.n).rev() {
                let (rows, row) = x.split_at_mut(i);
                let row = &mut row[0];
                // The sides have the zeros of the tree.
                if row.iter().any(|x| *x != 0.0) {
                    self.each(i, |l, j| subtract_block(&mut rows[j], l, row));
                    for x in row.iter_mut() {
                        *x *= self.inverse_diagonal[i];
                    }
                }
            }
            for i in 0..self.n {
                let (rows, row) = x.split_at_mut(i);
                let mut sum = row[0];
                self.each(i, |l, j| subtract_block(&mut sum, l, &rows[j]));
                row[0] = sum;
            }
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

/// Columns that are solved for together: enough for the vector unit not to wait for its own results.
const BLOCK: usize = 16;
type Block = [f64; BLOCK];

/// A matrix kept in blocks of columns.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    rows: usize,
    /// All rows of a block, then those of the next.
    blocks: Vec<Block>,
}

impl Columns {
    /// A matrix of zeros; the only allocation.
    pub fn new(rows: usize, columns: usize) -> Self {
        Self { rows, blocks: vec![[0.0; BLOCK]; rows * columns.div_ceil(BLOCK)] }
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        self.blocks.fill([0.0; BLOCK]);
    }

    /// Writes a part of a row, from `column` on.
    pub fn put(&mut self, row: usize, column: usize, values: &[f64]) {
        let (mut column, mut rest) = (column, values);
        while !rest.is_empty() {
            let block = &mut self.blocks[self.rows * (column / BLOCK) + row][column % BLOCK..];
            let (here, later) = rest.split_at(rest.len().min(block.len()));
            block[..here.len()].copy_from_slice(here);
            (column, rest) = (column + here.len(), later);
        }
    }

    /// Reads a part of a row, from `column` on.
    pub fn take(&self, row: usize, column: usize, out: &mut [f64]) {
        let (mut column, mut rest) = (column, out);
        while !rest.is_empty() {
            let block = &self.blocks[self.rows * (column / BLOCK) + row][column % BLOCK..];
            let (here, later) = rest.split_at_mut(block.len().min(rest.len()));
            here.copy_from_slice(&block[..here.len()]);
            (column, rest) = (column + here.len(), later);
        }
    }
}

/// `row -= factor * other`.
#[inline]
fn subtract_block(row: &mut Block, factor: f64, other: &Block) {
    for k in 0..BLOCK {
        row[k] = Scalar::mul_add(-factor, other[k], row[k]);
    }
}

/// `row -= factor * other`.
#[inline]
fn subtract(row: &mut [f64], factor: f64, other: &[f64]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x -= factor * y;
    }
}
