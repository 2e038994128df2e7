//! What samples and the time between them add to the rows: coefficients, and upper bounds of what may be wrong with them.

use std::ops::Range;

use super::balance::Frame;
use super::{FrictionAssumptions, held_or_mean};
use crate::dynamics::Motion;
use crate::dynamics::constraint::reduced::domain::enclosed::{Enclosing, Following};
use crate::dynamics::constraint::reduced::{ClosureDomain, DomainError};
use crate::enclose::{Affine, Interval};
use crate::inertia::{COULOMB, ParameterSet};
use crate::reach::upward::{add_up, mul_up};
use crate::recording::Sample;
use crate::scalar::{Dual, Scalar};

/// Errors of six motors' positions and speeds; what does not fit goes to the remainder, which is sound.
const ERRORS: usize = 12;
/// The same, and accelerations.
const MOTION: usize = 18;

/// Storage for what happens between samples.
pub(super) type BlockMotion = Motion<Dual<Affine<MOTION>, 1>>;

/// Coefficients that stand for enclosures, and what that may change in y z for all z of the set.
#[derive(Debug, Clone)]
pub(super) struct Centered {
    /// Row-major, motors x parameters.
    pub middle: Vec<f64>,
    /// One a motor.
    pub charge: Vec<f64>,
}

/// A sample.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub momentum: Centered,
    pub rate: Centered,
    /// Speeds of all joints.
    pub v: Vec<Interval>,
    /// Passive joint, place of the motor, ratio.
    pub ties: Vec<(usize, usize, Interval)>,
}

/// The time between two samples.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    /// Its length, s.
    pub length: Interval,
    /// For each motor, by how much the trapezoid may miss the integral of the rate in y z, N m s.
    pub missed: Vec<f64>,
    /// Motor, parameter, coefficient: integrals of Coulomb friction's direction.
    pub coulomb: Vec<(usize, usize, Interval)>,
    /// For each motor the integral of its measured torque, N m s.
    pub torque: Vec<Interval>,
}

/// Makes pieces of one limb for one set of parameters.
pub(super) struct Maker<'a> {
    pub frame: &'a Frame,
    pub domain: &'a ClosureDomain,
    pub bounds: &'a FrictionAssumptions,
    /// Bounds of the motors' accelerations, rad/s^2.
    pub acceleration: Vec<f64>,
    /// About the middle of the set, and its half-widths about that.
    pub center: Vec<f64>,
    pub radius: Vec<f64>,
}

/// Why a piece cannot be made.
pub(super) enum Fault {
    /// The closure.
    Domain(DomainError),
    /// The closure is proven, but how it follows the motors is not known well enough.
    Loose,
    /// No motion within the bounds connects a sample with the next one: index of the motor's joint.
    Faster(usize),
}

