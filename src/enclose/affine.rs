//! Affine forms: values linear in shared symbols, plus a remainder.
//!
//! # Assumed
//! What [`Rounding`] promises. Nothing else: the algorithm here uses no bare arithmetic on coefficients.
//!
//! # Proven
//! Say that a form *holds* a real x at symbol values e in [-1,1]^N if `|x - center - sum g_i e_i| <= remainder`. For
//! every e, if x and y are held by two forms at e, then x op y is held at the same e by the result of op. By
//! induction this is so for any expression, and for all e at once. The proofs stand at the operations; each bounds
//! all that isn't linear, and adds the rounding error of every coefficient, `|g_fl - g| |e_i| <= |g_fl - g|`, to the
//! remainder, which is itself computed upward ([`Rounding::upper`]).
//!
//! # Numbers that are none
//! The coefficients are finite, or the remainder is infinite and the rest zero ([`Affine::whole`]). If a coefficient
//! overflows or becomes NaN, so does its error by the contract of [`Rounding::split`], hence the remainder is infinite.

use std::marker::PhantomData;
use std::ops::{Add, Mul, Neg, Sub};

use crate::enclose::interval::Interval;
use crate::enclose::rounding::{Counted, Rounding};
use crate::scalar::{Scalar, replaced};

/// At least 1/24 and 1/120: a quotient is off by less than one step.
const ONE_24TH: f64 = (1.0_f64 / 24.0).next_up();
const ONE_120TH: f64 = (1.0_f64 / 120.0).next_up();

/// The set `{ center + sum_i generators[i] e_i + remainder e : e_i, e in [-1, 1] }`, where `e_i` is the same unknown in all
/// values and `e` is another one in each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Affine<const N: usize, R: Rounding = Counted> {
    center: f64,
    generators: [f64; N],
    remainder: f64,
    rounding: PhantomData<R>,
}

impl<const N: usize, R: Rounding> Affine<N, R> {
    /// A form from its coefficients (the sign of the remainder is ignored); the whole line if one isn't finite.
    pub fn new(center: f64, generators: [f64; N], remainder: f64) -> Self {
        if center.is_finite() && generators.iter().all(|g| g.is_finite()) {
            Self::assembled(center, generators, remainder.abs())
        } else {
            Self::whole()
        }
    }

    /// The whole real line, which nothing is known about.
    pub fn whole() -> Self {
        Self { center: 0.0, generators: [0.0; N], remainder: f64::INFINITY, rounding: PhantomData }
    }

    /// The set `radius * e_i` of symbol `i`. Symbols `N` and above aren't kept apart: they go to the remainder.
    pub fn symbol(i: usize, radius: f64) -> Self {
        let mut generators = [0.0; N];
        match generators.get_mut(i) {
            Some(g) => *g = radius,
            None => return Self::new(0.0, generators, radius),
        }
        Self::new(0.0, generators, 0.0)
    }

    /// A value in the interval, independent of all symbols.
    pub fn from_interval(range: Interval) -> Self {
        Self::new(range.midpoint(), [0.0; N], range.radius())
    }

    /// The same value, off by at most `|amount|` more.
    pub fn widen(self, amount: f64) -> Self {
        let remainder = R::upper(R::exact(self.remainder) + R::exact(amount.abs()));
        Self::assembled(self.center, self.generators, remainder)
    }

    /// The same value in a form of `M` symbols. Symbols `M` and above aren't kept apart: they go to the remainder.
    ///
    /// Proof. What the form lacks of a value is at most the remainder and `sum |g_i|` over the symbols that are lost.
    pub fn with_symbols<const M: usize>(&self) -> Affine<M, R> {
        let mut generators = [0.0; M];
        let kept = M.min(N);
        generators[..kept].copy_from_slice(&self.generators[..kept]);
        if kept == N {
            return Affine {
                center: self.center,
                generators,
                remainder: self.remainder,
                rounding: PhantomData,
            };
        }
        let mut lost = self.generators;
        lost[..kept].fill(0.0);
        Affine::assembled(self.center, generators, R::upper(R::magnitude(&lost) + R::exact(self.remainder)))
    }

    /// Value where all symbols are zero, up to the remainder.
    #[inline]
    pub fn center(&self) -> f64 {
        self.center
    }

