//! The loop itself, see [`super`].

use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use crate::control::LawPlan;
use crate::identify::IdentifyError;
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::Plan;
use crate::plan::propose::{ConstraintModel, Planner};
use crate::plan::route::{Route, Router};
use crate::reach::cell::joints_fault;
use crate::robot::Arm;
use crate::trajectory::PiecewiseBezier;

mod execution;
mod given;
mod handover;
mod law;
mod planning;
pub(crate) mod session;
mod stopping;
mod waiting;

use law::{Law, standing_controller, trusted_acceleration};
use waiting::Waiting;

use super::cycle::inline::Inline;
use super::cycle::{Cycle, Cycles, Doing, Row};
use super::event::{Event, Observer};
use super::evidence::{Broken, Evidence};
use super::hardware::Hardware;
use super::learn::Learner;
use super::outcome::{Outcome, TaskPhase};
use super::record::{BodyEstimate, Identification, Record};
use super::surroundings::Surroundings;
use super::task::Task;
use super::telling::{self, Telling};

/// Failed exciting plans in a row after which the run goes on to the carrying phase with what it knows. Each takes a period
/// while the arm comes to rest; one alone may fail for want of time.
const EXCITE_TRIES: usize = 3;
/// A carrying plan that ends within this of the one before has not moved on, rad. Far below what plans move; a larger one
/// takes careful plans in tight places for stalled ones.
const STALLED_RAD: f64 = 0.02;

/// Why a run ended that was asked to.
const ASKED: &str = "asked to stop: the arm came to rest along its plan";
/// The same, where nobody asked.
const ENDED: &str = "the control thread has ended";

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Name of the planning method, one of [`METHODS`].
    pub method: String,
    /// Draws the truth, the noise and the planner's random numbers.
    pub seed: u64,
    /// Whether a plan must be ready within t_p on the clock, as on a real arm. If not, the planner's effort is limited by
    /// counts alone, and the run is the same on every machine.
    pub timed: bool,
}

/// The planning methods: excite, learn and carry; or carry at once, with no more than the prior (and physics) tells of
/// what is held.
pub const METHODS: [&str; 2] = ["ours", CONSERVATIVE];
/// See [`METHODS`].
const CONSERVATIVE: &str = "conservative";

/// A run that could not be started or carried on.
#[derive(Debug, Error)]
pub enum RunError {
    /// A method that does not exist.
    #[error("method '{0}': expected one of {METHODS:?}")]
    Method(String),
    /// The arm's file states what no law of the loop is proven for.
    #[error("{0}")]
    Unproven(String),
    /// The identifier refuses the prior or a measurement.
    #[error("identifier: {0}")]
    Identify(#[from] IdentifyError),
}

/// Does the task with an arm that stands at its start, to the end. All of it happens in this thread: while a plan is made, the arm waits for its next
/// tick. That is for simulators; an arm that time does not wait for is run by [`run_realtime`](super::run_realtime).
///
/// # Errors
/// [`RunError`] for an unknown method or a prior that the identifier refuses. Everything that happens to the arm is an
/// [`Outcome`] instead.
pub fn run<H: Hardware>(
    task: &Task,
    hardware: &mut H,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    telling::run_span(task, options).in_scope(|| run_within(task, hardware, options, observer))
}

/// The same within the caller's span, who has more to tell of the run.
pub(crate) fn run_within<H: Hardware>(
    task: &Task,
    hardware: &mut H,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    let beginning = Beginning::new(task, options, observer)?;
    let cycles = Inline::new(beginning.cycle(hardware)?);
    Ok(beginning.run(Box::new(cycles), options, observer))
}

/// All that a run needs before its first tick.
pub(super) struct Beginning {
    task: Arc<Task>,
    pub(super) robot: Arc<Arm>,
    /// What may be true before the first measurement.
    prior: ParameterSet,
    law: Law,
    learner: Option<Learner>,
    clock: Instant,
}

impl Beginning {
    pub(super) fn new(
        task: &Task,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, RunError> {
        if !METHODS.contains(&options.method.as_str()) {
            return Err(RunError::Method(options.method.clone()));
        }
        let law = Law::of(&task.robot);
        if law == Law::Momentum && task.planner != ConstraintModel::Certifier {
            let name = &task.robot.name;
            let fault =
                "a planner with sets over all end points is there for arms whose `timing` is zero alone";
            return Err(RunError::Unproven(format!("robot '{name}': {fault}")));
        }
        let too_many = joints_fault(&task.robot.name, task.robot.dof());
        if let Some(fault) = too_many.or_else(|| swings_while_weighed(task)) {
            return Err(RunError::Unproven(fault));
        }
        let clock = Instant::now();
        let robot = Arc::new(task.robot.clone());
        Telling(Box::new(&mut *observer)).event(&Event::RunStarted {
            scenario: task.name.clone(),
            method: options.method.clone(),
            seed: options.seed,
            robot: robot.name.clone(),
        });
        telling::tell_world(&robot, &task.scene);
        let bound = trusted_acceleration(&robot);
        let mut prior = task.prior_set().map_err(IdentifyError::from)?;
        let mut learner =
            (task.held.as_ref()).map(|held| Learner::new(robot.clone(), held, &prior, bound)).transpose()?;
        if options.method == CONSERVATIVE
            && let Some(unused) = learner.take()
        {
            prior = unused.set().clone();
        }
        Ok(Self { task: Arc::new(task.clone()), robot, prior, law, learner, clock })
    }

    /// The control cycle of this run.
    pub(super) fn cycle<H: Hardware>(&self, hardware: H) -> Result<Cycle<H>, RunError> {
        if self.robot.timing().has_motor_loops() && !hardware.has_motor_loops() {
            return Err(RunError::Unproven(format!(
                "robot '{}': its file states loops in its motors (`timing.motor_loop_age_max_s`), but this driver does not reach them: expected one with `Hardware::has_motor_loops` and `Hardware::command_loops`",
                self.robot.name
            )));
        }
        let set = self.learner.as_ref().map_or(&self.prior, Learner::set);
        let controller = standing_controller(self.law, &self.robot, set, &self.task.start);
        Ok(Cycle::new(hardware, controller, (self.robot.clone(), &self.prior), &self.task.start))
    }

    /// The run itself.
    pub(super) fn run<'a>(
        self,
        cycles: Box<dyn Cycles + 'a>,
        options: &RunOptions,
        observer: &'a mut dyn Observer,
    ) -> Record {
        let clock = self.clock;
        let mut runner = self.runner(cycles, options, Box::new(observer));
        let (outcome, reason) = runner.drive();
        runner.finish(outcome, reason, clock)
    }

