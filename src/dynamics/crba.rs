//! Composite rigid bodies: the joint-space mass matrix for any scalar and any parameters.

use crate::robot::{INERTIAL, Robot};
use crate::scalar::Scalar;

use super::motion::Motion;
use super::rnea::inertia_times;
use super::vec3::{self, Vec3};

/// Scratch space of [`crba`]: the composite inertia of each subtree.
#[derive(Debug, Clone)]
pub struct Composites<T> {
    subtree: Vec<[T; INERTIAL]>,
}

impl<T: Scalar> Composites<T> {
    /// Scratch space for `robot`; the only allocation.
    pub fn new(robot: &Robot) -> Self {
        Self { subtree: vec![[T::zero(); INERTIAL]; robot.dof()] }
    }
}

/// Mass matrix of the links, M(q; theta), row-major n x n (kg m^2), without transmission inertia.
///
/// Needs the transforms of [`Motion::place`] only. `theta` holds at least the 10 n inertial parameters.
pub fn crba<T: Scalar>(
    robot: &Robot,
    motion: &Motion<T>,
    theta: &[T],
    composites: &mut Composites<T>,
    mass: &mut [T],
) {
    let n = robot.dof();
    mass.fill(T::zero());
    for (i, subtree) in composites.subtree.iter_mut().enumerate() {
        subtree.copy_from_slice(&theta[INERTIAL * i..INERTIAL * (i + 1)]);
    }
    for i in (0..n).rev() {
        let body = composites.subtree[i];
        if let Some(parent) = robot.joints[i].parent {
            let carried = in_parent(robot, motion, i, &body);
            for (sum, x) in composites.subtree[parent].iter_mut().zip(carried) {
                *sum = *sum + x;
            }
        }
        let (mut f, mut moment) = unit_momentum(robot, i, &body);
        let mut j = i;
        loop {
            let along = if robot.joints[j].kind.is_rotation() { moment[2] } else { f[2] };
            mass[n * i + j] = along;
            mass[n * j + i] = along;
            let joint = &robot.joints[j];
            let Some(parent) = joint.parent else { break };
            let x = &motion.transforms[j];
            f = x.to_parent(joint, &f);
            moment = vec3::add(&x.to_parent(joint, &moment), &x.lever(joint, &f));
            j = parent;
        }
    }
}

/// Momentum of a body that moves with unit speed along its joint's axis: z x h and I z, or m z and h x z.
fn unit_momentum<T: Scalar>(robot: &Robot, i: usize, body: &[T; INERTIAL]) -> (Vec3<T>, Vec3<T>) {
    let h = [body[1], body[2], body[3]];
    if robot.joints[i].kind.is_rotation() {
        let z = [T::zero(), T::zero(), T::constant(1.0)];
        (vec3::cross_z(&h).map(|x| -x), inertia_times(&body[4..], &z))
    } else {
        ([T::zero(), T::zero(), body[0]], vec3::cross_z(&h))
    }
}

/// A subtree's parameters in its parent's frame: with h' = R h,
/// I_parent = R I R' + 2 (h'.p) 1 - h' p' - p h'' + m ((p.p) 1 - p p').
fn in_parent<T: Scalar>(robot: &Robot, motion: &Motion<T>, i: usize, body: &[T; INERTIAL]) -> [T; INERTIAL] {
    let (joint, x) = (&robot.joints[i], &motion.transforms[i]);
    let p = *x.origin();
    let m = body[0];
    let turned = x.to_parent(joint, &[body[1], body[2], body[3]]);
    let h: Vec3<T> = std::array::from_fn(|r| turned[r] + p[r] * m);
    // R I R': turn the columns, then the rows.
    let [xx, xy, yy, xz, yz, zz] = [body[4], body[5], body[6], body[7], body[8], body[9]];
    let rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]].map(|row| x.to_parent(joint, &row));
    let columns: [Vec3<T>; 3] =
        std::array::from_fn(|c| x.to_parent(joint, &[rows[0][c], rows[1][c], rows[2][c]]));
    let trace = vec3::dot(&turned, &p).scale(2.0) + vec3::dot(&p, &p) * m;
    let entry = |r: usize, c: usize| {
        let outer = turned[r] * p[c] + p[r] * turned[c] + p[r] * p[c] * m;
        let e = columns[r][c] - outer;
        if r == c { e + trace } else { e }
    };
    [m, h[0], h[1], h[2], entry(0, 0), entry(0, 1), entry(1, 1), entry(0, 2), entry(1, 2), entry(2, 2)]
}
