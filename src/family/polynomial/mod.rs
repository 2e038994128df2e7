//! Sparse polynomial zonotopes: polynomials in shared factors k_i in [-1, 1], plus a remainder.
//!
//! # Assumed
//! IEEE 754 arithmetic in round-to-nearest (see [`crate::enclose`]).
//!
//! # Proven
//! Say that a form *holds* a real x at k in [-1, 1]^16 if `|x - sum_i c_i k^(e_i)| <= remainder`. If two forms hold x and y at k, the
//! result of an operation holds x op y at the same k, for all k at once. So a form may be evaluated ("sliced") at some
//! k after any chain of operations.
//!
//! - *Rounding* is counted. With u = 2^-53 a computed sum is off by at most u |sum|, a product by u |product| plus what
//!   underflow loses; each operation says how many there are, and adds the bound to the remainder with a surplus.
//! - *Order reduction*: monomials that are too many, too small, of too high a degree or beyond what a packed exponent holds go to
//!   the remainder, always: |c k^e| <= |c|. An even monomial is in [0, 1], so half of its coefficient moves to the constant
//!   and half to the remainder.
//! - *Taylor remainders* are taken over the whole range of the argument.
//!
//! # Shape
//! Exponents are packed, four bits a factor, of which one guards against overflow: 16 factors of degree 7 at most. A form
//! has room for `C` monomials of total degree at most `D`, the constant first; nothing is ever allocated.

use std::num::NonZeroU64;
use std::ops::{Add, Mul, Neg, Sub};

use crate::enclose::interval::Interval;
use crate::enclose::rounding::{Counted, Rounding};
use crate::enclose::sine;
use crate::scalar::Scalar;

/// Number of factors.
pub const FACTORS: usize = 16;
/// The lowest bit of each exponent.
const LOW: u64 = 0x1111_1111_1111_1111;
/// The bit of each exponent that is set by overflow.
const GUARD: u64 = 0x8888_8888_8888_8888;
/// 2^-53, with a surplus of 2^-20 for what its multiples are computed with.
const UNIT: f64 = (1.0 + 1.0 / (1_u64 << 20) as f64) / (1_u64 << 53) as f64;
/// 2^-453: more than any number of underflows loses.
const UNDERFLOW: f64 = f64::from_bits((1023 - 453) << 52);
/// Slots of the table in which the monomials of a product meet: a power of two above the 128 that a form may keep.
const SLOTS: usize = 256;
/// Monomials that a table takes before it sends further ones to the remainder. Seven eighths: a fuller table is searched for
/// long, and the proof of termination needs one free slot.
const FULL: usize = 224;
/// Monomials below this share of the largest go to the remainder. A hundred of them widen a form by 2^-19 of its size, and
/// each costs as much time as a large one.
const NEGLIGIBLE: f64 = 1.0 / (1_u64 << 26) as f64;

/// `{ sum_i coefficients[i] k^exponents[i] + remainder e : |e| <= 1 }` for each k in [-1, 1]^16.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Polynomial<const C: usize, const D: u32> {
    /// The first is the constant's, zero; the others increase.
    exponents: [u64; C],
    coefficients: [f64; C],
    len: usize,
    remainder: f64,
}

