//! Attacks on the enclosures: every test tries to find a value outside.

use std::cmp::Ordering;

use proptest::num::f64::ANY;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::harness::{Expression, N, excess, expression, holds, number, symbols};
use super::{Affine, Counted, Interval, Rounding, rounding::Tally, sine};
use crate::enclose::twofold::Twofold;
use crate::scalar::Scalar;

/// `mantissa * 2^exponent`, exactly.
fn dyadic(x: f64) -> (i128, i32) {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i128;
    let (m, e) = if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) };
    (if x < 0.0 { -m } else { m }, e)
}

fn compare((m, e): (i128, i32), (n, f): (i128, i32)) -> Ordering {
    if m.signum() != n.signum() || m == 0 {
        return m.signum().cmp(&n.signum());
    }
    let length = |m: i128, e: i32| (128 - m.unsigned_abs().leading_zeros()) as i32 + e;
    let by_length = length(m, e).cmp(&length(n, f));
    let magnitude = by_length.then_with(|| {
        let common = e.min(f);
        (m.unsigned_abs() << (e - common)).cmp(&(n.unsigned_abs() << (f - common)))
    });
    if m < 0 { magnitude.reverse() } else { magnitude }
}

/// Whether `bound <= a b`, in exact arithmetic.
fn at_most_product(bound: f64, a: f64, b: f64) -> bool {
    let ((m, e), (n, f)) = (dyadic(a), dyadic(b));
    bound == f64::NEG_INFINITY || (bound.is_finite() && compare(dyadic(bound), (m * n, e + f)).is_le())
}

fn between_product(set: Interval, a: f64, b: f64) -> bool {
    at_most_product(set.lower(), a, b) && at_most_product(-set.upper(), -a, b)
}

/// Whether `bound <= a + b`, in exact arithmetic.
fn at_most_sum(bound: f64, a: f64, b: f64) -> bool {
    // Halved twice, nothing overflows; the bits that subnormal numbers lose matter only if the sum is exact anyway.
    let sum = a + b;
    if sum.abs() < 1e-290 {
        return bound <= sum;
    }
    let sum = Twofold::new(a * 0.25, 0.0).add(Twofold::from(b * 0.25));
    bound == f64::NEG_INFINITY || sum.sub(Twofold::from(bound * 0.25)).head >= 0.0
}

fn finite() -> impl Strategy<Value = f64> {
    let special = [0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324, 1.0, 1e-160, -1e155];
    prop_oneof![4 => ANY.prop_filter("finite", |x| x.is_finite()), 2 => number(), 1 => prop::sample::select(special.to_vec())]
}

/// Angles of all sizes.
fn angle() -> impl Strategy<Value = f64> {
    let special = [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        1e-300,
        -1e-160,
        1e-8,
        1.0,
        1e5,
        1e5_f64.next_up(),
        1e300,
        f64::MAX,
    ];
    prop_oneof![3 => prop::sample::select(special.to_vec()), 1 => -7.0..7.0_f64, 1 => -1e5..1e5_f64]
}

/// Any interval, and a number inside.
fn interval() -> impl Strategy<Value = (Interval, f64)> {
    (finite(), finite(), finite()).prop_map(|(a, b, c)| {
        let set = Interval::new(a.min(b).min(c), a.max(b).max(c));
        let mut inside = [a, b, c];
        inside.sort_by(f64::total_cmp);
        (set, inside[1])
    })
}

