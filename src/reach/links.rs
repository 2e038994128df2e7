//! Swept links: where the collision capsules can be over a cell, and how far they stay from other sets.
//!
//! # Assumed, and proven
//! Assumed: the states of [`super::cell`]; obstacles in their zonotopes (A3). A capsule is the convex hull of two balls about its ends a and b, and the ends are affine in the cell's symbols. For
//! **any** direction u, if u.x >= s for both ends over all states of the tube ([`super::extent`]) and u.y <= t on the other set, the two are at least
//! (s - t)/|u| apart, less the radii. So the direction may come from any heuristic; only the support values are part
//! of the proof, and they are rounded outward, |u| too. For two capsules of the robot the four differences of ends
//! are formed first, so that shared symbols cancel.

use crate::dynamics::vec3::{self, Vec3};
use crate::dynamics::{BodyPlacement, Motion, placements};
use crate::enclose::{Affine, Interval, Rounding};
use crate::robot::{Arm, Zonotope3};
use crate::scalar::Scalar;

use super::block::Block;
use super::direction::nearest_direction;
use super::extent::support_below;

/// Upper bound of `direction . x` over the zonotope `{ center + sum_i generators[i] e_i : e_i in [-1, 1] }`; infinity if
/// something isn't finite.
///
/// Proof: the supremum is `u.c + sum |u.g_i|`, and `|u.g_i|` is at most its float plus the float's error.
pub fn zonotope_above<'a, R: Rounding>(
    direction: &[f64; 3],
    center: &[f64; 3],
    generators: impl IntoIterator<Item = &'a [f64; 3]>,
) -> f64 {
    let dot = |x: &[f64; 3]| {
        R::product(direction[0], x[0]) + R::product(direction[1], x[1]) + R::product(direction[2], x[2])
    };
    let spread = generators.into_iter().map(|g| R::split(dot(g)));
    R::upper(spread.fold(dot(center), |sum, (value, error)| sum + R::exact(value.abs()) + R::exact(error)))
}

/// Ends of every collision capsule over a cell, base frame, m, into `ends`; `placed` is storage.
pub fn sweep_capsules<T: Scalar>(
    robot: &Arm,
    motion: &Motion<T>,
    placed: &mut Vec<BodyPlacement<T>>,
    ends: &mut Vec<[Vec3<T>; 2]>,
) {
    let base = BodyPlacement::base();
    placed.resize(robot.dof(), base);
    placements(robot, motion, placed);
    ends.clear();
    ends.extend(robot.shapes().iter().map(|shape| {
        let body = shape.joint.map_or(&base, |j| &placed[j]);
        [body.point(&shape.capsule.a), body.point(&shape.capsule.b)]
    }));
}

/// A proven distance and the direction that proves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProvenSeparation {
    /// Lower bound of the distance between the two surfaces, m; negative if no separation was found.
    pub clearance_m: f64,
    /// Direction from the second set towards the first; unit length up to rounding (zero if none was found).
    pub direction: [f64; 3],
}

/// Lower bound of the distance between a swept capsule and a zonotope; `weights` is storage.
pub fn clear_of_obstacle<const N: usize, R: Rounding>(
    ends: &[Vec3<Affine<N, R>>; 2],
    radius: f64,
    obstacle: &Zonotope3,
    weights: &mut Vec<f64>,
) -> ProvenSeparation {
    let center: [f64; 3] = obstacle.center.into();
    let generators = obstacle.generators.iter().map(|g| -> &[f64; 3] { g.as_ref() });
    let (middle, half) = segment(ends);
    let u = nearest_direction(vec3::sub(&middle, &center), generators.clone().chain([&half]), weights);
    let below = support_below(&u, &ends[0]).min(support_below(&u, &ends[1]));
    let above = zonotope_above::<R>(&u, &center, generators);
    separation(below, above, radius, u)
}

/// Coarse lower bound of the distance between two bodies with boxes around them, the first a capsule's axis with this
/// radius (with both radii where the second is an axis too): see [`super::block`].
pub fn coarsely_clear(axis: &Block, radius: f64, other: &Block) -> ProvenSeparation {
    let (gap, gaps) = axis.gap(other);
    let length = if gap > 0.0 { gap } else { 1.0 };
    ProvenSeparation { clearance_m: (gap - radius).next_down(), direction: gaps.map(|g| g / length) }
}

/// Lower bound of the distance between two swept capsules of the robot; `weights` is storage.
pub fn clear_of_capsule<const N: usize, R: Rounding>(
    first: &[Vec3<Affine<N, R>>; 2],
    second: &[Vec3<Affine<N, R>>; 2],
    radii: f64,
    weights: &mut Vec<f64>,
) -> ProvenSeparation {
    let ((from, g), (to, h)) = (segment(first), segment(second));
    let u = nearest_direction(vec3::sub(&from, &to), [g, h].iter(), weights);
    let mut below = f64::INFINITY;
    for a in first {
        for b in second {
            below = below.min(support_below(&u, &vec3::sub(a, b)));
        }
    }
    separation(below, 0.0, radii, u)
}

fn separation(below: f64, above: f64, radius: f64, u: [f64; 3]) -> ProvenSeparation {
    let squares = u.map(|x| Interval::constant(x).sqr());
    let length = (squares[0] + squares[1] + squares[2]).sqrt();
    let gap = (Interval::constant(below) - Interval::constant(above)) / length;
    let clearance = (gap - Interval::constant(radius)).lower();
    ProvenSeparation {
        clearance_m: if clearance.is_nan() { f64::NEG_INFINITY } else { clearance },
        direction: u,
    }
}

/// The segment between the centres of two swept ends, as its middle and half its extent: enough to find a direction.
fn segment<const N: usize, R: Rounding>(ends: &[Vec3<Affine<N, R>>; 2]) -> ([f64; 3], [f64; 3]) {
    let end = |k: usize| -> [f64; 3] { std::array::from_fn(|r| ends[k][r].center()) };
    (vec3::times(&vec3::add(&end(0), &end(1)), 0.5), vec3::times(&vec3::sub(&end(1), &end(0)), 0.5))
}
