use super::*;
use crate::robot::Arm;

mod frames;
mod reference;

fn gen3() -> Arm {
    load("kinova_gen3_2f85").unwrap()
}

/// Changes the shipped arm into one on a free-flying base, with two frames.
fn set_afloat(_: &mut String, toml: &mut String) {
    swap(toml, "end_effector = \"joint_7\"", "base = \"free_flyer\"");
    let control = toml.find("[control]").unwrap()..toml.find("# Limits").unwrap();
    toml.replace_range(control, "");
    toml.push_str(
        "\n[[frame]]\nname = \"hand\"\nlink = \"bracelet_link\"\nxyz_m = [0.0, 0.0, -0.1]\n\
         [[frame]]\nname = \"foot\"\nlink = \"base_link\"\nrpy_rad = [0.0, 0.0, 1.5707963267948966]\n\
         [[loop]]\nname = \"grasp\"\nframe_a = \"hand\"\nframe_b = \"foot\"\nkind = \"point\"\n",
    );
}

#[test]
fn a_base_may_float() {
    let robot = model_edited(set_afloat).unwrap();
    assert_eq!((robot.bodies(), robot.nq(), robot.nv()), (8, 14, 13));
    assert_eq!((robot.joints[0].kind, robot.joints[0].link.as_str()), (JointKind::FreeFlyer, "base_link"));
    assert_eq!((robot.q_index(0), robot.q_index(1), robot.v_index(1), robot.v_index(7)), (0, 7, 6, 12));
    assert_eq!((robot.parameter_count(), robot.friction_index(1)), (108, 80));
    assert_eq!(robot.nominal_parameters().len(), 108);
    assert!(robot.joints[0].inertia[0] > 1.0 && robot.joints[1].parent == Some(0));
    let [hand, foot] = &robot.named_frames[..] else { panic!("two frames") };
    assert_eq!((hand.joint, foot.joint, robot.frame_index("foot")), (Some(7), Some(0), Some(1)));
    assert!((hand.placement.translation.norm() - 0.1).abs() < 1e-12);
    assert!((foot.placement.rotation.column(0) - Vector3::y()).norm() < 1e-12);
    assert_eq!((robot.loops[0].frame_a, robot.loops[0].kind), (0, crate::robot::LoopKind::Point));
    let refused = load_edited(set_afloat).unwrap_err().to_string();
    assert!(refused.contains("floats"), "{refused}");
    // At the neutral configuration it is where the fixed one is.
    let frames = robot.frames(&crate::robot::configuration::neutral(&robot));
    assert!((frames[7].translation - gen3().frames(&[0.0; 7])[6].translation).norm() < 1e-12);
    // What the file leaves out is told even if the base is fixed.
    let fixed = load_edited(|u, t| {
        set_afloat(u, t);
        swap(t, "free_flyer", "fixed");
    });
    let refused = fixed.unwrap_err().to_string();
    assert!(refused.contains("`end_effector`, `control`"), "{refused}");
}

#[test]
fn faulty_frames_and_loops_are_named() {
    let refused = |from: &str, to: &str, parts: &[&str]| {
        let edit = |u: &mut String, t: &mut String| {
            set_afloat(u, t);
            swap(t, from, to);
        };
        assert_refused(edit, parts);
    };
    refused("base = \"free_flyer\"", "base = \"loose\"", &["arm.toml", "loose", "free_flyer"]);
    refused("link = \"bracelet_link\"\nxyz", "link = \"paw\"\nxyz", &["frame.hand", "`paw`"]);
    refused("name = \"foot\"", "name = \"hand\"", &["frame.hand", "two frames"]);
    refused("[0.0, 0.0, -0.1]", "[0.0, nan, -0.1]", &["frame.hand", "NaN"]);
    refused("frame_b = \"foot\"", "frame_b = \"fin\"", &["loop.grasp", "`fin`"]);
    refused("frame_b = \"foot\"", "frame_b = \"hand\"", &["loop.grasp", "same body"]);
    refused("kind = \"point\"", "kind = \"glue\"", &["glue", "point"]);
    let closed_at = |joint: &str, at: &str, parts: &[&str]| {
        refused("kind = \"point\"", &format!("kind = \"point\"\nclosed_at = {{ {joint} = {at} }}"), parts);
    };
    closed_at("joint_9", "0.0", &["loop.grasp", "closed_at", "`joint_9`"]);
    closed_at("free_flyer", "0.5", &["loop.grasp", "closed_at.free_flyer", "more than one position"]);
    for bad in ["nan", "inf", "-9.0"] {
        closed_at("joint_2", bad, &["loop.grasp", "closed_at.joint_2", "expected a number from"]);
    }
}

