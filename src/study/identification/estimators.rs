//! Estimates of the unknown parameters by every method at once, from one set of data: for comparison with each other and
//! with the guaranteed set. No guarantee rests on any of them but the interval of [`Estimator::Perturbation`].
//!
//! The data are momentum rows y_w z = u_w +- radius_w ([`crate::identify::window`]), so that no method needs accelerations. What is not
//! unknown has its value in the robot's model, z = model + x.

use std::time::Instant;

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::StudyError;
use crate::identify::physics::{tighten_body, tighten_by_physics};
use crate::identify::polytope::{Polytope, Rows};
use crate::identify::{nominal, perturbation};
use crate::inertia::Coordinates;
use crate::inertia::pseudo::check_physical;
use crate::inertia::{INERTIAL, ParameterSet};
use crate::recording::Sample;
use crate::regression::RegressionError;
use crate::regression::consistent;
use crate::regression::gravity::at_rest;
use crate::regression::least_squares::{Recursive, ordinary, reweighted, total, weighted};
use crate::robot::Arm;

/// A joint that is slower than this, rad/s (m/s), or than its encoder can tell, is at rest.
const STILL: f64 = 0.01;
/// Poses at rest with a larger condition number than this say nothing of mass and first moment.
const LARGEST_CONDITION: f64 = 1e4;
/// Least rounding of a row, as a share of the largest radius: a row without any error still has a finite weight.
const LEAST_RADIUS: f64 = 1e-9;

/// A way from data to parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// Inverse dynamics: one row a sample and joint with filtered accelerations, iteratively reweighted, friction >= 0
    /// ([`crate::regression::inverse`]).
    InverseDynamics,
    /// Ordinary least squares ([`ordinary`]).
    Ols,
    /// Weighted least squares, each row by the inverse square of its error bound ([`weighted`]).
    Wls,
    /// Iteratively reweighted least squares: [`Estimator::Wls`] with Huber's weights for outliers ([`reweighted`]).
    Irls,
    /// Recursive least squares over the rows in order of time, from the middle of the prior with its half-widths as
    /// deviations ([`Recursive`]).
    Rls,
    /// Total least squares: errors in the regressor as large as in the torques ([`total`]).
    Tls,
    /// Weighted least squares over bodies that can exist, in log-Cholesky coordinates, by Newton's method
    /// ([`consistent::weighted`]).
    LogCholesky,
    /// The same, iteratively reweighted ([`consistent::reweighted`]).
    LogCholeskyIrls,
    /// As [`Estimator::LogCholesky`] in exponential-eigenvalue coordinates, by Gauss-Newton steps.
    ExponentialEigenvalue,
    /// What a run's controller flies by: log-Cholesky with the arm's own unknowns eliminated, moved into the set
    /// ([`nominal::estimate`]).
    Nominal,
    /// Mass and first moment from the samples at rest, by gravity alone ([`at_rest`]).
    Static,
    /// The estimate of [1, Theorem 13], which is [`Estimator::Ols`], with the theorem's interval around it ([`perturbation`]):
    /// proven as the set is.
    Perturbation,
}

impl Estimator {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 12] = [
        Self::InverseDynamics,
        Self::Ols,
        Self::Wls,
        Self::Irls,
        Self::Rls,
        Self::Tls,
        Self::LogCholesky,
        Self::LogCholeskyIrls,
        Self::ExponentialEigenvalue,
        Self::Nominal,
        Self::Static,
        Self::Perturbation,
    ];

    /// As in files and on the command line, for example `log_cholesky`.
    pub fn name(self) -> &'static str {
        match self {
            Self::InverseDynamics => "inverse_dynamics",
            Self::Ols => "ols",
            Self::Wls => "wls",
            Self::Irls => "irls",
            Self::Rls => "rls",
            Self::Tls => "tls",
            Self::LogCholesky => "log_cholesky",
            Self::LogCholeskyIrls => "log_cholesky_irls",
            Self::ExponentialEigenvalue => "exponential_eigenvalue",
            Self::Nominal => "nominal",
            Self::Static => "static",
            Self::Perturbation => "perturbation",
        }
    }

    /// Whether it speaks of the last body alone, so that there is nothing for it where only friction is unknown.
    pub fn needs_body(self) -> bool {
        matches!(
            self,
            Self::LogCholesky
                | Self::LogCholeskyIrls
                | Self::ExponentialEigenvalue
                | Self::Nominal
                | Self::Static
                | Self::Perturbation
        )
    }
}

