//! One stage, linearised: what a problem hands to the recursion.
//!
//! For those who write a problem. The variables of a stage are kept in the order (u, x, theta), u the input, x the
//! tangent of the state; `n` is their number together. Jacobians are stored by rows: "row i" of the dynamics is the
//! gradient of the i-th component of f (-) x', contiguous, which is how derivatives of dynamics come out anyway.

use crate::linear::dense::{Mat, all_finite, axpy, dot};

/// Sizes of one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageSize {
    /// Numbers that hold the state.
    pub state: usize,
    /// Tangent dimension of the state, ndx.
    pub tangent: usize,
    /// Input dimension, nu.
    pub input: usize,
    /// Number of equality constraints, nh.
    pub constraints: usize,
}

/// The quadratic model of one stage around the present guess.
///
/// Cost l + grad'd + d'hess d / 2, dynamics dx' = jac d + gap with gap = f (-) x', constraints con d + value = 0,
/// for d = (du, dx, dtheta).
#[derive(Debug, Clone)]
pub struct StageModel {
    /// Input dimension.
    pub nu: usize,
    /// Tangent dimension of the state.
    pub nx: usize,
    /// Number of parameters.
    pub nt: usize,
    /// Cost at the guess.
    pub cost: f64,
    /// Gradient of the cost, n.
    pub grad: Vec<f64>,
    /// Hessian of the cost (Gauss-Newton or exact, positive semidefinite), n x n; the lower triangle is read.
    pub hess: Mat,
    /// Column i holds the gradient of component i of the dynamics; n x ndx'.
    pub jac: Mat,
    /// f (-) x', ndx'. Filled by the solver.
    pub gap: Vec<f64>,
    /// Column i holds the gradient of constraint i; n x nh.
    pub con: Mat,
    /// The constraints at the guess, nh.
    pub con_value: Vec<f64>,
    /// How the input follows from z, where the problem has eliminated the constraints itself.
    pub substitution: Substitution,
}

impl StageModel {
    /// A model of zeros for a stage of `size`, followed by a state of tangent dimension `next` (0 at the end), with
    /// `nt` parameters.
    pub fn new(size: StageSize, next: usize, nt: usize) -> Self {
        let n = size.input + size.tangent + nt;
        Self {
            nu: size.input,
            nx: size.tangent,
            nt,
            cost: 0.0,
            grad: vec![0.0; n],
            hess: Mat::zeros(n, n),
            jac: Mat::zeros(n, next),
            gap: vec![0.0; next],
            con: Mat::zeros(n, size.constraints),
            con_value: vec![0.0; size.constraints],
            substitution: Substitution::default(),
        }
    }

    /// Zeroes everything, in the shape it was built with.
    pub fn clear(&mut self, size: StageSize, next: usize) {
        let n = size.input + size.tangent + self.nt;
        self.nu = size.input;
        self.cost = 0.0;
        self.grad.clear();
        self.grad.resize(n, 0.0);
        self.hess.reset(n, n);
        self.jac.reset(n, next);
        self.gap.fill(0.0);
        self.con.reset(n, size.constraints);
        self.con_value.clear();
        self.con_value.resize(size.constraints, 0.0);
        self.substitution.active = false;
    }

    /// From here on the model's input is z, of dimension `nz`, by a substitution du = rows (z, dx, dtheta) + shift that
    /// fulfils the constraints by itself; to be called on a model of zeros, which keeps its dynamics' width. The problem
    /// fills `rows` and `shift`, and `drift`, the change of f by `shift`.
    pub fn substitute(&mut self, nz: usize) {
        let (inputs, next) = (self.nu, self.jac.cols());
        self.nu = nz;
        let n = self.n();
        let s = &mut self.substitution;
        s.active = true;
        s.constant = 0.0;
        s.slope = 0.0;
        s.rows.reset(n, inputs);
        for (vector, length) in [(&mut s.shift, inputs), (&mut s.drift, next), (&mut s.bend, n)] {
            vector.clear();
            vector.resize(length, 0.0);
        }
        self.grad.clear();
        self.grad.resize(n, 0.0);
        self.hess.reset(n, n);
        self.jac.reset(n, next);
        self.con.reset(n, 0);
        self.con_value.clear();
    }

    /// [`StageModel::add_residual`] for a residual that the substitution's shift changes by `moved`.
    pub fn add_moved_residual(&mut self, r: f64, moved: f64, gradient: &[f64], weight: f64) {
        self.add_residual(r, gradient, weight);
        let s = &mut self.substitution;
        if !s.active {
            return;
        }
        axpy(weight * moved, gradient, &mut s.bend);
        s.slope += weight * r * moved;
        s.constant += weight * moved * (r + 0.5 * moved);
    }

