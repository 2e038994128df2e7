//! Discrete multibody dynamics in maximal coordinates.

mod check;
mod complementarity;
mod equations;
pub mod estimator;
pub mod explicit;
pub mod error;
pub mod furuta;
mod geometry;
mod inverse;
pub mod lemke;
pub mod mechanism;
pub mod observe;
pub mod parameters;
pub mod problem;
pub mod stepper;

pub use equations::HingeFriction;
pub use error::DiscreteError;
pub use mechanism::Mechanism;
pub use parameters::Parameter;
pub use stepper::{DiscreteState, Stepper};
