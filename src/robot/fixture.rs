//! A robot for tests: small enough to check by hand.

use nalgebra::{Matrix3, Vector3};

use super::arm::{Arm, ArmDescription};
use super::gains::Gains;
use super::model::*;
use super::sensors::Sensors;
use super::shape::{Capsule, HeldShape, LinkShape};
use super::timing::TimingBounds;
use super::uncertainty::Uncertainty;
use crate::inertia::JointParameters;

/// Two turning joints a metre apart, then a sliding one; a capsule on each body and a base post.
pub(crate) fn small_robot() -> Arm {
    let joint = |name: &str, kind, parent, x: f64, position| Joint {
        name: name.into(),
        link: format!("{name}_link"),
        kind,
        parent,
        placement: Placement { rotation: Matrix3::identity(), translation: Vector3::new(x, 0.0, 0.0) },
        limits: JointLimits { position, velocity: 2.0, torque: 50.0 },
        friction: JointParameters { coulomb: 0.5, viscous: 0.5, armature: 0.1, offset: 0.0 },
        gear_ratio: None,
        inertia: [1.0, 0.3, 0.0, 0.05, 0.05, 0.0, 0.2, 0.0, 0.0, 0.2],
    };
    let bar = |name: &str, joint, length: f64| LinkShape {
        name: name.into(),
        joint,
        capsule: Capsule { a: Vector3::zeros(), b: Vector3::new(length, 0.0, 0.0), radius: 0.05 },
    };
    let model = Model {
        name: "planar".into(),
        gravity: Vector3::new(0.0, 0.0, -9.81),
        joints: vec![
            joint("one", JointKind::Revolute, None, 0.0, Some((-3.0, 3.0))),
            joint("two", JointKind::Continuous, Some(0), 1.0, None),
            joint("three", JointKind::Prismatic, Some(1), 0.5, Some((-0.5, 0.5))),
        ],
        named_frames: vec![],
        link_frames: vec![],
        loops: vec![],
        thrusts: vec![],
        friction_speed_rad_s: 0.01,
        guesses: vec![],
    };
    let stated = ArmDescription {
        model,
        shapes: vec![
            bar("post", None, 0.0),
            bar("upper", Some(0), 1.0),
            bar("fore", Some(1), 0.5),
            bar("tip", Some(2), 0.1),
        ],
        parts: vec![],
        ignored_pairs: vec![],
        held: HeldShape::Nothing,
        end_effector: 2,
        tool_frames: vec![],
        uncertainty: Uncertainty {
            link_ratio: 0.05,
            friction_ratio: 0.05,
            armature_ratio: 0.05,
            gravity_direction_deg: 0.0,
            breakaway_ratio: 1.0,
            first_moment_kg_m: 0.0,
            inertia_kg_m2: 0.0,
            offset_nm: 0.0,
        },
        sensors: Sensors::PERFECT,
        drives: vec![],
        timing: TimingBounds::EXACT,
        gains: Gains { k_r: 10.0, alpha: 20.0, v_max: 1e-4, period_s: 1e-3, stiction_speed_rad_s: 0.01 },
    };
    Arm::unchecked(stated, vec![(0, 2), (0, 3)])
}

/// The tree of [`small_robot`].
pub(crate) fn small_model() -> Model {
    small_robot().model().clone()
}

/// The robot on a free-flying body in place of its base.
pub(crate) fn floating(mut robot: Model) -> Model {
    for joint in &mut robot.joints {
        joint.parent = Some(joint.parent.map_or(0, |p| p + 1));
    }
    let root = Joint {
        name: "root".into(),
        link: "trunk".into(),
        kind: JointKind::FreeFlyer,
        parent: None,
        placement: Placement::identity(),
        limits: JointLimits { position: None, velocity: f64::MAX, torque: 0.0 },
        friction: JointParameters { coulomb: 0.0, viscous: 0.0, armature: 0.0, offset: 0.0 },
        gear_ratio: None,
        inertia: [3.0, 0.2, -0.1, 0.3, 0.4, 0.02, 0.5, 0.0, -0.03, 0.6],
    };
    robot.joints.insert(0, root);
    robot
}

