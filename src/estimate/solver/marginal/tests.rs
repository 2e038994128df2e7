//! What happens where steps of scoring lead astray.

use super::*;
use crate::estimate::solver::line_search::Taken;
use crate::estimate::solver::{SolverOptions, Status};
use crate::estimate::{ParameterModel, Point, StageModel, StageSize, StageValues, Trajectory};

/// Two parameters with the information `WEIGHT` each, and a walk of one step beside them that fits at once; what the
/// volume's slope is at theta, is told.
/// The walk's cost may have a kink of this slope where it is least: whole steps go to and fro across it.
struct Told<F> {
    slope: F,
    kink: f64,
}

const WEIGHT: f64 = 4.0;
/// Far more than there is to gain: every place counts as near the minimum.
const FLOOR: f64 = 1e6;

impl<F: Fn([f64; 2]) -> [f64; 2] + Sync> EstimationProblem for Told<F> {
    type Workspace = ();

    fn workspace(&self) {}

    fn stages(&self) -> usize {
        2
    }

    fn size(&self, k: usize) -> StageSize {
        StageSize { state: 1, tangent: 1, input: 1 - k, constraints: 0 }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        (2, 0, 0)
    }

    fn evaluate(&self, k: usize, at: Point<'_>, _: &mut (), out: &mut StageValues) -> Result<(), String> {
        let kink = if k == 0 { self.kink * (at.u[0] + 1.0).abs() } else { 0.0 };
        let theta: f64 = at.theta.iter().map(|t| WEIGHT * t * t).sum();
        out.cost = kink + 0.5 * (at.x[0] - 1.0 + 3.0 * k as f64).powi(2);
        if k == 0 {
            out.cost += FLOOR + 0.5 * (at.u[0].powi(2) + theta);
            out.next[0] = at.x[0] + at.u[0];
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
        model.cost = FLOOR;
        model.add_direct(at.x[0] - 1.0 + 3.0 * k as f64, model.nu, 1.0);
        if k == 0 {
            model.add_direct(at.u[0] + self.kink * (at.u[0] + 1.0).signum(), 0, 1.0);
            (0..2).for_each(|i| model.add_direct(at.theta[i], 2 + i, WEIGHT));
            (model.jac[(0, 0)], model.jac[(1, 0)]) = (1.0, 1.0);
        }
        model.cost = out.cost;
        Ok(())
    }

    fn natural(&self) -> usize {
        2
    }

    fn naturalise(&self, theta: &[f64], phi: &mut [f64], slopes: &mut Mat) {
        phi.copy_from_slice(theta);
        slopes.reset(2, 2);
        (0..2).for_each(|i| slopes[(i, i)] = 1.0);
    }

    fn volume_slope(
        &self,
        k: usize,
        at: Point<'_>,
        _: &mut (),
        _: Given<'_>,
        out: &mut [f64],
    ) -> Result<(), String> {
        if k == 0 {
            out.copy_from_slice(&(self.slope)([at.theta[0], at.theta[1]]));
        }
        Ok(())
    }

    fn constrain_parameters(&self, _: &[f64], _: &mut ParameterModel) {}
}

/// Where the marginal cost is least if the volume's slope is `WANTED` there.
const BEST: [f64; 2] = [-0.3, 0.2];
const WANTED: [f64; 2] = [-WEIGHT * BEST[0], -WEIGHT * BEST[1]];

/// The parameters found, and whether whole steps were trusted and how often the slope was found since they were not.
fn found(slope: impl Fn([f64; 2]) -> [f64; 2] + Sync) -> ([f64; 2], bool, usize) {
    let problem = Told { slope, kink: 0.0 };
    let options = SolverOptions { marginal: true, significance: 0.0, ..SolverOptions::default() };
    let mut solver = Solver::new(&problem, options).unwrap();
    let guess = Trajectory { xs: vec![vec![0.0]; 2], us: vec![vec![0.0], Vec::new()], theta: vec![0.0; 2] };
    let outcome = solver.solve(&guess).unwrap();
    assert_eq!(outcome.status, Status::Converged, "{:?}", outcome.record);
    // The walk: min (x - 1)^2 + u^2 + (x + u + 2)^2.
    let (x, u) = (solver.now.xs[0][0], solver.now.us[0][0]);
    assert!((x - 0.0).abs() < 1e-9 && (u + 1.0).abs() < 1e-9, "{x} {u}");
    let theta = [solver.now.theta[0], solver.now.theta[1]];
    (theta, solver.marginal.trusted, solver.marginal.renewals)
}

fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[test]
fn a_slope_that_answers_more_than_the_information_says_is_followed() {
    // Twice the information along one direction, and not symmetric: plain scoring would run away.
    let answer = |t: [f64; 2]| {
        let d = [t[0] - BEST[0], t[1] - BEST[1]];
        [WANTED[0] + WEIGHT * (1.6 * d[0] + 0.3 * d[1]), WANTED[1] - WEIGHT * (0.4 * d[0] - 0.2 * d[1])]
    };
    let (theta, trusted, _) = found(answer);
    assert!(trusted);
    assert!(apart(theta, BEST) < 3e-3, "{theta:?}");
}

#[test]
fn one_place_that_leads_astray_ends_the_trust_and_nothing_else() {
    // A step short of the best place waits a slope of thirty times what there was to gain; it throws the parameters far
    // away, and from there both move together under the line search.
    let trap = [BEST[0] + 0.02, BEST[1]];
    let answer = |t: [f64; 2]| {
        if apart(t, trap) < 0.01 {
            return [WANTED[0] + 30.0, WANTED[1] - 40.0];
        }
        let short = if apart(t, [0.0; 2]) < 0.1 { -WEIGHT * 0.02 } else { 0.0 };
        [WANTED[0] + short, WANTED[1]]
    };
    let (theta, trusted, renewals) = found(answer);
    assert!(!trusted && renewals < RENEWALS, "{trusted} {renewals}");
    assert!(apart(theta, BEST) < 3e-3, "{theta:?}");
}

#[test]
fn a_slope_that_cannot_be_followed_comes_to_an_end() {
    // Each step of scoring leads a third of a turn further around the origin, and farther away from it at first: no place has
    // nothing to gain.
    let answer = |t: [f64; 2]| {
        let radius = t[0].hypot(t[1]);
        if radius < 0.1 {
            return WANTED;
        }
        let (sin, cos) = (std::f64::consts::TAU / 3.0).sin_cos();
        let grow = if radius < 10.0 { 4.0 } else { 1.0 };
        [-WEIGHT * grow * (cos * t[0] - sin * t[1]), -WEIGHT * grow * (sin * t[0] + cos * t[1])]
    };
    let (theta, trusted, renewals) = found(answer);
    assert!(theta.iter().all(|t| t.abs() < 50.0), "{theta:?}");
    assert!(!trusted && renewals == RENEWALS, "{trusted} {renewals}");
}

/// At a kink the trajectory promises gains for ever, and parameters that wait for it wait for ever.
#[test]
fn parameters_do_not_wait_for_a_trajectory_that_a_kink_holds_up() {
    let answer = |t: [f64; 2]| [WANTED[0] + 0.5 * (t[0] - BEST[0]), WANTED[1]];
    let problem = Told { slope: answer, kink: 0.1 };
    let options = SolverOptions { marginal: true, iterations: 40, ..SolverOptions::default() };
    let mut solver = Solver::new(&problem, options).unwrap();
    for u in [0.0, -0.98, -1.03] {
        let guess = Trajectory { xs: vec![vec![0.0]; 2], us: vec![vec![u], vec![]], theta: vec![0.0; 2] };
        let outcome = solver.solve(&guess).unwrap();
        assert_eq!(outcome.status, Status::Converged, "from {u}: {:?}", outcome.record);
        let trials: usize = outcome.record.iter().map(|i| i.trials).sum();
        assert!(trials < 60 && outcome.violation < 2e-10, "from {u}: {trials} {:?}", outcome.record);
        let now = &solver.now;
        assert!(apart([now.theta[0], now.theta[1]], BEST) < 3e-3, "from {u}: {:?}", now.theta);
        assert!((now.us[0][0] + 1.0).abs() < 0.03 && now.xs[0][0].abs() < 0.03, "from {u}: {now:?}");
    }
}

#[test]
fn steps_to_and_fro_at_one_distance_end_the_trust() {
    let judged = |gains: &[f64]| {
        let mut marginal = Marginal::new(2, 2, 2);
        gains.iter().for_each(|&gain| marginal.judge(gain));
        marginal.trusted
    };
    assert!(judged(&[10.0, 4.0, 3.9, 3.8, 1.9, 5.0, 4.0]));
    assert!(!judged(&[10.0, 9.0, 8.0, 7.0]));
    assert!(!judged(&[1.0, 11.0]));
}

/// A step that gains a fifth of what it promised, and less than counts, is held up; one that gains a third of it is not, nor is one that gains
/// a fifth of much, nor any without the trajectory integrated out.
#[test]
fn steps_that_gain_little_of_little_are_held_up() {
    let (mut told, problem) = (Vec::new(), Told { slope: |_: [f64; 2]| [0.0; 2], kink: 0.0 });
    for (marginal, significance, u) in
        [(true, 0.0, -0.99), (true, 0.0, 0.0), (true, 10.0, 0.0), (false, 0.0, -0.99)]
    {
        let options = SolverOptions { marginal, significance, iterations: 0, ..SolverOptions::default() };
        let mut solver = Solver::new(&problem, options).unwrap();
        let guess =
            Trajectory { xs: vec![vec![0.0], vec![-1.0]], us: vec![vec![u], vec![]], theta: vec![0.0; 2] };
        solver.minimise(&guess, false, None).unwrap();
        let promised = solver.gain();
        assert!(promised > 0.0);
        let after = |share: f64| Taken { length: 1.0, merit: Some(FLOOR - share * promised) };
        told.push((solver.is_held_up(FLOOR, after(0.2)), solver.is_held_up(FLOOR, after(0.3))));
        assert!(!solver.is_held_up(FLOOR, Taken { length: 1.0, merit: None }));
    }
    assert_eq!(told, [(true, false), (false, false), (true, false), (false, false)]);
}
