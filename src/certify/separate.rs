//! Which pairs of bodies must stay apart, and how far they provably are over one cell: for every law alike.
//!
//! Assumed: the ends of the capsules hold all states that the arm may be in during the cell; obstacles as in [`crate::reach::moving`]. Proven: no pair is
//! nearer than its clearance ([`crate::reach::links`]).

use crate::dynamics::vec3::Vec3;
use crate::enclose::{Affine, Rounding};
use crate::reach::Span;
use crate::reach::block::Block;
use crate::reach::links::{ProvenSeparation, clear_of_capsule, clear_of_obstacle, coarsely_clear};
use crate::reach::moving::{grown, moved_by};
use crate::reach::upward::add_up;
use crate::robot::{Arm, LinkShape, Zonotope3};

use super::Body;

/// Pairs that are provably further apart than this, m, are not separated exactly if another pair is nearer. What is proven
/// stays true for any value: a larger one takes more time, a smaller one makes reported clearances of far pairs less sharp.
pub const DETAIL_M: f64 = 0.3;

/// At rest nothing is asked of an obstacle that moves ([`crate::reach::moving`]).
const NOT_ASKED: ProvenSeparation = ProvenSeparation { clearance_m: f64::INFINITY, direction: [0.0; 3] };

/// What must be kept apart, and how far it provably is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProvenClearance {
    /// Index of the capsule in [`crate::robot::Arm::shapes`].
    pub shape: usize,
    /// The obstacle or the other capsule.
    pub other: Body,
    /// Proven distance and the direction that proves it. From an obstacle that moves: wherever it may be by then; infinite at rest,
    /// where nothing is asked.
    pub separation: ProvenSeparation,
}

/// What the arm's capsules are kept apart from: themselves and obstacles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub robot: &'a Arm,
    pub obstacles: &'a [Zonotope3],
    /// For how long after its span a cell is entered, s: obstacles that move go on until then.
    pub after_s: f64,
}

/// The ends of a capsule's axis over a cell, m.
type CapsuleEnds<const N: usize, R> = [Vec3<Affine<N, R>>; 2];

impl Surroundings<'_> {
    /// Separates all pairs that must stay apart over `span`, given the ends of the capsules; boxes and weights are storage.
    ///
    /// Boxes come first ([`crate::reach::block`]). Where they prove more than [`DETAIL_M`], and more than is proven of another pair
    /// of this cell, that is the pair's bound. It is a proven one too, positive, and not the least: neither the verdict on the cell
    /// nor its least margin would be another if all pairs were separated exactly.
    pub fn separate<const N: usize, R: Rounding>(
        &self,
        span: Span,
        (ends, blocks, weights): (&[CapsuleEnds<N, R>], &mut Vec<Block>, &mut Vec<f64>),
        clearances: &mut Vec<ProvenClearance>,
    ) {
        let Self { robot, obstacles, after_s } = *self;
        let shapes = robot.shapes();
        // Of a capsule, and of the ball by which an obstacle that moves has grown.
        let radius = |shape: usize, k: usize| {
            let moved = moved_by(&obstacles[k], after_s, span)?;
            Some(grown(shapes[shape].capsule.radius, moved))
        };
        blocks.clear();
        blocks.extend(ends.iter().map(Block::around_axis));
        blocks.extend(obstacles.iter().map(Block::around_zonotope));
        let (axes, blocks) = blocks.split_at(ends.len());
        clearances.clear();
        for (shape, link) in shapes.iter().enumerate() {
            // A capsule fixed to the base does not move; where it is mounted is not for a plan to change.
            if link.joint.is_none() {
                continue;
            }
            for (k, block) in blocks.iter().enumerate() {
                let coarse = |radius| coarsely_clear(&axes[shape], radius, block);
                let separation = radius(shape, k).map_or(NOT_ASKED, coarse);
                clearances.push(ProvenClearance { shape, other: Body::Obstacle(k), separation });
            }
        }
        for &(a, b) in robot.self_pairs() {
            let separation = coarsely_clear(&axes[a], pair_radius(shapes, a, b), &axes[b]);
            clearances.push(ProvenClearance { shape: a, other: Body::Shape(b), separation });
        }
        let mut least = f64::INFINITY;
        // Those within sight, then those that could be the least of all.
        for sight in [Some(DETAIL_M), None] {
            for ProvenClearance { shape, other, separation } in clearances.iter_mut() {
                if separation.clearance_m > sight.unwrap_or(least) {
                    continue;
                }
                *separation = match *other {
                    Body::Obstacle(k) => {
                        let Some(radius) = radius(*shape, k) else { continue };
                        clear_of_obstacle(&ends[*shape], radius, &obstacles[k], weights)
                    }
                    Body::Shape(b) => {
                        let radii = pair_radius(shapes, *shape, b);
                        clear_of_capsule(&ends[*shape], &ends[b], radii, weights)
                    }
                };
                least = least.min(separation.clearance_m);
            }
        }
    }
}

/// Upper bound of the sum of two capsules' radii, m.
fn pair_radius(shapes: &[LinkShape], a: usize, b: usize) -> f64 {
    add_up(shapes[a].capsule.radius, shapes[b].capsule.radius)
}
