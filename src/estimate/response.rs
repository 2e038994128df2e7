//! How the slope of the marginal likelihood answers to the parameters, learnt from one step of scoring to the next.
//!
//! With the trajectory integrated out, the slope g of the parameters is that of the cost with the trajectory fitted, plus the
//! volume's. What is known of its Jacobian is F, the information on the parameters (Fisher's); its own differs by what the
//! volume's slope answers to the parameters and to the trajectory that goes with them, by which it is not symmetric: along
//! some directions more than twice F, so that plain scoring (steps -F^-1 g) runs away from the solution. The rest S is learnt
//! by Broyden's method ("A class of methods for solving nonlinear simultaneous equations", 1965), over a step s:
//!
//! ```text
//! (F + S) s = g_new - g_old    by the secant equation,   S += (g_new - g_old - F s - S s) s'F / s'F s
//! ```
//!
//! the least change in the metric of F, so that nothing depends on units. S relative to F hardly depends on how long the log is,
//! so what a part of it has taught serves the whole ([`Relative`]).

use crate::linear::dense::{Mat, axpy, dot, partial_cholesky, solve_lower};
use crate::linear::gauss::Elimination;
use crate::linear::orthogonal::Orthogonal;

/// What remains of a binding constraint's gradient below this is rounding.
const RANK: f64 = 1e-10;

/// L^-1 S L^-T with F = L L'.
#[derive(Debug, Clone)]
pub(super) struct Relative(Mat);

/// S, and where the slope was looked at last.
#[derive(Debug, Clone)]
pub(super) struct Response {
    /// S; not symmetric.
    pub matrix: Mat,
    /// F at the present parameters, both triangles.
    pub information: Mat,
    /// g at the present parameters.
    pub slope: Vec<f64>,
    /// Whether a slope has been looked at before.
    seen: bool,
    theta: Vec<f64>,
    before: Vec<f64>,
    /// F s.
    plain: Vec<f64>,
    step: Vec<f64>,
    miss: Vec<f64>,
    /// S as another problem has taught it, until F is known.
    inherited: Option<Relative>,
    qr: Orthogonal,
    product: Vec<f64>,
    reduced: Vec<f64>,
    elimination: Elimination,
}

impl Response {
    /// Nothing learnt yet of `nt` parameters.
    pub fn new(nt: usize) -> Self {
        let zeros = || vec![0.0; nt];
        let mut new = Self {
            matrix: Mat::zeros(nt, nt),
            information: Mat::zeros(nt, nt),
            slope: zeros(),
            seen: false,
            theta: zeros(),
            before: zeros(),
            plain: zeros(),
            step: zeros(),
            miss: zeros(),
            inherited: None,
            qr: Orthogonal::default(),
            product: zeros(),
            reduced: zeros(),
            elimination: Elimination::default(),
        };
        // What a step needs is allocated by one that does nothing.
        (0..nt).for_each(|i| new.information[(i, i)] = 1.0);
        new.turn(&zeros(), &Mat::zeros(nt, 0), &mut zeros());
        new
    }

    /// Back to what another problem has taught, or to nothing.
    pub fn start(&mut self, inherited: Option<Relative>) {
        let nt = self.theta.len();
        self.matrix.reset(nt, nt);
        self.seen = false;
        self.inherited = inherited;
    }

    /// Learns from the slope and the information at `theta`, which are in place.
    pub fn learn(&mut self, theta: &[f64]) {
        let nt = theta.len();
        if let Some(Relative(inherited)) = self.inherited.take() {
            self.rescale(&inherited);
        }
        if self.seen {
            for i in 0..nt {
                self.step[i] = theta[i] - self.theta[i];
                self.miss[i] = self.slope[i] - self.before[i];
            }
            self.plain.fill(0.0);
            for j in 0..nt {
                axpy(self.step[j], self.information.col(j), &mut self.plain);
                axpy(-self.step[j], self.matrix.col(j), &mut self.miss);
            }
            axpy(-1.0, &self.plain, &mut self.miss);
            let length = dot(&self.step, &self.plain);
            if length > 0.0 && self.miss.iter().all(|m| m.is_finite()) {
                for j in 0..nt {
                    axpy(self.plain[j] / length, &self.miss, self.matrix.col_mut(j));
                }
            }
        }
        self.seen = true;
        self.theta.copy_from_slice(theta);
        self.before.copy_from_slice(&self.slope);
    }

