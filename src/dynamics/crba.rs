//! Composite rigid bodies: the joint-space mass matrix for any scalar and any parameters.

use crate::inertia::INERTIAL;
use crate::robot::Model;
use crate::scalar::{Scalar, replaced};

use super::motion::{Motion, turn_symmetric};
use super::rnea::Wrench;
use super::vec3::{self, Vec3};

/// Scratch space of [`crba`]: the composite inertia of each subtree.
#[derive(Debug, Clone)]
pub struct Composites<T> {
    subtree: Vec<[T; INERTIAL]>,
    /// Where a product is cheap: the bodies' orientations.
    turned: Vec<Turned<T>>,
    /// Whether every joint hangs on the one before and the first on the base: then every entry of the mass matrix is
    /// written.
    chain: bool,
}

/// A body frame in axes parallel to those of the base, or of the root body if that flies.
#[derive(Debug, Clone, Copy)]
struct Turned<T> {
    /// Columns of the rotation from the body to these axes.
    columns: [Vec3<T>; 3],
    /// From the parent's origin to the body's, m.
    arm: Vec3<T>,
    /// The joint's parent; `None` if that does not turn against these axes.
    parent: Option<usize>,
    rotation: bool,
}

impl<T: Scalar> Composites<T> {
    /// Scratch space for `robot`; the only allocation.
    pub fn new(robot: &Model) -> Self {
        let first = robot.first_actuated();
        let turned = robot.joints.iter().map(|joint| Turned {
            columns: [vec3::zero(); 3],
            arm: vec3::zero(),
            parent: joint.parent.filter(|&p| p >= first),
            rotation: joint.kind.is_rotation(),
        });
        let chain =
            first == 0 && robot.joints.iter().enumerate().all(|(i, joint)| joint.parent == i.checked_sub(1));
        let turned = if T::PRODUCT { turned.collect() } else { Vec::new() };
        Self { subtree: vec![[T::zero(); INERTIAL]; robot.bodies()], turned, chain }
    }
}

/// Mass matrix of the links, M(q; theta), row-major nv x nv (kg m^2), without transmission inertia.
///
/// Needs the transforms of [`Motion::place`] only. `theta` holds at least the 10 inertial parameters of each body.
pub fn crba<T: Scalar>(
    robot: &Model,
    motion: &Motion<T>,
    theta: &[T],
    composites: &mut Composites<T>,
    mass: &mut [T],
) {
    let n = robot.dof();
    if !composites.chain {
        mass.fill(T::zero());
    }
    if T::PRODUCT {
        composites.turn(robot, motion, theta);
        composites.fill_turned(robot, mass);
    } else {
        composites.fill(robot, motion, theta, mass);
    }
    if robot.first_actuated() == 1 {
        root_block(&composites.subtree[0], n, mass);
    }
}

impl<T: Scalar> Composites<T> {
    /// The mass matrix but for the root's block, each body in its own frame: turning forth and back would widen an
    /// enclosure.
    fn fill(&mut self, robot: &Model, motion: &Motion<T>, theta: &[T], mass: &mut [T]) {
        let (n, first) = (robot.dof(), robot.first_actuated());
        let offset = n - robot.bodies();
        for (subtree, theta) in self.subtree.iter_mut().zip(theta.chunks_exact(INERTIAL)) {
            subtree.copy_from_slice(theta);
        }
        for i in (first..robot.bodies()).rev() {
            let body = self.subtree[i];
            if let Some(parent) = robot.joints[i].parent {
                let carried = in_parent(robot, motion, i, &body);
                for (sum, x) in self.subtree[parent].iter_mut().zip(carried) {
                    *sum = *sum + x;
                }
            }
            let column = i + offset;
            let mut momentum = unit_momentum(robot, i, &body);
            let mut j = i;
            loop {
                let joint = &robot.joints[j];
                let along = if joint.kind.is_rotation() { momentum.n[2] } else { momentum.f[2] };
                set(mass, n, column, j + offset, along);
                let Some(parent) = joint.parent else { break };
                momentum = momentum.in_parent(joint, &motion.transforms[j]);
                if parent < first {
                    root_column(&momentum, n, column, mass);
                    break;
                }
                j = parent;
            }
        }
    }

    /// Turns all bodies to common axes. Everything that is done for each pair of joints is cheaper there: a wrench is
    /// only shifted, not turned, and what must be turned waits for no other body but for the rotation itself.
    #[inline]
    fn turn(&mut self, robot: &Model, motion: &Motion<T>, theta: &[T]) {
        let first = robot.first_actuated();
        if let (1, Some(root)) = (first, self.subtree.first_mut()) {
            root.copy_from_slice(&theta[..INERTIAL]);
        }
        // The last body's: most joints hang on it, and it need not go through memory.
        let mut columns = [vec3::zero(); 3];
        let bodies = self.subtree[first..].iter_mut().zip(theta.as_chunks::<INERTIAL>().0[first..].iter());
        for ((i, x), (body, theta)) in (first..).zip(&motion.transforms[first..]).zip(bodies) {
            let arm;
            (columns, arm) = match self.turned[i].parent {
                None => (*x.columns(), *x.origin()),
                Some(parent) => {
                    let parent = if parent + 1 == i { columns } else { self.turned[parent].columns };
                    (
                        vec3::each(|c| vec3::combine(&parent, &x.columns()[c])),
                        vec3::combine(&parent, x.origin()),
                    )
                }
            };
            let here = &mut self.turned[i];
            here.columns = columns;
            here.arm = arm;
            let [m, hx, hy, hz, xx, xy, yy, xz, yz, zz] = *theta;
            let [hx, hy, hz] = vec3::combine(&columns, &[hx, hy, hz]);
            let [xx, xy, yy, xz, yz, zz] = turn_symmetric(&columns, &[xx, xy, yy, xz, yz, zz]);
            *body = [m, hx, hy, hz, xx, xy, yy, xz, yz, zz];
        }
    }

