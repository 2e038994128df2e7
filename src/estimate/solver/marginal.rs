//! The parameters with the trajectory integrated out: how the volume of all trajectories that fit depends on them.

use std::sync::Mutex;

use rayon::prelude::*;

use super::iteration::WAITING;
use super::sweep::{inner, unlocked};
use super::{DAMPING_MIN, Solver, ThreadStorage, failure};
use crate::estimate::error::EstimateError;
use crate::estimate::posterior::{Chain, UNOBSERVABLE};
use crate::estimate::problem::{EstimationProblem, Given};
use crate::estimate::response::Response;
use crate::linear::dense::{Mat, add_product, axpy, dot, partial_cholesky, solve_lower};
use crate::linear::orthogonal::Orthogonal;

/// Parameters that have less than this share of the cost to gain are near the minimum.
const NEAR: f64 = 1e-3;
/// What is left to gain (half the square of the distance in deviations) when the parameters stay.
const ENOUGH: f64 = 1e-5;
/// The trajectory moves alone as long as it has more than this share of the parameters' gain to gain by itself.
const UNSETTLED: f64 = 0.1;
/// The parameters' gain may grow to this many times the least so far before whole steps are no longer trusted ...
const ASTRAY: f64 = 10.0;
/// ... and not be halved for so many of them: steps that throw the parameters to and fro at one distance are no better than those that
/// lead away.
const STEPS_TO_HALVE: usize = 2;
/// Most times that the slope is found once they are not.
const RENEWALS: usize = 30;
/// Share of the cost that the trajectory may have to gain by itself when the parameters begin to move, and for how many iterations it moves
/// alone at most.
const ROUGH: f64 = 0.05;
pub(super) const FIRST_FITS: usize = 15;
/// Stages whose covariances are held at once.
const STRETCH: usize = 256;

/// The linear term that stands for the volume.
pub(super) struct Marginal {
    wanted: bool,
    phase: Phase,
    /// A slope has been found.
    found: bool,
    /// Whole steps of scoring have not led astray.
    pub(super) trusted: bool,
    /// Least gain of the parameters so far, by plain scoring.
    least: f64,
    /// What it was when it had last been halved, and how many steps of scoring ago that was.
    halved: (f64, usize),
    /// How often the slope has been found since whole steps are not trusted.
    renewals: usize,
    /// dV / dphi.
    slope: Vec<f64>,
    /// phi where the term counts as zero, and at another place.
    anchor: Vec<f64>,
    phi: Vec<f64>,
    slopes: Mat,
    /// Gradient of the term by theta at the present parameters.
    pub(super) tilt: Vec<f64>,
    /// No gradient.
    pub(super) level: Vec<f64>,
    /// How the parameters' slope answers to them.
    response: Response,
    /// What it adds to their slope.
    twist: Vec<f64>,
    /// Gradients of the constraints that bind them.
    binding: Mat,
    chain: Chain,
    /// Covariance of a state when the parameters are known.
    joint: Mat,
    /// Of the stages whose covariances are held at once.
    shares: Vec<Mutex<Share>>,
    qr: Orthogonal,
    factor: Mat,
    row: Vec<f64>,
    rows: Mat,
}

/// How far the parameters have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A slope would say little of the volume.
    Far,
    /// Steps of scoring.
    Near,
    /// There is nothing to gain any more but by the trajectory.
    Settled,
}

