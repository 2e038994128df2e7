//! Velocities of a recording that has positions alone, as difference quotients with a bound on their errors.
//!
//! Let a, c, b be the times of the samples `half` before, at, and `half` behind a sample, h = c - a and k = b - c. With readings of q that are off
//! by at most d, and |ddq| <= A, the quotient (q^_b - q^_a) / (h + k) is off from dq(c) by at most
//!
//! ```text
//! 2 d / (h + k) + A (h^2 + k^2) / (2 (h + k)).
//! ```
//!
//! **Proof.** Taylor's formula with the remainder as an integral gives q(b) = q(c) + k dq(c) + int_c^b (b - t) ddq dt and
//! q(a) = q(c) - h dq(c) + int_a^c (t - a) ddq dt. The two integrals are at most A k^2/2 and A h^2/2. Subtract, divide by h + k, and add the
//! readings' errors. No more than the bounds at a, c and b is used, so the errors of all samples may be anything within them at once, which is
//! all that rows of data take of them.
//!
//! At the ends of a segment there are no samples on one side: those samples are dropped. Rounding is bounded by interval arithmetic.

use super::{LogError, MeasurementLog, Sample, keep};
use crate::enclose::Interval;
use crate::scalar::Scalar;

/// Time over which positions are smoothed for an idea of accelerations, s.
const SMOOTHED_S: f64 = 0.1;

/// How velocities were found, and what bounds their errors.
#[derive(Default, Debug, Clone, Copy, PartialEq)]
pub struct DerivedVelocities {
    /// Samples on each side.
    pub half: usize,
    /// Largest 2 / (h + k), 1/s, upward.
    per_position: f64,
    /// Largest (h^2 + k^2) / (2 (h + k)), s, upward.
    per_acceleration: f64,
    /// Largest velocity found, rad/s (m/s).
    fastest: f64,
    /// Bound on rounding, rad/s (m/s).
    rounding: f64,
}

impl DerivedVelocities {
    /// Bound on the velocities' errors, rad/s (m/s), rounded upward: readings of positions are off by at most `position` rad (m), and no
    /// acceleration is larger than `acceleration`, rad/s^2 (m/s^2). The time between two samples may be off by a share `stamps` of it.
    ///
    /// A quotient over a time T (1 + e) with |e| <= `stamps` in the place of T is off by at most `stamps`/(1 - `stamps`) of itself, and
    /// the true times are no shorter than (1 - `stamps`) and no longer than (1 + `stamps`) times those of the file.
    pub fn error(&self, position: f64, acceleration: f64, stamps: f64) -> f64 {
        let i = Interval::constant;
        let (shorter, longer) = (i(1.0) - i(stamps), i(1.0) + i(stamps));
        let sum = i(self.per_position) * i(position) / shorter
            + i(self.per_acceleration) * i(acceleration) * longer * longer / shorter
            + i(self.fastest) * i(stamps) / shorter
            + i(self.rounding) / shorter;
        sum.upper()
    }
}

/// Samples on each side that make [`DerivedVelocities::error`] about as small as can be: (h + k)/2 = sqrt(2 d / A). At least one.
pub fn best_half(position: f64, acceleration: f64, period_s: f64) -> usize {
    let reach = (2.0 * position / acceleration).sqrt() / period_s;
    if reach.is_finite() { (reach.round() as usize).max(1) } else { 1 }
}

impl MeasurementLog {
    /// The log with velocities from its positions; samples without `half` neighbours on both sides in their segment are dropped.
    pub(super) fn with_derived_velocities(mut self, half: usize) -> Result<Self, LogError> {
        let (mut samples, mut kept, mut segments) = (vec![], vec![], vec![]);
        let mut found =
            DerivedVelocities { half, per_position: 0.0, per_acceleration: 0.0, fastest: 0.0, rounding: 0.0 };
        for segment in &self.segments {
            let (first, own) = (samples.len(), &self.samples[segment.clone()]);
            for c in half..own.len().saturating_sub(half) {
                let dq = found.add(&own[c - half], &own[c], &own[c + half]);
                samples.push(Sample { dq, ..own[c].clone() });
                kept.push(segment.start + c);
            }
            if samples.len() > first {
                segments.push(first..samples.len());
            }
        }
        if samples.len() < 2 {
            return Err(LogError::TooShort { path: self.path, found: samples.len(), expected: 2 * half + 2 });
        }
        self.done.push(format!(
            "no velocities: those of positions over {half} sample(s) on each side; {} sample(s) at the ends of segments dropped",
            self.samples.len() - samples.len()
        ));
        (self.samples, self.segments) = (samples, segments);
        keep(&mut self.missing, &kept);
        keep(&mut self.further, &kept);
        self.derived = Some(found);
        Ok(self)
    }

    /// Largest acceleration of any joint that slopes of positions over 0.05 s show, rad/s^2 (m/s^2): an idea of what to state as a bound, no bound.
    pub fn accelerations_of_positions(&self) -> f64 {
        let half = ((0.5 * SMOOTHED_S / self.period_s).round() as usize).max(1);
        let three = self.segments.iter().flat_map(|s| self.samples[s.clone()].windows(2 * half + 1));
        let largest = |w: &[Sample]| {
            // Slopes of both halves by least squares: noise of single readings hardly moves them.
            let slope = |part: &[Sample], j: usize| {
                let count = part.len() as f64;
                let (t, q) = part.iter().fold((0.0, 0.0), |(t, q), s| (t + s.t / count, q + s.q[j] / count));
                let sums = part.iter().map(|s| ((s.t - t) * (s.q[j] - q), (s.t - t).powi(2)));
                let (up, down) = sums.fold((0.0, 0.0), |(up, down), (a, b)| (up + a, down + b));
                up / down
            };
            let (before, behind) = (&w[..=half], &w[half..]);
            let apart = 0.5 * (w[2 * half].t - w[0].t);
            let each = (0..w[0].q.len()).map(|j| (slope(behind, j) - slope(before, j)) / apart);
            each.fold(0.0, |most: f64, a| most.max(a.abs()))
        };
        three.map(largest).fold(0.0, f64::max)
    }
}

impl DerivedVelocities {
    /// The velocities at sample `c`; grows the bounds so that they hold for it too.
    fn add(&mut self, a: &Sample, c: &Sample, b: &Sample) -> Vec<f64> {
        let at = Interval::constant;
        let (h, k) = (at(c.t) - at(a.t), at(b.t) - at(c.t));
        let span = h + k;
        self.per_position = self.per_position.max((at(2.0) / span).upper());
        self.per_acceleration = self.per_acceleration.max(((h * h + k * k) / (at(2.0) * span)).upper());
        let mut one = |(x, y): (&f64, &f64)| {
            let speed = (y - x) / (b.t - a.t);
            let exact = (at(*y) - at(*x)) / span;
            self.fastest = self.fastest.max(exact.sup_abs());
            self.rounding = self.rounding.max((exact - at(speed)).sup_abs());
            speed
        };
        a.q.iter().zip(&b.q).map(&mut one).collect()
    }
}

#[cfg(test)]
mod tests;
