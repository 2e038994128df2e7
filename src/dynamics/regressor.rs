//! Regressors: dynamics written as (matrix of the motion) x (inertial parameters).
//!
//! Every matrix is row-major, nv rows by 10 columns a body; column 10 i + p belongs to parameter p of body i. Entries of
//! bodies that a joint does not carry are not touched, so a matrix that starts with zeros keeps them.
//!
//! Unit motions of the joints are carried up the tree instead of forces down: one twist costs a fourth of ten columns.

use std::ops::Range;

use crate::inertia::INERTIAL;
use crate::robot::{JointKind, Model};
use crate::scalar::Scalar;

use super::motion::{BodyMotion, Motion};
use super::placement::BodyPlacement;
use super::vec3::{self, Vec3};

/// Torque regressor: Y theta = M(q) ddq_a + C(q, dq) dq_a + g(q), from a filled [`Motion`].
///
/// `bodies` selects whose columns are filled (all of them, or the end effector's alone); the others are not touched.
pub fn torque_regressor<T: Scalar>(robot: &Model, motion: &Motion<T>, bodies: Range<usize>, y: &mut [T]) {
    let first = robot.first_actuated();
    if first == 1 {
        root_rows(robot, motion, 0, &BodyPlacement::base(), &bodies, y);
    }
    let row = |body: &BodyMotion<T>, [axis]: &[Twist<T>; 1]| force_along(body, axis);
    fill(robot, motion, bodies, first, y, |_, axis| [Twist::unit(axis)], row);
}

/// Momentum regressor: Y_m theta = M(q) dq (N m s), links only. Uses `w`, `v` of a filled [`Motion`].
pub fn momentum_regressor<T: Scalar>(robot: &Model, motion: &Motion<T>, bodies: Range<usize>, y: &mut [T]) {
    fill(
        robot,
        motion,
        bodies,
        0,
        y,
        |_, axis| [Twist::unit(axis)],
        |body, [axis]| momentum_along(body, axis),
    );
}

/// The row of [`momentum_regressor`] of joint `j`, which must not be a free flyer, into `row` (10 entries a body; those of bodies that
/// the joint does not carry are not touched). Needs no more than [`Motion::sweep_velocities`].
pub fn momentum_regressor_row<T: Scalar>(robot: &Model, motion: &Motion<T>, j: usize, row: &mut [T]) {
    let axis = if robot.joints[j].kind.is_rotation() { 5 } else { 2 };
    carry_up(robot, motion, j, &[Twist::unit(axis)], &mut |i, [twist]| {
        row[INERTIAL * i..INERTIAL * (i + 1)].copy_from_slice(&momentum_along(&motion.bodies[i], twist));
    });
}

/// Regressor of the conservative part of the momentum's rate: Y_f theta = C(q, dq)' dq - g(q) (N m).
///
/// C'dq is the gradient of the kinetic energy with respect to q: for an ancestor j of body i,
/// dv_i/dq_j = X (v_j x S_j), so dT_i/dq_j is body i's momentum applied to v_j x S_j, carried to frame i.
/// Needs a swept [`Motion`]; the accelerations are not used ([`Motion::sweep_velocities`] is enough where the base is fixed).
pub fn momentum_rate_regressor<T: Scalar>(
    robot: &Model,
    motion: &Motion<T>,
    bodies: Range<usize>,
    y: &mut [T],
) {
    let row = |body: &BodyMotion<T>, [axis, change]: &[Twist<T>; 2]| {
        let mut row = momentum_along(body, change);
        for (entry, weight) in row.iter_mut().zip(weight_along(body, axis)) {
            *entry = *entry + weight;
        }
        row
    };
    fill(robot, motion, bodies, 0, y, |body, axis| [Twist::unit(axis), Twist::turning(axis, body)], row);
}

/// Regressor of the kinetic energy: y . theta = v'M v / 2 (J), of the links. `y` has 10 entries a body.
pub fn kinetic_energy_regressor<T: Scalar>(motion: &Motion<T>, y: &mut [T]) {
    for (body, y) in motion.bodies.iter().zip(y.chunks_exact_mut(INERTIAL)) {
        let own = Twist { angular: body.w, linear: body.v, turns: true };
        y.copy_from_slice(&momentum_along(body, &own).map(|x| x.scale(0.5)));
    }
}

/// Regressor of the potential energy: y . theta = -sum m (gravity . com), J, zero at the base frame's origin. `placed`
/// comes from [`super::placements()`]; `y` has 10 entries a body, of which only four differ from zero.
pub fn potential_energy_regressor<T: Scalar>(robot: &Model, placed: &[BodyPlacement<T>], y: &mut [T]) {
    let up = -robot.gravity;
    let height = |x: &Vec3<T>| x[0].scale(up.x) + x[1].scale(up.y) + x[2].scale(up.z);
    for (frame, y) in placed.iter().zip(y.chunks_exact_mut(INERTIAL)) {
        y.fill(T::zero());
        y[0] = height(&frame.origin);
        for (y, axis) in y[1..4].iter_mut().zip(&frame.axes) {
            *y = height(axis);
        }
    }
}

