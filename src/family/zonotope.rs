//! Zonotopes in space: support of points, sums, half-spaces, and fewer generators.
//!
//! # Assumed
//! What [`Rounding`] promises.
//!
//! # Proven
//! Bounds hold for a direction as given, of any length; each set that is returned contains the exact one.

use crate::enclose::{Affine, Rounding};
use crate::reach::links::zonotope_above;
use crate::reach::upward::add_up;
use crate::scalar::Scalar;

/// Lower bound of `direction . x` over all points x whose coordinates are held by `point`, symbols shared.
/// -infinity if the direction or the point isn't finite.
pub fn support_below<const N: usize, R: Rounding>(direction: &[f64; 3], point: &[Affine<N, R>; 3]) -> f64 {
    along(direction, point).lower()
}

/// Upper bound of `direction . x` over all points x whose coordinates are held by `point`, symbols shared.
/// Infinity if the direction or the point isn't finite.
pub fn support_above<const N: usize, R: Rounding>(direction: &[f64; 3], point: &[Affine<N, R>; 3]) -> f64 {
    along(direction, point).upper()
}

/// `direction . x`, linear in the symbols.
#[inline]
fn along<const N: usize, R: Rounding>(direction: &[f64; 3], point: &[Affine<N, R>; 3]) -> Affine<N, R> {
    let [u, v, w] = *direction;
    let [x, y, z] = *point;
    x.scale(u) + y.scale(v) + z.scale(w)
}

/// A zonotope that contains all sums of a point of `a` and a point of `b`, each a centre and generators: exact but for the
/// rounding of the centre, which becomes generators along the axes.
pub fn minkowski_sum<R: Rounding>(
    a: (&[f64; 3], &[[f64; 3]]),
    b: (&[f64; 3], &[[f64; 3]]),
) -> ([f64; 3], Vec<[f64; 3]>) {
    let sums: [(f64, f64); 3] = std::array::from_fn(|i| R::split(R::exact(a.0[i]) + R::exact(b.0[i])));
    let mut generators: Vec<[f64; 3]> = a.1.iter().chain(b.1).copied().collect();
    for (i, &(_, off)) in sums.iter().enumerate().filter(|(_, (_, off))| *off != 0.0) {
        generators.push(std::array::from_fn(|k| if k == i { off } else { 0.0 }));
    }
    (sums.map(|(center, _)| center), generators)
}

/// The points x with `normal . x <= offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfSpace {
    /// Of length one up to rounding.
    pub normal: [f64; 3],
    /// Upper bound of `normal . x`.
    pub offset: f64,
}

/// Half-spaces whose intersection contains a zonotope, and is the zonotope up to rounding if it has a volume: one for each
/// side of each pair of generators that are not parallel, and of each axis (which bounds flat zonotopes too).
///
/// Proof: each offset is an upper bound over the zonotope for the normal as it stands ([`zonotope_above`]). The facets of a
/// zonotope in space are spanned by pairs of its generators.
pub fn half_spaces<R: Rounding>(center: &[f64; 3], generators: &[[f64; 3]]) -> Vec<HalfSpace> {
    let axes = (0..3).map(|i| std::array::from_fn(|k| if k == i { 1.0 } else { 0.0 }));
    let pairs = generators.iter().enumerate().flat_map(|(i, g)| generators[..i].iter().map(move |h| (g, h)));
    let spanned = pairs.filter_map(|(g, h)| {
        // Only the directions count, and only they neither overflow nor vanish.
        let [g, h] = [g, h].map(|x| {
            let size = x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            x.map(|x| x / size)
        });
        let normal = [g[1] * h[2] - g[2] * h[1], g[2] * h[0] - g[0] * h[2], g[0] * h[1] - g[1] * h[0]];
        let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
        (length > 0.0 && length.is_finite()).then(|| normal.map(|x| x / length))
    });
    let sides = axes.chain(spanned).flat_map(|n: [f64; 3]| [n, n.map(|x| -x)]);
    sides
        .map(|normal| HalfSpace { normal, offset: zonotope_above::<R>(&normal, center, generators) })
        .collect()
}

