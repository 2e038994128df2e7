//! `report.html`: the run on one page that needs nothing else, neither network nor neighbouring files.

mod knowledge;

use super::body;
use super::figure::{above, below, figure, percent, with_unit};
use super::plots::{LIMIT, LINES, Plot, Series, Shape, TRUTH};
use super::summary::{Payload, Summary};
use super::{ReportError, RunRecord};
use crate::horizon::{Identification, MostProbable, Outcome, TaskPhase};
use crate::inertia::{PARAMETER_NAMES, PARAMETER_UNITS};
use knowledge::knowledge;

const CSS: &str = include_str!("page.css");

/// Names of the CSS classes of [`LINES`].
pub(super) const CLASSES: [&str; LINES.len()] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];

/// The page.
///
/// # Errors
/// [`ReportError::Shape`] if the record contradicts itself, [`ReportError::Plot`] if a plot cannot be drawn.
pub fn page<P>(record: &RunRecord<P>) -> Result<String, ReportError> {
    record.check()?;
    let summary = &record.summary;
    let title = escape(&summary.scenario);
    let charts = Charts::new(record);
    let [replay, script] = record.replay.as_ref().map(|replay| replay.parts(summary)).unwrap_or_default();
    let body = [
        head(summary),
        replay,
        knowledge(summary, &charts)?,
        safety(record, &charts)?,
        plans(summary),
        script,
    ]
    .concat();
    let footer = format!(
        "surelift {} · summary.json schema {} · samples in log.csv, every plan in plans/",
        env!("CARGO_PKG_VERSION"),
        summary.schema,
    );
    Ok(document(&format!("{title} · {}", summary.outcome), &body, &footer))
}

/// A whole document around `body`; all three are HTML.
pub(super) fn document(title: &str, body: &str, footer: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{CSS}</style></head><body><main>{body}\
         <footer>{footer}</footer></main></body></html>\n"
    )
}

/// Text that is safe between tags and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            _ => safe.push(c),
        }
    }
    safe
}

/// `m c_x` with its index set low, also behind a link's name; names of joints stay as they are.
pub(super) fn symbol(name: &str) -> String {
    let split = name.rfind(['c', 'I']).and_then(|at| name[at..].split_once('_').map(|parts| (at, parts)));
    match split {
        Some((at, (letter, index)))
            if letter.len() == 1
                && !index.is_empty()
                && index.chars().all(|c| "xyz".contains(c))
                && (at == 0 || name[..at].ends_with(' ')) =>
        {
            format!("{}{letter}<sub>{}</sub>", escape(&name[..at]), escape(index))
        }
        _ => escape(name),
    }
}

/// A unit with its powers set high.
pub(super) fn unit(name: &str) -> String {
    escape(name).replace("^2", "²")
}

/// Outcome, key figures, violations.
fn head(summary: &Summary) -> String {
    let mood = match summary.outcome {
        Outcome::Success => "good",
        Outcome::SafeStop | Outcome::AssumptionBroken => "warn",
        _ => "bad",
    };
    let reason = summary
        .reason
        .as_deref()
        .map_or(String::new(), |reason| format!("<p class=\"reason {mood}\">{}</p>", escape(reason)));
    let reason = reason + &findings(summary) + &trusted(summary);
    let certified = summary.plans.iter().filter(|plan| plan.certified).count();
    let bounds = summary.payload_alone.as_ref().and_then(|alone| alone.bounds.as_ref());
    let mass = bounds.map(|bounds| {
        let [low, high] = bounds.mass_kg;
        ("Mass of the payload", format!("{} – {} kg", below(low), above(high)))
    });
    let others = [
        ("Plans certified", format!("{certified} of {}", summary.plans.len())),
        ("Largest torque / limit", percent(summary.max_torque_ratio)),
        ("Largest share of the tube", percent(summary.tube_used_ratio)),
        ("Smallest clearance", with_unit(summary.min_clearance_m, "m")),
        ("Distance to the goal", with_unit(summary.goal_error_rad, "rad")),
        ("Deadlines missed", summary.deadline_misses.to_string()),
        (
            "Simulated / on the clock",
            format!(
                "{} / {}",
                with_unit(Some(summary.duration_s), "s"),
                with_unit(Some(summary.wall_s), "s")
            ),
        ),
    ];
    let ticks = (summary.ticks.as_ref())
        .map(|ticks| ("Reading to torque, 99.9 %", format!("{:.0} us", ticks.most_us)));
    let cards: String = (mass.into_iter().chain(others).chain(ticks))
        .map(|(label, value)| format!("<div class=\"card\"><span>{label}</span><b>{value}</b></div>"))
        .collect();
    let chip = |good: bool, text: String| format!("<span class=\"{}\">{text}</span>", verdict(good));
    let truth = if summary.truth_inside { "inside" } else { "NOT inside" };
    let mut chips = chip(summary.truth_inside, format!("truth {truth} the proven set at every update"));
    let violated = summary.violations.counts().into_iter().filter(|(_, count)| *count > 0);
    let violated: String =
        violated.map(|(name, count)| chip(false, format!("{count} {name} violations"))).collect();
    chips += &violated;
    if violated.is_empty() {
        chips += &chip(true, "no collision, no limit passed, never outside the tube".to_owned());
    }
    format!(
        "<div class=\"brand\">surelift run report</div><div class=\"head\"><div><h1>{}</h1>\
         <p>{} · method <b>{}</b> · seed {}</p></div><div class=\"badge {mood}\">{}</div></div>{reason}\
         <div class=\"cards\">{cards}</div><div class=\"chips\">{chips}</div>",
        escape(&summary.scenario),
        escape(&summary.robot),
        escape(&summary.method),
        summary.seed,
        summary.outcome,
    )
}

