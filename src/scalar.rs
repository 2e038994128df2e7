//! The scalar that every rigid-body algorithm is written over.
//!
//! `dynamics` and `trajectory` know only this trait. It is implemented by `f64`, by forward-mode [`Dual`] numbers
//! over any other scalar, and by the enclosures of [`crate::enclose`].

mod turn;

use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

/// A number-like type that supports what rigid-body algorithms need: ring operations, constants, sine and cosine.
pub trait Scalar:
    Copy
    + Debug
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// Whether a product costs little more than one with a constant and loses nothing against it. Then constant
    /// matrices are multiplied into variable ones once; enclosures, which widen with each product, apply them in turn.
    const PRODUCT: bool = false;

    /// The constant `x`.
    fn constant(x: f64) -> Self;

    /// `self` times a constant (cheaper than a general product for most scalars).
    fn scale(self, factor: f64) -> Self;

    /// `self * factor + sum`; in one rounding where the processor has an instruction for it.
    #[inline]
    fn mul_add(self, factor: Self, sum: Self) -> Self {
        self * factor + sum
    }

    /// `a b - c d`, with the same licence.
    #[inline]
    fn difference_of_products(a: Self, b: Self, c: Self, d: Self) -> Self {
        a * b - c * d
    }

    /// Sine and cosine of an angle in radians.
    fn sin_cos(self) -> (Self, Self);

    /// Sine and cosine of each of `angles` (radians); `out` is not shorter.
    fn sin_cos_slice(angles: &[Self], out: &mut [(Self, Self)]) {
        for (out, angle) in out.iter_mut().zip(angles) {
            *out = angle.sin_cos();
        }
    }

    /// The constant zero.
    fn zero() -> Self {
        Self::constant(0.0)
    }
}

impl Scalar for f64 {
    const PRODUCT: bool = true;

    #[inline]
    fn constant(x: f64) -> Self {
        x
    }

    #[inline]
    fn scale(self, factor: f64) -> Self {
        self * factor
    }

    #[inline]
    fn mul_add(self, factor: Self, sum: Self) -> Self {
        // Without the instruction this would be a slow function.
        if cfg!(target_feature = "fma") { f64::mul_add(self, factor, sum) } else { self * factor + sum }
    }

    #[inline]
    fn difference_of_products(a: Self, b: Self, c: Self, d: Self) -> Self {
        if cfg!(target_feature = "fma") { f64::mul_add(a, b, -(c * d)) } else { a * b - c * d }
    }

    #[inline]
    fn sin_cos(self) -> (Self, Self) {
        f64::sin_cos(self)
    }

    #[inline]
    fn sin_cos_slice(angles: &[Self], out: &mut [(Self, Self)]) {
        turn::sin_cos(angles, out);
    }
}

/// `numbers` with each replaced by what `by` makes of its index and itself. (`std::array::from_fn` and `map` have a step that is not marked
/// for inlining; the compiler of today leaves it a call for each number where crates are compiled without link-time optimisation.)
#[inline(always)]
pub(crate) fn replaced<T: Copy, const N: usize>(mut numbers: [T; N], by: impl Fn(usize, T) -> T) -> [T; N] {
    for i in 0..N {
        numbers[i] = by(i, numbers[i]);
    }
    numbers
}

/// Forward-mode dual number: a value and its derivatives in `D` directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dual<T, const D: usize> {
    /// The value.
    pub value: T,
    /// Its derivatives, one a direction.
    pub slope: [T; D],
}

impl<T: Scalar, const D: usize> Dual<T, D> {
    /// A value with the given derivatives.
    pub fn new(value: T, slope: [T; D]) -> Self {
        Self { value, slope }
    }

    /// A value whose derivative is one in direction `direction` and zero in the others.
    pub fn variable(value: T, direction: usize) -> Self {
        let mut slope = [T::zero(); D];
        slope[direction] = T::constant(1.0);
        Self { value, slope }
    }
}

impl<T: Scalar, const D: usize> Add for Dual<T, D> {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, slope: replaced(self.slope, |i, x| x + other.slope[i]) }
    }
}

impl<T: Scalar, const D: usize> Sub for Dual<T, D> {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, slope: replaced(self.slope, |i, x| x - other.slope[i]) }
    }
}

impl<T: Scalar, const D: usize> Mul for Dual<T, D> {
    type Output = Self;
    // The product rule adds; that is no slip.
    #[allow(clippy::suspicious_arithmetic_impl)]
    #[inline]
    fn mul(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            slope: replaced(self.slope, |i, x| x * other.value + self.value * other.slope[i]),
        }
    }
}

impl<T: Scalar, const D: usize> Neg for Dual<T, D> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self { value: -self.value, slope: replaced(self.slope, |_, x| -x) }
    }
}

impl<T: Scalar, const D: usize> Scalar for Dual<T, D> {
    const PRODUCT: bool = T::PRODUCT;

    #[inline]
    fn constant(x: f64) -> Self {
        Self { value: T::constant(x), slope: [T::zero(); D] }
    }

    #[inline]
    fn scale(self, factor: f64) -> Self {
        Self { value: self.value.scale(factor), slope: replaced(self.slope, |_, x| x.scale(factor)) }
    }

    #[inline]
    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = self.value.sin_cos();
        (
            Self { value: s, slope: replaced(self.slope, |_, x| c * x) },
            Self { value: c, slope: replaced(self.slope, |_, x| -(s * x)) },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dual_agrees_with_complex_step_free_derivatives() {
        // f(x, y) = sin(x y) - x^2 cos(y); derivatives by hand.
        let (x, y) = (0.7, -1.3);
        let f = |x: Dual<f64, 2>, y: Dual<f64, 2>| (x * y).sin_cos().0 - x * x * y.sin_cos().1;
        let value = f(Dual::variable(x, 0), Dual::variable(y, 1));
        assert!((value.value - ((x * y).sin() - x * x * y.cos())).abs() < 1e-15);
        assert!((value.slope[0] - (y * (x * y).cos() - 2.0 * x * y.cos())).abs() < 1e-14);
        assert!((value.slope[1] - (x * (x * y).cos() + x * x * y.sin())).abs() < 1e-14);
    }
}
