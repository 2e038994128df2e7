//! The run in three dimensions: what `report.html` needs to show it again, as compact JSON, and the part of the page that does.
//!
//! Nothing is computed here but whole numbers: lengths are multiples of [`QUANTUM_M`], times of a millisecond, and each pose is written as what it
//! differs from the one before. The page's script undoes that and draws.

use std::fmt::Write as _;

use super::html::escape;
use super::summary::Summary;
use crate::reach::swept::SweptCapsule;

/// Unit of lengths in the page, m.
pub const QUANTUM_M: f64 = 1e-4;
/// Most poses that a page holds.
pub const MOST_POSES: usize = 1000;

const CSS: &str = include_str!("replay/replay.css");
const SCRIPT: &str = concat!(
    "(function(){\"use strict\";\n",
    include_str!("replay/decode.js"),
    include_str!("replay/geometry.js"),
    include_str!("replay/webgl.js"),
    include_str!("replay/flat.js"),
    include_str!("replay/plots.js"),
    include_str!("replay/player.js"),
    "})();\n"
);

/// What a capsule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeOwner {
    /// The fixed base.
    Base,
    /// A link.
    Link,
    /// What the hand holds.
    Payload,
}

impl ShapeOwner {
    fn name(self) -> &'static str {
        match self {
            ShapeOwner::Base => "base",
            ShapeOwner::Link => "link",
            ShapeOwner::Payload => "payload",
        }
    }
}

/// A capsule of the robot.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayShape {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub owner: ShapeOwner,
    /// Radius, m.
    pub radius_m: f64,
}

/// Where everything was at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPose {
    /// When, s.
    pub t: f64,
    /// Both ends of each capsule's axis, m, base frame, in the order of [`Replay::shapes`].
    pub ends: Vec<[[f64; 3]; 2]>,
    /// Centres of the obstacles that move, m, in the order of [`Replay::obstacles`].
    pub centers: Vec<[f64; 3]>,
}

/// An obstacle.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayObstacle {
    /// Its name.
    pub name: String,
    /// Where its centre is, m; of one that moves, at first.
    pub center: [f64; 3],
    /// Whether poses say where it is.
    pub moves: bool,
    /// Corners of each face, m, from its centre.
    pub faces: Vec<Vec<[f64; 3]>>,
}

/// What the certificate of a plan covers.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPlan {
    /// When the plan starts, s.
    pub t: f64,
    /// How long it is, s.
    pub duration_s: f64,
    /// Where every capsule may be over equal parts of its time, tracking errors included.
    pub cells: Vec<Vec<SweptCapsule>>,
}

/// All that a replay shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replay {
    /// Capsules of the robot.
    pub shapes: Vec<ReplayShape>,
    /// In the order of time, at most [`MOST_POSES`].
    pub poses: Vec<ReplayPose>,
    /// Obstacles.
    pub obstacles: Vec<ReplayObstacle>,
    /// Plans that were executed, in the order of time.
    pub plans: Vec<ReplayPlan>,
}

/// A length in quanta, m; 0 for what is no number.
fn quanta(x: f64) -> i64 {
    let scaled = x / QUANTUM_M;
    if scaled.is_finite() { scaled.round() as i64 } else { 0 }
}

/// Rows of equal length, each as what it differs from the one before.
#[derive(Default)]
struct Differences {
    before: Vec<i64>,
    text: String,
}

impl Differences {
    fn push(&mut self, row: &[i64]) {
        self.before.resize(row.len(), 0);
        for (now, before) in row.iter().zip(&mut self.before) {
            let comma = if self.text.is_empty() { "" } else { "," };
            // Writing to a text cannot fail.
            let _ = write!(self.text, "{comma}{}", now.wrapping_sub(*before));
            *before = *now;
        }
    }

    /// All rows behind each other, as a JSON array.
    fn array(&self) -> String {
        format!("[{}]", self.text)
    }
}

/// A name as JSON, which may stand inside an element of the page.
fn text(name: &str) -> String {
    serde_json::Value::from(name).to_string().replace('<', "\\u003c")
}

/// Whole numbers as a JSON array.
fn array(row: impl IntoIterator<Item = i64>) -> String {
    let list: Vec<String> = row.into_iter().map(|x| x.to_string()).collect();
    format!("[{}]", list.join(","))
}

