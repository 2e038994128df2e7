//! Properties of constrained dynamics on random trees with random constraints; mechanisms are in `mechanisms`.

use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::tests::{assert_close, matrix, moved, placement, plus, tree, unit, vec_of};
use crate::inertia::INERTIAL;
use crate::robot::configuration::random;
use crate::robot::{LoopKind, Model};

pub(super) mod mechanisms;

/// One to three constraints between random bodies (or the base), of all kinds.
fn constraints(robot: &Model, rng: &mut impl RngExt) -> Vec<Constraint> {
    let count = rng.random_range(1..=3);
    (0..count)
        .map(|i| {
            let a = rng.random_range(0..robot.bodies());
            let b = Some(rng.random_range(0..robot.bodies())).filter(|&b| b != a && rng.random_bool(0.5));
            let pick = |rng: &mut dyn rand::Rng| rng.random_bool(0.5);
            Constraint {
                name: format!("constraint {i}"),
                a: ConstraintEnd { joint: Some(a), placement: placement(rng) },
                b: ConstraintEnd { joint: b, placement: placement(rng) },
                kind: if pick(rng) { LoopKind::Point } else { LoopKind::Rigid },
                axes: if pick(rng) { RowAxes::Local } else { RowAxes::WorldAligned },
                planar: false,
                stiffness: rng.random_range(0.0..20.0),
                damping: rng.random_range(0.0..5.0),
                restitution: rng.random_range(0.0..1.0),
            }
        })
        .collect()
}

/// A robot, its constrained dynamics and a state.
struct Case {
    robot: Model,
    dynamics: ConstrainedDynamics,
    q: Vec<f64>,
    v: Vec<f64>,
    tau: Vec<f64>,
    theta: Vec<f64>,
}

/// Central difference of a vector function at 0, of fourth order.
fn slope(f: impl Fn(f64) -> Vec<f64>) -> Vec<f64> {
    let h = 1e-4;
    let (near, far) = ([f(h), f(-h)], [f(2.0 * h), f(-2.0 * h)]);
    (0..near[0].len())
        .map(|k| (8.0 * (near[0][k] - near[1][k]) - (far[0][k] - far[1][k])) / (12.0 * h))
        .collect()
}

/// Row-major derivative of f to n numbers: column k is that of f(e_k, h) to h.
fn columns(robot: &Model, f: impl Fn(&[f64], f64) -> Vec<f64>) -> Vec<f64> {
    let n = robot.nv();
    let columns: Vec<_> = (0..n).map(|k| slope(|h| f(&unit(n, k), h))).collect();
    (0..columns[0].len()).flat_map(|r| columns.iter().map(move |c| c[r])).collect()
}

/// Random cases, with and without a free flyer; half of them with rigid constraints, half with yielding ones. Rigid ones
/// near a singularity are left out, because differences across it say nothing.
fn for_cases(seed: u64, mut property: impl FnMut(&mut Case, &mut ChaCha8Rng)) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut done = [0, 0];
    while done[0] < 10 || done[1] < 10 {
        let afloat = rng.random_bool(0.5);
        let robot = tree(&mut rng, afloat);
        let list = constraints(&robot, &mut rng);
        let rigid = rng.random_bool(0.5);
        let redundancy = if rigid { Redundancy::Refuse } else { Redundancy::Yield(0.05) };
        let mut dynamics = ConstrainedDynamics::new(&robot, list, redundancy).unwrap();
        let q = random(&robot, &mut rng);
        let (v, tau) = (vec_of(&mut rng, robot.nv()), vec_of(&mut rng, robot.nv()));
        let theta = robot.nominal_parameters();
        let found = dynamics.forward(&robot, &q, &v, &tau, &theta);
        if rigid && (found.is_err() || dynamics.force().iter().any(|f| f.abs() > 300.0)) {
            continue;
        }
        found.unwrap();
        done[usize::from(rigid)] += 1;
        property(&mut Case { robot, dynamics, q, v, tau, theta }, &mut rng);
    }
}

impl Case {
    /// Motion and forces of a solution, one after the other.
    fn solution(&self) -> Vec<f64> {
        [self.dynamics.motion(), self.dynamics.force()].concat()
    }

    fn forward(&self, q: &[f64], v: &[f64], tau: &[f64], theta: &[f64]) -> Vec<f64> {
        let mut dynamics = self.dynamics.clone();
        dynamics.forward(&self.robot, q, v, tau, theta).unwrap();
        [dynamics.motion(), dynamics.force()].concat()
    }

