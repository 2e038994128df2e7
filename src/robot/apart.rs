//! Proof that two capsules cannot touch, or that they always overlap, while the joints between them are within their limits.
//!
//! Pairs that cannot touch need not be looked at by planner and certificate, which prove the position limits of
//! the true state anyway (a continuous joint has none to prove: a full turn is searched). Pairs that always overlap, as housings do
//! about the joint between them, cannot be kept apart.
//!
//! # The claim and its proof
//! Let capsule b be on a body moved by joints j = 1..k away from the body of capsule a, and d(q) the distance of their
//! segments minus both radii, in the frame of a's body. Moving joint j alone by D moves any point of b's segment by at
//! most R_j |D|: for a rotation the chord is shorter than the arc, and R_j bounds the point's distance from the joint's
//! origin (hence from its axis) by the lengths along the chain; for a translation R_j = 1. The distance of two
//! sets changes by no more than their points move, so on a box of joint positions with centre c and half-widths H
//!     d(q) >= d(c) - sum_j R_j H_j.
//! [`never_touch`] bisects the box of limits until this is positive on every part. At a centre, d is bounded from
//! below, whatever direction n was guessed, by the gap between the projections of both segments on n.
//! Likewise d(q) <= d(c) + sum_j R_j H_j, and [`always_touch`] bisects until that is negative on every part; at a centre, d is at
//! most the distance of any two points of the segments, less the radii.
//! Rounding: lengths are metres and below 1e3, errors below 1e-10; [`SLACK`] = 1e-9 covers them.

use std::f64::consts::PI;

use nalgebra::Vector3;
use parry3d_f64::math::Pose;
use parry3d_f64::query::ClosestPoints;
use parry3d_f64::query::details::closest_points_segment_segment;

use super::arm::ArmDescription;
use super::clearance::segment;
use super::model::{Model, Placement};
use super::pose::motion;
use super::shape::Capsule;

/// Required distance, metres; dwarfs rounding.
const SLACK: f64 = 1e-9;
/// Lengths for which the rounding argument is made, metres: beyond any robot.
const REACH: f64 = 1e3;
/// More joints than this between two bodies are not tried: the number of boxes grows with its power.
const JOINTS: usize = 3;
/// Boxes looked at before giving up, which leaves the pair to be checked in every motion. The loading of a robot waits for
/// it.
const BUDGET: usize = 100_000;

/// A box of positions of the joints between the two bodies.
struct Span {
    center: [f64; JOINTS],
    half: [f64; JOINTS],
}

/// Lower bound on the distance of two capsules (module header).
fn distance_bound(a: &Capsule, b: &Capsule) -> f64 {
    let (p, q) = (segment(a), segment(b));
    let ClosestPoints::WithinMargin(x, y) = closest_points_segment_segment(&Pose::IDENTITY, &p, &q, f64::MAX)
    else {
        return f64::NEG_INFINITY;
    };
    let guess = y - x;
    let Some(n) = Vector3::from(guess).try_normalize(1e-12) else {
        return f64::NEG_INFINITY;
    };
    n.dot(&b.a).min(n.dot(&b.b)) - n.dot(&a.a).max(n.dot(&a.b)) - a.radius - b.radius
}

/// Upper bound on the distance of two capsules (module header), with its sign changed: positive proves an overlap.
fn overlap_bound(a: &Capsule, b: &Capsule) -> f64 {
    match closest_points_segment_segment(&Pose::IDENTITY, &segment(a), &segment(b), f64::MAX) {
        ClosestPoints::WithinMargin(x, y) => a.radius + b.radius - (y - x).length(),
        _ => f64::NEG_INFINITY,
    }
}

/// Joints from body `from` (exclusive; `None` is the base) to body `to`, or `None` if they do not lead there or are
/// more than [`JOINTS`].
fn chain(robot: &Model, from: Option<usize>, to: Option<usize>) -> Option<Vec<usize>> {
    let mut joints = Vec::new();
    let mut at = to;
    while at != from {
        let joint = at?;
        joints.push(joint);
        if joints.len() > JOINTS {
            return None;
        }
        at = robot.joints[joint].parent;
    }
    joints.reverse();
    Some(joints)
}

/// Whether shapes `s` and `t` provably cannot touch within the joint limits. Proof: module header.
///
/// `false` says nothing: they may touch, the bodies may be too many joints apart, or the budget was not enough.
pub(super) fn never_touch(arm: &ArmDescription, s: usize, t: usize) -> bool {
    everywhere(arm, s, t, distance_bound)
}

/// Whether shapes `s` and `t` provably overlap wherever the joints between them are within their limits. Proof: module header.
///
/// `false` says nothing, as of [`never_touch`].
pub(super) fn always_touch(arm: &ArmDescription, s: usize, t: usize) -> bool {
    everywhere(arm, s, t, overlap_bound)
}

/// How far two capsules are from failing a claim about their distance; a lower bound, m.
type Room = fn(&Capsule, &Capsule) -> f64;

