//! The integrals of one window, with what may be wrong in them; see the module above for why each bound holds.

use std::ops::Range;

use super::{Clock, RateIntegral, Sample, Window};
use crate::dynamics::{Motion, momentum_rate_regressor, momentum_regressor};
use crate::enclose::{Affine, Interval};
use crate::identify::certificate::Sum;
use crate::inertia::ParameterSet;
use crate::robot::{INERTIAL, Robot, SensorBounds};
use crate::scalar::{Dual, Scalar};

/// Panels that share one enclosure of dY_f/dq dq, which must be narrow.
const BLOCK: usize = 10;
/// Panels that share one enclosure of dY_f/ddq, which varies slowly.
const LONG_BLOCK: usize = 50;

/// Encoder errors that are kept apart as symbols: enough for positions and velocities of seven joints. What does not
/// fit goes to the remainder.
const SYMBOLS: usize = 14;

pub(super) type Form = Affine<SYMBOLS>;

/// Y_m at one tick, and for each row what the encoders may change in y z there.
#[derive(Debug, Clone)]
pub(super) struct Momentum {
    /// Row-major n x 10 n coefficients.
    y: Vec<f64>,
    error: Vec<f64>,
}

/// Row-major n x 10 n coefficients, and for each row what the encoders may change in y z.
pub(super) struct Links {
    pub(super) y: Vec<Interval>,
    pub(super) error: Vec<Interval>,
}

/// The integrals of one window.
pub(super) struct Integrals<'a> {
    robot: &'a Robot,
    window: &'a Window,
    /// The box of z: center +- half.
    center: Vec<f64>,
    half: Vec<f64>,
}

impl<'a> Integrals<'a> {
    pub(super) fn new(robot: &'a Robot, set: &ParameterSet, window: &'a Window) -> Self {
        Self { robot, window, center: set.center(), half: set.radius() }
    }

    /// Length of panel k, s.
    fn step(&self, k: usize) -> Interval {
        match self.window.clock {
            Clock::Control => Interval::constant(self.robot.control.period_s),
            Clock::Recorded => {
                let stamp = |k: usize| Interval::constant(self.window.samples[k].t);
                stamp(k + 1) - stamp(k)
            }
        }
    }

    /// The longest panel between ticks `a` and `b`, s.
    fn longest(&self, a: usize, b: usize) -> Interval {
        match self.window.clock {
            Clock::Control => self.step(a),
            Clock::Recorded => {
                let longest = (a..b).map(|k| self.step(k).upper()).fold(0.0, f64::max);
                Interval::constant(longest)
            }
        }
    }

    pub(super) fn panels(&self) -> usize {
        self.window.samples.len() - 1
    }

    pub(super) fn duration(&self) -> Interval {
        match self.window.clock {
            Clock::Control => self.step(0).scale(self.panels() as f64),
            Clock::Recorded => {
                let stamp = |k: usize| Interval::constant(self.window.samples[k].t);
                stamp(self.panels()) - stamp(0)
            }
        }
    }

    /// Integral of the measured torque of joint i (N m s), and the bound on what the sensor adds to it.
    pub(super) fn torque(&self, i: usize) -> (Interval, f64) {
        let SensorBounds { torque_ratio, torque_abs_nm, .. } = self.robot.sensors;
        let (mut sum, mut error) = (Interval::zero(), Interval::zero());
        let mut add = |sample: &Sample, duration: Interval| {
            sum = sum + Interval::constant(sample.tau[i]) * duration;
            let bound = Interval::constant(torque_ratio).scale(sample.tau[i].abs())
                + Interval::constant(torque_abs_nm);
            error = error + bound * duration;
        };
        for (k, pair) in self.window.samples.windows(2).enumerate() {
            match self.window.clock {
                Clock::Control => add(&pair[0], self.step(k)),
                Clock::Recorded => pair.iter().for_each(|sample| add(sample, self.step(k).scale(0.5))),
            }
        }
        let known = Interval::constant(1.0) - Interval::constant(torque_ratio);
        (sum, (error / known).upper())
    }

