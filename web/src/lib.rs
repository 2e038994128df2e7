//! What a page asks of surelift: whether one motion is provable with a payload of which only a box and a largest mass are known, and how heavy that
//! payload may be. Questions and answers are JSON; [`memory`] carries them over the border of WebAssembly.
//!
//! Nothing here decides: the motion is given, [`surelift::plan::tube_fit`] proposes the tube's constants, and [`surelift::certify`] proves. WebAssembly
//! has neither clocks nor threads here, and none are needed for that.
#![deny(missing_docs)]

pub mod memory;
mod proof;

use serde::{Deserialize, Serialize};
use surelift::robot::{Arm, Capsule};
use surelift::trajectory::{Bezier, JointState};

use proof::{Held, heaviest, prove};

/// Moments of the motion at which the arm is drawn, the first and the last included.
const POSES: usize = 7;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What of it: whether the motion is provable, or how heavy the payload may be.
    pub about: Subject,
    /// A robot that ships with surelift.
    pub robot: String,
    /// Joint positions at the start and at the end, where the arm rests, rad (m).
    pub start: Vec<f64>,
    /// See `start`.
    pub end: Vec<f64>,
    /// Duration of the motion, s.
    pub duration_s: f64,
    /// Largest mass of the payload, kg. Not used where the heaviest one is asked for.
    pub mass_kg: f64,
    /// Centre of a box that holds all of it, in the tool frame, m.
    pub center_m: [f64; 3],
    /// Full side lengths of that box, m.
    pub size_m: [f64; 3],
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Whether the motion is provable, and how the arm is to be drawn.
    Proof,
    /// How heavy the payload may be.
    Heaviest,
    /// The plan file of a motion that is provable.
    Plan,
}

/// A margin of a proof.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProvenMargin {
    /// Position, velocity, torque, distance.
    pub of: &'static str,
    /// How much is left; none where nothing of the kind limits.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: &'static str,
    /// When it is smallest, s.
    pub t: f64,
    /// Where.
    pub at: String,
}

/// The arm at one moment, in the base frame, m.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmPose {
    /// When, s.
    pub t: f64,
    /// Capsules: two ends and a radius; those of the payload last.
    pub capsules: Vec<[f64; 7]>,
    /// How many of them are the payload's.
    pub payload: usize,
    /// Origin of the tool frame.
    pub tool: [f64; 3],
    /// Its axes x, y, z.
    pub axes: [[f64; 3]; 3],
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Whether the motion is provable.
    Proof {
        /// What could not be proven; none: it is proven.
        refusal: Option<String>,
        /// What is left of each kind of limit, where it is proven.
        margins: Vec<ProvenMargin>,
        /// Bound on the distance of each joint from where it is desired, rad (m), where it is proven.
        tracking_error: Vec<f64>,
        /// Parts of time in which it was proven.
        cells: usize,
        /// The arm with its payload.
        poses: Vec<ArmPose>,
    },
    /// How heavy the payload may be.
    Heaviest {
        /// The largest mass that was proven, kg; 0 if none was.
        mass_kg: f64,
        /// What stands in the way of 4 % more.
        forbids: String,
    },
    /// The plan file.
    Plan {
        /// JSON, which `surelift verify` and `check/check.py` prove again.
        file: String,
    },
    /// The question makes no sense.
    Fault {
        /// What is wrong with it, and what was expected.
        reason: String,
    },
}

/// Answers a question in JSON by JSON.
pub fn answer(question: &str) -> String {
    let answered =
        serde_json::from_str(question).map_err(|error| format!("question: {error}")).and_then(|q| reply(&q));
    let answered = answered.unwrap_or_else(|reason| Answer::Fault { reason });
    // Numbers of an answer are finite; if not, that is a fault, too.
    serde_json::to_string(&answered)
        .unwrap_or_else(|error| format!("{{\"fault\":{{\"reason\":\"{error}\"}}}}"))
}

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn reply(question: &Question) -> Result<Answer, String> {
    let robot = surelift::robot::load(&question.robot).map_err(in_words)?;
    for (field, values) in [("start", &question.start), ("end", &question.end)] {
        if values.len() != robot.dof() {
            return Err(format!("{field}: {} numbers, expected {}", values.len(), robot.dof()));
        }
        if let Some(bad) = values.iter().find(|x| !x.is_finite()) {
            return Err(format!("{field}: {bad}, expected finite numbers"));
        }
    }
    if !(question.duration_s > 0.0 && question.duration_s <= 60.0) {
        return Err(format!("duration_s: {}, expected above 0 and at most 60", question.duration_s));
    }
    let curve = Bezier::to_rest(&JointState::at_rest(&question.start), &question.end, question.duration_s);
    let curve = curve.map_err(in_words)?;
    let held = |mass_kg: f64| Held::new(&robot, mass_kg, question.center_m, question.size_m);
    match question.about {
        Subject::Proof => {
            let held = held(question.mass_kg)?;
            let poses = poses(&held.robot, robot.shapes().len(), &curve);
            Ok(match prove(&held, &curve) {
                Ok(plan) => Answer::Proof {
                    refusal: None,
                    margins: proof::margins(&plan.certificate),
                    tracking_error: (0..robot.dof()).map(|j| plan.tube.e_radius(j)).collect(),
                    cells: plan.certificate.cells,
                    poses,
                },
                Err(refusal) => {
                    let (margins, tracking_error) = (vec![], vec![]);
                    Answer::Proof { refusal: Some(refusal), margins, tracking_error, cells: 0, poses }
                }
            })
        }
        Subject::Heaviest => {
            heaviest(&curve, held).map(|(mass_kg, forbids)| Answer::Heaviest { mass_kg, forbids })
        }
        Subject::Plan => {
            let plan = prove(&held(question.mass_kg)?, &curve)?;
            Ok(Answer::Plan { file: serde_json::to_string(&plan).map_err(in_words)? })
        }
    }
}

/// The arm along the motion; `own` of its capsules are not the payload's.
fn poses(robot: &Arm, own: usize, curve: &Bezier) -> Vec<ArmPose> {
    let tool = robot.tool_frames();
    let mut state = JointState::at_rest(&vec![0.0; robot.dof()]);
    let pose = |k: usize| {
        let t = curve.duration_s * k as f64 / (POSES - 1) as f64;
        curve.evaluate(t, &mut state);
        let frames = robot.frames(&state.q);
        let capsule = |shape: usize| {
            let Capsule { a, b, radius } = robot.placed_capsule(shape, &frames);
            [a.x, a.y, a.z, b.x, b.y, b.z, radius]
        };
        let hand = frames[robot.end_effector()];
        let at = tool.get(None).map_or(hand, |tool| hand.compose(&tool.placement));
        ArmPose {
            t,
            capsules: (0..robot.shapes().len()).map(capsule).collect(),
            payload: robot.shapes().len() - own,
            tool: at.translation.into(),
            axes: std::array::from_fn(|k| at.rotation.column(k).into_owned().into()),
        }
    };
    (0..POSES).map(pose).collect()
}

#[cfg(test)]
mod tests;
