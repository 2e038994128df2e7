//! A swing-up of the Furuta pendulum, 10 s in steps of 10 ms, 13 parameters, on one core: the minimisation, and the whole estimate with its deviations. And one
//! iteration of one cost (changes of states as unknowns): the recursion over stages against the Cholesky factor of the arrow-banded normal equations.

use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use surelift::discrete::explicit::{LevenbergMarquardt, levenberg_marquardt};
use surelift::discrete::{DiscreteForm, DiscreteProblem, OutsideImpulses};
use surelift::estimate::{Solver, SolverOptions};
use surelift::study::mechanism::MechanismStudy;

fn swing_up(c: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/estimation");
    let study = MechanismStudy::load(folder.join("furuta_swing_up.toml")).unwrap();
    let stated = |impulses, form| {
        let (log, sought) = (study.log.clone(), study.sought.clone());
        DiscreteProblem::new(study.mechanism.clone(), log, sought, study.weights, impulses, form).unwrap()
    };
    let options = SolverOptions { parallel: false, ..study.options };
    let whole = stated(OutsideImpulses::Hinges, DiscreteForm::Impulses);
    let mut group = c.benchmark_group("swing_up");
    group.sample_size(10);
    let guess = whole.guess(&study.guess).unwrap();
    group.bench_function("minimum", |b| {
        b.iter(|| Solver::new(&whole, options).unwrap().solve(&guess).unwrap())
    });
    group.bench_function("estimate", |b| b.iter(|| whole.estimate(&guess, options).unwrap()));
    let changes = stated(OutsideImpulses::Twice, DiscreteForm::Changes);
    let guess = changes.guess(&study.guess).unwrap();
    let one = SolverOptions { iterations: 1, ..options };
    group.bench_function("iteration/recursion", |b| {
        b.iter(|| Solver::new(&changes, one).unwrap().solve(&guess).unwrap())
    });
    let one = LevenbergMarquardt { iterations: 1, ..LevenbergMarquardt::default() };
    group.bench_function("iteration/cholesky", |b| {
        b.iter(|| levenberg_marquardt(&changes, &guess, one).unwrap())
    });
    group.finish();
}

criterion_group!(benches, swing_up);
criterion_main!(benches);