fn sane(set: Interval) -> bool {
    set.lower() <= set.upper() && set.lower() < f64::INFINITY && set.upper() > f64::NEG_INFINITY
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn interval_arithmetic_contains_exact_results((x, a) in interval(), (y, b) in interval()) {
        for (x, y) in [(x, y), (Interval::constant(a), Interval::constant(b))] {
            let sum = x + y;
            prop_assert!(sane(sum) && at_most_sum(sum.lower(), a, b) && at_most_sum(-sum.upper(), -a, -b));
            let difference = x - y;
            prop_assert!(sane(difference) && at_most_sum(difference.lower(), a, -b));
            prop_assert!(at_most_sum(-difference.upper(), -a, b));
            prop_assert!(sane(x * y) && between_product(x * y, a, b));
            prop_assert!(sane(x.sqr()) && x.sqr().lower() >= 0.0 && between_product(x.sqr(), a, a));
            prop_assert!(sane(x.scale(b)) && between_product(x.scale(b), a, b));
            prop_assert!((x * Interval::constant(b)).encloses(x.scale(b)));
            prop_assert!(x.abs().contains(a.abs()) && x.sup_abs() >= a.abs() && (-x).contains(-a));
            prop_assert!(x.hull(y).encloses(x) && x.hull(y).encloses(y));
            if let Some(both) = x.intersect(y) {
                prop_assert!(x.encloses(both) && y.encloses(both));
            } else {
                prop_assert!(!x.contains(b) || !y.contains(b));
            }
        }
    }

    #[test]
    fn quotients_and_roots_contain_exact_results((x, a) in interval(), (y, b) in interval()) {
        for (x, y) in [(x, y), (Interval::constant(a), Interval::constant(b))] {
            let quotient = x / y;
            prop_assert!(sane(quotient));
            if b != 0.0 {
                // lower <= a/b is lower |b| <= a sign(b).
                let (lo, hi, a) = (quotient.lower(), quotient.upper(), a * b.signum());
                prop_assert!(lo == f64::NEG_INFINITY || at_most_product(-a, -lo, b.abs()));
                prop_assert!(hi == f64::INFINITY || at_most_product(a, hi, b.abs()));
            }
            // No wider than the quotients of the ends, each rounded on its own.
            let ends = [x.lower() / y.lower(), x.lower() / y.upper(), x.upper() / y.lower(), x.upper() / y.upper()];
            if !y.contains(0.0) && ends.iter().all(|end| end.is_finite()) {
                prop_assert!(quotient.lower() >= ends.iter().fold(f64::INFINITY, |m, &x| m.min(x)).next_down());
                prop_assert!(quotient.upper() <= ends.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x)).next_up());
            }
            let root = x.sqrt();
            prop_assert!(sane(root));
            if a >= 0.0 {
                prop_assert!(at_most_product(-a, -root.lower(), root.lower()));
                prop_assert!(at_most_product(a, root.upper(), root.upper()));
            }
        }
    }

    #[test]
    fn nothing_becomes_nan_or_shrinks(a in ANY, b in ANY, c in ANY, d in ANY) {
        let (x, y) = (Interval::new(a, b), Interval::new(c, d));
        if a.is_nan() || b.is_nan() {
            prop_assert_eq!(x, Interval::WHOLE);
        }
        let trigonometric = x.sin_cos();
        for set in [x, x + y, x - y, x * y, x / y, x.sqr(), x.sqrt(), x.scale(c), Interval::around(a, b), trigonometric.0, trigonometric.1] {
            prop_assert!(sane(set));
            prop_assert!(set.contains(set.midpoint()));
            prop_assert!(set.radius() >= 0.0 && set.width() >= 0.0);
        }
    }

    #[test]
    fn midpoint_and_radius_cover((x, _) in interval()) {
        let (c, r) = (x.midpoint(), x.radius());
        prop_assert!(at_most_sum(-r, x.lower(), -c) && at_most_sum(-r, -x.upper(), c));
    }

    #[test]
    fn sine_of_ranges_contains_exact_values(c in -2e3..2e3_f64, r in prop_oneof![Just(0.0), 0.0..1e-6, 0.0..7.0_f64], t in -1.0..=1.0_f64) {
        let range = Interval::new(c - r, c + r);
        let x = (c + t * r).clamp(range.lower(), range.upper());
        check_sine(range.sin_cos(), x, 0.0)?;
        #[cfg(feature = "inari")]
        check_sine(sine::over::<inari::Interval>(range), x, 0.0)?;
    }

    #[test]
    fn sine_of_points_is_contained_and_tight(x in prop_oneof![-10.0..10.0_f64, -1e5..1e5_f64, -1e-3..1e-3_f64], n in -60_000..60_000_i32) {
        for x in [x, f64::from(n) * std::f64::consts::FRAC_PI_2] {
            check_sine(Interval::constant(x).sin_cos(), x, 2e-15)?;
            #[cfg(feature = "inari")]
            check_sine(sine::over::<inari::Interval>(Interval::constant(x)), x, 2e-15)?;
        }
    }

    #[test]
    fn sine_of_tiny_huge_and_signed_zeros_is_contained(x in angle(), y in angle(), at in -1.0..=1.0_f64) {
        let range = Interval::new(x.min(y), x.max(y));
        for angle in [x, y, -x, -y].into_iter().filter(|x| range.contains(*x) && x.abs() <= sine::LARGEST_ANGLE) {
            check_sine(range.sin_cos(), angle, 0.0)?;
            check_sine(Interval::constant(angle).sin_cos(), angle, 2e-15)?;
        }
        // A form from x to y, with and without a symbol; where not even its centre is reduced, all of [-1, 1].
        let (middle, half) = (range.midpoint(), range.radius());
        for form in [Affine::<N>::new(middle, [half, 0.0, 0.0, 0.0], 0.0), Affine::new(middle, [0.0; N], half), Affine::constant(x)] {
            let (s, c) = (form.sin_cos().0.interval(), form.sin_cos().1.interval());
            let value = form.center() + at * (form.generators()[0] + form.remainder());
            let value = value.clamp(form.lower(), form.upper());
            if value.abs() <= 2.0 * sine::LARGEST_ANGLE {
                check_sine((s, c), value, 0.0)?;
            } else {
                prop_assert!(s.encloses(Interval::new(-1.0, 1.0)) && c.encloses(Interval::new(-1.0, 1.0)), "{form:?}: {s:?}");
            }
        }
    }

    #[test]
    fn forms_hold_the_values_of_expressions(f in expression(), e in symbols()) {
        prop_assert!(holds::<Counted>(&f, &e, 1.0));
        #[cfg(feature = "inari")]
        prop_assert!(holds::<crate::enclose::second::Directed>(&f, &e, 1.0));
    }

    #[test]
    fn scaled_by_powers_of_two_forms_still_hold(
        x in prop::array::uniform6(number()), y in prop::array::uniform6(number()), e in symbols(),
        at in (-1.0..=1.0_f64, -1.0..=1.0_f64), k in prop::sample::select(vec![-1070, -1022, -540, -530, -400, 300, 500, 510, 1010]),
    ) {
        extremes::<Counted>(&x, &y, &e, at, k)?;
        #[cfg(feature = "inari")]
        extremes::<crate::enclose::second::Directed>(&x, &y, &e, at, k)?;
    }

    #[test]
    fn forms_of_any_bits_are_never_nan(x in prop::array::uniform6(ANY), y in prop::array::uniform6(ANY), k in ANY) {
        any_bits::<Counted>(&x, &y, k)?;
        #[cfg(feature = "inari")]
        any_bits::<crate::enclose::second::Directed>(&x, &y, k)?;
    }
}

