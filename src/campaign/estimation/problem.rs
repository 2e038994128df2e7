//! A problem of a campaign: a problem file with changes laid over it, and ways to state it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::campaign::CampaignError;
use crate::estimate::EstimateError;
use crate::estimate::study::Study;

/// A problem file and what is changed in it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProblemFile {
    /// Its name in tables.
    pub label: String,
    /// Relative to the campaign file.
    file: PathBuf,
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
    pub fn load(&self, campaign: &Path, change: &toml::Table) -> Result<Study, EstimateError> {
        let path = campaign.parent().unwrap_or(Path::new("")).join(&self.file);
        Study::load_changed(path, &[&self.change, change])
    }
}

/// Refuses variants where a campaign knows none.
pub(super) fn in_one_way(campaign: &Path, problems: &[ProblemFile]) -> Result<(), CampaignError> {
    match problems.iter().position(|p| !p.variant.is_empty()) {
        Some(i) => {
            let reason = "expected none: this campaign states a problem in one way";
            Err(CampaignError::field(campaign, format!("problem[{i}].variant"), reason))
        }
        None => Ok(()),
    }
}
