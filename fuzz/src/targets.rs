//! What is attacked: for each kind of file good examples, and what is done with a broken one.

use std::fs;
use std::path::Path;

use nalgebra::{Matrix3, Vector3};
use surelift::certify::{Partition, Problem, Start, certify};
use surelift::enclose::Counted;
use surelift::inertia::ParameterSet;
use surelift::plan::{Plan, saved, tube_fit};
use surelift::reach::TrackingTube;
use surelift::recording::{AngleUnit, MeasurementLog};
use surelift::robot::{self, Scene, Zonotope3};
use surelift::scenario::Scenario;
use surelift::study::estimation::EstimationStudy;
use surelift::trajectory::{Bezier, JointState};

use crate::examples;

/// One kind of file.
pub struct Target {
    pub name: &'static str,
    /// Where an input is put, in a folder that holds what it may refer to.
    pub file: &'static str,
    /// Whether the file is text.
    pub text: bool,
    /// Good files, from the repository or made here; the argument is the folder with what they refer to.
    pub examples: fn(&Path) -> Vec<Vec<u8>>,
    /// Reads a file as the program would; whether it was accepted.
    pub read: fn(&Path) -> bool,
}

/// All of them.
pub const TARGETS: [Target; 7] = [
    Target { name: "urdf", file: "robots/input.urdf", text: true, examples: urdfs, read: read_urdf },
    Target { name: "robot", file: "robots/input.toml", text: true, examples: robots, read: read_robot },
    Target {
        name: "scenario",
        file: "scenarios/input.toml",
        text: true,
        examples: scenarios,
        read: read_scenario,
    },
    Target { name: "plan", file: "input.json", text: true, examples: plans, read: read_plan },
    Target { name: "csv", file: "input.csv", text: true, examples: tables, read: read_log },
    Target { name: "even", file: "scenarios/input.csv", text: true, examples: even_tables, read: read_even },
    Target { name: "mcap", file: "input.mcap", text: false, examples: bags, read: read_log },
];

/// Puts what inputs may refer to into a folder.
pub fn furnish(folder: &Path) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (robots, scenarios) = (folder.join("robots"), folder.join("scenarios"));
    for (from, to) in [
        ("robots", &robots),
        ("examples/my_arm", &robots),
        ("examples/my_arm", &scenarios),
        ("scenarios", &scenarios),
    ] {
        fs::create_dir_all(to).expect("the folder can be made");
        for entry in fs::read_dir(repository.join(from)).expect("the repository is whole").flatten() {
            if entry.path().is_file() {
                fs::copy(entry.path(), to.join(entry.file_name())).expect("the file can be copied");
            }
        }
    }
    fs::write(scenarios.join("even.toml"), examples::EVEN_PROBLEM).expect("the folder can be written to");
}

fn texts(folder: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let read = |name: &&str| fs::read(folder.join(name)).expect("the repository is whole");
    names.iter().map(read).collect()
}

fn urdfs(folder: &Path) -> Vec<Vec<u8>> {
    texts(
        folder,
        &[
            "robots/my_arm.urdf",
            "robots/double_pendulum.urdf",
            "robots/hector.urdf",
            "robots/b1_leg.urdf",
            "robots/z1.urdf",
        ],
    )
}

fn read_urdf(path: &Path) -> bool {
    // Checks that stop at the first fault hide what comes behind it from the attack; the lenient ones do not.
    let lenient = robot::load_lenient(path).is_ok();
    robot::load(path).is_ok() || lenient
}

