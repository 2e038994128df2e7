//! A good direction to separate two zonotopes in. Nothing here is trusted: any direction is sound (see
//! [`super::links`]); a good one only makes the proven distance large.

use crate::dynamics::vec3;

/// Coordinate-descent sweeps; segments against boxes settle within a dozen.
const SWEEPS: usize = 40;

/// Unit vector from the point nearest to the origin's side: the minimiser x of |difference + sum lambda_k g_k|,
/// |lambda_k| <= 1, divided by its length. `difference` is the first set's centre minus the second's, and `generators`
/// are those of both sets, so x points from the second set to the first. If the sets overlap, some unit vector. `lambda` is
/// storage.
pub fn nearest_direction<'a>(
    difference: [f64; 3],
    generators: impl Iterator<Item = &'a [f64; 3]> + Clone,
    lambda: &mut Vec<f64>,
) -> [f64; 3] {
    lambda.clear();
    lambda.extend(generators.clone().map(|_| 0.0));
    let mut x = difference;
    for _ in 0..SWEEPS {
        let mut moved = 0.0f64;
        for (g, weight) in generators.clone().zip(lambda.iter_mut()) {
            let length = vec3::dot(g, g);
            if length <= 0.0 {
                continue;
            }
            let best = (*weight - vec3::dot(&x, g) / length).clamp(-1.0, 1.0);
            let step = best - *weight;
            x = vec3::add(&x, &vec3::times(g, step));
            *weight = best;
            moved = moved.max(step.abs());
        }
        if moved < 1e-9 {
            break;
        }
    }
    unit(&x).or_else(|| unit(&difference)).unwrap_or([0.0, 0.0, 1.0])
}

fn unit(x: &[f64; 3]) -> Option<[f64; 3]> {
    let length = vec3::dot(x, x).sqrt();
    (length > 1e-9 && length.is_finite()).then(|| vec3::times(x, 1.0 / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_from_a_box_to_a_segment() {
        // Segment along y at x = 2, unit box at the origin: the direction is +x.
        let u = nearest_direction(
            [2.0, 0.3, 0.0],
            [[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]].iter(),
            &mut vec![],
        );
        assert!((u[0] - 1.0).abs() < 1e-6 && u[1].abs() < 1e-6 && u[2].abs() < 1e-6, "{u:?}");
    }

    #[test]
    fn gives_a_direction_even_inside() {
        let u = nearest_direction([0.0; 3], [[1.0, 0.0, 0.0]].iter(), &mut vec![]);
        assert!((vec3::dot(&u, &u) - 1.0).abs() < 1e-12);
    }
}