/// What moves in an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
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
            qr: Orthogonal::default(),
            factor: empty(),
            row: Vec::new(),
            rows: empty(),
            phase: Phase::Far,
            found: false,
            trusted: true,
            least: f64::INFINITY,
            halved: (f64::INFINITY, 0),
            renewals: 0,
            response: Response::new(if wanted { nt } else { 0 }),
            twist: vec![0.0; nt],
            binding: Mat::zeros(nt, 0),
            slope: zeros(),
            anchor: zeros(),
            phi: zeros(),
            slopes: Mat::zeros(nt, natural),
            tilt: vec![0.0; nt],
            level: vec![0.0; nt],
        }
    }

    /// Before the first iteration, from parameters that are known to be `near` the minimum or not; a `part` of the data may
    /// have taught something of them.
    pub(super) fn start(&mut self, near: bool, part: Option<&Self>) {
        self.phase = if near { Phase::Near } else { Phase::Far };
        self.found = false;
        (self.trusted, self.least, self.renewals) = (true, f64::INFINITY, 0);
        self.halved = (f64::INFINITY, 0);
        self.response.start(part.and_then(|p| p.response.relative()));
        self.tilt.fill(0.0);
        self.twist.fill(0.0);
    }

    /// The parameters, if there are any, have nothing to gain any more.
    pub(super) fn is_settled(&self) -> bool {
        !self.wanted || self.phase == Phase::Settled
    }

    /// The parameters, if there are any, are near the minimum at least.
    pub(super) fn is_near(&self) -> bool {
        !self.wanted || self.phase != Phase::Far
    }

    /// Whether whole steps are still trusted where plain scoring has this much to gain.
    fn judge(&mut self, gain: f64) {
        self.trusted &= gain <= ASTRAY * self.least;
        self.least = self.least.min(gain);
        let (halved, steps) = self.halved;
        self.halved = if self.least <= 0.5 * halved { (self.least, 0) } else { (halved, steps + 1) };
        self.trusted &= self.halved.1 <= STEPS_TO_HALVE;
    }

    /// Nothing is known of the slope's answer any more, since the parameters mean something else.
    pub(super) fn forget(&mut self) {
        self.response.start(None);
        self.twist.fill(0.0);
    }

    /// Puts the covariance of the first state when the parameters are known into `joint`, from the arrival node's basis,
    /// Hessian H and scale, parameters held; unobservable directions count as zero. With Y a basis of H's range,
    /// H^+ = Y (Y'H Y)^-1 Y'.
    fn start_chain(
        &mut self,
        (basis, hess, scale): (&Mat, &Mat, &[f64]),
        nx: usize,
    ) -> Result<(), EstimateError> {
        let count = hess.cols();
        self.qr.factor(hess, count, UNOBSERVABLE);
        let rank = self.qr.rank;
        self.rows.reset(count, rank);
        for j in 0..rank {
            for k in 0..count {
                axpy(self.qr.q[(k, j)], hess.col(k), self.rows.col_mut(j));
            }
        }
        self.factor.reset(rank, rank);
        for j in 0..rank {
            for i in j..rank {
                self.factor[(i, j)] = dot(self.qr.q.col(i), self.rows.col(j));
            }
        }
        if !partial_cholesky(&mut self.factor, rank) {
            return Err(EstimateError::NotConvex { stage: 0 });
        }
        self.rows.reset(nx, rank);
        for i in 0..nx {
            self.row.clear();
            for j in 0..rank {
                let column = self.qr.q.col(j);
                self.row.push((0..count).map(|k| basis[(i, k)] * scale[k] * column[k]).sum());
            }
            solve_lower(&self.factor, &mut self.row);
            for (j, &x) in self.row.iter().enumerate() {
                self.rows[(i, j)] = x;
            }
        }
        self.joint.reset(nx, nx);
        add_product(&mut self.joint, 1.0, self.rows.below(0), self.rows.below(0));
        Ok(())
    }

    /// The term at `theta`.
    pub(super) fn cost<P: EstimationProblem>(&mut self, problem: &P, theta: &[f64]) -> f64 {
        if !self.found {
            return 0.0;
        }
        problem.naturalise(theta, &mut self.phi, &mut self.slopes);
        (0..self.phi.len()).map(|i| self.slope[i] * (self.phi[i] - self.anchor[i])).sum()
    }

    /// Makes `tilt` the gradient at `theta`.
    pub(super) fn update_gradient<P: EstimationProblem>(&mut self, problem: &P, theta: &[f64]) {
        if !self.found {
            return;
        }
        problem.naturalise(theta, &mut self.phi, &mut self.slopes);
        self.tilt.copy_from_slice(&self.twist);
        for (i, slope) in self.slope.iter().enumerate() {
            axpy(*slope, self.slopes.col(i), &mut self.tilt);
        }
    }
}

