//! `surelift robot`: what is known of a robot.

use std::fmt::Write;

use clap::Args;

use super::{Failure, say};
use crate::report::figure::figure;
use crate::report::table::align;
use crate::robot::{self, JointKind, Robot};

/// Load and check a robot; print its tree, masses, limits, friction and collision shapes
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  surelift robot kinova_gen3_2f85\n  surelift robot my_arm/my_arm.toml")]
pub struct RobotArgs {
    /// A robot that ships with surelift, or the path of a robot TOML or URDF
    #[arg(value_name = "NAME_OR_PATH")]
    pub robot: String,
}

/// Loads, checks and prints a robot; gives the exit code.
///
/// # Errors
/// Bad input if there is no such robot or its model is refused.
pub fn run(args: &RobotArgs) -> Result<u8, Failure> {
    let robot = robot::load(&args.robot).map_err(|error| Failure::input(&error))?;
    say(&describe(&robot))?;
    Ok(0)
}

/// Everything about the robot that a person checks before trusting a model.
pub fn describe(robot: &Robot) -> String {
    let mass: f64 = robot.joints.iter().map(|joint| joint.inertia[0]).sum();
    let holds = robot.joints.get(robot.end_effector).map_or("–", |joint| joint.link.as_str());
    let mut text = format!(
        "{}: {} joints, {} kg moving, payload held by `{holds}`\n\nTree\n  base\n",
        robot.name,
        robot.dof(),
        figure(mass),
    );
    tree(robot, None, "  ", &mut text);
    let _ = write!(text, "\nJoints (rad and N m, or m and N)\n{}", align(&joints(robot)));
    let _ = write!(text, "\nCollision shapes (m, in the frame of the joint)\n{}", align(&shapes(robot)));
    let u = &robot.uncertainty;
    let _ = writeln!(
        text,
        "\n{} pairs of shapes must stay apart; truth within {} % (links), {} % (friction), {} % (armature)",
        robot.self_pairs.len(),
        figure(100.0 * u.link_ratio),
        figure(100.0 * u.friction_ratio),
        figure(100.0 * u.armature_ratio),
    );
    text
}

/// The joints below `parent`, one line each, indented by depth.
fn tree(robot: &Robot, parent: Option<usize>, indent: &str, text: &mut String) {
    let children: Vec<_> =
        robot.joints.iter().enumerate().filter(|(_, joint)| joint.parent == parent).collect();
    for (place, (i, joint)) in children.iter().enumerate() {
        let last = place + 1 == children.len();
        let (branch, below) = if last { ("└─", "  ") } else { ("├─", "│ ") };
        let kind = match joint.kind {
            JointKind::Revolute => "revolute",
            JointKind::Continuous => "continuous",
            JointKind::Prismatic => "prismatic",
            JointKind::FreeFlyer => "free flyer",
        };
        let _ = writeln!(text, "{indent}{branch} {} ({kind}) → {}", joint.name, joint.link);
        tree(robot, Some(*i), &format!("{indent}{below}"), text);
    }
}

fn joints(robot: &Robot) -> Vec<Vec<String>> {
    let heading = ["joint", "mass, kg", "lower", "upper", "speed", "torque", "F_c", "F_v", "I_a"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(robot.joints.iter().map(|joint| {
        let (lower, upper) = joint.limits.position.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let friction = &joint.friction;
        let values = [
            joint.inertia[0],
            lower,
            upper,
            joint.limits.velocity,
            joint.limits.torque,
            friction.coulomb,
            friction.viscous,
            friction.armature,
        ];
        std::iter::once(joint.name.clone()).chain(values.map(figure)).collect()
    }));
    rows
}

fn shapes(robot: &Robot) -> Vec<Vec<String>> {
    let heading = ["shape", "moves with", "from", "to", "radius"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(robot.shapes.iter().map(|shape| {
        let carrier = shape.joint.map_or("base", |joint| robot.joints[joint].name.as_str());
        let point = |p: &nalgebra::Vector3<f64>| format!("({:.3}, {:.3}, {:.3})", p.x, p.y, p.z);
        let capsule = &shape.capsule;
        let ends = [point(&capsule.a), point(&capsule.b)];
        let [from, to] = ends;
        vec![shape.name.clone(), carrier.to_owned(), from, to, figure(capsule.radius)]
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_arm_is_described_in_full() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
        let robot = robot::load(path).unwrap();
        let text = describe(&robot);
        let names = robot.joints.iter().flat_map(|joint| [&joint.name, &joint.link]);
        for name in names.chain(robot.shapes.iter().map(|shape| &shape.name)) {
            assert!(text.contains(name.as_str()), "{name} in\n{text}");
        }
        assert!(text.contains("└─"), "{text}");
    }

    #[test]
    fn an_unknown_robot_is_bad_input() {
        let failure = run(&RobotArgs { robot: "no_such_arm".into() }).unwrap_err();
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("no_such_arm"), "{failure}");
    }
}
