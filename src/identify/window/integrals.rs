//! The integrals of one window, with what may be wrong in them; see the module above for why each bound holds.

use std::ops::Range;

use super::{Clock, Sample, Window};
use crate::dynamics::{
    BodyPlacement, Motion, momentum_rate_regressor, momentum_regressor_row, placements, weight_levers,
};
use crate::enclose::{Affine, Interval};
use crate::identify::certificate::Sum;
use crate::inertia::ParameterSet;
use crate::reach::gravity::tilt_bound;
use crate::robot::{ARMATURE, Arm, COULOMB, INERTIAL, OFFSET, Sensors, VISCOUS};
use crate::scalar::{Dual, Scalar};

/// Panels that share one enclosure of dY_f/dq dq, which must be narrow.
pub(super) const BLOCK: usize = 10;
/// Panels that share one enclosure of dY_f/ddq, which varies slowly.
pub(super) const LONG_BLOCK: usize = 50;

/// Encoder errors that are kept apart as symbols: enough for positions and velocities of seven joints. What does not
/// fit goes to the remainder.
const SYMBOLS: usize = 14;

pub(super) type Form = Affine<SYMBOLS>;

/// What is dear about a window: Y_f at every tick, and enclosures of its derivatives over blocks of panels.
#[derive(Debug, Clone, Default)]
pub(super) struct Enclosure {
    /// Row-major n x 10 n a tick.
    rates: Vec<Interval>,
    /// n x 10 n a [`BLOCK`].
    drifts: Vec<f64>,
    /// n a [`LONG_BLOCK`].
    swings: Vec<Interval>,
    /// n a [`BLOCK`]; none if the direction of gravity is exact.
    levers: Vec<[Interval; 3]>,
}

impl Enclosure {
    /// Y_f at tick `k` for row `i`, of n.
    pub(super) fn rate(&self, n: usize, k: usize, i: usize) -> &[Interval] {
        let width = INERTIAL * n;
        &self.rates[width * (n * k + i)..][..width]
    }
}

/// The box of z.
#[derive(Debug, Clone)]
pub(super) struct Known<'a> {
    set: &'a ParameterSet,
    center: Vec<f64>,
    half: Vec<f64>,
}

impl<'a> Known<'a> {
    pub(super) fn new(set: &'a ParameterSet) -> Self {
        Self { set, center: set.center(), half: set.radius() }
    }

    /// Bound on |z_j|.
    fn largest(&self, column: usize) -> f64 {
        self.set.lower()[column].abs().max(self.set.upper()[column].abs())
    }
}

/// The integrals of one window or a part of it.
#[derive(Clone, Copy)]
pub(super) struct Integrals<'a> {
    pub(super) robot: &'a Arm,
    known: &'a Known<'a>,
    samples: &'a [Sample],
    acceleration_bound: &'a [f64],
    clock: Clock,
}

impl<'a> Integrals<'a> {
    pub(super) fn new(robot: &'a Arm, known: &'a Known<'a>, window: &'a Window) -> Self {
        Self::of_samples(robot, known, &window.samples, &window.acceleration_bound, window.clock)
    }

    /// Those over consecutive samples.
    pub(super) fn of_samples(
        robot: &'a Arm,
        known: &'a Known<'a>,
        samples: &'a [Sample],
        acceleration_bound: &'a [f64],
        clock: Clock,
    ) -> Self {
        Self { robot, known, samples, acceleration_bound, clock }
    }

    /// Fills in what is dear.
    pub(super) fn fill(
        &self,
        intervals: &mut Evaluator<Interval>,
        duals: &mut Evaluator<Dual<Interval, 1>>,
        enclosure: &mut Enclosure,
    ) {
        enclosure.rates.clear();
        for k in 0..=self.panels() {
            enclosure.rates.extend_from_slice(self.rate_at(intervals, k));
        }
        self.fill_drifts(duals, &mut enclosure.drifts);
        self.fill_swings(duals, &mut enclosure.swings);
        self.fill_levers(intervals, &mut enclosure.levers);
    }

    /// Those between two ticks.
    pub(super) fn over(&self, span: &Range<usize>) -> Self {
        Self { samples: &self.samples[span.start..=span.end], ..*self }
    }

