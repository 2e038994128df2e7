//! A run in several calls ([`crate::job`]): one errand after the other over one control cycle.
//!
//! Between two errands the arm rests at the end of its last plan, where the law holds it; the next plan is proven to follow that one. Where the hand takes or
//! lets go of something, the parameters change, and no proof for the ones before says anything of the ones after. There the chain of proofs ends: the arm is
//! left to its own drives, where it stands is read, and the next plan starts from rest as the first one of any run does.

use std::thread::JoinHandle;
use std::time::Instant;

use super::super::cycle::Anew;
use super::super::realtime;
use super::super::tick_times::TickTimes;
use super::*;
use crate::robot::Scene;

/// For so long the arm must have stood when it is read where, s.
const READ_S: f64 = 0.05;
/// Searches for a way that is taken before a goal is given up, each with other random numbers.
const TRIES: u64 = 3;
/// Control periods after which an arm that ought to be held by its own drives is taken for one that is not.
const LOST_TICKS: u64 = 10_000;

/// Why an errand ended before its end. The arm rests, or has been stopped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    /// An assumption does not hold.
    Broken(Box<Broken>),
    /// What was asked for could not be proven.
    NotProven(String),
    /// Somebody asked, or the control thread has ended.
    Stopped(String),
}

/// Rest, drives, weighing, ways and lessons, in any order.
pub(crate) struct Session<'a> {
    runner: Runner<'a>,
    thread: Option<JoinHandle<TickTimes>>,
    clock: Instant,
}

