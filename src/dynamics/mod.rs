//! Rigid-body dynamics, written once over any [`crate::scalar::Scalar`] or, where only numbers are asked for, on plain
//! numbers in the root frame.
//!
//! Over any scalar the scratch space is [`Motion`]: fill it with `place` (positions only) or `sweep` (positions,
//! velocities, accelerations), then call the algorithm. On plain numbers it is [`Workspace`], which also holds the
//! algorithms that divide: forward dynamics, derivatives, frames, momentum and energy. Nothing allocates after `new`.

// `src/main.rs` says what `surelift_program` is.

pub mod actuation;
#[cfg(not(surelift_program))]
pub mod constraint;
pub mod crba;
#[cfg(not(surelift_program))]
pub mod derivatives;
#[cfg(not(surelift_program))]
pub mod factor;
#[cfg(not(surelift_program))]
pub mod forward;
#[cfg(not(surelift_program))]
pub mod frames;
pub mod friction;
pub mod motion;
pub mod placement;
pub mod regressor;
pub mod rnea;
#[cfg(not(surelift_program))]
pub mod rotor;
mod spatial;
pub mod storage;
#[cfg(test)]
mod tests;
#[cfg(all(feature = "arm", not(surelift_program)))]
pub mod truth;
pub mod vec3;
pub mod weight;
#[cfg(not(surelift_program))]
pub mod whole;
#[cfg(not(surelift_program))]
pub mod workspace;

pub use crba::{Composites, crba};
pub use friction::SmoothFriction;
pub use motion::Motion;
pub use placement::{BodyPlacement, placements};
pub use regressor::{
    UnitMotions, kinetic_energy_regressor, momentum_rate_regressor, momentum_regressor,
    momentum_regressor_row, potential_energy_regressor, torque_regressor,
};
pub use rnea::{Wrench, rnea};
pub use storage::{MassStorage, RecursionStorage, RegressorStorage};
pub use weight::weight_levers;
#[cfg(not(surelift_program))]
pub use {
    constraint::{ConstrainedDynamics, Constraint},
    derivatives::{ForwardDerivatives, InverseDerivatives},
    factor::MassFactor,
    frames::{Axes, FrameDerivatives},
    rotor::rotor_column,
    whole::{Centroidal, Energy},
    workspace::Workspace,
};
