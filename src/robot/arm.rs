//! An arm: a model with everything that reachability, certificate, control, identification and planning rest on.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::collision::CollisionPart;
pub use super::description::ArmDescription;
use super::drive::DriveBounds;
use super::error::RobotError;
use super::gains::Gains;
use super::model::{JointKind, Model, NamedFrame, Placement};
use super::pairs;
use super::sensors::Sensors;
use super::shape::{HeldShape, IgnoredPair, LinkShape};
use super::spring::Spring;
use super::timing::TimingBounds;
use super::uncertainty::Uncertainty;
use super::words::ToolFrames;

/// An arm on a fixed base, checked: its indices point somewhere, its bounds are bounds, its capsules provably cover its parts,
/// and the pairs of capsules that must stay apart follow from the rest ([`super::pairs`]). It reads as its [`Model`] where
/// only that is asked for.
///
/// In files it is its [`ArmDescription`]; whoever reads one checks and derives anew.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    stated: ArmDescription,
    self_pairs: Vec<(usize, usize)>,
}

impl Deref for Arm {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.stated.model
    }
}

impl Arm {
    /// Checks a description and derives the pairs that must stay apart.
    ///
    /// # Errors
    /// [`RobotError::Arm`] names the joint, capsule, part or field at fault.
    pub fn new(description: ArmDescription) -> Result<Self, RobotError> {
        if let Some(reason) = description.fault() {
            return Err(RobotError::Arm { name: description.model.name, reason });
        }
        let self_pairs = pairs::derive(&description);
        Ok(Self { stated: description, self_pairs })
    }

    /// What was stated of it.
    pub fn description(&self) -> &ArmDescription {
        &self.stated
    }

    /// This arm with a changed description, checked and derived anew.
    ///
    /// # Errors
    /// As [`Arm::new`].
    pub fn changed(&self, change: impl FnOnce(&mut ArmDescription)) -> Result<Self, RobotError> {
        let mut description = self.stated.clone();
        change(&mut description);
        Self::new(description)
    }

    /// This arm with other sensors.
    ///
    /// # Errors
    /// [`RobotError::Arm`] for a bound that is none.
    pub fn with_sensors(&self, sensors: Sensors) -> Result<Self, RobotError> {
        self.restated(|stated| stated.sensors = sensors)
    }

    /// This arm with other gains.
    ///
    /// # Errors
    /// [`RobotError::Arm`] for a gain that is none.
    pub fn with_gains(&self, gains: Gains) -> Result<Self, RobotError> {
        self.restated(|stated| stated.gains = gains)
    }

    /// This arm with other drives, one a joint; an empty list stands for ideal ones.
    ///
    /// # Errors
    /// [`RobotError::Arm`] for a bound that is none, or a list of another length.
    pub fn with_drives(&self, drives: Vec<DriveBounds>) -> Result<Self, RobotError> {
        self.restated(|stated| stated.drives = drives)
    }

    /// This arm with other bounds on when readings are taken and commands act.
    ///
    /// # Errors
    /// [`RobotError::Arm`] for a bound that is none.
    pub fn with_timing(&self, timing: TimingBounds) -> Result<Self, RobotError> {
        self.restated(|stated| stated.timing = timing)
    }

    /// This arm with another uncertainty.
    ///
    /// # Errors
    /// [`RobotError::Arm`] for a figure that is none.
    pub fn with_uncertainty(&self, uncertainty: Uncertainty) -> Result<Self, RobotError> {
        self.restated(|stated| stated.uncertainty = uncertainty)
    }

    /// A change that no pair depends on.
    fn restated(&self, change: impl FnOnce(&mut ArmDescription)) -> Result<Self, RobotError> {
        let mut arm = self.clone();
        change(&mut arm.stated);
        match arm.stated.bounds_fault() {
            Some(reason) => Err(RobotError::Arm { name: arm.stated.model.name, reason }),
            None => Ok(arm),
        }
    }

    /// The same arm with another direction of gravity, m/s^2 in the base frame; no pair depends on it.
    pub(super) fn under_gravity(&self, gravity: nalgebra::Vector3<f64>) -> Self {
        let mut arm = self.clone();
        arm.stated.model.gravity = gravity;
        arm
    }

    /// The tree alone.
    pub fn model(&self) -> &Model {
        &self.stated.model
    }

    /// The collision primitives of the URDF and the capsules of what is held, all inside the capsules.
    pub fn parts(&self) -> &[CollisionPart] {
        &self.stated.parts
    }

