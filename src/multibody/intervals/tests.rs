use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::estimate::{EstimationProblem, Solver, SolverOptions, SolverOutcome, Status, Trajectory};
use crate::inertia::Coordinates;
use crate::multibody::{Deviations, Formulation, JointParameter, ParameterMap};
use crate::recording::Sample;
use crate::robot::load_model;

/// A double pendulum's samples at these times, made up: no motion of any robot.
fn samples(times: &[f64]) -> Vec<Sample> {
    let at = |&t: &f64| {
        let wave = |a: f64, b: f64| vec![a * (3.0 * t + b).sin(), a * (2.0 * t + 2.0 * b).cos()];
        Sample { t, q: wave(0.5, 0.1), dq: wave(1.2, 1.0), tau: wave(0.2, 2.0) }
    };
    times.iter().map(at).collect()
}

fn problem(samples: Vec<Sample>, estimated: bool) -> MultibodyProblem {
    let robot = Arc::new(load_model("robots/double_pendulum.toml").unwrap());
    let mut map = ParameterMap::none(&robot);
    if estimated {
        map.bodies = vec![(1, Coordinates::LogCholesky)];
        map.joints = vec![(0, JointParameter::Viscous)];
    }
    let deviations = Deviations {
        q: vec![1e-2; 2],
        dq: vec![1e-1; 2],
        tau: vec![0.05; 2],
        first_q: vec![f64::INFINITY; 2],
        first_dq: vec![f64::INFINITY; 2],
        theta: vec![0.3; map.len()],
    };
    MultibodyProblem::new(robot, map, samples, 0.01, &deviations).unwrap()
}

fn solve_from(p: &MultibodyProblem, guess: &Trajectory, iterations: usize) -> (SolverOutcome, Trajectory) {
    let options = SolverOptions { tolerance: 1e-10, iterations, ..SolverOptions::default() };
    let mut solver = Solver::new(p, options).unwrap();
    let outcome = solver.solve(guess).unwrap();
    (outcome, solver.trajectory().clone())
}

fn solve(p: &MultibodyProblem) -> (SolverOutcome, Trajectory) {
    let solved = solve_from(p, &p.guess(), SolverOptions::default().iterations);
    assert_eq!(solved.0.status, Status::Converged);
    solved
}

