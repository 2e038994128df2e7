//! `surelift_node`: a ROS 2 node that identifies payloads, plans with proofs and executes what is proven. No ROS installation is needed:
//! it speaks DDS through `ros2-client`. `docs/howto/ros2.md` lists its topics and services.

mod answers;
mod execution;
mod joint_states;
mod knowledge;
mod messages;
mod node;
mod planning;
mod replies;
mod wires;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, ValueEnum};
use ros2_client::ServiceMapping;
use surelift::horizon::{Task, Timing};
use surelift::inertia::ParameterSet;
use surelift::job::{GraspPrior, JobOptions};
use surelift::robot::{self, Scene};
use surelift::scenario::Scenario;

use knowledge::{Given, Knowledge};
use node::SureliftNode;
use planning::{Limits, TrajectoryPlanner};
use wires::{Place, Wires};

/// Length of a window of data where no scenario says another, s.
const WINDOW_S: f64 = 0.1;

/// A ROS 2 node: joint states in, proven payloads and trajectories out
#[derive(Debug, Parser)]
#[command(name = "surelift_node", version)]
struct NodeArgs {
    /// A robot that ships with surelift, or the path of a robot TOML or URDF; may be left out with --scenario
    #[arg(long, value_name = "NAME_OR_PATH", required_unless_present = "scenario")]
    robot: Option<String>,
    /// Obstacles, goal, what is held and what is believed of it; of a truth in it nothing is used
    #[arg(long, value_name = "FILE.toml")]
    scenario: Option<PathBuf>,
    /// Something is held, no heavier than this, kg; all of it in a box (--center, --size)
    #[arg(long, value_name = "KG", requires_all = ["center", "size"], conflicts_with = "scenario", allow_negative_numbers = true)]
    mass: Option<f64>,
    /// Centre of that box in the tool frame, m
    #[arg(
        long,
        value_name = "X,Y,Z",
        value_delimiter = ',',
        requires = "mass",
        allow_negative_numbers = true
    )]
    center: Vec<f64>,
    /// Full side lengths of that box, m
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', requires = "mass")]
    size: Vec<f64>,
    /// Link in whose frame the box is, and the payload is told
    #[arg(long, value_name = "LINK", requires = "mass")]
    frame: Option<String>,
    /// Bound of accelerations at all times, rad/s^2, one a joint or one for all: joint states then count whoever moves the arm
    #[arg(long, value_name = "A,..", value_delimiter = ',')]
    acceleration: Vec<f64>,
    /// Time for a proposal, s
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    plan_seconds: f64,
    /// Topic of the arm's joint states
    #[arg(long, value_name = "TOPIC", default_value = "/joint_states")]
    joint_states: String,
    /// Joint states are published as best effort
    #[arg(long)]
    best_effort: bool,
    /// Name of the node, below which its topics and services lie
    #[arg(long, value_name = "NAME", default_value = "surelift")]
    name: String,
    /// DDS domain
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0)]
    domain: u16,
    /// Address of an interface to use, such as 127.0.0.1; may be given several times [default: all]
    #[arg(long, value_name = "IP")]
    interface: Vec<IpAddr>,
    /// Middleware of the peers, which decides how services look on DDS
    #[arg(long, value_enum, env = "RMW_IMPLEMENTATION", default_value = "rmw_fastrtps_cpp")]
    rmw: Middleware,
}

/// ROS middlewares by their names.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Middleware {
    RmwFastrtpsCpp,
    RmwCycloneddsCpp,
}

impl Middleware {
    fn mapping(self) -> ServiceMapping {
        match self {
            Self::RmwFastrtpsCpp => ServiceMapping::Enhanced,
            Self::RmwCycloneddsCpp => ServiceMapping::Cyclone,
        }
    }
}

/// What the files and the command line say of the arm, its payload and its surroundings.
struct Setup {
    task: Task,
    grasp: Option<GraspPrior>,
    /// Whether the task has a goal.
    aims: bool,
    excite_range: Vec<f64>,
}

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn three(option: &str, values: &[f64]) -> Result<[f64; 3], String> {
    values.try_into().map_err(|_| format!("--{option}: {} numbers, expected 3", values.len()))
}

/// The task of a scenario: what is true in it stays behind.
fn of_scenario(file: &Path, robot: Option<&str>) -> Result<Setup, String> {
    let (task, _) = Scenario::load(file).map_err(in_words)?.split();
    if let Some(named) = robot {
        let named = robot::load(named).map_err(in_words)?.name.clone();
        if named != task.robot.name {
            return Err(format!(
                "--robot is '{named}', but `{}` is about '{}'",
                file.display(),
                task.robot.name
            ));
        }
    }
    let excite_range =
        task.held.as_ref().map_or_else(|| task.carry.range_rad.clone(), |held| held.excite.range_rad.clone());
    Ok(Setup { task, grasp: None, aims: true, excite_range })
}