impl Replay {
    /// The data of the page, as JSON; `summary` tells the phases of the plans.
    pub fn json(&self, summary: &Summary) -> String {
        let shapes: Vec<String> = self.shapes.iter().map(shape).collect();
        let obstacles: Vec<String> = self.obstacles.iter().map(obstacle).collect();
        let plans = self.plans.iter().filter(|plan| plan.t.is_finite() && plan.duration_s.is_finite());
        let plans: Vec<String> = plans.map(|plan| self.plan(plan, summary)).collect();
        let (mut times, mut poses) = (Differences::default(), Differences::default());
        for pose in self.poses.iter().filter(|pose| pose.t.is_finite()) {
            times.push(&[(1e3 * pose.t).round() as i64]);
            let ends = pose.ends.iter().flatten().chain(&pose.centers).flatten();
            poses.push(&ends.map(|x| quanta(*x)).collect::<Vec<_>>());
        }
        format!(
            "{{\"quantum_m\":{QUANTUM_M},\"shapes\":[{}],\"obstacles\":[{}],\"t_ms\":{},\"poses\":{},\"plans\":[{}]}}",
            shapes.join(","),
            obstacles.join(","),
            times.array(),
            poses.array(),
            plans.join(",")
        )
    }

    fn plan(&self, plan: &ReplayPlan, summary: &Summary) -> String {
        let mut rows = Differences::default();
        for cell in &plan.cells {
            let moving = cell.iter().zip(&self.shapes).filter(|(_, shape)| shape.owner != ShapeOwner::Base);
            let mut row = vec![];
            for (SweptCapsule { start, end, off }, _) in moving {
                row.extend(start.iter().chain(end).flatten().map(|x| quanta(*x)));
                // Never drawn smaller than it is.
                row.extend(off.iter().map(|x| quanta(*x + QUANTUM_M)));
            }
            rows.push(&row);
        }
        let known = summary.plans.iter().position(|known| known.certified && known.t == plan.t);
        let phase = known.map_or(String::new(), |k| summary.plans[k].phase.to_string());
        format!(
            "{{\"t\":{:.3},\"duration\":{:.3},\"number\":{},\"phase\":{},\"cells\":{},\"swept\":{}}}",
            plan.t,
            plan.duration_s,
            known.map_or("null".to_owned(), |k| k.to_string()),
            text(&phase),
            plan.cells.len(),
            rows.array()
        )
    }

    /// The part of the page with its style; and the data and the script, which come last: they need all plots.
    pub(super) fn parts(&self, summary: &Summary) -> [String; 2] {
        if self.poses.is_empty() {
            return [String::new(), String::new()];
        }
        let data = self.json(summary);
        let section = format!("<style>{CSS}</style>{}", controls(summary));
        let script = format!(
            "<script type=\"application/json\" id=\"replay-data\">{data}</script>\n<script>{SCRIPT}</script>\n"
        );
        [section, script]
    }
}

fn shape(shape: &ReplayShape) -> String {
    let (name, owner, radius) = (text(&shape.name), shape.owner.name(), quanta(shape.radius_m));
    format!("{{\"name\":{name},\"owner\":\"{owner}\",\"radius\":{radius}}}")
}

fn obstacle(obstacle: &ReplayObstacle) -> String {
    let corners = |face: &Vec<[f64; 3]>| array(face.iter().flatten().map(|x| quanta(*x)));
    let faces: Vec<String> = obstacle.faces.iter().map(corners).collect();
    format!(
        "{{\"name\":{},\"moves\":{},\"center\":{},\"faces\":[{}]}}",
        text(&obstacle.name),
        obstacle.moves,
        array(obstacle.center.map(quanta)),
        faces.join(",")
    )
}

/// The stage and its controls.
fn controls(summary: &Summary) -> String {
    let closest = summary.closest.as_ref().filter(|pair| pair.t.is_finite()).map_or(String::new(), |pair| {
        format!(
            "<button type=\"button\" data-seek=\"{:.3}\" title=\"'{}' and '{}'\">Closest moment</button>",
            pair.t,
            escape(&pair.link),
            escape(&pair.other)
        )
    });
    include_str!("replay/controls.html").replace("{closest}", &closest)
}

#[cfg(test)]
pub(crate) mod tests;
