//! Sets from recordings: momentum windows over a log's own time stamps, and the set that they leave.
//!
//! # What is assumed beyond the box and the sensor bounds
//! Time stamps are right; the torque's mean between two samples is that of the two up to the torque's error bound
//! (or, where the log has the control loop's own rate, the torque was held); accelerations stay below a stated bound.
//! All of that is what the additive bound of [`super::additive`] has to make up for where it does not hold.
//!
//! # Torques that may be early or late
//! Let the reported torque at time t be the true one at t + e (up to the sensor's error), with an unknown constant |e| <= E. Then
//!
//! ```text
//! int_{t1}^{t2} tau(t) dt - int_{t1}^{t2} tau(t + e) dt = int_0^e [tau(t1 + x) - tau(t2 + x)] dx,
//! ```
//!
//! since the two integrals have all but their ends in common. It is at most E times the largest |tau(t2 + x) - tau(t1 + x)| with |x| <= |e|.
//! The reported torque shows tau(t + x) at t + x - e; for x between 0 and e that is within E of t. So both true torques lie in the hulls of
//! what is reported within E of t1 and of t2, up to the sensor's error there, and E times the largest distance between the hulls is
//! charged to the row's radius. Torque that is held from tick to tick moves by whole ticks: there E is rounded up to whole periods.
//! Windows that are nearer than E to the end of their segment are left out.

use std::ops::Range;

use rayon::prelude::*;

use super::bounds::{Effort, Proven, tighten};
use super::error::IdentifyError;
use super::physics::prove_body;
use super::polytope::{Polytope, Rows, Source};
use super::window::{Clock, Window, parts, rows_over_parts};
use crate::enclose::Interval;
use crate::inertia::ParameterSet;
use crate::recording::Sample;
use crate::recording::{MeasurementLog, torque_at};
use crate::robot::{Arm, Model, Sensors, TorqueSensor};
use crate::scalar::Scalar;

pub(crate) mod wider;

/// Without a stated bound, accelerations are taken to stay below this many times the largest that a filter sees.
pub const ACCELERATION_MARGIN: f64 = 1.5;
/// A log whose period is the control period up to this share was written by the control loop.
const SAME_PERIOD: f64 = 1e-3;
/// Share of the speed limit from which on a drive is taken to limit the speed by itself: its friction is then none of the model's. On
/// recordings of a real Gen3, each predicted from two others, the errors of samples beyond it are so large that they multiply
/// a joint's RMS error by up to four.
const SPEED_SHARE: f64 = 0.9;
/// Windows that are tightened together.
const PORTION: usize = 20;
/// Rows kept from one portion to the next.
const ROW_BUDGET: usize = 600;

/// Rows of data of one or several logs.
#[derive(Debug, Clone)]
pub struct RecordedRows {
    /// The rows, one a window and joint; N m s.
    pub rows: Rows,
    /// Length of each row's window, s.
    pub duration: Vec<f64>,
    /// Samples that no window holds: ends of segments.
    pub left_out: usize,
    /// Largest |dq| of each row's joint over its window, rad/s.
    pub speed: Vec<f64>,
}

/// Whether joint i is so near its speed limit that its drive may brake by itself, whatever torque is asked for.
pub fn at_speed_limit(robot: &Model, dq: &[f64], i: usize) -> bool {
    dq[i].abs() > SPEED_SHARE * robot.joints[i].limits.velocity
}

/// The clock of a log: the control loop's where the log has all its ticks.
pub fn clock_of(robot: &Arm, log: &MeasurementLog) -> Clock {
    let period = robot.gains().period_s;
    let steps = log.segments.iter().flat_map(|s| log.samples[s.clone()].windows(2));
    let shaken = SAME_PERIOD * period + robot.timing().jitter_max_s;
    let regular = |pair: &[Sample]| ((pair[1].t - pair[0].t) - period).abs() <= shaken;
    if steps.into_iter().all(regular) { Clock::of_loop(robot) } else { Clock::Recorded }
}

/// Bound on the errors of a log's velocities if they are those of its positions, rad/s (m/s), by the robot's bound on positions and a bound on
/// |ddq_j| ([`crate::recording::DerivedVelocities`]); zero where they were read.
pub fn derived_velocity_error(robot: &Arm, log: &MeasurementLog, acceleration_bound: &[f64]) -> f64 {
    let Some(derived) = &log.derived else { return 0.0 };
    if robot.timing().reading_age_max_s > 0.0 {
        // Positions of unknown moments: what lies between two of them is no known time.
        return f64::INFINITY;
    }
    let most = acceleration_bound.iter().copied().fold(0.0, f64::max);
    // Rows count ticks of the control loop as one period each, whatever share of it their stamps are off.
    let stamps = match clock_of(robot, log) {
        Clock::Control => 2.0 * SAME_PERIOD,
        Clock::Stamped | Clock::Recorded => 0.0,
    };
    derived.error(robot.sensors().position_rad, most, stamps)
}

