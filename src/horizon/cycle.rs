//! The control cycle: what happens in one control period, and what is told of it.
//!
//! A [`Cycle`] stands until a plan is handed over, then follows it, and the next one from the very tick that this was proven for. Past a plan's end it
//! goes on holding the arm there. Where the controller gives the tube up, it stops the arm gently. It needs nobody for that: whoever plans may be busy
//! or late. [`inline`] runs it in the thread that plans, [`crate::horizon::run_realtime`] in one of its own.
//!
//! [`Cycle::tick`] neither allocates nor frees memory: a plan that is no longer followed is handed back ([`Retired`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;

use crate::control::{Controller, LawPlan, Measured, StartFault, StopReason, SupervisedController};
use crate::inertia::ParameterSet;
use crate::plan::Plan;
use crate::plan::saved::PlanStart;
use crate::reach::Joints;
use crate::robot::Arm;
use crate::trajectory::JointState;

use super::hardware::{Hardware, Reading, Sighting};

mod clock;
mod encoders;
pub(super) mod inline;

pub(super) use encoders::EncoderFault;
use encoders::Encoders;

/// A certified plan on its way to the cycle, with the set as its proof had it.
#[derive(Debug)]
pub(super) struct Handover {
    /// Its number, from 1 on, and that of the plan that it was proven to follow; 0 if none.
    pub(super) serial: u64,
    pub(super) after: u64,
    pub(super) plan: Arc<Plan>,
    pub(super) law: LawPlan,
    pub(super) starts: Starts,
    /// What is known of obstacles is good until then, s on the hardware's clock.
    pub(super) not_after_s: f64,
}

/// When a plan takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Starts {
    /// The arm stands: as soon as can be.
    AtOnce,
    /// At the tick with this number.
    At(u64),
    /// Under the momentum law: at the first tick at which the clock of the plan before has come to what this one's start says.
    InPlan,
}

/// What is followed no more, to be let go where that costs no tick any time.
#[derive(Debug)]
pub(super) struct Retired {
    /// The plan before, or one that came too late.
    _plan: Option<Arc<Plan>>,
    _laws: [Option<LawPlan>; 2],
}

/// What the cycle was doing in a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// The arm's own drives hold it.
    Standing,
    /// The plan is followed; so many of its ticks were done before, or under the momentum law so many control periods of its clock.
    Following(u64),
    /// The gentle stop; so many ticks in a row all joints have been slow.
    Stopping(u64),
}

/// Longest time for which the arm is stopped gently, s: some twenty reaction times of the stop ([`crate::control::stop::REACTION_S`]). Whatever still moves
/// then is driven by what gravity is missed by, and would never come to rest.
pub(super) const LONGEST_STOP_S: f64 = 1.5;
/// Time for which all joints must be slow until the arm is taken to stand, s: longer than a turn of its way would take.
pub(super) const STANDS_S: f64 = 0.1;

/// All that there is to tell of a tick.
#[derive(Debug)]
pub(super) struct Row {
    /// Its number.
    pub(super) tick: u64,
    /// When its reading was there, on this computer's clock, and how long it took from there to the torques.
    pub(super) begun: Instant,
    pub(super) took: Duration,
    /// The hardware's time at its end, s.
    pub(super) end_s: f64,
    pub(super) doing: Doing,
    /// The plan that is followed, or was before the stop; 0 before the first.
    pub(super) plan: u64,
    /// The plan that is followed or will be, as far as is settled.
    pub(super) settled: u64,
    /// Time stamp of the reading, s.
    pub(super) t: f64,
    pub(super) q: Joints<f64>,
    pub(super) dq: Joints<f64>,
    /// What the torque sensors say, N m, and whether that is of use.
    pub(super) tau: Joints<f64>,
    pub(super) logged: bool,
    pub(super) q_des: Joints<f64>,
    pub(super) dq_des: Joints<f64>,
    /// What is wrong with an encoder; told once.
    pub(super) fault: Option<EncoderFault>,
    /// The arm does not stand where its first plan starts: it is not followed.
    pub(super) misplaced: Option<StartFault>,
    /// Why the gentle stop begins at this tick.
    pub(super) stop: Option<StopReason>,
}

/// Where obstacles are seen.
pub(super) trait Watch {
    /// The latest that is known of the hardware's time, s.
    fn latest_s(&self) -> f64;

    /// [`Hardware::observe`].
    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool;
}

/// An arm whose hand holds something else than before, and the controller for it.
#[derive(Debug)]
pub(super) struct Anew {
    pub(super) robot: Arc<Arm>,
    pub(super) controller: SupervisedController,
}

/// Ticks as whoever plans sees them.
pub(super) trait Cycles: Watch {
    /// The next tick, in order, once it has been; `None` if there will be none any more.
    fn next(&mut self) -> Option<Row>;

