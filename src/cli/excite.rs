//! `surelift excite`: motions from which parameters are learnt best.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Failure, say};
use crate::report::excitation as report;
use crate::report::standing as standing_report;
use crate::robot::{self, LinkedModel, LoopKind, Model, configuration};
use crate::simulate::Posture;
use crate::simulate::sway::BASE;
use crate::study::estimation::EstimationStudy;
use crate::study::limbs::LimbUnknown;
use crate::study::limbs::excite::ExcitationTask;
use crate::study::standing::{Footprint, Goal, StandingError, StandingTask};

/// Find motions from which a robot's parameters are learnt best: with its base held, or on its feet
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  surelift excite digit --out motions\n  surelift excite digit --unknown friction --motions 2 --duration 15 --out motions\n\n\
                        Motions are Fourier series of the motors from rest to rest, found limb by limb: the condition number of the projected\n\
                        regressor is made small. They keep nine tenths of position, speed and torque limits (by the robot's files), and stay where\n\
                        loops are proven to close in one way. All limbs move at the same time, and links keep a distance from each other, by the capsules of the robot's\n\
                        file (--clearance-m); without capsules that is not looked at. Limits are looked at in samples; obstacles are not looked at.\n\n\
                        The folder holds summary.json (coefficients), report.html, and motion_1.csv.. with the columns t (s), q1.. (rad), dq1.. (rad/s),\n\
                        ddq1.. (rad/s^2) of all joints with a motor, in the order of `surelift robot`. Record them with tau1.. (N m), and give the\n\
                        recordings to `surelift identify --unknown everything`.\n\n\
                        A robot on its feet: --contacts names the frames that stand, --stand the joints' angles there, its base level.\n  \
                        surelift excite go1 --contacts FL_foot,FR_foot,RL_foot,RR_foot --stand 0,0.8,-1.6 --links base --out motion\n\
                        One motion of base and joints that carry nothing; legs follow, so that feet stand exactly. It keeps joint limits, friction cones,\n\
                        soles and a distance of links from each other, by the nominal robot. summary.json can be followed by a simulated robot (`[simulate.posture] motion = ...`)."
)]
pub struct ExciteArgs {
    /// A robot that ships with surelift, or the path of a robot TOML or URDF
    #[arg(value_name = "NAME_OR_PATH")]
    pub robot: String,
    /// What is to be learnt
    #[arg(long, value_enum, default_value = "everything", conflicts_with = "contacts")]
    pub unknown: Learnt,
    /// Number of motions, at most 20
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "contacts", value_parser = clap::value_parser!(u16).range(1..=report::MOST_MOTIONS as i64))]
    pub motions: u16,
    /// Duration of each, s
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub duration: f64,
    /// How often the motion is gone through in that time, from rest to rest; left out: so that once takes about 2 s for the condition number, 1 s for the other goals
    #[arg(long, value_name = "N", requires = "contacts", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
    /// Least proven singular value of the loops' Jacobian by the passive joints, m/rad: the distance to singular postures
    #[arg(long, value_name = "SIGMA", default_value_t = 0.01, conflicts_with = "contacts")]
    pub least_singular_value: f64,
    /// Changes of a motion that are tried, for each limb; on feet 400 times as many by the degrees of freedom, where slopes count as two for each coordinate
    #[arg(long, value_name = "N", default_value_t = 150)]
    pub evaluations: u32,
    /// Of the random search
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Frames of feet that stand, separated by commas: points, or soles with --sole
    #[arg(long, value_name = "FRAMES", value_delimiter = ',')]
    pub contacts: Vec<String>,
    /// Angles of all joints where it stands, rad, separated by commas; fewer are repeated (one leg's for four)
    #[arg(
        long,
        value_name = "ANGLES",
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "contacts"
    )]
    pub stand: Vec<f64>,
    /// Links whose deviations are told, separated by commas
    #[arg(long, value_name = "LINKS", value_delimiter = ',', requires = "contacts")]
    pub links: Vec<String>,
    /// What is made small on feet
    #[arg(long, value_enum, default_value = "condition", requires = "contacts")]
    pub goal: GoalArg,
    /// Coefficient of friction of the ground
    #[arg(long, value_name = "MU", default_value_t = 0.5, requires = "contacts")]
    pub friction: f64,
    /// Half length and half width of each foot's sole, m, separated by a comma; without it feet are points
    #[arg(long, value_name = "X,Y", value_delimiter = ',', requires = "contacts")]
    pub sole: Vec<f64>,
    /// Distance that links keep from each other, m, by the capsules of the robot's file
    #[arg(long, value_name = "M", default_value_t = 0.01)]
    pub clearance_m: f64,
    /// Deviation between the motors' torques and what their sensors tell, N m, of samples 10 ms apart; feet stand with torques off by four of these
    #[arg(long, value_name = "NM", default_value_t = 0.2, requires = "contacts")]
    pub torque_deviation_nm: f64,
    /// Problem of `surelift estimate` with the same robot, whose simulated sway and swing are compared with: what they tell in the same time
    #[arg(long, value_name = "FILE", requires = "contacts")]
    pub beside: Option<PathBuf>,
    /// Where to write the results
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// What is to be learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Learnt {
    /// Friction, armature and offset of all joints
    Friction,
    /// Inertia of all links
    Links,
    /// Both
    Everything,
}

