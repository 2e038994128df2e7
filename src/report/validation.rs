//! How well a recording is predicted, as a table: on the terminal and in a report.

use super::figure::figure;
use super::html::escape;
use super::table::align;
use crate::study::validation::ValidationFinding;

/// The rows, headings first: torques joint by joint, and simulations by their length.
fn rows(finding: &ValidationFinding) -> [Vec<Vec<String>>; 2] {
    let words = |row: &[&str]| row.iter().map(|s| (*s).to_owned()).collect::<Vec<String>>();
    let mut torques = vec![words(&["joint", "torque RMS", "error RMS"])];
    torques.extend(
        finding.torques.iter().map(|t| vec![t.joint.clone(), figure(t.measured_rms), figure(t.error_rms)]),
    );
    let mut simulations =
        vec![words(&["simulated for", "from", "position errors RMS", "velocity errors RMS"])];
    let list = |values: &[f64]| values.iter().map(|x| figure(*x)).collect::<Vec<_>>().join(", ");
    simulations.extend(finding.simulations.iter().map(|s| {
        let (after, from) = (format!("{} s", s.after_s), format!("{} starts", s.simulations));
        vec![after, from, list(&s.position_rms), list(&s.velocity_rms)]
    }));
    [torques, simulations]
}

/// For the terminal.
pub(super) fn text(finding: &ValidationFinding) -> String {
    let [torques, simulations] = rows(finding);
    format!("  `{}`, not learnt from:\n{}{}", finding.path, align(&torques), align(&simulations))
}

/// Another method's errors of the same recording, in a line.
pub(super) fn beside(method: &str, finding: &ValidationFinding) -> String {
    let list = |values: &[f64]| values.iter().map(|x| figure(*x)).collect::<Vec<_>>().join(", ");
    let torques: Vec<f64> = finding.torques.iter().map(|t| t.error_rms).collect();
    let last = finding.simulations.last();
    let simulated = last
        .map_or(String::new(), |s| format!("; positions after {} s {}", s.after_s, list(&s.position_rms)));
    format!("  beside it, {method}: torque errors RMS {}{simulated}\n", list(&torques))
}

/// For a page.
pub(super) fn section(finding: &ValidationFinding) -> String {
    let table = |rows: Vec<Vec<String>>| {
        let line = |(k, row): (usize, Vec<String>)| {
            let tag = if k == 0 { "th" } else { "td" };
            let cells: String = row.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect();
            format!("<tr>{cells}</tr>")
        };
        format!("<table>{}</table>", rows.into_iter().enumerate().map(line).collect::<String>())
    };
    format!(
        "<section><h2>Recording that was not learnt from</h2><p>{}. Torques of inverse dynamics against the measured ones (N m), and \
         simulations under the measured torques against the recording (rad, rad/s; joint by joint).</p>{}</section>",
        escape(&finding.path),
        rows(finding).into_iter().map(table).collect::<String>()
    )
}
