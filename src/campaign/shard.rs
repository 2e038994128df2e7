//! A campaign on several machines: each makes a part of the trials, and the parts are merged into what one machine would have written.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journal::TRIALS;
use super::{Campaign, CampaignError, CampaignFindings, Journal, contents, load, write};

/// Name of the file that says which part of which campaign a folder holds.
const NAME: &str = "shard.json";
/// Version of its format.
const SCHEMA: u32 = 1;
/// The version of this crate: trials of another one may be others.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Trials that an unfinished shard is told to lack by name; their keys are long.
const NAMED_TRIALS: usize = 3;
/// Shards that are told to be missing by name.
const NAMED_SHARDS: usize = 10;
/// How a folder that is refused can be used after all.
const WAY_OUT: &str =
    "without `--resume` it begins anew, with another `--out` both are kept; nothing was changed";

/// Part `number` of `of` equal parts of a campaign's trials. Which trials it has follows from their order in the campaign alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// All trials.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Part `number` (1 to `of`) of `of`.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn new(number: usize, of: usize) -> Result<Self, String> {
        if of == 0 {
            return Err("a campaign in 0 shards: expected at least 1".to_owned());
        }
        if !(1..=of).contains(&number) {
            return Err(format!("shard {number} of {of}: expected 1 to {of}"));
        }
        Ok(Self { number, of })
    }

    /// Its number, from 1 on.
    pub fn number(self) -> usize {
        self.number
    }

    /// Of how many it is one.
    pub fn of(self) -> usize {
        self.of
    }

    /// The trials that are its own, of all, with their numbers.
    pub(super) fn own(self, keys: Vec<String>) -> impl Iterator<Item = (usize, String)> {
        // Of `of` trials in a row each shard has one, the next time the one beside it: a campaign that takes its arms in turn, some of which
        // take longer, is divided evenly whatever `of` is.
        let mine = move |trial: &usize| (trial + trial / self.of) % self.of == self.number - 1;
        keys.into_iter().enumerate().filter(move |(trial, _)| mine(trial))
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, of) = text.split_once('/').ok_or("expected I/N, for example 2/5")?;
        // Zeros in front are welcome, as job arrays number with them; signs are not.
        let whole = |text: &str| {
            let digits = Some(text).filter(|text| text.bytes().all(|digit| digit.is_ascii_digit()));
            digits
                .and_then(|text| text.parse::<usize>().ok())
                .ok_or_else(|| format!("`{text}` is no whole number; expected I/N, for example 2/5"))
        };
        Self::new(whole(number)?, whole(of)?)
    }
}

/// What a shard's folder says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShardFile {
    schema: u32,
    /// The version that makes the trials.
    version: String,
    /// Where the campaign file was.
    campaign: PathBuf,
    shard: usize,
    of: usize,
    /// [`Campaign::inputs_digest`] in hexadecimal digits.
    inputs: String,
    /// What the campaign file holds, with what it extends.
    file: Value,
}

