//! What the length of the model's step does to an estimate: the same estimate with half of it.
//!
//! For those who use the room. A step of SPOOK errs by its length, and the estimate takes that over, however well its deviations describe the noise. The same readings are
//! therefore explained once more in steps of half the length, from the estimate on. The states' part of that step is nearly linear, so that few iterations say where
//! the parameters go. Estimates err at second order, as a step's forces act half-way between the changes of configuration: half the step takes three quarters of the bias away.

use super::estimator::DiscreteEstimate;
use super::mechanism::{move_pose, pose_difference};
use super::problem::{DiscreteForm, DiscreteProblem, EncoderLog, ResidualWeights};
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, Trajectory};
use crate::estimate::solver::{Solver, SolverOptions};

/// Iterations at half the step. On the swing-up of 10 ms twenty change the result by 0.02 of a deviation.
const ITERATIONS: usize = 3;
/// The whole bias over what half the step takes away of it, at second order.
const LEFT: f64 = 4.0 / 3.0;

impl DiscreteProblem {
    /// The same readings with twice as many steps. Impulses from outside are as likely a second.
    fn halved(&self) -> Self {
        let (log, unread) = (&self.log, vec![f64::NAN; self.hinges.len()]);
        let mut fine = EncoderLog { step_s: 0.5 * log.step_s, ..Default::default() };
        for k in 0..=self.last() {
            fine.angles.push(log.angles[k].clone());
            fine.controls.push(log.controls[k].clone());
            if k < self.last() {
                let mean = |(a, b): (&f64, &f64)| 0.5 * (a + b);
                fine.angles.push(unread.clone());
                fine.controls.push(log.controls[k].iter().zip(&log.controls[k + 1]).map(mean).collect());
            }
        }
        let weights = ResidualWeights { kappa: 2.0 * self.weights.kappa, ..self.weights };
        self.restated(fine, weights)
    }

    /// A trajectory of this problem as one of `half`. The velocity of a state is that of the step that led to it, half a step ago.
    fn refined(&self, half: &Self, at: &Trajectory) -> Trajectory {
        let (poses, nv) = (self.mechanism.pose_numbers(), self.equations.nv);
        let blend = |a: &[f64], b: &[f64], share: f64| -> Vec<f64> {
            a[poses..].iter().zip(&b[poses..]).map(|(a, b)| a + share * (b - a)).collect()
        };
        let mut xs: Vec<Vec<f64>> = vec![];
        let mut us = vec![];
        for k in 0..self.last() {
            let (here, next) = (&at.xs[k], &at.xs[k + 1]);
            let (mut d, mut middle) = (vec![0.0; nv], vec![0.0; poses]);
            pose_difference(&next[..poses], &here[..poses], &mut d);
            d.iter_mut().for_each(|d| *d *= 0.5);
            move_pose(&here[..poses], &d, &mut middle);
            xs.push([&here[..poses], &blend(here, next, 0.25)].concat());
            xs.push([middle, blend(here, next, 0.75)].concat());
            let shared: Vec<f64> = at.us[k].iter().map(|u| 0.5 * u).collect();
            us.extend([shared.clone(), shared]);
        }
        xs.push(at.xs[self.last()].clone());
        us.push(vec![]);
        if self.form == DiscreteForm::Changes {
            for k in 0..half.last() {
                half.difference(k + 1, &xs[k + 1], &xs[k], &mut us[k]);
            }
        }
        Trajectory { xs, us, theta: at.theta.clone() }
    }

    /// What the length of the step adds to or takes from each parameter's estimate, over its deviation and with the sign that undoes it; nothing where there is no
    /// deviation: four thirds of how far the parameter moves with half the step.
    ///
    /// # Errors
    /// As [`Solver::solve`], at half the step.
    pub fn step_bias(
        &self,
        estimate: &DiscreteEstimate,
        options: SolverOptions,
    ) -> Result<Vec<Option<f64>>, EstimateError> {
        let half = self.halved();
        let guess = self.refined(&half, &estimate.trajectory);
        let options = SolverOptions { iterations: ITERATIONS, cautious: false, ..options };
        let mut solver = Solver::new(&half, options)?;
        solver.solve(&guess)?;
        let moved = &solver.trajectory().theta;
        let one = |(i, p): (usize, &super::estimator::ParameterEstimate)| {
            let change = (moved[i] - estimate.trajectory.theta[i]) * self.unknowns[i].scale;
            p.deviation.filter(|d| *d > 0.0).map(|d| LEFT * change / d)
        };
        Ok(estimate.parameters.iter().enumerate().map(one).collect())
    }
}
