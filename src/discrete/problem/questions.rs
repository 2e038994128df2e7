//! What may be asked of a trajectory: where friction leaves a choice, and how the hinges stand.

use super::super::equations::Start;
use super::super::geometry::Geometry;
use super::super::observe::{encoder, wrapped};
use super::{DiscreteForm, DiscreteProblem};
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, Point, StageValues, Trajectory};

impl DiscreteProblem {
    /// Stages, at most `most` of them and evenly spread, from which dry friction allows more than one step: there the estimate chose one.
    pub fn ambiguous_steps(&self, along: &Trajectory, most: usize) -> Vec<usize> {
        let mut found = vec![];
        if self.equations.dry.is_empty() || most == 0 {
            return found;
        }
        let mut space = self.workspace();
        for k in (0..self.last()).step_by(self.last().div_ceil(most).max(1)) {
            let at = along.at(k);
            self.place(at, &mut space);
            let v = &at.x[self.mechanism.pose_numbers()..];
            let mut p = vec![];
            if self.form == DiscreteForm::Impulses {
                self.impulse(at.u, 0, &space.geometry, &mut p);
            }
            let (mechanism, geometry) = (&space.mechanism, &space.geometry);
            let start = Start { mechanism, geometry, v, controls: &self.log.controls[k] };
            if space.step[0].usual_solutions(&self.equations, start, &p) > 1 {
                found.push(k);
            }
        }
        found
    }

    /// Angles of the hinges, rad, to which the parameters lead from the first state, under the log's controls and no impulses from outside; the first angles are those nearest
    /// to `near`.
    ///
    /// # Errors
    /// [`EstimateError::Stage`] where no step can be taken.
    pub fn rollout(&self, from: &Trajectory, near: &[f64]) -> Result<Vec<Vec<f64>>, EstimateError> {
        let stepping = Self { form: DiscreteForm::Impulses, ..self.clone() };
        let (mut space, mut values) = (stepping.workspace(), StageValues::default());
        let (mut x, mut out) = (from.xs[0].clone(), vec![self.hinge_states(&from.xs[0], near).0]);
        for k in 0..self.last() {
            let u = vec![0.0; stepping.size(k).input];
            let at = Point { x: &x, u: &u, theta: &from.theta };
            stepping
                .evaluate(k, at, &mut space, &mut values)
                .map_err(|reason| EstimateError::Stage { stage: k, reason })?;
            x.clone_from(&values.next);
            out.push(self.hinge_states(&x, &out[k]).0);
        }
        Ok(out)
    }

    /// Angles and rates of the hinges at a state, the angles those nearest to `near`, rad and rad/s.
    pub fn hinge_states(&self, x: &[f64], near: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (pose, v) = x.split_at(self.mechanism.pose_numbers());
        let geometry = Geometry::at(&self.mechanism, pose);
        let angle = |(j, near): (&usize, &f64)| near + wrapped(encoder(&self.mechanism, pose, *j).0 - near);
        let rates = self.hinges.iter().map(|&j| geometry.joints[j].turning(v)).collect();
        (self.hinges.iter().zip(near).map(angle).collect(), rates)
    }
}
