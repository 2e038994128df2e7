//! One iteration after the other: a Newton step, what it is to be measured by, its length, and what is learnt from it.

use super::super::error::EstimateError;
use super::super::problem::EstimationProblem;
use super::line_search::{Goal, Taken};
use super::marginal::Update;
use super::options::{Iteration, SolverOptions, SolverOutcome, Status};
use super::{DAMPING_MAX, DAMPING_MIN, Solver, tighten};

/// Part of nu times the violation by which the merit's slope must be negative.
const SHARE: f64 = 0.3;
/// Part of 1 + cost that may be left to be gained where steps begin to teach curvature: farther away they say more of the way
/// than of the minimum.
const NEAR: f64 = 1e-3;
/// Where so many iterations have gained less than this of the cost, nothing is left to be gained, whatever a step promises: at a kink of the
/// cost (Coulomb friction) it promises the other side for ever. The cost is half a chi square, so what is left is some hundredth of a
/// deviation. Where less than [`SolverOptions::significance`] counts, that is it.
pub(super) const WAITING: f64 = 1e-4;
const PATIENCE: usize = 12;
/// A step that gains less than this part of what it promised, and less than counts, is held up.
const HELD_UP: f64 = 0.25;

/// What the iteration remembers from one step to the next.
struct Progress {
    damping: f64,
    /// nu, the weight of the violation in the merit.
    penalty: f64,
    /// Cost and violation of the last iterations, iteration k at k modulo `memory`.
    past: [(f64, f64); 16],
    memory: usize,
    /// First iteration whose cost is the present one.
    first: usize,
    /// Cost and violation where nothing was left to be gained. From there on gaps are closed, by the least steps that do ([`Solver`]'s `closing`), and
    /// no more than `little` may be lost by that; what a step promises counts no longer. At a kink of the cost it promises the more, the other
    /// side of it, and behind it as much again: whole steps would go to and fro across it and open the gaps anew.
    mark: Option<(f64, f64)>,
    /// The last step was held up ([`Solver::is_held_up`]).
    held_up: bool,
    /// Least cost of a closed trajectory so far, and in which iteration it stood by more than [`WAITING`] above the present one.
    waiting: Option<(f64, usize)>,
}

impl Progress {
    fn new(options: &SolverOptions) -> Self {
        let past = [(0.0, 0.0); 16];
        let memory = options.memory.clamp(1, past.len());
        Self {
            damping: options.damping,
            penalty: 0.0,
            past,
            memory,
            first: 0,
            mark: None,
            held_up: false,
            waiting: None,
        }
    }

    /// How many of the past merits a step of this iteration is compared with.
    fn known(&self, iteration: usize, update: Update) -> usize {
        // Parameters held, Newton's steps grow only where a kink throws them to and fro.
        if update == Update::Trajectory { 1 } else { (iteration - self.first + 1).min(self.memory) }
    }
}

/// Where the iteration stands: the present trajectory, with a Newton step from it.
#[derive(Clone, Copy)]
struct Stand {
    cost: f64,
    violation: f64,
    /// What is to move.
    update: Update,
    /// What of the cost is not worth a step.
    little: f64,
    /// No more than that is left to be gained.
    nothing: bool,
}

