//! Composite rigid bodies: the joint-space mass matrix for any scalar and any parameters.

use crate::robot::{INERTIAL, Robot};
use crate::scalar::Scalar;

use super::motion::Motion;
use super::rnea::Wrench;
use super::vec3::{self, Vec3};

/// Scratch space of [`crba`]: the composite inertia of each subtree.
#[derive(Debug, Clone)]
pub struct Composites<T> {
    subtree: Vec<[T; INERTIAL]>,
}

impl<T: Scalar> Composites<T> {
    /// Scratch space for `robot`; the only allocation.
    pub fn new(robot: &Robot) -> Self {
        Self { subtree: vec![[T::zero(); INERTIAL]; robot.bodies()] }
    }
}

/// Mass matrix of the links, M(q; theta), row-major nv x nv (kg m^2), without transmission inertia.
///
/// Needs the transforms of [`Motion::place`] only. `theta` holds at least the 10 inertial parameters of each body.
pub fn crba<T: Scalar>(
    robot: &Robot,
    motion: &Motion<T>,
    theta: &[T],
    composites: &mut Composites<T>,
    mass: &mut [T],
) {
    let n = robot.dof();
    let first = robot.first_actuated();
    let offset = n - robot.bodies();
    mass.fill(T::zero());
    for (subtree, theta) in composites.subtree.iter_mut().zip(theta.chunks_exact(INERTIAL)) {
        subtree.copy_from_slice(theta);
    }
    for i in (first..robot.bodies()).rev() {
        let body = composites.subtree[i];
        if let Some(parent) = robot.joints[i].parent {
            let carried = in_parent(robot, motion, i, &body);
            for (sum, x) in composites.subtree[parent].iter_mut().zip(carried) {
                *sum = *sum + x;
            }
        }
        let column = i + offset;
        let mut momentum = unit_momentum(robot, i, &body);
        let mut j = i;
        loop {
            let joint = &robot.joints[j];
            let along = if joint.kind.is_rotation() { momentum.n[2] } else { momentum.f[2] };
            let row = j + offset;
            mass[n * column + row] = along;
            mass[n * row + column] = along;
            let Some(parent) = joint.parent else { break };
            momentum = momentum.in_parent(joint, &motion.transforms[j]);
            if parent < first {
                for r in 0..3 {
                    for (row, along) in [(r, momentum.f[r]), (r + 3, momentum.n[r])] {
                        mass[n * column + row] = along;
                        mass[n * row + column] = along;
                    }
                }
                break;
            }
            j = parent;
        }
    }
    if first == 1 {
        root_block(&composites.subtree[0], n, mass);
    }
}

/// Mass matrix of a free-flying composite body: \[\[m 1, -\[h\]\], \[\[h\], I\]\].
fn root_block<T: Scalar>(body: &[T; INERTIAL], n: usize, mass: &mut [T]) {
    let [m, x, y, z, xx, xy, yy, xz, yz, zz] = *body;
    let zero = T::zero();
    let cross = [[zero, -z, y], [z, zero, -x], [-y, x, zero]];
    let inertia = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    for r in 0..3 {
        mass[n * r + r] = m;
        for c in 0..3 {
            mass[n * (r + 3) + c] = cross[r][c];
            mass[n * r + c + 3] = cross[c][r];
            mass[n * (r + 3) + c + 3] = inertia[r][c];
        }
    }
}

/// Momentum of a body that moves with unit speed along its joint's axis: z x h and I z, or m z and h x z.
fn unit_momentum<T: Scalar>(robot: &Robot, i: usize, body: &[T; INERTIAL]) -> Wrench<T> {
    let h = [body[1], body[2], body[3]];
    if robot.joints[i].kind.is_rotation() {
        Wrench { f: vec3::cross_z(&h).map(|x| -x), n: [body[7], body[8], body[9]] }
    } else {
        Wrench { f: [T::zero(), T::zero(), body[0]], n: vec3::cross_z(&h) }
    }
}

/// A subtree's parameters in its parent's frame: with h' = R h,
/// I_parent = R I R' + 2 (h'.p) 1 - h' p' - p h'' + m ((p.p) 1 - p p'), where p h'' + m p p' = p (h' + m p)'.
fn in_parent<T: Scalar>(robot: &Robot, motion: &Motion<T>, i: usize, body: &[T; INERTIAL]) -> [T; INERTIAL] {
    let (joint, x) = (&robot.joints[i], &motion.transforms[i]);
    let p = *x.origin();
    let m = body[0];
    let turned = x.to_parent(joint, &[body[1], body[2], body[3]]);
    let h: Vec3<T> = std::array::from_fn(|r| p[r].mul_add(m, turned[r]));
    let inertia = x.symmetric_to_parent(joint, &[body[4], body[5], body[6], body[7], body[8], body[9]]);
    let trace = vec3::dot(&turned, &p).scale(2.0) + vec3::dot(&p, &p) * m;
    let [xx, xy, yy, xz, yz, zz] = inertia;
    let (xx, yy, zz) = (xx + trace, yy + trace, zz + trace);
    let [xx, yy, zz] = [
        xx - outer(&turned, &p, &h, 0, 0),
        yy - outer(&turned, &p, &h, 1, 1),
        zz - outer(&turned, &p, &h, 2, 2),
    ];
    let [xy, xz, yz] = [
        xy - outer(&turned, &p, &h, 0, 1),
        xz - outer(&turned, &p, &h, 0, 2),
        yz - outer(&turned, &p, &h, 1, 2),
    ];
    [m, h[0], h[1], h[2], xx, xy, yy, xz, yz, zz]
}

/// Entry (r, c) of h' p' + p h'.
#[inline(always)]
fn outer<T: Scalar>(turned: &Vec3<T>, p: &Vec3<T>, h: &Vec3<T>, r: usize, c: usize) -> T {
    turned[r].mul_add(p[c], p[r] * h[c])
}
