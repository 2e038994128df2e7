//! The elements of a URDF as they are written, with the defaults of the format.
//!
//! Nothing is judged here but that what must be there is there, once, and that numbers are numbers. Version 1.0 of the format is
//! read, with what 1.1 adds (`quat_xyzw`) and 1.2 changes (limits that are left out are none). Elements that say nothing about
//! links and joints, such as `<visual>`, are passed over.

use roxmltree::{Document, Node, ParsingOptions};

use crate::inertia::urdf::UrdfInertial;

/// What is wrong, and in which line.
type Fault = String;

/// The document.
#[derive(Debug)]
pub(crate) struct Robot {
    /// Its name; empty where there is none.
    pub name: String,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
}

/// A `<link>`.
#[derive(Debug)]
pub(crate) struct Link {
    pub name: String,
    /// All zeros where there is none.
    pub inertial: UrdfInertial,
    pub collisions: Vec<Collision>,
}

/// A `<collision>`.
#[derive(Debug)]
pub(crate) struct Collision {
    pub name: Option<String>,
    pub origin: Pose,
    pub geometry: Geometry,
}

/// A `<geometry>`; lengths in m.
#[derive(Debug)]
pub(crate) enum Geometry {
    Box { size: [f64; 3] },
    Cylinder { radius: f64, length: f64 },
    Capsule { radius: f64, length: f64 },
    Sphere { radius: f64 },
    Mesh { filename: String },
}

/// An `<origin>`: position, m, and roll, pitch, yaw, rad.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pose {
    pub xyz: [f64; 3],
    pub rpy: [f64; 3],
}

/// A `<joint>`.
#[derive(Debug)]
pub(crate) struct Joint {
    pub name: String,
    /// Its `type`, as it is written.
    pub kind: String,
    pub origin: Pose,
    /// Names of links.
    pub parent: String,
    pub child: String,
    pub axis: [f64; 3],
    pub limit: Limit,
    pub damping: f64,
    pub friction: f64,
    pub mimics: bool,
}

/// A `<limit>`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limit {
    pub lower: f64,
    pub upper: f64,
    pub effort: f64,
    pub velocity: f64,
}

/// Major and minor version of the format.
type Version = (u32, u32);

/// Reads the text.
pub(crate) fn read(text: &str) -> Result<Robot, Fault> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| error.to_string())?;
    let root = document.root_element();
    if !root.has_tag_name("robot") {
        return Err(fault(root, "expected <robot>"));
    }
    let version = version(root);
    let all = |name: &'static str| root.children().filter(move |child| is(*child, name));
    Ok(Robot {
        name: root.attribute("name").unwrap_or_default().to_owned(),
        links: all("link").map(|link| read_link(link, version)).collect::<Result<_, _>>()?,
        joints: all("joint").map(|joint| read_joint(joint, version)).collect::<Result<_, _>>()?,
    })
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

fn fault(node: Node<'_, '_>, what: &str) -> Fault {
    let line = node.document().text_pos_at(node.range().start).row;
    format!("line {line}: <{}>: {what}", node.tag_name().name())
}

/// What is not stated, or not like this, is 1.0.
fn version(root: Node<'_, '_>) -> Version {
    let stated = root.attribute("version").and_then(|version| version.trim().split_once('.'));
    stated.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))).unwrap_or((1, 0))
}

/// The child of this name; none may be there twice.
fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<Node<'a, 'i>>, Fault> {
    let mut all = node.children().filter(|child| is(*child, name));
    let first = all.next();
    match all.next() {
        Some(second) => Err(fault(second, "is there twice, expected once")),
        None => Ok(first),
    }
}

