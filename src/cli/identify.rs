//! `surelift identify`: what recordings say of a robot.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::guaranteed::GuaranteedArgs;
use super::log::warn;
use super::log_identity::describe;
use super::logs::{LogArgs, ReadLogs, ToRead, tell_hints};
use super::{Failure, guaranteed, limbs, robot_lines, say};
use crate::identify::Unknown;
use crate::recording::{LogRequest, MeasurementLog};
use crate::regression::filter::Smoothing;
use crate::report::study;
use crate::robot::{self, Arm, Prior};
use crate::study::identification::estimators::Estimator;
use crate::study::identification::{
    Delay, Findings, IdentificationStudy, StudyError, StudyOptions, Verdict, WINDOWS_S, window_by_noise,
};

const EXAMPLES: &str = "\
Examples:
  What is in the hand, from the log of `surelift run scenarios/dumbbell_c_8lb.toml`:
      surelift identify --robot kinova_gen3_2f85 --log runs/dumbbell_c_8lb-ours-0/log.csv \\
          --unknown payload --prior scenarios/priors/gen3_hand.toml --out found
  The same, shown as another method has it; the report compares all of them with the set:
      surelift identify --robot kinova_gen3_2f85 --log runs/dumbbell_c_8lb-ours-0/log.csv \\
          --unknown payload --prior scenarios/priors/gen3_hand.toml \\
          --method inverse_dynamics --out found
  Friction from two recordings with an empty hand; a third is predicted:
      surelift identify --robot my_arm.toml --log a.csv --log b.csv --validate c.csv --out found
  Friction of a robot with closed chains and its torso held, from the motors alone:
      surelift identify --robot digit --log a.csv --log b.csv --validate c.csv --out found
  The same as proven intervals of each motor's friction, from bounds that you state:
      surelift identify --robot digit --log a.csv --guaranteed --position-error 1e-4 \\
          --velocity-error 2e-3 --torque-abs 0.2 --acceleration 60 --out intervals
  A whole arm, links and joints, without a prior and without a set; found/learnt.toml is that arm:
      surelift identify --robot my_arm.toml --log a.csv --validate c.csv --unknown links --out found
  The same of closed chains:
      surelift identify --robot digit --log a.csv --unknown everything --out found
  From a ROS 2 bag:
      surelift identify --robot my_arm.toml --log bag.mcap --topic /joint_states --out found

A log is a CSV file with the columns t (s), q1.. (rad), dq1.. (rad/s), tau1.. (N m), in any
order, joints numbered as `surelift robot` lists them; or an MCAP file with messages of the type
sensor_msgs/msg/JointState (CDR or JSON): joints by name, time from header.stamp, effort in N m.
A log that is cut off is read up to the cut, with a warning. Logs with other names, units and signs:
      surelift identify --robot my_arm.toml --log a.csv --out found --torque-scale 1,1,-1,1,1,1 \\
          --columns t=__time,q=/joint_states/{name}/position,dq=/joint_states/{name}/velocity:deg
Without velocities those of the positions are taken, and the bound on their errors follows from
those on positions and on --acceleration, which has to be stated.

A robot with closed chains or a floating base (which is held) is learnt limb by limb, by a convex
fit; so is any robot with --unknown links or everything. Its log has all joints as `surelift robot`
lists them (no base), or those with a motor alone.

With --guaranteed each motor's Coulomb and viscous friction, armature and offset become intervals
that hold the truth, if the robot's files and the bounds that you state do: of sensor errors, of
accelerations, of what the model does not have, and how far links, armatures and passive friction
may be from the files. Nothing is filtered, and no acceleration is measured. Bounds that the
data contradict are an error that names motor and time. Torque errors up to 0.2 N m
leave Coulomb friction open by 0.2 to 0.4 N m on either side. The folder holds summary.json and
friction_intervals.csv.

With --unknown friction everything else counts as the robot's files say: whatever is in the hand
has to be in the model, or the data will contradict it.

