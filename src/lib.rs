//! surelift: pick up something of unknown weight, with a proof.
#![deny(missing_docs)]

pub mod certify;
pub mod cli;
pub mod control;
pub mod dynamics;
pub mod enclose;
pub mod identify;
pub mod inertia;
pub mod plan;
pub mod reach;
pub mod report;
pub mod robot;
pub mod scalar;
pub mod scenario;
pub mod simulate;
pub mod trajectory;
