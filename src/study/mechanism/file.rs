//! Mechanisms and problems about them, as written.

use serde::Deserialize;

use crate::simulate::{MechanismExcitation, MechanismPlant};

/// The version of both formats that this crate reads.
pub(super) const SCHEMA: u32 = 1;

/// A mechanism: bodies, and the joints that hold them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MechanismFile {
    /// Version of this format: 1.
    pub schema: u32,
    /// Name of the mechanism.
    pub name: String,
    /// Acceleration of gravity while the stand is not tilted, m/s^2.
    pub gravity_m_s2: [f64; 3],
    /// Rotation vector that turns gravity, rad.
    #[serde(default)]
    pub tilt_rad: [f64; 3],
    /// The bodies.
    pub body: Vec<BodyFile>,
    /// The joints. For angles to place the bodies: hinges, parents first.
    pub joint: Vec<JointFile>,
}

/// A rigid body. Its axes are principal ones, its origin is the centre of mass.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BodyFile {
    /// Its name.
    pub name: String,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Principal moments of inertia about the centre of mass, kg m^2.
    pub inertia_kg_m2: [f64; 3],
}

/// A joint between two bodies, or a body and the world.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JointFile {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(default)]
    pub kind: JointFileKind,
    /// Body a; left out: the world.
    pub parent: Option<String>,
    /// Body b.
    pub child: String,
    /// Where the joint is on body a (in the world).
    pub on_parent: FrameFile,
    /// Where it is on body b.
    pub on_child: FrameFile,
    /// Viscous friction, N m s/rad.
    #[serde(default)]
    pub viscous: f64,
    /// Dry friction; left out: none.
    pub dry: Option<DryFile>,
    /// Motor; left out: none.
    pub motor: Option<MotorFile>,
    /// Compliance of the point, m/N.
    #[serde(default)]
    pub compliance_m_n: f64,
    /// Compliance of the axis, rad/(N m).
    #[serde(default)]
    pub compliance_rad_nm: f64,
    /// Relaxation time of both, s.
    #[serde(default = "relaxation")]
    pub relaxation_s: f64,
}

fn relaxation() -> f64 {
    0.02
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JointFileKind {
    /// The two places coincide, and the x axes of both frames are parallel: a turn about them is left.
    #[default]
    Hinge,
    /// The two places coincide.
    Point,
}

/// A frame on a body.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrameFile {
    /// Place from the centre of mass, in the body's axes, m.
    pub point_m: [f64; 3],
    /// Its x axis, about which a hinge turns, in the body's axes.
    #[serde(default = "x_axis")]
    pub x: [f64; 3],
    /// Its y axis: a hinge's angle is 0 where those of both frames agree.
    #[serde(default = "y_axis")]
    pub y: [f64; 3],
}

fn x_axis() -> [f64; 3] {
    [1.0, 0.0, 0.0]
}

fn y_axis() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

/// Dry friction: at most mu (radius (|f_x| + |f_y| + |f_z|) + |tau_y| + |tau_z|) with the bearing's forces and moments, and mu = kinetic +
/// excess exp(-rate omega^2).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DryFile {
    /// Coefficient of kinetic friction.
    pub kinetic: f64,
    /// Static less kinetic friction: Stribeck's effect.
    #[serde(default)]
    pub excess: f64,
    /// How fast the excess fades, s^2/rad^2.
    #[serde(default)]
    pub rate: f64,
    /// Arm at which forces act, m.
    pub radius_m: f64,
    /// Speed at which a sticking hinge creeps for each N m s of impulse, rad/(N m s^2). The inverse forms need some.
    #[serde(default)]
    pub creep: f64,
}

/// A motor on a hinge.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MotorFile {
    /// Torque for each unit of control, N m.
    pub gain: f64,
    /// Inertia of the shaft about the hinge's axis, kg m^2.
    #[serde(default)]
    pub shaft_kg_m2: f64,
}

