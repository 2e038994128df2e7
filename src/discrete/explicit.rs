//! The estimator of \[5\] as it stands there: Levenberg and Marquardt's method on states and parameters at once, with inverse dynamics.
//!
//! For those who compare with the paper (Algorithm 1). The normal equations are block-tridiagonal with an arrow of parameters
//! ([`crate::linear::arrow`]); bounds on the parameters are met by a small quadratic program on what is left of them. The gain ratio is
//! (F - F') / (delta'(alpha delta - g)): as printed there it has the other sign, by which no step would ever be taken.

use nalgebra::{DMatrix, DVector};

use super::mechanism::{move_pose, pose_difference, three};
use super::problem::{DiscreteProblem, DiscreteSpace, SoughtParameter};
use crate::estimate::active_set::ActiveSet;
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, Point, Trajectory};
use crate::linear::arrow::ArrowCholesky;
use crate::linear::dense::{Mat, add_product_lower, axpy, dot, norm, partial_cholesky};
use crate::linear::rigid_motion::left_jacobian3_inverse;

/// Largest damping.
const DAMPING_MAX: f64 = 4_294_967_296.0;

/// Share of the cost that may still be promised where the iteration ends: below what rounding leaves of differences of costs.
const SETTLED: f64 = 1e-9;

/// Share of the cost below which rounding decides whether a step gains anything.
const UNSEEN: f64 = 1e-14;

/// Settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevenbergMarquardt {
    /// Most iterations.
    pub iterations: usize,
    /// The iteration ends where the gradient of the cost is below this, epsilon_g ...
    pub gradient: f64,
    /// ... or the step, epsilon_delta.
    pub step: f64,
    /// First damping over the largest entry of the normal equations' diagonal.
    pub damping: f64,
}

impl Default for LevenbergMarquardt {
    fn default() -> Self {
        Self { iterations: 20, gradient: 10.0, step: 1e-6, damping: 1e-6 }
    }
}

/// One iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExplicitIteration {
    /// Cost kappa |p|^2 + |y|^2 before the step.
    pub cost: f64,
    /// Norm of its half gradient.
    pub gradient: f64,
    /// Length of the step.
    pub step: f64,
    /// Damping alpha with which it was taken.
    pub damping: f64,
    /// Change of the cost that the model promised.
    pub promised: f64,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct ExplicitOutcome {
    /// States and parameters.
    pub trajectory: Trajectory,
    /// Cost kappa |p|^2 + |y|^2 there.
    pub cost: f64,
    /// Whether a tolerance was met.
    pub converged: bool,
    /// Share of the cost that one more step, without damping, promises to gain: tolerances such as \[5\]'s may end the iteration far from the minimum.
    pub promised: f64,
    /// One entry an iteration.
    pub record: Vec<ExplicitIteration>,
    /// The normal equations of the parameters, states eliminated, without damping (lower triangle), at the last trajectory.
    pub information: Mat,
}

/// The normal equations of one iteration, entry by entry, for a sparse solver that is not this crate's.
#[derive(Debug, Clone, PartialEq)]
pub struct NormalEquations {
    /// How many unknowns: tangents of the states one after the other, then the parameters in their units of scale.
    pub size: usize,
    /// Row, column and value of entries of the lower triangle. Those of one place add up.
    pub entries: Vec<(usize, usize, f64)>,
    /// The right-hand side: minus half the gradient of kappa |p|^2 + |y|^2.
    pub right: Vec<f64>,
}

