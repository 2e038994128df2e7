use super::*;
use crate::robot::{
    ControlGains, Friction, Joint, JointKind, JointLimits, Placement, SensorBounds, Uncertainty,
};
use nalgebra::Rotation3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn vector(rng: &mut ChaCha8Rng, size: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| rng.random_range(-size..size))
}

fn capsule(rng: &mut ChaCha8Rng) -> Capsule {
    Capsule { a: vector(rng, 1.0), b: vector(rng, 1.0), radius: rng.random_range(0.01..0.2) }
}

fn oriented_box(rng: &mut ChaCha8Rng) -> OrientedBox {
    let turn = Rotation3::new(vector(rng, 3.0));
    let generators = [0, 1, 2]
        .map(|i| turn * Vector3::from_fn(|j, _| if i == j { rng.random_range(0.05..0.6) } else { 0.0 }));
    OrientedBox::new(vector(rng, 0.5), generators).unwrap()
}

/// Signed distance of a point from a box, by its definition.
fn point_box(p: &Vector3<f64>, b: &OrientedBox) -> f64 {
    let over = b.local(p).abs() - b.half;
    let outside = over.map(|x| x.max(0.0)).norm();
    if outside > 0.0 { outside } else { over.max() }
}

fn on(c: &Capsule, i: usize, n: usize) -> Vector3<f64> {
    c.a + (c.b - c.a) * (i as f64 / n as f64)
}

#[test]
fn capsule_box_agrees_with_dense_sampling() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut inside = 0;
    for _ in 0..3000 {
        let (c, b) = (capsule(&mut rng), oriented_box(&mut rng));
        let found = capsule_box(&c, &b);
        let sampled =
            (0..=2000).map(|i| point_box(&on(&c, i, 2000), &b)).fold(f64::INFINITY, f64::min) - c.radius;
        let spacing = (c.b - c.a).norm() / 2000.0;
        assert!(
            found.distance <= sampled + 1e-12 && found.distance >= sampled - spacing,
            "{found:?} {sampled}"
        );
        assert!((found.direction.norm() - 1.0).abs() < 1e-12);
        assert!(point_box(&found.on_other, &b).abs() < 1e-12);
        let signed = found.direction.dot(&(found.on_link - found.on_other)) - c.radius;
        assert!((signed - found.distance).abs() < 1e-12);
        inside += usize::from(found.distance < -c.radius);
    }
    assert!(inside > 300, "{inside} axes inside");
}

#[test]
fn capsule_capsule_agrees_with_dense_sampling() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for trial in 0..1000 {
        let (mut c, mut d) = (capsule(&mut rng), capsule(&mut rng));
        match trial % 5 {
            0 => d.b = d.a,
            1 => d.b = d.a + (c.b - c.a) * rng.random_range(-1.0..1.0),
            2 => (c.b, d.b) = (c.a, d.a),
            _ => {}
        }
        let found = capsule_capsule(&c, &d);
        let sampled = (0..=400).flat_map(|i| (0..=400).map(move |j| (i, j)));
        let sampled =
            sampled.map(|(i, j)| (on(&c, i, 400) - on(&d, j, 400)).norm()).fold(f64::INFINITY, f64::min);
        let sampled = sampled - c.radius - d.radius;
        let spacing = ((c.b - c.a).norm() + (d.b - d.a).norm()) / 400.0;
        assert!(found.distance <= sampled + 1e-12 && found.distance >= sampled - spacing);
        let signed = found.direction.dot(&(found.on_link - found.on_other)) - c.radius - d.radius;
        assert!((signed - found.distance).abs() < 1e-12);
    }
}

#[test]
fn crossing_and_flat_shapes_have_a_direction() {
    let x = Capsule { a: -Vector3::x(), b: Vector3::x(), radius: 0.1 };
    let y = Capsule { a: -Vector3::y(), b: Vector3::y(), radius: 0.1 };
    for (one, two) in [(x, y), (x, x)] {
        let found = capsule_capsule(&one, &two);
        assert!((found.distance + 0.2).abs() < 1e-12);
        assert!((found.direction.norm() - 1.0).abs() < 1e-12 && found.direction.x.abs() < 1e-12);
    }
    let floor = OrientedBox::new(Vector3::zeros(), [Vector3::x(), Vector3::zeros(), Vector3::y()]).unwrap();
    let tip = Capsule { a: Vector3::new(0.3, 0.2, 0.5), b: Vector3::new(0.3, 0.2, 0.9), radius: 0.1 };
    let found = capsule_box(&tip, &floor);
    assert!((found.distance - 0.4).abs() < 1e-12 && (found.direction - Vector3::z()).norm() < 1e-12);
    let point = OrientedBox::new(Vector3::zeros(), [Vector3::zeros(); 3]).unwrap();
    assert!((capsule_box(&x, &point).distance + 0.1).abs() < 1e-12);
}

