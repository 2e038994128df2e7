//! Closed intervals with outward rounding.
//!
//! # Assumed
//! IEEE 754 arithmetic in round-to-nearest (see [`crate::enclose`]).
//!
//! # Proven
//! Let `x` be the exact result of one of + - * / sqrt on floats and `f` the computed one. `f` is the float nearest to
//! `x`, so `f.next_down() <= x <= f.next_up()`: were `x` beyond, the neighbour would be nearer. This holds for
//! subnormal numbers, for results that underflow to (minus) zero, and for overflow, where `f` is infinite and its
//! finite neighbour is the largest float, which `x` exceeds. Each bound is made of one such operation and one such
//! step, so it lies on the right side of the exact bound. No bound is ever NaN: see
//! `product_below` and `quotient_below` for the only places where one could arise.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::enclose::sine;
use crate::scalar::Scalar;

/// The set of reals `x` with `lower <= x <= upper`; a bound may be infinite.
///
/// Never empty, never NaN; `lower < inf` and `upper > -inf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

impl Interval {
    /// The whole real line: what is known of a value of which nothing is known.
    pub const WHOLE: Self = Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    /// The smallest interval with both values, in either order; the whole line if one of them is NaN or if no real
    /// number lies between them (both are the same infinity).
    #[inline]
    pub fn new(a: f64, b: f64) -> Self {
        let (lo, hi) = if a <= b { (a, b) } else { (b, a) };
        if lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY { Self { lo, hi } } else { Self::WHOLE }
    }

    /// The interval `center - radius` to `center + radius`, rounded outward; the sign of the radius is ignored.
    #[inline]
    pub fn around(center: f64, radius: f64) -> Self {
        Self::constant(center) + Self::new(-radius, radius)
    }

    /// Lower bound.
    #[inline]
    pub fn lower(self) -> f64 {
        self.lo
    }

    /// Upper bound.
    #[inline]
    pub fn upper(self) -> f64 {
        self.hi
    }

    /// A number inside, near the middle; finite.
    #[inline]
    pub fn midpoint(self) -> f64 {
        let middle = 0.5 * self.lo + 0.5 * self.hi;
        if middle.is_nan() { 0.0 } else { middle.clamp(self.lo, self.hi).clamp(f64::MIN, f64::MAX) }
    }

    /// Distance from [`Interval::midpoint`] to the farther bound, rounded up.
    #[inline]
    pub fn radius(self) -> f64 {
        let middle = self.midpoint();
        let radius = (self.hi - middle).max(middle - self.lo);
        if radius == 0.0 { 0.0 } else { radius.next_up() }
    }

    /// Whether the number lies inside (NaN doesn't).
    #[inline]
    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// The smallest interval that contains both.
    #[inline]
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Largest `|x|`.
    #[inline]
    pub fn sup_abs(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// Whether it holds zero alone.
    #[inline]
    fn is_zero(self) -> bool {
        self.lo == 0.0 && self.hi == 0.0
    }

    /// The set of `x^2`, never negative: tighter than `x * x`, which doesn't know that both factors are one.
    #[inline]
    pub fn sqr(self) -> Self {
        let (hi, least) = (self.sup_abs(), self.lo.abs().min(self.hi.abs()));
        let lo = if self.contains(0.0) { 0.0 } else { least };
        Self { lo: product_below(lo, lo).max(0.0), hi: product_above(hi, hi) }
    }

    /// The set of `sqrt(x)` for the `x >= 0` inside. Negative numbers are left out, as what an outward rounding added
    /// to a quantity that is never negative; if there is nothing else, the whole line.
    #[inline]
    pub fn sqrt(self) -> Self {
        if self.hi < 0.0 {
            return Self::WHOLE;
        }
        let below = if self.lo <= 0.0 { 0.0 } else { self.lo.sqrt().next_down() };
        Self { lo: below, hi: if self.hi == 0.0 { 0.0 } else { self.hi.sqrt().next_up() } }
    }
}

/// What to add to the bits of a float that is neither zero nor NaN for the next one above it.
#[inline]
fn upward(x: f64) -> u64 {
    // 1 or -1: floats of one sign are in the order of their bits.
    ((x.to_bits() as i64 >> 63) | 1) as u64
}

/// The next float below `x`, which is finite and not zero: as [`f64::next_down`], which asks.
#[inline]
fn below(x: f64) -> f64 {
    f64::from_bits(x.to_bits().wrapping_sub(upward(x)))
}

/// The next float above `x`, which is finite and not zero.
#[inline]
fn above(x: f64) -> f64 {
    f64::from_bits(x.to_bits().wrapping_add(upward(x)))
}

/// The smaller of two numbers, `b` if one is NaN.
#[inline]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two numbers, `b` if one is NaN.
#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// At most the sum `computed` from two floats. A sum in the subnormal range is exact (floats are multiples of the least
/// one, so their sum is a small multiple of it) and is kept, lest zeros become tiny numbers.
#[inline]
fn sum_below(computed: f64) -> f64 {
    if computed.abs() < f64::MIN_POSITIVE { computed } else { computed.next_down() }
}

/// At least the sum `computed` from two floats.
#[inline]
fn sum_above(computed: f64) -> f64 {
    -sum_below(-computed)
}

/// At most `a * b`. Zero times an unbounded set would be zero if the set stood for reals only, but it may also be what
/// became of a NaN: nothing is known then.
#[inline]
fn product_below(a: f64, b: f64) -> f64 {
    let product = a * b;
    if product.is_nan() {
        f64::NEG_INFINITY
    } else if a == 0.0 || b == 0.0 {
        0.0
    } else {
        product.next_down()
    }
}

/// At least `a * b`.
#[inline]
fn product_above(a: f64, b: f64) -> f64 {
    -product_below(-a, b)
}

/// At most `a / b`, for `b` not zero; minus infinity if both are infinite.
#[inline]
fn quotient_below(a: f64, b: f64) -> f64 {
    let ratio = a / b;
    if ratio.is_nan() {
        f64::NEG_INFINITY
    } else if a == 0.0 {
        0.0
    } else {
        ratio.next_down()
    }
}

/// At least `a / b`.
#[inline]
fn quotient_above(a: f64, b: f64) -> f64 {
    -quotient_below(-a, b)
}

/// Bounds over two intervals of a function that is monotone in each argument for any value of the other: the extrema
/// are at the corners.
#[inline]
fn corners(x: Interval, y: Interval, below: fn(f64, f64) -> f64, above: fn(f64, f64) -> f64) -> Interval {
    let least = |a| below(a, y.lo).min(below(a, y.hi));
    let largest = |a| above(a, y.lo).max(above(a, y.hi));
    Interval { lo: least(x.lo).min(least(x.hi)), hi: largest(x.lo).max(largest(x.hi)) }
}

impl Add for Interval {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        let (lo, hi) = (self.lo + other.lo, self.hi + other.hi);
        // Zeros and subnormal sums are exact, infinite ones bound what they stand for: see `sum_below`.
        let usual = |x: f64| (f64::MIN_POSITIVE..f64::INFINITY).contains(&x.abs());
        if usual(lo) && usual(hi) {
            Self { lo: below(lo), hi: above(hi) }
        } else {
            Self { lo: sum_below(lo), hi: sum_above(hi) }
        }
    }
}

