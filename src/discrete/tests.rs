//! The three forms of the estimator on a twin: the stepper itself at a finer step and stiffer rows, with encoders of 4096 counts a turn.

use std::f64::consts::{PI, TAU};

use super::explicit::{LevenbergMarquardt, explicit_step, normal_equations};
use super::furuta::{FurutaNumbers, furuta};
use super::parameters::MechanismParameter as P;
use super::problem::{
    DiscreteForm, DiscreteProblem, EncoderLog, OutsideImpulses, ResidualWeights, SoughtParameter,
};
use super::stepper::{DiscreteState, Stepper};
use crate::estimate::problem::{EstimationProblem, Point, StageValues, Trajectory};
use crate::estimate::solver::SolverOptions;
use crate::estimate::stage::StageModel;

/// Angles of a release from nearly upright, every `step_s`, read by encoders.
fn release(duration_s: f64, step_s: f64) -> EncoderLog {
    let mechanism = furuta(&FurutaNumbers { compliance: 1e-6, ..Default::default() });
    let mut angles = [0.0, PI - 0.03];
    let pose = mechanism.assemble(&angles).unwrap();
    let fine = 2.5e-4;
    let mut stepper = Stepper::new(mechanism, fine, &pose).unwrap();
    let mut state = DiscreteState { pose, velocity: vec![0.0; 12] };
    let mut log = EncoderLog { step_s, ..Default::default() };
    for k in 0..=(duration_s / fine).round() as usize {
        angles = [0, 1].map(|j| stepper.angle(&state, j, angles[j]));
        if k % (step_s / fine).round() as usize == 0 {
            log.angles.push(angles.iter().map(|a| (a / TAU * 4096.0).round() * TAU / 4096.0).collect());
            log.controls.push(vec![0.0; 2]);
        }
        stepper.step(&mut state, &[0.0; 2]).unwrap();
    }
    log
}

fn sought() -> Vec<SoughtParameter> {
    let start =
        [(P::Inertia(0, 2), 0.004), (P::Inertia(1, 1), 0.005), (P::Viscous(0), 2e-3), (P::Viscous(1), 5e-4)];
    start
        .map(|(parameter, start)| SoughtParameter {
            lower: f64::NEG_INFINITY,
            ..SoughtParameter::new(parameter, start)
        })
        .to_vec()
}

fn problem(
    log: &EncoderLog,
    sought: Vec<SoughtParameter>,
    compliance: f64,
    impulses: OutsideImpulses,
    form: DiscreteForm,
) -> DiscreteProblem {
    let mechanism = furuta(&FurutaNumbers { compliance, ..Default::default() });
    let weights = ResidualWeights { kappa: 10.0, angle_rad: 4.43e-4 };
    DiscreteProblem::new(mechanism, log.clone(), sought, weights, impulses, form).unwrap()
}

const FORMS: [(OutsideImpulses, DiscreteForm); 4] = [
    (OutsideImpulses::Hinges, DiscreteForm::Impulses),
    (OutsideImpulses::Bodies, DiscreteForm::Impulses),
    (OutsideImpulses::Twice, DiscreteForm::Impulses),
    (OutsideImpulses::Twice, DiscreteForm::Changes),
];

/// Cost and dynamics of stage `k` at a point that is moved by `step` along variable `c`.
fn nearby(
    p: &DiscreteProblem,
    at: &Trajectory,
    k: usize,
    c: usize,
    step: f64,
    about: &[f64],
) -> (f64, Vec<f64>) {
    let size = p.size(k);
    let (mut x, mut u, mut theta) = (at.xs[k].clone(), at.us[k].clone(), at.theta.clone());
    if c < size.input {
        u[c] += step;
    } else if c < size.input + size.tangent {
        let mut d = vec![0.0; size.tangent];
        d[c - size.input] = step;
        p.integrate(k, &at.xs[k], &d, &mut x);
    } else {
        theta[c - size.input - size.tangent] += step;
    }
    let (mut out, mut d) = (StageValues::default(), vec![0.0; size.tangent]);
    p.evaluate(k, Point { x: &x, u: &u, theta: &theta }, &mut p.workspace(), &mut out).unwrap();
    p.difference(k + 1, &out.next, about, &mut d);
    (out.cost, d)
}

