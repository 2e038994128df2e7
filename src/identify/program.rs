//! Proposes multipliers: a dense primal-dual interior-point method for the programs "maximise d'z over the polytope".
//!
//! Nothing here is trusted: what it returns is checked by [`super::certificate`], and a poor answer costs tightness
//! only. It exists because all programs of one update share one small dense matrix: two-sided rows then cost one
//! product Y' D Y and one p x p Cholesky factorisation an iteration, which a general sparse solver (clarabel, the
//! oracle in the tests) cannot know.
//!
//! In scaled unknowns x in [-1, 1]^p (box to unit cube, rows to unit radius, cuts to unit norm):
//! minimise -d'x subject to lo <= G x <= hi with G the rows, the cuts (hi = inf) and the identity.
//! Mehrotra's predictor-corrector on slacks (s_l, s_u) and multipliers (v_l, v_u) of both sides.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::certificate::Multipliers;
use super::polytope::Polytope;
use crate::robot::INERTIAL;

const MAX_ITERATIONS: usize = 50;
/// Unknowns outside the body whose whole interval moves no row by more than this (in units of its radius) are left out:
/// half of the arm's parameters, and most of the work.
const IDLE: f64 = 5e-3;
/// Scaled multipliers below this move no bound.
const NOTHING: f64 = 1e-9;
/// Columns of the normal matrix that are computed together.
const STRIPE: usize = 24;
/// Rows that the box alone implies are left out; a cut or row whose scaled norm is below this as well.
const NEGLIGIBLE: f64 = 1e-14;

/// The scaled program, shared by all directions.
pub struct Program {
    center: Vec<f64>,
    half: Vec<f64>,
    /// Rows, then cuts; scaled, the columns of idle unknowns left out. Without the identity block.
    g: DMatrix<f64>,
    g_transposed: DMatrix<f64>,
    lo: DVector<f64>,
    hi: DVector<f64>,
    /// Which row (`< rows`) or cut (`- rows`) each line of `g` is, and what it was divided by.
    source: Vec<(usize, f64)>,
    /// The unknown that each column of `g` belongs to.
    kept: Vec<usize>,
    rows: usize,
    cuts: usize,
    /// Stops at complementarity and residuals below this (in units of the half-width of the box along d).
    tolerance: f64,
}

/// What the solver proposes for one direction.
pub struct Proposal {
    /// Approximate maximiser, in the unscaled parameters.
    pub z: Vec<f64>,
    /// Multipliers for the certificate.
    pub multipliers: Multipliers,
}

/// Slacks, multipliers and unknowns; sides with an infinite bound keep slack 1 and multiplier 0.
#[derive(Clone)]
struct Iterate {
    x: DVector<f64>,
    s_lo: DVector<f64>,
    s_hi: DVector<f64>,
    v_lo: DVector<f64>,
    v_hi: DVector<f64>,
}

