//! Recursive Newton-Euler written for floats alone, to measure what the generic source costs.

use nalgebra::{Matrix3, Vector3};
use surelift::inertia::{ARMATURE, INERTIAL};
use surelift::robot::Model;

/// A fixed-base robot's constants and the scratch space.
pub struct Arm {
    joints: Vec<Fixed>,
    gravity: Vector3<f64>,
    friction: usize,
    rotations: Vec<Matrix3<f64>>,
    origins: Vec<Vector3<f64>>,
    moving: Vec<[Vector3<f64>; 4]>,
    forces: Vec<[Vector3<f64>; 2]>,
}

struct Fixed {
    rotation: Matrix3<f64>,
    translation: Vector3<f64>,
    parent: Option<usize>,
    turns: bool,
}

impl Arm {
    pub fn new(robot: &Model) -> Self {
        let n = robot.dof();
        let joint = |j: &surelift::robot::Joint| Fixed {
            rotation: j.placement.rotation,
            translation: j.placement.translation,
            parent: j.parent,
            turns: j.kind.is_rotation(),
        };
        Self {
            joints: robot.joints.iter().map(joint).collect(),
            gravity: robot.gravity,
            friction: robot.friction_index(0),
            rotations: vec![Matrix3::identity(); n],
            origins: vec![Vector3::zeros(); n],
            moving: vec![[Vector3::zeros(); 4]; n],
            forces: vec![[Vector3::zeros(); 2]; n],
        }
    }

    pub fn rnea(&mut self, q: &[f64], dq: &[f64], ddq: &[f64], theta: &[f64], tau: &mut [f64]) {
        let n = self.joints.len();
        let z = Vector3::z();
        for i in 0..n {
            let joint = &self.joints[i];
            if joint.turns {
                let (s, c) = q[i].sin_cos();
                self.rotations[i] = joint.rotation * Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0);
                self.origins[i] = joint.translation;
            } else {
                self.rotations[i] = joint.rotation;
                self.origins[i] = joint.translation + joint.rotation * z * q[i];
            }
            let (r, p) = (&self.rotations[i], &self.origins[i]);
            let rest = [Vector3::zeros(), Vector3::zeros(), Vector3::zeros(), -self.gravity];
            let [w, v, dw, a] = joint.parent.map_or(rest, |p| self.moving[p]);
            let (v, a) = (r.tr_mul(&(v + w.cross(p))), r.tr_mul(&(a + dw.cross(p))));
            let (w, dw) = (r.tr_mul(&w), r.tr_mul(&dw));
            self.moving[i] = if joint.turns {
                [
                    w + z * dq[i],
                    v,
                    dw + z * ddq[i] + Vector3::new(w.y, -w.x, 0.0) * dq[i],
                    a + Vector3::new(v.y, -v.x, 0.0) * dq[i],
                ]
            } else {
                [w, v + z * dq[i], dw, a + z * ddq[i] + Vector3::new(w.y, -w.x, 0.0) * dq[i]]
            };
            let [w, v, dw, a] = &self.moving[i];
            let x = &theta[INERTIAL * i..INERTIAL * (i + 1)];
            let h = Vector3::new(x[1], x[2], x[3]);
            let inertia = Matrix3::new(x[4], x[5], x[7], x[5], x[6], x[8], x[7], x[8], x[9]);
            let classical = a + w.cross(v);
            let f = classical * x[0] + dw.cross(&h) + w.cross(&w.cross(&h));
            let moment = inertia * dw + w.cross(&(inertia * w)) + h.cross(&classical);
            self.forces[i] = [f, moment];
        }
        for i in (0..n).rev() {
            let joint = &self.joints[i];
            let [f, moment] = self.forces[i];
            let own = if joint.turns { moment.z } else { f.z };
            tau[i] = own + theta[self.friction + 4 * i + ARMATURE] * ddq[i];
            if let Some(p) = joint.parent {
                let f = self.rotations[i] * f;
                let moment = self.rotations[i] * moment + self.origins[i].cross(&f);
                self.forces[p][0] += f;
                self.forces[p][1] += moment;
            }
        }
    }
}
