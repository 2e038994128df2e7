//! One plan, followed tick by tick by a program that has a loop of its own.
//!
//! [`crate::horizon`] does more: chains of plans, the encoders' watch, the safe stop. This is what remains for those who call a controller from their own loop, in
//! this language or another: the law, its supervisor, and a watch over the caller's clock.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::control::{Controller, Measured, StartFault, StopReason, SupervisedController, Tick};
use crate::trajectory::{JointState, PiecewiseBezier};

use super::saved::{Plan, PlanStart};

/// Two ticks farther apart than this many periods have one missing between them, as in recordings.
const GAP: f64 = 1.5;

/// A plan that a [`Follower`] cannot follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FollowError {
    /// It is proven for the momentum law.
    #[error("the plan is of the momentum law, which the library's loop runs; expected one of the first law")]
    Law,
    /// Its feedback runs in the motors, which torques do not reach.
    #[error(
        "the plan's feedback runs in the motors (`tube.motor_loops`), which the library's loop tells of it; expected one whose feedback is in the torques"
    )]
    MotorLoops,
    /// It goes on from a plan before it.
    #[error("the plan starts in motion, after another one; expected one that starts at rest")]
    InMotion,
}

/// The law under which a plan is proven, as long as its tube can be believed; the gentle stop from then on. A tick neither allocates nor panics, as long as vectors have one
/// entry a joint.
#[derive(Debug, Clone)]
pub struct Follower {
    controller: SupervisedController,
    curve: PiecewiseBezier,
    desired: JointState,
    period_s: f64,
    /// Time of the last tick, s; one period before the plan, at first.
    last_s: f64,
    /// Whether `tracing` has been told why the arm is stopped.
    told: OnceLock<()>,
}

impl Follower {
    /// Follows `plan` from its start.
    ///
    /// # Errors
    /// [`FollowError`] for a plan of the second law, one whose feedback runs in the motors, or one that starts in motion.
    pub fn new(plan: &Plan) -> Result<Self, FollowError> {
        let tube = plan.tube.energy().ok_or(FollowError::Law)?;
        if tube.motor_loops.is_some() {
            return Err(FollowError::MotorLoops);
        }
        if plan.start != PlanStart::Rest {
            return Err(FollowError::InMotion);
        }
        let period_s = plan.robot.gains().period_s;
        Ok(Self {
            controller: SupervisedController::new(Arc::new(plan.robot.clone()), &plan.set, tube),
            desired: plan.curve.state(0.0),
            curve: plan.curve.clone(),
            period_s,
            last_s: -period_s,
            told: OnceLock::new(),
        })
    }

    /// Number of joints.
    pub fn dof(&self) -> usize {
        self.desired.q.len()
    }

    /// Whether the arm may be released into the plan, from the readings before its first tick: assumption A4. `None` if it may.
    pub fn start_fault(&mut self, measured: Measured<'_>) -> Option<StartFault> {
        self.curve.evaluate(0.0, &mut self.desired);
        self.controller.start_fault(measured, &self.desired)
    }

    /// Torques (N m) for the tick `t` seconds after the plan's start, held until the next one; `tau` has one entry a joint. The first tick is at 0, and ticks are one control
    /// period apart: a time that is none, goes back, or leaves a tick out stops the arm ([`StopReason::Clock`]). So do readings that are no numbers.
    pub fn tick(&mut self, t: f64, measured: Measured<'_>, tau: &mut [f64]) -> Tick {
        let passed_s = t - self.last_s;
        if t >= 0.0 && passed_s > 0.0 && passed_s < GAP * self.period_s {
            self.last_s = t;
            self.curve.evaluate(t, &mut self.desired);
        } else {
            self.controller.stop(StopReason::Clock { passed_s });
        }
        self.controller.tick(t, measured, &self.desired, tau)
    }

    /// Stops from the next tick on; the first reason counts.
    pub fn stop(&mut self, reason: StopReason) {
        self.controller.stop(reason);
    }

    /// Why the arm is stopped, if it is. The first call that finds it stopped tells `tracing`; nothing is told within a tick.
    pub fn stopped(&self) -> Option<StopReason> {
        let stopped = self.controller.stopped();
        if let Some(reason) = stopped {
            let t = self.last_s;
            self.told.get_or_init(|| tracing::warn!(t, ?reason, "assumption broken"));
        }
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::stop::RAMP_S;
    use crate::inertia::ParameterSet;
    use crate::robot::Scene;
    use crate::trajectory::Bezier;

    fn plan() -> Plan {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
        let curve = Bezier::to_rest(&start, &[0.3, 0.2, 3.0, -1.6, 0.3, 0.7, 1.2], 3.0).unwrap();
        let set = ParameterSet::around_nominal(&robot);
        Plan::prove_from_rest(&robot, &set, &Scene::default(), curve.into()).unwrap()
    }

    /// Ticks on time for 0.1 s and on the curve, then one at `t`; why it stopped.
    fn stopped_by(plan: &Plan, t: f64) -> Option<StopReason> {
        let (mut follower, mut tau) = (Follower::new(plan).unwrap(), vec![0.0; 7]);
        let limit = plan.robot.joints[0].limits.torque;
        let mut tick = |t: f64, at: f64, tau: &mut Vec<f64>| {
            let state = plan.curve.state(at);
            follower.tick(t, Measured { q: &state.q, dq: &state.dq }, tau);
            follower.stopped()
        };
        for k in 0..=100 {
            assert_eq!(tick(1e-3 * f64::from(k), 1e-3 * f64::from(k), &mut tau), None);
        }
        let before = tau.clone();
        let stopped = tick(t, 0.101, &mut tau);
        assert!((tau[0] - before[0]).abs() <= limit * 1e-3 / RAMP_S * (1.0 + 1e-12) || stopped.is_none());
        assert!(tau.iter().all(|x| x.is_finite()));
        stopped
    }

    #[test]
    fn a_clock_that_is_none_goes_back_or_leaves_ticks_out_stops_the_arm() {
        let plan = plan();
        for t in [0.101, 0.1005, 0.1014] {
            assert_eq!(stopped_by(&plan, t), None, "{t}");
        }
        for t in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.1, 0.0, 0.1016, 3.0] {
            let stop = stopped_by(&plan, t);
            assert!(matches!(stop, Some(StopReason::Clock { .. })), "{t}: {stop:?}");
        }
    }

    #[test]
    fn a_plan_begins_with_its_start() {
        let plan = plan();
        let (mut tau, at) = (vec![0.0; 7], plan.curve.state(0.5));
        let there = Measured { q: &at.q, dq: &at.dq };
        let mut follower = Follower::new(&plan).unwrap();
        assert!(follower.start_fault(there).is_some());
        let rest = plan.curve.state(0.0);
        assert_eq!(follower.start_fault(Measured { q: &rest.q, dq: &rest.dq }), None);
        follower.tick(0.5, there, &mut tau);
        assert!(matches!(follower.stopped(), Some(StopReason::Clock { .. })));
        assert!(tau.iter().all(|x| x.is_finite()));
    }

    #[test]
    fn other_plans_are_refused() {
        let moving = Plan { start: PlanStart::AfterTicks(500), ..plan() };
        assert_eq!(Follower::new(&moving).unwrap_err(), FollowError::InMotion);
    }
}