/// A virtual motion of a body, about and in its frame: what momentum, force and weight are projected on.
#[derive(Debug, Clone, Copy)]
struct Twist<T> {
    angular: Vec3<T>,
    linear: Vec3<T>,
    /// Whether `angular` may differ from zero.
    turns: bool,
}

impl<T: Scalar> Twist<T> {
    /// Unit speed along (0, 1, 2) or about (3, 4, 5) an axis.
    fn unit(axis: usize) -> Self {
        let unit = |at: usize| vec3::each(|r| T::constant(if r == at { 1.0 } else { 0.0 }));
        let (z, turns) = (vec3::zero(), axis >= 3);
        if turns {
            Self { angular: unit(axis - 3), linear: z, turns }
        } else {
            Self { angular: z, linear: unit(axis), turns }
        }
    }

    /// v_j x S_j of a body with velocity v_j, for the unit motion `axis`.
    fn turning(axis: usize, body: &BodyMotion<T>) -> Self {
        if axis < 3 {
            Self { angular: vec3::zero(), linear: cross_unit(&body.w, axis), turns: false }
        } else {
            let k = axis - 3;
            Self { angular: cross_unit(&body.w, k), linear: cross_unit(&body.v, k), turns: true }
        }
    }
}

/// `a x e_k`.
fn cross_unit<T: Scalar>(a: &Vec3<T>, k: usize) -> Vec3<T> {
    let z = T::zero();
    match k {
        0 => [z, a[2], -a[1]],
        1 => [-a[2], z, a[0]],
        _ => vec3::cross_z(a),
    }
}

/// Fills the rows of the joints from `first` on: `seeds` makes of a joint's body and the axis of its unit motion (as in [`Twist::unit`]) the
/// twists to carry, `row` of a body
/// and the twists in its frame the ten entries.
fn fill<T: Scalar, const K: usize>(
    robot: &Model,
    motion: &Motion<T>,
    bodies: Range<usize>,
    first: usize,
    y: &mut [T],
    seeds: impl Fn(&BodyMotion<T>, usize) -> [Twist<T>; K],
    row: impl Fn(&BodyMotion<T>, &[Twist<T>; K]) -> [T; INERTIAL],
) {
    let width = INERTIAL * robot.bodies();
    for (j, joint) in robot.joints.iter().enumerate().skip(first) {
        let axes = axes(joint.kind);
        let rows = y[width * robot.v_index(j)..].chunks_exact_mut(width);
        for (axis, y) in axes.zip(rows) {
            let twists = seeds(&motion.bodies[j], axis);
            carry_up(robot, motion, j, &twists, &mut |i, twists| {
                if bodies.contains(&i) {
                    y[INERTIAL * i..INERTIAL * (i + 1)].copy_from_slice(&row(&motion.bodies[i], twists));
                }
            });
        }
    }
}

/// Fills the six rows of a free flyer in the torque regressor, for body `i` and everything that it carries. `frame` is
/// the body's placement in the root body's frame. Six unit motions of the root would cost more than the ten columns.
fn root_rows<T: Scalar>(
    robot: &Model,
    motion: &Motion<T>,
    i: usize,
    frame: &BodyPlacement<T>,
    bodies: &Range<usize>,
    y: &mut [T],
) {
    if bodies.contains(&i) {
        let width = INERTIAL * robot.bodies();
        let mut write = |p: usize, rows: Range<usize>, x: &Vec3<T>| {
            for (r, x) in rows.zip(x) {
                y[width * r + INERTIAL * i + p] = *x;
            }
        };
        let body = &motion.bodies[i];
        let (w, wa, dw, c) = (&body.w, &body.wa, &body.dw, &body.classical);
        let turn = |x: &Vec3<T>| vec3::combine(&frame.axes, x);
        let force = turn(c);
        write(0, 0..3, &force);
        write(0, 3..6, &vec3::cross(&frame.origin, &force));
        for k in 0..3 {
            // e x c = -(c x e)
            let swing = vec3::add(&cross_unit(dw, k), &vec3::cross(w, &cross_unit(wa, k)));
            let (force, moment) = (turn(&swing), turn(&cross_unit(c, k)));
            write(1 + k, 0..3, &force);
            write(1 + k, 3..6, &vec3::sub(&vec3::cross(&frame.origin, &force), &moment));
        }
        for (p, (r, k)) in [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)].into_iter().enumerate() {
            let times = |x: &Vec3<T>| {
                let mut product = vec3::zero();
                product[r] = x[k];
                product[k] = x[r];
                product
            };
            let moment = vec3::add(&times(dw), &vec3::cross(wa, &times(w)));
            write(4 + p, 0..3, &vec3::zero());
            write(4 + p, 3..6, &turn(&moment));
        }
    }
    for c in motion.children(i) {
        root_rows(robot, motion, c, &frame.child(&robot.joints[c], &motion.transforms[c]), bodies, y);
    }
}

