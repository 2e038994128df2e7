//! Proves one motion of a robot from rest to rest and writes the plan file, for `surelift verify` and `check/check.py`:
//!
//! ```text
//! cargo run --release --example motion -- robots/z1.toml plan.json 3 0,1.5,-1.5,0,0,0 0.3,1.2,-1.3,0,0,0.2
//! ```
//!
//! With a third configuration between the two it goes through that without stopping, in two pieces of least jerk that take half of the time each:
//!
//! ```text
//! cargo run --release --example motion -- robots/z1.toml plan.json 2 0,1.5,-1.5,0,0,0 0.2,1.3,-1.4,0,0,0 0.3,1.4,-1.4,0,0,0.1
//! ```
//!
//! Positions are given joint by joint (rad, m), the duration in seconds. The hand is empty, nothing stands around, and every
//! parameter is within the robot's own uncertainty.

use std::error::Error;

use surelift::certify::{Partition, Problem, Start, certify};
use surelift::inertia::ParameterSet;
use surelift::plan::fast_path::least_jerk;
use surelift::plan::saved::{PlanStart, schema};
use surelift::plan::{Plan, tube_fit};
use surelift::robot::{self, Scene};
use surelift::trajectory::{Bezier, JointState, PiecewiseBezier};

const CELLS: usize = 32;

fn positions(list: &str) -> Result<Vec<f64>, std::num::ParseFloatError> {
    list.split(',').map(str::parse).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [robot, out, seconds, start, others @ ..] = &arguments[..] else {
        return Err("expected ROBOT.toml PLAN.json SECONDS START [VIA] END".into());
    };
    let robot = robot::load(robot)?;
    let (seconds, start): (f64, _) = (seconds.parse()?, positions(start)?);
    let curve: PiecewiseBezier = match others {
        [end] => Bezier::to_rest(&JointState::at_rest(&start), &positions(end)?, seconds)?.into(),
        [via, end] => least_jerk(&start, &positions(via)?, &positions(end)?, [0.5 * seconds; 2])?,
        _ => return Err("expected START [VIA] END".into()),
    };
    let (set, scene) = (ParameterSet::around_nominal(&robot), Scene::default());
    let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), CELLS)?;
    let problem = Problem::new(&robot, &set, &scene, &tube, &curve)?;
    let certificate = certify(&problem, &Start::Rest, Partition::default())?;
    println!("{certificate:#?}");
    let tube = tube.into();
    let (schema, t_start_s, start) = (schema(&scene, curve.view(), &tube), 0.0, PlanStart::Rest);
    let plan = Plan { schema, t_start_s, start, curve, tube, set, scene, robot, certificate };
    std::fs::write(out, serde_json::to_string(&plan)? + "\n")?;
    Ok(())
}
