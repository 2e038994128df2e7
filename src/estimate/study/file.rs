//! The problem file, as written. Visible to the loader alone: it may hold the truth of a simulated arm.

use serde::Deserialize;

use crate::estimate::parameters::{Coordinates, JointParameter};

/// The version of the format that this crate reads.
pub(super) const SCHEMA: u32 = 1;

/// One number for all joints (parameters), or one each.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Numbers {
    One(f64),
    Each(Vec<f64>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub schema: u32,
    pub name: String,
    pub description: String,
    /// Robot TOML, URDF or bare name.
    pub robot: String,
    /// Sampling interval, s.
    pub step_s: f64,
    pub log: Option<Log>,
    pub simulate: Option<Simulate>,
    #[serde(default)]
    pub truth: Truth,
    pub deviations: Deviations,
    #[serde(default)]
    pub body: Vec<Body>,
    #[serde(default)]
    pub joint: Vec<Joint>,
    #[serde(default)]
    pub solver: Solver,
}

/// Samples from a file: columns t, q1.., dq1.., tau1.. .
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    pub file: String,
}

/// Samples from the simulator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Simulate {
    pub duration_s: f64,
    #[serde(default)]
    pub seed: u64,
    /// Configuration (nq numbers).
    pub start_rad: Vec<f64>,
    pub noise: Noise,
    /// A motion that is followed.
    pub sines: Option<Sines>,
    /// Torques that are applied. Without either nothing drives the arm.
    pub torques: Option<Torques>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Noise {
    pub q_rad: f64,
    pub dq_rad_s: f64,
    pub tau_nm: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sines {
    pub amplitude_rad: Vec<f64>,
    pub frequency_hz: f64,
    pub harmonics: usize,
    pub bandwidth_rad_s: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Torques {
    /// Left out: none.
    #[serde(default)]
    pub offset_nm: Vec<f64>,
    pub amplitude_nm: Vec<f64>,
    pub frequency_hz: f64,
    pub harmonics: usize,
}

/// What is true of the simulated arm beyond its nominal model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Truth {
    /// Rigid objects fixed to links.
    #[serde(default)]
    pub payload: Vec<Payload>,
    /// Friction that differs from the nominal one.
    #[serde(default)]
    pub joint: Vec<TrueJoint>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    pub link: String,
    pub mass_kg: f64,
    /// In the frame of the link's joint.
    pub center_m: [f64; 3],
    /// Principal moments about the centre of mass, axes of the joint frame.
    pub inertia_kg_m2: [f64; 3],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrueJoint {
    pub name: String,
    pub parameter: JointParameter,
    pub value: f64,
}

/// Standard deviations that the estimator assumes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deviations {
    pub q_rad: Numbers,
    pub dq_rad_s: Numbers,
    pub tau_nm: Numbers,
    /// Left out: nothing is known beyond the sample.
    pub first_q_rad: Option<Numbers>,
    pub first_dq_rad_s: Option<Numbers>,
}

/// A body whose ten inertial parameters are estimated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    pub link: String,
    #[serde(default = "log_cholesky")]
    pub coordinates: Coordinates,
    /// The estimate starts (and its prior is centred) at the nominal body times this.
    #[serde(default = "one")]
    pub start_ratio: f64,
    /// Prior standard deviation in coordinates; left out: no prior.
    pub deviation: Option<Numbers>,
}

fn log_cholesky() -> Coordinates {
    Coordinates::LogCholesky
}

fn one() -> f64 {
    1.0
}

/// A joint whose friction parameters are estimated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Joint {
    pub name: String,
    pub parameters: Vec<JointParameter>,
    /// The estimate starts at the nominal value times this.
    #[serde(default = "one")]
    pub start_ratio: f64,
    pub deviation: Option<Numbers>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Solver {
    #[serde(default = "multiple")]
    pub rollout: String,
    #[serde(default = "iterations")]
    pub iterations: usize,
}

impl Default for Solver {
    fn default() -> Self {
        Self { rollout: multiple(), iterations: iterations() }
    }
}

fn multiple() -> String {
    "multiple".to_owned()
}

fn iterations() -> usize {
    200
}
