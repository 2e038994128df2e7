//! `surelift robot calibrate`: a robot's profile from recordings.

use std::path::{Path, PathBuf};

use clap::Args;

use super::identify::DelayArgument;
use super::{Failure, say, warn_of_cut};
use crate::calibrate::check::PARTS;
use crate::calibrate::profile::{self, ProfileText};
use crate::calibrate::{Calibration, CalibrationError, CalibrationOptions, ProfileCheck};
use crate::recording::{AngleUnit, MeasurementLog};
use crate::report::figure::figure;
use crate::report::table::align;
use crate::robot;

/// Make a robot's profile from recordings: friction, delay, noise floors and additive torque bounds, each with its evidence
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  surelift robot calibrate --robot kinova_gen3 --log a.csv --log b.csv --validate c.csv --out my_gen3.toml\n  \
    surelift robot calibrate --robot my_arm.toml --log bag.mcap --topic /joint_states\n\n\
    Recordings are those of `surelift identify`: whatever is in the hand has to be in the model. The profile is a robot TOML that\n\
    extends the robot; without --out it is printed. --validate names a recording that is not learnt from: window by window its\n\
    torques are compared with what the profile allows, and where they are not, joint and time are named.\n\n\
    Exit codes: 0 done, 2 a file or an option cannot be used (nothing is written), 4 done, but the recording of --validate\n\
    contradicts the profile."
)]
pub struct CalibrateArgs {
    /// A robot that ships with surelift, or the path of a robot TOML
    #[arg(long, value_name = "NAME_OR_PATH")]
    pub robot: PathBuf,
    /// A recording to learn from, CSV or MCAP; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    pub log: Vec<PathBuf>,
    /// A recording to check the profile on, not learnt from
    #[arg(long, value_name = "FILE")]
    pub validate: Option<PathBuf>,
    /// Write the profile here instead of printing it
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Name of the profile's robot [default: the robot's with `_calibrated`]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Bounds are this many times what the recordings need
    #[arg(long, value_name = "FACTOR", default_value_t = CalibrationOptions::default().room)]
    pub room: f64,
    /// Length of the windows over which torques are compared, s
    #[arg(long, value_name = "S", default_value_t = CalibrationOptions::default().window_s)]
    pub window: f64,
    /// How late the torques are against the motion, s, or between which two times; `fit` finds it, `auto` only if it is worth it
    #[arg(long, value_name = "S|S..S|fit|auto", allow_negative_numbers = true, value_parser = super::identify::delay, default_value = "auto")]
    pub delay: DelayArgument,
    /// Topic of the joint states in MCAP files; needed where several topics have any
    #[arg(long, value_name = "TOPIC")]
    pub topic: Option<String>,
    /// Angles in the recordings are in degrees
    #[arg(long)]
    pub degrees: bool,
}

/// Learns, checks, writes or prints; gives the exit code.
///
/// # Errors
/// Bad input if a file or an option cannot be used.
pub fn run(args: &CalibrateArgs) -> Result<u8, Failure> {
    let input = |error: CalibrationError| Failure::input(&error);
    let source = robot::find(&args.robot, Path::new(".")).map_err(|e| Failure::input(&e))?;
    let extends = extended(&args.robot, &source)?;
    let robot = robot::load(&args.robot).map_err(|e| Failure::input(&e))?;
    let unit = if args.degrees { AngleUnit::Degrees } else { AngleUnit::Radians };
    let read = |path: &PathBuf| {
        let log = MeasurementLog::read_topic(path, &robot, unit, args.topic.as_deref())
            .map_err(|e| Failure::input(&e))?;
        warn_of_cut(&log);
        Ok::<_, Failure>(log)
    };
    let logs = args.log.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let unseen = args.validate.as_ref().map(read).transpose()?;
    let options = CalibrationOptions { room: args.room, window_s: args.window, delay: args.delay.delay() };
    let calibration = Calibration::of(&robot, &logs, &options).map_err(input)?;
    let check = unseen.as_ref().map(|log| calibration.check(log)).transpose().map_err(input)?;
    let name = args.name.clone().unwrap_or_else(|| format!("{}_calibrated", robot.name));
    let text = profile::text(
        &calibration,
        &ProfileText { extends: &extends, name: &name, command: &command(args), check: check.as_ref() },
    );
    match &args.out {
        Some(target) => profile::write(target, &text).map_err(input)?,
        None => say(&format!("{text}\n"))?,
    }
    say(&summary(&calibration, check.as_ref()))?;
    if let Some(target) = &args.out {
        say(&format!("{}\n", target.display()))?;
    }
    Ok(if check.is_none_or(|check| check.holds()) { 0 } else { 4 })
}

