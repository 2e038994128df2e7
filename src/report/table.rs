//! The closing table, in plain text.

use std::fmt::Write;

use super::figure::{above, below, figure, percent, with_unit};
use super::payload;
use super::summary::{Payload, Summary};
use crate::horizon::{MostProbable, PlacingError, TickSummary};
use crate::inertia::PARAMETER_NAMES;
use crate::simulate::SpringAudit;

/// A column with a cell of more characters is prose.
const PROSE: usize = 40;

/// Lays out rows of cells in columns: the first column and those of prose to the left, the others to the right.
pub fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |j: usize| {
        rows.iter().filter_map(|row| row.get(j)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (j, cell) in row.iter().enumerate() {
            let fill = " ".repeat(widths[j] - cell.chars().count());
            let (left, right) =
                if j == 0 || widths[j] > PROSE { ("", fill.as_str()) } else { (fill.as_str(), "") };
            line += &format!(" {left}{cell}{right} ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The closing table of a run: outcome, figures, and what is known of the payload.
pub fn closing(summary: &Summary) -> String {
    let rule = "─".repeat(72);
    let mut text = format!(
        "{rule}\n  {} · {} · seed {} · {}\n  {}",
        summary.scenario, summary.method, summary.seed, summary.robot, summary.outcome
    );
    if let Some(reason) = &summary.reason {
        let _ = write!(text, ": {reason}");
    }
    for further in summary.broken.iter().skip(1) {
        let _ = write!(text, "\n  also: {}", further.text);
    }
    if let Some(stopped) = &summary.stopped {
        let _ = write!(text, "\n  stopped gently from t = {:.3} s on", stopped.t);
    }
    if !summary.gaps.is_empty() {
        let _ =
            write!(text, "\n  {} gaps in the measurements; their windows are left out", summary.gaps.len());
    }
    for wait in &summary.waits {
        let (from, to) = (wait.from_s, wait.to_s);
        let _ = write!(text, "\n  waited for '{}' from {from:.1} s to {to:.1} s", wait.obstacle);
    }
    if summary.touched_at_rest > 0 {
        text += "\n  what moves touched the resting arm";
    }
    let _ = write!(text, "\n{rule}\n{}\n", figures(summary));
    let mut rows = Vec::new();
    match (&summary.payload_alone, &summary.payload) {
        (Some(alone), _) => rows.extend(payload::rows(alone)),
        (None, Some(whole)) => rows.extend(whole_body(whole)),
        (None, None) => {}
    }
    if let Some(found) = &summary.most_probable {
        rows.push(Vec::new());
        rows.extend(most_probable(found));
    }
    if !rows.is_empty() {
        let notes = summary.payload_alone.iter().flat_map(payload::notes);
        let notes: String = notes.map(|note| format!("  {note}\n")).collect();
        text += &(align(&rows) + &notes + &rule + "\n");
    }
    text
}

/// Label and value of the headline figures.
fn figures(summary: &Summary) -> String {
    let certified = summary.plans.iter().filter(|plan| plan.certified).count();
    let violated = summary.violations.counts().into_iter().filter(|(_, count)| *count > 0);
    let violated: Vec<_> = violated.map(|(name, count)| format!("{name} {count}")).collect();
    let violations = if violated.is_empty() { "none".to_owned() } else { violated.join(", ") };
    [
        ("violations", violations),
        ("truth inside at every update", if summary.truth_inside { "yes" } else { "NO" }.to_owned()),
        ("plans certified", certified_plans(summary, certified)),
        ("deadlines missed", summary.deadline_misses.to_string()),
        ("largest torque / limit", percent(summary.max_torque_ratio)),
        ("largest tracking error", with_unit(summary.max_tracking_error_rad, "rad")),
        ("largest share of the tube used", percent(summary.tube_used_ratio)),
        ("smallest clearance", with_unit(summary.min_clearance_m, "m")),
        ("distance to the goal", with_unit(summary.goal_error_rad, "rad")),
        ("integration error", with_unit(summary.integration_error_rad, "rad")),
        ("simulated / on the clock", format!("{:.1} s / {:.1} s", summary.duration_s, summary.wall_s)),
    ]
    .into_iter()
    .chain(summary.placing.iter().map(|error| ("payload placed", placed(error))))
    .chain(summary.springs.iter().map(|audit| ("springs", springs(audit))))
    .chain(summary.ticks.as_ref().map(ticks).into_iter().flatten())
    .map(|(label, value)| format!("  {label:<33}{value}\n"))
    .collect()
}

/// How many plans were certified, and whether the path was carried out without a proof.
fn certified_plans(summary: &Summary, certified: usize) -> String {
    let all = format!("{certified} of {}", summary.plans.len());
    if summary.unproven { all + "; the path NOT certified" } else { all }
}

/// How far springs were bent, and what they used of what is stated of them.
fn springs(audit: &SpringAudit) -> String {
    let most = |all: &[f64]| all.iter().fold(0.0f64, |most, x| most.max(*x));
    let used = format!(
        "bent by {} of the torque limit; {} N m, {} rad/s, {} rad",
        percent(Some(audit.torque_ratio)),
        figure(most(&audit.unmodelled_nm)),
        figure(most(&audit.velocity_rad_s)),
        figure(most(&audit.position_rad)),
    );
    match audit.stated_ratio {
        None => used + ", none of it stated",
        Some(ratio) if ratio > 1.0 => format!("{used}: MORE THAN STATED, {}", percent(Some(ratio))),
        Some(ratio) => format!("{used}: {} of what is stated", percent(Some(ratio))),
    }
}

/// How far what is held is from its place.
fn placed(error: &PlacingError) -> String {
    let PlacingError { horizontal_m, vertical_m, tilt_deg } = error;
    let mm = |x: &f64| 1e3 * x;
    format!("{:.1} mm beside, {:+.1} mm above, {tilt_deg:.2} degrees", mm(horizontal_m), mm(vertical_m))
}

/// Label and value of how well the ticks kept time.
fn ticks(ticks: &TickSummary) -> [(&'static str, String); 4] {
    let TickSummary { median_us, most_us, longest_us, late_most_us, latest_us, .. } = ticks;
    let TickSummary { ticks, overruns, rows_lost, prioritised, .. } = ticks;
    [
        (
            "reading to torque",
            format!("{median_us:.1} us median, {most_us:.1} us in 99.9 %, {longest_us:.0} us at most"),
        ),
        ("ticks late by", format!("{late_most_us:.0} us in 99.9 %, {latest_us:.0} us at most")),
        ("ticks overrun, rows lost", format!("{overruns}, {rows_lost} of {ticks}")),
        ("real-time priority", if *prioritised { "granted" } else { "refused" }.to_owned()),
    ]
}

/// Most probable parameters with their deviations.
fn most_probable(found: &MostProbable) -> Vec<Vec<String>> {
    let title = match (&found.failure, found.inside) {
        (Some(reason), _) => format!("Most probable: {reason}"),
        (None, true) => "Most probable (inside the set)".to_owned(),
        (None, false) => "Most probable (OUTSIDE the set)".to_owned(),
    };
    let mut rows = vec![vec![title, "estimate".to_owned(), "deviation".to_owned()]];
    rows.extend(found.estimate.iter().zip(&found.deviation).zip(PARAMETER_NAMES).map(
        |((estimate, deviation), name)| vec![format!("  {name}"), figure(*estimate), figure(*deviation)],
    ));
    rows
}

/// The whole last body: truth, estimate and proven interval of each parameter.
fn whole_body(payload: &Payload) -> Vec<Vec<String>> {
    let heading = ["Link + gripper + payload", "truth", "nominal", "lower", "upper", "half-width", "unit"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend((0..payload.names.len()).map(|i| {
        let known = [figure(payload.truth[i]), figure(payload.known.nominal[i])];
        let proven =
            [below(payload.known.lower[i]), above(payload.known.upper[i]), above(payload.half_width(i))];
        let mut row = vec![format!("  {}", payload.names[i])];
        row.extend(known.into_iter().chain(proven));
        row.push(payload.units[i].clone());
        row
    }));
    rows
}
