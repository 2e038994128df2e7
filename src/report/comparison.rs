//! The page of a comparison of methods: how the runs ended, what was learnt, what each took the mass for, and how each followed its path.

use super::ReportError;
use super::figure::figure;
pub use super::followed::FollowedPath;
use super::html::{CLASSES, document, escape, symbol, unit};
use super::plots::{LINES, Plot, Series, Shape, TRUTH};
use super::study::table;
use crate::horizon::BodyEstimate;
use crate::inertia::{PARAMETER_NAMES, PARAMETER_UNITS};

/// Rows of cells, the first one a heading, under a caption.
pub struct CaptionedTable {
    /// What it shows.
    pub caption: String,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// What one method took for the body in one run.
pub struct MethodCurve {
    /// Name of the method.
    pub method: String,
    /// Time (s) and mass (kg).
    pub masses: Vec<(f64, f64)>,
    /// What was identified in the end, where anything was.
    pub known: Option<BodyEstimate>,
    /// How it followed the path, where it came to it.
    pub followed: Option<FollowedPath>,
}

/// What several methods took the same body for.
pub struct ComparedBody {
    /// Which run it was: experiment, what is held, seed.
    pub title: String,
    /// The ten true parameters.
    pub truth: Vec<f64>,
    /// One a method.
    pub curves: Vec<MethodCurve>,
}

/// All that the page shows.
pub struct MethodComparison {
    /// Its name.
    pub title: String,
    /// One sentence.
    pub verdict: String,
    /// The tables, the outcomes first.
    pub tables: Vec<CaptionedTable>,
    /// The bodies.
    pub bodies: Vec<ComparedBody>,
}

impl MethodComparison {
    /// The page, which needs nothing else.
    ///
    /// # Errors
    /// [`ReportError::Plot`] if a plot cannot be drawn.
    pub fn page(&self) -> Result<String, ReportError> {
        let title = escape(&self.title);
        let mut body = format!("<h1>{title}</h1><p>{}</p>", escape(&self.verdict));
        for CaptionedTable { caption, rows } in &self.tables {
            let Some((head, rows)) = rows.split_first() else { continue };
            let head: Vec<String> = head.iter().map(|h| escape(h)).collect();
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            let rows = rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect());
            body += &format!("<section>{}</section>", table(&escape(caption), &head, rows));
        }
        for compared in &self.bodies {
            body += &compared.section()?;
        }
        let footer = format!(
            "surelift {} · a row a run in results.csv, all figures in results.json",
            env!("CARGO_PKG_VERSION")
        );
        Ok(document(&title, &body, &footer))
    }
}

impl ComparedBody {
    fn section(&self) -> Result<String, ReportError> {
        let mut html = format!("<section><h2>{}</h2>", escape(&self.title));
        html += &self.masses()?;
        let identified: Vec<&MethodCurve> =
            self.curves.iter().filter(|curve| curve.known.is_some()).collect();
        if !identified.is_empty() {
            html += &self.intervals(&identified);
        }
        html += &self.followed()?;
        Ok(html + "</section>")
    }

    /// Tracking errors and torques, two plots a method (\[1, Figs. 11 and 12\]).
    fn followed(&self) -> Result<String, ReportError> {
        let all: Vec<(&str, &FollowedPath)> =
            self.curves.iter().filter_map(|curve| Some((&*curve.method, curve.followed.as_ref()?))).collect();
        let Some((_, first)) = all.first() else { return Ok(String::new()) };
        let plots = all.iter().map(|(method, path)| path.section(method)).collect::<Result<String, _>>()?;
        let key = first.key();
        Ok(format!(
            "<details><summary>tracking error and torque of each joint along the path</summary>{key}{plots}</details>"
        ))
    }