#[test]
fn a_lenient_load_survives_and_tells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arm.urdf");
    let mut urdf = std::fs::read_to_string("robots/kinova_gen3_2f85.urdf").unwrap();
    assert!(load_lenient("kinova_gen3_2f85").unwrap().1.is_empty());
    swap(&mut urdf, "ixx=\"0.008147\"", "ixx=\"0.1\"");
    swap(&mut urdf, "velocity=\"1.3963\"", "velocity=\"0\"");
    let collision = urdf.find("<collision").unwrap();
    urdf.insert_str(collision, "<collision><geometry><mesh filename=\"a.stl\"/></geometry></collision>");
    std::fs::write(&path, urdf).unwrap();
    assert!(load(&path).is_err());
    let (robot, faults) = load_lenient(&path).unwrap();
    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
    for part in ["triangle", "velocity limit 0"] {
        assert!(faults.iter().any(|f| f.contains(part)), "`{part}` in {faults:?}");
    }
    assert_eq!((faults.len(), robot.dof()), (2, 7));
}

/// Writes the shipped files, changed by `edit(urdf, toml)`, into a folder of their own, and loads them.
fn load_edited(edit: impl Fn(&mut String, &mut String)) -> Result<Arm, RobotError> {
    read_edited(edit, |path| load(path))
}

fn model_edited(edit: impl Fn(&mut String, &mut String)) -> Result<Model, RobotError> {
    read_edited(edit, |path| load_model(path))
}

fn read_edited<T>(
    edit: impl Fn(&mut String, &mut String),
    load: impl Fn(&Path) -> Result<T, RobotError>,
) -> Result<T, RobotError> {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(Path::new("robots").join(name)).unwrap();
    let (mut urdf, mut toml) = (read("kinova_gen3_2f85.urdf"), read("kinova_gen3_2f85.toml"));
    edit(&mut urdf, &mut toml);
    std::fs::write(folder.path().join("kinova_gen3_2f85.urdf"), urdf).unwrap();
    let path = folder.path().join("arm.toml");
    std::fs::write(&path, toml).unwrap();
    load(&path)
}

fn assert_refused(edit: impl Fn(&mut String, &mut String), parts: &[&str]) {
    let message = load_edited(edit).expect_err("must be refused").to_string();
    for part in parts {
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    }
}

fn swap(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "`{from}` is not there to change");
    *text = text.replacen(from, to, 1);
}

#[test]
fn files_that_are_missing_or_malformed_are_named() {
    assert!(load("no_such_arm").unwrap_err().to_string().contains("robots/no_such_arm.toml"));
    assert!(load("some/where.toml").unwrap_err().to_string().contains("some/where.toml"));
    assert_refused(|_, t| swap(t, "kinova_gen3_2f85.urdf", "gone.urdf"), &["gone.urdf", "cannot be read"]);
    assert_refused(|u, _| swap(u, "</robot>", ""), &["kinova_gen3_2f85.urdf", "not a valid URDF"]);
    assert_refused(|_, t| swap(t, "k_r =", "# k_r ="), &["arm.toml", "k_r"]);
    assert_refused(|_, t| swap(t, "alpha =", "alpa ="), &["arm.toml", "alpa", "expected"]);
    assert_refused(|_, t| t.insert_str(0, "colour = 1\n"), &["arm.toml", "colour"]);
}

