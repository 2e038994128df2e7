//! Random expressions of polynomial zonotopes, held against numbers of twice the precision at random k.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::enclose::twofold::Twofold;

type Form = Polynomial<12, 3>;

/// Factors in use.
const N: usize = 5;

/// A form and a number that it must hold at k.
#[derive(Debug, Clone, Copy)]
struct Held {
    form: Form,
    value: Twofold,
}

/// The polynomial at k, in twice the precision.
fn at(form: &Form, k: &[f64]) -> Twofold {
    form.terms().fold(Twofold::from(0.0), |sum, (exponent, c)| {
        let mut term = Twofold::from(c);
        for (i, &x) in k.iter().enumerate() {
            for _ in 0..(exponent >> (4 * i)) & 0xf {
                term = term.mul(Twofold::from(x));
            }
        }
        sum.add(term)
    })
}

fn holds(held: &Held, k: &[f64], slack: f64) -> bool {
    let off = held.value.sub(at(&held.form, k)).abs().sub(Twofold::from(held.form.remainder())).head;
    let (slice, hull, x) = (held.form.slice(k), held.form.interval(), held.value.head);
    let near = |set: Interval| set.lower() <= x + slack && x - slack <= set.upper();
    off <= slack && near(slice) && near(hull)
}

fn share(rng: &mut ChaCha8Rng) -> f64 {
    match rng.random_range(0..4) {
        0 => -1.0,
        1 => 1.0,
        2 => 0.0,
        _ => rng.random_range(-1.0..=1.0),
    }
}

fn leaf(k: &[f64], size: f64, rng: &mut ChaCha8Rng) -> Held {
    let center = [0.0, -0.0, 1.0, 2.0 + rng.random_range(-0.5..0.5), rng.random_range(-3.0..3.0), 1e-9, 1e3];
    let center = center[rng.random_range(0..center.len())];
    let (mut form, mut value) = (Form::constant(center), Twofold::from(center));
    for i in 0..N {
        if rng.random_bool(0.6) {
            let g = size * rng.random_range(-1.0..1.0);
            form = form + Form::factor(i, g);
            value = value.add(Twofold::product(g, k[i]));
        }
    }
    let remainder = size * 0.1 * rng.random_range(0.0..1.0);
    Held { form: form.widen(remainder), value: value.add(Twofold::product(remainder, share(rng))) }
}

/// Square root in twice the precision: one Newton step from the float.
fn root(x: Twofold) -> Twofold {
    let s = Twofold::from(x.head.sqrt());
    s.add(x.div(s)).mul(Twofold::from(0.5))
}

fn step(x: Held, y: Held, rng: &mut ChaCha8Rng) -> Held {
    match rng.random_range(0..8) {
        0 => Held { form: x.form + y.form, value: x.value.add(y.value) },
        1 => Held { form: x.form - y.form, value: x.value.sub(y.value) },
        2..=4 => Held { form: x.form * y.form, value: x.value.mul(y.value) },
        5 => {
            let factor = [0.0, -0.0, 1.0, 0.3, -2.5][rng.random_range(0..5)];
            Held { form: x.form.scale(factor), value: x.value.mul(Twofold::from(factor)) }
        }
        6 if x.form.interval().lower() > 0.0 => Held { form: x.form.sqrt(), value: root(x.value) },
        _ if x.value.head.abs() < 1e6 => {
            let ((sine, cosine), (s, c)) = (x.form.sin_cos(), x.value.sin_cos());
            if rng.random() { Held { form: sine, value: s } } else { Held { form: cosine, value: c } }
        }
        _ => Held { form: -x.form, value: x.value.neg() },
    }
}

#[test]
fn no_value_escapes_an_expression() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut checked, mut curved) = (0, 0);
    for _ in 0..6000 {
        let k: Vec<f64> = (0..N).map(|_| share(&mut rng)).collect();
        let size = [0.0, 1e-17, 1e-9, 1e-2, 0.2, 0.5][rng.random_range(0..6)];
        let mut pool: Vec<Held> = (0..4).map(|_| leaf(&k, size, &mut rng)).collect();
        for _ in 0..9 {
            let (x, y) = (pool[rng.random_range(0..pool.len())], pool[rng.random_range(0..pool.len())]);
            let next = step(x, y, &mut rng);
            if !(next.value.head.abs() < 1e8 && next.form.remainder() < 1e8) {
                break;
            }
            assert!(
                holds(&next, &k, 1e-15 * 1e-9 * next.value.head.abs().max(1.0)),
                "{next:?} at {k:?} from {x:?}, {y:?}"
            );
            checked += 1;
            curved += usize::from(next.form.terms().any(|(e, _)| degree(e) > 1));
            pool.push(next);
        }
    }
    assert!(checked > 30_000 && curved > 5_000, "{checked} {curved}");
}

