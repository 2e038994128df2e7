//! A small dense quadratic program with elastic rows, by a primal-dual interior-point method.
//!
//! For readers of [`super::nlp`]. The problem, with at most [`MAX_DIMENSION`] variables and thousands of rows:
//!
//! minimise over d and t:  1/2 d'B d + g'd + rho sum_i t_i
//! subject to  c_i + a_i'd + t_i >= 0,  t_i >= 0,  lower <= d <= upper.
//!
//! The penalty rho makes it feasible whenever the box is, and the slack of every row is eliminated by hand, so each
//! iteration costs one n x n factorisation and two passes over the rows. With s_i = c_i + a_i'd + t_i, the multipliers
//! lambda_i of the rows and pi_i = rho - lambda_i of the slacks, the conditions are
//! B d + g - A'lambda - z_l + z_u = 0 and s_i lambda_i = t_i pi_i = (d - lower) z_l = (upper - d) z_u = mu -> 0.
//! All but these equations hold exactly at the start and are linear, hence hold throughout.

use nalgebra::{Cholesky, DMatrix, DVector};

/// Largest number of variables.
pub const MAX_DIMENSION: usize = 10;

/// Iterations after which the present point is returned as it is.
const MAX_ITERATIONS: usize = 60;
/// Share of the way to the boundary that a step may go.
const TO_BOUNDARY: f64 = 0.995;
/// Relative tolerance on complementarity and stationarity.
const TOLERANCE: f64 = 1e-9;

/// The linearised row `value + gradient'd >= 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearRow {
    /// Value at d = 0.
    pub value: f64,
    /// Gradient; entries beyond the dimension of the program are ignored.
    pub gradient: [f64; MAX_DIMENSION],
}

impl LinearRow {
    /// The row's value at `d`.
    #[inline]
    pub fn at(&self, d: &[f64]) -> f64 {
        self.value + dot(&self.gradient, d)
    }
}

/// A quadratic program with n = `gradient.len()` variables; all numbers finite, `lower < upper` in every entry.
#[derive(Debug, Clone, Copy)]
pub struct QuadraticProgram<'a> {
    /// B, n x n, symmetric positive semidefinite.
    pub hessian: &'a DMatrix<f64>,
    /// g, length n.
    pub gradient: &'a DVector<f64>,
    /// The elastic rows.
    pub rows: &'a [LinearRow],
    /// Lower bounds of d, length n.
    pub lower: &'a DVector<f64>,
    /// Upper bounds of d, length n.
    pub upper: &'a DVector<f64>,
    /// rho > 0: price of one unit of violation of one row.
    pub penalty: f64,
}

/// What [`QuadraticProgram::solve`] returns; the step lies strictly inside the box, converged or not.
#[derive(Debug, Clone)]
pub struct QpSolution {
    /// d, length n.
    pub step: DVector<f64>,
    /// lambda_i in (0, rho), one a row.
    pub multipliers: Vec<f64>,
    /// Sum over the rows of max(0, -(c_i + a_i'd)).
    pub violation: f64,
    /// Interior-point iterations used.
    pub iterations: usize,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

#[inline]
fn dot(a: &[f64; MAX_DIMENSION], d: &[f64]) -> f64 {
    a.iter().zip(d).map(|(a, d)| a * d).sum()
}

/// Slack and multiplier state of one row.
#[derive(Clone, Copy)]
struct RowState {
    s: f64,
    t: f64,
    lambda: f64,
    pi: f64,
}

impl RowState {
    /// The point of the central path at `mu` for a row of value `v`: s - t = v, s lambda = t pi = mu,
    /// lambda + pi = rho.
    fn central(v: f64, mu: f64, rho: f64) -> Self {
        let w = v.abs() * rho;
        // The smaller multiplier, by the root formula that does not cancel.
        let small = 2.0 * mu * rho / (w + 2.0 * mu + (w * w + 4.0 * mu * mu).sqrt());
        let large = rho - small;
        if v >= 0.0 {
            Self { s: mu / small, t: mu / large, lambda: small, pi: large }
        } else {
            Self { s: mu / large, t: mu / small, lambda: large, pi: small }
        }
    }

    /// Change of (s, t, lambda) for the row's motion `v_dot` = a'dd and the targets of both products.
    #[inline]
    fn direction(&self, target: Target, v_dot: f64) -> (f64, f64, f64) {
        let (e, w) = self.condensed(target);
        let lambda = (e - v_dot) / w;
        ((target.s - self.s * lambda) / self.lambda, (target.t + self.t * lambda) / self.pi, lambda)
    }

    /// The condensed right-hand side and weight: d lambda = (e - a'dd) / w.
    #[inline]
    fn condensed(&self, target: Target) -> (f64, f64) {
        (target.s / self.lambda - target.t / self.pi, self.s / self.lambda + self.t / self.pi)
    }
}

/// By how much the products s lambda and t pi are to change.
#[derive(Clone, Copy)]
struct Target {
    s: f64,
    t: f64,
}

/// A Newton direction of the whole state.
struct Direction {
    d: DVector<f64>,
    lower: DVector<f64>,
    upper: DVector<f64>,
    rows: Vec<(f64, f64, f64)>,
}

/// The iterate.
struct State<'a> {
    problem: &'a QuadraticProgram<'a>,
    d: DVector<f64>,
    z_lower: DVector<f64>,
    z_upper: DVector<f64>,
    rows: Vec<RowState>,
}

