//! A small strictly convex quadratic program by the dual active-set method of Goldfarb and Idnani (1983).
//!
//! For the parameter inequalities at the arrival node: min w'H w / 2 + g'w subject to a_i'w + c_i >= 0, with H given by
//! its Cholesky factor. It needs no feasible start, ends after finitely many steps, and costs little when few
//! inequalities bind.

use crate::linear::dense::{Mat, axpy, dot, norm, partial_cholesky, solve_lower, solve_lower_transposed};

/// Why there is no solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActiveSetFailure {
    /// Inequality of this index contradicts the others.
    Infeasible(usize),
    /// Rounding made the steps go in a circle.
    Stalled,
}

/// Scratch space and result.
#[derive(Debug, Clone)]
pub struct ActiveSet {
    /// The minimiser.
    pub w: Vec<f64>,
    /// Inequalities that bind at the minimiser.
    pub active: Vec<usize>,
    multipliers: Vec<f64>,
    /// L^-1 a of the active inequalities.
    normals: Mat,
    gram: Mat,
    reaction: Vec<f64>,
    step: Vec<f64>,
}

impl ActiveSet {
    /// Room for `n` variables and `m` inequalities.
    pub fn new(n: usize, m: usize) -> Self {
        Self {
            w: vec![0.0; n],
            active: Vec::with_capacity(m),
            multipliers: Vec::with_capacity(m),
            normals: Mat::zeros(n, m),
            gram: Mat::zeros(m, m),
            reaction: Vec::with_capacity(m),
            step: vec![0.0; n],
        }
    }

    /// Solves with H = L L' in the lower triangle of `l`; column i of `rows` holds a_i, `values` the c_i.
    ///
    /// # Errors
    /// When an inequality contradicts the others, or rounding makes the steps go in a circle.
    pub fn solve(&mut self, l: &Mat, g: &[f64], rows: &Mat, values: &[f64]) -> Result<(), ActiveSetFailure> {
        self.w.clear();
        self.w.extend(g.iter().map(|x| -x));
        solve_lower(l, &mut self.w);
        solve_lower_transposed(l, &mut self.w);
        self.active.clear();
        self.multipliers.clear();
        for _ in 0..50 * (values.len() + 1) {
            let Some(entering) = self.most_violated(rows, values) else { return Ok(()) };
            self.enter(l, rows, values, entering)?;
        }
        Err(ActiveSetFailure::Stalled)
    }

    fn most_violated(&self, rows: &Mat, values: &[f64]) -> Option<usize> {
        let mut worst = (None, 0.0);
        for (i, c) in values.iter().enumerate() {
            if self.active.contains(&i) {
                continue;
            }
            let scale = 1e-12 * (c.abs() + norm(rows.col(i)) * norm(&self.w)).max(1e-300);
            let slack = dot(rows.col(i), &self.w) + c;
            if slack < -scale && slack < worst.1 {
                worst = (Some(i), slack);
            }
        }
        worst.0
    }

    /// Makes inequality `p` active, dropping others on the way.
    fn enter(&mut self, l: &Mat, rows: &Mat, values: &[f64], p: usize) -> Result<(), ActiveSetFailure> {
        let mut multiplier = 0.0;
        loop {
            self.direction(l, rows, p);
            let along = dot(&self.step, &self.step);
            let blocking = (0..self.active.len())
                .filter(|&i| self.reaction[i] > 0.0)
                .map(|i| (i, self.multipliers[i] / self.reaction[i]))
                .min_by(|a, b| a.1.total_cmp(&b.1));
            let independent = along > 1e-20 * dot(rows.col(p), rows.col(p)).max(1e-300);
            let slack = dot(rows.col(p), &self.w) + values[p];
            let full = if independent { -slack / along } else { f64::INFINITY };
            let length = blocking.map_or(full, |b| b.1.min(full));
            if length == f64::INFINITY {
                return Err(ActiveSetFailure::Infeasible(p));
            }
            for (u, r) in self.multipliers.iter_mut().zip(&self.reaction) {
                *u = (*u - length * r).max(0.0);
            }
            multiplier += length;
            if independent {
                solve_lower_transposed(l, &mut self.step);
                axpy(length, &self.step, &mut self.w);
            }
            match blocking {
                Some((i, t)) if t < full => {
                    self.active.remove(i);
                    self.multipliers.remove(i);
                }
                _ => {
                    self.active.push(p);
                    self.multipliers.push(multiplier);
                    return Ok(());
                }
            }
        }
    }

