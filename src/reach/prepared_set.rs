//! A parameter set as law and proof use it, prepared once a plan and shared by planner, certifier and controller.
//!
//! # Assumed
//! Nothing of the robot but its number of joints, by which the parameters are laid out ([`crate::robot::Model::nominal_parameters`]); lengths of
//! levers make bounds tight, not true ([`super::mass`]).
//!
//! # Proven
//! Centre +- radius, as the controller has them, hold the set; so do the ranges, the strips ([`super::strips`]) and the pair of matrices
//! ([`super::mass`]). Only [`PreparedSet::new`] makes them, and nothing changes them, so whoever is handed a prepared set need not ask where
//! it comes from.

use crate::enclose::Interval;
use crate::inertia::{ARMATURE, FRICTION, INERTIAL, ParameterSet};
use crate::robot::Arm;

use super::mass;
use super::strips::PreparedStrips;

/// A parameter set as centre, radius and enclosures.
#[derive(Debug, Clone)]
pub struct PreparedSet {
    set: ParameterSet,
    joints: usize,
    center: Vec<f64>,
    radius: Vec<f64>,
    range: Vec<Interval>,
    strips: Option<PreparedStrips>,
    between: mass::MassBounds,
}

impl PreparedSet {
    /// Prepares `set`, that of `robot`.
    pub fn new(robot: &Arm, set: &ParameterSet) -> Self {
        let (center, radius) = (set.center(), set.radius());
        let range = set.centers_and_radii().map(|(c, g)| Interval::around(c, g)).collect();
        let strips = PreparedStrips::new(robot, set, &center, &radius);
        let between = mass::MassBounds::new(robot, set);
        Self { set: set.clone(), joints: robot.dof(), center, radius, range, strips, between }
    }

    /// The set itself.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Number of joints of the robot that it was prepared for.
    pub fn joints(&self) -> usize {
        self.joints
    }

    /// Centre theta_0, as the controller has it.
    pub fn center(&self) -> &[f64] {
        &self.center
    }

    /// Radius g about the centre, as the controller has it.
    pub fn radius(&self) -> &[f64] {
        &self.radius
    }

    /// Holds the set and all that the controller makes of it, centre +- radius.
    pub fn range(&self) -> &[Interval] {
        &self.range
    }

    /// The strips of a correlated set.
    pub fn strips(&self) -> Option<&PreparedStrips> {
        self.strips.as_ref()
    }

    /// Parameters between whose mass matrices those of the set are.
    pub fn between(&self) -> &mass::MassBounds {
        &self.between
    }

    /// Centre and radius of joint `j`'s own parameters: friction, transmission inertia and offset.
    pub fn joint(&self, j: usize) -> (&[f64], &[f64]) {
        let at = INERTIAL * self.joints + FRICTION * j;
        (&self.center[at..at + FRICTION], &self.radius[at..at + FRICTION])
    }

    /// The least transmission inertia of joint `j`, kg m^2 (kg), rounded down. Where every body can exist the mass matrix is at least the diagonal of them.
    pub fn least_armature(&self, j: usize) -> f64 {
        let (center, half) = self.joint(j);
        (center[ARMATURE] - half[ARMATURE]).next_down()
    }
}
