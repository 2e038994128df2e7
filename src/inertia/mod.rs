//! Inertial parameters of rigid bodies and sets of them.
//!
//! Read [`pseudo`] for what makes ten numbers a body that can exist; [`log_cholesky`] and [`exponential_eigenvalue`]
//! for coordinates in which every point is such a body; [`layout`] and [`urdf`] for how others write the ten numbers;
//! [`set`] for what planner, controller and certifier quantify over: a box, and bounds on combinations.

pub mod exponential_eigenvalue;
pub mod layout;
pub mod log_cholesky;
pub mod pseudo;
pub mod set;
pub mod urdf;

pub use layout::Layout;
pub use set::{Core, ParameterSet, Strip, TorqueStrips};
