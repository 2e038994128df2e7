use std::sync::Arc;

use super::*;
use crate::dynamics::Workspace;
use crate::dynamics::actuation::{extended_parameters, joint_friction, smooth_friction};
use crate::estimate::{Solver, SolverOptions};
use crate::inertia::Coordinates;
use crate::multibody::{Deviations, Formulation, MultibodyProblem, ParameterEquation};
use crate::recording::Sample;
use crate::robot::load_model;

const STEP: f64 = 0.01;
const INF: f64 = f64::INFINITY;

/// Two seconds of the double pendulum along sines, with torques of the extended parameters `truth`.
fn samples(robot: &Model, truth: &[f64]) -> Vec<Sample> {
    let mut workspace = Workspace::new(robot);
    let sample = |k: usize| {
        let t = STEP * k as f64;
        let wave = |a: f64, w: f64, c: f64| {
            let x = w * t + c;
            [a * x.sin(), a * w * x.cos(), -a * w * w * x.sin()]
        };
        let (one, two) = (wave(0.8, 4.3, 0.2), wave(0.9, 6.1, 0.7));
        let of = |i: usize| vec![one[i], two[i]];
        let mut tau = vec![0.0; 2];
        workspace.inverse_dynamics(
            robot,
            &of(0),
            &of(1),
            &of(2),
            &truth[..robot.parameter_count()],
            &mut tau,
        );
        tau.iter_mut().enumerate().for_each(|(j, tau)| *tau += joint_friction(robot, truth, j, of(1)[j]).0);
        Sample { t, q: of(0), dq: of(1), tau }
    };
    (0..200).map(sample).collect()
}

fn problem(robot: &Arc<Model>, map: ParameterMap, samples: &[Sample]) -> MultibodyProblem {
    let deviations = Deviations {
        q: vec![1e-3; 2],
        dq: vec![1e-2; 2],
        tau: vec![0.05; 2],
        first_q: vec![INF; 2],
        first_dq: vec![INF; 2],
        theta: vec![0.7; map.len()],
    };
    let problem = MultibodyProblem::new(robot.clone(), map, samples.to_vec(), STEP, &deviations).unwrap();
    problem.formulated(Formulation::Inverse)
}

/// The parameters where nothing more is to be gained, and the cost there.
fn solved(problem: &MultibodyProblem) -> (Vec<f64>, f64) {
    let options = SolverOptions { tolerance: 1e-15, iterations: 100, ..SolverOptions::default() };
    let mut solver = Solver::new(problem, options).unwrap();
    let outcome = solver.solve(&problem.guess()).unwrap();
    (solver.trajectory().theta.clone(), outcome.cost)
}

/// Where a bound binds, everything else is what it would be if the value were known; where it does not, as if there were none.
#[test]
fn a_bound_that_binds_is_a_value_that_is_known() {
    let robot = Arc::new(load_model("robots/double_pendulum.toml").unwrap());
    let mut truth = extended_parameters(&robot);
    use JointParameter::{Coulomb, Offset, Viscous};
    (truth[Viscous.index(&robot, 0)], truth[Offset.index(&robot, 1)]) = (0.08, -0.3);
    let samples = samples(&robot, &truth);
    let mut map = ParameterMap::none(&robot);
    map.joints = vec![(0, Viscous), (0, Coulomb), (1, Coulomb), (1, Offset)];
    let free = problem(&robot, map.clone(), &samples);
    let (open, least) = solved(&free);
    let idle = [
        ParameterBound { place: 0, lower: 0.5 * open[0], upper: 2.0 * open[0] },
        ParameterBound { place: 3, lower: -INF, upper: 1.0 },
    ];
    let (same, _) = solved(&free.clone().with_bounds(&idle).unwrap());
    open.iter().zip(&same).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{open:?} {same:?}"));
    for (lower, upper, known) in [(-INF, 0.6 * open[0], 0.6 * open[0]), (1.5 * open[0], INF, 1.5 * open[0])] {
        let bound = ParameterBound { place: 0, lower, upper };
        let (bounded, cost) = solved(&free.clone().with_bounds(&[bound]).unwrap());
        let mut fixed = map.clone();
        fixed.joints.remove(0);
        fixed.nominal[Viscous.index(&robot, 0)] = known;
        let (others, _) = solved(&problem(&robot, fixed, &samples));
        assert!((bounded[0] - known).abs() < 1e-9 && cost > least, "{bounded:?}");
        for (a, b) in bounded[1..].iter().zip(&others) {
            assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{bounded:?} {others:?}");
        }
    }
}

