//! surelift: pick up something of unknown weight, with a proof.
#![deny(missing_docs)]

#[cfg(feature = "cli")]
pub mod cli;
pub mod inertia;
pub mod report;
pub mod robot;
pub mod scalar;
