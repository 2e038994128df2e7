//! Discrete multibody dynamics in maximal coordinates, and the estimation of its parameters from encoders.
//!
//! For those who simulate or identify machines of few bodies with frictional hinges. Bodies keep all six degrees of freedom; joints are compliant rows
//! that hold them together, and a step is that of SPOOK (\[5\], Marklund, Servin and Larson; [`stepper`]). Dry friction is a mixed
//! complementarity problem, solved by sign states (`complementarity`) with Lemke's method ([`lemke`]) as its judge. [`problem`] states the estimation of states
//! and parameters for the recursion of [`crate::estimate`], with impulses or with changes of the state as unknowns; [`explicit`] is the paper's own
//! iteration. All three minimise the same cost. [`furuta`] has the paper's machines.
//!
//! Where the paper's formulas contradict each other, finite differences and minimal coordinates decided (see the tests).

mod check;
mod complementarity;
mod equations;
pub mod error;
pub mod estimator;
pub mod explicit;
pub mod furuta;
mod geometry;
mod halving;
mod inverse;
pub mod lemke;
pub mod mechanism;
pub mod observe;
pub mod parameters;
pub mod problem;
pub mod stepper;
#[cfg(test)]
mod tests;

pub use equations::HingeFriction;
pub use error::DiscreteError;
pub use estimator::DiscreteEstimate;
pub use mechanism::Mechanism;
pub use parameters::MechanismParameter;
pub use problem::{
    DiscreteForm, DiscreteProblem, EncoderLog, OutsideImpulses, ResidualWeights, SoughtParameter,
};
pub use stepper::{DiscreteState, Stepper};
