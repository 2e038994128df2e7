//! Against differences, constrained forward dynamics, power and energy; Digit's legs and a planar linkage.

use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::Workspace;
use crate::dynamics::constraint::tests::mechanisms::four_bar;
use crate::dynamics::tests::{moved, unit, vec_of};
use crate::inertia::INERTIAL;
use crate::robot::configuration::neutral;
use crate::robot::{LoopKind, Placement, load_model};

/// A robot with closed loops in its reduced coordinates, and a state.
struct Case {
    robot: Model,
    reduced: ReducedDynamics,
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    theta: Vec<f64>,
}

/// States of Digit afloat, Digit with its torso held, and B1's leg, with friction, offsets and armatures everywhere.
fn for_cases(seed: u64, states: usize, mut property: impl FnMut(&mut Case)) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let digit = load_model("digit").unwrap();
    for robot in [digit.with_base_held(), digit, load_model("b1_leg").unwrap()] {
        let mut reduced = ReducedDynamics::of_loops(&robot).unwrap();
        for _ in 0..states {
            let mut q = neutral(&robot);
            if robot.name == "b1_leg" {
                q = vec![0.2, 0.8, -1.5, 0.0, 0.0];
            }
            let mut step = vec![0.0; robot.nv()];
            for &k in reduced.independent() {
                step[k] = rng.random_range(-0.3..0.3);
            }
            q = moved(&robot, &q, &step, 1.0);
            reduced.close(&robot, &mut q).unwrap();
            let m = reduced.independent().len();
            let (v, a) = (vec_of(&mut rng, m), vec_of(&mut rng, m));
            let mut theta = robot.nominal_parameters();
            for x in &mut theta[INERTIAL * robot.bodies()..] {
                *x = rng.random_range(0.05..1.0);
            }
            reduced.place(&robot, &q, &v, &a).unwrap();
            property(&mut Case { robot: robot.clone(), reduced: reduced.clone(), q, v, a, theta });
        }
    }
}

impl Case {
    /// The state with independent coordinates moved by `by` (tangent) times h, closed again.
    fn at(&self, by: &[f64], h: f64, v: &[f64]) -> ReducedDynamics {
        let (mut reduced, mut step) = (self.reduced.clone(), vec![0.0; self.robot.nv()]);
        self.reduced.independent().iter().zip(by).for_each(|(&k, x)| step[k] = h * x);
        let mut q = moved(&self.robot, &self.q, &step, 1.0);
        reduced.close(&self.robot, &mut q).unwrap();
        reduced.place(&self.robot, &q, v, &self.a).unwrap();
        reduced
    }
}

