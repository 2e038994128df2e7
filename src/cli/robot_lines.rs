//! What `surelift identify` leaves for the robot's own files.

use std::path::Path;

use clap::ValueEnum;

use super::calibrate::extended;
use super::identify::IdentifyArgs;
use super::log::warn;
use crate::calibrate::learnt;
use crate::calibrate::lines::{LinesAbout, of_limbs, of_study};
use crate::report::limbs::FURTHER;
use crate::robot::{self, Arm, Model};
use crate::study::identification::{Findings, StudyOptions};
use crate::study::limbs::{LimbFindings, LimbUnknown};

/// The command that makes the same study again.
fn command(args: &IdentifyArgs) -> String {
    let mut text = format!("surelift identify --robot {}", args.robot);
    for log in &args.log {
        text += &format!(" --log {}", log.display());
    }
    if let Some(path) = &args.validate {
        text += &format!(" --validate {}", path.display());
    }
    let unknown = args.unknown.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
    text + &format!(" --unknown {unknown} --out {}", args.out.display())
}

/// What the robot's lines are to extend: its TOML, if it has one.
fn extends(args: &IdentifyArgs) -> Option<String> {
    let named = Path::new(&args.robot);
    extended(named, &robot::find(named, Path::new(".")).ok()?).ok()
}

/// `robot_lines.toml` of a study of an arm.
pub(super) fn of_arm(
    args: &IdentifyArgs,
    findings: &Findings,
    robot: &Arm,
    options: &StudyOptions,
) -> String {
    let (command, extends) = (command(args), extends(args));
    let about = LinesAbout { extends: extends.as_deref(), command: &command };
    of_study(findings, robot, &about, &options.torque_abs_nm, options.margin)
}

/// The files that a study of limbs leaves: lines of a robot TOML where friction was to be found, and the whole robot where its links were and it is a
/// tree on a fixed base.
pub(super) fn of_robot(
    args: &IdentifyArgs,
    findings: &LimbFindings,
    robot: &Model,
) -> [Option<String>; FURTHER.len()] {
    if args.friction_exponent {
        warn("no lines for the robot's files: they have no exponent of friction");
        return [None, None, None];
    }
    let (command, extends) = (command(args), extends(args));
    let about = LinesAbout { extends: extends.as_deref(), command: &command };
    let lines = (findings.unknown != LimbUnknown::Links).then(|| of_limbs(findings, robot, &about));
    if findings.unknown == LimbUnknown::Friction {
        return [lines, None, None];
    }
    let arm = robot::load(&args.robot).ok();
    match learnt::files(findings, robot, arm.as_ref(), &about) {
        Ok(files) => [lines, Some(files.toml), Some(files.urdf)],
        Err(reason) => {
            warn(&format!("no URDF of what was learnt: {reason}"));
            [lines, None, None]
        }
    }
}
