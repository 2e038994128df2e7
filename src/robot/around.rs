//! Boxes, in any position, around point sets and convex meshes.
//!
//! # Proven
//! The box is { c + G x, |x_i| <= 1 }. For any H near the inverse of G and E = I - H G, a point p = c + G x has
//! H (p - c) = x - E x, hence |x| <= |H (p - c)| / (1 - |E|) in the maximum norm, if |E| < 1. Evaluated with outward-rounded
//! intervals this is at most one for every point, or the box is enlarged; whatever holds the vertices of a convex mesh
//! holds the mesh.

use nalgebra::{Matrix3, Vector3};

use super::scene::Zonotope3;
use crate::enclose::Interval;
use crate::scalar::Scalar;

/// How often a box is enlarged by a millionth before it is given up. The first margin suffices where vertices are finite;
/// the number is only there to end.
const ATTEMPTS: usize = 4;

impl Zonotope3 {
    /// A box that provably contains all `points` (m), and the convex hull of them: along the axes or along the principal
    /// axes of the points, whichever is smaller. None if there is no point, or one that is not finite.
    pub fn around(name: impl Into<String>, points: &[Vector3<f64>]) -> Option<Self> {
        if points.is_empty() || points.iter().any(|p| p.iter().any(|x| !x.is_finite())) {
            return None;
        }
        let mean = points.iter().sum::<Vector3<f64>>() / points.len() as f64;
        let scatter: Matrix3<f64> = points.iter().map(|p| (p - mean) * (p - mean).transpose()).sum();
        let finite = scatter.iter().all(|x| x.is_finite());
        let principal = finite.then(|| scatter.symmetric_eigen().eigenvectors);
        let boxes = [Some(Matrix3::identity()), principal].into_iter().flatten();
        let boxes = boxes.filter_map(|axes| along(axes, points));
        let smallest = boxes.min_by(|a, b| volume(a).total_cmp(&volume(b)))?;
        let (center, sides) = smallest;
        Some(Self::still(name, center, (0..3).map(|k| sides.column(k).into()).collect()))
    }
}

fn volume(candidate: &(Vector3<f64>, Matrix3<f64>)) -> f64 {
    candidate.1.determinant().abs()
}

/// Centre and half-sides, as columns, of a box along `axes` that is proven to contain the points.
fn along(axes: Matrix3<f64>, points: &[Vector3<f64>]) -> Option<(Vector3<f64>, Matrix3<f64>)> {
    let size = points.iter().map(|p| p.amax()).fold(0.0, f64::max);
    let ends = |k: usize| {
        let places = points.iter().map(|p| axes.column(k).dot(p));
        places.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)))
    };
    let center = axes * Vector3::from_fn(|k, _| 0.5 * (ends(k).0 + ends(k).1));
    // Flat sets get some thickness, lest the box have no inverse.
    let mut half = Vector3::from_fn(|k, _| 0.5 * (ends(k).1 - ends(k).0) + 1e-9 * size + 1e-12);
    for _ in 0..ATTEMPTS {
        let sides = axes * Matrix3::from_diagonal(&half);
        let inverse = Matrix3::from_diagonal(&half.map(|h| 1.0 / h)) * axes.transpose();
        if contains(&center, &sides, &inverse, points) {
            return Some((center, sides));
        }
        half *= 1.0 + 1e-6;
    }
    None
}

