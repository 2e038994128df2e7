//! The scenario file, as written. Visible to the loader alone: it holds the truth.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::faults::FaultTable;
use crate::horizon::{Carry, Excite, Identify, Placing, Timing};
use crate::robot::{JointSettings, Prior};

/// The version of the format that this crate reads.
pub(super) const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioFile {
    /// Version of this format: 1.
    pub schema: u32,
    /// Name of the scenario; part of the name of the folder of results.
    pub name: String,
    /// One or two sentences for people.
    pub description: String,
    /// Robot TOML (or URDF, or bare name); relative to this file, to a folder above it, or to the current one.
    pub robot: String,
    /// Start configuration, rad (m), one number a joint; left out where a world file gives it.
    pub start_rad: Option<Vec<f64>>,
    /// Goal configuration, rad (m), one number a joint; left out where a world file gives it, or `path.file`.
    pub goal_rad: Option<Vec<f64>>,
    /// The goal is reached when every joint is within this of it, tracking errors included, rad (m); if left out, 0.05 rad of joints that turn and
    /// 0.005 m of those that slide.
    pub goal_tolerance_rad: Option<Tolerance>,
    /// How far tracking errors may carry a link at most, m: the planner proposes no motion in whose tube they carry one farther. A path that is given, and settling at rest, are not held to it. Left out: as far as limits and obstacles allow.
    pub growth_max_m: Option<f64>,
    /// Limits and friction instead of the robot's own, by joint name, as in a robot TOML.
    #[serde(default)]
    pub joints: BTreeMap<String, JointSettings>,
    /// Instead of the robot's own.
    pub uncertainty: Option<UncertaintyTable>,
    /// What must not be touched, in the robot's base frame.
    #[serde(default)]
    pub obstacles: Vec<Obstacle>,
    /// More of them, beside those that a variant leaves as they are.
    #[serde(default)]
    pub further_obstacles: Vec<Obstacle>,
    /// The truth about what is held, for the simulator alone; left out, with `prior` and `excite`, where nothing is held.
    pub payload: Option<Payload>,
    /// What is believed of the last body, the held object included, before the first measurement.
    pub prior: Option<Prior>,
    /// How the arm moves to learn.
    pub excite: Option<Excite>,
    /// The rhythm of planning.
    #[serde(default)]
    pub timing: TimingTable,
    /// How the arm moves towards the goal, or towards the start of the path.
    pub carry: Carry,
    /// The motion to the goal, made in advance; left out where the planner finds the way.
    pub path: Option<PathTable>,
    /// How near to its place what is held must be in the end, in truth; left out where only the joints' distance to the goal counts.
    pub placing: Option<Placing>,
    /// How data become intervals.
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
    /// Duration of a trajectory, s; it ends at rest. 3 if left out.
    t_f_s: Option<f64>,
    /// A new plan starts this long after the one before, s; the time to make it. 1.5 if left out.
    t_p_s: Option<f64>,
    /// How many exciting trajectories come first; 4 if left out, 0 where nothing is held.
    exciting_plans: Option<usize>,
    /// Plans after which the run ends as a safe stop; 60 if left out.
    max_plans: Option<usize>,
    /// Failures to plan in a row after which the run ends as a safe stop; 10 if left out.
    max_failures: Option<usize>,
    /// How long the arm waits in a row for obstacles that move, s, until the run ends as a safe stop; 60 if left out.
    patience_s: Option<f64>,
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
            patience_s: self.patience_s.unwrap_or(default.patience_s),
        }
    }
}

/// A motion that was made in advance. It is carried out as it stands, or not at all: either a point that it passes, or a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathTable {
    /// Where it starts, rad (m), one number a joint; at `start_rad` if left out. The planner leads there from where learning ends.
    pub start_rad: Option<Vec<f64>>,
    /// A configuration that it passes without stopping, rad (m), one number a joint. Two quintic pieces of least jerk lead through it to `goal_rad`.
    pub via_rad: Option<Vec<f64>>,
    /// Durations of the pieces before and after `via_rad`, s; 1 each if left out.
    pub durations_s: Option<[f64; 2]>,
    /// A JSON file with quintic pieces, relative to this file, in place of the other keys: what a plan file has under `curve`.
    pub file: Option<std::path::PathBuf>,
}

