//! What a problem is stated with: readings, weights, what is sought, and what its unknowns are.
//!
//! For those who state one.

use super::super::parameters::MechanismParameter;

/// Where impulses from outside act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutsideImpulses {
    /// As in \[5\]: one on each body for the velocities, and another for the configuration, which need not agree.
    Twice,
    /// On each body, one for both.
    Bodies,
    /// About the hinges' axes.
    #[default]
    Hinges,
}

/// What the unknowns of a stage are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiscreteForm {
    /// The change of the state; impulses follow from it by inverse dynamics, \[5\]. Needs compliant rows and [`OutsideImpulses::Twice`].
    Changes,
    /// The impulses; the state follows from them by a step, so that no stiff row gets into the weights.
    #[default]
    Impulses,
}

/// A parameter that is estimated. Inside, it is counted in units of `scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoughtParameter {
    /// Which.
    pub parameter: MechanismParameter,
    /// Where to start.
    pub start: f64,
    /// A size that it may have, above 0.
    pub scale: f64,
    /// Least value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
    /// What is known beforehand: a value and its standard deviation.
    pub prior: Option<[f64; 2]>,
}

impl SoughtParameter {
    /// A parameter that starts at `start`, within its physical bounds, without a prior.
    pub fn new(parameter: MechanismParameter, start: f64) -> Self {
        let scale = if start == 0.0 { 1e-3 } else { start.abs() };
        Self { parameter, start, scale, lower: parameter.floor(), upper: f64::INFINITY, prior: None }
    }
}

/// What was recorded, at times one step apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EncoderLog {
    /// Step, s.
    pub step_s: f64,
    /// Angles of the hinges at each time, rad; a reading that is not finite is none.
    pub angles: Vec<Vec<f64>>,
    /// Controls around each time, from half a step before to half a step behind, one a joint; the last serve nothing. (A step's force acts at its beginning, between the
    /// changes of configuration before and behind it.)
    pub controls: Vec<Vec<f64>>,
}

/// How residuals are weighted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResidualWeights {
    /// kappa, rad^2 / (N m s)^2.
    pub kappa: f64,
    /// Standard deviation of an encoder's reading, rad.
    pub angle_rad: f64,
}