fn contains(
    center: &Vector3<f64>,
    sides: &Matrix3<f64>,
    inverse: &Matrix3<f64>,
    points: &[Vector3<f64>],
) -> bool {
    let dot = |row: usize, x: [Interval; 3]| {
        (0..3).fold(Interval::zero(), |sum, k| sum + Interval::constant(inverse[(row, k)]) * x[k])
    };
    let mut error = 0.0f64;
    for row in 0..3 {
        let entries = (0..3).map(|column| {
            let product = dot(row, std::array::from_fn(|k| Interval::constant(sides[(k, column)])));
            (Interval::constant(if row == column { 1.0 } else { 0.0 }) - product).abs()
        });
        error = error.max(entries.fold(Interval::zero(), |sum, x| sum + x).upper());
    }
    let room = (Interval::constant(1.0) - Interval::constant(error)).lower();
    room > 0.0
        && points.iter().all(|p| {
            let off = std::array::from_fn(|k| Interval::constant(p[k]) - Interval::constant(center[k]));
            (0..3).all(|row| dot(row, off).sup_abs() <= room)
        })
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::enclose::twofold::Twofold;

    #[test]
    fn a_rotated_brick_gets_a_box_of_its_size() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..200 {
            let turn = Rotation3::from_euler_angles(rng.random(), rng.random(), rng.random());
            let (half, at) = (Vector3::new(0.5, 0.2, 0.1), Vector3::new(rng.random(), -2.0, rng.random()));
            let corner = |k: usize| Vector3::from_fn(|i, _| if k >> i & 1 == 1 { half[i] } else { -half[i] });
            let points: Vec<_> = (0..8).map(|k| at + turn * corner(k)).collect();
            let found = Zonotope3::around("brick", &points).unwrap();
            let sides =
                Matrix3::from_columns(&[found.generators[0], found.generators[1], found.generators[2]]);
            assert!((sides.determinant().abs() / (half.x * half.y * half.z) - 1.0).abs() < 1e-6);
            // Support in any direction, of points inside too.
            for _ in 0..20 {
                let u = Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0));
                let inside = at + turn * half.map(|h| h * rng.random_range(-1.0..=1.0));
                assert!(u.dot(&found.support(&u)) >= u.dot(&inside) - 1e-12);
            }
        }
    }

    /// Clouds of all sizes and shapes, against Cramer's rule in twice the precision.
    #[test]
    fn no_point_of_a_cloud_is_outside_its_box() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..2000 {
            let size = 2f64.powi([-200, -30, 0, 10, 200][rng.random_range(0..5)]);
            let flat = Vector3::from_fn(|_, _| [1.0, 1.0, 1e-3, 1e-12, 0.0, -0.0][rng.random_range(0..6)]);
            let turn = Rotation3::from_euler_angles(rng.random(), rng.random(), rng.random());
            let at = Vector3::from_fn(|_, _| size * [0.0, -0.0, 1.0, 50.0][rng.random_range(0..4)]);
            let one = |rng: &mut ChaCha8Rng| flat.map(|f| size * f * rng.random_range(-1.0..=1.0));
            let points: Vec<_> = (0..rng.random_range(1..30)).map(|_| at + turn * one(&mut rng)).collect();
            let Some(found) = Zonotope3::around("cloud", &points) else {
                assert!(!(1e-9..=1e9).contains(&size), "no box around {points:?}");
                continue;
            };
            let column = |v: &Vector3<f64>| [v.x, v.y, v.z].map(|x| Twofold::from(x / size));
            let sides = [0, 1, 2].map(|k| column(&found.generators[k]));
            let whole = determinant(&sides);
            for p in &points {
                let off: [Twofold; 3] = std::array::from_fn(|i| {
                    Twofold::from(p[i] / size).sub(Twofold::from(found.center[i] / size))
                });
                for k in 0..3 {
                    let mut other = sides;
                    other[k] = off;
                    let share = determinant(&other).div(whole).head.abs();
                    assert!(share <= 1.0 + 1e-15, "{p:?} at {share} of side {k} of {found:?}");
                }
            }
        }
    }

    fn determinant([a, b, c]: &[[Twofold; 3]; 3]) -> Twofold {
        let part = |i: usize, j: usize, k: usize| a[i].mul(b[j].mul(c[k]).sub(b[k].mul(c[j])));
        part(0, 1, 2).add(part(1, 2, 0)).add(part(2, 0, 1))
    }

    #[test]
    fn flat_sets_and_single_points_are_boxed_and_nonsense_is_not() {
        let point = |x: f64, y: f64, z: f64| Vector3::new(x, y, z);
        let triangle = [point(0.0, 0.0, 1.0), point(1.0, 0.0, 1.0), point(0.0, 2.0, 1.0)];
        for points in [&triangle[..], &triangle[..1], &triangle[..2], &[point(0.0, -0.0, 0.0)]] {
            let found = Zonotope3::around("flat", points).unwrap();
            let sides =
                Matrix3::from_columns(&[found.generators[0], found.generators[1], found.generators[2]]);
            let inverse = sides.try_inverse().unwrap();
            assert!(points.iter().all(|p| (inverse * (p - found.center)).amax() <= 1.0));
        }
        assert!(Zonotope3::around("none", &[]).is_none());
        assert!(Zonotope3::around("nan", &[point(f64::NAN, 0.0, 0.0)]).is_none());
        assert!(Zonotope3::around("far", &[point(1.7e308, 0.0, 0.0), point(-1.7e308, 0.0, 0.0)]).is_none());
    }
}