/// What no proof of the run speaks about.
fn trusted(summary: &Summary) -> String {
    let items: String = summary.trusted.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
    if items.is_empty() { items } else { format!("<p class=\"reason\">Taken on trust:</p><ul>{items}</ul>") }
}

/// Further proofs that an assumption is broken, the gentle stop, and times without data.
fn findings(summary: &Summary) -> String {
    let further = summary.broken.iter().skip(1).map(|broken| escape(&broken.text));
    let stopped = summary.stopped.iter().map(|stopped| format!("Stopped gently from {:.3} s on.", stopped.t));
    let gaps = summary.gaps.iter().map(|gap| {
        format!(
            "No measurements from {:.3} s to {:.3} s; their window of data is left out.",
            gap.from_s, gap.to_s
        )
    });
    let waits = summary.waits.iter().map(|wait| {
        let (from, to, obstacle) = (wait.from_s, wait.to_s, escape(&wait.obstacle));
        format!("From {from:.1} s to {to:.1} s '{obstacle}' left no room for a proof: the arm came to rest and waited.")
    });
    let touched = (summary.touched_at_rest > 0).then(|| {
        let steps = summary.touched_at_rest;
        format!("What moves touched the resting arm, in {steps} integration steps; no plan promises that it does not.")
    });
    let all = further.chain(stopped).chain(gaps).chain(waits).chain(touched);
    all.map(|text| format!("<p class=\"reason warn\">{text}</p>")).collect()
}

fn verdict(good: bool) -> &'static str {
    if good { "good" } else { "bad" }
}

/// Tracking, clearance and torques over time.
fn safety<P>(record: &RunRecord<P>, charts: &Charts) -> Result<String, ReportError> {
    let speed = record.tube.iter().map(|step| step.velocity_rad_s).fold(f64::NAN, f64::max);
    let mut html = format!(
        "<h2>How close it came</h2><p>What really happened against what was proven beforehand. The tube also bounds \
         the error in speed, by {}. Tinted: carrying.</p>{}<div class=\"grid\">",
        with_unit(Some(speed), "rad/s"),
        closest(&record.summary)
    );
    let worst = |row: &[f64]| row.iter().fold(0.0_f64, |most, e| most.max(e.abs()));
    let tracking = vec![
        Series {
            color: LINES[0],
            shape: Shape::Area,
            points: record.log.iter().map(|row| (row.t, 1e3 * worst(&row.error))).collect(),
        },
        Series {
            color: LIMIT,
            shape: Shape::Steps,
            points: record.tube.iter().map(|step| (step.t, 1e3 * step.position_rad)).collect(),
        },
    ];
    let key = [("c0", "largest error of any joint"), ("limit", "proven bound")];
    let plot = Plot { from_zero: true, ..charts.large(tracking) };
    html += &charts.figure("Tracking error, mrad", &key, plot)?;
    if record.clearance.is_empty() {
        html += "</div>";
    } else {
        let points = record.clearance.iter().map(|(t, d)| (*t, 1e3 * d)).collect();
        let clearance = vec![Series { color: LINES[2], shape: Shape::Area, points }];
        let key = [("c2", "distance to the nearest obstacle or other link")];
        let plot = Plot { from_zero: true, ..charts.large(clearance) };
        html += &(charts.figure("Clearance, mm", &key, plot)? + &approaches(record, charts)? + "</div>");
    }
    let names: Vec<String> = record.joints.iter().map(|name| escape(name)).collect();
    html += &format!(
        "<h2>Torques</h2><p>As logged, in per cent of each joint's limit. Joints, in the order of every table and file: {}.</p>\
         <div class=\"grid small\">",
        names.join(", ")
    );
    for (joint, limit) in record.torque_limit.iter().enumerate() {
        html += &torque(record, charts, joint, *limit)?;
    }
    Ok(html + "</div>")
}

