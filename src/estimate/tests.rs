//! The core against a dense solution of the same problem, on random linear-quadratic problems, and on small nonlinear
//! ones with manifolds and resets.

mod attitude;
mod ball;
mod dense_kkt;
mod kink;
pub(super) mod random;

use nalgebra::DVector;

use super::*;
use dense_kkt::DenseKkt;
use random::{RandomProblem, Shape};

/// Largest difference over all variables, relative to the largest variable.
fn error(found: &Trajectory, expected: &Trajectory) -> f64 {
    let flat = |t: &Trajectory| {
        DVector::from_iterator(
            t.theta.len() + t.xs.iter().chain(&t.us).map(Vec::len).sum::<usize>(),
            t.xs.iter().chain(&t.us).chain([&t.theta]).flatten().copied(),
        )
    };
    let (found, expected) = (flat(found), flat(expected));
    (found - &expected).amax() / expected.amax().max(1.0)
}

fn solved(problem: &RandomProblem, options: SolverOptions) -> (Trajectory, SolverOutcome) {
    let mut solver = Solver::new(problem, options).unwrap();
    let outcome = solver.solve(&problem.zero()).unwrap();
    (solver.trajectory().clone(), outcome)
}

/// Every shape in the list, for several seeds, to 1e-9 of the dense solution.
fn agree(shapes: &[Shape], seeds: u64, options: SolverOptions) {
    for (i, shape) in shapes.iter().enumerate() {
        for seed in 0..seeds {
            let problem = RandomProblem::new(*shape, 100 * i as u64 + seed);
            let (found, outcome) = solved(&problem, options);
            assert_eq!(outcome.status, Status::Converged, "{shape:?} seed {seed}: {:?}", outcome.record);
            let expected = DenseKkt::new(&problem, false).solution();
            let e = error(&found, &expected);
            assert!(e < 1e-9, "{shape:?} seed {seed}: relative error {e:e}");
        }
    }
}

const PLAIN: Shape = Shape { n: 5, nx: 4, nu: 2, nt: 3, own: 0, dependent: 0, on_state: 0, equalities: 0 };

#[test]
fn unconstrained_steps_agree_with_a_dense_solution() {
    let shapes = [
        PLAIN,
        Shape { n: 1, nx: 1, nu: 1, nt: 0, ..PLAIN },
        Shape { n: 1, nx: 3, nu: 2, nt: 5, ..PLAIN },
        Shape { n: 20, nx: 12, nu: 6, nt: 10, ..PLAIN },
        Shape { n: 30, nx: 5, nu: 0, nt: 2, ..PLAIN },
        Shape { n: 8, nx: 7, nu: 9, nt: 1, ..PLAIN },
    ];
    agree(&shapes, 4, SolverOptions::default());
    agree(
        &shapes,
        2,
        SolverOptions { parameters: ParameterSolve::Schur, parallel: false, ..SolverOptions::default() },
    );
}

#[test]
fn long_and_wide_problems_agree_with_a_dense_solution() {
    let shapes = [
        Shape { n: 200, nx: 2, nu: 1, nt: 2, ..PLAIN },
        Shape { n: 3, nx: 60, nu: 24, nt: 10, own: 5, ..PLAIN },
        Shape { n: 8, nx: 6, nu: 3, nt: 130, own: 1, equalities: 4, ..PLAIN },
        Shape { n: 100, nx: 3, nu: 2, nt: 3, own: 1, dependent: 1, ..PLAIN },
        Shape { n: 200, nx: 2, nu: 2, nt: 2, own: 1, dependent: 1, equalities: 1, ..PLAIN },
        Shape { n: 1, nx: 60, nu: 30, nt: 130, own: 12, dependent: 4, on_state: 3, equalities: 5 },
        Shape { n: 3, nx: 60, nu: 30, nt: 130, own: 10, dependent: 2, on_state: 2, equalities: 3 },
    ];
    agree(&shapes, 1, SolverOptions::default());
}

