//! Robots: the model ([`model`]) and how it is read and checked.

pub mod model;

pub use model::*;
