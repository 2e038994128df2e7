//! Campaigns: many trials of one promise, described by a TOML file, summed up in a table and a `summary.json`.
//!
//! The file's `kind` says which promise is tried; everything else in it belongs to that kind:
//! - `soundness` ([`soundness`]): no state that is possible lies outside what the certifier claims.
//! - `identification` ([`identification`]): the true parameters never leave the identified set.
//! - `estimation` ([`estimation`]): problems from random starts, stated in several ways; a measurement.
//! - `estimation_noise` ([`estimation::noise`]): estimates under noise against regressions; a measurement.
//! - `estimation_deviations` ([`estimation::deviations`]): errors of estimates are as large as their deviations say.
//! - `localisation` ([`localisation`]): the base's place by the smoother and by contact-aided filters; a measurement.
//! - `mechanism` ([`mechanism`]): settings, noise and models of friction of estimates of mechanisms in maximal coordinates.
//! - `limbs` ([`limbs`]): closed chains that are simulated and identified: torques, predictions and tracking against the robot's files.
//! - `excitation` ([`excitation`]): what the designs of exciting motion give; a measurement.
//! - `runs` ([`runs`]): whole runs of scenarios, each with the outcome that is expected of it.
//! - `methods` ([`methods`]): methods x scenarios x what is held x seeds, side by side; a measurement.
//! - `payloads` ([`payloads`]): the heaviest unknown payload that is provable, over rates, delays and velocity errors; a measurement.
//! - `regressors` ([`regressors`]): standard and momentum regressors are conditioned alike, and why less so over long horizons.
//! - `tracking` ([`tracking`]): how well a law for the whole body tracks with the nominal and with the identified model; a measurement.
//! - `transmission` ([`transmission`]): torques of a robot with a closed loop, by models with and without it; a measurement.
//! - `widths` ([`widths`]): how large the certifier's sets are; a measurement, no promise.
//!
//! A file may differ from another in a few keys: `extends = "FILE"`, as in scenarios. All paths are taken from the file that is
//! loaded.
//!
//! A new kind is a type that implements `Trials` (in `trials.rs`) and a line in [`load`]. All else is the same for all kinds: threads, going on after an
//! interruption, and shards on several machines ([`Shard`], [`merge`]).

pub mod arm;
pub mod error;
pub mod estimation;
mod exact;
pub mod excitation;
mod experiment;
pub mod identification;
pub mod journal;
pub mod limbs;
pub mod localisation;
pub mod mechanism;
pub mod methods;
pub mod payloads;
pub mod regressors;
pub mod runs;
mod shard;
pub mod soundness;
pub mod tracking;
pub mod transmission;
mod trials;
pub mod widths;
mod write;

use std::path::Path;

use serde::Deserialize;

use crate::extend::{Disk, Layers};

pub use error::CampaignError;
pub use journal::Journal;
pub use shard::{Shard, begin_shard, begin_whole, merge};
pub use write::{default_destination, write};

/// Is told how many trials are done, and of how many; from any thread.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// Many trials of one promise.
pub trait Campaign {
    /// Name of the campaign, for titles and folders.
    fn name(&self) -> &str;

    /// Digest of all that its trials depend on beside the campaign file: robots, scenarios, problems.
    fn inputs_digest(&self) -> u64;

    /// What each trial is known by, in the order of the trials.
    fn trial_keys(&self) -> Vec<String>;

    /// Makes all trials.
    ///
    /// # Errors
    /// If the trials themselves could not be made. A promise found broken is not an error but [`CampaignFindings::passed`].
    fn run(&self, progress: &Progress<'_>) -> Result<CampaignFindings, CampaignError> {
        self.go_on(&Journal::none(), progress)
    }

