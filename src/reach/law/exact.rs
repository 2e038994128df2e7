//! A scalar of twice the precision, for tests of what plain numbers round.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Magnitude;
use crate::enclose::twofold::Twofold;
use crate::scalar::Scalar;

/// As good as exact, for the algorithms that are written over any scalar.
#[derive(Debug, Clone, Copy)]
pub struct Exact(pub Twofold);

impl Add for Exact {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.add(other.0))
    }
}

impl Sub for Exact {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.sub(other.0))
    }
}

impl Mul for Exact {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0.mul(other.0))
    }
}

impl Neg for Exact {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.neg())
    }
}

impl Scalar for Exact {
    const PRODUCT: bool = true;

    fn constant(x: f64) -> Self {
        Self(Twofold::from(x))
    }

    fn scale(self, factor: f64) -> Self {
        self * Self::constant(factor)
    }

    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = self.0.sin_cos();
        (Self(s), Self(c))
    }
}

impl Div for Exact {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self(self.0.div(other.0))
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.sub(other.0).head.partial_cmp(&0.0)
    }
}

impl Magnitude for Exact {
    fn absolute(self) -> Self {
        Self(self.0.abs())
    }

    fn over(self, divisor: f64) -> Self {
        self / Self::constant(divisor)
    }

    fn minimum(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    fn positive_part(self) -> Self {
        if self < Self::zero() { Self::zero() } else { self }
    }
}
