//! What the certifier charges for a base that leans.

use std::f64::consts::TAU;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::certify::{Problem, Workspaces};
use crate::dynamics::truth;
use crate::enclose::Counted;
use crate::inertia::ParameterSet;
use crate::reach::{Span, Tube, fixture};
use crate::robot::{Arm, Scene, load};
use crate::trajectory::{Bezier, JointState};

/// The drift that the certifier requires over `span`, N m.
fn required(robot: &Arm, set: &ParameterSet, tube: &Tube, curve: &Bezier, span: Span) -> Vec<f64> {
    let scene = Scene::default();
    let problem = Problem::new(robot, set, &scene, tube, curve).unwrap();
    problem.report(span, &Workspaces::<Counted>::default()).required.drift_nm.to_vec()
}

/// What the certifier asks for beyond the drift of a base that stands straight is never less than what a lean changes, at any state
/// of the tube and for any parameters of the set, and it is all needed where the set is a point.
#[test]
fn the_certifier_charges_what_a_lean_changes_and_little_more() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for link_ratio in [0.0, 0.05] {
        let mut robot = load("kinova_gen3_2f85").unwrap();
        robot.stated().uncertainty.link_ratio = link_ratio;
        let (n, set) = (robot.dof(), ParameterSet::around_nominal(&robot));
        let straight = {
            let mut robot = robot.clone();
            robot.stated().uncertainty.gravity_direction_deg = 0.0;
            robot
        };
        let tube = fixture::tube(&robot);
        let mut most = 0.0f64;
        for _ in 0..6 {
            let mut draw = |size: f64| (0..n).map(|_| rng.random_range(-size..size)).collect::<Vec<f64>>();
            let start = JointState::at_rest(&draw(2.0));
            let end: Vec<f64> = start.q.iter().zip(draw(0.01)).map(|(q, step)| q + step).collect();
            let curve = Bezier::to_rest(&start, &end, 2.0).unwrap();
            let span = Span::Between(0.5, 0.51);
            let charged: Vec<f64> = required(&robot, &set, &tube, &curve, span)
                .iter()
                .zip(required(&straight, &set, &tube, &curve, span))
                .map(|(with, without)| with - without)
                .collect();
            for _ in 0..300 {
                let theta = truth::corner(&set, &mut rng);
                let at = curve.state(rng.random_range(0.5..=0.51));
                let q: Vec<f64> =
                    (0..n).map(|j| at.q[j] + 0.3 * tube.e_radius(j) * truth::extreme(&mut rng)).collect();
                let angle = robot.uncertainty().gravity_direction_deg.to_radians() * truth::extreme(&mut rng);
                let strips = robot.tilted(angle, rng.random_range(0.0..TAU));
                let state = [&q[..], &at.dq, &at.dq, &at.ddq];
                let (upright, strips_now) =
                    (truth::needed(&robot, &theta, state), truth::needed(&strips, &theta, state));
                for j in 0..n {
                    let change = (strips_now[j] - upright[j]).abs();
                    assert!(change <= charged[j] * (1.0 + 1e-9) + 1e-12, "{j}: {change} of {}", charged[j]);
                    if charged[j] > 0.01 {
                        most = most.max(change / charged[j]);
                    }
                }
            }
        }
        assert!(most > if link_ratio == 0.0 { 0.975 } else { 0.8 }, "{most} at {link_ratio}");
    }
}
