//! The payload alone, in the frame of a link, in tables: mass, centre of mass in mm, and inertia about it.

use super::figure::{above, below, figure};
use super::html::{escape, symbol, unit};
use crate::robot::{FramedBody, FramedBounds, FramedPayload};

/// Names of the ten rows, their units, and how many of these one SI unit makes.
const ROWS: [(&str, &str, f64); 10] = [
    ("mass", "kg", 1.0),
    ("centre x", "mm", 1e3),
    ("centre y", "mm", 1e3),
    ("centre z", "mm", 1e3),
    ("I_xx about it", "kg m^2", 1.0),
    ("I_xy", "kg m^2", 1.0),
    ("I_yy", "kg m^2", 1.0),
    ("I_xz", "kg m^2", 1.0),
    ("I_yz", "kg m^2", 1.0),
    ("I_zz", "kg m^2", 1.0),
];

/// Row `k` of a body.
fn of_body(body: &FramedBody, k: usize) -> f64 {
    match k {
        0 => body.mass_kg,
        1..=3 => body.com_m[k - 1],
        _ => body.inertia_kg_m2[k - 4],
    }
}

/// Row `k` of bounds, where there is one.
fn of_bounds(bounds: &FramedBounds, k: usize) -> Option<[f64; 2]> {
    match k {
        0 => Some(bounds.mass_kg),
        1..=3 => bounds.com_m.map(|com| com[k - 1]),
        _ => Some(bounds.inertia_kg_m2[k - 4]),
    }
}

/// What the table is of.
fn title(payload: &FramedPayload) -> String {
    format!("Payload, in frame '{}'", payload.frame)
}

/// Rows of cells, a heading first: name, truth where it is known, estimate, bounds where they are proven, unit.
pub(super) fn rows(payload: &FramedPayload) -> Vec<Vec<String>> {
    let (known, proven) = (payload.truth.is_some(), payload.bounds.is_some());
    let mut heading = vec![title(payload)];
    heading.extend(known.then(|| "truth".to_owned()));
    heading.push("estimate".to_owned());
    heading.extend(proven.then(|| ["lower", "upper"].map(str::to_owned)).into_iter().flatten());
    heading.push("unit".to_owned());
    let mut all = vec![heading];
    all.extend(ROWS.iter().enumerate().map(|(k, (name, unit, scale))| {
        let cell = |body: &Option<FramedBody>| {
            figure(body.as_ref().map_or(f64::NAN, |body| round(scale * of_body(body, k))))
        };
        let mut row = vec![format!("  {name}")];
        row.extend(known.then(|| cell(&payload.truth)));
        row.push(cell(&payload.estimate));
        if let Some(bounds) = &payload.bounds {
            let [low, high] = of_bounds(bounds, k).unwrap_or([f64::NAN; 2]);
            // A power of ten more is rounded; one is not.
            let scaled = |x: f64, outward: f64| if *scale == 1.0 { x } else { outward };
            let (low, high) =
                (scaled(low, (scale * low).next_down()), scaled(high, (scale * high).next_up()));
            row.extend([below(low), above(high)]);
        }
        row.push((*unit).to_owned());
        row
    }));
    all
}

/// What rounding left of zero is zero.
fn round(x: f64) -> f64 {
    if x.abs() < 1e-12 { 0.0 } else { x }
}

/// What is to be said below the table.
pub(super) fn notes(payload: &FramedPayload) -> Vec<String> {
    let mut notes = Vec::new();
    if payload.estimate.is_none() {
        notes.push("the estimate has no mass above 0: nothing is known of what is held".to_owned());
    }
    if payload.mended {
        notes.push(
            "the estimate was no body that can exist; shown is the nearest one of its mass and centre"
                .to_owned(),
        );
    }
    if payload.bounds.as_ref().is_some_and(|bounds| bounds.com_m.is_none()) {
        notes.push("it may weigh nothing, so nothing bounds its centre".to_owned());
    }
    notes
}

/// The table as HTML.
pub(super) fn table(payload: &FramedPayload) -> String {
    let all = rows(payload);
    let Some((heading, body)) = all.split_first() else { return String::new() };
    let cells = |row: &[String]| {
        let (name, rest) = row.split_first().map_or(("", row), |(name, rest)| (name.trim(), rest));
        let rest: String = rest.iter().map(|cell| format!("<td>{}</td>", unit(cell))).collect();
        format!("<tr><td>{}</td>{rest}</tr>", symbol(name))
    };
    let head: String = heading.iter().skip(1).map(|cell| format!("<th>{cell}</th>")).collect();
    let body: String = body.iter().map(|row| cells(row)).collect();
    let notes: String = notes(payload).iter().map(|note| format!("<p>{}.</p>", escape(note))).collect();
    format!(
        "<div class=\"wide\"><table><caption>{}</caption><tr><th></th>{head}</tr>{body}</table></div>{notes}",
        escape(&title(payload))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload() -> FramedPayload {
        let body = FramedBody {
            mass_kg: 2.0,
            com_m: [0.0, 0.1, -0.0123],
            inertia_kg_m2: [0.002, 0.0, 0.0015, 0.0, 1e-5, 0.001],
        };
        let bounds = FramedBounds {
            mass_kg: [1.9, 2.1],
            com_m: Some([[-0.001, 0.001], [0.099, 0.1012345], [-0.02, 0.0]]),
            inertia_kg_m2: [[0.0, 0.01]; 6],
        };
        FramedPayload {
            frame: "tool0".into(),
            estimate: Some(body),
            mended: false,
            bounds: Some(bounds),
            truth: None,
        }
    }

    #[test]
    fn centres_are_in_millimetres_and_bounds_are_rounded_outward() {
        let all = rows(&payload());
        assert_eq!(all[0], ["Payload, in frame 'tool0'", "estimate", "lower", "upper", "unit"]);
        assert_eq!(all[3][1], "100");
        assert_eq!(all[3][4], "mm");
        let upper: f64 = all[3][3].parse().unwrap();
        assert!((101.2345..101.4).contains(&upper), "{upper}");
        let known = FramedPayload { truth: payload().estimate, ..payload() };
        assert_eq!(rows(&known)[0].len(), 6);
        let html = table(&known);
        assert!(html.contains("<th>truth</th>") && html.contains("kg m²") && html.contains("tool0"));
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let none = FramedPayload { estimate: None, ..payload() };
        assert!(notes(&none)[0].contains("no mass above 0") && rows(&none)[1][1] == "–");
        let light = FramedBounds { mass_kg: [0.0, 2.1], com_m: None, inertia_kg_m2: [[0.0, 0.01]; 6] };
        let light = FramedPayload { bounds: Some(light), mended: true, ..payload() };
        assert_eq!(notes(&light).len(), 2);
        assert_eq!(rows(&light)[2][2], "–");
    }
}
