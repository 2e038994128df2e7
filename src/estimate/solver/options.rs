//! Settings of the iteration, and what it tells of itself.

use super::DAMPING_MAX;
use crate::estimate::arrival::ParameterSolve;
use crate::estimate::error::EstimateError;
#[cfg(doc)]
use crate::estimate::{problem::EstimationProblem, solver::Solver};

/// How a trial step is rolled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rollout {
    /// The dynamics are integrated through; gaps are always zero.
    Single,
    /// Integrated with feedback; gaps shrink with the step length.
    Feasible,
    /// States and inputs move along the Newton step, all stages at once; gaps are whatever they then are, unless they grow:
    /// then the step is tried as a feasible one, too.
    #[default]
    Multiple,
}

/// Settings of [`Solver`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolverOptions {
    /// Largest number of iterations.
    pub iterations: usize,
    /// The iteration ends when what is still to be gained of the cost is below this times (1 + cost) ...
    pub tolerance: f64,
    /// (or below this outright: half the square of the distance from the minimum in posterior deviations; with [`SolverOptions::marginal`] what a
    /// step does gain counts, where kinks of the cost keep it from what it promises) ...
    pub significance: f64,
    /// ... and the gaps and constraint violations of a stage are together below this in the mean.
    pub feasibility: f64,
    /// Rollout.
    pub rollout: Rollout,
    /// Solution of the arrival node.
    pub parameters: ParameterSolve,
    /// The first state is known and stays as guessed.
    pub fixed_arrival: bool,
    /// Number of past merits that a step is compared with; 1 is the monotone rule.
    pub memory: usize,
    /// First damping.
    pub damping: f64,
    /// What the Gauss-Newton Hessian leaves out for the first state and the parameters is learnt from the steps (not with
    /// [`SolverOptions::marginal`], whose steps are of scoring).
    pub secant: bool,
    /// The parameters are the most probable ones by themselves, whatever the trajectory was, rather than together with
    /// one trajectory ([`Solver`]); where the problem knows how ([`EstimationProblem::natural`]). Right where noise moves the system
    /// (the force is the measured one plus noise); where it is the sensor's alone (the measured force is that which
    /// moves the system plus noise, and the motion is what a controller makes of it, whatever the parameters are),
    /// the other is.
    pub marginal: bool,
    /// For raw recordings, whose first guess is as noisy as their sensors: the trajectory is fitted to the first parameters before these move,
    /// these take no step farther than their tangent can be trusted, and the iteration ends where a kink of the cost (Coulomb friction) promises
    /// gains for ever. (Not with [`SolverOptions::marginal`], which has rules of its own.)
    pub cautious: bool,
    /// Stages are evaluated by all of rayon's threads.
    pub parallel: bool,
}

impl Default for SolverOptions {
    fn default() -> Self {
        Self {
            iterations: 200,
            tolerance: 1e-10,
            significance: 0.0,
            feasibility: 1e-10,
            rollout: Rollout::default(),
            parameters: ParameterSolve::default(),
            fixed_arrival: false,
            memory: 4,
            damping: 0.0,
            secant: true,
            marginal: false,
            cautious: false,
            parallel: true,
        }
    }
}

impl SolverOptions {
    /// # Errors
    /// When a number is NaN, or the damping is negative or too large.
    pub(super) fn check(&self) -> Result<(), EstimateError> {
        // A negative tolerance is allowed: it asks for all iterations.
        for (name, value, good, expected) in [
            ("damping", self.damping, (0.0..=DAMPING_MAX).contains(&self.damping), "0 to 1e8"),
            ("tolerance", self.tolerance, !self.tolerance.is_nan(), "a number"),
            ("significance", self.significance, self.significance >= 0.0, "a number >= 0"),
            ("feasibility", self.feasibility, !self.feasibility.is_nan(), "a number"),
        ] {
            if !good {
                return Err(EstimateError::Option { name, value, expected });
            }
        }
        Ok(())
    }
}

/// One line of the convergence record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// Cost before the step.
    pub cost: f64,
    /// Sum of gaps and constraint violations before the step.
    pub violation: f64,
    /// Change of the cost that the quadratic model promises.
    pub expected: f64,
    /// Accepted step length; 0 where none was.
    pub step: f64,
    /// Step lengths that were tried, rejected ones of smaller damping included.
    pub trials: usize,
    /// Damping in use.
    pub damping: f64,
}

/// How the iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Both tolerances are met.
    Converged,
    /// No step makes progress any more at the largest damping.
    Stalled,
    /// The iterations ran out.
    IterationLimit,
}

/// What an optimisation did.
#[derive(Debug, Clone)]
pub struct SolverOutcome {
    /// How it ended.
    pub status: Status,
    /// Cost at the result.
    pub cost: f64,
    /// Sum of gaps and constraint violations at the result.
    pub violation: f64,
    /// One entry an iteration.
    pub record: Vec<Iteration>,
    /// Dimension of the parameters' and first state's unobservable subspace in the last step.
    pub deficiency: usize,
    /// Largest residual among linearised equations that contradict each other, in the last step.
    pub contradiction: f64,
}
