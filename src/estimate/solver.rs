//! The iteration around the recursion: linearise, one Newton step, a step length, damping.
//!
//! For those who use the core. The merit function is phi = cost + nu (|gaps| + |constraints|) in the 1-norm, nu just
//! large enough for the step to be a direction of descent (from the value of the quadratic program, which the recursion
//! knows). A step is taken when phi falls below a mean of the last few merits by a part of what was promised
//! (non-monotone Armijo rule). Nothing allocates after the first iteration.

mod iteration;
mod line_search;
mod marginal;
mod options;
mod rollout;
mod stage_record;
mod sweep;

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::active_set::ActiveSetFailure;
use super::arrival::{Arrival, ArrivalFailure, HeldParts, ParameterModel};
use super::error::EstimateError;
use super::problem::{EstimationProblem, Trajectory};
use super::riccati::PolicySpace;
use super::secant::Secant;
use crate::linear::dense::{Mat, dot};
use marginal::{FIRST_FITS, Marginal};
pub use options::{Iteration, Rollout, SolverOptions, SolverOutcome, Status};
pub(super) use stage_record::StageRecord;
use stage_record::{ThreadStorage, linearise_stage};
use sweep::Sweep;
pub(super) use sweep::inner;

/// Least damping that is not zero.
const DAMPING_MIN: f64 = 1e-9;
/// Damping at which the iteration gives up.
const DAMPING_MAX: f64 = 1e8;

/// The solver with all its memory.
///
/// The most probable trajectory and parameters together are no good estimate of the parameters where noise moves the
/// trajectory: with it found too, a model that needs less noise for the same motion (lighter bodies, say) always fits
/// better, and the more samples there are, the surer it gets of that. [`SolverOptions::marginal`] therefore integrates the trajectory
/// out, by Laplace's method: half the logarithm of the Hessian's determinant is added to the cost, as a linear function
/// of the physical parameters that is found anew whenever the trajectory fits the parameters, until these stay.
pub struct Solver<'p, P: EstimationProblem> {
    pub(super) problem: &'p P,
    pub(super) options: SolverOptions,
    pub(super) records: Vec<Mutex<StageRecord>>,
    sweep: Sweep,
    pub(super) arrival: Arrival,
    pub(super) constraints: ParameterModel,
    threads: Vec<ThreadStorage<P::Workspace>>,
    /// Blocks of stages that the threads of a trial step have taken.
    claimed: AtomicUsize,
    now: Trajectory,
    marginal: Marginal,
    secant: Secant,
    /// Iterations in which the trajectory may still move alone before the parameters do.
    first_fits: usize,
    /// Parameters of the trial step.
    theta: Vec<f64>,
    step: Trajectory,
    /// Steps do nothing but close gaps: the least that do, in the metric of the Hessian. The cost's slope counts as zero.
    closing: bool,
    whole: PolicySpace,
    slope: f64,
}

impl<P: EstimationProblem> std::fmt::Debug for Solver<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("options", &self.options).field("stages", &self.records.len()).finish()
    }
}

impl<'p, P: EstimationProblem> Solver<'p, P> {
    /// A solver for `problem`, with memory for everything.
    ///
    /// # Errors
    /// When the problem has no stage, or an option is NaN or negative.
    pub fn new(problem: &'p P, options: SolverOptions) -> Result<Self, EstimateError> {
        let count = problem.stages();
        if count == 0 {
            return Err(EstimateError::Size { what: "stages".into(), found: 0, expected: 1 });
        }
        options.check()?;
        let (nt, equalities, inequalities) = problem.parameters();
        let sizes: Vec<_> = (0..count).map(|k| problem.size(k)).collect();
        let threads = if options.parallel { rayon::current_num_threads().min(count) } else { 1 };
        let blank = |state: bool| Trajectory {
            xs: sizes.iter().map(|s| vec![0.0; if state { s.state } else { s.tangent }]).collect(),
            us: sizes.iter().map(|s| vec![0.0; s.input]).collect(),
            theta: vec![0.0; nt],
        };
        Ok(Self {
            problem,
            options,
            records: (0..count).map(|k| Mutex::new(StageRecord::new(&sizes, k, nt))).collect(),
            sweep: Sweep::new(count, threads),
            arrival: Arrival::new(sizes[0].tangent, nt, inequalities),
            constraints: ParameterModel::new(nt, equalities, inequalities),
            threads: (0..threads).map(|_| ThreadStorage::new(problem.workspace())).collect(),
            marginal: Marginal::new(nt, if options.marginal { problem.natural() } else { 0 }, count),
            secant: Secant::new(sizes[0].tangent + nt),
            claimed: AtomicUsize::new(0),
            now: blank(true),
            first_fits: 0,
            theta: vec![0.0; nt],
            step: blank(false),
            closing: false,
            whole: PolicySpace::default(),
            slope: 0.0,
        })
    }

