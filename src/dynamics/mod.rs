//! Rigid-body dynamics, written once over any [`crate::scalar::Scalar`].
//!
//! The scratch space is [`Motion`]: fill it with `place` (positions only) or `sweep` (positions, velocities,
//! accelerations), then call the algorithm. Nothing allocates after `Motion::new`.

pub mod crba;
pub mod friction;
pub mod motion;
pub mod placement;
pub mod regressor;
pub mod rnea;
pub mod vec3;

pub use crba::{Composites, crba};
pub use friction::SmoothFriction;
pub use motion::Motion;
pub use placement::{BodyPlacement, placements};
pub use regressor::{momentum_rate_regressor, momentum_regressor, torque_regressor};
pub use rnea::{Wrench, rnea};
