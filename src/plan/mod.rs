//! Proposing trajectories: search, costs and the nonlinear program.
//!
//! Nothing in this folder is trusted. A proposal becomes a plan only after [`crate::certify`] has proven it, so the
//! code here may use any heuristic and plain floating point. Who should read what: [`propose`] for how a trajectory
//! comes together (in storage that a [`propose::Planner`] keeps), [`excite`] and [`goal`] for its costs, [`rows`] for its
//! constraints (`family_rows` for those of ARMOUR), [`vicinity`] for the obstacles that matter, [`tube_fit`] for its tube,
//! [`decision`] for the variables and [`nlp`] for the solver (with [`qp`] below it); [`route`] for the way to the
//! goal and [`guide`] for the search behind it. What was proven is kept as a [`Plan`], and followed from
//! a loop of one's own by a [`Follower`].

#[cfg(any(feature = "verify", not(surelift_program)))]
pub mod believed;
#[cfg(any(feature = "verify", not(surelift_program)))]
pub mod chain;
pub mod decision;
pub mod excite;
mod family_rows;
pub mod fast_path;
#[cfg(test)]
pub(crate) mod fixture;
pub mod follower;
pub mod goal;
pub mod guide;
pub mod inertia_floor;
pub mod momentum_fit;
pub mod momentum_gains;
pub mod nlp;
pub mod propose;
mod proven;
pub mod qp;
pub mod route;
pub mod rows;
pub mod sample_errors;
pub mod saved;
pub mod setup;
mod sliced;
pub mod tube_fit;
pub mod vicinity;

pub use follower::{FollowError, Follower};
pub use saved::{Plan, PlanError};
