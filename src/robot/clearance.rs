//! Distances between capsules, and between capsules and obstacles, at one configuration.
//!
//! Plain floating point (GJK): the ground truth of the simulator and of the checks on a scenario. A certificate
//! never rests on it.

use nalgebra::Vector3;
use parry3d_f64::math::{Pose, Vector};
use parry3d_f64::query::details::{distance_segment_segment, distance_support_map_support_map};
use parry3d_f64::shape::{Segment, SupportMap};

use super::model::{Capsule, Placement, Robot};
use super::scene::{Scene, Zonotope3};

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
    /// Index of the capsule in [`Robot::shapes`].
    pub shape: usize,
    /// What it is closest to.
    pub to: Obstruction,
}

fn glam(v: &Vector3<f64>) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

pub(super) fn segment(c: &Capsule) -> Segment {
    Segment::new(glam(&c.a), glam(&c.b))
}

/// The generators of a zonotope, about its centre.
struct Centred<'a>(&'a Zonotope3);

impl SupportMap for Centred<'_> {
    fn local_support_point(&self, direction: Vector) -> Vector {
        let zonotope = self.0;
        glam(&(zonotope.support(&Vector3::new(direction.x, direction.y, direction.z)) - zonotope.center))
    }
}

/// Distance between two capsules, metres; negative when they overlap.
pub fn between_capsules(a: &Capsule, b: &Capsule) -> f64 {
    distance_segment_segment(&Pose::IDENTITY, &segment(a), &segment(b)) - a.radius - b.radius
}

/// Distance from a capsule to a zonotope, metres; negative when they overlap, but not below `-radius`.
pub fn to_zonotope(capsule: &Capsule, zonotope: &Zonotope3) -> f64 {
    let origin = zonotope.center;
    let about = Segment::new(glam(&(capsule.a - origin)), glam(&(capsule.b - origin)));
    distance_support_map_support_map(&Pose::IDENTITY, &about, &Centred(zonotope)) - capsule.radius
}

fn least(candidates: impl Iterator<Item = Clearance>) -> Option<Clearance> {
    candidates.min_by(|x, y| x.distance.total_cmp(&y.distance))
}

impl Robot {
    /// Least distance from a moving capsule to an obstacle, given [`Robot::frames`]; `None` without either.
    ///
    /// Capsules of the fixed base are left out: where the base is mounted is not for a motion to change.
    pub fn obstacle_clearance(&self, frames: &[Placement], scene: &Scene) -> Option<Clearance> {
        let moving = self.shapes.iter().enumerate().filter_map(|(i, s)| Some((i, s.joint?, s.capsule)));
        least(moving.flat_map(|(shape, joint, capsule)| {
            let placed = capsule.placed(&frames[joint]);
            scene.obstacles.iter().enumerate().map(move |(k, obstacle)| Clearance {
                distance: to_zonotope(&placed, obstacle),
                shape,
                to: Obstruction::Obstacle(k),
            })
        }))
    }

    /// Least distance over the pairs that must stay apart, given [`Robot::frames`]; `None` without pairs.
    pub fn self_clearance(&self, frames: &[Placement]) -> Option<Clearance> {
        least(self.self_pairs.iter().map(|&(a, b)| Clearance {
            distance: between_capsules(&self.placed_capsule(a, frames), &self.placed_capsule(b, frames)),
            shape: a,
            to: Obstruction::Shape(b),
        }))
    }
}