/// Which two came closest, and when.
fn closest(summary: &Summary) -> String {
    summary.closest.as_ref().map_or(String::new(), |pair| {
        format!(
            "<p class=\"closest\">Closest were <b>{}</b> and <b>{}</b>: {} at {:.3} s.</p>",
            escape(&pair.link),
            escape(&pair.other),
            with_unit(Some(pair.distance_m), "m"),
            pair.t
        )
    })
}

/// How near came what moves, while the arm moved and while it rested; empty where nothing may move.
fn approaches<P>(record: &RunRecord<P>, charts: &Charts) -> Result<String, ReportError> {
    if record.approaches.is_empty() {
        return Ok(String::new());
    }
    let stretches = record.approaches.chunk_by(|a, b| a.2 == b.2);
    let line = |stretch: &[(f64, f64, bool)]| Series {
        color: LINES[usize::from(!stretch[0].2)],
        shape: Shape::Line,
        points: stretch.iter().map(|(t, d, _)| (*t, *d)).collect(),
    };
    let key = [("c1", "while the arm moves"), ("c0", "while it rests")];
    let plot = Plot { from_zero: true, ..charts.large(stretches.map(line).collect()) };
    charts.figure("Distance to what moves, m", &key, plot)
}

/// The torque of one joint in per cent of its limit.
fn torque<P>(
    record: &RunRecord<P>,
    charts: &Charts,
    joint: usize,
    limit: f64,
) -> Result<String, ReportError> {
    let points: Vec<_> = record.log.iter().map(|row| (row.t, 100.0 * row.tau[joint] / limit)).collect();
    let largest = points.iter().map(|p| p.1.abs()).filter(|y| y.is_finite()).fold(0.0, f64::max);
    let edge = largest.max(100.0) * 1.08;
    let border =
        |y: f64| Series { color: LIMIT, shape: Shape::Line, points: vec![(0.0, y), (charts.t_end, y)] };
    let line = Series { color: LINES[0], shape: Shape::Area, points };
    let plot = Plot {
        size: (300, 150),
        range: Some((-edge, edge)),
        ..charts.large(vec![line, border(100.0), border(-100.0)])
    };
    let key = [("c0", format!("at most {largest:.0} %")), ("limit", format!("± {} N m", figure(limit)))];
    let key: Vec<_> = key.iter().map(|(class, text)| (*class, text.as_str())).collect();
    charts.figure(&format!("Joint {}: {}", joint + 1, record.joints[joint]), &key, plot)
}

/// Every plan with its times and margins.
fn plans(summary: &Summary) -> String {
    let rows: String = summary
        .plans
        .iter()
        .enumerate()
        .map(|(i, plan)| {
            let margins = plan.min_margin.entries().map(|(_, value, _)| below(value.unwrap_or(f64::NAN)));
            let cells = match &plan.reason {
                Some(reason) if !plan.certified => {
                    format!("<td class=\"text\" colspan=\"4\">{}</td>", escape(reason))
                }
                _ => margins.map(|text| format!("<td>{text}</td>")).concat(),
            };
            format!(
                "<tr><td>{i}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{cells}</tr>",
                figure(plan.t),
                plan.phase,
                if plan.certified { "yes" } else { "no" },
                figure(plan.propose_ms),
                figure(plan.certify_ms),
            )
        })
        .collect();
    let refused = refused(summary);
    format!(
        "<h2>Plans</h2>{refused}<p>Only a certified plan is executed. The margins are proven lower bounds over all times, \
         all parameters in the set and all tracking errors.</p><div class=\"wide\"><table><tr><th>plan</th><th>t, s</th>\
         <th>phase</th><th>certified</th><th>propose, ms</th><th>certify, ms</th><th>position, rad</th>\
         <th>velocity, rad/s</th><th>torque, N m</th><th>collision, m</th></tr>{rows}</table></div>{}",
        correlated(summary)
    )
}

