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

use nalgebra::{Cholesky, SMatrix, SVector};

use crate::linear::triangular::{ordered_dot, solve_factored};

/// Largest number of variables: room for arms of seven joints with some to spare. Vectors and matrices have this size
/// whatever the program's, and products of matrices grow with its third power.
pub const MAX_DIMENSION: usize = 10;

/// A vector of variables. Entries beyond the dimension of a program are zero: with room for all of them it needs no memory
/// of its own.
pub type Vector = SVector<f64, MAX_DIMENSION>;
/// A matrix over the variables; zero beyond the dimension of a program.
pub type Matrix = SMatrix<f64, MAX_DIMENSION, MAX_DIMENSION>;

/// Iterations after which the present point is returned as it is. Convergence takes far fewer; the number is only there to
/// end.
const MAX_ITERATIONS: usize = 60;
/// Share of the way to the boundary that a step may go. On the boundary itself no further step leads inside; a smaller share
/// leaves more of the complementarity after each step.
const TO_BOUNDARY: f64 = 0.995;
/// Relative tolerance on complementarity and stationarity: far below the steps of the search that asks, and above what
/// normal equations leave of double precision.
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
        self.value + ordered_dot(&self.gradient, d)
    }
}

/// A quadratic program; all numbers finite, `lower < upper` in every entry up to the dimension.
#[derive(Debug, Clone, Copy)]
pub struct QuadraticProgram<'a> {
    /// Number n of variables, at most [`MAX_DIMENSION`].
    pub dimension: usize,
    /// B, symmetric positive semidefinite.
    pub hessian: &'a Matrix,
    /// g.
    pub gradient: &'a Vector,
    /// The elastic rows.
    pub rows: &'a [LinearRow],
    /// Lower bounds of d.
    pub lower: &'a Vector,
    /// Upper bounds of d.
    pub upper: &'a Vector,
    /// rho > 0: price of one unit of violation of one row.
    pub penalty: f64,
}

/// What [`QuadraticProgram::solve`] returns; the step lies strictly inside the box, converged or not.
#[derive(Debug, Clone, Copy)]
pub struct QpSolution {
    /// d.
    pub step: Vector,
    /// Sum over the rows of max(0, -(c_i + a_i'd)).
    pub violation: f64,
    /// Interior-point iterations used.
    pub iterations: usize,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// Storage of a solution, kept from one program to the next.
#[derive(Debug, Clone, Default)]
pub struct QpWorkspace {
    rows: Vec<RowState>,
    affine: Vec<RowChange>,
    changes: Vec<RowChange>,
}

impl QpWorkspace {
    /// Asks for what a program with so many rows needs.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.rows.clear();
        self.rows.reserve(rows);
        for changes in [&mut self.affine, &mut self.changes] {
            changes.clear();
            changes.reserve(rows);
        }
    }

    /// The multipliers lambda_i in (0, rho) of the program solved last, one a row.
    pub fn multipliers(&self) -> impl Iterator<Item = f64> + '_ {
        self.rows.iter().map(|row| row.lambda)
    }
}

/// Inner product of two vectors of variables, summed in their order.
#[inline]
pub(super) fn inner(a: &Vector, b: &Vector) -> f64 {
    ordered_dot(a.as_slice(), b.as_slice())
}

/// Changes of s, t and lambda.
type RowChange = (f64, f64, f64);

/// Slack and multiplier state of one row.
#[derive(Debug, Clone, Copy)]
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
    fn direction(&self, target: Target, v_dot: f64) -> RowChange {
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

/// A Newton direction of the variables and the multipliers of their bounds.
#[derive(Clone, Copy)]
struct Direction {
    d: Vector,
    lower: Vector,
    upper: Vector,
}

/// The iterate.
struct State<'a> {
    problem: &'a QuadraticProgram<'a>,
    d: Vector,
    z_lower: Vector,
    z_upper: Vector,
    space: &'a mut QpWorkspace,
}

impl<'a> QuadraticProgram<'a> {
    /// Solves the program by Mehrotra's predictor-corrector method. Never fails: the point that it has when it gives
    /// up is inside the box and is returned with `converged: false`.
    pub fn solve(&self, space: &mut QpWorkspace) -> QpSolution {
        let mut state = State::new(self, space);
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
        let violation = self.rows.iter().map(|r| (-r.at(state.variables())).max(0.0)).sum();
        QpSolution { step: state.d, violation, iterations, converged }
    }

    /// A vector with an entry for each variable.
    fn each(&self, entry: impl Fn(usize) -> f64) -> Vector {
        Vector::from_fn(|j, _| if j < self.dimension { entry(j) } else { 0.0 })
    }
}

