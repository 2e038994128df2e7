//! What the reports on a plan amount to: the least margin of each family, or the first that is negative. In numbers as long as cells
//! are judged; names are given at the end.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::enclose::environment;
use crate::robot::{Arm, Scene};

use super::{Partition, StartRefusal};

/// The other side of a distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// An obstacle, by its index in the scene.
    Obstacle(usize),
    /// A capsule of the robot, by its index.
    Shape(usize),
}

/// Families of constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum ConstraintFamily {
    /// Joint position limits (rad).
    Position,
    /// Joint velocity limits (rad/s).
    Velocity,
    /// Actuator torque limits (N m).
    Torque,
    /// Distance to obstacles and between links (m).
    Collision,
    /// Conditions of the tracking tube (relative to the stored constant).
    Tube,
}

/// A proven margin: how much is left, when and where it is smallest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Margin {
    /// Limit minus proven supremum, in the family's unit; `None` if nothing of the family applies.
    pub value: Option<f64>,
    /// Start of the cell where it is smallest, s.
    pub t: f64,
    /// Joint, or capsule and what it comes close to.
    pub at: String,
}

/// Proof that a plan is safe: the smallest margin of each family, all at least zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Certificate {
    /// Position, rad.
    pub position: Margin,
    /// Velocity, rad/s.
    pub velocity: Margin,
    /// Torque, N m.
    pub torque: Margin,
    /// Distance, m.
    pub collision: Margin,
    /// Conditions of the tube, relative.
    pub tube: Margin,
    /// Number of cells that the proof needed.
    pub cells: usize,
    /// x with V <= (1 + x) V_max all along the plan: 0 from rest, and what the switches before it have cost ([`crate::certify::switch`]).
    pub excess: f64,
    /// Where an obstacle may move: the time of the plan, s, from the start to which the distance to it is proven. It is the plan's end, where the
    /// arm has come to rest; what comes to the arm later is not kept away from. Left out where none moves: all distances then hold for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_until_s: Option<f64>,
}

/// Why a plan could not be proven.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// A constraint that could not be proven.
    #[error(
        "cannot prove the {family:?} constraint of {at} between {t0:.4} s and {t1:.4} s: margin {margin:.4}"
    )]
    Constraint {
        /// Its family.
        family: ConstraintFamily,
        /// Joint, or capsule and what it comes close to.
        at: String,
        /// Start of the cell, s.
        t0: f64,
        /// End of the cell, s (infinite for the rest after the plan).
        t1: f64,
        /// Limit minus proven supremum.
        margin: f64,
    },
    /// The problem itself is not one that the proof covers.
    #[error("{0}")]
    Unsupported(String),
    /// Tracking errors may carry a link farther than is asked for. The planner's alone: what is proven of such a plan is true.
    #[error("tracking errors may carry a link by {:.1} mm, at most {:.1} mm is asked for (`growth_max_m`)", 1e3 * .growth_m, 1e3 * .most_m)]
    Growth {
        /// How far, m.
        growth_m: f64,
        /// What is asked for, m.
        most_m: f64,
    },
    /// The plan does not start where the arm is.
    #[error("the plan does not start where the arm is: {0}")]
    Start(#[from] StartRefusal),
}

/// Which constraint of its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintIndex {
    /// That of a joint.
    Joint(usize),
    /// That of a capsule against another body.
    Pair(usize, Body),
    /// The tube's hold power.
    HoldPower,
    /// The tube's slack.
    EnergySlack,
    /// The tube's gain condition.
    Gain,
    /// The tube's floor of the mass matrix.
    Floor,
    /// The tube's drift of a joint.
    Drift(usize),
    /// The tube's bound on a joint's acceleration.
    Acceleration(usize),
    /// V_max against what loops in the motors leave.
    MotorLoops,
    /// What a reading of a joint's loop in its motor ages by.
    LoopRate(usize),
    /// The momentum law's nominal mass matrix, or how far the true one may be from it.
    MassMatrix,
    /// The momentum law's robust torque of a joint.
    Robust(usize),
    /// What the momentum error of a joint may be misread by.
    Noise(usize),
    /// The momentum law's bound of a joint's position errors.
    Lag(usize),
    /// The momentum law's sign band of a joint.
    SignBand(usize),
    /// What a plan of the momentum law says of a joint's states: by its name in the plan file.
    State(&'static str, usize),
    /// A time that no cell covers.
    Uncovered,
    /// A thread does not compute as the proof assumes ([`crate::enclose::environment`]).
    Arithmetic,
}

