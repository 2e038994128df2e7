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
//! is left of the radius of a window's row is laid on its panels in equal shares ([`ChargeEstimate`]). A row is made by [`RowMaker`], and
//! holds whyever it was asked for.
//!
//! Every tick may be an end, as errors of the encoders differ from tick to tick and a row is best where they are largest. The pass skips
//! what cannot matter: a window in which the largest F - R - E less the smallest F - R + E so far is no violation, or less of one than
//! those found, is not looked at tick by tick.

use std::collections::HashSet;
use std::sync::Arc;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::bounds::RowSource;
use super::polytope::Rows;
use super::window::{History, Past, Pick, Placed, RowMaker, TickEnd};
use crate::dynamics::{Motion, momentum_regressor};
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use crate::recording::Sample;
use crate::robot::Arm;

/// Spans that are asked for a vertex, joint and side at most.
const SPANS: usize = 3;
/// Rows that are violated by less than this share of their radius are not asked for.
const LEAST: f64 = 2e-3;

/// Windows whose ends are placed to see how much smaller the errors at ends have become.
const SAMPLED: usize = 8;
/// Numbers that are compared at once.
const LANES: usize = 8;

/// A window, tick by tick: what its rows are made of.
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
    /// The part of R that torque sensors account for, from the window's start.
    noise: Vec<f64>,
    /// What the transmission adds to E.
    own: f64,
    /// What else R has over the whole window, but for [`RowMaker::charge`].
    rest: f64,
}

/// What a row of one joint is charged in a window, by one set of parameters.
#[derive(Debug, Clone, Copy)]
pub struct ChargeEstimate {
    /// E at the window's first tick and at its last.
    ends: [f64; 2],
    /// R over the whole window, but for the torque sensors' part.
    grown: f64,
}

/// A span's violation and its two ends.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    by: f64,
    radius: f64,
    from: usize,
    to: usize,
}

impl Found {
    /// The most violated span that ends at one of `ticks` (each with what it is worth as a beginning and as an end), and begins there or
    /// at `best`, whose charges `begin` and `end` tell.
    fn of(
        ticks: impl Iterator<Item = (usize, f64, f64)>,
        mut best: Beginning,
        begin: impl Fn(usize) -> f64,
        end: impl Fn(usize) -> f64,
    ) -> Self {
        let mut most = Self::default();
        for (k, (tick, low, high)) in ticks.enumerate() {
            let by = high - best.value;
            if by > most.by {
                most = Self { by, radius: best.charge + end(k), from: best.tick, to: tick };
            }
            if low < best.value {
                best = Beginning { tick, value: low, charge: begin(k) };
            }
        }
        most
    }
}

/// Asks for rows of a history.
#[derive(Debug)]
pub struct RowSeparation<'a> {
    history: &'a History,
    /// In the order of the history's windows.
    profiles: &'a [Arc<Profile>],
    /// One a joint, window by window.
    estimates: &'a [ChargeEstimate],
    maker: RowMaker<'a>,
    asked: HashSet<Pick>,
}

impl Profile {
    /// The profiles of `pasts`, whose rows over the whole windows have the given radii (one a joint, window by window) and were made by
    /// `maker`.
    pub fn of_windows(
        robot: &Arm,
        set: &ParameterSet,
        windows: &[Placed],
        maker: &RowMaker,
        radii: &[f64],
    ) -> Vec<Arc<Self>> {
        let storage = || (Motion::new(robot), vec![0.0; INERTIAL * robot.dof() * robot.dof()]);
        let each = windows.par_iter().zip(radii.par_chunks_exact(robot.dof()));
        each.map_init(storage, |(motion, y), (window, radii)| {
            Arc::new(Self::of_window(robot, set, window, maker, radii, (motion, y)))
        })
        .collect()
    }

