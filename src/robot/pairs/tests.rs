use nalgebra::Vector3;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::robot::apart::{always_touch, never_touch};
use crate::robot::{Arm, Capsule, HeldShape, clearance, load};

fn gen3() -> Arm {
    load("kinova_gen3_2f85").unwrap()
}

fn capsule(a: [f64; 3], b: [f64; 3], radius: f64) -> Capsule {
    Capsule { a: a.into(), b: b.into(), radius }
}

fn named(robot: &Arm, pairs: &[(usize, usize)]) -> Vec<(String, String)> {
    let name = |shape: usize| robot.shapes()[shape].name.clone();
    pairs.iter().map(|&(a, b)| (name(a), name(b))).collect()
}

/// The robot as a file has it, changed by `edit`.
fn from_file(robot: &Arm, edit: impl Fn(&mut serde_json::Value)) -> Result<Arm, String> {
    let mut file = serde_json::to_value(robot).unwrap();
    edit(&mut file);
    serde_json::from_value(file).map_err(|error| error.to_string())
}

#[test]
fn pairs_are_derived_whatever_a_file_says_of_them() {
    for name in ["kinova_gen3_2f85", "kinova_gen3", "z1"] {
        let robot = load(name).unwrap();
        assert!(!robot.self_pairs().is_empty());
        let file = serde_json::to_value(&robot).unwrap();
        assert!(file.get("self_pairs").is_none(), "derived data have no place in a file");
        assert_eq!(from_file(&robot, |_| ()).unwrap(), robot);
        let emptied = from_file(&robot, |file| file["self_pairs"] = serde_json::json!([]));
        assert_eq!(emptied.unwrap().self_pairs(), robot.self_pairs());
    }
}

#[test]
fn ignored_pairs_are_kept_and_listed_as_trusted() {
    let robot = load("z1").unwrap();
    let ignored: Vec<_> = robot.ignored_pairs().iter().map(|pair| (pair.a, pair.b)).collect();
    let names = named(&robot, &ignored);
    assert_eq!(names, [("wrist_1_hub", "hand"), ("wrist_1", "hand")].map(|(a, b)| (a.into(), b.into())));
    let says = robot.trusted();
    assert!(says[0].contains("'wrist_1_hub' and 'hand'") && says[0].contains("17 mm"), "{says:?}");
    let back = from_file(&robot, |_| ()).unwrap();
    assert_eq!(back.trusted(), says);
    // Who takes the statement out of the file gets the pair back.
    let honest = from_file(&robot, |file| file["ignored_pairs"] = serde_json::json!([])).unwrap();
    assert!(
        ignored.iter().all(|pair| honest.self_pairs().contains(pair) && !robot.self_pairs().contains(pair))
    );
}

#[test]
fn a_file_with_capsules_that_cover_no_longer_is_refused() {
    let robot = gen3();
    let refused = |edit: &dyn Fn(&mut serde_json::Value), part: &str| {
        let message = from_file(&robot, edit).unwrap_err();
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    };
    for shape in 0..robot.shapes().len() {
        let radius = robot.shapes()[shape].capsule.radius;
        let name = &robot.shapes()[shape].name;
        refused(&|file| file["shapes"][shape]["capsule"]["radius"] = 0.0.into(), name);
        refused(
            &|file| file["shapes"][shape]["capsule"]["radius"] = (0.8 * radius).into(),
            "provably inside",
        );
        refused(&|file| file["shapes"][shape]["joint"] = 7.into(), "no such joint");
        refused(
            &|file| {
                file["shapes"].as_array_mut().unwrap().remove(shape);
            },
            "provably inside",
        );
    }
    refused(&|file| file["end_effector"] = 7.into(), "end_effector");
    refused(&|file| file["joints"][2]["parent"] = 2.into(), "parent before it");
    refused(
        &|file| file["ignored_pairs"] = serde_json::json!([{ "a": 0, "b": 99, "reason": "r" }]),
        "ignored_pairs",
    );
}

/// Positions of the joints within their limits.
fn anywhere(robot: &Arm, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let range = |j: &crate::robot::Joint| j.limits.position.unwrap_or((-4.0, 4.0));
    robot.joints.iter().map(range).map(|(lower, upper)| rng.random_range(lower..=upper)).collect()
}

