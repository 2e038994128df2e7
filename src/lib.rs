//! surelift: pick up something of unknown weight, with a proof.
#![deny(missing_docs)]

pub mod enclose;
pub mod inertia;
pub mod robot;
pub mod scalar;
