//! Of a study of recordings: every method's estimate beside the set, and the base parameters, for the page and as rows of files.

use super::figure::{above, below, figure};
use super::html::{escape, symbol, unit};
use crate::study::identification::{BaseFinding, Findings, MethodFinding, ParameterFinding};

/// Rows of `methods.csv`: one a parameter, a column a method.
pub(super) fn rows(findings: &Findings) -> Vec<Vec<String>> {
    let mut heading: Vec<String> =
        ["parameter", "unit", "model", "set lower", "set upper"].map(str::to_owned).to_vec();
    for method in &findings.methods {
        heading.push(method.method.name().to_owned());
        if method.interval.is_some() {
            heading.push(format!("{} lower", method.method.name()));
            heading.push(format!("{} upper", method.method.name()));
        }
    }
    let mut rows = vec![heading];
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for (k, p) in findings.parameters.iter().enumerate() {
        let mut row = vec![p.name.clone(), p.unit.to_owned()];
        let side = |k: usize| p.set.map_or(String::new(), |set| set[k].to_string());
        row.extend([p.model.to_string(), side(0), side(1)]);
        for method in &findings.methods {
            row.push(number(method.values[k]));
            if let Some(intervals) = &method.interval {
                row.push(number(intervals[k].map(|i| i[0])));
                row.push(number(intervals[k].map(|i| i[1])));
            }
        }
        rows.push(row);
    }
    rows
}

/// Heading of [`summary_rows`].
pub(super) const HEADING: [&str; 5] =
    ["method", "a body", "outside the set", "torque error RMS, N m (mean)", "time, ms"];

/// One row a method, for the terminal: is its last body one that can exist, how many parameters lie outside the set, torque errors.
pub(super) fn summary_rows(findings: &Findings) -> Vec<Vec<String>> {
    let row = |m: &MethodFinding| {
        let chosen = if m.chosen { " *" } else { "" };
        let mut cells = vec![format!("{}{chosen}", m.method.name())];
        if m.torque_rms_nm.is_empty() {
            cells.extend(["–"; 4].map(str::to_owned));
        } else {
            cells.push(yes(m.physical).to_owned());
            cells.push(m.outside.len().to_string());
            cells.push(figure(mean(&m.torque_rms_nm)));
            cells.push(figure(1e3 * m.seconds));
        }
        cells
    };
    findings.methods.iter().map(row).collect()
}

/// What else is to be said of the methods, one line each, for the terminal.
pub(super) fn notes(findings: &Findings) -> String {
    let said = findings.methods.iter().filter_map(|m| Some((m.method.name(), m.note.as_ref()?)));
    said.map(|(name, note)| format!("  {name}: {note}\n")).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn yes(answer: Option<bool>) -> &'static str {
    match answer {
        Some(true) => "yes",
        Some(false) => "no",
        None => "–",
    }
}

/// More parameters than this stand below one another, the methods side by side: a table of ten columns is as wide as a page.
const ACROSS: usize = 10;

/// The section of the page.
pub(super) fn section(findings: &Findings) -> String {
    let joints: String = findings.joints.iter().map(|j| format!("<th>{}</th>", escape(&j.name))).collect();
    let errors: String = findings.methods.iter().map(|m| error_row(m, findings.joints.len())).collect();
    let on = if findings.joints.iter().any(|j| j.validation_rms_nm.is_some()) {
        "the recording that was predicted"
    } else {
        "the recordings learned from"
    };
    let values =
        if findings.parameters.len() <= ACROSS { methods_down(findings) } else { parameters_down(findings) };
    format!(
        "<h2>Estimates beside the set</h2><p>The same data by every method; none of them has a say in the set. Values outside the set are \
         marked. All but inverse dynamics use momentum windows and no accelerations.</p>\
         <div class=\"wide\"><table class=\"dense\">{values}</table></div>\
         <div class=\"wide\"><table class=\"dense\"><caption>Torque errors on {on}, N m RMS</caption><tr><th>method</th><th>body can exist</th>\
         <th>outside the set</th>{joints}<th>time, ms</th></tr>{errors}</table></div>"
    )
}

/// Value k of a method; marked if it lies outside the set.
fn value(m: &MethodFinding, k: usize, name: &str) -> String {
    let Some(x) = m.values[k] else { return "<td>–</td>".to_owned() };
    let out = if m.outside.iter().any(|o| o == name) { " class=\"out\"" } else { "" };
    format!("<td{out}>{}</td>", figure(x))
}

/// From and to, where there is an interval.
fn interval(interval: Option<[f64; 2]>) -> String {
    let text = interval
        .map_or("–".to_owned(), |[low, high]| format!("<small>{}<br>{}</small>", below(low), above(high)));
    format!("<td>{text}</td>")
}

