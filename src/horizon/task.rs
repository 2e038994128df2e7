//! What the loop is given.

use serde::{Deserialize, Serialize};

use crate::identify::Method;
use crate::inertia::ParameterSet;
use crate::plan::propose::ConstraintModel;
use crate::robot::prior::PriorFault;
use crate::robot::{Arm, JointKind, Prior, Scene};
use crate::trajectory::PiecewiseBezier;

/// The rhythm of planning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// Duration of a trajectory, s; it ends at rest.
    pub t_f_s: f64,
    /// A new plan starts this long after the one before, s; the time to make it.
    pub t_p_s: f64,
    /// How many exciting trajectories come first; in a scenario file 4 if left out, 0 where nothing is held.
    pub exciting_plans: usize,
    /// Plans after which the run ends as a safe stop.
    pub max_plans: usize,
    /// Failures to plan in a row after which the run ends as a safe stop.
    pub max_failures: usize,
    /// How long the arm waits in a row for obstacles that move, s, until the run ends as a safe stop.
    pub patience_s: f64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { t_f_s: 3.0, t_p_s: 1.5, exciting_plans: 4, max_plans: 60, max_failures: 10, patience_s: 60.0 }
    }
}

/// What an exciting trajectory minimises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExciteCriterion {
    /// The condition number of the last body's regressor.
    #[default]
    ConditionNumber,
    /// The predicted width of the identified intervals, given the torque sensor's bound.
    PredictedWidth,
    /// Nothing: random motions, proven like all others; for comparison.
    Random,
}

/// Settings of the exciting trajectories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excite {
    /// What they minimise.
    #[serde(default)]
    pub criterion: ExciteCriterion,
    /// What predicted widths of mass, first moment and inertia count; none below 0, some above.
    #[serde(default = "equal_weights")]
    pub weights: [f64; 3],
    /// Samples at which the regressor's condition number is taken.
    #[serde(default = "default_samples")]
    pub samples: usize,
    /// Whether the whole trajectory counts, not only what is executed before the next one takes over: that one may go on
    /// along it, and is not led to where nothing is left to learn.
    #[serde(default)]
    pub look_ahead: bool,
    /// How far one trajectory may move each joint, rad (m); length n.
    pub range_rad: Vec<f64>,
}

fn equal_weights() -> [f64; 3] {
    [1.0; 3]
}

fn default_samples() -> usize {
    128
}

/// Settings of the trajectories towards the goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carry {
    /// How far one trajectory may move each joint, rad (m); length n.
    pub range_rad: Vec<f64>,
}

/// How near to its place a held object must be in the end, so that it stays there when it is let go. Its place is where the goal has it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placing {
    /// The point of the object that counts, in the frame of the end effector's joint, m.
    pub point_m: [f64; 3],
    /// Largest distance of that point from its place across the vertical, m.
    pub horizontal_m: f64,
    /// Largest distance along the vertical, m.
    pub vertical_m: f64,
    /// Largest angle by which the object leans more than it should, degrees.
    pub tilt_deg: f64,
}

/// How far a held object is from its place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct PlacingError {
    /// Across the vertical, m.
    pub horizontal_m: f64,
    /// Along the vertical, m; upward is positive.
    pub vertical_m: f64,
    /// How far it leans, degrees.
    pub tilt_deg: f64,
}

impl Placing {
    /// How far the object of an arm at `q` is from where it is at `goal` (both rad or m, one a joint).
    pub fn error(&self, robot: &Arm, q: &[f64], goal: &[f64]) -> PlacingError {
        let hand = robot.end_effector();
        let (is, should) = (robot.frames(q)[hand], robot.frames(goal)[hand]);
        let up = -robot.gravity.normalize();
        let off = is.point(&self.point_m.into()) - should.point(&self.point_m.into());
        let leans = is.rotation * (should.rotation.transpose() * up);
        PlacingError {
            horizontal_m: (off - up * off.dot(&up)).norm(),
            vertical_m: off.dot(&up),
            // Of small angles the sine loses nothing.
            tilt_deg: leans.cross(&up).norm().atan2(leans.dot(&up)).to_degrees(),
        }
    }

