//! URDF text -> a checked tree of links and joints, still with its fixed joints.
//!
//! Reader: whoever adds a URDF element. `merge` consumes the result; nothing else should.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use nalgebra::{Matrix3, Rotation3, Vector3};

use super::collision::{Collision, Primitive};
use super::error::RobotError;
use super::model::{JointKind, Placement};
use super::nesting;
use super::shipped;
use super::validate::Judge;

/// A link as the URDF states it.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub name: String,
    pub mass: f64,
    /// Centre of mass in the link frame.
    pub com: Vector3<f64>,
    /// Inertia about the centre of mass, axes of the link frame.
    pub inertia: Matrix3<f64>,
    pub collisions: Vec<Collision>,
    /// Collision meshes, whose files are read only where shapes matter.
    pub meshes: Vec<CollisionMesh>,
}

/// A collision mesh as the URDF names it.
#[derive(Debug, Clone)]
pub(super) struct CollisionMesh {
    /// For messages: the URDF name, else `mesh number`.
    pub name: String,
    /// The path as it is written.
    pub file: String,
    /// Metres to one unit of the file, along its axes.
    pub scale: Vector3<f64>,
    /// The file's frame in the link's.
    pub placement: Placement,
}

/// A joint as the URDF states it; `kind` is `None` for a fixed joint.
#[derive(Debug, Clone)]
pub(super) struct UrdfJoint {
    pub name: String,
    pub kind: Option<JointKind>,
    pub parent: usize,
    pub child: usize,
    pub origin: Placement,
    /// Unit vector in the child link's frame (z for a fixed joint).
    pub axis: Vector3<f64>,
    pub position: (f64, f64),
    pub velocity: f64,
    pub effort: f64,
    pub damping: f64,
    pub friction: f64,
    /// The joint that it follows.
    pub mimic: Option<Mimic>,
    /// What it was, and where it is held (rad or m), of a joint that moves in the URDF and is made a fixed one.
    pub held_at: Option<(JointKind, f64)>,
}

/// That a joint follows another one: its position is `multiplier` times the other's, plus `offset` (rad or m).
#[derive(Debug, Clone)]
pub(super) struct Mimic {
    pub joint: String,
    pub multiplier: f64,
    pub offset: f64,
}

/// A checked kinematic tree.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub path: PathBuf,
    pub name: String,
    pub links: Vec<Link>,
    /// Parents before children.
    pub joints: Vec<UrdfJoint>,
    /// Index of the root link.
    pub root: usize,
}

/// Reads and checks a URDF file.
pub(super) fn read(path: &Path, judge: &mut Judge) -> Result<Tree, RobotError> {
    parse(path, &shipped::read(path)?, judge)
}

/// Checks URDF text; `path` is for messages.
pub(super) fn parse(path: &Path, text: &str, judge: &mut Judge) -> Result<Tree, RobotError> {
    let parse_error =
        |message: String| RobotError::Parse { path: path.to_path_buf(), format: "URDF", message };
    if let Some((line, reason)) = nesting::fault(text) {
        return Err(parse_error(format!("line {line}: {reason}")));
    }
    let robot = urdf_rs::read_from_string(text).map_err(|e| {
        let xacro = text.contains("<xacro:") || text.contains("${");
        let hint = if xacro {
            "; it is a xacro, expected the URDF that `xacro FILE > arm.urdf` makes of it"
        } else {
            ""
        };
        parse_error(format!("{e}{hint}"))
    })?;
    let links = robot.links.iter().map(|l| read_link(path, l, judge)).collect::<Result<Vec<_>, _>>()?;
    let index = index_by_name(path, &links)?;
    let mut seen = HashSet::new();
    let mut joints = Vec::with_capacity(robot.joints.len());
    for joint in &robot.joints {
        if !seen.insert(joint.name.as_str()) {
            return Err(joint_error(path, &joint.name, "the name is used by two joints"));
        }
        joints.push(read_joint(path, joint, &index)?);
    }
    let (root, joints) = order(path, &links, joints)?;
    Ok(Tree { path: path.to_path_buf(), name: robot.name, links, joints, root })
}

