//! The robust law with a supervisor: while the tube can be believed the law commands, and from the first sign that it cannot, the gentle stop.
//!
//! This is a Simplex architecture (\[20\] in `docs/bibliography.md`): a proven controller, a monitor, and a plain controller to fall back to. The decision is taken within the tick
//! whose reading shows it, so the law's torques of that tick are never commanded. It is never taken back.

use std::sync::Arc;

use crate::inertia::ParameterSet;
use crate::reach::momentum::MomentumTube;
use crate::reach::{PreparedSet, TrackingTube, Tube};
use crate::robot::Arm;
use crate::trajectory::JointState;

use super::chatter::{ChatterWatch, TORQUE_SHARE};
use super::stop::GentleStop;
use super::{
    Controller, LawPlan, Measured, MomentumController, MomentumPlan, MomentumTick, MotorCommand,
    RobustController, StartFault, Tick, broken_above_j,
};

/// The momentum law's robust torque may go from one of its bounds to the other, driven by misread momenta and by what they make the arm do: swings beyond this many
/// times that are chatter.
const BEYOND_BOUNDS: f64 = 1.05;

/// Why the law commands no more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StopReason {
    /// V is at least this (J), more than the tube allows.
    Energy {
        /// Lower bound of V, J.
        floor_j: f64,
    },
    /// The momentum error of a joint is at least so many times the radius of its tube: more than one.
    Momentum {
        /// The joint.
        joint: usize,
        /// How many times.
        share: f64,
    },
    /// Since the tick before more time has passed (s) than ticks may be apart, or less than none.
    Clock {
        /// How much.
        passed_s: f64,
    },
    /// The law asks joint `joint` for more than its limit, which is proven never to happen.
    Saturation {
        /// The joint.
        joint: usize,
    },
    /// A reading of this joint is no number, or the caller does not believe it.
    Reading {
        /// The joint.
        joint: usize,
    },
    /// Torque or speed of this joint swings to and fro ([`super::chatter`]).
    Chatter {
        /// The joint.
        joint: usize,
    },
}

/// The law that commands.
// There is one of it a controller.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
enum Law {
    Energy(RobustController),
    Momentum(MomentumController),
}

/// A law, [`ChatterWatch`] and [`GentleStop`] in one. The tick neither allocates nor panics.
#[derive(Debug, Clone)]
pub struct SupervisedController {
    robot: Arc<Arm>,
    law: Law,
    stop: GentleStop,
    watch: ChatterWatch,
    /// Above this lower bound of V (J) the tube is lost: that of the first law.
    broken_above_j: f64,
    /// Torques of the last tick, N m; not a number before the first.
    commanded: Vec<f64>,
    started: bool,
    stopped: Option<StopReason>,
}

impl SupervisedController {
    /// A controller for `robot` under the parameter set and tube of a certified plan. It prepares the set itself.
    pub fn new(robot: Arc<Arm>, set: &ParameterSet, tube: &Tube) -> Self {
        let set = Arc::new(PreparedSet::new(&robot, set));
        let law = RobustController::with_prepared(robot.clone(), set.clone(), tube);
        let stop = GentleStop::new(robot.clone(), set, &tube.inertia_floor);
        Self { broken_above_j: broken_above_j(tube), ..Self::of(robot, Law::Energy(law), stop) }
    }

    /// A controller for `robot` under the second law, that begins with a plan from rest.
    ///
    /// # Panics
    /// As [`MomentumController::new`].
    pub fn with_momentum(robot: Arc<Arm>, plan: Arc<MomentumPlan>) -> Self {
        let law = MomentumController::new(robot.clone(), plan.clone());
        let floor: Vec<f64> = floor(&plan.set).collect();
        let stop = GentleStop::new(robot.clone(), plan.set.clone(), &floor);
        let mut own = Self::of(robot, Law::Momentum(law), stop);
        own.expect(&plan.tube);
        own
    }

    fn of(robot: Arc<Arm>, law: Law, stop: GentleStop) -> Self {
        Self {
            law,
            stop,
            watch: ChatterWatch::new(&robot),
            broken_above_j: f64::INFINITY,
            commanded: vec![f64::NAN; robot.dof()],
            started: false,
            stopped: None,
            robot,
        }
    }

    /// Switches to the set and tube of the next certified plan, as [`RobustController::switch`] does. A stop goes on. Where another law commands nothing changes, and
    /// the set is handed back.
    pub fn switch(&mut self, set: Arc<PreparedSet>, tube: &Tube) -> Arc<PreparedSet> {
        let Law::Energy(law) = &mut self.law else { return set };
        self.broken_above_j = broken_above_j(tube);
        // The law's own reference to the set before keeps it: nothing is let go here.
        drop(self.stop.switch(set.clone(), tube.inertia_floor.iter().copied()));
        law.switch(set, tube)
    }

