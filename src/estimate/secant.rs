//! What the Gauss-Newton Hessian leaves out, learnt from one step to the next.
//!
//! The Hessians of the stages are those of Gauss and Newton: products of first derivatives. What they leave out is
//! residuals times second derivatives, of the coordinates (a mass is an exponential) and of the dynamics (noise in a regressor), and
//! where that outweighs them, whole steps overshoot from one side of the minimum to the other. The gradient v of the value
//! function at the arrival node says how much: over a step s of the first state and the parameters
//!
//! ```text
//! v_new - v_old = (V + S) s    by the secant equation,   so   S s = z = v_new - v_old - V s
//! ```
//!
//! S is kept symmetric by the update of Dennis, Gay and Welsch ("An adaptive nonlinear least-squares algorithm", 1981,
//! eq. 3.13 there, as NL2SOL does it), which does not depend on units, and is shrunk before each update where it promises more than
//! the last step has shown (their sizing), so that it fades where residuals do. [`super::arrival`] uses it only as far as the
//! sum stays positive definite.

use super::riccati::Value;
use crate::linear::dense::{Mat, axpy, dot};

/// Curvature along a step, relative to Gauss and Newton's, below which nothing is learnt from it.
const FLAT: f64 = 1e-3;

/// S, and the step that it learns from next.
#[derive(Debug, Clone)]
pub(super) struct Secant {
    /// S, both triangles.
    pub matrix: Mat,
    /// Whether S is not zero.
    pub active: bool,
    /// Whether a step has been taken since the last update.
    pending: bool,
    step: Vec<f64>,
    /// v at the beginning of the step.
    before: Vec<f64>,
    /// v_new - v_old.
    change: Vec<f64>,
    /// z - S s.
    miss: Vec<f64>,
}

impl Secant {
    /// Nothing learnt yet, for `n` unknowns of the arrival node.
    pub fn new(n: usize) -> Self {
        Self {
            matrix: Mat::zeros(n, n),
            active: false,
            pending: false,
            step: vec![0.0; n],
            before: vec![0.0; n],
            change: vec![0.0; n],
            miss: vec![0.0; n],
        }
    }

    /// Back to nothing.
    pub fn forget(&mut self) {
        (self.active, self.pending) = (false, false);
        let n = self.step.len();
        self.matrix.reset(n, n);
    }

    /// A step of `length` times `y` is taken from where the value function's gradient is `before`.
    pub fn took(&mut self, before: &[f64], y: &[f64], length: f64) {
        self.before.copy_from_slice(before);
        self.step.iter_mut().zip(y).for_each(|(s, y)| *s = length * y);
        self.pending = true;
    }

    /// S, unless it is zero.
    pub fn learnt(&self) -> Option<&Mat> {
        self.active.then_some(&self.matrix)
    }

    /// Learns from the last step, now that the value function behind it is known.
    pub fn learn(&mut self, value: &Value) {
        if !std::mem::take(&mut self.pending) {
            return;
        }
        let (n, s) = (self.step.len(), &self.step);
        for i in 0..n {
            self.change[i] = value.grad[i] - self.before[i];
        }
        // z, with V by its lower triangle.
        self.miss.copy_from_slice(&self.change);
        for j in 0..n {
            let column = &value.hess.col(j)[j..];
            self.miss[j] -= dot(column, &s[j..]);
            axpy(-s[j], &column[1..], &mut self.miss[j + 1..]);
        }
        let (curvature, shown) = (dot(s, &self.change), dot(s, &self.miss));
        if !(curvature > FLAT * (curvature - shown) && curvature.is_finite()) {
            return;
        }
        if self.active {
            let promised: f64 = (0..n).map(|j| s[j] * dot(self.matrix.col(j), s)).sum();
            let size = if promised == 0.0 { 1.0 } else { (shown / promised).abs().min(1.0) };
            for j in 0..n {
                self.matrix.col_mut(j).iter_mut().for_each(|x| *x *= size);
            }
            for j in 0..n {
                axpy(-s[j], self.matrix.col(j), &mut self.miss);
            }
        }
        let along = dot(s, &self.miss) / curvature;
        for j in 0..n {
            let (w, v) = (self.miss[j] / curvature, self.change[j] / curvature);
            axpy(v, &self.miss, self.matrix.col_mut(j));
            axpy(w - along * v, &self.change, self.matrix.col_mut(j));
        }
        self.active = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a quadratic function with a wrong Hessian, as many steps as there are unknowns teach the rest.
    #[test]
    fn what_is_left_out_is_learnt() {
        let (given, rest) = ([[4.0, 1.0], [1.0, 3.0]], [[6.0, -1.0], [-1.0, 0.5]]);
        let gradient = |x: &[f64; 2]| -> Vec<f64> {
            (0..2).map(|i| (0..2).map(|j| (given[i][j] + rest[i][j]) * x[j]).sum()).collect()
        };
        let mut secant = Secant::new(2);
        let mut value = Value { hess: Mat::zeros(2, 2), grad: vec![0.0; 2], constant: 0.0 };
        for j in 0..2 {
            for i in j..2 {
                value.hess[(i, j)] = given[i][j];
            }
        }
        let mut x = [1.0, -2.0];
        for (length, step) in [(0.5, [1.0, 0.3]), (1.0, [-0.2, 0.9])] {
            secant.took(&gradient(&x), &step, length);
            x = [x[0] + length * step[0], x[1] + length * step[1]];
            value.grad = gradient(&x);
            secant.learn(&value);
            // The secant equation, whatever was learnt before.
            for i in 0..2 {
                let learnt: f64 = (0..2).map(|j| secant.matrix[(i, j)] * length * step[j]).sum();
                let true_one: f64 = (0..2).map(|j| rest[i][j] * length * step[j]).sum();
                assert!((learnt - true_one).abs() < 1e-12, "{learnt} {true_one}");
                assert!((secant.matrix[(0, 1)] - secant.matrix[(1, 0)]).abs() < 1e-12);
            }
        }
        secant.forget();
        assert!(!secant.active && secant.matrix[(0, 0)] == 0.0);
    }
}
