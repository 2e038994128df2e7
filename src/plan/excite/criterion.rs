//! What makes a trajectory exciting, and what earlier ones have told already.

use super::super::decision::Square;
use super::width::{Search, WidthRows, half_width};
use super::{Row, Samples, samples_along};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::sample_errors::{ErrorSlope, SampleErrors};
use crate::regression::balance::with_rows;
use crate::robot::Arm;
use crate::trajectory::Curve;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Length of a foreseen window, s: the identifier's own unless stated.
const WINDOW_S: f64 = 0.1;
/// Windows that are joined to a longer one, besides counting each for itself: the identifier's own longer windows let errors
/// at their ends weigh less. More of them make more rows, and each row costs time.
const JOINED: usize = 3;
/// Errors below this are not told apart, N m s: a perfect sensor must not make the cost infinite.
const SMALLEST_ERROR: f64 = 1e-6;
/// Mass, first moment, inertia: what has one unit.
const KINDS: [Range<usize>; 3] = [0..1, 1..4, 4..10];
/// How exactly widths are foreseen, relative. What is foreseen differs from what comes by far more than half a percent.
const GAP: f64 = 0.005;

/// What has been learnt about the ten parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Information {
    /// The triangular factor R of R'R = sum of W'W.
    factor: Square,
    /// Windows, over their errors: ten columns of the end effector, then those of the shared unknowns of [`SampleErrors`].
    windows: WidthRows,
}

impl Information {
    /// Nothing yet.
    pub fn none() -> Self {
        Self { factor: Square::zeros(), windows: WidthRows::default() }
    }

    /// Adds what the motion along `curve` until `until_s` (s) tells, at `samples` samples, while `set` is what is known. Of its
    /// windows those are kept that some bound leans on.
    pub fn absorb(
        &mut self,
        robot: &Arm,
        set: &ParameterSet,
        curve: &dyn Curve,
        until_s: f64,
        samples: usize,
    ) {
        let samples =
            samples_along(robot, curve, until_s, samples, Some(&SampleErrors::new(robot, set, WINDOW_S)));
        self.factor = with_rows(self.factor, samples.weighted());
        let mut foreseen = WidthRows::default();
        fill_windows(&samples, &mut Vec::new(), &mut foreseen);
        if self.windows.width != samples.width {
            // Other unknowns: what was learnt before does not fit.
            self.windows = WidthRows { width: samples.width, entries: Vec::new() };
        }
        self.windows.entries.append(&mut foreseen.entries);
        let mut rows = WidthRows::default();
        fill_rows(&half_widths(robot, set), [&self.windows], &mut rows);
        let (width, count) = (rows.width, self.windows.iter().count());
        let mut used = vec![false; count];
        for found in (0..INERTIAL).filter_map(|p| half_width(&rows, p, GAP)) {
            let multipliers = &found.multipliers[width..];
            let largest = found.multipliers.iter().fold(0.0f64, |m, l| m.max(l.abs()));
            used.iter_mut().zip(multipliers).for_each(|(used, l)| *used |= l.abs() > 1e-3 * largest);
        }
        let kept = self.windows.iter().zip(used).filter(|(_, used)| *used);
        self.windows.entries = kept.flat_map(|(row, _)| row.iter().copied()).collect();
    }

    /// The half-widths of the ten parameters that the identifier is foreseen to prove with what was absorbed, where `set` was known
    /// before; none where a search fails.
    pub fn half_widths(&self, robot: &Arm, set: &ParameterSet) -> Option<[f64; INERTIAL]> {
        let (scale, mut rows) = (half_widths(robot, set), WidthRows::default());
        fill_rows(&scale, [&self.windows], &mut rows);
        let mut found = [0.0; INERTIAL];
        for (p, found) in found.iter_mut().enumerate() {
            *found = scale[p] * half_width(&rows, p, GAP)?.value;
        }
        Some(found)
    }

    /// Condition number of all rows so far; infinite while a direction is unseen.
    pub fn condition_number(&self) -> f64 {
        let singular = self.factor.singular_values();
        if singular.min() > 0.0 { singular.max() / singular.min() } else { f64::INFINITY }
    }
}

/// Present half-widths of the end effector's parameters; one that is known exactly still needs a scale.
fn half_widths(robot: &Arm, set: &ParameterSet) -> Row {
    let body = set.body(robot.end_effector());
    Row::from_fn(|p, _| body.range(p).half_width().max(1e-6))
}

/// The present intervals of all unknowns, then the windows of `parts` (of one width), with columns scaled by the half-widths; those
/// of shared unknowns are already.
fn fill_rows<'a>(half_widths: &Row, parts: impl IntoIterator<Item = &'a WidthRows>, rows: &mut WidthRows) {
    let WidthRows { width, entries } = rows;
    entries.clear();
    let mut parts = parts.into_iter().peekable();
    *width = parts.peek().map_or(0, |part| part.width).max(INERTIAL);
    entries.resize(*width * *width, 0.0);
    (0..*width).for_each(|p| entries[*width * p + p] = 1.0);
    for row in parts.filter(|part| part.width == *width).flat_map(WidthRows::iter) {
        let scales = half_widths.iter().copied().chain(std::iter::repeat(1.0));
        entries.extend(row.iter().zip(scales).map(|(x, scale)| x * scale));
    }
}

