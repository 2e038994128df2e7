use std::sync::Arc;
use std::time::Instant;

use nalgebra::{Matrix3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::certify::Problem;
use crate::dynamics::truth::extreme;
use crate::plan::fixture::{Task, gen3_in_the_open, z1_past_a_post};
use crate::reach::PreparedSet;
use crate::robot::clearance::to_zonotope;
use crate::trajectory::{Bezier, JointState};

/// The largest margin that the solver asks of a clearance, m.
const ASKED_M: f64 = 0.025;

fn arms() -> [Task; 2] {
    [gen3_in_the_open(), z1_past_a_post()]
}

/// Boxes, rotated ones, plates, rods and points from all over the arm's reach.
fn crowd(rng: &mut ChaCha8Rng) -> Scene {
    let one = |k: usize, rng: &mut ChaCha8Rng| {
        let mut vector = |size: f64| Vector3::from_fn(|_, _| rng.random_range(-size..=size));
        let center = vector(1.3);
        let generators = (0..k % 5).map(|_| vector(0.12)).collect();
        Zonotope3::still(format!("{k}"), center, generators)
    };
    Scene { obstacles: (0..FEW + 20).map(|k| one(k, rng)).collect() }
}

fn setting<'a>(
    task: &'a Task,
    (set, scene, start): (&'a Arc<PreparedSet>, &'a Scene, &'a JointState),
    reach: &'a [f64],
) -> Setting<'a> {
    Setting {
        robot: &task.robot,
        set,
        scene,
        start,
        duration_s: task.duration_s,
        reach,
        warm: None,
        held: None,
        growth_max_m: None,
        seed: 0,
        deadline: Instant::now(),
    }
}

fn away(start: &[f64], rng: &mut ChaCha8Rng) -> JointState {
    let mut around = |size: f64| start.iter().map(|_| rng.random_range(-size..=size)).collect::<Vec<f64>>();
    let (q, dq, ddq) = (around(0.5), around(0.3), around(1.0));
    JointState { q: q.iter().zip(start).map(|(a, b)| a + b).collect(), dq, ddq }
}

#[test]
fn what_is_left_out_is_never_near() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for task in arms() {
        let robot = &task.robot;
        let set = Arc::new(PreparedSet::new(robot, &task.set));
        let mut vicinity = Vicinity::new(robot);
        let (mut left_out, mut nearest) = (0, f64::INFINITY);
        for round in 0..12 {
            let scene = crowd(&mut rng);
            let start = away(&task.start, &mut rng);
            let reach = vec![[0.4, 0.1, 0.02][round % 3]; robot.dof()];
            let setting = setting(&task, (&set, &scene, &start), &reach);
            let ends = EndPoints::within_limits(robot, &start, &reach).unwrap();
            vicinity.look(&setting, &ends);
            let tube = tube_fit::initial(robot);
            let near = vicinity.scene(&tube, &scene);
            let far: Vec<&Zonotope3> =
                scene.obstacles.iter().filter(|o| !near.obstacles.contains(o)).collect();
            assert_eq!(far.len() + near.obstacles.len(), scene.obstacles.len());
            left_out += far.len();
            for _ in 0..60 {
                let k: Vec<f64> = ends.reach().iter().map(|_| extreme(&mut rng)).collect();
                let curve = Bezier::to_rest(&start, &ends.at(&k), setting.duration_s).unwrap();
                let t = setting.duration_s * 0.5 * (1.0 + extreme(&mut rng));
                // Errors of all joints at once: a point of the ellipsoid.
                let e: Vec<f64> = k.iter().map(|_| extreme(&mut rng)).collect();
                let length = e.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
                let desired = curve.state(t).q;
                let q: Vec<f64> =
                    desired.iter().enumerate().map(|(j, q)| q - e[j] / length * tube.e_radius(j)).collect();
                let frames = robot.frames(&q);
                for shape in (0..robot.shapes().len()).filter(|&s| robot.shapes()[s].joint.is_some()) {
                    let capsule = robot.placed_capsule(shape, &frames);
                    let least = far.iter().map(|o| to_zonotope(&capsule, o)).fold(f64::INFINITY, f64::min);
                    assert!(least > KEEP_M, "{shape} comes within {least} m");
                    nearest = nearest.min(least);
                }
            }
        }
        assert!(left_out > 12 * FEW / 4, "{left_out} left out: nothing is attacked");
        assert!(nearest < 0.1, "nothing left out is nearer than {nearest} m: the sets are loose");
    }
}

