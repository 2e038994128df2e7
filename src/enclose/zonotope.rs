//! Support function of a zonotope in space: how far it reaches in a direction.
//!
//! # Assumed
//! What [`Rounding`] promises.
//!
//! # Proven
//! The bound holds for the direction as given, of any length (it needn't be normalised): a plane with `u.x` above its bound
//! on one set and below it on another separates them, whatever rounding made of `u`.

use crate::enclose::rounding::Rounding;

/// Upper bound of `direction . x` over the zonotope `{ center + sum_i generators[i] e_i : e_i in [-1, 1] }`; infinity if
/// something isn't finite.
///
/// Proof: the supremum is `u.c + sum |u.g_i|`, and `|u.g_i|` is at most its float plus the float's error.
pub fn zonotope_above<'a, R: Rounding>(
    direction: &[f64; 3],
    center: &[f64; 3],
    generators: impl IntoIterator<Item = &'a [f64; 3]>,
) -> f64 {
    let dot = |x: &[f64; 3]| {
        R::product(direction[0], x[0]) + R::product(direction[1], x[1]) + R::product(direction[2], x[2])
    };
    let spread = generators.into_iter().map(|g| R::split(dot(g)));
    R::upper(spread.fold(dot(center), |sum, (value, error)| sum + R::exact(value.abs()) + R::exact(error)))
}
