//! Joint transforms and the velocity / acceleration recursion that every algorithm starts with.
//!
//! Body quantities are expressed in the body's own frame, about its origin: `w` angular velocity, `v` linear
//! velocity of the origin, `dw` and `a` their rates as seen in the body frame (`a` is the spatial acceleration, so
//! that the classical one is `a + w x v`), with gravity entered as an upward acceleration of the base.
//!
//! The *auxiliary* velocity dq_a of the passivity-based control law is carried beside the true one dq, so that
//! M(q) ddq_a + C(q, dq) dq_a + g(q) is computed with a C for which dM/dt - 2C is skew-symmetric (see
//! [`super::rnea()`]). Plain inverse dynamics passes dq for both ([`Motion::sweep_plain`]).
//!
//! A free-flying root body brings six numbers of its own velocity and acceleration, already in its frame.

use nalgebra::Vector3;

use crate::robot::{Joint, Model};
use crate::scalar::{Scalar, replaced};

use super::placement::BodyPlacement;
use super::vec3::{self, Vec3};

/// Transform of one joint at its coordinate: `x_parent = R_fix Rz(q) x + p` (or a shift along z if prismatic).
///
/// Where a product costs about as much as one with a constant ([`Scalar::PRODUCT`]) R_fix Rz(q) is multiplied out;
/// otherwise the constant and the plane rotation are applied one after the other.
#[derive(Debug, Clone, Copy)]
pub struct JointTransform<T> {
    /// cos q and sin q; 1 and 0 for a prismatic joint.
    cos: T,
    sin: T,
    /// Columns of R_fix Rz(q), if they are multiplied out.
    columns: [Vec3<T>; 3],
    /// Origin of the joint frame in the parent frame, m.
    origin: Vec3<T>,
    rotation: bool,
}

impl<T: Scalar> JointTransform<T> {
    /// The transform of `joint`, which has one coordinate `q` (rad or m) with sine and cosine `turn`.
    #[inline]
    fn new(joint: &Joint, q: T, (sin, cos): (T, T)) -> Self {
        let fixed = vec3::constant(&joint.placement.translation);
        let r = &joint.placement.rotation;
        let mut columns = [vec3::zero(); 3];
        if joint.kind.is_rotation() {
            if T::PRODUCT {
                let row = |i: usize| {
                    (cos.scale(r[(i, 0)]) + sin.scale(r[(i, 1)]), cos.scale(r[(i, 1)]) - sin.scale(r[(i, 0)]))
                };
                let rows = [row(0), row(1), row(2)];
                columns = [
                    vec3::each(|i| rows[i].0),
                    vec3::each(|i| rows[i].1),
                    vec3::constant(&r.column(2).into_owned()),
                ];
            }
            Self { cos, sin, columns, origin: fixed, rotation: true }
        } else {
            if T::PRODUCT {
                columns = vec3::each(|c| vec3::constant(&r.column(c).into_owned()));
            }
            let axis = r.column(2).into_owned();
            let shift = vec3::times(&vec3::constant(&axis), q);
            let origin = vec3::add(&fixed, &shift);
            Self { cos: T::constant(1.0), sin: T::zero(), columns, origin, rotation: false }
        }
    }

    /// A transform to be filled.
    fn blank() -> Self {
        let zero = vec3::zero();
        Self { cos: T::constant(1.0), sin: T::zero(), columns: [zero; 3], origin: zero, rotation: false }
    }

    /// Rotates a vector from the joint frame to the parent frame.
    #[inline]
    pub fn to_parent(&self, joint: &Joint, x: &Vec3<T>) -> Vec3<T> {
        if T::PRODUCT {
            return vec3::combine(&self.columns, x);
        }
        let turned = if self.rotation {
            [self.cos * x[0] - self.sin * x[1], self.sin * x[0] + self.cos * x[1], x[2]]
        } else {
            *x
        };
        vec3::rotate(&joint.placement.rotation, &turned)
    }

    /// Rotates a vector from the parent frame to the joint frame.
    #[inline]
    pub fn to_child(&self, joint: &Joint, x: &Vec3<T>) -> Vec3<T> {
        if T::PRODUCT {
            return replaced(*x, |c, _| vec3::dot(&self.columns[c], x));
        }
        let y = vec3::rotate_back(&joint.placement.rotation, x);
        if self.rotation {
            [self.cos * y[0] + self.sin * y[1], self.cos * y[1] - self.sin * y[0], y[2]]
        } else {
            y
        }
    }

