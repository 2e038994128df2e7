//! Drives whose torque follows the command with a first-order lag: what that does to the momentum law's proof.
//!
//! # Assumed
//! Before its other errors a drive applies l with T dl/dt = c - l, c the command in effect and T anywhere from 0 to T_max, another one for each joint and at any
//! time another one. So l is an average of commands that were in effect, and those that are older than x have a share of at most e^(-x / T_max) in it. This
//! is all that is used of it: any filter whose weights are not negative and fade as fast is covered as well. The *delay* of a command ends before its lag begins.
//!
//! # Proven
//! *Memory.* Let W = [`MEMORY`] T_max. What is older than W has a share of at most [`FORGOTTEN`]. As no command exceeds the torque limit, l differs by at most
//! 2 [`FORGOTTEN`] times the limit from an average of commands no older than W, which is charged as a torque. Shares in that average that
//! are older than x are again no more than e^(-x / T_max), so that the average age is at most T_max, and that of e^(lambda age) at most
//! 1 / (1 - lambda T_max) if lambda T_max < 1.
//!
//! *Lemma* (that of [`super`], with lag). Let z' >= -b(t) y(t) from 0 on, 0 <= b <= b_max, y(t) an average of values z(t'), t' in \[s - a, s\], over s <= t with
//! such shares; before 0 let z be not negative and e^(lambda t) z not fall. **If b_max f <= lambda with f = e^(lambda a) / (1 - lambda T_max) for some lambda, then
//! e^(lambda t) z never falls.** Proof: with g = e^(lambda t) z and S(t) the largest g so far, z(t') <= e^(-lambda t') S(t)
//! <= e^(lambda a) e^(lambda (t - s)) e^(-lambda t) S(t), so y(t) <= f e^(-lambda t) S(t), and g' >= lambda g - b f S >= -lambda (S - g): where S - g is above
//! zero S stands still, so S - g grows by no more than lambda (S - g); it was zero, and stays so. For T_max = 0 the best lambda is 1/a and f = e: the
//! lemma without lag. Otherwise the best lambda is 2 / (a + 2 T + sqrt(a^2 + 4 T^2)), T = T_max. It is sharp: beyond it a delay a and a lag T make z swing.
//!
//! The torques v of the law that are in effect are each at least u_j(t) - kappa z(t'), so their average is at least u_j(t) - kappa y(t), and the theorem
//! stands with kappa (1 - F_jj) f <= lambda in place of its last condition. What is fed forward is averaged likewise: each command's was meant for a time t_f, and the
//! mismatch w of the average is the average of the mismatches. Only their part that goes with abs(t - t_f) grows, by the rate of the
//! torque times the average age, T_max. Bounds over a cell hold for W more before its span, and a joint whose friction's sign is relied on keeps it for W more.
//! An average of torques within the limits is within them.
//!
//! *Start from rest.* When the first command acts the arm stands by the torques of its drives, l_0. They hold it, so l_0 is what is fed forward at the
//! start plus a mismatch of the theorem, at most rho_j <= u_j: it acts like a command with v >= -rho_j, or z <= y_0 = (u_j + rho_j) / kappa, for all times before. The
//! share of those times is the oldest part. If y_0 <= f z(0), y(t) <= f e^(-lambda t) S(t) holds as before: the average of e^(lambda x) for ages x up to t and of
//! e^(lambda t) / (1 - lambda T_max) for older ones is largest for the shares e^(-x / T_max), and then 1 / (1 - lambda T_max). That is the case if
//! |p_j(0)| <= P_j - 2 u_j / (kappa f) ([`MomentumTube::radius_from_rest`]). As f >= 2, an arm that stands where its plan starts is always within it.
//!
//! *After another plan* its last commands are remembered for W: `reach::momentum::handover`.

use crate::reach::upward::{add_up, div_up, mul_up};

use super::constants::{CycleTiming, MomentumTube};

/// Commands older than so many of a drive's time constants are forgotten: more of them make cells longer, fewer leave more to be charged.
pub const MEMORY: f64 = 10.0;
/// Upper bound of e^-10.
pub const FORGOTTEN: f64 = 4.54e-5;
/// Terms of the exponential series.
const TERMS: usize = 24;

