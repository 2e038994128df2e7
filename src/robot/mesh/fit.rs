//! A small capsule around points. Nothing here is proven, nor need it be: what it returns is enlarged by [`super::slabs`], with a proof.

use std::f64::consts::PI;

use nalgebra::{Vector2, Vector3};

use crate::robot::shape::Capsule;

/// Directions in which points are searched that stand out.
const DIRECTIONS: usize = 160;
/// How much wider than its narrowest a capsule may be, where that makes it shorter.
const WIDER: [f64; 5] = [1.0, 1.05, 1.12, 1.25, 1.5];
/// First and last step of the search for a direction, rad.
const STEPS: [f64; 2] = [0.3, 0.01];

/// Volume, m^3.
pub(super) fn volume(capsule: &Capsule) -> f64 {
    PI * capsule.radius.powi(2) * ((capsule.b - capsule.a).norm() + 4.0 / 3.0 * capsule.radius)
}

/// Those of the points that lie furthest in one of many directions.
pub(super) fn outstanding(points: &[Vector3<f64>]) -> Vec<Vector3<f64>> {
    let mut chosen: Vec<usize> = (0..DIRECTIONS)
        .filter_map(|k| {
            // A spiral of equal areas on the sphere.
            let z = 1.0 - (2.0 * k as f64 + 1.0) / DIRECTIONS as f64;
            let (s, c) = (PI * (3.0 - 5f64.sqrt()) * k as f64).sin_cos();
            let r = (1.0 - z * z).sqrt();
            let direction = Vector3::new(r * c, r * s, z);
            (0..points.len()).max_by(|&i, &j| points[i].dot(&direction).total_cmp(&points[j].dot(&direction)))
        })
        .collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|k| points[k]).collect()
}

/// A capsule of small volume that holds the points but for rounding, along one of the directions; with `search`, along what is found near the
/// best of them. None without points.
pub(super) fn around(points: &[Vector3<f64>], directions: &[Vector3<f64>], search: bool) -> Option<Capsule> {
    let mut best = None;
    for direction in directions.iter().filter_map(|d| d.try_normalize(1e-9)) {
        offer(points, direction, &mut best);
    }
    let mut step = STEPS[0];
    while search && step > STEPS[1] {
        let [u, v] = across(&best?.1);
        let at = best?.1;
        let turned = [u, -u, v, -v].map(|side| (at + step * side).normalize());
        if !turned.into_iter().any(|direction| offer(points, direction, &mut best)) {
            step *= 0.5;
        }
    }
    best.map(|(capsule, _)| capsule)
}

/// Keeps the capsule along `direction` if it is smaller than the best so far, and says so.
fn offer(
    points: &[Vector3<f64>],
    direction: Vector3<f64>,
    best: &mut Option<(Capsule, Vector3<f64>)>,
) -> bool {
    let Some(found) = along(points, &direction) else { return false };
    let better = best.is_none_or(|(capsule, _)| volume(&found) < volume(&capsule));
    if better {
        *best = Some((found, direction));
    }
    better
}

/// Two unit vectors that are upright to `direction` and to each other.
fn across(direction: &Vector3<f64>) -> [Vector3<f64>; 2] {
    let u = direction.cross(&Vector3::ith(direction.iamin(), 1.0)).normalize();
    [u, direction.cross(&u)]
}

/// The best capsule along a unit vector.
fn along(points: &[Vector3<f64>], direction: &Vector3<f64>) -> Option<Capsule> {
    let [u, v] = across(direction);
    let flat: Vec<Vector2<f64>> = points.iter().map(|p| Vector2::new(p.dot(&u), p.dot(&v))).collect();
    let (center, radius) = circle(&flat)?;
    let narrow = radius.max(1e-6);
    let with = |radius: f64| {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (p, f) in points.iter().zip(&flat) {
            // How far a ball of that radius reaches past its centre at the point's distance from the axis.
            let reach = (radius.powi(2) - (f - center).norm_squared()).max(0.0).sqrt();
            let height = p.dot(direction);
            (low, high) = (low.min(height + reach), high.max(height - reach));
        }
        if low > high {
            (low, high) = (0.5 * (low + high), 0.5 * (low + high));
        }
        let base = u * center.x + v * center.y;
        Capsule { a: base + direction * low, b: base + direction * high, radius }
    };
    let all = WIDER.map(|factor| with(narrow * factor));
    all.into_iter().min_by(|x, y| volume(x).total_cmp(&volume(y)))
}

/// The smallest circle around points, by Welzl's method without recursion; centre and radius.
fn circle(points: &[Vector2<f64>]) -> Option<(Vector2<f64>, f64)> {
    let outside =
        |(center, radius): (Vector2<f64>, f64), p: &Vector2<f64>| (p - center).norm() > radius + 1e-12;
    let through = |p: &Vector2<f64>, q: &Vector2<f64>| (0.5 * (p + q), 0.5 * (p - q).norm());
    let mut best = (*points.first()?, 0.0);
    for (i, p) in points.iter().enumerate() {
        if !outside(best, p) {
            continue;
        }
        best = (*p, 0.0);
        for (j, q) in points[..i].iter().enumerate() {
            if !outside(best, q) {
                continue;
            }
            best = through(p, q);
            for r in &points[..j] {
                if outside(best, r) {
                    best = circumscribed(p, q, r).unwrap_or(best);
                }
            }
        }
    }
    Some(best)
}

/// The circle through three points that are not on a line.
fn circumscribed(p: &Vector2<f64>, q: &Vector2<f64>, r: &Vector2<f64>) -> Option<(Vector2<f64>, f64)> {
    let (a, b) = (q - p, r - p);
    let twice = 2.0 * (a.x * b.y - a.y * b.x);
    if twice.abs() < 1e-18 {
        return None;
    }
    let (s, t) = (a.norm_squared() / twice, b.norm_squared() / twice);
    let off = Vector2::new(b.y * s - a.y * t, a.x * t - b.x * s);
    Some((p + off, off.norm()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn a_cylinder_gets_a_capsule_of_nearly_its_radius() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..20 {
            let axis = Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0)).normalize();
            let [u, v] = across(&axis);
            let rings = (0..64).flat_map(|k| {
                let (s, c) = (PI * f64::from(k) / 32.0).sin_cos();
                [-0.2, 0.2].map(|h| axis * h + (u * c + v * s) * 0.05)
            });
            let points: Vec<_> = rings.collect();
            let axes = [Vector3::x(), Vector3::y(), Vector3::z()];
            let found = around(&outstanding(&points), &axes, true).unwrap();
            // A cylinder of that size in a capsule of the same radius and length has this volume.
            let exact = Capsule { a: -0.2 * axis, b: 0.2 * axis, radius: 0.05 };
            assert!(volume(&found) < 1.2 * volume(&exact), "{} {}", volume(&found), volume(&exact));
        }
        assert!(around(&[], &[Vector3::x()], true).is_none());
    }
}