#[test]
fn faulty_settings_are_named() {
    assert_refused(|_, t| swap(t, "k_r =", "k_r = nan #"), &["arm.toml", "control.k_r", "NaN"]);
    assert_refused(|_, t| swap(t, "alpha =", "alpha = 0.0 #"), &["control.alpha", "> 0"]);
    assert_refused(|_, t| swap(t, "link_ratio =", "link_ratio = 1.5 #"), &["uncertainty.link_ratio"]);
    assert_refused(|_, t| swap(t, "position_rad =", "position_rad = -1.0 #"), &["sensors.position_rad"]);
    assert_refused(|_, t| swap(t, "-9.81", "-inf"), &["gravity_m_s2", "-inf"]);
    assert_refused(|_, t| swap(t, "coulomb = 0.5217", "coulomb = -1"), &["joints.joint_1.coulomb", ">= 0"]);
    assert_refused(
        |_, t| swap(t, "joints.joint_4", "joints.joint_9"),
        &["joints.joint_9", "no moving joint"],
    );
    assert_refused(|_, t| swap(t, "torque_nm = 90.0", "force_n = 90.0"), &["joints.joint_1.force_n"]);
    assert_refused(
        |_, t| swap(t, "velocity_deg_s = 100.0", "velocity_deg_s = 100.0\nvelocity_rad_s = 1.0"),
        &["joints.joint_1.velocity_deg_s", "velocity_rad_s"],
    );
    assert_refused(|_, t| swap(t, "= \"joint_7\"", "= \"joint_8\""), &["end_effector", "joint_8"]);
    assert_refused(|_, t| swap(t, "= \"joint_7\"", "= \"base_link\""), &["end_effector", "base_link"]);
    assert_refused(
        |_, t| swap(t, "radius_m = 0.0535", "radius_m = -0.0535"),
        &["capsules.shoulder", "radius"],
    );
    assert_refused(|_, t| swap(t, "\"upper_arm_1\"", "\"shoulder\""), &["capsules.shoulder", "two capsules"]);
    assert_refused(|_, t| swap(t, "link = \"forearm_link\"", "link = \"x\""), &["capsules.forearm", "`x`"]);
    let ignore = |pair: &str| format!("\n[[self_collision.ignore]]\n{pair}\n");
    assert_refused(
        |_, t| t.push_str(&ignore("a = \"base\"\nb = \"tail\"\nreason = \"r\"")),
        &["self_collision.ignore", "tail"],
    );
    assert_refused(
        |_, t| t.push_str(&ignore("a = \"base\"\nb = \"barrel\"\nreason = \" \"")),
        &["self_collision.ignore.reason"],
    );
    let fewer =
        load_edited(|_, t| t.push_str(&ignore("a = \"barrel\"\nb = \"base\"\nreason = \"r\""))).unwrap();
    assert_eq!(fewer.self_pairs().len() + 1, gen3().self_pairs().len());
}

#[test]
fn faulty_models_are_named() {
    assert_refused(|u, _| swap(u, "mass value=\"0.9302\"", "mass value=\"-1\""), &["`forearm_link`", "-1"]);
    assert_refused(
        |u, _| {
            swap(u, "mass value=\"0.9302\"", "mass value=\"0\"");
            swap(
                u,
                r#"ixx="0.008147" ixy="-1e-06" ixz="0" iyy="0.000631" iyz="-0.0005" izz="0.008316""#,
                r#"ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0""#,
            );
        },
        &["`forearm_link`", "`joint_4`", "mass 0 kg", "> 0"],
    );
    assert_refused(|u, _| swap(u, "ixx=\"0.008147\"", "ixx=\"0.1\""), &["`forearm_link`", "triangle"]);
}

#[test]
fn limits_come_from_the_urdf_unless_the_toml_overrides_them() {
    assert_refused(
        |_, t| swap(t, "position_deg = [-147.8, 147.8]", "position_deg = [1.0, 1.0]"),
        &["`joint_4`"],
    );
    assert_refused(
        |u, t| {
            swap(t, "position_deg = [-147.8, 147.8]", "");
            swap(u, "lower=\"-2.66\" upper=\"2.66\"", "lower=\"2.66\" upper=\"-2.66\"");
        },
        &["`joint_4`", "position limits"],
    );
    assert_refused(
        |u, t| {
            swap(t, "velocity_deg_s = 100.0", "");
            swap(u, "velocity=\"1.3963\"", "velocity=\"0\"");
        },
        &["`joint_1`", "velocity"],
    );
    let bounded =
        load_edited(|_, t| swap(t, "[joints.joint_1]", "[joints.joint_1]\nposition_rad = [-1.0, 2.0]"))
            .unwrap();
    assert_eq!(bounded.joints[0].kind, JointKind::Revolute);
    assert_eq!(bounded.joints[0].limits.position, Some((-1.0, 2.0)));
}

#[test]
fn a_shape_outside_its_capsule_is_named() {
    let thin = |_: &mut String, t: &mut String| swap(t, "radius_m = 0.0486", "radius_m = 0.045");
    assert_refused(thin, &["`bracelet_link`", "`ring", "`barrel`", "m out"]);
    // The base too, and a capsule on another body does not help.
    assert_refused(
        |_, t| swap(t, "link = \"base_link\"", "link = \"shoulder_link\""),
        &["`base_link`", "none"],
    );
}

