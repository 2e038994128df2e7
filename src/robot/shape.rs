//! Collision capsules, which pairs of them are ignored, and what is held.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

use super::model::Placement;

/// The set of points within `radius` of the segment from `a` to `b` (a sphere when they coincide); metres.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Capsule {
    /// First end of the segment.
    pub a: Vector3<f64>,
    /// Second end of the segment.
    pub b: Vector3<f64>,
    /// Radius, > 0.
    pub radius: f64,
}

impl Capsule {
    /// Why this is not a capsule: the first number that is not finite, or a radius that is not positive.
    pub fn fault(&self) -> Option<String> {
        if let Some(bad) = self.a.iter().chain(self.b.iter()).find(|x| !x.is_finite()) {
            return Some(format!("an end contains {bad}, expected finite numbers"));
        }
        let fine = self.radius.is_finite() && self.radius > 0.0;
        (!fine).then(|| format!("radius {}, expected a finite number > 0", self.radius))
    }

    /// The capsule carried along by a placement of its frame.
    #[inline]
    pub fn placed(&self, frame: &Placement) -> Capsule {
        Capsule { a: frame.point(&self.a), b: frame.point(&self.b), radius: self.radius }
    }
}

/// A collision capsule fixed to a body of the robot.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct LinkShape {
    /// Name for messages, for example `forearm`.
    pub name: String,
    /// Joint whose frame carries the capsule; `None` for the fixed base.
    pub joint: Option<usize>,
    /// The capsule in that frame.
    pub capsule: Capsule,
}

/// Two capsules that are not kept apart from each other because somebody said so. Nothing proves it: it is trusted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct IgnoredPair {
    /// Index of one capsule in [`super::Arm::shapes`].
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// Why they cannot touch, or need not be kept apart, in the words of the file.
    pub reason: String,
}

/// What is known of the shape of what the hand holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum HeldShape {
    /// Nothing is held beyond what the URDF describes.
    #[default]
    Nothing,
    /// The held object lies within capsules that are among [`super::Arm::shapes`].
    Declared,
    /// Something is held whose shape nobody states: nothing is proven about what it touches.
    Undeclared,
}
