//! Identification: from measurements alone to a smaller parameter set, with a proof.
//!
//! Reader: whoever wants to know why the truth cannot be outside the reported intervals. [`certificate`] is the
//! trusted part and carries the proof; [`polytope`] says what is assumed known; [`program`] proposes and may be
//! wrong without harm; [`bounds`] joins the two; [`physics`] is the case without data.

pub mod bounds;
pub mod certificate;
mod error;
pub mod physics;
pub mod polytope;
pub mod program;

pub use error::IdentifyError;
pub use physics::tighten_by_physics;
