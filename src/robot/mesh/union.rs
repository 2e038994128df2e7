//! Proof that capsules which somebody states hold a mesh.
//!
//! # The claim and its proof
//! A triangle is in a union of capsules if one of them holds its corners, since a capsule is convex; or else if both halves of it are, cut along a
//! line through a corner ([`holds`]). The middle of a side is off by its rounding, less than 1e-13 for coordinates up to `REACH`; a few dozen
//! halvings add up to less than 1e-11, and the excess of `SLACK` = 1e-9 that is asked for has room for it.
//!
//! The surface of the link is then inside the union. What is inside the surface need not be: nothing gets there without passing the surface,
//! which a certificate forbids for all time.

use nalgebra::Vector3;

use super::Triangle;
use super::slabs::{REACH, SLACK};
use crate::robot::cover::{ROOM, distance_to_segment};
use crate::robot::shape::Capsule;

/// How often a triangle may be cut in two.
const DEPTH: usize = 40;
/// Pieces of one triangle looked at before giving up.
const BUDGET: usize = 200_000;

/// Whether the union of the capsules, each smaller by what covers the part that stands for it, provably holds all triangles; if so, which of
/// the capsules are needed. If not, a corner of the mesh or of a piece of it that sticks out, m.
///
/// # Errors
/// The point that is not covered.
pub(in crate::robot) fn holds(
    capsules: &[Capsule],
    triangles: &[Triangle],
) -> Result<Vec<bool>, Vector3<f64>> {
    let inside = |k: usize, p: &Vector3<f64>| {
        let capsule = &capsules[k];
        p.iter().all(|x| x.abs() <= REACH) && distance_to_segment(capsule, p) + SLACK + ROOM <= capsule.radius
    };
    let mut used = vec![false; capsules.len()];
    for triangle in triangles {
        let mut open = vec![(*triangle, 0)];
        let mut seen = 0;
        while let Some((piece, depth)) = open.pop() {
            seen += 1;
            if let Some(k) = (0..capsules.len()).find(|&k| piece.iter().all(|p| inside(k, p))) {
                used[k] = true;
                continue;
            }
            let out = |p: &&Vector3<f64>| !(0..capsules.len()).any(|k| inside(k, p));
            if let Some(out) = piece.iter().find(out) {
                return Err(*out);
            }
            if depth == DEPTH || seen == BUDGET {
                return Err(piece[0]);
            }
            let side = |k: usize| (piece[(k + 1) % 3] - piece[k]).norm_squared();
            let longest = (0..3).fold(0, |l, k| if side(k) > side(l) { k } else { l });
            let [p, q, r] = [0, 1, 2].map(|k| piece[(longest + k) % 3]);
            let middle = 0.5 * (p + q);
            open.extend([([p, middle, r], depth + 1), ([middle, q, r], depth + 1)]);
        }
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capsule(a: [f64; 3], b: [f64; 3], radius: f64) -> Capsule {
        Capsule { a: a.into(), b: b.into(), radius }
    }

    #[test]
    fn a_triangle_across_two_capsules_is_held_and_one_with_a_hole_is_not() {
        let triangle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.05, 0.0]].map(Vector3::from);
        let two = [capsule([0.0; 3], [0.5, 0.0, 0.0], 0.1), capsule([0.5, 0.0, 0.0], [1.0, 0.0, 0.0], 0.1)];
        assert_eq!(holds(&two, &[triangle]).unwrap(), [true, true]);
        let apart =
            [capsule([0.0; 3], [0.4, 0.0, 0.0], 0.1), capsule([0.62, 0.0, 0.0], [1.0, 0.0, 0.0], 0.1)];
        let out = holds(&apart, &[triangle]).unwrap_err();
        assert!((0.45..0.55).contains(&out.x), "{out}");
        assert!(holds(&two, &[[Vector3::x() * f64::NAN; 3]]).is_err());
        assert!(holds(&[], &[triangle]).is_err());
        assert_eq!(holds(&two, &[]).unwrap(), [false, false]);
    }

    proptest! {
        #[test]
        fn no_point_of_a_mesh_that_is_held_is_outside(
            corners in prop::array::uniform3(prop::array::uniform3(-0.3..0.3)),
            ends in prop::collection::vec((prop::array::uniform3(-0.3..0.3), prop::array::uniform3(-0.3..0.3), 0.1..0.5), 1..5),
            shares in prop::collection::vec(prop::array::uniform2(0.0..1.0), 200),
        ) {
            let capsules: Vec<_> = ends.into_iter().map(|(a, b, radius)| capsule(a, b, radius)).collect();
            let [a, b, c] = corners.map(Vector3::from);
            if holds(&capsules, &[[a, b, c]]).is_ok() {
                for [s, u] in shares {
                    let (s, u) = if s + u > 1.0 { (1.0 - s, 1.0 - u) } else { (s, u) };
                    let p = a + (b - a) * s + (c - a) * u;
                    prop_assert!(capsules.iter().any(|k| distance_to_segment(k, &p) <= k.radius - ROOM));
                }
            }
        }
    }
}
