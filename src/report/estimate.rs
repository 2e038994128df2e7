//! What `surelift estimate` leaves behind: `summary.json`, `log.csv` (the estimated states) and `report.html`.

use std::fmt::Write as _;
use std::path::Path;

use super::ReportError;
use super::figure::{figure, percent};
use super::html::{document, escape};
use super::plots::{LINES, Plot, Series, Shape};
use super::table::align;
use super::validation;
use super::write::write_files;
use crate::study::estimation::{ParameterRow, StudyResult};

/// Writes the folder, all or nothing.
///
/// # Errors
/// As [`super::write()`].
pub fn write(folder: &Path, result: &StudyResult) -> Result<(), ReportError> {
    write_files(folder, result, &states(result), &page(result)?)
}

/// The table on the terminal.
pub fn table(result: &StudyResult) -> String {
    let rule = "─".repeat(72);
    let mut text = format!(
        "{rule}\n  {} · {} · {} after {} iterations, {:.2} s\n{rule}\n",
        result.name, result.robot, result.status, result.iterations, result.seconds
    );
    let by_blocks = has_blocks(result);
    let mut rows = vec![heading(by_blocks).map(str::to_owned).collect::<Vec<_>>()];
    for row in &result.parameters {
        let mut cells = vec![format!("{} {}", row.place, row.name)];
        cells.extend(numbers(row, by_blocks));
        cells.push(row.unit.clone());
        rows.push(cells);
    }
    text += &align(&rows);
    text += &align(&residuals(result));
    text += &align(&costs(result));
    text += &result.validation.as_ref().map(validation::text).unwrap_or_default();
    for other in &result.validation_others {
        text += &validation::beside(other.method.name(), &other.finding);
    }
    if let Some(choice) = &result.choice {
        let _ = writeln!(text, "  {}", choice.sentence());
    }
    if let Some(error) = result.state_error {
        let _ = writeln!(text, "  largest error of a state: {} (rad, rad/s)", figure(error));
    }
    for warning in &result.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    text + &rule + "\n"
}