/// What one method says.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Which.
    pub method: Estimator,
    /// The full parameter vector; what the method says nothing about has its value in the robot's model.
    pub z: Vec<f64>,
    /// Indices that it speaks of.
    pub found: Vec<usize>,
    /// Proven intervals of `found` ([`Estimator::Perturbation`] alone).
    pub interval: Option<Vec<[f64; 2]>>,
    /// What else is to be said of it.
    pub note: Option<String>,
    /// Time taken, s.
    pub seconds: f64,
}

/// What the methods of this module work on.
pub struct Data<'a> {
    /// The robot.
    pub robot: &'a Arm,
    /// Rows of data, in order of time, over the full parameter vector.
    pub rows: &'a Rows,
    /// What was believed before.
    pub prior: &'a ParameterSet,
    /// What is left of it, proven; bodies that can exist are looked for from within.
    pub set: &'a ParameterSet,
    /// Indices of the unknown parameters.
    pub unknown: &'a [usize],
    /// All samples, for those at rest.
    pub samples: &'a [Sample],
}

impl Data<'_> {
    /// The estimate by `method`.
    ///
    /// # Errors
    /// Why the data allow none: too few or degenerate rows, no samples at rest, no interval left. [`Estimator::InverseDynamics`]
    /// needs accelerations, hence [`crate::regression::inverse::fit_reweighted`].
    pub fn estimate(&self, method: Estimator) -> Result<Estimate, StudyError> {
        let clock = Instant::now();
        let body = self.robot.inertial_index(self.robot.end_effector());
        if method.needs_body() && !self.unknown.contains(&body) {
            return Err(none("the inertia of the last body counts as known"));
        }
        let bodies = (body..body + INERTIAL).collect::<Vec<_>>();
        let (mut interval, mut note) = (None, None);
        let (found, values) = match method {
            Estimator::InverseDynamics => {
                return Err(none("momentum rows hold no accelerations"));
            }
            Estimator::Ols | Estimator::Wls | Estimator::Irls | Estimator::Rls | Estimator::Tls => {
                (self.unknown.to_vec(), self.linear(method, self.unknown)?)
            }
            Estimator::LogCholesky => (bodies, self.consistent(Coordinates::LogCholesky, false)?),
            Estimator::LogCholeskyIrls => (bodies, self.consistent(Coordinates::LogCholesky, true)?),
            Estimator::ExponentialEigenvalue => {
                (bodies, self.consistent(Coordinates::ExponentialEigenvalue, false)?)
            }
            Estimator::Nominal => {
                (bodies, nominal::estimate(&self.polytope(self.set), &self.inside()?).to_vec())
            }
            Estimator::Static => {
                let still = self.robot.sensors().velocity_rad_s.max(STILL);
                let found = at_rest(self.robot, &self.robot.nominal_parameters(), self.samples, still)?;
                let condition = found.condition_number;
                // `!(<)` also holds for NaN.
                if !(condition < LARGEST_CONDITION) {
                    let reason = format!(
                        "the poses at rest do not tell mass and first moment apart (condition number {condition:.1e}); \
                         expected several poses with the last link at different angles to gravity"
                    );
                    return Err(none(&reason));
                }
                note = Some(format!("condition number {condition:.1}"));
                let values = std::iter::once(found.mass).chain(found.first_moment).collect();
                (bodies[..4].to_vec(), values)
            }
            Estimator::Perturbation => {
                let prior = tighten_by_physics(self.prior, self.robot.end_effector())?;
                let set = perturbation::tighten(&self.polytope(&prior))?.set;
                interval = Some(bodies.iter().map(|&j| [set.lower()[j], set.upper()[j]]).collect());
                let values = self.linear(Estimator::Ols, &bodies)?;
                (bodies, values)
            }
        };
        let mut z = self.robot.nominal_parameters();
        found.iter().zip(values).for_each(|(&j, value)| z[j] = value);
        Ok(Estimate { method, z, found, interval, note, seconds: clock.elapsed().as_secs_f64() })
    }

    /// The rows about the robot's model: regressor of the columns `kept`, right-hand side.
    fn about_model(&self, kept: &[usize]) -> (DMatrix<f64>, DVector<f64>) {
        let model = DVector::from_vec(self.robot.nominal_parameters());
        let u = DVector::from_column_slice(&self.rows.u) - &self.rows.y * model;
        (self.rows.y.select_columns(kept), u)
    }

    /// 1/radius^2 of each row.
    fn weights(&self) -> Vec<f64> {
        let largest = self.rows.radius.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        self.rows.radius.iter().map(|r| r.max(LEAST_RADIUS * largest).powi(-2)).collect()
    }

    /// The parameters `sought`, all others as in the model, by a method that knows nothing of bodies.
    fn linear(&self, method: Estimator, sought: &[usize]) -> Result<Vec<f64>, StudyError> {
        let (a, b) = self.about_model(sought);
        let (model, weights) = (self.robot.nominal_parameters(), self.weights());
        let x = match method {
            Estimator::Wls => weighted(&a, &b, &weights)?,
            Estimator::Irls => {
                let (mut a, mut b) = (a, b);
                for (w, weight) in weights.iter().enumerate() {
                    a.row_mut(w).scale_mut(weight.sqrt());
                    b[w] *= weight.sqrt();
                }
                reweighted(&a, &b)?
            }
            Estimator::Rls => self.recursive(&a, &b, &weights)?,
            Estimator::Tls => {
                total(&a, &b).map_err(|_| none("the data do not determine all that is unknown"))?
            }
            _ => ordinary(&a, &b)?,
        };
        Ok(sought.iter().zip(x.iter()).map(|(&j, x)| model[j] + x).collect())
    }

    /// Row by row, in units of the rows' error bounds and the prior's half-widths.
    fn recursive(
        &self,
        a: &DMatrix<f64>,
        b: &DVector<f64>,
        weights: &[f64],
    ) -> Result<DVector<f64>, StudyError> {
        let (model, center, half) =
            (self.robot.nominal_parameters(), self.prior.center(), self.prior.radius());
        let shift: Vec<f64> = self.unknown.iter().map(|&j| center[j] - model[j]).collect();
        let half: Vec<f64> = self.unknown.iter().map(|&j| half[j]).collect();
        let mut filter = Recursive::new(vec![0.0; self.unknown.len()], 1.0, 1.0)?;
        for w in 0..a.nrows() {
            let root = weights[w].sqrt();
            let known: f64 = a.row(w).iter().zip(&shift).map(|(a, s)| a * s).sum();
            let row: Vec<f64> = a.row(w).iter().zip(&half).map(|(a, h)| root * a * h).collect();
            filter.push(&row, root * (b[w] - known));
        }
        let found = filter.estimate().iter().zip(&half).zip(&shift).map(|((x, h), s)| x * h + s);
        Ok(DVector::from_vec(found.collect()))
    }

    /// The last body by least squares over bodies that can exist.
    fn consistent(&self, coordinates: Coordinates, robust: bool) -> Result<Vec<f64>, StudyError> {
        let body = self.robot.body_range(self.robot.end_effector());
        let columns: Vec<usize> = body.clone().collect();
        let (y, about) = self.about_model(&columns);
        let model = DVector::from_column_slice(&self.robot.nominal_parameters()[body]);
        let u = about + &y * model;
        let fit = if robust { consistent::reweighted } else { consistent::weighted };
        Ok(fit(&y, &u, &self.weights(), coordinates, &self.inside()?)?.theta.to_vec())
    }

    /// A body that can exist in the set, or in the prior where the set shows none.
    fn inside(&self) -> Result<[f64; INERTIAL], StudyError> {
        let body = self.robot.end_effector();
        let found = tighten_body(self.set, body).or_else(|_| tighten_body(self.prior, body))?.1;
        check_physical(&found).map_err(|e| RegressionError::BadStart(e.to_string()))?;
        Ok(found)
    }

    fn polytope(&self, set: &ParameterSet) -> Polytope {
        let offset = self.robot.inertial_index(self.robot.end_effector());
        let mut polytope = Polytope::from_box(set.clone(), offset);
        polytope.rows = self.rows.clone();
        polytope
    }
}

fn none(reason: &str) -> StudyError {
    RegressionError::NoEstimate(reason.to_owned()).into()
}
