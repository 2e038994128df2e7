//! From measurements to rows of data: the momentum balance over one window, with everything that may be wrong in it.
//!
//! # The balance
//! With p = M_links(q) dq = Y_m theta and d/dt p = tau - F_c s - F_v dq - I_a ddq - beta + Y_f theta, where
//! Y_f theta = C(q, dq)' dq - g(q) and s = sign(dq) (anything in \[-1, 1\] below the stiction speed), integration over
//! \[t1, t2\] gives, without any acceleration,
//!
//! ```text
//! [Y_m(t2) - Y_m(t1) - int Y_f] theta + I_a (dq2 - dq1) + F_v (q2 - q1) + F_c int s + beta (t2 - t1) = int tau.
//! ```
//!
//! The balances of consecutive windows add up to the balance of their union ([`rows_over`]). That is a row of its own:
//! in it the encoder errors at the inner ends cancel, which no combination of the single rows knows. The other way round, the
//! torque errors of a short window seldom add up, so that some of many short rows are nearly at the end of what their bound
//! allows ([`parts`]); shorter still, the errors of the ends outweigh that.
//!
//! # Assumed
//! A2 of the guarantee: at every tick |q^ - q|, |dq^ - dq| and |tau^ - tau| are within [`SensorBounds`]; tau is held from tick to
//! tick; |ddq_j(t)| <= `acceleration_bound[j]`; ticks are exactly one period apart; q is continuous (not wrapped).
//!
//! # What is bounded, and how
//! Each true row is y z = u with coefficients y that are known up to errors; the row returned has their midpoints and
//! charges to its radius a bound on |sum_j error_j z_j| over the box of z:
//! - *Encoders at the ends*: Y_m at a tick is an affine form in the 2 n encoder errors e_s of that tick,
//!   Y_j = c_j + sum_s g_js e_s +- remainder_j. Exchanging sums, |sum_j (Y_j - c_j) z_j| <= sum_s |sum_j g_js z_j| + sum_j remainder_j |z_j|,
//!   and |sum_j g_js z_j| <= |sum_j g_js c_j| + sum_j |g_js| r_j over z_j in c_j +- r_j. Charging each coefficient apart,
//!   radius x |z_j|, would count one encoder error seventy times.
//! - *Encoders between*: Y_f is evaluated on intervals q^ +- delta_q, dq^ +- delta_dq and its coefficients, like those of
//!   friction, are charged apart; integrated over a window this is small.
//! - *Quadrature*: with m the panel's middle, integration by parts gives
//!   int f = dt (f0 + f1)/2 - int (t - m) f' dt, and since int (t - m) dt = 0, any constant may be subtracted from f':
//!   the trapezoid is off by at most dt^2/4 times the *radius* of an interval that contains f' over the panel.
//!   Applied to Y_f z, f' = (dY_f/dq dq) z + sum_k (dY_f/d(dq_k) z) ddq_k. The first part is enclosed by a dual number over
//!   intervals on the hull of a block of panels, and charged coefficient by coefficient. Of the second only
//!   |ddq_k| <= a_k is known, so it is bounded by sum_k a_k sup |dY_f/d(dq_k) z|, with the sum over the parameters
//!   inside the bars as for the encoders.
//! - *Between ticks*: |ddq| <= a implies dq >= max(dq0 - a s, dq1 - a (dt - s)) >= min(dq0, dq1) - a dt/2, likewise from above, and in
//!   the same way q stays within dt/2 sup |dq| of the hull of its ends.
//! - *Coulomb*: s is the sign of dq where the panel's range of dq excludes the stiction speed, else \[-1, 1\].
//! - *Torque*: |tau^ - tau| <= ratio |tau| + abs gives |tau^ - tau| <= (ratio |tau^| + abs)/(1 - ratio).
//!
//! Rounding is outward throughout: all of it is interval arithmetic.

mod part;

pub use part::{Part, parts, rows_over_parts};

use super::certificate::Sum;
use super::polytope::{Origin, Rows};
use crate::dynamics::{Motion, momentum_rate_regressor, momentum_regressor};
use crate::enclose::{Affine, Interval};
use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, SensorBounds, VISCOUS};
use crate::scalar::{Dual, Scalar};

