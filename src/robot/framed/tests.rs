use nalgebra::{Rotation3, Vector3};
use proptest::prelude::*;

use super::*;
use crate::inertia::pseudo::from_center_of_mass;
use crate::robot::{PayloadWords, load};

fn placed(rpy: [f64; 3], at: [f64; 3]) -> Placement {
    let rotation = Rotation3::from_euler_angles(rpy[0], rpy[1], rpy[2]).into_inner();
    Placement { rotation, translation: at.into() }
}

/// The ten parameters in the joint's frame of point masses that are stated in a link's.
fn points(frame: &Placement, masses: &[(f64, [f64; 3])]) -> [f64; INERTIAL] {
    let mut sum = [0.0; INERTIAL];
    for (mass, p) in masses {
        let one = from_center_of_mass(*mass, &frame.point(&Vector3::from(*p)), &Matrix3::zeros());
        (0..INERTIAL).for_each(|k| sum[k] += one[k]);
    }
    sum
}

/// Mass, centre and moments about it, from the points alone.
fn figures(masses: &[(f64, [f64; 3])]) -> (f64, [f64; 3], [f64; 6]) {
    let total: f64 = masses.iter().map(|(m, _)| m).sum();
    let com: [f64; 3] = std::array::from_fn(|k| masses.iter().map(|(m, p)| m * p[k]).sum::<f64>() / total);
    let moment = |i: usize, j: usize| {
        let off = |p: &[f64; 3], k: usize| p[k] - com[k];
        let of = |p: &[f64; 3]| {
            let square: f64 = (0..3).map(|k| off(p, k).powi(2)).sum();
            if i == j { square - off(p, i).powi(2) } else { -off(p, i) * off(p, j) }
        };
        masses.iter().map(|(m, p)| m * of(p)).sum()
    };
    (total, com, SIX.map(|(i, j)| moment(i, j)))
}

fn inside(bounds: &FramedBounds, masses: &[(f64, [f64; 3])]) -> bool {
    let (total, com, six) = figures(masses);
    let within = |[low, high]: [f64; 2], x: f64| low - 1e-12 <= x && x <= high + 1e-12;
    within(bounds.mass_kg, total)
        && bounds.com_m.is_none_or(|box_of| (0..3).all(|k| within(box_of[k], com[k])))
        && (0..6).all(|k| within(bounds.inertia_kg_m2[k], six[k]))
}

proptest! {
    /// Bodies anywhere in the box of ten intervals, in frames turned any way, light ones whose mass may be 0 too.
    #[test]
    fn every_body_of_the_box_is_within_its_bounds(
        rpy in prop_oneof![Just([0.0; 3]), Just([std::f64::consts::FRAC_PI_2, 0.0, 0.0]), prop::array::uniform3(-3.0..3.0)],
        at in prop::array::uniform3(-0.5..0.5),
        masses in prop::collection::vec((0.001..1.0, prop::array::uniform3(-0.3..0.3)), 1..12),
        below in prop::array::uniform10(0.0..1.0), above in prop::array::uniform10(0.0..1.0),
        width in prop_oneof![Just(0.0), Just(1e-9), 0.0..0.1, 0.0..3.0],
    ) {
        let frame = placed(rpy, at);
        let theta = points(&frame, &masses);
        let lower = std::array::from_fn(|k| theta[k] - width * below[k] - 1e-13);
        let upper = std::array::from_fn(|k| theta[k] + width * above[k] + 1e-13);
        let bounds = FramedBounds::of(&lower, &upper, &frame).unwrap();
        prop_assert!(inside(&bounds, &masses), "{bounds:?} {masses:?}");
        let shown = FramedBody::of(&theta, &frame).unwrap();
        let (total, com, six) = figures(&masses);
        prop_assert!((shown.mass_kg - total).abs() < 1e-12);
        prop_assert!((0..3).all(|k| (shown.com_m[k] - com[k]).abs() < 1e-10), "{shown:?} {com:?}");
        prop_assert!((0..6).all(|k| (shown.inertia_kg_m2[k] - six[k]).abs() < 1e-10), "{shown:?} {six:?}");
    }
}