impl<'a> QuadraticProgram<'a> {
    /// Solves the program by Mehrotra's predictor-corrector method. Never fails: the point that it has when it gives
    /// up is inside the box and is returned with `converged: false`.
    pub fn solve(&self) -> QpSolution {
        let mut state = State::new(self);
        let mut converged = false;
        let mut iterations = 0;
        while iterations < MAX_ITERATIONS {
            if state.is_optimal() {
                converged = true;
                break;
            }
            iterations += 1;
            if !state.iterate() {
                break;
            }
        }
        let violation = self.rows.iter().map(|r| (-r.at(state.d.as_slice())).max(0.0)).sum();
        let multipliers = state.rows.iter().map(|r| r.lambda).collect();
        QpSolution { step: state.d, multipliers, violation, iterations, converged }
    }
}

impl<'a> State<'a> {
    fn new(problem: &'a QuadraticProgram<'a>) -> Self {
        let d = (problem.lower + problem.upper) * 0.5;
        let half = (problem.upper - problem.lower) * 0.5;
        let objective = problem.gradient.abs().dot(&half) + 0.5 * half.dot(&(problem.hessian.abs() * &half));
        let values: Vec<f64> = problem.rows.iter().map(|r| r.at(d.as_slice())).collect();
        let worst = values.iter().fold(0.0_f64, |m, v| m.max(-v));
        // As large as the objective may change, or as the penalty presses: neither side starts saturated.
        let mu = objective.max(0.1 * problem.penalty * worst).max(1e-10);
        let rows = values.iter().map(|&v| RowState::central(v, mu, problem.penalty)).collect();
        let z = half.map(|h| mu / h);
        Self { problem, d, z_lower: z.clone(), z_upper: z, rows }
    }

    /// Mean complementarity product.
    fn mu(&self) -> f64 {
        let gap: f64 = self.rows.iter().map(|r| r.s * r.lambda + r.t * r.pi).sum();
        let below = (&self.d - self.problem.lower).dot(&self.z_lower);
        let above = (self.problem.upper - &self.d).dot(&self.z_upper);
        (gap + below + above) / (2 * (self.rows.len() + self.d.len())) as f64
    }

    /// Stationarity residual, and the size of the terms that cancel in it.
    fn residual(&self) -> (DVector<f64>, f64) {
        let n = self.d.len();
        let mut pull = DVector::zeros(n);
        for (row, state) in self.problem.rows.iter().zip(&self.rows) {
            for j in 0..n {
                pull[j] += row.gradient[j] * state.lambda;
            }
        }
        let push = self.problem.hessian * &self.d + self.problem.gradient;
        let scale = 1.0 + push.amax() + pull.amax();
        (push - pull - &self.z_lower + &self.z_upper, scale)
    }

    fn is_optimal(&self) -> bool {
        let (residual, scale) = self.residual();
        let value = self.problem.gradient.dot(&self.d) + 0.5 * self.d.dot(&(self.problem.hessian * &self.d));
        let gap = self.mu() * (self.rows.len() + self.d.len()) as f64;
        residual.amax() <= TOLERANCE * 10.0 * scale && gap <= TOLERANCE * (1.0 + value.abs())
    }

    /// One predictor-corrector step; false when no further progress is possible.
    fn iterate(&mut self) -> bool {
        let (residual, _) = self.residual();
        let Some(factor) = self.factor() else { return false };
        let mu = self.mu();
        let affine = self.direction(&factor, &residual, 0.0, None);
        let reach = self.step_length(&affine).min(1.0);
        let sigma = (self.mu_after(&affine, reach) / mu).clamp(0.0, 1.0).powi(3);
        let direction = self.direction(&factor, &residual, sigma * mu, Some(&affine));
        let alpha = (TO_BOUNDARY * self.step_length(&direction)).min(1.0);
        if !(alpha > 1e-12 && direction.d.iter().all(|x| x.is_finite())) {
            return false;
        }
        self.d.axpy(alpha, &direction.d, 1.0);
        self.z_lower.axpy(alpha, &direction.lower, 1.0);
        self.z_upper.axpy(alpha, &direction.upper, 1.0);
        for (row, &(s, t, lambda)) in self.rows.iter_mut().zip(&direction.rows) {
            row.s += alpha * s;
            row.t += alpha * t;
            row.lambda += alpha * lambda;
            row.pi -= alpha * lambda;
        }
        true
    }

