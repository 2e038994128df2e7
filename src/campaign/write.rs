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
/// Files of these names are replaced, each at once, others left alone.
///
/// # Errors
/// [`CampaignError::Write`] with the path that cannot be written.
pub fn write(folder: &Path, findings: &CampaignFindings) -> Result<(), CampaignError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CampaignError::Write { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let own = [
        ("summary.json".to_owned(), format!("{:#}\n", findings.summary)),
        ("table.txt".to_owned(), format!("{}\n{}\n", align(&findings.table), findings.verdict)),
    ];
    for (name, content) in own.iter().chain(&findings.files) {
        let path = folder.join(name);
        let half = folder.join(format!(".{name}.part"));
        fs::write(&half, content).and_then(|()| fs::rename(&half, &path)).map_err(failed(&path))?;
    }
    Ok(())
}
