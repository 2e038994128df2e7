//! What plain floating point can make of the controller's exact law: a bound on its rounding errors over a cell.
//!
//! # Assumed
//! IEEE 754 arithmetic in round-to-nearest, and sine and cosine within 2^-51 of the exact ones: proven for those of
//! `scalar::turn`, which the algorithms use up to 1e5 rad, and four times the error of a good libm beyond (the
//! certifier's own ones are proven instead).
//!
//! # Proven
//! [`Roundoff`] stands for a computed x~ and the exact x that it should be: |x|, |x~| <= size and |x~ - x| <= error. With
//! u = 2^-53 and eta = 2^-1074, a computed sum is off by u |x~ + y~| more than its operands, a product by u |x~ y~| + eta, and
//! |x~ y~ - x y| <= |x~| |y~ - y| + |y| |x~ - x|. A fused product and sum leaves one of these roundings out. Bounds are rounded up. So the generic algorithms, run on this scalar with the
//! sizes of a cell, bound the error of the same algorithms run on any state of the cell, in the same order of operations. (The sizes
//! ignore all cancellation; that costs a factor of some thousands on errors of 1e-15.)
//!
//! What the controller makes of these numbers is bounded by [`LAW_ROUNDOFF`]: P, grip, demand and v are sums, products and quotients
//! of non-negative terms (and one difference, see [`super::law::LawBounds`]), at most n + 16 operations deep, so each is off by less than 64 u = 2^-47 of the
//! terms' sum. The tests of [`super::law::robust`] run demand and grip on this scalar.

use std::ops::{Add, Mul, Neg, Sub};

use crate::dynamics::{Motion, RegressorStorage};
use crate::enclose::Rounding;
use crate::inertia::INERTIAL;
use crate::robot::Arm;
use crate::scalar::Scalar;

use super::cell::{Cell, Joints};
use super::law::{ByBox, Law, TorqueRow, by_either, by_strips};
use super::strips::Between;
use super::tube::Tube;
use super::upward::{add_up, div_up, mul_up};

/// 2^-53.
const UNIT: f64 = 0.5 * f64::EPSILON;
/// Smallest positive float.
const LEAST: f64 = f64::from_bits(1);
/// Bound of the errors of the platform's sine and cosine: 2^-51.
const SINE_ERROR: f64 = 2.0 * f64::EPSILON;

/// 2^-40: relative error of what the controller makes of rho, r and V^ (module header), with a hundredfold reserve.
pub const LAW_ROUNDOFF: f64 = 1.0 / (1_u64 << 40) as f64;

/// Any place among strips: shares of time are quotients of differences of floats, three roundings, and what is left of one a fourth.
const ANY_PLACE: Between<Roundoff> = {
    let share = Roundoff { size: 1.0, error: 8.0 * UNIT };
    Between { first: 0, second: 0, share, rest: share }
};

/// A computed number and the exact one that it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roundoff {
    size: f64,
    /// Upper bound of the distance between the two numbers.
    pub error: f64,
}

impl Roundoff {
    /// A float of at most this size, itself exact.
    pub fn float(size: f64) -> Self {
        Self { size: size.abs(), error: 0.0 }
    }

    /// A float of at most this size that stands for a number that it is off by `error` from.
    pub fn inexact(size: f64, error: f64) -> Self {
        Self { size: size.abs(), error }
    }

    /// One of two numbers, the smaller or the larger: it moves no further than the one that moves further.
    pub fn either(self, other: Self) -> Self {
        Self { size: self.size.max(other.size), error: self.error.max(other.error) }
    }

    /// The quotient by a positive float, which may stand for a number that was rounded once: 2 u of the quotient for that, u for its own rounding.
    pub fn quotient(self, divisor: f64) -> Self {
        let size = mul_up(div_up(self.size, divisor), 1.0 + 4.0 * UNIT);
        Self::rounded(size, add_up(div_up(self.error, divisor), mul_up(2.0 * UNIT, size)))
    }

    #[inline]
    fn rounded(size: f64, error: f64) -> Self {
        Self { size, error: add_up(error, add_up(mul_up(UNIT, size), LEAST)) }
    }
}

impl Add for Roundoff {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self::rounded(add_up(self.size, other.size), add_up(self.error, other.error))
    }
}

impl Sub for Roundoff {
    type Output = Self;
    // Sizes know no sign; that is no slip.
    #[allow(clippy::suspicious_arithmetic_impl)]
    #[inline]
    fn sub(self, other: Self) -> Self {
        self + other
    }
}

impl Neg for Roundoff {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        self
    }
}

impl Mul for Roundoff {
    type Output = Self;
    #[inline]
    fn mul(self, other: Self) -> Self {
        let error = add_up(mul_up(self.size, other.error), mul_up(other.size, self.error));
        Self::rounded(mul_up(self.size, other.size), error)
    }
}

impl Scalar for Roundoff {
    /// It follows the order of operations of plain floats.
    const PRODUCT: bool = f64::PRODUCT;

    fn constant(x: f64) -> Self {
        Self::float(x)
    }

    #[inline]
    fn scale(self, factor: f64) -> Self {
        self * Self::float(factor)
    }

