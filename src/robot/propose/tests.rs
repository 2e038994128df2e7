use super::*;
use crate::robot::load;

/// An arm of two joints with a gripper of two fingers, in the manner of the Panda's hand; the second link is a mesh of the package `two_description`.
const TWO: &str = r#"<robot name="two">
  <link name="base"><collision><geometry><cylinder radius="0.06" length="0.1"/></geometry></collision></link>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="3"/><inertia ixx="0.01" iyy="0.08" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision name="tube"><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.04" length="0.4"/></geometry></collision></link>
  <link name="fore"><inertial><origin xyz="0.1 0 0"/><mass value="2"/><inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="package://two_description/meshes/fore.stl" scale="0.001 0.001 0.001"/></geometry></collision></link>
  <link name="left"><inertial><mass value="0.1"/><inertia ixx="0.0001" iyy="0.0001" izz="0.0001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/><inertia ixx="0.0001" iyy="0.0001" izz="0.0001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="80" velocity="2"/><dynamics damping="0.5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="40" velocity="2"/></joint>
  <joint name="finger_1" type="prismatic"><parent link="fore"/><child link="left"/><origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="0.01" upper="0.04" effort="20" velocity="0.2"/></joint>
  <joint name="finger_2" type="prismatic"><parent link="fore"/><child link="right"/><origin xyz="0.2 0 0"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.2"/><mimic joint="finger_1" multiplier="2" offset="0.001"/></joint>
</robot>
"#;

/// A block from 0 to 200 mm along x, 60 mm thick, as an ASCII STL in millimetres.
fn block() -> String {
    let corner = |k: usize| {
        let at = |bit: usize, low: f64, high: f64| if k >> bit & 1 == 0 { low } else { high };
        format!("vertex {} {} {}\n", at(0, 0.0, 200.0), at(1, -30.0, 30.0), at(2, -30.0, 30.0))
    };
    let faces = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
    let triangles = faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]);
    let text = triangles.flatten().map(corner).collect::<String>();
    format!("solid fore\n{text}endsolid fore\n")
}

/// The URDF, changed, and its mesh, in a package.
fn package(change: [&str; 2]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("two_description");
    for (path, text) in [("urdf/two.urdf", TWO.replace(change[0], change[1])), ("meshes/fore.stl", block())] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (folder, root.join("urdf/two.urdf"))
}

#[test]
fn a_plain_urdf_with_meshes_and_a_gripper_is_an_arm() {
    let (_folder, urdf) = package(["", ""]);
    let arm = load(&urdf).unwrap();
    let names: Vec<&str> = arm.joints.iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!((names, arm.end_effector()), (vec!["shoulder", "elbow"], 1));
    // The fingers are held where they come nearest to zero, the second as it follows the first.
    let body = &arm.joints[1].inertia;
    let y = 0.1 * 0.01 - 0.1 * (2.0 * 0.01 + 0.001);
    assert!((body[0] - 2.2).abs() < 1e-12 && (body[2] - y).abs() < 1e-12, "{body:?}");
    // The block's corners are in the capsules of its body.
    for corner in (0..8).map(|k| {
        let side = |bit: usize| if k >> bit & 1 == 0 { -0.03 } else { 0.03 };
        Vector3::new(if k & 1 == 0 { 0.0 } else { 0.2 }, side(1), side(2))
    }) {
        let inside = |capsule: &crate::robot::Capsule| {
            crate::robot::cover::distance_to_segment(capsule, &corner) <= capsule.radius
        };
        assert!(arm.shapes().iter().any(|s| s.joint == Some(1) && inside(&s.capsule)), "{corner}");
    }
    assert!(arm.parts().iter().any(|part| part.link == "fore" && part.collision.name.starts_with("mesh 0")));
}

