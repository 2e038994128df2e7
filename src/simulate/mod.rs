//! Plants and sensors. What only the plant may know lives here: the hidden truth about the payload ([`HiddenTruth`])
//! and, while a run goes on, the true parameters and the true state ([`World`]).

mod plant;
mod truth;
mod world;

pub use truth::HiddenTruth;
pub use world::{Audit, Counts, Reading, Reference, World};