/// The table of what is left of the readings, heading first.
fn residuals(result: &StudyResult) -> Vec<Vec<String>> {
    let heading = ["channel", "stated", "estimated", "left (rms)", "chi squared", "correlation", "unit"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(result.residuals.iter().map(|row| {
        vec![
            row.channel.clone(),
            figure(row.stated),
            row.estimated.map_or("-".to_owned(), figure),
            figure(row.rms),
            row.chi_squared.map_or("-".to_owned(), |c| format!("{c:.2}")),
            format!("{:.2}", row.correlation),
            row.unit.clone(),
        ]
    }));
    rows
}

/// The costs of a mechanism's problem and of what it was validated on, heading first; nothing of other problems.
fn costs(result: &StudyResult) -> Vec<Vec<String>> {
    let Some(found) = &result.mechanism else { return vec![] };
    let row = |name: &str, observation: f64, state: f64, cost: f64| {
        vec![name.to_owned(), figure(observation), figure(state), figure(cost)]
    };
    let heading = ["mean squares, rad^2", "readings", "impulses, times kappa", "cost"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.push(row(&format!("learnt from ({} form)", found.form), found.observation, found.state, found.cost));
    rows.extend(found.validation.iter().map(|v| row(&v.label, v.observation, v.state, v.cost)));
    if let Some(mean) = found.cross_validation {
        rows.push(vec!["cross-validation".to_owned(), String::new(), String::new(), figure(mean)]);
    }
    rows
}

/// Whether deviations by blocks were asked for and found.
fn has_blocks(result: &StudyResult) -> bool {
    result.parameters.iter().any(|row| row.block_deviation.is_some())
}

/// The heading of the table of parameters.
fn heading(by_blocks: bool) -> impl Iterator<Item = &'static str> {
    let deviations = ["parameter", "start", "estimate", "deviation", "coloured"].into_iter();
    deviations.chain(by_blocks.then_some("by blocks")).chain(["truth", "error", "unit"])
}

/// Start, estimate, all deviations, truth, relative error.
fn numbers(row: &ParameterRow, by_blocks: bool) -> Vec<String> {
    let error = row.truth.filter(|t| *t != 0.0).map(|t| ((row.estimate - t) / t).abs());
    let open = |deviation: Option<f64>| deviation.map_or("∞".to_owned(), figure);
    let mut cells =
        vec![figure(row.start), figure(row.estimate), open(row.deviation), open(row.coloured_deviation)];
    cells.extend(by_blocks.then(|| open(row.block_deviation)));
    cells.extend([figure(row.truth.unwrap_or(f64::NAN)), percent(error)]);
    cells
}

/// The estimated states as CSV.
fn states(result: &StudyResult) -> String {
    // In a gap there is no noise: the first interval may be one.
    let n = result.trajectory.us.iter().map(Vec::len).max().unwrap_or(0);
    let state = result.trajectory.xs.first().map_or(0, Vec::len);
    let columns = |name: &str, count: usize| (1..=count).map(|j| format!(",{name}{j}")).collect::<String>();
    let mut text = format!("t{}{}{}\n", columns("q", state - n), columns("dq", n), columns("w", n));
    for (k, (x, u)) in result.trajectory.xs.iter().zip(&result.trajectory.us).enumerate() {
        let _ = write!(text, "{}", result.times_s.get(k).copied().unwrap_or(f64::NAN));
        for value in x.iter().chain(u) {
            let _ = write!(text, ",{value}");
        }
        // A gap has none, and the last sample no interval behind it.
        text += &",".repeat(n - u.len());
        text.push('\n');
    }
    text
}

fn page(result: &StudyResult) -> Result<String, ReportError> {
    let mut body = format!(
        "<header><h1>{}</h1><p>{}</p><p>{}: {} after {} iterations in {} s; {} samples every {} s, robot {}.</p></header>",
        escape(&result.name),
        escape(&result.description),
        escape(&result.status),
        if result.status == "converged" { "minimum found" } else { "stopped" },
        result.iterations,
        figure(result.seconds),
        result.samples,
        figure(result.step_s),
        escape(&result.robot),
    );
    for warning in &result.warnings {
        let _ = write!(body, "<p class=\"reason warn\">{}</p>", escape(warning));
    }
    body += "<section><h2>Convergence</h2><p>Decimal logarithms of the cost (blue) and of the sum of all gaps (orange) over \
             the iterations.</p>";
    body += &convergence(result)?;
    body += "</section><section><h2>Parameters</h2><div class=\"wide\"><table><tr>";
    let by_blocks = has_blocks(result);
    body.extend(heading(by_blocks).map(|name| format!("<th>{name}</th>")));
    body += "</tr>";
    for row in &result.parameters {
        let cells: String =
            numbers(row, by_blocks).iter().map(|c| format!("<td>{}</td>", escape(c))).collect();
        let (place, name, unit) = (escape(&row.place), escape(&row.name), escape(&row.unit));
        let _ = write!(body, "<tr><td>{place} {name}</td>{cells}<td>{unit}</td></tr>");
    }
    body += "</table></div></section><section><h2>What is left of the readings</h2><p>Chi squared is per degree of freedom: 1 where the stated \
             deviation holds. Coloured deviations of parameters count on neither that nor on independent errors.</p><div class=\"wide\"><table>";
    for (k, row) in residuals(result).iter().enumerate() {
        let tag = if k == 0 { "th" } else { "td" };
        let cells: String = row.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect();
        let _ = write!(body, "<tr>{cells}</tr>");
    }
    body += "</table></div></section>";
    if let Some((heading, rows)) = costs(result).split_first() {
        body += "<section><h2>Costs</h2><p>Mean squares over the times. Readings below the first row were not learnt from: their states alone \
                 are fitted.</p><div class=\"wide\"><table>";
        for (tag, row) in std::iter::once(("th", heading)).chain(rows.iter().map(|row| ("td", row))) {
            let cells: String = row.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect();
            let _ = write!(body, "<tr>{cells}</tr>");
        }
        body += "</table></div></section>";
    }
    body += &result.validation.as_ref().map(validation::section).unwrap_or_default();
    for other in &result.validation_others {
        let _ = write!(body, "<p>{}</p>", escape(&validation::beside(other.method.name(), &other.finding)));
    }
    if let Some(choice) = &result.choice {
        let _ = write!(body, "<p>{}</p>", escape(&choice.sentence()));
    }
    let footer = format!("surelift {} · estimated states in log.csv", env!("CARGO_PKG_VERSION"));
    Ok(document(&escape(&result.name), &body, &footer))
}

fn convergence(result: &StudyResult) -> Result<String, ReportError> {
    let line = |color, value: &dyn Fn(usize) -> f64| Series {
        color,
        shape: Shape::Line,
        points: (0..result.record.len())
            .map(|i| (i as f64, value(i)))
            .filter(|(_, v)| v.is_finite())
            .collect(),
    };
    let plot = Plot {
        title: "Convergence".to_owned(),
        size: (760, 260),
        t_end: result.record.len() as f64,
        range: None,
        from_zero: false,
        phases: &[],
        series: vec![
            line(LINES[0], &|i| result.record[i].cost.log10()),
            line(LINES[1], &|i| result.record[i].violation.max(1e-16).log10()),
        ],
    };
    plot.svg()
}
