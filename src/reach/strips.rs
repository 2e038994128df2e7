//! What a correlated set says of the torques: the law and the certifier lean on the strips of [`TorqueStrips`].
//!
//! # Assumed
//! theta in the set: in the box theta_0 +- g, and lower <= d . theta <= upper for every strip.
//!
//! # Proven
//! Each strip becomes a *shift* m and a *half-width* h, floats with |d'(theta - theta_0) - m| <= h: d . theta_0 is enclosed by interval
//! arithmetic, m is any float (near the middle), h is rounded up. Only the columns of the links and of the joint's own viscous friction,
//! transmission inertia and offset are compared with a torque row; what d holds elsewhere is charged to h, |d_p| g_p.
//!
//! For a row y of joint j and weights a, b >= 0 of two strips, let d = a d_1 + b d_2, m = a m_1 + b m_2, h = a h_1 + b h_2. Then
//! |y'(theta - theta_0) - m| <= |d'(theta - theta_0) - m| + |(y - d)'(theta - theta_0)| <= h + sum_p |y_p - d_p| g_p
//! for any y, whatever strips and weights are taken: bad ones cost tightness only. By the box alone the left side is at most
//! sum |y_p| g_p + |m|. The law commands the torque m besides its nominal one and takes the smaller of the two bounds for
//! rho. Its weights are the hat functions of time between the strips' times; the certifier takes them as linear in its symbol of time,
//! on each stretch between two strips that a tick of the cell may fall into.

use crate::enclose::{Affine, Interval, Rounding};
use crate::inertia::{ARMATURE, INERTIAL, OFFSET, ParameterSet, TorqueStrips, VISCOUS};
use crate::robot::Arm;
use crate::scalar::Scalar;

use super::cell::{Span, TIME, end_of_ticks};
use super::tube::Tube;
use super::upward::{add_up, mul_up};

/// Columns of a joint's own that strips are compared in.
pub const OWN: [usize; 3] = [VISCOUS, ARMATURE, OFFSET];

/// The strips of a set, prepared for one robot.
#[derive(Debug, Clone)]
pub struct PreparedStrips {
    /// Times of the strips, s from the plan's start.
    pub times: Vec<f64>,
    joints: usize,
    strips: Vec<PreparedStrip>,
    /// For each joint the largest absolute values of its strips.
    largest: Vec<PreparedStrip>,
}

/// One strip.
#[derive(Debug, Clone)]
pub struct PreparedStrip {
    /// Columns of the links' parameters.
    pub links: Vec<f64>,
    /// Columns of [`OWN`].
    pub own: [f64; 3],
    /// m, N m.
    pub shift: f64,
    /// h, N m.
    pub half: f64,
}

impl PreparedStrip {
    /// The larger absolute value of each number.
    fn larger(mut self, other: &Self) -> Self {
        let all = self.links.iter_mut().chain(&mut self.own).chain([&mut self.shift, &mut self.half]);
        let others = other.links.iter().chain(&other.own).chain([&other.shift, &other.half]);
        all.zip(others).for_each(|(x, y)| *x = x.abs().max(y.abs()));
        self
    }
}

/// Two strips of each joint (indices of their times), and the share of the second one, in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between<T> {
    /// First time.
    pub first: usize,
    /// Second time.
    pub second: usize,
    /// Share of the second.
    pub share: T,
    /// Share of the first.
    pub rest: T,
}

impl<T: Scalar> Between<T> {
    /// The strips of these indices, the second one's share, and what is left to the first.
    pub fn new(first: usize, second: usize, share: T) -> Self {
        Self { first, second, share, rest: T::constant(1.0) - share }
    }
}

impl PreparedStrips {
    /// For [`super::PreparedSet`]: prepares the strips of `set` for `center` +- `radius`, which contains the box; `None` if there are none or if they are not
    /// for this robot.
    pub(super) fn new(robot: &Arm, set: &ParameterSet, center: &[f64], radius: &[f64]) -> Option<Self> {
        let TorqueStrips { times, strips } = set.strips()?;
        let joints = robot.dof();
        let sized = strips.iter().all(|s| s.direction.len() == set.len());
        if !(sized && strips.len() == joints * times.len() && !times.is_empty()) {
            return None;
        }
        let prepare = |(k, strip): (usize, &crate::inertia::Strip)| {
            let d = &strip.direction;
            let links = d[..INERTIAL * joints].to_vec();
            let at = robot.friction_index(k % joints);
            let own = OWN.map(|column| d[at + column]);
            let middle = d.iter().zip(center).fold(Interval::zero(), |sum, (d, c)| {
                if *d == 0.0 { sum } else { sum + Interval::constant(*d) * Interval::constant(*c) }
            });
            let range = Interval::new(strip.lower, strip.upper) - middle;
            let shift = range.midpoint();
            let compared = |p: usize| p < links.len() || OWN.contains(&p.wrapping_sub(at));
            let others = (0..d.len()).filter(|&p| !compared(p));
            let half = others.fold((range - Interval::constant(shift)).sup_abs(), |half, p| {
                add_up(half, mul_up(d[p].abs(), radius[p]))
            });
            PreparedStrip { links, own, shift, half }
        };
        let strips: Vec<_> = strips.iter().enumerate().map(prepare).collect();
        let of =
            |j: usize| strips.iter().skip(j).step_by(joints).fold(strips[j].clone(), PreparedStrip::larger);
        let largest = (0..joints).map(of).collect();
        Some(Self { times: times.clone(), joints, strips, largest })
    }