/// The normal equations at a trajectory, with this much damping on their diagonal.
///
/// # Errors
/// [`EstimateError::Stage`] where a stage cannot be evaluated.
pub fn normal_equations(
    problem: &DiscreteProblem,
    at: &Trajectory,
    damping: f64,
) -> Result<NormalEquations, EstimateError> {
    let mut pass = Pass::new(problem);
    let (b, nt) = (pass.start(), problem.unknowns.len());
    let size = b * at.xs.len() + nt;
    let (mut entries, mut right) = (vec![], vec![0.0; size]);
    for k in 0..at.xs.len() {
        pass.front(at, k)?;
        let n = pass.front.rows();
        let place = |i: usize| if i < n - nt { k * b + i } else { size - n + i };
        for j in 0..n {
            right[place(j)] += pass.right[j];
            entries.extend((j..n).map(|i| (place(i), place(j), pass.front[(i, j)])));
        }
    }
    entries.extend((0..size).map(|i| (i, i, damping)));
    Ok(NormalEquations { size, entries, right })
}

/// One step of the iteration, without judging it: states, then parameters. Nothing where the equations are not positive definite.
///
/// # Errors
/// [`EstimateError::Stage`] where a stage cannot be evaluated.
pub fn explicit_step(
    problem: &DiscreteProblem,
    at: &Trajectory,
    damping: f64,
) -> Result<Option<Vec<Vec<f64>>>, EstimateError> {
    let mut pass = Pass::new(problem);
    Ok(if pass.linearise(at, damping)? { pass.step(&at.theta, damping) } else { None })
}

/// Scratch space and the present linearisation.
struct Pass<'a> {
    problem: &'a DiscreteProblem,
    space: DiscreteSpace,
    arrow: ArrowCholesky,
    front: Mat,
    block: Mat,
    right: Vec<f64>,
    /// Half gradient: states, then parameters.
    gradient: Vec<Vec<f64>>,
    largest: f64,
}

/// Minimises from `guess`.
///
/// # Errors
/// [`EstimateError::Stage`] where a stage cannot be evaluated, [`EstimateError::NotConvex`] where no damping helps.
pub fn levenberg_marquardt(
    problem: &DiscreteProblem,
    guess: &Trajectory,
    options: LevenbergMarquardt,
) -> Result<ExplicitOutcome, EstimateError> {
    let mut pass = Pass::new(problem);
    let mut now = guess.clone();
    let mut cost = pass.cost(&now)?;
    let mut alpha = 0.0;
    let (mut record, mut converged) = (vec![], false);
    for iteration in 0..options.iterations {
        let mut growth: f64 = 2.0;
        if iteration == 0 {
            // Only for the diagonal.
            pass.linearise(&now, DAMPING_MAX)?;
            alpha = pass.largest * options.damping;
        }
        let (step, (ratio, promised), trial, trial_cost) = loop {
            let factored = pass.linearise(&now, alpha)?;
            let step = if factored { pass.step(&now.theta, alpha) } else { None };
            if let Some(step) = step {
                let trial = pass.moved(&now, &step);
                let trial_cost = pass.cost(&trial).unwrap_or(f64::INFINITY);
                let promised = pass.promised(&step, alpha);
                let ratio = (cost - trial_cost) / promised;
                // At the minimum rounding decides the sign.
                if ratio > 0.0 || promised <= UNSEEN * cost {
                    break (step, (ratio, promised), trial, trial_cost.min(cost));
                }
            }
            if alpha >= DAMPING_MAX {
                return Err(EstimateError::NotConvex { stage: 0 });
            }
            alpha = (alpha.max(1e-12) * growth).min(DAMPING_MAX);
            growth = (2.0 * growth).min(DAMPING_MAX);
        };
        let gradient = pass.gradient.iter().map(|g| dot(g, g)).sum::<f64>().sqrt();
        let length = step.iter().map(|s| dot(s, s)).sum::<f64>().sqrt();
        record.push(ExplicitIteration { cost, gradient, step: length, damping: alpha, promised });
        converged = gradient <= options.gradient || length <= options.step;
        // A step that is short because it was damped says nothing of the minimum.
        if converged && alpha > 0.0 && gradient > options.gradient {
            converged = pass.settled(&trial, trial_cost)?;
        }
        (now, cost) = (trial, trial_cost);
        alpha = if promised <= UNSEEN * cost {
            // No cost can judge damping here; without it the step is that of the minimum.
            0.0
        } else {
            alpha * (1.0 - (2.0 * ratio.clamp(0.0, 1.0) - 1.0).powi(3)).max(1.0 / 3.0)
        };
        if converged {
            break;
        }
    }
    if !pass.linearise(&now, 0.0)? {
        return Err(EstimateError::NotConvex { stage: 0 });
    }
    let rest = pass.step(&now.theta, 0.0).map_or(f64::INFINITY, |step| pass.promised(&step, 0.0));
    let promised = rest / cost.max(f64::MIN_POSITIVE);
    let information = pass.arrow.remainder().0.clone();
    Ok(ExplicitOutcome { trajectory: now, cost, converged, promised, record, information })
}