fn needed<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Node<'a, 'i>, Fault> {
    child(node, name)?.ok_or_else(|| fault(node, &format!("expected <{name}> inside")))
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, Fault> {
    node.attribute(name).ok_or_else(|| fault(node, &format!("expected the attribute `{name}`")))
}

/// So many numbers, separated by white space; none where the attribute is missing.
fn numbers<const N: usize>(node: Node<'_, '_>, name: &str) -> Result<Option<[f64; N]>, Fault> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let read: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let read = read.ok().and_then(|read| <[f64; N]>::try_from(read).ok());
    let expected = if N == 1 { "a number".to_owned() } else { format!("{N} numbers") };
    read.map(Some).ok_or_else(|| fault(node, &format!("`{name}` is `{text}`, expected {expected}")))
}

fn number(node: Node<'_, '_>, name: &str) -> Result<f64, Fault> {
    attribute(node, name)?;
    number_or(node, name, 0.0)
}

fn number_or(node: Node<'_, '_>, name: &str, default: f64) -> Result<f64, Fault> {
    Ok(numbers::<1>(node, name)?.map_or(default, |[value]| value))
}

fn read_link(link: Node<'_, '_>, version: Version) -> Result<Link, Fault> {
    let nothing = UrdfInertial { mass: 0.0, xyz: [0.0; 3], rpy: [0.0; 3], inertia: [0.0; 6] };
    let inertial = child(link, "inertial")?.map(|inertial| read_inertial(inertial, version)).transpose()?;
    let collisions = link.children().filter(|child| is(*child, "collision"));
    Ok(Link {
        name: attribute(link, "name")?.to_owned(),
        inertial: inertial.unwrap_or(nothing),
        collisions: collisions.map(|shape| read_collision(shape, version)).collect::<Result<_, _>>()?,
    })
}

fn read_inertial(inertial: Node<'_, '_>, version: Version) -> Result<UrdfInertial, Fault> {
    let Pose { xyz, rpy } = read_pose(inertial, version)?;
    let (mass, tensor) = (number(needed(inertial, "mass")?, "value")?, needed(inertial, "inertia")?);
    let mut inertia = [0.0; 6];
    for (entry, name) in inertia.iter_mut().zip(["ixx", "ixy", "ixz", "iyy", "iyz", "izz"]) {
        *entry = number(tensor, name)?;
    }
    Ok(UrdfInertial { mass, xyz, rpy, inertia })
}

fn read_collision(collision: Node<'_, '_>, version: Version) -> Result<Collision, Fault> {
    let geometry = needed(collision, "geometry")?;
    let shape = geometry.first_element_child();
    let shape = shape.ok_or_else(|| fault(geometry, "expected a shape inside"))?;
    let read = |name: &str| number(shape, name);
    let geometry = match shape.tag_name().name() {
        "box" => {
            let size = numbers(shape, "size")?;
            Geometry::Box { size: size.ok_or_else(|| fault(shape, "expected the attribute `size`"))? }
        }
        "cylinder" => Geometry::Cylinder { radius: read("radius")?, length: read("length")? },
        "capsule" => Geometry::Capsule { radius: read("radius")?, length: read("length")? },
        "sphere" => Geometry::Sphere { radius: read("radius")? },
        "mesh" => Geometry::Mesh { filename: attribute(shape, "filename")?.to_owned() },
        _ => return Err(fault(shape, "is no shape, expected box, cylinder, capsule, sphere or mesh")),
    };
    let name = collision.attribute("name").map(str::to_owned);
    Ok(Collision { name, origin: read_pose(collision, version)?, geometry })
}

/// The `<origin>` inside `of`; that is where `of` is if it has none.
fn read_pose(of: Node<'_, '_>, version: Version) -> Result<Pose, Fault> {
    let Some(origin) = child(of, "origin")? else { return Ok(Pose::default()) };
    let (xyz, rpy) = (numbers(origin, "xyz")?, numbers(origin, "rpy")?);
    let quaternion = if version >= (1, 1) { numbers(origin, "quat_xyzw")? } else { None };
    let rpy = match (rpy, quaternion) {
        (Some(_), Some(_)) => {
            return Err(fault(origin, "has both `rpy` and `quat_xyzw`, expected one of them"));
        }
        (None, Some(quaternion)) => roll_pitch_yaw(quaternion),
        (rpy, None) => rpy.unwrap_or_default(),
    };
    Ok(Pose { xyz: xyz.unwrap_or_default(), rpy })
}

