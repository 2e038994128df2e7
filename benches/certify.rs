//! The proof of one plan, and of one cell of its time.

mod start;

use criterion::{Criterion, criterion_group, criterion_main};
use start::Start;
use surelift::certify::{Partition, Problem, Workspaces, certify};
use surelift::enclose::Counted;
use surelift::reach::Span;

fn proofs(c: &mut Criterion) {
    let (start, _) = Start::load();
    let proposal = start.exciting();
    let problem = Problem::new(
        &start.robot,
        start.identifier.set(),
        &start.task.scene,
        &proposal.tube,
        &proposal.curve,
    )
    .expect("a proposal is a well-posed problem");
    // The exciting plan of the first slot.
    let (partition, from) = (Partition::default(), surelift::certify::Start::Rest);
    let workspaces = Workspaces::<Counted>::default();
    let certificate = certify(&problem, &from, partition).expect("the proposal was proven by the planner");
    println!("the plan takes {} cells", certificate.cells);

    let mut group = c.benchmark_group("certify");
    group.bench_function("cell", |b| b.iter(|| problem.report(Span::Between(0.5, 0.59375), &workspaces)));
    group.sample_size(10);
    group.bench_function("plan", |b| b.iter(|| certify(&problem, &from, partition).is_ok()));
    group.finish();
}

criterion_group!(benches, proofs);
criterion_main!(benches);