    /// Mass over time, a line a method (\[1, Fig. 5\]).
    fn masses(&self) -> Result<String, ReportError> {
        // Whoever learns nothing has no line.
        let shown: Vec<&MethodCurve> = self.curves.iter().filter(|curve| !curve.masses.is_empty()).collect();
        let ends = shown.iter().filter_map(|curve| curve.masses.last()).map(|(t, _)| *t);
        let t_end = 1.05 * ends.fold(1.0, f64::max);
        let mut html = String::new();
        // Not more lines in a plot than there are colours.
        for group in shown.chunks(LINES.len()) {
            let lines = group.iter().zip(LINES).map(|(curve, color)| {
                let points =
                    curve.masses.iter().copied().filter(|(t, m)| t.is_finite() && m.is_finite()).collect();
                Series { color, shape: Shape::Steps, points }
            });
            let truth = self.truth.first().copied().unwrap_or(f64::NAN);
            let straight =
                Series { color: TRUTH, shape: Shape::Line, points: vec![(0.0, truth), (t_end, truth)] };
            let plot = Plot {
                title: "mass of the last body, kg".to_owned(),
                size: (700, 240),
                t_end,
                range: None,
                from_zero: false,
                phases: &[],
                series: lines.chain([straight]).collect(),
            };
            let key: String = group
                .iter()
                .zip(CLASSES)
                .map(|(curve, class)| format!("<span class=\"{class}\">{}</span> ", escape(&curve.method)))
                .collect();
            html += &format!(
                "<figure><figcaption>mass of the last body, kg <span class=\"key\">{key}<span class=\"truth\">truth</span></span></figcaption>{}</figure>",
                plot.svg()?
            );
        }
        Ok(html)
    }

    /// The ten parameters with their intervals, a column a method (\[1, Figs. 6 to 10\]).
    fn intervals(&self, curves: &[&MethodCurve]) -> String {
        let names: Vec<String> = curves.iter().map(|curve| escape(&curve.method)).collect();
        let head: Vec<&str> = ["", "truth"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let rows = (0..PARAMETER_NAMES.len()).map(|i| {
            let name = format!("{}, {}", symbol(PARAMETER_NAMES[i]), unit(PARAMETER_UNITS[i]));
            let truth = self.truth.get(i).map_or(String::new(), |x| figure(*x));
            let cells = curves.iter().map(|curve| {
                let Some(known) = &curve.known else { return String::new() };
                let (nominal, half) = (figure(known.nominal[i]), figure(known.half_width(i)));
                format!("{nominal} in {} ± {half}", figure(0.5 * (known.lower[i] + known.upper[i])))
            });
            [name, truth].into_iter().chain(cells).collect()
        });
        table("what was identified: estimate, and the interval as its middle and half its width", &head, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stands_alone_and_hides_no_text() {
        let known = BodyEstimate { nominal: vec![3.0; 10], lower: vec![2.5; 10], upper: vec![3.5; 10] };
        let path = FollowedPath {
            joints: (0..7).map(|j| format!("j<{j}>")).collect(),
            t_s: vec![0.0, 1.0, 2.0],
            error_mrad: vec![vec![0.0, 1.0, f64::NAN]; 7],
            torque_ratio: vec![vec![0.3, -0.9, 0.1]; 7],
        };
        let curve = |k: usize| MethodCurve {
            method: format!("m<{k}>"),
            masses: vec![(0.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)],
            known: (k == 0).then(|| known.clone()),
            followed: (k == 1).then(|| path.clone()),
        };
        let comparison = MethodComparison {
            title: "a & b".to_owned(),
            verdict: "fine".to_owned(),
            tables: vec![CaptionedTable {
                caption: "outcome".to_owned(),
                rows: vec![vec!["x".into(), "<y>".into()], vec!["1".into(), "2 < 3".into()]],
            }],
            bodies: vec![ComparedBody {
                title: "b, 4lb".to_owned(),
                truth: vec![3.1; 10],
                curves: (0..8).map(curve).collect(),
            }],
        };
        let page = comparison.page().unwrap();
        for words in [
            "a &amp; b",
            "&lt;y&gt;",
            "2 &lt; 3",
            "m&lt;7&gt;",
            "3.1",
            "±",
            "j&lt;6&gt;",
            "class=\"c6\"",
            "#C2410C",
        ] {
            assert!(page.contains(words), "{words}");
        }
        // Eight methods take two plots of masses; one followed a path.
        assert_eq!(page.matches("<svg").count(), 4);
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org").count()
        );
    }
}
