//! Regressors: dynamics written as (matrix of the motion) x (inertial parameters).
//!
//! Every matrix is row-major, n rows by 10 n columns; column 10 i + p belongs to parameter p of body i. Entries of
//! bodies that a joint does not carry stay zero.

use std::ops::Range;

use crate::robot::{INERTIAL, Robot};
use crate::scalar::Scalar;

use super::motion::{BodyMotion, Motion};
use super::vec3::{self, Vec3};

/// One column of a body regressor; inertia columns carry a moment only.
#[derive(Clone, Copy)]
struct Column<T> {
    f: Vec3<T>,
    n: Vec3<T>,
}

/// Torque regressor: Y theta = M(q) ddq_a + C(q, dq) dq_a + g(q), from a filled [`Motion`].
///
/// `bodies` selects whose columns are filled (all of them, or the end effector's alone); the others are not touched.
pub fn torque_regressor<T: Scalar>(robot: &Robot, motion: &Motion<T>, bodies: Range<usize>, y: &mut [T]) {
    let width = INERTIAL * robot.dof();
    for i in bodies {
        let mut columns = force_columns(&motion.bodies[i]);
        carry_down(robot, motion, i, &mut columns, |j, p, column| {
            y[width * j + INERTIAL * i + p] = along_axis(robot, j, column);
        });
    }
}

/// Momentum regressor: Y_m theta = M(q) dq (N m s), links only. Uses `w`, `v` of a filled [`Motion`].
pub fn momentum_regressor<T: Scalar>(robot: &Robot, motion: &Motion<T>, bodies: Range<usize>, y: &mut [T]) {
    let width = INERTIAL * robot.dof();
    for j in 0..robot.dof() {
        carry_up(robot, motion, j, [Twist::axis(robot, j)], &mut |i, [axis]| {
            if bodies.contains(&i) {
                let at = width * j + INERTIAL * i;
                y[at..at + INERTIAL].copy_from_slice(&momentum_along(&motion.bodies[i], axis));
            }
        });
    }
}

/// Regressor of the conservative part of the momentum's rate: Y_f theta = C(q, dq)' dq - g(q) (N m).
///
/// C'dq is the gradient of the kinetic energy with respect to q: for an ancestor j of body i,
/// dv_i/dq_j = X (v_j x S_j), so dT_i/dq_j is body i's momentum applied to v_j x S_j, carried to frame i.
/// Needs a swept [`Motion`]; the accelerations are not used.
pub fn momentum_rate_regressor<T: Scalar>(
    robot: &Robot,
    motion: &Motion<T>,
    bodies: Range<usize>,
    y: &mut [T],
) {
    let width = INERTIAL * robot.dof();
    for j in 0..robot.dof() {
        let seeds = [Twist::axis(robot, j), Twist::turning_axis(robot, j, &motion.bodies[j])];
        carry_up(robot, motion, j, seeds, &mut |i, [axis, change]| {
            if bodies.contains(&i) {
                let mut row = momentum_along(&motion.bodies[i], change);
                for (entry, weight) in row.iter_mut().zip(weight_along(&motion.bodies[i], axis)) {
                    *entry = *entry + weight;
                }
                let at = width * j + INERTIAL * i;
                y[at..at + INERTIAL].copy_from_slice(&row);
            }
        });
    }
}

/// A virtual motion of a body, about and in its frame: what momentum and weight are projected on.
#[derive(Clone, Copy)]
struct Twist<T> {
    angular: Vec3<T>,
    linear: Vec3<T>,
}

impl<T: Scalar> Twist<T> {
    /// S_j: unit speed of joint `j`, in its own frame.
    fn axis(robot: &Robot, j: usize) -> Self {
        let (z, unit) = (vec3::zero(), [T::zero(), T::zero(), T::constant(1.0)]);
        if robot.joints[j].kind.is_rotation() {
            Self { angular: unit, linear: z }
        } else {
            Self { angular: z, linear: unit }
        }
    }

    /// v_j x S_j.
    fn turning_axis(robot: &Robot, j: usize, body: &BodyMotion<T>) -> Self {
        if robot.joints[j].kind.is_rotation() {
            Self { angular: vec3::cross_z(&body.w), linear: vec3::cross_z(&body.v) }
        } else {
            Self { angular: vec3::zero(), linear: vec3::cross_z(&body.w) }
        }
    }
}

/// Visits body `i` and everything that it carries with the twists in the body's frame.
///
/// Twists are carried up instead of columns down: two of them cost a fourth of fourteen columns.
fn carry_up<T: Scalar, const K: usize>(
    robot: &Robot,
    motion: &Motion<T>,
    i: usize,
    twists: [Twist<T>; K],
    visit: &mut impl FnMut(usize, &[Twist<T>; K]),
) {
    visit(i, &twists);
    for c in i + 1..robot.dof() {
        let joint = &robot.joints[c];
        if joint.parent == Some(i) {
            let x = &motion.transforms[c];
            let carried = twists.map(|t| Twist {
                angular: x.to_child(joint, &t.angular),
                // v + w x p = v - p x w
                linear: x.to_child(joint, &vec3::sub(&t.linear, &x.lever(joint, &t.angular))),
            });
            carry_up(robot, motion, c, carried, visit);
        }
    }
}

