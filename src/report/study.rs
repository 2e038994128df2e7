//! The report on recordings: `summary.json`, `joints.csv`, `parameters.csv`, `torques.csv` and `report.html`.

use std::path::Path;

use super::ReportError;
use super::figure::{above, below, figure};
use super::html::{document, escape};
use super::plots::{LINES, Plot, Series, Shape};
use super::table::align;
use super::write::{check_files, write_named};
use crate::identify::study::{Findings, ParameterFinding, Prediction, Verdict};

/// The files of the report.
pub const FILES: [&str; 5] = ["summary.json", "joints.csv", "parameters.csv", "torques.csv", "report.html"];

/// Checks that `folder` can take the report: it is new, empty, or holds an earlier one and nothing else.
///
/// # Errors
/// [`ReportError::Destination`].
pub fn check_destination(folder: &Path) -> Result<(), ReportError> {
    check_files(folder, &FILES)
}

/// Writes the report, all of it or nothing.
///
/// # Errors
/// [`ReportError`] for a folder that is in use, or whatever goes wrong while writing.
pub fn write(folder: &Path, findings: &Findings) -> Result<(), ReportError> {
    let json = serde_json::to_string_pretty(findings)
        .map_err(|source| ReportError::Json { path: folder.join(FILES[0]), source })?;
    let (joints, parameters) = (csv(&joint_rows(findings))?, csv(&parameter_rows(findings))?);
    write_named(
        folder,
        &[
            (FILES[0], json + "\n"),
            (FILES[1], joints),
            (FILES[2], parameters),
            (FILES[3], csv(&torque_rows(findings))?),
            (FILES[4], page(findings)?),
        ],
    )
}

/// The closing text on the terminal.
pub fn closing(findings: &Findings) -> String {
    let rule = "─".repeat(72);
    let mut joints = with_heading(JOINT_HEADING, joint_rows(findings).split_off(1), shorten);
    if findings.joints.iter().all(|j| j.validation_rms_nm.is_none()) {
        joints.iter_mut().for_each(|row| drop(row.drain(VALIDATION)));
    }
    let joints = align(&joints);
    let parameters = align(&with_heading(PARAMETER_HEADING, parameter_rows(findings).split_off(1), shorten));
    format!(
        "{rule}\n  {} · {} window(s) · {}\n{rule}\n{joints}\n{parameters}{rule}\n  {}\n",
        findings.robot,
        findings.windows,
        verdict(findings),
        findings.guarantee
    )
}

/// One line.
fn verdict(findings: &Findings) -> String {
    match &findings.verdict {
        Verdict::Consistent => "the stated assumptions explain the data".to_owned(),
        Verdict::Refuted { t_s, joint, by } => format!(
            "an assumption is broken: joint {joint} at t = {t_s:.3} s; error bounds would have to be at least {} times \
             as large",
            below(*by)
        ),
    }
}

const JOINT_HEADING: [&str; 10] = [
    "joint",
    "torque RMS, N m",
    "fit RMS",
    "at speed limit",
    "validation torque RMS",
    "validation RMS",
    "with limited",
    "at speed limit",
    "additive bound: at least",
    "enough",
];
/// Columns of a recording that was predicted.
const VALIDATION: std::ops::Range<usize> = 4..8;
const PARAMETER_HEADING: [&str; 8] =
    ["parameter", "unit", "model", "estimate", "prior lower", "prior upper", "set lower", "set upper"];

/// Numbers for people.
fn shorten(cell: &str) -> String {
    cell.parse::<f64>().map_or_else(|_| cell.to_owned(), figure)
}

fn with_heading(
    heading: impl IntoIterator<Item = &'static str>,
    rows: Vec<Vec<String>>,
    cell: impl Fn(&str) -> String,
) -> Vec<Vec<String>> {
    let mut all = vec![heading.into_iter().map(str::to_owned).collect()];
    all.extend(rows.iter().map(|row| row.iter().map(|c| cell(c)).collect::<Vec<_>>()));
    all
}

