//! What readings tell of the state at their tick, and between two ticks: they err, and may be of an age before.

use super::Integrals;
use crate::enclose::Interval;
use crate::scalar::Scalar;

impl Integrals<'_> {
    /// Range of dq_i from tick `a` to tick `b`.
    pub(super) fn velocity(&self, i: usize, a: usize, b: usize) -> Interval {
        let between = self.longest(a, b).scale(0.5 * self.acceleration_bound[i]).upper();
        hull(a, b, |k| self.velocity_at(i, k)) + Interval::new(-between, between)
    }

    /// Range of q_i from tick `a` to tick `b`, when its velocity stays in `dq`.
    pub(super) fn position(&self, i: usize, a: usize, b: usize, dq: Interval) -> Interval {
        let between = self.longest(a, b).scale(0.5 * dq.sup_abs()).upper();
        hull(a, b, |k| self.position_at(i, k)) + Interval::new(-between, between)
    }

    /// What q_i is at tick k, by a reading that may be of an age before; see [`crate::identify::window`].
    pub(super) fn position_at(&self, i: usize, k: usize) -> Interval {
        let (sample, known) = (&self.samples[k], self.robot.sensors().position_rad);
        let read = Interval::around(sample.q[i], known);
        let age = self.robot.timing().reading_age_max_s;
        if age == 0.0 {
            return read;
        }
        let since = Interval::new(0.0, age);
        let rate = Interval::around(sample.dq[i], self.robot.sensors().velocity_rad_s);
        read + since * (rate + since.scale(0.5) * self.accelerations(i))
    }

    /// The same of dq_i.
    pub(super) fn velocity_at(&self, i: usize, k: usize) -> Interval {
        let read = Interval::around(self.samples[k].dq[i], self.robot.sensors().velocity_rad_s);
        let age = self.robot.timing().reading_age_max_s;
        if age == 0.0 { read } else { read + Interval::constant(age) * self.accelerations(i) }
    }

    /// What ddq_i may be.
    fn accelerations(&self, i: usize) -> Interval {
        let most = self.acceleration_bound[i];
        Interval::new(-most, most)
    }
}

/// The hull of `of` the ticks from `a` to `b`.
fn hull(a: usize, b: usize, of: impl Fn(usize) -> Interval) -> Interval {
    (a + 1..=b).fold(of(a), |hull, k| hull.hull(of(k)))
}
