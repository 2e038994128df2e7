//! Robots: the model ([`model`]), how it is read and checked ([`mod@load`]; for a person: [`mod@inspect`]), which ones ship
//! ([`shipped`]), and where their parts are in space ([`pose`], [`clearance`]).

mod apart;
mod around;
mod attach;
pub mod clearance;
pub mod collision;
pub mod configuration;
mod cover;
pub mod error;
#[cfg(test)]
pub(crate) mod fixture;
pub mod inspect;
pub mod load;
mod merge;
pub mod model;
pub mod pairs;
pub mod pose;
pub(crate) mod rigid_motion;
pub mod scene;
mod settings;
pub mod shipped;
mod tilt;
mod urdf;
mod validate;

pub use clearance::{Clearance, Obstruction};
pub use collision::{Collision, CollisionPart, Primitive};
pub(crate) use cover::enclosing as enclosing_capsule;
pub use error::RobotError;
pub use inspect::{Inspection, inspect};
pub(crate) use load::load_adjusted;
pub use load::{find, load, load_lenient};
pub use model::*;
pub use scene::{Scene, Zonotope3};
pub(crate) use settings::JointSettings;
