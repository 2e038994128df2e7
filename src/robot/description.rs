//! What files state of an arm, unchecked.

use serde::{Deserialize, Serialize};

use super::collision::CollisionPart;
use super::drive::DriveBounds;
use super::gains::Gains;
use super::model::{Model, NamedFrame};
use super::sensors::Sensors;
use super::shape::{HeldShape, IgnoredPair, LinkShape};
use super::timing::TimingBounds;
use super::uncertainty::Uncertainty;

/// What is stated of an arm, in files and in memory. [`super::Arm::new`] checks it and derives what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct ArmDescription {
    /// The tree, on a fixed base.
    #[serde(flatten)]
    pub model: Model,
    /// The collision primitives of the URDF and the capsules of what is held: what `shapes` must cover.
    pub parts: Vec<CollisionPart>,
    /// Collision capsules; together they cover `parts` (proven by [`super::Arm::new`]).
    pub shapes: Vec<LinkShape>,
    /// Pairs of `shapes` that a file says need not be kept apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_pairs: Vec<IgnoredPair>,
    /// What is known of the shape of what the hand holds.
    #[serde(default)]
    pub held: HeldShape,
    /// Index of the joint whose body holds the payload.
    pub end_effector: usize,
    /// The links that move with the hand, the tool frame first: what payloads are stated in. Placements are in the frame of the end effector's joint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_frames: Vec<NamedFrame>,
    /// How far the truth may be from the model.
    pub uncertainty: Uncertainty,
    /// What the sensors may get wrong.
    pub sensors: Sensors,
    /// What the drives do beside what they are asked for, one a joint; none at all where every drive is ideal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<DriveBounds>,
    /// When readings are taken and commands act; left out where all is on time.
    #[serde(default, skip_serializing_if = "TimingBounds::is_exact")]
    pub timing: TimingBounds,
    /// Gains of the robust controller.
    #[serde(rename = "control")]
    pub gains: Gains,
}
