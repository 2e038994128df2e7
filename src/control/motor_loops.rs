//! What a tick tells drives whose feedback runs in the motors.

/// References and gains of the loops until the next tick, a joint each; besides the torques of the tick, each drive applies
/// sat(k_j (dq_ref - dq + K_r (q_ref - q)), u_j) at a rate of its own ([`crate::reach::motor_loops`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotorCommand<'a> {
    /// q_ref, rad (m).
    pub position_rad: &'a [f64],
    /// dq_ref, rad/s (m/s).
    pub velocity_rad_s: &'a [f64],
    /// K_r, 1/s.
    pub k_r: f64,
    /// k_j, N m s/rad (N s/m).
    pub gain_nms_rad: &'a [f64],
    /// u_j, N m (N).
    pub limit_nm: &'a [f64],
}

impl MotorCommand<'_> {
    /// k_p of joint `j`, N m/rad (N/m), for drives that take one.
    pub fn stiffness_nm_rad(&self, j: usize) -> f64 {
        self.k_r * self.gain_nms_rad[j]
    }

    /// What the loop of joint `j` adds, N m, for a reading of its motor (rad, rad/s).
    pub fn torque_nm(&self, j: usize, position_rad: f64, velocity_rad_s: f64) -> f64 {
        let lag = self.k_r * (self.position_rad[j] - position_rad);
        let r = self.velocity_rad_s[j] - velocity_rad_s + lag;
        (self.gain_nms_rad[j] * r).clamp(-self.limit_nm[j], self.limit_nm[j])
    }
}
