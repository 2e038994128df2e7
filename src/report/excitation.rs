//! The report on motions that tell the most: `summary.json`, `report.html`, and each motion as a CSV file.

use std::path::Path;

use super::ReportError;
use super::figure::figure;
use super::html::{document, escape};
use super::plots::{LINES, Plot, Series, Shape};
use super::self_collision::{exceptions, nearest};
use super::study::{csv, table};
use super::table::align;
use super::write::{check_files, write_named};
use crate::study::limbs::excite::{ExcitingMotions, LimbExcitation};

/// Time between two lines of a motion's file, s, and points of a plot.
const PERIOD_S: f64 = 0.01;
const POINTS: usize = 400;
/// Motions at most: their files are known by name.
pub const MOST_MOTIONS: usize = 20;

const SUMMARY: &str = "summary.json";
const PAGE: &str = "report.html";

fn motion_file(k: usize) -> String {
    format!("motion_{}.csv", k + 1)
}

/// Checks that `folder` can take the report: it is new, empty, or holds an earlier one and nothing else.
///
/// # Errors
/// [`ReportError::Destination`].
pub fn check_destination(folder: &Path) -> Result<(), ReportError> {
    let motions: Vec<String> = (0..MOST_MOTIONS).map(motion_file).collect();
    check_files(folder, &known(&motions))
}

fn known(motions: &[String]) -> Vec<&str> {
    motions.iter().map(String::as_str).chain([SUMMARY, PAGE]).collect()
}

/// Writes the report, all of it or nothing.
///
/// # Errors
/// [`ReportError`] for a folder that is in use, or whatever goes wrong while writing.
pub fn write(folder: &Path, found: &ExcitingMotions) -> Result<(), ReportError> {
    let names: Vec<String> = (0..MOST_MOTIONS).map(motion_file).collect();
    let json = serde_json::to_string_pretty(found)
        .map_err(|source| ReportError::Json { path: folder.join(SUMMARY), source })?;
    let mut files = vec![(SUMMARY, json + "\n"), (PAGE, page(found)?)];
    for (k, name) in names.iter().enumerate().take(found.motions.len()) {
        files.push((name, csv(&motion_rows(found, k))?));
    }
    write_named(folder, &known(&names), &files)
}

/// Columns t, q1.., dq1.., ddq1.. of all motors.
fn motion_rows(found: &ExcitingMotions, k: usize) -> Vec<Vec<String>> {
    let n = found.motors.len();
    let names = ["q", "dq", "ddq"].into_iter().flat_map(|name| (1..=n).map(move |j| format!("{name}{j}")));
    let mut rows: Vec<Vec<String>> = vec![std::iter::once("t".to_owned()).chain(names).collect()];
    let lines = (found.duration_s / PERIOD_S).round() as usize;
    rows.extend((0..=lines).map(|line| {
        let t = (line as f64 * PERIOD_S).min(found.duration_s);
        let state = found.at(k, t);
        let numbers = state.q.iter().chain(&state.dq).chain(&state.ddq);
        std::iter::once(format!("{t:.3}")).chain(numbers.map(|x| format!("{x:.9}"))).collect()
    }));
    rows
}

const HEADING: [&str; 7] = [
    "limb",
    "base parameters",
    "condition number",
    "of random motions",
    "of a speed limit",
    "of a torque limit",
    "sigma of J_u, m/rad",
];

fn cells(limb: &LimbExcitation) -> Vec<String> {
    let percent = |share: f64| format!("{} %", figure(100.0 * share));
    vec![
        limb.name.clone(),
        limb.rank.to_string(),
        figure(limb.condition_number),
        figure(limb.random_condition_number),
        percent(limb.largest_speed_share),
        percent(limb.largest_torque_share),
        limb.least_singular_value.map_or("–".to_owned(), figure),
    ]
}

/// Sentences on links that keep a distance from each other.
fn apart(found: &ExcitingMotions) -> Vec<String> {
    let links = &found.self_collision;
    let mut all = vec![format!("Smallest distance of links, all limbs moving: {}.", nearest(links))];
    all.extend(exceptions(links));
    for (k, share) in found.shares.iter().enumerate().filter(|(_, share)| **share < 1.0) {
        let share = figure(100.0 * share);
        all.push(format!(
            "Motion {} was made smaller, to {share} %: links came too near between its samples.",
            k + 1
        ));
    }
    all
}

/// The closing text on the terminal.
pub fn closing(found: &ExcitingMotions) -> String {
    let rule = "─".repeat(72);
    let mut rows = vec![HEADING.map(str::to_owned).to_vec()];
    rows.extend(found.limbs.iter().map(cells));
    format!(
        "{rule}\n  {} · {} motion(s) of {} s, from rest to rest\n{rule}\n{}{rule}\n  Limits were looked at in samples, by the robot's files. \
         Columns of motors: {}.\n  {}\n",
        found.robot,
        found.motions.len(),
        figure(found.duration_s),
        align(&rows),
        found.motors.join(", "),
        apart(found).join("\n  ")
    )
}

fn page(found: &ExcitingMotions) -> Result<String, ReportError> {
    let rows = found.limbs.iter().map(|limb| cells(limb).iter().map(|cell| escape(cell)).collect());
    let mut figures = String::new();
    for (k, _) in found.motions.iter().enumerate() {
        for limb in &found.limbs {
            figures += &plot(found, k, limb)?;
        }
    }
    let body = format!(
        "<div class=\"head\"><div><div class=\"brand\">surelift excite</div><h1>{}</h1></div></div>\
         <p>{} motion(s) of {} s each. Limits were looked at in samples, by the robot's files.</p>{}{}\
         <h2>Positions of the motors, rad or m</h2><div class=\"grid\">{figures}</div>",
        escape(&found.robot),
        found.motions.len(),
        figure(found.duration_s),
        apart(found).iter().map(|words| format!("<p>{}</p>", escape(words))).collect::<String>(),
        table("Limbs", &HEADING, rows)
    );
    let footer = format!(
        "surelift {} · coefficients in summary.json, motions in the CSV files beside it",
        env!("CARGO_PKG_VERSION")
    );
    Ok(document(&format!("{} · exciting motions", escape(&found.robot)), &body, &footer))
}

fn plot(found: &ExcitingMotions, k: usize, limb: &LimbExcitation) -> Result<String, ReportError> {
    let places: Vec<usize> =
        (0..found.motors.len()).filter(|&j| limb.motors.contains(&found.motors[j])).collect();
    let times: Vec<f64> = (0..=POINTS).map(|i| i as f64 / POINTS as f64 * found.duration_s).collect();
    let states: Vec<Vec<f64>> = times.iter().map(|t| found.at(k, *t).q).collect();
    let series = |(i, &j): (usize, &usize)| Series {
        color: LINES[i % LINES.len()],
        shape: Shape::Line,
        points: times.iter().zip(&states).map(|(t, q)| (*t, q[j])).collect(),
    };
    let plot = Plot {
        title: format!("Motion {} of {}", k + 1, limb.name),
        size: (520, 190),
        t_end: found.duration_s,
        range: None,
        from_zero: true,
        phases: &[],
        series: places.iter().enumerate().map(series).collect(),
    };
    Ok(format!("<figure><h3>Motion {}: {}</h3>{}</figure>", k + 1, escape(&limb.name), plot.svg()?))
}
