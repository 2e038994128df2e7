//! What the measurements said against the assumptions, in words.

use super::figure::{above, below};
use crate::horizon::{Broken, Evidence};
use crate::identify::motion::{MotionBound, Remedy};
use crate::study::identification::{Assumption, BrokenAssumption};

impl Broken {
    /// `motion, t = 1.001 s, joint_2, encoder bounds x 340 at least`.
    pub fn short(&self) -> String {
        let joint = self.joint.as_ref().map_or(String::new(), |joint| format!(", {joint}"));
        let what = if self.evidence == Evidence::Data { "error radii" } else { "encoder bounds" };
        let grown = self.at_least.map_or(String::new(), |x| format!(", {what} x {} at least", below(x)));
        format!("{}, t = {:.3} s{joint}{grown}", self.evidence, self.t)
    }
}

/// What fails, in words.
pub(super) fn kind(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::PositionAgainstVelocity => "position against velocity",
        Assumption::VelocityAgainstAcceleration => "velocity against acceleration",
        Assumption::Torque => "torque",
        Assumption::NothingPushes => "torque from outside",
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
        MotionBound::Position => "position bound",
        MotionBound::Velocity => "velocity bound",
        MotionBound::Encoders => "both encoder bounds",
        MotionBound::Acceleration => "acceleration bound",
        MotionBound::Torque => "torque sensor bounds",
        MotionBound::Sensors => "all sensor bounds",
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