impl CycleTiming {
    /// `x` and, where drives lag, W; s, rounded up.
    pub(super) fn with_memory(&self, x: f64) -> f64 {
        if self.drive_lag_s > 0.0 { add_up(x, self.memory_s()) } else { x }
    }

    /// W: for how long drives remember commands, s; rounded up.
    pub fn memory_s(&self) -> f64 {
        if self.drive_lag_s > 0.0 { mul_up(MEMORY, self.drive_lag_s) } else { 0.0 }
    }

    /// How far the time at which a command acts may be from the one it is meant for, on average over what a drive remembers, s; rounded up.
    pub fn average_shift_s(&self) -> f64 {
        let shift = self.command_shift_s();
        if self.drive_lag_s > 0.0 { add_up(shift, self.drive_lag_s) } else { shift }
    }

    /// f / lambda: the theorem asks for kappa (1 - F_jj) times this to be at most 1; s, rounded up. Without lag it is e a.
    pub fn patience_s(&self) -> f64 {
        if self.drive_lag_s > 0.0 {
            return div_up(self.surplus(), self.lambda());
        }
        mul_up(self.age_s(), std::f64::consts::E.next_up())
    }

    /// How fast what the lemma is about may have fallen before it begins, 1/s; rounded down.
    pub fn fades_1_s(&self) -> f64 {
        // Without lag lambda is 1 / a, which the lemma has exactly; with lag it is this number.
        if self.drive_lag_s > 0.0 { self.lambda() } else { (1.0 / self.age_s()).next_down() }
    }

    /// f, rounded up.
    pub(super) fn surplus(&self) -> f64 {
        let lambda = self.lambda();
        let left = (1.0 - mul_up(lambda, self.drive_lag_s)).next_down();
        div_up(exponential_up(mul_up(lambda, self.age_s())), left)
    }

    /// lambda: about the best one; any is as true.
    fn lambda(&self) -> f64 {
        let (age, lag) = (self.age_s(), self.drive_lag_s);
        2.0 / (age + 2.0 * lag + age.hypot(2.0 * lag))
    }
}

impl MomentumTube {
    /// Radius of the momentum error in which the arm has to stand where a plan from rest starts, N m s; about: by less than 1e-9 of it.
    pub fn radius_from_rest(&self, j: usize) -> f64 {
        let u = self.robust_at(j, 0.0);
        let radius = u / self.gains.kappa + self.noise_at(j, 0.0);
        if self.timing.drive_lag_s > 0.0 {
            radius - 2.0 * u / (self.gains.kappa * self.timing.surplus())
        } else {
            radius
        }
    }
}

