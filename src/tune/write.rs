//! Puts gains into a robot TOML, with the evidence for them, and leaves every other line as it is.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Report, TuneError};
use crate::report::figure::figure;
use crate::robot::{self, Gains};

/// First and last line of the evidence; what stands between them belongs to this module.
const BEGIN: &str = "# Found by `surelift robot tune`:";
/// The first line where nothing was looked for.
const TOLD: &str = "# Not found by a search. What `surelift robot tune` tells of these:";
const END: &str = "# (end of what was found)";

/// The evidence as comment lines: the command, and what was measured.
pub fn evidence(report: &Report, command: &str) -> Vec<String> {
    let gains = &report.winner().gains;
    let available = gains.alpha * gains.v_max;
    let widths = |m: &super::ProvenPerformance| {
        format!(
            "mean {} N m, largest {} N m; links carried by at most {} mm",
            figure(m.mean_nm),
            figure(m.max_nm),
            figure(1e3 * m.growth_m)
        )
    };
    let proven = &report.proven;
    let mut lines = vec![
        if command.split(' ').any(|word| word == "--own") { TOLD } else { BEGIN }.to_owned(),
        format!("#   {command}"),
        format!("# Set: {}. {} candidates, {} of use.", report.about, report.tried, report.useful.len()),
        format!("# Half-widths of the commands over {} plans: {}.", proven.plans, widths(proven)),
    ];
    if let Some(known) = &report.proven_known {
        lines.push(format!("# The same with the last body known: {}.", widths(known)));
    }
    lines.push(format!(
        "# Hold power at most {} W of alpha v_max = {} W; limits proven too for {} of {} plans.",
        figure(proven.hold_share * available),
        figure(available),
        proven.within_limits,
        proven.plans
    ));
    lines.push(match report.winner().has_room {
        true => "# Proven with a fifth less of v_max, too: there is room for motions that ask for more."
            .to_owned(),
        false => {
            "# Not proven with a fifth less of v_max: motions that ask for a little more may be refused."
                .to_owned()
        }
    });
    let simulated = &report.simulated;
    lines.push(format!(
        "# Simulated ({} plans; extreme parameters, sensors, drives, friction, timing): {} % of the tube used, {} % of v_max.",
        simulated.plans,
        figure(100.0 * simulated.tube_used),
        figure(100.0 * simulated.energy_used)
    ));
    lines.extend(feedback(report));
    lines.push(END.to_owned());
    lines
}

/// What the law's feedback asks of drives and sensors, as comment lines.
fn feedback(report: &Report) -> Vec<String> {
    let each = |values: &[f64]| values.iter().map(|x| figure(*x)).collect::<Vec<_>>().join(", ");
    let found = &report.feedback;
    let crossover = match found.margin {
        Some(margin) => format!(
            "crossover {} Hz, phase margin {} degrees",
            figure(margin.crossover_hz),
            figure(margin.phase_deg)
        ),
        None => "no crossover".to_owned(),
    };
    let mut lines = vec![
        "# Feedback at the worst states found, linearised (a design report, no proof):".to_owned(),
        format!("#   velocity gain {} N m s/rad (N s/m where a joint slides);", each(&found.velocity_gain)),
        format!("#   {crossover} for readings {} ms old;", figure(1e3 * found.age_s)),
        format!("#   torque noise by the velocities' errors {} N m (N).", each(&found.torque_noise_nm)),
    ];
    if let Some((_, first)) = report.refused.first() {
        let count = report.refused.len();
        lines.push(format!(
            "# Refused with narrower torques: {count} candidate(s); of the narrowest, {first}."
        ));
    }
    lines
}

