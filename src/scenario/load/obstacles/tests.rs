use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::enclose::twofold::Twofold;

type Exact = [[Twofold; 3]; 3];

/// The rotation by these angles, about the fixed axes x, then y, then z, in twice the precision; columns.
fn exact_rotation([roll, pitch, yaw]: [f64; 3]) -> Exact {
    let [(sr, cr), (sp, cp), (sy, cy)] = [roll, pitch, yaw].map(|x| Twofold::from(x).sin_cos());
    [
        [cy.mul(cp), sy.mul(cp), sp.neg()],
        [cy.mul(sp).mul(sr).sub(sy.mul(cr)), sy.mul(sp).mul(sr).add(cy.mul(cr)), cp.mul(sr)],
        [cy.mul(sp).mul(cr).add(sy.mul(sr)), sy.mul(sp).mul(cr).sub(cy.mul(sr)), cp.mul(cr)],
    ]
}

fn determinant([a, b, c]: &Exact) -> Twofold {
    let part = |i: usize, j: usize, k: usize| a[i].mul(b[j].mul(c[k]).sub(b[k].mul(c[j])));
    part(0, 1, 2).add(part(1, 2, 0)).add(part(2, 0, 1))
}

fn precise(v: &Vector3<f64>) -> [Twofold; 3] {
    [v.x, v.y, v.z].map(Twofold::from)
}

/// The largest |x_k| of the corner in terms of three generators, minus one: not above zero inside the box.
fn beyond(sides: &Exact, corner: [Twofold; 3]) -> f64 {
    let whole = determinant(sides);
    let shares = (0..3).map(|k| {
        let mut other = *sides;
        other[k] = corner;
        determinant(&other).div(whole).abs().sub(Twofold::from(1.0)).head
    });
    shares.fold(f64::NEG_INFINITY, f64::max)
}

fn angles(rng: &mut ChaCha8Rng) -> [f64; 3] {
    let size = [1e-9, 0.1, 3.2, 1e3][rng.random_range(0..4)];
    std::array::from_fn(|_| rng.random_range(-size..size))
}

/// The obstacle that a scenario file gets by these lines.
fn obstacle(lines: &str) -> Zonotope3 {
    let obstacle: Obstacle =
        toml::from_str(&format!("name = \"brick\"\ncenter_m = [0.0, 0.0, 0.0]\n{lines}")).unwrap();
    let scene = Check { path: Path::new("test.toml") }.scene(&[obstacle]).unwrap();
    scene.obstacles.into_iter().next().unwrap()
}

/// Every corner of the exactly turned box is inside the one that is used; as rounded to nearest, many are outside.
#[test]
fn a_turned_box_contains_the_exact_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let (mut outside_without, mut room) = (0, 0.0f64);
    for _ in 0..3000 {
        let (rpy, flat) = (angles(&mut rng), [1.0, 1.0, 1e-3, 1e-6]);
        let size = Vector3::from_fn(|_, _| rng.random_range(0.01..2.0) * flat[rng.random_range(0..4)]);
        let used = obstacle(&format!("size_m = {:?}\nrpy_rad = {rpy:?}", size.as_slice()));
        let [roll, pitch, yaw] = rpy;
        let rotation = Rotation3::from_euler_angles(roll, pitch, yaw).into_inner();
        let nearest = Zonotope3::cuboid("nearest", Vector3::zeros(), size, &rotation);
        assert_eq!((used.generators.len(), used.center), (3, Vector3::zeros()));
        let exact = exact_rotation(rpy);
        let sides = |z: &Zonotope3| -> Exact { [0, 1, 2].map(|k| precise(&z.generators[k])) };
        let (ours, plain) = (sides(&used), sides(&nearest));
        let mut outside = false;
        for k in 0..8 {
            let half = |i: usize| Twofold::from(0.5 * size[i] * if k >> i & 1 == 0 { -1.0 } else { 1.0 });
            let corner = [0, 1, 2]
                .map(|row| (0..3).fold(Twofold::from(0.0), |sum, i| sum.add(exact[i][row].mul(half(i)))));
            let off = beyond(&ours, corner);
            assert!(off <= 0.0, "{rpy:?} {size:?}: corner {k} is outside by {off:.2e}");
            outside |= beyond(&plain, corner) > 0.0;
            room = room.max((used.generators[0].norm() / (0.5 * size.x) - 1.0) * size.x / size.sum());
        }
        outside_without += usize::from(outside);
    }
    assert!(
        outside_without > 1000,
        "{outside_without}: rounding to nearest would do, the test attacks nothing"
    );
    assert!(room < 1e-12, "boxes grow by {room:.1e} of their size");
}

/// Support of the exactly turned zonotope is within that of the one that is used, in any direction.
#[test]
fn a_turned_zonotope_contains_the_exact_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(18);
    let mut outside_without = 0;
    for _ in 0..1000 {
        let rpy = angles(&mut rng);
        let count = rng.random_range(1..6);
        let own: Vec<[f64; 3]> =
            (0..count).map(|_| std::array::from_fn(|_| rng.random_range(-0.5..0.5))).collect();
        let used = obstacle(&format!("generators_m = {own:?}\nrpy_rad = {rpy:?}"));
        assert_eq!(used.generators.len(), count + 3);
        let exact = exact_rotation(rpy);
        let turned: Vec<[Twofold; 3]> = own
            .iter()
            .map(|g| {
                [0, 1, 2].map(|row| {
                    (0..3).fold(Twofold::from(0.0), |s, i| s.add(exact[i][row].mul(Twofold::from(g[i]))))
                })
            })
            .collect();
        for axis in 0..3 {
            let truth = turned.iter().fold(Twofold::from(0.0), |sum, g| sum.add(g[axis].abs()));
            let reach = |generators: &[Vector3<f64>]| {
                generators.iter().fold(Twofold::from(0.0), |sum, g| sum.add(Twofold::from(g[axis]).abs()))
            };
            assert!(truth.sub(reach(&used.generators)).head <= 0.0, "{rpy:?} {own:?}");
            outside_without += usize::from(truth.sub(reach(&used.generators[..count])).head > 0.0);
        }
    }
    assert!(outside_without > 300, "{outside_without}");
}

#[test]
fn a_box_that_is_not_turned_is_exactly_what_the_file_says() {
    for rpy in ["", "rpy_rad = [0.0, 0.0, 0.0]"] {
        let plain = obstacle(&format!("size_m = [0.3, 0.1, 0.7]\n{rpy}"));
        assert_eq!(plain.generators, [Vector3::x() * 0.15, Vector3::y() * 0.05, Vector3::z() * 0.35]);
    }
}
