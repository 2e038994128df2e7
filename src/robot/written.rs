//! A tree as URDF text: kinematics, limits and inertias. Shapes for display and collision are not part of a tree, and not written.

use std::fmt::Write;

use nalgebra::Matrix3;

use super::model::{Joint, JointKind, Model, NamedFrame, Placement};
use crate::inertia::INERTIAL;
use crate::inertia::urdf::UrdfInertial;

/// Name of the root link.
pub const ROOT: &str = "base";

impl Model {
    /// The tree as a URDF that [`super::load_model`] reads as the same tree, up to rounding: every link's frame is that of its joint, with the
    /// joint's axis along z. Links that are fixed to others are frames alone, without mass. Friction has no place in a URDF, nor have gravity and named frames.
    ///
    /// # Errors
    /// In words, for what no URDF can say: a floating base, closed loops, and a body without mass that has a first moment or inertia.
    pub fn to_urdf(&self) -> Result<String, String> {
        if self.has_free_flyer() {
            return Err(format!("robot `{}` floats, expected one on a fixed base", self.name));
        }
        if let Some(closure) = self.loops.first() {
            return Err(format!("robot `{}` has the loop `{}`, expected a tree", self.name, closure.name));
        }
        let links = self.link_names();
        let mut text = format!(
            "<?xml version=\"1.0\"?>\n<robot name=\"{}\">\n  <link name=\"{ROOT}\"/>\n",
            escaped(&self.name)
        );
        for (i, joint) in self.joints.iter().enumerate() {
            let parent = joint.parent.map_or(ROOT, |parent| &links[parent]);
            let inertial = inertial(joint)?;
            let _ = writeln!(text, "  <link name=\"{}\">\n{inertial}  </link>", escaped(&links[i]));
            text += &joint_element(joint, parent, &links[i]);
        }
        for frame in self.further_frames(&links) {
            let on = frame.joint.map_or(ROOT, |joint| &links[joint]);
            let ([xyz, rpy], name) = (frame.placement.xyz_rpy(), escaped(&frame.name));
            let [xyz, rpy] = [xyz, rpy].map(|[x, y, z]| format!("{x} {y} {z}"));
            let mut joint = format!("{}_fixed", frame.name);
            while self.joints.iter().any(|own| own.name == joint) {
                joint.push('_');
            }
            let joint = escaped(&joint);
            let _ = write!(
                text,
                "  <link name=\"{name}\"/>\n  <joint name=\"{joint}\" type=\"fixed\">\n    <origin xyz=\"{xyz}\" rpy=\"{rpy}\"/>\n    \
                 <parent link=\"{}\"/>\n    <child link=\"{name}\"/>\n  </joint>\n",
                escaped(on)
            );
        }
        Ok(text + "</robot>\n")
    }

    /// Frames of links that move with another one, such as a flange: payloads are stated in them. Their bodies are part of the link that they move with.
    fn further_frames(&self, links: &[String]) -> impl Iterator<Item = &NamedFrame> {
        let new =
            |frame: &&NamedFrame| frame.joint.is_some() && frame.name != ROOT && !links.contains(&frame.name);
        self.link_frames.iter().filter(new)
    }

    /// Names of the links that [`Self::to_urdf`] writes: those of the bodies, made different from one another and from the root.
    pub fn link_names(&self) -> Vec<String> {
        let mut names: Vec<String> = vec![];
        for joint in &self.joints {
            let mut name = if joint.link.is_empty() { joint.name.clone() } else { joint.link.clone() };
            while name == ROOT || names.contains(&name) {
                name.push_str("_link");
            }
            names.push(name);
        }
        names
    }
}

impl Placement {
    /// Translation, and roll, pitch and yaw as a URDF has them: about the fixed x, then y, then z axis.
    pub fn xyz_rpy(&self) -> [[f64; 3]; 2] {
        [self.translation.into(), roll_pitch_yaw(&self.rotation)]
    }
}

/// Angles with R = Rz(yaw) Ry(pitch) Rx(roll). Roll is told in the frame that yaw has turned, so that both fit together where pitch is a
/// right angle, too, and either alone means nothing.
fn roll_pitch_yaw(r: &Matrix3<f64>) -> [f64; 3] {
    let yaw = r[(1, 0)].atan2(r[(0, 0)]);
    let (s, c) = yaw.sin_cos();
    let pitch = (-r[(2, 0)]).atan2(c * r[(0, 0)] + s * r[(1, 0)]);
    let roll = (s * r[(0, 2)] - c * r[(1, 2)]).atan2(c * r[(1, 1)] - s * r[(0, 1)]);
    [roll, pitch, yaw]
}

