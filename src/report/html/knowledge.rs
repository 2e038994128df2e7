//! What was learned of the payload, in tables and plots.

use super::*;
use crate::report::payload;
use crate::robot::FramedBody;

/// What was learned of the payload: table and plots; nothing where nothing is held.
pub(super) fn knowledge(summary: &Summary, charts: &Charts) -> Result<String, ReportError> {
    let Some(payload) = &summary.payload else { return Ok(String::new()) };
    let updates = &summary.identification;
    let proven = match summary.broken.is_empty() {
        true => "Every interval is proven to hold the truth, as long as the assumptions hold.",
        false => "An assumption was proven false in this run: nothing of what follows is proven any more.",
    };
    let mut html = format!(
        "<h2>What the robot knows</h2><p>{proven}</p>{}{}",
        summary.payload_alone.as_ref().map(payload::table).unwrap_or_default(),
        drawing(summary),
    );
    html += "<details><summary>What the loop itself learns: the last link with all that it holds, in its joint's frame</summary>";
    html += "<p>Bars: the final interval within the first one; the mark is the truth.</p>";
    html +=
        &payload_table("Last link with gripper and payload, in its joint's frame", payload, updates.first());
    if let Some(found) = &summary.most_probable {
        html += &most_probable_table(found, payload);
    }
    if updates.is_empty() {
        return Ok(html + "</details><p>The set was never updated.</p>");
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
    Ok(html + "</div>" + &update_table(updates) + "</details>")
}

/// The payload as an ellipsoid, or the last body where no payload can be told from it.
fn drawing(summary: &Summary) -> String {
    let by = ("estimate", "proven box of the centre of mass");
    let alone = summary.payload_alone.as_ref().and_then(|alone| {
        let estimate = alone.estimate.as_ref()?.parameters();
        let truth = alone.truth.as_ref().map(FramedBody::parameters);
        let center = alone.bounds.as_ref().and_then(|bounds| bounds.com_m);
        let truth = truth.as_ref().map(|truth| &truth[..]);
        let shown = body::Shown { estimate: &estimate, truth, center, origin: &alone.frame };
        Some(body::figures("Payload", &shown, by.0, by.1))
    });
    let whole = || {
        let Payload { truth, known, .. } = summary.payload.as_ref()?;
        let (truth, center) = (Some(&truth[..]), body::center_box(&known.lower, &known.upper));
        let shown = body::Shown { estimate: &known.nominal, truth, center, origin: "joint" };
        Some(body::figures("Last link and payload", &shown, by.0, by.1))
    };
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
