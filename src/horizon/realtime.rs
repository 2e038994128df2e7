//! The loop against the wall clock: the control cycle in a thread of its own, planning and identification in the caller's.
//!
//! Between the two are rings without locks: readings go one way, plans, sets and questions the other, and what is followed no more comes back to be let go.
//! A plan is taken over at the very tick that it was proven for. One that comes later is not followed: the running plan goes on into its braking
//! part, and past its end the law holds the arm there. So nobody has to be in time for the arm's sake.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::inertia::ParameterSet;

use super::cycle::{Anew, Cycle, Cycles, Handover, Retired, Row, Watch};
use super::event::Observer;
use super::hardware::{Hardware, Sighting};
use super::record::Record;
use super::run::{Beginning, RunError, RunOptions};
use super::task::Task;
use super::telling;
use super::tick_times::TickTimes;
use crate::robot::Arm;

/// Rows that may wait to be looked at, s of ticks: as long as plans may take, and more. Rows beyond are lost.
const ROWS_S: f64 = 8.0;
/// Plans, sets and questions under way at a time. Between two ticks there are no more than a few.
const MESSAGES: usize = 16;

/// As [`run`](super::run()), with the control cycle in a thread of its own: for an arm that time does not wait for. `hardware` is used by that thread alone. Plans have to be
/// ready within t_p, whatever the options say. [`Record::ticks`] tells how well the ticks kept time.
///
/// When the run ends the cycle ends once the arm stands; its own drives have to hold it then. So it does if planning panics.
///
/// # Errors
/// As [`run`](super::run()).
///
/// # Panics
/// If the hardware panics, or whatever plans and identifies.
pub fn run_realtime<H: Hardware + Send>(
    task: &Task,
    hardware: &mut H,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    let span = telling::run_span(task, options);
    span.in_scope(|| run_realtime_within(task, hardware, options, observer))
}

/// The same within the caller's span, who has more to tell of the run.
pub(crate) fn run_realtime_within<H: Hardware + Send>(
    task: &Task,
    hardware: &mut H,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    let options = RunOptions { timed: true, ..options.clone() };
    let beginning = Beginning::new(task, &options, observer)?;
    let period_s = beginning.robot.gains().period_s;
    let begun_s = hardware.time();
    let (remote, control) = connect(beginning.cycle(hardware)?, period_s, begun_s);
    Ok(thread::scope(|scope| {
        let thread = scope.spawn(move || control.run());
        // At its end the run lets go of the rings, which ends the other thread.
        let mut record = beginning.run(Box::new(remote), &options, observer);
        match thread.join() {
            Ok(times) => record.ticks = Some(times),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        record
    }))
}

/// A question to the hardware, with room for the answer.
#[derive(Debug)]
struct Question {
    obstacle: usize,
    seen: Sighting,
    /// Whether anything new is known, and when that was asked, s.
    answer: Option<(bool, f64)>,
}

/// What goes to the control thread.
#[derive(Debug)]
enum Message {
    Plan(Handover),
    Claim(Arc<ParameterSet>),
    Ask(Question),
    Stand(Box<Anew>),
    Gripper(bool),
}

/// What comes back from it, beside rows.
#[derive(Debug)]
enum Answer {
    Seen(Question),
    /// To be let go.
    Plan(Retired),
    Claim(Arc<ParameterSet>),
    Stood(Box<Anew>, ArrayVec<Retired, 3>),
}

/// Flags that hold from the tick on that sees them.
#[derive(Debug, Default)]
struct Flags {
    suspicious: AtomicBool,
    /// Number of the plan that is not to take over.
    withdrawn: AtomicU64,
}

/// The control thread's end.
#[derive(Debug)]
struct Control<H> {
    cycle: Cycle<H>,
    rows: Producer<Row>,
    messages: Consumer<Message>,
    answers: Producer<Answer>,
    flags: Arc<Flags>,
    times: TickTimes,
}

/// The planning thread's end.
#[derive(Debug)]
struct Remote {
    rows: Consumer<Row>,
    messages: Producer<Message>,
    answers: Consumer<Answer>,
    flags: Arc<Flags>,
    offered: u64,
    settled: u64,
    tick: u64,
    time_s: f64,
    latest_s: f64,
    begins: Instant,
    period: Duration,
}

fn connect<H: Hardware>(cycle: Cycle<H>, period_s: f64, begun_s: f64) -> (Remote, Control<H>) {
    let (rows, rows_here) = RingBuffer::new((ROWS_S / period_s).ceil() as usize);
    let (messages_here, messages) = RingBuffer::new(MESSAGES);
    let (answers, answers_here) = RingBuffer::new(2 * MESSAGES);
    let flags = Arc::new(Flags::default());
    let remote = Remote {
        rows: rows_here,
        messages: messages_here,
        answers: answers_here,
        flags: flags.clone(),
        offered: 0,
        settled: 0,
        tick: 0,
        time_s: begun_s,
        latest_s: begun_s,
        begins: Instant::now(),
        period: Duration::from_secs_f64(period_s),
    };
    let times = TickTimes::new(period_s);
    (remote, Control { cycle, rows, messages, answers, flags, times })
}

/// A cycle in a thread of its own, which ends when the other end is let go and the arm rests.
pub(super) fn spawn<H: Hardware + Send + 'static>(
    cycle: Cycle<H>,
    robot: &Arm,
) -> (Box<dyn Cycles>, thread::JoinHandle<TickTimes>) {
    let begun_s = cycle.time();
    let (remote, control) = connect(cycle, robot.gains().period_s, begun_s);
    (Box::new(remote), thread::spawn(move || control.run()))
}