    /// `origin x x` for a vector in the parent frame.
    #[inline]
    pub fn lever(&self, joint: &Joint, x: &Vec3<T>) -> Vec3<T> {
        if self.rotation && !T::PRODUCT {
            vec3::cross_constant(&joint.placement.translation, x)
        } else {
            vec3::cross(&self.origin, x)
        }
    }

    /// A vector in the parent frame, `lin` of a pair (linear, angular) about its origin, moved to the joint's origin:
    /// lin + ang x p, then both rotated to the joint frame.
    #[inline]
    pub(super) fn carry(&self, joint: &Joint, lin: &Vec3<T>, ang: &Vec3<T>) -> Vec3<T> {
        // v + w x p = v - p x w
        self.to_child(joint, &vec3::sub(lin, &self.lever(joint, ang)))
    }

    /// R I R' of a symmetric matrix I (I_xx, I_xy, I_yy, I_xz, I_yz, I_zz): turns the columns, then the rows.
    #[inline]
    pub(super) fn symmetric_to_parent(&self, joint: &Joint, inertia: &[T; 6]) -> [T; 6] {
        let [xx, xy, yy, xz, yz, zz] = *inertia;
        if T::PRODUCT {
            return turn_symmetric(&self.columns, inertia);
        }
        let columns = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        let columns: [_; 3] = vec3::each(|c| self.to_parent(joint, &columns[c]));
        let row = |r: usize| [columns[0][r], columns[1][r], columns[2][r]];
        let [x, y, z] = vec3::each(|r| self.to_parent(joint, &row(r)));
        [x[0], y[0], y[1], z[0], z[1], z[2]]
    }

    /// Columns of the rotation from the joint frame to the parent frame; only where [`Scalar::PRODUCT`] holds.
    #[inline]
    pub(super) fn columns(&self) -> &[Vec3<T>; 3] {
        debug_assert!(T::PRODUCT);
        &self.columns
    }

    /// Origin of the joint frame in the parent frame, m.
    #[inline]
    pub fn origin(&self) -> &Vec3<T> {
        &self.origin
    }
}

/// R I R' of a symmetric matrix I (I_xx, I_xy, I_yy, I_xz, I_yz, I_zz), with R by its columns.
#[inline]
pub(super) fn turn_symmetric<T: Scalar>(turn: &[Vec3<T>; 3], inertia: &[T; 6]) -> [T; 6] {
    let [xx, xy, yy, xz, yz, zz] = *inertia;
    let columns = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    let columns = vec3::each(|c| vec3::combine(turn, &columns[c]));
    let rows = transposed(turn);
    let [x, y, z] = transposed(&columns);
    [
        vec3::dot(&rows[0], &x),
        vec3::dot(&rows[0], &y),
        vec3::dot(&rows[1], &y),
        vec3::dot(&rows[0], &z),
        vec3::dot(&rows[1], &z),
        vec3::dot(&rows[2], &z),
    ]
}

/// Rows of a matrix given by its columns.
#[inline]
fn transposed<T: Scalar>([a, b, c]: &[Vec3<T>; 3]) -> [Vec3<T>; 3] {
    [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]]
}

/// Velocities and accelerations of one body in its own frame.
#[derive(Debug, Clone, Copy)]
pub struct BodyMotion<T> {
    /// Angular velocity, rad/s.
    pub w: Vec3<T>,
    /// Velocity of the origin, m/s.
    pub v: Vec3<T>,
    /// Auxiliary angular velocity (of dq_a).
    pub wa: Vec3<T>,
    /// Auxiliary velocity of the origin.
    pub va: Vec3<T>,
    /// Auxiliary angular acceleration, rad/s^2.
    pub dw: Vec3<T>,
    /// Auxiliary spatial acceleration of the origin minus gravity, m/s^2.
    pub a: Vec3<T>,
    /// Its classical acceleration minus gravity, a + w x va.
    pub classical: Vec3<T>,
    /// Gravity in the body frame, m/s^2.
    pub g: Vec3<T>,
}

impl<T: Scalar> BodyMotion<T> {
    fn rest(gravity: &Vector3<f64>) -> Self {
        let (z, up) = (vec3::zero(), vec3::constant(&-gravity));
        Self { w: z, v: z, wa: z, va: z, dw: z, a: up, classical: up, g: vec3::constant(gravity) }
    }
}