    /// Collision capsules.
    pub fn shapes(&self) -> &[LinkShape] {
        &self.stated.shapes
    }

    /// Pairs of [`Arm::shapes`] that must stay apart, ascending: see [`super::pairs`].
    pub fn self_pairs(&self) -> &[(usize, usize)] {
        &self.self_pairs
    }

    /// Pairs of [`Arm::shapes`] that a file says need not be kept apart.
    pub fn ignored_pairs(&self) -> &[IgnoredPair] {
        &self.stated.ignored_pairs
    }

    /// What is known of the shape of what the hand holds.
    pub fn held(&self) -> HeldShape {
        self.stated.held
    }

    /// Index of the joint whose body holds the payload.
    pub fn end_effector(&self) -> usize {
        self.stated.end_effector
    }

    /// The links that move with the hand, and their frames in that of its joint: what payloads are stated in.
    pub fn tool_frames(&self) -> ToolFrames {
        ToolFrames::of(self)
    }

    /// How far the truth may be from the model.
    pub fn uncertainty(&self) -> Uncertainty {
        self.stated.uncertainty
    }

    /// What the sensors may get wrong.
    pub fn sensors(&self) -> &Sensors {
        &self.stated.sensors
    }

    /// What the drive of joint `j` does beside what it is asked for.
    pub fn drive(&self, j: usize) -> DriveBounds {
        self.stated.drives.get(j).copied().unwrap_or(DriveBounds::IDEAL)
    }

    /// By how much the link of joint `j` may be elsewhere than the arm's common motion has it, rad (m): what its spring bends by at the joint's torque limit, and
    /// what the encoder is off by. 0 of a rigid joint. Rounded up. See [`super::Spring`].
    pub fn deflection(&self, j: usize) -> f64 {
        self.drive(j).spring.map_or(0.0, |spring| {
            let bent = (self.joints[j].limits.torque / spring.stiffness_nm_rad).next_up();
            (bent + spring.position_rad).next_up()
        })
    }

    /// What the encoders themselves err by: the sensors' bounds without what springs need of them at most.
    pub fn encoders(&self) -> Sensors {
        let (own, most) = (self.sensors(), self.most_of_springs());
        Sensors {
            position_rad: own.position_rad - most.map_or(0.0, |spring| spring.position_rad),
            velocity_rad_s: own.velocity_rad_s - most.map_or(0.0, |spring| spring.velocity_rad_s),
            ..own.clone()
        }
    }

    /// Speed of a transmission above which its friction is F_c, rad/s (m/s): that of the gains without what springs need of it at most.
    pub fn stiction_speed_of_transmissions(&self) -> f64 {
        self.gains().stiction_speed_rad_s - self.most_of_springs().map_or(0.0, |spring| spring.velocity_rad_s)
    }

    /// The first spring with the largest parts of all; none if joints are rigid.
    fn most_of_springs(&self) -> Option<Spring> {
        let springs = self.stated.drives.iter().filter_map(|drive| drive.spring);
        springs.reduce(|a, b| Spring {
            velocity_rad_s: a.velocity_rad_s.max(b.velocity_rad_s),
            position_rad: a.position_rad.max(b.position_rad),
            ..a
        })
    }

    /// Whether links hang on springs.
    pub fn has_springs(&self) -> bool {
        self.stated.drives.iter().any(|drive| drive.spring.is_some())
    }

    /// What the file states that only the momentum law is proven for ([`crate::reach::momentum`]); in words, none where the first law is
    /// proven ([`crate::reach::tube`]).
    pub fn beyond_first_law(&self) -> Option<String> {
        let late =
            self.timing().first_above_zero().map(|(what, x)| format!("`timing.{what}` is {x}, expected 0"));
        late.or_else(|| self.has_springs().then(|| "its links hang on springs (`drives.spring`)".to_owned()))
    }

    /// When readings are taken and commands act.
    pub fn timing(&self) -> TimingBounds {
        self.stated.timing
    }

    /// Gains of the robust controller.
    pub fn gains(&self) -> Gains {
        self.stated.gains
    }
}

impl ArmDescription {
    /// What is wrong with it: a base that floats, indices that point nowhere, capsules that are none, bounds that are none, or a
    /// part that sticks out of the capsules.
    fn fault(&self) -> Option<String> {
        if let Some(joint) = self.model.joints.iter().find(|j| j.kind == JointKind::FreeFlyer) {
            return Some(format!("it floats on joint `{}`, expected an arm on a fixed base", joint.name));
        }
        // Tubes and identified sets rest on joints that their transmission inertia moves alone.
        if let Some(joint) = self.model.joints.iter().find(|j| j.gear_ratio.is_some()) {
            return Some(format!(
                "joints.{}.gear_ratio: no proof has rotors that turn with the link before; expected none in a robot that plans, sets or runs are made of",
                joint.name
            ));
        }
        self.bounds_fault().or_else(|| pairs::structure_fault(self)).or_else(|| self.frames_fault())
    }