/// A window that will be: samples of one joint, their sum over the sum of their errors is its row.
#[derive(Debug, Clone)]
struct Foreseen {
    joint: usize,
    /// First sample, and the one after the last.
    span: (usize, usize),
    error: f64,
}

/// The windows of all joints, and the joined ones, with their rows.
fn fill_windows(samples: &Samples, windows: &mut Vec<Foreseen>, rows: &mut WidthRows) {
    let count = samples.errors.len() / samples.joints.max(1);
    let each = ((WINDOW_S / samples.dt).round() as usize).max(1);
    windows.clear();
    rows.width = samples.width;
    rows.entries.clear();
    for length in [each, JOINED * each] {
        for first in (0..count).step_by(length) {
            let span = (first, (first + length).min(count));
            windows.extend((0..samples.joints).map(|joint| window(samples, joint, span, &mut rows.entries)));
        }
    }
}

/// Adds the window's row.
fn window(samples: &Samples, joint: usize, span: (usize, usize), entries: &mut Vec<f64>) -> Foreseen {
    let begun = entries.len();
    entries.resize(begun + samples.width, 0.0);
    let row = &mut entries[begun..];
    let mut error = SMALLEST_ERROR;
    for at in (span.0..span.1).map(|s| s * samples.joints + joint) {
        row.iter_mut().zip(samples.row(at)).for_each(|(sum, y)| *sum += y * samples.dt);
        error += samples.errors[at] * samples.dt;
    }
    row.iter_mut().for_each(|sum| *sum /= error);
    Foreseen { joint, span, error }
}

/// What makes a trajectory exciting; smaller costs are better.
#[derive(Debug, Clone)]
pub enum Criterion {
    /// log cond(W) in SI units, the papers' choice.
    ConditionNumber {
        /// Smallest singular value that is told from zero, above 0; keeps the cost finite for a trajectory that shows
        /// nothing.
        floor: f64,
    },
    /// The weighted mean logarithm of what will be left unknown of the mass, of the first moment and of the inertia (for the last
    /// two the root of the sum of squares): half-widths that the identifier will prove.
    PredictedWidth {
        /// Errors of the samples.
        sample_errors: Arc<SampleErrors>,
        /// Present half-widths of the ten parameters, above 0.
        half_widths: Row,
        /// Shares of mass, first moment and inertia in the mean; their sum is one.
        weights: [f64; 3],
        /// How exactly widths are foreseen, relative.
        gap: f64,
    },
    /// Nothing: any motion is as good as another, and a random one that can be proven is taken.
    Random,
}

/// The derivatives of a cost, and storage to find them in.
#[derive(Debug, Clone, Default)]
pub(super) struct Judgement {
    /// By every entry of the samples.
    pub slopes: Vec<f64>,
    /// By what the errors depend on, (sample, joint).
    pub error_slopes: Vec<ErrorSlope>,
    windows: Vec<Foreseen>,
    window_rows: WidthRows,
    rows: WidthRows,
    /// See [`WidthRows::factor`].
    whole: Vec<f64>,
    slope: Vec<f64>,
    searches: [Search; INERTIAL],
}

impl Judgement {
    /// No derivatives yet, as many as there are samples.
    fn reset(&mut self, samples: &Samples) {
        self.slopes.clear();
        self.slopes.resize(samples.entries.len(), 0.0);
        self.error_slopes.clear();
        self.error_slopes.resize(samples.errors.len(), ErrorSlope::default());
    }
}

impl Criterion {
    /// The condition number, next to nothing told from zero.
    pub fn condition_number() -> Self {
        Criterion::ConditionNumber { floor: 1e-6 }
    }

    /// The prediction for what is known in `set`.
    pub fn predicted_width(robot: &Arm, set: &ParameterSet) -> Self {
        let (sample_errors, half_widths) =
            (Arc::new(SampleErrors::new(robot, set, WINDOW_S)), half_widths(robot, set));
        Criterion::PredictedWidth { sample_errors, half_widths, weights: [1.0 / 3.0; 3], gap: GAP }
    }

    /// The same with mass, first moment and inertia weighted like this (none below zero, some above) where they are foreseen.
    #[must_use]
    pub fn weighted(mut self, wanted: [f64; 3]) -> Self {
        if let Criterion::PredictedWidth { weights, .. } = &mut self {
            let sum: f64 = wanted.iter().sum();
            *weights = wanted.map(|w| w / sum);
        }
        self
    }

    pub(super) fn sample_errors(&self) -> Option<&SampleErrors> {
        match self {
            Criterion::ConditionNumber { .. } | Criterion::Random => None,
            Criterion::PredictedWidth { sample_errors, .. } => Some(sample_errors),
        }
    }

