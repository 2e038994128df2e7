//! The messages that the node speaks, field for field as their ROS packages define them, so that CDR comes out the same.

use ros2_client::Message;
use serde::{Deserialize, Serialize};

/// `builtin_interfaces/Time`, and `builtin_interfaces/Duration`, which has the same fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub sec: i32,
    pub nanosec: u32,
}

impl Stamp {
    /// Nanoseconds since the epoch of its clock.
    pub fn nanoseconds(self) -> i64 {
        i64::from(self.sec) * 1_000_000_000 + i64::from(self.nanosec)
    }

    /// From seconds that are not below 0.
    pub fn of_seconds(s: f64) -> Self {
        let nanoseconds = (s * 1e9).round() as i64;
        Self {
            sec: (nanoseconds / 1_000_000_000) as i32,
            nanosec: nanoseconds.rem_euclid(1_000_000_000) as u32,
        }
    }
}

/// `std_msgs/Header`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub stamp: Stamp,
    pub frame_id: String,
}

/// `sensor_msgs/JointState`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JointState {
    pub header: Header,
    pub name: Vec<String>,
    pub position: Vec<f64>,
    pub velocity: Vec<f64>,
    pub effort: Vec<f64>,
}

/// `trajectory_msgs/JointTrajectoryPoint`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JointTrajectoryPoint {
    pub positions: Vec<f64>,
    pub velocities: Vec<f64>,
    pub accelerations: Vec<f64>,
    pub effort: Vec<f64>,
    pub time_from_start: Stamp,
}

/// `trajectory_msgs/JointTrajectory`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JointTrajectory {
    pub header: Header,
    pub joint_names: Vec<String>,
    pub points: Vec<JointTrajectoryPoint>,
}

/// `geometry_msgs/Vector3`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Vector3 {
    pub x: f64,
    pub y: f64,
    pub z: f64,
}

/// `geometry_msgs/Transform`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Transform {
    pub translation: Vector3,
    /// x, y, z, w of a quaternion.
    pub rotation: [f64; 4],
}

/// `geometry_msgs/Twist`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Twist {
    pub linear: Vector3,
    pub angular: Vector3,
}

/// `trajectory_msgs/MultiDOFJointTrajectoryPoint`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MultiDofPoint {
    pub transforms: Vec<Transform>,
    pub velocities: Vec<Twist>,
    pub accelerations: Vec<Twist>,
    pub time_from_start: Stamp,
}

/// `trajectory_msgs/MultiDOFJointTrajectory`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MultiDofTrajectory {
    pub header: Header,
    pub joint_names: Vec<String>,
    pub points: Vec<MultiDofPoint>,
}

/// `control_msgs/JointTolerance`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JointTolerance {
    pub name: String,
    pub position: f64,
    pub velocity: f64,
    pub acceleration: f64,
}

/// `control_msgs/JointComponentTolerance`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JointComponentTolerance {
    pub joint_name: String,
    pub component: u16,
    pub position: f64,
    pub velocity: f64,
    pub acceleration: f64,
}

/// The goal of `control_msgs/FollowJointTrajectory`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowGoal {
    pub trajectory: JointTrajectory,
    pub multi_dof_trajectory: MultiDofTrajectory,
    pub path_tolerance: Vec<JointTolerance>,
    pub component_path_tolerance: Vec<JointComponentTolerance>,
    pub goal_tolerance: Vec<JointTolerance>,
    pub component_goal_tolerance: Vec<JointComponentTolerance>,
    pub goal_time_tolerance: Stamp,
}

/// The result of `control_msgs/FollowJointTrajectory`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowResult {
    pub error_code: i32,
    pub error_string: String,
}

impl FollowResult {
    /// `SUCCESSFUL`
    pub const SUCCESSFUL: i32 = 0;
    /// `PATH_TOLERANCE_VIOLATED`
    pub const PATH_TOLERANCE_VIOLATED: i32 = -4;
}

/// The feedback of `control_msgs/FollowJointTrajectory`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowFeedback {
    pub header: Header,
    pub joint_names: Vec<String>,
    pub desired: JointTrajectoryPoint,
    pub actual: JointTrajectoryPoint,
    pub error: JointTrajectoryPoint,
    pub multi_dof_joint_names: Vec<String>,
    pub multi_dof_desired: MultiDofPoint,
    pub multi_dof_actual: MultiDofPoint,
    pub multi_dof_error: MultiDofPoint,
}

/// The request of `std_srvs/Trigger`, which has no fields: IDL then asks for one byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerRequest {
    pub structure_needs_at_least_one_member: u8,
}

/// The response of `std_srvs/Trigger`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerResponse {
    pub success: bool,
    pub message: String,
}

/// `geometry_msgs/Inertia`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Inertia {
    pub m: f64,
    pub com: Vector3,
    pub ixx: f64,
    pub ixy: f64,
    pub ixz: f64,
    pub iyy: f64,
    pub iyz: f64,
    pub izz: f64,
}

/// `geometry_msgs/InertiaStamped`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InertiaStamped {
    pub header: Header,
    pub inertia: Inertia,
}

/// `diagnostic_msgs/KeyValue`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValue {
    pub key: String,
    pub value: String,
}

/// `diagnostic_msgs/DiagnosticStatus`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticStatus {
    pub level: u8,
    pub name: String,
    pub message: String,
    pub hardware_id: String,
    pub values: Vec<KeyValue>,
}

impl DiagnosticStatus {
    /// `OK`
    pub const OK: u8 = 0;
    /// `ERROR`
    pub const ERROR: u8 = 2;
}

/// `diagnostic_msgs/DiagnosticArray`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticArray {
    pub header: Header,
    pub status: Vec<DiagnosticStatus>,
}

/// `std_msgs/String`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    pub data: String,
}

impl Message for FollowGoal {}
impl Message for FollowResult {}
impl Message for FollowFeedback {}
impl Message for TriggerRequest {}
impl Message for TriggerResponse {}