    /// Cholesky factor of B + A' W^-1 A + box terms, regularised if rounding has made it indefinite.
    fn factor(&self) -> Option<Cholesky<f64, nalgebra::Dyn>> {
        let n = self.d.len();
        let mut matrix = [[0.0; MAX_DIMENSION]; MAX_DIMENSION];
        for (row, state) in self.problem.rows.iter().zip(&self.rows) {
            let weight = 1.0 / (state.s / state.lambda + state.t / state.pi);
            for (i, line) in matrix.iter_mut().take(n).enumerate() {
                let scaled = weight * row.gradient[i];
                for (entry, g) in line[..=i].iter_mut().zip(&row.gradient) {
                    *entry += scaled * g;
                }
            }
        }
        let mut normal = DMatrix::from_fn(n, n, |i, j| {
            self.problem.hessian[(i, j)] + if i >= j { matrix[i][j] } else { matrix[j][i] }
        });
        for j in 0..n {
            normal[(j, j)] += self.z_lower[j] / (self.d[j] - self.problem.lower[j])
                + self.z_upper[j] / (self.problem.upper[j] - self.d[j]);
        }
        let mut ridge = 1e-14 * normal.amax().max(1e-300);
        for _ in 0..8 {
            if let Some(factor) = Cholesky::new(normal.clone()) {
                return Some(factor);
            }
            for j in 0..n {
                normal[(j, j)] += ridge;
            }
            ridge *= 100.0;
        }
        None
    }

    /// Newton direction towards products equal to `mu`, with Mehrotra's second-order term of `affine`.
    fn direction(
        &self,
        factor: &Cholesky<f64, nalgebra::Dyn>,
        residual: &DVector<f64>,
        mu: f64,
        affine: Option<&Direction>,
    ) -> Direction {
        let n = self.d.len();
        let p = self.problem;
        let target = |i: usize, r: &RowState| {
            let (s, t, lambda) = affine.map_or((0.0, 0.0, 0.0), |a| a.rows[i]);
            Target { s: mu - r.s * r.lambda - s * lambda, t: mu - r.t * r.pi + t * lambda }
        };
        let box_target = |j: usize| {
            let (d, l, u) = affine.map_or((0.0, 0.0, 0.0), |a| (a.d[j], a.lower[j], a.upper[j]));
            let below = mu - (self.d[j] - p.lower[j]) * self.z_lower[j] - d * l;
            let above = mu - (p.upper[j] - self.d[j]) * self.z_upper[j] + d * u;
            (below, above)
        };
        let mut right = -residual;
        for (i, (row, state)) in p.rows.iter().zip(&self.rows).enumerate() {
            let (e, w) = state.condensed(target(i, state));
            for j in 0..n {
                right[j] += row.gradient[j] * (e / w);
            }
        }
        for j in 0..n {
            let (below, above) = box_target(j);
            right[j] += below / (self.d[j] - p.lower[j]) - above / (p.upper[j] - self.d[j]);
        }
        let d = factor.solve(&right);
        let rows = p.rows.iter().zip(&self.rows).enumerate();
        let rows =
            rows.map(|(i, (a, r))| r.direction(target(i, r), dot(&a.gradient, d.as_slice()))).collect();
        let lower =
            DVector::from_fn(n, |j, _| (box_target(j).0 - self.z_lower[j] * d[j]) / (self.d[j] - p.lower[j]));
        let upper =
            DVector::from_fn(n, |j, _| (box_target(j).1 + self.z_upper[j] * d[j]) / (p.upper[j] - self.d[j]));
        Direction { d, lower, upper, rows }
    }

    /// The largest step that keeps every product's factors non-negative.
    fn step_length(&self, direction: &Direction) -> f64 {
        let mut alpha = f64::INFINITY;
        let mut limit = |value: f64, change: f64| {
            if change < 0.0 {
                alpha = alpha.min(-value / change);
            }
        };
        for (row, &(s, t, lambda)) in self.rows.iter().zip(&direction.rows) {
            limit(row.s, s);
            limit(row.t, t);
            limit(row.lambda, lambda);
            limit(row.pi, -lambda);
        }
        for j in 0..self.d.len() {
            limit(self.d[j] - self.problem.lower[j], direction.d[j]);
            limit(self.problem.upper[j] - self.d[j], -direction.d[j]);
            limit(self.z_lower[j], direction.lower[j]);
            limit(self.z_upper[j], direction.upper[j]);
        }
        alpha
    }

    /// Mean complementarity after a step of length `alpha`.
    fn mu_after(&self, direction: &Direction, alpha: f64) -> f64 {
        let mut gap = 0.0;
        for (row, &(s, t, lambda)) in self.rows.iter().zip(&direction.rows) {
            gap += (row.s + alpha * s) * (row.lambda + alpha * lambda);
            gap += (row.t + alpha * t) * (row.pi - alpha * lambda);
        }
        for j in 0..self.d.len() {
            let d = self.d[j] + alpha * direction.d[j];
            gap += (d - self.problem.lower[j]) * (self.z_lower[j] + alpha * direction.lower[j]);
            gap += (self.problem.upper[j] - d) * (self.z_upper[j] + alpha * direction.upper[j]);
        }
        gap / (2 * (self.rows.len() + self.d.len())) as f64
    }
}

#[cfg(test)]
mod tests;
