//! Pictures of sweeps: what estimates are off by, over the key that is changed.
//!
//! For those who compare with \[5\], Figs. 6 and 7. One picture a key, `KEY.svg`, with one panel for each sweep of it. Hollow points did not converge. The names of the
//! lines stand in the first panel, and where they are others.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::super::CampaignError;
use super::{MechanismTrial, SweepFile};
use crate::report::LINES;

/// Width and height of a panel, pixels.
const PANEL: (u32, u32) = (360, 300);
/// What is drawn of errors, percent: smaller and larger ones lie on the edge.
const SHOWN: Range<f64> = 0.01..1000.0;
/// A sweep with its trials.
type Swept<'a> = (&'a SweepFile, &'a [MechanismTrial]);

/// Name and content of the pictures; `trials` begin with those of the sweeps, in their order.
pub(super) fn figures(
    sweeps: &[SweepFile],
    trials: &[MechanismTrial],
) -> Result<Vec<(String, String)>, CampaignError> {
    let (mut rest, mut keys): (_, Vec<(&str, Vec<Swept<'_>>)>) = (trials, vec![]);
    for sweep in sweeps {
        let (own, more) = rest.split_at(sweep.values.len());
        rest = more;
        match keys.iter_mut().find(|(key, _)| *key == sweep.key) {
            Some((_, panels)) => panels.push((sweep, own)),
            None => keys.push((&sweep.key, vec![(sweep, own)])),
        }
    }
    // Logarithms are what the keys of \[5\] are shown by.
    keys.retain(|(_, panels)| panels.iter().all(|(sweep, _)| sweep.values.iter().all(|v| *v > 0.0)));
    let one = |(key, panels): &(&str, Vec<Swept<'_>>)| match figure(key, panels) {
        Ok(svg) => Ok((format!("{key}.svg"), svg)),
        Err(error) => Err(CampaignError::Trials(format!("the picture of `{key}`: {error}"))),
    };
    keys.iter().map(one).collect()
}

fn figure(key: &str, panels: &[Swept<'_>]) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (PANEL.0 * panels.len() as u32, PANEL.1));
        let root = root.into_drawing_area();
        root.fill(&WHITE)?;
        let all = || panels.iter().flat_map(|(sweep, _)| sweep.values.iter().copied());
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let names = |swept| errors(swept).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        for (i, (area, swept)) in root.split_evenly((1, panels.len())).iter().zip(panels).enumerate() {
            let told = i > 0 && names(*swept) == names(panels[0]);
            panel(area, key, (0.8 * least)..(1.25 * most), *swept, !told)?;
        }
        root.present()?;
    }
    Ok(svg)
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

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    key: &str,
    range: Range<f64>,
    swept: Swept<'_>,
    legend: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(&swept.0.label, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(52)
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
    for (i, (name, spots)) in errors(swept).into_iter().enumerate() {
        let colour = LINES[i % LINES.len()];
        chart
            .draw_series(LineSeries::new(spots.iter().map(|s| (s.0, s.1)), colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(2)));
        let point = |s: &Spot| {
            let style = if s.2 { colour.filled() } else { colour.stroke_width(1) };
            Circle::new((s.0, s.1), 3, style)
        };
        chart.draw_series(spots.iter().map(point))?;
    }
    if legend {
        let labels = &mut chart.configure_series_labels();
        let font = ("sans-serif", 11);
        labels.position(SeriesLabelPosition::UpperLeft).label_font(font).background_style(WHITE.mix(0.6));
        labels.draw()?;
    }
    Ok(())
}
