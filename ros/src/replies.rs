//! What the node publishes: payloads and trajectories, each with what is proven of it.

use sha2::{Digest, Sha256};
use surelift::certify::Margin;
use surelift::job::PayloadBounds;
use surelift::plan::Plan;

use crate::messages::{
    DiagnosticArray, DiagnosticStatus, Header, Inertia, InertiaStamped, JointTrajectory,
    JointTrajectoryPoint, KeyValue, Stamp, Vector3,
};

/// Time between two points of a published trajectory, s.
const POINTS_S: f64 = 0.01;

/// A number with all its digits, so that nothing is lost by being told.
fn pair(key: impl Into<String>, value: impl ToString) -> KeyValue {
    KeyValue { key: key.into(), value: value.to_string() }
}

/// Lower and upper bound under two keys.
fn interval(values: &mut Vec<KeyValue>, key: &str, [lower, upper]: [f64; 2]) {
    values.push(pair(format!("{key}/lower"), format!("{lower:?}")));
    values.push(pair(format!("{key}/upper"), format!("{upper:?}")));
}

/// The middles of the intervals, in the frame of the link that they are told in; NaN where nothing bounds the centre of mass.
pub fn payload(bounds: &PayloadBounds, stamp: Stamp) -> InertiaStamped {
    let middle = |[lower, upper]: [f64; 2]| 0.5 * (lower + upper);
    let com = bounds.center_m.map_or([f64::NAN; 3], |center| center.map(middle));
    let [ixx, ixy, iyy, ixz, iyz, izz] = bounds.inertia_kg_m2.map(middle);
    let [x, y, z] = com;
    let m = middle(bounds.mass_kg);
    InertiaStamped {
        header: Header { stamp, frame_id: bounds.frame.clone() },
        inertia: Inertia { m, com: Vector3 { x, y, z }, ixx, ixy, ixz, iyy, iyz, izz },
    }
}

/// The intervals themselves.
pub fn payload_bounds(bounds: &PayloadBounds, robot: &str, stamp: Stamp) -> DiagnosticArray {
    let mut values = vec![];
    interval(&mut values, "m", bounds.mass_kg);
    let center = bounds.center_m.unwrap_or([[f64::NEG_INFINITY, f64::INFINITY]; 3]);
    for (key, own) in ["com.x", "com.y", "com.z"].iter().zip(center) {
        interval(&mut values, key, own);
    }
    for (key, own) in ["ixx", "ixy", "iyy", "ixz", "iyz", "izz"].iter().zip(bounds.inertia_kg_m2) {
        interval(&mut values, key, own);
    }
    let status = DiagnosticStatus {
        level: DiagnosticStatus::OK,
        name: "surelift: payload bounds".to_owned(),
        message: bounds.to_string(),
        hardware_id: robot.to_owned(),
        values,
    };
    DiagnosticArray { header: Header { stamp, frame_id: bounds.frame.clone() }, status: vec![status] }
}

/// The plan's desired motion, every [`POINTS_S`] and at its end. The stamp is zero: whoever executes it begins at once.
pub fn trajectory(plan: &Plan) -> JointTrajectory {
    let duration_s = plan.curve.duration_s();
    let steps = (duration_s / POINTS_S).ceil() as usize;
    let point = |k: usize| {
        let t = if k == steps { duration_s } else { k as f64 * POINTS_S };
        let state = plan.curve.state(t);
        JointTrajectoryPoint {
            positions: state.q,
            velocities: state.dq,
            accelerations: state.ddq,
            effort: vec![],
            time_from_start: Stamp::of_seconds(t),
        }
    };
    JointTrajectory {
        header: Header::default(),
        joint_names: plan.robot.joints.iter().map(|joint| joint.name.clone()).collect(),
        points: (0..=steps).map(point).collect(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a trajectory: of each joint's name and a zero byte, then of each point its time in nanoseconds (64 bits) and its positions,
/// velocities and accelerations (64 bits a number), all little-endian.
pub fn digest(trajectory: &JointTrajectory) -> String {
    let mut hash = Sha256::new();
    for name in &trajectory.joint_names {
        hash.update(name.as_bytes());
        hash.update([0]);
    }
    for point in &trajectory.points {
        hash.update(point.time_from_start.nanoseconds().to_le_bytes());
        for x in point.positions.iter().chain(&point.velocities).chain(&point.accelerations) {
            hash.update(x.to_le_bytes());
        }
    }
    hex(&hash.finalize())
}

/// What is proven of a trajectory, with the digests that tie it to the trajectory and to its plan file.
pub fn certificate(plan: &Plan, trajectory: &JointTrajectory, file: &str, stamp: Stamp) -> DiagnosticArray {
    let own = &plan.certificate;
    let mut values = vec![
        pair("trajectory/sha256", digest(trajectory)),
        pair("plan/sha256", hex(&Sha256::digest(file.as_bytes()))),
        pair("plan/schema", plan.schema),
        pair("duration", format!("{:?}", plan.curve.duration_s())),
        pair("cells", own.cells),
    ];
    let margins: [(&str, &Margin); 4] = [
        ("position", &own.position),
        ("velocity", &own.velocity),
        ("effort", &own.torque),
        ("distance", &own.collision),
    ];
    for (name, margin) in margins {
        if let Some(value) = margin.value {
            values.push(pair(format!("margin/{name}"), format!("{value:?}")));
            values.push(pair(format!("margin/{name}/at"), &margin.at));
        }
    }
    for (j, joint) in plan.robot.joints.iter().enumerate() {
        values.push(pair(format!("tracking_error/{}", joint.name), format!("{:?}", plan.tube.e_radius(j))));
    }
    let mass = plan.set.body(plan.robot.end_effector()).mass();
    interval(&mut values, "last_body/m", [mass.lower, mass.upper]);
    let status = DiagnosticStatus {
        level: DiagnosticStatus::OK,
        name: "surelift: certificate".to_owned(),
        message: format!("proven for all of {:.3} s and all parameters of the set", plan.curve.duration_s()),
        hardware_id: plan.robot.name.clone(),
        values,
    };
    DiagnosticArray { header: Header { stamp, frame_id: String::new() }, status: vec![status] }
}
