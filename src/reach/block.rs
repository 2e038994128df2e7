//! Boxes around bodies: a coarse bound on distances, at the price of a few comparisons.
//!
//! # Assumed, and proven
//! Assumed: what [`extent`] says of forms. A point of a body has each of its coordinates within the bounds of that body's box. So for points p and q of two bodies
//! |p_i - q_i| >= g_i, the gap of the boxes along axis i or zero, and |p - q|^2 >= sum g_i^2. Sums, squares and the root are each
//! rounded down, one step after the operation; a bound that is no number makes no gap.

use crate::dynamics::vec3::Vec3;
use crate::enclose::{Affine, Rounding};
use crate::robot::Zonotope3;

use super::extent;
use super::upward::{add_up, sum_up};

/// A box along the axes of the base frame, m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    lower: [f64; 3],
    upper: [f64; 3],
}

impl Block {
    /// Around the axis of a swept capsule, over all states of the tube: each coordinate of both ends is within its bounds, and
    /// the points between them are convex combinations of the ends.
    pub fn around_axis<const N: usize, R: Rounding>(ends: &[Vec3<Affine<N, R>>; 2]) -> Self {
        Self {
            lower: std::array::from_fn(|i| extent::lower(&ends[0][i]).min(extent::lower(&ends[1][i]))),
            upper: std::array::from_fn(|i| extent::upper(&ends[0][i]).max(extent::upper(&ends[1][i]))),
        }
    }

    /// Around a zonotope: along axis i it reaches sum_k |g_k,i| from its centre. One that is nowhere may be anywhere.
    pub fn around_zonotope(zonotope: &Zonotope3) -> Self {
        let half = |i: usize| {
            let reach = sum_up(zonotope.generators.iter().map(|g| g[i].abs()));
            if zonotope.center[i].is_finite() { reach } else { f64::INFINITY }
        };
        Self {
            lower: std::array::from_fn(|i| -add_up(half(i), -zonotope.center[i])),
            upper: std::array::from_fn(|i| add_up(half(i), zonotope.center[i])),
        }
    }

    /// Lower bound of the distance between points of the two, m, and the gaps along the axes, signed from `other` to here.
    pub fn gap(&self, other: &Self) -> (f64, [f64; 3]) {
        let gaps: [f64; 3] = std::array::from_fn(|i| {
            let (after, before) = (self.lower[i] - other.upper[i], other.lower[i] - self.upper[i]);
            if after > 0.0 {
                after.next_down()
            } else if before > 0.0 {
                -before.next_down()
            } else {
                0.0
            }
        });
        let [x, y, z] = gaps.map(|g| below(g * g));
        (below(below(below(x + y) + z).sqrt()), gaps)
    }
}

/// One step down from a number that stands for one that is not negative.
fn below(x: f64) -> f64 {
    x.next_down().max(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::enclose::Counted;
    use crate::enclose::twofold::Twofold;
    use crate::scalar::Scalar;

    type Form = Affine<4, Counted>;

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![4 => -2.0..2.0f64, 1 => Just(0.0), 1 => -1e-9..1e-9f64, 1 => -1e7..1e7f64]
    }

    fn vector() -> impl Strategy<Value = [f64; 3]> {
        prop::array::uniform3(number())
    }

    fn share() -> impl Strategy<Value = f64> {
        prop_oneof![Just(-1.0), Just(1.0), -1.0..=1.0f64]
    }

    proptest! {
        #[test]
        fn no_two_points_are_nearer_than_the_gap(
            centers in (vector(), vector()),
            spread in prop::array::uniform6(-0.1..0.1f64),
            at in prop::array::uniform2(share()),
            along in 0.0..=1.0f64,
            center in vector(),
            generators in prop::collection::vec(vector(), 0..4),
            x in prop::array::uniform4(share()),
        ) {
            // Ends with symbol 0 (time) and one error symbol.
            let form = |c: f64, t: f64, e: f64| Form::new(c, [t, e, 0.0, 0.0], 0.0);
            let ends = [centers.0, centers.1].map(|c| -> [Form; 3] {
                std::array::from_fn(|i| form(c[i], spread[i], spread[3 + i]))
            });
            let zonotope =
                Zonotope3::still("", center.into(), generators.iter().map(|g| (*g).into()).collect());
            let (gap, gaps) = Block::around_axis(&ends).gap(&Block::around_zonotope(&zonotope));
            prop_assert!(gap >= 0.0 && gaps.iter().all(|g| g.abs() <= gap * (1.0 + 1e-15)));
            // The distance of a point of each, in twice the precision.
            let mut square = Twofold::from(0.0);
            let mut size = 0.0;
            for i in 0..3 {
                let mut off = Twofold::from(-center[i]);
                for (g, x) in generators.iter().zip(x) {
                    off = off.sub(Twofold::product(g[i], x));
                    size += g[i].abs();
                }
                for (c, share) in [(centers.0, 1.0 - along), (centers.1, along)] {
                    off = off.add(Twofold::product(c[i], share));
                    size += c[i].abs() + center[i].abs() + 1.0;
                }
                off = off.add(Twofold::product(spread[i], at[0])).add(Twofold::product(spread[3 + i], at[1]));
                square = square.add(off.mul(off));
            }
            // 1 - along is itself rounded: a relative 2^-53 of the ends.
            let distance = square.head.max(0.0).sqrt();
            prop_assert!(gap <= distance + 1e-15 * size, "{gap} {distance}");
        }
    }

    #[test]
    fn boxes_apart_along_all_axes_are_as_far_apart_as_their_corners() {
        let point = |x: f64| Form::constant(x);
        let ends = [[point(0.0), point(1.0), point(2.0)], [point(0.5), point(1.0), point(2.0)]];
        let generators = vec![[1.0, 0.0, 0.0].into(), [0.0, 0.5, 0.0].into(), [0.0, 0.0, 0.5].into()];
        let cube = Zonotope3::still("", [4.5, -2.5, 2.5].into(), generators);
        let (gap, gaps) = Block::around_axis(&ends).gap(&Block::around_zonotope(&cube));
        assert!((gap - 18f64.sqrt()).abs() < 1e-12 && gap <= 18f64.sqrt(), "{gap}");
        assert!(gaps[0] < 0.0 && gaps[1] > 0.0 && gaps[2] == 0.0, "{gaps:?}");
    }

    #[test]
    fn what_is_not_finite_is_nowhere_apart() {
        let whole = [[Form::whole(); 3]; 2];
        let center = [9.0, f64::NAN, f64::INFINITY].into();
        let cube = Zonotope3::still("", center, vec![[f64::NAN, 0.0, 0.0].into()]);
        assert_eq!(Block::around_axis(&whole).gap(&Block::around_zonotope(&cube)).0, 0.0);
        let origin = [[Form::constant(0.0); 3]; 2];
        assert_eq!(Block::around_axis(&origin).gap(&Block::around_zonotope(&cube)).0, 0.0);
    }
}
