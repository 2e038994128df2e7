//! The tables of a comparison of methods.

use std::fmt::Write;

use super::MethodTrial;
use crate::horizon::Outcome;
use crate::inertia::PARAMETER_NAMES;
use crate::report::comparison::CaptionedTable;

/// What the tables are made of: methods and experiments in the order of rows and columns.
pub(super) struct Tables<'a> {
    pub(super) methods: &'a [String],
    pub(super) experiments: &'a [&'a str],
    pub(super) trials: &'a [MethodTrial],
}

/// Rows of cells, the first one a heading.
type Rows = Vec<Vec<String>>;

impl Tables<'_> {
    fn of<'a>(&'a self, method: &'a str, experiment: &'a str) -> impl Iterator<Item = &'a MethodTrial> {
        self.trials.iter().filter(move |t| t.method == method && t.experiment == experiment)
    }

    fn heading(&self, first: &str) -> Vec<String> {
        std::iter::once(first).chain(self.experiments.iter().copied()).map(str::to_owned).collect()
    }

    /// One row a method, one column an experiment, by what `cell` makes of the runs.
    fn matrix(&self, title: &str, cell: &dyn Fn(&[&MethodTrial]) -> String) -> Rows {
        let row = |method: &String| {
            let cells = self.experiments.iter().map(|e| cell(&self.of(method, e).collect::<Vec<_>>()));
            std::iter::once(method.clone()).chain(cells).collect()
        };
        std::iter::once(self.heading(title)).chain(self.methods.iter().map(row)).collect()
    }

    /// How the runs ended: successes of all, and what became of the others with the variants that they had.
    pub(super) fn outcomes(&self) -> Rows {
        self.matrix("outcome", &|trials| {
            let good = trials.iter().filter(|t| t.outcome == Outcome::Success).count();
            let mut cell = format!("{good} of {}", trials.len());
            let mut failed: Vec<(String, &str)> = trials
                .iter()
                .filter(|t| t.outcome != Outcome::Success)
                .map(|t| (t.outcome.to_string(), &*t.item))
                .collect();
            failed.sort();
            failed.dedup();
            for group in failed.chunk_by(|a, b| a.0 == b.0) {
                let items: Vec<&str> = group.iter().map(|(_, item)| *item).collect();
                let _ = write!(cell, "; {}: {}", group[0].0.to_lowercase(), items.join(" "));
            }
            cell
        })
    }

    /// The largest of something over the runs of each cell.
    fn largest(&self, title: &str, digits: usize, of: &dyn Fn(&MethodTrial) -> Option<f64>) -> Rows {
        self.matrix(title, &|trials| {
            let most = trials.iter().filter_map(|t| of(t)).reduce(f64::max);
            most.map_or("–".to_owned(), |x| format!("{x:.digits$}"))
        })
    }

    /// Mean half-widths of the ten intervals and condition numbers, for each method that identifies and each variant.
    fn widths(&self) -> Rows {
        let mut heading: Vec<String> = ["method", "held", "time, s", "condition"].map(str::to_owned).to_vec();
        heading.extend(PARAMETER_NAMES.iter().map(|name| (*name).to_owned()));
        let mut rows = vec![heading];
        let mut items: Vec<&str> = self.trials.iter().map(|t| &*t.item).collect();
        items.sort_unstable();
        items.dedup();
        for method in self.methods {
            for item in &items {
                let found = |t: &&MethodTrial| t.method == *method && t.item == *item && t.known.is_some();
                let trials: Vec<&MethodTrial> = self.trials.iter().filter(found).collect();
                if trials.is_empty() {
                    continue;
                }
                let mean = |of: &dyn Fn(&MethodTrial) -> Option<f64>| {
                    let all: Vec<f64> = trials.iter().filter_map(|t| of(t)).collect();
                    all.iter().sum::<f64>() / all.len() as f64
                };
                let (time, condition) = (mean(&|t| t.identified_s), mean(&|t| t.condition_number));
                let mut row =
                    vec![method.clone(), (*item).to_owned(), format!("{time:.1}"), format!("{condition:.1}")];
                row.extend(
                    (0..PARAMETER_NAMES.len())
                        .map(|k| format!("{:.4}", mean(&|t| Some(t.known.as_ref()?.half_width(k))))),
                );
                rows.push(row);
            }
        }
        rows
    }

    /// All tables, the outcomes first.
    pub(super) fn all(&self) -> Vec<CaptionedTable> {
        let captioned = |caption: &str, rows: Rows| CaptionedTable { caption: caption.to_owned(), rows };
        vec![
            captioned("How the runs ended", self.outcomes()),
            captioned(
                "Largest tracking error, rad",
                self.largest("tracking error, rad", 4, &|t| t.max_tracking_error_rad),
            ),
            captioned(
                "Largest torque by its limit",
                self.largest("torque / limit", 3, &|t| t.max_torque_ratio),
            ),
            captioned("Smallest clearance, mm", self.smallest_clearance()),
            captioned(
                "Largest distance from the place, mm",
                self.largest("beside the place, mm", 1, &|t| t.placing.map(|p| 1e3 * p.horizontal_m)),
            ),
            captioned("Mean half-widths of the identified intervals, and condition numbers", self.widths()),
        ]
    }

    fn smallest_clearance(&self) -> Rows {
        self.matrix("clearance, mm", &|trials| {
            let least = trials.iter().filter_map(|t| t.min_clearance_m).reduce(f64::min);
            least.map_or("–".to_owned(), |m| format!("{:.1}", 1e3 * m))
        })
    }

    /// The same in Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::new();
        for CaptionedTable { caption, rows } in self.all() {
            let _ = write!(text, "## {caption}\n\n{}\n", table(&rows));
        }
        text
    }

    /// One row a run.
    pub(super) fn csv(&self) -> String {
        let mut text = "method,experiment,held,seed,outcome,certified,collision,torque,position,velocity,beside_mm,above_mm,tilt_deg,\
                        tracking_error_rad,torque_ratio,clearance_m,truth_inside,identified_s,condition_number,mass_half_width_kg,duration_s,wall_s\n"
            .to_owned();
        let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for t in self.trials {
            let placed =
                |of: &dyn Fn(&crate::horizon::PlacingError) -> f64| number(t.placing.as_ref().map(of));
            let outcome = serde_json::to_string(&t.outcome).unwrap_or_default();
            let v = &t.violations;
            let cells = [
                t.method.clone(),
                t.experiment.clone(),
                t.item.clone(),
                t.seed.to_string(),
                outcome.trim_matches('"').to_owned(),
                t.certified.to_string(),
                v.collision.to_string(),
                v.torque.to_string(),
                v.position.to_string(),
                v.velocity.to_string(),
                placed(&|p| 1e3 * p.horizontal_m),
                placed(&|p| 1e3 * p.vertical_m),
                placed(&|p| p.tilt_deg),
                number(t.max_tracking_error_rad),
                number(t.max_torque_ratio),
                number(t.min_clearance_m),
                t.truth_inside.to_string(),
                number(t.identified_s),
                number(t.condition_number),
                number(t.known.as_ref().map(|known| known.half_width(0))),
                t.duration_s.to_string(),
                t.wall_s.to_string(),
            ];
            text += &(cells.join(",") + "\n");
        }
        text
    }
}

/// Rows of cells as a table of Markdown.
fn table(rows: &Rows) -> String {
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if i == 0 {
            let _ = writeln!(text, "|{}", "---|".repeat(row.len()));
        }
    }
    text
}
