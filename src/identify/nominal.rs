//! The nominal estimate: the most plausible body, for feed-forward control. No guarantee rests on it.

use nalgebra::{Cholesky, DMatrix, DVector, SMatrix, SVector};

use super::polytope::Polytope;
use crate::inertia::Coordinates;
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::check_physical;
use crate::regression::consistent::Quadratic;

type Matrix10 = SMatrix<f64, INERTIAL, INERTIAL>;
type Vector10 = SVector<f64, INERTIAL>;

/// Minimises || (Y z - u)/radius ||^2 + || (z_r - c_r)/r_r ||^2 over physically consistent bodies theta(eta) and the
/// other parameters z_r (centre c_r, half-width r_r of their box), then moves the body into the box.
///
/// The z_r enter linearly and are eliminated first: the same F_c or link mass is then blamed for the same
/// misfit in every window instead of the payload. What remains is a quadratic in theta, minimised over the log-Cholesky
/// coordinates by damped Newton steps with its exact Hessian ([`Quadratic::minimise`]), from `inside`. Where the
/// data ask for a body flatter than any (the minimum lies on the border of physical consistency), the scale of the
/// body about its centre of mass is kept above 2 mm.
///
/// A minimiser outside the box is pulled in along the straight line towards `inside` (a physically consistent
/// body in the box), as little as necessary; both ends being consistent, so is every point between, J being linear.
/// Without data, or if `inside` is not physically consistent, the result is `inside`.
pub fn estimate(polytope: &Polytope, inside: &[f64; INERTIAL]) -> [f64; INERTIAL] {
    let wanted = reduced_quadratic(polytope)
        .and_then(|quadratic| quadratic.minimise(Coordinates::LogCholesky, inside).ok())
        .map(|fit| fit.theta)
        .filter(|theta| check_physical(theta).is_ok());
    pull_inside(polytope, wanted.as_ref().unwrap_or(inside), inside)
}

/// The misfit as a function of the body alone, the other parameters where they suit it best; `None` without rows.
pub(super) fn reduced_quadratic(polytope: &Polytope) -> Option<Quadratic> {
    let (rows, set, offset) = (&polytope.rows, &polytope.set, polytope.cuts.offset);
    if rows.is_empty() {
        return None;
    }
    let (center, half) = (DVector::from_vec(set.center()), set.radius());
    let mut y = rows.y.clone();
    let mut residual = DVector::from_column_slice(&rows.u) - &y * &center;
    for w in 0..rows.len() {
        let weight = 1.0 / rows.radius[w].max(f64::MIN_POSITIVE.sqrt());
        residual[w] *= weight;
        y.row_mut(w).scale_mut(weight);
    }
    let body = y.columns(offset, INERTIAL).into_owned();
    // Unknowns of the rest in units of their half-widths: their prior is then the identity, and a parameter that is
    // known exactly has a zero column.
    let mut rest = y.remove_columns(offset, INERTIAL);
    for (k, mut column) in rest.column_iter_mut().enumerate() {
        column *= half[if k < offset { k } else { k + INERTIAL }];
    }
    let transposed = rest.transpose();
    let prior = DMatrix::identity(rest.ncols(), rest.ncols());
    let normal = Cholesky::new(&transposed * &rest + prior)?;
    // (1 + R R')^-1 = 1 - R (1 + R'R)^-1 R'.
    let cleaned = |x: &DMatrix<f64>| x - &rest * normal.solve(&(&transposed * x));
    let body_transposed = body.transpose();
    let s_matrix = &body_transposed * cleaned(&body);
    let s_vector =
        &body_transposed * cleaned(&DMatrix::from_column_slice(rows.len(), 1, residual.as_slice()));
    Some(Quadratic {
        center: center.fixed_rows::<INERTIAL>(offset).into_owned(),
        curvature: Matrix10::from_column_slice(s_matrix.as_slice()),
        slope: Vector10::from_column_slice(s_vector.as_slice()),
    })
}

fn pull_inside(polytope: &Polytope, wanted: &[f64; INERTIAL], inside: &[f64; INERTIAL]) -> [f64; INERTIAL] {
    let offset = polytope.cuts.offset;
    let bounds = |i: usize| (polytope.set.lower()[offset + i], polytope.set.upper()[offset + i]);
    let mut share = 1.0_f64;
    for i in 0..INERTIAL {
        let (lower, upper) = bounds(i);
        let (from, to) = (inside[i].clamp(lower, upper), wanted[i]);
        if to > upper {
            share = share.min((upper - from) / (to - from));
        } else if to < lower {
            share = share.min((from - lower) / (from - to));
        }
    }
    // The clamp covers rounding, and an `inside` that is not quite in the box.
    std::array::from_fn(|i| {
        let (lower, upper) = bounds(i);
        (inside[i] + share * (wanted[i] - inside[i])).clamp(lower, upper)
    })
}
