//! What recordings say of a robot as lines of a robot TOML, each figure with its evidence in a comment above it.
//!
//! A calibration writes them into a profile ([`super::profile`]), a study of recordings into `robot_lines.toml` ([`of_study`], [`of_limbs`]): a
//! robot TOML that extends the robot's own, so that it can be loaded, or extended, as it stands.

use std::fmt::Write;

use crate::identify::Unknown;
use crate::inertia::JointParameters;
use crate::report::figure::figure;
use crate::robot::{Arm, Model};
use crate::study::identification::{Findings, Verdict};
use crate::study::limbs::{LimbFindings, LimbUnknown};

/// Where lines come from, and what they belong to.
#[derive(Debug, Clone, Copy)]
pub struct LinesAbout<'a> {
    /// What they extend: a robot that ships, by its name, or the full path of a robot TOML; a robot without a TOML has none.
    pub extends: Option<&'a str>,
    /// The command that makes them again, one line.
    pub command: &'a str,
}

/// One line, whatever is in it.
pub(super) fn line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// A TOML string.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A joint's friction and transmission inertia below comment lines.
pub(super) fn friction(name: &str, evidence: &[String], found: &JointParameters) -> String {
    let mut text = format!("[joints.{}]\n", quoted(name));
    evidence.iter().for_each(|words| text += &format!("# {}\n", line(words)));
    let JointParameters { coulomb, viscous, armature, offset } = found;
    let _ = writeln!(
        text,
        "coulomb = {coulomb:?}\nviscous = {viscous:?}\narmature = {armature:?}\noffset = {offset:?}"
    );
    text
}

/// The absolute error of a joint's torque sensor, N m (N), below a comment line.
pub(super) fn torque_sensor(name: &str, evidence: &str, abs_nm: f64) -> String {
    format!("[joints.{}.torque_sensor]\n# {}\nabs_nm = {abs_nm:?}\n\n", quoted(name), line(evidence))
}

/// What a joint's drive leaves unmodelled, N m (N), below comment lines.
pub(super) fn drive(name: &str, evidence: &[String], unmodelled_nm: f64) -> String {
    let mut text = format!("[joints.{}.drive]\n", quoted(name));
    evidence.iter().for_each(|words| text += &format!("# {}\n", line(words)));
    let _ = writeln!(text, "unmodelled_nm = {unmodelled_nm:?}\n");
    text
}

/// That a fit leaves so much of a torque, and what was stated before.
pub(super) fn leaves(error_nm: f64, torque_nm: Option<f64>, before: &JointParameters) -> String {
    let of = torque_nm.map_or(String::new(), |torque| format!(" of a torque of {} N m RMS", figure(torque)));
    let JointParameters { coulomb, viscous, armature, offset } = before;
    format!("Leaves {} N m RMS{of}. Was {coulomb}, {viscous}, {armature}, {offset}.", figure(error_nm))
}

/// What delays of recordings mean.
pub(super) fn delayed(interval_s: [f64; 2], sentence: &str) -> String {
    let [low, high] = interval_s.map(|s| figure(1e3 * s));
    format!(
        "# Torques are {low} to {high} ms late against the motion: {}.\n# That is a delay of the recordings; the loop's own latencies may be others.\n",
        line(sentence)
    )
}

/// The first lines of a file of its own: the command, the recordings, and what is extended.
fn head(about: &LinesAbout<'_>, logs: &[String], name: &str) -> String {
    let mut text = format!("# Made by `{}`.\n", line(about.command));
    logs.iter().for_each(|log| text += &format!("# {}\n", line(log)));
    match about.extends {
        Some(extends) => {
            text += "# This file is a robot TOML; another one may name it with `extends`.\n";
            let _ = writeln!(text, "extends = {}\nname = {}\n", quoted(extends), quoted(name));
        }
        None => text += "# The robot has no TOML: put these lines into one.\n\n",
    }
    text
}

