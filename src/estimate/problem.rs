//! The form of an estimation problem: stages with shared parameters on manifolds.
//!
//! For those who state a problem:
//!
//! ```text
//! min  sum_k l_k(x_k, u_k; theta) + l_N(x_N; theta)
//! s.t. x_{k+1} = f_k(x_k, u_k; theta),   h_k(x_k, u_k; theta) = 0,   h_p(theta) = 0,   g_p(theta) >= 0
//! ```
//!
//! Priors are costs of stage 0. Sizes may differ from stage to stage, so a reset map between two phases is a stage like
//! any other. The last stage has no dynamics; usually it has no input either.

use super::arrival::ParameterModel;
use super::stage::{StageModel, StageSize};
use crate::linear::dense::Mat;

/// Where a stage is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// State, in the stage's own representation.
    pub x: &'a [f64],
    /// Input.
    pub u: &'a [f64],
    /// Parameters.
    pub theta: &'a [f64],
}

/// What [`EstimationProblem::volume_slope`] is told of a stage.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// f at the point.
    pub next: &'a [f64],
    /// Covariance of (z, x) when theta is known.
    pub joint: &'a Mat,
    /// Hessian of the next stage's value function by its state, where the stage has no input; otherwise empty.
    pub ahead: &'a Mat,
}

/// What a stage is worth and where it leads.
#[derive(Debug, Clone, Default)]
pub struct StageValues {
    /// l_k.
    pub cost: f64,
    /// f_k; empty at the last stage.
    pub next: Vec<f64>,
    /// h_k.
    pub constraints: Vec<f64>,
    /// What the problem wants to find again when it is asked about the same stage the next time: a first guess for an inner
    /// iteration, nothing that a result may depend on. Empty before the first time.
    pub memory: Vec<f64>,
}

/// An estimation problem.
///
/// `Workspace` is scratch space for one thread; nothing else may be written while the stages are evaluated in parallel.
pub trait EstimationProblem: Sync {
    /// Scratch space of one thread.
    type Workspace: Send;

    /// Fresh scratch space.
    fn workspace(&self) -> Self::Workspace;

    /// Number of stages, the last one included.
    fn stages(&self) -> usize;

    /// Sizes of stage `k`.
    fn size(&self, k: usize) -> StageSize;

    /// Number of parameters nt, of equations h_p and of inequalities g_p.
    fn parameters(&self) -> (usize, usize, usize);

    /// Evaluates stage `k`.
    ///
    /// # Errors
    /// Why the point is outside the model's domain; the solver then tries a shorter step.
    fn evaluate(
        &self,
        k: usize,
        at: Point<'_>,
        workspace: &mut Self::Workspace,
        out: &mut StageValues,
    ) -> Result<(), String>;

    /// Evaluates and linearises stage `k`. `model` comes zeroed; fill cost, gradient, Hessian (Gauss-Newton: positive
    /// semidefinite), the Jacobian of the dynamics with respect to the tangent at f, and constraints; `out.next` gets f.
    ///
    /// # Errors
    /// As [`EstimationProblem::evaluate`]; at a point that a step has led to it ends the iteration.
    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        workspace: &mut Self::Workspace,
        model: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String>;

    /// x (+) dx for a state of stage `k`.
    fn integrate(&self, k: usize, x: &[f64], dx: &[f64], out: &mut [f64]) {
        let _ = k;
        for ((out, x), dx) in out.iter_mut().zip(x).zip(dx) {
            *out = x + dx;
        }
    }

    /// a (-) b for states of stage `k`: the tangent at b that leads to a.
    fn difference(&self, k: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        let _ = k;
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = a - b;
        }
    }

    /// The Jacobian of e -> (a (+) e) (-) b at e = 0 for states of stage `k`, stored by rows (column i of `out` holds
    /// the gradient of component i). False where it is the identity, which is what flat states may leave it at.
    fn transport(
        &self,
        k: usize,
        a: &[f64],
        b: &[f64],
        workspace: &mut Self::Workspace,
        out: &mut Mat,
    ) -> bool {
        let _ = (k, a, b, workspace, out);
        false
    }

    /// Gives the system at `theta` other parameters where these come near a place in which they are singular; whether they
    /// did. Dynamics and constraints must stay what they are, priors may change.
    fn rename(&self, theta: &mut [f64]) -> bool {
        let _ = theta;
        false
    }

    /// How many times longer the step `dtheta` is than the tangent at `theta` can be trusted along it; with [`SolverOptions::marginal`](super::SolverOptions::marginal)
    /// a step for which this is above 1 is shortened. 0 where the tangent is good everywhere.
    fn strain(&self, theta: &[f64], dtheta: &[f64]) -> f64 {
        let _ = (theta, dtheta);
        0.0
    }

    /// Number of quantities phi(theta) of which [`EstimationProblem::volume_slope`] tells the slope; 0 where it tells nothing.
    /// Best those in which the dynamics are linear, physical parameters: the cost then stays as close to its Gauss-Newton
    /// model as it is without the volume.
    fn natural(&self) -> usize {
        0
    }

    /// phi at `theta`, and its Jacobian: column i of `slopes` (nt x natural) is the gradient of phi_i.
    fn naturalise(&self, theta: &[f64], phi: &mut [f64], slopes: &mut Mat) {
        let _ = (theta, phi, slopes);
    }

    /// Adds to `out` what stage `k` contributes to d V / d phi, V = log det H / 2 with H the Hessian of the
    /// cost by all inputs and the first state (Gauss-Newton), the inputs in coordinates in which theta does not change
    /// their volume. `given.next` is f_k at the point, `joint` the covariance of (z, x) when theta is known, both as
    /// [`EstimationProblem::linearise`] has them, `ahead` the Hessian of the next stage's value function by its state where this stage
    /// has no input (otherwise empty). With a noise w that is a function of two successive states,
    ///
    /// ```text
    /// dV/dphi = sum_k E[w_k' W dw_k/dphi] - d log|det dw_k/dx_{k+1}| / dphi
    /// ```
    ///
    /// and from a stage without input, whose dynamics have the Jacobian A, tr (dA/dphi Cov(x) A' `ahead`): what is ahead
    /// of it answers to a change of x' with the slope `ahead` x', whatever came before.
    ///
    /// # Errors
    /// As [`EstimationProblem::evaluate`].
    fn volume_slope(
        &self,
        k: usize,
        at: Point<'_>,
        workspace: &mut Self::Workspace,
        given: Given<'_>,
        out: &mut [f64],
    ) -> Result<(), String> {
        let _ = (k, at, workspace, given, out);
        Ok(())
    }

    /// Evaluates and linearises h_p and g_p.
    fn constrain_parameters(&self, theta: &[f64], out: &mut ParameterModel) {
        let _ = (theta, out);
    }
}

/// States, inputs and parameters: a guess or a result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trajectory {
    /// State of each stage.
    pub xs: Vec<Vec<f64>>,
    /// Input of each stage.
    pub us: Vec<Vec<f64>>,
    /// Parameters.
    pub theta: Vec<f64>,
}

impl Trajectory {
    /// Point of stage `k`.
    pub fn at(&self, k: usize) -> Point<'_> {
        Point { x: &self.xs[k], u: &self.us[k], theta: &self.theta }
    }
}
