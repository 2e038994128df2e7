//! The report on a motion of a robot on its feet that tells the most: `summary.json`, `motion.csv` and `report.html`.

use std::path::Path;

use super::ReportError;
use super::figure::figure;
use super::html::{document, escape};
use super::plots::{LINES, Plot, Series, Shape};
use super::self_collision::{exceptions, nearest};
use super::study::{csv, table};
use super::table::align;
use super::write::{check_files, write_named};
use crate::study::standing::{Beside, Carried, Compared, StandingMotion};

/// Points of a plot.
const POINTS: usize = 400;

const SUMMARY: &str = "summary.json";
const MOTION: &str = "motion.csv";
const PAGE: &str = "report.html";
const FILES: [&str; 3] = [SUMMARY, MOTION, PAGE];

/// Checks that `folder` can take the report: it is new, empty, or holds an earlier one and nothing else.
///
/// # Errors
/// [`ReportError::Destination`].
pub fn check_destination(folder: &Path) -> Result<(), ReportError> {
    check_files(folder, &FILES)
}

/// Writes the report, all of it or nothing. `states`: the robot at even times from 0 to the end.
///
/// # Errors
/// [`ReportError`] for a folder that is in use, or whatever goes wrong while writing.
pub fn write(folder: &Path, found: &StandingMotion, states: &[Carried]) -> Result<(), ReportError> {
    let json = serde_json::to_string_pretty(found)
        .map_err(|source| ReportError::Json { path: folder.join(SUMMARY), source })?;
    let files = [(SUMMARY, json + "\n"), (MOTION, csv(&rows(found, states))?), (PAGE, page(found, states)?)];
    write_named(folder, &FILES, &files)
}

/// Columns t, q, v, a, tau of all, and the forces of the feet.
fn rows(found: &StandingMotion, states: &[Carried]) -> Vec<Vec<String>> {
    let Some(first) = states.first() else { return vec![] };
    let numbered = |name: &str, count: usize| (1..=count).map(|k| format!("{name}{k}")).collect::<Vec<_>>();
    let mut heading = vec!["t".to_owned()];
    heading.extend(numbered("q", first.q.len()));
    for name in ["dq", "ddq", "tau"] {
        heading.extend(numbered(name, first.v.len()));
    }
    for (foot, force) in found.feet.iter().zip(&first.forces) {
        heading.extend(
            ["fx", "fy", "fz", "mx", "my", "mz"].iter().take(force.len()).map(|f| format!("{foot}_{f}")),
        );
    }
    let line = |(k, at): (usize, &Carried)| {
        let t = found.duration_s * k as f64 / (states.len() - 1).max(1) as f64;
        let numbers = at.q.iter().chain(&at.v).chain(&at.a).chain(&at.tau).chain(at.forces.iter().flatten());
        std::iter::once(format!("{t:.4}")).chain(numbers.map(|x| format!("{x:.9}"))).collect()
    };
    std::iter::once(heading).chain(states.iter().enumerate().map(line)).collect()
}

/// Names and values of what the motion is like.
fn facts(found: &StandingMotion) -> Vec<[String; 2]> {
    let percent = |share: f64| format!("{} %", figure(100.0 * share));
    let used = &found.used;
    let once_s = found.duration_s / f64::from(found.repeats);
    let mut all = vec![
        [
            "the same from rest to rest".to_owned(),
            match found.repeats {
                1 => "once".to_owned(),
                repeats => format!("{repeats} times, {} s each", figure(once_s)),
            },
        ],
        ["base parameters".to_owned(), found.rank.to_string()],
        ["condition number".to_owned(), figure(found.condition_number)],
        ["of random motions".to_owned(), figure(found.random_condition_number)],
        ["of a joint's range, from its middle".to_owned(), percent(used.position)],
        ["of a speed limit".to_owned(), percent(used.speed)],
        ["of a torque limit".to_owned(), percent(used.torque)],
        ["of the friction, torques off".to_owned(), percent(used.friction)],
        ["of the way to a singular posture".to_owned(), percent(used.posture)],
        ["of a sole, from its middle, torques off".to_owned(), percent(used.pressure)],
    ];
    all.push(["smallest distance of links".to_owned(), nearest(&found.self_collision)]);
    all.extend(exceptions(&found.self_collision).into_iter().map(|words| ["of links".to_owned(), words]));
    for link in &found.deviations {
        let of = |k: usize| figure(link.deviations[k]);
        let words = format!("{} kg, {} {} {} kg m", of(0), of(1), of(2), of(3));
        all.push([
            format!("deviations of `{}`, by {} N m", link.link, figure(found.torque_deviation_nm)),
            words,
        ]);
    }
    if let Some(beside) = &found.beside {
        all.extend(compared(found, beside));
    }
    all
}