impl<'a> State<'a> {
    fn new(problem: &'a QuadraticProgram<'a>, space: &'a mut QpWorkspace) -> Self {
        let d = (problem.lower + problem.upper) * 0.5;
        let half = (problem.upper - problem.lower) * 0.5;
        let objective =
            inner(&problem.gradient.abs(), &half) + 0.5 * inner(&half, &(problem.hessian.abs() * half));
        let n = problem.dimension;
        let value = |row: &LinearRow| row.at(&d.as_slice()[..n]);
        let worst = problem.rows.iter().fold(0.0_f64, |m, row| m.max(-value(row)));
        // As large as the objective may change, or as the penalty presses: neither side starts saturated.
        let mu = objective.max(0.1 * problem.penalty * worst).max(1e-10);
        space.rows.clear();
        space.rows.extend(problem.rows.iter().map(|r| RowState::central(value(r), mu, problem.penalty)));
        let z = problem.each(|j| mu / half[j]);
        Self { problem, d, z_lower: z, z_upper: z, space }
    }

    /// d, length n.
    fn variables(&self) -> &[f64] {
        &self.d.as_slice()[..self.problem.dimension]
    }

    /// Mean complementarity product.
    fn mu(&self) -> f64 {
        let gap: f64 = self.space.rows.iter().map(|r| r.s * r.lambda + r.t * r.pi).sum();
        let below = inner(&(self.d - self.problem.lower), &self.z_lower);
        let above = inner(&(self.problem.upper - self.d), &self.z_upper);
        (gap + below + above) / (2 * self.pairs()) as f64
    }

    /// Number of rows and variables: half that of the products.
    fn pairs(&self) -> usize {
        self.space.rows.len() + self.problem.dimension
    }

    /// Stationarity residual, and the size of the terms that cancel in it.
    fn residual(&self) -> (Vector, f64) {
        let mut pull = Vector::zeros();
        for (row, state) in self.problem.rows.iter().zip(&self.space.rows) {
            for j in 0..self.problem.dimension {
                pull[j] += row.gradient[j] * state.lambda;
            }
        }
        let push = self.problem.hessian * self.d + self.problem.gradient;
        let scale = 1.0 + push.amax() + pull.amax();
        (push - pull - self.z_lower + self.z_upper, scale)
    }

    fn is_optimal(&self) -> bool {
        let (residual, scale) = self.residual();
        let problem = self.problem;
        let value = inner(problem.gradient, &self.d) + 0.5 * inner(&self.d, &(problem.hessian * self.d));
        let gap = self.mu() * self.pairs() as f64;
        residual.amax() <= TOLERANCE * 10.0 * scale && gap <= TOLERANCE * (1.0 + value.abs())
    }

    /// One predictor-corrector step; false when no further progress is possible.
    fn iterate(&mut self) -> bool {
        let (residual, _) = self.residual();
        let Some(factor) = self.factor() else { return false };
        let mu = self.mu();
        // Taken out and put back: the rows' states are read while these are written.
        let mut affine = std::mem::take(&mut self.space.affine);
        let mut changes = std::mem::take(&mut self.space.changes);
        let predictor = self.direction(&factor, &residual, 0.0, None, &mut affine);
        let reach = self.step_length(&predictor, &affine).min(1.0);
        let sigma = (self.mu_after(&predictor, &affine, reach) / mu).clamp(0.0, 1.0).powi(3);
        let before = Some((&predictor, &affine[..]));
        let direction = self.direction(&factor, &residual, sigma * mu, before, &mut changes);
        let alpha = (TO_BOUNDARY * self.step_length(&direction, &changes)).min(1.0);
        let moves = alpha > 1e-12 && direction.d.iter().all(|x| x.is_finite());
        if moves {
            self.advance(alpha, &direction, &changes);
        }
        self.space.affine = affine;
        self.space.changes = changes;
        moves
    }

    fn advance(&mut self, alpha: f64, direction: &Direction, changes: &[RowChange]) {
        self.d += direction.d * alpha;
        self.z_lower += direction.lower * alpha;
        self.z_upper += direction.upper * alpha;
        for (row, &(s, t, lambda)) in self.space.rows.iter_mut().zip(changes) {
            row.s += alpha * s;
            row.t += alpha * t;
            row.lambda += alpha * lambda;
            row.pi -= alpha * lambda;
        }
    }