fn joint_error(path: &Path, joint: &str, reason: impl Into<String>) -> RobotError {
    RobotError::Joint { path: path.to_path_buf(), joint: joint.into(), reason: reason.into() }
}

fn link_error(path: &Path, link: &str, reason: impl Into<String>) -> RobotError {
    RobotError::Link { path: path.to_path_buf(), link: link.into(), reason: reason.into() }
}

fn index_by_name(path: &Path, links: &[Link]) -> Result<HashMap<String, usize>, RobotError> {
    let mut index = HashMap::new();
    for (i, link) in links.iter().enumerate() {
        if index.insert(link.name.clone(), i).is_some() {
            return Err(link_error(path, &link.name, "the name is used by two links"));
        }
    }
    Ok(index)
}

/// The first of the named numbers that is not finite, as a reason.
fn not_finite(numbers: &[(&str, &[f64])]) -> Option<String> {
    numbers.iter().find_map(|(what, values)| {
        let bad = values.iter().find(|v| !v.is_finite())?;
        Some(format!("{what} contains {bad}, expected finite numbers"))
    })
}

fn placement(pose: &urdf_rs::Pose) -> Placement {
    let [roll, pitch, yaw] = pose.rpy.0;
    Placement {
        rotation: Rotation3::from_euler_angles(roll, pitch, yaw).into_inner(),
        translation: Vector3::from(pose.xyz.0),
    }
}

fn read_link(path: &Path, link: &urdf_rs::Link, judge: &mut Judge) -> Result<Link, RobotError> {
    let inertial = &link.inertial;
    let i = &inertial.inertia;
    let tensor = [i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz];
    if let Some(reason) = not_finite(&[
        ("inertial origin xyz", &inertial.origin.xyz.0),
        ("inertial origin rpy", &inertial.origin.rpy.0),
        ("mass", &[inertial.mass.value]),
        ("inertia", &tensor),
    ]) {
        return Err(link_error(path, &link.name, reason));
    }
    let frame = placement(&inertial.origin);
    #[rustfmt::skip]
    let at_com = Matrix3::new(
        i.ixx, i.ixy, i.ixz,
        i.ixy, i.iyy, i.iyz,
        i.ixz, i.iyz, i.izz,
    );
    let (mut collisions, mut meshes) = (Vec::new(), Vec::new());
    for (k, collision) in link.collision.iter().enumerate() {
        let read = if let urdf_rs::Geometry::Mesh { filename, scale } = &collision.geometry {
            let scale = scale.map_or([1.0; 3], |scale| scale.0);
            read_mesh(path, &link.name, k, collision, filename, scale).map(|mesh| meshes.push(mesh))
        } else {
            read_collision(path, &link.name, k, collision).map(|collision| collisions.push(collision))
        };
        read.or_else(|fault| judge.hear(fault))?;
    }
    Ok(Link {
        name: link.name.clone(),
        mass: inertial.mass.value,
        com: frame.translation,
        inertia: frame.rotation * at_com * frame.rotation.transpose(),
        collisions,
        meshes,
    })
}

fn read_mesh(
    path: &Path,
    link: &str,
    number: usize,
    collision: &urdf_rs::Collision,
    file: &str,
    scale: [f64; 3],
) -> Result<CollisionMesh, RobotError> {
    let name = collision.name.clone().unwrap_or_else(|| format!("mesh {number}"));
    let origin = &collision.origin;
    let numbers: [(&str, &[f64]); 3] =
        [("origin xyz", &origin.xyz.0), ("origin rpy", &origin.rpy.0), ("scale", &scale)];
    let bad = not_finite(&numbers)
        .or_else(|| scale.contains(&0.0).then(|| "scale 0, expected a factor that is not 0".to_owned()));
    if let Some(reason) = bad {
        return Err(link_error(path, link, format!("collision `{name}`: {reason}")));
    }
    Ok(CollisionMesh { name, file: file.to_owned(), scale: scale.into(), placement: placement(origin) })
}

