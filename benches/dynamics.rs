//! Rigid-body algorithms on plain numbers: arms, a quadruped, and a quadruped that carries an arm.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use surelift::dynamics::{ForwardDerivatives, InverseDerivatives, Workspace, torque_regressor};
use surelift::inertia::INERTIAL;
use surelift::robot::{Model, configuration};

mod by_hand;

/// A state away from anything special.
fn state(robot: &Model) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let wave = |phase: f64| (0..robot.nv()).map(|j| (phase + j as f64).sin()).collect::<Vec<f64>>();
    let mut q = vec![0.0; robot.nq()];
    configuration::integrate(robot, &configuration::neutral(robot), &wave(0.3), &mut q);
    (q, wave(1.1), wave(2.7))
}

fn dynamics(c: &mut Criterion) {
    for name in ["kinova_gen3_2f85", "z1", "go1", "b1_z1"] {
        let robot = surelift::robot::load_model(name).expect("the robot ships");
        measure(c, name, &robot);
        measure_derivatives(c, name, &robot);
    }
}

fn measure(c: &mut Criterion, name: &str, robot: &Model) {
    let (n, bodies) = (robot.nv(), robot.bodies());
    let theta = robot.nominal_parameters();
    let (q, v, a) = state(robot);
    let mut space = Workspace::new(robot);
    let mut tau = vec![0.0; n];
    let id = |what: &str| format!("{name}/{what}");

    c.bench_function(&id("rnea"), |b| {
        b.iter(|| {
            space.inverse_dynamics(robot, black_box(&q), &v, &a, &theta, &mut tau);
            tau[0]
        });
    });
    if !robot.has_free_flyer() {
        let mut copy = by_hand::Arm::new(robot);
        c.bench_function(&id("rnea_by_hand"), |b| {
            b.iter(|| {
                copy.rnea(black_box(&q), &v, &a, &theta, &mut tau);
                tau[0]
            });
        });
    }
    let mut mass = vec![0.0; n * n];
    c.bench_function(&id("crba"), |b| {
        b.iter(|| {
            space.mass_matrix(robot, black_box(&q), &theta, &mut mass);
            mass[0]
        });
    });
    let mut out = vec![0.0; n];
    c.bench_function(&id("aba"), |b| {
        b.iter(|| {
            space.forward_dynamics(robot, black_box(&q), &v, &a, &theta, &mut out);
            out[0]
        });
    });
    let mut motion = surelift::dynamics::Motion::new(robot);
    let mut y = vec![0.0; n * INERTIAL * bodies];
    c.bench_function(&id("torque_regressor"), |b| {
        b.iter(|| {
            motion.sweep_plain(robot, black_box(&q), &v, &a);
            torque_regressor(robot, &motion, 0..bodies, &mut y);
            y[0]
        });
    });
}

fn measure_derivatives(c: &mut Criterion, name: &str, robot: &Model) {
    let theta = robot.nominal_parameters();
    let (q, v, a) = state(robot);
    let mut space = Workspace::new(robot);
    let id = |what: &str| format!("{name}/{what}");

    let mut inverse = InverseDerivatives::new(robot);
    c.bench_function(&id("rnea_derivatives"), |b| {
        b.iter(|| {
            space.inverse_dynamics_derivatives(robot, black_box(&q), &v, &a, &theta, &mut inverse);
            inverse.by_q[0]
        });
    });
    let mut forward = ForwardDerivatives::new(robot);
    c.bench_function(&id("aba_derivatives"), |b| {
        b.iter(|| {
            space.forward_dynamics_derivatives(robot, black_box(&q), &v, &a, &theta, &mut forward);
            forward.by_q[0]
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(300));
    targets = dynamics
}
criterion_main!(benches);
