//! Random expressions of affine forms, held against numbers of twice the precision.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::ledger::{Check, Ledger};
use crate::dynamics::truth::extreme;
use crate::enclose::twofold::Twofold;
use crate::enclose::{Affine, Rounding};
use crate::scalar::Scalar;

/// Symbols of a form: few, so that the forms of one expression share them all and cancel.
const N: usize = 4;
/// Forms that an expression starts from: fewer than its operations, so that they meet again and depend on one another.
const LEAVES: usize = 4;
/// Operations of an expression. Longer ones reach [`LARGE`] more often; shorter ones combine fewer kinds of operation.
const OPERATIONS: usize = 10;
/// Values beyond which an expression ends: the oracle knows them less well.
const LARGE: f64 = 1e6;

/// A form, and one number that it must hold at the symbols of the expression.
#[derive(Clone, Copy)]
struct Held<R: Rounding> {
    form: Affine<N, R>,
    value: Twofold,
}

/// Makes one expression; after each operation the result must still hold its number.
pub fn attack<R: Rounding>(rng: &mut ChaCha8Rng, ledger: &mut Ledger) {
    let symbols: [f64; N] = std::array::from_fn(|_| extreme(rng));
    let size = [0.0, 1e-17, 1e-9, 1e-2, 0.4][rng.random_range(0..5)];
    let mut pool: Vec<Held<R>> = (0..LEAVES).map(|_| leaf(size, &symbols, rng)).collect();
    for _ in 0..OPERATIONS {
        let (x, y) = (pool[rng.random_range(0..pool.len())], pool[rng.random_range(0..pool.len())]);
        let next = operation(x, y, rng);
        if !(next.value.head.abs() < LARGE && next.form.remainder() < LARGE) {
            return;
        }
        let off = next.value.distance_to_line(next.form.center(), next.form.generators(), &symbols);
        // Twice the precision is still not exact: what it can be off by is left out of account.
        let gap = next.form.remainder() - off.head + 1e-24 * LARGE;
        ledger.gap(Check::Enclosure, gap, next.form.remainder().abs().max(1e-18));
        pool.push(next);
    }
}

fn leaf<R: Rounding>(size: f64, symbols: &[f64; N], rng: &mut ChaCha8Rng) -> Held<R> {
    let center =
        [0.0, -0.0, 1.0, rng.random_range(-3.0..3.0), rng.random_range(-1e-9..1e-9)][rng.random_range(0..5)];
    let generators: [f64; N] = std::array::from_fn(|_| size * rng.random_range(-1.0..1.0));
    let remainder = size * rng.random_range(0.0..1.0);
    let start = Twofold::from(center).add(Twofold::product(remainder, extreme(rng)));
    let value = generators.iter().zip(symbols).fold(start, |sum, (g, e)| sum.add(Twofold::product(*g, *e)));
    Held { form: Affine::new(center, generators, remainder), value }
}

fn operation<R: Rounding>(x: Held<R>, y: Held<R>, rng: &mut ChaCha8Rng) -> Held<R> {
    match rng.random_range(0..6) {
        0 => Held { form: x.form + y.form, value: x.value.add(y.value) },
        1 => Held { form: x.form - y.form, value: x.value.sub(y.value) },
        2 | 3 => Held { form: x.form * y.form, value: x.value.mul(y.value) },
        4 => {
            let factor = rng.random_range(-3.0..3.0);
            Held { form: x.form.scale(factor), value: x.value.mul(Twofold::from(factor)) }
        }
        _ => {
            let ((sine, cosine), (s, c)) = (x.form.sin_cos(), x.value.sin_cos());
            if rng.random() { Held { form: sine, value: s } } else { Held { form: cosine, value: c } }
        }
    }
}
