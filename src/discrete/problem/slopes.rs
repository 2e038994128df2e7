//! Slopes of a stage, of both forms: impulses as inputs, and changes of the state as inputs.

use super::super::equations::Start;
use super::super::geometry::Geometry;
use super::super::mechanism::{move_slopes, three};
use super::{DiscreteProblem, DiscreteSpace, OutsideImpulses};
use crate::estimate::problem::Point;
use crate::estimate::stage::StageModel;
use crate::linear::dense::{Mat, add_product_lower, axpy};

impl DiscreteProblem {
    /// Implicit form: slopes of the step, and its cost.
    pub(super) fn linearise_step(
        &self,
        at: Point<'_>,
        k: usize,
        space: &mut DiscreteSpace,
        model: &mut StageModel,
    ) {
        let (nv, n, nu) = (self.equations.nv, model.n(), at.u.len());
        // Padded, which makes the elimination fast.
        let (size, width) = (self.equations.size(), n.next_multiple_of(8));
        let weight = self.weights.kappa / self.weights.angle_rad.powi(2);
        for (i, u) in at.u.iter().enumerate() {
            model.add_direct(*u, i, weight);
        }
        for i in 0..self.steps() {
            let mut slopes = std::mem::take(&mut space.slopes);
            slopes.clear();
            slopes.resize(size * width, 0.0);
            self.step_slopes(k, at, i, space, &mut slopes);
            space.slopes = slopes;
            let d = &mut space.slopes;
            space.step[i].elimination.solve(d, width, 0);
            d[..nv * width].iter_mut().for_each(|x| *x = -*x);
            // Velocities from the first step, configuration from the last one.
            if i == 0 {
                (0..nv).for_each(|r| model.jac.col_mut(nv + r).copy_from_slice(&d[r * width..][..n]));
            }
            if i + 1 == self.steps() {
                self.move_rows(&space.step[i].y, &space.slopes[..nv * width], self.equations.h, nu, model);
            }
        }
    }

    /// Slopes of the equations of step `i` by (u, q, v, theta), row-major, into zeros.
    fn step_slopes(&self, k: usize, at: Point<'_>, i: usize, space: &mut DiscreteSpace, d: &mut [f64]) {
        let (nv, nu) = (self.equations.nv, at.u.len());
        let (first, width) = (nu + 2 * nv, d.len() / self.equations.size());
        let v = &at.x[self.mechanism.pose_numbers()..];
        let start = Start {
            mechanism: &space.mechanism,
            geometry: &space.geometry,
            v,
            controls: &self.log.controls[k],
        };
        let y = &space.step[i].y;
        self.equations.fill_slopes(start, &space.friction[i], y, &self.parameters, nu, d);
        for (c, unknown) in self.unknowns.iter().enumerate() {
            for row in d.chunks_exact_mut(width) {
                row[first + c] *= unknown.scale;
            }
        }
        match self.impulses {
            OutsideImpulses::Hinges => self.hinge_slopes(at.u, width, &space.geometry, d),
            _ => (0..nv).for_each(|r| d[r * width + i * nv + r] = -1.0),
        }
    }

    /// Slopes of - sum u_j axis_j by the inputs, and by the turn of the child, which holds the axis.
    fn hinge_slopes(&self, u: &[f64], width: usize, geometry: &Geometry, d: &mut [f64]) {
        for (i, (&j, &u)) in self.hinges.iter().zip(u).enumerate() {
            let g = &geometry.joints[j];
            let turn = g.axis.cross_matrix() * u;
            for r in 0..3 {
                d[(6 * g.child + 3 + r) * width + i] -= g.axis[r];
                for c in 0..3 {
                    let column = self.hinges.len() + 6 * g.child + 3 + c;
                    d[(6 * g.child + 3 + r) * width + column] += turn[(r, c)];
                    if let Some(a) = g.parent {
                        d[(6 * a + 3 + r) * width + column] -= turn[(r, c)];
                    }
                }
                if let Some(a) = g.parent {
                    d[(6 * a + 3 + r) * width + i] += g.axis[r];
                }
            }
        }
    }

    /// The configuration's part of the dynamics: moved by h w, whose slopes are `dw`, row-major, at least as wide as the model.
    fn move_rows(&self, w: &[f64], dw: &[f64], h: f64, nu: usize, model: &mut StageModel) {
        let (n, width) = (model.n(), dw.len() / self.equations.nv);
        for b in 0..self.mechanism.bodies.len() {
            let (turn, slope) = move_slopes(&(three(w, 6 * b + 3) * h));
            for i in 0..3 {
                let linear = model.jac.col_mut(6 * b + i);
                axpy(h, &dw[(6 * b + i) * width..][..n], linear);
                linear[nu + 6 * b + i] += 1.0;
                let angular = model.jac.col_mut(6 * b + 3 + i);
                for l in 0..3 {
                    let r = 6 * b + 3 + l;
                    axpy(h * slope[(i, l)], &dw[r * width..][..n], angular);
                    angular[nu + r] += turn[(i, l)];
                }
            }
        }
    }

    /// Explicit form: the change of state is the input.
    pub(super) fn linearise_change(&self, at: Point<'_>, space: &mut DiscreteSpace, model: &mut StageModel) {
        let (nv, n, nu, h) = (self.equations.nv, model.n(), at.u.len(), self.equations.h);
        let nt = self.unknowns.len();
        for i in 0..2 {
            let (p, dp, width) = space.inverse[i].result();
            // Columns (w, q, v, theta) to (u_q, u_v, q, v, theta).
            space.slopes.clear();
            space.slopes.resize(nv * n, 0.0);
            for r in 0..nv {
                let (from, to) = (&dp[r * width..(r + 1) * width], &mut space.slopes[r * n..(r + 1) * n]);
                to[nu..nu + 2 * nv + nt].copy_from_slice(&from[nv..]);
                if i == 0 {
                    to[nv..2 * nv].copy_from_slice(&from[..nv]);
                    axpy(1.0, &from[..nv], &mut to[nu + nv..nu + 2 * nv]);
                } else {
                    axpy(1.0 / h, &from[..nv], &mut to[..nv]);
                }
            }
            self.add_impulses(p, &space.slopes, n, model, &mut space.block);
        }
        let one: Vec<f64> = (0..nv * n).map(|i| if i / n == i % n { 1.0 } else { 0.0 }).collect();
        self.move_rows(at.u, &one, 1.0, nu, model);
        for r in 0..nv {
            let row = model.jac.col_mut(nv + r);
            (row[nv + r], row[nu + nv + r]) = (1.0, 1.0);
        }
    }

    /// Adds the cost of impulses `p` with slopes `dp`, row-major.
    fn add_impulses(&self, p: &[f64], dp: &[f64], width: usize, model: &mut StageModel, block: &mut Mat) {
        let weight = self.weights.kappa / self.weights.angle_rad.powi(2);
        block.reset(width, p.len());
        for (i, p) in p.iter().enumerate() {
            let row = &dp[i * width..(i + 1) * width];
            model.cost += 0.5 * weight * p * p;
            axpy(weight * p, row, &mut model.grad);
            block.col_mut(i).copy_from_slice(row);
        }
        add_product_lower(&mut model.hess, weight, block.below(0), block.below(0));
    }
}