/// Whether the enclosures contain sine and cosine of `x`, and are at most `tight` wide unless that is zero.
fn check_sine((s, c): (Interval, Interval), x: f64, tight: f64) -> Result<(), TestCaseError> {
    let exact = Twofold::from(x).sin_cos();
    for (set, exact) in [(s, exact.0), (c, exact.1)] {
        let below = exact.sub(Twofold::from(set.lower())).head;
        let above = Twofold::from(set.upper()).sub(exact).head;
        prop_assert!(below >= -1e-26 && above >= -1e-26, "{set:?} misses {exact:?} by {below:e} {above:e}");
        prop_assert!(tight == 0.0 || set.width() <= tight, "{set:?} is {:e} wide", set.width());
    }
    Ok(())
}

fn form<R: Rounding>(x: &[f64; 6]) -> Affine<N, R> {
    Affine::new(x[0], [x[1], x[2], x[3], x[4]], x[5].abs())
}

/// Sums and products of forms near underflow and overflow, against the same ones computed around 1.
fn extremes<R: Rounding>(
    x: &[f64; 6],
    y: &[f64; 6],
    e: &[f64; N],
    at: (f64, f64),
    k: i32,
) -> Result<(), TestCaseError> {
    let shift = |x: f64, k: i32| (0..k.abs()).fold(x, |x, _| if k > 0 { x * 2.0 } else { x * 0.5 });
    // What is tested is what is left of the numbers after shifting, brought back exactly.
    let (small_x, small_y) = (x.map(|x| shift(x, k)), y.map(|y| shift(y, k)));
    if small_x.iter().chain(&small_y).any(|x| !x.is_finite()) {
        return Ok(());
    }
    let (x, y) = (small_x.map(|x| shift(x, -k)), small_y.map(|y| shift(y, -k)));
    let value = |x: &[f64; 6], at: f64| {
        let leaf = Expression::Leaf {
            center: x[0],
            generators: [x[1], x[2], x[3], x[4]],
            remainder: x[5].abs(),
            at,
        };
        leaf.value(e)
    };
    let ((vx, mx), (vy, my)) = (value(&x, at.0), value(&y, at.1));
    let (fx, fy) = (form::<R>(&small_x), form::<R>(&small_y));
    let cases = [
        (fx + fy, vx.add(vy), mx + my, k),
        (fx - fy, vx.sub(vy), mx + my, k),
        (fx * fy, vx.mul(vy), mx * my, 2 * k),
        (fx.scale(small_y[0]), vx.mul(Twofold::from(y[0])), mx * y[0].abs(), 2 * k),
    ];
    // Symbols that are not kept apart may have any value.
    let fewer = fx.with_symbols::<2>();
    let cases = cases.into_iter().chain([(fewer.with_symbols(), vx, mx, k)]);
    for (form, exact, mass, k) in cases {
        let back = |x: f64| shift(x, -k);
        let out = excess(back(form.center()), &form.generators().map(back), back(form.remainder()), e, exact);
        prop_assert!(out.is_nan() || out <= 1e-28 * mass, "{form:?} misses by {out:e} at 2^{k}");
        prop_assert!(!out.is_nan() || back(form.remainder()) == f64::INFINITY);
    }
    let [g0, g1, g2, g3] = *fx.generators();
    let more = fx.with_symbols::<6>();
    prop_assert_eq!(*more.generators(), [g0, g1, g2, g3, 0.0, 0.0]);
    // Underflow is paid for with a lump.
    let rounded_up = |x: f64| x * (1.0 + 1e-14) + 1e-119;
    prop_assert!(fewer.remainder() <= rounded_up(fx.remainder() + g2.abs() + g3.abs()));
    prop_assert!(more.with_symbols::<N>().remainder() <= rounded_up(fx.remainder()));
    Ok(())
}

