//! Mechanisms that one can picture: a four-bar, a quadruped on its feet.

use nalgebra::{Matrix3, Rotation3, Vector3};

use super::*;
use crate::robot::configuration::neutral;
use crate::robot::fixture::{floating, small_model};
use crate::robot::{JointKind, Placement, load_model};

fn at(x: f64, y: f64, z: f64) -> Placement {
    Placement { rotation: Matrix3::identity(), translation: Vector3::new(x, y, z) }
}

/// Three bars in a chain from the origin, and the ground between (0, 0) and (1, 0): bars of 0.4, 1 and 0.8 m. Gravity is
/// along -y, joints turn about z.
pub(in crate::dynamics::constraint) fn four_bar() -> (Model, Constraint) {
    let mut robot = small_model();
    robot.gravity = Vector3::new(0.0, -9.81, 0.0);
    for (i, x) in [0.0, 0.4, 1.0].into_iter().enumerate() {
        let joint = &mut robot.joints[i];
        joint.kind = JointKind::Continuous;
        joint.placement = at(x, 0.0, 0.0);
        joint.limits.position = None;
        joint.inertia = [1.0, 0.3, 0.0, 0.0, 0.01, 0.0, 0.2, 0.0, 0.0, 0.2];
    }
    let closure = Constraint {
        name: "coupler pin".into(),
        a: ConstraintEnd { joint: Some(2), placement: at(0.8, 0.0, 0.0) },
        b: ConstraintEnd { joint: None, placement: at(1.0, 0.0, 0.0) },
        kind: LoopKind::Point,
        axes: RowAxes::Local,
        planar: false,
        stiffness: 0.0,
        damping: 0.0,
        restitution: 0.0,
    };
    (robot, closure)
}

fn closed(robot: &Model, closure: &Constraint) -> Vec<f64> {
    let mut dynamics = ConstrainedDynamics::new(robot, vec![closure.clone()], Redundancy::Drop).unwrap();
    let mut q = vec![1.2, -1.0, -1.5];
    let left = dynamics.close(robot, &mut q, &robot.nominal_parameters()).unwrap();
    assert!(left < 1e-12, "{left:e}");
    q
}

/// Runs the four-bar from rest for two seconds (midpoint steps of 2 ms); largest closure error (m) and energy drift (J).
fn run(stiffness: f64, damping: f64) -> (f64, f64) {
    let (robot, closure) = four_bar();
    let theta = robot.nominal_parameters();
    let mut q = closed(&robot, &closure);
    let closure = closure.stabilised(stiffness, damping);
    // The third row is out of the plane: nothing moves it, so it is dropped.
    let mut dynamics = ConstrainedDynamics::new(&robot, vec![closure], Redundancy::Drop).unwrap();
    let mut v = vec![0.0; 3];
    let energy = |dynamics: &mut ConstrainedDynamics, q: &[f64], v: &[f64]| {
        dynamics.project(&robot, q, v, &theta).unwrap();
        let (m, v) = (matrix(3, dynamics.mass()), DVector::from_row_slice(v));
        let frames = robot.frames(q);
        let height: f64 = (0..3).map(|i| frames[i].point(&Vector3::new(0.3, 0.0, 0.0)).y).sum();
        0.5 * v.dot(&(m * &v)) + 9.81 * height
    };
    let start = energy(&mut dynamics, &q, &v);
    let (mut worst, mut fastest, dt) = (0.0f64, 0.0f64, 2e-3);
    for _ in 0..1000 {
        dynamics.forward(&robot, &q, &v, &[0.0; 3], &theta).unwrap();
        let (half_v, half_q) = (plus(&v, 0.5 * dt, dynamics.motion()), plus(&q, 0.5 * dt, &v));
        dynamics.forward(&robot, &half_q, &half_v, &[0.0; 3], &theta).unwrap();
        v = plus(&v, dt, dynamics.motion());
        q = plus(&q, dt, &half_v);
        let mut e = [0.0; 3];
        dynamics.position_errors(&robot, &q, &mut e).unwrap();
        worst = e.iter().fold(worst, |m, x| m.max(x.abs()));
        fastest = v.iter().fold(fastest, |m, x| m.max(x.abs()));
    }
    assert!(fastest > 2.0, "the mechanism should move: {fastest} rad/s");
    (worst, (energy(&mut dynamics, &q, &v) - start).abs())
}