    /// The balance of joint i with link coefficients `links` (10 n of them) and this error of theirs: calls `enter` with the columns
    /// and coefficients of its row and returns u and the radius.
    pub(super) fn balance(
        &self,
        i: usize,
        links: impl Iterator<Item = Interval>,
        error: Interval,
        mut enter: impl FnMut(usize, f64),
    ) -> (f64, f64) {
        let (first, last) = (&self.samples[0], &self.samples[self.panels()]);
        let sensors = &self.robot.sensors();
        let difference = |a: f64, b: f64, error: f64| Interval::around(b, error) - Interval::around(a, error);
        let (torque, noise) = self.torque(i);
        let mut error = Interval::constant(noise) + Interval::constant(torque.radius()) + error;
        let mut charge = |column: usize, coefficient: Interval| {
            enter(column, coefficient.midpoint());
            let charge =
                Interval::constant(coefficient.radius()) * Interval::constant(self.known.largest(column));
            error = error + charge;
        };
        links.enumerate().for_each(|(column, y)| charge(column, y));
        let friction = self.robot.friction_index(i);
        charge(friction + ARMATURE, difference(first.dq[i], last.dq[i], sensors.velocity_rad_s));
        charge(friction + VISCOUS, difference(first.q[i], last.q[i], sensors.position_rad));
        charge(friction + COULOMB, self.coulomb(i));
        charge(friction + OFFSET, self.duration());
        (torque.midpoint(), error.upper())
    }

    /// Time of the last tick, s.
    pub(super) fn end(&self) -> f64 {
        self.samples[self.panels()].t
    }

    /// Length of panel k, s.
    fn step(&self, k: usize) -> Interval {
        match self.clock {
            Clock::Control => Interval::constant(self.robot.gains().period_s),
            Clock::Recorded => {
                let stamp = |k: usize| Interval::constant(self.samples[k].t);
                stamp(k + 1) - stamp(k)
            }
        }
    }

    /// The longest panel between ticks `a` and `b`, s.
    fn longest(&self, a: usize, b: usize) -> Interval {
        match self.clock {
            Clock::Control => self.step(a),
            Clock::Recorded => {
                let longest = (a..b).map(|k| self.step(k).upper()).fold(0.0, f64::max);
                Interval::constant(longest)
            }
        }
    }

    pub(super) fn panels(&self) -> usize {
        self.samples.len() - 1
    }

    pub(super) fn duration(&self) -> Interval {
        match self.clock {
            Clock::Control => self.step(0).scale(self.panels() as f64),
            Clock::Recorded => {
                let stamp = |k: usize| Interval::constant(self.samples[k].t);
                stamp(self.panels()) - stamp(0)
            }
        }
    }

    /// Integral of the measured torque of joint i (N m s), and the bound on what the sensor adds to it.
    pub(super) fn torque(&self, i: usize) -> (Interval, f64) {
        let Sensors { torque_ratio, torque_abs_nm, .. } = self.robot.sensors();
        let (mut sum, mut error) = (Interval::zero(), Interval::zero());
        let mut add = |sample: &Sample, duration: Interval| {
            sum = sum + Interval::constant(sample.tau[i]) * duration;
            let bound = Interval::constant(torque_ratio).scale(sample.tau[i].abs())
                + Interval::constant(torque_abs_nm);
            error = error + bound * duration;
        };
        for (k, pair) in self.samples.windows(2).enumerate() {
            match self.clock {
                Clock::Control => add(&pair[0], self.step(k)),
                Clock::Recorded => pair.iter().for_each(|sample| add(sample, self.step(k).scale(0.5))),
            }
        }
        let known = Interval::constant(1.0) - Interval::constant(torque_ratio);
        (sum, (error / known).upper())
    }

    /// Integral of s, the share of F_c that acts on joint i (s).
    pub(super) fn coulomb(&self, i: usize) -> Interval {
        let stiction = self.robot.gains().stiction_speed_rad_s;
        let breakaway = self.robot.uncertainty().breakaway_ratio;
        let mut sum = Interval::zero();
        for k in 0..self.panels() {
            let dq = self.velocity(i, k, k + 1);
            let sign = if dq.lower() > stiction {
                Interval::constant(1.0)
            } else if dq.upper() < -stiction {
                Interval::constant(-1.0)
            } else {
                Interval::new(-breakaway, breakaway)
            };
            sum = sum + sign * self.step(k);
        }
        sum
    }

    /// Range of dq_i from tick `a` to tick `b`.
    fn velocity(&self, i: usize, a: usize, b: usize) -> Interval {
        let between = self.longest(a, b).scale(0.5 * self.acceleration_bound[i]).upper();
        let known = self.robot.sensors().velocity_rad_s;
        self.hull(a, b, |s| s.dq[i]) + Interval::new(-known, known) + Interval::new(-between, between)
    }