impl<'a> Pass<'a> {
    fn new(problem: &'a DiscreteProblem) -> Self {
        Self {
            problem,
            space: problem.workspace(),
            arrow: ArrowCholesky::default(),
            front: Mat::zeros(0, 0),
            block: Mat::zeros(0, 0),
            right: vec![],
            gradient: vec![],
            largest: 0.0,
        }
    }

    /// sigma^2: the problem's weights times this are those of the paper.
    fn unit(&self) -> f64 {
        self.problem.weights.angle_rad.powi(2)
    }

    /// Velocities between states k and k + 1: those after the step, and those of the configuration's change.
    fn velocities(&self, at: &Trajectory, k: usize) -> [Vec<f64>; 2] {
        let (poses, nv) = (self.problem.mechanism.pose_numbers(), self.problem.equations.nv);
        let mut d = vec![0.0; nv];
        pose_difference(&at.xs[k + 1][..poses], &at.xs[k][..poses], &mut d);
        d.iter_mut().for_each(|d| *d /= self.problem.equations.h);
        [at.xs[k + 1][poses..].to_vec(), d]
    }

    fn cost(&mut self, at: &Trajectory) -> Result<f64, EstimateError> {
        let (problem, unit) = (self.problem, self.unit());
        let poses = problem.mechanism.pose_numbers();
        let mut cost = 0.0;
        for (i, u) in problem.unknowns.iter().enumerate() {
            cost += unit * prior(u, at.theta[i]).map_or(0.0, |(r, weight)| weight * r * r);
        }
        for k in 0..at.xs.len() {
            let point = Point { x: &at.xs[k], u: &[], theta: &at.theta };
            problem.place(point, &mut self.space);
            problem.state_residuals(k, point, &mut self.space, |r, weight, _| cost += unit * weight * r * r);
            if k < problem.last() {
                let w = self.velocities(at, k);
                problem
                    .invert(k, &at.xs[k][poses..], [&w[0], &w[1]], &mut self.space, false)
                    .map_err(|reason| EstimateError::Stage { stage: k, reason })?;
                cost += problem.weights.kappa
                    * self.space.inverse.iter().map(super::inverse::Inverse::squares).sum::<f64>();
            }
        }
        Ok(cost)
    }