    /// The dynamics in another tangent space of the next state: its Jacobian becomes T times what it was, where column i
    /// of `by_rows` holds row i of T.
    pub(super) fn transport(&mut self, by_rows: &Mat, space: &mut Mat) {
        let (n, next, s) = (self.n(), self.jac.cols(), &mut self.substitution);
        space.reset(n, next);
        for i in 0..next {
            // Most of T is zero.
            for (j, &factor) in by_rows.col(i).iter().enumerate().filter(|(_, t)| **t != 0.0) {
                axpy(factor, self.jac.col(j), space.col_mut(i));
            }
        }
        std::mem::swap(&mut self.jac, space);
        if s.active {
            space.reset(next, 1);
            space.col_mut(0).copy_from_slice(&s.drift);
            for (i, drift) in s.drift.iter_mut().enumerate() {
                *drift = dot(by_rows.col(i), space.col(0));
            }
        }
    }

    /// Number of variables.
    pub fn n(&self) -> usize {
        self.nu + self.nx + self.nt
    }

    /// Adds the cost w r^2 / 2 of one residual with its gradient (n): w grad grad' to the Hessian.
    pub fn add_residual(&mut self, r: f64, gradient: &[f64], weight: f64) {
        self.cost += 0.5 * weight * r * r;
        axpy(weight * r, gradient, &mut self.grad);
        for (j, &g) in gradient.iter().enumerate() {
            if g != 0.0 {
                axpy(weight * g, &gradient[j..], &mut self.hess.col_mut(j)[j..]);
            }
        }
    }

    /// Adds the cost w r^2 / 2 of a residual that is variable `index` plus a constant: its gradient is one there.
    pub fn add_direct(&mut self, r: f64, index: usize, weight: f64) {
        self.cost += 0.5 * weight * r * r;
        self.grad[index] += weight * r;
        self.hess[(index, index)] += weight;
    }

    /// What does not have the shape that a stage of `size`, followed by a state of tangent dimension `next`, must have: its
    /// name, the number found and the number expected.
    pub fn misshapen(&self, size: StageSize, next: usize) -> Option<(&'static str, usize, usize)> {
        let s = &self.substitution;
        let (input, constraints) = if s.active { (self.nu, 0) } else { (size.input, size.constraints) };
        let n = input + size.tangent + self.nt;
        if s.active {
            let wrong = [
                ("rows of the substitution", s.rows.rows(), n),
                ("columns of the substitution", s.rows.cols(), size.input),
                ("numbers of the substitution's shift", s.shift.len(), size.input),
                ("numbers of the substitution's drift", s.drift.len(), next),
                ("numbers of the substitution's bend", s.bend.len(), n),
            ]
            .into_iter()
            .find(|(_, found, expected)| found != expected);
            if wrong.is_some() {
                return wrong;
            }
        }
        [
            ("numbers of the gradient", self.grad.len(), n),
            ("rows of the Hessian", self.hess.rows(), n),
            ("columns of the Hessian", self.hess.cols(), n),
            ("rows of the dynamics' Jacobian", self.jac.rows(), n),
            ("columns of the dynamics' Jacobian", self.jac.cols(), next),
            ("rows of the constraints' Jacobian", self.con.rows(), n),
            ("columns of the constraints' Jacobian", self.con.cols(), constraints),
            ("values of the constraints", self.con_value.len(), constraints),
        ]
        .into_iter()
        .find(|(_, found, expected)| found != expected)
    }

    /// Whether everything is finite.
    pub fn is_finite(&self) -> bool {
        self.cost.is_finite()
            && [&self.grad, &self.gap, &self.con_value].iter().all(|v| all_finite(v))
            && [&self.hess, &self.jac, &self.con].iter().all(|m| m.is_finite())
            && self.substitution.is_finite()
    }
}

/// A change of variables by which a problem eliminates the constraints of a stage itself, where it knows a cheaper way than
/// the nullspace method, which knows nothing of the problem: du = rows (z, dx, dtheta) + shift for all z.
#[derive(Debug, Clone)]
pub struct Substitution {
    /// Whether there is one.
    pub active: bool,
    /// Column i holds the gradient of input i with respect to (z, x, theta).
    pub rows: Mat,
    /// The inputs at z = dx = dtheta = 0, by which the constraints are fulfilled.
    pub shift: Vec<f64>,
    /// Change of the dynamics by `shift`, ndx'.
    pub drift: Vec<f64>,
    /// Change of the gradient of the cost by `shift`, to (z, x, theta); see [`StageModel::add_moved_residual`].
    pub(super) bend: Vec<f64>,
    /// Change of the cost by `shift`, and its part that is linear.
    pub(super) constant: f64,
    pub(crate) slope: f64,
}

impl Default for Substitution {
    fn default() -> Self {
        Self {
            active: false,
            rows: Mat::zeros(0, 0),
            shift: Vec::new(),
            drift: Vec::new(),
            bend: Vec::new(),
            constant: 0.0,
            slope: 0.0,
        }
    }
}

impl Substitution {
    fn is_finite(&self) -> bool {
        !self.active
            || (self.constant.is_finite()
                && [&self.shift, &self.drift, &self.bend].iter().all(|v| all_finite(v))
                && self.rows.is_finite())
    }
}
