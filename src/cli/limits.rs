//! `surelift robot limits`: what can be proven of an arm as it is, in plain words.

use std::path::PathBuf;

use clap::Args;
use indicatif::ProgressBar;

use super::{Failure, say};
use crate::robot::PayloadWords;
use crate::tune::TuneOptions;
use crate::tune::limits::{LimitsError, LimitsProblem};

/// Tell the heaviest unknown payload that is provable with an arm as it is, or what a heavier one needs
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  surelift robot limits kinova_gen3_2f85\n  surelift robot limits my_arm.toml --payload-kg 5 --size-m 0.2,0.2,0.3 --center-m 0,0,0.15\n\n\
                        Of the payload nothing is known but its largest mass, and a box in the tool frame that holds all of it.\n\
                        Provable means: the tubes of some random plans are proven, tracking errors carry no link further than\n\
                        --growth-mm, and torque, speed and position limits hold. An arm that is on time has its own gains. For one whose\n\
                        file says how late it is (`[timing]`) the momentum law counts, with gains chosen for each plan. Obstacles play no\n\
                        part. For a payload that is not provable bisection finds the control period, the transmission inertia, the velocity\n\
                        bound or the age of readings that is enough, each alone.\n\n\
                        Exit codes: 0 told, 2 a file or a setting cannot be used, 3 the payload that is asked for is not provable."
)]
pub struct LimitsArgs {
    /// A robot that ships with surelift, or the path of a robot TOML
    #[arg(value_name = "NAME_OR_PATH")]
    pub robot: PathBuf,
    /// A largest mass that is wanted, kg
    #[arg(long, value_name = "KG")]
    pub payload_kg: Option<f64>,
    /// Full side lengths of the box that holds the payload, m
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', num_args = 1, default_values_t = [0.1, 0.1, 0.1])]
    pub size_m: Vec<f64>,
    /// Its middle in the tool frame, m
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', num_args = 1, allow_negative_numbers = true, default_values_t = [0.0, 0.0, 0.0])]
    pub center_m: Vec<f64>,
    /// Random plans that must all be proven
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub plans: usize,
    /// Seed of the plans
    #[arg(long, value_name = "N", default_value_t = TuneOptions::default().seed)]
    pub seed: u64,
    /// How far tracking errors may carry a link, mm
    #[arg(long, value_name = "MM", default_value_t = 1e3 * TuneOptions::default().growth_m)]
    pub growth_mm: f64,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Bisects and tells; gives the exit code.
///
/// # Errors
/// Bad input if the robot or a setting cannot be used.
pub fn run(args: &LimitsArgs) -> Result<u8, Failure> {
    let three = |what: &str, x: &[f64]| {
        <[f64; 3]>::try_from(x)
            .map_err(|_| Failure::Input(format!("{what}: {} numbers, expected 3: X,Y,Z", x.len())))
    };
    if !(args.growth_mm > 0.0 && args.growth_mm.is_finite()) || args.plans == 0 {
        let text = "expected --growth-mm above 0 and --plans of at least 1";
        return Err(Failure::Input(text.to_owned()));
    }
    let payload = PayloadWords {
        max_mass_kg: args.payload_kg,
        size_m: Some(three("--size-m", &args.size_m)?),
        center_m: Some(three("--center-m", &args.center_m)?),
        ..PayloadWords::default()
    };
    let options =
        TuneOptions { plans: args.plans, seed: args.seed, growth_m: 1e-3 * args.growth_mm, own_alone: true };
    let problem = LimitsProblem { path: args.robot.clone(), payload, options };
    let bar = ProgressBar::new_spinner().with_message("proofs");
    let found = problem.run(&|| bar.inc(1)).map_err(|error| match &error {
        LimitsError::Payload(fault) => {
            Failure::Input(format!("--payload-kg, --size-m or --center-m: {fault}"))
        }
        LimitsError::Tune(_) => Failure::input(&error),
    })?;
    bar.finish_and_clear();
    if args.json {
        let text = serde_json::to_string_pretty(&found).map_err(|e| Failure::Internal(e.to_string()))?;
        say(&(text + "\n"))?;
    } else {
        let lines: String = found.sentences().iter().map(|line| format!("{}.\n", capital(line))).collect();
        say(&lines)?;
    }
    Ok(if found.asked.is_some() || found.proven.is_none() { 3 } else { 0 })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
