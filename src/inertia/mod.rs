//! Inertial parameters of rigid bodies and sets of them.
//!
//! Read [`pseudo`] for what makes ten numbers a body that can exist, [`log_cholesky`] for coordinates in which
//! every point is such a body, [`set`] for the boxes that planner, controller and certifier quantify over.

pub mod log_cholesky;
pub mod pseudo;
pub mod set;

pub use set::ParameterSet;
