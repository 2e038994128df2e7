//! The shapes of bodies as the URDF states them: primitives, placed on bodies.
//!
//! They are what capsules must cover (`robot::cover`, a proof) and what the simulator's auditor looks at: a list that does not
//! depend on the capsules that a certificate uses.

use nalgebra::{Matrix3, Rotation3, Vector3};
use serde::{Deserialize, Serialize};

use super::model::Placement;
use super::shape::Capsule;

/// A primitive of collision geometry, in its own frame (as URDF defines them: centred, axis z).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Primitive {
    /// A box.
    Box {
        /// Full side lengths, m.
        size: Vector3<f64>,
    },
    /// A cylinder about z.
    Cylinder {
        /// Radius, m.
        radius: f64,
        /// Full length along z, m.
        length: f64,
    },
    /// A cylinder about z with half-spheres at its ends.
    Capsule {
        /// Radius, m.
        radius: f64,
        /// Distance along z between the centres of the half-spheres, m.
        length: f64,
    },
    /// A ball.
    Sphere {
        /// Radius, m.
        radius: f64,
    },
}

/// A collision primitive with its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Collision {
    /// For messages: the URDF name, else `kind number`.
    pub name: String,
    /// The primitive's frame in the frame that it is stated in.
    pub placement: Placement,
    /// The primitive.
    pub primitive: Primitive,
}

impl Collision {
    /// A capsule as a primitive, in the frame that the capsule is stated in.
    pub fn of_capsule(name: String, capsule: &Capsule) -> Self {
        let along = capsule.b - capsule.a;
        let translation = 0.5 * (capsule.a + capsule.b);
        let placement = Placement { rotation: turn_z_to(&along), translation };
        let primitive = Primitive::Capsule { radius: capsule.radius, length: along.norm() };
        Self { name, placement, primitive }
    }
}

/// A collision primitive on a body: a part of a link, or of what the hand holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct CollisionPart {
    /// Link that it belongs to, for messages; `payload` for what is held.
    pub link: String,
    /// Joint whose frame carries it; `None` for the fixed base.
    pub joint: Option<usize>,
    /// The primitive, placed in that frame.
    pub collision: Collision,
    /// Whether it stands for a mesh, or a piece of one, which it holds and is larger than.
    #[serde(default, skip_serializing_if = "is_false")]
    pub holds_mesh: bool,
}

/// Files that say nothing of meshes stay as they are.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_false(x: &bool) -> bool {
    !*x
}

/// A rotation that takes +z to the direction of `axis`; any rotation for a vector of no length.
pub(super) fn turn_z_to(axis: &Vector3<f64>) -> Matrix3<f64> {
    if *axis == Vector3::z() {
        return Matrix3::identity();
    }
    // `None` only for the opposite direction, where any half turn about a horizontal axis will do.
    Rotation3::rotation_between(&Vector3::z(), axis)
        .map_or_else(|| Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, -1.0)), Rotation3::into_inner)
}
