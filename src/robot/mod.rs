//! Robots: the tree ([`model`]), its configurations ([`configuration`]) and where its bodies are ([`pose`]).
//!
//! With the feature `urdf`: how robots are read and checked ([`mod@load`]), and which ones ship ([`shipped`]). With `arm`: the arm
//! that is made of a model ([`arm`]: limits that proofs rest on, shapes, sensors, gains), what a person wants to see of it
//! ([`mod@inspect`]), and where its parts are in space ([`clearance`]).

pub mod collision;
pub mod configuration;
mod description;
pub mod drive;
#[cfg(test)]
pub(crate) mod fixture;
pub mod gains;
mod limbs;
pub mod model;
pub mod pose;
pub mod sensors;
pub mod shape;
pub mod spring;
pub mod timing;
pub mod uncertainty;
pub mod written;

#[cfg(feature = "urdf")]
mod attach;
#[cfg(feature = "urdf")]
mod cover;
#[cfg(feature = "urdf")]
pub mod error;
#[cfg(feature = "urdf")]
pub mod load;
#[cfg(feature = "urdf")]
mod mend;
#[cfg(feature = "urdf")]
mod merge;
#[cfg(feature = "urdf")]
pub(crate) mod mesh;
#[cfg(feature = "urdf")]
mod nesting;
#[cfg(feature = "urdf")]
mod settings;
#[cfg(feature = "urdf")]
pub mod shipped;
#[cfg(feature = "urdf")]
mod urdf;
#[cfg(feature = "urdf")]
mod validate;

#[cfg(feature = "arm")]
mod apart;
#[cfg(feature = "arm")]
pub mod arm;
#[cfg(feature = "arm")]
mod around;
#[cfg(feature = "arm")]
pub mod clearance;
#[cfg(feature = "arm")]
mod faces;
#[cfg(feature = "arm")]
pub mod first_move;
#[cfg(feature = "arm")]
pub mod framed;
#[cfg(all(feature = "arm", not(surelift_program)))]
pub mod inspect;
#[cfg(feature = "arm")]
pub mod pairs;
#[cfg(feature = "arm")]
mod payload;
#[cfg(feature = "arm")]
mod possible;
#[cfg(feature = "arm")]
pub mod prior;
#[cfg(all(feature = "arm", not(surelift_program)))]
pub mod propose;
#[cfg(feature = "arm")]
pub mod scene;
#[cfg(feature = "arm")]
mod tilt;
#[cfg(feature = "arm")]
pub mod words;

pub use collision::{Collision, CollisionPart, Primitive};
pub use description::ArmDescription;
pub use drive::DriveBounds;
pub use gains::Gains;
pub use limbs::Limb;
pub use model::*;
pub use sensors::{Sensors, TorqueSensor};
pub use shape::{Capsule, HeldShape, IgnoredPair, LinkShape};
pub use spring::{EncoderSide, Spring};
pub use timing::TimingBounds;
pub use uncertainty::Uncertainty;

#[cfg(feature = "urdf")]
pub use {
    error::RobotError,
    load::{LinkedModel, find, load_lenient, load_model, load_model_with_shapes},
};

#[cfg(all(feature = "arm", not(surelift_program)))]
pub use inspect::{Inspection, inspect};
#[cfg(feature = "arm")]
pub use {
    arm::Arm,
    clearance::{Clearance, Obstruction, between_capsules},
    framed::{FramedBody, FramedBounds, FramedPayload},
    load::load,
    prior::{JointPrior, Prior},
    scene::{Scene, Zonotope3},
    words::{DescribedPayload, PayloadWords, StatedPayload, ToolFrames},
};
#[cfg(feature = "arm")]
pub(crate) use {cover::enclosing as enclosing_capsule, load::load_adjusted, settings::JointSettings};
