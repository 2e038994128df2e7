//! What the true arm touches: distances between the collision primitives of the URDF, the held object's own shape and the obstacles.
//!
//! # Why not the capsules
//! A certificate keeps a list of capsules apart. Were one missing from that list, or a pair of them, an audit of the same list could
//! not see it. So this list is made from [`Arm::parts`] alone, and no pair is taken from [`Arm::self_pairs`]. Of primitives, none is left out for
//! [`Arm::ignored_pairs`]. A part that holds a mesh is larger than the mesh, and whether that touches is not known here: such parts may overlap where
//! a file ignores capsules that hold them. Otherwise parts of two bodies may not touch unless a joint joins the bodies. Of those the end effector is looked
//! at too, with what it holds. Only parts that face each other across its joint are left out: they touch, or are equally far apart,
//! at every position.
//!
//! Distances are plain floating point (GJK): evidence, never part of a proof.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};
use parry3d_f64::math::{Pose, Vector};
use parry3d_f64::query::details::distance_support_map_support_map;
use parry3d_f64::shape::SupportMap;

use crate::robot::clearance::{at_least, between_capsules};
use crate::robot::{Arm, Capsule, CollisionPart, Placement, Primitive, Scene, Zonotope3, enclosing_capsule};

/// Positions of the last joint at which its housings are looked at: every 5 degrees of a turn.
const POSITIONS: usize = 72;

/// Parts whose distance is never more than this, m, or never changes by more, face each other across the joint: play between
/// housings is smaller, and parts that can meet move farther.
const FACING_M: f64 = 1e-3;

/// The parts of a robot and the pairs of them that must not touch.
#[derive(Debug, Clone)]
pub(super) struct Contacts {
    parts: Vec<CollisionPart>,
    /// A capsule around each part, in the part's frame: what is far apart by these needs no closer look.
    around: Vec<Capsule>,
    pairs: Vec<(usize, usize)>,
    /// What was nearest when last asked. Looked at first, it mostly spares the others the closer look.
    last: Option<(usize, Other)>,
}

/// What a part is closest to, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    /// An obstacle of the scene.
    Obstacle(usize),
    /// Another part.
    Part(usize),
}

/// The least distance, m, and the part and what it is closest to; infinite where there is nothing to touch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nearest {
    pub distance_m: f64,
    pub between: Option<(usize, Other)>,
}

impl Nearest {
    const NOTHING: Self = Self { distance_m: f64::INFINITY, between: None };

    /// Takes over a pair that is closer.
    fn or(&mut self, distance_m: f64, between: (usize, Other)) {
        if distance_m < self.distance_m {
            *self = Self { distance_m, between: Some(between) };
        }
    }
}

/// A part or an obstacle in space: a convex set with a rounding radius.
enum Solid<'a> {
    Part { primitive: &'a Primitive, rotation: Matrix3<f64>, from: Vector3<f64> },
    Obstacle { zonotope: &'a Zonotope3, from: Vector3<f64> },
}

impl Solid<'_> {
    /// Radius that [`SupportMap`] leaves out.
    fn radius(&self) -> f64 {
        match self {
            Solid::Part {
                primitive: Primitive::Capsule { radius, .. } | Primitive::Sphere { radius },
                ..
            } => *radius,
            _ => 0.0,
        }
    }
}

impl SupportMap for Solid<'_> {
    fn local_support_point(&self, direction: Vector) -> Vector {
        let u = Vector3::from(direction);
        let point = match self {
            Solid::Obstacle { zonotope, from } => zonotope.support(&u) - from,
            Solid::Part { primitive, rotation, from } => {
                from + rotation * support(primitive, &rotation.tr_mul(&u))
            }
        };
        point.into()
    }
}

