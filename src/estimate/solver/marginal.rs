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

/// The slope is renewed until it moves the parameters by less than the root of this, in posterior deviations ...
const MOVES: f64 = 3e-3;
/// ... or this often.
const ROUNDS: usize = 10;
/// It is found for the first time when less than this share of the cost is left to be gained.
const NEAR: f64 = 1e-4;
/// Stages whose covariances are held at once.
const STRETCH: usize = 256;

/// The linear term that stands for the volume.
pub(super) struct Marginal {
    wanted: bool,
    rounds: usize,
    /// The slope no longer changes.
    done: bool,
    /// dV / dphi.
    slope: Vec<f64>,
    /// phi where the term counts as zero, and at another place.
    anchor: Vec<f64>,
    phi: Vec<f64>,
    slopes: Mat,
    /// Gradient of the term by theta at the present parameters.
    pub(super) tilt: Vec<f64>,
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
            done: false,
            slope: zeros(),
            anchor: zeros(),
            phi: zeros(),
            slopes: Mat::zeros(nt, natural),
            tilt: vec![0.0; nt],
        }
    }

    /// Before the first iteration.
    pub(super) fn start(&mut self) {
        (self.rounds, self.done) = (0, false);
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
    /// Renews the term where it is due, with `gain` of the cost left to be gained, and the step with it; whether it has
    /// changed.
    pub(super) fn retilt(&mut self, gain: f64, cost: f64, damping: f64) -> Result<bool, EstimateError> {
        let m = &self.marginal;
        if !m.wanted || m.done || (m.rounds == 0 && gain > NEAR * (1.0 + cost.abs())) {
            return Ok(false);
        }
        if damping > 0.0 {
            self.damped_step(0.0)?;
        }
        let (basis, hess, scale) = self.arrival.reduced();
        let posterior = invert(basis, hess, scale, self.problem.size(0).tangent);
        let slope = self.volume_slope(&posterior)?;
        let m = &mut self.marginal;
        let mut change = m.tilt.clone();
        m.rounds += 1;
        m.slope.copy_from_slice(&slope);
        m.lean(self.problem, &self.now.theta);
        m.anchor.copy_from_slice(&m.phi);
        change.iter_mut().zip(&m.tilt).for_each(|(c, now)| *c = now - *c);
        let nx = posterior.nx;
        let moves: f64 = (0..change.len())
            .flat_map(|i| (0..change.len()).map(move |j| (i, j)))
            .map(|(i, j)| change[i] * posterior.arrival[(nx + i, nx + j)] * change[j])
            .sum();
        m.done = moves < MOVES || m.rounds == ROUNDS;
        self.arrive(damping)?;
        self.roll_out_linear();
        Ok(true)
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

/// Covariance of the first state when the parameters are known, with zeros for these.
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
    let mut joint = Mat::zeros(n, n);
    for j in 0..nx {
        joint.col_mut(j)[..nx].copy_from_slice(given.column(j).as_slice());
    }
    joint
}