fn inertial(joint: &Joint) -> Result<String, String> {
    let body: &[f64; INERTIAL] = &joint.inertia;
    if body.iter().all(|x| *x == 0.0) {
        return Ok(String::new());
    }
    let element = UrdfInertial::from_theta(body).map_err(|e| format!("link `{}`: {e}", joint.link))?;
    let xml = element.to_xml();
    Ok(xml.lines().map(|line| format!("    {line}\n")).collect())
}

fn joint_element(joint: &Joint, parent: &str, child: &str) -> String {
    let kind = match joint.kind {
        JointKind::Continuous => "continuous",
        JointKind::Prismatic => "prismatic",
        JointKind::Revolute | JointKind::FreeFlyer => "revolute",
    };
    let [xyz, rpy] = joint.placement.xyz_rpy().map(|[x, y, z]| format!("{x} {y} {z}"));
    let range = joint.limits.position.map_or(String::new(), |(a, b)| format!("lower=\"{a}\" upper=\"{b}\" "));
    format!(
        "  <joint name=\"{}\" type=\"{kind}\">\n    <origin xyz=\"{xyz}\" rpy=\"{rpy}\"/>\n    <parent link=\"{}\"/>\n    \
         <child link=\"{}\"/>\n    <axis xyz=\"0 0 1\"/>\n    <limit {range}effort=\"{}\" velocity=\"{}\"/>\n  </joint>\n",
        escaped(&joint.name),
        escaped(parent),
        escaped(child),
        joint.limits.torque,
        joint.limits.velocity
    )
}

/// A name as it may stand between quotation marks in XML.
fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::robot::load_model;

    #[test]
    fn angles_give_the_rotation_again_at_right_angles_too() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for k in 0..2000 {
            let mut angle = || rng.random_range(-3.2..3.2);
            let (roll, yaw) = (angle(), angle());
            let right = std::f64::consts::FRAC_PI_2;
            let pitch = match k % 4 {
                0 => angle(),
                1 => right,
                2 => -right,
                _ => right - 10f64.powf(-3.0 * angle().abs()),
            };
            let r = Rotation3::from_euler_angles(roll, pitch, yaw).into_inner();
            let [a, b, c] = roll_pitch_yaw(&r);
            let again = Rotation3::from_euler_angles(a, b, c).into_inner();
            assert!((r - again).amax() < 1e-14, "{roll} {pitch} {yaw}");
        }
    }

    #[test]
    fn a_tree_that_is_written_and_read_is_the_same_tree() {
        for name in ["kinova_gen3", "z1", "ur5e", "panda", "double_pendulum"] {
            let mut robot = load_model(name).unwrap();
            // A bare URDF is an arm's: its joints have motors.
            robot.joints.iter_mut().for_each(|joint| joint.limits.torque = joint.limits.torque.max(1.0));
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("again.urdf");
            std::fs::write(&path, robot.to_urdf().unwrap()).unwrap();
            let again = load_model(&path).unwrap();
            assert_eq!(again.joints.len(), robot.joints.len());
            for (a, b) in robot.joints.iter().zip(&again.joints) {
                assert_eq!(
                    (&a.name, a.kind, a.parent, a.limits),
                    (&b.name, b.kind, b.parent, b.limits),
                    "{name}"
                );
                assert!((a.placement.rotation - b.placement.rotation).amax() < 1e-14);
                assert_eq!(a.placement.translation, b.placement.translation);
                for (x, y) in a.inertia.iter().zip(&b.inertia) {
                    assert!((x - y).abs() < 1e-12 * (1.0 + a.inertia[0]), "{name}: {x} {y}");
                }
            }
        }
    }

    #[test]
    fn frames_of_the_hand_are_written_too() {
        let arm = crate::robot::load("ur5e").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("again.urdf");
        std::fs::write(&path, arm.to_urdf().unwrap()).unwrap();
        let again = load_model(&path).unwrap();
        for frame in &arm.description().tool_frames {
            let found = again.link_frames.iter().find(|other| other.name == frame.name).unwrap();
            assert_eq!(found.joint, frame.joint);
            let off = (found.placement.rotation - frame.placement.rotation).amax();
            let away = (found.placement.translation - frame.placement.translation).amax();
            assert!(off < 1e-12 && away < 1e-12, "{}: {off} {away}", frame.name);
        }
        assert!(again.link_frames.iter().any(|frame| frame.name == "tool0"));
    }

    #[test]
    fn what_no_urdf_can_say_is_refused() {
        assert!(load_model("digit").unwrap().to_urdf().is_err());
        assert!(load_model("go1").unwrap().to_urdf().unwrap_err().contains("floats"));
    }
}