impl<'a> Maker<'a> {
    pub(super) fn new(
        frame: &'a Frame,
        domain: &'a ClosureDomain,
        (bounds, acceleration): (&'a FrictionAssumptions, Vec<f64>),
        set: &ParameterSet,
    ) -> Self {
        Self { frame, domain, bounds, acceleration, center: set.center(), radius: set.radius() }
    }

    /// A vector over all joints from one over the motors.
    fn spread<T: Scalar>(&self, own: impl Fn(usize) -> T) -> Vec<T> {
        let mut all = vec![T::zero(); self.frame.model.bodies()];
        self.frame.motors.iter().enumerate().for_each(|(k, &joint)| all[joint] = own(k));
        all
    }

    /// A sample of the motors: encoder errors are symbols, each linear where it is.
    pub(super) fn point(&self, motion: &mut Motion<Affine<ERRORS>>, sample: &Sample) -> Result<Point, Fault> {
        type Form = Affine<ERRORS>;
        let (m, bounds) = (self.frame.motors.len(), self.bounds);
        let boxes = self.spread(|k| Interval::around(sample.q[k], bounds.position_error));
        let at = self.domain.enclose(&self.frame.model, &boxes).map_err(Fault::Domain)?;
        let q = self.spread(|k| Form::constant(sample.q[k]) + Form::symbol(k, bounds.position_error));
        let v = self.spread(|k| Form::constant(sample.dq[k]) + Form::symbol(m + k, bounds.velocity_error));
        let state = self.domain.follow(&at, q, v).ok_or(Fault::Loose)?;
        let balance = self.frame.balance(motion, &state);
        Ok(Point {
            momentum: self.center_rows(&balance.momentum),
            rate: self.center_rows(&balance.rate),
            v: state.v.iter().map(Form::interval).collect(),
            ties: self.ratios(&state, |ratio| ratio.range()),
        })
    }

    fn ratios<T: Scalar, U>(&self, state: &Following<T>, of: impl Fn(T) -> U) -> Vec<(usize, usize, U)> {
        let own = |tie: &crate::dynamics::constraint::reduced::domain::enclosed::Tie<T>| {
            Some((tie.passive, self.frame.place(tie.motor)?, of(tie.ratio)))
        };
        state.ties.iter().filter_map(own).collect()
    }

    /// |sum_j (Y_j - y_j) z_j| <= |sum_j (Y_j - y_j) c_j| + sum_j |Y_j - y_j| r_j for z_j in c_j +- r_j, with y_j the middle of Y_j.
    pub(super) fn center_rows<T: Enclosing>(&self, rows: &[T]) -> Centered {
        let p = self.frame.parameters();
        let mut centered = Centered { middle: vec![0.0; rows.len()], charge: vec![] };
        for (k, row) in rows.chunks_exact(p).enumerate() {
            let (mut shared, mut apart) = (T::zero(), 0.0);
            for (j, y) in row.iter().enumerate() {
                let range = y.range();
                let middle = range.midpoint();
                centered.middle[k * p + j] = middle;
                let off = *y - T::constant(middle);
                let most = off.range().sup_abs();
                if most > 0.0 {
                    shared = shared + off.scale(self.center[j]);
                    apart = add_up(apart, mul_up(most, self.radius[j]));
                }
            }
            centered.charge.push(add_up(shared.range().sup_abs(), apart));
        }
        centered
    }

    /// Range of motor `k`'s speed and position from sample `a` to the next, by the accelerations' bound.
    pub(super) fn between(&self, k: usize, [a, b]: [&Sample; 2]) -> (Interval, Interval) {
        let half = (Interval::constant(b.t) - Interval::constant(a.t)).scale(0.5);
        let hull = |x: f64, y: f64, error: f64| Interval::around(x, error).hull(Interval::around(y, error));
        let within = |by: Interval| Interval::new(-by.upper(), by.upper());
        let v = hull(a.dq[k], b.dq[k], self.bounds.velocity_error)
            + within(half * Interval::constant(self.acceleration[k]));
        let q =
            hull(a.q[k], b.q[k], self.bounds.position_error) + within(half * Interval::constant(v.sup_abs()));
        (q, v)
    }

    /// The first motor, by its place, that no motion within the stated bounds takes from sample `a` to the next: speeds change by at most a h, and positions by a
    /// speed between the samples times h.
    pub(super) fn unconnected(&self, [a, b]: [&Sample; 2]) -> Option<usize> {
        let h = Interval::constant(b.t) - Interval::constant(a.t);
        let change = |x: f64, y: f64, error: f64| Interval::around(y, error) - Interval::around(x, error);
        let apart = |x: Interval, y: Interval| x.lower() > y.upper() || y.lower() > x.upper();
        (0..self.frame.motors.len()).find(|&k| {
            let within = Interval::new(-self.acceleration[k], self.acceleration[k]);
            let (_, v) = self.between(k, [a, b]);
            apart(change(a.dq[k], b.dq[k], self.bounds.velocity_error), within * h)
                || apart(change(a.q[k], b.q[k], self.bounds.position_error), v * h)
        })
    }

    /// The panels of a block of consecutive samples, with one enclosure of the rate's derivative for all of them.
    pub(super) fn panels(
        &self,
        motion: &mut BlockMotion,
        samples: &[Sample],
        points: &[Point],
    ) -> Result<Vec<Panel>, Fault> {
        type Form = Affine<MOTION>;
        let m = self.frame.motors.len();
        let pairs: Vec<[&Sample; 2]> = samples.windows(2).map(|pair| [&pair[0], &pair[1]]).collect();
        let ranges: Vec<(Interval, Interval)> = (0..m)
            .filter_map(|k| {
                let each = pairs.iter().map(|pair| self.between(k, *pair));
                each.reduce(|(q, v), (more, faster)| (q.hull(more), v.hull(faster)))
            })
            .collect();
        let boxes = self.spread(|k| ranges[k].0);
        let at = self.domain.enclose(&self.frame.model, &boxes).map_err(Fault::Domain)?;
        let form =
            |x: Interval, symbol: usize| Form::constant(x.midpoint()) + Form::symbol(symbol, x.radius());
        let q = self.spread(|k| form(ranges[k].0, k));
        let v = self.spread(|k| form(ranges[k].1, m + k));
        let a = self.spread(|k| Form::symbol(2 * m + k, self.acceleration[k]));
        let state = self.domain.follow_in_time(&at, (q, v, a)).ok_or(Fault::Loose)?;
        let balance = self.frame.balance(motion, &state);
        let slopes: Vec<Form> = balance.rate.iter().map(|y| y.slope[0]).collect();
        let block = Block {
            change: self.center_rows(&slopes).charge,
            acceleration: state.v.iter().map(|v| v.slope[0].interval().sup_abs()).collect(),
            ties: self.ratios(&state, |ratio| (ratio.value.interval(), ratio.slope[0].interval())),
        };
        Ok((0..pairs.len()).map(|i| self.panel(pairs[i], &points[i..i + 2], &block)).collect())
    }

    fn panel(&self, pair: [&Sample; 2], points: &[Point], block: &Block) -> Panel {
        let length = Interval::constant(pair[1].t) - Interval::constant(pair[0].t);
        // h^2 / 4: the weight of a derivative's radius.
        let quarter = length.sqr().scale(0.25).upper();
        let missed = block.change.iter().map(|radius| mul_up(quarter, *radius)).collect();
        let mut coulomb = vec![];
        for (k, &joint) in self.frame.motors.iter().enumerate() {
            let direction = self.direction(self.between(k, pair).1);
            coulomb.push((k, self.frame.model.friction_index(joint) + COULOMB, direction * length));
        }
        for (i, (passive, k, (ratio, change))) in block.ties.iter().enumerate() {
            let speeds = points[0].v[*passive].hull(points[1].v[*passive]);
            let more = (length.scale(0.5) * Interval::constant(block.acceleration[*passive])).upper();
            let direction = self.direction(speeds + Interval::new(-more, more));
            let trapezoid = (points[0].ties[i].2 + points[1].ties[i].2) * length.scale(0.5);
            let missed = mul_up(quarter, change.radius());
            let integral = if direction.lower() == direction.upper() {
                direction * (trapezoid + Interval::new(-missed, missed))
            } else {
                direction * *ratio * length
            };
            coulomb.push((*k, self.frame.model.friction_index(*passive) + COULOMB, integral));
        }
        let torque = |k: usize| held_or_mean(self.bounds.clock, [pair[0].tau[k], pair[1].tau[k]]) * length;
        Panel { length, missed, coulomb, torque: (0..self.frame.motors.len()).map(torque).collect() }
    }

    /// Coulomb friction as a share of F_c, for speeds in `v`.
    pub(super) fn direction(&self, v: Interval) -> Interval {
        let slow = self.frame.model.friction_speed_rad_s;
        if v.lower() > slow {
            Interval::constant(1.0)
        } else if v.upper() < -slow {
            Interval::constant(-1.0)
        } else {
            Interval::new(-self.bounds.breakaway_ratio, self.bounds.breakaway_ratio)
        }
    }
}

/// What holds over a block of panels.
struct Block {
    /// For each motor, how far the derivative of the rate is from a constant, in y z.
    change: Vec<f64>,
    /// Of all joints.
    acceleration: Vec<f64>,
    /// Ratios and their rates.
    ties: Vec<(usize, usize, (Interval, Interval))>,
}

/// Blocks of a segment's panels, by their samples.
pub(super) fn blocks(samples: Range<usize>, panels: usize) -> Vec<Range<usize>> {
    let ends = samples.clone().step_by(panels.max(1));
    ends.map(|from| from..(from + panels.max(1) + 1).min(samples.end))
        .filter(|block| block.len() > 1)
        .collect()
}
