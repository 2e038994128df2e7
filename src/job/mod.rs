//! A job in a program: go somewhere, take something unknown, learn what it is, carry it, let go, and again.
//!
//! A stack implements [`Hardware`]; a [`Job`] does the rest. Every motion is planned, proven and executed as in the loop ([`crate::horizon`]), and each plan is
//! proven to follow the one before. Between two calls the arm rests under the law, at the end of its last plan.
//!
//! ```no_run
//! use surelift::prelude::*;
//!
//! fn sort(arm: impl Hardware, bins: &[Vec<f64>]) -> Result<(), Box<dyn std::error::Error>> {
//!     let robot = robot::load("kinova_gen3_2f85")?;
//!     let scene = Scene::default().with_box("table", [0.35, 0.0, -0.17], [1.5, 1.8, 0.04]);
//!     // Anything of at most 1.5 kg, all of it within this box in the tool frame.
//!     let unknown = GraspPrior::within(1.5, [0.0, 0.0, 0.12], [0.06, 0.12, 0.06]);
//!     let mut job = Job::new(robot, scene, arm)?;
//!     for bin in bins {
//!         job.move_to(&[-1.5, -0.4, 3.14, -1.8, 0.0, 0.1, 1.57])?;
//!         let mut held = job.grasp(&unknown)?;
//!         let payload = held.learn(Until::MassWithinKg(0.15))?;
//!         println!("{payload}");
//!         held.carry_to(bin)?;
//!         held.release()?;
//!     }
//!     println!("{}", job.finish());
//!     Ok(())
//! }
//! ```
//!
//! # Order
//! While something is held, the job is borrowed by [`Held`]: what needs an empty hand does not compile then.
//!
//! ```compile_fail,E0499
//! # fn wrong(job: &mut surelift::job::Job<'_>, prior: &surelift::job::GraspPrior) -> Result<(), surelift::job::JobError> {
//! let held = job.grasp(prior)?;
//! job.move_to(&[0.0; 7])?; // the hand is full
//! held.release()
//! # }
//! ```
//!
//! A `Held` that is dropped has not let go of anything: the hand stays full, calls that need it empty are errors, and [`Job::held`] gives it back.
//!
//! # What is proven, and where the chain of proofs begins anew
//! A proof holds for every set of parameters that it names. When the hand takes or lets go of something, the true parameters leave that set. So the law does not hold
//! the arm at that time: its own drives do ([`Hardware::hold`]), as before the first plan of any run. Where it stands is read from the encoders, and the next
//! plan is proven from rest there. That drives hold a standing arm is assumed, as it is at the start of every run.
//!
//! What touches what while the hand closes or opens is not proven: contact is what certificates exclude. Neither is a motion into contact: a thing is let go
//! of above its place. What was let go of is no obstacle until [`Job::set_scene`] says so.

mod check;
mod error;
mod grasp;
mod held;
mod options;
mod payload;
mod report;

use crate::horizon::{Hardware, Observer, Record, RunOptions, Session, Task};
use crate::plan::propose::ConstraintModel;
use crate::robot::{Arm, Scene};

pub use error::JobError;
pub use grasp::GraspPrior;
pub use held::{Held, Until};
pub use options::JobOptions;
pub use payload::PayloadBounds;
pub use report::{JobReport, JobStep};

use report::Steps;

/// Name of the method: what is held is learnt.
const METHOD: &str = "ours";

/// A robot, its surroundings and its arm, and what is done with them one call after the other.
pub struct Job<'a> {
    /// To which job an event belongs.
    span: tracing::Span,
    session: Session<'a>,
    /// With an empty hand.
    robot: Arm,
    options: JobOptions,
    /// What is in the hand.
    grasped: Option<GraspPrior>,
    steps: Steps,
    /// Of the times before the present one between two grasps.
    records: Vec<Record>,
}

