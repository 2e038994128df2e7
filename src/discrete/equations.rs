//! The equations of one step, their matrix, and their slopes by state and parameters.
//!
//! For those who check the mathematics. With w the velocity after the step, lambda the impulses of the joints' rows and
//! lambda_t those of dry friction, a step of SPOOK ([5, eqs. 2.8 to 2.18]; signs anew, finite differences are the judge) is
//!
//! ```text
//! M (w - v) - h f - (h/2) f_g(v, w) - G' lambda - sum_j u_j (lambda_b + lambda_m + lambda_t) = p
//! G w + Sigma lambda + (4/h) Upsilon g - Upsilon G v = 0
//! sticking: u w + creep lambda_t = 0;    sliding with sign s: lambda_t + s mu(omega) c(lambda) = 0
//! ```
//!
//! with f_g(v, w) = -(0, omega_v x J omega_w + omega_w x J omega_v), Upsilon = 1 / (1 + 4 tau / h), Sigma = (4 / h^2) epsilon Upsilon, lambda_b = - b h u w (viscous),
//! lambda_m = J_s (u v - u w) + h K control (motor; [5, eq. F.3] lacks the h), c = sum U |lambda|, and p an impulse from outside.
//! The gyroscopic force is Kahan's: symmetric in the velocities before and after the step, hence of second order, and linear in what is sought. At the velocity
//! before the step, as \[5\] has it, it puts energy into what spins about two axes, by which frictions and inertias come out wrong at first order of h.

use nalgebra::{Matrix3, Vector3};

use super::geometry::{Geometry, JointGeometry};
use super::mechanism::{DryFriction, Mechanism, add_three, three};
use super::parameters::{MechanismParameter, gravity_slope};

/// What dry friction does in one hinge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HingeFriction {
    /// -1 or 1: the sign of the angular velocity with which it slides; 0: it sticks.
    pub sliding: i8,
    /// Signs of the five impulses whose sizes bound it.
    pub signs: [f64; 5],
}

impl HingeFriction {
    /// Numbers that hold it.
    pub(super) const NUMBERS: usize = 6;

    pub(super) fn numbers(&self) -> [f64; Self::NUMBERS] {
        let [a, b, c, d, e] = self.signs;
        [f64::from(self.sliding), a, b, c, d, e]
    }

    pub(super) fn from_numbers(x: &[f64]) -> Self {
        Self { sliding: x[0] as i8, signs: std::array::from_fn(|i| x[1 + i]) }
    }
}

impl Default for HingeFriction {
    fn default() -> Self {
        Self { sliding: 0, signs: [1.0; 5] }
    }
}

/// One step of a mechanism: sizes, and what does not change from step to step.
#[derive(Debug, Clone)]
pub(super) struct Equations {
    /// Step, s.
    pub(super) h: f64,
    /// 6 for each body.
    pub(super) nv: usize,
    /// Rows of the joints.
    pub(super) nr: usize,
    /// Joints with dry friction.
    pub(super) dry: Vec<usize>,
}

/// Where a step starts: state, controls (one a joint), and what is there already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) mechanism: &'a Mechanism,
    pub(super) geometry: &'a Geometry,
    pub(super) v: &'a [f64],
    pub(super) controls: &'a [f64],
}

fn add_block(m: &mut [f64], width: usize, row: usize, col: usize, block: &Matrix3<f64>) {
    for i in 0..3 {
        let out = &mut m[(row + i) * width + col..][..3];
        for j in 0..3 {
            out[j] += block[(i, j)];
        }
    }
}

fn add_column(m: &mut [f64], width: usize, row: usize, col: usize, x: &Vector3<f64>) {
    for i in 0..3 {
        m[(row + i) * width + col] += x[i];
    }
}

fn add_row(m: &mut [f64], width: usize, row: usize, col: usize, x: &Vector3<f64>) {
    add_three(&mut m[row * width..], col, *x);
}

/// Slopes that are being filled.
struct Slopes<'a> {
    m: &'a mut [f64],
    width: usize,
    /// Column of the first slope by the configuration.
    first: usize,
}

impl Slopes<'_> {
    fn block(&mut self, row: usize, col: usize, block: &Matrix3<f64>) {
        add_block(self.m, self.width, row, self.first + col, block);
    }

    fn row(&mut self, row: usize, col: usize, x: &Vector3<f64>) {
        add_row(self.m, self.width, row, self.first + col, x);
    }

    fn column(&mut self, row: usize, col: usize, x: &Vector3<f64>) {
        add_column(self.m, self.width, row, self.first + col, x);
    }

    fn number(&mut self, row: usize, col: usize, x: f64) {
        self.m[row * self.width + self.first + col] += x;
    }
}

