use super::*;
use crate::robot::Arm;

/// Inertial parameters of the merged bodies about the joint frames, computed with an independent library.
const REFERENCE: [[f64; 10]; 7] = [
    [
        1.3773,
        -3.167789999999999e-05,
        -0.014274337199999996,
        -0.10103872799999995,
        0.012130140316820793,
        6.716902444000001e-07,
        0.012243201814671693,
        -3.2389074399999817e-07,
        -0.0005991653769919991,
        0.0015569399593325,
    ],
    [
        1.1636,
        -5.1198399999999994e-05,
        -0.115871288,
        -0.015450280799999999,
        0.022831611687502404,
        -9.833667199999875e-08,
        0.001277151081192,
        -6.798123551999999e-07,
        -0.002229538962064,
        0.0227934651117696,
    ],
    [
        1.1636,
        -5.1198399999999994e-05,
        -0.0077274676,
        -0.1371791312,
        0.027155640247761993,
        -3.400085744e-07,
        0.027299324388159997,
        -1.30358817728e-05,
        -0.0003050066102992,
        0.0010943203650612,
    ],
    [
        0.9302,
        -1.67436e-05,
        -0.0702096356,
        -0.0139585812,
        0.013655745345304001,
        -2.2637734408e-06,
        0.0008404627708719996,
        -2.512544616e-07,
        -0.0015535657918136,
        0.0136152831772016,
    ],
    [
        0.6781,
        6.781e-07,
        -0.0063958392,
        -0.0433190623,
        0.0044236772122453,
        6.3958392e-09,
        0.004374351657589,
        4.33190623e-08,
        -0.00015258539561359993,
        0.0004593255560125,
    ],
    [
        0.6781,
        6.781e-07,
        -0.030842022300000004,
        -0.006543665000000001,
        0.0031069340675209003,
        3.0842022300000005e-08,
        0.0004731463679281,
        6.5436650000000005e-09,
        -0.000575625515195,
        0.0030437877009490003,
    ],
    [
        1.2848642730399997,
        -4.2500308904799285e-05,
        8.758577719476931e-05,
        -0.10866042673210367,
        0.01258073583891399,
        -4.066023909558754e-06,
        0.013381682849930195,
        -8.257592150231013e-07,
        5.97932273168403e-06,
        0.0013934355976276448,
    ],
];

fn gen3() -> Arm {
    load("kinova_gen3_2f85").unwrap()
}

#[test]
fn the_shipped_arm_has_the_reference_inertias() {
    for (joint, reference) in gen3().joints.iter().zip(REFERENCE) {
        for (got, want) in joint.inertia.iter().zip(reference) {
            assert!((got - want).abs() < 1e-12, "{}: {got} instead of {want}", joint.name);
        }
    }
}
#[test]
fn the_shipped_arm_has_the_published_limits_and_friction() {
    let robot = gen3();
    assert_eq!((robot.dof(), robot.end_effector(), robot.shapes().len()), (7, 6, 14));
    // Of 21 pairs of bodies that are no neighbours, these remain, counted from the base; the others provably cannot touch.
    let body = |shape: usize| robot.shapes()[shape].joint.map_or(0, |joint| joint + 1);
    let bodies: std::collections::BTreeSet<_> =
        robot.self_pairs().iter().map(|&(a, b)| (body(a), body(b))).collect();
    let pairs = [(0, 4), (0, 5), (0, 6), (0, 7), (1, 5), (1, 6), (1, 7), (2, 6), (2, 7), (3, 7)];
    assert_eq!(bodies.into_iter().collect::<Vec<_>>(), pairs);
    let [shoulder, wrist] = [&robot.joints[1], &robot.joints[6]];
    let (lower, upper) = shoulder.limits.position.unwrap();
    assert!((upper - 128.9_f64.to_radians()).abs() < 1e-12 && lower == -upper);
    assert_eq!(wrist.limits.position, None);
    assert!((wrist.limits.velocity - std::f64::consts::PI).abs() < 1e-12);
    assert_eq!((shoulder.limits.torque, wrist.limits.torque), (90.0, 45.0));
    assert_eq!((shoulder.friction.armature, wrist.friction.coulomb), (11.9962, 0.1434));
}

#[test]
fn the_shipped_arm_is_where_the_reference_puts_it() {
    let q = [
        0.18004164348361307,
        -1.0056341155388187,
        -0.4788281087027967,
        -1.3486151362567742,
        0.4977583582126829,
        0.9368707463711687,
        0.2730149753102461,
    ];
    let last = gen3().frames(&q)[6];
    let p = Vector3::new(-0.6701555646929047, -0.10304636991603575, 0.3513325789229948);
    let z = Vector3::new(0.8819552466843444, 0.38402031015564264, -0.27328253554503634);
    assert!((last.translation - p).norm() < 1e-12);
    assert!((last.rotation.column(2) - z).norm() < 1e-12);
}

#[test]
fn the_shipped_capsules_leave_ordinary_configurations_free() {
    use std::f64::consts::{FRAC_PI_2, PI};

    use rand::{Rng, SeedableRng};
    let robot = gen3();
    let names = |(a, b): (usize, usize)| (robot.shapes()[a].name.clone(), robot.shapes()[b].name.clone());
    let assert_free = |q: &[f64], least: f64| {
        let c = robot.self_clearance(&robot.frames(q)).unwrap();
        let crate::robot::Obstruction::Shape(other) = c.to else { panic!("not a shape") };
        assert!(c.distance > least, "{:?} {} m apart at {q:?}", names((c.shape, other)), c.distance);
    };
    assert_free(&[0.0, 0.26, PI, -2.27, 0.0, 0.96, FRAC_PI_2], 0.02);
    assert_free(&[0.0; 7], 0.02);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(4);
    let mut ordinary = 0;
    for _ in 0..5000 {
        let mut within = |range: f64| rng.random_range(-range..range);
        let q = [within(3.1), within(1.6), within(3.1), within(1.9), within(3.1), within(1.7), within(3.1)];
        let frames = robot.frames(&q);
        // Elbow up: no further down than the shoulder, hand above the mounting plane and in front of the base.
        let hand = frames[6].translation;
        if frames[3].translation.z > 0.28 && hand.z > 0.25 && hand.xy().norm() > 0.25 {
            assert_free(&q, 0.0);
            ordinary += 1;
        }
    }
    assert!(ordinary > 500, "only {ordinary}");
    for joint in [1, 3, 5] {
        let mut q = [0.0; 7];
        q[joint] = robot.joints[joint].limits.position.unwrap().1;
        assert_free(&q, -0.01);
    }
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
    for part in ["`a.stl`", "triangle", "velocity limit 0"] {
        assert!(faults.iter().any(|f| f.contains(part)), "`{part}` in {faults:?}");
    }
    assert_eq!((faults.len(), robot.dof()), (3, 7));
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

#[test]
fn arms_that_ship_have_room_to_move() {
    use rand::SeedableRng;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    for (name, at_least) in [("kinova_gen3", 500), ("z1", 500)] {
        let robot = load(name).unwrap();
        let free = (0..1000).filter(|_| {
            let q = crate::robot::configuration::random(&robot, &mut rng);
            robot.self_clearance(&robot.frames(&q)).is_some_and(|c| c.distance > 0.0)
        });
        let free = free.count();
        assert!(free >= at_least, "{name}: {free} of 1000");
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