    /// What has to be added to g for the step of plain scoring, `plain`, to become -(F + S)^-1 g, along the constraints whose
    /// gradients are the columns of `binding`; it never becomes longer by that, in the metric of F. (The slope answers more
    /// than F says, not less: the volume adds information. A longer step would be trust in a few secants.) Nothing is added
    /// where F + S is singular.
    pub fn turn(&mut self, plain: &[f64], binding: &Mat, out: &mut [f64]) {
        let nt = plain.len();
        out.fill(0.0);
        self.qr.factor(binding, nt, RANK);
        let (from, free) = (self.qr.rank, nt - self.qr.rank);
        let matrix = self.elimination.matrix(free);
        for c in 0..free {
            let along = self.qr.q.col(from + c);
            self.product.fill(0.0);
            for (j, x) in along.iter().enumerate() {
                axpy(*x, self.information.col(j), &mut self.product);
                axpy(*x, self.matrix.col(j), &mut self.product);
            }
            (0..free).for_each(|r| matrix[free * r + c] = dot(self.qr.q.col(from + r), &self.product));
        }
        self.reduced.clear();
        self.reduced.extend((0..free).map(|r| -dot(self.qr.q.col(from + r), &self.slope)));
        if !self.elimination.factor() {
            return;
        }
        self.elimination.solve_one(&mut self.reduced);
        self.step.fill(0.0);
        for (c, x) in self.reduced.iter().enumerate() {
            axpy(*x, self.qr.q.col(from + c), &mut self.step);
        }
        let squared = |step: &[f64]| -> f64 {
            (0..nt).map(|j| step[j] * dot(self.information.col(j), step)).sum::<f64>()
        };
        let ratio = (squared(plain) / squared(&self.step)).sqrt().min(1.0);
        if !ratio.is_finite() {
            return;
        }
        for (j, step) in self.step.iter().enumerate() {
            axpy(-ratio * step, self.information.col(j), out);
        }
        axpy(-1.0, &self.slope, out);
    }

    /// What has been learnt, for another problem with the same parameters; nothing where F is singular.
    pub fn relative(&self) -> Option<Relative> {
        let nt = self.theta.len();
        let (mut l, mut half, mut out) = (self.information.clone(), Mat::zeros(nt, nt), Mat::zeros(nt, nt));
        if !self.seen || !partial_cholesky(&mut l, nt) {
            return None;
        }
        // L^-1 S, transposed; then the same from the other side.
        for j in 0..nt {
            let mut column = self.matrix.col(j).to_vec();
            solve_lower(&l, &mut column);
            for (i, x) in column.into_iter().enumerate() {
                half[(j, i)] = x;
            }
        }
        for j in 0..nt {
            solve_lower(&l, half.col_mut(j));
            for i in 0..nt {
                out[(j, i)] = half[(i, j)];
            }
        }
        Some(Relative(out))
    }

    /// S = L `relative` L'.
    fn rescale(&mut self, relative: &Mat) {
        let nt = self.theta.len();
        let mut l = self.information.clone();
        if !partial_cholesky(&mut l, nt) {
            return;
        }
        for i in 0..nt {
            for j in 0..nt {
                let mut sum = 0.0;
                for a in 0..=i {
                    for b in 0..=j {
                        sum += l[(i, a)] * relative[(a, b)] * l[(j, b)];
                    }
                }
                self.matrix[(i, j)] = sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: [[f64; 2]; 2] = [[4.0, 1.0], [1.0, 3.0]];
    const REST: [[f64; 2]; 2] = [[6.0, -1.0], [3.0, 0.5]];

    fn place(response: &mut Response, x: &[f64; 2], scale: f64) {
        for i in 0..2 {
            response.slope[i] = (0..2).map(|j| scale * (F[i][j] + REST[i][j]) * x[j]).sum();
            (0..2).for_each(|j| response.information[(i, j)] = scale * F[i][j]);
        }
        response.learn(x);
    }

    /// The secant equation holds over every step, and what is learnt serves a problem with more of the same data.
    #[test]
    fn what_the_information_leaves_out_is_learnt() {
        let mut response = Response::new(2);
        let mut x = [1.0, -2.0];
        place(&mut response, &x, 1.0);
        for step in [[0.5, 0.15], [-0.2, 0.9], [0.1, 0.3]] {
            x = [x[0] + step[0], x[1] + step[1]];
            place(&mut response, &x, 1.0);
            for i in 0..2 {
                let learnt: f64 = (0..2).map(|j| response.matrix[(i, j)] * step[j]).sum();
                let true_one: f64 = (0..2).map(|j| REST[i][j] * step[j]).sum();
                assert!((learnt - true_one).abs() < 1e-12, "{learnt} {true_one}");
            }
        }
        let mut longer = Response::new(2);
        longer.start(response.relative());
        place(&mut longer, &x, 7.0);
        for i in 0..2 {
            for j in 0..2 {
                assert!((longer.matrix[(i, j)] - 7.0 * response.matrix[(i, j)]).abs() < 1e-9);
            }
        }
    }
}
