//! A Bézier curve over a whole time interval: linear in normalised time, plus a proven remainder.
//!
//! # Proven
//! The curve, as defined by the `f64` control points and duration, restricted to [t0, t1] is again a Bernstein
//! polynomial; its coefficients are blossoms, evaluated here in outward-rounded interval arithmetic. With L the line
//! through the first and the last coefficient, the coefficients of the difference to L are c_i - L_i, and a
//! Bernstein polynomial lies in the hull of its coefficients. That hull is the remainder. It is of second order in
//! t1 - t0.
//!
//! The controller evaluates the same curve in plain `f64`. [`Bezier::evaluate`] forms t / T, differences and at most
//! five convex combinations, each operation off by u times the largest coefficient; 256 u max|coefficient| covers all
//! of them together and the effect of a rounded t / T, and is added to every remainder. Second differences are taken of
//! rounded first ones, so their error is relative to those; for a curve that comes to rest (b3 = b4 = b5, which the
//! certifier demands) these are sums of at most three second differences each, hence the same bound.

use crate::enclose::{Affine, Interval, Rounding};
use crate::scalar::Scalar;

use super::bezier::{Bezier, POINTS};

/// Position, velocity, acceleration and jerk of one joint's desired motion over a time interval (rad, s).
#[derive(Debug, Clone, Copy)]
pub struct DesiredMotion<const N: usize, R: Rounding> {
    /// Position.
    pub q: Affine<N, R>,
    /// Velocity.
    pub dq: Affine<N, R>,
    /// Acceleration.
    pub ddq: Affine<N, R>,
    /// Jerk.
    pub dddq: Affine<N, R>,
}

impl Bezier {
    /// Encloses the motion of `joint` for all t in [t0, t1] (s, within [0, duration]); normalised time is symbol
    /// `time_symbol`.
    pub fn enclose<const N: usize, R: Rounding>(
        &self,
        joint: usize,
        t0: f64,
        t1: f64,
        time_symbol: usize,
    ) -> DesiredMotion<N, R> {
        let [q, dq, ddq, dddq] = self.near_lines(joint, t0, t1).map(|line| line.form(time_symbol));
        DesiredMotion { q, dq, ddq, dddq }
    }

    /// The joint's position and its derivatives, each near a line over [t0, t1].
    fn near_lines(&self, joint: usize, t0: f64, t1: f64) -> [NearLine; 4] {
        let duration = Interval::constant(self.duration_s);
        let s0 = Interval::constant(t0) / duration;
        let s1 = Interval::constant(t1) / duration;
        let position: [Interval; POINTS] = self.points[joint].map(Interval::constant);
        let velocity: [Interval; 5] = derivative(&position, duration);
        let acceleration: [Interval; 4] = derivative(&velocity, duration);
        let jerk: [Interval; 3] = derivative(&acceleration, duration);
        [
            near_line(&position, s0, s1),
            near_line(&velocity, s0, s1),
            near_line(&acceleration, s0, s1),
            near_line(&jerk, s0, s1),
        ]
    }

    /// Upper bounds of the coefficients of `joint`'s position, velocity and acceleration (rad, s): nothing that the
    /// curve takes, or that is met while it is evaluated, is larger.
    pub fn magnitudes(&self, joint: usize) -> [f64; 3] {
        let duration = Interval::constant(self.duration_s);
        let position: [Interval; POINTS] = self.points[joint].map(Interval::constant);
        let velocity: [Interval; 5] = derivative(&position, duration);
        let acceleration: [Interval; 4] = derivative(&velocity, duration);
        [largest(&position), largest(&velocity), largest(&acceleration)]
    }

    /// Encloses the rest at the end of the curve, for all times after it.
    pub fn enclose_rest<const N: usize, R: Rounding>(&self, joint: usize) -> DesiredMotion<N, R> {
        let zero = Affine::constant(0.0);
        DesiredMotion { q: Affine::constant(self.points[joint][POINTS - 1]), dq: zero, ddq: zero, dddq: zero }
    }
}