#[test]
fn no_row_of_what_is_left_out_is_active() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for task in arms() {
        let robot = &task.robot;
        let set = Arc::new(PreparedSet::new(robot, &task.set));
        let (scene, start) = (crowd(&mut rng), away(&task.start, &mut rng));
        let reach = vec![0.2; robot.dof()];
        let setting = setting(&task, (&set, &scene, &start), &reach);
        let ends = EndPoints::within_limits(robot, &start, &reach).unwrap();
        let mut vicinity = Vicinity::new(robot);
        vicinity.look(&setting, &ends);
        let tube = tube_fit::initial(robot);
        let kept = &vicinity.scene(&tube, &scene).obstacles;
        assert!(kept.len() < scene.obstacles.len());
        for _ in 0..4 {
            let k: Vec<f64> = ends.reach().iter().map(|_| extreme(&mut rng)).collect();
            let curve = Bezier::to_rest(&start, &ends.at(&k), setting.duration_s).unwrap();
            let problem = Problem::with_prepared(robot, &set, &scene, &tube, &curve).unwrap();
            for report in problem.survey(12) {
                for clearance in &report.clearances {
                    let Body::Obstacle(k) = clearance.other else { continue };
                    let margin = clearance.separation.clearance_m;
                    assert!(margin > ASKED_M || kept.contains(&scene.obstacles[k]), "{k}: {margin} m");
                }
            }
        }
    }
}

#[test]
fn a_wider_tube_sees_all_obstacles_and_names_stay() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let task = &arms()[0];
    let (robot, scene) = (&task.robot, crowd(&mut rng));
    let set = Arc::new(PreparedSet::new(robot, &task.set));
    let start = JointState::at_rest(&task.start);
    let reach = vec![0.1; robot.dof()];
    let ends = EndPoints::within_limits(robot, &start, &reach).unwrap();
    let mut vicinity = Vicinity::new(robot);
    let mut tube = tube_fit::initial(robot);
    assert!(std::ptr::eq(vicinity.scene(&tube, &scene), &raw const scene), "nothing was looked at");
    vicinity.look(&setting(task, (&set, &scene, &start), &reach), &ends);
    let near = vicinity.scene(&tube, &scene);
    assert!(!near.obstacles.is_empty() && near.obstacles.len() < scene.obstacles.len());
    let last = near.obstacles.len() - 1;
    let short = |k| Shortfall {
        family: crate::certify::ConstraintFamily::Collision,
        place: ConstraintIndex::Pair(2, Body::Obstacle(k)),
        t0: 0.0,
        t1: 1.0,
        margin: -0.1,
    };
    let ConstraintIndex::Pair(2, Body::Obstacle(k)) = vicinity.in_the_whole(near, short(last)).place else {
        panic!()
    };
    assert_eq!(scene.obstacles[k], near.obstacles[last]);
    assert_eq!(vicinity.in_the_whole(&scene, short(last)), short(last));
    // A tube with errors beyond those of the sets.
    tube.lag_floor[3] /= 2.0 * ALLOWED;
    assert!(std::ptr::eq(vicinity.scene(&tube, &scene), &raw const scene));
    // Another scene, and then one with too few obstacles.
    let other = crowd(&mut rng);
    vicinity.look(&setting(task, (&set, &other, &start), &reach), &ends);
    let tube = tube_fit::initial(robot);
    assert!(vicinity.scene(&tube, &other).obstacles.iter().all(|o| other.obstacles.contains(o)));
    let few = Scene {
        obstacles: vec![Zonotope3::cuboid("one", Vector3::zeros(), Vector3::zeros(), &Matrix3::identity())],
    };
    vicinity.look(&setting(task, (&set, &few, &start), &reach), &ends);
    assert!(std::ptr::eq(vicinity.scene(&tube, &few), &raw const few));
}