    /// The estimates for `windows` by the set of `maker`, which knows their ends.
    pub fn estimates(profiles: &[Arc<Self>], windows: &[Placed], maker: &RowMaker) -> Vec<ChargeEstimate> {
        let mut estimates = vec![];
        for (profile, &Placed { stretch, number, past }) in profiles.iter().zip(windows) {
            for (j, joint) in profile.joints.iter().enumerate() {
                let end = |tick: usize| maker.end(tick, j).map_or(0.0, TickEnd::error) + joint.own;
                let ends = [past.ticks().start, past.ticks().end].map(end);
                let grown = (joint.rest + maker.charge(stretch, number, j)).max(0.0);
                estimates.push(ChargeEstimate { ends, grown });
            }
        }
        estimates
    }

    /// The estimates `before` with the set of `maker`. Errors at the ends have become smaller by what they have at some of the windows.
    pub fn estimates_again(
        profiles: &[Arc<Self>],
        windows: &[Placed],
        before: &[ChargeEstimate],
        maker: &mut RowMaker,
    ) -> Vec<ChargeEstimate> {
        let n = maker.robot().dof();
        let sampled = || (0..windows.len()).step_by(windows.len().div_ceil(SAMPLED).max(1));
        maker.place_starts(sampled().map(|w| windows[w]));
        let mut estimates = before.to_vec();
        for j in 0..n {
            let now = |w: usize| {
                let own = profiles[w].joints[j].own;
                maker.end(windows[w].past.ticks().start, j).map_or(0.0, TickEnd::error) + own
            };
            let (now, then) =
                sampled().fold((0.0, 0.0), |(a, b), w| (a + now(w), b + before[n * w + j].ends[0]));
            let ratio = if then > 0.0 { now / then } else { 1.0 };
            for (w, &Placed { stretch, number, .. }) in windows.iter().enumerate() {
                let estimate = &mut estimates[n * w + j];
                estimate.ends = estimate.ends.map(|end| end * ratio);
                estimate.grown = (profiles[w].joints[j].rest + maker.charge(stretch, number, j)).max(0.0);
            }
        }
        estimates
    }

    fn of_window(
        robot: &Arm,
        set: &ParameterSet,
        window: &Placed,
        maker: &RowMaker,
        radii: &[f64],
        (motion, y): (&mut Motion<f64>, &mut [f64]),
    ) -> Self {
        let (n, past) = (robot.dof(), window.past);
        let samples = maker.stretch(window.stretch).samples(past.ticks());
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
            let mut profile = JointProfile::new(robot, set, (samples, past), j, momenta);
            let ends = [past.ticks().start, past.ticks().end];
            let errors = ends.map(|tick| maker.end(tick, j).map_or(0.0, TickEnd::error) + profile.own);
            let known: f64 = errors.iter().chain(profile.noise.last()).sum();
            profile.rest = radii[j] - known - maker.charge(window.stretch, window.number, j);
            profile
        };
        Self { joints: momenta.into_iter().enumerate().map(joint).collect() }
    }
}

