//! The set of a study of recordings: proven anew, held against what the study printed, and what had to be believed.

use std::path::Path;

use serde_json::Value;

use super::{Asked, log_files};
use crate::cli::Failure;
use crate::cli::verify::fingerprint;
use crate::identify::parameter_name;
use crate::identify::proof::{Checked, Premises, SetProof, check_recorded};
use crate::identify::window::Clock;
use crate::report::figure::{above, below};

/// What is proven in words, or what stands in the way; `faults` are known already.
///
/// # Errors
/// Bad input if a log is nowhere or cannot be read.
pub(super) fn prove(
    proof: &SetProof,
    premises: &Premises,
    folder: &Path,
    asked: &Asked,
    mut faults: Vec<String>,
) -> Result<Result<String, String>, Failure> {
    if premises.files.is_empty() {
        return Ok(Err("the proof names no logs".to_owned()));
    }
    let logs = match log_files::read(premises, &proof.robot, folder, asked.logs)? {
        Ok(logs) => logs,
        Err(reason) => return Ok(Err(reason)),
    };
    let checked = match check_recorded(proof, &logs) {
        Ok(checked) => checked,
        Err(error) => return Ok(Err(error.to_string())),
    };
    faults.extend(printed_differences(proof, premises, &checked, folder)?);
    if faults.is_empty() {
        Ok(Ok(words(proof, premises, &checked, logs.len()) + &believed(proof, premises, asked)))
    } else {
        Ok(Err(faults.join("; ")))
    }
}

/// Why a study that was written to `folder` leaves nothing to prove, if one was.
pub(super) fn not_shown(folder: &Path) -> Option<String> {
    let summary = summary(folder)?;
    let shown = summary["parameters"].as_array()?.iter().any(|p| !p["set"].is_null());
    if shown {
        return Some("summary.json shows a set, but the file that proves it is missing".to_owned());
    }
    let reason = summary["conditional"]["refused"].as_str().unwrap_or("no reason is given");
    Some(format!("the study shows no set, so there is none to prove: {reason}"))
}

/// The summary of a study of recordings.
fn summary(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join("summary.json")).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    (value["parameters"].is_array() && value["verdict"].is_object()).then_some(value)
}

/// What the files beside the proof print and the proof does not prove.
fn printed_differences(
    proof: &SetProof,
    premises: &Premises,
    checked: &Checked,
    folder: &Path,
) -> Result<Vec<String>, Failure> {
    let last = checked.after.len().saturating_sub(1);
    let unknown = premises.unknown.indices(&proof.robot);
    let names: Vec<String> = unknown.iter().map(|&j| parameter_name(&proof.robot, j).0).collect();
    let mut printed: Vec<Printed> = vec![];
    let mut faults = vec![];
    if let Some(summary) = summary(folder) {
        let refuted = summary["verdict"]["kind"] != "consistent";
        if refuted != premises.wider.is_some() {
            faults.push("summary.json says otherwise whether the stated bounds are refuted".to_owned());
        }
        for p in list(&summary["parameters"]) {
            let name = p["name"].as_str().unwrap_or_default().to_owned();
            let set = pair(&p["set"][0], &p["set"][1]);
            printed.extend(set.map(|set| Printed { file: "summary.json".to_owned(), name, set, step: last }));
        }
        for (step, moment) in list(&summary["history"]).iter().enumerate() {
            let file = format!("summary.json, history[{step}]");
            for (name, (lower, upper)) in
                names.iter().zip(list(&moment["lower"]).iter().zip(list(&moment["upper"])))
            {
                let (file, name) = (file.clone(), name.clone());
                printed.extend(pair(lower, upper).map(|set| Printed { file, name, set, step }));
            }
        }
    }
    let table = folder.join("parameters.csv");
    if table.is_file() {
        let rows = table_of(&table).map_err(|error| Failure::input(&error))?;
        let row = |(name, set)| Printed { file: "parameters.csv".to_owned(), name, set, step: last };
        printed.extend(rows.into_iter().map(row));
    }
    for Printed { file, name, set: [lower, upper], step } in printed {
        let index = names.iter().position(|own| *own == name).map(|k| unknown[k]);
        let own = index.zip(checked.after.get(step)).map(|(j, set)| [set.lower()[j], set.upper()[j]]);
        faults.extend(match own {
            Some([a, b]) if lower <= a && b <= upper => None,
            Some([a, b]) => Some(format!("{file}: {name} in [{lower}, {upper}], proven in [{a}, {b}]")),
            None => Some(format!("{file}: {name} in [{lower}, {upper}], which nothing proves")),
        });
    }
    faults.truncate(LISTED);
    Ok(faults)
}

