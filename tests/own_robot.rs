//! The promise: any URDF with revolute, continuous, prismatic and fixed joints is loaded, moved and certified, whatever
//! its number of joints; a model that cannot be trusted is refused by name.

use std::path::PathBuf;
use std::sync::Arc;

use nalgebra::{DMatrix, SymmetricEigen, Vector3};
use surelift::certify::{ConstraintFamily, Partition, Problem, Refusal, Start, certify};
use surelift::control::{Controller, Measured, RobustController};
use surelift::dynamics::{Composites, Motion, Wrench, crba, rnea, torque_regressor};
use surelift::inertia::{INERTIAL, ParameterSet};
use surelift::plan::tube_fit;
use surelift::reach::Tube;
use surelift::robot::{self, Arm, JointKind, Scene, Zonotope3};
use surelift::trajectory::{Bezier, JointState};
use tempfile::TempDir;

/// A crane: a mast that turns about y of a lying frame (so upwards), a trolley that slides along x of a tilted one, a
/// wrist that turns about a skew axis, and a hook that is fixed to it.
const CRANE: &str = r#"<robot name="crane">
  <link name="ground"/>
  <link name="pedestal">
    <collision><origin xyz="0 0.1 0"/><geometry><box size="0.1 0.2 0.1"/></geometry></collision>
  </link>
  <link name="mast">
    <inertial><origin xyz="0.1 0.2 0"/><mass value="4"/>
      <inertia ixx="0.06" ixy="0.001" ixz="0" iyy="0.04" iyz="0" izz="0.08"/></inertial>
    <collision name="beam"><origin xyz="0.2 0.3 0"/><geometry><box size="0.5 0.06 0.06"/></geometry></collision>
  </link>
  <link name="trolley">
    <inertial><origin xyz="0 -0.05 0"/><mass value="1.5"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.004"/></inertial>
    <collision name="housing"><geometry><sphere radius="0.06"/></geometry></collision>
  </link>
  <link name="wrist">
    <inertial><origin xyz="0 0 -0.1"/><mass value="0.6"/>
      <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.001"/></inertial>
  </link>
  <link name="hook">
    <inertial><origin xyz="0 0 -0.05"/><mass value="0.4"/>
      <inertia ixx="0.0005" ixy="0" ixz="0" iyy="0.0005" iyz="0" izz="0.0002"/></inertial>
    <collision name="rod"><origin xyz="0 0 -0.05"/><geometry><cylinder radius="0.02" length="0.1"/></geometry></collision>
  </link>
  <joint name="stand" type="fixed"><parent link="ground"/><child link="pedestal"/>
    <origin rpy="1.5707963267948966 0 0"/></joint>
  <joint name="slew" type="continuous"><parent link="pedestal"/><child link="mast"/>
    <axis xyz="0 1 0"/><limit effort="60" velocity="1.5"/></joint>
  <joint name="slide" type="prismatic"><parent link="mast"/><child link="trolley"/>
    <origin xyz="0.3 0.2 0" rpy="0 0 0.3"/><axis xyz="1 0 0"/>
    <limit lower="-0.2" upper="0.25" effort="80" velocity="0.6"/></joint>
  <joint name="twist" type="revolute"><parent link="trolley"/><child link="wrist"/>
    <origin xyz="0 -0.08 0"/><axis xyz="1 1 0"/>
    <limit lower="-2" upper="2" effort="25" velocity="2"/></joint>
  <joint name="weld" type="fixed"><parent link="wrist"/><child link="hook"/><origin xyz="0 0 -0.15"/></joint>
</robot>
"#;

const SETTINGS: &str = r#"
name = "crane"
urdf = "crane.urdf"
end_effector = "hook"
[uncertainty]
link_ratio = 0.05
friction_ratio = 0.05
armature_ratio = 0.05
[sensors]
position_rad = 5e-6
velocity_rad_s = 5e-5
torque_ratio = 0.025
torque_abs_nm = 0.0
[control]
k_r = 5.0
alpha = 80.0
v_max = 0.01
period_s = 0.001
stiction_speed_rad_s = 0.001
[joints.slew]
coulomb = 0.3
viscous = 4.0
armature = 6.0
[joints.slide]
velocity_m_s = 0.5
coulomb = 0.5
viscous = 5.0
armature = 8.0
[joints.twist]
position_deg = [-110.0, 110.0]
coulomb = 0.1
viscous = 2.0
armature = 5.0
"#;

