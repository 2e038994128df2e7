//! The node's topics, services and action on DDS.

use std::net::IpAddr;

use ros2_client::action::{
    ActionServerQosPolicies, FeedbackMessage, GetResultResponse, GoalId, GoalStatusEnum, SendGoalResponse,
};
use ros2_client::builtin_interfaces::Time;
use ros2_client::dds::rustdds::{DomainParticipant, DomainParticipantBuilder};
use ros2_client::qos::{Durability, History, QosProfile, Reliability, WhenFull};
use ros2_client::{
    ActionTypeName, Context, MessageTypeName, Name, Node, NodeName, NodeOptions, Publisher, RmwRequestId,
    Server, ServiceMapping, ServiceTypeName, Subscription, action,
};
use serde::Serialize;

use crate::messages::{
    DiagnosticArray, FollowFeedback, FollowGoal, FollowResult, InertiaStamped, JointState, JointTrajectory,
    Stamp, Text, TriggerRequest, TriggerResponse,
};

/// Joint states that may wait for the node: those of a second at 1 kHz.
const QUEUE: usize = 1000;

/// An action server of `control_msgs/FollowJointTrajectory`.
pub type FollowServer = action::ActionServer<FollowGoal, FollowResult, FollowFeedback>;
/// A server of `std_srvs/Trigger`.
pub type TriggerServer = Server<TriggerRequest, TriggerResponse>;

/// Where and how the node is on the network.
pub struct Place {
    /// `ROS_DOMAIN_ID`.
    pub domain: u16,
    /// Addresses of the interfaces that are used; all of them if none is named.
    pub interfaces: Vec<IpAddr>,
    /// How the peers' middleware puts services on DDS.
    pub mapping: ServiceMapping,
    /// The node's name; its topics and services lie below it.
    pub name: String,
    /// Topic of the joint states.
    pub joint_states: String,
    /// Whether joint states may be lost on the way.
    pub best_effort: bool,
}

/// Everything that the node hears and says.
pub struct Wires {
    /// Keeps the node known to others.
    _node: Node,
    /// Who is there.
    pub participant: DomainParticipant,
    /// `sensor_msgs/JointState` of the arm.
    pub joint_states: Subscription<JointState>,
    /// `sensor_msgs/JointState` whose positions are the goal.
    pub goal: Subscription<JointState>,
    /// `~/identify`
    pub identify: TriggerServer,
    /// `~/plan`
    pub plan: TriggerServer,
    /// `~/plan_learning`
    pub plan_learning: TriggerServer,
    /// `~/reset`
    pub reset: TriggerServer,
    /// `~/execute`
    pub execute: FollowServer,
    /// Efforts for the arm, stamped with the joint state that they answer.
    pub commands: Publisher<JointState>,
    /// Middle of what is proven of the payload.
    pub payload: Publisher<InertiaStamped>,
    /// What is proven of it.
    pub payload_bounds: Publisher<DiagnosticArray>,
    /// The last proven trajectory.
    pub trajectory: Publisher<JointTrajectory>,
    /// What is proven of it.
    pub certificate: Publisher<DiagnosticArray>,
    /// The plan file, for whoever proves it again.
    pub plan_file: Publisher<Text>,
    /// What went wrong.
    pub diagnostics: Publisher<DiagnosticArray>,
}

/// What a name or the network refuses, in words.
type Wired<T> = Result<T, String>;

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

const RELIABLE: Reliability = Reliability::Reliable { when_full: WhenFull::DEFAULT };

fn streamed() -> QosProfile {
    QosProfile::publisher_default().reliability(RELIABLE).history(History::KeepLast { depth: 10 })
}

/// The last message is for those who come later, too.
fn latched() -> QosProfile {
    streamed().durability(Durability::TransientLocal).history(History::KeepLast { depth: 1 })
}

/// Creates what lies below the node's name.
struct Maker {
    node: Node,
    mapping: ServiceMapping,
    below: String,
}

impl Maker {
    fn own(&self, name: &str) -> Wired<Name> {
        Name::new(&self.below, name).map_err(|e| format!("{}/{name}: {e:?}", self.below))
    }

    fn subscriber<D: 'static>(
        &mut self,
        name: &Name,
        kind: (&str, &str),
        qos: QosProfile,
    ) -> Wired<Subscription<D>> {
        let topic =
            self.node.create_topic(name, MessageTypeName::new(kind.0, kind.1), &qos).map_err(in_words)?;
        self.node.create_subscription(&topic, Some(qos)).map_err(in_words)
    }

    fn publisher<D: Serialize>(
        &mut self,
        name: &Name,
        kind: (&str, &str),
        qos: QosProfile,
    ) -> Wired<Publisher<D>> {
        let topic =
            self.node.create_topic(name, MessageTypeName::new(kind.0, kind.1), &qos).map_err(in_words)?;
        self.node.create_publisher(&topic, Some(qos)).map_err(in_words)
    }

    fn trigger(&mut self, name: &str) -> Wired<TriggerServer> {
        let (name, kind) = (self.own(name)?, ServiceTypeName::new("std_srvs", "Trigger"));
        self.node.create_server(self.mapping, &name, &kind, streamed(), streamed()).map_err(in_words)
    }

    fn follow(&mut self, name: &str) -> Wired<FollowServer> {
        let (name, kind) = (self.own(name)?, ActionTypeName::new("control_msgs", "FollowJointTrajectory"));
        let qos = ActionServerQosPolicies {
            goal_service: streamed(),
            result_service: streamed(),
            cancel_service: streamed(),
            feedback_publisher: streamed(),
            status_publisher: latched(),
        };
        self.node.create_action_server(self.mapping, &name, &kind, qos).map_err(in_words)
    }
}