#[test]
fn threads_change_nothing() {
    // Whichever thread linearises a stage or carries the recursion, each number is computed in the same order.
    let shape = Shape { n: 150, nx: 5, nu: 3, nt: 4, own: 1, dependent: 1, on_state: 1, equalities: 1 };
    let problem = RandomProblem::new(shape, 7);
    let (alone, _) = solved(&problem, SolverOptions { parallel: false, ..SolverOptions::default() });
    for threads in [2, 3, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for _ in 0..20 {
            let (together, _) = pool.install(|| solved(&problem, SolverOptions::default()));
            assert_eq!(alone, together, "{threads} threads");
        }
    }
}

#[test]
fn a_problem_that_breaks_in_one_stage_names_it_on_any_number_of_threads() {
    let mut problem = RandomProblem::new(Shape { n: 150, ..PLAIN }, 8);
    problem.stages[90].g[1] = f64::NAN;
    problem.stages[31].g[1] = f64::NAN;
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let failure = pool.install(|| {
            Solver::new(&problem, SolverOptions::default()).unwrap().solve(&problem.zero()).unwrap_err()
        });
        assert_eq!(failure.to_string(), "the linearisation at stage 31 is not finite", "{threads} threads");
    }
}

#[test]
fn constrained_steps_agree_with_a_dense_solution() {
    let shapes = [
        Shape { own: 1, ..PLAIN },
        Shape { own: 2, ..PLAIN },
        Shape { n: 12, nx: 6, nu: 4, nt: 4, own: 2, equalities: 2, ..PLAIN },
        Shape { n: 1, nx: 3, nu: 3, nt: 2, own: 2, equalities: 1, ..PLAIN },
    ];
    agree(&shapes, 5, SolverOptions::default());
}

#[test]
fn rank_deficient_constraints_agree_with_a_dense_solution() {
    let shapes = [
        // More equations than rank, equations without input, and both.
        Shape { nu: 3, own: 2, dependent: 3, ..PLAIN },
        Shape { n: 6, nx: 5, nu: 3, nt: 3, on_state: 1, ..PLAIN },
        Shape { n: 9, nx: 6, nu: 4, nt: 3, own: 1, dependent: 1, on_state: 2, equalities: 1 },
        Shape { n: 2, nx: 4, nu: 2, nt: 6, own: 0, on_state: 3, ..PLAIN },
    ];
    agree(&shapes, 5, SolverOptions::default());
    agree(
        &shapes,
        1,
        SolverOptions { parallel: false, rollout: Rollout::Feasible, ..SolverOptions::default() },
    );
}

#[test]
fn all_rollouts_solve_linear_problems_in_one_step() {
    for rollout in [Rollout::Single, Rollout::Feasible, Rollout::Multiple] {
        let problem = RandomProblem::new(Shape { own: 1, ..PLAIN }, 9);
        let (_, outcome) = solved(&problem, SolverOptions { rollout, ..SolverOptions::default() });
        assert_eq!(outcome.status, Status::Converged);
        assert_eq!(outcome.record.len(), 2, "{rollout:?}: {:?}", outcome.record);
        assert_eq!(outcome.record[0].step, 1.0);
    }
}