/// The point of a primitive that is furthest along `u`, in its own frame; of round ones, of the axis or centre.
fn support(primitive: &Primitive, u: &Vector3<f64>) -> Vector3<f64> {
    let end = |half: f64, u: f64| if u < 0.0 { -half } else { half };
    match *primitive {
        Primitive::Box { size } => Vector3::from_fn(|k, _| end(0.5 * size[k], u[k])),
        Primitive::Cylinder { radius, length } => {
            let across = u.xy().try_normalize(1e-12).map_or(u.xy() * 0.0, |d| d * radius);
            Vector3::new(across.x, across.y, end(0.5 * length, u.z))
        }
        Primitive::Capsule { length, .. } => Vector3::new(0.0, 0.0, end(0.5 * length, u.z)),
        Primitive::Sphere { .. } => Vector3::zeros(),
    }
}

/// Distance of two solids that are given about the same point near both, m; not positive where they touch.
fn distance(a: &Solid<'_>, b: &Solid<'_>) -> f64 {
    distance_support_map_support_map(&Pose::IDENTITY, a, b) - a.radius() - b.radius()
}

/// Distance of the balls around two capsules, m: at most the capsules' own.
fn balls_apart(p: &Capsule, q: &Capsule) -> f64 {
    let reach = |c: &Capsule| 0.5 * (c.b - c.a).norm() + c.radius;
    (0.5 * (p.a + p.b) - 0.5 * (q.a + q.b)).norm() - reach(p) - reach(q)
}

impl Contacts {
    /// The parts of a robot, with what it holds.
    pub fn new(robot: &Arm) -> Self {
        let parts = robot.parts().to_vec();
        let around = parts.iter().map(|part| enclosing_capsule(&part.collision)).collect();
        let mut contacts = Self { parts, around, pairs: Vec::new(), last: None };
        let count = contacts.parts.len();
        let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        contacts.pairs = all.filter(|&pair| contacts.may_not_touch(robot, pair)).collect();
        contacts
    }

    fn may_not_touch(&self, robot: &Arm, (a, b): (usize, usize)) -> bool {
        let [on_a, on_b] = [a, b].map(|part| self.parts[part].joint);
        if !robot.adjacent(on_a, on_b) {
            return !robot.ignores_meshes(&self.parts[a], &self.parts[b]);
        }
        let hand = Some(robot.end_effector());
        if on_a == on_b || (on_a != hand && on_b != hand) {
            return false;
        }
        // The joint between them.
        let joint = on_a.max(on_b).unwrap_or_default();
        let (lower, upper) = robot.joints[joint].limits.position.unwrap_or((-PI, PI));
        let at = |k: usize| {
            let mut q = vec![0.0; robot.nq()];
            q[robot.q_index(joint)] = lower + (upper - lower) * k as f64 / POSITIONS as f64;
            self.between(&robot.frames(&q), (a, b))
        };
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (least, most) =
            (0..=POSITIONS).map(at).fold(ends, |(least, most), d| (least.min(d), most.max(d)));
        most > FACING_M && most - least > FACING_M
    }

    /// Least distance from any moving part to an obstacle or to a part that it may not touch, m; infinite if there is
    /// nothing to touch. `frames` are [`crate::robot::Model::frames`]. Obstacles that may move count only if `moving` says so.
    pub fn clearance(&mut self, frames: &[Placement], scene: &Scene, moving: bool) -> Nearest {
        let placed: Vec<Capsule> = (0..self.parts.len()).map(|part| self.placed(part, frames)).collect();
        let counts = |obstacle: &Zonotope3| moving || !obstacle.moves();
        let mut least = self.last_nearest(frames, scene, counts);
        self.to_obstacles(frames, &placed, scene, counts, &mut least);
        for &(a, b) in &self.pairs {
            let (p, q) = (&placed[a], &placed[b]);
            let (near, pair) = (least.distance_m, (a, Other::Part(b)));
            if least.between != Some(pair) && balls_apart(p, q) < near && between_capsules(p, q) < near {
                least.or(self.between(frames, (a, b)), pair);
            }
        }
        self.last = least.between;
        least
    }

