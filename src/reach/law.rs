//! The robust law, written once for every arithmetic that asks for it.
//!
//! The controller runs it on `f64`. The certifier runs the same functions on affine forms, for what the law says of all states of a cell, and on
//! [`Roundoff`], for what plain arithmetic can be off by. What the law is and why it keeps the tube is told in [`super::tube`].
//!
//! # Parts
//! * [`Law`]: nominal torque, disturbance bound rho with Coulomb friction, strips and drift, and the bound V^ of the energy.
//! * [`robust`]: layer, grip, demand and rest.
//! * [`LawBounds`]: closed bounds on what these do at most over a cell.
//!
//! # Arithmetics
//! A [`LawScalar`] is a [`Scalar`] that knows besides how the law's few other questions are answered: which sign a speed has, how large a
//! number is, what two strips make between them. Bounds (rho and its parts) are numbers of their own, [`Bound`]: plain ones of the controller,
//! ones that are rounded up of the certifier, and ones with their errors of [`Roundoff`].

mod bounds;
mod disturbance;
mod energy;
#[cfg(test)]
pub(crate) mod exact;
pub mod robust;
mod scalars;

use std::ops::Add;

use crate::scalar::Scalar;

use super::strips::Between;

pub use bounds::LawBounds;
pub use disturbance::{ByBox, Law, TorqueRow, by_either, by_strips, sums};
pub use energy::energy_floor;
pub use robust::broken_above_j;
pub use scalars::Upward;

#[cfg(doc)]
use super::roundoff::Roundoff;

/// An upper bound that is not negative: rho and what it is made of.
pub trait Bound: Copy + Add<Output = Self> {
    /// The bound `x`.
    fn exactly(x: f64) -> Self;

    /// `self` times a factor that is not negative.
    fn times(self, factor: f64) -> Self;

    /// The smaller of the two.
    fn smaller(self, other: Self) -> Self;
}

/// What the law knows of the direction in which a joint moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The same at the reading and in truth.
    Known,
    /// It may be either, and the joint may stick.
    Doubtful,
}

/// A number that the law's torques can be computed with.
pub trait LawScalar: Scalar {
    /// Bounds on such numbers.
    type Bound: Bound;
    /// A sum of absolute values.
    type AbsoluteSum: AbsoluteSum<Self>;

    /// Coulomb friction of strength `coulomb` (N m) as the law compensates it at this measured speed: with its sign beyond `band` (rad/s), not at all
    /// within.
    fn coulomb(self, coulomb: f64, band: f64) -> (Self, Direction);

    /// The value between two strips, of which it is `a` at the first and `b` at the second.
    fn between(place: &Between<Self>, a: f64, b: f64) -> Self;

    /// Upper bound of the number.
    fn at_most(self) -> Self::Bound;

    /// Upper bound of its absolute value.
    fn size_at_most(self) -> Self::Bound;
}

/// What it starts with, and a sum of |y_p| g_p over entries of a torque row.
pub trait AbsoluteSum<T: LawScalar> {
    /// Nothing but `bound`.
    fn starting(bound: T::Bound) -> Self;

    /// Adds |y| g of a link's column.
    fn link(&mut self, y: T, g: f64);

    /// Adds |y| g of a column of the joint's own.
    fn own(&mut self, y: T, g: f64);

    /// Adds g: |y| g for y = 1.
    fn one(&mut self, g: f64);

    /// The sum.
    fn total(self) -> T::Bound;
}

/// A number that the controller, or a model of its rounding, computes with: it has an absolute value and can be compared.
pub trait Magnitude: Scalar {
    /// The absolute value.
    fn absolute(self) -> Self;

    /// Its quotient by a positive constant, which may itself have been rounded once.
    fn over(self, divisor: f64) -> Self;

    /// The smaller of the two.
    fn minimum(self, other: Self) -> Self;

    /// The number, or zero if it is negative.
    fn positive_part(self) -> Self;
}
