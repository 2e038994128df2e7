//! `surelift identify` for closed chains and whole limbs: from the motors' side, without a set.

use super::identify::{IdentifyArgs, SMOOTHING_S, What, smoothing};
use super::logs::{refused, tell, tell_hints_of, warn_of_the_same};
use super::{Failure, robot_lines, say};
use crate::identify::Unknown;
use crate::recording::MeasurementLog;
use crate::regression::filter::Smoothing;
use crate::report::limbs as report;
use crate::robot::{self, Model};
use crate::study::identification::{Delay, IdentificationStudy, StudyOptions};
use crate::study::limbs::{LimbStudy, LimbUnknown, MotorLog};

/// The robot, if what is asked of it is for this study: links or everything, or a robot that is no single open arm.
///
/// # Errors
/// Bad input if there is no such robot.
pub(super) fn robot(args: &IdentifyArgs) -> Result<Option<Model>, Failure> {
    let whole = matches!(args.unknown, What::Links | What::Everything);
    // An arm's joints are those that `surelift robot` shows: of a URDF alone its gripper's are held.
    let found = match robot::load(&args.robot) {
        Ok(arm) => Ok(arm.model().clone()),
        Err(_) => robot::load_model(&args.robot),
    };
    match found {
        Ok(model) if whole || !model.loops.is_empty() || model.has_free_flyer() => Ok(Some(model)),
        Err(error) if whole => Err(Failure::input(&error)),
        _ => Ok(None),
    }
}

/// Reads, learns, writes.
///
/// # Errors
/// Bad input if a file or a setting cannot be used.
pub(super) fn run(args: &IdentifyArgs, robot: &Model) -> Result<u8, Failure> {
    let unknown = match args.unknown {
        What::Friction => LimbUnknown::Friction,
        // Without loops nothing but friction stands in the way of the links: both are learnt.
        What::Links if robot.loops.is_empty() => LimbUnknown::Everything,
        What::Links => LimbUnknown::Links,
        What::Everything => LimbUnknown::Everything,
        What::Payload | What::All => {
            let message = format!(
                "--unknown: `{}` is no single open arm, whose last body could hold something; expected friction, links or everything",
                robot.name
            );
            return Err(Failure::Input(message));
        }
    };
    refuse_bounds(args)?;
    if !(args.passive_error.is_finite() && args.passive_error >= 0.0) {
        let message = format!("--passive-error: {}, expected a finite number >= 0", args.passive_error);
        return Err(Failure::Input(message));
    }
    if args.friction_exponent && unknown == LimbUnknown::Links {
        let message =
            "--friction-exponent: --unknown links takes friction as known; expected friction or everything";
        return Err(Failure::Input(message.to_owned()));
    }
    report::check_destination(&args.out)?;
    warn_of_the_same(&args.log, args.validate.as_ref())?;
    let request = args.reading.request(1);
    let read = |path: &std::path::PathBuf| {
        let read = MotorLog::read(path, robot, &request).map_err(|e| refused(&e))?;
        tell(&read.log);
        Ok(read)
    };
    let mut logs = args.log.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let mut validation = args.validate.as_ref().map(read).transpose()?;
    let period = logs.iter().map(|log| log.log.period_s).fold(f64::INFINITY, f64::min);
    let smoothing = smoothing(args, SMOOTHING_S / period)?;
    let whole: Vec<_> = logs.iter().filter(|log| log.passive).map(|log| log.log.clone()).collect();
    tell_hints_of(robot, &whole, smoothing);
    let delay = in_time(args, smoothing, &whole, logs.iter_mut().chain(&mut validation))?;
    let study = LimbStudy {
        robot,
        logs: &logs,
        validation: validation.as_ref(),
        unknown,
        smoothing,
        passive_tolerance: args.passive_error,
        exponents: args.friction_exponent,
    };
    let mut findings = study.run().map_err(|e| Failure::input(&e))?;
    findings.delay = delay;
    report::write(&args.out, &findings, robot_lines::of_robot(args, &findings, robot))?;
    say(&format!("{}  {}\n", report::closing(&findings), args.out.join("report.html").display()))?;
    Ok(0)
}

/// Takes the delay of an arm's torques out of all recordings, by how friction explains them with the links of its files; says what was done. Of
/// robots that are no open arm, and of recordings of motors alone, only a delay that is stated in seconds is taken out.
fn in_time<'a>(
    args: &IdentifyArgs,
    smoothing: Smoothing,
    whole: &[MeasurementLog],
    logs: impl Iterator<Item = &'a mut MotorLog>,
) -> Result<Option<String>, Failure> {
    let stated = match args.delay.delay() {
        Delay::Seconds(seconds) => Some(seconds),
        _ => None,
    };
    let arm = robot::load(&args.robot).ok().filter(|_| !whole.is_empty());
    let (seconds, sentence) = match (stated, arm) {
        (Some(seconds), _) => (seconds, format!("torques taken as {:.1} ms late, as stated", 1e3 * seconds)),
        (None, Some(arm)) => {
            let mut options = StudyOptions { smoothing, unknown: Unknown::Friction, ..args.options(&arm)? };
            let asked = options.delay != Delay::Automatic;
            if !asked {
                options.delay = Delay::Fitted;
            }
            let prior = Unknown::Friction.default_prior(&arm);
            let study = IdentificationStudy {
                robot: &arm,
                prior: &prior,
                logs: whole,
                validation: None,
                options: &options,
            };
            let found = study.delay().map_err(|e| Failure::input(&e))?;
            let seconds = if asked || found.is_worthwhile() { found.taken_out_s } else { 0.0 };
            let words = match found.error_ratio {
                _ if seconds == 0.0 => "torques taken as in time".to_owned(),
                Some(ratio) => format!(
                    "torques that are {:.1} ms late fit best and were moved by that: friction then leaves {:.0} % of the torque errors",
                    1e3 * seconds,
                    100.0 * ratio
                ),
                None => format!("torques moved by {:.1} ms, as stated", 1e3 * seconds),
            };
            (seconds, words)
        }
        (None, None) if matches!(args.delay.delay(), Delay::Automatic) => return Ok(None),
        (None, None) => {
            let message =
                "--delay: only a number of seconds, where the robot is no open arm with all joints measured";
            return Err(Failure::Input(message.to_owned()));
        }
    };
    for log in logs {
        log.log = log.log.clone().with_torque_delay(seconds).map_err(|e| refused(&e))?;
    }
    Ok(Some(sentence))
}

/// What is about the proven set of an arm has no place here.
fn refuse_bounds(args: &IdentifyArgs) -> Result<(), Failure> {
    let given = [
        ("--prior", args.prior.is_some()),
        ("--acceleration", !args.acceleration.is_empty()),
        ("--torque-abs", !args.torque_abs.is_empty()),
        ("--position-error", args.position_error.is_some()),
        ("--velocity-error", args.velocity_error.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((what, _)) => Err(Failure::Input(format!(
            "{what}: only for the proven set of a single open arm (--unknown payload, friction or all); leave it out here"
        ))),
        None => Ok(()),
    }
}
