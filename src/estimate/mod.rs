//! Estimation by a parameterised, equality-constrained Riccati recursion: states, noise and shared parameters of a system
//! at once, with standard deviations.
//!
//! The solver ([`riccati`], [`stage`], [`arrival`], [`solver`], [`posterior`]) knows stages, not robots; [`problem`] is the
//! form of a problem. [`crate::multibody`] states one for a log of a robot. Sources:
//! [2, Sec. V] and its successor [3, Sec. VIII]; numbers in brackets are those of `docs/bibliography.md`.

pub mod active_set;
pub mod arrival;
pub mod coloured;
pub mod elimination;
pub mod error;
pub mod posterior;
pub mod problem;
mod response;
pub mod riccati;
mod secant;
pub mod solver;
pub mod stage;

pub use arrival::{ParameterModel, ParameterSolve};
pub use coloured::ColouredCovariance;
pub use error::EstimateError;
pub use posterior::Posterior;
pub use problem::{EstimationProblem, Point, StageValues, Trajectory};
pub use solver::{Iteration, Rollout, Solver, SolverOptions, SolverOutcome, Status};
pub use stage::{StageModel, StageSize};

#[cfg(test)]
mod tests;
