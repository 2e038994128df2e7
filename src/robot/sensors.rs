//! What the sensors may get wrong.

use serde::{Deserialize, Serialize};

/// Bounds on what the sensors may get wrong (assumption A2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensors {
    /// |measured q - q| <= this, rad.
    pub position_rad: f64,
    /// |measured dq - dq| <= this, rad/s.
    pub velocity_rad_s: f64,
    /// |measured tau - tau| <= torque_ratio |tau| + torque_abs_nm.
    pub torque_ratio: f64,
    /// Absolute part of the torque bound, N m.
    pub torque_abs_nm: f64,
}

impl Sensors {
    /// The first bound that is none, by its name, and what was expected.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let all = [
            ("position_rad", self.position_rad),
            ("velocity_rad_s", self.velocity_rad_s),
            ("torque_ratio", self.torque_ratio),
            ("torque_abs_nm", self.torque_abs_nm),
        ];
        let (what, x) = all.into_iter().find(|(_, x)| !(*x >= 0.0 && x.is_finite()))?;
        Some((what, format!("{x}, expected a finite number not below 0")))
    }
}
