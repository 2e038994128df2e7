//! Dense linear algebra of run-time sizes in memory that is reused: what the solvers spend their time in.
//!
//! For those who change a solver. [`dense`] has the matrices and products, [`orthogonal`] Householder's QR with column pivoting,
//! `gauss` elimination for small square systems.

pub mod dense;
pub(crate) mod gauss;
pub mod orthogonal;
