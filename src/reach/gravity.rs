//! What a base that leans does to the torques: the direction of gravity is known to within an angle only.
//!
//! # Assumed
//! Gravity g' has the length of the robot's g and is at most `gravity_direction_deg` away from it, the same throughout.
//!
//! # Proven
//! For an angle b between g and g' in \[0, a\], a <= 90 degrees, g' - g = |g| sin b u - (1 - cos b) g with u a unit vector across g.
//! So a torque L . g, L a lever as in [`weight_levers`], changes by at most |g| sin a |part of L across g| + (1 - cos a) |L . g|, and
//! |g| |part of L across g| = |L x g|. Both factors grow with b up to a. Levers are linear in the parameters; they are enclosed over
//! all of the cell and of the set, so the sum over bodies is bounded, not each body's part.
//!
//! The controller and the tube know g alone. In the disturbance w, what the motion needs under the true theta and g' differs by this
//! change from what it needs under g: it is charged to the drift D_j, which bounds the rest of that difference
//! ([`super::tube`], disturbance). Neither M nor C nor V knows of gravity.

use nalgebra::Vector3;

use crate::dynamics::vec3::Vec3;
use crate::dynamics::{BodyPlacement, weight_levers};
use crate::enclose::{Affine, Interval, Rounding};
use crate::robot::Arm;
use crate::scalar::Scalar;

use super::cell::Joints;
use super::extent;
use super::prepared_set::PreparedSet;
use super::upward::{add_up, mul_up};

/// Upper bounds of sin a and 1 - cos a for a in degrees, at most 90.
fn factors(degrees: f64) -> (f64, f64) {
    // Pi is within half a unit in its last place, 2^-52, of the constant.
    let pi = Interval::around(std::f64::consts::PI, f64::EPSILON);
    let (sin, cos) = (Interval::constant(degrees) * pi / Interval::constant(180.0)).sin_cos();
    (sin.upper().clamp(0.0, 1.0), (Interval::constant(1.0) - cos).upper().max(0.0))
}

/// Upper bound of how much a torque may change with the direction of `gravity` (m/s^2), known to within `degrees`, that `lever`
/// makes of it (any element of its intervals; kg m, or what else times m/s^2 is the unit asked for).
pub fn tilt_bound(gravity: &Vector3<f64>, degrees: f64, lever: &[Interval; 3]) -> f64 {
    if degrees == 0.0 {
        return 0.0;
    }
    let (across, along) = factors(degrees);
    let g = [gravity.x, gravity.y, gravity.z].map(Interval::constant);
    let product = |a: usize, b: usize| lever[a] * g[b] - lever[b] * g[a];
    let squares = [product(1, 2), product(2, 0), product(0, 1)].map(Interval::sqr);
    let crossed = (squares[0] + squares[1] + squares[2]).sqrt().sup_abs();
    let pulled = (lever[0] * g[0] + lever[1] * g[1] + lever[2] * g[2]).sup_abs();
    add_up(mul_up(across, crossed), mul_up(along, pulled))
}

/// Upper bounds (N m) of what the unknown direction of gravity changes in each joint's torque, over the cell whose bodies are `placed`
/// and the set; `storage` is for parameters and levers.
pub fn tilt_torques<const N: usize, R: Rounding>(
    robot: &Arm,
    prepared: &PreparedSet,
    placed: &[BodyPlacement<Affine<N, R>>],
    (theta, levers): (&mut Vec<Affine<N, R>>, &mut Vec<Vec3<Affine<N, R>>>),
) -> Joints<f64> {
    let degrees = robot.uncertainty().gravity_direction_deg;
    if degrees == 0.0 {
        return (0..robot.dof()).map(|_| 0.0).collect();
    }
    theta.clear();
    theta.extend(prepared.range().iter().map(|x| Affine::from_interval(*x)));
    weight_levers(robot, placed, theta, levers);
    let range = |form: &Affine<N, R>| Interval::new(extent::lower(form), extent::upper(form));
    levers
        .iter()
        .map(|lever| tilt_bound(&robot.gravity, degrees, &[0, 1, 2].map(|k| range(&lever[k]))))
        .collect()
}