/// Coefficient of friction at an angular velocity, and its slope.
pub(super) fn coefficient(dry: &DryFriction, omega: f64) -> (f64, f64) {
    let fading = (-dry.rate * omega * omega).exp();
    (dry.kinetic + dry.excess * fading, -2.0 * dry.rate * omega * dry.excess * fading)
}

/// The weights U of the five rows.
pub(super) fn arms(dry: &DryFriction) -> [f64; 5] {
    [dry.radius_m, dry.radius_m, dry.radius_m, 1.0, 1.0]
}

impl Equations {
    pub(super) fn new(mechanism: &Mechanism, h: f64) -> Self {
        let dry = (0..mechanism.joints.len()).filter(|&j| mechanism.joints[j].dry().is_some()).collect();
        Self { h, nv: mechanism.freedoms(), nr: mechanism.rows(), dry }
    }

    /// Upsilon and the two entries of Sigma (points, alignments) of joint `j`.
    pub(super) fn softness(&self, mechanism: &Mechanism, j: usize) -> (f64, [f64; 2]) {
        let (joint, h) = (&mechanism.joints[j], self.h);
        let upsilon = 1.0 / (1.0 + 4.0 * joint.relaxation_s / h);
        let scale = 4.0 / (h * h) * upsilon;
        (upsilon, [scale * joint.compliance_m_n, scale * joint.compliance_rad_nm])
    }

    /// Number of unknowns (w, lambda, lambda_t).
    pub(super) fn size(&self) -> usize {
        self.nv + self.nr + self.dry.len()
    }

    /// The matrix of the unknowns; `m` is of zeros, row-major.
    pub(super) fn fill_matrix(&self, at: Start<'_>, friction: &[HingeFriction], m: &mut [f64]) {
        let (n, nv) = (self.size(), self.nv);
        for (b, body) in at.mechanism.bodies.iter().enumerate() {
            for i in 0..3 {
                m[(6 * b + i) * n + 6 * b + i] = body.mass_kg;
            }
            let (omega, inertia) = (three(at.v, 6 * b + 3), &at.geometry.inertias[b]);
            let turning = omega.cross_matrix() * inertia - (inertia * omega).cross_matrix();
            add_block(m, n, 6 * b + 3, 6 * b + 3, &(inertia + turning * (0.5 * self.h)));
        }
        for (j, g) in at.geometry.joints.iter().enumerate() {
            let joint = &at.mechanism.joints[j];
            let drag = joint.viscous() * self.h + joint.motor().shaft_kg_m2;
            if drag != 0.0 {
                let block = g.axis * g.axis.transpose() * drag;
                let b = 6 * g.child + 3;
                add_block(m, n, b, b, &block);
                if let Some(a) = g.parent {
                    let a = 6 * a + 3;
                    add_block(m, n, a, a, &block);
                    add_block(m, n, a, b, &-block);
                    add_block(m, n, b, a, &-block);
                }
            }
            self.fill_rows(g, m);
            let (_, sigma) = self.softness(at.mechanism, j);
            for i in 0..joint.rows() {
                m[(nv + g.row + i) * n + nv + g.row + i] = sigma[usize::from(i >= 3)];
            }
        }
        self.fill_friction(at, friction, m);
    }

    /// G below and -G' beside the mass matrix, for one joint.
    fn fill_rows(&self, g: &JointGeometry, m: &mut [f64]) {
        let (n, row) = (self.size(), self.nv + g.row);
        let (one, b) = (Matrix3::identity(), 6 * g.child);
        let arm_b = g.arm_b.cross_matrix();
        add_block(m, n, row, b, &-one);
        add_block(m, n, row, b + 3, &arm_b);
        add_block(m, n, b, row, &one);
        add_block(m, n, b + 3, row, &arm_b);
        if let Some(a) = g.parent {
            let (a, arm_a) = (6 * a, g.arm_a.cross_matrix());
            add_block(m, n, row, a, &one);
            add_block(m, n, row, a + 3, &-arm_a);
            add_block(m, n, a, row, &-one);
            add_block(m, n, a + 3, row, &-arm_a);
        }
        if g.hinge {
            for (i, c) in g.cross.iter().enumerate() {
                add_row(m, n, row + 3 + i, b + 3, &-c);
                add_column(m, n, b + 3, row + 3 + i, c);
                if let Some(a) = g.parent {
                    add_row(m, n, row + 3 + i, 6 * a + 3, c);
                    add_column(m, n, 6 * a + 3, row + 3 + i, &-c);
                }
            }
        }
    }