/// Panels that share one enclosure of dY_f/dq dq, which must be narrow.
const BLOCK: usize = 10;
/// Panels that share one enclosure of dY_f/ddq, which varies slowly.
const LONG_BLOCK: usize = 50;

/// Encoder errors that are kept apart as symbols: enough for positions and velocities of seven joints. What does not
/// fit goes to the remainder.
const SYMBOLS: usize = 14;

type Form = Affine<SYMBOLS>;

/// What is measured at one tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Time of the tick, s.
    pub t: f64,
    /// Measured joint positions, rad (m for a prismatic joint); continuous, not wrapped.
    pub q: Vec<f64>,
    /// Measured joint velocities, rad/s.
    pub dq: Vec<f64>,
    /// Measured joint torques, N m, held from this tick to the next.
    pub tau: Vec<f64>,
}

/// What is known of the time between two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clock {
    /// Ticks of the control loop: exactly one control period apart, the torque held in between.
    #[default]
    Control,
    /// A recording: the time stamps are right, and the torque's mean between two samples is that of the two; how far it
    /// may be from that has to be part of the torque's error bound.
    Recorded,
}

/// Samples of one window: consecutive ticks, the last one being the first of the next window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// At least two ticks in order of time.
    pub samples: Vec<Sample>,
    /// Bound on |ddq_j| over the window, rad/s^2.
    pub acceleration_bound: Vec<f64>,
    /// What is known of the time between the ticks.
    pub clock: Clock,
}

/// int Y_f over one window and what may be wrong in it: the dear part of a row, used by every row over the window.
#[derive(Debug, Clone)]
pub struct RateIntegral {
    /// Row-major n x 10 n coefficients; errors of encoders and of the motion at constant velocity included.
    y: Vec<Interval>,
    /// For each row, what the accelerations may change in y z.
    swing: Vec<Interval>,
}

/// Y_m at one tick, and for each row what the encoders may change in y z there.
#[derive(Debug, Clone)]
struct Momentum {
    /// Row-major n x 10 n coefficients.
    y: Vec<f64>,
    error: Vec<f64>,
}

/// Integrates Y_f over the window; z is taken to lie in `set`.
pub fn integrate_rate(robot: &Robot, set: &ParameterSet, window: &Window) -> RateIntegral {
    let integrals = Integrals::new(robot, set, window);
    let swing =
        integrals.swing_errors(std::slice::from_ref(&(0..integrals.panels()))).pop().unwrap_or_default();
    RateIntegral { y: integrals.rate(), swing }
}

/// The n rows (one a joint) over consecutive windows, each beginning with the tick that ends the one before, and their
/// [`integrate_rate`] with the same `set`; over the full parameter vector.
pub fn rows_over(robot: &Robot, set: &ParameterSet, windows: &[Window], rates: &[RateIntegral]) -> Rows {
    let Some(window) = Window::joined(windows.iter()) else { return Rows::none(robot.parameter_count()) };
    let integrals = Integrals::new(robot, set, &window);
    let mut evaluator = Evaluator::<Form>::new(robot);
    let mut momentum = |k| integrals.momentum(&mut evaluator, k);
    let (first, last) = (momentum(0), momentum(integrals.panels()));
    rows_between(robot, set, &window, rates.iter(), (&first, &last))
}