    /// Whether there will be no more ticks.
    fn has_ended(&self) -> bool;

    /// The next tick if it has been already while somebody was busy.
    fn next_waiting(&mut self) -> Option<Row>;

    /// Hands over a plan. [`Row::settled`] tells whether it will be followed.
    fn offer(&mut self, handover: Handover);

    /// The plan that was offered last is not to take over, if it has not yet.
    fn withdraw(&mut self);

    /// The plan that is followed or will be, at the last tick that was looked at.
    fn settled(&self) -> u64;

    /// The number of the tick that [`Cycles::next`] will tell of.
    fn tick(&self) -> u64;

    /// Time of that tick, s.
    fn time(&self) -> f64;

    /// When it began, on this computer's clock.
    fn begins(&self) -> Instant;

    /// An assumption is known to be broken.
    fn suspect(&mut self);

    /// [`Hardware::set_claimed`].
    fn claim(&mut self, set: &ParameterSet);

    /// The arm rests, and is left to its own drives from the next tick on, until a plan from rest takes over. That one is for `anew`.
    fn stand(&mut self, anew: Anew);

    /// [`Hardware::gripper`].
    fn gripper(&mut self, closes: bool);
}

/// The cycle itself.
#[derive(Debug)]
pub(super) struct Cycle<H> {
    robot: Arc<Arm>,
    hardware: H,
    controller: SupervisedController,
    encoders: Encoders,
    /// Something is known to be broken.
    suspicious: bool,
    doing: Doing,
    /// Ticks of the gentle stop.
    stop_ticks: u64,
    /// Number of the plan that is followed, and the plan.
    serial: u64,
    plan: Option<Arc<Plan>>,
    /// When that plan's clock was zero, by the readings' stamps, and what it says at the present tick, s: what the momentum law goes by.
    begun_s: f64,
    clock_s: f64,
    /// Whether this is the first tick of its plan.
    begins: bool,
    /// Stamp of the last reading, and how much later it is than the one before, s; no numbers before there are such.
    stamp_s: f64,
    passed_s: f64,
    /// Plans that are to take over, in order: one that is due at the coming tick, and the one after that.
    next: ArrayVec<Handover, 2>,
    ticks: u64,
    desired: JointState,
    reading: Reading,
    told: Reading,
    tau: Vec<f64>,
    measured: Vec<f64>,
    /// Speeds below which a joint is slow, rad/s (m/s).
    slow: f64,
}

/// Multiples of the stiction speed and the encoders' error below which a joint is slow.
const SLOW: f64 = 4.0;

impl<H: Hardware> Cycle<H> {
    /// The arm stands at `start`. `set` is what may be true at first.
    pub(super) fn new(
        hardware: H,
        controller: SupervisedController,
        (robot, set): (Arc<Arm>, &ParameterSet),
        start: &[f64],
    ) -> Self {
        let n = robot.dof();
        Self {
            encoders: Encoders::new(&robot, set),
            slow: SLOW * (robot.gains().stiction_speed_rad_s + robot.sensors().velocity_rad_s),
            hardware,
            controller,
            suspicious: false,
            doing: Doing::Standing,
            stop_ticks: 0,
            serial: 0,
            plan: None,
            begun_s: 0.0,
            clock_s: 0.0,
            begins: false,
            stamp_s: f64::NAN,
            passed_s: f64::NAN,
            next: ArrayVec::new(),
            ticks: 0,
            desired: JointState::at_rest(start),
            reading: Reading::new(n),
            told: Reading::new(n),
            tau: vec![0.0; n],
            measured: vec![0.0; n],
            robot,
        }
    }

    /// The hardware's time, s.
    pub(super) fn time(&self) -> f64 {
        self.hardware.time()
    }

    /// An assumption is known to be broken.
    pub(super) fn suspect(&mut self) {
        self.suspicious = true;
    }

