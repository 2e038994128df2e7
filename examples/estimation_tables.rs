//! The tables of `benches/estimation.md`:
//!
//! ```text
//! cargo run --release --example estimation_tables -- rollouts          # 003 Table I
//! cargo run --release --example estimation_tables -- coordinates       # 003 Fig. 3
//! cargo run --release --example estimation_tables -- speed             # time an iteration, and over the horizon
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use surelift::estimate::study::Study;
use surelift::estimate::{
    Coordinates, Deviations, MultibodyProblem, Options, ParameterMap, Rollout, Sample, Solver, Status,
    Trajectory,
};
use surelift::robot::{self, INERTIAL};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Problems with the samples that the tables use of them; the full lengths would only take longer.
const PROBLEMS: [(&str, usize); 3] =
    [("double_pendulum", 500), ("gen3_payload", 500), ("hector_payload", 500)];
const STARTS: u64 = 100;

fn main() -> Outcome<()> {
    match std::env::args().nth(1).as_deref() {
        Some("rollouts") => rollouts(),
        Some("coordinates") => coordinates(),
        Some("speed") => speed(),
        _ => Err("expected `rollouts`, `coordinates` or `speed`".into()),
    }
}

fn load(name: &str, samples: usize) -> Outcome<Study> {
    let mut study = Study::load(format!("scenarios/estimation/{name}.toml"))?;
    study.samples.truncate(samples);
    Ok(study)
}

/// A random start: every estimated body and friction parameter is 0.3 to 1.7 times the nominal one, states and noise
/// are perturbed.
fn random_start(study: &Study, problem: &MultibodyProblem, seed: u64) -> Outcome<Trajectory> {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let mut map = study.map.clone();
    let nominal = study.robot.nominal_parameters();
    for &(body, _) in &map.bodies {
        let ratio = draw.random_range(0.3..1.7);
        let at = study.robot.inertial_index(body);
        (at..at + INERTIAL).for_each(|i| map.nominal[i] = ratio * nominal[i]);
    }
    for &(joint, which) in &map.joints {
        let at = which.index(&study.robot, joint);
        map.nominal[at] = draw.random_range(0.3..1.7) * nominal[at];
    }
    let mut guess = problem.guess();
    guess.theta = map.start(&study.robot)?;
    guess.xs.iter_mut().flatten().for_each(|x| *x += draw.random_range(-0.05..0.05));
    Ok(guess)
}

/// Mean and standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

fn show(values: &[f64]) -> String {
    let (mean, deviation) = spread(values);
    format!("{mean:.4} ± {deviation:.4}")
}

fn rollouts() -> Outcome<()> {
    println!("| problem | rollout | converged | iterations | cost | error of the states (max) |");
    println!("|---|---|---|---|---|---|");
    for (name, samples) in PROBLEMS {
        let study = load(name, samples)?;
        let problem = study.problem()?;
        let mut rows = Vec::new();
        for rollout in [Rollout::Single, Rollout::Feasible, Rollout::Multiple] {
            let mut found = Vec::new();
            for seed in 0..STARTS {
                let guess = random_start(&study, &problem, seed)?;
                let mut solver = Solver::new(&problem, Options { rollout, ..Options::default() })?;
                // A start that cannot be rolled out at all counts as not converged.
                if let Ok(outcome) = solver.solve(&guess)
                    && outcome.status == Status::Converged
                {
                    found.push((outcome.record.len() - 1, outcome.cost, solver.trajectory().clone()));
                }
            }
            rows.push((rollout, found));
        }
        let Some((_, states)) = study.reveal() else { return Err("expected a simulated problem".into()) };
        for (rollout, found) in rows {
            let iterations: Vec<f64> = found.iter().map(|f| f.0 as f64).collect();
            let costs: Vec<f64> = found.iter().map(|f| f.1).collect();
            let errors: Vec<f64> = found.iter().map(|f| problem.largest_error(&f.2, &states)).collect();
            println!(
                "| {name} | {rollout:?} | {} of {STARTS} | {} | {} | {} |",
                found.len(),
                show(&iterations),
                show(&costs),
                show(&errors)
            );
        }
    }
    Ok(())
}