    /// Sine and cosine have slopes of at most one, and no bound above one but their own error.
    fn sin_cos(self) -> (Self, Self) {
        let one = Self { size: 1.0 + SINE_ERROR, error: add_up(self.error, SINE_ERROR) };
        (one, one)
    }
}

/// Bounds on the errors of the controller's arithmetic over a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundoffBounds {
    /// |computed - exact| of the nominal torque plus the same of rho, of each joint, N m.
    pub torque_nm: Joints<f64>,
    /// |computed - exact| of V^, J.
    pub energy_j: f64,
}

impl RoundoffBounds {
    /// Runs the law on the sizes of `cell`.
    pub fn new<const N: usize, R: Rounding>(
        robot: &Arm,
        law: &Law<'_>,
        cell: &Cell<N, R>,
        (motion, storage): (&mut Motion<Roundoff>, &mut RegressorStorage<Roundoff>),
    ) -> Self {
        let n = robot.dof();
        let sizes = |forms: &[crate::enclose::Affine<N, R>]| -> Joints<Roundoff> {
            forms.iter().map(|x| Roundoff::float(x.sup_abs())).collect()
        };
        let (q, dq, dqa, ddqa) = (sizes(&cell.q), sizes(&cell.dq), sizes(&cell.dqa), sizes(&cell.ddqa));
        let r: Joints<Roundoff> =
            (0..n).map(|j| Roundoff::float(add_up(cell.r[j].sup_abs(), cell.deviation[j].r))).collect();

        motion.sweep(robot, &q, &dq, &dqa, &ddqa);
        let y = storage.torque(robot, motion);
        let of = |j: usize| {
            let row = TorqueRow::new(y, (j, INERTIAL * n), dq[j], ddqa[j]);
            let ByBox { mut nominal, charge, left: mut by_set } = law.by_box(j, &row, &row);
            if let Some(strips) = law.set.strips() {
                let most = strips.largest(j);
                let (shift, known) = by_strips(law.set, j, (&ANY_PLACE, [most, most]), &row);
                nominal = nominal + shift;
                by_set = by_either((by_set, charge), (shift, known));
            }
            add_up(nominal.error, law.disturbance(j, by_set).error)
        };
        let torque_nm = (0..n).map(of).collect();

        motion.sweep(robot, &q, &r, &r, &r);
        let energy_j = law.energy_bound(&r, storage.momentum(robot, motion)).error;
        Self { torque_nm, energy_j }
    }

    /// Upper bound of what the computed V^ exceeds the exact supremum by.
    pub fn slack_above(&self, tube: &Tube) -> f64 {
        add_up(tube.energy_slack_j, self.energy_j)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_cancellation_and_sines() {
        // (1 + x) - 1 for x = 1e-17 is computed as 0: off by 1e-17.
        let (one, x) = (Roundoff::constant(1.0), Roundoff::constant(1e-17));
        assert!(((one + x) - one).error >= 1e-17);
        // sin(a)^2 + cos(a)^2 is off from 1 by what the bound says at most.
        let (s, c) = Roundoff::float(3.0).sin_cos();
        let bound = (s * s + c * c).error;
        for k in 0..1000 {
            let a = 3.0 * (f64::from(k) / 500.0 - 1.0);
            assert!((a.sin() * a.sin() + a.cos() * a.cos() - 1.0).abs() <= bound);
        }
        assert!(bound < 1e-14);
    }

    /// Sums and products whose rounding is as large as it can be, and operands whose errors count in full.
    #[test]
    fn each_rounding_and_each_error_is_met() {
        let near = |found: f64, bound: f64| {
            assert!(found <= bound && found >= 0.99 * bound, "{found} of {bound}");
        };
        let float = Roundoff::float;
        // 1 + 2^-53 is rounded to 1, and (1 + 2^-26) (1 + 2^-27) to 1 + 2^-26 + 2^-27.
        near(UNIT, (float(1.0) + float(UNIT)).error);
        let (x, y) = (1.0 + 2f64.powi(-26), 1.0 + 2f64.powi(-27));
        assert_eq!(x * y, 1.0 + 2f64.powi(-26) + 2f64.powi(-27));
        near(UNIT, (float(x) * float(y)).error);
        // 1 and 2, each computed as a little more.
        let (d, e) = (1e-3, 2e-3);
        let (x, y) = (Roundoff { size: 1.0 + d, error: d }, Roundoff { size: 2.0 + e, error: e });
        near(d + e, (x + y).error);
        near(d + e, (x - y).error);
        near((1.0 + d) * (2.0 + e) - 2.0, (x * y).error);
        let (one, two) = (float(1.0), float(2.0));
        near(e, (one * y).error);
        near(2.0 * d, (x * two).error);
        near(5.0 * d, x.scale(5.0).error);
        // A quotient passes errors on; a third is rounded, and three may be a number that was.
        near(d / 4.0, x.quotient(4.0).error);
        let third = one.quotient(3.0).error;
        assert!((UNIT..4.0 * UNIT / 3.0).contains(&third), "{third}");
        assert!(x.either(y) == y && y.either(x) == y);
        // The sine's slope is one at zero, the cosine's a quarter turn later.
        let (s, c) = x.sin_cos();
        near(d, s.error);
        near(d, c.error);
        assert!(float(1.0).sin_cos().0.error >= 2f64.powi(-51));
    }
}
