//! `surelift identify --guaranteed`: proven intervals of friction, from the motors' side.

use clap::Args;

use super::identify::{IdentifyArgs, What};
use super::logs::{refused, tell, warn_of_the_same};
use super::{Failure, say};
use crate::identify::window::Clock;
use crate::report::guaranteed as report;
use crate::robot::Model;
use crate::study::identification::Delay;
use crate::study::limbs::MotorLog;
use crate::study::limbs::guaranteed::{FrictionAssumptions, FrictionPrior, GuaranteedStudy};

/// Length of the shortest windows unless stated, s.
const WINDOW_S: f64 = 0.032;
/// The longest windows are so many times as long.
const LONGEST: f64 = 16.0;

/// What only guaranteed intervals of friction take.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct GuaranteedArgs {
    /// With closed chains and --unknown friction: proven intervals of each motor's friction instead of estimates. Needs --position-error,
    /// --velocity-error, --torque-abs (bounds of the sensors' errors; nothing of the robot's is added) and --acceleration. Windows are from --window, here 0.032 s unless
    /// stated, to 16 times as long
    #[arg(long)]
    pub guaranteed: bool,
    /// With --guaranteed: bound on all torque that the model does not have, in the mean over a window, N m: one for all motors or one each
    #[arg(long, value_name = "TAU,..", value_delimiter = ',', requires = "guaranteed")]
    pub unmodelled: Vec<f64>,
    /// With --guaranteed: links' inertial parameters are those of the files, give or take this share
    #[arg(long, value_name = "SHARE", default_value_t = FrictionPrior::default().link_share, requires = "guaranteed")]
    pub link_share: f64,
    /// With --guaranteed: armatures are those of the files, give or take this share
    #[arg(long, value_name = "SHARE", default_value_t = FrictionPrior::default().armature_share, requires = "guaranteed")]
    pub armature_share: f64,
    /// With --guaranteed: motors' Coulomb and viscous friction are from zero to so many times the files'
    #[arg(long, value_name = "FACTOR", default_value_t = FrictionPrior::default().friction_factor, requires = "guaranteed")]
    pub friction_factor: f64,
    /// With --guaranteed: bound on the offsets of the motors' torques, N m
    #[arg(long, value_name = "TAU", default_value_t = FrictionPrior::default().offset, requires = "guaranteed")]
    pub offset: f64,
    /// With --guaranteed: joints without motor have Coulomb friction from zero to the files' plus this, N m, and viscous friction likewise, N m s/rad
    #[arg(long, value_name = "TAU", default_value_t = FrictionPrior::default().passive_friction, requires = "guaranteed")]
    pub passive_friction: f64,
    /// With --guaranteed: static over Coulomb friction at most, >= 1
    #[arg(long, value_name = "RATIO", default_value_t = 1.2, requires = "guaranteed")]
    pub breakaway: f64,
}

/// Reads, bounds, writes.
///
/// # Errors
/// Bad input if a file or a setting cannot be used, or the data contradict what is stated.
pub(super) fn run(args: &IdentifyArgs, robot: &Model) -> Result<u8, Failure> {
    let input = |error: &dyn std::error::Error| Failure::input(error);
    let assumptions = assumptions(args)?;
    let own = &args.guaranteed;
    let prior = FrictionPrior {
        link_share: not_negative("--link-share", own.link_share)?,
        armature_share: not_negative("--armature-share", own.armature_share)?,
        friction_factor: not_negative("--friction-factor", own.friction_factor)?,
        offset: not_negative("--offset", own.offset)?,
        passive_friction: not_negative("--passive-friction", own.passive_friction)?,
    };
    let passive_tolerance = not_negative("--passive-error", args.passive_error)?;
    let delay_s = match args.delay.delay() {
        Delay::Automatic => 0.0,
        Delay::Seconds(seconds) => seconds,
        _ => {
            let message = "--delay: with --guaranteed only a number of seconds, which is taken as right; what it may be off has to be in --torque-abs";
            return Err(Failure::Input(message.to_owned()));
        }
    };
    report::check_destination(&args.out)?;
    warn_of_the_same(&args.log, None)?;
    let set = prior.set(&robot.with_base_held()).map_err(|e| input(&e))?;
    let request = args.reading.request(1);
    let read = |path: &std::path::PathBuf| {
        let mut read = MotorLog::read(path, robot, &request).map_err(|e| refused(&e))?;
        tell(&read.log);
        if delay_s != 0.0 {
            read.log = read.log.with_torque_delay(delay_s).map_err(|e| refused(&e))?;
        }
        Ok(read)
    };
    let logs = args.log.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let study =
        GuaranteedStudy { robot, logs: &logs, assumptions: &assumptions, prior: &set, passive_tolerance };
    let findings = study.run().map_err(|e| input(&e))?;
    report::write(
        &args.out,
        &findings,
        report::Stated { prior, torque_delay_s: delay_s, passive_tolerance },
    )?;
    say(&format!("{}  {}\n", report::closing(&findings), args.out.join(report::FILES[1]).display()))?;
    Ok(0)
}

/// What is stated, all of it there.
fn assumptions(args: &IdentifyArgs) -> Result<FrictionAssumptions, Failure> {
    if args.unknown != What::Friction {
        let message = "--guaranteed: only --unknown friction; nothing is proven of a limb's links";
        return Err(Failure::Input(message.to_owned()));
    }
    let other = [
        ("--validate", args.validate.is_some()),
        ("--prior", args.prior.is_some()),
        ("--friction-exponent", args.friction_exponent),
        ("--method", args.method.is_some()),
        ("--butterworth", args.butterworth.is_some()),
        ("--half", args.half.is_some()),
    ];
    if let Some((what, _)) = other.iter().find(|(_, given)| *given) {
        return Err(Failure::Input(format!("{what}: not with --guaranteed; leave it out")));
    }
    let needed =
        |what: &str| Failure::Input(format!("--guaranteed needs {what}: a bound that is proven rests on it"));
    let position_error = args.position_error.ok_or_else(|| needed("--position-error"))?;
    let velocity_error = args.velocity_error.ok_or_else(|| needed("--velocity-error"))?;
    for (what, list) in [("--torque-abs", &args.torque_abs), ("--acceleration", &args.acceleration)] {
        if list.is_empty() {
            return Err(needed(what));
        }
    }
    let shortest = not_negative("--window", args.window.unwrap_or(WINDOW_S))?;
    let unmodelled = &args.guaranteed.unmodelled;
    Ok(FrictionAssumptions {
        position_error: not_negative("--position-error", position_error)?,
        velocity_error: not_negative("--velocity-error", velocity_error)?,
        torque_error: args.torque_abs.clone(),
        unmodelled: if unmodelled.is_empty() { vec![0.0] } else { unmodelled.clone() },
        acceleration: args.acceleration.clone(),
        breakaway_ratio: args.guaranteed.breakaway,
        clock: Clock::Recorded,
        window_s: [shortest, LONGEST * shortest],
    })
}

fn not_negative(what: &str, x: f64) -> Result<f64, Failure> {
    let fine = x.is_finite() && x >= 0.0;
    if fine { Ok(x) } else { Err(Failure::Input(format!("{what}: {x}, expected a finite number >= 0"))) }
}