/// Roll, pitch and yaw of a quaternion (x, y, z, w) of any length, as the reference implementation of the format has them.
fn roll_pitch_yaw([x, y, z, w]: [f64; 4]) -> [f64; 3] {
    let norm = (x * x + y * y + z * z + w * w).sqrt();
    let [x, y, z, w] =
        if norm > 0.0 { [x / norm, y / norm, z / norm, w / norm] } else { [0.0, 0.0, 0.0, 1.0] };
    let sine = -2.0 * (x * z - w * y);
    // Straight up or down roll and yaw are one; the format's implementation says so from here on.
    if sine.abs() >= 0.99999 {
        let up = sine.signum();
        return [0.0, up * std::f64::consts::FRAC_PI_2, 2.0 * (-up * x).atan2(up * y)];
    }
    let (xx, yy, zz, ww) = (x * x, y * y, z * z, w * w);
    [
        (2.0 * (y * z + w * x)).atan2(ww - xx - yy + zz),
        sine.asin(),
        (2.0 * (x * y + w * z)).atan2(ww + xx - yy - zz),
    ]
}

fn read_joint(joint: Node<'_, '_>, version: Version) -> Result<Joint, Fault> {
    let link = |role: &str| Ok::<_, Fault>(attribute(needed(joint, role)?, "link")?.to_owned());
    let axis = child(joint, "axis")?.map(|axis| {
        let xyz = numbers(axis, "xyz")?;
        xyz.ok_or_else(|| fault(axis, "expected the attribute `xyz`"))
    });
    let limit = child(joint, "limit")?.map(|limit| read_limit(limit, version)).transpose()?;
    let dynamics = child(joint, "dynamics")?;
    let of_dynamics = |name: &str| dynamics.map_or(Ok(0.0), |dynamics| number_or(dynamics, name, 0.0));
    Ok(Joint {
        name: attribute(joint, "name")?.to_owned(),
        kind: attribute(joint, "type")?.to_owned(),
        origin: read_pose(joint, version)?,
        parent: link("parent")?,
        child: link("child")?,
        axis: axis.transpose()?.unwrap_or([1.0, 0.0, 0.0]),
        limit: limit.unwrap_or_default(),
        damping: of_dynamics("damping")?,
        friction: of_dynamics("friction")?,
        mimics: child(joint, "mimic")?.is_some(),
    })
}