fn joint_rows(findings: &Findings) -> Vec<Vec<String>> {
    let optional = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let rows = findings.joints.iter().map(|j| {
        vec![
            j.name.clone(),
            j.torque_rms_nm.to_string(),
            j.fit_rms_nm.to_string(),
            j.speed_limited.to_string(),
            optional(j.validation_torque_rms_nm),
            optional(j.validation_rms_nm),
            optional(j.validation_rms_all_nm),
            j.validation_speed_limited.to_string(),
            j.additive_necessary_nm.to_string(),
            j.additive_sufficient_nm.to_string(),
        ]
    });
    with_heading(JOINT_HEADING, rows.collect(), str::to_owned)
}

fn parameter_rows(findings: &Findings) -> Vec<Vec<String>> {
    let rows = findings.parameters.iter().map(|p| {
        let numbers = [p.model, p.estimate, p.prior[0], p.prior[1], p.set[0], p.set[1]];
        [p.name.clone(), p.unit.to_owned()].into_iter().chain(numbers.map(|x| x.to_string())).collect()
    });
    with_heading(PARAMETER_HEADING, rows.collect(), str::to_owned)
}

/// Columns t, tau1.., predicted1..
fn torque_rows(findings: &Findings) -> Vec<Vec<String>> {
    let n = findings.joints.len();
    let names = |prefix: &'static str| (1..=n).map(move |i| format!("{prefix}{i}"));
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once("t".to_owned()).chain(names("tau")).chain(names("predicted")).collect()];
    rows.extend(findings.predictions.iter().map(|p| {
        let values = std::iter::once(&p.t).chain(&p.measured).chain(&p.predicted);
        values.map(f64::to_string).collect()
    }));
    rows
}

/// Measured and predicted torque of each joint.
fn torque_plots(findings: &Findings) -> Result<String, ReportError> {
    let Some((first, last)) = findings.predictions.first().zip(findings.predictions.last()) else {
        return Ok(String::new());
    };
    let mut figures = String::new();
    for (i, joint) in findings.joints.iter().enumerate() {
        let series = |color, of: fn(&Prediction) -> &Vec<f64>| Series {
            color,
            shape: Shape::Line,
            points: findings.predictions.iter().map(|p| (p.t - first.t, of(p)[i])).collect(),
        };
        let plot = Plot {
            title: format!("Torque of {}, N m", joint.name),
            size: (520, 190),
            t_end: last.t - first.t,
            range: None,
            from_zero: true,
            phases: &[],
            series: vec![series(LINES[5], |p| &p.measured), series(LINES[0], |p| &p.predicted)],
        };
        figures += &format!(
            "<figure><h3>{}, N m</h3>{}<div class=\"key\"><span class=\"c5\"><i></i>measured</span>\
             <span class=\"c0\"><i></i>predicted</span><span>over time, s</span></div></figure>",
            escape(&joint.name),
            plot.svg()?
        );
    }
    Ok(format!("<h2>Torques</h2><div class=\"grid\">{figures}</div>"))
}

