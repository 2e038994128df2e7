//! The arithmetics that the law is run on, and how each answers the law's questions.
//!
//! # Proven
//! *Forms.* A bound over a cell holds at every state of it: of the speed's sign it is known what its range says, and where the range is not beyond
//! the band on one side, any torque up to F_c may be compensated and the larger charge, that in doubt, holds. |y| is bounded where the tube leaves
//! the sign of y in no doubt by a form, so that of these the sum is bounded; of the others each. Suprema are over the ellipsoids of
//! [`crate::reach::extent`]. Between two equal values nothing depends on the share.
//!
//! *Roundings.* The larger branch: sizes and errors of a number that is compensated cover those of zero, and the charge in doubt is the larger
//! one. The smaller of two numbers moves no further than the one that moves further, and neither an absolute value nor a positive part further than
//! the number itself.

use std::ops::Add;

use arrayvec::ArrayVec;

use crate::enclose::{Affine, Rounding};
use crate::reach::extent;
use crate::reach::roundoff::Roundoff;
use crate::reach::strips::{Between, OWN};
use crate::reach::upward::{add_up, mul_up};
use crate::scalar::Scalar;

use super::{AbsoluteSum, Bound, Direction, LawScalar, Magnitude};

impl Bound for f64 {
    #[inline]
    fn exactly(x: f64) -> Self {
        x
    }

    #[inline]
    fn times(self, factor: f64) -> Self {
        factor * self
    }

    #[inline]
    fn smaller(self, other: Self) -> Self {
        self.min(other)
    }
}

/// Absolute values added up one by one, in the order in which they come.
#[derive(Debug, Clone, Copy)]
pub struct Running<B>(B);

impl AbsoluteSum<f64> for Running<f64> {
    fn starting(bound: f64) -> Self {
        Self(bound)
    }

    #[inline]
    fn link(&mut self, y: f64, g: f64) {
        self.0 += y.abs() * g;
    }

    #[inline]
    fn own(&mut self, y: f64, g: f64) {
        self.0 += y.abs() * g;
    }

    #[inline]
    fn one(&mut self, g: f64) {
        self.0 += g;
    }

    fn total(self) -> f64 {
        self.0
    }
}

impl LawScalar for f64 {
    type Bound = f64;
    type AbsoluteSum = Running<f64>;

    #[inline]
    fn coulomb(self, coulomb: f64, band: f64) -> (Self, Direction) {
        let known = self.abs() > band;
        let sign = if known { self.signum() } else { 0.0 };
        (coulomb * sign, if known { Direction::Known } else { Direction::Doubtful })
    }

    #[inline]
    fn between(place: &Between<Self>, a: f64, b: f64) -> Self {
        place.rest * a + place.share * b
    }

    #[inline]
    fn at_most(self) -> f64 {
        self
    }

    #[inline]
    fn size_at_most(self) -> f64 {
        self.abs()
    }
}

impl Magnitude for f64 {
    #[inline]
    fn absolute(self) -> Self {
        self.abs()
    }

    #[inline]
    fn over(self, divisor: f64) -> Self {
        self / divisor
    }

    #[inline]
    fn minimum(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline]
    fn positive_part(self) -> Self {
        self.max(0.0)
    }
}

/// A bound that every operation rounds up.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Upward(pub f64);

impl Add for Upward {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(add_up(self.0, other.0))
    }
}

impl Bound for Upward {
    #[inline]
    fn exactly(x: f64) -> Self {
        Self(x)
    }

    #[inline]
    fn times(self, factor: f64) -> Self {
        Self(mul_up(factor, self.0))
    }

