use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;

fn problem(seed: u64, m: usize, p: usize, noise: f64) -> (DMatrix<f64>, DVector<f64>, DVector<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let a = DMatrix::from_fn(m, p, |_, _| rng.random_range(-1.0..1.0));
    let x = DVector::from_fn(p, |_, _| rng.random_range(-2.0..2.0));
    let b = &a * &x + DVector::from_fn(m, |_, _| noise * rng.random_range(-1.0..1.0));
    (a, b, x)
}

#[test]
fn every_form_finds_the_truth_without_noise() {
    let (a, b, x) = problem(1, 40, 6, 0.0);
    let mut recursive = Recursive::new(vec![0.0; 6], 1e9, 1.0).unwrap();
    for w in 0..40 {
        let row: Vec<f64> = a.row(w).iter().copied().collect();
        assert!(recursive.push(&row, b[w]));
    }
    let weights: Vec<f64> = (0..40).map(|w| f64::from(w % 3)).collect();
    for found in [
        ordinary(&a, &b).unwrap(),
        weighted(&a, &b, &weights).unwrap(),
        reweighted(&a, &b).unwrap(),
        total(&a, &b).unwrap(),
        DVector::from_column_slice(recursive.estimate()),
        non_negative(&a, &b, &[false; 6]).unwrap(),
    ] {
        assert!((found - &x).norm() < 1e-6);
    }
}

#[test]
fn recursive_without_forgetting_is_ordinary() {
    let (a, b, _) = problem(2, 60, 5, 0.3);
    let mut recursive = Recursive::new(vec![0.0; 5], 1e10, 1.0).unwrap();
    for w in 0..60 {
        let row: Vec<f64> = a.row(w).iter().copied().collect();
        recursive.push(&row, b[w]);
    }
    let expected = ordinary(&a, &b).unwrap();
    assert!((DVector::from_column_slice(recursive.estimate()) - expected).norm() < 1e-6);
    let before = recursive.estimate().to_vec();
    assert!(!recursive.push(&[f64::NAN, 0.0, 0.0, 0.0, 0.0], 1.0) && !recursive.push(&[1.0], 1.0));
    assert_eq!(recursive.estimate(), before);
}

#[test]
fn forgetting_follows_a_change() {
    let (a, _, x) = problem(3, 400, 3, 0.0);
    let mut keeps = Recursive::new(vec![0.0; 3], 1e6, 1.0).unwrap();
    let mut forgets = Recursive::new(vec![0.0; 3], 1e6, 0.95).unwrap();
    for w in 0..400 {
        let row: Vec<f64> = a.row(w).iter().copied().collect();
        let truth = if w < 200 { x.clone() } else { -&x };
        let value = (a.row(w) * truth)[0];
        keeps.push(&row, value);
        forgets.push(&row, value);
    }
    let off = |r: &Recursive| (DVector::from_column_slice(r.estimate()) + &x).norm();
    assert!(off(&forgets) < 1e-3 && off(&keeps) > 0.5 * x.norm());
}

#[test]
fn outliers_lose_their_pull() {
    let (a, mut b, x) = problem(4, 100, 4, 0.01);
    for w in (0..100).step_by(10) {
        b[w] += 50.0;
    }
    assert!((ordinary(&a, &b).unwrap() - &x).norm() > 1.0);
    assert!((reweighted(&a, &b).unwrap() - &x).norm() < 0.05);
}

#[test]
fn the_non_negative_minimiser_satisfies_the_optimality_conditions() {
    for seed in 0..200 {
        let (a, b, _) = problem(100 + seed, 20, 7, 0.5);
        let positive: Vec<bool> = (0..7).map(|j| j != 3).collect();
        let x = non_negative(&a, &b, &positive).unwrap();
        let gradient = a.transpose() * (&a * &x - &b);
        for j in 0..7 {
            if positive[j] {
                assert!(
                    x[j] >= 0.0 && gradient[j] > -1e-8 && (x[j] * gradient[j]).abs() < 1e-8,
                    "seed {seed}"
                );
            } else {
                assert!(gradient[j].abs() < 1e-8, "seed {seed}");
            }
        }
    }
}

#[test]
fn total_is_better_where_the_matrix_is_noisy() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut plain, mut joint) = (0.0, 0.0);
    for seed in 0..20 {
        let (exact, b, x) = problem(500 + seed, 400, 3, 0.0);
        let noisy = exact.map(|v| v + rng.random_range(-0.5..0.5));
        let b = b.map(|v| v + rng.random_range(-0.5..0.5));
        plain += (ordinary(&noisy, &b).unwrap() - &x).norm();
        joint += (total(&noisy, &b).unwrap() - &x).norm();
    }
    assert!(joint < 0.7 * plain, "{joint} {plain}");
}

#[test]
fn data_that_cannot_be_used_are_refused() {
    let (a, b, _) = problem(5, 10, 3, 0.0);
    let mut bad = b.clone();
    bad[4] = f64::INFINITY;
    assert!(matches!(ordinary(&a, &bad), Err(RegressionError::BadValue { .. })));
    assert!(matches!(ordinary(&a, &b.rows(0, 5).into_owned()), Err(RegressionError::WrongLength { .. })));
    assert!(matches!(weighted(&a, &b, &[-1.0; 10]), Err(RegressionError::BadValue { .. })));
    assert!(matches!(non_negative(&a, &b, &[true; 2]), Err(RegressionError::WrongLength { .. })));
    assert!(matches!(
        total(&a.rows(0, 3).into_owned(), &b.rows(0, 3).into_owned()),
        Err(RegressionError::BadValue { .. })
    ));
    assert!(
        Recursive::new(vec![0.0], 1.0, 0.0).is_err() && Recursive::new(vec![0.0], f64::NAN, 1.0).is_err()
    );
}
