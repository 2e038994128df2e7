//! Estimation by a parameterised, equality-constrained Riccati recursion: states, noise and shared parameters of a system
//! at once, with standard deviations.
//!
//! The core ([`riccati`], [`stage`], [`arrival`], [`solver`], [`posterior`]) knows stages, not robots; [`problem`] is the
//! form of a problem. [`multibody`] states one for a log of a robot, with [`parameters`] of bodies and joints. Sources:
//! [2, Sec. V] and its successor [3, Sec. VIII]; numbers in brackets are those of `docs/bibliography.md`.

pub mod active_set;
pub mod arrival;
pub mod dense;
pub mod elimination;
pub mod equations;
pub mod error;
mod gauss;
pub mod multibody;
pub mod orthogonal;
pub mod parameters;
pub mod posterior;
pub mod problem;
mod response;
pub mod riccati;
mod secant;
pub mod solver;
pub mod stage;
pub mod study;

pub use arrival::{ParameterModel, ParameterSolve};
pub use equations::{ParameterEquation, Plane};
pub use error::EstimateError;
pub use multibody::{Contacts, Deviations, Formulation, MultibodyProblem, Observation, Phase, Sample};
pub use parameters::{Coordinates, JointParameter, ParameterMap};
pub use posterior::Posterior;
pub use problem::{Point, Problem, StageValues, Trajectory};
pub use solver::{Iteration, Options, Outcome, Rollout, Solver, Status};
pub use stage::{StageModel, StageSize};

#[cfg(test)]
mod tests;
