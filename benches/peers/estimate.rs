//! Times an iteration of the estimator; the counterpart of Crocoddyl, started by `compare_estimate.py` (README.md beside this
//! file).
//!
//! `peers_estimate THREADS REPEATS` prints one line `PROBLEM MILLISECONDS COST TRIALS` a problem: the time of three
//! iterations (four minus one, each the fastest of REPEATS), divided by three; the cost after them; and the step lengths
//! that were tried in these three.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use surelift::dynamics::Constraint;
use surelift::estimate::{EstimationProblem, Solver, SolverOptions, Trajectory};
use surelift::inertia::JointParameters;
use surelift::multibody::{ContactPhase, Contacts, Deviations, Formulation, MultibodyProblem, ParameterMap};
use surelift::recording::Sample;
use surelift::robot::{self, LoopKind, Model, Placement};

type Outcome<T> = Result<T, Box<dyn Error>>;

const STAGES: usize = 100;

/// A robot without friction and transmission inertia, as the other side has it.
fn plain(name: &str) -> Outcome<Model> {
    let mut robot = robot::load_model(name)?;
    for joint in &mut robot.joints {
        joint.friction = JointParameters { coulomb: 0.0, viscous: 0.0, armature: 0.0, offset: 0.0 };
    }
    Ok(robot)
}

/// The problem of explaining `samples` without parameters.
fn explaining(robot: Model, samples: Vec<Sample>) -> Outcome<MultibodyProblem> {
    let n = robot.nv();
    let deviations = Deviations {
        q: vec![1e-2; n],
        dq: vec![1e-1; n],
        tau: vec![1.0; n],
        first_q: vec![f64::INFINITY; n],
        first_dq: vec![f64::INFINITY; n],
        theta: Vec::new(),
    };
    let map = ParameterMap::none(&robot);
    Ok(MultibodyProblem::new(Arc::new(robot), map, samples, 0.005, &deviations)?)
}

/// Z1 and samples of sines.
fn arm() -> Outcome<MultibodyProblem> {
    let robot = plain("z1")?;
    let n = robot.nv();
    let phase = |k: usize, j: usize| 0.02 * k as f64 + j as f64;
    let sample = |k| Sample {
        t: 0.005 * k as f64,
        q: (0..n).map(|j| 0.3 * phase(k, j).sin()).collect(),
        dq: (0..n).map(|j| 1.2 * phase(k, j).cos()).collect(),
        tau: (0..n).map(|j| 0.3 * (phase(k, j) + 2.0).sin()).collect(),
    };
    explaining(robot, (0..STAGES).map(sample).collect())
}

/// Go1 that stands on four point feet, with torques of sines in its legs.
fn quadruped() -> Outcome<MultibodyProblem> {
    let robot = plain("go1")?;
    let n = robot.nv();
    let stance: Vec<f64> =
        [0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0].into_iter().chain([0.0, 0.8, -1.6].repeat(4)).collect();
    let torque =
        |k: usize, j: usize| if j < 6 { 0.0 } else { 0.3 * (0.02 * k as f64 + (j - 6) as f64).sin() };
    let sample = |k| Sample {
        t: 0.005 * k as f64,
        q: stance.clone(),
        dq: vec![0.0; n],
        tau: (0..n).map(|j| torque(k, j)).collect(),
    };
    let foot = |name: &str| -> Outcome<Constraint> {
        let frame = robot.frame_index(name).ok_or("a foot is missing")?;
        Ok(Constraint::contact(&robot, frame, LoopKind::Point, Placement::identity()))
    };
    let constraints =
        ["FL_foot", "FR_foot", "RL_foot", "RR_foot"].map(foot).into_iter().collect::<Outcome<Vec<_>>>()?;
    let phases = vec![ContactPhase { from: 0, active: vec![true; constraints.len()] }];
    let problem = explaining(robot, (0..STAGES).map(sample).collect())?;
    let contacts = Contacts { constraints, phases, compliance: 0.0 };
    Ok(problem.formulated(Formulation::Inverse).with_contacts(contacts)?)
}

/// Seconds for a solution, the cost after it and the number of trial steps behind the first iteration.
fn time<P: EstimationProblem>(
    solver: &mut Solver<'_, P>,
    guess: &Trajectory,
    repeats: usize,
) -> Outcome<(f64, f64, usize)> {
    let mut best = (f64::INFINITY, 0.0, 0);
    for _ in 0..repeats {
        let clock = Instant::now();
        let outcome = solver.solve(guess)?;
        let seconds = clock.elapsed().as_secs_f64();
        if seconds < best.0 {
            best = (seconds, outcome.cost, outcome.record.iter().skip(1).map(|i| i.trials).sum());
        }
    }
    Ok(best)
}

fn report<P: EstimationProblem>(name: &str, problem: &P, guess: &Trajectory, repeats: usize) -> Outcome<()> {
    // The first state is known and nothing ends the iteration early, as on the other side.
    let options = |iterations| SolverOptions {
        iterations,
        tolerance: -1.0,
        fixed_arrival: true,
        ..SolverOptions::default()
    };
    let (one, ..) = time(&mut Solver::new(problem, options(1))?, guess, repeats)?;
    let (four, cost, trials) = time(&mut Solver::new(problem, options(4))?, guess, repeats)?;
    println!("{name} {} {cost} {trials}", 1e3 * (four - one) / 3.0);
    Ok(())
}

fn main() -> Outcome<()> {
    let number = |i: usize| -> Outcome<usize> {
        Ok(std::env::args().nth(i).ok_or("usage: peers_estimate THREADS REPEATS")?.parse()?)
    };
    let (threads, repeats) = (number(1)?, number(2)?);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    for (name, problem) in [("z1", arm()?), ("go1", quadruped()?)] {
        report(name, &problem, &problem.guess(), repeats)?;
    }
    Ok(())
}