/// What the profile is to extend: the name of a robot that ships, or the full path of a robot TOML.
///
/// # Errors
/// Bad input if the robot has no TOML.
pub(super) fn extended(named: &Path, source: &Path) -> Result<String, Failure> {
    if source.extension().is_none_or(|extension| extension != "toml") {
        let text = format!("{}: expected a robot TOML, which a profile can extend", named.display());
        return Err(Failure::Input(text));
    }
    // One that ships in the program need be no file.
    let name = named.display().to_string();
    if robot::shipped::names().any(|shipped| shipped == name) {
        return Ok(name);
    }
    let full = std::fs::canonicalize(source);
    full.map(|path| path.display().to_string()).map_err(|e| Failure::Input(format!("{name}: {e}")))
}

/// The command that makes the same profile again.
fn command(args: &CalibrateArgs) -> String {
    let mut text = format!("surelift robot calibrate --robot {}", args.robot.display());
    for log in &args.log {
        text += &format!(" --log {}", log.display());
    }
    if let Some(path) = &args.validate {
        text += &format!(" --validate {}", path.display());
    }
    text + &format!(" --room {} --window {}", args.room, args.window)
}

/// What was found and how the check went.
fn summary(calibration: &Calibration, check: Option<&ProfileCheck>) -> String {
    let heading = ["joint", "F_c", "F_v", "I_a", "offset", "error, N m RMS", "of", "additive, N m"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(calibration.joints.iter().map(|joint| {
        let f = joint.friction;
        let figures = [
            f.coulomb,
            f.viscous,
            f.armature,
            f.offset,
            joint.error_rms_nm,
            joint.torque_rms_nm,
            joint.additive_nm,
        ];
        std::iter::once(joint.name.clone()).chain(figures.map(figure)).collect()
    }));
    let mut text = align(&rows) + &format!("\nDelay: {}\n", calibration.delay.sentence());
    if let Some(check) = check {
        text += &checked(check);
    }
    text
}

/// Torque errors of the recording that was not learnt from, over its time, and where it goes wrong.
fn checked(check: &ProfileCheck) -> String {
    let [from, to] = check.time_s;
    let part = |k: usize| from + (to - from) * k as f64 / PARTS as f64;
    let mut heading = vec!["errors, N m RMS (largest)".to_owned()];
    heading.extend((0..PARTS).map(|k| format!("{}-{} s", figure(part(k)), figure(part(k + 1)))));
    heading.push("windows within".to_owned());
    let mut rows = vec![heading];
    rows.extend(check.joints.iter().map(|joint| {
        let cell = |figures: &Option<[f64; 2]>| match figures {
            Some([rms, most]) => format!("{} ({})", figure(*rms), figure(*most)),
            None => "-".to_owned(),
        };
        let mut row = vec![joint.name.clone()];
        row.extend(joint.over_time_nm.iter().map(cell));
        row.push(format!("{} of {}", joint.within, joint.windows));
        row
    }));
    let mut text = format!("\n{}, not learnt from:\n{}", check.path, align(&rows));
    for joint in &check.joints {
        for at in &joint.excursions {
            text += &format!(
                "{} goes wrong from {} to {} s: {} N m, allowed {} N m\n",
                joint.name,
                figure(at.from_s),
                figure(at.to_s),
                figure(at.error_nm),
                figure(at.allowed_nm)
            );
        }
    }
    if check.holds() {
        text += "The profile allows all of it.\n";
    }
    text
}