impl JointProfile {
    /// With `columns` holding the links' momenta; without what only the radii of rows tell.
    fn new(
        robot: &Arm,
        set: &ParameterSet,
        (samples, past): (&[Sample], &Past),
        j: usize,
        mut columns: DMatrix<f64>,
    ) -> Self {
        let (n, sensors) = (robot.dof(), robot.sensors());
        let links = columns.ncols() - 4;
        let (mut torque, mut noise) = (vec![0.0], vec![0.0]);
        let mut sums = vec![0.0; links];
        let add = |sums: &mut [f64], k: usize, step: f64| {
            sums.iter_mut().zip(past.rate(n, k, j)).for_each(|(sum, rate)| *sum += 0.5 * step * rate);
        };
        let (mut sign, mut time) = (0.0, 0.0);
        for (k, sample) in samples.iter().enumerate() {
            if k > 0 {
                let last = &samples[k - 1];
                let step = sample.t - last.t;
                add(&mut sums, k - 1, step);
                add(&mut sums, k, step);
                sums.iter().enumerate().for_each(|(c, sum)| columns[(k, c)] -= sum);
                let (tau, dq) = (last.tau[j], 0.5 * (last.dq[j] + sample.dq[j]));
                let still = dq.abs() <= robot.gains().stiction_speed_rad_s;
                sign += if still { 0.0 } else { step * dq.signum() };
                time += step;
                torque.push(torque[k - 1] + step * tau);
                let read = sensors.torque(j).error_of_reading_nm(tau);
                noise.push(noise[k - 1] + step * (read + robot.drive(j).unmodelled_nm));
            }
            columns[(k, links + ARMATURE)] = sample.dq[j];
            columns[(k, links + VISCOUS)] = sample.q[j];
            columns[(k, links + COULOMB)] = sign;
            columns[(k, links + OFFSET)] = time;
        }
        let friction = robot.friction_index(j);
        let largest = |at: usize| set.lower()[friction + at].abs().max(set.upper()[friction + at].abs());
        let own = sensors.velocity_rad_s * largest(ARMATURE) + sensors.position_rad * largest(VISCOUS);
        Self { first: INERTIAL * j, columns, torque, noise, own, rest: 0.0 }
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

impl<'a> RowSeparation<'a> {
    /// Over all windows of `history`, whose rows `maker` makes; rows over `known` are there already.
    pub fn new(
        history: &'a History,
        profiles: &'a [Arc<Profile>],
        estimates: &'a [ChargeEstimate],
        maker: RowMaker<'a>,
        known: impl IntoIterator<Item = Pick>,
    ) -> Self {
        Self { history, profiles, estimates, maker, asked: known.into_iter().collect() }
    }

    /// For each point the spans of one joint that it violates most.
    fn of_joint(&self, robot: &Arm, joint: usize, points: &DMatrix<f64>) -> Vec<Vec<Pick>> {
        let friction = robot.friction_index(joint);
        let mut scans: Vec<Scan> = (0..points.ncols()).map(|_| Scan::default()).collect();
        let estimates = self.estimates.chunks_exact(robot.dof());
        let mut profiles = self.profiles.iter().zip(estimates);
        let mut charged = Charged::default();
        for stretch in self.history.stretches() {
            scans.iter_mut().for_each(Scan::interrupt);
            for (past, (profile, estimates)) in stretch.windows().iter().zip(&mut profiles) {
                let (own, ChargeEstimate { ends, grown: rest }) = (&profile.joints[joint], estimates[joint]);
                let share = |k: usize| k as f64 / past.ticks().len().max(1) as f64;
                let at = |(k, noise): (usize, &f64)| {
                    (ends[0] + share(k) * (ends[1] - ends[0]), noise + share(k) * rest)
                };
                charged.set(own.noise.iter().enumerate().map(at));
                let imbalance = own.imbalance(points, friction);
                let tick = past.ticks().start;
                for (scan, column) in scans.iter_mut().zip(imbalance.column_iter()) {
                    scan.window(tick, column.as_slice(), &charged);
                }
            }
        }
        let picks = |scan: Scan| scan.most_violated().map(|(from, to)| Pick { from, to, joint }).collect();
        scans.into_iter().map(picks).collect()
    }
}

impl RowSource for RowSeparation<'_> {
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

/// What a joint's rows are charged at the ticks of a window.
#[derive(Debug, Default)]
struct Charged {
    /// E - R and E + R: of spans that begin there, and of spans that end there.
    begin: Vec<f64>,
    end: Vec<f64>,
    /// R at the last tick.
    grown: f64,
}

impl Charged {
    /// From E and R, tick by tick.
    fn set(&mut self, ticks: impl Iterator<Item = (f64, f64)>) {
        self.begin.clear();
        self.end.clear();
        for (e, r) in ticks {
            self.begin.push(e - r);
            self.end.push(e + r);
            self.grown = r;
        }
    }
}

/// The smallest F + `begin` and the largest F - `end`, for F and then for -F.
fn extremes(f: &[f64], begin: &[f64], end: &[f64]) -> [(f64, f64); 2] {
    let (mut low, mut high) = ([[f64::INFINITY; LANES]; 2], [[f64::NEG_INFINITY; LANES]; 2]);
    let smaller = |a: f64, b: f64| if a < b { a } else { b };
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let mut look = |lane: usize, f: f64, b: f64, e: f64| {
        low[0][lane] = smaller(f + b, low[0][lane]);
        low[1][lane] = smaller(b - f, low[1][lane]);
        high[0][lane] = larger(f - e, high[0][lane]);
        high[1][lane] = larger(-e - f, high[1][lane]);
    };
    let together = f.chunks_exact(LANES).zip(begin.chunks_exact(LANES)).zip(end.chunks_exact(LANES));
    for ((f, b), e) in together {
        for lane in 0..LANES {
            look(lane, f[lane], b[lane], e[lane]);
        }
    }
    for k in f.len() - f.len() % LANES..f.len() {
        look(0, f[k], begin[k], end[k]);
    }
    let side = |s: usize| {
        let least = low[s].iter().copied().fold(f64::INFINITY, f64::min);
        (least, high[s].iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    [side(0), side(1)]
}

/// One pass over the ticks for one joint and point.
#[derive(Debug, Default)]
struct Scan {
    /// F and R at the tick that the next window begins with; none after a gap.
    carried: Option<(f64, f64)>,
    /// The best beginning so far, for F and for -F.
    best: [Beginning; 2],
    /// The most violated span that ends in each window, on each side; the worst [`SPANS`] of them, in order.
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
    fn window(&mut self, first: usize, imbalance: &[f64], charged: &Charged) {
        let (Some(&start), Some(&stop)) = (imbalance.first(), imbalance.last()) else { return };
        // The shared tick has begun already, in the window before.
        let skip = usize::from(self.carried.is_some());
        if skip == 0 {
            self.best.iter_mut().for_each(|best| best.value = f64::INFINITY);
        }
        let (f0, r0) = self.carried.map_or((0.0, 0.0), |(f, r)| (f - start, r));
        let (imbalance, begin, end) = (&imbalance[skip..], &charged.begin[skip..], &charged.end[skip..]);
        let extremes = extremes(imbalance, begin, end);
        for ((best, sign), (low, high)) in self.best.iter_mut().zip([1.0, -1.0]).zip(extremes) {
            let (shift, before) = (sign * f0 - r0, *best);
            let lowest = |&k: &usize| sign * imbalance[k] + begin[k] <= low;
            let highest = |&k: &usize| sign * imbalance[k] - end[k] >= high;
            // Where spans begin best from the next window on.
            let later = (low + shift < before.value).then(|| {
                let k = (0..imbalance.len()).find(lowest).unwrap_or(0);
                (k, Beginning { tick: first + skip + k, value: low + shift, charge: begin[k] - r0 })
            });
            let least = self.found.get(SPANS - 1).map_or(0.0, |found| found.by);
            *best = later.map_or(before, |(_, later)| later);
            if high + shift - best.value <= least {
                continue;
            }
            let k = (0..imbalance.len()).find(highest).unwrap_or(0);
            let most = match later {
                Some((own, _)) if own >= k => {
                    let value = |k: usize| sign * imbalance[k] + shift;
                    let at = |k: usize| (first + skip + k, value(k) + begin[k], value(k) - end[k]);
                    Found::of((0..imbalance.len()).map(at), before, |k| begin[k] - r0, |k| end[k] + r0)
                }
                _ => {
                    let radius = best.charge + end[k] + r0;
                    Found { by: high + shift - best.value, radius, from: best.tick, to: first + skip + k }
                }
            };
            if most.by > LEAST * most.radius {
                let at = self.found.partition_point(|found| found.by >= most.by);
                self.found.insert(at, most);
                self.found.truncate(SPANS);
            }
        }
        self.carried = Some((stop + f0, charged.grown + r0));
    }

    /// Those that are worth a row.
    fn most_violated(self) -> impl Iterator<Item = (usize, usize)> {
        self.found.into_iter().map(|found| (found.from, found.to))
    }
}

#[cfg(test)]
pub(crate) mod tests;