fn coordinates() -> Outcome<()> {
    println!("| problem | coordinates | converged | iterations | cost | seconds an iteration |");
    println!("|---|---|---|---|---|---|");
    for (name, samples) in PROBLEMS {
        for coordinates in [Coordinates::LogCholesky, Coordinates::ExponentialEigenvalue] {
            let mut study = load(name, samples)?;
            study.map.bodies.iter_mut().for_each(|b| b.1 = coordinates);
            // As in the paper, no prior on the parameters: what the data leave open stays where it is.
            study.deviations.theta.fill(f64::INFINITY);
            let problem = study.problem()?;
            let (mut iterations, mut costs, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
            for seed in 0..STARTS {
                let guess = random_start(&study, &problem, seed)?;
                let mut solver = Solver::new(&problem, Options::default())?;
                let clock = Instant::now();
                let Ok(outcome) = solver.solve(&guess) else { continue };
                if outcome.status == Status::Converged {
                    seconds.push(clock.elapsed().as_secs_f64() / outcome.record.len() as f64);
                    iterations.push((outcome.record.len() - 1) as f64);
                    costs.push(outcome.cost);
                }
            }
            println!(
                "| {name} | {coordinates:?} | {} of {STARTS} | {} | {} | {} |",
                costs.len(),
                show(&iterations),
                show(&costs),
                show(&seconds)
            );
        }
    }
    Ok(())
}

/// A problem of `count` stages on `robot`, with or without parameters.
fn timing_problem(name: &str, count: usize, estimated: bool) -> Outcome<MultibodyProblem> {
    let robot = Arc::new(robot::load(name)?);
    let n = robot.dof();
    let mut map = ParameterMap::none(&robot);
    if estimated {
        map.bodies = vec![(n - 1, Coordinates::LogCholesky)];
    }
    let wave = |k: usize, p: f64| (0..n).map(|j| 0.3 * (0.02 * k as f64 + p + j as f64).sin()).collect();
    let samples = (0..count)
        .map(|k| Sample { q: wave(k, 0.0), dq: wave(k, 1.0), tau: wave(k, 2.0), ..Sample::default() })
        .collect();
    let deviations = Deviations {
        q: vec![1e-2; n],
        dq: vec![1e-1; n],
        tau: vec![1.0; n],
        first_q: vec![1.0; n],
        first_dq: vec![1.0; n],
        theta: vec![0.5; map.len()],
    };
    Ok(MultibodyProblem::new(robot, map, samples, 0.005, &deviations)?)
}

/// Least time an iteration over several solutions, in seconds, and the number of iterations.
fn time_iteration(problem: &MultibodyProblem, parallel: bool, repeats: usize) -> Outcome<(f64, usize)> {
    let mut solver =
        Solver::new(problem, Options { parallel, iterations: 8, tolerance: 1e-9, ..Options::default() })?;
    let guess = problem.guess();
    let mut best = (f64::INFINITY, 0);
    for _ in 0..repeats {
        let clock = Instant::now();
        let outcome = solver.solve(&guess)?;
        let iterations = outcome.record.len();
        let time = clock.elapsed().as_secs_f64() / iterations as f64;
        if time < best.0 {
            best = (time, iterations);
        }
    }
    Ok(best)
}

fn speed() -> Outcome<()> {
    println!("| robot | stages | parameters | threads | iterations | time an iteration |");
    println!("|---|---|---|---|---|---|");
    let threads = rayon::current_num_threads();
    for (name, estimated) in [("z1", false), ("z1", true), ("kinova_gen3_2f85", false)] {
        for parallel in [false, true] {
            let problem = timing_problem(name, 100, estimated)?;
            let (time, iterations) = time_iteration(&problem, parallel, 200)?;
            let (used, parameters) = (if parallel { threads } else { 1 }, if estimated { 10 } else { 0 });
            println!("| {name} | 100 | {parameters} | {used} | {iterations} | {:.3} ms |", 1e3 * time);
        }
    }
    for count in [100, 1_000, 10_000, 100_000] {
        let problem = timing_problem("double_pendulum", count, true)?;
        let (time, iterations) = time_iteration(&problem, true, if count > 10_000 { 2 } else { 5 })?;
        println!("| double_pendulum | {count} | 10 | {threads} | {iterations} | {:.3} ms |", 1e3 * time);
    }
    Ok(())
}
