//! The node: joint states in, services and the action answered, one after the other in one thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ros2_client::action::{GoalId, GoalStatusEnum};
use ros2_client::dds::rustdds::mio1::{Events, Interest, Poll, Token};
use ros2_client::{ReadError, RmwRequestId};
use surelift::plan::Plan;
use surelift::robot::Arm;

use crate::answers::Answers;
use crate::execution::{Execution, Step};
use crate::joint_states::{JointReading, JointStateReader};
use crate::knowledge::Knowledge;
use crate::messages::{
    DiagnosticArray, DiagnosticStatus, FollowFeedback, FollowResult, Header, JointState,
    JointTrajectoryPoint, Text, TriggerResponse,
};
use crate::planning::{Aim, TrajectoryPlanner};
use crate::replies;
use crate::wires::{TriggerServer, Wires, now, tell_lost};

/// How often services are looked at while no joint states come.
const LOOK: Duration = Duration::from_millis(5);
/// An execution without joint states is given up after so long.
const SILENCE: Duration = Duration::from_secs(2);
/// The same fault is told again after so long.
const AGAIN: Duration = Duration::from_secs(1);
/// The arm rests if no joint is faster than its encoder's error and this, rad/s (m/s).
const RESTS: f64 = 1e-3;
/// Feedback comes every so many commands.
const FEEDBACK: u64 = 20;
/// Results are kept of so many goals.
const RESULTS: usize = 100;

/// One of the services.
type Which = fn(&Wires) -> &TriggerServer;
/// The action's two services that are answered.
const SEND_GOAL: &str = "execute/_action/send_goal";
const GET_RESULT: &str = "execute/_action/get_result";
/// What it does: what was found, or why not.
type Call = fn(&mut SureliftNode) -> Result<String, String>;

/// A goal under execution.
struct Goal {
    id: GoalId,
    execution: Execution,
    heard: Instant,
    commands: u64,
}

/// The last proven trajectory.
struct Proven {
    plan: Arc<Plan>,
    digest: String,
}

/// All that the node is.
pub struct SureliftNode {
    robot: Arc<Arm>,
    wires: Wires,
    reader: JointStateReader,
    knowledge: Knowledge,
    planner: TrajectoryPlanner,
    aim: Option<Vec<f64>>,
    last: Option<JointReading>,
    proven: Option<Proven>,
    running: Option<Goal>,
    ended: BTreeMap<GoalId, (GoalStatusEnum, FollowResult)>,
    waiting: Vec<(RmwRequestId, GoalId)>,
    /// The node's name, below which its services lie.
    name: String,
    answers: Answers,
    told: (String, Option<Instant>),
    refused: u64,
}

/// The names of an arm's joints.
pub fn joint_names(robot: &Arm) -> Vec<String> {
    robot.joints.iter().map(|joint| joint.name.clone()).collect()
}

impl SureliftNode {
    /// A node that has heard nothing yet; `aim` is the goal that counts until another one comes, rad (m).
    pub fn new(
        robot: Arc<Arm>,
        name: String,
        wires: Wires,
        knowledge: Knowledge,
        planner: TrajectoryPlanner,
        aim: Option<Vec<f64>>,
    ) -> Self {
        let reader = JointStateReader::new(joint_names(&robot));
        let (ended, waiting) = (BTreeMap::new(), vec![]);
        let told = (String::new(), None);
        let (last, proven, running, refused) = (None, None, None, 0);
        let answers = Answers::new(wires.participant.clone());
        Self {
            robot,
            name,
            answers,
            wires,
            reader,
            knowledge,
            planner,
            aim,
            last,
            proven,
            running,
            ended,
            waiting,
            told,
            refused,
        }
    }