fn rows_between<'a>(
    robot: &Robot,
    set: &ParameterSet,
    window: &Window,
    rates: impl Iterator<Item = &'a RateIntegral>,
    momenta: (&Momentum, &Momentum),
) -> Rows {
    let (n, p) = (robot.dof(), robot.parameter_count());
    let samples = &window.samples;
    let largest = |column: usize| set.lower[column].abs().max(set.upper[column].abs());
    let integrals = Integrals::new(robot, set, window);
    let links = integrals.links(rates, momenta);
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let sensors = &robot.sensors;
    let difference = |a: f64, b: f64, error: f64| Interval::around(b, error) - Interval::around(a, error);
    let mut rows = Rows::none(p);
    rows.y = nalgebra::DMatrix::zeros(n, p);
    for i in 0..n {
        let (torque, noise) = integrals.torque(i);
        let mut error = Interval::constant(noise) + Interval::constant(torque.radius()) + links.error[i];
        let mut enter = |column: usize, coefficient: Interval| {
            rows.y[(i, column)] = coefficient.midpoint();
            let charge = Interval::constant(coefficient.radius()) * Interval::constant(largest(column));
            error = error + charge;
        };
        for column in 0..INERTIAL * n {
            enter(column, links.y[INERTIAL * n * i + column]);
        }
        let friction = robot.friction_index(i);
        enter(friction + ARMATURE, difference(first.dq[i], last.dq[i], sensors.velocity_rad_s));
        enter(friction + VISCOUS, difference(first.q[i], last.q[i], sensors.position_rad));
        enter(friction + COULOMB, integrals.coulomb(i));
        enter(friction + OFFSET, integrals.duration());
        rows.u.push(torque.midpoint());
        rows.radius.push(error.upper());
        rows.origin.push(Origin { t: last.t, joint: i });
    }
    rows
}

impl Window {
    /// The union of consecutive windows; `None` of none.
    fn joined<'a>(mut windows: impl Iterator<Item = &'a Window>) -> Option<Window> {
        let mut union = windows.next()?.clone();
        for window in windows {
            union.samples.extend_from_slice(&window.samples[1..]);
            let bounds = union.acceleration_bound.iter_mut().zip(&window.acceleration_bound);
            bounds.for_each(|(a, b)| *a = a.max(*b));
        }
        Some(union)
    }

    /// This window without its samples.
    fn bounds(&self) -> Window {
        let (acceleration_bound, clock) = (self.acceleration_bound.clone(), self.clock);
        Window { samples: vec![], acceleration_bound, clock }
    }

    /// Whether `next` begins with the tick that ends this window.
    pub fn precedes(&self, next: &Window) -> bool {
        self.samples.last().is_some_and(|last| next.samples.first() == Some(last))
    }
}

/// Row-major n x 10 n coefficients, and for each row what the encoders may change in y z.
struct Links {
    y: Vec<Interval>,
    error: Vec<Interval>,
}

/// The integrals of one window.
struct Integrals<'a> {
    robot: &'a Robot,
    window: &'a Window,
    /// The box of z: center +- half.
    center: Vec<f64>,
    half: Vec<f64>,
}

impl<'a> Integrals<'a> {
    fn new(robot: &'a Robot, set: &ParameterSet, window: &'a Window) -> Self {
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

    fn panels(&self) -> usize {
        self.window.samples.len() - 1
    }

    fn duration(&self) -> Interval {
        match self.window.clock {
            Clock::Control => self.step(0).scale(self.panels() as f64),
            Clock::Recorded => {
                let stamp = |k: usize| Interval::constant(self.window.samples[k].t);
                stamp(self.panels()) - stamp(0)
            }
        }
    }

    /// Integral of the measured torque of joint i (N m s), and the bound on what the sensor adds to it.
    fn torque(&self, i: usize) -> (Interval, f64) {
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
    fn coulomb(&self, i: usize) -> Interval {
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
    fn rate(&self) -> Vec<Interval> {
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
    fn links<'r>(
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
    fn momentum(&self, evaluator: &mut Evaluator<Form>, k: usize) -> Momentum {
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
    fn blocks(&self, length: usize, mut visit: impl FnMut(std::ops::Range<usize>, &[Interval], &[Interval])) {
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
    fn swing_errors(&self, ranges: &[std::ops::Range<usize>]) -> Vec<Vec<Interval>> {
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

type Regressor<T> = fn(&Robot, &Motion<T>, std::ops::Range<usize>, &mut [T]);

/// Scratch space for regressors over one scalar.
struct Evaluator<T> {
    motion: Motion<T>,
    rest: Vec<T>,
    y: Vec<T>,
}

impl<T: Scalar> Evaluator<T> {
    fn new(robot: &Robot) -> Self {
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
