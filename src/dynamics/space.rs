//! Storage of the recursive algorithms over one scalar, kept from one state to the next.

use super::{Motion, Wrench, rnea};
use crate::robot::Robot;
use crate::scalar::Scalar;

/// Storage of the recursive algorithms over one scalar.
#[derive(Debug, Clone)]
pub struct Space<T> {
    /// Transforms and motions of the bodies.
    pub motion: Motion<T>,
    /// For a regressor; as long as it was last needed.
    pub regressor: Vec<T>,
    /// For parameters.
    pub theta: Vec<T>,
    /// What [`Space::inverse_dynamics`] found, N m.
    pub torque: Vec<T>,
    wrenches: Vec<Wrench<T>>,
}

impl<T: Scalar> Space<T> {
    /// Storage for `robot`, with room for so many entries of a regressor.
    pub fn new(robot: &Robot, regressor: usize) -> Self {
        let n = robot.dof();
        Self {
            motion: Motion::new(robot),
            regressor: Vec::with_capacity(regressor),
            theta: Vec::with_capacity(robot.parameter_count()),
            torque: vec![T::zero(); n],
            wrenches: vec![Wrench::zero(); n],
        }
    }

    /// Takes over the parameters.
    pub fn fill_theta(&mut self, theta: impl Iterator<Item = T>) {
        self.theta.clear();
        self.theta.extend(theta);
    }

    /// Inverse dynamics of the swept motion under the parameters, see [`rnea()`]; leaves the result in [`Space::torque`].
    pub fn inverse_dynamics(&mut self, robot: &Robot) {
        rnea(robot, &self.motion, &self.theta, &mut self.wrenches, &mut self.torque);
    }
}
