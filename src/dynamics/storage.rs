//! Storage of the recursive algorithms over one scalar, kept from one state to the next.
//!
//! Each matrix has storage of its own that nothing else can be written to. An algorithm that leaves structural zeros untouched
//! (entries of bodies that a joint does not carry) therefore never finds another algorithm's numbers there; and a storage is cleared
//! before it is filled, so that it may go from one robot to another.

use super::{Composites, Motion, Wrench, crba, momentum_regressor, rnea, torque_regressor};
use crate::inertia::INERTIAL;
use crate::robot::Model;
use crate::scalar::Scalar;

/// Storage of a regressor: row-major, nv rows by 10 columns a body.
#[derive(Debug, Clone)]
pub struct RegressorStorage<T> {
    entries: Vec<T>,
}

impl<T: Scalar> RegressorStorage<T> {
    /// Storage that asks for memory when it is filled first.
    pub fn empty() -> Self {
        Self { entries: Vec::new() }
    }

    /// Storage with room for a regressor of `robot`.
    pub fn new(robot: &Model) -> Self {
        Self { entries: Vec::with_capacity(entries(robot)) }
    }

    fn cleared(&mut self, robot: &Model) -> &mut [T] {
        self.entries.clear();
        self.entries.resize(entries(robot), T::zero());
        &mut self.entries
    }

    /// The torque regressor of a swept motion, see [`torque_regressor`].
    pub fn torque(&mut self, robot: &Model, motion: &Motion<T>) -> &[T] {
        let y = self.cleared(robot);
        torque_regressor(robot, motion, 0..robot.bodies(), y);
        y
    }

    /// What was filled last.
    pub fn filled(&self) -> &[T] {
        &self.entries
    }

    /// The momentum regressor of a swept motion, see [`momentum_regressor`].
    pub fn momentum(&mut self, robot: &Model, motion: &Motion<T>) -> &[T] {
        let y = self.cleared(robot);
        momentum_regressor(robot, motion, 0..robot.bodies(), y);
        y
    }
}

/// Entries of a regressor of `robot`.
fn entries(robot: &Model) -> usize {
    INERTIAL * robot.bodies() * robot.dof()
}

/// Storage of a mass matrix: row-major nv x nv.
#[derive(Debug, Clone)]
pub struct MassStorage<T> {
    entries: Vec<T>,
    composites: Composites<T>,
}

impl<T: Scalar> MassStorage<T> {
    /// Storage for `robot`, or another one with the same tree of joints.
    pub fn new(robot: &Model) -> Self {
        Self { entries: Vec::with_capacity(robot.dof() * robot.dof()), composites: Composites::new(robot) }
    }

    /// The mass matrix of the links in the positions of a placed motion, see [`crba()`]; `theta` holds at least the 10 inertial
    /// parameters of each body.
    pub fn links(&mut self, robot: &Model, motion: &Motion<T>, theta: &[T]) -> &mut [T] {
        self.entries.clear();
        self.entries.resize(robot.dof() * robot.dof(), T::zero());
        crba(robot, motion, theta, &mut self.composites, &mut self.entries);
        &mut self.entries
    }
}

/// Storage of the recursive algorithms over one scalar.
#[derive(Debug, Clone)]
pub struct RecursionStorage<T> {
    /// Transforms and motions of the bodies.
    pub motion: Motion<T>,
    /// For parameters.
    pub theta: Vec<T>,
    /// What [`RecursionStorage::inverse_dynamics`] found, N m.
    pub torque: Vec<T>,
    wrenches: Vec<Wrench<T>>,
}

impl<T: Scalar> RecursionStorage<T> {
    /// Storage for `robot`.
    pub fn new(robot: &Model) -> Self {
        let n = robot.dof();
        Self {
            motion: Motion::new(robot),
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

    /// Inverse dynamics of the swept motion under the parameters, see [`rnea()`]; leaves the result in [`RecursionStorage::torque`].
    pub fn inverse_dynamics(&mut self, robot: &Model) {
        rnea(robot, &self.motion, &self.theta, &mut self.wrenches, &mut self.torque);
    }
}
