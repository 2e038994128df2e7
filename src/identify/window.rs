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
//! # Assumed
//! A2 of the guarantee: at every tick |q^ - q|, |dq^ - dq| and |tau^ - tau| are within [`SensorBounds`]; tau is held from tick to
//! tick; |ddq_j(t)| <= `acceleration_bound[j]`; ticks are exactly one period apart; q is continuous (not wrapped).
//!
//! # What is bounded, and how
//! Every coefficient is an [`Interval`] that contains its true value; the row returned has the midpoints and charges
//! radius x max |z_j| for each to the row's error. In the intervals:
//! - *Encoders*: Y_m and Y_f are evaluated on the intervals q^ +- delta_q, dq^ +- delta_dq.
//! - *Quadrature*: with m the panel's middle, integration by parts gives
//!   int f = dt (f0 + f1)/2 - int (t - m) f' dt, and since int (t - m) dt = 0, any constant may be subtracted from f':
//!   the trapezoid is off by at most dt^2/4 times the *radius* of an interval that contains f' over the panel.
//!   f' = dY_f/dq dq + dY_f/ddq ddq comes from a dual number over intervals, on the hull of a block of panels.
//! - *Between ticks*: |ddq| <= a implies dq >= max(dq0 - a s, dq1 - a (dt - s)) >= min(dq0, dq1) - a dt/2, likewise from above, and in
//!   the same way q stays within dt/2 sup |dq| of the hull of its ends.
//! - *Coulomb*: s is the sign of dq where the panel's range of dq excludes the stiction speed, else \[-1, 1\].
//! - *Torque*: |tau^ - tau| <= ratio |tau| + abs gives |tau^ - tau| <= (ratio |tau^| + abs)/(1 - ratio).
//!
//! Rounding is outward throughout: all of it is interval arithmetic.

use super::polytope::{Origin, Rows};
use crate::dynamics::{Motion, momentum_rate_regressor, momentum_regressor};
use crate::enclose::Interval;
use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, SensorBounds, VISCOUS};
use crate::scalar::{Dual, Scalar};

/// Panels that share one enclosure of the integrand's derivative.
const BLOCK: usize = 5;

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

/// Samples of one window: consecutive ticks, the last one being the first of the next window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// At least two ticks, one period apart.
    pub samples: Vec<Sample>,
    /// Bound on |ddq_j| over the window, rad/s^2.
    pub acceleration_bound: Vec<f64>,
}

