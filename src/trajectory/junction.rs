//! Pieces over a time interval, and what their roundings at the junctions amount to.
//!
//! # Assumed
//! Nothing of the pieces: [`Pieces::check`] refuses those to which the following does not apply.
//!
//! # Proven
//! The proof of the law needs a desired motion that is continuous up to its acceleration. Control points are floats, so the pieces as stored
//! may jump at a junction by roundings. The *desired motion* is therefore the stored pieces plus corrections: piece k carries the quintic
//! c_k that takes up the jump of position, velocity and acceleration at its start and comes to rest at zero at its end. The sum is
//! continuous up to its acceleration, exactly; it starts and ends exactly as the stored pieces do.
//!
//! With jumps of at most a, b, c (rad, s) and the piece's duration T, the control points of c_k are at most m = a + 2Tb/5 + T^2 c/20, those
//! of its derivatives 5m/T, 60m/T^2 and 420m/T^3: its control points are (d_0, d_1, d_2, 0, 0, 0) with |d_i| <= m, first differences
//! that are at most m (d_1 - d_0 = Tb/5, d_2 - d_1 = Tb/5 + T^2 c/20, d_3 - d_2 = -d_2), second ones at most 3m and third ones at most 7m.
//! Enclosures are widened by these bounds, so they hold the desired motion. The controller evaluates the stored pieces: it is off by
//! c_k, besides the rounding of [`super::enclosure`]. Pieces are refused unless the bounds are below `JOIN` = 2^-41 of the largest coefficient
//! plus one, which is half of what the joint tube allows for roundings ([`crate::reach::cell`]); of the other half they take 2^-45.
//!
//! *Rounding of the evaluation.* [`super::enclosure`] argues for pieces that come to rest, where first differences are sums of second ones.
//! Here they may be larger: each second difference is off by u times two first differences, 8u |velocity| / T in the acceleration. So 4
//! |velocity| / T is added to the size of the acceleration that its roundings are relative to. Normalised time is a quotient of two
//! differences of floats, off by 3u of itself instead of u; the allowance of 256u has room for that.
//!
//! *Across a junction.* A line over the whole interval, and the hull of every part's distance to it: on a part the line is linear in
//! that part's own normalised time, so the argument of [`super::enclosure`] applies to each.

use crate::enclose::{Affine, Interval, Rounding};
use crate::scalar::Scalar;

use super::bezier::{POINTS, TrajectoryError};
use super::enclosure::{DesiredMotion, NearLine, derivative, largest, restricted};
use super::pieces::{Pieces, TimedPiece};

/// 2^-41: what corrections at a junction may be, relative to the largest coefficient plus one.
const JOIN: f64 = 1.0 / (1_u64 << 41) as f64;
/// 2^-45, what rounding makes of an evaluated curve relative to its size; as in [`super::enclosure`].
const EVALUATION: f64 = 128.0 * f64::EPSILON;
/// Names of the derivatives, for messages.
const ORDERS: [&str; 3] = ["position", "velocity", "acceleration"];

/// Coefficients of one joint on one piece, and of its derivatives by time.
#[derive(Clone, Copy)]
struct Coefficients {
    duration: Interval,
    position: [Interval; POINTS],
    velocity: [Interval; 5],
    acceleration: [Interval; 4],
    jerk: [Interval; 3],
}

impl Coefficients {
    fn new(part: &TimedPiece<'_>, joint: usize) -> Self {
        let duration = Interval::constant(part.end_s) - Interval::constant(part.start_s);
        let position: [Interval; POINTS] = part.piece.points[joint].map(Interval::constant);
        let velocity: [Interval; 5] = derivative(&position, duration);
        let acceleration: [Interval; 4] = derivative(&velocity, duration);
        let jerk: [Interval; 3] = derivative(&acceleration, duration);
        Self { duration, position, velocity, acceleration, jerk }
    }