#[test]
fn what_is_held_is_kept_apart_from_all_bodies_but_its_own() {
    let robot = gen3();
    // A stick held across that reaches back past the wrist: joint 7 turns it past the forearm's side of the arm.
    let stick = capsule([0.0, 0.13, -0.1], [0.0, 0.1, 0.07], 0.02);
    let held = robot.clone().with_payload_shape(&[stick], &[]).unwrap();
    assert_eq!(held.held(), HeldShape::Declared);
    let payload = held.shapes().len() - 1;
    assert_eq!(held.shapes()[payload].name, "payload");
    let own = Some(held.end_effector());
    for other in (0..payload).filter(|&s| held.shapes()[s].joint != own) {
        let kept = held.self_pairs().contains(&(other, payload));
        assert!(kept || never_touch(held.description(), other, payload), "{}", held.shapes()[other].name);
    }
    // The body before the hand is one of them: made thick enough to be met, it is.
    let mut thick = held.clone();
    let wrist = (0..payload).find(|&s| thick.shapes()[s].joint == Some(held.end_effector() - 1)).unwrap();
    thick.stated().shapes[wrist].capsule = capsule([0.0, -0.06, -0.1], [0.0, -0.06, -0.1], 0.05);
    thick.stated().parts.clear();
    thick.derive_pairs();
    assert!(thick.self_pairs().contains(&(wrist, payload)), "{:?}", named(&thick, thick.self_pairs()));
    // Without a shape, that is said.
    let unknown = robot.clone().with_payload_shape(&[], &[]).unwrap();
    assert_eq!(unknown.held(), HeldShape::Undeclared);
    assert!(unknown.trusted().last().unwrap().contains("not declared"), "{:?}", unknown.trusted());
    for radius in [0.0, -1.0, f64::NAN] {
        let fault = robot.clone().with_payload_shape(&[stick, Capsule { radius, ..stick }], &[]);
        assert!(fault.unwrap_err().to_string().contains("payload capsule 1: radius"));
    }
}

#[test]
fn a_held_object_inside_the_body_before_the_hand_is_named_with_the_way_out() {
    let robot = gen3();
    let ball = capsule([0.0; 3], [0.0, 0.0, -0.1], 0.06);
    let message = robot.clone().with_payload_shape(&[ball], &[]).unwrap_err().to_string();
    for part in ["payload capsule 0", "`wrist_2`", "`joint_7`", "several capsules", "payload.ignore"] {
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    }
    let ignored = [("wrist_2".to_owned(), "its handle is hollow there".to_owned())];
    let held = robot.clone().with_payload_shape(&[ball], &ignored).unwrap();
    let says = held.trusted();
    assert!(says.iter().any(|s| s.contains("'payload'") && s.contains("hollow")), "{says:?}");
    let unknown = robot.with_payload_shape(&[ball], &[("tail".to_owned(), String::new())]);
    assert!(unknown.unwrap_err().to_string().contains("`tail`"));
}

/// The rule against its words, with capsules of all sizes: no pair of different bodies is left out without a reason that holds.
#[test]
fn every_pair_that_is_left_out_has_a_reason() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut apart, mut about, mut kept) = (0, 0, 0);
    for _ in 0..12 {
        let mut robot = gen3();
        for shape in &mut robot.stated().shapes {
            shape.capsule.radius *= rng.random_range(0.5..1.4);
            shape.capsule.a += Vector3::from_fn(|_, _| rng.random_range(-0.03..0.03));
        }
        robot.derive_pairs();
        let hand = Some(robot.end_effector());
        let count = robot.shapes().len();
        for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
            let [on_a, on_b] = [a, b].map(|s| robot.shapes()[s].joint);
            let joined = robot.adjacent(on_a, on_b);
            if on_a == on_b || (joined && on_a != hand && on_b != hand) {
                assert!(!robot.self_pairs().contains(&(a, b)));
                continue;
            }
            if robot.self_pairs().contains(&(a, b)) {
                kept += 1;
                continue;
            }
            let signs: Vec<bool> = (0..300)
                .map(|_| {
                    let frames = robot.frames(&anywhere(&robot, &mut rng));
                    let [p, q] = [a, b].map(|k| robot.placed_capsule(k, &frames));
                    clearance::between_capsules(&p, &q) > 0.0
                })
                .collect();
            if joined && always_touch(robot.description(), a, b) {
                assert!(signs.iter().all(|free| !free), "left out for an overlap that is not always there");
                about += 1;
            } else {
                assert!(signs.iter().all(|free| *free), "{:?} can touch", named(&robot, &[(a, b)]));
                apart += 1;
            }
        }
    }
    assert!(apart > 100 && about > 10 && kept > 100, "{apart} {about} {kept}");
}

/// Distances at folded postures that ARMOUR's worlds start from or end at: with one capsule a link around hubs and tubes, the
/// first two overlapped by 25.5 mm and were 9.6 mm apart.
#[test]
fn folded_postures_that_the_arm_can_take_are_free() {
    for name in ["kinova_gen3", "kinova_gen3_2f85"] {
        let robot = load(name).unwrap();
        for (q, least) in [
            ([-2.342, 1.648, -2.393, -2.598, 0.747, -1.106, -2.552], 0.004),
            ([1.157, -0.019, -0.765, -0.593, 1.785, 2.104, 0.978], 0.02),
            ([1.762, -0.264, 1.052, -1.079, -2.329, 2.105, 1.136], 0.02),
            ([-0.796, -1.438, -0.825, 2.567, 2.013, -1.252, -1.754], 0.015),
        ] {
            let nearest = robot.self_clearance(&robot.frames(&q)).unwrap();
            assert!(nearest.distance > least, "{name}: {nearest:?} at {q:?}");
        }
    }
}