/// Central difference of fourth order.
fn slope(h: f64, f: impl Fn(f64) -> DVector<f64>) -> DVector<f64> {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

fn near(what: &str, a: &DVector<f64>, b: &DVector<f64>, tolerance: f64) {
    let (scale, off) = (1.0 + a.amax().max(b.amax()), (a - b).amax());
    assert!(off <= tolerance * scale, "{what}: {off:e} of {scale:e}");
}

#[test]
fn motion_keeps_the_loops_and_forward_dynamics_give_it_back() {
    for_cases(1, 6, |case| {
        let (robot, reduced) = (&case.robot, &mut case.reduced);
        let loops = (0..robot.loops.len()).map(|i| Constraint::closure(robot, i).in_plane(robot)).collect();
        let mut whole = ConstrainedDynamics::new(robot, loops, Redundancy::Drop).unwrap();
        let u = reduced.torque(robot, &case.theta).unwrap();
        // Friction is part of the torque that constrained dynamics is given.
        let mut tau = vec![0.0; robot.nv()];
        reduced.independent().iter().zip(&u).for_each(|(&k, u)| tau[k] = *u);
        for i in robot.first_actuated()..robot.bodies() {
            let (k, own) = (robot.v_index(i), robot.joint_parameters(&case.theta, i));
            let v = reduced.v()[k];
            tau[k] -= own.viscous * v + own.offset;
            tau[k] -= own.coulomb * crate::dynamics::actuation::coulomb_direction(robot, v).0;
        }
        whole.forward(robot, &case.q, reduced.v(), &tau, &case.theta).unwrap();
        let found = DVector::from_column_slice(whole.motion());
        near("forward dynamics", &found, &DVector::from_column_slice(reduced.a()), 1e-9);
        // J G = 0.
        let j = DMatrix::from_row_slice(whole.rows(), robot.nv(), whole.jacobian());
        assert!((j * reduced.g()).amax() < 1e-12);
        // The same acceleration from the reduced equations of motion.
        let a = reduced.acceleration(robot, &case.theta, &u).unwrap();
        near("reduced mass", &a, &DVector::from_column_slice(&case.a), 1e-9);
    });
}

/// A robot that is given another motion where it is, is where it would be placed with that motion; and forces from the unbound torque are those that are asked for at once.
#[test]
fn another_motion_needs_no_other_place() {
    for_cases(7, 1, |case| {
        let (robot, still) = (case.robot.clone(), vec![0.0; case.v.len()]);
        let mut moving = case.reduced.clone();
        moving.place(&robot, &case.q, &still, &still).unwrap();
        moving.set_motion(&robot, &case.v, &case.a).unwrap();
        assert_eq!((moving.v(), moving.a()), (case.reduced.v(), case.reduced.a()));
        let tau: Vec<f64> = (0..robot.nv()).map(|k| 0.1 * k as f64).collect();
        let unbound = moving.unbound_torque(&robot, &case.theta).unwrap();
        let force = moving.constraint_force_of(&robot, &unbound, &tau).unwrap();
        assert_eq!(force, case.reduced.constraint_force(&robot, &case.theta, &tau).unwrap());
        assert!(moving.set_motion(&robot, &still[1..], &still).is_err());
        let bad = vec![f64::NAN; still.len()];
        assert!(moving.set_motion(&robot, &bad, &still).is_err());
        assert!(moving.constraint_force_of(&robot, &unbound[1..], &tau).is_err());
    });
}

#[test]
fn derivatives_are_those_of_differences() {
    for_cases(2, 1, |case| {
        let (robot, m) = (case.robot.clone(), case.v.len());
        let found = case.reduced.torque_derivatives(&robot, &case.theta).unwrap();
        let g_slopes = case.reduced.g_derivatives(&robot);
        let rate = case.reduced.g_rate(&robot);
        let of_time = slope(3e-4, |h| {
            let there = case.at(&case.v, h, &case.v);
            DVector::from_column_slice(there.g().as_slice())
        });
        near("rate of G", &of_time, &DVector::from_column_slice(rate.as_slice()), 1e-9);
        for k in 0..m {
            let along = unit(m, k);
            let by_q = slope(3e-4, |h| case.at(&along, h, &case.v).torque(&robot, &case.theta).unwrap());
            near("by q", &by_q, &found.by_q.column(k).into_owned(), 2e-9);
            let by_v = slope(3e-4, |h| {
                let v: Vec<f64> = case.v.iter().zip(&along).map(|(v, e)| v + h * e).collect();
                case.at(&along, 0.0, &v).torque(&robot, &case.theta).unwrap()
            });
            near("by v", &by_v, &found.by_v.column(k).into_owned(), 1e-9);
            for (column, slopes) in g_slopes.iter().enumerate() {
                let by_q = slope(3e-4, |h| case.at(&along, h, &case.v).g().column(column).into_owned());
                near("G by q", &by_q, &slopes.column(k).into_owned(), 1e-9);
            }
        }
        let (mass, _) = case.reduced.mass_and_bias(&robot, &case.theta).unwrap();
        assert!((mass - found.by_a).amax() < 1e-10);
    });
}

#[test]
fn the_regressor_and_its_derivatives_make_the_torques() {
    for_cases(3, 2, |case| {
        let (robot, m) = (&case.robot, case.v.len());
        let found = case.reduced.torque_derivatives(robot, &case.theta).unwrap();
        let theta = DVector::from_column_slice(&case.theta);
        near("Y theta", &(&found.by_theta * &theta), &found.torque, 1e-12);
        let all: Vec<usize> = (0..theta.len()).collect();
        let columns = case.reduced.regressor_derivatives(robot, &all).unwrap();
        for (parts, whole) in
            [(&columns.by_q, &found.by_q), (&columns.by_v, &found.by_v), (&columns.by_a, &found.by_a)]
        {
            let sum = parts.iter().zip(&theta).fold(DMatrix::zeros(m, m), |sum, (y, t)| sum + y * *t);
            assert!((sum - whole).amax() < 1e-9 * (1.0 + whole.amax()));
        }
        let beyond = case.reduced.regressor_derivatives(robot, &[theta.len()]).unwrap_err();
        assert!(beyond.to_string().contains("index"), "{beyond}");
    });
}

/// The motors' power is what energy gains and friction takes; and without both, energy stays.
#[test]
fn energy_is_conserved() {
    for_cases(4, 1, |case| {
        if case.robot.has_free_flyer() {
            return;
        }
        let robot = case.robot.clone();
        let first = INERTIAL * robot.bodies();
        for i in 0..robot.bodies() {
            let at = robot.joint_index(i);
            [at.coulomb, at.viscous, at.offset].iter().for_each(|&p| case.theta[p] = 0.0);
        }
        assert!(case.theta[first..].iter().any(|x| *x > 0.0));
        let (m, dt) = (case.v.len(), 2.5e-4);
        let mut workspace = Workspace::new(&robot);
        let none = DVector::zeros(m);
        let mut reduced = case.reduced.clone();
        let (mut q, mut v) = (case.q.clone(), DVector::from_column_slice(&case.v));
        let mut energy = |reduced: &ReducedDynamics| {
            workspace.energy(&robot, reduced.q(), reduced.v(), &case.theta).mechanical()
        };
        // Where the independent coordinates go in a step, with the dependent ones after them.
        let go = |reduced: &mut ReducedDynamics, q: &[f64], dq: &DVector<f64>, v: &DVector<f64>| {
            let mut to = q.to_vec();
            case.reduced.independent().iter().zip(dq).for_each(|(&k, x)| to[k] += x);
            reduced.close(&robot, &mut to).unwrap();
            reduced.place(&robot, &to, v.as_slice(), none.as_slice()).unwrap();
            (reduced.acceleration(&robot, &case.theta, &none).unwrap(), to)
        };
        let (mut a, _) = go(&mut reduced, &q, &none, &v);
        let (start, kinetic) = (energy(&reduced), reduced.v().iter().map(|v| v * v).sum::<f64>());
        for _ in 0..200 {
            let (v1, a1) = (v.clone(), a.clone());
            let v2 = &v + 0.5 * dt * &a1;
            let (a2, _) = go(&mut reduced, &q, &(0.5 * dt * &v1), &v2);
            let v3 = &v + 0.5 * dt * &a2;
            let (a3, _) = go(&mut reduced, &q, &(0.5 * dt * &v2), &v3);
            let v4 = &v + dt * &a3;
            let (a4, _) = go(&mut reduced, &q, &(dt * &v3), &v4);
            let step = dt / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4);
            v += dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
            (a, q) = go(&mut reduced, &q, &step, &v);
        }
        let (end, after) = (energy(&reduced), reduced.v().iter().map(|v| v * v).sum::<f64>());
        assert!((after / kinetic - 1.0).abs() > 1e-3, "nothing moved");
        assert!((end - start).abs() < 1e-9 * (1.0 + start.abs()), "{}: {:e}", robot.name, end - start);
    });
}

