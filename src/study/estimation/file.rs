//! The problem file, as written. Visible to the loader alone: it may hold the truth of a simulated arm.

mod simulate;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::choice::EstimationMethod;
use super::friction_speed::FrictionSpeedUse;
use super::noise::NoiseUse;
use super::outside::OutsideTorques;
use crate::inertia::Coordinates;
use crate::multibody::Formulation;
use crate::multibody::equations::Plane;
use crate::multibody::parameters::JointParameter;
use crate::recording::Quantity;
use crate::robot::LoopKind;
use simulate::Truth;
pub(super) use simulate::{PostureFile, Rates, Simulate};

/// The version of the format that this crate reads.
pub(super) const SCHEMA: u32 = 1;

/// One number for all joints (parameters), or one each.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Numbers {
    /// One for all.
    One(f64),
    /// One each.
    Each(Vec<f64>),
    /// For a floating base and the joints.
    Floating(Floating),
}

/// Six numbers for a floating base (along x, y, z and about them), one for all joints (or one each).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Floating {
    /// Along x, y, z of the base, and about them.
    pub base: [f64; 6],
    /// Of the joints.
    pub joints: Box<Numbers>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Version of this format: 1.
    pub schema: u32,
    /// Name of the problem.
    pub name: String,
    /// One or two sentences for people.
    pub description: String,
    /// Robot TOML, URDF or bare name.
    pub robot: String,
    /// A joint of a limb: the robot is then this limb alone, with its base held. Logs are of the whole robot. Left out: the whole robot.
    pub limb: Option<String>,
    /// Sampling interval, s. Left out, that of a log is told by its stamps; where it is stated, the log's median interval must agree.
    pub step_s: Option<f64>,
    /// Speed below which Coulomb friction is a straight line; left out: the robot's own.
    pub friction_speed_rad_s: Option<f64>,
    /// Which unknowns the stages have.
    #[serde(default)]
    pub formulation: Formulation,
    /// Feet (hands) that stand on the ground.
    #[serde(default)]
    pub contact: Vec<Contact>,
    /// Times in `contact` (of simulated ground: as they are told) may be off by this, s. For so long before and after each, nobody says whether the foot stands.
    /// All forces (and torques of joints, N m) may then be off by the robot's weight in N.
    #[serde(default)]
    pub contact_time_error_s: f64,
    /// Sensors beside the encoders.
    #[serde(default)]
    pub sensor: Vec<SensorFile>,
    /// Whether the robot's loops are closed.
    #[serde(default)]
    pub loops: bool,
    /// Compliance of constraints, for rows that depend on each other.
    #[serde(default)]
    pub compliance: f64,
    /// Samples from files, one log or several; either this or `simulate`.
    #[serde(default, deserialize_with = "one_or_several")]
    pub log: Vec<Log>,
    /// Samples from the simulator.
    pub simulate: Option<Simulate>,
    /// What is true of the simulated arm; only the simulator reads it.
    #[serde(default)]
    pub truth: Truth,
    /// Standard deviations that the estimator assumes.
    pub deviations: Deviations,
    /// Work of the drives, observed.
    pub energy: Option<Energy>,
    /// Bodies whose inertial parameters are estimated.
    #[serde(default)]
    pub body: Vec<Body>,
    /// Joints whose friction parameters are estimated.
    #[serde(default)]
    pub joint: Vec<Joint>,
    /// What is known of parameters besides their priors.
    #[serde(default)]
    pub equation: Vec<Equation>,
    /// Settings of the solver.
    #[serde(default)]
    pub solver: Solver,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub(super) enum Equation {
    /// The links weigh so much together.
    TotalMass { links: Vec<String>, mass_kg: f64 },
    /// The second link is the first one's mirror image, each in its own frame.
    Mirror { links: [String; 2], plane: Plane },
    /// The link is its own mirror image.
    Symmetric { link: String, plane: Plane },
}