/// Writes the two files, each changed by replacing a text that must occur, and loads them.
fn load(urdf: [&str; 2], settings: [&str; 2]) -> (TempDir, Result<Arm, String>) {
    let changed = |text: &str, [old, new]: [&str; 2]| {
        assert!(text.contains(old), "nothing to replace: {old}");
        text.replacen(old, new, 1)
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    write("crane.urdf", changed(CRANE, urdf));
    let path = write("crane.toml", changed(SETTINGS, settings));
    let robot = robot::load(path).map_err(|error| error.to_string());
    (folder, robot)
}

fn crane() -> Arm {
    load(["", ""], ["", ""]).1.unwrap()
}

#[test]
fn joints_are_read_and_fixed_ones_merged() {
    let robot = crane();
    let kinds: Vec<_> = robot.joints.iter().map(|j| (j.name.as_str(), j.kind)).collect();
    assert_eq!(
        kinds,
        [("slew", JointKind::Continuous), ("slide", JointKind::Prismatic), ("twist", JointKind::Revolute)]
    );
    // Wrist and hook are one body, which is the end effector.
    assert_eq!(robot.end_effector(), 2);
    assert!((robot.joints[2].inertia[0] - 1.0).abs() < 1e-15);
    assert_eq!(robot.joints[1].limits.velocity, 0.5);
    assert_eq!(robot.joints[1].limits.position, Some((-0.2, 0.25)));
    assert!((robot.joints[2].limits.position.unwrap().1 - 110f64.to_radians()).abs() < 1e-15);
    assert_eq!(robot.joints[0].limits.position, None);
    // Turning the mast moves things horizontally, and the trolley runs on a slope.
    let height = |q: [f64; 3]| robot.frames(&q)[2].point(&Vector3::zeros()).z;
    assert!((height([0.0, 0.1, 0.0]) - height([1.3, 0.1, 0.0])).abs() < 1e-12);
    assert!((height([0.0, 0.1, 0.0]) - height([0.0, 0.0, 0.0]) - 0.1 * 0.3f64.sin()).abs() < 1e-12);
}

#[test]
fn dynamics_of_three_joints_are_consistent() {
    let robot = crane();
    let n = robot.dof();
    let theta = robot.nominal_parameters();
    let (q, dq, ddq) = ([0.4, 0.1, -0.8], [0.7, -0.3, 1.1], [1.5, 0.6, -2.0]);
    let mut motion = Motion::new(&robot);
    let mut inverse = |dq: &[f64], ddq: &[f64]| {
        let mut tau = vec![0.0; n];
        motion.sweep(&robot, &q, dq, dq, ddq);
        rnea(&robot, &motion, &theta, &mut vec![Wrench::zero(); n], &mut tau);
        let mut y = vec![0.0; n * INERTIAL * n];
        torque_regressor(&robot, &motion, 0..n, &mut y);
        for (row, tau) in y.chunks(INERTIAL * n).zip(&tau) {
            let sum: f64 = row.iter().zip(&theta).map(|(y, t)| y * t).sum();
            assert!((sum - tau).abs() < 1e-12);
        }
        tau
    };
    let still = inverse(&[0.0; 3], &[0.0; 3]);
    let (moving, coasting) = (inverse(&dq, &ddq), inverse(&dq, &[0.0; 3]));
    let mut mass = vec![0.0; n * n];
    crba(&robot, &motion, &theta, &mut Composites::new(&robot), &mut mass);
    let mass = DMatrix::from_row_slice(n, n, &mass);
    assert!(SymmetricEigen::new(mass.clone()).eigenvalues.min() > 0.0);
    for j in 0..n {
        let accelerating: f64 = (0..n).map(|k| mass[(j, k)] * ddq[k]).sum();
        assert!((moving[j] - coasting[j] - accelerating).abs() < 1e-12);
    }
    // The trolley and what hangs from it weigh 2.5 kg and stand on the slope; the mast turns about the vertical.
    assert!((still[1] - 2.5 * 9.81 * 0.3f64.sin()).abs() < 1e-12, "{still:?}");
    assert!(still[0].abs() < 1e-12);
}

#[test]
fn a_plan_is_certified_and_a_wall_is_not_passed() {
    let robot = crane();
    let set = ParameterSet::around_nominal(&robot);
    let start = JointState::at_rest(&[0.0, -0.1, 0.0]);
    let curve = Bezier::to_rest(&start, &[0.6, 0.1, 0.8], 3.0).unwrap();
    let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 16).unwrap();

    let block = |center: Vector3<f64>| {
        let size = Vector3::new(0.1, 0.1, 0.4);
        let obstacle = Zonotope3::cuboid("block", center, size, &nalgebra::Matrix3::identity());
        Scene { obstacles: vec![obstacle] }
    };
    let prove = |scene: &Scene| {
        let problem = Problem::new(&robot, &set, scene, &tube, &curve).unwrap();
        certify(&problem, &Start::Rest, Partition::default())
    };
    let certificate = prove(&block(Vector3::new(-0.8, 0.0, 0.2))).unwrap();
    for margin in [&certificate.position, &certificate.velocity, &certificate.torque, &certificate.collision]
    {
        assert!(margin.value.unwrap() > 0.0, "{certificate:?}");
    }

    // In the way of the hook.
    let middle = robot.frames(&curve.state(1.5).q)[2].point(&Vector3::new(0.0, 0.0, -0.2));
    let refusal = prove(&block(middle)).unwrap_err();
    assert!(matches!(&refusal, Refusal::Constraint { family: ConstraintFamily::Collision, .. }), "{refusal}");
    assert!(refusal.to_string().contains("obstacle 'block'"), "{refusal}");

    // The controller that goes with the plan runs on three joints too.
    let robot = Arc::new(robot);
    let mut controller = RobustController::new(robot, &set, &tube);
    let mut tau = [0.0; 3];
    let tick = controller.tick(0.0, Measured { q: &start.q, dq: &start.dq }, &start, &mut tau);
    assert!(!tick.saturated && tau.iter().all(|x| x.is_finite()) && tau[1] > 0.0, "{tau:?}");
}

