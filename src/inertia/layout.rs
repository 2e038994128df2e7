//! The ten inertial parameters as others write them: which of them come in which order, about which point.
//!
//! Ours are (m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz) with h = m c and the inertia about the origin of
//! the joint frame. A [`Layout`] says how another program or paper differs; everything is in one and the same frame
//! (for the URDF's inertial frame, which may be turned, see [`super::urdf`]).

use nalgebra::{Matrix3, Vector3};

use super::INERTIAL;
use super::pseudo::{InertiaError, point_inertia};

/// Order of the six entries of a symmetric 3x3 matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// xx, xy, yy, xz, yz, zz: the upper triangle by columns.
    UpperByColumns,
    /// xx, xy, xz, yy, yz, zz: the upper triangle by rows, which is vech of the matrix.
    UpperByRows,
    /// xx, yy, zz, xy, xz, yz.
    DiagonalFirst,
}

/// What the three numbers after the mass, and the six after them, are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// First moment h = m c (kg m), inertia about the origin of the frame (kg m^2): linear in the equations of motion.
    Origin,
    /// Centre of mass c (m), inertia about it (kg m^2).
    CenterOfMass,
    /// Centre of mass c (m), inertia about the origin divided by the mass (m^2).
    UnitInertia,
}

/// A way to write ten inertial parameters, mass first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Order of the inertia's entries.
    pub entries: Entries,
    /// What is meant.
    pub reference: Reference,
}

impl Layout {
    /// This crate's own, and Pinocchio's dynamic parameters (`Inertia::toDynamicParameters`).
    pub const OURS: Self = Self { entries: Entries::UpperByColumns, reference: Reference::Origin };
    /// (m, h, vech(I)) of the estimation papers ([3, eq. 42]).
    pub const VECH: Self = Self { entries: Entries::UpperByRows, reference: Reference::Origin };
    /// Pinocchio's `Inertia` itself: mass, lever and the inertia about the centre of mass, entries as stored.
    pub const PINOCCHIO_INERTIA: Self =
        Self { entries: Entries::UpperByColumns, reference: Reference::CenterOfMass };
    /// URDF: mass, origin xyz, then ixx ixy ixz iyy iyz izz about the centre of mass, with rpy = 0.
    pub const URDF: Self = Self { entries: Entries::UpperByRows, reference: Reference::CenterOfMass };
    /// Drake's parameters of a body: mass, centre of mass, unit inertia Gxx Gyy Gzz Gxy Gxz Gyz about the body origin.
    pub const DRAKE: Self = Self { entries: Entries::DiagonalFirst, reference: Reference::UnitInertia };
    /// MuJoCo's `mass`, `pos`, `fullinertia` about the centre of mass.
    pub const MUJOCO: Self = Self { entries: Entries::DiagonalFirst, reference: Reference::CenterOfMass };

    /// `parameters` of this layout, in ours.
    ///
    /// Needs no consistency beyond that: models with inertias that no body can have are converted faithfully.
    pub fn to_theta(self, parameters: &[f64; INERTIAL]) -> [f64; INERTIAL] {
        let m = parameters[0];
        let second = self.entries.matrix(&parameters[4..]);
        let v = Vector3::new(parameters[1], parameters[2], parameters[3]);
        let (h, inertia) = match self.reference {
            Reference::Origin => (v, second),
            Reference::CenterOfMass => (v * m, second + point_inertia(m, &v)),
            Reference::UnitInertia => (v * m, second * m),
        };
        Entries::UpperByColumns.write(m, &h, &inertia)
    }

