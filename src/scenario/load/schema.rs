//! The scenario file, as written. Visible to the loader alone: it holds the truth.

use serde::Deserialize;

use crate::scenario::task::{Carry, Excite, Identify, Prior, Timing};

/// The version of the format that this crate reads.
pub(super) const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub schema: u32,
    pub name: String,
    pub description: String,
    /// Robot TOML (or URDF, or bare name); relative to this file, to a folder above it, or to the current one.
    pub robot: String,
    pub start_rad: Vec<f64>,
    pub goal_rad: Vec<f64>,
    #[serde(default = "default_tolerance")]
    pub goal_tolerance_rad: f64,
    #[serde(default)]
    pub obstacles: Vec<Obstacle>,
    pub payload: Payload,
    pub prior: Prior,
    #[serde(default)]
    pub timing: Timing,
    pub excite: Excite,
    pub carry: Carry,
    #[serde(default)]
    pub identify: Identify,
}

fn default_tolerance() -> f64 {
    0.05
}

/// A box.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Obstacle {
    pub name: String,
    pub center_m: [f64; 3],
    /// Full side lengths.
    pub size_m: [f64; 3],
    /// Roll, pitch, yaw about the fixed axes x, y, z.
    #[serde(default)]
    pub rpy_rad: [f64; 3],
}

/// The truth about the whole last body (link, gripper, object), and the shape of what is held.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    pub name: String,
    pub mass_kg: f64,
    /// m c in the end-effector joint's frame.
    pub first_moment_kg_m: [f64; 3],
    /// About that frame's origin.
    pub inertia_kg_m2: Inertia,
    /// Capsules in that frame.
    #[serde(default)]
    pub shape: Vec<Shape>,
}

/// An inertia tensor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inertia {
    pub xx: f64,
    pub xy: f64,
    pub yy: f64,
    pub xz: f64,
    pub yz: f64,
    pub zz: f64,
}

/// A capsule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shape {
    pub a_m: [f64; 3],
    pub b_m: [f64; 3],
    pub radius_m: f64,
}