impl<'a> Job<'a> {
    /// An arm that stands, its hand empty, held by its own drives. Its control cycle runs in the calling thread: that is for simulators, whose time waits. An `&mut` arm will
    /// do, too.
    ///
    /// # Errors
    /// [`JobError::Input`] for a scene that cannot be kept clear of; [`JobError::Broken`] or [`JobError::Stopped`] for an arm that cannot be read.
    pub fn new<H: Hardware + 'a>(robot: Arm, scene: Scene, arm: H) -> Result<Self, JobError> {
        let options = JobOptions::of(&robot);
        Self::begin((robot, scene), arm, options, ())
    }

    /// [`Job::new`] with settings of one's own, and somebody who watches.
    ///
    /// # Errors
    /// As there, and [`JobError::Input`] for a setting that makes no sense.
    pub fn begin<H: Hardware + 'a>(
        (robot, scene): (Arm, Scene),
        arm: H,
        options: JobOptions,
        observer: impl Observer + 'a,
    ) -> Result<Self, JobError> {
        let (task, run) = first_task(&robot, scene, &options)?;
        let span = span_of(&task, &run);
        let session = span.in_scope(|| Session::begin(&task, arm, &run, Box::new(observer)));
        Self::with((session.map_err(error::of_run)?, span), robot, options)
    }

    /// [`Job::begin`] for an arm that time does not wait for: the control cycle has a thread of its own, and holds the arm while the caller does something else.
    /// The thread ends with the job, once the arm rests.
    ///
    /// # Errors
    /// As there.
    pub fn begin_realtime<H: Hardware + Send + 'static>(
        (robot, scene): (Arm, Scene),
        arm: H,
        options: JobOptions,
        observer: impl Observer + 'a,
    ) -> Result<Self, JobError> {
        let (task, run) = first_task(&robot, scene, &options)?;
        let span = span_of(&task, &run);
        let session = span.in_scope(|| Session::begin_realtime(&task, arm, &run, Box::new(observer)));
        Self::with((session.map_err(error::of_run)?, span), robot, options)
    }

    fn with(
        (mut session, span): (Session<'a>, tracing::Span),
        robot: Arm,
        options: JobOptions,
    ) -> Result<Self, JobError> {
        span.in_scope(|| session.stand(0.0))?;
        let (steps, records) = (Steps::new(span.clone()), Vec::new());
        Ok(Self { span, session, robot, options, grasped: None, steps, records })
    }

    /// Goes to a configuration (rad, m; one number a joint) with an empty hand, and rests there.
    ///
    /// # Errors
    /// [`JobError::Input`] for a goal that is none; [`JobError::NotProven`] where no way there could be proven: the arm then rests where it got to, and the job goes on;
    /// [`JobError::Broken`], [`JobError::Stopped`]; [`JobError::Order`] while something is held.
    pub fn move_to(&mut self, goal: &[f64]) -> Result<(), JobError> {
        self.empty_handed("move_to")?;
        self.go("move_to", goal)
    }

    /// Goes to a configuration with whatever is held.
    fn go(&mut self, what: &'static str, goal: &[f64]) -> Result<(), JobError> {
        check::configuration("goal", &self.robot, goal)?;
        self.step(what, |session| session.go(goal).map_err(JobError::from))
    }

    /// Takes something: the hand closes ([`Hardware::gripper`]) while the arm's own drives hold it. From then on everything is proven for whatever `prior` allows.
    ///
    /// # Errors
    /// [`JobError::Input`] names what is wrong with the prior, or the robot if its links hang on springs, before the hand closes; else as [`Job::move_to`].
    pub fn grasp(&mut self, prior: &GraspPrior) -> Result<Held<'_, 'a>, JobError> {
        self.empty_handed("grasp")?;
        check::rigid(&self.robot)?;
        let (robot, held) = prior.attached_to(&self.robot, &self.options)?;
        let task = Task { robot, held: Some(held), ..self.session.task().clone() };
        // What learning refuses is refused before anything happens.
        crate::horizon::first_set(&task).map_err(|e| JobError::input("prior", e))?;
        self.hand("grasp", true, task)?;
        self.grasped = Some(prior.clone());
        Ok(Held::new(self))
    }

    /// What is held, if anything is.
    pub fn held(&mut self) -> Option<Held<'_, 'a>> {
        self.grasped.is_some().then(|| Held::new(self))
    }

    /// The hand opens or closes, and something else is in it from then on.
    fn hand(&mut self, what: &'static str, closes: bool, task: Task) -> Result<(), JobError> {
        let seconds = self.options.gripper_s;
        let keep_log = self.options.keep_log;
        let record = self.step(what, |session| {
            session.stand(0.0)?;
            session.gripper(closes);
            session.stand(seconds)?;
            let start = session.task().start.clone();
            session.change(Task { start, ..task }).map_err(error::of_run)
        })?;
        self.steps.absorb(&record);
        self.records.push(Record { log: if keep_log { record.log } else { Vec::new() }, ..record });
        Ok(())
    }

    /// The obstacles are these from now on, as after something was put down and the hand has left it. One that moves is where the scene says now.
    ///
    /// # Errors
    /// [`JobError::Input`] names an obstacle whose numbers are none.
    pub fn set_scene(&mut self, scene: Scene) -> Result<(), JobError> {
        check::scene(&scene)?;
        self.session.set_scene(scene);
        Ok(())
    }

    /// The obstacles.
    pub fn scene(&self) -> &Scene {
        &self.session.task().scene
    }

    /// What has been done so far.
    pub fn report(&self) -> JobReport {
        self.steps.report(&self.robot.name, self.session.record(), self.session.time())
    }

    /// All that was recorded, in order: one record for each time between two grasps, with the plans that were executed and their proofs; the last one is still being
    /// written.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().chain([self.session.record()])
    }

    /// The end of the job as [`Job::finish`], and all its records ([`Job::records`]).
    pub fn into_records(self) -> Vec<Record> {
        let mut records = self.records;
        records.push(self.span.in_scope(|| self.session.close()));
        records
    }

    /// The end of the job: the arm rests, and its own drives have to hold it from now on. Waits until it does. The report of an arm that time does not wait for says how well its
    /// ticks kept time.
    pub fn finish(self) -> JobReport {
        let report = self.report();
        let record = self.span.in_scope(|| self.session.close());
        JobReport { ticks: record.ticks.map(|times| times.summary()), ..report }
    }

    /// Does something and writes it down.
    fn step<T>(
        &mut self,
        what: &'static str,
        act: impl FnOnce(&mut Session<'a>) -> Result<T, JobError>,
    ) -> Result<T, JobError> {
        let (from_s, before) = (self.session.time(), report::plans(self.session.record()));
        let _inside = self.span.clone().entered();
        let done = act(&mut self.session);
        let now = report::plans(self.session.record());
        let (t, error) = (self.session.time(), done.as_ref().err().map(tracing::field::display));
        tracing::info!(step = what, from_s, t, error, "step ended");
        self.steps.note(what, (from_s, self.session.time()), (before, now), done.as_ref().err());
        done
    }

    fn empty_handed(&self, what: &'static str) -> Result<(), JobError> {
        match &self.grasped {
            Some(prior) => {
                Err(JobError::Order { what, state: format!("'{}' is held; release it first", prior.name()) })
            }
            None => Ok(()),
        }
    }
}

/// The span of a job, whatever goes on around it.
fn span_of(task: &Task, run: &RunOptions) -> tracing::Span {
    tracing::info_span!(parent: None, "job", robot = &*task.robot.name, seed = run.seed)
}

/// A task without a goal yet, and how it is run.
fn first_task(robot: &Arm, scene: Scene, options: &JobOptions) -> Result<(Task, RunOptions), JobError> {
    check::scene(&scene)?;
    options.check(robot)?;
    let somewhere = vec![0.0; robot.dof()];
    let task = Task {
        name: "job".to_owned(),
        description: String::new(),
        robot: robot.clone(),
        held: None,
        start: somewhere.clone(),
        goal: somewhere,
        goal_tolerance_rad: options.goal_tolerance_rad.clone(),
        growth_max_m: None,
        scene,
        timing: crate::horizon::Timing { exciting_plans: 0, ..options.timing },
        carry: crate::horizon::Carry { range_rad: options.carry_range_rad.clone() },
        path: None,
        placing: None,
        planner: ConstraintModel::default(),
    };
    Ok((task, RunOptions { method: METHOD.to_owned(), seed: options.seed, timed: options.timed }))
}