/// Upper bound of e^x for x from 0 to 2: the first terms of the series, the next one twice for all that follow.
fn exponential_up(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..=TERMS {
        term = div_up(mul_up(term, x), k as f64);
        sum = add_up(sum, term);
    }
    add_up(sum, term)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::reach::momentum::MomentumGains;

    fn tube(kappa: f64, age_s: f64, drive_lag_s: f64) -> MomentumTube {
        let timing =
            CycleTiming { period_s: age_s, latency_s: 0.0, delay_s: 0.0, jitter_s: 0.0, drive_lag_s };
        MomentumTube {
            gains: MomentumGains { k_r: 1.0, kappa },
            timing,
            robust_nm: vec![3.0],
            noise_nms: vec![0.01],
            lag_nms2: vec![0.0],
            sign_band_rad_s: vec![0.0],
            start: None,
        }
    }

    /// Least z / z(0) under dz/dt = -kappa l, T dl/dt = z(t - a) - l, from z = 1 and l = `before`, over `long` seconds. While z decays e^(lambda t) z is what is kept
    /// in range.
    fn least(kappa: f64, (age, lag): (f64, f64), before: f64, long: f64) -> f64 {
        let steps = 400;
        let h = (age / f64::from(steps)).min(lag / 100.0);
        let late = (age / h).round() as usize;
        let mut past = VecDeque::from(vec![1.0; late + 1]);
        let (mut z, mut l, mut least) = (1.0f64, before, 1.0f64);
        // Decay that is taken out, so that nothing is lost to rounding.
        let rate = 0.5 / (age + lag);
        for _ in 0..(long / h) as usize {
            let read = past[0];
            let kept = (-h / lag).exp();
            let next = read + (l - read) * kept;
            z -= kappa * h * 0.5 * (l + next);
            l = next;
            past.push_back(z);
            past.pop_front();
            let grown = (rate * h).exp();
            past.iter_mut().for_each(|x| *x *= grown);
            (z, l) = (z * grown, l * grown);
            least = least.min(z);
        }
        least
    }

    /// The bound of kappa is where a scalar loop with that delay and that lag begins to swing: 2 % below it decays without a swing, 4 % above it does not.
    #[test]
    fn the_largest_kappa_is_where_a_loop_with_lag_begins_to_swing() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..6 {
            let (age, lag) = (rng.random_range(1.0..3.0), rng.random_range(0.3..4.0));
            let most = 1.0 / tube(1.0, age, lag).gain(1.0);
            let swings = |kappa: f64| least(kappa, (age, lag), 1.0, 14.0 * (age + 2.0 * lag)) < 0.0;
            assert!(!swings(0.98 * most), "age {age}, lag {lag}: kappa {most} is too high");
            assert!(swings(1.04 * most), "age {age}, lag {lag}: kappa {most} is far too low");
        }
    }

    /// Whatever held the arm before counts as a reading that is f times as large at most; with more z is lost.
    #[test]
    fn what_held_the_arm_before_may_push_as_far_as_the_start_allows() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for _ in 0..6 {
            let (age, lag) = (rng.random_range(0.2..3.0), rng.random_range(0.3..4.0));
            let tube = tube(1.0, age, lag);
            let (most, f) = (1.0 / tube.gain(1.0), tube.timing.surplus());
            assert!((2.0..=std::f64::consts::E).contains(&f));
            for before in [0.0, 1.0, 0.98 * f] {
                let least = least(0.99 * most, (age, lag), before, 14.0 * (age + 2.0 * lag));
                assert!(least >= 0.0, "age {age}, lag {lag}: {before} before leaves {least}");
            }
            // p = 0 is within, with room that u and rho alike leave.
            let (u, kappa) = (3.0, tube.gains.kappa);
            let exact = u / kappa + 0.01 - 2.0 * u / (kappa * f);
            assert!((tube.radius_from_rest(0) / exact - 1.0).abs() < 1e-12 && exact >= 0.01);
        }
        let none = self::tube(2.0, 1.0, 0.0);
        assert_eq!(none.radius_from_rest(0), 3.0 / 2.0 + 0.01);
    }

    #[test]
    fn without_lag_all_is_as_it_was_and_a_little_lag_changes_little() {
        let (none, little) = (tube(30.0, 2e-3, 0.0), tube(30.0, 2e-3, 1e-9));
        assert_eq!(
            (none.timing.memory_s(), none.timing.average_shift_s()),
            (0.0, none.timing.command_shift_s())
        );
        assert!((none.gain(1.1) - 30.0 * 1.1 * 2e-3 * std::f64::consts::E).abs() < 1e-14);
        assert!((little.gain(1.1) / none.gain(1.1) - 1.0).abs() < 1e-5);
        assert!((none.timing.patience_s() - 2e-3 * std::f64::consts::E).abs() < 1e-15);
        let lag = tube(30.0, 2e-3, 3e-3).timing;
        assert!((lag.memory_s() - 3e-2).abs() < 1e-15 && lag.memory_s() >= 3e-2);
        assert!((lag.average_shift_s() - lag.command_shift_s() - 3e-3).abs() < 1e-15);
        assert!((lag.window_s() - lag.age_s() - 3e-2).abs() < 1e-10);
    }

    #[test]
    fn the_exponential_is_bounded_from_above_and_hardly_further() {
        for k in 0..=100 {
            let x = 0.02 * f64::from(k);
            let found = exponential_up(x);
            assert!(found >= x.exp() && found <= x.exp() * (1.0 + 1e-13), "{x}: {found}");
        }
        assert!((-MEMORY).exp() <= FORGOTTEN && FORGOTTEN <= 1.001 * (-MEMORY).exp());
    }
}