/// Coefficients of the time derivative: degree / T times the differences.
pub(super) fn derivative<const C: usize, const D: usize>(
    c: &[Interval; C],
    duration: Interval,
) -> [Interval; D] {
    let rate = Interval::constant(D as f64) / duration;
    std::array::from_fn(|i| (c[i + 1] - c[i]) * rate)
}

/// Bernstein coefficients over [s0, s1]: the j-th is the blossom at s1 (j times) and s0 (the others).
pub(super) fn restricted<const C: usize>(c: &[Interval; C], s0: Interval, s1: Interval) -> [Interval; C] {
    let one = Interval::constant(1.0);
    std::array::from_fn(|j| {
        let mut b = *c;
        for last in (1..C).rev() {
            let s = if last <= j { s1 } else { s0 };
            for i in 0..last {
                b[i] = b[i] * (one - s) + b[i + 1] * s;
            }
        }
        b[0]
    })
}

pub(super) fn largest(c: &[Interval]) -> f64 {
    c.iter().fold(0.0, |m, x| m.max(x.sup_abs()))
}

/// A function of time that is near a line: within `deviation` of `center + slope e`, and by `widened` more, with e from -1 at the start
/// of an interval to 1 at its end. No form yet, so that it is compiled once for all numbers of symbols.
pub(super) struct NearLine {
    pub center: f64,
    pub slope: f64,
    pub deviation: Interval,
    pub widened: f64,
}

impl NearLine {
    /// The form, with e as the symbol `time_symbol`.
    pub fn form<const N: usize, R: Rounding>(&self, time_symbol: usize) -> Affine<N, R> {
        let line = Affine::constant(self.center) + Affine::symbol(time_symbol, self.slope);
        (line + Affine::from_interval(self.deviation)).widen(self.widened)
    }
}

fn near_line<const C: usize>(c: &[Interval; C], s0: Interval, s1: Interval) -> NearLine {
    let b = restricted(c, s0, s1);
    let (first, last) = (b[0].midpoint(), b[C - 1].midpoint());
    let (center, slope) = (0.5 * first + 0.5 * last, 0.5 * last - 0.5 * first);
    // The line takes center - slope at the start and center + slope at the end of the interval.
    let start = Interval::constant(center) - Interval::constant(slope);
    let step = Interval::constant(2.0 * slope) / Interval::constant((C - 1) as f64);
    let mut deviation = b[0] - start;
    for (i, coefficient) in b.iter().enumerate() {
        deviation = deviation.hull(*coefficient - (start + step * Interval::constant(i as f64)));
    }
    NearLine { center, slope, deviation, widened: 128.0 * f64::EPSILON * largest(c) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enclose::Counted;
    use crate::trajectory::JointState;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_curve_never_leaves_its_enclosure(
            q in -3.0..3.0f64, dq in -1.0..1.0f64, ddq in -2.0..2.0f64, end in -3.0..3.0f64,
            t0 in 0.0..2.9f64, width in 1e-6..0.5f64, inside in 0.0..1.0f64,
        ) {
            let start = JointState { q: vec![q], dq: vec![dq], ddq: vec![ddq] };
            let curve = Bezier::to_rest(&start, &[end], 3.0).unwrap();
            let t1 = (t0 + width).min(3.0);
            let motion = curve.enclose::<4, Counted>(0, t0, t1, 1);
            let t = (t0 + inside * (t1 - t0)).clamp(t0, t1);
            let state = curve.state(t);
            // The time symbol at t, itself rounded: leave its own rounding as slack.
            let sigma = ((2.0 * t - t0 - t1) / (t1 - t0)).clamp(-1.0, 1.0);
            for (form, value) in [(motion.q, state.q[0]), (motion.dq, state.dq[0]), (motion.ddq, state.ddq[0])] {
                let line = form.center() + form.generators()[1] * sigma;
                prop_assert!((value - line).abs() <= form.remainder() + 1e-9 * form.generators()[1].abs());
                prop_assert!(form.lower() <= value && value <= form.upper());
            }
            // Second order: a line with a remainder much smaller than the step.
            prop_assert!(motion.q.remainder() <= 5.0 * width * width + 1e-12);
        }
    }
}
