//! One tick of the robust controller, which has 1 ms.

mod start;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use start::Start;
use surelift::control::{Controller, Measured, RobustController};
use surelift::plan::tube_fit;
use surelift::trajectory::JointState;

fn tick(c: &mut Criterion) {
    let (start, _) = Start::load();
    let robot = &start.robot;
    let mut controller =
        RobustController::new(robot.clone(), start.identifier.set(), &tube_fit::initial(robot));
    let moving = |x: &[f64], by: f64| x.iter().map(|x| x + by).collect::<Vec<f64>>();
    let q = moving(&start.rest.q, 1e-3);
    let dq = moving(&start.rest.dq, 0.2);
    let desired = JointState { dq: moving(&dq, 1e-3), ..start.rest.clone() };
    let mut tau = vec![0.0; robot.dof()];
    c.bench_function("control/robust_tick", |b| {
        b.iter(|| {
            controller.tick(black_box(1.0), black_box(Measured { q: &q, dq: &dq }), &desired, &mut tau)
        });
    });
}

criterion_group!(benches, tick);
criterion_main!(benches);
