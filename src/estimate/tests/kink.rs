//! A cost with a kink at its minimum, and dynamics whose steps leave gaps of second order.

use super::*;

/// Height of the kink's slope: whole Newton steps go from u = HEIGHT to -HEIGHT and back for ever.
const HEIGHT: f64 = 1e-2;

/// min (x - 1)^2 / 2 + u^2 / 2 + HEIGHT |u|, x' = x + u + 5 u^2.
struct Kinked;

impl EstimationProblem for Kinked {
    type Workspace = ();

    fn workspace(&self) {}

    fn stages(&self) -> usize {
        2
    }

    fn size(&self, k: usize) -> StageSize {
        StageSize { state: 1, tangent: 1, input: 1 - k, constraints: 0 }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        (0, 0, 0)
    }

    fn evaluate(&self, k: usize, at: Point<'_>, _: &mut (), out: &mut StageValues) -> Result<(), String> {
        out.cost = 0.0;
        if k == 0 {
            let (x, u) = (at.x[0], at.u[0]);
            out.cost = 0.5 * ((x - 1.0).powi(2) + u * u) + HEIGHT * u.abs();
            out.next[0] = x + u + 5.0 * u * u;
        }
        Ok(())
    }

    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        workspace: &mut (),
        model: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, workspace, out)?;
        if k == 0 {
            let (x, u) = (at.x[0], at.u[0]);
            model.add_direct(u + HEIGHT * u.signum(), 0, 1.0);
            model.add_direct(x - 1.0, 1, 1.0);
            (model.jac[(0, 0)], model.jac[(1, 0)]) = (1.0 + 10.0 * u, 1.0);
        }
        model.cost = out.cost;
        Ok(())
    }
}

/// Whatever whole steps promise beyond the kink, they gain nothing; that is seen although nothing is told of what counts.
#[test]
fn steps_to_and_fro_across_a_kink_end() {
    for u in [HEIGHT, -HEIGHT, 0.3 * HEIGHT, -1.7 * HEIGHT] {
        let options = SolverOptions { marginal: true, iterations: 20, ..SolverOptions::default() };
        let mut solver = Solver::new(&Kinked, options).unwrap();
        let guess = Trajectory { xs: vec![vec![1.0], vec![1.0]], us: vec![vec![u], vec![]], theta: vec![] };
        let outcome = solver.solve(&guess).unwrap();
        assert_eq!(outcome.status, Status::Converged, "from {u}: {:?}", outcome.record);
        assert!(outcome.violation <= 2e-10 && outcome.cost <= 20.0 * HEIGHT * HEIGHT, "{outcome:?}");
    }
}

/// Where no more is to be gained than counts, gaps are closed without going to and fro across the kink.
#[test]
fn a_kink_at_the_minimum_does_not_keep_gaps_open() {
    for u in [HEIGHT, -HEIGHT, 0.3 * HEIGHT, -1.7 * HEIGHT] {
        let significance = 20.0 * HEIGHT * HEIGHT;
        let options =
            SolverOptions { marginal: true, significance, iterations: 30, ..SolverOptions::default() };
        let mut solver = Solver::new(&Kinked, options).unwrap();
        let guess = Trajectory { xs: vec![vec![1.0], vec![1.0]], us: vec![vec![u], vec![]], theta: vec![] };
        let outcome = solver.solve(&guess).unwrap();
        assert_eq!(outcome.status, Status::Converged, "from {u}: {:?}", outcome.record);
        assert!(outcome.violation <= 2e-10 && outcome.cost <= significance, "{outcome:?}");
        // The least step that closes the gaps leaves none.
        assert_eq!(outcome.record.len(), 2, "from {u}: {:?}", outcome.record);
        let found = solver.trajectory();
        assert!(found.us[0][0].abs() <= 2.0 * HEIGHT && (found.xs[0][0] - 1.0).abs() < 0.1, "{found:?}");
    }
}