/// What is made small on feet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GoalArg {
    /// Condition number of all links' base parameters
    Condition,
    /// Deviations of the links that --links names
    Deviations,
    /// The determinant of their covariance: the volume of what their parameters may be
    Posterior,
}

/// Random motions that the search begins with, for each motion that is wanted; of a robot on its feet. And changes that are tried there for each one of the option, by degrees of freedom: a motion
/// of a robot that has more takes longer, and all take seconds.
const RANDOM: usize = 12;
const RANDOM_STANDING: usize = 64;
const STANDING_CHANGES: usize = 400;
/// About the time in which a motion on feet is gone through once, s: for the condition number, and for other goals. Faster motions tell inertia better, slower ones gravity as well.
const ONCE_S: [f64; 2] = [2.0, 1.0];
/// Times of a motion on feet that are written, each second.
const WRITTEN_HZ: f64 = 200.0;

/// Searches, writes.
///
/// # Errors
/// Bad input if the robot, a setting or the folder cannot be used.
pub fn run(args: &ExciteArgs) -> Result<u8, Failure> {
    let robot = robot::load_model_with_shapes(&args.robot).map_err(|e| Failure::input(&e))?;
    if !args.contacts.is_empty() {
        return on_feet(args, &robot);
    }
    report::check_destination(&args.out)?;
    let motions = usize::from(args.motions);
    let task = ExcitationTask {
        robot: &robot.model,
        unknown: match args.unknown {
            Learnt::Friction => LimbUnknown::Friction,
            Learnt::Links => LimbUnknown::Links,
            Learnt::Everything => LimbUnknown::Everything,
        },
        motions,
        duration_s: args.duration,
        least_singular_value: args.least_singular_value,
        evaluations: (RANDOM * motions, args.evaluations as usize),
        seed: args.seed,
        shapes: &robot.shapes,
        ignored: &robot.ignored,
        clearance_m: args.clearance_m,
    };
    let found = task.run().map_err(|e| Failure::input(&e))?;
    report::write(&args.out, &found)?;
    say(&format!("{}  {}\n", report::closing(&found), args.out.join("report.html").display()))?;
    Ok(0)
}

/// The motion of a robot on its feet.
fn on_feet(args: &ExciteArgs, robot: &LinkedModel) -> Result<u8, Failure> {
    standing_report::check_destination(&args.out)?;
    let task = standing_task(args, robot).map_err(|reason| Failure::input(&reason))?;
    let found = task.run().map_err(|e| Failure::input(&e))?;
    let count = (args.duration * WRITTEN_HZ).ceil() as usize + 1;
    let states = task.states(&found, count).map_err(|e| Failure::input(&e))?;
    standing_report::write(&args.out, &found, &states)?;
    say(&format!("{}  {}\n", standing_report::closing(&found), args.out.join("report.html").display()))?;
    Ok(0)
}

