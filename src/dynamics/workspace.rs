//! Scratch space of the algorithms on plain numbers, and the kinematics that they share.
//!
//! Everything is expressed in one frame, the *root frame*: the base frame of a robot on a fixed base, the root body's own
//! frame of a floating one. So nothing has to be transformed between bodies; the columns of a free flyer's Jacobian are
//! unit vectors, relative configurations do not depend on where the robot is, and no accuracy is lost far from the
//! origin. At each instant the root frame counts as an inertial one in which the root body moves.

use crate::inertia::INERTIAL;
use crate::robot::{Joint, Model};
use crate::scalar::Scalar;

use super::crba::{Composites, crba};
use super::factor::MassFactor;
use super::motion::Motion;
use super::placement::BodyPlacement;
use super::rnea::{Wrench, rnea};
use super::rotor::Rotor;
use super::spatial::{RigidInertia, Spatial};
use super::vec3::{self, Vec3};

/// What is known of a body and its joint, in the root frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Columns of the rotation from the body frame.
    pub axes: [Vec3<f64>; 3],
    /// Origin of the body frame, m.
    pub origin: Vec3<f64>,
    /// S: unit motion of the joint (not used of a free flyer: there it is the identity).
    pub axis: Spatial,
    /// Velocity v of the body.
    pub v: Spatial,
    /// Acceleration of the body; with gravity entered as an upward acceleration of the base where dynamics are asked.
    pub a: Spatial,
    /// dS/dt = v_parent x S.
    pub axis_rate: Spatial,
    /// a_parent x S + v_parent x dS/dt.
    pub axis_second: Spatial,
    /// Inertia of the body.
    pub inertia: RigidInertia,
    /// Inertia of the body and everything that it carries.
    pub subtree: RigidInertia,
    /// Momentum of the body.
    pub momentum: Spatial,
    /// Force on the body, then on its subtree.
    pub force: Spatial,
}

impl Link {
    const BLANK: Self = Self {
        axes: IDENTITY,
        origin: [0.0; 3],
        axis: Spatial::ZERO,
        v: Spatial::ZERO,
        a: Spatial::ZERO,
        axis_rate: Spatial::ZERO,
        axis_second: Spatial::ZERO,
        inertia: RigidInertia::ZERO,
        subtree: RigidInertia::ZERO,
        momentum: Spatial::ZERO,
        force: Spatial::ZERO,
    };
}

const IDENTITY: [Vec3<f64>; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Scratch space of every algorithm, for one robot and one thread. Nothing is allocated after [`Workspace::new`].
///
/// Arguments common to its methods: `q` has length nq, `v`, `a` and `tau` nv (rad or m, and per s, per s^2; N m or N; a free
/// flyer's six in its own frame, linear before angular); `theta` is the full parameter vector
/// ([`Model::nominal_parameters`]). Matrices are row-major, nv x nv unless said otherwise. Transmission inertia counts as part
/// of the robot; the other joint parameters are friction, which acts like a part of `tau`. Derivatives with respect to q are
/// those of [`crate::robot::configuration`]. Vectors of the wrong length panic.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(super) links: Vec<Link>,
    /// Joint that each joint hangs on; `None` for the base.
    pub(super) parents: Vec<Option<usize>>,
    /// Placement of the root frame in the base frame.
    pub(super) root: BodyPlacement<f64>,
    /// Gravity in the root frame, m/s^2.
    pub(super) gravity: Vec3<f64>,
    pub(super) factor: MassFactor,
    pub(super) articulated: Vec<super::forward::Articulated>,
    pub(super) swing: Vec<super::derivatives::Swing>,
    pub(super) vectors: [Vec<f64>; 2],
    pub(super) motion: Motion<f64>,
    /// Those that ride on other links.
    pub(super) rotors: Vec<Rotor>,
    wrenches: Vec<Wrench<f64>>,
    composites: Composites<f64>,
    turns: Vec<(f64, f64)>,
}