impl Program {
    /// Scales the polytope with the rows `working`; those that no point of the box violates are dropped.
    pub fn new(polytope: &Polytope, working: &[usize], tolerance: f64) -> Self {
        let set = &polytope.set;
        let (center, half) = (set.center(), set.radius());
        let p = set.len();
        let mut lines: Vec<(usize, f64, f64, f64)> = vec![];
        let rows = &polytope.rows;
        for &w in working {
            let y = rows.y.row(w);
            let middle: f64 = y.iter().zip(&center).map(|(y, c)| y * c).sum();
            let reach: f64 = y.iter().zip(&half).map(|(y, r)| (y * r).abs()).sum();
            let off = rows.u[w] - middle;
            let radius = rows.radius[w].max(1e-9 * reach);
            if reach > NEGLIGIBLE && off.abs() + reach > radius {
                lines.push((w, radius, off / radius - 1.0, off / radius + 1.0));
            }
        }
        let offset = polytope.cuts.offset;
        for (k, c) in polytope.cuts.coefficients.iter().enumerate() {
            let middle: f64 = c.iter().enumerate().map(|(j, c)| c * center[offset + j]).sum();
            let norm = c.iter().enumerate().map(|(j, c)| (c * half[offset + j]).abs()).sum::<f64>();
            if norm > NEGLIGIBLE && middle < norm {
                lines.push((rows.len() + k, norm, -middle / norm, f64::INFINITY));
            }
        }
        let mut g_transposed = DMatrix::zeros(p, lines.len());
        for (i, &(source, scale, ..)) in lines.iter().enumerate() {
            let mut column = g_transposed.column_mut(i);
            if source < rows.len() {
                for j in 0..p {
                    column[j] = rows.y[(source, j)] * half[j] / scale;
                }
            } else {
                for (j, c) in polytope.cuts.coefficients[source - rows.len()].iter().enumerate() {
                    column[offset + j] = c * half[offset + j] / scale;
                }
            }
        }
        let body = offset..offset + INERTIAL;
        let (kept, idle): (Vec<usize>, Vec<usize>) =
            (0..p).partition(|&j| body.contains(&j) || g_transposed.row(j).amax() > IDLE);
        // What idle unknowns may do is left to the noise.
        let slack = |i: usize| idle.iter().map(|&j| g_transposed[(j, i)].abs()).sum::<f64>();
        let (m, total) = (lines.len(), lines.len() + kept.len());
        let lo = DVector::from_fn(total, |i, _| if i < m { lines[i].2 - slack(i) } else { -1.0 });
        let hi = DVector::from_fn(total, |i, _| if i < m { lines[i].3 + slack(i) } else { 1.0 });
        let g_transposed = g_transposed.select_rows(&kept);
        Self {
            g: g_transposed.transpose(),
            g_transposed,
            lo,
            hi,
            source: lines.iter().map(|l| (l.0, l.1)).collect(),
            kept,
            rows: rows.len(),
            cuts: polytope.cuts.coefficients.len(),
            tolerance,
            center,
            half,
        }
    }

    /// Approximately maximises d'z; `d` has length p.
    pub fn maximise(&self, d: &[f64]) -> Proposal {
        let cost = DVector::from_fn(self.kept.len(), |k, _| -d[self.kept[k]] * self.half[self.kept[k]]);
        let size = cost.amax();
        let iterate = if size.is_finite() && size > 0.0 { self.solve(&(cost / size)) } else { self.start() };
        self.unscale(&iterate, size, d)
    }

    fn unscale(&self, iterate: &Iterate, size: f64, d: &[f64]) -> Proposal {
        // Idle unknowns go where the direction wants them.
        let mut z: Vec<f64> = (0..d.len())
            .map(|j| self.center[j] + if d[j] == 0.0 { 0.0 } else { self.half[j].copysign(d[j]) })
            .collect();
        for (&j, x) in self.kept.iter().zip(&iterate.x) {
            z[j] = self.center[j] + self.half[j] * x;
        }
        let mut rows = vec![0.0; self.rows];
        let mut cuts = vec![0.0; self.cuts];
        for (i, &(source, scale)) in self.source.iter().enumerate() {
            let net = iterate.v_hi[i] - iterate.v_lo[i];
            if net.abs() < NOTHING {
                continue;
            }
            let net = net * size / scale;
            if source < self.rows { rows[source] = net } else { cuts[source - self.rows] = -net }
        }
        Proposal { z, multipliers: Multipliers { rows, cuts } }
    }

    /// G x with the identity block.
    fn apply(&self, x: &DVector<f64>) -> DVector<f64> {
        let m = self.g.nrows();
        let mut out = DVector::zeros(m + x.len());
        out.rows_mut(0, m).gemv(1.0, &self.g, x, 0.0);
        out.rows_mut(m, x.len()).copy_from(x);
        out
    }

    /// G' v with the identity block.
    fn apply_transposed(&self, v: &DVector<f64>) -> DVector<f64> {
        let (m, p) = self.g.shape();
        let mut out = v.rows(m, p).into_owned();
        out.gemv(1.0, &self.g_transposed, &v.rows(0, m), 1.0);
        out
    }

