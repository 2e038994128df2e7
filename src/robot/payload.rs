//! Where the capsules of an arm are, and how those of a held object are attached.

use super::apart::always_touch;
use super::arm::{Arm, ArmDescription};
use super::collision::{Collision, CollisionPart};
use super::cover;
use super::error::RobotError;
use super::model::Placement;
use super::shape::{Capsule, HeldShape, IgnoredPair, LinkShape};

impl Arm {
    /// Capsule `shape` in the base frame, given [`super::Model::frames`].
    pub fn placed_capsule(&self, shape: usize, frames: &[Placement]) -> Capsule {
        let LinkShape { joint, capsule, .. } = &self.shapes()[shape];
        joint.map_or(*capsule, |j| capsule.placed(&frames[j]))
    }

    /// The robot with a held object: capsules `payload` (or `payload_1`, ...) in the end-effector joint's frame, to be kept apart from
    /// every capsule that is not on the same body, the body before it included (unless they provably cannot touch within the joint
    /// limits). `ignored` names capsules of the robot that the object need not be kept apart from, each with the reason: that is
    /// trusted. No capsules at all: the object's shape is not declared, and [`Arm::trusted`] says so.
    ///
    /// # Errors
    /// [`RobotError::Payload`] for a capsule that is none (see [`Capsule::fault`]), or that overlaps one of the body before the
    /// hand at every position of the joint between them; [`RobotError::PayloadIgnore`] for a capsule that does not exist.
    pub fn with_payload_shape(
        &self,
        capsules: &[Capsule],
        ignored: &[(String, String)],
    ) -> Result<Arm, RobotError> {
        if let Some((index, reason)) =
            capsules.iter().enumerate().find_map(|(i, c)| c.fault().map(|reason| (i, reason)))
        {
            return Err(RobotError::Payload { index, reason });
        }
        let mut arm = self.description().clone();
        arm.held = if capsules.is_empty() { HeldShape::Undeclared } else { HeldShape::Declared };
        let own = arm.shapes.len();
        let hand = Some(arm.end_effector);
        for (i, capsule) in capsules.iter().enumerate() {
            let name = if capsules.len() == 1 { "payload".into() } else { format!("payload_{}", i + 1) };
            let collision = Collision::of_capsule(name.clone(), capsule);
            arm.parts.push(CollisionPart {
                link: "payload".into(),
                joint: hand,
                collision,
                holds_mesh: false,
            });
            let capsule = Capsule { radius: capsule.radius + cover::ROOM, ..*capsule };
            arm.shapes.push(LinkShape { name, joint: hand, capsule });
        }
        for (name, reason) in ignored {
            let other = arm.shapes[..own].iter().position(|shape| shape.name == *name);
            let Some(a) = other else { return Err(RobotError::PayloadIgnore { name: name.clone() }) };
            let pairs = (own..arm.shapes.len()).map(|b| IgnoredPair { a, b, reason: reason.clone() });
            arm.ignored_pairs.extend(pairs);
        }
        for (index, held) in (own..arm.shapes.len()).enumerate() {
            let stuck = (0..own).find(|&s| {
                let joined = arm.shapes[s].joint != hand && arm.model.adjacent(arm.shapes[s].joint, hand);
                joined && !arm.ignores(s, held) && always_touch(&arm, s, held)
            });
            if let Some(s) = stuck {
                return Err(RobotError::Payload { index, reason: stuck_at(&arm, s) });
            }
        }
        Arm::new(arm)
    }
}

/// Why what is held cannot be kept apart from capsule `shape`.
fn stuck_at(arm: &ArmDescription, shape: usize) -> String {
    let (name, joint) = (&arm.shapes[shape].name, &arm.model.joints[arm.end_effector].name);
    format!(
        "it overlaps `{name}` at every position of `{joint}` between them, so the two cannot be kept apart; expected a closer shape \
             (several capsules), closer capsules of that link, or `{name}` under `payload.ignore` with the reason why they cannot touch"
    )
}
