//! Regressors of the momentum balance in one state, over the scalars that rows are made of.

use crate::dynamics::{Motion, momentum_rate_regressor, momentum_regressor_row};
use crate::enclose::{Affine, Interval};
use crate::inertia::INERTIAL;
use crate::robot::Arm;
use crate::scalar::{Dual, Scalar};

/// Encoder errors that are kept apart as symbols: enough for positions and velocities of seven joints. What does not
/// fit goes to the remainder.
pub(super) const SYMBOLS: usize = 14;

pub(super) type Form = Affine<SYMBOLS>;

/// A number with its derivatives: once along the state's own velocity, then in time.
pub(super) type Twice = Dual<Dual<Interval, 1>, 1>;

/// Storage for what [`Integrals::fill`] evaluates.
#[derive(Debug, Clone)]
pub(super) struct Evaluators {
    pub(super) intervals: Evaluator<Interval>,
    pub(super) duals: Evaluator<Dual<Interval, 1>>,
    pub(super) twice: Evaluator<Twice>,
}

impl Evaluators {
    pub(super) fn new(robot: &Arm) -> Self {
        Self { intervals: Evaluator::new(robot), duals: Evaluator::new(robot), twice: Evaluator::new(robot) }
    }
}

/// A state, and storage for regressors in it, over one scalar.
#[derive(Debug, Clone)]
pub(super) struct Evaluator<T> {
    pub(super) q: Vec<T>,
    pub(super) dq: Vec<T>,
    pub(super) motion: Motion<T>,
    y: Vec<T>,
    /// Of q and dq over a block.
    pub(super) ranges: (Vec<Interval>, Vec<Interval>),
}

impl<T: Scalar> Evaluator<T> {
    pub(super) fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        let y = vec![T::zero(); INERTIAL * n * n];
        let (q, dq, ranges) = (Vec::with_capacity(n), Vec::with_capacity(n), Default::default());
        Self { q, dq, motion: Motion::new(robot), y, ranges }
    }

    pub(super) fn sweep(&mut self, robot: &Arm) {
        self.motion.sweep_velocities(robot, &self.q, &self.dq);
    }

    /// Y_f, row-major n x 10 n.
    pub(super) fn rate(&mut self, robot: &Arm) -> &[T] {
        self.motion.place(robot, &self.q);
        self.rate_there(robot)
    }

    /// Y_f where the motion has been placed already.
    pub(super) fn rate_there(&mut self, robot: &Arm) -> &[T] {
        self.motion.sweep_velocities_there(robot, &self.dq);
        momentum_rate_regressor(robot, &self.motion, 0..robot.dof(), &mut self.y);
        &self.y
    }

    /// Row `i` of Y_m in the state swept last.
    pub(super) fn momentum_row(&mut self, robot: &Arm, i: usize) -> &[T] {
        let row = &mut self.y[..INERTIAL * robot.dof()];
        row.fill(T::zero());
        momentum_regressor_row(robot, &self.motion, i, row);
        row
    }
}
