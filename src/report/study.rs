//! The report on recordings: `summary.json`, `report.html`, and tables as CSV files.

use std::path::Path;

use super::ReportError;
use super::body::{self, Shown};
use super::evidence::{kind, sentence};
use super::figure::{above, below, figure};
use super::html::{CLASSES, document, escape, symbol, unit};
use super::methods;
use super::payload;
use super::plots::{LINES, Plot, Series, Shape};
use super::table::align;
use super::validation;
use super::write::{SET_PROOF, check_files, write_named};
use crate::identify::Unknown;
use crate::inertia::PARAMETER_NAMES;
use crate::study::external::ExternalTorque;
use crate::study::identification::{
    Assumption, BrokenAssumption, Findings, MethodFinding, Moment, ParameterFinding, Prediction, Verdict,
};

/// The files of the report; beside them is `set_proof.json` where a set is shown.
pub const FILES: [&str; 7] = [
    "summary.json",
    "joints.csv",
    "parameters.csv",
    "methods.csv",
    "base_parameters.csv",
    "torques.csv",
    "report.html",
];

/// Checks that `folder` can take the report: it is new, empty, or holds an earlier one and nothing else.
///
/// # Errors
/// [`ReportError::Destination`].
pub fn check_destination(folder: &Path) -> Result<(), ReportError> {
    check_files(folder, &known())
}

/// What a study says as lines of a robot TOML; whoever has the robot's files makes its text.
pub const ROBOT_LINES: &str = "robot_lines.toml";

/// All files that a report may have.
fn known() -> Vec<&'static str> {
    FILES.into_iter().chain([SET_PROOF, ROBOT_LINES]).collect()
}

/// Writes the report, all of it or nothing; with the text of [`ROBOT_LINES`] where there is one.
///
/// # Errors
/// [`ReportError`] for a folder that is in use, or whatever goes wrong while writing.
pub fn write(folder: &Path, findings: &Findings, robot_lines: Option<String>) -> Result<(), ReportError> {
    let json = serde_json::to_string_pretty(findings)
        .map_err(|source| ReportError::Json { path: folder.join(FILES[0]), source })?;
    let (joints, parameters) = (csv(&joint_rows(findings))?, csv(&parameter_rows(findings))?);
    let mut files = vec![
        (FILES[0], json + "\n"),
        (FILES[1], joints),
        (FILES[2], parameters),
        (FILES[3], csv(&methods::rows(findings))?),
        (FILES[4], csv(&methods::base_rows(&findings.base))?),
        (FILES[5], csv(&torque_rows(findings))?),
        (FILES[6], page(findings)?),
    ];
    if let Some(proof) = &findings.proof {
        let text = serde_json::to_string(proof)
            .map_err(|source| ReportError::Json { path: folder.join(SET_PROOF), source })?;
        files.push((SET_PROOF, text));
    }
    files.extend(robot_lines.map(|text| (ROBOT_LINES, text)));
    write_named(folder, &known(), &files)
}

/// What plain least squares leave of the recording that was predicted.
fn beside(findings: &Findings) -> String {
    let plain = findings.validation_ols.as_ref();
    plain.map(|plain| validation::beside("ordinary least squares", plain)).unwrap_or_default()
}

