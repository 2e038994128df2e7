//! A robot as recordings taught it ([`crate::study::limbs`]): a URDF and a robot TOML of its own, for trees on a fixed base.
//!
//! The URDF has the links as they were learnt, in the frames of their joints; the TOML has the friction and, where the robot was an arm, its
//! capsules, sensors, uncertainty and gains as they were stated before. What was learnt are estimates: nothing vouches for the uncertainty
//! about them, and the file says so.

use std::fmt::Write;

use serde::Serialize;

use super::lines::{LinesAbout, drive, friction_of_limbs, learnt_from, line, quoted, torque_sensor};
use crate::robot::drive::DriveBounds;
use crate::robot::{Arm, Model, Sensors};
use crate::study::limbs::LimbFindings;

/// What the URDF is called beside its TOML.
pub const URDF: &str = "learnt.urdf";

/// A learnt robot's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearntFiles {
    /// The robot TOML, which names [`URDF`] beside it.
    pub toml: String,
    /// The URDF.
    pub urdf: String,
}

/// The files of the robot that a study of `robot` learnt; `arm` is the same robot where it is an arm.
///
/// # Errors
/// In words, for a robot that no URDF can say: a floating base, or closed chains.
pub fn files(
    findings: &LimbFindings,
    robot: &Model,
    arm: Option<&Arm>,
    about: &LinesAbout<'_>,
) -> Result<LearntFiles, String> {
    if robot.has_free_flyer() {
        return Err(format!("robot `{}` floats, expected one on a fixed base", robot.name));
    }
    let mut learnt = findings.learnt(robot);
    learnt.name = format!("{}_learnt", robot.name);
    let urdf = learnt.to_urdf()?;
    let mut text = format!("# Made by `{}`.\n", line(about.command));
    for words in learnt_from(findings) {
        let _ = writeln!(text, "# {}", line(&words));
    }
    let _ = writeln!(text, "name = {}\nurdf = {}", quoted(&learnt.name), quoted(URDF));
    let gravity = learnt.gravity;
    let _ = writeln!(text, "gravity_m_s2 = [{:?}, {:?}, {:?}]", gravity.x, gravity.y, gravity.z);
    if let Some(arm) = arm {
        text += &of_arm(arm)?;
    }
    text.push('\n');
    text += &friction_of_limbs(findings, robot);
    let names = learnt.link_names();
    let link = |joint: Option<usize>| joint.map_or(crate::robot::written::ROOT, |joint| &names[joint]);
    for frame in &learnt.named_frames {
        let [xyz, rpy] = frame.placement.xyz_rpy();
        let (name, on) = (quoted(&frame.name), quoted(link(frame.joint)));
        let _ = writeln!(text, "[[frame]]\nname = {name}\nlink = {on}\nxyz_m = {xyz:?}\nrpy_rad = {rpy:?}\n");
    }
    if let Some(arm) = arm {
        for (j, joint) in arm.joints.iter().enumerate() {
            if let Some(&own) = arm.sensors().torque_abs_of_joints_nm.get(j) {
                text += &torque_sensor(&joint.name, "As stated before.", own);
            }
            let bounds = arm.drive(j);
            if bounds != DriveBounds::IDEAL {
                text += &drive_of(&joint.name, bounds);
            }
        }
        for shape in arm.shapes() {
            let (a, b): ([f64; 3], [f64; 3]) = (shape.capsule.a.into(), shape.capsule.b.into());
            let (name, on) = (quoted(&shape.name), quoted(link(shape.joint)));
            let radius = shape.capsule.radius;
            let _ = writeln!(
                text,
                "[[capsules]]\nname = {name}\nlink = {on}\na_m = {a:?}\nb_m = {b:?}\nradius_m = {radius:?}\n"
            );
        }
        for pair in arm.ignored_pairs() {
            let [a, b] = [pair.a, pair.b].map(|shape| quoted(&arm.shapes()[shape].name));
            let reason = quoted(&pair.reason);
            let _ = writeln!(text, "[[self_collision.ignore]]\na = {a}\nb = {b}\nreason = {reason}\n");
        }
    }
    Ok(LearntFiles { toml: text, urdf })
}

/// A drive's bounds as they were stated.
fn drive_of(name: &str, bounds: DriveBounds) -> String {
    let text = drive(name, &["As stated before.".to_owned()], bounds.unmodelled_nm);
    let DriveBounds { error_nm, error_ratio, spring, .. } = bounds;
    let spring = spring.map_or(String::new(), |spring| format!("spring = {}\n", spring.words()));
    format!("{}\nerror_nm = {error_nm:?}\nerror_ratio = {error_ratio:?}\n{spring}\n", text.trim_end())
}

/// The sections that make an arm of a tree, as they were stated.
fn of_arm(arm: &Arm) -> Result<String, String> {
    // The tool frame is a link of the URDF, where it had one.
    let tools = arm.tool_frames();
    let tool = tools.get(None).map(|frame| frame.name.clone());
    let hand = quoted(&tool.unwrap_or_else(|_| arm.joints[arm.end_effector()].name.clone()));
    let mut text = format!("end_effector = {hand}\n");
    text += "\n# As stated before: recordings prove nothing of the uncertainty about what was learnt.\n";
    text += &section("uncertainty", &arm.uncertainty())?;
    // Torque sensors that differ are told of with their joints.
    let sensors = Sensors { torque_abs_of_joints_nm: vec![], ..*arm.sensors() };
    text += &section("sensors", &sensors)?;
    text += &section("control", &arm.gains())?;
    Ok(text)
}

fn section<T: Serialize>(name: &str, value: &T) -> Result<String, String> {
    let body = toml::to_string(value).map_err(|e| format!("[{name}]: {e}"))?;
    Ok(format!("[{name}]\n{body}\n"))
}