    fn start(&self) -> Iterate {
        let total = self.lo.len();
        let side = |bound: &DVector<f64>, sign: f64| {
            DVector::from_fn(
                total,
                |i, _| if bound[i].is_finite() { (sign * bound[i]).max(1.0) } else { 1.0 },
            )
        };
        let multipliers =
            |bound: &DVector<f64>| bound.map(|b| if b.is_finite() { 1.0 / total as f64 } else { 0.0 });
        Iterate {
            x: DVector::zeros(self.kept.len()),
            s_lo: side(&self.lo, -1.0),
            s_hi: side(&self.hi, 1.0),
            v_lo: multipliers(&self.lo),
            v_hi: multipliers(&self.hi),
        }
    }

    fn solve(&self, cost: &DVector<f64>) -> Iterate {
        let mut at = self.start();
        let sides = self.lo.iter().chain(&self.hi).filter(|b| b.is_finite()).count() as f64;
        for _ in 0..MAX_ITERATIONS {
            let residuals = Residuals::new(self, &at, cost);
            let gap = at.s_lo.dot(&at.v_lo) + at.s_hi.dot(&at.v_hi);
            if gap < self.tolerance && residuals.largest() < self.tolerance {
                break;
            }
            let weight = at.v_lo.component_div(&at.s_lo) + at.v_hi.component_div(&at.s_hi);
            let Some(factor) = self.factorise(&weight) else { break };
            let step = |center_lo: &DVector<f64>, center_hi: &DVector<f64>| {
                self.direction(&at, &residuals, &factor, center_lo, center_hi)
            };
            // Predictor: aim at complementarity zero.
            let target_lo = -at.v_lo.component_mul(&at.s_lo);
            let target_hi = -at.v_hi.component_mul(&at.s_hi);
            let affine = step(&target_lo, &target_hi);
            let (primal, dual) = at.longest_steps(&affine);
            let reached = at.moved(&affine, primal, dual);
            let left = reached.s_lo.dot(&reached.v_lo) + reached.s_hi.dot(&reached.v_hi);
            let mu = (left / gap).powi(3) * gap / sides;
            // Corrector: aim at mu, with the second-order term of the predictor.
            let corrected =
                |target: &DVector<f64>, ds: &DVector<f64>, dv: &DVector<f64>, v: &DVector<f64>| {
                    let active = v.map(|v| if v > 0.0 { mu } else { 0.0 });
                    target + active - ds.component_mul(dv)
                };
            let d = step(
                &corrected(&target_lo, &affine.s_lo, &affine.v_lo, &at.v_lo),
                &corrected(&target_hi, &affine.s_hi, &affine.v_hi, &at.v_hi),
            );
            let (primal, dual) = at.longest_steps(&d);
            let next = at.moved(&d, (0.995 * primal).min(1.0), (0.995 * dual).min(1.0));
            if !next.x.iter().chain(&next.v_lo).chain(&next.v_hi).all(|x| x.is_finite()) {
                break;
            }
            at = next;
        }
        at
    }

    /// Cholesky factor of G' diag(weight) G.
    fn factorise(&self, weight: &DVector<f64>) -> Option<Cholesky<f64, nalgebra::Dyn>> {
        let (m, p) = self.g.shape();
        let mut weighted = self.g_transposed.clone();
        for (i, mut column) in weighted.column_iter_mut().enumerate() {
            column *= weight[i];
        }
        let mut normal = DMatrix::from_diagonal(&weight.rows(m, p).into_owned());
        // The factorisation reads the lower triangle alone.
        for first in (0..p).step_by(STRIPE) {
            let (width, below) = (STRIPE.min(p - first), p - first);
            let mut stripe = normal.view_mut((first, first), (below, width));
            stripe.gemm(1.0, &weighted.rows(first, below), &self.g.columns(first, width), 1.0);
        }
        let ridge = 1e-14 * normal.diagonal().amax();
        for j in 0..p {
            normal[(j, j)] += ridge;
        }
        Cholesky::new(normal)
    }