A prior is a TOML file: lower and upper of the last body, ten numbers each (m, m c, I_xx, I_xy,
I_yy, I_xz, I_yz, I_zz of the last body about and in its joint's frame), and [joints.NAME] with
coulomb, viscous, armature, offset = [lower, upper]; what is left out keeps its default.

Torques that are late against the motion spoil everything: a delay is looked for in the logs that
are learned from (never in the one that is predicted), and taken out where that saves a twentieth
of the torque errors; what was found is said. --delay 0 takes the torques as they are.

The folder holds report.html, summary.json, joints.csv, parameters.csv (the set), methods.csv
(every method's estimate beside it), base_parameters.csv (what torques tell of the whole arm,
nothing believed beforehand), torques.csv, robot_lines.toml (friction and drives as a robot TOML that
extends yours, each figure with its evidence) and, where a set is shown, set_proof.json: what the set
rests on, and what proves it. With --unknown links or everything an open chain is written whole:
learnt.toml with learnt.urdf. All of it is written, or nothing. Another process repeats the proof:
      surelift verify --set found --robot my_arm.toml

A delay that is found is an interval; what is left of it once the torques are moved is charged.

Exit code 4: the stated bounds (robot TOML: [sensors], [uncertainty]; --prior; --torque-abs;
--position-error; --velocity-error; --acceleration) are proven broken. The kind is named: position
against velocity, velocity against acceleration, timing, torque; and for each bound a factor that
it needs at least and one that is enough. Intervals are shown only for wider bounds with room
(--margin), found on the first two thirds of each log and not contradicted by the rest; they are
conditional on these bounds, without a guarantee. Otherwise none is shown, with the reason.";

/// Learn friction, payload or everything from recordings, with bounds where the assumptions allow them
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = EXAMPLES)]
pub struct IdentifyArgs {
    /// A robot that ships with surelift, or the path of a robot TOML or URDF
    #[arg(long, value_name = "NAME_OR_PATH")]
    pub robot: String,
    /// A recording to learn from, CSV or MCAP; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    pub log: Vec<PathBuf>,
    /// A recording to predict, not learned from
    #[arg(long, value_name = "FILE")]
    pub validate: Option<PathBuf>,
    /// What is believed before: intervals of payload and friction
    #[arg(long, value_name = "FILE.toml")]
    pub prior: Option<PathBuf>,
    /// What is to be found
    #[arg(long, value_enum, default_value = "friction")]
    pub unknown: What,
    /// Whose estimate is shown and predicts; all of them are computed, and none touches the set [default: the one that predicts best the last
    /// third of each log from the rest; log_cholesky for a payload, else inverse_dynamics, where none is better by a twentieth]
    #[arg(long, value_enum)]
    pub method: Option<How>,
    /// Where to write the results
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Length of a momentum window, s [default: 0.1, 0.2, 0.4 or 0.8, the shortest in which noise of velocities is small]
    #[arg(long, value_name = "S")]
    pub window: Option<f64>,
    /// Bound on the accelerations, rad/s^2: one for all joints or one each [default: 1.5 times the largest seen, or what velocities prove]
    #[arg(long, value_name = "A,..", value_delimiter = ',')]
    pub acceleration: Vec<f64>,
    /// Bound on the mean torque error over a window, N m, on top of the robot's: one for all joints or one each
    #[arg(long, value_name = "TAU,..", value_delimiter = ',')]
    pub torque_abs: Vec<f64>,
    /// Bound on the errors of measured positions, rad, instead of the robot's
    #[arg(long, value_name = "RAD")]
    pub position_error: Option<f64>,
    /// Bound on the errors of measured velocities, rad/s, instead of the robot's
    #[arg(long, value_name = "RAD_S")]
    pub velocity_error: Option<f64>,
    /// How late the torques are against the motion, s, or between which two times; `fit` finds it by the torque errors, `auto` only if it
    /// is worth it
    #[arg(long, value_name = "S|S..S|fit|auto", allow_negative_numbers = true, value_parser = delay, default_value = "auto")]
    pub delay: DelayArgument,
    /// Where the bounds are refuted: the set is for bounds this many times what the first two thirds of each log need
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0)]
    pub margin: f64,
    /// Cut-off of a zero-phase Butterworth filter of fourth order, Hz, instead of a Savitzky-Golay filter
    #[arg(long, value_name = "HZ")]
    pub butterworth: Option<f64>,
    /// With closed chains: how far measured passive joints may be from where the loops put them, rad (m)
    #[arg(long, value_name = "RAD", default_value_t = 0.02)]
    pub passive_error: f64,
    /// With closed chains and whole limbs: find the exponent of each motor's viscous friction, F_v sgn(v) |v|^exponent, too; robot files have
    /// none, so that no lines for these are written
    #[arg(long)]
    pub friction_exponent: bool,
    /// Samples on each side of the Savitzky-Golay filter [default: 50 ms of them]
    #[arg(long, value_name = "N")]
    pub half: Option<usize>,
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    #[command(flatten)]
    pub guaranteed: GuaranteedArgs,
    #[allow(missing_docs, reason = "clap would show it in place of the arguments' own documentation")]
    #[command(flatten)]
    pub reading: LogArgs,
}

