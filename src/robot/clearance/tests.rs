use nalgebra::Rotation3;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::robot::fixture::small_robot;

fn vector(rng: &mut ChaCha8Rng, size: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| rng.random_range(-size..size))
}

fn capsule(rng: &mut ChaCha8Rng) -> Capsule {
    Capsule { a: vector(rng, 1.0), b: vector(rng, 1.0), radius: rng.random_range(0.01..0.2) }
}

fn zonotope(center: Vector3<f64>, generators: Vec<Vector3<f64>>) -> Zonotope3 {
    Zonotope3::still("obstacle", center, generators)
}

fn on(c: &Capsule, share: f64) -> Vector3<f64> {
    c.a + (c.b - c.a) * share
}

/// Shapes of every kind: crossing, parallel, points, one inside the other.
fn odd(rng: &mut ChaCha8Rng, trial: usize) -> (Capsule, Capsule) {
    let (mut c, mut d) = (capsule(rng), capsule(rng));
    match trial % 5 {
        0 => d.b = d.a,
        1 => d.b = d.a + (c.b - c.a) * rng.random_range(-1.0..1.0),
        2 => (c.b, d.b) = (c.a, d.a),
        _ => {}
    }
    (c, d)
}

#[test]
fn capsules_agree_with_dense_sampling() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for trial in 0..1000 {
        let (c, d) = odd(&mut rng, trial);
        let found = between_capsules(&c, &d);
        let shares =
            (0..=400).flat_map(|i| (0..=400).map(move |j| (f64::from(i) / 400.0, f64::from(j) / 400.0)));
        let sampled = shares.map(|(i, j)| (on(&c, i) - on(&d, j)).norm()).fold(f64::INFINITY, f64::min);
        let sampled = sampled - c.radius - d.radius;
        let spacing = ((c.b - c.a).norm() + (d.b - d.a).norm()) / 400.0;
        assert!(found <= sampled + 1e-12 && found >= sampled - spacing, "{found} {sampled}");
    }
}

#[test]
fn boxes_agree_with_dense_sampling() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut touching = 0;
    for _ in 0..3000 {
        let (c, turn) = (capsule(&mut rng), Rotation3::new(vector(&mut rng, 3.0)));
        let half = Vector3::from_fn(|_, _| rng.random_range(0.05..0.6));
        let b = Zonotope3::cuboid("box", vector(&mut rng, 0.5), 2.0 * half, turn.matrix());
        let outside = |p: Vector3<f64>| (turn.inverse() * (p - b.center)).abs() - half;
        let distance = |p: Vector3<f64>| outside(p).map(|x| x.max(0.0)).norm();
        let sampled =
            (0..=2000).map(|i| distance(on(&c, f64::from(i) / 2000.0))).fold(f64::INFINITY, f64::min);
        let (found, spacing) = (to_zonotope(&c, &b) + c.radius, (c.b - c.a).norm() / 2000.0);
        assert!(found <= sampled + 1e-12 && found >= sampled - spacing, "{found} {sampled}");
        touching += usize::from(found == 0.0);
    }
    assert!(touching > 300, "{touching} axes inside");
}

/// Distance of the axis from the zonotope by coordinate descent on |a + s (b - a) - centre - sum x_k g_k|^2.
fn by_descent(c: &Capsule, z: &Zonotope3) -> f64 {
    let columns: Vec<(Vector3<f64>, f64, f64)> = z.generators.iter().map(|g| (-g, -1.0, 1.0)).collect();
    let columns = [columns, vec![(c.b - c.a, 0.0, 1.0)]].concat();
    let (mut x, mut off) = (vec![0.0; columns.len()], c.a - z.center);
    for _ in 0..3000 {
        for (x, (column, lower, upper)) in x.iter_mut().zip(&columns) {
            let best = *x - off.dot(column) / column.norm_squared().max(1e-300);
            let next = best.clamp(*lower, *upper);
            off += column * (next - *x);
            *x = next;
        }
    }
    off.norm()
}

#[test]
fn general_zonotopes_agree_with_an_optimiser() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut apart = 0;
    for trial in 0..500 {
        let (c, _) = odd(&mut rng, trial);
        let count = trial % 7;
        let mut generators: Vec<_> = (0..count).map(|_| vector(&mut rng, 0.3)).collect();
        if trial % 3 == 0 {
            // Flat.
            generators.iter_mut().for_each(|g| g.z = 0.0);
        }
        let z = zonotope(vector(&mut rng, 1.0), generators);
        let (found, expected) = (to_zonotope(&c, &z) + c.radius, by_descent(&c, &z));
        assert!((found - expected).abs() < 1e-5, "{trial}: {found} {expected}");
        assert!(to_point(&c, &z.center) - reach(&z) <= found - c.radius + 1e-12);
        apart += usize::from(found > 0.01);
    }
    assert!(apart > 200, "{apart}");
}

