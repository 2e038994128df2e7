//! `surelift robot tune`: gains by proof and simulation.

use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::log::is_json;
use super::{Failure, say};
use crate::report::figure::figure;
use crate::report::table::align;
use crate::robot;
use crate::tune::{ProvenPerformance, Report, TuneError, TuneOptions, TuningProblem, tune, write};

/// Find gains for an arm's controller: proven at its control period, with torque sets as small as can be
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  surelift robot tune kinova_gen3_2f85 --scenario scenarios/dumbbell_c_8lb.toml\n  \
    surelift robot tune robots/kinova_gen3_2f85.toml --scenario scenarios/dumbbell_c_8lb.toml --write\n  \
    surelift robot tune kinova_gen3_2f85 --out my_gen3.toml\n  \
    surelift robot tune kinova_gen3_2f85 --scenario scenarios/dumbbell_c_8lb.toml --own\n\n\
    Candidates of k_r, alpha and v_max are tried on random plans. A candidate is of use if the certifier proves the\n\
    tracking tube of every plan, sampling included, and tracking errors carry no link further than --growth-mm. Of those\n\
    the one with the smallest command half-widths (mean plus largest) wins; those that are proven with a fifth less of\n\
    v_max too ('room') come first. It must not ring: it is simulated with extreme parameters, sensors, drives, friction and\n\
    timing. It is shown. --write puts it into the [control] section of the robot's TOML, --out into that of a copy; no file is\n\
    overwritten without --write. The evidence stands above it: proof, simulation, velocity gain, crossover, phase margin and\n\
    torque noise.\n\n\
    Without --scenario the set is the uncertainty that the robot's file states, and plans start in the middle of the\n\
    joints' ranges; with one they are its prior, start and range.\n\n\
    Exit codes: 0 written (or shown), 2 a file cannot be used, 3 nothing is provable, or what is\n\
    rings: the term that forbids it, or the joint, is named."
)]
pub struct TuneArgs {
    /// A robot that ships with surelift, or the path of a robot TOML
    #[arg(value_name = "NAME_OR_PATH")]
    pub robot: PathBuf,
    /// A scenario with this robot: what may be true of the payload, and where plans start
    #[arg(long, value_name = "FILE.toml")]
    pub scenario: Option<PathBuf>,
    /// Random plans that must all be proven
    #[arg(long, value_name = "N", default_value_t = TuneOptions::default().plans)]
    pub plans: usize,
    /// Seed of plans and simulation
    #[arg(long, value_name = "N", default_value_t = TuneOptions::default().seed)]
    pub seed: u64,
    /// How far tracking errors may carry a link, mm
    #[arg(long, value_name = "MM", default_value_t = 1e3 * TuneOptions::default().growth_m)]
    pub growth_mm: f64,
    /// Write the robot's TOML with the new gains here; a file that is there already only with --write
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Put the new gains into the robot's own TOML, or over the file of --out
    #[arg(long)]
    pub write: bool,
    /// Write nothing, as without --write and --out
    #[arg(long, conflicts_with_all = ["out", "write"])]
    pub dry_run: bool,
    /// No search: tell what is proven of the gains that the robot's file has, and how they are followed. Writes nothing
    #[arg(long, conflicts_with_all = ["out", "write"])]
    pub own: bool,
    /// No progress; the table still comes
    #[arg(long, short)]
    pub quiet: bool,
}

/// Rows of the table.
const ROWS: usize = 12;

