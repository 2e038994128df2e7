//! Robots: the tree ([`model`]) and the arm that is made of it ([`arm`]: limits that proofs rest on, shapes, sensors, gains), how they are read and checked ([`mod@load`]; for a person: [`mod@inspect`]), which ones ship
//! ([`shipped`]), and where their parts are in space ([`pose`], [`clearance`]).

mod apart;
pub mod arm;
mod around;
mod attach;
pub mod clearance;
pub mod collision;
pub mod configuration;
mod cover;
pub mod error;
#[cfg(test)]
pub(crate) mod fixture;
pub mod gains;
pub mod inspect;
pub mod load;
mod merge;
pub mod model;
pub mod pairs;
pub mod pose;
pub(crate) mod rigid_motion;
pub mod scene;
pub mod sensors;
mod settings;
pub mod shape;
pub mod shipped;
mod tilt;
pub mod uncertainty;
mod urdf;
mod validate;

pub use arm::{Arm, ArmDescription};
pub use clearance::{Clearance, Obstruction};
pub use collision::{Collision, CollisionPart, Primitive};
pub(crate) use cover::enclosing as enclosing_capsule;
pub use error::RobotError;
pub use gains::Gains;
pub use inspect::{Inspection, inspect};
pub(crate) use load::load_adjusted;
pub use load::{find, load, load_lenient, load_model};
pub use model::*;
pub use scene::{Scene, Zonotope3};
pub use sensors::Sensors;
pub(crate) use settings::JointSettings;
pub use shape::{Capsule, HeldShape, IgnoredPair, LinkShape};
pub use uncertainty::Uncertainty;