/// The first log whose velocities are those of its positions and may be off by more than the robot's bound on velocities, with what they may
/// be off by, rad/s.
pub fn derived_beyond<'a>(
    robot: &Arm,
    logs: &'a [MeasurementLog],
    acceleration_bound: &[f64],
) -> Option<(&'a MeasurementLog, f64)> {
    let error = |log: &'a MeasurementLog| (log, derived_velocity_error(robot, log, acceleration_bound));
    // `!(<=)` also holds for NaN.
    logs.iter().map(error).find(|(_, error)| !(*error <= robot.sensors().velocity_rad_s))
}

/// What is taken out of torques that are late by an unknown time within `interval` (s), and what is left of it either way (s, upward). It is
/// the middle; whole periods where the logs are those of a control loop, whose torques are held in between.
pub fn delay_taken_out(robot: &Arm, logs: &[MeasurementLog], interval: [f64; 2]) -> (f64, f64) {
    let [low, high] = interval;
    let middle = 0.5 * (low + high);
    let period = robot.gains().period_s;
    let held = logs.iter().any(|log| clock_of(robot, log) != Clock::Recorded);
    let ticks = (middle / period).round();
    let taken = if held { ticks * period } else { middle };
    // So many ticks may be another time.
    let shaken = if held { ticks.abs() * robot.timing().jitter_max_s } else { 0.0 };
    let left = (high - taken).max(taken - low) + shaken;
    // A stated whole number of periods leaves no rounding behind.
    let exact = left <= 0.0 || low == high && shaken == 0.0 && left <= 1e-9 * taken.abs();
    (taken, if exact { 0.0 } else { left.next_up() })
}

/// The rows that are learned from: [`momentum_rows`] but for those of joints at their speed limit, each numbered as its source.
///
/// # Errors
/// As [`momentum_rows`].
pub fn numbered_rows(
    robot: &Arm,
    set: &ParameterSet,
    logs: &[MeasurementLog],
    window_s: f64,
    acceleration_bound: &[f64],
    torque_shift_s: f64,
) -> Result<RecordedRows, IdentifyError> {
    let mut data = momentum_rows(robot, set, logs, window_s, acceleration_bound, torque_shift_s)?;
    data.forget_speed_limited(robot);
    let number = |w: usize| u32::try_from(w).ok().map(|w| Source::Recorded([w]));
    data.rows.source = (0..data.rows.len()).map(number).collect();
    Ok(data)
}

/// Momentum rows over windows of about `window_s` (at least two samples); z is taken to lie in `set`, and torques to be early or late by
/// at most `torque_shift_s`.
///
/// # Errors
/// [`IdentifyError::WrongLength`] if the set or the acceleration bound (rad/s^2) does not fit the robot,
/// [`IdentifyError::BadValue`] for a shift that is no time.
pub fn momentum_rows(
    robot: &Arm,
    set: &ParameterSet,
    logs: &[MeasurementLog],
    window_s: f64,
    acceleration_bound: &[f64],
    torque_shift_s: f64,
) -> Result<RecordedRows, IdentifyError> {
    if !(torque_shift_s >= 0.0 && torque_shift_s.is_finite()) {
        let what = "shift of the torques".to_owned();
        return Err(IdentifyError::BadValue { what, value: torque_shift_s, expected: "a time >= 0 in s" });
    }
    let sizes = [
        ("prior box", set.len(), robot.parameter_count()),
        ("acceleration bound", acceleration_bound.len(), robot.dof()),
    ];
    for (what, found, expected) in sizes {
        if found != expected {
            return Err(IdentifyError::WrongLength { what, found, expected });
        }
    }
    let (mut windows, mut charges, mut left_out) = (vec![], vec![], 0);
    for log in logs {
        let clock = clock_of(robot, log);
        let panels = ((window_s / log.period_s).round() as usize).max(1);
        for segment in &log.segments {
            let samples = &log.samples[segment.clone()];
            let shift = Shift::new(robot, clock, torque_shift_s);
            let usable = shift.usable(samples);
            let count = (usable.len().max(1) - 1) / panels;
            left_out += samples.len() - count * panels - usize::from(count > 0);
            for k in 0..count {
                let (a, b) = (usable.start + k * panels, usable.start + (k + 1) * panels);
                windows.push(Window {
                    samples: samples[a..=b].to_vec(),
                    acceleration_bound: acceleration_bound.to_vec(),
                    clock,
                });
                charges.push(shift.charges(samples, a, b));
            }
        }
    }
    let each = |window: &Window| rows_over_parts(robot, set, &parts(robot, set, window, 1));
    let found: Vec<Rows> = windows.par_iter().map(each).collect();
    let mut rows = Rows::none(set.len());
    let (mut duration, mut speed) = (vec![], vec![]);
    for ((part, window), charges) in found.iter().zip(&windows).zip(&charges) {
        let first = rows.len();
        rows.append(part);
        for (w, origin) in part.origin.iter().enumerate() {
            let radius = &mut rows.radius[first + w];
            *radius = (*radius + charges[origin.joint]).next_up();
        }
        let samples = &window.samples;
        // Rounded down, so that a bound per second is granted no more than it says.
        let length = (samples[samples.len() - 1].t - samples[0].t).next_down();
        duration.extend(std::iter::repeat_n(length, part.len()));
        let fastest = |i: usize| samples.iter().map(|s| s.dq[i].abs()).fold(0.0, f64::max);
        speed.extend(part.origin.iter().map(|origin| fastest(origin.joint)));
    }
    Ok(RecordedRows { rows, duration, left_out, speed })
}

