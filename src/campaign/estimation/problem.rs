//! A problem of a campaign: a problem file with changes laid over it, and ways to state it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::campaign::CampaignError;
use crate::campaign::trials::digest;
use crate::estimate::EstimateError;
use crate::study::estimation::EstimationStudy;

/// A problem file and what is changed in it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProblemFile {
    /// Its name in tables.
    pub label: String,
    /// Relative to the campaign file.
    file: PathBuf,
    /// What is changed in the problem file, key by key.
    #[serde(default)]
    change: toml::Table,
    /// Ways to state it, where the campaign's own do not suit it.
    #[serde(default)]
    pub variant: Vec<Variant>,
}

/// A way to state a problem.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    /// Its name in tables.
    pub label: String,
    /// What is changed besides.
    #[serde(default)]
    pub change: toml::Table,
}

impl ProblemFile {
    /// The problem with a further change; `campaign` is the path of the campaign file.
    ///
    /// # Errors
    /// [`EstimateError`] names the problem file and the field, also of a change.
    pub fn load(&self, campaign: &Path, change: &toml::Table) -> Result<EstimationStudy, EstimateError> {
        let path = campaign.parent().unwrap_or(Path::new("")).join(&self.file);
        EstimationStudy::load_changed(path, &[&self.change, change])
    }
}

/// Refuses variants where a campaign knows none, and problems that cannot be read; gives a digest of them.
pub(super) fn in_one_way(campaign: &Path, problems: &[ProblemFile]) -> Result<u64, CampaignError> {
    let mut inputs = vec![];
    for (i, problem) in problems.iter().enumerate() {
        if !problem.variant.is_empty() {
            let reason = "expected none: this campaign states a problem in one way";
            return Err(CampaignError::field(campaign, format!("problem[{i}].variant"), reason));
        }
        let study = problem.load(campaign, &toml::Table::new()).map_err(|source| {
            CampaignError::field(campaign, format!("problem `{}`", problem.label), source.to_string())
        })?;
        inputs.push(digest(&study));
    }
    Ok(digest(&inputs))
}
