//! The posterior covariance from the factors of the last Newton step (Laplace approximation).
//!
//! With the value functions at hand the posterior is a Markov chain run forwards: (x_0, theta) has the inverse of the
//! arrival node's Hessian, restricted to what the equations allow, and given (x, theta) the input's free part z is
//! normal with covariance Q_zz^-1. So the joint covariance of (dx_k, dtheta) follows stage by stage, each a marginal of the
//! whole posterior. Parameter inequalities are taken as not binding.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::error::EstimateError;
use super::problem::EstimationProblem;
use super::riccati::Node;
use super::solver::{Solver, inner};
use crate::linear::dense::{
    Mat, add_product, add_product_lower, axpy, dot, solve_lower, solve_lower_transposed,
};

/// Eigenvalues of the scaled Hessian below this belong to unobservable directions.
pub(super) const UNOBSERVABLE: f64 = 1e-12;

/// Uncertainty of the first state and the parameters.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// Covariance of (dx_0, dtheta); unobservable directions count as zero.
    pub arrival: DMatrix<f64>,
    /// Tangent dimension of the first state.
    pub nx: usize,
    /// Directions of (dx_0, dtheta), of length one, that nothing in the problem says anything about.
    pub unobservable: Vec<Vec<f64>>,
}

impl Posterior {
    /// Standard deviation of parameter `i`; infinite where an unobservable direction has a part in it.
    pub fn parameter_deviation(&self, i: usize) -> f64 {
        let at = self.nx + i;
        if self.unobservable.iter().any(|v| v[at].abs() > 1e-6) {
            return f64::INFINITY;
        }
        self.arrival[(at, at)].max(0.0).sqrt()
    }

    /// Standard deviation of a function of the parameters with this gradient; nothing where an unobservable direction moves it.
    pub fn deviation(&self, gradient: &DVector<f64>) -> Option<f64> {
        let (nx, nt) = (self.nx, gradient.len());
        let part = |v: &[f64]| v[nx..].iter().zip(gradient.iter()).map(|(a, b)| a * b).sum::<f64>();
        if self.unobservable.iter().any(|v| part(v).abs() > 1e-6 * gradient.norm()) {
            return None;
        }
        let covariance = self.arrival.view((nx, nx), (nt, nt));
        Some((gradient.transpose() * covariance * gradient)[0].max(0.0).sqrt())
    }
}

impl<P: EstimationProblem> Solver<'_, P> {
    /// The posterior around the present trajectory. `each` sees, stage by stage, the joint covariance of
    /// (dx_k, dtheta), of which both triangles are filled.
    ///
    /// # Errors
    /// As [`Solver::solve`], for one undamped step at the present trajectory.
    pub fn posterior(&mut self, mut each: impl FnMut(usize, &Mat)) -> Result<Posterior, EstimateError> {
        self.posterior_with_inputs(|k, joint, _| each(k, joint))
    }

    /// [`Solver::posterior`], where `each` sees the variances of the stage's free inputs as well (of the model's input where equations bind it).
    ///
    /// # Errors
    /// As [`Solver::posterior`].
    pub fn posterior_with_inputs(
        &mut self,
        mut each: impl FnMut(usize, &Mat, &[f64]),
    ) -> Result<Posterior, EstimateError> {
        self.damped_step(0.0)?;
        let (basis, hess, scale) = self.arrival.reduced();
        let posterior = invert(basis, hess, scale, self.problem.size(0).tangent);
        let n = posterior.arrival.nrows();
        let mut joint = Mat::zeros(n, n);
        for j in 0..n {
            joint.col_mut(j).copy_from_slice(posterior.arrival.column(j).as_slice());
        }
        let (mut chain, mut spread, mut row) = (Chain::default(), Vec::new(), Vec::new());
        for (k, record) in self.records.iter_mut().enumerate() {
            let record = inner(record);
            input_variances(&record.node, &joint, &mut row, &mut spread);
            each(k, &joint, &spread);
            if record.node.next > 0 {
                chain.advance(&record.node, &mut joint);
            }
        }
        Ok(posterior)
    }
}

/// Variances of z = -L^-T (S'y + e), with y = (dx, dtheta) of covariance `joint` and e standard normal. Row k of L^-T by the
/// unit vector: g = L^-1 e_k has the noise's part, and -S g that of y.
fn input_variances(node: &Node, joint: &Mat, row: &mut Vec<f64>, out: &mut Vec<f64>) {
    let (factor, nz) = (node.noise_factor(), node.model.nu);
    out.clear();
    let mut gain = vec![0.0; joint.rows()];
    for k in 0..nz {
        row.clear();
        row.resize(nz, 0.0);
        row[k] = 1.0;
        solve_lower(factor, row);
        gain.fill(0.0);
        for (c, g) in row.iter().enumerate() {
            axpy(*g, &factor.col(c)[nz..], &mut gain);
        }
        out.push(dot(row, row) + variance(joint, &gain));
    }
}

