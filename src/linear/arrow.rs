//! Cholesky factors of symmetric matrices that are block-tridiagonal with an arrow: states that couple to the next state alone, and parameters that
//! couple to all.
//!
//! For those who change a solver. The matrix comes as fronts, one a state: what couples (x_k, x_k+1, theta). Each front is finished as
//! soon as it comes; only the columns of the factor stay. Cost: O(N (b + nt)^2 b) for N states of size b.

use super::dense::{
    Mat, add_product_lower, axpy, dot, partial_cholesky, solve_lower, solve_lower_transposed,
};

/// The factor, its forward substitution, and what they leave of the parameters.
#[derive(Debug, Clone)]
pub struct ArrowCholesky {
    parameters: usize,
    /// Columns of the factor, state after state.
    panels: Vec<Mat>,
    forward: Vec<Vec<f64>>,
    count: usize,
    /// What the states so far leave: matrix (lower triangle) and right-hand side of (next state, theta).
    carry: Mat,
    carried: Vec<f64>,
}

impl Default for ArrowCholesky {
    fn default() -> Self {
        let carry = Mat::zeros(0, 0);
        Self { parameters: 0, panels: vec![], forward: vec![], count: 0, carry, carried: vec![] }
    }
}

impl ArrowCholesky {
    /// Begins anew, with a first state of size `first`.
    pub fn start(&mut self, first: usize, parameters: usize) {
        self.parameters = parameters;
        self.count = 0;
        self.carry.reset(first + parameters, first + parameters);
        self.carried.clear();
        self.carried.resize(first + parameters, 0.0);
    }

    /// The front of a state of size `size`: matrix (lower triangle) and right-hand side of (x_k, x_k+1, theta), x_k+1 being empty at the last one.
    /// `damping` is added to the state's diagonal. False where it is not positive definite. Both are used up.
    pub fn push(&mut self, front: &mut Mat, right: &mut [f64], size: usize, damping: f64) -> bool {
        let (n, nt) = (front.rows(), self.parameters);
        let next = n - size - nt;
        let place = |i: usize| if i < size { i } else { i + next };
        for j in 0..size + nt {
            for i in j..size + nt {
                front[(place(i), place(j))] += self.carry[(i, j)];
            }
            right[place(j)] += self.carried[j];
        }
        for j in 0..size {
            front[(j, j)] += damping;
        }
        if !partial_cholesky(front, size) {
            return false;
        }
        let (x, y) = right.split_at_mut(size);
        solve_lower(front, x);
        for k in 0..size {
            axpy(-x[k], &front.col(k)[size..], y);
        }
        if self.panels.len() == self.count {
            self.panels.push(Mat::zeros(n, size));
            self.forward.push(vec![]);
        }
        let (panel, forward) = (&mut self.panels[self.count], &mut self.forward[self.count]);
        panel.reset(n, size);
        for k in 0..size {
            panel.col_mut(k).copy_from_slice(front.col(k));
        }
        forward.clear();
        forward.extend_from_slice(x);
        self.count += 1;
        let rest = n - size;
        self.carry.reset(rest, rest);
        for j in 0..rest {
            self.carry.col_mut(j)[j..].copy_from_slice(&front.col(size + j)[size + j..]);
        }
        let below = panel.block(size, rest, size);
        add_product_lower(&mut self.carry, -1.0, below, below);
        self.carried.clear();
        self.carried.extend_from_slice(y);
        true
    }

    /// The Schur complement of the parameters (lower triangle) and their right-hand side, after the last front.
    pub fn remainder(&self) -> (&Mat, &[f64]) {
        (&self.carry, &self.carried)
    }

    /// All states, last to first, for these parameters; `each` gets the index and the solution.
    pub fn solve(&self, theta: &[f64], mut each: impl FnMut(usize, &[f64])) {
        let mut next: Vec<f64> = vec![];
        for k in (0..self.count).rev() {
            let (panel, mut x) = (&self.panels[k], self.forward[k].clone());
            let size = x.len();
            for (c, x) in x.iter_mut().enumerate() {
                let (ahead, arrow) = panel.col(c)[size..].split_at(next.len());
                *x -= dot(ahead, &next) + dot(arrow, theta);
            }
            solve_lower_transposed(panel, &mut x);
            each(k, &x);
            next = x;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Against the dense matrix, put together from the same fronts.
    #[test]
    fn solutions_solve_the_whole_matrix() {
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        for (count, size, nt) in [(1, 3, 2), (4, 2, 0), (6, 5, 3)] {
            let whole = count * size + nt;
            let (mut a, mut b) = (vec![vec![0.0; whole]; whole], vec![0.0; whole]);
            let (mut arrow, damping) = (ArrowCholesky::default(), 0.1);
            arrow.start(size, nt);
            for k in 0..count {
                let next = if k + 1 < count { size } else { 0 };
                let n = size + next + nt;
                let mut root = Mat::zeros(n, n + 2);
                for j in 0..n + 2 {
                    root.col_mut(j).fill_with(|| draw.random_range(-1.0..1.0));
                }
                let mut front = Mat::zeros(n, n);
                add_product_lower(&mut front, 1.0, root.below(0), root.below(0));
                let mut right: Vec<f64> = (0..n).map(|_| draw.random_range(-1.0..1.0)).collect();
                let place = |i: usize| if i < size + next { k * size + i } else { whole - n + i };
                for i in 0..n {
                    b[place(i)] += right[i];
                    for j in 0..n {
                        a[place(i)][place(j)] += front[(i.max(j), i.min(j))];
                    }
                }
                assert!(arrow.push(&mut front, &mut right, size, damping));
            }
            (0..count * size).for_each(|i| a[i][i] += damping);
            let (schur, right) = arrow.remainder();
            let (mut schur, mut theta) = (schur.clone(), right.to_vec());
            assert!(partial_cholesky(&mut schur, nt));
            solve_lower(&schur, &mut theta);
            solve_lower_transposed(&schur, &mut theta);
            let mut x = vec![0.0; count * size];
            arrow.solve(&theta, |k, part| x[k * size..(k + 1) * size].copy_from_slice(part));
            x.extend(theta);
            for i in 0..whole {
                let sum = dot(&a[i], &x);
                assert!((sum - b[i]).abs() < 1e-10, "{count} {size} {nt}: row {i}");
            }
        }
    }

    #[test]
    fn indefinite_fronts_are_told() {
        let mut arrow = ArrowCholesky::default();
        arrow.start(1, 0);
        let mut front = Mat::zeros(1, 1);
        front[(0, 0)] = -1.0;
        assert!(!arrow.push(&mut front, &mut [0.0], 1, 0.5));
    }
}