impl<P: EstimationProblem> Solver<'_, P> {
    /// Decides what moves in this iteration, and solves the arrival node for it.
    ///
    /// Far from the minimum, where a slope says little of the volume, the cost alone shows the way. Near it the trajectory is
    /// fitted first, parameters held; then the volume's slope is found there, and both take a step of Fisher's scoring,
    /// with what was learnt of the slope's answer ([`crate::estimate::response`]). There is no cost to judge such a step by:
    /// its Hessian is not that of the cost, trajectories refitted, nor is the slope, which follows the volume, the
    /// cost's gradient. Where such steps lead astray all the same, both move in every iteration, as far as the line search lets
    /// them, with the slope that is found there.
    ///
    /// Where the last step was `held_up` (at kinks, as a rule), the trajectory fits as well as it can, whatever it promises: its promise counts neither
    /// against the parameters, nor as something that is left to gain. What these have to gain themselves must then be the smaller.
    pub(super) fn choose_update(
        &mut self,
        cost: f64,
        little: f64,
        damping: f64,
        held_up: bool,
    ) -> Result<Update, EstimateError> {
        if self.constraints.violation() > self.options.feasibility {
            return Ok(Update::Both);
        }
        if !self.marginal.wanted {
            return self.fit_trajectory_first(cost, damping);
        }
        let both = self.gain();
        self.arrive(damping, true)?;
        let alone = self.gain();
        if self.marginal.phase == Phase::Far && both <= NEAR * (1.0 + cost.abs()) {
            self.marginal.phase = Phase::Near;
        }
        match self.marginal.phase {
            Phase::Near
                if self.marginal.trusted && !held_up && alone > little.max(UNSETTLED * (both - alone)) =>
            {
                Ok(Update::Trajectory)
            }
            Phase::Near => {
                self.renew(damping)?;
                let own = self.gain() - alone;
                let fits = held_up && own <= WAITING.max(UNSETTLED * self.options.significance);
                if fits || self.gain() <= little.max(ENOUGH) || self.marginal.renewals == RENEWALS {
                    self.marginal.phase = Phase::Settled;
                }
                Ok(Update::Renewed)
            }
            // Where the parameters have nothing to gain any more, the trajectory closes its gaps faster without them.
            Phase::Settled if both <= little || held_up => Ok(Update::Both),
            Phase::Settled | Phase::Far => {
                self.arrive(damping, false)?;
                Ok(Update::Both)
            }
        }
    }

    /// The first guess is what sensors told, with accelerations between noisy velocities: parameters that are fitted to it run away, to bodies
    /// without mass for instance, from where no way leads back. So the trajectory moves alone until it has no more than [`ROUGH`] of the
    /// cost to gain by itself, or for [`FIRST_FITS`] iterations.
    fn fit_trajectory_first(&mut self, cost: f64, damping: f64) -> Result<Update, EstimateError> {
        if self.now.theta.is_empty() || self.first_fits == 0 {
            return Ok(Update::Both);
        }
        self.arrive(damping, true)?;
        let alone = self.arrival.expected.abs().max(self.gain());
        if alone <= ROUGH * (1.0 + cost.abs()) {
            self.first_fits = 0;
            self.arrive(damping, false)?;
            return Ok(Update::Both);
        }
        self.first_fits -= 1;
        Ok(Update::Trajectory)
    }

    /// Holds a step of the parameters to where their tangent can be trusted ([`EstimationProblem::strain`]): the arrival node is damped until
    /// it does. That shortens the step in directions that the data tell little of, and hardly in others.
    pub(super) fn bound_strain(&mut self, damping: f64) -> Result<(), EstimateError> {
        let nx = self.step.xs[0].len();
        let mut more = DAMPING_MIN;
        while self.problem.strain(&self.now.theta, &self.arrival.y[nx..]) > 1.0 && more < 1.0 {
            more *= 10.0;
            self.arrive(damping + more, false)?;
        }
        Ok(())
    }

    /// Finds the volume's slope at the present trajectory, and the step with it.
    fn renew(&mut self, damping: f64) -> Result<(), EstimateError> {
        if damping > 0.0 {
            self.damped_step(0.0)?;
        }
        self.find_volume_slope()?;
        let m = &mut self.marginal;
        m.found = true;
        m.twist.fill(0.0);
        m.update_gradient(self.problem, &self.now.theta);
        m.anchor.copy_from_slice(&m.phi);
        self.arrive(0.0, true)?;
        let response = &mut self.marginal.response;
        self.arrival
            .profile(&mut response.slope, &mut response.information, self.options.parameters)
            .map_err(failure)?;
        response.learn(&self.now.theta);
        self.score(damping)
    }

    /// Solves the arrival node for the step of scoring, then once more with its slope turned by what was learnt of its answer.
    fn score(&mut self, damping: f64) -> Result<(), EstimateError> {
        self.arrive(damping, false)?;
        let m = &mut self.marginal;
        m.judge(self.arrival.decrement);
        if !m.trusted {
            m.renewals += 1;
            return Ok(());
        }
        let (nx, m, constraints) = (self.step.xs[0].len(), &mut self.marginal, &self.constraints);
        let (equalities, active) = (&constraints.equalities, &self.arrival.active);
        m.binding.reset(m.twist.len(), equalities.cols() + active.len());
        for i in 0..equalities.cols() {
            m.binding.col_mut(i).copy_from_slice(equalities.col(i));
        }
        for (i, &which) in active.iter().enumerate() {
            let column = m.binding.col_mut(equalities.cols() + i);
            column.copy_from_slice(constraints.inequalities.col(which));
        }
        m.response.turn(&self.arrival.y[nx..], &m.binding, &mut m.twist);
        self.arrive(damping, false)
    }

    /// dV / dphi, from the factors of an undamped step at the present trajectory, into the term's slope.
    pub(in crate::estimate) fn find_volume_slope(&mut self) -> Result<&[f64], EstimateError> {
        self.arrive(0.0, true)?;
        let (nx, m) = (self.problem.size(0).tangent, &mut self.marginal);
        m.start_chain(self.arrival.reduced(), nx)?;
        m.slope.fill(0.0);
        let stretch = m.shares.len();
        for from in (0..self.records.len()).step_by(stretch) {
            let count = stretch.min(self.records.len() - from);
            for (record, share) in self.records[from..from + count].iter_mut().zip(&mut m.shares) {
                let node = &inner(record).node;
                m.chain.with_input(node, &m.joint, &mut inner(share).joint);
                if node.next > 0 {
                    m.chain.advance(node, &mut m.joint);
                }
            }
            let (problem, now, records, threads) =
                (self.problem, &self.now, &self.records, self.threads.len());
            let shares = &m.shares;
            let work = |(first, thread): (usize, &mut ThreadStorage<P::Workspace>)| {
                for i in (first..count).step_by(threads) {
                    let (k, share) = (from + i, &mut *unlocked(&shares[i]));
                    share.slope.fill(0.0);
                    let record = unlocked(&records[k]);
                    // Inputs that equations of later stages bind are no longer in the problem's own coordinates.
                    if record.node.lift.active {
                        continue;
                    }
                    let given =
                        Given { next: &record.values.next, joint: &share.joint, ahead: record.node.ahead() };
                    let told =
                        problem.volume_slope(k, now.at(k), &mut thread.workspace, given, &mut share.slope);
                    if let Err(reason) = told {
                        thread.fail(k, EstimateError::Stage { stage: k, reason });
                    }
                }
            };
            if let [thread] = self.threads.as_mut_slice() {
                work((0, thread));
            } else {
                self.threads.par_iter_mut().enumerate().with_max_len(1).for_each(work);
            }
            // In the order of the stages, whoever did them.
            m.shares[..count].iter_mut().for_each(|s| axpy(1.0, &inner(s).slope, &mut m.slope));
        }
        self.totals()?;
        Ok(&self.marginal.slope)
    }

    /// Half the logarithm of the determinant of the inputs' precision given the states, and dV / dphi: what the slope of a problem's
    /// volume is compared with.
    #[cfg(test)]
    pub(crate) fn volume_of_inputs(&mut self) -> Result<(f64, Vec<f64>), EstimateError> {
        let mut inputs = 0.0;
        for record in &mut self.records {
            let node = &inner(record).node;
            inputs += (0..node.model.nu).map(|j| node.noise_factor()[(j, j)].ln()).sum::<f64>();
        }
        Ok((inputs, self.find_volume_slope()?.to_vec()))
    }
}

#[cfg(test)]
mod tests;
