//! Quantities of the whole robot: Coriolis matrix, gravity torques, energies, centre of mass, centroidal momentum.

use crate::robot::Model;

use super::spatial::{RigidInertia, Spatial};
use super::vec3::{self, Vec3};
use super::workspace::{Workspace, armature};

/// Energies of a robot, J.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// v'M v / 2, with transmission inertia.
    pub kinetic: f64,
    /// -sum m (gravity . com), zero at the base frame's origin.
    pub potential: f64,
}

impl Energy {
    /// Their sum.
    pub fn mechanical(&self) -> f64 {
        self.kinetic + self.potential
    }
}

/// Momentum of a robot about its centre of mass, in base axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centroidal {
    /// Total mass, kg.
    pub mass: f64,
    /// Centre of mass in the base frame, m.
    pub com: Vec3<f64>,
    /// Its velocity, m/s.
    pub velocity: Vec3<f64>,
    /// Linear momentum, kg m/s.
    pub linear: Vec3<f64>,
    /// Angular momentum about the centre of mass, kg m^2/s.
    pub angular: Vec3<f64>,
}

impl Workspace {
    /// Nonlinear effects C(q, v) v + g(q).
    pub fn bias(&mut self, robot: &Model, q: &[f64], v: &[f64], theta: &[f64], out: &mut [f64]) {
        let mut zeros = std::mem::take(&mut self.vectors[0]);
        zeros.fill(0.0);
        self.inverse_dynamics(robot, q, v, &zeros, theta, out);
        self.vectors[0] = zeros;
    }

    /// Gravity torques g(q).
    pub fn gravity_torques(&mut self, robot: &Model, q: &[f64], theta: &[f64], out: &mut [f64]) {
        let mut zeros = std::mem::take(&mut self.vectors[1]);
        zeros.fill(0.0);
        self.bias(robot, q, &zeros, theta, out);
        self.vectors[1] = zeros;
    }

    /// Momenta and inertias of links at `q` and `v`, without accelerations.
    fn momenta(&mut self, robot: &Model, q: &[f64], v: &[f64], theta: &[f64]) {
        self.place_links(robot, q);
        self.place_inertias(robot, theta);
        self.move_links(robot, v);
        for link in &mut self.links {
            link.momentum = link.inertia.times(&link.v);
        }
    }

    /// The Coriolis matrix C(q, v), row-major nv x nv, with C v the velocity part of inverse dynamics and dM/dt - 2 C skew:
    /// sum J'(I dJ + B J / 2) with B of [`mod@super::derivatives`] (Echeandia and Wensing 2021). On a fixed base it is the
    /// one of the Christoffel symbols. C'v is [`super::momentum_rate_regressor`] without gravity.
    pub fn coriolis_matrix(&mut self, robot: &Model, q: &[f64], v: &[f64], theta: &[f64], out: &mut [f64]) {
        self.momenta(robot, q, v, theta);
        for (link, swing) in self.links.iter_mut().zip(&mut self.swing) {
            link.subtree = link.inertia;
            *swing = super::derivatives::Swing::of(link);
        }
        self.add_rotor_swings(robot, v, theta);
        let (n, first) = (robot.nv(), robot.first_actuated());
        let offset = n - robot.bodies();
        out.fill(0.0);
        for i in (first..self.links.len()).rev() {
            let (link, swing) = (self.links[i], self.swing[i]);
            let u = link.subtree.times(&link.axis);
            let half = vec3::times(&swing.transposed_times(&link.axis), 0.5);
            let down = link.subtree.times(&link.axis_rate) + swing.times(&link.axis).times(0.5);
            let row = i + offset;
            out[n * row + row] = link.axis.dot(&down);
            let mut next = self.parents[i];
            while let Some(j) = next.filter(|&j| j >= first) {
                let above = &self.links[j];
                let column = j + offset;
                out[n * column + row] = above.axis.dot(&down);
                out[n * row + column] = above.axis_rate.dot(&u) + vec3::dot(&above.axis.ang, &half);
                next = self.parents[j];
            }
            if first == 1 {
                let swung = Spatial { lin: [0.0; 3], ang: half } - self.links[0].v.cross_force(&u);
                let (down, swung) = (down.to_array(), swung.to_array());
                for k in 0..6 {
                    out[n * k + row] = down[k];
                    out[n * row + k] = swung[k];
                }
            }
            if let Some(parent) = self.parents[i] {
                self.links[parent].subtree += link.subtree;
                self.swing[parent].add(&swing);
            }
        }
        if first == 1 {
            let (root, swing) = (&self.links[0], &self.swing[0]);
            for k in 0..6 {
                let unit = Spatial::unit(k);
                let column = root.subtree.times(&root.v.cross(&unit)) + swing.times(&unit).times(0.5);
                for (r, x) in column.to_array().into_iter().enumerate() {
                    out[n * r + k] = x;
                }
            }
        }
        self.add_rotors_to_coriolis(robot, theta, out);
    }