    /// The Newton step towards s v = (current s v) + target, residuals to zero.
    fn direction(
        &self,
        at: &Iterate,
        residuals: &Residuals,
        factor: &Cholesky<f64, nalgebra::Dyn>,
        target_lo: &DVector<f64>,
        target_hi: &DVector<f64>,
    ) -> Iterate {
        let shift = |target: &DVector<f64>, v: &DVector<f64>, r: &DVector<f64>, s: &DVector<f64>| {
            (target - v.component_mul(r)).component_div(s)
        };
        let shift_lo = shift(target_lo, &at.v_lo, &residuals.lo, &at.s_lo);
        let shift_hi = shift(target_hi, &at.v_hi, &residuals.hi, &at.s_hi);
        let right = &residuals.dual - self.apply_transposed(&(&shift_hi - &shift_lo));
        let x = factor.solve(&right);
        let gx = self.apply(&x);
        let ratio = |v: &DVector<f64>, s: &DVector<f64>| v.component_div(s).component_mul(&gx);
        Iterate {
            s_lo: &residuals.lo + &gx,
            s_hi: &residuals.hi - &gx,
            v_lo: shift_lo - ratio(&at.v_lo, &at.s_lo),
            v_hi: shift_hi + ratio(&at.v_hi, &at.s_hi),
            x,
        }
    }
}

/// How far an iterate is from satisfying the constraints and stationarity.
struct Residuals {
    lo: DVector<f64>,
    hi: DVector<f64>,
    dual: DVector<f64>,
}

impl Residuals {
    fn new(program: &Program, at: &Iterate, cost: &DVector<f64>) -> Self {
        let gx = program.apply(&at.x);
        let difference = &at.v_hi - &at.v_lo;
        // An infinite side keeps its slack: residual zero after the step's own G x is added back is not needed,
        // because its multiplier is zero and stays zero.
        let side = |bound: &DVector<f64>, sign: f64, s: &DVector<f64>| {
            DVector::from_fn(bound.len(), |i, _| {
                if bound[i].is_finite() { sign * (bound[i] - gx[i]) - s[i] } else { 0.0 }
            })
        };
        Self {
            lo: side(&program.lo, -1.0, &at.s_lo),
            hi: side(&program.hi, 1.0, &at.s_hi),
            dual: -(cost + program.apply_transposed(&difference)),
        }
    }

    fn largest(&self) -> f64 {
        self.lo.amax().max(self.hi.amax()).max(self.dual.amax())
    }
}

impl Iterate {
    /// Longest primal and dual steps in [0, 1/0.995] that keep slacks and multipliers non-negative.
    fn longest_steps(&self, d: &Iterate) -> (f64, f64) {
        let longest = |v: &DVector<f64>, dv: &DVector<f64>, guard: &DVector<f64>| {
            v.iter()
                .zip(dv)
                .zip(guard)
                .filter(|((_, dv), guard)| **dv < 0.0 && **guard > 0.0)
                .fold(1.0_f64 / 0.995, |step, ((v, dv), _)| step.min(-v / dv))
        };
        (
            longest(&self.s_lo, &d.s_lo, &self.v_lo).min(longest(&self.s_hi, &d.s_hi, &self.v_hi)),
            longest(&self.v_lo, &d.v_lo, &self.v_lo).min(longest(&self.v_hi, &d.v_hi, &self.v_hi)),
        )
    }

    fn moved(&self, d: &Iterate, primal: f64, dual: f64) -> Iterate {
        // Sides without a bound (multiplier zero) stay as they are.
        let slack = |s: &DVector<f64>, ds: &DVector<f64>, v: &DVector<f64>| {
            DVector::from_fn(s.len(), |i, _| if v[i] > 0.0 { s[i] + primal * ds[i] } else { s[i] })
        };
        Iterate {
            x: &self.x + primal * &d.x,
            s_lo: slack(&self.s_lo, &d.s_lo, &self.v_lo),
            s_hi: slack(&self.s_hi, &d.s_hi, &self.v_hi),
            v_lo: &self.v_lo + dual * &d.v_lo,
            v_hi: &self.v_hi + dual * &d.v_hi,
        }
    }
}