/// Total degree of a packed exponent.
#[inline]
fn degree(exponent: u64) -> u32 {
    let pairs = (exponent & 0x0f0f_0f0f_0f0f_0f0f) + ((exponent >> 4) & 0x0f0f_0f0f_0f0f_0f0f);
    (pairs.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// Whether a monomial is never negative.
#[inline]
fn is_even(exponent: u64) -> bool {
    exponent & LOW == 0
}

/// The bits of an exponent; those of no monomial are the constant's.
#[inline]
fn packed(exponent: Exponent) -> u64 {
    exponent.map_or(0, NonZeroU64::get)
}

#[inline]
fn add_up(a: f64, b: f64) -> f64 {
    (a + b).next_up()
}

#[inline]
fn mul_up(a: f64, b: f64) -> f64 {
    (a * b).next_up()
}

/// Exponent of a monomial other than the constant; `None` in a slot that holds none.
type Exponent = Option<NonZeroU64>;

/// Monomials on their way into a form: any number up to [`SLOTS`], and what does not fit.
struct Collected {
    terms: [(Exponent, f64); SLOTS],
    len: usize,
    constant: f64,
    /// Sum of the terms that were left out, in any order, not yet rounded up.
    left_out: f64,
}

impl Collected {
    fn new() -> Self {
        Self { terms: [(None, 0.0); SLOTS], len: 0, constant: 0.0, left_out: 0.0 }
    }

    #[inline]
    fn leave_out(&mut self, exponent: Exponent, coefficient: f64) {
        if is_even(packed(exponent)) {
            self.constant += 0.5 * coefficient;
            self.left_out += 0.5 * coefficient.abs();
        } else {
            self.left_out += coefficient.abs();
        }
    }

    /// The form of these terms, whose coefficients are off by `off` in sum: order reduction.
    ///
    /// The halves that reach the constant, at most [`SLOTS`] of them and bounded in sum by `left_out`, round by at most u times
    /// (|constant| + left_out) each; `left_out` itself, a sum of at most 2^16 terms, is too small by a factor of at most 1 + 2^-36.
    fn into_form<const C: usize, const D: u32>(mut self, off: f64) -> Polynomial<C, D> {
        let largest = self.terms[..self.len].iter().fold(self.constant.abs(), |m, t| m.max(t.1.abs()));
        let least = NEGLIGIBLE * largest;
        let mut kept = 0;
        for i in 0..self.len {
            let (exponent, coefficient) = self.terms[i];
            if coefficient.abs() >= least && coefficient != 0.0 {
                self.terms[kept] = (exponent, coefficient);
                kept += 1;
            } else {
                self.leave_out(exponent, coefficient);
            }
        }
        if kept > C - 1 {
            self.terms[..kept].select_nth_unstable_by(C - 2, |a, b| b.1.abs().total_cmp(&a.1.abs()));
            for i in C - 1..kept {
                let (exponent, coefficient) = self.terms[i];
                self.leave_out(exponent, coefficient);
            }
            kept = C - 1;
        }
        self.terms[..kept].sort_unstable_by_key(|t| t.0);
        let mut form =
            Polynomial { exponents: [0; C], coefficients: [0.0; C], len: kept + 1, remainder: 0.0 };
        form.coefficients[0] = self.constant;
        for (i, &(exponent, coefficient)) in self.terms[..kept].iter().enumerate() {
            (form.exponents[i + 1], form.coefficients[i + 1]) = (packed(exponent), coefficient);
        }
        let left_out = mul_up(self.left_out, 1.0 + 1.0 / (1_u64 << 36) as f64);
        let constant = mul_up(SLOTS as f64 * UNIT, add_up(self.constant.abs(), left_out));
        let halves = if left_out > 0.0 { constant } else { 0.0 };
        form.remainder = add_up(add_up(left_out, halves), off);
        form.checked()
    }
}

impl<const C: usize, const D: u32> Polynomial<C, D> {
    const ROOM: () = assert!(C >= 4 && C <= 128, "a form needs room for 4 to 128 monomials");

    /// The whole real line.
    pub fn whole() -> Self {
        Self { exponents: [0; C], coefficients: [0.0; C], len: 1, remainder: f64::INFINITY }
    }

    /// `radius` times the factor `i`; a value within `radius` of zero if there is no such factor.
    pub fn factor(i: usize, radius: f64) -> Self {
        if i >= FACTORS {
            return Self::zero().widen(radius);
        }
        let mut form = Self::zero();
        (form.exponents[1], form.coefficients[1], form.len) = (1 << (4 * i), radius, 2);
        form.checked()
    }

    /// A value in the interval, independent of all factors.
    pub fn from_interval(range: Interval) -> Self {
        Self::constant(range.midpoint()).widen(range.radius())
    }

    /// The same value, off by at most `|amount|` more.
    pub fn widen(mut self, amount: f64) -> Self {
        self.remainder = add_up(self.remainder, amount.abs());
        self.checked()
    }

    /// The constant.
    pub fn center(&self) -> f64 {
        self.coefficients[0]
    }

    /// Largest distance from the polynomial.
    pub fn remainder(&self) -> f64 {
        self.remainder
    }

    /// Packed exponents (four bits a factor, the first factor lowest) and coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.exponents[..self.len].iter().copied().zip(self.coefficients[..self.len].iter().copied())
    }

    /// The hull: all values over all k.
    pub fn interval(&self) -> Interval {
        let start = Interval::constant(self.center()) + Interval::new(-self.remainder, self.remainder);
        self.terms().skip(1).fold(start, |sum, (exponent, c)| {
            sum + if is_even(exponent) { Interval::new(0.0, c) } else { Interval::new(-c, c) }
        })
    }

    /// What is known of the value if the first factors are those of `k` (each in [-1, 1]) and the others may be anything.
    pub fn slice(&self, k: &[f64]) -> Interval {
        let start = Interval::new(-self.remainder, self.remainder);
        self.terms().fold(start, |sum, (exponent, c)| {
            let (at, rest) = partial(exponent, k);
            let known = Interval::constant(c) * at;
            let other = if rest == 0 {
                Interval::constant(1.0)
            } else if is_even(rest) {
                Interval::new(0.0, 1.0)
            } else {
                Interval::new(-1.0, 1.0)
            };
            sum + known * other
        })
    }

    /// Enclosure of the derivative with respect to factor `i` of the polynomial in the first factors alone, at `k`: of the
    /// monomials without any of the others.
    pub fn gradient(&self, k: &[f64], i: usize) -> Interval {
        self.derivative(k, |exponent| lowered(exponent, i))
    }

    /// The same of the second derivative with respect to factors `i` and `j`.
    pub fn hessian(&self, k: &[f64], i: usize, j: usize) -> Interval {
        self.derivative(k, |exponent| {
            let (once, first) = lowered(exponent, i)?;
            let (twice, second) = lowered(once, j)?;
            Some((twice, first * second))
        })
    }

    fn derivative(&self, k: &[f64], of: impl Fn(u64) -> Option<(u64, f64)>) -> Interval {
        self.terms().fold(Interval::constant(0.0), |sum, (exponent, c)| match of(exponent) {
            Some((lower, factor)) if partial(exponent, k).1 == 0 => {
                sum + Interval::constant(c) * Interval::constant(factor) * partial(lower, k).0
            }
            _ => sum,
        })
    }

    /// `sum |c_i|` without the constant, rounded up.
    fn spread(&self) -> f64 {
        self.coefficients[1..self.len].iter().fold(0.0, |sum, c| add_up(sum, c.abs()))
    }

    /// Upper bound of the distance from the constant.
    pub fn radius(&self) -> f64 {
        add_up(self.spread(), self.remainder)
    }

    /// The form without its constant: exact.
    fn without_constant(mut self) -> Self {
        self.coefficients[0] = 0.0;
        self
    }

    /// Square root of the non-negative part, as for [`Interval::sqrt`].
    ///
    /// Proof. With x = c (1 + y), |y| <= m <= 1/2, Taylor with Lagrange's remainder gives sqrt(1 + y) = 1 + y/2 - y^2/8 + R,
    /// |R| <= m^3/16 (1 - m)^(-5/2) <= m^3/16 / (1 - m)^3. The computed y is off by 2u m at most (1/c and its rounding), which
    /// counts less than once, and the computed root of c by u of itself.
    pub fn sqrt(self) -> Self {
        let (c, r) = (self.center(), self.radius());
        let m = (r / c).next_up();
        if !(c > 0.0 && m <= 0.5) {
            return Self::from_interval(self.interval().sqrt());
        }
        let y = self.without_constant().scale(1.0 / c).widen(mul_up(4.0 * UNIT, m));
        let tail = (m * m).next_up() * m;
        let below = (1.0 - m).next_down();
        let cubed = ((below * below).next_down() * below).next_down();
        let off = add_up((tail.next_up() / (16.0 * cubed)).next_up(), 4.0 * UNIT);
        (Self::constant(1.0) + y.scale(0.5) - (y * y).scale(0.125)).widen(off).scale(c.sqrt())
    }

    fn checked(self) -> Self {
        let finite = self.coefficients[..self.len].iter().all(|c| c.is_finite());
        if finite && self.remainder < f64::INFINITY { self } else { Self::whole() }
    }
}

/// `k^exponent` over the known factors, and the exponents of the others.
#[inline]
fn partial(exponent: u64, k: &[f64]) -> (Interval, u64) {
    let mut at = Interval::constant(1.0);
    let mut rest = exponent;
    for (i, &x) in k.iter().enumerate().take(FACTORS) {
        let power = (exponent >> (4 * i)) & 0xf;
        for _ in 0..power {
            at = at * Interval::constant(x);
        }
        rest &= !(0xf << (4 * i));
    }
    (at, rest)
}

/// The exponent after one derivative with respect to factor `i`, and the factor that it brings down.
#[inline]
fn lowered(exponent: u64, i: usize) -> Option<(u64, f64)> {
    let power = (exponent >> (4 * i)) & 0xf;
    (power > 0).then(|| (exponent - (1 << (4 * i)), power as f64))
}

impl<const C: usize, const D: u32> Add for Polynomial<C, D> {
    type Output = Self;
    /// Exact up to one rounding a common monomial; the remainders add.
    fn add(self, other: Self) -> Self {
        let () = Self::ROOM;
        let mut all = Collected::new();
        all.constant = self.center() + other.center();
        let mut size = all.constant.abs();
        let (mut i, mut j) = (1, 1);
        while i < self.len || j < other.len {
            let (a, b) = (self.exponents[..self.len].get(i), other.exponents[..other.len].get(j));
            // The smaller exponent comes first; one that is missing comes last.
            let (ours, theirs) = match (a, b) {
                (Some(a), Some(b)) => (a <= b, b <= a),
                (a, b) => (a.is_some(), b.is_some()),
            };
            let exponent = if ours { self.exponents[i] } else { other.exponents[j] };
            let mut c = 0.0;
            if ours {
                c = self.coefficients[i];
                i += 1;
            }
            if theirs {
                c += other.coefficients[j];
                j += 1;
                if ours {
                    size += c.abs();
                }
            }
            all.terms[all.len] = (NonZeroU64::new(exponent), c);
            all.len += 1;
        }
        // Each sum is off by u of itself; their sizes are added up with fewer than 2^8 roundings.
        let off = add_up(add_up(self.remainder, other.remainder), mul_up(UNIT * (1.0 + UNIT * 256.0), size));
        all.into_form(off)
    }
}

impl<const C: usize, const D: u32> Sub for Polynomial<C, D> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + (-other)
    }
}