    /// Kinetic and potential energy.
    pub fn energy(&mut self, robot: &Model, q: &[f64], v: &[f64], theta: &[f64]) -> Energy {
        self.momenta(robot, q, v, theta);
        let mut kinetic: f64 = self.links.iter().map(|l| l.momentum.dot(&l.v)).sum();
        for i in robot.first_actuated()..robot.bodies() {
            let speed = v[robot.v_index(i)];
            kinetic += armature(robot, theta, i) * speed * speed;
        }
        kinetic += self.twice_rotor_energy(robot, v, theta);
        let whole = self.whole();
        let height = vec3::dot(&self.gravity, &whole.first)
            + whole.mass * vec3::dot(&self.root.origin, &robot.gravity.into());
        Energy { kinetic: 0.5 * kinetic, potential: -height }
    }

    /// Inertia of all links together.
    fn whole(&self) -> RigidInertia {
        self.links.iter().fold(RigidInertia::ZERO, |mut sum, link| {
            sum += link.inertia;
            sum
        })
    }

    /// Centre of mass and centroidal momentum (links only: rotors of the transmission are not bodies).
    pub fn centroidal(&mut self, robot: &Model, q: &[f64], v: &[f64], theta: &[f64]) -> Centroidal {
        self.momenta(robot, q, v, theta);
        let (whole, momentum) =
            (self.whole(), self.links.iter().fold(Spatial::ZERO, |sum, link| sum + link.momentum));
        let com = vec3::times(&whole.first, 1.0 / whole.mass);
        let angular = vec3::sub(&momentum.ang, &vec3::cross(&com, &momentum.lin));
        let linear = self.to_base(&momentum.lin);
        Centroidal {
            mass: whole.mass,
            com: vec3::add(&self.root.origin, &self.to_base(&com)),
            velocity: vec3::times(&linear, 1.0 / whole.mass),
            linear,
            angular: self.to_base(&angular),
        }
    }

    /// Centroidal momentum matrix A: (linear, angular momentum) = A v, row-major 6 x nv. Its linear rows over the total
    /// mass are the Jacobian of the centre of mass.
    pub fn centroidal_matrix(&mut self, robot: &Model, q: &[f64], theta: &[f64], out: &mut [f64]) {
        self.place_links(robot, q);
        self.place_inertias(robot, theta);
        let whole = self.whole();
        let com = vec3::times(&whole.first, 1.0 / whole.mass);
        let (n, first) = (robot.nv(), robot.first_actuated());
        for link in &mut self.links {
            link.subtree = link.inertia;
        }
        for i in (first..self.links.len()).rev() {
            let link = self.links[i];
            self.centroidal_column(link.subtree.times(&link.axis), &com, n, robot.v_index(i), out);
            if let Some(parent) = self.parents[i] {
                self.links[parent].subtree += link.subtree;
            }
        }
        for k in 0..6 * first {
            self.centroidal_column(self.links[0].subtree.times(&Spatial::unit(k)), &com, n, k, out);
        }
    }

    fn centroidal_column(&self, u: Spatial, com: &Vec3<f64>, n: usize, column: usize, out: &mut [f64]) {
        let angular = vec3::sub(&u.ang, &vec3::cross(com, &u.lin));
        let (linear, angular) = (self.to_base(&u.lin), self.to_base(&angular));
        for r in 0..3 {
            out[n * r + column] = linear[r];
            out[n * (r + 3) + column] = angular[r];
        }
    }
}
