//! Which capsules must stay apart, and what is taken on trust about those that need not.
//!
//! # The rule
//! Two capsules on different bodies must stay apart, unless
//! - a file says that the pair is to be ignored ([`Robot::ignored_pairs`]: trusted, and listed by [`Robot::trusted`]);
//! - they provably cannot touch within the joint limits (`robot::apart`);
//! - their bodies are joined by a joint and neither of them is the end effector: such bodies share a housing about the joint;
//! - one of them is on the end effector, the other on the body before it, and they provably overlap at every position of the joint
//!   between them. What is *held* must not do so: [`Robot::with_payload_shape`] refuses it.
//!
//! The pairs follow from the rest of the robot. They are derived when a robot is loaded and again whenever one is read from a file, so
//! a file cannot leave one out. When a robot is read, its capsules are also proven to cover its parts again, as at loading.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::apart::{always_touch, never_touch};
use super::cover;
use super::model::{HeldShape, Robot};

impl Serialize for Robot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Robot::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Robot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut robot = Robot::deserialize(deserializer)?;
        if let Some(fault) = robot.structure_fault() {
            return Err(serde::de::Error::custom(format!("robot '{}': {fault}", robot.name)));
        }
        robot.derive_pairs();
        Ok(robot)
    }
}

impl Robot {
    /// Works out [`Robot::self_pairs`] from the rest of the robot; none for a robot that is no arm.
    ///
    /// Indices of the robot must point somewhere, as those of a robot from [`super::load()`] do.
    pub fn derive_pairs(&mut self) {
        self.self_pairs.clear();
        // Only arms are kept from colliding with themselves.
        if self.arm_fault().is_none() {
            let count = self.shapes.len();
            let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
            let pairs: Vec<_> = all.filter(|&(a, b)| self.must_stay_apart(a, b)).collect();
            self.self_pairs = pairs;
        }
    }

    /// The rule of the module header.
    fn must_stay_apart(&self, a: usize, b: usize) -> bool {
        let [on_a, on_b] = [a, b].map(|shape| self.shapes[shape].joint);
        let joined = self.adjacent(on_a, on_b);
        let hand = Some(self.end_effector);
        on_a != on_b
            && (!joined || on_a == hand || on_b == hand)
            && !self.ignores(a, b)
            && !never_touch(self, a, b)
            && !(joined && always_touch(self, a, b))
    }

    /// Whether a file says that capsules `a` and `b` need not be kept apart.
    pub fn ignores(&self, a: usize, b: usize) -> bool {
        self.ignored_pairs.iter().any(|pair| (pair.a, pair.b) == (a, b) || (pair.a, pair.b) == (b, a))
    }

    /// What a certificate for this robot takes on trust about contacts, one sentence each: pairs of capsules that a file ignores, pairs
    /// about the last joint that always overlap, and a held object whose shape is not declared.
    pub fn trusted(&self) -> Vec<String> {
        let name = |shape: usize| self.shapes[shape].name.as_str();
        let ignored = self.ignored_pairs.iter().map(|pair| {
            let (a, b) = (name(pair.a), name(pair.b));
            format!("capsules '{a}' and '{b}' are not kept apart, as a file says: {}", pair.reason)
        });
        let overlapping = self.overlapping_at_the_hand().into_iter().map(|(a, b)| {
            let joint = &self.joints[self.end_effector].name;
            let (a, b) = (name(a), name(b));
            format!("capsules '{a}' and '{b}' overlap at every position of '{joint}' between them and are not kept apart")
        });
        let undeclared = (self.held == HeldShape::Undeclared).then(|| {
            "the shape of what is held is not declared: nothing is proven about what it touches".to_owned()
        });
        ignored.chain(overlapping).chain(undeclared).collect()
    }

    /// Pairs of capsules, one on the end effector and one on the body before it, that overlap at every position of the joint.
    fn overlapping_at_the_hand(&self) -> Vec<(usize, usize)> {
        let hand = self.end_effector;
        if self.arm_fault().is_some() {
            return Vec::new();
        }
        let on = |body: Option<usize>| (0..self.shapes.len()).filter(move |&s| self.shapes[s].joint == body);
        let before = self.joints[hand].parent;
        let pairs = on(before).flat_map(|a| on(Some(hand)).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| !self.ignores(a, b) && always_touch(self, a, b)).collect()
    }

    /// What a robot from a file may get wrong and no algorithm would survive: indices that point nowhere, capsules that are none, and,
    /// for an arm, a part that sticks out of the capsules.
    pub fn structure_fault(&self) -> Option<String> {
        let n = self.joints.len();
        for (j, joint) in self.joints.iter().enumerate() {
            if joint.parent.is_some_and(|p| p >= j) {
                return Some(format!("joint '{}': expected its parent before it", joint.name));
            }
        }
        for shape in &self.shapes {
            if shape.joint.is_some_and(|j| j >= n) {
                return Some(format!("capsule '{}': no such joint", shape.name));
            }
            if let Some(fault) = shape.capsule.fault() {
                return Some(format!("capsule '{}': {fault}", shape.name));
            }
        }
        let shapes = self.shapes.len();
        if let Some(pair) = self.ignored_pairs.iter().find(|pair| pair.a >= shapes || pair.b >= shapes) {
            return Some(format!("ignored_pairs: no capsules {} and {}", pair.a, pair.b));
        }
        if self.end_effector >= n {
            return Some("end_effector: no such joint".to_owned());
        }
        self.uncovered().map(|part| {
            let part = &self.parts[part];
            format!(
                "'{}' of link '{}' is not provably inside one of its capsules",
                part.collision.name, part.link
            )
        })
    }

    /// The first part that is not provably inside one capsule of its body, where the robot is an arm.
    fn uncovered(&self) -> Option<usize> {
        let covered = |k: &usize| {
            let part = &self.parts[*k];
            let mut on_body = self.shapes.iter().filter(|shape| shape.joint == part.joint);
            on_body.any(|shape| cover::covers(&shape.capsule, &part.collision))
        };
        if self.arm_fault().is_some() { None } else { (0..self.parts.len()).find(|k| !covered(k)) }
    }
}

#[cfg(test)]
mod tests;
