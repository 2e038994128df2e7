//! Which rows of data the programs are missing: of all spans of ticks, of any length and for every joint, those that a given
//! point violates most.
//!
//! With F the imbalance of a joint's momentum for parameters theta, summed up to a tick, R the part of the radius that
//! grows panel by panel, likewise summed up, and E what is charged at an end, the row over the span from a to b is violated by
//!
//! ```text
//! |F(b) - F(a)| - (R(b) - R(a)) - E(a) - E(b).
//! ```
//!
//! That is a function of b less one of a, on either side of the bars: its maximum over all spans takes one pass with the
//! best beginning so far in hand, as for a maximum-sum span. Every vertex that the programs find is looked at in this way, until
//! no row is missing that matters.
//!
//! Nothing here is trusted. F is that of the middles of the coefficients. E is interpolated between the ends of a window, and what
//! is left of the radius of a window's row is laid on its panels in equal shares. A row is made by [`RowMaker`], and holds
//! whyever it was asked for.

use std::collections::HashSet;
use std::sync::Arc;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::bounds::RowSource;
use super::polytope::Rows;
use super::window::{End, History, Past, Pick, RowMaker, Sample, Stretch};
use crate::dynamics::{Motion, momentum_regressor};
use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, Arm, COULOMB, INERTIAL, OFFSET, VISCOUS};

/// Spans that are asked for a vertex, joint and side at most.
const SPANS: usize = 3;
/// Rows that are violated by less than this share of their radius are not asked for.
const LEAST: f64 = 2e-3;

/// A window, tick by tick: what its rows are made of, and what will be charged to them.
#[derive(Debug)]
pub struct Profile {
    joints: Vec<JointProfile>,
}

/// One entry a tick.
#[derive(Debug)]
struct JointProfile {
    /// First parameter, from which on the links' columns go; the joint's friction has the last ones.
    first: usize,
    /// Ticks x columns: momentum less what changes it, from the window's start.
    columns: DMatrix<f64>,
    /// Torque, summed up from the window's start.
    torque: Vec<f64>,
    /// R, from the window's start.
    grown: Vec<f64>,
    /// E.
    end: Vec<f64>,
}

/// A span's violation and its two ends.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    by: f64,
    radius: f64,
    from: usize,
    to: usize,
}

/// Asks for rows of a history.
#[derive(Debug)]
pub struct Separation<'a> {
    history: &'a History,
    /// In the order of the history's windows.
    profiles: &'a [Arc<Profile>],
    maker: RowMaker<'a>,
    asked: HashSet<Pick>,
}

impl Profile {
    /// The profiles of `pasts`, whose rows over the whole windows have the given radii (one a joint, window by window) and were made by
    /// `maker`.
    pub fn of_windows(
        robot: &Arm,
        set: &ParameterSet,
        windows: &[(&Stretch, &Past)],
        maker: &RowMaker,
        radii: &[f64],
    ) -> Vec<Arc<Self>> {
        let storage = || (Motion::new(robot), vec![0.0; INERTIAL * robot.dof() * robot.dof()]);
        let each = windows.par_iter().zip(radii.par_chunks_exact(robot.dof()));
        each.map_init(storage, |(motion, y), ((stretch, past), radii)| {
            Arc::new(Self::of_window(robot, set, (stretch, past), maker, radii, (motion, y)))
        })
        .collect()
    }

    fn of_window(
        robot: &Arm,
        set: &ParameterSet,
        (stretch, past): (&Stretch, &Past),
        maker: &RowMaker,
        radii: &[f64],
        (motion, y): (&mut Motion<f64>, &mut [f64]),
    ) -> Self {
        let n = robot.dof();
        let samples = stretch.samples(past.ticks());
        let mut momenta: Vec<DMatrix<f64>> =
            (0..n).map(|j| DMatrix::zeros(samples.len(), INERTIAL * (n - j) + 4)).collect();
        for (k, sample) in samples.iter().enumerate() {
            motion.sweep_velocities(robot, &sample.q, &sample.dq);
            momentum_regressor(robot, motion, 0..n, y);
            for (j, momenta) in momenta.iter_mut().enumerate() {
                let row = &y[INERTIAL * (n * j + j)..INERTIAL * n * (j + 1)];
                row.iter().enumerate().for_each(|(c, y)| momenta[(k, c)] = *y);
            }
        }
        let joint = |(j, momenta): (usize, DMatrix<f64>)| {
            let ends =
                [past.ticks().start, past.ticks().end].map(|tick| maker.end(tick, j).map_or(0.0, End::error));
            JointProfile::new(robot, set, (samples, past), j, momenta, radii[j], ends)
        };
        Self { joints: momenta.into_iter().enumerate().map(joint).collect() }
    }
}

