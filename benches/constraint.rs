//! Constrained dynamics: Go1 on its four feet, Digit with its six loops closed.
//!
//! `cargo bench --bench constraint`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use surelift::dynamics::constraint::{Redundancy, Sensitivities};
use surelift::dynamics::{ConstrainedDynamics, Constraint, ForwardDerivatives, Workspace};
use surelift::robot::{self, LoopKind, Model, Placement, configuration};

fn robot(name: &str) -> Model {
    robot::load_model(name).expect("a robot that ships")
}

fn feet(robot: &Model) -> Vec<Constraint> {
    let frames = robot.named_frames.iter().enumerate().filter(|(_, f)| f.name.contains("foot"));
    frames.map(|(i, _)| Constraint::contact(robot, i, LoopKind::Point, Placement::identity())).collect()
}

fn measure(
    c: &mut Criterion,
    name: &str,
    robot: &Model,
    constraints: Vec<Constraint>,
    redundancy: Redundancy,
) {
    let n = robot.nv();
    let theta = robot.nominal_parameters();
    let wave = |phase: f64| (0..n).map(|j| 0.3 * (phase + j as f64).sin()).collect::<Vec<f64>>();
    let (v, tau) = (wave(1.1), wave(2.7));
    let mut q = vec![0.0; robot.nq()];
    configuration::integrate(robot, &configuration::neutral(robot), &wave(0.2), &mut q);
    let mut plain = Sensitivities::new(robot, &constraints, false);
    let mut full = Sensitivities::new(robot, &constraints, true);
    let mut dynamics =
        ConstrainedDynamics::new(robot, constraints, redundancy).expect("constraints that make sense");
    let mut group = c.benchmark_group(name);
    group.bench_function("forward", |b| {
        b.iter(|| dynamics.forward(robot, black_box(&q), &v, &tau, &theta));
    });
    group.bench_function("forward with derivatives to q, v, tau", |b| {
        b.iter(|| dynamics.forward_derivatives(robot, black_box(&q), &v, &tau, &theta, &mut plain));
    });
    group.bench_function("and to the inertial parameters", |b| {
        b.iter(|| dynamics.forward_derivatives(robot, black_box(&q), &v, &tau, &theta, &mut full));
    });
    group.bench_function("impact", |b| {
        b.iter(|| dynamics.impulse(robot, black_box(&q), &v, &theta));
    });
    group.bench_function("impact with derivatives", |b| {
        b.iter(|| dynamics.impulse_derivatives(robot, black_box(&q), &v, &theta, &mut plain));
    });
    let (mut space, mut free) = (Workspace::new(robot), ForwardDerivatives::new(robot));
    group.bench_function("for comparison, free forward dynamics with derivatives", |b| {
        b.iter(|| space.forward_dynamics_derivatives(robot, black_box(&q), &v, &tau, &theta, &mut free));
    });
    group.finish();
}

fn constrained(c: &mut Criterion) {
    let go1 = robot("go1");
    measure(c, "go1 on four feet", &go1, feet(&go1), Redundancy::Refuse);
    let digit = robot("digit");
    let loops = (0..digit.loops.len()).map(|i| Constraint::closure(&digit, i)).collect();
    measure(c, "digit with six loops", &digit, loops, Redundancy::Drop);
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(std::time::Duration::from_secs(1)).warm_up_time(std::time::Duration::from_millis(300));
    targets = constrained
}
criterion_main!(benches);