    #[inline]
    fn smaller(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

/// Entries whose sign is known as one form, the others one by one.
#[derive(Debug, Clone)]
pub struct FormSpread<const N: usize, R: Rounding> {
    start: f64,
    sum: Affine<N, R>,
    each: f64,
    /// Those of the joint's own, which are added last.
    own: ArrayVec<(Affine<N, R>, f64), { OWN.len() }>,
}

impl<const N: usize, R: Rounding> AbsoluteSum<Affine<N, R>> for FormSpread<N, R> {
    fn starting(bound: Upward) -> Self {
        Self { start: bound.0, sum: Affine::zero(), each: 0.0, own: ArrayVec::new() }
    }

    #[inline]
    fn link(&mut self, y: Affine<N, R>, g: f64) {
        if !(g > 0.0) {
            return;
        }
        if extent::spread(&y) < y.center().abs() {
            self.sum = self.sum + y.scale(g.copysign(y.center()));
        } else {
            self.each = add_up(self.each, mul_up(extent::sup_abs(&y), g));
        }
    }

    fn own(&mut self, y: Affine<N, R>, g: f64) {
        self.own.push((y, g));
    }

    fn one(&mut self, g: f64) {
        self.own(Affine::constant(1.0), g);
    }

    fn total(mut self) -> Upward {
        for (y, g) in std::mem::take(&mut self.own) {
            self.link(y, g);
        }
        Upward(add_up(self.start, add_up(self.each, extent::upper(&self.sum).max(0.0))))
    }
}

impl<const N: usize, R: Rounding> LawScalar for Affine<N, R> {
    type Bound = Upward;
    type AbsoluteSum = FormSpread<N, R>;

    fn coulomb(self, coulomb: f64, band: f64) -> (Self, Direction) {
        let range = self.interval();
        if range.lower() > band {
            (Affine::constant(coulomb), Direction::Known)
        } else if range.upper() < -band {
            (Affine::constant(-coulomb), Direction::Known)
        } else {
            // Nothing is compensated where the sign is in doubt; elsewhere in the cell it is, and less than is charged then is left.
            (Affine::zero().widen(coulomb.abs()), Direction::Doubtful)
        }
    }

    #[inline]
    fn between(place: &Between<Self>, a: f64, b: f64) -> Self {
        if a == b { Affine::constant(a) } else { place.rest.scale(a) + place.share.scale(b) }
    }

    fn at_most(self) -> Upward {
        Upward(extent::upper(&self))
    }

    fn size_at_most(self) -> Upward {
        Upward(self.sup_abs())
    }
}

impl Bound for Roundoff {
    fn exactly(x: f64) -> Self {
        Self::float(x)
    }

    fn times(self, factor: f64) -> Self {
        self.scale(factor)
    }

    fn smaller(self, other: Self) -> Self {
        self.either(other)
    }
}

impl AbsoluteSum<Roundoff> for Running<Roundoff> {
    fn starting(bound: Roundoff) -> Self {
        Self(bound)
    }

    #[inline]
    fn link(&mut self, y: Roundoff, g: f64) {
        self.0 = self.0 + y.scale(g);
    }

    fn own(&mut self, y: Roundoff, g: f64) {
        self.link(y, g);
    }

    fn one(&mut self, g: f64) {
        self.0 = self.0 + Roundoff::float(g);
    }

    fn total(self) -> Roundoff {
        self.0
    }
}

impl LawScalar for Roundoff {
    type Bound = Self;
    type AbsoluteSum = Running<Self>;

    fn coulomb(self, coulomb: f64, _band: f64) -> (Self, Direction) {
        (Self::float(coulomb), Direction::Doubtful)
    }

    #[inline]
    fn between(place: &Between<Self>, a: f64, b: f64) -> Self {
        place.rest.scale(a) + place.share.scale(b)
    }

    fn at_most(self) -> Self {
        self
    }

    fn size_at_most(self) -> Self {
        self
    }
}

impl Magnitude for Roundoff {
    fn absolute(self) -> Self {
        self
    }

    fn over(self, divisor: f64) -> Self {
        self.quotient(divisor)
    }

    fn minimum(self, other: Self) -> Self {
        self.either(other)
    }

    fn positive_part(self) -> Self {
        self
    }
}
