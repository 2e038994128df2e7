//! The momentum balance on plain numbers: regressors over windows, without bounds. For condition numbers, nominal fits
//! and comparisons; what is guaranteed comes from [`crate::identify::window`].

use std::ops::Range;

use nalgebra::{DMatrix, SMatrix, SVector};
use rayon::prelude::*;

use crate::dynamics::{Motion, momentum_rate_regressor, momentum_regressor};
use crate::inertia::INERTIAL;
use crate::recording::Sample;
use crate::robot::Arm;

/// Y_m(t2) - Y_m(t1) - int Y_f over consecutive windows of `panels` control periods, the integral by the trapezoidal rule:
/// the regressor of the bodies `bodies` (0..n: all links) in SI units. One row a window and joint (the joint runs
/// fastest), 10 columns a body; what is left of the samples after the last whole window is not used.
///
/// `samples` are ticks one control period apart; no windows of no panels are made.
pub fn window_regressor(
    robot: &Arm,
    samples: &[Sample],
    panels: usize,
    bodies: Range<usize>,
) -> DMatrix<f64> {
    let (n, columns) = (robot.dof(), INERTIAL * bodies.len());
    let windows: Vec<&[Sample]> =
        (0..samples.len()).step_by(panels.max(1)).filter_map(|a| samples.get(a..=a + panels)).collect();
    let windows = if panels == 0 { vec![] } else { windows };
    let blocks: Vec<Vec<f64>> = windows
        .par_iter()
        .map_init(
            || Scratch::new(robot),
            |scratch, window| {
                let mut block = vec![0.0; n * columns];
                scratch.add(robot, window, &bodies, &mut block);
                block
            },
        )
        .collect();
    DMatrix::from_row_iterator(n * blocks.len(), columns, blocks.into_iter().flatten())
}

/// Ratio of the largest to the smallest singular value; infinite for a matrix without full column rank, or with fewer
/// rows than columns.
pub fn condition_number(y: &DMatrix<f64>) -> f64 {
    if y.nrows() < y.ncols() || y.ncols() == 0 {
        return f64::INFINITY;
    }
    let values = y.singular_values();
    if values.min() > 0.0 { values.max() / values.min() } else { f64::INFINITY }
}

/// The triangular factor R of R'R = F'F + sum of w w' over `rows`, with F = `factor` triangular itself: each row is turned into it by rotations. It
/// keeps all that singular values need of any number of rows.
#[must_use]
pub fn with_rows<const N: usize>(
    mut factor: SMatrix<f64, N, N>,
    rows: impl Iterator<Item = SVector<f64, N>>,
) -> SMatrix<f64, N, N> {
    for mut row in rows {
        for k in 0..N {
            let length = factor[(k, k)].hypot(row[k]);
            if length == 0.0 {
                continue;
            }
            let (cosine, sine) = (factor[(k, k)] / length, row[k] / length);
            for j in k..N {
                let (above, below) = (factor[(k, j)], row[j]);
                factor[(k, j)] = cosine * above + sine * below;
                row[j] = cosine * below - sine * above;
            }
        }
    }
    factor
}

struct Scratch {
    motion: Motion<f64>,
    rest: Vec<f64>,
    y: Vec<f64>,
}

impl Scratch {
    fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        Self { motion: Motion::new(robot), rest: vec![0.0; n], y: vec![0.0; n * INERTIAL * n] }
    }

    fn add(&mut self, robot: &Arm, window: &[Sample], bodies: &Range<usize>, block: &mut [f64]) {
        let (last, dt) = (window.len() - 1, robot.gains().period_s);
        for (k, sample) in window.iter().enumerate() {
            self.motion.sweep(robot, &sample.q, &sample.dq, &self.rest, &self.rest);
            let ends = [(0, -1.0), (last, 1.0)].into_iter().find(|(end, _)| *end == k);
            if let Some((_, sign)) = ends {
                momentum_regressor(robot, &self.motion, bodies.clone(), &mut self.y);
                self.accumulate(bodies, sign, block);
            }
            momentum_rate_regressor(robot, &self.motion, bodies.clone(), &mut self.y);
            self.accumulate(bodies, if ends.is_some() { -0.5 * dt } else { -dt }, block);
        }
    }

    fn accumulate(&self, bodies: &Range<usize>, weight: f64, block: &mut [f64]) {
        let columns = INERTIAL * bodies.len();
        let width = self.y.len() / self.rest.len();
        for (j, out) in block.chunks_exact_mut(columns).enumerate() {
            let row = &self.y[width * j + INERTIAL * bodies.start..];
            out.iter_mut().zip(row).for_each(|(out, y)| *out += weight * y);
        }
    }
}
