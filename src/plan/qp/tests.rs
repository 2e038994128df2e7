use super::*;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT::NonnegativeConeT,
};
use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

struct Random {
    dimension: usize,
    hessian: Matrix,
    gradient: Vector,
    rows: Vec<LinearRow>,
    lower: Vector,
    upper: Vector,
}

impl Random {
    fn program(&self, penalty: f64) -> QuadraticProgram<'_> {
        QuadraticProgram {
            dimension: self.dimension,
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
    let hessian = &root * root.transpose() * 10f64.powf(rng.random_range(-2.0..2.0));
    let mut vector = |lower: f64, upper: f64| {
        Vector::from_fn(|j, _| if j < n { rng.random_range(lower..upper) } else { 0.0 })
    };
    Random {
        dimension: n,
        hessian: Matrix::from_fn(|i, j| if i < n && j < n { hessian[(i, j)] } else { 0.0 }),
        gradient: vector(-1.0, 1.0),
        lower: vector(-1.0, -0.01),
        upper: vector(0.01, 1.0),
        rows: (0..m)
            .map(|_| LinearRow {
                value: offset + rng.random_range(-0.2..1.0),
                gradient: std::array::from_fn(|_| rng.random_range(-1.0..1.0)),
            })
            .collect(),
    }
}

fn objective(q: &QuadraticProgram, d: &[f64]) -> f64 {
    let v = Vector::from_fn(|j, _| d.get(j).copied().unwrap_or(0.0));
    let violation: f64 = q.rows.iter().map(|r| (-r.at(d)).max(0.0)).sum();
    q.gradient.dot(&v) + 0.5 * v.dot(&(q.hessian * v)) + q.penalty * violation
}

/// The same program, with explicit slack variables, by clarabel.
fn oracle(q: &QuadraticProgram) -> Vec<f64> {
    let (n, m) = (q.dimension, q.rows.len());
    let mut p = DMatrix::zeros(n + m, n + m);
    p.view_mut((0, 0), (n, n)).copy_from(&q.hessian.view((0, 0), (n, n)));
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
    cost[..n].copy_from_slice(&q.gradient.as_slice()[..n]);
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
        let ours = problem.solve(&mut QpWorkspace::default());
        assert!(ours.converged, "trial {trial}: {} iterations", ours.iterations);
        let mine = objective(&problem, &ours.step.as_slice()[..n]);
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
        let solution = problem.solve(&mut QpWorkspace::default());
        println!("3000 rows: {} iterations, {:?}", solution.iterations, start.elapsed());
        assert!(solution.converged);
    }
}

#[test]
fn a_linear_program_and_no_rows_at_all() {
    let hessian = Matrix::zeros();
    let both = |a: f64, b: f64| Vector::from_fn(|j, _| [a, b].get(j).copied().unwrap_or(0.0));
    let (gradient, lower, upper) = (both(1.0, -2.0), both(-1.0, -1.0), both(0.5, 0.5));
    let problem = QuadraticProgram {
        dimension: 2,
        hessian: &hessian,
        gradient: &gradient,
        rows: &[],
        lower: &lower,
        upper: &upper,
        penalty: 1.0,
    };
    let solution = problem.solve(&mut QpWorkspace::default());
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
    assert!(!problem.solve(&mut QpWorkspace::default()).converged);
}