/// With joints that turn, the row across a linkage's plane is not zero but rounding; it binds as little.
#[test]
fn rows_of_rounding_bind_nothing() {
    let robot = load_model("robots/b1_leg.toml").unwrap();
    let theta = robot.nominal_parameters();
    let closure = Constraint::closure(&robot, 0).in_axes(RowAxes::WorldAligned).stabilised(400.0, 40.0);
    let mut q = vec![0.3, 0.8, -1.5, 0.0, 0.0];
    let mut motion = |redundancy| {
        let mut dynamics = ConstrainedDynamics::new(&robot, vec![closure.clone()], redundancy).unwrap();
        dynamics.close(&robot, &mut q, &theta).unwrap();
        dynamics.project(&robot, &q, &[0.5, -0.4, 1.7, 2.0, -2.0], &theta).unwrap();
        let v = dynamics.motion().to_vec();
        assert!(v[2].abs() > 0.5 && v[4].abs() > 0.5, "{v:?}");
        dynamics.forward(&robot, &q, &v, &[1.0, 2.0, 0.0, 3.0, 0.0], &theta).unwrap();
        (dynamics.motion().to_vec(), dynamics.force().to_vec())
    };
    let (soft, _) = motion(Redundancy::Yield(1e-9));
    let (rigid, force) = motion(Redundancy::Drop);
    assert_close("accelerations", &rigid, &soft, 1e-5);
    assert_eq!(force.iter().filter(|f| **f == 0.0).count(), 1, "{force:?}");
}

/// A linkage whose plane hardly leans out of the axes: two rows bind the same direction, and the one that sees next to
/// nothing of it must not be the one that is kept. The crank then follows what its motor asks for.
#[test]
fn a_linkage_follows_its_crank_whatever_its_plane() {
    let robot = load_model("robots/b1_leg.toml").unwrap();
    let theta = robot.nominal_parameters();
    let closure = Constraint::closure(&robot, 0).in_axes(RowAxes::WorldAligned).stabilised(400.0, 40.0);
    for lean in [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.5, 1.57] {
        let mut dynamics = ConstrainedDynamics::new(&robot, vec![closure.clone()], Redundancy::Drop).unwrap();
        let mut q = vec![lean, 0.8, -1.5, 0.0, 0.0];
        let left = dynamics.close(&robot, &mut q, &theta).unwrap();
        assert!(left < 1e-12, "{lean}: {left:e}");
        let (mut v, dt) = (vec![0.0; 5], 5e-4);
        // The hip and the thigh are held by heavy hands: only the crank's motor works, 6 N m for 0.1 s.
        let mut e = [0.0; 3];
        for _ in 0..200 {
            let tau = [-50.0 * v[0], -50.0 * v[1], 0.0, 6.0, 0.0];
            dynamics.forward(&robot, &q, &v, &tau, &theta).unwrap();
            v = plus(&v, dt, dynamics.motion());
            q = plus(&q, dt, &v);
            dynamics.position_errors(&robot, &q, &mut e).unwrap();
            assert!(e.iter().all(|x| x.abs() < 1e-4), "{lean}: {e:?}");
        }
        // The calf goes with the crank, lever to lever.
        assert!(q[3].abs() > 0.02 && (0.5..1.5).contains(&((q[2] + 1.5) / q[3])), "{lean}: {q:?}");
    }
}

#[test]
fn a_four_bar_stays_closed() {
    let (open, _) = run(0.0, 0.0);
    let (closed, drift) = run(2500.0, 100.0);
    assert!(closed < 2e-4 && open > 2.0 * closed, "{closed:e} m stabilised, {open:e} m not");
    assert!(drift < 0.02, "{drift} J");
}

/// A trunk with four legs of three joints (roll, pitch, knee), feet 0.2 m below the knees.
fn quadruped() -> Model {
    let mut robot = small_model();
    let pattern = robot.joints[0].clone();
    robot.joints.clear();
    let pitch = Rotation3::new(Vector3::new(-std::f64::consts::FRAC_PI_2, 0.0, 0.0)).into_inner();
    for (leg, (x, y)) in [(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)].into_iter().enumerate() {
        for part in 0..3 {
            let mut joint = pattern.clone();
            joint.name = format!("leg {leg} joint {part}");
            joint.parent = (part > 0).then(|| 3 * leg + part - 1);
            joint.placement = match part {
                0 => Placement {
                    rotation: Rotation3::new(Vector3::new(0.0, std::f64::consts::FRAC_PI_2, 0.0))
                        .into_inner(),
                    translation: Vector3::new(x, y, 0.0),
                },
                1 => Placement { rotation: pitch, translation: Vector3::new(0.0, 0.05, 0.0) },
                _ => at(0.2, 0.0, 0.0),
            };
            joint.inertia = [0.3, 0.03, 0.0, 0.0, 0.002, 0.0, 0.006, 0.0, 0.0, 0.006];
            joint.friction.armature = 0.01;
            robot.joints.push(joint);
        }
    }
    floating(robot)
}

