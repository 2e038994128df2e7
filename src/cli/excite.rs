//! `surelift excite`: motions from which parameters are learnt best.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Failure, say};
use crate::report::excitation as report;
use crate::robot;
use crate::study::limbs::LimbUnknown;
use crate::study::limbs::excite::ExcitationTask;

/// Find motions of a robot with its base held from which its parameters are learnt best
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  surelift excite digit --out motions\n  surelift excite digit --unknown friction --motions 2 --duration 15 --out motions\n\n\
                        Motions are Fourier series of the motors from rest to rest, found limb by limb: the condition number of the projected\n\
                        regressor is made small. They keep nine tenths of position, speed and torque limits (by the robot's files), and stay where\n\
                        loops are proven to close in one way. They are looked at in samples; self-collision and obstacles are not looked at.\n\n\
                        The folder holds summary.json (coefficients), report.html, and motion_1.csv.. with the columns t (s), q1.. (rad), dq1.. (rad/s),\n\
                        ddq1.. (rad/s^2) of all joints with a motor, in the order of `surelift robot`. Record them with tau1.. (N m), and give the\n\
                        recordings to `surelift identify --unknown everything`."
)]
pub struct ExciteArgs {
    /// A robot that ships with surelift, or the path of a robot TOML or URDF
    #[arg(value_name = "NAME_OR_PATH")]
    pub robot: String,
    /// What is to be learnt
    #[arg(long, value_enum, default_value = "everything")]
    pub unknown: Learnt,
    /// Number of motions, at most 20
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=report::MOST_MOTIONS as i64))]
    pub motions: u16,
    /// Duration of each, s
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub duration: f64,
    /// Least proven singular value of the loops' Jacobian by the passive joints, m/rad: the distance to singular postures
    #[arg(long, value_name = "SIGMA", default_value_t = 0.01)]
    pub least_singular_value: f64,
    /// Changes of a motion that are tried, for each limb
    #[arg(long, value_name = "N", default_value_t = 150)]
    pub evaluations: u32,
    /// Of the random search
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
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

/// Random motions that the search begins with, for each motion that is wanted.
const RANDOM: usize = 12;

/// Searches, writes.
///
/// # Errors
/// Bad input if the robot, a setting or the folder cannot be used.
pub fn run(args: &ExciteArgs) -> Result<u8, Failure> {
    let robot = robot::load_model(&args.robot).map_err(|e| Failure::input(&e))?;
    report::check_destination(&args.out)?;
    let motions = usize::from(args.motions);
    let task = ExcitationTask {
        robot: &robot,
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
    };
    let found = task.run().map_err(|e| Failure::input(&e))?;
    report::write(&args.out, &found)?;
    say(&format!("{}  {}\n", report::closing(&found), args.out.join("report.html").display()))?;
    Ok(0)
}
