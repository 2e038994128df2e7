//! Forward kinematics: where the body frames, and points fixed to them, are in the base frame.

use nalgebra::Vector3;

use crate::robot::Robot;
use crate::scalar::Scalar;

use super::motion::Motion;
use super::vec3::{self, Vec3};

/// Placement of a body frame in the base frame.
#[derive(Debug, Clone, Copy)]
pub struct BodyPlacement<T> {
    /// Columns of the rotation matrix from body to base coordinates.
    pub axes: [Vec3<T>; 3],
    /// Origin of the body frame, m.
    pub origin: Vec3<T>,
}

impl<T: Scalar> BodyPlacement<T> {
    /// The base frame itself.
    pub fn base() -> Self {
        let unit = |i: usize| std::array::from_fn(|r| T::constant(if r == i { 1.0 } else { 0.0 }));
        Self { axes: [unit(0), unit(1), unit(2)], origin: vec3::zero() }
    }

    /// A point fixed to the body (body coordinates, m) in base coordinates.
    pub fn point(&self, local: &Vector3<f64>) -> Vec3<T> {
        std::array::from_fn(|r| {
            self.origin[r]
                + self.axes[0][r].scale(local.x)
                + self.axes[1][r].scale(local.y)
                + self.axes[2][r].scale(local.z)
        })
    }
}

/// Placements of all bodies from the transforms of [`Motion::place`].
pub fn placements<T: Scalar>(robot: &Robot, motion: &Motion<T>, out: &mut [BodyPlacement<T>]) {
    for (i, joint) in robot.joints.iter().enumerate() {
        let parent = joint.parent.map_or_else(BodyPlacement::base, |p| out[p]);
        let x = &motion.transforms[i];
        // Rows of (parent rotation x joint rotation) are the parent's rows turned into the joint frame.
        let rows: [Vec3<T>; 3] = std::array::from_fn(|r| {
            x.to_child(joint, &[parent.axes[0][r], parent.axes[1][r], parent.axes[2][r]])
        });
        let axes = std::array::from_fn(|c| std::array::from_fn(|r| rows[r][c]));
        let p = x.origin();
        let origin = if joint.kind.is_rotation() {
            parent.point(&joint.placement.translation)
        } else {
            std::array::from_fn(|r| {
                parent.origin[r]
                    + parent.axes[0][r] * p[0]
                    + parent.axes[1][r] * p[1]
                    + parent.axes[2][r] * p[2]
            })
        };
        out[i] = BodyPlacement { axes, origin };
    }
}