/// A row a method, a column a parameter; the set and the theorem's intervals as rows of their own.
fn methods_down(findings: &Findings) -> String {
    let parameters = &findings.parameters;
    // All of one link: its name is said once.
    let short = |name: &str| symbol(name.rsplit_once("link ").map_or(name, |(_, short)| short));
    let head = |p: &ParameterFinding| {
        format!("<th title=\"{}\">{}, {}</th>", escape(&p.name), short(&p.name), unit(p.unit))
    };
    let mut html = format!("<tr><th>method</th>{}</tr>", parameters.iter().map(head).collect::<String>());
    let set: String = parameters.iter().map(|p| interval(p.set)).collect();
    html += &format!("<tr><td><b>set, from and to</b></td>{set}</tr>");
    for m in findings.methods.iter().filter(|m| !m.torque_rms_nm.is_empty()) {
        let values: String = parameters.iter().enumerate().map(|(k, p)| value(m, k, &p.name)).collect();
        html += &format!("<tr><td>{}</td>{values}</tr>", label(m));
        if let Some(intervals) = &m.interval {
            let cells = intervals.iter().map(|i| interval(*i));
            html += &format!("<tr><td>{}, from and to</td>{}</tr>", label(m), cells.collect::<String>());
        }
    }
    html
}

/// A row a parameter, a column a method.
fn parameters_down(findings: &Findings) -> String {
    let seen: Vec<&MethodFinding> =
        findings.methods.iter().filter(|m| m.values.iter().any(Option::is_some)).collect();
    let mut head = String::new();
    for m in &seen {
        head += &format!("<th>{}</th>", label(m));
        if m.interval.is_some() {
            head += "<th>from and to</th>";
        }
    }
    let mut html = format!("<tr><th>parameter</th><th>unit</th><th>set from</th><th>to</th>{head}</tr>");
    for (k, p) in findings.parameters.iter().enumerate() {
        let mut cells = String::new();
        for m in &seen {
            cells += &value(m, k, &p.name);
            if let Some(intervals) = &m.interval {
                cells += &interval(intervals[k]);
            }
        }
        html += &format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{cells}</tr>",
            symbol(&p.name),
            unit(p.unit),
            p.set.map_or("–".to_owned(), |set| below(set[0])),
            p.set.map_or("–".to_owned(), |set| above(set[1]))
        );
    }
    html
}

fn label(m: &MethodFinding) -> String {
    let name = escape(m.method.name()).replace('_', " ");
    if m.chosen { format!("<b>{name}</b>") } else { name }
}

fn error_row(m: &MethodFinding, joints: usize) -> String {
    if m.torque_rms_nm.is_empty() {
        let reason = escape(m.note.as_deref().unwrap_or("no estimate"));
        return format!(
            "<tr><td>{}</td><td class=\"text\" colspan=\"{}\">{reason}</td></tr>",
            label(m),
            joints + 3
        );
    }
    let note = m.note.as_ref().map_or(String::new(), |n| format!("<br><small>{}</small>", escape(n)));
    let errors: String = m.torque_rms_nm.iter().map(|e| format!("<td>{}</td>", figure(*e))).collect();
    format!(
        "<tr><td>{}{note}</td><td>{}</td><td>{}</td>{errors}<td>{}</td></tr>",
        label(m),
        yes(m.physical),
        m.outside.len(),
        figure(1e3 * m.seconds)
    )
}

/// Rows of `base_parameters.csv`.
pub(super) fn base_rows(base: &BaseFinding) -> Vec<Vec<String>> {
    let mut rows = vec![["parameter", "unit", "model", "estimate", "deviation"].map(str::to_owned).to_vec()];
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    rows.extend(base.parameters.iter().map(|p| {
        vec![p.name.clone(), p.unit.to_owned(), p.model.to_string(), number(p.estimate), number(p.deviation)]
    }));
    rows
}

/// In a sentence.
pub(super) fn base_sentence(base: &BaseFinding) -> String {
    let gap = |gap: Option<f64>| gap.map_or("full rank".to_owned(), |gap| format!("gap {}", figure(gap)));
    let condition = base.condition_number.map_or_else(
        || "these recordings do not show all of them".to_owned(),
        |c| format!("condition number of these recordings {}", figure(c)),
    );
    format!(
        "base parameters: {} of {} inertial ones ({}), {} of {} with friction and transmission ({}); {condition}",
        base.rank,
        base.of,
        gap(base.gap),
        base.rank_with_drives,
        base.of_with_drives,
        gap(base.gap_with_drives)
    )
}

/// The section of the page.
pub(super) fn base_section(base: &BaseFinding) -> String {
    let optional = |x: Option<f64>| x.map_or("–".to_owned(), figure);
    let rows: String = base
        .parameters
        .iter()
        .map(|p| {
            format!(
                "<tr><td class=\"combination\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&p.name),
                unit(p.unit),
                figure(p.model),
                optional(p.estimate),
                optional(p.deviation)
            )
        })
        .collect();
    format!(
        "<h2>The whole arm</h2><p>Least squares over what torques can tell of the whole arm, links, friction and transmissions at once, \
         nothing believed beforehand. A rank without a wide gap behind it is a guess. Deviations count torque errors as independent, and \
         bound nothing.</p><p>{}.</p><details><summary>{} base parameters</summary><div class=\"wide\"><table><tr><th>combination</th><th>unit</th>\
         <th>model</th><th>estimate</th><th>deviation</th></tr>{rows}</table></div></details>",
        escape(&base_sentence(base)),
        base.parameters.len()
    )
}