/// From version 1.2 on what is left out is no limit; before, it is zero, and the velocity must be there.
fn read_limit(limit: Node<'_, '_>, version: Version) -> Result<Limit, Fault> {
    let open = if version >= (1, 2) { f64::INFINITY } else { 0.0 };
    if version < (1, 2) {
        attribute(limit, "velocity")?;
    }
    Ok(Limit {
        lower: number_or(limit, "lower", -open)?,
        upper: number_or(limit, "upper", open)?,
        effort: number_or(limit, "effort", open)?,
        velocity: number_or(limit, "velocity", open)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_joint(version: &str, inside: &str) -> Result<Joint, Fault> {
        let text = format!(
            "<?xml version=\"1.0\"?>\n<!-- a robot -->\n<robot name=\"r\" version=\"{version}\"><joint name=\"j\" \
             type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/>{inside}</joint></robot>"
        );
        read(&text).map(|mut robot| robot.joints.remove(0))
    }

    #[test]
    fn what_is_left_out_has_the_defaults_of_the_format() {
        let bare = one_joint("1.0", "").unwrap();
        assert_eq!((bare.axis, bare.limit.velocity, bare.mimics), ([1.0, 0.0, 0.0], 0.0, false));
        let limited = one_joint("1.0", "<limit velocity=\" 2 \"/>").unwrap().limit;
        assert_eq!((limited.lower, limited.upper, limited.effort, limited.velocity), (0.0, 0.0, 0.0, 2.0));
        let open = one_joint("1.2", "<limit effort=\"3\"/>").unwrap().limit;
        assert_eq!((open.lower, open.effort, open.velocity), (f64::NEG_INFINITY, 3.0, f64::INFINITY));
        let robot = read("<robot><gazebo/><link name='a'><visual/></link></robot>").unwrap();
        assert_eq!((&*robot.name, robot.links[0].inertial.mass), ("", 0.0));
        assert!(robot.links[0].collisions.is_empty());
    }

    #[test]
    fn quaternions_turn_as_roll_pitch_and_yaw_do() {
        let origin = |quaternion: &str| format!("<origin quat_xyzw=\"{quaternion}\"/>");
        let rpy = |version: &str, quaternion: &str| {
            one_joint(version, &origin(quaternion)).map(|joint| joint.origin.rpy)
        };
        let near = |found: [f64; 3], expected: [f64; 3]| {
            let turn = |[r, p, y]: [f64; 3]| nalgebra::Rotation3::from_euler_angles(r, p, y).into_inner();
            assert!((turn(found) - turn(expected)).abs().max() < 1e-6, "{found:?} {expected:?}");
        };
        for expected in [
            [0.3, -0.4, 1.2],
            [0.1, std::f64::consts::FRAC_PI_2, 0.0],
            [0.7, 1e-8 - std::f64::consts::FRAC_PI_2, 0.0],
        ] {
            let [r, p, y] = expected;
            let q = nalgebra::UnitQuaternion::from_euler_angles(r, p, y).into_inner() * 2.0;
            near(rpy("1.1", &format!("{} {} {} {}", q.i, q.j, q.k, q.w)).unwrap(), expected);
        }
        assert_eq!(rpy("1.0", "1 0 0 0").unwrap(), [0.0; 3]);
        assert!(rpy("1.1", "1 0 0").unwrap_err().contains("4 numbers"));
        let both = one_joint("1.1", "<origin rpy=\"0 0 0\" quat_xyzw=\"1 0 0 0\"/>").unwrap_err();
        assert!(both.contains("line 3") && both.contains("both"), "{both}");
    }

    #[test]
    fn what_is_missing_double_or_no_number_is_named_with_its_line() {
        for (inside, words) in [
            ("<limit lower=\"-1\"/>", ["<limit>", "`velocity`"]),
            ("<axis/>", ["<axis>", "`xyz`"]),
            ("<axis xyz=\"0 0 x 1\"/>", ["<axis>", "0 0 x 1"]),
            ("<axis xyz=\"0 0 1\"/><axis xyz=\"0 0 1\"/>", ["<axis>", "twice"]),
            ("<dynamics damping=\"much\"/>", ["<dynamics>", "much"]),
            ("<parent link=\"c\"/>", ["<parent>", "twice"]),
        ] {
            let told = one_joint("1.0", inside).unwrap_err();
            assert!(told.contains("line 3") && words.iter().all(|word| told.contains(word)), "{told}");
        }
        let link =
            |inside: &str| read(&format!("<robot>\n<link name=\"l\">{inside}</link></robot>")).unwrap_err();
        assert!(link("<inertial><mass value=\"1\"/></inertial>").contains("expected <inertia>"));
        assert!(link("<collision/>").contains("expected <geometry>"));
        assert!(link("<collision><geometry><cone/></geometry></collision>").contains("<cone>"));
        assert!(read("<robot><link/></robot>").unwrap_err().contains("`name`"));
        assert!(read("<mujoco/>").unwrap_err().contains("<robot>"));
        assert!(read("<robot>").is_err() && read("").is_err());
    }
}