/// Searches, prints the table, writes the winner; gives the exit code.
///
/// # Errors
/// Bad input if a file cannot be used.
pub fn run(args: &TuneArgs) -> Result<u8, Failure> {
    let input = |error: TuneError| Failure::input(&error);
    if !(args.growth_mm > 0.0 && args.growth_mm.is_finite()) || args.plans == 0 {
        let text = "error: expected --growth-mm above 0 and --plans of at least 1";
        return Err(Failure::Input(text.to_owned()));
    }
    let source = robot::find(&args.robot, Path::new(".")).map_err(|e| Failure::input(&e))?;
    let study = match &args.scenario {
        Some(scenario) => TuningProblem::of_scenario(scenario).map_err(input)?,
        None => TuningProblem::of_robot(&args.robot).map_err(input)?,
    };
    let named = robot::load(&args.robot).map_err(|e| Failure::input(&e))?.name.clone();
    if named != study.arm.robot.name {
        let (own, other) = (named, &study.arm.robot.name);
        return Err(Failure::Input(format!("the scenario is about robot '{other}', expected '{own}'")));
    }
    let target = args.out.clone().unwrap_or_else(|| source.clone());
    let dry_run = args.dry_run || args.own || !(args.write || args.out.is_some());
    if !dry_run {
        check_files(args, &source, &target)?;
    }
    let options = TuneOptions {
        plans: args.plans,
        seed: args.seed,
        growth_m: 1e-3 * args.growth_mm,
        own_alone: args.own,
    };
    let bar = if args.quiet || is_json() { ProgressBar::hidden() } else { bar() };
    let found = tune(&study, &options, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let report = match found {
        Ok(report) => report,
        Err(rings @ TuneError::Rings { .. }) => {
            say(&format!("Nothing can be followed: {rings}\n"))?;
            return Ok(3);
        }
        Err(nothing @ TuneError::Nothing { .. }) => {
            say(&format!("Nothing provable: {nothing}\n"))?;
            return Ok(3);
        }
        Err(error) => return Err(input(error)),
    };
    let command = command(args);
    say(&format!("{}\n{}\n", align(&table(&report)), write::evidence(&report, &command).join("\n")))?;
    if !dry_run {
        write::write(&source, &target, &report, &command).map_err(input)?;
        say(&format!("{}\n{}", target.display(), next_step(args, &source, &target)))?;
    } else if !args.own {
        say("Nothing written: --write puts it into the robot's TOML, --out FILE.toml into a copy.\n")?;
    }
    Ok(0)
}

/// What to do with gains that were written for a scenario into its robot's own file.
fn next_step(args: &TuneArgs, source: &Path, target: &Path) -> String {
    match &args.scenario {
        Some(scenario) if target == source => {
            format!("Next: surelift run {} --untimed\n", scenario.display())
        }
        _ => String::new(),
    }
}

/// Refuses to overwrite a file unasked, and a robot without a file.
fn check_files(args: &TuneArgs, source: &Path, target: &Path) -> Result<(), Failure> {
    if !args.write && target.exists() {
        let text = format!("--out: `{}` is there already, expected a new file, or --write", target.display());
        return Err(Failure::Input(text));
    }
    if !source.is_file() {
        let name = args.robot.display();
        let text = format!(
            "'{name}' has no file on this disk to write into: give the path of a robot TOML, or --dry-run"
        );
        return Err(Failure::Input(text));
    }
    Ok(())
}

/// The command that makes the same search again.
fn command(args: &TuneArgs) -> String {
    let mut text = format!("surelift robot tune {}", args.robot.display());
    if let Some(scenario) = &args.scenario {
        text += &format!(" --scenario {}", scenario.display());
    }
    if args.own {
        text += " --own";
    }
    text + &format!(" --plans {} --seed {} --growth-mm {}", args.plans, args.seed, args.growth_mm)
}

fn table(report: &Report) -> Vec<Vec<String>> {
    let heading = [
        "k_r",
        "alpha",
        "v_max",
        "mean, N m",
        "largest, N m",
        "growth, mm",
        "hold power, %",
        "in limits",
        "room",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(report.useful.iter().take(ROWS).filter_map(|candidate| {
        let g = &candidate.gains;
        let m: &ProvenPerformance = candidate.found.as_ref().ok()?;
        let figures = [g.k_r, g.alpha, g.v_max, m.mean_nm, m.max_nm, 1e3 * m.growth_m, 100.0 * m.hold_share];
        let room = if candidate.has_room { "yes" } else { "no" };
        let words = [format!("{} of {}", m.within_limits, m.plans), room.to_owned()];
        Some(figures.map(figure).into_iter().chain(words).collect())
    }));
    rows
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {wide_bar} {human_pos} of {human_len} candidates")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style.progress_chars("━╸─"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_bad_input() {
        let args = TuneArgs {
            robot: "no_such_arm".into(),
            scenario: None,
            plans: 1,
            seed: 1,
            growth_mm: 20.0,
            out: None,
            write: false,
            dry_run: false,
            own: false,
            quiet: true,
        };
        let refusal = |args: &TuneArgs| {
            let failure = run(args).unwrap_err();
            assert_eq!(failure.code(), 2);
            failure.to_string()
        };
        assert!(refusal(&args).contains("no_such_arm"));
        let taken = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(taken.path(), "mine").unwrap();
        let out = Some(taken.path().to_owned());
        let text = refusal(&TuneArgs { robot: "kinova_gen3_2f85".into(), out, ..args.clone() });
        assert!(text.contains("there already") && text.contains("--write"), "{text}");
        assert_eq!(std::fs::read_to_string(taken.path()).unwrap(), "mine");
        assert!(refusal(&TuneArgs { growth_mm: f64::NAN, ..args.clone() }).contains("growth-mm"));
        assert!(refusal(&TuneArgs { robot: "go1".into(), ..args.clone() }).contains("go1"));
        let other = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_c_8lb.toml").into());
        assert!(refusal(&TuneArgs { robot: "z1".into(), scenario: other, ..args }).contains("expected 'z1'"));
    }
}