#[test]
fn clearance_names_the_pair() {
    let robot = small_robot();
    let wall = |x: f64| {
        zonotope(Vector3::new(x, 0.0, 0.0), vec![Vector3::x() * 0.1, Vector3::y() * 0.5, Vector3::z() * 0.5])
    };
    let straight = robot.frames(&[0.0, 0.0, 0.0]);
    let scene = Scene { obstacles: vec![wall(4.0), wall(1.9), wall(2.5)] };
    let found = robot.obstacle_clearance(&straight, &scene).unwrap();
    assert_eq!((found.shape, found.to), (3, Obstruction::Obstacle(1)));
    assert!((found.distance - 0.15).abs() < 1e-12);
    assert_eq!(robot.obstacle_clearance(&straight, &Scene::default()), None);
    let folded = robot.self_clearance(&robot.frames(&[0.0, std::f64::consts::PI, 0.0])).unwrap();
    assert_eq!((folded.shape, folded.to), (0, Obstruction::Shape(3)));
    assert!((folded.distance - 0.3).abs() < 1e-9);
}

#[test]
fn pairs_left_out_are_never_the_nearest() {
    let robot = small_robot();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..500 {
        let generators = |rng: &mut ChaCha8Rng| (0..4).map(|_| vector(rng, 0.2)).collect();
        let obstacles: Vec<_> =
            (0..6).map(|_| zonotope(vector(&mut rng, 2.0), generators(&mut rng))).collect();
        let q = vector(&mut rng, 3.0);
        let frames = robot.frames(q.as_slice());
        let all = (1..4).flat_map(|s| {
            let placed = robot.placed_capsule(s, &frames);
            obstacles.iter().map(move |o| to_zonotope(&placed, o))
        });
        let least = all.fold(f64::INFINITY, f64::min);
        let scene = Scene { obstacles: obstacles.clone() };
        assert_eq!(robot.obstacle_clearance(&frames, &scene).unwrap().distance, least);
    }
}

#[test]
fn kinematics_of_a_planar_arm_with_a_slider() {
    let robot = small_robot();
    let (a, b) = (0.7, -1.2);
    let frames = robot.frames(&[a, b, 0.25]);
    let elbow = Vector3::new(a.cos(), a.sin(), 0.0);
    let tip = elbow + 0.5 * Vector3::new((a + b).cos(), (a + b).sin(), 0.0) + Vector3::z() * 0.25;
    assert!((frames[1].translation - elbow).norm() < 1e-15);
    assert!((frames[2].translation - tip).norm() < 1e-15);
}

#[test]
fn the_quick_bound_is_below_the_distance_and_the_quick_answer_is_the_slow_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut skipped = 0;
    for trial in 0..3000 {
        let c = capsule(&mut rng);
        let turn = Rotation3::new(vector(&mut rng, 3.0));
        let half = Vector3::from_fn(|_, _| rng.random_range(0.05..0.6));
        let center = vector(&mut rng, 1.5);
        let z = match trial % 3 {
            0 => Zonotope3::cuboid("box", center, 2.0 * half, turn.matrix()),
            1 => zonotope(center, (0..4).map(|_| vector(&mut rng, 0.3)).collect()),
            _ => zonotope(center, vec![vector(&mut rng, 0.5), Vector3::zeros()]),
        };
        let (bound, distance) = (at_least(&c, &z), to_zonotope(&c, &z));
        assert!(bound <= distance.max(-c.radius) + 1e-9 || bound < 0.0, "{bound} {distance}");
        skipped += usize::from(bound > 0.1);
    }
    assert!(skipped > 500, "{skipped}: the bound is of no use");
    let robot = crate::robot::load("kinova_gen3").unwrap();
    for _ in 0..300 {
        let mut scene = Scene::default();
        for _ in 0..6 {
            let side = Vector3::from_fn(|_, _| rng.random_range(0.05..0.4));
            let center = vector(&mut rng, 0.9);
            scene.obstacles.push(Zonotope3::cuboid("box", center, side, &nalgebra::Matrix3::identity()));
        }
        let q: Vec<f64> = (0..7).map(|_| rng.random_range(-2.0..2.0)).collect();
        let frames = robot.frames(&q);
        let distance = robot.obstacle_clearance(&frames, &scene).unwrap().distance;
        for keep in [0.0, 0.02, 0.1] {
            assert_eq!(
                robot.keeps_from_obstacles(&frames, &scene, keep),
                distance >= keep,
                "{distance} {keep}"
            );
        }
    }
}
