use super::*;
use crate::robot::FramedBounds;

fn payload() -> FramedPayload {
    let estimate = FramedBody {
        mass_kg: 1.75,
        com_m: [0.01, -0.02, 0.1],
        inertia_kg_m2: [0.004, 1e-4, 0.003, -2e-4, 3e-4, 0.002],
    };
    let bounds = FramedBounds {
        mass_kg: [1.7, 1.9],
        com_m: Some([[0.0, 0.02], [-0.03, -0.01], [0.09, 0.11]]),
        inertia_kg_m2: [[0.0, 0.01], [-1e-3, 1e-3], [0.0, 0.01], [-1e-3, 1e-3], [-1e-3, 1e-3], [0.0, 0.01]],
    };
    FramedPayload {
        frame: "tool--0".into(),
        estimate: Some(estimate),
        mended: false,
        bounds: Some(bounds),
        truth: None,
    }
}

/// The numbers between brackets of a text, in their order.
fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| !(c.is_ascii_digit() || "+-.e".contains(c)))
        .filter_map(|word| word.parse().ok())
        .collect()
}

#[test]
fn a_urdf_reader_reads_what_was_written() {
    let text = write(&payload(), PayloadFormat::Urdf).unwrap();
    let robot =
        urdf_rs::read_from_string(&format!("<robot name=\"r\"><link name=\"held\">{text}</link></robot>"))
            .unwrap();
    let found = &robot.links[0].inertial;
    let FramedBody { mass_kg, com_m, inertia_kg_m2 } = payload().estimate.unwrap();
    assert_eq!(found.mass.value, mass_kg);
    assert_eq!((*found.origin.xyz, *found.origin.rpy), (com_m, [0.0; 3]));
    let i = &found.inertia;
    assert_eq!([i.ixx, i.ixy, i.iyy, i.ixz, i.iyz, i.izz], inertia_kg_m2);
    assert!(text.contains("mass: 1.7 to 1.9") || text.contains("mass: 1.700 to 1.900"), "{text}");
}

#[test]
fn calls_and_elements_hold_the_figures_in_their_makers_order() {
    let [xx, xy, yy, xz, yz, zz] = payload().estimate.unwrap().inertia_kg_m2;
    let (m, [x, y, z]) = (1.75, payload().estimate.unwrap().com_m);
    let last = |format| write(&payload(), format).unwrap().lines().last().unwrap().to_owned();
    let ur = last(PayloadFormat::Ur);
    assert!(ur.starts_with("set_target_payload(1.75, [") && ur.ends_with("])"), "{ur}");
    assert_eq!(numbers(&ur), [m, x, y, z, xx, yy, zz, xy, xz, yz]);
    let franka = last(PayloadFormat::Franka);
    assert!(franka.starts_with("robot.setLoad(1.75, {{") && franka.ends_with("}});"), "{franka}");
    assert_eq!(numbers(&franka), [m, x, y, z, xx, xy, xz, xy, yy, yz, xz, yz, zz]);
    let mjcf = last(PayloadFormat::Mjcf);
    assert_eq!(numbers(&mjcf), [x, y, z, m, xx, yy, zz, xy, xz, yz]);
    let sdf = write(&payload(), PayloadFormat::Sdf).unwrap();
    let sdf = &sdf[sdf.find("-->").unwrap() + 3..];
    assert_eq!(numbers(sdf), [x, y, z, 0.0, 0.0, 0.0, m, xx, xy, xz, yy, yz, zz]);
    let kinova: serde_json::Value =
        serde_json::from_str(&write(&payload(), PayloadFormat::Kinova).unwrap()).unwrap();
    assert_eq!((kinova["tool_mass"].as_f64(), kinova["tool_mass_center"]["z"].as_f64()), (Some(m), Some(z)));
    // Comments end where they should, whatever the link is called.
    for format in [PayloadFormat::Urdf, PayloadFormat::Mjcf, PayloadFormat::Sdf] {
        let text = write(&payload(), format).unwrap();
        let inside = text.strip_prefix("<!--").unwrap().split("-->").next().unwrap();
        assert!(!inside.contains("--"), "{text}");
    }
}

#[test]
fn ranges_are_those_that_were_proven() {
    let told: serde_json::Value =
        serde_json::from_str(&write(&payload(), PayloadFormat::Ranges).unwrap()).unwrap();
    assert_eq!(told["mass_kg"], serde_json::json!([1.7, 1.9]));
    assert_eq!(told["com_m"][1], serde_json::json!([-0.03, -0.01]));
    assert_eq!(told["inertia_about_com_kg_m2"]["ixy"], serde_json::json!([-1e-3, 1e-3]));
}

#[test]
fn what_is_not_known_is_not_written() {
    let refused = |payload: FramedPayload, format, words: &str| {
        let told = write(&payload, format).unwrap_err().to_string();
        assert!(
            told.contains(words) && told.contains("tool--0") && told.contains(&format.to_string()),
            "{told}"
        );
    };
    for (_, format) in PayloadFormat::ALL.iter().filter(|(name, _)| *name != "ranges") {
        refused(FramedPayload { estimate: None, ..payload() }, *format, "no mass above 0");
    }
    refused(FramedPayload { bounds: None, ..payload() }, PayloadFormat::Ranges, "nothing is proven");
    let mut light = payload();
    light.bounds.as_mut().unwrap().com_m = None;
    refused(light, PayloadFormat::Ranges, "may weigh nothing");
    let bare = write(&FramedPayload { bounds: None, mended: true, ..payload() }, PayloadFormat::Ur).unwrap();
    assert!(bare.contains("nothing is proven of it") && bare.contains("no body that can exist"), "{bare}");
    assert!("obj".parse::<PayloadFormat>().unwrap_err().contains("urdf, mjcf"));
}

#[test]
fn folders_without_a_payload_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let told = || read(folder.path()).unwrap_err().to_string();
    assert!(told().contains("summary.json"), "{}", told());
    std::fs::write(folder.path().join("summary.json"), "{").unwrap();
    assert!(matches!(read(folder.path()), Err(ExportError::Parse { .. })));
    std::fs::write(folder.path().join("summary.json"), "{\"schema\": 1}").unwrap();
    assert!(told().contains("payload_alone"), "{}", told());
    let text = serde_json::json!({ "payload_alone": payload() }).to_string();
    std::fs::write(folder.path().join("summary.json"), text).unwrap();
    assert_eq!(read(folder.path()).unwrap(), payload());
}