/// Whether a claim about the distance of shapes `s` and `t` is proven for all positions within the joint limits.
fn everywhere(arm: &ArmDescription, s: usize, t: usize, room: Room) -> bool {
    let (robot, a, b) = (&arm.model, &arm.shapes[s], &arm.shapes[t]);
    if let Some(joints) = chain(robot, a.joint, b.joint) {
        search(robot, &joints, [&a.capsule, &b.capsule], room)
    } else if let Some(joints) = chain(robot, b.joint, a.joint) {
        search(robot, &joints, [&b.capsule, &a.capsule], room)
    } else {
        false
    }
}

/// Bisects the box of limits of `joints`; `fixed` is on the body they start from, `moved` on the last one.
fn search(robot: &Model, joints: &[usize], [fixed, moved]: [&Capsule; 2], room: Room) -> bool {
    let mut whole = Span { center: [0.0; JOINTS], half: [0.0; JOINTS] };
    let mut lever = [0.0; JOINTS];
    let mut beyond = moved.a.norm().max(moved.b.norm());
    for (k, &j) in joints.iter().enumerate().rev() {
        let joint = &robot.joints[j];
        // A full turn, and a little more so that a rounded pi does not leave a slit.
        let (lower, upper) = joint.limits.position.unwrap_or((-PI - 1e-9, PI + 1e-9));
        whole.center[k] = 0.5 * (lower + upper);
        whole.half[k] = (0.5 * (upper - lower)).next_up() + 1e-12;
        if joint.kind.is_rotation() {
            lever[k] = beyond;
        } else {
            lever[k] = 1.0;
            beyond += lower.abs().max(upper.abs());
        }
        beyond += joint.placement.translation.norm();
    }
    let small = fixed.a.iter().chain(fixed.b.iter()).all(|x| x.abs() <= REACH);
    if !(small && beyond <= REACH) {
        return false;
    }
    let mut q = vec![0.0; robot.dof()];
    let mut open = vec![whole];
    for _ in 0..BUDGET {
        let Some(span) = open.pop() else { return true };
        for (k, &j) in joints.iter().enumerate() {
            q[j] = span.center[k];
        }
        let room = room(fixed, &moved.placed(&relative_frame(robot, joints, &q))) - SLACK;
        if !(room > 0.0) {
            return false;
        }
        let moves: [f64; JOINTS] = std::array::from_fn(|k| lever[k] * span.half[k]);
        if room > moves.iter().sum::<f64>() {
            continue;
        }
        let widest = (0..JOINTS).fold(0, |w, k| if moves[k] > moves[w] { k } else { w });
        for side in [-0.5, 0.5] {
            let mut part = Span { ..span };
            // Halves overlap by a hair, so that rounding leaves no slit between them.
            part.center[widest] += side * span.half[widest];
            part.half[widest] = 0.5 * span.half[widest] + 1e-12;
            open.push(part);
        }
    }
    false
}

/// Frame of the last of `chain` (joints, each the parent of the next) in the frame of the first one's parent,
/// at configuration `q` (length nq; rad or m).
fn relative_frame(robot: &Model, chain: &[usize], q: &[f64]) -> Placement {
    chain.iter().fold(Placement::identity(), |frame, &j| {
        let joint = &robot.joints[j];
        frame.compose(&joint.placement).compose(&motion(joint.kind, &q[robot.q_index(j)..]))
    })
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::robot::{clearance, load};

    /// Pairs of the shipped arm, with its capsules disturbed.
    #[test]
    fn pairs_that_are_said_never_to_touch_do_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut proven = 0;
        let shipped = load("kinova_gen3_2f85").unwrap();
        for _ in 0..15 {
            let mut robot = shipped.clone();
            for shape in &mut robot.stated().shapes {
                shape.capsule.radius *= rng.random_range(0.5..1.3);
                shape.capsule.a += Vector3::from_fn(|_, _| rng.random_range(-0.03..0.03));
            }
            let count = robot.shapes().len();
            for (s, t) in (0..count).flat_map(|s| [(s, s + 2), (s, s + 4)]).filter(|p| p.1 < count) {
                if !never_touch(robot.description(), s, t) {
                    continue;
                }
                proven += 1;
                for _ in 0..2000 {
                    let q: Vec<f64> = robot
                        .joints
                        .iter()
                        .map(|j| j.limits.position.unwrap_or((-4.0, 4.0)))
                        .map(|(lower, upper)| rng.random_range(lower..=upper))
                        .collect();
                    let frames = robot.frames(&q);
                    let [a, b] = [s, t].map(|k| robot.placed_capsule(k, &frames));
                    assert!(clearance::between_capsules(&a, &b) > 0.0);
                }
            }
        }
        assert!(proven > 50, "only {proven} proven: the test attacks nothing");
    }

    #[test]
    fn pairs_that_can_touch_are_not_dropped() {
        let mut robot = load("kinova_gen3_2f85").unwrap();
        robot.stated().shapes[0].capsule.radius = 0.2;
        let index = |name: &str| robot.shapes().iter().position(|shape| shape.name == name).unwrap();
        assert!(!never_touch(robot.description(), 0, index("upper_arm_1")));
        // Five joints apart: not tried. Neighbours of neighbours in both orders.
        assert!(!never_touch(robot.description(), 0, index("wrist_1")));
        let (a, b) = (index("shoulder"), index("upper_arm_2"));
        assert!(never_touch(robot.description(), a, b) && never_touch(robot.description(), b, a));
    }
}
