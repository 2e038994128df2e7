//! Identification: from measurements alone to a smaller parameter set, with a proof.
//!
//! Reader: whoever wants to know why the truth cannot be outside the reported intervals. [`certificate`] is the
//! trusted part and carries the proof; [`polytope`] says what is assumed known; [`program`] proposes and may be
//! wrong without harm; [`bounds`] joins the two; [`physics`] is the case without data. [`window`] turns measurements
//! into rows of data and carries the other half of the proof; [`identifier`] keeps the books.

#[cfg(feature = "studies")]
pub mod additive;
pub mod bounds;
pub mod certificate;
mod collector;
mod correlated;
mod error;
#[cfg(feature = "studies")]
pub mod factor;
pub mod identifier;
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
mod unknown;
pub mod window;

pub use collector::{CollectedWindow, WindowCollector};
pub use error::IdentifyError;
pub use identifier::{Identifier, IdentifierOptions, Method, Update};
pub use physics::tighten_by_physics;
pub use proof::SetProof;
pub use unknown::{Unknown, parameter_name};

#[cfg(test)]
pub(crate) mod tests;
