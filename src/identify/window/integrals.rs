//! The integrals of one window, with what may be wrong in them; see the module above for why each bound holds.

use std::ops::Range;

use super::evaluator::{Evaluator, Evaluators, Form, SYMBOLS, Twice};
use super::{Clock, Window};
use crate::dynamics::{BodyPlacement, placements, weight_levers};
use crate::enclose::Interval;
use crate::identify::certificate::Sum;
use crate::inertia::{INERTIAL, ParameterSet};
use crate::reach::gravity::tilt_bound;
use crate::recording::Sample;
use crate::robot::{Arm, TorqueSensor};
use crate::scalar::{Dual, Scalar, replaced};

mod readings;

/// Panels that share one enclosure of levers, which are added up with the weight.
pub(super) const BLOCK: usize = 10;
/// Panels that share one enclosure of derivatives of Y_f, whose size alone counts.
pub(super) const LONG_BLOCK: usize = 50;

/// What is dear about a window: Y_f at every tick, and enclosures of its derivatives over blocks of panels.
#[derive(Debug, Clone, Default)]
pub(super) struct Enclosure {
    /// The rows of Y_f, from the diagonal on ([`row_within`]), a tick.
    rates: Vec<Interval>,
    /// As many a [`LONG_BLOCK`].
    drifts: Vec<f64>,
    /// Middles and radii of dY_f/d(dq_k), as many for each k in turn, a [`LONG_BLOCK`].
    slopes: Vec<[f64; 2]>,
    /// The frames of all bodies a [`BLOCK`]; none if the direction of gravity is exact.
    placed: Vec<BodyPlacement<Interval>>,
}

/// What of a window depends on the box of z as well; little work once the [`Enclosure`] is there.
#[derive(Debug, Clone, Default)]
pub(super) struct Charges {
    /// n a [`LONG_BLOCK`].
    swings: Vec<Interval>,
    /// n a [`BLOCK`]; none if the direction of gravity is exact.
    levers: Vec<[Interval; 3]>,
}

/// A joint moves no body before it: row i of Y_f begins with the columns of body i. Where these stand among the rows of one state.
fn row_within(n: usize, i: usize) -> Range<usize> {
    let start = |i: usize| INERTIAL * (i * (2 * n + 1 - i) / 2);
    start(i)..start(i + 1)
}

/// How many entries all rows have from the diagonal on.
fn upper_size(n: usize) -> usize {
    INERTIAL * n * (n + 1) / 2
}

/// The rows of an n x 10 n matrix (row-major) from the diagonal on, one after the other.
pub(super) fn upper<T>(n: usize, y: &[T]) -> impl Iterator<Item = &T> {
    y.chunks_exact(INERTIAL * n).enumerate().flat_map(|(i, row)| &row[INERTIAL * i..])
}

impl Enclosure {
    /// Y_f at tick `k` for row `i`, of n, from the columns of body i on.
    pub(super) fn rate(&self, n: usize, k: usize, i: usize) -> &[Interval] {
        &self.rates[upper_size(n) * k..][row_within(n, i)]
    }
}

/// The box of z.
#[derive(Debug, Clone)]
pub(super) struct Known<'a> {
    set: &'a ParameterSet,
    center: Vec<f64>,
    half: Vec<f64>,
    /// The box itself.
    theta: Vec<Interval>,
}

impl<'a> Known<'a> {
    pub(super) fn new(set: &'a ParameterSet) -> Self {
        let theta = set.lower().iter().zip(set.upper()).map(|(l, u)| Interval::new(*l, *u)).collect();
        Self { set, center: set.center(), half: set.radius(), theta }
    }

    /// Bound on |z_j|.
    fn largest(&self, column: usize) -> f64 {
        self.set.lower()[column].abs().max(self.set.upper()[column].abs())
    }

