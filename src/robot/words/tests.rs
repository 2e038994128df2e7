use std::f64::consts::PI;

use nalgebra::Rotation3;
use proptest::prelude::*;

use super::*;
use crate::robot::load;

fn frame(rpy: [f64; 3], at: [f64; 3]) -> ToolFrames {
    let rotation = Rotation3::from_euler_angles(rpy[0], rpy[1], rpy[2]).into_inner();
    let placement = Placement { rotation, translation: at.into() };
    ToolFrames::new(vec![NamedFrame { name: "tool".into(), joint: Some(0), placement }])
}

/// The ten parameters, in the joint's frame, of point masses that are stated in the tool's.
fn points(frames: &ToolFrames, masses: &[(f64, [f64; 3])]) -> [f64; INERTIAL] {
    let placement = frames.get(None).unwrap().placement;
    let mut sum = [0.0; INERTIAL];
    for (mass, p) in masses {
        let one = from_center_of_mass(*mass, &placement.point(&Vector3::from(*p)), &Matrix3::zeros());
        (0..INERTIAL).for_each(|k| sum[k] += one[k]);
    }
    sum
}

fn holds(set: &DescribedPayload, body: &[f64; INERTIAL]) -> bool {
    (0..INERTIAL).all(|k| set.lower[k] - 1e-12 <= body[k] && body[k] <= set.upper[k] + 1e-12)
}

fn box_of(size: [f64; 3]) -> PayloadWords {
    PayloadWords { size_m: Some(size), max_mass_kg: Some(3.0), ..PayloadWords::default() }
}

proptest! {
    /// Bodies that fit the words, corners of the box and clusters too, in frames turned any way.
    #[test]
    fn every_body_that_fits_the_words_is_in_the_set(
        size in prop::array::uniform3(0.01..0.5), center in prop::array::uniform3(-0.3..0.3),
        rpy in prop_oneof![Just([0.0; 3]), Just([0.5 * PI, 0.0, 0.0]), prop::array::uniform3(-3.0..3.0)], at in prop::array::uniform3(-0.2..0.2),
        masses in prop::collection::vec((0.0..1.0, prop::array::uniform3(prop_oneof![Just(-1.0), Just(1.0), -1.0..1.0])), 1..12),
        room in prop::array::uniform2(0.0..1.0),
    ) {
        let frames = frame(rpy, at);
        let body: Vec<(f64, [f64; 3])> =
            masses.iter().map(|(m, s)| (*m, std::array::from_fn(|k| center[k] + 0.5 * size[k] * s[k]))).collect();
        let total: f64 = body.iter().map(|(m, _)| m).sum();
        prop_assume!(total > 1e-3);
        let com: [f64; 3] = std::array::from_fn(|k| body.iter().map(|(m, p)| m * p[k]).sum::<f64>() / total);
        let ten = points(&frames, &body);
        let words = PayloadWords { center_m: Some(center), max_mass_kg: Some(total * (1.0 + room[0]) + 1e-9), ..box_of(size) };
        prop_assert!(holds(&words.set(&frames).unwrap(), &ten), "{words:?} {body:?}");
        // Tighter words that it still fits.
        let [low, high] = [-1.0, 1.0].map(|sign| com.map(|c| c + sign * (0.1 * room[1] + 1e-9)));
        let words = PayloadWords { min_mass_kg: Some(total * room[1]), com_box_m: Some([low, high]), ..words };
        prop_assert!(holds(&words.set(&frames).unwrap(), &ten), "{words:?} {body:?}");
    }

    /// Boxes and cylinders that are filled with one density here and another there.
    #[test]
    fn every_density_in_the_range_is_in_the_set(
        size in prop::array::uniform3(0.02..0.3), range in prop::array::uniform2(0.0..3000.0_f64),
        shares in prop::collection::vec(0.0..=1.0, 64), round in any::<bool>(), low in prop_oneof![Just(0.0_f64), Just(1.0)],
    ) {
        let [a, b] = [range[0].min(range[1]) * low, range[0].max(range[1]) + 1.0];
        let words = PayloadWords {
            size_m: (!round).then_some(size),
            cylinder_m: round.then_some([size[0], size[2]]),
            density_kg_m3: Some([a, b]),
            ..PayloadWords::default()
        };
        let frames = frame([0.0; 3], [0.0; 3]);
        // Cells of the box, or sectors of the cylinder, each of one density; a cell is taken as the point in its middle, and what it is about that
        // point only adds to its squares, which the box of the whole has room for.
        let cell = |k: usize| {
            let at = |k: usize, n: usize| (k as f64 + 0.5) / n as f64 - 0.5;
            let [i, j, l] = [at(k % 4, 4), at(k / 4 % 4, 4), at(k / 16, 4)];
            if round {
                // Rings of one area each.
                let (r, angle) = (size[0] * (i + 0.5).sqrt(), 2.0 * PI * j);
                [r * angle.cos(), r * angle.sin(), size[2] * l]
            } else {
                [size[0] * i, size[1] * j, size[2] * l]
            }
        };
        let volume = if round { PI * size[0].powi(2) * size[2] } else { size.iter().product() } / 64.0;
        let body: Vec<_> = shares.iter().enumerate().map(|(k, s)| (volume * (a + (b - a) * s), cell(k))).collect();
        let ten = points(&frames, &body);
        let set = words.set(&frames).unwrap();
        prop_assert!(holds(&set, &ten), "{words:?} {ten:?} {set:?}");
    }
}