/// Which plans were refused, and why; empty where none was.
fn refused(summary: &Summary) -> String {
    let refused = summary.plans.iter().enumerate().filter(|(_, plan)| !plan.certified);
    let items: String = refused
        .map(|(i, plan)| {
            let reason = plan.reason.as_deref().unwrap_or("no reason was given");
            format!(
                "<li>Plan {i} ({}), to start at {} s: {}</li>",
                plan.phase,
                figure(plan.t),
                escape(reason)
            )
        })
        .collect();
    if items.is_empty() {
        return items;
    }
    let count = summary.plans.iter().filter(|plan| !plan.certified).count();
    let open = if count > 4 { "" } else { " open" };
    format!(
        "<details{open}><summary>Refused, and never begun: {count}</summary><ul class=\"refused\">{items}</ul></details>"
    )
}

/// Plan by plan, how much torque the parameters leave open, by the box and by the correlated set; empty without such plans.
fn correlated(summary: &Summary) -> String {
    let cell = |correlated: f64, boxed: f64| {
        let share = if boxed > 0.0 { (100.0 * correlated / boxed).clamp(0.0, 100.0) } else { 0.0 };
        format!(
            "<td>{}<br><small>of {}</small><span class=\"bar thin\"><i style=\"width:{share:.1}%\"></i></span></td>",
            above(correlated),
            above(boxed)
        )
    };
    let rows: String = (summary.plans.iter().enumerate())
        .filter_map(|(i, plan)| Some((i, plan.torque.as_ref()?)))
        .map(|(i, widths)| {
            let joints = widths.box_nm.iter().zip(&widths.correlated_nm);
            let joints: String = joints.map(|(all, some)| cell(*some, *all)).collect();
            format!("<tr><td>{i}</td><td><b>{}</b></td>{joints}</tr>", percent(Some(widths.ratio())))
        })
        .collect();
    let joints = summary.plans.iter().find_map(|plan| plan.torque.as_ref()).map_or(0, |t| t.box_nm.len());
    let names: String = (1..=joints).map(|j| format!("<th>joint {j}</th>")).collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<h3>Correlated set against box</h3><p>Half-width of the torque that the parameters leave open, N m, mean over the desired motion of the \
         plan: with the bounds in the directions of the plan's own torques (filled), of what the intervals alone would say (the whole bar). \
         The second column is their ratio, mean over the joints.</p><div class=\"wide\"><table class=\"dense\"><tr><th>plan</th>\
         <th>left, mean</th>{names}</tr>{rows}</table></div>"
    )
}

/// What all plots over time share.
struct Charts {
    t_end: f64,
    phases: Vec<(f64, TaskPhase)>,
}

impl Charts {
    fn new<P>(record: &RunRecord<P>) -> Self {
        let summary = &record.summary;
        let ends = record.log.iter().map(|row| row.t).chain(record.clearance.iter().map(|point| point.0));
        let t_end = ends.chain([summary.duration_s]).filter(|t| t.is_finite()).fold(0.0, f64::max);
        let executed = summary.plans.iter().filter(|plan| plan.certified && plan.t.is_finite());
        Self { t_end, phases: executed.map(|plan| (plan.t, plan.phase)).collect() }
    }

    /// A plot of the ordinary size.
    fn large(&self, series: Vec<Series>) -> Plot<'_> {
        Plot {
            title: String::new(),
            size: (540, 230),
            t_end: self.t_end,
            range: None,
            from_zero: false,
            phases: &self.phases,
            series,
        }
    }

    /// A plot with its title and a legend of (CSS class, text).
    fn figure(&self, title: &str, key: &[(&str, &str)], plot: Plot<'_>) -> Result<String, ReportError> {
        let svg = Plot { title: title.to_owned(), ..plot }.svg()?;
        let key: String = key
            .iter()
            .map(|(class, text)| format!("<span><i class=\"{class}\"></i>{}</span>", symbol(text)))
            .collect();
        let title = match title.rsplit_once(", ") {
            Some((name, of)) => format!("{}, {}", symbol(name), unit(of)),
            None => symbol(title),
        };
        Ok(format!("<figure><h3>{title}</h3><div class=\"key\">{key}</div>{svg}</figure>"))
    }
}