    /// Upper bounds of position, velocity and acceleration, and of what is met while they are evaluated.
    fn sizes(&self) -> [f64; 3] {
        let speed = largest(&self.velocity);
        let met = Interval::constant(4.0) * Interval::constant(speed) / self.duration;
        let acceleration = Interval::constant(largest(&self.acceleration)) + met;
        [largest(&self.position), speed, acceleration.upper()]
    }

    /// Upper bounds of the jumps from the end of `before` to the start of this.
    fn jumps(&self, before: &Self) -> [f64; 3] {
        [
            (before.position[POINTS - 1] - self.position[0]).sup_abs(),
            (before.velocity[4] - self.velocity[0]).sup_abs(),
            (before.acceleration[3] - self.acceleration[0]).sup_abs(),
        ]
    }

    /// Upper bounds of the correction on this piece after `before`, and of its three derivatives.
    fn correction(&self, before: &Self) -> [f64; 4] {
        let [a, b, c] = self.jumps(before).map(Interval::constant);
        let (t, number) = (self.duration, Interval::constant);
        let m = a + number(2.0) * t * b / number(5.0) + t * t * c / number(20.0);
        let speed = number(5.0) * m / t;
        let acceleration = number(12.0) * speed / t;
        [m, speed, acceleration, number(7.0) * acceleration / t].map(Interval::upper)
    }
}

/// Part of a time interval that lies on one piece: the piece's coefficients, the part's ends in the piece's normalised time, and in that of
/// the whole interval, from 0 to 1.
struct Part {
    on: Coefficients,
    own: [Interval; 2],
    whole: [Interval; 2],
    /// Bounds of the correction.
    correction: [f64; 4],
}

impl Pieces<'_> {
    /// Refuses a joint whose corrections are no mere roundings.
    pub(super) fn joins(self, joint: usize) -> Result<(), TrajectoryError> {
        let sizes = self.magnitudes(joint);
        let mut before: Option<Coefficients> = None;
        for (number, part) in self.timed().enumerate() {
            let on = Coefficients::new(&part, joint);
            if let Some(before) = &before {
                // NaN is no bound either.
                let above = |x: &[f64]| (0..ORDERS.len()).find(|&k| !(x[k] <= JOIN * (1.0 + sizes[k])));
                if let Some(order) = above(&on.correction(before)) {
                    let jump = on.jumps(before);
                    // What jumps by itself says more than what the correction of it comes to.
                    let what = ORDERS[above(&jump).unwrap_or(order)];
                    return Err(TrajectoryError::Junction { joint, piece: number + 1, what, jump });
                }
            }
            before = Some(on);
        }
        Ok(())
    }

    /// Upper bounds of the coefficients of `joint`'s position, velocity and acceleration (rad, s): nothing that the motion takes, or that is
    /// met while it is evaluated, is larger, but for corrections.
    pub fn magnitudes(self, joint: usize) -> [f64; 3] {
        if let Some(single) = self.single() {
            return single.magnitudes(joint);
        }
        self.timed().map(|part| Coefficients::new(&part, joint).sizes()).fold([0.0; 3], |most, sizes| {
            let larger = |k: usize| if sizes[k] <= most[k] { most[k] } else { sizes[k] };
            std::array::from_fn(larger)
        })
    }

    /// Encloses the rest at the end, for all times after it.
    pub fn enclose_rest<const N: usize, R: Rounding>(self, joint: usize) -> DesiredMotion<N, R> {
        let zero = Affine::constant(0.0);
        DesiredMotion { q: Affine::constant(self.end_of(joint)), dq: zero, ddq: zero, dddq: zero }
    }

    /// Encloses the motion of `joint` for all t in [t0, t1] (s, within \[0, duration\]); normalised time is symbol `time_symbol`. Pieces are
    /// expected to join ([`Pieces::check`]).
    pub fn enclose<const N: usize, R: Rounding>(
        self,
        joint: usize,
        t0: f64,
        t1: f64,
        time_symbol: usize,
    ) -> DesiredMotion<N, R> {
        if let Some(single) = self.single() {
            return single.enclose(joint, t0, t1, time_symbol);
        }
        let [q, dq, ddq, dddq] = self.near_lines(joint, t0, t1).map(|line| match line {
            Some(line) => line.form(time_symbol),
            None => Affine::whole(),
        });
        DesiredMotion { q, dq, ddq, dddq }
    }

    /// The joint's position and its derivatives, each near a line over [t0, t1].
    fn near_lines(self, joint: usize, t0: f64, t1: f64) -> [Option<NearLine>; 4] {
        let parts = || self.parts(joint, t0, t1);
        [
            across(parts, 0, |on| on.position),
            across(parts, 1, |on| on.velocity),
            across(parts, 2, |on| on.acceleration),
            across(parts, 3, |on| on.jerk),
        ]
    }

    /// The parts of [t0, t1], in order; of a single moment the piece that begins there or holds it.
    fn parts(self, joint: usize, t0: f64, t1: f64) -> impl Iterator<Item = Part> {
        let last = self.count() - 1;
        let since = |t: f64, from: f64| Interval::constant(t) - Interval::constant(from);
        let mut before: Option<Coefficients> = None;
        self.timed().enumerate().filter_map(move |(k, part)| {
            let TimedPiece { start_s, end_s, .. } = part;
            let on = Coefficients::new(&part, joint);
            let correction = before.map_or([0.0; 4], |before| on.correction(&before));
            before = Some(on);
            let begun = start_s < t1 || start_s <= t0;
            let over = end_s <= t0 && k < last;
            if !begun || over {
                return None;
            }
            let (a, b) = (t0.max(start_s), if k == last { t1 } else { t1.min(end_s) });
            let own = [since(a, start_s) / on.duration, since(b, start_s) / on.duration];
            // Of a single moment any place on the line is right.
            let share = |t: f64| if t == t0 { Interval::constant(0.0) } else { since(t, t0) / since(t1, t0) };
            let whole = [share(a), if b == t1 { Interval::constant(1.0) } else { share(b) }];
            Some(Part { on, own, whole, correction })
        })
    }
}