    /// Cholesky factor of B + A' W^-1 A + box terms, regularised if rounding has made it indefinite.
    fn factor(&self) -> Option<Matrix> {
        let n = self.problem.dimension;
        let mut matrix = [[0.0; MAX_DIMENSION]; MAX_DIMENSION];
        for (row, state) in self.problem.rows.iter().zip(&self.space.rows) {
            let weight = 1.0 / (state.s / state.lambda + state.t / state.pi);
            for (i, line) in matrix.iter_mut().take(n).enumerate() {
                let scaled = weight * row.gradient[i];
                for (entry, g) in line[..=i].iter_mut().zip(&row.gradient) {
                    *entry += scaled * g;
                }
            }
        }
        let mut normal = Matrix::zeros();
        for i in 0..n {
            for j in 0..n {
                let term = if i >= j { matrix[i][j] } else { matrix[j][i] };
                normal[(i, j)] = self.problem.hessian[(i, j)] + term;
            }
            normal[(i, i)] += self.z_lower[i] / (self.d[i] - self.problem.lower[i])
                + self.z_upper[i] / (self.problem.upper[i] - self.d[i]);
        }
        let mut ridge = 1e-14 * normal.amax().max(1e-300);
        (n..MAX_DIMENSION).for_each(|j| normal[(j, j)] = 1.0);
        for _ in 0..8 {
            if let Some(factor) = Cholesky::new(normal) {
                return Some(factor.unpack_dirty());
            }
            for j in 0..n {
                normal[(j, j)] += ridge;
            }
            ridge *= 100.0;
        }
        None
    }

    /// Newton direction towards products equal to `mu`, with Mehrotra's second-order term of `affine`; that of the rows
    /// goes to `changes`.
    fn direction(
        &self,
        factor: &Matrix,
        residual: &Vector,
        mu: f64,
        affine: Option<(&Direction, &[RowChange])>,
        changes: &mut Vec<RowChange>,
    ) -> Direction {
        let n = self.problem.dimension;
        let p = self.problem;
        let target = |i: usize, r: &RowState| {
            let (s, t, lambda) = affine.map_or((0.0, 0.0, 0.0), |(_, rows)| rows[i]);
            Target { s: mu - r.s * r.lambda - s * lambda, t: mu - r.t * r.pi + t * lambda }
        };
        let box_target = |j: usize| {
            let (d, l, u) = affine.map_or((0.0, 0.0, 0.0), |(a, _)| (a.d[j], a.lower[j], a.upper[j]));
            let below = mu - (self.d[j] - p.lower[j]) * self.z_lower[j] - d * l;
            let above = mu - (p.upper[j] - self.d[j]) * self.z_upper[j] + d * u;
            (below, above)
        };
        let mut right = -residual;
        for (i, (row, state)) in p.rows.iter().zip(&self.space.rows).enumerate() {
            let (e, w) = state.condensed(target(i, state));
            for j in 0..n {
                right[j] += row.gradient[j] * (e / w);
            }
        }
        for j in 0..n {
            let (below, above) = box_target(j);
            right[j] += below / (self.d[j] - p.lower[j]) - above / (p.upper[j] - self.d[j]);
        }
        let mut d = right;
        solve_factored(factor.as_slice(), MAX_DIMENSION, &mut d.as_mut_slice()[..n]);
        let rows = p.rows.iter().zip(&self.space.rows).enumerate();
        changes.clear();
        changes.extend(
            rows.map(|(i, (a, r))| r.direction(target(i, r), ordered_dot(&a.gradient, &d.as_slice()[..n]))),
        );
        let lower = p.each(|j| (box_target(j).0 - self.z_lower[j] * d[j]) / (self.d[j] - p.lower[j]));
        let upper = p.each(|j| (box_target(j).1 + self.z_upper[j] * d[j]) / (p.upper[j] - self.d[j]));
        Direction { d, lower, upper }
    }

    /// The largest step that keeps every product's factors non-negative.
    fn step_length(&self, direction: &Direction, changes: &[RowChange]) -> f64 {
        let mut alpha = f64::INFINITY;
        let mut limit = |value: f64, change: f64| {
            if change < 0.0 {
                alpha = alpha.min(-value / change);
            }
        };
        for (row, &(s, t, lambda)) in self.space.rows.iter().zip(changes) {
            limit(row.s, s);
            limit(row.t, t);
            limit(row.lambda, lambda);
            limit(row.pi, -lambda);
        }
        for j in 0..self.problem.dimension {
            limit(self.d[j] - self.problem.lower[j], direction.d[j]);
            limit(self.problem.upper[j] - self.d[j], -direction.d[j]);
            limit(self.z_lower[j], direction.lower[j]);
            limit(self.z_upper[j], direction.upper[j]);
        }
        alpha
    }

    /// Mean complementarity after a step of length `alpha`.
    fn mu_after(&self, direction: &Direction, changes: &[RowChange], alpha: f64) -> f64 {
        let mut gap = 0.0;
        for (row, &(s, t, lambda)) in self.space.rows.iter().zip(changes) {
            gap += (row.s + alpha * s) * (row.lambda + alpha * lambda);
            gap += (row.t + alpha * t) * (row.pi - alpha * lambda);
        }
        for j in 0..self.problem.dimension {
            let d = self.d[j] + alpha * direction.d[j];
            gap += (d - self.problem.lower[j]) * (self.z_lower[j] + alpha * direction.lower[j]);
            gap += (self.problem.upper[j] - d) * (self.z_upper[j] + alpha * direction.upper[j]);
        }
        gap / (2 * self.pairs()) as f64
    }
}

#[cfg(test)]
mod tests;
