//! Rows over windows and parts of them, which share the dear enclosures of the window they are cut from.

use std::ops::Range;

use super::Window;
use super::evaluator::{Evaluator, Evaluators, Form};
use super::integrals::{Charges, Enclosure, Integrals, Known};
use crate::enclose::Interval;
use crate::identify::polytope::{Origin, Rows};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::robot::Arm;
use crate::scalar::Scalar;

/// A part of a window with all that rows over it and its neighbours share.
#[derive(Debug, Clone)]
pub struct Part {
    window: Window,
    /// int Y_f, row-major n x 10 n; errors of encoders and of the motion at constant velocity included.
    rate: Vec<Interval>,
    /// For each row, what the accelerations may change in y z.
    swing: Vec<Interval>,
    /// For each row, the integral of the lever by which gravity pulls at the joint.
    lever: Vec<[Interval; 3]>,
    first: Momentum,
    last: Momentum,
}

/// Y_m at one tick, and for each row what the encoders may change in y z there.
#[derive(Debug, Clone, Default)]
struct Momentum {
    /// Row-major n x 10 n coefficients.
    y: Vec<f64>,
    error: Vec<f64>,
}

/// Storage for what is dear about a window, kept from window to window; see [`Enclosed`].
#[derive(Debug, Clone)]
pub struct Enclosures<'a> {
    robot: &'a Arm,
    known: Known<'a>,
    evaluators: Evaluators,
    forms: Evaluator<Form>,
    enclosure: Enclosure,
    charges: Charges,
    /// Of one row: int Y_f, and Y_m at a tick.
    rate: Vec<Interval>,
    momentum: Vec<f64>,
}

impl<'a> Enclosures<'a> {
    /// Of no window yet; z is taken to lie in `set`.
    pub fn new(robot: &'a Arm, set: &'a ParameterSet) -> Self {
        Self {
            robot,
            known: Known::new(set),
            evaluators: Evaluators::new(robot),
            forms: Evaluator::new(robot),
            enclosure: Enclosure::default(),
            charges: Charges::default(),
            rate: vec![],
            momentum: vec![],
        }
    }

    /// Encloses what happens in `window`.
    pub fn of<'e>(&'e mut self, window: &'e Window) -> Enclosed<'e, 'a> {
        let Self { robot, known, evaluators, enclosure, charges, .. } = self;
        let integrals = Integrals::new(robot, window);
        integrals.fill(evaluators, enclosure);
        *charges = integrals.charges(known, enclosure);
        Enclosed { enclosures: self, window }
    }
}

/// A window with what is dear about it: Y_f at every tick, and enclosures of its derivatives over blocks of panels.
#[derive(Debug)]
pub struct Enclosed<'e, 'a> {
    enclosures: &'e mut Enclosures<'a>,
    window: &'e Window,
}

impl Enclosed<'_, '_> {
    /// The parts of the window between the ticks of each of `spans` (first and last tick, at least one panel).
    pub fn parts(&mut self, spans: &[Range<usize>]) -> Vec<Part> {
        let Enclosures { robot, known, forms, enclosure, charges, rate: row, momentum, .. } =
            &mut *self.enclosures;
        let (n, window) = (robot.dof(), self.window);
        let mut ends: Vec<usize> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
        ends.sort_unstable();
        ends.dedup();
        let whole = Integrals::new(robot, window);
        let at_tick = |&k: &usize| {
            let mut found = Momentum::default();
            whole.place(forms, k);
            for i in 0..n {
                found.error.push(whole.momentum(known, forms, i, momentum));
                found.y.extend_from_slice(momentum);
            }
            found
        };
        let momenta: Vec<Momentum> = ends.iter().map(at_tick).collect();
        let at = |k: usize| momenta[ends.partition_point(|&end| end < k)].clone();
        let part = |span: &Range<usize>| {
            let mut rate = Vec::with_capacity(INERTIAL * n * n);
            for i in 0..n {
                whole.rate(span, i, enclosure, row);
                rate.extend_from_slice(row);
            }
            let swing = (0..n).map(|i| whole.swing(span, i, charges)).collect();
            let lever = (0..n).map(|i| whole.lever(span, i, charges)).collect();
            let samples = window.samples[span.start..=span.end].to_vec();
            let (acceleration_bound, clock) = (window.acceleration_bound.clone(), window.clock);
            let window = Window { samples, acceleration_bound, clock };
            Part { window, rate, swing, lever, first: at(span.start), last: at(span.end) }
        };
        spans.iter().map(part).collect()
    }
}

/// Cuts a window into `count` consecutive parts (at most one a panel) of nearly equal length; z is taken to lie in `set`.
pub fn parts(robot: &Arm, set: &ParameterSet, window: &Window, count: usize) -> Vec<Part> {
    Enclosures::new(robot, set).of(window).parts(&equal_spans(window, count))
}

/// The ticks between which the parts of [`parts`] lie.
pub fn equal_spans(window: &Window, count: usize) -> Vec<Range<usize>> {
    let panels = window.samples.len().saturating_sub(1);
    let count = count.clamp(1, panels.max(1));
    (0..count).map(|k| k * panels / count..(k + 1) * panels / count).collect()
}

/// The n rows (one a joint) over consecutive parts of one window or of several, each beginning with the tick that ends the one
/// before, all made with the same `set`; over the full parameter vector.
pub fn rows_over_parts(robot: &Arm, set: &ParameterSet, parts: &[Part]) -> Rows {
    let mut rows = Rows::none(robot.parameter_count());
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return rows };
    let Some(window) = Window::joined(parts.iter().map(|part| &part.window)) else { return rows };
    let (n, known) = (robot.dof(), Known::new(set));
    let integrals = Integrals::new(robot, &window);
    rows.y = nalgebra::DMatrix::zeros(n, robot.parameter_count());
    let (first, last) = (&first.first, &last.last);
    for i in 0..n {
        let error = Interval::constant(first.error[i]) + Interval::constant(last.error[i]);
        let error = parts.iter().fold(error, |error, part| error + part.swing[i]);
        let levers = parts.iter().map(|part| &part.lever[i]);
        let lever =
            levers.fold([Interval::zero(); 3], |sum, lever| std::array::from_fn(|k| sum[k] + lever[k]));
        let error = error + integrals.tilt(&lever);
        let row = INERTIAL * n * i..INERTIAL * n * (i + 1);
        let links = row.map(|at| {
            let difference = Interval::constant(last.y[at]) - Interval::constant(first.y[at]);
            parts.iter().fold(difference, |difference, part| difference - part.rate[at])
        });
        let (u, radius) = integrals.balance(&known, i, links, error, |column, y| rows.y[(i, column)] = y);
        rows.u.push(u);
        rows.radius.push(radius);
        rows.origin.push(Origin { t: integrals.end(), joint: i });
    }
    rows
}
