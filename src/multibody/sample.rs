//! What was measured, and how far it may be trusted.

use crate::estimate::error::EstimateError;
use crate::robot::Model;

/// What was measured at one instant; the torque is that of the interval which begins there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// Configuration, nq numbers (rad; a floating base's pose first).
    pub q: Vec<f64>,
    /// Velocities, nv numbers (rad/s; a floating base's twist in its own axes first).
    pub dq: Vec<f64>,
    /// Generalised forces, nv numbers (N m).
    pub tau: Vec<f64>,
    /// Readings of the further observations, one after the other; empty where there are none.
    pub readings: Vec<f64>,
}

impl Sample {
    /// Checks sizes and numbers of sample `k`; `readings` is their expected number.
    pub(super) fn check(&self, robot: &Model, k: usize, readings: usize) -> Result<(), EstimateError> {
        let n = robot.nv();
        let parts = [
            ("q", &self.q, robot.nq()),
            ("dq", &self.dq, n),
            ("tau", &self.tau, n),
            ("the readings", &self.readings, readings),
        ];
        for (name, values, expected) in parts {
            if values.len() != expected {
                let what = format!("{name} of sample {k}");
                return Err(EstimateError::Size { what, found: values.len(), expected });
            }
            if values.iter().any(|x| !x.is_finite()) {
                return Err(EstimateError::NotFinite { what: "a sample", stage: k });
            }
        }
        Ok(())
    }
}

/// Standard deviations of everything that is uncertain, one number a degree of freedom or a parameter. Positions are
/// compared in tangent space.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviations {
    /// Encoders, rad; infinite where nothing is measured.
    pub q: Vec<f64>,
    /// Velocities, rad/s; infinite where nothing is measured.
    pub dq: Vec<f64>,
    /// Torques over one interval, N m.
    pub tau: Vec<f64>,
    /// First position, rad; infinite where nothing is known.
    pub first_q: Vec<f64>,
    /// First velocity, rad/s.
    pub first_dq: Vec<f64>,
    /// Parameters, in coordinates; infinite where nothing is known.
    pub theta: Vec<f64>,
}

/// One over the variances.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    pub q: Vec<f64>,
    pub dq: Vec<f64>,
    pub tau: Vec<f64>,
    pub first: Vec<f64>,
    pub theta: Vec<f64>,
}

impl Weights {
    /// Of a robot with `n` degrees of freedom.
    ///
    /// # Errors
    /// When there is another number of deviations, or one is missing (zero, negative, NaN).
    pub fn new(d: &Deviations, n: usize, parameters: usize) -> Result<Self, EstimateError> {
        let mut first = weights("the first position", &d.first_q, n, true)?;
        first.extend(weights("the first velocity", &d.first_dq, n, true)?);
        Ok(Self {
            q: weights("the encoders", &d.q, n, true)?,
            dq: weights("the velocities", &d.dq, n, true)?,
            tau: weights("the torques", &d.tau, n, false)?,
            first,
            theta: weights("the parameters", &d.theta, parameters, true)?,
        })
    }
}

/// One over the squares of standard deviations; zero for infinite ones where `open` allows it.
pub(super) fn weights(
    what: &str,
    deviations: &[f64],
    expected: usize,
    open: bool,
) -> Result<Vec<f64>, EstimateError> {
    if deviations.len() != expected {
        let what = format!("standard deviations of {what}");
        return Err(EstimateError::Size { what, found: deviations.len(), expected });
    }
    let bad = deviations.iter().find(|&&d| !(d > 0.0 && (open || d.is_finite())));
    match bad {
        Some(&value) => {
            Err(EstimateError::Deviation { what: format!("the standard deviation of {what}"), value })
        }
        None => Ok(deviations.iter().map(|d| 1.0 / (d * d)).collect()),
    }
}