    /// Linearises at a trajectory and factors with this damping; false where that fails.
    fn linearise(&mut self, at: &Trajectory, alpha: f64) -> Result<bool, EstimateError> {
        let b = self.start();
        for k in 0..at.xs.len() {
            self.front(at, k)?;
            if !self.arrow.push(&mut self.front, &mut self.right, b, alpha) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Forgets all fronts; the size of a state.
    fn start(&mut self) -> usize {
        let (b, nt) = (2 * self.problem.equations.nv, self.problem.unknowns.len());
        let last = self.problem.last();
        self.arrow.start(b, nt);
        self.gradient.clear();
        self.gradient.resize(last + 2, vec![]);
        for (k, g) in self.gradient.iter_mut().enumerate() {
            g.resize(if k <= last { b } else { nt }, 0.0);
        }
        self.largest = 0.0;
        b
    }

    /// What couples state `k` with the next one and the parameters: `front` (lower triangle) and `right`, minus the half gradient.
    fn front(&mut self, at: &Trajectory, k: usize) -> Result<(), EstimateError> {
        let (problem, unit) = (self.problem, self.unit());
        let (nv, nt) = (problem.equations.nv, problem.unknowns.len());
        let (b, poses, last) = (2 * nv, problem.mechanism.pose_numbers(), problem.last());
        let n = b + nt + if k < last { b } else { 0 };
        self.front.reset(n, n);
        self.right.clear();
        self.right.resize(n, 0.0);
        let point = Point { x: &at.xs[k], u: &[], theta: &at.theta };
        problem.place(point, &mut self.space);
        let (front, right) = (&mut self.front, &mut self.right);
        problem.state_residuals(k, point, &mut self.space, |r, weight, slopes| {
            axpy(unit * weight * r, slopes, right);
            for (j, &s) in slopes.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                axpy(unit * weight * s, &slopes[j..], &mut front.col_mut(j)[j..]);
            }
        });
        if k == 0 {
            for (i, u) in problem.unknowns.iter().enumerate() {
                if let Some((r, weight)) = prior(u, at.theta[i]) {
                    self.front[(n - nt + i, n - nt + i)] += unit * weight;
                    self.right[n - nt + i] += unit * weight * r;
                }
            }
        }
        if k < last {
            let w = self.velocities(at, k);
            problem
                .invert(k, &at.xs[k][poses..], [&w[0], &w[1]], &mut self.space, true)
                .map_err(|reason| EstimateError::Stage { stage: k, reason })?;
            self.add_impulses(&w[1]);
        }
        self.note_gradient(k, n);
        self.right.iter_mut().for_each(|g| *g = -*g);
        Ok(())
    }

    /// Adds up the gradient and the largest diagonal entry of this front.
    fn note_gradient(&mut self, k: usize, n: usize) {
        let (b, nt) = (2 * self.problem.equations.nv, self.problem.unknowns.len());
        axpy(1.0, &self.right[..b], &mut self.gradient[k]);
        if n > b + nt {
            axpy(1.0, &self.right[b..2 * b], &mut self.gradient[k + 1]);
        }
        let last = self.gradient.len() - 1;
        axpy(1.0, &self.right[n - nt..], &mut self.gradient[last]);
        self.largest = (0..n).fold(self.largest, |m, i| m.max(self.front[(i, i)]));
    }

    /// OutsideImpulses of both kinds on (q, v, q+, v+, theta); `w` moves the configuration.
    fn add_impulses(&mut self, w: &[f64]) {
        let (nv, h) = (self.problem.equations.nv, self.problem.equations.h);
        let (n, nt) = (self.front.rows(), self.problem.unknowns.len());
        let kappa = self.problem.weights.kappa;
        for (i, inverse) in self.space.inverse.iter().enumerate() {
            let (p, dp, width) = inverse.result();
            self.block.reset(n, nv);
            for r in 0..nv {
                let (from, to) = (&dp[r * width..(r + 1) * width], self.block.col_mut(r));
                to[..2 * nv].copy_from_slice(&from[nv..3 * nv]);
                to[n - nt..].copy_from_slice(&from[3 * nv..]);
                if i == 0 {
                    to[3 * nv..4 * nv].copy_from_slice(&from[..nv]);
                    continue;
                }
                for body in 0..nv / 6 {
                    let (o, psi) = (6 * body, three(w, 6 * body + 3) * h);
                    for c in 0..3 {
                        to[2 * nv + o + c] += from[o + c] / h;
                        to[o + c] -= from[o + c] / h;
                    }
                    let (by, of) = (left_jacobian3_inverse(&psi), left_jacobian3_inverse(&-psi));
                    let turn = three(from, o + 3);
                    for c in 0..3 {
                        to[2 * nv + o + 3 + c] += by.column(c).dot(&turn) / h;
                        to[o + 3 + c] -= of.column(c).dot(&turn) / h;
                    }
                }
            }
            for (r, p) in p.iter().enumerate() {
                axpy(kappa * p, self.block.col(r), &mut self.right);
            }
            add_product_lower(&mut self.front, kappa, self.block.below(0), self.block.below(0));
        }
    }

    /// The step: states, then parameters within their bounds. Nothing where the parameters' equations are not positive definite.
    fn step(&self, theta: &[f64], alpha: f64) -> Option<Vec<Vec<f64>>> {
        let nt = self.problem.unknowns.len();
        let (schur, right) = self.arrow.remainder();
        let (_, equalities, inequalities) = self.problem.parameters();
        let mut bounds = crate::estimate::ParameterModel::new(nt, equalities, inequalities);
        self.problem.constrain_parameters(theta, &mut bounds);
        // In the changes that are free.
        let free = self.problem.free_changes();
        let n = free.ncols();
        let whole = symmetric(schur) + DMatrix::identity(nt, nt) * alpha;
        let mut factor = dense(&(free.transpose() * whole * &free));
        if !partial_cholesky(&mut factor, n) {
            return None;
        }
        let rows = DMatrix::from_fn(nt, inequalities, |i, j| bounds.inequalities[(i, j)]);
        let slope = free.transpose() * DVector::from_fn(nt, |i, _| -right[i]);
        let mut program = ActiveSet::new(n, inequalities);
        let rows = dense(&(free.transpose() * rows));
        program.solve(&factor, slope.as_slice(), &rows, &bounds.inequality_values).ok()?;
        let change = free * DVector::from_column_slice(&program.w);
        let mut out = vec![vec![]; self.gradient.len()];
        self.arrow.solve(change.as_slice(), |k, x| out[k] = x.to_vec());
        *out.last_mut()? = change.as_slice().to_vec();
        Some(out)
    }

    /// Whether the step without damping promises nothing more of `cost`.
    fn settled(&mut self, at: &Trajectory, cost: f64) -> Result<bool, EstimateError> {
        let step = if self.linearise(at, 0.0)? { self.step(&at.theta, 0.0) } else { None };
        Ok(step.is_some_and(|step| self.promised(&step, 0.0) <= SETTLED * cost))
    }

    /// delta'(alpha delta - g), which is what the model promises where no bound binds.
    fn promised(&self, step: &[Vec<f64>], alpha: f64) -> f64 {
        step.iter().zip(&self.gradient).map(|(s, g)| alpha * dot(s, s) - dot(s, g)).sum()
    }

    fn moved(&self, now: &Trajectory, step: &[Vec<f64>]) -> Trajectory {
        let mut out = now.clone();
        let (poses, nv) = (self.problem.mechanism.pose_numbers(), self.problem.equations.nv);
        for (x, (from, d)) in out.xs.iter_mut().zip(now.xs.iter().zip(step)) {
            move_pose(&from[..poses], &d[..nv], &mut x[..poses]);
            axpy(1.0, &d[nv..], &mut x[poses..]);
        }
        if let Some(d) = step.last() {
            axpy(1.0, d, &mut out.theta);
        }
        debug_assert!(norm(&out.theta).is_finite());
        out
    }
}

/// The whole of a symmetric matrix of which the lower triangle is there.
pub(super) fn symmetric(lower: &Mat) -> DMatrix<f64> {
    DMatrix::from_fn(lower.rows(), lower.rows(), |i, j| lower[(i.max(j), i.min(j))])
}

fn dense(m: &DMatrix<f64>) -> Mat {
    let mut out = Mat::zeros(m.nrows(), m.ncols());
    for (j, column) in m.column_iter().enumerate() {
        out.col_mut(j).iter_mut().zip(&column).for_each(|(out, x)| *out = *x);
    }
    out
}

/// Residual and weight of a parameter's prior.
fn prior(unknown: &SoughtParameter, theta: f64) -> Option<(f64, f64)> {
    let [mean, deviation] = unknown.prior?;
    Some((theta - mean / unknown.scale, (unknown.scale / deviation).powi(2)))
}