#[test]
fn huge_and_tiny_numbers_are_held_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..4000 {
        let k: Vec<f64> = (0..N).map(|_| share(&mut rng)).collect();
        let [p, q] = [(); 2].map(|()| [-300, 0, 300][rng.random_range(0..3)]);
        let (x, y) = (leaf(&k, 0.4, &mut rng), leaf(&k, 0.4, &mut rng));
        let [up, back] = [1, -1].map(|sign| move |x: f64, by: i32| x * 2.0f64.powi(sign * by));
        let scaled = |held: &Held, by: i32| held.form.scale(up(1.0, by));
        let product = scaled(&x, p) * scaled(&y, q);
        let sum = scaled(&x, p) + scaled(&y, p);
        for (form, value, by) in [(product, x.value.mul(y.value), p + q), (sum, x.value.add(y.value), p)] {
            assert!(form.remainder() < f64::INFINITY);
            let mut form = form;
            form.coefficients.iter_mut().for_each(|c| *c = back(*c, by));
            form.remainder = back(form.remainder, by);
            assert!(holds(&Held { form, value }, &k, 1e-20), "{form:?} {value:?} {by}");
        }
    }
    let huge = Form::constant(1e200) + Form::factor(0, 1e200);
    assert_eq!((huge * huge).remainder(), f64::INFINITY);
    assert_eq!(Form::constant(f64::NAN).remainder(), f64::INFINITY);
    assert_eq!((Form::whole() * Form::zero()).interval(), Interval::WHOLE);
    assert_eq!((Form::whole() + huge).interval(), Interval::WHOLE);
    let tiny = Form::factor(0, f64::from_bits(3)).scale(0.5);
    assert!(tiny.interval().contains(f64::from_bits(1)) && tiny.interval().contains(-f64::from_bits(2)));
}

/// Roots, sines, derivatives and hulls of forms that are scaled by powers of two, brought back exactly.
#[test]
fn functions_of_huge_and_tiny_forms_are_held_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let (mut roots, mut sines) = (0, 0);
    for _ in 0..4000 {
        let k: Vec<f64> = (0..N).map(|_| share(&mut rng)).collect();
        let Held { form, value } = leaf(&k, [0.0, 1e-3, 0.4][rng.random_range(0..3)], &mut rng);
        let by = [-400, -60, 60, 400][rng.random_range(0..4)];
        let scaled = form.scale(2.0f64.powi(by));
        let back = |mut form: Form, by: i32| {
            form.coefficients.iter_mut().for_each(|c| *c *= 2.0f64.powi(-by));
            form.remainder *= 2.0f64.powi(-by);
            form
        };
        if form.interval().lower() > 1e-6 {
            let found = Held { form: back(scaled.sqrt(), by / 2), value: root(value) };
            assert!(holds(&found, &k, 1e-24), "{found:?} from {form:?} at 2^{by}");
            roots += 1;
        }
        // 2^by times the value is known in twice the precision, short of underflow and of angles that nobody reduces.
        let (sine, cosine) = scaled.sin_cos();
        if by > 0 && form.center() != 0.0 && by == 400 {
            assert!(sine.interval().encloses(Interval::new(-1.0, 1.0)), "{sine:?}");
        } else if by < 0 {
            let (s, c) = value.mul(Twofold::from(2.0f64.powi(by))).sin_cos();
            let found = [Held { form: sine, value: s }, Held { form: cosine, value: c }];
            assert!(found.iter().all(|found| holds(found, &k, 1e-30)), "{found:?} from {form:?} at 2^{by}");
            sines += 1;
        }
        for i in 0..N {
            let (exact, size) = derivative(&scaled, &k, &[i]);
            assert!(holds_point(scaled.gradient(&k, i), exact, size));
            let curved = scaled * form;
            let (exact, size) = derivative(&curved, &k, &[i, (i + 1) % N]);
            assert!(holds_point(curved.hessian(&k, i, (i + 1) % N), exact, size));
        }
    }
    assert!(roots > 1000 && sines > 1000, "{roots} {sines}");
}

