//! What a simulated robot with any joints and sensors records, at even intervals.

use super::Sample;

/// Samples at even intervals, with what sensors beside the encoders say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EvenLog {
    /// Encoders and torques.
    pub samples: Vec<Sample>,
    /// Readings of the further sensors, one after the other, for each sample; empty vectors where there are none.
    pub readings: Vec<Vec<f64>>,
    /// Metered work of the applied forces, J, from each sample to the next; empty where there is no meter.
    pub work: Vec<f64>,
}