/// The work that the drives do in each interval.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Energy {
    /// Where the work comes from.
    pub source: EnergySource,
    /// Standard deviation of one interval's, J.
    pub deviation_j: f64,
    /// Of a simulated meter.
    #[serde(default)]
    pub noise_j: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EnergySource {
    /// Measured torques times measured velocities.
    Joints,
    /// A meter of its own; the last column of a log.
    Meter,
}

/// A frame that stands except when it is lifted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contact {
    /// The named frame.
    pub frame: String,
    /// What of it stands.
    #[serde(default = "point")]
    pub kind: LoopKind,
    /// From when to when it is in the air, s.
    #[serde(default)]
    pub lifted_s: Vec<[f64; 2]>,
    /// The same again after this time, and so on to the end of the log.
    pub repeat_s: Option<f64>,
    /// Coefficient of friction of the ground there: a simulated foot that would slip or lift is an error. Left out: it stands whatever happens.
    pub friction: Option<f64>,
    /// Half length and half width of a rigid foot's sole along the axes of the world, m, its frame in the middle: a simulated foot that would tilt is an error. Left out: it does not tilt.
    pub sole_m: Option<[f64; 2]>,
}

/// A sensor on a frame.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SensorFile {
    /// The named frame.
    pub frame: String,
    /// What it measures.
    pub quantity: Quantity,
    /// Standard deviations of its three numbers (an orientation's: rad along the frame's axes).
    pub deviation: Numbers,
    /// Of a simulated one.
    #[serde(default)]
    pub noise: f64,
    /// Whether it counts only while its frame stands.
    #[serde(default)]
    pub while_standing: bool,
}

fn point() -> LoopKind {
    LoopKind::Point
}

/// Samples from a file. A CSV file has the columns t, q1.., dq1.., tau1.. in any order, and `FRAME.QUANTITY1..` of each sensor, `work` of a
/// meter; an empty field is no reading. An MCAP file has joint states. A last line without a line break may be cut off: it is left out, with a
/// warning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    /// The file, from the folder of the problem.
    pub file: String,
    /// Only samples from the first of these times to the second, s; left out: all.
    pub range_s: Option<[f64; 2]>,
    /// Samples from the first of each of these times to the second, s, are left out.
    #[serde(default)]
    pub left_out_s: Vec<[f64; 2]>,
    /// What the columns of a CSV file are called, where not as above: `t=time:ms,q=pos_{}:deg,dq=vel_{},tau=eff_{}`, as `--columns` of
    /// `surelift identify` has it.
    pub columns: Option<String>,
    /// Whether angles are in degrees.
    #[serde(default)]
    pub degrees: bool,
    /// Topic of an MCAP file's joint states, where several have any.
    pub topic: Option<String>,
    /// Samples farther apart than this many median intervals have a gap between them.
    #[serde(default = "gap_periods")]
    pub gap_periods: f64,
}

fn gap_periods() -> f64 {
    5.0
}

