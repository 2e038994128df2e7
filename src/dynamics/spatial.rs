//! Spatial vectors of plain numbers, all in one frame and about its origin.

use std::ops::{Add, AddAssign, Sub};

use super::vec3::{self, Vec3};
use crate::scalar::Scalar;

/// A motion (linear, angular) or a force (force, moment).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spatial {
    pub lin: Vec3<f64>,
    pub ang: Vec3<f64>,
}

impl Spatial {
    pub const ZERO: Self = Self { lin: [0.0; 3], ang: [0.0; 3] };

    /// The unit vector along (0, 1, 2) or about (3, 4, 5) an axis.
    pub fn unit(k: usize) -> Self {
        Self::from_slice(&std::array::from_fn::<f64, 6, _>(|r| if r == k { 1.0 } else { 0.0 }))
    }

    /// From six numbers, linear first.
    #[inline]
    pub fn from_slice(x: &[f64]) -> Self {
        Self { lin: [x[0], x[1], x[2]], ang: [x[3], x[4], x[5]] }
    }

    /// Its six numbers, linear first.
    #[inline]
    pub fn to_array(self) -> [f64; 6] {
        let (l, a) = (self.lin, self.ang);
        [l[0], l[1], l[2], a[0], a[1], a[2]]
    }

    #[inline]
    pub fn times(&self, x: f64) -> Self {
        Self { lin: vec3::times(&self.lin, x), ang: vec3::times(&self.ang, x) }
    }

    /// `self + other x`.
    #[inline]
    pub fn add_times(&self, other: &Self, x: f64) -> Self {
        Self {
            lin: vec3::add_times(&self.lin, &other.lin, x),
            ang: vec3::add_times(&self.ang, &other.ang, x),
        }
    }

    /// Power of a force along a motion.
    #[inline]
    pub fn dot(&self, other: &Self) -> f64 {
        // Two short chains instead of a long one.
        vec3::dot(&self.lin, &other.lin) + vec3::dot(&self.ang, &other.ang)
    }

    /// `self x motion`: the rate of a motion vector that is carried along by the motion `self`.
    #[inline]
    pub fn cross(&self, motion: &Self) -> Self {
        Self {
            lin: vec3::add(&vec3::cross(&self.ang, &motion.lin), &vec3::cross(&self.lin, &motion.ang)),
            ang: vec3::cross(&self.ang, &motion.ang),
        }
    }

    /// `self x* force`: the same for a force vector.
    #[inline]
    pub fn cross_force(&self, force: &Self) -> Self {
        Self {
            lin: vec3::cross(&self.ang, &force.lin),
            ang: vec3::add(&vec3::cross(&self.ang, &force.ang), &vec3::cross(&self.lin, &force.lin)),
        }
    }
}

impl Add for Spatial {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self { lin: vec3::add(&self.lin, &other.lin), ang: vec3::add(&self.ang, &other.ang) }
    }
}

impl Sub for Spatial {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self { lin: vec3::sub(&self.lin, &other.lin), ang: vec3::sub(&self.ang, &other.ang) }
    }
}

impl AddAssign for Spatial {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Inertia of a rigid body or a rigid set of bodies about the origin of the common frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RigidInertia {
    pub mass: f64,
    /// Mass times centre of mass.
    pub first: Vec3<f64>,
    /// I_xx, I_xy, I_yy, I_xz, I_yz, I_zz.
    pub second: [f64; 6],
}

/// A symmetric matrix (xx, xy, yy, xz, yz, zz) times a vector.
#[inline]
pub(super) fn symmetric_times(s: &[f64; 6], x: &Vec3<f64>) -> Vec3<f64> {
    [vec3::dot(&[s[0], s[1], s[3]], x), vec3::dot(&[s[1], s[2], s[4]], x), vec3::dot(&[s[3], s[4], s[5]], x)]
}

impl RigidInertia {
    pub const ZERO: Self = Self { mass: 0.0, first: [0.0; 3], second: [0.0; 6] };

    /// Ten parameters as they are.
    #[inline]
    pub fn from_parameters(theta: &[f64]) -> Self {
        Self {
            mass: theta[0],
            first: [theta[1], theta[2], theta[3]],
            second: [theta[4], theta[5], theta[6], theta[7], theta[8], theta[9]],
        }
    }

    /// Ten parameters about and in a frame with columns `r` and origin `p`, as in [`super::crba()`].
    #[inline]
    pub fn placed(theta: &[f64], r: &[Vec3<f64>; 3], p: &Vec3<f64>) -> Self {
        let own = Self::from_parameters(theta);
        let [xx, xy, yy, xz, yz, zz] = own.second;
        let turn = |x: &Vec3<f64>| vec3::combine(r, x);
        let columns = [turn(&[xx, xy, xz]), turn(&[xy, yy, yz]), turn(&[xz, yz, zz])];
        let turned = turn(&own.first);
        let first = vec3::add_times(&turned, p, own.mass);
        let trace = vec3::dot(&turned, p) + vec3::dot(p, &first);
        let entry = |a: usize, b: usize| {
            let rotated =
                vec3::dot(&[columns[0][a], columns[1][a], columns[2][a]], &[r[0][b], r[1][b], r[2][b]]);
            rotated - Scalar::mul_add(turned[a], p[b], p[a] * first[b])
        };
        let second = [
            entry(0, 0) + trace,
            entry(0, 1),
            entry(1, 1) + trace,
            entry(0, 2),
            entry(1, 2),
            entry(2, 2) + trace,
        ];
        Self { mass: own.mass, first, second }
    }

    /// Momentum of a motion, or force of an acceleration.
    #[inline]
    pub fn times(&self, x: &Spatial) -> Spatial {
        let lin = vec3::sub(&vec3::times(&x.lin, self.mass), &vec3::cross(&self.first, &x.ang));
        let ang = vec3::add(&vec3::cross(&self.first, &x.lin), &symmetric_times(&self.second, &x.ang));
        Spatial { lin, ang }
    }
}

impl AddAssign for RigidInertia {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.mass += other.mass;
        self.first = vec3::add(&self.first, &other.first);
        for (a, b) in self.second.iter_mut().zip(other.second) {
            *a += b;
        }
    }
}