fn feet(robot: &Model, kind: LoopKind) -> Vec<Constraint> {
    (0..4)
        .map(|leg| Constraint {
            name: format!("foot {leg}"),
            a: ConstraintEnd { joint: Some(3 * leg + 3), placement: at(0.2, 0.0, 0.0) },
            b: ConstraintEnd { joint: None, placement: at(0.0, 0.0, 0.0) },
            kind,
            axes: RowAxes::WorldAligned,
            planar: false,
            stiffness: 0.0,
            damping: 0.0,
            restitution: 0.0,
        })
        .inspect(|c| assert!(c.a.joint < Some(robot.bodies())))
        .collect()
}

/// A crouched stance, at rest.
fn stance(robot: &Model) -> Vec<f64> {
    let mut q = vec![0.0; robot.nq()];
    q[6] = 1.0;
    for leg in 0..4 {
        q[7 + 3 * leg..10 + 3 * leg].copy_from_slice(&[0.05, 0.6, -1.2]);
    }
    q
}

#[test]
fn four_point_feet_carry_the_weight() {
    let robot = quadruped();
    let (q, theta, v) = (stance(&robot), robot.nominal_parameters(), vec![0.0; 18]);
    let mut dynamics =
        ConstrainedDynamics::new(&robot, feet(&robot, LoopKind::Point), Redundancy::Refuse).unwrap();
    // Joint torques that hold the stance: forces first, then tau = h - J'force on the joints.
    dynamics.forward(&robot, &q, &v, &[0.0; 18], &theta).unwrap();
    assert!(dynamics.violation() < 1e-9);
    let (f, a) = (dynamics.force().to_vec(), dynamics.motion().to_vec());
    let mass: f64 = robot.joints.iter().map(|j| j.inertia[0]).sum();
    // The whole robot's momentum changes by gravity and the feet's forces alone.
    let j = matrix(18, dynamics.mass());
    let rate = (j * DVector::from_vec(a))[2];
    let lift: f64 = (0..4).map(|leg| f[3 * leg + 2]).sum();
    assert!((rate - (lift - 9.81 * mass)).abs() < 1e-9, "{rate} {lift}");
    assert!(lift > 0.0);
}

/// Rigid feet are 24 rows on 18 degrees of freedom.
#[test]
fn redundant_contacts_do_what_they_say() {
    let robot = quadruped();
    let (q, theta, v) = (stance(&robot), robot.nominal_parameters(), vec![0.0; 18]);
    let mut tau = vec![0.0; 18];
    tau[8] = 3.0;
    let solve = |list: Vec<Constraint>, redundancy| {
        let mut dynamics = ConstrainedDynamics::new(&robot, list, redundancy).unwrap();
        dynamics.forward(&robot, &q, &v, &tau, &theta).map(|()| dynamics)
    };
    let rigid = feet(&robot, LoopKind::Rigid);
    let refused = solve(rigid.clone(), Redundancy::Refuse).unwrap_err();
    assert!(refused.to_string().contains("constraint `foot"), "{refused}");
    let dropped = solve(rigid.clone(), Redundancy::Drop).unwrap();
    assert!(dropped.violation() < 1e-8, "{}", dropped.violation());
    let kept = dropped.force().iter().filter(|f| **f != 0.0).count();
    assert!(kept <= 18, "{kept} rows carry force");
    let yielding = solve(rigid, Redundancy::Yield(1e-7)).unwrap();
    assert_close("motion", yielding.motion(), dropped.motion(), 1e-5);
    // Of all forces with that motion, the yielding ones are the smallest.
    let norm = |f: &[f64]| f.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(norm(yielding.force()) <= norm(dropped.force()) * (1.0 + 1e-6));
    // The same foot twice: one of the two carries everything, or each one half.
    let mut twice = feet(&robot, LoopKind::Point);
    let once = solve(twice.clone(), Redundancy::Refuse).unwrap();
    twice.push(twice[0].clone());
    let dropped = solve(twice.clone(), Redundancy::Drop).unwrap();
    let yielding = solve(twice, Redundancy::Yield(1e-8)).unwrap();
    for other in [&dropped, &yielding] {
        assert_close("motion", other.motion(), once.motion(), 1e-6);
        for k in 0..3 {
            let sum = other.force_of(0)[k] + other.force_of(4)[k];
            assert!((sum - once.force_of(0)[k]).abs() < 1e-5, "{sum}");
        }
    }
    assert!((0..3).all(|k| (yielding.force_of(0)[k] - yielding.force_of(4)[k]).abs() < 1e-5));
    assert!((0..3).all(|k| dropped.force_of(0)[k] == 0.0 || dropped.force_of(4)[k] == 0.0));
}