    /// Takes the next certified plan over: at rest, or `after_s` seconds of the running plan's clock. A stop goes on. It asks for no memory; what is needed
    /// no more is handed back.
    ///
    /// # Errors
    /// The plan, if it is of another law than this controller.
    pub fn take_over(
        &mut self,
        tube: &TrackingTube,
        plan: LawPlan,
        after_s: Option<f64>,
    ) -> Result<[Option<LawPlan>; 2], LawPlan> {
        match (&mut self.law, plan, tube) {
            (Law::Energy(_), LawPlan::Energy(set), TrackingTube::Energy(tube)) => {
                Ok([Some(LawPlan::Energy(self.switch(set, tube))), None])
            }
            (Law::Momentum(law), LawPlan::Momentum(plan), _) => {
                // The plan that is handed back keeps its set.
                drop(self.stop.switch(plan.set.clone(), floor(&plan.set)));
                let before = match after_s {
                    None => {
                        let (running, before) = law.begin(plan.clone());
                        [Some(running), before]
                    }
                    Some(at_s) => [law.switch(at_s, plan.clone()), None],
                };
                self.expect(&plan.tube);
                Ok(before.map(|plan| plan.map(LawPlan::Momentum)))
            }
            (_, plan, _) => Err(plan),
        }
    }

    /// What swings of the torque are none of chatter under this tube.
    fn expect(&mut self, tube: &MomentumTube) {
        let Self { watch, robot, .. } = self;
        watch.set_torque_swings(|j| {
            let robust = 2.0 * BEYOND_BOUNDS * tube.robust_at(j, 0.0);
            robust.max(TORQUE_SHARE * robot.joints[j].limits.torque)
        });
    }

    /// [`RobustController::start_fault`], or [`MomentumController::start_fault`] of the plan that is followed.
    pub fn start_fault(&mut self, measured: Measured<'_>, desired: &JointState) -> Option<StartFault> {
        match &mut self.law {
            Law::Energy(law) => law.start_fault(measured, desired),
            Law::Momentum(law) => law.start_fault(measured),
        }
    }

    /// What loops in the motors are to do until the next tick: of the law that commands, where it leaves its feedback to them. None once it has stopped.
    pub fn motor_command(&self) -> Option<MotorCommand<'_>> {
        match &self.law {
            Law::Energy(law) if self.stopped.is_none() => law.motor_command(),
            _ => None,
        }
    }

    /// Why it has stopped, if it has.
    pub fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// Stops from the next tick on, whatever the reason; the first one counts.
    pub fn stop(&mut self, reason: StopReason) {
        if self.stopped.is_none() {
            self.stopped = Some(reason);
            self.stop.begin(&self.commanded);
        }
    }

    /// The law's torques at a tick, what it says of itself, and what that says against the tube.
    fn command(
        &mut self,
        t: f64,
        measured: Measured<'_>,
        desired: &JointState,
        tau: &mut [f64],
    ) -> (Tick, Option<StopReason>) {
        let (tick, lost) = match &mut self.law {
            Law::Energy(law) => {
                let tick = law.tick(t, measured, desired, tau);
                let floor_j = tick.energy_floor_j;
                (tick, (floor_j > self.broken_above_j).then_some(StopReason::Energy { floor_j }))
            }
            Law::Momentum(law) => {
                let MomentumTick { share, joint, saturated } = law.tick(t, measured, tau);
                let lost = !(share <= 1.0);
                let tick = Tick { energy_j: 0.0, energy_floor_j: 0.0, saturated };
                (tick, lost.then_some(StopReason::Momentum { joint, share }))
            }
        };
        let chatters = self.watch.tick(tau, measured.dq);
        let saturated = || {
            let share = |j: usize| tau[j].abs() / self.robot.joints[j].limits.torque;
            let joint = (0..tau.len()).fold(0, |most, j| if share(j) > share(most) { j } else { most });
            tick.saturated.then_some(StopReason::Saturation { joint })
        };
        let chatters = || chatters.map(|joint| StopReason::Chatter { joint });
        (tick, lost.or_else(saturated).or_else(chatters))
    }
}

/// Floors of the mass matrix under the second law: transmission inertias; none below zero, where one may be none.
fn floor(set: &PreparedSet) -> impl Iterator<Item = f64> + '_ {
    (0..set.joints()).map(|j| set.least_armature(j).max(0.0))
}

/// The first joint with a reading that is no number.
fn unread(measured: Measured<'_>) -> Option<usize> {
    measured.q.iter().zip(measured.dq).position(|(q, dq)| !(q.is_finite() && dq.is_finite()))
}

