//! The parameters with the trajectory integrated out: how the volume of all trajectories that fit depends on them.

use std::sync::Mutex;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::sweep::{inner, unlocked};
use super::{Lane, Solver};
use crate::estimate::dense::{Mat, axpy};
use crate::estimate::error::EstimateError;
use crate::estimate::posterior::{Chain, Posterior, invert};
use crate::estimate::problem::Problem;

/// Most times that the slope is found.
const ROUNDS: usize = 30;
/// The trajectory moves alone as long as it has more than this share of the parameters' gain to gain by itself.
const UNSETTLED: f64 = 0.1;
/// Stages whose covariances are held at once.
const STRETCH: usize = 256;

/// The linear term that stands for the volume.
pub(super) struct Marginal {
    wanted: bool,
    /// How often the slope has been found; [`ROUNDS`] once it stays.
    rounds: usize,
    /// dV / dphi.
    slope: Vec<f64>,
    /// phi where the term counts as zero, and at another place.
    anchor: Vec<f64>,
    phi: Vec<f64>,
    slopes: Mat,
    /// Gradient of the term by theta at the present parameters.
    pub(super) tilt: Vec<f64>,
}

/// What moves in an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The trajectory, parameters held.
    Trajectory,
    /// Trajectory and parameters.
    Both,
    /// Both, with a slope of the volume that was found here.
    Renewed,
}

/// What one stage gets and gives.
struct Share {
    joint: Mat,
    slope: Vec<f64>,
}

impl Marginal {
    /// For `natural` quantities of `nt` parameters; none if it is not wanted.
    pub(super) fn new(nt: usize, natural: usize) -> Self {
        let zeros = || vec![0.0; natural];
        Self {
            wanted: nt > 0 && natural > 0,
            rounds: 0,
            slope: zeros(),
            anchor: zeros(),
            phi: zeros(),
            slopes: Mat::zeros(nt, natural),
            tilt: vec![0.0; nt],
        }
    }

    /// Before the first iteration.
    pub(super) fn start(&mut self) {
        self.rounds = 0;
        self.tilt.fill(0.0);
    }

    /// The term at `theta`.
    pub(super) fn cost<P: Problem>(&mut self, problem: &P, theta: &[f64]) -> f64 {
        if self.rounds == 0 {
            return 0.0;
        }
        problem.naturalise(theta, &mut self.phi, &mut self.slopes);
        (0..self.phi.len()).map(|i| self.slope[i] * (self.phi[i] - self.anchor[i])).sum()
    }

    /// Makes `tilt` the gradient at `theta`.
    pub(super) fn lean<P: Problem>(&mut self, problem: &P, theta: &[f64]) {
        if self.rounds == 0 {
            return;
        }
        problem.naturalise(theta, &mut self.phi, &mut self.slopes);
        self.tilt.fill(0.0);
        for (i, slope) in self.slope.iter().enumerate() {
            axpy(*slope, self.slopes.col(i), &mut self.tilt);
        }
    }
}