    /// What is beyond its tolerance, in words.
    pub fn fault(&self, error: &PlacingError) -> Option<String> {
        let entries = [
            ("beside its place", 1e3 * error.horizontal_m, 1e3 * self.horizontal_m, "mm"),
            ("above or below its place", 1e3 * error.vertical_m.abs(), 1e3 * self.vertical_m, "mm"),
            ("out of the upright", error.tilt_deg, self.tilt_deg, "degrees"),
        ];
        let (what, is, may, unit) = entries.into_iter().find(|(_, is, may, _)| !(is <= may))?;
        Some(format!("the object is {is:.1} {unit} {what}, tolerance {may:.1} {unit}"))
    }
}

/// Settings of the identifier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Identify {
    /// How intervals come of the data.
    pub method: Method,
    /// Length of a momentum window, s.
    pub window_s: f64,
    /// How long the arm stands before its first plan, held by its own drives, while the torques that hold it are measured, s;
    /// 0: not at all. The first plan is then proven with what they tell: what is held weighs something, however friction sticks.
    pub weigh_s: f64,
    /// Whether plans count on what is known of combinations of parameters, beside the ten intervals.
    pub correlated: bool,
}

impl Default for Identify {
    fn default() -> Self {
        Self { method: Method::default(), window_s: 0.1, weigh_s: 0.0, correlated: true }
    }
}

/// What the run may know of an object in the hand, and how it is to learn more.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct HeldObject {
    /// Name of what is held.
    pub payload: String,
    /// What is believed of the last body.
    pub prior: Prior,
    /// Settings of the exciting trajectories.
    pub excite: Excite,
    /// Settings of the identifier.
    pub identify: Identify,
}

/// Everything that planner, controller, certifier and identifier may know before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Task {
    /// Name of the scenario.
    pub name: String,
    /// One or two sentences for people.
    pub description: String,
    /// The robot, with the held object's capsules attached; inertias nominal, without the object.
    pub robot: Arm,
    /// What is held; `None` where the hand is empty: then there is nothing to learn, and every parameter is within
    /// the robot's own uncertainty.
    pub held: Option<HeldObject>,
    /// Start configuration, rad (m); length n. The arm starts at rest.
    pub start: Vec<f64>,
    /// Goal configuration, rad (m); length n. Where there is a path, its end.
    pub goal: Vec<f64>,
    /// The goal is reached when every joint is within this of it, rad (m); length n.
    pub goal_tolerance_rad: Vec<f64>,
    /// How far tracking errors may carry a link at most, m: the planner proposes no motion in whose tube they carry one farther. A path that is given, settling at
    /// rest, and constraints over all end points ([`ConstraintModel::PolynomialZonotopes`]) are not held to it. Left out where what limits and obstacles leave is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_max_m: Option<f64>,
    /// Obstacles.
    pub scene: Scene,
    /// The rhythm of planning.
    pub timing: Timing,
    /// Settings of the trajectories towards the goal, or towards the start of the path.
    pub carry: Carry,
    /// The motion that carries what is held to the goal, made in advance: from rest to rest, in pieces that join. Left out where the planner
    /// finds the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PiecewiseBezier>,
    /// How near to its place what is held must be in the end; left out where only the joints' distance to the goal counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placing: Option<Placing>,
    /// Where the planner takes its constraints from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub planner: ConstraintModel,
}

fn is_default(planner: &ConstraintModel) -> bool {
    *planner == ConstraintModel::default()
}

/// How near to its goal a joint has to come where nobody says: 0.05 rad, or 0.005 m of one that slides.
pub(crate) fn usual_tolerance(kind: JointKind) -> f64 {
    if kind == JointKind::Prismatic { 0.005 } else { 0.05 }
}

impl Task {
    /// All parameters that are possible before the first measurement: the robot's own box, with the prior in place
    /// of the last body's nominal interval where something is held.
    ///
    /// # Errors
    /// [`PriorFault`] for a prior that makes no set.
    pub fn prior_set(&self) -> Result<ParameterSet, PriorFault> {
        let set = ParameterSet::around_nominal(&self.robot);
        match &self.held {
            Some(held) => held.prior.applied_to(set, &self.robot),
            None => Ok(set),
        }
    }
}
