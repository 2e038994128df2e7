//! Forward kinematics: where the body frames, and points fixed to them, are in the base frame.

use nalgebra::{Matrix3, Vector3};

use crate::robot::{Joint, Model, Placement};
use crate::scalar::Scalar;

use super::motion::{JointTransform, Motion};
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
        let unit = |i: usize| vec3::each(|r| T::constant(if r == i { 1.0 } else { 0.0 }));
        Self { axes: [unit(0), unit(1), unit(2)], origin: vec3::zero() }
    }

    /// From a unit quaternion (x, y, z, w) and an origin (m).
    pub fn from_quaternion([x, y, z, w]: [T; 4], origin: Vec3<T>) -> Self {
        let one = T::constant(1.0);
        let twice = |a: T| a.scale(2.0);
        let axes = [
            [one - twice(y * y + z * z), twice(x * y + w * z), twice(x * z - w * y)],
            [twice(x * y - w * z), one - twice(x * x + z * z), twice(y * z + w * x)],
            [twice(x * z + w * y), twice(y * z - w * x), one - twice(x * x + y * y)],
        ];
        Self { axes, origin }
    }

    /// A point fixed to the body (body coordinates, m) in base coordinates.
    pub fn point(&self, local: &Vector3<f64>) -> Vec3<T> {
        vec3::each(|r| {
            self.origin[r]
                + self.axes[0][r].scale(local.x)
                + self.axes[1][r].scale(local.y)
                + self.axes[2][r].scale(local.z)
        })
    }
}

impl<T: Scalar> BodyPlacement<T> {
    /// Placement of a body that hangs on this one.
    #[inline]
    pub(super) fn child(&self, joint: &Joint, x: &JointTransform<T>) -> Self {
        // Rows of (parent rotation x joint rotation) are the parent's rows turned into the joint frame.
        let rows: [Vec3<T>; 3] =
            vec3::each(|r| x.to_child(joint, &[self.axes[0][r], self.axes[1][r], self.axes[2][r]]));
        let axes = vec3::each(|c| vec3::each(|r| rows[r][c]));
        let p = x.origin();
        let origin = if joint.kind.is_rotation() {
            self.point(&joint.placement.translation)
        } else {
            vec3::each(|r| {
                self.origin[r] + self.axes[0][r] * p[0] + self.axes[1][r] * p[1] + self.axes[2][r] * p[2]
            })
        };
        Self { axes, origin }
    }
}

impl BodyPlacement<f64> {
    /// The same as a [`Placement`].
    pub fn to_placement(&self) -> Placement {
        let rotation = Matrix3::from_columns(&self.axes.map(Vector3::from));
        Placement { rotation, translation: self.origin.into() }
    }
}

/// Placements of all bodies from the transforms of [`Motion::place`].
pub fn placements<T: Scalar>(robot: &Model, motion: &Motion<T>, out: &mut [BodyPlacement<T>]) {
    let first = robot.first_actuated();
    if first == 1 {
        out[0] = motion.root;
    }
    for (i, joint) in robot.joints.iter().enumerate().skip(first) {
        let parent = joint.parent.map_or_else(BodyPlacement::base, |p| out[p]);
        out[i] = parent.child(joint, &motion.transforms[i]);
    }
}
