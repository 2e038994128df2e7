//! `worlds.json` and its table: many runs of one scenario at a glance.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ReportError;
use super::figure::{figure, percent};
use super::summary::{Summary, Violations};
use super::table::align;
use super::write::{self, json};
use crate::horizon::Outcome;

/// Name of the file.
pub const FILE: &str = "worlds.json";
/// Version of its layout.
pub const SCHEMA: u32 = 1;

/// All runs of a folder of worlds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Overview {
    /// Layout version, [`SCHEMA`].
    pub schema: u32,
    /// The scenario file.
    pub scenario: String,
    /// Name of the method.
    pub method: String,
    /// Seed.
    pub seed: u64,
    /// Worlds.
    pub worlds: usize,
    /// Worlds whose goal was reached without a violation.
    pub reached: usize,
    /// Worlds that were not run, because the arm touches something at the start or the goal.
    pub refused: usize,
    /// Violations, summed over all runs.
    pub violations: Violations,
    /// Plans that were not ready in time, over all runs.
    pub deadline_misses: u64,
    /// Time to propose and certify a plan, over all plans of all runs; `None` without plans.
    pub plan_ms: Option<Spread>,
    /// One entry a world, in their order.
    pub runs: Vec<Entry>,
}

/// One world.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Entry {
    /// Name of the world file, without extension.
    pub world: String,
    /// How the run ended; `None` if it was not started.
    pub outcome: Option<Outcome>,
    /// Why, when the outcome is not success.
    pub reason: Option<String>,
    /// Time that the search for a way took at the start, ms; `None` without one.
    pub route_ms: Option<f64>,
    /// Plans tried.
    pub plans: usize,
    /// Plans certified.
    pub certified: usize,
    /// Plans that were not ready in time.
    pub deadline_misses: u64,
    /// Time to propose and certify a plan; `None` without plans.
    pub plan_ms: Option<Spread>,
    /// Smallest true distance to anything, m.
    pub min_clearance_m: Option<f64>,
    /// Largest ratio of a true torque to its limit.
    pub max_torque_ratio: Option<f64>,
    /// Largest joint distance to the goal at the end, rad.
    pub goal_error_rad: Option<f64>,
    /// Violations.
    pub violations: Violations,
    /// Simulated time, s.
    pub duration_s: f64,
    /// Time on the clock, s.
    pub wall_s: f64,
}

/// Order statistics of a sample (nearest rank).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct Spread {
    /// Size of the sample.
    pub count: usize,
    /// Half are at most this.
    pub median: f64,
    /// 99 of 100 are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of a sample; `None` if it is empty.
    pub fn of(mut sample: Vec<f64>) -> Option<Self> {
        sample.sort_by(f64::total_cmp);
        let max = *sample.last()?;
        let count = sample.len();
        let rank = |share: f64| sample[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
        Some(Self { count, median: rank(0.5), p99: rank(0.99), max })
    }
}

/// Time that each plan of a run took, ms.
fn times(summary: &Summary) -> Vec<f64> {
    summary.plans.iter().map(|plan| plan.propose_ms + plan.certify_ms).collect()
}

impl Entry {
    /// Of a run.
    fn run(world: String, summary: &Summary) -> Self {
        Self {
            world,
            outcome: Some(summary.outcome),
            reason: summary.reason.clone(),
            route_ms: summary.route_ms,
            plans: summary.plans.len(),
            certified: summary.plans.iter().filter(|plan| plan.certified).count(),
            deadline_misses: summary.deadline_misses,
            plan_ms: Spread::of(times(summary)),
            min_clearance_m: summary.min_clearance_m,
            max_torque_ratio: summary.max_torque_ratio,
            goal_error_rad: summary.goal_error_rad,
            violations: summary.violations,
            duration_s: summary.duration_s,
            wall_s: summary.wall_s,
        }
    }

    /// Of a world that cannot be run.
    fn refused(world: String, reason: String) -> Self {
        Self {
            world,
            outcome: None,
            reason: Some(reason),
            route_ms: None,
            plans: 0,
            certified: 0,
            deadline_misses: 0,
            plan_ms: None,
            min_clearance_m: None,
            max_torque_ratio: None,
            goal_error_rad: None,
            violations: Violations::default(),
            duration_s: 0.0,
            wall_s: 0.0,
        }
    }

    fn row(&self) -> Vec<String> {
        let number = |x: Option<f64>| figure(x.unwrap_or(f64::NAN));
        let milliseconds = |x: fn(&Spread) -> f64| self.plan_ms.as_ref().map(x);
        vec![
            self.world.clone(),
            self.outcome.map_or("refused".to_owned(), |outcome| outcome.to_string()),
            format!("{} of {}", self.certified, self.plans),
            format!("{:.1}", self.duration_s),
            number(self.min_clearance_m),
            percent(self.max_torque_ratio),
            number(self.goal_error_rad),
            number(self.route_ms.map(f64::round)),
            number(milliseconds(|s| s.median).map(f64::round)),
            number(milliseconds(|s| s.max).map(f64::round)),
            self.deadline_misses.to_string(),
        ]
    }
}

impl Overview {
    /// An overview without runs yet.
    pub fn new(scenario: String, method: String, seed: u64) -> Self {
        Self {
            schema: SCHEMA,
            scenario,
            method,
            seed,
            worlds: 0,
            reached: 0,
            refused: 0,
            violations: Violations::default(),
            deadline_misses: 0,
            plan_ms: None,
            runs: vec![],
        }
    }