/// How late the torques are: a number of seconds, two of them, `fit` or `auto`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayArgument(pub(super) Delay);

impl DelayArgument {
    /// What the study takes.
    pub(super) fn delay(self) -> Delay {
        self.0
    }
}

pub(super) fn delay(text: &str) -> Result<DelayArgument, String> {
    match text.parse::<f64>() {
        _ if text == "fit" => Ok(DelayArgument(Delay::Fitted)),
        _ if text == "auto" => Ok(DelayArgument(Delay::Automatic)),
        Ok(seconds) if seconds.is_finite() => Ok(DelayArgument(Delay::Seconds(seconds))),
        _ if text.contains("..") => between(text),
        _ => Err("expected a number of seconds, two of them as FROM..TO, `fit` or `auto`".to_owned()),
    }
}

/// `0.08..0.1`
fn between(text: &str) -> Result<DelayArgument, String> {
    let numbers = text.split_once("..").map(|(low, high)| (low.parse::<f64>(), high.parse::<f64>()));
    match numbers {
        Some((Ok(low), Ok(high))) if low <= high && low.is_finite() && high.is_finite() => {
            Ok(DelayArgument(Delay::Between(low, high)))
        }
        _ => Err("expected two numbers of seconds, FROM..TO, the first no larger than the second".to_owned()),
    }
}

/// What is to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Inertia of the last body; needs --prior
    Payload,
    /// Coulomb, viscous, transmission inertia, offset
    Friction,
    /// Both, and the links within their uncertainty; needs --prior
    All,
    /// Inertia of all links, of an open chain with friction and transmission inertia; without a prior and without a set
    Links,
    /// Links and friction, without a prior and without a set
    Everything,
}

/// How the estimate is made. The set does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum How {
    /// Inverse dynamics with filtered accelerations, iteratively reweighted, friction >= 0
    InverseDynamics,
    /// Ordinary least squares over momentum windows, as all that follow
    Ols,
    /// Weighted least squares: each window by its error bound
    Wls,
    /// Iteratively reweighted: outliers lose their pull
    Irls,
    /// Recursive least squares, from the prior
    Rls,
    /// Total least squares: errors in the regressor too
    Tls,
    /// Bodies that can exist: log-Cholesky coordinates, weighted
    LogCholesky,
    /// The same, iteratively reweighted
    LogCholeskyIrls,
    /// Bodies that can exist: exponential-eigenvalue coordinates
    ExponentialEigenvalue,
    /// What a run's controller uses: log-Cholesky, the arm's own errors eliminated, within the set
    Nominal,
    /// Mass and first moment by gravity, from samples at rest
    Static,
    /// Ordinary least squares with the interval of the perturbation theorem, proven like the set
    Perturbation,
}

impl From<How> for Estimator {
    fn from(how: How) -> Self {
        match how {
            How::InverseDynamics => Self::InverseDynamics,
            How::Ols => Self::Ols,
            How::Wls => Self::Wls,
            How::Irls => Self::Irls,
            How::Rls => Self::Rls,
            How::Tls => Self::Tls,
            How::LogCholesky => Self::LogCholesky,
            How::LogCholeskyIrls => Self::LogCholeskyIrls,
            How::ExponentialEigenvalue => Self::ExponentialEigenvalue,
            How::Nominal => Self::Nominal,
            How::Static => Self::Static,
            How::Perturbation => Self::Perturbation,
        }
    }
}