#[test]
fn unobservable_parameters_stay_where_they_are_and_are_named() {
    let mut problem = RandomProblem::new(Shape { nt: 6, ..PLAIN }, 21);
    problem.blind(2);
    let expected = DenseKkt::new(&problem, true).solution();
    // With bounds that are far away as well.
    for bounds in [Vec::new(), expected.theta.iter().map(|t| (1.0, t - 10.0)).collect()] {
        problem.bounds = bounds;
        let (mut found, outcome) = solved(&problem, SolverOptions::default());
        assert_eq!((outcome.status, outcome.deficiency), (Status::Converged, 2));
        // The dense oracle holds the blind directions at zero; the step has no part in them in scaled variables.
        let theta = DVector::from_column_slice(&found.theta);
        assert!(theta.norm() < 10.0, "the step runs away along a direction that nothing sees");
        let blind = &problem.blind * (problem.blind.transpose() * &theta);
        found.theta.copy_from_slice((theta - blind).as_slice());
        let e = error(&found, &expected);
        assert!(e < 1e-9, "relative error {e:e}");
        let mut solver = Solver::new(&problem, SolverOptions::default()).unwrap();
        solver.solve(&problem.zero()).unwrap();
        let posterior = solver.posterior(|_, _| {}).unwrap();
        assert_eq!(posterior.unobservable.len(), 2);
        for v in &posterior.unobservable {
            let seen = problem.seen(&v[problem.shape.nx..]);
            assert!(seen < 1e-6, "an unobservable direction is seen: {seen:e}");
        }
        assert!((0..6).any(|i| posterior.parameter_deviation(i).is_infinite()));
    }
    problem.bounds.clear();
    let strict = SolverOptions { parameters: ParameterSolve::Schur, ..SolverOptions::default() };
    let outcome = Solver::new(&problem, strict).unwrap().solve(&problem.zero()).unwrap();
    assert!(outcome.record[0].damping > 0.0, "the Schur complement needs damping here");
}

#[test]
fn posterior_agrees_with_the_dense_inverse() {
    for (i, shape) in [
        PLAIN,
        Shape { n: 6, nx: 5, nu: 3, nt: 4, own: 1, dependent: 1, on_state: 1, equalities: 1 },
        Shape { n: 60, nx: 2, nu: 1, nt: 2, ..PLAIN },
    ]
    .into_iter()
    .enumerate()
    {
        let problem = RandomProblem::new(shape, 50 + i as u64);
        let dense = DenseKkt::new(&problem, false).covariance();
        let mut solver = Solver::new(&problem, SolverOptions::default()).unwrap();
        solver.solve(&problem.zero()).unwrap();
        let mut checked = 0;
        let scale = dense.amax();
        solver
            .posterior(|k, joint| {
                let at: Vec<usize> = (0..shape.nx)
                    .map(|i| problem.x_index(k) + i)
                    .chain((0..shape.nt).map(|i| problem.theta_index() + i))
                    .collect();
                for (r, &a) in at.iter().enumerate() {
                    for (c, &b) in at.iter().enumerate() {
                        let e = (joint[(r, c)] - dense[(a, b)]).abs() / scale;
                        assert!(e < 1e-9, "{shape:?} stage {k} ({r}, {c}): {e:e}");
                        checked += 1;
                    }
                }
            })
            .unwrap();
        assert_eq!(checked, (shape.n + 1) * (shape.nx + shape.nt).pow(2));
    }
}

#[test]
fn parameter_inequalities_agree_with_a_dense_solution() {
    // A problem whose free solution violates bounds: the bounded one is that of the dense system with the active ones
    // as equations, with multipliers of the right sign.
    let shapes = [
        Shape { nt: 5, own: 1, ..PLAIN },
        Shape { n: 1, nx: 3, nu: 2, nt: 8, equalities: 2, ..PLAIN },
        Shape { n: 9, nx: 6, nu: 4, nt: 6, own: 1, dependent: 1, on_state: 1, equalities: 1 },
        Shape { n: 60, nx: 4, nu: 2, nt: 30, own: 1, equalities: 3, ..PLAIN },
        Shape { n: 3, nx: 60, nu: 24, nt: 40, own: 2, dependent: 1, equalities: 2, ..PLAIN },
    ];
    let mut bound = 0;
    for (i, shape) in shapes.into_iter().enumerate() {
        for seed in 0..if shape.nt < 10 { 10 } else { 2 } {
            let mut problem = RandomProblem::new(shape, 300 + 20 * i as u64 + seed);
            let free = DenseKkt::new(&problem, false).solution();
            // Equations leave room for some of them only.
            let lower = |(i, t): (usize, &f64)| (1.0, t + if i < 4 && *t > 0.0 { 0.05 } else { -0.3 });
            problem.bounds = free.theta.iter().enumerate().map(lower).collect();
            let (found, outcome) = solved(&problem, SolverOptions::default());
            assert_eq!(outcome.status, Status::Converged);
            let (expected, multipliers) = DenseKkt::new(&problem, false).with_active(&found.theta);
            bound += multipliers.len();
            assert!(multipliers.iter().all(|m| *m > -1e-9), "{multipliers:?}");
            let free = |(t, (_, bound)): (&f64, &(f64, f64))| t - bound > -1e-9;
            assert!(found.theta.iter().zip(&problem.bounds).all(free), "{shape:?} seed {seed}");
            let e = error(&found, &expected);
            assert!(e < 1e-9, "{shape:?} seed {seed}: {e:e}");
        }
    }
    assert!(bound > 30, "{bound}");
}