/// Stamps with steps of 1 to 30 ms.
fn stamps(steps_ms: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let steps: Vec<f64> = steps_ms.iter().map(|ms| 1e-3 * ms).collect();
    let mut times = vec![0.0];
    steps.iter().for_each(|h| times.push(times[times.len() - 1] + h));
    (times, steps)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// What stands behind a gap has nothing to do with what stands before it, if the parameters are known: both are solved as if alone.
    #[test]
    fn a_gap_makes_two_problems_of_one(
        first in prop::collection::vec(1.0..30.0f64, 2..12),
        second in prop::collection::vec(1.0..30.0f64, 2..12),
        inverse: bool,
    ) {
        let form = if inverse { Formulation::Inverse } else { Formulation::Forward };
        let part = |steps_ms: &[f64], late: f64| {
            let (mut times, mut steps) = stamps(steps_ms);
            times.iter_mut().for_each(|t| *t += late);
            steps.push(1.0);
            let of = samples(&times);
            let problem = problem(of.clone(), false).with_intervals(&steps).unwrap().formulated(form);
            (of, steps, solve(&problem))
        };
        let (mut all, mut steps, (a, before)) = part(&first, 0.0);
        let (more, last, (b, after)) = part(&second, 3.0);
        *steps.last_mut().unwrap() = f64::INFINITY;
        all.extend(more);
        steps.extend(last);
        let joined = problem(all, false).with_intervals(&steps).unwrap().formulated(form);
        let (both, together) = solve(&joined);
        prop_assert!((both.cost - a.cost - b.cost).abs() < 1e-8 * (1.0 + both.cost));
        let apart = before.xs.iter().chain(&after.xs);
        for (x, y) in together.xs.iter().zip(apart).flat_map(|(x, y)| x.iter().zip(y)) {
            prop_assert!((x - y).abs() < 1e-5, "{x} {y}");
        }
        // The trajectory may start anywhere at a gap: in a rollout too.
        prop_assert_eq!(joined.size(first.len()).input, 4);
    }

    /// A reading that is missing may be any number: positions and velocities there change nothing. From one guess the solver takes the same steps, but for
    /// roundings.
    #[test]
    fn missing_readings_do_not_count(
        steps_ms in prop::collection::vec(1.0..30.0f64, 4..12),
        which in 1usize..4,
        wrong in -0.2..0.2f64,
    ) {
        let (times, mut steps) = stamps(&steps_ms);
        steps.push(1.0);
        let problem_off_by = |off: f64| {
            let mut samples = samples(&times);
            samples[which].q[1] += off;
            samples[which].dq[0] -= off;
            let mut missing = vec![MissingReadings::default(); samples.len()];
            missing[which] = MissingReadings { q: vec![1], dq: vec![0], tau: vec![] };
            problem(samples, true).with_intervals(&steps).unwrap().with_missing(missing).unwrap()
        };
        let (one, other) = (problem_off_by(0.0), problem_off_by(wrong));
        let guess = one.guess();
        let ((a, x), (b, y)) = (solve_from(&one, &guess, 10), solve_from(&other, &guess, 10));
        prop_assert_eq!(a.status, b.status);
        prop_assert!((a.cost - b.cost).abs() < 1e-9 * (1.0 + a.cost), "{} {}", a.cost, b.cost);
        for (x, y) in x.theta.iter().zip(&y.theta).chain(x.xs.iter().flatten().zip(y.xs.iter().flatten())) {
            prop_assert!((x - y).abs() < 1e-6, "{x} {y}");
        }
    }

    /// Where anything may act, the torque that was read says nothing: from one guess the solver takes the same steps, but for roundings. Elsewhere it says something.
    #[test]
    fn a_torque_does_not_count_where_anything_may_act(
        steps_ms in prop::collection::vec(5.0..15.0f64, 6..12),
        which in 1usize..4,
        wrong in 0.2..1.0f64,
        marginal: bool,
    ) {
        let (times, mut steps) = stamps(&steps_ms);
        steps.push(1.0);
        let theta = |off: f64, added: f64| {
            let mut samples = samples(&times);
            samples[which].tau[0] += off;
            let mut more = vec![0.0; samples.len()];
            more[which] = added;
            let p = problem(samples, true).with_intervals(&steps).unwrap().formulated(Formulation::Inverse);
            let p = p.with_added_force_deviations(more).unwrap();
            let options = SolverOptions { iterations: 4, marginal, ..SolverOptions::default() };
            let mut solver = Solver::new(&p, options).unwrap();
            solver.solve(&p.guess()).unwrap();
            solver.trajectory().theta.clone()
        };
        let apart =
            |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
        let (free, held) = (apart(theta(0.0, 1e6), theta(wrong, 1e6)), apart(theta(0.0, 0.0), theta(wrong, 0.0)));
        prop_assert!(free < 1e-5, "{free}");
        prop_assert!(held > 10.0 * free.max(1e-5), "{held} {free}");
    }
}

#[test]
fn bad_intervals_and_places_are_refused() {
    let p = || problem(samples(&[0.0, 0.01, 0.02]), true);
    for bad in [f64::NAN, 0.0, -0.1] {
        let error = p().with_intervals(&[0.01, bad, 0.01]).unwrap_err().to_string();
        assert!(error.contains("the interval behind sample 1"), "{error}");
    }
    let error = p().with_intervals(&[0.01]).unwrap_err().to_string();
    assert!(error.contains("intervals: 1 numbers, expected 3"), "{error}");
    for bad in [f64::NAN, f64::INFINITY, -0.1] {
        let error = p().with_added_force_deviations(vec![0.0, bad, 0.0]).unwrap_err().to_string();
        assert!(error.contains("what is added behind sample 1"), "{error}");
    }
    let error = p().with_added_force_deviations(vec![0.0]).unwrap_err().to_string();
    assert!(error.contains("added deviations of forces: 1 numbers, expected 3"), "{error}");
    let error = p().with_missing(vec![MissingReadings::default()]).unwrap_err().to_string();
    assert!(error.contains("missing readings: 1 numbers, expected 3"), "{error}");
    for bad in [
        MissingReadings { q: vec![2], ..Default::default() },
        MissingReadings { dq: vec![9], ..Default::default() },
    ] {
        let all = vec![bad, MissingReadings::default(), MissingReadings::default()];
        assert!(p().with_missing(all).unwrap_err().to_string().contains("missing reading's place"));
    }
}
