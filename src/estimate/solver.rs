//! The iteration around the recursion: linearise, one Newton step, a step length, damping.
//!
//! For those who use the core. The merit function is phi = cost + nu (|gaps| + |constraints|) in the 1-norm, nu just
//! large enough for the step to be a direction of descent (from the value of the quadratic program, which the recursion
//! knows). A step is taken when phi falls below the largest of the last few merits by a part of what was promised
//! (non-monotone Armijo rule). Nothing allocates after the first iteration.

mod rollout;

use rayon::prelude::*;

use super::arrival::{Arrival, ArrivalFailure, ParameterModel, ParameterSolve};
use super::dense::{Mat, axpy};
use super::error::EstimateError;
use super::problem::{Problem, StageValues, Trajectory};
use super::riccati::{Node, Recursion};
use super::stage::EliminationSpace;

/// How a trial step is rolled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rollout {
    /// The dynamics are integrated through; gaps are always zero.
    Single,
    /// Integrated with feedback; gaps shrink with the step length.
    Feasible,
    /// States and inputs move along the Newton step, all stages at once; gaps are whatever they then are.
    #[default]
    Multiple,
}

/// Settings of [`Solver`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Largest number of iterations.
    pub iterations: usize,
    /// The iteration ends when the expected change of the cost is below this times (1 + cost) ...
    pub tolerance: f64,
    /// ... and the sum of all gaps and constraint violations below this.
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
    /// Stages are evaluated by all of rayon's threads.
    pub parallel: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            iterations: 200,
            tolerance: 1e-10,
            feasibility: 1e-8,
            rollout: Rollout::default(),
            parameters: ParameterSolve::default(),
            fixed_arrival: false,
            memory: 4,
            damping: 0.0,
            parallel: true,
        }
    }
}

/// Least damping that is not zero.
const DAMPING_MIN: f64 = 1e-9;
/// Damping at which the iteration gives up.
const DAMPING_MAX: f64 = 1e8;
/// Part of the promised decrease that a step has to keep.
const ARMIJO: f64 = 1e-4;
/// Part of nu times the violation by which the merit's slope must be negative.
const SHARE: f64 = 0.3;
/// Halvings of the step length.
const HALVINGS: i32 = 12;

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
pub struct Outcome {
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

/// A stage with what is computed for it.
pub(super) struct Slot {
    pub(super) node: Node,
    values: StageValues,
    gap: Vec<f64>,
    cost: f64,
    violation: f64,
}

/// One thread's scratch space.
struct Lane<W> {
    workspace: W,
    space: EliminationSpace,
    transport: Mat,
    jac: Mat,
    failure: Option<EstimateError>,
}

/// The solver with all its memory.
pub struct Solver<'p, P: Problem> {
    pub(super) problem: &'p P,
    pub(super) options: Options,
    pub(super) slots: Vec<Slot>,
    pub(super) recursion: Recursion,
    pub(super) arrival: Arrival,
    pub(super) constraints: ParameterModel,
    lanes: Vec<Lane<P::Workspace>>,
    now: Trajectory,
    trial: Trajectory,
    step: Trajectory,
    whole: Vec<f64>,
    slope: f64,
}

impl<P: Problem> std::fmt::Debug for Solver<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("options", &self.options).field("stages", &self.slots.len()).finish()
    }
}

