//! The `<inertial>` element of a URDF: to and from our inertial parameters.
//!
//! URDF gives the inertia about the centre of mass, in the axes of an inertial frame that may be turned against the
//! link's by roll, pitch and yaw (fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll)).

use nalgebra::{Matrix3, Rotation3, Vector3};

use super::INERTIAL;
use super::layout::Layout;
use super::pseudo::{InertiaError, from_center_of_mass};

/// An `<inertial>` element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UrdfInertial {
    /// `<mass value>`, kg.
    pub mass: f64,
    /// `<origin xyz>`: centre of mass in the link frame, m.
    pub xyz: [f64; 3],
    /// `<origin rpy>`: roll, pitch and yaw of the inertial frame in the link frame, rad.
    pub rpy: [f64; 3],
    /// `<inertia>`: ixx, ixy, ixz, iyy, iyz, izz about the centre of mass in the inertial frame, kg m^2.
    pub inertia: [f64; 6],
}

impl UrdfInertial {
    /// The element of a body with parameters `theta` in the link frame, with rpy = 0. Refuses a mass that is not
    /// positive; everything else is written as it is.
    ///
    /// # Errors
    /// [`InertiaError::NonPositiveMass`].
    pub fn from_theta(theta: &[f64; INERTIAL]) -> Result<Self, InertiaError> {
        let [mass, x, y, z, ixx, ixy, ixz, iyy, iyz, izz] = Layout::URDF.from_theta(theta)?;
        Ok(Self { mass, xyz: [x, y, z], rpy: [0.0; 3], inertia: [ixx, ixy, ixz, iyy, iyz, izz] })
    }

    /// Our parameters, about the origin of the link frame and in its axes.
    pub fn theta(&self) -> [f64; INERTIAL] {
        let [roll, pitch, yaw] = self.rpy;
        let turn = Rotation3::from_euler_angles(roll, pitch, yaw).into_inner();
        let [ixx, ixy, ixz, iyy, iyz, izz] = self.inertia;
        let inertia = Matrix3::new(ixx, ixy, ixz, ixy, iyy, iyz, ixz, iyz, izz);
        from_center_of_mass(self.mass, &Vector3::from(self.xyz), &(turn * inertia * turn.transpose()))
    }

    /// The element as text; numbers are written so that reading them gives the same numbers.
    pub fn to_xml(&self) -> String {
        let [x, y, z] = self.xyz;
        let [roll, pitch, yaw] = self.rpy;
        let [ixx, ixy, ixz, iyy, iyz, izz] = self.inertia;
        format!(
            "<inertial>\n  <origin xyz=\"{x} {y} {z}\" rpy=\"{roll} {pitch} {yaw}\"/>\n  <mass value=\"{}\"/>\n  \
             <inertia ixx=\"{ixx}\" ixy=\"{ixy}\" ixz=\"{ixz}\" iyy=\"{iyy}\" iyz=\"{iyz}\" izz=\"{izz}\"/>\n\
             </inertial>\n",
            self.mass
        )
    }
}

#[cfg(feature = "urdf")]
impl From<&urdf_rs::Inertial> for UrdfInertial {
    fn from(read: &urdf_rs::Inertial) -> Self {
        let i = &read.inertia;
        Self {
            mass: read.mass.value,
            xyz: read.origin.xyz.0,
            rpy: read.origin.rpy.0,
            inertia: [i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inertia::exponential_eigenvalue;
    use proptest::prelude::*;

    fn through_text(element: &UrdfInertial) -> UrdfInertial {
        let text = format!("<robot name=\"r\"><link name=\"l\">{}</link></robot>", element.to_xml());
        UrdfInertial::from(&urdf_rs::read_from_string(&text).unwrap().links[0].inertial)
    }

    proptest! {
        #[test]
        fn bodies_survive_the_text(c in prop::array::uniform10(-3.0..3.0f64)) {
            let theta = exponential_eigenvalue::theta(&c);
            let element = UrdfInertial::from_theta(&theta).unwrap();
            prop_assert_eq!(through_text(&element), element);
            let scale = theta.iter().fold(0.0f64, |a, x| a.max(x.abs()));
            prop_assert!(element.theta().iter().zip(theta).all(|(a, b)| (a - b).abs() < 1e-14 * scale));
        }

        #[test]
        fn turned_inertial_frames_are_read(rpy in prop::array::uniform3(-3.0..3.0f64),
                                          xyz in prop::array::uniform3(-1.0..1.0f64)) {
            let turned = UrdfInertial { mass: 2.0, xyz, rpy, inertia: [0.3, 0.02, -0.01, 0.4, 0.03, 0.5] };
            let read = through_text(&turned);
            prop_assert_eq!(read, turned);
            // The same body in the link's axes: Rz(yaw) Ry(pitch) Rx(roll) by hand.
            let (sr, cr) = rpy[0].sin_cos();
            let (sp, cp) = rpy[1].sin_cos();
            let (sy, cy) = rpy[2].sin_cos();
            let r = Matrix3::new(cy, -sy, 0.0, sy, cy, 0.0, 0.0, 0.0, 1.0)
                * Matrix3::new(cp, 0.0, sp, 0.0, 1.0, 0.0, -sp, 0.0, cp)
                * Matrix3::new(1.0, 0.0, 0.0, 0.0, cr, -sr, 0.0, sr, cr);
            let i = r * Matrix3::new(0.3, 0.02, -0.01, 0.02, 0.4, 0.03, -0.01, 0.03, 0.5) * r.transpose();
            let straight = UrdfInertial::from_theta(&read.theta()).unwrap();
            let expected = [i.m11, i.m12, i.m13, i.m22, i.m23, i.m33];
            prop_assert!(straight.inertia.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
        }
    }

    #[test]
    fn a_body_without_mass_is_refused() {
        assert!(UrdfInertial::from_theta(&[0.0; INERTIAL]).is_err());
    }
}
