//! The faces of a zonotope, for pictures.

use nalgebra::Vector3;

use super::scene::Zonotope3;

/// Generators that are shorter than this share of the longest one, or closer to a plane, count as of no length, or in it.
const FLAT: f64 = 1e-9;

impl Zonotope3 {
    /// The corners of every face, in the order in which they follow each other round it, m, from the zonotope's centre. None where the zonotope has no
    /// volume. Plain floating point: no certificate rests on it.
    ///
    /// Two generators span the plane of two opposite faces. All generators in that plane make up a face; the others reach as far as they can
    /// along its normal.
    pub fn faces(&self) -> Vec<Vec<Vector3<f64>>> {
        let longest = self.generators.iter().map(Vector3::norm).fold(0.0, f64::max);
        let long = |g: &&Vector3<f64>| g.norm() > FLAT * longest;
        let generators: Vec<Vector3<f64>> = self.generators.iter().filter(long).copied().collect();
        let mut normals: Vec<Vector3<f64>> = vec![];
        let mut faces = vec![];
        for (i, g) in generators.iter().enumerate() {
            for h in &generators[i + 1..] {
                let Some(normal) = g.cross(h).try_normalize(FLAT * g.norm() * h.norm()) else { continue };
                if normals.iter().any(|known| known.cross(&normal).norm() < 1e-6) {
                    continue;
                }
                normals.push(normal);
                let (flat, steep): (Vec<&Vector3<f64>>, Vec<&Vector3<f64>>) =
                    generators.iter().partition(|x| x.dot(&normal).abs() <= 1e-6 * x.norm());
                if steep.is_empty() {
                    continue;
                }
                for side in [normal, -normal] {
                    let away: Vector3<f64> = steep.iter().map(|&x| x * x.dot(&side).signum()).sum();
                    faces.push(around(away, &flat, &side));
                }
            }
        }
        faces
    }
}

/// The polygon { away + sum x_k flat_k, |x_k| <= 1 }, counter-clockwise about `normal`.
fn around(away: Vector3<f64>, flat: &[&Vector3<f64>], normal: &Vector3<f64>) -> Vec<Vector3<f64>> {
    let axis = *flat[0];
    let across = normal.cross(&axis);
    // All point to one side, in the order of their angles: the edges of half the outline.
    let mut edges: Vec<(f64, Vector3<f64>)> = flat
        .iter()
        .map(|&&x| {
            let (u, v) = (x.dot(&axis), x.dot(&across));
            let one_way = if v < 0.0 || (v == 0.0 && u < 0.0) { -x } else { x };
            (one_way.dot(&across).atan2(one_way.dot(&axis)), one_way)
        })
        .collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Edges in one line are one edge.
    edges.dedup_by(|next, last| {
        let same = next.0 - last.0 <= FLAT;
        if same {
            last.1 += next.1;
        }
        same
    });
    let mut corner = away - edges.iter().map(|edge| edge.1).sum::<Vector3<f64>>();
    let mut corners = Vec::with_capacity(2 * edges.len());
    for side in [2.0, -2.0] {
        for (_, edge) in &edges {
            corners.push(corner);
            corner += *edge * side;
        }
    }
    corners
}

#[cfg(test)]
mod tests {
    use nalgebra::Matrix3;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn zonotope(generators: Vec<Vector3<f64>>) -> Zonotope3 {
        Zonotope3::still("some", Vector3::new(0.3, -0.2, 0.9), generators)
    }

    #[test]
    fn a_box_has_six_faces_of_four_corners() {
        let size = Vector3::new(0.2, 0.4, 0.6);
        let faces = Zonotope3::cuboid("box", Vector3::zeros(), size, &Matrix3::identity()).faces();
        assert_eq!(faces.len(), 6);
        for face in faces {
            assert_eq!(face.len(), 4);
            assert!(face.iter().all(|corner| (2.0 * corner.abs() - size).amax() < 1e-12));
        }
    }

    /// Every corner is in the zonotope, every direction's furthest point is a corner, and every face is seen from outside counter-clockwise.
    #[test]
    fn the_corners_are_those_of_the_zonotope() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for round in 0..200 {
            let mut random = || Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0));
            let mut generators: Vec<Vector3<f64>> = (0..3 + round % 4).map(|_| random()).collect();
            // Three in one plane, and one that is another's multiple.
            if round % 3 == 0 {
                generators.push(generators[0] + generators[1] * 0.5);
                generators.push(generators[2] * -0.3);
            }
            let zonotope = zonotope(generators);
            let faces = zonotope.faces();
            for _ in 0..50 {
                let u = random();
                let furthest = u.dot(&(zonotope.support(&u) - zonotope.center));
                let most = faces.iter().flatten().map(|x| u.dot(x)).fold(f64::NEG_INFINITY, f64::max);
                assert!((furthest - most).abs() < 1e-9, "{furthest} {most}");
            }
            for face in &faces {
                let normal = (face[1] - face[0]).cross(&(face[2] - face[1]));
                assert!(normal.dot(&face[0]) > 0.0);
            }
        }
    }

    #[test]
    fn what_has_no_volume_has_no_faces() {
        assert!(zonotope(vec![]).faces().is_empty());
        assert!(zonotope(vec![Vector3::x(), Vector3::y(), Vector3::new(1.0, 1.0, 0.0)]).faces().is_empty());
    }
}
