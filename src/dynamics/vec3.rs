//! Three-vectors over any [`Scalar`].

use nalgebra::{Matrix3, Vector3};

use crate::scalar::{Scalar, replaced};

/// A vector of three scalars.
pub type Vec3<T> = [T; 3];

/// What `of` gives for 0, 1 and 2: `std::array::from_fn` that is always inlined ([`crate::scalar::replaced`] says why).
#[inline(always)]
pub(crate) fn each<T>(of: impl Fn(usize) -> T) -> [T; 3] {
    [of(0), of(1), of(2)]
}

/// The zero vector.
#[inline]
pub fn zero<T: Scalar>() -> Vec3<T> {
    [T::zero(); 3]
}

/// A constant vector.
#[inline]
pub fn constant<T: Scalar>(v: &Vector3<f64>) -> Vec3<T> {
    [T::constant(v.x), T::constant(v.y), T::constant(v.z)]
}

/// `a + b`.
#[inline]
pub fn add<T: Scalar>(a: &Vec3<T>, b: &Vec3<T>) -> Vec3<T> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// `a - b`.
#[inline]
pub fn sub<T: Scalar>(a: &Vec3<T>, b: &Vec3<T>) -> Vec3<T> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// `a * s`.
#[inline]
pub fn times<T: Scalar>(a: &Vec3<T>, s: T) -> Vec3<T> {
    [a[0] * s, a[1] * s, a[2] * s]
}

/// `columns x` of a matrix given by its columns.
#[inline]
pub fn combine<T: Scalar>(columns: &[Vec3<T>; 3], x: &Vec3<T>) -> Vec3<T> {
    let [a, b, c] = columns;
    replaced(*x, |r, _| c[r].mul_add(x[2], b[r].mul_add(x[1], a[r] * x[0])))
}

/// `a + b s`.
#[inline]
pub fn add_times<T: Scalar>(a: &Vec3<T>, b: &Vec3<T>, s: T) -> Vec3<T> {
    replaced(*a, |r, a| b[r].mul_add(s, a))
}

/// Scalar product.
#[inline]
pub fn dot<T: Scalar>(a: &Vec3<T>, b: &Vec3<T>) -> T {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// Vector product `a x b`.
#[inline]
pub fn cross<T: Scalar>(a: &Vec3<T>, b: &Vec3<T>) -> Vec3<T> {
    [
        T::difference_of_products(a[1], b[2], a[2], b[1]),
        T::difference_of_products(a[2], b[0], a[0], b[2]),
        T::difference_of_products(a[0], b[1], a[1], b[0]),
    ]
}

/// `a x z` with the unit vector z.
#[inline]
pub fn cross_z<T: Scalar>(a: &Vec3<T>) -> Vec3<T> {
    [a[1], -a[0], T::zero()]
}

/// `c x a` with a constant vector c; only constant products, so exact in the dependency of an affine form.
#[inline]
pub fn cross_constant<T: Scalar>(c: &Vector3<f64>, a: &Vec3<T>) -> Vec3<T> {
    [a[2].scale(c.y) - a[1].scale(c.z), a[0].scale(c.z) - a[2].scale(c.x), a[1].scale(c.x) - a[0].scale(c.y)]
}

/// `m a` with a constant matrix m.
#[inline]
pub fn rotate<T: Scalar>(m: &Matrix3<f64>, a: &Vec3<T>) -> Vec3<T> {
    replaced(*a, |r, _| a[0].scale(m[(r, 0)]) + a[1].scale(m[(r, 1)]) + a[2].scale(m[(r, 2)]))
}

/// `m' a` with a constant matrix m.
#[inline]
pub fn rotate_back<T: Scalar>(m: &Matrix3<f64>, a: &Vec3<T>) -> Vec3<T> {
    replaced(*a, |c, _| a[0].scale(m[(0, c)]) + a[1].scale(m[(1, c)]) + a[2].scale(m[(2, c)]))
}
