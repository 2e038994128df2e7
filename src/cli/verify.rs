//! `surelift verify`: repeat the proofs of saved plans.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use sha2::{Digest, Sha256};

use super::{Failure, say, verify_set};
use crate::certify::Certificate;
use crate::enclose::Counted;
use crate::horizon::Margins;
use crate::horizon::first_set;
use crate::plan::Plan;
use crate::plan::believed::Believed;
use crate::plan::chain::{self, Expected, ExpectedTask, Link};
use crate::robot::{self, Arm};
use crate::scenario::Scenario;

/// Repeat the proof of a run's plans, one after the other from rest; names the constraint, time and link that cannot be proven
///
/// Each plan is proven against the robot, the set of parameters and the scene inside its file, and each but the first is proven
/// to start where the one before it leads. What is derived (such as the pairs of links that are checked against each other) is
/// computed anew, never read. With your own files every value of the plan is held against them; without, you are told what
/// there is to believe.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  surelift verify runs/dumbbell_c_8lb-ours-0/plans/*.json\n  \
    surelift verify --scenario scenarios/dumbbell_c_8lb.toml runs/dumbbell_c_8lb-ours-0/plans/*.json\n  \
    surelift verify --set runs/dumbbell_c_8lb-ours-0/set_proof.json\n  \
    surelift verify --set found --log log.csv --robot kinova_gen3_2f85 --prior scenarios/priors/gen3_hand.toml\n\n\
    Plans of one folder are one run, in the order of their names.\n\
    Exit codes: 0 all proven, 1 at least one not proven or not as your files say, 2 a file cannot be read.")]
pub struct VerifyArgs {
    /// Plans as written by `surelift run`
    #[arg(value_name = "PLAN.json", required_unless_present = "set")]
    pub plans: Vec<PathBuf>,
    /// Hold every plan's robot against this one: a robot file, or the name of a shipped robot
    #[arg(long, value_name = "ROBOT")]
    pub robot: Option<String>,
    /// Hold robot, scene, start and first set against this scenario
    #[arg(long, value_name = "SCENARIO.toml")]
    pub scenario: Option<PathBuf>,
    /// The proof of an identified set, as written by `surelift run` or `surelift identify`, or its folder; logs are read from there or
    /// from where they were, and plans, summary and table in the folder are compared with the set
    #[arg(long, value_name = "set_proof.json")]
    pub set: Option<PathBuf>,
    /// A log of that set that is elsewhere now; may be given several times, in any order
    #[arg(long, value_name = "FILE", requires = "set")]
    pub log: Vec<PathBuf>,
    /// Hold the prior of that set against this file, the robot's own box where it says nothing
    #[arg(long, value_name = "FILE.toml", requires = "set")]
    pub prior: Option<PathBuf>,
}

/// Proves every plan anew, printing a line for each; gives the exit code.
///
/// # Errors
/// Bad input if a file is no plan, robot or scenario.
pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    let expected = expected(args)?;
    let asked =
        |path| verify_set::Asked { path, logs: &args.log, prior: args.prior.as_deref(), expected: &expected };
    let mut code = args.set.as_deref().map_or(Ok(0), |path| verify_set::run(&asked(path)))?;
    for run in args.plans.chunk_by(|a, b| a.parent() == b.parent()) {
        let load = |path: &PathBuf| Plan::load(path).map_err(|error| Failure::input(&error));
        let plans = run.iter().map(load).collect::<Result<Vec<_>, _>>()?;
        let mut said = Ok(());
        let mut start = Instant::now();
        let proven = prove(&plans, &expected, &mut |k, link| {
            let line =
                format!("{}: {}\n", run[k].display(), verdict(&link.proof, start.elapsed().as_secs_f64()));
            said = std::mem::replace(&mut said, Ok(())).and_then(|()| say(&line));
            start = Instant::now();
        });
        said?;
        if let Some(first) = plans.first() {
            say(&believed(first, plans.last().unwrap_or(first), &expected))?;
        }
        code = code.max(u8::from(!proven));
    }
    Ok(code)
}

/// The user's own files.
pub(super) fn expected(args: &VerifyArgs) -> Result<Expected, Failure> {
    let robot = args.robot.as_ref().map(robot::load).transpose().map_err(|error| Failure::input(&error))?;
    let Some(path) = &args.scenario else { return Ok(Expected { robot, task: None }) };
    let scenario = Scenario::load(path).map_err(|error| Failure::input(&error))?;
    let task = scenario.task();
    // What weighing leaves of the prior is not known beforehand.
    let weighs = task.held.as_ref().is_some_and(|held| held.identify.weigh_s > 0.0);
    let first_set =
        if weighs { None } else { Some(first_set(task).map_err(|error| Failure::input(&error))?) };
    let (own, scene, start) = (task.robot.clone(), task.scene.clone(), task.start.clone());
    let prior = task.prior_set().map_err(|e| Failure::input(&e))?;
    Ok(Expected { robot, task: Some(ExpectedTask { robot: own, scene, start, prior, first_set }) })
}

/// The proofs in the ordinary arithmetic.
#[cfg(not(feature = "inari"))]
fn prove(plans: &[Plan], expected: &Expected, tell: &mut dyn FnMut(usize, &Link)) -> bool {
    chain::verify::<Counted>(plans, expected, tell)
}

/// The proofs in the ordinary arithmetic and again in the second one; both must succeed.
#[cfg(feature = "inari")]
fn prove(plans: &[Plan], expected: &Expected, tell: &mut dyn FnMut(usize, &Link)) -> bool {
    let mut first = Vec::new();
    chain::verify::<Counted>(plans, expected, |_, link| first.push(link.clone()));
    let mut proven = true;
    chain::verify::<crate::enclose::second::Directed>(plans, expected, |k, link| {
        let worse = if first[k].proof.is_err() { &first[k] } else { link };
        proven &= worse.proof.is_ok();
        tell(k, worse);
    });
    proven
}

/// What the proofs of one run rest on and nobody has compared, in lines.
fn believed(first: &Plan, last: &Plan, expected: &Expected) -> String {
    let Believed { robot, mass_kg: [lower, upper], obstacles, moving, sensors, start } =
        Believed::of(first, true);
    let [.., narrow] = [Believed::of(last, true)];
    let mut lines = Vec::new();
    if expected.task.is_none() {
        if expected.robot.is_none() {
            lines.push(format!(
                "robot '{robot}' ({}), its sensors err by at most {sensors}",
                fingerprint(&first.robot)
            ));
        }
        lines.push(format!("the scene: {obstacles} obstacle(s)"));
        lines.push(format!("the first plan's set: the last body weighs {lower:.4} to {upper:.4} kg"));
    }
    lines.extend(moving);
    if [lower, upper] != narrow.mass_kg {
        let [lower, upper] = narrow.mass_kg;
        lines.push(format!("that measurements have left the last body {lower:.4} to {upper:.4} kg"));
    }
    if start {
        lines.push(
            "that the first plan starts within its tube (it starts in motion: give the plans before it)"
                .into(),
        );
    }
    lines.extend(first.robot.trusted());
    if lines.is_empty() {
        return String::new();
    }
    let with = if expected.task.is_none() { " (--scenario compares with your own file)" } else { "" };
    format!(
        "believed, not proven{with}:\n{}",
        lines.iter().map(|line| format!("  - {line}\n")).collect::<String>()
    )
}

/// The start of a hash of all that the robot is.
pub(super) fn fingerprint(robot: &Arm) -> String {
    let text = serde_json::to_vec(robot).unwrap_or_default();
    let hash = Sha256::digest(&text);
    format!("sha256 {}", hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// What came of one plan, on one line.
fn verdict(proof: &Result<Certificate, Vec<String>>, seconds: f64) -> String {
    match proof {
        Ok(certificate) => {
            let arithmetic = if cfg!(feature = "inari") { " in two arithmetics" } else { "" };
            format!("proven{arithmetic} in {seconds:.2} s; margins: {}", Margins::from(certificate))
        }
        Err(faults) => format!("NOT PROVEN: {}", faults.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::{ConstraintFamily, Margin, Refusal};

    #[test]
    fn a_verdict_names_margins_or_constraint_time_and_place() {
        let margin = |value: Option<f64>| Margin { value, t: 0.5, at: "joint 'a'".into() };
        let certificate = Certificate {
            position: margin(None),
            velocity: margin(Some(0.25)),
            torque: margin(Some(3.24999)),
            collision: margin(Some(0.012)),
            tube: margin(Some(0.5)),
            cells: 33,
            excess: 0.0,
            clear_until_s: None,
        };
        let text = verdict(&Ok(certificate), 0.5);
        assert!(
            text.ends_with("margins: velocity 0.2500 rad/s, torque 3.249 N m, collision 0.01200 m"),
            "{text}"
        );
        let (family, at) = (ConstraintFamily::Torque, "joint 'a'".to_owned());
        let refusal = Refusal::Constraint { family, at, t0: 1.25, t1: 1.5, margin: -0.1 };
        let text = verdict(&Err(vec![refusal.to_string()]), 0.5);
        for word in ["NOT PROVEN", "Torque", "joint 'a'", "1.25"] {
            assert!(text.contains(word), "{text}");
        }
    }
}