    /// The present trajectory: the result after [`Solver::solve`].
    pub fn trajectory(&self) -> &Trajectory {
        &self.now
    }

    /// Minimises from `guess`; the result is in [`Solver::trajectory`].
    ///
    /// # Errors
    /// When the guess has wrong sizes, is not finite or outside the model's domain, when a stage stays indefinite at
    /// every damping, or when the parameter inequalities contradict each other.
    pub fn solve(&mut self, guess: &Trajectory) -> Result<SolverOutcome, EstimateError> {
        self.minimise(guess, false, None)
    }

    /// [`Solver::solve`] from parameters that are near the minimum already. Where the trajectory is to be integrated out, it is
    /// then fitted to them before they move; what a `part` of the data that has been solved for the same parameters has
    /// taught of them serves here as well.
    ///
    /// # Errors
    /// As [`Solver::solve`].
    pub fn refine(
        &mut self,
        guess: &Trajectory,
        part: Option<&Solver<'_, P>>,
    ) -> Result<SolverOutcome, EstimateError> {
        self.minimise(guess, true, part)
    }

    fn minimise(
        &mut self,
        guess: &Trajectory,
        near: bool,
        part: Option<&Solver<'_, P>>,
    ) -> Result<SolverOutcome, EstimateError> {
        self.start(guess)?;
        self.marginal.start(near, part.map(|p| &p.marginal));
        self.first_fits = if self.options.cautious { FIRST_FITS } else { 0 };
        let (stages, parameters) = (self.records.len(), self.now.theta.len());
        let span = tracing::info_span!("minimise", stages, parameters);
        if self.threads.len() == 1 {
            return span.in_scope(|| self.iterate());
        }
        // From inside the pool every parallel loop starts without waking this thread up again.
        rayon::scope(|_| span.in_scope(|| self.iterate()))
    }