    fn fill_friction(&self, at: Start<'_>, friction: &[HingeFriction], m: &mut [f64]) {
        let n = self.size();
        for (f, &j) in self.dry.iter().enumerate() {
            let (g, dry) = (&at.geometry.joints[j], at.mechanism.joints[j].dry().unwrap_or_default());
            let (row, b) = (self.nv + self.nr + f, 6 * g.child + 3);
            add_column(m, n, b, row, &-g.axis);
            if let Some(a) = g.parent {
                add_column(m, n, 6 * a + 3, row, &g.axis);
            }
            let state = friction[f];
            if state.sliding == 0 {
                add_row(m, n, row, b, &g.axis);
                if let Some(a) = g.parent {
                    add_row(m, n, row, 6 * a + 3, &-g.axis);
                }
                m[row * n + row] = dry.creep;
            } else {
                let mu = f64::from(state.sliding) * coefficient(&dry, g.turning(at.v)).0;
                for (i, arm) in arms(&dry).iter().enumerate() {
                    m[row * n + self.nv + g.row + i] = mu * arm * state.signs[i];
                }
                m[row * n + row] = 1.0;
            }
        }
    }

    /// The right-hand side for the impulse `p` from outside.
    pub(super) fn fill_right(&self, at: Start<'_>, p: &[f64], out: &mut Vec<f64>, rates: &mut Vec<f64>) {
        let h = self.h;
        out.clear();
        out.resize(self.size(), 0.0);
        let gravity = at.mechanism.gravity();
        for (b, body) in at.mechanism.bodies.iter().enumerate() {
            add_three(out, 6 * b, (three(at.v, 6 * b) + gravity * h) * body.mass_kg);
            add_three(out, 6 * b + 3, at.geometry.inertias[b] * three(at.v, 6 * b + 3));
        }
        for (j, g) in at.geometry.joints.iter().enumerate().filter(|(_, g)| g.hinge) {
            let motor = at.mechanism.joints[j].motor();
            let tau = motor.shaft_kg_m2 * g.turning(at.v) + h * motor.gain * at.controls[j];
            if tau != 0.0 {
                g.add_torque(tau, out);
            }
        }
        for (out, p) in out.iter_mut().zip(p) {
            *out += p;
        }
        at.geometry.rates(at.v, rates);
        out[self.nv..self.nv + self.nr].copy_from_slice(rates);
        at.geometry.gaps(rates);
        for (j, g) in at.geometry.joints.iter().enumerate() {
            let (upsilon, _) = self.softness(at.mechanism, j);
            for i in g.row..g.row + at.mechanism.joints[j].rows() {
                let row = &mut out[self.nv + i];
                *row = upsilon * (*row - 4.0 / h * rates[i]);
            }
        }
    }

    /// Slopes of the equations' residuals by (configuration, velocity, parameters) at the unknowns `y`, active set fixed; `d` is of zeros,
    /// row-major, at least first + 2 nv + parameters wide, and its columns before `first` are left alone.
    pub(super) fn fill_slopes(
        &self,
        at: Start<'_>,
        friction: &[HingeFriction],
        y: &[f64],
        parameters: &[MechanismParameter],
        first: usize,
        d: &mut [f64],
    ) {
        let width = d.len() / self.size();
        let d = &mut Slopes { m: d, width, first };
        for (b, body) in at.mechanism.bodies.iter().enumerate() {
            let (o, inertia) = (6 * b + 3, &at.geometry.inertias[b]);
            let (omega, w) = (three(at.v, o), three(y, o));
            let turned = |x: &Vector3<f64>| inertia * x.cross_matrix() - (inertia * x).cross_matrix();
            let turning = w.cross_matrix() * turned(&omega) + omega.cross_matrix() * turned(&w);
            d.block(o, o, &(turned(&(w - omega)) + turning * (0.5 * self.h)));
            let by_omega = w.cross_matrix() * inertia - (inertia * w).cross_matrix();
            d.block(o, self.nv + o, &(by_omega * (0.5 * self.h) - inertia));
            for i in 0..3 {
                d.number(6 * b + i, self.nv + 6 * b + i, -body.mass_kg);
            }
        }
        for j in 0..at.geometry.joints.len() {
            self.joint_slopes(at, j, y, d);
        }
        self.friction_slopes(at, friction, y, d);
        for (i, parameter) in parameters.iter().enumerate() {
            self.parameter_slope(at, friction, y, *parameter, 2 * self.nv + i, d);
        }
    }

