//! Line plots as inline SVG.
//!
//! Colours are written as fixed markers and styled by the page's CSS (`[stroke="#..."]`), which gives dark mode and
//! dashes for free. Everything is drawn on a grid four times finer than it is shown, because the SVG back end
//! rounds to whole units.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::ReportError;
use crate::horizon::TaskPhase;

/// Ranges of pixels, to the right and down.
type Pixels = (Range<i32>, Range<i32>);

/// Units of the drawing a CSS pixel: coordinates are whole numbers, and a quarter of a pixel is not seen.
const FINE: u32 = 4;
/// Height of the numbers of the time axis and its name, CSS pixels.
const AXIS: u32 = 38;
/// Buckets into which a long series is sorted; each keeps its smallest and largest value. About one a pixel of a plot's
/// width: more are not seen and make the page larger.
const BUCKETS: usize = 700;

/// Axis text.
pub const INK: RGBColor = RGBColor(0x5b, 0x64, 0x72);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(0xe4, 0xe8, 0xee);
/// Limits and bounds (dashed by the page).
pub const LIMIT: RGBColor = RGBColor(0xc2, 0x41, 0x0c);
/// The truth (dashed by the page).
pub const TRUTH: RGBColor = RGBColor(0x11, 0x18, 0x27);
/// Background of the phase in which the payload is carried.
pub const CARRY: RGBColor = RGBColor(0x0f, 0x9d, 0x58);
/// Lines of data, told apart by colour.
pub const LINES: [RGBColor; 7] = [
    RGBColor(0x25, 0x63, 0xeb),
    RGBColor(0xd9, 0x77, 0x06),
    RGBColor(0x0d, 0x94, 0x88),
    RGBColor(0x7c, 0x3a, 0xed),
    RGBColor(0xdb, 0x27, 0x77),
    RGBColor(0x65, 0x75, 0x8b),
    RGBColor(0x4d, 0x7c, 0x0f),
];

/// How a series is drawn.
pub enum Shape {
    /// Straight between points.
    Line,
    /// Constant from each point to the next, and from the last to the end of the plot.
    Steps,
    /// Filled between zero and the points.
    Area,
    /// Filled between the points and these upper values, constant from each point to the next.
    Band(Vec<f64>),
}

/// One series of a plot.
pub struct Series {
    pub color: RGBColor,
    pub shape: Shape,
    pub points: Vec<(f64, f64)>,
}

/// A plot over time.
pub struct Plot<'a> {
    /// Read by screen readers and in error messages.
    pub title: String,
    /// Size on the page, CSS pixels.
    pub size: (u32, u32),
    /// End of the time axis, s.
    pub t_end: f64,
    /// Range of the vertical axis; `None` takes it from the data and zero.
    pub range: Option<(f64, f64)>,
    /// Whether the range taken from the data reaches to zero.
    pub from_zero: bool,
    /// Starts of plans with their phases; the background of `carry` is tinted.
    pub phases: &'a [(f64, TaskPhase)],
    pub series: Vec<Series>,
}