    /// The cost of samples (in SI units) after `known`, and its derivatives into `judgement`; `None` where they are not finite.
    pub(super) fn judge(
        &self,
        known: &Information,
        samples: &Samples,
        judgement: &mut Judgement,
    ) -> Option<f64> {
        judgement.reset(samples);
        match self {
            Criterion::ConditionNumber { floor } => condition(known, *floor, samples, judgement),
            Criterion::PredictedWidth { half_widths, weights, gap, .. } => {
                widths(known, (half_widths, weights, *gap), samples, judgement)
            }
            Criterion::Random => Some(0.0),
        }
    }
}

/// log cond(W), from the singular values of the triangular factor R of W (W'W itself would lose half of the digits). With
/// G = d cost / d(W'W), made of the outer singular vectors, d cost = 2 <W G, dW>: the classical d sigma = u' dW v.
fn condition(known: &Information, floor: f64, samples: &Samples, judgement: &mut Judgement) -> Option<f64> {
    let least = (0..INERTIAL).map(|p| Row::ith(p, floor));
    let factor = with_rows(known.factor, least.chain(samples.weighted()));
    if !factor.iter().all(|x| x.is_finite()) {
        return None;
    }
    let svd = factor.try_svd(false, true, f64::EPSILON, 1000)?;
    let (sigma, v) = (svd.singular_values, svd.v_t?.transpose());
    let (largest, smallest) = (sigma.imax(), sigma.imin());
    let outer = |i: usize| v.column(i) * v.column(i).transpose() / (sigma[i] * sigma[i]);
    let sensitivity: Square = (outer(largest) - outer(smallest)) * samples.dt;
    for (slopes, row) in judgement.slopes.chunks_exact_mut(INERTIAL).zip(samples.rows()) {
        slopes.copy_from_slice((sensitivity * row).as_slice());
    }
    Some((sigma[largest] / sigma[smallest]).ln())
}

/// See [`Criterion::PredictedWidth`]; of what is not shared of the arm the derivative is left out.
fn widths(
    known: &Information,
    (half_widths, weights, gap): (&Row, &[f64; 3], f64),
    samples: &Samples,
    judgement: &mut Judgement,
) -> Option<f64> {
    let Judgement { slopes, error_slopes, windows, window_rows, rows, whole, slope, searches } = judgement;
    fill_windows(samples, windows, window_rows);
    fill_rows(half_widths, [&*window_rows, &known.windows], rows);
    if !rows.factor(whole, slope) {
        return None;
    }
    let (all, whole) = (&*rows, &*whole);
    // What has no weight is not sought.
    let counts =
        |p: usize| KINDS.iter().zip(weights).any(|(kind, weight)| *weight > 0.0 && kind.contains(&p));
    searches
        .par_iter_mut()
        .enumerate()
        .filter(|(p, _)| counts(*p))
        .for_each(|(p, search)| search.run(all, whole, p, gap));
    let searches = &*searches;
    if (0..INERTIAL).any(|p| counts(p) && searches[p].found().is_none()) {
        return None;
    }
    let found = |p: usize| searches[p].found().filter(|_| counts(p));
    // In SI units again, by kind.
    let mut width = Row::zeros();
    for p in 0..INERTIAL {
        width[p] = found(p).map_or(0.0, |found| found.value * half_widths[p]);
    }
    let (mut value, mut shares) = (0.0, [0.0; INERTIAL]);
    for (kind, weight) in KINDS.into_iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        let square: f64 = kind.clone().map(|p| width[p] * width[p]).sum();
        value += 0.5 * weight * square.ln();
        // d value / d the p-th half-width in units of the present one.
        kind.for_each(|p| shares[p] = weight * width[p] * half_widths[p] / square);
    }
    for (i, (window, row)) in windows.iter().zip(window_rows.iter()).enumerate() {
        // d value / d row of this window, which comes after the intervals.
        slope.clear();
        slope.resize(samples.width, 0.0);
        for (found, share) in (0..INERTIAL).filter_map(|p| Some((found(p)?, shares[p]))) {
            let by = -found.multipliers[samples.width + i] * share;
            slope.iter_mut().zip(&found.theta).for_each(|(sum, theta)| *sum += by * theta);
        }
        slope.iter_mut().zip(half_widths).for_each(|(slope, scale)| *slope *= scale);
        let along: f64 = slope.iter().zip(row).map(|(slope, y)| slope * y).sum();
        let weight = samples.dt / window.error;
        for at in (window.span.0..window.span.1).map(|s| s * samples.joints + window.joint) {
            error_slopes[at].add(-along * weight, &samples.error_slopes[at]);
            let entries = &mut slopes[samples.width * at..samples.width * (at + 1)];
            entries.iter_mut().zip(&*slope).for_each(|(sum, slope)| *sum += slope * weight);
        }
    }
    Some(value)
}
