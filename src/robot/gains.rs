//! Gains of the robust controller.

use serde::{Deserialize, Serialize};

/// Gains of the robust controller and the radius of its tube (`control`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gains {
    /// K_r, 1/s: r = de + K_r e.
    pub k_r: f64,
    /// alpha, 1/s: the rate at which V may approach V_max.
    pub alpha: f64,
    /// V_max, J: the invariant level of V = r'M r / 2.
    pub v_max: f64,
    /// Control period, s; the input is held between ticks.
    pub period_s: f64,
    /// Coulomb friction is known to follow F_c sign(dq) only for |dq| above this speed, rad/s; below it the
    /// friction torque is anywhere in [-F_c, F_c], times [`super::Uncertainty::breakaway_ratio`].
    pub stiction_speed_rad_s: f64,
}

impl Gains {
    /// The first that the control law cannot work with: all must be positive.
    pub fn fault(&self) -> Option<String> {
        let all = [
            ("k_r", self.k_r),
            ("alpha", self.alpha),
            ("v_max", self.v_max),
            ("period_s", self.period_s),
            ("stiction_speed_rad_s", self.stiction_speed_rad_s),
        ];
        let (what, x) = all.into_iter().find(|(_, x)| !(*x > 0.0 && x.is_finite()))?;
        Some(format!("{what}: expected a finite number above 0, found {x}"))
    }
}