/// The derivative of one order, by its coefficients on each part, near a line in time over all parts of an interval; `None` without parts.
fn across<const C: usize, I: Iterator<Item = Part>>(
    parts: impl Fn() -> I,
    order: usize,
    coefficients: impl Fn(&Coefficients) -> [Interval; C],
) -> Option<NearLine> {
    let restricted = |part: &Part| restricted(&coefficients(&part.on), part.own[0], part.own[1]);
    let (first, last) = (parts().next()?, parts().last()?);
    let (first, last) = (restricted(&first)[0].midpoint(), restricted(&last)[C - 1].midpoint());
    let (center, slope) = (0.5 * first + 0.5 * last, 0.5 * last - 0.5 * first);
    // The line takes center - slope at the start and center + slope at the end of the whole interval.
    let start = Interval::constant(center) - Interval::constant(slope);
    let line = |share: Interval| start + Interval::constant(2.0 * slope) * share;
    let mut deviation = Interval::constant(0.0);
    let mut widened: f64 = 0.0;
    for part in parts() {
        let step = (part.whole[1] - part.whole[0]) / Interval::constant((C - 1) as f64);
        for (i, coefficient) in restricted(&part).iter().enumerate() {
            let share = part.whole[0] + step * Interval::constant(i as f64);
            deviation = deviation.hull(*coefficient - line(share));
        }
        let size = part.on.sizes().get(order).copied().unwrap_or(0.0);
        let rounding = Interval::constant(EVALUATION) * Interval::constant(size);
        let amount = (rounding + Interval::constant(part.correction[order])).upper();
        // NaN would be no bound.
        widened = if amount <= widened { widened } else { amount };
    }
    Some(NearLine { center, slope, deviation, widened })
}