    /// Range of q_i from tick `a` to tick `b`, when its velocity stays in `dq`.
    fn position(&self, i: usize, a: usize, b: usize, dq: Interval) -> Interval {
        let between = self.longest(a, b).scale(0.5 * dq.sup_abs()).upper();
        let known = self.robot.sensors().position_rad;
        self.hull(a, b, |s| s.q[i]) + Interval::new(-known, known) + Interval::new(-between, between)
    }

    fn hull(&self, a: usize, b: usize, of: impl Fn(&Sample) -> f64) -> Interval {
        let samples = &self.samples[a..=b];
        samples.iter().fold(Interval::constant(of(&samples[0])), |h, s| h.hull(Interval::constant(of(s))))
    }

    /// Y_f on everything that the state at tick k may be.
    fn rate_at<'e>(&self, evaluator: &'e mut Evaluator<Interval>, k: usize) -> &'e [Interval] {
        let (sample, sensors) = (&self.samples[k], &self.robot.sensors());
        let around = |x: &f64, error: f64| Interval::around(*x, error);
        evaluator.q.clear();
        evaluator.q.extend(sample.q.iter().map(|x| around(x, sensors.position_rad)));
        evaluator.dq.clear();
        evaluator.dq.extend(sample.dq.iter().map(|x| around(x, sensors.velocity_rad_s)));
        evaluator.rate(self.robot)
    }

    /// int Y_f between two ticks for the row `i`, into `y`: the trapezoids of the rates, widened by what the motion at constant
    /// velocity adds.
    pub(super) fn rate(&self, span: &Range<usize>, i: usize, enclosure: &Enclosure, y: &mut Vec<Interval>) {
        let Enclosure { rates, drifts, .. } = enclosure;
        let width = INERTIAL * self.robot.dof();
        let (size, row) = (width * self.robot.dof(), width * i..width * (i + 1));
        y.clear();
        y.resize(width, Interval::zero());
        let own = self.over(span);
        let last = own.panels();
        for (k, rates) in rates[size * span.start..].chunks_exact(size).take(last + 1).enumerate() {
            let terms = y.iter_mut().zip(&rates[row.clone()]);
            match self.clock {
                // In units of the period.
                Clock::Control => {
                    let weight = if k == 0 || k == last { 0.5 } else { 1.0 };
                    terms.for_each(|(y, rate)| *y = *y + rate.scale(weight));
                }
                Clock::Recorded => {
                    let before = k.checked_sub(1).map_or(Interval::zero(), |k| own.step(k));
                    let after = if k < last { own.step(k) } else { Interval::zero() };
                    let weight = (before + after).scale(0.5);
                    terms.for_each(|(y, rate)| *y = *y + *rate * weight);
                }
            }
        }
        if self.clock == Clock::Control {
            y.iter_mut().for_each(|y| *y = *y * self.step(0));
        }
        for (block, drifts) in drifts.chunks_exact(size).enumerate() {
            let (a, b) = (span.start.max(BLOCK * block), span.end.min(BLOCK * (block + 1)));
            if a < b {
                let quarters = self.quarters(a, b);
                let terms = y.iter_mut().zip(&drifts[row.clone()]);
                terms.for_each(|(y, &radius)| *y = *y + quarters * Interval::new(-radius, radius));
            }
        }
    }

    /// Fills `evaluator` with the state at tick k and the encoders' errors.
    pub(super) fn place(&self, evaluator: &mut Evaluator<Form>, k: usize) {
        let n = self.robot.dof();
        let (sample, sensors) = (&self.samples[k], &self.robot.sensors());
        let form = |x: f64, symbol: usize, error: f64| Form::constant(x) + Form::symbol(symbol, error);
        evaluator.q.clear();
        evaluator.q.extend((0..n).map(|i| form(sample.q[i], i, sensors.position_rad)));
        evaluator.dq.clear();
        evaluator.dq.extend((0..n).map(|i| form(sample.dq[i], n + i, sensors.velocity_rad_s)));
        evaluator.sweep(self.robot);
    }

    /// Row `i` of Y_m in the state of [`Integrals::place`] (the middles; 10 n coefficients), and what the encoders may change in y z.
    pub(super) fn momentum(&self, evaluator: &mut Evaluator<Form>, i: usize, y: &mut Vec<f64>) -> f64 {
        let row = evaluator.momentum_row(self.robot, i);
        y.clear();
        y.extend(row.iter().map(|y| y.center()));
        self.encoder_error(row)
    }

    /// Bound on |sum_j (Y_j - centre of Y_j) z_j| over the box of z; see the module header.
    fn encoder_error(&self, y: &[Form]) -> f64 {
        let mut total = Sum::default();
        let mut along = [Sum::default(); SYMBOLS];
        for ((y, &center), &half) in y.iter().zip(&self.known.center).zip(&self.known.half) {
            total.add(y.remainder() * (center.abs() + half).next_up());
            for (along, g) in along.iter_mut().zip(y.generators()) {
                along.add(g * center);
                total.add(g.abs() * half);
            }
        }
        along.iter().for_each(|along| total.add(along.upper_abs()));
        total.upper()
    }

    /// Calls `visit` for blocks of at most `length` panels in turn with the ranges of q and dq over the block, in the storage `ranges`.
    fn blocks(
        &self,
        length: usize,
        (q, dq): &mut (Vec<Interval>, Vec<Interval>),
        mut visit: impl FnMut(&[Interval], &[Interval]),
    ) {
        let n = self.robot.dof();
        let mut a = 0;
        while a < self.panels() {
            let b = (a + length).min(self.panels());
            dq.clear();
            dq.extend((0..n).map(|i| self.velocity(i, a, b)));
            q.clear();
            q.extend((0..n).map(|i| self.position(i, a, b, dq[i])));
            visit(q, dq);
            a = b;
        }
    }

    /// Sum of dt^2/4 over the panels from tick `a` to tick `b`: the trapezoid's error for a derivative of radius one.
    pub(super) fn quarters(&self, a: usize, b: usize) -> Interval {
        let quarter = |k: usize| self.step(k) * self.step(k).scale(0.25);
        match self.clock {
            Clock::Control => quarter(a).scale((b - a) as f64),
            Clock::Recorded => (a..b).fold(Interval::zero(), |sum, k| sum + quarter(k)),
        }
    }

    /// Radii of dY_f/dq dq over each [`BLOCK`]: the trapezoid's error by the motion at constant velocity, over dt^2/4 a panel.
    fn fill_drifts(&self, evaluator: &mut Evaluator<Dual<Interval, 1>>, drifts: &mut Vec<f64>) {
        drifts.clear();
        let mut ranges = std::mem::take(&mut evaluator.ranges);
        self.blocks(BLOCK, &mut ranges, |q, dq| {
            evaluator.q.clear();
            evaluator.q.extend(q.iter().zip(dq).map(|(&q, &dq)| Dual::new(q, [dq])));
            evaluator.dq.clear();
            evaluator.dq.extend(dq.iter().map(|&dq| Dual::new(dq, [Interval::zero()])));
            drifts.extend(evaluator.rate(self.robot).iter().map(|rate| rate.slope[0].radius()));
        });
        evaluator.ranges = ranges;
    }

    /// For each [`LONG_BLOCK`] and row the trapezoid's error by the accelerations, over dt^2/4 a panel.
    fn fill_swings(&self, evaluator: &mut Evaluator<Dual<Interval, 1>>, swings: &mut Vec<Interval>) {
        let n = self.robot.dof();
        swings.clear();
        let mut ranges = std::mem::take(&mut evaluator.ranges);
        self.blocks(LONG_BLOCK, &mut ranges, |q, dq| {
            let first = swings.len();
            swings.resize(first + n, Interval::zero());
            evaluator.q.clear();
            evaluator.q.extend(q.iter().map(|&q| Dual::new(q, [Interval::zero()])));
            for k in 0..n {
                let along = |i: usize| Interval::constant(f64::from(i == k));
                evaluator.dq.clear();
                evaluator.dq.extend(dq.iter().enumerate().map(|(i, &dq)| Dual::new(dq, [along(i)])));
                let slopes = evaluator.rate(self.robot);
                let bound = Interval::constant(self.acceleration_bound[k]);
                for (sum, row) in swings[first..].iter_mut().zip(slopes.chunks_exact(INERTIAL * n)) {
                    let slope = self.largest(row.iter().map(|y| y.slope[0]));
                    *sum = *sum + bound * Interval::constant(slope);
                }
            }
        });
        evaluator.ranges = ranges;
    }

    /// The trapezoid's error by the accelerations between two ticks, for row `i`.
    pub(super) fn swing(&self, span: &Range<usize>, i: usize, enclosure: &Enclosure) -> Interval {
        let mut error = Interval::zero();
        for (block, swings) in enclosure.swings.chunks_exact(self.robot.dof()).enumerate() {
            let (a, b) = (span.start.max(LONG_BLOCK * block), span.end.min(LONG_BLOCK * (block + 1)));
            if a < b {
                error = error + swings[i] * self.quarters(a, b);
            }
        }
        error
    }

    /// What [`weight_levers`] makes of every position over each [`BLOCK`] and of the box, joint after joint; nothing if the direction of
    /// gravity is exact.
    fn fill_levers(&self, evaluator: &mut Evaluator<Interval>, levers: &mut Vec<[Interval; 3]>) {
        levers.clear();
        if self.robot.uncertainty().gravity_direction_deg == 0.0 {
            return;
        }
        let set = self.known.set;
        let theta: Vec<Interval> =
            set.lower().iter().zip(set.upper()).map(|(l, u)| Interval::new(*l, *u)).collect();
        let mut placed = vec![BodyPlacement::base(); self.robot.dof()];
        let (mut found, mut ranges) = (vec![], std::mem::take(&mut evaluator.ranges));
        self.blocks(BLOCK, &mut ranges, |q, _| {
            evaluator.motion.place(self.robot, q);
            placements(self.robot, &evaluator.motion, &mut placed);
            weight_levers(self.robot, &placed, &theta, &mut found);
            levers.extend_from_slice(&found);
        });
        evaluator.ranges = ranges;
    }

    /// The integral between two ticks of joint `i`'s lever.
    pub(super) fn lever(&self, span: &Range<usize>, i: usize, enclosure: &Enclosure) -> [Interval; 3] {
        let mut sum = [Interval::zero(); 3];
        for (block, levers) in enclosure.levers.chunks_exact(self.robot.dof()).enumerate() {
            let (a, b) = (span.start.max(BLOCK * block), span.end.min(BLOCK * (block + 1)));
            if a < b {
                let elapsed = self.over(&(a..b)).duration();
                sum = std::array::from_fn(|k| sum[k] + levers[i][k] * elapsed);
            }
        }
        sum
    }

    /// What the direction of gravity may change in a row with this lever.
    pub(super) fn tilt(&self, lever: &[Interval; 3]) -> Interval {
        let degrees = self.robot.uncertainty().gravity_direction_deg;
        Interval::constant(tilt_bound(&self.robot.gravity, degrees, lever))
    }

    /// Bound on |sum_j y_j z_j| over the box of z.
    fn largest(&self, y: impl Iterator<Item = Interval>) -> f64 {
        let (mut middle, mut total) = (Sum::default(), Sum::default());
        for ((y, &center), &half) in y.zip(&self.known.center).zip(&self.known.half) {
            middle.add(y.midpoint() * center);
            total.add(y.midpoint().abs() * half);
            total.add(y.radius() * (center.abs() + half).next_up());
        }
        total.add(middle.upper_abs());
        total.upper()
    }
}

