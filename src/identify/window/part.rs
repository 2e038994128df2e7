//! Rows over parts of windows: short windows that share the dear enclosures of the window they are cut from.

use std::ops::Range;

use super::{Evaluator, Form, Integrals, Momentum, RateIntegral, Window, rows_between};
use crate::identify::polytope::Rows;
use crate::inertia::ParameterSet;
use crate::robot::Robot;

/// A part of a window with all that rows over it and its neighbours share.
#[derive(Debug, Clone)]
pub struct Part {
    window: Window,
    rate: RateIntegral,
    first: Momentum,
    last: Momentum,
}

/// Cuts a window into `count` consecutive parts (at most one a panel) of nearly equal length; z is taken to lie in `set`.
pub fn parts(robot: &Robot, set: &ParameterSet, window: &Window, count: usize) -> Vec<Part> {
    pieces(robot, set, window, &equal_spans(window, count))
}

/// The ticks between which the parts of [`parts`] lie.
pub fn equal_spans(window: &Window, count: usize) -> Vec<Range<usize>> {
    let panels = window.samples.len().saturating_sub(1);
    let count = count.clamp(1, panels.max(1));
    (0..count).map(|k| k * panels / count..(k + 1) * panels / count).collect()
}

/// The parts of a window between the ticks of each of `spans` (first and last tick, at least one panel); z is taken to lie in
/// `set`.
///
/// Enclosures that hold over a block of panels hold over each part of it: the derivatives by the velocities, which are dear
/// and vary slowly, are enclosed once for all parts.
pub fn pieces(robot: &Robot, set: &ParameterSet, window: &Window, spans: &[Range<usize>]) -> Vec<Part> {
    let whole = Integrals::new(robot, set, window);
    let mut ends: Vec<usize> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut evaluator = Evaluator::<Form>::new(robot);
    let momenta: Vec<Momentum> = ends.iter().map(|&k| whole.momentum(&mut evaluator, k)).collect();
    let at = |k: usize| momenta[ends.partition_point(|&end| end < k)].clone();
    let swings = whole.swing_errors(spans);
    let parts = spans.iter().zip(swings);
    parts
        .map(|(span, swing)| {
            let samples = window.samples[span.start..=span.end].to_vec();
            let window = Window { samples, ..window.bounds() };
            let y = Integrals::new(robot, set, &window).rate();
            let rate = RateIntegral { y, swing };
            Part { window, rate, first: at(span.start), last: at(span.end) }
        })
        .collect()
}

/// The n rows (one a joint) over consecutive parts of one window or of several that follow one another, all made with the
/// same `set`; over the full parameter vector.
pub fn rows_over_parts(robot: &Robot, set: &ParameterSet, parts: &[Part]) -> Rows {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return Rows::none(robot.parameter_count());
    };
    let Some(window) = Window::joined(parts.iter().map(|part| &part.window)) else {
        return Rows::none(robot.parameter_count());
    };
    rows_between(robot, set, &window, parts.iter().map(|part| &part.rate), (&first.first, &last.last))
}