impl Sub for Interval {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self + (-other)
    }
}

impl Mul for Interval {
    type Output = Self;
    #[inline]
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self.lo * other.lo, self.lo * other.hi);
        let (c, d) = (self.hi * other.lo, self.hi * other.hi);
        let least = smaller(smaller(a, b), smaller(c, d));
        let largest = larger(larger(a, b), larger(c, d));
        // Zeros, exact or not, and NaN want a closer look; otherwise the outermost product has the outermost bound.
        let finite = (a + b + c + d).is_finite();
        if least != 0.0 && largest != 0.0 && finite {
            Self { lo: below(least), hi: above(largest) }
        } else if finite && (self.is_zero() || other.is_zero()) {
            // Nothing is rounded. Derivatives hold many zeros.
            Self { lo: 0.0, hi: 0.0 }
        } else {
            corners(self, other, product_below, product_above)
        }
    }
}

impl Div for Interval {
    type Output = Self;
    /// The whole line if the divisor contains zero.
    ///
    /// Over a divisor above zero a quotient grows with the dividend; with the divisor it falls where the dividend isn't negative, and grows where it is.
    /// So the least and the largest are at one corner each. Changing both signs changes no quotient, and rounds nothing.
    #[inline]
    fn div(self, other: Self) -> Self {
        if other.contains(0.0) {
            return Self::WHOLE;
        }
        let (x, y) = if other.lo > 0.0 { (self, other) } else { (-self, -other) };
        Self {
            lo: quotient_below(x.lo, if x.lo < 0.0 { y.lo } else { y.hi }),
            hi: quotient_above(x.hi, if x.hi < 0.0 { y.hi } else { y.lo }),
        }
    }
}

impl Neg for Interval {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }
}

impl Scalar for Interval {
    /// The interval that contains `x` alone; the whole line if `x` isn't finite.
    #[inline]
    fn constant(x: f64) -> Self {
        if x.is_finite() { Self { lo: x, hi: x } } else { Self::WHOLE }
    }

    #[inline]
    fn scale(self, factor: f64) -> Self {
        if !factor.is_finite() {
            return self * Self::WHOLE;
        }
        let (a, b) = if factor < 0.0 { (self.hi, self.lo) } else { (self.lo, self.hi) };
        let (lo, hi) = (a * factor, b * factor);
        if lo != 0.0 && hi != 0.0 && (lo + hi).is_finite() {
            Self { lo: below(lo), hi: above(hi) }
        } else {
            Self { lo: product_below(a, factor), hi: product_above(b, factor) }
        }
    }

    /// See [`sine::over`].
    #[inline]
    fn sin_cos(self) -> (Self, Self) {
        sine::over::<Self>(self)
    }
}
