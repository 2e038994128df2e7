//! The promise: against the wall clock the control tick has a thread of its own, which asks for no memory, waits for nobody, and goes on however
//! long planning takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use surelift::control::{Controller, Measured, SupervisedController};
use surelift::horizon::{
    self, Event, Evidence, Hardware, Observer, Outcome, Reading, Record, RunOptions, Task,
};
use surelift::inertia::ParameterSet;
use surelift::plan::{Plan, tube_fit};
use surelift::reach::PreparedSet;
use surelift::robot::TimingBounds;
use surelift::scenario::Scenario;
use surelift::simulate::{HiddenTruth, World};
use surelift::trajectory::JointState;

/// The system's allocator, counting what each thread asks of it and lets go.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count();
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn task() -> (Task, HiddenTruth) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_arm/first_move.toml");
    Scenario::load(path).unwrap().split()
}

/// Two short motions away from the post.
fn short_task() -> (Task, HiddenTruth) {
    let (mut task, truth) = task();
    (task.timing.t_f_s, task.timing.t_p_s) = (1.2, 0.6);
    task.carry.range_rad[0] = 0.3;
    task.goal[0] = task.start[0] - 0.5;
    (task, truth)
}

/// A driver around the simulated arm, on the wall clock. It counts what happens between its own calls: that is the loop's.
struct Driver {
    inside: World,
    period: Duration,
    next: Option<Instant>,
    thread: Option<ThreadId>,
    /// Calls of the allocator by the loop, from its second tick on.
    calls: usize,
    left: Option<usize>,
    ticks: u64,
    plans: u64,
    /// From this time on the first encoder reads too much, s.
    wrong_from_s: f64,
    /// At this time the driver panics, s.
    panics_at_s: f64,
    stopped_at_s: Option<f64>,
}

impl Driver {
    fn new(task: &Task, truth: HiddenTruth) -> Self {
        let robot = Arc::new(task.robot.clone());
        let period = Duration::from_secs_f64(robot.gains().period_s);
        Self {
            inside: World::new(robot, task.scene.clone(), &task.start, truth, 1),
            period,
            next: None,
            thread: None,
            calls: 0,
            left: None,
            ticks: 0,
            plans: 0,
            wrong_from_s: f64::INFINITY,
            panics_at_s: f64::INFINITY,
            stopped_at_s: None,
        }
    }

    /// What the driver does itself does not count.
    fn entered(&mut self) -> usize {
        let now = CALLS.get();
        self.calls += self.left.map_or(0, |left| now - left);
        assert_eq!(*self.thread.get_or_insert(thread::current().id()), thread::current().id());
        now
    }

    fn leaves(&mut self) {
        self.left = (self.ticks > 0).then(|| CALLS.get());
    }

    fn ends_period(&mut self) {
        let now = Instant::now();
        let next = self.next.unwrap_or(now + self.period);
        thread::sleep(next.saturating_duration_since(now));
        self.next = Some(next + self.period);
        self.ticks += 1;
    }
}

impl Hardware for Driver {
    fn time(&self) -> f64 {
        self.inside.time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.entered();
        assert!(self.time() < self.panics_at_s, "the driver breaks");
        self.inside.read(reading);
        if self.time() >= self.wrong_from_s {
            reading.q[0] += 0.05;
        }
        self.leaves();
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.entered();
        let kept = self.inside.command(tau, measured);
        self.ends_period();
        self.leaves();
        kept
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.entered();
        let kept = self.inside.hold(measured);
        self.ends_period();
        self.leaves();
        kept
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.entered();
        self.plans += 1;
        self.inside.plan_starts(plan);
        self.leaves();
    }

    fn stop_begins(&mut self) {
        self.entered();
        self.stopped_at_s = Some(self.time());
        self.inside.stop_begins();
        self.leaves();
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.entered();
        self.inside.set_claimed(set);
        self.leaves();
    }
}

/// Sleeps once, when a plan that is not the first has just been certified.
struct Stalls(Option<Duration>);

impl Observer for Stalls {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::PlanCertified { index, .. } if *index > 0)
            && let Some(long) = self.0.take()
        {
            thread::sleep(long);
        }
    }
}

fn run(driver: &mut Driver, task: &Task, observer: &mut dyn Observer) -> Record {
    let options = RunOptions { method: "ours".to_owned(), seed: 1, timed: true };
    horizon::run_realtime(task, driver, &options, observer).unwrap()
}

/// A whole run, with ticks in their own thread that ask for no memory.
fn runs_without_memory(task: &Task, truth: HiddenTruth) -> Record {
    let mut driver = Driver::new(task, truth);
    let record = run(&mut driver, task, &mut ());
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    assert_ne!(driver.thread, Some(thread::current().id()));
    assert!(driver.plans >= 2 && driver.ticks > 1000, "{} plans, {} ticks", driver.plans, driver.ticks);
    assert_eq!(driver.calls, 0, "in {} ticks", driver.ticks);
    let times = record.ticks.as_ref().unwrap().summary();
    assert_eq!((times.ticks, times.rows_lost), (driver.ticks, 0));
    assert!(times.median_us > 0.0 && times.median_us <= times.most_us && times.most_us <= times.longest_us);
    // Every tick that was followed is in the log, in order.
    let log = &record.log;
    assert!(log.windows(2).all(|pair| pair[1].t - pair[0].t > 0.5e-3), "time goes on");
    let audit = driver.inside.reveal();
    assert_eq!((audit.counts.collision, audit.counts.tube), (0, 0));
    assert!(audit.truth_inside && audit.tube_used < 1.0, "{}", audit.tube_used);
    record
}