impl<P: EstimationProblem> Solver<'_, P> {
    /// Iterates from the present trajectory to the minimum, the limit or a standstill.
    pub(super) fn iterate(&mut self) -> Result<SolverOutcome, EstimateError> {
        let mut outcome = SolverOutcome {
            status: Status::IterationLimit,
            cost: f64::NAN,
            violation: f64::NAN,
            record: Vec::with_capacity(self.options.iterations + 1),
            deficiency: 0,
            contradiction: 0.0,
        };
        let mut progress = Progress::new(&self.options);
        self.secant.forget();
        self.closing = false;
        for iteration in 0..=self.options.iterations {
            let last = self.advance(iteration, &mut progress, &mut outcome)?;
            let (cost, violation, line) = (outcome.cost, outcome.violation, outcome.record.last());
            let (step, trials) = line.map_or((0.0, 0), |l| (l.step, l.trials));
            tracing::debug!(iteration, cost, violation, step, trials, "iterated");
            if let Some(status) = last {
                outcome.status = status;
                break;
            }
        }
        self.closing = false;
        let SolverOutcome { status, cost, violation, .. } = outcome;
        tracing::debug!(?status, cost, violation, iterations = outcome.record.len(), "minimised");
        Ok(outcome)
    }

    /// One iteration: Newton steps with ever more damping until one is taken. The status if it is the last.
    fn advance(
        &mut self,
        iteration: usize,
        progress: &mut Progress,
        outcome: &mut SolverOutcome,
    ) -> Result<Option<Status>, EstimateError> {
        let mut trials = 0;
        loop {
            let stand = self.stand(iteration, progress)?;
            let Stand { cost, violation, .. } = stand;
            (outcome.cost, outcome.violation) = (cost, violation);
            (outcome.deficiency, outcome.contradiction) = (self.arrival.deficiency, self.contradiction());
            let expected = self.arrival.expected;
            let line = Iteration { cost, violation, expected, step: 0.0, trials, damping: progress.damping };
            if self.settled(stand, progress) || self.stands_still(iteration, stand, progress) {
                outcome.record.push(line);
                return Ok(Some(Status::Converged));
            }
            let cost = cost + self.marginal.cost(self.problem, &self.now.theta);
            progress.past[iteration % progress.memory] = (cost, violation);
            if iteration == self.options.iterations {
                return Ok(Some(Status::IterationLimit));
            }
            let goal = self.goal(iteration, stand, progress);
            let near = self.gain() <= NEAR * (1.0 + cost.abs());
            let taken = match stand.update {
                Update::Renewed if self.marginal.trusted => self.take_whole(&mut trials),
                _ => self.line_search(goal, &mut trials),
            };
            if let Some(taken) = taken {
                outcome.record.push(Iteration { step: taken.length, trials, ..line });
                progress.held_up = self.is_held_up(cost + goal.penalty * violation, taken);
                self.learn_from_step(iteration, taken.length, near, progress);
                return Ok(None);
            }
            if !self.relent(near, progress) {
                outcome.record.push(Iteration { trials, ..line });
                return Ok(Some(Status::Stalled));
            }
        }
    }

    /// What is done otherwise where no step was found; false if nothing is left to be tried.
    fn relent(&mut self, near: bool, progress: &mut Progress) -> bool {
        if self.secant.active {
            // First without what was learnt.
            self.secant.forget();
            return true;
        }
        // At a kink no step is short enough, and damping makes it no better.
        if self.options.marginal
            && near
            && self.marginal.is_near()
            && !progress.held_up
            && progress.mark.is_none()
        {
            progress.held_up = true;
            return true;
        }
        progress.damping = tighten(progress.damping);
        progress.damping <= DAMPING_MAX
    }

    /// Newton's step from the present trajectory, in all that is to move now.
    fn stand(&mut self, iteration: usize, progress: &mut Progress) -> Result<Stand, EstimateError> {
        let (cost, violation);
        self.closing = progress.mark.is_some();
        (cost, violation, progress.damping) = self.newton_step(progress.damping)?;
        let little = (self.options.tolerance * (1.0 + cost.abs())).max(self.options.significance);
        let update = self.choose_update(cost, little, progress.damping, progress.held_up)?;
        if update == Update::Renewed {
            // The past merits are those of another cost.
            progress.first = iteration;
        }
        let over = progress.held_up && update == Update::Both && self.marginal.is_settled();
        let nothing = over || self.gain() <= little;
        if update == Update::Both && self.options.cautious && !self.options.marginal {
            self.bound_strain(progress.damping)?;
        }
        self.roll_out_linear();
        if update != Update::Both {
            progress.mark = None;
        } else if nothing && self.options.marginal {
            let merit = cost + self.marginal.cost(self.problem, &self.now.theta);
            if progress.mark.is_none() {
                progress.mark = Some((merit, violation));
                if !self.is_closed(violation) {
                    return self.stand(iteration, progress);
                }
            }
        }
        Ok(Stand { cost, violation, update, little, nothing })
    }

    fn is_closed(&self, violation: f64) -> bool {
        violation <= self.options.feasibility * self.records.len() as f64
    }

    /// Whether the gaps are closed and nothing is left to be gained.
    fn settled(&self, stand: Stand, progress: &Progress) -> bool {
        self.is_closed(stand.violation)
            && stand.update != Update::Trajectory
            && (stand.nothing || progress.mark.is_some())
    }

    /// Whether the last iterations have gained as good as nothing, all gaps closed, and this one is as good as the best of them: a step that the
    /// nonmonotone rule has let climb is still on its way down.
    fn stands_still(&self, iteration: usize, stand: Stand, progress: &mut Progress) -> bool {
        let wanted = self.options.cautious && !self.options.marginal && self.options.tolerance >= 0.0;
        if !wanted || !self.is_closed(stand.violation) || stand.update != Update::Both {
            progress.waiting = None;
            return false;
        }
        let waiting = WAITING.max(self.options.significance);
        match progress.waiting {
            Some((least, since)) if stand.cost > least - waiting => {
                iteration - since >= PATIENCE && stand.cost <= least + waiting
            }
            _ => {
                progress.waiting = Some((stand.cost, iteration));
                false
            }
        }
    }

    /// Whether a step from the merit `before` has gained no more than counts, and much less than it promised. A kink of the cost that no quadratic
    /// model knows of (Coulomb friction, where a joint's speed leaves the straight line about zero) ends such a step, and all others after
    /// it: each promises what lies beyond its kinks, the more of them there are the more, and they are as many as there are stages. What is
    /// left to be gained is then what steps do gain. Where the model holds, a step gains what it promised and this says nothing.
    pub(super) fn is_held_up(&mut self, before: f64, taken: Taken) -> bool {
        let counts = WAITING.max(self.options.significance);
        let promised = self.gain();
        self.options.marginal
            && taken.merit.is_some_and(|after| before - after < counts.min(HELD_UP * promised))
    }

    /// What the step is to be measured by, under a penalty for which it is a direction of descent.
    fn goal(&self, iteration: usize, stand: Stand, progress: &mut Progress) -> Goal {
        let Stand { violation, little, nothing, .. } = stand;
        // Old needs fade, so that one bad step does not bend all later ones towards feasibility.
        progress.penalty *= 0.5;
        if violation > 0.0 {
            progress.penalty = progress
                .penalty
                .max(self.arrival.expected / ((1.0 - SHARE) * violation))
                .max(self.slope / ((1.0 - SHARE) * violation));
        }
        let (penalty, memory) = (progress.penalty, progress.memory);
        if let Some((cost, violation_there)) = progress.mark {
            let reference = cost + penalty * violation_there + little;
            return Goal { reference, promised: 0.0, penalty, violation, closing: true };
        }
        let known = progress.known(iteration, stand.update);
        let reference = self.reference(&progress.past[..memory], iteration % memory, known, penalty);
        // Where scoring has nothing to gain any more, gaps remain to be closed: as little may be lost by that.
        let slack = if nothing && self.options.marginal { little } else { 0.0 };
        let promised = self.slope - penalty * violation;
        Goal { reference: reference + slack, promised, penalty, violation, closing: false }
    }

    /// What a step that was taken teaches: of the cost's curvature, if it was `near` the minimum, and of the damping it needed.
    fn learn_from_step(&mut self, iteration: usize, step: f64, near: bool, progress: &mut Progress) {
        // Steps of scoring have the curvature that they want.
        let teaches = self.options.secant && !self.options.marginal;
        if teaches && near {
            let before = &self.sweep.recursion().value.grad;
            self.secant.took(before, &self.arrival.y, step);
        } else {
            self.secant.forget();
        }
        progress.damping = if step >= 0.5 { relax(progress.damping) } else { progress.damping };
        if self.problem.rename(&mut self.now.theta) {
            self.secant.forget();
            self.marginal.forget();
            (progress.first, progress.mark) = (iteration + 1, None);
        }
    }
}

fn relax(damping: f64) -> f64 {
    if damping <= DAMPING_MIN { 0.0 } else { damping / 10.0 }
}
