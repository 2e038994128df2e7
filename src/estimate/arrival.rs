//! The arrival node: what the recursion leaves of the problem in the first state and the parameters.
//!
//! min v'y + y'V y / 2 over y = (dx_0, dtheta), subject to the equations that the stages left over, h_p + h_p' dtheta = 0
//! and g_p + g_p' dtheta >= 0 ([3, eqs. 81 to 83], solved here as one program instead of one after the other, so that
//! constraints on both are met). Equations are eliminated by an orthogonal basis of their nullspace. Of what remains,
//! [`ParameterSolve`] says how it is solved; variables are scaled to a unit diagonal first, so that no rank decision
//! depends on units.

use super::active_set::{ActiveSet, ActiveSetFailure};
use super::elimination::Leftover;
use super::riccati::Value;
use crate::linear::dense::{Mat, axpy, dot, norm, partial_cholesky, solve_lower, solve_lower_transposed};
use crate::linear::orthogonal::Orthogonal;

/// What remains of a scaled column below this is rounding: such a direction is unobservable.
const RANK: f64 = 1e-13;
/// What remains of a normalised equation below this is rounding.
const EQUATION_RANK: f64 = 1e-10;
/// Added to the scaled Hessian where inequalities want it strictly convex ...
const RIDGE: f64 = 1e-11;
/// ... and taken away again by solving so many times, each time drawn towards the last solution instead of zero: with the same
/// inequalities binding, a direction of curvature c is left RIDGE / (RIDGE + c) of its error each time.
const ROUNDS: usize = 3;
/// Share of the Gauss-Newton curvature that has to be left in every direction when what was learnt is added.
const CONVEX: f64 = 0.1;
/// Halvings of what was learnt until that is so.
const HALVINGS: i32 = 3;

/// How the parameters and the first state are solved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParameterSolve {
    /// Cholesky of the joint Hessian, which is the Schur complement method ([2, Sec. V-C1]); refuses a deficient one.
    Schur,
    /// A rank-revealing basis Y of the Hessian's range; the step has no part in its nullspace ([2, Sec. V-C2]).
    #[default]
    Nullspace,
}

/// What of the arrival node stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldParts {
    /// The first state.
    pub state: bool,
    /// The parameters.
    pub parameters: bool,
}

/// Constraints on the parameters, linearised at the guess.
#[derive(Debug, Clone)]
pub struct ParameterModel {
    /// Column i holds the gradient of equation h_p,i, nt x count.
    pub equalities: Mat,
    /// h_p.
    pub equality_values: Vec<f64>,
    /// Column i holds the gradient of g_p,i, nt x count.
    pub inequalities: Mat,
    /// g_p, >= 0 where fulfilled.
    pub inequality_values: Vec<f64>,
}

impl ParameterModel {
    /// `equalities` and `inequalities` of zeros on `nt` parameters.
    pub fn new(nt: usize, equalities: usize, inequalities: usize) -> Self {
        Self {
            equalities: Mat::zeros(nt, equalities),
            equality_values: vec![0.0; equalities],
            inequalities: Mat::zeros(nt, inequalities),
            inequality_values: vec![0.0; inequalities],
        }
    }

    /// Sum of |h_p| and of the shortfalls of g_p.
    pub fn violation(&self) -> f64 {
        let short: f64 = self.inequality_values.iter().map(|g| (-g).max(0.0)).sum();
        short + self.equality_values.iter().map(|h| h.abs()).sum::<f64>()
    }
}

/// Why the arrival node has no solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalFailure {
    /// The Hessian is not positive definite ([`ParameterSolve::Schur`]) or not semidefinite.
    NotConvex,
    /// The parameter inequalities.
    Inequalities(ActiveSetFailure),
}

/// Scratch space and result.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// (dx_0, dtheta).
    pub y: Vec<f64>,
    /// Value of the whole quadratic program at its solution, relative to the cost at the guess.
    pub expected: f64,
    /// How much of it is to be gained at the arrival node itself, once all gaps are closed.
    pub decrement: f64,
    /// Dimension of the unobservable subspace that [`ParameterSolve::Nullspace`] found.
    pub deficiency: usize,
    /// Largest residual of an equation that contradicts the others.
    pub contradiction: f64,
    /// Inequalities that bind.
    pub active: Vec<usize>,
    /// Slope of the value function, tilt included.
    slope: Vec<f64>,
    full: Mat,
    equations: Mat,
    equation_values: Vec<f64>,
    qr: Orthogonal,
    basis: Mat,
    offset: Vec<f64>,
    /// The scaled Hessian of Gauss and Newton.
    hess: Mat,
    /// With what was learnt added to it.
    bent: Mat,
    grad: Vec<f64>,
    scale: Vec<f64>,
    range: Mat,
    product: Mat,
    small: Mat,
    w: Vec<f64>,
    part: Vec<f64>,
    rows: Mat,
    row_values: Vec<f64>,
    program: ActiveSet,
}