/// The closing text on the terminal.
pub fn closing(findings: &Findings) -> String {
    let rule = "─".repeat(72);
    let mut joints = with_heading(JOINT_HEADING, joint_rows(findings).split_off(1), shorten);
    if findings.joints.iter().all(|j| j.validation_rms_nm.is_none()) {
        joints.iter_mut().for_each(|row| drop(row.drain(VALIDATION)));
    }
    let joints = align(&joints);
    let predicted = findings
        .validation
        .as_ref()
        .map(|v| validation::text(v) + &beside(findings) + "\n")
        .unwrap_or_default();
    // What is held is told in the frame of a link; the whole last body, in its joint's frame, is for the files.
    let mut parameters = parameter_rows(findings).split_off(1);
    if findings.payload_alone.is_some() {
        let inertial = |name: &str| PARAMETER_NAMES.iter().any(|own| name.ends_with(&format!(" {own}")));
        parameters.retain(|row| !inertial(&row[0]));
    }
    let parameters = match parameters.is_empty() {
        true => String::new(),
        false => align(&with_heading(PARAMETER_HEADING, parameters, shorten)) + "\n",
    };
    let held = findings.payload_alone.as_ref().map_or(String::new(), |alone| {
        let notes: String = payload::notes(alone).iter().map(|note| format!("  {note}\n")).collect();
        align(&payload::rows(alone)) + &notes + "\n"
    });
    let heading = methods::HEADING;
    let by_method = align(&with_heading(heading, methods::summary_rows(findings), str::to_owned));
    let chosen =
        findings.choice.as_ref().map(|choice| format!("  {}\n", choice.sentence())).unwrap_or_default();
    let by_method = by_method + &methods::notes(findings) + &chosen;
    format!(
        "{rule}\n  {} · {} window(s) · {}\n{rule}\n{joints}\n{predicted}{parameters}{held}{by_method}{rule}\n{}  {}\n  {}\n  {}\n",
        findings.robot,
        findings.windows,
        verdict(findings),
        broken(findings).iter().map(|line| format!("  {line}\n")).collect::<String>(),
        findings.delay.sentence(),
        methods::base_sentence(&findings.base),
        findings.guarantee
    )
}

/// Torques from outside that are told, largest first.
const TOLD: usize = 8;

/// One line.
fn verdict(findings: &Findings) -> String {
    match &findings.verdict {
        Verdict::Consistent => "the stated assumptions explain the data".to_owned(),
        Verdict::Refuted { broken, .. } => {
            let kinds: Vec<String> =
                broken.iter().map(|b| format!("{} at {}", kind(b.assumption), b.joint)).collect();
            format!("an assumption is broken: {}", kinds.join("; "))
        }
    }
}

/// What fails, a sentence each.
fn broken(findings: &Findings) -> Vec<String> {
    let Verdict::Refuted { broken, time_stamps_s } = &findings.verdict else { return vec![] };
    let proven = |b: &&BrokenAssumption| b.assumption != Assumption::NothingPushes;
    let mut sentences: Vec<String> = broken.iter().filter(proven).map(sentence).collect();
    let noticed_by_size = {
        let mut all: Vec<&ExternalTorque> = findings.external_torques.iter().collect();
        all.sort_by(|a, b| b.beyond.total_cmp(&a.beyond));
        all
    };
    sentences.extend(noticed_by_size.iter().take(TOLD).map(|event| event.sentence()));
    if noticed_by_size.len() > TOLD {
        sentences.push(format!("{} smaller ones stand in summary.json", noticed_by_size.len() - TOLD));
    }
    if broken.iter().filter(proven).any(|b| b.assumption != Assumption::Torque) {
        sentences.push(match time_stamps_s {
            Some(s) => format!(
                "timing: time stamps wrong by at most {} ms would be enough for positions and velocities, all else as stated",
                above(1e3 * s)
            ),
            None => "timing: no errors of the time stamps were found that explain positions and velocities".to_owned(),
        });
    }
    sentences
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
        let side = |k: usize| p.set.map(|set| set[k]);
        let numbers =
            [p.model, p.estimate, p.prior[0], p.prior[1]].map(Some).into_iter().chain([side(0), side(1)]);
        let numbers = numbers.map(|x| x.map_or(String::new(), |x| x.to_string()));
        [p.name.clone(), p.unit.to_owned()].into_iter().chain(numbers).collect()
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
             <span class=\"c0\"><i></i>predicted</span></div></figure>",
            escape(&joint.name),
            plot.svg()?
        );
    }
    Ok(format!("<h2>Torques</h2><div class=\"grid\">{figures}</div>"))
}

