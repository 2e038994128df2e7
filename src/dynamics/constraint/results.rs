//! What the derivatives of constrained dynamics are written to. All matrices are row-major.

use crate::inertia::INERTIAL;
use crate::robot::Model;

use super::Constraint;

/// Derivatives of a motion (nv x width) and of the forces (rows x width) with respect to `width` numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivity {
    /// Of the acceleration, or of the velocity after an impact, or of a projected vector.
    pub motion: Vec<f64>,
    /// Of the constraint forces (impulses), in the constraints' axes.
    pub force: Vec<f64>,
    /// Number of columns.
    pub width: usize,
}

impl Sensitivity {
    fn new(n: usize, rows: usize, width: usize) -> Self {
        Self { motion: vec![0.0; n * width], force: vec![0.0; rows * width], width }
    }
}

/// Derivatives of constrained motion and forces.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivities {
    /// To the configuration (in tangent space).
    pub by_q: Sensitivity,
    /// To the velocity; in an impact to the one before it; of a projection to the vector.
    pub by_v: Sensitivity,
    /// To the torque; in an impact, and of a projection, to a generalised impulse that comes with it.
    pub by_tau: Sensitivity,
    /// To the inertial parameters of all bodies (10 a body, as in the parameter vector); of width zero if not asked for.
    pub by_theta: Sensitivity,
}

impl Sensitivities {
    /// Room for the results; `with_parameters` says whether derivatives to inertial parameters are wanted.
    pub fn new(robot: &Model, constraints: &[Constraint], with_parameters: bool) -> Self {
        let n = robot.nv();
        let rows = constraints.iter().map(Constraint::rows).sum();
        let square = Sensitivity::new(n, rows, n);
        let parameters = if with_parameters { INERTIAL * robot.bodies() } else { 0 };
        Self {
            by_q: square.clone(),
            by_v: square.clone(),
            by_tau: square,
            by_theta: Sensitivity::new(n, rows, parameters),
        }
    }
}

/// The residuals r_d = M a + h - J' lambda - tau (N m) and r_a = J a + gamma + c lambda of the equations of motion, and
/// their derivatives ([3, eqs. 6, 13, 27, 28]). Rows of inactive constraints are zero.
///
/// To tau r_d has the derivative -1, to lambda -J'; r_a has J to a, and the compliance c to lambda.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Residuals {
    /// r_d, nv.
    pub dynamics: Vec<f64>,
    /// r_a, rows.
    pub constraint: Vec<f64>,
    /// dr_d/dq, nv x nv, in tangent space.
    pub dynamics_by_q: Vec<f64>,
    /// dr_d/dv, nv x nv.
    pub dynamics_by_v: Vec<f64>,
    /// dr_d/da = M with transmission inertia, nv x nv.
    pub mass: Vec<f64>,
    /// dr_d/dtheta: the torque regressor of the inertial parameters, nv x 10 bodies; empty if not asked for.
    pub dynamics_by_theta: Vec<f64>,
    /// dr_a/dq, rows x nv, in tangent space.
    pub constraint_by_q: Vec<f64>,
    /// dr_a/dv, rows x nv.
    pub constraint_by_v: Vec<f64>,
    /// dr_a/da = J, rows x nv.
    pub jacobian: Vec<f64>,
}

impl Residuals {
    /// Room for the results; `with_parameters` says whether the regressor is wanted.
    pub fn new(robot: &Model, constraints: &[Constraint], with_parameters: bool) -> Self {
        let n = robot.nv();
        let rows: usize = constraints.iter().map(Constraint::rows).sum();
        let parameters = if with_parameters { INERTIAL * robot.bodies() } else { 0 };
        let (square, wide) = (vec![0.0; n * n], vec![0.0; n * rows]);
        Self {
            dynamics: vec![0.0; n],
            constraint: vec![0.0; rows],
            dynamics_by_q: square.clone(),
            dynamics_by_v: square.clone(),
            mass: square,
            dynamics_by_theta: vec![0.0; n * parameters],
            constraint_by_q: wide.clone(),
            constraint_by_v: wide.clone(),
            jacobian: wide,
        }
    }
}