    /// Bound on |sum_j y_j z_j| over the box for the columns from number `first` on, y_j by middle and radius.
    fn largest_product(&self, first: usize, y: &[[f64; 2]]) -> f64 {
        let (mut middle, mut total) = (Sum::default(), Sum::default());
        for (([y, radius], &center), &half) in y.iter().zip(&self.center[first..]).zip(&self.half[first..]) {
            middle.add(y * center);
            total.add(y.abs() * half);
            total.add(radius * (center.abs() + half).next_up());
        }
        total.add(middle.upper_abs());
        total.upper()
    }

    /// Bound on |sum_j (Y_j - centre of Y_j) z_j| over the box for the columns from number `first` on; see the module header.
    fn encoder_error(&self, first: usize, y: &[Form]) -> f64 {
        let mut total = Sum::default();
        let mut along = [Sum::default(); SYMBOLS];
        for ((y, &center), &half) in y.iter().zip(&self.center[first..]).zip(&self.half[first..]) {
            total.add(y.remainder() * (center.abs() + half).next_up());
            for (along, g) in along.iter_mut().zip(y.generators()) {
                along.add(g * center);
                total.add(g.abs() * half);
            }
        }
        along.iter().for_each(|along| total.add(along.upper_abs()));
        total.upper()
    }
}

/// The integrals of one window or a part of it.
#[derive(Clone, Copy)]
pub(super) struct Integrals<'a> {
    pub(super) robot: &'a Arm,
    samples: &'a [Sample],
    acceleration_bound: &'a [f64],
    clock: Clock,
}

impl<'a> Integrals<'a> {
    pub(super) fn new(robot: &'a Arm, window: &'a Window) -> Self {
        Self::of_samples(robot, &window.samples, &window.acceleration_bound, window.clock)
    }

    /// Those over consecutive samples.
    pub(super) fn of_samples(
        robot: &'a Arm,
        samples: &'a [Sample],
        acceleration_bound: &'a [f64],
        clock: Clock,
    ) -> Self {
        Self { robot, samples, acceleration_bound, clock }
    }

    /// Fills in what is dear.
    pub(super) fn fill(
        &self,
        Evaluators { intervals, duals, twice }: &mut Evaluators,
        enclosure: &mut Enclosure,
    ) {
        enclosure.rates.clear();
        let n = self.robot.dof();
        enclosure.rates.reserve(upper_size(n) * self.samples.len());
        for k in 0..=self.panels() {
            enclosure.rates.extend(upper(n, self.rate_at(intervals, k)));
        }
        self.fill_drifts(twice, &mut enclosure.drifts);
        self.fill_slopes(duals, &mut enclosure.slopes);
        self.fill_placed(intervals, &mut enclosure.placed);
    }

    /// What follows for z in the box.
    pub(super) fn charges(&self, known: &Known, enclosure: &Enclosure) -> Charges {
        let n = self.robot.dof();
        let mut charges = Charges::default();
        for slopes in enclosure.slopes.chunks_exact(n * upper_size(n)) {
            for i in 0..n {
                let by_joint = slopes.chunks_exact(upper_size(n)).zip(self.acceleration_bound);
                let terms = by_joint.map(|(slopes, &bound)| {
                    let slope = known.largest_product(INERTIAL * i, &slopes[row_within(n, i)]);
                    Interval::constant(bound) * Interval::constant(slope)
                });
                charges.swings.push(terms.fold(Interval::zero(), |sum, term| sum + term));
            }
        }
        let mut levers = vec![];
        for placed in enclosure.placed.chunks_exact(n) {
            weight_levers(self.robot, placed, &known.theta, &mut levers);
            charges.levers.extend_from_slice(&levers);
        }
        charges
    }

    /// Those between two ticks.
    pub(super) fn over(&self, span: &Range<usize>) -> Self {
        Self { samples: &self.samples[span.start..=span.end], ..*self }
    }

