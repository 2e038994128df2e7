//! Linear algebra that knows no robot: dense matrices of run-time sizes in memory that is reused, and rigid motions.
//!
//! For those who change a solver. [`dense`] has the matrices and products, [`orthogonal`] Householder's QR with column pivoting,
//! `arrow` factors of block-tridiagonal matrices with an arrow, `gauss` elimination for small square systems, `triangular` the factors of small positive definite ones; `rigid_motion` has the exponential of SE(3) and its Jacobians.

#[cfg(feature = "arm")]
pub mod arrow;
pub mod dense;
#[cfg(feature = "arm")]
pub(crate) mod gauss;
pub mod orthogonal;
pub(crate) mod rigid_motion;
#[cfg(feature = "arm")]
pub(crate) mod triangular;