impl Arrival {
    /// Room for a first state of tangent dimension `nx` and `nt` parameters with `inequalities`.
    pub fn new(nx: usize, nt: usize, inequalities: usize) -> Self {
        let (n, empty) = (nx + nt, || Mat::zeros(0, 0));
        Self {
            y: vec![0.0; n],
            expected: 0.0,
            decrement: 0.0,
            slope: vec![0.0; n],
            deficiency: 0,
            contradiction: 0.0,
            active: Vec::with_capacity(inequalities),
            full: Mat::zeros(n, n),
            equations: empty(),
            equation_values: Vec::new(),
            qr: Orthogonal::default(),
            basis: empty(),
            offset: vec![0.0; n],
            hess: Mat::zeros(n, n),
            bent: Mat::zeros(n, n),
            grad: Vec::new(),
            scale: Vec::new(),
            range: Mat::zeros(n, n),
            product: Mat::zeros(n, n),
            small: Mat::zeros(n, n),
            w: Vec::new(),
            part: Vec::new(),
            rows: empty(),
            row_values: Vec::new(),
            program: ActiveSet::new(n, inequalities),
        }
    }

    /// Solves for y, of which a part may be held; `tilt` is a further slope of the cost by the parameters, `learnt` what is
    /// known of its further curvature. Equations and inequalities of parameters that are held are not looked at.
    pub(super) fn solve(
        &mut self,
        value: &Value,
        tilt: &[f64],
        learnt: Option<&Mat>,
        leftover: &Leftover,
        parameters: &ParameterModel,
        held: HeldParts,
        damping: f64,
        how: ParameterSolve,
    ) -> Result<(), ArrivalFailure> {
        let nt = parameters.equalities.rows();
        self.slope.copy_from_slice(&value.grad);
        let first = self.slope.len() - nt;
        axpy(1.0, tilt, &mut self.slope[first..]);
        self.reduce(value, leftover, parameters, held);
        self.scale_to_unit_diagonal(damping);
        self.bend(learnt);
        if parameters.inequality_values.is_empty() || held.parameters {
            self.active.clear();
            self.minimise(how)?;
        } else {
            self.minimise_with_inequalities(parameters)?;
        }
        // y = offset + basis D^-1/2 w.
        self.y.copy_from_slice(&self.offset);
        for j in 0..self.basis.cols() {
            axpy(self.w[j] * self.scale[j], self.basis.col(j), &mut self.y);
        }
        let curved: f64 = (0..self.y.len()).map(|j| self.y[j] * dot(self.full.col(j), &self.y)).sum();
        self.expected = value.constant + dot(&self.slope, &self.y) + 0.5 * curved;
        let bent: f64 = (0..self.w.len()).map(|j| self.w[j] * dot(self.bent.col(j), &self.w)).sum();
        let plain: f64 = (0..self.w.len()).map(|j| self.w[j] * dot(self.hess.col(j), &self.w)).sum();
        self.expected += 0.5 * (bent - plain);
        self.decrement = (dot(&self.grad, &self.w) + 0.5 * bent).abs();
        Ok(())
    }

    /// Adds what was learnt, or half or less of it, such that the Hessian stays well positive definite; nothing where
    /// the Gauss-Newton part alone is not.
    fn bend(&mut self, learnt: Option<&Mat>) {
        self.bent.copy_from(&self.hess);
        let Some(learnt) = learnt else { return };
        let (n, m) = (self.hess.rows(), self.full.rows());
        // D^1/2 basis' S basis D^1/2 into `range`.
        self.product.reset(m, n);
        self.range.reset(n, n);
        for j in 0..n {
            for k in 0..m {
                axpy(self.basis[(k, j)], learnt.col(k), self.product.col_mut(j));
            }
            for i in 0..n {
                let entry = dot(self.basis.col(i), self.product.col(j));
                self.range[(i, j)] = self.scale[i] * self.scale[j] * entry;
            }
        }
        for halving in 0..=HALVINGS {
            let share = 0.5f64.powi(halving);
            self.small.copy_from(&self.hess);
            for j in 0..n {
                self.small.col_mut(j).iter_mut().for_each(|x| *x *= 1.0 - CONVEX);
                axpy(share, self.range.col(j), self.small.col_mut(j));
            }
            let convex = partial_cholesky(&mut self.small, n);
            if convex && (0..n).all(|j| self.small[(j, j)].powi(2) > 1e3 * RANK) {
                for j in 0..n {
                    axpy(share, self.range.col(j), self.bent.col_mut(j));
                }
                return;
            }
        }
    }