/// What a stage remembers of its last evaluation, at the same point or another, under the same control or another, changes no number.
#[test]
fn memory_changes_nothing() {
    let mut log = release(0.1, 0.01);
    log.controls[4] = vec![0.02, 0.0];
    for (impulses, form) in FORMS {
        let p = problem(&log, sought(), 1e-3, impulses, form);
        let at = p.guess(&log.angles).unwrap();
        let mut space = p.workspace();
        let linearised = |k: usize, space: &mut _, mut values: StageValues| {
            let mut model = StageModel::new(p.size(k), p.size(k).tangent, sought().len());
            // The same state for all stages: the control alone differs.
            p.linearise(k, at.at(2), space, &mut model, &mut values).unwrap();
            let columns: Vec<Vec<f64>> = (0..model.jac.cols()).map(|i| model.jac.col(i).to_vec()).collect();
            (columns, values.next)
        };
        for k in [3, 4] {
            let fresh = linearised(k, &mut p.workspace(), StageValues::default());
            for (before, place) in [(k, 2), (3, 2), (4, 2), (k, 5)] {
                let mut values = StageValues::default();
                p.evaluate(before, at.at(place), &mut space, &mut values).unwrap();
                // Another stage in between, as the solver has it.
                p.evaluate(6, at.at(6), &mut space, &mut StageValues::default()).unwrap();
                let again = linearised(k, &mut space, values);
                assert_eq!(again, fresh, "{impulses:?} {form:?} {k} after {before} at {place}");
            }
        }
        if form == DiscreteForm::Impulses {
            let controlled = [3, 4].map(|k| linearised(k, &mut p.workspace(), StageValues::default()).1);
            assert_ne!(controlled[0], controlled[1]);
        }
    }
}

