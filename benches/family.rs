//! Sets over all of K: 64 intervals of a family of trajectories of the Gen3, on all cores. And what a planner pays for one end
//! point instead: the certifier's survey, and the rows of its program (on one core), which is what sets over K could spare it.

use std::f64::consts::PI;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use rayon::prelude::*;
use surelift::certify::Problem;
use surelift::family::polynomial_sets::PolynomialSets;
use surelift::family::{FamilySets, TrajectoryFamily};
use surelift::inertia::ParameterSet;
use surelift::plan::rows::RowBuilder;
use surelift::plan::tube_fit;
use surelift::reach::PreparedSet;
use surelift::robot::{self, Scene};
use surelift::trajectory::{Bezier, JointState};

const INTERVALS: usize = 64;

fn sets(c: &mut Criterion) {
    let robot = robot::load("robots/kinova_gen3_2f85.toml").expect("the robot ships");
    let set = ParameterSet::around_nominal(&robot);
    let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
    let mid = Bezier::to_rest(&start, &[0.2, 0.4, 3.0, -1.7, 0.1, 0.6, 1.4], 3.0).expect("a curve");
    let tube = tube_fit::fit(&robot, &set, &mid, &tube_fit::initial(&robot), 16).expect("a tube");
    let family = TrajectoryFamily::new(mid.clone(), vec![PI / 24.0; 7]).expect("a reach a joint");
    let span = |i: usize| (3.0 * i as f64 / INTERVALS as f64, 3.0 * (i + 1) as f64 / INTERVALS as f64);

    let mut group = c.benchmark_group("family");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(3));
    group.bench_function("affine_64", |b| {
        b.iter(|| {
            let prepared = PreparedSet::new(&robot, &set);
            let one = |i| FamilySets::<24>::new(&robot, &prepared, &tube, &family, span(i));
            black_box((0..INTERVALS).into_par_iter().map(one).collect::<Vec<_>>())
        });
    });
    group.bench_function("polynomials_64", |b| {
        b.iter(|| {
            let one = |i| PolynomialSets::<40, 2>::new(&robot, &set, &tube, &family, span(i));
            black_box((0..INTERVALS).into_par_iter().map(one).collect::<Vec<_>>())
        });
    });
    let scene = Scene::default();
    let problem = Problem::new(&robot, &set, &scene, &tube, &mid).expect("a problem that the proof covers");
    group.bench_function("survey_64", |b| b.iter(|| black_box(problem.survey(INTERVALS))));
    let (reports, mut builder) =
        (problem.survey(INTERVALS), RowBuilder::new(&robot, &PreparedSet::new(&robot, &set)));
    let mut rows = Vec::new();
    group.bench_function("rows_64", |b| {
        b.iter(|| {
            rows.clear();
            for cell in reports.iter().enumerate() {
                builder.append(&robot, cell, &mid, &[PI / 24.0; 7], &mut rows);
            }
            black_box(rows.len())
        });
    });
    group.finish();
}

criterion_group!(benches, sets);
criterion_main!(benches);