    /// How near that is now which was nearest when last asked, if it counts.
    fn last_nearest(
        &self,
        frames: &[Placement],
        scene: &Scene,
        counts: impl Fn(&Zonotope3) -> bool,
    ) -> Nearest {
        let mut nearest = Nearest::NOTHING;
        match self.last {
            Some((a, Other::Part(b))) => nearest.or(self.between(frames, (a, b)), (a, Other::Part(b))),
            Some((part, Other::Obstacle(k))) => {
                if let Some(obstacle) = scene.obstacles.get(k).filter(|obstacle| counts(obstacle)) {
                    nearest.or(self.to_obstacle(frames, part, obstacle), (part, Other::Obstacle(k)));
                }
            }
            None => {}
        }
        nearest
    }

    /// Least distance from any moving part to an obstacle that may move, m; infinite where none may.
    pub fn to_moving(&self, frames: &[Placement], scene: &Scene) -> f64 {
        if !scene.moves() {
            return f64::INFINITY;
        }
        let placed: Vec<Capsule> = (0..self.parts.len()).map(|part| self.placed(part, frames)).collect();
        let mut least = Nearest::NOTHING;
        self.to_obstacles(frames, &placed, scene, Zonotope3::moves, &mut least);
        least.distance_m
    }

    /// Takes over what is nearer than `least` of all moving parts and all obstacles that count.
    fn to_obstacles(
        &self,
        frames: &[Placement],
        placed: &[Capsule],
        scene: &Scene,
        counts: impl Fn(&Zonotope3) -> bool,
        least: &mut Nearest,
    ) {
        // Where the base is mounted is not for a motion to change.
        for part in (0..self.parts.len()).filter(|&part| self.parts[part].joint.is_some()) {
            for (k, obstacle) in scene.obstacles.iter().enumerate().filter(|(_, obstacle)| counts(obstacle)) {
                let pair = (part, Other::Obstacle(k));
                if least.between != Some(pair) && at_least(&placed[part], obstacle) < least.distance_m {
                    least.or(self.to_obstacle(frames, part, obstacle), pair);
                }
            }
        }
    }

    /// Distance of a part to an obstacle, m.
    fn to_obstacle(&self, frames: &[Placement], part: usize, obstacle: &Zonotope3) -> f64 {
        let from = obstacle.center;
        distance(&self.solid(part, frames, &from), &Solid::Obstacle { zonotope: obstacle, from })
    }

    /// Names for people of a part and what it is closest to.
    pub fn names(&self, (part, other): (usize, Other), scene: &Scene) -> [String; 2] {
        let name = |part: usize| self.parts[part].link.clone();
        let other = match other {
            Other::Obstacle(k) => scene.obstacles[k].name.clone(),
            Other::Part(k) => name(k),
        };
        [name(part), other]
    }

    /// Distance of two parts, m.
    fn between(&self, frames: &[Placement], (a, b): (usize, usize)) -> f64 {
        let around = self.placed(b, frames);
        let from = 0.5 * (around.a + around.b);
        distance(&self.solid(a, frames, &from), &self.solid(b, frames, &from))
    }

    /// The capsule around a part, in the base frame.
    fn placed(&self, part: usize, frames: &[Placement]) -> Capsule {
        self.parts[part].joint.map_or(self.around[part], |joint| self.around[part].placed(&frames[joint]))
    }

    /// A part about the point `from` of the base frame.
    fn solid(&self, part: usize, frames: &[Placement], from: &Vector3<f64>) -> Solid<'_> {
        let CollisionPart { joint, collision, .. } = &self.parts[part];
        let placed = joint.map_or(collision.placement, |joint| frames[joint].compose(&collision.placement));
        Solid::Part {
            primitive: &collision.primitive,
            rotation: placed.rotation,
            from: placed.translation - from,
        }
    }
}

#[cfg(test)]
mod tests;
