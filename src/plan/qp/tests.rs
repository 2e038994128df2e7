use super::*;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT::NonnegativeConeT,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

struct Random {
    hessian: DMatrix<f64>,
    gradient: DVector<f64>,
    rows: Vec<LinearRow>,
    lower: DVector<f64>,
    upper: DVector<f64>,
}

impl Random {
    fn program(&self, penalty: f64) -> QuadraticProgram<'_> {
        QuadraticProgram {
            hessian: &self.hessian,
            gradient: &self.gradient,
            rows: &self.rows,
            lower: &self.lower,
            upper: &self.upper,
            penalty,
        }
    }
}

fn random(rng: &mut ChaCha8Rng, n: usize, m: usize, offset: f64) -> Random {
    let root = DMatrix::from_fn(n, n, |_, _| rng.random_range(-1.0..1.0));
    Random {
        hessian: &root * root.transpose() * 10f64.powf(rng.random_range(-2.0..2.0)),
        gradient: DVector::from_fn(n, |_, _| rng.random_range(-1.0..1.0)),
        rows: (0..m)
            .map(|_| LinearRow {
                value: offset + rng.random_range(-0.2..1.0),
                gradient: std::array::from_fn(|_| rng.random_range(-1.0..1.0)),
            })
            .collect(),
        lower: DVector::from_fn(n, |_, _| rng.random_range(-1.0..-0.01)),
        upper: DVector::from_fn(n, |_, _| rng.random_range(0.01..1.0)),
    }
}

fn objective(q: &QuadraticProgram, d: &[f64]) -> f64 {
    let v = DVector::from_column_slice(d);
    let violation: f64 = q.rows.iter().map(|r| (-r.at(d)).max(0.0)).sum();
    q.gradient.dot(&v) + 0.5 * v.dot(&(q.hessian * &v)) + q.penalty * violation
}

/// The same program, with explicit slack variables, by clarabel.
fn oracle(q: &QuadraticProgram) -> Vec<f64> {
    let (n, m) = (q.gradient.len(), q.rows.len());
    let mut p = DMatrix::zeros(n + m, n + m);
    p.view_mut((0, 0), (n, n)).copy_from(q.hessian);
    let mut a = DMatrix::zeros(2 * m + 2 * n, n + m);
    let mut b = vec![0.0; 2 * m + 2 * n];
    for (i, row) in q.rows.iter().enumerate() {
        for j in 0..n {
            a[(i, j)] = -row.gradient[j];
        }
        a[(i, n + i)] = -1.0;
        b[i] = row.value;
        a[(m + i, n + i)] = -1.0;
    }
    for j in 0..n {
        a[(2 * m + j, j)] = 1.0;
        b[2 * m + j] = q.upper[j];
        a[(2 * m + n + j, j)] = -1.0;
        b[2 * m + n + j] = -q.lower[j];
    }
    let mut cost = vec![q.penalty; n + m];
    cost[..n].copy_from_slice(q.gradient.as_slice());
    let sparse = |x: &DMatrix<f64>| {
        CscMatrix::from(&x.row_iter().map(|r| r.iter().copied().collect::<Vec<_>>()).collect::<Vec<_>>())
    };
    let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
    let cones = [NonnegativeConeT(2 * m + 2 * n)];
    let mut solver =
        DefaultSolver::new(&sparse(&p).to_triu(), &cost, &sparse(&a), &b, &cones, settings).unwrap();
    solver.solve();
    assert_eq!(solver.solution.status, SolverStatus::Solved);
    solver.solution.x[..n].to_vec()
}

#[test]
fn agrees_with_clarabel_feasible_or_not() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for trial in 0..60 {
        let n = 1 + trial % MAX_DIMENSION;
        // Later trials have many rows that cannot all hold.
        let offset = [0.5, 0.0, -0.5][trial % 3];
        let data = random(&mut rng, n, [5, 40][trial % 2], offset);
        let problem = data.program([1.0, 100.0, 1e4][trial / 20]);
        let ours = problem.solve();
        assert!(ours.converged, "trial {trial}: {} iterations", ours.iterations);
        let mine = objective(&problem, ours.step.as_slice());
        let theirs = objective(&problem, &oracle(&problem));
        assert!(mine <= theirs + 1e-6 * (1.0 + theirs.abs()), "trial {trial}: {mine} against {theirs}");
        for j in 0..n {
            assert!(data.lower[j] <= ours.step[j] && ours.step[j] <= data.upper[j]);
        }
    }
}

#[test]
fn thousands_of_rows_converge() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for offset in [0.3, -0.1] {
        let data = random(&mut rng, 7, 3000, offset);
        let problem = data.program(50.0);
        let start = std::time::Instant::now();
        let solution = problem.solve();
        println!("3000 rows: {} iterations, {:?}", solution.iterations, start.elapsed());
        assert!(solution.converged);
    }
}

#[test]
fn a_linear_program_and_no_rows_at_all() {
    let hessian = DMatrix::zeros(2, 2);
    let gradient = DVector::from_vec(vec![1.0, -2.0]);
    let (lower, upper) = (DVector::from_element(2, -1.0), DVector::from_element(2, 0.5));
    let problem = QuadraticProgram {
        hessian: &hessian,
        gradient: &gradient,
        rows: &[],
        lower: &lower,
        upper: &upper,
        penalty: 1.0,
    };
    let solution = problem.solve();
    assert!(solution.converged);
    assert!((solution.step[0] + 1.0).abs() < 1e-7 && (solution.step[1] - 0.5).abs() < 1e-7);
}

#[test]
fn numbers_that_are_not_finite_do_not_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut data = random(&mut rng, 3, 5, 0.5);
    data.rows[2].gradient[1] = f64::NAN;
    data.rows[3].value = f64::INFINITY;
    let problem = data.program(1.0);
    assert!(!problem.solve().converged);
}