#[test]
fn stages_are_linearised_as_differences_say() {
    let log = release(0.1, 0.01);
    for ((impulses, form), k) in FORMS.into_iter().flat_map(|form| [(form, 0), (form, 4)]) {
        let p = problem(&log, sought(), 1e-3, impulses, form);
        let mut at = p.guess(&log.angles).unwrap();
        at.us[k].iter_mut().enumerate().for_each(|(i, u)| *u += 1e-4 * ((i * 7 % 5) as f64 - 2.0));
        let (size, mut values) = (p.size(k), StageValues::default());
        let mut model = StageModel::new(size, size.tangent, sought().len());
        p.linearise(k, at.at(k), &mut p.workspace(), &mut model, &mut values).unwrap();
        for c in 0..model.n() {
            let [more, less] = [1e-5, -1e-5].map(|e| nearby(&p, &at, k, c, e, &values.next));
            for i in 0..size.tangent {
                let (difference, slope) = ((more.1[i] - less.1[i]) / 2e-5, model.jac[(c, i)]);
                assert!(
                    (difference - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                    "{impulses:?} {form:?} {k}: ({c}, {i}) {difference} {slope}"
                );
            }
            let (difference, slope) = ((more.0 - less.0) / 2e-5, model.grad[c]);
            let allowed = 1e-4 * (1.0 + slope.abs()) + 1e-9 * values.cost.abs() / 1e-5;
            assert!(
                (difference - slope).abs() < allowed,
                "{impulses:?} {form:?} {k}: {c} {difference} {slope}"
            );
        }
    }
}

/// The tolerance counts: where 1e-15 of the cost may still be gained, estimates may be a millionth of a deviation from the minimum. And so do gaps, by rows that weigh a
/// million times as much as the readings.
#[test]
fn the_three_forms_agree() {
    forms_agree(&release(2.0, 0.01), sought());
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_three_forms_agree_where_a_bound_binds_at_length() {
    // Without a bound, the friction of hinge 2 comes out below 0; the inertia is pulled by what is believed of it.
    let mut bounded = sought();
    bounded[3].lower = 0.0;
    bounded[0].prior = Some([3.1e-3, 1e-5]);
    let estimate = forms_agree(&release(2.0, 0.01), bounded);
    assert!(
        estimate.parameters[3].bound && estimate.parameters[3].value.abs() < 1e-12,
        "{:?}",
        estimate.parameters
    );
    assert!((0..3).all(|i| !estimate.parameters[i].bound));
}

fn forms_agree(log: &EncoderLog, sought: Vec<SoughtParameter>) -> super::estimator::DiscreteEstimate {
    let options = SolverOptions {
        parallel: false,
        tolerance: 1e-22,
        feasibility: 1e-14,
        iterations: 40,
        ..Default::default()
    };
    let implicit = problem(log, sought, 1e-3, OutsideImpulses::Twice, DiscreteForm::Impulses);
    let explicit = implicit.clone().explicit().unwrap();
    let a = implicit.estimate(&implicit.guess(&log.angles).unwrap(), options).unwrap();
    let guess = explicit.guess(&log.angles).unwrap();
    let b = explicit.estimate(&guess, options).unwrap();
    let exact = LevenbergMarquardt { iterations: 60, gradient: 0.0, step: 0.0, ..Default::default() };
    let c = explicit.estimate_explicitly(&guess, exact).unwrap();
    let mut worst = [0.0f64; 2];
    for (i, x) in a.parameters.iter().enumerate() {
        for (worst, other) in worst.iter_mut().zip([&b.parameters[i], &c.parameters[i]]) {
            let (value, deviation) = (x.value, x.deviation.unwrap());
            println!("{}: {value:e} {:e}, {deviation:e} {:e}", x.name, other.value, other.deviation.unwrap());
            *worst = worst.max((other.value - value).abs() / value.abs().max(deviation));
            assert!((other.deviation.unwrap() / deviation - 1.0).abs() < 1e-6, "{}", x.name);
        }
    }
    println!("recursion {:e}, Levenberg-Marquardt {:e} off the implicit form", worst[0], worst[1]);
    println!(
        "{} {} {} iterations, {} {} {}",
        a.iterations, b.iterations, c.iterations, a.converged, b.converged, c.converged
    );
    assert!(worst.iter().all(|w| *w < 1e-9), "{worst:?}");
    for other in [&b, &c] {
        assert!((other.cost() / a.cost() - 1.0).abs() < 1e-12, "{} {}", other.cost(), a.cost());
    }
    assert!(c.promised.is_some_and(|share| share < 1e-9), "{:?}", c.promised);
    a
}

/// The arrow's factor against faer's sparse Cholesky factor of the same normal equations.
#[test]
fn steps_are_those_of_a_sparse_cholesky_factor() {
    use faer::linalg::solvers::Solve;
    use faer::sparse::{SparseColMat, Triplet};

    let log = release(1.0, 0.01);
    let p = problem(&log, sought(), 1e-3, OutsideImpulses::Twice, DiscreteForm::Changes);
    let guess = p.guess(&log.angles).unwrap();
    let own: Vec<f64> = explicit_step(&p, &guess, 1e-3).unwrap().unwrap().concat();
    let equations = normal_equations(&p, &guess, 1e-3).unwrap();
    let n = equations.size;
    assert_eq!(n, own.len());
    let entries: Vec<_> = equations.entries.iter().map(|&(i, j, x)| Triplet::new(i, j, x)).collect();
    let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &entries).unwrap();
    let right = faer::Mat::from_fn(n, 1, |i, _| equations.right[i]);
    let other = matrix.sp_cholesky(faer::Side::Lower).unwrap().solve(&right);
    let size = own.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let apart = own.iter().enumerate().fold(0.0f64, |m, (i, x)| m.max((x - other[(i, 0)]).abs()));
    println!("{n} unknowns, steps of {size:e}, {apart:e} apart");
    assert!(size > 0.0 && apart < 1e-9 * size, "{apart} of {size}");
}

#[test]
fn a_step_that_damping_made_short_is_not_the_end() {
    let log = release(1.0, 0.01);
    let p = problem(&log, sought(), 1e-3, OutsideImpulses::Twice, DiscreteForm::Changes);
    let guess = p.guess(&log.angles).unwrap();
    let exact = LevenbergMarquardt { iterations: 200, gradient: 0.0, step: 1e-13, ..Default::default() };
    let least = p.estimate_explicitly(&guess, exact).unwrap();
    assert!(least.converged);
    // So much damping that the first steps are far below the tolerance.
    let damped = LevenbergMarquardt { damping: 1e6, step: 1e-3, ..exact };
    let e = p.estimate_explicitly(&guess, damped).unwrap();
    println!("{} iterations, {:e} beside {:e}", e.iterations, e.cost(), least.cost());
    assert!(e.converged && e.iterations > 3);
    assert!((e.cost() / least.cost() - 1.0).abs() < 1e-8, "{} {}", e.cost(), least.cost());
    let few = LevenbergMarquardt { iterations: 2, ..damped };
    assert!(!p.estimate_explicitly(&guess, few).unwrap().converged);
}

/// From compliance 1e-5 on the implicit form's estimates stay, where those of the paper's iteration do not come to an end.
#[test]
fn stiff_rows_do_not_spoil_the_implicit_form() {
    let log = release(4.0, 0.01);
    let options = SolverOptions { parallel: false, tolerance: 1e-10, iterations: 60, ..Default::default() };
    let estimate = |compliance: f64| {
        let p = problem(&log, sought(), compliance, OutsideImpulses::Hinges, DiscreteForm::Impulses);
        p.estimate(&p.guess(&log.angles).unwrap(), options).unwrap()
    };
    let stiffest = estimate(1e-9);
    assert!(stiffest.converged);
    for compliance in [1e-5, 1e-6, 1e-7, 1e-8] {
        let e = estimate(compliance);
        for i in 0..2 {
            let (a, b) = (e.parameters[i].value, stiffest.parameters[i].value);
            println!("{compliance:e} {}: {a:e} {b:e}", e.parameters[i].name);
            assert!((a / b - 1.0).abs() < 1e-2, "{compliance}: {a} {b}");
        }
    }
}

#[test]
fn turning_about_gravity_is_named_as_unobservable() {
    let log = release(2.0, 0.01);
    let mut sought = sought();
    sought.extend((0..3).map(|i| SoughtParameter { scale: 0.01, ..SoughtParameter::new(P::Tilt(i), 0.0) }));
    let p = problem(&log, sought, 1e-4, OutsideImpulses::Hinges, DiscreteForm::Impulses);
    let options = SolverOptions { parallel: false, iterations: 60, ..Default::default() };
    let e = p.estimate(&p.guess(&log.angles).unwrap(), options).unwrap();
    assert_eq!(e.unobservable, ["turning the stand about gravity"]);
    assert!(e.parameter("tilt about y").unwrap().deviation.is_none());
}

/// Of a stand that is tilted far, gravity is tilted as well.
#[test]
fn turning_a_stand_that_is_tilted_far_is_named_too() {
    let mut mechanism = furuta(&FurutaNumbers { compliance: 1e-4, ..Default::default() });
    mechanism.tilt_rad = nalgebra::Vector3::new(0.4, 0.0, 0.2);
    let angles = [0.0, 2.0];
    let pose = mechanism.assemble(&angles).unwrap();
    let mut stepper = Stepper::new(mechanism.clone(), 0.01, &pose).unwrap();
    let mut state = DiscreteState { pose, velocity: vec![0.0; 12] };
    let mut log = EncoderLog { step_s: 0.01, ..Default::default() };
    let mut near = angles;
    for _ in 0..300 {
        near = [0, 1].map(|j| stepper.angle(&state, j, near[j]));
        log.angles.push(near.to_vec());
        log.controls.push(vec![0.0; 2]);
        stepper.step(&mut state, &[0.0; 2]).unwrap();
    }
    let tilt =
        |i: usize| SoughtParameter { scale: 0.01, ..SoughtParameter::new(P::Tilt(i), mechanism.tilt_rad[i]) };
    let sought = (0..3).map(tilt).collect();
    let weights = ResidualWeights { kappa: 10.0, angle_rad: 4.43e-4 };
    let p = DiscreteProblem::new(
        mechanism.clone(),
        log.clone(),
        sought,
        weights,
        OutsideImpulses::Hinges,
        DiscreteForm::Impulses,
    );
    let p = p.unwrap();
    let options = SolverOptions { parallel: false, iterations: 60, ..Default::default() };
    let e = p.estimate(&p.guess(&log.angles).unwrap(), options).unwrap();
    assert_eq!(e.unobservable, ["turning the stand about gravity"]);
}

#[test]
fn what_cannot_be_estimated_is_refused_by_name() {
    let log = release(0.1, 0.01);
    let refused =
        |log: EncoderLog, sought: Vec<SoughtParameter>, kappa: f64, compliance: f64, form: DiscreteForm| {
            let mechanism = furuta(&FurutaNumbers { compliance, ..Default::default() });
            let weights = ResidualWeights { kappa, angle_rad: 1e-3 };
            DiscreteProblem::new(mechanism, log, sought, weights, OutsideImpulses::Twice, form)
                .unwrap_err()
                .to_string()
        };
    let form = DiscreteForm::Impulses;
    assert!(refused(log.clone(), sought(), f64::NAN, 1e-4, form).contains("kappa"));
    assert!(refused(log.clone(), sought(), 1.0, 0.0, DiscreteForm::Changes).contains("compliance"));
    let mut twice = sought();
    twice.push(twice[0]);
    assert!(refused(log.clone(), twice, 1.0, 1e-4, form).contains("twice"));
    let dry = vec![SoughtParameter::new(P::Kinetic(0), 1e-3)];
    assert!(refused(log.clone(), dry, 1.0, 1e-4, form).contains("none that the mechanism has"));
    let below = vec![SoughtParameter::new(P::Viscous(0), -1.0)];
    assert!(refused(log.clone(), below, 1.0, 1e-4, form).contains("viscous friction of hinge 1"));
    let mut short = log.clone();
    short.angles[3].pop();
    assert!(refused(short, sought(), 1.0, 1e-4, form).contains("sample 3"));
    let mut wild = log.clone();
    wild.controls[2][0] = f64::INFINITY;
    assert!(refused(wild, sought(), 1.0, 1e-4, form).contains("sample 2"));
    let mut blind = log;
    blind.angles.iter_mut().for_each(|a| a[1] = f64::NAN);
    assert!(refused(blind, sought(), 1.0, 1e-4, form).contains("hinge 2 is never read"));
}

#[test]
fn an_encoder_that_wraps_is_made_continuous_or_told() {
    use super::observe::{unwrapped, wrapped};
    let angles: Vec<f64> = (0..100).map(|k| 0.3 * f64::from(k)).collect();
    let read: Vec<f64> = angles.iter().map(|a| wrapped(*a)).collect();
    let out = unwrapped(&read).unwrap();
    assert!(out.iter().zip(&angles).all(|(a, b)| (a - b).abs() < 1e-12));
    assert_eq!(unwrapped(&[0.0, 0.1, 0.1 + 0.95 * PI]), Err(2));
    assert_eq!(unwrapped(&[0.0, f64::NAN]), Err(1));
}
