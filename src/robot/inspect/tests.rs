use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::robot::load_model;
use crate::robot::{load, shipped};

/// A URDF in a folder of its own; the folder lives as long as the value.
fn file(body: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dog.urdf");
    std::fs::write(&path, format!(r#"<robot name="dog">{body}</robot>"#)).unwrap();
    (folder, path)
}

fn link(name: &str, mass: f64, inertia: [f64; 6]) -> String {
    let [xx, xy, xz, yy, yz, zz] = inertia;
    format!(
        r#"<link name="{name}"><inertial><mass value="{mass}"/><inertia ixx="{xx}" ixy="{xy}" ixz="{xz}"
        iyy="{yy}" iyz="{yz}" izz="{zz}"/></inertial></link>"#
    )
}

fn joint(name: &str, kind: &str, parent: &str, child: &str, effort: f64) -> String {
    format!(
        r#"<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="{effort}" velocity="2"/></joint>"#
    )
}

const BALL: [f64; 6] = [0.1, 0.0, 0.0, 0.1, 0.0, 0.1];

#[test]
fn robots_that_ship_are_loaded_without_a_fault() {
    let mut arms = Vec::new();
    for name in shipped::names() {
        let robot = load_model(name).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(robot.name, name);
        let inspection = inspect(name).unwrap();
        arms.extend(inspection.arm.is_some().then_some(name));
        let faults: Vec<_> = inspection.problems.iter().filter(|p| p.severity == Severity::Fault).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}");
        let moving: f64 = robot.joints.iter().map(|joint| joint.inertia[0]).sum();
        assert!(moving <= inspection.total_mass_kg * (1.0 + 1e-12), "{name}");
    }
    assert_eq!(
        arms,
        [
            "kinova_gen3",
            "kinova_gen3_2f85",
            "kinova_gen3_2f85_elastic",
            "kinova_gen3_2f85_late",
            "kinova_gen3_2f85_measured",
            "panda",
            "ur5e",
            "z1",
            "z1_500hz",
            "z1_gripping",
        ]
    );
}

#[test]
fn masses_frames_and_loops_of_the_legged_robots_are_there() {
    for (name, bodies, mass, feet) in [
        ("anymal_b", 13, 30.475_397_462, vec!["LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT"]),
        ("b1", 13, 55.689_001, vec!["FL_foot", "FR_foot", "RL_foot", "RR_foot"]),
        ("b1_z1", 20, 60.909_970_83, vec!["FL_foot", "FR_foot", "RL_foot", "RR_foot", "hand"]),
        ("digit", 39, 47.925_414, vec!["left_foot", "right_foot", "left_heel", "right_toe_A_rod_end"]),
        ("go1", 13, 13.100_529, vec!["FL_foot", "FR_foot", "RL_foot", "RR_foot"]),
        ("hector", 1, 1.477, vec!["rotor_front", "rotor_left", "rotor_back", "rotor_right"]),
        ("talos_reduced", 33, 90.272_192, vec!["left_sole", "right_sole", "left_hand", "right_hand"]),
    ] {
        let inspection = inspect(name).unwrap();
        let robot = &inspection.model;
        assert!(robot.has_free_flyer(), "{name}");
        assert_eq!(robot.bodies(), bodies, "{name}");
        assert!(
            (inspection.total_mass_kg - mass).abs() < 1e-9 * mass,
            "{name}: {}",
            inspection.total_mass_kg
        );
        for foot in feet {
            assert!(robot.frame_index(foot).is_some(), "{name}: {foot}");
        }
    }
    let hector = load_model("hector").unwrap();
    assert_eq!(
        hector.thrusts.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
        ["front", "left", "back", "right"]
    );
    // In a hover no moment is left.
    assert!(hector.thrusts.iter().map(|t| t.moment_per_force_m).sum::<f64>().abs() < 1e-15);
    let lift: f64 = hector.thrusts.iter().map(|t| t.force_n.1).sum();
    assert!(lift > 1.2 * 9.81 * 1.477, "{lift}");
    let digit = inspect("digit").unwrap();
    assert_eq!(digit.loops.len(), 6);
    for closure in &digit.loops {
        // The rods' ends are where the maker's model puts them: on their partners, at zero.
        assert!(closure.open_by_m < 1e-12, "{closure:?}");
    }
}

/// Motor side limit, gear, rotor's inertia seen at the joint, Coulomb and viscous friction: the maker's figures.
#[test]
fn digits_drives_are_the_makers() {
    let digit = load_model("digit").unwrap();
    let drives = [
        ("hip_roll", 1.4125, 80.0, 0.173823936, 1.0, 1.0),
        ("hip_yaw", 1.58353, 50.0, 0.067899975, 1.0, 1.0),
        ("hip_pitch", 13.55799, 16.0, 0.1204731904, 0.5, 1.0),
        ("knee", 14.45731, 16.0, 0.1204731904, 0.5, 1.0),
        ("toe_A", 0.83952, 50.0, 0.036089475, 1.0, 1.0),
        ("toe_B", 0.83952, 50.0, 0.036089475, 1.0, 1.0),
        ("shoulder_roll", 1.4125, 80.0, 0.173823936, 2.0, 2.0),
        ("shoulder_pitch", 1.4125, 80.0, 0.173823936, 2.0, 2.0),
        ("shoulder_yaw", 1.58353, 50.0, 0.067899975, 2.0, 2.0),
        ("elbow", 1.4125, 80.0, 0.173823936, 2.0, 2.0),
    ];
    for joint in &digit.joints[1..] {
        let name = joint.name.split_once('_').unwrap().1;
        let own = &joint.friction;
        let Some(drive) = drives.iter().find(|drive| drive.0 == name) else {
            // Passive: the rods' balls rub a little, the other hinges not at all.
            let rod = name.ends_with("rod") || ["ach2", "A2", "B2"].contains(&name);
            let viscous = if rod { 0.01 } else { 0.0 };
            assert_eq!((joint.limits.torque, own.to_array()), (0.0, [0.0, viscous, 0.0, 0.0]), "{name}");
            continue;
        };
        let &(_, motor, gear, armature, coulomb, viscous) = drive;
        assert!((joint.limits.torque - motor * gear).abs() < 1e-9, "{name}: {}", joint.limits.torque);
        assert_eq!(own.to_array(), [coulomb, viscous, armature, 0.0], "{name}");
    }
    assert_eq!(digit.joints.iter().filter(|joint| joint.limits.torque > 0.0).count(), 20);
}

#[test]
fn every_problem_is_named_not_only_the_first() {
    let body = [
        link("ground", 1.0, BALL),
        link("ones", 1e-6, [1e-6; 6]),
        link("plank", 2.0, [1.0, 0.0, 0.0, 1.0, 0.0, 2.5]),
        link("point", 0.1, [0.0; 6]),
        joint("j1", "revolute", "ground", "ones", 5.0),
        joint("j2", "revolute", "ones", "plank", 0.0),
        joint("j3", "fixed", "plank", "point", 0.0),
    ];
    let (_folder, path) = file(&body.concat());
    assert!(load(&path).is_err());
    let inspection = inspect(&path).unwrap();
    let about = |what: &str| {
        let found: Vec<_> = inspection.problems.iter().filter(|p| p.message.contains(what)).collect();
        assert!(!found.is_empty(), "{what}: {:?}", inspection.problems);
        found[0].clone()
    };
    // Of a URDF alone they are mended, and told as guesses.
    let ones = about("link `ones`");
    assert_eq!(ones.severity, Severity::Note);
    assert!(ones.message.starts_with("guess: ") && ones.message.contains("nearest that a body can have"));
    assert!(ones.message.contains("by 3.000e-6 kg m^2, 100"), "{}", ones.message);
    assert!(about("link `plank`").message.contains("by 5.000e-1 kg m^2, 20.000 %"));
    assert_eq!(about("joint `j2`").severity, Severity::Fault);
    assert_eq!(about("link `point`").severity, Severity::Note);
    let [x, y, z] = inspection.links[2].principal_moments_kg_m2;
    assert!((x - 1.25).abs() + (y - 1.25).abs() + (z - 2.5).abs() < 1e-5, "{x} {y} {z}");
    assert_eq!((inspection.links[3].parent, inspection.links[3].fixed), (Some(2), true));
    assert!((inspection.total_mass_kg - 3.100_001).abs() < 1e-12);
}

#[test]
fn what_was_found_comes_before_what_cannot_be_survived() {
    let links = [link("ground", 1.0, BALL), link("ones", 1e-6, [1e-6; 6]), link("far", f64::NAN, BALL)];
    let joints =
        [joint("j", "revolute", "ground", "ones", 1.0), joint("k", "revolute", "ones", "ghost", 1.0)];
    let (_folder, path) = file(&[links.concat(), joints.concat()].concat());
    let (_, fatal) = inspect(&path).unwrap_err();
    assert!(fatal.to_string().contains("`far`"), "{fatal}");
    let (_folder, path) = file("");
    assert!(inspect(&path).unwrap_err().1.to_string().contains("no link"));
    let (problems, missing) = inspect("no_such_robot").unwrap_err();
    assert!(problems.is_empty() && missing.to_string().contains("go1, hector"), "{missing}");
}
