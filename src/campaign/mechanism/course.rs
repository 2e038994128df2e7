//! The course of estimates over one key: how parameters and cost change from iteration to iteration, and where the estimated model leads by itself ([5, Fig. 5]).
//!
//! For those who compare with \[5\]. A sweep with `course = true` adds the picture `KEY_course.svg`: on the left what encoders read, with the angles that each model reaches
//! from its first state under the recorded control, and that control; on the right the parameters that the promise is about, and the cost, over the iterations.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;
use serde::{Deserialize, Serialize};

use super::plot::name_lines;
use super::{MechanismTrial, SweepFile};
use crate::discrete::EncoderLog;
use crate::estimate::error::EstimateError;
use crate::report::LINES;
use crate::study::estimation::StudyResult;
use crate::study::mechanism::MechanismStudy;

/// Iterations that are looked at.
const ITERATIONS: usize = 15;
/// Width and height of a panel, pixels.
const PANEL: (u32, u32) = (460, 200);
/// Height of the names, pixels.
const NAMES: u32 = 40;
/// Colour of what was recorded.
const RECORDED: RGBColor = RGBColor(0x11, 0x18, 0x27);

/// The course of one estimate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Course {
    /// Times at which all encoders were read, s.
    times_s: Vec<f64>,
    /// What they read, and where the model leads by itself, rad.
    measured: Vec<Vec<f64>>,
    rollout: Vec<Vec<f64>>,
    /// The first motor's control.
    controls: Vec<f64>,
    /// Names of parameters, and their values before each iteration and at the end.
    names: Vec<String>,
    parameters: Vec<Vec<f64>>,
    /// Cost before each iteration and at the end, rad^2.
    costs: Vec<f64>,
    /// Rms of measured less rollout over the first second and over all, rad, all hinges together.
    rms_rad: [f64; 2],
}

fn rms(pairs: &[(&Vec<f64>, &Vec<f64>)]) -> f64 {
    let squares =
        |(a, b): &(&Vec<f64>, &Vec<f64>)| a.iter().zip(*b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let count: usize = pairs.iter().map(|p| p.0.len()).sum();
    (pairs.iter().map(squares).sum::<f64>() / count.max(1) as f64).sqrt()
}

impl Course {
    /// Of `result`, which `again` states anew: it is ended after ever more iterations.
    pub(super) fn of(
        log: &EncoderLog,
        result: &StudyResult,
        again: impl Fn() -> Result<MechanismStudy, EstimateError>,
    ) -> Option<Self> {
        let found = result.mechanism.as_ref()?;
        let read = |k: &usize| log.angles[*k].iter().all(|a| a.is_finite());
        let at: Vec<usize> = (0..found.rollout.len()).filter(read).collect();
        let motor = (0..log.controls[0].len()).find(|j| log.controls.iter().any(|u| u[*j] != 0.0));
        let value = |p: &crate::study::estimation::ParameterRow| p.estimate;
        let mut parameters: Vec<Vec<f64>> = vec![result.parameters.iter().map(|p| p.start).collect()];
        for n in 1..=ITERATIONS.min(result.iterations) {
            let mut study = again().ok()?;
            (study.options.parallel, study.options.iterations) = (false, n);
            let Ok(part) = study.run() else { break };
            parameters.push(part.parameters.iter().map(value).collect());
        }
        let measured: Vec<Vec<f64>> = at.iter().map(|&k| log.angles[k].clone()).collect();
        let rollout: Vec<Vec<f64>> = at.iter().map(|&k| found.rollout[k].clone()).collect();
        let times_s: Vec<f64> = at.iter().map(|&k| result.times_s[k]).collect();
        let pairs: Vec<_> = measured.iter().zip(&rollout).collect();
        let second = times_s.iter().take_while(|t| **t <= times_s[0] + 1.0).count();
        let rms_rad = [rms(&pairs[..second]), rms(&pairs)];
        Some(Self {
            controls: at.iter().map(|&k| motor.map_or(0.0, |j| log.controls[k][j])).collect(),
            names: result.parameters.iter().map(|p| format!("{} of {}", p.name, p.place)).collect(),
            costs: result.record.iter().take(ITERATIONS + 1).map(|row| row.cost).collect(),
            times_s,
            measured,
            rollout,
            parameters,
            rms_rad,
        })
    }

    /// In words, for tables.
    pub(super) fn told(&self) -> String {
        let [second, all] = self.rms_rad;
        format!("by itself {second:.1e} rad off over a second, {all:.1e} over all")
    }

    fn parameter(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }
}

/// A line of a panel: its colour and points.
type Line = (RGBColor, Vec<(f64, f64)>);

/// The picture, where the sweep asks for it.
pub(super) fn course_figure(
    sweep: &SweepFile,
    trials: &[MechanismTrial],
) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let courses: Vec<(f64, &Course)> =
        sweep.values.iter().zip(trials).filter_map(|(v, t)| Some((*v, t.course.as_ref()?))).collect();
    let Some((_, first)) = courses.first() else { return Ok(None) };
    let colour = |i: usize| LINES[i % LINES.len()];
    let mut left = vec![];
    for h in 0..first.measured[0].len().min(2) {
        let along = |c: &Course, of: &[Vec<f64>]| c.times_s.iter().zip(of).map(|(t, a)| (*t, a[h])).collect();
        let measured: Vec<(f64, f64)> = along(first, &first.measured);
        let shown = span(measured.iter().map(|p| p.1), 0.3);
        let mut lines: Vec<Line> =
            courses.iter().enumerate().map(|(i, (_, c))| (colour(i), along(c, &c.rollout))).collect();
        lines.push((RECORDED, measured));
        left.push((format!("hinge {}, rad", h + 1), shown, lines));
    }
    let control: Vec<(f64, f64)> =
        first.times_s.iter().copied().zip(first.controls.iter().copied()).collect();
    left.push(("control".to_owned(), span(control.iter().map(|p| p.1), 0.1), vec![(RECORDED, control)]));
    let mut right = vec![];
    let promised = sweep.promise.iter().flat_map(|p| &p.parameters);
    for name in promised.take(2) {
        let line = |(i, (_, c)): (usize, &(f64, &Course))| {
            let at = c.parameter(name)?;
            Some((colour(i), c.parameters.iter().enumerate().map(|(n, p)| (n as f64, p[at])).collect()))
        };
        let lines: Vec<Line> = courses.iter().enumerate().filter_map(line).collect();
        right.push((name.clone(), span(lines.iter().flat_map(|l| &l.1).map(|p| p.1), 0.1), lines));
    }
    let costs = |(i, (_, c)): (usize, &(f64, &Course))| {
        (colour(i), c.costs.iter().enumerate().map(|(n, x)| (n as f64, x.log10())).collect())
    };
    let lines: Vec<Line> = courses.iter().enumerate().map(costs).collect();
    right.push((
        "log10 of the cost, rad^2".to_owned(),
        span(lines.iter().flat_map(|l| &l.1).map(|p| p.1), 0.1),
        lines,
    ));
    let labels: Vec<String> = courses.iter().map(|(v, _)| format!("{} = {v:?}", sweep.key)).collect();
    let mut names: Vec<(&str, RGBColor)> =
        labels.iter().enumerate().map(|(i, label)| (label.as_str(), colour(i))).collect();
    names.push(("recorded", RECORDED));
    Ok(Some(draw(&left, &right, &names)?))
}