    /// Integral of s, the sign of the velocity of joint i (s).
    pub(super) fn coulomb(&self, i: usize) -> Interval {
        let stiction = self.robot.control.stiction_speed_rad_s;
        let mut sum = Interval::zero();
        for k in 0..self.panels() {
            let dq = self.velocity(i, k, k + 1);
            let sign = if dq.lower() > stiction {
                Interval::constant(1.0)
            } else if dq.upper() < -stiction {
                Interval::constant(-1.0)
            } else {
                Interval::new(-1.0, 1.0)
            };
            sum = sum + sign * self.step(k);
        }
        sum
    }

    /// Range of dq_i from tick `a` to tick `b`.
    fn velocity(&self, i: usize, a: usize, b: usize) -> Interval {
        let between = self.longest(a, b).scale(0.5 * self.window.acceleration_bound[i]).upper();
        let known = self.robot.sensors.velocity_rad_s;
        self.hull(a, b, |s| s.dq[i]) + Interval::new(-known, known) + Interval::new(-between, between)
    }

    /// Range of q_i from tick `a` to tick `b`, when its velocity stays in `dq`.
    fn position(&self, i: usize, a: usize, b: usize, dq: Interval) -> Interval {
        let between = self.longest(a, b).scale(0.5 * dq.sup_abs()).upper();
        let known = self.robot.sensors.position_rad;
        self.hull(a, b, |s| s.q[i]) + Interval::new(-known, known) + Interval::new(-between, between)
    }

    fn hull(&self, a: usize, b: usize, of: impl Fn(&Sample) -> f64) -> Interval {
        let samples = &self.window.samples[a..=b];
        samples.iter().fold(Interval::constant(of(&samples[0])), |h, s| h.hull(Interval::constant(of(s))))
    }

    /// int Y_f; errors of the encoders and of the motion at constant velocity are in the coefficients.
    pub(super) fn rate(&self) -> Vec<Interval> {
        let n = self.robot.dof();
        let last = self.panels();
        let mut y = vec![Interval::zero(); INERTIAL * n * n];
        let mut evaluator = Evaluator::<Interval>::new(self.robot);
        for k in 0..=last {
            self.add_rate(&mut evaluator, k, &mut y);
        }
        if self.window.clock == Clock::Control {
            y.iter_mut().for_each(|y| *y = *y * self.step(0));
        }
        self.add_drift_error(&mut y);
        y
    }