/// Momentum regressors of several velocities at one placement: the unit motions of the joints, which do not depend on the velocity, are
/// carried up the tree once.
#[derive(Debug, Clone)]
pub struct UnitMotions<T> {
    /// Row, body and twist.
    carried: Vec<(usize, usize, Twist<T>)>,
}

impl<T: Scalar> UnitMotions<T> {
    /// None; the first placement asks for memory.
    pub fn empty() -> Self {
        Self { carried: Vec::new() }
    }

    /// Carries the unit motion of every joint to all bodies that it moves, at the positions of [`Motion::place`].
    pub fn place(&mut self, robot: &Model, motion: &Motion<T>) {
        self.carried.clear();
        for (j, joint) in robot.joints.iter().enumerate() {
            let row = robot.v_index(j);
            for (k, axis) in axes(joint.kind).enumerate() {
                carry_up(robot, motion, j, &[Twist::unit(axis)], &mut |i, [twist]| {
                    self.carried.push((row + k, i, *twist));
                });
            }
        }
    }

    /// Visits the entries of [`momentum_regressor`] that are not zero by the tree's shape, for the velocities of `motion` at the placement: row,
    /// body, and the ten entries.
    pub fn momentum(&self, motion: &Motion<T>, mut visit: impl FnMut(usize, usize, &[T; INERTIAL])) {
        for (row, i, twist) in &self.carried {
            visit(*row, *i, &momentum_along(&motion.bodies[*i], twist));
        }
    }
}

/// The axes of a joint's own motions: along 0, 1, 2, about 3, 4, 5.
fn axes(kind: JointKind) -> Range<usize> {
    match kind {
        JointKind::FreeFlyer => 0..6,
        JointKind::Prismatic => 2..3,
        JointKind::Revolute | JointKind::Continuous => 5..6,
    }
}

/// Visits body `i` and everything that it carries with the twists in the body's frame.
fn carry_up<T: Scalar, const K: usize>(
    robot: &Model,
    motion: &Motion<T>,
    i: usize,
    twists: &[Twist<T>; K],
    visit: &mut impl FnMut(usize, &[Twist<T>; K]),
) {
    visit(i, twists);
    for c in motion.children(i) {
        let (joint, x) = (&robot.joints[c], &motion.transforms[c]);
        let carried: [_; K] = std::array::from_fn(|k| {
            let t = &twists[k];
            if !t.turns {
                return Twist { linear: x.to_child(joint, &t.linear), ..*t };
            }
            let angular = x.to_child(joint, &t.angular);
            Twist { angular, linear: x.carry(joint, &t.linear, &t.angular), turns: true }
        });
        carry_up(robot, motion, c, &carried, visit);
    }
}

/// The body's force and moment of [`super::rnea()`] along a twist, by its ten parameters.
///
/// With classical acceleration c: m brings c . linear; h brings linear . (dw x h + w x (wa x h)) + angular . (h x c);
/// and the inertia E brings angular . (E dw + wa x E w) = angular . E dw + (angular x wa) . E w.
#[inline]
fn force_along<T: Scalar>(body: &BodyMotion<T>, along: &Twist<T>) -> [T; INERTIAL] {
    let Twist { angular, linear, turns } = along;
    let (w, wa, dw, c) = (&body.w, &body.wa, &body.dw, &body.classical);
    let h = vec3::add(&vec3::cross(linear, dw), &vec3::cross(&vec3::cross(linear, w), wa));
    let zero = T::zero();
    if !turns {
        return [vec3::dot(c, linear), h[0], h[1], h[2], zero, zero, zero, zero, zero, zero];
    }
    let h = vec3::add(&h, &vec3::cross(c, angular));
    let s = vec3::cross(angular, wa);
    let square = |r: usize| dw[r] * angular[r] + w[r] * s[r];
    let mixed = |r: usize, k: usize| (dw[r] * angular[k] + dw[k] * angular[r]) + (w[r] * s[k] + w[k] * s[r]);
    [
        vec3::dot(c, linear),
        h[0],
        h[1],
        h[2],
        square(0),
        mixed(0, 1),
        square(1),
        mixed(0, 2),
        mixed(1, 2),
        square(2),
    ]
}

/// The body's momentum (linear m v + w x h, angular I w + h x v) along a twist, by its ten parameters.
#[inline]
fn momentum_along<T: Scalar>(body: &BodyMotion<T>, along: &Twist<T>) -> [T; INERTIAL] {
    let (w, v, Twist { angular, linear, turns }) = (&body.w, &body.v, along);
    let h = vec3::cross(linear, w);
    let zero = T::zero();
    if !turns {
        return [vec3::dot(v, linear), h[0], h[1], h[2], zero, zero, zero, zero, zero, zero];
    }
    let h = vec3::sub(&h, &vec3::cross(angular, v));
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
#[inline]
fn weight_along<T: Scalar>(body: &BodyMotion<T>, along: &Twist<T>) -> [T; 4] {
    let h = vec3::cross(&body.g, &along.angular);
    [vec3::dot(&body.g, &along.linear), h[0], h[1], h[2]]
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