/// basis D^-1/2 H^+ D^-1/2 basis', and H's nullspace.
fn invert(basis: &Mat, hess: &Mat, scale: &[f64], nx: usize) -> Posterior {
    let (n, r) = (basis.rows(), basis.cols());
    let h = DMatrix::from_fn(r, r, |i, j| if i >= j { hess[(i, j)] } else { hess[(j, i)] });
    let b = DMatrix::from_fn(n, r, |i, j| basis[(i, j)] * scale[j]);
    let eigen = SymmetricEigen::new(h);
    let floor = UNOBSERVABLE * eigen.eigenvalues.amax().max(1.0);
    let mut arrival = DMatrix::zeros(n, n);
    let mut unobservable = Vec::new();
    for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        let direction = &b * vector;
        if *value > floor {
            arrival += (1.0 / value) * &direction * direction.transpose();
        } else {
            unobservable.push(direction.normalize().as_slice().to_vec());
        }
    }
    Posterior { arrival, nx, unobservable }
}

/// Scratch space of the forward pass.
pub(super) struct Chain {
    gains: Mat,
    noise: Mat,
    half: Mat,
    out: Mat,
    row: Vec<f64>,
}

impl Default for Chain {
    fn default() -> Self {
        let empty = || Mat::zeros(0, 0);
        Self { gains: empty(), noise: empty(), half: empty(), out: empty(), row: Vec::new() }
    }
}

impl Chain {
    /// Covariance of (z, dx), parameters known, from that of dx in the leading block of `joint`.
    pub(super) fn with_input(&mut self, node: &Node, joint: &Mat, out: &mut Mat) {
        let factor = node.noise_factor();
        let (nz, nx) = (node.model.nu, node.model.nx);
        // The feedback -L^-T S' and the noise L^-T.
        self.gains.reset(nz, nx);
        for c in 0..nx {
            let gain = self.gains.col_mut(c);
            for k in 0..nz {
                gain[k] = -factor[(nz + c, k)];
            }
            solve_lower_transposed(factor, gain);
        }
        self.noise.reset(nz, nz);
        for c in 0..nz {
            let noise = self.noise.col_mut(c);
            noise[c] = 1.0;
            solve_lower_transposed(factor, noise);
        }
        self.half.reset(nz, nx);
        add_product(&mut self.half, 1.0, self.gains.below(0), joint.block(0, nx, nx));
        self.out.reset(nz, nz);
        add_product(&mut self.out, 1.0, self.half.below(0), self.gains.below(0));
        add_product(&mut self.out, 1.0, self.noise.below(0), self.noise.below(0));
        out.reset(nz + nx, nz + nx);
        for c in 0..nz {
            out.col_mut(c)[..nz].copy_from_slice(self.out.col(c));
            for j in 0..nx {
                out[(nz + j, c)] = self.half[(c, j)];
            }
        }
        for c in 0..nx {
            let column = out.col_mut(nz + c);
            column[..nz].copy_from_slice(self.half.col(c));
            column[nz..].copy_from_slice(&joint.col(c)[..nx]);
        }
    }

    /// Sigma <- A Sigma A' + N N' for (x', theta), where A is the closed loop and N = F_z L^-T; for x' alone where `joint` is
    /// that of x with theta known.
    pub(super) fn advance(&mut self, node: &Node, joint: &mut Mat) {
        let (m, factor) = (&node.model, node.noise_factor());
        let (nz, tail, next) = (m.nu, joint.rows(), node.next);
        let size = next + tail - m.nx;
        // Row i of the noise is L^-1 f_i,z; that of the closed loop f_i,y - S L^-1 f_i,z.
        self.gains.reset(size, tail);
        self.noise.reset(size, nz);
        for i in 0..next {
            let (z, y) = m.jac.col(i).split_at(nz);
            self.row.clear();
            self.row.extend_from_slice(z);
            solve_lower(factor, &mut self.row);
            for (k, &g) in self.row.iter().enumerate() {
                self.noise[(i, k)] = g;
            }
            for (c, &y) in y[..tail].iter().enumerate() {
                self.gains[(i, c)] = y;
            }
        }
        add_product(&mut self.gains, -1.0, self.noise.below(0), factor.block(nz, tail, nz));
        for i in m.nx..tail {
            self.gains[(next + i - m.nx, i)] = 1.0;
        }
        self.half.reset(size, tail);
        add_product(&mut self.half, 1.0, self.gains.below(0), joint.below(0));
        self.out.reset(size, size);
        add_product_lower(&mut self.out, 1.0, self.half.below(0), self.gains.below(0));
        add_product_lower(&mut self.out, 1.0, self.noise.below(0), self.noise.below(0));
        self.out.mirror();
        joint.copy_from(&self.out);
    }
}

/// The directions in words: the largest parts of each, for messages. `names` are those of (dx_0, dtheta).
pub fn describe(direction: &[f64], names: &[String]) -> String {
    let mut order: Vec<usize> = (0..direction.len()).collect();
    order.sort_by(|&a, &b| direction[b].abs().total_cmp(&direction[a].abs()));
    let first = order.first().map_or(0.0, |&i| direction[i]);
    // A direction is the same one turned round; the largest part is told as positive.
    let (largest, sign) = (first.abs(), first.signum());
    let parts: Vec<String> = order
        .into_iter()
        .take_while(|&i| direction[i].abs() > 0.05 * largest)
        .take(6)
        .map(|i| format!("{:+.2} {}", sign * direction[i], names.get(i).map_or("?", |n| n.as_str())))
        .collect();
    parts.join(" ")
}

/// Variance x'S x of a linear function of (dx, dtheta).
pub fn variance(joint: &Mat, x: &[f64]) -> f64 {
    let mut sx = vec![0.0; joint.rows()];
    for (j, &factor) in x.iter().enumerate() {
        axpy(factor, joint.col(j), &mut sx);
    }
    dot(&sx, x)
}