impl ConstraintIndex {
    fn name(self, robot: &Arm, scene: &Scene) -> String {
        let joint = |j: usize| format!("joint '{}'", robot.joints[j].name);
        let shape = |s: usize| &robot.shapes()[s].name;
        match self {
            ConstraintIndex::Joint(j) => joint(j),
            ConstraintIndex::Pair(s, Body::Obstacle(k)) => {
                format!("'{}' against obstacle '{}'", shape(s), scene.obstacles[k].name)
            }
            ConstraintIndex::Pair(s, Body::Shape(k)) => format!("'{}' against '{}'", shape(s), shape(k)),
            ConstraintIndex::HoldPower => "tube hold_power_w".to_owned(),
            ConstraintIndex::EnergySlack => "tube energy_slack_j".to_owned(),
            ConstraintIndex::Gain => "tube gain condition".to_owned(),
            ConstraintIndex::Floor => "tube inertia_floor against the mass matrix".to_owned(),
            ConstraintIndex::Drift(j) => format!("tube drift_nm of {}", joint(j)),
            ConstraintIndex::Acceleration(j) => format!("tube acceleration_bound of {}", joint(j)),
            ConstraintIndex::MotorLoops => "tube v_max against the loops in the motors".to_owned(),
            ConstraintIndex::LoopRate(j) => format!("tube motor_loops.rate_rad_s2 of {}", joint(j)),
            ConstraintIndex::MassMatrix => "how far the mass matrix may be from the nominal one".to_owned(),
            ConstraintIndex::Robust(j) => format!("tube robust_nm of {}", joint(j)),
            ConstraintIndex::Noise(j) => format!("tube noise_nms of {}", joint(j)),
            ConstraintIndex::Lag(j) => format!("tube lag_nms2 of {}", joint(j)),
            ConstraintIndex::SignBand(j) => format!("tube sign_band_rad_s of {}", joint(j)),
            ConstraintIndex::State(what, j) => format!("bounds {what} of {}", joint(j)),
            ConstraintIndex::Uncovered => "a time that no cell covers".to_owned(),
            ConstraintIndex::Arithmetic => "arithmetic".to_owned(),
        }
    }
}

/// A constraint that could not be proven, see [`Refusal::Constraint`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// Its family.
    pub family: ConstraintFamily,
    /// Which one.
    pub place: ConstraintIndex,
    /// Start of the cell, s.
    pub t0: f64,
    /// End of the cell, s (infinite for the rest after the plan).
    pub t1: f64,
    /// Limit minus proven supremum.
    pub margin: f64,
}

impl Shortfall {
    /// One that is of the whole plan.
    pub(crate) fn whole(place: ConstraintIndex) -> Self {
        let (t0, t1, margin) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        Self { family: ConstraintFamily::Tube, place, t0, t1, margin }
    }

    /// The same with names.
    pub fn refusal(self, robot: &Arm, scene: &Scene) -> Refusal {
        let Self { family, place, t0, t1, margin } = self;
        let unsupported = |words: &str| Refusal::Unsupported(words.to_owned());
        match place {
            ConstraintIndex::Uncovered => return unsupported("the surveyed cells do not cover the plan"),
            ConstraintIndex::Arithmetic => {
                return unsupported(
                    environment::fault().unwrap_or("another thread's arithmetic is not IEEE 754's"),
                );
            }
            _ => {}
        }
        Refusal::Constraint { family, at: place.name(robot, scene), t0, t1, margin }
    }
}

/// Where a margin is smallest.
#[derive(Debug, Clone, Copy)]
struct Least {
    value: f64,
    t: f64,
    place: ConstraintIndex,
}

/// The least margin of each family over some cells; none is negative.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// By [`ConstraintFamily`].
    least: [Option<Least>; 5],
    cells: usize,
}

impl Tally {
    /// Of one cell, before its margins are taken.
    pub(crate) fn of_a_cell() -> Self {
        Self { cells: 1, ..Self::default() }
    }

    pub(crate) fn record(&mut self, family: ConstraintFamily, value: f64, t: f64, place: ConstraintIndex) {
        if value.is_finite() {
            self.lower(family as usize, Least { value, t, place });
        }
    }

    fn lower(&mut self, family: usize, other: Least) {
        let smallest = &mut self.least[family];
        if smallest.is_none_or(|least| other.value < least.value) {
            *smallest = Some(other);
        }
    }

    /// Of these cells and later ones.
    pub(crate) fn and(mut self, later: Self) -> Self {
        for (family, least) in later.least.into_iter().enumerate() {
            least.into_iter().for_each(|least| self.lower(family, least));
        }
        self.cells += later.cells;
        self
    }

    pub(crate) fn certificate(
        &self,
        robot: &Arm,
        scene: &Scene,
        excess: f64,
        clear_until_s: Option<f64>,
    ) -> Certificate {
        let margin = |family: ConstraintFamily| match self.least[family as usize] {
            Some(Least { value, t, place }) => Margin { value: Some(value), t, at: place.name(robot, scene) },
            None => Margin { value: None, t: 0.0, at: String::new() },
        };
        Certificate {
            position: margin(ConstraintFamily::Position),
            velocity: margin(ConstraintFamily::Velocity),
            torque: margin(ConstraintFamily::Torque),
            collision: margin(ConstraintFamily::Collision),
            tube: margin(ConstraintFamily::Tube),
            cells: self.cells,
            excess,
            clear_until_s,
        }
    }
}

/// To which proof an event belongs.
pub(super) fn span(robot: &Arm, partition: Partition) -> tracing::Span {
    tracing::info_span!("certify", robot = &*robot.name, cells = partition.cells)
}

/// Tells `tracing` what came of a proof.
pub(super) fn tell(verdict: &Result<Certificate, Refusal>) {
    match verdict {
        Ok(Certificate { position, velocity, torque, collision, tube, cells, .. }) => tracing::debug!(
            cells,
            margin_position_rad = position.value,
            margin_velocity_rad_s = velocity.value,
            margin_torque_nm = torque.value,
            margin_collision_m = collision.value,
            margin_tube = tube.value,
            "proven"
        ),
        Err(refusal) => tracing::debug!(%refusal, "not proven"),
    }
}
