//! The first guess of a trajectory: what the sensors told.

use super::contacts::Kind;
use super::mechanics::Mechanics;
use super::{Formulation, MultibodyProblem};
use crate::estimate::problem::{EstimationProblem, Trajectory};
use crate::robot::configuration::difference;

impl MultibodyProblem {
    /// The first guess: the measured states, no noise (in the inverse form: accelerations that lead from one state to the
    /// next, and no forces), the nominal parameters.
    pub fn guess(&self) -> Trajectory {
        self.guess_at(&self.prior)
    }

    /// Coordinates of the nominal parameters, where the guess starts and the prior is centred.
    pub fn guess_theta(&self) -> &[f64] {
        &self.prior
    }

    /// [`MultibodyProblem::guess`] with other parameters (coordinates).
    pub fn guess_at(&self, theta: &[f64]) -> Trajectory {
        let states = self.measured_states();
        let mut guess = Trajectory {
            xs: self.schedule.stages.iter().map(|s| states[s.sample].clone()).collect(),
            us: (0..self.schedule.stages.len()).map(|k| vec![0.0; self.size(k).input]).collect(),
            theta: theta.to_vec(),
        };
        if self.formulation == Formulation::Inverse {
            let nq = self.robot.nq();
            for (k, stage) in self.schedule.stages.iter().enumerate() {
                // Behind an impact the measured velocity is still the one before it.
                if stage.kind == Kind::Step && stage.observed {
                    let (now, next) = (&states[stage.sample][nq..], &states[stage.sample + 1][nq..]);
                    for ((a, now), next) in guess.us[k].iter_mut().zip(now).zip(next) {
                        *a = (next - now) / self.steps[stage.sample];
                    }
                }
            }
        }
        guess
    }

    /// The states as measured; joints without encoders are where the loops put them, and velocities that nothing
    /// measures are differences of positions.
    fn measured_states(&self) -> Vec<Vec<f64>> {
        let (robot, nq, n) = (&*self.robot, self.robot.nq(), self.robot.nv());
        let mut states: Vec<Vec<f64>> =
            self.samples.iter().map(|s| [s.q.as_slice(), &s.dq].concat()).collect();
        let base = if robot.has_free_flyer() { 6 } else { 0 };
        let unseen: Vec<usize> = (base..n).filter(|&j| self.weights.q[j] == 0.0).collect();
        if !unseen.is_empty() && !self.schedule.closures.is_empty() {
            let mut loops = Mechanics::new(self);
            for k in 0..states.len() {
                let (done, rest) = states.split_at_mut(k);
                let state = &mut rest[0];
                if let Some(before) = done.last() {
                    // Behind a floating base positions are one ahead of velocities.
                    unseen.iter().for_each(|&j| state[j + nq - n] = before[j + nq - n]);
                }
                loops.close(self, &mut state[..nq], &unseen);
            }
        }
        let mut change = vec![0.0; n];
        for k in (0..states.len() - 1).filter(|&k| self.steps[k].is_finite()) {
            difference(robot, &states[k][..nq], &states[k + 1][..nq], &mut change);
            for j in (base..n).filter(|&j| self.weights.dq[j] == 0.0) {
                states[k][nq + j] = change[j] / self.steps[k];
                states[k + 1][nq + j] = states[k][nq + j];
            }
        }
        states
    }
}
