//! One update of the payload's set from t_p = 1.5 s of measurements of the simulated arm: 15 windows of 100 ms. The first one, and
//! one after 10.5 s, when as many rows are kept as ever; and the strips along a coming motion after that. And the
//! regressors of all links over 7.5 s at 4 kHz, in windows of 100 ms, on plain numbers. And the base parameters of a tall regressor, beside
//! column-pivoted factors of the whole by nalgebra and by faer.

mod start;

use std::time::Duration;

use criterion::{BatchSize, Criterion, SamplingMode, criterion_group, criterion_main};
use nalgebra::DMatrix;
use start::Start;
use surelift::control::{Controller, Measured, RobustController};
use surelift::horizon::Reading;
use surelift::identify::Identifier;
use surelift::recording::Sample;
use surelift::regression::balance::window_regressor;
use surelift::regression::base::BaseParameters;
use surelift::regression::foresee;
use surelift::regression::inverse::Regressor;
use surelift::robot::{Gains, load};
use surelift::simulate::{TrackingReference, World};
use surelift::trajectory::{Bezier, JointState};

/// Executes the first exciting trajectory for t_p and hands every tick's measurements to `take`.
fn execute(mut take: impl FnMut(Sample), start: &Start, mut world: World) {
    let robot = &start.robot;
    let n = robot.dof();
    let plan = start.exciting();
    let set = start.identifier.set();
    let radius = |of: &dyn Fn(usize) -> f64| (0..n).map(of).collect::<Vec<f64>>();
    let e_radius = radius(&|j| plan.tube.e_radius(j));
    let r_radius = radius(&|j| plan.tube.r_radius(j));
    let mut controller = RobustController::new(robot.clone(), set, &plan.tube);
    let mut desired = JointState::at_rest(&vec![0.0; n]);
    let mut reading = Reading { t: 0.0, q: vec![0.0; n], dq: vec![0.0; n] };
    let (mut tau, mut measured) = (vec![0.0; n], vec![0.0; n]);
    let ticks = (start.task.timing.t_p_s / robot.gains().period_s).round() as usize;
    for k in 0..=ticks {
        let t = k as f64 * robot.gains().period_s;
        plan.curve.evaluate(t, &mut desired);
        world.read(&mut reading);
        controller.tick(t, Measured { q: &reading.q, dq: &reading.dq }, &desired, &mut tau);
        let k_r = plan.tube.gains.k_r;
        let reference = TrackingReference {
            curve: (&plan.curve).into(),
            t,
            k_r,
            e_radius: &e_radius,
            r_radius: &r_radius,
        };
        world.advance(&tau, Some(reference), &mut measured);
        take(Sample { t: reading.t, q: reading.q.clone(), dq: reading.dq.clone(), tau: measured.clone() });
    }
}

fn update(c: &mut Criterion) {
    let (start, truth) = Start::load();
    let world = World::new(start.robot.clone(), start.task.scene.clone(), &start.task.start, truth, 0);
    let mut first = start.identifier.clone();
    let mut samples = Vec::new();
    execute(|sample| samples.push(sample), &start, world);
    let feed = |identifier: &mut Identifier, late: f64| {
        identifier.interrupt();
        for sample in &samples {
            let sample = Sample { t: sample.t + late, ..sample.clone() };
            identifier.push(sample).expect("measurements in order");
        }
    };
    feed(&mut first, 0.0);
    // The same motion again and again: what it costs is the number of rows, not what they say.
    let mut later = first.clone();
    for k in 1..8 {
        later.update().expect("the truth explains the measurements");
        feed(&mut later, 2.0 * f64::from(k));
    }
    let mut settled = later.clone();
    settled.update().expect("the truth explains the measurements");
    let end: Vec<f64> = start.rest.q.iter().map(|q| q + 0.6).collect();
    let curve = Bezier::to_rest(&start.rest, &end, start.task.timing.t_f_s).expect("a curve");
    let (times, rows) = foresee::torque_rows(&start.robot, &curve);

    let mut group = c.benchmark_group("identify");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(5));
    for (name, identifier) in [("update", &first), ("later_update", &later)] {
        group.bench_function(name, |b| {
            b.iter_batched(
                || identifier.clone(),
                |mut identifier| identifier.update().expect("the truth explains the measurements"),
                BatchSize::PerIteration,
            );
        });
    }
    group.bench_function("strips", |b| {
        b.iter_batched(
            || settled.clone(),
            |mut identifier| identifier.torque_strips(times.clone(), &rows).expect("there is a truth"),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn regressors(c: &mut Criterion) {
    let (start, _) = Start::load();
    let gains = Gains { period_s: 2.5e-4, ..start.robot.gains() };
    let robot = start.robot.with_gains(gains).unwrap();
    let n = robot.dof();
    let sample = |k: u32| {
        let t = 2.5e-4 * f64::from(k);
        let wave = |j: usize| (0.3 + 0.2 * j as f64, 0.6 + 0.1 * j as f64);
        let q = (0..n).map(|j| wave(j).0 * (wave(j).1 * t).sin()).collect();
        let dq = (0..n).map(|j| wave(j).0 * wave(j).1 * (wave(j).1 * t).cos()).collect();
        Sample { t, q, dq, tau: vec![0.0; n] }
    };
    let samples: Vec<Sample> = (0..=30_000).map(sample).collect();
    let mut group = c.benchmark_group("identify");
    group.sample_size(20).sampling_mode(SamplingMode::Flat);
    group.bench_function("regressors_4khz", |b| {
        b.iter(|| window_regressor(&robot, std::hint::black_box(&samples), 400, 0..n));
    });
    group.finish();
}

/// A regressor of all joints' parameters in 3000 random states: 21,000 rows, 98 columns.
fn tall_regressor() -> DMatrix<f64> {
    let robot = load("kinova_gen3").unwrap();
    let (n, states) = (robot.dof(), 3000);
    let (mut regressor, mut y) = (Regressor::new(&robot), DMatrix::zeros(n, robot.parameter_count()));
    let mut all = DMatrix::zeros(n * states, robot.parameter_count());
    for s in 0..states {
        let wave = |size: f64, speed: f64| -> Vec<f64> {
            (0..n).map(|j| size * (speed * (1.0 + 0.37 * j as f64) * s as f64).sin()).collect()
        };
        regressor.write(&wave(3.0, 0.71), &wave(2.0, 1.13), &wave(5.0, 1.57), &mut y);
        all.rows_mut(n * s, n).copy_from(&y);
    }
    all
}

fn base_parameters(c: &mut Criterion) {
    let tall = tall_regressor();
    let columns = tall.ncols();
    let same = faer::Mat::from_fn(tall.nrows(), columns, |r, c| tall[(r, c)]);
    // Threads would make the comparison one of schedulers.
    faer::set_global_parallelism(faer::Par::Seq);
    let mut group = c.benchmark_group("base_parameters");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.bench_function("ours", |b| b.iter(|| BaseParameters::of(&tall.clone().qr().r())));
    group.bench_function("nalgebra/qr", |b| b.iter(|| tall.clone().qr().r()));
    group.bench_function("nalgebra/pivoted", |b| b.iter(|| tall.clone().col_piv_qr().r()));
    group.bench_function("faer/qr", |b| b.iter(|| same.qr().R().to_owned()));
    group.bench_function("faer/pivoted", |b| b.iter(|| same.col_piv_qr().R().to_owned()));
    group.finish();
}

criterion_group!(benches, base_parameters, update, regressors);
criterion_main!(benches);
