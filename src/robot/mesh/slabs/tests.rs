use std::f64::consts::PI;

use nalgebra::Rotation3;
use proptest::prelude::*;

use super::*;

/// A closed tube of flat faces about z, from height 0 to `length`, turned and moved.
fn tube(corners: usize, radius: f64, length: f64, turn: [f64; 3], at: [f64; 3]) -> Vec<Triangle> {
    let turn = Rotation3::from_euler_angles(turn[0], turn[1], turn[2]);
    let place = |x: f64, y: f64, z: f64| turn * Vector3::new(x, y, z) + Vector3::from(at);
    let ring = |k: usize, z: f64| {
        let (s, c) = (2.0 * PI * k as f64 / corners as f64).sin_cos();
        place(radius * c, radius * s, z)
    };
    let mut faces = Vec::new();
    for k in 0..corners {
        let [a, b, c, d] = [ring(k, 0.0), ring(k + 1, 0.0), ring(k + 1, length), ring(k, length)];
        faces.extend([[a, b, c], [a, c, d], [a, b, place(0.0, 0.0, 0.0)], [c, d, place(0.0, 0.0, length)]]);
    }
    faces
}

fn within(capsules: &[Capsule], p: &Vector3<f64>) -> bool {
    capsules.iter().any(|capsule| distance_to_segment(capsule, p) <= capsule.radius)
}

fn parts() -> impl Strategy<Value = Vec<Triangle>> {
    let turn = prop_oneof![Just([0.0; 3]), prop::array::uniform3(-3.0..3.0)];
    let one = (3_usize..24, 0.01..0.1, 0.01..0.6, turn, prop::array::uniform3(-0.4..0.4));
    prop::collection::vec(one.prop_map(|(n, r, l, turn, at)| tube(n, r, l, turn, at)), 1..4)
        .prop_map(|tubes| tubes.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Points of triangles, those next to cuts too, and points between two of the same height, which are inside of what is closed.
    #[test]
    fn no_point_of_a_mesh_escapes(mesh in parts(), shares in prop::collection::vec(prop::array::uniform3(0.0..1.0), 60)) {
        let capsules = cover(&mesh).unwrap();
        prop_assert!(!capsules.is_empty() && capsules.len() <= MOST);
        let point = |t: &Triangle, [s, u, _]: [f64; 3]| {
            let (s, u) = if s + u > 1.0 { (1.0 - s, 1.0 - u) } else { (s, u) };
            t[0] + (t[1] - t[0]) * s + (t[2] - t[0]) * u
        };
        for triangle in &mesh {
            for share in &shares {
                let p = point(triangle, *share);
                prop_assert!(within(&capsules, &p), "{p:?} of {triangle:?} is outside {capsules:?}");
            }
        }
    }

    /// The inside of one closed tube, whatever its position.
    #[test]
    fn what_a_mesh_encloses_is_held(
        n in 3_usize..24, radius in 0.01..0.1, length in 0.01..0.9, turn in prop::array::uniform3(-3.0..3.0),
        at in prop::array::uniform3(-0.4..0.4), shares in prop::collection::vec(prop::array::uniform3(0.0..1.0), 200),
    ) {
        let capsules = cover(&tube(n, radius, length, turn, at)).unwrap();
        let rotation = Rotation3::from_euler_angles(turn[0], turn[1], turn[2]);
        let inner = radius * (PI / n as f64).cos();
        for share in shares {
            let [r, angle, z]: [f64; 3] = share;
            let (s, c) = (2.0 * PI * angle).sin_cos();
            let p = rotation * Vector3::new(inner * r * c, inner * r * s, length * z) + Vector3::from(at);
            prop_assert!(within(&capsules, &p), "{p:?} is outside {capsules:?}");
        }
    }

    /// No corner below the plane is kept, and nothing above it is lost.
    #[test]
    fn a_cut_keeps_what_is_above(
        corners in prop::array::uniform3(prop::array::uniform3(prop_oneof![Just(0.0_f64), -1.0..1.0_f64, -1e-9..1e-9_f64])), height in -0.5..0.5,
        shares in prop::collection::vec(prop::array::uniform2(0.0..1.0), 20),
    ) {
        let triangle: Triangle = corners.map(Vector3::from);
        let kept = clip(&triangle, &Vector3::z(), height);
        prop_assert!(kept.len() <= 4 && kept.iter().all(|p| p.z >= height - 1e-12));
        for [s, u] in shares {
            let (s, u) = if s + u > 1.0 { (1.0 - s, 1.0 - u) } else { (s, u) };
            let p: Vector3<f64> = triangle[0] + (triangle[1] - triangle[0]) * s + (triangle[2] - triangle[0]) * u;
            // Inside a convex polygon no direction separates it.
            if p.z >= height + 1e-10 {
                for k in 0..24 {
                    let (b, a) = (PI * f64::from(k) / 12.0).sin_cos();
                    let d = Vector3::new(a, b, 0.3 * a - 0.2 * b);
                    let most = kept.iter().map(|q| q.dot(&d)).fold(f64::NEG_INFINITY, f64::max);
                    prop_assert!(p.dot(&d) <= most + 1e-12);
                }
            }
        }
    }
}

#[test]
fn a_bent_link_gets_capsules_along_its_limbs() {
    // A long tube with a short one across at each end, as upper arms have.
    let half = 0.5 * PI;
    let mesh = [
        tube(24, 0.05, 0.5, [0.0; 3], [0.0; 3]),
        tube(24, 0.06, 0.16, [half, 0.0, 0.0], [0.0, 0.08, 0.0]),
        tube(24, 0.06, 0.16, [half, 0.0, 0.0], [0.0, 0.08, 0.5]),
    ]
    .concat();
    let capsules = cover(&mesh).unwrap();
    assert!((2..=MOST).contains(&capsules.len()), "{capsules:?}");
    let volume: f64 = capsules.iter().map(fit::volume).sum();
    let one = enclosing(&mesh.concat(), &Vector3::z()).unwrap();
    assert!(volume < 0.75 * fit::volume(&one), "{volume} of {}", fit::volume(&one));
}

#[test]
fn flat_meshes_are_held_and_far_ones_refused() {
    let flat = [[Vector3::zeros(), Vector3::x(), Vector3::y()]];
    assert!(cover(&flat).unwrap().iter().all(|capsule| capsule.fault().is_none()));
    let point = [[Vector3::x(); 3]];
    let found = cover(&point).unwrap();
    assert!(found.len() == 1 && found[0].radius > 0.0 && found[0].fault().is_none());
    assert!(cover(&[[Vector3::x() * 1e3; 3]]).unwrap_err().contains("unit"));
    assert!(cover(&[[Vector3::x() * f64::NAN; 3]]).is_err());
    assert!(cover(&[]).unwrap_err().contains("no faces"));
}
