use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::super::tests::random::{RandomProblem, Shape};
use super::*;
use crate::estimate::SolverOptions;

fn normal(draw: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (1.0 - draw.random::<f64>(), draw.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// y_k = theta_1 + theta_2 x_k + e_k with errors of deviation one that a first-order autoregression makes, fitted by least squares as if they
/// were independent: the error of theta, its covariance as told, and as found from the scores.
fn regression(count: usize, rho: f64, seed: u64) -> (DVector<f64>, DMatrix<f64>, ColouredCovariance) {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let x = DMatrix::from_fn(count, 2, |k, i| if i == 0 { 1.0 } else { (0.05 * k as f64).sin() });
    let mut e = DVector::zeros(count);
    e[0] = normal(&mut draw);
    for k in 1..count {
        e[k] = rho * e[k - 1] + (1.0 - rho * rho).sqrt() * normal(&mut draw);
    }
    let p = (x.tr_mul(&x)).try_inverse().unwrap();
    let error = &p * x.tr_mul(&e);
    let left = &e - &x * &error;
    let scores = DMatrix::from_fn(count, 2, |k, i| -x[(k, i)] * left[k]);
    let posterior = Posterior { arrival: p.clone(), nx: 0, unobservable: vec![] };
    (error, p, ColouredCovariance::of_scores(&scores, &posterior, &[0.0; 2]))
}

/// Over many draws errors are as large as the coloured deviations say, and many times larger than the others.
#[test]
fn deviations_hold_for_coloured_errors() {
    for (rho, plain_fails) in [(0.0, false), (0.8, true), (0.95, true)] {
        let (mut told, mut found, draws) = (0.0, 0.0, 200);
        for seed in 0..draws {
            let (error, p, coloured) = regression(3000, rho, seed);
            for i in 0..2 {
                told += error[i].powi(2) / p[(i, i)] / (2 * draws) as f64;
                found += error[i].powi(2) / coloured.covariance[(i, i)] / (2 * draws) as f64;
            }
        }
        assert!((0.8..1.5).contains(&found.sqrt()), "{rho}: {}", found.sqrt());
        assert_eq!(told.sqrt() > 2.0, plain_fails, "{rho}: {}", told.sqrt());
    }
}

/// What only the prior tells keeps the prior's deviation.
#[test]
fn a_prior_without_data_stays_what_it_is() {
    let posterior = Posterior {
        arrival: DMatrix::from_diagonal(&DVector::from_vec(vec![0.25, 4.0])),
        nx: 1,
        unobservable: vec![],
    };
    let coloured = ColouredCovariance::of_scores(&DMatrix::zeros(50, 1), &posterior, &[0.25]);
    assert!((coloured.covariance[(0, 0)] - 4.0).abs() < 1e-12);
    assert!((coloured.deviation(&DVector::from_element(1, 3.0)) - 6.0).abs() < 1e-12);
}

/// At the minimum nothing pulls in sum, and the parts are what a step of the parameters changes of each stage's cost.
#[test]
fn scores_sum_to_nothing_at_a_minimum() {
    let shape = Shape { n: 12, nx: 3, nu: 2, nt: 4, own: 0, dependent: 0, on_state: 0, equalities: 0 };
    for seed in 0..20 {
        let problem = RandomProblem::new(shape, seed);
        let mut solver = Solver::new(&problem, SolverOptions::default()).unwrap();
        solver.solve(&problem.zero()).unwrap();
        let scores = solver.scores().unwrap();
        let size = scores.amax();
        assert!(size > 1e-3, "no stage pulls");
        for column in scores.column_iter() {
            assert!(column.sum().abs() < 1e-8 * (1.0 + size), "{} of {size}", column.sum());
        }
    }
}