#[test]
fn a_urdf_alone_gets_a_capsule_around_each_shape() {
    let robot = load("robots/kinova_gen3_2f85.urdf").unwrap();
    // One around each of 15 long parts; the spheres that round them off are inside.
    assert_eq!(
        (robot.dof(), robot.end_effector(), robot.shapes().len(), robot.parts().len()),
        (7, 6, 15, 39)
    );
    assert_eq!(robot.joints[0].friction.armature, 0.0);
    let forked = r#"<robot name="fork"><link name="base"/>
            <link name="a"><inertial><mass value="1"/>
              <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <link name="b"><inertial><mass value="1"/>
              <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <joint name="left" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
              <limit lower="0" upper="1" effort="5" velocity="2"/></joint>
            <joint name="right" type="revolute"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/>
              <limit lower="0" upper="1" effort="5" velocity="2"/></joint></robot>"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fork.urdf");
    std::fs::write(&path, forked).unwrap();
    let message = load(&path).unwrap_err().to_string();
    assert!(message.contains("2 leaf joints (left, right)"), "{message}");
}

#[test]
fn faulty_thrusts_are_named() {
    let toml = shipped::read(&shipped::find(Path::new("hector")).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hector.urdf"), include_str!("../../../robots/hector.urdf")).unwrap();
    let path = folder.path().join("hector.toml");
    std::fs::write(&path, &toml).unwrap();
    assert_eq!(load_model(&path).unwrap().thrusts.len(), 4);
    for (right, wrong, said) in [
        ("frame = \"rotor_front\"", "frame = \"rotor_top\"", "`rotor_top`"),
        ("name = \"left\"", "name = \"front\"", "two thrusts"),
        ("= -0.01515", "= nan", "moment_per_force_m is NaN"),
        ("[0.1, 5.0]", "[5.0, 0.1]", "lower < upper"),
        ("[0.1, 5.0]", "[0.1, inf]", "finite"),
    ] {
        std::fs::write(&path, toml.replacen(right, wrong, 1)).unwrap();
        let message = load(&path).unwrap_err().to_string();
        assert!(message.contains("thrust.") && message.contains(said), "{message}");
    }
}

/// Writes files into a folder and loads the last of them.
fn load_written(files: &[(&str, &str)]) -> Result<Arm, RobotError> {
    let folder = tempfile::tempdir().unwrap();
    let mut path = folder.path().to_path_buf();
    for (name, text) in files {
        path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    load(&path)
}

#[test]
fn a_robot_that_extends_another_is_its_written_out_form() {
    let toml = include_str!("../../../robots/z1.toml");
    let mut whole = toml.to_owned();
    for (from, to) in [
        ("name = \"z1\"", "name = \"z1_gripping\"\ngrip_along_axis_m = 0.18"),
        ("k_r = 16.0", "k_r = 5.0"),
        ("alpha = 950.0", "alpha = 1900.0"),
        ("period_s = 0.001", "period_s = 0.0005"),
    ] {
        swap(&mut whole, from, to);
    }
    let urdf = ("arm/z1.urdf", include_str!("../../../robots/z1.urdf"));
    let written = load_written(&[urdf, ("arm/z1_gripping.toml", &whole)]).unwrap();
    assert_eq!(load("z1_gripping").unwrap(), written);
    // The URDF is found from the file that names it; a robot that ships is found by its name.
    let short = include_str!("../../../robots/z1_gripping.toml");
    let mut far = short.to_owned();
    swap(&mut far, "\"z1.toml\"", "\"../arm/z1.toml\"");
    assert_eq!(load_written(&[urdf, ("arm/z1.toml", toml), ("mine/a.toml", &far)]).unwrap(), written);
    swap(&mut far, "\"../arm/z1.toml\"", "\"z1\"");
    assert_eq!(load_written(&[("a.toml", &far)]).unwrap(), written);
}

#[test]
fn what_a_robot_extends_is_refused_by_file_and_field() {
    let refused = |text: &str, parts: &[&str]| {
        let message = load_written(&[("arm.toml", text)]).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(message.contains(part), "`{message}` does not say `{part}`"));
    };
    refused("extends = \"arm.toml\"", &["arm.toml", "`extends`", "none of them itself"]);
    refused("extends = \"gone.toml\"", &["arm.toml", "`extends`", "gone.toml"]);
    refused("extends = \"no_such_arm\"", &["arm.toml", "`extends`", "no_such_arm"]);
    refused("extends = 3", &["arm.toml", "`extends`", "an integer"]);
    refused("extends = \"z1\"\ncontrol.kr = 3.0", &["arm.toml", "robot TOML", "`kr`", "control"]);
    refused("extends = \"z1\"\ncontrol.k_r = \"fast\"", &["arm.toml", "control", "expected f64"]);
    refused("extends = \"z1\"\ncontrol.k_r = -3.0", &["arm.toml", "control.k_r", "> 0"]);
    refused("extends = \"z1\"\ngrip_along_axis_m = nan", &["arm.toml", "grip_along_axis_m", "finite"]);
    refused("extends = \"go1\"\ngrip_along_axis_m = 0.1", &["grip_along_axis_m", "no `end_effector`"]);
    let floats = "extends = \"go1\"\nend_effector = \"trunk\"\ngrip_along_axis_m = 0.1";
    refused(floats, &["grip_along_axis_m", "floats"]);
}

/// The shipped arm with its hand at another joint, held 0.25 m before it.
pub(crate) fn with_grip(end_effector: &str) -> Arm {
    let edit = |t: &mut String, grip: &str| {
        swap(t, "end_effector = \"joint_7\"", &format!("end_effector = \"{end_effector}\"\n{grip}"));
    };
    load_edited(|_, t| edit(t, "grip_along_axis_m = -0.25")).unwrap()
}

#[test]
fn the_grip_moves_the_last_frame_and_nothing_else() {
    let near = load_edited(|_, _| ()).unwrap();
    for (end_effector, body) in [("joint_7", 6), ("joint_4", 3)] {
        let far = with_grip(end_effector);
        let q = [0.3, -0.7, 1.1, -1.4, 0.2, 0.9, -0.5];
        let (old, new) = (near.frames(&q), far.frames(&q));
        for (j, (a, b)) in old.iter().zip(&new).enumerate() {
            let along = if j == body { -0.25 } else { 0.0 };
            assert!((a.point(&Vector3::new(0.0, 0.0, along)) - b.translation).norm() < 1e-14, "{j}");
            assert!((a.rotation - b.rotation).norm() < 1e-14, "{j}");
        }
        for (a, b) in near.shapes().iter().zip(far.shapes()) {
            let place = |frames: &[crate::robot::Placement], shape: &LinkShape| {
                shape.joint.map_or(shape.capsule.a, |j| frames[j].point(&shape.capsule.a))
            };
            assert!((place(&old, a) - place(&new, b)).norm() < 1e-14, "{}", a.name);
        }
    }
}

/// A joint that the URDF holds turns where the TOML says so; the robot weighs what it weighed.
#[test]
fn a_held_joint_may_be_a_hinge() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("soft.toml");
    let model = |text: &str| {
        std::fs::write(&path, format!("extends = \"digit\"\n{text}")).unwrap();
        load_model(&path)
    };
    let shin = "[joints.left_shin]\nhinge = true\nvelocity_rad_s = 20.0\ntorque_nm = 0.0\n";
    let (rigid, soft) =
        (load_model("digit").unwrap(), model(&format!("{shin}position_rad = [-0.3, 0.3]\n")).unwrap());
    assert_eq!(soft.bodies(), rigid.bodies() + 1);
    let place = |robot: &Model, name: &str| robot.joints.iter().position(|joint| joint.name == name);
    let (knee, spring) = (place(&soft, "left_knee").unwrap(), place(&soft, "left_shin").unwrap());
    assert_eq!(
        (soft.joints[spring].parent, soft.joints[spring].limits.position),
        (Some(knee), Some((-0.3, 0.3)))
    );
    assert_eq!(soft.joints[place(&soft, "left_tarsus").unwrap()].parent, Some(spring));
    let mass = |robot: &Model| robot.joints.iter().map(|joint| joint.inertia[0]).sum::<f64>();
    assert!((mass(&rigid) - mass(&soft)).abs() < 1e-12 && soft.joints[spring].inertia[0] > 0.5);
    let refused = |text: &str| model(text).unwrap_err().to_string();
    let told = refused(shin);
    assert!(told.contains("joints.left_shin.hinge") && told.contains("position_rad"), "{told}");
    let told = refused("[joints.left_knee]\nhinge = true\nposition_rad = [-1.0, 1.0]\n");
    assert!(told.contains("joints.left_knee.hinge") && told.contains("moves in the URDF"), "{told}");
    assert!(refused("[joints.left_shin]\ntorque_nm = 0.0\n").contains("no moving joint"));
    let told = refused(&format!("{shin}position_rad = [0.3, -0.3]\n"));
    assert!(told.contains("left_shin"), "{told}");
}