    /// The mass matrix but for the root's block, from [`Composites::turn`].
    #[inline]
    fn fill_turned(&mut self, robot: &Model, mass: &mut [T]) {
        let (n, first) = (robot.dof(), robot.first_actuated());
        let offset = n - self.subtree.len();
        let Some(last) = self.subtree.last() else { return };
        // The composite of body i: most joints hang on the body before, and its sum need not go through memory.
        let mut next = *last;
        for i in (first..self.subtree.len()).rev() {
            let body = next;
            let Turned { columns: [_, _, axis], arm, parent, rotation } = self.turned[i];
            // Without a parent that turns, a joint hangs on the root body, if that flies, or on nothing that moves.
            if parent.is_some() || first == 1 {
                let to = parent.unwrap_or(0);
                let carried = shifted(&body, &arm);
                let sum = &mut self.subtree[to];
                let total = replaced(*sum, |k, x| x + carried[k]);
                if to + 1 == i && to >= first {
                    next = total;
                } else {
                    *sum = total;
                    next = self.subtree[i - 1];
                }
            } else if i > 0 {
                next = self.subtree[i - 1];
            }
            let h = [body[1], body[2], body[3]];
            let mut momentum = if rotation {
                let [_, _, _, _, xx, xy, yy, xz, yz, zz] = body;
                let n = vec3::combine(&[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], &axis);
                Wrench { f: vec3::cross(&axis, &h), n }
            } else {
                Wrench { f: vec3::times(&axis, body[0]), n: vec3::cross(&h, &axis) }
            };
            let column = i + offset;
            let mut at = Some(i);
            while let Some(j) = at {
                let joint = &self.turned[j];
                let axis = &joint.columns[2];
                let along =
                    if joint.rotation { vec3::dot(axis, &momentum.n) } else { vec3::dot(axis, &momentum.f) };
                set(mass, n, column, j + offset, along);
                momentum.n = vec3::add(&momentum.n, &vec3::cross(&joint.arm, &momentum.f));
                at = joint.parent;
            }
            if first == 1 {
                root_column(&momentum, n, column, mass);
            }
        }
    }
}

/// Entry (column, row) of the symmetric matrix.
#[inline(always)]
fn set<T: Scalar>(mass: &mut [T], n: usize, column: usize, row: usize, x: T) {
    mass[n * column + row] = x;
    mass[n * row + column] = x;
}

/// The six numbers that couple a joint with the flying root, in whose frame its momentum is.
#[inline]
fn root_column<T: Scalar>(momentum: &Wrench<T>, n: usize, column: usize, mass: &mut [T]) {
    for r in 0..3 {
        set(mass, n, column, r, momentum.f[r]);
        set(mass, n, column, r + 3, momentum.n[r]);
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
fn unit_momentum<T: Scalar>(robot: &Model, i: usize, body: &[T; INERTIAL]) -> Wrench<T> {
    let h = [body[1], body[2], body[3]];
    if robot.joints[i].kind.is_rotation() {
        Wrench { f: [-h[1], h[0], T::zero()], n: [body[7], body[8], body[9]] }
    } else {
        Wrench { f: [T::zero(), T::zero(), body[0]], n: vec3::cross_z(&h) }
    }
}

/// A subtree's parameters in its parent's frame.
fn in_parent<T: Scalar>(robot: &Model, motion: &Motion<T>, i: usize, body: &[T; INERTIAL]) -> [T; INERTIAL] {
    let (joint, x) = (&robot.joints[i], &motion.transforms[i]);
    let h = x.to_parent(joint, &[body[1], body[2], body[3]]);
    let inertia = x.symmetric_to_parent(joint, &[body[4], body[5], body[6], body[7], body[8], body[9]]);
    let [xx, xy, yy, xz, yz, zz] = inertia;
    shifted(&[body[0], h[0], h[1], h[2], xx, xy, yy, xz, yz, zz], x.origin())
}

/// Parameters about a point from which the former one is at p, in the same axes:
/// I + 2 (h.p) 1 - h p' - p h' + m ((p.p) 1 - p p'), where p h' + m p p' = p (h + m p)'.
#[inline]
fn shifted<T: Scalar>(body: &[T; INERTIAL], p: &Vec3<T>) -> [T; INERTIAL] {
    let [m, hx, hy, hz, xx, xy, yy, xz, yz, zz] = *body;
    let before = [hx, hy, hz];
    let h: Vec3<T> = vec3::each(|r| p[r].mul_add(m, before[r]));
    let trace = vec3::dot(&before, p).scale(2.0) + vec3::dot(p, p) * m;
    let (xx, yy, zz) = (xx + trace, yy + trace, zz + trace);
    let [xx, yy, zz] = [
        xx - outer(&before, p, &h, 0, 0),
        yy - outer(&before, p, &h, 1, 1),
        zz - outer(&before, p, &h, 2, 2),
    ];
    let [xy, xz, yz] = [
        xy - outer(&before, p, &h, 0, 1),
        xz - outer(&before, p, &h, 0, 2),
        yz - outer(&before, p, &h, 1, 2),
    ];
    [m, h[0], h[1], h[2], xx, xy, yy, xz, yz, zz]
}

/// Entry (r, c) of h' p' + p h'.
#[inline(always)]
fn outer<T: Scalar>(before: &Vec3<T>, p: &Vec3<T>, h: &Vec3<T>, r: usize, c: usize) -> T {
    before[r].mul_add(p[c], p[r] * h[c])
}
