//! A calibration as a robot TOML that extends the robot's own: every figure with its evidence in a comment.

use std::fmt::Write;
use std::path::Path;

use super::check::ProfileCheck;
use super::lines::{self, leaves, line, quoted};
use super::noise::WhiteNoise;
use super::{Calibration, CalibrationError, JointCalibration};
use crate::report::figure::figure;
use crate::tune::{TuneError, write::put_whole};

/// What a profile is made of besides the calibration.
#[derive(Debug, Clone, Copy)]
pub struct ProfileText<'a> {
    /// What it extends: a robot that ships, by its name, or the full path of a robot TOML.
    pub extends: &'a str,
    /// The robot's new name.
    pub name: &'a str,
    /// The command that makes it again, one line.
    pub command: &'a str,
    /// How it does on a recording that it was not learnt from, if there is one.
    pub check: Option<&'a ProfileCheck>,
}

/// The TOML.
pub fn text(calibration: &Calibration, about: &ProfileText<'_>) -> String {
    let mut text = head(calibration, about);
    sensors(calibration, &mut text);
    for (j, joint) in calibration.joints.iter().enumerate() {
        one(calibration, j, joint, &mut text);
    }
    text
}

/// Writes the TOML whole or not at all, loaded as a check.
///
/// # Errors
/// [`CalibrationError::File`] if it cannot be written, [`CalibrationError::Robot`] if it is no robot.
pub fn write(target: &Path, text: &str) -> Result<(), CalibrationError> {
    put_whole(target, text).map_err(|error| match error {
        TuneError::Robot(robot) => CalibrationError::Robot(robot),
        TuneError::File { path, reason } => CalibrationError::File { path, reason },
        other => CalibrationError::File { path: target.to_owned(), reason: other.to_string() },
    })
}

fn head(calibration: &Calibration, about: &ProfileText<'_>) -> String {
    let mut text = format!("# Made by `{}`.\n", line(about.command));
    for (path, notes) in &calibration.logs {
        let _ = writeln!(text, "# Learnt from {}: {}.", line(path), line(&notes.join("; ")));
    }
    text += &lines::delayed(calibration.delay.interval_s, &calibration.delay.sentence());
    let _ = writeln!(
        text,
        "# Bounds are {} times what {} windows of {} s need. Recordings bound nothing that they do not show.",
        figure(calibration.options.room),
        calibration.windows,
        figure(calibration.options.window_s)
    );
    match about.check {
        Some(check) => verdict(check, &mut text),
        None => text.push_str("# Not checked on a recording that it was not learnt from.\n"),
    }
    let _ = writeln!(text, "extends = {}\nname = {}\n", quoted(about.extends), quoted(about.name));
    text
}

/// How the check went, as comment lines.
fn verdict(check: &ProfileCheck, text: &mut String) {
    let _ = writeln!(text, "# Checked on {}, which it was not learnt from:", line(&check.path));
    for joint in &check.joints {
        let _ = writeln!(
            text,
            "#   {}: {} of {} windows as the profile allows, errors {} N m RMS",
            line(&joint.name),
            joint.within,
            joint.windows,
            figure(joint.rms_nm)
        );
    }
    if let Some((joint, at)) = check.worst() {
        let _ = writeln!(
            text,
            "#   It goes wrong: most at {} s in {}, by {} N m where {} N m are allowed.",
            figure(at.to_s),
            line(&joint.name),
            figure(at.error_nm),
            figure(at.allowed_nm)
        );
    }
}

/// Noise in words.
fn floor(noise: WhiteNoise, unit: &str) -> String {
    match noise.samples {
        0 => "no samples".to_owned(),
        samples => format!(
            "{} {unit} (white part, outliers to {}, {samples} samples)",
            figure(noise.deviation),
            figure(noise.peak)
        ),
    }
}

fn sensors(calibration: &Calibration, text: &mut String) {
    let (found, before) = (calibration.robot.sensors(), &calibration.sensors_before);
    // The joint whose noise is the largest speaks for all.
    let evidence = |k: usize, unit: &str| {
        let loudest =
            calibration.joints.iter().max_by(|a, b| a.noise[k].peak().total_cmp(&b.noise[k].peak()));
        loudest.map_or(String::new(), |joint| {
            let noise = joint.noise[k];
            let (rest, moving) = (floor(noise.rest, unit), floor(noise.moving, unit));
            format!("{}: at rest {rest}, moving {moving}", line(&joint.name))
        })
    };
    let _ = writeln!(
        text,
        "[sensors]\n# Noise of {}. Was {}.\nposition_rad = {:?}",
        evidence(0, "rad"),
        before.position_rad,
        found.position_rad
    );
    let _ = writeln!(
        text,
        "# Noise of {}. Was {}.\n# No smaller than what positions, velocities and accelerations need to agree, with room.\nvelocity_rad_s = {:?}",
        evidence(1, "rad/s"),
        before.velocity_rad_s,
        found.velocity_rad_s
    );
    let _ = writeln!(
        text,
        "# Noise of {}. Was {}.\ntorque_abs_nm = {:?}\n",
        evidence(2, "N m"),
        before.torque_abs_nm,
        found.torque_abs_nm
    );
}

fn one(calibration: &Calibration, j: usize, joint: &JointCalibration, text: &mut String) {
    let evidence = [leaves(joint.error_rms_nm, Some(joint.torque_rms_nm), &joint.before)];
    *text += &lines::friction(&joint.name, &evidence, &joint.friction);
    if let Some(&own) = calibration.robot.sensors().torque_abs_of_joints_nm.get(j) {
        let noise = joint.noise[2];
        let evidence = format!(
            "Noise: at rest {}, moving {}. Was {}.",
            floor(noise.rest, "N m"),
            floor(noise.moving, "N m"),
            calibration.sensors_before.torque(j).abs_nm
        );
        *text += &lines::torque_sensor(&joint.name, &evidence, own);
    }
    let proven = format!(
        "Proven of these recordings: less than {} N m explains them for no parameters of this profile, {} N m do for some.",
        figure(joint.additive_necessary_nm),
        figure(joint.additive_sufficient_nm)
    );
    let room = format!("Times {}.", figure(calibration.options.room));
    *text += &lines::drive(&joint.name, &[proven, room], joint.additive_nm);
}