/// The body's momentum (linear m v + w x h, angular I w + h x v) along a twist, by its ten parameters.
fn momentum_along<T: Scalar>(body: &BodyMotion<T>, along: &Twist<T>) -> [T; INERTIAL] {
    let (w, v, Twist { angular, linear }) = (&body.w, &body.v, along);
    let h = vec3::sub(&vec3::cross(linear, w), &vec3::cross(angular, v));
    [
        vec3::dot(v, linear),
        h[0],
        h[1],
        h[2],
        w[0] * angular[0],
        w[0] * angular[1] + w[1] * angular[0],
        w[1] * angular[1],
        w[0] * angular[2] + w[2] * angular[0],
        w[1] * angular[2] + w[2] * angular[1],
        w[2] * angular[2],
    ]
}

/// The body's weight (force m g, moment h x g) along a twist, by m and h.
fn weight_along<T: Scalar>(body: &BodyMotion<T>, along: &Twist<T>) -> [T; 4] {
    let h = vec3::cross(&body.g, &along.angular);
    [vec3::dot(&body.g, &along.linear), h[0], h[1], h[2]]
}

#[inline]
fn along_axis<T: Scalar>(robot: &Robot, joint: usize, column: &Column<T>) -> T {
    if robot.joints[joint].kind.is_rotation() { column.n[2] } else { column.f[2] }
}

/// Visits the columns in the frame of body `i` and of each of its ancestors.
fn carry_down<T: Scalar>(
    robot: &Robot,
    motion: &Motion<T>,
    i: usize,
    columns: &mut [Column<T>; INERTIAL],
    mut visit: impl FnMut(usize, usize, &Column<T>),
) {
    let mut j = i;
    loop {
        for (p, column) in columns.iter().enumerate() {
            visit(j, p, column);
        }
        let joint = &robot.joints[j];
        let Some(parent) = joint.parent else { return };
        let x = &motion.transforms[j];
        for (p, column) in columns.iter_mut().enumerate() {
            column.n = x.to_parent(joint, &column.n);
            // Inertia columns (p >= 4) have no force and therefore no lever.
            if p < 4 {
                column.f = x.to_parent(joint, &column.f);
                column.n = vec3::add(&column.n, &x.lever(joint, &column.f));
            }
        }
        j = parent;
    }
}

/// `a x e_axis`.
fn cross_unit<T: Scalar>(a: &Vec3<T>, axis: usize) -> Vec3<T> {
    let z = T::zero();
    match axis {
        0 => [z, a[2], -a[1]],
        1 => [-a[2], z, a[0]],
        _ => [a[1], -a[0], z],
    }
}

fn negate<T: Scalar>(a: Vec3<T>) -> Vec3<T> {
    a.map(|x| -x)
}

/// Columns of the ten unit parameters of the wrench in [`super::rnea`].
fn force_columns<T: Scalar>(body: &BodyMotion<T>) -> [Column<T>; INERTIAL] {
    let classical = vec3::add(&body.a, &vec3::cross(&body.w, &body.va));
    std::array::from_fn(|p| match p {
        0 => Column { f: classical, n: vec3::zero() },
        1..=3 => {
            let axis = p - 1;
            let swing = vec3::cross(&body.w, &cross_unit(&body.wa, axis));
            let f = vec3::add(&cross_unit(&body.dw, axis), &swing);
            // e x classical = -(classical x e)
            Column { f, n: negate(cross_unit(&classical, axis)) }
        }
        _ => {
            let spin = basis_inertia_times(p - 4, &body.w);
            let n = vec3::add(&basis_inertia_times(p - 4, &body.dw), &vec3::cross(&body.wa, &spin));
            Column { f: vec3::zero(), n }
        }
    })
}

/// The k-th basis inertia (I_xx, I_xy, I_yy, I_xz, I_yz, I_zz) times a vector.
fn basis_inertia_times<T: Scalar>(k: usize, x: &Vec3<T>) -> Vec3<T> {
    let (row, column) = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)][k];
    let mut y = vec3::zero();
    y[row] = x[column];
    y[column] = x[row];
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_unit_is_a_cross_product() {
        let a = [0.3, -1.2, 2.5];
        for axis in 0..3 {
            let unit = std::array::from_fn(|r| if r == axis { 1.0 } else { 0.0 });
            assert_eq!(cross_unit::<f64>(&a, axis), vec3::cross(&a, &unit));
        }
    }
}