/// One tolerance for all joints, or one a joint.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Tolerance {
    /// One for all joints.
    All(f64),
    /// One number a joint.
    Each(Vec<f64>),
}

/// An obstacle: exactly one of `size_m`, `generators_m`, `vertices_m` and `mesh`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Obstacle {
    /// Its name in messages.
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
    /// No point of it moves faster, m/s; it stays where it is if left out. Where it is when the run begins is what the other keys say.
    pub speed_m_s: Option<f64>,
    /// Where it goes, for the simulator alone; it stays where it is if left out.
    #[serde(default)]
    pub path: Vec<PathPoint>,
}

/// Where a moving obstacle is at a time. From one such point to the next it moves evenly; after the last it stays.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathPoint {
    /// When, s since the run began, > 0; each after the one before.
    pub at_s: f64,
    /// How far it is then from where it was at first, m, base frame.
    pub offset_m: [f64; 3],
}

/// The truth about the whole last body (link, gripper, object), or about the object alone, and the shape of what is held.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    /// Its name in reports.
    pub name: String,
    /// Mass m of the whole last body, kg; with the two keys that follow, or `object` in place of the three.
    pub mass_kg: Option<f64>,
    /// m c in the end-effector joint's frame.
    pub first_moment_kg_m: Option<[f64; 3]>,
    /// About that frame's origin.
    pub inertia_kg_m2: Option<Inertia>,
    /// The object alone, in the frame of a link; the link that holds it is as the robot's file says.
    pub object: Option<Object>,
    /// Capsules in the frame of `object`, or in that of the end-effector's joint where there is no such key; left out only with `geometry = "none"`.
    #[serde(default)]
    pub shape: Vec<Shape>,
    /// Says that no shape is declared: nothing is proven about what the object touches.
    pub geometry: Option<Geometry>,
    /// Capsules of the robot that the object need not be kept apart from. Trusted.
    #[serde(default)]
    pub ignore: Vec<Ignored>,
}

/// A held object alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Object {
    /// Link of the URDF that moves with the hand; the tool frame if left out, which is the last link that is fixed to the hand.
    pub frame: Option<String>,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Centre of mass in that link's frame, m.
    pub com_m: [f64; 3],
    /// About the centre of mass, along the axes of that link's frame.
    pub inertia_kg_m2: Inertia,
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
    /// Name of the capsule.
    pub capsule: String,
    /// Why; must not be empty.
    pub reason: String,
}

/// An inertia tensor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inertia {
    /// I_xx, kg m^2.
    pub xx: f64,
    /// I_xy, kg m^2.
    pub xy: f64,
    /// I_yy, kg m^2.
    pub yy: f64,
    /// I_xz, kg m^2.
    pub xz: f64,
    /// I_yz, kg m^2.
    pub yz: f64,
    /// I_zz, kg m^2.
    pub zz: f64,
}

/// A capsule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shape {
    /// One end of its segment, m.
    pub a_m: [f64; 3],
    /// The other end, m.
    pub b_m: [f64; 3],
    /// Radius, m, > 0.
    pub radius_m: f64,
}

/// `[uncertainty]` in place of the robot's own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UncertaintyTable {
    /// On each inertial parameter of each link (0.05 = 5 %).
    pub link_ratio: f64,
    /// On Coulomb and viscous friction and offset.
    pub friction_ratio: f64,
    /// On the transmission inertia.
    pub armature_ratio: f64,
    /// Largest angle between true gravity and its stated direction, degrees; the robot's own if left out, as the keys that follow.
    pub gravity_direction_deg: Option<f64>,
    /// Static over Coulomb friction, >= 1.
    pub breakaway_ratio: Option<f64>,
    /// On each component of a link's first moment, beside the ratio, kg m.
    pub first_moment_kg_m: Option<f64>,
    /// On each moment and product of inertia of a link, beside the ratio, kg m^2.
    pub inertia_kg_m2: Option<f64>,
    /// On each joint's torque offset, beside the ratio, N m.
    pub offset_nm: Option<f64>,
}