/// Two kilograms, 10 cm along +y of the maker's tool frame: not along y of the frame that dynamics use.
#[test]
fn a_payload_along_the_makers_y_lies_along_the_makers_y() {
    let robot = load("ur5e").unwrap();
    let frames = robot.tool_frames();
    assert_eq!(frames.get(None).unwrap().name, "tool0");
    let words = PayloadWords {
        center_m: Some([0.0, 0.1, 0.0]),
        size_m: Some([0.02; 3]),
        min_mass_kg: Some(2.0),
        max_mass_kg: Some(2.0),
        nominal_mass_kg: Some(2.0),
        ..PayloadWords::default()
    };
    let set = words.whole_body(&robot).unwrap();
    // Where the tool is at zero: the moment of the payload about the base's axes, from the file's own lengths.
    let hand = robot.end_effector();
    let at = robot.frames(&[0.0; 6])[hand];
    let added: Vec<f64> = (0..4).map(|k| set.nominal.unwrap()[k] - robot.joints[hand].inertia[k]).collect();
    let com = at.point(&(Vector3::new(added[1], added[2], added[3]) / added[0]));
    // At zero the tool's y axis points up, and its z axis against the base's y.
    let tool: Vector3<f64> = Vector3::new(-0.425 - 0.3922, -0.1333 - 0.0996, 0.1625 - 0.0997);
    assert!((added[0] - 2.0).abs() < 1e-12);
    let off: Vector3<f64> = com - tool - 0.1 * Vector3::z();
    assert!(off.norm() < 1e-9, "{com} {tool}");
    // In the frame of another link the same words mean another place.
    let there = PayloadWords { frame: Some("wrist_3_link".into()), ..words.clone() };
    let other = there.set(&frames).unwrap();
    assert!(
        (other.nominal.unwrap()[3] - words.set(&frames).unwrap().nominal.unwrap()[3] + 2.0 * 0.0996).abs()
            < 1e-9
    );
}