fn hexadecimal(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Says in `folder` that it holds this shard of the campaign that was loaded from `path`, and opens its journal; before the first trial is made. With
/// `resume` the folder's trials are taken over.
///
/// # Errors
/// [`CampaignError::Merge`] for more shards than the campaign has trials. [`CampaignError::Shard`] if trials are to be taken over that are of another
/// version, campaign or part, or of one that is not known. [`CampaignError::Write`] if the folder cannot be used, and those of reading the campaign file.
pub fn begin_shard(
    folder: &Path,
    path: &Path,
    campaign: &dyn Campaign,
    (shard, resume): (Shard, bool),
) -> Result<Journal, CampaignError> {
    let trials = campaign.trial_keys().len().max(1);
    if shard.of > trials {
        let reason =
            format!("has {trials} trials for {} shards, expected at most one shard a trial", shard.of);
        return Err(CampaignError::Merge(format!("{}: {reason}", path.display())));
    }
    let absolute = std::path::absolute(path);
    let file = ShardFile {
        schema: SCHEMA,
        version: VERSION.to_owned(),
        campaign: absolute.map_err(|source| CampaignError::Read { path: path.to_owned(), source })?,
        shard: shard.number,
        of: shard.of,
        inputs: hexadecimal(campaign.inputs_digest()),
        file: contents(path)?,
    };
    if resume {
        file.check_taken_over(folder)?;
    }
    // Before the label: trials that are not taken over must never stand under it.
    let journal = Journal::open(folder, resume)?;
    let text = serde_json::to_string_pretty(&file).map_err(|e| CampaignError::Trials(e.to_string()))?;
    write::put(folder, &[(NAME.to_owned(), text + "\n")])?;
    Ok(journal)
}

/// Opens the journal of a campaign that is made in one piece. Without `resume` a folder that held a shard does so no more.
///
/// # Errors
/// [`CampaignError::Shard`] if a shard's trials would be taken over, and those of [`Journal::open`].
pub fn begin_whole(folder: &Path, resume: bool) -> Result<Journal, CampaignError> {
    let label = folder.join(NAME);
    if resume && label.exists() {
        let held = ShardFolder::read(folder).map_err(with_way_out)?;
        let reason = format!("holds shard {}, not the whole campaign", held.shard());
        return Err(with_way_out(refuse(folder, reason)));
    }
    let journal = Journal::open(folder, resume)?;
    match fs::remove_file(&label) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(CampaignError::Write { path: label, source })
        }
        _ => Ok(journal),
    }
}

impl ShardFile {
    /// Refuses to take over the trials of a folder that says it holds something else, or does not say.
    fn check_taken_over(&self, folder: &Path) -> Result<(), CampaignError> {
        if !folder.join(NAME).exists() {
            let made = fs::metadata(folder.join(TRIALS)).is_ok_and(|trials| trials.len() > 0);
            let reason = format!("has trials but no `{NAME}`: of which version and campaign is not known");
            return if made { Err(with_way_out(refuse(folder, reason))) } else { Ok(()) };
        }
        let held = ShardFolder::read(folder).map_err(with_way_out)?;
        let reason = if let Some(difference) = difference(&held.file.file, &self.file, "") {
            format!("is of another campaign: {difference}")
        } else if held.file.inputs != self.inputs {
            "is of another campaign: a robot, scenario or problem that the campaign file names is another"
                .to_owned()
        } else if held.shard() != (Shard { number: self.shard, of: self.of }) {
            format!("holds shard {}, not {}/{}", held.shard(), self.shard, self.of)
        } else {
            return Ok(());
        };
        Err(with_way_out(refuse(folder, reason)))
    }
}

/// A folder that is refused, with what can be done.
fn with_way_out(error: CampaignError) -> CampaignError {
    match error {
        CampaignError::Shard { folder, reason } => {
            CampaignError::Shard { folder, reason: format!("{reason}; {WAY_OUT}") }
        }
        other => other,
    }
}

/// A shard's folder and what it says of itself.
struct ShardFolder {
    folder: PathBuf,
    file: ShardFile,
}

impl ShardFolder {
    fn read(folder: &Path) -> Result<Self, CampaignError> {
        let path = folder.join(NAME);
        let text = fs::read_to_string(&path).map_err(|source| {
            let missing = format!("is no shard: `{NAME}` cannot be read: {source}");
            refuse(folder, missing)
        })?;
        let file: ShardFile = serde_json::from_str(&text)
            .map_err(|error| refuse(folder, format!("`{NAME}` is damaged: {error}")))?;
        if file.schema != SCHEMA {
            let reason = format!("`{NAME}`: field `schema`: is {}, this version reads {SCHEMA}", file.schema);
            return Err(refuse(folder, reason));
        }
        if file.version != VERSION {
            let reason = format!("was made by version {}, this is {VERSION}", file.version);
            return Err(refuse(folder, reason));
        }
        Shard::new(file.shard, file.of).map_err(|reason| refuse(folder, format!("`{NAME}`: {reason}")))?;
        Ok(Self { folder: folder.to_owned(), file })
    }