#[test]
fn the_projector_takes_the_forces_out() {
    for_cases(5, 2, |case| {
        let robot = &case.robot;
        let loops: Vec<_> =
            (0..robot.loops.len()).map(|i| Constraint::closure(robot, i).in_plane(robot)).collect();
        let mut projector = ForceProjector::new(robot, loops).unwrap();
        projector.place(robot, &case.q).unwrap();
        let g = case.reduced.g();
        let own = g * (g.tr_mul(g)).try_inverse().unwrap() * g.transpose();
        // Rows of planar loops that are left out bind nothing.
        assert!((projector.matrix() - own).amax() < 1e-9);
        assert_eq!(projector.rank(), robot.nv() - case.v.len());
    });
    // Over-actuated: Go1 on four feet has twelve motors for six freedoms.
    let robot = load_model("go1").unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut q = neutral(&robot);
    for leg in 0..4 {
        q[7 + 3 * leg..10 + 3 * leg].copy_from_slice(&[0.1, 0.8, -1.6]);
    }
    let feet: Vec<_> = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
        .map(|name| {
            let frame = robot.frame_index(name).unwrap();
            Constraint::contact(&robot, frame, LoopKind::Point, Placement::identity())
        })
        .to_vec();
    assert!(matches!(
        ReducedDynamics::new(&robot, feet.clone(), motors_and_base(&robot)),
        Err(ReducedError::Count { dependent: 0, rows: 12 })
    ));
    let (mut projector, theta) =
        (ForceProjector::new(&robot, feet.clone()).unwrap(), robot.nominal_parameters());
    let mut dynamics = ConstrainedDynamics::new(&robot, feet, Redundancy::Refuse).unwrap();
    dynamics.project(&robot, &q, &vec_of(&mut rng, 18), &theta).unwrap();
    let (v, tau) = (dynamics.motion().to_vec(), vec_of(&mut rng, 18));
    dynamics.forward(&robot, &q, &v, &tau, &theta).unwrap();
    let (a, mut needed) = (dynamics.motion().to_vec(), vec![0.0; 18]);
    Workspace::new(&robot).inverse_dynamics(&robot, &q, &v, &a, &theta, &mut needed);
    projector.place(&robot, &q).unwrap();
    let p = projector.matrix();
    assert_eq!(projector.rank(), 12);
    near(
        "P P",
        &DVector::from_column_slice((p * p).as_slice()),
        &DVector::from_column_slice(p.as_slice()),
        1e-12,
    );
    near("P Y theta", &(p * DVector::from_vec(needed)), &(p * DVector::from_vec(tau)), 1e-9);
    assert!(projector.place(&robot, &q[1..]).is_err());
    q[9] = f64::NAN;
    assert!(projector.place(&robot, &q).unwrap_err().to_string().contains("configuration 9 is NaN"));
}