    fn impulse(&self, q: &[f64], v: &[f64], theta: &[f64]) -> Vec<f64> {
        let mut dynamics = self.dynamics.clone();
        dynamics.impulse(&self.robot, q, v, theta).unwrap();
        [dynamics.motion(), dynamics.force()].concat()
    }

    fn project(&self, q: &[f64], w: &[f64], theta: &[f64]) -> Vec<f64> {
        let mut dynamics = self.dynamics.clone();
        dynamics.project(&self.robot, q, w, theta).unwrap();
        [dynamics.motion(), dynamics.force()].concat()
    }

    fn compliance(&self) -> f64 {
        self.dynamics.compliance()
    }
}

fn stacked(part: &Sensitivity) -> Vec<f64> {
    [part.motion.as_slice(), &part.force].concat()
}

/// Differences in a few directions of the inertial parameters against the columns of `part`.
fn check_parameters(case: &Case, part: &Sensitivity, f: impl Fn(&[f64]) -> Vec<f64>) {
    let all = stacked(part);
    for body in 0..case.robot.bodies() {
        // A direction that keeps the body physical: more of everything, and a shifted centre of mass.
        let mut direction = vec![0.0; case.theta.len()];
        for p in 0..INERTIAL {
            direction[INERTIAL * body + p] = 0.1 * case.theta[INERTIAL * body + p] + 0.01 * (p as f64).cos();
        }
        let numeric = slope(|h| f(&plus(&case.theta, h, &direction)));
        let analytic: Vec<f64> = all
            .chunks_exact(part.width)
            .map(|row| row.iter().zip(&direction).map(|(a, b)| a * b).sum())
            .collect();
        assert_close("by theta", &analytic, &numeric, 1e-7);
    }
}

#[test]
fn forward_dynamics_solves_the_equations_of_motion() {
    for_cases(1, |case, _| {
        let (n, rows, c) = (case.robot.nv(), case.dynamics.rows(), case.compliance());
        let mut r = Residuals::new(&case.robot, case.dynamics.constraints(), true);
        let solution = case.solution();
        let (a, force) = solution.split_at(n);
        let mut dynamics = case.dynamics.clone();
        let state = (case.q.as_slice(), case.v.as_slice(), a);
        dynamics.residuals(&case.robot, state, force, &case.tau, &case.theta, &mut r).unwrap();
        let scale = force.iter().chain(a).fold(1.0f64, |m, x| m.max(x.abs()));
        let worst = r.dynamics.iter().chain(&r.constraint).fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(worst < 1e-9 * scale, "{worst:e} {scale:e}");
        assert!(c > 0.0 || case.dynamics.violation() < 1e-9 * scale);
        // The same from the dense KKT matrix.
        let mut kkt = DMatrix::zeros(n + rows, n + rows);
        let j = matrix(rows, case.dynamics.jacobian());
        kkt.view_mut((0, 0), (n, n)).copy_from(&matrix(n, case.dynamics.mass()));
        kkt.view_mut((n, 0), (rows, n)).copy_from(&j);
        kkt.view_mut((0, n), (n, rows)).copy_from(&-j.transpose());
        kkt.view_mut((n, n), (rows, rows)).fill_with_identity();
        kkt.view_mut((n, n), (rows, rows)).scale_mut(c);
        let zero = vec![0.0; n];
        let state = (case.q.as_slice(), case.v.as_slice(), zero.as_slice());
        dynamics.residuals(&case.robot, state, &vec![0.0; rows], &case.tau, &case.theta, &mut r).unwrap();
        let right = -DVector::from_vec([r.dynamics.as_slice(), &r.constraint].concat());
        let dense = kkt.lu().solve(&right).unwrap();
        assert_close("dense", &solution, dense.as_slice(), 1e-8);
    });
}