    fn shard(&self) -> Shard {
        Shard { number: self.file.shard, of: self.file.of }
    }

    /// Refuses a folder that is of another campaign, or of one divided otherwise.
    fn belongs_with(&self, first: &Self) -> Result<(), CampaignError> {
        let beside = first.folder.display();
        if let Some(difference) = difference(&self.file.file, &first.file.file, "") {
            let reason = format!("is of another campaign than `{beside}`: {difference}");
            return Err(refuse(&self.folder, reason));
        }
        if self.file.inputs != first.file.inputs {
            let reason = format!(
                "is of another campaign than `{beside}`: a robot, scenario or problem that the campaign file names is another"
            );
            return Err(refuse(&self.folder, reason));
        }
        if self.file.of != first.file.of {
            let (own, other) = (self.shard(), first.shard());
            return Err(refuse(&self.folder, format!("is shard {own}, but `{beside}` is shard {other}")));
        }
        Ok(())
    }
}

fn refuse(folder: &Path, reason: String) -> CampaignError {
    CampaignError::Shard { folder: folder.to_owned(), reason }
}

/// The first place at which two campaign files differ, in words.
fn difference(here: &Value, there: &Value, at: &str) -> Option<String> {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match (here, there) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.filter_map(|key| {
                let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or(Value::Null);
                difference(&value(a), &value(b), &below(key))
            })
            .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.filter_map(|(i, (a, b))| difference(a, b, &format!("{at}[{i}]"))).next()
        }
        _ if here == there => None,
        _ => {
            let shown =
                |value: &Value| if value.is_null() { "not given".to_owned() } else { value.to_string() };
            Some(format!("field `{at}` is {} here and {} there", shown(here), shown(there)))
        }
    }
}

