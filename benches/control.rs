//! One tick of the robust controller, which has 1 ms.

mod start;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use start::Start;
use surelift::certify::{MomentumProblem, MomentumStart};
use surelift::control::{Controller, Measured, MomentumController, MomentumPlan, RobustController};
use surelift::plan::tube_fit;
use surelift::reach::PreparedSet;
use surelift::reach::momentum::{CycleTiming, MomentumGains, MomentumTube};
use surelift::robot::Scene;
use surelift::trajectory::{Bezier, JointState};

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

/// The second law: its tick, and the proof of one motion of 3 s in 24 spans.
fn momentum(c: &mut Criterion) {
    let (start, _) = Start::load();
    let robot = &start.robot;
    let n = robot.dof();
    let set = Arc::new(PreparedSet::new(robot, start.identifier.set()));
    let end: Vec<f64> = start.rest.q.iter().map(|q| q + 0.3).collect();
    let curve = Bezier::to_rest(&JointState::at_rest(&start.rest.q), &end, 3.0).unwrap();
    let tube = MomentumTube {
        gains: MomentumGains { k_r: 6.0, kappa: 60.0 },
        timing: CycleTiming {
            period_s: 1e-3,
            latency_s: 5e-4,
            delay_s: 5e-4,
            jitter_s: 1e-4,
            drive_lag_s: 0.0,
        },
        robust_nm: vec![10.0; n],
        noise_nms: vec![0.05; n],
        lag_nms2: vec![0.05; n],
        sign_band_rad_s: vec![0.05; n],
        start: None,
    };
    let scene = Scene::default();
    let problem = MomentumProblem::new(robot, &set, &scene, &curve, MomentumStart::Rest).unwrap();
    c.bench_function("control/momentum_survey", |b| {
        b.iter(|| problem.survey(black_box(&tube), 24).unwrap().is_some());
    });
    let mut controller = MomentumController::new(
        robot.clone(),
        Arc::new(MomentumPlan { set: set.clone(), tube, curve: curve.clone().into() }),
    );
    let (dq, mut tau) = (vec![1e-3; n], vec![0.0; n]);
    c.bench_function("control/momentum_tick", |b| {
        b.iter(|| {
            controller.tick(black_box(0.0), black_box(Measured { q: &start.rest.q, dq: &dq }), &mut tau)
        });
    });
}

criterion_group!(benches, tick, momentum);
criterion_main!(benches);