/// A problem about a mechanism.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MechanismProblem {
    /// Version of this format: 1.
    pub schema: u32,
    /// Name of the problem.
    pub name: String,
    /// One or two sentences for people.
    pub description: String,
    /// The mechanism's file, from the folder of the problem.
    pub mechanism: String,
    /// Interval of the readings, s; the model's step too, unless `model_step_s` asks for shorter ones.
    pub step_s: f64,
    /// Longest step of the model, s: the interval of the readings is divided into equal steps that are no longer. The impulse of each step weighs as many times more as
    /// there are steps, so that what an interval's impulses may come to stays. Left out: one step an interval.
    pub model_step_s: Option<f64>,
    /// Weight of impulses from outside beside readings, rad^2/(N m s)^2.
    pub kappa: f64,
    /// Standard deviation of an encoder's reading, rad.
    pub encoder_rad: f64,
    /// What the unknowns of a stage are, and how the cost is minimised.
    #[serde(default)]
    pub form: EstimatorForm,
    /// Where impulses from outside act; left out: about the hinges, and where the form needs it `twice`.
    pub impulses: Option<ImpulsesFile>,
    /// Compliance of all rows of all joints in the model, m/N and rad/(N m); left out: the mechanism's.
    pub compliance: Option<f64>,
    /// Relaxation time of all joints in the model, s; left out: the mechanism's.
    pub relaxation_s: Option<f64>,
    /// Readings from a file; either this or `simulate`.
    pub log: Option<MechanismLog>,
    /// Readings from a simulated mechanism.
    pub simulate: Option<SimulateMechanism>,
    /// What is true of the simulated mechanism beyond its file; only the simulator reads it.
    #[serde(default)]
    pub truth: Vec<TrueParameter>,
    /// What is estimated.
    #[serde(default)]
    pub parameter: Vec<SoughtFile>,
    /// Other problems whose readings the estimate has to explain, only their states fitted: cross-validation.
    #[serde(default)]
    pub validation: Vec<ValidationFile>,
    /// Settings of the solver.
    #[serde(default)]
    pub solver: MechanismSolver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EstimatorForm {
    /// Impulses are unknowns inside the step: no stiff row gets into the weights.
    #[default]
    Implicit,
    /// Changes of the state are unknowns, impulses follow by inverse dynamics; minimised by the recursion of all estimation problems.
    Inverse,
    /// The same cost as `inverse`, minimised on states and parameters at once by the paper's iteration of Levenberg and Marquardt.
    Explicit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ImpulsesFile {
    /// About the hinges' axes.
    Hinges,
    /// On each body, one for velocity and configuration.
    Bodies,
    /// On each body, one for the velocity and another for the configuration.
    Twice,
}

/// Readings from a file: the columns t, q1.., tau1.. of the hinges; `dq1..` may be there. Torques are the controls of motors, in their order of joints. A
/// line without a line break at the end is left out. Steps that no reading is near, as where a log has fewer than one in `step_s`, have none: nothing is invented between them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MechanismLog {
    /// The file, from the folder of the problem.
    pub file: String,
    /// Only samples from the first of these times to the second, s; left out: all.
    pub range_s: Option<[f64; 2]>,
    /// What the columns of a CSV file are called, where not as above.
    pub columns: Option<String>,
    /// Whether angles are in degrees.
    #[serde(default)]
    pub degrees: bool,
}

/// Readings of a simulated mechanism.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulateMechanism {
    /// How it is integrated.
    #[serde(default)]
    pub plant: MechanismPlant,
    /// Interval of the integration, s.
    #[serde(default = "fine")]
    pub plant_step_s: f64,
    /// Compliance of all rows of the discrete plant, m/N and rad/(N m).
    #[serde(default = "stiff")]
    pub plant_compliance: f64,
    /// Relaxation time of the discrete plant; left out: the mechanism's.
    pub plant_relaxation_s: Option<f64>,
    /// Length of the simulation, s.
    pub duration_s: f64,
    /// Angles of the hinges at the beginning, at rest, rad.
    pub start_rad: Vec<f64>,
    /// What the motors are told.
    #[serde(default)]
    pub excitation: MechanismExcitation,
    /// Interval over which a control is held, s; left out: `step_s`.
    pub hold_s: Option<f64>,
    /// Counts of an encoder a turn; left out: it reads exactly but for the noise.
    pub counts: Option<u32>,
    /// Standard deviation of further noise of each reading, rad.
    #[serde(default)]
    pub noise_rad: f64,
    /// Draws the noise.
    #[serde(default)]
    pub seed: u64,
}