#[test]
fn a_mesh_that_is_missing_is_named_for_arms_and_not_missed_for_dynamics() {
    let (_folder, urdf) = package(["fore.stl", "gone.stl"]);
    let message = load(&urdf).unwrap_err().to_string();
    for word in ["two.urdf", "link `fore`", "gone.stl", "--package-path", "ROS_PACKAGE_PATH"] {
        assert!(message.contains(word), "{word} in {message}");
    }
    let model = load::load_model(&urdf).unwrap();
    // For dynamics alone each joint is one of its own.
    assert_eq!(model.dof(), 4);
    assert!(load::load_lenient(&urdf).is_ok());
    for (change, word) in
        [(["fore.stl\"", "fore.dae\""], "fore.dae"), (["scale=\"0.001", "scale=\"1000000"], "unit")]
    {
        let (_folder, urdf) = package(change);
        std::fs::write(urdf.parent().unwrap().join("../meshes/fore.dae"), "<COLLADA/>").unwrap();
        let message = load(&urdf).unwrap_err().to_string();
        assert!(message.contains(word) && message.contains("link `fore`"), "{message}");
    }
}

#[test]
fn what_is_proposed_loads_and_marks_its_guesses() {
    let (folder, urdf) = package(["", ""]);
    let home = folder.path().join("mine");
    std::fs::create_dir(&home).unwrap();
    let proposal = propose(&urdf, &home, &[folder.path().to_path_buf()]).unwrap();
    let path = home.join("two.toml");
    std::fs::write(&path, &proposal.text).unwrap();
    let arm = load(&path).unwrap_or_else(|error| panic!("{error}\n{}", proposal.text));
    assert_eq!(arm.dof(), 2);
    assert_eq!(arm.joints[1].inertia, proposal.arm.joints[1].inertia);
    assert_eq!(proposal.held, ["finger_1"]);
    let line = |start: &str| proposal.text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("coulomb").ends_with("# guess") && line("armature = ").ends_with("# guess"));
    assert_eq!(line("viscous"), "viscous = 0.5  # as in the URDF");
    assert!(line("urdf").contains("../two_description/urdf/two.urdf") && line("package_path").contains(".."));
    // The pairs that are ignored are exactly those that overlap at rest, and are listed as taken on trust.
    let rest = arm.frames(&[0.0; 2]);
    let apart = |&(a, b): &(usize, usize)| {
        let [a, b] = [a, b].map(|k| arm.placed_capsule(k, &rest));
        clearance::between_capsules(&a, &b) > 0.0
    };
    assert!(arm.self_pairs().iter().all(apart));
    assert_eq!(arm.ignored_pairs().len(), proposal.ignored);
    assert!(arm.ignored_pairs().iter().all(|pair| pair.reason.starts_with("guess: they overlap")));
}

#[test]
fn capsules_that_are_stated_must_hold_the_mesh() {
    let (folder, urdf) = package(["", ""]);
    let text = propose(&urdf, urdf.parent().unwrap(), &[]).unwrap().text;
    let path = urdf.with_extension("toml");
    let at = text.find("name = \"fore: mesh 0").unwrap();
    let radius = at + text[at..].find("radius_m = ").unwrap();
    let end = radius + text[radius..].find('\n').unwrap();
    let thin = format!("{}radius_m = 0.01{}", &text[..radius], &text[end..]);
    std::fs::write(&path, thin).unwrap();
    let message = load(&path).unwrap_err().to_string();
    for word in ["link `fore`", "fore.stl", "not provably inside the capsules"] {
        assert!(message.contains(word), "{word} in {message}");
    }
    drop(folder);
}

#[test]
fn joints_are_held_by_key() {
    let (_folder, urdf) = package(["", ""]);
    let text = propose(&urdf, urdf.parent().unwrap(), &[]).unwrap().text;
    let path = urdf.with_extension("toml");
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
        load(&path).map_err(|error| error.to_string())
    };
    let moved = with("fixed_at_m = 0.01", "fixed_at_m = 0.03").unwrap();
    let y = 0.1 * 0.03 - 0.1 * (2.0 * 0.03 + 0.001);
    assert!((moved.joints[1].inertia[2] - y).abs() < 1e-12);
    for (to, words) in [
        ("fixed_at_m = 0.05", ["joints.finger_1.fixed_at", "0.05"]),
        ("fixed_at_m = nan", ["joints.finger_1.fixed_at", "NaN"]),
        ("fixed_at_rad = 0.02", ["joints.finger_1.fixed_at_rad", "fixed_at_m"]),
        ("fixed_at_m = 0.02\ncoulomb = 1.0", ["joints.finger_1.fixed_at_m", "no other key"]),
        ("force_n = 20.0", ["joint `finger_2`", "independent"]),
    ] {
        let message = with("fixed_at_m = 0.01", to).unwrap_err();
        for word in words {
            assert!(message.contains(word), "{word} in {message}");
        }
    }
    // A joint with a drive of its own, beside one that is held.
    let own = with("fixed_at_m = 0.01", "fixed_at_m = 0.01\n[joints.finger_2]\nindependent = true").unwrap();
    assert_eq!(own.dof(), 3);
}

