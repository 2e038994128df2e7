//! Draws the README's picture from the folder of a run:
//! `cargo run --release --example picture -- runs/dumbbell_c_8lb-ours-0 docs/run.svg`

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use surelift::horizon::TaskPhase;
use surelift::plan::Plan;
use surelift::report::Summary;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 320.0;
/// Points of a curve across a panel.
const COLUMNS: usize = 220;
const COLOURS: [&str; 7] = ["#0b6e99", "#d9730d", "#448361", "#9065b0", "#c14c8a", "#9f6b53", "#787774"];

/// A part of the picture with its own axes.
struct Panel {
    left: f64,
    right: f64,
    x: (f64, f64),
    y: (f64, f64),
}

const TOP: f64 = 52.0;
const BOTTOM: f64 = 272.0;

impl Panel {
    fn x(&self, t: f64) -> f64 {
        self.left + (t - self.x.0) / (self.x.1 - self.x.0) * (self.right - self.left)
    }

    fn y(&self, v: f64) -> f64 {
        BOTTOM - (v - self.y.0) / (self.y.1 - self.y.0) * (BOTTOM - TOP)
    }

    fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        points.into_iter().enumerate().fold(String::new(), |mut path, (i, (t, v))| {
            let _ = write!(path, "{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, self.x(t), self.y(v));
            path
        })
    }

    /// Frame, ticks and heading.
    fn axes(&self, heading: &str, y_ticks: &[(f64, &str)]) -> String {
        let mut out = format!("<text x='{}' y='{}' class='h'>{heading}</text>\n", self.left, TOP - 22.0);
        for (v, label) in y_ticks {
            let y = self.y(*v);
            let _ = writeln!(
                out,
                "<path d='M{} {y:.1}H{}' class='g'/><text x='{}' y='{:.1}' class='e'>{label}</text>",
                self.left,
                self.right,
                self.left - 6.0,
                y + 4.0
            );
        }
        for t in (0..).map(|k| 5.0 * f64::from(k)).take_while(|t| *t <= self.x.1) {
            let _ = writeln!(out, "<text x='{:.1}' y='{}' class='m'>{t}</text>", self.x(t), BOTTOM + 18.0);
        }
        let middle = 0.5 * (self.left + self.right);
        let _ = writeln!(out, "<text x='{middle}' y='{}' class='m'>time, s</text>", BOTTOM + 36.0);
        out
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, picture] = &arguments[..] else { return Err("expected: RUN_FOLDER PICTURE.svg".into()) };
    let run = Path::new(run);
    let summary: Summary = serde_json::from_str(&std::fs::read_to_string(run.join("summary.json"))?)?;
    let plan = Plan::load(run.join("plans/plan_000.json"))?;
    let limits: Vec<f64> = plan.robot.joints.iter().map(|j| j.limits.torque).collect();
    let carrying = summary.plans.iter().find(|p| p.certified && p.phase == TaskPhase::Carry).map(|p| p.t);

    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' font-family='sans-serif'>\n\
         <style>.h{{font-size:15px;font-weight:600;fill:#222}}.e,.m,.n{{font-size:12px;fill:#555}}\
         .e{{text-anchor:end}}.m{{text-anchor:middle}}.g{{stroke:#e4e4e4;fill:none}}.l{{fill:none;stroke-width:1.3}}</style>\n\
         <rect width='{WIDTH}' height='{HEIGHT}' fill='#fff'/>\n"
    );
    let held = summary.payload.as_ref().ok_or("nothing was held in this run")?;
    svg += &mass(&summary, held.truth[0], carrying);
    svg += &torques(run, &summary, &limits, carrying)?;
    svg += "</svg>\n";
    std::fs::write(picture, svg)?;
    Ok(())
}

/// The line between exciting and carrying.
fn phases(panel: &Panel, carrying: Option<f64>) -> String {
    let Some(t) = carrying else { return String::new() };
    let x = panel.x(t);
    format!(
        "<path d='M{x:.1} {TOP}V{BOTTOM}' stroke='#aaa' stroke-dasharray='3 3'/>\
         <text x='{:.1}' y='{}' class='e'>learn</text><text x='{:.1}' y='{1}' class='n'>carry</text>\n",
        x - 6.0,
        TOP - 6.0,
        x + 6.0,
    )
}

