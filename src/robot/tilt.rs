//! A robot whose base leans.

use nalgebra::Vector3;

use super::arm::Arm;

impl Arm {
    /// The same robot on a base that leans: gravity, seen from the base, turned by `angle_rad` towards the direction across it that
    /// `toward_rad` names (an angle about gravity, from a direction of this function's choice).
    pub fn tilted(&self, angle_rad: f64, toward_rad: f64) -> Arm {
        let length = self.gravity.norm();
        if length > 0.0 {
            let down = self.gravity / length;
            // The axis that gravity is farthest from.
            let k = down.iamin();
            let first = down.cross(&Vector3::from_fn(|r, _| f64::from(r == k))).normalize();
            let across = first * toward_rad.cos() + down.cross(&first) * toward_rad.sin();
            return self.under_gravity(length * (down * angle_rad.cos() + across * angle_rad.sin()));
        }
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::fixture::small_robot;

    #[test]
    fn gravity_turns_by_the_angle_and_keeps_its_length() {
        let mut robot = small_robot();
        for gravity in [[0.0, 0.0, -9.81], [3.0, -4.0, 5.0], [0.0; 3]] {
            robot.gravity = gravity.into();
            let mut sum = Vector3::zeros();
            for k in 0..4 {
                let tilted = robot.tilted(0.01, f64::from(k) * std::f64::consts::FRAC_PI_2).gravity;
                assert!((tilted.norm() - robot.gravity.norm()).abs() < 1e-12);
                let angle = tilted.cross(&robot.gravity).norm().atan2(tilted.dot(&robot.gravity));
                assert!((angle - if gravity == [0.0; 3] { 0.0 } else { 0.01 }).abs() < 1e-12);
                sum += tilted;
            }
            // All around.
            assert!((sum - 4.0 * 0.01_f64.cos() * robot.gravity).norm() < 1e-9);
        }
    }
}