impl<const C: usize, const D: u32> Neg for Polynomial<C, D> {
    type Output = Self;
    fn neg(mut self) -> Self {
        self.coefficients[..self.len].iter_mut().for_each(|c| *c = -*c);
        self
    }
}

impl<const C: usize, const D: u32> Mul for Polynomial<C, D> {
    type Output = Self;
    /// Proof. (p + r)(q + s) = pq + p s + q r + r s, with |p| <= sum |a_i| = A and |q| <= B. In pq every a_i meets every b_j once, and
    /// for a given exponent there is at most one j to each i: a coefficient is the sum of at most K = min(len) products, off
    /// by at most u for each product and each partial sum, so all of them together by at most 2 K u A B (1 + 2^-40) plus underflow.
    /// What is left out is summed with at most 2^14 roundings and then again as `Collected::into_form` says.
    fn mul(self, other: Self) -> Self {
        let () = Self::ROOM;
        let (few, many) = if self.len <= other.len { (&self, &other) } else { (&other, &self) };
        let mut all = Collected::new();
        all.constant = few.center() * many.center();
        let mut used = 0;
        for (i, (e, a)) in few.terms().enumerate() {
            for (j, (f, b)) in many.terms().enumerate() {
                if i + j == 0 {
                    continue;
                }
                let (exponent, product) = (e + f, a * b);
                if product == 0.0 {
                    continue;
                }
                if exponent & GUARD != 0 || degree(exponent) > D {
                    all.leave_out(NonZeroU64::new(exponent), product);
                    continue;
                }
                let mut slot = (exponent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
                let exponent = NonZeroU64::new(exponent);
                while all.terms[slot].0 != exponent && all.terms[slot].0.is_some() {
                    slot = (slot + 1) % SLOTS;
                }
                if all.terms[slot].0 == exponent {
                    all.terms[slot].1 += product;
                } else if used < FULL {
                    all.terms[slot] = (exponent, product);
                    used += 1;
                } else {
                    all.leave_out(exponent, product);
                }
            }
        }
        // Close the gaps of the table.
        for slot in 0..SLOTS {
            if all.terms[slot].0.is_some() {
                all.terms[all.len] = all.terms[slot];
                all.len += 1;
            }
        }
        let a = add_up(self.spread(), self.center().abs());
        let b = add_up(other.spread(), other.center().abs());
        let count = 2.0 * few.len as f64 + 4.0;
        let rounding = add_up(mul_up(count * UNIT, mul_up(a, b)), UNDERFLOW);
        let mixed = add_up(mul_up(a, other.remainder), mul_up(b, self.remainder));
        let off = add_up(add_up(mixed, mul_up(self.remainder, other.remainder)), rounding);
        // Halves of even monomials that the loop moved to the constant: as many roundings as it left out.
        let moved = mul_up(few.len as f64 * many.len as f64 * UNIT, mul_up(a, b));
        all.into_form(add_up(off, moved))
    }
}

impl<const C: usize, const D: u32> Scalar for Polynomial<C, D> {
    /// The whole line if `x` isn't finite.
    fn constant(x: f64) -> Self {
        let mut form = Self { exponents: [0; C], coefficients: [0.0; C], len: 1, remainder: 0.0 };
        form.coefficients[0] = x;
        form.checked()
    }

