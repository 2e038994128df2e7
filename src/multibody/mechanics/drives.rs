//! Derivatives of a joint's torques by the parameters of its drive and friction.

use super::super::parameters::JointParameter;
use crate::dynamics::actuation::{coulomb_direction, smooth_friction};
use crate::robot::Model;

/// d R_d / d p for a parameter of joint `j`, at its speed, acceleration and measured torque.
pub(crate) fn drive_slope(
    robot: &Model,
    p: &[f64],
    j: usize,
    which: JointParameter,
    (v, a, tau): (f64, f64, f64),
) -> f64 {
    use JointParameter as P;
    let smooth = |k: usize| smooth_friction(robot, p, j).map_or(0.0, |f| f.by_parameters(v)[k]);
    match which {
        P::Coulomb => coulomb_direction(robot, v).0,
        P::Viscous => v,
        P::Armature => a,
        P::Offset => 1.0,
        P::Gain => -tau,
        P::Skew => -tau.abs(),
        P::StribeckHeight => smooth(0),
        P::StictionRate => smooth(1),
        P::StribeckRate => smooth(2),
        P::SmoothCoulomb => smooth(3),
        P::SmoothRate => smooth(4),
        P::SmoothViscous => smooth(5),
    }
}

/// d^2 R_d / (d v d p) and d^2 R_d / (d a d p) for a parameter of joint `j` at speed `v`.
pub(in crate::multibody) fn drive_bend(
    robot: &Model,
    p: &[f64],
    j: usize,
    which: JointParameter,
    v: f64,
) -> [f64; 2] {
    use JointParameter as P;
    let smooth = |k: usize| smooth_friction(robot, p, j).map_or(0.0, |f| f.by_velocity_and_parameters(v)[k]);
    match which {
        P::Coulomb => [coulomb_direction(robot, v).1, 0.0],
        P::Viscous => [1.0, 0.0],
        P::Armature => [0.0, 1.0],
        P::Offset | P::Gain | P::Skew => [0.0; 2],
        P::StribeckHeight => [smooth(0), 0.0],
        P::StictionRate => [smooth(1), 0.0],
        P::StribeckRate => [smooth(2), 0.0],
        P::SmoothCoulomb => [smooth(3), 0.0],
        P::SmoothRate => [smooth(4), 0.0],
        P::SmoothViscous => [smooth(5), 0.0],
    }
}
