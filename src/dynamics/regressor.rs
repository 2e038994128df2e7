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
    for i in bodies {
        let mut columns = momentum_columns(&motion.bodies[i]);
        carry_down(robot, motion, i, &mut columns, |j, p, column| {
            y[width * j + INERTIAL * i + p] = along_axis(robot, j, column);
        });
    }
}

/// Regressor of the conservative part of the momentum's rate: Y_f theta = C(q, dq)' dq - g(q) (N m).
///
/// C'dq is the gradient of the kinetic energy with respect to q: for an ancestor j of body i,
/// dv_i/dq_j = X (v_j x S_j), so dT_i/dq_j is body i's momentum, carried to frame j, applied to v_j x S_j.
/// Needs a swept [`Motion`]; the accelerations are not used.
pub fn momentum_rate_regressor<T: Scalar>(
    robot: &Robot,
    motion: &Motion<T>,
    bodies: Range<usize>,
    y: &mut [T],
) {
    let width = INERTIAL * robot.dof();
    for i in bodies {
        let mut columns = momentum_columns(&motion.bodies[i]);
        carry_down(robot, motion, i, &mut columns, |j, p, column| {
            let body = &motion.bodies[j];
            let rate = if robot.joints[j].kind.is_rotation() {
                vec3::dot(&column.n, &vec3::cross_z(&body.w)) + vec3::dot(&column.f, &vec3::cross_z(&body.v))
            } else {
                vec3::dot(&column.f, &vec3::cross_z(&body.w))
            };
            y[width * j + INERTIAL * i + p] = rate;
        });
        let mut columns = gravity_columns(&motion.bodies[i]);
        carry_down(robot, motion, i, &mut columns, |j, p, column| {
            let at = width * j + INERTIAL * i + p;
            y[at] = y[at] + along_axis(robot, j, column);
        });
    }
}

#[inline]
fn along_axis<T: Scalar>(robot: &Robot, joint: usize, column: &Column<T>) -> T {
    if robot.joints[joint].kind.is_rotation() { column.n[2] } else { column.f[2] }
}

/// Visits the columns in the frame of body `i` and of each of its ancestors.
fn carry_down<T: Scalar, const P: usize>(
    robot: &Robot,
    motion: &Motion<T>,
    i: usize,
    columns: &mut [Column<T>; P],
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

/// Columns of the body's momentum: linear m v + w x h, angular I w + h x v.
fn momentum_columns<T: Scalar>(body: &BodyMotion<T>) -> [Column<T>; INERTIAL] {
    std::array::from_fn(|p| match p {
        0 => Column { f: body.v, n: vec3::zero() },
        1..=3 => Column { f: cross_unit(&body.w, p - 1), n: negate(cross_unit(&body.v, p - 1)) },
        _ => Column { f: vec3::zero(), n: basis_inertia_times(p - 4, &body.w) },
    })
}

/// Columns of the weight: force m g, moment h x g; inertia does not weigh.
fn gravity_columns<T: Scalar>(body: &BodyMotion<T>) -> [Column<T>; 4] {
    std::array::from_fn(|p| match p {
        0 => Column { f: body.g, n: vec3::zero() },
        _ => Column { f: vec3::zero(), n: negate(cross_unit(&body.g, p - 1)) },
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
