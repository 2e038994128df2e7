//! Rows over parts of windows: short windows that share the dear enclosures of the window they are cut from.

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
///
/// Enclosures that hold over a block of panels hold over each part of it: the derivatives by the velocities, which are dear
/// and vary slowly, are enclosed once for all parts.
pub fn parts(robot: &Robot, set: &ParameterSet, window: &Window, count: usize) -> Vec<Part> {
    let whole = Integrals::new(robot, set, window);
    let count = count.clamp(1, whole.panels().max(1));
    let ends: Vec<usize> = (0..=count).map(|k| k * whole.panels() / count).collect();
    let ranges: Vec<std::ops::Range<usize>> = ends.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let mut evaluator = Evaluator::<Form>::new(robot);
    let momenta: Vec<Momentum> = ends.iter().map(|&k| whole.momentum(&mut evaluator, k)).collect();
    let swings = whole.swing_errors(&ranges);
    let parts = ranges.iter().zip(swings).zip(momenta.windows(2));
    parts
        .map(|((range, swing), momenta)| {
            let samples = window.samples[range.start..=range.end].to_vec();
            let window = Window { samples, ..window.bounds() };
            let y = Integrals::new(robot, set, &window).rate();
            let rate = RateIntegral { y, swing };
            Part { window, rate, first: momenta[0].clone(), last: momenta[1].clone() }
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