impl JointProfile {
    /// With `columns` holding the links' momenta.
    fn new(
        robot: &Arm,
        set: &ParameterSet,
        (samples, past): (&[Sample], &Past),
        j: usize,
        mut columns: DMatrix<f64>,
        radius: f64,
        ends: [f64; 2],
    ) -> Self {
        let (n, sensors, first) = (robot.dof(), &robot.sensors(), INERTIAL * j);
        let links = columns.ncols() - 4;
        let panels = samples.len() - 1;
        let (mut torque, mut noise) = (vec![0.0], vec![0.0]);
        let mut sums = vec![0.0; links];
        let mut before: Vec<f64> = past.rate(n, 0, j).skip(first).collect();
        let (mut sign, mut time) = (0.0, 0.0);
        for k in 0..=panels {
            let sample = &samples[k];
            if k > 0 {
                let step = sample.t - samples[k - 1].t;
                let now: Vec<f64> = past.rate(n, k, j).skip(first).collect();
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum += 0.5 * step * (before[c] + now[c]);
                    columns[(k, c)] -= *sum;
                }
                before = now;
                let (tau, dq) = (samples[k - 1].tau[j], 0.5 * (samples[k - 1].dq[j] + sample.dq[j]));
                let still = dq.abs() <= robot.gains().stiction_speed_rad_s;
                sign += if still { 0.0 } else { step * dq.signum() };
                time += step;
                torque.push(torque[k - 1] + step * tau);
                let known = sensors.torque_ratio * tau.abs() + sensors.torque_abs_nm;
                noise.push(noise[k - 1] + step * known / (1.0 - sensors.torque_ratio));
            }
            columns[(k, links + ARMATURE)] = sample.dq[j];
            columns[(k, links + VISCOUS)] = sample.q[j];
            columns[(k, links + COULOMB)] = sign;
            columns[(k, links + OFFSET)] = time;
        }
        let friction = robot.friction_index(j);
        let largest = |at: usize| set.lower()[friction + at].abs().max(set.upper()[friction + at].abs());
        let own = sensors.velocity_rad_s * largest(ARMATURE) + sensors.position_rad * largest(VISCOUS);
        let share = |k: usize| k as f64 / panels.max(1) as f64;
        let end: Vec<f64> = (0..=panels).map(|k| own + ends[0] + share(k) * (ends[1] - ends[0])).collect();
        let rest = (radius - noise[panels] - end[0] - end[panels]).max(0.0);
        let grown = noise.iter().enumerate().map(|(k, noise)| noise + share(k) * rest).collect();
        Self { first, columns, torque, grown, end }
    }

    /// For each of the points (its columns) the imbalance at every tick.
    fn imbalance(&self, points: &DMatrix<f64>, friction: usize) -> DMatrix<f64> {
        let links = self.columns.ncols() - 4;
        let mut theta = DMatrix::zeros(links + 4, points.ncols());
        theta.rows_mut(0, links).copy_from(&points.rows(self.first, links));
        theta.rows_mut(links, 4).copy_from(&points.rows(friction, 4));
        let mut found = &self.columns * theta;
        for mut column in found.column_iter_mut() {
            column.iter_mut().zip(&self.torque).for_each(|(f, u)| *f -= u);
        }
        found
    }
}

impl<'a> Separation<'a> {
    /// Over all windows of `history`, whose rows `maker` makes; rows over `known` are there already.
    pub fn new(
        history: &'a History,
        profiles: &'a [Arc<Profile>],
        maker: RowMaker<'a>,
        known: impl IntoIterator<Item = Pick>,
    ) -> Self {
        Self { history, profiles, maker, asked: known.into_iter().collect() }
    }