impl Workspace {
    /// Scratch space for `robot`; the only allocation.
    pub fn new(robot: &Model) -> Self {
        let (bodies, n) = (robot.bodies(), robot.nv());
        Self {
            links: vec![Link::BLANK; bodies],
            parents: robot.joints.iter().map(|j| j.parent).collect(),
            root: BodyPlacement::base(),
            gravity: robot.gravity.into(),
            factor: MassFactor::new(robot),
            articulated: vec![super::forward::Articulated::default(); bodies],
            swing: vec![super::derivatives::Swing::default(); bodies],
            vectors: [vec![0.0; n], vec![0.0; n]],
            motion: Motion::new(robot),
            rotors: Rotor::all(robot),
            wrenches: vec![Wrench::zero(); bodies],
            composites: Composites::new(robot),
            turns: vec![(0.0, 1.0); bodies],
        }
    }

    /// Inverse dynamics (recursive Newton-Euler): tau = M a + C v + g, with transmission inertia, without friction.
    pub fn inverse_dynamics(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        a: &[f64],
        theta: &[f64],
        tau: &mut [f64],
    ) {
        self.motion.sweep_plain(robot, q, v, a);
        rnea(robot, &self.motion, theta, &mut self.wrenches, tau);
        for i in robot.first_actuated()..robot.bodies() {
            let at = robot.v_index(i);
            tau[at] += armature(robot, theta, i) * a[at];
        }
        self.add_rotor_torques(robot, (v, a), theta, tau);
    }

    /// Mass matrix (composite rigid bodies), with transmission inertia.
    pub fn mass_matrix(&mut self, robot: &Model, q: &[f64], theta: &[f64], mass: &mut [f64]) {
        self.motion.place(robot, q);
        crba(robot, &self.motion, theta, &mut self.composites, mass);
        for i in robot.first_actuated()..robot.bodies() {
            mass[(robot.nv() + 1) * robot.v_index(i)] += armature(robot, theta, i);
        }
        self.add_rotors_to_mass(robot, theta, mass);
    }

    /// The motion of the bodies as the generic algorithms keep it (filled by [`Workspace::inverse_dynamics`]).
    pub fn motion(&self) -> &Motion<f64> {
        &self.motion
    }

    /// Places all links in the root frame.
    pub(super) fn place_links(&mut self, robot: &Model, q: &[f64]) {
        let first = robot.first_actuated();
        let joints = if first == 1 {
            self.root = BodyPlacement::from_quaternion([q[3], q[4], q[5], q[6]], [q[0], q[1], q[2]]);
            self.gravity = self.root.axes.map(|axis| vec3::dot(&axis, &robot.gravity.into()));
            &q[7..]
        } else {
            self.gravity = robot.gravity.into();
            q
        };
        f64::sin_cos_slice(joints, &mut self.turns);
        for ((i, joint), (&q, &turn)) in
            (first..).zip(&robot.joints[first..]).zip(joints.iter().zip(&self.turns))
        {
            let (before, here) = self.links.split_at_mut(i);
            let link = &mut here[0];
            let rotation = joint.placement.rotation.data.0;
            let shift: Vec3<f64> = joint.placement.translation.into();
            // The root body of a floating robot is where the root frame is.
            let (fixed, origin) = match self.parents[i].filter(|&parent| parent >= first) {
                Some(parent) => {
                    let parent = &before[parent];
                    let turn = |x: &Vec3<f64>| turn_by(&parent.axes, x);
                    (
                        [turn(&rotation[0]), turn(&rotation[1]), turn(&rotation[2])],
                        vec3::add(&parent.origin, &turn(&shift)),
                    )
                }
                None => (rotation, shift),
            };
            place_joint(link, joint, fixed, origin, q, turn);
        }
    }

    /// Velocities of all links, after [`Workspace::place_links`].
    pub(super) fn move_links(&mut self, robot: &Model, v: &[f64]) {
        let first = robot.first_actuated();
        let from = if first == 1 {
            self.links[0].v = Spatial::from_slice(v);
            6
        } else {
            0
        };
        for (i, &v) in (first..).zip(&v[from..]) {
            let (before, here) = self.links.split_at_mut(i);
            let link = &mut here[0];
            match self.parents[i].map(|parent| &before[parent]) {
                Some(parent) => {
                    link.axis_rate = parent.v.cross(&link.axis);
                    link.v = parent.v.add_times(&link.axis, v);
                }
                None => (link.axis_rate, link.v) = (Spatial::ZERO, link.axis.times(v)),
            }
        }
    }

