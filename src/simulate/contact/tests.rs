use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::robot::{Collision, load};

const CALM: [f64; 7] = [0.3, -0.4, 3.1, -1.8, 0.2, 0.1, 1.5];

fn dumbbell() -> Capsule {
    Capsule { a: Vector3::new(0.0, -0.065, -0.18), b: Vector3::new(0.0, 0.065, -0.18), radius: 0.055 }
}

fn block(center: Vector3<f64>, side: f64) -> Scene {
    let size = Vector3::repeat(side);
    Scene { obstacles: vec![Zonotope3::cuboid("block", center, size, &Matrix3::identity())] }
}

/// Points on the surface of a primitive, placed.
fn surface(part: &CollisionPart, frames: &[Placement], rng: &mut ChaCha8Rng) -> Vec<Vector3<f64>> {
    let Collision { placement, primitive, .. } = &part.collision;
    let placed = part.joint.map_or(*placement, |joint| frames[joint].compose(placement));
    let radius = match primitive {
        Primitive::Capsule { radius, .. } | Primitive::Sphere { radius } => *radius,
        _ => 0.0,
    };
    let direction = |rng: &mut ChaCha8Rng| Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0f64));
    (0..4000)
        .map(|k| {
            let u = direction(rng);
            // Along sides and across ends, not at edges alone.
            let mut core = support(primitive, &u);
            let share = rng.random_range(0.0..1.0f64);
            match k % 3 {
                0 => core.z *= 2.0 * share - 1.0,
                1 => (core.x, core.y) = (core.x * share.sqrt(), core.y * share.sqrt()),
                _ => (),
            }
            placed.point(&(core + radius * u.normalize()))
        })
        .collect()
}

