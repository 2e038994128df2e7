//! The robust law with a supervisor: while the tube can be believed the law commands, and from the first sign that it cannot, the gentle stop.
//!
//! This is a Simplex architecture (\[20\] in `docs/bibliography.md`): a proven controller, a monitor, and a plain controller to fall back to. The decision is taken within the tick
//! whose reading shows it, so the law's torques of that tick are never commanded. It is never taken back.

use std::sync::Arc;

use crate::inertia::ParameterSet;
use crate::reach::{PreparedSet, Tube};
use crate::robot::Arm;
use crate::trajectory::JointState;

use super::chatter::ChatterWatch;
use super::stop::GentleStop;
use super::{Controller, Measured, RobustController, StartFault, Tick, broken_above_j};

/// Why the law commands no more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StopReason {
    /// V is at least this (J), more than the tube allows.
    Energy {
        /// Lower bound of V, J.
        floor_j: f64,
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

/// [`RobustController`], [`ChatterWatch`] and [`GentleStop`] in one. The tick neither allocates nor panics.
#[derive(Debug, Clone)]
pub struct SupervisedController {
    robot: Arc<Arm>,
    law: RobustController,
    stop: GentleStop,
    watch: ChatterWatch,
    /// Above this lower bound of V (J) the tube is lost.
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
        Self {
            law: RobustController::with_prepared(robot.clone(), set.clone(), tube),
            stop: GentleStop::new(robot.clone(), set, tube),
            watch: ChatterWatch::new(&robot),
            broken_above_j: broken_above_j(tube),
            commanded: vec![f64::NAN; robot.dof()],
            started: false,
            stopped: None,
            robot,
        }
    }

    /// Switches to the set and tube of the next certified plan, as [`RobustController::switch`] does. A stop goes on.
    pub fn switch(&mut self, set: Arc<PreparedSet>, tube: &Tube) -> Arc<PreparedSet> {
        self.broken_above_j = broken_above_j(tube);
        // The law's own reference to the set before keeps it: nothing is let go here.
        drop(self.stop.switch(set.clone(), tube));
        self.law.switch(set, tube)
    }

    /// [`RobustController::start_fault`].
    pub fn start_fault(&mut self, measured: Measured<'_>, desired: &JointState) -> Option<StartFault> {
        self.law.start_fault(measured, desired)
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

    /// What the law's torques `tau` and the reading say against the tube.
    fn objection(&mut self, tick: &Tick, measured: Measured<'_>, tau: &[f64]) -> Option<StopReason> {
        let chatters = self.watch.tick(tau, measured.dq);
        if tick.energy_floor_j > self.broken_above_j {
            return Some(StopReason::Energy { floor_j: tick.energy_floor_j });
        }
        if tick.saturated {
            let share = |j: usize| tau[j].abs() / self.robot.joints[j].limits.torque;
            let joint = (0..tau.len()).fold(0, |most, j| if share(j) > share(most) { j } else { most });
            return Some(StopReason::Saturation { joint });
        }
        chatters.map(|joint| StopReason::Chatter { joint })
    }
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
            told = self.law.tick(t, measured, desired, tau);
            match self.objection(&told, measured, tau) {
                Some(reason) => self.stop(reason),
                None => self.stop.learn(|j| self.law.needed_beyond_nominal(j)),
            }
        }
        if self.stopped.is_some() {
            told.saturated = self.stop.tick(measured, tau);
        }
        self.commanded.copy_from_slice(tau);
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