    /// As [`Campaign::run`], but for trials that `journal` knows already; each new one goes into it.
    ///
    /// # Errors
    /// As [`Campaign::run`], or if the journal cannot be written.
    fn go_on(&self, journal: &Journal, progress: &Progress<'_>) -> Result<CampaignFindings, CampaignError>;

    /// Makes the trials of one shard but for those that `journal` knows already, and writes them into it; gives how many it has.
    ///
    /// # Errors
    /// As [`Campaign::go_on`].
    fn run_shard(
        &self,
        shard: Shard,
        journal: &Journal,
        progress: &Progress<'_>,
    ) -> Result<u64, CampaignError>;

    /// The keys of the shard's trials that `journal` lacks, in order.
    fn missing(&self, shard: Shard, journal: &Journal) -> Vec<String>;
}

/// What came of a campaign.
#[derive(Debug, Clone)]
pub struct CampaignFindings {
    /// Whether the promise held in all trials.
    pub passed: bool,
    /// The outcome in a sentence.
    pub verdict: String,
    /// Rows of cells, the first one a heading; see [`crate::report::table::align`].
    pub table: Vec<Vec<String>>,
    /// All figures, for `summary.json`.
    pub summary: serde_json::Value,
    /// Further files: name and content.
    pub files: Vec<(String, String)>,
}

/// What every campaign file holds; the rest is read by its kind.
#[derive(Deserialize)]
struct Header {
    /// Version of this format: 1.
    schema: u32,
    /// The promise that is tried.
    kind: String,
}

/// The keys of [`Header`].
const HEADER: [&str; 2] = ["schema", "kind"];

/// The version of the format that this crate reads.
const SCHEMA: u32 = 1;

/// Loads and checks a campaign file, with what it extends.
///
/// # Errors
/// [`CampaignError`] names the file and the field.
pub fn load(path: &Path) -> Result<Box<dyn Campaign>, CampaignError> {
    let file = Layers::read(path, &Disk)?;
    let header: Header = file.parse(&[])?;
    if header.schema != SCHEMA {
        let reason = format!("is {}, this version reads {SCHEMA}", header.schema);
        return Err(CampaignError::field(path, "schema", reason));
    }
    match header.kind.as_str() {
        "soundness" => Ok(Box::new(soundness::Soundness::new(path, file.parse(&HEADER)?)?)),
        "estimation" => Ok(Box::new(estimation::Starts::new(path, file.parse(&HEADER)?)?)),
        "estimation_noise" => Ok(Box::new(estimation::noise::UnderNoise::new(path, file.parse(&HEADER)?)?)),
        "estimation_deviations" => {
            Ok(Box::new(estimation::deviations::Honesty::new(path, file.parse(&HEADER)?)?))
        }
        "excitation" => Ok(Box::new(excitation::ExcitationCampaign::new(path, file.parse(&HEADER)?)?)),
        "identification" => {
            Ok(Box::new(identification::IdentificationCampaign::new(path, file.parse(&HEADER)?)?))
        }
        "limbs" => Ok(Box::new(limbs::LimbsCampaign::new(path, file.parse(&HEADER)?)?)),
        "localisation" => Ok(Box::new(localisation::LocalisationCampaign::new(path, file.parse(&HEADER)?)?)),
        "mechanism" => Ok(Box::new(mechanism::MechanismCampaign::new(path, file.parse(&HEADER)?)?)),
        "runs" => Ok(Box::new(runs::Runs::new(path, file.parse(&HEADER)?)?)),
        "methods" => Ok(Box::new(methods::Methods::new(path, file.parse(&HEADER)?)?)),
        "payloads" => Ok(Box::new(payloads::PayloadMap::new(path, file.parse(&HEADER)?)?)),
        "regressors" => Ok(Box::new(regressors::Regressors::new(path, file.parse(&HEADER)?)?)),
        "tracking" => Ok(Box::new(tracking::TrackingCampaign::new(path, file.parse(&HEADER)?)?)),
        "transmission" => Ok(Box::new(transmission::TransmissionCampaign::new(path, file.parse(&HEADER)?)?)),
        "widths" => Ok(Box::new(widths::Widths::new(path, file.parse(&HEADER)?)?)),
        other => {
            let reason = format!(
                "is `{other}`, expected `soundness`, `identification`, `estimation`, `estimation_noise`, `estimation_deviations`, \
                 `excitation`, `limbs`, `localisation`, `mechanism`, `payloads`, `regressors`, `runs`, `methods`, `tracking`, `transmission` or `widths`"
            );
            Err(CampaignError::field(path, "kind", reason))
        }
    }
}

/// What the campaign file at `path` holds, with what it extends.
fn contents(path: &Path) -> Result<serde_json::Value, CampaignError> {
    Ok(Layers::read(path, &Disk)?.parse(&[])?)
}

/// What a campaign file at `path` with this text holds besides its [`Header`], as a `T`.
#[cfg(test)]
fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Result<T, CampaignError> {
    struct Text<'a>(&'a str);
    impl crate::extend::Source for Text<'_> {
        fn text(&self, _: &Path) -> std::io::Result<String> {
            Ok(self.0.to_owned())
        }
    }
    Ok(Layers::read(path, &Text(text))?.parse(&HEADER)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refusal(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("campaign.toml");
        fs::write(&path, text).unwrap();
        load(&path).err().unwrap().to_string()
    }

    #[test]
    fn a_bad_file_is_refused_by_field() {
        assert!(load(Path::new("nowhere.toml")).err().unwrap().to_string().contains("nowhere.toml"));
        assert!(refusal("schema = 1\nkind = \"hope\"").contains("`kind`: is `hope`"));
        assert!(refusal("schema = 2\nkind = \"soundness\"").contains("`schema`: is 2"));
        assert!(refusal("kind = 3").contains("line"));
        let start = "schema = 1\nname = \"a\"\nkind = \"soundness\"\nsamples = 10\nwalks = 1\nseed = 1\n";
        assert!(refusal(start).contains("`arms`"));
        let unknown = refusal(&format!("{start}colour = 3"));
        assert!(unknown.contains("colour") && unknown.contains("line 7"), "{unknown}");
        assert!(refusal(&format!("{start}[[arms]]\nrobot = \"no_such\"")).contains("no_such"));
        let arm = format!("{start}[[arms]]\nrobot = \"kinova_gen3_2f85\"\n");
        assert!(refusal(&format!("{arm}start_rad = [1.0]")).contains("`arms[0].start_rad`"));
        let poses = "start_rad = [0, 0, 0, 0, 0, 0, nan]\nrange_rad = [1, 1, 1, 1, 1, 1, 1]";
        assert!(refusal(&format!("{arm}{poses}")).contains("`arms[0].start_rad`"));
        let zero = start.replace("samples = 10", "samples = 0");
        assert!(refusal(&format!("{zero}[[arms]]\nrobot = \"kinova_gen3_2f85\"")).contains("`samples`"));
    }

    #[test]
    fn a_file_may_extend_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let whole = "schema = 1\nname = \"a\"\nkind = \"soundness\"\nsamples = 10\nwalks = 1\nseed = 1\n\
             [[arms]]\nrobot = \"kinova_gen3_2f85\"\n";
        fs::write(path("whole.toml"), whole).unwrap();
        fs::write(path("more.toml"), "extends = \"whole.toml\"\nname = \"more\"").unwrap();
        assert_eq!(load(&path("more.toml")).unwrap().name(), "more");
        fs::write(path("odd.toml"), "extends = \"more.toml\"\ncolour = 3").unwrap();
        let said = load(&path("odd.toml")).err().unwrap().to_string();
        assert!(said.contains("odd.toml") && said.contains("`colour`"), "{said}");
        let said = refusal("extends = \"none.toml\"");
        assert!(said.contains("field `extends`") && said.contains("none.toml"), "{said}");
    }
}