impl Wires {
    /// Joins the network.
    ///
    /// # Errors
    /// A name that is none, or what DDS says.
    pub fn new(place: &Place) -> Wired<Self> {
        let mut participant = DomainParticipantBuilder::new(place.domain);
        if !place.interfaces.is_empty() {
            participant = participant.with_only_networks(place.interfaces.iter().copied());
        }
        let participant = participant.build().map_err(|e| format!("DDS: {e:?}"))?;
        let context = Context::from_domain_participant(participant.clone()).map_err(in_words)?;
        let name = NodeName::new("/", &place.name).map_err(|e| format!("--name {}: {e:?}", place.name))?;
        // Parameter services would speak one service mapping, whatever the peers speak.
        let options = NodeOptions::new().enable_rosout(true).start_parameter_services(false);
        let mut node = context.new_node(name, options).map_err(in_words)?;
        let spinner = node.spinner().map_err(in_words)?;
        std::thread::spawn(move || futures::executor::block_on(spinner.spin()));
        let mut make = Maker { node, mapping: place.mapping, below: format!("/{}", place.name) };
        let states = Name::parse(&place.joint_states);
        let states = states.map_err(|e| format!("--joint-states {}: {e:?}", place.joint_states))?;
        let heard = streamed().history(History::KeepLast { depth: QUEUE });
        let heard = if place.best_effort { heard.reliability_best_effort() } else { heard };
        let diagnostics = Name::new("/", "diagnostics").map_err(|e| format!("{e:?}"))?;
        const STATE: (&str, &str) = ("sensor_msgs", "JointState");
        const STATUS: (&str, &str) = ("diagnostic_msgs", "DiagnosticArray");
        let own = |make: &Maker, name| make.own(name);
        Ok(Self {
            joint_states: make.subscriber(&states, STATE, heard)?,
            goal: {
                let name = own(&make, "goal")?;
                make.subscriber(&name, STATE, streamed())?
            },
            identify: make.trigger("identify")?,
            plan: make.trigger("plan")?,
            plan_learning: make.trigger("plan_learning")?,
            reset: make.trigger("reset")?,
            execute: make.follow("execute")?,
            commands: {
                let name = own(&make, "joint_commands")?;
                make.publisher(&name, STATE, streamed())?
            },
            payload: {
                let name = own(&make, "payload")?;
                make.publisher(&name, ("geometry_msgs", "InertiaStamped"), latched())?
            },
            payload_bounds: {
                let name = own(&make, "payload_bounds")?;
                make.publisher(&name, STATUS, latched())?
            },
            trajectory: {
                let name = own(&make, "trajectory")?;
                make.publisher(&name, ("trajectory_msgs", "JointTrajectory"), latched())?
            },
            certificate: {
                let name = own(&make, "certificate")?;
                make.publisher(&name, STATUS, latched())?
            },
            plan_file: {
                let name = own(&make, "plan_file")?;
                make.publisher(&name, ("std_msgs", "String"), latched())?
            },
            diagnostics: make.publisher(&diagnostics, STATUS, streamed())?,
            _node: make.node,
            participant,
        })
    }

    /// Answers a goal.
    pub fn answer_goal(&self, request: RmwRequestId, accepted: bool) {
        let answer = SendGoalResponse { accepted, stamp: Time::now() };
        tell_lost(self.execute.send_goal_response(request, answer), "answer to a goal");
    }

    /// Answers whoever asked how a goal ended.
    pub fn answer_result(&self, request: RmwRequestId, (status, result): (GoalStatusEnum, FollowResult)) {
        tell_lost(
            self.execute.send_result(request, GetResultResponse { status, result }),
            "result of a goal",
        );
    }

    /// How an execution goes on.
    pub fn feed_back(&self, goal_id: GoalId, feedback: FollowFeedback) {
        let FeedbackMessage { goal_id, feedback } = FeedbackMessage { goal_id, feedback };
        tell_lost(self.execute.send_feedback(goal_id, feedback), "feedback");
    }
}

/// A message that could not be sent is told where people look.
pub fn tell_lost<T: std::fmt::Debug>(sent: Result<(), T>, what: &str) {
    if let Err(error) = sent {
        eprintln!("surelift_node: {what} could not be sent: {error:?}");
    }
}

/// The wall clock, for headers.
pub fn now() -> Stamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Stamp { sec: since.as_secs() as i32, nanosec: since.subsec_nanos() }
}
