//! Recursive Newton-Euler: joint torques from motion, for any scalar and any parameters.

use crate::inertia::INERTIAL;
use crate::robot::{Joint, Model};
use crate::scalar::Scalar;

use super::motion::{BodyMotion, JointTransform, Motion};
use super::vec3::{self, Vec3};

/// A force `f` (N) and a moment `n` (N m) about a body's origin, in its frame.
#[derive(Debug, Clone, Copy)]
pub struct Wrench<T> {
    /// Force.
    pub f: Vec3<T>,
    /// Moment about the origin.
    pub n: Vec3<T>,
}

/// Passivity-based inverse dynamics, tau = M(q) ddq_a + C(q, dq) dq_a + g(q) (N m), without friction.
///
/// C is the one for which dM/dt - 2C is skew-symmetric: with body Jacobians J, body inertias I (constant in the
/// body frame) and M = sum J'IJ, C = sum J'(I dJ + B J) has that property whenever B is skew, and the body force
/// used here, f = m (a + w x va) + dw x h + w x (wa x h), n = I dw + wa x (I w) + h x (a + w x va), is
/// I (dv/dt) + B v_a with a skew B. With dq_a = dq it is plain inverse dynamics.
///
/// `theta` holds the 10 inertial parameters of each body (longer slices are fine), `tau` receives nv torques (a free
/// flyer's first: force, then moment, in its frame); `wrenches` has an entry a body.
pub fn rnea<T: Scalar>(
    robot: &Model,
    motion: &Motion<T>,
    theta: &[T],
    wrenches: &mut [Wrench<T>],
    tau: &mut [T],
) {
    let (first, offset) = (robot.first_actuated(), robot.nv() - robot.bodies());
    for ((wrench, body), theta) in wrenches.iter_mut().zip(&motion.bodies).zip(theta.chunks_exact(INERTIAL)) {
        *wrench = body_wrench(body, theta);
    }
    for (i, joint) in robot.joints.iter().enumerate().skip(first).rev() {
        let wrench = wrenches[i];
        tau[i + offset] = if joint.kind.is_rotation() { wrench.n[2] } else { wrench.f[2] };
        if let Some(p) = joint.parent {
            let carried = wrench.in_parent(joint, &motion.transforms[i]);
            let sum = &mut wrenches[p];
            *sum = Wrench { f: vec3::add(&sum.f, &carried.f), n: vec3::add(&sum.n, &carried.n) };
        }
    }
    if first == 1 {
        tau[..3].copy_from_slice(&wrenches[0].f);
        tau[3..6].copy_from_slice(&wrenches[0].n);
    }
}

impl<T: Scalar> Wrench<T> {
    /// The zero wrench.
    pub fn zero() -> Self {
        Self { f: vec3::zero(), n: vec3::zero() }
    }

    /// The same wrench in the parent's frame, about its origin.
    #[inline]
    pub(super) fn in_parent(&self, joint: &Joint, x: &JointTransform<T>) -> Self {
        let f = x.to_parent(joint, &self.f);
        let n = vec3::add(&x.to_parent(joint, &self.n), &x.lever(joint, &f));
        Self { f, n }
    }
}

/// The inertia matrix (I_xx, I_xy, I_yy, I_xz, I_yz, I_zz) times a vector.
#[inline]
fn inertia_times<T: Scalar>(inertia: &[T; 6], x: &Vec3<T>) -> Vec3<T> {
    let [xx, xy, yy, xz, yz, zz] = *inertia;
    [xx * x[0] + xy * x[1] + xz * x[2], xy * x[0] + yy * x[1] + yz * x[2], xz * x[0] + yz * x[1] + zz * x[2]]
}

#[inline]
fn body_wrench<T: Scalar>(body: &BodyMotion<T>, theta: &[T]) -> Wrench<T> {
    let (m, h) = (theta[0], [theta[1], theta[2], theta[3]]);
    let inertia = &[theta[4], theta[5], theta[6], theta[7], theta[8], theta[9]];
    let classical = body.classical;
    let f = vec3::add(
        &vec3::times(&classical, m),
        &vec3::add(&vec3::cross(&body.dw, &h), &vec3::cross(&body.w, &vec3::cross(&body.wa, &h))),
    );
    let n = vec3::add(
        &vec3::add(
            &inertia_times(inertia, &body.dw),
            &vec3::cross(&body.wa, &inertia_times(inertia, &body.w)),
        ),
        &vec3::cross(&h, &classical),
    );
    Wrench { f, n }
}
