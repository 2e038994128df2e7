//! Rotors that ride on the link before their joint, and turn faster than the joint.
//!
//! A motor with a gear of ratio gr turns its rotor by gr dq about the joint's axis z, against the link that carries the motor. With the rotor's
//! inertia I_r about its own axis and w the angular velocity of that link, the energy of the spin is
//! I_r (w.z + gr dq)^2 / 2. Its first part belongs to the link's inertia, its last is the transmission inertia I_a = gr^2 I_r. Between them stands
//! I_a / gr dq w.z: the joint's acceleration turns the link that carries the motor, and that link's turns the joint. Its torques are
//! ```text
//! joint:                      I_a / gr  z.dw
//! link that carries it:       I_a / gr (ddq z + dq w x z)
//! ```
//! A rotor on the base has none of it: the base does not turn. All are linear in I_a.

use crate::robot::Model;

use super::derivatives::{InverseDerivatives, Swing};
use super::motion::Motion;
use super::spatial::Spatial;
use super::vec3::{self, Vec3};
use super::workspace::{Link, Workspace, armature};

/// A rotor that turns with the link before its joint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rotor {
    /// Its joint.
    pub joint: usize,
    /// The joint whose link carries it.
    pub carrier: usize,
    /// 1 / gr.
    pub turns: f64,
}

impl Rotor {
    /// That of joint `j`; `None` where the rotor counts for its own joint alone.
    fn of(robot: &Model, j: usize) -> Option<Self> {
        let joint = &robot.joints[j];
        Some(Self { joint: j, carrier: joint.parent?, turns: 1.0 / joint.gear_ratio? })
    }

    /// All of a robot.
    pub fn all(robot: &Model) -> Vec<Self> {
        (0..robot.bodies()).filter_map(|j| Self::of(robot, j)).collect()
    }

    /// The joint's axis in the frame of the link that carries its motor.
    fn axis(&self, robot: &Model) -> Vec3<f64> {
        robot.joints[self.joint].placement.rotation.column(2).into_owned().into()
    }

    /// I_a / gr.
    pub fn inertia(&self, robot: &Model, theta: &[f64]) -> f64 {
        self.turns * armature(robot, theta, self.joint)
    }

    /// Visits the torques per I_a / gr: the index in a velocity vector, and the torque.
    fn torques(
        &self,
        robot: &Model,
        motion: &Motion<f64>,
        (v, a): (&[f64], &[f64]),
        mut visit: impl FnMut(usize, f64),
    ) {
        let (axis, body, at) = (self.axis(robot), &motion.bodies[self.carrier], robot.v_index(self.joint));
        visit(at, vec3::dot(&axis, &body.dw));
        let swing = vec3::times(&vec3::cross(&body.w, &axis), v[at]);
        moment_on(robot, motion, self.carrier, vec3::add_times(&swing, &axis, a[at]), visit);
    }
}

/// Visits the torques that the rotor of joint `j` asks for beside the joint's own acceleration, by its transmission inertia: the index in a
/// velocity vector, and the torque, N m for 1 kg m^2. None where the robot says nothing of the rotor ([`crate::robot::Joint::gear_ratio`]).
/// `motion` is swept at the velocity `v` and acceleration `a` (length nv).
pub fn rotor_column(
    robot: &Model,
    motion: &Motion<f64>,
    j: usize,
    (v, a): (&[f64], &[f64]),
    mut visit: impl FnMut(usize, f64),
) {
    if let Some(rotor) = Rotor::of(robot, j) {
        rotor.torques(robot, motion, (v, a), |row, x| visit(row, rotor.turns * x));
    }
}

/// Visits the torques that a moment on body `i`, in its frame, asks of the joints that carry it.
fn moment_on(
    robot: &Model,
    motion: &Motion<f64>,
    mut i: usize,
    mut moment: Vec3<f64>,
    mut visit: impl FnMut(usize, f64),
) {
    loop {
        let (joint, at) = (&robot.joints[i], robot.v_index(i));
        if i < robot.first_actuated() {
            moment.iter().enumerate().for_each(|(k, x)| visit(at + 3 + k, *x));
        } else if joint.kind.is_rotation() {
            visit(at, moment[2]);
        }
        let Some(parent) = joint.parent else { break };
        moment = motion.transforms[i].to_parent(joint, &moment);
        i = parent;
    }
}

impl Workspace {
    /// Adds the rotors' torques to `tau`, of the motion that is swept.
    pub(super) fn add_rotor_torques(
        &self,
        robot: &Model,
        (v, a): (&[f64], &[f64]),
        theta: &[f64],
        tau: &mut [f64],
    ) {
        for rotor in &self.rotors {
            let inertia = rotor.inertia(robot, theta);
            rotor.torques(robot, &self.motion, (v, a), |row, x| tau[row] += inertia * x);
        }
    }

    /// Adds what rotors couple to the mass matrix, at the positions that are placed.
    pub(super) fn add_rotors_to_mass(&self, robot: &Model, theta: &[f64], mass: &mut [f64]) {
        let n = robot.nv();
        for rotor in &self.rotors {
            let moment = vec3::times(&rotor.axis(robot), rotor.inertia(robot, theta));
            let column = robot.v_index(rotor.joint);
            moment_on(robot, &self.motion, rotor.carrier, moment, |row, x| {
                mass[n * row + column] += x;
                mass[n * column + row] += x;
            });
        }
    }

