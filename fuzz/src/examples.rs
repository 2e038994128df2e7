//! Good recordings, small ones.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use surelift::robot::{self, Arm};

/// An estimation of the double pendulum from a log.
pub const EVEN_PROBLEM: &str = r#"
schema = 1
name = "even"
description = "A log at even intervals."
robot = "robots/double_pendulum.toml"
step_s = 0.01
log = { file = "input.csv" }
deviations = { q_rad = 1e-3, dq_rad_s = 1e-2, tau_nm = 1e-3 }
body = [{ link = "link1", deviation = 1.0 }]
"#;

/// Of the tutorial's arm with a load, what its own scenarios do not have: obstacles of all kinds, one that moves, faults of all kinds.
pub const EVERYTHING: &str = r#"
extends = "unknown_load.toml"
goal_tolerance_rad = [0.01, 0.02, 0.01]

[timing]
t_f_s = 3.0
t_p_s = 1.0
patience_s = 5.0
exciting_plans = 2

[uncertainty]
link_ratio = 0.05
friction_ratio = 0.05
armature_ratio = 0.05
gravity_direction_deg = 0.1

[joints.elbow]
coulomb = 0.2

[[obstacles]]
name = "person"
center_m = [-2.0, 0.0, 0.5]
size_m = [0.1, 0.1, 1.0]
speed_m_s = 1.5
path = [{ at_s = 1.0, offset_m = [0.0, 0.5, 0.0] }, { at_s = 2.0, offset_m = [0.0, 0.0, 0.0] }]

[[obstacles]]
name = "beam"
center_m = [0.0, 2.0, 0.0]
rpy_rad = [0.1, 0.2, 0.3]
generators_m = [[0.1, 0.0, 0.0], [0.0, 0.1, 0.05]]

[[obstacles]]
name = "cloud"
vertices_m = [[2.0, 2.0, 0.0], [2.1, 2.0, 0.1], [2.0, 2.2, 0.0]]

[faults]
base_tilt_deg = 2.0
clamped_drive = { at_s = 0.5, share = 0.45 }
clock_jump = { at_s = 2.0, by_s = 0.05 }
dropped_samples = { at_s = 0.5, count = 30, every_s = 0.7 }
elastic_joints = { stiffness_nm_rad = [16000.0, 16000.0, 16000.0], encoders = "link" }
friction_ratio = 0.2
frozen_encoder = { joint = "elbow", at_s = 2.0 }
lost_encoder = { joint = "waist", at_s = 2.0 }
misplaced_start = { joint = "waist", by_rad = 0.05 }
payload_mass_kg = 0.7
payload_slips = { at_s = 3.0, by_m = [0.0, 0.05, -0.03] }
fast_obstacle = { obstacle = "person", at_s = 1.2, factor = 2.5 }
torque_gain = { ratio = 0.08, joint = "elbow" }
"#;

/// An arm with the joints that the recordings in `tests/recordings` name.
pub fn planar_arm() -> Arm {
    let link = |name: &str| {
        format!(
            r#"<link name="{name}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
            <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"#
        )
    };
    let joint = |name: &str, kind: &str, parent: &str, child: &str| {
        format!(
            r#"<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="0.2 0 0"/>
            <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="20" velocity="2"/></joint>"#
        )
    };
    let parts = [
        link("base"),
        link("a"),
        link("b"),
        link("c"),
        joint("one", "revolute", "base", "a"),
        joint("two", "continuous", "a", "b"),
        joint("three", "prismatic", "b", "c"),
    ];
    let path = std::env::temp_dir().join(format!("surelift-fuzz-arm-{}.urdf", std::process::id()));
    fs::write(&path, format!(r#"<robot name="planar">{}</robot>"#, parts.concat()))
        .expect("the folder can be written to");
    let arm = robot::load(&path).expect("the arm is good");
    let _ = fs::remove_file(path);
    arm
}

/// Rows of a steady turn of joint two, 10 ms apart, with a gap.
fn rows(ends: &str, more: &str) -> String {
    (0..30).filter(|k| !(12..15).contains(k)).fold(String::new(), |mut text, k| {
        let t = 0.01 * f64::from(k);
        let _ = write!(text, "{t},0.1,{},0.03,0,0.5,0,1,2,3{more}{ends}", 0.5 * t);
        text
    })
}

pub fn tables() -> Vec<Vec<u8>> {
    let heading = "t,q1,q2,q3,dq1,dq2,dq3,tau1,tau2,tau3";
    vec![
        format!("{heading}\n{}", rows("\n", "")).into_bytes(),
        format!("{heading},note\r\n{}", rows("\r\n", ",\"so, \"\"he\"\" said\"")).into_bytes(),
        format!("{heading}\n{}1,2", rows("\n", "")).into_bytes(),
    ]
}

pub fn even_tables() -> Vec<Vec<u8>> {
    let mut text = String::from("t,q1,q2,dq1,dq2,tau1,tau2\n");
    for k in 0..20 {
        let t = 0.01 * f64::from(k);
        let _ = writeln!(text, "{t},{},0.6,0.5,0,0.1,0", 0.8 + 0.5 * t);
    }
    vec![text.clone().into_bytes(), format!("{text}0.2,0.9").into_bytes()]
}

/// The recordings of other writers, and one in JSON whose records stand in a plain chunk.
pub fn bags() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/recordings");
    let names = ["cdr_zstd", "json_lz4", "cdr_unchunked"];
    let foreign = names
        .iter()
        .map(|name| fs::read(folder.join(format!("{name}.mcap"))).expect("the repository is whole"));
    foreign.chain([plain_chunk()]).collect()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

fn record(kind: u8, contents: &[u8]) -> Vec<u8> {
    [&[kind][..], &(contents.len() as u64).to_le_bytes(), contents].concat()
}

fn plain_chunk() -> Vec<u8> {
    let id = 1u16.to_le_bytes();
    let mut records =
        record(3, &[&id[..], &text("sensor_msgs/msg/JointState"), &text(""), &text("")].concat());
    records.extend(record(4, &[&id[..], &id, &text("/joint_states"), &text("json"), &[0; 4]].concat()));
    for k in 0..6 {
        let state = format!(
            r#"{{"header":{{"stamp":{{"sec":7,"nanosec":{}}}}},"name":["two","one","three"],"position":[{},0.1,0],"velocity":[0.5,0,0],"effort":[2,1,3]}}"#,
            10_000_000 * k,
            0.005 * f64::from(k)
        );
        records.extend(record(5, &[&id[..], &[0; 20], state.as_bytes()].concat()));
    }
    let length = (records.len() as u64).to_le_bytes();
    let chunk = [&[0; 16][..], &length, &[0; 4], &text(""), &length, &records].concat();
    let magic = b"\x89MCAP0\r\n";
    let header = record(1, &[text("ros2"), text("made here")].concat());
    [&magic[..], &header, &record(6, &chunk), &record(15, &[0; 4]), &record(2, &[0; 20]), magic].concat()
}