#[test]
fn grippers_are_told_from_arms_by_their_joints() {
    // Two fingers that mimic nothing are a gripper too; two arms are not.
    let (_folder, urdf) = package(["<mimic joint=\"finger_1\" multiplier=\"2\" offset=\"0.001\"/>", ""]);
    assert_eq!(load(&urdf).unwrap().dof(), 2);
    let (_folder, urdf) = package([
        "<parent link=\"fore\"/><child link=\"right\"/>",
        "<parent link=\"base\"/><child link=\"right\"/>",
    ]);
    let text = std::fs::read_to_string(&urdf).unwrap();
    std::fs::write(&urdf, text.replace("<mimic joint=\"finger_1\" multiplier=\"2\" offset=\"0.001\"/>", ""))
        .unwrap();
    let message = load(&urdf).unwrap_err().to_string();
    assert!(message.contains("2 leaf joints"), "{message}");
}

/// What a URDF leaves at zero is guessed and marked: the arm can hold itself, and nothing that is stated is touched.
#[test]
fn missing_limits_are_guessed_and_marked() {
    let stated = crate::robot::fixture::SCARA;
    let text = stated.replace("effort=\"60\" velocity=\"4\"", "effort=\"0\" velocity=\"0\"");
    assert_ne!(text, stated);
    assert!(load_text(&text).unwrap_err().to_string().contains("velocity limit 0"));
    let folder = tempfile::tempdir().unwrap();
    let urdf = folder.path().join("arm.urdf");
    std::fs::write(&urdf, &text).unwrap();
    let proposed = propose(&urdf, folder.path(), &[]).unwrap();
    let path = folder.path().join("arm.toml");
    std::fs::write(&path, &proposed.text).unwrap();
    let (arm, whole) = (load(&path).unwrap(), load_text(stated).unwrap());
    assert!(proposed.text.matches("# guess: the URDF states 0 or none").count() == 2, "{}", proposed.text);
    assert_eq!(arm.joints[0].limits.velocity, TURN_RAD_S);
    for (found, stated) in arm.joints.iter().zip(&whole.joints).skip(1) {
        assert_eq!(found.limits, stated.limits);
    }
    // Upright axes carry nothing; the guess is for any way of standing: 4 kg, 3 kg, and quill and hand of 0.7 kg, at their reach.
    let least = GRAVITY * (4.0 * 0.1 + 3.0 * 0.35 + 0.7 * 0.5);
    assert!(
        arm.joints[0].limits.torque > least && arm.joints[0].limits.torque < 20.0 * least,
        "{:?}",
        arm.joints[0].limits
    );
}

