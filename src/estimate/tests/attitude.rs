//! An attitude on the unit quaternions with a biased rate sensor: states with more numbers than dimensions.

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

use super::super::*;
use crate::linear::dense::Mat;

const STEP: f64 = 0.1;

/// x_{k+1} = x_k Exp(dt (rate_k - theta + w)); measured attitudes, noise w as input, bias theta.
struct Attitude {
    rates: Vec<Vector3<f64>>,
    seen: Vec<UnitQuaternion<f64>>,
}

fn read(x: &[f64]) -> UnitQuaternion<f64> {
    UnitQuaternion::from_quaternion(Quaternion::new(x[3], x[0], x[1], x[2]))
}

fn skew(v: &Vector3<f64>) -> Matrix3<f64> {
    v.cross_matrix()
}

/// Right Jacobian of the exponential: Exp(v + d) = Exp(v) Exp(J d).
fn right(v: &Vector3<f64>) -> Matrix3<f64> {
    let a = v.norm();
    if a < 1e-5 {
        return Matrix3::identity() - 0.5 * skew(v) + skew(v) * skew(v) / 6.0;
    }
    Matrix3::identity() - (1.0 - a.cos()) / (a * a) * skew(v) + (a - a.sin()) / a.powi(3) * skew(v) * skew(v)
}

impl Attitude {
    fn rotation(&self, k: usize, at: Point<'_>) -> Vector3<f64> {
        STEP * (self.rates[k] - Vector3::from_column_slice(at.theta) + Vector3::from_column_slice(at.u))
    }

    fn error(&self, k: usize, at: Point<'_>) -> Vector3<f64> {
        (self.seen[k].inverse() * read(at.x)).scaled_axis()
    }
}

impl EstimationProblem for Attitude {
    type Workspace = ();
    fn workspace(&self) {}
    fn stages(&self) -> usize {
        self.seen.len()
    }
    fn size(&self, k: usize) -> StageSize {
        let input = if k + 1 < self.seen.len() { 3 } else { 0 };
        StageSize { state: 4, tangent: 3, input, constraints: 0 }
    }
    fn parameters(&self) -> (usize, usize, usize) {
        (3, 0, 0)
    }
    fn evaluate(&self, k: usize, at: Point<'_>, _: &mut (), out: &mut StageValues) -> Result<(), String> {
        out.cost = 0.5 * 100.0 * self.error(k, at).norm_squared()
            + 0.5 * at.u.iter().map(|w| 25.0 * w * w).sum::<f64>();
        if !out.next.is_empty() {
            let next = read(at.x) * UnitQuaternion::from_scaled_axis(self.rotation(k, at));
            out.next.copy_from_slice(next.coords.as_slice());
        }
        Ok(())
    }
    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        w: &mut (),
        m: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, w, out)?;
        let e = self.error(k, at);
        let slope = right(&e).try_inverse().unwrap();
        let nu = m.nu;
        for i in 0..3 {
            let mut row = vec![0.0; m.n()];
            (0..3).for_each(|j| row[nu + j] = slope[(i, j)]);
            m.add_residual(e[i], &row, 100.0);
        }
        if nu == 3 {
            (0..3).for_each(|i| m.add_direct(at.u[i], i, 25.0));
            let v = self.rotation(k, at);
            let carried = UnitQuaternion::from_scaled_axis(-v).to_rotation_matrix().into_inner();
            let by_rate = STEP * right(&v);
            for i in 0..3 {
                for j in 0..3 {
                    m.jac[(j, i)] = by_rate[(i, j)];
                    m.jac[(3 + j, i)] = carried[(i, j)];
                    m.jac[(6 + j, i)] = -by_rate[(i, j)];
                }
            }
        }
        Ok(())
    }
    fn integrate(&self, _: usize, x: &[f64], dx: &[f64], out: &mut [f64]) {
        let moved = read(x) * UnitQuaternion::from_scaled_axis(Vector3::from_column_slice(dx));
        out.copy_from_slice(moved.coords.as_slice());
    }
    fn difference(&self, _: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        out.copy_from_slice((read(b).inverse() * read(a)).scaled_axis().as_slice());
    }
    fn transport(&self, _: usize, a: &[f64], b: &[f64], _: &mut (), out: &mut Mat) -> bool {
        let slope = right(&(read(b).inverse() * read(a)).scaled_axis()).try_inverse().unwrap();
        out.reset(3, 3);
        for i in 0..3 {
            (0..3).for_each(|j| out[(j, i)] = slope[(i, j)]);
        }
        true
    }
}

#[test]
fn attitudes_and_bias_from_all_rollouts_are_one_minimum() {
    let bias = Vector3::new(0.2, -0.1, 0.3);
    let (mut q, mut rates, mut seen) = (UnitQuaternion::identity(), Vec::new(), Vec::new());
    for k in 0..40 {
        let t = STEP * f64::from(k);
        let rate = Vector3::new(t.sin(), 0.7, (2.0 * t).cos());
        // A disturbance that no bias explains, so that the minimum is not at zero cost.
        seen.push(
            q * UnitQuaternion::from_scaled_axis(0.05 * Vector3::new((7.0 * t).sin(), (9.0 * t).cos(), 0.3)),
        );
        rates.push(rate + bias);
        q *= UnitQuaternion::from_scaled_axis(STEP * rate);
    }
    let problem = Attitude { rates, seen };
    let start = Trajectory {
        xs: vec![vec![0.0, 0.0, 0.0, 1.0]; 40],
        us: (0..40).map(|k| vec![0.0; problem.size(k).input]).collect(),
        theta: vec![0.0; 3],
    };
    let mut costs = Vec::new();
    for rollout in [Rollout::Single, Rollout::Feasible, Rollout::Multiple] {
        let mut solver =
            Solver::new(&problem, SolverOptions { rollout, ..SolverOptions::default() }).unwrap();
        let outcome = solver.solve(&start).unwrap();
        assert_eq!(outcome.status, Status::Converged, "{rollout:?}: {:?}", outcome.record);
        costs.push(outcome.cost);
        let found = Vector3::from_column_slice(&solver.trajectory().theta);
        assert!((found - bias).norm() < 0.05, "{rollout:?}: {found:?}");
        // Gauss-Newton with exact Jacobians: quadratic-like convergence, not a crawl.
        assert!(outcome.record.len() < 15, "{rollout:?}: {:?}", outcome.record);
    }
    assert!(costs.iter().all(|c| (c - costs[0]).abs() < 1e-6 * costs[0]), "{costs:?}");
}