/// At most `most` generators (three or more) of a zonotope about the same centre that contains the one of `generators`.
///
/// Girard's reduction: of those that are nearest to an axis, the sum of absolute values along each axis becomes one
/// generator along it. Proof: the box of these three contains every sum of the ones that it replaces; its sides are rounded up.
pub fn reduced(generators: &[[f64; 3]], most: usize) -> Vec<[f64; 3]> {
    let most = most.max(3);
    if generators.len() <= most {
        return generators.to_vec();
    }
    let oblique = |g: &[f64; 3]| {
        let size = g.map(f64::abs);
        size.iter().sum::<f64>() - size.iter().copied().fold(0.0, f64::max)
    };
    let mut order: Vec<[f64; 3]> = generators.to_vec();
    order.sort_by(|a, b| oblique(b).total_cmp(&oblique(a)));
    let boxed = order.split_off(most - 3);
    let side = |i: usize| boxed.iter().fold(0.0, |sum, g| add_up(sum, g[i].abs()));
    order.extend((0..3).map(|i| std::array::from_fn(|k| if k == i { side(i) } else { 0.0 })));
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::enclose::Counted;
    use crate::enclose::harness::{self, Expression, N, expression, symbols};
    use crate::enclose::twofold::Twofold;

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![4 => -2.0..2.0f64, 1 => Just(0.0), 1 => Just(-0.0), 1 => Just(1e-200), 1 => Just(1e120), 1 => Just(-1e8)]
    }

    fn vectors(count: usize) -> impl Strategy<Value = Vec<[f64; 3]>> {
        prop::collection::vec(prop::array::uniform3(number()), count)
    }

    fn share() -> impl Strategy<Value = f64> {
        prop_oneof![Just(-1.0), Just(1.0), -1.0..=1.0f64]
    }

    /// `normal . x` for the point of the zonotope at `at`, in twice the precision, and the size of its terms.
    fn along(n: &[f64; 3], center: &[f64; 3], generators: &[[f64; 3]], at: &[f64]) -> (Twofold, f64) {
        let mut sum = Twofold::from(0.0);
        let mut size = 0.0;
        for i in 0..3 {
            let mut x = Twofold::from(center[i]);
            size += (n[i] * center[i]).abs();
            for (g, s) in generators.iter().zip(at) {
                x = x.add(Twofold::product(g[i], *s));
                size += (n[i] * g[i]).abs();
            }
            sum = sum.add(x.mul(Twofold::from(n[i])));
        }
        (sum, size)
    }

    proptest! {
        #[test]
        fn no_point_leaves_its_half_spaces(
            center in prop::array::uniform3(number()),
            generators in (0..6usize).prop_flat_map(vectors),
            at in prop::array::uniform6(share()),
        ) {
            for side in half_spaces::<Counted>(&center, &generators) {
                let (x, size) = along(&side.normal, &center, &generators, &at);
                let over = x.sub(Twofold::from(side.offset)).head;
                prop_assert!(over <= 1e-28 * size + 1e-300, "{side:?}: {over}");
            }
        }

        #[test]
        fn a_sum_of_points_is_in_the_sum(
            centers in (prop::array::uniform3(number()), prop::array::uniform3(number())),
            generators in (vectors(3), vectors(2)),
            at in prop::array::uniform5(share()),
            n in prop::array::uniform3(-1.0..1.0f64),
        ) {
            let (a, b) = ((&centers.0, &generators.0[..]), (&centers.1, &generators.1[..]));
            let (center, all) = minkowski_sum::<Counted>(a, b);
            let (x, p) = along(&n, a.0, a.1, &at[..3]);
            let (y, q) = along(&n, b.0, b.1, &at[3..]);
            let over = x.add(y).sub(Twofold::from(zonotope_above::<Counted>(&n, &center, &all))).head;
            prop_assert!(over <= 1e-28 * (p + q) + 1e-300);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_with_generators(
            generators in (0..12usize).prop_flat_map(vectors),
            most in 0..10usize,
            at in prop::array::uniform12(share()),
            n in prop::array::uniform3(-1.0..1.0f64),
        ) {
            let fewer = reduced(&generators, most);
            prop_assert!(fewer.len() <= most.max(3).max(generators.len().min(3)));
            let (x, size) = along(&n, &[0.0; 3], &generators, &at);
            let over = x.sub(Twofold::from(zonotope_above::<Counted>(&n, &[0.0; 3], &fewer))).head;
            prop_assert!(over <= 1e-28 * size + 1e-300, "{over}");
        }
    }

    fn scaled(vectors: &[[f64; 3]], by: f64) -> Vec<[f64; 3]> {
        vectors.iter().map(|g| g.map(|x| x * by)).collect()
    }

    proptest! {
        /// Multiplied by a power of two, and what comes out divided by it again, near overflow and where products vanish.
        #[test]
        fn size_loses_nothing(
            center in prop::array::uniform3(-1.0..1.0f64),
            generators in prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), 0..7),
            exponent in prop::sample::select(vec![-1000, -520, 500, 1022]),
            at in prop::array::uniform8(share()),
        ) {
            let (by, back) = (2f64.powi(exponent), 2f64.powi(-exponent));
            let (big, all) = (center.map(|x| x * by), scaled(&generators, by));
            let holds = |n: &[f64; 3], offset: f64, center: &[f64; 3], generators: &[[f64; 3]]| {
                let (x, size) = along(n, center, generators, &at);
                // What is beyond all numbers bounds everything.
                offset == f64::INFINITY || x.sub(Twofold::from(offset * back)).head <= 1e-28 * size
            };
            for side in half_spaces::<Counted>(&big, &all) {
                prop_assert!(holds(&side.normal, side.offset, &center, &generators), "{side:?}");
            }
            let n = [0.3, -0.7, 0.2];
            let fewer = reduced(&all, 4);
            prop_assert!(holds(&n, zonotope_above::<Counted>(&n, &big, &fewer), &center, &generators));
            let half = scaled(&generators, 0.5 * by);
            let (sum, parts) = minkowski_sum::<Counted>((&big, &half), (&[0.0; 3], &half));
            prop_assert!(holds(&n, zonotope_above::<Counted>(&n, &sum, &parts), &center, &generators));
        }
    }

    #[test]
    fn zonotopes_without_volume_have_half_spaces_too() {
        let line = [[1.0, 2.0, 0.0], [-0.5, -1.0, -0.0], [0.0; 3]];
        let sides = half_spaces::<Counted>(&[0.0, 0.0, -0.0], &line);
        let over = |n: [f64; 3]| {
            sides.iter().filter(|s| s.normal == n).map(|s| s.offset).fold(f64::INFINITY, f64::min)
        };
        assert!((1.5..1.5 + 1e-14).contains(&over([1.0, 0.0, 0.0])) && over([0.0, 0.0, 1.0]).abs() < 1e-100);
        assert!(sides.iter().all(|s| s.normal.iter().chain([&s.offset]).all(|x| x.is_finite())));
        assert_eq!(reduced(&[], 3), Vec::<[f64; 3]>::new());
        let beyond = minkowski_sum::<Counted>((&[1e308; 3], &[]), (&[1e308; 3], &[]));
        assert_eq!(zonotope_above::<Counted>(&[1.0, 0.0, 0.0], &beyond.0, &beyond.1), f64::INFINITY);
    }

    #[test]
    fn the_half_spaces_of_a_box_are_its_sides() {
        let sides =
            half_spaces::<Counted>(&[1.0, 0.0, 0.0], &[[0.5, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]);
        let offset = |n: [f64; 3]| sides.iter().find(|s| s.normal == n).unwrap().offset;
        for (n, expected) in [([1.0, 0.0, 0.0], 1.5), ([-1.0, 0.0, 0.0], -0.5), ([0.0, -1.0, 0.0], 2.0)] {
            assert!((expected..expected + 1e-14).contains(&offset(n)));
        }
        let whole = half_spaces::<Counted>(&[0.0; 3], &[[f64::NAN, 0.0, 0.0]]);
        assert!(whole.iter().all(|s| s.offset == f64::INFINITY || s.normal[0] == 0.0 || s.offset.is_nan()));
    }

    proptest! {
    #[test]
    fn support_covers_all_points(
        u in prop::array::uniform3(harness::number()), p in prop::array::uniform3(expression()), e in symbols(),
        g in prop::collection::vec(prop::array::uniform3(harness::number()), 0..6), c in prop::array::uniform3(harness::number()),
        t in prop::collection::vec(-1.0..=1.0_f64, 6),
    ) {
        support::<Counted>(&u, &p, &e, &g, &c, &t)?;
        #[cfg(feature = "inari")]
        support::<crate::enclose::second::Directed>(&u, &p, &e, &g, &c, &t)?;
    }
    }

    /// Supports of a point made of forms and of a zonotope, against members of both.
    fn support<R: Rounding>(
        u: &[f64; 3],
        p: &[Expression; 3],
        e: &[f64; N],
        g: &[[f64; 3]],
        c: &[f64; 3],
        t: &[f64],
    ) -> Result<(), TestCaseError> {
        let (mut value, mut mass) = (Twofold::from(0.0), 0.0);
        for (u, p) in u.iter().zip(p) {
            let (x, m) = p.value(e);
            value = value.add(x.mul(Twofold::from(*u)));
            mass += u.abs() * m;
        }
        let point = [0, 1, 2].map(|i| p[i].enclose::<R>());
        let slack = 1e-28 * mass;
        prop_assert!(support_below(u, &point) <= value.head + slack);
        prop_assert!(support_above(u, &point) >= value.head - slack);

        let dot = |x: &[f64; 3]| {
            let part = |i: usize| Twofold::from(u[i]).mul(Twofold::from(x[i]));
            part(0).add(part(1)).add(part(2))
        };
        let corner = g.iter().fold(dot(c), |sum, g| sum.add(dot(g).abs()));
        let member = g.iter().zip(t).fold(dot(c), |sum, (g, t)| sum.add(dot(g).mul(Twofold::from(*t))));
        let above = Twofold::from(zonotope_above::<R>(u, c, g));
        prop_assert!(above.sub(corner).head >= 0.0 && above.sub(member).head >= -1e-20);
        prop_assert!(above.sub(corner).head <= 1e-13 * corner.head.abs() + 1e-9);
        Ok(())
    }
}