/// A bound on a mass is curved in log-Cholesky coordinates; it gives what the equation gives that holds the mass there.
#[test]
fn a_mass_is_bounded_in_any_coordinates() {
    let robot = Arc::new(load_model("robots/double_pendulum.toml").unwrap());
    let samples = samples(&robot, &extended_parameters(&robot));
    for coordinates in [Coordinates::LogCholesky, Coordinates::ExponentialEigenvalue] {
        let mut map = ParameterMap::none(&robot);
        map.bodies = vec![(1, coordinates)];
        let mass = map.nominal[robot.body_range(1)][0];
        let free = problem(&robot, map, &samples);
        let most = ParameterBound { place: 0, lower: -INF, upper: 0.9 * mass };
        let (bounded, one) = solved(&free.clone().with_bounds(&[most]).unwrap());
        let held = vec![ParameterEquation::TotalMass(vec![0], 0.9 * mass)];
        let (equal, two) = solved(&free.with_equations(held));
        assert!((one - two).abs() < 1e-7 * (1.0 + two), "{coordinates:?}: {one} {two}");
        bounded.iter().zip(&equal).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{bounded:?} {equal:?}"));
    }
}

/// Data whose best hump of friction drives the joint (g1 < g2): the estimate stays where friction dissipates.
#[test]
fn smooth_friction_never_drives() {
    let robot = Arc::new(load_model("robots/double_pendulum.toml").unwrap());
    use JointParameter::{StictionRate, StribeckHeight, StribeckRate};
    let mut map = ParameterMap::none(&robot);
    let rates = |p: &mut [f64], g1: f64, g2: f64| {
        for (which, x) in [(StribeckHeight, 0.4), (StictionRate, g1), (StribeckRate, g2)] {
            p[which.index(&robot, 0)] = x;
        }
    };
    let mut truth = extended_parameters(&robot);
    rates(&mut truth, 1.0, 4.0);
    assert!(!smooth_friction(&robot, &truth, 0).unwrap().dissipates());
    let samples = samples(&robot, &truth);
    rates(&mut map.nominal, 3.0, 1.0);
    map.joints = vec![(0, StictionRate), (0, StribeckRate)];
    let bounded = problem(&robot, map.clone(), &samples);
    let (theta, cost) = solved(&bounded);
    let mut found = map.nominal.clone();
    map.fill(&robot, &theta, &mut found);
    let (g1, g2) = (found[StictionRate.index(&robot, 0)], found[StribeckRate.index(&robot, 0)]);
    assert!(g1 - g2 > -1e-8 && g1 - g2 < 1e-3, "{g1} {g2}");
    // The priors alone cost more at the truth; the data make up for it.
    let (_, at_truth) =
        solved(&problem(&robot, ParameterMap { joints: vec![], nominal: truth, ..map }, &samples));
    assert!(at_truth < cost, "{at_truth} {cost}");
}

#[test]
fn bounds_that_make_no_sense_are_told() {
    let robot = Arc::new(load_model("robots/double_pendulum.toml").unwrap());
    let samples = samples(&robot, &extended_parameters(&robot));
    let mut map = ParameterMap::none(&robot);
    map.joints = vec![(1, JointParameter::Offset)];
    let problem = problem(&robot, map, &samples);
    for (place, lower, upper) in
        [(1, 0.0, 1.0), (0, 1.0, 0.0), (0, f64::NAN, 1.0), (0, 0.0, f64::NAN), (0, INF, INF), (0, -INF, -INF)]
    {
        let refused = problem.clone().with_bounds(&[ParameterBound { place, lower, upper }]);
        assert!(matches!(refused, Err(EstimateError::Body { .. })), "{place} {lower} {upper}");
    }
}
