//! Times this crate's rigid-body algorithms on the states of workload files; the counterpart of `pinocchio.cpp`, started by
//! `compare.py` (README.md beside this file).
//!
//! `peers SECONDS FILE...` prints one line `ROBOT ALGORITHM NANOSECONDS CHECKSUM` a figure: the fastest of the batches
//! that fit into SECONDS, divided by the number of states in a batch, and a weighted sum of the results.

use std::hint::black_box;
use std::process::exit;
use std::time::Instant;

use surelift::dynamics::{ForwardDerivatives, InverseDerivatives, Motion, Workspace, torque_regressor};
use surelift::inertia::INERTIAL;
use surelift::inertia::JointParameters;
use surelift::robot::Model;

/// One state of a workload.
struct State {
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    tau: Vec<f64>,
}

/// A shipped robot and the states to work on.
struct Workload {
    robot: Model,
    states: Vec<State>,
}

/// Ends the program: the driver shows the message.
fn fail(message: &str) -> ! {
    eprintln!("{message}");
    exit(2)
}

/// Reads the states; the model itself is the shipped robot of that name, without friction and transmission inertia: the
/// other side's model has none.
fn read(path: &str) -> Workload {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| fail(&format!("{path}: {error}")));
    let mut words = text.split_whitespace();
    let name = words.nth(1).unwrap_or_else(|| fail(&format!("{path}: no robot")));
    let mut robot = surelift::robot::load_model(name).unwrap_or_else(|error| fail(&error.to_string()));
    for joint in &mut robot.joints {
        joint.friction = JointParameters { coulomb: 0.0, viscous: 0.0, armature: 0.0, offset: 0.0 };
    }
    let mut numbers = words.skip_while(|&word| word != "states").skip(1).map(|word| {
        word.parse::<f64>().unwrap_or_else(|_| fail(&format!("{path}: `{word}` is not a number")))
    });
    let count = numbers.next().unwrap_or(0.0) as usize;
    let (nq, nv) = (robot.nq(), robot.nv());
    let mut vector = |length: usize| numbers.by_ref().take(length).collect::<Vec<f64>>();
    let states =
        (0..count).map(|_| State { q: vector(nq), v: vector(nv), a: vector(nv), tau: vector(nv) }).collect();
    Workload { robot, states }
}

/// Sum of all entries, each times a number that depends on its place.
fn checksum(values: &[f64]) -> f64 {
    values.iter().enumerate().map(|(k, x)| ((k + 1) as f64).sin() * x).sum()
}

/// Prints the line of one algorithm: `run` does the work for a state, `result` gives what it computed.
fn report<S>(
    work: &Workload,
    seconds: f64,
    algorithm: &str,
    scratch: &mut S,
    mut run: impl FnMut(&State, &mut S),
    result: impl Fn(&S) -> f64,
) {
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    let mut now = begin;
    while (now - begin).as_secs_f64() < seconds {
        for state in &work.states {
            run(black_box(state), scratch);
        }
        let end = Instant::now();
        best = best.min((end - now).as_secs_f64() * 1e9);
        now = end;
    }
    let mut check = 0.0;
    for state in &work.states {
        run(state, scratch);
        check += result(scratch);
    }
    println!("{} {algorithm} {:.2} {check:?}", work.robot.name, best / work.states.len() as f64);
}

fn measure(work: &Workload, seconds: f64) {
    let robot = &work.robot;
    let n = robot.nv();
    let theta = robot.nominal_parameters();
    let mut space = Workspace::new(robot);

    let run = |s: &State, (space, tau): &mut (Workspace, Vec<f64>)| {
        space.inverse_dynamics(robot, &s.q, &s.v, &s.a, &theta, tau);
    };
    report(work, seconds, "rnea", &mut (space.clone(), vec![0.0; n]), run, |(_, tau)| checksum(tau));

    let run = |s: &State, (space, mass): &mut (Workspace, Vec<f64>)| {
        space.mass_matrix(robot, &s.q, &theta, mass);
    };
    report(work, seconds, "crba", &mut (space.clone(), vec![0.0; n * n]), run, |(_, mass)| checksum(mass));

    let run = |s: &State, (space, a): &mut (Workspace, Vec<f64>)| {
        space.forward_dynamics(robot, &s.q, &s.v, &s.tau, &theta, a);
    };
    report(work, seconds, "aba", &mut (space.clone(), vec![0.0; n]), run, |(_, a)| checksum(a));

    let columns = INERTIAL * robot.bodies();
    let run = |s: &State, (motion, y): &mut (Motion<f64>, Vec<f64>)| {
        motion.sweep(robot, &s.q, &s.v, &s.v, &s.a);
        torque_regressor(robot, motion, 0..robot.bodies(), y);
    };
    let torque = |(_, y): &(Motion<f64>, Vec<f64>)| {
        let rows = y.chunks(columns);
        checksum(&rows.map(|row| row.iter().zip(&theta).map(|(y, x)| y * x).sum()).collect::<Vec<f64>>())
    };
    let scratch = &mut (Motion::new(robot), vec![0.0; columns * n]);
    report(work, seconds, "torque_regressor", scratch, run, torque);

    let run = |s: &State, out: &mut InverseDerivatives| {
        space.inverse_dynamics_derivatives(robot, &s.q, &s.v, &s.a, &theta, out);
    };
    let result = |out: &InverseDerivatives| checksum(&out.by_q) + checksum(&out.by_v) + checksum(&out.mass);
    report(work, seconds, "rnea_derivatives", &mut InverseDerivatives::new(robot), run, result);

    let run = |s: &State, out: &mut ForwardDerivatives| {
        space.forward_dynamics_derivatives(robot, &s.q, &s.v, &s.tau, &theta, out);
    };
    let result = |out: &ForwardDerivatives| checksum(&out.by_q) + checksum(&out.by_v) + checksum(&out.by_tau);
    report(work, seconds, "aba_derivatives", &mut ForwardDerivatives::new(robot), run, result);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((seconds, files)) = arguments.split_first() else { fail("usage: peers SECONDS FILE...") };
    let seconds: f64 = seconds.parse().unwrap_or_else(|_| fail("SECONDS is not a number"));
    for file in files {
        measure(&read(file), seconds);
    }
}
