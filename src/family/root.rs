//! Square roots of affine forms.
//!
//! # Assumed
//! What [`Rounding`] promises of forms, and [`Interval`]'s operations.
//!
//! # Proven
//! A value held by a form has its root held by the root's form at the same symbols: see [`sqrt`].

use crate::enclose::{Affine, Interval, Rounding};
use crate::scalar::Scalar;

/// The square root of the non-negative part of `x`, as for [`Interval::sqrt`], linear in its symbols where x is above zero.
///
/// Proof. For any slope a > 0 the function g(x) = sqrt(x) - a x is concave, so over [l, u] it is at least the smaller of g(l) and
/// g(u); and it is nowhere above its value 1/(4 a) at x = 1/(4 a^2). So sqrt(x) is a x plus a value between the two, which are evaluated by
/// intervals. The slope of the chord, 1/(sqrt l + sqrt u), makes both ends equal.
pub fn sqrt<const N: usize, R: Rounding>(x: Affine<N, R>) -> Affine<N, R> {
    let (lower, upper) = (x.lower(), x.upper());
    let slope = 1.0 / (lower.max(0.0).sqrt() + upper.sqrt());
    if !(lower > 0.0 && slope > 0.0 && upper < f64::INFINITY) {
        return Affine::from_interval(x.interval().sqrt());
    }
    let a = Interval::constant(slope);
    let end = |x: f64| (Interval::constant(x).sqrt() - a * Interval::constant(x)).lower();
    let top = (Interval::constant(0.25) / a).upper();
    x.scale(slope) + Affine::from_interval(Interval::new(end(lower).min(end(upper)), top))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::enclose::Counted;
    use crate::enclose::twofold::Twofold;

    fn number() -> impl Strategy<Value = f64> {
        let special = [0.0, -0.0, 1e-320, f64::MIN_POSITIVE, 1e-160, 1.0, 1e150, 1.7e308];
        prop_oneof![4 => 0.0..4.0f64, 2 => prop::sample::select(special.to_vec()), 1 => -1.0..0.0f64]
    }

    /// The value held at `e`, in twice the precision.
    fn value(form: &Affine<2, Counted>, e: &[f64; 3]) -> Twofold {
        let start = Twofold::from(form.center()).add(Twofold::product(form.remainder(), e[2]));
        form.generators().iter().zip(e).fold(start, |sum, (g, e)| sum.add(Twofold::product(*g, *e)))
    }

    /// One Newton step from the float.
    fn precise_root(x: Twofold) -> Twofold {
        let s = Twofold::from(x.head.sqrt());
        s.add(x.div(s)).mul(Twofold::from(0.5))
    }

    proptest! {
        #[test]
        fn no_root_escapes(
            center in number(), first in number(), second in number(), remainder in number(),
            share in 0.0..1.2f64,
            e in prop::array::uniform3(prop_oneof![Just(-1.0), Just(1.0), -1.0..=1.0f64]),
        ) {
            // Mostly positive all over; sometimes not.
            let size = (first.abs() + second.abs() + remainder.abs()).max(f64::MIN_POSITIVE);
            let part = |x: f64| share * center.abs() * (x / size);
            let form: Affine<2, Counted> = Affine::new(center, [part(first), part(second)], part(remainder));
            let x = value(&form, &e).head;
            prop_assume!(x >= 0.0 && x.is_finite());
            let root = sqrt(form);
            // Where the range passes the largest float, nothing is known, and nothing is claimed.
            prop_assume!(root.remainder() < f64::INFINITY);
            // The root at the same symbols, its remainder aside: off from the exact one by no more than the remainder. Where the
            // oracle would underflow the float root must do.
            let line = value(&root, &[e[0], e[1], 0.0]);
            let fine = (1e-200..1e200).contains(&x);
            let exact = if fine { precise_root(value(&form, &e)) } else { Twofold::from(x.sqrt()) };
            let off = exact.sub(line).abs().sub(Twofold::from(root.remainder())).head;
            let slack = if fine { 1e-28 } else { 4.0 * f64::EPSILON } * (x.sqrt() + line.head.abs() + root.radius());
            prop_assert!(off <= slack, "{form:?} {root:?} {x}: {off}");
            prop_assert!(root.lower() <= x.sqrt() * (1.0 + f64::EPSILON) && x.sqrt() <= root.upper() * (1.0 + f64::EPSILON));
        }
    }

    #[test]
    fn roots_of_narrow_forms_are_narrow_and_of_nothing_unknown() {
        let form: Affine<2, Counted> = Affine::new(4.0, [0.1, -0.2], 0.0);
        let root = sqrt(form);
        assert!((root.center() - 2.0).abs() < 2e-3 && (root.generators()[0] - 0.025).abs() < 1e-3);
        assert!(root.remainder() < 2e-3);
        for bad in [Affine::<2, Counted>::whole(), Affine::new(f64::NAN, [0.0; 2], 0.0)] {
            assert_eq!(sqrt(bad).upper(), f64::INFINITY);
        }
        // The bound of a form's zero is 2^-453, so that of its root 2^-226.
        let zero = sqrt(Affine::<2, Counted>::constant(-0.0)).interval();
        assert!(zero.contains(0.0) && zero.sup_abs() < 1e-67, "{zero:?}");
        // Nothing of it is a root.
        assert_eq!(sqrt(Affine::<2, Counted>::constant(-1.0)).upper(), f64::INFINITY);
    }
}