    fn runner<'a>(
        self,
        cycles: Box<dyn Cycles + 'a>,
        options: &RunOptions,
        observer: Box<dyn Observer + 'a>,
    ) -> Runner<'a> {
        let mut task = self.task;
        let path = task.path.clone();
        if let Some(path) = &path {
            // The planner leads to where the path starts.
            Arc::make_mut(&mut task).goal = path.start();
        }
        let mut runner = Runner {
            path,
            planner: Planner::with_constraints(task.planner),
            router: Router::default(),
            active: None,
            pending: None,
            handovers: 0,
            excited: 0,
            earlier: 0,
            failures: 0,
            stalls: 0,
            waited: 0,
            waiting: None,
            surroundings: Surroundings::new(&task.scene, cycles.time()),
            record: Record::new(),
            task,
            robot: self.robot,
            law: self.law,
            cycles,
            prior: self.prior,
            learner: self.learner,
            observer: Box::new(Telling(observer)),
            seed: options.seed,
            timed: options.timed,
        };
        if runner.learner.is_none() {
            runner.cycles.claim(&runner.prior);
        }
        runner
    }
}

/// A plan under execution.
struct Active {
    /// Its number.
    serial: u64,
    plan: Arc<Plan>,
    phase: TaskPhase,
    /// Whether it only lets the arm go on resting, with a tube that narrows.
    settles: bool,
    /// What its proof and its controller have of it.
    prepared: LawPlan,
    /// Ticks executed so far; under the momentum law the control periods of its clock that have begun.
    ticks: u64,
    e_radius: Vec<f64>,
}

impl Active {
    /// Time on the plan's curve after so many ticks, s; exactly the duration from its end on.
    fn time_at(&self, ticks: u64) -> f64 {
        self.plan.tube.time_of_tick(self.plan.curve.duration_s(), ticks)
    }
}

/// A plan that has been handed over and has not taken over yet.
struct Pending {
    serial: u64,
    plan: Arc<Plan>,
    prepared: LawPlan,
    phase: TaskPhase,
}

