//! `surelift robot`: what is known of a robot, and what is wrong with its model.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::calibrate::{self, CalibrateArgs};
use super::closures::Closures;
use super::init::{self, InitArgs};
use super::limits::{self, LimitsArgs};
use super::tune::{self, TuneArgs};
use super::{Failure, say};
use crate::report::figure::figure;
use crate::report::table::align;
use crate::robot::inspect::{Inspection, Severity, inspect_with};
use crate::robot::{Arm, DriveBounds, JointKind, LinkShape, LoopKind, Model, Placement};

/// Look at a robot: its tree, masses, limits, friction, frames, loops and collision shapes, and every problem found
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  surelift robot kinova_gen3_2f85\n  surelift robot go1 --json\n  \
                        surelift robot my_arm/my_arm.toml\n  surelift robot tune z1 --dry-run\n  surelift robot init maker.urdf --out my_arm\n  \
                        surelift robot calibrate --robot my_arm.toml --log a.csv --log b.csv --validate c.csv\n  surelift robot limits my_arm.toml --payload-kg 5\n\n\
                        A robot TOML names its URDF, or another robot that it differs from in a few keys: extends = \"z1\"")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct RobotArgs {
    /// A robot that ships with surelift, or the path of a robot TOML or URDF
    #[arg(value_name = "NAME_OR_PATH", required = true)]
    pub robot: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// A folder that holds the packages of meshes (package://NAME/...), or is one; may be given several times
    #[arg(long, value_name = "DIR")]
    pub package_path: Vec<PathBuf>,
    /// What to do in place of looking.
    #[command(subcommand)]
    pub action: Option<RobotAction>,
}

/// What else can be done with a robot; each says for itself what it does.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum RobotAction {
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    Tune(TuneArgs),
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    Init(InitArgs),
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    Calibrate(CalibrateArgs),
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    Limits(LimitsArgs),
}

/// Inspects and prints a robot; gives the exit code. Problems that dynamics survive are printed and are no failure.
///
/// # Errors
/// Bad input if there is no such robot, or its files are no model at all.
pub fn run(args: &RobotArgs) -> Result<u8, Failure> {
    match &args.action {
        Some(RobotAction::Tune(args)) => return tune::run(args),
        Some(RobotAction::Init(args)) => return init::run(args),
        Some(RobotAction::Calibrate(args)) => return calibrate::run(args),
        Some(RobotAction::Limits(args)) => return limits::run(args),
        None => {}
    }
    let name = args.robot.as_deref().unwrap_or_default();
    let inspection = inspect_with(name, &args.package_path).map_err(|(found, fatal)| {
        let before = found.iter().map(|problem| format!("\n  and before it: {}", problem.message));
        match Failure::input(&fatal) {
            Failure::Input(message) => Failure::Input(message + &before.collect::<String>()),
            internal => internal,
        }
    })?;
    let shown = Shown { closures: Closures::of(&inspection.model), inspection };
    if args.json {
        let text = serde_json::to_string_pretty(&shown).map_err(|e| Failure::Internal(e.to_string()))?;
        say(&(text + "\n"))?;
    } else {
        say(&describe(&shown))?;
    }
    Ok(0)
}

/// A robot, with what is proven of its loops.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    /// What is known of it.
    #[serde(flatten)]
    pub inspection: Inspection,
    /// Where its loops close in one way only.
    #[serde(flatten)]
    pub closures: Closures,
}

/// Everything about the robot that a person checks before trusting a model.
pub fn describe(shown: &Shown) -> String {
    let Shown { inspection, closures } = shown;
    let robot = &inspection.model;
    let mut text = heading(inspection) + "\n\nTree (kg)\n";
    tree(inspection, 0, "  ", "  ", &mut text);
    if robot.joints.iter().any(|joint| joint.kind != JointKind::FreeFlyer) {
        let _ = write!(text, "\nJoints (rad and N m, or m and N)\n{}", align(&joints(robot)));
    }
    if !robot.named_frames.is_empty() {
        let _ = write!(
            text,
            "\nFrames (origin in the frame of the link that the joint moves, m)\n{}",
            align(&frames(robot))
        );
    }
    if !inspection.loops.is_empty() {
        let _ = write!(text, "\nLoops\n{}", align(&loops(inspection)));
        proven_closures(closures, &mut text);
    }
    if !robot.thrusts.is_empty() {
        let _ = write!(text, "\nThrusts (along z of the frame)\n{}", align(&thrusts(robot)));
    }
    if !inspection.shapes.is_empty() {
        let shapes = align(&shapes(robot, &inspection.shapes));
        let _ =
            write!(text, "\nCollision shapes (m, in the frame of the link that the joint moves)\n{shapes}");
    }
    if let Some(arm) = &inspection.arm {
        let u = arm.uncertainty();
        let _ = writeln!(
            text,
            "\n{} pair(s) of shapes must stay apart; truth within {} % (links), {} % (friction), {} % (armature), \
             {} degrees (gravity); breakaway up to {} times Coulomb friction;\n\
             beside the ratios {} kg m (first moments), {} kg m^2 (inertias), {} N m (torque offsets)",
            arm.self_pairs().len(),
            figure(100.0 * u.link_ratio),
            figure(100.0 * u.friction_ratio),
            figure(100.0 * u.armature_ratio),
            figure(u.gravity_direction_deg),
            figure(u.breakaway_ratio),
            figure(u.first_moment_kg_m),
            figure(u.inertia_kg_m2),
            figure(u.offset_nm),
        );
        drives(arm, &mut text);
        timing(arm, &mut text);
        let trusted = arm.trusted();
        if !trusted.is_empty() {
            let _ = writeln!(text, "\nTaken on trust");
        }
        for sentence in trusted {
            let _ = writeln!(text, "  - {sentence}");
        }
    }
    problems(inspection, &mut text);
    text
}