    fn joint_slopes(&self, at: Start<'_>, j: usize, y: &[f64], d: &mut Slopes<'_>) {
        let g = &at.geometry.joints[j];
        let (nv, row, b) = (self.nv, self.nv + g.row, 6 * g.child);
        let (upsilon, _) = self.softness(at.mechanism, j);
        let pull = 4.0 / self.h * upsilon;
        let one = Matrix3::identity();
        // The points' impulse, and z = w - Upsilon v of both bodies.
        let force = three(y, row).cross_matrix();
        let z_b = g.child_turn(y) - g.child_turn(at.v) * upsilon;
        let z_a = g.parent_turn(y) - g.parent_turn(at.v) * upsilon;
        let arm_b = g.arm_b.cross_matrix();
        d.block(b + 3, b + 3, &(force * arm_b));
        d.block(row, b, &(one * -pull));
        d.block(row, b + 3, &(z_b.cross_matrix() * arm_b + arm_b * pull));
        d.block(row, nv + b, &(one * upsilon));
        d.block(row, nv + b + 3, &(arm_b * -upsilon));
        if let Some(a) = g.parent {
            let (a, arm_a) = (6 * a, g.arm_a.cross_matrix());
            d.block(a + 3, a + 3, &-(force * arm_a));
            d.block(row, a, &(one * pull));
            d.block(row, a + 3, &-(z_a.cross_matrix() * arm_a + arm_a * pull));
            d.block(row, nv + a, &(one * -upsilon));
            d.block(row, nv + a + 3, &(arm_a * upsilon));
        }
        if !g.hinge {
            return;
        }
        for (i, (normal, cross)) in g.normals.iter().zip(&g.cross).enumerate() {
            let (lambda, r) = (y[row + 3 + i], row + 3 + i);
            let by_a = normal.cross_matrix() * g.x.cross_matrix();
            let by_b = -(g.x.cross_matrix() * normal.cross_matrix());
            let z = z_a - z_b;
            d.block(b + 3, b + 3, &(by_b * lambda));
            d.row(r, b + 3, &(by_b.transpose() * z - cross * pull));
            d.row(r, nv + b + 3, &(cross * upsilon));
            if let Some(a) = g.parent {
                let a = 6 * a;
                d.block(b + 3, a + 3, &(by_a * lambda));
                d.block(a + 3, a + 3, &(by_a * -lambda));
                d.block(a + 3, b + 3, &(by_b * -lambda));
                d.row(r, a + 3, &(by_a.transpose() * z + cross * pull));
                d.row(r, nv + a + 3, &(cross * -upsilon));
            }
        }
        self.axis_slopes(at, j, y, d);
    }

    /// Of - u (lambda_b + lambda_m + lambda_t) on the child, and its opposite on the parent.
    fn axis_slopes(&self, at: Start<'_>, j: usize, y: &[f64], d: &mut Slopes<'_>) {
        let (g, joint) = (&at.geometry.joints[j], &at.mechanism.joints[j]);
        let (motor, drag) = (joint.motor(), joint.viscous() * self.h + joint.motor().shaft_kg_m2);
        let dry = self.dry.iter().position(|&k| k == j).map_or(0.0, |f| y[self.nv + self.nr + f]);
        let tau = dry - drag * g.turning(y)
            + motor.shaft_kg_m2 * g.turning(at.v)
            + self.h * motor.gain * at.controls[j];
        let relative = |x: &[f64]| g.child_turn(x) - g.parent_turn(x);
        let slope = g.axis.cross(&(relative(at.v) * motor.shaft_kg_m2 - relative(y) * drag));
        // d (u tau) by the child's turn, and by the velocities.
        let by_b = g.axis * slope.transpose() - g.axis.cross_matrix() * tau;
        let by_v = g.axis * g.axis.transpose() * motor.shaft_kg_m2;
        let (nv, b) = (self.nv, 6 * g.child + 3);
        d.block(b, b, &-by_b);
        d.block(b, nv + b, &-by_v);
        if let Some(a) = g.parent {
            let a = 6 * a + 3;
            d.block(a, b, &by_b);
            d.block(a, nv + b, &by_v);
            d.block(b, nv + a, &by_v);
            d.block(a, nv + a, &-by_v);
        }
    }

