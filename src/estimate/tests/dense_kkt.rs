//! The oracle: the whole problem as one dense KKT system, solved by an LU factorisation with partial pivoting.

use nalgebra::{DMatrix, DVector};

use super::super::Trajectory;
use super::random::RandomProblem;

pub struct DenseKkt<'p> {
    problem: &'p RandomProblem,
    /// Hessian and gradient of all variables (u_0, x_0, u_1, x_1, .., x_N, theta).
    h: DMatrix<f64>,
    g: DVector<f64>,
    /// All equations E v + e = 0, dependent ones left out.
    rows: Vec<(DVector<f64>, f64)>,
}

impl<'p> DenseKkt<'p> {
    /// `hold_blind` adds equations that hold the blind directions at zero.
    pub fn new(problem: &'p RandomProblem, hold_blind: bool) -> Self {
        let (shape, at) = (problem.shape, problem.theta_index());
        let n = at + shape.nt;
        let (mut h, mut g, mut rows) = (DMatrix::zeros(n, n), DVector::zeros(n), Vec::new());
        for (k, s) in problem.stages.iter().enumerate() {
            let start = problem.x_index(k) - s.nu;
            let place: Vec<usize> = (start..start + s.nu + shape.nx).chain(at..n).collect();
            for (i, &row) in place.iter().enumerate() {
                g[row] += s.g[i];
                for (j, &col) in place.iter().enumerate() {
                    h[(row, col)] += s.h[(i, j)];
                }
            }
            let scattered = |row: nalgebra::DVector<f64>| {
                let mut out = DVector::zeros(n);
                place.iter().zip(row.iter()).for_each(|(&p, x)| out[p] += x);
                out
            };
            for i in 0..s.f.nrows() {
                let mut row = scattered(s.f.row(i).transpose());
                row[problem.x_index(k + 1) + i] -= 1.0;
                rows.push((row, s.c[i]));
            }
            for i in 0..s.independent {
                rows.push((scattered(s.con.row(i).transpose()), s.e[i]));
            }
        }
        let on_theta = |values: &dyn Fn(usize) -> f64| {
            DVector::from_fn(n, |i, _| if i >= at { values(i - at) } else { 0.0 })
        };
        for i in 0..shape.equalities {
            rows.push((on_theta(&|j| problem.equalities[(i, j)]), problem.equality_values[i]));
        }
        if hold_blind {
            rows.extend(problem.blind.column_iter().map(|v| (on_theta(&|j| v[j]), 0.0)));
        }
        Self { problem, h, g, rows }
    }

    fn system(&self) -> DMatrix<f64> {
        let (n, m) = (self.g.len(), self.rows.len());
        let mut k = DMatrix::zeros(n + m, n + m);
        k.view_mut((0, 0), (n, n)).copy_from(&self.h);
        for (i, (row, _)) in self.rows.iter().enumerate() {
            k.view_mut((0, n + i), (n, 1)).copy_from(row);
            k.view_mut((n + i, 0), (1, n)).copy_from(&row.transpose());
        }
        k
    }

    fn solve(&self) -> DVector<f64> {
        let (n, m) = (self.g.len(), self.rows.len());
        let rhs = DVector::from_fn(n + m, |i, _| if i < n { -self.g[i] } else { -self.rows[i - n].1 });
        let k = self.system();
        let lu = k.clone().lu();
        let mut x = lu.solve(&rhs).unwrap();
        // One refinement, so that the oracle is the more accurate of the two.
        x += lu.solve(&(&rhs - &k * &x)).unwrap();
        x
    }

    fn unpack(&self, v: &DVector<f64>) -> Trajectory {
        let mut out = self.problem.zero();
        for k in 0..out.xs.len() {
            let x = self.problem.x_index(k);
            let u = x - out.us[k].len();
            out.us[k].copy_from_slice(&v.as_slice()[u..x]);
            let len = out.xs[k].len();
            out.xs[k].copy_from_slice(&v.as_slice()[x..x + len]);
        }
        let at = self.problem.theta_index();
        out.theta.copy_from_slice(&v.as_slice()[at..at + self.problem.shape.nt]);
        out
    }

    pub fn solution(&self) -> Trajectory {
        self.unpack(&self.solve())
    }

    /// With the first state given.
    pub fn starting_from(mut self, start: &[f64]) -> Trajectory {
        for (i, x) in start.iter().enumerate() {
            let mut row = DVector::zeros(self.g.len());
            row[self.problem.x_index(0) + i] = 1.0;
            self.rows.push((row, -x));
        }
        self.solution()
    }

    /// With the bounds that `theta` touches as equations, and their multipliers (>= 0 at a minimum).
    pub fn with_active(mut self, theta: &[f64]) -> (Trajectory, Vec<f64>) {
        let before = self.rows.len();
        for i in 0..self.problem.bounds.len() {
            let (p, sign, bound) = self.problem.bound(i);
            if (theta[p] - bound).abs() < 1e-9 {
                let mut row = DVector::zeros(self.g.len());
                row[self.problem.theta_index() + p] = sign;
                self.rows.push((row, -sign * bound));
            }
        }
        let solution = self.solve();
        let multipliers = (before..self.rows.len()).map(|i| -solution[self.g.len() + i]).collect();
        (self.unpack(&solution), multipliers)
    }

    /// Covariance of all variables: the leading block of the inverse.
    pub fn covariance(&self) -> DMatrix<f64> {
        let n = self.g.len();
        self.system().try_inverse().unwrap().view((0, 0), (n, n)).into_owned()
    }
}
