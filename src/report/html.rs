//! `report.html`: the run on one page that needs nothing else, neither network nor neighbouring files.

use super::body;
use super::figure::{above, below, figure, percent, with_unit};
use super::plots::{LIMIT, LINES, Plot, Series, Shape, TRUTH};
use super::summary::{Payload, Summary};
use super::{ReportError, RunRecord};
use crate::horizon::{Identification, MostProbable, Outcome, TaskPhase};
use crate::inertia::{PARAMETER_NAMES, PARAMETER_UNITS};

const CSS: &str = include_str!("page.css");

/// The page.
///
/// # Errors
/// [`ReportError::Shape`] if the record contradicts itself, [`ReportError::Plot`] if a plot cannot be drawn.
pub fn page<P>(record: &RunRecord<P>) -> Result<String, ReportError> {
    record.check()?;
    let summary = &record.summary;
    let title = escape(&summary.scenario);
    let charts = Charts::new(record);
    let body =
        [head(summary), knowledge(summary, &charts)?, safety(record, &charts)?, plans(summary)].concat();
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
    let mass = summary.payload.as_ref().map(|payload| {
        let interval = format!("{} – {} kg", below(payload.known.lower[0]), above(payload.known.upper[0]));
        ("Mass at the last link", interval)
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
    let cards: String = (mass.into_iter().chain(others))
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

/// Further proofs that an assumption is broken, and times without data.
fn findings(summary: &Summary) -> String {
    let further = summary.broken.iter().skip(1).map(|broken| escape(&broken.text));
    let gaps = summary.gaps.iter().map(|gap| {
        format!(
            "No measurements from {:.3} s to {:.3} s; their window of data is left out.",
            gap.from_s, gap.to_s
        )
    });
    further.chain(gaps).map(|text| format!("<p class=\"reason warn\">{text}</p>")).collect()
}

fn verdict(good: bool) -> &'static str {
    if good { "good" } else { "bad" }
}

/// What was learned of the payload: table and plots; nothing where nothing is held.
fn knowledge(summary: &Summary, charts: &Charts) -> Result<String, ReportError> {
    let Some(payload) = &summary.payload else { return Ok(String::new()) };
    let updates = &summary.identification;
    let mut html = format!(
        "<h2>What the robot knows</h2><p>Every interval is proven to hold the truth, as long as the assumptions \
         hold. Bars: the final interval within the first one; the mark is the truth.</p>{}",
        payload_table("Last link with gripper and payload", payload, updates.first())
    );
    if let Some(found) = &summary.most_probable {
        html += &most_probable_table(found, payload);
    }
    if let Some(alone) = &summary.payload_alone {
        html += &payload_table("Payload alone (gripper subtracted)", alone, None);
    }
    html += &drawing(summary);
    if updates.is_empty() {
        return Ok(html + "<p>The set was never updated.</p>");
    }
    html += "<div class=\"grid\">";
    let column =
        |values: fn(&Identification) -> &Vec<f64>| updates.iter().map(|u| (u.t, values(u)[0])).collect();
    let truth = payload.truth[0];
    let interval = vec![
        Series {
            color: LINES[0],
            shape: Shape::Band(updates.iter().map(|u| u.known.upper[0]).collect()),
            points: column(|u| &u.known.lower),
        },
        Series { color: LINES[0], shape: Shape::Steps, points: column(|u| &u.known.nominal) },
        Series { color: TRUTH, shape: Shape::Line, points: vec![(0.0, truth), (charts.t_end, truth)] },
    ];
    let key = [("c0", "nominal, in its proven interval"), ("truth", "truth")];
    html += &charts.figure("Mass, kg", &key, charts.large(interval))?;
    for (title, range) in [
        ("Half-width of the mass, kg", 0..1),
        ("Half-widths of the first moments, kg m", 1..4),
        ("Half-widths of the inertias, kg m²", 4..10),
    ] {
        let first = range.start;
        let key: Vec<_> = range.clone().map(|i| (CLASSES[i - first], PARAMETER_NAMES[i])).collect();
        let series = range.map(|i| Series {
            color: LINES[i - first],
            shape: Shape::Steps,
            points: updates.iter().map(|u| (u.t, 0.5 * (u.known.upper[i] - u.known.lower[i]))).collect(),
        });
        html += &charts.figure(title, &key, Plot { from_zero: true, ..charts.large(series.collect()) })?;
    }
    html += "</div><div class=\"grid small\">";
    for i in 1..PARAMETER_NAMES.len() {
        html += &interval_over_time(payload, updates, charts, i)?;
    }
    Ok(html + "</div>" + &update_table(updates))
}

/// Payload or, where the gripper cannot be told from it, the whole last body, as an ellipsoid.
fn drawing(summary: &Summary) -> String {
    let drawn = |caption: &str, payload: &Payload| {
        let (truth, lower, upper) = (Some(&payload.truth[..]), &payload.known.lower, &payload.known.upper);
        let shown = body::Shown { estimate: &payload.known.nominal, truth, lower, upper };
        body::figures(caption, &shown, "estimate", "proven box of the centre of mass")
    };
    let alone = summary.payload_alone.as_ref().map(|alone| drawn("Payload alone", alone));
    let whole = || summary.payload.as_ref().map(|whole| drawn("Last link and payload", whole));
    alone.filter(|drawn| !drawn.is_empty()).or_else(whole).unwrap_or_default()
}

/// Parameter `i` over time: its proven interval, the estimate in it, and the truth.
fn interval_over_time(
    payload: &Payload,
    updates: &[Identification],
    charts: &Charts,
    i: usize,
) -> Result<String, ReportError> {
    let upper = updates.iter().map(|u| u.known.upper[i]).collect();
    let series = vec![
        Series {
            color: LINES[0],
            shape: Shape::Band(upper),
            points: updates.iter().map(|u| (u.t, u.known.lower[i])).collect(),
        },
        Series {
            color: LINES[0],
            shape: Shape::Steps,
            points: updates.iter().map(|u| (u.t, u.known.nominal[i])).collect(),
        },
        Series {
            color: TRUTH,
            shape: Shape::Line,
            points: vec![(0.0, payload.truth[i]), (charts.t_end, payload.truth[i])],
        },
    ];
    let title = format!("{}, {}", PARAMETER_NAMES[i], PARAMETER_UNITS[i]);
    let key = [("c0", "proven interval"), ("truth", "truth")];
    charts.figure(&title, &key, Plot { size: (300, 150), ..charts.large(series) })
}

/// Names of the CSS classes of [`LINES`].
pub(super) const CLASSES: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];

/// Truth, estimate and proven interval of each parameter; with the first interval, also as bars.
fn payload_table(caption: &str, payload: &Payload, first: Option<&Identification>) -> String {
    let rows: String = (0..PARAMETER_NAMES.len())
        .map(|i| {
            let (low, high) = (payload.known.lower[i], payload.known.upper[i]);
            let known = [figure(payload.truth[i]), figure(payload.known.nominal[i])];
            let proven = [below(low), above(high), above(payload.half_width(i))];
            let cells: String =
                known.into_iter().chain(proven).map(|text| format!("<td>{text}</td>")).collect();
            let bar = first.map_or(String::new(), |set| {
                format!(
                    "<td>{}</td>",
                    bar((set.known.lower[i], set.known.upper[i]), (low, high), payload.truth[i])
                )
            });
            format!(
                "<tr><td>{}</td><td>{}</td>{cells}{bar}</tr>",
                symbol(PARAMETER_NAMES[i]),
                unit(PARAMETER_UNITS[i])
            )
        })
        .collect();
    let bars = if first.is_some() { "<th></th>" } else { "" };
    format!(
        "<div class=\"wide\"><table><caption>{caption}</caption><tr><th>parameter</th><th>unit</th><th>truth</th>\
         <th>nominal</th><th>lower</th><th>upper</th><th>half-width</th>{bars}</tr>{rows}</table></div>"
    )
}

/// Most probable parameters beside the set that they should lie in.
fn most_probable_table(found: &MostProbable, payload: &Payload) -> String {
    if let Some(reason) = &found.failure {
        return format!("<p>No most probable parameters: {}.</p>", escape(reason));
    }
    let rows: String = (0..PARAMETER_NAMES.len())
        .map(|i| {
            let cells: String = [
                figure(payload.truth[i]),
                figure(found.estimate[i]),
                figure(found.deviation[i]),
                below(payload.known.lower[i]),
                above(payload.known.upper[i]),
            ]
            .map(|text| format!("<td>{text}</td>"))
            .concat();
            let (name, unit) = (symbol(PARAMETER_NAMES[i]), unit(PARAMETER_UNITS[i]));
            format!("<tr><td>{name}</td><td>{unit}</td>{cells}</tr>")
        })
        .collect();
    let place = if found.inside { "inside" } else { "OUTSIDE" };
    format!(
        "<div class=\"wide\"><table><caption>Most probable values ({} samples, {} iterations, {:.1} s), {place} the \
         guaranteed set; no guarantee of their own</caption><tr><th>parameter</th><th>unit</th><th>truth</th>\
         <th>estimate</th><th>deviation</th><th>lower</th><th>upper</th></tr>{rows}</table></div>",
        found.samples, found.iterations, found.seconds
    )
}

/// The interval `now` and the truth, drawn within the interval `first`.
fn bar(first: (f64, f64), now: (f64, f64), truth: f64) -> String {
    let place = |x: f64| (100.0 * (x - first.0) / (first.1 - first.0)).clamp(0.0, 100.0);
    let (left, right, mark) = (place(now.0), place(now.1), place(truth));
    if ![left, right, mark].iter().all(|x| x.is_finite()) {
        return String::new();
    }
    format!(
        "<span class=\"bar\"><i style=\"left:{left:.2}%;width:{:.2}%\"></i><b style=\"left:{mark:.2}%\"></b></span>",
        right - left
    )
}

/// Condition number and duration of each update.
fn update_table(updates: &[Identification]) -> String {
    // A set that is carried over at the same time is no news.
    let news = updates.iter().enumerate().filter(|(k, update)| {
        updates.get(k + 1).is_none_or(|next| {
            (next.t, &next.known.lower, &next.known.upper)
                != (update.t, &update.known.lower, &update.known.upper)
        })
    });
    let rows: String = news
        .map(|(_, update)| {
            let widest = |from: usize, to: usize| {
                (from..to)
                    .map(|i| 0.5 * (update.known.upper[i] - update.known.lower[i]))
                    .fold(f64::NAN, f64::max)
            };
            let cells = [
                update.t,
                widest(0, 1),
                widest(1, 4),
                widest(4, 10),
                update.condition_number.unwrap_or(f64::NAN),
                update.update_ms,
            ];
            format!("<tr>{}</tr>", cells.map(|x| format!("<td>{}</td>", figure(x))).concat())
        })
        .collect();
    format!(
        "<div class=\"wide\" style=\"margin-top:16px\"><table><caption>Updates</caption><tr><th>t, s</th>\
         <th>± mass, kg</th><th>± first moments, kg m</th><th>± inertias, kg m²</th><th>condition number</th>\
         <th>time, ms</th></tr>{rows}</table></div>"
    )
}

/// Tracking, clearance and torques over time.
fn safety<P>(record: &RunRecord<P>, charts: &Charts) -> Result<String, ReportError> {
    let speed = record.tube.iter().map(|step| step.velocity_rad_s).fold(f64::NAN, f64::max);
    let mut html = format!(
        "<h2>How close it came</h2><p>What really happened against what was proven beforehand. The tube also bounds \
         the error in speed, by {}. Tinted: carrying.</p><div class=\"grid\">",
        with_unit(Some(speed), "rad/s")
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
        html += &(charts.figure("Clearance, mm", &key, plot)? + "</div>");
    }
    html += "<h2>Torques</h2><p>As logged, in per cent of each joint's limit.</p><div class=\"grid small\">";
    for (joint, limit) in record.torque_limit.iter().enumerate() {
        html += &torque(record, charts, joint, *limit)?;
    }
    Ok(html + "</div>")
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
    charts.figure(&format!("Joint {}", joint + 1), &key, plot)
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
    format!(
        "<h2>Plans</h2><p>Only a certified plan is executed. The margins are proven lower bounds over all times, \
         all parameters in the set and all tracking errors.</p><div class=\"wide\"><table><tr><th>plan</th><th>t, s</th>\
         <th>phase</th><th>certified</th><th>propose, ms</th><th>certify, ms</th><th>position, rad</th>\
         <th>velocity, rad/s</th><th>torque, N m</th><th>collision, m</th></tr>{rows}</table></div>{}",
        correlated(summary)
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