fn fine() -> f64 {
    1e-4
}

fn stiff() -> f64 {
    1e-6
}

/// A true value.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrueParameter {
    /// Body or joint; left out for the tilt.
    pub of: Option<String>,
    /// Which number.
    pub quantity: MechanismQuantity,
    /// Its value.
    pub value: f64,
}

/// A number that is estimated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SoughtFile {
    /// Body or joint; left out for the tilt.
    pub of: Option<String>,
    /// Which number.
    pub quantity: MechanismQuantity,
    /// Where the estimate starts; left out: the mechanism's value.
    pub start: Option<f64>,
    /// A size that it may have; left out: that of the start, or 0.001 where that is 0.
    pub scale: Option<f64>,
    /// Least value; left out: what physics allows.
    pub lower: Option<f64>,
    /// Largest value.
    pub upper: Option<f64>,
    /// What is known beforehand: a value and its standard deviation.
    pub prior: Option<[f64; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MechanismQuantity {
    /// Mass of a body, kg.
    Mass,
    /// First principal moment of a body, kg m^2.
    InertiaXx,
    /// Second principal moment of a body, kg m^2.
    InertiaYy,
    /// Third principal moment of a body, kg m^2.
    InertiaZz,
    /// Viscous friction of a hinge, N m s/rad.
    Viscous,
    /// Kinetic friction of a hinge.
    Dry,
    /// Static less kinetic friction of a hinge.
    Excess,
    /// Rate of Stribeck's effect in a hinge, s^2/rad^2.
    Rate,
    /// Gain of a hinge's motor, N m.
    Gain,
    /// Inertia of a motor's shaft, kg m^2.
    Shaft,
    /// Tilt of the stand about the world's x axis, rad.
    TiltX,
    /// Tilt of the stand about the world's y axis, rad.
    TiltY,
    /// Tilt of the stand about the world's z axis, rad.
    TiltZ,
}

/// Readings that the estimate has to explain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValidationFile {
    /// What it is called.
    pub label: String,
    /// The problem's file, from the folder of this one; left out: this one.
    pub problem: Option<String>,
    /// Keys laid over it.
    #[serde(default)]
    pub change: toml::Table,
}

/// Settings of the solver. Of the form `explicit` they have the number of iterations alone: its tolerances are those of the paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MechanismSolver {
    /// Largest number of iterations.
    #[serde(default = "iterations")]
    pub iterations: usize,
    /// The iteration ends when what is still to be gained of the cost is below this times (1 + cost).
    #[serde(default = "tolerance")]
    pub tolerance: f64,
    /// Or below this outright: half the square of the distance from the minimum in deviations.
    #[serde(default)]
    pub significance: f64,
    /// Whether steps are careful ([`crate::estimate::SolverOptions::cautious`]): dry friction gives the cost kinks.
    #[serde(default)]
    pub cautious: bool,
    /// Whether sought inertias are kept such that a body can have them: no principal moment above the sum of the other two. Left out: estimates that no body has
    /// are told, which says that the model is wrong somewhere. Deviations do not know of it.
    #[serde(default)]
    pub consistent: bool,
}

impl Default for MechanismSolver {
    fn default() -> Self {
        Self {
            iterations: iterations(),
            tolerance: tolerance(),
            significance: 0.0,
            cautious: false,
            consistent: false,
        }
    }
}

fn iterations() -> usize {
    200
}

fn tolerance() -> f64 {
    1e-10
}
