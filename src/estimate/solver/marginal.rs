//! The parameters with the trajectory integrated out: how the volume of all trajectories that fit depends on them.

use std::sync::Mutex;

use rayon::prelude::*;

use super::sweep::{inner, unlocked};
use super::{Lane, Solver};
use crate::estimate::dense::{Mat, add_product, axpy, partial_cholesky, solve_lower};
use crate::estimate::error::EstimateError;
use crate::estimate::posterior::{Chain, UNOBSERVABLE, invert};
use crate::estimate::problem::{Given, Problem};

/// Parameters that have less than this share of the cost to gain are near the minimum.
const NEAR: f64 = 1e-3;
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
    /// The parameters are near the minimum.
    near: bool,
    /// Cost where the last slope was found.
    before: Option<f64>,
    /// Steps with such slopes have lowered the cost so far, trajectories refitted.
    pub(super) trusted: bool,
    /// dV / dphi.
    slope: Vec<f64>,
    /// phi where the term counts as zero, and at another place.
    anchor: Vec<f64>,
    phi: Vec<f64>,
    slopes: Mat,
    /// Gradient of the term by theta at the present parameters.
    pub(super) tilt: Vec<f64>,
    chain: Chain,
    /// Covariance of a state when the parameters are known.
    joint: Mat,
    /// Of the stages whose covariances are held at once.
    shares: Vec<Mutex<Share>>,
    factor: Mat,
    row: Vec<f64>,
    rows: Mat,
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
    /// For `natural` quantities of `nt` parameters over `stages`; none if it is not wanted.
    pub(super) fn new(nt: usize, natural: usize, stages: usize) -> Self {
        let (zeros, empty) = (|| vec![0.0; natural], || Mat::zeros(0, 0));
        let wanted = nt > 0 && natural > 0;
        let held = if wanted { STRETCH.min(stages) } else { 0 };
        Self {
            wanted,
            chain: Chain::default(),
            joint: empty(),
            shares: (0..held).map(|_| Mutex::new(Share { joint: empty(), slope: zeros() })).collect(),
            factor: empty(),
            row: Vec::new(),
            rows: empty(),
            rounds: 0,
            near: false,
            before: None,
            trusted: true,
            slope: zeros(),
            anchor: zeros(),
            phi: zeros(),
            slopes: Mat::zeros(nt, natural),
            tilt: vec![0.0; nt],
        }
    }

    /// Before the first iteration, from parameters that are known to be `near` the minimum or not.
    pub(super) fn start(&mut self, near: bool) {
        (self.rounds, self.near, self.before, self.trusted) = (0, near, None, true);
        self.tilt.fill(0.0);
    }

    /// Puts the covariance of the first state when the parameters are known into `joint`, from the arrival node's basis,
    /// Hessian and scale, parameters held. It allocates only where something of the first state is unobservable.
    fn start_chain(&mut self, (basis, hess, scale): (&Mat, &Mat, &[f64]), nx: usize) {
        let count = hess.cols();
        self.factor.copy_from(hess);
        let seen = partial_cholesky(&mut self.factor, count)
            && (0..count).all(|j| self.factor[(j, j)].powi(2) > UNOBSERVABLE);
        self.joint.reset(nx, nx);
        if !seen {
            let arrival = invert(basis, hess, scale, nx).arrival;
            for j in 0..nx {
                self.joint.col_mut(j).copy_from_slice(&arrival.column(j).as_slice()[..nx]);
            }
            return;
        }
        self.rows.reset(nx, count);
        for i in 0..nx {
            self.row.clear();
            self.row.extend((0..count).map(|j| basis[(i, j)] * scale[j]));
            solve_lower(&self.factor, &mut self.row);
            for (j, &x) in self.row.iter().enumerate() {
                self.rows[(i, j)] = x;
            }
        }
        add_product(&mut self.joint, 1.0, self.rows.below(0), self.rows.below(0));
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
    /// Fisher's scoring. Once such a step has led astray, both move in every iteration, as far as the line search lets them.
    /// Far from the minimum, where a slope says little of the volume, the cost alone shows the way.
    pub(super) fn take_turn(&mut self, cost: f64, little: f64, damping: f64) -> Result<Turn, EstimateError> {
        if !self.marginal.wanted || self.constraints.violation() > self.options.feasibility {
            return Ok(Turn::Both);
        }
        let both = self.gain();
        self.arrive(damping, true)?;
        let (alone, near) = (self.gain(), NEAR * (1.0 + cost.abs()));
        self.marginal.near |= both <= near;
        let settled = alone <= little.max(UNSETTLED * (both - alone));
        if self.marginal.near && !settled && self.marginal.trusted {
            return Ok(Turn::Trajectory);
        }
        if !self.marginal.near || self.marginal.rounds == ROUNDS {
            // Where the parameters have nothing to gain any more, the trajectory closes its gaps faster without them.
            if !self.marginal.near || both > little {
                self.arrive(damping, false)?;
            }
            return Ok(Turn::Both);
        }
        if let Some(before) = self.marginal.before {
            let now = cost + self.marginal.cost(self.problem, &self.now.theta);
            self.marginal.trusted &= now <= before + little;
        }
        self.marginal.before = Some(cost);
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
        }
        self.find_volume_slope()?;
        let m = &mut self.marginal;
        m.rounds += 1;
        m.lean(self.problem, &self.now.theta);
        m.anchor.copy_from_slice(&m.phi);
        self.arrive(damping, false)
    }

    /// dV / dphi, from the factors of an undamped step at the present trajectory, into the term's slope.
    pub(in crate::estimate) fn find_volume_slope(&mut self) -> Result<&[f64], EstimateError> {
        self.arrive(0.0, true)?;
        let (nx, m) = (self.problem.size(0).tangent, &mut self.marginal);
        m.start_chain(self.arrival.reduced(), nx);
        m.slope.fill(0.0);
        let stretch = m.shares.len();
        for from in (0..self.slots.len()).step_by(stretch) {
            let count = stretch.min(self.slots.len() - from);
            for (slot, share) in self.slots[from..from + count].iter_mut().zip(&mut m.shares) {
                let node = &inner(slot).node;
                m.chain.with_input(node, &m.joint, &mut inner(share).joint);
                if node.next > 0 {
                    m.chain.advance(node, &mut m.joint);
                }
            }
            let (problem, now, slots, lanes) = (self.problem, &self.now, &self.slots, self.lanes.len());
            let shares = &m.shares;
            let work = |(first, lane): (usize, &mut Lane<P::Workspace>)| {
                for i in (first..count).step_by(lanes) {
                    let (k, share) = (from + i, &mut *unlocked(&shares[i]));
                    share.slope.fill(0.0);
                    let slot = unlocked(&slots[k]);
                    // Inputs that equations of later stages bind are no longer in the problem's own coordinates.
                    if slot.node.lift.active {
                        continue;
                    }
                    let given =
                        Given { next: &slot.values.next, joint: &share.joint, ahead: slot.node.ahead() };
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
            m.shares[..count].iter_mut().for_each(|s| axpy(1.0, &inner(s).slope, &mut m.slope));
        }
        self.totals()?;
        Ok(&self.marginal.slope)
    }
}
