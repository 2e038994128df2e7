//! Which physical parameters are estimated, and in which coordinates.
//!
//! theta holds, body after body, ten coordinates in which every point is a body that can exist, then friction parameters
//! as they are. The dynamics need the physical parameters p (the layout of [`Robot::nominal_parameters`]) and dp/dtheta,
//! which is block-diagonal.

use nalgebra::SMatrix;

use super::error::EstimateError;
use crate::inertia::pseudo::InertiaError;
use crate::inertia::{exponential_eigenvalue, log_cholesky};
use crate::robot::{ARMATURE, COULOMB, INERTIAL, OFFSET, Robot, VISCOUS};

/// Coordinates of one body's inertial parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    /// [`log_cholesky`].
    LogCholesky,
    /// [`exponential_eigenvalue`].
    ExponentialEigenvalue,
}

/// Names of the coordinates, in their order.
const LOG_CHOLESKY: [&str; INERTIAL] = ["alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3"];
const EXPONENTIAL: [&str; INERTIAL] =
    ["sigma_m", "h_x", "h_y", "h_z", "omega_x", "omega_y", "omega_z", "sigma_x", "sigma_y", "sigma_z"];
/// Names of the physical parameters of a body, in their order.
pub const PHYSICAL: [&str; INERTIAL] =
    ["m", "h_x", "h_y", "h_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];
/// Their units.
pub const UNITS: [&str; INERTIAL] =
    ["kg", "kg m", "kg m", "kg m", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2"];

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

/// A friction parameter of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JointParameter {
    /// Coulomb friction, N m.
    Coulomb,
    /// Viscous friction, N m s/rad.
    Viscous,
    /// Transmission inertia, kg m^2.
    Armature,
    /// Constant offset, N m.
    Offset,
}

impl JointParameter {
    /// Its index among a joint's parameters.
    pub fn index(self) -> usize {
        match self {
            JointParameter::Coulomb => COULOMB,
            JointParameter::Viscous => VISCOUS,
            JointParameter::Armature => ARMATURE,
            JointParameter::Offset => OFFSET,
        }
    }

    /// Its name and unit.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            JointParameter::Coulomb => ("F_c", "N m"),
            JointParameter::Viscous => ("F_v", "N m s/rad"),
            JointParameter::Armature => ("I_a", "kg m^2"),
            JointParameter::Offset => ("beta", "N m"),
        }
    }
}

/// What theta means.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterMap {
    /// Bodies (joint indices) with their coordinates.
    pub bodies: Vec<(usize, Coordinates)>,
    /// Friction parameters (joint index and which).
    pub joints: Vec<(usize, JointParameter)>,
    /// Physical parameters of everything that is not estimated, and where the estimate starts.
    pub nominal: Vec<f64>,
}

impl ParameterMap {
    /// Nothing is estimated.
    pub fn none(robot: &Robot) -> Self {
        Self { bodies: Vec::new(), joints: Vec::new(), nominal: robot.nominal_parameters() }
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        INERTIAL * self.bodies.len() + self.joints.len()
    }

    /// Whether nothing is estimated.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Index of a joint parameter in p.
    pub fn joint_index(robot: &Robot, joint: usize, which: JointParameter) -> usize {
        robot.friction_index(joint) + which.index()
    }

    /// Coordinates of the nominal parameters.
    ///
    /// # Errors
    /// When a nominal body has no coordinates.
    pub fn start(&self, robot: &Robot) -> Result<Vec<f64>, EstimateError> {
        let mut theta = Vec::with_capacity(self.len());
        for &(body, coordinates) in &self.bodies {
            let at = robot.inertial_index(body);
            let mut physical = [0.0; INERTIAL];
            physical.copy_from_slice(&self.nominal[at..at + INERTIAL]);
            let c = coordinates.of(&physical).map_err(|e| EstimateError::Body {
                body: robot.joints[body].link.clone(),
                reason: e.to_string(),
            })?;
            theta.extend_from_slice(&c);
        }
        theta.extend(self.joints.iter().map(|&(j, which)| self.nominal[Self::joint_index(robot, j, which)]));
        Ok(theta)
    }

    /// Physical parameters p at `theta`; `p` starts as a copy of the nominal ones.
    pub fn fill(&self, robot: &Robot, theta: &[f64], p: &mut [f64]) {
        for (b, &(body, coordinates)) in self.bodies.iter().enumerate() {
            let at = robot.inertial_index(body);
            p[at..at + INERTIAL].copy_from_slice(&coordinates.physical(&ten(theta, b)));
        }
        for (i, &(j, which)) in self.joints.iter().enumerate() {
            p[Self::joint_index(robot, j, which)] = theta[INERTIAL * self.bodies.len() + i];
        }
    }

    /// d physical / d coordinates of the `b`-th estimated body.
    pub fn block(&self, theta: &[f64], b: usize) -> SMatrix<f64, INERTIAL, INERTIAL> {
        self.bodies[b].1.jacobian(&ten(theta, b))
    }

    /// Names of the coordinates, with the link or joint.
    pub fn names(&self, robot: &Robot) -> Vec<String> {
        let mut names = Vec::with_capacity(self.len());
        for &(body, coordinates) in &self.bodies {
            let labels = match coordinates {
                Coordinates::LogCholesky => LOG_CHOLESKY,
                Coordinates::ExponentialEigenvalue => EXPONENTIAL,
            };
            names.extend(labels.iter().map(|l| format!("{l} of {}", robot.joints[body].link)));
        }
        names.extend(self.joints.iter().map(|&(j, w)| format!("{} of {}", w.name().0, robot.joints[j].name)));
        names
    }
}

/// The ten coordinates of the `b`-th estimated body.
fn ten(theta: &[f64], b: usize) -> [f64; INERTIAL] {
    let mut c = [0.0; INERTIAL];
    c.copy_from_slice(&theta[INERTIAL * b..INERTIAL * (b + 1)]);
    c
}
