"""The messages that the test exchanges with the node, declared for Cyclone DDS as ROS 2 names and lays them out."""

from dataclasses import dataclass, field

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float64, int32, int64, int8, sequence, uint8, uint16, uint32


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32 = 0
    nanosec: uint32 = 0


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@dataclass
class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
    header: Header = field(default_factory=Header)
    name: sequence[str] = field(default_factory=list)
    position: sequence[float64] = field(default_factory=list)
    velocity: sequence[float64] = field(default_factory=list)
    effort: sequence[float64] = field(default_factory=list)


@dataclass
class JointTrajectoryPoint(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectoryPoint_"):
    positions: sequence[float64] = field(default_factory=list)
    velocities: sequence[float64] = field(default_factory=list)
    accelerations: sequence[float64] = field(default_factory=list)
    effort: sequence[float64] = field(default_factory=list)
    time_from_start: Time = field(default_factory=Time)


@dataclass
class JointTrajectory(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectory_"):
    header: Header = field(default_factory=Header)
    joint_names: sequence[str] = field(default_factory=list)
    points: sequence[JointTrajectoryPoint] = field(default_factory=list)


@dataclass
class Vector3(IdlStruct, typename="geometry_msgs::msg::dds_::Vector3_"):
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0


@dataclass
class Quaternion(IdlStruct, typename="geometry_msgs::msg::dds_::Quaternion_"):
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0
    w: float64 = 1.0


@dataclass
class Transform(IdlStruct, typename="geometry_msgs::msg::dds_::Transform_"):
    translation: Vector3 = field(default_factory=Vector3)
    rotation: Quaternion = field(default_factory=Quaternion)


@dataclass
class Twist(IdlStruct, typename="geometry_msgs::msg::dds_::Twist_"):
    linear: Vector3 = field(default_factory=Vector3)
    angular: Vector3 = field(default_factory=Vector3)


@dataclass
class MultiDofPoint(IdlStruct, typename="trajectory_msgs::msg::dds_::MultiDOFJointTrajectoryPoint_"):
    transforms: sequence[Transform] = field(default_factory=list)
    velocities: sequence[Twist] = field(default_factory=list)
    accelerations: sequence[Twist] = field(default_factory=list)
    time_from_start: Time = field(default_factory=Time)


@dataclass
class MultiDofTrajectory(IdlStruct, typename="trajectory_msgs::msg::dds_::MultiDOFJointTrajectory_"):
    header: Header = field(default_factory=Header)
    joint_names: sequence[str] = field(default_factory=list)
    points: sequence[MultiDofPoint] = field(default_factory=list)


@dataclass
class JointTolerance(IdlStruct, typename="control_msgs::msg::dds_::JointTolerance_"):
    name: str = ""
    position: float64 = 0.0
    velocity: float64 = 0.0
    acceleration: float64 = 0.0


@dataclass
class JointComponentTolerance(IdlStruct, typename="control_msgs::msg::dds_::JointComponentTolerance_"):
    joint_name: str = ""
    component: uint16 = 0
    position: float64 = 0.0
    velocity: float64 = 0.0
    acceleration: float64 = 0.0


@dataclass
class KeyValue(IdlStruct, typename="diagnostic_msgs::msg::dds_::KeyValue_"):
    key: str = ""
    value: str = ""


@dataclass
class DiagnosticStatus(IdlStruct, typename="diagnostic_msgs::msg::dds_::DiagnosticStatus_"):
    level: uint8 = 0
    name: str = ""
    message: str = ""
    hardware_id: str = ""
    values: sequence[KeyValue] = field(default_factory=list)


@dataclass
class DiagnosticArray(IdlStruct, typename="diagnostic_msgs::msg::dds_::DiagnosticArray_"):
    header: Header = field(default_factory=Header)
    status: sequence[DiagnosticStatus] = field(default_factory=list)


@dataclass
class Inertia(IdlStruct, typename="geometry_msgs::msg::dds_::Inertia_"):
    m: float64 = 0.0
    com: Vector3 = field(default_factory=Vector3)
    ixx: float64 = 0.0
    ixy: float64 = 0.0
    ixz: float64 = 0.0
    iyy: float64 = 0.0
    iyz: float64 = 0.0
    izz: float64 = 0.0


@dataclass
class InertiaStamped(IdlStruct, typename="geometry_msgs::msg::dds_::InertiaStamped_"):
    header: Header = field(default_factory=Header)
    inertia: Inertia = field(default_factory=Inertia)


@dataclass
class Text(IdlStruct, typename="std_msgs::msg::dds_::String_"):
    data: str = ""


# Services: rmw_cyclonedds puts the client's identity and a sequence number before the fields of each request and reply.


@dataclass
class TriggerRequest(IdlStruct, typename="std_srvs::srv::dds_::Trigger_Request_"):
    client: array[uint8, 8] = field(default_factory=lambda: [0] * 8)
    sequence_high: int32 = 0
    sequence_low: uint32 = 0
    structure_needs_at_least_one_member: uint8 = 0


@dataclass
class TriggerResponse(IdlStruct, typename="std_srvs::srv::dds_::Trigger_Response_"):
    client: array[uint8, 8] = field(default_factory=lambda: [0] * 8)
    sequence_high: int32 = 0
    sequence_low: uint32 = 0
    success: bool = False
    message: str = ""


@dataclass
class FollowGoal(IdlStruct, typename="control_msgs::action::dds_::FollowJointTrajectory_Goal_"):
    trajectory: JointTrajectory = field(default_factory=JointTrajectory)
    multi_dof_trajectory: MultiDofTrajectory = field(default_factory=MultiDofTrajectory)
    path_tolerance: sequence[JointTolerance] = field(default_factory=list)
    component_path_tolerance: sequence[JointComponentTolerance] = field(default_factory=list)
    goal_tolerance: sequence[JointTolerance] = field(default_factory=list)
    component_goal_tolerance: sequence[JointComponentTolerance] = field(default_factory=list)
    goal_time_tolerance: Time = field(default_factory=Time)


@dataclass
class SendGoalRequest(IdlStruct, typename="control_msgs::action::dds_::FollowJointTrajectory_SendGoal_Request_"):
    client: array[uint8, 8] = field(default_factory=lambda: [0] * 8)
    sequence_high: int32 = 0
    sequence_low: uint32 = 0
    goal_id: array[uint8, 16] = field(default_factory=lambda: [0] * 16)
    goal: FollowGoal = field(default_factory=FollowGoal)


@dataclass
class SendGoalResponse(IdlStruct, typename="control_msgs::action::dds_::FollowJointTrajectory_SendGoal_Response_"):
    client: array[uint8, 8] = field(default_factory=lambda: [0] * 8)
    sequence_high: int32 = 0
    sequence_low: uint32 = 0
    accepted: bool = False
    stamp: Time = field(default_factory=Time)


@dataclass
class GetResultRequest(IdlStruct, typename="control_msgs::action::dds_::FollowJointTrajectory_GetResult_Request_"):
    client: array[uint8, 8] = field(default_factory=lambda: [0] * 8)
    sequence_high: int32 = 0
    sequence_low: uint32 = 0
    goal_id: array[uint8, 16] = field(default_factory=lambda: [0] * 16)


@dataclass
class GetResultResponse(IdlStruct, typename="control_msgs::action::dds_::FollowJointTrajectory_GetResult_Response_"):
    client: array[uint8, 8] = field(default_factory=lambda: [0] * 8)
    sequence_high: int32 = 0
    sequence_low: uint32 = 0
    status: int8 = 0
    error_code: int32 = 0
    error_string: str = ""


@dataclass
class Feedback(IdlStruct, typename="control_msgs::action::dds_::FollowJointTrajectory_FeedbackMessage_"):
    goal_id: array[uint8, 16] = field(default_factory=lambda: [0] * 16)
    header: Header = field(default_factory=Header)
    joint_names: sequence[str] = field(default_factory=list)
    desired: JointTrajectoryPoint = field(default_factory=JointTrajectoryPoint)
    actual: JointTrajectoryPoint = field(default_factory=JointTrajectoryPoint)
    error: JointTrajectoryPoint = field(default_factory=JointTrajectoryPoint)
    multi_dof_joint_names: sequence[str] = field(default_factory=list)
    multi_dof_desired: MultiDofPoint = field(default_factory=MultiDofPoint)
    multi_dof_actual: MultiDofPoint = field(default_factory=MultiDofPoint)
    multi_dof_error: MultiDofPoint = field(default_factory=MultiDofPoint)
