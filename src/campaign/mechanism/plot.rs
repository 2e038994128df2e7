//! Pictures of sweeps: what estimates are off by, over the key that is changed.
//!
//! For those who compare with \[5\], Figs. 4, 6 and 7. One picture a key, `KEY.svg`, with a column for each sweep of it: errors of the parameters that a promise is about
//! (all of them where there is none), and below them the mean squares of readings and impulses. Hollow points did not converge. The names of the lines stand under
//! the panels.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::super::CampaignError;
use super::course::course_figure;
use super::{MechanismTrial, SweepFile};
use crate::report::LINES;

/// Width and height of a panel, pixels.
const PANEL: (u32, u32) = (360, 300);
/// What is drawn of errors, percent: smaller and larger ones lie on the edge.
const SHOWN: Range<f64> = 0.01..1000.0;
/// Height of a row of names, pixels.
const LINE: u32 = 20;
/// Room of a name, pixels.
const NAME: i32 = 180;
/// Names a row for each panel.
const PER_LINE: usize = 2;
/// Lines of the lower panels.
const SQUARES: [(&str, RGBColor); 2] =
    [("readings", RGBColor(0x11, 0x18, 0x27)), ("impulses", RGBColor(0x9c, 0x6b, 0x30))];
/// Mean squares below this are not drawn, rad^2.
const LEAST_SQUARE: f64 = 1e-20;

/// A sweep with its trials.
type Swept<'a> = (&'a SweepFile, &'a [MechanismTrial]);

/// Name and content of the pictures; `trials` begin with those of the sweeps, in their order.
pub(super) fn figures(
    sweeps: &[SweepFile],
    trials: &[MechanismTrial],
) -> Result<Vec<(String, String)>, CampaignError> {
    let (mut rest, mut keys): (_, Vec<(&str, Vec<Swept<'_>>)>) = (trials, vec![]);
    let mut courses = vec![];
    for sweep in sweeps {
        let (own, more) = rest.split_at(sweep.values.len());
        rest = more;
        let drawn = course_figure(sweep, own).map_err(|e| unfit(&sweep.key, &*e))?;
        courses.extend(drawn.map(|svg| (format!("{}_course.svg", sweep.key), svg)));
        match keys.iter_mut().find(|(key, _)| *key == sweep.key) {
            Some((_, panels)) => panels.push((sweep, own)),
            None => keys.push((&sweep.key, vec![(sweep, own)])),
        }
    }
    // Logarithms are what the keys of \[5\] are shown by.
    keys.retain(|(_, panels)| panels.iter().all(|(sweep, _)| sweep.values.iter().all(|v| *v > 0.0)));
    let one = |(key, panels): &(&str, Vec<Swept<'_>>)| match figure(key, panels) {
        Ok(svg) => Ok((format!("{key}.svg"), svg)),
        Err(error) => Err(unfit(key, &*error)),
    };
    keys.iter().map(one).chain(courses.into_iter().map(Ok)).collect()
}

fn unfit(key: &str, error: &dyn std::error::Error) -> CampaignError {
    CampaignError::Trials(format!("the picture of `{key}`: {error}"))
}

fn figure(key: &str, panels: &[Swept<'_>]) -> Result<String, Box<dyn std::error::Error>> {
    let names = shown(panels);
    let under = LINE * (names.len() + SQUARES.len()).div_ceil(PER_LINE * panels.len()) as u32;
    let size = (PANEL.0 * panels.len() as u32, 2 * PANEL.1 + under);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let all = || panels.iter().flat_map(|(sweep, _)| sweep.values.iter().copied());
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let range = (0.8 * least)..(1.25 * most);
        let (charts, legend) = root.split_vertically(2 * PANEL.1);
        let (above, below) = charts.split_vertically(PANEL.1);
        let columns = (1, panels.len());
        for (area, swept) in above.split_evenly(columns).iter().zip(panels) {
            error_panel(area, (key, range.clone()), *swept, &names)?;
        }
        let squares = square_range(panels);
        for (area, swept) in below.split_evenly(columns).iter().zip(panels) {
            square_panel(area, (key, range.clone()), *swept, squares.clone())?;
        }
        let lines = names.iter().enumerate().map(|(i, name)| (name.as_str(), LINES[i % LINES.len()]));
        name_lines(&legend, &lines.chain(SQUARES).collect::<Vec<_>>(), PER_LINE * panels.len())?;
        root.present()?;
    }
    Ok(svg)
}

/// The names of lines beside pieces of them, so many a row.
pub(super) fn name_lines(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    lines: &[(&str, RGBColor)],
    per_row: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    for (i, (name, colour)) in lines.iter().enumerate() {
        let (x, y) = (12 + (i % per_row) as i32 * NAME, (i / per_row) as i32 * LINE as i32 + 9);
        area.draw(&PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)))?;
        area.draw(&Text::new((*name).to_owned(), (x + 20, y - 6), ("sans-serif", 11)))?;
    }
    Ok(())
}

