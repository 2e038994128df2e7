//! Where the bodies and capsules are at a configuration, in plain numbers, and how capsules are attached.

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

use super::apart::always_touch;
use super::arm::{Arm, ArmDescription};
use super::collision::{Collision, CollisionPart};
use super::cover;
use super::error::RobotError;
use super::model::{JointKind, Model, Placement};
use super::shape::{Capsule, HeldShape, IgnoredPair, LinkShape};

impl Capsule {
    /// Why this is not a capsule: the first number that is not finite, or a radius that is not positive.
    pub fn fault(&self) -> Option<String> {
        if let Some(bad) = self.a.iter().chain(self.b.iter()).find(|x| !x.is_finite()) {
            return Some(format!("an end contains {bad}, expected finite numbers"));
        }
        let fine = self.radius.is_finite() && self.radius > 0.0;
        (!fine).then(|| format!("radius {}, expected a finite number > 0", self.radius))
    }

    /// The capsule carried along by a placement of its frame.
    pub fn placed(&self, frame: &Placement) -> Capsule {
        Capsule { a: frame.point(&self.a), b: frame.point(&self.b), radius: self.radius }
    }
}

/// What a joint at its coordinates `q` adds to its placement.
pub(crate) fn motion(kind: JointKind, q: &[f64]) -> Placement {
    match kind {
        JointKind::Revolute | JointKind::Continuous => {
            let (s, c) = q[0].sin_cos();
            let rotation = Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0);
            Placement { rotation, translation: Vector3::zeros() }
        }
        JointKind::Prismatic => {
            Placement { rotation: Matrix3::identity(), translation: Vector3::new(0.0, 0.0, q[0]) }
        }
        JointKind::FreeFlyer => {
            let rotation = UnitQuaternion::new_normalize(Quaternion::new(q[6], q[3], q[4], q[5]));
            let rotation = rotation.to_rotation_matrix().into_inner();
            Placement { rotation, translation: Vector3::new(q[0], q[1], q[2]) }
        }
    }
}

impl Model {
    /// Frames of all joints in the base frame at configuration `q` (length nq; rad or m).
    pub fn frames(&self, q: &[f64]) -> Vec<Placement> {
        let mut frames = Vec::with_capacity(self.bodies());
        self.frames_into(q, &mut frames);
        frames
    }

    /// [`Model::frames`] into `frames`, in place of what it holds.
    pub fn frames_into(&self, q: &[f64], frames: &mut Vec<Placement>) {
        frames.clear();
        for (i, joint) in self.joints.iter().enumerate() {
            let local = joint.placement.compose(&motion(joint.kind, &q[self.q_index(i)..]));
            frames.push(joint.parent.map_or(local, |p| frames[p].compose(&local)));
        }
    }

    /// Frame of the last of `chain` (joints, each the parent of the next) in the frame of the first one's parent,
    /// at configuration `q` (length nq; rad or m).
    pub(super) fn relative_frame(&self, chain: &[usize], q: &[f64]) -> Placement {
        chain.iter().fold(Placement::identity(), |frame, &j| {
            let joint = &self.joints[j];
            frame.compose(&joint.placement).compose(&motion(joint.kind, &q[self.q_index(j)..]))
        })
    }

    /// Whether two bodies (`None` is the base) are the same or joined by one joint.
    pub fn adjacent(&self, a: Option<usize>, b: Option<usize>) -> bool {
        let hangs_on = |x: Option<usize>, y: Option<usize>| x.is_some_and(|j| self.joints[j].parent == y);
        a == b || hangs_on(a, b) || hangs_on(b, a)
    }
}

impl Arm {
    /// Capsule `shape` in the base frame, given [`Model::frames`].
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
            arm.parts.push(CollisionPart { link: "payload".into(), joint: hand, collision });
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