    /// The balance of joint i with link coefficients `links` (10 n of them) and this error of theirs: calls `enter` with the columns
    /// and coefficients of its row and returns u and the radius.
    pub(super) fn balance(
        &self,
        known: &Known,
        i: usize,
        links: impl Iterator<Item = Interval>,
        error: Interval,
        mut enter: impl FnMut(usize, f64),
    ) -> (f64, f64) {
        let last = self.panels();
        let (torque, noise) = self.torque(i);
        let mut error = Interval::constant(noise) + Interval::constant(torque.radius()) + error;
        let mut charge = |column: usize, coefficient: Interval| {
            enter(column, coefficient.midpoint());
            let charge = Interval::constant(coefficient.radius()) * Interval::constant(known.largest(column));
            error = error + charge;
        };
        links.enumerate().for_each(|(column, y)| charge(column, y));
        let friction = self.robot.joint_index(i);
        charge(friction.armature, self.velocity_at(i, last) - self.velocity_at(i, 0));
        charge(friction.viscous, self.position_at(i, last) - self.position_at(i, 0));
        charge(friction.coulomb, self.coulomb(i));
        charge(friction.offset, self.duration());
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
            Clock::Stamped | Clock::Recorded => {
                let stamp = |k: usize| Interval::constant(self.samples[k].t);
                stamp(k + 1) - stamp(k)
            }
        }
    }

    /// The longest panel between ticks `a` and `b`, s.
    fn longest(&self, a: usize, b: usize) -> Interval {
        match self.clock {
            Clock::Control => self.step(a),
            Clock::Stamped | Clock::Recorded => {
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
            Clock::Stamped | Clock::Recorded => {
                let stamp = |k: usize| Interval::constant(self.samples[k].t);
                stamp(self.panels()) - stamp(0)
            }
        }
    }

    /// Integral of the measured torque of joint i (N m s), and the bound on what its sensor, and torques that no model accounts for, add to it.
    pub(super) fn torque(&self, i: usize) -> (Interval, f64) {
        let TorqueSensor { ratio, abs_nm } = self.robot.sensors().torque(i);
        let (mut sum, mut error) = (Interval::zero(), Interval::zero());
        let mut add = |sample: &Sample, duration: Interval| {
            sum = sum + Interval::constant(sample.tau[i]) * duration;
            let bound = Interval::constant(ratio).scale(sample.tau[i].abs()) + Interval::constant(abs_nm);
            error = error + bound * duration;
        };
        for (k, pair) in self.samples.windows(2).enumerate() {
            match self.clock {
                Clock::Control | Clock::Stamped => add(&pair[0], self.step(k)),
                Clock::Recorded => pair.iter().for_each(|sample| add(sample, self.step(k).scale(0.5))),
            }
        }
        let known = Interval::constant(1.0) - Interval::constant(ratio);
        // What no sensor sees acts all the time.
        let unseen = Interval::constant(self.robot.drive(i).unmodelled_nm) * self.duration();
        (sum, (error / known + unseen).upper())
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

    /// Y_f on everything that the state at tick k may be.
    fn rate_at<'e>(&self, evaluator: &'e mut Evaluator<Interval>, k: usize) -> &'e [Interval] {
        let n = self.robot.dof();
        evaluator.q.clear();
        evaluator.q.extend((0..n).map(|j| self.position_at(j, k)));
        evaluator.dq.clear();
        evaluator.dq.extend((0..n).map(|j| self.velocity_at(j, k)));
        evaluator.rate(self.robot)
    }

    /// int Y_f between two ticks for the row `i`, into `y`: the trapezoids of the rates, widened by what the motion at constant
    /// velocity adds.
    pub(super) fn rate(&self, span: &Range<usize>, i: usize, enclosure: &Enclosure, y: &mut Vec<Interval>) {
        let Enclosure { rates, drifts, .. } = enclosure;
        let n = self.robot.dof();
        let (size, row) = (upper_size(n), row_within(n, i));
        y.clear();
        y.resize(INERTIAL * n, Interval::zero());
        let y = &mut y[INERTIAL * i..];
        let own = self.over(span);
        let last = own.panels();
        for (k, rates) in rates[size * span.start..].chunks_exact(size).take(last + 1).enumerate() {
            let terms = y.iter_mut().zip(&rates[row.clone()]);
            match self.clock {
                // In units of the period.
                Clock::Control if k == 0 || k == last => {
                    terms.for_each(|(y, rate)| *y = *y + rate.scale(0.5));
                }
                Clock::Control => terms.for_each(|(y, rate)| *y = *y + *rate),
                Clock::Stamped | Clock::Recorded => {
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
            let (a, b) = (span.start.max(LONG_BLOCK * block), span.end.min(LONG_BLOCK * (block + 1)));
            if a < b {
                let twelfths = self.twelfths(a, b);
                let terms = y.iter_mut().zip(&drifts[row.clone()]);
                terms.for_each(|(y, &largest)| *y = *y + twelfths * Interval::new(-largest, largest));
            }
        }
    }

    /// Fills `evaluator` with the state at tick k and the encoders' errors.
    pub(super) fn place(&self, evaluator: &mut Evaluator<Form>, k: usize) {
        let n = self.robot.dof();
        let (sample, sensors) = (&self.samples[k], self.robot.sensors());
        let form = |x: f64, symbol: usize, error: f64| Form::constant(x) + Form::symbol(symbol, error);
        // Of an interval.
        let of = |x: Interval, symbol: usize| form(x.midpoint(), symbol, x.radius());
        let on_time = self.robot.timing().reading_age_max_s == 0.0;
        let position = |i: usize| {
            if on_time { form(sample.q[i], i, sensors.position_rad) } else { of(self.position_at(i, k), i) }
        };
        let velocity = |i: usize| {
            let symbol = n + i;
            if on_time {
                form(sample.dq[i], symbol, sensors.velocity_rad_s)
            } else {
                of(self.velocity_at(i, k), symbol)
            }
        };
        evaluator.q.clear();
        evaluator.q.extend((0..n).map(position));
        evaluator.dq.clear();
        evaluator.dq.extend((0..n).map(velocity));
        evaluator.sweep(self.robot);
    }

    /// Row `i` of Y_m in the state of [`Integrals::place`] (the middles; 10 n coefficients), and what the encoders may change in y z.
    pub(super) fn momentum(
        &self,
        known: &Known,
        evaluator: &mut Evaluator<Form>,
        i: usize,
        y: &mut Vec<f64>,
    ) -> f64 {
        let row = evaluator.momentum_row(self.robot, i);
        y.clear();
        y.extend(row.iter().map(|y| y.center()));
        known.encoder_error(INERTIAL * i, &row[INERTIAL * i..])
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

    /// Sum of `of` the panels' lengths from tick `a` to tick `b`.
    fn over_panels(&self, a: usize, b: usize, of: impl Fn(Interval) -> Interval) -> Interval {
        match self.clock {
            Clock::Control => of(self.step(a)).scale((b - a) as f64),
            Clock::Stamped | Clock::Recorded => {
                (a..b).fold(Interval::zero(), |sum, k| sum + of(self.step(k)))
            }
        }
    }

    /// Sum of dt^2/4 over the panels from tick `a` to tick `b`: the trapezoid's error for a derivative of radius one.
    pub(super) fn quarters(&self, a: usize, b: usize) -> Interval {
        self.over_panels(a, b, |dt| dt.sqr().scale(0.25))
    }

    /// Sum of dt^3/12 over the panels from tick `a` to tick `b`: the trapezoid's error for a second derivative of one.
    pub(super) fn twelfths(&self, a: usize, b: usize) -> Interval {
        self.over_panels(a, b, |dt| dt.sqr() * dt * (Interval::constant(1.0) / Interval::constant(12.0)))
    }

    /// Bounds on |d/dt (dY_f/dq dq)| over each [`LONG_BLOCK`]: the trapezoid's error by the motion at constant velocity, over dt^3/12
    /// a panel.
    pub(super) fn fill_drifts(&self, evaluator: &mut Evaluator<Twice>, drifts: &mut Vec<f64>) {
        drifts.clear();
        let mut ranges = std::mem::take(&mut evaluator.ranges);
        let still = Interval::zero();
        let bounds: Vec<Interval> = self.acceleration_bound.iter().map(|&a| Interval::new(-a, a)).collect();
        self.blocks(LONG_BLOCK, &mut ranges, |q, dq| {
            let states = || q.iter().zip(dq).zip(&bounds);
            evaluator.q.clear();
            evaluator.q.extend(
                states().map(|((&q, &dq), &ddq)| Dual::new(Dual::new(q, [dq]), [Dual::new(dq, [ddq])])),
            );
            evaluator.dq.clear();
            evaluator.dq.extend(
                states().map(|((_, &dq), &ddq)| Dual::new(Dual::new(dq, [still]), [Dual::new(ddq, [still])])),
            );
            let rates = evaluator.rate(self.robot);
            drifts.extend(upper(self.robot.dof(), rates).map(|rate| rate.slope[0].slope[0].sup_abs()));
        });
        evaluator.ranges = ranges;
    }

    /// dY_f/d(dq_k) over each [`LONG_BLOCK`], k by k: what the accelerations change in Y_f.
    fn fill_slopes(&self, evaluator: &mut Evaluator<Dual<Interval, 1>>, slopes: &mut Vec<[f64; 2]>) {
        let n = self.robot.dof();
        slopes.clear();
        let mut ranges = std::mem::take(&mut evaluator.ranges);
        self.blocks(LONG_BLOCK, &mut ranges, |q, dq| {
            evaluator.q.clear();
            evaluator.q.extend(q.iter().map(|&q| Dual::new(q, [Interval::zero()])));
            evaluator.motion.place(self.robot, &evaluator.q);
            for k in 0..n {
                let along = |i: usize| Interval::constant(f64::from(i == k));
                evaluator.dq.clear();
                evaluator.dq.extend(dq.iter().enumerate().map(|(i, &dq)| Dual::new(dq, [along(i)])));
                let rates = evaluator.rate_there(self.robot);
                slopes.extend(upper(n, rates).map(|y| [y.slope[0].midpoint(), y.slope[0].radius()]));
            }
        });
        evaluator.ranges = ranges;
    }

    /// The trapezoid's error by the accelerations between two ticks, for row `i`.
    pub(super) fn swing(&self, span: &Range<usize>, i: usize, charges: &Charges) -> Interval {
        let mut error = Interval::zero();
        for (block, swings) in charges.swings.chunks_exact(self.robot.dof()).enumerate() {
            let (a, b) = (span.start.max(LONG_BLOCK * block), span.end.min(LONG_BLOCK * (block + 1)));
            if a < b {
                error = error + swings[i] * self.quarters(a, b);
            }
        }
        error
    }

    /// The frames of the bodies for every position over each [`BLOCK`], for [`weight_levers`]; nothing if the direction of gravity is exact.
    fn fill_placed(&self, evaluator: &mut Evaluator<Interval>, placed: &mut Vec<BodyPlacement<Interval>>) {
        placed.clear();
        if self.robot.uncertainty().gravity_direction_deg == 0.0 {
            return;
        }
        let mut frames = vec![BodyPlacement::base(); self.robot.dof()];
        let mut ranges = std::mem::take(&mut evaluator.ranges);
        self.blocks(BLOCK, &mut ranges, |q, _| {
            evaluator.motion.place(self.robot, q);
            placements(self.robot, &evaluator.motion, &mut frames);
            placed.extend_from_slice(&frames);
        });
        evaluator.ranges = ranges;
    }

    /// The integral between two ticks of joint `i`'s lever.
    pub(super) fn lever(&self, span: &Range<usize>, i: usize, charges: &Charges) -> [Interval; 3] {
        let mut sum = [Interval::zero(); 3];
        for (block, levers) in charges.levers.chunks_exact(self.robot.dof()).enumerate() {
            let (a, b) = (span.start.max(BLOCK * block), span.end.min(BLOCK * (block + 1)));
            if a < b {
                let elapsed = self.over(&(a..b)).duration();
                sum = replaced(sum, |k, x| x + levers[i][k] * elapsed);
            }
        }
        sum
    }

    /// What the direction of gravity may change in a row with this lever.
    pub(super) fn tilt(&self, lever: &[Interval; 3]) -> Interval {
        let degrees = self.robot.uncertainty().gravity_direction_deg;
        Interval::constant(tilt_bound(&self.robot.gravity, degrees, lever))
    }
}
