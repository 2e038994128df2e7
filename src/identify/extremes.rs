//! Which short parts of a window to make rows of: those over which the torque sensor happened to err nearly as far as it may.
//!
//! A row |y theta - u| <= r narrows the set by what its own error leaves of r. Over a tick or two the error of a sensor whose
//! errors come and go is now and then nearly all of its bound, up or down; over a tenth of a second never. To make a row of
//! every tick would be dear, and nearly all would be idle. Where the error was large shows in the imbalance of the momentum,
//! for *any* parameters near the truth: what these get wrong changes slowly, and is taken off as a straight line.
//!
//! Nothing here is trusted: a row holds whyever it was chosen, since its bound holds for every error that the sensors may make
//! ([`super::window`]).

use std::ops::Range;

use super::window::{Sample, Window};
use crate::dynamics::{Composites, Motion, crba, momentum_rate_regressor, momentum_regressor};
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, VISCOUS};

/// Lengths that are looked at, in ticks: over one the encoders' errors at its ends weigh most, over many the torques' do not add
/// up.
const LENGTHS: [usize; 5] = [1, 2, 3, 5, 8];

/// A part of a window, and the joint whose row over it is worth having.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// First tick, and the last.
    pub span: Range<usize>,
    /// Joint index.
    pub joint: usize,
}

/// For each joint and either side the `count` parts of the window, apart from one another, whose rows promise to be the
/// tightest; `theta` are likely parameters (friction included). None of a window of one panel.
pub fn picks(robot: &Robot, theta: &[f64], window: &Window, count: usize) -> Vec<Pick> {
    let panels = window.samples.len().saturating_sub(1);
    if panels < 2 || count == 0 {
        return vec![];
    }
    let n = robot.dof();
    let imbalance = imbalances(robot, theta, &window.samples);
    let ends = end_errors(robot, theta, &window.samples[panels / 2]);
    let sensors = &robot.sensors;
    let mut picks = vec![];
    for joint in 0..n {
        let noise = |k: usize| {
            let tau = window.samples[k].tau[joint].abs();
            robot.control.period_s * (sensors.torque_ratio * tau + sensors.torque_abs_nm)
                / (1.0 - sensors.torque_ratio)
        };
        let bound: Vec<f64> = (0..panels).map(noise).collect();
        let error = off_line(&imbalance[joint]);
        for sign in [1.0, -1.0] {
            // What is left of the bound, per tick.
            let mut left: Vec<(f64, Range<usize>)> = LENGTHS
                .iter()
                .flat_map(|&length| (0..(panels + 1).saturating_sub(length)).map(move |a| a..a + length))
                .map(|span| {
                    let sum: f64 = span.clone().map(|k| bound[k] - sign * error[k]).sum();
                    ((sum + ends[joint]) / span.len() as f64, span)
                })
                .collect();
            left.sort_by(|a, b| a.0.total_cmp(&b.0));
            let first = picks.len();
            for (_, span) in left {
                if picks.len() == first + count {
                    break;
                }
                let apart = |other: &Pick| other.span.end <= span.start || span.end <= other.span.start;
                if picks[first..].iter().all(apart) {
                    picks.push(Pick { span, joint });
                }
            }
        }
    }
    picks
}

/// For each joint and panel what the momentum changes by beyond the torques, N m s.
fn imbalances(robot: &Robot, theta: &[f64], samples: &[Sample]) -> Vec<Vec<f64>> {
    let (n, width, dt) = (robot.dof(), INERTIAL * robot.dof(), robot.control.period_s);
    let (mut motion, rest) = (Motion::new(robot), vec![0.0; n]);
    let mut y = vec![0.0; n * width];
    let times_theta = |y: &[f64]| -> Vec<f64> {
        y.chunks_exact(width).map(|row| row.iter().zip(theta).map(|(y, x)| y * x).sum()).collect()
    };
    // Momentum of links and transmissions, and its rate but for the torque, at every tick.
    let mut states = samples.iter().map(|sample| {
        motion.sweep(robot, &sample.q, &sample.dq, &rest, &rest);
        momentum_regressor(robot, &motion, 0..n, &mut y);
        let mut momentum = times_theta(&y);
        momentum_rate_regressor(robot, &motion, 0..n, &mut y);
        let mut rate = times_theta(&y);
        for j in 0..n {
            let f = &theta[robot.friction_index(j)..];
            let dq = sample.dq[j];
            momentum[j] += f[ARMATURE] * dq;
            rate[j] -= f[COULOMB] * dq.signum() + f[VISCOUS] * dq + f[OFFSET];
        }
        (momentum, rate)
    });
    let mut imbalance = vec![Vec::with_capacity(samples.len()); n];
    let Some(mut before) = states.next() else { return imbalance };
    for (sample, after) in samples.iter().zip(states) {
        for (j, imbalance) in imbalance.iter_mut().enumerate() {
            let rate = 0.5 * (before.1[j] + after.1[j]) + sample.tau[j];
            imbalance.push(after.0[j] - before.0[j] - dt * rate);
        }
        before = after;
    }
    imbalance
}

/// For each joint what the encoders' errors at the two ends of a part near `sample` may add to its row, N m s.
fn end_errors(robot: &Robot, theta: &[f64], sample: &Sample) -> Vec<f64> {
    let n = robot.dof();
    let (mut motion, mut mass) = (Motion::new(robot), vec![0.0; n * n]);
    motion.place(robot, &sample.q);
    crba(robot, &motion, theta, &mut Composites::new(robot), &mut mass);
    let links = |j: usize| mass[n * j..n * (j + 1)].iter().map(|m| m.abs()).sum::<f64>();
    let armature = |j: usize| theta[robot.friction_index(j) + ARMATURE];
    (0..n).map(|j| 2.0 * robot.sensors.velocity_rad_s * (links(j) + armature(j))).collect()
}

/// The values without their straight line of least squares.
fn off_line(values: &[f64]) -> Vec<f64> {
    let count = values.len() as f64;
    let (middle, mean) = (0.5 * (count - 1.0), values.iter().sum::<f64>() / count);
    let (mut moment, mut square) = (0.0, 0.0);
    for (k, value) in values.iter().enumerate() {
        let x = k as f64 - middle;
        moment += x * (value - mean);
        square += x * x;
    }
    let slope = if square > 0.0 { moment / square } else { 0.0 };
    values.iter().enumerate().map(|(k, value)| value - mean - slope * (k as f64 - middle)).collect()
}

#[cfg(test)]
mod tests;