/// Rows at the accelerations are what second differences of the position errors say, by the definition of dde.
#[test]
fn rows_are_the_second_derivative_of_the_errors() {
    for_cases(2, |case, rng| {
        let list: Vec<_> = case
            .dynamics
            .constraints()
            .iter()
            .map(|c| c.clone().in_axes(RowAxes::WorldAligned).stabilised(0.0, 0.0))
            .collect();
        let mut dynamics = ConstrainedDynamics::new(&case.robot, list, Redundancy::Yield(1.0)).unwrap();
        let rows = dynamics.rows();
        let a = vec_of(rng, case.robot.nv());
        let mut r = Residuals::new(&case.robot, dynamics.constraints(), false);
        let zero = vec![0.0; rows];
        let state = (case.q.as_slice(), case.v.as_slice(), a.as_slice());
        dynamics.residuals(&case.robot, state, &zero, &case.tau, &case.theta, &mut r).unwrap();
        let mut at = |t: f64| {
            let path: Vec<f64> = case.v.iter().zip(&a).map(|(v, a)| v + 0.5 * a * t).collect();
            let mut e = vec![0.0; rows];
            dynamics.position_errors(&case.robot, &moved(&case.robot, &case.q, &path, t), &mut e).unwrap();
            e
        };
        let h = 1e-4;
        let (before, here, after) = (at(-h), at(0.0), at(h));
        for (index, constraint) in case.dynamics.constraints().iter().enumerate() {
            let first = case.dynamics.first_row(index);
            for k in first..first + 3 {
                let numeric = (after[k] - 2.0 * here[k] + before[k]) / (h * h);
                assert!((r.constraint[k] - numeric).abs() < 1e-5 * (1.0 + numeric.abs()), "{numeric}");
            }
            if constraint.kind == LoopKind::Rigid {
                // The turn's rate is w_a - w_b only to first order in the turn; J is exact.
                let rate = |t: f64| {
                    let q = moved(&case.robot, &case.q, &plus(&case.v, 0.5 * t, &a), t);
                    let mut other = dynamics_at(&case.robot, case.dynamics.constraints());
                    other.project(&case.robot, &q, &case.v, &case.theta).unwrap();
                    let j = matrix(rows, other.jacobian());
                    (j * DVector::from_vec(plus(&case.v, t, &a))).as_slice()[first + 3..first + 6].to_vec()
                };
                assert_close("spin", &r.constraint[first + 3..first + 6], &slope(rate), 1e-7);
            }
        }
    });
}

fn dynamics_at(robot: &Model, list: &[Constraint]) -> ConstrainedDynamics {
    let list = list.iter().map(|c| c.clone().in_axes(RowAxes::WorldAligned)).collect();
    ConstrainedDynamics::new(robot, list, Redundancy::Yield(1.0)).unwrap()
}

#[test]
fn forward_derivatives_agree_with_differences() {
    for_cases(3, |case, _| {
        let mut out = Sensitivities::new(&case.robot, case.dynamics.constraints(), true);
        let (q, v, tau, theta) = (&case.q, &case.v, &case.tau, &case.theta);
        case.dynamics.forward_derivatives(&case.robot, q, v, tau, theta, &mut out).unwrap();
        let robot = &case.robot;
        let by_q = columns(robot, |e, h| case.forward(&moved(robot, q, e, h), v, tau, theta));
        assert_close("by q", &stacked(&out.by_q), &by_q, 1e-7);
        let by_v = columns(robot, |e, h| case.forward(q, &plus(v, h, e), tau, theta));
        assert_close("by v", &stacked(&out.by_v), &by_v, 1e-7);
        let by_tau = columns(robot, |e, h| case.forward(q, v, &plus(tau, h, e), theta));
        assert_close("by tau", &stacked(&out.by_tau), &by_tau, 1e-7);
        check_parameters(case, &out.by_theta, |theta| case.forward(q, v, tau, theta));
    });
}