/// A payload of 2 kg along the maker's +y is printed along the maker's +y, whatever the joint's own axes are.
#[test]
fn a_payload_along_the_makers_y_is_shown_there() {
    let robot = load("ur5e").unwrap();
    let frames = robot.tool_frames();
    let tool = frames.get(None).unwrap();
    assert_eq!(tool.name, "tool0");
    let own = points(&tool.placement, &[(1.0, [0.0, 0.1, 0.03]), (1.0, [0.0, 0.1, -0.03])]);
    let empty = robot.joints[robot.end_effector()].inertia;
    let whole: [f64; INERTIAL] = std::array::from_fn(|k| own[k] + empty[k]);
    let narrow = [whole.map(|x| x - 1e-3), whole.map(|x| x + 1e-3)];
    let shown = FramedPayload::of_last_body(&robot, None, &whole, Some(narrow), None).unwrap();
    let body = shown.estimate.unwrap();
    assert_eq!(shown.frame, "tool0");
    for (found, expected) in body.com_m.iter().zip([0.0, 0.1, 0.0]) {
        assert!((found - expected).abs() < 1e-9, "{body:?}");
    }
    assert!((body.inertia_kg_m2[0] - 0.0018).abs() < 1e-9, "{body:?}");
    let bounds = shown.bounds.unwrap();
    let [low, high] = bounds.com_m.unwrap()[1];
    assert!(low <= 0.1 && 0.1 <= high && high - low < 0.01, "{bounds:?}");
    // In another link's frame it is elsewhere; a link of the arm's other end is refused by name.
    let there = FramedPayload::of_last_body(&robot, Some("wrist_3_link"), &whole, None, None).unwrap();
    assert!(there.bounds.is_none() && (there.estimate.unwrap().com_m[2] - 0.0996).abs() < 1e-9, "{there:?}");
    let refused = FramedPayload::of_last_body(&robot, Some("shoulder_link"), &whole, None, None).unwrap_err();
    assert!(refused.to_string().contains("shoulder_link") && refused.to_string().contains("tool0"));
}

#[test]
fn what_is_no_body_is_mended_or_left_out() {
    let frames = load("ur5e").unwrap().tool_frames();
    let tool = frames.get(None).unwrap();
    // Flat beyond what exists: I_zz > I_xx + I_yy.
    let odd = [1.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.0, 0.0, 0.05];
    let mended = FramedPayload::alone(tool, &odd, None);
    let [xx, _, yy, _, _, zz] = mended.estimate.unwrap().inertia_kg_m2;
    assert!(mended.mended && zz <= xx + yy + 1e-12 && yy <= xx + zz && xx <= yy + zz, "{mended:?}");
    for mass in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut none = odd;
        none[0] = mass;
        assert_eq!(FramedPayload::alone(tool, &none, None).estimate, None);
    }
    // Bounds of nothing: a mass below 0 alone, NaN, the wrong way round.
    let (low, high) = ([-1.0; INERTIAL], [1.0; INERTIAL]);
    assert!(FramedBounds::of(&low, &high, &Placement::identity()).unwrap().com_m.is_none());
    assert_eq!(FramedBounds::of(&high, &low, &Placement::identity()), None);
    assert_eq!(FramedBounds::of(&low, &[-0.5; INERTIAL], &Placement::identity()), None);
    assert_eq!(FramedBounds::of(&[f64::NAN; INERTIAL], &high, &Placement::identity()), None);
}

