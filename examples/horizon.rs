//! The time of an iteration over the number of stages, and its picture:
//!
//! ```text
//! cargo run --release --example horizon -- docs/results/horizon.svg
//! ```
//!
//! Synthetic data: a double pendulum and a Z1 are swung by slow sines of torque, all states and torques are measured with noise, and the
//! inertia of the last body is unknown (10 parameters). An iteration linearises all stages, runs the recursion, computes
//! the step and tries it once; the time is that of four iterations minus that of one, divided by three.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use plotters::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use surelift::estimate::{EstimationProblem, Point, Solver, SolverOptions, StageValues};
use surelift::inertia::Coordinates;
use surelift::multibody::{Deviations, MultibodyProblem, ParameterMap};
use surelift::recording::Sample;
use surelift::robot;

type Outcome<T> = Result<T, Box<dyn Error>>;

const COUNTS: [usize; 7] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
const STEP: f64 = 0.005;
/// Robots with the torque that makes them swing, N m, and the viscous friction that keeps them from swinging ever faster.
const ROBOTS: [(&str, f64, f64); 2] = [("double_pendulum", 0.2, 0.02), ("z1", 5.0, 1.0)];

fn deviations(n: usize, parameters: usize) -> Deviations {
    Deviations {
        q: vec![1e-3; n],
        dq: vec![1e-2; n],
        tau: vec![0.1; n],
        first_q: vec![1.0; n],
        first_dq: vec![1.0; n],
        theta: vec![0.5; parameters],
    }
}

/// Samples of a robot that swings in the model's own discrete dynamics, moved by torques that are sines of time.
fn problem(name: &str, torque: f64, viscous: f64, count: usize) -> Outcome<MultibodyProblem> {
    let mut robot = robot::load_model(name)?;
    robot.joints.iter_mut().for_each(|joint| joint.friction.viscous = viscous);
    let robot = Arc::new(robot);
    let n = robot.nv();
    let idle = Sample { t: 0.0, q: vec![0.0; n], dq: vec![0.0; n], tau: vec![0.0; n] };
    let none = ParameterMap::none(&robot);
    let model =
        MultibodyProblem::new(robot.clone(), none, vec![idle; count.max(2)], STEP, &deviations(n, 0))?;
    let mut draw = ChaCha8Rng::seed_from_u64(7);
    let (mut space, mut x) = (model.workspace(), vec![0.0; 2 * n]);
    let mut values = StageValues { next: vec![0.0; 2 * n], ..StageValues::default() };
    let mut samples = Vec::with_capacity(count);
    for k in 0..count {
        let t = STEP * k as f64;
        let tau: Vec<f64> = (0..n).map(|j| torque * ((0.7 + 0.2 * j as f64) * t + j as f64).sin()).collect();
        let mut noisy = |v: &[f64], d: f64| v.iter().map(|v| v + d * draw.random_range(-1.7..1.7)).collect();
        samples.push(Sample { t, q: noisy(&x[..n], 1e-3), dq: noisy(&x[n..], 1e-2), tau: noisy(&tau, 0.1) });
        if k + 1 < count {
            model.evaluate(k, Point { x: &x, u: &tau, theta: &[] }, &mut space, &mut values)?;
            x.copy_from_slice(&values.next);
        }
    }
    let mut map = ParameterMap::none(&robot);
    map.bodies = vec![(robot.bodies() - 1, Coordinates::LogCholesky)];
    Ok(MultibodyProblem::new(robot, map, samples, STEP, &deviations(n, 10))?)
}

/// Seconds an iteration, and step lengths tried in four.
fn measure(problem: &MultibodyProblem, repeats: usize) -> Outcome<(f64, usize)> {
    let mut seconds = [f64::INFINITY; 2];
    let mut trials = 0;
    for (best, iterations) in seconds.iter_mut().zip([1, 4]) {
        let options = SolverOptions { iterations, tolerance: -1.0, ..SolverOptions::default() };
        let mut solver = Solver::new(problem, options)?;
        let guess = problem.guess();
        for _ in 0..repeats {
            let clock = Instant::now();
            let outcome = solver.solve(&guess)?;
            *best = best.min(clock.elapsed().as_secs_f64());
            trials = outcome.record.iter().map(|i| i.trials).sum();
        }
    }
    Ok(((seconds[1] - seconds[0]) / 3.0, trials))
}

fn draw(path: &str, curves: &[(&str, Vec<(f64, f64)>)]) -> Outcome<()> {
    let root = SVGBackend::new(path, (640, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d((80.0..130_000.0).log_scale(), (0.03..3_000.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("stages")
        .y_desc("time an iteration, ms")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(WHITE)
        .draw()?;
    for (i, (name, points)) in curves.iter().enumerate() {
        let color = [RGBColor(31, 90, 160), RGBColor(200, 90, 20)][i % 2];
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        // Strict proportion, through the longest horizon.
        if let (Some(first), Some(last)) = (points.first(), points.last()) {
            let line = [(first.0, last.1 * first.0 / last.0), *last];
            chart.draw_series(DashedLineSeries::new(line, 4, 4, BLACK.mix(0.5).into()))?;
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.2))
        .draw()?;
    root.present()?;
    Ok(())
}

fn main() -> Outcome<()> {
    let path = std::env::args().nth(1).ok_or("usage: horizon FILE.svg")?;
    println!("| robot | stages | time an iteration | a stage | step lengths tried in 4 iterations |");
    println!("|---|---|---|---|---|");
    let mut curves = Vec::new();
    for (name, torque, viscous) in ROBOTS {
        let mut points = Vec::new();
        for count in COUNTS {
            let problem = problem(name, torque, viscous, count)?;
            let (time, trials) = measure(&problem, (20_000 / count).clamp(3, 50))?;
            let each = 1e6 * time / count as f64;
            println!("| {name} | {count} | {:.3} ms | {each:.2} us | {trials} |", 1e3 * time);
            points.push((count as f64, 1e3 * time));
        }
        curves.push((name, points));
    }
    draw(&path, &curves)
}
