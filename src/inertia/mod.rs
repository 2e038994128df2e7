//! Inertial parameters of rigid bodies and sets of them.
//!
//! Read [`pseudo`] for what makes ten numbers a body that can exist; [`log_cholesky`] and [`exponential_eigenvalue`]
//! for coordinates in which every point is such a body; [`layout`] and [`urdf`] for how others write the ten numbers;
//! [`set`] for what planner, controller and certifier quantify over: a box, and bounds on combinations.

pub mod exponential_eigenvalue;
pub mod layout;
pub mod log_cholesky;
pub mod pseudo;
#[cfg(feature = "arm")]
pub mod set;
pub mod urdf;

pub use layout::Layout;
#[cfg(feature = "arm")]
pub use set::{BodyRanges, Core, JointRanges, ParameterRange, ParameterSet, SetError, Strip, TorqueStrips};

use crate::robot::INERTIAL;

/// Names of the inertial parameters of a body.
pub const PARAMETER_NAMES: [&str; INERTIAL] =
    ["m", "m c_x", "m c_y", "m c_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];

/// Units of [`PARAMETER_NAMES`].
pub const PARAMETER_UNITS: [&str; INERTIAL] =
    ["kg", "kg m", "kg m", "kg m", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2"];
