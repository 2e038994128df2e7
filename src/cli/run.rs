//! `surelift run`: one scenario from the first plan to the report.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::interrupt::interruptible;
use super::progress::TerminalObserver;
use super::{Failure, say};
use crate::benchmark::{self, MethodPreset};
use crate::horizon::{METHODS, Observer, Outcome, RunOptions};
use crate::plan::Plan;
use crate::report::overview::{self, Overview};
use crate::report::{self, RunRecord, Summary, check_destination, default_destination, table};
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
    if let Some(folder) = args.world.as_deref().filter(|world| world.is_dir()) {
        return run_worlds(args, folder);
    }
    let scenario = args.scenario(args.world.as_deref()).map_err(|e| Failure::input(&e))?;
    let preset = args.preset()?;
    let folder = args.destination(&scenario.task().name, &preset)?;
    let record = args.record(args.world.as_deref(), &preset)?;
    RunArgs::finish(&folder, &record)
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
        interruptible(if self.quiet { Box::new(()) } else { Box::new(TerminalObserver::new()) })
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

/// What to do about a run that came to a safe stop, where that can be told from outside.
fn advice(summary: &Summary) -> Option<String> {
    if summary.outcome != Outcome::SafeStop {
        return None;
    }
    let out_of_time = |reason: &String| reason.ends_with("in time") || reason.contains("later than t_p");
    let late = summary.plans.iter().filter(|plan| plan.reason.as_ref().is_some_and(out_of_time)).count();
    if late > 0 {
        return Some(format!(
            "{late} plans were not ready in time: the machine is slow or busy. --untimed plans without deadlines."
        ));
    }
    if !summary.waits.is_empty() {
        return Some(
            "Something that moves was too near for too long. Shorter plans (timing.t_f_s, t_p_s) need less room; timing.patience_s is how \
             long the arm waits."
                .to_owned(),
        );
    }
    let none = summary.plans.iter().all(|plan| !plan.certified);
    let reason = summary.plans.iter().rev().find_map(|plan| plan.reason.as_deref()).unwrap_or_default();
    none.then(|| {
        format!(
            "No plan could be proven at all{}. `surelift robot limits ROBOT` tells the heaviest unknown payload that is provable, and what a \
             heavier one needs; `surelift robot tune ROBOT --scenario SCENARIO` looks for gains.",
            meaning(reason).map(|meaning| format!(": {meaning}")).unwrap_or_default()
        )
    })
}

/// What a refusal means, in plain words, where it is one about what is unknown and not about a place.
fn meaning(reason: &str) -> Option<&'static str> {
    let says = |words: &str| reason.contains(words);
    if ["gain condition", "hold_power_w", "drift_nm"].into_iter().any(says) {
        return Some(
            "for this control period too little is known of what is held, or the joints have too little inertia",
        );
    }
    if says("energy_slack_j") {
        return Some("velocities are measured too coarsely for these gains");
    }
    says("Torque constraint").then_some("the torque limits leave no room for all that may be held")
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

    #[test]
    fn a_safe_stop_says_what_to_do() {
        let mut summary = crate::report::tests::record().summary;
        summary.outcome = Outcome::Success;
        assert_eq!(advice(&summary), None);
        summary.outcome = Outcome::SafeStop;
        summary.plans.iter_mut().for_each(|plan| {
            (plan.certified, plan.reason) = (false, Some("no trajectory could be proven: torque".to_owned()));
        });
        let said = advice(&summary).unwrap();
        assert!(said.contains("robot tune") && said.contains("robot limits"), "{said}");
        for (reason, meaning) in [
            (
                "cannot prove the Tube constraint of tube gain condition between 0 s and 0.1 s: margin -0.2",
                "control period",
            ),
            (
                "cannot prove the Tube constraint of tube energy_slack_j between 0 s and 0.1 s: margin -0.2",
                "velocities",
            ),
            (
                "cannot prove the Torque constraint of joint 'a' between 0 s and 0.1 s: margin -0.2",
                "torque limits",
            ),
        ] {
            summary.plans.iter_mut().for_each(|plan| plan.reason = Some(reason.to_owned()));
            assert!(advice(&summary).unwrap().contains(meaning), "{reason}");
        }
        summary
            .plans
            .iter_mut()
            .for_each(|plan| plan.reason = Some("no trajectory could be proven: torque".to_owned()));
        summary.plans[0].reason = Some("no trajectory could be proven in time".to_owned());
        assert!(advice(&summary).unwrap().contains("--untimed"));
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
