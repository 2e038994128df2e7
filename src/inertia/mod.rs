//! Inertial parameters of rigid bodies and sets of them.

pub mod set;

pub use set::ParameterSet;