/// All operations on arbitrary bits give a form that is either finite or the whole line.
fn any_bits<R: Rounding>(x: &[f64; 6], y: &[f64; 6], k: f64) -> Result<(), TestCaseError> {
    let (a, b) = (form::<R>(x), form::<R>(y));
    let whole = Affine::<N, R>::whole();
    prop_assert!(x.iter().all(|x| x.is_finite()) || a == whole);
    let from = Affine::from_interval(Interval::new(x[0], x[1]));
    let (s, c) = a.sin_cos();
    for form in [
        a,
        -a,
        a + b,
        a - b,
        a * b,
        a.scale(k),
        a.widen(k),
        from,
        s,
        c,
        Affine::symbol(2, k),
        Affine::symbol(9, k),
    ] {
        let finite = form.center().is_finite() && form.generators().iter().all(|g| g.is_finite());
        prop_assert!(finite && form.remainder() >= 0.0, "{form:?}");
        prop_assert!(form == whole || form.remainder() < f64::INFINITY);
        prop_assert!(form.lower() <= form.upper() && form.radius() >= form.remainder());
        prop_assert!(
            form.sup_abs() >= form.upper().abs().max(form.lower().abs()).min(f64::MAX)
                || form.sup_abs() == f64::INFINITY
        );
    }
    for form in [a + whole, whole - a, a * whole, whole.scale(k), whole.widen(k), Affine::constant(f64::NAN)]
    {
        prop_assert_eq!(form, whole);
    }
    prop_assert!(whole.sin_cos().0.interval().encloses(Interval::new(-1.0, 1.0)));
    Ok(())
}

/// A mutant that forgets all rounding errors.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Careless;

impl Rounding for Careless {
    type Real = Tally;
    type Enclosure = Interval;
    fn exact(x: f64) -> Tally {
        Counted::exact(x)
    }
    fn product(a: f64, b: f64) -> Tally {
        Counted::product(a, b)
    }
    fn total<const M: usize>(terms: &[f64; M]) -> Tally {
        Counted::total(terms)
    }
    fn magnitude<const M: usize>(terms: &[f64; M]) -> Tally {
        Counted::magnitude(terms)
    }
    fn split(x: Tally) -> (f64, f64) {
        (Counted::split(x).0, 0.0)
    }
    fn lower(x: Tally) -> f64 {
        Self::split(x).0
    }
    fn upper(x: Tally) -> f64 {
        Self::split(x).0
    }
}

#[test]
fn the_harness_catches_mutants() {
    let mut runner = TestRunner::deterministic();
    let (mut careless, mut dropped, mut sound) = (0, 0, 0);
    for _ in 0..2000 {
        let f = expression().new_tree(&mut runner).expect("strategy").current();
        let e = symbols().new_tree(&mut runner).expect("strategy").current();
        sound += usize::from(!holds::<Counted>(&f, &e, 1.0));
        careless += usize::from(!holds::<Careless>(&f, &e, 1.0));
        dropped += usize::from(!holds::<Counted>(&f, &e, 0.0));
    }
    println!("of 2000 expressions, caught: without remainder {dropped}, without rounding errors {careless}");
    assert_eq!(sound, 0);
    assert!(careless > 50, "only {careless}");
    assert!(dropped > 500, "only {dropped}");
}