#[test]
fn residual_derivatives_agree_with_differences() {
    for_cases(4, |case, rng| {
        let (n, rows) = (case.robot.nv(), case.dynamics.rows());
        let (a, force) = (vec_of(rng, n), vec_of(rng, rows));
        let mut dynamics = case.dynamics.clone();
        let mut at = |q: &[f64], v: &[f64], a: &[f64], force: &[f64], theta: &[f64]| {
            let mut r = Residuals::new(&case.robot, case.dynamics.constraints(), true);
            dynamics.residuals(&case.robot, (q, v, a), force, &case.tau, theta, &mut r).unwrap();
            r
        };
        let (q, v, theta) = (&case.q, &case.v, &case.theta);
        let r = at(q, v, &a, &force, theta);
        let at = std::cell::RefCell::new(at);
        let both = |q: &[f64], v: &[f64], a: &[f64], f: &[f64], theta: &[f64]| {
            let r = (at.borrow_mut())(q, v, a, f, theta);
            [r.dynamics, r.constraint].concat()
        };
        let robot = &case.robot;
        let by_q = columns(robot, |e, h| both(&moved(robot, q, e, h), v, &a, &force, theta));
        assert_close("by q", &[r.dynamics_by_q.as_slice(), &r.constraint_by_q].concat(), &by_q, 1e-7);
        let by_v = columns(robot, |e, h| both(q, &plus(v, h, e), &a, &force, theta));
        assert_close("by v", &[r.dynamics_by_v.as_slice(), &r.constraint_by_v].concat(), &by_v, 1e-7);
        let by_a = columns(robot, |e, h| both(q, v, &plus(&a, h, e), &force, theta));
        assert_close("by a", &[r.mass.as_slice(), &r.jacobian].concat(), &by_a, 1e-7);
        for k in 0..rows {
            let numeric = slope(|h| both(q, v, &a, &plus(&force, h, &unit(rows, k)), theta));
            let analytic: Vec<f64> = (0..n).map(|i| -r.jacobian[n * k + i]).collect();
            assert_close("by force", &numeric[..n], &analytic, 1e-7);
            assert!((numeric[n + k] - case.compliance()).abs() < 1e-7);
        }
    });
}

#[test]
fn impacts_keep_their_law_and_their_derivatives_agree_with_differences() {
    for_cases(5, |case, _| {
        let (q, v, theta) = (&case.q, &case.v, &case.theta);
        let robot = &case.robot;
        let mut out = Sensitivities::new(robot, case.dynamics.constraints(), true);
        case.dynamics.impulse_derivatives(robot, q, v, theta, &mut out).unwrap();
        let n = robot.nv();
        let (j, m) =
            (matrix(case.dynamics.rows(), case.dynamics.jacobian()), matrix(n, case.dynamics.mass()));
        let (before, after) = (DVector::from_vec(v.clone()), DVector::from_row_slice(case.dynamics.motion()));
        let impulse = DVector::from_row_slice(case.dynamics.force());
        let balance = m * (&after - &before) - j.transpose() * &impulse;
        assert!(balance.amax() < 1e-9 * (1.0 + impulse.amax()), "{balance}");
        let mut law = &j * &after + &impulse * case.compliance();
        for (index, constraint) in case.dynamics.constraints().iter().enumerate() {
            for k in case.dynamics.first_row(index)..case.dynamics.first_row(index) + constraint.rows() {
                law[k] += constraint.restitution * (j.row(k) * &before)[0];
            }
        }
        assert!(law.amax() < 1e-9 * (1.0 + impulse.amax()), "{law}");
        let by_q = columns(robot, |e, h| case.impulse(&moved(robot, q, e, h), v, theta));
        assert_close("by q", &stacked(&out.by_q), &by_q, 1e-7);
        let by_v = columns(robot, |e, h| case.impulse(q, &plus(v, h, e), theta));
        assert_close("by v", &stacked(&out.by_v), &by_v, 1e-7);
        check_parameters(case, &out.by_theta, |theta| case.impulse(q, v, theta));
    });
}

#[test]
fn energy_never_grows_in_an_impact() {
    for_cases(6, |case, rng| {
        let common = if rng.random_bool(0.5) { 0.0 } else { rng.random_range(0.0..1.0) };
        let list = case.dynamics.constraints().iter().map(|c| c.clone().bouncing(common)).collect();
        let mut dynamics = ConstrainedDynamics::new(&case.robot, list, Redundancy::Drop).unwrap();
        for _ in 0..20 {
            let v = vec_of(rng, case.robot.nv());
            dynamics.impulse(&case.robot, &case.q, &v, &case.theta).unwrap();
            let m = matrix(case.robot.nv(), dynamics.mass());
            let energy = |v: &[f64]| {
                let v = DVector::from_row_slice(v);
                0.5 * v.dot(&(&m * &v))
            };
            let (before, after) = (energy(&v), energy(dynamics.motion()));
            assert!(after <= before * (1.0 + 1e-12), "{before} {after} at restitution {common}");
        }
    });
}