    /// Accelerations of all links, after [`Workspace::move_links`]; `a0` (linear) is that of a fixed base, or what a
    /// free flyer's is off by.
    pub(super) fn accelerate_links(&mut self, robot: &Model, v: &[f64], a: &[f64], a0: Vec3<f64>) {
        let first = robot.first_actuated();
        let base = Spatial { lin: a0, ang: [0.0; 3] };
        let from = if first == 1 {
            self.links[0].a = Spatial::from_slice(a) + base;
            6
        } else {
            0
        };
        for (i, (&v, &a)) in (first..).zip(v[from..].iter().zip(&a[from..])) {
            let (before, here) = self.links.split_at_mut(i);
            let (link, parent) = (&mut here[0], self.parents[i].map_or(base, |p| before[p].a));
            link.a = parent.add_times(&link.axis, a).add_times(&link.axis_rate, v);
        }
    }

    /// Second derivatives of the axes, after accelerations; `a0` as in [`Workspace::accelerate_links`].
    pub(super) fn second_rates(&mut self, robot: &Model, a0: Vec3<f64>) {
        for i in robot.first_actuated()..self.links.len() {
            let (before, here) = self.links.split_at_mut(i);
            let link = &mut here[0];
            link.axis_second = match self.parents[i].map(|parent| &before[parent]) {
                Some(parent) => parent.a.cross(&link.axis) + parent.v.cross(&link.axis_rate),
                // A base that accelerates without turning.
                None => Spatial { lin: vec3::cross(&a0, &link.axis.ang), ang: [0.0; 3] },
            };
        }
    }

    /// Inertias of all links about the root frame's origin, after [`Workspace::place_links`].
    pub(super) fn place_inertias(&mut self, robot: &Model, theta: &[f64]) {
        let first = robot.first_actuated();
        if first == 1 {
            self.links[0].inertia = RigidInertia::from_parameters(theta);
        }
        let links = self.links[first..].iter_mut();
        for (link, theta) in links.zip(theta[INERTIAL * first..].chunks_exact(INERTIAL)) {
            link.inertia = RigidInertia::placed(theta, &link.axes, &link.origin);
        }
    }

    /// Upward acceleration that stands for gravity.
    pub(super) fn upward(&self) -> Vec3<f64> {
        self.gravity.map(|g| -g)
    }

    /// A vector of the root frame in base coordinates.
    pub(super) fn to_base(&self, x: &Vec3<f64>) -> Vec3<f64> {
        turn_by(&self.root.axes, x)
    }
}

/// A rotation given by its columns, applied.
#[inline]
pub(super) fn turn_by(columns: &[Vec3<f64>; 3], x: &Vec3<f64>) -> Vec3<f64> {
    vec3::combine(columns, x)
}

/// Its inverse, applied.
#[inline]
pub(super) fn turn_back(columns: &[Vec3<f64>; 3], x: &Vec3<f64>) -> Vec3<f64> {
    std::array::from_fn(|c| vec3::dot(&columns[c], x))
}

/// Frame and axis of a joint, from its frame at q = 0.
#[inline]
fn place_joint(
    link: &mut Link,
    joint: &Joint,
    fixed: [Vec3<f64>; 3],
    origin: Vec3<f64>,
    q: f64,
    (sin, cos): (f64, f64),
) {
    let [x, y, z] = fixed;
    if joint.kind.is_rotation() {
        link.axes = [
            vec3::add_times(&vec3::times(&x, cos), &y, sin),
            vec3::add_times(&vec3::times(&y, cos), &x, -sin),
            z,
        ];
        link.origin = origin;
        link.axis = Spatial { lin: vec3::cross(&origin, &z), ang: z };
    } else {
        link.axes = fixed;
        link.origin = vec3::add(&origin, &vec3::times(&z, q));
        link.axis = Spatial { lin: z, ang: [0.0; 3] };
    }
}

/// Transmission inertia of joint `i`.
#[inline]
pub(super) fn armature(robot: &Model, theta: &[f64], i: usize) -> f64 {
    theta[robot.joint_index(i).armature]
}
