//! Proof that one capsule covers one collision primitive.
//!
//! # The claim and its proof
//! [`covers`] returns true only if every point of the primitive, as placed, is inside the capsule. A capsule is
//! the Minkowski sum of a segment and a ball, hence convex, so it contains the convex hull of any points that it
//! contains:
//! - a box is the hull of its 8 vertices;
//! - a cylinder lies in the prism over a regular 256-gon circumscribed to its circle (vertices at radius
//!   r / cos(pi/256)), the hull of 512 vertices;
//! - a sphere of radius s is inside when its centre is within `radius - s` of the segment (triangle inequality),
//!   and a capsule is the hull of its two end spheres.
//!
//! Rounding: all coordinates are refused above [`REACH`] = 1000 m, so a placed vertex (three products, three sums
//! each way) and its distance to the segment (some tens of operations on numbers below 4 REACH) are off by far
//! less than 100 * 4e3 * 2^-53 < 1e-10. Requiring a slack of [`SLACK`] = 1e-9 m therefore cannot hide a gap.

use std::f64::consts::PI;

use nalgebra::Vector3;

use super::collision::{Collision, Primitive};
use super::model::Placement;
use super::shape::Capsule;

/// Required excess of the capsule over the primitive, metres; dwarfs rounding.
const SLACK: f64 = 1e-9;
/// What [`enclosing`] adds to a radius that would just do, metres.
pub(super) const ROOM: f64 = 2.0 * SLACK;
/// Largest coordinate for which the rounding argument is made, metres.
const REACH: f64 = 1e3;
/// Corners of the polygon around a cylinder: its corners stand out by 8e-5 of the radius, a quarter of that for twice as
/// many.
const CORNERS: usize = 256;

/// Distance from a point to the capsule's segment.
pub(super) fn distance_to_segment(capsule: &Capsule, p: &Vector3<f64>) -> f64 {
    let along = capsule.b - capsule.a;
    let length2 = along.norm_squared();
    let t = if length2 > 0.0 { ((p - capsule.a).dot(&along) / length2).clamp(0.0, 1.0) } else { 0.0 };
    // For any t in [0, 1] this is the distance to a point of the segment: a rounded t errs on the safe side.
    (capsule.a + along * t - p).norm()
}

/// Balls (centre, radius) in the primitive's own frame whose hull contains the primitive.
fn hull(primitive: &Primitive) -> Vec<(Vector3<f64>, f64)> {
    match *primitive {
        Primitive::Box { size } => (0..8)
            .map(|k| {
                let sign = |bit: usize| if k >> bit & 1 == 0 { -0.5 } else { 0.5 };
                (Vector3::new(sign(0) * size.x, sign(1) * size.y, sign(2) * size.z), 0.0)
            })
            .collect(),
        Primitive::Cylinder { radius, length } => {
            let outer = radius / (PI / CORNERS as f64).cos();
            (0..CORNERS)
                .flat_map(|k| {
                    let (s, c) = (2.0 * PI * k as f64 / CORNERS as f64).sin_cos();
                    [-0.5, 0.5].map(|end| (Vector3::new(outer * c, outer * s, end * length), 0.0))
                })
                .collect()
        }
        Primitive::Capsule { radius, length } => {
            [-0.5, 0.5].map(|end| (Vector3::new(0.0, 0.0, end * length), radius)).to_vec()
        }
        Primitive::Sphere { radius } => vec![(Vector3::zeros(), radius)],
    }
}

/// By how much the primitive sticks out of the capsule, metres (negative when it is inside with room to spare).
pub(super) fn excess(capsule: &Capsule, collision: &Collision) -> f64 {
    hull(&collision.primitive)
        .iter()
        .map(|(p, radius)| {
            distance_to_segment(capsule, &collision.placement.point(p)) + radius - capsule.radius
        })
        .fold(f64::NEG_INFINITY, f64::max)
}

/// Whether `capsule` provably contains the primitive; both in the same frame. Proof: module header.
pub(super) fn covers(capsule: &Capsule, collision: &Collision) -> bool {
    let small = |v: &Vector3<f64>| v.iter().all(|x| x.abs() <= REACH);
    let bounded = small(&capsule.a)
        && small(&capsule.b)
        && capsule.radius <= REACH
        && hull(&collision.primitive).iter().all(|(p, radius)| small(p) && *radius <= REACH)
        && small(&collision.placement.translation);
    bounded && excess(capsule, collision) <= -SLACK
}

