//! Joint transforms and the velocity / acceleration recursion that every algorithm starts with.
//!
//! Body quantities are expressed in the body's own frame, about its origin: `w` angular velocity, `v` linear
//! velocity of the origin, `dw` and `a` their rates as seen in the body frame (`a` is the spatial acceleration, so
//! that the classical one is `a + w x v`), with gravity entered as an upward acceleration of the base.
//!
//! The *auxiliary* velocity dq_a of the passivity-based control law is carried beside the true one dq, so that
//! M(q) ddq_a + C(q, dq) dq_a + g(q) is computed with a C for which dM/dt - 2C is skew-symmetric (see
//! [`mod@super::rnea`]). Plain inverse dynamics passes dq for both.

use crate::robot::{Joint, Robot};
use crate::scalar::Scalar;

use super::vec3::{self, Vec3};

/// Transform of one joint at its coordinate: `x_parent = R_fix Rz(q) x + p` (or a shift along z if prismatic).
#[derive(Debug, Clone, Copy)]
pub struct JointTransform<T> {
    /// cos q and sin q; 1 and 0 for a prismatic joint.
    cos: T,
    sin: T,
    /// Origin of the joint frame in the parent frame, m.
    origin: Vec3<T>,
    rotation: bool,
}

impl<T: Scalar> JointTransform<T> {
    /// The transform of `joint` at coordinate `q` (rad or m).
    pub fn new(joint: &Joint, q: T) -> Self {
        let fixed = vec3::constant(&joint.placement.translation);
        if joint.kind.is_rotation() {
            let (sin, cos) = q.sin_cos();
            Self { cos, sin, origin: fixed, rotation: true }
        } else {
            let axis = joint.placement.rotation.column(2).into_owned();
            let shift = vec3::times(&vec3::constant(&axis), q);
            Self { cos: T::constant(1.0), sin: T::zero(), origin: vec3::add(&fixed, &shift), rotation: false }
        }
    }

    /// Rotates a vector from the joint frame to the parent frame.
    #[inline]
    pub fn to_parent(&self, joint: &Joint, x: &Vec3<T>) -> Vec3<T> {
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
        if self.rotation {
            vec3::cross_constant(&joint.placement.translation, x)
        } else {
            vec3::cross(&self.origin, x)
        }
    }

    /// Origin of the joint frame in the parent frame, m.
    #[inline]
    pub fn origin(&self) -> &Vec3<T> {
        &self.origin
    }
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
    /// Gravity in the body frame, m/s^2.
    pub g: Vec3<T>,
}

impl<T: Scalar> BodyMotion<T> {
    fn rest(gravity: &nalgebra::Vector3<f64>) -> Self {
        let z = vec3::zero();
        Self { w: z, v: z, wa: z, va: z, dw: z, a: vec3::constant(&-gravity), g: vec3::constant(gravity) }
    }
}

/// Transforms and motions of all bodies; the scratch space of the recursive algorithms.
#[derive(Debug, Clone)]
pub struct Motion<T> {
    pub(super) transforms: Vec<JointTransform<T>>,
    pub(super) bodies: Vec<BodyMotion<T>>,
}

impl<T: Scalar> Motion<T> {
    /// Scratch space for `robot`; the only allocation.
    pub fn new(robot: &Robot) -> Self {
        let transforms = robot.joints.iter().map(|j| JointTransform::new(j, T::zero())).collect();
        Self { transforms, bodies: vec![BodyMotion::rest(&robot.gravity); robot.dof()] }
    }

    /// Fills the joint transforms at `q`.
    pub fn place(&mut self, robot: &Robot, q: &[T]) {
        for ((transform, joint), q) in self.transforms.iter_mut().zip(&robot.joints).zip(q) {
            *transform = JointTransform::new(joint, *q);
        }
    }

    /// Fills transforms and motions for position `q`, velocity `dq`, auxiliary velocity `dqa` and auxiliary
    /// acceleration `ddqa` (all of length n; rad, rad/s, rad/s^2).
    pub fn sweep(&mut self, robot: &Robot, q: &[T], dq: &[T], dqa: &[T], ddqa: &[T]) {
        self.place(robot, q);
        for (i, joint) in robot.joints.iter().enumerate() {
            let parent = joint.parent.map_or_else(|| BodyMotion::rest(&robot.gravity), |p| self.bodies[p]);
            let x = &self.transforms[i];
            // Parent motion seen from the joint frame, before the joint's own motion.
            let carried = |lin: &Vec3<T>, ang: &Vec3<T>| {
                // v + w x p = v - p x w
                x.to_child(joint, &vec3::sub(lin, &x.lever(joint, ang)))
            };
            let w = x.to_child(joint, &parent.w);
            let v = carried(&parent.v, &parent.w);
            let wa = x.to_child(joint, &parent.wa);
            let va = carried(&parent.va, &parent.wa);
            let dw = x.to_child(joint, &parent.dw);
            let a = carried(&parent.a, &parent.dw);
            let g = x.to_child(joint, &parent.g);
            let body = BodyMotion { w, v, wa, va, dw, a, g };
            self.bodies[i] = with_joint_motion(joint, body, dq[i], dqa[i], ddqa[i]);
        }
    }
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
    if joint.kind.is_rotation() {
        body.dw = vec3::add(&body.dw, &vec3::times(&vec3::cross_z(&body.wa), dq));
        body.a = vec3::add(&body.a, &vec3::times(&vec3::cross_z(&body.va), dq));
        body.w[2] = body.w[2] + dq;
        body.wa[2] = body.wa[2] + dqa;
        body.dw[2] = body.dw[2] + ddqa;
    } else {
        body.a = vec3::add(&body.a, &vec3::times(&vec3::cross_z(&body.wa), dq));
        body.v[2] = body.v[2] + dq;
        body.va[2] = body.va[2] + dqa;
        body.a[2] = body.a[2] + ddqa;
    }
    body
}