/// Digit's six loops: closed from the neutral configuration, then falling for a tenth of a second.
#[test]
fn a_robot_with_closed_legs_falls_with_its_loops_closed() {
    let robot = load_model(concat!(env!("CARGO_MANIFEST_DIR"), "/robots/digit.toml")).unwrap();
    let (n, theta) = (robot.nv(), robot.nominal_parameters());
    let loops: Vec<_> =
        (0..robot.loops.len()).map(|i| Constraint::closure(&robot, i).stabilised(1e4, 200.0)).collect();
    assert_eq!(loops.len(), 6);
    let rows = loops.len() * 3;
    let mut dynamics = ConstrainedDynamics::new(&robot, loops, Redundancy::Drop).unwrap();
    let mut q = neutral(&robot);
    let left = dynamics.close(&robot, &mut q, &theta).unwrap();
    assert!(left < 1e-12, "{left:e}");
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    dynamics.project(&robot, &q, &vec_of(&mut rng, n), &theta).unwrap();
    let mut v = dynamics.motion().to_vec();
    let (tau, dt) = (vec![0.0; n], 1e-3);
    let (mut worst, mut e) = (0.0f64, vec![0.0; rows]);
    for _ in 0..100 {
        dynamics.forward(&robot, &q, &v, &tau, &theta).unwrap();
        assert!(
            dynamics.violation() < 1e-6 * (1.0 + dynamics.motion().iter().fold(0.0, |m, x| x.abs().max(m)))
        );
        let middle = plus(&v, 0.5 * dt, dynamics.motion());
        let at_middle = moved(&robot, &q, &v, 0.5 * dt);
        dynamics.forward(&robot, &at_middle, &middle, &tau, &theta).unwrap();
        q = moved(&robot, &q, &middle, dt);
        v = plus(&v, dt, dynamics.motion());
        dynamics.position_errors(&robot, &q, &mut e).unwrap();
        worst = e.iter().fold(worst, |m, x| m.max(x.abs()));
    }
    assert!(worst < 1e-4, "{worst:e} m");
}

/// What cannot be reached is approached, and the distance told.
#[test]
fn a_closure_out_of_reach_is_told() {
    let (robot, mut closure) = four_bar();
    closure.b.placement.translation.x = 3.0;
    let mut dynamics = ConstrainedDynamics::new(&robot, vec![closure], Redundancy::Yield(1e-6)).unwrap();
    let mut q = vec![0.4, 0.3, -0.2];
    let left = dynamics.close(&robot, &mut q, &robot.nominal_parameters()).unwrap();
    // The chain is 2.2 m long.
    assert!((0.8..0.9).contains(&left), "{left}");
}

/// A foot that touches down is held where it is, with its turn; and it is no matter how far away that is.
#[test]
fn feet_are_held_where_they_stand_also_far_away() {
    let robot = quadruped();
    let theta = robot.nominal_parameters();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (v, tau) = (vec_of(&mut rng, 18), vec_of(&mut rng, 18));
    let mut list = vec![feet(&robot, LoopKind::Rigid).remove(0), feet(&robot, LoopKind::Point).remove(3)];
    list.iter_mut().for_each(|c| *c = c.clone().stabilised(100.0, 20.0));
    let mut dynamics = ConstrainedDynamics::new(&robot, list, Redundancy::Refuse).unwrap();
    let mut solution = |away: f64| {
        let mut q = stance(&robot);
        q[0] += away;
        let mut e = vec![1.0; 9];
        for foot in 0..2 {
            dynamics.hold_here(&robot, foot, &q).unwrap();
        }
        dynamics.position_errors(&robot, &q, &mut e).unwrap();
        assert!(e.iter().all(|x| x.abs() < 1e-9 * (1.0 + 1e-3 * away)), "{e:?}");
        dynamics.forward(&robot, &q, &v, &tau, &theta).unwrap();
        [dynamics.motion(), dynamics.force()].concat()
    };
    let (near, far) = (solution(0.0), solution(65536.0));
    assert_close("far away", &far, &near, 1e-7);
}
