//! What is paid for besides impulses: encoders, the first state, priors of the parameters.

use super::super::equations::{HingeFriction, Start};
use super::super::mechanism::add_three;
use super::super::observe::{encoder, wrapped};
use super::{DiscreteProblem, DiscreteSpace};
use crate::estimate::problem::Point;

impl DiscreteProblem {
    /// Residuals of encoders and of the first state, each with its weight, told to `each` with their gradient by the tangent of the state.
    pub(in crate::discrete) fn state_residuals(
        &self,
        k: usize,
        at: Point<'_>,
        space: &mut DiscreteSpace,
        mut each: impl FnMut(f64, f64, &[f64]),
    ) {
        let nv = self.equations.nv;
        let weight = self.weights.angle_rad.powi(-2);
        let poses = self.mechanism.pose_numbers();
        for (reading, &j) in self.log.angles[k].iter().zip(&self.hinges) {
            if !reading.is_finite() {
                continue;
            }
            let (angle, slope) = encoder(&space.mechanism, &at.x[..poses], j);
            let joint = &self.mechanism.joints[j];
            space.row.clear();
            space.row.resize(2 * nv, 0.0);
            add_three(&mut space.row, 6 * joint.child + 3, slope);
            if let Some(a) = joint.parent {
                add_three(&mut space.row, 6 * a + 3, -slope);
            }
            each(wrapped(angle - reading), weight, &space.row);
        }
        if k == 0 {
            let weight = weight * self.weights.kappa * self.anchor * self.anchor;
            self.first_residuals(at, space, |r, gradient| each(r, weight, gradient));
        }
    }

    /// (4/h) Upsilon g and G v + (4/h) Upsilon g.
    fn first_residuals(&self, at: Point<'_>, space: &mut DiscreteSpace, mut each: impl FnMut(f64, &[f64])) {
        let (nv, nr) = (self.equations.nv, self.equations.nr);
        let (still, no_controls) = (vec![0.0; nv], vec![0.0; self.mechanism.joints.len()]);
        let v = &at.x[self.mechanism.pose_numbers()..];
        let start = Start {
            mechanism: &space.mechanism,
            geometry: &space.geometry,
            v: &still,
            controls: &no_controls,
        };
        let (mut gaps, mut rates) = (vec![], vec![]);
        space.geometry.gaps(&mut gaps);
        let size = self.equations.size();
        let free = vec![HingeFriction::default(); self.equations.dry.len()];
        for w in [&still[..], v] {
            let mut y = w.to_vec();
            y.resize(size, 0.0);
            space.slopes.clear();
            space.slopes.resize(size * 2 * nv, 0.0);
            self.equations.fill_slopes(start, &free, &y, &[], 0, &mut space.slopes);
            space.geometry.rates(w, &mut rates);
            for (j, g) in space.geometry.joints.iter().enumerate() {
                let (upsilon, _) = self.equations.softness(&space.mechanism, j);
                let rows = space.geometry.rows_of(j, nv);
                for (i, row) in rows.iter().enumerate() {
                    let r = g.row + i;
                    debug_assert!(r < nr);
                    let slopes = &mut space.slopes[(nv + r) * 2 * nv..][..2 * nv];
                    // By the velocities: those of the state are w, not what the equations call v.
                    slopes[nv..].fill(0.0);
                    if !std::ptr::eq(w, &still[..]) {
                        slopes[nv..].copy_from_slice(row);
                    }
                    each(rates[r] + 4.0 / self.equations.h * upsilon * gaps[r], slopes);
                }
            }
        }
    }

    pub(in crate::discrete) fn prior_cost(&self, theta: &[f64], mut each: impl FnMut(usize, f64, f64)) {
        for (i, (unknown, theta)) in self.unknowns.iter().zip(theta).enumerate() {
            if let Some([mean, deviation]) = unknown.prior {
                each(i, theta - mean / unknown.scale, (unknown.scale / deviation).powi(2));
            }
        }
    }
}
