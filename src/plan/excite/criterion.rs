//! What makes a trajectory exciting, and what earlier ones have told already.

use super::super::decision::Square;
use super::width::{HalfWidth, Row, Search, half_width};
use super::{Samples, samples_along};
use crate::inertia::ParameterSet;
use crate::plan::worth::Worth;
use crate::robot::{INERTIAL, Robot};
use crate::trajectory::Bezier;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Length of a foreseen window, s.
const WINDOW_S: f64 = 0.1;
/// Windows that are joined to a longer one, besides counting each for itself.
const JOINED: usize = 3;
/// Errors below this are not told apart, N m s: a perfect sensor must not make the cost infinite.
const SMALLEST_ERROR: f64 = 1e-6;
/// Mass, first moment, inertia: what has one unit.
const KINDS: [Range<usize>; 3] = [0..1, 1..4, 4..10];
/// How exactly widths are foreseen.
const GAP: f64 = 0.02;

/// What has been learnt about the ten parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Information {
    /// The triangular factor R of R'R = sum of W'W.
    factor: Square,
    /// Windows, over their errors.
    windows: Vec<Row>,
}

impl Information {
    /// Nothing yet.
    pub fn none() -> Self {
        Self { factor: Square::zeros(), windows: Vec::new() }
    }

    /// Adds what the motion along `curve` until `until_s` (s) tells, at `samples` samples, while `set` is what is known. Of its
    /// windows those are kept that some bound leans on.
    pub fn absorb(
        &mut self,
        robot: &Robot,
        set: &ParameterSet,
        curve: &Bezier,
        until_s: f64,
        samples: usize,
    ) {
        let samples = samples_along(robot, curve, until_s, samples, Some(&Worth::new(robot, set)));
        self.factor = triangle(self.factor, samples.weighted());
        let mut foreseen = Vec::new();
        fill_windows(&samples, &mut foreseen);
        self.windows.extend(foreseen.iter().map(|w| w.row));
        let scale = half_widths(robot, set);
        let rows: Vec<Row> = with_box(self.windows.iter().map(|row| row.component_mul(&scale))).collect();
        let mut used = vec![false; rows.len()];
        for width in (0..INERTIAL).filter_map(|p| half_width(&rows, p, GAP)) {
            let largest = width.multipliers.iter().fold(0.0f64, |m, l| m.max(l.abs()));
            used.iter_mut().zip(&width.multipliers).for_each(|(used, l)| *used |= l.abs() > 1e-3 * largest);
        }
        let mut used = used.into_iter().skip(INERTIAL);
        self.windows.retain(|_| used.next().unwrap_or(true));
    }

    /// Condition number of all rows so far; infinite while a direction is unseen.
    pub fn condition_number(&self) -> f64 {
        let singular = self.factor.singular_values();
        if singular.min() > 0.0 { singular.max() / singular.min() } else { f64::INFINITY }
    }
}

/// The triangular factor of the rows of `factor` (triangular itself) and `rows` together: each row is turned into it by rotations.
fn triangle(mut factor: Square, rows: impl Iterator<Item = Row>) -> Square {
    for mut row in rows {
        for k in 0..INERTIAL {
            let length = factor[(k, k)].hypot(row[k]);
            if length == 0.0 {
                continue;
            }
            let (cosine, sine) = (factor[(k, k)] / length, row[k] / length);
            for j in k..INERTIAL {
                let (above, below) = (factor[(k, j)], row[j]);
                factor[(k, j)] = cosine * above + sine * below;
                row[j] = cosine * below - sine * above;
            }
        }
    }
    factor
}

/// Present half-widths of the end effector's parameters; one that is known exactly still needs a scale.
fn half_widths(robot: &Robot, set: &ParameterSet) -> Row {
    let at = robot.inertial_index(robot.end_effector);
    Row::from_fn(|p, _| (0.5 * (set.upper[at + p] - set.lower[at + p])).max(1e-6))
}

/// The present intervals (columns are scaled by them), then `rows`.
fn with_box(rows: impl Iterator<Item = Row>) -> impl Iterator<Item = Row> {
    (0..INERTIAL).map(|p| Row::ith(p, 1.0)).chain(rows)
}

/// A window that will be: samples of one joint, their sum over the sum of their errors.
#[derive(Debug, Clone)]
struct Foreseen {
    joint: usize,
    /// First sample, and the one after the last.
    span: (usize, usize),
    row: Row,
    error: f64,
}

/// The windows of all joints, and the joined ones.
fn fill_windows(samples: &Samples, windows: &mut Vec<Foreseen>) {
    let count = samples.errors.len() / samples.joints.max(1);
    let each = ((WINDOW_S / samples.dt).round() as usize).max(1);
    windows.clear();
    for length in [each, JOINED * each] {
        for first in (0..count).step_by(length) {
            let span = (first, (first + length).min(count));
            windows.extend((0..samples.joints).map(|joint| window(samples, joint, span)));
        }
    }
}

