//! `surelift run`: one scenario from the first plan to the report.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::advice::advice;
use super::interrupt::interruptible;
use super::log::is_json;
use super::progress::TerminalObserver;
use super::{Failure, say};
use crate::benchmark::{self, MethodPreset};
use crate::horizon::{METHODS, Observer, RunOptions};
use crate::plan::Plan;
use crate::report::overview::{self, Overview};
#[cfg(feature = "rerun")]
use crate::report::rerun;
use crate::report::{self, RunRecord, check_destination, default_destination, table};
use crate::scenario::{self, Scenario, ScenarioError};

const EXAMPLES: &str = "\
Examples:
  surelift run scenarios/dumbbell_c_8lb.toml
  surelift run scenarios/dumbbell_c_8lb.toml --seed 7 --out runs/seven
  surelift run scenarios/dumbbell_c_8lb.toml --payload-mass 7    # outside the prior: ends safely
  surelift run scenarios/dumbbell_a.toml --item 6lb --method grav-pid    # a baseline, without proofs
  surelift run scenarios/armour_world.toml --world scenarios/worlds/post.csv
  surelift run scenarios/armour_world.toml --world scenarios/worlds    # every world, and a table

The folder holds summary.json, log.csv, plans/*.json and report.html (opens in any browser,
offline). With a folder of worlds it holds one such folder a world, and worlds.json.
Ctrl-C ends a run with the arm at rest and the folder written; a second one ends it at once.";

/// Run a scenario: move safely, learn the payload if there is one, carry it to its place, and write a report
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// The scenario: robot, world, payload and task
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// How to learn, control and prove: a method that ships (see planners/), or a file like those
    #[arg(long, value_name = "NAME or FILE.toml", default_value = "ours")]
    pub method: String,
    /// Which of the scenario's variants, for example which dumbbell [default: the one that the scenario means]
    #[arg(long, value_name = "NAME", conflicts_with = "world")]
    pub item: Option<String>,
    /// Start, goal and boxes from this CSV file, or one run for each file of this folder
    #[arg(long, value_name = "FILE.csv or DIR")]
    pub world: Option<PathBuf>,
    /// Draws the truth that the robot does not know
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Where to write the results [default: runs/SCENARIO-METHOD-SEED]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Mass of the true payload, instead of the scenario's; the robot is not told
    #[arg(long, value_name = "KG", allow_negative_numbers = true, value_parser = mass)]
    pub payload_mass: Option<f64>,
    /// Write a file for the viewer Rerun besides (a build with `--features rerun` can)
    #[arg(long, value_name = "FILE.rrd")]
    pub rerun: Option<PathBuf>,
    /// Let the planner finish however long it takes: the same run on every machine
    #[arg(long)]
    pub untimed: bool,
    /// Keep time with the wall clock: control ticks in a thread of their own, planning and identification beside them
    #[arg(long, conflicts_with = "untimed")]
    pub realtime: bool,
    /// No progress; the closing table still comes
    #[arg(long, short)]
    pub quiet: bool,
}

/// A mass in kg: finite and not negative.
fn mass(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(mass) if mass.is_finite() && mass >= 0.0 => Ok(mass),
        _ => Err("expected a finite mass in kg, not negative".to_owned()),
    }
}

/// Runs the scenario; gives the exit code of its outcome.
///
/// # Errors
/// Bad input if the scenario, the method or the destination cannot be used.
pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    let worlds = args.world.as_deref().filter(|world| world.is_dir());
    if let Some(file) = &args.rerun {
        if worlds.is_some() {
            return Err(Failure::Input(
                "--rerun: one run a file, expected one world instead of a folder".to_owned(),
            ));
        }
        rerun::check_file(file)?;
    }
    if let Some(folder) = worlds {
        return run_worlds(args, folder);
    }
    let scenario = args.scenario(args.world.as_deref()).map_err(|e| Failure::input(&e))?;
    let preset = args.preset()?;
    let folder = args.destination(&scenario.task().name, &preset)?;
    let record = args.record(args.world.as_deref(), &preset)?;
    let code = RunArgs::finish(&folder, &record)?;
    if let Some(file) = &args.rerun {
        rerun::write_rerun(file, &record)?;
        say(&format!("  {}\n", file.display()))?;
    }
    Ok(code)
}

/// In a build without files for the viewer Rerun: refused before the run starts.
#[cfg(not(feature = "rerun"))]
mod rerun {
    use super::{Failure, Path, Plan, RunRecord};

    pub(super) fn check_file(file: &Path) -> Result<(), Failure> {
        let how =
            "this build writes no files for Rerun; build it with `cargo build --release --features rerun`";
        Err(Failure::Input(format!("--rerun {}: {how}", file.display())))
    }

    pub(super) fn write_rerun(file: &Path, _record: &RunRecord<Plan>) -> Result<(), Failure> {
        check_file(file)
    }
}

/// Runs the scenario in every world of a folder, in the order of their names.
fn run_worlds(args: &RunArgs, worlds: &Path) -> Result<u8, Failure> {
    let unreadable = |e: std::io::Error| Failure::Input(format!("{}: cannot be read: {e}", worlds.display()));
    let entries =
        worlds.read_dir().map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "csv"));
    files.sort();
    if files.is_empty() {
        return Err(Failure::Input(format!("{}: no `.csv` files, expected worlds", worlds.display())));
    }
    // All are read before any is run: a world that is malformed must not be found out after an hour.
    let scenarios = files.iter().map(|file| match args.scenario(Some(file)) {
        Ok(scenario) => Ok(Ok(scenario)),
        Err(touching @ ScenarioError::Touching { .. }) => Ok(Err(touching.to_string())),
        Err(error) => Err(Failure::input(&error)),
    });
    let scenarios = scenarios.collect::<Result<Vec<_>, Failure>>()?;
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let whole = format!("{}-{}", name(&args.scenario), name(worlds));
    let preset = args.preset()?;
    let folder = args.out.clone().unwrap_or_else(|| default_destination(&whole, &preset.name, args.seed));
    overview::check_destination(&folder, &files)?;
    let mut runs = Vec::new();
    for (file, scenario) in files.iter().zip(scenarios) {
        let world = name(file);
        let run = scenario.map(|_| {
            let record = args.record(Some(file), &preset)?;
            report::write(&folder.join(&world), &record)?;
            Ok::<_, Failure>(record.summary)
        });
        runs.push((world, run.map_or_else(|refused| Ok(Err(refused)), |run| run.map(Ok))?));
    }
    let mut overview = Overview::new(args.scenario.display().to_string(), preset.name, args.seed);
    overview.extend(runs);
    overview.write(&folder)?;
    say(&format!("{}\n  {}\n", overview.table(), folder.join(overview::FILE).display()))?;
    Ok(overview.exit_code())
}

impl RunArgs {
    /// The scenario, in a world if there is one, with the mass asked for.
    fn scenario(&self, world: Option<&Path>) -> Result<Scenario, ScenarioError> {
        self.variant(world, self.item.as_deref())
    }

    /// The same with another variant.
    fn variant(&self, world: Option<&Path>, item: Option<&str>) -> Result<Scenario, ScenarioError> {
        let scenario = match world {
            Some(world) => Scenario::load_in_world(&self.scenario, world)?,
            None => Scenario::load_item(&self.scenario, item)?,
        };
        match self.payload_mass {
            Some(mass) => scenario.with_payload_mass(mass),
            None => Ok(scenario),
        }
    }

    fn preset(&self) -> Result<MethodPreset, Failure> {
        MethodPreset::find(&self.method).map_err(|e| Failure::input(&e))
    }

    /// The run itself.
    fn record(&self, world: Option<&Path>, preset: &MethodPreset) -> Result<RunRecord<Plan>, Failure> {
        let mut observer = self.observer();
        if !self.realtime {
            let load = |other: Option<&str>| match other {
                Some(item) => Scenario::load_item(&self.scenario, Some(item)),
                None => self.scenario(world),
            };
            let draw = (self.seed, !self.untimed);
            return benchmark::run(&load, preset, draw, observer.as_mut()).map_err(|e| Failure::input(&e));
        }
        if !METHODS.contains(&preset.name.as_str()) {
            let text = format!("--realtime: method `{}`, expected one of {METHODS:?}", preset.name);
            return Err(Failure::Input(text));
        }
        let scenario = self.scenario(world).map_err(|e| Failure::input(&e))?;
        let options = RunOptions { method: preset.name.clone(), seed: self.seed, timed: true };
        scenario::run_realtime(scenario, &options, observer.as_mut()).map_err(|e| Failure::input(&e))
    }

    /// The folder to write to, checked to be free or an earlier run's. Call before the run starts.
    ///
    /// # Errors
    /// Bad input if something else is in the way.
    pub fn destination(&self, scenario_name: &str, preset: &MethodPreset) -> Result<PathBuf, Failure> {
        let default = || default_destination(scenario_name, &preset.name, self.seed);
        let folder = self.out.clone().unwrap_or_else(default);
        check_destination(&folder)?;
        Ok(folder)
    }

    /// Whoever watches the run: the terminal unless nothing is to be shown, and Ctrl-C.
    pub fn observer(&self) -> Box<dyn Observer> {
        interruptible(if self.quiet || is_json() { Box::new(()) } else { Box::new(TerminalObserver::new()) })
    }

    /// Writes the folder, prints the closing table, gives the exit code of the outcome.
    ///
    /// # Errors
    /// Whatever prevents writing.
    pub fn finish<P: Serialize>(folder: &std::path::Path, record: &RunRecord<P>) -> Result<u8, Failure> {
        report::write(folder, record)?;
        let place = folder.join("report.html");
        let advice = advice(&record.summary).map_or(String::new(), |advice| format!("  {advice}\n"));
        say(&format!("{}{advice}  {}\n", table::closing(&record.summary), place.display()))?;
        Ok(record.summary.outcome.exit_code())
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Probe {
        #[command(flatten)]
        run: RunArgs,
    }

    #[test]
    fn arguments_have_the_stated_defaults() {
        Probe::command().debug_assert();
        let run = Probe::try_parse_from(["run", "a.toml"]).unwrap().run;
        assert_eq!((run.method.as_str(), run.seed, run.payload_mass, run.quiet), ("ours", 0, None, false));
        let folder = tempfile::tempdir().unwrap();
        let with_out = RunArgs { out: Some(folder.path().join("x")), ..run };
        let preset = with_out.preset().unwrap();
        assert_eq!(with_out.destination("a", &preset).unwrap(), folder.path().join("x"));
    }

    #[test]
    fn impossible_masses_are_usage_errors() {
        for bad in ["nan", "inf", "-1", "heavy"] {
            let error = Probe::try_parse_from(["run", "a.toml", "--payload-mass", bad]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("finite mass in kg"), "{error}");
        }
    }

    /// Before anything is run.
    #[test]
    fn a_file_for_the_viewer_that_cannot_be_written_is_bad_input() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none/run.rrd");
        let run = Probe::try_parse_from(["run", "a.toml", "--rerun", file.to_str().unwrap()]).unwrap().run;
        let failure = super::run(&run).unwrap_err();
        assert_eq!(failure.code(), 2);
        let expected = if cfg!(feature = "rerun") { "is no folder" } else { "--features rerun" };
        assert!(
            failure.to_string().contains(expected) && failure.to_string().contains("run.rrd"),
            "{failure}"
        );
        let worlds = ["run", "a.toml", "--world", folder.path().to_str().unwrap(), "--rerun", "run.rrd"];
        let run = Probe::try_parse_from(worlds).unwrap().run;
        assert!(super::run(&run).unwrap_err().to_string().contains("one run a file"));
    }

    #[test]
    fn a_destination_in_use_is_bad_input() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("thesis.tex"), "precious").unwrap();
        let out = folder.path().to_str().unwrap();
        let run = Probe::try_parse_from(["run", "a.toml", "--out", out]).unwrap().run;
        let failure = run.destination("a", &run.preset().unwrap()).unwrap_err();
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("thesis.tex"), "{failure}");
    }
}
