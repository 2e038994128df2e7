//! Which coordinates of a body: in both, every point is a body that can exist.

use nalgebra::SMatrix;

use super::pseudo::InertiaError;
use super::{INERTIAL, exponential_eigenvalue, log_cholesky};

/// Coordinates of one body's inertial parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    /// [`log_cholesky`].
    LogCholesky,
    /// [`exponential_eigenvalue`].
    ExponentialEigenvalue,
}

impl Coordinates {
    /// Physical parameters at `c`.
    pub fn physical(self, c: &[f64; INERTIAL]) -> [f64; INERTIAL] {
        match self {
            Coordinates::LogCholesky => log_cholesky::theta(c),
            Coordinates::ExponentialEigenvalue => exponential_eigenvalue::theta(c),
        }
    }

    /// d physical / d coordinates at `c`.
    pub fn jacobian(self, c: &[f64; INERTIAL]) -> SMatrix<f64, INERTIAL, INERTIAL> {
        match self {
            Coordinates::LogCholesky => log_cholesky::jacobian(c),
            Coordinates::ExponentialEigenvalue => exponential_eigenvalue::jacobian(c),
        }
    }

    /// Coordinates of a body.
    ///
    /// # Errors
    /// When no rigid body has these parameters, or a flat one.
    pub fn of(self, physical: &[f64; INERTIAL]) -> Result<[f64; INERTIAL], InertiaError> {
        match self {
            Coordinates::LogCholesky => log_cholesky::eta(physical),
            Coordinates::ExponentialEigenvalue => exponential_eigenvalue::coordinates(physical),
        }
    }
}
