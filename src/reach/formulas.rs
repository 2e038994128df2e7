//! The formulas of the tube in plain numbers, written out once more: what the claims are attacked with must not come from the code
//! that makes them. See the header of [`super::tube`] for what they mean.

use super::Tube;
use crate::robot::Arm;

/// Largest |r_j| where r'A r <= 2 V_max, rad/s: sqrt(2 V_max / A_j).
pub fn r_radius(tube: &Tube, j: usize) -> f64 {
    (2.0 * tube.gains.v_max / tube.inertia_floor[j]).sqrt()
}

/// Largest |e_j|, rad: a mean of values of r / K_r, with the floor that the lag may have had.
pub fn e_radius(tube: &Tube, j: usize) -> f64 {
    (2.0 * tube.gains.v_max / tube.lag_floor[j]).sqrt() / tube.gains.k_r
}

/// Speed below which the sign of dq_j is in doubt within the tick, rad/s: what sticks, what the sensor hides, and what the joint gains.
pub fn sign_band(tube: &Tube, robot: &Arm, j: usize) -> f64 {
    tube.gains.stiction_speed_rad_s
        + robot.sensors().velocity_rad_s
        + tube.gains.period_s * tube.acceleration_bound[j]
}

/// Largest error of r as it is measured, rad/s: that of dq, and K_r times that of q.
pub fn r_error(tube: &Tube, robot: &Arm) -> f64 {
    robot.sensors().velocity_rad_s + tube.gains.k_r * robot.sensors().position_rad
}