/// Lines of a study of an arm's recordings: friction where it was to be found, and what the drives leave unmodelled. `torque_abs_nm` is
/// what was stated of that, one entry a joint, and `margin` the room that is given where the recordings refute it.
pub fn of_study(
    findings: &Findings,
    robot: &Arm,
    about: &LinesAbout<'_>,
    torque_abs_nm: &[f64],
    margin: f64,
) -> String {
    let told = |log: &crate::study::identification::LogFinding| match log.purpose {
        "fit" => format!("Learnt from {}: {}.", log.path, log.notes.join("; ")),
        _ => format!("Checked on {}: {}.", log.path, log.notes.join("; ")),
    };
    let logs: Vec<String> = findings.logs.iter().map(told).collect();
    let mut text = delayed(findings.delay.interval_s, &findings.delay.sentence());
    let _ = writeln!(text, "# {}", line(&findings.guarantee));
    text += &head(about, &logs, &robot.name);
    let unknown = findings.unknown.indices(robot);
    for (j, joint) in robot.joints.iter().enumerate() {
        let row = &findings.joints[j];
        if findings.unknown != Unknown::Payload {
            text += &friction_of(findings, robot, &unknown, j);
        }
        let stated = robot.drive(j).unmodelled_nm;
        let (evidence, unmodelled) = if findings.verdict == Verdict::Consistent {
            let words = format!(
                "The recordings do not contradict the robot's bounds with {} N m more in each window, as stated.",
                figure(torque_abs_nm[j])
            );
            (vec![words], stated.max(torque_abs_nm[j]))
        } else if row.additive_sufficient_nm == 0.0 {
            let words = "What the recordings say of the drives' unmodelled torques was not believed: see the verdict of the study.";
            (vec![words.to_owned()], stated.max(torque_abs_nm[j]))
        } else {
            let needed = row.additive_sufficient_nm;
            let words = format!(
                "Proven of these recordings: less than {} N m explains them for no parameters of the prior, {} N m do for some.",
                figure(row.additive_necessary_nm),
                figure(needed)
            );
            (vec![words, format!("Times {}.", figure(margin))], stated.max(needed * margin))
        };
        text += &drive(&joint.name, &evidence, unmodelled);
    }
    text
}

/// A joint's friction as a study found it.
fn friction_of(findings: &Findings, robot: &Arm, unknown: &[usize], j: usize) -> String {
    let at = robot.joint_index(j);
    let row = &findings.joints[j];
    let parameter = |index: usize| unknown.iter().position(|&u| u == index).map(|k| &findings.parameters[k]);
    let of = |index: usize| {
        parameter(index).map_or(robot.nominal_parameters()[index], |parameter| parameter.estimate)
    };
    // A robot TOML takes no negative friction, and no joint has any.
    let found = JointParameters {
        coulomb: of(at.coulomb).max(0.0),
        viscous: of(at.viscous).max(0.0),
        armature: of(at.armature).max(0.0),
        offset: of(at.offset),
    };
    let before = robot.joint_parameters(&robot.nominal_parameters(), j);
    let mut evidence = vec![leaves(row.fit_rms_nm, Some(row.torque_rms_nm), &before)];
    if let (Some(error), Some(torque)) = (row.validation_rms_nm, row.validation_torque_rms_nm) {
        let words = format!(
            "Leaves {} N m RMS of {} of the recording that was not learnt from.",
            figure(error),
            figure(torque)
        );
        evidence.push(words);
    }
    let set = |(name, index): (&str, usize)| {
        let [low, high] = parameter(index)?.set?;
        Some(format!("{name} in [{low}, {high}]"))
    };
    let sets =
        [("coulomb", at.coulomb), ("viscous", at.viscous), ("armature", at.armature), ("offset", at.offset)];
    let sets: Vec<String> = sets.into_iter().filter_map(set).collect();
    if !sets.is_empty() {
        evidence.push(format!("The set: {}.", sets.join(", ")));
    }
    friction(&robot.joints[j].name, &evidence, &found)
}

/// Lines of a study of limbs: friction where it was to be found.
pub fn of_limbs(findings: &LimbFindings, robot: &Model, about: &LinesAbout<'_>) -> String {
    head(about, &learnt_from(findings), &robot.name) + &friction_of_limbs(findings, robot)
}

/// What limbs were learnt from and predicted, a sentence each.
pub(super) fn learnt_from(findings: &LimbFindings) -> Vec<String> {
    let mut logs = vec![format!("Learnt from {}; estimates, no bounds.", findings.logs.join(", "))];
    logs.extend(findings.validation.iter().map(|path| format!("Checked on {path}.")));
    logs.extend(findings.delay.clone());
    logs
}

/// The joints of all limbs.
pub(super) fn friction_of_limbs(findings: &LimbFindings, robot: &Model) -> String {
    if findings.unknown == LimbUnknown::Links {
        return String::new();
    }
    let (held, learnt) = (robot.with_base_held(), findings.learnt(robot));
    let mut text = String::new();
    for (before, after) in held.joints.iter().zip(&learnt.joints) {
        let motor =
            findings.limbs.iter().flat_map(|limb| &limb.motors).find(|motor| motor.joint == before.name);
        let evidence = motor.map_or_else(
            || vec!["No motor: told by the motors of its limb.".to_owned()],
            |motor| {
                let mut evidence = vec![leaves(motor.fit_rms_nm, None, &before.friction)];
                evidence.extend(motor.validation_rms_nm.map(|error| {
                    format!("Leaves {} N m RMS of the recording that was not learnt from.", figure(error))
                }));
                evidence
            },
        );
        text += &friction(&before.name, &evidence, &after.friction);
        text.push('\n');
    }
    text
}
