//! Which capsules must stay apart, and what is taken on trust about those that need not.
//!
//! # The rule
//! Two capsules on different bodies must stay apart, unless
//! - a file says that the pair is to be ignored ([`Arm::ignored_pairs`]: trusted, and listed by [`Arm::trusted`]);
//! - they provably cannot touch within the joint limits (`robot::apart`);
//! - their bodies are joined by a joint and neither of them is the end effector: such bodies share a housing about the joint;
//! - one of them is on the end effector, the other on the body before it, and they provably overlap at every position of the joint
//!   between them. What is *held* must not do so: [`Arm::with_payload_shape`] refuses it.
//!
//! The pairs follow from the rest of the robot. [`Arm::new`] derives them, for a robot that is loaded and for one that is read from a plan, so
//! a file cannot leave one out. It proves that the capsules cover the parts, too.

use super::apart::{always_touch, never_touch};
use super::arm::{Arm, ArmDescription};
use super::collision::CollisionPart;
use super::cover;
use super::shape::HeldShape;

/// Works out [`Arm::self_pairs`] from the rest of the arm, whose indices point somewhere ([`structure_fault`]).
pub(super) fn derive(arm: &ArmDescription) -> Vec<(usize, usize)> {
    let count = arm.shapes.len();
    let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    all.filter(|&(a, b)| arm.must_stay_apart(a, b)).collect()
}

impl ArmDescription {
    /// The rule of the module header.
    fn must_stay_apart(&self, a: usize, b: usize) -> bool {
        let [on_a, on_b] = [a, b].map(|shape| self.shapes[shape].joint);
        let joined = self.model.adjacent(on_a, on_b);
        let hand = Some(self.end_effector);
        on_a != on_b
            && (!joined || on_a == hand || on_b == hand)
            && !self.ignores(a, b)
            && !never_touch(self, a, b)
            && !(joined && always_touch(self, a, b))
    }

    /// Whether a file says that capsules `a` and `b` need not be kept apart.
    pub(super) fn ignores(&self, a: usize, b: usize) -> bool {
        self.ignored_pairs.iter().any(|pair| (pair.a, pair.b) == (a, b) || (pair.a, pair.b) == (b, a))
    }
}

impl Arm {
    /// What a certificate for this robot takes on trust about contacts, one sentence each: links without a shape, pairs of capsules that a file ignores, pairs
    /// about the last joint that always overlap, and a held object whose shape is not declared.
    pub fn trusted(&self) -> Vec<String> {
        let name = |shape: usize| self.shapes()[shape].name.as_str();
        let ignored = self.ignored_pairs().iter().map(|pair| {
            let (a, b) = (name(pair.a), name(pair.b));
            format!("capsules '{a}' and '{b}' are not kept apart, as a file says: {}", pair.reason)
        });
        let overlapping = self.overlapping_at_the_hand().into_iter().map(|(a, b)| {
            let joint = &self.joints[self.end_effector()].name;
            let (a, b) = (name(a), name(b));
            format!("capsules '{a}' and '{b}' overlap at every position of '{joint}' between them and are not kept apart")
        });
        let undeclared = (self.held() == HeldShape::Undeclared).then(|| {
            "the shape of what is held is not declared: nothing is proven about what it touches".to_owned()
        });
        let bare =
            (0..self.bodies()).filter(|&body| self.shapes().iter().all(|shape| shape.joint != Some(body)));
        let bare = bare.map(|body| {
            let link = &self.joints[body].link;
            format!("link '{link}' has no collision shape: nothing is proven about what it touches")
        });
        let guesses = self.guesses.iter().map(|guess| format!("guess: {guess}"));
        guesses.chain(bare).chain(ignored).chain(overlapping).chain(undeclared).collect()
    }

    /// Whether one of two parts stands for a mesh, and a file ignores two capsules that hold them.
    pub(crate) fn ignores_meshes(&self, a: &CollisionPart, b: &CollisionPart) -> bool {
        let holds = |shape: usize, part: &CollisionPart| {
            let shape = &self.shapes()[shape];
            shape.joint == part.joint && cover::covers(&shape.capsule, &part.collision)
        };
        (a.holds_mesh || b.holds_mesh)
            && self
                .ignored_pairs()
                .iter()
                .any(|pair| holds(pair.a, a) && holds(pair.b, b) || holds(pair.a, b) && holds(pair.b, a))
    }

    /// Pairs of capsules, one on the end effector and one on the body before it, that overlap at every position of the joint.
    fn overlapping_at_the_hand(&self) -> Vec<(usize, usize)> {
        let hand = self.end_effector();
        let on =
            |body: Option<usize>| (0..self.shapes().len()).filter(move |&s| self.shapes()[s].joint == body);
        let before = self.joints[hand].parent;
        let pairs = on(before).flat_map(|a| on(Some(hand)).map(move |b| (a, b)));
        pairs
            .filter(|&(a, b)| !self.description().ignores(a, b) && always_touch(self.description(), a, b))
            .collect()
    }
}

/// What a file may get wrong and no algorithm would survive: indices that point nowhere, capsules that are none, and a part that sticks
/// out of the capsules.
pub(super) fn structure_fault(arm: &ArmDescription) -> Option<String> {
    let n = arm.model.joints.len();
    for (j, joint) in arm.model.joints.iter().enumerate() {
        if joint.parent.is_some_and(|p| p >= j) {
            return Some(format!("joint '{}': expected its parent before it", joint.name));
        }
    }
    for shape in &arm.shapes {
        if shape.joint.is_some_and(|j| j >= n) {
            return Some(format!("capsule '{}': no such joint", shape.name));
        }
        if let Some(fault) = shape.capsule.fault() {
            return Some(format!("capsule '{}': {fault}", shape.name));
        }
    }
    let shapes = arm.shapes.len();
    if let Some(pair) = arm.ignored_pairs.iter().find(|pair| pair.a >= shapes || pair.b >= shapes) {
        return Some(format!("ignored_pairs: no capsules {} and {}", pair.a, pair.b));
    }
    if arm.end_effector >= n {
        return Some("end_effector: no such joint".to_owned());
    }
    uncovered(arm).map(|part| {
        let part = &arm.parts[part];
        format!(
            "'{}' of link '{}' is not provably inside one of its capsules",
            part.collision.name, part.link
        )
    })
}

/// The first part that is not provably inside one capsule of its body.
fn uncovered(arm: &ArmDescription) -> Option<usize> {
    let covered = |k: &usize| {
        let part = &arm.parts[*k];
        let mut on_body = arm.shapes.iter().filter(|shape| shape.joint == part.joint);
        on_body.any(|shape| cover::covers(&shape.capsule, &part.collision))
    };
    (0..arm.parts.len()).find(|k| !covered(k))
}

#[cfg(test)]
mod tests;