    /// For each point the spans of one joint that it violates most.
    fn of_joint(&self, robot: &Arm, joint: usize, points: &DMatrix<f64>) -> Vec<Vec<Pick>> {
        let friction = robot.friction_index(joint);
        let mut scans: Vec<Scan> = (0..points.ncols()).map(|_| Scan::default()).collect();
        let mut profiles = self.profiles.iter();
        for stretch in self.history.stretches() {
            scans.iter_mut().for_each(Scan::interrupt);
            for (past, profile) in stretch.windows().iter().zip(&mut profiles) {
                let profile = &profile.joints[joint];
                let imbalance = profile.imbalance(points, friction);
                let tick = past.ticks().start;
                for (scan, column) in scans.iter_mut().zip(imbalance.column_iter()) {
                    scan.window(tick, column.as_slice(), &profile.grown, &profile.end);
                }
            }
        }
        let picks = |scan: Scan| scan.most_violated().map(|(from, to)| Pick { from, to, joint }).collect();
        scans.into_iter().map(picks).collect()
    }
}

impl RowSource for Separation<'_> {
    fn missing(&mut self, points: &[&[f64]]) -> (Rows, Vec<bool>) {
        if points.is_empty() {
            return (Rows::none(0), vec![]);
        }
        let robot = self.maker.robot();
        let p = robot.parameter_count();
        let points = DMatrix::from_fn(p, points.len(), |j, s| points[s][j]);
        let found: Vec<Vec<Vec<Pick>>> =
            (0..robot.dof()).into_par_iter().map(|joint| self.of_joint(robot, joint, &points)).collect();
        let mut picks: Vec<Pick> = vec![];
        let mut helped = vec![false; points.ncols()];
        for joint in found {
            for (helped, own) in helped.iter_mut().zip(joint) {
                for pick in own {
                    *helped = true;
                    if self.asked.insert(pick.clone()) {
                        picks.push(pick);
                    }
                }
            }
        }
        (self.maker.rows(&picks), helped)
    }
}

/// One pass over the ticks for one joint and point.
#[derive(Debug, Default)]
struct Scan {
    /// F and R at the tick that the next window begins with; none after a gap.
    carried: Option<(f64, f64)>,
    /// The best beginning so far, for F and for -F.
    best: [Beginning; 2],
    /// The most violated span that ends in each window, on each side.
    found: Vec<Found>,
}

/// Where a span may begin.
#[derive(Debug, Clone, Copy, Default)]
struct Beginning {
    tick: usize,
    /// +-F + E - R.
    value: f64,
    /// E - R.
    charge: f64,
}

impl Scan {
    /// The next window does not follow the one before.
    fn interrupt(&mut self) {
        self.carried = None;
    }

    /// The next window, with what is there at its ticks, from number `first` on.
    fn window(&mut self, first: usize, imbalance: &[f64], grown: &[f64], end: &[f64]) {
        let (Some(&start), Some(&stop)) = (imbalance.first(), imbalance.last()) else { return };
        // The shared tick has begun already, in the window before.
        let skip = usize::from(self.carried.is_some());
        let (f0, r0) = self.carried.map_or((0.0, 0.0), |(f, r)| (f - start, r));
        for (best, sign) in self.best.iter_mut().zip([1.0, -1.0]) {
            if skip == 0 {
                best.value = f64::INFINITY;
            }
            let mut most = Found::default();
            for k in skip..imbalance.len() {
                let (f, r, tick) = (sign * (imbalance[k] + f0), grown[k] + r0, first + k);
                let by = f - end[k] - r - best.value;
                if by > most.by {
                    most = Found { by, radius: best.charge + end[k] + r, from: best.tick, to: tick };
                }
                if f + end[k] - r < best.value {
                    *best = Beginning { tick, value: f + end[k] - r, charge: end[k] - r };
                }
            }
            if most.by > LEAST * most.radius {
                self.found.push(most);
            }
        }
        self.carried = Some((stop + f0, grown[grown.len() - 1] + r0));
    }

    /// Those that are worth a row.
    fn most_violated(mut self) -> impl Iterator<Item = (usize, usize)> {
        self.found.sort_unstable_by(|a, b| b.by.total_cmp(&a.by));
        self.found.into_iter().take(SPANS).map(|found| (found.from, found.to))
    }
}

#[cfg(test)]
mod tests;
