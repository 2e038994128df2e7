//! A proven trajectory under execution: one command for each joint state.

use std::sync::Arc;

use surelift::control::{Controller, Measured, StopReason, SupervisedController};
use surelift::plan::Plan;
use surelift::robot::Arm;
use surelift::trajectory::JointState;

use crate::joint_states::JointReading;

/// For so long the law holds the arm past the end of the trajectory, s.
const HOLD_S: f64 = 0.05;
/// Two stamps are one control period apart, give or take this share of it: what the identifier allows, too.
const UNEVEN: f64 = 1e-3;
/// A stop is over when all joints have been slower than this, rad/s (m/s), for so long, s; or in any case after so long, s.
const SLOW: f64 = 1e-2;
const STANDS_S: f64 = 0.1;
const LONGEST_STOP_S: f64 = 3.0;

/// What comes of a joint state.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Efforts to be held until the next joint state, N m (N).
    Command(Vec<f64>),
    /// The trajectory is over, and the arm rests at its end.
    Done,
    /// The arm was stopped, or never moved; why.
    Stopped(String),
}

/// One trajectory, from its first joint state to its last.
pub struct Execution {
    robot: Arc<Arm>,
    plan: Arc<Plan>,
    controller: SupervisedController,
    desired: JointState,
    effort: Vec<f64>,
    /// Commands so far.
    ticks: u64,
    last_t: f64,
    /// Since when the stop goes on, and for how long all joints have been slow, s.
    stopping: Option<(f64, f64)>,
}

impl Execution {
    /// Of a plan of the first law, from rest, whose feedback is in the torques; `None` for another one.
    pub fn new(robot: Arc<Arm>, plan: Arc<Plan>) -> Option<Self> {
        let tube = plan.tube.energy().filter(|tube| tube.motor_loops.is_none())?;
        let controller = SupervisedController::new(robot.clone(), &plan.set, tube);
        let desired = plan.curve.state(0.0);
        let effort = vec![0.0; robot.dof()];
        Some(Self { robot, plan, controller, desired, effort, ticks: 0, last_t: 0.0, stopping: None })
    }

    /// What is executed.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Where the arm ought to be, in the middle of everything.
    pub fn desired(&self) -> &JointState {
        &self.desired
    }

    /// The law's answer to a joint state.
    pub fn answer(&mut self, reading: &JointReading) -> Step {
        let measured = Measured { q: &reading.q, dq: &reading.dq };
        if self.ticks == 0
            && let Some(fault) = self.controller.start_fault(measured, &self.desired)
        {
            let name = &self.robot.joints[fault.joint].name;
            return Step::Stopped(format!(
                "the arm is not where the trajectory starts: joint '{name}' is {:.2e} away from it",
                fault.error_rad
            ));
        }
        let period = self.robot.gains().period_s;
        let passed_s = reading.t - self.last_t;
        if self.ticks > 0 && !((passed_s - period).abs() <= UNEVEN * period) {
            self.controller.stop(StopReason::Clock { passed_s });
        }
        self.last_t = reading.t;
        self.tick(&reading.q, &reading.dq)
    }

    /// Whether a command was given.
    pub fn has_begun(&self) -> bool {
        self.ticks > 0
    }

    /// The answer to a joint state that cannot be used, once commands are given: no joint is believed any more.
    pub fn answer_nothing(&mut self) -> Step {
        let lost = vec![f64::NAN; self.robot.dof()];
        self.last_t += self.robot.gains().period_s;
        self.tick(&lost, &lost)
    }

    fn tick(&mut self, q: &[f64], dq: &[f64]) -> Step {
        let duration_s = self.plan.curve.duration_s();
        let t = self.plan.tube.time_of_tick(duration_s, self.ticks);
        if self.stopping.is_none() && self.ticks as f64 * self.plan.tube.period_s() >= duration_s + HOLD_S {
            return Step::Done;
        }
        self.plan.curve.evaluate(t, &mut self.desired);
        self.controller.tick(t, Measured { q, dq }, &self.desired, &mut self.effort);
        self.ticks += 1;
        match self.controller.stopped() {
            Some(reason) if self.has_come_to_a_stop(dq) => Step::Stopped(self.told(reason)),
            _ => Step::Command(self.effort.clone()),
        }
    }

    /// Counts how long the stop has gone on.
    fn has_come_to_a_stop(&mut self, dq: &[f64]) -> bool {
        let period = self.robot.gains().period_s;
        let (long, calm) = self.stopping.get_or_insert((0.0, 0.0));
        // What is not believed tells nothing.
        *calm = if dq.iter().all(|dq| dq.abs() < SLOW) { *calm + period } else { 0.0 };
        *long += period;
        *calm >= STANDS_S || *long >= LONGEST_STOP_S
    }