    /// Adds runs, in the order given: the summary, or why the world could not be run.
    pub fn extend(&mut self, runs: impl IntoIterator<Item = (String, Result<Summary, String>)>) {
        let mut all = Vec::new();
        for (world, run) in runs {
            self.worlds += 1;
            match run {
                Ok(summary) => {
                    all.extend(times(&summary));
                    self.reached += usize::from(summary.outcome == Outcome::Success);
                    self.deadline_misses += summary.deadline_misses;
                    self.violations.add(&summary.violations);
                    self.runs.push(Entry::run(world, &summary));
                }
                Err(reason) => {
                    self.refused += 1;
                    self.runs.push(Entry::refused(world, reason));
                }
            }
        }
        self.plan_ms = Spread::of(all);
    }

    /// The table, with the reasons of all that did not succeed below it.
    pub fn table(&self) -> String {
        let heading = [
            "world",
            "outcome",
            "certified",
            "time, s",
            "clearance, m",
            "torque",
            "to goal, rad",
            "way, ms",
            "plan, ms",
            "longest",
            "missed",
        ];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        rows.extend(self.runs.iter().map(Entry::row));
        let mut text = align(&rows) + "\n";
        for entry in &self.runs {
            if let Some(reason) = &entry.reason {
                text += &format!("  {}: {reason}\n", entry.world);
            }
        }
        let violated: Vec<_> = (self.violations.counts().into_iter())
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let violations = if violated.is_empty() { "none".to_owned() } else { violated.join(", ") };
        text += &format!("\n  goals reached                    {} of {}\n", self.reached, self.worlds);
        text += &format!("  violations                       {violations}\n");
        text += &format!("  deadlines missed                 {}\n", self.deadline_misses);
        if let Some(s) = &self.plan_ms {
            text += &format!(
                "  propose + certify                median {:.0} ms, 99 % within {:.0} ms, at most {:.0} ms ({} plans)\n",
                s.median, s.p99, s.max, s.count
            );
        }
        text
    }

    /// The exit code: success if every goal was reached, else the gravest of the runs.
    pub fn exit_code(&self) -> u8 {
        let codes = self.runs.iter().map(|entry| entry.outcome.unwrap_or(Outcome::SafeStop).exit_code());
        // An internal error is graver than all that the program foresees.
        codes.max_by_key(|&code| if code == 1 { u8::MAX } else { code }).unwrap_or(0)
    }

    /// Writes [`FILE`] into `folder`.
    ///
    /// # Errors
    /// Whatever prevents writing.
    pub fn write(&self, folder: &Path) -> Result<(), ReportError> {
        fs::create_dir_all(folder).map_err(|source| ReportError::Io {
            action: "create",
            path: folder.to_path_buf(),
            source,
        })?;
        json(&folder.join(FILE), self)
    }
}

/// Checks that `folder` can hold runs of all `worlds`: it does not exist, or holds [`FILE`] and folders of runs and
/// nothing else. Touches nothing.
///
/// # Errors
/// [`ReportError::Destination`] says what is in the way.
pub fn check_destination(folder: &Path, worlds: &[PathBuf]) -> Result<(), ReportError> {
    let Ok(entries) = fs::read_dir(folder) else {
        return write::check_destination(folder);
    };
    for entry in entries.flatten() {
        let known = worlds.iter().any(|world| world.file_stem() == Some(&entry.file_name()));
        if !known && entry.file_name() != FILE {
            let reason = format!(
                "exists and holds `{}`, which is not part of these runs; choose another folder or remove it",
                entry.file_name().to_string_lossy()
            );
            return Err(ReportError::Destination { path: folder.to_path_buf(), reason });
        }
    }
    worlds
        .iter()
        .filter_map(|w| w.file_stem())
        .try_for_each(|stem| write::check_destination(&folder.join(stem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_statistics_are_those_of_the_nearest_rank() {
        assert_eq!(Spread::of(vec![]), None);
        let one = Spread { count: 1, median: 3.0, p99: 3.0, max: 3.0 };
        assert_eq!(Spread::of(vec![3.0]), Some(one));
        let many = Spread::of((1..=200).rev().map(f64::from).collect()).unwrap();
        assert_eq!((many.median, many.p99, many.max), (100.0, 198.0, 200.0));
    }

    #[test]
    fn refused_worlds_are_counted_and_named() {
        let mut overview = Overview::new("s.toml".into(), "ours".into(), 0);
        overview.extend([("box".to_owned(), Err("the start touches `box 1`".to_owned()))]);
        assert_eq!((overview.worlds, overview.reached, overview.refused, overview.exit_code()), (1, 0, 1, 3));
        let text = overview.table();
        assert!(text.contains("box: the start touches") && text.contains("0 of 1"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        overview.write(folder.path()).unwrap();
        let back = fs::read(folder.path().join(FILE)).unwrap();
        assert_eq!(serde_json::from_slice::<Overview>(&back).unwrap(), overview);
        let worlds = [PathBuf::from("x/box.csv")];
        check_destination(folder.path(), &worlds).unwrap();
        fs::write(folder.path().join("thesis.tex"), "precious").unwrap();
        let refusal = check_destination(folder.path(), &worlds).unwrap_err().to_string();
        assert!(refusal.contains("thesis.tex"), "{refusal}");
    }
}