    /// step = L^-1 a_p minus its projection on the active normals, whose coefficients are the reaction.
    fn direction(&mut self, l: &Mat, rows: &Mat, p: usize) {
        let m = self.active.len();
        self.normals.reset(self.w.len(), m);
        for (i, &index) in self.active.iter().enumerate() {
            self.normals.col_mut(i).copy_from_slice(rows.col(index));
            solve_lower(l, self.normals.col_mut(i));
        }
        self.step.clear();
        self.step.extend_from_slice(rows.col(p));
        solve_lower(l, &mut self.step);
        self.gram.reset(m, m);
        self.reaction.clear();
        for i in 0..m {
            self.reaction.push(dot(self.normals.col(i), &self.step));
            for j in 0..=i {
                self.gram[(i, j)] = dot(self.normals.col(i), self.normals.col(j));
            }
        }
        // The active normals are independent: an inequality enters only if its step is not zero.
        if partial_cholesky(&mut self.gram, m) {
            solve_lower(&self.gram, &mut self.reaction);
            solve_lower_transposed(&self.gram, &mut self.reaction);
        } else {
            self.reaction.fill(0.0);
        }
        for i in 0..m {
            axpy(-self.reaction[i], self.normals.col(i), &mut self.step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn optimality_conditions_hold_on_random_programs() {
        let mut draw = ChaCha8Rng::seed_from_u64(4);
        let mut bound = 0;
        for case in 0..200 {
            let (n, m) = (1 + case % 7, case % 11);
            let mut h = Mat::zeros(n, n);
            for _ in 0..n + 1 {
                let v: Vec<f64> = (0..n).map(|_| draw.random_range(-1.0..1.0)).collect();
                (0..n).for_each(|j| axpy(v[j], &v, h.col_mut(j)));
            }
            let g: Vec<f64> = (0..n).map(|_| draw.random_range(-3.0..3.0)).collect();
            let (mut rows, mut values) = (Mat::zeros(n, m), vec![0.0; m]);
            for i in 0..m {
                rows.col_mut(i).fill_with(|| draw.random_range(-1.0..1.0));
                values[i] = draw.random_range(0.0..0.5); // w = 0 is feasible
            }
            let mut l = h.clone();
            assert!(partial_cholesky(&mut l, n));
            let mut solver = ActiveSet::new(n, m);
            solver.solve(&l, &g, &rows, &values).unwrap();
            bound += solver.active.len();
            let mut residual: Vec<f64> = (0..n).map(|i| dot(h.col(i), &solver.w) + g[i]).collect();
            for (&i, &u) in solver.active.iter().zip(&solver.multipliers) {
                assert!(u >= 0.0 && (dot(rows.col(i), &solver.w) + values[i]).abs() < 1e-8);
                axpy(-u, rows.col(i), &mut residual);
            }
            assert!(norm(&residual) < 1e-7, "case {case}: {residual:?}");
            assert!((0..m).all(|i| dot(rows.col(i), &solver.w) + values[i] > -1e-8));
        }
        assert!(bound > 100, "the inequalities hardly ever bind");
    }

    #[test]
    fn contradictions_are_told() {
        let mut l = Mat::zeros(1, 1);
        l[(0, 0)] = 1.0;
        let mut rows = Mat::zeros(1, 2);
        (rows[(0, 0)], rows[(0, 1)]) = (1.0, -1.0); // w >= 1 and w <= 0
        let failure = ActiveSet::new(1, 2).solve(&l, &[0.0], &rows, &[-1.0, 0.0]);
        assert!(matches!(failure, Err(ActiveSetFailure::Infeasible(_))), "{failure:?}");
    }
}