/// Turning joints, each hung on the one that `parents` says; axes and bodies differ from joint to joint, and what the transmissions turn is next to nothing, so that
/// the links alone bear a floor of the mass matrix.
pub(crate) fn tree(name: &str, parents: &[Option<usize>]) -> Arm {
    let joint = |(k, parent): (usize, &Option<usize>)| {
        let x = k as f64;
        let turn = nalgebra::Rotation3::new(Vector3::new(0.9 * (x + 1.0).sin(), 0.7 * (2.0 * x).cos(), 0.3));
        let (m, c) = (1.5 + 0.2 * x.cos(), Vector3::new(0.06, 0.02 * x.sin(), 0.1));
        let i = [0.02, 0.025, 0.015];
        Joint {
            name: format!("{name}_{k}"),
            link: format!("{name}_link_{k}"),
            kind: JointKind::Revolute,
            parent: *parent,
            placement: Placement {
                rotation: turn.into_inner(),
                translation: if parent.is_some() {
                    Vector3::new(0.02, 0.01, 0.2)
                } else {
                    Vector3::new(0.6 * x, 0.0, 0.0)
                },
            },
            limits: JointLimits { position: Some((-3.0, 3.0)), velocity: 2.0, torque: 200.0 },
            friction: JointParameters { coulomb: 0.3, viscous: 0.5, armature: 1e-3, offset: 0.0 },
            gear_ratio: None,
            inertia: [
                m,
                m * c.x,
                m * c.y,
                m * c.z,
                i[0] + m * (c.y * c.y + c.z * c.z),
                -m * c.x * c.y,
                i[1] + m * (c.x * c.x + c.z * c.z),
                -m * c.x * c.z,
                -m * c.y * c.z,
                i[2] + m * (c.x * c.x + c.y * c.y),
            ],
        }
    };
    let joints: Vec<Joint> = parents.iter().enumerate().map(joint).collect();
    let mut robot = small_robot();
    let stated = robot.stated();
    (stated.end_effector, stated.shapes) = (joints.len() - 1, vec![]);
    (stated.model.name, stated.model.joints) = (name.to_owned(), joints);
    robot.pairs().clear();
    robot
}

/// A SCARA: two joints that turn, one that slides, one that turns, all upright.
pub(crate) const SCARA: &str = r#"<robot name="scara">
  <link name="column"><collision><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.08" length="0.2"/></geometry></collision></link>
  <link name="inner"><inertial><origin xyz="0.1 0 0"/><mass value="4"/><inertia ixx="0.02" iyy="0.05" izz="0.06" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.1 0 0"/><geometry><box size="0.3 0.1 0.08"/></geometry></collision></link>
  <link name="outer"><inertial><origin xyz="0.1 0 0"/><mass value="3"/><inertia ixx="0.02" iyy="0.04" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.1 0 0.1"/><geometry><box size="0.3 0.1 0.08"/></geometry></collision></link>
  <link name="quill"><inertial><mass value="0.5"/><inertia ixx="0.002" iyy="0.002" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><cylinder radius="0.01" length="0.2"/></geometry></collision></link>
  <link name="hand"><inertial><mass value="0.2"/><inertia ixx="0.0002" iyy="0.0002" izz="0.0001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="one" type="revolute"><parent link="column"/><child link="inner"/><origin xyz="0 0 0.25"/><axis xyz="0 0 1"/>
    <limit lower="-2.2" upper="2.2" effort="60" velocity="4"/></joint>
  <joint name="two" type="revolute"><parent link="inner"/><child link="outer"/><origin xyz="0.25 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2.4" upper="2.4" effort="30" velocity="6"/></joint>
  <joint name="three" type="prismatic"><parent link="outer"/><child link="quill"/><origin xyz="0.2 0 0"/><axis xyz="0 0 -1"/>
    <limit lower="0" upper="0.15" effort="150" velocity="1"/></joint>
  <joint name="four" type="continuous"><parent link="quill"/><child link="hand"/><axis xyz="0 0 -1"/><limit effort="5" velocity="10"/></joint>
</robot>
"#;
