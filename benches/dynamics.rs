//! Rigid-body algorithms of the Kinova Gen3 with its gripper on plain numbers.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use surelift::dynamics::{Composites, Motion, Wrench, crba, rnea, torque_regressor};
use surelift::robot::INERTIAL;

fn dynamics(c: &mut Criterion) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
    let robot = surelift::robot::load(path).expect("the robot ships");
    let n = robot.dof();
    let theta = robot.nominal_parameters();
    let wave = |phase: f64| (0..n).map(|j| (phase + j as f64).sin()).collect::<Vec<f64>>();
    let (q, dq, ddq) = (wave(0.3), wave(1.1), wave(2.7));
    let mut motion = Motion::new(&robot);
    let mut tau = vec![0.0; n];

    let mut wrenches = vec![Wrench::zero(); n];
    c.bench_function("dynamics/rnea", |b| {
        b.iter(|| {
            motion.sweep(&robot, black_box(&q), &dq, &dq, &ddq);
            rnea(&robot, &motion, &theta, &mut wrenches, &mut tau);
            tau[0]
        });
    });

    let mut y = vec![0.0; n * INERTIAL * n];
    c.bench_function("dynamics/torque_regressor", |b| {
        b.iter(|| {
            motion.sweep(&robot, black_box(&q), &dq, &dq, &ddq);
            torque_regressor(&robot, &motion, 0..n, &mut y);
            y[0]
        });
    });

    let mut composites = Composites::new(&robot);
    let mut mass = vec![0.0; n * n];
    c.bench_function("dynamics/crba", |b| {
        b.iter(|| {
            motion.place(&robot, black_box(&q));
            crba(&robot, &motion, &theta, &mut composites, &mut mass);
            mass[0]
        });
    });
}

criterion_group!(benches, dynamics);
criterion_main!(benches);