/// Rotors on links are for estimates: no proof knows them.
#[test]
fn rotors_on_links_are_of_models_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arm.toml");
    let written = |text: &str| {
        std::fs::write(&path, format!("extends = \"kinova_gen3_2f85\"\n{text}")).unwrap();
        &path
    };
    let stated = "[joints.joint_2]\ngear_ratio = -100.0";
    let model = load_model(written(stated)).unwrap();
    assert_eq!((model.joints[0].gear_ratio, model.joints[1].gear_ratio), (None, Some(-100.0)));
    let said = load(written(stated)).unwrap_err().to_string();
    assert!(said.contains("arm.toml") && said.contains("joints.joint_2.gear_ratio"), "{said}");
    for bad in ["0.0", "nan", "inf"] {
        let said =
            load_model(written(&format!("[joints.joint_2]\ngear_ratio = {bad}"))).unwrap_err().to_string();
        assert!(said.contains("joints.joint_2.gear_ratio") && said.contains("other than zero"), "{said}");
    }
    let rail = r#"<robot name="rail"><link name="base"/><link name="a"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="slide" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
        <limit lower="0" upper="1" effort="5" velocity="2"/></joint></robot>"#;
    std::fs::write(folder.path().join("rail.urdf"), rail).unwrap();
    let text = "name = \"rail\"\nurdf = \"rail.urdf\"\n[joints.slide]\ngear_ratio = 5.0";
    std::fs::write(&path, text).unwrap();
    let said = load_model(&path).unwrap_err().to_string();
    assert!(said.contains("joints.slide.gear_ratio") && said.contains("slides"), "{said}");
}