/// `text` of a robot TOML with these gains in its `[control]` section, below the evidence. Evidence of an earlier search is
/// replaced; every other line stays. A file that extends another may have no such section; it gets one at its end.
///
/// # Errors
/// If there is no `[control]` section, in words.
pub fn edited(text: &str, gains: &Gains, evidence: &[String]) -> Result<String, String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let header = |line: &str| line.split('#').next().unwrap_or("").trim() == "[control]";
    if !lines.iter().any(|line| header(line)) && lines.iter().any(|line| value_of(line, "extends").is_some())
    {
        lines.extend(["", "[control]"]);
    }
    let start = lines
        .iter()
        .position(|line| header(line))
        .ok_or("has no `[control]` section, expected one with period_s and stiction_speed_rad_s")?;
    let end =
        (start + 1..lines.len()).find(|&i| lines[i].trim_start().starts_with('[')).unwrap_or(lines.len());
    let mut out: Vec<String> = lines[..=start].iter().map(|&line| line.to_owned()).collect();
    out.extend(evidence.iter().cloned());
    let values = [("k_r", gains.k_r), ("alpha", gains.alpha), ("v_max", gains.v_max)];
    out.extend(values.iter().map(|(key, value)| format!("{key} = {value:?}")));
    let mut old = false;
    for line in &lines[start + 1..end] {
        old |= [BEGIN, TOLD].contains(&line.trim());
        let key = line.split('=').next().unwrap_or("").trim();
        if !old && !values.iter().any(|(own, _)| *own == key) {
            out.push((*line).to_owned());
        }
        old &= line.trim() != END;
    }
    out.extend(lines[end..].iter().map(|&line| line.to_owned()));
    Ok(out.join("\n") + "\n")
}

/// Writes the winner's gains into a copy of the robot TOML `source` at `target` (which may be the same file), whole or not at all. In another folder
/// than the source's the copy names the URDF by its full path.
///
/// # Errors
/// [`TuneError::File`] if a file cannot be read or written, [`TuneError::Robot`] if the result is no robot.
pub fn write(source: &Path, target: &Path, report: &Report, command: &str) -> Result<(), TuneError> {
    let fault = |path: &Path, reason: String| TuneError::File { path: path.to_owned(), reason };
    let text = fs::read_to_string(source).map_err(|e| fault(source, format!("cannot be read: {e}")))?;
    let mut text = edited(&text, &report.winner().gains, &evidence(report, command))
        .map_err(|reason| fault(source, reason))?;
    let folder = |path: &Path| {
        path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
    };
    let (from, to) = (folder(source), folder(target));
    if fs::canonicalize(&from).ok() != fs::canonicalize(&to).ok() {
        text = with_files_of(&text, &from).map_err(|reason| fault(source, reason))?;
    }
    put_whole(target, &text)
}

/// Writes the robot TOML `text` to `target`: beside it first, loaded as a check, and put in its place in one step, so that there is never half a file.
///
/// # Errors
/// [`TuneError::File`] if it cannot be written, [`TuneError::Robot`] if it is no robot.
pub fn put_whole(target: &Path, text: &str) -> Result<(), TuneError> {
    let fault = |path: &Path, reason: String| TuneError::File { path: path.to_owned(), reason };
    let mut name = target.file_name().ok_or_else(|| fault(target, "is no file name".to_owned()))?.to_owned();
    name.push(format!(".{}.new.toml", std::process::id()));
    let beside: PathBuf = target.with_file_name(name);
    let put = || -> Result<(), TuneError> {
        let unwritten = |e: std::io::Error| fault(&beside, format!("cannot be written: {e}"));
        let mut file = fs::File::create(&beside).map_err(unwritten)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(unwritten)?;
        robot::load(&beside)?;
        fs::rename(&beside, target).map_err(|e| fault(target, format!("cannot be written: {e}")))
    };
    put().inspect_err(|_| {
        // What is left of a failed attempt is nobody's.
        let _ = fs::remove_file(&beside);
    })
}

/// What a line gives to `key`, if it does.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
    Some(rest.split('#').next().unwrap_or("").trim().trim_matches(['"', '\'']))
}

/// The text with the URDF and the robot TOML extended, which are named relative to `folder`, named by their full paths; a robot
/// extended by its name keeps it.
fn with_files_of(text: &str, folder: &Path) -> Result<String, String> {
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.lines() {
        let named = ["urdf", "extends"].into_iter().find_map(|key| Some((key, value_of(line, key)?)));
        match named.filter(|(key, value)| *key == "urdf" || value.contains(['.', '/', '\\'])) {
            Some((key, value)) => {
                let full =
                    fs::canonicalize(folder.join(value)).map_err(|e| format!("its {key} `{value}`: {e}"))?;
                out += &format!("{key} = {:?}\n", full.display().to_string());
            }
            None => {
                out += line;
                out.push('\n');
            }
        }
    }
    Ok(out)
}
