//! Plants and sensors. What only the plant may know lives here, in [`HiddenTruth`].

mod truth;

pub use truth::HiddenTruth;