fn csv(rows: &[Vec<String>]) -> Result<String, ReportError> {
    let mut file = csv::Writer::from_writer(vec![]);
    for row in rows {
        file.write_record(row)?;
    }
    let bytes = file.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn page(findings: &Findings) -> Result<String, ReportError> {
    let mood = if findings.verdict == Verdict::Consistent { "good" } else { "warn" };
    let badge = if mood == "good" { "Assumptions hold" } else { "Assumption broken" };
    let list = |items: &[String]| {
        let items: String = items.iter().map(|i| format!("<li>{}</li>", escape(i))).collect();
        format!("<ul>{items}</ul>")
    };
    let logs: String = findings
        .logs
        .iter()
        .map(|log| format!("<h3>{} ({})</h3>{}", escape(&log.path), log.purpose, list(&log.notes)))
        .collect();
    let physical = if findings.estimate_physical { "is" } else { "is not" };
    let body = format!(
        "<div class=\"head\"><div><div class=\"brand\">surelift identify</div><h1>{}</h1></div>\
         <div class=\"badge {mood}\">{badge}</div></div><p class=\"reason {mood}\">{}<br>{}</p>\
         <h2>Joints</h2><p>Errors of the least-squares estimate (samples at a joint's speed limit are not learned from and counted apart: its \
         drive brakes there by itself), and the smallest additive bound on the mean torque error of \
         a window that explains the data: proven necessary for each joint alone, proven enough for all together.</p>{}\
         <h2>Parameters</h2><p>The bar is the prior interval; what is left of it is filled, the estimate is the mark. The \
         estimate comes with no bound; its last body {physical} physically consistent.</p>{}\
{}<h2>Assumed</h2>{}<h2>Data</h2><p>{} windows; {} samples in none of them.</p>{logs}",
        escape(&findings.robot),
        escape(&verdict(findings)),
        escape(&findings.guarantee),
        joints_table(findings),
        parameters_table(&findings.parameters),
        torque_plots(findings)?,
        list(&findings.assumptions),
        findings.windows,
        findings.samples_left_out,
    );
    let title = format!("{} · identified", escape(&findings.robot));
    let footer = format!(
        "surelift {} · figures in summary.json, joints.csv, parameters.csv and torques.csv",
        env!("CARGO_PKG_VERSION")
    );
    Ok(document(&title, &body, &footer))
}

fn joints_table(findings: &Findings) -> String {
    let head: String = JOINT_HEADING.iter().map(|h| format!("<th>{}</th>", escape(h))).collect();
    let optional = |x: Option<f64>| x.map_or("–".to_owned(), figure);
    let rows: String = findings
        .joints
        .iter()
        .map(|j| {
            let cells = [
                escape(&j.name),
                figure(j.torque_rms_nm),
                figure(j.fit_rms_nm),
                j.speed_limited.to_string(),
                optional(j.validation_torque_rms_nm),
                optional(j.validation_rms_nm),
                optional(j.validation_rms_all_nm),
                j.validation_speed_limited.to_string(),
                below(j.additive_necessary_nm),
                above(j.additive_sufficient_nm),
            ];
            format!("<tr>{}</tr>", cells.map(|c| format!("<td>{c}</td>")).concat())
        })
        .collect();
    format!("<div class=\"wide\"><table><tr>{head}</tr>{rows}</table></div>")
}

fn parameters_table(parameters: &[ParameterFinding]) -> String {
    let head = ["parameter", "unit", "model", "estimate", "lower", "upper", "of the prior"]
        .map(|h| format!("<th>{h}</th>"))
        .concat();
    let rows: String = parameters
        .iter()
        .map(|p| {
            let cells = [
                escape(&p.name),
                escape(p.unit).replace("^2", "²"),
                figure(p.model),
                figure(p.estimate),
                below(p.set[0]),
                above(p.set[1]),
                bar(p),
            ];
            format!("<tr>{}</tr>", cells.map(|c| format!("<td>{c}</td>")).concat())
        })
        .collect();
    format!("<div class=\"wide\"><table><tr>{head}</tr>{rows}</table></div>")
}

/// The prior as a bar, the set within it filled, the estimate marked.
fn bar(p: &ParameterFinding) -> String {
    let width = p.prior[1] - p.prior[0];
    let place = |x: f64| if width > 0.0 { (100.0 * (x - p.prior[0]) / width).clamp(0.0, 100.0) } else { 0.0 };
    let (from, to) = (place(p.set[0]), place(p.set[1]));
    format!(
        "<span class=\"bar\"><i style=\"left:{from:.2}%;width:{:.2}%\"></i><b style=\"left:{:.2}%\"></b></span>",
        to - from,
        place(p.estimate)
    )
}
