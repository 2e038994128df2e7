use nalgebra::Vector3;

use super::*;
use crate::horizon::Evidence;
use crate::robot::load;

/// Nothing but a clock and a tracker.
#[derive(Default)]
struct Watcher {
    now: f64,
    said: Option<(f64, Vector3<f64>)>,
    turned: Option<Vec<Vector3<f64>>>,
}

impl Watch for Watcher {
    fn latest_s(&self) -> f64 {
        self.now
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        assert_eq!(obstacle, 1, "what stands is not asked for");
        let Some((t, center)) = self.said else { return false };
        (seen.t, seen.center) = (t, center);
        if let Some(generators) = &self.turned {
            seen.generators.clone_from(generators);
        }
        true
    }
}

fn half_metre() -> Vec<Vector3<f64>> {
    (0..3).map(|axis| Vector3::ith(axis, 0.25)).collect()
}

/// A wall, and a person at x = 3 m who does at most 1 m/s.
fn around() -> Surroundings {
    let wall = Zonotope3::still("wall", Vector3::new(0.0, 9.0, 0.0), half_metre());
    let person =
        Zonotope3 { speed_m_s: 1.0, ..Zonotope3::still("person", Vector3::new(3.0, 0.0, 0.5), half_metre()) };
    Surroundings::new(&Scene { obstacles: vec![wall, person] }, 0.0)
}

fn at(x: f64) -> Vector3<f64> {
    Vector3::new(x, 0.0, 0.5)
}

#[test]
fn the_age_is_that_of_the_sighting_at_the_plans_start() {
    let mut around = around();
    let mut watcher = Watcher { now: 0.75, said: Some((0.5, at(2.6))), ..Watcher::default() };
    around.refresh(&mut watcher).unwrap();
    around.plan_starts_at(0.75, (500, 1e-3));
    let person = &around.scene().obstacles[1];
    assert_eq!(person.center.x, 2.6);
    assert!(person.age_s >= 0.75 && person.age_s < 0.75 + 1e-8, "{}", person.age_s);
    assert_eq!(around.scene().obstacles[0].age_s, 0.0);
    assert!((1.25..1.2500001).contains(&around.known_until()));

    // One that is not seen any more stays there, and is ever older.
    watcher.said = None;
    watcher.now = 2.0;
    around.refresh(&mut watcher).unwrap();
    around.plan_starts_at(2.0, (500, 1e-3));
    let person = &around.scene().obstacles[1];
    assert!(person.center.x == 2.6 && (person.age_s - 2.0).abs() < 1e-8);
}

#[test]
fn what_is_old_or_no_number_says_nothing() {
    let mut around = around();
    let mut watcher = Watcher { now: 1.0, said: Some((1.0, at(2.5))), ..Watcher::default() };
    around.refresh(&mut watcher).unwrap();
    for said in [(0.9, at(2.5)), (1.0, at(9.0)), (f64::NAN, at(2.4)), (2.0, at(f64::INFINITY))] {
        watcher.now = 3.0;
        watcher.said = Some(said);
        around.refresh(&mut watcher).unwrap();
        around.plan_starts_at(3.0, (0, 1e-3));
        let person = &around.scene().obstacles[1];
        assert!(person.center.x == 2.5 && (person.age_s - 2.0).abs() < 1e-8, "{said:?}");
    }
}

#[test]
fn an_obstacle_that_is_too_fast_is_evidence() {
    // As fast as it may be, then a little faster.
    for (x, fast) in [(2.0, false), (2.0 - 1e-6, true), (4.0, false), (4.1, true)] {
        let mut watcher = Watcher { now: 1.0, said: Some((1.0, at(x))), ..Watcher::default() };
        let found = around().refresh(&mut watcher);
        assert_eq!(found.is_err(), fast, "{x}");
        if let Err(broken) = found {
            assert_eq!((broken.evidence, broken.joint.as_deref()), (Evidence::Obstacle, None));
            assert!(broken.at_least.unwrap() > 1.0 && broken.text.contains("'person'"), "{broken:?}");
        }
    }
    // It has not moved but has grown, in half a second, by as much as nothing can that fast.
    let large: Vec<Vector3<f64>> = half_metre().iter().map(|g| 4.0 * g).collect();
    let mut watcher = Watcher { now: 0.5, said: Some((0.5, at(3.0))), turned: Some(large) };
    assert!(around().refresh(&mut watcher).is_err());
}

#[test]
fn a_sighting_from_the_future_is_evidence() {
    let mut watcher = Watcher { now: 1.0, said: Some((1.1, at(3.0))), ..Watcher::default() };
    let broken = around().refresh(&mut watcher).unwrap_err();
    assert_eq!(broken.evidence, Evidence::Clock);
}

#[test]
fn what_may_come_is_nearer_the_longer_one_waits() {
    let robot = load("kinova_gen3_2f85").unwrap();
    let mut around = around();
    around.plan_starts_at(0.0, (500, 1e-3));
    let left = |ahead: f64| around.nearest(&robot, &[0.0; 7], ahead).unwrap();
    let ((k, now), (_, later)) = (left(0.0), left(1.0));
    assert!(k == 1 && (now - later - 1.0).abs() < 1e-6, "{now} {later}");
    let large = around.enlarged(1.0);
    assert!(!large.moves() && large.obstacles[1].generators.len() == 6);
    assert_eq!(around.still().obstacles.len(), 1);
}
