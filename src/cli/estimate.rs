//! `surelift estimate`: states and parameters of a robot from a log, with standard deviations.

use std::path::{Path, PathBuf};

use clap::Args;

use super::log;
use super::{Failure, say};
use crate::estimate::EstimateError;
use crate::report::{self, check_destination, default_destination};
use crate::study::estimation::{EstimationStudy, StudyResult};
use crate::study::mechanism::{MechanismStudy, is_mechanism_problem};

const EXAMPLES: &str = "\
Examples:
  surelift estimate scenarios/estimation/gen3_payload.toml
  surelift estimate scenarios/estimation/double_pendulum.toml --out runs/pendulum
  surelift estimate my_arm.toml --validate another.csv
  surelift estimate scenarios/estimation/furuta_swing_up.toml --validate scenarios/estimation/furuta_release.toml

The folder holds summary.json, log.csv (the estimated states) and report.html.";

/// Estimate the parameters and states of a robot from a log: most probable values and standard deviations
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = EXAMPLES)]
pub struct EstimateArgs {
    /// The problem: robot, samples, what is estimated, what is assumed
    #[arg(value_name = "PROBLEM.toml")]
    pub problem: PathBuf,
    /// A recording to predict, not learned from: torques, and simulations under the measured torques. Of a mechanism: another problem, whose readings
    /// are to be explained by its states alone
    #[arg(long, value_name = "FILE")]
    pub validate: Option<PathBuf>,
    /// Where to write the results [default: runs/PROBLEM-estimate-0]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// No table
    #[arg(long, short)]
    pub quiet: bool,
}

/// Solves the problem and writes the report; 0 if it converged, 3 if not.
///
/// # Errors
/// Bad input if the problem or the destination cannot be used.
pub fn run(args: &EstimateArgs) -> Result<u8, Failure> {
    if is_mechanism_problem(&args.problem).map_err(|e| Failure::input(&e))? {
        return run_mechanism(args);
    }
    let mut study = EstimationStudy::load(&args.problem).map_err(|e| Failure::input(&e))?;
    if let Some(path) = &args.validate {
        study = study.validated_on(path).map_err(|e| Failure::input(&e))?;
    }
    let folder = args.out.clone().unwrap_or_else(|| default_destination(&study.name, "estimate", 0));
    check_destination(&folder)?;
    let cut_off = study.cut_off.clone();
    let result = study.run().map_err(|e| match e {
        EstimateError::NotConvex { .. } | EstimateError::Stage { .. } => Failure::Internal(e.to_string()),
        _ => Failure::input(&e),
    })?;
    finish(args, &folder, &result, cut_off)
}

/// The same for a mechanism in maximal coordinates.
fn run_mechanism(args: &EstimateArgs) -> Result<u8, Failure> {
    let mut study = MechanismStudy::load(&args.problem).map_err(|e| Failure::input(&e))?;
    if let Some(path) = &args.validate {
        study = study.validated_on(path).map_err(|e| Failure::input(&e))?;
    }
    let folder = args.out.clone().unwrap_or_else(|| default_destination(&study.name, "estimate", 0));
    check_destination(&folder)?;
    let result = study.run().map_err(|e| Failure::input(&e))?;
    finish(args, &folder, &result, None)
}

/// Writes and prints the result; gives the exit code.
fn finish(
    args: &EstimateArgs,
    folder: &Path,
    result: &StudyResult,
    cut_off: Option<String>,
) -> Result<u8, Failure> {
    report::estimate::write(folder, result)?;
    if let Some(what) = cut_off.filter(|_| args.quiet) {
        log::warn(&what);
    }
    if !args.quiet {
        say(&format!("{}  {}\n", report::estimate::table(result), folder.join("report.html").display()))?;
    }
    Ok(if result.status == "converged" { 0 } else { 3 })
}
