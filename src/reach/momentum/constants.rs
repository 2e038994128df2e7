//! The constants of the law for one plan.

use serde::{Deserialize, Serialize};

use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::robot::{Arm, TimingBounds};

use super::narrowing::WideStart;

/// What a time on a plan's clock may be rounded by, s: a few units in the last place of an hour.
const CLOCK_ROUNDING_S: f64 = 1e-11;

/// When readings are taken and commands act, s. All are bounds; what is not known to be there is zero, but for the period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct CycleTiming {
    /// h: ticks are this far apart, and by at most `jitter_s` more.
    pub period_s: f64,
    /// s_max: a tick's readings are at most so old.
    pub latency_s: f64,
    /// d_max: a command acts at most so long after its tick.
    pub delay_s: f64,
    /// j: what two ticks may be farther apart than the period.
    pub jitter_s: f64,
    /// T: a drive's torque follows its command with a first-order lag of at most so long ([`super::lag`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drive_lag_s: f64,
}

/// Plans of arms whose drives do not lag stay as they are.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

impl CycleTiming {
    /// What the arm's file states.
    pub fn of(arm: &Arm) -> Self {
        let TimingBounds { reading_age_max_s, command_delay_max_s, jitter_max_s, drive_lag_max_s, .. } =
            arm.timing();
        Self {
            period_s: arm.gains().period_s,
            latency_s: reading_age_max_s,
            delay_s: command_delay_max_s,
            jitter_s: jitter_max_s,
            drive_lag_s: drive_lag_max_s,
        }
    }

    /// The first bound that is smaller than the arm's file states, or a period that is not its own: what is proven would not be of that arm.
    pub fn kinder_than(&self, arm: &Arm) -> Option<String> {
        let own = Self::of(arm);
        let small =
            |what: &str, x: f64, expected: String| Some(format!("{what}: expected {expected}, found {x}"));
        if self.period_s != own.period_s {
            return small("period_s", self.period_s, format!("{}, the robot's own", own.period_s));
        }
        let all = [
            ("latency_s", self.latency_s, own.latency_s),
            ("delay_s", self.delay_s, own.delay_s),
            ("jitter_s", self.jitter_s, own.jitter_s),
            ("drive_lag_s", self.drive_lag_s, own.drive_lag_s),
        ];
        let (what, x, least) = all.into_iter().find(|(_, x, least)| !(x >= least))?;
        small(what, x, format!("at least {least}, as the robot's file states"))
    }

    /// a: the oldest reading that a torque in effect can stem from, s; rounded up.
    pub fn age_s(&self) -> f64 {
        sum_up([self.latency_s, self.delay_s, self.period_s, self.jitter_s])
    }

    /// How far after its tick a command is meant for, s: the middle of the time in which it acts.
    pub fn lead_s(&self) -> f64 {
        0.5 * (self.period_s + self.delay_s)
    }

    /// How long before its tick a reading is taken for, s.
    pub fn lag_s(&self) -> f64 {
        0.5 * self.latency_s
    }

    /// How far the time at which a command acts may be from the one it is meant for, s; rounded up.
    ///
    /// Proof: it acts from its tick on at the earliest, which is `lead_s` before; and d_max + h + j after it at the latest.
    pub fn command_shift_s(&self) -> f64 {
        let late = sum_up([self.period_s, self.delay_s, self.jitter_s, -self.lead_s().next_down()]);
        add_up(late.max(self.lead_s()), CLOCK_ROUNDING_S)
    }

    /// How far the time of a reading may be from the one it is taken for, s; rounded up.
    pub fn reading_shift_s(&self) -> f64 {
        add_up(self.lag_s(), CLOCK_ROUNDING_S)
    }

    /// How long before and after a switch of plans the law before and its readings may still matter, s; rounded up.
    ///
    /// Proof: the next law's first readings are at most s_max old, and its first command acts within d_max + h + j of the switch. Drives that lag remember
    /// commands for [`CycleTiming::memory_s`] more.
    pub fn window_s(&self) -> f64 {
        self.with_memory(add_up(self.age_s(), CLOCK_ROUNDING_S))
    }

    /// The first number that is none: period above zero, the others not below.
    pub fn fault(&self) -> Option<String> {
        let wrong =
            |what: &str, x: f64, expected: &str| Some(format!("{what}: expected {expected}, found {x}"));
        if !(self.period_s > 0.0 && self.period_s.is_finite()) {
            return wrong("period_s", self.period_s, "a finite number above 0");
        }
        let others = [
            ("latency_s", self.latency_s),
            ("delay_s", self.delay_s),
            ("jitter_s", self.jitter_s),
            ("drive_lag_s", self.drive_lag_s),
        ];
        let (what, x) = others.into_iter().find(|(_, x)| !(*x >= 0.0 && x.is_finite()))?;
        wrong(what, x, "a finite number not below 0")
    }
}

/// Gains of the law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct MomentumGains {
    /// K_r, 1/s: r = de + K_r e.
    pub k_r: f64,
    /// kappa, 1/s: torque a momentum error is answered with.
    pub kappa: f64,
}