    /// Works until it is asked to end; an execution is not cut off.
    ///
    /// # Errors
    /// What the system says of waiting.
    pub fn run(&mut self, ends: &dyn Fn() -> bool) -> std::io::Result<()> {
        let mut poll = Poll::new()?;
        poll.registry().register(&mut self.wires.joint_states, Token(0), Interest::READABLE)?;
        let mut events = Events::with_capacity(16);
        if self.knowledge.holds() {
            self.tell_payload();
        }
        while self.running.is_some() || !ends() {
            match poll.poll(&mut events, Some(LOOK)) {
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            self.hear_states();
            self.hear_goals();
            self.serve();
            self.follow();
            self.answers.send(&self.wires);
        }
        Ok(())
    }

    fn hear_states(&mut self) {
        loop {
            match self.wires.joint_states.take() {
                Ok(Some((message, _))) => self.hear(&message),
                Ok(None) => return,
                Err(error) => {
                    self.refuse("joint_states", &unreadable(&error));
                    return;
                }
            }
        }
    }

    fn hear(&mut self, message: &JointState) {
        match self.reader.read(message) {
            Ok(None) => {}
            Ok(Some(reading)) => {
                self.knowledge.hear(&reading);
                self.last = Some(reading.clone());
                self.step(|execution| execution.answer(&reading), &reading);
            }
            Err(fault) => {
                self.refuse("joint_states", &fault.to_string());
                let begun = self.running.as_ref().is_some_and(|goal| goal.execution.has_begun());
                if let Some(last) = self.last.clone().filter(|_| begun) {
                    // Answered all the same, under the stamp that it has.
                    let reading = JointReading { stamp: message.header.stamp, ..last };
                    self.last = Some(reading.clone());
                    self.step(Execution::answer_nothing, &reading);
                }
            }
        }
    }

    /// One step of the execution, if there is one.
    fn step(&mut self, answer: impl FnOnce(&mut Execution) -> Step, reading: &JointReading) {
        let broken = self.knowledge.broken().map(str::to_owned);
        let Some(goal) = &mut self.running else { return };
        goal.heard = Instant::now();
        match answer(&mut goal.execution) {
            Step::Command(effort) => {
                goal.commands += 1;
                let header = Header { stamp: reading.stamp, frame_id: String::new() };
                let name = joint_names(&self.robot);
                let command = JointState { header, name, effort, ..JointState::default() };
                tell_lost(self.wires.commands.publish(command), "command");
                if goal.commands.is_multiple_of(FEEDBACK) {
                    let feedback = feedback(&self.robot, &goal.execution, reading);
                    self.wires.feed_back(goal.id, feedback);
                }
            }
            Step::Done => self.end(None),
            Step::Stopped(reason) => self.end(Some(broken.unwrap_or(reason))),
        }
    }

    /// The execution is over: the arm's own drives hold it from now on.
    fn end(&mut self, fault: Option<String>) {
        let Some(goal) = self.running.take() else { return };
        let header =
            Header { stamp: self.last.as_ref().map_or_else(now, |last| last.stamp), ..Header::default() };
        let hands_back = JointState { header, name: joint_names(&self.robot), ..JointState::default() };
        tell_lost(self.wires.commands.publish(hands_back), "command");
        self.knowledge.rests();
        let (status, result) = match fault {
            None => {
                self.planner.executed(goal.execution.plan());
                (
                    GoalStatusEnum::Succeeded,
                    FollowResult { error_code: FollowResult::SUCCESSFUL, error_string: String::new() },
                )
            }
            Some(error_string) => {
                self.refuse("execute", &error_string);
                let error_code = FollowResult::PATH_TOLERANCE_VIOLATED;
                (GoalStatusEnum::Aborted, FollowResult { error_code, error_string })
            }
        };
        // The trajectory starts where the arm was.
        self.proven = None;
        if self.ended.len() >= RESULTS {
            self.ended.clear();
        }
        self.ended.insert(goal.id, (status, result));
        self.answer_waiting();
    }

    fn answer_waiting(&mut self) {
        for (request, id) in std::mem::take(&mut self.waiting) {
            match self.ended.get(&id).cloned() {
                Some(end) => self.answer_result(request, end),
                None => self.waiting.push((request, id)),
            }
        }
    }

    fn answer_result(&mut self, request: RmwRequestId, end: (GoalStatusEnum, FollowResult)) {
        self.answer(GET_RESULT, move |wires| wires.answer_result(request, end));
    }

    /// Answers as soon as whoever asked can hear it.
    fn answer(&mut self, service: &str, send: impl FnOnce(&Wires) + 'static) {
        self.answers.add(format!("/{}/{service}", self.name), send);
    }

    fn hear_goals(&mut self) {
        while let Ok(Some((message, _))) = self.wires.goal.take() {
            match goal_positions(&self.robot, &message) {
                Ok(goal) => self.aim = Some(goal),
                Err(fault) => self.refuse("goal", &fault),
            }
        }
    }

    fn serve(&mut self) {
        let calls: [(&str, Which, Call); 4] = [
            ("identify", |wires| &wires.identify, Self::identify),
            ("plan", |wires| &wires.plan, |node| node.plan(false)),
            ("plan_learning", |wires| &wires.plan_learning, |node| node.plan(true)),
            ("reset", |wires| &wires.reset, Self::reset),
        ];
        for (name, server, call) in calls {
            while let Ok(Some((request, _))) = server(&self.wires).receive_request() {
                let answer = match self.running {
                    Some(_) => Err("a trajectory is executed; ask again when it has ended".to_owned()),
                    None => call(self),
                };
                let success = answer.is_ok();
                let message = answer.unwrap_or_else(|fault| fault);
                let response = TriggerResponse { success, message };
                self.answer(name, move |wires| {
                    tell_lost(server(wires).send_response(request, response), "response");
                });
            }
        }
    }

    fn identify(&mut self) -> Result<String, String> {
        let bounds = self.knowledge.identify().map_err(|fault| fault.to_string())?;
        self.tell_payload();
        Ok(bounds.to_string())
    }

    fn tell_payload(&self) {
        let (bounds, stamp) = (self.knowledge.payload(), now());
        tell_lost(self.wires.payload.publish(replies::payload(&bounds, stamp)), "payload");
        let told = replies::payload_bounds(&bounds, &self.robot.name, stamp);
        tell_lost(self.wires.payload_bounds.publish(told), "bounds of the payload");
    }

    fn reset(&mut self) -> Result<String, String> {
        self.knowledge.reset().map_err(|error| error.to_string())?;
        self.planner.reset();
        self.reader.forget();
        (self.proven, self.last) = (None, None);
        if self.knowledge.holds() {
            self.tell_payload();
        }
        Ok("nothing is known but what was stated".to_owned())
    }

    fn plan(&mut self, learns: bool) -> Result<String, String> {
        if let Some(broken) = self.knowledge.broken() {
            return Err(format!("an assumption is broken: {broken}; ~/reset forgets it"));
        }
        let last = self.last.as_ref().ok_or("no joint states have come yet")?;
        let fastest = |j: &usize| last.dq[*j].abs() > self.robot.sensors().velocity_rad_s + RESTS;
        if let Some(j) = (0..self.robot.dof()).find(fastest) {
            return Err(format!("joint '{}' moves: trajectories start from rest", self.robot.joints[j].name));
        }
        let aim = match (&self.aim, learns) {
            (_, true) if !self.knowledge.holds() => {
                return Err("nothing is held: there is nothing to learn".to_owned());
            }
            (_, true) => Aim::Learn,
            (Some(goal), false) => Aim::Goal(goal),
            (None, false) => {
                return Err("no goal: none in a scenario, and none has come on ~/goal".to_owned());
            }
        };
        let plan = self.planner.plan(&aim, self.knowledge.set(), &last.q)?;
        let file = serde_json::to_string(&plan).map_err(|error| error.to_string())?;
        let (trajectory, stamp) = (replies::trajectory(&plan), now());
        let digest = replies::digest(&trajectory);
        let certificate = replies::certificate(&plan, &trajectory, &file, stamp);
        tell_lost(self.wires.plan_file.publish(Text { data: file }), "plan file");
        tell_lost(self.wires.certificate.publish(certificate), "certificate");
        tell_lost(self.wires.trajectory.publish(trajectory), "trajectory");
        self.proven = Some(Proven { plan: Arc::new(plan), digest: digest.clone() });
        Ok(format!("proven: trajectory {digest}"))
    }

    /// Goals, results and wishes to cancel.
    fn follow(&mut self) {
        while let Ok(Some((request, goal))) = self.wires.execute.receive_goal() {
            let fault = self.begin(goal.goal_id, &replies::digest(&goal.goal.trajectory)).err();
            if let Some(fault) = &fault {
                self.refuse("execute", fault);
            }
            let accepted = fault.is_none();
            self.answer(SEND_GOAL, move |wires| wires.answer_goal(request, accepted));
        }
        while let Ok(Some((request, wanted))) = self.wires.execute.receive_result_request() {
            let known = self.running.as_ref().is_some_and(|goal| goal.id == wanted.goal_id);
            if known || self.ended.contains_key(&wanted.goal_id) {
                self.waiting.push((request, wanted.goal_id));
            } else {
                self.answer_result(request, (GoalStatusEnum::Unknown, FollowResult::default()));
            }
        }
        self.answer_waiting();
        let silent = |goal: &Goal| goal.heard.elapsed() > SILENCE;
        if self.running.as_ref().is_some_and(silent) {
            self.end(Some(format!("no joint state has come for {} s", SILENCE.as_secs())));
        }
    }

    /// Begins to execute the trajectory with this digest, if it is the one that was proven.
    fn begin(&mut self, id: GoalId, digest: &str) -> Result<(), String> {
        if self.running.is_some() {
            return Err("a trajectory is executed already".to_owned());
        }
        if let Some(broken) = self.knowledge.broken() {
            return Err(format!("an assumption is broken: {broken}"));
        }
        let proven = self.proven.as_ref().ok_or("no trajectory was proven since the arm moved")?;
        if proven.digest != digest {
            return Err(format!("not the trajectory that was proven last, {}", proven.digest));
        }
        let plan = proven.plan.clone();
        let bound = plan.tube.acceleration_bound().to_vec();
        let execution = Execution::new(self.robot.clone(), plan).ok_or("a plan of another law")?;
        self.knowledge.executes(&bound);
        self.running = Some(Goal { id, execution, heard: Instant::now(), commands: 0 });
        Ok(())
    }

    /// Tells a fault, the same one not too often.
    fn refuse(&mut self, what: &str, fault: &str) {
        self.refused += 1;
        let text = format!("{what}: {fault}");
        let (before, at) = &self.told;
        if *before == text && at.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        eprintln!("surelift_node: {text}");
        let status = DiagnosticStatus {
            level: DiagnosticStatus::ERROR,
            name: format!("surelift: {what}"),
            message: fault.to_owned(),
            hardware_id: self.robot.name.clone(),
            values: vec![crate::messages::KeyValue {
                key: "refused".to_owned(),
                value: self.refused.to_string(),
            }],
        };
        let header = Header { stamp: now(), frame_id: String::new() };
        tell_lost(
            self.wires.diagnostics.publish(DiagnosticArray { header, status: vec![status] }),
            "diagnostics",
        );
        self.told = (text, Some(Instant::now()));
    }
}

fn unreadable(error: &ReadError) -> String {
    format!("a message that cannot be read: {error}")
}

/// The positions of a goal, in the order of the arm's joints.
fn goal_positions(robot: &Arm, message: &JointState) -> Result<Vec<f64>, String> {
    let still = JointState { velocity: vec![0.0; message.name.len()], effort: vec![], ..message.clone() };
    let read = JointStateReader::new(joint_names(robot)).read(&still).map_err(|fault| fault.to_string())?;
    let goal = read.ok_or("names none of the arm's joints")?.q;
    for (joint, x) in robot.joints.iter().zip(&goal) {
        if let Some((lower, upper)) = joint.limits.position
            && !(lower <= *x && *x <= upper)
        {
            return Err(format!("joint '{}' at {x}, expected within [{lower:.4}, {upper:.4}]", joint.name));
        }
    }
    Ok(goal)
}

fn feedback(robot: &Arm, execution: &Execution, reading: &JointReading) -> FollowFeedback {
    let desired = execution.desired();
    let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
    let point = |positions, velocities| JointTrajectoryPoint {
        positions,
        velocities,
        ..JointTrajectoryPoint::default()
    };
    FollowFeedback {
        header: Header { stamp: reading.stamp, frame_id: String::new() },
        joint_names: joint_names(robot),
        desired: point(desired.q.clone(), desired.dq.clone()),
        actual: point(reading.q.clone(), reading.dq.clone()),
        error: point(minus(&desired.q, &reading.q), minus(&desired.dq, &reading.dq)),
        ..FollowFeedback::default()
    }
}