/// What the motion beside tells and uses: as it is, and made smaller until it keeps the limits.
fn compared(found: &StandingMotion, beside: &Beside) -> Vec<[String; 2]> {
    let mut all = against(found, &beside.whole, "the motion beside");
    if let Some((share, within)) = &beside.within_limits {
        let name = format!("{} % of it", figure(100.0 * share));
        all.extend(against(found, within, &name));
    }
    all
}

fn against(found: &StandingMotion, other: &Compared, name: &str) -> Vec<[String; 2]> {
    let (limit, share) = other.used.worst();
    let mut all = vec![
        [format!("{name}: condition number"), figure(other.condition_number)],
        [format!("{name} uses"), format!("{} % of {limit}", figure(100.0 * share))],
    ];
    for (own, other) in found.deviations.iter().zip(&other.deviations) {
        let ratios: Vec<f64> = own.deviations.iter().zip(&other.deviations).map(|(x, y)| x / y).collect();
        let mean = (ratios.iter().map(|x| x.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let words = format!("{} in the mean, {} at most", figure(mean), figure(most));
        all.push([format!("deviations of `{}` by those of {name}", own.link), words]);
    }
    if found.told_directions > 0 {
        let gained = (found.log_determinant - other.log_determinant) / found.told_directions as f64;
        all.push([format!("all told directions together by those of {name}"), figure(gained.exp())]);
    }
    all
}

/// The closing text on the terminal.
pub fn closing(found: &StandingMotion) -> String {
    let rule = "─".repeat(72);
    let rows: Vec<Vec<String>> = facts(found).into_iter().map(|fact| fact.to_vec()).collect();
    format!(
        "{rule}\n  {} on {} · {} s\n{rule}\n{}{rule}\n  Limits were looked at in samples, by the nominal robot.\n",
        found.robot,
        found.feet.join(", "),
        figure(found.duration_s),
        align(&rows),
    )
}

fn page(found: &StandingMotion, states: &[Carried]) -> Result<String, ReportError> {
    let rows = facts(found).into_iter().map(|fact| fact.map(|cell| escape(&cell)).to_vec());
    let mut figures = String::new();
    // All repeats look the same.
    let once_s = found.duration_s / f64::from(found.repeats);
    let once = &states[..states.len().div_ceil(found.repeats as usize)];
    let torques = states.first().map_or(0, |at| at.tau.len());
    let drawn: [(&str, Vec<Curve<'_>>); 3] = [
        (
            "Shift of the base along the axes of the world, m",
            (0..3).map(|k| Box::new(move |at: &Carried| at.q[k] - found.start[k]) as Curve<'_>).collect(),
        ),
        (
            "Forces of the feet, upwards, N",
            (0..found.feet.len())
                .map(|k| Box::new(move |at: &Carried| at.forces[k][2]) as Curve<'_>)
                .collect(),
        ),
        (
            "Torques, N m",
            (6..torques).map(|k| Box::new(move |at: &Carried| at.tau[k]) as Curve<'_>).collect(),
        ),
    ];
    for (title, curves) in drawn {
        figures += &plot(once_s, once, title, &curves)?;
    }
    let body = format!(
        "<div class=\"head\"><div><div class=\"brand\">surelift excite</div><h1>{} on its feet</h1></div></div>\
         <p>{} s. Limits were looked at in samples, by the nominal robot.</p>{}<div class=\"grid\">{figures}</div>",
        escape(&found.robot),
        figure(found.duration_s),
        table("Motion", &["", ""], rows)
    );
    let footer = format!(
        "surelift {} · coefficients in summary.json, the motion in motion.csv",
        env!("CARGO_PKG_VERSION")
    );
    Ok(document(&format!("{} · exciting motion", escape(&found.robot)), &body, &footer))
}

type Curve<'a> = Box<dyn Fn(&Carried) -> f64 + 'a>;

fn plot(
    duration_s: f64,
    states: &[Carried],
    title: &str,
    curves: &[Curve<'_>],
) -> Result<String, ReportError> {
    let step = states.len().div_ceil(POINTS).max(1);
    let at = |k: usize| duration_s * k as f64 / (states.len() - 1).max(1) as f64;
    let series = |(i, curve): (usize, &Curve<'_>)| Series {
        color: LINES[i % LINES.len()],
        shape: Shape::Line,
        points: states.iter().enumerate().step_by(step).map(|(k, state)| (at(k), curve(state))).collect(),
    };
    let plot = Plot {
        title: title.to_owned(),
        size: (520, 190),
        t_end: duration_s,
        range: None,
        from_zero: true,
        phases: &[],
        series: curves.iter().enumerate().map(series).collect(),
    };
    Ok(format!("<figure><h3>{}</h3>{}</figure>", escape(title), plot.svg()?))
}
