//! Sine and cosine with a proof, over any arithmetic that encloses + - * /.
//!
//! # Assumed
//! The arithmetic `E` encloses: the result of an operation contains the exact result for all elements of its operands.
//! The first hexadecimal digits of pi / 2 (checked in the tests against another series). Nothing about libm. The proofs stand at
//! [`point`] (one angle) and [`over`] (a range of angles).

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::enclose::interval::Interval;
use crate::scalar::Scalar;

/// An arithmetic of sets of reals: each operation returns a superset of the exact set.
pub trait Enclosure:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The set between two finite bounds in order; the whole line for bounds that aren't.
    fn between(lower: f64, upper: f64) -> Self;

    /// Its bounds, none NaN.
    fn bounds(self) -> Interval;
}

impl Enclosure for Interval {
    #[inline]
    fn between(lower: f64, upper: f64) -> Self {
        Self::new(lower, upper)
    }

    #[inline]
    fn bounds(self) -> Interval {
        self
    }
}

/// Angles beyond this (rad) aren't reduced: their sine is somewhere in [-1, 1]. That is some 16 000 turns: no joint makes as
/// many.
pub const LARGEST_ANGLE: f64 = 1e5;

/// Leading 33 bits of pi / 2 = 0x1.921FB544_42D18469898CC517...
pub(super) const HEAD: f64 = 0x0001_921F_B544_u64 as f64 / (1_u64 << 32) as f64;
/// What follows, cut to 53 bits (the 64 bits after the 32 fractional ones of `HEAD`, less ten) ...
const TAIL_BITS: u64 = 0x42D1_8469_898C_C517 >> 10;
/// ... in units of 2^-86.
const TAIL_UNIT: f64 = 1.0 / (1_u128 << 86) as f64;
pub(super) const TAIL_BELOW: f64 = TAIL_BITS as f64 * TAIL_UNIT;
pub(super) const TAIL_ABOVE: f64 = (TAIL_BITS + 1) as f64 * TAIL_UNIT;

/// Terms of the series after the first.
const TERMS: u32 = 9;
/// Bounds what the series leave out.
const TRUNCATION: f64 = 1e-20;

/// Enclosures of the sine and the cosine of one angle (rad); [-1, 1] for NaN and for `|angle| >` [`LARGEST_ANGLE`].
///
/// Proof. Let n be the integer nearest to the computed angle * 2/pi. That product is off by less than 1e-10, so
/// `y = angle - n pi/2` has `|y| <= pi/4 + 1e-9 < 0.8`. pi/2 lies in HEAD + [TAIL_BELOW, TAIL_ABOVE]; n has at most 16
/// bits (1e5 * 2/pi < 2^16) and HEAD 33, so `n * HEAD` is exact in 53, and the rest is done in `E`, which encloses y.
/// By Taylor's theorem with Lagrange's remainder, with z = y^2,
/// - cos y = 1 - z/(1*2) (1 - z/(3*4) (... (1 - z/(17*18)))) + R, |R| <= 0.8^20 / 20! < 4.8e-21;
/// - sin y = y (1 - z/(2*3) (1 - z/(4*5) (... (1 - z/(18*19)))) + R), |R| <= 0.8^20 / 21! < 2.3e-22;
///
/// both covered by TRUNCATION. The polynomials are evaluated in `E`. Cutting off what is beyond [-1, 1] loses nothing.
pub fn point<E: Enclosure>(angle: f64) -> (E, E) {
    if angle.is_nan() || angle.abs() > LARGEST_ANGLE {
        return (E::between(-1.0, 1.0), E::between(-1.0, 1.0));
    }
    let exact = |x: f64| E::between(x, x);
    let turns = (angle * std::f64::consts::FRAC_2_PI).round();
    let y = if turns == 0.0 {
        exact(angle)
    } else {
        exact(angle) - exact(turns * HEAD) - exact(turns) * E::between(TAIL_BELOW, TAIL_ABOVE)
    };
    let z = y * y;
    let one = exact(1.0);
    let (mut sine, mut cosine) = (one, one);
    for k in (1..=TERMS).rev() {
        let even = f64::from(2 * k);
        cosine = one - z * cosine / exact((even - 1.0) * even);
        sine = one - z * sine / exact(even * (even + 1.0));
    }
    let rest = E::between(-TRUNCATION, TRUNCATION);
    let (sine, cosine) = (unit::<E>(y * (sine + rest)), unit::<E>(cosine + rest));
    match (turns as i64).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// What of a set lies in [-1, 1], given that some of it does.
#[inline]
fn unit<E: Enclosure>(set: E) -> E {
    let bounds = set.bounds();
    E::between(bounds.lower().max(-1.0), bounds.upper().min(1.0))
}

/// Arcs up to this long (rad) hold at most one extremum of the sine, with room for rounding: it is below pi.
const ARC: f64 = 3.1;

/// Enclosures of the sine and the cosine over a range of angles (rad).
///
/// Proof for ranges up to `ARC`: see `arc`. Up to twice that, the range is covered by two arcs that share a float
/// near its middle. Both sums that decide it are off by less than 1e-10 as the bounds are at most 1e5, and
/// `ARC + 1e-10 < pi`. Everything else is in [-1, 1].
pub fn over<E: Enclosure>(angles: Interval) -> (Interval, Interval) {
    let (lo, hi) = (angles.lower(), angles.upper());
    let width = hi - lo;
    if angles.sup_abs() > LARGEST_ANGLE || width > 2.0 * ARC {
        return (Interval::new(-1.0, 1.0), Interval::new(-1.0, 1.0));
    }
    let first = point::<E>(lo);
    if lo == hi {
        return (first.0.bounds(), first.1.bounds());
    }
    let last = point::<E>(hi);
    if width <= ARC {
        return arc(first, last);
    }
    let middle = point::<E>(lo + 0.5 * width);
    let (left, right) = (arc(first, middle), arc(middle, last));
    (left.0.hull(right.0), left.1.hull(right.1))
}

/// Enclosures of sine and cosine between two angles less than pi apart, given those at the two ends.
#[inline]
fn arc<E: Enclosure>(first: (E, E), last: (E, E)) -> (Interval, Interval) {
    let (s0, c0) = (first.0.bounds(), first.1.bounds());
    let (s1, c1) = (last.0.bounds(), last.1.bounds());
    (with_extremum(s0, s1, c0, c1), with_extremum(c0, c1, -s0, -s1))
}

/// Bounds of a sinusoid between two angles less than pi apart, from enclosures of its values and slopes at the ends.
///
/// Proof. Its slope has at most one zero between the ends and changes sign there. Without a zero the sinusoid is
/// monotone, and bounded by its end values. At a maximum inside, the slope goes from above zero to below, and one
/// of the ends is less than pi/2 away, where the sinusoid is above zero; only if all this is possible is 1
/// included. Likewise for a minimum.
#[inline]
fn with_extremum(v0: Interval, v1: Interval, slope0: Interval, slope1: Interval) -> Interval {
    let ends = v0.hull(v1);
    let maximum = slope0.upper() >= 0.0 && slope1.lower() <= 0.0 && ends.upper() > 0.0;
    let minimum = slope0.lower() <= 0.0 && slope1.upper() >= 0.0 && ends.lower() < 0.0;
    let ends = if maximum { ends.hull(Interval::constant(1.0)) } else { ends };
    if minimum { ends.hull(Interval::constant(-1.0)) } else { ends }
}
