//! Inverse dynamics: the impulse from outside that a change of velocity needs, [5, eqs. 2.29 to 2.31 and 3.7].
//!
//! For those who compare with the paper. Given the velocity w after the step, each compliant row tells its own impulse, and dry friction by the
//! velocity against which it acts; what is left of the equations of motion is p. (2.30) has b for -a there, (3.7) and (3.8) leave out what is known to act from
//! outside.

use super::equations::{Equations, HingeFriction, Start, coefficient};
use super::parameters::MechanismParameter;
use super::problem::SoughtParameter;
use crate::linear::dense::{axpy, dot};

/// Scratch space and result.
#[derive(Debug, Clone, Default)]
pub(super) struct Inverse {
    /// (w, lambda, lambda_t).
    y: Vec<f64>,
    friction: Vec<HingeFriction>,
    matrix: Vec<f64>,
    right: Vec<f64>,
    rates: Vec<f64>,
    p: Vec<f64>,
    /// Slopes of the equations' residuals, then of all impulses, by (w, q, v, theta).
    slopes: Vec<f64>,
    width: usize,
}

impl Inverse {
    /// p for the velocity `w` after the step from `at`.
    pub(super) fn solve(&mut self, equations: &Equations, at: Start<'_>, w: &[f64]) -> Result<(), String> {
        let (nv, nr, n) = (equations.nv, equations.nr, equations.size());
        equations.fill_right(at, &[], &mut self.right, &mut self.rates);
        at.geometry.rates(w, &mut self.rates);
        self.y.clear();
        self.y.extend_from_slice(w);
        self.y.resize(n, 0.0);
        for (j, g) in at.geometry.joints.iter().enumerate() {
            let (_, sigma) = equations.softness(at.mechanism, j);
            for i in 0..at.mechanism.joints[j].rows() {
                let r = g.row + i;
                self.y[nv + r] = (self.right[nv + r] - self.rates[r]) / sigma[usize::from(i >= 3)];
            }
        }
        self.friction.clear();
        for (f, &j) in equations.dry.iter().enumerate() {
            let (g, dry) = (&at.geometry.joints[j], at.mechanism.joints[j].dry().unwrap_or_default());
            let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
            let signs = std::array::from_fn(|i| sign(self.y[nv + g.row + i]));
            let speed = g.turning(w);
            let mut state = HingeFriction { sliding: if speed < 0.0 { -1 } else { 1 }, signs };
            let most = coefficient(&dry, g.turning(at.v)).0 * equations.bound(g, &dry, &state, &self.y);
            let creeping = -speed / dry.creep;
            self.y[nv + nr + f] = -sign(speed) * most;
            if dry.creep > 0.0 && creeping.abs() <= most {
                state.sliding = 0;
                self.y[nv + nr + f] = creeping;
            }
            self.friction.push(state);
        }
        self.matrix.clear();
        self.matrix.resize(n * n, 0.0);
        equations.fill_matrix(at, &self.friction, &mut self.matrix);
        self.p.clear();
        for i in 0..nv {
            self.p.push(dot(&self.matrix[i * n..(i + 1) * n], &self.y) - self.right[i]);
        }
        if self.p.iter().all(|p| p.is_finite()) { Ok(()) } else { Err("the impulses are not finite".into()) }
    }

    /// |p|^2.
    pub(super) fn squares(&self) -> f64 {
        dot(&self.p, &self.p)
    }

    /// Slopes of p after [`Inverse::solve`].
    pub(super) fn linearise(
        &mut self,
        equations: &Equations,
        at: Start<'_>,
        unknowns: &[SoughtParameter],
        parameters: &[MechanismParameter],
    ) {
        let (nv, nr, n) = (equations.nv, equations.nr, equations.size());
        let width = 3 * nv + unknowns.len();
        self.width = width;
        self.slopes.clear();
        self.slopes.resize(n * width, 0.0);
        equations.fill_slopes(at, &self.friction, &self.y, parameters, nv, &mut self.slopes);
        for r in 0..n {
            let row = &mut self.slopes[r * width..(r + 1) * width];
            row[..nv].copy_from_slice(&self.matrix[r * n..r * n + nv]);
            for (slope, unknown) in row[3 * nv..].iter_mut().zip(unknowns) {
                *slope *= unknown.scale;
            }
        }
        let (momentum, impulses) = self.slopes.split_at_mut(nv * width);
        for r in 0..nr + equations.dry.len() {
            // The row's own impulse from those before it: it is linear in itself.
            let (done, rest) = impulses.split_at_mut(r * width);
            let (own, line) = (&mut rest[..width], &self.matrix[(nv + r) * n..(nv + r + 1) * n]);
            for (i, before) in done.chunks_exact(width).enumerate() {
                let factor = line[nv + i];
                if factor != 0.0 {
                    axpy(factor, before, own);
                }
            }
            let pivot = -1.0 / line[nv + r];
            own.iter_mut().for_each(|x| *x *= pivot);
            for (i, out) in momentum.chunks_exact_mut(width).enumerate() {
                let factor = self.matrix[i * n + nv + r];
                if factor != 0.0 {
                    axpy(factor, own, out);
                }
            }
        }
    }

    /// p, its slopes by (w, q, v, theta) row by row, and their width.
    pub(super) fn result(&self) -> (&[f64], &[f64], usize) {
        (&self.p, &self.slopes[..self.p.len() * self.width], self.width)
    }
}
