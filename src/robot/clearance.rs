//! Distances between capsules, and between capsules and obstacles, at one configuration.
//!
//! Plain floating point (GJK): the ground truth of the simulator and of the checks on a scenario. A certificate
//! never rests on it.

use nalgebra::Vector3;
use parry3d_f64::math::{Pose, Vector};
use parry3d_f64::query::details::{distance_segment_segment, distance_support_map_support_map};
use parry3d_f64::shape::{Segment, SupportMap};

use super::arm::Arm;
use super::model::Placement;
use super::scene::{Scene, Zonotope3};
use super::shape::{Capsule, LinkShape};

/// What a capsule is closest to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstruction {
    /// Index of an obstacle of the scene.
    Obstacle(usize),
    /// Index of another capsule of the robot.
    Shape(usize),
}

/// The least distance found, and between what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clearance {
    /// Metres; negative when they overlap.
    pub distance: f64,
    /// Index of the capsule in [`Arm::shapes`].
    pub shape: usize,
    /// What it is closest to.
    pub to: Obstruction,
}

pub(super) fn segment(c: &Capsule) -> Segment {
    Segment::new(c.a.into(), c.b.into())
}

/// The generators of a zonotope, about its centre.
struct Centred<'a>(&'a Zonotope3);

impl SupportMap for Centred<'_> {
    fn local_support_point(&self, direction: Vector) -> Vector {
        let zonotope = self.0;
        (zonotope.support(&direction.into()) - zonotope.center).into()
    }
}

/// Distance between two capsules, metres; negative when they overlap.
pub fn between_capsules(a: &Capsule, b: &Capsule) -> f64 {
    distance_segment_segment(&Pose::IDENTITY, &segment(a), &segment(b)) - a.radius - b.radius
}

/// Distance from a capsule to a zonotope, metres; negative when they overlap, but not below `-radius`.
pub fn to_zonotope(capsule: &Capsule, zonotope: &Zonotope3) -> f64 {
    let origin = zonotope.center;
    let about = Segment::new((capsule.a - origin).into(), (capsule.b - origin).into());
    distance_support_map_support_map(&Pose::IDENTITY, &about, &Centred(zonotope)) - capsule.radius
}

/// The nearer of two, the first if either has no number.
fn nearer(best: Option<Clearance>, other: Clearance) -> Option<Clearance> {
    let keep = |best: &Clearance| best.distance.total_cmp(&other.distance).is_le();
    Some(best.filter(keep).unwrap_or(other))
}

/// Radius of a ball about the centre that contains the zonotope: |sum_i s_i g_i|^2 <= sum_ij |g_i g_j| for signs s,
/// with equality for boxes.
fn reach(zonotope: &Zonotope3) -> f64 {
    let generators = &zonotope.generators;
    generators.iter().flat_map(|g| generators.iter().map(move |h| g.dot(h).abs())).sum::<f64>().sqrt()
}

/// Distance from a point to the capsule, metres; negative inside.
fn to_point(capsule: &Capsule, point: &Vector3<f64>) -> f64 {
    let (along, from) = (capsule.b - capsule.a, point - capsule.a);
    let length = along.norm_squared();
    let share = if length > 0.0 { (from.dot(&along) / length).clamp(0.0, 1.0) } else { 0.0 };
    (from - along * share).norm() - capsule.radius
}

/// A lower bound of [`to_zonotope`] that needs no iteration.
///
/// The capsule lies in a ball about its middle m. Along a generator g of length l the zonotope reaches no further than
/// r = sum_i |g_i.g| / l from its centre c, so a point x of it has |(m - c).g| / l - |(m - x).g| / l <= r. Orthogonal
/// generators bound orthogonal parts of m - x, whose squares add; of others only the largest part counts.
pub(crate) fn at_least(capsule: &Capsule, zonotope: &Zonotope3) -> f64 {
    let generators = &zonotope.generators;
    let from = 0.5 * (capsule.a + capsule.b) - zonotope.center;
    let (mut sum, mut most, mut orthogonal) = (0.0, 0.0f64, true);
    for (i, g) in generators.iter().enumerate() {
        let length = g.norm();
        if length <= 0.0 {
            continue;
        }
        let others: f64 = (generators.iter().enumerate())
            .filter(|(k, _)| *k != i)
            .map(|(_, h)| h.dot(g).abs() / length)
            .sum();
        orthogonal &= others <= 1e-9 * length;
        let beyond = (from.dot(g).abs() / length - length - others).max(0.0);
        sum += beyond * beyond;
        most = most.max(beyond);
    }
    let apart = if orthogonal { sum.sqrt() } else { most };
    apart - 0.5 * (capsule.b - capsule.a).norm() - capsule.radius
}

impl Arm {
    /// Least distance from a moving capsule to an obstacle, given [`crate::robot::Model::frames`]; `None` without either.
    ///
    /// Capsules of the fixed base are left out: where the base is mounted is not for a motion to change. The route search
    /// calls this at every point, so GJK looks only at pairs whose balls are nearer than the nearest pair so far.
    pub fn obstacle_clearance(&self, frames: &[Placement], scene: &Scene) -> Option<Clearance> {
        let mut best: Option<Clearance> = None;
        for (k, obstacle) in scene.obstacles.iter().enumerate() {
            let reach = reach(obstacle);
            for (shape, LinkShape { joint, capsule, .. }) in self.shapes().iter().enumerate() {
                let Some(joint) = *joint else { continue };
                let placed = capsule.placed(&frames[joint]);
                let at_least = to_point(&placed, &obstacle.center) - reach;
                if best.is_none_or(|b| at_least < b.distance) {
                    let distance = to_zonotope(&placed, obstacle);
                    best = nearer(best, Clearance { distance, shape, to: Obstruction::Obstacle(k) });
                }
            }
        }
        best
    }

    /// Whether every moving capsule is at least `distance` (m, not negative) from every obstacle, given
    /// [`crate::robot::Model::frames`]. [`Arm::obstacle_clearance`] says the same, more slowly.
    pub fn keeps_from_obstacles(&self, frames: &[Placement], scene: &Scene, distance: f64) -> bool {
        self.shapes().iter().all(|LinkShape { joint, capsule, .. }| {
            let Some(joint) = *joint else { return true };
            let placed = capsule.placed(&frames[joint]);
            scene.obstacles.iter().all(|obstacle| {
                at_least(&placed, obstacle) >= distance || to_zonotope(&placed, obstacle) >= distance
            })
        })
    }

    /// Least distance over the pairs that must stay apart, given [`crate::robot::Model::frames`]; `None` without pairs.
    pub fn self_clearance(&self, frames: &[Placement]) -> Option<Clearance> {
        let pairs = self.self_pairs().iter().map(|&(a, b)| Clearance {
            distance: between_capsules(&self.placed_capsule(a, frames), &self.placed_capsule(b, frames)),
            shape: a,
            to: Obstruction::Shape(b),
        });
        pairs.fold(None, nearer)
    }
}

#[cfg(test)]
mod tests;
