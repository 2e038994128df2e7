//! What all kinds of campaigns have in common: trials, each of which depends on its number and on nothing else, are made in parallel, written
//! down, and summed up in the order of their numbers.
//!
//! So it makes no difference how many threads make them, how often the program was interrupted, or on how many machines they are made
//! ([`Shard`]). A trial goes through the form in which it is written down, whether it is written down or not: what is summed up
//! is the same to the bit in all these cases.

use std::collections::HashMap;
use std::fmt::{self, Debug, Write};
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Campaign, CampaignError, CampaignFindings, Journal, Progress, Shard};

/// A kind of campaign.
pub(super) trait Trials: Sync {
    /// What a trial gives, as it is written down: numbers that may be infinite or none at all as [`super::exact`] writes them.
    type Trial: Serialize + DeserializeOwned + Send;

    /// Name of the campaign.
    fn title(&self) -> &str;

    /// Digest of all that trials depend on and that does not stand in the campaign file itself: robots, scenarios, problems.
    fn inputs(&self) -> u64;

    /// The keys of all trials, in order. Each names everything that its trial depends on.
    fn keys(&self) -> Vec<String>;

    /// Makes trial number `number` of [`Trials::keys`].
    fn make(&self, number: usize) -> Result<Self::Trial, CampaignError>;

    /// Whether trial number `number` can have come to this, as far as is told without making it again. A journal may hold anything; what is not possible
    /// counts as not made.
    fn is_possible(&self, _number: usize, _trial: &Self::Trial) -> bool {
        true
    }

    /// What all trials say together; they come in the order of [`Trials::keys`].
    fn sum_up(&self, trials: Vec<Self::Trial>) -> Result<CampaignFindings, CampaignError>;
}

/// The keys of all trials, no two alike: where things of one name are told apart by nothing else, by their order.
fn distinct_keys<T: Trials>(campaign: &T) -> Vec<String> {
    let mut seen = HashMap::<String, u64>::new();
    let distinct = |key: String| {
        let count = seen.entry(key.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { key } else { format!("{key} ({count})") }
    };
    campaign.keys().into_iter().map(distinct).collect()
}

/// The trials of a shard, in order.
fn made<T: Trials>(
    campaign: &T,
    shard: Shard,
    journal: &Journal,
    progress: &Progress<'_>,
) -> Result<Vec<T::Trial>, CampaignError> {
    let own: Vec<(usize, String)> = shard.own(distinct_keys(campaign)).collect();
    let (done, total) = (AtomicU64::new(0), own.len() as u64);
    // Handed out one by one: what an interruption leaves are the first trials, and no thread is left with many at the end.
    let trials = own.iter().par_bridge().map(|(number, key)| {
        let known = journal.known(key).filter(|trial| campaign.is_possible(*number, trial));
        let trial = known.map_or_else(|| journal.written(key, campaign.make(*number)?), Ok);
        progress(1 + done.fetch_add(1, Ordering::Relaxed), total);
        trial.map(|trial| (*number, trial))
    });
    let mut trials: Vec<(usize, T::Trial)> = trials.collect::<Result<_, _>>()?;
    trials.sort_by_key(|(number, _)| *number);
    Ok(trials.into_iter().map(|(_, trial)| trial).collect())
}

impl<T: Trials> Campaign for T {
    fn name(&self) -> &str {
        self.title()
    }

    fn inputs_digest(&self) -> u64 {
        self.inputs()
    }

    fn trial_keys(&self) -> Vec<String> {
        distinct_keys(self)
    }

    fn go_on(&self, journal: &Journal, progress: &Progress<'_>) -> Result<CampaignFindings, CampaignError> {
        self.sum_up(made(self, Shard::WHOLE, journal, progress)?)
    }

    fn run_shard(
        &self,
        shard: Shard,
        journal: &Journal,
        progress: &Progress<'_>,
    ) -> Result<u64, CampaignError> {
        Ok(made(self, shard, journal, progress)?.len() as u64)
    }

    fn missing(&self, shard: Shard, journal: &Journal) -> Vec<String> {
        let known = |number: usize, key: &str| {
            journal.known::<T::Trial>(key).is_some_and(|trial| self.is_possible(number, &trial))
        };
        let own = shard.own(distinct_keys(self));
        own.filter(|(number, key)| !known(*number, key)).map(|(_, key)| key).collect()
    }
}

/// Makes a digest of all that is written to it.
struct Digest(DefaultHasher);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// The change of a simulated problem that draws its noise from `seed`.
pub(super) fn seeded(seed: u64) -> toml::Table {
    // A seed of a file is at most 2^63 - 1.
    let seed = toml::Value::Integer(i64::try_from(seed).unwrap_or(i64::MAX));
    let simulate = toml::Table::from_iter([("seed".to_owned(), seed)]);
    toml::Table::from_iter([("simulate".to_owned(), simulate.into())])
}

/// A digest of a value's `Debug` form, the same in every run of one build.
pub(super) fn digest(value: &impl Debug) -> u64 {
    let mut digest = Digest(DefaultHasher::new());
    // A digest takes whatever is written.
    let _ = write!(digest, "{value:?}");
    digest.0.finish()
}
