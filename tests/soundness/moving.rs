//! Obstacles that move, under attack: each goes at its full speed, from the moment when it was seen, straight to where the arm is nearest. The nearest
//! place at which a plan is still certified must leave room for that, and hardly more.

use nalgebra::{Matrix3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use surelift::certify::{Certificate, Partition, Problem, Refusal, Start, certify};
use surelift::inertia::ParameterSet;
use surelift::plan::tube_fit;
use surelift::reach::Tube;
use surelift::robot::clearance::to_zonotope;
use surelift::robot::{self, Arm, Scene, Zonotope3};
use surelift::trajectory::{Bezier, JointState};

/// Times of a plan that are looked at, and states of the tube at each.
const TIMES: usize = 60;
const STATES: usize = 12;
/// Share of the ball that a proof may leave unused: less than what a bound that is 3 % too small would gain.
const UNUSED: f64 = 0.02;

/// An arm with a motion that is proven where nothing is in its way.
struct Moving {
    robot: Arm,
    set: ParameterSet,
    tube: Tube,
    curve: Bezier,
}

impl Moving {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        let robot = robot::load("kinova_gen3").unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let start = JointState::at_rest(&[0.0, 0.6, 3.1, -1.5, 0.0, -0.5, 1.5]);
        let end: Vec<f64> = start.q.iter().map(|q| q + rng.random_range(-0.2..0.2)).collect();
        let curve = Bezier::to_rest(&start, &end, 1.2).unwrap();
        let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 16).unwrap();
        Self { robot, set, tube, curve }
    }

    fn certified(&self, obstacle: &Zonotope3) -> Result<Certificate, Refusal> {
        let scene = Scene { obstacles: vec![obstacle.clone()] };
        let problem = Problem::new(&self.robot, &self.set, &scene, &self.tube, &self.curve)?;
        certify(&problem, &Start::Rest, Partition::default())
    }

    /// The least distance, over the times that the certificate speaks about, to an obstacle that does its worst.
    fn attacked(&self, obstacle: &Zonotope3, rng: &mut ChaCha8Rng) -> f64 {
        let (end, period) = (self.curve.duration_s, self.tube.gains.period_s);
        let mut least = f64::INFINITY;
        for k in 0..=TIMES {
            // To the end of the tick in which the motion ends.
            let t = if k == TIMES { end + period } else { end * k as f64 / (TIMES - 1) as f64 };
            for _ in 0..STATES {
                let mut q = self.curve.state(t.min(end)).q;
                let j = rng.random_range(0..q.len());
                q[j] += if rng.random() { 1.0 } else { -1.0 } * self.tube.e_radius(j) * (1.0 - 1e-9);
                least = least.min(self.nearest(&q, obstacle, obstacle.speed_m_s * (obstacle.age_s + t)));
            }
        }
        least
    }

    /// Distance of the arm at `q` from the obstacle that has gone `come` (m) towards its nearest link.
    fn nearest(&self, q: &[f64], obstacle: &Zonotope3, come: f64) -> f64 {
        let frames = self.robot.frames(q);
        let moving = (0..self.robot.shapes().len()).filter(|s| self.robot.shapes()[*s].joint.is_some());
        let capsules: Vec<_> = moving.map(|shape| self.robot.placed_capsule(shape, &frames)).collect();
        let at = |center: Vector3<f64>| {
            let there = Zonotope3 { center, ..obstacle.clone() };
            capsules.iter().map(|capsule| to_zonotope(capsule, &there)).fold(f64::INFINITY, f64::min)
        };
        // The distance falls fastest along its negative gradient, straight to the nearest point; some ways beside it are tried too.
        let step = 1e-6;
        let slope = Vector3::from_fn(|i, _| {
            (at(obstacle.center + Vector3::ith(i, step)) - at(obstacle.center - Vector3::ith(i, step))) / step
        });
        let straight = -slope.normalize();
        let beside = (0..3).flat_map(|i| [1e-3, -1e-3].map(|d| (straight + Vector3::ith(i, d)).normalize()));
        let ways = beside.chain([straight]);
        ways.map(|way| at(obstacle.center + come * way)).fold(f64::INFINITY, f64::min)
    }
}

