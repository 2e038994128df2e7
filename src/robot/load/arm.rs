//! What makes an arm of what files state.

use std::collections::BTreeMap;
use std::path::Path;

use crate::robot::arm::Arm;
use crate::robot::error::RobotError;
use crate::robot::model::{JointKind, Model};
use crate::robot::settings::JointSettings;
use crate::robot::validate::Judge;

use super::{Assembled, find, load_file};

/// Loads an arm from a robot TOML, or from a bare URDF ([files](super)).
///
/// A URDF without a TOML gets a fixed base, Earth gravity with z up, friction from its `<dynamics>` tags, 5 %
/// uncertainty, the sensor bounds and gains of the shipped robots, its only leaf joint as end effector, and one capsule
/// around each collision primitive that is not inside another one's, and up to four around each collision mesh (STL or OBJ), which
/// provably hold it (`robot::mesh`).
///
/// `grip_along_axis_m` puts the frame of the end effector so far along its joint's axis, to where the hand holds things: priors,
/// identified parameters and payloads are about that frame. Capsules and `[[frame]]`s stay in the frames of the URDF's links.
///
/// # Errors
/// [`RobotError`] names the file and the link, joint or field at fault.
pub fn load(path: impl AsRef<Path>) -> Result<Arm, RobotError> {
    let path = find(path.as_ref(), Path::new("."))?;
    load_file(&path, None, &mut Judge::strict().of_shapes())?.arm(&path)
}

/// [`load`] of a file that [`find`] has found, with limits and friction that the file `by` gives for joints, by name.
/// What follows from limits (which capsules can touch) follows from the adjusted ones.
///
/// # Errors
/// As [`load`]; of the adjustments by the name of `by`.
pub(crate) fn load_adjusted(
    path: &Path,
    by: &Path,
    joints: &BTreeMap<String, JointSettings>,
) -> Result<Arm, RobotError> {
    load_file(path, Some((by, joints)), &mut Judge::strict().of_shapes())?.arm(path)
}

impl Assembled {
    /// Why this is no arm: its base floats, or the file leaves out what an arm's work rests on.
    pub fn no_arm(&self) -> Option<String> {
        let Model { name, joints, .. } = &self.stated.model;
        if let Some(joint) = joints.iter().find(|j| j.kind == JointKind::FreeFlyer) {
            let joint = &joint.name;
            return Some(format!(
                "robot `{name}` floats on joint `{joint}`, expected an arm on a fixed base"
            ));
        }
        let missing = self.missing.join("`, `");
        (!self.missing.is_empty())
            .then(|| format!("the file of robot `{name}` does not say `{missing}`, which an arm needs"))
    }

    /// The arm that the file at `path` describes.
    pub fn arm(self, path: &Path) -> Result<Arm, RobotError> {
        match self.no_arm() {
            Some(reason) => Err(RobotError::NoArm { path: path.to_path_buf(), reason }),
            None => Arm::new(self.stated).map_err(|error| match error {
                RobotError::Arm { reason, .. } => RobotError::NoArm { path: path.to_path_buf(), reason },
                other => other,
            }),
        }
    }
}