    /// Coefficients of the symbols.
    #[inline]
    pub fn generators(&self) -> &[f64; N] {
        &self.generators
    }

    /// Largest distance from the linear part; not negative, maybe infinite.
    #[inline]
    pub fn remainder(&self) -> f64 {
        self.remainder
    }

    /// Upper bound of the distance from the center: `sum |g_i| + remainder`.
    #[inline]
    pub fn radius(&self) -> f64 {
        R::upper(self.spread())
    }

    /// Lower bound of the value.
    #[inline]
    pub fn lower(&self) -> f64 {
        -R::upper(self.spread() + R::exact(-self.center))
    }

    /// Upper bound of the value.
    #[inline]
    pub fn upper(&self) -> f64 {
        R::upper(self.spread() + R::exact(self.center))
    }

    /// Both bounds.
    #[inline]
    pub fn interval(&self) -> Interval {
        Interval::new(self.lower(), self.upper())
    }

    /// Upper bound of the absolute value.
    #[inline]
    pub fn sup_abs(&self) -> f64 {
        R::upper(self.spread() + R::exact(self.center.abs()))
    }

    /// `sum |g_i| + remainder`.
    #[inline(always)]
    fn spread(&self) -> R::Real {
        R::magnitude(&self.generators) + R::exact(self.remainder)
    }

    /// A result, given that an infinite or NaN coefficient made the remainder infinite or NaN.
    #[inline(always)]
    fn assembled(center: f64, generators: [f64; N], remainder: f64) -> Self {
        if remainder < f64::INFINITY {
            Self { center, generators, remainder, rounding: PhantomData }
        } else {
            Self::whole()
        }
    }

    /// Generators rounded to floats, and an upper bound of the sum of their errors.
    #[inline(always)]
    fn rounded(coefficient: impl Fn(usize) -> R::Real) -> ([f64; N], f64) {
        let (mut values, mut errors) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            (values[i], errors[i]) = R::split(coefficient(i));
        }
        (values, R::upper(R::magnitude(&errors)))
    }
}

impl<const N: usize, R: Rounding> Add for Affine<N, R> {
    type Output = Self;
    /// Exact up to rounding: the remainders add, as they may have any sign.
    #[inline]
    fn add(self, other: Self) -> Self {
        let (center, off_center) = R::split(R::exact(self.center) + R::exact(other.center));
        let (generators, off) =
            Self::rounded(|i| R::exact(self.generators[i]) + R::exact(other.generators[i]));
        let remainder = R::upper(
            R::exact(self.remainder) + R::exact(other.remainder) + R::exact(off_center) + R::exact(off),
        );
        Self::assembled(center, generators, remainder)
    }
}

impl<const N: usize, R: Rounding> Sub for Affine<N, R> {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self + (-other)
    }
}

impl<const N: usize, R: Rounding> Neg for Affine<N, R> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self { center: -self.center, generators: replaced(self.generators, |_, x| -x), ..self }
    }
}

impl<const N: usize, R: Rounding> Mul for Affine<N, R> {
    type Output = Self;
    /// Proof. Let x = a + X, X = sum g_i e_i + r, and y = b + Y, Y = sum h_i e_i + s, with |r|, |s| bounded by the remainders.
    /// xy = ab + sum (a h_i + b g_i) e_i + (a s + b r) + XY. The third part is at most |a| |s| + |b| |r|. In XY the
    /// squares are sum g_i h_i e_i^2, with e_i^2 in [0, 1]: that is half of D = sum g_i h_i, give or take half of
    /// A = sum |g_i h_i|. All other terms of XY are at most rad X rad Y - A. So the center is ab + D/2, and
    /// the remainder |a| |s| + |b| |r| + rad X rad Y - A/2, with rad X rounded up, A down.
    #[inline]
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self.center, other.center);
        let (g, h) = (&self.generators, &other.generators);
        let (generators, off) = Self::rounded(|i| R::product(a, h[i]) + R::product(b, g[i]));

        let (squares, off_squares) = Self::rounded(|i| R::product(g[i], h[i]));
        let all = R::lower(R::magnitude(&squares) + R::exact(-off_squares)).max(0.0);
        let (sum, off_sum) = R::split(R::total(&squares));
        let (center, off_center) = R::split(R::product(a, b) + R::product(0.5, sum));

        let remainder = R::upper(
            R::product(self.radius(), other.radius())
                + R::product(-0.5, all)
                + R::product(a.abs(), other.remainder)
                + R::product(b.abs(), self.remainder)
                + R::exact(off)
                + R::exact(off_center)
                + R::exact(off_sum)
                + R::exact(off_squares),
        );
        #[cfg(test)]
        let remainder = if R::FORGETS_REMAINDER { 0.0 } else { remainder };
        Self::assembled(center, generators, remainder)
    }
}