fn read_collision(
    path: &Path,
    link: &str,
    number: usize,
    collision: &urdf_rs::Collision,
) -> Result<Collision, RobotError> {
    use urdf_rs::Geometry;
    let (kind, primitive, sizes) = match &collision.geometry {
        Geometry::Box { size } => ("box", Primitive::Box { size: Vector3::from(size.0) }, size.0.to_vec()),
        &Geometry::Cylinder { radius, length } => {
            ("cylinder", Primitive::Cylinder { radius, length }, vec![radius, length])
        }
        &Geometry::Capsule { radius, length } => {
            ("capsule", Primitive::Capsule { radius, length }, vec![radius, length])
        }
        &Geometry::Sphere { radius } => ("sphere", Primitive::Sphere { radius }, vec![radius]),
        Geometry::Mesh { filename, .. } => {
            return Err(link_error(path, link, format!("collision mesh `{filename}`, expected a primitive")));
        }
    };
    let name = collision.name.clone().unwrap_or_else(|| format!("{kind} {number}"));
    let bad = not_finite(&[
        ("origin xyz", &collision.origin.xyz.0),
        ("origin rpy", &collision.origin.rpy.0),
        ("size", &sizes),
    ])
    .or_else(|| {
        let bad = sizes.iter().find(|s| **s <= 0.0)?;
        Some(format!("size {bad}, expected a length > 0"))
    });
    if let Some(reason) = bad {
        return Err(link_error(path, link, format!("collision `{name}`: {reason}")));
    }
    Ok(Collision { name, placement: placement(&collision.origin), primitive })
}

fn read_joint(
    path: &Path,
    joint: &urdf_rs::Joint,
    index: &HashMap<String, usize>,
) -> Result<UrdfJoint, RobotError> {
    use urdf_rs::JointType;
    let error = |reason: String| joint_error(path, &joint.name, reason);
    let kind = match &joint.joint_type {
        JointType::Fixed => None,
        JointType::Revolute => Some(JointKind::Revolute),
        JointType::Continuous => Some(JointKind::Continuous),
        JointType::Prismatic => Some(JointKind::Prismatic),
        other => {
            let other = format!("{other:?}").to_lowercase();
            return Err(error(format!(
                "type `{other}` is not supported, expected revolute, continuous, prismatic or fixed"
            )));
        }
    };
    let mimic = joint.mimic.as_ref().filter(|_| kind.is_some()).map(|mimic| Mimic {
        joint: mimic.joint.clone(),
        multiplier: mimic.multiplier.unwrap_or(1.0),
        offset: mimic.offset.unwrap_or(0.0),
    });
    let find = |role: &str, link: &str| {
        index.get(link).copied().ok_or_else(|| error(format!("its {role} link `{link}` does not exist")))
    };
    let parent = find("parent", &joint.parent.link)?;
    let child = find("child", &joint.child.link)?;
    let (damping, friction) = joint.dynamics.as_ref().map_or((0.0, 0.0), |d| (d.damping, d.friction));
    if let Some(reason) = not_finite(&[
        ("origin xyz", &joint.origin.xyz.0),
        ("origin rpy", &joint.origin.rpy.0),
        ("axis", &joint.axis.xyz.0),
        ("dynamics", &[damping, friction]),
        ("mimic", &mimic.as_ref().map_or([0.0; 2], |mimic| [mimic.multiplier, mimic.offset])),
    ]) {
        return Err(error(reason));
    }
    let axis = match kind {
        None => Vector3::z(),
        Some(_) => Vector3::from(joint.axis.xyz.0)
            .try_normalize(1e-9)
            .ok_or_else(|| error("its axis is zero, expected a direction".into()))?,
    };
    Ok(UrdfJoint {
        name: joint.name.clone(),
        kind,
        parent,
        child,
        origin: placement(&joint.origin),
        axis,
        position: (joint.limit.lower, joint.limit.upper),
        velocity: joint.limit.velocity,
        effort: joint.limit.effort,
        damping,
        friction,
        mimic,
        held_at: None,
    })
}