/// Rows as a CSV file.
pub(super) fn csv(rows: &[Vec<String>]) -> Result<String, ReportError> {
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
    let fails = broken(findings);
    let late = if findings.delay.taken_out_s == 0.0 { "" } else { " class=\"reason warn\"" };
    let method = findings.method().map_or("", |m| m.method.name()).replace('_', " ");
    let head = format!(
        "<div class=\"head\"><div><div class=\"brand\">surelift identify</div><h1>{}</h1></div>\
         <div class=\"badge {mood}\">{badge}</div></div><p class=\"reason {mood}\">{}.<br>{}</p>{}<p{late}>{}.</p>",
        escape(&findings.robot),
        capital(&escape(&verdict(findings))),
        escape(&findings.guarantee),
        if fails.is_empty() { String::new() } else { list(&fails) },
        capital(&code(&escape(&findings.delay.sentence()))),
    );
    let body = [
        head,
        joints_tables(findings),
        format!(
            "<h2>Parameters</h2><p>The bar is the prior interval; what is left of it is filled, the mark is the estimate by {}, which comes \
             with no bound.</p>{}",
            escape(&method),
            parameters_table(&findings.parameters)
        ),
        findings.payload_alone.as_ref().map(payload::table).unwrap_or_default(),
        drawing(findings),
        history(findings)?,
        methods::section(findings),
        methods::base_section(&findings.base),
        torque_plots(findings)?,
        format!(
            "<h2>Assumed</h2>{}<h2>Data</h2><p>{} windows; {} samples in none of them.</p>{logs}",
            list(&findings.assumptions),
            findings.windows,
            findings.samples_left_out
        ),
    ];
    let title = format!("{} · identified", escape(&findings.robot));
    let footer = format!(
        "surelift {} · figures in summary.json and the CSV files beside it",
        env!("CARGO_PKG_VERSION")
    );
    Ok(document(&title, &body.concat(), &footer))
}

