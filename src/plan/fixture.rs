//! Motions to plan, for tests: an arm, what is known of it, where it stands and where it is to go.

use std::f64::consts::{FRAC_PI_2, PI};
use std::path::Path;

use nalgebra::{Rotation3, Vector3};

use crate::inertia::ParameterSet;
use crate::robot::{self, Arm, Capsule, Prior, Scene, Uncertainty, Zonotope3};

/// What a planner is given.
pub(crate) struct Task {
    pub robot: Arm,
    pub set: ParameterSet,
    pub scene: Scene,
    /// Rad.
    pub start: Vec<f64>,
    /// Rad.
    pub goal: Vec<f64>,
    /// Of one motion, s.
    pub duration_s: f64,
    /// How far one motion may move each joint, rad.
    pub range_rad: Vec<f64>,
}

/// Limits of the published experiment that the worlds of boxes are from.
const LIMITS: &str = "
joint_1 = { velocity_rad_s = 1.3963, torque_nm = 56.7 }
joint_2 = { velocity_rad_s = 1.3963, torque_nm = 56.7, position_rad = [-2.41, 2.41] }
joint_3 = { velocity_rad_s = 1.3963, torque_nm = 56.7 }
joint_4 = { velocity_rad_s = 1.3963, torque_nm = 56.7, position_rad = [-2.66, 2.66] }
joint_5 = { velocity_rad_s = 1.2218, torque_nm = 29.4 }
joint_6 = { velocity_rad_s = 1.2218, torque_nm = 29.4, position_rad = [-2.23, 2.23] }
joint_7 = { velocity_rad_s = 1.2218, torque_nm = 29.4 }
";

/// A box: name, centre and full side lengths (m), turn about the vertical (rad).
fn cuboid((name, center, size, yaw): (&str, [f64; 3], [f64; 3], f64)) -> Zonotope3 {
    let turn = Rotation3::from_axis_angle(&Vector3::z_axis(), yaw);
    Zonotope3::cuboid(name, center.into(), size.into(), turn.matrix())
}

/// A Gen3 with an empty hand, from one side to the other between these boxes.
fn gen3(boxes: &[([f64; 3], [f64; 3])], start: [f64; 7], goal: [f64; 7]) -> Task {
    let limits = toml::from_str(LIMITS).unwrap();
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3.toml"));
    let robot = robot::load_adjusted(path, Path::new("limits.toml"), &limits).unwrap();
    let uncertainty = Uncertainty { link_ratio: 0.03, ..robot.uncertainty() };
    let robot = robot.with_uncertainty(uncertainty).unwrap();
    let boxes = boxes.iter().map(|(center, size)| cuboid(("box", *center, *size, 0.0)));
    Task {
        set: ParameterSet::around_nominal(&robot),
        robot,
        scene: Scene { obstacles: boxes.collect() },
        start: start.to_vec(),
        goal: goal.to_vec(),
        duration_s: 1.0,
        range_rad: vec![0.4; 7],
    }
}

/// The Gen3, a post between start and goal.
pub(crate) fn gen3_past_a_post() -> Task {
    let boxes = [
        ([0.55, 0.0, 0.35], [0.1, 0.1, 0.7]),
        ([0.3, 0.7, 0.05], [0.3, 0.3, 0.1]),
        ([0.3, -0.7, 0.05], [0.3, 0.3, 0.1]),
    ];
    let hand = |first: f64| [first, 0.6, PI, -1.5, 0.0, -0.5, 1.57];
    gen3(&boxes, hand(-0.8), hand(0.8))
}

/// The Gen3, nothing between start and goal.
pub(crate) fn gen3_in_the_open() -> Task {
    let boxes = [([0.35, 0.6, 0.1], [0.2, 0.2, 0.2]), ([-0.5, 0.0, 0.5], [0.1, 0.8, 0.6])];
    gen3(&boxes, [-0.9, 0.4, 3.1, -1.6, 0.1, -0.4, 1.5], [-0.4, 0.7, 2.9, -1.2, -0.2, -0.6, 1.2])
}

/// A Z1 with an empty hand, a post between start and goal.
pub(crate) fn z1_past_a_post() -> Task {
    let robot = robot::load("z1").unwrap();
    let boxes = [
        ("table", [0.2, 0.0, -0.06], [1.2, 1.2, 0.04], 0.0),
        ("post", [0.45, 0.0, 0.3], [0.08, 0.08, 0.6], 0.0),
    ];
    Task {
        set: ParameterSet::around_nominal(&robot),
        robot,
        scene: Scene { obstacles: boxes.map(cuboid).to_vec() },
        start: vec![-0.9, 1.5, -1.5, 0.0, 0.0, 0.0],
        goal: vec![0.9, 1.5, -1.5, 0.0, 0.0, 0.0],
        duration_s: 3.0,
        range_rad: vec![0.4; 6],
    }
}

/// A Gen3 that holds a dumbbell of 8 lb, of which hardly anything is known, in front of a table; motions to learn it by.
pub(crate) fn dumbbell(duration_s: f64) -> Task {
    let handle = Capsule {
        a: Vector3::new(0.0, -0.065, -0.18153),
        b: Vector3::new(0.0, 0.065, -0.18153),
        radius: 0.055,
    };
    let robot = robot::load("kinova_gen3_2f85").unwrap().with_payload_shape(&[handle], &[]).unwrap();
    let prior = Prior {
        lower: Some([1.2, -0.4, -0.4, -1.0, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2]),
        upper: Some([5.2, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]),
        ..Prior::default()
    };
    let boxes = [
        ("table", [0.35, 0.0, -0.17], [1.5, 1.8, 0.04], 0.0),
        ("post", [0.5, 0.0, 0.2], [0.1, 0.1, 0.7], 0.0),
        ("crate", [0.5, 0.6, -0.075], [0.3, 0.3, 0.15], 0.5),
        ("bin", [0.4, -0.55, -0.1], [0.35, 0.35, 0.1], 0.0),
        ("wall", [-0.75, 0.0, 0.4], [0.05, 1.8, 1.1], 0.0),
    ];
    Task {
        set: prior.applied_to(ParameterSet::around_nominal(&robot), &robot).unwrap(),
        robot,
        scene: Scene { obstacles: boxes.map(cuboid).to_vec() },
        start: vec![-1.5, -0.4, PI, -1.8, 0.0, 0.1, FRAC_PI_2],
        goal: vec![0.95, 0.35, PI, -2.0, 0.0, -0.3, FRAC_PI_2],
        duration_s,
        range_rad: vec![1.3; 7],
    }
}
