//! Cost of a plan against the number of obstacles around the arm.
//!
//! Small boxes are drawn with a fixed seed from all over the arm's reach; those that come close to the motion are drawn
//! again, so that the motion stays the same and only the work grows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use nalgebra::{Matrix3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use surelift::certify::{Partition, Problem, Start, certify};
use surelift::plan::decision::EndPoints;
use surelift::plan::propose::{Purpose, Setting, propose};
use surelift::plan::vicinity::Vicinity;
use surelift::reach::PreparedSet;
use surelift::robot::{Arm, Scene, Zonotope3};
use surelift::scenario::Scenario;
use surelift::trajectory::JointState;

/// Half the side of the cube from which centres are drawn, m.
const SPACE_M: f64 = 1.2;
/// Distance that the boxes keep from the way, m.
const KEEP_M: f64 = 0.1;

/// `count` boxes, none nearer than [`KEEP_M`] to the arm on the straight way from `start` to `end`.
fn scene(robot: &Arm, start: &[f64], end: &[f64], count: usize) -> Scene {
    let mut draw = ChaCha8Rng::seed_from_u64(count as u64);
    let on_the_way: Vec<_> = (0..=20)
        .map(|i| f64::from(i) / 20.0)
        .map(|s| start.iter().zip(end).map(|(a, b)| a + s * (b - a)).collect::<Vec<f64>>())
        .map(|q| robot.frames(&q))
        .collect();
    let mut scene = Scene::default();
    while scene.obstacles.len() < count {
        let center = Vector3::from_fn(|_, _| draw.random_range(-SPACE_M..SPACE_M));
        let size = Vector3::from_fn(|_, _| draw.random_range(0.02..0.2));
        let obstacle = Zonotope3::cuboid("box", center, size, &Matrix3::identity());
        let alone = Scene { obstacles: vec![obstacle.clone()] };
        let clear = |frames| robot.obstacle_clearance(frames, &alone).is_none_or(|c| c.distance > KEEP_M);
        if on_the_way.iter().all(|frames| clear(frames)) {
            scene.obstacles.push(obstacle);
        }
    }
    scene
}

fn crowds(c: &mut Criterion) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
    let (file, world) = (format!("{folder}/armour_world.toml"), format!("{folder}/worlds/open.csv"));
    let task = Scenario::load_in_world(file, world).expect("the scenario ships").split().0;
    let (robot, set, rest) = (&task.robot, task.prior_set().unwrap(), JointState::at_rest(&task.start));
    let prepared = Arc::new(PreparedSet::new(robot, &set));
    let target: Vec<f64> = task.start.iter().map(|q| q + 0.1).collect();
    let mut group = c.benchmark_group("obstacles");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(3));
    for count in [0, 10, 25, 50, 100, 200] {
        let scene = scene(robot, &task.start, &target, count);
        let setting = Setting {
            robot,
            set: &prepared,
            scene: &scene,
            start: &rest,
            duration_s: task.timing.t_f_s,
            reach: &task.carry.range_rad,
            warm: None,
            held: None,
            growth_max_m: None,
            seed: 1,
            deadline: Instant::now() + Duration::from_secs(3600),
        };
        let proposal = propose(&setting, Purpose::Approach(&target)).expect("the way is free");
        let problem = Problem::new(robot, &set, &scene, &proposal.tube, &proposal.curve)
            .expect("a proposal is a well-posed problem");
        group.bench_function(BenchmarkId::new("propose", count), |b| {
            b.iter(|| propose(&setting, Purpose::Approach(&target)).is_ok());
        });
        // What it costs to leave out those that no end point leads to.
        let ends =
            EndPoints::within_limits(robot, &rest, &task.carry.range_rad).expect("a start within limits");
        let mut vicinity = Vicinity::new(robot);
        group.bench_function(BenchmarkId::new("look", count), |b| b.iter(|| vicinity.look(&setting, &ends)));
        group.bench_function(BenchmarkId::new("certify", count), |b| {
            b.iter(|| certify(&problem, &Start::Rest, Partition::default()).is_ok());
        });
    }
    group.finish();
}

criterion_group!(benches, crowds);
criterion_main!(benches);