/// A capsule around the primitive: its long axis as segment, the radius that [`covers`] accepts.
pub(crate) fn enclosing(collision: &Collision) -> Capsule {
    let half = match collision.primitive {
        Primitive::Box { size } => Vector3::ith(size.imax(), 0.5 * size.max()),
        Primitive::Cylinder { length, .. } | Primitive::Capsule { length, .. } => {
            Vector3::new(0.0, 0.0, 0.5 * length)
        }
        Primitive::Sphere { .. } => Vector3::zeros(),
    };
    let Placement { translation, .. } = collision.placement;
    let axis = collision.placement.rotation * half;
    let thin = Capsule { a: translation - axis, b: translation + axis, radius: 0.0 };
    Capsule { radius: excess(&thin, collision) + ROOM, ..thin }
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn random_vector(rng: &mut ChaCha8Rng, scale: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| rng.random_range(-scale..scale))
    }

    fn random_collision(rng: &mut ChaCha8Rng) -> Collision {
        let mut length = || rng.random_range(0.01..0.3);
        let (a, b, c) = (length(), length(), length());
        let primitive = match rng.random_range(0..4) {
            0 => Primitive::Box { size: Vector3::new(a, b, c) },
            1 => Primitive::Cylinder { radius: a, length: b },
            2 => Primitive::Capsule { radius: a, length: b },
            _ => Primitive::Sphere { radius: a },
        };
        let turn = random_vector(rng, 3.0);
        let placement =
            Placement { rotation: Rotation3::new(turn).into_inner(), translation: random_vector(rng, 0.5) };
        Collision { name: "part".into(), placement, primitive }
    }

    /// A point of the primitive, on its surface more often than not.
    fn random_point(rng: &mut ChaCha8Rng, primitive: &Primitive) -> Vector3<f64> {
        let mut edge = |half: f64| {
            let x: f64 = rng.random_range(-2.0..2.0);
            half * x.clamp(-1.0, 1.0)
        };
        match *primitive {
            Primitive::Box { size } => {
                Vector3::new(edge(0.5 * size.x), edge(0.5 * size.y), edge(0.5 * size.z))
            }
            Primitive::Cylinder { radius, length } => {
                let (z, angle) = (edge(0.5 * length), edge(PI));
                Vector3::new(radius * angle.cos(), radius * angle.sin(), z)
            }
            Primitive::Capsule { radius, length } => {
                let z = edge(0.5 * length);
                random_vector(rng, 1.0).normalize() * radius + Vector3::new(0.0, 0.0, z)
            }
            Primitive::Sphere { radius } => random_vector(rng, 1.0).normalize() * radius,
        }
    }

    #[test]
    fn no_point_escapes_a_capsule_that_is_said_to_cover() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut covered = 0;
        for _ in 0..400 {
            let collision = random_collision(&mut rng);
            let mut capsule = enclosing(&collision);
            assert!(covers(&capsule, &collision));
            // Also capsules that barely cover, or barely do not.
            capsule.a += random_vector(&mut rng, 0.01);
            capsule.b += random_vector(&mut rng, 0.01);
            capsule.radius *= rng.random_range(0.97..1.1);
            if !covers(&capsule, &collision) {
                continue;
            }
            covered += 1;
            for _ in 0..200 {
                let p = collision.placement.point(&random_point(&mut rng, &collision.primitive));
                assert!(distance_to_segment(&capsule, &p) <= capsule.radius);
            }
        }
        assert!(covered > 50, "only {covered} covered: the test attacks nothing");
    }

    #[test]
    fn a_hair_too_small_is_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..100 {
            let collision = random_collision(&mut rng);
            let capsule = enclosing(&collision);
            assert!(!covers(&Capsule { radius: capsule.radius - 2e-9, ..capsule }, &collision));
        }
    }

    #[test]
    fn coordinates_beyond_the_rounding_argument_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let collision = random_collision(&mut rng);
        let capsule = enclosing(&collision);
        assert!(!covers(&Capsule { radius: 2e3, ..capsule }, &collision));
    }
}