#[test]
fn ticks_have_their_own_thread_and_ask_for_no_memory() {
    runs_by_energy(short_task());
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn ticks_have_their_own_thread_and_ask_for_no_memory_at_length() {
    runs_by_energy(task());
}

fn runs_by_energy((task, truth): (Task, HiddenTruth)) {
    let record = runs_without_memory(&task, truth);
    assert!(record.plans.iter().all(|plan| plan.tube.energy().is_some()));
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn nor_do_ticks_under_the_momentum_law_and_plans_that_take_over_in_them_at_length() {
    let (mut task, truth) = task();
    let timing = TimingBounds {
        reading_age_max_s: 5e-4,
        command_delay_max_s: 4e-4,
        jitter_max_s: 1e-4,
        ..TimingBounds::EXACT
    };
    task.robot = task.robot.with_timing(timing).unwrap();
    let record = runs_without_memory(&task, truth);
    assert!(record.plans.len() >= 2 && record.plans.iter().all(|plan| plan.tube.momentum().is_some()));
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_planner_that_stalls_costs_time_and_nothing_else_at_length() {
    let (task, truth) = task();
    let mut driver = Driver::new(&task, truth);
    // By then the running plan has ended.
    let stall = Duration::from_secs_f64(task.timing.t_p_s + task.timing.t_f_s);
    let mut stalls = Stalls(Some(stall));
    let record = run(&mut driver, &task, &mut stalls);
    assert!(stalls.0.is_none());
    assert!(record.deadline_misses >= 1);
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    assert!(record.broken.is_empty() && record.stopped.is_none());
    assert_eq!(driver.plans as usize, record.plans.len(), "what was followed is what was recorded");
    let audit = driver.inside.reveal();
    assert_eq!((audit.counts.collision, audit.counts.tube), (0, 0));
    assert!(audit.tube_used < 1.0, "{}", audit.tube_used);
}

#[test]
fn the_stop_does_not_wait_for_the_planner() {
    let (task, truth) = task();
    let mut driver = Driver::new(&task, truth);
    driver.wrong_from_s = 1.0;
    let record = run(&mut driver, &task, &mut Stalls(Some(Duration::from_secs(2))));
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{:?}", record.reason);
    let stopped = driver.stopped_at_s.expect("a gentle stop");
    assert!((1.0..1.01).contains(&stopped), "{stopped}");
    assert_eq!(record.broken[0].evidence, Evidence::Motion, "{:?}", record.broken[0]);
    assert_eq!(driver.calls, 0);
    let counts = driver.inside.reveal().counts;
    assert_eq!((counts.collision, counts.torque, counts.position, counts.velocity), (0, 0, 0, 0));
}

/// Panics when the second plan has just been certified.
struct Panics;

impl Observer for Panics {
    fn event(&mut self, event: &Event) {
        assert!(!matches!(event, Event::PlanCertified { index: 1, .. }), "the planner breaks");
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_planner_that_panics_leaves_the_arm_at_rest_at_length() {
    let (task, truth) = task();
    let mut driver = Driver::new(&task, truth);
    let broken = std::panic::catch_unwind(AssertUnwindSafe(|| run(&mut driver, &task, &mut Panics)));
    assert!(broken.is_err());
    // The first plan was followed to its end.
    let ticks = task.timing.t_f_s / task.robot.gains().period_s;
    assert!(driver.ticks as f64 >= ticks, "{} of {ticks} ticks", driver.ticks);
    let mut reading = Reading::new(task.robot.dof());
    Hardware::read(&mut driver.inside, &mut reading);
    let slow = 4.0 * (task.robot.gains().stiction_speed_rad_s + task.robot.sensors().velocity_rad_s);
    assert!(reading.dq.iter().all(|dq| dq.abs() <= slow), "{:?}", reading.dq);
    let audit = driver.inside.reveal();
    assert_eq!((audit.counts.collision, audit.counts.tube), (0, 0));
}

#[test]
#[should_panic(expected = "the driver breaks")]
fn a_driver_that_panics_is_not_waited_for() {
    let (task, truth) = task();
    let mut driver = Driver::new(&task, truth);
    driver.panics_at_s = 0.5;
    run(&mut driver, &task, &mut ());
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn ten_million_ticks_ask_for_no_memory_at_length() {
    let robot = Arc::new(surelift::robot::load("kinova_gen3_2f85").unwrap());
    let start = JointState::at_rest(&[0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5]);
    let (set, tube) = (ParameterSet::around_nominal(&robot), tube_fit::initial(&robot));
    let mut controller = SupervisedController::new(robot.clone(), &set, &tube);
    let sets = [(); 2].map(|()| Arc::new(PreparedSet::new(&robot, &set)));
    let (mut kept, mut tau) = (sets.to_vec(), vec![0.0; robot.dof()]);
    let mut dq = vec![0.0; robot.dof()];
    let before = CALLS.get();
    for tick in 0..10_000_000_u32 {
        // Not always the same, and a new plan every second.
        dq[tick as usize % 7] = 1e-4 * f64::from(tick % 11);
        controller.tick(0.0, Measured { q: &start.q, dq: &dq }, &start, &mut tau);
        if tick.is_multiple_of(1000)
            && let Some(next) = kept.pop()
        {
            kept.push(controller.switch(next, &tube));
        }
    }
    assert_eq!(CALLS.get() - before, 0);
    assert!(controller.stopped().is_none());
}
