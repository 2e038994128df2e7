//! Proposing trajectories: search, geometry, costs and the nonlinear program.
//!
//! Nothing in this folder is trusted. A proposal becomes a plan only after [`crate`]'s certifier has proven it, so
//! the code here may use any heuristic and plain floating point. Who should read what: [`nlp`] and [`qp`] for the
//! solver, [`decision`] for its variables, [`rows`] for the constraints, [`propose`] for how they come together, [`excite`] and [`goal`] for the costs, [`guide`] for the way around
//! obstacles, [`geometry`] for capsules, boxes and their distances.

pub mod decision;
pub mod excite;
pub mod geometry;
pub mod goal;
pub mod guide;
pub mod nlp;
pub mod propose;
pub mod qp;
pub mod route;
pub mod rows;
pub mod tube_fit;