impl<'a> Session<'a> {
    /// An arm that stands, held by its own drives. With `run`, ticks happen when they are asked for, in this thread.
    ///
    /// # Errors
    /// As [`super::run`].
    pub(crate) fn begin<H: Hardware + 'a>(
        task: &Task,
        arm: H,
        options: &RunOptions,
        mut observer: Box<dyn Observer + 'a>,
    ) -> Result<Self, RunError> {
        let beginning = Beginning::new(task, options, &mut *observer)?;
        let cycles: Box<dyn Cycles + 'a> = Box::new(Inline::new(beginning.cycle(arm)?));
        Ok(Self::of(beginning, cycles, options, observer, None))
    }

    /// The same with the control cycle in a thread of its own, which ends with the session, once the arm rests.
    ///
    /// # Errors
    /// As [`super::run`].
    pub(crate) fn begin_realtime<H: Hardware + Send + 'static>(
        task: &Task,
        arm: H,
        options: &RunOptions,
        mut observer: Box<dyn Observer + 'a>,
    ) -> Result<Self, RunError> {
        let options = RunOptions { timed: true, ..options.clone() };
        let beginning = Beginning::new(task, &options, &mut *observer)?;
        let (remote, thread) = realtime::spawn(beginning.cycle(arm)?, &beginning.robot);
        Ok(Self::of(beginning, remote, &options, observer, Some(thread)))
    }

    fn of(
        beginning: Beginning,
        cycles: Box<dyn Cycles + 'a>,
        options: &RunOptions,
        observer: Box<dyn Observer + 'a>,
        thread: Option<JoinHandle<TickTimes>>,
    ) -> Self {
        let clock = beginning.clock;
        Self { runner: beginning.runner(cycles, options, observer), thread, clock }
    }

    /// Time on the hardware's clock, s.
    pub(crate) fn time(&self) -> f64 {
        self.runner.cycles.time()
    }

    /// What has been recorded since the hand took or let go of something.
    pub(crate) fn record(&self) -> &Record {
        &self.runner.record
    }

    /// What is possible now.
    pub(crate) fn set(&self) -> &ParameterSet {
        self.runner.set()
    }

    /// What the session is about.
    pub(crate) fn task(&self) -> &Task {
        &self.runner.task
    }

    /// The obstacles are these from now on.
    pub(crate) fn set_scene(&mut self, scene: Scene) {
        let runner = &mut self.runner;
        runner.surroundings = Surroundings::new(&scene, runner.cycles.time());
        Arc::make_mut(&mut runner.task).scene = scene;
    }

    /// Goes to a configuration and rests there.
    pub(crate) fn go(&mut self, goal: &[f64]) -> Result<(), Ending> {
        let runner = &mut self.runner;
        let mut last = Ok(());
        for attempt in 0..TRIES {
            runner.begin_errand()?;
            Arc::make_mut(&mut runner.task).goal = goal.to_vec();
            runner.seed = runner.seed.wrapping_add(u64::from(attempt > 0));
            runner.look_for_a_way().map_err(Ending::NotProven)?;
            runner.follow_up();
            let ended = runner.plan_until(&Runner::arrived);
            last = runner.ending(ended);
            if !matches!(last, Err(Ending::NotProven(_))) {
                break;
            }
        }
        last
    }

    /// Moves so as to learn what is held, by at most so many motions, until it is `enough`. Whether it is; the arm rests.
    pub(crate) fn learn(
        &mut self,
        most: usize,
        enough: &dyn Fn(&ParameterSet) -> bool,
    ) -> Result<bool, Ending> {
        let runner = &mut self.runner;
        runner.begin_errand()?;
        if enough(runner.set()) {
            return Ok(true);
        }
        let target = runner.excited + most;
        Arc::make_mut(&mut runner.task).timing.exciting_plans = target;
        let ended = runner.plan_until(&|runner| {
            enough(runner.set()) || runner.excited >= target || runner.failures >= EXCITE_TRIES
        });
        runner.brake();
        runner.ending(ended)?;
        if let Err(broken) = runner.learn() {
            runner.record.breaks([*broken]);
        }
        runner.unbroken()?;
        let enough = enough(runner.set());
        match runner.failures >= EXCITE_TRIES && !enough {
            true => Err(Ending::NotProven(runner.last_refusal())),
            false => Ok(enough),
        }
    }

    /// The arm stands for so long, held by its own drives, while the torques that hold it are measured.
    pub(crate) fn weigh(&mut self, seconds: f64) -> Result<(), Ending> {
        self.stand(0.0)?;
        let runner = &mut self.runner;
        let t = runner.cycles.time();
        if let Some(learner) = &mut runner.learner
            && let Err(broken) = learner.stands(t)
        {
            runner.record.breaks([*broken]);
        }
        let ticks = (seconds / runner.robot.gains().period_s).round() as u64;
        runner.stand(ticks, true);
        if let Err(broken) = runner.learn() {
            runner.record.breaks([*broken]);
        }
        runner.unbroken()
    }

    /// The arm, which rests, is left to its own drives, for so long and a little longer. The next plan starts from where it is read to stand.
    pub(crate) fn stand(&mut self, seconds: f64) -> Result<(), Ending> {
        let runner = &mut self.runner;
        runner.begin_errand()?;
        runner.active = None;
        runner.learner.iter_mut().for_each(Learner::pause);
        runner.renew_controller();
        runner.read_where_it_stands(seconds)
    }

    /// [`Hardware::gripper`], while the arm stands.
    pub(crate) fn gripper(&mut self, closes: bool) {
        self.runner.cycles.gripper(closes);
    }

    /// The hand holds something else than before, while the arm stands. Gives back what was recorded until now.
    ///
    /// # Errors
    /// As [`super::run`]; nothing has changed then.
    pub(crate) fn change(&mut self, task: Task) -> Result<Record, RunError> {
        let runner = &mut self.runner;
        let robot = Arc::new(task.robot.clone());
        let prior = task.prior_set().map_err(IdentifyError::from)?;
        let bound = trusted_acceleration(&robot);
        let law = Law::of(&robot);
        let learner = task.held.as_ref().map(|held| Learner::new(robot.clone(), held, &prior, bound));
        let learner = learner.transpose()?;
        let record = runner.finish(Outcome::Success, None, self.clock);
        (runner.task, runner.robot, runner.law) = (Arc::new(task), robot, law);
        (runner.prior, runner.learner) = (prior, learner);
        (runner.excited, runner.earlier) = (0, 0);
        runner.renew_controller();
        let set = runner.set().clone();
        runner.cycles.claim(&set);
        Ok(record)
    }

    /// The end: what was recorded since the hand took or let go of something, and how well ticks kept time in a thread of their own.
    pub(crate) fn close(self) -> Record {
        let Self { mut runner, thread, clock } = self;
        let mut record = runner.finish(Outcome::Success, None, clock);
        // Letting go of the rings ends the thread.
        drop(runner);
        record.ticks = thread.and_then(|thread| thread.join().ok());
        record
    }
}