/// From the least to the largest, and a share more.
fn span(values: impl Iterator<Item = f64>, more: f64) -> Range<f64> {
    let (least, most) = values
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    let room = if most > least { more * (most - least) } else { 1.0 };
    if least.is_finite() { (least - room)..(most + room) } else { 0.0..1.0 }
}

/// A panel's name, range and lines.
type Shown = (String, Range<f64>, Vec<Line>);

fn draw(
    left: &[Shown],
    right: &[Shown],
    names: &[(&str, RGBColor)],
) -> Result<String, Box<dyn std::error::Error>> {
    let rows = left.len().max(right.len());
    let mut svg = String::new();
    {
        let size = (2 * PANEL.0, rows as u32 * PANEL.1 + NAMES);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let (charts, legend) = root.split_vertically(rows as u32 * PANEL.1);
        for (i, area) in charts.split_evenly((rows, 2)).iter().enumerate() {
            let (side, x) = if i % 2 == 0 { (left, "time, s") } else { (right, "iteration") };
            if let Some(shown) = side.get(i / 2) {
                panel(area, x, shown)?;
            }
        }
        name_lines(&legend, names, 5)?;
        root.present()?;
    }
    Ok(svg)
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    x: &str,
    (name, range, lines): &Shown,
) -> Result<(), Box<dyn std::error::Error>> {
    let most = lines.iter().flat_map(|l| &l.1).fold(1.0f64, |m, p| m.max(p.0));
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..most, range.clone())?;
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(name)
        .x_labels(8)
        .y_labels(6)
        .y_label_formatter(&|y| {
            if y.abs() < 0.1 && *y != 0.0 { format!("{y:.1e}") } else { format!("{y:.1}") }
        })
        .light_line_style(WHITE)
        .draw()?;
    for (colour, points) in lines {
        // Beyond the panel the line would run over its neighbours.
        let inside = points.iter().map(|p| (p.0, p.1.clamp(range.start, range.end)));
        chart.draw_series(LineSeries::new(inside, colour.stroke_width(1)))?;
    }
    Ok(())
}