    /// Eliminates the equations: y = offset + basis w; `hess` and `grad` are those of w.
    fn reduce(&mut self, value: &Value, leftover: &Leftover, parameters: &ParameterModel, held: HeldParts) {
        let (n, nt) = (self.slope.len(), parameters.equalities.rows());
        self.full.copy_from(&value.hess);
        self.full.mirror();
        let still = if held.state { 0 } else { n - nt }..if held.parameters { n } else { n - nt };
        let equations = if held.parameters { 0 } else { parameters.equality_values.len() };
        let (held, a, b) = (still.len(), leftover.values.len(), equations);
        self.equations.reset(n, held + a + b);
        self.equation_values.clear();
        for (column, i) in still.enumerate() {
            self.equations[(i, column)] = 1.0;
            self.equation_values.push(0.0);
        }
        for i in 0..a {
            self.equations.col_mut(held + i).copy_from_slice(leftover.rows.col(i));
            self.equation_values.push(leftover.values[i]);
        }
        for i in 0..b {
            self.equations.col_mut(held + a + i)[n - nt..].copy_from_slice(parameters.equalities.col(i));
            self.equation_values.push(parameters.equality_values[i]);
        }
        for i in 0..held + a + b {
            let length = norm(self.equations.col(i));
            if length > 0.0 {
                self.equations.col_mut(i).iter_mut().for_each(|x| *x /= length);
                self.equation_values[i] /= length;
            }
        }
        self.qr.factor(&self.equations, n, EQUATION_RANK);
        let rank = self.qr.rank;
        self.part.clear();
        self.part.extend(self.qr.order.iter().map(|&i| self.equation_values[i]));
        self.qr.solve_r_transposed(&mut self.part);
        self.offset.fill(0.0);
        self.contradiction = 0.0;
        for i in 0..self.part.len() {
            if i < rank {
                axpy(-self.part[i], self.qr.q.col(i), &mut self.offset);
            } else {
                let implied = dot(&self.qr.r.col(i)[..rank], &self.part[..rank]);
                self.contradiction = self.contradiction.max((self.part[i] - implied).abs());
            }
        }
        self.basis.reset(n, n - rank);
        for j in rank..n {
            self.basis.col_mut(j - rank).copy_from_slice(self.qr.q.col(j));
        }
        self.project();
    }

    /// hess = basis' V basis, grad = basis' (v + V offset).
    fn project(&mut self) {
        let (n, reduced) = (self.full.rows(), self.basis.cols());
        self.part.clear();
        self.part.extend_from_slice(&self.slope);
        for j in 0..n {
            axpy(self.offset[j], self.full.col(j), &mut self.part);
        }
        self.product.reset(n, reduced);
        for j in 0..reduced {
            for k in 0..n {
                axpy(self.basis[(k, j)], self.full.col(k), self.product.col_mut(j));
            }
        }
        self.hess.reset(reduced, reduced);
        self.grad.clear();
        for j in 0..reduced {
            self.grad.push(dot(self.basis.col(j), &self.part));
            for i in 0..reduced {
                self.hess[(i, j)] = dot(self.basis.col(i), self.product.col(j));
            }
        }
    }

    fn scale_to_unit_diagonal(&mut self, damping: f64) {
        let n = self.hess.rows();
        self.scale.clear();
        for j in 0..n {
            let diagonal = self.hess[(j, j)];
            self.scale.push(if diagonal > 0.0 { 1.0 / diagonal.sqrt() } else { 1.0 });
        }
        for j in 0..n {
            let factor = self.scale[j];
            for (x, row) in self.hess.col_mut(j).iter_mut().zip(&self.scale) {
                *x *= factor * row;
            }
            self.hess[(j, j)] += damping;
            self.grad[j] *= factor;
        }
    }

    /// w = -hess^-1 grad, or its part in the range of hess.
    fn minimise(&mut self, how: ParameterSolve) -> Result<(), ArrivalFailure> {
        let n = self.hess.rows();
        self.deficiency = 0;
        self.w.clear();
        self.w.extend(self.grad.iter().map(|g| -g));
        self.small.copy_from(&self.bent);
        // The range is looked for only where the plain factorisation meets a pivot that rounding may have made.
        let plain = partial_cholesky(&mut self.small, n);
        let deficient = !plain || (0..n).any(|j| self.small[(j, j)] * self.small[(j, j)] < 1e3 * RANK);
        if plain && (how == ParameterSolve::Schur || !deficient) {
            solve_lower(&self.small, &mut self.w);
            solve_lower_transposed(&self.small, &mut self.w);
            return Ok(());
        }
        if how == ParameterSolve::Schur {
            return Err(ArrivalFailure::NotConvex);
        }
        self.minimise_in_range()
    }

