//! A swing-up of the Furuta pendulum, 10 s in steps of 10 ms, 13 parameters, on one core: the minimisation, and the whole estimate with its deviations. And one
//! cost (changes of states as unknowns), minimised by the recursion over stages and by Levenberg and Marquardt's method, whose normal equations are arrow-banded: their
//! own factor against faer's sparse one. And steps with dry friction, by sign states and by Lemke's method.

use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};
use surelift::discrete::explicit::{
    LevenbergMarquardt, NormalEquations, explicit_step, levenberg_marquardt, normal_equations,
};
use surelift::discrete::mechanism::{DryFriction, HeldJointKind};
use surelift::discrete::{DiscreteForm, DiscreteProblem, DiscreteState, Mechanism, OutsideImpulses, Stepper};
use surelift::estimate::{Solver, SolverOptions};
use surelift::study::mechanism::MechanismStudy;

/// Damping of the steps that are compared.
const DAMPING: f64 = 1e-3;

fn study() -> MechanismStudy {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/estimation");
    MechanismStudy::load(folder.join("furuta_swing_up.toml")).unwrap()
}

fn stated(study: &MechanismStudy, impulses: OutsideImpulses, form: DiscreteForm) -> DiscreteProblem {
    let (log, sought) = (study.log.clone(), study.sought.clone());
    DiscreteProblem::new(study.mechanism.clone(), log, sought, study.weights, impulses, form).unwrap()
}

/// The normal equations as faer takes them.
struct Sparse {
    matrix: SparseColMat<usize, f64>,
    right: Mat<f64>,
}

impl Sparse {
    fn new(equations: &NormalEquations) -> Self {
        let n = equations.size;
        let entries: Vec<_> = equations.entries.iter().map(|&(i, j, x)| Triplet::new(i, j, x)).collect();
        let matrix = SparseColMat::try_new_from_triplets(n, n, &entries).unwrap();
        Self { matrix, right: Mat::from_fn(n, 1, |i, _| equations.right[i]) }
    }

    fn solve(&self) -> Mat<f64> {
        self.matrix.sp_cholesky(Side::Lower).unwrap().solve(&self.right)
    }
}

fn swing_up(c: &mut Criterion) {
    let study = study();
    let options = SolverOptions { parallel: false, ..study.options };
    let whole = stated(&study, OutsideImpulses::Hinges, DiscreteForm::Impulses);
    let mut group = c.benchmark_group("swing_up");
    group.sample_size(10);
    let guess = whole.guess(&study.guess).unwrap();
    group.bench_function("minimum", |b| {
        b.iter(|| Solver::new(&whole, options).unwrap().solve(&guess).unwrap())
    });
    group.bench_function("estimate", |b| b.iter(|| whole.estimate(&guess, options).unwrap()));
    let changes = stated(&study, OutsideImpulses::Twice, DiscreteForm::Changes);
    let guess = changes.guess(&study.guess).unwrap();
    group.bench_function("changes/recursion", |b| {
        b.iter(|| Solver::new(&changes, options).unwrap().solve(&guess).unwrap())
    });
    let exact = LevenbergMarquardt { gradient: 0.0, ..LevenbergMarquardt::default() };
    group.bench_function("changes/levenberg_marquardt", |b| {
        b.iter(|| levenberg_marquardt(&changes, &guess, exact).unwrap())
    });
    group.finish();
}

/// One step of one cost at the guess: linearised, factored, solved.
fn step(c: &mut Criterion) {
    let study = study();
    let changes = stated(&study, OutsideImpulses::Twice, DiscreteForm::Changes);
    let guess = changes.guess(&study.guess).unwrap();
    let mut group = c.benchmark_group("step");
    group.sample_size(10);
    // The trial of the step is in it.
    let one = SolverOptions { parallel: false, iterations: 1, ..study.options };
    group.bench_function("recursion", |b| {
        b.iter(|| Solver::new(&changes, one).unwrap().solve(&guess).unwrap())
    });
    group.bench_function("arrow", |b| b.iter(|| explicit_step(&changes, &guess, DAMPING).unwrap().unwrap()));
    let sparse = || Sparse::new(&normal_equations(&changes, &guess, DAMPING).unwrap());
    group.bench_function("faer", |b| b.iter(|| sparse().solve()));
    group.bench_function("normal_equations", |b| {
        b.iter(|| normal_equations(&changes, &guess, DAMPING).unwrap())
    });
    let whole = sparse();
    let symbolic = SymbolicLlt::try_new(whole.matrix.symbolic(), Side::Lower).unwrap();
    group.bench_function("faer/factor", |b| {
        b.iter(|| Llt::try_new_with_symbolic(symbolic.clone(), whole.matrix.as_ref(), Side::Lower).unwrap())
    });
    group.finish();
}

/// Interval of the steps with dry friction, s.
const DRY_STEP_S: f64 = 1e-3;
/// How many there are.
const DRY_STEPS: usize = 2000;

/// The mechanism of a problem, dry friction in all of its hinges.
fn dry(problem: &str, kinetic: f64) -> Mechanism {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/estimation");
    let mut mechanism = MechanismStudy::load(folder.join(problem)).unwrap().mechanism;
    for joint in &mut mechanism.joints {
        if let HeldJointKind::Hinge { dry, .. } = &mut joint.kind {
            *dry = Some(DryFriction { kinetic, radius_m: 0.1, ..Default::default() });
        }
    }
    mechanism
}

/// The same 2000 steps of 1 ms, from the states of a motion that slides, sticks and turns back, by either method.
fn friction(c: &mut Criterion) {
    let mut group = c.benchmark_group("friction");
    group.sample_size(10);
    for (name, problem, start) in [
        ("furuta", "furuta_release.toml", [0.0, 3.0]),
        ("double_pendulum", "double_pendulum_maximal.toml", [1.5, 1.0]),
    ] {
        let mechanism = dry(problem, 0.02);
        let pose = mechanism.assemble(&start).unwrap();
        let mut state = DiscreteState { velocity: vec![0.0; mechanism.freedoms()], pose };
        let mut stepper = Stepper::new(mechanism, DRY_STEP_S, &state.pose).unwrap();
        let mut states = vec![];
        let (mut largest, mut still) = (0.0f64, 0);
        for _ in 0..DRY_STEPS {
            states.push(state.clone());
            stepper.step(&mut state, &[0.0; 2]).unwrap();
            let mut judged = states[states.len() - 1].clone();
            stepper.clone().step_by_lemke(&mut judged, &[0.0; 2]).unwrap();
            let pairs = judged.velocity.iter().zip(&state.velocity);
            largest = pairs.fold(largest, |m, (a, b)| m.max((a - b).abs()));
            still += usize::from((0..2).any(|j| stepper.rate(&state, j).abs() < 1e-9));
        }
        println!(
            "{name}: {still} of {DRY_STEPS} steps with a hinge that sticks; velocities {largest:e} apart"
        );
        assert!(largest < 1e-8);
        let mut run = |by: &str, step: &dyn Fn(&mut Stepper, &mut DiscreteState)| {
            group.bench_function(format!("{name}/{by}"), |b| {
                b.iter(|| {
                    for from in &states {
                        state.clone_from(from);
                        step(&mut stepper, &mut state);
                    }
                })
            });
        };
        run("sign_states", &|stepper, state| stepper.step(state, &[0.0; 2]).unwrap());
        run("lemke", &|stepper, state| stepper.step_by_lemke(state, &[0.0; 2]).unwrap());
    }
    group.finish();
}

criterion_group!(benches, swing_up, step, friction);
criterion_main!(benches);
