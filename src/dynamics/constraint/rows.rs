//! The rows of one constraint: Jacobian, bias, forces, and their derivatives. Matrices are row-major.

use nalgebra::{Matrix3, Rotation3, UnitQuaternion, Vector3};

use super::screw::{Load, Point, Screws};
use super::{Constraint, RowAxes, into_axes};
use crate::linear::rigid_motion::left_jacobian3_inverse;
use crate::robot::{LoopKind, Model};

/// A constraint at the state of [`Screws`].
pub(super) struct Rows<'a> {
    robot: &'a Model,
    screws: &'a Screws,
    constraint: &'a Constraint,
    first: usize,
    ends: [(Point, Option<usize>, f64); 2],
    /// Position error, and its turn R_a r; base axes.
    error: [Vector3<f64>; 2],
    /// r.
    turn: Vector3<f64>,
}

/// A vector's linear and angular part.
type Pair = [Vector3<f64>; 2];

impl<'a> Rows<'a> {
    /// `first` is the constraint's first row.
    pub fn new(robot: &'a Model, screws: &'a Screws, constraint: &'a Constraint, first: usize) -> Self {
        let a = Point::new(screws, constraint.a.joint, &constraint.a.placement);
        let b = Point::new(screws, constraint.b.joint, &constraint.b.placement);
        let turn = match constraint.kind {
            LoopKind::Point => Vector3::zeros(),
            LoopKind::Rigid => {
                let between = Rotation3::from_matrix_unchecked(b.axes.tr_mul(&a.axes));
                UnitQuaternion::from_rotation_matrix(&between).scaled_axis()
            }
        };
        let error = [a.at - b.at, a.axes * turn];
        let ends = [(a, constraint.a.joint, 1.0), (b, constraint.b.joint, -1.0)];
        Self { robot, screws, constraint, first, ends, error, turn }
    }

    fn frame(&self) -> &Matrix3<f64> {
        &self.ends[0].0.axes
    }

    fn angular(&self) -> bool {
        self.constraint.kind == LoopKind::Rigid
    }

    /// e in the constraint's axes.
    pub fn write_error(&self, out: &mut [f64]) {
        self.write(&self.error, out);
    }

    /// de in base axes.
    fn rate(&self) -> Pair {
        let [(a, ..), (b, ..)] = &self.ends;
        [a.velocity - b.velocity, a.body.velocity.w - b.body.velocity.w]
    }

    /// dde + k_d de + k_p e in base axes, for the accelerations that are in the screws.
    fn condition(&self) -> Pair {
        let [(a, ..), (b, ..)] = &self.ends;
        let [v, w] = self.rate();
        let (k_p, k_d) = (self.constraint.stiffness, self.constraint.damping);
        [
            a.acceleration - b.acceleration + v * k_d + self.error[0] * k_p,
            a.body.acceleration.w - b.body.acceleration.w + w * k_d + self.error[1] * k_p,
        ]
    }

    /// Writes dde + k_d de + k_p e (gamma, for zero accelerations) to the constraint's rows.
    pub fn write_condition(&self, out: &mut [f64]) {
        self.write(&self.condition(), out);
    }

    /// Writes de to the constraint's rows.
    pub fn write_rate(&self, out: &mut [f64]) {
        self.write(&self.rate(), out);
    }

    fn write(&self, pair: &Pair, out: &mut [f64]) {
        let parts = if self.angular() { 2 } else { 1 };
        for (part, x) in pair.iter().take(parts).enumerate() {
            let x = into_axes(self.constraint.axes, self.frame(), x);
            let at = self.first + 3 * part;
            out[at..at + 3].copy_from_slice(x.as_slice());
        }
    }

    fn add(&self, pair: &Pair, column: usize, out: &mut [f64]) {
        let n = self.screws.unit.len();
        let parts = if self.angular() { 2 } else { 1 };
        for (part, x) in pair.iter().take(parts).enumerate() {
            let x = into_axes(self.constraint.axes, self.frame(), x);
            let at = self.first + 3 * part;
            for r in 0..3 {
                out[n * (at + r) + column] += x[r];
            }
        }
    }

    /// Adds the constraint's rows of J to `out` (rows x nv).
    pub fn add_jacobian(&self, out: &mut [f64]) {
        for (point, joint, sign) in &self.ends {
            for j in self.screws.support(*joint) {
                let unit = &self.screws.unit[j];
                self.add(&[unit.at(&point.at) * *sign, unit.w * *sign], j, out);
            }
        }
    }