impl<'p, P: Problem> Solver<'p, P> {
    /// A solver for `problem`, with memory for everything.
    ///
    /// # Errors
    /// When the problem has no stage.
    pub fn new(problem: &'p P, options: Options) -> Result<Self, EstimateError> {
        let count = problem.stages();
        if count == 0 {
            return Err(EstimateError::Size { what: "stages".into(), found: 0, expected: 1 });
        }
        let (nt, equalities, inequalities) = problem.parameters();
        let sizes: Vec<_> = (0..count).map(|k| problem.size(k)).collect();
        let slot = |k: usize| {
            let next = sizes.get(k + 1).map_or(0, |s| s.tangent);
            Slot {
                node: Node::new(sizes[k], next, nt),
                values: StageValues {
                    cost: 0.0,
                    next: vec![0.0; sizes.get(k + 1).map_or(0, |s| s.state)],
                    constraints: vec![0.0; sizes[k].constraints],
                },
                gap: vec![0.0; next],
                cost: 0.0,
                violation: 0.0,
            }
        };
        let lanes = if options.parallel { (2 * rayon::current_num_threads()).min(count) } else { 1 };
        let lane = |_| Lane {
            workspace: problem.workspace(),
            space: EliminationSpace::default(),
            transport: Mat::zeros(0, 0),
            jac: Mat::zeros(0, 0),
            failure: None,
        };
        let blank = |state: bool| Trajectory {
            xs: sizes.iter().map(|s| vec![0.0; if state { s.state } else { s.tangent }]).collect(),
            us: sizes.iter().map(|s| vec![0.0; s.input]).collect(),
            theta: vec![0.0; nt],
        };
        Ok(Self {
            problem,
            options,
            slots: (0..count).map(slot).collect(),
            recursion: Recursion::default(),
            arrival: Arrival::new(sizes[0].tangent, nt, inequalities),
            constraints: ParameterModel::new(nt, equalities, inequalities),
            lanes: (0..lanes).map(lane).collect(),
            now: blank(true),
            trial: blank(true),
            step: blank(false),
            whole: Vec::new(),
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
    pub fn solve(&mut self, guess: &Trajectory) -> Result<Outcome, EstimateError> {
        self.start(guess)?;
        let mut outcome = Outcome {
            status: Status::IterationLimit,
            cost: f64::NAN,
            violation: f64::NAN,
            record: Vec::with_capacity(self.options.iterations + 1),
            deficiency: 0,
            contradiction: 0.0,
        };
        let mut damping = self.options.damping;
        let mut penalty = 0.0f64;
        let mut past = [(0.0, 0.0); 16];
        let memory = self.options.memory.clamp(1, past.len());
        for iteration in 0..=self.options.iterations {
            let (cost, violation) = self.linearise()?;
            (outcome.cost, outcome.violation) = (cost, violation);
            past[iteration % memory] = (cost, violation);
            let known = (iteration + 1).min(memory);
            loop {
                damping = self.newton_step(damping)?;
                let expected = self.arrival.expected;
                (outcome.deficiency, outcome.contradiction) = (self.arrival.deficiency, self.contradiction());
                let settled = expected.abs() <= self.options.tolerance * (1.0 + cost.abs());
                let line = Iteration { cost, violation, expected, step: 0.0, damping };
                if settled && violation <= self.options.feasibility {
                    outcome.status = Status::Converged;
                    outcome.record.push(line);
                    return Ok(outcome);
                }
                if iteration == self.options.iterations {
                    return Ok(outcome);
                }
                // Old needs fade, so that one bad step does not bend all later ones towards feasibility.
                penalty *= 0.5;
                if violation > 0.0 {
                    penalty = penalty
                        .max(expected / ((1.0 - SHARE) * violation))
                        .max(self.slope / ((1.0 - SHARE) * violation));
                }
                let promised = self.slope - penalty * violation;
                let reference =
                    past[..known].iter().fold(f64::NEG_INFINITY, |m, (c, v)| m.max(c + penalty * v));
                if let Some(step) = self.line_search(reference, promised, penalty) {
                    outcome.record.push(Iteration { step, ..line });
                    damping = if step >= 0.5 { relax(damping) } else { damping };
                    break;
                }
                damping = tighten(damping);
                if damping > DAMPING_MAX {
                    outcome.status = Status::Stalled;
                    outcome.record.push(line);
                    return Ok(outcome);
                }
            }
        }
        Ok(outcome)
    }

    /// Takes over the guess; single shooting starts from its rollout.
    fn start(&mut self, guess: &Trajectory) -> Result<(), EstimateError> {
        let size = |what: String, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(EstimateError::Size { what, found, expected }) }
        };
        size("states of the guess".into(), guess.xs.len(), self.slots.len())?;
        size("inputs of the guess".into(), guess.us.len(), self.slots.len())?;
        size("parameters of the guess".into(), guess.theta.len(), self.now.theta.len())?;
        self.now.theta.copy_from_slice(&guess.theta);
        for k in 0..self.slots.len() {
            size(format!("state {k} of the guess"), guess.xs[k].len(), self.now.xs[k].len())?;
            size(format!("input {k} of the guess"), guess.us[k].len(), self.now.us[k].len())?;
            self.now.xs[k].copy_from_slice(&guess.xs[k]);
            self.now.us[k].copy_from_slice(&guess.us[k]);
        }
        if self.options.rollout == Rollout::Single {
            self.trial.clone_from(&self.now);
            for k in 0..self.slots.len() {
                let lane = &mut self.lanes[0].workspace;
                let slot = &mut self.slots[k];
                self.problem
                    .evaluate(k, self.trial.at(k), lane, &mut slot.values)
                    .map_err(|reason| EstimateError::Stage { stage: k, reason })?;
                if slot.values.next.iter().any(|x| !x.is_finite()) {
                    return Err(EstimateError::Diverged { stage: k });
                }
                if let Some(x) = self.trial.xs.get_mut(k + 1) {
                    x.copy_from_slice(&slot.values.next);
                }
            }
            std::mem::swap(&mut self.now, &mut self.trial);
        }
        Ok(())
    }

    /// Linearises all stages at the present trajectory and eliminates their constraints; cost and violation.
    pub(super) fn linearise(&mut self) -> Result<(f64, f64), EstimateError> {
        let (problem, now) = (self.problem, &self.now);
        each_stage(&mut self.lanes, &mut self.slots, self.options.parallel, |k, lane, slot| {
            linearise_stage(problem, now, k, lane, slot)
        });
        problem.constrain_parameters(&now.theta, &mut self.constraints);
        self.totals()
    }

    /// Sums what the stages left, or the first failure.
    fn totals(&mut self) -> Result<(f64, f64), EstimateError> {
        if let Some(failure) = self.lanes.iter_mut().filter_map(|lane| lane.failure.take()).next() {
            return Err(failure);
        }
        let violation: f64 = self.slots.iter().map(|s| s.violation).sum();
        Ok((self.slots.iter().map(|s| s.cost).sum(), violation + self.constraints.violation()))
    }

    fn contradiction(&self) -> f64 {
        self.slots.iter().fold(self.arrival.contradiction, |m, s| m.max(s.node.lift.contradiction))
    }

    /// Recursion, arrival node and linear rollout, with more damping until all is convex; the damping in use.
    pub(super) fn newton_step(&mut self, mut damping: f64) -> Result<f64, EstimateError> {
        loop {
            let failure = match self.try_newton_step(damping) {
                Ok(()) => return Ok(damping),
                Err(failure) => failure,
            };
            damping = tighten(damping);
            if damping > DAMPING_MAX || matches!(failure, EstimateError::Inequalities { .. }) {
                return Err(failure);
            }
        }
    }

    fn try_newton_step(&mut self, damping: f64) -> Result<(), EstimateError> {
        backward(&mut self.recursion, &mut self.slots, damping)?;
        let leftover = &self.slots[0].node.lift.leftover;
        self.arrival
            .solve(
                &self.recursion.value,
                leftover,
                &self.constraints,
                self.options.fixed_arrival,
                damping,
                self.options.parameters,
            )
            .map_err(|failure| match failure {
                ArrivalFailure::NotConvex => EstimateError::NotConvex { stage: 0 },
                ArrivalFailure::Inequalities(super::active_set::ActiveSetFailure::Infeasible(index)) => {
                    EstimateError::Inequalities { index }
                }
                ArrivalFailure::Inequalities(_) => EstimateError::NotConvex { stage: 0 },
            })?;
        // The linear rollout.
        let nx = self.step.xs[0].len();
        self.step.xs[0].copy_from_slice(&self.arrival.y[..nx]);
        self.step.theta.copy_from_slice(&self.arrival.y[nx..]);
        self.slope = 0.0;
        for (k, slot) in self.slots.iter().enumerate() {
            let node = &slot.node;
            let (done, ahead) = self.step.xs.split_at_mut(k + 1);
            let (dx, du) = (&done[k], &mut self.step.us[k]);
            node.policy(dx, &self.step.theta, 1.0, &mut self.whole, du);
            self.slope += node.slope(du, dx, &self.step.theta);
            if let Some(next) = ahead.first_mut() {
                node.step(&self.whole, next);
            }
        }
        Ok(())
    }

    /// Halves the step until the merit falls enough; takes the step and returns its length.
    fn line_search(&mut self, reference: f64, promised: f64, penalty: f64) -> Option<f64> {
        for halving in 0..HALVINGS {
            let length = 0.5f64.powi(halving);
            let Some((cost, violation)) = self.try_step(length) else { continue };
            let merit = cost + penalty * violation;
            let allowed = reference + ARMIJO * length * promised.min(0.0) + 1e-13 * reference.abs();
            if merit <= allowed {
                std::mem::swap(&mut self.now, &mut self.trial);
                return Some(length);
            }
        }
        None
    }
}

fn relax(damping: f64) -> f64 {
    if damping <= DAMPING_MIN { 0.0 } else { damping / 10.0 }
}

fn tighten(damping: f64) -> f64 {
    (damping * 10.0).max(1e3 * DAMPING_MIN)
}

/// The backward pass over the slots' nodes.
fn backward(recursion: &mut Recursion, slots: &mut [Slot], damping: f64) -> Result<(), EstimateError> {
    recursion
        .backward(slots, |slot| &mut slot.node, damping)
        .map_err(|stage| EstimateError::NotConvex { stage })
}

/// Runs `work` on every stage, on all threads if `parallel`.
fn each_stage<W: Send>(
    lanes: &mut [Lane<W>],
    slots: &mut [Slot],
    parallel: bool,
    work: impl Fn(usize, &mut Lane<W>, &mut Slot) + Sync,
) {
    let chunk = slots.len().div_ceil(lanes.len());
    let run = |(c, (lane, slots)): (usize, (&mut Lane<W>, &mut [Slot]))| {
        for (i, slot) in slots.iter_mut().enumerate() {
            work(c * chunk + i, lane, slot);
        }
    };
    if parallel {
        lanes.par_iter_mut().zip(slots.par_chunks_mut(chunk)).enumerate().for_each(run);
    } else {
        lanes.iter_mut().zip(slots.chunks_mut(chunk)).enumerate().for_each(run);
    }
}

fn linearise_stage<P: Problem>(
    problem: &P,
    now: &Trajectory,
    k: usize,
    lane: &mut Lane<P::Workspace>,
    slot: &mut Slot,
) {
    let node = &mut slot.node;
    node.clear();
    if let Err(reason) =
        problem.linearise(k, now.at(k), &mut lane.workspace, &mut node.model, &mut slot.values)
    {
        lane.failure.get_or_insert(EstimateError::Stage { stage: k, reason });
        return;
    }
    if let Some(next) = now.xs.get(k + 1) {
        problem.difference(k + 1, &slot.values.next, next, &mut node.model.gap);
        if problem.transport(k + 1, &slot.values.next, next, &mut lane.workspace, &mut lane.transport) {
            // By rows: new row i = sum_j T_ij (row j).
            lane.jac.reset(node.model.jac.rows(), node.next);
            for i in 0..node.next {
                for j in 0..node.next {
                    axpy(lane.transport[(j, i)], node.model.jac.col(j), lane.jac.col_mut(i));
                }
            }
            node.model.jac.copy_from(&lane.jac);
        }
    }
    if !node.model.is_finite() {
        lane.failure.get_or_insert(EstimateError::NotFinite { what: "the linearisation", stage: k });
        return;
    }
    slot.cost = node.model.cost;
    let broken = node.model.con_value.iter().chain(&node.model.gap);
    slot.violation = broken.map(|v| v.abs()).sum();
    node.condense(&mut lane.space);
}
