//! Sets from recordings: momentum windows over a log's own time stamps, and the set that they leave.
//!
//! # What is assumed beyond the box and the sensor bounds
//! Time stamps are right; the torque's mean between two samples is that of the two up to the torque's error bound
//! (or, where the log has the control loop's own rate, the torque was held); accelerations stay below a stated bound.
//! All of that is what the additive bound of [`super::additive`] has to make up for where it does not hold.

use rayon::prelude::*;

use super::bounds::{Effort, tighten};
use super::error::IdentifyError;
use super::log::MeasurementLog;
use super::physics::tighten_by_physics;
use super::polytope::{Polytope, Rows};
use super::window::{Clock, Window, parts, rows_over_parts};
use crate::inertia::ParameterSet;
use crate::robot::Robot;

/// A log whose period is the control period up to this share was written by the control loop.
const SAME_PERIOD: f64 = 1e-3;
/// Share of the speed limit from which on a drive is taken to limit the speed by itself: its friction is then none of the model's. On
/// recordings of a real Gen3, each predicted from two others, the errors of samples beyond it are so large that they multiply
/// a joint's RMS error by up to four.
const SPEED_SHARE: f64 = 0.9;
/// Windows that are tightened together.
const PORTION: usize = 20;
/// Windows that a contradiction is looked for in once one is proven: together they often prove a larger factor.
const LARGE_PORTION: usize = 60;
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
pub fn at_speed_limit(robot: &Robot, dq: &[f64], i: usize) -> bool {
    dq[i].abs() > SPEED_SHARE * robot.joints[i].limits.velocity
}

/// The clock of a log: the control loop's where the log has all its ticks.
pub fn clock_of(robot: &Robot, log: &MeasurementLog) -> Clock {
    let period = robot.control.period_s;
    let steps = log.segments.iter().flat_map(|s| log.samples[s.clone()].windows(2));
    let regular = |pair: &[super::Sample]| ((pair[1].t - pair[0].t) - period).abs() <= SAME_PERIOD * period;
    if steps.into_iter().all(regular) { Clock::Control } else { Clock::Recorded }
}

/// Momentum rows over windows of about `window_s` (at least two samples); z is taken to lie in `set`.
///
/// # Errors
/// [`IdentifyError::WrongLength`] if the set or the acceleration bound (rad/s^2) does not fit the robot.
pub fn momentum_rows(
    robot: &Robot,
    set: &ParameterSet,
    logs: &[MeasurementLog],
    window_s: f64,
    acceleration_bound: &[f64],
) -> Result<RecordedRows, IdentifyError> {
    let sizes = [
        ("prior box", set.len(), robot.parameter_count()),
        ("acceleration bound", acceleration_bound.len(), robot.dof()),
    ];
    for (what, found, expected) in sizes {
        if found != expected {
            return Err(IdentifyError::WrongLength { what, found, expected });
        }
    }
    let (mut windows, mut left_out) = (vec![], 0);
    for log in logs {
        let clock = clock_of(robot, log);
        let panels = ((window_s / log.period_s).round() as usize).max(1);
        for segment in &log.segments {
            let samples = &log.samples[segment.clone()];
            let count = (samples.len() - 1) / panels;
            left_out += samples.len() - count * panels - usize::from(count > 0);
            windows.extend((0..count).map(|k| Window {
                samples: samples[k * panels..=(k + 1) * panels].to_vec(),
                acceleration_bound: acceleration_bound.to_vec(),
                clock,
            }));
        }
    }
    let each = |window: &Window| rows_over_parts(robot, set, &parts(robot, set, window, 1));
    let found: Vec<Rows> = windows.par_iter().map(each).collect();
    let mut rows = Rows::none(set.len());
    let (mut duration, mut speed) = (vec![], vec![]);
    for (part, window) in found.iter().zip(&windows) {
        rows.append(part);
        let samples = &window.samples;
        // Rounded down, so that a bound per second is granted no more than it says.
        let length = (samples[samples.len() - 1].t - samples[0].t).next_down();
        duration.extend(std::iter::repeat_n(length, part.len()));
        let fastest = |i: usize| samples.iter().map(|s| s.dq[i].abs()).fold(0.0, f64::max);
        speed.extend(part.origin.iter().map(|origin| fastest(origin.joint)));
    }
    Ok(RecordedRows { rows, duration, left_out, speed })
}

impl RecordedRows {
    /// Drops the rows of joints at their speed limit ([`at_speed_limit`]).
    pub fn forget_speed_limited(&mut self, robot: &Robot) {
        let limit = |i: usize| SPEED_SHARE * robot.joints[i].limits.velocity;
        let slow = |w: &usize| self.speed[*w] <= limit(self.rows.origin[*w].joint);
        let kept: Vec<usize> = (0..self.rows.len()).filter(slow).collect();
        self.rows = self.rows.select(&kept);
        self.duration = kept.iter().map(|&w| self.duration[w]).collect();
        self.speed = kept.iter().map(|&w| self.speed[w]).collect();
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

/// Shrinks the intervals of the parameters `unknown` to what the rows and physical consistency of the last body leave,
/// some windows at a time: the sets after so many windows each, the first after none, each within the one before.
///
/// # Errors
/// [`IdentifyError::AssumptionBroken`] proves that no parameters of the box explain the rows, with the larger of the factors that
/// portions of 20 and of 60 windows prove; [`IdentifyError::PriorExcludesPhysics`] that no physical last body lies in it.
pub fn sets_within(
    robot: &Robot,
    set: &ParameterSet,
    rows: &Rows,
    unknown: &[usize],
) -> Result<Vec<(usize, ParameterSet)>, IdentifyError> {
    let first = by_portions(robot, set, rows, unknown, PORTION);
    let Err(IdentifyError::AssumptionBroken { by, .. }) = first else { return first };
    match by_portions(robot, set, rows, unknown, LARGE_PORTION) {
        Err(IdentifyError::AssumptionBroken { t, joint, by: more }) if more > by => {
            Err(IdentifyError::AssumptionBroken { t, joint, by: more })
        }
        _ => first,
    }
}

fn by_portions(
    robot: &Robot,
    set: &ParameterSet,
    rows: &Rows,
    unknown: &[usize],
    portion: usize,
) -> Result<Vec<(usize, ParameterSet)>, IdentifyError> {
    let set = tighten_by_physics(set, robot.end_effector)?;
    let mut sets = vec![(0, set.clone())];
    let mut polytope = Polytope::from_box(set, robot.inertial_index(robot.end_effector));
    let effort = Effort { rounds: 3, ..Effort::default() };
    // Rows of one window stand together and end at the same time.
    let mut windows: Vec<std::ops::Range<usize>> = vec![];
    for w in 0..rows.len() {
        match windows.last_mut() {
            Some(window) if rows.origin[window.start].t == rows.origin[w].t => window.end = w + 1,
            _ => windows.push(w..w + 1),
        }
    }
    for part in windows.chunks(portion) {
        let part: Vec<usize> = part.iter().flat_map(Clone::clone).collect();
        polytope.rows.append(&rows.select(&part));
        let found = tighten(&mut polytope, unknown, effort)?;
        polytope.set = found.set.clone();
        let so_far = sets.len() * portion;
        sets.push((so_far.min(windows.len()), found.set.clone()));
        polytope.forget(&found, ROW_BUDGET);
    }
    Ok(sets)
}
