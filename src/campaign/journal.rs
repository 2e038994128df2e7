//! Trials that outlive an interruption: each is written down as soon as it is made, and taken over by the next run.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::CampaignError;

/// Name of the file in the campaign's folder: one trial a line.
pub(super) const TRIALS: &str = "trials.jsonl";

/// What is known of trials made before, and where new ones are written down.
///
/// A trial is known by its key, which has to name everything that it depends on but the program itself: trials of another
/// build are taken over as well.
#[derive(Debug, Default)]
pub struct Journal {
    known: HashMap<String, serde_json::Value>,
    open: Option<(PathBuf, Mutex<File>)>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line<T> {
    key: String,
    trial: T,
}

impl Journal {
    /// Knows nothing and keeps nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// The journal in `folder`, which is made if need be. Without `resume` it begins anew. Lines that cannot be read, as an
    /// interruption leaves them, count as not made.
    ///
    /// # Errors
    /// [`CampaignError::Read`] and [`CampaignError::Write`] with the path that cannot be used.
    pub fn open(folder: &Path, resume: bool) -> Result<Self, CampaignError> {
        let path = folder.join(TRIALS);
        let unwritable = |source| CampaignError::Write { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(unwritable)?;
        let text = if resume { text_of(&path)? } else { String::new() };
        let known = trials_of(&text);
        let mut options = OpenOptions::new();
        let options = if resume { options.append(true) } else { options.write(true).truncate(true) };
        let mut file = options.create(true).open(&path).map_err(unwritable)?;
        if !text.is_empty() && !text.ends_with('\n') {
            // What was cut off must not swallow the next line.
            file.write_all(b"\n").map_err(unwritable)?;
        }
        Ok(Self { known, open: Some((path, Mutex::new(file))) })
    }

    /// What is written down in `folder`, to which nothing is added. Where no trial was written down yet none is known.
    ///
    /// # Errors
    /// [`CampaignError::Read`] if the file is there and cannot be read.
    pub fn read(folder: &Path) -> Result<Self, CampaignError> {
        Ok(Self { known: trials_of(&text_of(&folder.join(TRIALS))?), open: None })
    }

    /// Takes over these trials of another journal.
    pub(super) fn take(&mut self, mut other: Self, keys: impl Iterator<Item = String>) {
        self.known.extend(
            keys.filter_map(|key| Some((other.known.remove(&key)?, key)).map(|(trial, key)| (key, trial))),
        );
    }

    /// The lines of these trials, of those that are known.
    pub(super) fn lines(&self, keys: &[String]) -> String {
        let line = |key: &String| {
            let line = Line { key: key.clone(), trial: self.known.get(key)? };
            serde_json::to_string(&line).ok().map(|line| line + "\n")
        };
        keys.iter().filter_map(line).collect()
    }

    /// The trial of this key, if it is known and can be read.
    pub(super) fn known<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        T::deserialize(self.known.get(key)?).ok()
    }

    /// The trial of this key: as it was written down, or else made now and written down. Either way it is what can be read from
    /// its line.
    ///
    /// # Errors
    /// Those of `make`, [`CampaignError::Write`] if it cannot be written down, [`CampaignError::Trials`] if its line cannot be read again.
    pub fn trial<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, CampaignError>,
    ) -> Result<T, CampaignError> {
        self.known(key).map_or_else(|| self.written(key, make()?), Ok)
    }

    /// The trial as it can be read once it is written down, which is done. Of two of one key the later one counts.
    ///
    /// # Errors
    /// As [`Journal::trial`].
    pub(super) fn written<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        trial: T,
    ) -> Result<T, CampaignError> {
        let unreadable =
            |error| CampaignError::Trials(format!("the trial `{key}` cannot be written down: {error}"));
        let line = serde_json::to_string(&Line { key: key.to_owned(), trial }).map_err(unreadable)?;
        let trial = serde_json::from_str::<Line<T>>(&line).map_err(unreadable)?.trial;
        if let Some((path, file)) = &self.open {
            // Lines are written whole, so a panic elsewhere leaves no harm behind.
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let written = file.write_all(format!("{line}\n").as_bytes());
            written.map_err(|source| CampaignError::Write { path: path.clone(), source })?;
        }
        Ok(trial)
    }
}

/// The text of a journal, empty if there is none. What is no text is that of an interruption too.
fn text_of(path: &Path) -> Result<String, CampaignError> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(CampaignError::Read { path: path.to_owned(), source }),
    }
}

/// The trials of a journal by their keys.
fn trials_of(text: &str) -> HashMap<String, serde_json::Value> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line<_>>(line).ok());
    lines.map(|line| (line.key, line.trial)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_made_once_whatever_interrupts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join(TRIALS);
        let deep = path.parent().unwrap();
        let made = |journal: &Journal, key: &str, x: f64| journal.trial(key, || Ok(x)).unwrap();
        let first = Journal::open(deep, true).unwrap();
        assert_eq!(made(&first, "a", 1.0), 1.0);
        let failure = first.trial::<f64>("b", || Err(CampaignError::Trials("no".to_owned())));
        assert!(failure.unwrap_err().to_string().contains("no"));
        // Cut off in the middle of a line.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"key\":\"b\",\"tri")).unwrap();
        let second = Journal::open(deep, true).unwrap();
        assert_eq!(made(&second, "a", 5.0), 1.0);
        assert_eq!(made(&second, "b", 2.0), 2.0);
        let third = Journal::open(deep, true).unwrap();
        assert_eq!((made(&third, "a", 5.0), made(&third, "b", 5.0)), (1.0, 2.0));
        // A trial of another form is made again.
        let other: Vec<f64> = third.trial("a", || Ok(vec![3.0])).unwrap();
        assert_eq!(other, [3.0]);
        // Anew, and not at all.
        assert_eq!(made(&Journal::open(deep, false).unwrap(), "a", 5.0), 5.0);
        assert_eq!(made(&Journal::none(), "a", 6.0), 6.0);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
        let error = Journal::open(&path, true).unwrap_err().to_string();
        assert!(error.contains(TRIALS), "{error}");
    }
}
