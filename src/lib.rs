//! surelift: pick up something of unknown weight, with a proof.
#![deny(missing_docs)]

pub mod identify;
pub mod inertia;
pub mod robot;
pub mod scalar;