/// An interval that a file prints.
struct Printed {
    file: String,
    name: String,
    set: [f64; 2],
    /// After which step of the proof.
    step: usize,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |all| all)
}

/// Differences that are listed at most.
const LISTED: usize = 8;

fn pair(lower: &Value, upper: &Value) -> Option<[f64; 2]> {
    Some([lower.as_f64()?, upper.as_f64()?])
}

/// Names and sets of a table of parameters; those without a set are left out.
fn table_of(path: &Path) -> Result<Vec<(String, [f64; 2])>, csv::Error> {
    let mut rows = vec![];
    let mut table = csv::Reader::from_path(path)?;
    let heading = table.headers()?.clone();
    let [name, lower, upper] =
        ["parameter", "set lower", "set upper"].map(|column| heading.iter().position(|own| own == column));
    for record in table.records() {
        let record = record?;
        let cell = |column: Option<usize>| column.and_then(|k| record.get(k)).unwrap_or_default();
        let number = |column| cell(column).parse::<f64>().ok();
        let set = number(lower).zip(number(upper)).map(|(lower, upper)| [lower, upper]);
        rows.extend(set.map(|set| (cell(name).to_owned(), set)));
    }
    Ok(rows)
}

/// What was proven.
fn words(proof: &SetProof, premises: &Premises, checked: &Checked, logs: usize) -> String {
    let line = |&j: &usize| {
        let (name, unit) = parameter_name(&proof.robot, j);
        format!("  {name} in [{}, {}] {unit}\n", below(checked.set.lower()[j]), above(checked.set.upper()[j]))
    };
    let intervals: String = premises.unknown.indices(&proof.robot).iter().map(line).collect();
    let under =
        if premises.wider.is_some() { ", under wider bounds than stated, which nothing proves" } else { "" };
    format!("{} bounds by {} rows of {logs} log(s){under}\n{intervals}", checked.bounds, checked.rows)
}

/// What had to be believed.
fn believed(proof: &SetProof, premises: &Premises, asked: &Asked) -> String {
    let robot = &proof.robot;
    let mut lines = vec![];
    if asked.expected.robot.is_none() && asked.expected.task.is_none() {
        lines.push(format!("the robot '{}' ({}); --robot compares", robot.name, fingerprint(robot)));
    }
    if asked.prior.is_none() && asked.expected.task.is_none() {
        let own = proof.prior == premises.unknown.default_prior(robot);
        lines.push(if own {
            "the prior, which is the robot's own box, and wide for what is unknown".to_owned()
        } else {
            "the prior; --prior compares".to_owned()
        });
    }
    let [low, high] = premises.delay_s.map(|s| 1e3 * s);
    let from = if premises.delay_from_logs { "as found in the logs" } else { "as stated" };
    let delay = format!("torques late by a constant time between {low:.2} and {high:.2} ms, {from}");
    lines.extend(premises.sentences(robot, delay));
    for (file, clock) in premises.files.iter().zip(&premises.clocks) {
        let clock = match clock {
            Clock::Control => "has every tick of the control loop; the torque is held in between",
            Clock::Stamped => {
                "has every tick of the control loop, with stamps; a torque is the mean until the next"
            }
            Clock::Recorded => "has stamps of its own; the torque is linear in between",
        };
        lines.push(format!("{} {clock}", file.path.display()));
    }
    if let Some(wider) = &premises.wider {
        lines.push(format!("instead of that: wider bounds, as found in the logs: {}", wider.sentence()));
        lines.push("a common gain of all torque sensors between 0.8 and 1.25; that the last third of the logs does not contradict all this".into());
    }
    let lines: String = lines.iter().map(|line| format!("  - {line}\n")).collect();
    format!("believed, not proven:\n{}", lines.trim_end_matches('\n'))
}