/// Springs are stated for all joints or none, with encoders before them, and need no more than the bounds allow.
#[test]
fn springs_that_are_none_are_named() {
    let given = |text: &str| {
        load_written(&[("arm.toml", &format!("extends = \"kinova_gen3_2f85_elastic\"\n{text}"))])
    };
    let arm = given("").unwrap();
    assert!(arm.has_springs());
    // Springs alone are beyond the first law.
    let on_time =
        given("[timing]\nreading_age_max_s = 0.0\ncommand_delay_max_s = 0.0\njitter_max_s = 0.0").unwrap();
    assert!(on_time.timing().is_exact() && on_time.beyond_first_law().unwrap().contains("springs"));
    let bent = arm.joints[0].limits.torque / 10e3 + 1.5e-4;
    assert!((arm.deflection(0) - bent).abs() < 1e-15 && arm.deflection(0) >= bent);
    let refused = |text: &str, parts: &[&str]| {
        let said = given(text).unwrap_err().to_string();
        assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
    };
    refused("drives.spring.encoders = \"link\"", &["arm.toml", "drives.spring.encoders", "expected motor"]);
    refused("drives.spring.encoders = \"hand\"", &["arm.toml", "encoders", "`hand`"]);
    refused("drives.spring.stiffness_nm_rad = nan", &["drives.spring.stiffness_nm_rad", "above 0"]);
    refused("drives.spring.unmodelled_nm = 0.7", &["drives.spring.unmodelled_nm", "from 0 to 0.6", "part"]);
    refused("sensors.velocity_rad_s = 1e-3", &["joint_1", "spring.velocity_rad_s", "from 0 to 0.001"]);
    refused("sensors.position_rad = 1e-4", &["joint_1", "spring.position_rad", "from 0 to 0.0001"]);
    refused("control.stiction_speed_rad_s = 2e-3", &["joint_1", "spring.velocity_rad_s", "stiction_speed"]);
    refused("[joints.joint_3]\narmature = 0.0", &["joint_3", "transmission inertia"]);
    let one = "[joints.joint_2.drive.spring]\nstiffness_nm_rad = 1e4\nencoders = \"motor\"\nunmodelled_nm = 0.0\nvelocity_rad_s = 0.0\nposition_rad = 0.0";
    let said = load_written(&[("arm.toml", &format!("extends = \"kinova_gen3_2f85\"\n{one}"))]);
    let said = said.unwrap_err().to_string();
    assert!(said.contains("joint_1") && said.contains("spring: missing"), "{said}");
}