impl Controller for SupervisedController {
    /// Readings that the caller does not believe are to be NaN. During the stop the desired motion counts for nothing, and the energies are 0.
    fn tick(&mut self, t: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        if !self.started {
            // A joint whose first reading is lost stands where it is said to.
            self.stop.remember(Measured { q: &desired.q, dq: &desired.dq });
            self.started = true;
        }
        if let Some(joint) = unread(measured) {
            self.stop(StopReason::Reading { joint });
        }
        let mut told = Tick { energy_j: 0.0, energy_floor_j: 0.0, saturated: false };
        if self.stopped.is_none() {
            self.stop.remember(measured);
            let (tick, objection) = self.command(t, measured, desired, tau);
            told = tick;
            match (objection, &self.law) {
                (Some(reason), _) => self.stop(reason),
                (None, Law::Energy(law)) => self.stop.learn(|j| law.needed_beyond_nominal(j)),
                (None, Law::Momentum(law)) => self.stop.learn(|j| law.needed_beyond_nominal(j)),
            }
        }
        if self.stopped.is_some() {
            told.saturated = self.stop.tick(measured, tau);
        }
        self.commanded.copy_from_slice(tau);
        if let (None, Law::Energy(law)) = (self.stopped, &self.law) {
            // A stop begins with what the drives applied.
            self.commanded.iter_mut().enumerate().for_each(|(j, tau)| *tau += law.in_motor(j));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::stop::RAMP_S;
    use crate::reach::fixture;

    const Q: [f64; 7] = [0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5];

    fn supervised(v_max: f64) -> (Arc<Arm>, SupervisedController) {
        let robot = Arc::new(crate::robot::load("kinova_gen3_2f85").unwrap());
        let mut tube = fixture::tube(&robot);
        tube.gains.v_max = v_max;
        let controller =
            SupervisedController::new(robot.clone(), &ParameterSet::around_nominal(&robot), &tube);
        (robot, controller)
    }

    /// Ticks at rest, then `wrong` until it stops, then at rest again; why it stopped. The torques go on without a jump, and back to the law it never goes.
    fn stopped_by(v_max: f64, wrong: impl Fn(usize, &mut JointState, &mut JointState)) -> StopReason {
        let (robot, mut controller) = supervised(v_max);
        let rest = JointState::at_rest(&Q);
        let (mut tau, mut before, mut stopped) = ([0.0; 7], [f64::NAN; 7], None);
        for tick in 0..400 {
            let (mut desired, mut measured) = (rest.clone(), rest.clone());
            if tick >= 100 && controller.stopped().is_none() {
                wrong(tick, &mut desired, &mut measured);
            }
            controller.tick(0.0, Measured { q: &measured.q, dq: &measured.dq }, &desired, &mut tau);
            assert!(tick >= 100 || controller.stopped().is_none());
            for j in 0..7 {
                let limit = robot.joints[j].limits.torque;
                let step = limit * robot.gains().period_s / RAMP_S * (1.0 + 1e-12);
                assert!(tau[j].abs() <= limit);
                assert!(controller.stopped().is_none() || (tau[j] - before[j]).abs() <= step);
            }
            (before, stopped) = (tau, stopped.or(controller.stopped()));
            assert_eq!(controller.stopped(), stopped);
        }
        stopped.expect("a stop")
    }

    #[test]
    fn each_sign_that_the_tube_is_lost_stops_it_for_good_and_without_a_jump() {
        let energy = stopped_by(1.2e-3, |_, _, measured| measured.dq[1] = 0.1);
        assert!(matches!(energy, StopReason::Energy { floor_j } if floor_j > 1.2e-3), "{energy:?}");
        let unread = stopped_by(1.2e-3, |_, _, measured| measured.q[4] = f64::NAN);
        assert_eq!(unread, StopReason::Reading { joint: 4 });
        let saturated = stopped_by(1.2e-3, |_, desired, _| desired.ddq[5] = 100.0);
        assert_eq!(saturated, StopReason::Saturation { joint: 5 });
        // In a tube so wide that the energy says nothing.
        let sign = |tick: usize| if tick.is_multiple_of(2) { 1.0 } else { -1.0 };
        let chatter = stopped_by(1e6, |tick, _, measured| measured.dq[6] = 0.5 * sign(tick));
        assert_eq!(chatter, StopReason::Chatter { joint: 6 });
    }

    /// As long as nothing is wrong it is the robust law.
    #[test]
    fn without_a_sign_it_is_the_law() {
        let (robot, mut supervised) = supervised(1.2e-3);
        let mut law = RobustController::new(
            robot.clone(),
            &ParameterSet::around_nominal(&robot),
            &fixture::tube(&robot),
        );
        let mut tube = fixture::tube(&robot);
        tube.gains.v_max = 1.2e-3;
        law.switch(Arc::new(PreparedSet::new(&robot, &ParameterSet::around_nominal(&robot))), &tube);
        let (mut ours, mut right) = ([0.0; 7], [0.0; 7]);
        for tick in 0..200 {
            let mut desired = JointState::at_rest(&Q);
            desired.dq = vec![0.01; 7];
            let dq: Vec<f64> = (0..7).map(|j| 0.01 + 4e-3 * ((tick * (j + 2)) as f64).sin()).collect();
            let measured = Measured { q: &desired.q, dq: &dq };
            let (a, b) = (
                supervised.tick(0.0, measured, &desired, &mut ours),
                law.tick(0.0, measured, &desired, &mut right),
            );
            assert_eq!((a, ours), (b, right));
        }
        assert_eq!(supervised.stopped(), None);
    }
}