/// The parameters that are drawn: those that a promise is about, or all whose truth is known.
fn shown(panels: &[Swept<'_>]) -> Vec<String> {
    let promised = panels.iter().filter_map(|(sweep, _)| sweep.promise.as_ref());
    let mut names: Vec<String> = vec![];
    for name in promised.flat_map(|p| &p.parameters) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if names.is_empty() {
        for (name, _) in panels.iter().flat_map(|swept| errors(*swept)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Mean squares of a trial, readings and impulses, that logarithms can show.
fn squares(trial: &MechanismTrial) -> [Option<f64>; 2] {
    [trial.observation, trial.state].map(|x| x.filter(|x| *x > LEAST_SQUARE))
}

/// From the least to the largest mean square of all panels.
fn square_range(panels: &[Swept<'_>]) -> Range<f64> {
    let all = || panels.iter().flat_map(|(_, trials)| *trials).flat_map(squares).flatten();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    if most > 0.0 { (0.5 * least)..(2.0 * most) } else { LEAST_SQUARE..1.0 }
}

/// Value of the key, error in percent, and whether the estimate converged.
type Spot = (f64, f64, bool);

/// Each parameter whose truth is known and not 0, with its errors.
fn errors((sweep, trials): Swept<'_>) -> Vec<(String, Vec<Spot>)> {
    let mut out: Vec<(String, Vec<Spot>)> = vec![];
    for (value, trial) in sweep.values.iter().zip(trials) {
        for p in &trial.parameters {
            let Some(truth) = p.truth.filter(|t| *t != 0.0) else { continue };
            let off = 100.0 * (p.estimate / truth - 1.0).abs();
            if off.is_nan() {
                continue;
            }
            let spot = (*value, off.clamp(SHOWN.start, SHOWN.end), trial.converged);
            match out.iter_mut().find(|(name, _)| *name == p.name) {
                Some((_, spots)) => spots.push(spot),
                None => out.push((p.name.clone(), vec![spot])),
            }
        }
    }
    out
}

fn error_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    (key, range): (&str, Range<f64>),
    swept: Swept<'_>,
    names: &[String],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(&swept.0.label, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d(range.clone().log_scale(), SHOWN.log_scale())?;
    chart
        .configure_mesh()
        .x_desc(key)
        .y_desc("error, %")
        .x_labels(8)
        .x_label_formatter(&|x| format!("{x:.0e}"))
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(WHITE)
        .draw()?;
    // One percent.
    let line = [(range.start, 1.0), (range.end, 1.0)];
    chart.draw_series(DashedLineSeries::new(line, 4, 4, BLACK.mix(0.5).into()))?;
    let found = errors(swept);
    for (i, name) in names.iter().enumerate() {
        let Some((_, spots)) = found.iter().find(|(other, _)| other == name) else { continue };
        let colour = LINES[i % LINES.len()];
        chart.draw_series(LineSeries::new(spots.iter().map(|s| (s.0, s.1)), colour.stroke_width(2)))?;
        let point = |s: &Spot| {
            let style = if s.2 { colour.filled() } else { colour.stroke_width(1) };
            Circle::new((s.0, s.1), 3, style)
        };
        chart.draw_series(spots.iter().map(point))?;
    }
    Ok(())
}

fn square_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    (key, range): (&str, Range<f64>),
    (sweep, trials): Swept<'_>,
    squares_shown: Range<f64>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d(range.log_scale(), squares_shown.log_scale())?;
    chart
        .configure_mesh()
        .x_desc(key)
        .y_desc("mean square, rad^2")
        .x_labels(8)
        .x_label_formatter(&|x| format!("{x:.0e}"))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .light_line_style(WHITE)
        .draw()?;
    for (i, (_, colour)) in SQUARES.iter().enumerate() {
        let pairs = || sweep.values.iter().zip(trials);
        let spots = || pairs().filter_map(|(v, trial)| Some((*v, squares(trial)[i]?, trial.converged)));
        chart.draw_series(LineSeries::new(spots().map(|s| (s.0, s.1)), colour.stroke_width(2)))?;
        let point = |s: Spot| {
            let style = if s.2 { colour.filled() } else { colour.stroke_width(1) };
            Circle::new((s.0, s.1), 3, style)
        };
        chart.draw_series(spots().map(point))?;
    }
    Ok(())
}