#[test]
fn products_of_common_symbols_are_tight() {
    // x^2 for x in [-1, 1] is in [0, 1], and the form knows it.
    let x = Affine::<16>::symbol(3, 1.0);
    let square = (x * x).interval();
    assert!(square.lower() > -1e-14 && square.upper() < 1.0 + 1e-14, "{square:?}");
    let y = Affine::<16>::symbol(4, 1.0);
    let product = (x * y).interval();
    assert!(product.lower() > -1.0 - 1e-14 && product.upper() < 1.0 + 1e-14, "{product:?}");
    let nothing = x + y - y - x;
    assert!(nothing.sup_abs() < 1e-14);
}

#[test]
fn sine_is_of_second_order() {
    for (center, radius) in [(0.3, 0.1), (1.5, 0.01), (-2.0, 0.5), (40.0, 0.99)] {
        let (s, c) = (Affine::<4>::constant(center) + Affine::symbol(0, radius)).sin_cos();
        for (form, value, slope) in [(s, center.sin(), center.cos()), (c, center.cos(), -center.sin())] {
            let bound = value.abs() * radius * radius / 4.0 + slope.abs() * radius.powi(3) / 19.0 + 1e-14;
            assert!(form.remainder() <= bound, "{form:?} {bound}");
            assert!((form.generators()[0] - slope * radius).abs() <= radius.powi(3) / 7.0 + 1e-14);
        }
    }
    let (s, _) = (Affine::<4>::constant(0.0) + Affine::symbol(0, 2.0)).sin_cos();
    assert!(s.sup_abs() < 1.0 + 1e-12);
}

#[test]
fn ranges_of_the_sine_are_tight() {
    use std::f64::consts::PI;
    let near = |x: f64, y: f64| (x - y).abs() < 1e-12;
    for (lo, hi, sine, cosine) in [
        (0.1, 0.2, (0.1_f64.sin(), 0.2_f64.sin()), (0.2_f64.cos(), 0.1_f64.cos())),
        (1.0, 2.0, (1.0_f64.sin(), 1.0), (2.0_f64.cos(), 1.0_f64.cos())),
        (-0.5, 4.0, (4.0_f64.sin(), 1.0), (-1.0, 1.0)),
        (PI, 1.5 * PI, (-1.0, 0.0), (-1.0, 0.0)),
        (-0.1, 6.0, (-1.0, 1.0), (-1.0, 1.0)),
    ] {
        let (s, c) = Interval::new(lo, hi).sin_cos();
        assert!(near(s.lower(), sine.0) && near(s.upper(), sine.1), "{lo} {hi} {s:?}");
        assert!(near(c.lower(), cosine.0) && near(c.upper(), cosine.1), "{lo} {hi} {c:?}");
    }
    for x in [f64::NAN, f64::INFINITY, 1.1e5, -1e300] {
        let (s, c) = sine::point::<Interval>(x);
        assert_eq!((s, c), (Interval::new(-1.0, 1.0), Interval::new(-1.0, 1.0)));
    }
    let tiny = Interval::constant(1e-300).sin_cos().0;
    assert!(tiny.lower() > 0.999e-300 && tiny.upper() < 1.001e-300, "{tiny:?}");
}

#[test]
fn the_digits_of_pi_are_right() {
    let tail = Twofold::quarter_pi().mul(Twofold::from(2.0)).sub(Twofold::from(sine::HEAD));
    let above_lower = tail.sub(Twofold::from(sine::TAIL_BELOW)).head;
    let below_upper = Twofold::from(sine::TAIL_ABOVE).sub(tail).head;
    // The bounds are 1.3e-26 apart, the oracle is good to 1e-31.
    assert!(above_lower > 1e-30 && below_upper > 1e-30 && above_lower + below_upper < 1.4e-26);
    assert_eq!(
        sine::HEAD.to_bits().trailing_zeros(),
        22,
        "more than 33 bits: products with turns would round"
    );
}

#[test]
fn zeros_stay_zeros() {
    let zero = Interval::constant(0.0);
    assert_eq!(zero + zero, zero);
    assert_eq!(zero * Interval::new(-2.0, 3.0), zero);
    assert_eq!(zero / Interval::new(2.0, 3.0), zero);
    // ... but not where a NaN may have been.
    assert_eq!(zero * Interval::constant(f64::NAN), Interval::WHOLE);
    assert_eq!(zero * Interval::constant(f64::NAN).abs(), Interval::WHOLE);
    assert_eq!(Interval::new(-4.0, -1.0).sqrt(), Interval::WHOLE);
    assert_eq!(Interval::constant(0.0).sqrt(), zero);
}