/// Where the loops are proven to close in one way only, or why nowhere.
fn proven_closures(closures: &Closures, text: &mut String) {
    match &closures.closures_fault {
        None => {
            let heading =
                "Where the loops close in one way only, proven (rad, m; all motors anywhere in these ranges)";
            let _ = write!(text, "\n{heading}\n{}", align(&closures.table()));
        }
        Some(fault) => {
            let _ = writeln!(text, "\nNothing is proven of where the loops close: {fault}");
        }
    }
}

/// What the drives may do beside what they are asked for, if anything.
fn drives(arm: &Arm, text: &mut String) {
    for (j, joint) in arm.joints.iter().enumerate().filter(|(j, _)| arm.drive(*j) != DriveBounds::IDEAL) {
        let drive = arm.drive(j);
        let _ = writeln!(
            text,
            "drive of `{}` within {} N m and {} % of its command; besides at most {} N m that no model has",
            joint.name,
            figure(drive.error_nm),
            figure(100.0 * drive.error_ratio),
            figure(drive.unmodelled_nm),
        );
        if let Some(spring) = drive.spring {
            let _ = writeln!(
                text,
                "link of `{}` on a spring of at least {} N m/rad, encoder before it; of the bounds {} N m, {} rad/s and {} rad are for what it does",
                joint.name,
                figure(spring.stiffness_nm_rad),
                figure(spring.unmodelled_nm),
                figure(spring.velocity_rad_s),
                figure(spring.position_rad),
            );
        }
    }
}

/// How late readings and commands may be, if they may be late at all.
fn timing(arm: &Arm, text: &mut String) {
    let timing = arm.timing();
    if timing.first_above_zero().is_some() {
        let _ = writeln!(
            text,
            "readings up to {} ms old, commands act up to {} ms after their tick, ticks come within {} ms of the control period",
            figure(1e3 * timing.reading_age_max_s),
            figure(1e3 * timing.command_delay_max_s),
            figure(1e3 * timing.jitter_max_s),
        );
    }
    if timing.has_motor_loops() {
        let age = figure(1e3 * timing.motor_loop_age_max_s);
        let _ = writeln!(text, "the feedback runs in the motors, with readings up to {age} ms old");
    }
    if timing.drive_lag_max_s > 0.0 {
        let lag = figure(1e3 * timing.drive_lag_max_s);
        let _ = writeln!(text, "drives follow their commands with a lag of up to {lag} ms");
    }
}

/// Name, joints, masses, and who holds the payload.
fn heading(inspection: &Inspection) -> String {
    let robot = &inspection.model;
    let moving: f64 = robot.joints.iter().map(|joint| joint.inertia[0]).sum();
    let actuated = robot.bodies() - robot.first_actuated();
    let base = if robot.has_free_flyer() { "floating base, " } else { "" };
    let (total, moving) = (figure(inspection.total_mass_kg), figure(moving));
    let mut text = format!("{}: {base}{actuated} joints, {total} kg, {moving} kg of it moving", robot.name);
    if let Some(arm) = &inspection.arm {
        let holds = &arm.joints[arm.end_effector()].link;
        let _ = write!(text, ", payload held by `{holds}`");
    }
    text
}

/// Link `index` and those below it, one line each, indented by depth.
fn tree(inspection: &Inspection, index: usize, lead: &str, below: &str, text: &mut String) {
    let link = &inspection.links[index];
    let joint = link.joint.as_ref().map_or(String::new(), |name| {
        let moving = inspection.model.joints.iter().find(|joint| joint.name == *name);
        let kind = moving.map_or("fixed", |joint| kind_name(joint.kind));
        format!("{name} ({kind}) → ")
    });
    let base = match (index, link.fixed) {
        (0, true) => " (base)",
        (0, false) => " (floats)",
        _ => "",
    };
    let _ = writeln!(text, "{lead}{joint}{}{base}  {}", link.name, figure(link.mass_kg));
    let children: Vec<usize> =
        (0..inspection.links.len()).filter(|&k| inspection.links[k].parent == Some(index)).collect();
    for &child in &children {
        let last = Some(&child) == children.last();
        let (branch, under) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        tree(inspection, child, &format!("{below}{branch}"), &format!("{below}{under}"), text);
    }
}

fn kind_name(kind: JointKind) -> &'static str {
    match kind {
        JointKind::Revolute => "revolute",
        JointKind::Continuous => "continuous",
        JointKind::Prismatic => "prismatic",
        JointKind::FreeFlyer => "free flyer",
    }
}

