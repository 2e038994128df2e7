//! What a set from recordings rests on, in words.

use super::{Premises, WiderBounds};
use crate::identify::recorded::ACCELERATION_MARGIN;
use crate::robot::Arm;

impl Premises {
    /// In words, one sentence each, the delay as `delay` says; wider bounds are not among them.
    pub fn sentences(&self, robot: &Arm, delay: String) -> Vec<String> {
        let (sensors, u) = (robot.sensors(), &robot.uncertainty());
        let from = if self.acceleration_from_logs {
            format!(
                "a guess: {ACCELERATION_MARGIN} times the largest in the smoothed data, or what velocities show; --acceleration states them"
            )
        } else {
            "as stated".to_owned()
        };
        vec![
            format!(
                "torque error at most {} % of the torque plus {} N m, and a mean over a window of {} N m more",
                100.0 * sensors.torque_ratio,
                sensors.torque_abs_words(),
                list(&self.torque_abs_nm)
            ),
            format!(
                "encoder errors at most {} rad and {} rad/s",
                sensors.position_rad, sensors.velocity_rad_s
            ),
            format!(
                "known links within {} %, {} kg m and {} kg m^2 of the model, unknown parameters within the prior",
                100.0 * u.link_ratio,
                u.first_moment_kg_m,
                u.inertia_kg_m2
            ),
            format!(
                "gravity within {} degrees of the stated direction, breakaway friction at most {} times Coulomb's",
                u.gravity_direction_deg, u.breakaway_ratio
            ),
            format!("accelerations at most {} rad/s^2 ({from})", list(&self.acceleration_bound)),
            delay,
            format!("windows of {} s; time stamps exact; nothing else touches the arm", self.window_s),
        ]
    }
}

impl WiderBounds {
    /// In words.
    pub fn sentence(&self) -> String {
        format!(
            "the encoders err by at most {:.3e} rad and {:.3e} rad/s, and the mean torque of each joint over a window by {:.4} N m beyond \
             its stated bound: {} times what the first two thirds of the logs need",
            self.position_rad, self.velocity_rad_s, self.torque_nm, self.margin
        )
    }
}

/// `1.23, 4.5`; one number where all are the same.
fn list(values: &[f64]) -> String {
    match values.split_first() {
        Some((first, others)) if others.iter().all(|x| x == first) => format!("{first:.4}"),
        _ => values.iter().map(|x| format!("{x:.4}")).collect::<Vec<_>>().join(", "),
    }
}