/// Which campaign the folders hold, and that each of its shards is there once.
fn complete_set(folders: &[PathBuf]) -> Result<Vec<ShardFolder>, CampaignError> {
    let read = folders.iter().map(|folder| ShardFolder::read(folder)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = read.first() else {
        return Err(CampaignError::Merge("no shard is given, expected all of a campaign".to_owned()));
    };
    let of = first.file.of;
    let mut numbered: BTreeMap<usize, ShardFolder> = BTreeMap::new();
    read.iter().try_for_each(|shard| shard.belongs_with(first))?;
    for shard in read {
        if let Some(same) = numbered.get(&shard.file.shard) {
            let reason = format!("is shard {}, and so is `{}`", shard.shard(), same.folder.display());
            return Err(refuse(&shard.folder, reason));
        }
        numbered.insert(shard.file.shard, shard);
    }
    // Whatever a damaged folder claims: counted, not listed.
    let missing = of - numbered.len();
    if missing == 0 {
        return Ok(numbered.into_values().collect());
    }
    let first = (1..=of).filter(|i| !numbered.contains_key(i)).take(NAMED_SHARDS);
    let first: Vec<String> = first.map(|i| format!("{i}/{of}")).collect();
    Err(CampaignError::Merge(format!("shards are missing: {}", and_more(&first, missing))))
}

/// The first few of a list of `count`, and how many more there are.
fn and_more(first: &[String], count: usize) -> String {
    let mut text = first.join(", ");
    if count > first.len() {
        let _ = write!(text, " and {} more", count - first.len());
    }
    text
}

/// Merges all shards of a campaign into what one run of it finds. Its trials, in order, are among the files. The campaign file is read
/// at `file`, or else where the first shard read it.
///
/// # Errors
/// Names the folder that is no shard, is of another campaign, or lacks trials; shards that are missing; a campaign file that is another now.
pub fn merge(folders: &[PathBuf], file: Option<&Path>) -> Result<CampaignFindings, CampaignError> {
    let shards = complete_set(folders)?;
    let own = &shards[0].file;
    let path = file.unwrap_or(&own.campaign);
    let campaign = load(path)?;
    let changed = match difference(&contents(path)?, &own.file, "") {
        None if hexadecimal(campaign.inputs_digest()) == own.inputs => None,
        None => Some("a robot, scenario or problem that it names is another".to_owned()),
        found => found,
    };
    if let Some(reason) = changed {
        return Err(CampaignError::Merge(format!(
            "{}: is not the campaign that `{}` was made for: {reason}",
            path.display(),
            shards[0].folder.display()
        )));
    }
    let mut all = Journal::none();
    for shard in &shards {
        let journal = Journal::read(&shard.folder)?;
        let missing = campaign.missing(shard.shard(), &journal);
        if !missing.is_empty() {
            let count = missing.len();
            let which = and_more(&missing[..count.min(NAMED_TRIALS)], count);
            let reason = format!(
                "is not finished: {count} trials are missing or cannot be as they are written ({which}); its command with `--resume` makes them"
            );
            return Err(refuse(&shard.folder, reason));
        }
        all.take(journal, shard.shard().own(campaign.trial_keys()).map(|(_, key)| key));
    }
    let mut findings = campaign.go_on(&all, &|_, _| ())?;
    findings.files.push((TRIALS.to_owned(), all.lines(&campaign.trial_keys())));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each trial is in one shard; of trials whose cost repeats every `arms`, each shard has as many of each sort as another, but for one.
    #[test]
    fn shards_divide_all_trials_evenly() {
        for (trials, of, arms) in
            [(125, 25, 5), (100, 5, 5), (60, 6, 3), (7, 3, 1), (2, 5, 1), (0, 2, 1), (13, 1, 2)]
        {
            let keys: Vec<String> = (0..trials).map(|k: usize| k.to_string()).collect();
            let shards = (1..=of).map(|i| Shard::new(i, of).unwrap());
            let own: Vec<Vec<usize>> =
                shards.map(|s| s.own(keys.clone()).map(|(k, _)| k).collect()).collect();
            let mut all: Vec<usize> = own.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..trials), "{own:?}");
            let counts =
                own.iter().map(|own| (0..arms).map(|a| own.iter().filter(|k| *k % arms == a).count()));
            let counts: Vec<Vec<usize>> = counts.map(Iterator::collect).collect();
            for arm in 0..arms {
                let each = || counts.iter().map(|counts| counts[arm]);
                assert!(each().max().unwrap() - each().min().unwrap() <= 1, "{trials} in {of}: {counts:?}");
            }
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let told = |a: &str, b: &str| difference(&value(a), &value(b), "");
        assert_eq!(told("{\"a\": [1, {\"b\": 2.5}]}", "{\"a\": [1, {\"b\": 2.5}]}"), None);
        let deep = told("{\"a\": [1, {\"b\": 2.5}]}", "{\"a\": [1, {\"b\": 2}]}").unwrap();
        assert_eq!(deep, "field `a[1].b` is 2.5 here and 2 there");
        assert_eq!(told("{\"a\": 1}", "{}").unwrap(), "field `a` is 1 here and not given there");
        assert_eq!(told("{}", "{\"a\": [1]}").unwrap(), "field `a` is not given here and [1] there");
        assert_eq!(told("{\"a\": [1]}", "{\"a\": [1, 2]}").unwrap(), "field `a` is [1] here and [1,2] there");
    }

    #[test]
    fn nothing_is_replaced_before_all_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "before").unwrap();
        // A folder stands where the second file would be written.
        fs::create_dir(at(".b.part")).unwrap();
        let files = ["a", "b"].map(|name| (name.to_owned(), "after".to_owned()));
        let told = write::put(folder.path(), &files).unwrap_err().to_string();
        assert!(told.contains("cannot be written"), "{told}");
        assert_eq!(fs::read_to_string(at("a")).unwrap(), "before");
        assert!(!at(".a.part").exists() && !at("b").exists());
    }
}