impl Plot<'_> {
    /// The plot as an `<svg>` element.
    ///
    /// # Errors
    /// [`ReportError::Plot`] if drawing fails.
    pub fn svg(&self) -> Result<String, ReportError> {
        let mut svg = String::new();
        let (across, down) = {
            let area = SVGBackend::with_string(&mut svg, (self.size.0 * FINE, self.size.1 * FINE));
            self.draw(area.into_drawing_area())
                .map_err(|error| ReportError::Plot { plot: self.title.clone(), reason: error.to_string() })?
        };
        // Inside HTML the name space is implied, and the size follows the page.
        let body = svg.split_once('>').map_or("", |(_, rest)| rest);
        let (width, height) = (self.size.0 * FINE, self.size.1 * FINE);
        let label = super::html::escape(&self.title);
        // Where time 0 and its end are drawn, and the plot's upper and lower edge: for a line that follows a replay.
        let axes = format!("{} {} {} {} {}", across.start, across.end, down.start, down.end, self.end());
        Ok(format!(
            r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}" data-axes="{axes}">{body}"#
        ))
    }

    /// End of the time axis, s.
    fn end(&self) -> f64 {
        if self.t_end.is_finite() && self.t_end > 0.0 { self.t_end } else { 1.0 }
    }

    /// Draws; gives the ranges of pixels between the axes, to the right and down.
    fn draw(&self, area: DrawingArea<SVGBackend<'_>, Shift>) -> Result<Pixels, Box<dyn std::error::Error>> {
        let (low, high) = self.vertical_range();
        let end = self.end();
        let text = ("sans-serif", 14 * FINE).into_font().color(&INK);
        let mut chart = ChartBuilder::on(&area)
            .margin_top(8 * FINE)
            .margin_right(12 * FINE)
            .x_label_area_size(AXIS * FINE)
            .y_label_area_size(48 * FINE)
            .build_cartesian_2d(Ticks::new(0.0, end), Ticks::new(low, high))?;
        for (from, to) in carry_spans(self.phases, end) {
            chart.draw_series([Rectangle::new([(from, low), (to, high)], CARRY.mix(0.07).filled())])?;
        }
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(FINE))
            .axis_style(GRID.stroke_width(FINE))
            .set_all_tick_mark_size(5 * FINE)
            .x_desc("time, s")
            .axis_desc_style(text.clone())
            .x_label_style(text.clone().pos(Pos::new(HPos::Center, VPos::Top)))
            .y_label_style(text)
            .draw()?;
        for series in &self.series {
            match &series.shape {
                Shape::Band(upper) => {
                    let lower = steps(&series.points, end);
                    let tops: Vec<_> = series.points.iter().zip(upper).map(|(p, &u)| (p.0, u)).collect();
                    let mut outline = steps(&tops, end);
                    outline.extend(lower.into_iter().rev());
                    chart.draw_series([Polygon::new(outline, series.color.mix(0.22).filled())])?;
                }
                Shape::Area => {
                    let points = thin(&series.points);
                    chart.draw_series(AreaSeries::new(
                        points.clone(),
                        0.0,
                        series.color.mix(0.18).filled(),
                    ))?;
                    chart.draw_series(LineSeries::new(points, series.color.stroke_width(FINE * 3 / 2)))?;
                }
                Shape::Line => {
                    let line = LineSeries::new(thin(&series.points), series.color.stroke_width(FINE * 3 / 2));
                    chart.draw_series(line)?;
                }
                Shape::Steps => {
                    let line =
                        LineSeries::new(steps(&series.points, end), series.color.stroke_width(FINE * 2));
                    chart.draw_series(line)?;
                }
            }
        }
        let pixels = chart.plotting_area().get_pixel_range();
        area.present()?;
        Ok(pixels)
    }

    /// The range asked for, or one that holds all finite data with a little air.
    fn vertical_range(&self) -> (f64, f64) {
        if let Some(range) = self.range {
            return range;
        }
        let values = self.series.iter().flat_map(|series| {
            let upper: &[f64] = if let Shape::Band(upper) = &series.shape { upper } else { &[] };
            series.points.iter().map(|p| p.1).chain(upper.iter().copied())
        });
        let start = if self.from_zero { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
        let (low, high) = values
            .filter(|y| y.is_finite())
            .fold(start, |(low, high): (f64, f64), y| (low.min(y), high.max(y)));
        if low >= high {
            let middle = if low > high { 0.0 } else { low };
            return (middle - 0.5, middle + 0.5);
        }
        let air = 0.06 * (high - low);
        (if self.from_zero && low == 0.0 { 0.0 } else { low - air }, high + air)
    }
}

/// The spans of time in which the payload is carried.
fn carry_spans(phases: &[(f64, TaskPhase)], end: f64) -> Vec<(f64, f64)> {
    let ends = phases.iter().skip(1).map(|p| p.0).chain([end]);
    let spans = phases.iter().zip(ends).filter(|((_, phase), _)| *phase != TaskPhase::Excite);
    spans.map(|((from, _), to)| (from.clamp(0.0, end), to.clamp(0.0, end))).filter(|(a, b)| a < b).collect()
}

/// The corners of a function that is constant from each point to the next.
fn steps(points: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(2 * points.len() + 1);
    let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
    for &(t, y) in finite {
        if let Some(&(_, before)) = corners.last() {
            corners.push((t, before));
        }
        corners.push((t, y));
    }
    if let Some(&(t, y)) = corners.last() {
        corners.push((end.max(t), y));
    }
    corners
}

/// At most `2 * BUCKETS` of the finite points; peaks stay, because each bucket keeps its extremes.
pub fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let finite: Vec<(f64, f64)> =
        points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
    if finite.len() <= 2 * BUCKETS {
        return finite;
    }
    let bucket = finite.len().div_ceil(BUCKETS);
    let extremes = finite.chunks(bucket).flat_map(|chunk| {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let low = chunk.iter().min_by(by_value);
        let high = chunk.iter().max_by(by_value);
        let mut pair: Vec<(f64, f64)> = low.into_iter().chain(high).copied().collect();
        pair.sort_by(|a, b| a.0.total_cmp(&b.0));
        pair
    });
    extremes.collect()
}

/// An axis whose labels stand at round numbers with only the digits they need.
struct Ticks {
    low: f64,
    high: f64,
}

impl Ticks {
    fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// The round step that gives at most `count` labels.
    fn step(&self, count: usize) -> f64 {
        let rough = (self.high - self.low) / count.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(10.0 * power)
    }
}

impl Ranged for Ticks {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let ratio = (value - self.low) / (self.high - self.low);
        // Values outside the range are drawn at its edge; `as` saturates, so nothing overflows.
        limit.0 + (f64::from(limit.1 - limit.0) * ratio.clamp(-0.02, 1.02)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let step = self.step(hint.bold_points().min(6));
        let first = (self.low / step).ceil() as i64;
        (first..).map(|i| i as f64 * step).take_while(|x| *x <= self.high).take(12).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Ticks {
    fn format(value: &f64) -> String {
        if *value != 0.0 && value.abs() < 1e-6 {
            return format!("{value:.1e}");
        }
        let text = format!("{value:.9}");
        let short = text.trim_end_matches('0').trim_end_matches('.');
        if short == "-0" { "0".to_owned() } else { short.to_owned() }
    }
}