/// Transforms and motions of all bodies; the scratch space of the recursive algorithms.
#[derive(Debug, Clone)]
pub struct Motion<T> {
    /// One a joint; that of a free flyer is never used.
    pub(super) transforms: Vec<JointTransform<T>>,
    pub(super) bodies: Vec<BodyMotion<T>>,
    /// Placement of a free-flying root body.
    pub(super) root: BodyPlacement<T>,
    turns: Vec<(T, T)>,
    first_child: Vec<Option<usize>>,
    next_sibling: Vec<Option<usize>>,
}

impl<T: Scalar> Motion<T> {
    /// Scratch space for `robot`; the only allocation.
    pub fn new(robot: &Model) -> Self {
        let n = robot.bodies();
        let (mut first_child, mut next_sibling) = (vec![None; n], vec![None; n]);
        for i in (0..n).rev() {
            if let Some(parent) = robot.joints[i].parent {
                next_sibling[i] = first_child[parent].replace(i);
            }
        }
        // `vec![x; n]` would clone number by number: 1.2 % of the machine code of `cargo try`.
        let (blank, rest) = (JointTransform::blank(), BodyMotion::rest(&robot.gravity));
        let mut motion = Self {
            transforms: (0..n).map(|_| blank).collect(),
            bodies: (0..n).map(|_| rest).collect(),
            root: BodyPlacement::base(),
            turns: vec![(T::zero(), T::constant(1.0)); n],
            first_child,
            next_sibling,
        };
        motion.fill_transforms(robot, &vec![T::zero(); n]);
        motion
    }

    /// The joints that hang on joint `i`.
    #[inline]
    pub(super) fn children(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.first_child[i], |&c| self.next_sibling[c])
    }

    /// Fills the joint transforms at `q` (length nq; the quaternion of a free flyer must have length 1).
    pub fn place(&mut self, robot: &Model, q: &[T]) {
        if !robot.has_free_flyer() {
            T::sin_cos_slice(q, &mut self.turns);
            self.fill_transforms(robot, q);
            return;
        }
        let (root, rest) = q.split_at(7);
        self.root =
            BodyPlacement::from_quaternion([root[3], root[4], root[5], root[6]], [root[0], root[1], root[2]]);
        T::sin_cos_slice(rest, &mut self.turns);
        self.fill_transforms(robot, rest);
    }

    /// From `turns`, whose first entry belongs to the first joint with one coordinate, as `q`'s does.
    fn fill_transforms(&mut self, robot: &Model, q: &[T]) {
        let first = robot.first_actuated();
        let joints = self.transforms[first..].iter_mut().zip(&robot.joints[first..]);
        for ((transform, joint), (q, turn)) in joints.zip(q.iter().zip(&self.turns)) {
            *transform = JointTransform::new(joint, *q, *turn);
        }
    }

    /// Fills transforms and motions for position `q` (length nq), velocity `dq`, auxiliary velocity `dqa` and auxiliary
    /// acceleration `ddqa` (length nv; rad, rad/s, rad/s^2).
    pub fn sweep(&mut self, robot: &Model, q: &[T], dq: &[T], dqa: &[T], ddqa: &[T]) {
        self.place(robot, q);
        self.recur::<true>(robot, &robot.gravity, dq, dqa, ddqa);
    }

    /// [`Motion::sweep`] where nothing weighs anything.
    pub fn sweep_weightless(&mut self, robot: &Model, q: &[T], dq: &[T], dqa: &[T], ddqa: &[T]) {
        self.place(robot, q);
        self.recur::<true>(robot, &Vector3::zeros(), dq, dqa, ddqa);
    }

    /// [`Motion::sweep`] with the velocity itself as auxiliary one: plain dynamics, in fewer operations.
    pub fn sweep_plain(&mut self, robot: &Model, q: &[T], dq: &[T], ddq: &[T]) {
        self.place(robot, q);
        self.recur::<false>(robot, &robot.gravity, dq, dq, ddq);
    }

    /// Fills transforms, velocities and gravity alone, for fixed bases: what the momentum and its rate need. Auxiliary motions and
    /// accelerations stay as they are.
    pub fn sweep_velocities(&mut self, robot: &Model, q: &[T], dq: &[T]) {
        self.place(robot, q);
        self.sweep_velocities_there(robot, dq);
    }

    /// [`Motion::sweep_velocities`] at the position of the last [`Motion::place`].
    pub fn sweep_velocities_there(&mut self, robot: &Model, dq: &[T]) {
        let rest = BodyMotion::rest(&robot.gravity);
        for (i, (joint, &dq)) in robot.joints.iter().zip(dq).enumerate() {
            let x = &self.transforms[i];
            let (before, here) = self.bodies.split_at_mut(i);
            let (parent, body) = (joint.parent.map_or(&rest, |p| &before[p]), &mut here[0]);
            body.w = x.to_child(joint, &parent.w);
            body.v = x.carry(joint, &parent.v, &parent.w);
            body.g = x.to_child(joint, &parent.g);
            let own = if joint.kind.is_rotation() { &mut body.w[2] } else { &mut body.v[2] };
            *own = *own + dq;
        }
    }

    fn recur<const AUXILIARY: bool>(
        &mut self,
        robot: &Model,
        gravity: &Vector3<f64>,
        dq: &[T],
        dqa: &[T],
        ddqa: &[T],
    ) {
        let rest = BodyMotion::rest(gravity);
        let first = robot.first_actuated();
        if first == 1 {
            self.bodies[0] = root_motion(&self.root, gravity, dq, dqa, ddqa);
        }
        let from = if first == 1 { 6 } else { 0 };
        let rates = dq[from..].iter().zip(dqa[from..].iter().zip(&ddqa[from..]));
        let joints = robot.joints[first..].iter().zip(&self.transforms[first..]);
        for ((i, (joint, x)), (&dq, (&dqa, &ddqa))) in (first..).zip(joints).zip(rates) {
            let (before, here) = self.bodies.split_at_mut(i);
            let parent = joint.parent.map_or(&rest, |p| &before[p]);
            let w = x.to_child(joint, &parent.w);
            let v = x.carry(joint, &parent.v, &parent.w);
            let (wa, va) = if AUXILIARY {
                (x.to_child(joint, &parent.wa), x.carry(joint, &parent.va, &parent.wa))
            } else {
                (w, v)
            };
            let dw = x.to_child(joint, &parent.dw);
            let a = x.carry(joint, &parent.a, &parent.dw);
            let g = x.to_child(joint, &parent.g);
            let body = BodyMotion { w, v, wa, va, dw, a, classical: a, g };
            here[0] = with_joint_motion(joint, body, dq, dqa, ddqa);
        }
    }
}