/// Torques that are early or late by an unknown time; see the module header.
struct Shift {
    sensors: Sensors,
    /// E, s.
    most: f64,
    /// E in ticks, where torque is held between them.
    ticks: Option<usize>,
}

impl Shift {
    fn new(robot: &Arm, clock: Clock, most: f64) -> Self {
        let (sensors, period) = (robot.sensors().clone(), robot.gains().period_s);
        match clock {
            // Stamps of ticks are right up to [`SAME_PERIOD`] of a period, which must not make a tick of nothing.
            Clock::Control => {
                let ticks = (most / period - SAME_PERIOD).ceil().max(0.0);
                Self { sensors, most: ticks * period, ticks: Some(ticks as usize) }
            }
            Clock::Stamped => {
                let shortest = period - robot.timing().jitter_max_s;
                let ticks = (most / shortest - SAME_PERIOD).ceil().max(0.0);
                Self { sensors, most, ticks: Some(ticks as usize) }
            }
            Clock::Recorded => Self { sensors, most, ticks: None },
        }
    }

    /// The ticks of a segment that have all of [-E, E] around them.
    fn usable(&self, samples: &[Sample]) -> Range<usize> {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0..0 };
        let (start, end) = match self.ticks {
            Some(ticks) => (ticks, samples.len().saturating_sub(ticks)),
            None => (
                samples.partition_point(|s| s.t - self.most < first.t),
                samples.partition_point(|s| s.t + self.most <= last.t),
            ),
        };
        start..end.max(start)
    }

    /// What to charge each joint for the window from tick `a` to tick `b` of the segment, N m s.
    fn charges(&self, samples: &[Sample], a: usize, b: usize) -> Vec<f64> {
        let n = samples[a].tau.len();
        if self.most == 0.0 {
            return vec![0.0; n];
        }
        let (at_start, at_end) = (self.hulls(samples, a), self.hulls(samples, b));
        let most = Interval::constant(self.most);
        (0..n).map(|j| (most * Interval::constant((at_end[j] - at_start[j]).sup_abs())).upper()).collect()
    }

    /// What each joint's true torque may be within E of the usable tick k, N m.
    fn hulls(&self, samples: &[Sample], k: usize) -> Vec<Interval> {
        let (from, to) = (samples[k].t - self.most, samples[k].t + self.most);
        let within = match self.ticks {
            Some(ticks) => k - ticks..k + ticks + 1,
            None => samples.partition_point(|s| s.t < from)..samples.partition_point(|s| s.t <= to),
        };
        // Between samples torque and error are linear: at the two ends of the time they are no larger than those of the samples around.
        let around = match self.ticks {
            Some(_) => within.clone(),
            None => within.start.saturating_sub(1)..(within.end + 1).min(samples.len()),
        };
        let edges: Vec<Vec<f64>> = match self.ticks {
            Some(_) => vec![],
            None => [from, to].into_iter().filter_map(|t| torque_at(samples, t)).collect(),
        };
        let joint = |j: usize| {
            let inside =
                samples[within.clone()].iter().map(|s| s.tau[j]).chain(edges.iter().map(|tau| tau[j]));
            let largest = samples[around.clone()].iter().map(|s| s.tau[j].abs()).fold(0.0, f64::max);
            let hull = inside.map(Interval::constant).reduce(Interval::hull);
            hull.unwrap_or(Interval::zero()) + self.error(j, largest)
        };
        (0..samples[k].tau.len()).map(joint).collect()
    }

    /// The error of the torque sensor of joint `j` where it reads at most `largest`, N m.
    fn error(&self, j: usize, largest: f64) -> Interval {
        let TorqueSensor { ratio, abs_nm } = self.sensors.torque(j);
        let known = Interval::constant(1.0) - Interval::constant(ratio);
        let error = Interval::constant(ratio).scale(largest) + Interval::constant(abs_nm);
        Interval::around(0.0, (error / known).upper())
    }
}

