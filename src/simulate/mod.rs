//! Plants and sensors. What only the plant may know lives here: the hidden truth about the payload ([`HiddenTruth`])
//! and, while a run goes on, the true parameters and the true state ([`World`]). [`record`] makes recordings for the
//! estimators, with the truth under seal.

mod audit;
mod contact;
mod drives;
mod elastic;
pub mod faults;
mod following;
#[cfg(feature = "studies")]
mod hold;
mod lag;
mod lateness;
#[cfg(feature = "studies")]
pub mod mechanism;
pub(crate) mod motors;
mod object;
mod paced;
mod passage;
pub(crate) mod plant;
#[cfg(feature = "studies")]
pub mod posture;
#[cfg(feature = "studies")]
pub(crate) mod recording;
mod springs;
mod stopping;
#[cfg(feature = "studies")]
pub(crate) mod sway;
mod truth;
#[cfg(feature = "studies")]
mod whole_body;
mod world;

pub use audit::{Approach, Audit, ClosestPair, Counts, TrackingReference, TrueState};
pub use faults::Faults;
#[cfg(feature = "studies")]
pub use hold::Hold;
#[cfg(feature = "studies")]
pub(crate) use lag::DriveLag;
#[cfg(feature = "studies")]
pub(crate) use lateness::Lateness;
#[cfg(feature = "studies")]
pub use mechanism::{
    MechanismExcitation, MechanismPlan, MechanismPlant, MechanismRecording, record_mechanism, tree_model,
};
pub use object::SimulatedObject;
pub use paced::Paced;
pub use passage::ObstaclePath;
#[cfg(feature = "studies")]
pub use posture::Posture;
#[cfg(feature = "studies")]
pub use recording::{
    Drive, Footing, Ground, HiddenParameters, Noise, ReadingRates, Reads, Recording, RecordingPlan, Sealed,
    record,
};
pub use springs::SpringAudit;
pub use stopping::StopAudit;
#[cfg(feature = "studies")]
pub use sway::{Sway, SwayState};
pub use truth::HiddenTruth;
pub use world::World;