    /// Our `theta` in this layout. All but [`Reference::Origin`] divide by the mass and refuse one that is not
    /// positive or not finite.
    ///
    /// # Errors
    /// [`InertiaError::NonPositiveMass`].
    pub fn from_theta(self, theta: &[f64; INERTIAL]) -> Result<[f64; INERTIAL], InertiaError> {
        let m = theta[0];
        let h = Vector3::new(theta[1], theta[2], theta[3]);
        let inertia = Entries::UpperByColumns.matrix(&theta[4..]);
        if self.reference == Reference::Origin {
            return Ok(self.entries.write(m, &h, &inertia));
        }
        if !(m > 0.0 && m.is_finite()) {
            return Err(InertiaError::NonPositiveMass { mass: m });
        }
        let c = h / m;
        let second = match self.reference {
            Reference::Origin => inertia,
            Reference::CenterOfMass => inertia - point_inertia(m, &c),
            Reference::UnitInertia => inertia / m,
        };
        Ok(self.entries.write(m, &c, &second))
    }
}

impl Entries {
    /// The matrix of six entries.
    fn matrix(self, six: &[f64]) -> Matrix3<f64> {
        let [xx, xy, yy, xz, yz, zz] = match self {
            Self::UpperByColumns => [six[0], six[1], six[2], six[3], six[4], six[5]],
            Self::UpperByRows => [six[0], six[1], six[3], six[2], six[4], six[5]],
            Self::DiagonalFirst => [six[0], six[3], six[1], six[4], six[5], six[2]],
        };
        Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
    }

    fn write(self, m: f64, v: &Vector3<f64>, i: &Matrix3<f64>) -> [f64; INERTIAL] {
        let [a, b, c, d, e, f] = match self {
            Self::UpperByColumns => [i.m11, i.m12, i.m22, i.m13, i.m23, i.m33],
            Self::UpperByRows => [i.m11, i.m12, i.m13, i.m22, i.m23, i.m33],
            Self::DiagonalFirst => [i.m11, i.m22, i.m33, i.m12, i.m13, i.m23],
        };
        [m, v.x, v.y, v.z, a, b, c, d, e, f]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Layout; 6] =
        [Layout::OURS, Layout::VECH, Layout::PINOCCHIO_INERTIA, Layout::URDF, Layout::DRAKE, Layout::MUJOCO];

    proptest! {
        #[test]
        fn every_layout_round_trips(mut p in prop::array::uniform10(-1.0..1.0f64), m in 0.01..10.0f64) {
            p[0] = m;
            for layout in ALL {
                let back = layout.to_theta(&layout.from_theta(&p).unwrap());
                let scale = 1.0 + 1.0 / m;
                prop_assert!(back.iter().zip(p).all(|(a, b)| (a - b).abs() < 1e-14 * scale), "{:?}", layout);
            }
        }
    }

    /// A kilogram at (1, 2, 3) and a dumbbell of two half-kilograms at +-0.1 along x about it.
    #[test]
    fn a_body_by_hand() {
        let theta = Layout::OURS.to_theta(&[1.0, 1.0, 2.0, 3.0, 13.0, -2.0, 10.01, -3.0, -6.0, 5.01]);
        let is = |layout: Layout, expected: [f64; INERTIAL]| {
            let found = layout.from_theta(&theta).unwrap();
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{layout:?} {found:?}");
        };
        is(Layout::VECH, [1.0, 1.0, 2.0, 3.0, 13.0, -2.0, -3.0, 10.01, -6.0, 5.01]);
        is(Layout::DRAKE, [1.0, 1.0, 2.0, 3.0, 13.0, 10.01, 5.01, -2.0, -3.0, -6.0]);
        is(Layout::URDF, [1.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01]);
        is(Layout::MUJOCO, [1.0, 1.0, 2.0, 3.0, 0.0, 0.01, 0.01, 0.0, 0.0, 0.0]);
        is(Layout::PINOCCHIO_INERTIA, [1.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.01]);
    }

    #[test]
    fn what_divides_by_the_mass_wants_one() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut p = [0.1; INERTIAL];
            p[0] = bad;
            let refused = Layout::URDF.from_theta(&p).unwrap_err();
            assert!(refused.to_string().contains("mass"), "{refused}");
            assert!(Layout::VECH.from_theta(&p).is_ok());
        }
    }
}
