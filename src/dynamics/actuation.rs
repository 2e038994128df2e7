//! What a joint's drive does between the torque that its sensor tells and the torque that moves the links: a gain, the
//! friction of the robot's file, and smooth friction on the motor's side.
//!
//! Parameters of a drive follow the robot's own parameter vector: the *extended* vector holds, behind
//! [`Model::nominal_parameters`], [`ACTUATION`] numbers for each joint (a free flyer's are never read):
//!
//! ```text
//! torque on the links = gain * measured + skew * |measured| - F_c s(v) - F_v v - beta - tau_f(v; g0..g5)
//! ```
//!
//! (a sensor that errs by a share of its reading with the same sign whatever the reading's has a skew) with s the sign of the speed, a straight line below the robot's stiction speed, and tau_f of
//! [`SmoothFriction`].

use super::friction::{SMOOTH_FRICTION, SmoothFriction};
use crate::inertia::{ARMATURE, COULOMB, FRICTION, OFFSET, VISCOUS};
use crate::robot::Model;

/// Numbers of a drive: the gain, then (g0, .., g5), then the skew.
pub const ACTUATION: usize = 2 + SMOOTH_FRICTION;

/// Index of the gain of joint `i` in the extended vector.
pub fn actuation_index(robot: &Model, i: usize) -> usize {
    robot.parameter_count() + ACTUATION * i
}

/// The nominal extended vector: gains of one, no smooth friction, no skew.
pub fn extended_parameters(robot: &Model) -> Vec<f64> {
    let mut p = robot.nominal_parameters();
    for _ in 0..robot.bodies() {
        p.push(1.0);
        p.extend([0.0; ACTUATION - 1]);
    }
    p
}

/// Direction of Coulomb friction at speed `v`, and its slope.
pub fn coulomb_direction(robot: &Model, v: f64) -> (f64, f64) {
    let speed = robot.friction_speed_rad_s;
    let ratio = v / speed;
    if ratio.abs() < 1.0 { (ratio, 1.0 / speed) } else { (ratio.signum(), 0.0) }
}

/// Regressor of a joint's own parameters in its own torque at speed `v` and acceleration `a`, in the order of
/// [`crate::inertia`]: Coulomb's direction, `v`, `a`, 1.
pub fn friction_columns(robot: &Model, v: f64, a: f64) -> [f64; FRICTION] {
    let mut own = [0.0; FRICTION];
    own[COULOMB] = coulomb_direction(robot, v).0;
    own[VISCOUS] = v;
    own[ARMATURE] = a;
    own[OFFSET] = 1.0;
    own
}

/// Smooth friction of joint `i` by the extended vector, if it has any.
pub fn smooth_friction(robot: &Model, p: &[f64], i: usize) -> Option<SmoothFriction> {
    let mut gamma = [0.0; SMOOTH_FRICTION];
    gamma.copy_from_slice(&p[actuation_index(robot, i) + 1..][..SMOOTH_FRICTION]);
    gamma.iter().any(|g| *g != 0.0).then_some(SmoothFriction { gamma })
}

/// Friction torque of actuated joint `i` at speed `v` (it acts against the motion), and its slope by `v`. `p` is the
/// extended vector.
pub fn joint_friction(robot: &Model, p: &[f64], i: usize, v: f64) -> (f64, f64) {
    let f = robot.joint_parameters(p, i);
    let (sign, slope) = coulomb_direction(robot, v);
    let (mut torque, mut by_v) = (f.coulomb * sign + f.viscous * v + f.offset, f.coulomb * slope + f.viscous);
    if let Some(smooth) = smooth_friction(robot, p, i) {
        torque += smooth.torque(v);
        by_v += smooth.by_velocity(v);
    }
    (torque, by_v)
}

/// Torque of joint `i`'s drive before friction, where its sensor tells `measured`.
pub fn drive_torque(robot: &Model, p: &[f64], i: usize, measured: f64) -> f64 {
    let drive = &p[actuation_index(robot, i)..][..ACTUATION];
    drive[0] * measured + drive[ACTUATION - 1] * measured.abs()
}

/// Slope of [`drive_torque`] by the measured torque.
pub fn drive_slope(robot: &Model, p: &[f64], i: usize, measured: f64) -> f64 {
    let drive = &p[actuation_index(robot, i)..][..ACTUATION];
    drive[0] + drive[ACTUATION - 1] * measured.signum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::fixture::small_model;

    #[test]
    fn friction_slopes_are_derivatives_and_nominal_drives_are_the_robots() {
        let robot = small_model();
        let mut p = extended_parameters(&robot);
        assert_eq!(drive_torque(&robot, &p, 0, -3.0), -3.0);
        let f = &robot.joints[0].friction;
        let (at_one, _) = joint_friction(&robot, &p, 0, 1.0);
        assert!((at_one - (f.coulomb + f.viscous + f.offset)).abs() < 1e-15);
        let at = actuation_index(&robot, 0) + 1;
        p[at..at + SMOOTH_FRICTION].copy_from_slice(&[0.7, 8.0, 1.5, 0.3, 20.0, 0.1]);
        p[at + SMOOTH_FRICTION] = 0.25;
        assert_eq!(drive_torque(&robot, &p, 0, -4.0), -3.0);
        assert_eq!(drive_torque(&robot, &p, 0, 4.0), 5.0);
        assert_eq!(drive_slope(&robot, &p, 0, -4.0), 0.75);
        for v in [-0.7, -0.004, 0.0, 0.003, 0.2, 1.4] {
            let (h, (_, slope)) = (1e-6, joint_friction(&robot, &p, 0, v));
            let change = joint_friction(&robot, &p, 0, v + h).0 - joint_friction(&robot, &p, 0, v - h).0;
            assert!((change / (2.0 * h) - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{v}");
        }
    }
}
