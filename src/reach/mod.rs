//! Reachable sets over a time interval: joint tube -> swept links -> input torques.

pub mod tube;

pub use tube::Tube;