impl RecordedRows {
    /// Drops the rows of joints at their speed limit ([`at_speed_limit`]).
    pub fn forget_speed_limited(&mut self, robot: &Arm) {
        let limit = |i: usize| SPEED_SHARE * robot.joints[i].limits.velocity;
        let slow = |w: &usize| self.speed[*w] <= limit(self.rows.origin[*w].joint);
        let kept: Vec<usize> = (0..self.rows.len()).filter(slow).collect();
        self.rows = self.rows.select(&kept);
        self.duration = kept.iter().map(|&w| self.duration[w]).collect();
        self.speed = kept.iter().map(|&w| self.speed[w]).collect();
    }

    /// How many windows the rows are from.
    pub fn windows(&self) -> usize {
        let ends = self.rows.origin.windows(2).filter(|pair| pair[0].t != pair[1].t).count();
        ends + usize::from(!self.rows.is_empty())
    }

    /// The rows with a further mean torque error of `bound[joint]` (N m) granted, rounded upward.
    pub fn granting(&self, bound: &[f64]) -> Rows {
        let mut rows = self.rows.clone();
        for w in 0..rows.len() {
            let more = (bound[rows.origin[w].joint] * self.duration[w]).next_up();
            rows.radius[w] = (rows.radius[w] + more).next_up();
        }
        rows
    }
}

/// How a set shrinks as rows come in.
#[derive(Debug, Clone)]
pub struct Narrowed {
    /// The sets after so many windows each: the first after none, each within the one before.
    pub sets: Vec<(usize, ParameterSet)>,
    /// What proves each of them over the one before (the first: over the prior); of the last body alone at first.
    pub proven: Vec<Vec<Proven>>,
}

/// Shrinks the intervals of the parameters `unknown` to what the rows and physical consistency of the last body leave,
/// some windows at a time.
///
/// # Errors
/// [`IdentifyError::AssumptionBroken`] proves that no parameters of the box explain the rows;
/// [`IdentifyError::PriorExcludesPhysics`] that no physical last body lies in it.
pub fn sets_within(
    robot: &Arm,
    set: &ParameterSet,
    rows: &Rows,
    unknown: &[usize],
) -> Result<Narrowed, IdentifyError> {
    let (set, _, body) = prove_body(set, robot.end_effector())?;
    let mut narrowed = Narrowed { sets: vec![(0, set.clone())], proven: vec![body] };
    let mut polytope = Polytope::from_box(set, robot.inertial_index(robot.end_effector()));
    let effort = Effort { rounds: 3, ..Effort::default() };
    // Rows of one window stand together and end at the same time.
    let mut windows: Vec<Range<usize>> = vec![];
    for w in 0..rows.len() {
        match windows.last_mut() {
            Some(window) if rows.origin[window.start].t == rows.origin[w].t => window.end = w + 1,
            _ => windows.push(w..w + 1),
        }
    }
    for part in windows.chunks(PORTION) {
        let part: Vec<usize> = part.iter().flat_map(Clone::clone).collect();
        polytope.rows.append(&rows.select(&part));
        let mut found = tighten(&mut polytope, unknown, effort)?;
        polytope.set = found.set.clone();
        let so_far = narrowed.sets.len() * PORTION;
        narrowed.sets.push((so_far.min(windows.len()), found.set.clone()));
        narrowed.proven.push(std::mem::take(&mut found.proven));
        polytope.forget(&found, ROW_BUDGET);
    }
    Ok(narrowed)
}

#[cfg(test)]
mod tests;
