//! The report on guaranteed intervals of friction: `summary.json` and `friction_intervals.csv`.

use std::path::Path;

use super::ReportError;
use super::figure::{above, below, figure};
use super::study::csv;
use super::table::align;
use super::write::{check_files, write_named};
use serde::Serialize;

use crate::study::limbs::guaranteed::{FrictionPrior, GuaranteedFindings};

/// The files of the report.
pub const FILES: [&str; 2] = ["summary.json", "friction_intervals.csv"];

const COLUMNS: [&str; 9] =
    ["limb", "motor", "parameter", "unit", "lower", "upper", "prior_lower", "prior_upper", "share_of_prior"];

/// What was stated besides the findings' own assumptions.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Stated {
    /// How far the truth may be from the robot's files.
    pub prior: FrictionPrior,
    /// By how much torques are late in the logs, s: taken as right.
    pub torque_delay_s: f64,
    /// How far measured passive joints may be from where the loops put them, rad or m.
    pub passive_tolerance: f64,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    findings: &'a GuaranteedFindings,
    stated: Stated,
}

/// Checks that `folder` can take the report: it is new, empty, or holds an earlier one and nothing else.
///
/// # Errors
/// [`ReportError::Destination`].
pub fn check_destination(folder: &Path) -> Result<(), ReportError> {
    check_files(folder, &FILES)
}

/// Writes the report, all of it or nothing.
///
/// # Errors
/// [`ReportError`] for a folder that is in use, or whatever goes wrong while writing.
pub fn write(folder: &Path, findings: &GuaranteedFindings, stated: Stated) -> Result<(), ReportError> {
    let json = serde_json::to_string_pretty(&Summary { findings, stated })
        .map_err(|source| ReportError::Json { path: folder.join(FILES[0]), source })?;
    // All digits: a bound that is rounded inward is none.
    let digits = |x: f64| x.to_string();
    let files = [(FILES[0], json + "\n"), (FILES[1], csv(&rows(findings, [digits, digits, digits]))?)];
    write_named(folder, &FILES, &files)
}

/// One row an interval; lower bounds, upper bounds and the rest have each their way of being written.
fn rows(findings: &GuaranteedFindings, [lower, upper, other]: [fn(f64) -> String; 3]) -> Vec<Vec<String>> {
    let mut rows = vec![COLUMNS.map(str::to_owned).to_vec()];
    for limb in &findings.limbs {
        for motor in &limb.motors {
            rows.extend(motor.intervals().map(|(name, unit, found)| {
                let mut row = [&limb.name, &motor.joint, name, unit].map(|x: &str| x.to_owned()).to_vec();
                row.extend([lower(found.interval[0]), upper(found.interval[1])]);
                row.extend([lower(found.prior[0]), upper(found.prior[1]), other(found.share())]);
                row
            }));
        }
    }
    rows
}

/// What is said in the end.
pub fn closing(findings: &GuaranteedFindings) -> String {
    let rule = "─".repeat(72);
    let mut rows = rows(findings, [below, above, figure]);
    rows[0] = ["limb", "motor", "parameter", "unit", "from", "to", "prior from", "to", "share of prior"]
        .map(str::to_owned)
        .to_vec();
    format!(
        "{rule}\n  {} · guaranteed intervals\n{rule}\n{}{rule}\n  The truth is inside if the stated bounds, the prior and the robot's files hold.\n",
        findings.robot,
        align(&rows)
    )
}
