//! Whether wrong time stamps alone explain what is wrong with a recorded motion.
//!
//! Stamps that are off by e_k change the steps to D_k + e_(k+1) - e_k. For each step the lengths that all joints agree with are an
//! interval around or next to D_k. Which e_k are then possible follows from tick to tick, and the smallest bound on |e_k| by bisection.
//! The answer counts only if the whole comparison passes with the stamps so corrected, so nothing of the search is trusted.

use super::{RecordedMotion, Sums};
use crate::robot::Sensors;

/// Steps are not stretched beyond this many times their length.
const STRETCH: f64 = 4.0;
/// Larger errors of the stamps are not looked for, s.
const FARTHEST: f64 = 1.0;
/// The bound is found up to this share.
const SHARE: f64 = 0.01;
/// Accelerations count as at least this in the roots, rad/s^2.
const TINY: f64 = 1e-9;
/// Shares of the positions' bound that a single step may use: what it uses several steps together lack.
const SHARES: [f64; 3] = [1.0, 0.5, 0.0];

impl RecordedMotion<'_> {
    /// A bound on the errors of the time stamps (s) with which, all other bounds as stated, every comparison passes; none if
    /// none was found.
    pub fn stamps_enough(&self) -> Option<f64> {
        SHARES.iter().find_map(|&share| {
            let (bound, times) = self.corrected(share)?;
            self.holds_at(&times, self.robot.sensors()).then_some(bound)
        })
    }

    /// The smallest bound with which every step alone passes with `share` of the positions' bound, and the stamps so corrected.
    fn corrected(&self, share: f64) -> Option<(f64, Vec<Vec<f64>>)> {
        let mut sensors = self.robot.sensors().clone();
        sensors.position_rad *= share;
        let mut times = self.times();
        let mut most = 0.0_f64;
        for (log, times) in times.iter_mut().enumerate() {
            for segment in &self.logs[log].segments {
                let shifts = self.shifts(&sensors, log, segment.clone(), &times[segment.clone()])?;
                let (bound, errors) = smallest(&shifts)?;
                most = most.max(bound);
                times[segment.clone()].iter_mut().zip(&errors).for_each(|(t, e)| *t += e);
            }
        }
        Some((most, times))
    }

    /// For each step how much longer or shorter it may be for every joint.
    fn shifts(
        &self,
        sensors: &Sensors,
        log: usize,
        segment: std::ops::Range<usize>,
        times: &[f64],
    ) -> Option<Vec<[f64; 2]>> {
        let sums =
            Sums::of(&self.logs[log].samples[segment.clone()], times, self.robot.timing().reading_age_max_s);
        let one = |k: usize| {
            let step = times[k + 1] - times[k];
            let (mut least, mut forbidden) = (0.0_f64, vec![]);
            for j in 0..self.robot.dof() {
                let reading = sums.reading(log, segment.start, k..k + 1, j);
                let (a, b) = (&sums.samples[k], &sums.samples[k + 1]);
                let acceleration = self.acceleration[j].max(TINY);
                least = least.max((reading.gained - 2.0 * sensors.velocity_rad_s) / acceleration);
                let mean = 0.5 * (a.dq[j] + b.dq[j]);
                for sign in [1.0, -1.0] {
                    let moved = sign * (b.q[j] - a.q[j]);
                    forbidden.extend(between_roots(sensors, acceleration, sign * mean, moved));
                }
            }
            nearest(step, least, &forbidden).map(|[low, high]| [low - step, high - step])
        };
        (0..segment.len() - 1).map(one).collect()
    }
}

/// The lengths of a step for which a joint with mean velocity `mean` cannot have moved by `moved`: those where
/// A D^2/4 + (delta_dq + mean) D + 2 delta_q - moved < 0.
fn between_roots(sensors: &Sensors, acceleration: f64, mean: f64, moved: f64) -> Option<[f64; 2]> {
    let (a, b) = (0.25 * acceleration, sensors.velocity_rad_s + mean);
    let root = (b * b - 4.0 * a * (2.0 * sensors.position_rad - moved)).sqrt();
    // NaN: no roots. In the form that does not cancel.
    (root > 0.0).then(|| {
        let far = -0.5 * (b + root.copysign(b));
        let (x, y) = (far / a, (2.0 * sensors.position_rad - moved) / far);
        [x.min(y), x.max(y)]
    })
}

/// The interval of lengths of at least `least`, outside of all `forbidden` ones, that holds `step` or is nearest to it.
fn nearest(step: f64, least: f64, forbidden: &[[f64; 2]]) -> Option<[f64; 2]> {
    let least = least.max(1e-3 * step);
    let inside = |x: f64| forbidden.iter().filter(move |f| f[0] < x && x < f[1]);
    // Away from the middle of forbidden intervals until nothing forbids any more.
    let (mut up, mut down) = (step.max(least), step);
    while let Some(next) = inside(up).map(|f| f[1]).reduce(f64::max) {
        up = next;
    }
    while let Some(next) = inside(down).map(|f| f[0]).reduce(f64::min) {
        down = next;
    }
    let start = if down >= least && step - down <= up - step { down } else { up };
    let high = forbidden.iter().map(|f| f[0]).filter(|x| *x >= start).fold(STRETCH * step, f64::min);
    let low = forbidden.iter().map(|f| f[1]).filter(|x| *x <= start).fold(least, f64::max);
    (low <= start && start <= high).then_some([low, high])
}

/// The smallest bound on errors e_0, e_1, .. with e_(k+1) - e_k in `shifts[k]`, up to [`SHARE`], and such errors.
fn smallest(shifts: &[[f64; 2]]) -> Option<(f64, Vec<f64>)> {
    if let Some(errors) = within(shifts, 0.0) {
        return Some((0.0, errors));
    }
    let (mut low, mut high) = (0.0, 1e-6);
    let mut found = loop {
        match within(shifts, high) {
            Some(errors) => break errors,
            None if high > FARTHEST => return None,
            None => (low, high) = (high, 2.0 * high),
        }
    };
    while high - low > SHARE * high {
        let middle = 0.5 * (low + high);
        match within(shifts, middle) {
            Some(errors) => (found, high) = (errors, middle),
            None => low = middle,
        }
    }
    Some((high, found))
}

/// Errors within +- `bound`, if there are any.
fn within(shifts: &[[f64; 2]], bound: f64) -> Option<Vec<f64>> {
    let mut possible = vec![[-bound, bound]];
    for (k, [low, high]) in shifts.iter().enumerate() {
        let next = [(possible[k][0] + low).max(-bound), (possible[k][1] + high).min(bound)];
        if !(next[0] <= next[1]) {
            return None;
        }
        possible.push(next);
    }
    let mut errors = vec![0.0; possible.len()];
    let last = shifts.len();
    errors[last] = 0.0_f64.clamp(possible[last][0], possible[last][1]);
    for k in (0..last).rev() {
        let [low, high] = shifts[k];
        let (from, to) =
            ((errors[k + 1] - high).max(possible[k][0]), (errors[k + 1] - low).min(possible[k][1]));
        // Rounding may cross the two.
        errors[k] = 0.0_f64.max(from).min(to.max(from));
    }
    Some(errors)
}