    /// The largest absolute values of the strips of joint `j`.
    pub fn largest(&self, j: usize) -> &PreparedStrip {
        &self.largest[j]
    }

    /// The strip of joint `j` at time number `k`.
    pub fn strip(&self, k: usize, j: usize) -> &PreparedStrip {
        &self.strips[self.joints * k + j]
    }

    /// The two strips of joint `j` that are mixed at this place.
    pub fn pair<T>(&self, place: &Between<T>, j: usize) -> [&PreparedStrip; 2] {
        [self.strip(place.first, j), self.strip(place.second, j)]
    }

    /// What the law takes at time `t` of the plan, s: hat functions of time.
    pub fn at(&self, t: f64) -> Between<f64> {
        let times = &self.times;
        let second = times.partition_point(|x| *x <= t).max(1).min(times.len() - 1);
        let first = second.saturating_sub(1);
        let length = times[second] - times[first];
        let share = if length > 0.0 { ((t - times[first]) / length).clamp(0.0, 1.0) } else { 1.0 };
        Between::new(first, second, share)
    }

    /// What [`PreparedStrips::at`] may be at the ticks of a cell over `span` (times of the plan, strips
    /// within it): on one of these stretches, with time as the cell has it.
    pub fn over<const N: usize, R: Rounding>(
        &self,
        tube: &Tube,
        duration_s: f64,
        span: Span,
    ) -> Vec<Between<Affine<N, R>>> {
        let last = self.times.len() - 1;
        let alone = |k: usize| Between::new(k, k, Affine::constant(1.0));
        let Span::Between(t0, t1) = span else { return vec![alone(last)] };
        let mut stretches = Vec::new();
        if t0 < self.times[0] {
            stretches.push(alone(0));
        }
        if t1 > self.times[last] || last == 0 {
            stretches.push(alone(last));
        }
        let end = end_of_ticks(tube, duration_s, t1);
        for first in (0..last).filter(|&k| t0 < self.times[k + 1] && t1 > self.times[k]) {
            let from = Interval::constant(self.times[first]);
            let length = Interval::constant(self.times[first + 1]) - from;
            let [start, end] = [t0, end].map(|t| (Interval::constant(t) - from) / length);
            stretches.push(Between::new(first, first + 1, line(start, end)));
        }
        stretches
    }
}

/// The number that runs evenly from `start` to `end` as the symbol of time runs from -1 to 1.
///
/// For s in `start` and e in `end` it is (s + e)/2 + x (e - s)/2 at the symbol's value x; both halves are enclosed, and what is not
/// known of the second one moves the number by at most its radius, since |x| <= 1.
fn line<const N: usize, R: Rounding>(start: Interval, end: Interval) -> Affine<N, R> {
    let (middle, slope) = ((start + end).scale(0.5), (end - start).scale(0.5));
    let line = Affine::from_interval(middle) + Affine::symbol(TIME, slope.midpoint());
    line.widen(slope.radius())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enclose::Counted;

    /// Where one end is known exactly and the other one is not, all that the line allows is needed at the other; with ends as
    /// intervals of rounding are it would take luck to see that.
    #[test]
    fn a_line_holds_every_way_from_end_to_end_and_little_more() {
        for (start, end) in [
            (Interval::constant(0.25), Interval::new(0.5, 0.75)),
            (Interval::new(-3.0, -1.0), Interval::constant(4.0)),
        ] {
            let line = line::<4, Counted>(start, end);
            let mut used = 0.0_f64;
            for (s, e) in [start.lower(), start.upper()]
                .into_iter()
                .flat_map(|s| [end.lower(), end.upper()].map(|e| (s, e)))
            {
                for x in [-1.0, -0.5, 0.0, 0.5, 1.0] {
                    let truth = 0.5 * (s + e) + 0.5 * x * (e - s);
                    let off = (truth - line.center() - line.generators()[TIME] * x).abs();
                    assert!(off <= line.remainder(), "{s} to {e} at {x}: {off} of {}", line.remainder());
                    used = used.max(off / line.remainder());
                }
            }
            assert!(used > 0.999, "{used}");
        }
    }
}