/// Checks that links and joints form one tree and sorts the joints, parents first, otherwise in document order.
fn order(path: &Path, links: &[Link], joints: Vec<UrdfJoint>) -> Result<(usize, Vec<UrdfJoint>), RobotError> {
    let tree_error = |reason: String| RobotError::Tree { path: path.to_path_buf(), reason };
    let mut parent_joint: Vec<Option<usize>> = vec![None; links.len()];
    for (j, joint) in joints.iter().enumerate() {
        if let Some(other) = parent_joint[joint.child].replace(j) {
            return Err(tree_error(format!(
                "link `{}` is the child of two joints, `{}` and `{}`",
                links[joint.child].name, joints[other].name, joint.name
            )));
        }
    }
    let roots: Vec<usize> = (0..links.len()).filter(|&l| parent_joint[l].is_none()).collect();
    let root = match roots[..] {
        [root] => root,
        [] if links.is_empty() => return Err(tree_error("there is no link at all".into())),
        [] => return Err(tree_error(format!("link `{}` is part of a cycle", links[0].name))),
        [a, b, ..] => {
            let (a, b) = (&links[a].name, &links[b].name);
            return Err(tree_error(format!("links `{a}` and `{b}` both have no parent joint")));
        }
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
    for (j, joint) in joints.iter().enumerate() {
        children[joint.parent].push(j);
    }
    let mut slots: Vec<Option<UrdfJoint>> = joints.into_iter().map(Some).collect();
    let mut sorted = Vec::with_capacity(slots.len());
    let mut reached = vec![false; links.len()];
    let mut stack = vec![root];
    while let Some(link) = stack.pop() {
        reached[link] = true;
        // A joint enters the list when its child link leaves the stack, after everything above it.
        sorted.extend(parent_joint[link].and_then(|j| slots[j].take()));
        let below = children[link].iter().rev();
        stack.extend(below.filter_map(|&j| slots[j].as_ref().map(|joint| joint.child)));
    }
    // One root, and every other link has exactly one parent: what the root does not reach hangs on a cycle.
    if let Some(lost) = reached.iter().position(|r| !r) {
        return Err(tree_error(format!("link `{}` is part of, or hangs on, a cycle", links[lost].name)));
    }
    Ok((root, sorted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str) -> String {
        format!(
            r#"<link name="{name}"><inertial><mass value="1"/>
            <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"#
        )
    }

    fn joint(name: &str, kind: &str, parent: &str, child: &str) -> String {
        format!(
            r#"<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
            <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>"#
        )
    }

    fn refusal(body: &str) -> String {
        let text = format!(r#"<robot name="r">{body}</robot>"#);
        parse(Path::new("arm.urdf"), &text, &mut Judge::strict()).expect_err("must be refused").to_string()
    }

    fn assert_names(message: &str, parts: &[&str]) {
        for part in parts {
            assert!(message.contains(part), "`{message}` does not say `{part}`");
        }
    }

    #[test]
    fn joints_come_out_parents_first() {
        let text = [
            link("a"),
            link("b"),
            link("c"),
            link("d"),
            joint("late", "revolute", "b", "c"),
            joint("early", "revolute", "a", "b"),
            joint("side", "fixed", "a", "d"),
        ]
        .concat();
        let tree =
            parse(Path::new("arm.urdf"), &format!(r#"<robot name="r">{text}</robot>"#), &mut Judge::strict())
                .unwrap();
        let names: Vec<_> = tree.joints.iter().map(|j| j.name.as_str()).collect();
        assert_eq!(names, ["early", "late", "side"]);
        assert_eq!(tree.links[tree.root].name, "a");
    }

    #[test]
    fn broken_trees_are_refused() {
        let missing = refusal(&[link("a"), joint("j", "revolute", "a", "ghost")].concat());
        assert_names(&missing, &["arm.urdf", "joint `j`", "child link `ghost`"]);
        let all_cycle = refusal(
            &[link("a"), link("b"), joint("j", "revolute", "a", "b"), joint("k", "revolute", "b", "a")]
                .concat(),
        );
        assert_names(&all_cycle, &["`a`", "cycle"]);
        let side_cycle = refusal(
            &[
                link("root"),
                link("a"),
                link("b"),
                joint("j", "revolute", "a", "b"),
                joint("k", "revolute", "b", "a"),
            ]
            .concat(),
        );
        assert_names(&side_cycle, &["`a`", "cycle"]);
        let two = refusal(&[link("a"), link("b"), link("c"), joint("j", "fixed", "a", "b")].concat());
        assert_names(&two, &["`a`", "`c`", "no parent"]);
        let shared = refusal(
            &[
                link("a"),
                link("b"),
                link("c"),
                joint("j", "fixed", "a", "c"),
                joint("k", "fixed", "b", "c"),
                joint("l", "fixed", "a", "b"),
            ]
            .concat(),
        );
        assert_names(&shared, &["`c`", "two joints"]);
        assert_names(&refusal(""), &["no link"]);
    }

    #[test]
    fn duplicate_names_are_refused() {
        assert_names(&refusal(&[link("a"), link("a")].concat()), &["link `a`", "two links"]);
        let joints =
            [link("a"), link("b"), link("c"), joint("j", "fixed", "a", "b"), joint("j", "fixed", "b", "c")];
        assert_names(&refusal(&joints.concat()), &["joint `j`", "two joints"]);
    }

    #[test]
    fn unsupported_joints_are_refused_by_name() {
        for kind in ["floating", "planar", "spherical"] {
            let message = refusal(&[link("a"), link("b"), joint("j", kind, "a", "b")].concat());
            assert_names(&message, &["joint `j`", kind]);
        }
        let mimic = joint("j", "revolute", "a", "b")
            .replace("<axis", r#"<mimic joint="k" multiplier="inf" offset="0"/><axis"#);
        assert_names(&refusal(&[link("a"), link("b"), mimic].concat()), &["joint `j`", "mimic"]);
        let zero = joint("j", "revolute", "a", "b").replace("0 0 1", "0 0 0");
        assert_names(&refusal(&[link("a"), link("b"), zero].concat()), &["joint `j`", "axis is zero"]);
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        for bad in ["nan", "inf", "-inf"] {
            let mass = link("a").replace(r#"mass value="1""#, &format!(r#"mass value="{bad}""#));
            assert_names(&refusal(&mass), &["link `a`", "mass"]);
            let inertia = link("a").replace(r#"iyz="0""#, &format!(r#"iyz="{bad}""#));
            assert_names(&refusal(&inertia), &["link `a`", "inertia"]);
            let axis = joint("j", "revolute", "a", "b").replace("0 0 1", &format!("0 {bad} 1"));
            assert_names(&refusal(&[link("a"), link("b"), axis].concat()), &["joint `j`", "axis"]);
        }
    }

    #[test]
    fn elements_in_each_other_without_end_are_refused() {
        // Without the check these end the process: no stack is left.
        for count in [1000, 100_000] {
            let deep = format!("{}{}", "<a>".repeat(count), "</a>".repeat(count));
            assert_names(&refusal(&[link("a"), deep].concat()), &["arm.urdf", "line 2", "100 deep"]);
        }
        let flat = [link("a"), "<a><b/></a>".repeat(1000)].concat();
        assert!(
            parse(Path::new("arm.urdf"), &format!(r#"<robot name="r">{flat}</robot>"#), &mut Judge::strict())
                .is_ok()
        );
    }

    #[test]
    fn collision_geometry_is_checked() {
        let with = |geometry: &str| {
            format!(
                r#"<link name="a"><collision name="hull"><geometry>{geometry}</geometry></collision></link>"#
            )
        };
        for scale in ["0 1 1", "1 nan 1"] {
            let mesh = refusal(&with(&format!(r#"<mesh filename="a.stl" scale="{scale}"/>"#)));
            assert_names(&mesh, &["link `a`", "`hull`", "scale"]);
        }
        let flat = refusal(&with(r#"<box size="1 0 1"/>"#));
        assert_names(&flat, &["link `a`", "`hull`", "> 0"]);
        let nan = refusal(&with(r#"<sphere radius="nan"/>"#));
        assert_names(&nan, &["link `a`", "`hull`", "NaN"]);
    }
}