#[test]
fn impossible_bounds_and_wrong_sizes_are_told() {
    let mut problem = RandomProblem::new(PLAIN, 1);
    problem.bounds = vec![(1.0, 1.0), (-1.0, 0.0)]; // theta_0 >= 1 and, below, theta_0 <= 0
    problem.same_parameter = true;
    let failure = Solver::new(&problem, SolverOptions::default()).unwrap().solve(&problem.zero());
    assert!(matches!(failure, Err(EstimateError::Inequalities { .. })), "{failure:?}");

    let problem = RandomProblem::new(PLAIN, 1);
    let mut guess = problem.zero();
    guess.xs[2].pop();
    let failure = Solver::new(&problem, SolverOptions::default()).unwrap().solve(&guess).unwrap_err();
    assert_eq!(failure.to_string(), "state 2 of the guess: 3 numbers, expected 4");
    let mut guess = problem.zero();
    guess.xs[3][0] = f64::NAN;
    let failure = Solver::new(&problem, SolverOptions::default()).unwrap().solve(&guess);
    assert!(matches!(failure, Err(EstimateError::NotFinite { stage: 2 | 3, .. })), "{failure:?}");
}

#[test]
fn a_problem_whose_shapes_change_and_a_missing_covariance_are_told() {
    let mut problem = RandomProblem::new(PLAIN, 2);
    problem.wrong_shape = Some(3);
    let failure =
        Solver::new(&problem, SolverOptions::default()).unwrap().solve(&problem.zero()).unwrap_err();
    assert_eq!(failure.to_string(), "rows of the dynamics' Jacobian of stage 3: 8 numbers, expected 9");

    // No weight on an input that the dynamics do not feel either: the estimate goes through with damping, but there
    // is no posterior.
    let mut problem = RandomProblem::new(PLAIN, 3);
    let s = &mut problem.stages[2];
    s.h.row_mut(0).fill(0.0);
    s.h.column_mut(0).fill(0.0);
    s.f.column_mut(0).fill(0.0);
    s.g[0] = 0.0;
    let mut solver = Solver::new(&problem, SolverOptions::default()).unwrap();
    solver.solve(&problem.zero()).unwrap();
    let failure = solver.posterior(|_, _| {}).unwrap_err().to_string();
    assert!(failure.starts_with("stage 2: ") && failure.contains("covariance"), "{failure}");

    for (damping, tolerance) in [(f64::NAN, 1e-9), (-1.0, 1e-9), (0.0, f64::NAN)] {
        let options = SolverOptions { damping, tolerance, ..SolverOptions::default() };
        assert!(matches!(Solver::new(&problem, options), Err(EstimateError::Option { .. })));
    }
}

#[test]
fn a_known_first_state_stays() {
    let problem = RandomProblem::new(PLAIN, 5);
    let mut guess = problem.zero();
    guess.xs[0] = vec![0.3, -0.1, 0.2, 0.5];
    let mut solver =
        Solver::new(&problem, SolverOptions { fixed_arrival: true, ..SolverOptions::default() }).unwrap();
    assert_eq!(solver.solve(&guess).unwrap().status, Status::Converged);
    assert_eq!(solver.trajectory().xs[0], guess.xs[0]);
    let e = error(solver.trajectory(), &DenseKkt::new(&problem, false).starting_from(&guess.xs[0]));
    assert!(e < 1e-9, "{e:e}");
}