impl Runner<'_> {
    /// Looks at ticks that have been while nobody followed them: the arm rested, and somebody was busy. Where there were too many of them the latest are lost, so the
    /// next one is waited for.
    fn follow_up(&mut self) {
        let mut next = self.cycles.next_waiting();
        let busy = next.is_some();
        while let Some(row) = next {
            self.hear_at_rest(row);
            next = self.cycles.next_waiting();
        }
        if busy && let Some(row) = self.cycles.next() {
            self.hear_at_rest(row);
        }
    }

    /// What drives hold is heard only while it is weighed.
    fn hear_at_rest(&mut self, row: Row) {
        let heard = row.doing != Doing::Standing;
        self.hear(row, heard);
    }

    /// Looks at what has been meanwhile, and forgets what the errand before needed.
    fn begin_errand(&mut self) -> Result<(), Ending> {
        self.follow_up();
        self.unbroken()?;
        self.end_wait();
        self.router.forget();
        (self.failures, self.stalls, self.waited) = (0, 0, 0);
        self.earlier = self.record.attempts.len();
        let excited = self.excited;
        Arc::make_mut(&mut self.task).timing.exciting_plans = excited;
        Ok(())
    }

    fn unbroken(&self) -> Result<(), Ending> {
        match self.record.broken.first() {
            Some(broken) => Err(Ending::Broken(Box::new(broken.clone()))),
            None if self.cycles.has_ended() => Err(Ending::Stopped(ENDED.to_owned())),
            None => Ok(()),
        }
    }

    fn ending(&self, (outcome, reason): (Outcome, Option<String>)) -> Result<(), Ending> {
        self.unbroken()?;
        let reason = reason.unwrap_or_default();
        match outcome {
            Outcome::Success => Ok(()),
            _ if reason == ASKED => Err(Ending::Stopped(reason)),
            _ => Err(Ending::NotProven(reason)),
        }
    }

    /// Why the last plan was refused.
    fn last_refusal(&self) -> String {
        self.record.attempts.last().and_then(|plan| plan.reason.clone()).unwrap_or_default()
    }

    /// A controller for what is in the hand now; the arm is left to its own drives until a plan from rest takes over.
    fn renew_controller(&mut self) {
        let robot = self.robot.clone();
        let controller = standing_controller(self.law, &robot, self.set(), &self.task.start);
        self.cycles.stand(Anew { robot, controller });
    }

    /// Lets the arm stand for so long, and reads where. Each reading is off by no more than the encoders' bound, so their mean is too.
    fn read_where_it_stands(&mut self, seconds: f64) -> Result<(), Ending> {
        let period = self.robot.gains().period_s;
        let read = (READ_S / period).ceil().max(1.0) as u64;
        let ticks = (seconds / period).ceil() as u64 + read;
        let (mut stood, mut sum) = (0, vec![0.0; self.robot.dof()]);
        for _ in 0..ticks + LOST_TICKS {
            let Some(row) = self.cycles.next() else { return Err(Ending::Stopped(ENDED.to_owned())) };
            if row.doing == Doing::Standing {
                stood += 1;
                if stood + read > ticks {
                    sum.iter_mut().zip(&row.q).for_each(|(sum, q)| *sum += q / read as f64);
                }
            }
            self.hear(row, false);
            self.unbroken()?;
            if stood == ticks {
                Arc::make_mut(&mut self.task).start = sum;
                return Ok(());
            }
        }
        Err(Ending::Stopped("the arm does not rest, so that its own drives could hold it".to_owned()))
    }
}
