//! What the measurements said against the assumptions, and what was missing of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::figure::{above, below};
use super::summary::number;
use crate::identify::motion::{Bound, Remedy};
use crate::identify::study::{Assumption, BrokenAssumption};

/// A proof that the assumptions do not all hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    /// When, s: the tick, or the end of the window.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// Name of the joint that contradicts the most; `None` where it is no matter of joints.
    pub joint: Option<String>,
    /// Factor, > 1, that the bounds which `evidence` names would have to be larger by *at least*; nothing says that it is enough.
    /// `None` where no error of theirs explains it.
    #[serde(alias = "by")]
    pub at_least: Option<f64>,
    /// Where it shows.
    pub evidence: Evidence,
    /// All of it in words.
    pub text: String,
}

/// Where a broken assumption shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The tracking energy V passed what the proof allows; the encoders' bounds would have to grow.
    Tracking,
    /// The encoders moved as no arm within the proven accelerations can; the encoders' bounds would have to grow.
    Motion,
    /// The time stamps run backwards.
    Clock,
    /// No parameters that earlier data left explain the measured motion and torques; the error radii of the rows of data (sensors,
    /// quadrature, arm) would have to grow. A radius grows faster than the sensors' bounds do.
    Data,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Evidence::Tracking => "tracking",
            Evidence::Motion => "motion",
            Evidence::Clock => "clock",
            Evidence::Data => "data",
        })
    }
}

impl Broken {
    /// `motion, t = 1.001 s, joint_2, encoder bounds x 340 at least`.
    pub fn short(&self) -> String {
        let joint = self.joint.as_ref().map_or(String::new(), |joint| format!(", {joint}"));
        let what = if self.evidence == Evidence::Data { "error radii" } else { "encoder bounds" };
        let grown = self.at_least.map_or(String::new(), |x| format!(", {what} x {} at least", below(x)));
        format!("{}, t = {:.3} s{joint}{grown}", self.evidence, self.t)
    }
}

/// A time without measurements; no window of data reaches over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Last sample before it, s.
    pub from_s: f64,
    /// First sample after it, s.
    pub to_s: f64,
}

/// What fails, in words.
pub(super) fn kind(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::PositionAgainstVelocity => "position against velocity",
        Assumption::VelocityAgainstAcceleration => "velocity against acceleration",
        Assumption::Torque => "torque",
    }
}

/// What recordings contradict, in words.
pub(super) fn sentence(broken: &BrokenAssumption) -> String {
    let what = kind(broken.assumption);
    let log = broken.log.as_ref().map_or(String::new(), |log| format!(" of {log}"));
    let steps = broken
        .steps
        .map_or(String::new(), |[some, of]| format!("; {some} of {of} steps between samples break it"));
    let remedies: Vec<String> = broken.remedies.iter().map(remedy).collect();
    format!(
        "{what} at {}, t = {:.3} s{log} (over {:.3} s{steps}); each alone: {}",
        broken.joint,
        broken.t_s,
        broken.over_s,
        remedies.join(", ")
    )
}

/// `torque bounds x 2.91 enough, at least 2.88`.
fn remedy(remedy: &Remedy) -> String {
    let bound = match remedy.bound {
        Bound::Position => "position bound",
        Bound::Velocity => "velocity bound",
        Bound::Encoders => "both encoder bounds",
        Bound::Acceleration => "acceleration bound",
        Bound::Torque => "torque sensor bounds",
        Bound::Sensors => "all sensor bounds",
    };
    match (remedy.enough, remedy.at_least) {
        (Some(enough), Some(least)) if enough < 1.0001 * least => {
            format!("{bound} x {} enough", above(enough))
        }
        (Some(enough), Some(least)) => {
            format!("{bound} x {} enough, at least {}", above(enough), below(least))
        }
        (Some(enough), None) => format!("{bound} x {} enough", above(enough)),
        (None, Some(least)) => format!("{bound} at least x {}, none known to be enough", below(least)),
        (None, None) => format!("no {bound} is enough"),
    }
}