#[test]
fn words_that_nothing_fits_are_refused_with_the_reason() {
    let frames = frame([0.0; 3], [0.0; 3]);
    let usual = box_of([0.1, 0.1, 0.2]);
    let refused = |words: PayloadWords, parts: &[&str]| {
        let message = words.set(&frames).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "{part} in {message}");
        }
    };
    assert!(usual.set(&frames).is_ok());
    refused(
        PayloadWords { com_box_m: Some([[0.2; 3], [0.3; 3]]), ..usual.clone() },
        &["com_box_m", "no density"],
    );
    refused(PayloadWords { com_box_m: Some([[0.2; 3], [0.1; 3]]), ..usual.clone() }, &["lower corner first"]);
    let steel = Some([7000.0, 8000.0]);
    refused(PayloadWords { density_kg_m3: steel, ..usual.clone() }, &["density_kg_m3", "no density", "14.0"]);
    let beside = Some([[0.03, 0.0, 0.0], [0.04, 0.0, 0.0]]);
    refused(
        PayloadWords { density_kg_m3: steel, max_mass_kg: None, com_box_m: beside, ..usual.clone() },
        &["com_box_m", "7000 to 8000"],
    );
    refused(PayloadWords { max_mass_kg: None, ..usual.clone() }, &["max_mass_kg", "missing"]);
    refused(PayloadWords { min_mass_kg: Some(4.0), ..usual.clone() }, &["max_mass_kg", "min_mass_kg"]);
    refused(PayloadWords { size_m: None, ..usual.clone() }, &["size_m", "missing"]);
    refused(
        PayloadWords { cylinder_m: Some([0.1, 0.1]), ..usual.clone() },
        &["cylinder_m", "one of `size_m`"],
    );
    refused(
        PayloadWords { nominal_mass_kg: Some(3.5), ..usual.clone() },
        &["nominal_mass_kg", "3.5", "0 to 3"],
    );
    refused(
        PayloadWords { nominal_com_m: Some([0.0, 0.06, 0.0]), ..usual.clone() },
        &["nominal_com_m", "y is 0.06"],
    );
    refused(PayloadWords { frame: Some("claw".into()), ..usual.clone() }, &["frame", "`claw`", "tool"]);
    refused(
        PayloadWords { density_kg_m3: Some([2.0, 1.0]), ..usual.clone() },
        &["density_kg_m3", "lower bound first"],
    );
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e4] {
        refused(PayloadWords { max_mass_kg: Some(bad), ..usual.clone() }, &["max_mass_kg"]);
        refused(PayloadWords { size_m: Some([0.1, bad, 0.1]), ..usual.clone() }, &["size_m"]);
        refused(
            PayloadWords { size_m: None, cylinder_m: Some([bad, 0.1]), ..usual.clone() },
            &["cylinder_m"],
        );
    }
    for bad in [f64::NAN, f64::INFINITY, 1e4] {
        refused(PayloadWords { center_m: Some([0.0, bad, 0.0]), ..usual.clone() }, &["center_m"]);
        refused(PayloadWords { com_box_m: Some([[0.0; 3], [bad; 3]]), ..usual.clone() }, &["com_box_m"]);
        refused(PayloadWords { nominal_com_m: Some([bad; 3]), ..usual.clone() }, &["nominal_com_m"]);
    }
    refused(PayloadWords { nominal_mass_kg: Some(f64::NAN), ..usual.clone() }, &["nominal_mass_kg"]);
    refused(PayloadWords { min_mass_kg: Some(-1.0), ..usual.clone() }, &["min_mass_kg"]);
    refused(PayloadWords { density_kg_m3: Some([f64::NAN, 1.0]), ..usual }, &["density_kg_m3"]);
}

#[test]
fn a_prior_in_words_becomes_one_in_numbers_with_the_hand_in_it() {
    use crate::robot::Prior;
    let robot = load("ur5e").unwrap();
    let text = "[payload]\nmax_mass_kg = 2.0\nsize_m = [0.1, 0.1, 0.1]\ncenter_m = [0.0, 0.0, 0.05]\nnominal_mass_kg = 1.0\n";
    let prior: Prior = toml::from_str(text).unwrap();
    assert!(prior.body().unwrap_err().to_string().contains("in words"));
    let numbers = prior.clone().in_numbers(&robot).unwrap();
    let [lower, upper] = numbers.body().unwrap().unwrap();
    let empty = &robot.joints[robot.end_effector()].inertia;
    assert!((lower[0] - 0.95 * empty[0]).abs() < 1e-12 && (upper[0] - 1.05 * empty[0] - 2.0).abs() < 1e-12);
    assert!((numbers.guess().unwrap()[0] - empty[0] - 1.0).abs() < 1e-12);
    assert!(numbers.applied_to(ParameterSet::around_nominal(&robot), &robot).is_ok());
    let both: Prior = toml::from_str(&format!("lower = {:?}\n{text}", [0.0; 10])).unwrap();
    assert!(both.in_numbers(&robot).unwrap_err().to_string().contains("words or numbers"));
}