    /// Adds the derivatives of the rows that [`Rows::write_rate`] writes to q (rows x nv).
    pub fn add_rate_slopes(&self, by_q: &mut [f64]) {
        for (point, joint, sign) in &self.ends {
            for j in self.screws.support(*joint) {
                let s = point.slopes(self.robot, self.screws, j);
                self.add(&[s.velocity_by_q * *sign, s.spin_by_q * *sign], j, by_q);
            }
        }
        self.add_turning_axes(&self.rate(), by_q);
    }

    /// Adds the derivatives of the rows that [`Rows::write_condition`] writes to q and v (rows x nv).
    pub fn add_condition_slopes(&self, by_q: &mut [f64], by_v: &mut [f64]) {
        let (k_p, k_d) = (self.constraint.stiffness, self.constraint.damping);
        for (point, joint, sign) in &self.ends {
            for j in self.screws.support(*joint) {
                let s = point.slopes(self.robot, self.screws, j);
                let linear = s.acceleration_by_q + s.velocity_by_q * k_d + s.position * k_p;
                let angular = s.spin_rate_by_q + s.spin_by_q * k_d;
                self.add(&[linear * *sign, angular * *sign], j, by_q);
                let linear = s.acceleration_by_v + s.position * k_d;
                let angular = s.spin_rate_by_v + s.unit.w * k_d;
                self.add(&[linear * *sign, angular * *sign], j, by_v);
            }
        }
        if self.angular() && k_p > 0.0 {
            self.add_turn_slopes(k_p, by_q);
        }
        self.add_turning_axes(&self.condition(), by_q);
    }

    /// R_a r changes by dtheta_a x R_a r + R_a J_r^-1(r) R_a' (dtheta_a - dtheta_b).
    fn add_turn_slopes(&self, factor: f64, by_q: &mut [f64]) {
        let frame = self.frame();
        // The right Jacobian is the left one's transpose.
        let change = frame * left_jacobian3_inverse(&self.turn).transpose() * frame.transpose();
        for (end, (_, joint, sign)) in self.ends.iter().enumerate() {
            for j in self.screws.support(*joint) {
                let w = &self.screws.unit[j].w;
                let mut slope = change * w * *sign;
                if end == 0 {
                    slope += w.cross(&self.error[1]);
                }
                self.add(&[Vector3::zeros(), slope * factor], j, by_q);
            }
        }
    }

    /// What turning local axes do to rows that hold `pair`.
    fn add_turning_axes(&self, pair: &Pair, by_q: &mut [f64]) {
        if self.constraint.axes == RowAxes::WorldAligned {
            return;
        }
        for j in self.screws.support(self.ends[0].1) {
            let w = &self.screws.unit[j].w;
            self.add(&[pair[0].cross(w), pair[1].cross(w)], j, by_q);
        }
    }

    /// Force and moment on frame a in base axes, from the constraint's rows of `force`.
    pub fn world_force(&self, force: &[f64]) -> Pair {
        let part = |k: usize| {
            let x = Vector3::from_column_slice(&force[self.first + 3 * k..][..3]);
            if self.constraint.axes == RowAxes::Local { self.frame() * x } else { x }
        };
        [part(0), if self.angular() { part(1) } else { Vector3::zeros() }]
    }

    /// Adds the derivative of J' force to q, at fixed rows of `force`, to `out` (nv x nv) times -1.
    ///
    /// (J' force)_k = S_k . F, F = (n + p x f, f) about the base origin. S_k changes by S_j x S_k where j carries k, F by
    /// the motion of the point and, in local axes, the turning of frame a.
    pub fn subtract_stiffness(&self, force: &[f64], out: &mut [f64]) {
        let [f, n] = self.world_force(force);
        let n_dof = self.screws.unit.len();
        let local = self.constraint.axes == RowAxes::Local;
        for (end, (point, joint, sign)) in self.ends.iter().enumerate() {
            let load = Load { n: (n + point.at.cross(&f)) * *sign, f: f * *sign };
            for j in self.screws.support(*joint) {
                let unit = &self.screws.unit[j];
                let moved = Load { n: unit.at(&point.at).cross(&load.f), f: Vector3::zeros() };
                let carried = load.carried(unit);
                for k in self.screws.support(*joint) {
                    let s = &self.screws.unit[k];
                    let mut slope = moved.dot(s);
                    if self.screws.joint[j] <= self.screws.joint[k] {
                        slope -= carried.dot(s);
                    }
                    out[n_dof * k + j] -= slope;
                }
            }
            if !local {
                continue;
            }
            for j in self.screws.support(self.ends[0].1) {
                let w = &self.screws.unit[j].w;
                let (df, dn) = (w.cross(&f) * *sign, w.cross(&n) * *sign);
                let turned = Load { n: dn + self.ends[end].0.at.cross(&df), f: df };
                for k in self.screws.support(*joint) {
                    out[n_dof * k + j] -= turned.dot(&self.screws.unit[k]);
                }
            }
        }
    }
}