/// One table, or a list of tables.
fn one_or_several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Log>, D::Error> {
    struct Logs;
    impl<'de> Visitor<'de> for Logs {
        type Value = Vec<Log>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a table `log`, or a list of them")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Log>, A::Error> {
            Ok(vec![Log::deserialize(MapAccessDeserializer::new(map))?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<Log>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    from.deserialize_any(Logs)
}

/// Standard deviations that the estimator assumes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deviations {
    /// Of positions, rad (m).
    pub q_rad: Numbers,
    /// Of velocities, rad/s (m/s).
    pub dq_rad_s: Numbers,
    /// Of torques, N m (N).
    pub tau_nm: Numbers,
    /// Of the first positions, rad (m); left out: nothing is known beyond the sample.
    pub first_q_rad: Option<Numbers>,
    /// As the one before, of the first velocities, rad/s (m/s).
    pub first_dq_rad_s: Option<Numbers>,
    /// Whether what torques differ by moves the robot (`force`) or is an error of the torque sensors alone (`sensor`). Left out: `sensor` where
    /// a gain or skew is estimated from logs without `marginal`, else `force`.
    pub tau_is: Option<TorqueNoise>,
}

/// What the difference of a measured torque and the one that explains the motion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TorqueNoise {
    /// A force that moves the robot.
    Force,
    /// The sensor's error, which moves nothing: its size is that of readings. With a force's, small gains and light bodies would always fit better.
    Sensor,
}

/// A body whose ten inertial parameters are estimated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    /// The link.
    pub link: String,
    /// Coordinates in which the body is estimated.
    #[serde(default = "log_cholesky")]
    pub coordinates: Coordinates,
    /// The estimate starts (and its prior is centred) at the nominal body times this.
    #[serde(default = "one")]
    pub start_ratio: f64,
    /// Prior standard deviation in coordinates; left out: no prior.
    pub deviation: Option<Numbers>,
    /// What its physical parameters are at least: m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz; `-inf`: no bound.
    pub lower: Option<Vec<f64>>,
    /// What they are at most, in the same order; `inf`: no bound.
    pub upper: Option<Vec<f64>>,
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
    /// The joint.
    pub name: String,
    /// Which parameters.
    pub parameters: Vec<JointParameter>,
    /// Where the estimate starts, one number a parameter; left out: the robot's own values.
    pub start: Option<Vec<f64>>,
    /// The estimate starts at the nominal value times this.
    #[serde(default = "one")]
    pub start_ratio: f64,
    /// Prior standard deviations, one number a parameter; left out: no prior.
    pub deviation: Option<Numbers>,
    /// What the parameters are at least, one number a parameter; `-inf`: no bound. Friction is never negative.
    pub lower: Option<Vec<f64>>,
    /// What they are at most, one number a parameter; `inf`: no bound.
    pub upper: Option<Vec<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Solver {
    /// How a step is tried: `single`, `feasible` or `multiple`.
    #[serde(default = "multiple")]
    pub rollout: String,
    /// Largest number of iterations.
    #[serde(default = "iterations")]
    pub iterations: usize,
    /// See [`crate::estimate::SolverOptions::secant`].
    #[serde(default = "yes")]
    pub secant: bool,
    /// Whether the trajectory is integrated out ([`crate::estimate::SolverOptions::marginal`]): right where noise of the torques
    /// moves the robot, as in the simulator.
    #[serde(default)]
    pub marginal: bool,
    /// See [`crate::estimate::SolverOptions::significance`].
    #[serde(default)]
    pub significance: f64,
    /// Whether steps are careful, as raw recordings need it ([`crate::estimate::SolverOptions::cautious`]). Left out: for samples from files yes, for
    /// simulated ones no.
    pub cautious: Option<bool>,
    /// Whether times at which something pushes are left out (`leave_out`), learnt from (`keep`), or not looked for (`ignore`).
    #[serde(default)]
    pub outside_torques: OutsideTorques,
    /// How parameters are found: `trajectory`, `inverse_dynamics` or `least_squares`; left out: as predicts best what was left out.
    pub method: Option<EstimationMethod>,
    /// Whether the sizes of errors are fitted to a log (`fitted`) or are those of `[deviations]` (`stated`).
    #[serde(default)]
    pub noise: NoiseUse,
    /// Whether `friction_speed_rad_s` is as stated (`stated`), or is found as that which explains the samples best (`found`).
    #[serde(default)]
    pub friction_speed: FrictionSpeedUse,
    /// Number of blocks of consecutive samples that are left out one after the other, for deviations that hold where errors last or differ between parts of a
    /// recording: at least 4, each longer than what errors remember; as many estimates more. Left out: no such deviations.
    pub deviation_blocks: Option<usize>,
    /// Length of a first part of the log that is solved on its own, for the parameters from which the whole one starts, s.
    pub first_part_s: Option<f64>,
}

impl Default for Solver {
    fn default() -> Self {
        Self {
            rollout: multiple(),
            iterations: iterations(),
            secant: true,
            marginal: false,
            significance: 0.0,
            cautious: None,
            outside_torques: OutsideTorques::default(),
            method: None,
            noise: NoiseUse::default(),
            friction_speed: FrictionSpeedUse::default(),
            deviation_blocks: None,
            first_part_s: None,
        }
    }
}

fn yes() -> bool {
    true
}

fn multiple() -> String {
    "multiple".to_owned()
}

fn iterations() -> usize {
    200
}