    fn friction_slopes(&self, at: Start<'_>, friction: &[HingeFriction], y: &[f64], d: &mut Slopes<'_>) {
        for (f, &j) in self.dry.iter().enumerate() {
            let (g, row) = (&at.geometry.joints[j], self.nv + self.nr + f);
            let (nv, b) = (self.nv, 6 * g.child + 3);
            let relative = |x: &[f64]| g.child_turn(x) - g.parent_turn(x);
            if friction[f].sliding == 0 {
                d.row(row, b, &g.axis.cross(&relative(y)));
                continue;
            }
            let dry = at.mechanism.joints[j].dry().unwrap_or_default();
            let slope = coefficient(&dry, g.turning(at.v)).1
                * f64::from(friction[f].sliding)
                * self.bound(g, &dry, &friction[f], y);
            if slope != 0.0 {
                d.row(row, b, &(g.axis.cross(&relative(at.v)) * slope));
                d.row(row, nv + b, &(g.axis * slope));
                if let Some(a) = g.parent {
                    d.row(row, nv + 6 * a + 3, &(g.axis * -slope));
                }
            }
        }
    }

    /// c(lambda) with these signs.
    pub(super) fn bound(
        &self,
        g: &JointGeometry,
        dry: &DryFriction,
        state: &HingeFriction,
        y: &[f64],
    ) -> f64 {
        let lambda = &y[self.nv + g.row..];
        arms(dry).iter().zip(&state.signs).zip(lambda).map(|((u, s), l)| u * s * l).sum()
    }

    fn parameter_slope(
        &self,
        at: Start<'_>,
        friction: &[HingeFriction],
        y: &[f64],
        parameter: MechanismParameter,
        col: usize,
        d: &mut Slopes<'_>,
    ) {
        let h = self.h;
        match parameter {
            MechanismParameter::Mass(b) => {
                let change = three(y, 6 * b) - three(at.v, 6 * b) - at.mechanism.gravity() * h;
                d.column(6 * b, col, &change);
            }
            MechanismParameter::Inertia(b, i) => {
                let axis: Vector3<f64> = at.geometry.rotations[b].column(i).into_owned();
                let (omega, w) = (three(at.v, 6 * b + 3), three(y, 6 * b + 3));
                let turning = w.cross(&axis) * axis.dot(&omega) + omega.cross(&axis) * axis.dot(&w);
                let slope = axis * axis.dot(&(w - omega)) + turning * (0.5 * h);
                d.column(6 * b + 3, col, &slope);
            }
            MechanismParameter::Tilt(i) => {
                let slope = gravity_slope(at.mechanism, i);
                for (b, body) in at.mechanism.bodies.iter().enumerate() {
                    d.column(6 * b, col, &(slope * (-h * body.mass_kg)));
                }
            }
            MechanismParameter::Viscous(j) => {
                self.torque_slope(at, j, -h * at.geometry.joints[j].turning(y), col, d)
            }
            MechanismParameter::Gain(j) => self.torque_slope(at, j, h * at.controls[j], col, d),
            MechanismParameter::Shaft(j) => {
                let g = &at.geometry.joints[j];
                self.torque_slope(at, j, g.turning(at.v) - g.turning(y), col, d);
            }
            MechanismParameter::Kinetic(j) | MechanismParameter::Excess(j) | MechanismParameter::Rate(j) => {
                let Some(f) = self.dry.iter().position(|&k| k == j) else { return };
                let (g, state) = (&at.geometry.joints[j], &friction[f]);
                let dry = at.mechanism.joints[j].dry().unwrap_or_default();
                let omega = g.turning(at.v);
                let fading = (-dry.rate * omega * omega).exp();
                let slope = match parameter {
                    MechanismParameter::Kinetic(_) => 1.0,
                    MechanismParameter::Excess(_) => fading,
                    _ => -omega * omega * dry.excess * fading,
                };
                let bound = self.bound(g, &dry, state, y);
                d.number(self.nv + self.nr + f, col, f64::from(state.sliding) * slope * bound);
            }
        }
    }

    /// A parameter that changes the torque about hinge `j` at this rate.
    fn torque_slope(&self, at: Start<'_>, j: usize, rate: f64, col: usize, d: &mut Slopes<'_>) {
        let g = &at.geometry.joints[j];
        d.column(6 * g.child + 3, col, &(g.axis * -rate));
        if let Some(a) = g.parent {
            d.column(6 * a + 3, col, &(g.axis * rate));
        }
    }
}
