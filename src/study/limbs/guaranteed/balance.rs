//! The projected momentum balance in one state: coefficients of all parameters, over any scalar.
//!
//! # Proven
//! With P = M v of the tree (transmission inertias included), G the ratios of all joints to the motors, J G = 0 and lambda the loops' forces,
//!
//! ```text
//! d/dt P = tau - friction - J' lambda + Y_f theta,        Y_f theta = dT/dq - g(q)
//! d/dt (G'P) = G'(tau - friction) + G' Y_f theta + (dG/dt)' P,    G' tau = u.
//! ```
//!
//! So u = d/dt (G'P) - (dG/dt)' P - G' Y_f theta + G' friction: [`Balance::momentum`] holds G'P and what else is known as a derivative (a motor's viscous
//! friction is that of its position), [`Balance::rate`] the rest but for Coulomb friction, whose columns stay zero.

use crate::dynamics::constraint::reduced::domain::enclosed::Following;
use crate::dynamics::{Motion, momentum_rate_regressor, momentum_regressor};
use crate::inertia::{ARMATURE, INERTIAL, OFFSET, VISCOUS};
use crate::robot::Model;
use crate::scalar::Scalar;

/// A limb, and what is the same in all its states.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The limb.
    pub model: Model,
    /// Indices of the motors' joints.
    pub motors: Vec<usize>,
    /// For each joint the bodies that it moves.
    carried: Vec<Vec<usize>>,
}

/// Coefficients of the balance; row-major, motors x parameters.
#[derive(Debug, Clone)]
pub(super) struct Balance<T> {
    /// What enters by its difference between the ends of a window, N m s.
    pub momentum: Vec<T>,
    /// What enters by its integral, N m.
    pub rate: Vec<T>,
}

impl Frame {
    pub(super) fn new(model: Model, motors: Vec<usize>) -> Self {
        let carries = |joint: usize, body: usize| {
            std::iter::successors(Some(body), |&b| model.joints[b].parent).any(|b| b == joint)
        };
        let n = model.bodies();
        let carried = (0..n).map(|joint| (0..n).filter(|&body| carries(joint, body)).collect()).collect();
        Self { model, motors, carried }
    }

    /// Number of parameters.
    pub(super) fn parameters(&self) -> usize {
        self.model.parameter_count()
    }

    /// The balance in a state.
    pub(super) fn balance<T: Scalar>(&self, motion: &mut Motion<T>, state: &Following<T>) -> Balance<T> {
        let (n, p) = (self.model.bodies(), self.parameters());
        let width = INERTIAL * n;
        motion.sweep_velocities(&self.model, &state.q, &state.v);
        let (mut y_m, mut y_f) = (vec![T::zero(); n * width], vec![T::zero(); n * width]);
        momentum_regressor(&self.model, motion, 0..n, &mut y_m);
        momentum_rate_regressor(&self.model, motion, 0..n, &mut y_f);
        let count = self.motors.len() * p;
        let mut all = Balance { momentum: vec![T::zero(); count], rate: vec![T::zero(); count] };
        for (k, &motor) in self.motors.iter().enumerate() {
            let own = k * p;
            for c in self.columns(motor) {
                all.momentum[own + c] = y_m[width * motor + c];
                all.rate[own + c] = -y_f[width * motor + c];
            }
            let friction = own + self.model.friction_index(motor);
            all.momentum[friction + ARMATURE] = state.v[motor];
            all.momentum[friction + VISCOUS] = state.q[motor];
            all.rate[friction + OFFSET] = T::constant(1.0);
        }
        for tie in &state.ties {
            let Some(k) = self.place(tie.motor) else { continue };
            let own = k * p;
            let mut add = |at: usize, momentum: T, rate: T| {
                all.momentum[own + at] = all.momentum[own + at] + momentum;
                all.rate[own + at] = all.rate[own + at] + rate;
            };
            for c in self.columns(tie.passive) {
                let (m, f) = (y_m[width * tie.passive + c], y_f[width * tie.passive + c]);
                add(c, tie.ratio * m, -(tie.rate * m + tie.ratio * f));
            }
            let (friction, v) = (self.model.friction_index(tie.passive), state.v[tie.passive]);
            add(friction + ARMATURE, tie.ratio * v, -(tie.rate * v));
            add(friction + VISCOUS, T::zero(), tie.ratio * v);
            add(friction + OFFSET, T::zero(), tie.ratio);
        }
        all
    }

    /// The place of a joint among the motors.
    pub(super) fn place(&self, joint: usize) -> Option<usize> {
        self.motors.iter().position(|&motor| motor == joint)
    }

    /// Columns of the bodies that a joint moves.
    fn columns(&self, joint: usize) -> impl Iterator<Item = usize> + '_ {
        self.carried[joint].iter().flat_map(|body| INERTIAL * body..INERTIAL * (body + 1))
    }
}