/// Options of the command in a text, kept on one line.
fn code(text: &str) -> String {
    ["--delay fit", "--delay 0"]
        .iter()
        .fold(text.to_owned(), |text, option| text.replace(option, &format!("<code>{option}</code>")))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// The last body as an ellipsoid, if it was looked for.
fn drawing(findings: &Findings) -> String {
    if findings.unknown == Unknown::Friction {
        return String::new();
    }
    let parts = &findings.parameters;
    // The last body's ten come first, or last of the links.
    let Some(at) = parts.iter().rposition(|p| p.name.ends_with(" I_zz")).and_then(|k| k.checked_sub(9))
    else {
        return String::new();
    };
    let range = at..at + 10;
    let whole = |m: &&MethodFinding| m.physical == Some(true);
    let shown = findings.method().filter(whole).or_else(|| findings.methods.iter().rfind(whole));
    let Some(method) = shown else { return String::new() };
    let estimate: Vec<f64> = method.values[range.clone()].iter().flatten().copied().collect();
    // The prior's where nothing else may be shown.
    let side = |k: usize| -> Vec<f64> {
        parts[range.clone()].iter().map(|p| p.set.map_or(p.prior[k], |set| set[k])).collect()
    };
    let name = method.method.name().replace('_', " ");
    let shown = parts[range.clone()].iter().any(|p| p.set.is_some());
    let box_of = match findings.verdict {
        Verdict::Consistent => "proven box of the centre of mass",
        Verdict::Refuted { .. } if shown => "box of the centre of mass, conditional",
        Verdict::Refuted { .. } => "prior box of the centre of mass",
    };
    let (lower, upper) = (side(0), side(1));
    let estimate_by = format!("estimate by {name}");
    let center = body::center_box(&lower, &upper);
    let body = Shown { estimate: &estimate, truth: None, center, origin: "joint" };
    body::figures("Last link with what it holds", &body, &estimate_by, box_of)
}

/// Small plots beyond this many are folded away: an arm's joints and its last body's parameters are in sight.
const SHOWN: usize = 12;

/// Each parameter's interval against the data that were used.
fn history(findings: &Findings) -> Result<String, ReportError> {
    let Some(last) = findings.history.last().filter(|m| m.data_s > 0.0) else { return Ok(String::new()) };
    let mut figures = String::new();
    for (k, p) in findings.parameters.iter().enumerate() {
        let title = format!("{}, {}", symbol(&p.name), unit(p.unit));
        let at = |of: fn(&Moment) -> &Vec<f64>| findings.history.iter().map(move |m| (m.data_s, of(m)[k]));
        let band = Series {
            color: LINES[0],
            shape: Shape::Band(at(|m| &m.upper).map(|p| p.1).collect()),
            points: at(|m| &m.lower).collect(),
        };
        let estimate = Series {
            color: LINES[1],
            shape: Shape::Line,
            points: vec![(0.0, p.estimate), (last.data_s, p.estimate)],
        };
        let plot = Plot {
            title: format!("{}, {}", p.name, p.unit),
            size: (300, 150),
            t_end: last.data_s,
            range: None,
            from_zero: false,
            phases: &[],
            series: vec![band, estimate],
        };
        figures += &format!(
            "<figure><h3>{title}</h3><div class=\"key\"><span><i class=\"{}\"></i>set</span><span><i class=\"{}\"></i>estimate</span></div>{}</figure>",
            CLASSES[0],
            CLASSES[1],
            plot.svg()?
        );
    }
    let grid = format!("<div class=\"grid small\">{figures}</div>");
    let many = findings.parameters.len();
    let grid = if many > SHOWN {
        format!("<details><summary>{many} parameters</summary>{grid}</details>")
    } else {
        grid
    };
    Ok(format!(
        "<h2>Intervals over the data</h2><p>What was left of each interval after so many seconds of data, in the order of the logs; the \
         line is the estimate from all of them.</p>{grid}"
    ))
}

/// A table of HTML cells.
pub(super) fn table(caption: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: String = head.iter().map(|h| format!("<th>{h}</th>")).collect();
    let cells = |row: Vec<String>| row.iter().map(|c| format!("<td>{c}</td>")).collect::<String>();
    let rows: String = rows.map(|row| format!("<tr>{}</tr>", cells(row))).collect();
    format!("<div class=\"wide\"><table><caption>{caption}</caption><tr>{head}</tr>{rows}</table></div>")
}

fn joints_tables(findings: &Findings) -> String {
    let optional = |x: Option<f64>| x.map_or("–".to_owned(), figure);
    let learned = table(
        "Recordings learned from",
        &["joint", "torque, N m RMS", "error, N m RMS", "samples at the speed limit"],
        findings.joints.iter().map(|j| {
            let numbers = [figure(j.torque_rms_nm), figure(j.fit_rms_nm), j.speed_limited.to_string()];
            std::iter::once(escape(&j.name)).chain(numbers).collect()
        }),
    );
    let predicted = table(
        "Recording that was predicted",
        &[
            "joint",
            "torque, N m RMS",
            "error, N m RMS",
            "with the limited samples",
            "samples at the speed limit",
        ],
        findings.joints.iter().map(|j| {
            let numbers = [
                optional(j.validation_torque_rms_nm),
                optional(j.validation_rms_nm),
                optional(j.validation_rms_all_nm),
                j.validation_speed_limited.to_string(),
            ];
            std::iter::once(escape(&j.name)).chain(numbers).collect()
        }),
    );
    let predicted =
        if findings.joints.iter().any(|j| j.validation_rms_nm.is_some()) { predicted } else { String::new() };
    let predicted = predicted + &findings.validation.as_ref().map(validation::section).unwrap_or_default();
    let predicted = match beside(findings) {
        line if line.is_empty() => predicted,
        line => format!("{predicted}<p>{}</p>", escape(&line)),
    };
    let additive = table(
        "Smallest additive bound on a window's mean torque error that explains the data, N m",
        &["joint", "necessary for it alone", "enough for all together"],
        findings
            .joints
            .iter()
            .map(|j| vec![escape(&j.name), below(j.additive_necessary_nm), above(j.additive_sufficient_nm)]),
    );
    let needed = findings.joints.iter().any(|j| j.additive_sufficient_nm > 0.0);
    let additive = if needed { additive } else { String::new() };
    format!(
        "<h2>Joints</h2><p>Torque errors of the estimate. Samples at a joint's speed limit are not learned from and counted apart: \
         its drive brakes there by itself.</p>{learned}{predicted}{additive}"
    )
}

fn parameters_table(parameters: &[ParameterFinding]) -> String {
    let head = ["parameter", "unit", "model", "estimate", "lower", "upper", "within the prior"]
        .map(|h| format!("<th>{h}</th>"))
        .concat();
    let rows: String = parameters
        .iter()
        .map(|p| {
            let cells = [
                symbol(&p.name),
                unit(p.unit),
                figure(p.model),
                figure(p.estimate),
                p.set.map_or("–".to_owned(), |set| below(set[0])),
                p.set.map_or("–".to_owned(), |set| above(set[1])),
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
    let [from, to] = p.set.map_or([0.0; 2], |set| set.map(place));
    format!(
        "<span class=\"bar\"><i style=\"left:{from:.2}%;width:{:.2}%\"></i><b style=\"left:{:.2}%\"></b></span>",
        to - from,
        place(p.estimate)
    )
}
