//! Constraint forces taken out where independent coordinates and constraints do not match.

use nalgebra::DMatrix;

use super::{ReducedError, finite};
use crate::dynamics::constraint::{ConstrainedDynamics, Constraint, Redundancy};
use crate::robot::Model;

/// Singular values of J below this share of the largest are none.
const RESOLUTION: f64 = 1e-10;

/// P = 1 - J'(J')^+, the orthogonal projector along the constraint forces: P J' = 0, so P(M a + h) = P tau whatever holds the
/// constraints (Aghili 2005). It exists for any number of motors and of rows, dependent ones included.
///
/// P Y theta = P tau are nv equations of rank nv - rank J; in a fully actuated robot they say the same as
/// u = Y_c theta, because P and G'span the same motions: P = G (G'G)^-1 G'.
#[derive(Debug, Clone)]
pub struct ForceProjector {
    dynamics: ConstrainedDynamics,
    /// P, nv x nv.
    matrix: DMatrix<f64>,
    rank: usize,
}

impl ForceProjector {
    /// Of a robot under these constraints.
    ///
    /// # Errors
    /// A constraint that makes no sense.
    pub fn new(robot: &Model, constraints: Vec<Constraint>) -> Result<Self, ReducedError> {
        let dynamics = ConstrainedDynamics::new(robot, constraints, Redundancy::Drop)?;
        let n = robot.nv();
        Ok(Self { dynamics, matrix: DMatrix::identity(n, n), rank: 0 })
    }

    /// Computes P at configuration `q`.
    ///
    /// # Errors
    /// A wrong length, or a number that is not finite.
    pub fn place(&mut self, robot: &Model, q: &[f64]) -> Result<(), ReducedError> {
        self.dynamics.check(robot, &[("q", q.len(), robot.nq())])?;
        finite("configuration", q)?;
        let n = robot.nv();
        self.dynamics.screws.sweep(robot, q, &self.dynamics.zero, &self.dynamics.zero);
        let mut jacobian = vec![0.0; n * self.dynamics.rows()];
        self.dynamics.each_active(robot, |rows| rows.add_jacobian(&mut jacobian));
        self.matrix = DMatrix::identity(n, n);
        self.rank = 0;
        if jacobian.is_empty() {
            return Ok(());
        }
        let svd = DMatrix::from_row_slice(self.dynamics.rows(), n, &jacobian).svd(false, true);
        let floor = RESOLUTION * svd.singular_values.max();
        let Some(v_t) = svd.v_t else { return Ok(()) };
        for (row, sigma) in v_t.row_iter().zip(&svd.singular_values) {
            if *sigma > floor {
                self.rank += 1;
                self.matrix -= row.transpose() * row;
            }
        }
        Ok(())
    }

    /// P, nv x nv.
    pub fn matrix(&self) -> &DMatrix<f64> {
        &self.matrix
    }

    /// Rank of J.
    pub fn rank(&self) -> usize {
        self.rank
    }
}