/// The task of an arm, with what the command line says of its payload.
fn of_robot(args: &NodeArgs, name: &str) -> Result<Setup, String> {
    let robot = robot::load(name).map_err(in_words)?;
    let options = JobOptions::of(&robot);
    let grasp = match args.mass {
        Some(mass) => {
            let prior = GraspPrior::within(mass, three("center", &args.center)?, three("size", &args.size)?);
            Some(args.frame.iter().fold(prior, |prior, link| prior.in_frame(link)))
        }
        None => None,
    };
    let attached = grasp.as_ref().map(|grasp| grasp.attached_to(&robot, &options)).transpose();
    let (robot, held) = match attached.map_err(in_words)? {
        Some((robot, held)) => (robot, Some(held)),
        None => (robot, None),
    };
    let nowhere = vec![0.0; robot.dof()];
    let task = Task {
        name: "node".to_owned(),
        description: String::new(),
        robot,
        held,
        start: nowhere.clone(),
        goal: nowhere,
        goal_tolerance_rad: options.goal_tolerance_rad,
        growth_max_m: None,
        scene: Scene::default(),
        timing: Timing::default(),
        carry: surelift::horizon::Carry { range_rad: options.carry_range_rad },
        path: None,
        placing: None,
        planner: surelift::plan::propose::ConstraintModel::default(),
    };
    Ok(Setup { task, grasp, aims: false, excite_range: options.excite_range_rad })
}

fn acceleration(values: &[f64], joints: usize) -> Result<Option<Vec<f64>>, String> {
    if let Some(bad) = values.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        return Err(format!("--acceleration: {bad}, expected finite numbers of at least 0"));
    }
    match values {
        [] => Ok(None),
        [all] => Ok(Some(vec![*all; joints])),
        each if each.len() == joints => Ok(Some(each.to_vec())),
        each => Err(format!("--acceleration: {} numbers, expected 1 or {joints}", each.len())),
    }
}

fn node(args: &NodeArgs) -> Result<SureliftNode, String> {
    let setup = match (&args.scenario, &args.robot) {
        (Some(file), robot) => of_scenario(file, robot.as_deref())?,
        (None, Some(robot)) => of_robot(args, robot)?,
        (None, None) => return Err("--robot or --scenario is missing".to_owned()),
    };
    let Setup { task, grasp, aims, excite_range } = setup;
    if let Some(obstacle) = task.scene.obstacles.iter().find(|obstacle| obstacle.moves()) {
        return Err(format!(
            "obstacle '{}' moves: the node knows no topic that says where it is",
            obstacle.name
        ));
    }
    if !(args.plan_seconds > 0.0 && args.plan_seconds <= 600.0) {
        return Err(format!("--plan-seconds: {}, expected above 0 and at most 600", args.plan_seconds));
    }
    let prior: ParameterSet = task.prior_set().map_err(|fault| format!("prior.{fault}"))?;
    let robot = Arc::new(task.robot.clone());
    let knowledge = Knowledge::new(Given {
        robot: robot.clone(),
        prior,
        holds: task.held.is_some(),
        grasp,
        window_s: task.held.as_ref().map_or(WINDOW_S, |held| held.identify.window_s),
        acceleration: acceleration(&args.acceleration, robot.dof())?,
    })
    .map_err(in_words)?;
    let limits = Limits {
        scene: task.scene,
        duration_s: task.timing.t_f_s,
        carry_range: task.carry.range_rad,
        excite_range,
        seconds: args.plan_seconds,
    };
    let planner = TrajectoryPlanner::new(robot.clone(), limits);
    let wires = Wires::new(&Place {
        domain: args.domain,
        interfaces: args.interface.clone(),
        mapping: args.rmw.mapping(),
        name: args.name.clone(),
        joint_states: args.joint_states.clone(),
        best_effort: args.best_effort,
    })?;
    Ok(SureliftNode::new(robot, args.name.clone(), wires, knowledge, planner, aims.then_some(task.goal)))
}

fn main() -> ExitCode {
    let args = NodeArgs::parse();
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, ends.clone()) {
            eprintln!("surelift_node: {error}");
        }
    }
    let ran = node(&args).and_then(|mut node| {
        eprintln!("surelift_node: ready");
        node.run(&|| ends.load(Ordering::Relaxed)).map_err(in_words)
    });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("surelift_node: {fault}");
            ExitCode::from(2)
        }
    }
}