    fn frames_fault(&self) -> Option<String> {
        let sound = |frame: &&NamedFrame| {
            let Placement { rotation, translation } = &frame.placement;
            frame.joint == Some(self.end_effector)
                && rotation.iter().chain(translation).all(|x| x.is_finite())
        };
        let bad = self.tool_frames.iter().find(|frame| !sound(frame))?;
        Some(format!("tool frame `{}`: expected finite numbers, on the end effector's joint", bad.name))
    }

    fn bounds_fault(&self) -> Option<String> {
        let named = |(what, reason): (&str, String)| format!("{what}: {reason}");
        let uncertainty = self.uncertainty.fault().map(named);
        let sensors = || self.sensors.fault(self.model.joints.len()).map(named);
        let timing = || self.timing.fault(self.gains.period_s).map(|(what, x)| format!("timing.{what}: {x}"));
        let gains = || self.gains.fault();
        uncertainty.or_else(sensors).or_else(|| self.drives_fault()).or_else(gains).or_else(timing)
    }

    fn drives_fault(&self) -> Option<String> {
        let (found, n) = (self.drives.len(), self.model.joints.len());
        if found != 0 && found != n {
            return Some(format!("drives: {found}, expected one for each of the {n} joints, or none"));
        }
        let bounds = self.model.joints.iter().zip(&self.drives).find_map(|(joint, drive)| {
            let (what, reason) = drive.fault()?;
            Some(format!("drive of joint `{}`, {what}: {reason}", joint.name))
        });
        bounds.or_else(|| self.springs_fault())
    }

    /// Springs are between a transmission and a link. Simulators and the design rule know arms all of whose joints have one, and rigid ones.
    fn springs_fault(&self) -> Option<String> {
        let joints = || self.model.joints.iter().zip(&self.drives);
        if joints().all(|(_, drive)| drive.spring.is_none()) {
            return None;
        }
        let rigid = joints().find(|(_, drive)| drive.spring.is_none()).map(|(joint, _)| {
            format!(
                "drive of joint `{}`, spring: missing, expected one for each joint where any has one",
                joint.name
            )
        });
        let beyond = joints().find_map(|(joint, drive)| {
            let (what, reason) = drive.spring?.beyond(&self.sensors, &self.gains)?;
            Some(format!("drive of joint `{}`, {what}: {reason}", joint.name))
        });
        let light = joints().find(|(joint, _)| !(joint.friction.armature > 0.0)).map(|(joint, _)| {
            format!(
                "drive of joint `{}`, spring: the joint has no transmission inertia (`armature`) before it",
                joint.name
            )
        });
        let loops = self.timing.has_motor_loops().then(|| {
            "timing.motor_loop_age_max_s: expected 0 where links hang on springs (`drives.spring`): no law is proven for both"
                .to_owned()
        });
        rigid.or(beyond).or(light).or(loops)
    }
}

impl Serialize for Arm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.stated.serialize(serializer)
    }
}

#[cfg(any(feature = "verify", not(surelift_program)))]
impl<'de> Deserialize<'de> for Arm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let description = ArmDescription::deserialize(deserializer)?;
        Self::new(description).map_err(serde::de::Error::custom)
    }
}

/// Tests make arms that no file describes.
#[cfg(test)]
impl Arm {
    /// An arm as stated, with these pairs, unchecked.
    pub(crate) fn unchecked(stated: ArmDescription, self_pairs: Vec<(usize, usize)>) -> Self {
        Self { stated, self_pairs }
    }

    /// What is stated, to be changed unchecked; pairs stay as they are.
    pub(crate) fn stated(&mut self) -> &mut ArmDescription {
        &mut self.stated
    }

    /// The pairs, to be changed unchecked.
    pub(crate) fn pairs(&mut self) -> &mut Vec<(usize, usize)> {
        &mut self.self_pairs
    }

    /// Derives the pairs anew.
    pub(crate) fn derive_pairs(&mut self) {
        self.self_pairs = pairs::derive(&self.stated);
    }
}

#[cfg(test)]
impl std::ops::DerefMut for Arm {
    fn deref_mut(&mut self) -> &mut Model {
        &mut self.stated.model
    }
}
