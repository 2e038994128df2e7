//! How what a motion tells, and what it uses of the limits, change with its coefficients: by differences in each sample.
//!
//! A sample depends on coordinates, rates and accelerations alone, and these are linear in the coefficients. So differences are taken by three numbers a coordinate, however many coefficients
//! there are; and rates and accelerations leave the robot where it is, with all that its configuration costs.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::search::Search;
use super::support::{Bearing, Legs, Support, Time};
use super::{HARMONICS, USED};
use crate::simulate::{Sway, SwayState};
use crate::study::excitation::Judge;
use crate::trajectory::{Curve, Fourier, JointState};

/// Steps of the differences by coordinates (m, rad), rates (m/s, rad/s) and accelerations (m/s^2, rad/s^2). Of motions of about 1 as much is cut off; loops that are open by 1e-14 leave 1e-8.
const STEPS: [f64; 3] = [1e-6, 1e-6, 1e-5];
/// Limits of which less is used have no slopes: a step that uses up the rest is not one that a linear model is good for.
const NEAR: f64 = 0.4 * USED;
/// Coefficients of a coordinate.
const EACH: usize = 2 * (HARMONICS - 1);

/// A motion's value, and its limits, by its coefficients.
pub(super) struct Slopes {
    /// What is made small.
    pub value: f64,
    /// Its derivative by each coefficient.
    pub gradient: Vec<f64>,
    /// Shares of limits of which much is used, in all samples, with their derivatives.
    pub limits: Vec<(f64, Vec<f64>)>,
}

/// A sample of a motion.
struct Sample {
    x: JointState,
    /// Configuration with its legs.
    q: Vec<f64>,
    /// Shares of all limits.
    limits: Vec<f64>,
    /// Its rows, whitened, if it tells.
    rows: Option<DMatrix<f64>>,
}

/// What a configuration alone decides.
struct Placed {
    bearing: Bearing,
    /// Of the distances that links keep.
    apart: Vec<f64>,
    whitening: DMatrix<f64>,
}

impl Placed {
    /// Takes the robot to `state`, its legs from where they are in `near`.
    fn new(support: &mut Support<'_>, state: &SwayState, near: &[f64]) -> Option<Self> {
        let bearing = support.bearing(state, near)?;
        Some(Self { bearing, apart: support.apart(), whitening: support.whitening()? })
    }
}

/// Derivatives of what a sample tells and uses, by coordinates, rates and accelerations.
struct Differences<'d> {
    sample: &'d Sample,
    columns: &'d [usize],
    /// The derivative of the value by the sample's rows: the value has one by their products, and theirs are 2 R dR.
    by_rows: Option<DMatrix<f64>>,
    by: Vec<f64>,
    /// Index, share and derivatives of each limit of which much is used.
    limits: Vec<(usize, f64, Vec<f64>)>,
}

impl<'d> Differences<'d> {
    fn new(sample: &'d Sample, (columns, weights): (&'d [usize], &'d DMatrix<f64>), numbers: usize) -> Self {
        let near = sample.limits.iter().enumerate().filter(|(_, share)| !(**share < NEAR));
        Self {
            sample,
            columns,
            by_rows: sample.rows.as_ref().map(|rows| rows * weights * 2.0),
            by: vec![0.0; numbers],
            limits: near.map(|(k, share)| (k, *share, vec![0.0; numbers])).collect(),
        }
    }

    /// Notes what has changed with the number at `index`, which is `step` larger.
    fn note(
        &mut self,
        support: &mut Support<'_>,
        placed: &Placed,
        (index, step): (usize, f64),
    ) -> Option<()> {
        let at = support.moving(&placed.bearing)?;
        let limits = support.limits(&at, &placed.apart);
        for (k, share, by) in &mut self.limits {
            by[index] = (limits[*k] - *share) / step;
        }
        if let (Some(rows), Some(by_rows)) = (&self.sample.rows, &self.by_rows) {
            let changed = &placed.whitening * support.rows(self.columns) - rows;
            self.by[index] = by_rows.dot(&changed) / step;
        }
        Some(())
    }
}

