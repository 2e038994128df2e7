//! Identification: from measurements alone to a smaller parameter set, with a proof.
//!
//! Reader: whoever wants to know why the truth cannot be outside the reported intervals. [`certificate`] is the
//! trusted part and carries the proof; [`polytope`] says what is assumed known; [`program`] proposes and may be
//! wrong without harm; [`bounds`] joins the two; [`physics`] is the case without data. [`window`] turns measurements
//! into rows of data and carries the other half of the proof; [`identifier`] keeps the books.

pub mod additive;
pub mod balance;
pub mod base;
pub mod bounds;
pub mod certificate;
pub mod consistent;
mod correlated;
mod error;
pub mod estimators;
pub mod factor;
pub mod filter;
pub mod gravity;
pub mod identifier;
pub mod inverse;
pub mod least_squares;
pub mod log;
pub mod map;
pub mod motion;
pub mod nominal;
pub mod perturbation;
pub mod physics;
pub(crate) mod plausible;
pub mod polytope;
pub mod program;
pub mod proof;
pub mod recorded;
pub mod separate;
pub mod study;
pub mod window;

pub use error::IdentifyError;
pub use identifier::{Identifier, IdentifierOptions, Method, Update};
pub use physics::tighten_by_physics;
pub use proof::SetProof;
pub use window::Sample;

#[cfg(test)]
pub(crate) mod tests;