#[test]
fn monomials_without_room_go_to_the_remainder() {
    // (k_0 + ... + k_4)^2 has 15 monomials; 12 fit. At degree 3 at most, the fourth power has none left.
    let sum = (0..N).fold(Form::zero(), |sum, i| sum + Form::factor(i, 1.0));
    let square = sum * sum;
    assert!(square.terms().count() <= 12 && square.remainder() >= 1.0);
    assert!(square.interval().contains(25.0) && square.interval().contains(0.0));
    let fourth = square * square;
    assert!(fourth.slice(&[1.0; N]).contains(625.0) && fourth.slice(&[0.0; N]).contains(0.0));
    let wide = Form::factor(FACTORS, 2.0);
    assert_eq!((wide.terms().count(), wide.remainder() >= 2.0), (1, true));
}

/// Derivative of the polynomial with respect to each of `by` in turn at k, in twice the precision, and the size of its terms.
fn derivative(form: &Form, k: &[f64], by: &[usize]) -> (Twofold, f64) {
    let mut size = 0.0;
    let sum = form.terms().fold(Twofold::from(0.0), |sum, (exponent, c)| {
        let mut powers: Vec<i32> = (0..N).map(|i| (exponent >> (4 * i) & 0xf) as i32).collect();
        let mut term = Twofold::from(c);
        for &i in by {
            term = term.mul(Twofold::from(f64::from(powers[i])));
            powers[i] -= 1;
        }
        for (x, power) in k.iter().zip(powers) {
            (0..power).for_each(|_| term = term.mul(Twofold::from(*x)));
        }
        size += term.head.abs();
        sum.add(term)
    });
    (sum, size)
}

fn holds_point(set: Interval, x: Twofold, size: f64) -> bool {
    let slack = 1e-28 * size;
    x.sub(Twofold::from(set.lower())).head >= -slack && Twofold::from(set.upper()).sub(x).head >= -slack
}

#[test]
fn derivatives_of_a_slice_agree_with_differences() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..300 {
        let k: Vec<f64> = (0..N).map(|_| rng.random_range(-0.9..0.9)).collect();
        let [x, y, z] = [(); 3].map(|()| leaf(&k, 0.4, &mut rng).form);
        let form = (x * y).scale(0.3) + y.sin_cos().0 * z;
        let value = |k: &[f64]| at(&form, k);
        let h = 1e-4;
        let moved = |i: usize, by: f64| {
            let mut k = k.clone();
            k[i] += by;
            k
        };
        for i in 0..N {
            let difference = value(&moved(i, h)).sub(value(&moved(i, -h))).head / (2.0 * h);
            let gradient = form.gradient(&k, i);
            let (exact, size) = derivative(&form, &k, &[i]);
            assert!(holds_point(gradient, exact, size), "{gradient:?} {exact:?}");
            assert!(
                (gradient.midpoint() - difference).abs() < 1e-6 * (1.0 + form.radius()),
                "{gradient:?} {difference}"
            );
            assert!(gradient.width() < 1e-9 * (1.0 + form.radius()));
            for j in 0..N {
                let difference =
                    (form.gradient(&moved(j, h), i) - form.gradient(&moved(j, -h), i)).midpoint() / (2.0 * h);
                let hessian = form.hessian(&k, i, j);
                let (exact, size) = derivative(&form, &k, &[i, j]);
                assert!(holds_point(hessian, exact, size), "{hessian:?} {exact:?}");
                let hessian = hessian.midpoint();
                assert!(
                    (hessian - difference).abs() < 1e-6 * (1.0 + form.radius()),
                    "{hessian} {difference}"
                );
            }
        }
    }
}

#[test]
fn dependence_is_kept() {
    let x = Form::constant(3.0) + Form::factor(0, 0.3) + Form::factor(1, 0.1);
    assert!((x - x).interval().sup_abs() < 1e-12);
    let (sine, cosine) = x.sin_cos();
    let one = sine * sine + cosine * cosine;
    assert!((one - Form::constant(1.0)).interval().sup_abs() < 0.05);
    let root = x.sqrt();
    assert!((root * root - x).interval().sup_abs() < 0.05);
    // sqrt of what contains zero is the hull.
    assert_eq!((x - Form::constant(3.0)).sqrt().terms().count(), 1);
}

/// m 2^e, exactly; `None` where the integers end.
#[derive(Debug, Clone, Copy)]
struct Exact(i128, i32);