/// The obstacle at the end of a ray from the arm, as near as a plan is certified, to a millimetre.
fn nearest_certified(moving: &Moving, ray: Vector3<f64>, speed_m_s: f64, age_s: f64) -> Zonotope3 {
    let at = |distance: f64| Zonotope3 {
        speed_m_s,
        age_s,
        ..Zonotope3::cuboid("person", distance * ray, Vector3::new(0.4, 0.3, 0.8), &Matrix3::identity())
    };
    let (mut near, mut far) = (0.0, 20.0);
    assert!(moving.certified(&at(far)).is_ok(), "{:?}", moving.certified(&at(far)));
    while far - near > 1e-3 {
        let middle = 0.5 * (near + far);
        if moving.certified(&at(middle)).is_ok() { far = middle } else { near = middle }
    }
    at(far)
}

/// Of a long age and of none: so each part of the ball counts once.
#[test]
fn no_obstacle_at_its_full_speed_reaches_an_arm_that_moves() {
    none_reaches_the_arm(&[(1.6, 2.0), (2.0, 0.0)]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_obstacle_at_its_full_speed_reaches_an_arm_that_moves_at_length() {
    none_reaches_the_arm(&[(1.6, 2.0), (2.0, 0.0), (4.0, 0.5), (0.5, 1.0)]);
}

/// Obstacles of these speeds (m/s) and ages (s).
fn none_reaches_the_arm(obstacles: &[(f64, f64)]) {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for &(speed_m_s, age_s) in obstacles {
        let moving = Moving::draw(&mut rng);
        let turn: f64 = rng.random_range(-3.1..3.1);
        let ray = Vector3::new(turn.cos(), turn.sin(), rng.random_range(0.0..0.6)).normalize();
        let obstacle = nearest_certified(&moving, ray, speed_m_s, age_s);
        let certificate = moving.certified(&obstacle).unwrap();
        assert_eq!(certificate.clear_until_s, Some(moving.curve.duration_s));
        let (left, ball) =
            (moving.attacked(&obstacle, &mut rng), speed_m_s * (age_s + moving.curve.duration_s));
        println!("{speed_m_s} m/s, {age_s} s old: {left:.4} m left of a ball of {ball:.3} m");
        assert!(left > 0.0, "it touches the arm: {left} m");
        assert!(left < (UNUSED * ball).max(0.03), "{left} m are left of {ball} m: the test attacks nothing");
    }
}

#[test]
fn speeds_and_ages_that_are_none_are_refused_by_name() {
    let moving = Moving::draw(&mut ChaCha8Rng::seed_from_u64(1));
    let far =
        Zonotope3::cuboid("person", Vector3::new(9.0, 0.0, 0.0), Vector3::repeat(0.1), &Matrix3::identity());
    for bad in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (field, obstacle) in [
            ("speed_m_s", Zonotope3 { speed_m_s: bad, ..far.clone() }),
            ("age_s", Zonotope3 { speed_m_s: 1.0, age_s: bad, ..far.clone() }),
        ] {
            let refusal = moving.certified(&obstacle).unwrap_err();
            let text = refusal.to_string();
            assert!(matches!(refusal, Refusal::Unsupported(_)), "{text}");
            assert!(text.contains("'person'") && text.contains(field), "{text}");
        }
    }
    // What stands is of any age.
    assert!(moving.certified(&Zonotope3 { age_s: 1e9, ..far.clone() }).is_ok());
    assert_eq!(moving.certified(&far).unwrap().clear_until_s, None);
}

/// One that stands near the end of the motion: nothing that stands may be there for ever, what moves may come there later.
#[test]
fn at_rest_distances_are_claimed_of_what_stands_alone() {
    let moving = Moving::draw(&mut ChaCha8Rng::seed_from_u64(2));
    let frames = moving.robot.frames(&moving.curve.end());
    let hand = moving.robot.placed_capsule(moving.robot.shapes().len() - 1, &frames);
    let side = Vector3::new(0.0, 0.0, 1.0);
    let at = |distance: f64, speed_m_s: f64| Zonotope3 {
        speed_m_s,
        ..Zonotope3::cuboid("box", hand.b + distance * side, Vector3::repeat(0.02), &Matrix3::identity())
    };
    // Slow enough not to count until the end, and to have come to the arm soon after it.
    assert!(moving.certified(&at(-0.02, 0.0)).is_err() && moving.certified(&at(-0.02, 1e-6)).is_err());
    let mut apart = 0.02;
    while moving.certified(&at(apart, 0.0)).is_err() {
        apart += 0.01;
    }
    assert!(moving.certified(&at(apart + 0.001, 1e-6)).is_ok());
}