/// Time on each side of the Savitzky-Golay filter unless stated, s, and the fewest samples that make one.
pub(super) const SMOOTHING_S: f64 = 0.05;
const FEWEST: usize = 2;

/// Closed chains and whole limbs, from the motors' side.
fn of_limbs(args: &IdentifyArgs, robot: &robot::Model) -> Result<u8, Failure> {
    if args.guaranteed.guaranteed { guaranteed::run(args, robot) } else { limbs::run(args, robot) }
}

/// Exponents of friction are for limbs, and so is what has to be asked for there.
fn refuse_for_arms(args: &IdentifyArgs) -> Result<(), Failure> {
    if args.guaranteed.guaranteed {
        let message = "--guaranteed: only for closed chains and whole limbs; the friction of a single open arm is proven without it";
        return Err(Failure::Input(message.to_owned()));
    }
    if !args.friction_exponent {
        return Ok(());
    }
    let message = "--friction-exponent: only for closed chains and whole limbs, and with --unknown everything; bounds know no exponent";
    Err(Failure::Input(message.to_owned()))
}

/// Reads, studies, writes; exit code 4 if an assumption is proven broken.
///
/// # Errors
/// Bad input if a file or a setting cannot be used.
pub fn run(args: &IdentifyArgs) -> Result<u8, Failure> {
    if let Some(robot) = limbs::robot(args)? {
        return of_limbs(args, &robot);
    }
    refuse_for_arms(args)?;
    let input = |error: &dyn std::error::Error| Failure::input(error);
    let mut robot = robot::load(&args.robot).map_err(|e| input(&e))?;
    robot = args.with_encoders(robot)?;
    study::check_destination(&args.out)?;
    let mut options = args.options(&robot)?;
    let usual = options.unknown.default_prior(&robot);
    let (stated, prior) = match &args.prior {
        Some(path) => Prior::read(path, usual, &robot).map_err(|e| input(&e))?,
        None => (Prior::default(), usual),
    };
    (options.frame, options.stated) = (stated.frame.clone(), stated.stated.clone());
    if stated.nominal.is_some() {
        let reason = "nominal: a study of recordings makes nothing of a guess; expected bounds alone, without `nominal`, `nominal_mass_kg` and `nominal_com_m`";
        return Err(Failure::Input(format!("--prior: {reason}")));
    }
    if stated.lower.is_none() && options.unknown != Unknown::Friction {
        let message =
            "--unknown payload and all need --prior FILE.toml with `lower` and `upper`, or `[payload]`";
        return Err(Failure::Input(message.to_owned()));
    }
    let to_read = ToRead {
        args: &args.reading,
        logs: &args.log,
        validate: args.validate.as_ref(),
        acceleration: options.acceleration.as_deref(),
        window_s: options.window_s,
    };
    let ReadLogs { logs, validation, request, robot } = to_read.read(robot)?;
    if args.window.is_none() {
        options.window_s = window_by_noise(robot.model(), &logs);
    }
    let period = logs.iter().map(|log| log.period_s).fold(f64::INFINITY, f64::min);
    options.smoothing = smoothing(args, SMOOTHING_S / period)?;
    tell_hints(&robot, &logs, options.smoothing, options.unknown != Unknown::Friction);
    let study = |options: &StudyOptions| {
        let validation = validation.as_ref();
        IdentificationStudy { robot: &robot, prior: &prior, logs: &logs, validation, options }.run()
    };
    let mut found = study(&options);
    if let Err(StudyError::Method { method, reason }) = &found
        && args.method.is_none()
    {
        warn(&format!("{method}: {reason}; inverse_dynamics is shown instead"));
        options.method = Some(Estimator::InverseDynamics);
        found = study(&options);
    }
    let mut findings = found.map_err(|e| input(&e))?;
    name_files(&mut findings, args, &logs, &request)?;
    let lines = robot_lines::of_arm(args, &findings, &robot, &options);
    study::write(&args.out, &findings, Some(lines))?;
    say(&format!("{}  {}\n", study::closing(&findings), args.out.join("report.html").display()))?;
    Ok(if findings.verdict == Verdict::Consistent { 0 } else { 4 })
}