#[test]
fn the_projector_projects_and_its_derivatives_agree_with_differences() {
    for_cases(7, |case, rng| {
        let (robot, q, theta) = (&case.robot, &case.q, &case.theta);
        let n = robot.nv();
        let w = vec_of(rng, n);
        let mut out = Sensitivities::new(robot, case.dynamics.constraints(), true);
        case.dynamics.projection_derivatives(robot, q, &w, theta, &mut out).unwrap();
        let by_q = columns(robot, |e, h| case.project(&moved(robot, q, e, h), &w, theta));
        assert_close("by q", &stacked(&out.by_q), &by_q, 1e-7);
        check_parameters(case, &out.by_theta, |theta| case.project(q, &w, theta));
        let projected = DVector::from_row_slice(case.dynamics.motion());
        let mut whole = vec![0.0; n * n];
        case.dynamics.projector(robot, q, theta, &mut whole).unwrap();
        assert_close("by w", &out.by_v.motion, &whole, 1e-12);
        let nullspace = matrix(n, &whole);
        assert!((&nullspace * DVector::from_vec(w) - projected).amax() < 1e-9);
        if case.compliance() == 0.0 {
            let (j, m) =
                (matrix(case.dynamics.rows(), case.dynamics.jacobian()), matrix(n, case.dynamics.mass()));
            assert!((&nullspace * &nullspace - &nullspace).amax() < 1e-8);
            assert!((j * &nullspace).amax() < 1e-8);
            assert!((&m * &nullspace - (&m * &nullspace).transpose()).amax() < 1e-8);
        }
    });
}

#[test]
fn a_constraint_that_is_off_is_not_there() {
    for_cases(8, |case, _| {
        case.dynamics.set_active(0, false);
        case.dynamics.forward(&case.robot, &case.q, &case.v, &case.tau, &case.theta).unwrap();
        assert!(case.dynamics.force_of(0).iter().all(|&f| f == 0.0));
        let rest = case.dynamics.constraints()[1..].to_vec();
        let c = case.compliance();
        let redundancy = if c > 0.0 { Redundancy::Yield(c) } else { Redundancy::Refuse };
        let mut other = ConstrainedDynamics::new(&case.robot, rest, redundancy).unwrap();
        other.forward(&case.robot, &case.q, &case.v, &case.tau, &case.theta).unwrap();
        assert_close("motion", case.dynamics.motion(), other.motion(), 1e-12);
        let first = case.dynamics.constraints()[0].rows();
        assert_close("force", &case.dynamics.force()[first..], other.force(), 1e-10);
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let robot = tree(&mut rng, true);
    let good = constraints(&robot, &mut rng).remove(0);
    let refusal = |change: &dyn Fn(&mut Constraint)| {
        let mut bad = good.clone();
        change(&mut bad);
        ConstrainedDynamics::new(&robot, vec![bad], Redundancy::Drop).unwrap_err().to_string()
    };
    let beyond = robot.bodies();
    for (message, part) in [
        (refusal(&|c| c.a.joint = Some(beyond)), "end a"),
        (refusal(&|c| c.b.placement.translation.x = f64::NAN), "finite"),
        (refusal(&|c| c.b.joint = c.a.joint), "same body"),
        (refusal(&|c| c.stiffness = -1.0), "stiffness -1"),
        (refusal(&|c| c.damping = f64::INFINITY), "damping"),
        (refusal(&|c| c.restitution = 1.5), "restitution 1.5"),
    ] {
        assert!(message.contains("constraint 0") && message.contains(part), "{message}");
    }
    for c in [0.0, -1.0, f64::NAN] {
        let refused = ConstrainedDynamics::new(&robot, vec![good.clone()], Redundancy::Yield(c));
        assert!(matches!(refused, Err(ConstraintError::Compliance(_))));
    }
    let mut dynamics = ConstrainedDynamics::new(&robot, vec![good], Redundancy::Drop).unwrap();
    let (q, v) = (random(&robot, &mut rng), vec_of(&mut rng, robot.nv()));
    let mut theta = robot.nominal_parameters();
    let short = dynamics.forward(&robot, &q[1..], &v, &v, &theta).unwrap_err();
    assert!(short.to_string().starts_with("q has length"), "{short}");
    theta[0] = -100.0;
    let negative = dynamics.forward(&robot, &q, &v, &v, &theta).unwrap_err();
    assert!(matches!(negative, ConstraintError::Mass { .. }), "{negative}");
    theta[0] = f64::NAN;
    assert!(dynamics.forward(&robot, &q, &v, &v, &theta).is_err());
}