#[test]
fn without_transmission_inertia_the_links_bear_the_proof() {
    let (_folder, robot) = load(["", ""], ["armature = 8.0", "armature = 0.0"]);
    let robot = robot.unwrap();
    let set = ParameterSet::around_nominal(&robot);
    let curve = Bezier::to_rest(&JointState::at_rest(&[0.0; 3]), &[0.1; 3], 3.0).unwrap();
    let bare = tube_fit::initial(&robot);
    let scene = Scene::default();
    let refusal = Problem::new(&robot, &set, &scene, &bare, &curve).unwrap_err();
    assert!(refusal.to_string().contains("inertia_floor and lag_floor of joint 'slide'"), "{refusal}");
    // The floor that the links have is proven, and one that they do not have is not.
    let tube = tube_fit::fit(&robot, &set, &curve, &bare, 16).unwrap();
    let factor = |tube: &Tube| {
        let reports = Problem::new(&robot, &set, &scene, tube, &curve).unwrap().survey(16);
        reports.iter().map(|report| report.required.floor_factor).fold(0.0, f64::max)
    };
    assert!(tube.inertia_floor[1] > 1.0 && factor(&tube) <= 1.0, "{:?}", tube.inertia_floor);
    let mut higher = tube.clone();
    higher.inertia_floor[1] *= 2.0;
    assert!(factor(&higher) > 1.0);
}

#[test]
fn models_that_cannot_be_trusted_are_refused_by_name() {
    let same = ["", ""];
    for (urdf, settings, words) in [
        (["<mass value=\"4\"/>", "<mass value=\"-4\"/>"], same, ["crane.urdf", "`mast`", "mass"]),
        (["<mass value=\"4\"/>", "<mass value=\"nan\"/>"], same, ["crane.urdf", "`mast`", "mass"]),
        (["izz=\"0.08\"", "izz=\"0.8\""], same, ["crane.urdf", "`mast`", "triangle"]),
        (["child link=\"wrist\"", "child link=\"fist\""], same, ["crane.urdf", "`twist`", "fist"]),
        (["child link=\"hook\"", "child link=\"wrist\""], same, ["crane.urdf", "wrist", ""]),
        (["axis xyz=\"1 0 0\"", "axis xyz=\"0 0 0\""], same, ["crane.urdf", "`slide`", "axis"]),
        (["lower=\"-0.2\" upper=\"0.25\"", "lower=\"0.3\" upper=\"0.25\""], same, ["`slide`", "0.3", "0.25"]),
        (same, ["[joints.slide]", "[joints.sled]"], ["crane.toml", "joints.sled", "crane.urdf"]),
        (same, ["velocity_m_s", "velocity_deg_s"], ["crane.toml", "joints.slide.velocity_deg_s", "slides"]),
        (same, ["k_r = 5.0", "k_r = inf"], ["crane.toml", "control.k_r", "finite"]),
        (
            same,
            ["end_effector = \"hook\"", "end_effector = \"claw\""],
            ["crane.toml", "end_effector", "claw"],
        ),
        (same, ["urdf = \"crane.urdf\"", "urdf = \"drone.urdf\""], ["drone.urdf", "", ""]),
    ] {
        let message = load(urdf, settings).1.expect_err(words[1]);
        for word in words {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
    }
}

#[test]
fn capsules_that_do_not_cover_a_link_are_refused() {
    let short = "\n[[capsules]]\nname = \"beam\"\nlink = \"mast\"\na_m = [0.0, 0.3, 0.0]\nb_m = [0.4, 0.3, 0.0]\nradius_m = 0.03\n[joints.slew]";
    let message = load(["", ""], ["[joints.slew]", short]).1.unwrap_err();
    assert!(message.contains("is not provably inside one capsule"), "{message}");
}