/// Puts the files, as they were read, among the premises of a proof.
fn name_files(
    findings: &mut Findings,
    args: &IdentifyArgs,
    logs: &[MeasurementLog],
    request: &LogRequest,
) -> Result<(), Failure> {
    if let Some(premises) = findings.proof.as_mut().and_then(|proof| proof.recorded.as_mut()) {
        let file = |(path, log): (&PathBuf, &MeasurementLog)| {
            let mut request = request.clone();
            request.format.velocity_half = log.derived.map(|derived| derived.half);
            describe(path, &request)
        };
        premises.files = args.log.iter().zip(logs).map(file).collect::<Result<_, _>>()?;
    }
    Ok(())
}

impl IdentifyArgs {
    /// The robot, with the encoders' error bounds that were given in the place of its own.
    fn with_encoders(&self, robot: Arm) -> Result<Arm, Failure> {
        let mut sensors = robot.sensors().clone();
        let given = [
            ("--position-error", self.position_error, &mut sensors.position_rad),
            ("--velocity-error", self.velocity_error, &mut sensors.velocity_rad_s),
        ];
        for (what, value, bound) in given {
            let Some(value) = value else { continue };
            if !(value.is_finite() && value >= 0.0) {
                return Err(Failure::Input(format!("{what}: {value}, expected a finite number >= 0")));
            }
            *bound = value;
        }
        robot.with_sensors(sensors).map_err(|e| Failure::input(&e))
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// Bad input for one that is none, or a list of another length than the robot's.
    pub(super) fn options(&self, robot: &Arm) -> Result<StudyOptions, Failure> {
        if !(self.margin.is_finite() && self.margin >= 1.0) {
            return Err(Failure::Input(format!("--margin: {}, expected a finite number >= 1", self.margin)));
        }
        let acceleration = match self.acceleration.is_empty() {
            true => None,
            false => Some(each_joint("--acceleration", &self.acceleration, robot)?),
        };
        let torque_abs_nm = match self.torque_abs.is_empty() {
            true => vec![0.0; robot.dof()],
            false => each_joint("--torque-abs", &self.torque_abs, robot)?,
        };
        Ok(StudyOptions {
            unknown: match self.unknown {
                What::Payload => Unknown::Payload,
                What::Friction => Unknown::Friction,
                What::All => Unknown::All,
                // For limbs, which have a study of their own.
                What::Links | What::Everything => Unknown::All,
            },
            method: self.method.map(Estimator::from),
            smoothing: Smoothing::default(),
            window_s: positive("--window", self.window.unwrap_or(WINDOWS_S[0]))?,
            acceleration,
            torque_abs_nm,
            delay: self.delay.0,
            frame: None,
            stated: None,
            margin: self.margin,
        })
    }
}

fn positive(what: &str, x: f64) -> Result<f64, Failure> {
    let fine = x.is_finite() && x > 0.0;
    if fine { Ok(x) } else { Err(Failure::Input(format!("{what}: {x}, expected a finite number > 0"))) }
}

/// The filter that was asked for, or one of `usual` samples on each side.
pub(super) fn smoothing(args: &IdentifyArgs, usual: f64) -> Result<Smoothing, Failure> {
    if let Some(cutoff) = args.butterworth {
        return Ok(Smoothing::Butterworth { order: 4, cutoff_hz: positive("--butterworth", cutoff)? });
    }
    let half = args.half.unwrap_or((usual.round() as usize).max(FEWEST));
    Ok(Smoothing::SavitzkyGolay { half, degree: 2.min(2 * half) })
}

/// One finite number >= 0 a joint, from one for all or one each.
fn each_joint(what: &str, values: &[f64], robot: &Arm) -> Result<Vec<f64>, Failure> {
    if let Some(bad) = values.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        return Err(Failure::Input(format!("{what}: {bad}, expected finite numbers >= 0")));
    }
    match values.len() {
        1 => Ok(vec![values[0]; robot.dof()]),
        count if count == robot.dof() => Ok(values.to_vec()),
        count => Err(Failure::Input(format!("{what}: {count} numbers, expected 1 or {}", robot.dof()))),
    }
}
