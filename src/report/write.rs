//! The output folder: all of it or nothing.
//!
//! Everything is written into a temporary sibling folder, which is renamed at the end. A folder that is already
//! there is replaced only if everything in it is a file that this module writes; anything else is refused before
//! the run starts ([`check_destination`]), so that a mistyped `--out` never costs a person their files.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{ReportError, RunRecord, html, log};

const SUMMARY: &str = "summary.json";
const LOG: &str = "log.csv";
const PAGE: &str = "report.html";
const PLANS: &str = "plans";
pub(super) const SET_PROOF: &str = "set_proof.json";

/// The folder of a run if no other is asked for: `runs/<scenario>-<method>-<seed>`.
///
/// Characters that do not belong in a folder's name become `_`.
pub fn default_destination(scenario: &str, method: &str, seed: u64) -> PathBuf {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = format!("{scenario}-{method}-{seed}").chars().map(plain).collect();
    Path::new("runs").join(name.trim_start_matches('.'))
}

/// Checks that `folder` can be written: it does not exist, is empty, or holds an earlier run and nothing else.
/// Touches nothing; meant to be called before a run starts as well.
///
/// # Errors
/// [`ReportError::Destination`] says what is in the way.
pub fn check_destination(folder: &Path) -> Result<(), ReportError> {
    check(folder, foreign_entry)
}

/// [`check_destination`] for a folder that holds the named files and nothing else.
///
/// # Errors
/// [`ReportError::Destination`] says what is in the way.
pub fn check_files(folder: &Path, names: &[&str]) -> Result<(), ReportError> {
    check(folder, |folder| {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !(names.contains(&name.as_str()) && entry.file_type()?.is_file()) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    })
}

/// Writes the named texts as the files of `folder`, all or nothing; it may hold files of the names `known`, which go.
///
/// # Errors
/// Those of [`check_files`], and whatever goes wrong while writing; the folder is then as it was before.
pub fn write_named(folder: &Path, known: &[&str], files: &[(&str, String)]) -> Result<(), ReportError> {
    check_files(folder, known)?;
    let temporary = Temporary::beside(folder)?;
    for (name, text) in files {
        let path = temporary.path.join(name);
        fs::write(&path, text).map_err(failed("write", &path))?;
    }
    temporary.become_folder(folder)
}

/// Whether `folder` is new, empty, or holds nothing that `foreign` names.
fn check(folder: &Path, foreign: impl Fn(&Path) -> io::Result<Option<String>>) -> Result<(), ReportError> {
    let refuse = |reason: String| Err(ReportError::Destination { path: folder.to_owned(), reason });
    if folder.file_name().is_none() {
        return refuse("expected a path that ends in the name of a folder".to_owned());
    }
    let kind = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return unusable_ground(folder).map_or(Ok(()), refuse);
        }
        Err(error) => return refuse(error.to_string()),
        Ok(metadata) => metadata.file_type(),
    };
    if !kind.is_dir() {
        return refuse("exists and is not a folder; choose another".to_owned());
    }
    match foreign(folder) {
        Ok(None) => Ok(()),
        Ok(Some(entry)) => refuse(format!(
            "exists and holds `{entry}`, which is not part of a run; choose another folder or remove it"
        )),
        Err(error) => refuse(error.to_string()),
    }
}

/// Checks that `folder` can take files beside those that it holds: it is a folder that can be written to, or can be made.
///
/// # Errors
/// [`ReportError::Destination`] says what is in the way.
pub fn check_open(folder: &Path) -> Result<(), ReportError> {
    let unusable = unusable_ground(&folder.join("summary.json"));
    unusable.map_or(Ok(()), |reason| Err(ReportError::Destination { path: folder.to_owned(), reason }))
}

/// Why no folder can be made where `folder` is to be: its nearest existing ancestor is no folder or read-only.
fn unusable_ground(folder: &Path) -> Option<String> {
    let here = Path::new(".");
    let ancestors = folder.ancestors().skip(1).map(|a| if a.as_os_str().is_empty() { here } else { a });
    let (ground, metadata) = ancestors.filter_map(|a| Some((a, fs::metadata(a).ok()?))).next()?;
    if !metadata.is_dir() {
        return Some(format!("`{}` is not a folder; choose another", ground.display()));
    }
    let closed = metadata.permissions().readonly();
    closed.then(|| format!("`{}` cannot be written to; choose another", ground.display()))
}

/// The first entry of `folder` that [`write`] does not make.
fn foreign_entry(folder: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        let ours = match name.as_str() {
            SUMMARY | LOG | PAGE | SET_PROOF => kind.is_file(),
            PLANS => kind.is_dir(),
            _ => false,
        };
        if !ours {
            return Ok(Some(name));
        }
        if kind.is_dir() {
            for plan in fs::read_dir(entry.path())? {
                let plan = plan?;
                let plan_name = plan.file_name().to_string_lossy().into_owned();
                let number = plan_name.strip_prefix("plan_").and_then(|rest| rest.strip_suffix(".json"));
                let numbered = number.is_some_and(|digits| digits.parse::<u64>().is_ok());
                if !(numbered && plan.file_type()?.is_file()) {
                    return Ok(Some(format!("{name}/{plan_name}")));
                }
            }
        }
    }
    Ok(None)
}

