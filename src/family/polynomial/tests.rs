//! Random expressions of polynomial zonotopes, held against numbers of twice the precision at random k.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::campaign::soundness::twofold::Twofold;

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
            assert!(
                (gradient.midpoint() - difference).abs() < 1e-6 * (1.0 + form.radius()),
                "{gradient:?} {difference}"
            );
            assert!(gradient.width() < 1e-9 * (1.0 + form.radius()));
            for j in 0..N {
                let difference =
                    (form.gradient(&moved(j, h), i) - form.gradient(&moved(j, -h), i)).midpoint() / (2.0 * h);
                let hessian = form.hessian(&k, i, j).midpoint();
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