fn window(samples: &Samples, joint: usize, span: (usize, usize)) -> Foreseen {
    let (mut row, mut error) = (Row::zeros(), SMALLEST_ERROR);
    for at in (span.0..span.1).map(|s| s * samples.joints + joint) {
        row += Row::from_column_slice(samples.row(at)) * samples.dt;
        error += samples.errors[at] * samples.dt;
    }
    Foreseen { joint, span, row: row / error, error }
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
    /// The mean logarithm of what will be left unknown of the mass, of the first moment and of the inertia (for the last two the
    /// root of the sum of squares): half-widths that the identifier will prove.
    PredictedWidth {
        /// Errors of the samples.
        worth: Arc<Worth>,
        /// Present half-widths of the ten parameters, above 0.
        half_widths: Row,
        /// How exactly widths are foreseen, relative.
        gap: f64,
    },
    /// Nothing: any motion is as good as another, and the first random one that can be proven is taken.
    Random,
}

/// The derivatives of a cost, and storage to find them in.
#[derive(Debug, Clone, Default)]
pub(super) struct Judgement {
    /// By every entry of the samples.
    pub slopes: Vec<f64>,
    /// By every torque, (sample, joint).
    pub torque_slopes: Vec<f64>,
    windows: Vec<Foreseen>,
    rows: Vec<Row>,
    searches: [Search; INERTIAL],
}

impl Judgement {
    /// No derivatives yet, as many as there are samples.
    fn reset(&mut self, samples: &Samples) {
        for (list, size) in
            [(&mut self.slopes, samples.entries.len()), (&mut self.torque_slopes, samples.errors.len())]
        {
            list.clear();
            list.resize(size, 0.0);
        }
    }
}

impl Criterion {
    /// The condition number, next to nothing told from zero.
    pub fn condition_number() -> Self {
        Criterion::ConditionNumber { floor: 1e-6 }
    }

    /// The prediction for what is known in `set`.
    pub fn predicted_width(robot: &Robot, set: &ParameterSet) -> Self {
        let (worth, half_widths) = (Arc::new(Worth::new(robot, set)), half_widths(robot, set));
        Criterion::PredictedWidth { worth, half_widths, gap: GAP }
    }

    pub(super) fn worth(&self) -> Option<&Worth> {
        match self {
            Criterion::ConditionNumber { .. } | Criterion::Random => None,
            Criterion::PredictedWidth { worth, .. } => Some(worth),
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
            Criterion::PredictedWidth { half_widths, gap, .. } => {
                widths(known, half_widths, *gap, samples, judgement)
            }
            Criterion::Random => Some(0.0),
        }
    }
}

/// log cond(W), from the singular values of the triangular factor R of W (W'W itself would lose half of the digits). With
/// G = d cost / d(W'W), made of the outer singular vectors, d cost = 2 <W G, dW>: the classical d sigma = u' dW v.
fn condition(known: &Information, floor: f64, samples: &Samples, judgement: &mut Judgement) -> Option<f64> {
    let least = (0..INERTIAL).map(|p| Row::ith(p, floor));
    let factor = triangle(known.factor, least.chain(samples.weighted()));
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

/// See [`Criterion::PredictedWidth`]; of the errors' derivative only the sensor's is known.
fn widths(
    known: &Information,
    half_widths: &Row,
    gap: f64,
    samples: &Samples,
    judgement: &mut Judgement,
) -> Option<f64> {
    let Judgement { slopes, torque_slopes, windows, rows, searches } = judgement;
    fill_windows(samples, windows);
    let scaled = |row: &Row| row.component_mul(half_widths);
    rows.clear();
    rows.extend(with_box(known.windows.iter().map(scaled).chain(windows.iter().map(|w| scaled(&w.row)))));
    let all = &rows[..];
    searches.par_iter_mut().enumerate().for_each(|(p, search)| search.run(all, p, gap));
    let searches = &*searches;
    if searches.iter().any(|search| search.found().is_none()) {
        return None;
    }
    let found = || searches.iter().filter_map(Search::found);
    // In SI units again, by kind.
    let mut width = Row::zeros();
    width.iter_mut().zip(found().zip(half_widths)).for_each(|(w, (found, half))| *w = found.value * half);
    let (mut value, mut shares) = (0.0, [0.0; INERTIAL]);
    for kind in KINDS {
        let square: f64 = kind.clone().map(|p| width[p] * width[p]).sum();
        value += 0.5 * square.ln() / KINDS.len() as f64;
        // d value / d the p-th half-width in units of the present one.
        kind.for_each(|p| shares[p] = width[p] * half_widths[p] / (square * KINDS.len() as f64));
    }
    let before = INERTIAL + known.windows.len();
    for (i, window) in windows.iter().enumerate() {
        // d value / d row of this window.
        let along = |(w, share): (&HalfWidth, &f64)| w.theta * (-w.multipliers[before + i] * share);
        let slope: Row = found().zip(&shares).map(along).fold(Row::zeros(), |sum, x| sum + x);
        let slope = scaled(&slope);
        let by_error = -slope.dot(&window.row) * samples.dt / window.error;
        let by_entry = slope * (samples.dt / window.error);
        for at in (window.span.0..window.span.1).map(|s| s * samples.joints + window.joint) {
            torque_slopes[at] += by_error * samples.error_slopes[at];
            let entries = &mut slopes[INERTIAL * at..INERTIAL * (at + 1)];
            entries.iter_mut().zip(by_entry.iter()).for_each(|(sum, x)| *sum += x);
        }
    }
    Some(value)
}