    /// w = -Y (Y' hess Y)^-1 Y' grad with Y an orthonormal basis of the range.
    fn minimise_in_range(&mut self) -> Result<(), ArrivalFailure> {
        let n = self.hess.rows();
        self.qr.factor(&self.hess, n, RANK * n as f64);
        let rank = self.qr.rank;
        self.deficiency = n - rank;
        self.range.reset(n, rank);
        for j in 0..rank {
            self.range.col_mut(j).copy_from_slice(self.qr.q.col(j));
        }
        self.product.reset(n, rank);
        for j in 0..rank {
            for k in 0..n {
                axpy(self.range[(k, j)], self.hess.col(k), self.product.col_mut(j));
            }
        }
        self.small.reset(rank, rank);
        self.part.clear();
        for j in 0..rank {
            self.part.push(-dot(self.range.col(j), &self.grad));
            for i in j..rank {
                self.small[(i, j)] = dot(self.range.col(i), self.product.col(j));
            }
        }
        if !partial_cholesky(&mut self.small, rank) {
            return Err(ArrivalFailure::NotConvex);
        }
        solve_lower(&self.small, &mut self.part);
        solve_lower_transposed(&self.small, &mut self.part);
        self.w.fill(0.0);
        for j in 0..rank {
            axpy(self.part[j], self.range.col(j), &mut self.w);
        }
        Ok(())
    }

    /// With inequalities the program is made strictly convex by [`RIDGE`], and that undone ([`ROUNDS`]: the proximal point
    /// method, whose iterates all fulfil the inequalities; directions that nothing sees stay where they are).
    fn minimise_with_inequalities(&mut self, parameters: &ParameterModel) -> Result<(), ArrivalFailure> {
        let (n, m) = (self.hess.rows(), parameters.inequality_values.len());
        let (whole, nt) = (self.offset.len(), parameters.inequalities.rows());
        self.rows.reset(n, m);
        self.row_values.clear();
        for i in 0..m {
            let gradient = parameters.inequalities.col(i);
            for j in 0..n {
                self.rows[(j, i)] = self.scale[j] * dot(&self.basis.col(j)[whole - nt..], gradient);
            }
            self.row_values.push(parameters.inequality_values[i] + dot(&self.offset[whole - nt..], gradient));
        }
        self.small.copy_from(&self.bent);
        for j in 0..n {
            self.small[(j, j)] += RIDGE;
        }
        if !partial_cholesky(&mut self.small, n) {
            return Err(ArrivalFailure::NotConvex);
        }
        self.w.clear();
        self.w.resize(n, 0.0);
        for _ in 0..ROUNDS {
            self.part.clear();
            self.part.extend_from_slice(&self.grad);
            axpy(-RIDGE, &self.w, &mut self.part);
            self.program
                .solve(&self.small, &self.part, &self.rows, &self.row_values)
                .map_err(ArrivalFailure::Inequalities)?;
            self.w.copy_from_slice(&self.program.w);
        }
        self.active.clear();
        self.active.extend_from_slice(&self.program.active);
        self.deficiency = 0;
        if (0..n).any(|j| self.small[(j, j)].powi(2) < 2.0 * RIDGE + 1e3 * RANK) {
            self.qr.factor(&self.hess, n, RANK * n as f64);
            self.deficiency = n - self.qr.rank;
        }
        Ok(())
    }

    /// After a solution with the parameters held: slope and Hessian (of Gauss and Newton) of what is left as a function of
    /// the parameters, the first state and all that follows from it at their best. The solution is lost.
    pub(super) fn profile(
        &mut self,
        slope: &mut [f64],
        hess: &mut Mat,
        how: ParameterSolve,
    ) -> Result<(), ArrivalFailure> {
        let (n, nt) = (self.full.rows(), slope.len());
        for (slope, i) in slope.iter_mut().zip(n - nt..) {
            *slope = self.slope[i] + dot(self.full.col(i), &self.y);
        }
        for j in 0..nt {
            let column = n - nt + j;
            for b in 0..self.basis.cols() {
                self.grad[b] = self.scale[b] * dot(self.basis.col(b), self.full.col(column));
            }
            self.minimise(how)?;
            self.y.fill(0.0);
            for b in 0..self.basis.cols() {
                axpy(self.w[b] * self.scale[b], self.basis.col(b), &mut self.y);
            }
            for i in 0..nt {
                let other = n - nt + i;
                hess[(i, j)] = self.full[(other, column)] + dot(self.full.col(other), &self.y);
            }
        }
        Ok(())
    }

    /// The basis of y's directions that the equations allow, and the scaled Hessian on it (for the posterior).
    pub(super) fn reduced(&self) -> (&Mat, &Mat, &[f64]) {
        (&self.basis, &self.hess, &self.scale)
    }
}
