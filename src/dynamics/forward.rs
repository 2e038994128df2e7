//! Forward dynamics by articulated bodies.
//!
//! In the root frame the articulated inertias (Featherstone, Rigid Body Dynamics Algorithms, chapter 7) need no
//! transformation: a subtree's is added to its parent's as it is, less what its joint gives way to.

use crate::robot::Model;
use crate::scalar::Scalar;

use super::spatial::{RigidInertia, Spatial, symmetric_times};
use super::vec3::{self, Vec3};
use super::workspace::{Link, Workspace, armature};

/// Force that a body answers an acceleration with: `\[\[ll, la\], \[la', aa\]\] a + bias`.
#[derive(Debug, Clone, Copy)]
pub struct Articulated {
    /// xx, xy, yy, xz, yz, zz.
    ll: [f64; 6],
    /// Columns.
    la: [Vec3<f64>; 3],
    aa: [f64; 6],
    bias: Spatial,
    /// Force per unit acceleration of the joint, the inverse of its part along the axis, and the driving torque left.
    u: Spatial,
    inverse: f64,
    drive: f64,
}

impl Default for Articulated {
    fn default() -> Self {
        Self::rigid(&RigidInertia::ZERO, Spatial::ZERO)
    }
}

impl Articulated {
    #[inline]
    fn rigid(inertia: &RigidInertia, bias: Spatial) -> Self {
        let (m, [x, y, z]) = (inertia.mass, inertia.first);
        Self {
            ll: [m, 0.0, m, 0.0, 0.0, m],
            // -[first]
            la: [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]],
            aa: inertia.second,
            bias,
            u: Spatial::ZERO,
            inverse: 0.0,
            drive: 0.0,
        }
    }

    #[inline]
    fn times(&self, x: &Spatial) -> Spatial {
        let lin = vec3::add(&symmetric_times(&self.ll, &x.lin), &vec3::combine(&self.la, &x.ang));
        let turning = symmetric_times(&self.aa, &x.ang);
        let ang = std::array::from_fn(|k| vec3::dot(&self.la[k], &x.lin) + turning[k]);
        Spatial { lin, ang }
    }

    /// Adds what a child passes on: its inertia less u u'/d, and its bias with the acceleration `swing` that it has
    /// without its joint's.
    #[inline]
    fn add(&mut self, child: &Self, swing: &Spatial) {
        let (u, d) = (&child.u, child.inverse);
        let (lin, ang) = (vec3::times(&u.lin, d), vec3::times(&u.ang, d));
        let pairs = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)];
        for (k, (r, c)) in pairs.into_iter().enumerate() {
            self.ll[k] += Scalar::mul_add(-lin[r], u.lin[c], child.ll[k]);
            self.aa[k] += Scalar::mul_add(-ang[r], u.ang[c], child.aa[k]);
        }
        for c in 0..3 {
            for r in 0..3 {
                self.la[c][r] += Scalar::mul_add(-lin[r], u.ang[c], child.la[c][r]);
            }
        }
        let force = d * (child.drive - u.dot(swing));
        self.bias += child.bias + child.times(swing) + u.times(force);
    }

    /// Solves for the acceleration that `force` gives a free body, by L D L' without square roots.
    fn solve(&self, force: &Spatial) -> Spatial {
        let mut m = [[0.0; 6]; 6];
        let pairs = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)];
        for (k, (r, c)) in pairs.into_iter().enumerate() {
            m[r][c] = self.ll[k];
            m[r + 3][c + 3] = self.aa[k];
        }
        for (c, column) in self.la.iter().enumerate() {
            m[c + 3][..3].copy_from_slice(column);
        }
        let mut x = force.to_array();
        for k in 0..6 {
            let inverse = 1.0 / m[k][k];
            for r in k + 1..6 {
                let l = m[r][k] * inverse;
                for c in k + 1..=r {
                    m[r][c] -= l * m[c][k];
                }
                x[r] -= l * x[k];
            }
        }
        for k in (0..6).rev() {
            let below: f64 = (k + 1..6).map(|r| m[r][k] * x[r]).sum();
            x[k] = (x[k] - below) / m[k][k];
        }
        Spatial::from_slice(&x)
    }
}

/// The moments of a rotor's spin ([`mod@super::rotor`]), by the acceleration of `link`'s joint and by the turn of the link that carries it. Out of the way
/// of all robots that have none: within the loop it slows them by 3 % more.
#[cold]
fn couple(link: &Link, own: &mut Articulated, carrier: &mut Articulated, inertia: f64, speed: f64) {
    own.u.ang = vec3::add_times(&own.u.ang, &link.axis.ang, inertia);
    carrier.bias.ang = vec3::add_times(&carrier.bias.ang, &link.axis_rate.ang, inertia * speed);
}

impl Workspace {
    /// Forward dynamics (articulated bodies): the accelerations that torques `tau` cause, tau = M a + C v + g with
    /// transmission inertia in M. Friction is for the caller to subtract from `tau`.
    pub fn forward_dynamics(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        theta: &[f64],
        a: &mut [f64],
    ) {
        self.place_links(robot, q);
        self.place_inertias(robot, theta);
        self.move_links(robot, v);
        for (link, articulated) in self.links.iter().zip(&mut self.articulated) {
            let bias = link.v.cross_force(&link.inertia.times(&link.v));
            *articulated = Articulated::rigid(&link.inertia, bias);
        }
        let first = robot.first_actuated();
        let offset = robot.nv() - robot.bodies();
        let coupled = !self.rotors.is_empty();
        for i in (first..self.links.len()).rev() {
            let link = &self.links[i];
            let (before, here) = self.articulated.split_at_mut(i);
            let own = &mut here[0];
            own.u = own.times(&link.axis);
            own.inverse = 1.0 / (link.axis.dot(&own.u) + armature(robot, theta, i));
            own.drive = tau[i + offset] - link.axis.dot(&own.bias);
            if coupled && let Some(rotor) = self.rotors.iter().find(|rotor| rotor.joint == i) {
                couple(link, own, &mut before[rotor.carrier], rotor.inertia(robot, theta), v[i + offset]);
            }
            if let Some(parent) = self.parents[i] {
                before[parent].add(own, &link.axis_rate.times(v[i + offset]));
            }
        }
        self.answer(first, offset, v, tau, a);
    }

    /// Accelerations from the root to the leaves.
    fn answer(&mut self, first: usize, offset: usize, v: &[f64], tau: &[f64], a: &mut [f64]) {
        let up = Spatial { lin: self.upward(), ang: [0.0; 3] };
        if first == 1 {
            let root = &self.articulated[0];
            let acceleration = root.solve(&(Spatial::from_slice(tau) - root.bias));
            self.links[0].a = acceleration;
            a[..6].copy_from_slice(&(acceleration - up).to_array());
        }
        for i in first..self.links.len() {
            let (before, here) = self.links.split_at_mut(i);
            let (link, own) = (&mut here[0], &self.articulated[i]);
            let parent = self.parents[i].map_or(up, |p| before[p].a);
            let carried = parent.add_times(&link.axis_rate, v[i + offset]);
            let own = (own.drive - own.u.dot(&carried)) * own.inverse;
            link.a = carried.add_times(&link.axis, own);
            a[i + offset] = own;
        }
    }
}