/// A state, and storage for regressors in it, over one scalar.
#[derive(Debug, Clone)]
pub(super) struct Evaluator<T> {
    q: Vec<T>,
    dq: Vec<T>,
    motion: Motion<T>,
    y: Vec<T>,
    /// Of q and dq over a block.
    ranges: (Vec<Interval>, Vec<Interval>),
}

impl<T: Scalar> Evaluator<T> {
    pub(super) fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        let y = vec![T::zero(); INERTIAL * n * n];
        let (q, dq, ranges) = (Vec::with_capacity(n), Vec::with_capacity(n), Default::default());
        Self { q, dq, motion: Motion::new(robot), y, ranges }
    }

    fn sweep(&mut self, robot: &Arm) {
        self.motion.sweep_velocities(robot, &self.q, &self.dq);
    }

    /// Y_f, row-major n x 10 n.
    fn rate(&mut self, robot: &Arm) -> &[T] {
        self.sweep(robot);
        momentum_rate_regressor(robot, &self.motion, 0..robot.dof(), &mut self.y);
        &self.y
    }

    /// Row `i` of Y_m in the state swept last.
    fn momentum_row(&mut self, robot: &Arm, i: usize) -> &[T] {
        let row = &mut self.y[..INERTIAL * robot.dof()];
        row.fill(T::zero());
        momentum_regressor_row(robot, &self.motion, i, row);
        row
    }
}
