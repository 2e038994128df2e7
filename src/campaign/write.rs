//! The folder that a campaign leaves behind.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CampaignError, CampaignFindings};
use crate::report::table::align;

/// The folder of a campaign if no other is asked for: `runs/campaign-<name>`. Characters that do not belong in a
/// folder's name become `_`.
pub fn default_destination(name: &str) -> PathBuf {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    Path::new("runs").join(format!("campaign-{}", name.chars().map(plain).collect::<String>()))
}

/// Writes `summary.json`, `table.txt` and the campaign's further files into `folder`, which is made if need be.
/// Files of these names are replaced, each at once and only when all are written, others left alone.
///
/// # Errors
/// [`CampaignError::Write`] with the path that cannot be written.
pub fn write(folder: &Path, findings: &CampaignFindings) -> Result<(), CampaignError> {
    let mut files = vec![
        ("summary.json".to_owned(), format!("{:#}\n", findings.summary)),
        ("table.txt".to_owned(), format!("{}\n{}\n", align(&findings.table), findings.verdict)),
    ];
    files.extend(findings.files.iter().cloned());
    put(folder, &files)
}

/// Puts files (name and content) into `folder`, which is made if need be. Nothing is replaced before all are written.
pub(super) fn put(folder: &Path, files: &[(String, String)]) -> Result<(), CampaignError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CampaignError::Write { path, source }
    };
    let part = |name: &str| folder.join(format!(".{name}.part"));
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let written = files
        .iter()
        .try_for_each(|(name, content)| fs::write(part(name), content).map_err(failed(&folder.join(name))));
    if written.is_err() {
        // What is left of them tells nobody anything; one that cannot be removed does no harm.
        files.iter().for_each(|(name, _)| drop(fs::remove_file(part(name))));
    }
    written?;
    files.iter().try_for_each(|(name, _)| {
        let path = folder.join(name);
        fs::rename(part(name), &path).map_err(failed(&path))
    })
}