/// A joint that others stand on is the arm's, even if one of them follows it: it is not held in silence, and the message has the keys.
#[test]
fn a_parallelogram_is_no_gripper() {
    let scara = crate::robot::fixture::SCARA;
    let first = load_text(scara).unwrap();
    let [leader, follower] = [&first.joints[0].name, &first.joints[1].name];
    let at = scara.find(&format!("<joint name=\"{follower}\"")).unwrap();
    let end = at + scara[at..].find("</joint>").unwrap();
    let mimic = format!("<mimic joint=\"{leader}\" multiplier=\"-1\" offset=\"0\"/>");
    let text = format!("{}{mimic}{}", &scara[..end], &scara[end..]);
    let message = load_text(&text).unwrap_err().to_string();
    for words in [follower.as_str(), "mimics", "fixed_at_rad", "independent = true"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // Nor is a crank that carries nothing, where a joint of the arm follows it.
    let crank = "<link name=\"crank\"><inertial><mass value=\"1\"/><inertia ixx=\"0.01\" iyy=\"0.01\" izz=\"0.01\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\
                 <joint name=\"crank_joint\" type=\"revolute\"><parent link=\"column\"/><child link=\"crank\"/><axis xyz=\"0 0 1\"/>\
                 <limit lower=\"-2\" upper=\"2\" effort=\"30\" velocity=\"4\"/></joint></robot>";
    let text = text.replace(&format!("<mimic joint=\"{leader}\""), "<mimic joint=\"crank_joint\"");
    let message = load_text(&text.replace("</robot>", crank)).unwrap_err().to_string();
    assert!(
        message.contains(follower.as_str()) && message.contains("mimics `crank_joint`, which moves"),
        "{message}"
    );
}

/// An arm from the text of its URDF.
fn load_text(text: &str) -> Result<Arm, crate::robot::RobotError> {
    let folder = tempfile::tempdir().unwrap();
    let urdf = folder.path().join("arm.urdf");
    std::fs::write(&urdf, text).unwrap();
    load(&urdf)
}

#[test]
fn arms_of_all_kinds_load_from_their_urdf_alone_and_from_what_is_proposed() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| std::fs::read_to_string(Path::new("robots").join(name)).unwrap();
    for (name, text, dof) in [
        ("panda", file("panda.urdf"), 7),
        ("ur5e", file("ur5e.urdf"), 6),
        ("kinova_gen3", file("kinova_gen3.urdf"), 7),
        ("scara", crate::robot::fixture::SCARA.to_owned(), 4),
    ] {
        let urdf = folder.path().join(name).with_extension("urdf");
        std::fs::write(&urdf, text).unwrap();
        let plain = load(&urdf).unwrap();
        assert_eq!(plain.dof(), dof, "{name}");
        let proposed = propose(&urdf, folder.path(), &[]).unwrap();
        let path = urdf.with_extension("toml");
        std::fs::write(&path, &proposed.text).unwrap();
        let arm = load(&path).unwrap_or_else(|error| panic!("{name}: {error}\n{}", proposed.text));
        assert!(arm.shapes().len() == plain.shapes().len() && arm.dof() == dof, "{name}");
        assert!(arm.joints.iter().all(|joint| joint.friction.armature > 0.0), "{name}");
    }
}

/// A housing that turns with the arm beside the base, from 2 mm inside of it to 10 mm away.
const CROWDED: &str = r#"<robot name="crowded">
  <link name="base"><collision name="foot"><geometry><sphere radius="0.05"/></geometry></collision></link>
  <link name="column"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision name="housing"><origin xyz="0.01 0 0"/><geometry><sphere radius="0.146"/></geometry></collision>
    <collision name="far end"><origin xyz="0.4 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
  <link name="hand"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pan" type="revolute"><parent link="base"/><child link="column"/><origin xyz="0 0 0.12"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="80" velocity="2"/></joint>
  <joint name="lift" type="revolute"><parent link="column"/><child link="upper"/><origin xyz="0 0.16 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="80" velocity="2"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="hand"/><origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="40" velocity="2"/></joint>
</robot>"#;

#[test]
fn a_housing_that_never_gets_away_from_the_base_leaves_room_for_a_first_motion() {
    let folder = tempfile::tempdir().unwrap();
    let urdf = folder.path().join("crowded.urdf");
    std::fs::write(&urdf, CROWDED).unwrap();
    let pair = |arm: &Arm, [a, b]: [&str; 2]| {
        let index = |name: &str| arm.shapes().iter().position(|shape| shape.name.contains(name)).unwrap();
        arm.self_pairs().contains(&(index(a).min(index(b)), index(a).max(index(b))))
    };
    let plain = load(&urdf).unwrap();
    assert!(pair(&plain, ["foot", "housing"]), "proven apart: the test shows nothing");
    assert!(crate::robot::first_move::FirstMove::of(&plain).clearance_m < 0.02);
    let proposed = propose(&urdf, folder.path(), &[]).unwrap();
    let path = urdf.with_extension("toml");
    std::fs::write(&path, &proposed.text).unwrap();
    let arm = load(&path).unwrap_or_else(|error| panic!("{error}\n{}", proposed.text));
    assert_eq!(proposed.ignored, 1);
    let reason = &arm.ignored_pairs()[0].reason;
    assert!(reason.contains("upper: housing") && reason.contains("no motion has room"), "{reason}");
    assert!(!pair(&arm, ["foot", "housing"]));
    assert!(crate::robot::first_move::FirstMove::of(&arm).clearance_m > 0.05);
}