    /// [`Hardware::observe`].
    pub(super) fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        self.hardware.observe(obstacle, seen)
    }

    /// [`Hardware::set_claimed`].
    pub(super) fn claim(&mut self, set: &ParameterSet) {
        self.hardware.set_claimed(set);
    }

    /// [`Hardware::gripper`].
    pub(super) fn gripper(&mut self, closes: bool) {
        self.hardware.gripper(closes);
    }

    /// An arm that rests, and was not stopped, is held by its own drives from the next tick on. What was followed is let go; the next plan starts from
    /// rest. The caller gets back what is used no more, or `anew` where the arm does not rest.
    pub(super) fn stand(&mut self, anew: &mut Anew) -> ArrayVec<Retired, 3> {
        let mut retired = ArrayVec::new();
        if !self.rests() || self.is_over() {
            return retired;
        }
        std::mem::swap(&mut self.robot, &mut anew.robot);
        std::mem::swap(&mut self.controller, &mut anew.controller);
        retired.extend(self.next.drain(..).map(Retired::from));
        retired.push(Retired { _plan: self.plan.take(), _laws: [None, None] });
        (self.doing, self.serial) = (Doing::Standing, 0);
        retired
    }

    /// Whether the arm may be left to its own drives: it stands, or has had all the time to come to a stop.
    pub(super) fn rests(&self) -> bool {
        let period = self.robot.gains().period_s;
        match (self.doing, &self.plan) {
            (Doing::Following(ticks), Some(plan)) => {
                plan.tube.time_of_tick(plan.curve.duration_s(), ticks) >= plan.curve.duration_s()
            }
            (Doing::Stopping(calm), _) => {
                calm as f64 * period >= STANDS_S || self.stop_ticks as f64 * period >= LONGEST_STOP_S
            }
            _ => true,
        }
    }

    /// Takes a plan that is to be followed once `ahead` more ticks have been, or later; one that comes too late is handed back at once.
    pub(super) fn offer(&mut self, mut handover: Handover, ahead: u64) -> Option<Retired> {
        let earliest = self.ticks + ahead;
        let (starts, fits) = match handover.starts {
            Starts::AtOnce => (Starts::At(earliest), self.plan.is_none()),
            Starts::At(tick) => (Starts::At(tick), tick >= earliest),
            // The first tick that it may take over at must not have been.
            Starts::InPlan => (Starts::InPlan, !(handover.after == self.serial && self.is_due(&handover))),
        };
        if self.is_over() || !fits || self.next.is_full() {
            return Some(Retired::from(handover));
        }
        handover.starts = starts;
        self.next.push(handover);
        None
    }

    /// The plan with this number is not to take over, if it has not yet.
    pub(super) fn withdraw(&mut self, serial: u64) -> Option<Retired> {
        let at = self.next.iter().position(|next| next.serial == serial)?;
        Some(Retired::from(self.next.remove(at)))
    }

    /// Whether a plan that is due takes over: only where it was proven to start, and in time for what is known of obstacles.
    fn may_take_over(&self, due: &Handover) -> bool {
        let starts_here = match (due.plan.start, self.doing) {
            (PlanStart::Rest, Doing::Standing) => self.plan.is_none(),
            (PlanStart::AfterTicks(_), Doing::Following(_)) if due.starts == Starts::InPlan => true,
            (PlanStart::AfterTicks(ticks), Doing::Following(done)) => ticks == done,
            _ => false,
        };
        starts_here && due.after == self.serial && self.hardware.time() <= due.not_after_s
    }

    /// Whether no plan is followed any more: after a stop, and where the arm was not released.
    fn is_over(&self) -> bool {
        match self.doing {
            Doing::Stopping(_) => true,
            Doing::Standing => self.plan.is_some(),
            Doing::Following(_) => false,
        }
    }

    /// The plan that is followed or will be.
    fn settled(&self) -> u64 {
        // Of the coming tick the clock is not known.
        let due = |next: &Handover| next.starts != Starts::InPlan && self.is_due(next);
        let fits = |next: &&Handover| !due(next) || self.may_take_over(next);
        self.next.iter().rev().filter(|_| !self.is_over()).find(fits).map_or(self.serial, |next| next.serial)
    }

    /// One control period: the reading, the torques, and what the sensors say of them. It ends when the next period begins.
    pub(super) fn tick(&mut self) -> (Row, Option<Retired>) {
        let first = self.plan.is_none();
        self.hardware.read(&mut self.reading);
        let begun = Instant::now();
        self.passed_s = self.reading.t - std::mem::replace(&mut self.stamp_s, self.reading.t);
        let clock_s = self.reading.t - self.begun_s;
        // A stamp that is none says nothing: the clock stands, and the law's watch ends the plan.
        self.clock_s = if clock_s.is_finite() { clock_s } else { self.clock_s };
        let due = self.next.iter().position(|next| self.is_due(next));
        let due = due.map(|at| self.next.remove(at));
        let retired = due.map(|due| match self.may_take_over(&due) {
            true => self.take_over(due),
            false => Retired::from(due),
        });
        let fault = self.encoders.look(&self.robot, &self.reading, self.ticks, self.suspicious).err();
        let misplaced = first.then(|| self.misplaced()).flatten();
        if misplaced.is_some() {
            // It is never released.
            (self.doing, self.suspicious) = (Doing::Standing, true);
        }
        self.count_periods();
        let stop = self.control();
        let took = begun.elapsed();
        let logged = match self.doing {
            Doing::Standing => self.hardware.hold(&mut self.measured),
            _ => match self.controller.motor_command() {
                Some(loops) => self.hardware.command_loops(&self.tau, &loops, &mut self.measured),
                None => self.hardware.command(&self.tau, &mut self.measured),
            },
        };
        // What is told at this tick counts from the next one on.
        self.suspicious |= fault.is_some() || stop.is_some();
        self.ticks += 1;
        let mut row = self.row((begun, took), logged, (fault, misplaced, stop));
        match &mut self.doing {
            Doing::Following(_) if stop.is_some() => self.begin_stop(),
            Doing::Following(ticks) => *ticks += 1,
            Doing::Stopping(_) => self.stop_ticks += 1,
            Doing::Standing => {}
        }
        row.settled = self.settled();
        (row, retired)
    }

    /// A plan takes over at this tick.
    fn take_over(&mut self, Handover { serial, plan, law, .. }: Handover) -> Retired {
        let after_s = match plan.start {
            PlanStart::Rest => None,
            PlanStart::AfterTicks(ticks) => Some(ticks as f64 * plan.tube.period_s()),
        };
        let before = match self.controller.take_over(&plan.tube, law, after_s) {
            Ok(before) => before,
            // Of another law.
            Err(law) => return Retired { _plan: Some(plan), _laws: [Some(law), None] },
        };
        self.hardware.plan_starts(&plan);
        self.serial = serial;
        self.doing = Doing::Following(0);
        self.begun_s = after_s.map_or(self.reading.t, |after_s| self.begun_s + after_s);
        let clock_s = self.reading.t - self.begun_s;
        self.clock_s = if clock_s.is_finite() { clock_s } else { 0.0 };
        Retired { _plan: self.plan.replace(plan), _laws: before }
    }

    /// Whether the arm does not stand where its first plan starts, at the first tick of that.
    fn misplaced(&mut self) -> Option<StartFault> {
        let plan = self.plan.as_ref()?;
        plan.curve.evaluate(0.0, &mut self.desired);
        let at = Measured { q: &self.reading.q, dq: &self.reading.dq };
        self.controller.start_fault(at, &self.desired)
    }

    /// The law's torques, or the gentle stop's; why that begins at this tick, if it does.
    fn control(&mut self) -> Option<StopReason> {
        let t = match (self.doing, &self.plan) {
            (Doing::Standing, _) => return None,
            (Doing::Following(ticks), Some(plan)) => {
                let t = match plan.tube.energy() {
                    Some(tube) => tube.time_of_tick(plan.curve.duration_s(), ticks),
                    None => self.clock_s,
                };
                plan.curve.evaluate(t, &mut self.desired);
                t
            }
            _ => 0.0,
        };
        self.encoders.told(&self.reading, &mut self.told);
        let before = self.controller.stopped();
        self.look_at_the_clock();
        let measured = Measured { q: &self.told.q, dq: &self.told.dq };
        self.controller.tick(t, measured, &self.desired, &mut self.tau);
        if let Doing::Stopping(calm) = &mut self.doing {
            // Of a lost joint nothing is known.
            let slow = self.told.dq.iter().all(|dq| dq.abs() <= self.slow);
            *calm = if slow { *calm + 1 } else { 0 };
        }
        let stop = self.controller.stopped().filter(|_| before.is_none());
        if stop.is_some() {
            self.hardware.stop_begins();
        }
        stop
    }

    /// From the next tick on the arm is to stand where it was to be at this one.
    fn begin_stop(&mut self) {
        self.doing = Doing::Stopping(0);
        self.desired.dq.fill(0.0);
        self.desired.ddq.fill(0.0);
    }

    /// What is told of the tick that has just ended, but for what the next one will be.
    fn row(
        &self,
        (begun, took): (Instant, Duration),
        logged: bool,
        (fault, misplaced, stop): (Option<EncoderFault>, Option<StartFault>, Option<StopReason>),
    ) -> Row {
        let copied = |x: &[f64]| x.iter().copied().collect();
        Row {
            tick: self.ticks - 1,
            begun,
            took,
            end_s: self.hardware.time(),
            doing: self.doing,
            plan: self.serial,
            settled: self.serial,
            t: self.reading.t,
            q: copied(&self.reading.q),
            dq: copied(&self.reading.dq),
            tau: copied(&self.measured),
            logged,
            q_des: copied(&self.desired.q),
            dq_des: copied(&self.desired.dq),
            fault,
            misplaced,
            stop,
        }
    }
}

impl From<Handover> for Retired {
    fn from(handover: Handover) -> Self {
        Self { _plan: Some(handover.plan), _laws: [Some(handover.law), None] }
    }
}

#[cfg(test)]
mod tests;