#[test]
fn boxes_that_are_none_are_refused() {
    let skew = [Vector3::x(), Vector3::new(0.1, 1.0, 0.0), Vector3::z()];
    let found = OrientedBox::new(Vector3::zeros(), skew).unwrap_err();
    assert!(matches!(found, GeometryError::NotOrthogonal { first: 0, second: 1, .. }), "{found}");
    let nan = [Vector3::x(), Vector3::y() * f64::NAN, Vector3::z()];
    assert!(matches!(OrientedBox::new(Vector3::zeros(), nan), Err(GeometryError::NotFinite { .. })));
}

/// Two turning joints a metre apart, then a sliding one; a capsule on each body and a base post.
pub(crate) fn small_robot() -> Robot {
    let joint = |name: &str, kind, parent, x: f64, position| Joint {
        name: name.into(),
        link: format!("{name}_link"),
        kind,
        parent,
        placement: Placement { rotation: Matrix3::identity(), translation: Vector3::new(x, 0.0, 0.0) },
        limits: JointLimits { position, velocity: 2.0, torque: 50.0 },
        friction: Friction { coulomb: 0.5, viscous: 0.5, armature: 0.1, offset: 0.0 },
        inertia: [1.0, 0.3, 0.0, 0.05, 0.05, 0.0, 0.2, 0.0, 0.0, 0.2],
    };
    let bar = |name: &str, joint, length: f64| LinkShape {
        name: name.into(),
        joint,
        capsule: Capsule { a: Vector3::zeros(), b: Vector3::new(length, 0.0, 0.0), radius: 0.05 },
    };
    Robot {
        name: "planar".into(),
        gravity: Vector3::new(0.0, 0.0, -9.81),
        joints: vec![
            joint("one", JointKind::Revolute, None, 0.0, Some((-3.0, 3.0))),
            joint("two", JointKind::Continuous, Some(0), 1.0, None),
            joint("three", JointKind::Prismatic, Some(1), 0.5, Some((-0.5, 0.5))),
        ],
        shapes: vec![
            bar("post", None, 0.0),
            bar("upper", Some(0), 1.0),
            bar("fore", Some(1), 0.5),
            bar("tip", Some(2), 0.1),
        ],
        self_pairs: vec![(0, 2), (0, 3)],
        end_effector: 2,
        uncertainty: Uncertainty { link_ratio: 0.05, friction_ratio: 0.05, armature_ratio: 0.05 },
        sensors: SensorBounds {
            position_rad: 0.0,
            velocity_rad_s: 0.0,
            torque_ratio: 0.0,
            torque_abs_nm: 0.0,
        },
        control: ControlGains {
            k_r: 10.0,
            alpha: 20.0,
            v_max: 1e-4,
            period_s: 1e-3,
            stiction_speed_rad_s: 0.01,
        },
    }
}

#[test]
fn kinematics_of_a_planar_arm_with_a_slider() {
    let robot = small_robot();
    let (a, b) = (0.7, -1.2);
    let frames = body_frames(&robot, &[a, b, 0.25]);
    let elbow = Vector3::new(a.cos(), a.sin(), 0.0);
    let tip = elbow + 0.5 * Vector3::new((a + b).cos(), (a + b).sin(), 0.0) + Vector3::z() * 0.25;
    assert!((Vector3::from(frames[1].origin) - elbow).norm() < 1e-15);
    assert!((Vector3::from(frames[2].origin) - tip).norm() < 1e-15);
}

#[test]
fn clearance_names_the_pair() {
    let robot = small_robot();
    let wall = OrientedBox::new(
        Vector3::new(1.9, 0.0, 0.0),
        [Vector3::x() * 0.1, Vector3::y() * 0.5, Vector3::z() * 0.5],
    );
    let straight = clearance(&robot, &[0.0, 0.0, 0.0], &[wall.unwrap()]).unwrap();
    assert_eq!((straight.shape, straight.neighbour), (3, Neighbour::Obstacle(0)));
    assert!((straight.distance - 0.15).abs() < 1e-12);
    let folded = clearance(&robot, &[0.0, std::f64::consts::PI, 0.0], &[]).unwrap();
    assert_eq!((folded.shape, folded.neighbour), (0, Neighbour::Shape(3)));
    assert!((folded.distance - 0.3).abs() < 1e-9);
}

#[test]
fn a_clearance_is_cheap() {
    let robot = small_robot();
    let block = [Vector3::x() * 0.1, Vector3::y() * 0.5, Vector3::z() * 0.5];
    let wall = OrientedBox::new(Vector3::new(1.9, 0.0, 0.0), block).unwrap();
    let begin = std::time::Instant::now();
    let mut sum = 0.0;
    for i in 0..10_000 {
        sum += clearance(&robot, &[1e-4 * f64::from(i), 0.0, 0.0], &[wall; 5]).unwrap().distance;
    }
    println!("3 capsules, 5 boxes: {:?} (sum {sum})", begin.elapsed() / 10_000);
    assert!(sum.is_finite() && begin.elapsed().as_secs() < 5);
}
