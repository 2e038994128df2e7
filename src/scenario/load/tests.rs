use std::f64::consts::{FRAC_PI_2, PI};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::{Motion, Wrench, rnea};
use crate::robot::clearance::to_zonotope;

const SHIPPED: &str = "scenarios/dumbbell_c_8lb.toml";

fn shipped() -> Scenario {
    Scenario::load(SHIPPED).unwrap()
}

/// Least clearance of the arm and its load at `q`, to obstacles and to itself.
fn clearance(task: &Task, q: &[f64]) -> f64 {
    let frames = task.robot.frames(q);
    let obstacles = task.robot.obstacle_clearance(&frames, &task.scene).unwrap().distance;
    obstacles.min(task.robot.self_clearance(&frames).unwrap().distance)
}

/// Least clearance on the straight line between two configurations.
fn clearance_between(task: &Task, from: &[f64], to: &[f64]) -> f64 {
    (0..=200)
        .map(|k| f64::from(k) / 200.0)
        .map(|s| from.iter().zip(to).map(|(a, b)| a + s * (b - a)).collect::<Vec<_>>())
        .map(|q| clearance(task, &q))
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn the_shipped_start_leaves_room_to_move() {
    let (task, _) = shipped().split();
    let frames = task.robot.frames(&task.start);
    for (i, shape) in task.robot.shapes().iter().enumerate().filter(|(_, shape)| shape.joint.is_some()) {
        let placed = task.robot.placed_capsule(i, &frames);
        let least = if shape.name == "payload" { 0.25 } else { 0.12 };
        for obstacle in &task.scene.obstacles {
            let distance = to_zonotope(&placed, obstacle);
            assert!(distance >= least, "{} to {}: {distance}", shape.name, obstacle.name);
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..2000 {
        // Moderate motions are free of everything; wider ones, up to `excite.range_rad`, are the certifier's to judge.
        let q: Vec<f64> = task.start.iter().map(|x| x + rng.random_range(-0.4..0.4)).collect();
        assert!(clearance(&task, &q) > 0.03, "{} at {q:.2?}", clearance(&task, &q));
    }
}

#[test]
fn the_shipped_post_forces_a_detour_that_exists() {
    let (task, _) = shipped().split();
    assert!(clearance_between(&task, &task.start, &task.goal) < -0.05);
    let raised = |turn: f64| [turn, -0.2, PI, -1.2, 0.0, 0.6, FRAC_PI_2];
    let way = [&task.start[..], &raised(-0.7), &raised(0.7), &task.goal[..]];
    for leg in way.windows(2) {
        assert!(clearance_between(&task, leg[0], leg[1]) > 0.12, "{leg:?}");
    }
}

#[test]
fn the_shipped_task_asks_for_moderate_torques() {
    let (task, _) = shipped().split();
    let mut theta = task.robot.nominal_parameters();
    let first = task.robot.body_range(task.robot.end_effector()).start;
    let [lower, upper] = task.held.as_ref().unwrap().prior.body().unwrap().unwrap();
    theta[first] = upper[0];
    theta[first + 3] = lower[3];
    for q in [&task.start, &task.goal] {
        let rest = [0.0; 7];
        let mut motion = Motion::new(&task.robot);
        motion.sweep(&task.robot, q, &rest, &rest, &rest);
        let mut tau = [0.0; 7];
        rnea(&task.robot, &motion, &theta, &mut [Wrench::zero(); 7], &mut tau);
        assert!(tau.iter().all(|t| t.abs() < 40.0), "{tau:.1?}");
    }
}

#[test]
fn the_shipped_truth_lies_in_its_prior_and_is_the_gripper_with_the_dumbbell() {
    let (task, truth) = shipped().split();
    let empty = task.robot.joints[6].inertia;
    let truth = truth.reveal().unwrap();
    let [lower, upper] = task.held.as_ref().unwrap().prior.body().unwrap().unwrap();
    for (k, x) in truth.iter().enumerate() {
        assert!((lower[k]..=upper[k]).contains(x));
    }
    let object: Vec<f64> = truth.iter().zip(empty).map(|(t, e)| t - e).collect();
    assert!((object[0] - 3.62874).abs() < 1e-4);
    // Its centre of mass is the middle of its capsule, its handle along y; inertia about its own centre from CAD.
    let c = object[3] / object[0];
    let capsule = task.robot.shapes().last().unwrap().capsule;
    assert!((0.5 * (capsule.a.z + capsule.b.z) - c).abs() < 1e-4);
    for (k, about_com) in [(4, 0.01806569 + object[0] * c * c), (6, 0.00244415 + object[0] * c * c)] {
        assert!((object[k] - about_com).abs() < 2e-4, "{} {about_com}", object[k]);
    }
    assert!((object[9] - 0.0180657).abs() < 2e-4);
}

#[test]
fn the_held_mass_can_be_replaced() {
    let (task, truth) = shipped().with_payload_mass(7.0).unwrap().split();
    let truth = truth.reveal().unwrap();
    let empty = task.robot.joints[6].inertia;
    assert!((truth[0] - empty[0] - 7.0).abs() < 1e-12);
    assert!(truth[0] > task.held.unwrap().prior.upper.unwrap()[0]);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let message = shipped().with_payload_mass(bad).unwrap_err().to_string();
        assert!(message.contains("payload mass"), "{message}");
    }
}

#[test]
fn the_prior_takes_the_place_of_the_last_body() {
    let (task, _) = shipped().split();
    let set = task.prior_set().unwrap();
    assert_eq!((set.lower()[60], set.upper()[63]), (1.2, -0.1));
    assert_eq!(set.len(), task.robot.parameter_count());
    assert!(set.lower().iter().zip(set.upper()).all(|(l, u)| l <= u));
}

/// Loads the shipped scenario with `from` replaced by `to`, from a folder of its own.
fn load_edited(from: &str, to: &str) -> Result<Scenario, ScenarioError> {
    let text = std::fs::read_to_string(SHIPPED).unwrap();
    assert!(text.contains(from), "`{from}` is not there to change");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edited.toml");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    // The robot is found from the current directory, the folder being elsewhere.
    Scenario::load(&path)
}

fn assert_refused(from: &str, to: &str, parts: &[&str]) {
    let message = load_edited(from, to).expect_err("must be refused").to_string();
    for part in parts.iter().chain(&["edited.toml"]) {
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    }
}

#[test]
fn files_and_keys_are_named() {
    let message = Scenario::load("scenarios/none.toml").unwrap_err().to_string();
    assert!(message.contains("scenarios/none.toml: cannot be read"), "{message}");
    assert_refused("goal_tolerance_rad", "goal_tolerance_deg", &["goal_tolerance_deg", "unknown field"]);
    assert_refused("window_s", "window_ms", &["window_ms"]);
    assert_refused("mass_kg", "mass", &["mass"]);
    assert_refused("schema = 1", "schema = 2", &["`schema`", "expected 1"]);
    assert_refused("gen3_2f85.toml", "gen4.toml", &["`robot`", "kinova_gen4.toml"]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn numbers_that_are_not_finite_or_out_of_range_are_named_at_length() {
    assert_refused("-1.5, -0.4", "nan, -0.4", &["`start_rad`", "NaN"]);
    assert_refused("start_rad = [-1.5,", "start_rad = [", &["`start_rad`", "6 numbers, expected 7"]);
    assert_refused("-1.5, -0.4", "-1.5, -2.4", &["`start_rad`", "`joint_2`"]);
    assert_refused("0.95, 0.35", "0.95, inf", &["`goal_rad`", "inf"]);
    assert_refused("tolerance_rad = 0.05", "tolerance_rad = 0.0", &["`goal_tolerance_rad`"]);
    for bad in ["0.0", "-0.01", "nan", "inf"] {
        let growth = format!("tolerance_rad = 0.05\ngrowth_max_m = {bad}");
        assert_refused("tolerance_rad = 0.05", &growth, &["`growth_max_m`"]);
    }
    assert_refused("center_m = [0.35", "center_m = [nan", &["obstacles.table.center_m"]);
    assert_refused("size_m = [1.5", "size_m = [-1.5", &["obstacles.table.size_m", "> 0"]);
    assert_refused("\"crate\"", "\"table\"", &["obstacles.table.name", "two"]);
    assert_refused("rpy_rad = [0.0", "rpy_rad = [inf", &["obstacles.crate.rpy_rad"]);
    let crate_size = "size_m = [0.3, 0.3, 0.15]";
    assert_refused(crate_size, "", &["obstacles.crate.shape", "one of"]);
    assert_refused(crate_size, "size_m = [1, 1, 1]\nmesh = \"a.stl\"", &["obstacles.crate.shape", "one of"]);
    assert_refused(crate_size, "generators_m = []", &["obstacles.crate.generators_m", "1 to 64"]);
    assert_refused(crate_size, "generators_m = [[nan, 0, 0]]", &["obstacles.crate.generators_m[0]", "NaN"]);
    assert_refused(crate_size, "generators_m = [[0.1, 0]]", &["generators_m", "3"]);
    assert_refused(crate_size, "vertices_m = []", &["obstacles.crate.vertices_m", "0 vertices"]);
    assert_refused(crate_size, "vertices_m = [[inf, 0, 0]]", &["obstacles.crate.vertices_m[0]", "inf"]);
    assert_refused(
        crate_size,
        "mesh = \"nowhere.stl\"",
        &["obstacles.crate.mesh", "nowhere.stl", "cannot be read"],
    );
    assert_refused(crate_size, "mesh = \"a.stl\"\nmesh_scale = 0.0", &["obstacles.crate.mesh_scale", "> 0"]);
    assert_refused("center_m = [0.5, 0.6, -0.075]", "", &["obstacles.crate.center_m", "missing"]);
    assert_refused("4.91360\n", "nan\n", &["`payload`", "NaN"]);
    assert_refused("xx = 0.15020", "xx = 0.1", &["`payload`", "no rigid body"]);
    assert_refused("radius_m = 0.055", "radius_m = nan", &["payload.shape[0]", "radius"]);
    assert_refused("t_p_s = 1.5", "t_p_s = 3.0", &["timing.t_p_s", "less than"]);
    assert_refused("t_f_s = 3.0", "t_f_s = inf", &["timing.t_f_s"]);
    assert_refused("t_f_s = 3.0", "t_f_s = 1e9", &["timing.t_f_s", "at most 600 s"]);
    assert_refused("max_plans = 60", "max_plans = 0", &["timing.max_plans"]);
    assert_refused("max_plans = 60", "max_plans = 2000000", &["timing.max_plans"]);
    assert_refused("samples = 128", "samples = 3", &["excite.samples"]);
    assert_refused("samples = 128", "samples = 2000000", &["excite.samples"]);
    for weights in ["[0.0, 0.0, 0.0]", "[1.0, -1.0, 1.0]", "[1.0, nan, 1.0]"] {
        let line = format!("samples = 128\nweights = {weights}");
        assert_refused("samples = 128", &line, &["excite.weights", "not below 0"]);
    }
    assert_refused("range_rad = [1.3", "range_rad = [0.0", &["excite.range_rad"]);
    assert_refused("window_s = 0.1", "window_s = 2.0", &["identify.window_s"]);
    assert_refused("window_s = 0.1", "window_s = 0.1\nweigh_s = 0.05", &["identify.weigh_s", "0.1 s"]);
    assert_refused("window_s = 0.1", "window_s = 0.1\nweigh_s = -1.0", &["identify.weigh_s"]);
}

#[test]
fn priors_without_bodies_are_refused() {
    assert_refused(
        "lower = [1.2, -0.4",
        "lower = [9.2, -0.4",
        &["prior.lower", "entry 0", "lower <= nominal"],
    );
    assert_refused("nominal = [3.2", "nominal = [nan", &["prior.nominal", "NaN"]);
    assert_refused("-0.5, 0.1, 0.0, 0.1", "-0.5, 0.0, 0.0, 0.0", &["prior.nominal", "no rigid body"]);
    // I_xx and I_yy are at least h_z^2 / m, here 0.16 / 5.2 = 0.03.
    let upper = "upper = [5.2, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
nominal = [3.2, 0.0, 0.0, -0.5, 0.1, 0.0, 0.1, 0.0, 0.0, 0.01]";
    let narrow = "upper = [5.2, 0.4, 0.4, -0.4, 0.02, 0.2, 0.2, 0.2, 0.2, 0.2]";
    assert_refused(upper, narrow, &["`prior`", "no physically consistent body"]);
}

#[test]
fn what_touches_the_arm_is_named() {
    let wall = |center: &str| format!("name = \"wall\"\ncenter_m = {center}");
    let from = wall("[-0.75, 0.0, 0.4]");
    assert_refused(&from, &wall("[0.1, 0.0, 0.4]"), &["start", "obstacle `wall`", "capsule `"]);
    // Only the held object reaches this far at the goal.
    assert_refused("-0.55, -0.1]", "-0.55, 0.1]", &["goal", "`payload`", "`bin`"]);
    // Folded so far that the dumbbell is in the shoulder.
    assert_refused("-1.8, 0.0, 0.1, 1.57", "-2.5, 0.0, -1.5, 1.57", &["start", "its own `payload`"]);
}

/// The world scenario with `from` replaced by `to`, in the world of the posts.
fn world_edited(from: &str, to: &str) -> Result<Scenario, ScenarioError> {
    let text = std::fs::read_to_string("scenarios/armour_world.toml").unwrap();
    assert!(text.contains(from), "`{from}` is not there to change");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edited.toml");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    Scenario::load_in_world(&path, "scenarios/worlds/post.csv")
}

#[test]
fn an_empty_hand_needs_no_prior_and_nothing_to_excite() {
    let (task, truth) = world_edited("", "").unwrap().split();
    assert!(task.held.is_none() && truth.reveal().is_none());
    assert_eq!(task.name, "armour_world-post");
    assert_eq!(task.scene.obstacles.len(), 3);
    let set = task.prior_set().unwrap();
    assert_eq!(set, crate::inertia::ParameterSet::around_nominal(&task.robot));
    assert!(world_edited("", "").unwrap().with_payload_mass(1.0).is_err());
    let refused = |from: &str, to: &str, says: &[&str]| {
        let message = world_edited(from, to).expect_err(to).to_string();
        assert!(says.iter().all(|part| message.contains(part)), "{message}");
    };
    refused(
        "exciting_plans = 0",
        "exciting_plans = 1",
        &["edited.toml", "timing.exciting_plans", "nothing is held"],
    );
    let without = world_edited("exciting_plans = 0", "").unwrap();
    assert_eq!(without.task().timing.exciting_plans, 0, "nothing to excite for is no error");
    refused("[carry]", "[excite]\nrange_rad = [1.0]\n[carry]", &["`payload`", "missing"]);
    refused("goal_tol", "start_rad = [0.0]\ngoal_tol", &["`start_rad`", "post.csv"]);
    refused("joint_7 =", "joint_8 =", &["edited.toml", "joints.joint_8"]);
    refused("link_ratio = 0.03", "link_ratio = nan", &["uncertainty.link_ratio"]);
    refused("rad = 0.1047", "rad = [0.1]\n# ", &["`goal_tolerance_rad`", "1 numbers, expected 7"]);
    // Without a world the scenario says itself where to go.
    let message = Scenario::load("scenarios/armour_world.toml").unwrap_err().to_string();
    assert!(message.contains("`start_rad`") && message.contains("--world"), "{message}");
}

#[test]
fn a_scenario_may_narrow_limits_and_tolerances() {
    let tolerances = "rad = [0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.3]\n# ";
    let (task, _) = world_edited("rad = 0.1047", tolerances).unwrap().split();
    assert_eq!((task.goal_tolerance_rad[1], task.goal_tolerance_rad[6]), (0.2, 0.3));
    let limits = |j: usize| task.robot.joints[j].limits;
    assert_eq!((limits(0).torque, limits(6).torque, limits(6).velocity), (56.7, 29.4, 1.2218));
    assert_eq!(limits(3).position, Some((-2.66, 2.66)));
    assert_eq!(task.robot.uncertainty().link_ratio, 0.03);
    // Wider positions may let more capsules touch, never fewer.
    let own = crate::robot::load("kinova_gen3").unwrap();
    assert!(own.self_pairs().iter().all(|pair| task.robot.self_pairs().contains(pair)));
}

/// What is said of the scenario that extends the shipped one by `text`.
fn extended(text: &str) -> Result<Scenario, ScenarioError> {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("more.toml");
    let robot = format!("robot = \"{root}/robots/kinova_gen3_2f85.toml\"");
    std::fs::write(&path, format!("extends = \"{root}/{SHIPPED}\"\n{robot}\n{text}")).unwrap();
    Scenario::load(&path)
}

#[test]
fn a_held_object_has_a_shape_or_is_said_to_have_none() {
    let refused = |text: &str, parts: &[&str]| {
        let message = extended(text).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    refused("[payload]\nshape = []", &["more.toml", "payload.shape", "geometry = \"none\""]);
    refused("[payload]\ngeometry = \"none\"", &["payload.geometry", "one of them"]);
    refused("[payload]\ngeometry = \"some\"", &["more.toml", "some"]);
    let none = extended("[payload]\nshape = []\ngeometry = \"none\"").unwrap();
    let says = none.task().robot.trusted();
    assert!(says.iter().any(|text| text.contains("not declared")), "{says:?}");
    let stated = shipped().task().robot.trusted();
    assert!(stated.iter().all(|text| !text.contains("not declared")), "{stated:?}");
    // An object that the wrist is inside of cannot be kept apart from it.
    let swallowed = "[payload]\nshape = [{ a_m = [0.0, 0.0, 0.0], b_m = [0.0, 0.0, -0.1], radius_m = 0.06 }]";
    refused(swallowed, &["payload.shape[0]", "`wrist_2`", "payload.ignore"]);
    let ignore = |name: &str, why: &str| {
        format!("{swallowed}\nignore = [{{ capsule = \"{name}\", reason = \"{why}\" }}]")
    };
    refused(&ignore("tail", "r"), &["payload.ignore", "`tail`"]);
    refused(&ignore("wrist_2", " "), &["payload.ignore.reason", "`wrist_2`"]);
}

#[test]
fn a_scenario_may_extend_another() {
    let shipped = shipped();
    let same = extended("name = \"other\"\n[timing]\nmax_plans = 7").unwrap();
    let (mut task, ours) = (shipped.task().clone(), same.task());
    assert_eq!((ours.name.as_str(), ours.timing.max_plans), ("other", 7));
    (task.name, task.timing.max_plans) = ("other".into(), 7);
    assert_eq!(&task, ours);
    assert_eq!(same.split().1.reveal(), shipped.split().1.reveal());
    // Lists are replaced as a whole.
    assert!(extended("obstacles = []").unwrap().task().scene.obstacles.is_empty());

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("self.toml");
    std::fs::write(&path, "extends = \"self.toml\"").unwrap();
    let error = Scenario::load(&path).unwrap_err().to_string();
    assert!(error.contains("`extends`") && error.contains("at most"), "{error}");
    std::fs::write(&path, "extends = 3").unwrap();
    assert!(Scenario::load(&path).unwrap_err().to_string().contains("expected the path"));
    std::fs::write(&path, "extends = \"nowhere.toml\"").unwrap();
    assert!(Scenario::load(&path).unwrap_err().to_string().contains("nowhere.toml"));
}

/// Files that a scenario names are looked for where it lies, whoever extends it.
#[test]
fn what_is_extended_finds_its_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let (below, above) = (folder.path().join("below"), folder.path().join("above/further"));
    [&below, &above].into_iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    let root = env!("CARGO_MANIFEST_DIR");
    std::fs::write(below.join("arm.toml"), "extends = \"kinova_gen3_2f85\"\nname = \"mine\"\n").unwrap();
    let block = "v 2 2 2\nv 2.1 2 2\nv 2 2.1 2\nv 2 2 2.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n";
    std::fs::write(below.join("block.obj"), block).unwrap();
    let base = format!(
        "extends = \"{root}/{SHIPPED}\"\nrobot = \"arm.toml\"\nobstacles = [{{ name = \"block\", mesh = \"block.obj\" }}]\n"
    );
    std::fs::write(below.join("base.toml"), base).unwrap();
    let own = above.join("own.toml");
    std::fs::write(&own, "extends = \"../../below/base.toml\"\nname = \"own\"\n").unwrap();
    let task = Scenario::load(&own).unwrap().task().clone();
    assert_eq!((task.robot.name.as_str(), task.scene.obstacles.len()), ("mine", 1));
    // What it states itself is beside it; what is not there is named with the place that it was looked for in.
    std::fs::write(
        &own,
        "extends = \"../../below/base.toml\"\nobstacles = [{ name = \"b\", mesh = \"block.obj\" }]",
    )
    .unwrap();
    let error = Scenario::load(&own).unwrap_err().to_string();
    assert!(error.contains("obstacles.b.mesh") && error.contains("above/further/block.obj"), "{error}");
}

#[test]
fn faults_reach_the_world_alone_and_bad_ones_are_refused_by_field() {
    let heavy = extended("[faults]\npayload_mass_kg = 7.0").unwrap();
    assert_eq!(heavy.task(), shipped().task());
    assert!((heavy.split().1.reveal().unwrap()[0] - 8.28486).abs() < 1e-4);
    for (faults, expected) in [
        ("frozen_encoder = { joint = \"elbow\", at_s = 1.0 }", "`faults.frozen_encoder.joint`"),
        ("frozen_encoder = { joint = \"joint_4\", at_s = -1.0 }", "`faults.frozen_encoder.at_s`"),
        ("payload_mass_kg = nan", "`faults.payload_mass_kg`"),
        ("payload_slips = { at_s = 3.0, by_m = [0.0, inf, 0.0] }", "`faults.payload_slips.by_m`"),
        ("torque_gain = { ratio = -1.5 }", "`faults.torque_gain.ratio`"),
        ("friction_ratio = inf", "`faults.friction_ratio`"),
        ("clock_jump = { at_s = inf, by_s = 0.1 }", "`faults.clock_jump.at_s`"),
        ("lost_encoder = { joint = \"elbow\", at_s = 1.0 }", "`faults.lost_encoder.joint`"),
        ("clamped_drive = { at_s = 0.0, share = 0.0 }", "`faults.clamped_drive.share`"),
        (
            "elastic_joints = { stiffness_nm_rad = [1e4], encoders = \"link\" }",
            "`faults.elastic_joints.stiffness_nm_rad`",
        ),
        ("dropped_samples = { at_s = 0.0, count = 3, every_s = 0.0 }", "`faults.dropped_samples.every_s`"),
        ("payload_dropped = { at_s = -1.0 }", "`faults.payload_dropped.at_s`"),
        ("late_readings = { at_s = 1.0, periods = 0 }", "`faults.late_readings.periods`"),
        ("planner_stalls = { at_s = 1.0, for_s = nan }", "`faults.planner_stalls.for_s`"),
        ("earthquake = true", "earthquake"),
    ] {
        let error = extended(&format!("[faults]\n{faults}")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The shipped scenario with the crate in place of its `size_m` given by `shape`, read from a folder with a mesh.
fn with_crate(shape: &str) -> crate::robot::Zonotope3 {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(SHIPPED).unwrap();
    let robots = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
    let text = text.replace("robots/kinova_gen3_2f85.toml", robots);
    let changed = text.replace("size_m = [0.3, 0.3, 0.15]", shape);
    assert_ne!(text, changed);
    let path = folder.path().join("changed.toml");
    std::fs::write(&path, changed).unwrap();
    let corner =
        |k: usize| [0, 1, 2].map(|i| if k >> i & 1 == 1 { [150, 150, 75][i] } else { -[150, 150, 75][i] });
    let lines: String = (0..8).map(corner).map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
    std::fs::write(folder.path().join("crate.obj"), lines).unwrap();
    let task = Scenario::load(&path).unwrap().split().0;
    task.scene.obstacles.into_iter().find(|o| o.name == "crate").unwrap()
}

#[test]
fn one_crate_written_in_four_ways_is_one_crate() {
    let task = shipped().split().0;
    let given = task.scene.obstacles.into_iter().find(|o| o.name == "crate").unwrap();
    let vertices: Vec<String> = (0..8)
        .map(|k| [(0, 0.15), (1, 0.15), (2, 0.075)].map(|(i, h)| if k >> i & 1 == 1 { h } else { -h }))
        .map(|v| format!("{v:?}"))
        .collect();
    let others = [
        "generators_m = [[0.15, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.05, 0.0], [0.0, 0.0, 0.075]]".to_owned(),
        format!("vertices_m = [{}]", vertices.join(", ")),
        "mesh = \"crate.obj\"\nmesh_scale = 0.001".to_owned(),
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for shape in others {
        let found = with_crate(&shape);
        for _ in 0..200 {
            let u = nalgebra::Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0));
            let (a, b) = (u.dot(&given.support(&u)), u.dot(&found.support(&u)));
            // Nothing is lost, and little is added.
            assert!(a - 1e-12 <= b && b <= a + 1e-6, "{shape}: {a} {b}");
        }
    }
}

/// The shipped scenario, with the object alone in the frame of a link, and the prior in words, in place of ten numbers each.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_payload_may_be_stated_in_the_frame_of_a_link_at_length() {
    let words = "name = \"words\"\nschema = 1\ndescription = \"A box at the flange.\"\nrobot = \"ur5e\"\nstart_rad = [0.0, -1.0, 1.0, 0.0, 0.0, 0.0]\n\
        goal_rad = [0.5, -1.0, 1.0, 0.0, 0.0, 0.0]\n[carry]\nrange_rad = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]\n\
        [excite]\nrange_rad = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]\n\
        [payload]\nname = \"box\"\ngeometry = \"none\"\n[payload.object]\nmass_kg = 2.0\ncom_m = [0.0, 0.1, 0.0]\n\
        inertia_kg_m2 = { xx = 0.002, xy = 0.0, yy = 0.001, xz = 0.0, yz = 0.0, zz = 0.002 }\n\
        [prior.payload]\nmax_mass_kg = 3.0\ncenter_m = [0.0, 0.1, 0.0]\nsize_m = [0.1, 0.1, 0.1]\nnominal_mass_kg = 2.5\n";
    let written = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words.toml");
        std::fs::write(&path, text).unwrap();
        Scenario::load(&path).map_err(|error| error.to_string())
    };
    let (task, truth) = written(words).unwrap().split();
    let body = truth.reveal().unwrap();
    let prior = task.held.unwrap().prior;
    let [lower, upper] = prior.body().unwrap().unwrap();
    assert!(
        (0..INERTIAL).all(|k| lower[k] <= body[k] && body[k] <= upper[k]),
        "{lower:?} {body:?} {upper:?}"
    );
    let empty = task.robot.joints[5].inertia;
    assert!(
        (prior.guess().unwrap()[0] - empty[0] - 2.5).abs() < 1e-12
            && (body[0] - empty[0] - 2.0).abs() < 1e-12
    );
    for (from, to, parts) in [
        (
            "[payload.object]\n",
            "[payload.object]\nframe = \"base_link\"\n",
            ["payload.object.frame", "tool0"],
        ),
        ("xx = 0.002", "xx = 0.2", ["payload.object", "no rigid body"]),
        ("mass_kg = 2.0", "mass_kg = nan", ["payload.object", "no rigid body"]),
        ("geometry = \"none\"", "geometry = \"none\"\nmass_kg = 2.0", ["`payload`", "or `object`"]),
        ("nominal_mass_kg = 2.5", "nominal_mass_kg = 3.5", ["prior.payload.nominal_mass_kg", "3.5"]),
        ("size_m = [0.1,", "size_m = [-0.1,", ["prior.payload.size_m", "-0.1"]),
        ("[prior.payload]\n", "[prior.payload]\nframe = \"claw\"\n", ["prior.payload.frame", "tool0"]),
    ] {
        assert!(words.contains(from), "{from}");
        let Err(message) = written(&words.replace(from, to)) else { panic!("{to}") };
        for part in parts {
            assert!(message.contains(part), "{part} in {message}");
        }
    }
}