    fn told(&self, reason: StopReason) -> String {
        let name = |j: usize| &self.robot.joints[j].name;
        match reason {
            StopReason::Energy { floor_j } => {
                format!(
                    "the tracking error's energy is at least {floor_j:.2e} J, more than was proven possible"
                )
            }
            StopReason::Momentum { joint, share } => {
                format!(
                    "joint '{}': {share:.2} times the momentum error that was proven possible",
                    name(joint)
                )
            }
            StopReason::Clock { passed_s } => format!(
                "two joint states in a row are {passed_s:.6} s apart, expected the control period of {} s",
                self.robot.gains().period_s
            ),
            StopReason::Saturation { joint } => {
                format!("joint '{}': more than its effort limit was asked for", name(joint))
            }
            StopReason::Reading { joint } => format!("joint '{}': its state was lost", name(joint)),
            StopReason::Chatter { joint } => format!("joint '{}' chatters", name(joint)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Stamp;
    use crate::planning::{Aim, Limits, TrajectoryPlanner};
    use surelift::inertia::ParameterSet;
    use surelift::robot::{self, Scene};

    const START: [f64; 3] = [-0.8, 0.6, 0.9];

    fn execution() -> Execution {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/my_arm/my_arm.toml");
        let robot = Arc::new(robot::load(file).unwrap());
        let limits = Limits {
            scene: Scene::default(),
            duration_s: 3.0,
            carry_range: vec![0.3; 3],
            excite_range: vec![0.3; 3],
            seconds: 60.0,
        };
        let set = ParameterSet::around_nominal(&robot);
        let mut planner = TrajectoryPlanner::new(robot.clone(), limits);
        let plan = planner.plan(&Aim::Goal(&[-0.7, 0.6, 0.9]), &set, &START).unwrap();
        Execution::new(robot, Arc::new(plan)).unwrap()
    }

    fn at(t: f64, q: &[f64], dq: &[f64]) -> JointReading {
        JointReading { stamp: Stamp::default(), t, q: q.to_vec(), dq: dq.to_vec(), effort: None }
    }

    /// The answers to an arm that follows exactly, until `wrong` has its way with a reading; the last one.
    fn last(wrong: impl Fn(u64, JointReading) -> Option<JointReading>) -> (u64, Step) {
        let mut execution = execution();
        let plan = execution.plan().clone();
        for tick in 0..20_000 {
            let t = tick as f64 * 1e-3;
            let state = plan.curve.state(t.min(plan.curve.duration_s()));
            let moving = t < plan.curve.duration_s() && execution.controller.stopped().is_none();
            let dq = if moving { state.dq } else { vec![0.0; 3] };
            let step = match wrong(tick, at(t, &state.q, &dq)) {
                Some(reading) => execution.answer(&reading),
                None => execution.answer_nothing(),
            };
            match step {
                Step::Command(effort) => assert!(effort.iter().all(|x| x.is_finite())),
                end => return (tick, end),
            }
        }
        panic!("it never ends");
    }

    #[test]
    fn an_arm_that_follows_comes_to_the_end() {
        assert_eq!(last(|_, reading| Some(reading)), (3050, Step::Done));
    }

    #[test]
    fn what_goes_wrong_stops_it_and_is_told() {
        type Wrong = fn(u64, JointReading) -> Option<JointReading>;
        let cases: [(Wrong, u64, &str); 4] = [
            (|k, r| (k != 500).then_some(r), 500, "'waist': its state was lost"),
            (
                |k, r| Some(JointReading { t: r.t + if k >= 500 { 1e-3 } else { 0.0 }, ..r }),
                500,
                "0.002000 s apart",
            ),
            (
                |k, mut r| {
                    r.dq[1] += if k == 500 { 0.3 } else { 0.0 };
                    Some(r)
                },
                500,
                "energy",
            ),
            (
                |_, mut r| {
                    r.q[2] += 0.1;
                    Some(r)
                },
                0,
                "not where the trajectory starts: joint 'elbow'",
            ),
        ];
        for (wrong, after, told) in cases {
            let (tick, step) = last(wrong);
            let Step::Stopped(reason) = step else { panic!("{told}: {step:?}") };
            assert!(reason.contains(told) && tick >= after && tick < after + 200, "{tick}: {reason}");
        }
    }
}