fn joints(robot: &Model) -> Vec<Vec<String>> {
    let heading = ["joint", "mass, kg", "lower", "upper", "speed", "torque", "F_c", "F_v", "I_a"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(robot.joints.iter().filter(|joint| joint.kind != JointKind::FreeFlyer).map(|joint| {
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

/// Name of the joint that carries something.
fn carrier(robot: &Model, joint: Option<usize>) -> String {
    joint.map_or("base", |joint| robot.joints[joint].name.as_str()).to_owned()
}

fn point(p: &nalgebra::Vector3<f64>) -> String {
    // Adding zero turns -0 into 0.
    let [x, y, z] = [p.x, p.y, p.z].map(|x| (1e4 * x).round() / 1e4 + 0.0);
    format!("({x:.4}, {y:.4}, {z:.4})")
}

fn frames(robot: &Model) -> Vec<Vec<String>> {
    let heading = ["frame", "moves with", "origin"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(robot.named_frames.iter().map(|frame| {
        let origin = in_link(robot, frame.joint).point(&frame.placement.translation);
        vec![frame.name.clone(), carrier(robot, frame.joint), point(&origin)]
    }));
    rows
}

fn loops(inspection: &Inspection) -> Vec<Vec<String>> {
    let heading = ["loop", "between", "and", "holds", "open at zero, m"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(inspection.loops.iter().map(|closure| {
        let holds = match closure.kind {
            LoopKind::Point => "origins",
            LoopKind::Rigid => "frames",
        };
        let [a, b] = closure.frames.clone();
        vec![closure.name.clone(), a, b, holds.to_owned(), figure(closure.open_by_m)]
    }));
    rows
}

fn thrusts(robot: &Model) -> Vec<Vec<String>> {
    let heading = ["thrust", "frame", "least, N", "most, N", "moment per force, m"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(robot.thrusts.iter().map(|thrust| {
        let (least, most) = thrust.force_n;
        let frame = robot.named_frames[thrust.frame].name.clone();
        let figures = [least, most, thrust.moment_per_force_m].map(figure);
        [vec![thrust.name.clone(), frame], figures.to_vec()].concat()
    }));
    rows
}

fn shapes(robot: &Model, shapes: &[LinkShape]) -> Vec<Vec<String>> {
    let heading = ["shape", "moves with", "from", "to", "radius"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(shapes.iter().map(|shape| {
        let capsule = shape.capsule.placed(&in_link(robot, shape.joint));
        let [from, to] = [point(&capsule.a), point(&capsule.b)];
        vec![shape.name.clone(), carrier(robot, shape.joint), from, to, figure(capsule.radius)]
    }));
    rows
}

/// From a joint's frame to that of the link which it moves, as the URDF has it. The base's frame stays what it is.
fn in_link(robot: &Model, joint: Option<usize>) -> Placement {
    let link = joint.and_then(|j| robot.frame(&robot.joints[j].link));
    link.map_or(Placement::identity(), |frame| frame.placement.inverse())
}

/// What is wrong, then what is odd.
fn problems(inspection: &Inspection, text: &mut String) {
    for (severity, heading) in [
        (Severity::Fault, "Faults: the model is refused for anything but dynamics"),
        (Severity::Note, "Notes"),
    ] {
        let found: Vec<_> = inspection.problems.iter().filter(|p| p.severity == severity).collect();
        if found.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{heading}");
        for problem in found {
            let _ = writeln!(text, "  - {}", problem.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::inspect::inspect;

    fn shown(name: &str) -> Shown {
        let inspection = inspect(name).unwrap();
        Shown { closures: Closures::of(&inspection.model), inspection }
    }

    #[test]
    fn robots_that_ship_are_described_in_full() {
        for name in crate::robot::shipped::names() {
            let shown = shown(name);
            let (text, inspection) = (describe(&shown), &shown.inspection);
            let robot = &inspection.model;
            let moving = robot.joints.iter().filter(|joint| joint.kind != JointKind::FreeFlyer);
            let said = moving
                .map(|joint| &joint.name)
                .chain(inspection.links.iter().map(|link| &link.name))
                .chain(inspection.shapes.iter().map(|shape| &shape.name))
                .chain(robot.named_frames.iter().map(|frame| &frame.name))
                .chain(robot.loops.iter().map(|closure| &closure.name))
                .chain(robot.thrusts.iter().map(|thrust| &thrust.name))
                .chain(inspection.problems.iter().map(|problem| &problem.message));
            for name in said {
                assert!(text.contains(name.as_str()), "{name} in\n{text}");
            }
        }
        let text = describe(&shown("b1_z1"));
        assert!(text.contains("├─ ") && text.contains("floating base, 19 joints, 60.91 kg"), "{text}");
    }

    #[test]
    fn an_unknown_robot_is_bad_input() {
        let failure = run(&RobotArgs {
            robot: Some("no_such_arm".into()),
            json: false,
            package_path: vec![],
            action: None,
        })
        .unwrap_err();
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("no_such_arm"), "{failure}");
    }
}
