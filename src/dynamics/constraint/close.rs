//! Configurations that satisfy the constraints.

use crate::robot::Model;
use crate::robot::configuration::integrate;

use super::ConstraintError;
use super::forward::{ConstrainedDynamics, negate};

/// An error (m, rad) that counts as none: about a thousand roundings of a length of 1 m. Newton's method doubles its digits
/// in each step, so a larger value would save a step or two.
const CLOSED: f64 = 1e-13;
/// Newton steps at most, and halvings of one. The numbers are only there to end.
const STEPS: usize = 60;
const HALVINGS: usize = 12;
/// How many times heavier than the heaviest a joint is made that should stay where it is: it moves by a millionth of what
/// others do, and ten digits of the factorisation are left.
const HELD: f64 = 1e6;

impl ConstrainedDynamics {
    /// Moves `q` to a nearby configuration in which the active constraints hold, and returns the norm of the position
    /// errors that are left (m, rad): rounding, unless no such configuration is near.
    ///
    /// Newton's steps, each the smallest in the metric M(q; theta) that removes the error to first order (M s = J'z,
    /// J s = -e), halved until the error shrinks.
    ///
    /// # Errors
    /// As [`ConstrainedDynamics::forward`].
    pub fn close(&mut self, robot: &Model, q: &mut [f64], theta: &[f64]) -> Result<f64, ConstraintError> {
        self.close_by(robot, q, theta, |_| true)
    }

    /// [`ConstrainedDynamics::close`] by degrees of freedom that are `free`: the metric makes all others so heavy that
    /// they move only where the free ones alone cannot close the loops.
    ///
    /// # Errors
    /// As [`ConstrainedDynamics::forward`].
    pub fn close_by(
        &mut self,
        robot: &Model,
        q: &mut [f64],
        theta: &[f64],
        free: impl Fn(usize) -> bool,
    ) -> Result<f64, ConstraintError> {
        self.check_state(robot, q, theta, &[])?;
        let n = robot.nv();
        let mut error = self.position_error(robot, q);
        for _ in 0..STEPS {
            if error <= CLOSED {
                break;
            }
            self.workspace.mass_matrix(robot, q, theta, &mut self.mass);
            let heaviest = (0..n).fold(0.0f64, |m, k| m.max(self.mass[(n + 1) * k]));
            (0..n).filter(|&k| !free(k)).for_each(|k| self.mass[(n + 1) * k] += HELD * heaviest);
            self.factor(robot)?;
            negate(&self.condition, &mut self.force);
            self.motion.fill(0.0);
            self.kkt.solve(&self.jacobian, &mut self.motion, &mut self.force, 1);
            let shrunk = (0..HALVINGS).find_map(|k| {
                let scale = 0.5f64.powi(k as i32);
                for (step, whole) in self.jump.iter_mut().zip(&self.motion) {
                    *step = scale * whole;
                }
                let mut to = std::mem::take(&mut self.nearby);
                integrate(robot, q, &self.jump, &mut to);
                let next = self.position_error(robot, &to);
                if next < error {
                    q.copy_from_slice(&to);
                }
                self.nearby = to;
                (next < error).then_some(next)
            });
            let Some(next) = shrunk else { break };
            error = next;
        }
        Ok(error)
    }

    /// Norm of the position errors of the active constraints; `condition` receives them, the screws are left at `q`.
    fn position_error(&mut self, robot: &Model, q: &[f64]) -> f64 {
        self.screws.sweep(robot, q, &self.zero, &self.zero);
        let mut condition = std::mem::take(&mut self.condition);
        condition.fill(0.0);
        self.each_active(robot, |rows| rows.write_error(&mut condition));
        let square: f64 = condition.iter().map(|e| e * e).sum();
        self.condition = condition;
        square.sqrt()
    }
}
