//! `surelift verify --set`: repeat the proof of an identified set from its logs.

pub(super) mod log_files;
mod recordings;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Failure, say, warn_of_cut};
use crate::identify::Unknown;
use crate::identify::proof::{Checked, SetProof, check};
use crate::inertia::{INERTIAL, PARAMETER_NAMES};
use crate::plan::Plan;
use crate::plan::believed::{differences, narrower, robot_differences};
use crate::plan::chain::Expected;
use crate::recording::{AngleUnit, MeasurementLog};
use crate::report::figure::figure;
use crate::robot::{Arm, Prior};

/// What is to be proven, from what, and what it is held against.
pub struct Asked<'a> {
    /// The proof, or its folder.
    pub path: &'a Path,
    /// Logs that are not where the proof says.
    pub logs: &'a [PathBuf],
    /// The user's own prior.
    pub prior: Option<&'a Path>,
    /// The user's other files.
    pub expected: &'a Expected,
}

/// Proves a set anew from its logs, and compares the files beside it and the user's own with it; gives the exit code.
///
/// # Errors
/// Bad input if the proof, a log or a plan cannot be read.
pub fn run(asked: &Asked) -> Result<u8, Failure> {
    let (text, code) = answer(asked)?;
    say(&text)?;
    Ok(code)
}

/// What is said, and the exit code.
fn answer(asked: &Asked) -> Result<(String, u8), Failure> {
    let start = Instant::now();
    let path = if asked.path.is_dir() { asked.path.join("set_proof.json") } else { asked.path.to_owned() };
    let folder = path.parent().unwrap_or(Path::new(""));
    if let Some(reason) = recordings::not_shown(folder).filter(|_| !path.exists()) {
        return Ok((format!("{}: NOT PROVEN: {reason}\n", path.display()), 1));
    }
    let proof = SetProof::load(&path).map_err(|error| Failure::input(&error))?;
    let mut faults = held_against(&proof, asked.expected);
    if let Some(own) = asked.prior {
        faults.extend(prior_differences(&proof, own, asked)?);
    }
    let found = match &proof.recorded {
        Some(premises) => recordings::prove(&proof, premises, folder, asked, faults)?,
        None => prove(&proof, folder, asked.logs, faults)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let verdict = match &found {
        Ok(proven) => format!("proven in {seconds:.2} s: {proven}"),
        Err(reason) => format!("NOT PROVEN: {reason}"),
    };
    Ok((format!("{}: {verdict}\n", path.display()), u8::from(found.is_err())))
}

/// The set of a run: what is proven in words, or what stands in the way.
fn prove(
    proof: &SetProof,
    folder: &Path,
    logs: &[PathBuf],
    mut faults: Vec<String>,
) -> Result<Result<String, String>, Failure> {
    let beside = folder.join("log.csv");
    let path = match logs {
        [] => &beside,
        [path] => path,
        _ => return Err(Failure::Input(format!("--log: {} files, a run has one", logs.len()))),
    };
    let log = MeasurementLog::read(path, &proof.robot, AngleUnit::Radians);
    let log = log.map_err(|error| Failure::input(&error))?;
    warn_of_cut(&log);
    let plans = plans_of(folder)?;
    Ok(check(proof, &log.samples).map_err(|error| error.to_string()).and_then(|checked| {
        faults.extend(compare(proof, &checked, &plans));
        if faults.is_empty() { Ok(proven(proof, &checked, plans.len())) } else { Err(faults.join("; ")) }
    }))
}

/// Where the proof's robot and prior are not those of the user's own files.
fn held_against(proof: &SetProof, expected: &Expected) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(own) = &expected.robot {
        faults.extend(robot_differences(&stated_over(proof, own), own));
    }
    if let Some(task) = &expected.task {
        faults.extend(differences("robot", &stated_over(proof, &task.robot), &task.robot));
        faults.extend(narrower(&proof.robot, &proof.prior, &task.prior));
    }
    faults
}

/// The proof's robot; where a study was told of larger errors of the encoders than one's own robot file says, with those of the file. With
/// larger errors less is claimed.
fn stated_over(proof: &SetProof, own: &Arm) -> Arm {
    let (mut sensors, own) = (proof.robot.sensors().clone(), own.sensors());
    if proof.recorded.is_some() {
        for (stated, own) in
            [(&mut sensors.position_rad, own.position_rad), (&mut sensors.velocity_rad_s, own.velocity_rad_s)]
        {
            if *stated >= own {
                *stated = own;
            }
        }
    }
    // Bounds of two arms that were checked are bounds.
    proof.robot.with_sensors(sensors).unwrap_or_else(|_| proof.robot.clone())
}

/// Where the proof's prior is narrower than one's own file has it.
fn prior_differences(proof: &SetProof, path: &Path, asked: &Asked) -> Result<Vec<String>, Failure> {
    let robot = asked.expected.robot.as_ref().unwrap_or(&proof.robot);
    let unknown = proof.recorded.as_ref().map_or(Unknown::Payload, |premises| premises.unknown);
    let usual = unknown.default_prior(robot);
    let (_, own) = Prior::read(path, usual, robot).map_err(|error| Failure::input(&error))?;
    Ok(narrower(&proof.robot, &proof.prior, &own))
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
    let motions = plans.iter().map(|(_, plan)| (plan.t_start_s, plan.tube.acceleration_bound()));
    proof.acceleration_fault(&motions.collect::<Vec<_>>())
}

/// What was proven, and what had to be believed for it.
fn proven(proof: &SetProof, checked: &Checked, plans: usize) -> String {
    let body = checked.set.body(proof.robot.end_effector());
    let interval = |k: usize| {
        let range = body.range(k);
        format!("{} in [{}, {}]", PARAMETER_NAMES[k], figure(range.lower), figure(range.upper))
    };
    let intervals: Vec<String> = (0..INERTIAL).map(interval).collect();
    let accelerations: Vec<String> = checked.acceleration_bound.iter().map(|x| figure(*x)).collect();
    format!(
        "{} bounds by {} rows of the log; {}; {plans} plans rest on nothing more.\n  Believed: the \
         robot '{}' with the bounds on its sensors, the prior, accelerations of at most {} rad/s^2",
        checked.bounds,
        checked.rows,
        intervals.join(", "),
        proof.robot.name,
        accelerations.join(", "),
    )
}