    /// Y_m(t2) - Y_m(t1) - int Y_f. Errors of the integral are in the coefficients, those of the ends in the rows.
    pub(super) fn links<'r>(
        &self,
        rates: impl Iterator<Item = &'r RateIntegral>,
        (first, last): (&Momentum, &Momentum),
    ) -> Links {
        let n = self.robot.dof();
        let difference = |(last, first): (&f64, &f64)| Interval::constant(*last) - Interval::constant(*first);
        let sum = |(last, first): (&f64, &f64)| Interval::constant(*last) + Interval::constant(*first);
        let mut links = Links {
            y: last.y.iter().zip(&first.y).map(difference).collect(),
            error: last.error.iter().zip(&first.error).map(sum).collect(),
        };
        debug_assert_eq!(links.error.len(), n);
        for rate in rates {
            links.y.iter_mut().zip(&rate.y).for_each(|(y, rate)| *y = *y - *rate);
            links.error.iter_mut().zip(&rate.swing).for_each(|(error, swing)| *error = *error + *swing);
        }
        links
    }

    /// Adds Y_f on everything that the state at tick k may be, weighted by the trapezoidal rule; in units of the control
    /// period where that is the length of all panels.
    fn add_rate(&self, evaluator: &mut Evaluator<Interval>, k: usize, y: &mut [Interval]) {
        let (sample, sensors) = (&self.window.samples[k], &self.robot.sensors);
        let q: Vec<_> = sample.q.iter().map(|&x| Interval::around(x, sensors.position_rad)).collect();
        let dq: Vec<_> = sample.dq.iter().map(|&x| Interval::around(x, sensors.velocity_rad_s)).collect();
        let rate = evaluator.evaluate(self.robot, &q, &dq, momentum_rate_regressor);
        let last = self.panels();
        match self.window.clock {
            Clock::Control => {
                let weight = if k == 0 || k == last { 0.5 } else { 1.0 };
                y.iter_mut().zip(rate).for_each(|(y, rate)| *y = *y + rate.scale(weight));
            }
            Clock::Recorded => {
                let before = k.checked_sub(1).map_or(Interval::zero(), |k| self.step(k));
                let after = if k < last { self.step(k) } else { Interval::zero() };
                let weight = (before + after).scale(0.5);
                y.iter_mut().zip(rate).for_each(|(y, rate)| *y = *y + *rate * weight);
            }
        }
    }

    /// Y_m at tick k.
    pub(super) fn momentum(&self, evaluator: &mut Evaluator<Form>, k: usize) -> Momentum {
        let n = self.robot.dof();
        let (sample, sensors) = (&self.window.samples[k], &self.robot.sensors);
        let form = |x: f64, symbol: usize, error: f64| Form::constant(x) + Form::symbol(symbol, error);
        let q: Vec<_> = (0..n).map(|i| form(sample.q[i], i, sensors.position_rad)).collect();
        let dq: Vec<_> = (0..n).map(|i| form(sample.dq[i], n + i, sensors.velocity_rad_s)).collect();
        let momentum = evaluator.evaluate(self.robot, &q, &dq, momentum_regressor);
        Momentum {
            y: momentum.iter().map(|y| y.center()).collect(),
            error: momentum.chunks_exact(INERTIAL * n).map(|row| self.encoder_error(row)).collect(),
        }
    }

    /// Bound on |sum_j (Y_j - centre of Y_j) z_j| over the box of z; see the module header.
    fn encoder_error(&self, y: &[Form]) -> f64 {
        let mut total = Sum::default();
        let mut along = [Sum::default(); SYMBOLS];
        for ((y, &center), &half) in y.iter().zip(&self.center).zip(&self.half) {
            total.add(y.remainder() * (center.abs() + half).next_up());
            for (along, g) in along.iter_mut().zip(y.generators()) {
                along.add(g * center);
                total.add(g.abs() * half);
            }
        }
        along.iter().for_each(|along| total.add(along.upper_abs()));
        total.upper()
    }

    /// Calls `visit` for blocks of at most `length` panels with the ranges of q and dq over the block.
    fn blocks(&self, length: usize, mut visit: impl FnMut(Range<usize>, &[Interval], &[Interval])) {
        let n = self.robot.dof();
        let mut a = 0;
        while a < self.panels() {
            let b = (a + length).min(self.panels());
            let dq: Vec<_> = (0..n).map(|i| self.velocity(i, a, b)).collect();
            let q: Vec<_> = (0..n).map(|i| self.position(i, a, b, dq[i])).collect();
            visit(a..b, &q, &dq);
            a = b;
        }
    }

    /// Sum of dt^2/4 over the panels from tick `a` to tick `b`: the trapezoid's error for a derivative of radius one.
    fn quarters(&self, a: usize, b: usize) -> Interval {
        let quarter = |k: usize| self.step(k) * self.step(k).scale(0.25);
        match self.window.clock {
            Clock::Control => quarter(a).scale((b - a) as f64),
            Clock::Recorded => (a..b).fold(Interval::zero(), |sum, k| sum + quarter(k)),
        }
    }

    /// The trapezoid's error by the motion at constant velocity: widens the coefficients.
    fn add_drift_error(&self, coefficients: &mut [Interval]) {
        let mut evaluator = Evaluator::<Dual<Interval, 1>>::new(self.robot);
        self.blocks(BLOCK, |block, q, dq| {
            let quarters = self.quarters(block.start, block.end);
            let q: Vec<_> = q.iter().zip(dq).map(|(&q, &dq)| Dual::new(q, [dq])).collect();
            let dq: Vec<_> = dq.iter().map(|&dq| Dual::new(dq, [Interval::zero()])).collect();
            let rate = evaluator.evaluate(self.robot, &q, &dq, momentum_rate_regressor);
            for (y, rate) in coefficients.iter_mut().zip(rate) {
                let radius = rate.slope[0].radius();
                *y = *y + quarters * Interval::new(-radius, radius);
            }
        });
    }

    /// The trapezoid's error by the accelerations over each of `ranges` of panels, for each row.
    pub(super) fn swing_errors(&self, ranges: &[Range<usize>]) -> Vec<Vec<Interval>> {
        let n = self.robot.dof();
        let mut errors = vec![vec![Interval::zero(); n]; ranges.len()];
        let mut evaluator = Evaluator::<Dual<Interval, 1>>::new(self.robot);
        self.blocks(LONG_BLOCK, |block, q, dq| {
            let q: Vec<_> = q.iter().map(|&q| Dual::new(q, [Interval::zero()])).collect();
            let mut by_quarter = vec![Interval::zero(); n];
            for k in 0..n {
                let along = |i: usize| Interval::constant(f64::from(i == k));
                let dq: Vec<_> = dq.iter().enumerate().map(|(i, &dq)| Dual::new(dq, [along(i)])).collect();
                let slopes = evaluator.evaluate(self.robot, &q, &dq, momentum_rate_regressor);
                let bound = Interval::constant(self.window.acceleration_bound[k]);
                for (sum, row) in by_quarter.iter_mut().zip(slopes.chunks_exact(INERTIAL * n)) {
                    let slope = self.largest(row.iter().map(|y| y.slope[0]));
                    *sum = *sum + bound * Interval::constant(slope);
                }
            }
            for (range, errors) in ranges.iter().zip(&mut errors) {
                let (a, b) = (range.start.max(block.start), range.end.min(block.end));
                if a < b {
                    let quarters = self.quarters(a, b);
                    errors.iter_mut().zip(&by_quarter).for_each(|(e, by)| *e = *e + *by * quarters);
                }
            }
        });
        errors
    }

    /// Bound on |sum_j y_j z_j| over the box of z.
    fn largest(&self, y: impl Iterator<Item = Interval>) -> f64 {
        let (mut middle, mut total) = (Sum::default(), Sum::default());
        for ((y, &center), &half) in y.zip(&self.center).zip(&self.half) {
            middle.add(y.midpoint() * center);
            total.add(y.midpoint().abs() * half);
            total.add(y.radius() * (center.abs() + half).next_up());
        }
        total.add(middle.upper_abs());
        total.upper()
    }
}

type Regressor<T> = fn(&Robot, &Motion<T>, Range<usize>, &mut [T]);

/// Scratch space for regressors over one scalar.
pub(super) struct Evaluator<T> {
    motion: Motion<T>,
    rest: Vec<T>,
    y: Vec<T>,
}

impl<T: Scalar> Evaluator<T> {
    pub(super) fn new(robot: &Robot) -> Self {
        let n = robot.dof();
        Self { motion: Motion::new(robot), rest: vec![T::zero(); n], y: vec![T::zero(); INERTIAL * n * n] }
    }

    fn evaluate(&mut self, robot: &Robot, q: &[T], dq: &[T], regressor: Regressor<T>) -> &[T] {
        // Neither regressor reads the auxiliary motion.
        self.motion.sweep(robot, q, dq, &self.rest, &self.rest);
        regressor(robot, &self.motion, 0..robot.dof(), &mut self.y);
        &self.y
    }
}