/// Asks the system to let this thread run whenever it can. Whether that is granted.
#[cfg(unix)]
fn come_first() -> bool {
    use thread_priority::{
        RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };
    let Ok(middle) = ThreadPriorityValue::try_from(50_u8) else { return false };
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(middle), policy).is_ok()
}

/// Asks the system to let this thread run whenever it can. Whether that is granted.
#[cfg(not(any(unix, target_family = "wasm")))]
fn come_first() -> bool {
    thread_priority::set_current_thread_priority(thread_priority::ThreadPriority::Max).is_ok()
}

/// A browser grants nothing.
#[cfg(target_family = "wasm")]
fn come_first() -> bool {
    false
}

impl<H: Hardware> Control<H> {
    /// Ticks until the other end is let go and the arm stands. Who plans may have panicked: the running plan still ends at rest, if it is followed to its end.
    fn run(mut self) -> TickTimes {
        self.times.prioritised = come_first();
        while !(self.rows.is_abandoned() && self.cycle.rests()) {
            self.hear();
            let (row, retired) = self.cycle.tick();
            self.times.note(row.begun, row.took);
            self.hand_back(retired.map(Answer::Plan));
            // Who plans has been busy for too long, or is gone: the row is lost, as its number tells.
            let lost = self.rows.push(row).is_err();
            self.times.rows_lost += u64::from(lost);
        }
        self.times
    }

    fn hear(&mut self) {
        if self.flags.suspicious.load(Ordering::Relaxed) {
            self.cycle.suspect();
        }
        // One a tick is enough, and keeps ticks short.
        if let Ok(message) = self.messages.pop() {
            let answer = match message {
                Message::Plan(plan) => self.cycle.offer(plan, 1).map(Answer::Plan),
                Message::Claim(set) => {
                    self.cycle.claim(&set);
                    Some(Answer::Claim(set))
                }
                Message::Ask(mut question) => {
                    let new = self.cycle.observe(question.obstacle, &mut question.seen);
                    question.answer = Some((new, self.cycle.time()));
                    Some(Answer::Seen(question))
                }
                Message::Stand(mut anew) => {
                    let retired = self.cycle.stand(&mut anew);
                    Some(Answer::Stood(anew, retired))
                }
                Message::Gripper(closes) => {
                    self.cycle.gripper(closes);
                    None
                }
            };
            self.hand_back(answer);
        }
        let withdrawn = self.flags.withdrawn.load(Ordering::Relaxed);
        let back = self.cycle.withdraw(withdrawn).map(Answer::Plan);
        self.hand_back(back);
    }

