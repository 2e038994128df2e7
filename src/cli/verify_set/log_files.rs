//! Where the logs of a set are, and whether they are the ones.

use std::path::{Path, PathBuf};

use crate::cli::log_identity::hash;
use crate::cli::{Failure, warn_of_cut};
use crate::identify::proof::{LogFile, Premises};
use crate::recording::{AngleUnit, LogRequest, MeasurementLog};
use crate::robot::Arm;

/// The logs of a proof in `folder`, or why they are not those that it was made from: `given` ones, else those of the same name beside
/// it, else those that are where they were.
///
/// # Errors
/// Bad input if a log is nowhere, or cannot be read.
pub(super) fn read(
    premises: &Premises,
    robot: &Arm,
    folder: &Path,
    given: &[PathBuf],
) -> Result<Result<Vec<MeasurementLog>, String>, Failure> {
    let given =
        given.iter().map(|path| Ok((path.clone(), hash(path)?))).collect::<Result<Vec<_>, Failure>>()?;
    let mut logs = vec![];
    for file in &premises.files {
        let LogFile { path, sha256, degrees, topic, format, left_out_s } = file;
        let candidates = if given.is_empty() { at_hand(path, folder)? } else { given.clone() };
        let Some((found, _)) = candidates.iter().find(|(_, hash)| hash == sha256) else {
            let tried: Vec<String> =
                candidates.iter().map(|(path, hash)| format!("{} ({hash})", path.display())).collect();
            let wanted = path.display();
            return Ok(Err(format!(
                "{} is not the log '{wanted}' that the set was found from, whose SHA-256 is {sha256}",
                tried.join(", ")
            )));
        };
        let unit = if *degrees { AngleUnit::Degrees } else { AngleUnit::Radians };
        let (topic, format, left_out_s) = (topic.clone(), format.clone(), left_out_s.clone());
        let request = LogRequest { unit, topic, format, left_out_s, ..LogRequest::default() };
        let log = MeasurementLog::read_request(found, robot, &request);
        let log = log.map_err(|error| Failure::input(&error))?;
        warn_of_cut(&log);
        logs.push(log);
    }
    Ok(Ok(logs))
}

/// The files that may be the log of this path, with their hashes.
fn at_hand(path: &Path, folder: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let beside = path.file_name().map(|name| folder.join(name));
    let there: Vec<PathBuf> = beside.into_iter().chain([path.to_owned()]).filter(|p| p.is_file()).collect();
    if there.is_empty() {
        let path = path.display();
        return Err(Failure::Input(format!(
            "{path}: no such log, neither beside the proof nor where it was; give it with --log"
        )));
    }
    there.into_iter().map(|path| hash(&path).map(|hash| (path, hash))).collect()
}