/// The proven interval of the mass and the `truth` (kg) in it.
fn mass(summary: &Summary, truth: f64, carrying: Option<f64>) -> String {
    let updates = &summary.identification;
    let first = &updates[0];
    let span = (first.known.lower[0].min(0.0), (first.known.upper[0] + 0.3).ceil());
    let panel = Panel { left: 52.0, right: 420.0, x: (0.0, summary.duration_s), y: span };
    let labels: Vec<String> = (0..=span.1 as usize).map(|m| m.to_string()).collect();
    let ticks: Vec<_> = labels.iter().enumerate().map(|(m, label)| (m as f64, label.as_str())).collect();
    let mut svg = panel.axes("Mass that is still possible, kg", &ticks);
    // An interval holds until the next update.
    let steps = |bound: fn(&surelift::horizon::Identification) -> f64| -> Vec<(f64, f64)> {
        let ends = updates.iter().skip(1).map(|u| u.t).chain([summary.duration_s]);
        updates.iter().zip(ends).flat_map(|(u, end)| [(u.t, bound(u)), (end, bound(u))]).collect()
    };
    let (upper, mut lower) = (steps(|u| u.known.upper[0]), steps(|u| u.known.lower[0]));
    lower.reverse();
    let band = panel.path(upper.into_iter().chain(lower));
    let _ = writeln!(svg, "<path d='{band}Z' fill='#0b6e99' fill-opacity='.25' stroke='#0b6e99'/>");
    let line = panel.path([(0.0, truth), (summary.duration_s, truth)]);
    let _ = writeln!(svg, "<path d='{line}' stroke='#c0392b' stroke-width='1.5' stroke-dasharray='6 4'/>");
    let _ = writeln!(
        svg,
        "<text x='{:.1}' y='{:.1}' class='e' style='fill:#c0392b'>truth, known to the plant alone</text>",
        panel.right - 4.0,
        panel.y(truth) + 32.0
    );
    svg + &phases(&panel, carrying)
}

/// Measured torques as shares of their limits.
fn torques(
    run: &Path,
    summary: &Summary,
    limits: &[f64],
    carrying: Option<f64>,
) -> Result<String, Box<dyn Error>> {
    let panel = Panel { left: 500.0, right: 880.0, x: (0.0, summary.duration_s), y: (-110.0, 110.0) };
    let ticks = [(-100.0, "−100"), (-50.0, "−50"), (0.0, "0"), (50.0, "50"), (100.0, "100")];
    let mut svg = panel.axes("Torque of each joint, % of its limit", &ticks);
    let mut log = csv::Reader::from_path(run.join("log.csv"))?;
    let headings = log.headers()?.clone();
    let column = |name: &str| headings.iter().position(|h| h == name).ok_or(format!("no column {name}"));
    let (time, first) = (column("t")?, column("tau1")?);
    let rows: Vec<Vec<f64>> = log.deserialize().collect::<Result<_, _>>()?;
    let every = (rows.len() / COLUMNS).max(1);
    for (j, limit) in limits.iter().enumerate() {
        let points = rows.chunks(every).map(|chunk| {
            // The largest of each stretch, with its sign: nothing that came near a limit is smoothed away.
            let peak = chunk.iter().map(|row| row[first + j]).max_by(|a, b| a.abs().total_cmp(&b.abs()));
            (chunk[0][time], 100.0 * peak.unwrap_or(0.0) / limit)
        });
        let path = panel.path(points);
        let _ = writeln!(svg, "<path d='{path}' class='l' stroke='{}'/>", COLOURS[j % COLOURS.len()]);
    }
    for limit in [-100.0, 100.0] {
        let line = panel.path([(0.0, limit), (summary.duration_s, limit)]);
        let _ = writeln!(svg, "<path d='{line}' stroke='#c0392b' stroke-width='1.5'/>");
    }
    Ok(svg + &phases(&panel, carrying))
}
