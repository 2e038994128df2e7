use nalgebra::{Rotation3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::certify::{Body, DETAIL_M};
use crate::enclose::Counted;
use crate::inertia::ParameterSet;
use crate::reach::fixture;
use crate::reach::links::clear_of_obstacle;
use crate::robot::clearance::to_zonotope;
use crate::robot::{Arm, Scene, Zonotope3, load};
use crate::trajectory::{Bezier, JointState};

const T: f64 = 2.0;

/// Turned boxes all over the arm's reach and beyond.
fn clutter(rng: &mut ChaCha8Rng, count: usize) -> Scene {
    let obstacle = |_| {
        let center = Vector3::from_fn(|_, _| rng.random_range(-2.0..2.0));
        let size = Vector3::from_fn(|_, _| rng.random_range(0.01..0.4));
        let turn = Rotation3::new(Vector3::from_fn(|_, _| rng.random_range(-2.0..2.0)));
        Zonotope3::cuboid("box", center, size, turn.matrix())
    };
    Scene { obstacles: (0..count).map(obstacle).collect() }
}

fn motion(robot: &Arm, rng: &mut ChaCha8Rng) -> Bezier {
    let n = robot.dof();
    let mut random = |size: f64| (0..n).map(|_| rng.random_range(-size..size)).collect::<Vec<f64>>();
    let start = JointState { q: random(2.0), dq: random(0.3), ddq: random(0.3) };
    let end: Vec<f64> = start.q.iter().zip(random(0.4)).map(|(q, step)| q + step).collect();
    Bezier::to_rest(&start, &end, T).unwrap()
}

#[test]
fn screening_changes_neither_verdict_nor_least_margin_and_no_bound_is_too_large() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let robot = load("kinova_gen3_2f85").unwrap();
    let set = ParameterSet::around_nominal(&robot);
    let tube = fixture::tube(&robot);
    let mut space = CellWorkspace::<16, Counted>::new(&robot);
    let mut report = CellReport::default();
    let (mut screened, mut exact, mut reached) = (0, 0, 0.0f64);
    for trial in 0..30 {
        // Some arms without pairs of their own: then obstacles alone decide.
        let mut robot = robot.clone();
        if trial % 2 == 0 {
            robot.pairs().clear();
        }
        let (scene, curve) = (clutter(&mut rng, [1, 5, 60][trial % 3]), motion(&robot, &mut rng));
        let problem = Problem::new(&robot, &set, &scene, &tube, &curve).unwrap();
        let t0 = rng.random_range(0.0..T - 0.1);
        let t1 = t0 + rng.random_range(0.01..0.1);
        report.fill(&problem, Span::Between(t0, t1), &mut space);

        let whole = |c: &ProvenClearance| match c.other {
            Body::Obstacle(k) => {
                let radius = robot.shapes()[c.shape].capsule.radius;
                clear_of_obstacle(&space.ends[c.shape], radius, &scene.obstacles[k], &mut vec![])
            }
            Body::Shape(_) => c.separation,
        };
        let all: Vec<f64> = report.clearances.iter().map(|c| whole(c).clearance_m).collect();
        let least = |values: &[f64]| {
            let order = (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b]));
            order.map(|i| (i, values[i]))
        };
        let bounds: Vec<f64> = report.clearances.iter().map(|c| c.separation.clearance_m).collect();
        assert_eq!(least(&bounds), least(&all));
        for (c, full) in report.clearances.iter().zip(&all) {
            let bound = c.separation.clearance_m;
            let same = bound == *full;
            (screened, exact) = (screened + usize::from(!same), exact + usize::from(same));
            assert!(same || bound > DETAIL_M, "{bound} for {full}");
        }
        // The truth: any time of the cell, any error of the tube's joints taken alone.
        for _ in 0..20 {
            let mut q = curve.state(rng.random_range(t0..=t1)).q;
            let j = rng.random_range(0..robot.dof());
            q[j] += rng.random_range(-1.0..=1.0) * tube.e_radius(j);
            let frames = robot.frames(&q);
            for c in &report.clearances {
                let Body::Obstacle(k) = c.other else { continue };
                let distance = to_zonotope(&robot.placed_capsule(c.shape, &frames), &scene.obstacles[k]);
                let bound = c.separation.clearance_m;
                assert!(bound <= distance + 1e-9, "{bound} for {distance}");
                if distance > 0.0 {
                    reached = reached.max(bound / distance);
                }
            }
        }
    }
    assert!(screened > 500 && exact > 200, "{screened} screened, {exact} exact");
    assert!(reached > 0.999, "bounds are within {reached} of the truth: the test attacks nothing");
}