#[test]
fn what_has_no_reduced_coordinates_is_named() {
    let (robot, mut closure) = four_bar();
    let coordinates = |closure: &Constraint, independent: Vec<usize>| {
        let planar = Constraint { planar: true, ..closure.clone() };
        ReducedDynamics::new(&robot, vec![planar], independent)
    };
    assert!(matches!(coordinates(&closure, vec![0, 1]), Err(ReducedError::Count { dependent: 1, rows: 2 })));
    assert!(matches!(coordinates(&closure, vec![3]), Err(ReducedError::Index { index: 3, count: 3 })));
    assert!(matches!(coordinates(&closure, vec![1, 1]), Err(ReducedError::Index { index: 1, .. })));
    // Coupler and rocker in one line: both can move while the crank stands still.
    closure.b.placement.translation.x = 1.4;
    let mut reduced = coordinates(&closure, vec![0]).unwrap();
    let straight = [std::f64::consts::PI, -std::f64::consts::PI, 0.0];
    let refused = reduced.place(&robot, &straight, &[1.0], &[0.0]).unwrap_err();
    let ReducedError::Singular { joint, .. } = &refused else { panic!("{refused}") };
    assert!(*joint == robot.joints[1].name || *joint == robot.joints[2].name, "{joint}");
    assert!(matches!(reduced.close(&robot, &mut straight.to_vec()), Err(ReducedError::Singular { .. })));
    // Farther apart than the bars are long.
    closure.b.placement.translation.x = 1.5;
    let mut reduced = coordinates(&closure, vec![0]).unwrap();
    let refused = reduced.close(&robot, &mut [3.1, -3.0, 0.2]).unwrap_err();
    assert!(refused.to_string().contains("loop `coupler pin` stays open by 9."), "{refused}");
    assert!(matches!(reduced.place(&robot, &straight, &[1.0], &[0.0]), Err(ReducedError::Open { .. })));
    for (q, v) in [(&[0.0, f64::NAN, 0.0][..], &[0.0][..]), (&[0.0; 3], &[f64::INFINITY])] {
        let refused = reduced.place(&robot, q, v, &[0.0]).unwrap_err();
        assert!(matches!(refused, ReducedError::NotFinite { .. }), "{refused}");
    }
    assert!(reduced.place(&robot, &[0.0; 2], &[0.0], &[0.0]).unwrap_err().to_string().contains("length 2"));
    assert!(reduced.place(&robot, &[0.0; 3], &[0.0; 2], &[0.0]).is_err());
    assert!(reduced.torque(&robot, &[0.0]).is_err());
}

/// Digit's drives see the rods: their friction through G' is what the regressor says.
#[test]
fn passive_friction_reaches_the_motors() {
    let robot = load_model("digit").unwrap().with_base_held();
    assert_eq!((robot.bodies(), robot.nv(), robot.nq()), (38, 38, 38));
    let mut reduced = ReducedDynamics::of_loops(&robot).unwrap();
    assert_eq!((reduced.independent().len(), reduced.dependent().len()), (20, 18));
    let q = neutral(&robot);
    let mut v = vec![0.0; 20];
    let index = |name: &str| robot.joints.iter().position(|joint| joint.name == name).unwrap();
    let knee = reduced.independent().iter().position(|&k| k == index("left_knee")).unwrap();
    v[knee] = 1.0;
    reduced.place(&robot, &q, &v, &[0.0; 20]).unwrap();
    // The knee's rod keeps shin and tarsus turning against each other.
    let tarsus = index("left_tarsus");
    assert!((reduced.v()[tarsus] + 1.0).abs() < 0.3, "{}", reduced.v()[tarsus]);
    let y = reduced.regressor(&robot);
    let column = y[(knee, robot.joint_index(tarsus).viscous)];
    assert!((column - reduced.v()[tarsus].powi(2)).abs() < 1e-12, "{column}");
    assert!(reduced.smallest_singular_value() > 1e-3);
}