    /// Twice the rotors' share in the kinetic energy, beside those of the joints' own speeds.
    pub(super) fn twice_rotor_energy(&self, robot: &Model, v: &[f64], theta: &[f64]) -> f64 {
        let of = |rotor: &Rotor| {
            let spin = vec3::dot(&self.links[rotor.joint].axis.ang, &self.links[rotor.carrier].v.ang);
            2.0 * rotor.inertia(robot, theta) * v[robot.v_index(rotor.joint)] * spin
        };
        self.rotors.iter().map(of).sum()
    }

    /// Adds to the swings of the links that carry rotors: N = I_a / gr dq w x z changes with w by x -> I_a / gr dq x x z.
    pub(super) fn add_rotor_swings(&mut self, robot: &Model, v: &[f64], theta: &[f64]) {
        for rotor in &self.rotors {
            let spin = rotor.inertia(robot, theta) * v[robot.v_index(rotor.joint)];
            self.swing[rotor.carrier].add_spin(&vec3::times(&self.links[rotor.joint].axis.ang, spin));
        }
    }

    /// Adds the rotors' moments to the forces on the links that carry them.
    pub(super) fn add_rotor_forces(&mut self, robot: &Model, (v, a): (&[f64], &[f64]), theta: &[f64]) {
        for rotor in &self.rotors {
            let (inertia, at) = (rotor.inertia(robot, theta), robot.v_index(rotor.joint));
            let Link { axis, axis_rate, .. } = &self.links[rotor.joint];
            let moment = vec3::add_times(&vec3::times(&axis_rate.ang, v[at]), &axis.ang, a[at]);
            let force = &mut self.links[rotor.carrier].force.ang;
            *force = vec3::add_times(force, &moment, inertia);
        }
    }

    /// Adds the derivatives that neither forces nor swings have: row and column of the rotors' own joints.
    ///
    /// The column is that of N: by dq I_a / gr w x z, by ddq I_a / gr z. The row is I_a / gr z.dw, and with the header of
    /// [`mod@super::derivatives`] dw changes with the position of a joint before by dS x w + ddS (z turns with the rest), with its velocity by S x w + 2 dS;
    /// with a free flyer's by S x w + dS.
    pub(super) fn add_rotor_slopes(&self, robot: &Model, theta: &[f64], out: &mut InverseDerivatives) {
        let (n, first) = (robot.nv(), robot.first_actuated());
        for rotor in &self.rotors {
            let (c, own) = (rotor.inertia(robot, theta), robot.v_index(rotor.joint));
            let (z, swing) = (&self.links[rotor.joint].axis.ang, &self.links[rotor.joint].axis_rate.ang);
            let w = &self.links[rotor.carrier].v.ang;
            out.tau[own] += c * vec3::dot(z, &self.links[rotor.carrier].a.ang);
            let mut add = |k: usize, axis: &Vec3<f64>, by_q: f64, by_v: &Vec3<f64>| {
                let mass = c * vec3::dot(axis, z);
                out.mass[n * k + own] += mass;
                out.mass[n * own + k] += mass;
                out.by_v[n * k + own] += c * vec3::dot(axis, swing);
                out.by_v[n * own + k] += c * vec3::dot(z, by_v);
                out.by_q[n * own + k] += c * by_q;
            };
            let mut next = Some(rotor.carrier);
            while let Some(i) = next.filter(|&i| i >= first) {
                let Link { axis, axis_rate, axis_second, .. } = &self.links[i];
                let (s, ds, dds) = (&axis.ang, &axis_rate.ang, &axis_second.ang);
                let by_q = vec3::dot(z, &vec3::add(&vec3::cross(ds, w), dds));
                add(robot.v_index(i), s, by_q, &vec3::add_times(&vec3::cross(s, w), ds, 2.0));
                next = self.parents[i];
            }
            for k in (0..3).filter(|_| first == 1) {
                let s = Spatial::unit(3 + k).ang;
                let by_v = vec3::add(&vec3::cross(&s, w), &vec3::cross(&self.links[0].v.ang, &s));
                add(3 + k, &s, 0.0, &by_v);
            }
        }
    }

    /// Adds the rotors' rows and columns to the Coriolis matrix: half of the derivatives to velocities, but for a free flyer's dS, as everywhere there.
    pub(super) fn add_rotors_to_coriolis(&self, robot: &Model, theta: &[f64], out: &mut [f64]) {
        let (n, first) = (robot.nv(), robot.first_actuated());
        for rotor in &self.rotors {
            let (c, own) = (rotor.inertia(robot, theta), robot.v_index(rotor.joint));
            let (z, swing) = (&self.links[rotor.joint].axis.ang, &self.links[rotor.joint].axis_rate.ang);
            let w = &self.links[rotor.carrier].v.ang;
            let mut add = |k: usize, s: &Vec3<f64>, ds: &Vec3<f64>| {
                out[n * k + own] += 0.5 * c * vec3::dot(s, swing);
                out[n * own + k] += c * (0.5 * vec3::dot(z, &vec3::cross(s, w)) + vec3::dot(z, ds));
            };
            let mut next = Some(rotor.carrier);
            while let Some(i) = next.filter(|&i| i >= first) {
                add(robot.v_index(i), &self.links[i].axis.ang, &self.links[i].axis_rate.ang);
                next = self.parents[i];
            }
            for k in (0..3).filter(|_| first == 1) {
                let s = Spatial::unit(3 + k).ang;
                add(3 + k, &s, &vec3::cross(&self.links[0].v.ang, &s));
            }
        }
    }
}

impl Swing {
    /// Adds x -> x x `spin` to the angular part.
    fn add_spin(&mut self, spin: &Vec3<f64>) {
        let [x, y, z] = *spin;
        // Columns of -[spin].
        let turned = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
        for (column, turned) in self.columns.iter_mut().zip(&turned) {
            *column = vec3::add(column, turned);
        }
    }
}