    /// Takes over the guess; single shooting starts from its rollout.
    fn start(&mut self, guess: &Trajectory) -> Result<(), EstimateError> {
        let size = |what: String, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(EstimateError::Size { what, found, expected }) }
        };
        size("states of the guess".into(), guess.xs.len(), self.records.len())?;
        size("inputs of the guess".into(), guess.us.len(), self.records.len())?;
        size("parameters of the guess".into(), guess.theta.len(), self.now.theta.len())?;
        self.now.theta.copy_from_slice(&guess.theta);
        self.records.iter_mut().for_each(|record| inner(record).values.memory.clear());
        for k in 0..self.records.len() {
            size(format!("state {k} of the guess"), guess.xs[k].len(), self.now.xs[k].len())?;
            size(format!("input {k} of the guess"), guess.us[k].len(), self.now.us[k].len())?;
            self.now.xs[k].copy_from_slice(&guess.xs[k]);
            self.now.us[k].copy_from_slice(&guess.us[k]);
        }
        if self.options.rollout == Rollout::Single {
            for k in 0..self.records.len() {
                let thread = &mut self.threads[0].workspace;
                let record = inner(&mut self.records[k]);
                self.problem
                    .evaluate(k, self.now.at(k), thread, &mut record.values)
                    .map_err(|reason| EstimateError::Stage { stage: k, reason })?;
                if record.values.next.iter().any(|x| !x.is_finite()) {
                    return Err(EstimateError::Diverged { stage: k });
                }
                if let Some(x) = self.now.xs.get_mut(k + 1) {
                    x.copy_from_slice(&record.values.next);
                }
            }
        }
        Ok(())
    }

    /// Sums what the stages left, or the first failure.
    fn totals(&mut self) -> Result<(f64, f64), EstimateError> {
        let failures = self.threads.iter_mut().filter_map(|thread| thread.failure.take());
        if let Some((_, failure)) = failures.min_by_key(|(stage, _)| *stage) {
            return Err(failure);
        }
        let (mut cost, mut violation) = (0.0, 0.0);
        for record in &mut self.records {
            let record = inner(record);
            cost += record.cost;
            violation += record.violation;
        }
        Ok((cost, violation + self.constraints.violation()))
    }

    /// Hessian of the first stage's value function by (dx, dtheta), lower triangle; after a step.
    pub(super) fn first_value(&mut self) -> &Mat {
        &self.sweep.recursion().value.hess
    }

    fn contradiction(&mut self) -> f64 {
        let worst = self.arrival.contradiction;
        self.records.iter_mut().fold(worst, |m, record| m.max(inner(record).node.lift.contradiction))
    }

    /// Linearises at the present trajectory and computes the arrival node's Newton step, with more damping until all is
    /// convex; cost and violation before the step, and the damping in use.
    pub(super) fn newton_step(&mut self, mut damping: f64) -> Result<(f64, f64, f64), EstimateError> {
        loop {
            let failure = match self.damped_step(damping) {
                Ok((cost, violation)) => return Ok((cost, violation, damping)),
                Err(failure) => failure,
            };
            damping = tighten(damping);
            if damping > DAMPING_MAX || !matches!(failure, EstimateError::NotConvex { .. }) {
                return Err(failure);
            }
        }
    }

    /// The Newton step of the arrival node with this damping; cost and violation before it.
    pub(super) fn damped_step(&mut self, damping: f64) -> Result<(f64, f64), EstimateError> {
        self.problem.constrain_parameters(&self.now.theta, &mut self.constraints);
        let closing = self.closing;
        self.threads.iter_mut().for_each(|thread| thread.closing = closing);
        let indefinite = self.sweep.run(self.problem, &self.now, &self.records, &mut self.threads, damping);
        let totals = self.totals()?;
        if let Some(stage) = indefinite {
            return Err(EstimateError::NotConvex { stage });
        }
        self.secant.learn(&self.sweep.recursion().value);
        self.arrive(damping, false)?;
        Ok(totals)
    }

    /// What the last step still promises to gain of the cost once all gaps are closed.
    fn gain(&mut self) -> f64 {
        self.sweep.recursion().decrement + self.arrival.decrement
    }

    /// Solves for the first state and, unless they are `held`, the parameters.
    fn arrive(&mut self, damping: f64, held: bool) -> Result<(), EstimateError> {
        self.marginal.update_gradient(self.problem, &self.now.theta);
        let tilt = if self.closing { &self.marginal.level } else { &self.marginal.tilt };
        self.arrival
            .solve(
                &self.sweep.recursion().value,
                tilt,
                self.secant.learnt(),
                &inner(&mut self.records[0]).node.lift.leftover,
                &self.constraints,
                HeldParts { state: self.options.fixed_arrival, parameters: held },
                damping,
                self.options.parameters,
            )
            .map_err(failure)
    }

    /// The Newton step of all stages from that of the arrival node, and the slope of the cost along it.
    fn roll_out_linear(&mut self) {
        let nx = self.step.xs[0].len();
        self.step.xs[0].copy_from_slice(&self.arrival.y[..nx]);
        self.step.theta.copy_from_slice(&self.arrival.y[nx..]);
        self.slope = dot(&self.marginal.tilt, &self.step.theta);
        for (k, record) in self.records.iter_mut().enumerate() {
            let node = &inner(record).node;
            let (done, ahead) = self.step.xs.split_at_mut(k + 1);
            let (dx, du) = (&done[k], &mut self.step.us[k]);
            node.policy(dx, &self.step.theta, 1.0, &mut self.whole, du);
            self.slope += node.slope(&self.whole);
            if let Some(next) = ahead.first_mut() {
                node.step(&self.whole, next);
            }
        }
    }
}

fn failure(of: ArrivalFailure) -> EstimateError {
    match of {
        ArrivalFailure::Inequalities(ActiveSetFailure::Infeasible(index)) => {
            EstimateError::Inequalities { index }
        }
        ArrivalFailure::Inequalities(_) | ArrivalFailure::NotConvex => EstimateError::NotConvex { stage: 0 },
    }
}

fn tighten(damping: f64) -> f64 {
    (damping * 10.0).max(1e3 * DAMPING_MIN)
}
