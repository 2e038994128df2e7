//! Steps of a mechanism, and their slopes.
//!
//! For those who simulate. A state is a configuration (7 numbers a body) and its velocities (6 a body); [`Stepper::step`] moves it by one step of SPOOK
//! under controls (one a joint, 0 where there is no motor).

use super::complementarity::{StepSpace, first_guess};
use super::equations::{Equations, HingeFriction, Start};
use super::error::DiscreteError;
use super::geometry::Geometry;
use super::mechanism::{Mechanism, move_pose};

/// Configuration and velocities.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscreteState {
    /// Place (m) and unit quaternion (w, x, y, z) of each body.
    pub pose: Vec<f64>,
    /// Velocity (m/s) and angular velocity (rad/s) of each body, world axes.
    pub velocity: Vec<f64>,
}

/// Takes steps of one length.
#[derive(Debug, Clone)]
pub struct Stepper {
    mechanism: Mechanism,
    equations: Equations,
    geometry: Geometry,
    space: StepSpace,
    friction: Vec<HingeFriction>,
    started: bool,
}

impl Stepper {
    /// Steps of `step_s` for a mechanism that is at `pose` at first.
    ///
    /// # Errors
    /// [`DiscreteError`] for a mechanism or a step that cannot be.
    pub fn new(mechanism: Mechanism, step_s: f64, pose: &[f64]) -> Result<Self, DiscreteError> {
        if !(step_s > 0.0 && step_s.is_finite()) {
            let (place, field, expected) = ("stepper".into(), "step_s", "a number above 0");
            return Err(DiscreteError::Number { place, field, value: step_s, expected });
        }
        if pose.len() != mechanism.pose_numbers() || pose.iter().any(|x| !x.is_finite()) {
            let reason = format!("{} finite numbers are expected", mechanism.pose_numbers());
            return Err(DiscreteError::Recording { what: "configuration".into(), reason });
        }
        mechanism.check(pose)?;
        let equations = Equations::new(&mechanism, step_s);
        let geometry = Geometry::at(&mechanism, pose);
        let (space, friction) = (StepSpace::default(), Vec::new());
        Ok(Self { mechanism, equations, geometry, space, friction, started: false })
    }

    /// The mechanism.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// One step.
    ///
    /// # Errors
    /// [`DiscreteError::NoStep`]; the state is then as it was.
    pub fn step(&mut self, state: &mut DiscreteState, controls: &[f64]) -> Result<(), DiscreteError> {
        self.advance(state, controls, StepSpace::solve)
    }

    /// The same step with dry friction found by Lemke's method from nothing, for those who check or time [`Stepper::step`].
    ///
    /// # Errors
    /// As [`Stepper::step`].
    pub fn step_by_lemke(
        &mut self,
        state: &mut DiscreteState,
        controls: &[f64],
    ) -> Result<(), DiscreteError> {
        self.advance(state, controls, StepSpace::solve_by_lemke)
    }

    fn advance(
        &mut self,
        state: &mut DiscreteState,
        controls: &[f64],
        solve: impl Fn(
            &mut StepSpace,
            &Equations,
            Start<'_>,
            &[f64],
            &mut Vec<HingeFriction>,
        ) -> Result<(), DiscreteError>,
    ) -> Result<(), DiscreteError> {
        self.check_controls(controls)?;
        self.geometry.update(&self.mechanism, &state.pose);
        if !self.started {
            self.friction = first_guess(&self.equations, &self.geometry, &state.velocity);
            self.started = true;
        }
        let at = Start { mechanism: &self.mechanism, geometry: &self.geometry, v: &state.velocity, controls };
        solve(&mut self.space, &self.equations, at, &[], &mut self.friction)?;
        state.velocity.copy_from_slice(&self.space.y[..self.equations.nv]);
        let moves: Vec<f64> = state.velocity.iter().map(|v| self.equations.h * v).collect();
        let from = state.pose.clone();
        move_pose(&from, &moves, &mut state.pose);
        Ok(())
    }

    fn check_controls(&self, controls: &[f64]) -> Result<(), DiscreteError> {
        let joints = self.mechanism.joints.len();
        if controls.len() == joints && controls.iter().all(|u| u.is_finite()) {
            return Ok(());
        }
        let reason = format!("{joints} finite numbers are expected, one a joint");
        Err(DiscreteError::Recording { what: "controls".into(), reason })
    }

    /// Number of different velocities that dry friction allows after a step from here: more than one where friction is so large that
    /// the step is not unique, none where it has no solution.
    pub fn solutions(&mut self, state: &DiscreteState, controls: &[f64]) -> usize {
        self.geometry.update(&self.mechanism, &state.pose);
        let at = Start { mechanism: &self.mechanism, geometry: &self.geometry, v: &state.velocity, controls };
        self.space.solutions(&self.equations, at, &[]).len()
    }

    /// Angle of the hinge that is joint `j`, rad, of all that mean the same the one nearest to `near`.
    pub fn angle(&self, state: &DiscreteState, j: usize, near: f64) -> f64 {
        let angle = super::observe::encoder(&self.mechanism, &state.pose, j).0;
        near + super::observe::wrapped(angle - near)
    }

    /// Rate at which the hinge that is joint `j` turns, rad/s.
    pub fn rate(&self, state: &DiscreteState, j: usize) -> f64 {
        Geometry::at(&self.mechanism, &state.pose).joints[j].turning(&state.velocity)
    }

    /// Kinetic and potential energy, J; the spin of motors' shafts included, the springs of compliant rows not.
    pub fn energy(&self, state: &DiscreteState) -> f64 {
        let geometry = Geometry::at(&self.mechanism, &state.pose);
        let gravity = self.mechanism.gravity();
        let mut energy = 0.0;
        for (b, body) in self.mechanism.bodies.iter().enumerate() {
            let (v, omega) = (
                super::mechanism::three(&state.velocity, 6 * b),
                super::mechanism::three(&state.velocity, 6 * b + 3),
            );
            let place = super::mechanism::three(&state.pose, super::mechanism::POSE * b);
            energy += 0.5 * body.mass_kg * v.norm_squared()
                + 0.5 * omega.dot(&(geometry.inertias[b] * omega))
                - body.mass_kg * gravity.dot(&place);
        }
        for (joint, g) in self.mechanism.joints.iter().zip(&geometry.joints).filter(|(_, g)| g.hinge) {
            energy += 0.5 * joint.motor().shaft_kg_m2 * g.turning(&state.velocity).powi(2);
        }
        energy
    }

    /// Largest violation of a joint's rows, m or rad.
    pub fn violation(&self, state: &DiscreteState) -> f64 {
        let mut gaps = vec![];
        Geometry::at(&self.mechanism, &state.pose).gaps(&mut gaps);
        gaps.iter().fold(0.0, |m, g| m.max(g.abs()))
    }
}

#[cfg(test)]
mod tests;
