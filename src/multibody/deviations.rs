//! How far what was measured may be trusted.

use crate::estimate::error::EstimateError;
use crate::recording::Sample;
use crate::robot::Model;

/// Checks sizes and numbers of sample `k` of `robot`.
pub(super) fn check_sample(robot: &Model, k: usize, sample: &Sample) -> Result<(), EstimateError> {
    let n = robot.nv();
    for (name, values, expected) in
        [("q", &sample.q, robot.nq()), ("dq", &sample.dq, n), ("tau", &sample.tau, n)]
    {
        check_numbers(name, k, values, expected)?;
    }
    Ok(())
}

/// Checks that `name` of sample `k` are so many finite numbers.
pub(super) fn check_numbers(
    name: &str,
    k: usize,
    values: &[f64],
    expected: usize,
) -> Result<(), EstimateError> {
    if values.len() != expected {
        let what = format!("{name} of sample {k}");
        return Err(EstimateError::Size { what, found: values.len(), expected });
    }
    if values.iter().any(|x| !x.is_finite()) {
        return Err(EstimateError::NotFinite { what: "a sample", stage: k });
    }
    Ok(())
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
