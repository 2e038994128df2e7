//! What parameters must fulfil: their bounds, inertias that a body can have, and no turn of the stand about gravity, which no reading tells of.
//!
//! For those who change what is estimated. Gravity is R(tau) g with tau the rotation vector of the tilt. Turning the stand about g first changes nothing, whatever is
//! recorded. Where all three numbers of the tilt are sought, the estimate therefore keeps
//!
//! ```text
//! g' (tau - tau at the start) = 0
//! ```
//!
//! That excludes no direction of gravity and costs nothing: the free direction J_r(tau)^-1 g always has a part along g while |tau| < pi. What is left are two directions, which
//! have deviations.

use nalgebra::{DMatrix, DVector, Vector3};

use super::super::parameters::MechanismParameter;
use super::{DiscreteProblem, SoughtParameter};
use crate::estimate::ParameterModel;

/// Shares of gravity's direction below this are rounding.
const NO_SHARE: f64 = 1e-9;

/// The direction of gravity in a stand that is not tilted, where all three numbers of the tilt are sought and none that turns about it has a prior.
pub(super) fn held_direction(gravity: &Vector3<f64>, unknowns: &[SoughtParameter]) -> Option<Vector3<f64>> {
    let direction = gravity.try_normalize(0.0)?;
    let mut found = 0;
    for unknown in unknowns {
        let MechanismParameter::Tilt(axis) = unknown.parameter else { continue };
        if unknown.prior.is_some() && direction[axis].abs() > NO_SHARE {
            return None;
        }
        found += 1;
    }
    (found == 3).then_some(direction)
}

impl DiscreteProblem {
    /// Share of unknown `i` in the tilt's part along gravity, in its unit of scale; 0 where that part is not held.
    pub(super) fn held_share(&self, i: usize) -> f64 {
        match (self.held_turn, self.unknowns[i].parameter) {
            (Some(direction), MechanismParameter::Tilt(axis)) => direction[axis] * self.unknowns[i].scale,
            _ => 0.0,
        }
    }

    /// Whether the tilt's part along gravity is held.
    pub(in crate::discrete) fn holds_turn(&self) -> bool {
        self.held_turn.is_some()
    }

    /// Whether unknown `i` is that part, and so stays where it starts.
    pub(in crate::discrete) fn is_held(&self, i: usize) -> bool {
        let share = self.held_share(i) / self.unknowns[i].scale;
        1.0 - share * share < NO_SHARE
    }

    /// How far the tilt's part along gravity is from where it started, rad.
    pub(super) fn held_value(&self, theta: &[f64]) -> f64 {
        let off = |(i, t): (usize, &f64)| {
            self.held_share(i) * (t - self.unknowns[i].start / self.unknowns[i].scale)
        };
        theta.iter().enumerate().map(off).sum()
    }

    /// Orthonormal basis, by columns, of the changes of the unknowns that leave that part alone; all changes where nothing is held.
    pub(in crate::discrete) fn free_changes(&self) -> DMatrix<f64> {
        let n = self.unknowns.len();
        let shares = DVector::from_fn(n, |i, _| self.held_share(i));
        let Some(normal) = shares.try_normalize(0.0) else { return DMatrix::identity(n, n) };
        // The reflection that takes the normal to an axis takes the other axes to the basis.
        let axis = normal.iamax();
        let mut mirror = normal.clone();
        mirror[axis] += normal[axis].signum();
        let reflection =
            DMatrix::identity(n, n) - &mirror * mirror.transpose() * (2.0 / mirror.norm_squared());
        reflection.remove_column(axis)
    }

    /// Bodies of which a principal moment is sought, where these are kept such that a body can have them.
    fn kept_bodies(&self) -> Vec<usize> {
        let sought = |b: &usize| {
            let of = |p: &MechanismParameter| matches!(p, MechanismParameter::Inertia(body, _) if body == b);
            self.parameters.iter().any(of)
        };
        if self.consistent { (0..self.mechanism.bodies.len()).filter(sought).collect() } else { vec![] }
    }

    /// Numbers of equations and inequalities.
    pub(super) fn constraint_counts(&self) -> (usize, usize) {
        let bounds =
            |u: &SoughtParameter| usize::from(u.lower.is_finite()) + usize::from(u.upper.is_finite());
        let inequalities = self.unknowns.iter().map(bounds).sum::<usize>() + 3 * self.kept_bodies().len();
        (usize::from(self.holds_turn()), inequalities)
    }

    /// Their values and gradients.
    pub(super) fn constrain(&self, theta: &[f64], out: &mut ParameterModel) {
        if self.holds_turn() {
            (0..theta.len()).for_each(|i| out.equalities[(i, 0)] = self.held_share(i));
            out.equality_values[0] = self.held_value(theta);
        }
        let mut row = 0;
        for (i, unknown) in self.unknowns.iter().enumerate() {
            for (bound, sign) in [(unknown.lower, 1.0), (unknown.upper, -1.0)] {
                if bound.is_finite() {
                    out.inequalities.col_mut(row).fill(0.0);
                    out.inequalities[(i, row)] = sign;
                    out.inequality_values[row] = sign * (theta[i] - bound / unknown.scale);
                    row += 1;
                }
            }
        }
        for body in self.kept_bodies() {
            for largest in 0..3 {
                self.constrain_moment((body, largest), theta, row, out);
                row += 1;
            }
        }
    }

    /// The two other moments together are at least this one, counted in units of the nominal sum of all.
    fn constrain_moment(
        &self,
        (body, largest): (usize, usize),
        theta: &[f64],
        row: usize,
        out: &mut ParameterModel,
    ) {
        let nominal = self.mechanism.bodies[body].inertia_kg_m2;
        let unit = nominal.iter().sum::<f64>();
        out.inequalities.col_mut(row).fill(0.0);
        out.inequality_values[row] = 0.0;
        for axis in 0..3 {
            let sign = if axis == largest { -1.0 } else { 1.0 } / unit;
            let sought = self.parameters.iter().position(|p| *p == MechanismParameter::Inertia(body, axis));
            out.inequality_values[row] += sign
                * match sought {
                    Some(i) => {
                        let scale = self.unknowns[i].scale;
                        out.inequalities[(i, row)] = sign * scale;
                        theta[i] * scale
                    }
                    None => nominal[axis],
                };
        }
    }
}