/// The motion of a free-flying body: what the velocities say, and gravity.
fn root_motion<T: Scalar>(
    root: &BodyPlacement<T>,
    down: &Vector3<f64>,
    dq: &[T],
    dqa: &[T],
    ddqa: &[T],
) -> BodyMotion<T> {
    let halves = |x: &[T]| ([x[0], x[1], x[2]], [x[3], x[4], x[5]]);
    let ((v, w), (va, wa), (a, dw)) = (halves(dq), halves(dqa), halves(ddqa));
    let along = |[x, y, z]: &Vec3<T>| x.scale(down.x) + y.scale(down.y) + z.scale(down.z);
    let g = vec3::each(|k| along(&root.axes[k]));
    let a = vec3::sub(&a, &g);
    let classical = vec3::add(&a, &vec3::cross(&w, &va));
    BodyMotion { w, v, wa, va, dw, a, classical, g }
}

/// Adds the joint's own motion to the carried one: d/dt (X va) = X a - (S dq) x (X va).
#[inline]
fn with_joint_motion<T: Scalar>(
    joint: &Joint,
    mut body: BodyMotion<T>,
    dq: T,
    dqa: T,
    ddqa: T,
) -> BodyMotion<T> {
    // z-components of the products are zero.
    let add_swing = |to: &mut Vec3<T>, of: &Vec3<T>| {
        to[0] = of[1].mul_add(dq, to[0]);
        to[1] = (-of[0]).mul_add(dq, to[1]);
    };
    if joint.kind.is_rotation() {
        add_swing(&mut body.dw, &body.wa);
        add_swing(&mut body.a, &body.va);
        body.w[2] = body.w[2] + dq;
        body.wa[2] = body.wa[2] + dqa;
        body.dw[2] = body.dw[2] + ddqa;
    } else {
        add_swing(&mut body.a, &body.wa);
        body.v[2] = body.v[2] + dq;
        body.va[2] = body.va[2] + dqa;
        body.a[2] = body.a[2] + ddqa;
    }
    body.classical = vec3::add(&body.a, &vec3::cross(&body.w, &body.va));
    body
}
