//! Support functions of sets in space: how far they reach in a direction.
//!
//! # Assumed
//! What [`Rounding`] promises.
//!
//! # Proven
//! Bounds hold for the direction as given, of any length (it needn't be normalised): a plane with `u.x` above its bound
//! on one set and below it on another separates them, whatever rounding made of `u`.

use crate::enclose::affine::Affine;
use crate::enclose::rounding::Rounding;
use crate::scalar::Scalar;

/// Lower bound of `direction . x` over all points x whose coordinates are held by `point`, symbols shared.
/// -infinity if the direction or the point isn't finite.
pub fn support_below<const N: usize, R: Rounding>(direction: &[f64; 3], point: &[Affine<N, R>; 3]) -> f64 {
    along(direction, point).lower()
}

/// Upper bound of `direction . x` over all points x whose coordinates are held by `point`, symbols shared.
/// Infinity if the direction or the point isn't finite.
pub fn support_above<const N: usize, R: Rounding>(direction: &[f64; 3], point: &[Affine<N, R>; 3]) -> f64 {
    along(direction, point).upper()
}

/// `direction . x`, linear in the symbols.
#[inline]
fn along<const N: usize, R: Rounding>(direction: &[f64; 3], point: &[Affine<N, R>; 3]) -> Affine<N, R> {
    let [u, v, w] = *direction;
    let [x, y, z] = *point;
    x.scale(u) + y.scale(v) + z.scale(w)
}

/// Upper bound of `direction . x` over the zonotope `{ center + sum_i generators[i] e_i : e_i in [-1, 1] }`; infinity if
/// something isn't finite.
///
/// Proof: the supremum is `u.c + sum |u.g_i|`, and `|u.g_i|` is at most its float plus the float's error.
pub fn zonotope_above<R: Rounding>(direction: &[f64; 3], center: &[f64; 3], generators: &[[f64; 3]]) -> f64 {
    let dot = |x: &[f64; 3]| {
        R::product(direction[0], x[0]) + R::product(direction[1], x[1]) + R::product(direction[2], x[2])
    };
    let spread = generators.iter().map(|g| R::split(dot(g)));
    R::upper(spread.fold(dot(center), |sum, (value, error)| sum + R::exact(value.abs()) + R::exact(error)))
}