fn standing_task<'a>(args: &ExciteArgs, linked: &'a LinkedModel) -> Result<StandingTask<'a>, StandingError> {
    let robot = &linked.model;
    let bad = |words: String| StandingError::Setting(words);
    let (kind, sole_m) = match args.sole[..] {
        [] => (LoopKind::Point, [0.0; 2]),
        [x, y] => (LoopKind::Rigid, [x, y]),
        _ => {
            return Err(bad(format!(
                "--sole: {} numbers, expected half length and half width, m",
                args.sole.len()
            )));
        }
    };
    let foot = |name: &String| match robot.frame_index(name) {
        Some(frame) => Ok(Footprint { frame, kind, sole_m }),
        None => {
            let known: Vec<&str> = robot.named_frames.iter().map(|frame| frame.name.as_str()).collect();
            Err(bad(format!(
                "--contacts: robot `{}` has no frame `{name}`, expected one of {}",
                robot.name,
                known.join(", ")
            )))
        }
    };
    let link = |name: &String| {
        let found = robot.joints.iter().position(|joint| &joint.link == name);
        let known: Vec<&str> = robot.joints.iter().map(|joint| joint.link.as_str()).collect();
        found.ok_or_else(|| {
            bad(format!(
                "--links: robot `{}` has no link `{name}`, expected one of {}",
                robot.name,
                known.join(", ")
            ))
        })
    };
    if let Some(k) = (1..args.links.len()).find(|&k| args.links[..k].contains(&args.links[k])) {
        return Err(bad(format!("--links: `{}` twice, expected each link once", args.links[k])));
    }
    Ok(StandingTask {
        robot,
        feet: args.contacts.iter().map(foot).collect::<Result<_, _>>()?,
        start: standing_start(&args.stand, robot).map_err(bad)?,
        friction: args.friction,
        shapes: linked.shapes.clone(),
        ignored: linked.ignored.clone(),
        clearance_m: args.clearance_m,
        wanted: args.links.iter().map(link).collect::<Result<_, _>>()?,
        goal: match args.goal {
            GoalArg::Condition => Goal::Condition,
            GoalArg::Deviations => Goal::Deviations,
            GoalArg::Posterior => Goal::Posterior,
        },
        torque_deviation_nm: args.torque_deviation_nm,
        duration_s: args.duration,
        repeats: repeats(args),
        evaluations: (RANDOM_STANDING, changes(args) / robot.nv()),
        seed: args.seed,
        beside: args.beside.as_deref().map(|file| posture(robot, file)).transpose()?,
    })
}

/// Changes that are tried on feet, times the degrees of freedom.
fn changes(args: &ExciteArgs) -> usize {
    STANDING_CHANGES * args.evaluations as usize
}

/// How often a motion is gone through.
fn repeats(args: &ExciteArgs) -> u32 {
    let once_s = ONCE_S[usize::from(args.goal != GoalArg::Condition)];
    args.repeats.unwrap_or_else(|| (args.duration / once_s).round().max(1.0) as u32)
}

/// Where the robot stands: its base level, its joints at the angles of `stand`, repeated.
fn standing_start(stand: &[f64], robot: &Model) -> Result<Vec<f64>, String> {
    let (base, joints) = if robot.has_free_flyer() { (7, robot.nv() - BASE) } else { (0, robot.nv()) };
    let given = stand.len();
    if given == 0 || joints % given != 0 {
        return Err(format!(
            "--stand: {given} angles, expected {joints}, or a number of them that divides it"
        ));
    }
    let mut start = configuration::neutral(robot);
    start[base..].iter_mut().zip(stand.iter().cycle()).for_each(|(q, x)| *q = *x);
    Ok(start)
}

/// The posture that the problem in `file` simulates.
fn posture(robot: &Model, file: &Path) -> Result<Posture, StandingError> {
    let (other, posture) =
        EstimationStudy::posture(file).map_err(|error| StandingError::Setting(error.to_string()))?;
    if other.name == robot.name {
        return Ok(posture);
    }
    let (file, found, name) = (file.display(), &other.name, &robot.name);
    Err(StandingError::Setting(format!("--beside: {file} is about robot `{found}`, expected `{name}`")))
}
