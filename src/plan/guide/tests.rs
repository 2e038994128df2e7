use super::*;
use crate::robot::fixture::small_robot;
use crate::robot::{Scene, Zonotope3};
use nalgebra::{Matrix3, Vector3};
use std::time::Duration;

const SQUARE: [(f64, f64); 2] = [(-1.0, 1.0), (-1.0, 1.0)];

/// A wall across the square with one door of width 0.2 at the top.
fn wall(q: &[f64]) -> bool {
    q[0].abs() > 0.1 || q[1] > 0.8
}

fn is_path(path: &Path, start: &[f64], goal: &[f64], valid: &impl Fn(&[f64]) -> bool) -> bool {
    path.first().is_some_and(|p| p == start)
        && path.last().is_some_and(|p| p == goal)
        && path.windows(2).all(|w| segment_is_valid(&w[0], &w[1], 0.05, valid))
}

#[test]
fn finds_the_door_and_is_deterministic() {
    let (start, goal) = ([-0.8, -0.8], [0.8, -0.8]);
    for seed in 0..20 {
        let options = SearchOptions { seed, step: 0.2, ..SearchOptions::default() };
        let path = search(&SQUARE, &start, &goal, &wall, &options).unwrap();
        // An edge may cut a corner between two checked points: less than the resolution deep.
        let worn = |q: &[f64]| q[0].abs() > 0.1 - options.resolution || q[1] > 0.8 - options.resolution;
        assert!(is_path(&path, &start, &goal, &worn), "seed {seed}");
        let length: f64 = path.windows(2).map(|w| distance_squared(&w[0], &w[1]).sqrt()).sum();
        assert!(length < 4.4, "seed {seed}: length {length} with {} points", path.len());
        assert_eq!(path, search(&SQUARE, &start, &goal, &wall, &options).unwrap());
    }
}

#[test]
fn a_free_way_is_two_points() {
    let path = search(&SQUARE, &[-0.5, 0.0], &[0.5, 0.1], &|_| true, &SearchOptions::default()).unwrap();
    assert_eq!(path, [point(&[-0.5, 0.0]), point(&[0.5, 0.1])]);
}

#[test]
fn a_sealed_goal_ends_by_nodes_or_by_time() {
    let sealed = |q: &[f64]| q[0].abs() > 0.1;
    let options = SearchOptions { max_nodes: 500, ..SearchOptions::default() };
    let found = search(&SQUARE, &[-0.5, 0.0], &[0.5, 0.0], &sealed, &options).unwrap_err();
    assert!(matches!(found, SearchError::NotFound { out_of_time: false, .. }));
    let deadline = Some(Instant::now() + Duration::from_millis(20));
    let options = SearchOptions { max_nodes: usize::MAX / 16, deadline, ..SearchOptions::default() };
    let found = search(&SQUARE, &[-0.5, 0.0], &[0.5, 0.0], &sealed, &options).unwrap_err();
    assert!(matches!(found, SearchError::NotFound { out_of_time: true, .. }));
    // A start whose own surroundings are closed adds no nodes at all.
    let pocket = |q: &[f64]| q == [-0.5, 0.0] || q == [0.5, 0.0];
    let options = SearchOptions { max_nodes: 100, ..SearchOptions::default() };
    assert!(search(&SQUARE, &[-0.5, 0.0], &[0.5, 0.0], &pocket, &options).is_err());
}

#[test]
fn bad_input_is_named() {
    let o = SearchOptions::default();
    let go =
        |start: &[f64], goal: &[f64], o: &SearchOptions| search(&SQUARE, start, goal, &wall, o).unwrap_err();
    assert!(matches!(
        go(&[0.5], &[0.5, 0.5], &o),
        SearchError::Size { field: "start", expected: 2, found: 1 }
    ));
    assert!(matches!(
        go(&[0.5, 0.5], &[0.5, f64::NAN], &o),
        SearchError::OutOfBounds { field: "goal", index: 1, .. }
    ));
    assert_eq!(go(&[0.0, 0.0], &[0.5, 0.5], &o), SearchError::Invalid("start"));
    let bad = SearchOptions { resolution: 0.0, ..o };
    assert!(matches!(go(&[0.5, 0.5], &[0.6, 0.5], &bad), SearchError::Value { .. }));
    let infinite = search(&[(0.0, f64::INFINITY)], &[0.5], &[0.6], &|_| true, &o);
    assert!(matches!(infinite, Err(SearchError::Value { .. })));
}

#[test]
fn an_arm_goes_around_a_box() {
    let robot = small_robot();
    // A post at the arm's middle reach, between start and goal.
    let size = Vector3::new(0.2, 0.2, 4.0);
    let post = Zonotope3::cuboid("post", Vector3::new(1.2, 0.0, 0.0), size, &Matrix3::identity());
    let scene = Scene { obstacles: vec![post] };
    let valid = |q: &[f64]| {
        let frames = robot.frames(q);
        [robot.obstacle_clearance(&frames, &scene), robot.self_clearance(&frames)]
            .into_iter()
            .flatten()
            .all(|c| c.distance > 0.01)
    };
    let start = [-0.8, 0.0, 0.0];
    let goal = nearest_turn(&robot, &start, &[0.8, 2.0 * TAU, 0.1]);
    assert_eq!(goal[1], 0.0);
    let begin = Instant::now();
    let path =
        search(&search_bounds(&robot, &start), &start, &goal, &valid, &SearchOptions::default()).unwrap();
    println!("{} way-points in {:?}", path.len(), begin.elapsed());
    assert!(path.len() > 2 && is_path(&path, &start, &goal, &valid));
    // Following the look-ahead with a bounded reach gets to the goal.
    let mut q = point(&start);
    for _ in 0..40 {
        q = lookahead(&path, &q, &[0.3; 3], 0.02, &valid).expect("a target");
    }
    assert_eq!(*q, *goal);
}

#[test]
fn lookahead_takes_the_farthest_visible_point_within_reach() {
    let path = [[-0.8, 0.0], [-0.8, 0.9], [0.8, 0.9], [0.8, 0.0]].map(|q| point(&q));
    let far = lookahead(&path, &[-0.8, 0.0], &[2.0, 2.0], 0.01, &wall).unwrap();
    // Over the wall's edge, but not down the other side: the segment must pass above (-0.1, 0.8).
    assert!(far[0] > -0.1 && (far[1] - 0.9).abs() < 1e-12, "{far:?}");
    let near = lookahead(&path, &[-0.8, 0.0], &[0.3, 0.3], 0.01, &wall).unwrap();
    assert!(near[1] > 0.28 && near[1] <= 0.3);
    assert_eq!(lookahead(&path, &[-0.3, -0.9], &[0.1, 0.1], 0.01, &wall), None);
    assert_eq!(lookahead(&[], &[0.0, 0.0], &[1.0, 1.0], 0.01, &wall), None);
}