impl Search<'_> {
    /// The slopes of the motion with these coefficients. Nothing where legs do not reach.
    pub fn slopes(&self, x: &[f64], judge: &Judge) -> Option<Slopes> {
        let columns = self.columns(judge);
        let sway = self.task.sway(&self.support, &self.ranges, x).ok()?;
        let samples = self.samples(&sway, columns)?;
        let mut information = DMatrix::zeros(columns.len(), columns.len());
        for rows in samples.iter().filter_map(|sample| sample.rows.as_ref()) {
            information += rows.transpose() * rows;
        }
        let weights = self.value_slope(judge, &information);
        let of = |sample| self.differences(&sway, sample, (columns, &weights));
        let each: Option<Vec<Differences<'_>>> = samples.par_iter().map(of).collect();
        let basis = self.basis();
        let (mut gradient, mut limits) = (vec![0.0; x.len()], vec![]);
        for (basis, own) in basis.iter().zip(each?) {
            gradient.iter_mut().zip(self.by_x(basis, &own.by)).for_each(|(sum, own)| *sum += own);
            limits.extend(own.limits.iter().map(|(_, share, by)| (*share, self.by_x(basis, by))));
        }
        Some(Slopes { value: self.value(judge, &information), gradient, limits })
    }

    /// All samples, legs of each from those of the one before.
    fn samples(&self, sway: &Sway, columns: &[usize]) -> Option<Vec<Sample>> {
        let (mut support, mut legs) = (self.support.clone(), Legs::new(&self.task.start));
        let mut one = |time: &Time| {
            let x = sway.coordinates(time.share * self.task.period_s());
            let at = support.next(&sway.state(self.task.robot, &x), &mut legs)?;
            let apart = support.apart();
            let limits = support.limits(&at, &apart);
            let rows = if time.tells { Some(support.whitening()? * support.rows(columns)) } else { None };
            Some(Sample { x, q: at.q, limits, rows })
        };
        self.times.iter().map(&mut one).collect()
    }

    fn differences<'d>(
        &self,
        sway: &Sway,
        sample: &'d Sample,
        tells: (&'d [usize], &'d DMatrix<f64>),
    ) -> Option<Differences<'d>> {
        let (robot, mut support, count) = (self.task.robot, self.support.clone(), self.ranges.len());
        let mut all = Differences::new(sample, tells, 3 * count);
        let moved = |order: usize, j: usize| {
            let mut x = sample.x.clone();
            [&mut x.q, &mut x.dq, &mut x.ddq][order][j] += STEPS[order];
            (sway.state(robot, &x), (order * count + j, STEPS[order]))
        };
        let here = Placed::new(&mut support, &sway.state(robot, &sample.x), &sample.q)?;
        let faster = (0..2 * count).map(|k| moved(1 + k / count, k % count));
        for (state, number) in faster {
            support.set_motion(&state)?;
            all.note(&mut support, &here, number)?;
        }
        for (state, number) in (0..count).map(|j| moved(0, j)) {
            let there = Placed::new(&mut support, &state, &sample.q)?;
            all.note(&mut support, &there, number)?;
        }
        Some(all)
    }

    /// Coordinate, rate and acceleration in each sample by each coefficient, for a range of 1.
    fn basis(&self) -> Vec<Vec<[f64; 3]>> {
        let unit = |i: usize| -> Vec<f64> { (0..EACH).map(|k| f64::from(u8::from(k == i))).collect() };
        let curve = |i: usize| {
            Fourier::at_rest(&[0.0], &self.task.coefficients(&[1.0], &unit(i)), self.task.period_s()).ok()
        };
        let curves: Vec<Fourier> = (0..EACH).filter_map(curve).collect();
        let at = |time: &Time| {
            let of = |curve: &Fourier| {
                let mut x = JointState::at_rest(&[0.0]);
                curve.evaluate(time.share * self.task.period_s(), &mut x);
                [x.q[0], x.dq[0], x.ddq[0]]
            };
            curves.iter().map(of).collect()
        };
        self.times.iter().map(at).collect()
    }

    /// Derivatives by the coefficients from those by a sample's coordinates, rates and accelerations.
    fn by_x(&self, basis: &[[f64; 3]], by: &[f64]) -> Vec<f64> {
        let count = self.ranges.len();
        let of = |j: usize| {
            let own = [by[j], by[count + j], by[2 * count + j]].map(|x| x * self.ranges[j]);
            basis.iter().map(move |x| own[0] * x[0] + own[1] * x[1] + own[2] * x[2])
        };
        (0..count).flat_map(of).collect()
    }
}