/// The surface of a box as an OBJ, its corners at (0, 0, 0) and `size`, each side as two triangles, seen from outside.
fn obj_of_a_box([x, y, z]: [f64; 3]) -> String {
    let corners: String = (0..8)
        .map(|k: usize| {
            let pick = |bit: usize, side: f64| if k & bit == 0 { 0.0 } else { side };
            format!("v {} {} {}\n", pick(1, x), pick(2, y), pick(4, z))
        })
        .collect();
    corners + "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n"
}

#[test]
fn a_mesh_with_a_density_is_the_box_that_it_is() {
    let frames = frame([0.3, -0.2, 0.1], [0.01, 0.02, 0.03]);
    let folder = tempfile::tempdir().unwrap();
    let size = [0.1, 0.06, 0.2];
    std::fs::write(folder.path().join("box.obj"), obj_of_a_box(size.map(|x| 1e3 * x))).unwrap();
    let of_box = PayloadWords {
        size_m: Some(size),
        center_m: Some([0.05, 0.03, 0.1]),
        density_kg_m3: Some([900.0, 1100.0]),
        ..PayloadWords::default()
    };
    let of_mesh = PayloadWords {
        size_m: None,
        center_m: None,
        mesh: Some("box.obj".into()),
        mesh_scale: Some(1e-3),
        ..of_box.clone()
    }
    .in_folder(folder.path());
    let (one, other) = (of_box.set(&frames).unwrap(), of_mesh.set(&frames).unwrap());
    for k in 0..INERTIAL {
        assert!((one.lower[k] - other.lower[k]).abs() < 1e-6, "{k}: {one:?} {other:?}");
        assert!((one.upper[k] - other.upper[k]).abs() < 1e-6, "{k}: {one:?} {other:?}");
    }
    // Without a density, a mass is needed and a hole does not matter; with one, it does.
    let open = obj_of_a_box(size).replace("f 1 3 4 2\n", "");
    std::fs::write(folder.path().join("open.obj"), open).unwrap();
    let hollow =
        PayloadWords { mesh: Some(folder.path().join("open.obj")), mesh_scale: None, ..of_mesh.clone() };
    let message = |words: &PayloadWords| words.set(&frames).unwrap_err().to_string();
    assert!(
        message(&hollow).contains("payload.mesh") && message(&hollow).contains("not closed"),
        "{}",
        message(&hollow)
    );
    let heavy = PayloadWords { density_kg_m3: None, max_mass_kg: Some(1.0), ..hollow.clone() };
    assert!((heavy.set(&frames).unwrap().upper[0] - 1.0).abs() < 1e-12);
    for (words, part) in [
        (PayloadWords { mesh: Some("nowhere.stl".into()), ..of_mesh.clone() }, "nowhere.stl"),
        (PayloadWords { size_m: Some(size), ..of_mesh.clone() }, "payload.mesh"),
        (PayloadWords { mesh_scale: Some(f64::NAN), ..of_mesh.clone() }, "mesh_scale"),
        (PayloadWords { mesh_scale: Some(0.0), ..of_mesh.clone() }, "mesh_scale"),
        (PayloadWords { mesh_scale: Some(1e3), ..of_mesh.clone() }, "a vertex is"),
        (PayloadWords { max_mass_kg: Some(0.1), ..of_mesh }, "no density"),
    ] {
        assert!(message(&words).contains(part), "{}", message(&words));
    }
}