proptest! {
    /// Bodies that fit words, in a hand that is as uncertain as its file says, within any box of the whole: what is told holds them, and no more than the words.
    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn what_is_told_keeps_to_what_was_stated_at_length(
        masses in prop::collection::vec((0.01..0.5, prop::array::uniform3(0.0..1.0)), 1..5),
        hand in prop::array::uniform10(-1.0..1.0), width in prop_oneof![Just(0.0), Just(1e-6), 0.0..0.5],
        elsewhere in any::<bool>(),
    ) {
        let robot = load("ur5e").unwrap();
        let (size, center) = ([0.1, 0.2, 0.3], [0.02, -0.05, 0.1]);
        let words = PayloadWords {
            max_mass_kg: Some(masses.iter().map(|(mass, _)| mass).sum::<f64>() + 0.2),
            center_m: Some(center),
            size_m: Some(size),
            ..PayloadWords::default()
        };
        let frames = robot.tool_frames();
        let (tool, empty) = (frames.get(None).unwrap(), robot.joints[robot.end_effector()].inertia);
        let place = |u: &[f64; 3]| std::array::from_fn(|k| center[k] + (u[k] - 0.5) * size[k]);
        let masses: Vec<(f64, [f64; 3])> = masses.iter().map(|(mass, u)| (*mass, place(u))).collect();
        let own = points(&tool.placement, &masses);
        let off = |k: usize| hand[k] * robot.uncertainty().of_link(k, empty[k]);
        let whole: [f64; INERTIAL] = std::array::from_fn(|k| own[k] + empty[k] + off(k));
        let bounds = [whole.map(|x| x - width - 1e-12), whole.map(|x| x + width + 1e-12)];
        let stated = words.stated(&frames).unwrap();
        let frame = frames.get(elsewhere.then_some("wrist_3_link")).unwrap();
        let told = FramedBounds::of_last_body(&robot, frame, &bounds, Some(&stated)).unwrap();
        let [low, high] = told.mass_kg;
        prop_assert!(0.0 <= low && high <= words.max_mass_kg.unwrap() + 1e-12);
        if elsewhere {
            let body = FramedBody::of(&own, &frame.placement).unwrap();
            prop_assert!(told.com_m.is_none_or(|com| (0..3).all(|k| com[k][0] <= body.com_m[k] && body.com_m[k] <= com[k][1])));
        } else {
            prop_assert!(inside(&told, &masses), "{told:?} {masses:?}");
            let com = told.com_m.unwrap();
            for k in 0..3 {
                prop_assert!(center[k] - 0.5 * size[k] <= com[k][0] + 1e-12 && com[k][1] <= center[k] + 0.5 * size[k] + 1e-12, "{com:?}");
            }
        }
        // Without the words it may be heavier.
        let free = FramedBounds::of_last_body(&robot, frame, &bounds, None).unwrap();
        prop_assert!(free.mass_kg[1] >= high && (0..6).all(|k| free.inertia_kg_m2[k][1] >= told.inertia_kg_m2[k][1]));
    }
}

/// What was stated and what was found have no body in common.
#[test]
fn what_contradicts_itself_has_no_bounds() {
    let robot = load("ur5e").unwrap();
    let frames = robot.tool_frames();
    let words = PayloadWords { max_mass_kg: Some(1.0), size_m: Some([0.1; 3]), ..PayloadWords::default() };
    let stated = words.stated(&frames).unwrap();
    let mut whole = robot.joints[robot.end_effector()].inertia;
    whole[0] += 2.0;
    let told = FramedPayload::of_last_body(&robot, None, &whole, Some([whole; 2]), Some(&stated)).unwrap();
    assert!(told.bounds.is_none() && told.estimate.is_some(), "{told:?}");
}

/// Half of the mass in each of two opposite corners: what the box allows is reached, so that no smaller bound would hold.
#[test]
fn the_bounds_of_a_box_are_reached() {
    let robot = load("ur5e").unwrap();
    let (frames, size) = (robot.tool_frames(), [0.1, 0.2, 0.3]);
    let (tool, empty) = (frames.get(None).unwrap(), robot.joints[robot.end_effector()].inertia);
    let words = PayloadWords { max_mass_kg: Some(2.0), size_m: Some(size), ..PayloadWords::default() };
    let stated = words.stated(&frames).unwrap();
    let corners = [(1.0, size.map(|s| 0.5 * s)), (1.0, size.map(|s| -0.5 * s))];
    let own = points(&tool.placement, &corners);
    // Nothing but the words is known.
    let bounds = [[-10.0; INERTIAL], [10.0; INERTIAL]];
    let told = FramedBounds::of_last_body(&robot, tool, &bounds, Some(&stated)).unwrap();
    assert!(inside(&told, &corners), "{told:?}");
    let (_, _, six) = figures(&corners);
    for (k, (i, j)) in SIX.into_iter().enumerate() {
        let [low, high] = told.inertia_kg_m2[k];
        let reached = if i == j { six[k] > 0.999_999 * high } else { six[k] < 0.999_999 * low };
        assert!(reached, "{k}: {} in {low} to {high}", six[k]);
    }
    // Data that ask for more contradict the words.
    let heavy: [f64; INERTIAL] = std::array::from_fn(|k| empty[k] + own[k] + if k > 3 { 0.2 } else { 0.0 });
    assert_eq!(FramedBounds::of_last_body(&robot, tool, &[heavy; 2], Some(&stated)), None);
}
