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

use super::window::{Enclosed, Sample};
use crate::dynamics::{Composites, Motion, crba, momentum_regressor};
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

/// A search for such parts, in storage that it keeps from window to window.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    robot: &'a Robot,
    /// Likely parameters, friction included.
    theta: &'a [f64],
    motion: Motion<f64>,
    composites: Composites<f64>,
    y: Vec<f64>,
    mass: Vec<f64>,
    /// (tick, joint): the momentum, N m s, and its rate but for the torque, N m.
    momenta: Vec<f64>,
    rates: Vec<f64>,
    /// Of one joint, per panel and summed up to every tick: what the momentum changes by beyond the torques, and how far the
    /// torque's error may make it, N m s.
    imbalance: Vec<f64>,
    errors: Vec<f64>,
    bounds: Vec<f64>,
}

impl<'a> Search<'a> {
    /// With likely parameters `theta`, friction included.
    pub fn new(robot: &'a Robot, theta: &'a [f64]) -> Self {
        let n = robot.dof();
        let (motion, composites) = (Motion::new(robot), Composites::new(robot));
        let (y, mass) = (vec![0.0; INERTIAL * n * n], vec![0.0; n * n]);
        let (momenta, rates, imbalance, errors, bounds) = (vec![], vec![], vec![], vec![], vec![]);
        Self { robot, theta, motion, composites, y, mass, momenta, rates, imbalance, errors, bounds }
    }

    /// For each joint and either side the `count` parts of the window, apart from one another, whose rows promise to be the
    /// tightest, into `picks`. None of a window of one panel.
    pub fn run(&mut self, enclosed: &Enclosed, count: usize, picks: &mut Vec<Pick>) {
        picks.clear();
        let window = enclosed.window();
        let panels = window.samples.len().saturating_sub(1);
        if panels < 2 || count == 0 {
            return;
        }
        self.take_states(enclosed);
        self.take_masses(&window.samples[panels / 2]);
        for joint in 0..self.robot.dof() {
            self.take_sums(&window.samples, joint);
            let ends = self.end_error(joint);
            for sign in [1.0, -1.0] {
                let first = picks.len();
                for _ in 0..count {
                    let Some(span) = self.tightest(panels, ends, sign, &picks[first..]) else { break };
                    picks.push(Pick { span, joint });
                }
            }
        }
    }

    /// The part of which the least is left of its bound per tick, apart from `taken`.
    fn tightest(&self, panels: usize, ends: f64, sign: f64, taken: &[Pick]) -> Option<Range<usize>> {
        let spans = LENGTHS
            .iter()
            .flat_map(|&length| (0..(panels + 1).saturating_sub(length)).map(move |a| a..a + length));
        let apart = |span: &Range<usize>| {
            taken.iter().all(|other| other.span.end <= span.start || span.end <= other.span.start)
        };
        let over = |sums: &[f64], span: &Range<usize>| sums[span.end] - sums[span.start];
        let left = |span: &Range<usize>| {
            (over(&self.bounds, span) - sign * over(&self.errors, span) + ends) / span.len() as f64
        };
        let mut tightest: Option<(f64, Range<usize>)> = None;
        for span in spans {
            let left = left(&span);
            if tightest.as_ref().is_none_or(|(least, _)| left < *least) && apart(&span) {
                tightest = Some((left, span));
            }
        }
        tightest.map(|(_, span)| span)
    }

    /// Momentum of links and transmissions, and its rate but for the torque, at every tick.
    fn take_states(&mut self, enclosed: &Enclosed) {
        let (robot, theta, n) = (self.robot, self.theta, self.robot.dof());
        self.momenta.clear();
        self.rates.clear();
        for (k, sample) in enclosed.window().samples.iter().enumerate() {
            self.motion.sweep_velocities(robot, &sample.q, &sample.dq);
            momentum_regressor(robot, &self.motion, 0..n, &mut self.y);
            for (j, row) in self.y.chunks_exact(INERTIAL * n).enumerate() {
                let links: f64 = row.iter().zip(theta).map(|(y, x)| y * x).sum();
                let (f, dq) = (&theta[robot.friction_index(j)..], sample.dq[j]);
                self.momenta.push(links + f[ARMATURE] * dq);
                let friction = f[COULOMB] * dq.signum() + f[VISCOUS] * dq + f[OFFSET];
                self.rates.push(enclosed.rate_along(k, j, theta) - friction);
            }
        }
    }

    /// Sums for one joint: of its imbalances without their straight line, and of what the sensor may make of them.
    fn take_sums(&mut self, samples: &[Sample], joint: usize) {
        let (n, dt, sensors) = (self.robot.dof(), self.robot.control.period_s, &self.robot.sensors);
        let at = |list: &[f64], k: usize| list[n * k + joint];
        let Self { momenta, rates, imbalance, errors, bounds, .. } = self;
        imbalance.clear();
        imbalance.extend(samples[1..].iter().zip(samples).enumerate().map(|(k, (_, sample))| {
            let rate = 0.5 * (at(rates, k) + at(rates, k + 1)) + sample.tau[joint];
            at(momenta, k + 1) - at(momenta, k) - dt * rate
        }));
        take_off_line(imbalance);
        let bound = |sample: &Sample| {
            let known = sensors.torque_ratio * sample.tau[joint].abs() + sensors.torque_abs_nm;
            dt * known / (1.0 - sensors.torque_ratio)
        };
        sum_up(imbalance.iter().copied(), errors);
        sum_up(samples.iter().map(bound), bounds);
    }

    /// The mass matrix at `sample`.
    fn take_masses(&mut self, sample: &Sample) {
        self.motion.place(self.robot, &sample.q);
        crba(self.robot, &self.motion, self.theta, &mut self.composites, &mut self.mass);
    }

    /// What the encoders' errors at the two ends of a part may add to the row of joint `j`, N m s.
    fn end_error(&self, j: usize) -> f64 {
        let n = self.robot.dof();
        let links = self.mass[n * j..n * (j + 1)].iter().map(|m| m.abs()).sum::<f64>();
        let armature = self.theta[self.robot.friction_index(j) + ARMATURE];
        2.0 * self.robot.sensors.velocity_rad_s * (links + armature)
    }
}

/// Sums of the values before each, and of all at the end.
fn sum_up(values: impl Iterator<Item = f64>, sums: &mut Vec<f64>) {
    sums.clear();
    sums.push(0.0);
    let mut sum = 0.0;
    for value in values {
        sum += value;
        sums.push(sum);
    }
}

/// Takes their straight line of least squares off the values.
fn take_off_line(values: &mut [f64]) {
    let count = values.len() as f64;
    let (middle, mean) = (0.5 * (count - 1.0), values.iter().sum::<f64>() / count);
    let (mut moment, mut square) = (0.0, 0.0);
    for (k, value) in values.iter().enumerate() {
        let x = k as f64 - middle;
        moment += x * (value - mean);
        square += x * x;
    }
    let slope = if square > 0.0 { moment / square } else { 0.0 };
    for (k, value) in values.iter_mut().enumerate() {
        *value -= mean + slope * (k as f64 - middle);
    }
}

#[cfg(test)]
mod tests;
