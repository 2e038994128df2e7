//! `surelift verify --set`: repeat the proof of an identified set from the log.

use std::path::Path;
use std::time::Instant;

use super::{Failure, say};
use crate::identify::log::{AngleUnit, MeasurementLog};
use crate::identify::proof::{Checked, SetProof, check};
use crate::inertia::PARAMETER_NAMES;
use crate::plan::Plan;
use crate::plan::believed::{differences, narrower, robot_differences};
use crate::plan::chain::Expected;
use crate::report::figure::figure;
use crate::robot::INERTIAL;

/// Proves a set anew from the log beside its proof, and compares the run's plans and the user's own files with it; gives the exit code.
///
/// # Errors
/// Bad input if the proof, the log or a plan cannot be read.
pub fn run(path: &Path, expected: &Expected) -> Result<u8, Failure> {
    let start = Instant::now();
    let proof = SetProof::load(path).map_err(|error| Failure::input(&error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let log = MeasurementLog::read(folder.join("log.csv"), &proof.robot, AngleUnit::Radians)
        .map_err(|error| Failure::input(&error))?;
    let plans = plans_of(folder)?;
    let found = check(&proof, &log.samples).map_err(|error| error.to_string()).and_then(|checked| {
        let mut faults = held_against(&proof, expected);
        faults.extend(compare(&proof, &checked, &plans));
        if faults.is_empty() { Ok(checked) } else { Err(faults.join("; ")) }
    });
    let seconds = start.elapsed().as_secs_f64();
    let verdict = match &found {
        Ok(checked) => proven(&proof, checked, plans.len(), seconds),
        Err(reason) => format!("NOT PROVEN: {reason}"),
    };
    say(&format!("{}: {verdict}\n", path.display()))?;
    Ok(u8::from(found.is_err()))
}

/// Where the proof's robot and prior are not those of the user's own files.
fn held_against(proof: &SetProof, expected: &Expected) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(robot) = &expected.robot {
        faults.extend(robot_differences(&proof.robot, robot));
    }
    if let Some(task) = &expected.task {
        faults.extend(differences("robot", &proof.robot, &task.robot));
        faults.extend(narrower(&proof.robot, &proof.prior, &task.prior));
    }
    faults
}

/// The plans beside the proof, in order of time.
fn plans_of(folder: &Path) -> Result<Vec<(String, Plan)>, Failure> {
    let Ok(entries) = std::fs::read_dir(folder.join("plans")) else { return Ok(vec![]) };
    let mut plans = vec![];
    for entry in entries.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "json")) {
        let plan = Plan::load(entry.path()).map_err(|error| Failure::input(&error))?;
        plans.push((entry.file_name().to_string_lossy().into_owned(), plan));
    }
    plans.sort_by(|a, b| a.1.t_start_s.total_cmp(&b.1.t_start_s));
    Ok(plans)
}

/// Why the plans rest on something else than what has been proven.
fn compare(proof: &SetProof, checked: &Checked, plans: &[(String, Plan)]) -> Option<String> {
    for (name, plan) in plans {
        if plan.robot != proof.robot {
            return Some(format!("{name} was made for another robot"));
        }
        if let Some(reason) = checked.excludes(&plan.set) {
            return Some(format!("{name}: {reason}"));
        }
    }
    let motions = plans.iter().map(|(_, plan)| (plan.t_start_s, &plan.tube.acceleration_bound[..]));
    proof.acceleration_fault(&motions.collect::<Vec<_>>())
}

/// What was proven, and what had to be believed for it.
fn proven(proof: &SetProof, checked: &Checked, plans: usize, seconds: f64) -> String {
    let at = proof.robot.inertial_index(proof.robot.end_effector());
    let interval = |k: usize| {
        let (lower, upper) = (checked.set.lower()[at + k], checked.set.upper()[at + k]);
        format!("{} in [{}, {}]", PARAMETER_NAMES[k], figure(lower), figure(upper))
    };
    let intervals: Vec<String> = (0..INERTIAL).map(interval).collect();
    let accelerations: Vec<String> = checked.acceleration_bound.iter().map(|x| figure(*x)).collect();
    format!(
        "proven in {seconds:.2} s: {} bounds by {} rows of the log; {}; {plans} plans rest on nothing more.\n  Believed: the \
         robot '{}' with the bounds on its sensors, the prior, accelerations of at most {} rad/s^2",
        checked.bounds,
        checked.rows,
        intervals.join(", "),
        proof.robot.name,
        accelerations.join(", "),
    )
}
