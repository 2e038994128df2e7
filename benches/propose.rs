//! One proposal of the planner with its full number of evaluations and no deadline.

mod start;

use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use start::Start;
use surelift::plan::propose::{Purpose, propose};

fn proposals(c: &mut Criterion) {
    let (start, _) = Start::load();
    let mut group = c.benchmark_group("propose");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(5));

    group.bench_function("exciting", |b| b.iter(|| start.exciting()));

    // A way-point on the way to the goal, as far as one trajectory reaches.
    let reach = &start.task.carry.range_rad;
    let ways = start.task.goal.iter().zip(&start.rest.q).zip(reach);
    let target: Vec<f64> = ways.map(|((goal, q), r)| q + 0.5 * (goal - q).clamp(-r, *r)).collect();
    group.bench_function("approach", |b| {
        b.iter(|| propose(&start.setting(reach), Purpose::Approach(&target)).is_ok());
    });
    group.finish();
}

criterion_group!(benches, proposals);
criterion_main!(benches);
