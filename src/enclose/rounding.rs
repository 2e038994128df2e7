//! How rounding errors of sums of products are bounded: counted, or by directed rounding.
//!
//! An affine form computes many coefficients and needs, beside each float, a bound of how far it is from the exact
//! value. [`Rounding`] is the little that the algorithm asks for; there are two implementations that share no
//! arithmetic. Assumed: IEEE 754 arithmetic, as [`super`] says. Proven: what [`Rounding`] promises of each of its functions.

use std::fmt::Debug;
use std::ops::Add;

use crate::enclose::interval::Interval;
use crate::enclose::sine::{self, Enclosure};

/// Sums of products of floats with a bound of their rounding error.
///
/// All bounds hold for every input: where a float overflows or isn't a number, they are infinite.
pub trait Rounding: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// A real number under computation, known up to a rounding error. Its sum is the sum of the exact numbers.
    type Real: Copy + Add<Output = Self::Real>;

    /// The arithmetic in which sine and cosine are evaluated.
    type Enclosure: Enclosure;

    /// Whether products forget their remainder: a deliberate mistake, for tests of the tests.
    #[cfg(test)]
    const FORGETS_REMAINDER: bool = false;

    /// The number `x` itself.
    fn exact(x: f64) -> Self::Real;

    /// The exact product of two floats; unbounded if one isn't finite, even if the other is zero.
    fn product(a: f64, b: f64) -> Self::Real;

    /// The exact sum of some floats.
    fn total<const N: usize>(terms: &[f64; N]) -> Self::Real;

    /// The exact sum of the absolute values of some floats.
    fn magnitude<const N: usize>(terms: &[f64; N]) -> Self::Real;

    /// A float near the number and an upper bound of its distance, infinite or NaN if the float isn't finite.
    fn split(x: Self::Real) -> (f64, f64);

    /// A lower bound of the number, never NaN.
    fn lower(x: Self::Real) -> f64;

    /// An upper bound of the number, never NaN.
    fn upper(x: Self::Real) -> f64;

    /// Sine and cosine of one angle (rad), each a float and an upper bound of its distance.
    #[inline]
    fn sin_cos(angle: f64) -> [(f64, f64); 2] {
        let (sine, cosine) = sine::point::<Self::Enclosure>(angle);
        [sine.bounds(), cosine.bounds()].map(|b| (b.midpoint(), b.radius()))
    }

    /// Bounds of sine and cosine over a range of angles (rad).
    #[inline]
    fn sin_cos_over(angles: Interval) -> (Interval, Interval) {
        sine::over::<Self::Enclosure>(angles)
    }
}

/// Round to nearest and count the errors: portable and fast.
///
/// Proof. With u = 2^-53 and eta = 2^-1075, a computed sum is off by at most u |s| (sums never underflow: subnormal ones
/// are exact) and a computed product by at most u |p| + eta. So a number made of k operations on floats is off
/// by at most u m + k eta, where the mass m is the sum of |result| over its operations; it is carried beside the
/// value. m is itself computed, a sum of at most 2^30 non-negative terms, and is too small by a factor of at most
/// (1 - u)^(2^30) > 1 - 2^-22. The error returned is `UNIT * (m + FLOOR)` with UNIT = u (1 + 2^-20): the surplus
/// 2^-20 covers that factor and the two roundings of the expression, which is far from underflow, and UNIT * FLOOR
/// = 2^-453 covers k eta for any k. (FLOOR isn't smaller, though it could be, because then products of remainders
/// would be subnormal, which many processors compute a hundred times more slowly.) If a value overflows or is NaN,
/// so is its mass, and then the error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted;

const UNIT: f64 = (1.0 + 1.0 / (1_u64 << 20) as f64) / (1_u64 << 53) as f64;
/// 2^-400.
const FLOOR: f64 = f64::from_bits((1023 - 400) << 52);

/// A value and the mass of its rounding errors: what [`Counted`] carries.
#[derive(Debug, Clone, Copy)]
pub struct Tally {
    value: f64,
    mass: f64,
}

impl Add for Tally {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let value = self.value + other.value;
        Self { value, mass: self.mass + other.mass + value.abs() }
    }
}

impl Rounding for Counted {
    type Real = Tally;
    type Enclosure = Interval;

    #[inline(always)]
    fn exact(x: f64) -> Tally {
        Tally { value: x, mass: 0.0 }
    }

    #[inline(always)]
    fn product(a: f64, b: f64) -> Tally {
        let value = a * b;
        Tally { value, mass: value.abs() }
    }

    /// In any order of summation fewer than N additions round (adding a first term to zero doesn't), and each result is
    /// at most `sum |terms|` (1 + u)^N, whose last factor the surplus of UNIT covers for N < 2^30 too.
    #[inline(always)]
    fn total<const N: usize>(terms: &[f64; N]) -> Tally {
        Tally { value: lanes(terms, |x| x), mass: N as f64 * lanes(terms, f64::abs) }
    }

    #[inline(always)]
    fn magnitude<const N: usize>(terms: &[f64; N]) -> Tally {
        let value = lanes(terms, f64::abs);
        Tally { value, mass: N as f64 * value }
    }

    #[inline(always)]
    fn split(x: Tally) -> (f64, f64) {
        (x.value, UNIT * (x.mass + FLOOR))
    }

    #[inline(always)]
    fn lower(x: Tally) -> f64 {
        let (value, error) = Self::split(x);
        let bound = (value - error).next_down();
        if bound.is_nan() { f64::NEG_INFINITY } else { bound }
    }

    #[inline(always)]
    fn upper(x: Tally) -> f64 {
        let (value, error) = Self::split(x);
        let bound = (value + error).next_up();
        if bound.is_nan() { f64::INFINITY } else { bound }
    }
}

/// A sum in four independent lanes, which the compiler turns into vector additions.
#[inline(always)]
fn lanes<const N: usize>(terms: &[f64; N], of: impl Fn(f64) -> f64) -> f64 {
    let (quads, rest) = terms.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for quad in quads {
        // No `zip`: it is not marked for inlining, and may stay a call for each quad.
        for i in 0..4 {
            lanes[i] += of(quad[i]);
        }
    }
    let rest: f64 = rest.iter().map(|&x| of(x)).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}
