//! surelift: pick up something of unknown weight, with a proof.
#![deny(missing_docs)]

pub mod inertia;
pub mod plan;
pub mod robot;
pub mod scalar;
