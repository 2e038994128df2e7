//! The scenario file, as written. Visible to the loader alone: it holds the truth.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::faults::FaultTable;
use crate::horizon::{Carry, Excite, Identify, Prior, Timing};
use crate::robot::JointSettings;

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
    /// Left out where a world file gives them.
    pub start_rad: Option<Vec<f64>>,
    pub goal_rad: Option<Vec<f64>>,
    #[serde(default)]
    pub goal_tolerance_rad: Tolerance,
    /// Limits and friction instead of the robot's own, by joint name, as in a robot TOML.
    #[serde(default)]
    pub joints: BTreeMap<String, JointSettings>,
    /// Instead of the robot's own.
    pub uncertainty: Option<UncertaintyTable>,
    #[serde(default)]
    pub obstacles: Vec<Obstacle>,
    /// Left out, with `prior` and `excite`, where nothing is held.
    pub payload: Option<Payload>,
    pub prior: Option<Prior>,
    pub excite: Option<Excite>,
    #[serde(default)]
    pub timing: TimingTable,
    pub carry: Carry,
    #[serde(default)]
    pub identify: Identify,
    /// What is false in the simulated world.
    #[serde(default)]
    pub faults: FaultTable,
}

/// The rhythm of planning; what is left out depends on whether something is held.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimingTable {
    t_f_s: Option<f64>,
    t_p_s: Option<f64>,
    exciting_plans: Option<usize>,
    max_plans: Option<usize>,
    max_failures: Option<usize>,
}

impl TimingTable {
    /// With an empty hand there is nothing to excite for.
    pub fn timing(&self, held: bool) -> Timing {
        let default = Timing::default();
        Timing {
            t_f_s: self.t_f_s.unwrap_or(default.t_f_s),
            t_p_s: self.t_p_s.unwrap_or(default.t_p_s),
            exciting_plans: self.exciting_plans.unwrap_or(if held { default.exciting_plans } else { 0 }),
            max_plans: self.max_plans.unwrap_or(default.max_plans),
            max_failures: self.max_failures.unwrap_or(default.max_failures),
        }
    }
}

/// One tolerance for all joints, or one a joint.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Tolerance {
    All(f64),
    Each(Vec<f64>),
}

impl Default for Tolerance {
    fn default() -> Self {
        Self::All(0.05)
    }
}

/// An obstacle: exactly one of `size_m`, `generators_m`, `vertices_m` and `mesh`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Obstacle {
    pub name: String,
    /// Where the shape's origin is; left out, vertices and meshes stay where they are.
    pub center_m: Option<[f64; 3]>,
    /// Roll, pitch, yaw of the shape about the fixed axes x, y, z.
    pub rpy_rad: Option<[f64; 3]>,
    /// A box: full side lengths.
    pub size_m: Option<[f64; 3]>,
    /// A zonotope: center + sum x_k generator_k, |x_k| <= 1.
    pub generators_m: Option<Vec<[f64; 3]>>,
    /// Points, or the vertices of a convex body: whatever is in their hull.
    pub vertices_m: Option<Vec<[f64; 3]>>,
    /// STL or OBJ file, from the scenario's folder: whatever is in the hull of its vertices.
    pub mesh: Option<std::path::PathBuf>,
    /// Metres to one unit of the mesh; 1 if left out.
    pub mesh_scale: Option<f64>,
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
    /// Capsules in that frame; left out only with `geometry = "none"`.
    #[serde(default)]
    pub shape: Vec<Shape>,
    /// Says that no shape is declared: nothing is proven about what the object touches.
    pub geometry: Option<Geometry>,
    /// Capsules of the robot that the object need not be kept apart from. Trusted.
    #[serde(default)]
    pub ignore: Vec<Ignored>,
}

/// What is said of a held object's shape in place of `shape`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Geometry {
    /// It is not declared.
    None,
}

/// A capsule of the robot, and why what is held cannot touch it or may.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ignored {
    pub capsule: String,
    pub reason: String,
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

/// `[uncertainty]` in place of the robot's own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UncertaintyTable {
    pub link_ratio: f64,
    pub friction_ratio: f64,
    pub armature_ratio: f64,
    /// The robot's where none is given, and so the next.
    pub gravity_direction_deg: Option<f64>,
    pub breakaway_ratio: Option<f64>,
    pub first_moment_kg_m: Option<f64>,
    pub inertia_kg_m2: Option<f64>,
    pub offset_nm: Option<f64>,
}
