//! Inertial parameters of rigid bodies and sets of them.
//!
//! Read [`pseudo`] for what makes ten numbers a body that can exist; [`log_cholesky`] and [`exponential_eigenvalue`]
//! for coordinates in which every point is such a body; [`layout`] and [`urdf`] for how others write the ten numbers; [`parameters`] for what
//! a robot's parameter vector holds;
//! [`set`] for what planner, controller and certifier quantify over: a box, and bounds on combinations.

mod coordinates;
pub mod exponential_eigenvalue;
pub mod layout;
pub mod log_cholesky;
pub mod parameters;
pub mod pseudo;
#[cfg(feature = "arm")]
pub mod set;
pub mod urdf;

pub use coordinates::Coordinates;
pub use layout::Layout;
pub use parameters::{
    ARMATURE, COULOMB, FRICTION, INERTIAL, JointParameters, OFFSET, PARAMETER_NAMES, PARAMETER_UNITS, VISCOUS,
};
#[cfg(feature = "arm")]
pub use set::{BodyRanges, Core, JointRanges, ParameterRange, ParameterSet, SetError, Strip, TorqueStrips};
