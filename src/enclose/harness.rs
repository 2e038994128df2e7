//! An oracle for the tests: random expressions evaluated as enclosures and in twice the precision.

use proptest::prelude::*;

use crate::enclose::twofold::Twofold;
use crate::enclose::{Affine, Rounding};
use crate::scalar::Scalar;

/// Symbols in the tests' forms.
pub const N: usize = 4;

/// A random expression.
#[derive(Debug, Clone)]
pub enum Expression {
    /// Coefficients, and where in the remainder the value is.
    Leaf {
        center: f64,
        generators: [f64; N],
        remainder: f64,
        at: f64,
    },
    Sum(Box<Expression>, Box<Expression>),
    Difference(Box<Expression>, Box<Expression>),
    Product(Box<Expression>, Box<Expression>),
    Square(Box<Expression>),
    Scaled(Box<Expression>, f64),
    Negative(Box<Expression>),
    Sine(Box<Expression>),
    Cosine(Box<Expression>),
}

impl Expression {
    /// Its enclosure.
    pub fn enclose<R: Rounding>(&self) -> Affine<N, R> {
        match self {
            Self::Leaf { center, generators, remainder, .. } => Affine::new(*center, *generators, *remainder),
            Self::Sum(a, b) => a.enclose() + b.enclose(),
            Self::Difference(a, b) => a.enclose() - b.enclose(),
            Self::Product(a, b) => a.enclose() * b.enclose(),
            Self::Square(a) => a.enclose() * a.enclose(),
            Self::Scaled(a, k) => a.enclose().scale(*k),
            Self::Negative(a) => -a.enclose(),
            Self::Sine(a) => a.enclose().sin_cos().0,
            Self::Cosine(a) => a.enclose().sin_cos().1,
        }
    }

    /// Its value at the given symbols, and a bound of all that it was made of (for the oracle's own error).
    pub fn value(&self, symbols: &[f64; N]) -> (Twofold, f64) {
        let two = |a: &Self, b: &Self| (a.value(symbols), b.value(symbols));
        match self {
            Self::Leaf { center, generators, remainder, at } => {
                let mut sum = Twofold::from(*center).add(Twofold::product(*remainder, *at));
                let mut mass = center.abs() + remainder;
                for (g, e) in generators.iter().zip(symbols) {
                    sum = sum.add(Twofold::product(*g, *e));
                    mass += g.abs();
                }
                (sum, mass)
            }
            Self::Sum(a, b) => {
                let ((x, m), (y, n)) = two(a, b);
                (x.add(y), m + n)
            }
            Self::Difference(a, b) => {
                let ((x, m), (y, n)) = two(a, b);
                (x.sub(y), m + n)
            }
            Self::Product(a, b) => {
                let ((x, m), (y, n)) = two(a, b);
                (x.mul(y), m * n)
            }
            Self::Square(a) => {
                let (x, m) = a.value(symbols);
                (x.mul(x), m * m)
            }
            Self::Scaled(a, k) => {
                let (x, m) = a.value(symbols);
                (x.mul(Twofold::from(*k)), m * k.abs())
            }
            Self::Negative(a) => {
                let (x, m) = a.value(symbols);
                (x.neg(), m)
            }
            Self::Sine(a) => a.sinusoid(symbols, |x| x.0),
            Self::Cosine(a) => a.sinusoid(symbols, |x| x.1),
        }
    }

    fn sinusoid(&self, symbols: &[f64; N], which: fn((Twofold, Twofold)) -> Twofold) -> (Twofold, f64) {
        let (x, mass) = self.value(symbols);
        // Beyond the angles that are reduced the enclosure is [-1, 1], so any value in there will do.
        let value = if x.head.abs() > 1e6 { Twofold::from(0.3) } else { which(x.sin_cos()) };
        (value, mass + 1.0)
    }
}

/// By how much a form fails to hold a value: `|x - c - sum g e| - remainder`.
pub fn excess(center: f64, generators: &[f64; N], remainder: f64, symbols: &[f64; N], x: Twofold) -> f64 {
    x.distance_to_line(center, generators, symbols).sub(Twofold::from(remainder)).head
}

/// Whether an expression's form holds the expression's value, with the form's remainder times `kept`.
pub fn holds<R: Rounding>(expression: &Expression, symbols: &[f64; N], kept: f64) -> bool {
    let form = expression.enclose::<R>();
    if form.remainder() == f64::INFINITY {
        return true;
    }
    let (x, mass) = expression.value(symbols);
    let inside =
        excess(form.center(), form.generators(), kept * form.remainder(), symbols, x) <= 1e-28 * mass;
    let bounded =
        kept == 0.0 || (form.lower() - 1e-28 * mass <= x.head && x.head <= form.upper() + 1e-28 * mass);
    inside && bounded
}

/// Ordinary numbers and the ones that make trouble, far from underflow.
pub fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -3.0..3.0_f64,
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(1.0),
        1 => -1e3..1e3_f64,
        1 => (-1.0..1.0_f64).prop_map(|x| x * 1e-9),
    ]
}

/// Symbols in [-1, 1], the corners often.
pub fn symbols() -> impl Strategy<Value = [f64; N]> {
    prop::array::uniform4(prop_oneof![2 => -1.0..=1.0_f64, 1 => Just(1.0), 1 => Just(-1.0), 1 => Just(0.0)])
}

/// Leaves with the given sizes of their sets.
fn leaf(radii: &[f64]) -> impl Strategy<Value = Expression> + use<> {
    let radius = prop::sample::select(radii.to_vec());
    (number(), prop::array::uniform4(-1.0..1.0_f64), radius.clone(), radius, -1.0..=1.0_f64).prop_map(
        |(center, shape, spread, remainder, at)| Expression::Leaf {
            center,
            generators: shape.map(|g| g * spread),
            remainder,
            at,
        },
    )
}

/// Expressions of points, where only rounding counts, and of sets up to wide ones.
pub fn expression() -> impl Strategy<Value = Expression> {
    prop_oneof![expression_of(leaf(&[0.0, 1e-17])), expression_of(leaf(&[0.0, 1e-17, 1e-9, 1e-2, 0.4]))]
}

/// Expressions of up to 16 leaves.
fn expression_of(leaf: impl Strategy<Value = Expression> + 'static) -> impl Strategy<Value = Expression> {
    use Expression::*;
    leaf.prop_recursive(5, 16, 2, |inner| {
        let one = inner.clone().prop_map(Box::new);
        let two = (one.clone(), one.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| Sum(a, b)),
            two.clone().prop_map(|(a, b)| Difference(a, b)),
            two.prop_map(|(a, b)| Product(a, b)),
            one.clone().prop_map(Square),
            (one.clone(), number()).prop_map(|(a, k)| Scaled(a, k)),
            one.clone().prop_map(Negative),
            one.clone().prop_map(Sine),
            one.prop_map(Cosine),
        ]
    })
}