/// Distances against those of points on the surfaces.
#[test]
fn distances_agree_with_samples_of_the_surfaces() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let robot = load("z1").unwrap();
    let contacts = Contacts::new(&robot);
    let mut compared = 0;
    for _ in 0..6 {
        let q: Vec<f64> = robot
            .joints
            .iter()
            .map(|j| j.limits.position.map_or(0.0, |(lower, upper)| rng.random_range(lower..upper)))
            .collect();
        let frames = robot.frames(&q);
        for &(a, b) in contacts.pairs.iter().step_by(7) {
            let found = contacts.between(&frames, (a, b));
            let [p, q] = [a, b].map(|k| surface(&contacts.parts[k], &frames, &mut rng));
            let near = |x: &Vector3<f64>| q.iter().map(|y| (x - y).norm()).fold(f64::INFINITY, f64::min);
            let sampled = p.iter().step_by(9).map(near).fold(f64::INFINITY, f64::min);
            if found > 0.0 {
                assert!(found <= sampled + 1e-5 && found > sampled - 0.03, "{found} {sampled}");
                compared += 1;
            }
            let [around_a, around_b] = [a, b].map(|part| contacts.placed(part, &frames));
            let by_capsules = between_capsules(&around_a, &around_b);
            assert!(
                balls_apart(&around_a, &around_b) <= by_capsules + 1e-12
                    && by_capsules <= found.max(0.0) + 1e-6
            );
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Nothing of the certifier's list is in the auditor's: capsules and pairs may go, contacts stay.
#[test]
fn a_shape_that_is_missing_from_the_certifiers_list_is_still_seen() {
    let whole = load("kinova_gen3_2f85").unwrap().with_payload_shape(&[dumbbell()], &[]).unwrap();
    let mut blind = whole.clone();
    let hand = Some(whole.end_effector());
    blind.stated().shapes.retain(|shape| shape.joint != hand);
    blind.pairs().clear();
    let frames = whole.frames(&CALM);
    let held = whole.shapes().last().unwrap().capsule.placed(&frames[whole.end_effector()]);
    // At the dumbbell's end, and where the wrist is not.
    let scene = block(held.a + 0.02 * (held.a - held.b).normalize(), 0.05);
    assert!(blind.obstacle_clearance(&frames, &scene).unwrap().distance > 0.02);
    for robot in [&whole, &blind] {
        assert!(Contacts::new(robot).clearance(&frames, &scene, true).distance_m <= 0.0);
        assert!(Contacts::new(robot).clearance(&frames, &Scene::default(), true).distance_m > 0.0);
    }
    // The same for the arm against itself.
    let (mut rng, mut folded) = (ChaCha8Rng::seed_from_u64(2), 0);
    for _ in 0..3000 {
        let limits = |j: &crate::robot::Joint| j.limits.position.unwrap_or((-3.0, 3.0));
        let q: Vec<f64> =
            whole.joints.iter().map(limits).map(|(lower, upper)| rng.random_range(lower..upper)).collect();
        let frames = whole.frames(&q);
        if whole.self_clearance(&frames).unwrap().distance < -0.05 {
            assert!(blind.self_clearance(&frames).is_none());
            assert!(
                Contacts::new(&blind).clearance(&frames, &Scene::default(), true).distance_m <= 0.0,
                "{q:?}"
            );
            folded += 1;
        }
    }
    assert!(folded > 10, "{folded}");
}

/// What a file ignores is looked at nonetheless, unless it stands for a mesh, which is smaller.
#[test]
fn capsules_around_meshes_may_overlap_where_a_file_ignores_them() {
    let mut arm = load("kinova_gen3_2f85").unwrap();
    let mut contacts = Contacts::new(&arm);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut random = || {
        let limits = |j: &crate::robot::Joint| j.limits.position.unwrap_or((-3.0, 3.0));
        let limits = arm.joints.iter().map(limits);
        arm.frames(&limits.map(|(lower, upper)| rng.random_range(lower..upper)).collect::<Vec<f64>>())
    };
    let touches =
        |frames: &Vec<Placement>| contacts.clearance(frames, &Scene::default(), true).distance_m < 0.0;
    let frames = (0..3000).map(|_| random()).find(touches).unwrap();
    let least = |arm: &Arm| Contacts::new(arm).clearance(&frames, &Scene::default(), true).distance_m;
    let touching = least(&arm);
    let count = arm.shapes().len();
    for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
        let reason = "a test".to_owned();
        arm.stated().ignored_pairs.push(crate::robot::IgnoredPair { a, b, reason });
    }
    assert_eq!(least(&arm), touching);
    arm.stated().parts.iter_mut().for_each(|part| part.holds_mesh = true);
    assert!(least(&arm) > 0.0);
    arm.stated().ignored_pairs.clear();
    assert_eq!(least(&arm), touching);
}

/// A held object that the last joint turns past the body before it: the two are looked at.
#[test]
fn the_body_before_the_hand_is_looked_at() {
    let robot = load("kinova_gen3").unwrap();
    let stick =
        |z: f64| Capsule { a: Vector3::new(0.0, 0.06, -0.05), b: Vector3::new(0.0, 0.05, z), radius: 0.01 };
    let touching = robot.clone().with_payload_shape(&[stick(0.09)], &[]).unwrap();
    let frames = |robot: &Arm, turn: f64| {
        let mut q = CALM;
        q[6] = turn;
        robot.frames(&q)
    };
    let mut contacts = Contacts::new(&touching);
    let mut at = |turn: f64| contacts.clearance(&frames(&touching, turn), &Scene::default(), true).distance_m;
    let turns: Vec<f64> = (0..24).map(|k| at(f64::from(k) * PI / 12.0)).collect();
    assert!(turns.iter().any(|d| *d <= 0.0) && turns.iter().any(|d| *d > 0.0), "{turns:?}");
    // The certifier's list has that pair too.
    let payload = touching.shapes().len() - 1;
    let before = Some(touching.end_effector() - 1);
    assert!(touching.self_pairs().iter().any(|&(a, b)| b == payload && touching.shapes()[a].joint == before));
}

/// What was nearest before is looked at first, and never all that is looked at: the answer is that of one who remembers nothing, over small steps and large ones,
/// where obstacles begin or cease to count, and where there are fewer.
#[test]
fn what_was_nearest_before_changes_no_answer() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let robot = load("kinova_gen3_2f85").unwrap();
    let fresh = Contacts::new(&robot);
    let (mut remembering, mut changes) = (fresh.clone(), 0);
    for _ in 0..60 {
        let mut q = CALM.map(|q| q + rng.random_range(-0.4..0.4));
        let hand = robot.frames(&q)[robot.end_effector()].translation;
        let mut obstacle = |speed: f64| {
            let center = hand + Vector3::from_fn(|_, _| rng.random_range(-0.3..0.3));
            let mut scene = block(center, 0.1);
            scene.obstacles[0].speed_m_s = speed;
            scene.obstacles.remove(0)
        };
        let mut scene = Scene { obstacles: vec![obstacle(0.0), obstacle(0.3), obstacle(0.0)] };
        for step in 0..40 {
            q.iter_mut().for_each(|q| *q += rng.random_range(-0.1..0.1));
            let (frames, moving) = (robot.frames(&q), rng.random_bool(0.5));
            if step == 30 {
                scene.obstacles.truncate(1);
            }
            let before = remembering.last;
            let nearest = remembering.clearance(&frames, &scene, moving);
            let alone = fresh.clone().clearance(&frames, &scene, moving);
            assert!((nearest.distance_m - alone.distance_m).abs() <= 1e-12, "{nearest:?} {alone:?}");
            assert!(nearest.distance_m <= 0.0 || nearest.between == alone.between, "{nearest:?} {alone:?}");
            changes += u32::from(nearest.between != before);
        }
    }
    assert!(changes > 100, "{changes}");
}

/// What the capsules keep apart is apart for the auditor: no contact that the proof has excluded.
#[test]
fn parts_do_not_touch_where_the_capsules_that_cover_them_are_apart() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for name in ["kinova_gen3_2f85", "z1"] {
        let robot = load(name).unwrap();
        let mut contacts = Contacts::new(&robot);
        let mut apart = 0;
        for _ in 0..300 {
            let q: Vec<f64> = robot
                .joints
                .iter()
                .map(|j| j.limits.position.unwrap_or((-3.0, 3.0)))
                .map(|(lower, upper)| rng.random_range(lower..upper))
                .collect();
            let frames = robot.frames(&q);
            let scene = block(Vector3::from_fn(|_, _| rng.random_range(-0.7..0.7)), 0.2);
            let by_capsules = robot.obstacle_clearance(&frames, &scene).unwrap().distance;
            let with_itself = robot.self_clearance(&frames).unwrap().distance;
            if by_capsules.min(with_itself) > 0.0 {
                assert!(contacts.clearance(&frames, &scene, true).distance_m > 0.0, "{name} {q:?}");
                apart += 1;
            }
        }
        assert!(apart > 50, "{name}: {apart}");
    }
}
