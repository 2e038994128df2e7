//! Where the joints of a mechanism are, what their rows measure, and how all that changes with the configuration.
//!
//! For those who check the signs. A point row is g = r_a - r_b; an alignment row is x_a . n with n the y or z axis of
//! frame b ([5, eq. F.1]); the free direction of a hinge turns about u, the x axis of frame b, counted from parent to
//! child. With rho the arm from the centre of mass to the joint and c = x_a x n,
//!
//! ```text
//! dg = dr_a + dpsi_a x rho_a - dr_b - dpsi_b x rho_b,    d(x_a . n) = c . (dpsi_a - dpsi_b),    omega = u . (omega_b - omega_a)
//! ```

use nalgebra::{Matrix3, Vector3};

use super::mechanism::{HeldJointKind, Mechanism, add_three, pose_of, three};

/// A joint at a configuration.
#[derive(Debug, Clone)]
pub(super) struct JointGeometry {
    pub(super) parent: Option<usize>,
    pub(super) child: usize,
    pub(super) hinge: bool,
    /// First of its rows.
    pub(super) row: usize,
    /// Arms from the centres of mass, world axes.
    pub(super) arm_a: Vector3<f64>,
    pub(super) arm_b: Vector3<f64>,
    /// r_a - r_b.
    gap: Vector3<f64>,
    /// x axis of frame a.
    pub(super) x: Vector3<f64>,
    /// y and z axes of frame b.
    pub(super) normals: [Vector3<f64>; 2],
    /// x_a x n.
    pub(super) cross: [Vector3<f64>; 2],
    /// The hinge's axis.
    pub(super) axis: Vector3<f64>,
}

/// A mechanism at a configuration.
#[derive(Debug, Clone, Default)]
pub(super) struct Geometry {
    /// FreeBody axes in the world.
    pub(super) rotations: Vec<Matrix3<f64>>,
    /// Inertias about the centres of mass, world axes.
    pub(super) inertias: Vec<Matrix3<f64>>,
    pub(super) joints: Vec<JointGeometry>,
}

impl Geometry {
    pub(super) fn at(mechanism: &Mechanism, pose: &[f64]) -> Self {
        let mut out = Self::default();
        out.update(mechanism, pose);
        out
    }

    /// The same for another configuration, in the memory that is there.
    pub(super) fn update(&mut self, mechanism: &Mechanism, pose: &[f64]) {
        self.rotations.clear();
        self.inertias.clear();
        self.joints.clear();
        for (b, body) in mechanism.bodies.iter().enumerate() {
            let rotation = pose_of(pose, b).1.to_rotation_matrix().into_inner();
            let moments = Vector3::from(body.inertia_kg_m2);
            self.inertias.push(rotation * Matrix3::from_diagonal(&moments) * rotation.transpose());
            self.rotations.push(rotation);
        }
        let mut row = 0;
        for joint in &mechanism.joints {
            let frame_b = joint.child_frame;
            let (r_b, _) = pose_of(pose, joint.child);
            let rotation_b = self.rotations[joint.child];
            let (r_a, rotation_a) = match joint.parent {
                None => (Vector3::zeros(), Matrix3::identity()),
                Some(p) => (pose_of(pose, p).0, self.rotations[p]),
            };
            let (arm_a, arm_b) = (rotation_a * joint.parent_frame.point_m, rotation_b * frame_b.point_m);
            let x = rotation_a * (joint.parent_frame.rotation * Vector3::x());
            let [axis, y, z] =
                [Vector3::x(), Vector3::y(), Vector3::z()].map(|e| rotation_b * (frame_b.rotation * e));
            self.joints.push(JointGeometry {
                parent: joint.parent,
                child: joint.child,
                hinge: matches!(joint.kind, HeldJointKind::Hinge { .. }),
                row,
                arm_a,
                arm_b,
                gap: r_a + arm_a - r_b - arm_b,
                x,
                normals: [y, z],
                cross: [x.cross(&y), x.cross(&z)],
                axis,
            });
            row += joint.rows();
        }
    }

    /// g, all rows.
    pub(super) fn gaps(&self, out: &mut Vec<f64>) {
        out.clear();
        for joint in &self.joints {
            out.extend(joint.gap.iter());
            if joint.hinge {
                out.extend(joint.normals.iter().map(|n| joint.x.dot(n)));
            }
        }
    }

    /// G w, all rows.
    pub(super) fn rates(&self, w: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for joint in &self.joints {
            let point = joint.point_rate(w);
            out.extend(point.iter());
            if joint.hinge {
                let turn = joint.parent_turn(w) - joint.child_turn(w);
                out.extend(joint.cross.iter().map(|c| c.dot(&turn)));
            }
        }
    }

    /// out += scale G'lambda.
    pub(super) fn add_forces(&self, scale: f64, lambda: &[f64], out: &mut [f64]) {
        for joint in &self.joints {
            let force = three(lambda, joint.row) * scale;
            let mut torque_a = joint.arm_a.cross(&force);
            let mut torque_b = -joint.arm_b.cross(&force);
            if joint.hinge {
                for (i, c) in joint.cross.iter().enumerate() {
                    let turn = c * (scale * lambda[joint.row + 3 + i]);
                    torque_a += turn;
                    torque_b -= turn;
                }
            }
            if let Some(a) = joint.parent {
                add_three(out, 6 * a, force);
                add_three(out, 6 * a + 3, torque_a);
            }
            add_three(out, 6 * joint.child, -force);
            add_three(out, 6 * joint.child + 3, torque_b);
        }
    }

    /// The rows of joint `j` as gradients by the bodies' velocities.
    pub(super) fn rows_of(&self, j: usize, size: usize) -> Vec<Vec<f64>> {
        let joint = &self.joints[j];
        let count = if joint.hinge { 5 } else { 3 };
        let rows = self.joints.last().map_or(0, |l| l.row + if l.hinge { 5 } else { 3 });
        (0..count)
            .map(|i| {
                let (mut lambda, mut out) = (vec![0.0; rows], vec![0.0; size]);
                lambda[joint.row + i] = 1.0;
                self.add_forces(1.0, &lambda, &mut out);
                out
            })
            .collect()
    }
}

impl JointGeometry {
    /// Angular velocity of the parent in `w`.
    pub(super) fn parent_turn(&self, w: &[f64]) -> Vector3<f64> {
        self.parent.map_or_else(Vector3::zeros, |a| three(w, 6 * a + 3))
    }

    /// Angular velocity of the child in `w`.
    pub(super) fn child_turn(&self, w: &[f64]) -> Vector3<f64> {
        three(w, 6 * self.child + 3)
    }

    /// Rate of r_a - r_b.
    fn point_rate(&self, w: &[f64]) -> Vector3<f64> {
        let a = self
            .parent
            .map_or_else(Vector3::zeros, |a| three(w, 6 * a) + three(w, 6 * a + 3).cross(&self.arm_a));
        a - three(w, 6 * self.child) - self.child_turn(w).cross(&self.arm_b)
    }

    /// u . (omega_b - omega_a).
    pub(super) fn turning(&self, w: &[f64]) -> f64 {
        self.axis.dot(&(self.child_turn(w) - self.parent_turn(w)))
    }

    /// out += the impulse `tau` about the axis, on the child, and its opposite on the parent.
    pub(super) fn add_torque(&self, tau: f64, out: &mut [f64]) {
        add_three(out, 6 * self.child + 3, self.axis * tau);
        if let Some(a) = self.parent {
            add_three(out, 6 * a + 3, self.axis * -tau);
        }
    }
}