/// Writes `summary.json`, `log.csv`, `plans/plan_<number>.json` and `report.html` into `folder`, and `set_proof.json` where something was
/// identified.
///
/// # Errors
/// [`ReportError::Destination`] if the folder may not be replaced, [`ReportError::Shape`] if the record contradicts
/// itself, and whatever goes wrong while writing. After an error the folder is as it was before.
pub fn write<P: Serialize>(folder: &Path, record: &RunRecord<P>) -> Result<(), ReportError> {
    record.check()?;
    check_destination(folder)?;
    let page = html::page(record)?;
    let temporary = Temporary::beside(folder)?;
    let inside = |name: &str| temporary.path.join(name);
    json(&inside(SUMMARY), &record.summary)?;
    let file = create(&inside(LOG))?;
    log::write_csv(&record.log, record.torque_limit.len(), file)?;
    fs::create_dir(inside(PLANS)).map_err(failed("create", &inside(PLANS)))?;
    for (i, plan) in record.plans.iter().enumerate() {
        json(&inside(PLANS).join(format!("plan_{i:03}.json")), plan)?;
    }
    if let Some(proof) = &record.set_proof {
        compact(&inside(SET_PROOF), proof)?;
    }
    fs::write(inside(PAGE), page).map_err(failed("write", &inside(PAGE)))?;
    temporary.become_folder(folder)
}

/// Writes a folder of `summary.json`, `log.csv` and `report.html`, all or nothing.
pub(super) fn write_files<T: Serialize>(
    folder: &Path,
    summary: &T,
    log: &str,
    page: &str,
) -> Result<(), ReportError> {
    check_destination(folder)?;
    let temporary = Temporary::beside(folder)?;
    let inside = |name: &str| temporary.path.join(name);
    json(&inside(SUMMARY), summary)?;
    for (name, text) in [(LOG, log), (PAGE, page)] {
        fs::write(inside(name), text).map_err(failed("write", &inside(name)))?;
    }
    temporary.become_folder(folder)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    let path = path.to_owned();
    move |source| ReportError::Io { action, path, source }
}

fn create(path: &Path) -> Result<BufWriter<File>, ReportError> {
    File::create(path).map(BufWriter::new).map_err(failed("create", path))
}

// To a text first: writing straight to a file would have each type that is written compiled once more.
pub(super) fn json<T: Serialize>(path: &Path, value: &T) -> Result<(), ReportError> {
    to_file(path, serde_json::to_vec_pretty(value))
}

/// Without a line for every number.
fn compact<T: Serialize>(path: &Path, value: &T) -> Result<(), ReportError> {
    to_file(path, serde_json::to_vec(value))
}

fn to_file(path: &Path, text: serde_json::Result<Vec<u8>>) -> Result<(), ReportError> {
    let mut text = text.map_err(|source| ReportError::Json { path: path.to_owned(), source })?;
    text.push(b'\n');
    fs::write(path, text).map_err(failed("write", path))
}

/// A folder that removes itself unless it became the final one.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A new, empty folder beside `folder`, on the same file system so that renaming is one step.
    fn beside(folder: &Path) -> Result<Self, ReportError> {
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let unusable = |error: io::Error| ReportError::Destination {
            path: folder.to_owned(),
            reason: format!("cannot be created: {error}"),
        };
        fs::create_dir_all(parent).map_err(unusable)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        // The process id keeps running programs apart; the count passes over what a killed one left behind.
        let mut count = 0;
        loop {
            let path = parent.join(format!(".{name}.{}-{count}.partial", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => count += 1,
                Err(error) => return Err(unusable(error)),
            }
        }
    }

    /// Takes the place of `folder`; an earlier run there is kept until the new one stands in its place.
    fn become_folder(self, folder: &Path) -> Result<(), ReportError> {
        if fs::symlink_metadata(folder).is_err() {
            return fs::rename(&self.path, folder).map_err(failed("create", folder));
        }
        let old = self.path.with_extension("replaced");
        fs::rename(folder, &old).map_err(failed("replace", folder))?;
        if let Err(error) = fs::rename(&self.path, folder) {
            // Put the earlier run back; if even that fails it is still whole under its other name.
            let place = if fs::rename(&old, folder).is_ok() { folder } else { &old };
            return Err(failed("replace", place)(error));
        }
        fs::remove_dir_all(&old).map_err(failed("remove", &old))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a successful rename there is nothing at this path and the error says so; nothing else can be done.
        let _ = fs::remove_dir_all(&self.path);
    }
}
