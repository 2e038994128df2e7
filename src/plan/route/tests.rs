use std::time::{Duration, Instant};

use nalgebra::{Matrix3, Vector3};

use super::*;
use crate::plan::fixture::{Task, gen3_past_a_post};
use crate::robot::Zonotope3;

/// The world of the post, with a block this far from the hand at the goal.
fn with_block(gap_m: f64) -> Task {
    let mut task = gen3_past_a_post();
    let hand = task.robot.placed_capsule(task.robot.shapes().len() - 1, &task.robot.frames(&task.goal));
    let x = hand.a.x.max(hand.b.x) + hand.radius + gap_m + 0.02;
    let middle = 0.5 * (hand.a + hand.b);
    let center = Vector3::new(x, middle.y, middle.z);
    task.scene.obstacles.push(Zonotope3::cuboid(
        "block",
        center,
        Vector3::repeat(0.04),
        &Matrix3::identity(),
    ));
    task
}

fn find(task: &Task) -> Result<Route, RouteError> {
    let terrain = Terrain { robot: &task.robot, set: &task.set, scene: &task.scene };
    Route::find(terrain, &task.start, &task.goal, 0, Instant::now() + Duration::from_secs(600))
}

#[test]
fn a_goal_close_to_something_is_reached_without_touching_it() {
    let task = with_block(0.008);
    let route = find(&task).unwrap();
    assert_eq!(route.goal(), Some(&task.goal[..]));
    for leg in route.path.windows(2) {
        for i in 0..=50 {
            let s = f64::from(i) / 50.0;
            let q: Vec<f64> = leg[0].iter().zip(&leg[1]).map(|(a, b)| a + s * (b - a)).collect();
            let frames = task.robot.frames(&q);
            assert!(task.robot.obstacle_clearance(&frames, &task.scene).unwrap().distance > 0.0);
        }
    }
    // Near the goal the path's own way is followed to its end, although it is closer than the path keeps elsewhere.
    let terrain = Terrain { robot: &task.robot, set: &task.set, scene: &task.scene };
    let before = &route.path[route.path.len() - 2];
    let mut router = Router::default();
    let deadline = Instant::now() + Duration::from_secs(600);
    assert_eq!(router.find(terrain, &task.start, &task.goal, 0, deadline), Ok(&route));
    assert_eq!(router.target(terrain, before, &[3.0; 7]).as_deref(), Some(&task.goal[..]));
}

#[test]
fn a_goal_inside_something_is_told() {
    let told = find(&with_block(-0.03)).unwrap_err().to_string();
    assert!(told.starts_with("at the goal '") && told.contains("touches 'block'"), "{told}");
}

#[test]
fn a_goal_too_heavy_for_what_may_be_held_is_told_and_a_lighter_hand_finds_a_way() {
    let mut task = with_block(1.0);
    // Stretched out: all of the arm's weight on its second joint.
    task.goal = vec![0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0];
    task.scene.obstacles.clear();
    let last = INERTIAL * (task.robot.dof() - 1);
    let holding = |kg: u32| {
        let mut set = task.set.clone();
        set.bounds().1[last] += f64::from(kg);
        let terrain = Terrain { robot: &task.robot, set: &set, scene: &task.scene };
        Route::find(terrain, &task.start, &task.goal, 0, Instant::now() + Duration::from_secs(600))
    };
    assert!(holding(0).is_ok());
    let told = (1..20).find_map(|kg| holding(kg).err()).unwrap().to_string();
    assert!(told.contains("at the goal gravity alone takes up to") && told.contains("'joint_2'"), "{told}");
}
