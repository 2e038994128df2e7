//! Bounds of a form over the states that the tube really holds: ellipsoids of tracking errors, not the boxes around them.
//!
//! # Assumed, and proven
//! Assumed: the tube of [`super::tube`] with its floor, and forms of [`super::cell`]. For it, with M >= A = diag(A_j): sum A_j r_j^2 <= r'Mr = 2 V, so with the radii r_radius_j >= sqrt(2 V / A_j) of [`super::cell`] the symbols
//! x_j = r_j / r_radius_j satisfy sum x_j^2 <= 1. And e is r through a first-order lag: K_r e(t) is K_r e(0) e^(-K_r t) plus
//! an integral of r with positive weights, which with e^(-K_r t) add up to one: a convex combination of points of the
//! convex set that r stays in, if K_r e(0) is one ([`crate::certify::switch`]). So the
//! symbols y_j = e_j / e_radius_j satisfy sum y_j^2 <= 1 too.
//!
//! Over such x and y, and |time symbol| <= 1, a linear form is at most |g_time| + |g_e| + |g_r| away from its centre, with Euclidean
//! norms of its coefficients (Cauchy-Schwarz). What the remainder holds was bounded over the boxes, which contain the ellipsoids.

use super::cell::{TIME, position_symbol};
use super::upward::{add_up, mul_up, sum_up};
use crate::dynamics::vec3::Vec3;
use crate::enclose::{Affine, Rounding};
use crate::scalar::Scalar;

/// Upper bound of |form - centre|.
pub fn spread<const N: usize, R: Rounding>(form: &Affine<N, R>) -> f64 {
    let generators = form.generators();
    // Symbols: time, then e and r of each joint in turn.
    let norm = |first: usize| {
        let squares = generators.iter().skip(first).step_by(2).map(|&g| R::product(g, g));
        R::upper(squares.fold(R::exact(0.0), |sum, x| sum + x)).sqrt().next_up()
    };
    let first = position_symbol(0);
    sum_up([generators[TIME].abs(), norm(first), norm(first + 1), form.remainder()])
}

/// Lower bound.
pub fn lower<const N: usize, R: Rounding>(form: &Affine<N, R>) -> f64 {
    -add_up(spread(form), -form.center())
}

/// Upper bound.
pub fn upper<const N: usize, R: Rounding>(form: &Affine<N, R>) -> f64 {
    add_up(spread(form), form.center())
}

/// Upper bound of the absolute value.
pub fn sup_abs<const N: usize, R: Rounding>(form: &Affine<N, R>) -> f64 {
    add_up(spread(form), form.center().abs())
}

/// Lower bound of `direction . point`; -infinity if one of them isn't finite.
pub fn support_below<const N: usize, R: Rounding>(direction: &[f64; 3], point: &Vec3<Affine<N, R>>) -> f64 {
    let [u, v, w] = *direction;
    let [x, y, z] = *point;
    lower(&(x.scale(u) + y.scale(v) + z.scale(w)))
}

/// Upper bound of how far `point` is from the line that it would follow without tracking errors, m: the square root of
/// the sum of squares of what each coordinate owes to all but time.
pub fn growth<const N: usize, R: Rounding>(point: &Vec3<Affine<N, R>>) -> f64 {
    let beyond = |x: &Affine<N, R>| {
        let mut still = *x.generators();
        still[TIME] = 0.0;
        spread(&Affine::<N, R>::new(0.0, still, x.remainder()))
    };
    let squares = point.iter().map(|x| mul_up(beyond(x), beyond(x)));
    sum_up(squares).sqrt().next_up()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::enclose::Counted;

    fn unit(x: [f64; 3]) -> [f64; 3] {
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.map(|x| if length > 0.0 { x / length } else { 0.0 })
    }

    proptest! {
        #[test]
        fn no_state_of_the_ellipsoids_escapes(
            center in -5.0..5.0f64,
            generators in prop::array::uniform8(-1.0..1.0f64),
            remainder in 0.0..0.1f64,
            time in -1.0..=1.0f64,
            e in prop::array::uniform3(-1.0..1.0f64),
            r in prop::array::uniform3(-1.0..1.0f64),
            sign in prop::bool::ANY,
        ) {
            let mut all = generators;
            all[7] = 0.0;
            let form: Affine<8, Counted> = Affine::new(center, all, remainder);
            let value = |e: [f64; 3], r: [f64; 3]| {
                let errors: f64 = (0..3).map(|j| all[1 + 2 * j] * e[j] + all[2 + 2 * j] * r[j]).sum();
                center + all[0] * time + errors + if sign { remainder } else { -remainder }
            };
            let x = value(unit(e), unit(r));
            prop_assert!(lower(&form) <= x + 1e-12 && x <= upper(&form) + 1e-12);
            prop_assert!(x.abs() <= sup_abs(&form) + 1e-12);
            // The worst state is reached, up to the time symbol and the remainder.
            let e = unit([all[1], all[3], all[5]]);
            let r = unit([all[2], all[4], all[6]]);
            let worst = value(e, r) - all[0] * time + all[0].abs() + if sign { 0.0 } else { 2.0 * remainder };
            prop_assert!(upper(&form) <= worst + 1e-12);
            // And the bound is not below it.
            let (top, away) = (worst, worst - center);
            prop_assert!(upper(&form) >= top - 1e-12 && lower(&form) <= center - away + 1e-12);
            prop_assert!(spread(&form) >= away - 1e-12 && sup_abs(&form) >= away + center.abs() - 1e-12);
            let point = [form, Affine::constant(0.0), Affine::constant(0.0)];
            let below = support_below(&[-1.0, 0.0, 0.0], &point);
            prop_assert!(below <= -top + 1e-12 && below >= -top - 1e-9);
        }
    }

    #[test]
    fn what_is_not_finite_bounds_nothing() {
        let whole = Affine::<8, Counted>::whole();
        assert_eq!((lower(&whole), upper(&whole)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(support_below(&[f64::NAN, 0.0, 0.0], &[whole; 3]), f64::NEG_INFINITY);
        assert_eq!(growth(&[whole; 3]), f64::INFINITY);
    }
}