struct Runner<'a> {
    task: Arc<Task>,
    robot: Arc<Arm>,
    /// The law that plans are made for.
    law: Law,
    cycles: Box<dyn Cycles + 'a>,
    /// What may be true before the first measurement.
    prior: ParameterSet,
    /// Where something is held.
    learner: Option<Learner>,
    observer: Box<dyn Observer + 'a>,
    /// The path that the task gives, in the turns of the joints in which the arm is.
    path: Option<PiecewiseBezier>,
    planner: Planner,
    router: Router,
    active: Option<Active>,
    pending: Option<Pending>,
    /// Plans that were handed over.
    handovers: u64,
    /// Exciting plans that were certified.
    excited: usize,
    /// Plans that were tried before the present errand.
    earlier: usize,
    /// Failures in a row.
    failures: usize,
    /// Carrying plans in a row that ended where the one before did.
    stalls: usize,
    /// Plans that failed because of obstacles that move, and those of them in a row.
    waited: usize,
    waiting: Option<Waiting>,
    surroundings: Surroundings,
    record: Record,
    seed: u64,
    timed: bool,
}

impl Runner<'_> {
    /// Planning periods until the end; returns the outcome as far as the runner can know it.
    fn drive(&mut self) -> (Outcome, Option<String>) {
        self.weigh_payload();
        if self.purpose() == Some(TaskPhase::Carry)
            && let Err(reason) = self.look_for_a_way()
        {
            return (Outcome::SafeStop, Some(reason));
        }
        self.plan_until(&Self::arrived)
    }

    /// Planning periods until something is done, at the latest when a plan or an assumption fails.
    fn plan_until(&mut self, done: &dyn Fn(&Self) -> bool) -> (Outcome, Option<String>) {
        loop {
            self.catch_up();
            let begun = self.cycles.begins();
            if let Err(broken) = self.learn() {
                self.record.breaks([*broken]);
            }
            self.look_around();
            if !self.record.broken.is_empty() {
                self.brake();
                self.examine();
                return (Outcome::AssumptionBroken, Some(self.record.broken[0].text.clone()));
            }
            if done(self) {
                return (Outcome::Success, None);
            }
            if self.observer.asks_to_stop() {
                self.brake();
                return (Outcome::SafeStop, Some(ASKED.to_owned()));
            }
            let next = self.purpose().map(|phase| (phase, self.make_plan(phase, begun)));
            if let Some((phase, None)) = next
                && let Some(reason) = self.count_failure(phase)
            {
                self.brake();
                return (Outcome::SafeStop, Some(reason));
            }
            if self.tried() - self.waited > self.task.timing.max_plans {
                let reason = format!("the goal was not reached within {} plans", self.task.timing.max_plans);
                self.brake();
                return (Outcome::SafeStop, Some(reason));
            }
            if let Some((phase, Some(plan))) = next {
                if let Some(reason) = self.too_wide(&plan.0) {
                    self.brake();
                    return (Outcome::SafeStop, Some(reason));
                }
                self.hand_over(plan, phase);
            }
            self.pass_period();
            if self.cycles.has_ended() {
                return (Outcome::SafeStop, Some(ENDED.to_owned()));
            }
        }
    }

    /// Plans that were tried.
    fn tried(&self) -> usize {
        self.record.attempts.len() - self.earlier
    }

    fn planning_ticks(&self) -> u64 {
        (self.task.timing.t_p_s / self.robot.gains().period_s).round() as u64
    }

    /// Ticks of the running plan after which the next one takes over: those of the present planning period are executed first.
    fn switch_ticks(&self, active: &Active) -> u64 {
        active.ticks + self.planning_ticks()
    }

    /// Ticks until the trajectory has ended: no fewer, lest it be left before it rests.
    fn plan_ticks(&self, active: &Active) -> u64 {
        (active.plan.curve.duration_s() / self.robot.gains().period_s).ceil() as u64
    }

    /// What the next plan is for; `None` while the running one is to be executed further.
    fn purpose(&self) -> Option<TaskPhase> {
        let exciting = self.learner.is_some()
            && self.excited < self.task.timing.exciting_plans
            && self.failures < EXCITE_TRIES;
        if exciting {
            return Some(TaskPhase::Excite);
        }
        match &self.active {
            // The last exciting trajectory runs to its end; the next plan starts there.
            Some(active)
                if active.phase == TaskPhase::Excite
                    && active.ticks + 2 * self.planning_ticks() <= self.plan_ticks(active) =>
            {
                None
            }
            active if self.path.is_some() => self.purpose_with_path(active.as_ref()),
            Some(active) if active.phase == TaskPhase::Carry && self.ends_at_goal(active) => None,
            _ => Some(TaskPhase::Carry),
        }
    }

    /// Whether the running plan is done and was the last one.
    fn arrived(&self) -> bool {
        self.active.as_ref().is_some_and(|a| {
            let last = match a.phase {
                TaskPhase::Excite => false,
                TaskPhase::Carry => self.path.is_none() && self.ends_at_goal(a),
                TaskPhase::Path => true,
            };
            last && a.ticks >= self.plan_ticks(a)
        })
    }

    /// Whether a plan ends within the goal's tolerance, whatever the tracking error.
    fn ends_at_goal(&self, active: &Active) -> bool {
        let Some(goal) = self.router.route().and_then(Route::goal) else { return false };
        let end = active.plan.curve.end();
        (0..end.len()).all(|j| {
            (end[j] - goal[j]).abs() + active.plan.tube.rest_radius(j) <= self.task.goal_tolerance_rad[j]
        })
    }

    /// Why a plan is not begun though it is proven: tracking errors beyond the goal's tolerance. Along a chain of plans their bounds never get smaller, as each
    /// plan's has to hold what the one before leaves it ([`crate::certify::switch`]), so no later plan would reach the goal either.
    fn too_wide(&self, plan: &Plan) -> Option<String> {
        // Those of the momentum law do.
        let tube = plan.tube.energy()?;
        let tolerance = &self.task.goal_tolerance_rad;
        let wide = |j: &usize| tube.e_radius(*j) > tolerance[*j];
        let j = (0..tolerance.len()).find(wide).filter(|_| self.path.is_none())?;
        Some(format!(
            "the tracking error of joint '{}' may be {:.2e} rad, expected at most its goal_tolerance_rad of {:e}: no plan would reach the goal, so \
             none is begun; widen that, or find gains whose tube is smaller (`surelift robot tune` with a smaller --growth-mm)",
            self.robot.joints[j].name,
            tube.e_radius(j),
            tolerance[j]
        ))
    }

    /// After the arm has stopped for another reason: whether the data say, too, what is wrong.
    fn examine(&mut self) {
        let t = self.cycles.time();
        let silent = self.record.broken.iter().all(|broken| broken.evidence != Evidence::Data);
        if let Some(learner) = self.learner.as_mut().filter(|_| silent)
            && let Err(broken) = learner.update(t)
        {
            self.record.breaks([*broken]);
        }
    }

    /// Hands the measurements so far to the identifier. An error is the proof that an assumption is broken.
    fn learn(&mut self) -> Result<(), Box<Broken>> {
        let Some(learner) = &mut self.learner else { return Ok(()) };
        let update = learner.update(self.cycles.time())?;
        self.cycles.claim(&update.set);
        let body = update.set.body(self.robot.end_effector());
        let (nominal, lower, upper) = (update.nominal.to_vec(), body.lower().to_vec(), body.upper().to_vec());
        let known = BodyEstimate { nominal, lower, upper };
        self.observer.event(&Event::Identified {
            t: self.cycles.time(),
            mass_lower: known.lower[0],
            mass_upper: known.upper[0],
            half_widths: (0..INERTIAL).map(|i| known.half_width(i)).collect(),
            update_ms: update.update_ms,
            condition_number: Some(update.condition_number).filter(|c| c.is_finite()),
        });
        self.record.identification.push(Identification {
            t: self.cycles.time(),
            known,
            condition_number: Some(update.condition_number).filter(|c| c.is_finite()),
            update_ms: update.update_ms,
        });
        Ok(())
    }

    fn finish(&mut self, outcome: Outcome, reason: Option<String>, clock: Instant) -> Record {
        self.end_wait();
        let record = &mut self.record;
        record.look_at_torques(&self.robot);
        record.most_probable = self.learner.as_ref().and_then(|l| l.most_probable(&record.log));
        record.set_proof = self.learner.as_ref().map(Learner::proof);
        let goal = || self.router.route().and_then(Route::goal).unwrap_or(&self.task.goal).to_vec();
        record.goal = self.path.as_ref().map_or_else(goal, PiecewiseBezier::end);
        (record.outcome, record.reason) = (outcome, reason);
        (record.duration_s, record.wall_s) = (self.cycles.time(), clock.elapsed().as_secs_f64());
        std::mem::replace(record, Record::new())
    }
}

/// Why what is held cannot be weighed at rest: the links of an arm on springs may swing while its encoders stand still.
fn swings_while_weighed(task: &Task) -> Option<String> {
    let weighs = task.held.as_ref().is_some_and(|held| held.identify.weigh_s > 0.0);
    let name = &task.robot.name;
    (weighs && task.robot.has_springs()).then(|| {
        format!(
            "robot '{name}': its links hang on springs, and may swing while its encoders stand still: weighing at rest (`identify.weigh_s`) proves nothing; leave it out"
        )
    })
}