impl Exact {
    fn from(x: f64) -> Self {
        let (bits, sign) = (x.to_bits(), if x.is_sign_negative() { -1 } else { 1 });
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i128);
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        Self(sign * mantissa, exponent.max(1) - 1075).stripped()
    }

    fn stripped(self) -> Self {
        let zeros = if self.0 == 0 { 0 } else { self.0.trailing_zeros() };
        if self.0 == 0 { Self(0, 0) } else { Self(self.0 >> zeros, self.1 + zeros as i32) }
    }

    fn add(self, other: Self) -> Option<Self> {
        let (a, b) =
            if self.0 == 0 || (other.0 != 0 && self.1 >= other.1) { (self, other) } else { (other, self) };
        if a.0 == 0 {
            return Some(b);
        }
        // a has the larger exponent.
        let up = u32::try_from(a.1 - b.1).ok().filter(|up| *up < a.0.unsigned_abs().leading_zeros())?;
        Some(Self((a.0 << up).checked_add(b.0)?, b.1).stripped())
    }

    fn mul(self, other: Self) -> Option<Self> {
        Some(Self(self.0.checked_mul(other.0)?, self.1 + other.1).stripped())
    }

    /// Whether `set` contains it.
    fn is_in(self, set: Interval) -> Option<bool> {
        let below = Self::from(-set.lower()).add(self)?.0 >= 0;
        let above = Self(-self.0, self.1).add(Self::from(set.upper()))?.0 >= 0;
        Some(below && above)
    }
}

/// Sums and products of forms with short coefficients against exact rationals: nothing is rounded in the oracle.
#[test]
fn exact_rationals_are_held() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (mut checked, mut rounded) = (0, 0);
    for _ in 0..20_000 {
        let k: Vec<f64> = (0..N).map(|_| f64::from(rng.random_range(-8..=8)) / 8.0).collect();
        let number = |rng: &mut ChaCha8Rng| {
            f64::from(rng.random_range(-(1 << 20)..=1 << 20)) * 2f64.powi(rng.random_range(-20..=-10))
        };
        let leaf = |rng: &mut ChaCha8Rng| -> (Form, Option<Exact>) {
            let c = [0.0, -0.0, number(rng)][rng.random_range(0..3)];
            let (mut form, mut value) = (Form::constant(c), Some(Exact::from(c)));
            for (i, k) in k.iter().enumerate() {
                let g = if rng.random_bool(0.7) { number(rng) } else { 0.0 };
                form = form + Form::factor(i, g);
                value = value.and_then(|v| v.add(Exact::from(g).mul(Exact::from(*k))?));
            }
            let (remainder, sign) = (number(rng).abs(), if rng.random() { 1.0 } else { -1.0 });
            (form.widen(remainder), value.and_then(|v| v.add(Exact::from(sign * remainder))))
        };
        let ((x, p), (y, q), (z, r)) = (leaf(&mut rng), leaf(&mut rng), leaf(&mut rng));
        let factor = f64::from(rng.random_range(-100..=100)) / 64.0;
        let product = p.zip(q).and_then(|(p, q)| p.mul(q));
        let results = [
            (x * y, product),
            (x * y + z, product.zip(r).and_then(|(pq, r)| pq.add(r))),
            (x - z, p.zip(r).and_then(|(p, r)| p.add(Exact(-r.0, r.1)))),
            ((x * y).scale(factor), product.and_then(|v| v.mul(Exact::from(factor)))),
        ];
        for (form, value) in results {
            let Some(value) = value else { continue };
            for set in [form.slice(&k), form.slice(&k[..2]), form.interval()] {
                let Some(inside) = value.is_in(set) else { continue };
                assert!(inside, "{value:?} not in {set:?} of {form:?} at {k:?}");
                checked += 1;
            }
            rounded += usize::from(value.0.unsigned_abs() > 1 << 53);
        }
    }
    assert!(checked > 100_000 && rounded > 10_000, "{checked} {rounded}");
}

#[test]
fn what_is_no_number_is_nothing_known() {
    let (huge, tiny) = (Form::constant(1e300), Form::constant(1e-200));
    for unknown in
        [huge * huge, Form::constant(f64::NAN), Form::constant(f64::INFINITY), Form::factor(0, f64::NAN)]
    {
        assert_eq!(unknown.interval(), Interval::WHOLE, "{unknown:?}");
    }
    // 1e-400 is no float, but it is held.
    let product = tiny * tiny;
    assert!(product.interval().lower() <= 0.0 && product.interval().upper() > 0.0);
    let zero = Form::constant(-0.0) + Form::factor(1, -0.0);
    assert!(zero.slice(&[1.0, -1.0]).contains(0.0) && zero.interval().width() < 1e-100);
    // A factor that does not exist is a remainder.
    assert!((2.0..2.0 + 1e-12).contains(&Form::factor(FACTORS, 2.0).interval().upper()));
}