/// The n rows (one a joint) of one window over the full parameter vector; z is taken to lie in `set`.
pub fn window_rows(robot: &Robot, set: &ParameterSet, window: &Window) -> Rows {
    let (n, p) = (robot.dof(), robot.parameter_count());
    let samples = &window.samples;
    let integrals = Integrals { robot, window };
    let links = integrals.links();
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let sensors = &robot.sensors;
    let difference = |a: f64, b: f64, error: f64| Interval::around(b, error) - Interval::around(a, error);
    let mut rows = Rows::none(p);
    rows.y = nalgebra::DMatrix::zeros(n, p);
    for i in 0..n {
        let (torque, noise) = integrals.torque(i);
        let mut error = Interval::constant(noise) + Interval::constant(torque.radius());
        let mut enter = |column: usize, coefficient: Interval| {
            rows.y[(i, column)] = coefficient.midpoint();
            let largest = set.lower[column].abs().max(set.upper[column].abs());
            error = error + Interval::constant(coefficient.radius()) * Interval::constant(largest);
        };
        for column in 0..INERTIAL * n {
            enter(column, links[INERTIAL * n * i + column]);
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

/// The integrals of one window.
struct Integrals<'a> {
    robot: &'a Robot,
    window: &'a Window,
}

impl Integrals<'_> {
    fn period(&self) -> Interval {
        Interval::constant(self.robot.control.period_s)
    }

    fn panels(&self) -> usize {
        self.window.samples.len() - 1
    }

    fn duration(&self) -> Interval {
        self.period().scale(self.panels() as f64)
    }

    /// Integral of the measured torque of joint i (N m s), and the bound on what the sensor adds to it.
    fn torque(&self, i: usize) -> (Interval, f64) {
        let SensorBounds { torque_ratio, torque_abs_nm, .. } = self.robot.sensors;
        let (mut sum, mut error) = (Interval::zero(), Interval::zero());
        for sample in &self.window.samples[..self.panels()] {
            sum = sum + Interval::constant(sample.tau[i]);
            error = error
                + Interval::constant(torque_ratio).scale(sample.tau[i].abs())
                + Interval::constant(torque_abs_nm);
        }
        let known = Interval::constant(1.0) - Interval::constant(torque_ratio);
        (sum * self.period(), (error * self.period() / known).upper())
    }

    /// Integral of s, the sign of the velocity of joint i (s).
    fn coulomb(&self, i: usize) -> Interval {
        let stiction = self.robot.control.stiction_speed_rad_s;
        let mut sum = Interval::zero();
        for k in 0..self.panels() {
            let dq = self.velocity(i, k, k + 1);
            sum = sum
                + if dq.lower() > stiction {
                    Interval::constant(1.0)
                } else if dq.upper() < -stiction {
                    Interval::constant(-1.0)
                } else {
                    Interval::new(-1.0, 1.0)
                };
        }
        sum * self.period()
    }

    /// Range of dq_i from tick `a` to tick `b`.
    fn velocity(&self, i: usize, a: usize, b: usize) -> Interval {
        let between = self.period().scale(0.5 * self.window.acceleration_bound[i]).upper();
        let known = self.robot.sensors.velocity_rad_s;
        self.hull(a, b, |s| s.dq[i]) + Interval::new(-known, known) + Interval::new(-between, between)
    }

    /// Range of q_i from tick `a` to tick `b`, when its velocity stays in `dq`.
    fn position(&self, i: usize, a: usize, b: usize, dq: Interval) -> Interval {
        let between = self.period().scale(0.5 * dq.sup_abs()).upper();
        let known = self.robot.sensors.position_rad;
        self.hull(a, b, |s| s.q[i]) + Interval::new(-known, known) + Interval::new(-between, between)
    }

    fn hull(&self, a: usize, b: usize, of: impl Fn(&Sample) -> f64) -> Interval {
        let samples = &self.window.samples[a..=b];
        samples.iter().fold(Interval::constant(of(&samples[0])), |h, s| h.hull(Interval::constant(of(s))))
    }

    /// Y_m(t2) - Y_m(t1) - int Y_f, row-major n x 10 n.
    fn links(&self) -> Vec<Interval> {
        let n = self.robot.dof();
        let last = self.panels();
        let mut at_ticks = Evaluator::<Interval>::new(self.robot);
        let mut total = self.at_tick(&mut at_ticks, last, momentum_regressor);
        let start = self.at_tick(&mut at_ticks, 0, momentum_regressor);
        let mut sum = vec![Interval::zero(); INERTIAL * n * n];
        for k in 0..=last {
            let weight = if k == 0 || k == last { 0.5 } else { 1.0 };
            let rate = self.at_tick(&mut at_ticks, k, momentum_rate_regressor);
            sum.iter_mut().zip(rate).for_each(|(sum, rate)| *sum = *sum + rate.scale(weight));
        }
        let curvature = self.quadrature_error();
        for (j, total) in total.iter_mut().enumerate() {
            let integral = sum[j] * self.period();
            *total = *total - start[j] - integral + Interval::new(-curvature[j], curvature[j]);
        }
        total
    }

    /// A regressor on everything that the state at tick k may be.
    fn at_tick(
        &self,
        evaluator: &mut Evaluator<Interval>,
        k: usize,
        regressor: Regressor<Interval>,
    ) -> Vec<Interval> {
        let (sample, sensors) = (&self.window.samples[k], &self.robot.sensors);
        let q: Vec<_> = sample.q.iter().map(|&x| Interval::around(x, sensors.position_rad)).collect();
        let dq: Vec<_> = sample.dq.iter().map(|&x| Interval::around(x, sensors.velocity_rad_s)).collect();
        evaluator.evaluate(self.robot, &q, &dq, regressor).to_vec()
    }

    /// Bound on the trapezoid's error for each entry of int Y_f, summed over the panels.
    fn quadrature_error(&self) -> Vec<f64> {
        let n = self.robot.dof();
        let mut evaluator = Evaluator::<Dual<Interval, 1>>::new(self.robot);
        let quarter = self.period() * self.period().scale(0.25);
        let mut error = vec![Interval::zero(); INERTIAL * n * n];
        let mut a = 0;
        while a < self.panels() {
            let b = (a + BLOCK).min(self.panels());
            let (mut q, mut dq) = (Vec::with_capacity(n), Vec::with_capacity(n));
            for i in 0..n {
                let velocity = self.velocity(i, a, b);
                let bound = self.window.acceleration_bound[i];
                q.push(Dual::new(self.position(i, a, b, velocity), [velocity]));
                dq.push(Dual::new(velocity, [Interval::new(-bound, bound)]));
            }
            let rate = evaluator.evaluate(self.robot, &q, &dq, momentum_rate_regressor);
            for (error, rate) in error.iter_mut().zip(rate) {
                *error = *error + quarter * Interval::constant(rate.slope[0].radius()).scale((b - a) as f64);
            }
            a = b;
        }
        error.into_iter().map(Interval::upper).collect()
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
        Self {
            motion: Motion::new(robot),
            rest: vec![T::zero(); n],
            y: vec![T::zero(); INERTIAL * n * n],
        }
    }

    fn evaluate(&mut self, robot: &Robot, q: &[T], dq: &[T], regressor: Regressor<T>) -> &[T] {
        // Neither regressor reads the auxiliary motion.
        self.motion.sweep(robot, q, dq, &self.rest, &self.rest);
        regressor(robot, &self.motion, 0..robot.dof(), &mut self.y);
        &self.y
    }
}