fn robots(folder: &Path) -> Vec<Vec<u8>> {
    let names =
        ["my_arm", "double_pendulum", "hector", "b1_leg", "b1_z1", "z1", "z1_gripping", "kinova_gen3_2f85"];
    let names: Vec<String> = names.iter().map(|name| format!("robots/{name}.toml")).collect();
    texts(folder, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn read_robot(path: &Path) -> bool {
    let lenient = robot::load_lenient(path).is_ok();
    robot::load(path).is_ok() || robot::load_model(path).is_ok() || lenient
}

fn scenarios(folder: &Path) -> Vec<Vec<u8>> {
    let names = ["first_move", "unknown_load", "z1_load", "person_crosses", "dumbbell_c_8lb"];
    let names: Vec<String> = names.iter().map(|name| format!("scenarios/{name}.toml")).collect();
    let mut all = texts(folder, &names.iter().map(String::as_str).collect::<Vec<_>>());
    all.push(examples::EVERYTHING.into());
    all
}

fn read_scenario(path: &Path) -> bool {
    Scenario::load(path).is_ok()
}

/// A proven plan of the tutorial's arm, and one past something that moves.
fn plans(folder: &Path) -> Vec<Vec<u8>> {
    let robot = robot::load(folder.join("robots/my_arm.toml")).expect("the tutorial's arm is good");
    let curve =
        Bezier::to_rest(&JointState::at_rest(&[-0.8, 0.6, 0.9]), &[0.2, 0.5, 0.7], 3.0).expect("a motion");
    let set = ParameterSet::around_nominal(&robot);
    let tube =
        tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 32).expect("the motion is slow");
    let post = |x: f64| {
        Zonotope3::cuboid(
            "post",
            Vector3::new(x, 0.0, 0.5),
            Vector3::new(0.1, 0.1, 1.0),
            &Matrix3::identity(),
        )
    };
    let near = Scene { obstacles: vec![post(-0.6)] };
    let moving = Scene { obstacles: vec![Zonotope3 { speed_m_s: 0.1, ..post(-2.0) }] };
    let plan = |scene: Scene| {
        let problem = Problem::new(&robot, &set, &scene, &tube, &curve).expect("a problem");
        let certificate = certify(&problem, &Start::Rest, Partition::default()).expect("there is room");
        let (robot, set, tube, curve) = (robot.clone(), set.clone(), TrackingTube::from(tube.clone()), curve.clone());
        let schema = saved::schema(&scene, (&curve).into(), &tube);
        Plan {
            schema,
            t_start_s: 0.0,
            start: saved::PlanStart::Rest,
            curve: curve.into(),
            tube,
            set,
            scene,
            robot,
            certificate,
        }
    };
    [Scene::default(), near, moving]
        .map(|scene| serde_json::to_vec(&plan(scene)).expect("a plan is JSON"))
        .to_vec()
}

fn read_plan(path: &Path) -> bool {
    let Ok(plan) = Plan::load(path) else { return false };
    // A proof takes a thousand times as long as reading does: of some alone, and a coarse one, which takes the same steps.
    let some = fs::metadata(path).is_ok_and(|file| file.len() % 8 == 0);
    if some {
        let _ = plan.verify::<Counted>(None, Partition { cells: 4, depth: 1 });
    } else if let Some(tube) = plan.tube.energy() {
        let _ = Problem::new(&plan.robot, &plan.set, &plan.scene, tube, &plan.curve);
    }
    true
}

fn tables(_: &Path) -> Vec<Vec<u8>> {
    examples::tables()
}

fn bags(_: &Path) -> Vec<Vec<u8>> {
    examples::bags()
}

fn read_log(path: &Path) -> bool {
    thread_local! {
        static ROBOT: robot::Arm = examples::planar_arm();
    }
    let read = |robot: &robot::Arm| {
        let mut accepted = false;
        for unit in [AngleUnit::Radians, AngleUnit::Degrees] {
            let Ok(log) = MeasurementLog::read(path, robot, unit) else { continue };
            accepted = true;
            assert!(log.samples.len() >= 2 && log.samples.windows(2).all(|pair| pair[0].t < pair[1].t));
            assert!(!log.notes().is_empty());
            let _ = log.split(0.5);
            let _ = log.with_torque_delay(0.015);
        }
        accepted
    };
    ROBOT.with(read)
}

fn even_tables(_: &Path) -> Vec<Vec<u8>> {
    examples::even_tables()
}

fn read_even(path: &Path) -> bool {
    EstimationStudy::load(path.with_file_name("even.toml")).is_ok()
}