    fn hand_back(&mut self, answer: Option<Answer>) {
        if let Some(answer) = answer {
            // There is room for more than is ever under way. Without, it would be let go here.
            drop(self.answers.push(answer));
        }
    }
}

impl Remote {
    fn note(&mut self, row: Row) -> Row {
        self.tick = row.tick + 1;
        self.settled = row.settled;
        self.time_s = row.end_s;
        self.latest_s = self.latest_s.max(row.end_s);
        self.begins = row.begun + self.period;
        row
    }

    /// Half a period, so that nobody waits long for a row and nothing is kept busy by waiting.
    fn wait(&self) {
        thread::sleep(self.period / 2);
    }

    fn send(&mut self, mut message: Message) {
        while let Err(rtrb::PushError::Full(again)) = self.messages.push(message) {
            if self.has_ended() {
                return;
            }
            message = again;
            self.wait();
        }
    }

    /// Lets go of what has come back; an answer is kept.
    fn clear(&mut self) -> Option<Question> {
        while let Ok(answer) = self.answers.pop() {
            match answer {
                Answer::Seen(question) => return Some(question),
                Answer::Plan(retired) => drop(retired),
                Answer::Claim(set) => drop(set),
                Answer::Stood(anew, retired) => drop((anew, retired)),
            }
        }
        None
    }
}

impl Watch for Remote {
    fn latest_s(&self) -> f64 {
        self.latest_s
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        let room = Sighting { t: seen.t, center: seen.center, generators: seen.generators.clone() };
        self.send(Message::Ask(Question { obstacle, seen: room, answer: None }));
        loop {
            if let Some(Question { seen: found, answer: Some((new, now)), .. }) = self.clear() {
                self.latest_s = self.latest_s.max(now);
                *seen = found;
                return new;
            }
            if self.has_ended() {
                return false;
            }
            self.wait();
        }
    }
}

impl Cycles for Remote {
    fn next(&mut self) -> Option<Row> {
        loop {
            if let Ok(row) = self.rows.pop() {
                return Some(self.note(row));
            }
            if self.has_ended() {
                return None;
            }
            self.wait();
        }
    }

    fn has_ended(&self) -> bool {
        self.messages.is_abandoned() && self.rows.is_empty()
    }

    fn next_waiting(&mut self) -> Option<Row> {
        self.rows.pop().ok().map(|row| self.note(row))
    }

    fn offer(&mut self, handover: Handover) {
        self.clear();
        self.offered = handover.serial;
        self.send(Message::Plan(handover));
    }

    fn withdraw(&mut self) {
        self.flags.withdrawn.store(self.offered, Ordering::Relaxed);
    }

    fn settled(&self) -> u64 {
        self.settled
    }

    fn tick(&self) -> u64 {
        self.tick
    }

    fn time(&self) -> f64 {
        self.time_s
    }

    fn begins(&self) -> Instant {
        self.begins
    }

    fn suspect(&mut self) {
        self.flags.suspicious.store(true, Ordering::Relaxed);
    }

    fn claim(&mut self, set: &ParameterSet) {
        self.clear();
        self.send(Message::Claim(Arc::new(set.clone())));
    }

    fn stand(&mut self, anew: Anew) {
        self.clear();
        self.send(Message::Stand(Box::new(anew)));
    }

    fn gripper(&mut self, closes: bool) {
        self.send(Message::Gripper(closes));
    }
}