/// Constants of the law and of the proof that goes with it, for one plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct MomentumTube {
    /// Gains.
    pub gains: MomentumGains,
    /// When readings are taken and commands act.
    pub timing: CycleTiming,
    /// u_j, N m: the robust torque is cut at it.
    pub robust_nm: Vec<f64>,
    /// N_j, N m s: what the momentum error may be misread by.
    pub noise_nms: Vec<f64>,
    /// E_j, N m s^2: bound of |M_0 e|_j.
    pub lag_nms2: Vec<f64>,
    /// Desired speed, rad/s, below which the sign of Coulomb friction is not relied on.
    pub sign_band_rad_s: Vec<f64>,
    /// Where a plan follows another: what these constants are at its start, from where they fall to the above. None from rest.
    pub start: Option<WideStart>,
}

impl MomentumTube {
    /// P_j = u_j / kappa + N_j, N m s: radius of the momentum error; rounded up. Of a tube that narrows, its later one.
    pub fn radius(&self, j: usize) -> f64 {
        add_up(div_up(self.robust_nm[j], self.gains.kappa), self.noise_nms[j])
    }

    /// kappa a (1 - F_jj) e for a largest 1 - F_jj: at most 1 is allowed. With drives that lag [`CycleTiming::patience_s`] stands for a e. Rounded up.
    pub fn gain(&self, reaction: f64) -> f64 {
        if self.timing.drive_lag_s > 0.0 {
            return mul_up(mul_up(self.gains.kappa, reaction), self.timing.patience_s());
        }
        let e = std::f64::consts::E.next_up();
        mul_up(mul_up(self.gains.kappa, self.timing.age_s()), mul_up(reaction, e))
    }

    /// The first constant that is none, or a list that is not of `joints`.
    pub fn fault(&self, joints: usize) -> Option<String> {
        let MomentumGains { k_r, kappa } = self.gains;
        for (what, x) in [("k_r", k_r), ("kappa", kappa)] {
            if !(x > 0.0 && x.is_finite()) {
                return Some(format!("{what}: expected a finite number above 0, found {x}"));
            }
        }
        if let Some(fault) = self.timing.fault() {
            return Some(fault);
        }
        let lists = [
            ("robust_nm", &self.robust_nm),
            ("noise_nms", &self.noise_nms),
            ("lag_nms2", &self.lag_nms2),
            ("sign_band_rad_s", &self.sign_band_rad_s),
        ];
        for (what, list) in lists {
            if list.len() != joints {
                return Some(format!("{what}: expected {joints} values, found {}", list.len()));
            }
            if let Some(x) = list.iter().find(|x| !(**x >= 0.0 && x.is_finite())) {
                return Some(format!("{what}: expected finite numbers not below 0, found {x}"));
            }
        }
        self.start_fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: CycleTiming =
        CycleTiming { period_s: 1e-3, latency_s: 4e-4, delay_s: 6e-4, jitter_s: 1e-4, drive_lag_s: 0.0 };

    #[test]
    fn times_are_those_of_readings_and_commands() {
        assert!((TIMING.age_s() - 2.1e-3).abs() < 1e-15 && TIMING.age_s() >= 2.1e-3);
        // Meant for 0.8 ms after the tick; in effect from the tick itself until 1.7 ms after it.
        assert!((TIMING.lead_s() - 8e-4).abs() < 1e-15);
        assert!((9e-4..9.001e-4).contains(&TIMING.command_shift_s()));
        assert!((2e-4..2.001e-4).contains(&TIMING.reading_shift_s()));
        assert_eq!(TIMING.fault(), None);
    }

    #[test]
    fn constants_that_are_none_are_named() {
        let good = MomentumTube {
            gains: MomentumGains { k_r: 6.0, kappa: 100.0 },
            timing: TIMING,
            robust_nm: vec![10.0; 2],
            noise_nms: vec![0.1; 2],
            lag_nms2: vec![0.1; 2],
            sign_band_rad_s: vec![0.1; 2],
            start: None,
        };
        assert_eq!(good.fault(2), None);
        assert!((good.radius(1) - 0.2).abs() < 1e-15 && good.radius(1) >= 0.2);
        assert!(good.fault(3).unwrap().contains("robust_nm: expected 3 values, found 2"));
        let fault = |change: &dyn Fn(&mut MomentumTube)| {
            let mut tube = good.clone();
            change(&mut tube);
            tube.fault(2).unwrap()
        };
        for bad in [-1e-9, f64::NAN, f64::INFINITY] {
            assert!(fault(&|t| t.gains.k_r = bad).starts_with("k_r"));
            assert!(fault(&|t| t.gains.kappa = bad).starts_with("kappa"));
            assert!(fault(&|t| t.timing.period_s = bad).starts_with("period_s"));
            assert!(fault(&|t| t.timing.latency_s = bad).starts_with("latency_s"));
            assert!(fault(&|t| t.timing.delay_s = bad).starts_with("delay_s"));
            assert!(fault(&|t| t.timing.jitter_s = bad).starts_with("jitter_s"));
            assert!(fault(&|t| t.timing.drive_lag_s = bad).starts_with("drive_lag_s"));
            assert!(fault(&|t| t.robust_nm[1] = bad).starts_with("robust_nm"));
            assert!(fault(&|t| t.noise_nms[0] = bad).starts_with("noise_nms"));
            assert!(fault(&|t| t.lag_nms2[0] = bad).starts_with("lag_nms2"));
            assert!(fault(&|t| t.sign_band_rad_s[0] = bad).starts_with("sign_band_rad_s"));
        }
    }
}
