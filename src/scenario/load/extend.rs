//! Scenarios that differ from another in a few keys: `extends = "FILE"` takes all of that file's keys but those given.
//!
//! Tables are merged key by key, everything else (lists of obstacles too) is replaced as a whole. The file extended may
//! extend another; its path is relative to the file that names it. The robot is looked for from the file that is loaded.

use std::path::{Path, PathBuf};

use super::schema::File;
use crate::scenario::ScenarioError;

/// Files that may extend one another in a row.
const DEPTH: usize = 8;
const KEY: &str = "extends";

/// The scenario file at `path`, with what it extends.
pub(super) fn read(path: &Path) -> Result<File, ScenarioError> {
    let text = text(path)?;
    let own: toml::Table = toml::from_str(&text).map_err(|e| parse_error(path, &e))?;
    if !own.contains_key(KEY) {
        // From the text itself: its errors name the line.
        return toml::from_str(&text).map_err(|e| parse_error(path, &e));
    }
    merged(path, own, DEPTH)?.try_into().map_err(|e| parse_error(path, &e))
}

fn text(path: &Path) -> Result<String, ScenarioError> {
    std::fs::read_to_string(path).map_err(|source| ScenarioError::Read { path: path.to_path_buf(), source })
}

fn parse_error(path: &Path, error: &toml::de::Error) -> ScenarioError {
    ScenarioError::Parse { path: path.to_path_buf(), message: error.to_string() }
}

fn merged(path: &Path, mut own: toml::Table, depth: usize) -> Result<toml::Table, ScenarioError> {
    let Some(base) = own.remove(KEY) else { return Ok(own) };
    let field =
        |reason: String| ScenarioError::Field { path: path.to_path_buf(), field: KEY.to_owned(), reason };
    let base = base.as_str().ok_or_else(|| field("expected the path of a scenario file".to_owned()))?;
    if depth == 0 {
        return Err(field(format!("expected at most {DEPTH} files that extend one another")));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let base_path: PathBuf = folder.join(base);
    let below = std::fs::read_to_string(&base_path)
        .map_err(|e| field(format!("`{}` cannot be read: {e}", base_path.display())))?;
    let below = toml::from_str(&below).map_err(|e| parse_error(&base_path, &e))?;
    let mut whole = merged(&base_path, below, depth - 1)?;
    overlay(&mut whole, own);
    Ok(whole)
}

fn overlay(below: &mut toml::Table, above: toml::Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => overlay(old, new),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}