    /// Exact up to one rounding a coefficient.
    fn scale(mut self, factor: f64) -> Self {
        let mut size = 0.0;
        for c in &mut self.coefficients[..self.len] {
            *c *= factor;
            size += c.abs();
        }
        if factor == 0.0 && self.remainder < f64::INFINITY {
            return Self::zero();
        }
        let off = add_up(mul_up(UNIT * (1.0 + 256.0 * UNIT), size), UNDERFLOW);
        self.remainder = add_up(mul_up(factor.abs(), self.remainder), off);
        self.checked()
    }

    /// Cubic around the constant up to a radius of 1 rad; beyond, the hull.
    ///
    /// Proof. With x = c + d, |d| <= r: sin x = sin c cos d + cos c sin d, cos x = cos c cos d - sin c sin d, and by Lagrange
    /// cos d = 1 - d^2/2 +- r^4/24, sin d = d - d^3/6 +- r^5/120, over all of [-r, r]. Errors of sin c and cos c count with at most 1.
    fn sin_cos(self) -> (Self, Self) {
        let r = self.radius();
        if !(r <= 1.0) {
            let (sine, cosine) = sine::over::<Interval>(self.interval());
            return (Self::from_interval(sine), Self::from_interval(cosine));
        }
        let [(s, off_s), (k, off_k)] = Counted::sin_cos(self.center());
        let off = add_up(off_s, off_k);
        let d = self.without_constant();
        let square = d * d;
        let cube = square * d;
        let r2 = mul_up(r, r);
        let r4 = mul_up(r2, r2);
        // 1/24 and 1/120 rounded up by the division's successor.
        let cosine = (Self::constant(1.0) - square.scale(0.5)).widen((r4 / 24.0).next_up());
        let sixth = (1.0_f64 / 6.0).next_up();
        let sine = d - cube.scale(sixth);
        // The scale is above 1/6 by at most 2^-55.
        let sine = sine.widen(add_up((mul_up(r4, r) / 120.0).next_up(), mul_up(UNIT, mul_up(r2, r))));
        ((cosine.scale(s) + sine.scale(k)).widen(off), (cosine.scale(k) - sine.scale(s)).widen(off))
    }
}

#[cfg(test)]
mod tests;