impl<P: Problem> Solver<'_, P> {
    /// Decides what moves in this iteration, and solves the arrival node for it.
    ///
    /// The Gauss-Newton Hessian is the information on the parameters (Fisher's), which is what cost and volume together
    /// are expected to have as their curvature. The cost's own curvature, trajectories refitted, differs from it by what the
    /// residuals' second derivatives couple trajectory and parameters; and steps of both together feel neither. So the
    /// trajectory is fitted first, parameters held; then the volume's slope is found there, and both take the step of
    /// Fisher's scoring.
    pub(super) fn take_turn(&mut self, little: f64, damping: f64) -> Result<Turn, EstimateError> {
        if !self.marginal.wanted || self.constraints.violation() > self.options.feasibility {
            return Ok(Turn::Both);
        }
        let both = self.gain();
        self.arrive(damping, true)?;
        let alone = self.gain();
        if alone > little.max(UNSETTLED * (both - alone)) {
            return Ok(Turn::Trajectory);
        }
        if self.marginal.rounds == ROUNDS {
            self.arrive(damping, false)?;
            return Ok(Turn::Both);
        }
        self.renew(damping)?;
        if self.gain() <= little {
            self.marginal.rounds = ROUNDS;
        }
        Ok(Turn::Renewed)
    }

    /// Finds the volume's slope at the present trajectory, and the step with it.
    fn renew(&mut self, damping: f64) -> Result<(), EstimateError> {
        if damping > 0.0 {
            self.damped_step(0.0)?;
        } else {
            self.arrive(0.0, false)?;
        }
        let (basis, hess, scale) = self.arrival.reduced();
        let posterior = invert(basis, hess, scale, self.problem.size(0).tangent);
        let slope = self.volume_slope(&posterior)?;
        let m = &mut self.marginal;
        m.rounds += 1;
        m.slope.copy_from_slice(&slope);
        m.lean(self.problem, &self.now.theta);
        m.anchor.copy_from_slice(&m.phi);
        self.arrive(damping, false)
    }

    /// dV / dphi, from the factors of an undamped step at the present trajectory.
    pub(in crate::estimate) fn volume_slope(
        &mut self,
        posterior: &Posterior,
    ) -> Result<Vec<f64>, EstimateError> {
        let natural = self.problem.natural();
        let mut total = vec![0.0; natural];
        let mut chain = Chain::default();
        let mut joint = given_parameters(posterior);
        let mut shares: Vec<Mutex<Share>> = (0..STRETCH.min(self.slots.len()))
            .map(|_| Mutex::new(Share { joint: Mat::zeros(0, 0), slope: vec![0.0; natural] }))
            .collect();
        for from in (0..self.slots.len()).step_by(STRETCH) {
            let count = STRETCH.min(self.slots.len() - from);
            for (slot, share) in self.slots[from..from + count].iter_mut().zip(&mut shares) {
                let node = &inner(slot).node;
                chain.with_input(node, &joint, &mut inner(share).joint);
                if node.next > 0 {
                    chain.advance(node, &mut joint);
                }
            }
            let (problem, now, slots, lanes) = (self.problem, &self.now, &self.slots, self.lanes.len());
            let work = |(first, lane): (usize, &mut Lane<P::Workspace>)| {
                for i in (first..count).step_by(lanes) {
                    let (k, share) = (from + i, &mut *unlocked(&shares[i]));
                    share.slope.fill(0.0);
                    let slot = unlocked(&slots[k]);
                    // Inputs that equations of later stages bind are no longer in the problem's own coordinates.
                    if slot.node.lift.active {
                        continue;
                    }
                    let given = (slot.values.next.as_slice(), &share.joint);
                    let told =
                        problem.volume_slope(k, now.at(k), &mut lane.workspace, given, &mut share.slope);
                    if let Err(reason) = told {
                        lane.fail(k, EstimateError::Stage { stage: k, reason });
                    }
                }
            };
            if let [lane] = self.lanes.as_mut_slice() {
                work((0, lane));
            } else {
                self.lanes.par_iter_mut().enumerate().with_max_len(1).for_each(work);
            }
            // In the order of the stages, whoever did them.
            shares[..count].iter_mut().for_each(|s| axpy(1.0, &inner(s).slope, &mut total));
        }
        self.totals()?;
        Ok(total)
    }
}

/// Covariance of the first state when the parameters are known.
fn given_parameters(posterior: &Posterior) -> Mat {
    let (nx, n) = (posterior.nx, posterior.arrival.nrows());
    let nt = n - nx;
    let (xx, xt) = (posterior.arrival.view((0, 0), (nx, nx)), posterior.arrival.view((0, nx), (nx, nt)));
    let tt: DMatrix<f64> = posterior.arrival.view((nx, nx), (nt, nt)).into_owned();
    let eigen = tt.symmetric_eigen();
    let floor = 1e-13 * eigen.eigenvalues.amax();
    let mut given = xx.into_owned();
    for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        if *value > floor {
            let along = xt * vector;
            given -= (1.0 / value) * &along * along.transpose();
        }
    }
    let mut joint = Mat::zeros(nx, nx);
    for j in 0..nx {
        joint.col_mut(j).copy_from_slice(given.column(j).as_slice());
    }
    joint
}