impl<const N: usize, R: Rounding> Scalar for Affine<N, R> {
    /// The whole line if `x` isn't finite.
    #[inline]
    fn constant(x: f64) -> Self {
        Self::new(x, [0.0; N], 0.0)
    }

    /// Exact up to rounding.
    #[inline]
    fn scale(self, factor: f64) -> Self {
        let (center, off_center) = R::split(R::product(factor, self.center));
        let (generators, off) = Self::rounded(|i| R::product(factor, self.generators[i]));
        let remainder =
            R::upper(R::product(factor.abs(), self.remainder) + R::exact(off_center) + R::exact(off));
        Self::assembled(center, generators, remainder)
    }

    /// Linear around the center up to a radius of 1 rad; beyond, the hull.
    ///
    /// Proof. With x = c + d, |d| <= r, `sin x = sin c cos d + cos c sin d` and `cos x = cos c cos d - sin c sin d`: no more is
    /// needed than bounds of cos d by a constant and of sin d by a line.
    /// - cos d lies in [1 - r^2/2, 1], so it is beta +- gamma for any beta and gamma = max(1 - beta, beta - 1 + r^2/2).
    /// - sin d is d - d^3/6, give or take r^5/120 (Lagrange). On [-r, r] the cubic d^3 is 3/4 r^2 d, give or take r^3/4
    ///   (the Chebyshev polynomial 4t^3 - 3t is within +-1 on [-1, 1]). So sin d is (1 - r^2/8) d, give or take
    ///   r^3/24 + r^5/120; and alpha d, give or take that plus |alpha - 1 + r^2/8| r, for any alpha.
    ///
    /// Here alpha is made from `r2 >= r^2`, so `|alpha - 1 + r^2/8| <= off_alpha + (r2 - r^2)/8`; and beta = 1 - r2/4, give or
    /// take off_beta, so that gamma <= r2/4 + off_beta. Errors of sin c and cos c count with |cos d| <= 1, |sin d| <= r.
    #[inline]
    fn sin_cos(self) -> (Self, Self) {
        let r = self.radius();
        if r > 1.0 {
            let (sine, cosine) = R::sin_cos_over(self.interval());
            return (Self::from_interval(sine), Self::from_interval(cosine));
        }
        let up = |a: f64, b: f64| R::upper(R::product(a, b));
        let r2 = up(r, r);
        let r3 = up(r2, r);
        let (alpha, off_alpha) = R::split(R::exact(1.0) + R::product(-0.125, r2));
        let off_r2 = R::upper(R::exact(r2) + R::product(-r, r));
        let linear_error = R::upper(
            R::product(r3, ONE_24TH)
                + R::product(up(r3, r2), ONE_120TH)
                + R::product(off_alpha, r)
                + R::product(off_r2, r),
        );
        let (beta, off_beta) = R::split(R::exact(1.0) + R::product(-0.25, r2));
        let even_error = R::upper(R::product(0.25, r2) + R::exact(off_beta));

        let [(s, off_s), (k, off_k)] = R::sin_cos(self.center);
        // p cos d + q sin d, for p and q known up to their errors.
        let rotated = |p: f64, off_p: f64, q: f64, off_q: f64| {
            let (center, off_center) = R::split(R::product(p, beta));
            let (slope, off_slope) = R::split(R::product(q, alpha));
            let (generators, off) = Self::rounded(|i| R::product(slope, self.generators[i]));
            let remainder = R::upper(
                R::product(p.abs(), even_error)
                    + R::product(q.abs(), linear_error)
                    + R::product(slope.abs(), self.remainder)
                    + R::product(off_slope, r)
                    + R::product(off_q, r)
                    + R::exact(off_p)
                    + R::exact(off_center)
                    + R::exact(off),
            );
            Self::assembled(center, generators, remainder)
        };
        (rotated(s, off_s, k, off_k), rotated(k, off_k, -s, off_s))
    }
}
